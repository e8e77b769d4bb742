"""Smoother motions: what input shaping, or more time, gains in vibration.

A shaper of two or three impulses replaces a motion x(t) by

    sum_k A_k x(t - t_k),     sum_k A_k = 1                                             (1)

with impulses half a damped period apart, T = pi / (w sqrt(1 - d^2)), and K = exp(-d w T),

    ZV     A = (1, K) / (1 + K)                                                         (2)
    ZVD    A = (1, 2 K, K^2) / (1 + K)^2                                                (3)

so that an oscillator of frequency w and damping ratio d does not swing on after the motion; ZVD
not even, to first order, if w is wrong. Positions are convolved: start and end stay, corners of
the path are cut by a little.

Reference: N. C. Singer, W. P. Seering, Journal of Dynamic Systems, Measurement, and Control 112
(1990) 76.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from triskele.errors import InputError, did_you_mean
from triskele.flexible.assembly import UNDAMPED, Damping
from triskele.flexible.modes import modes, sag
from triskele.flexible.response import vibrate
from triskele.flexible.robot import FlexibleRobot
from triskele.flexible.servo import NOTHING, Feed
from triskele.flexible.settling import settling
from triskele.kinematics.motion import Motion

SHAPERS = ("ZV", "ZVD")
Progress = Callable[[float], None]


class Impulses(NamedTuple):
    """A_k and t_k of (1)."""

    amplitudes: Float[np.ndarray, " k"]
    times: Float[np.ndarray, " k"]  #: [s]


class Trial(NamedTuple):
    """One way of making a motion, and what the tool does along it."""

    name: str
    duration: float  #: [s]
    largest: float  #: deviation of the platform from the rigid motion and its sag [m]
    left: float  #: the same after the stop, at most [m]
    settled: float  #: from the start until it stays within the tolerance [s]; inf: never


def shaper(frequency: float, ratio: float = 0.0, kind: str = "ZV") -> Impulses:
    """The impulses of (2) or (3) for a mode of `frequency` [rad/s] and damping `ratio`.

    >>> shaper(np.pi, 0.0, "ZVD").amplitudes
    array([0.25, 0.5 , 0.25])
    """
    if kind not in SHAPERS:
        raise InputError(f"There is no shaper '{kind}'. {did_you_mean(kind, SHAPERS)}")
    if not frequency > 0 or not 0 <= ratio < 1:
        raise InputError("A shaper needs a positive frequency and a damping ratio from 0 to 1.")
    T = np.pi / (frequency * np.sqrt(1 - ratio**2))
    K = np.exp(-ratio * frequency * T)
    powers = np.array([1.0, K]) if kind == "ZV" else np.array([1.0, 2 * K, K * K])
    return Impulses(powers / powers.sum(), T * np.arange(len(powers)))


def shaped(motion: Motion, impulses: Impulses) -> Motion:
    """`motion` convolved with `impulses`, equation (1); longer by the last of their times."""
    t = np.asarray(motion.t)
    step, later = float(np.median(np.diff(t))), float(impulses.times[-1])
    n = int(np.ceil((t[-1] - t[0] + later) / step)) + 1
    new = np.linspace(t[0], t[-1] + later, n)
    orders = [np.asarray(part) for part in (motion.x, motion.xd, motion.xdd, motion.xddd)]
    found = []
    for k, values in enumerate(orders):
        rates = orders[k + 1] if k < 3 else np.zeros_like(values)
        total = np.zeros((n, values.shape[1]))
        for A, shift in zip(*impulses, strict=True):
            total += A * _held(t, values, rates, new - shift, still=k > 0)
        found.append(jnp.asarray(total))
    return Motion(jnp.asarray(new), *found, coordinates=motion.coordinates)


def compare(
    robot: FlexibleRobot,
    motions: dict[str, Motion],
    *,
    damping: Damping = UNDAMPED,
    shapers: Sequence[str] = (),
    tolerance: float = 1e-3,
    feed: Callable[[Motion], Feed] = lambda motion: NOTHING,
    progress: Progress | None = None,
) -> tuple[Trial, ...]:
    """What the tool does along each of `motions`, and along each of them shaped.

    Shapers are tuned to the lowest mode where a motion ends; `feed` says what servos are fed.
    """
    trials = [(name, motion) for name, motion in motions.items()]
    for kind in shapers:
        for name, motion in motions.items():
            lowest = modes(robot, tuple(np.asarray(motion.x)[-1]), count=1)
            w, by_servo = float(lowest.frequencies[0]), float(lowest.ratios[0])
            undamped = w / np.sqrt(1 - by_servo**2)
            impulses = shaper(undamped, min(damping.ratio(undamped) + by_servo, 0.99), kind)
            trials.append((f"{name}, {kind}", shaped(motion, impulses)))
    found = []
    for k, (name, motion) in enumerate(trials):
        response = vibrate(robot, motion, damping=damping, feed=feed(motion))
        after = settling(response, tolerance)
        rest = sag(robot, tuple(np.asarray(motion.x)[0])).position
        largest = float(np.linalg.norm(response.position - rest[None, :], axis=1).max())
        T = float(motion.duration)
        found.append(Trial(name, T, largest, after.amplitude, T + after.time))
        if progress is not None:
            progress((k + 1) / len(trials))
    return tuple(found)


def _held(
    t: Float[np.ndarray, " N"],
    values: Float[np.ndarray, "N m"],
    rates: Float[np.ndarray, "N m"],
    at: Float[np.ndarray, " n"],
    *,
    still: bool,
) -> Float[np.ndarray, "n m"]:
    """Values at other times, by cubics; outside, the motion stands still."""
    from scipy.interpolate import CubicHermiteSpline

    inside = np.clip(at, t[0], t[-1])
    found = CubicHermiteSpline(t, values, rates, axis=0)(inside)
    outside = (at < t[0]) | (at > t[-1])
    return np.where(outside[:, None] & still, 0.0, found)
