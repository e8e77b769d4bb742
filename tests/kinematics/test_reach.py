"""Each reason to refuse a pose, provoked alone, and the sentence that says it."""

import jax.numpy as jnp
import numpy as np
import pytest

from triskele.description.load import load
from triskele.description.schema import Limits
from triskele.errors import OutOfReach
from triskele.kinematics.build import build
from triskele.kinematics.delta import Delta
from triskele.kinematics.prs import Prs
from triskele.kinematics.reach import check_reach, moving_alike, slack, slacks, worst_slack
from triskele.kinematics.singularity import singularity_margins
from triskele.numerics import batch

# With R = r, L = 3, d = 5 each limb is a 3-4-5 triangle: arms level, platform 4 m below.
TRIANGLE = Delta.symmetric(base_radius=1.0, platform_radius=1.0, arm_length=3.0, rod_length=5.0)
BELOW = (0.0, 0.0, -4.0)
IRB = build(load("abb_irb360_6_1600"))
TILTING = Prs.symmetric(base_radius=0.125137, platform_radius=0.04761, bar_length=0.109215)
HOME = tuple(float(value) for value in TILTING.home())
DEGREE = np.pi / 180


@pytest.mark.parametrize(
    "robot, limits, pose, reason",
    [
        # 9 m below: k = 65/6 is more than the 9 m to the motor.
        (TRIANGLE, Limits(), (0.0, 0.0, -9.0), "leg 1 cannot reach (margin -0.2037)"),
        # 6.56 m across the plane of limb 3, where the rod is 5 m long.
        (TRIANGLE, Limits(), (-7.0, 1.0, -5.0), "leg 3 cannot reach (margin -0.74)"),
        (
            TRIANGLE,  # 5 m below: q = 90 deg - arccos(1.5 / 5)
            Limits(joint_angle=(-10 * DEGREE, 10 * DEGREE)),
            (0.0, 0.0, -5.0),
            "q1 would be 17.46 deg, allowed is -10 to 10 deg",
        ),
        (
            TRIANGLE,
            Limits(joint_angle=(20 * DEGREE, 60 * DEGREE)),
            (0.0, 0.0, -5.0),
            "q1 would be 17.46 deg, allowed is 20 to 60 deg",
        ),
        (
            TILTING,
            Limits(slider_position=(0.001, 0.003)),
            HOME,
            "s1 would be 0.0003003 m, allowed is 0.001 to 0.003 m",
        ),
        (
            TRIANGLE,  # 2.5 m sideways with a rod of 5 m
            Limits(rod_tilt=20 * DEGREE),
            (0.0, -2.5, -4.0),
            "the tilt of rod 1 would be -30 deg, allowed is at most 20 deg",
        ),
        (
            IRB,  # cardans 75 mm above the motors and 38 mm above the platform
            Limits(telescope_length=(0.5, 0.9)),
            (0.0, 0.0, -0.963, 0.0),
            "the length of the telescope would be 1 m, allowed is 0.5 to 0.9 m",
        ),
        (
            TILTING,
            Limits(platform_tilt=1 * DEGREE),
            (HOME[0], 3 * DEGREE, 0.0),
            "the platform would tilt by 3 deg, allowed is 1 deg",
        ),
        (
            TRIANGLE,
            Limits(singularity_margin=0.5),
            (3.0, 0.0, -1.0),
            "leg 2 is stretched or folded (type 1 margin 0.3)",
        ),
        (
            TRIANGLE,
            Limits(singularity_margin=0.5),
            (4.0, 0.0, -5.0),
            "the platform loses stiffness (type 2 margin 0.2459)",
        ),
    ],
)
def test_each_limit_is_checked_and_named_with_what_the_pose_would_need(robot, limits, pose, reason):
    x = jnp.array(pose)
    assert worst_slack(robot, limits, x) == reason
    assert slack(robot, limits, x) < 0
    with pytest.raises(OutOfReach) as error:
        check_reach(robot, limits, x, "row 3")
    assert str(error.value) == f"row 3 is out of reach: {reason}."


@pytest.mark.parametrize(
    "limits, pose, room, reason",
    [
        (
            Limits(workspace_radius=2.0),
            (0.0, 3.0, -4.0),
            -1 / 5,  # in rod lengths
            "{value} from the axis, the workspace ends at 2 m",
        ),
        (
            Limits(workspace_height=(-5.0, -4.5)),
            BELOW,
            -0.5 / 5,
            "height {value} is outside the workspace, -5 to -4.5 m",
        ),
        (
            Limits(workspace_height=(-3.5, -3.0)),
            BELOW,
            -0.5 / 5,
            "height {value} is outside the workspace, -3.5 to -3 m",
        ),
    ],
)
def test_the_guaranteed_cylinder_counts_only_where_it_is_asked_for(limits, pose, room, reason):
    x = jnp.array(pose)
    rooms = {item.reason: item.room for item in slacks(TRIANGLE, limits, x, guaranteed=True)}
    assert np.isclose(rooms[reason], room)
    assert slack(TRIANGLE, limits, x, guaranteed=True) < 0
    assert worst_slack(TRIANGLE, limits, x) is None


def test_room_is_scaled_to_be_of_order_one():
    limits = Limits(
        joint_angle=(-0.3, 0.4), rod_tilt=0.5, telescope_length=(0.5, 1.2), singularity_margin=0.1
    )
    x = jnp.array([0.0, 0.0, -0.963, 2.0])
    q, *_ = IRB.inverse(x).components
    rooms = {item.reason.split(" would")[0]: item.room for item in slacks(IRB, limits, x)}
    assert np.isclose(rooms["q3"], 0.4 - q)  # rad
    assert np.isclose(rooms["the tilt of rod 3"], 0.5)  # rad
    assert np.isclose(rooms["the length of the telescope"], (1.2 - 1.0) / 1.106)  # in rod lengths
    margins = singularity_margins(IRB, IRB.inverse(x).components, x)
    assert np.isclose(
        rooms["the platform loses stiffness (type 2 margin {value})"], margins.type2 - 0.1
    )
    assert "q4" not in rooms  # the flange may turn as it likes


def test_a_pose_within_all_limits_is_allowed():
    robot = load("abb_irb360_6_1600")
    x = jnp.array([0.2, -0.3, -1.0, 0.5])
    assert worst_slack(IRB, robot.limits, x) is None
    assert slack(IRB, robot.limits, x) > 0
    check_reach(IRB, robot.limits, x, "here")


@pytest.mark.parametrize("coordinate", [0, 1, 2])
def test_a_pose_that_is_not_a_number_is_refused(coordinate):
    x = jnp.array(BELOW).at[coordinate].set(jnp.nan)
    with pytest.raises(OutOfReach, match="cannot reach"):
        check_reach(TRIANGLE, Limits(), x, "here")


def test_the_least_slack_comes_in_batches_and_repeats_every_third_of_a_turn():
    limits = Limits(joint_angle=(-0.7, 1.2), rod_tilt=0.6, workspace_radius=2.0)
    random = np.random.default_rng(4)
    poses = random.uniform([-3, -3, -7], [3, 3, -2], (500, 3))
    c, s = np.cos(2 * np.pi / 3), np.sin(2 * np.pi / 3)
    turned = poses @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
    room = batch(lambda x: slack(TRIANGLE, limits, x, guaranteed=True))
    assert (np.asarray(room(poses)) > 0).sum() > 20
    assert np.allclose(room(poses), room(turned), atol=1e-12)
    alone = [float(slack(TRIANGLE, limits, tuple(pose), guaranteed=True)) for pose in poses[:5]]
    assert np.allclose(room(poses)[:5], alone, atol=1e-14)


def test_angles_that_turn_alike_are_blamed_and_not_the_robot():
    """R = Rz(c) Ry(b) Rx(a) with b = 90 degrees depends on a - c alone."""
    hexapod = build(load("stewart_6ups"))
    home = np.array([float(value) for value in hexapod.home()])
    tilted = home + np.pi / 2 * np.eye(6)[4]
    assert moving_alike(hexapod, home) == ()
    assert moving_alike(hexapod, tilted) == ("a", "c")
    assert worst_slack(hexapod, Limits(singularity_margin=0.0), tilted) == (
        "a and c move the platform alike there, whatever the robot (type 2 margin 0)"
    )
    assert moving_alike(IRB, np.array([0.1, 0.2, -1.0, 0.3])) == ()
