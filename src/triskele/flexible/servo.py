"""The position loops that hold the motors of a flexible robot.

Seen from a joint, with s the turn of a motor beyond what is commanded (q = q_c + s, the motor's own
angle over its ratio i), the cascade of the file, continuous and without limits of current, is

    tau = -k s - d s' - k_I z - c q_c',      z' = kV s + s' + b q_c'                      (1)
    k = i^2 kT kP kV,   d = i^2 kT kP,   k_I = i^2 kT kI,   c = d and b = 1, or 0 each

c and b are 0 where the velocity of the command is fed forward. With J of what turns with a motor,
viscous friction c_1, and T what its gear or arm takes,

    J (s'' + q_c'') + c_1 (s' + q_c') + T = tau + tau_f                                  (2)

with tau_f what is fed forward of torque. A spring and a damper hold a motor, k and d, and an
integrator: to slow pushes k grows to k + k_I, and to lasting ones without bound.

Not in it: sampling, which delays the loop by half a period and what it computes for; the loop of
current; limits of current; dry friction.
"""

from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float

from triskele.description.schema import Payload, Robot
from triskele.dynamics.handle import torque_function
from triskele.dynamics.robot import rigid
from triskele.errors import InputError
from triskele.kinematics.motion import Motion
from triskele.laws.drives import Drive
from triskele.numerics import AnyArray

_WHY = "a drive held by its servo"


class Servo(eqx.Module):
    """The constants of (1), and friction; all at the joints."""

    stiffness: Float[AnyArray, "3"]  #: k [N m/rad]
    damping: Float[AnyArray, "3"]  #: d [N m s/rad]
    integral: Float[AnyArray, "3"]  #: k_I [N m/rad]
    position_gain: Float[AnyArray, "3"]  #: kV [1/s]
    friction: Float[AnyArray, "3"]  #: c_1, viscous, that moves with the motor [N m s/rad]
    beyond: Float[AnyArray, "3"]  #: the same of joints behind soft gears [N m s/rad]


class Feed(NamedTuple):
    """What servos are told of a motion beside its angles."""

    velocity: bool = False
    torque: Float[np.ndarray, "N 3"] | None = None  #: at the joints without friction [N m]


NOTHING = Feed()


def feed_forward(
    robot: Robot,
    motion: Motion,
    payload: Payload | str | None = None,
    *,
    velocity: bool = True,
    torque: bool = True,
) -> Feed:
    """Velocity along a motion, and the torque that the rigid robot takes of it.

    Of friction only what is viscous in `Servo` is fed forward, and joins that torque in `response`.
    """
    if not torque:
        return Feed(velocity)
    efforts = torque_function(rigid(robot, payload, friction=False))
    rows = (np.asarray(part) for part in (motion.x, motion.xd, motion.xdd))
    return Feed(velocity, np.asarray(efforts(*rows))[:, :3])


def servo(robot: Robot, own: tuple[Drive, ...]) -> Servo:
    """The servo of the drives of a file with [control]; a sentence says what is missing."""
    robot.require("control", _WHY)
    kV, kP = (
        float(str(robot.require(f"control.{k}_gain", _WHY))) for k in ("position", "velocity")
    )
    kI = 0.0 if robot.control is None else robot.control.integral_gain or 0.0
    soft = any(drive.stiffness is not None for drive in own)
    rows = []
    for drive in own:
        robot.require(f"{drive.place}.{drive.ratio_key}", _WHY)
        kT = float(str(robot.require(f"{drive.place}.torque_constant", _WHY)))
        i = drive.ratio or 0.0
        if soft and not drive.rotor_inertia > 0:
            raise InputError(
                f"{robot.name}, {drive.place}: between a soft gear and its servo turns a rotor "
                "without inertia; add rotor_inertia."
            )
        law = drive.friction if soft else drive.whole_friction
        at_joint = 0.0 if law is None else law.slope
        rubbing = (i * i * drive.motor.damping, at_joint) if soft and drive.motor else (at_joint, 0)
        rows.append((i * i * kT * kP * kV, i * i * kT * kP, i * i * kT * kI, kV, *rubbing))
    return Servo(*(np.asarray(column, float) for column in zip(*rows, strict=True)))


def has_servo(robot: Robot, own: tuple[Drive, ...]) -> bool:
    """Whether the file says how its motors are held."""
    gains = robot.control
    if gains is None or gains.position_gain is None or gains.velocity_gain is None:
        return False
    return all(d.ratio is not None and d.motor and d.motor.torque_constant for d in own)
