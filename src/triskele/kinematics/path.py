"""Geometric paths: where the platform passes, without saying when.

A path is a curve r(s) in platform coordinates, s from 0 to 1, of m components [m, rad]. Which of
them are lengths, and which one is vertical, is known from `coordinates`; without them, three are
x, y, z and four x, y, z, psi. Ways are measured along lengths, see `coordinates.py`. Time laws and
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
from itertools import accumulate
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array

from triskele.description.tables import Table
from triskele.errors import InputError
from triskele.kinematics.coordinates import (
    UP,
    Coordinates,
    across,
    coordinates_of,
    lengths,
    lifting,
    listed,
    measured,
    turning,
    way_unit,
)
from triskele.kinematics.mechanism import Coordinate
from triskele.numerics import (
    CHUNK,
    AnyArray,
    Numeric,
    Scalar,
    full_like,
    jvp,
    library,
    norm,
    require_double_precision,
    sincos,
    stacked,
    where,
    window,
)
from triskele.programs import kernel

# What a user may give for numbers: not NumPy's ArrayLike, whose floats beartype refuses.
Numbers = Array | np.ndarray | np.generic | Sequence[Any] | float | int


class AbstractPath(eqx.Module):
    """A curve in platform coordinates; its leaves are what a designer can vary."""

    @abc.abstractmethod
    def __call__(self, s: Scalar) -> Numeric[AnyArray, " m"]:
        """Platform coordinates [m, rad] at s, from 0 (start) to 1 (end)."""

    @abc.abstractmethod
    def breaks(self) -> Numeric[AnyArray, " breaks"]:
        """Where one smooth piece ends and the next begins, from 0 to 1."""


class PathDerivatives(NamedTuple):
    """A curve and its derivatives at one parameter."""

    r: Numeric[AnyArray, " m"]
    r1: Numeric[AnyArray, " m"]  #: r'
    r2: Numeric[AnyArray, " m"]  #: r''
    r3: Numeric[AnyArray, " m"]  #: r'''


def path_derivatives(
    path: Callable[[Scalar], Numeric[AnyArray, " m"]], s: Scalar
) -> PathDerivatives:
    """r, r', r'' and r''' of any curve of one parameter, here `path`, at `s`."""
    one = full_like(s, 1.0)

    def first(s: Scalar) -> tuple[AnyArray, AnyArray]:
        return jvp(path, (s,), (one,))

    def second(s: Scalar) -> tuple[AnyArray, AnyArray, AnyArray]:
        (r, r1), (_, r2) = jvp(first, (s,), (one,))
        return r, r1, r2

    (r, r1, r2), (_, _, r3) = jvp(second, (s,), (one,))
    return PathDerivatives(r, r1, r2, r3)


def derivatives_along(
    path: Callable[[Scalar], Numeric[AnyArray, " m"]],
    s: Numeric[AnyArray, " N"],
) -> PathDerivatives:
    """`path_derivatives` at many parameters, (N, m) each.

    A curve that is no straight-line program is compiled by XLA, in blocks of few sizes, so that
    a new number of parameters is not a new compilation.
    """
    if not isinstance(s, Tracer):
        straight, found = kernel.run(eqx.Partial(_at, path), [np.asarray(s, float)[:, None]])
        if straight:
            return found
    n = len(s)
    size = min(CHUNK, 1 << (n - 1).bit_length())
    blocks = library(s).pad(s, (0, -n % size), mode="edge").reshape(-1, size)
    parts = [_block(path, jnp.asarray(block)) for block in blocks]
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves)[:n], *parts)


def _at(path: Callable[[Scalar], Numeric[AnyArray, " m"]], s: Sequence[Scalar]) -> PathDerivatives:
    """A kernel for tables of one column."""
    return path_derivatives(path, s[0])


@eqx.filter_jit
def _block(
    path: Callable[[Scalar], Numeric[AnyArray, " m"]], s: Numeric[AnyArray, " N"]
) -> PathDerivatives:
    return jax.vmap(lambda s: path_derivatives(path, s))(s)


def path_length(path: AbstractPath, coordinates: Sequence[Coordinate] | None = None) -> Scalar:
    """Length of the way along `path` [m], which is in these `coordinates`.

    Gauss-Legendre with 16 nodes on each quarter of each smooth piece.
    """
    nodes, weights = np.polynomial.legendre.leggauss(16)
    edges = path.breaks()
    xp = library(edges)
    quarters = xp.linspace(edges[:-1], edges[1:], 4, endpoint=False).T.ravel()
    steps = xp.diff(xp.append(quarters, edges[-1]))
    s = quarters[:, None] + steps[:, None] * ((nodes + 1) / 2)[None, :]
    r1 = derivatives_along(path, s.ravel()).r1
    r1 = r1[:, np.array(measured(coordinates_of(r1.shape[1], coordinates)))]
    speed = library(r1).linalg.norm(r1, axis=1).reshape(s.shape)
    return (steps[:, None] / 2 * weights[None, :] * speed).sum()


class Line(AbstractPath):
    """Straight from `start` to `end`, equation (1).

    >>> Line([0.0, 0.0, -0.8], [0.2, 0.0, -0.8])(jnp.array(0.5))
    Array([ 0.1,  0. , -0.8], dtype=float64)
    """

    start: Numeric[AnyArray, " m"]  #: a [m, rad]
    end: Numeric[AnyArray, " m"]  #: b [m, rad]

    def __init__(self, start: Numbers, end: Numbers) -> None:
        """Two different points of the same number of coordinates."""
        self.start = numbers("start", start, None)
        self.end = numbers("end", end, self.start.size)
        if is_known(self.start, self.end) and self.start.tolist() == self.end.tolist():
            raise InputError(f"start and end are the same point, {self.start.tolist()}.")

    def __call__(self, s: Scalar) -> Numeric[AnyArray, " m"]:
        """Equation (1) [m, rad]."""
        return (1 - s) * self.start + s * self.end

    def breaks(self) -> Numeric[AnyArray, " breaks"]:
        """One piece."""
        return np.array([0.0, 1.0])


class Circle(AbstractPath):
    """Round `centre`, equation (2): about a `normal` to three lengths, or in a `plane` of two.

    About a normal it runs counterclockwise; with the normal along z, phi = 0 is on the x axis. For
    others, e1 and e2 are x and y turned with z (with -z, and y reversed, if the normal points down)
    onto the normal. In a plane, e1 and e2 are along its two coordinates, in the order in which they
    are named. Without either, the normal is z, and two lengths are the plane.

    >>> Circle([0.0, 0.0, -0.8], radius=0.1)(jnp.array(0.25)).round(12)
    Array([ 0. ,  0.1, -0.8], dtype=float64)
    """

    centre: Numeric[AnyArray, " m"]  #: c [m, rad]; what is not turned stays constant
    radius: Scalar  #: R [m]
    normal: Numeric[AnyArray, "3"] | None  #: of any length; None: in a plane
    start_angle: Scalar  #: phi_0 [rad]
    turns: Scalar  #: negative: clockwise
    coordinates: Coordinates = eqx.field(static=True)
    places: tuple[int, ...] = eqx.field(static=True)  #: the three or two lengths that it runs in

    def __init__(
        self,
        centre: Numbers,
        radius: Numbers,
        normal: Numbers | None = None,
        start_angle: Numbers = 0.0,
        turns: Numbers = 1.0,
        *,
        plane: Sequence[str] | None = None,
        coordinates: Sequence[Coordinate] | None = None,
    ) -> None:
        """A circle of positive radius; angles in rad."""
        self.centre = numbers("centre", centre, None)
        self.radius = positive("radius", radius, "m")
        self.start_angle = numbers("start_angle", start_angle)
        self.turns = numbers("turns", turns)
        self.coordinates = coordinates_of(self.centre.size, coordinates)
        self.places = _runs_in(self.coordinates, plane)
        self.normal = self._normal(normal)
        for name, value in (("normal", self.normal), ("turns", self.turns)):
            if value is not None and is_known(value) and not np.any(value):
                raise InputError(f"{name} is zero.")

    def __call__(self, s: Scalar) -> Numeric[AnyArray, " m"]:
        """Equation (2) [m, rad]."""
        s_phi, c_phi = sincos(self.start_angle + 2 * np.pi * self.turns * s)
        e1, e2 = self._axes()
        offset = self.radius * (c_phi * e1 + s_phi * e2)
        r = list(self.centre + 0.0 * offset[0])
        for place, part in zip(self.places, offset, strict=True):
            r[place] = r[place] + part
        return stacked(r)

    def _normal(self, given: Numbers | None) -> Numeric[AnyArray, "3"] | None:
        """The normal to three lengths; two have none."""
        if len(self.places) == 3:
            upright = [float(self.coordinates[k].name == UP) for k in self.places]
            usual = upright if any(upright) else [0.0, 0.0, 1.0]
            return numbers("normal", usual if given is None else given, 3)
        if given is not None:
            raise InputError("A circle in a plane takes no normal.")
        return None

    def _axes(self) -> tuple[AnyArray, AnyArray]:
        """e1 and e2, in the lengths that turn."""
        if self.normal is None:
            return np.array([1.0, 0.0]), np.array([0.0, 1.0])
        # The basis of Duff et al., J. Computer Graphics Techniques 6 (2017): no branch
        # but the sign, and no normal without an answer.
        x, y, z = self.normal / norm(self.normal)
        side = where(z >= 0, 1.0, -1.0)
        a = -1 / (side + z)
        e1 = stacked((1 + side * x * x * a, side * x * y * a, -side * x))
        return e1, stacked((x * y * a, side + y * y * a, -y))

    def breaks(self) -> Numeric[AnyArray, " breaks"]:
        """One piece."""
        return np.array([0.0, 1.0])


def _runs_in(coordinates: Coordinates, plane: Sequence[str] | None) -> tuple[int, ...]:
    """The lengths in which a circle runs: those of its plane, or all three, or two."""
    found = lengths(coordinates)
    if plane is None and len(found) in (2, 3):
        return found
    if plane is None:
        raise InputError(
            f"A circle runs in two coordinates in m, or about a normal to three; "
            f"{listed(coordinates)} have {len(found)}."
        )
    names = [coordinates[k].name for k in found]
    if len(plane) != 2 or len(set(plane)) != 2 or not set(plane) <= set(names):
        raise InputError(
            f"plane is {', '.join(plane) or 'empty'}; expected are two of "
            f"{', '.join(names) or 'the coordinates in m, of which there are none'}."
        )
    return tuple(found[names.index(name)] for name in plane)


class BSpline(AbstractPath):
    """A B-spline, clamped: it begins in its first control point and ends in its last (3).

    Knots are uniform unless given; those given rise from 0 to 1, each end `degree` + 1 times.

    >>> BSpline([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 1.0]], degree=2)(jnp.array(0.5))
    Array([0.25, 0.  , 0.75], dtype=float64)
    """

    control_points: Numeric[AnyArray, "points m"]  #: P_i [m, rad]
    knots: Numeric[AnyArray, " knots"]  #: t_i, points + degree + 1 of them
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

    def __call__(self, s: Scalar) -> Numeric[AnyArray, " m"]:
        """Equation (3) [m, rad]; beyond 0 and 1, the first and the last piece go on."""
        p = self.degree
        piece = _count(s, self._inner_knots())
        D = window(self.control_points, piece, p + 1)
        t = window(self.knots, piece, 2 * p + 1)
        for k in range(1, p + 1):
            left, right = t[k : p + 1], t[p + 1 : 2 * p + 2 - k]
            w = ((s - left) / (right - left))[:, None]
            D = (1 - w) * D[:-1] + w * D[1:]
        return D[0]

    def breaks(self) -> Numeric[AnyArray, " breaks"]:
        """The knots, each end once."""
        inner = self._inner_knots()
        return library(inner).concatenate([np.zeros(1), inner, np.ones(1)])

    def _inner_knots(self) -> Numeric[AnyArray, " inner"]:
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

    way_points: Numeric[AnyArray, "points m"]  #: P_i [m, rad]
    radius: Scalar  #: d [m]
    coordinates: Coordinates = eqx.field(static=True)

    def __init__(
        self,
        way_points: Numbers,
        radius: Numbers,
        coordinates: Sequence[Coordinate] | None = None,
    ) -> None:
        """At least three way-points, far enough apart for the corners between them."""
        self.way_points = numbers("way_points", way_points, None, None)
        self.coordinates = coordinates_of(self.way_points.shape[1], coordinates)
        unit = way_unit(self.coordinates)
        self.radius = positive("radius", radius, unit)
        if len(self.way_points) < 3:
            raise InputError("A path with corners needs three way-points; use a Line for two.")
        if is_known(self.way_points, self.radius):
            points = np.asarray(self.way_points)[:, measured(self.coordinates)]
            _check_corners(points, float(self.radius), unit)

    def __call__(self, s: Scalar) -> Numeric[AnyArray, " m"]:
        """Equation (4) [m, rad]; s is the way along the polyline, as a part of the whole."""
        d, (U, ways) = self.radius, self._legs()
        halves = (ways[1:-2] + ways[2:-1]) / 2
        corner = _count(s * ways[-1], halves)  # of those between the ends, from 0
        x = s * ways[-1] - window(ways[1:-1], corner, 1)[0]
        w = (x + d) / (2 * d)
        inside = d * w**4 * (5 - 6 * w + 2 * w**2)
        ramp = where(x <= -d, 0.0, where(x >= d, x, inside))
        P, (before, after) = window(self.way_points[1:-1], corner, 1)[0], window(U, corner, 2)
        return P + before * (x - ramp) + after * ramp

    def reversed(self) -> "Rounded":
        """The same way back."""
        return Rounded(self.way_points[::-1], self.radius, self.coordinates)

    def breaks(self) -> Numeric[AnyArray, " breaks"]:
        """Where corners begin and end."""
        _, ways = self._legs()
        zones = ways[1:-1, None] + self.radius * np.array([[-1.0, 1.0]])
        inner = (zones.ravel() / ways[-1]).clip(0, 1)
        return library(inner).concatenate([np.zeros(1), inner, np.ones(1)])

    def _legs(self) -> tuple[Numeric[AnyArray, "legs m"], Numeric[AnyArray, " points"]]:
        """Velocity u of each leg, per m of way, and the way [m] to each way-point."""
        legs, places = self.way_points[1:] - self.way_points[:-1], measured(self.coordinates)
        sizes = stacked([norm(stacked([leg[k] for k in places])) for leg in legs])
        ways = stacked(list(accumulate(sizes, initial=0.0)))
        return legs / sizes[:, None], ways


def _check_corners(points: np.ndarray, radius: float, unit: str) -> None:
    """Raise the sentence for way-points that coincide, turn back or are too close, in `unit`."""
    legs = np.diff(points, axis=0)
    sizes = np.linalg.norm(legs, axis=1)
    if not sizes.all():
        i = int(np.argmin(sizes)) + 1
        raise InputError(f"way_points {i} and {i + 1} are at the same place; drop one of them.")
    legs /= sizes[:, None]
    back = np.sum(legs[1:] * legs[:-1], axis=1) < -1 + 1e-9
    if back.any():
        i = int(np.argmax(back)) + 2
        raise InputError(f"way_points: the path turns straight back at {i}; make it two paths.")
    room = np.concatenate([sizes[:1], sizes[1:-1] / 2, sizes[-1:]])
    i = int(np.argmin(room))
    if radius > room[i] * (1 + 1e-9):
        raise InputError(
            f"radius is {radius:g} {unit}, but between way_points {i + 1} and {i + 2} there is "
            f"room for {room[i]:g} {unit} only."
        )


def u_turn(
    start: Numbers,
    direction: Numbers | None = None,
    *,
    length: Numbers,
    height: Numbers,
    corner: Numbers,
    turn: Numbers = 0.0,
    up: str = UP,
    turned: str | None = None,
    coordinates: Sequence[Coordinate] | None = None,
) -> BSpline:
    """Up, across and down, as a cubic B-spline of 8 control points; lengths in m.

    In the plane of `direction` (see `level_way`) and the coordinate `up`, from `start`, they are
    (0, 0), (0, h/2), (0, h), (a, h) and their mirror images, with a the `corner`: the smaller, the
    sharper. The angle called `turned`, or the only one, changes by `turn` [rad] on the way across.
    """
    h, a = positive("height", height, "m"), positive("corner", corner, "m")
    length_ = positive("length", length, "m")
    if is_known(a, length_) and not float(a) <= float(length_) / 2:
        raise InputError(f"corner is {a:g} m; at most half of the length, {length_:g} m, fits.")
    rise = h * np.array([0, 0.5, 1, 1, 1, 1, 0.5, 0])
    there = library(a).stack([0 * a, 0 * a, 0 * a, a])
    there = library(a, length_).concatenate([there, length_ - there[::-1]])
    points = _over(start, direction, there, rise, turn, up, turned, coordinates)
    return BSpline(points, degree=3)


def u_turn_on_legs(
    start: Numbers,
    direction: Numbers | None = None,
    *,
    length: Numbers,
    height: Numbers,
    vertical: int = 3,
    horizontal: int = 6,
    degree: int = 5,
    turn: Numbers = 0.0,
    up: str = UP,
    turned: str | None = None,
    coordinates: Sequence[Coordinate] | None = None,
) -> BSpline:
    """Up, across and down, with control points evenly spaced on the three legs; in m.

    C5(vertical, horizontal) of the literature: so many spans on each vertical leg and on
    the horizontal one. More spans make sharper corners. The rest is as in `u_turn`.
    """
    if vertical < 1 or horizontal < 1:
        raise InputError(f"vertical and horizontal are {vertical} and {horizontal}; at least 1.")
    h, length_ = positive("height", height, "m"), positive("length", length, "m")
    leg = np.linspace(0, 1, vertical + 1)
    rise = h * np.concatenate([leg, np.ones(horizontal - 1), leg[::-1]])
    middle = np.linspace(0, 1, horizontal + 1)
    there = length_ * np.concatenate([np.zeros(vertical), middle, np.ones(vertical)])
    points = _over(start, direction, there, rise, turn, up, turned, coordinates)
    return BSpline(points, degree=degree)


def _over(
    start: Numbers,
    direction: Numbers | None,
    there: Numeric[AnyArray, " points"],
    rise: Numeric[AnyArray, " points"],
    turn: Numbers,
    up: str,
    turned: str | None,
    coordinates: Sequence[Coordinate] | None,
) -> Numeric[AnyArray, "points m"]:
    """Points from `start` on, at `there` along `direction` and at `rise` along `up`."""
    start, turn_ = numbers("start", start, None), numbers("turn", turn)
    named, axes = coordinates_of(start.size, coordinates), np.eye(start.size)
    way = level_way(named, direction, up)
    if not is_known(turn_) or float(turn_):
        way = way + turn_ / there[-1] * axes[turning(named, turned)]
    upwards = axes[lifting(named, up)]
    return start[None, :] + there[:, None] * way[None, :] + rise[:, None] * upwards[None, :]


def way_points(
    table: Table,
    radius: Numbers | None = None,
    coordinates: Sequence[Coordinate] | None = None,
) -> AbstractPath:
    """The path through the rows of a table with a column for each of the `coordinates`.

    Without them, these are x, y, z [m] and, if the table has it, psi [rad]. With a `radius` [m],
    straight from point to point with `Rounded` corners. Without, a smooth curve through every
    point: a spline of degree 5 (less for fewer than six points), its parameter measured along the
    chords.
    """
    named = coordinates or coordinates_of(4 if "psi" in table else 3)
    points = np.stack([table.column(*coordinate) for coordinate in named], axis=1)
    chords = np.linalg.norm(np.diff(points[:, measured(named)], axis=0), axis=1)
    if len(points) < 2:
        raise InputError(f"{table.place}: one point is not a path.")
    if not chords.all():
        row = int(np.argmin(chords)) + 1
        raise InputError(f"{table.place}: rows {row} and {row + 1} are at the same place.")
    if len(points) == 2:
        return Line(points[0], points[1])
    if radius is not None:
        return Rounded(points, radius, named)
    from scipy.interpolate import make_interp_spline

    s = np.append(0.0, np.cumsum(chords) / chords.sum())
    s[-1] = 1.0
    spline = make_interp_spline(s, points, k=min(5, len(points) - 1))
    return BSpline(spline.c, spline.k, spline.t)


def _count(s: Scalar, borders: AnyArray) -> Scalar:
    """How many of the `borders` s has reached."""
    count: Scalar = 0.0
    for border in borders:
        count = count + where(s >= border, 1.0, 0.0)
    return count


# What a user gave, before tracing


def is_known(*values: AnyArray | Scalar) -> bool:
    """Whether `values` are numbers, not placeholders of a trace: only then can we judge."""
    return not any(isinstance(value, Tracer) for value in values)


def numbers(what: str, value: Numbers, *shape: int | None) -> Numeric[AnyArray, "..."]:
    """`value` as finite doubles of `shape` (None: any length), or an error about `what`."""
    require_double_precision()
    try:
        array = library(*jax.tree.leaves(value)).asarray(value, float)
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


def positive(what: str, value: Numbers, unit: str) -> Scalar:
    """`value` as one positive number, or an error about `what`, in `unit`."""
    number = numbers(what, value)
    if is_known(number) and not float(number) > 0:
        raise InputError(f"{what} is {float(number):g} {unit}; it must be positive.")
    return number


def level_way(
    coordinates: Coordinates, direction: Numbers | None = None, up: str = UP
) -> Numeric[AnyArray, " m"]:
    """Unit vector of a way across, in `coordinates`.

    It is along `direction`, with one number for each coordinate in m and none along `up`; without,
    along y, or the last that is level.
    """
    places, lifted = lengths(coordinates), lifting(coordinates, up)
    axes = np.eye(len(coordinates))
    if direction is None:
        return axes[across(coordinates, up)]
    e = numbers("direction", direction, len(places))
    if is_known(e) and (e.tolist()[places.index(lifted)] or not np.any(e)):
        raise InputError(f"direction is {e.tolist()}; a horizontal one was expected.")
    return e / library(e).linalg.norm(e) @ axes[list(places)]
