"""Motion of the bodies, and the forces it takes, body by body.

T_b = [R_b p_b] is the pose of body b, P_b its pseudo-inertia, g gravity and G = [0 0 0 g].
d'Alembert's forces on the mass points of a body do the power <W_b, Td_b>, with

    W_b = (Tdd_b - G) P_b                                                              (1)

a 3 x 4 matrix like the pose itself: the wrench that moves the body, in the form that
belongs to its pose. It is linear in P and in Tdd. As force and moment at the frame's origin

    f = W_p,     n = sum_j R_j x W_j                                                   (2)

and a moment n alone is W_j = n x R_j / 2. Angular velocity is w = sum_j R_j x Rd_j / 2.
"""

from typing import NamedTuple

import jax

from triskele.dynamics.robot import RigidRobot
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.velocity import ClosureJacobians, joint_acceleration
from triskele.numerics import (
    Components,
    Scalar,
    Scalars,
    as_scalars,
    jvp,
    safe_divide,
    solve,
    spread,
    transpose,
    vjp,
)
from triskele.spatial.inertia import second_moments
from triskele.spatial.vectors import Frame, Triple, add, combine, cross, dot, plus, scale, subtract

Frames = tuple[Frame, ...]
STILL = Frame(*((0.0, 0.0, 0.0),) * 4)  #: what does not move, or nothing that moves it


class MotionState(NamedTuple):
    """All that moves at one instant: joints, platform and bodies."""

    q: Scalars
    qd: Scalars
    qdd: Scalars
    x: Scalars
    xd: Scalars
    closure: ClosureJacobians
    T: Frames
    Td: Frames
    Tdd: Frames


def motion_state(
    mechanism: AbstractMechanism, x: Components, xd: Components, xdd: Components
) -> MotionState:
    """Joints and bodies when the platform moves with `x`, `xd`, `xdd`, in the working mode."""
    x = as_scalars(x)
    return motion_state_at(mechanism, mechanism.inverse(x).components, x, xd, xdd)


def motion_state_at(
    mechanism: AbstractMechanism, q: Components, x: Components, xd: Components, xdd: Components
) -> MotionState:
    """The same where the joints `q` are known as well."""
    q, x, xd, xdd = (as_scalars(part) for part in (q, x, xd, xdd))
    qd, qdd, closure = joint_acceleration(mechanism, q, x, xd, xdd)
    frames = mechanism.body_poses(q, x)
    moving = [type(leaf) is not float for leaf in jax.tree.leaves(frames)]

    def poses(q: Scalars, x: Scalars) -> Scalars:
        return _chosen(mechanism.body_poses(q, x), moving)

    def velocity(q: Scalars, x: Scalars, qd: Scalars, xd: Scalars) -> Scalars:
        return jvp(poses, (q, x), (qd, xd))[1]

    Td, Tdd = jvp(velocity, (q, x, qd, xd), (qd, xd, qdd, xdd))
    rates = (_spread(part, moving, frames) for part in (Td, Tdd))
    return MotionState(q, qd, qdd, x, xd, closure, frames, *rates)


def inertial_wrenches(robot: RigidRobot, accelerations: Frames, gravity: Triple) -> Frames:
    """W of (1) for each body; gravity may be left out by giving zeros."""
    return tuple(
        _inertial(second_moments(ten), acceleration, gravity)
        for ten, acceleration in zip(robot.inertias(), accelerations, strict=True)
    )


def payload_wrench(robot: RigidRobot, accelerations: Frames, gravity: Triple) -> Frame:
    """W of the payload alone, in the frame of its carrier."""
    place = robot.mechanism.bodies.index(robot.carrier)
    return _inertial(second_moments(tuple(robot.payload)), accelerations[place], gravity)


def _inertial(P: tuple[Scalars, ...], Tdd: Frame, g: Triple) -> Frame:
    columns = (Tdd.x, Tdd.y, Tdd.z, subtract(Tdd.p, g))
    return Frame(*(combine(*((P[k][j], columns[k]) for k in range(4))) for j in range(4)))  # pyright: ignore[reportArgumentType]


def pulled_back(
    mechanism: AbstractMechanism, q: Components, x: Components, wrenches: Frames
) -> tuple[Scalars, Scalars]:
    """(f_q, f_x): what `wrenches` on the bodies are on the coordinates, by virtual power.

    Entries that are structural zeros, of a pose or of a wrench, are left out of the trace.
    """
    q, x = as_scalars(q), as_scalars(x)
    frames = mechanism.body_poses(q, x)
    pairs = zip(jax.tree.leaves(frames), jax.tree.leaves(wrenches), strict=True)
    chosen = [type(pose) is not float and type(wrench) is not float for pose, wrench in pairs]

    def poses(q: Scalars, x: Scalars) -> Scalars:
        return _broadcast(_chosen(mechanism.body_poses(q, x), chosen), x[0])

    _, back = vjp(poses, q, x)
    return back(_broadcast(_chosen(wrenches, chosen), x[0]))


def to_joints(closure: ClosureJacobians, f_q: Scalars, f_x: Scalars) -> Scalars:
    """Joint efforts that do the power of f_q and f_x: tau = f_q - B' lam with A' lam = f_x."""
    lam = solve(transpose(closure.A), f_x)
    return tuple(f - b * k for f, b, k in zip(f_q, closure.B, lam, strict=True))


def to_platform(closure: ClosureJacobians, f_q: Scalars, f_x: Scalars) -> Scalars:
    """The same as forces on the platform coordinates: f_x + (dq/dx)' f_q."""
    A, B = closure
    lam = tuple(safe_divide(f, b) for f, b in zip(f_q, B, strict=True))
    return tuple(
        f_x[j] - sum(row[j] * k for row, k in zip(A, lam, strict=True)) for j in range(len(f_x))
    )


def as_force_and_moment(T: Frame, W: Frame) -> tuple[Triple, Triple]:
    """Force [N], and moment at the origin of the frame [N m], of (2)."""
    return W.p, add(add(cross(T.x, W.x), cross(T.y, W.y)), cross(T.z, W.z))


def of_moment(T: Frame, n: Triple) -> Frame:
    """W of a moment `n` [N m] on a body at T."""
    x, y, z = (scale(0.5, cross(n, axis)) for axis in T[:3])
    return Frame(x, y, z, (0.0, 0.0, 0.0))


def angular_velocity(T: Frame, Td: Frame) -> Triple:
    """w [rad/s] in O; also angular acceleration, from the second derivative of T."""
    total = add(add(cross(T.x, Td.x), cross(T.y, Td.y)), cross(T.z, Td.z))
    return scale(0.5, total)


def power(motion: Frames, wrenches: Frames) -> Scalar:
    """Sum of <W_b, Td_b> over the bodies [W]."""
    total: Scalar = 0.0
    for Td, W in zip(motion, wrenches, strict=True):
        for rate, force in zip(Td, W, strict=True):
            total = plus(total, dot(rate, force))
    return total


def _chosen(frames: Frames, chosen: list[bool]) -> Scalars:
    leaves = jax.tree.leaves(frames)
    return tuple(leaf for leaf, take in zip(leaves, chosen, strict=True) if take)


def _spread(values: Scalars, chosen: list[bool], like: Frames) -> Frames:
    """The inverse of `_chosen`, with structural zeros elsewhere."""
    found = iter(values)
    leaves = [next(found) if take else 0.0 for take in chosen]
    return jax.tree.unflatten(jax.tree.structure(like), leaves)


def _broadcast(values: Scalars, like: Scalar) -> Scalars:
    return tuple(spread(value, like) for value in values)
