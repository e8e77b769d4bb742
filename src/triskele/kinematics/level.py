"""Poses at one height, on a grid as wide as the robot reaches there."""

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Float

from triskele.description.schema import Limits
from triskele.errors import InputError
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.reach import slack
from triskele.numerics import tabulate

_COARSE = 41


def poses_at_level(
    mechanism: AbstractMechanism, limits: Limits, z: float, points: int
) -> tuple[Float[np.ndarray, "n n m"], Bool[np.ndarray, "n n"]]:
    """A grid of poses at height `z` [m], and which of them are within reach."""
    names = [c.name for c in mechanism.platform_coordinates]
    if names[:3] != ["x", "y", "z"]:
        raise InputError("A level is for robots that move along x, y and z.")
    size = 2 * float(sum(np.max(length) for length in mechanism.scales().loops[:1]))
    _, coarse = _grid(mechanism, limits, z, np.array([[-size, size]] * 2), _COARSE)
    if not coarse.any():
        raise InputError(f"Nothing is within reach at z = {z:g} m.")
    axis = np.linspace(-size, size, _COARSE)
    step = axis[1] - axis[0]
    ends = [np.flatnonzero(coarse.any(axis=1 - k)) for k in range(2)]
    box = np.array([[axis[p[0]] - step, axis[p[-1]] + step] for p in ends])
    return _grid(mechanism, limits, z, box, points)


def _grid(
    mechanism: AbstractMechanism, limits: Limits, z: float, box: Float[np.ndarray, "2 2"], n: int
) -> tuple[Float[np.ndarray, "n n m"], Bool[np.ndarray, "n n"]]:
    x, y = np.meshgrid(*(np.linspace(low, high, n) for low, high in box), indexing="ij")
    poses = np.zeros((n, n, len(mechanism.platform_coordinates)))
    poses[..., 0], poses[..., 1], poses[..., 2] = x, y, z
    rows = poses.reshape(n * n, -1)
    room = tabulate(eqx.Partial(_slack, mechanism, limits))(rows)
    return poses, (np.asarray(room) > 0).reshape(n, n)


def _slack(mechanism: AbstractMechanism, limits: Limits, x: tuple) -> object:
    return slack(mechanism, limits, x)
