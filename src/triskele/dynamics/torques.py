"""What a motion demands: efforts of the drives, and loads in the joints, sample by sample.

Loads come from the balance of every body (`reactions.py`), so that they exist for any robot:

    tension of a strut   along it (rod, bar, cylinder and piston), at its lower and at its upper
                         joint, positive if it pulls
    lateral              across the strut, at either end
    bearing of a drive   what the joint carries beside the effort of its motor: force and tilting
                         moment of one that turns, force across and moment of one that slides
    flange               force and moment, about the flange, on what turns on the platform;
                         on a robot without a turning flange, on the payload

Loads of flange and payload are in the axes of the platform, which for a Delta are those of O.
"""

from collections.abc import Mapping
from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float

from triskele.description.schema import Payload, Robot
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.limits import LimitSeries, LimitUse, limit_series, root_mean_square
from triskele.dynamics.reactions import Reactions, body_loads, solved_reactions
from triskele.dynamics.robot import RigidRobot, rigid
from triskele.dynamics.wrenches import as_force_and_moment, motion_state, payload_wrench
from triskele.kinematics.cycles import JointMotion, check_coordinates, joint_motion_along
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.motion import Motion
from triskele.laws.masses import named_payload
from triskele.numerics import Scalars, tabulate

Series = Float[np.ndarray, "N _"]
Vectors = Float[np.ndarray, "N drives 3"]
Columns = Float[np.ndarray, "N 4 3"]  #: x, y, z and p of a pose


class RodSeries(NamedTuple):
    """Loads of the struts along a motion [N]; columns are struts."""

    names: tuple[str, ...]
    lower: Series  #: tension at the lower joint
    upper: Series  #: tension at the upper joint
    lower_lateral: Series  #: magnitude of the force across the strut, at the lower joint
    upper_lateral: Series
    unique: bool  #: False: redundant constraints share the loads; the least are given

    @property
    def peak(self) -> Float[np.ndarray, " rods"]:
        """The largest magnitude of each strut's tension, at either end [N]."""
        return np.abs(self.largest)

    @property
    def largest(self) -> Float[np.ndarray, " rods"]:
        """The tension of each strut where its magnitude is largest, at either end [N]."""
        both = np.concatenate([self.lower, self.upper])
        return both[np.abs(both).argmax(axis=0), np.arange(both.shape[1])]


class JointLoads(NamedTuple):
    """Loads in the joints along a motion."""

    rods: RodSeries | None  #: None for a robot without struts
    bearing_force: Series  #: in each drive's bearing, magnitude [N]
    bearing_moment: Series  #: moment there, magnitude [N m]
    flange_force: Series  #: [N], in the axes of the platform
    flange_moment: Series  #: [N m], likewise, about the flange
    payload_force: Series  #: on the payload [N], likewise
    reactions: Reactions


class MotionDemands(NamedTuple):
    """What a motion demands of a robot, in N samples."""

    t: Float[np.ndarray, " N"]  #: [s]
    joints: JointMotion
    tau: Series  #: efforts of the drives [N m, N]
    loads: JointLoads | None  #: None where joints are springs
    series: tuple[LimitSeries, ...]  #: each limit of the robot file, the tightest first

    @property
    def limits(self) -> tuple[LimitUse, ...]:
        """Where each limit is used most, the tightest first."""
        return tuple(item.worst(self.t) for item in self.series)

    @property
    def rms(self) -> Float[np.ndarray, " n"]:
        """Root mean square of the efforts over the motion [N m, N]."""
        return root_mean_square(self.t, self.tau)

    @property
    def power(self) -> Series:
        """Mechanical power of each drive [W]."""
        return self.tau * np.asarray(self.joints.qd)


def torques(
    robot: Robot,
    motion: Motion,
    payload: Payload | str | None = None,
    *,
    friction: bool = True,
    margins: Mapping[str, float] | None = None,
) -> MotionDemands:
    """Efforts and joint loads of `robot` along `motion`, and how near they come to its limits.

    `margins` (parts of 1, by the key of the limit) are kept free in place of that of the file.

    >>> import triskele as tk
    >>> robot = tk.load("omron_mini_delta")
    >>> demands = tk.torques(robot, tk.pick_and_place(robot, rate=100))
    >>> demands.tau.shape, demands.loads.rods.lower.shape
    ((101, 3), (101, 6))
    """
    model = rigid(robot, payload, friction=friction)
    check_coordinates(model.mechanism, motion)
    arrays = tuple(np.asarray(part) for part in (motion.x, motion.xd, motion.xdd))
    joints = joint_motion_along(model.mechanism, motion)
    if any(model.springs):
        loads = None
        tau = np.stack(tabulate(eqx.Partial(inverse_dynamics, model))(*arrays), axis=-1)
    else:
        loads = _joint_loads(model, *arrays)
        tau = loads.reactions.drive_efforts() + _motors(model, joints)
    t = np.asarray(motion.t)
    carried = named_payload(robot, payload)
    uses = limit_series(robot, model.mechanism, motion, joints, tau, loads, carried, margins)
    return MotionDemands(t, joints, tau, loads, uses)


def _motors(robot: RigidRobot, joints: JointMotion) -> Series:
    """What motors need for themselves: inertia and friction."""
    own = np.asarray(robot.rotors) * np.asarray(joints.qdd)
    for k, law in enumerate(robot.drive_friction):
        if law is not None:
            own[:, k] += law.effort(np.asarray(joints.qd)[:, k])
    return own


class LoadVectors(NamedTuple):
    """Loads at N states as vectors, before magnitudes are taken: each linear in what moves."""

    rods: tuple[Series, Series] | None  #: tension of struts at the lower and upper joint [N]
    bearing_force: Vectors  #: in each drive's bearing [N], in O
    bearing_moment: Vectors  #: moment there [N m], in O
    flange_force: Series  #: [N], in the axes of the platform
    flange_moment: Series  #: [N m], likewise, about the flange


def load_vectors(robot: RigidRobot, x: Series, xd: Series, xdd: Series) -> LoadVectors:
    """Loads of any robot without springs, by the balance of every body."""
    held, frames, carried = _held(robot, x, xd, xdd)
    series = _rod_series(robot, held, frames)
    rods = None if series is None else (series.lower, series.upper)
    return LoadVectors(rods, *_bearings(held), *_flange(robot, held, frames, carried))


def _joint_loads(robot: RigidRobot, x: Series, xd: Series, xdd: Series) -> JointLoads:
    held, frames, carried = _held(robot, x, xd, xdd)
    force, moment = _bearings(held)
    at_flange, about_flange = _flange(robot, held, frames, carried)
    return JointLoads(
        rods=_rod_series(robot, held, frames),
        bearing_force=np.linalg.norm(force, axis=-1),
        bearing_moment=np.linalg.norm(moment, axis=-1),
        flange_force=at_flange,
        flange_moment=about_flange,
        payload_force=_seen(frames[robot.mechanism.platform], carried[:, :3]),
        reactions=held,
    )


def _held(
    robot: RigidRobot, x: Series, xd: Series, xdd: Series
) -> tuple[Reactions, dict[str, Columns], Series]:
    """Reactions, columns x, y, z, p of the pose of each body, and the wrench of the payload."""
    found = tabulate(eqx.Partial(_bodies, robot))(x, xd, xdd)
    carried, poses, wrenches = (np.stack(part, axis=-1) for part in found)
    columns = np.moveaxis(poses.reshape(len(poses), -1, 4, 3), 1, 0)
    frames = dict(zip(robot.mechanism.bodies, columns, strict=True))
    return solved_reactions(robot, poses, wrenches), frames, carried


def _bearings(held: Reactions) -> tuple[Vectors, Vectors]:
    """Force and moment in the bearing of each drive, without the effort of its motor."""
    force, moment = held.force[:, held.driven], held.moment[:, held.driven]
    sliding = np.array([held.joints[k].kind == "prismatic" for k in held.driven])[:, None]
    axes = held.axes
    along = np.sum(force * axes, axis=-1, keepdims=True) * axes
    about = np.sum(moment * axes, axis=-1, keepdims=True) * axes
    return np.where(sliding, force - along, force), np.where(sliding, moment, moment - about)


def _flange(
    robot: RigidRobot, held: Reactions, frames: dict[str, Columns], carried: Series
) -> tuple[Series, Series]:
    """Force, and moment about the flange, on what turns on it or on the payload."""
    flange, platform = robot.mechanism.flange, frames[robot.mechanism.platform]
    wrench = held.of(flange) if flange else (carried[:, :3], carried[:, 3:])
    force, moment = (_seen(platform, part) for part in wrench)
    lever = np.array([0.0, 0.0, float(robot.flange_height)])
    return force, moment - np.cross(lever, force)


def _seen(frame: Columns, vector: Series) -> Series:
    """`vector` in the axes of a body."""
    return np.einsum("nkj,nj->nk", frame[:, :3], vector)


def _bodies(
    robot: RigidRobot, x: Scalars, xd: Scalars, xdd: Scalars
) -> tuple[Scalars, Scalars, Scalars]:
    """Wrench of the payload, poses and wrenches of the bodies; a kernel for `tabulate`."""
    state = motion_state(robot.mechanism, x, xd, xdd)
    place = robot.mechanism.bodies.index(robot.carrier)
    carried = payload_wrench(robot, state.Tdd, robot.gravity_components())
    force, moment = as_force_and_moment(state.T[place], carried)
    return ((*force, *moment), *body_loads(robot, state))


def _rod_series(robot: RigidRobot, held: Reactions, frames: dict[str, Columns]) -> RodSeries | None:
    struts = robot.mechanism.struts
    if not struts:
        return None
    columns = []
    for strut in struts:
        e = frames[strut.body][:, 0]
        low, high = (_on_strut(held, strut.body, end) for end in (strut.lower, strut.upper))
        ends = (low, -high)
        pulls = [np.sum(force * e, axis=-1) for force in ends]
        across = [
            np.linalg.norm(force - pull[:, None] * e, axis=-1)
            for force, pull in zip(ends, pulls, strict=True)
        ]
        columns.append((*pulls, *across))
    series = (np.stack(part, axis=-1) for part in zip(*columns, strict=True))
    ends = {name for strut in struts for name in (strut.upper, strut.lower)}
    joints = [k for k, joint in enumerate(held.joints) if joint.name in ends]
    rods = tuple(strut.body for strut in struts)
    return RodSeries(rods, *series, unique=bool(held.unique[joints, :3].all()))


def strut_word(mechanism: AbstractMechanism) -> str:
    """What the bodies are called whose axial load is watched."""
    look = {part.body: part.look for part in mechanism.parts}
    return "rod" if all(look[strut.body] == "rod" for strut in mechanism.struts) else "strut"


def _on_strut(held: Reactions, body: str, end: str) -> Series:
    """Force that the joint `end` puts on a strut: `body`, or what a drive pushes out of it [N]."""
    (joint,) = (joint for joint in held.joints if joint.name == end)
    own = {body}
    for driven in held.joints:
        if driven.driven and body in (driven.parent, driven.child):
            own |= {driven.parent, driven.child}
    force = held.of(end)[0]
    return force if joint.child in own else -force
