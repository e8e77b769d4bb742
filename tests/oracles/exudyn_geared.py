"""The shipped Delta with planetary gears in Exudyn: beams, balls, and a spring at each motor.

Frames, beams and their correction are those of `exudyn_flexible.py`. Beyond it, an arm turns about
its motor's axis against a torsional spring, with a disc on it that has no inertia but about that
axis; rods are in pairs on ball joints, free to spin; and lumps of mass sit at the ends of links.
Numbers are those of the robot's file, worked out here once more.
"""

from itertools import pairwise
from math import acos, atan2, cos, hypot, pi, sin
from typing import Any, NamedTuple

import numpy as np
from configurations import Numbers
from exudyn_flexible import AZIMUTHS, body_marker, exu, free_frequencies, items, node_marker
from scipy.spatial.transform import Rotation

BASE_RADIUS, PLATFORM_RADIUS, ARM_LENGTH, ROD_LENGTH = 0.2, 0.045, 0.35, 0.8  # [m]
SPACING = 0.1  # [m] of the rods of a pair
GEAR_RATIO, COUPLING, LOAD_INERTIA = 25.0, 55.0, 1e-5  # -, [N m/rad], [kg m^2] at the motor
PLATFORM = (0.9, -0.01, (8e-4, 8e-4, 1.4e-3))  # [kg], [m] height of its centre, [kg m^2] about it
_LEAST_ROTARY = 1e-3  #: of the rotary inertia; none at all would leave turns of nodes without mass
_ABOUT_Y = Rotation.from_euler("X", -90, degrees=True).as_matrix()  # z of a joint: y of the limb


class Tube(NamedTuple):
    """A link: its tube, and what its body weighs."""

    length: float  #: [m]
    outer: float  #: radius [m]
    inner: float  #: radius [m]
    density: float  #: [kg/m^3]
    young_modulus: float  #: [Pa]
    shear_modulus: float  #: [Pa]
    poisson_ratio: float  #: of Cowper's shear factor
    mass: float  #: of the body [kg]
    centre: float  #: of its mass, from the root [m]

    @property
    def area(self) -> float:
        """[m^2]."""
        return pi * (self.outer**2 - self.inner**2)

    def section(self, h: float, slender: bool) -> Any:
        """Stiffness and inertia for elements of length h, exact for loads at their ends.

        Slender ones do not shear, and turn with next to no inertia: Euler and Bernoulli's.
        """
        E, G, A, nu = self.young_modulus, self.shear_modulus, self.area, self.poisson_ratio
        I, m = pi * (self.outer**4 - self.inner**4) / 4, (self.inner / self.outer) ** 2
        k = 6 * (1 + nu) * (1 + m) ** 2 / ((7 + 6 * nu) * (1 + m) ** 2 + (20 + 12 * nu) * m)
        across = _LEAST_ROTARY if slender else 1.0
        S = 1 / ((0.0 if slender else 1 / (k * G * A)) + h**2 / (12 * E * I))
        section = exu.BeamSection()
        section.stiffnessMatrix = np.diag([E * A, S, S, 2 * G * I, E * I, E * I])
        section.inertia = self.density * np.diag([2 * I, across * I, across * I])
        section.massPerLength = self.density * A
        return section

    @property
    def lumps(self) -> tuple[float, float]:
        """Masses at root and tip [kg] that leave mass and centre as they are."""
        own = self.density * self.area * self.length
        tip = (self.mass * self.centre - own * self.length / 2) / self.length
        return self.mass - own - tip, tip


ARM = Tube(ARM_LENGTH, 0.03, 0.027, 2700.0, 70e9, 70e9 / 2.66, 0.33, 0.75, 0.165)
ROD = Tube(ROD_LENGTH, 0.008, 0.007, 1600.0, 120e9, 5e9, 0.5, 0.11, 0.4)


def natural_frequencies(
    x: tuple[float, float, float],
    *,
    elements: int = 8,
    count: int = 15,
    gears: bool = True,
    slender: bool = False,
) -> Numbers:
    """The lowest natural frequencies [rad/s] at x, motors held; without `gears`, arms clamped.

    Links have shear and rotary inertia (Timoshenko), or, `slender`, neither (Euler-Bernoulli).
    The six rods' free spins, of frequency 0, are not among them.
    """
    exu.config.printToConsole, exu.config.suppressWarnings = False, True
    container = exu.SystemContainer()
    mbs = container.AddSystem()
    ground = mbs.AddObject(items.ObjectGround())
    place = np.array(x, float)
    platform = _platform(mbs, place)
    for azimuth in AZIMUTHS:
        _limb(mbs, ground, platform, place, azimuth, elements, gears, slender)
    mbs.Assemble()
    found = free_frequencies(mbs, count + 6)
    assert (found[:6] < 0.02 * found[6]).all(), "rods spin freely, but for rounding"
    return found[6:]


def _platform(mbs: Any, place: Numbers) -> int:
    mass, height, inertia = PLATFORM
    centre = np.array([0.0, 0.0, height])
    about = np.diag(inertia) + mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
    body = items.ObjectRigidBody(
        mass=mass,
        inertia=[*np.diag(about), about[1, 2], about[0, 2], about[0, 1]],
        centerOfMass=centre,
        nodeNumber=_node(mbs, place, np.eye(3)),
    )
    return mbs.AddObject(body)


def _limb(
    mbs: Any,
    ground: int,
    platform: int,
    x: Numbers,
    azimuth: float,
    elements: int,
    gears: bool,
    slender: bool,
) -> None:
    turn = Rotation.from_euler("Z", azimuth).as_matrix()
    out, side = (turn.T @ x)[:2]
    out += PLATFORM_RADIUS - BASE_RADIUS
    square = out**2 + side**2 + x[2] ** 2 + ARM_LENGTH**2 - ROD_LENGTH**2
    q = atan2(-x[2], out) - acos(square / (2 * ARM_LENGTH * hypot(out, x[2])))
    along = np.array([cos(q), 0.0, -sin(q)])
    motor, elbow = turn @ [BASE_RADIUS, 0.0, 0.0], turn @ (ARM_LENGTH * along + [BASE_RADIUS, 0, 0])
    axes = turn @ Rotation.from_euler("Y", q).as_matrix()
    arm, tip = _chain(mbs, ARM, motor, axes, elements, slender)
    if gears:
        J = GEAR_RATIO**2 * LOAD_INERTIA
        disc = items.ObjectRigidBody(mass=0.0, inertia=[0, J, 0, 0, 0, 0], nodeNumber=arm[0])
        mbs.AddObject(disc)
        ends = [
            body_marker(mbs, ground, motor, axes @ _ABOUT_Y),
            node_marker(mbs, arm[0], _ABOUT_Y),
        ]
        free = items.ObjectJointGeneric(markerNumbers=ends, constrainedAxes=[1, 1, 1, 1, 1, 0])
        mbs.AddObject(free)
        spring = items.ObjectConnectorTorsionalSpringDamper(
            markerNumbers=ends, stiffness=GEAR_RATIO**2 * COUPLING
        )
        mbs.AddObject(spring)
    else:
        ends = [body_marker(mbs, ground, motor, axes), node_marker(mbs, arm[0])]
        mbs.AddObject(items.ObjectJointGeneric(markerNumbers=ends))
    rod = x + turn @ [PLATFORM_RADIUS, 0.0, 0.0] - elbow
    pointed = rod / np.linalg.norm(rod)
    across = np.cross(pointed, turn[:, 1])
    across /= np.linalg.norm(across)
    standing = np.column_stack([pointed, np.cross(across, pointed), across])
    for beside in (-SPACING / 2, SPACING / 2):
        shift = beside * turn[:, 1]
        nodes, _ = _chain(mbs, ROD, elbow + shift, standing, elements, slender)
        at_elbow = body_marker(mbs, tip, np.array([0.0, beside, 0.0]), np.eye(3))
        at_wrist = body_marker(mbs, platform, turn @ [PLATFORM_RADIUS, 0.0, 0.0] + shift, np.eye(3))
        for marker, node in ((at_elbow, nodes[0]), (at_wrist, nodes[-1])):
            ball = items.ObjectJointSpherical(markerNumbers=[marker, node_marker(mbs, node)])
            mbs.AddObject(ball)


def _chain(
    mbs: Any, link: Tube, root: Numbers, axes: Numbers, elements: int, slender: bool
) -> tuple[list[int], int]:
    """Nodes of a link of beams, x along its axes, and the body of the lump at its tip."""
    h = link.length / elements
    nodes = [_node(mbs, root + k * h * axes[:, 0], axes) for k in range(elements + 1)]
    section = link.section(h, slender)
    for ends in pairwise(nodes):
        mbs.AddObject(
            items.ObjectBeamGeometricallyExact(
                nodeNumbers=list(ends), length=h, sectionData=section
            )
        )
    bodies = [
        mbs.AddObject(items.ObjectRigidBody(mass=lump, inertia=[0.0] * 6, nodeNumber=node))
        for node, lump in zip((nodes[0], nodes[-1]), link.lumps, strict=True)
    ]
    return nodes, bodies[1]


def _node(mbs: Any, place: Numbers, axes: Numbers) -> int:
    p = Rotation.from_matrix(axes).as_quat(scalar_first=True)
    return mbs.AddNode(items.NodeRigidBodyEP(referenceCoordinates=[*place, *p]))
