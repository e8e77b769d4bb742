"""Flexures from their shape: integrals, limits, numbers by hand, files, and what is refused."""

import math
import re
from importlib.resources import files

import numpy as np
import pytest
from scipy.integrate import quad

from triskele.description.load import load, parse
from triskele.description.schema import CylinderHinge, Material, NotchHinge
from triskele.dynamics.robot import rigid
from triskele.errors import DescriptionError, InputError, MissingFact
from triskele.kinematics.build import build
from triskele.laws.flexures import (
    cylinder_stiffness,
    flexure_stiffness,
    notch_stiffness,
    shear_modulus,
    yielding,
)

ALUMINIUM = Material(young_modulus=72e9, density=2810, shear_modulus=27e9, yield_strength=500e6)
TEXT = (files("triskele.description") / "robots/compliant_3prs.toml").read_text()
HINGES = """
[flexures]
source = "drawing"
revolute = { material = "aluminium", width = "30 mm", thickness = "1 mm", radius = "4 mm" }
spherical = { material = "aluminium", diameter = "2 mm", length = "10 mm" }

[materials.aluminium]
source         = "data sheet"
young_modulus  = "72 GPa"
shear_modulus  = "27 GPa"
density        = "2810 kg/m^3"
yield_strength = "500 MPa"

"""


def notch(t, R, b=0.01):
    return NotchHinge(material="aluminium", width=b, thickness=t, radius=R)


def cylinder(d, l):
    return CylinderHinge(material="aluminium", diameter=d, length=l)


def with_hinges(hinges=HINGES):
    """The shipped robot, its stiffness replaced."""
    start, end = TEXT.index("[flexures]"), TEXT.index("# Maxon RE-40")
    return TEXT[:start] + hinges + TEXT[end:]


# Laws


@pytest.mark.parametrize("t_over_R", [0.01, 0.1, 0.3, 0.5, 0.99])
def test_closed_form_is_the_integral_over_the_neck(t_over_R):
    R, b = 3e-3, 8e-3
    t = t_over_R * R

    def compliance(p):
        return math.cos(p) / (t + 2 * R * (1 - math.cos(p))) ** 3

    # Almost all of it lies within sqrt(t / R) of the middle.
    peak = min(10 * math.sqrt(t_over_R), math.pi / 2)
    whole = sum(
        quad(compliance, *ends, epsabs=0, epsrel=1e-12, limit=200)[0]
        for ends in ((0, peak / 5), (peak / 5, peak), (peak, math.pi / 2))
    )
    k = ALUMINIUM.young_modulus * b / (12 * R * 2 * whole)
    assert notch_stiffness(notch(t, R, b), ALUMINIUM) == pytest.approx(k, rel=1e-10)


def test_thin_necks_are_those_of_paros_and_weisbord():
    """The difference is of first order in t / R: a tenth of t, a tenth of it."""
    R, b, off = 5e-3, 10e-3, []
    for t in (1e-4, 1e-5, 1e-6):
        k = notch_stiffness(NotchHinge.model_construct(width=b, thickness=t, radius=R), ALUMINIUM)
        off.append(k / (2 * 72e9 * b * t**2.5 / (9 * math.pi * R**0.5)) - 1)
    assert abs(off[2]) < 1e-3
    assert off[0] / off[1] == pytest.approx(10, rel=0.1)
    assert off[1] / off[2] == pytest.approx(10, rel=0.1)


def test_a_notch_scales_as_a_beam():
    """Twice as wide is twice as stiff; all lengths doubled, eight times."""
    k = notch_stiffness(notch(5e-4, 3e-3), ALUMINIUM)
    assert notch_stiffness(notch(5e-4, 3e-3, 0.02), ALUMINIUM) == pytest.approx(2 * k)
    assert notch_stiffness(notch(1e-3, 6e-3, 0.02), ALUMINIUM) == pytest.approx(8 * k)


def test_materials_have_one_shear_modulus():
    steel = Material(young_modulus=210e9, density=7850, poisson_ratio=0.3)
    assert shear_modulus(steel) == pytest.approx(80.769e9, rel=1e-5)
    assert shear_modulus(ALUMINIUM) == 27e9


# By hand


def test_a_cylinder_by_hand():
    # pi d^4 / 64 = 7.853982e-13 m^4 for d = 2 mm; over 10 mm 72 GPa and twice 27 GPa.
    bending, torsion = cylinder_stiffness(cylinder(2e-3, 10e-3), ALUMINIUM)
    assert bending == pytest.approx(5.654867, rel=1e-6)
    assert torsion == pytest.approx(4.241150, rel=1e-6)


def test_yield_angles_by_hand():
    """Bending: a curvature 2 sigma / (E d) over the length; torsion by von Mises."""
    found = {(item.flexure, item.motion): item for item in yielding(parse(with_hinges()))}
    assert found["spherical", "bending"].angle == pytest.approx(
        2 * 500e6 / 72e9 / 2e-3 * 10e-3, rel=1e-12
    )
    assert found["spherical", "torsion"].angle == pytest.approx(
        500e6 / math.sqrt(3) / 27e9 / 1e-3 * 10e-3, rel=1e-12
    )
    # M = 500 MPa 30 mm (1 mm)^2 / 6 / (1.125)^0.45 = 2.3710 N m at the neck of 1 mm in R = 4 mm.
    revolute = found["revolute", "bending"]
    assert revolute.angle * revolute.stiffness == pytest.approx(2.37096, rel=1e-5)
    assert revolute.stress * revolute.angle == pytest.approx(500e6)


def test_without_a_strength_no_angle_is_known():
    text = with_hinges(HINGES.replace('yield_strength = "500 MPa"', ""))
    assert {item.angle for item in yielding(parse(text))} == {None}
    assert all(item.stress > 0 for item in yielding(parse(text)))


# Files


def test_a_file_may_give_hinges_in_the_place_of_stiffness():
    robot = parse(with_hinges())
    kr = notch_stiffness(notch(1e-3, 4e-3, 30e-3), ALUMINIUM)
    found = flexure_stiffness(robot)
    assert found == pytest.approx((kr, 5.654867, 4.241150), rel=1e-6)
    springs = rigid(robot).springs
    names = [c.name for c in rigid(robot).mechanism.passive_coordinates]
    k = {name: float(s.stiffness) for name, s in zip(names, springs, strict=True)}
    rest = {name: float(s.rest) for name, s in zip(names, springs, strict=True)}
    for limb in "123":
        assert k[f"alpha_{limb}"] == pytest.approx(kr)
        assert k[f"beta_m{limb}"] == k[f"beta_n{limb}"] == pytest.approx(5.654867, rel=1e-6)
        assert k[f"beta_l{limb}"] == pytest.approx(4.241150, rel=1e-6)
        assert rest[f"alpha_{limb}"] == pytest.approx(math.pi / 4)
        assert rest[f"beta_m{limb}"] == 0


def test_a_stated_stiffness_counts_before_the_shape():
    stated = HINGES.replace(
        'source = "drawing"', 'source = "drawing"\nspherical_torsion = "9 N m/rad"'
    )
    robot = parse(with_hinges(stated))
    found = flexure_stiffness(robot)
    assert found.spherical_torsion == 9
    assert found.spherical_bending == pytest.approx(5.654867, rel=1e-6)
    twisted = next(item for item in yielding(robot) if item.motion == "torsion")
    assert twisted.stress == pytest.approx(math.sqrt(3) * 16 * 9 / (math.pi * 2e-3**3))


def test_stated_stiffness_comes_back_as_it_is():
    assert flexure_stiffness(load("compliant_3prs")) == (98.37, 32.665, 24.46)
    assert yielding(load("compliant_3prs")) == ()


def test_a_robot_without_flexures_has_no_springs():
    robot = load("compliant_3prs").model_copy(update={"flexures": None})
    assert flexure_stiffness(robot) is None
    assert set(rigid(robot).springs) == {None}
    with pytest.raises(MissingFact, match="compliant_3prs has no 'flexures'"):
        yielding(robot)


# Refused


@pytest.mark.parametrize("t", [4e-3, 5e-3])
def test_a_thick_neck_is_refused(t):
    text = with_hinges(HINGES.replace('thickness = "1 mm"', f'thickness = "{t} m"'))
    with pytest.raises(InputError, match=r"flexures\.revolute: a neck of .* radius 4 mm"):
        rigid(parse(text))


def test_a_stubby_cylinder_is_refused():
    text = with_hinges(HINGES.replace('length = "10 mm"', 'length = "1.9 mm"'))
    with pytest.raises(InputError, match=r"flexures\.spherical: a cylinder of 1\.9 mm"):
        rigid(parse(text))


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ('revolute = { material = "aluminium"', 'revolute = { material = "tin"', "revolute"),
        ('spherical = { material = "aluminium"', 'spherical = { material = "tin"', "spherical"),
    ],
)
def test_a_material_that_is_not_there_is_named(old, new, place):
    with pytest.raises(DescriptionError, match=rf"flexures\.{place}\.material: 'tin'.*materials"):
        parse(with_hinges(HINGES.replace(old, new)))


@pytest.mark.parametrize("key", ["revolute_bending", "spherical_bending", "spherical_torsion"])
@pytest.mark.parametrize("value", ["0 N m/rad", "-3 N m/rad"])
def test_stiffness_that_is_not_positive_is_refused(key, value):
    text, count = re.subn(rf'({key}\s*=\s*)"[^"]*"', rf'\1"{value}"', TEXT)
    assert count == 1
    with pytest.raises(DescriptionError, match=rf"flexures\.{key}"):
        parse(text)


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("revolute_bending", r"give revolute_bending, or .*\[flexures\.revolute\]"),
        ("spherical_bending", r"spherical_bending and spherical_torsion, or .*\[flexures\.spher"),
        ("spherical_torsion", r"spherical_bending and spherical_torsion, or .*\[flexures\.spher"),
    ],
)
def test_neither_stiffness_nor_shape_is_refused(key, told):
    text = re.sub(rf"{key}\s*=.*\n", "", TEXT)
    with pytest.raises(DescriptionError, match=told):
        build(parse(text))


def test_stiffness_grows_with_thickness_throughout():
    t = np.linspace(1e-4, 2.99e-3, 50)
    k = [notch_stiffness(notch(each, 3e-3), ALUMINIUM) for each in t]
    assert (np.diff(k) > 0).all()
