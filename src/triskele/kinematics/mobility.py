"""Degrees of freedom of a mechanism, counted from the rank of its joint constraints.

Each joint forbids relative velocities of its two bodies: all three at its point, or two for
a slide, and relative rotations about directions that its axes leave out,

    spherical 3 + 0    universal 3 + 1    revolute 3 + 2    prismatic 2 + 3    fixed 3 + 3 rows

With the twists of all bodies as unknowns these rows form a matrix C. Mobility is
6 bodies - rank C, and rows - rank C of them are redundant: forces in those joints cannot be
told apart by rigid statics. Counting joints alone (Gruebler) gets Deltas wrong.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triskele.errors import DescriptionError
from triskele.kinematics.mechanism import AbstractMechanism, Joint
from triskele.numerics import Components
from triskele.spatial.vectors import WORLD, poses_array

_ASIDE = 0.02  # by which home is left to see whether it is an exception, in loop lengths
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


def free_motion(mechanism: AbstractMechanism, q: Components, x: Components) -> str:
    """What moves most where the drives are locked: a body and how; empty if nothing moves."""
    poses = _poses(mechanism, q, x)
    joints = tuple(_locked(joint, poses) for joint in mechanism.joints())
    C = joint_constraints(mechanism, q, x, joints)
    _, values, rows = np.linalg.svd(C)
    rank = int((values > _RANK_CUT * values[0]).sum())
    if rank == C.shape[1]:
        return ""
    twists = np.abs(rows[rank:]).reshape(-1, len(mechanism.bodies), 6).max(axis=0)
    body = mechanism.bodies.index(mechanism.platform)
    if twists[body].max() < 1e-6:
        body = int(twists.max(axis=1).argmax())
    k = int(twists[body].argmax())
    how = f"along {'xyz'[k]}" if k < 3 else f"about {'xyz'[k - 3]}"
    return f"{mechanism.bodies[body]} ({how})"


def check_mobility(name: str, mechanism: AbstractMechanism) -> None:
    """Refuse a robot whose platform its limbs do not hold, at home or beside it."""
    n = len(mechanism.joint_coordinates)
    drives = f"{n} drive{'s' * (n != 1)}"
    home = np.array(_floats(mechanism.home()))
    scales = mechanism.scales()
    beside = home + _ASIDE * float(np.asarray(scales.loops[0])) / np.array(
        _floats(scales.platform)
    ) * np.cos(1.0 + np.arange(n))
    for x in (home, beside):
        q = mechanism.inverse(tuple(x))
        if not float(np.asarray(q.margin)) > 0:
            continue
        freedom = mobility(mechanism, q.components, tuple(x)).freedom
        loose = free_motion(mechanism, q.components, tuple(x))
        where = " at home" if x is home else ""
        if freedom != n:
            raise DescriptionError(
                f"{name}, geometry: the limbs leave {degrees(freedom)} for {drives}{where}"
                + (f"; with the drives locked, {loose} moves freely." if loose else ".")
            )
        if loose:
            raise DescriptionError(
                f"{name}, geometry: the platform is singular{where}: the limbs leave "
                f"{degrees(freedom)} for {drives}, but with the drives locked, {loose} moves "
                "freely."
            )


def degrees(freedom: int) -> str:
    """A number of degrees of freedom, in words of a sentence."""
    return f"{freedom} degree{'s' * (freedom != 1)} of freedom"


def _locked(joint: Joint, poses: dict[str, Numbers]) -> Joint:
    """A driven joint with its drive at rest; of a motor with a cardan, the cardan."""
    if not joint.driven:
        return joint
    if joint.kind != "spherical":
        return joint._replace(kind="fixed")
    parent, child = (poses[name][:, :3] for name in (joint.parent, joint.child))
    motor, second = parent @ np.array(joint.axis, float), child @ np.array(joint.child_axis, float)
    first = parent.T @ np.cross(motor, second)  # of the cross, normal to both
    x, y, z = first / np.linalg.norm(first)
    return joint._replace(kind="universal", axis=(x, y, z))


def _poses(mechanism: AbstractMechanism, q: Components, x: Components) -> dict[str, Numbers]:
    """[R p] of the base and of each body."""
    poses = np.asarray(poses_array((WORLD, *mechanism.body_poses(q, x))))
    return dict(zip(("base", *mechanism.bodies), poses, strict=True))


def joint_constraints(
    mechanism: AbstractMechanism,
    q: Components,
    x: Components,
    joints: tuple[Joint, ...] | None = None,
) -> Numbers:
    """Matrix C (rows, 6 bodies); twists in O, linear first, at each body's origin.

    `joints` are those of the mechanism, if none are given. Lengths are divided by the largest
    loop, so that rows and columns are comparable.
    """
    size = max(float(np.asarray(loop)) for loop in mechanism.scales().loops)
    poses = _poses(mechanism, q, x)
    place = {name: index for index, name in enumerate(poses)}
    blocks = []
    for joint in mechanism.joints() if joints is None else joints:
        rows = _joint_rows(joint, poses[joint.parent], poses[joint.child], size)
        block = np.zeros((len(rows), 6 * len(poses)))
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
    if joint.kind == "prismatic" or (joint.kind == "fixed" and joint.driven):
        # the point of the slide is where the child now is
        arm[0] = (child[:, 3] - parent[:, 3]) / size + arm[1]
    linear = np.hstack([-np.eye(3), _cross(arm[0]), np.eye(3), -_cross(arm[1])])
    angular = np.hstack([np.zeros((3, 3)), -np.eye(3), np.zeros((3, 3)), np.eye(3)])
    if joint.kind == "spherical":
        return linear
    if joint.kind == "fixed":
        return np.vstack([linear, angular])
    axis = parent[:, :3] @ np.array(joint.axis, float)
    if joint.kind == "universal":
        second = child[:, :3] @ np.array(joint.child_axis, float)
        return np.vstack([linear, np.cross(axis, second) @ angular])
    across = np.linalg.svd(axis[None])[2][1:]
    if joint.kind == "revolute":
        return np.vstack([linear, across @ angular])
    return np.vstack([across @ linear, angular])


def _floats(values: Components) -> list[float]:
    return [float(np.asarray(value)) for value in values]


def _cross(a: Numbers) -> Numbers:
    """Matrix of a x."""
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
