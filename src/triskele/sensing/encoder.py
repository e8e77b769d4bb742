"""Encoders: what they read, how finely, and how well that lets one know anything else."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from triskele.errors import InputError
from triskele.numerics import Scalar, Scalars, as_scalars, jvp, sqrt, zeros_like

MOST_BITS = 40
Bits = int | float | None  #: None: as fine as one likes


def resolution(bits: Bits) -> float:
    """The angle of one count [rad]; 0 for an encoder as fine as one likes (None).

    >>> f"{resolution(17):.3g}"
    '4.79e-05'
    """
    if bits is None:
        return 0.0
    if not 1 <= bits <= MOST_BITS:
        raise InputError(f"An encoder has 1 to {MOST_BITS} bits, not {bits:g}.")
    return 2 * np.pi / 2**bits


def quantised(angle: Float[np.ndarray, "..."], bits: Bits) -> Float[np.ndarray, "..."]:
    """What an encoder with 2**bits counts per turn says an angle [rad] is: the nearest count."""
    count = resolution(bits)
    return np.array(angle) if not count else np.round(np.asarray(angle) / count) * count


def deviation(bits: Bits) -> float:
    """Standard deviation of that rounding [rad], a count over sqrt(12)."""
    return resolution(bits) / np.sqrt(12)


def propagated(
    function: Callable[[Scalars], Scalars], values: Scalars, deviations: Scalars
) -> Scalars:
    """Standard deviations of function(values), each value having its own, independently.

    >>> (s,) = propagated(lambda v: (v[0] * v[1],), (2.0, 3.0), (0.1, 0.1))
    >>> round(float(s), 4)
    0.3606
    """
    squares: list[Scalar] = []
    values = as_scalars(values)
    for k, size in enumerate(deviations):
        along = tuple(zeros_like(v) + (size if j == k else 0.0) for j, v in enumerate(values))
        _, moved = jvp(function, (values,), (along,))
        squares = [part * part + (squares[j] if squares else 0.0) for j, part in enumerate(moved)]
    return tuple(sqrt(square) for square in squares)
