"""Rules on bodies, against numbers by hand: rods, balls, discs, and what they weigh."""

import math

import numpy as np
import pytest

from triskele.description.schema import Body
from triskele.doctor.solids import Solid, solid_remarks


def solid(mass, centre, inertia, ends, size=1.0, slender=False, key="bodies.part"):
    """A body with joints at `ends`."""
    body = Body(mass=mass, centre_of_mass=centre, inertia=inertia)
    return Solid(key, body.ten_parameters, np.array(ends, float), size, slender)


def rod(mass=1.0, length=1.0, centre=0.5, factor=1.0):
    """A steel rod along x with its joints at the ends."""
    I = factor * mass * length**2 / 12
    thin = 1e-4 * I
    ends = [(0, 0, 0), (length, 0, 0)]
    return solid(mass, (centre * length, 0, 0), (thin, I, I), ends, length, slender=True)


def test_the_radius_of_gyration_of_a_rod_and_a_disc():
    assert rod(3.0, 2.0).gyration == pytest.approx(2 / math.sqrt(12))
    disc = solid(2.0, (0, 0, 0), (0.25, 0.25, 0.5), [(0.1, 0, 0)])  # m r^2 / 2 with r^2 = 0.5
    assert disc.gyration == pytest.approx(0.5)


def test_a_ball_and_an_ellipsoid_have_the_density_that_they_have():
    # 2/5 m r^2 with m = 4/3 pi r^3 rho.
    r, rho = 0.1, 7850.0
    m = 4 / 3 * math.pi * r**3 * rho
    assert solid(m, (0, 0, 0), (0.4 * m * r * r,) * 3, []).density == pytest.approx(rho)
    a, b, c = 0.3, 0.2, 0.1
    m = 4 / 3 * math.pi * a * b * c * rho
    moments = [m / 5 * (p * p + q * q) for p, q in ((b, c), (a, c), (a, b))]
    assert solid(m, (0.1, -0.2, 0.3), moments, []).density == pytest.approx(rho)


def test_no_box_is_denser_than_it_is_said_to_be():
    # (2) is a lower bound on the greatest density, exact for ellipsoids only.
    a, b, c, rho = 0.3, 0.2, 0.1, 1000.0
    m = a * b * c * rho
    moments = [m / 12 * (p * p + q * q) for p, q in ((b, c), (a, c), (a, b))]
    found = solid(m, (0, 0, 0), moments, []).density
    assert found == pytest.approx(rho * a * b * c / (4 / 3 * math.pi * (5 / 12) ** 1.5 * a * b * c))
    assert 0.85 * rho < found < rho


def test_a_flat_body_has_no_density():
    assert solid(1.0, (0, 0, 0), (0.1, 0.1, 0.2), []).density is None


@pytest.mark.parametrize("part", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("factor", [0.2, 1.0, 3.0])  # lumped in the middle; at the ends
def test_a_rod_is_left_alone(part, factor):
    assert list(solid_remarks([rod(centre=part, factor=factor)])) == []


@pytest.mark.parametrize(
    "body, word",
    [
        (rod(centre=1.7), "outside its joints"),
        (rod(centre=0.0), "at 0 % of its length"),
        (rod(factor=12.0), "radius of gyration of 1 m"),
        (rod(factor=1e-3), "within 0.0091 m"),
        (rod(mass=300.0), "solid steel would weigh"),
        (rod(mass=1e-3, factor=1.0), "hardly anything"),
        (solid(1.0, (0, 0, 0), (1e-6,) * 3, [(0.1, 0, 0)]), "densest metal"),
        (solid(0.04, (0, 0, 0), (0.02,) * 3, [(1, 0, 0)]), "lighter than air"),
    ],
)
def test_what_cannot_be_is_said_once_or_more(body, word):
    assert any(word in remark for remark in solid_remarks([body])), list(solid_remarks([body]))


def test_a_rod_among_lighter_arms_and_a_speck_among_bodies():
    arm = solid(0.1, (0.1, 0, 0), (1e-5, 1e-3, 1e-3), [(0.3, 0, 0)], key="bodies.arm")
    heavy, speck = rod(mass=0.7), rod(mass=1.0)._replace(key="bodies.rod")
    assert any("six times" in text for text in solid_remarks([arm, heavy]))
    assert not any("six times" in text for text in solid_remarks([arm, rod(mass=0.5)]))
    light = arm._replace(ten=tuple(value / 100 for value in arm.ten))
    assert any("beside 1 kg of bodies.rod" in text for text in solid_remarks([light, speck]))
