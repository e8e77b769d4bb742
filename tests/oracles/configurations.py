"""Configurations of a shipped robot and what we say about them, for other programs to judge."""

from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from triskele.description.load import load
from triskele.kinematics.build import build
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.velocity import jacobian
from triskele.numerics import stacked
from triskele.spatial.vectors import poses_array
from triskele.testing.laws import random_poses

Numbers = NDArray[np.float64]

COUNT = 6  #: configurations besides home
_ASIDE = 0.25  # how far they are from home, in loop lengths
_TURN = 2.0  # how far a flange turns [rad]


class Ours(NamedTuple):
    """Our answers at one configuration; frames and twists are in O, at the body's origin."""

    q: Numbers
    x: Numbers
    frames: dict[str, Numbers]  #: (3, 4) of each body, [R p]
    twists: dict[str, Numbers]  #: (6, n) of each body, per unit of motor speed


@cache
def robot(name: str) -> tuple[AbstractMechanism, tuple[Ours, ...]]:
    """The mechanism, and our answers at home and at random poses around it."""
    mechanism = build(load(name))
    home = np.asarray(stacked(mechanism.home()))
    poses = np.stack([home, *random_poses(mechanism, around_home(mechanism), COUNT)])
    q, T, Td = _answers(mechanism, poses)
    return mechanism, tuple(
        Ours(
            q[k],
            poses[k],
            dict(zip(mechanism.bodies, T[k], strict=True)),
            dict(zip(mechanism.bodies, map(_twists, T[k], Td[k]), strict=True)),
        )
        for k in range(len(poses))
    )


def around_home(mechanism: AbstractMechanism) -> Numbers:
    """The box (n, 2) that poses are drawn from."""
    home = np.asarray(stacked(mechanism.home()))
    scales = mechanism.scales()
    half = _ASIDE * float(np.asarray(scales.loops[0])) / np.array(scales.platform, float)
    if mechanism.flange:
        half[3:] = _TURN
    return np.stack([home - half, home + half], axis=1)


def _answers(mechanism: AbstractMechanism, poses: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Of N poses: q, frames, and rates (N, bodies, n, 3, 4) of the frames for each motor.

    Not under `jit`: for so few poses that would take longer than the answers.
    """
    x = tuple(jnp.asarray(poses.T))
    q = mechanism.inverse(x).components
    J = jacobian(mechanism, q, x)
    rates = []
    for j in range(len(q)):
        qd = tuple(jnp.full_like(value, float(i == j)) for i, value in enumerate(q))
        xd = tuple(J[:, :, j].T)
        _, rate = jax.jvp(lambda *at: poses_array(mechanism.body_poses(*at)), (q, x), (qd, xd))
        rates.append(rate)
    frames = poses_array(mechanism.body_poses(q, x))
    return np.asarray(stacked(q)), np.asarray(frames), np.stack(rates, axis=2)


def _twists(T: Numbers, Td: Numbers) -> Numbers:
    """Twists (6, n), linear first, from a frame (3, 4) and its n rates."""
    spin = Td[:, :, :3] @ T[:, :3].T
    return np.stack([*Td[:, :, 3].T, spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]])
