"""Rods and struts as springs along their axis.

A bar of length L and section A stretches by N L / E A under the axial force N,

    k = E A / L                                                                        (1)
"""

import math

import numpy as np
from jaxtyping import Float

from triskele.description.schema import CrossSection, Robot
from triskele.kinematics.mechanism import AbstractMechanism, Joint
from triskele.numerics import Components
from triskele.spatial.vectors import WORLD, Frame, Triple

_MOVED = 1e-3  #: of a joint, in loop lengths, to see which bodies move with it


def cross_section_area(section: CrossSection) -> float:
    """A [m^2]."""
    if section.shape == "rectangle":
        return (section.width or 0.0) * (section.height or 0.0)
    if section.shape == "tube":
        return math.pi * ((section.outer_radius or 0.0) ** 2 - section.inner_radius**2)
    assert section.area is not None, "a custom section has an area"
    return section.area


def loop_stiffness(
    robot: Robot, mechanism: AbstractMechanism, x: Components
) -> Float[np.ndarray, " n"] | None:
    """Stiffness [N/m] of the rods of each loop at `x`, against their elongation; None if unknown.

    Rods of a pair are side by side. As stated, or (1) with the length of rod or strut at `x`.
    Infinite where a loop has no rod.
    """
    sections = robot.sections
    if sections is None or (sections.rod is None and sections.rod_stiffness is None):
        return None
    q = mechanism.inverse(x).components
    frames = _frames(mechanism, q, x)
    joints, moving = {joint.name: joint for joint in mechanism.joints()}, _moving(mechanism, q, x)
    found = np.zeros(len(q))
    for strut in mechanism.struts:
        k = sections.rod_stiffness
        if k is None:
            assert sections.rod is not None, "stiffness is stated, or follows from the section"
            ends = (_place(frames, joints[name]) for name in (strut.upper, strut.lower))
            E = robot.materials[sections.rod.material].young_modulus
            k = E * cross_section_area(sections.rod) / math.dist(*ends)
        found[moving[strut.body]] += k
    return np.where(found > 0, found, np.inf)


def _frames(mechanism: AbstractMechanism, q: Components, x: Components) -> dict[str, Frame]:
    return dict(zip(mechanism.bodies, mechanism.body_poses(q, x), strict=True))


def _moving(mechanism: AbstractMechanism, q: Components, x: Components) -> dict[str, int]:
    """Which joint moves each body that moves while the platform stands, its loop being cut."""
    before, found = _frames(mechanism, q, x), {}
    scales = mechanism.scales()
    for i, (loop, unit) in enumerate(zip(scales.loops, scales.joints, strict=True)):
        moved = list(q)
        moved[i] = moved[i] + _MOVED * loop / unit
        after = _frames(mechanism, moved, x)
        found |= {name: i for name, frame in after.items() if frame != before[name]}
    return found


def _place(frames: dict[str, Frame], joint: Joint) -> Triple:
    """Where a joint is, in O."""
    return frames.get(joint.parent, WORLD).at(joint.point)
