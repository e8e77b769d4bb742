"""Forces and moments in the joints, and efforts of the drives, from the multipliers.

The conditions of a joint act on its child with the force F and, about the joint's point, the
moment N, and with the opposite on its parent:

    F = -sum_rows J_v' lam,     N = -sum_rows J_w' lam - s_j x F                            (1)

summed over the joint's own rows, its drive's included. A drive that moves q as prescribed
does the power lam C_q qd: its effort is lam C_q. Springs and friction in a joint are forces
of their own (`forces.py`) and not in (1).

Where conditions are redundant (`redundancy.py`), rigid bodies do not tell how joints share
the load: the least multipliers are given, moments divided by the system's size, and `unique`
says which components are more than a choice.
"""

from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from triskele.multibody.forces import axis_motion, forces, inertia_in_base, rotor_terms
from triskele.multibody.primitives import BodyMotion, Drive, Rows
from triskele.multibody.redundancy import STRESS_CUT, self_stress
from triskele.multibody.solve import Accelerations, accelerations
from triskele.multibody.system import (
    State,
    System,
    conditions,
    driven_places,
    jacobian,
    motion_of,
)

In = Literal["world", "parent", "child"]


class JointReactions(NamedTuple):
    """What N states of motion ask of the joints: from parent to child, at the joint's point."""

    joints: tuple[str, ...]
    motors: tuple[str, ...]  #: joints of the drives
    force: Float[np.ndarray, "N joints 3"]  #: [N]
    moment: Float[np.ndarray, "N joints 3"]  #: [N m]
    effort: Float[np.ndarray, "N motors"]  #: of the drives [N m, N]
    unique: Bool[np.ndarray, "joints 6"]  #: force and moment, along the joint's frame
    unique_effort: Bool[np.ndarray, " motors"]
    gap: Float[np.ndarray, " N"]  #: largest residual of the joints' conditions [m]
    imbalance: float  #: largest power that (1) and the forces leave over [W]

    def of(self, joint: str) -> tuple[Float[np.ndarray, "N 3"], Float[np.ndarray, "N 3"]]:
        """Force and moment in the joint of that name."""
        index = self.joints.index(joint)
        return self.force[:, index], self.moment[:, index]


class _Found(NamedTuple):
    """Kernel results at one state."""

    force: Array
    moment: Array
    effort: Array
    power: Array
    gap: Array


def reactions(
    system: System,
    states: State,
    efforts: Float[Array, "N motors"] | None = None,
    drive: Drive | None = None,
    *,
    expressed_in: In = "world",
) -> JointReactions:
    """Reactions at N states (a `State` of stacked arrays) under efforts or prescribed motion.

    States must meet the conditions of the joints. Forces and moments are in O, or in the axes
    of each joint's parent or child.
    """
    count = len(states.r)
    asked = jnp.zeros((count, len(system.motors))) if efforts is None else jnp.asarray(efforts)
    asked = without_driven(system, asked)
    found = _mapped(system, states, asked, drive, expressed_in)
    first, told = jax.tree.map(lambda leaf: leaf[0], (states, drive))
    unique, unique_effort = _uniqueness(system, first, told)
    return JointReactions(
        tuple(joint.name for joint in system.joints),
        tuple(axis.joint for axis in system.motors),
        np.asarray(found.force),
        np.asarray(found.moment),
        np.asarray(found.effort),
        unique,
        unique_effort,
        np.asarray(found.gap),
        float(jnp.abs(found.power).max()),
    )


@eqx.filter_jit
def _mapped(
    system: System,
    states: State,
    efforts: Array,
    drive: Drive | None,
    expressed_in: In,
) -> _Found:
    def at(sample: tuple[State, Array, Drive | None]) -> _Found:
        return _at(system, *sample, expressed_in)

    return jax.lax.map(at, (states, efforts, drive))


def _at(
    system: System, state: State, efforts: Array, drive: Drive | None, expressed_in: In
) -> _Found:
    motion = motion_of(system, state)
    rows = conditions(system, motion, drive)
    found = accelerations(system, state, efforts, drive)
    force, moment = joint_wrenches(system, motion, rows, found.lam)
    if expressed_in != "world":
        bodies = [system.body(getattr(joint, expressed_in)) for joint in system.joints]
        A = motion.A[np.array(bodies, int)]
        force, moment = (jnp.einsum("jba,jb->ja", A, part) for part in (force, moment))
    given = motor_efforts(system, motion, drive, found.lam, efforts)
    power = _power(system, motion, rows, efforts, found)
    return _Found(force, moment, given, power, jnp.abs(rows.residual).max(initial=0.0))


def joint_wrenches(
    system: System, motion: BodyMotion, rows: Rows, lam: Float[Array, " rows"]
) -> tuple[Float[Array, "joints 3"], Float[Array, "joints 3"]]:
    """F and N of (1) for every joint, in O."""
    owner = np.zeros((len(system.joints), len(lam)))
    for index, joint in enumerate(system.joints):
        owner[index, list(joint.rows)] = 1.0
    wrench = -jnp.asarray(owner) @ (lam[:, None] * rows.child)  # at the child's centre of mass
    places = joint_points(system, motion)
    bodies = np.array([system.body(joint.child) for joint in system.joints], int)
    lever = places - motion.r[bodies]
    force = wrench[:, :3]
    return force, wrench[:, 3:] - jnp.cross(lever, force)


def joint_points(system: System, motion: BodyMotion) -> Float[Array, "joints 3"]:
    """Where each joint's point, on its child, is in O [m]; the child's centre if it has none."""
    found = []
    for joint in system.joints:
        child = system.body(joint.child)
        u = _child_point(system, joint.rows)
        place = motion.r[child] if u is None else motion.r[child] + motion.A[child] @ u
        found.append(place)
    return jnp.stack(found) if found else jnp.zeros((0, 3))


def _child_point(system: System, rows: tuple[int, ...]) -> Array | None:
    """The child's point [m] of the first row that has one."""
    points, dots = 3 * len(system.points.pairs), len(system.dots.pairs)
    lines = len(system.lines.pairs)
    for row in rows:
        if row < points:
            return system.points.u_j[row // 3]
        after = row - points - dots
        if 0 <= after < lines:
            return system.lines.u_j[after]
        if 0 <= after - lines < len(system.distances.pairs):
            return system.distances.u_j[after - lines]
    return None


def without_driven(system: System, efforts: Float[Array, "*N motors"]) -> Float[Array, "*N motors"]:
    """`efforts` of all motors with those left out that follow a given motion."""
    if not system.prescribed:
        return efforts
    return jnp.where(np.array([axis.driven for axis in system.motors]), 0.0, efforts)


def motor_efforts(
    system: System,
    motion: BodyMotion,
    drive: Drive | None,
    lam: Float[Array, " rows"],
    efforts: Float[Array, " motors"],
) -> Float[Array, " motors"]:
    """`efforts` of the motors, and of those that follow a given motion what this takes."""
    if drive is None or not system.prescribed:
        return efforts
    places = [k for k, axis in enumerate(system.motors) if axis.driven]
    return efforts.at[np.array(places, int)].set(drive_efforts(system, motion, drive, lam))


def drive_efforts(
    system: System, motion: BodyMotion, drive: Drive, lam: Float[Array, " rows"]
) -> Float[Array, " driven"]:
    """lam C_q of each motor that follows a given motion [N m, N]."""
    (turning, turns), (sliding, _) = driven_places(system, "turn"), driven_places(system, "slide")
    start = len(lam) - len(turning) - len(sliding)
    group = system.turns.chosen(turns)
    A_i, A_j = group.pairs.of(motion.A)
    q = drive.q[np.array(turning, int)][:, None]
    along = jnp.einsum("nab,nb->na", A_i, jnp.cos(q) * group.e1 + jnp.sin(q) * group.e2)
    f = jnp.einsum("nab,nb->na", A_j, group.f)
    slopes = jnp.concatenate([system.size * jnp.sum(along * f, axis=-1), -jnp.ones(len(sliding))])
    order = np.argsort(np.array([*turning, *sliding], int))
    return (lam[start:] * slopes)[order]


def _power(
    system: System, motion: BodyMotion, rows: Rows, efforts: Array, found: Accelerations
) -> Array:
    """What Newton's equations leave over, as power [W]: (f - J' lam - M a) . v, rotors included."""
    twists = jnp.concatenate([motion.v, motion.w], axis=-1)[:-1]
    f = forces(system, motion, efforts)[:-1] - (jacobian(system, rows).T @ found.lam).reshape(-1, 6)
    inertia = inertia_in_base(system, motion)
    inert = jnp.concatenate(
        [
            system.mass[:, None] * found.twist[:, :3],
            jnp.einsum("bij,bj->bi", inertia, found.twist[:, 3:]),
        ],
        axis=-1,
    )
    left = jnp.sum((f - inert) * twists)
    if system.coupled:
        W, bias = rotor_terms(system, motion)
        left = left - (system.rotors * (W @ found.twist.reshape(-1) + bias)) @ (
            axis_motion(system, motion).qd
        )
    return left


def _uniqueness(
    system: System, state: State, drive: Drive | None
) -> tuple[Bool[np.ndarray, "joints 6"], Bool[np.ndarray, " motors"]]:
    """Components in which no state of stress appears."""
    J, force, moment, slopes, A = (np.asarray(part) for part in _shares(system, state, drive))
    stress = self_stress(J)
    felt = np.zeros((len(system.joints), 6))
    for index, joint in enumerate(system.joints):
        E = A[system.body(joint.parent)] @ np.asarray(system.frames[index])
        parts = np.concatenate([E.T @ force[index] @ stress, E.T @ moment[index] @ stress])
        felt[index] = np.abs(parts).max(axis=1, initial=0.0)
    driven = np.abs(slopes @ stress).max(axis=1, initial=0.0)
    return felt <= STRESS_CUT, driven <= STRESS_CUT


@eqx.filter_jit
def _shares(
    system: System, state: State, drive: Drive | None
) -> tuple[Array, Array, Array, Array, Array]:
    """J, and what each multiplier gives to forces, moments and efforts: (joints, 3, rows)."""
    motion = motion_of(system, state)
    rows = conditions(system, motion, drive)

    def of(lam: Array) -> tuple[Array, Array, Array]:
        force, moment = joint_wrenches(system, motion, rows, lam)
        none = jnp.zeros(len(system.motors))
        return force, moment, motor_efforts(system, motion, drive, lam, none)

    force, moment, slopes = jax.vmap(of, out_axes=-1)(jnp.eye(len(rows.residual)))
    return jacobian(system, rows), force, moment, slopes, motion.A
