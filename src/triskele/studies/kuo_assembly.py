"""The flexible Delta of Kuo in his thirty variables: as printed, as derived, made consistent.

Six variables V_P move the platform; each limb adds six of its elbow, V_B = (u_B, gamma_B), and
two slopes of its rod there. What happens at the wrist follows from the chain (47) of the paper,
its misprints put right,

    Rz(theta) Tx(r_A) Ry(phi_1) Tx(L_1) H_B Ry(phi_2) Rz(phi_3) Tx(L_2) H_D
        Rz(-phi_3) Ry(-phi_1 - phi_2) Tx(-r_B) Rz(-theta) = pose of the platform             (1)

with H_B and H_D the small displacements of elbow and wrist. Linearised, with R_u and R_l the
frames of arm and rod and e = Rz(theta) x, it reads M_B V_B + M_D V_D = V_P, where

    M_B = [[R_u, -[P - B] R_u], [0, R_u]],     P - B = L_2 R_l x - r_B e                      (2)
    M_D = [[R_l, -[P - D] R_l], [0, R_l]],     P - D = -r_B e                                 (3)

and [p] q = p x q. The ends of the links follow, in the order u, phi, v, v', w, w' of a node:

    arm at the motor    0                                            (57) of the paper        (4)
    arm at the elbow    u_B, gamma_B                                 (58)                     (5)
    rod at the elbow    Q u_B, no twist, slopes delta + chord        (59)                     (6)
    rod at the wrist    V_D, slopes of V_D + chord                   (60)                     (7)

with chord = ((v, w) at the wrist - (v, w) at the elbow) / L_2. Nodes inside a link, and at its
ends the derivatives that only cubic/quintic elements have, are variables of their own: in all
6 + 3 (12 n - 4) for n linear/cubic elements per link, (61) of the paper.

Four readings, none of which gives the frequencies of Table 2:

    "as printed"            (52) and (53) as M_B and M_D with their misprints, slopes
                            v' = gamma_2, w' = gamma_3, and Q = Ry(phi_1)^T
    "as derived"            (2) and (3); slopes and Q as printed
    "misprints corrected"   (2) and (3); v' = gamma_3, w' = -gamma_2, Q = (Ry(phi_2) Rz(phi_3))^T
    "made consistent"       the same, but V_D = M_D^-1 V_P

(52) and (53) are (3) and (2) with their names interchanged and one wrong entry each; the sign in
(52) also breaks the period of 120 degrees that the paper's figure 4 shows. Correcting them is not
enough: V_D of (1) is measured from the deflected elbow, while (7) takes it as absolute, so that a
rotation of the elbow carries the wrist along by L_2 gamma_B. The last reading mends this. It keeps
a wrist that is slaved to the platform in all rotations and an elbow without twist, where the robot
has universal joints; its frequencies are higher than those of the robot.

The paper's frame is kept: z down, limbs at 0, 120 and 240 degrees. Ours, turned by pi about x,
exchanges limbs 2 and 3. A positive angle lifts a link here, so that phi_1 = -q.

Reference: Y.-L. Kuo, Mathematical modeling and analysis of the Delta robot with flexible
links, 2016, section 4 and tables 1 to 3.
"""

from functools import lru_cache
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
from jaxtyping import Float
from scipy.linalg import eigh

from triskele.description.load import load
from triskele.description.schema import Body, CrossSection, DeltaRobot
from triskele.errors import UnknownName, did_you_mean
from triskele.flexible.beam import beam
from triskele.flexible.link import link
from triskele.kinematics.build import build

Variant = Literal["as printed", "as derived", "misprints corrected", "made consistent"]
Rotation = Float[np.ndarray, "3 3"]
Ends = Float[np.ndarray, "12 14"]
POSITION = (0.1, 0.0, 0.5)  #: of tables 2 and 3 [m], z down


class Limb(NamedTuple):
    """One limb at rest, in the paper's frame."""

    azimuth: float  #: theta [rad]
    angles: tuple[float, float, float]  #: phi_1, phi_2, phi_3 [rad]
    arm_length: float  #: L_1 [m]
    rod_length: float  #: L_2 [m]
    base_radius: float  #: r_A [m]
    platform_radius: float  #: r_B [m]


class Relation(NamedTuple):
    """M_B and M_D of M_B V_B + M_D V_D = V_P; the upper right blocks in m."""

    elbow: Float[np.ndarray, "6 6"]  #: M_B
    wrist: Float[np.ndarray, "6 6"]  #: M_D


class Assembled(NamedTuple):
    """Matrices of the robot; V_P first, then limb by limb."""

    M: Float[np.ndarray, "dof dof"]  #: kg, kg m, kg m^2
    K: Float[np.ndarray, "dof dof"]  #: N/m, N, N m


def frequencies(
    variant: Variant,
    *,
    elements: int = 1,
    family: str = "linear/cubic",
    count: int = 8,
    position: tuple[float, float, float] = POSITION,
) -> Float[np.ndarray, "count"]:
    """The lowest natural frequencies [rad/s] with the platform at `position` [m], z down.

    >>> frequencies("as printed", count=3).round(4)
    array([14.5029, 20.0645, 21.2924])
    """
    M, K = assembled(variant, elements=elements, family=family, position=position)
    return np.sqrt(eigh(K, M, eigvals_only=True, subset_by_index=[0, count - 1]))


def assembled(
    variant: Variant,
    *,
    elements: int = 1,
    family: str = "linear/cubic",
    position: tuple[float, float, float] = POSITION,
) -> Assembled:
    """Mass and elastic stiffness in (43) of the paper, for a robot at rest without gravity."""
    if variant not in get_args(Variant):
        known = did_you_mean(variant, get_args(Variant))
        raise UnknownName(f"No reading of the assembly is called '{variant}'. {known}")
    robot = _robot()
    platform = robot.require("bodies.platform", "the assembly")
    assert isinstance(platform, Body)
    mass, _, _, _, xx, yy, zz, *_ = platform.ten_parameters
    links = _link("arm", elements, family), _link("rod", elements, family)
    inside = len(links[0].M) - 12
    size = 8 + 2 * inside
    M, K = np.zeros((2, 6 + 3 * size, 6 + 3 * size))
    M[:6, :6] = np.diag([mass, mass, mass, xx, yy, zz])
    for i, limb in enumerate(limbs(position)):
        first = 6 + i * size
        for j, (bar, ends) in enumerate(zip(links, _ends(variant, limb), strict=True)):
            own = first + 8 + j * inside
            S = np.zeros((12 + inside, len(M)))
            S[:12, :6], S[:12, first : first + 8] = ends[:, :6], ends[:, 6:]
            S[12:, own : own + inside] = np.eye(inside)
            M += S.T @ bar.M @ S
            K += S.T @ bar.K @ S
    return Assembled(M, K)


def limbs(position: tuple[float, float, float] = POSITION) -> tuple[Limb, ...]:
    """The three limbs with the platform at `position` [m], in the paper's frame and order.

    With (x, y, z) = Rz(-theta) P, (4) of the paper gives the angles of the rod,

        sin phi_3 = y / L_2
        tan (phi_1 + phi_2) = -(z + L_1 sin phi_1) / (x - r_A + r_B - L_1 cos phi_1).
    """
    robot = _robot()
    geometry = robot.geometry
    X, Y, Z = position
    q = build(robot).inverse(np.array([X, -Y, -Z])).checked()
    found = []
    for i in (0, 2, 1):
        theta, phi_1 = -geometry.azimuth[i] % (2 * np.pi), -float(q[i])
        r_A, r_B = geometry.base_radius[i], geometry.platform_radius[i]
        L_1, L_2 = geometry.arm_length[i], geometry.rod_length[i]
        x, y, z = _about_z(-theta) @ np.array(position)
        x, z = x - r_A + r_B - L_1 * np.cos(phi_1), z + L_1 * np.sin(phi_1)
        phi = phi_1, float(np.arctan2(-z, x)) - phi_1, float(np.arcsin(y / L_2))
        found.append(Limb(theta, phi, L_1, L_2, r_A, r_B))
    return tuple(found)


def derived(limb: Limb) -> Relation:
    """(2) and (3)."""
    R_u, R_l = _frames(limb)
    to_centre = -limb.platform_radius * _about_z(limb.azimuth)[:, 0]
    return Relation(
        elbow=_carried(R_u, limb.rod_length * R_l[:, 0] + to_centre),
        wrist=_carried(R_l, to_centre),
    )


def printed(limb: Limb) -> Relation:
    """(52) and (53) of the paper, letter by letter."""
    c_t, s_t = np.cos(limb.azimuth), np.sin(limb.azimuth)
    (c_1, c_2, c_3), (s_1, s_2, s_3) = np.cos(limb.angles), np.sin(limb.angles)
    phi_12 = limb.angles[0] + limb.angles[1]
    c_12, s_12 = np.cos(phi_12), np.sin(phi_12)
    L_1, L_2, r_B = limb.arm_length, limb.rod_length, limb.platform_radius
    R_52 = [
        [-s_3 * s_t + c_12 * c_3 * c_t, -c_3 * s_t - c_12 * s_3 * c_t, s_12 * c_t],
        [s_3 * c_t + c_12 * c_3 * s_t, c_3 * c_t - c_12 * s_3 * s_t, s_12 * s_t],
        [-s_12 * c_3, s_12 * s_3, c_12],
    ]
    arms_52 = [
        [r_B * s_12 * c_3 * s_t, r_B * s_12 * s_3 * s_t, r_B * c_12 * s_t],
        [r_B * s_12 * c_3 * c_t, -r_B * s_12 * s_3 * c_t, -r_B * c_12 * c_t],
        [r_B * s_3, r_B * c_3, 0],
    ]
    R_53 = [[c_1 * c_t, -s_t, s_1 * c_t], [c_1 * s_t, c_t, s_1 * s_t], [-s_1, 0, c_1]]
    arms_53 = [
        [
            -r_B * s_1 * s_t + L_2 * (s_1 * s_3 * c_t - s_2 * c_3 * s_t),
            -L_2 * s_12 * c_3 * c_t,
            r_B * c_1 * s_t - L_2 * (c_1 * s_3 * c_t + c_2 * c_3 * s_t),
        ],
        [
            r_B * s_1 * c_t + L_2 * (s_2 * c_3 * c_t + s_1 * s_3 * s_t),
            -L_2 * s_12 * c_3 * s_t,
            -r_B * c_1 * c_t + L_2 * (c_2 * c_3 * c_t - c_1 * s_3 * s_t),
        ],
        [L_2 * c_1 * s_3, r_B - L_2 * c_12 * c_3, L_1 * s_1 * s_3],
    ]
    return Relation(_blocks(R_52, arms_52), _blocks(R_53, arms_53))


def _ends(variant: Variant, limb: Limb) -> tuple[Ends, Ends]:
    """(4) to (7): the ends of arm and rod from V_P, V_B and the two slopes at the elbow."""
    V_P, V_B, slopes = np.split(np.eye(14), [6, 12])
    none = np.zeros(14)
    M_B, M_D = printed(limb) if variant == "as printed" else derived(limb)
    relative = 0 if variant == "made consistent" else M_B @ V_B
    V_D = np.linalg.solve(M_D, V_P - relative)
    if variant in ("as printed", "as derived"):
        Q = _about_y(limb.angles[0]).T
        slope_B, slope_D = V_B[4:], V_D[4:]
    else:
        R_u, R_l = _frames(limb)
        Q = R_l.T @ R_u
        slope_B, slope_D = (np.array([V[5], -V[4]]) for V in (V_B, V_D))
    u, v, w = Q @ V_B[:3]
    chord = (V_D[1:3] - np.array([v, w])) / limb.rod_length
    arm = [none] * 6 + [V_B[0], V_B[3], V_B[1], slope_B[0], V_B[2], slope_B[1]]
    (dv, dw), (dv_D, dw_D) = slopes + chord, slope_D + chord
    rod = [u, none, v, dv, w, dw, V_D[0], V_D[3], V_D[1], dv_D, V_D[2], dw_D]
    return np.array(arm), np.array(rod)


def _robot() -> DeltaRobot:
    robot = load("flexible_delta")
    assert isinstance(robot, DeltaRobot)
    return robot


@lru_cache(maxsize=32)
def _link(part: Literal["arm", "rod"], elements: int, family: str) -> Assembled:
    """A link by itself, its two ends first."""
    robot = _robot()
    section = robot.require(f"sections.{part}", "the assembly")
    assert isinstance(section, CrossSection)
    lengths = robot.geometry.arm_length if part == "arm" else robot.geometry.rod_length
    bar = beam(section, robot.materials[section.material])
    found = link(bar, lengths[0], elements=elements, family=family)
    return Assembled(np.asarray(found.M), np.asarray(found.K))


def _frames(limb: Limb) -> tuple[Rotation, Rotation]:
    """R_u and R_l."""
    phi_1, phi_2, phi_3 = limb.angles
    R_u = _about_z(limb.azimuth) @ _about_y(phi_1)
    return R_u, R_u @ _about_y(phi_2) @ _about_z(phi_3)


def _carried(R: Rotation, p: Float[np.ndarray, "3"]) -> Float[np.ndarray, "6 6"]:
    """How a point p away moves with a body displaced by six numbers in axes R."""
    return _blocks(R, -np.cross(p, R, axisb=0, axisc=0))


def _blocks(R: npt.ArrayLike, arms: npt.ArrayLike) -> Float[np.ndarray, "6 6"]:
    return np.block([[np.asarray(R), np.asarray(arms)], [np.zeros((3, 3)), np.asarray(R)]])


def _about_y(angle: float) -> Rotation:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def _about_z(angle: float) -> Rotation:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
