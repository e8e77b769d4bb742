"""Sensors on logs: beams bent by hand, tool positions by hand, uncertainty, and bad logs."""

import numpy as np
import pytest

from triskele.description.load import load
from triskele.description.schema import Encoders
from triskele.description.tables import Table
from triskele.errors import InputError, TableError, UnknownName
from triskele.kinematics.build import build
from triskele.sensing.encoder import deviation, quantised, resolution
from triskele.sensing.handle import sensor_function
from triskele.sensing.rods import soft_rods
from triskele.sensing.sense import sense

ROBOT = load("omron_mini_delta_platens")
PERFECT = ROBOT.model_copy(update={"encoders": None})
RODS = soft_rods(ROBOT)
L, EI, MU = 0.4, float(RODS.bending), float(RODS.mass)
DOWN = 121.66824325354165  # of a rod at home [deg]


def standing(n: int = 60, *, loaded: bool = True, **more: tuple) -> Table:
    """A robot that stands at home: rods bend under their weight, by hand."""
    t = np.arange(n) * 1e-3
    columns = {"t": ("s", t)}
    columns |= {f"q{i}": ("rad", np.zeros(n)) for i in (1, 2, 3)}
    turned = slope_under_weight() if loaded else 0.0
    angle = np.radians(DOWN)
    columns |= {f"wrist{i}": ("rad", np.full(n, angle + turned)) for i in (1, 2, 3)}
    columns |= {f"elbow{i}": ("rad", np.full(n, angle - turned)) for i in (1, 2, 3)}
    return Table({**columns, **more}, "log.csv")


def slope_under_weight() -> float:
    """phi_C - phi_chord = -t_C of a uniform load, p = mu g cos phi along n."""
    p = -MU * 9.81 * np.cos(np.radians(DOWN))
    return p * L**3 / (24 * EI)


def dropped(table: Table, *names: str) -> Table:
    kept = {k: v for k, v in table.columns.items() if not k.startswith(names)}
    return Table(kept, table.place)


@pytest.mark.parametrize("missing", [(), ("elbow",), ("wrist",)])
def test_rods_that_bend_under_their_weight_alone(missing):
    """A uniform load: all sensors agree, without any gradient."""
    found = sense(PERFECT, dropped(standing(), *missing) if missing else standing(), "chord")
    p = -MU * 9.81 * np.cos(np.radians(DOWN))  # along n, which points up and out
    delta = -p * L**4 / (24 * EI)
    assert found.deflection == pytest.approx(np.full((60, 3), delta), rel=1e-9)
    assert np.abs(found.speed).max() < 1e-12


def test_the_observer_knows_the_weight_by_itself():
    found = sense(PERFECT, standing(), "observer", encoders=False)
    p = -MU * 9.81 * np.cos(np.radians(DOWN))
    delta = -p * L**4 / (24 * EI)
    N = found.tension[0, 0]  # stiffens the first mode
    first = -np.pi * 4 * p * L**4 / (np.pi**5 * EI)
    expected = delta - first + first / (1 + N * L**2 / (np.pi**2 * EI))
    assert found.deflection == pytest.approx(np.full((60, 3), expected), rel=1e-6)


def test_the_tool_hangs_lower_where_rods_stretch_and_higher_where_they_bend():
    closures = ("rigid", "bent", "corrected", "published")
    found = {c: sense(PERFECT, standing(), "chord", closure=c) for c in closures}
    delta = float(found["bent"].deflection[0, 0])
    N = float(found["corrected"].tension[0, 0])
    sine = np.sin(np.radians(DOWN))  # dz = -dL / sin of the rod's slope, by symmetry

    def lift(name: str) -> float:
        return float(found[name].tool[0, 2] - found["rigid"].tool[0, 2])

    assert lift("bent") == pytest.approx(delta**2 / (4 * L) / sine, rel=1e-4)
    stretch = N * L / float(RODS.axial)
    assert lift("corrected") - lift("bent") == pytest.approx(-stretch / sine, rel=1e-4)
    assert lift("published") == pytest.approx(-(delta**2) / (2 * L) / sine, rel=1e-4)
    assert found["rigid"].tool == pytest.approx(found["rigid"].rigid)


def test_a_shape_that_is_wrong_is_wrong_by_its_ratio():
    pinned = sense(PERFECT, standing(), "modal")
    clamped = sense(PERFECT, standing(), "modal", ends="clamped-free")
    assert clamped.deflection / pinned.deflection == pytest.approx(0.726476 / 0.5, rel=1e-5)
    chord = sense(PERFECT, dropped(standing(), "elbow"), "modal")
    assert chord.deflection == pytest.approx(pinned.deflection, rel=1e-9)


def test_deviations_are_what_rounding_leaves():
    """A thousand logs that differ by less than a count of their encoders."""
    bits = 14
    exact = {"motor_zero_deviation": 0.0, "passive_zero_deviation": 0.0, "timing_deviation": 0.0}
    encoders = Encoders(passive_bits=bits, motor_bits=bits, **exact)
    coarse = ROBOT.model_copy(update={"encoders": encoders})
    n, random = 4000, np.random.default_rng(0)
    clean = dropped(standing(n), "elbow")
    noise = random.uniform(-0.5, 0.5, (n, 6)) * resolution(bits)
    columns = dict(clean.columns)
    for k, name in enumerate(("q1", "q2", "q3", "wrist1", "wrist2", "wrist3")):
        columns[name] = ("rad", clean[name].values + noise[:, k])
    still = {f"qd{i}": ("rad/s", np.zeros(n)) for i in (1, 2, 3)}
    still |= {f"qdd{i}": ("rad/s^2", np.zeros(n)) for i in (1, 2, 3)}
    found = sense(coarse, Table({**columns, **still}, "log.csv"), "chord")
    spread = found.deflection.std(axis=0)
    assert found.deflection_deviation[0] == pytest.approx(spread, rel=0.05)
    assert found.tool_deviation[0] == pytest.approx(found.tool.std(axis=0), rel=0.05)


def test_encoders_round_to_the_nearest_count():
    angle = np.linspace(-3, 3, 1001)
    count = 2 * np.pi / 2**10
    read = quantised(angle, 10)
    assert np.abs(read - angle).max() <= count / 2 + 1e-15
    assert np.unique(np.round(read / count) - read / count).max() == pytest.approx(0, abs=1e-9)
    assert (quantised(angle, None) == angle).all()
    assert deviation(None) == 0
    with pytest.raises(InputError, match="1 to 40 bits, not 0"):
        resolution(0)


def test_the_handle_of_a_controller_says_the_same():
    t = np.arange(40) * 1e-3
    q = np.stack([0.3 * np.sin(5 * t + i) for i in range(3)], axis=1)
    qd = np.stack([1.5 * np.cos(5 * t + i) for i in range(3)], axis=1)
    qdd = -25 * q
    still = np.zeros_like(q)
    handle = sensor_function(RODS)
    rigid = [float(a) for a in _angles(q[7])]
    wrist = np.array(rigid) + 1e-3
    one = handle(q[7], qd[7], qdd[7], wrist)
    many = handle(q, qd, qdd, np.tile(wrist, (40, 1)))
    assert many.shape == (40, 6)
    assert one == pytest.approx(many[7], rel=1e-12)
    wrists = np.stack([np.array([float(a) for a in _angles(row)]) + 1e-3 for row in q])
    columns: dict = {"t": ("s", t)}
    for name, unit, values in (
        ("q", "rad", q),
        ("qd", "rad/s", qd),
        ("qdd", "rad/s^2", qdd),
        ("wrist", "rad", wrists),
    ):
        columns |= {f"{name}{i + 1}": (unit, values[:, i]) for i in range(3)}
    found = sense(PERFECT, Table(columns, "log.csv"), "chord")
    assert found.deflection[7] == pytest.approx(one[:3], rel=1e-9)
    assert found.tool[7] == pytest.approx(one[3:], rel=1e-12)
    assert np.isnan(handle([2.9, 0.7, 0.2], still[0], still[0], wrist)).all()
    with pytest.raises(InputError, match="q, qd, qdd of 3 numbers"):
        handle(q[0], qd[0], qdd, still)


def _angles(q):
    from triskele.sensing.rods import rod_angles

    return rod_angles(build(ROBOT), tuple(q))[0]


def test_the_table_has_units_and_all_limbs():
    table = sense(ROBOT, standing(), "chord").to_table()
    assert table["delta1"].unit == "m"
    assert table["deltadd3"].unit == "m/s^2"
    assert {"x", "y_deviation", "N2", "delta_deviation3"} <= set(table.names)


@pytest.mark.parametrize(
    ("table", "options", "sentence", "error"),
    [
        (standing(), {"sensor": "cord"}, "chord", UnknownName),
        (standing(), {"closure": "open"}, "no closure 'open'", InputError),
        (dropped(standing(), "wrist", "elbow"), {}, "no column 'wrist1' or 'elbow1'", TableError),
        (dropped(standing(), "wrist"), {"sensor": "modal"}, "at the wrists", InputError),
        (
            dropped(standing(), "elbow"),
            {"sensor": "modal", "ends": "clamped-free"},
            "needs elbow1 to elbow3 as well",
            InputError,
        ),
        (
            standing(**{f"qdd{i}": ("rad/s^2", np.full(60, 1e30)) for i in (1, 2, 3)}),
            {},
            "limb . is pushed by .* buckles",
            InputError,
        ),
        (
            standing(**{f"qdd{i}": ("rad/s^2", np.full(60, -1e30)) for i in (1, 2, 3)}),
            {},
            "buckles|would bend by",
            (InputError, TableError),
        ),
        (
            standing(wrist2=("deg", np.full(60, 2.12))),
            {},
            r"row 1, column 'wrist2': 0.037 rad, where the rod stands at 2.124 rad to the platform",
            TableError,
        ),
        (
            standing(elbow3=("rad", np.full(60, -2.12))),
            {},
            "column 'elbow3': -2.12 rad, where the rod stands .* to its arm",
            TableError,
        ),
        (
            standing(q1=("rad", np.r_[np.zeros(30), np.full(30, 57.3)])),
            {},
            r"row 31, column 'q1': 57.3 rad is more than half a turn.*degrees",
            TableError,
        ),
        (standing(), {"window": 4}, "5, 7, 9", InputError),
    ],
)
def test_logs_and_options_that_cannot_be_are_named(table, options, sentence, error):
    with pytest.raises(error, match=sentence):
        sense(PERFECT, table, **options)


def test_rods_that_buckle_are_named():
    q = {f"qdd{i}": ("rad/s^2", np.full(60, 4e4)) for i in (1, 2, 3)}
    with pytest.raises(InputError, match=r"limb 1 is pushed by .* N and buckles"):
        sense(PERFECT, standing(**q), "observer")
