"""States at which a robot is asked what it could tell, apart from any log.

Random states give the rank of the regressor; poses over the workspace, moved along each platform
coordinate, give the mass matrix there, as a linear function of the parameters:

    M e_j = (dq/dx)' (tau(x, 0, e_j) - tau(x, 0, 0))                                    (1)
"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float

from triskele.description.schema import Limits
from triskele.errors import OutOfReach
from triskele.kinematics.coordinates import vertical
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.reach import slack
from triskele.numerics import tabulate

Series = Float[np.ndarray, "N n"]
ROOM = 0.01  #: least slack of poses, as `reach.py` scales them, where there is as much
RANDOM = 192  #: random states
POSES = 48  #: over the workspace
_BESIDE = 0.2  #: of the width; home that is nearer to one side is not in the middle
_STEPS = 400  #: each way
_FEW = 8  #: steps that are too long
_FINER = 4  #: times that they are made shorter
_HALVINGS = 40  #: after which a pose is in the middle
_ENDS = ("workspace_radius", "joint_angle", "slider_position", "strut_length")  #: limits of poses
_AROUND = 1.2  #: of the span of the logs
_AT_REST = 0.1  #: of the way to the border, for a coordinate that rests in all logs


class Box(NamedTuple):
    """Poses about a middle, each coordinate alone in the workspace."""

    middle: np.ndarray
    half: np.ndarray  #: half widths
    room: float  #: least slack of its poses, as `reach.py` scales it


def box(mechanism: AbstractMechanism, limits: Limits) -> Box:
    """Half widths by walking out from home, first up and down.

    Halfway up, and else about home, unless home is at one side. Where several coordinates move,
    `inside` brings them back.
    """
    middle = np.array([float(np.asarray(value)) for value in mechanism.home()])
    coordinates, up = mechanism.platform_coordinates, vertical(mechanism, (0.0, 0.0, -1.0))
    lifted, half = [c.name == up for c in coordinates], np.empty(len(middle))
    law, size = _room(mechanism, limits), float(np.asarray(mechanism.size))
    if limits.workspace_height is not None:
        middle[lifted] = sum(limits.workspace_height) / 2
    room = min(ROOM, float(law(middle[None])[0]) / 4)
    if not room > 0:
        raise OutOfReach(
            "Home is out of reach of the limits, or the middle of the workspace is: state "
            "workspace_height under [limits], with its middle in reach."
        )
    for j in sorted(range(len(middle)), key=lambda j: not lifted[j]):
        reach = 2 * size if coordinates[j].unit == "m" else np.pi
        low, high = _walked(lambda poses: law(poses) > room, middle, j, reach)
        half[j] = min(-low, high)
        if lifted[j] or half[j] < _BESIDE * (high - low):
            middle[j] += (low + high) / 2
            half[j] = (high - low) / 2
    return Box(middle, np.maximum(half, 1e-9), room)


def _walked(
    reached: Callable[[Series], np.ndarray], middle: np.ndarray, j: int, reach: float
) -> tuple[float, float]:
    """How far coordinate `j` can go down and up, at most by `reach`; short ways in small steps."""
    low, high = 0.0, 0.0
    for _ in range(_FINER):
        steps = np.linspace(-reach, reach, 2 * _STEPS + 1)
        poses = np.repeat(middle[None], len(steps), axis=0)
        poses[:, j] += steps
        found = reached(poses)
        ends = [_run(found[_STEPS::-1]), _run(found[_STEPS:])]
        low, high = -ends[0] * 2 * reach / (2 * _STEPS), ends[1] * 2 * reach / (2 * _STEPS)
        if max(ends) >= _FEW:
            break
        reach *= (max(ends) + 1) / _STEPS
    return low, high


def inside(mechanism: AbstractMechanism, limits: Limits, middle: np.ndarray, x: Series) -> Series:
    """`x`, each pose that is out of reach brought halfway to the `middle` until it is not."""
    room, x = _room(mechanism, limits), x.copy()
    for _ in range(_HALVINGS):
        outside = ~(room(x) > 0)
        if not outside.any():
            break
        x[outside] = (x[outside] + middle) / 2
    return x


def _room(mechanism: AbstractMechanism, limits: Limits) -> Callable[[Series], np.ndarray]:
    law = tabulate(eqx.Partial(slack, mechanism, limits, guaranteed=True))
    return lambda poses: np.asarray(law(poses))


def _run(reached: np.ndarray) -> int:
    """How many steps one can go before one is outside."""
    return int(np.argmin(reached)) - 1 if not reached.all() else len(reached) - 1


def _bounded(limits: Limits) -> bool:
    """Whether the file says where the platform may go, or at least its joints."""
    return any(getattr(limits, key) is not None for key in _ENDS)


class Probes(NamedTuple):
    """States of the platform: `RANDOM` random ones, then poses for (1)."""

    x: Series
    xd: Series
    xdd: Series
    poses: int

    def mass_matrices(
        self, matrix: Float[np.ndarray, "N n p"], qd: Series, values: Float[np.ndarray, " p"]
    ) -> Float[np.ndarray, "poses n n"]:
        """M of (1) in platform coordinates, from Y and qd at these states."""
        n = qd.shape[1]
        tau = (matrix[-self.poses * (2 * n + 1) :] @ values).reshape(self.poses, 2 * n + 1, n)
        speed = qd[-self.poses * (2 * n + 1) :].reshape(self.poses, 2 * n + 1, n)
        inertial = tau[:, 1 : n + 1] - tau[:, :1]  # row j: drives, for e_j
        M = np.einsum("pki,pji->pkj", speed[:, n + 1 :], inertial)
        return (M + M.swapaxes(1, 2)) / 2


def probes(mechanism: AbstractMechanism, limits: Limits, worked: Series | None = None) -> Probes:
    """The same states for the same robot, every time.

    A file that states no workspace allows poses as far as loops close, next to singular ones, where
    a few states drown all others; probes then stay where the platform `worked`.
    """
    middle, half, _ = box(mechanism, limits)
    if worked is not None and not _bounded(limits):
        low, high = worked.min(axis=0), worked.max(axis=0)
        middle = (low + high) / 2
        half = np.minimum(half, np.maximum((high - low) / 2 * _AROUND, half * _AT_REST))
    random, n = np.random.default_rng(0), len(middle)
    x = inside(mechanism, limits, middle, middle + half * random.uniform(-0.6, 0.6, (RANDOM, n)))
    rates = half * random.normal(size=(2, RANDOM, n)) * np.array([4.0, 30.0])[:, None, None]
    spots = middle + half * random.uniform(-0.95, 0.95, (4 * POSES, n))
    spots = spots[_room(mechanism, limits)(spots) > 0][:POSES]
    still, units = np.zeros((n + 1, n)), np.eye(n)
    xd = np.tile(np.concatenate([still, units]), (len(spots), 1))
    xdd = np.tile(np.concatenate([still[:1], units, still[1:]]), (len(spots), 1))
    return Probes(
        np.concatenate([x, np.repeat(spots, 2 * n + 1, axis=0)]),
        np.concatenate([rates[0], xd]),
        np.concatenate([rates[1], xdd]),
        len(spots),
    )


def least_inertia(M: Float[np.ndarray, "poses n n"]) -> float:
    """The least eigenvalue, in units of the mean inertia of each coordinate; > 0 if M is.

    >>> round(least_inertia(np.array([[[2.0, 0.0], [0.0, 8.0]]])), 12)
    1.0
    """
    own = np.sqrt(np.abs(np.einsum("pii->pi", M)).mean(axis=0))
    return float(np.linalg.eigvalsh(M / np.outer(own, own)).min())
