"""The fastest profile without third-order limits, in two passes over a grid: the convex core.

x = sd^2 on the nodes s_k and a constant u_k between them, x_(k+1) = x_k + 2 d_k u_k. Every limit
is a half-plane a u + b x <= c with c > 0, because the robot can stand still anywhere; each
pair with a_i > 0 > a_j leaves, as Fourier and Motzkin eliminate u,

    x <= (c_i/a_i - c_j/a_j) / (b_i/a_i - b_j/a_j)    where the divisor is positive      (1)

the least of which, with the limits of speed, is the maximum velocity curve. Backwards from
rest, the largest x_k from which the next node can still be reached in time is

    x_k <= (x_(k+1) - 2 d c/a) / (1 - 2 d b/a)        for each a < 0                      (2)

and forwards the greatest u_k that stays below it is taken. Limits hold at the nodes; with
`both_ends` also at the end of each step, with its own u.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

_FLAT = 1e-9  #: |a| below this part of the largest counts as none


def maximum_speed(
    a: Float[Array, "N K"], b: Float[Array, "N K"], c: Float[Array, "N K"]
) -> Float[Array, " N"]:
    """The largest x at each node at which some u is allowed, for |a u + b x + c| <= 1."""
    return _maximum(*_bounds(a, b, c))


def _bounds(a: Array, b: Array, c: Array) -> tuple[Array, Array, Array, Array]:
    """low - m x <= u <= high - m x where a counts, and x <= flat where it does not."""
    size = jnp.max(jnp.abs(a), axis=1, keepdims=True)
    steep = jnp.abs(a) > _FLAT * size
    safe = jnp.where(steep, a, 1.0)
    one, other = (1 - c) / safe, (-1 - c) / safe
    high = jnp.where(steep, jnp.maximum(one, other), jnp.inf)
    low = jnp.where(steep, jnp.minimum(one, other), -jnp.inf)
    m = jnp.where(steep, b / safe, 0.0)
    level = jnp.where(b > 0, (1 - c), (1 + c)) / jnp.where(b == 0, 1.0, jnp.abs(b))
    flat = jnp.min(jnp.where(steep | (b == 0), jnp.inf, level), axis=1)
    return low, high, m, flat


def _maximum(low: Array, high: Array, m: Array, flat: Array) -> Array:
    """Equation (1)."""
    bend = m[:, :, None] - m[:, None, :]
    room = high[:, :, None] - low[:, None, :]
    tiny = 1e-12 * (jnp.abs(m[:, :, None]) + jnp.abs(m[:, None, :])) + 1e-300
    x = jnp.where(bend > tiny, room / jnp.where(bend > tiny, bend, 1.0), jnp.inf)
    return jnp.minimum(jnp.min(x, axis=(1, 2)), flat)


@eqx.filter_jit
def _passes(
    s: Array, a: Array, b: Array, c: Array, both_ends: bool
) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
    """x of the fastest profile, and the maximum velocity curve."""
    low, high, m, flat = _bounds(a, b, c)
    most = _maximum(low, high, m, flat)
    d = jnp.diff(s)
    if both_ends:  # limits of the next node, with x there as x + 2 d u
        ahead = _bounds(a[1:] + 2 * d[:, None] * b[1:], b[1:], c[1:])
        pad = (jnp.full_like(low[:1], -jnp.inf), jnp.full_like(low[:1], jnp.inf), 0 * m[:1])
        rows = [jnp.concatenate([new, end]) for new, end in zip(ahead[:3], pad, strict=True)]
        low, high, m = (
            jnp.concatenate(pair, axis=1) for pair in zip((low, high, m), rows, strict=True)
        )

    def back(after: Array, row: tuple) -> tuple[Array, Array]:
        low, m, most, d = row
        slope = 1 - 2 * d * m
        x = jnp.where(slope > 0, (after - 2 * d * low) / jnp.where(slope > 0, slope, 1.0), jnp.inf)
        x = jnp.clip(jnp.minimum(most, jnp.min(x)), 0.0, None)
        return x, x

    def ahead_of(before: Array, row: tuple) -> tuple[Array, Array]:
        high, m, allowed, d = row
        u = jnp.min(high - m * before)
        x = jnp.clip(jnp.minimum(allowed, before + 2 * d * u), 0.0, None)
        return x, x

    end = jnp.zeros(())
    backward = (low[:-1], m[:-1], most[:-1], d)
    _, limit = jax.lax.scan(back, end, backward, reverse=True)
    allowed = jnp.append(limit[1:], end)
    _, x = jax.lax.scan(ahead_of, end, (high[:-1], m[:-1], allowed, d))
    return jnp.append(end, x), most


def core(
    s: Float[np.ndarray, " N"],
    a: Float[np.ndarray, "N K"],
    b: Float[np.ndarray, "N K"],
    c: Float[np.ndarray, "N K"],
    *,
    both_ends: bool = True,
) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
    """x of the fastest profile from rest to rest, and the maximum velocity curve, at `s`.

    Each limit is |a u + b x + c| <= 1.
    """
    x, most = _passes(jnp.asarray(s), jnp.asarray(a), jnp.asarray(b), jnp.asarray(c), both_ends)
    return np.asarray(x), np.asarray(most)
