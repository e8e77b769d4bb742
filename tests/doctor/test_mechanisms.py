"""Rules on mechanism files, on the template of a five-bar."""

import re

import pytest

from triskele.description import catalogue
from triskele.description.load import parse_any
from triskele.doctor.mechanisms import mechanism_remarks, scale_of

FIVE_BAR = catalogue.template("mechanism")


def remarks(*changes, add=""):
    """What is said of the template with patterns replaced, once each, and with text at its end."""
    text = FIVE_BAR
    for pattern, new in changes:
        text, count = re.subn(pattern, new, text, count=1)
        assert count == 1
    return list(mechanism_remarks(parse_any(text + add)))


def test_the_scale_is_that_of_the_longest_body_and_all_masses():
    scale = scale_of(parse_any(FIVE_BAR))
    assert scale.size == pytest.approx(0.18)  # a coupler
    assert scale.mass == pytest.approx(2 * 0.3 + 2 * 0.2)
    assert scale.weight == pytest.approx(9.81)


SPRING = """
[springs.tie]
parent = "ground"
child = "left_crank"
stiffness = "{} N/m"
length = "{} mm"
"""


@pytest.mark.parametrize(
    ("stiffness", "length", "told"),
    [
        (1e3, 100, None),
        (1e11, 100, "bodies swing at"),  # on 1 kg and 0.2 kg: 50 and 110 kHz
        (1e-6, 100, "bodies swing at 0."),
        (1e3, 1e4, "springs.tie.length: 10 m"),
        (1e3, 0.1, "springs.tie.length: 0.0001 m"),
    ],
)
def test_springs_swing_as_machines_do_and_are_as_long_as_they(stiffness, length, told):
    found = remarks(add=SPRING.format(stiffness, length))
    assert (found == []) if told is None else any(told in text for text in found), found


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ((r"\[0, -9.81, 0\]", "[0, -3.71, 0]"), "as on Mars"),
        ((r'mass           = "0.30 kg"', 'mass = "300 kg"'), "radius|within|500|beside"),
        ((r"value = \[60, 0, 0\]", "value = [600, 0, 0]"), "outside its joints"),
        ((r"value = \[50, 0, 0\], unit = .mm.", 'value = [9, 0, 0], unit = "m"'), "9 m away"),
    ],
)
def test_a_body_that_cannot_be_is_spoken_of(change, told):
    assert remarks() == []
    assert any(re.search(told, text) for text in remarks(change))


def test_a_body_without_a_joint_falls():
    loose = "[bodies.loose]\nmass = '0.3 kg'\ninertia = '[1e-4, 1e-4, 1e-4] kg m^2'\n"
    assert remarks(add=loose) == ["bodies.loose: no joint holds it, and it falls."]
