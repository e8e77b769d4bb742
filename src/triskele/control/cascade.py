"""Cascade control of drives: position P, velocity PI, current; and what may be fed forward.

Angles are those of the motors, from home: th_c = i (q_c - q0). Every position period T_p

    w_c = kV (th_c - th1) + [th_c']                                                     (1)

is computed and held, one period late if `delay` is 1. The velocity loop, continuous or every
T_v, asks for the current

    I = kP (w_c - th1') + kI int (w_c - th1') dt + [I_ff]                               (2)

limited by the drive; while it is at its limit the integral does not grow (anti-windup). The
current loop is ideal. In brackets what may be fed forward from the model of the robot:

    velocity           th_c'
    windup             th_c + T / kt instead of th_c: the coupling's twist under what the
                       motion asks for, so that the load, not the motor, is where it should be
    torque             I_ff = (T + J1 th_c'' + friction) / kT                            (3)
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp

from triskele.description.schema import Robot
from triskele.errors import InputError
from triskele.numerics import Scalar

_WHY = "a closed loop"


class FeedForward(NamedTuple):
    """What is fed forward; nothing, unless said."""

    velocity: bool = False
    windup: bool = False  #: elastic pre-compensation
    torque: bool = False


NOTHING = FeedForward()


class Cascade(eqx.Module):
    """Gains of (1) and (2), alike on all drives, and how they are sampled."""

    position_gain: Scalar  #: kV [1/s]
    velocity_gain: Scalar  #: kP [A s/rad]
    integral_gain: Scalar  #: kI [A/rad]
    position_period: float | None = eqx.field(static=True)  #: T_p [s]; None: continuous
    velocity_period: float | None = eqx.field(static=True, default=None)  #: T_v [s]
    delay: int = eqx.field(static=True, default=0)  #: of w_c, in position periods

    def __check_init__(self) -> None:
        """Periods fit into one another."""
        T, Tv = self.position_period, self.velocity_period
        if self.delay not in (0, 1):
            raise InputError(f"delay is {self.delay}; the position loop is 0 or 1 period late.")
        if self.delay and T is None:
            raise InputError("delay counts position periods; a continuous loop has none.")
        if Tv is None:
            return
        if T is None:
            raise InputError("A sampled velocity loop needs a sampled position loop around it.")
        if abs(T / Tv - round(T / Tv)) > 1e-6 or round(T / Tv) < 1:
            raise InputError(
                f"position_period {T:g} s is no whole multiple of velocity_period {Tv:g} s."
            )

    @property
    def ticks(self) -> int:
        """Velocity periods in a position period; 1 if the velocity loop is continuous."""
        T, Tv = self.position_period, self.velocity_period
        return 1 if Tv is None or T is None else round(T / Tv)


def cascade(
    robot: Robot,
    *,
    position_gain: float | None = None,
    velocity_gain: float | None = None,
    integral_gain: float | None = None,
    position_period: float | None = None,
    velocity_period: float | None = None,
    delay: int = 0,
) -> Cascade:
    """The control of a robot file; numbers given here take the place of the file's."""
    robot.require("control", _WHY)
    given = {
        "position_gain": position_gain,
        "velocity_gain": velocity_gain,
        "integral_gain": integral_gain,
        "position_period": position_period,
        "velocity_period": velocity_period,
    }
    found = {}
    for key, value in given.items():
        stated = getattr(robot.control, key)
        found[key] = stated if value is None else float(value)
        if found[key] is None and key in ("position_gain", "velocity_gain"):
            robot.require(f"control.{key}", _WHY)
        if found[key] is not None and not (found[key] > 0 or key == "integral_gain"):
            raise InputError(f"{key} is {found[key]:g}; it must be positive.")
    if (found["integral_gain"] or 0.0) < 0:
        raise InputError(f"integral_gain is {found['integral_gain']:g}; it must not be negative.")
    return Cascade(
        position_gain=jnp.asarray(found["position_gain"], float),
        velocity_gain=jnp.asarray(found["velocity_gain"], float),
        integral_gain=jnp.asarray(found["integral_gain"] or 0.0, float),
        position_period=found["position_period"],
        velocity_period=found["velocity_period"],
        delay=delay,
    )
