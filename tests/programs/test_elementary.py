"""sin, cos, atan2, exp and tanh against extended precision, as NumPy and machine code compute them.

References have 64 bits of mantissa (x87): exact to a thousandth of a unit in the last place.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from running import FORMS, in_all_ways, program_of, run_natively

from triskele.programs.elementary import ATAN, PI_PARTS, expanded
from triskele.programs.interpret import interpreted
from triskele.programs.program import ELEMENTARY, OPERATIONS

LONG = np.longdouble
pytestmark = pytest.mark.skipif(
    np.finfo(LONG).nmant < 63, reason="no extended precision on this machine"
)
RNG = np.random.default_rng(0)
LEAST = np.finfo(float).tiny  # the least normal number
EXACT = {"sin": np.sin, "cos": np.cos, "atan2": np.arctan2, "exp": np.exp, "tanh": np.tanh}
PROGRAMS = {
    op: program_of(len(OPERATIONS[op].takes), lambda g, *args, op=op: g.emit(op, *args))
    for op in ELEMENTARY
}


def spread(least, most, count=20_000):
    """Of both signs, evenly in size by their logarithm."""
    size = 10 ** RNG.uniform(np.log10(least), np.log10(most), count)
    return size * RNG.choice([-1, 1], count)


def check(op, *columns, units=2.0, quotients=0.0):
    """All ways are within `units`; where a quotient is a product, more by `quotients`."""
    with np.errstate(all="ignore"):
        exact = EXACT[op](*(column.astype(LONG) for column in columns))
        unit = np.spacing(np.maximum(np.abs(exact).astype(float), LEAST))
    assert np.isfinite(exact).all()
    for name, (found,) in in_all_ways(PROGRAMS[op], columns):
        off = np.abs(found.astype(LONG) - exact) / unit
        worst = int(np.argmax(off))
        most = units + (quotients if name == "interpreted" else 0)
        assert off[worst] <= most, f"{name}: {op}{[c[worst] for c in columns]} off by {off[worst]}"


def special(op, *points):
    """Outputs for numbers given one by one, all ways, which agree to the last bit."""
    columns = [np.array(column, float) for column in zip(*points, strict=True)]
    found = {name: outputs[0] for name, outputs in in_all_ways(PROGRAMS[op], columns)}
    for name in FORMS:
        assert np.array_equal(found[name], found["interpreted"], equal_nan=True)
    return found["interpreted"]


# Sine and cosine


@pytest.mark.parametrize("op", ["sin", "cos"])
@pytest.mark.parametrize("size", [1e-8, 1e-3, 1.0, 3.2, 10.0, 1e3, 1e5, 1e6])
def test_sine_and_cosine_are_accurate_to_two_units_in_the_last_place(op, size):
    check(op, RNG.uniform(-size, size, 50_000))
    check(op, spread(1e-300, size))


@pytest.mark.parametrize("op", ["sin", "cos"])
def test_also_next_to_multiples_of_a_right_angle_where_they_vanish(op):
    most = int(1e6 / (np.pi / 2))
    k = np.concatenate([np.arange(1, 2000), RNG.integers(2000, most, 40_000)])
    at = (k * (2 * np.arcsin(LONG(1)) / 2)).astype(float)
    check(op, np.concatenate([at, -at, np.nextafter(at, 0), np.nextafter(at, np.inf)]))
    octants = np.arange(-399, 400, 2) * (np.pi / 4)  # where the reduced angle is largest
    check(op, np.concatenate([octants, np.nextafter(octants, 0), octants * (1 + 1e-15)]))


@pytest.mark.long
@pytest.mark.parametrize("op", ["sin", "cos"])
def test_also_next_to_every_multiple_of_a_right_angle(op):
    k = np.arange(1, int(1e6 / (np.pi / 2)))
    at = (k * (2 * np.arcsin(LONG(1)) / 2)).astype(float)
    check(op, np.concatenate([at, np.nextafter(at, 0), np.nextafter(at, np.inf)]))


def test_right_angles_are_subtracted_in_parts_whose_products_are_exact():
    for part in PI_PARTS[:2]:
        for k in (636_619, 2**20 - 1):
            assert float(k * part) == k * part
            assert math.frexp(part)[0] * 2**33 % 1 == 0
    assert abs(sum(map(LONG, PI_PARTS)) - np.arcsin(LONG(1))) < 1e-19


def test_sine_and_cosine_of_special_angles():
    assert np.array_equal(special("sin", (0.0,), (-0.0,), (5e-324,)), [0, 0, 5e-324])
    assert np.array_equal(special("cos", (0.0,), (-0.0,), (1e-9,), (5e-324,)), [1, 1, 1, 1])
    for op in ("sin", "cos"):
        assert np.isnan(special(op, (math.nan,), (math.inf,), (-math.inf,))).all()
        assert np.abs(special(op, (1e6,), (-1e6,), (99.5,))).max() <= 1


def test_sine_and_cosine_share_what_they_have_in_common():
    both = program_of(1, lambda g, x: (g.emit("sin", x), g.emit("cos", x)))
    assert len(expanded(both)) < 1.3 * len(expanded(PROGRAMS["sin"]))


# The angle of a point


def circle(count=50_000):
    direction = RNG.uniform(-np.pi, np.pi, count)
    return np.sin(direction), np.cos(direction)


def test_the_angle_of_a_point_is_accurate_in_all_quadrants():
    check("atan2", *circle(), quotients=0.5)
    y, x = circle()
    size = 10 ** RNG.uniform(-290, 290, len(y))
    check("atan2", size * y, size * x, quotients=0.5)


def test_the_angle_of_a_point_is_accurate_at_all_slopes():
    for exponent in (1, 10, 150):
        y, x = circle()
        slope = 10 ** RNG.uniform(-exponent, exponent, len(y))
        check("atan2", y * slope, x, quotients=0.5)
        check("atan2", y, x * slope, quotients=0.5)


@pytest.mark.parametrize("slope", [np.tan(0.5), np.tan(np.pi / 8), 1.0, 0.5])
def test_the_angle_of_a_point_is_accurate_where_its_formula_changes(slope):
    x = RNG.uniform(0.5, 2, 20_000)
    y = x * slope * (1 + RNG.uniform(-1e-3, 1e-3, len(x)))
    for a, b in ((y, x), (x, y)):
        for left in (1, -1):
            check("atan2", a, left * b, quotients=0.5)
            check("atan2", -a, left * b, quotients=0.5)


def test_the_angle_of_points_on_axes_and_diagonals():
    points = {(0, 1): 0, (1, 0): 1 / 2, (-1, 0): -1 / 2, (0, -1): 1, (0, 0): 0}
    points |= {(1, 1): 1 / 4, (-1, 1): -1 / 4, (-1, -1): -3 / 4, (1, -1): 3 / 4}
    for size in (1.0, 3.7, 1e-300, 1e300):
        found = special("atan2", *((size * y, size * x) for y, x in points))
        assert np.array_equal(found, np.pi * np.array(list(points.values())))


def test_the_angle_has_no_sign_of_zero():
    assert np.array_equal(special("atan2", (-0.0, -1), (-0.0, 1), (-0.0, -0.0)), [np.pi, 0, 0])


def test_the_angle_of_huge_and_tiny_ratios():
    points = {(1e300, 1e-300): 0.5, (1e-300, 1e300): 0, (1e-300, -1e300): 1, (-1e300, 1): -0.5}
    points |= {(math.inf, 1): 0.5, (-math.inf, -5): -0.5, (3, math.inf): 0, (3, -math.inf): 1}
    found = special("atan2", *points)
    assert np.array_equal(found, np.pi * np.array(list(points.values())))
    assert special("atan2", (1e-290, 1e10))[0] == 1e-300


def test_the_angle_of_what_is_not_a_number_is_not_a_number():
    points = [(math.nan, y) for y in (0, 1, -1, math.nan)]
    assert np.isnan(special("atan2", *points, *((y, x) for x, y in points))).all()


def test_the_series_of_the_arctangent_is_that_of_taylor_near_zero():
    assert np.allclose(ATAN[:4], [-1 / 3, 1 / 5, -1 / 7, 1 / 9], rtol=1e-4)


# The exponential


def test_the_exponential_is_accurate_wherever_it_is_a_normal_number():
    check("exp", RNG.uniform(-708.39, 709.78, 100_000))
    check("exp", RNG.uniform(-1, 1, 50_000))
    check("exp", spread(1e-300, 1e-2))


def test_the_exponential_is_accurate_where_its_exponent_changes():
    halves = (np.arange(-1020, 1023) + 0.5) * np.log(2)
    check("exp", np.concatenate([halves, np.nextafter(halves, 0), halves * (1 + 1e-14)]))
    check("exp", np.arange(-700, 701) * 1.0)


def test_the_exponential_overflows_to_infinity_and_underflows_to_nothing():
    largest = math.log(np.finfo(float).max)
    found = special("exp", (largest,), (np.nextafter(largest, 800),), (1e308,), (math.inf,))
    assert np.array_equal(np.isinf(found), [False, True, True, True])
    assert np.isclose(found[0], np.finfo(float).max, rtol=1e-12)
    found = special("exp", (-708.396,), (-708.3965,), (-745.0,), (-1e308,), (-math.inf,))
    assert found[0] > LEAST
    assert np.array_equal(found[1:], np.zeros(4))


def test_the_exponential_of_special_numbers():
    assert np.array_equal(special("exp", (0.0,), (-0.0,), (5e-324,)), [1, 1, 1])
    assert np.isnan(special("exp", (math.nan,))).all()


# The hyperbolic tangent


def test_the_hyperbolic_tangent_is_accurate_for_all_numbers():
    check("tanh", RNG.uniform(-25, 25, 50_000), quotients=0.5)
    check("tanh", RNG.uniform(-1, 1, 50_000), quotients=0.5)
    check("tanh", RNG.uniform(0.4, 0.7, 50_000), quotients=0.5)
    check("tanh", spread(1e-300, 1e2), quotients=0.5)
    check("tanh", spread(0.01, 0.5), quotients=0.5)


def test_the_hyperbolic_tangent_is_accurate_where_its_exponent_changes():
    halves = (np.arange(0, 60) + 0.5) * np.log(2) / 2
    check("tanh", np.concatenate([halves, np.nextafter(halves, 0), halves * (1 + 1e-14)]))


def test_the_hyperbolic_tangent_of_special_numbers():
    found = special("tanh", (0.0,), (19.5,), (-20.0,), (25.0,), (1e308,), (math.inf,), (-math.inf,))
    assert np.array_equal(found, [0, 1, -1, 1, 1, 1, -1])
    assert np.array_equal(special("tanh", (5e-324,), (-1e-310,)), [5e-324, -1e-310])
    assert np.isnan(special("tanh", (math.nan,))).all()


def test_the_hyperbolic_tangent_never_leaves_its_range():
    x = RNG.uniform(15, 22, 100_000)
    for _, (found,) in in_all_ways(PROGRAMS["tanh"], [x]):
        assert found.max() <= 1


# All of them


@pytest.mark.parametrize("op", sorted(ELEMENTARY))
def test_what_is_written_out_is_arithmetic(op):
    assert not ELEMENTARY & set(expanded(PROGRAMS[op]).counts())
    assert expanded(expanded(PROGRAMS[op])) == expanded(PROGRAMS[op])


def test_programs_without_them_stay_as_they_are():
    plain = program_of(2, lambda g, x, y: g.emit("add", g.emit("sqrt", x), y))
    assert expanded(plain) is plain


def test_they_are_written_out_wherever_they_stand():
    nested = program_of(
        2, lambda g, x, y: (g.emit("sin", g.emit("exp", x)), g.emit("lt", x, y), g.emit("tanh", y))
    )
    x, y = RNG.uniform(-2, 2, (2, 100))
    found = interpreted(expanded(nested), [x, y])
    assert np.allclose(found[0], np.sin(np.exp(x)), rtol=1e-14)
    assert np.array_equal(found[1], x < y)
    assert np.allclose(found[2], np.tanh(y), rtol=1e-15)


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(st.sampled_from(sorted(ELEMENTARY)), st.lists(st.floats(), min_size=2, max_size=2))
def test_any_number_has_a_result_as_numpy_has_one(op, numbers):
    takes = len(OPERATIONS[op].takes)
    if op in ("sin", "cos") and not abs(numbers[0]) < 1e6:
        return
    if op == "atan2":  # within its range, and zero without a sign
        numbers = [0.0 if abs(v) < 1e-290 else v for v in numbers]
        if not max(map(abs, numbers)) < 1e290:
            return
    columns = [np.full(4, v) for v in numbers[:takes]]
    with np.errstate(all="ignore"):
        exact = EXACT[op](*columns)
    for form in FORMS:
        found = run_natively(PROGRAMS[op], columns, form)[0]
        assert np.allclose(found, exact, rtol=1e-15, atol=LEAST, equal_nan=True)
