"""Degrees of freedom of a mechanism, counted from the rank of its joint constraints.

Each joint forbids relative velocities of its two bodies: all three at its point, or two for
a slide, and relative rotations about directions that its axes leave out,

    spherical 3 + 0    universal 3 + 1    revolute 3 + 2    prismatic 2 + 3 rows

With the twists of all bodies as unknowns these rows form a matrix C. Mobility is
6 bodies - rank C, and rows - rank C of them are redundant: forces in those joints cannot be
told apart by rigid statics. Counting joints alone (Gruebler) gets Deltas wrong.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triskele.kinematics.mechanism import AbstractMechanism, Joint
from triskele.numerics import Components
from triskele.spatial.vectors import WORLD, poses_array

_RANK_CUT = 1e-9  #: singular values below this part of the largest count as zero
Numbers = NDArray[np.float64]


class Mobility(NamedTuple):
    """How freely the bodies move at one configuration."""

    bodies: int
    rows: int  #: constraints of the joints
    rank: int  #: independent ones
    freedom: int  #: degrees of freedom
    redundant: int  #: constraints that repeat others
    gap: float  #: smallest kept over largest dropped singular value; large is clear


def mobility(mechanism: AbstractMechanism, q: Components, x: Components) -> Mobility:
    """Mobility at the closed configuration (q, x), motors free."""
    C = joint_constraints(mechanism, q, x)
    values = np.linalg.svd(C, compute_uv=False)
    kept = values[values > _RANK_CUT * values[0]]
    dropped = max(values[len(kept) :], default=0.0)
    bodies, rank = len(mechanism.bodies), len(kept)
    gap = float(kept[-1] / max(dropped, np.finfo(float).eps * values[0]))
    return Mobility(bodies, len(C), rank, 6 * bodies - rank, len(C) - rank, gap)


def joint_constraints(mechanism: AbstractMechanism, q: Components, x: Components) -> Numbers:
    """Matrix C (rows, 6 bodies); twists in O, linear first, at each body's origin.

    Lengths are divided by the largest loop, so that rows and columns are comparable.
    """
    size = max(float(np.asarray(loop)) for loop in mechanism.scales().loops)
    names = ("base", *mechanism.bodies)
    poses = np.asarray(poses_array((WORLD, *mechanism.body_poses(q, x))))
    place = {name: index for index, name in enumerate(names)}
    blocks = []
    for joint in mechanism.joints():
        rows = _joint_rows(joint, poses[place[joint.parent]], poses[place[joint.child]], size)
        block = np.zeros((len(rows), 6 * len(names)))
        for name, half in ((joint.parent, rows[:, :6]), (joint.child, rows[:, 6:])):
            block[:, 6 * place[name] : 6 * place[name] + 6] = half
        blocks.append(block)
    return np.concatenate(blocks)[:, 6:]


def _joint_rows(joint: Joint, parent: Numbers, child: Numbers, size: float) -> Numbers:
    """Rows over (twist of parent, twist of child) of one joint."""
    arm = [
        (pose[:, :3] @ np.array(point, float)) / size
        for pose, point in ((parent, joint.point), (child, joint.child_point))
    ]
    if joint.kind == "prismatic":  # the point of the slide is where the child now is
        arm[0] = (child[:, 3] - parent[:, 3]) / size + arm[1]
    linear = np.hstack([-np.eye(3), _cross(arm[0]), np.eye(3), -_cross(arm[1])])
    angular = np.hstack([np.zeros((3, 3)), -np.eye(3), np.zeros((3, 3)), np.eye(3)])
    if joint.kind == "spherical":
        return linear
    axis = parent[:, :3] @ np.array(joint.axis, float)
    if joint.kind == "universal":
        second = child[:, :3] @ np.array(joint.child_axis, float)
        return np.vstack([linear, np.cross(axis, second) @ angular])
    across = np.linalg.svd(axis[None])[2][1:]
    if joint.kind == "revolute":
        return np.vstack([linear, across @ angular])
    return np.vstack([across @ linear, angular])


def _cross(a: Numbers) -> Numbers:
    """Matrix of a x."""
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
