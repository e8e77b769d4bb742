"""Drives: each joint has what its own table says, else what its group says, in its own unit."""

import numpy as np
import pytest

from triskele.description.load import load, parse
from triskele.description.schema import JointFriction, Limits, Motor, Motors
from triskele.dynamics.robot import rigid
from triskele.kinematics.build import build
from triskele.laws.drives import drives

MIXED = """
kind = "limbs"
name = "mixed"
title = "An arm, a slide and a strut on a platform in a plane"
[geometry.platform]
coordinates = ["x", "y", "c"]
[[geometry.limbs]]
around = "90 deg"
drive = "arm"
base = "[300, 0, 0] mm"
axis = "up"
zero = "tangential"
arm_length = "180 mm"
rod_length = "250 mm"
upper = "revolute"
lower = "revolute"
end = "[80, 5, 0] mm"
branch = -1
[[geometry.limbs]]
around = "210 deg"
drive = "slide"
base = "[300, 0, 0] mm"
rail = "tangential"
across = "up"
rod_length = "250 mm"
upper = "revolute"
lower = "revolute"
end = "[80, 5, 0] mm"
[[geometry.limbs]]
around = "330 deg"
drive = "strut"
base = "[400, 0, 0] mm"
across = "up"
upper = "revolute"
lower = "revolute"
end = "[80, 5, 0] mm"
[motors.drives]
transmission = "1000 rad/m"
rotor_inertia = "2e-5 kg m^2"
damping = "1e-4 N m s/rad"
peak_torque = "0.5 N m"
continuous_torque = "0.2 N m"
peak_speed = "300 rad/s"
[motors.q1]
gear_ratio = 30
peak_torque = "2 N m"
coupling_stiffness = "50 N m/rad"
[friction.drives]
coulomb = "7 N"
[friction.q1]
coulomb = "3 N m"
viscous = "0.5 N m s/rad"
[limits]
joint_speed = ["5 rad/s", "1 m/s", "2 m/s"]
joint_acceleration = ["50 rad/s^2", "10 m/s^2", "20 m/s^2"]
joint_angle = "[-90, 90] deg"
slider_position = "[-100, 100] mm"
torque_rate = ["9 N m/s", "8 N/s", "7 N/s"]
"""


@pytest.fixture(scope="module")
def mixed():
    robot = parse(MIXED)
    return drives(robot, build(robot))


def test_each_joint_has_its_own_table_or_that_of_its_group(mixed):
    arm, slide, strut = mixed
    assert [drive.name for drive in mixed] == ["q1", "q2", "q3"]
    assert [drive.place for drive in mixed] == ["motors.q1", "motors.drives", "motors.drives"]
    assert [drive.ratio for drive in mixed] == [30, 1000, 1000]
    assert [float(drive.friction.coulomb) for drive in mixed] == [3, 7, 7]
    assert float(arm.friction.viscous) == 0.5
    assert slide.motor is strut.motor


def test_each_joint_has_its_unit(mixed):
    assert [drive.sliding for drive in mixed] == [False, True, True]
    assert [drive.effort_unit for drive in mixed] == ["N m", "N", "N"]
    assert [drive.speed for drive in mixed] == [5, 1, 2]
    assert [drive.acceleration for drive in mixed] == [50, 10, 20]
    assert [drive.effort_rate for drive in mixed] == [9, 8, 7]
    assert [drive.jerk for drive in mixed] == [None] * 3
    assert mixed[0].range == pytest.approx((-np.pi / 2, np.pi / 2))
    assert mixed[1].range == pytest.approx((-0.1, 0.1))
    assert mixed[2].range is None


def test_motors_are_seen_from_their_joints(mixed):
    arm, slide, _ = mixed
    assert [drive.peak_effort for drive in mixed] == [60, 500, 500]
    assert [drive.continuous_effort for drive in mixed] == [None, 200, 200]
    assert [drive.motor_speed for drive in mixed] == [None, 0.3, 0.3]
    assert slide.inertia == pytest.approx(1e6 * 2e-5)  # 20 kg
    assert arm.inertia == 0
    assert arm.stiffness == 900 * 50
    assert slide.stiffness is None


def test_bearings_of_motors_join_the_friction_of_their_joint(mixed):
    arm, slide, _ = mixed
    assert arm.whole_friction is arm.friction
    assert float(slide.whole_friction.viscous) == pytest.approx(1e6 * 1e-4)
    assert float(slide.whole_friction.coulomb) == 7
    assert float(slide.friction.viscous) == 0


def test_a_group_has_one_number_or_one_each():
    robot = load("abb_irb360_6_1600")
    found = drives(robot, build(robot))
    assert [float(drive.friction.coulomb) for drive in found] == [4.667, 4.376, 6.466, 0.5272]
    assert np.degrees([drive.speed for drive in found]) == pytest.approx([1088, 1088, 1088, 3200])
    assert [drive.acceleration is None for drive in found] == [False, False, False, True]
    assert [drive.place for drive in found] == ["motors.drives"] * 3 + ["motors.axis4"]
    assert [drive.peak_effort for drive in found] == [132, 132, 132, None]


def test_a_drive_of_its_own_changes_no_other():
    robot = load("abb_irb360_6_1600")
    motor = Motor(gear_ratio=50.0, rotor_inertia=1e-3)
    motors = robot.motors.model_copy(update={"q2": motor})
    friction = robot.friction.model_copy(update={"q2": JointFriction(coulomb=(9.0,))})
    changed = robot.model_copy(update={"motors": motors, "friction": friction})
    before, after = (drives(item, build(item)) for item in (robot, changed))
    assert [drive.ratio for drive in after] == [33, 50, 33, 11.25]
    assert [float(drive.friction.coulomb) for drive in after] == [4.667, 9, 6.466, 0.5272]
    assert (after[0].motor, after[3].motor) == (before[0].motor, before[3].motor)
    assert rigid(changed).rotors == pytest.approx([0, 2.5, 0, 0.003])
    assert float(rigid(changed).drive_friction[1].coulomb) == 9


def test_numbers_from_python_have_the_unit_of_the_joint():
    robot = load("compliant_3prs")
    limits = Limits(joint_speed=(0.1,), slider_position=(-0.002, 0.003))
    found = drives(robot.model_copy(update={"limits": limits}), build(robot))
    assert [drive.speed for drive in found] == [0.1] * 3
    assert [drive.range for drive in found] == [(-0.002, 0.003)] * 3


def test_without_motors_a_drive_has_nothing():
    robot = load("d3s_800").model_copy(update={"motors": None, "friction": None})
    drive = drives(robot, build(robot))[0]
    assert drive.motor is drive.ratio is drive.peak_effort is drive.motor_speed is None
    assert drive.friction is drive.whole_friction is drive.stiffness is None
    assert drive.inertia == 0
    assert drive.place == "motors.drives"
    assert Motors().drives is None
