"""How long a robot swings after it has stopped.

Once the motors stand still, (1) of `response` has constant coefficients, and modes swing each on
its own. With z = y - sag, the amplitude of a mode is e = v'M z, and with its damping ratio d

    e(t) = Re(c exp(s t)),   s = w (-d + sqrt(d^2 - 1)),   two such terms if d > 1      (1)

so that the way of the platform after the stop is known for all times, without integration. Gears
with a damping of their own couple the modes V, and so does tension if it stiffens. With D = V'C V,

    (e, e') = sum_j c_j X_j exp(s_j t),   X_j, s_j of [0 1; -w^2 -D]                     (2)

Where servos hold the motors, s_j are the poles of `poles`, all of them, and z is part of the state;
motors that have lagged behind come up after the stop of the command, and that is settling as well.

It has settled when its deviation from the sag stays within a tolerance.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh

from triskele.errors import InputError
from triskele.flexible.assembly import Damping, drive_places
from triskele.flexible.modes import rest_matrices
from triskele.flexible.poles import integrates, poles
from triskele.flexible.response import Response
from triskele.kinematics.motion import Motion

_MODES = 24  #: at most, of those that swing on
_COUPLED = 1e-9  #: of the damping, between modes
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
    rest = rest_matrices(robot, jnp.asarray(x), response.stiffened, damping=response.damping)
    M, C, K, f = (np.asarray(part) for part in (rest.M, rest.C, rest.K, rest.f))
    K = (K + K.T) / 2
    count = robot.unknowns if robot.servo is not None else min(_MODES, robot.unknowns)
    squares, shapes = eigh(K, M, subset_by_index=(0, count - 1))
    w = np.sqrt(np.maximum(squares, 0.0))
    if robot.servo is not None:
        s, ways = _held_by_servos(response, M, C, K, f)
    else:
        z = response.y[-1] + np.linalg.solve(K, f)
        e, ed = shapes.T @ M @ z, shapes.T @ M @ response.yd[-1]
        D = shapes.T @ C @ shapes
        if np.abs(D - np.diag(np.diag(D))).max() > _COUPLED * np.abs(D).max(initial=1e-300):
            s, terms = _coupled_swings(e, ed, w, D)
        else:
            s, terms = _swings(e, ed, w, response.damping)
        ways = terms @ shapes[:3].T
    envelope = np.linalg.norm(ways, axis=1)
    decay, most = -np.real(s), _NEVER * 2 * np.pi / w[0]
    end = _horizon(envelope, decay, tolerance, most)
    never = (envelope * np.exp(-decay * end)).sum() > tolerance  # and if it is ever outside
    alive = envelope > tolerance / 100
    fastest = np.abs(np.imag(s)[alive]).max(initial=w[0])
    count = int(np.clip(end * fastest / (2 * np.pi) * _PER_PERIOD, 200, _MOST))
    t = np.linspace(0, end, count)
    deviation = np.real(np.exp(np.outer(t, s)) @ ways)
    size = np.linalg.norm(deviation, axis=1)
    outside = np.flatnonzero(size > tolerance)
    last = -1 if not len(outside) else int(outside[-1])
    later = np.inf if never or last == count - 1 else float(t[last + 1])
    time = 0.0 if last < 0 else later
    shown = slice(None, max(last + 2, min(count, 200)))
    return Settling(time, tolerance, float(size.max()), t[shown], deviation[shown])


def _swings(e: Series, ed: Series, w: Series, damping: Damping) -> tuple[np.ndarray, np.ndarray]:
    """s of equation (1) and c, a row for each; two of each mode, conjugate if it swings."""
    ratio = np.array([damping.ratio(float(value)) for value in w])
    ratio = np.where(np.abs(ratio - 1) < 1e-9, 1 + 1e-9, ratio)  # two terms, not t exp(s t)
    root = np.sqrt(ratio.astype(complex) ** 2 - 1)
    plus, minus = w * (-ratio + root), w * (-ratio - root)
    first = (ed - minus * e) / (plus - minus)
    c = np.concatenate([np.diag(first), np.diag(e - first)])
    return np.concatenate([plus, minus]), c


def _coupled_swings(
    e: Series, ed: Series, w: Series, D: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """s of equation (2), and the upper halves of c_j X_j as rows."""
    n = len(w)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-np.diag(w**2), -D]])
    s, X = np.linalg.eig(A)
    c = np.linalg.solve(X, np.concatenate([e, ed]))
    return s, (X[:n] * c[None, :]).T


def _held_by_servos(
    response: Response, M: np.ndarray, C: np.ndarray, K: np.ndarray, f: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Poles, and the way of the platform in each, a row for each."""
    robot, servo = response.robot, response.robot.servo
    assert servo is not None
    assert response.integral is not None
    assert response.fed is not None
    found, places = poles(robot, M, C, K), drive_places(robot, robot.motor_turn)
    f = f.copy()
    f[places] -= response.fed[-1]
    free = np.ones(robot.unknowns)
    if integrates(robot):
        free[places] = 0.0
    rest = np.linalg.solve(K * free[:, None] * free[None, :] + np.diag(1 - free), -f * free)
    state = [response.y[-1] - rest, response.yd[-1]]
    if integrates(robot):
        needed = (f + K @ rest)[places]
        state.append(response.integral[-1] + needed / np.asarray(servo.integral))
    c = np.linalg.solve(found.vectors, found.states @ np.concatenate(state))
    return found.p, (found.shapes[:3] * c[None, :]).T


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
