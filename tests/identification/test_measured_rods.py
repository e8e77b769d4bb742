"""Tensions of rods in a log against those of the model: Figure 13 of Gnad et al., with a seed."""

import json

import equinox as eqx
import numpy as np
import pytest

from triskele.description.load import load
from triskele.description.tables import Table, write_table
from triskele.dynamics.robot import rigid
from triskele.dynamics.rod_loads import rod_loads
from triskele.errors import TableError
from triskele.identification.measured_rods import measured_rods
from triskele.kinematics.build import build
from triskele.kinematics.cycles import joint_motion_along
from triskele.kinematics.motion import sine
from triskele.numerics import tabulate

ROBOT = load("abb_irb360_6_1600")


@pytest.fixture(scope="module")
def log():
    """Up and down by 0.1 m at 1.5 Hz with 5 kg; tensions by the closed form, noise of 0.3 N.

    Rod 1a has a sensor, weighs 340 g, and its zero is off by 2 N. Written here with other code
    than what is tested: rods in closed form, not the balance of all bodies.
    """
    mechanism, names = build(ROBOT), build(ROBOT).platform_coordinates
    amplitude, middle = [0.0, 0.0, 0.1, 0.0], [0.0, 0.0, -1.0, 0.0]
    motion = sine(middle, amplitude, frequency=1.5, duration=2.0, rate=400, coordinates=names)
    model = rigid(ROBOT, "heavy_plate")
    theta = np.array(model.theta)
    theta[mechanism.bodies.index("rod_1a")] *= 0.340 / theta[mechanism.bodies.index("rod_1a"), 0]
    heavier = eqx.tree_at(lambda r: r.theta, model, theta)
    states = tuple(np.asarray(part) for part in (motion.x, motion.xd, motion.xdd))

    def upper(x, xd, xdd):
        return rod_loads(heavier, x, xd, xdd).upper[:1]

    (force,) = tabulate(upper)(*states)
    random = np.random.default_rng(0)
    columns = {"t": ("s", np.asarray(motion.t))}
    q = np.asarray(joint_motion_along(mechanism, motion).q)
    columns |= {f"q{k + 1}": ("rad", q[:, k]) for k in range(4)}
    columns["rod_1a_upper"] = ("N", force + 2.0 + 0.3 * random.normal(size=len(force)))
    return Table(columns, "rod.csv")


def test_the_zero_of_the_sensor_and_its_noise_are_what_is_left(log):
    found = measured_rods(ROBOT, log, payload="heavy_plate")
    (rod,) = found.rods
    assert found.mass == pytest.approx(0.340)
    assert rod.bias == pytest.approx(2.0, abs=0.03)
    assert rod.varying == pytest.approx(0.3, rel=0.06)
    assert rod.gain == pytest.approx(1.0, abs=0.01)
    assert np.ptp(rod.computed) > 20
    assert found.to_table().names == ("t", "rod_1a_upper", "rod_1a_upper_computed")


def test_the_weight_of_the_sensor_counts(log):
    """Left out, the model is off by more than the noise of the sensor."""
    scale = ROBOT.weighed.model_copy(update={"measuring_rod": None})
    light = ROBOT.model_copy(update={"weighed": scale})
    (rod,) = measured_rods(light, log, payload="heavy_plate").rods
    assert measured_rods(light, log).mass is None
    assert abs(rod.bias - 2.0) > 0.3
    assert rod.varying > 0.33


def test_what_cannot_be_compared_is_named(log):
    columns = {name: (log[name].unit, log[name].values) for name in log.names}
    force = columns.pop("rod_1a_upper")
    for more, sentence in (
        ({}, r"no column has the tension of a rod; 'rod_1a_upper \[N\]'"),
        ({"rod_2b": force}, "'rod_2b' does not say at which end"),
    ):
        with pytest.raises(TableError, match=sentence):
            measured_rods(ROBOT, Table(columns | more, "log.csv"))


def test_torques_compares_a_log(log, tmp_path, monkeypatch, capsys):
    from triskele.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path))
    write_table(log, "rod.csv")
    asked = ["torques", ROBOT.name, "--measured", "rod.csv", "--payload", "heavy_plate"]
    assert main([*asked, "--figure", "rod.png", "--out", "both.csv"]) == 0
    seen = capsys.readouterr()
    assert "rod_1a_upper" in seen.out and "weighs 0.34 kg" in seen.err
    assert (tmp_path / "rod.png").exists() and (tmp_path / "both.csv").exists()
    assert main([*asked, "--json"]) == 0
    (rod,) = json.loads(capsys.readouterr().out)["rods"]
    assert rod["bias"] == pytest.approx(2.0, abs=0.03)
    assert main([*asked, "--motion", "line"]) == 2
    assert "--measured has its own motion" in capsys.readouterr().err
