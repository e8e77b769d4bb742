"""An actuator: a motor with its current, two inertias, and what lies between them.

Motor angle th1, load angle th2 = i (q - q0), both at the motor shaft; i is the ratio of
`motors.py`. A spring and a damper couple them (a belt, a gear that winds up), dry and viscous
friction sit in the motor's bearings:

    J1 th1'' = kT I - c1 th1' - C tanh(th1' / w_C) - T                                  (1)
    J2 th2'' = T - F / i                                                                (2)
    T = kt (th1 - th2) + ct (th1' - th2')                                               (3)

with the current I, limited to +-I_max, and the effort F that the mechanism takes at its
joint. kt may be another while the load leads (th1 < th2): a belt whose two sides differ.

F holds the inertia of the mechanism, which is larger than i^2 J2, so that (2) must not be
integrated with F of the step before: that diverges for every step size, where
M / (i^2 J2) > 1. J2 belongs on the side of the mechanism, as i^2 J2 at its joint; the
mechanism is then driven by the effort i T.

A stiff transmission, one without kt, has th1 = th2 and one inertia J1 + J2 at the joint.
"""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from triskele.description.schema import Motor, Robot
from triskele.errors import MissingFact
from triskele.laws.drives import Drive
from triskele.laws.motors import ratio
from triskele.numerics import AnyArray

_WHY = "a closed loop"


class Coupling(eqx.Module):
    """Spring and damper of (3), of n drives."""

    stiffness: Float[AnyArray, " n"]  #: kt [N m/rad]
    reverse: Float[AnyArray, " n"]  #: kt [N m/rad] while the load leads
    damping: Float[AnyArray, " n"]  #: ct [N m s/rad]

    def torque(
        self, twist: Float[AnyArray, " n"], rate: Float[AnyArray, " n"]
    ) -> Float[AnyArray, " n"]:
        """T of (3) [N m], from th1 - th2 [rad] and its rate."""
        return jnp.where(twist >= 0, self.stiffness, self.reverse) * twist + self.damping * rate

    def twist(self, torque: Float[AnyArray, " n"]) -> Float[AnyArray, " n"]:
        """The twist th1 - th2 [rad] at rest under a torque [N m]."""
        return torque / jnp.where(torque >= 0, self.stiffness, self.reverse)


class Actuators(eqx.Module):
    """The constants of (1) to (3), one entry per drive."""

    ratio: Float[AnyArray, " n"]  #: i [rad/rad or rad/m]
    torque_constant: Float[AnyArray, " n"]  #: kT [N m/A]
    rotor_inertia: Float[AnyArray, " n"]  #: J1 [kg m^2]; J1 + J2 of a stiff transmission
    damping: Float[AnyArray, " n"]  #: c1 [N m s/rad]
    coulomb: Float[AnyArray, " n"]  #: C [N m]
    coulomb_speed: Float[AnyArray, " n"]  #: w_C [rad/s]
    current_limit: Float[AnyArray, " n"]  #: I_max [A], or of the peak torque; infinite without
    load_inertia: Float[AnyArray, " n"]  #: J2 [kg m^2]; 0 of a stiff transmission
    coupling: Coupling | None  #: None: stiff

    def limited(self, current: Float[AnyArray, " n"]) -> Float[Array, " n"]:
        """`current` [A] within its limits."""
        return jnp.clip(current, -self.current_limit, self.current_limit)

    def friction(self, speed: Float[AnyArray, " n"]) -> Float[AnyArray, " n"]:
        """Torque of the bearings [N m] at the motor's `speed` [rad/s]."""
        return self.damping * speed + self.coulomb * jnp.tanh(speed / self.coulomb_speed)

    def rotor_acceleration(
        self,
        current: Float[AnyArray, " n"],
        speed: Float[AnyArray, " n"],
        torque: Float[AnyArray, " n"],
    ) -> Float[AnyArray, " n"]:
        """th1'' of (1) [rad/s^2], with the `torque` T of the coupling."""
        drive = self.torque_constant * current - self.friction(speed) - torque
        return drive / self.rotor_inertia


def actuators(robot: Robot, drives: Sequence[Drive]) -> Actuators:
    """The actuators of the `drives` of a robot file."""
    for drive in drives:
        _check(robot, drive)
    found = [drive.motor for drive in drives if drive.motor is not None]
    soft = all(motor.coupling_stiffness is not None for motor in found)
    if not soft and any(motor.coupling_stiffness is not None for motor in found):
        raise MissingFact(
            f"{robot.name}: one of its motors has a coupling_stiffness, another has none; "
            "all transmissions must be soft, or all stiff."
        )

    def each(values: list[float]) -> Array:
        return jnp.asarray(values, float)

    stiff = [0.0 if soft else motor.load_inertia or 0.0 for motor in found]
    return Actuators(
        ratio=each([ratio(motor) or 0.0 for motor in found]),
        torque_constant=each([motor.torque_constant or 0.0 for motor in found]),
        rotor_inertia=each(
            [(motor.rotor_inertia or 0.0) + more for motor, more in zip(found, stiff, strict=True)]
        ),
        damping=each([motor.damping for motor in found]),
        coulomb=each([motor.coulomb for motor in found]),
        coulomb_speed=each([motor.coulomb_speed for motor in found]),
        current_limit=each([_most(motor) for motor in found]),
        load_inertia=each([(motor.load_inertia or 0.0) if soft else 0.0 for motor in found]),
        coupling=_coupling(found) if soft else None,
    )


def _most(motor: Motor) -> float:
    """The greatest current [A]: stated, or that of the peak torque."""
    if motor.current_limit is not None:
        return motor.current_limit
    torque, kT = motor.peak_torque, motor.torque_constant
    return float("inf") if torque is None or kT is None else torque / kT


def _coupling(motors: list[Motor]) -> Coupling:
    forth = [motor.coupling_stiffness or 0.0 for motor in motors]
    back = [motor.coupling_stiffness_reverse or kt for motor, kt in zip(motors, forth, strict=True)]
    lost = [motor.coupling_damping for motor in motors]
    return Coupling(*(jnp.asarray(part, float) for part in (forth, back, lost)))


def _check(robot: Robot, drive: Drive) -> None:
    """Refuse a drive without the numbers that a closed loop needs."""
    place, motor = drive.place, drive.motor
    if motor is None:
        raise MissingFact(f"{robot.name} has no '{place}', which {_WHY} needs; add it.")
    if drive.ratio is None:
        key = f"{place}.{drive.ratio_key}"
        raise MissingFact(f"{robot.name} has no '{key}', which {_WHY} needs; add it.")
    robot.require(f"{place}.torque_constant", _WHY)
    if motor.coupling_stiffness is not None and not motor.rotor_inertia:
        robot.require(f"{place}.rotor_inertia", f"{_WHY} with a soft transmission")


def at_joints(drives: Sequence[Drive], motors: Actuators) -> Float[AnyArray, " n"]:
    """Inertia that moves with the joints [kg m^2 or kg]: i^2 J2, or all of a stiff transmission."""
    if motors.coupling is not None:
        return motors.ratio**2 * motors.load_inertia
    return jnp.asarray([drive.inertia for drive in drives], float)
