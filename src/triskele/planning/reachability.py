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

import numpy as np
from jaxtyping import Float

from triskele.numerics import Scalar, Scalars, maximum, minimum, recurrence, where

Values = Float[np.ndarray, "_ _"]
Series = Float[np.ndarray, " _"]
_FLAT = 1e-9  #: |a| below this part of the largest counts as none
_BLOCK = 64  #: nodes whose pairs of limits are compared at once, in the processor's cache


def maximum_speed(a: Values, b: Values, c: Values) -> Series:
    """The largest x at each node at which some u is allowed, for |a u + b x + c| <= 1."""
    return _maximum(*_bounds(a, b, c))


def _bounds(a: Values, b: Values, c: Values) -> tuple[Values, Values, Values, Series]:
    """low - m x <= u <= high - m x where a counts, and x <= flat where it does not."""
    size = np.max(np.abs(a), axis=1, keepdims=True)
    steep = np.abs(a) > _FLAT * size
    safe = np.where(steep, a, 1.0)
    one, other = (1 - c) / safe, (-1 - c) / safe
    high = np.where(steep, np.maximum(one, other), np.inf)
    low = np.where(steep, np.minimum(one, other), -np.inf)
    m = np.where(steep, b / safe, 0.0)
    level = np.where(b > 0, (1 - c), (1 + c)) / np.where(b == 0, 1.0, np.abs(b))
    flat = np.min(np.where(steep | (b == 0), np.inf, level), axis=1)
    return low, high, m, flat


def _maximum(low: Values, high: Values, m: Values, flat: Series) -> Series:
    """Equation (1)."""
    found = []
    for k in range(0, len(m), _BLOCK):
        l, h, slope = (part[k : k + _BLOCK] for part in (low, high, m))
        bend = slope[:, :, None] - slope[:, None, :]
        tiny = 1e-12 * (np.abs(slope[:, :, None]) + np.abs(slope[:, None, :])) + 1e-300
        bends = (bend > tiny) & np.isfinite(h)[:, :, None] & np.isfinite(l)[:, None, :]
        room = np.subtract(
            h[:, :, None], l[:, None, :], where=bends, out=np.full_like(bend, np.inf)
        )
        x = np.divide(room, bend, where=bends, out=np.full_like(bend, np.inf))
        found.append(x.min(axis=(1, 2)))
    return np.minimum(np.concatenate(found), flat)


def _earlier(
    after: Scalars, low: Scalars, m: Scalars, most: Scalars, step: Scalars
) -> tuple[Scalar]:
    """Equation (2), from the last node to the first."""
    x, (d,) = most[0], step
    for limit, bend in zip(low, m, strict=True):
        slope = 1 - 2 * d * bend
        reached = (after[0] - 2 * d * limit) / where(slope > 0, slope, 1.0)
        x = minimum(x, where(slope > 0, reached, np.inf))
    return (maximum(x, 0.0),)


def _later(
    before: Scalars, high: Scalars, m: Scalars, allowed: Scalars, step: Scalars
) -> tuple[Scalar]:
    """The greatest step forwards that stays below what is allowed."""
    u: Scalar = np.inf
    for limit, bend in zip(high, m, strict=True):
        u = minimum(u, limit - bend * before[0])
    return (maximum(minimum(allowed[0], before[0] + 2 * step[0] * u), 0.0),)


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
    low, high, m, flat = _bounds(a, b, c)
    most = _maximum(low, high, m, flat)
    d = np.diff(s)[:, None]
    if both_ends:  # limits of the next node, with x there as x + 2 d u
        ahead = _bounds(a[1:] + 2 * d * b[1:], b[1:], c[1:])
        pad = (np.full_like(low[:1], -np.inf), np.full_like(low[:1], np.inf), 0 * m[:1])
        rows = [np.concatenate([new, end]) for new, end in zip(ahead[:3], pad, strict=True)]
        low, high, m = (
            np.concatenate(pair, axis=1) for pair in zip((low, high, m), rows, strict=True)
        )
    # Backwards, then forwards, from rest.
    backward = (low[-2::-1], m[-2::-1], most[-2::-1, None], d[::-1])
    limit = recurrence(_earlier)(np.zeros(1), *backward)[::-1, 0]
    allowed = np.append(limit[1:], 0.0)[:, None]
    x = recurrence(_later)(np.zeros(1), high[:-1], m[:-1], allowed, d)[:, 0]
    return np.append(0.0, x), most
