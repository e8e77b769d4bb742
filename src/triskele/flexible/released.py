"""The same flexible robot once more, put together from its joints: a check of `assembly`.

Here every link is a frame of its own. Its nodes have six unknowns in O, displacement and rotation,
and its elements are those of the textbooks (Przemieniecki, Theory of Matrix Structural Analysis,
1968), closed forms of length h that know nothing of `link`. In one plane, with deflections v and
rotations t of sections, Phi = 12 E I / (k G A h^2) and r^2 = I / A,

    K = E I / (h^3 (1 + Phi)) [ 12    6 h         -12    6 h         ]
                              [      (4 + Phi) h^2  -6 h (2 - Phi) h^2 ]                (1)
                              [                     12  -6 h         ]
                              [ symmetric               (4 + Phi) h^2 ]

and a mass matrix of the same form; slender beams have Phi = r = 0. In the plane of w and t_y, t
changes its sign. Along and about x,

    E A / h [1 -1; -1 1],   rho A h / 6 [2 1; 1 2],   and the same with G J, rho (Iy + Iz)   (2)

The platform has six unknowns too. Joints are rows C z = 0, as in `mobility`, at the pose of rest:

    u_c - u_p - t_p x s = 0         the point of the joint, s from the parent's node      (3)
    (a x b) . (t_c - t_p) = 0       a universal joint with the axes a and b

motors hold the roots of arms, and a rigid arm is part of the base. In a soft gear the root of an
arm turns about the motor's axis, held by a spring there; a rigid arm is then a node of its own. A
rod on two ball joints spins freely; its spin s is left out where it is, K s = 0, by a row that all
other modes obey anyway,

    s' M z = 0                                                                          (4)

With the columns of Z a basis of all z that obey (3) and (4),

    Z'K Z a = w^2 Z'M Z a,     Z'K Z a = Z'M g                                          (5)

are modes and sag; g is the free fall of every node. Nothing is shared with `link`, `assembly` and
`modes` but the robot: its mechanism, the numbers of its beams, and its lumps.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import block_diag, eigh

from triskele.errors import InputError
from triskele.flexible.beam import Beam
from triskele.flexible.robot import FlexibleRobot
from triskele.kinematics.mechanism import AbstractMechanism, Joint
from triskele.laws.masses import BASE
from triskele.numerics import Components
from triskele.spatial.vectors import WORLD, poses_array

NODE = 6  #: displacement and rotation
_LEAST = 1e-6  #: what a row of C adds to those before it; rows are of size 1
_Matrix = Float[np.ndarray, "_ _"]
_Vector = Float[np.ndarray, "3"]


class _Bar(NamedTuple):
    """A link that bends: its nodes are `first`, `first` + 1, ..., from root to tip."""

    beam: Beam
    lumps: Float[np.ndarray, "2"]
    length: float
    R: Float[np.ndarray, "3 3"]
    p: _Vector  #: of the root
    first: int

    def end(self, point: _Vector, elements: int) -> tuple[int, _Vector]:
        """Node of the end that is nearer to `point`, and where it is."""
        tip = self.p + self.length * self.R[:, 0]
        if np.linalg.norm(point - self.p) < np.linalg.norm(point - tip):
            return self.first, self.p
        return self.first + elements, tip


class _RigidArm(NamedTuple):
    """A rigid arm in a soft gear: the node `first`, on the motor's axis."""

    R: Float[np.ndarray, "3 3"]
    p: _Vector
    first: int

    def end(self, point: _Vector, elements: int) -> tuple[int, _Vector]:
        """The node, and where it is."""
        return self.first, self.p


class _Released(NamedTuple):
    """Matrices of all nodes, the platform's first, and the basis of what joints allow."""

    M: _Matrix
    K: _Matrix
    Z: _Matrix


def released_frequencies(
    robot: FlexibleRobot, x: Components, *, count: int = 8, ball_joints: bool = False
) -> Float[np.ndarray, " modes"]:
    """The lowest `count` frequencies [rad/s] with the platform at `x`, motors held.

    Joints are those of the mechanism. It has rods in pairs turn in universal joints at the elbows,
    lest they spin; with `ball_joints`, they have balls at both ends. Links are whole even if the
    robot's are condensed.
    """
    M, K, Z = _released(robot, x, ball_joints)
    if not 1 <= count <= Z.shape[1]:
        raise InputError(f"This model has 1 to {Z.shape[1]} modes, not {count}.")
    squares = eigh(Z.T @ K @ Z, Z.T @ M @ Z, eigvals_only=True, subset_by_index=(0, count - 1))
    return np.sqrt(np.maximum(squares, 0.0))


def released_sag(
    robot: FlexibleRobot, x: Components, *, ball_joints: bool = False
) -> Float[np.ndarray, "6"]:
    """Displacement [m] and rotation [rad] of the platform at rest at `x`, by all weights."""
    M, K, Z = _released(robot, x, ball_joints)
    fall = np.tile(np.concatenate([np.asarray(robot.gravity), np.zeros(3)]), len(M) // NODE)
    return (Z @ np.linalg.solve(Z.T @ K @ Z, Z.T @ M @ fall))[:NODE]


def _released(robot: FlexibleRobot, x: Components, ball_joints: bool) -> _Released:
    if robot.family != "linear/cubic":
        raise InputError(f"Released links are 'linear/cubic', not '{robot.family}'.")
    mechanism = robot.mechanism
    frames = (WORLD, *mechanism.body_poses(mechanism.inverse(x).components, x))
    names = (BASE, *mechanism.bodies)
    poses = dict(zip(names, np.asarray(poses_array(frames)), strict=True))
    bars = _bars(robot, poses)
    n = robot.elements
    links = {**bars, **_rigid_arms(robot, poses, 1 + len(bars) * (n + 1))}
    size = NODE * (1 + len(bars) * (n + 1) + len(links) - len(bars))
    M, K = np.zeros((size, size)), np.zeros((size, size))
    turned = poses[mechanism.carrier][:, :3]
    M[:NODE, :NODE] = _rigid_body(np.asarray(robot.platform), np.eye(3))
    M[:NODE, :NODE] += _rigid_body(np.asarray(robot.carried), turned)
    for bar in bars.values():
        mass, stiffness = (
            _turned(bar.R, part) for part in _element(bar.beam, bar.length / n, robot.slender)
        )
        for k in range(n):
            index = NODE * (bar.first + k) + np.arange(2 * NODE)
            M[np.ix_(index, index)] += mass
            K[np.ix_(index, index)] += stiffness
        for node, lump in zip((bar.first, bar.first + n), bar.lumps, strict=True):
            index = NODE * node + np.arange(3)
            M[index, index] += lump
    joints = tuple(joint for joint in mechanism.joints() if joint.child in links)
    for limb, name in enumerate(_driven(mechanism)):
        if robot.gears is not None and name in links:
            arm = links[name]
            index = NODE * arm.first + np.arange(NODE)
            if name not in bars:
                M[np.ix_(index, index)] += _rigid_body(np.asarray(robot.arm), arm.R)
            about = np.outer(arm.R[:, 1], arm.R[:, 1])
            turns = np.ix_(index[3:], index[3:])
            M[turns] += float(robot.gears.inertia[limb]) * about
            K[turns] += float(robot.gears.stiffness[limb]) * about
    if ball_joints and mechanism.rod_spacing is not None:
        joints = tuple(j if j.driven else j._replace(kind="spherical") for j in joints)
    turning = robot.gears is not None
    ends = _Ends(mechanism.platform, poses, links, n)
    rows = _joint_rows(joints, ends, size, turning) + _spin_rows(joints, bars, n, M)
    return _Released(M, K, _allowed(np.stack(rows)))


def _driven(mechanism: AbstractMechanism) -> list[str]:
    """The arm of each limb: what its motor turns."""
    looks = {part.body: part.look for part in mechanism.parts}
    turned = (joint.child for joint in mechanism.joints() if joint.driven)
    return [body for body in turned if looks[body] == "arm"]


def _limbs(mechanism: AbstractMechanism) -> dict[str, int]:
    """The limb of each arm, and of each rod that hangs on one, from 0."""
    arms = {body: limb for limb, body in enumerate(_driven(mechanism))}
    struts = {strut.body for strut in mechanism.struts}
    hung = (j for j in mechanism.joints() if j.child in struts and j.parent in arms)
    return arms | {joint.child: arms[joint.parent] for joint in hung}


def _bars(robot: FlexibleRobot, poses: dict[str, Float[np.ndarray, "3 4"]]) -> dict[str, _Bar]:
    """Links that bend, by name, rods first; node 0 is the platform's."""
    mechanism, found = robot.mechanism, {}
    limbs, arms = _limbs(mechanism), _driven(mechanism)
    rods = [body for body in mechanism.bodies if body in limbs and body not in arms]
    kinds = [(rods, robot.rod_beam, robot.rod_lumps, mechanism.rod_length)]
    if robot.arm_beam is not None:
        kinds += [(arms, robot.arm_beam, robot.arm_lumps, mechanism.arm_length)]
    for bodies, beam, lumps, lengths in kinds:
        for name in bodies:
            length, pose = float(lengths[limbs[name]]), poses[name]
            first = 1 + len(found) * (robot.elements + 1)
            found[name] = _Bar(beam, np.asarray(lumps), length, pose[:, :3], pose[:, 3], first)
    return found


def _rigid_arms(
    robot: FlexibleRobot, poses: dict[str, Float[np.ndarray, "3 4"]], first: int
) -> dict[str, _RigidArm]:
    """Rigid arms that turn in soft gears, by name."""
    if robot.gears is None or robot.arm_beam is not None:
        return {}
    return {
        name: _RigidArm(poses[name][:, :3], poses[name][:, 3], first + k)
        for k, name in enumerate(_driven(robot.mechanism))
    }


# Joints


class _Ends(NamedTuple):
    """What joints hold together."""

    platform: str
    poses: Mapping[str, Float[np.ndarray, "3 4"]]
    links: Mapping[str, _Bar | _RigidArm]
    elements: int


def _joint_rows(
    joints: tuple[Joint, ...], ends: _Ends, size: int, turning: bool
) -> list[Float[np.ndarray, " size"]]:
    """Equation (3) of all joints at the ends of links; drives hold, or are `turning`."""
    rows = []
    platform, poses, bars, elements = ends
    for joint in joints:
        T, child = poses[joint.parent], bars[joint.child]
        point = T[:, :3] @ np.array(joint.point, float) + T[:, 3]
        node, _ = child.end(point, elements)
        of_child = _six(NODE * node, size)
        of_parent = np.zeros((NODE, size))
        if joint.parent in bars:
            node, place = bars[joint.parent].end(point, elements)
            of_parent = _carried(_six(NODE * node, size), point - place)
        elif joint.parent == platform:
            of_parent = _carried(_six(0, size), point - T[:, 3])
        relative = of_child - of_parent
        rows += list(relative[:3])
        if joint.driven:
            R = bars[joint.child].R
            rows += list((R[:, [0, 2]].T if turning else np.eye(3)) @ relative[3:])
        elif joint.kind == "universal":
            rows.append(_normal(joint, T[:, :3], child.R) @ relative[3:])
    return rows


def _normal(
    joint: Joint, parent: Float[np.ndarray, "3 3"], child: Float[np.ndarray, "3 3"]
) -> _Vector:
    """Normal to both axes of a universal joint, about which it does not turn."""
    a, b = parent @ np.array(joint.axis, float), child @ np.array(joint.child_axis, float)
    return np.cross(a, b)


def _spin_rows(
    joints: tuple[Joint, ...], bars: dict[str, _Bar], elements: int, M: _Matrix
) -> list[Float[np.ndarray, " size"]]:
    """Equation (4) of all rods on two ball joints."""
    rows = []
    for name, bar in bars.items():
        if {joint.kind for joint in joints if joint.child == name} != {"spherical"}:
            continue
        spin = np.zeros(len(M))
        for k in range(elements + 1):
            place = NODE * (bar.first + k) + 3
            spin[place : place + 3] = bar.R[:, 0]
        row = M @ spin
        rows.append(row / np.linalg.norm(row))
    return rows


def _allowed(C: _Matrix) -> _Matrix:
    """Orthonormal basis Z of all z with C z = 0."""
    Q, R = np.linalg.qr(C.T, mode="complete")
    assert np.abs(np.diag(R)).min() > _LEAST, "links bend, so that no joint repeats another"
    return Q[:, len(C) :]


def _six(place: int, size: int) -> _Matrix:
    """Rows that pick the unknowns of a node."""
    return np.eye(NODE, size, place)


def _carried(six: _Matrix, s: _Vector) -> _Matrix:
    """Displacement and rotation of a point that a node carries, s away from it."""
    return np.concatenate([six[:3] - _cross(s) @ six[3:], six[3:]])


# Matrices


def _rigid_body(
    ten: Float[np.ndarray, "10"], R: Float[np.ndarray, "3 3"]
) -> Float[np.ndarray, "6 6"]:
    """Inertia of a body at its origin, from m, m c, and xx, yy, zz, xy, yz, xz in axes R."""
    m, first = ten[0], _cross(R @ ten[1:4])
    xx, yy, zz, xy, yz, xz = ten[4:]
    inertia = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    return np.block([[m * np.eye(3), -first], [first, inertia]])


def _element(
    beam: Beam, h: float, slender: bool
) -> tuple[Float[np.ndarray, "12 12"], Float[np.ndarray, "12 12"]]:
    """Mass and stiffness of a space beam in its own axes, equations (1) and (2)."""
    mass, (polar, about_y, about_z) = float(beam.mass), np.asarray(beam.rotary)
    M, K = np.zeros((12, 12)), np.zeros((12, 12))
    lines = ((0, float(beam.axial), mass), (3, float(beam.torsion), polar))
    for unknown, stiffness, inertia in lines:
        index = np.ix_(*[[unknown, NODE + unknown]] * 2)
        K[index] = stiffness / h * np.array([[1, -1], [-1, 1]])
        M[index] = inertia * h / 6 * np.array([[2, 1], [1, 2]])
    planes = (
        ((1, 5), 1.0, beam.bending_z, beam.shear_y, about_z),
        ((2, 4), -1.0, beam.bending_y, beam.shear_z, about_y),
    )
    for (v, t), sign, bending, shear, rotary in planes:
        EI = float(bending)
        Phi = 0.0 if slender else 12 * EI / (float(shear) * h * h)
        r_sq = 0.0 if slender else float(rotary) / mass
        signs = np.array([1.0, sign, 1.0, sign])
        both = signs[:, None] * signs[None, :]
        index = np.ix_(*[[v, t, NODE + v, NODE + t]] * 2)
        K[index] = both * _plane_stiffness(EI, h, Phi)
        M[index] = both * mass * h * _plane_mass(h, Phi, r_sq / h**2)
    return M, K


def _plane_stiffness(EI: float, h: float, Phi: float) -> Float[np.ndarray, "4 4"]:
    """Equation (1)."""
    near, far = (4 + Phi) * h * h, (2 - Phi) * h * h
    rows = [
        [12, 6 * h, -12, 6 * h],
        [6 * h, near, -6 * h, far],
        [-12, -6 * h, 12, -6 * h],
        [6 * h, far, -6 * h, near],
    ]
    return EI / (h**3 * (1 + Phi)) * np.array(rows)


def _plane_mass(h: float, Phi: float, s: float) -> Float[np.ndarray, "4 4"]:
    """Przemieniecki's mass matrix over rho A h, with s = (r / h)^2."""
    P, P2 = Phi, Phi * Phi
    a = 13 / 35 + 7 * P / 10 + P2 / 3 + 6 * s / 5
    b = (11 / 210 + 11 * P / 120 + P2 / 24 + (1 / 10 - P / 2) * s) * h
    c = 9 / 70 + 3 * P / 10 + P2 / 6 - 6 * s / 5
    d = (13 / 420 + 3 * P / 40 + P2 / 24 - (1 / 10 - P / 2) * s) * h
    e = (1 / 105 + P / 60 + P2 / 120 + (2 / 15 + P / 6 + P2 / 3) * s) * h * h
    f = (1 / 140 + P / 60 + P2 / 120 + (1 / 30 + P / 6 - P2 / 6) * s) * h * h
    rows = [[a, b, c, -d], [b, e, d, -f], [c, d, a, -b], [-d, -f, -b, e]]
    return np.array(rows) / (1 + P) ** 2


def _turned(
    R: Float[np.ndarray, "3 3"], matrix: Float[np.ndarray, "12 12"]
) -> Float[np.ndarray, "12 12"]:
    """A matrix of an element in O, from that in its own axes."""
    whole = block_diag(R, R, R, R)
    return whole @ matrix @ whole.T


def _cross(a: _Vector) -> Float[np.ndarray, "3 3"]:
    """Matrix of a x."""
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
