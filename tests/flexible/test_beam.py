"""Sections and materials: numbers that textbooks print, and those of a bar by hand."""

import numpy as np
import pytest

from triskele.description.schema import CrossSection, Material
from triskele.flexible.beam import beam, shear_modulus, thickness, torsion_constant

STEEL = Material(young_modulus=210e9, poisson_ratio=0.3, density=7800)
RIGID_ACROSS = Material(young_modulus=210e9, poisson_ratio=0.0, density=7800)


def rectangle(width, height, **rest):
    return CrossSection(shape="rectangle", material="steel", width=width, height=height, **rest)


def tube(outer, inner=0.0, **rest):
    return CrossSection(
        shape="tube", material="steel", outer_radius=outer, inner_radius=inner, **rest
    )


def custom(**rest):
    return CrossSection(
        shape="custom",
        material="steel",
        area=6e-4,
        second_moment_y=4.5e-8,
        second_moment_z=2e-8,
        torsion_constant=5e-8,
        **rest,
    )


# Torsion


def test_a_square_resists_torsion_by_saint_venants_constant():
    a = 0.02
    assert torsion_constant(rectangle(a, a)) / a**4 == pytest.approx(0.1405770, abs=5e-8)


@pytest.mark.parametrize(
    ("ratio", "factor"),
    [(1.2, 0.166), (1.5, 0.196), (2, 0.229), (2.5, 0.249), (3, 0.263), (5, 0.291), (10, 0.312)],
)
def test_rectangles_resist_torsion_as_in_the_table_of_timoshenko_and_goodier(ratio, factor):
    """Theory of Elasticity, section on rectangular bars: J / (a b^3), printed to three places."""
    b = 0.01
    found = torsion_constant(rectangle(b, ratio * b))
    assert found / (ratio * b**4) == pytest.approx(factor, abs=6e-4)
    assert torsion_constant(rectangle(ratio * b, b)) == found


def test_a_thin_strip_has_a_third_less_its_ends():
    """J = a b^3 / 3 (1 - 0.63025 b/a)."""
    a, b = 0.1, 1e-4
    third = torsion_constant(rectangle(a, b)) / (a * b**3)
    assert third == pytest.approx((1 - 0.63025 * b / a) / 3, rel=1e-8)


def test_torsion_of_a_rectangle_solves_prandtls_equation():
    """Laplace F = -2, F = 0 around, J = 2 int F: sines in both directions, a 3-to-2 section."""
    a, b = 0.03, 0.02
    m = np.arange(1, 400, 2)
    k = (m[:, None] * np.pi / a) ** 2 + (m[None, :] * np.pi / b) ** 2
    J = 2 * np.sum(2 * 16 / (np.pi**2 * np.outer(m, m)) / k * 4 * a * b / np.outer(m, m) / np.pi**2)
    assert torsion_constant(rectangle(a, b)) == pytest.approx(J, rel=1e-6)


def test_the_polar_rule_takes_the_polar_moment_instead():
    a, b = 0.02, 0.03
    polar = a * b * (a * a + b * b) / 12
    assert torsion_constant(rectangle(a, b, torsion_rule="polar")) == pytest.approx(polar)
    assert torsion_constant(rectangle(a, b)) < polar


@pytest.mark.parametrize("rule", ["polar", "saint-venant"])
def test_of_a_tube_both_rules_are_one(rule):
    found = torsion_constant(tube(0.008, 0.007, torsion_rule=rule))
    assert found == pytest.approx(np.pi / 2 * (0.008**4 - 0.007**4))


def test_a_constant_that_is_given_is_taken():
    assert torsion_constant(rectangle(0.02, 0.03, torsion_constant=1e-9)) == 1e-9
    assert torsion_constant(custom()) == 5e-8


# Stiffness and mass


def test_a_bar_has_its_numbers_by_hand():
    """20 mm along y and 30 mm along z: stiffer against w, which bends it in z."""
    b, h, E, rho = 0.02, 0.03, 210e9, 7800
    bar = beam(rectangle(b, h), STEEL)
    I_y, I_z = b * h**3 / 12, h * b**3 / 12
    G = E / 2.6
    assert float(bar.axial) == pytest.approx(E * b * h)
    assert float(bar.bending_y) == pytest.approx(E * I_y)
    assert float(bar.bending_z) == pytest.approx(E * I_z)
    assert float(bar.torsion) == pytest.approx(G * 0.19576 * h * b**3, rel=1e-4)
    assert float(bar.mass) == pytest.approx(rho * b * h)
    np.testing.assert_allclose(bar.rotary, [rho * (I_y + I_z), rho * I_y, rho * I_z])
    np.testing.assert_allclose(bar.reach, [b / 2, h / 2])
    assert float(bar.young_modulus) == E
    assert not bar.round


def test_a_tube_has_its_numbers_by_hand():
    R, r = 0.008, 0.007
    pipe = beam(tube(R, r), STEEL)
    second = np.pi / 4 * (R**4 - r**4)
    assert float(pipe.axial) == pytest.approx(210e9 * np.pi * (R * R - r * r))
    assert float(pipe.bending_y) == float(pipe.bending_z) == pytest.approx(210e9 * second)
    assert float(pipe.torsion) == pytest.approx(210e9 / 2.6 * 2 * second)
    np.testing.assert_allclose(pipe.rotary, 7800 * second * np.array([2, 1, 1]))
    np.testing.assert_allclose(pipe.reach, [R, R])
    assert pipe.round


def test_a_custom_section_is_what_it_says():
    """Its farthest fibres are those of a rectangle of the same area and moments: 20 x 30 mm."""
    bar = beam(custom(), STEEL)
    assert float(bar.axial) == pytest.approx(210e9 * 6e-4)
    assert float(bar.bending_y) == pytest.approx(210e9 * 4.5e-8)
    assert float(bar.bending_z) == pytest.approx(210e9 * 2e-8)
    assert float(bar.torsion) == pytest.approx(210e9 / 2.6 * 5e-8)
    np.testing.assert_allclose(bar.reach, np.array([10e-3, 15e-3]))
    assert not bar.round


def test_shear_modulus_is_given_or_follows_from_poissons_ratio():
    given = Material(young_modulus=210e9, shear_modulus=80e9, density=7800)
    assert shear_modulus(given) == 80e9
    assert shear_modulus(STEEL) == pytest.approx(80.769231e9)


@pytest.mark.parametrize(
    ("section", "material", "factor"),
    [
        (rectangle(0.02, 0.03), RIGID_ACROSS, 5 / 6),
        (rectangle(0.02, 0.03), STEEL, 13 / 15.3),
        (tube(0.01), STEEL, 7.8 / 8.8),  # a solid circle, 6 (1 + nu) / (7 + 6 nu)
        (tube(0.01, 0.01 * (1 - 1e-7)), STEEL, 2.6 / 4.9),  # thin, 2 (1 + nu) / (4 + 3 nu)
        (tube(0.01, 0.005), STEEL, 7.8 * 1.5625 / (8.8 * 1.5625 + 23.6 * 0.25)),
        (custom(), STEEL, 5 / 6),
    ],
)
def test_shear_factors_are_those_of_cowper(section, material, factor):
    """Cowper 1966, Table 1; a solid rectangle, circle, thin and thick tubes."""
    bar = beam(section, material)
    G, area = shear_modulus(material), float(bar.axial) / 210e9
    assert float(bar.shear_y) == pytest.approx(factor * G * area, rel=1e-6)
    assert float(bar.shear_z) == pytest.approx(factor * G * area, rel=1e-6)


def test_thickness_is_the_larger_side():
    assert thickness(rectangle(0.02, 0.03)) == thickness(rectangle(0.03, 0.02)) == 0.03
    assert thickness(tube(0.008, 0.007)) == 0.016
    assert thickness(custom()) == pytest.approx(6e-4**0.5)
