"""Bodies judged against the joints that they hold: where mass can be, and how it can be spread.

A body of mass m with the principal moments I_1 <= I_2 <= I_3 about its centre has the greatest
radius of gyration k and the second moments s_j of its density,

    k = sqrt(I_3 / m)        s_j = (I_1 + I_2 + I_3) / 2 - I_j                          (1)

A uniform rod of length L has k = L / sqrt(12); two masses at its ends have k = L / 2. Of all bodies
of one density rho and mass m the ellipsoid has the least s_1 s_2 s_3, so that

    rho >= m / V,    V = 4/3 pi (5^3 s_1 s_2 s_3 / m^3)^(1/2)                           (2)

somewhere in a body, and rho = m / V on the average of a compact one.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from triskele.spatial.inertia import infeasibility

DENSEST = 23_000.0  #: osmium [kg/m^3]
LIGHTEST = 1.2  #: air [kg/m^3]
_FLAT = 1e-4  #: ratio of second moments below which a body counts as thin, and has no volume


class Solid(NamedTuple):
    """A body of a file, and the points of its joints in its frame."""

    key: str  #: where the file has it
    ten: Sequence[float]  #: m, mc (3), and moments about the origin
    points: np.ndarray  #: (k, 3) [m]
    size: float  #: of the whole machine [m]
    slender: bool = False  #: a rod or bar between two of its points
    rotor: bool = False  #: moments may hold those of a motor, seen through its gear

    @property
    def mass(self) -> float:
        """m [kg]."""
        return float(self.ten[0])

    @property
    def centre(self) -> np.ndarray:
        """Centre of mass [m]."""
        return np.asarray(self.ten[1:4], float) / self.mass

    @property
    def span(self) -> float:
        """Greatest distance of two of its points [m]; its origin is one."""
        points = np.vstack([self.points, np.zeros((1, 3))])
        return float(np.linalg.norm(points[:, None] - points[None], axis=2).max())

    @property
    def extent(self) -> float:
        """What the body measures [m]: its span, or of one with a single joint that of the machine.

        No part is small beyond a quarter of the machine, as far as joints show.
        """
        return self.span if self.span > self.size / 4 else self.size / 4

    @property
    def moments(self) -> np.ndarray:
        """Principal moments about the centre [kg m^2], the least first."""
        xx, yy, zz, xy, yz, xz = self.ten[4:]
        O, c = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), self.centre
        return np.linalg.eigvalsh(O - self.mass * (c @ c * np.eye(3) - np.outer(c, c)))

    @property
    def gyration(self) -> float:
        """k of (1) [m]."""
        return math.sqrt(max(self.moments[2], 0.0) / self.mass)

    @property
    def density(self) -> float | None:
        """Rho of (2) [kg/m^3]; None of thin bodies."""
        s = self.moments.sum() / 2 - self.moments
        if s.min() <= _FLAT * s.max():
            return None
        volume = 4 / 3 * math.pi * math.sqrt(125 * float(np.prod(s / self.mass)))
        return self.mass / volume


def solid_remarks(solids: Iterable[Solid]) -> Iterator[str]:
    """What is strange about bodies, one by one and beside each other."""
    able = [solid for solid in solids if infeasibility(solid.ten) is None]
    for solid in able:
        for rule in (centre_near_body, middle_of_rod, spread, density, heaviness):
            yield from rule(solid)
    yield from likeness(able)


def centre_near_body(solid: Solid) -> Iterator[str]:
    """A centre of mass lies within the joints of a body, or near them."""
    points = np.vstack([solid.points, np.zeros((1, 3))])
    room = solid.size if solid.span < solid.size / 4 else 0.35 * solid.span
    beyond = np.maximum(points.min(axis=0) - solid.centre, solid.centre - points.max(axis=0)).max()
    if beyond > room:
        yield (
            f"{solid.key}: the centre of mass lies {beyond:.3g} m outside its joints, which span "
            f"{solid.span:.3g} m. Is the unit right, and the frame?"
        )


def middle_of_rod(solid: Solid) -> Iterator[str]:
    """The centre of a rod lies somewhere in its middle."""
    if not solid.slender or solid.span < solid.size / 4:
        return
    ends = solid.points[np.argsort(np.linalg.norm(solid.points, axis=1))[[0, -1]]]
    along = (ends[1] - ends[0]) / max(float(np.linalg.norm(ends[1] - ends[0])), 1e-12)
    part = float((solid.centre - ends[0]) @ along) / solid.span
    if not 0.1 <= part <= 0.9:
        yield (
            f"{solid.key}: the centre of mass is at {100 * part:.3g} % of its length; usual is the "
            "middle. Is centre_of_mass missing, or its unit wrong?"
        )


def spread(solid: Solid) -> Iterator[str]:
    """The radius of gyration fits what the body measures."""
    k, L = solid.gyration, solid.extent
    if k == 0:
        return
    most = 0.65 * L if solid.slender else 1.5 * L
    least = 0.05 * L if solid.slender and solid.span > solid.size / 4 else 0.015 * L
    if k > most:
        yield (
            f"{solid.key}: inertia of {solid.moments[2]:.3g} kg m^2 and mass of {solid.mass:.3g} "
            f"kg make a radius of gyration of {k:.3g} m, in a body of {L:.3g} m. "
            "One of the three is wrong."
        )
    elif k < least:
        yield (
            f"{solid.key}: inertia of {solid.moments[2]:.3g} kg m^2 puts all of its "
            f"{solid.mass:.3g} kg within {k:.2g} m of the centre, in a body of {L:.3g} m."
        )


def density(solid: Solid) -> Iterator[str]:
    """No body is denser than osmium, or lighter than air."""
    rho = solid.density
    if rho is not None and rho > DENSEST:
        yield (
            f"{solid.key}: mass and inertia belong to a body of {rho:.2g} kg/m^3 at least; the "
            f"densest metal has {DENSEST:g}."
        )
    elif rho is not None and rho < LIGHTEST and not solid.rotor:
        yield f"{solid.key}: mass and inertia are those of {rho:.2g} kg/m^3, lighter than air."


def heaviness(solid: Solid) -> Iterator[str]:
    """A part weighs less than a solid steel bar that is a fifth (rod) or half as thick as long."""
    L = solid.extent if solid.slender else max(solid.extent, solid.size / 2)
    most = (250.0 if solid.slender else 1600.0) * L**3
    if solid.mass > most:
        yield (
            f"{solid.key}: {solid.mass:.3g} kg are more than {most:.2g} kg, which solid steel "
            f"would weigh at a length of {L:.3g} m."
        )
    elif solid.mass < 1e-5 * most:
        yield f"{solid.key}: {solid.mass:.3g} kg are hardly anything, at a length of {L:.3g} m."


def likeness(solids: Sequence[Solid]) -> Iterator[str]:
    """Rods are not heavier than what moves them, and no moving body than 500 others."""
    solids = [solid for solid in solids if solid.key != "bodies.base"]
    movers = [solid for solid in solids if not solid.slender]
    for rod in (solid for solid in solids if solid.slender):
        heavier = [solid for solid in movers if rod.mass > 6 * solid.mass]
        if movers and len(heavier) == len(movers):
            yield (
                f"{rod.key}: {rod.mass:.3g} kg are more than six times each of the other bodies. "
                "Is the unit right?"
            )
    if solids:
        light = min(solids, key=lambda solid: solid.mass)
        heavy = max(solids, key=lambda solid: solid.mass)
        if heavy.mass > 500 * light.mass:
            yield (
                f"{light.key}: {light.mass:.3g} kg beside {heavy.mass:.3g} kg of {heavy.key}. Are "
                "both units right?"
            )
