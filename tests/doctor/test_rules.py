"""Rules of the doctor at their borders, on the template of a Delta and a few robots."""

import re

import pytest

from triskele.description import catalogue
from triskele.description.load import parse
from triskele.doctor.bodies import body_remarks
from triskele.doctor.case import case_of
from triskele.doctor.drives import drive_remarks
from triskele.doctor.elastic import elastic_remarks
from triskele.doctor.limits import limit_remarks, strange_gravity
from triskele.doctor.robots import holding
from triskele.errors import DescriptionError
from triskele.kinematics.build import build
from triskele.numerics import stacked

DELTA, PRS = catalogue.template("delta"), catalogue.text("compliant_3prs")


def case(text, *changes):
    """The template with lines changed, as rules see it."""
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    robot = parse(text)
    mechanism = build(robot)
    x = stacked(mechanism.home())
    return case_of(robot, mechanism, x, mechanism.inverse(x).value)


def with_line(section, line):
    """A change that adds a line to a section of the template."""
    return (f"[{section}]", f"[{section}]\n{line}")


def test_the_weight_of_a_delta_is_that_of_its_bodies_and_its_payload():
    # Three arms, three pairs of rods, a platform and a box.
    mass = 3 * 1.2 + 6 * 0.12 + 0.8 + 0.5
    assert case(DELTA).moving_mass == pytest.approx(mass)
    assert case(DELTA).weight == pytest.approx(9.81 * mass)


def test_motors_that_just_hold_a_delta_at_home_and_those_that_do_not():
    from triskele.dynamics.inverse import inverse_dynamics
    from triskele.dynamics.robot import rigid

    here = case(DELTA)
    still = 0 * here.x
    loaded = rigid(here.robot, "box")
    need = float(abs(stacked(inverse_dynamics(loaded, here.x, still, still))).max())
    for factor, silent in ((1.01, True), (0.99, False)):
        torque = f'"{factor * need / 20:.6f} N m"'
        found = list(holding(case(DELTA, ('"6 N m"', torque))))
        assert (found == []) == silent
    assert "to hold payloads.box at home" in found[0]


def test_the_static_torque_is_that_of_the_principle_of_virtual_work():
    # Arms level at home: each holds its own first moment and a third of what hangs on its wrist.
    found = list(holding(case(DELTA, ('"6 N m"', '"0.01 N m"'))))
    need = float(re.search(r"needs ([\d.]+) N m", found[0])[1])
    here = case(DELTA)
    assert here.q == pytest.approx([0, 0, 0])
    d, run = 0.7, 0.2 + 0.3 - 0.05
    rise = (d * d - run * run) ** 0.5
    # dz = -L dq at level arms; a pair of rods moves by half of elbow and half of wrist.
    platform, rods, arm = 0.8 / 3, 2 * 0.12, 1.2
    wrist = 9.81 * (platform + rods / 2) * 0.3
    elbow = 9.81 * rods / 2 * 0.3
    assert rise > 0
    assert need == pytest.approx(wrist + elbow + 9.81 * arm * 0.12, rel=2e-3)


@pytest.mark.parametrize(
    "g, told",
    [(9.81, None), (0.0, None), (1.62, "the Moon"), (3.71, "Mars"), (981.0, "it is 9.81")],
)
def test_gravity_of_other_bodies_is_named(g, told):
    found = list(strange_gravity((0.0, 0.6 * g, -0.8 * g)))
    assert (found == []) if told is None else told in found[0]


def test_azimuths_are_compared_on_the_circle():
    for angles in ("[0, 360, 120]", "[0, 120, -240]", "[359.99, 120, 0]"):
        text = DELTA.replace("[geometry]", f'[geometry]\nazimuth = "{angles} deg"')
        with pytest.raises(DescriptionError, match="the same azimuth"):
            parse(text)
    parse(DELTA.replace("[geometry]", '[geometry]\nazimuth = "[0, 355, 120] deg"'))


LOOP = "[control]\nsource = 'x'\nvelocity_gain = '{} A s/rad'\nposition_gain = '50 1/s'\n"


@pytest.mark.parametrize("gain, silent", [(0.0174, True), (0.0171, False)])
def test_a_position_loop_is_slower_than_its_velocity_loop(gain, silent):
    # w_v = k_P k_t / J with J of the rotor, 1e-4, and of the arm through a gear of 20,
    # (0.012 + 1.2 0.12^2) / 400 = 7.32e-5: 50 1/s at k_P = 50 1.732e-4 / 0.5 = 0.01732.
    constant = with_line("motors.drives", 'torque_constant = "0.5 N m/A"')
    found = list(drive_remarks(case(DELTA + LOOP.format(gain), constant)))
    assert any("position loop" in text for text in found) != silent


def test_sound_in_carbon_steel_and_in_what_is_neither():
    metal = (
        "[materials.a]\nsource = 'x'\nyoung_modulus = '{}'\npoisson_ratio = 0.3\ndensity = '{}'\n"
    )
    for modulus, density, told in (
        ("210 GPa", "7850 kg/m^3", None),
        ("120 GPa", "1600 kg/m^3", None),
        ("210 MPa", "7850 kg/m^3", "at 164 m/s"),
        ("210 GPa", "7.85 kg/m^3", "at 1.64e+05 m/s"),
        ("1050 GPa", "3500 kg/m^3", None),  # diamond
    ):
        found = [t for t in elastic_remarks(case(DELTA + metal.format(modulus, density)))]
        assert found == [] if told is None else told in " ".join(found)


def test_a_poisson_ratio_from_the_moduli_is_said():
    steel = "[materials.a]\nsource = 'x'\nyoung_modulus = '210 GPa'\nshear_modulus = '{} GPa'\n"
    steel += "density = '7850 kg/m^3'\n"
    assert list(elastic_remarks(case(DELTA + steel.format(80.8)))) == []
    (remark,) = elastic_remarks(case(DELTA + steel.format(210)))
    assert "its Poisson ratio would be -0.5" in remark


@pytest.mark.parametrize(
    "rules, change, told",
    [
        (limit_remarks, ('"350 mm"', '"5 m"'), "the legs reach 0 % of the rim"),
        (limit_remarks, ("[-0.75, -0.55]", "[0.55, 0.75]"), "on the other side of the base"),
        (limit_remarks, ('rod_tilt           = "40 deg"', 'rod_tilt = "0.01 deg"'), "cannot leave"),
        (limit_remarks, ("margin             = 0.1", "margin = 1"), "keeps 100 %"),
        (limit_remarks, ('"80 mm"', '"800 mm"'), "more than the rods are long"),
        (
            body_remarks,
            ('mass           = "0.5 kg"', 'mass = "150 kg"'),
            "on a robot of which 5.12",
        ),
        (drive_remarks, ('peak_torque   = "6 N m"', 'peak_torque = "6 kN m"'), "Which unit"),
        (drive_remarks, ('coulomb = "2 N m"', 'coulomb = "100 N m"'), "of the 120 N m"),
        (drive_remarks, ('"5000 rpm"', '"50 rpm"'), "never comes to the joint_speed"),
        (
            drive_remarks,
            ('"1e6 deg/s^3"', '"1e3 deg/s^3"'),
            "comes to its joint_acceleration in 10",
        ),
    ],
)
def test_a_rule_says_what_it_judged_by(rules, change, told):
    assert list(rules(case(DELTA))) == []
    assert told in " ".join(rules(case(DELTA, change)))
