"""A straight bar as a beam: what a cross-section and a material resist, and weigh, per length.

x runs along the bar, y and z across it. Of a section of area A with second moments Iy (bending
in z) and Iz (bending in y), the beam has the stiffnesses

    E A,  E Iy,  E Iz,  G J,  k_y G A,  k_z G A                                        (1)

and weighs rho A per length, with the rotary inertia rho (Iy + Iz) about x. Saint-Venant's J of a
rectangle with sides a >= b is

    J = a b^3 (1/3 - 64/pi^5 (b/a) sum_odd tanh(k pi a / (2 b)) / k^5)                 (2)

"polar" takes Iy + Iz instead, right for tubes alone. Shear factors are those of Cowper (The shear
coefficient in Timoshenko's beam theory, 1966) for rectangles and tubes, and 5/6 for others.
"""

import equinox as eqx
import numpy as np
from jaxtyping import Float

from triskele.description.schema import CrossSection, Material
from triskele.laws.flexures import shear_modulus
from triskele.numerics import AnyArray, require_double_precision

_OTHER_SHEAR = 5 / 6


class Beam(eqx.Module):
    """Stiffness and mass of a bar per length, in SI units."""

    axial: Float[AnyArray, ""]  #: E A [N]
    torsion: Float[AnyArray, ""]  #: G J [N m^2]
    bending_y: Float[AnyArray, ""]  #: E Iy [N m^2], against w
    bending_z: Float[AnyArray, ""]  #: E Iz [N m^2], against v
    shear_y: Float[AnyArray, ""]  #: k_y G A [N], with v
    shear_z: Float[AnyArray, ""]  #: k_z G A [N], with w
    mass: Float[AnyArray, ""]  #: rho A [kg/m]
    rotary: Float[AnyArray, "3"]  #: rho (Iy + Iz), rho Iy, rho Iz [kg m]
    young_modulus: Float[AnyArray, ""]  #: E [Pa]
    reach: Float[AnyArray, "2"]  #: farthest fibre along y and z [m]; of a tube, its radius
    round: bool = eqx.field(static=True)  #: stress adds by Pythagoras, not corner to corner


def beam(section: CrossSection, material: Material) -> Beam:
    """The beam of a cross-section of a robot's file.

    >>> steel = Material(young_modulus=210e9, shear_modulus=80e9, density=7800)
    >>> bar = CrossSection(shape="rectangle", material="steel", width=0.005, height=0.005)
    >>> round(float(beam(bar, steel).torsion), 3)
    7.029
    """
    require_double_precision()
    area, I_y, I_z, reach = _section(section)
    E, rho = material.young_modulus, material.density
    G = shear_modulus(material)
    nu = material.poisson_ratio
    if nu is None:  # of a material with fibres, E / (2 G) - 1 is not Poisson's ratio
        nu = min(max(E / (2 * G) - 1, 0.0), 0.5)
    k_y, k_z = _shear_factors(section, nu)
    values = {
        "axial": E * area,
        "torsion": G * torsion_constant(section),
        "bending_y": E * I_y,
        "bending_z": E * I_z,
        "shear_y": k_y * G * area,
        "shear_z": k_z * G * area,
        "mass": rho * area,
        "rotary": [rho * (I_y + I_z), rho * I_y, rho * I_z],
        "young_modulus": E,
        "reach": reach,
    }
    arrays = {name: np.asarray(value, float) for name, value in values.items()}
    return Beam(**arrays, round=section.shape == "tube")


def torsion_constant(section: CrossSection) -> float:
    """J [m^4] by the rule that the section names, unless it is given."""
    if section.torsion_constant is not None:
        return section.torsion_constant
    _, I_y, I_z, _ = _section(section)
    if section.shape == "tube" or section.torsion_rule == "polar":
        return I_y + I_z
    b, a = sorted((section.width or 0.0, section.height or 0.0))
    k = np.arange(1, 401, 2)
    series = np.sum(np.tanh(k * np.pi * a / (2 * b)) / k**5.0)
    return a * b**3 * (1 / 3 - 64 / np.pi**5 * (b / a) * float(series))


def thickness(section: CrossSection) -> float:
    """The larger side of the section, or its diameter [m]; for any other, that of a square."""
    if section.shape == "tube":
        return 2 * (section.outer_radius or 0.0)
    if section.shape == "rectangle":
        return max(section.width or 0.0, section.height or 0.0)
    return (section.area or 0.0) ** 0.5


def _section(section: CrossSection) -> tuple[float, float, float, tuple[float, float]]:
    """Area, Iy, Iz, and the farthest fibres along y and z."""
    if section.shape == "rectangle":
        b, h = section.width or 0.0, section.height or 0.0
        return b * h, b * h**3 / 12, h * b**3 / 12, (b / 2, h / 2)
    if section.shape == "tube":
        R, r = section.outer_radius or 0.0, section.inner_radius
        second = np.pi * (R**4 - r**4) / 4
        return np.pi * (R**2 - r**2), second, second, (R, R)
    area, I_y, I_z = section.area, section.second_moment_y, section.second_moment_z
    assert area is not None and I_y is not None and I_z is not None
    # fibres of the rectangle with this area and these moments
    return area, I_y, I_z, ((3 * I_z / area) ** 0.5, (3 * I_y / area) ** 0.5)


def _shear_factors(section: CrossSection, nu: float) -> tuple[float, float]:
    if section.shape == "rectangle":
        k = 10 * (1 + nu) / (12 + 11 * nu)
    elif section.shape == "tube":
        m = (section.inner_radius / (section.outer_radius or 1.0)) ** 2
        k = 6 * (1 + nu) * (1 + m) ** 2 / ((7 + 6 * nu) * (1 + m) ** 2 + (20 + 12 * nu) * m)
    else:
        k = _OTHER_SHEAR
    return k, k
