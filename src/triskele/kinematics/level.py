"""Poses at one height, on a grid as wide as the robot reaches there."""

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Float

from triskele.description.schema import Limits
from triskele.errors import InputError
from triskele.kinematics.coordinates import listed
from triskele.kinematics.mechanism import AbstractMechanism, Coordinate
from triskele.kinematics.reach import slack
from triskele.numerics import stacked, tabulate

_COARSE = 41
_PLACES = tuple(Coordinate(name, "m") for name in "xyz")


def poses_at_level(
    mechanism: AbstractMechanism, limits: Limits, z: float, points: int
) -> tuple[Float[np.ndarray, "n n m"], Bool[np.ndarray, "n n"]]:
    """A grid of poses at height `z` [m], and which of them are within reach.

    Over x and y; coordinates besides x, y and z are at home.
    """
    named = [Coordinate(*c) for c in mechanism.platform_coordinates]
    if not set(_PLACES) <= set(named):
        raise InputError(
            f"A level is for robots that move along x, y and z; this one moves in {listed(named)}."
        )
    x, y, up = (named.index(place) for place in _PLACES)
    home = np.asarray(stacked(mechanism.home()), float)
    home[up] = z
    allowed = tabulate(eqx.Partial(_slack, mechanism, limits))

    def grid(
        box: Float[np.ndarray, "2 2"], n: int
    ) -> tuple[Float[np.ndarray, "n n m"], Bool[np.ndarray, "n n"]]:
        poses = np.tile(home, (n, n, 1))
        ways = (np.linspace(low, high, n) for low, high in box)
        poses[..., x], poses[..., y] = np.meshgrid(*ways, indexing="ij")
        return poses, (np.asarray(allowed(poses.reshape(n * n, -1))) > 0).reshape(n, n)

    size = 2 * float(np.asarray(mechanism.size))
    middle = home[[x, y]]
    _, coarse = grid(middle[:, None] + np.array([[-size, size]] * 2), _COARSE)
    if not coarse.any():
        raise InputError(f"Nothing is within reach at z = {z:g} m.")
    axis = np.linspace(-size, size, _COARSE)
    step = axis[1] - axis[0]
    ends = [np.flatnonzero(coarse.any(axis=1 - k)) for k in range(2)]
    box = np.array([[axis[p[0]] - step, axis[p[-1]] + step] for p in ends])
    return grid(middle[:, None] + box, points)


def _slack(mechanism: AbstractMechanism, limits: Limits, x: tuple) -> object:
    return slack(mechanism, limits, x)
