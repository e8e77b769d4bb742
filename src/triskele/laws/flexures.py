"""Flexures: thin places of a solid part that turn like joints, as springs, with their stress.

A **circular notch** of radius R leaves a neck of thickness t and width b. As a beam of varying
height h = t + 2 R (1 - cos p), -pi/2 < p < pi/2, it turns under a moment M by

    1 / k = (12 R / E b) int cos p / h^3 dp                                             (1)

which in closed form, with s = R / t, is (Wu and Zhou 2002)

    1 / k = 12 / (E b R^2) [ 2 s^3 (6 s^2 + 4 s + 1) / ((2 s + 1) (4 s + 1)^2)
                             + 12 s^4 (2 s + 1) / (4 s + 1)^(5/2) atan sqrt(4 s + 1) ]     (2)

and tends to k = 2 E b t^(5/2) / (9 pi sqrt R) for thin necks (Paros and Weisbord 1965). The
stress at the surface of the neck is

    sigma = K 6 M / (b t^2),     K = (1 + t / 2 R)^(9/20)                               (3)

(Smith and Chetwynd 1992, for t / 2 R < 2.3). It is a beam: good to a few percent while the
neck is slender, t < R / 2, and refused here from t = R on.

A **cylinder** of diameter d and length l bends about two axes and twists,

    k = E pi d^4 / 64 l,     k_t = G pi d^4 / 32 l                                       (4)
    sigma = 32 M / pi d^3,   tau = 16 M_t / pi d^3                                       (5)

by the theory of beams and of Saint-Venant, for l > 2 d; refused below l = d.

J. M. Paros and L. Weisbord, How to design flexure hinges, Machine Design 37 (1965) 151.
Y. Wu and Z. Zhou, Design calculations for flexure hinges, Rev. Sci. Instrum. 73 (2002) 3101.
S. T. Smith and D. G. Chetwynd, Foundations of ultraprecision mechanism design, 1992.
"""

import math
from typing import NamedTuple

from triskele.description.schema import CylinderHinge, Material, NotchHinge, Robot
from triskele.errors import InputError, MissingFact

_THICK = 1.0  #: t / R from which (2) is no beam any more
_STUBBY = 1.0  #: l / d below which (4) is none


class FlexureStiffness(NamedTuple):
    """Stiffnesses of the flexures at the ends of a rod or bar [N m/rad]; None where none is known.

    The fields are the keys that `Coordinate.flexure` names.
    """

    revolute_bending: float | None
    spherical_bending: float | None
    spherical_torsion: float | None


class Yielding(NamedTuple):
    """How far a flexure may turn, from its material's yield strength."""

    flexure: str  #: "revolute" or "spherical"
    motion: str  #: "bending" or "torsion"
    stiffness: float  #: [N m/rad]
    stress: float  #: [Pa] per rad
    angle: float | None  #: at which it yields [rad]; None if the material states no strength


def notch_stiffness(hinge: NotchHinge, material: Material) -> float:
    """k of (2) [N m/rad]: bending of a circular notch."""
    t, R = hinge.thickness, hinge.radius
    if t >= _THICK * R:
        raise InputError(
            f"flexures.revolute: a neck of {1e3 * t:g} mm in a notch of radius {1e3 * R:g} mm is "
            "no slender beam; its thickness must be less than the radius. State its stiffness."
        )
    s = R / t
    first = 2 * s**3 * (6 * s * s + 4 * s + 1) / ((2 * s + 1) * (4 * s + 1) ** 2)
    second = 12 * s**4 * (2 * s + 1) / (4 * s + 1) ** 2.5 * math.atan(math.sqrt(4 * s + 1))
    return material.young_modulus * hinge.width * R * R / (12 * (first + second))


def cylinder_stiffness(hinge: CylinderHinge, material: Material) -> tuple[float, float]:
    """Bending and torsion of (4) [N m/rad]."""
    d, l = hinge.diameter, hinge.length
    if l < _STUBBY * d:
        raise InputError(
            f"flexures.spherical: a cylinder of {1e3 * l:g} mm and diameter {1e3 * d:g} mm is no "
            "slender beam; it must be longer than thick. State its stiffness."
        )
    polar = math.pi * d**4 / 32
    return material.young_modulus * polar / 2 / l, shear_modulus(material) * polar / l


def shear_modulus(material: Material) -> float:
    """G [Pa], stated or E / 2 (1 + nu)."""
    if material.shear_modulus is not None:
        return material.shear_modulus
    assert material.poisson_ratio is not None, "a material has one of the two"
    return material.young_modulus / (2 * (1 + material.poisson_ratio))


def flexure_stiffness(robot: Robot) -> FlexureStiffness | None:
    """Stiffnesses that the file states, or else those of its hinges; None without flexures."""
    stated = robot.flexures
    if stated is None:
        return None
    hinge, notch, ball = stated.revolute_bending, stated.revolute, stated.spherical
    if hinge is None and notch is not None:
        hinge = notch_stiffness(notch, robot.materials[notch.material])
    both = stated.spherical_bending, stated.spherical_torsion
    if None in both and ball is not None:
        found = cylinder_stiffness(ball, robot.materials[ball.material])
        both = tuple(f if s is None else s for s, f in zip(both, found, strict=True))
    return FlexureStiffness(hinge, *both)


def yielding(robot: Robot) -> tuple[Yielding, ...]:
    """Stress per angle of each flexure, (3) and (5), and the angle at which it yields."""
    stiffness = flexure_stiffness(robot)
    if stiffness is None or robot.flexures is None:
        raise MissingFact(f"{robot.name} has no 'flexures', which stresses need; add it.")
    found, notch, cylinder = [], robot.flexures.revolute, robot.flexures.spherical
    if notch is not None:
        k, t = stiffness.revolute_bending, notch.thickness
        assert k is not None, "a notch has a stiffness"
        crowded = (1 + t / (2 * notch.radius)) ** 0.45
        rate = crowded * 6 * k / (notch.width * t * t)
        found.append(_yielding("revolute", "bending", k, rate, robot.materials[notch.material]))
    if cylinder is not None:
        material, cube = robot.materials[cylinder.material], math.pi * cylinder.diameter**3
        k, twist = stiffness.spherical_bending, stiffness.spherical_torsion
        assert k is not None, "a cylinder bends"
        assert twist is not None, "a cylinder twists"
        found.append(_yielding("spherical", "bending", k, 32 * k / cube, material))
        # Shear yields at 1 / sqrt(3) of the strength (von Mises): count it as sqrt(3) tau.
        rate = math.sqrt(3) * 16 * twist / cube
        found.append(_yielding("spherical", "torsion", twist, rate, material))
    return tuple(found)


def _yielding(flexure: str, motion: str, k: float, rate: float, material: Material) -> Yielding:
    strength = material.yield_strength
    return Yielding(flexure, motion, k, rate, None if strength is None else strength / rate)
