"""Geometric paths: where the platform passes, without saying when.

A path is a curve r(s) in platform coordinates, s from 0 to 1, of m components: x, y, z [m]
and what turns, psi [rad]. Lengths are those of the first three components. Time laws and
motions are in `motion.py`; r', r'' and r''' come from r by autodiff, see `path_derivatives`.

    line      r = (1 - s) a + s b                                                       (1)
    circle    r = c + R (cos(phi) e1 + sin(phi) e2),   phi = phi_0 + 2 pi turns s       (2)
    B-spline  r = sum_i P_i N_i,p(s), p the degree, by the recursion of de Boor,        (3)

        D_j <- (1 - w) D_(j-1) + w D_j,   w = (s - t_j) / (t_(j+1+p-k) - t_j),   k = 1 .. p

    on the control points and knots of the piece that holds s, counted from its first.

    rounded   a polyline walked at constant speed; near a corner the velocity turns from
              that of one leg, u, to that of the next, v, and is smooth there:

        r = P + u (x - ramp(x)) + v ramp(x),     x: way along the polyline from the corner P
        ramp(x) = d (5 w^4 - 6 w^5 + 2 w^6),     w = (x + d) / (2 d)   for |x| < d          (4)
        ramp(x) = max(x, 0)                                            else

    dr/dx = (1 - S(w)) u + S(w) v, with S = 10 w^3 - 15 w^4 + 6 w^5, is a mean of u and v: the
    path stays in the triangle it cuts off. S' and S'' vanish at both ends, so that r''' is
    continuous; beyond d the path is the leg itself.
"""

import abc
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from triskele.description.tables import Table
from triskele.errors import InputError
from triskele.numerics import CHUNK, require_double_precision

# What a user may give for numbers: not NumPy's ArrayLike, whose floats beartype refuses.
Numbers = Array | np.ndarray | np.generic | Sequence[Any] | float | int
Z = (0.0, 0.0, 1.0)
Y = (0.0, 1.0, 0.0)


class AbstractPath(eqx.Module):
    """A curve in platform coordinates; its leaves are what a designer can vary."""

    @abc.abstractmethod
    def __call__(self, s: Float[Array, ""]) -> Float[Array, " m"]:
        """Platform coordinates [m, rad] at s, from 0 (start) to 1 (end)."""

    @abc.abstractmethod
    def breaks(self) -> Float[Array, " breaks"]:
        """Where one smooth piece ends and the next begins, from 0 to 1."""


class PathDerivatives(NamedTuple):
    """A curve and its derivatives at one parameter."""

    r: Float[Array, " m"]
    r1: Float[Array, " m"]  #: r'
    r2: Float[Array, " m"]  #: r''
    r3: Float[Array, " m"]  #: r'''


def path_derivatives(
    path: Callable[[Float[Array, ""]], Float[Array, " m"]], s: Float[Array, ""]
) -> PathDerivatives:
    """r, r', r'' and r''' of any curve of one parameter, here `path`, at `s`."""
    one = jnp.ones_like(s)

    def first(s: Float[Array, ""]) -> tuple[Array, Array]:
        return jax.jvp(path, (s,), (one,))

    def second(s: Float[Array, ""]) -> tuple[Array, Array, Array]:
        (r, r1), (_, r2) = jax.jvp(first, (s,), (one,))
        return r, r1, r2

    (r, r1, r2), (_, _, r3) = jax.jvp(second, (s,), (one,))
    return PathDerivatives(r, r1, r2, r3)


def derivatives_along(
    path: Callable[[Float[Array, ""]], Float[Array, " m"]],
    s: Float[np.ndarray, " N"],
    *,
    block: int | None = None,
) -> PathDerivatives:
    """`path_derivatives` at many parameters, (N, m) each.

    In blocks of few sizes, or of that of one `block`, so that a new number of them is not a
    new compilation.
    """
    n = len(s)
    size = block or min(CHUNK, 1 << (n - 1).bit_length())
    blocks = np.pad(s, (0, -n % size), mode="edge").reshape(-1, size)
    parts = [_block(path, jnp.asarray(block)) for block in blocks]
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves)[:n], *parts)


@eqx.filter_jit
def _block(
    path: Callable[[Float[Array, ""]], Float[Array, " m"]], s: Float[Array, " N"]
) -> PathDerivatives:
    return jax.vmap(lambda s: path_derivatives(path, s))(s)


@eqx.filter_jit
def path_length(path: AbstractPath, *, position: int = 3) -> Float[Array, ""]:
    """Length [m] of `path`, in its first `position` components.

    Gauss-Legendre with 16 nodes on each quarter of each smooth piece.
    """
    nodes, weights = np.polynomial.legendre.leggauss(16)
    edges = path.breaks()
    quarters = jnp.linspace(edges[:-1], edges[1:], 4, endpoint=False).T.ravel()
    steps = jnp.diff(jnp.append(quarters, edges[-1]))
    s = quarters[:, None] + steps[:, None] * ((nodes + 1) / 2)[None, :]

    def speed(s: Float[Array, ""]) -> Float[Array, ""]:
        return jnp.linalg.norm(jax.jvp(path, (s,), (jnp.ones_like(s),))[1][:position])

    return jnp.sum(steps[:, None] / 2 * weights[None, :] * jax.vmap(jax.vmap(speed))(s))


class Line(AbstractPath):
    """Straight from `start` to `end`, equation (1).

    >>> Line([0.0, 0.0, -0.8], [0.2, 0.0, -0.8])(jnp.array(0.5))
    Array([ 0.1,  0. , -0.8], dtype=float64)
    """

    start: Float[Array, " m"]  #: a [m, rad]
    end: Float[Array, " m"]  #: b [m, rad]

    def __init__(self, start: Numbers, end: Numbers) -> None:
        """Two different points of the same number of coordinates."""
        self.start = numbers("start", start, None)
        self.end = numbers("end", end, self.start.size)
        if is_known(self.start, self.end) and self.start.tolist() == self.end.tolist():
            raise InputError(f"start and end are the same point, {self.start.tolist()}.")

    def __call__(self, s: Float[Array, ""]) -> Float[Array, " m"]:
        """Equation (1) [m, rad]."""
        return (1 - s) * self.start + s * self.end

    def breaks(self) -> Float[Array, " breaks"]:
        """One piece."""
        return jnp.array([0.0, 1.0])


class Circle(AbstractPath):
    """Round `centre`, counterclockwise about `normal`, equation (2).

    With the normal along z, phi = 0 is on the x axis. For others, e1 and e2 are x and y
    turned with z (with -z, and y reversed, if the normal points down) onto the normal.

    >>> Circle([0.0, 0.0, -0.8], radius=0.1)(jnp.array(0.25)).round(12)
    Array([ 0. ,  0.1, -0.8], dtype=float64)
    """

    centre: Float[Array, " m"]  #: c [m, rad]; what is beyond x, y, z stays constant
    radius: Float[Array, ""]  #: R [m]
    normal: Float[Array, "3"]  #: of any length
    start_angle: Float[Array, ""]  #: phi_0 [rad]
    turns: Float[Array, ""]  #: negative: clockwise

    def __init__(
        self,
        centre: Numbers,
        radius: Numbers,
        normal: Numbers = Z,
        start_angle: Numbers = 0.0,
        turns: Numbers = 1.0,
    ) -> None:
        """A circle of positive radius; angles in rad."""
        self.centre = numbers("centre", centre, None)
        self.radius = positive("radius", radius, "m")
        self.normal = numbers("normal", normal, 3)
        self.start_angle = numbers("start_angle", start_angle)
        self.turns = numbers("turns", turns)
        if self.centre.size < 3:
            raise InputError(f"centre has {self.centre.size} numbers; x, y and z were expected.")
        for name, value in (("normal", self.normal), ("turns", self.turns)):
            if is_known(value) and not np.any(value):
                raise InputError(f"{name} is zero.")

    def __call__(self, s: Float[Array, ""]) -> Float[Array, " m"]:
        """Equation (2) [m, rad]."""
        phi = self.start_angle + 2 * jnp.pi * self.turns * s
        # The basis of Duff et al., J. Computer Graphics Techniques 6 (2017): no branch
        # but the sign, and no normal without an answer.
        x, y, z = self.normal / jnp.linalg.norm(self.normal)
        sign = jnp.where(z >= 0, 1.0, -1.0)
        a = -1 / (sign + z)
        e1 = jnp.array([1 + sign * x * x * a, sign * x * y * a, -sign * x])
        e2 = jnp.array([x * y * a, sign + y * y * a, -y])
        offset = self.radius * (jnp.cos(phi) * e1 + jnp.sin(phi) * e2)
        return self.centre.at[:3].add(offset)

    def breaks(self) -> Float[Array, " breaks"]:
        """One piece."""
        return jnp.array([0.0, 1.0])


class BSpline(AbstractPath):
    """A B-spline, clamped: it begins in its first control point and ends in its last (3).

    Knots are uniform unless given; those given rise from 0 to 1, each end `degree` + 1 times.

    >>> BSpline([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 1.0]], degree=2)(jnp.array(0.5))
    Array([0.25, 0.  , 0.75], dtype=float64)
    """

    control_points: Float[Array, "points m"]  #: P_i [m, rad]
    knots: Float[Array, " knots"]  #: t_i, points + degree + 1 of them
    degree: int = eqx.field(static=True)  #: p

    def __init__(
        self, control_points: Numbers, degree: int = 5, knots: Numbers | None = None
    ) -> None:
        """At least `degree` + 1 control points, one row each."""
        self.control_points = numbers("control_points", control_points, None, None)
        n, p = len(self.control_points), degree
        if degree < 1 or n <= degree:
            raise InputError(
                f"{n} control points do not make a B-spline of degree {degree}; "
                f"at least {max(degree, 1) + 1} points and degree 1 are needed."
            )
        if knots is None:
            knots = np.concatenate([np.zeros(p), np.linspace(0, 1, n - p + 1), np.ones(p)])
        self.knots = numbers("knots", knots, n + p + 1)
        self.degree = degree
        if is_known(self.knots):
            t = np.asarray(self.knots)
            if (np.diff(t) < 0).any() or t[: p + 1].any() or (t[n:] != 1).any():
                raise InputError("knots must rise from 0 to 1, each end degree + 1 times.")

    def __call__(self, s: Float[Array, ""]) -> Float[Array, " m"]:
        """Equation (3) [m, rad]; beyond 0 and 1, the first and the last piece go on."""
        p = self.degree
        piece = jnp.sum(s >= self._inner_knots())
        D = jax.lax.dynamic_slice_in_dim(self.control_points, piece, p + 1)
        t = jax.lax.dynamic_slice_in_dim(self.knots, piece, 2 * p + 1)
        for k in range(1, p + 1):
            left, right = t[k : p + 1], t[p + 1 : 2 * p + 2 - k]
            w = ((s - left) / (right - left))[:, None]
            D = (1 - w) * D[:-1] + w * D[1:]
        return D[0]

    def breaks(self) -> Float[Array, " breaks"]:
        """The knots, each end once."""
        return jnp.concatenate([jnp.zeros(1), self._inner_knots(), jnp.ones(1)])

    def _inner_knots(self) -> Float[Array, " inner"]:
        return self.knots[self.degree + 1 : len(self.control_points)]


class Rounded(AbstractPath):
    """Straight from way-point to way-point, with smooth corners, equation (4).

    `radius` is that of the zone round a way-point, as robot controllers have it: the path
    leaves the straight line at this distance from the corner. A corner of 90 degrees
    passes its way-point at 0.22 `radius`, where it is curved tightest, to 0.38 `radius`.

    >>> corner = Rounded([[0, 0, 0], [0, 0, 0.2], [0.4, 0, 0.2]], radius=0.1)
    >>> corner(jnp.array(0.1))
    Array([0.  , 0.  , 0.06], dtype=float64)
    """

    way_points: Float[Array, "points m"]  #: P_i [m, rad]
    radius: Float[Array, ""]  #: d [m]

    def __init__(self, way_points: Numbers, radius: Numbers) -> None:
        """At least three way-points, far enough apart for the corners between them."""
        self.way_points = numbers("way_points", way_points, None, None)
        self.radius = positive("radius", radius, "m")
        if len(self.way_points) < 3:
            raise InputError("A path with corners needs three way-points; use a Line for two.")
        if is_known(self.way_points, self.radius):
            _check_corners(np.asarray(self.way_points), float(self.radius))

    def __call__(self, s: Float[Array, ""]) -> Float[Array, " m"]:
        """Equation (4) [m, rad]; s is the way along the polyline, as a part of the whole."""
        P, d = self.way_points, self.radius
        U, ways = self._legs()
        halves = (ways[1:-2] + ways[2:-1]) / 2
        corner = 1 + jnp.sum(s * ways[-1] >= halves)
        x = s * ways[-1] - ways[corner]
        w = (x + d) / (2 * d)
        inside = d * w**4 * (5 - 6 * w + 2 * w**2)
        ramp = jnp.where(x <= -d, 0.0, jnp.where(x >= d, x, inside))
        return P[corner] + U[corner - 1] * (x - ramp) + U[corner] * ramp

    def reversed(self) -> "Rounded":
        """The same way back."""
        return Rounded(self.way_points[::-1], self.radius)

    def breaks(self) -> Float[Array, " breaks"]:
        """Where corners begin and end."""
        _, ways = self._legs()
        zones = ways[1:-1, None] + self.radius * jnp.array([[-1.0, 1.0]])
        inner = jnp.clip(zones.ravel() / ways[-1], 0, 1)
        return jnp.concatenate([jnp.zeros(1), inner, jnp.ones(1)])

    def _legs(self) -> tuple[Float[Array, "legs m"], Float[Array, " points"]]:
        """Velocity u of each leg, per m of way, and the way [m] to each way-point."""
        legs = jnp.diff(self.way_points, axis=0)
        lengths = jnp.linalg.norm(legs[:, :3], axis=1)
        return legs / lengths[:, None], jnp.append(0.0, jnp.cumsum(lengths))


def _check_corners(points: np.ndarray, radius: float) -> None:
    """Raise the sentence for way-points that coincide, turn back or are too close."""
    legs = np.diff(points[:, :3], axis=0)
    lengths = np.linalg.norm(legs, axis=1)
    if not lengths.all():
        i = int(np.argmin(lengths)) + 1
        raise InputError(f"way_points {i} and {i + 1} are at the same place; drop one of them.")
    legs /= lengths[:, None]
    back = np.sum(legs[1:] * legs[:-1], axis=1) < -1 + 1e-9
    if back.any():
        i = int(np.argmax(back)) + 2
        raise InputError(f"way_points: the path turns straight back at {i}; make it two paths.")
    room = np.concatenate([lengths[:1], lengths[1:-1] / 2, lengths[-1:]])
    i = int(np.argmin(room))
    if radius > room[i] * (1 + 1e-9):
        raise InputError(
            f"radius is {radius:g} m, but between way_points {i + 1} and {i + 2} there is "
            f"room for {room[i]:g} m only."
        )


def u_turn(
    start: Numbers,
    direction: Numbers = Y,
    *,
    length: Numbers,
    height: Numbers,
    corner: Numbers,
    turn: Numbers = 0.0,
) -> BSpline:
    """Up, across and down, as a cubic B-spline of 8 control points; lengths in m.

    In the plane of `direction` (horizontal) and z, from `start`, they are (0, 0), (0, h/2),
    (0, h), (a, h) and their mirror images, with a the `corner`: the smaller, the sharper.
    A fourth coordinate changes by `turn` [rad] on the way across.
    """
    h, a = positive("height", height, "m"), positive("corner", corner, "m")
    length_ = positive("length", length, "m")
    if is_known(a, length_) and not float(a) <= float(length_) / 2:
        raise InputError(f"corner is {a:g} m; at most half of the length, {length_:g} m, fits.")
    up = h * jnp.array([0, 0.5, 1, 1, 1, 1, 0.5, 0])
    across = jnp.stack([0 * a, 0 * a, 0 * a, a])
    across = jnp.concatenate([across, length_ - across[::-1]])
    return BSpline(_over(start, direction, across, up, turn), degree=3)


def u_turn_on_legs(
    start: Numbers,
    direction: Numbers = Y,
    *,
    length: Numbers,
    height: Numbers,
    vertical: int = 3,
    horizontal: int = 6,
    degree: int = 5,
    turn: Numbers = 0.0,
) -> BSpline:
    """Up, across and down, with control points evenly spaced on the three legs; in m.

    C5(vertical, horizontal) of the literature: so many spans on each vertical leg and on
    the horizontal one. More spans make sharper corners. `turn` as in `u_turn`.
    """
    if vertical < 1 or horizontal < 1:
        raise InputError(f"vertical and horizontal are {vertical} and {horizontal}; at least 1.")
    h, length_ = positive("height", height, "m"), positive("length", length, "m")
    leg = jnp.linspace(0, 1, vertical + 1)
    up = h * jnp.concatenate([leg, jnp.ones(horizontal - 1), leg[::-1]])
    middle = jnp.linspace(0, 1, horizontal + 1)
    across = length_ * jnp.concatenate([jnp.zeros(vertical), middle, jnp.ones(vertical)])
    return BSpline(_over(start, direction, across, up, turn), degree=degree)


def _over(
    start: Numbers,
    direction: Numbers,
    across: Float[Array, " points"],
    up: Float[Array, " points"],
    turn: Numbers,
) -> Float[Array, "points m"]:
    """Points at `across` along `direction` and `up` along z from `start`."""
    start, e = numbers("start", start, None), horizontal("direction", direction)
    extra, turn_ = start.size - 3, numbers("turn", turn)
    if extra not in (0, 1) or (not extra and is_known(turn_) and float(turn_)):
        raise InputError(f"start has {start.size} numbers; x, y, z, and psi if it turns, expected.")
    e = jnp.append(e, turn_ / across[-1] * jnp.ones(extra))
    z = jnp.append(jnp.array(Z), jnp.zeros(extra))
    return start[None, :] + across[:, None] * e[None, :] + up[:, None] * z[None, :]


def way_points(table: Table, radius: Numbers | None = None) -> AbstractPath:
    """The path through the rows of a table with columns x, y, z [m] and perhaps psi [rad].

    With a `radius` [m], straight from point to point with `Rounded` corners. Without, a
    smooth curve through every point: a spline of degree 5 (less for fewer than six points),
    its parameter measured along the chords.
    """
    names = ("x", "y", "z", "psi") if "psi" in table else ("x", "y", "z")
    units = {"psi": "rad"}
    points = np.stack([table.column(name, units.get(name, "m")) for name in names], axis=1)
    chords = np.linalg.norm(np.diff(points[:, :3], axis=0), axis=1)
    if len(points) < 2:
        raise InputError(f"{table.place}: one point is not a path.")
    if not chords.all():
        row = int(np.argmin(chords)) + 1
        raise InputError(f"{table.place}: rows {row} and {row + 1} are at the same place.")
    if len(points) == 2:
        return Line(points[0], points[1])
    if radius is not None:
        return Rounded(points, radius)
    from scipy.interpolate import make_interp_spline

    s = np.append(0.0, np.cumsum(chords) / chords.sum())
    s[-1] = 1.0
    spline = make_interp_spline(s, points, k=min(5, len(points) - 1))
    return BSpline(spline.c, spline.k, spline.t)


# What a user gave, before tracing


def is_known(*values: Array) -> bool:
    """Whether `values` are numbers, not placeholders of a trace: only then can we judge."""
    return not any(isinstance(value, Tracer) for value in values)


def numbers(what: str, value: Numbers, *shape: int | None) -> Float[Array, "..."]:
    """`value` as finite doubles of `shape` (None: any length), or an error about `what`."""
    require_double_precision()
    try:
        array = jnp.asarray(value, float)
    except (TypeError, ValueError):
        raise InputError(f"{what} is not made of numbers: {value!r}.") from None
    fits = len(shape) == array.ndim and all(
        given == wanted or wanted is None for given, wanted in zip(array.shape, shape, strict=True)
    )
    if not fits or not array.size:
        wanted = " x ".join("any" if n is None else str(n) for n in shape) or "one number"
        raise InputError(f"{what} has the shape {array.shape}; expected: {wanted}.")
    if is_known(array) and not np.isfinite(np.asarray(array)).all():
        raise InputError(f"{what} holds a number that is not finite: {array.tolist()}.")
    return array


def positive(what: str, value: Numbers, unit: str) -> Float[Array, ""]:
    """`value` as one positive number, or an error about `what`, in `unit`."""
    number = numbers(what, value)
    if is_known(number) and not float(number) > 0:
        raise InputError(f"{what} is {float(number):g} {unit}; it must be positive.")
    return number


def horizontal(what: str, value: Numbers) -> Float[Array, "3"]:
    """`value` as a unit vector in the x-y plane, or an error about `what`."""
    e = numbers(what, value, 3)
    if is_known(e) and (e.tolist()[2] or not np.any(e)):
        raise InputError(f"{what} is {e.tolist()}; a horizontal one was expected.")
    return e / jnp.linalg.norm(e)
