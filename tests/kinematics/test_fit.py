"""What a robot file says of joints must fit the mechanism: names, counts, units, ranges."""

import re
from functools import cache

import numpy as np
import pytest

from triskele.description.load import load, parse
from triskele.description.save import to_toml
from triskele.errors import DescriptionError
from triskele.kinematics.build import build
from triskele.kinematics.fit import check_fit, each, ranges
from triskele.kinematics.reach import worst_slack

PRINTER = """
kind = "limbs"
name = "printer"
title = "Linear Delta"
[geometry.platform]
coordinates = ["x", "y", "z"]
home = "[0, 0, 100] mm"
[geometry.limbs]
around = "[0, 120, 240] deg"
drive = "slide"
base = "[180, 0, 0] mm"
rail = "up"
rod_length = "280 mm"
rod_spacing = "50 mm"
end = "[40, 0, 0] mm"
branch = -1
"""
TURNING_TOO = (
    PRINTER.replace('"z"]', '"z", "psi"]')
    + '[geometry.telescope]\nupper_joint_height = "600 mm"\nlower_joint_height = "0 mm"\n'
)
ARMS = """
kind = "limbs"
name = "arms"
title = "Delta"
[geometry.platform]
coordinates = ["x", "y", "z"]
home = "[0, 0, -600] mm"
[geometry.limbs]
around = "[0, 120, 240] deg"
drive = "arm"
base = "[200, 0, 0] mm"
arm_length = "300 mm"
rod_length = "700 mm"
rod_spacing = "80 mm"
end = "[50, 0, 0] mm"
"""


@cache
def mechanism_of(text):
    """The mechanism of a file that is right."""
    return build(parse(text))


def refused(robot, more):
    """The sentence with which a file is refused for what is added to it."""
    with pytest.raises(DescriptionError) as caught:
        check_fit(parse(robot + more), mechanism_of(robot))
    return str(caught.value)


# Units


@pytest.mark.parametrize(
    ("robot", "more", "told"),
    [
        (
            PRINTER,
            '[limits]\njoint_speed = "3 rad/s"',
            "printer, limits.joint_speed is in rad/s, but q1 slides: m/s was expected.",
        ),
        (
            ARMS,
            '[limits]\njoint_acceleration = "3 m/s^2"',
            "arms, limits.joint_acceleration is in m/s^2, but q1 turns: rad/s^2 was expected.",
        ),
        (
            TURNING_TOO,
            '[limits]\njoint_jerk = "30 m/s^3"',
            "printer, limits.joint_jerk is in m/s^3, but q4 turns: rad/s^3 was expected; give each "
            "drive its own number and unit.",
        ),
        (
            TURNING_TOO,
            '[limits]\njoint_speed = ["1 m/s", "1 m/s", "1 rad/s", "1 rad/s"]',
            "limits.joint_speed is in rad/s, but q3 slides",
        ),
        (
            PRINTER,
            '[limits]\ntorque_rate = "9 N m/s"',
            "limits.torque_rate is in N m/s, but q1 slides: N/s was expected.",
        ),
        (
            PRINTER,
            '[motors.drives]\nreflected_inertia = "1e-3 kg m^2"',
            "motors.drives.reflected_inertia is in kg m^2, but q1 slides: kg was expected.",
        ),
        (
            ARMS,
            '[motors.q2]\nreflected_inertia = "3 kg"',
            "motors.q2.reflected_inertia is in kg, but q2 turns: kg m^2 was expected.",
        ),
        (
            PRINTER,
            "[motors.drives]\ngear_ratio = 20",
            "motors.drives.gear_ratio: q1 slides; its motor has a transmission.",
        ),
        (
            ARMS,
            '[motors.q3]\ntransmission = "300 rad/m"',
            "motors.q3.transmission: q3 turns; its motor has a gear_ratio.",
        ),
        (
            PRINTER,
            '[friction.drives]\ncoulomb = "3 N m"',
            "friction.drives.coulomb is in N m, but q1 slides: N was expected.",
        ),
        (
            PRINTER,
            '[friction.q2]\ncoulomb = "3 N"\nsmoothing_speed = "0.01 rad/s"',
            "friction.q2.smoothing_speed is in rad/s, but q2 slides: m/s was expected.",
        ),
        (
            ARMS,
            '[friction.balls]\nviscous = "3 N s/m"',
            "friction.balls.viscous is in N s/m, but elbow_rod_1a turns: N m s/rad was expected.",
        ),
    ],
)
def test_a_unit_of_the_wrong_kind_of_joint_is_refused(robot, more, told):
    assert told in refused(robot, more)


def test_each_drive_may_have_its_own_unit():
    speeds = '[limits]\njoint_speed = ["1 m/s", "1 m/s", "1 m/s", "600 deg/s"]'
    robot = parse(TURNING_TOO + speeds)
    check_fit(robot, mechanism_of(TURNING_TOO))
    assert robot.limits.joint_speed == pytest.approx((1, 1, 1, np.radians(600)))
    assert parse(to_toml(robot)) == robot
    check_fit(parse(to_toml(robot)), mechanism_of(TURNING_TOO))


# Names


@pytest.mark.parametrize(
    ("robot", "more", "told"),
    [
        (ARMS, "[motors.axis4]\ngear_ratio = 9", "motors.axis4: this robot has no such joint."),
        (ARMS, "[motors.q4]\ngear_ratio = 9", "motors.q4: this robot has no such joint."),
        (ARMS, "[motors.drive]\ngear_ratio = 9", "Did you mean 'drives'?"),
        (ARMS, '[friction.telescope]\ncoulomb = "1 N"', "friction.telescope: this robot has no"),
        (
            PRINTER,
            '[friction.drives]\ncoulomb = "1 N"\n[friction.slides]\ncoulomb = "1 N"',
            "friction.drives: no drive uses it, each has a table of its own.",
        ),
        (ARMS, '[friction.slides]\ncoulomb = "1 N"', "friction.slides: this robot has no such"),
        (
            ARMS,
            '[limits]\nslider_position = "[0, 1] m"',
            "limits.slider_position: this robot has nothing that it could limit.",
        ),
        (ARMS, '[flexures]\nrevolute_bending = "1 N m/rad"', "flexures: this robot has none"),
    ],
)
def test_joints_that_the_robot_does_not_have_are_refused(robot, more, told):
    assert told in refused(robot, more)


def test_a_shipped_delta_without_axis_4_is_told():
    robot = load("omron_mini_delta")
    with_axis = load("abb_irb360_6_1600").motors
    with pytest.raises(DescriptionError, match=r"motors\.axis4"):
        build(robot.model_copy(update={"motors": with_axis}))


def test_a_misspelt_key_of_a_drive_of_its_own_is_told():
    with pytest.raises(DescriptionError, match=r"motors\.q2\.gear_ration.*'gear_ratio'"):
        parse(ARMS + "[motors.q2]\ngear_ration = 9")


# Counts


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            '[limits]\njoint_speed = ["1 rad/s", "2 rad/s"]',
            "limits.joint_speed: has 2 numbers for 3 drives; expected one, or 3.",
        ),
        (
            '[limits]\njoint_angle = ["[-30, 80] deg", "[-20, 70] deg"]',
            "limits.joint_angle: has 2 ranges for 3 joints; expected one, or 3.",
        ),
        (
            '[friction.drives]\ncoulomb = ["1 N m", "2 N m"]',
            "friction.drives.coulomb: has 2 numbers; expected one, or 3.",
        ),
        (
            '[friction.q2]\ncoulomb = ["1 N m", "2 N m", "3 N m"]',
            "friction.q2.coulomb: has 3 numbers; expected one.",
        ),
    ],
)
def test_as_many_numbers_as_drives(more, told):
    assert told in refused(ARMS, more)


# Ranges


def test_one_range_serves_all_joints_or_each_has_its_own():
    one = parse(ARMS + '[limits]\njoint_angle = "[-30, 80] deg"')
    joints = mechanism_of(ARMS).joint_coordinates
    assert ranges(one.limits, joints) == (tuple(np.radians([-30, 80])),) * 3
    three = '["[-30, 80] deg", "[-20, 70] deg", "[-5, 60] deg"]'
    own = parse(f"{ARMS}[limits]\njoint_angle = {three}")
    assert np.degrees(ranges(own.limits, joints)) == pytest.approx(
        np.array([[-30, 80], [-20, 70], [-5, 60]])
    )
    assert parse(to_toml(own)) == own
    assert ranges(parse(ARMS).limits, joints) == (None,) * 3


def test_reach_knows_the_range_of_each_joint():
    """Down on the axis all arms stand alike: the third has the least range."""
    three = '["[-30, 80] deg", "[-30, 80] deg", "[-30, 20] deg"]'
    robot = parse(f"{ARMS}[limits]\njoint_angle = {three}")
    mechanism = mechanism_of(ARMS)
    x = np.array([0.0, 0.0, -0.75])
    told = worst_slack(mechanism, robot.limits, x)
    assert re.match(r"q3 would be .* deg, allowed is -30 to 20 deg", told)
    assert worst_slack(mechanism, robot.limits, np.array([0.0, 0.0, -0.6])) is None


def test_one_limit_is_for_all_and_what_is_missing_is_none():
    assert each(None, 3) == (None, None, None)
    assert each((2.0,), 3) == (2.0, 2.0, 2.0)
    assert each((1.0, 2.0, 3.0), 4) == (1.0, 2.0, 3.0, None)
