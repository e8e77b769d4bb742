"""Plans as tables for controllers: what is written is read again, whatever the format.

The plan is made up, of a known profile: it is the tables that are tested.
"""

import json

import numpy as np
import pytest

from triskele.description.load import load
from triskele.description.tables import Table, read_table
from triskele.dynamics.torques import MotionDemands
from triskele.errors import InputError
from triskele.export.plans import joint_trajectory, one_after_the_other, plan_table, write_plan
from triskele.kinematics.coordinates import coordinates_of
from triskele.kinematics.cycles import JointMotion
from triskele.kinematics.path import Line
from triskele.planning.plan import Plan
from triskele.planning.profile import StepProfile

RNG = np.random.default_rng(0)
S = np.linspace(0, 1, 5)
PROFILE = StepProfile(S, np.array([0.0, 4.0, 9.0, 4.0, 0.0]))
JOINTS = ("q1", "q2", "q3", "q4")
T = 0.7  #: [s], 2 (0.5 / 2 + 0.5 / 5)


def made_up() -> Table:
    """The table of a line of 0.4 m along y, sampled every 0.1 s, with random joints."""
    plan = Plan(
        robot=load("abb_irb360_6_1600"),
        payload=None,
        path=Line([0.0, -0.2, -1.0, 0.0], [0.0, 0.2, -1.0, 0.0]),
        method="core",
        profile=PROFILE,
        duration=PROFILE.duration(),
        limits=(),
        s=S,
        speed=np.sqrt(PROFILE.x),
        fastest=np.full(5, 4.0),
        binding=(None,) * 5,
        runs=(),
        gap=0.0,
        friction=True,
        coordinates=coordinates_of(4),
    )
    motion = plan.motion(period=0.1)
    n = len(motion.t)
    orders = RNG.normal(size=(4, n, 4)) * [[[1.0, 1e-6, 1e7, 1e-20]]]
    joints = JointMotion(*orders)  # pyright: ignore[reportArgumentType]
    tau = RNG.normal(size=(n, 4))
    return plan_table(plan, motion, MotionDemands(np.asarray(motion.t), joints, tau, None, ()))


TABLE = made_up()


def test_the_table_has_times_way_platform_joints_and_efforts_with_units():
    names = ["t", "s", *(c + dots for dots in ("", "d", "dd") for c in ("x", "y", "z", "psi"))]
    names += [joint + dots for dots in ("", "d", "dd", "ddd") for joint in JOINTS]
    assert list(TABLE.names) == [*names, "tau1", "tau2", "tau3", "tau4"]
    units = {name: TABLE[name].unit for name in ("t", "s", "y", "psi", "q1ddd", "tau4")}
    assert list(units.values()) == ["s", "1", "m", "rad", "rad/s^3", "N m"]
    t, s = TABLE["t"].values, TABLE["s"].values
    # x = sd^2 grows by 16 per s at first: sdd = 8, so that s = 4 t^2 up to t = 1/4.
    assert np.allclose(s[:3], 4 * t[:3] ** 2, atol=1e-12)
    assert np.allclose([t[-1], s[-1]], [T, 1.0], atol=1e-12)
    assert np.allclose(TABLE["y"].values, -0.2 + 0.4 * s, atol=1e-12)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_tables_come_back_bit_by_bit(tmp_path, suffix):
    again = read_table(write_plan(TABLE, tmp_path / f"plan{suffix}"))
    assert again.names == TABLE.names
    for name in TABLE.names:
        assert again[name].unit == TABLE[name].unit
        assert np.array_equal(again[name].values, TABLE[name].values)


def test_npz_has_an_array_for_each_column_and_their_units(tmp_path):
    with np.load(write_plan(TABLE, tmp_path / "plan.npz"), allow_pickle=False) as found:
        assert tuple(found["names"]) == TABLE.names
        assert list(found["units"]) == [TABLE[name].unit for name in TABLE.names]
        for name in TABLE.names:
            assert np.array_equal(found[name], TABLE[name].values)


def test_a_trajectory_has_the_fields_of_the_message():
    message = joint_trajectory(TABLE)
    assert set(message) == {"header", "joint_names", "points"}
    assert message["joint_names"] == list(JOINTS)
    points = message["points"]
    assert isinstance(points, list)
    assert len(points) == TABLE.rows
    point = points[3]
    fields = ("positions", "velocities", "accelerations", "effort")
    assert set(point) == {*fields, "time_from_start"}
    forms = ("q{}", "q{}d", "q{}dd", "tau{}")
    for field, form in zip(fields, forms, strict=True):
        assert point[field] == [TABLE[form.format(k)].values[3] for k in (1, 2, 3, 4)]
    assert point["time_from_start"] == {"sec": 0, "nanosec": 300_000_000}


def test_times_from_start_carry_whole_seconds():
    columns = {**TABLE.columns, "t": ("s", TABLE["t"].values + 2.7000000001)}
    message = joint_trajectory(Table(columns))
    points = message["points"]
    assert isinstance(points, list)
    assert points[3]["time_from_start"] == {"sec": 3, "nanosec": 0}


def test_json_and_yaml_say_the_same_to_the_last_bit(tmp_path):
    yaml = pytest.importorskip("yaml")
    message = joint_trajectory(TABLE)
    assert json.loads(write_plan(TABLE, tmp_path / "plan.json").read_text()) == message
    for suffix in (".yaml", ".yml"):
        assert yaml.safe_load(write_plan(TABLE, tmp_path / f"plan{suffix}").read_text()) == message


def test_motions_follow_each_other():
    both = one_after_the_other(TABLE, TABLE)
    n = TABLE.rows
    assert both.rows == 2 * n - 1
    t = both["t"].values
    assert (np.diff(t) > 0).all()
    assert np.isclose(t[-1], 2 * T, atol=1e-12)
    assert np.array_equal(both["q2"].values[n:], TABLE["q2"].values[1:])
    assert both["q2"].unit == "rad"


def test_a_file_of_another_kind_is_refused_and_none_is_left(tmp_path):
    with pytest.raises(InputError, match=r"plan\.txt: plans end in \.csv, "):
        write_plan(TABLE, tmp_path / "plan.txt")
    with pytest.raises(InputError, match="does not exist"):
        write_plan(TABLE, tmp_path / "none" / "plan.npz")
    assert list(tmp_path.iterdir()) == []
