"""Motions: derivatives that fit, rest at the ends, published peaks, and tables that come back."""

import itertools
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from triskele.description.tables import Table, read_table, write_table
from triskele.errors import InputError, TableError, UnknownName
from triskele.kinematics import motion as motions
from triskele.kinematics.mechanism import Coordinate
from triskele.kinematics.motion import (
    LAWS,
    Motion,
    along,
    circle,
    fourier,
    inverted_u,
    line,
    motion_from_table,
    pick_and_place,
    polynomial5,
    polynomial7,
    rating_cycle,
    resting,
    sample,
    uniform,
)
from triskele.kinematics.path import BSpline, path_derivatives
from triskele.numerics import CHUNK

RNG = np.random.default_rng(0)
HOME = (0.05, -0.1, -0.8)
PICK, PLACE = (0.0, -0.15, -0.9, 0.2), (0.05, 0.2, -0.85, 1.2)
X, Y, Z = (Coordinate(name, "m") for name in "xyz")
PSI, THETA = Coordinate("psi", "rad"), Coordinate("theta", "rad")
TILT: Any = {"coordinates": (Z, PSI, THETA)}
SERIES = resting(*RNG.normal(size=(2, 5, 4), scale=0.02))
MOTIONS = {
    "line": line(HOME, (0.2, 0.1, -0.7), duration=0.5),
    "tilt": line((0.1, 0.0, 0.0), (0.12, 0.2, -0.1), duration=0.4, law=polynomial5, **TILT),
    "circle": circle(HOME, 0.2, period=0.9, turns=-1.5, normal=(1, 1, 1)),
    "inverted_u": inverted_u((-0.08, -0.02, -0.5), (0.16, 0.04, 0.2)),
    "fourier": fourier((*HOME, 0.3), *SERIES, period=2.0),
    "pick": pick_and_place(PICK, PLACE, height=0.1, duration=0.5, rate=1e4),
    "rating": rating_cycle(
        (*HOME, 0.0), (1, 1, 0), duration=0.5, turn=math.pi / 2, cycles=2, rate=1e4
    ),
    "spline": along(BSpline(RNG.normal(size=(8, 3)), 5), duration=1.0),
}


def orders(motion: Motion) -> list[np.ndarray]:
    return [np.asarray(values) for values in (motion.x, motion.xd, motion.xdd, motion.xddd)]


def same(one: Motion, other: Motion) -> bool:
    """Bit for bit, but for the path, which a table does not hold."""
    pairs = zip((one.t, *orders(one)), (other.t, *orders(other)), strict=True)
    return one.coordinates == other.coordinates and all(np.array_equal(a, b) for a, b in pairs)


# Laws


@pytest.mark.parametrize("name", MOTIONS)
def test_each_derivative_integrates_to_the_one_before(name):
    motion = MOTIONS[name]
    t, values = np.asarray(motion.t), orders(motion)
    for lower, upper in itertools.pairwise(values):
        steps = np.diff(t)[:, None] * (upper[1:] + upper[:-1]) / 2
        scale = np.abs(np.diff(lower, axis=0)).sum(axis=0).max()
        np.testing.assert_allclose(lower[0] + steps.cumsum(axis=0), lower[1:], atol=2e-4 * scale)


@pytest.mark.parametrize("name", ["line", "inverted_u", "pick", "rating", "spline"])
def test_motions_by_the_septic_law_start_and_end_without_velocity_acceleration_and_jerk(name):
    for values in orders(MOTIONS[name])[1:]:
        np.testing.assert_allclose(values[[0, -1]], 0, atol=1e-9 * np.abs(values).max())


@pytest.mark.parametrize("name", LAWS)
def test_laws_run_from_0_to_1_and_are_symmetric(name):
    u = jnp.linspace(0, 1, 101)
    s, s1, s2, s3 = jax.vmap(lambda u: path_derivatives(LAWS[name], u))(u)  # pyright: ignore
    assert s[0] == 0
    assert s[-1] == pytest.approx(1, abs=1e-15)
    assert (jnp.diff(s) > 0).all()
    np.testing.assert_allclose(s + s[::-1], 1, atol=1e-14)
    rest = {"uniform": [], "polynomial5": [s1, s2], "polynomial7": [s1, s2, s3]}[name]
    for values in rest:
        np.testing.assert_allclose(values[np.array([0, -1])], 0, atol=1e-12)


# Numbers known by hand


def test_peaks_of_the_laws_are_those_of_their_formulas():
    u = (1 - 1 / math.sqrt(5)) / 2  # where 420 u^2 (1 - u)^2 (1 - 2u) has its maximum
    assert path_derivatives(polynomial7, jnp.array(u)).r2 == pytest.approx(84 * 5**0.5 / 25)  # pyright: ignore
    v = (1 - 1 / math.sqrt(3)) / 2  # where 60 u (1 - u) (1 - 2u) has
    assert path_derivatives(polynomial5, jnp.array(v)).r2 == pytest.approx(10 / 3**0.5)  # pyright: ignore
    assert path_derivatives(polynomial7, jnp.array(0.5)).r1 == pytest.approx(35 / 16)  # pyright: ignore
    assert path_derivatives(uniform, jnp.array(0.5)).r1 == 1  # pyright: ignore


def test_a_circle_is_run_at_constant_speed_and_pulls_with_v_squared_over_r():
    motion = MOTIONS["circle"]
    assert float(motion.duration) == pytest.approx(1.35)
    v = 2 * math.pi * 0.2 / 0.9
    _, xd, xdd, _ = orders(motion)
    np.testing.assert_allclose(np.linalg.norm(xd, axis=1), v, rtol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(xdd, axis=1), v**2 / 0.2, rtol=1e-12)


def test_a_fourier_motion_is_its_formula_and_periodic_and_starts_from_rest():
    motion = MOTIONS["fourier"]
    w, k, t = math.pi, np.arange(1, 6), np.asarray(motion.t)
    a, b = (np.asarray(values) for values in SERIES)
    x, xd, xdd, _ = orders(motion)
    expected = [*HOME, 0.3] + np.sin(np.outer(t, k * w)) @ a + np.cos(np.outer(t, k * w)) @ b
    np.testing.assert_allclose(x, expected, atol=1e-13)
    for values in (x, xd, xdd):
        np.testing.assert_allclose(values[0], values[-1], atol=1e-11)
    np.testing.assert_allclose(xd[0], 0, atol=1e-14)
    np.testing.assert_allclose(xdd[0], 0, atol=1e-13)


def test_resting_changes_coefficients_no_more_than_it_must():
    again = resting(*SERIES)
    np.testing.assert_allclose(again.sine, SERIES.sine, atol=1e-15)
    # For two harmonics, a1 + 2 a2 = 0 and b1 + 4 b2 = 0: (1, 0) falls on (4, -2)/5, (16, -4)/17.
    pair = resting([[1.0], [0.0]], [[1.0], [0.0]])
    np.testing.assert_allclose(pair.sine.ravel(), [4 / 5, -2 / 5], atol=1e-15)
    np.testing.assert_allclose(pair.cosine.ravel(), [16 / 17, -4 / 17], atol=1e-15)


def test_pick_and_place_lifts_straight_crosses_level_and_lowers_straight():
    x = np.asarray(MOTIONS["pick"].x)
    np.testing.assert_allclose(x[[0, -1]], [PICK, PLACE], atol=1e-14)
    assert x[:, 2].max() == pytest.approx(-0.75, abs=1e-12)
    # Legs of 0.15 and 0.1 m leave room for corners of 0.1 m; half of that is taken.
    rising, falling = x[x[:, 2] < -0.801], x[x[:, 2] < -0.8]
    on_legs = np.concatenate([rising[rising[:, 1] < 0], falling[falling[:, 1] > 0]])
    ends = np.where(on_legs[:, 1:2] < 0, np.array([PICK]), np.array([PLACE]))
    np.testing.assert_allclose(on_legs[:, [0, 1, 3]], ends[:, [0, 1, 3]], atol=1e-14)
    across = x[(x[:, 1] > -0.1) & (x[:, 1] < 0.15)]
    np.testing.assert_allclose(across[:, 2], -0.75, atol=1e-14)


def test_there_and_back_is_the_way_there_read_backwards_and_each_cycle_is_the_first():
    motion = MOTIONS["rating"]
    assert motion.x.shape == (10001, 4)
    for order, values in enumerate(orders(motion)):
        sign, scale = (-1) ** order, 1e-12 * np.abs(values).max()
        np.testing.assert_allclose(values[:5001], sign * values[5000::-1], atol=scale)
        np.testing.assert_allclose(values[:5001], values[5000:], atol=scale)


def test_the_rating_cycle_rises_25_mm_and_crosses_305_mm_while_it_turns():
    x = np.asarray(MOTIONS["rating"].x) - [*HOME, 0.0]
    d = 0.305 / math.sqrt(2)
    np.testing.assert_allclose(x[2500], [d, d, 0, math.pi / 2], atol=1e-12)
    np.testing.assert_allclose(x.max(axis=0), [d, d, 0.025, math.pi / 2], atol=1e-12)
    np.testing.assert_allclose(x.min(axis=0), 0, atol=1e-12)


# Published


def test_the_inverted_u_of_kuo_has_its_published_peak_accelerations():
    # C.-H. Kuo et al. 2016, section 5.4: 7.5132, 1.8783 and 9.3915 m/s^2 in x, y and z.
    motion = MOTIONS["inverted_u"]
    peaks = np.abs(orders(motion)[2]).max(axis=0)
    np.testing.assert_allclose(peaks, [7.5132, 1.8783, 9.3915], atol=1e-3)
    x = np.asarray(motion.x)
    np.testing.assert_allclose(x[0], [-0.08, -0.02, -0.5], atol=1e-15)
    np.testing.assert_allclose(x[400], [0, 0, -0.3], atol=1e-15)
    np.testing.assert_allclose(x[-1], [0.08, 0.02, -0.5], atol=1e-15)
    still = np.asarray(motion.t) <= 0.2
    assert (x[still, :2] == x[0, :2]).all()


# Sampling


def test_samples_divide_the_duration_evenly_and_end_at_its_end():
    motion = sample(lambda t: jnp.stack([t, t**2, t**3]), duration=0.33, rate=10)
    np.testing.assert_allclose(motion.t, [0, 0.11, 0.22, 0.33], atol=1e-16)
    assert motion.coordinates == (X, Y, Z)
    assert motion.names == ("x", "y", "z")
    assert motion.path is None
    np.testing.assert_allclose(motion.xdd[:, 2], 6 * motion.t, atol=1e-15)
    np.testing.assert_allclose(motion.xddd, [[0, 0, 6]] * 4, atol=1e-15)
    assert len(sample(lambda t: jnp.zeros(3), duration=1e-6, rate=1).t) == 2


class Counted(eqx.Module):
    speed: jax.Array

    def __call__(self, t: jax.Array) -> jax.Array:
        TRACES.append(1)
        return self.speed * t * jnp.ones(3)


TRACES: list[int] = []


def test_many_samples_come_in_blocks_and_new_numbers_are_not_a_new_compilation():
    motion = sample(Counted(jnp.array(2.0)), duration=10, rate=CHUNK)
    assert motion.x.shape == (10 * CHUNK + 1, 3)
    np.testing.assert_allclose(motion.x[:, 0], 2 * motion.t, rtol=1e-15)
    sample(Counted(jnp.array(2.0)), duration=1.0, rate=100)
    for duration, rate in ((20, CHUNK), (1.2, 100)):
        before = len(TRACES)
        sample(Counted(jnp.array(3.0)), duration=duration, rate=rate)
        assert len(TRACES) == before + 1  # the shape is asked for; nothing is compiled


def test_a_motion_can_be_differentiated_with_respect_to_its_position():
    def peak(speed: jax.Array) -> jax.Array:
        return sample(Counted(speed), duration=1, rate=10).x[-1, 0]

    assert jax.grad(peak)(jnp.array(2.0)) == pytest.approx(1)


def test_a_motion_remembers_the_path_it_runs_along():
    path = MOTIONS["pick"].path
    assert path is not None
    np.testing.assert_allclose(path(jnp.array(1.0)), PLACE, atol=1e-14)


# Tables


def test_columns_are_named_and_measured_as_engineers_do():
    table = MOTIONS["pick"].to_table()
    names = ("x", "y", "z", "psi")
    expected = ["t", *(name + "d" * order for order in range(4) for name in names)]
    assert table.names == tuple(expected)
    assert table["psidd"].unit == "rad/s^2"
    assert [table[name].unit for name in ("t", "z", "zd", "zddd")] == ["s", "m", "m/s", "m/s^3"]


@pytest.mark.parametrize("name", MOTIONS)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_motion_comes_back_from_a_file_to_the_last_bit(tmp_path, name, kind):
    path = write_table(MOTIONS[name].to_table(), tmp_path / f"motion.{kind}")
    assert same(motion_from_table(read_table(path)), MOTIONS[name])


def without(motion: Motion, *columns: str, **others: tuple[str, Any]) -> Table:
    """The table of `motion` with columns left out or replaced."""
    table = motion.to_table()
    kept = {name: table[name] for name in table.names if name not in columns}
    return Table({**kept, **others}, "log.csv")


def positions(motion: Motion) -> Table:
    return without(motion, *(n + "d" * k for n in motion.names for k in (1, 2, 3)))


@pytest.mark.parametrize("name", ["line", "tilt", "circle", "fourier", "spline"])
def test_missing_derivatives_are_made_from_the_positions(name):
    motion = MOTIONS[name]
    made = motion_from_table(positions(motion))
    assert made.coordinates == motion.coordinates
    for expected, values, tol in zip(
        orders(motion), orders(made), (0, 1e-8, 1e-6, 1e-3), strict=True
    ):
        np.testing.assert_allclose(values, expected, atol=tol * np.abs(expected).max())


def test_uneven_times_that_do_not_begin_at_zero_are_taken_as_they_are():
    t = 1e3 + np.cumsum(RNG.uniform(0.001, 0.003, 300))
    columns: Any = {"t": ("s", t), "x": ("m", np.sin(t)), "y": ("m", t), "z": ("m", 0 * t)}
    motion = motion_from_table(Table(columns))
    np.testing.assert_allclose(motion.xd[:, 0], np.cos(t), atol=1e-8)
    np.testing.assert_allclose(motion.xddd[:, 0], -np.cos(t), atol=2e-2)
    assert float(motion.duration) == pytest.approx(t[-1] - t[0])


def test_two_rows_are_a_motion_at_constant_speed():
    columns: Any = {"t": ("ms", [0, 100]), **{n: ("mm", [0, 50]) for n in "xyz"}}
    motion = motion_from_table(Table(columns))
    np.testing.assert_allclose(motion.xd, np.full((2, 3), 0.5), rtol=1e-12)
    assert not motion.xdd.any()


def test_derivatives_that_are_there_are_kept_and_others_are_made():
    motion = MOTIONS["line"]
    table = without(motion, "xddd", "yddd", "zddd", extra=("1", np.ones(501)))
    made = motion_from_table(table)
    assert np.array_equal(made.xdd, motion.xdd)
    np.testing.assert_allclose(made.xddd, motion.xddd, atol=1e-3 * np.abs(motion.xddd).max())


def test_coordinates_can_be_named_where_a_table_has_more():
    table = MOTIONS["pick"].to_table()
    motion = motion_from_table(table, (X, Y, Z))
    assert np.array_equal(motion.x, MOTIONS["pick"].x[:, :3])


def test_noise_and_coarse_samples_are_no_reason_to_refuse():
    rough = rating_cycle(HOME, duration=0.4, rate=40)
    assert same(motion_from_table(rough.to_table()), rough)
    motion = MOTIONS["line"]
    noise = RNG.normal(size=501, scale=1e-4)  # of an encoder: slopes of 0.1 m/s
    still = {"y": ("m", HOME[1] + noise), "yd": ("m/s", noise), "ydd": ("m/s^2", noise)}
    motion_from_table(without(motion, "yddd", "xddd", "zddd", **still))


BAD_TABLES = {
    "velocity in mm/s": (
        lambda: without(MOTIONS["line"], xd=("m/s", 1000 * MOTIONS["line"].xd[:, 0])),
        "log.csv, column 'xd': is not the rate of change of 'x': it is 383 (RMS), not 0.383.",
    ),
    "velocity in deg/s": (
        lambda: without(MOTIONS["tilt"], psid=("rad/s", 57.3 * MOTIONS["tilt"].xd[:, 1])),
        "log.csv, column 'psid': is not the rate of change of 'psi'",
    ),
    "acceleration backwards": (
        lambda: without(MOTIONS["line"], zdd=("m/s^2", -MOTIONS["line"].xdd[:, 2])),
        "column 'zdd': is not the rate of change of 'zd'",
    ),
    "jerk of another": (
        lambda: without(MOTIONS["circle"], yddd=("m/s^3", MOTIONS["circle"].xddd[:, 0])),
        "column 'yddd': is not the rate of change of 'ydd'",
    ),
    "moving while it stands": (
        lambda: without(MOTIONS["line"], y=("m", np.zeros(501))),
        "column 'yd': is not the rate of change of 'y'",
    ),
    "position for velocity": (
        lambda: without(MOTIONS["line"], xd=("m", np.zeros(501))),
        "column 'xd': is in [m], but [m/s] was expected.",
    ),
    "half of the velocities": (
        lambda: without(MOTIONS["line"], "zd"),
        "log.csv: there is no column 'zd'. Did you mean 'zdd'?",
    ),
    "no time": (lambda: without(MOTIONS["line"], "t"), "log.csv: there is no column 't'."),
    "no z": (lambda: without(MOTIONS["line"], "z"), "log.csv: there is no column 'z'."),
    "no psi": (lambda: without(MOTIONS["tilt"], "psi"), "log.csv: there is no column 'psi'."),
    "time in m": (
        lambda: without(MOTIONS["line"], t=("m", np.arange(501))),
        "column 't': is in [m], but [s] was expected.",
    ),
    "time stands": (
        lambda: without(MOTIONS["line"], t=("s", [*range(500), 499])),
        "log.csv, row 501, column 't': time does not rise.",
    ),
    "time falls": (
        lambda: without(MOTIONS["line"], t=("s", -np.arange(501))),
        "log.csv, row 2, column 't': time does not rise.",
    ),
    "one row": (
        lambda: Table({n: (u, [0]) for n, u in zip("txyz", "smmm", strict=True)}, "log.csv"),
        "log.csv: has one row; a motion needs at least two.",
    ),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_a_table_that_is_no_motion_is_refused_in_one_sentence(case):
    make, expected = BAD_TABLES[case]
    with pytest.raises(TableError) as error:
        motion_from_table(make())
    assert expected in str(error.value)


# Arguments

END = (0.2, 0.0, -0.8)
ONES = [[1.0] * 3]
BAD: dict[str, tuple[Any, str]] = {
    "no duration": (lambda: line(HOME, END, duration=0), "duration is 0 s; it must be positive."),
    "past": (lambda: line(HOME, END, duration=-1), "duration is -1 s; it must be positive."),
    "nan duration": (lambda: line(HOME, END, duration=math.nan), "duration holds a number that"),
    "inf duration": (lambda: line(HOME, END, duration=math.inf), "duration holds a number that"),
    "no rate": (lambda: line(HOME, END, duration=1, rate=0), "rate is 0 Hz; it must be positive."),
    "negative rate": (lambda: line(HOME, END, duration=1, rate=-5), "rate is -5 Hz; it must be"),
    "too many samples": (
        lambda: line(HOME, END, duration=5000, rate=1000),
        "5000 s at 1000 Hz are 5e+06 samples; at most 5,000,000 are made.",
    ),
    "far too many samples": (
        lambda: line(HOME, END, duration=1e300, rate=1e300),
        "1e+300 s at 1e+300 Hz are inf samples",
    ),
    "called as time": (
        lambda: line(HOME, END, duration=1, coordinates=(X, Y, Coordinate("t", "m"))),
        "coordinates: x, y, t do not name 3 numbers, one each.",
    ),
    "called as a velocity": (
        lambda: line(HOME, END, duration=1, coordinates=(X, Y, Coordinate("xd", "m"))),
        "coordinates: x, y, xd do not name 3 numbers, one each.",
    ),
    "too few names": (
        lambda: line(HOME, END, duration=1, coordinates=(X, Y)),
        "coordinates: x, y do not name 3 numbers, one each.",
    ),
    "names twice": (
        lambda: line(HOME, END, duration=1, coordinates=(X, Y, X)),
        "coordinates: x, y, x do not name 3 numbers, one each.",
    ),
    "five numbers": (
        lambda: line([0] * 5, [1] * 5, duration=1),
        "5 numbers are neither x, y, z nor x, y, z, psi; say what they are by coordinates=",
    ),
    "names of a motion": (
        lambda: Motion(jnp.zeros(2), *[jnp.zeros((2, 3))] * 4, coordinates=(X,)),
        "coordinates: x do not name 3 numbers, one each.",
    ),
    "position is a number": (
        lambda: sample(lambda t: t, duration=1),
        "position returns the shape (); one vector was expected.",
    ),
    "no line": (lambda: line(HOME, HOME, duration=1), "start and end are the same point"),
    "line from nan": (lambda: line((0, 0, math.nan), END, duration=1), "start holds a number that"),
    "no period": (lambda: circle(HOME, 0.1, period=0), "period is 0 s; it must be positive."),
    "no radius": (lambda: circle(HOME, -0.1, period=1), "radius is -0.1 m; it must be positive."),
    "no turns": (lambda: circle(HOME, 0.1, period=1, turns=0), "turns is zero."),
    "displaced otherwise": (
        lambda: inverted_u(HOME, (1, 2)),
        "displacement has the shape (2,); expected: 3.",
    ),
    "four times": (
        lambda: inverted_u(HOME, END, times=(0, 1, 2, 3)),
        "times has the shape (4,); expected: 5.",
    ),
    "late start": (
        lambda: inverted_u(HOME, END, times=(1, 2, 3, 4, 5)),
        "times are [1.0, 2.0, 3.0, 4.0, 5.0]; they begin with 0, and rise",
    ),
    "times fall": (lambda: inverted_u(HOME, END, times=(0, 3, 2, 1, 4)), "they begin with 0, and"),
    "no time up": (lambda: inverted_u(HOME, END, times=(0, 1, 0, 2, 3)), "they begin with 0, and"),
    "too late": (lambda: inverted_u(HOME, END, times=(0, 1, 2, 4, 3)), "they begin with 0, and"),
    "flat series": (
        lambda: fourier(HOME, [1.0], ONES, period=1),
        "sine has the shape (1,); expected: any x 3.",
    ),
    "uneven series": (
        lambda: fourier(HOME, ONES, ONES * 2, period=1),
        "cosine has the shape (2, 3); expected: 1 x 3.",
    ),
    "no periods": (
        lambda: fourier(HOME, ONES, ONES, period=1, periods=0),
        "periods is 0; at least 1 was expected.",
    ),
    "series of no period": (
        lambda: fourier(HOME, ONES, ONES, period=-1),
        "period is -1 s; it must be positive.",
    ),
    "rest of one harmonic": (
        lambda: resting(ONES, ONES),
        "One harmonic cannot start from rest; give at least two.",
    ),
    "pick in a plane": (
        lambda: pick_and_place((0, 0), (1, 1), height=0.1, duration=1, coordinates=(X, Y)),
        "coordinates: x, y; a way up and across needs z and another in m.",
    ),
    "pick on the spot": (
        lambda: pick_and_place(
            (1, 0, 0), (2, 1, 0), height=0.1, duration=1, coordinates=(Z, PSI, THETA)
        ),
        "coordinates: z, psi, theta; a way up and across needs z and another in m.",
    ),
    "place elsewhere": (
        lambda: pick_and_place(HOME, PLACE, height=0.1, duration=1),
        "end has the shape (4,); expected: 3.",
    ),
    "no height": (
        lambda: pick_and_place(HOME, END, height=0, duration=1),
        "height is 0 m; it must be positive.",
    ),
    "no way across": (
        lambda: pick_and_place((0, 0, 0), (0, 0, 1), height=0.1, duration=1),
        "start and end have the same x and y: there is no way across.",
    ),
    "corner too large": (
        lambda: pick_and_place(HOME, END, height=0.05, duration=1, radius=0.06),
        "radius is 0.06 m, but between way_points 1 and 2 there is room for 0.05 m only.",
    ),
    "cycles without return": (
        lambda: pick_and_place(HOME, END, height=0.05, duration=1, cycles=2),
        "cycles is 2; it is at least 1, and more only with `back`.",
    ),
    "no cycles": (lambda: rating_cycle(HOME, duration=1, cycles=0), "cycles is 0; it is at least"),
    "cycle of no time": (
        lambda: rating_cycle(HOME, duration=0),
        "duration is 0 s; it must be positive.",
    ),
    "cycle upwards": (
        lambda: rating_cycle(HOME, (0, 0, 1), duration=1),
        "direction is [0.0, 0.0, 1.0]; a horizontal one was expected.",
    ),
    "cycle of no length": (
        lambda: rating_cycle(HOME, duration=1, length=0),
        "length is 0 m; it must be positive.",
    ),
    "turn without psi": (
        lambda: rating_cycle(HOME, duration=1, turn=1.0),
        "coordinates: x, y, z; to turn takes an angle among them, called by its name.",
    ),
    "turn by nan": (
        lambda: rating_cycle((*HOME, 0.0), duration=1, turn=math.nan),
        "turn holds a number that is not finite: nan.",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_makes_no_motion_is_refused_in_one_sentence(case):
    make, expected = BAD[case]
    with pytest.raises(InputError) as error:
        make()
    assert expected in str(error.value)


def test_every_law_is_offered_by_its_name():
    assert {name: getattr(motions, name) for name in LAWS} == LAWS


# Sines and sweeps


def test_a_sine_has_the_amplitude_and_phase_of_each_coordinate():
    w, t = 2 * math.pi * 3, np.linspace(0, 0.5, 501)
    motion = motions.sine(
        (0.08, 0.0, 0.1), (2e-3, 0.02, 0.0), frequency=3.0, phase=(0.0, 1.0, 0.0), duration=0.5
    )
    x, xd, xdd, xddd = orders(motion)
    assert np.asarray(motion.t) == pytest.approx(t)
    assert x[:, 0] == pytest.approx(0.08 + 2e-3 * np.sin(w * t), abs=1e-15)
    assert xd[:, 1] == pytest.approx(0.02 * w * np.cos(w * t + 1), abs=1e-12)
    assert xdd[:, 1] == pytest.approx(-0.02 * w**2 * np.sin(w * t + 1), abs=1e-10)
    assert xddd[:, 0] == pytest.approx(-2e-3 * w**3 * np.cos(w * t), abs=1e-9)
    assert not xd[:, 2].any()


def test_a_sweep_passes_all_frequencies_of_its_band_and_rests():
    """From 1 to 21 Hz in 4 s: (1 + 21) / 2 * 4 = 44 turns, at 11 Hz in the middle."""
    motion = motions.sweep((0.08,) * 3, (1e-3, 0, 0), band=(1.0, 21.0), length=4.0, rest=1.0)
    t, x = np.asarray(motion.t), np.asarray(motion.x[:, 0]) - 0.08
    assert t[-1] == pytest.approx(5.0)
    for values in orders(motion)[1:]:
        assert np.abs(values[0]).max() < 1e-12
        assert not values[t > 4.0 + 1e-9].any()
    assert np.abs(x[t > 4.0 + 1e-9]).max() < 1e-15
    middle = (t > 0.4) & (t < 3.6)
    ups = t[middle][:-1][(x[middle][:-1] <= 0) & (x[middle][1:] > 0)]
    turns = ups + 5 * ups**2 / 2  # of f = 1 + 5 t
    assert turns == pytest.approx(np.rint(turns), abs=0.02)
    assert np.array_equal(np.diff(np.rint(turns)), np.ones(len(ups) - 1))
    assert np.abs(x[middle]).max() == pytest.approx(1e-3, rel=1e-3)
    assert np.abs(x).max() <= 1e-3


@pytest.mark.parametrize(
    "make",
    [
        lambda: motions.sine((0.1,) * 3, (1e-3,) * 3, frequency=0.0, duration=1.0),
        lambda: motions.sine((0.1,) * 3, (1e-3,) * 2, frequency=1.0, duration=1.0),
        lambda: motions.sine((0.1,) * 3, (1e-3,) * 3, frequency=1.0, phase=(0,), duration=1.0),
        lambda: motions.sweep((0.1,) * 3, (1e-3,) * 3, band=(1.0,), length=1.0, rest=1.0),
        lambda: motions.sweep((0.1,) * 3, (1e-3,) * 3, band=(1, 2), length=-1.0, rest=1.0),
        lambda: motions.sweep((0.1,) * 3, (1e-3,) * 3, band=(1, 2), length=1.0, rest=0.0),
    ],
    ids=["frequency", "amplitude", "phase", "band", "length", "rest"],
)
def test_sines_and_sweeps_that_make_no_sense_are_refused(make, request):
    with pytest.raises(InputError, match=request.node.callspec.id):
        make()


def test_a_law_of_time_may_be_named():
    ends, how = ((0.0, 0.0, 0.0), (0.1, 0.2, 0.0)), {"duration": 0.5, "rate": 50.0}
    named = line(*ends, law="uniform", **how)
    assert np.array_equal(named.x, line(*ends, law=motions.uniform, **how).x)
    assert np.allclose(named.xd, named.xd[0])
    with pytest.raises(UnknownName, match=r"law: there is no 'unifrom'\. Did you mean 'uniform'\?"):
        line(*ends, law="unifrom", **how)
