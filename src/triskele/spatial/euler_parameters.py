"""Orientation by four Euler parameters p = (e0, e), a unit quaternion.

    A(p) = I + 2 e0 e~ + 2 e~ e~        turns components in the body into components in O    (1)
    pd   = 1/2 p o (0, w)               w the angular velocity in the body                   (2)
    p'   = p o exp(w/2)                 after a turn by the vector w, in the body            (3)

with the product of quaternions o and e~ the matrix of e x. Arrays have any leading shape:
p is (..., 4), vectors are (..., 3).
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from triskele.numerics import AnyArray, safe_norm


def rotation_matrix(p: Float[AnyArray, "*n 4"]) -> Float[Array, "*n 3 3"]:
    """A(p) of (1); orthogonal where |p| = 1."""
    e0, x, y, z = (p[..., k] for k in range(4))
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - e0 * z), 2 * (x * z + e0 * y)),
        (2 * (x * y + e0 * z), 1 - 2 * (x * x + z * z), 2 * (y * z - e0 * x)),
        (2 * (x * z - e0 * y), 2 * (y * z + e0 * x), 1 - 2 * (x * x + y * y)),
    )
    return jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)


def rate(p: Float[AnyArray, "*n 4"], w: Float[AnyArray, "*n 3"]) -> Float[Array, "*n 4"]:
    """pd of (2) [1/s] from the angular velocity in the body [rad/s]."""
    return product(p, jnp.concatenate([jnp.zeros_like(w[..., :1]), w], axis=-1)) / 2


def turned(p: Float[AnyArray, "*n 4"], turn: Float[AnyArray, "*n 3"]) -> Float[Array, "*n 4"]:
    """p' of (3), of length 1."""
    angle = safe_norm(jnp.sum(turn * turn, axis=-1, keepdims=True))
    axis = turn * jnp.sinc(angle / (2 * jnp.pi)) / 2
    return normalised(product(p, jnp.concatenate([jnp.cos(angle / 2), axis], axis=-1)))


def normalised(p: Float[AnyArray, "*n 4"]) -> Float[Array, "*n 4"]:
    """p divided by its length."""
    return p / jnp.linalg.norm(p, axis=-1, keepdims=True)


def product(p: Float[AnyArray, "*n 4"], q: Float[AnyArray, "*n 4"]) -> Float[Array, "*n 4"]:
    """p o q."""
    a, b = p[..., :1], p[..., 1:]
    c, d = q[..., :1], q[..., 1:]
    scalar = a * c - jnp.sum(b * d, axis=-1, keepdims=True)
    return jnp.concatenate([scalar, a * d + c * b + jnp.cross(b, d)], axis=-1)


def from_matrix(A: Float[AnyArray, "*n 3 3"]) -> Float[Array, "*n 4"]:
    """The Euler parameters of a rotation matrix, e0 >= 0.

    4 p p' is linear in A; its largest column is a multiple of p.
    """
    trace = jnp.trace(A, axis1=-2, axis2=-1)[..., None, None]
    skew = A - jnp.swapaxes(A, -1, -2)
    e = jnp.stack([skew[..., 2, 1], skew[..., 0, 2], skew[..., 1, 0]], axis=-1)[..., None, :]
    rest = A + jnp.swapaxes(A, -1, -2) + (1 - trace) * jnp.broadcast_to(jnp.eye(3), A.shape)
    outer = jnp.concatenate(
        [
            jnp.concatenate([1 + trace, e], axis=-1),
            jnp.concatenate([jnp.swapaxes(e, -1, -2), rest], axis=-1),
        ],
        axis=-2,
    )
    largest = jnp.argmax(jnp.diagonal(outer, axis1=-2, axis2=-1), axis=-1)
    column = jnp.take_along_axis(outer, largest[..., None, None], axis=-2)[..., 0, :]
    p = normalised(column)
    return jnp.where(p[..., :1] < 0, -p, p)
