"""Arithmetic that stays finite at the edge, and batches that are fast.

**Components.** Formulas are written on scalar components of one configuration and return
tuples of scalars. A scalar is a 0-d array, or an (N,) array: the same code is the kernel
for one pose and for a million, see `batch`. At a million poses this is about three
times faster on a CPU than `vmap` over rows that end in `jnp.stack`; see `make bench`.

**Edges.** `safe_sqrt`, `safe_divide` and `atan2` return finite values and finite gradients,
in both modes, also where the mathematical function has none.

**Trigonometry.** XLA calls libm once per element for sin, cos and atan2 in double precision;
`sincos` and `atan2` are branch-free polynomials, four times faster in batches and accurate
to two units in the last place.

Importing this module switches JAX to double precision, unless JAX_ENABLE_X64 is set: the
one global setting that triskele touches.
"""

import os
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import factorial
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from triskele.errors import InputError, PrecisionError

if "JAX_ENABLE_X64" not in os.environ:
    jax.config.update("jax_enable_x64", True)

Scalar = Float[Array, "..."] | Float[np.ndarray, "..."] | float
#: a number of one configuration, or (N,) of a batch
Scalars = tuple[Scalar, ...]
Components = Sequence[Scalar] | Float[Array, " n"] | Float[np.ndarray, " n"]
#: what can be unpacked into scalars: a tuple of them, or a vector
Result = TypeVar("Result")

CHUNK = 4096  #: configurations per block on a CPU: its intermediates stay in the cache
_TINY = 1e-12  #: a divisor closer to zero than this is moved there


def require_double_precision() -> None:
    """Raise PrecisionError if JAX computes in 32 bit."""
    if not jax.config.read("jax_enable_x64"):
        raise PrecisionError(
            "JAX is set to 32 bit (JAX_ENABLE_X64=0); triskele computes in double precision "
            "only. Unset the variable, or set it to 1."
        )


# Edges of domains


def safe_sqrt(x: Scalar) -> Scalar:
    """sqrt(x), and 0 with gradient 0 where x <= 0.

    >>> float(safe_sqrt(jnp.array(-1.0)))
    0.0
    """
    inside = x > 0
    return jnp.where(inside, jnp.sqrt(jnp.where(inside, x, 1.0)), 0.0)


def safe_norm(square: Scalar) -> Scalar:
    """sqrt of a sum of squares, kept just above zero so that it can be divided by."""
    return safe_sqrt(square + 1e-100)


def safe_divide(a: Scalar, b: Scalar) -> Scalar:
    """a / b with b kept at least 1e-12 from zero, on its own side: large, never infinite."""
    far = jnp.abs(b) > _TINY
    return a / jnp.where(far, b, jnp.where(jnp.signbit(b), -_TINY, _TINY))


# Trigonometry

_HALF_PI = Fraction("1.5707963267948966192313216916397514420985846996875529")
_PI_1 = Fraction(int(_HALF_PI * 2**32), 2**32)  # 33 bits: k * _PI_1 is exact to k < 2^20
_PI_2 = Fraction(int((_HALF_PI - _PI_1) * 2**65), 2**65)
_PI_PARTS = (float(_PI_1), float(_PI_2), float(_HALF_PI - _PI_1 - _PI_2))
_SIN = [(-1) ** k / factorial(2 * k + 1) for k in range(1, 9)]
_COS = [(-1) ** k / factorial(2 * k) for k in range(2, 10)]


def _horner(coefficients: Sequence[float], u: Scalar) -> Scalar:
    value: Scalar = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        value = value * u + coefficient
    return value


def _atan_coefficients(degree: int = 12) -> list[float]:
    """g in atan(t) = t + t^3 g(t^2), interpolated at Chebyshev nodes for t < tan(pi/8)."""
    edge = float(np.tan(np.pi / 8)) ** 2
    nodes = edge / 2 * (1 + np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1)))
    powers = np.arange(40)
    values = ((-1.0) ** (powers + 1) / (2 * powers + 3)) @ nodes ** powers[:, None]
    scaled = np.polynomial.Chebyshev.fit(nodes, values, degree, domain=[0, edge])
    return [float(c) for c in scaled.convert(kind=np.polynomial.Polynomial).coef]


_ATAN = _atan_coefficients()


@jax.custom_jvp
def sincos(angle: Scalar) -> tuple[Scalar, Scalar]:
    """(sin, cos) of an angle [rad], to two units in the last place for |angle| < 1e6.

    The angle is reduced to [-pi/4, pi/4] by subtracting k pi/2 in three parts (Cody and
    Waite); there both series have converged after eight terms.
    """
    k = jnp.round(angle * (2 / np.pi))
    r = angle
    for part in _PI_PARTS:
        r = r - k * part
    u = r * r
    s = r + r * u * _horner(_SIN, u)
    c = 1 - 0.5 * u + u * u * _horner(_COS, u)
    quadrant = k - 4 * jnp.floor(k / 4)
    odd = (quadrant == 1) | (quadrant == 3)
    sine, cosine = jnp.where(odd, c, s), jnp.where(odd, s, c)
    return (
        jnp.where(quadrant >= 2, -sine, sine),
        jnp.where((quadrant == 1) | (quadrant == 2), -cosine, cosine),
    )


@sincos.defjvp
def _sincos_jvp(primals: tuple, tangents: tuple) -> tuple:
    s, c = sincos(primals[0])
    return (s, c), (c * tangents[0], -s * tangents[0])


@jax.custom_jvp
def atan2(y: Scalar, x: Scalar) -> Scalar:
    """Angle of the point (x, y) [rad], in (-pi, pi]; 0 with gradient 0 at the origin."""
    ax, ay = jnp.abs(x), jnp.abs(y)
    low, high = jnp.minimum(ax, ay), jnp.maximum(ax, ay)
    t = low / jnp.where(high > 0, high, 1.0)
    steep = t > np.tan(np.pi / 8)
    t = jnp.where(steep, (t - 1) / (t + 1), t)
    angle = t + t * (t * t) * _horner(_ATAN, t * t) + jnp.where(steep, np.pi / 4, 0.0)
    angle = jnp.where(ay > ax, np.pi / 2 - angle, angle)
    angle = jnp.where(x < 0, np.pi - angle, angle)
    return jnp.where(y < 0, -angle, angle)


@atan2.defjvp
def _atan2_jvp(primals: tuple, tangents: tuple) -> tuple:
    (y, x), (yd, xd) = primals, tangents
    square = x * x + y * y
    inside = square > 0
    rate = (x * yd - y * xd) / jnp.where(inside, square, 1.0)
    return atan2(y, x), jnp.where(inside, rate, 0.0)


# Small dense systems: cofactors, never elimination without pivots, never LAPACK in batches

Matrix = tuple[Scalars, ...]  #: rows of scalars


def determinant(A: Matrix) -> Scalar:
    """Determinant of a matrix of at most 4 x 4, expanded along its first row."""
    if len(A) <= 1:
        return A[0][0] if A else 1.0  # the minor of a single entry is empty
    return sum(
        (sign * entry * determinant(_minor(A, 0, j)))
        for j, (entry, sign) in enumerate(zip(A[0], (1, -1, 1, -1), strict=False))
    )  # pyright: ignore[reportReturnType]


def _minor(A: Matrix, i: int, j: int) -> Matrix:
    return tuple(row[:j] + row[j + 1 :] for k, row in enumerate(A) if k != i)


def solve(A: Matrix, b: Scalars) -> Scalars:
    """x with A x = b, by cofactors; finite, though huge, where A is singular."""
    n = range(len(A))
    cofactors = [[(-1) ** (i + j) * determinant(_minor(A, i, j)) for j in n] for i in n]
    det = sum(a * c for a, c in zip(A[0], cofactors[0], strict=True))
    return tuple(
        safe_divide(sum(cofactors[i][j] * b[i] for i in n), det)  # pyright: ignore[reportArgumentType]
        for j in n
    )


def transpose(A: Matrix) -> Matrix:
    """Columns as rows."""
    return tuple(zip(*A, strict=True))


# Newton's method


def newton(
    step: Callable[[tuple, Scalars], Scalars],
    given: tuple,
    start: Scalars,
    size: Scalars,
    *,
    most: int = 50,
) -> Scalars:
    """x with step(given, x) = 0, where x - step(given, x) is Newton's next guess.

    Stops when a step, in units of `size`, is lost in rounding. Two more steps follow that
    are differentiated: each doubles the number of correct derivatives, so that x has the
    right ones up to the third in `given`, although the search is not differentiated. Hence
    `given` should hold all that `step` depends on: a scalar first, then what you like.
    """

    def unfinished(state: tuple[Scalars, Scalars, Array]) -> Array:
        _, change, count = state
        moved = [(jnp.abs(d / u) > 1e-13).any() for d, u in zip(change, size, strict=True)]
        return jnp.stack(moved).any() & (count < most)  # NaN has stopped, and stops no other

    def advance(state: tuple[Scalars, Scalars, Array]) -> tuple[Scalars, Scalars, Array]:
        x, _, count = state
        change = step(fixed, x)
        return tuple(a - b for a, b in zip(x, change, strict=True)), change, count + 1

    fixed, start = jax.lax.stop_gradient((given, start))
    start = tuple(jnp.broadcast_to(value, jnp.shape(given[0])) for value in start)
    state = (start, tuple(jnp.ones_like(value) for value in start), jnp.asarray(0))
    x = jax.lax.stop_gradient(jax.lax.while_loop(unfinished, advance, state)[0])
    for _ in range(2):
        x = tuple(a - b for a, b in zip(x, step(given, x), strict=True))
    return x


# Batches


def as_scalars(values: Components) -> Scalars:
    """The components of a vector, each a floating-point array."""
    return tuple(jnp.asarray(value, float) for value in values)


def stacked(components: Sequence[Scalar]) -> Float[Array, "..."]:
    """Components as one array with the component last: (k,), or (N, k) for a batch."""
    return jnp.stack(jnp.broadcast_arrays(*map(jnp.asarray, components)), axis=-1)


def batch(function: Callable[..., Result]) -> Callable[..., Result]:
    """`function` of one configuration, for N of them given as (N, k) arrays.

    `function` takes and returns (pytrees of) tuples of scalars; each leaf of the result is
    an (N,) array. Compiled once per function, robot type and N; a new geometry is not a
    new compilation.

    >>> batch(lambda p: p[0] * p[1])(np.array([[2.0, 3.0], [4.0, 5.0]]))
    Array([ 6., 20.], dtype=float64)
    """

    def over(*arrays: ArrayLike) -> Result:
        rows = tuple(_rows(array) for array in arrays)
        lengths = {len(array) for array in rows}
        if len(lengths) != 1 or not min(lengths):
            shapes = ", ".join(str(np.shape(array)) for array in arrays)
            raise InputError(f"A batch needs arrays of the same N > 0 rows, not {shapes}.")
        return _in_chunks(function, rows)

    return over


def tabulate(function: Callable[..., Result]) -> Callable[..., Result]:
    """`batch` for tables of many lengths: NumPy arrays come back, one compilation serves many N.

    N is filled up to the next power of two, or multiple of CHUNK, with copies of the last row.

    >>> tabulate(lambda p: p[0] * p[1])(np.array([[2.0, 3.0], [4.0, 5.0], [6.0, 7.0]]))
    array([ 6., 20., 42.])
    """

    def over(*arrays: ArrayLike) -> Result:
        n = len(np.asarray(arrays[0]))
        filled = [filled_up(np.asarray(array, float)) for array in arrays]
        return jax.tree.map(lambda leaf: np.asarray(leaf)[:n], batch(function)(*filled))

    return over


def filled_up(rows: np.ndarray) -> np.ndarray:
    """`rows`, and copies of the last one up to a round number of them."""
    n = len(rows)
    size = -(-n // CHUNK) * CHUNK if n > CHUNK else 1 << max(n - 1, 1).bit_length()
    return np.concatenate([rows, np.repeat(rows[-1:], size - n, axis=0)])


def _rows(array: ArrayLike) -> np.ndarray | Array:
    """`array` as it is, if it is (N, k): columns are cut under `jit`, where that is cheap.

    XLA then reads the caller's own memory. That is safe because `eqx.filter_jit` returns when
    the result is there; `jax.jit` would return before, and see what is written meanwhile.
    """
    if np.ndim(array) != 2:
        raise InputError(f"A batch needs (N, k) arrays, one row each, not {np.shape(array)}.")
    return array if isinstance(array, jax.Array) else np.asarray(array, float)


@eqx.filter_jit
def _in_chunks(function: Callable[..., Result], rows: tuple) -> Result:
    """Evaluate in blocks of CHUNK on a CPU, at once elsewhere; constants are spread.

    Blocks are cut out of whole columns and written into whole results. N is not padded: a
    last block that would end beyond N is moved back by `dynamic_slice`, and so is its result.
    """
    n = len(rows[0])
    columns = jax.tree.map(lambda array: tuple(array.astype(float).T), rows)

    def evaluate(block: tuple, size: int) -> Result:
        return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (size,)), function(*block))

    if n <= CHUNK or jax.default_backend() != "cpu":
        return evaluate(columns, n)

    def results(start: Array | int) -> Result:
        def cut(column: Array) -> Array:
            return jax.lax.dynamic_slice(column, (start,), (CHUNK,))

        return evaluate(jax.tree.map(cut, columns), CHUNK)

    def write(block: Array, found: Result) -> Result:
        start = block * CHUNK

        def put(whole: Array, part: Array) -> Array:
            return jax.lax.dynamic_update_slice(whole, part, (start,))

        return jax.tree.map(put, found, results(start))

    empty = jax.tree.map(lambda leaf: jnp.empty(n, leaf.dtype), jax.eval_shape(results, 0))
    return jax.lax.fori_loop(0, -(-n // CHUNK), write, empty)
