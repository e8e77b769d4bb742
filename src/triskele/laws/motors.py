"""A motor seen from its joint, through a gear or a spindle of ratio i.

    effort = i torque        speed = motor speed / i        inertia = i^2 (J_1 + J_2)   (1)

Units follow the joint: for a turning joint i is a plain number (motor turns per joint turn),
for a slider it is in rad/m, and (1) gives N m, rad/s, kg m^2 or N, m/s, kg.
"""

from collections.abc import Sequence

from triskele.description.schema import Motor, Robot
from triskele.kinematics.fit import motor_of
from triskele.kinematics.mechanism import Coordinate


def ratio(motor: Motor) -> float | None:
    """i of (1), None if the file has none."""
    return motor.gear_ratio if motor.gear_ratio is not None else motor.transmission


def reflected_inertia(motor: Motor) -> float:
    """Inertia of rotor and gear at the joint [kg m^2 or kg]; the transmission taken as rigid.

    `reflected_inertia` of the file if it is there, else (1); 0 if the file has neither.
    """
    if motor.reflected_inertia is not None:
        return motor.reflected_inertia
    i = ratio(motor)
    shaft = (motor.rotor_inertia or 0.0) + (motor.load_inertia or 0.0)
    return 0.0 if i is None else i * i * shaft


def reflected_damping(motor: Motor) -> float:
    """Viscous friction of the motor's bearings at the joint [N m s/rad or N s/m]."""
    i = ratio(motor)
    return 0.0 if i is None else i * i * motor.damping


def at_joint(motor: Motor, torque: float | None) -> float | None:
    """The effort at the joint [N m or N] of a motor torque [N m]; None if unknown."""
    i = ratio(motor)
    return None if torque is None or i is None else i * torque


def joint_speed(motor: Motor) -> float | None:
    """The greatest speed of the joint [rad/s or m/s]; None if unknown."""
    i = ratio(motor)
    return None if motor.peak_speed is None or i is None else motor.peak_speed / i


def drive_motors(robot: Robot, joints: Sequence[Coordinate]) -> tuple[Motor | None, ...]:
    """The motor of each joint: its own, or that of its group in the file."""
    return tuple(motor_of(robot.motors, joint)[1] for joint in joints)
