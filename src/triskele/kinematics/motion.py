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

Platform coordinates are called x, y, z [m], psi, theta [rad]; in a table the derivatives
are xd, xdd, xddd (psid, ...). Everything else is in SI units as well.
"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from triskele.description.tables import Table
from triskele.errors import InputError, TableError, did_you_mean
from triskele.kinematics.path import (
    AbstractPath,
    Circle,
    Line,
    Numbers,
    Rounded,
    Y,
    Z,
    derivatives_along,
    horizontal,
    numbers,
    positive,
)

Law = Callable[[Float[Array, ""]], Float[Array, ""]]
Position = Callable[[Float[Array, ""]], Float[Array, " m"]]
Real = float | int

UNITS = {"x": "m", "y": "m", "z": "m", "psi": "rad", "theta": "rad"}
TRANSLATING = ("x", "y", "z")
TURNING = ("x", "y", "z", "psi")
TILTING = ("z", "psi", "theta")
MOST_SAMPLES = 5_000_000
_RATES = ("", "/s", "/s^2", "/s^3")


class Motion(eqx.Module):
    """A motion in samples: time, platform coordinates and their derivatives.

    >>> motion = line([0.0, 0.0, -0.8], [0.2, 0.0, -0.8], duration=0.5, rate=100)
    >>> motion.x.shape, motion.duration
    ((51, 3), Array(0.5, dtype=float64))
    """

    t: Float[Array, " N"]  #: [s], rising
    x: Float[Array, "N m"]  #: [m, rad]
    xd: Float[Array, "N m"]
    xdd: Float[Array, "N m"]
    xddd: Float[Array, "N m"]
    coordinates: tuple[str, ...] = eqx.field(static=True)  #: names of the columns of x
    path: AbstractPath | None = None  #: what it runs along, once, if it runs along a path

    def __check_init__(self) -> None:
        """Names and columns agree."""
        _check_coordinates(self.coordinates, self.x.shape[1])

    @property
    def duration(self) -> Float[Array, ""]:
        """From the first sample to the last [s]."""
        return self.t[-1] - self.t[0]

    def to_table(self) -> Table:
        """Columns t, x, y, z, xd, ..., zddd in SI units, for `description.tables`."""
        columns = {"t": ("s", np.asarray(self.t))}
        for order, values in enumerate((self.x, self.xd, self.xdd, self.xddd)):
            for name, column in zip(self.coordinates, np.asarray(values).T, strict=True):
                columns[name + "d" * order] = (UNITS[name] + _RATES[order], column)
        return Table(columns, "motion")


def sample(
    position: Position,
    *,
    duration: Real,
    rate: Real = 1000.0,
    coordinates: tuple[str, ...] | None = None,
    path: AbstractPath | None = None,
) -> Motion:
    """The motion `position(t)` [m, rad] from 0 to `duration` [s], at about `rate` [Hz].

    The step divides the duration evenly, so that the last sample is the end. Without
    `coordinates`, three are x, y, z and four are x, y, z, psi. An `eqx.Module` as `position`
    is compiled once for all its numbers, a closure every time.
    """
    T, f = float(positive("duration", duration, "s")), float(positive("rate", rate, "Hz"))
    if T * f >= MOST_SAMPLES:
        raise InputError(
            f"{T:g} s at {f:g} Hz are {T * f:.3g} samples; at most {MOST_SAMPLES:,} are made."
        )
    n = max(1, round(T * f)) + 1
    shape = jax.eval_shape(position, jnp.zeros(())).shape
    if len(shape) != 1:
        raise InputError(f"position returns the shape {shape}; one vector was expected.")
    names = coordinates or (TURNING if shape == (len(TURNING),) else TRANSLATING)
    _check_coordinates(names, shape[0])
    t = np.linspace(0, T, n)
    whole = derivatives_along(position, t)
    return Motion(jnp.asarray(t), *whole, coordinates=names, path=path)


def _check_coordinates(names: tuple[str, ...], m: int) -> None:
    unknown = [name for name in names if name not in UNITS]
    if unknown:
        hint = did_you_mean(unknown[0], UNITS)
        raise InputError(f"'{unknown[0]}' is not a platform coordinate. {hint}")
    if len(names) != m or len(set(names)) != m:
        raise InputError(f"coordinates: {', '.join(names)} do not name {m} numbers, one each.")


# Laws of time


def uniform(u: Float[Array, ""]) -> Float[Array, ""]:
    """Equation (1): constant speed, with a jolt at both ends."""
    return u


def polynomial5(u: Float[Array, ""]) -> Float[Array, ""]:
    """Equation (2): starts and stops without velocity and acceleration."""
    return u**3 * (10 - 15 * u + 6 * u**2)


def polynomial7(u: Float[Array, ""]) -> Float[Array, ""]:
    """Equation (3): starts and stops without velocity, acceleration and jerk."""
    return u**4 * (35 - 84 * u + 70 * u**2 - 20 * u**3)


LAWS: dict[str, Law] = {
    "uniform": uniform,
    "polynomial5": polynomial5,
    "polynomial7": polynomial7,
}


# Motions


class _Along(eqx.Module):
    """r(law(u)) with u = t / T; there and back again and again if `back`."""

    path: AbstractPath
    law: Law
    T: Float[Array, ""]
    back: bool = False

    def __call__(self, t: Float[Array, ""]) -> Float[Array, " m"]:
        u = t / self.T
        if self.back:
            u = u % 2
            u = jnp.where(u > 1, 2 - u, u)
        return self.path(self.law(u))


def along(
    path: AbstractPath,
    *,
    duration: Real,
    law: Law = polynomial7,
    rate: Real = 1000.0,
    coordinates: tuple[str, ...] | None = None,
) -> Motion:
    """The motion along `path` in `duration` [s], timed by `law`."""
    position = _Along(path, law, positive("duration", duration, "s"))
    return sample(position, duration=duration, rate=rate, coordinates=coordinates, path=path)


def line(
    start: Numbers,
    end: Numbers,
    *,
    duration: Real,
    law: Law = polynomial7,
    rate: Real = 1000.0,
    coordinates: tuple[str, ...] | None = None,
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
    normal: Numbers = Z,
    start_angle: Numbers = 0.0,
    rate: Real = 1000.0,
) -> Motion:
    """Round `centre` [m] at constant speed, one turn per `period` [s], as `path.Circle`."""
    path = Circle(centre, radius, normal, start_angle, turns)
    duration = float(positive("period", period, "s")) * abs(turns)
    return along(path, duration=duration, law=uniform, rate=rate)


class _InvertedU(eqx.Module):
    start: Float[Array, " m"]
    displacement: Float[Array, " m"]
    times: Float[Array, "5"]

    def __call__(self, t: Float[Array, ""]) -> Float[Array, " m"]:
        t0, t1, t2, t3, tf = self.times

        def step(begin: Float[Array, ""], end: Float[Array, ""]) -> Float[Array, ""]:
            u = (t - begin) / (end - begin)
            return jnp.where(u <= 0, 0.0, jnp.where(u >= 1, 1.0, polynomial7(u)))

        share = jnp.full(self.start.shape, step(t1, t3)).at[2].set(step(t0, t2) - step(t2, tf))
        return self.start + share * self.displacement


def inverted_u(
    start: Numbers,
    displacement: Numbers,
    *,
    times: Numbers = (0.0, 0.2, 0.4, 0.6, 0.8),
    rate: Real = 1000.0,
) -> Motion:
    """From `start` [m], out along z and back while the others move; each step is (3).

    z moves by its `displacement` [m] from t0 to t2 and returns from t2 to tf; x, y and psi
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
    return sample(_InvertedU(p, d, T), duration=tf, rate=rate)


class FourierCoefficients(NamedTuple):
    """a_k and b_k of equation (4), one row per harmonic, from the first."""

    sine: Float[Array, "harmonics m"]
    cosine: Float[Array, "harmonics m"]


class _Fourier(eqx.Module):
    centre: Float[Array, " m"]
    coefficients: FourierCoefficients
    period: Float[Array, ""]

    def __call__(self, t: Float[Array, ""]) -> Float[Array, " m"]:
        a, b = self.coefficients
        angle = jnp.arange(1.0, len(a) + 1) * 2 * jnp.pi * t / self.period
        return self.centre + jnp.sin(angle) @ a + jnp.cos(angle) @ b


def fourier(
    centre: Numbers,
    sine: Numbers,
    cosine: Numbers,
    *,
    period: Real,
    periods: int = 1,
    rate: Real = 1000.0,
    coordinates: tuple[str, ...] | None = None,
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
    k = jnp.arange(1.0, len(a) + 1)
    return FourierCoefficients(
        a - jnp.outer(k, k @ a) / (k @ k), b - jnp.outer(k**2, k**2 @ b) / (k**2 @ k**2)
    )


class _Sine(eqx.Module):
    centre: Float[Array, " m"]
    amplitude: Float[Array, " m"]
    phase: Float[Array, " m"]
    frequency: Float[Array, ""]

    def __call__(self, t: Float[Array, ""]) -> Float[Array, " m"]:
        return self.centre + self.amplitude * jnp.sin(2 * jnp.pi * self.frequency * t + self.phase)


def sine(
    centre: Numbers,
    amplitude: Numbers,
    *,
    frequency: Real,
    phase: Numbers | None = None,
    duration: Real,
    rate: Real = 1000.0,
    coordinates: tuple[str, ...] | None = None,
) -> Motion:
    """Equation (5): about `centre` with `amplitude` [m, rad] at `frequency` [Hz].

    `phase` [rad] of each coordinate; zero if not given.
    """
    c = numbers("centre", centre, None)
    a = numbers("amplitude", amplitude, c.size)
    p = jnp.zeros_like(c) if phase is None else numbers("phase", phase, c.size)
    position = _Sine(c, a, p, positive("frequency", frequency, "Hz"))
    return sample(position, duration=duration, rate=rate, coordinates=coordinates)


class _Sweep(eqx.Module):
    centre: Float[Array, " m"]
    amplitude: Float[Array, " m"]
    band: Float[Array, "2"]
    length: Float[Array, ""]

    def __call__(self, t: Float[Array, ""]) -> Float[Array, " m"]:
        u = jnp.clip(t / self.length, 0.0, 1.0)
        turns = self.length * (self.band[0] * u + (self.band[1] - self.band[0]) * u * u / 2)
        swell = polynomial7(jnp.clip(10 * u, 0.0, 1.0)) * polynomial7(
            jnp.clip(10 - 10 * u, 0.0, 1.0)
        )
        return self.centre + self.amplitude * swell * jnp.sin(2 * jnp.pi * turns)


def sweep(
    centre: Numbers,
    amplitude: Numbers,
    *,
    band: Numbers,
    length: Real,
    rest: Real,
    rate: Real = 1000.0,
    coordinates: tuple[str, ...] | None = None,
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
    law: Law = polynomial7,
    back: bool = False,
    cycles: int = 1,
    rate: Real = 1000.0,
) -> Motion:
    """Up, across and down from `start` to `end` [m, rad] in `duration` [s].

    `height` [m] is above the higher of the two. Corners are those of `path.Rounded`; without
    a `radius` [m], half of what fits. With `back` it returns the same way in the same time,
    `cycles` times over; it rests at each end. A fourth coordinate turns on the way across.
    """
    a = numbers("start", start, None)
    b = numbers("end", end, a.size)
    h, T = positive("height", height, "m"), positive("duration", duration, "s")
    if a.size not in (len(TRANSLATING), len(TURNING)):
        raise InputError(f"start has {a.size} numbers; x, y, z and perhaps psi were expected.")
    if np.array_equal(a[:2], b[:2]):
        raise InputError("start and end have the same x and y: there is no way across.")
    if cycles < 1 or (cycles > 1 and not back):
        raise InputError(f"cycles is {cycles}; it is at least 1, and more only with `back`.")
    top = jnp.maximum(a[2], b[2]) + h
    points = jnp.stack([a, a.at[2].set(top), b.at[2].set(top), b])
    if radius is None:
        legs = np.linalg.norm(np.diff(np.asarray(points)[:, :3], axis=0), axis=1)
        radius = float(min(legs[0], legs[1] / 2, legs[2])) / 2
    path = Rounded(points, radius)
    whole = float(T) * (2 * cycles if back else 1)
    return sample(_Along(path, law, T, back), duration=whole, rate=rate, path=path)


def rating_cycle(
    start: Numbers,
    direction: Numbers = Y,
    *,
    duration: Real,
    length: Real = 0.305,
    height: Real = 0.025,
    turn: Real = 0.0,
    radius: Real | None = None,
    cycles: int = 1,
    law: Law = polynomial7,
    rate: Real = 1000.0,
) -> Motion:
    """The 25/305/25 mm cycle by which Delta robots are rated, `duration` [s] per cycle.

    From `start` [m, rad] up 25 mm, 305 mm along `direction`, down 25 mm, and back the same
    way. A fourth coordinate turns by `turn` [rad] on the way there; ratings use 90 degrees.
    """
    a, e = numbers("start", start, None), horizontal("direction", direction)
    if turn and a.size < len(TURNING):
        raise InputError(f"start has {a.size} numbers; to turn it needs a fourth, psi.")
    across = positive("length", length, "m") * e
    step = jnp.append(across, jnp.full(max(a.size - 3, 0), numbers("turn", turn)))
    there = float(positive("duration", duration, "s")) / 2
    return pick_and_place(
        a,
        a + step[: a.size],
        height=height,
        duration=there,
        radius=radius,
        law=law,
        back=True,
        cycles=cycles,
        rate=rate,
    )


# Motions from tables


def motion_from_table(table: Table, coordinates: tuple[str, ...] | None = None) -> Motion:
    """The motion in a table with t, the positions, and any of xd, xdd, xddd.

    Derivatives that are there are checked against differences of the order below. Those
    that are not come from a quintic spline through the positions (not-a-knot at both ends):
    exact enough for computed motions; for measured ones, filter first. Times need only rise.
    """
    names = coordinates or _coordinates(table)
    _check_coordinates(names, len(names))
    t = table.column("t", "s")
    if table.rows < 2:
        raise TableError(f"{table.place}: has one row; a motion needs at least two.")
    if (np.diff(t) <= 0).any():
        row = int(np.argmax(np.diff(t) <= 0)) + 2
        raise TableError(f"{table.place}, row {row}, column 't': time does not rise.")
    orders = [np.stack([table.column(name, UNITS[name]) for name in names], axis=1)]
    for order in (1, 2, 3):
        columns = [name + "d" * order for name in names]
        if not any(name in table for name in columns):
            orders.append(spline_derivative(t, orders[0], order))
            continue
        units = [UNITS[name] + _RATES[order] for name in names]
        given = [table.column(name, unit) for name, unit in zip(columns, units, strict=True)]
        for name, below, values in zip(columns, orders[-1].T, given, strict=True):
            _check_rate(f"{table.place}, column '{name}'", name[:-1], t, below, values)
        orders.append(np.stack(given, axis=1))
    arrays = (jnp.asarray(values) for values in (t, *orders))
    return Motion(*arrays, coordinates=names)


def _coordinates(table: Table) -> tuple[str, ...]:
    """The usual names that `table` has."""
    if "theta" in table and not {"x", "y"} & set(table.names):
        return TILTING
    return TURNING if "psi" in table else TRANSLATING


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
