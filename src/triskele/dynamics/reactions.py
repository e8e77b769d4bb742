"""Reactions in every joint of any mechanism, from the balance of each body.

Each joint j transmits a force F_j at its point and a moment N_j, from its parent to its
child, in the directions that it does not leave free,

    spherical 3 + 0    universal 3 + 1    revolute 3 + 2    prismatic 2 + 3    fixed 3 + 3

and a driven joint also what its motor does: a moment about the axis of a revolute joint, a
force along a prismatic one, a moment along the cross of a driven spherical joint (motor and
cardan in one). With the wrench (f_b, n_b) that moves each body (`wrenches.py`),

    sum over joints of b of +-(F_j, (p_j - p_b) x F_j + N_j) = (f_b, n_b)              (1)

is a linear system, square for a mechanism without redundant constraints: then reactions are
unique. Otherwise (a D3S-800 has 18 redundant constraints) the least ones are given, those of
smallest norm with moments divided by the length of a loop, and `unique` says which
components rigid bodies determine at all. Friction of passive joints is a known load.
"""

from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from triskele.dynamics.inverse import moving_wrenches
from triskele.dynamics.robot import RigidRobot
from triskele.dynamics.wrenches import MotionState, as_force_and_moment, motion_state
from triskele.errors import InputError
from triskele.kinematics.mechanism import AbstractMechanism, Joint
from triskele.numerics import Scalars, tabulate

_RANK_CUT = 1e-9  #: singular values below this part of the largest count as zero
_CHUNK = 256  #: states solved at once: their matrices stay below 20 MB
_LOOKED_AT = 5  #: states, over all of them, at which uniqueness is judged
Numbers = Float[np.ndarray, "..."]


class Reactions(NamedTuple):
    """Forces and moments from parent to child, in O, at N states."""

    joints: tuple[Joint, ...]
    force: Float[np.ndarray, "N joints 3"]  #: [N]
    moment: Float[np.ndarray, "N joints 3"]  #: [N m], at the joint's point
    unique: Bool[np.ndarray, "joints 6"]
    #: whether rigid statics determines each component, in O; judged at some of the states
    axes: Float[np.ndarray, "N drives 3"]  #: of the driven joints, in O

    def of(self, joint: str) -> tuple[Numbers, Numbers]:
        """Force and moment in the joint of that name, (N, 3) each."""
        index = [item.name for item in self.joints].index(joint)
        return self.force[:, index], self.moment[:, index]

    def drive_efforts(self) -> Float[np.ndarray, "N n"]:
        """What the drives do to the mechanism [N m, N]: reactions along the driven axes.

        Inverse dynamics by another way: the inertia and friction of motors are not in it.
        """
        efforts = []
        for axis, k in zip(np.moveaxis(self.axes, 1, 0), self.driven, strict=True):
            part = self.force if self.joints[k].kind == "prismatic" else self.moment
            efforts.append(np.sum(part[:, k] * axis, axis=-1))
        return np.stack(efforts, axis=-1)

    @property
    def driven(self) -> list[int]:
        """Places of the driven joints."""
        return [k for k, joint in enumerate(self.joints) if joint.driven]


def reactions(robot: RigidRobot, x: ArrayLike, xd: ArrayLike, xdd: ArrayLike) -> Reactions:
    """Reactions in all joints at N states of motion, (N, n) arrays; by (1)."""
    if any(robot.springs):
        raise InputError("Reactions of joints that are springs (flexures) are not modelled here.")
    poses, wrenches = tabulate(eqx.Partial(_bodies, robot))(x, xd, xdd)
    return solved_reactions(robot, np.stack(poses, axis=-1), np.stack(wrenches, axis=-1))


def _bodies(robot: RigidRobot, x: Scalars, xd: Scalars, xdd: Scalars) -> tuple[Scalars, Scalars]:
    """A kernel for `numerics.tabulate`."""
    return body_loads(robot, motion_state(robot.mechanism, x, xd, xdd))


def body_loads(robot: RigidRobot, state: MotionState) -> tuple[Scalars, Scalars]:
    """Columns of each pose, 12 a body, and the force and moment each body takes, 6 a body."""
    loads = []
    for T, W in zip(state.T, moving_wrenches(robot, state), strict=True):
        for part in as_force_and_moment(T, W):
            loads += part
    return tuple(entry for T in state.T for axis in T for entry in axis), tuple(loads)


def solved_reactions(robot: RigidRobot, columns: Numbers, wrenches: Numbers) -> Reactions:
    """Reactions from what `body_loads` gives for N states, (N, 12 bodies) and (N, 6 bodies)."""
    poses = np.swapaxes(columns.reshape(len(columns), -1, 4, 3), -1, -2)
    loads = wrenches.reshape(len(wrenches), -1, 6)
    frames = _JointFrames(robot.mechanism)
    parts = [
        frames.solved(poses[start : start + _CHUNK], loads[start : start + _CHUNK])
        for start in range(0, len(poses), _CHUNK)
    ]
    force, moment = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Reactions(frames.joints, force, moment, frames.unique(poses), frames.axes(poses))


class _JointFrames:
    """Where the joints of a mechanism are, and the columns of (1) that they make."""

    def __init__(self, mechanism: AbstractMechanism) -> None:
        self.joints = mechanism.joints()
        names = ("base", *mechanism.bodies)
        self._parents = [names.index(joint.parent) for joint in self.joints]
        self._children = [names.index(joint.child) for joint in self.joints]
        self._size = max(float(np.asarray(loop)) for loop in mechanism.scales().loops)

    def solved(self, poses: Numbers, loads: Numbers) -> tuple[Numbers, Numbers]:
        """Force and moment of each joint, (N, joints, 3) each."""
        matrix, forces, moments = self._system(poses)
        right = np.concatenate([loads[..., :3], loads[..., 3:] / self._size], axis=-1)
        right = right.reshape(len(right), -1, 1)
        if matrix.shape[-1] < matrix.shape[-2]:
            raise InputError(
                f"The joints of this mechanism cannot hold it: {matrix.shape[-1]} reactions for "
                f"{matrix.shape[-2]} equations of balance."
            )
        try:
            if matrix.shape[-1] == matrix.shape[-2]:
                shares = np.linalg.solve(matrix, right)[..., 0]
            else:  # the least of many: A' (A A')^-1 b
                across = np.swapaxes(matrix, -1, -2)
                shares = (across @ np.linalg.solve(matrix @ across, right))[..., 0]
        except np.linalg.LinAlgError:
            raise InputError(
                "The joints of this mechanism cannot hold it in some pose of the motion: it is "
                "singular there."
            ) from None
        return (
            np.einsum("nk,nkjd->njd", shares, forces),
            np.einsum("nk,nkjd->njd", shares, moments) * self._size,
        )

    def axes(self, poses: Numbers) -> Numbers:
        """Axes of the driven joints, turned with the bodies that hold them."""
        found = []
        for joint, parent in zip(self.joints, self._parents, strict=True):
            if joint.driven:
                axis = np.asarray(joint.axis, float)
                turned = axis if parent == 0 else poses[:, parent - 1, :, :3] @ axis
                found.append(np.broadcast_to(turned, (len(poses), 3)))
        return np.stack(found, axis=1)

    def unique(self, poses: Numbers) -> Bool[np.ndarray, "joints 6"]:
        """Components in which no self-stress of the mechanism appears."""
        chosen = np.unique(np.linspace(0, len(poses) - 1, _LOOKED_AT).round().astype(int))
        found = np.ones((len(self.joints), 6), bool)
        for matrix, forces, moments in zip(*self._system(poses[chosen]), strict=True):
            _, values, rows = np.linalg.svd(matrix)
            null = rows[int((values > _RANK_CUT * values[0]).sum()) :]
            stress = [np.einsum("sk,kjd->sjd", null, part) for part in (forces, moments)]
            found &= np.all(np.abs(np.concatenate(stress, axis=-1)) <= _RANK_CUT, axis=0)
        return found

    def _system(self, poses: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """The matrix of (1), lengths in loops, and what each unknown is: force and moment."""
        still = np.broadcast_to(np.eye(3, 4), (len(poses), 1, 3, 4))
        poses = np.concatenate([still, poses], axis=1)
        columns, forces, moments = [], [], []
        for index, joint in enumerate(self.joints):
            parent, child = poses[:, self._parents[index]], poses[:, self._children[index]]
            point = child[:, :, 3] + child[:, :, :3] @ np.asarray(joint.child_point, float)
            for force, moment in _transmitted(joint, parent, child):
                column = np.zeros((len(poses), poses.shape[1], 6))
                for body, sign in ((self._children[index], 1.0), (self._parents[index], -1.0)):
                    lever = (point - poses[:, body, :, 3]) / self._size
                    column[:, body, :3] = sign * force
                    column[:, body, 3:] = sign * (np.cross(lever, force) + moment)
                columns.append(column[:, 1:].reshape(len(poses), -1))
                forces.append(_placed(force, index, len(self.joints)))
                moments.append(_placed(moment, index, len(self.joints)))
        return (
            np.stack(columns, axis=-1),
            np.stack(forces, axis=1),
            np.stack(moments, axis=1),
        )


def _placed(vector: Numbers, index: int, count: int) -> Numbers:
    placed = np.zeros((len(vector), count, 3))
    placed[:, index] = vector
    return placed


def _transmitted(joint: Joint, parent: Numbers, child: Numbers) -> list[tuple[Numbers, Numbers]]:
    """The unit forces and unit moments that a joint transmits, (N, 3) pairs."""
    nothing = np.zeros((len(parent), 3))
    world = [np.broadcast_to(axis, nothing.shape) for axis in np.eye(3)]

    def forces(axes: list[Numbers]) -> list[tuple[Numbers, Numbers]]:
        return [(axis, nothing) for axis in axes]

    def moments(axes: list[Numbers]) -> list[tuple[Numbers, Numbers]]:
        return [(nothing, axis) for axis in axes]

    if joint.kind == "fixed":
        return forces(world) + moments(world)
    if joint.axis is None:
        return forces(world)
    axis = parent[:, :, :3] @ np.asarray(joint.axis, float)
    second = None if joint.child_axis is None else child[:, :, :3] @ np.asarray(joint.child_axis)
    if joint.kind == "spherical":
        if not joint.driven or second is None:
            return forces(world)
        cross = axis - np.sum(axis * second, axis=-1, keepdims=True) * second
        return forces(world) + moments([_unit(cross)])
    if joint.kind == "universal":
        assert second is not None, "a universal joint has two axes"
        return forces(world) + moments([_unit(np.cross(axis, second))])
    if joint.kind == "revolute":
        return forces(world) + moments(world if joint.driven else _across(axis))
    return forces(world if joint.driven else _across(axis)) + moments(world)


def _unit(vector: Numbers) -> Numbers:
    return vector / np.linalg.norm(vector, axis=-1, keepdims=True)


def _across(axis: Numbers) -> list[Numbers]:
    """Two unit vectors across `axis`, starting from the world axis it is farthest from."""
    far = np.eye(3)[np.abs(axis).argmin(axis=-1)]
    first = _unit(np.cross(axis, far))
    return [first, np.cross(axis, first)]
