"""Numbers in robot files: two ways to write them, and one sentence per mistake."""

import copy
import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triskele.description.quantity import Measured, Quantity

LENGTH = Quantity("m", "length", least=0.0, open_end=True, usual=(1e-3, 5.0))
LIMBS = Quantity("m", "length", "limbs")
DRIVES = Quantity("N m", "torque", "drives")
RANGE = Quantity("rad", "angle", "range")
VECTOR = Quantity("m", "position", "vector")
INERTIA = Quantity("kg m^2", "moment of inertia", "inertia")
FRACTION = Quantity("", "fraction", least=0.0, most=1.0)


def message(quantity, raw, *, from_file=True):
    """The sentence with which `quantity` refuses `raw`."""
    with pytest.raises(ValueError) as caught:
        quantity.parse(raw, from_file=from_file)
    return str(caught.value)


@given(st.floats(1e-6, 1e6))
def test_both_ways_of_writing_a_number_mean_the_same(number):
    text, table = f"{number!r} mm", {"value": number, "unit": "mm", "source": "a scale"}
    as_list = {"value": [number], "unit": "mm"}
    assert LENGTH.parse(text) == LENGTH.parse(table) == LENGTH.parse(as_list)


@given(st.lists(st.floats(-10, 10), min_size=3, max_size=3))
def test_a_list_may_carry_its_unit_once_or_at_each_number(numbers):
    once = VECTOR.parse({"value": numbers, "unit": "mm"}, from_file=True)
    each = VECTOR.parse([f"{number!r} mm" for number in numbers], from_file=True)
    assert once == each
    assert len(once) == 3


def test_one_number_holds_for_three_limbs_but_not_for_all_drives():
    assert LIMBS.parse("1 m") == (1.0, 1.0, 1.0)
    assert LIMBS.parse({"value": [1, 2, 3], "unit": "mm"}) == (0.001, 0.002, 0.003)
    assert DRIVES.parse("2 N m") == (2.0,)
    assert DRIVES.parse({"value": [1, 2, 3, 4], "unit": "N m"}) == (1.0, 2.0, 3.0, 4.0)


def test_bare_numbers_are_si_in_python_and_refused_in_files():
    assert LENGTH.parse(0.37) == 0.37
    assert FRACTION.parse(0.1, from_file=True) == 0.1
    assert message(LENGTH, 370) == '370 has no unit; write, for example, "370 m".'
    assert message(LENGTH, {"value": 370}) == '370 has no unit; write, for example, "370 m".'


def test_each_shape_says_how_many_numbers_it_wants():
    assert message(LENGTH, ["1 m", "2 m"]) == "has 2 numbers; expected one number."
    assert "three, one per limb" in message(LIMBS, ["1 m", "2 m"])
    assert "one per drive" in message(DRIVES, ["1 N m"] * 7)
    assert "least and greatest" in message(RANGE, ["1 rad"])
    assert "x, y and z" in message(VECTOR, ["1 m"])
    assert "three numbers (xx, yy, zz) or six" in message(INERTIA, ["1 kg m^2"])
    assert message(LENGTH, []) == "has 0 numbers; expected one number."


def test_a_range_must_rise():
    assert RANGE.parse(["-46 deg", "100 deg"]) == pytest.approx((-0.8028515, 1.7453293))
    sentence = "the range is inverted or empty: 1 rad is not below -1 rad."
    assert message(RANGE, ["1 rad", "-1 rad"]) == sentence


def test_a_negative_length_is_asked_about():
    sentence = "-0.3 m is not a length. It must be positive; did you mean 0.3 m?"
    assert message(LENGTH, "-300 mm") == sentence
    assert message(LENGTH, "0 m") == "0 m is not a length. It must be positive."
    assert "It must be at least 0; did you mean" in message(FRACTION, -0.1)
    assert message(FRACTION, 1.5) == "1.5 is too large: a fraction is at most 1."


def test_numbers_must_be_finite():
    assert message(LENGTH, {"value": math.nan, "unit": "m"}) == "nan m is not a finite number."
    assert message(LENGTH, {"value": -math.inf, "unit": "m"}) == "-inf m is not a finite number."
    assert message(LENGTH, math.nan, from_file=False) == "nan m is not a finite number."
    assert message(LENGTH, {"value": 10**400, "unit": "m"}) == "inf m is not a finite number."
    assert message(LENGTH, 10**400) == "the number is too large for a length."


def test_what_is_no_number_is_named():
    assert message(LENGTH, True) == 'True is not a length; write, for example, "0.5 m".'
    assert message(LENGTH, [["1 m"]]) == "['1 m'] is not a length; write, for example, \"0.5 m\"."
    assert "such as '0.5 m'" in message(LENGTH, "long")


def test_units_are_checked():
    assert "'kg' is not a unit of this quantity" in message(LENGTH, "3 kg")
    assert "Did you mean 'mm'?" in message(LENGTH, {"value": 3, "unit": "mmm"})
    sentence = 'the unit must be text, such as "m", not 3.'
    assert message(LENGTH, {"value": 3, "unit": 3}) == sentence


def test_a_table_needs_a_value_and_nothing_unknown():
    assert message(LENGTH, {"unit": "mm"}) == (
        'is a table without a value; write { value = ..., unit = "m", source = "..." }.'
    )
    assert message(LENGTH, {"value": 1, "units": "mm"}).endswith("(unknown: units).")


def test_a_strange_size_is_suspicious_but_allowed():
    assert LENGTH.parse("370 m") == 370.0
    remark = "370 m is a strange length; usual is 0.001 to 5 m. Is the unit right?"
    assert LENGTH.suspicious(370.0) == remark
    assert LENGTH.suspicious((0.2, 370.0)) == remark
    assert LENGTH.suspicious((0.2, 0.0)) is None


# Two kinds of joints

SPEED = Quantity(
    "rad/s", "speed", "drives", least=0.0, open_end=True, usual=(0.01, 200), sliding="m/s"
)
RANGES = Quantity("rad", "angle", "ranges")


def units(values):
    return [getattr(value, "unit", None) for value in values]


def test_a_number_of_a_drive_keeps_the_unit_of_its_kind_of_joint():
    mixed = SPEED.parse(["500 mm/s", "90 deg/s"], from_file=True)
    assert mixed == pytest.approx((0.5, math.pi / 2))
    assert units(mixed) == ["m/s", "rad/s"]
    assert units(SPEED.parse({"value": [1, 2], "unit": "mm/s"}, from_file=True)) == ["m/s"] * 2
    assert units(SPEED.parse((1.0, 2.0))) == [None, None]  # in Python: whichever fits
    assert SPEED.parse(mixed) == mixed
    assert units(SPEED.parse(mixed)) == ["m/s", "rad/s"]


def test_a_third_kind_of_unit_is_refused_and_both_are_named():
    assert message(SPEED, "5 kg").endswith("which is measured in rad/s or m/s.")
    assert message(SPEED, "-5 mm/s").startswith("-0.005 m/s is not a speed.")
    assert message(SPEED, 5) == '5 has no unit; write, for example, "5 rad/s".'


def test_units_that_do_not_fit_the_joint_are_told():
    turned, slid = SPEED.parse(["1 rad/s", "1 m/s"])
    assert SPEED.misfit(turned, sliding=True) == ("rad/s", "m/s")
    assert SPEED.misfit(slid, sliding=False) == ("m/s", "rad/s")
    assert SPEED.misfit(slid, sliding=True) is SPEED.misfit(turned, sliding=False) is None
    assert SPEED.misfit(1.0, sliding=True) is SPEED.misfit(1.0, sliding=False) is None
    assert LENGTH.misfit(1.0, sliding=True) is None


def test_what_is_usual_is_said_of_turning_joints():
    assert "strange speed" in SPEED.suspicious(SPEED.parse("1 deg/s") * 2 + (1e-4,))
    assert SPEED.suspicious(SPEED.parse("1 mm/s")) is None


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))]
)
def test_copies_keep_their_unit(again):
    value = Measured(3.0, "m/s")
    assert again(value) == 3.0
    assert again(value).unit == "m/s"
    assert type(value * 2) is float


def test_ranges_are_one_for_all_or_one_each():
    one = (0.0, math.pi)
    assert RANGES.parse("[0, 180] deg", from_file=True) == pytest.approx(one)
    assert RANGES.parse({"value": [0, 180], "unit": "deg"}, from_file=True) == pytest.approx(one)
    assert RANGES.parse(["[0, 180] deg"], from_file=True) == pytest.approx(one)
    for raw in (
        ["[0, 180] deg", "[1, 2] rad"],
        {"value": [[0, math.pi], [1, 2]], "unit": "rad"},
        {"value": ["[0, 180] deg", "[1, 2] rad"]},
    ):
        found = RANGES.parse(raw, from_file=True)
        assert found[0] == pytest.approx(one)
        assert found[1] == (1.0, 2.0)
    assert RANGES.parse([[0.0, 1.0], (1.0, 2.0)]) == ((0.0, 1.0), (1.0, 2.0))
    assert "inverted or empty" in message(RANGES, ["[0, 1] rad", "[2, 1] rad"])
    assert "7 ranges" in message(RANGES, ["[0, 1] rad"] * 7)
    assert "least and greatest" in message(RANGES, {"value": [[0, 1, 2]], "unit": "rad"})
