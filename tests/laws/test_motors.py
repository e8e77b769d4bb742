"""Motors seen from their joints: gears, spindles, and which inertia counts."""

import numpy as np
import pytest

from triskele.description.load import load
from triskele.description.schema import Motor
from triskele.laws.motors import at_joint, joint_speed, ratio, reflected_damping, reflected_inertia


def test_a_gear_trades_speed_for_torque():
    motor = Motor(gear_ratio=10.0, peak_speed=300.0)
    assert at_joint(motor, 4.0) == 40
    assert joint_speed(motor) == 30


def test_a_spindle_turns_torque_into_force():
    # 5 mm per turn: 2 pi 200 rad/m. 1 N m makes 1257 N, 314.16 rad/s make 0.25 m/s.
    motor = Motor(transmission=2 * np.pi * 200, peak_speed=100 * np.pi)
    assert np.isclose(at_joint(motor, 1.0), 1256.637, rtol=1e-6)
    assert np.isclose(joint_speed(motor), 0.25)


@pytest.mark.parametrize("way", ["gear_ratio", "transmission"])
def test_rotor_and_gear_inertia_grow_with_the_square_of_the_ratio(way):
    motor = Motor(rotor_inertia=2e-4, load_inertia=1e-4, damping=3e-3, **{way: 20.0})
    assert np.isclose(reflected_inertia(motor), 400 * 3e-4)
    assert np.isclose(reflected_damping(motor), 400 * 3e-3)


def test_either_inertia_may_be_missing():
    assert np.isclose(reflected_inertia(Motor(gear_ratio=10.0, rotor_inertia=2e-4)), 0.02)
    assert np.isclose(reflected_inertia(Motor(gear_ratio=10.0, load_inertia=1e-4)), 0.01)
    assert reflected_inertia(Motor(gear_ratio=10.0)) == 0


def test_the_inertia_at_the_joint_counts_before_the_one_at_the_shaft():
    motor = Motor(gear_ratio=10.0, rotor_inertia=2e-4, reflected_inertia=0.5)
    assert reflected_inertia(motor) == 0.5
    assert reflected_inertia(Motor(reflected_inertia=0.5)) == 0.5


def test_without_a_ratio_nothing_is_known_at_the_joint():
    motor = Motor(rotor_inertia=2e-4, damping=3e-3, peak_speed=300.0)
    assert ratio(motor) is None
    assert at_joint(motor, 4.0) is None
    assert joint_speed(motor) is None
    assert reflected_inertia(motor) == reflected_damping(motor) == 0


def test_a_limit_that_the_file_lacks_is_unknown():
    motor = Motor(gear_ratio=10.0)
    assert at_joint(motor, motor.peak_torque) is None
    assert joint_speed(motor) is None


def test_motors_of_the_irb_360():
    motors = load("abb_irb360_6_1600").motors
    assert at_joint(motors.drives, motors.drives.peak_torque) == 132
    assert np.isclose(np.degrees(joint_speed(motors.drives)), 36000 / 33)
    assert np.isclose(np.degrees(joint_speed(motors.axis4)), 3200)
    assert reflected_inertia(motors.drives) == 0  # it is part of the arm
    assert reflected_inertia(motors.axis4) == 0.003
