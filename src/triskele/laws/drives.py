"""The drives of a robot: one record for each driven joint, whatever its architecture.

A record holds what the file says of one joint: its motor, its friction, its range and what limits
its rates, each from the table of its own name or from that of its group. Units follow the joint:
rad, rad/s, N m where it turns; m, m/s, N where it slides.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import equinox as eqx
import numpy as np

from triskele.description.schema import Motor, Range, Robot
from triskele.kinematics.fit import each, friction_of, motor_of, number_in_group, ranges, slides
from triskele.kinematics.mechanism import AbstractMechanism, Coordinate
from triskele.laws.friction import FrictionLaw, friction_law
from triskele.laws.motors import (
    at_joint,
    joint_speed,
    ratio,
    reflected_damping,
    reflected_inertia,
)


class Drive(NamedTuple):
    """One driven joint."""

    coordinate: Coordinate
    place: str  #: where the file has its motor, or would have it: motors.q2, motors.drives
    motor: Motor | None
    friction: FrictionLaw | None  #: of the joint, without that of the motor's bearings
    range: Range | None  #: [rad or m]
    speed: float | None  #: greatest [rad/s or m/s]
    acceleration: float | None  #: [rad/s^2 or m/s^2]
    jerk: float | None  #: [rad/s^3 or m/s^3]
    effort_rate: float | None  #: [N m/s or N/s]

    @property
    def name(self) -> str:
        """Name of the joint coordinate."""
        return self.coordinate.name

    @property
    def sliding(self) -> bool:
        """Whether the joint slides; else it turns."""
        return slides(self.coordinate)

    @property
    def effort_unit(self) -> str:
        """N m or N."""
        return "N" if self.sliding else "N m"

    @property
    def ratio_key(self) -> str:
        """Key of the ratio in the file."""
        return "transmission" if self.sliding else "gear_ratio"

    @property
    def ratio(self) -> float | None:
        """Motor turn per motion of the joint [rad/rad or rad/m]; None if unknown."""
        return None if self.motor is None else ratio(self.motor)

    @property
    def inertia(self) -> float:
        """Inertia of motor and gear at the joint, their coupling rigid [kg m^2 or kg]."""
        return 0.0 if self.motor is None else reflected_inertia(self.motor)

    @property
    def peak_effort(self) -> float | None:
        """Effort at the joint under the motor's peak torque [N m or N]; None if unknown."""
        return None if self.motor is None else at_joint(self.motor, self.motor.peak_torque)

    @property
    def continuous_effort(self) -> float | None:
        """Effort at the joint under the motor's continuous torque [N m or N]; None if unknown."""
        return None if self.motor is None else at_joint(self.motor, self.motor.continuous_torque)

    @property
    def motor_speed(self) -> float | None:
        """Speed of the joint at the motor's peak speed [rad/s or m/s]; None if unknown."""
        return None if self.motor is None else joint_speed(self.motor)

    @property
    def corner(self) -> float | None:
        """The part of the motor's peak speed up to which it has its peak torque; None: all."""
        motor = self.motor
        if motor is None or motor.corner_speed is None or motor.peak_speed is None:
            return None
        return motor.corner_speed / motor.peak_speed

    @property
    def stiffness(self) -> float | None:
        """Stiffness of the coupling at the joint, i^2 kt [N m/rad or N/m]; None if it is rigid."""
        i = self.ratio
        if self.motor is None or self.motor.coupling_stiffness is None or i is None:
            return None
        return i * i * self.motor.coupling_stiffness

    @property
    def damping(self) -> float:
        """Damping of the coupling at the joint, i^2 ct [N m s/rad or N s/m]."""
        i = self.ratio
        return 0.0 if self.motor is None or i is None else i * i * self.motor.coupling_damping

    @property
    def load_inertia(self) -> float:
        """What moves with the joint [kg m^2 or kg]: i^2 J2, or all if the coupling is rigid."""
        if self.stiffness is None or self.motor is None or self.ratio is None:
            return self.inertia
        return self.ratio**2 * (self.motor.load_inertia or 0.0)

    @property
    def rotor_inertia(self) -> float:
        """What moves with the motor, at the joint [kg m^2 or kg]; all if the coupling is rigid."""
        motor = self.motor
        if self.stiffness is None or motor is None or motor.reflected_inertia is not None:
            return self.inertia
        return self.inertia - self.load_inertia

    @property
    def whole_friction(self) -> FrictionLaw | None:
        """Friction at the joint with that of the motor's bearings."""
        law, motor = self.friction, self.motor
        if motor is None or not (motor.damping or motor.coulomb):
            return law
        i = ratio(motor) or 0.0
        if law is None:
            zero = np.zeros(())
            speed = motor.coulomb_speed / i if motor.coulomb and i else 1.0
            law = FrictionLaw(coulomb=zero, viscous=zero, smoothing_speed=np.asarray(speed))
        more = law.viscous + reflected_damping(motor), law.coulomb + i * motor.coulomb
        more = tuple(np.asarray(term) for term in more)
        return eqx.tree_at(lambda law: (law.viscous, law.coulomb), law, more)


def drives(robot: Robot, mechanism: AbstractMechanism) -> tuple[Drive, ...]:
    """The drives of a robot, in the order of its joint coordinates."""
    return tuple(_drives(robot, mechanism.joint_coordinates))


def _drives(robot: Robot, joints: Sequence[Coordinate]) -> Iterator[Drive]:
    n, limits = len(joints), robot.limits
    columns = zip(
        ranges(limits, joints),
        *(
            each(values, n)
            for values in (
                limits.joint_speed,
                limits.joint_acceleration,
                limits.joint_jerk,
                limits.torque_rate,
            )
        ),
        strict=True,
    )
    for k, (joint, limited) in enumerate(zip(joints, columns, strict=True)):
        name, motor = motor_of(robot.motors, joint)
        _, rubbing = friction_of(robot.friction, joint)
        law = None if rubbing is None else friction_law(rubbing, number_in_group(joints, k))
        yield Drive(joint, f"motors.{name}", motor, law, *limited)
