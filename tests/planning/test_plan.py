"""Plans of whole robots: each limit holds in a replay that shares no code with the planner."""

import numpy as np
import pytest

from triskele.description.load import load
from triskele.description.schema import Motor, Motors, Payload, Robot
from triskele.dynamics.torques import torques
from triskele.errors import InputError, OutOfReach, UnknownName
from triskele.kinematics.path import BSpline, Line, Rounded
from triskele.planning.plan import Plan, plan

ROBOT = load("omron_mini_delta")
START, END = np.array([0.0, -0.1, -0.35]), np.array([0.05, 0.1, -0.3])
LINE = Line(START, END)
KINEMATIC = {"joint_acceleration": (200.0,), "joint_jerk": (2e4,)}


def limited(**limits) -> Robot:
    return ROBOT.model_copy(update={"limits": ROBOT.limits.model_copy(update=limits)})


def with_motor(robot: Robot, **motor) -> Robot:
    return robot.model_copy(update={"motors": Motors(drives=Motor(gear_ratio=10.0, **motor))})


def replayed(found: Plan, payload: Payload | None = None) -> dict[str, float]:
    """Use of each limit, worst of all joints, by `dynamics.torques`."""
    robot = found.robot
    demands = torques(robot, found.motion(period=2e-4), payload or found.payload)
    uses: dict[str, float] = {}
    for item in demands.limits:
        uses[item.limit.key] = max(uses.get(item.limit.key, 0.0), item.use)
    return uses


def test_the_core_is_faster_than_a_plan_with_bounded_jerk():
    robot = limited(**KINEMATIC)
    full, free, core = (
        plan(robot, LINE, method=m).duration for m in ("minimum-time", "no-jerk", "core")
    )
    assert core == pytest.approx(free, rel=0.003)
    assert free < full


def test_a_joint_without_a_limit_of_its_own_does_not_matter():
    found = plan(limited(**KINEMATIC), LINE)
    assert set(found.prices) == {"joint_acceleration", "joint_jerk"}
    assert found.prices["joint_jerk"] > 0
    assert found.binding[len(found.binding) // 2] in {item.limit for item in found.limits}


def test_samples_come_at_the_period_and_end_at_rest():
    motion = plan(limited(**KINEMATIC), LINE, cells=40).motion(period=1e-3)
    steps = np.diff(motion.t)
    np.testing.assert_allclose(steps[:-1], 1e-3, rtol=1e-9)
    assert 0 < steps[-1] <= 1e-3 + 1e-12
    np.testing.assert_allclose(motion.x[np.array([0, -1])], [START, END], atol=1e-12)
    np.testing.assert_array_equal(motion.xd[np.array([0, -1])], 0)


def test_a_suction_cup_slips_at_the_acceleration_that_friction_allows():
    level = Line([0.0, -0.1, -0.35], [0.0, 0.1, -0.35])
    payload = Payload(mass=0.5, grip_force=10.0, grip_friction=0.4)
    robot = limited(joint_speed=(100.0,), joint_jerk=(5e4,))
    found = plan(robot, level, payload)
    allowed = 0.4 * (10.0 / 0.5 - 9.81)
    peak = np.abs(np.asarray(found.motion(period=1e-4).xdd)[:, 1]).max()
    assert peak == pytest.approx(allowed, rel=5e-3)
    assert max(found.prices, key=found.prices.__getitem__) == "grip_force"


@pytest.mark.long
def test_torques_their_rate_their_mean_and_bearings_hold_in_a_replay():
    motor = {"peak_torque": 0.4, "peak_speed": 120.0, "corner_speed": 40.0}
    robot = with_motor(
        limited(**KINEMATIC, torque_rate=(400.0,), bearing_force=60.0, bearing_torque=8.0),
        **motor,
        continuous_torque=0.28,
    )
    payload = Payload(mass=0.5)
    found = plan(robot, LINE, payload, cells=120)
    uses = replayed(found)
    efforts = {"peak_torque", "torque_rate", "continuous_torque", "peak_speed"}
    assert {*efforts, "bearing_force", "bearing_torque", "joint_jerk"} <= set(uses)
    for key, use in uses.items():
        assert use < 1.005, key
    assert max(uses.values()) > 0.99
    planned = {item.limit: item.use for item in found.limits}
    for item in torques(robot, found.motion(period=2e-4), payload).limits:
        if item.limit in planned and item.limit.key != "torque_rate":
            assert item.use == pytest.approx(planned[item.limit], abs=0.01), item.limit


@pytest.mark.long
def test_an_rms_torque_that_binds_is_kept_over_motion_and_dwell():
    robot = with_motor(limited(joint_speed=(100.0,), joint_jerk=(2e5,)), continuous_torque=0.15)
    payload = Payload(mass=0.5)
    found = plan(robot, LINE, payload, cells=120)
    rms = max(item.use for item in found.limits if item.limit.key == "continuous_torque")
    assert rms == pytest.approx(1.0, abs=1e-5)
    assert replayed(found)["continuous_torque"] == pytest.approx(1.0, abs=5e-3)
    assert found.prices["continuous_torque"] > 0
    rested = plan(robot, LINE, payload, cells=120, dwell=0.2)
    assert rested.duration < found.duration


@pytest.mark.long
def test_a_payload_with_tolerances_is_safe_in_its_extremes():
    motor = {"peak_torque": 0.4, "peak_speed": 120.0}
    robot = with_motor(limited(**KINEMATIC), **motor)
    exact = Payload(mass=0.5)
    loose = exact.model_copy(update={"mass_tolerance": 0.2, "centre_tolerance": 0.02})
    found = plan(robot, LINE, loose, cells=120)
    heavy = exact.model_copy(update={"mass": 0.6})
    assert found.duration > plan(robot, LINE, exact, cells=120).duration
    assert replayed(found, heavy)["peak_torque"] == pytest.approx(1.0, abs=0.005)


def test_a_margin_of_its_own_takes_the_place_of_that_of_the_file():
    robot = with_motor(limited(**KINEMATIC), peak_torque=0.5)
    found = plan(robot, LINE, margins={"peak_torque": 0.2}, cells=40)
    item = next(item for item in found.limits if item.limit.key == "peak_torque")
    assert item.limit.allowed == pytest.approx(0.8 * 0.5 * 10)


WAYS = [[0.0, -0.1, -0.35], [0.0, -0.1, -0.3], [0.0, 0.1, -0.3], [0.0, 0.1, -0.35]]


@pytest.mark.parametrize(
    ("path", "changes", "options", "error", "words"),
    [
        (Line([0, 0, -0.35], [0.6, 0, -0.35]), KINEMATIC, {}, OutOfReach, "s = 1.000"),
        (Line([0, 0, 0, 0], [0, 0, 1, 0]), KINEMATIC, {}, InputError, "has 4 coordinates"),
        (BSpline(WAYS, degree=1), KINEMATIC, {}, InputError, "direction of the path jumps"),
        (BSpline(WAYS, degree=2), KINEMATIC, {}, InputError, "curvature of the path jumps"),
        (
            BSpline([WAYS[0], WAYS[1], WAYS[1], WAYS[1], WAYS[1], WAYS[2], WAYS[3]], degree=3),
            KINEMATIC,
            {},
            InputError,
            "stands still at s = 0.250",
        ),
        (LINE, {}, {}, InputError, "nothing bounds"),
        (LINE, KINEMATIC, {"method": "fast"}, UnknownName, "No method is called 'fast'"),
        (LINE, KINEMATIC, {"payload": "anvil"}, UnknownName, "no payload 'anvil'"),
        (LINE, KINEMATIC, {"margins": {"rods": 0.1}}, UnknownName, "no limit 'rods'"),
        (LINE, KINEMATIC, {"margins": {"rod_force": 1.5}}, InputError, "from 0 to 1"),
        (LINE, KINEMATIC, {"cells": 3}, InputError, "at least 8"),
        (LINE, KINEMATIC, {"dwell": -1.0}, InputError, "dwell is -1 s"),
    ],
)
def test_what_cannot_be_planned_is_said_in_a_sentence(path, changes, options, error, words):
    bare = dict.fromkeys(("joint_speed", "joint_acceleration", "joint_jerk"))
    robot = limited(**{**bare, **changes}).model_copy(update={"motors": None})
    with pytest.raises(error, match=words.replace(".", r"\.")):
        plan(robot, path, **options)


def test_a_payload_too_heavy_to_hold_is_said_with_its_place():
    robot = with_motor(limited(**KINEMATIC), peak_torque=0.3)
    with pytest.raises(InputError, match=r"Even at rest at s = .* torque of motor \d is .* N m"):
        plan(robot, LINE, Payload(mass=5.0))


def test_a_rounded_path_is_followed_without_stopping():
    found = plan(limited(**KINEMATIC), Rounded(WAYS, radius=0.03))
    inside = (found.s > 0.05) & (found.s < 0.95)
    assert found.speed[inside].min() > 0.1 * found.speed.max()
