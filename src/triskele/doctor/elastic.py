"""Rules on materials, sections and flexures, each against the mass and length of its link.

Sound runs along a bar at c = sqrt(E / rho), and through a rod of mass m, length L and stiffness
k = E A / L at

    c = L sqrt(k / m)                                                                   (1)

which is 5 km/s in steel and aluminium, 9 km/s in carbon fibre, 18 km/s in diamond.
"""

import math
from collections.abc import Iterator

from triskele.description.schema import CrossSection, Material
from triskele.doctor.case import Case

_SLOWEST, _FASTEST = 400.0, 1.8e4  #: speed of sound [m/s]: soft plastics; diamond


def elastic_remarks(case: Case) -> Iterator[str]:
    """Materials, then what is made of them."""
    for name, material in case.robot.materials.items():
        for rule in (isotropy, sound, strength):
            yield from rule(f"materials.{name}", material)
    for rule in (sections, rod_stiffness, flexures):
        yield from rule(case)


def isotropy(key: str, material: Material) -> Iterator[str]:
    """G = E / (2 (1 + nu)) with 0 < nu < 1/2 is E/3 to E/2; fibres along a rod have less."""
    nu, E, G = material.poisson_ratio, material.young_modulus, material.shear_modulus
    if nu is not None and not 0.02 <= nu < 0.495:
        yield f"{key}.poisson_ratio: {nu:g}; materials of links have 0.1 to 0.45."
    if G is not None and G > E / 2:
        yield (
            f"{key}: the shear_modulus of {G:.3g} Pa is above half of young_modulus, {E:.3g} Pa: "
            f"its Poisson ratio would be {E / (2 * G) - 1:.2g}. Are they exchanged?"
        )
    elif G is not None and G < E / 200:
        yield f"{key}.shear_modulus: {G:.3g} Pa, beside a young_modulus of {E:.3g} Pa."


def sound(key: str, material: Material) -> Iterator[str]:
    """Stiffness and density belong to one material."""
    c = math.sqrt(material.young_modulus / material.density)
    if not _SLOWEST <= c <= _FASTEST:
        yield (
            f"{key}: sound would run through it at {c:.3g} m/s; in metals it does at 5000, in "
            "carbon fibre at 9000. Is young_modulus or density wrong?"
        )


def strength(key: str, material: Material) -> Iterator[str]:
    """Materials yield at 0.01 to 10 % of strain; modes are damped by little."""
    strain = (material.yield_strength or 0.0) / material.young_modulus
    if strain and not 1e-4 <= strain <= 0.2:
        yield f"{key}.yield_strength: reached at a strain of {100 * strain:.2g} %, not about 0.5."
    if material.damping_ratio is not None and material.damping_ratio > 0.3:
        yield f"{key}.damping_ratio: {material.damping_ratio:g} of critical; usual is 0.01."


def sections(case: Case) -> Iterator[str]:
    """A section is thin beside its link, and weighs no more than it."""
    found, solids = case.robot.sections, {solid.key: solid for solid in case.solids}
    for part in ("arm", "rod"):
        section = None if found is None else getattr(found, part)
        if section is None:
            continue
        key, solid = f"sections.{part}", solids.get(f"bodies.{part}")
        L = solid.span if solid is not None and solid.span else case.size
        area, width = _area(section), _width(section)
        if width > 0.4 * L:
            yield f"{key}: {width:.3g} m across, on a link of {L:.3g} m. Is the unit right?"
        elif width < 5e-4 * L:
            yield f"{key}: {width:.2g} m across, on a link of {L:.3g} m, is a hair."
        material = case.robot.materials.get(section.material)
        if solid is not None and material is not None:
            yield from _weight(key, material.density * area * L, solid.mass)
        if section.shape == "custom":
            yield from _moments(key, section)


def _weight(key: str, own: float, whole: float) -> Iterator[str]:
    if own > 1.6 * whole:
        yield f"{key}: weighs {own:.3g} kg over the link, whose mass is {whole:.3g} kg."
    elif own < 0.02 * whole:
        yield f"{key}: weighs {own:.2g} kg over the link, a small part of its mass, {whole:.3g} kg."


def _area(section: CrossSection) -> float:
    if section.shape == "rectangle":
        return (section.width or 0.0) * (section.height or 0.0)
    if section.shape == "tube":
        return math.pi * ((section.outer_radius or 0.0) ** 2 - section.inner_radius**2)
    return section.area or 0.0


def _width(section: CrossSection) -> float:
    """The greater of its measures across [m]."""
    if section.shape == "rectangle":
        return max(section.width or 0.0, section.height or 0.0)
    if section.shape == "tube":
        return 2 * (section.outer_radius or 0.0)
    most = max(section.second_moment_y or 0.0, section.second_moment_z or 0.0)
    return math.sqrt(12 * most / (section.area or 1.0))


def _moments(key: str, section: CrossSection) -> Iterator[str]:
    """No section twists harder than by its polar moment, or bends softer than a round bar's 1 %."""
    y, z, A = section.second_moment_y or 0.0, section.second_moment_z or 0.0, section.area or 0.0
    if (section.torsion_constant or 0.0) > 1.01 * (y + z):
        yield f"{key}.torsion_constant: above the polar moment, which no shape has."
    elif (section.torsion_constant or 0.0) < 1e-4 * (y + z):
        yield f"{key}.torsion_constant: far below the polar moment."
    if min(y, z) < 0.01 * A * A / (4 * math.pi):
        yield f"{key}: the lesser second moment is that of a foil of {A:.2g} m^2."
    if max(y, z) > 1e3 * min(y, z):
        yield f"{key}: the second moments differ by more than a thousand times."


def rod_stiffness(case: Case) -> Iterator[str]:
    """(1) is a speed of sound that materials have."""
    found = case.robot.sections
    stiffness = None if found is None else found.rod_stiffness
    rods = [s for s in case.solids if s.key.endswith(("rod", "piston", "bar", "cylinder"))]
    if stiffness is None or not rods:
        return
    rod = min(rods, key=lambda solid: solid.mass)
    L = rod.span if rod.span > case.size / 4 else case.size
    c = L * math.sqrt(stiffness / rod.mass)
    if not _SLOWEST <= c <= _FASTEST:
        yield (
            f"sections.rod_stiffness: {stiffness:.3g} N/m in a rod of {rod.mass:.3g} kg and "
            f"{L:.3g} m make a speed of sound of {c:.3g} m/s; metals have 5000."
        )


def flexures(case: Case) -> Iterator[str]:
    """Flexures of one machine are alike, and thinner than the bars that they carry."""
    found = case.robot.flexures
    if found is None:
        return
    stated = {
        key: value
        for key in ("revolute_bending", "spherical_bending", "spherical_torsion")
        if (value := getattr(found, key)) is not None
    }
    if len(stated) > 1:
        soft, hard = min(stated, key=stated.__getitem__), max(stated, key=stated.__getitem__)
        if stated[hard] > 200 * stated[soft]:
            yield (
                f"flexures: {hard} is {stated[hard] / stated[soft]:.0f} times {soft}. Are both "
                "units right?"
            )
    notch, thin = found.revolute, found.spherical
    if notch is not None and not max(notch.thickness, notch.radius, notch.width) < case.size:
        yield "flexures.revolute: larger than the bar it carries."
    if notch is not None and notch.thickness > 2 * notch.radius:
        yield "flexures.revolute: the neck is thicker than the notch is wide; it hardly bends."
    if thin is not None and (thin.diameter > thin.length or thin.length > case.size):
        yield "flexures.spherical: thicker than long, or longer than the bar; it would not bend."
