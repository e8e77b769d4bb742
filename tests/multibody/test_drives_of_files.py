"""Tables as drives, motors of both kinds, speeds at the start: the crane of the examples.

Its load is a pendulum under a trolley at s(t), with the torque of the wind,

    (I + m L^2) theta'' = m L cos(theta) s'' - m g L sin(theta) + tau

which scipy integrates here.
"""

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from triskele.description.load import load_mechanism
from triskele.description.mechanism import DriveRows
from triskele.errors import InputError, TriskeleError
from triskele.export.multibody import run_table
from triskele.multibody.forces import energies
from triskele.multibody.from_file import from_file
from triskele.multibody.integrate import simulate
from triskele.multibody.reactions import reactions
from triskele.multibody.signals import tabulated
from triskele.multibody.system import motion_of

CRANE = Path(__file__).parents[2] / "examples" / "mechanisms" / "crane.toml"
M, L, INERTIA, G, WIND, TROLLEY = 50.0, 2.0, 3.0, 9.81, 20.0, 80.0


def pushed(t):
    """Acceleration of the trolley: polynomial of degree 7, 1 m in 2 s [m/s^2]."""
    u = t / 2
    return u**2 * (420 - 1680 * u + 2100 * u**2 - 840 * u**3) / 4


@pytest.fixture(scope="module")
def crane():
    """The crane, its motion, and that of the equation above."""
    model = from_file(load_mechanism(CRANE))
    run = simulate(
        model.system,
        model.start,
        2.0,
        efforts=model.actuation.efforts,
        signal=model.actuation.signal,
        rate=50.0,
    )

    def law(t, y):
        angle, rate = y
        moment = M * L * np.cos(angle) * pushed(t) - M * G * L * np.sin(angle) + WIND
        return rate, moment / (INERTIA + M * L**2)

    theirs = solve_ivp(law, (0, 2), (0.0, 0.1), t_eval=run.t, rtol=1e-10, atol=1e-12).y
    return model, run, theirs


def test_a_load_under_a_trolley_that_follows_a_table_swings_as_its_equation_says(crane):
    _, run, (angle, rate) = crane
    assert run.ended is None
    assert np.ptp(angle) > 0.2
    assert np.allclose(run.q[:, 1], angle, rtol=0, atol=1e-6)
    assert np.allclose(run.qd[:, 1], rate, rtol=0, atol=1e-6)
    assert run.imbalance < 1e-6


def test_the_driven_motor_pushes_both_masses_and_the_other_has_its_own_torque(crane):
    _, run, (angle, rate) = crane
    s = pushed(run.t)
    spin = (M * L * np.cos(angle) * s - M * G * L * np.sin(angle) + WIND) / (INERTIA + M * L**2)
    force = (TROLLEY + M) * s - M * L * (np.cos(angle) * spin - np.sin(angle) * rate**2)
    assert np.allclose(run.effort[:, 0], force, rtol=0, atol=2e-2)  # of the table's splines
    assert np.abs(force).max() > 200
    assert np.all(run.effort[:, 1] == WIND)


def test_reactions_take_the_efforts_of_a_run_as_they_are(crane):
    """Those of driven motors are found anew, not counted twice."""
    import jax

    model, run, _ = crane
    drive = jax.vmap(model.actuation.drive)(jnp.asarray(run.t))
    states = jax.tree.map(jnp.asarray, run.states)
    held = reactions(model.system, states, jnp.asarray(run.effort), drive)
    assert np.allclose(held.effort, run.effort, rtol=0, atol=1e-8)
    assert held.imbalance < 1e-8


def test_a_table_of_a_run_has_angles_lengths_and_rates_of_all_joints(crane):
    model, run, (angle, _) = crane
    table = run_table(model.system, run)
    assert np.allclose(table.column("swing_q", "rad"), angle, atol=1e-6)
    assert np.allclose(table.column("rail_q", "m")[-1], 1.0, atol=1e-9)
    assert table["rail_qd"].unit == "m/s"
    assert table["swing_effort"].unit == "N m"


def test_speeds_at_the_start_are_met_and_the_rest_moves_least():
    """The trolley's drive is at rest, so the load alone turns."""
    mechanism = load_mechanism(CRANE)
    model = from_file(mechanism, speeds={"swing": -0.3})
    assert np.allclose(model.start.w[1], [0, -0.3, 0], atol=1e-12)
    kinetic = float(energies(model.system, motion_of(model.system, model.start)).kinetic)
    # The spline through the table begins with less than a micrometre per second.
    assert kinetic == pytest.approx((INERTIA + M * L**2) * 0.3**2 / 2, rel=2e-6)


def test_velocities_of_bodies_are_those_of_their_frames(tmp_path):
    """A free body, frame 0.5 m from its centre of mass, that turns about its frame."""
    text = """
kind = "mechanism"
name = "stick"
title = "Stick"
[bodies.stick]
mass = "1 kg"
centre_of_mass = { value = [0.5, 0, 0], unit = "m" }
inertia = { value = [0.1, 0.2, 0.2], unit = "kg m^2" }
velocity = { value = [0, 0, 3], unit = "m/s" }
angular_velocity = { value = [0, 0, 4], unit = "rad/s" }
"""
    path = tmp_path / "stick.toml"
    path.write_text(text, encoding="utf-8")
    start = from_file(load_mechanism(path)).start
    assert np.allclose(start.v[0], [0, 0.5 * 4, 3], atol=1e-12)
    assert np.allclose(start.w[0], [0, 0, 4], atol=1e-12)


def test_a_spline_through_a_table_has_the_derivatives_of_what_it_samples():
    import jax

    t = np.linspace(0, 1, 41)
    signal = tabulated("table", t, np.sin(3 * t))
    rate = jax.grad(signal)
    for at in (0.0, 0.013, 0.5, 0.77, 1.0):
        now = jnp.asarray(at)
        assert float(signal(now)) == pytest.approx(np.sin(3 * at), abs=1e-9)
        assert float(rate(now)) == pytest.approx(3 * np.cos(3 * at), abs=1e-6)
        assert float(jax.grad(rate)(now)) == pytest.approx(-9 * np.sin(3 * at), abs=1e-3)


@pytest.mark.parametrize(
    "t, sentence",
    [
        ([0, 1, 2], "has 3 rows; a smooth motion needs 4 or more"),
        ([0, 1, 1, 2], "times must increase; in row 3 they do not"),
        ([5, 6, 7, 8], "begins at t = 5 s; a drive begins at 0 s, so subtract 5 s"),
    ],
)
def test_tables_that_are_no_motion_get_a_sentence(t, sentence):
    with pytest.raises(InputError, match=sentence):
        tabulated("way.csv", np.array(t, float), np.zeros(len(t)))


def test_what_the_command_line_adds_is_checked():
    mechanism = load_mechanism(CRANE)
    rows = DriveRows("way.csv", np.linspace(0, 1, 5), np.zeros(5))
    model = from_file(mechanism, {"swing": rows, "rail": rows})
    with pytest.raises(
        InputError, match=r"joints\.rail: the table of its drive ends at 1 s, before"
    ):
        simulate(model.system, model.start, 1.5, signal=model.actuation.signal)
    for drives, speeds, sentence in (
        ({"swung": rows}, {}, "no joint 'swung'. Did you mean 'swing'?"),
        ({}, {"rail": 1.0}, "follows a drive, which has a speed"),
    ):
        with pytest.raises(TriskeleError) as error:
            from_file(mechanism, drives, speeds)
        assert sentence in str(error.value)
