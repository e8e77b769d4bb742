"""Vectors of three scalar components, the frames they make, and how they turn.

Written on components (`triskele.numerics`): a `Triple` holds three scalars, each 0-d or
(N,), and a `Frame` four triples, the pose of a body frame in O:

    T_OB = [x y z p],   x, y, z unit axes of B in O,   p the origin of B [m]
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from triskele.numerics import Scalar, stacked

Triple = tuple[Scalar, Scalar, Scalar]


class Frame(NamedTuple):
    """Pose of a frame: its axes and its origin, in O."""

    x: Triple
    y: Triple
    z: Triple
    p: Triple  #: [m]

    def at(self, local: Triple) -> Triple:
        """The point with coordinates `local` [m] in this frame, in O."""
        return add(self.p, self.turned(local))

    def turned(self, local: Triple) -> Triple:
        """The vector with components `local` in this frame, in O."""
        return combine((local[0], self.x), (local[1], self.y), (local[2], self.z))


WORLD = Frame((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, 0.0))


def add(a: Triple, b: Triple) -> Triple:
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def subtract(a: Triple, b: Triple) -> Triple:
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def scale(k: Scalar, a: Triple) -> Triple:
    """k a."""
    return k * a[0], k * a[1], k * a[2]


def combine(*terms: tuple[Scalar, Triple]) -> Triple:
    """Sum of k a over the terms (k, a)."""
    x, y, z = scale(*terms[0])
    for k, a in terms[1:]:
        x, y, z = x + k * a[0], y + k * a[1], z + k * a[2]
    return x, y, z


def dot(a: Triple, b: Triple) -> Scalar:
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Triple, b: Triple) -> Triple:
    """a x b."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def rotation_x(s: Scalar, c: Scalar, a: Triple) -> Triple:
    """`a` turned about x by the angle with sine `s` and cosine `c`."""
    return a[0], c * a[1] - s * a[2], s * a[1] + c * a[2]


def rotation_y(s: Scalar, c: Scalar, a: Triple) -> Triple:
    """`a` turned about y by the angle with sine `s` and cosine `c`."""
    return c * a[0] + s * a[2], a[1], c * a[2] - s * a[0]


def rotation_z(s: Scalar, c: Scalar, a: Triple) -> Triple:
    """`a` turned about z by the angle with sine `s` and cosine `c`."""
    return c * a[0] - s * a[1], s * a[0] + c * a[1], a[2]


def poses_array(frames: tuple[Frame, ...]) -> Float[Array, "..."]:
    """Frames as matrices [R p]: (bodies, 3, 4), or (N, bodies, 3, 4) for a batch."""
    columns = [stacked([entry for axis in frame for entry in axis]) for frame in frames]
    spread = jnp.broadcast_arrays(*columns)
    matrices = jnp.stack(spread, axis=-2)
    return jnp.swapaxes(matrices.reshape(*matrices.shape[:-1], 4, 3), -1, -2)
