"""Motions: where the platform is, when, and how fast.

A motion is sampled from one function of time, x(t); velocity, acceleration and jerk are its
derivatives by autodiff. Most are a path r(s) with a law of time s = law(u), u = t / T:

    uniform        s = u                                       constant speed             (1)
    polynomial5    s = 10 u^3 - 15 u^4 + 6 u^5                 at rest, not accelerated    (2)
    polynomial7    s = 35 u^4 - 84 u^5 + 70 u^6 - 20 u^7       nor jerked, at both ends    (3)

The peak of s'' is 10 / sqrt(3) for (2) and 84 sqrt(5) / 25 = 7.5132 for (3).

    Fourier        x = c + sum_k a_k sin(k w t) + b_k cos(k w t),   w = 2 pi / period       (4)

starts from rest if sum k a_k = 0 and sum k^2 b_k = 0. For frequency responses there are

    sine           x = c + a sin(2 pi f t + p), each coordinate with its own phase p         (5)
    sweep          x = c + a g(t) sin(2 pi int f),  f from f0 to f1 in D, rising evenly      (6)

(6) swells and fades smoothly (g) in the first and last tenth, and is followed by rest.

Platform coordinates are those of the mechanism that moves, by name and unit; where nothing is said,
three are x, y, z [m], and a fourth is psi [rad]. In a table the derivatives are xd, xdd, xddd
(psid, ...). Everything else is in SI units as well.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np

from triskele.description.tables import Table
from triskele.errors import InputError, TableError, UnknownName, did_you_mean
from triskele.kinematics.coordinates import (
    UP,
    Coordinates,
    coordinates_of,
    level,
    lifting,
    measured,
    turning,
)
from triskele.kinematics.mechanism import Coordinate
from triskele.kinematics.path import (
    AbstractPath,
    Circle,
    Line,
    Numbers,
    Rounded,
    derivatives_along,
    level_way,
    numbers,
    positive,
)
from triskele.numerics import (
    AnyArray,
    Numeric,
    Scalar,
    floor,
    library,
    maximum,
    minimum,
    sincos,
    stacked,
    where,
)
from triskele.units import same_dimension

Law = Callable[[Scalar], Scalar]
Position = Callable[[Scalar], Numeric[AnyArray, " m"]]
Real = float | int

MOST_SAMPLES = 5_000_000
RATED_LENGTH, RATED_HEIGHT = 0.305, 0.025  #: of the cycle of data sheets [m]
_USUAL = ("x", "y", "z", "a", "b", "c", "psi", "theta")  # columns of a table that says no more
_RATES = ("", "/s", "/s^2", "/s^3")


class Motion(eqx.Module):
    """A motion in samples: time, platform coordinates and their derivatives.

    >>> motion = line([0.0, 0.0, -0.8], [0.2, 0.0, -0.8], duration=0.5, rate=100)
    >>> motion.x.shape, motion.duration
    ((51, 3), np.float64(0.5))
    """

    t: Numeric[AnyArray, " N"]  #: [s], rising
    x: Numeric[AnyArray, "N m"]  #: [m, rad]
    xd: Numeric[AnyArray, "N m"]
    xdd: Numeric[AnyArray, "N m"]
    xddd: Numeric[AnyArray, "N m"]
    coordinates: Coordinates = eqx.field(static=True)  #: name and unit of each column of x
    path: AbstractPath | None = None  #: what it runs along, once, if it runs along a path

    def __check_init__(self) -> None:
        """Coordinates and columns agree."""
        coordinates_of(self.x.shape[1], self.coordinates)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the coordinates."""
        return tuple(c.name for c in self.coordinates)

    @property
    def duration(self) -> Scalar:
        """From the first sample to the last [s]."""
        return self.t[-1] - self.t[0]

    def to_table(self) -> Table:
        """Columns t, x, y, z, xd, ..., zddd in SI units, for `description.tables`."""
        columns = {"t": ("s", np.asarray(self.t))}
        for order, values in enumerate((self.x, self.xd, self.xdd, self.xddd)):
            for (name, unit), column in zip(self.coordinates, np.asarray(values).T, strict=True):
                columns[name + "d" * order] = (unit + _RATES[order], column)
        return Table(columns, "motion")


def sample(
    position: Position,
    *,
    duration: Real,
    rate: Real = 1000.0,
    coordinates: Sequence[Coordinate] | None = None,
    path: AbstractPath | None = None,
) -> Motion:
    """The motion `position(t)` [m, rad] from 0 to `duration` [s], at about `rate` [Hz].

    The step divides the duration evenly, so that the last sample is the end. `coordinates` are
    those of the mechanism that moves; without, three are x, y, z and four are x, y, z, psi. An
    `eqx.Module` as `position` is compiled once for all its numbers, a closure every time.
    """
    T, f = float(positive("duration", duration, "s")), float(positive("rate", rate, "Hz"))
    if T * f >= MOST_SAMPLES:
        raise InputError(
            f"{T:g} s at {f:g} Hz are {T * f:.3g} samples; at most {MOST_SAMPLES:,} are made."
        )
    n = max(1, round(T * f)) + 1
    shape = jax.eval_shape(position, jax.ShapeDtypeStruct((), float)).shape
    if len(shape) != 1:
        raise InputError(f"position returns the shape {shape}; one vector was expected.")
    named = coordinates_of(shape[0], coordinates)
    t = np.linspace(0, T, n)
    whole = derivatives_along(position, t)
    return Motion(t, *whole, coordinates=named, path=path)


# Laws of time


def uniform(u: Scalar) -> Scalar:
    """Equation (1): constant speed, with a jolt at both ends."""
    return u


def polynomial5(u: Scalar) -> Scalar:
    """Equation (2): starts and stops without velocity and acceleration."""
    return u**3 * (10 - 15 * u + 6 * u**2)


def polynomial7(u: Scalar) -> Scalar:
    """Equation (3): starts and stops without velocity, acceleration and jerk."""
    return u**4 * (35 - 84 * u + 70 * u**2 - 20 * u**3)


LAWS: dict[str, Law] = {
    "uniform": uniform,
    "polynomial5": polynomial5,
    "polynomial7": polynomial7,
}


def time_law(law: Law | str) -> Law:
    """The law of that name, or `law` itself."""
    if not isinstance(law, str):
        return law
    if law not in LAWS:
        raise UnknownName(f"law: there is no '{law}'. {did_you_mean(law, LAWS)}")
    return LAWS[law]


# Motions


class _Along(eqx.Module):
    """r(law(u)) with u = t / T; there and back again and again if `back`."""

    path: AbstractPath
    law: Law
    T: Scalar
    back: bool = False

    def __call__(self, t: Scalar) -> Numeric[AnyArray, " m"]:
        u = t / self.T
        if self.back:
            u = u - 2 * floor(u / 2)
            u = where(u > 1, 2 - u, u)
        return self.path(self.law(u))


def along(
    path: AbstractPath,
    *,
    duration: Real,
    law: Law | str = polynomial7,
    rate: Real = 1000.0,
    coordinates: Sequence[Coordinate] | None = None,
) -> Motion:
    """The motion along `path` in `duration` [s], timed by `law`: a function, or a name of `LAWS`.

    Circles and rounded paths know their `coordinates`.
    """
    position = _Along(path, time_law(law), positive("duration", duration, "s"))
    if coordinates is None and isinstance(path, Circle | Rounded):
        coordinates = path.coordinates
    return sample(position, duration=duration, rate=rate, coordinates=coordinates, path=path)


def line(
    start: Numbers,
    end: Numbers,
    *,
    duration: Real,
    law: Law | str = polynomial7,
    rate: Real = 1000.0,
    coordinates: Sequence[Coordinate] | None = None,
) -> Motion:
    """Straight from `start` to `end` [m, rad] in `duration` [s]."""
    path = Line(start, end)
    return along(path, duration=duration, law=law, rate=rate, coordinates=coordinates)


def circle(
    centre: Numbers,
    radius: Numbers,
    *,
    period: Real,
    turns: Real = 1.0,
    normal: Numbers | None = None,
    plane: Sequence[str] | None = None,
    start_angle: Numbers = 0.0,
    rate: Real = 1000.0,
    coordinates: Sequence[Coordinate] | None = None,
) -> Motion:
    """Round `centre` [m] at constant speed, one turn per `period` [s], as `path.Circle`."""
    path = Circle(centre, radius, normal, start_angle, turns, plane=plane, coordinates=coordinates)
    duration = float(positive("period", period, "s")) * abs(turns)
    return along(path, duration=duration, law=uniform, rate=rate)


class _InvertedU(eqx.Module):
    start: Numeric[AnyArray, " m"]
    displacement: Numeric[AnyArray, " m"]
    times: Numeric[AnyArray, "5"]
    lifted: int = eqx.field(static=True)

    def __call__(self, t: Scalar) -> Numeric[AnyArray, " m"]:
        t0, t1, t2, t3, tf = self.times

        def step(begin: Scalar, end: Scalar) -> Scalar:
            u = (t - begin) / (end - begin)
            return where(u <= 0, 0.0, where(u >= 1, 1.0, polynomial7(u)))

        share = [step(t1, t3)] * self.start.size
        share[self.lifted] = step(t0, t2) - step(t2, tf)
        return self.start + stacked(share) * self.displacement


def inverted_u(
    start: Numbers,
    displacement: Numbers,
    *,
    times: Numbers = (0.0, 0.2, 0.4, 0.6, 0.8),
    rate: Real = 1000.0,
    up: str = UP,
    coordinates: Sequence[Coordinate] | None = None,
) -> Motion:
    """From `start` [m, rad], out along `up` and back while the others move; each step is (3).

    `up` moves by its `displacement` [m] from t0 to t2 and returns from t2 to tf; the others
    move from t1 to t3, with `times` [s] = (t0, t1, t2, t3, tf). There is no path: its
    corners depend on the times. Kuo 2016, section 5.4.
    """
    p, d = numbers("start", start, None), numbers("displacement", displacement, np.size(start))
    T = numbers("times", times, 5)
    t0, t1, t2, t3, tf = T.tolist()
    if not (t0 == 0 <= t1 < t3 <= tf and 0 < t2 < tf):
        raise InputError(
            f"times are {T.tolist()}; they begin with 0, and rise: t1 < t3, t2 < tf, t3 <= tf."
        )
    named = coordinates_of(p.size, coordinates)
    position = _InvertedU(p, d, T, lifting(named, up))
    return sample(position, duration=tf, rate=rate, coordinates=named)


class FourierCoefficients(NamedTuple):
    """a_k and b_k of equation (4), one row per harmonic, from the first."""

    sine: Numeric[AnyArray, "harmonics m"]
    cosine: Numeric[AnyArray, "harmonics m"]


class _Fourier(eqx.Module):
    centre: Numeric[AnyArray, " m"]
    coefficients: FourierCoefficients
    period: Scalar

    def __call__(self, t: Scalar) -> Numeric[AnyArray, " m"]:
        a, b = self.coefficients
        turns = (k * 2 * np.pi * t / self.period for k in range(1, len(a) + 1))
        waves = [sincos(angle) for angle in turns]
        total = self.centre
        for (s, c), of_sine, of_cosine in zip(waves, a, b, strict=True):
            total = total + s * of_sine + c * of_cosine
        return total


def fourier(
    centre: Numbers,
    sine: Numbers,
    cosine: Numbers,
    *,
    period: Real,
    periods: int = 1,
    rate: Real = 1000.0,
    coordinates: Sequence[Coordinate] | None = None,
) -> Motion:
    """Equation (4), periodic: amplitudes [m, rad] with one row per harmonic.

    Use `resting` for coefficients that start without velocity and acceleration.
    """
    c = numbers("centre", centre, None)
    a = numbers("sine", sine, None, c.size)
    b = numbers("cosine", cosine, len(a), c.size)
    if periods < 1:
        raise InputError(f"periods is {periods}; at least 1 was expected.")
    T = positive("period", period, "s")
    position = _Fourier(c, FourierCoefficients(a, b), T)
    return sample(position, duration=float(T) * periods, rate=rate, coordinates=coordinates)


def resting(sine: Numbers, cosine: Numbers) -> FourierCoefficients:
    """The nearest coefficients with which (4) starts from rest, without acceleration."""
    a = numbers("sine", sine, None, None)
    b = numbers("cosine", cosine, *a.shape)
    if len(a) < 2:
        raise InputError("One harmonic cannot start from rest; give at least two.")
    k, xp = np.arange(1.0, len(a) + 1), library(a, b)
    return FourierCoefficients(
        a - xp.outer(k, k @ a) / (k @ k), b - xp.outer(k**2, k**2 @ b) / (k**2 @ k**2)
    )


class _Sine(eqx.Module):
    centre: Numeric[AnyArray, " m"]
    amplitude: Numeric[AnyArray, " m"]
    phase: Numeric[AnyArray, " m"]
    frequency: Scalar

    def __call__(self, t: Scalar) -> Numeric[AnyArray, " m"]:
        angles = 2 * np.pi * self.frequency * t + self.phase
        return self.centre + self.amplitude * stacked([sincos(angle)[0] for angle in angles])


def sine(
    centre: Numbers,
    amplitude: Numbers,
    *,
    frequency: Real,
    phase: Numbers | None = None,
    duration: Real,
    rate: Real = 1000.0,
    coordinates: Sequence[Coordinate] | None = None,
) -> Motion:
    """Equation (5): about `centre` with `amplitude` [m, rad] at `frequency` [Hz].

    `phase` [rad] of each coordinate; zero if not given.
    """
    c = numbers("centre", centre, None)
    a = numbers("amplitude", amplitude, c.size)
    p = np.zeros(c.shape) if phase is None else numbers("phase", phase, c.size)
    position = _Sine(c, a, p, positive("frequency", frequency, "Hz"))
    return sample(position, duration=duration, rate=rate, coordinates=coordinates)


class _Sweep(eqx.Module):
    centre: Numeric[AnyArray, " m"]
    amplitude: Numeric[AnyArray, " m"]
    band: Numeric[AnyArray, "2"]
    length: Scalar

    def __call__(self, t: Scalar) -> Numeric[AnyArray, " m"]:
        u = _clipped(t / self.length)
        turns = self.length * (self.band[0] * u + (self.band[1] - self.band[0]) * u * u / 2)
        swell = polynomial7(_clipped(10 * u)) * polynomial7(_clipped(10 - 10 * u))
        return self.centre + self.amplitude * (swell * sincos(2 * np.pi * turns)[0])


def _clipped(u: Scalar) -> Scalar:
    """`u` between 0 and 1."""
    return minimum(maximum(u, 0.0), 1.0)


def sweep(
    centre: Numbers,
    amplitude: Numbers,
    *,
    band: Numbers,
    length: Real,
    rest: Real,
    rate: Real = 1000.0,
    coordinates: Sequence[Coordinate] | None = None,
) -> Motion:
    """Equation (6): through the `band` (f0, f1) [Hz] in `length` [s], then `rest` [s]."""
    c = numbers("centre", centre, None)
    f = numbers("band", band, 2)
    D = positive("length", length, "s")
    position = _Sweep(c, numbers("amplitude", amplitude, c.size), f, D)
    duration = float(D) + float(positive("rest", rest, "s"))
    return sample(position, duration=duration, rate=rate, coordinates=coordinates)


def pick_and_place(
    start: Numbers,
    end: Numbers,
    *,
    height: Real,
    duration: Real,
    radius: Real | None = None,
    law: Law | str = polynomial7,
    back: bool = False,
    cycles: int = 1,
    rate: Real = 1000.0,
    up: str = UP,
    coordinates: Sequence[Coordinate] | None = None,
) -> Motion:
    """Up, across and down from `start` to `end` [m, rad] in `duration` [s].

    `height` [m] is above the higher of the two, along the coordinate `up`. Corners are those of
    `path.Rounded`; without a `radius` [m], half of what fits. With `back` it returns the same way
    in the same time, `cycles` times over; it rests at each end. Angles turn on the way across.
    """
    a = numbers("start", start, None)
    b = numbers("end", end, a.size)
    h, T = positive("height", height, "m"), positive("duration", duration, "s")
    named = coordinates_of(a.size, coordinates)
    k, places = lifting(named, up), level(named, up)
    if all(a[j] == b[j] for j in places):
        same = " and ".join(named[j].name for j in places)
        raise InputError(f"start and end have the same {same}: there is no way across.")
    if cycles < 1 or (cycles > 1 and not back):
        raise InputError(f"cycles is {cycles}; it is at least 1, and more only with `back`.")
    xp = library(a, b, h)
    top = xp.maximum(a[k], b[k]) + h
    above = (xp.where(np.arange(a.size) == k, top, end) for end in (a, b))
    points = xp.stack([a, *above, b])
    if radius is None:
        ways = np.diff(np.asarray(points)[:, list(measured(named))], axis=0)
        legs = np.linalg.norm(ways, axis=1)
        radius = float(min(legs[0], legs[1] / 2, legs[2])) / 2
    path = Rounded(points, radius, named)
    whole = float(T) * (2 * cycles if back else 1)
    position = _Along(path, time_law(law), T, back)
    return sample(position, duration=whole, rate=rate, coordinates=named, path=path)


def rating_cycle(
    start: Numbers,
    direction: Numbers | None = None,
    *,
    duration: Real,
    length: Real = RATED_LENGTH,
    height: Real = RATED_HEIGHT,
    turn: Real = 0.0,
    radius: Real | None = None,
    cycles: int = 1,
    law: Law | str = polynomial7,
    rate: Real = 1000.0,
    up: str = UP,
    turned: str | None = None,
    coordinates: Sequence[Coordinate] | None = None,
) -> Motion:
    """The 25/305/25 mm cycle by which Delta robots are rated, `duration` [s] per cycle.

    From `start` [m, rad] 25 mm along `up`, 305 mm along `direction` (as `path.level_way`), 25 mm
    down, and back the same way. The angle called `turned`, or the only one, turns by `turn` [rad]
    on the way there; ratings use 90 degrees.
    """
    a, psi = numbers("start", start, None), numbers("turn", turn)
    named = coordinates_of(a.size, coordinates)
    step = positive("length", length, "m") * level_way(named, direction, up)
    if turn:
        step = step + psi * np.eye(a.size)[turning(named, turned)]
    there = float(positive("duration", duration, "s")) / 2
    return pick_and_place(
        a,
        a + step,
        height=height,
        duration=there,
        radius=radius,
        law=law,
        back=True,
        cycles=cycles,
        rate=rate,
        up=up,
        coordinates=named,
    )


# Motions from tables


def motion_from_table(table: Table, coordinates: Sequence[Coordinate] | None = None) -> Motion:
    """The motion in a table with t, the positions, and any of xd, xdd, xddd.

    The positions are columns of the `coordinates`; without, those lengths and angles that are
    called x, y, z, a, b, c, psi or theta. Derivatives that are there are checked against
    differences of the order below. Those that are not come from a quintic spline through the
    positions (not-a-knot at both ends): exact enough for computed motions; for measured ones,
    filter first. Times need only rise.
    """
    named = _found(table) if coordinates is None else tuple(coordinates)
    coordinates_of(len(named), named)
    t = table.column("t", "s")
    if table.rows < 2:
        raise TableError(f"{table.place}: has one row; a motion needs at least two.")
    if (np.diff(t) <= 0).any():
        row = int(np.argmax(np.diff(t) <= 0)) + 2
        raise TableError(f"{table.place}, row {row}, column 't': time does not rise.")
    orders = [np.stack([table.column(*coordinate) for coordinate in named], axis=1)]
    for order in (1, 2, 3):
        columns = [c.name + "d" * order for c in named]
        if not any(name in table for name in columns):
            orders.append(spline_derivative(t, orders[0], order))
            continue
        units = [c.unit + _RATES[order] for c in named]
        given = [table.column(name, unit) for name, unit in zip(columns, units, strict=True)]
        for name, below, values in zip(columns, orders[-1].T, given, strict=True):
            _check_rate(f"{table.place}, column '{name}'", name[:-1], t, below, values)
        orders.append(np.stack(given, axis=1))
    return Motion(t, *orders, coordinates=named)


def _found(table: Table) -> Coordinates:
    """The usual names of which `table` has lengths, angles, or at least velocities."""
    found = []
    for name in _USUAL:
        units = [u for u in ("m", "rad") if name in table and same_dimension((table[name].unit, u))]
        if units or (name not in table and name + "d" in table):
            found.append(Coordinate(name, [*units, "m"][0]))
    if not found:
        raise TableError(
            f"{table.place}: has no platform coordinates; those of a robot are read by "
            "coordinates=mechanism.platform_coordinates."
        )
    return tuple(found)


def spline_derivative(t: np.ndarray, x: np.ndarray, order: int) -> np.ndarray:
    """Derivative of the spline of degree 5 through the rows of `x` at the times `t` [s]."""
    from scipy.interpolate import make_interp_spline

    return make_interp_spline(t - t[0], x, k=min(5, len(t) - 1))(t - t[0], order)


def _check_rate(
    place: str, name: str, t: np.ndarray, below: np.ndarray, values: np.ndarray
) -> None:
    """Raise the sentence if `values` are far from the rate of change of `below`, as `name`.

    The mean of `values` over each step is compared with the slope there. Where slopes jump
    from step to step (noise, coarse samples) nothing can be said, and nothing is.
    """
    slope, mean = np.diff(below) / np.diff(t), (values[1:] + values[:-1]) / 2
    size = _rms(slope)
    if _rms(np.diff(slope)) > size / 2:
        return
    if _rms(slope - mean) > max(size, _rms(mean)) / 2 + 1e-3:
        raise TableError(
            f"{place}: is not the rate of change of '{name}': it is {_rms(mean):.3g} (RMS), "
            f"not {size:.3g}. Is its unit right? Without the column, it is computed."
        )


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0
