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

import math
import os
from collections.abc import Callable, Sequence
from functools import partial, reduce, wraps
from types import ModuleType
from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.custom_derivatives import SymbolicZero
from jaxtyping import AbstractDtype, Array, Float
from numpy.typing import ArrayLike

from triskele.errors import InputError, PrecisionError
from triskele.programs import kernel, symbols
from triskele.programs.elementary import ATAN, COS, PI_PARTS, SIN
from triskele.programs.symbols import Symbol, is_symbolic
from triskele.programs.trace import tracing

if "JAX_ENABLE_X64" not in os.environ:
    jax.config.update("jax_enable_x64", True)

# Laws are written for NumPy's numbers and JAX's. Symbols do what numbers do, but only the types
# that are checked at run time know of them: written laws are no different for them.
AnyArray = Array | np.ndarray
if TYPE_CHECKING:
    from typing import Annotated as Numeric

    Scalar = Float[Array, "..."] | Float[np.ndarray, "..."] | float
    Truth = Array | np.ndarray | np.bool_ | bool
else:

    class Numeric(AbstractDtype):
        """What an array holds: doubles, or the symbols that stand for them in a program."""

        dtypes = ("float64", "object", "object_")

    Scalar = Float[Array, "..."] | Float[np.ndarray, "..."] | Symbol | float
    #: a number of one configuration, or (N,) of a batch
    Truth = Array | np.ndarray | np.bool_ | bool | Symbol

Scalars = tuple[Scalar, ...]
Components = Sequence[Scalar] | Float[Array, " n"] | Float[np.ndarray, " n"]
#: what can be unpacked into scalars: a tuple of them, or a vector
Result = TypeVar("Result")
Given = ParamSpec("Given")

CHUNK = 4096  #: configurations per block on a CPU: its intermediates stay in the cache
_TINY = 1e-12  #: a divisor closer to zero than this is moved there


def require_double_precision() -> None:
    """Raise PrecisionError if JAX computes in 32 bit."""
    if not jax.config.read("jax_enable_x64"):
        raise PrecisionError(
            "JAX is set to 32 bit (JAX_ENABLE_X64=0); triskele computes in double precision "
            "only. Unset the variable, or set it to 1."
        )


# Functions of numbers: NumPy's for numbers that are known, JAX's for those that are traced


def library(*values: object) -> ModuleType:
    """What computes with these values: NumPy, JAX's NumPy, or `symbols` that write programs."""
    if any(is_symbolic(value) for value in values):
        return symbols
    return jnp if any(isinstance(value, jax.Array) for value in values) else np


def where(condition: Truth, a: Scalar, b: Scalar) -> Scalar:
    """`a` where `condition` holds, else `b`."""
    found = library(condition, a, b).where(condition, a, b)
    return found[()] if isinstance(found, np.ndarray) else found


def minimum(a: Scalar, b: Scalar) -> Scalar:
    """The lesser; NaN if one of them is."""
    return library(a, b).minimum(a, b)


def maximum(a: Scalar, b: Scalar) -> Scalar:
    """The greater; NaN if one of them is."""
    return library(a, b).maximum(a, b)


def floor(x: Scalar) -> Scalar:
    """The greatest whole number that is not greater."""
    return library(x).floor(x)


def sqrt(x: Scalar) -> Scalar:
    """The square root."""
    return library(x).sqrt(x)


def exp(x: Scalar) -> Scalar:
    """e^x."""
    return library(x).exp(x)


def tanh(x: Scalar) -> Scalar:
    """The hyperbolic tangent."""
    return library(x).tanh(x)


def sign(x: Scalar) -> Scalar:
    """-1, 0 or 1."""
    return library(x).sign(x)


def full_like(like: Scalar, value: float) -> Scalar:
    """`value`, as often as there are numbers in `like`."""
    if isinstance(like, Symbol):
        return cast(Scalar, like.known(value))
    return library(like).full_like(like, value, dtype=float)


def zeros_like(like: Scalar) -> Scalar:
    """Zero, as often as there are numbers in `like`."""
    return full_like(like, 0.0)


def spread(value: Scalar, like: Scalar) -> Scalar:
    """`value`, as an array of as many numbers as there are in `like`."""
    if isinstance(like, Symbol):
        return value if is_symbolic(value) else cast(Scalar, like.known(float(value)))
    return jnp.broadcast_to(jnp.asarray(value, float), jnp.shape(like))


def window(array: AnyArray, start: Scalar, size: int) -> AnyArray:
    """`size` rows of `array`, from one that is computed on; held inside the array."""
    xp = library(start, array)
    if xp is symbols:
        return symbols.window(np.asarray(array), start, size)
    if xp is jnp:
        first = jnp.asarray(start).astype(int)
        return jax.lax.dynamic_slice_in_dim(jnp.asarray(array), first, size)
    first = min(max(int(start), 0), len(array) - size)
    return array[first : first + size]


def norm(vector: AnyArray) -> Scalar:
    """Length of a vector."""
    return sqrt((vector * vector).sum())


# Derivatives, of functions of scalars and tuples of them


def jvp(function: Callable[..., Result], primals: tuple, tangents: tuple) -> tuple[Result, Result]:
    """The value of `function`, and its change along `tangents`."""
    if library(*jax.tree.leaves(primals)) is symbols:
        return symbols.jvp(function, primals, tangents)
    return jax.jvp(function, primals, tangents)


def vjp(function: Callable[..., Result], *primals: object) -> tuple[Result, Callable]:
    """The value of `function`, and what pulls forces on it back to its arguments."""
    if library(*jax.tree.leaves(primals)) is symbols:
        return symbols.vjp(function, *primals)
    return jax.vjp(function, *primals)


# Edges of domains


def safe_sqrt(x: Scalar) -> Scalar:
    """sqrt(x), and 0 with gradient 0 where x <= 0.

    >>> float(safe_sqrt(jnp.array(-1.0)))
    0.0
    """
    inside = x > 0
    return where(inside, sqrt(where(inside, x, 1.0)), 0.0)


def safe_norm(square: Scalar) -> Scalar:
    """sqrt of a sum of squares, kept just above zero so that it can be divided by."""
    return safe_sqrt(square + 1e-100)


def safe_divide(a: Scalar, b: Scalar) -> Scalar:
    """a / b with b kept at least 1e-12 from zero, on its own side: large, never infinite."""
    return a / _off_zero(b, _TINY)


def _off_zero(b: Scalar, least: float) -> Scalar:
    """b, kept at least so far from zero, on its own side."""
    return where(abs(b) > least, b, where(b < 0, -least, least))


# Trigonometry


def _horner(coefficients: Sequence[float], u: Scalar) -> Scalar:
    value: Scalar = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        value = value * u + coefficient
    return value


def sincos(angle: Scalar) -> tuple[Scalar, Scalar]:
    """(sin, cos) of an angle [rad], to two units in the last place for |angle| < 1e6."""
    xp = library(angle)
    if xp is jnp and not tracing():
        return _sincos(angle)
    return xp.sin(angle), xp.cos(angle)


@jax.custom_jvp
def _sincos(angle: Scalar) -> tuple[Scalar, Scalar]:
    """Series on [-pi/4, pi/4], to which k pi/2 is subtracted in three parts (Cody and Waite)."""
    k = jnp.round(angle * (2 / np.pi))
    r = angle
    for part in PI_PARTS:
        r = r - k * part
    u = r * r
    s = r + r * u * _horner(SIN, u)
    c = 1 - 0.5 * u + u * u * _horner(COS, u)
    quadrant = k - 4 * jnp.floor(k / 4)
    odd = (quadrant == 1) | (quadrant == 3)
    sine, cosine = jnp.where(odd, c, s), jnp.where(odd, s, c)
    return (
        jnp.where(quadrant >= 2, -sine, sine),
        jnp.where((quadrant == 1) | (quadrant == 2), -cosine, cosine),
    )


@_sincos.defjvp
def _sincos_jvp(primals: tuple, tangents: tuple) -> tuple:
    s, c = _sincos(primals[0])
    return (s, c), (c * tangents[0], -s * tangents[0])


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """Angle of the point (x, y) [rad], in (-pi, pi]; 0 with gradient 0 at the origin."""
    xp = library(y, x)
    return _atan2(y, x) if xp is jnp else xp.arctan2(y, x + 0.0)


@jax.custom_jvp
def _atan2(y: Scalar, x: Scalar) -> Scalar:
    if tracing():
        return jax.lax.atan2(y, x)
    ax, ay = jnp.abs(x), jnp.abs(y)
    low, high = jnp.minimum(ax, ay), jnp.maximum(ax, ay)
    t = low / jnp.where(high > 0, high, 1.0)
    steep = t > np.tan(np.pi / 8)
    t = jnp.where(steep, (t - 1) / (t + 1), t)
    angle = t + t * (t * t) * _horner(ATAN, t * t) + jnp.where(steep, np.pi / 4, 0.0)
    angle = jnp.where(ay > ax, np.pi / 2 - angle, angle)
    angle = jnp.where(x < 0, np.pi - angle, angle)
    return jnp.where(y < 0, -angle, angle)


@_atan2.defjvp
def _atan2_jvp(primals: tuple, tangents: tuple) -> tuple:
    (y, x), (yd, xd) = primals, tangents
    square = x * x + y * y
    inside = square > 0
    rate = (x * yd - y * xd) / jnp.where(inside, square, 1.0)
    return _atan2(y, x), jnp.where(inside, rate, 0.0)


# Small dense systems: cofactors up to 4 x 4, then elimination with pivots; never LAPACK in batches

Matrix = tuple[Scalars, ...]  #: rows of scalars

_BY_COFACTORS = 4  #: largest n for which cofactors take fewer operations than elimination
# Absolute: for cofactors a relative one would cost operations. Below all matrices of a machine,
# and its 7th power is still in range: x of a 7 x 7 matrix whose pivots all vanish is finite.
_SINGULAR = 1e-40  #: a determinant or a pivot closer to zero than this is moved there


def determinant(A: Matrix) -> Scalar:
    """Determinant: expanded along the first row up to 4 x 4, above by elimination."""
    n = len(A)
    if n > _BY_COFACTORS:
        U, sign = _eliminated(A)
        return math.prod((row[k] for k, row in enumerate(U)), start=sign)  # pyright: ignore[reportReturnType, reportCallIssue, reportArgumentType]
    if n <= 1:
        return A[0][0] if A else 1.0  # the minor of a single entry is empty
    return sum((-1) ** j * entry * determinant(_minor(A, 0, j)) for j, entry in enumerate(A[0]))  # pyright: ignore[reportReturnType]


def _minor(A: Matrix, i: int, j: int) -> Matrix:
    return tuple(row[:j] + row[j + 1 :] for k, row in enumerate(A) if k != i)


def solve(A: Matrix, b: Scalars) -> Scalars:
    """x with A x = b; finite, though huge, where A is singular.

    By cofactors up to 4 x 4: the residual is about the condition number times the rounding error.
    Above by elimination, where it is the rounding error.
    """
    if len(A) > _BY_COFACTORS:
        return _back_substituted(_eliminated(A, b)[0])
    n = range(len(A))
    cofactors = [[(-1) ** (i + j) * determinant(_minor(A, i, j)) for j in n] for i in n]
    det = sum(a * c for a, c in zip(A[0], cofactors[0], strict=True))
    det = _off_zero(det, _SINGULAR)  # pyright: ignore[reportArgumentType]
    return tuple(
        sum(cofactors[i][j] * b[i] for i in n) / det  # pyright: ignore[reportReturnType]
        for j in n
    )


def _eliminated(A: Matrix, b: Scalars | None = None) -> tuple[list[list[Scalar]], Scalar]:
    """[U | y] of P [A | b] = L [U | y], U upper triangular; and the sign of the permutation P.

    Gaussian elimination with scaled partial pivoting: of the rows i >= k the pivot row is that
    with the largest |a_ik| / max_j |a_ij|, the maximum taken before elimination. Entries below
    the diagonal of U are left as they fall.
    """
    n, sign = len(A), 1.0
    right = [()] * n if b is None else [(entry,) for entry in b]
    rows = [[*row, *y, _weight(row)] for row, y in zip(A, right, strict=True)]
    for k in range(n):
        for i in range(k + 1, n):
            if _is_nothing(rows[i][k]):
                continue
            if _is_nothing(rows[k][k]):
                rows[k], rows[i], sign = rows[i], rows[k], -sign
                continue
            larger = abs(rows[i][k]) * rows[i][-1] > abs(rows[k][k]) * rows[k][-1]
            sign = where(larger, -sign, sign)
            for j in range(k, len(rows[k])):
                p, q = rows[k][j], rows[i][j]
                if not (_is_nothing(p) and _is_nothing(q)):
                    rows[k][j], rows[i][j] = where(larger, q, p), where(larger, p, q)
        inverse = 1 / _off_zero(rows[k][k], _SINGULAR)
        for row in rows[k + 1 :]:
            if not _is_nothing(row[k]):
                factor = row[k] * inverse
                for j in range(k + 1, len(row) - 1):
                    if not _is_nothing(rows[k][j]):
                        row[j] = row[j] - factor * rows[k][j]
    return [row[:-1] for row in rows], sign


def _weight(row: Scalars) -> Scalar:
    """1 / max_j |a_j|."""
    sizes = [abs(entry) for entry in row if not _is_nothing(entry)]
    return 1 / _off_zero(reduce(maximum, sizes, 0.0), _SINGULAR)


def _back_substituted(rows: list[list[Scalar]]) -> Scalars:
    """x with U x = y."""
    x: list[Scalar] = []
    for k in reversed(range(len(rows))):
        *U, y = rows[k][k:]
        for u, known in zip(U[1:], reversed(x), strict=True):
            y = y if _is_nothing(u) else y - u * known
        x.append(y * (1 / _off_zero(U[0], _SINGULAR)))
    return tuple(reversed(x))


def _is_nothing(a: Scalar) -> bool:
    """Whether `a` is a structural zero: the number 0.0, also as a constant of a program."""
    if isinstance(a, Symbol):
        return a.graph.value(a.place) == 0.0
    return type(a) is float and a == 0.0


def transpose(A: Matrix) -> Matrix:
    """Columns as rows."""
    return tuple(zip(*A, strict=True))


# Newton's method


def newton(
    step: Callable[[tuple, Scalars], Scalars], given: tuple, start: Scalars, *, steps: int = 16
) -> Scalars:
    """x with step(given, x) = 0, where x - step(given, x) is the next guess, after `steps` of them.

    For a step of Newton's method, d step/dx = 1 at the solution, so that x has the derivative

        xd = -(d step / d given) givend                                                   (1)

    in all that `given` and `step` hold; (1) is differentiated in turn for higher ones. The
    search is not. `given` is a scalar, then what you like. Time is the same for all x; whether
    it has converged, the residual shows.
    """
    x = tuple(spread(value, given[0]) for value in start)
    if library(*jax.tree.leaves((given, start))) is symbols:
        # Each differentiated step doubles the number of right derivatives: two give the third.
        for k in range(steps):
            x = tuple(map(_constant, x)) if k == steps - 2 else x
            x = _next(x, step(given, x))
        return x
    residual, held = jax.closure_convert(lambda x: step(given, x), x)
    return _root(residual, steps, jax.lax.stop_gradient(x), held)


def _next(x: Scalars, step: Scalars) -> Scalars:
    return tuple(a - b for a, b in zip(x, step, strict=True))


def _constant(x: Scalar) -> Scalar:
    """x to 2^-60, with derivative zero as `floor` has it."""
    return floor(x * 2.0**60) * 2.0**-60


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _root(
    residual: Callable[..., Scalars], steps: int, start: Scalars, held: list[Scalar]
) -> Scalars:
    """`newton` of a residual(x, *held), with all that can be differentiated in `held`."""
    return jax.lax.fori_loop(0, steps, lambda _, x: _next(x, residual(x, *held)), start)


def _root_jvp(
    residual: Callable[..., Scalars], steps: int, primals: tuple, tangents: tuple
) -> tuple[Scalars, Scalars]:
    """Equation (1), in which x is `_root` again, so that it nests."""
    x, held = _root(residual, steps, *primals), primals[1]
    rates = [None if isinstance(rate, SymbolicZero) else rate for rate in tangents[1]]
    moving, fixed = eqx.partition(held, [rate is not None for rate in rates])
    _, slopes = jax.jvp(lambda some: residual(x, *eqx.combine(some, fixed)), (moving,), (rates,))
    return x, tuple(-slope for slope in slopes)


_root.defjvp(_root_jvp, symbolic_zeros=True)


# Batches


def as_scalars(values: Components) -> Scalars:
    """The components of a vector, each a floating-point array or a symbol."""
    values = tuple(values)
    known = library(*values) is not symbols
    return tuple(jnp.asarray(value, float) for value in values) if known else values


def stacked(components: Sequence[Scalar]) -> Numeric[AnyArray, "..."]:
    """Components as one array with the component last: (k,), or (N, k) for a batch."""
    xp = library(*components)
    if xp is not jnp:
        kind = object if xp is symbols else float
        parts = (np.asarray(component, kind) for component in components)
        return np.stack(np.broadcast_arrays(*parts), axis=-1)
    return jnp.stack(jnp.broadcast_arrays(*map(jnp.asarray, components)), axis=-1)


def batch(function: Callable[..., Result]) -> Callable[..., Result]:
    """`function` of one configuration, for N of them given as (N, k) arrays.

    `function` takes and returns (pytrees of) tuples of scalars; each leaf of the result is
    an (N,) array, a JAX array if JAX arrays were given. It runs as a program (`programs`), traced
    once per function and kind of robot; what is not straight-line, and what is differentiated or
    compiled by a JAX program around it, runs in XLA.

    >>> batch(lambda p: p[0] * p[1])(np.array([[2.0, 3.0], [4.0, 5.0]]))
    array([ 6., 20.])
    """

    def over(*arrays: ArrayLike) -> Result:
        rows = _checked(arrays)
        if any(isinstance(row, jax.Array) for row in rows):
            return _of_device_arrays(function, rows)
        return tabulate(function)(*rows)

    return over


def _of_device_arrays(function: Callable[..., Result], rows: tuple) -> Result:
    """JAX arrays come back as JAX arrays, on the device on which they are."""
    if jax.default_backend() == "cpu" and not any(isinstance(row, Tracer) for row in rows):
        straight, found = kernel.run(function, [np.asarray(row, float) for row in rows])
        if straight:
            return jax.tree.map(jnp.asarray, found)
    return _in_chunks(function, rows)


def tabulate(function: Callable[..., Result]) -> Callable[..., Result]:
    """`batch` for tables: NumPy arrays come back.

    >>> tabulate(lambda p: p[0] * p[1])(np.array([[2.0, 3.0], [4.0, 5.0], [6.0, 7.0]]))
    array([ 6., 20., 42.])
    """

    def over(*arrays: ArrayLike) -> Result:
        rows = _checked([np.asarray(array, float) for array in arrays])
        straight, found = kernel.run(function, rows)
        if straight:
            return found
        n = len(rows[0])
        found = _in_chunks(function, tuple(filled_up(row) for row in rows))
        return jax.tree.map(lambda leaf: np.asarray(leaf)[:n], found)

    return over


def _checked(arrays: Sequence[ArrayLike]) -> tuple:
    """`arrays` as arrays of doubles; an error if they are not (N, k) of one N."""
    rows = tuple(_rows(array) for array in arrays)
    lengths = {len(array) for array in rows}
    if len(lengths) != 1 or not min(lengths):
        shapes = ", ".join(str(np.shape(array)) for array in arrays)
        raise InputError(f"A batch needs arrays of the same N > 0 rows, not {shapes}.")
    return rows


def recurrence(
    function: Callable[..., Scalars],
) -> Callable[..., Float[np.ndarray, "N k"]]:
    """y_i = function(y_(i-1), row_i, ...), from a start, along the rows of (N, .) arrays.

    >>> recurrence(lambda y, row: (y[0] + row[0],))(np.zeros(1), np.array([[1.0], [2.0], [3.0]]))
    array([[1.],
           [3.],
           [6.]])
    """

    def over(start: np.ndarray, *arrays: ArrayLike) -> np.ndarray:
        rows = _checked([np.asarray(array, float) for array in arrays])
        straight, found = kernel.recur(function, np.asarray(start, float), rows)
        return found if straight else np.asarray(_scanned(function, jnp.asarray(start), rows))

    return over


@eqx.filter_jit
def _scanned(function: Callable[..., Scalars], start: Array, rows: tuple) -> Array:
    def step(y: Array, row: tuple) -> tuple[Array, Array]:
        y = jnp.stack(jnp.broadcast_arrays(*function(tuple(y), *map(tuple, row))))
        return y, y

    return jax.lax.scan(step, start, rows)[1]


def single(function: Callable[..., Result]) -> Callable[..., Result]:
    """`function` at one configuration of known numbers, as a program instead of JAX's single steps.

    >>> float(single(lambda p: p[0] * p[1])([2.0, 3.0]))
    6.0
    """

    def at(*vectors: Components) -> Result:
        found = tabulate(function)(*(np.asarray(vector, float)[None] for vector in vectors))
        return jax.tree.map(lambda leaf: leaf[0], found)

    return at


def at_once(function: Callable[..., object], *widths: int) -> Callable[..., np.ndarray]:
    """`function` of vectors of these widths, for calls one after the other.

    What it returns comes as one vector, of all numbers in order.
    """
    handle = kernel.handle(function, *widths)
    return _compiled(function) if handle is None else handle.at


def table_function(function: Callable[..., object], *widths: int) -> Callable[..., None]:
    """`function` from arrays (N, k), or (k,) for all rows, into arrays (N, results)."""
    into = kernel.table(function, *widths)
    if into is not None:
        return into

    def by_tables(arrays: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        n = len(outputs[0])
        rows = (np.broadcast_to(array, (n, array.shape[-1])) for array in arrays)
        columns = np.stack(jax.tree.leaves(tabulate(function)(*rows)), axis=-1)
        ends = np.cumsum([output.shape[1] for output in outputs])[:-1]
        for output, part in zip(outputs, np.split(columns, ends, axis=1), strict=True):
            output[:] = part

    return by_tables


def _compiled(function: Callable[..., object]) -> Callable[..., np.ndarray]:
    """The same by XLA, for what is not straight-line."""

    def flat(*vectors: Array) -> Array:
        found = jax.tree.leaves(function(*map(tuple, vectors)))
        return jnp.concatenate([jnp.ravel(jnp.asarray(leaf, float)) for leaf in found])

    compiled = jax.jit(flat)
    return lambda *vectors: np.asarray(compiled(*(np.asarray(v, float) for v in vectors)))


def all_known(*things: object) -> bool:
    """Whether nothing in these pytrees is JAX's."""
    return library(*jax.tree.leaves(things)) is np


def at_known(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """`function` of an object and the components of vectors, run as a program where all are known.

    JAX would derive and compute a single configuration operation by operation, each compiled.
    """

    @wraps(function)
    def at(*given: Given.args, **named: Given.kwargs) -> Result:
        thing, *rest = given
        vectors = [cast(Components, v if hasattr(v, "shape") else tuple(v)) for v in rest]  # pyright: ignore[reportArgumentType]
        if named or not all_known(thing, vectors):
            return function(*given, **named)
        bound = eqx.Partial(function, thing)
        shape = np.broadcast_shapes(*(np.shape(part) for vector in vectors for part in vector))
        if not shape:
            return single(bound)(*vectors)
        rows = ([np.broadcast_to(part, shape) for part in vector] for vector in vectors)
        return tabulate(bound)(*(stacked(row) for row in rows))

    return at


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


def _spread_over(size: int, leaf: Scalar) -> Array:
    """A component, or a vector of components, for each of `size` rows."""
    array = jnp.asarray(leaf)
    if array.ndim > 1 or array.shape == (size,):
        return array
    return jnp.broadcast_to(array, (size, *array.shape))


@eqx.filter_jit
def _in_chunks(function: Callable[..., Result], rows: tuple) -> Result:
    """Evaluate in blocks of CHUNK on a CPU, at once elsewhere; constants are spread.

    Blocks are cut out of whole columns and written into whole results. N is not padded: a
    last block that would end beyond N is moved back by `dynamic_slice`, and so is its result.
    """
    n = len(rows[0])
    columns = jax.tree.map(lambda array: tuple(array.astype(float).T), rows)

    def evaluate(block: tuple, size: int) -> Result:
        return jax.tree.map(lambda leaf: _spread_over(size, leaf), function(*block))

    if n <= CHUNK or jax.default_backend() != "cpu":
        return evaluate(columns, n)

    def results(start: Array | int) -> Result:
        def cut(column: Array) -> Array:
            return jax.lax.dynamic_slice(column, (start,), (CHUNK,))

        return evaluate(jax.tree.map(cut, columns), CHUNK)

    def write(block: Array, found: Result) -> Result:
        start = block * CHUNK

        def put(whole: Array, part: Array) -> Array:
            return jax.lax.dynamic_update_slice(whole, part, (start, *(0,) * (part.ndim - 1)))

        return jax.tree.map(put, found, results(start))

    shapes = jax.eval_shape(results, 0)
    empty = jax.tree.map(lambda leaf: jnp.empty((n, *leaf.shape[1:]), leaf.dtype), shapes)
    return jax.lax.fori_loop(0, -(-n // CHUNK), write, empty)
