"""How long a robot swings after it has stopped.

Once the motors stand still, (1) of `response` has constant coefficients, and modes swing each on
its own. With z = y - sag, the amplitude of a mode is e = v'M z, and with its damping ratio d

    e(t) = Re(c exp(s t)),   s = w (-d + sqrt(d^2 - 1)),   two such terms if d > 1      (1)

so that the way of the platform after the stop is known for all times, without integration. It has
settled when its deviation from the sag stays within a tolerance.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from triskele.errors import InputError
from triskele.flexible.assembly import Damping
from triskele.flexible.modes import modes, rest_matrices, sag
from triskele.flexible.response import Response
from triskele.kinematics.motion import Motion

_MODES = 24  #: at most, of those that swing on
_PER_PERIOD = 60  #: samples of the fastest of them
_NEVER = 1e4  #: periods of the lowest mode after which we give up
_MOST = 400_000  #: samples
_MOVING = 1e-9  #: of the peak speed: slower is standing still

Series = Float[np.ndarray, " _"]


class Settling(NamedTuple):
    """What follows the stop of a motion."""

    time: float  #: from the stop until it stays within the tolerance [s]; inf: it never does
    tolerance: float  #: [m]
    amplitude: float  #: largest deviation from the sag after the stop [m]
    t: Series  #: from the stop [s]
    deviation: Float[np.ndarray, "N 3"]  #: of the platform from the sag [m]


def settling(response: Response, tolerance: float) -> Settling:
    """How the platform comes to rest after the last sample of `response`, within [m]."""
    if not tolerance > 0:
        raise InputError(f"tolerance is {tolerance:g} m; it must be positive.")
    _check_stopped(response.motion)
    robot, x = response.robot, np.asarray(response.motion.x)[-1]
    found = modes(robot, tuple(x), count=min(_MODES, robot.unknowns))
    shapes, w = np.asarray(found.shapes), np.asarray(found.frequencies)
    M = np.asarray(rest_matrices(robot, jnp.asarray(x), False).M)
    z = response.y[-1] - np.asarray(sag(robot, tuple(x)).y)
    c, s = _swings(shapes.T @ M @ z, shapes.T @ M @ response.yd[-1], w, response.damping)
    ways = np.tile(shapes[:3].T, (2, 1))
    envelope = np.abs(c) * np.linalg.norm(ways, axis=1)
    decay, most = -np.real(s), _NEVER * 2 * np.pi / w[0]
    end = _horizon(envelope, decay, tolerance, most)
    never = (envelope * np.exp(-decay * end)).sum() > tolerance  # and if it is ever outside
    alive = envelope > tolerance / 100
    fastest = np.abs(np.imag(s)[alive]).max(initial=w[0])
    count = int(np.clip(end * fastest / (2 * np.pi) * _PER_PERIOD, 200, _MOST))
    t = np.linspace(0, end, count)
    deviation = np.real((c[None, :] * np.exp(np.outer(t, s))) @ ways)
    size = np.linalg.norm(deviation, axis=1)
    outside = np.flatnonzero(size > tolerance)
    last = -1 if not len(outside) else int(outside[-1])
    later = np.inf if never or last == count - 1 else float(t[last + 1])
    time = 0.0 if last < 0 else later
    shown = slice(None, max(last + 2, min(count, 200)))
    return Settling(time, tolerance, float(size.max()), t[shown], deviation[shown])


def _swings(e: Series, ed: Series, w: Series, damping: Damping) -> tuple[np.ndarray, np.ndarray]:
    """c and s of e(t) = sum c exp(s t), two terms for each mode, conjugate if it swings."""
    ratio = np.array([damping.ratio(float(value)) for value in w])
    ratio = np.where(np.abs(ratio - 1) < 1e-9, 1 + 1e-9, ratio)  # two terms, not t exp(s t)
    root = np.sqrt(ratio.astype(complex) ** 2 - 1)
    plus, minus = w * (-ratio + root), w * (-ratio - root)
    first = (ed - minus * e) / (plus - minus)
    return np.concatenate([first, e - first]), np.concatenate([plus, minus])


def _horizon(envelope: Series, decay: Series, tolerance: float, most: float) -> float:
    """When the sum of all swings is within the tolerance for sure, or `most`."""
    t = most / 2**40
    while t < most and (envelope * np.exp(-decay * t)).sum() > tolerance:
        t *= 2
    return min(max(t, most * 1e-4), most)


def stops(motion: Motion) -> bool:
    """Whether a motion ends at rest, but for rounding."""
    speed = np.linalg.norm(np.asarray(motion.xd)[:, :3], axis=1)
    return bool(speed[-1] <= _MOVING * max(speed.max(), 1e-12))


def _check_stopped(motion: Motion) -> None:
    if not stops(motion):
        last = float(np.linalg.norm(motion.xd[-1, :3]))
        raise InputError(
            f"The motion does not stop: it ends at {last:.3g} m/s. Settling needs a stop."
        )
