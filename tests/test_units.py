"""Units at the border: products, exact factors, and sentences for what cannot be read."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triskele.errors import UnitError
from triskele.units import factor, parse_unit, read_quantity, same_dimension, to_si

SI = ["m", "kg", "s", "A", "K", "rad", "N m s/rad", "kg m^2", "rad/s^3", "N/m", "Pa", "1/s", ""]
COMMON = ["mm", "in", "um", "g", "t", "deg", "rev", "ms", "min", "kN", "GPa", "bar", "mA", "%"]
UNITS = st.sampled_from([*SI[:-1], *COMMON, "deg/s^2", "rpm", "N mm/deg", "kg/m^3"])
NUMBERS = st.floats(-1e12, 1e12).filter(lambda x: x == 0 or abs(x) > 1e-12)


@given(NUMBERS, st.sampled_from(SI))
def test_a_number_written_in_si_is_read_back_bit_by_bit(number, unit):
    assert to_si(number, unit, unit) == number
    assert read_quantity(f"{number!r} {unit}", unit) == number


@given(NUMBERS, UNITS)
def test_reading_is_multiplying_by_the_factor(number, unit):
    si = _si_text(parse_unit(unit).dimension)
    assert read_quantity(f"{number!r} {unit}", si) == pytest.approx(
        number * factor(unit), rel=1e-14
    )


@given(UNITS, st.sampled_from(COMMON))
def test_units_multiply_and_divide_as_their_factors_do(a, b):
    first, second = parse_unit(a), parse_unit(b)
    product, quotient = parse_unit(f"{a} {b}"), parse_unit(f"{a}/{b}")
    assert product == parse_unit(f"{b}·{a}") == parse_unit(f"{b} * {a}")
    assert product.ratio == first.ratio * second.ratio
    assert quotient.ratio == first.ratio / second.ratio
    pairs = zip(first.dimension, second.dimension, strict=True)
    assert quotient.dimension == tuple(p - q for p, q in pairs)


@given(NUMBERS, UNITS)
def test_to_si_and_back_is_the_number_itself(number, unit):
    si = _si_text(parse_unit(unit).dimension)
    assert to_si(to_si(number, unit, si), si, unit) == pytest.approx(number, rel=1e-14)


@given(st.text(max_size=20))
def test_any_text_is_a_quantity_or_a_unit_error(text):
    try:
        read_quantity(text, "m")
    except UnitError as error:
        assert str(error).endswith((".", "?"))


def test_factors_are_exact_as_people_expect_them():
    assert to_si(1106, "mm", "m") == 1.106
    assert to_si(0.1, "m", "m") == 0.1
    assert read_quantity("12 in", "m") == 0.3048
    assert read_quantity("400 us", "s") == 400e-6
    assert read_quantity("400 µs", "s") == 400e-6
    assert read_quantity("10 %", "") == 0.1


def test_angles_are_multiples_of_pi():
    assert read_quantity("180 deg", "rad") == math.pi
    assert read_quantity("6000 rpm", "rad/s") == pytest.approx(200 * math.pi, rel=1e-15)
    assert read_quantity("200 rev/m", "rad/m") == pytest.approx(400 * math.pi, rel=1e-15)
    assert to_si(math.pi, "rad", "deg") == pytest.approx(180, rel=1e-15)


def test_a_slash_divides_by_the_one_unit_that_follows():
    assert parse_unit("N m/rad s") == parse_unit("N m s/rad")
    assert parse_unit("m/s/s") == parse_unit("m/s^2") == parse_unit("m s^-2") == parse_unit("m/s²")


def test_the_angle_is_a_dimension_of_its_own():
    assert not same_dimension(["N m", "N m/rad"])
    assert same_dimension(["N m", "J", "kg m^2/s^2"])
    with pytest.raises(UnitError, match=r"'N m' is not a unit of this .* measured in N m/rad\."):
        read_quantity("5 N m", "N m/rad")


def test_a_plain_number_is_not_a_length():
    with pytest.raises(UnitError, match=r"'5' has no unit; write, for example, '5 m'\."):
        read_quantity("5", "m")
    assert read_quantity("5", "") == 5.0
    with pytest.raises(UnitError, match="measured in plain numbers"):
        read_quantity("5 m", "")


def test_an_unknown_unit_is_named_with_its_likeliest_meaning():
    with pytest.raises(UnitError, match=r"unit 'mmm': 'mmm' is not a unit. Did you mean 'mm'\?"):
        read_quantity("5 mmm", "m")
    with pytest.raises(UnitError, match="'m!' is not a unit"):
        parse_unit("m!")


def test_text_without_a_number_is_refused_with_an_example():
    with pytest.raises(UnitError, match=r"'about 5 m' .* such as '0.5 m'\."):
        read_quantity("about 5 m", "m")


def test_numbers_beyond_floats_are_infinite_and_never_hang():
    assert to_si("1e-999999999", "mm", "m") == 0.0
    assert to_si("1e999999999", "mm", "m") == math.inf
    assert to_si(10**400, "mm", "m") == to_si(1e308, "km", "m") == math.inf
    assert math.isnan(to_si(math.nan, "mm", "m"))
    with pytest.raises(UnitError, match=r"'mm\^999999999' is not a unit"):
        parse_unit("mm^999999999")


def _si_text(dimension):
    """A unit text for a dimension, such as `m^1 s^-2`."""
    names = ("m", "kg", "s", "A", "K", "rad")
    return " ".join(f"{n}^{p}" for n, p in zip(names, dimension, strict=True) if p)
