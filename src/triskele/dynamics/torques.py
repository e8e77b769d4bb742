"""What a motion demands: efforts of the drives, and loads in the joints, sample by sample.

Loads come from the balance of every body (`reactions.py`), so that they exist for any robot:

    tension of a rod    along the rod, at its wrist and at its elbow, positive if it pulls
    lateral             across the rod, at either end
    bearing of an arm   force, and tilting moment, in the motor's bearing
    flange              force and moment, about the flange, on what turns on the platform;
                        on a robot without a turning flange, on the payload
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from triskele.description.schema import Payload, Robot
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.limits import LimitSeries, LimitUse, limit_series, root_mean_square
from triskele.dynamics.reactions import Reactions, body_loads, solved_reactions
from triskele.dynamics.robot import RigidRobot, rigid
from triskele.dynamics.wrenches import as_force_and_moment, motion_state, payload_wrench
from triskele.kinematics.cycles import JointMotion, check_coordinates, joint_motion_along
from triskele.kinematics.motion import Motion
from triskele.laws.masses import named_payload
from triskele.numerics import Scalars, tabulate

Series = Float[np.ndarray, "N _"]


class RodSeries(NamedTuple):
    """Loads of the rods along a motion [N]; columns are rods."""

    names: tuple[str, ...]
    lower: Series  #: tension at the wrist
    upper: Series  #: tension at the elbow
    lower_lateral: Series  #: magnitude of the force across the rod, at the wrist
    upper_lateral: Series
    unique: bool  #: False: redundant constraints share the loads; the least are given

    @property
    def peak(self) -> Float[np.ndarray, " rods"]:
        """The largest magnitude of each rod's tension, at either end [N]."""
        return np.maximum(np.abs(self.lower), np.abs(self.upper)).max(axis=0)


class JointLoads(NamedTuple):
    """Loads in the joints along a motion."""

    rods: RodSeries | None  #: None for a robot without rods
    bearing_force: Series  #: in each motor's bearing, magnitude [N]
    bearing_moment: Series  #: tilting moment there, magnitude [N m]
    flange_force: Series  #: [N], in O
    flange_moment: Series  #: [N m], in O, about the flange
    payload_force: Series  #: on the payload [N], in O
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
    robot: Robot, motion: Motion, payload: Payload | str | None = None, *, friction: bool = True
) -> MotionDemands:
    """Efforts and joint loads of `robot` along `motion`, and how near they come to its limits.

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
    uses = limit_series(robot, model.mechanism, motion, joints, tau, loads, carried)
    return MotionDemands(t, joints, tau, loads, uses)


def _motors(robot: RigidRobot, joints: JointMotion) -> Series:
    """What motors need for themselves: inertia and friction."""
    own = np.asarray(robot.rotors) * np.asarray(joints.qdd)
    for k, law in enumerate(robot.drive_friction):
        if law is not None:
            own[:, k] += np.asarray(law.effort(jnp.asarray(joints.qd)[:, k]))
    return own


class LoadVectors(NamedTuple):
    """Loads at N states as vectors, before magnitudes are taken: each linear in what moves."""

    rods: tuple[Series, Series] | None  #: tension at the wrist and at the elbow [N]
    bearing_force: Float[np.ndarray, "N drives 3"]  #: in each motor's bearing [N]
    bearing_moment: Float[np.ndarray, "N drives 3"]  #: tilting moment there [N m]
    flange_force: Series  #: [N], in O
    flange_moment: Series  #: [N m], in O, about the flange


def load_vectors(robot: RigidRobot, x: Series, xd: Series, xdd: Series) -> LoadVectors:
    """Loads of any robot without springs, by the balance of every body."""
    held, poses, carried = _held(robot, x, xd, xdd)
    series = _rod_series(robot, held, poses)
    rods = None if series is None else (series.lower, series.upper)
    return LoadVectors(rods, *_bearings(held), *_flange(robot, held, carried))


def _joint_loads(robot: RigidRobot, x: Series, xd: Series, xdd: Series) -> JointLoads:
    held, poses, carried = _held(robot, x, xd, xdd)
    force, moment = _bearings(held)
    at_flange, about_flange = _flange(robot, held, carried)
    return JointLoads(
        rods=_rod_series(robot, held, poses),
        bearing_force=np.linalg.norm(force, axis=-1),
        bearing_moment=np.linalg.norm(moment, axis=-1),
        flange_force=at_flange,
        flange_moment=about_flange,
        payload_force=carried[:, :3],
        reactions=held,
    )


def _held(
    robot: RigidRobot, x: Series, xd: Series, xdd: Series
) -> tuple[Reactions, Series, Series]:
    """Reactions, poses of the bodies and the wrench of the payload."""
    found = tabulate(eqx.Partial(_bodies, robot))(x, xd, xdd)
    carried, poses, wrenches = (np.stack(part, axis=-1) for part in found)
    return solved_reactions(robot, poses, wrenches), poses, carried


def _bearings(held: Reactions) -> tuple[np.ndarray, np.ndarray]:
    """Force and tilting moment in the bearing of each motor, (N, drives, 3)."""
    names = [joint.name for joint in held.joints]
    motors = [k for k, name in enumerate(names) if name.startswith(("motor", "slider"))]
    axes = np.array([held.joints[k].axis for k in motors], float)
    moments = held.moment[:, motors]
    about = np.sum(moments * axes, axis=-1, keepdims=True) * axes
    return held.force[:, motors], moments - about


def _flange(robot: RigidRobot, held: Reactions, carried: Series) -> tuple[Series, Series]:
    """Force, and moment about the flange, on what turns on it or on the payload."""
    names = [joint.name for joint in held.joints]
    force, moment = held.of("flange") if "flange" in names else (carried[:, :3], carried[:, 3:])
    lever = np.array([0.0, 0.0, float(robot.flange_height)])
    return force, moment - np.cross(lever, force)


def _bodies(
    robot: RigidRobot, x: Scalars, xd: Scalars, xdd: Scalars
) -> tuple[Scalars, Scalars, Scalars]:
    """Wrench of the payload, poses and wrenches of the bodies; a kernel for `tabulate`."""
    state = motion_state(robot.mechanism, x, xd, xdd)
    place = robot.mechanism.bodies.index(robot.carrier)
    carried = payload_wrench(robot, state.Tdd, robot.gravity_components())
    force, moment = as_force_and_moment(state.T[place], carried)
    return ((*force, *moment), *body_loads(robot, state))


def _rod_series(robot: RigidRobot, held: Reactions, poses: Series) -> RodSeries | None:
    bodies = robot.mechanism.bodies
    rods = tuple(name for name in bodies if name.startswith("rod"))
    if not rods:
        return None
    frames = poses.reshape(len(poses), len(bodies), 4, 3)  # columns of each pose
    along = {name: frames[:, bodies.index(name), 0] for name in rods}
    columns = []
    for name in rods:
        e = along[name]
        low, high = held.of(f"wrist_{name}")[0], -held.of(f"elbow_{name}")[0]
        pulls = [np.sum(force * e, axis=-1) for force in (low, high)]
        across = [
            np.linalg.norm(force - pull[:, None] * e, axis=-1)
            for force, pull in zip((low, high), pulls, strict=True)
        ]
        columns.append((*pulls, *across))
    series = (np.stack(part, axis=-1) for part in zip(*columns, strict=True))
    joints = [k for k, j in enumerate(held.joints) if j.name.startswith(("wrist", "elbow"))]
    return RodSeries(rods, *series, unique=bool(held.unique[joints, :3].all()))
