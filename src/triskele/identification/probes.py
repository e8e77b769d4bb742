"""States at which a robot is asked what it could tell, apart from any log.

Random states give the rank of the regressor; poses over the workspace, moved along each platform
coordinate, give the mass matrix there, as a linear function of the parameters:

    M e_j = (dq/dx)' (tau(x, 0, e_j) - tau(x, 0, 0))                                    (1)
"""

from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float

from triskele.description.schema import Limits
from triskele.errors import OutOfReach
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.reach import slack
from triskele.numerics import tabulate

Series = Float[np.ndarray, "N n"]
ROOM = 0.01  #: least slack of poses, as `reach.py` scales them
RANDOM = 192  #: random states
POSES = 48  #: over the workspace


def box(mechanism: AbstractMechanism, limits: Limits) -> tuple[np.ndarray, np.ndarray]:
    """Middle and half widths of a box of poses in the workspace, by walking out from home."""
    middle = np.array([float(np.asarray(value)) for value in mechanism.home()])
    names = [c.name for c in mechanism.platform_coordinates]
    room = tabulate(eqx.Partial(slack, mechanism, limits, guaranteed=True))
    size = float(np.asarray(mechanism.scales().loops[0]))
    half = np.full(len(middle), np.pi)
    if limits.workspace_height is not None and "z" in names:
        middle[names.index("z")] = sum(limits.workspace_height) / 2
    order = sorted(range(len(names)), key=lambda j: names[j] != "z")
    for j in order:
        reach = 2 * size if mechanism.platform_coordinates[j].unit == "m" else np.pi
        steps = np.linspace(-reach, reach, 801)
        poses = np.repeat(middle[None], len(steps), axis=0)
        poses[:, j] += steps
        inside = np.asarray(room(poses)) > ROOM
        if not inside[400]:
            raise OutOfReach("The middle of the workspace is out of reach; state its height.")
        ends = [_run(inside[400::-1]), _run(inside[400:])]
        low, high = -ends[0] * 2 * reach / 800, ends[1] * 2 * reach / 800
        if names[j] == "z":
            middle[j] += (low + high) / 2
            half[j] = (high - low) / 2
        else:
            half[j] = min(-low, high)
    return middle, np.maximum(half, 1e-9)


def _run(inside: np.ndarray) -> int:
    """How many steps one can go before one is outside."""
    return int(np.argmin(inside)) - 1 if not inside.all() else len(inside) - 1


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


def probes(mechanism: AbstractMechanism, limits: Limits) -> Probes:
    """The same states for the same robot, every time."""
    middle, half = box(mechanism, limits)
    random, n = np.random.default_rng(0), len(middle)
    x = middle + half * random.uniform(-0.6, 0.6, (RANDOM, n))
    rates = half * random.normal(size=(2, RANDOM, n)) * np.array([4.0, 30.0])[:, None, None]
    spots = middle + half * random.uniform(-0.95, 0.95, (4 * POSES, n))
    room = np.asarray(tabulate(eqx.Partial(slack, mechanism, limits, guaranteed=True))(spots))
    spots = spots[room > 0][:POSES]
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
