"""The bodies and joints of a robot file as a mechanism in absolute coordinates.

Joints are those that the robot's architecture names (`kinematics`); nothing of its closed
form is used but poses to start from. Rods are bodies with the joints they have, or as one of the
other models in `rods.py` has them.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from triskele.description.schema import Friction, Payload, Robot
from triskele.errors import InputError
from triskele.kinematics import mechanism as kinematics
from triskele.kinematics.build import build
from triskele.kinematics.velocity import joint_acceleration, joint_velocity
from triskele.laws.drives import drives
from triskele.laws.friction import friction_law
from triskele.laws.masses import BASE, base_parameters, body_parameters, payload_parameters
from triskele.laws.springs import Spring, flexure_springs
from triskele.multibody.joints import Body, Joint, frame_about, system
from triskele.multibody.redundancy import mobility
from triskele.multibody.rods import led_connectors, massless_rods
from triskele.multibody.system import GROUND, State, System
from triskele.numerics import AnyArray, Components, as_scalars, stacked
from triskele.spatial.euler_parameters import from_matrix, rotation_matrix
from triskele.spatial.vectors import WORLD, Frame, poses_array

Rods = Literal["built", "isostatic", "distance"]
Driven = Literal["efforts", "motors", "platform"]
Numbers = Float[np.ndarray, "..."]
T = TypeVar("T")
GUIDE = "guide"  #: the joint that leads a platform which is driven itself
_LED = 3  # coordinates of the platform, and as many motors, that it takes the place of
_STRUT = np.eye(3)[:, [1, 2, 0]]  # axes m and n across a strut, l along it, in the strut
_ASIDE = 1e-4  # part of a loop by which the platform moves to tell which way a joint turns


class Parts(NamedTuple):
    """What the system was made of, to change and build again."""

    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...]


class RobotSystem(NamedTuple):
    """A robot in absolute coordinates, and the mechanism that places it."""

    system: System
    mechanism: kinematics.AbstractMechanism
    parts: Parts

    @property
    def start(self) -> State:
        """At home, at rest."""
        return placed(self, self.mechanism.home())

    def at(self, x: Components, xd: Components | None = None) -> State:
        """The state with the platform at `x`, moving with `xd`; can be traced."""
        return placed(self, x, xd)


def from_robot(
    robot: Robot,
    payload: Payload | str | None = None,
    *,
    driven: Driven = "efforts",
    rods: Rods = "built",
    friction: bool = True,
) -> RobotSystem:
    """The bodies and joints of `robot`, carrying a `payload`.

    `driven`: what is prescribed; the efforts of the motors, their motion, or, with the motors
    free, that of the platform's origin. A base that the file gives a mass stands on the ground.
    """
    mechanism = build(robot)
    robot.require("bodies", "the multibody engine")
    bodies = _bodies(robot, mechanism, payload)
    joints = _joints(robot, mechanism, friction=friction)
    if any(body.name == BASE for body in bodies):
        joints.append(Joint("stand", "fixed", GROUND, BASE))
    if rods == "isostatic":
        joints = led_connectors(mechanism, joints)
    elif rods == "distance":
        bodies, joints = massless_rods(robot.name, mechanism, bodies, joints)
    if driven == "platform":
        joints = _led(robot.name, mechanism, joints)
    built, start = system(
        robot.name,
        bodies,
        joints,
        gravity=robot.gravity,
        prescribed=driven != "efforts",
        size=max(float(np.asarray(loop)) for loop in mechanism.scales().loops),
    )
    if rods == "distance":
        _check_held(mechanism, built, start)
    return RobotSystem(built, mechanism, Parts(tuple(bodies), tuple(joints)))


def _led(name: str, mechanism: kinematics.AbstractMechanism, joints: list[Joint]) -> list[Joint]:
    """`joints` with the origin of the platform led, and the motors free that it stands for."""
    places = tuple(coordinate.name for coordinate in mechanism.platform_coordinates[:_LED])
    if places != ("x", "y", "z") or _turns(mechanism):
        raise InputError(
            f"{name}: only a platform that translates along x, y and z can be driven itself."
        )
    free = [joint.name for joint in mechanism.joints() if joint.driven][:_LED]
    released = [joint._replace(motor=joint.motor and joint.name not in free) for joint in joints]
    return [*released, Joint(GUIDE, "path", GROUND, mechanism.platform)]


def _turns(mechanism: kinematics.AbstractMechanism) -> bool:
    """Whether the platform turns when any of its coordinates changes."""
    axes = [mechanism.platform_pose(x)[:3] for x in (mechanism.home(), _aside(mechanism))]
    first, second = (np.array(part, float) for part in axes)
    return bool(np.abs(first - second).max() > _ASIDE**2)


def _aside(mechanism: kinematics.AbstractMechanism) -> tuple[float, ...]:
    """Platform coordinates a little off home, each by another part of a loop."""
    scales = mechanism.scales()
    moved = _ASIDE * float(np.asarray(scales.loops[0]))
    units = enumerate(zip(mechanism.home(), scales.platform, strict=True))
    return tuple(float(np.asarray(x + moved * np.cos(k) / unit)) for k, (x, unit) in units)


def _check_held(mechanism: kinematics.AbstractMechanism, built: System, start: State) -> None:
    """An error if constant distances leave more free than the motors drive."""
    freedom, motors = mobility(built.with_free_motors(), start).freedom, len(built.motors)
    if freedom != motors:
        raise InputError(
            f"{built.name}: rods of constant distance leave {freedom} degrees of freedom for "
            f"{motors} drives; only pairs of rods keep a platform level by their lengths alone."
        )


def placed(robot: RobotSystem, x: Components, xd: Components | None = None) -> State:
    """Poses and velocities of all bodies from the platform's coordinates."""
    mechanism = robot.mechanism
    x = as_scalars(x)
    xd = tuple(jnp.zeros_like(value) for value in x) if xd is None else as_scalars(xd)
    q = mechanism.inverse(x).components
    qd = joint_velocity(mechanism, q, x, xd)

    def poses(q: Components, x: Components) -> AnyArray:
        found = dict(zip(mechanism.bodies, mechanism.body_poses(q, x), strict=True))
        found[BASE] = WORLD
        return poses_array(tuple(found[name] for name in robot.system.bodies))

    T, Td = jax.jvp(poses, (q, x), (qd, xd))
    R, Rd, c = T[..., :3], Td[..., :3], robot.system.centre
    p = from_matrix(R)
    spin = jnp.einsum("bji,bjk->bik", rotation_matrix(p), Rd)  # w~ in the body
    w = jnp.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=-1)
    return State(
        T[..., 3] + jnp.einsum("bij,bj->bi", R, c),
        p,
        Td[..., 3] + jnp.einsum("bij,bj->bi", Rd, c),
        w,
    )


def _bodies(
    robot: Robot, mechanism: kinematics.AbstractMechanism, payload: Payload | str | None
) -> list[Body]:
    """Moving bodies at home, the payload on what carries it, and the base if it has a mass."""
    home = mechanism.home()
    frames = mechanism.body_poses(mechanism.inverse(home).components, home)
    bodies = []
    for (name, own), frame in zip(body_parameters(robot, mechanism).items(), frames, strict=True):
        ten = np.array(own)
        if name == mechanism.carrier:
            ten = ten + np.array(payload_parameters(robot, payload))
        bodies.append(Body(name, tuple(ten), _matrix(frame)))
    base = base_parameters(robot)
    if base is not None:
        bodies.append(Body(BASE, base, _matrix(WORLD)))
    return bodies


def _matrix(frame: Frame) -> Numbers:
    return np.asarray(poses_array((frame,)))[0]


def _joints(
    robot: Robot, mechanism: kinematics.AbstractMechanism, *, friction: bool
) -> list[Joint]:
    """The joints of the mechanism with motors, springs and friction."""
    home = mechanism.home()
    q = mechanism.inverse(home).components
    frames = dict(zip(mechanism.bodies, mechanism.body_poses(q, home), strict=True))
    poses = {name: _matrix(frame) for name, frame in {BASE: WORLD, **frames}.items()}
    based = robot.body(BASE) is not None
    driven = [joint.name for joint in mechanism.joints() if joint.driven]
    made = []
    for joint in mechanism.joints():
        angle = float(np.asarray(q[driven.index(joint.name)])) if joint.driven else 0.0
        item = _joint(joint, poses[joint.parent], poses[joint.child], angle)
        item = item._replace(parent=GROUND) if joint.parent == BASE and not based else item
        made.append(item)
    return _with_laws(robot, mechanism, made, friction=friction)


def _joint(joint: kinematics.Joint, parent: Numbers, child: Numbers, angle: float) -> Joint:
    """A joint with frames such that its angle or length is that of the robot, `angle` at home."""
    point, child_point = (np.asarray(u, float) for u in (joint.point, joint.child_point))
    made = Joint(
        joint.name, joint.kind, joint.parent, joint.child, point, child_point, motor=joint.driven
    )
    if joint.axis is None or (joint.kind == "spherical" and not joint.driven):
        return made
    n = np.asarray(joint.axis, float)
    if joint.kind == "universal":
        return made._replace(
            frame=frame_about(n), child_frame=frame_about(np.asarray(joint.child_axis, float))
        )
    if joint.kind == "spherical":
        cross = np.asarray(joint.child_axis, float)
        fork = parent[:, :3].T @ np.cross(child[:, :3] @ cross, parent[:, :3] @ n)
        frame = frame_about(n, fork)
        frame = frame @ _about_z(-angle)
        return made._replace(frame=frame, child_frame=frame_about(cross))
    frame = frame_about(n)
    turn = angle if joint.kind == "revolute" else 0.0
    child_frame = child[:, :3].T @ parent[:, :3] @ frame @ _about_z(turn)
    return made._replace(frame=frame, child_frame=child_frame)


def _about_z(angle: float) -> Numbers:
    s, c = np.sin(angle), np.cos(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _with_laws(
    robot: Robot, mechanism: kinematics.AbstractMechanism, joints: list[Joint], *, friction: bool
) -> list[Joint]:
    """`joints` with the inertia and friction of motors, springs, and friction elsewhere."""
    laws = (robot.friction or Friction()) if friction else Friction()
    own = iter(drives(robot, mechanism))
    sections = {joint.name: joint.friction for joint in mechanism.joints()}
    found = []
    for joint in joints:
        section = getattr(laws, sections[joint.name] or "-", None)
        if joint.motor:
            drive = next(own)
            law = drive.whole_friction if friction else None
            joint = joint._replace(rotor=drive.inertia, friction=law)
        elif section is not None:
            joint = joint._replace(friction=friction_law(section))
        found.append(joint)
    return _with_flexures(robot, mechanism, found)


class _Bent(NamedTuple):
    """A coordinate of a joint that is a spring."""

    spring: Spring
    home: float  #: its value there [rad]
    moved: float  #: and a little off it


def _with_flexures(
    robot: Robot, mechanism: kinematics.AbstractMechanism, joints: list[Joint]
) -> list[Joint]:
    """`joints` with the springs of the robot: a hinge has one, a ball three, see `Bushing`."""
    springs = flexure_springs(robot, mechanism)
    if not any(springs):
        return joints
    home, aside = mechanism.home(), _aside(mechanism)
    states = [(mechanism.inverse(x).components, x) for x in (home, aside)]
    values = [mechanism.passive(*state) for state in states]
    frames = [
        dict(zip(mechanism.bodies, mechanism.body_poses(*state), strict=True)) for state in states
    ]
    bent: dict[str, list[_Bent]] = {}
    for coordinate, spring, *at in zip(
        mechanism.passive_coordinates, springs, *values, strict=True
    ):
        if spring is not None:
            numbers = (float(np.asarray(value)) for value in at)
            bent.setdefault(coordinate.joint, []).append(_Bent(spring, *numbers))
    return [
        _sprung(joint, bent[joint.name], [_relative(joint, part) for part in frames])
        if joint.name in bent
        else joint
        for joint in joints
    ]


def _relative(joint: Joint, frames: dict[str, Frame]) -> Numbers:
    """Axes of the child in the parent."""
    parent, child = (
        np.eye(3) if name in (BASE, GROUND) else _matrix(frames[name])[:, :3]
        for name in (joint.parent, joint.child)
    )
    return parent.T @ child


def _sprung(joint: Joint, bent: list[_Bent], turned: list[Numbers]) -> Joint:
    """A joint that is a spring; `turned` are the axes of its child in its parent, as in `_Bent`.

    The angle of a hinge is zero at home here; its coordinate may have another sign and zero. A
    ball takes the axes of its strut from where all three angles are zero.
    """
    home, aside = turned
    if len(bent) == 1:
        ((spring, value, moved),) = bent
        first, second = (joint.frame.T @ R @ joint.child_frame for R in (home, aside))
        angle = float(np.arctan2(second[1, 0], second[0, 0]) - np.arctan2(first[1, 0], first[0, 0]))
        rest = (float(np.asarray(spring.rest)) - value) * np.sign(angle * (moved - value))
        return joint._replace(spring=Spring(spring.stiffness, jnp.asarray(rest)))
    (s1, s2, s3), (c1, c2, c3) = (f([part.home for part in bent]) for f in (np.sin, np.cos))
    straight = (
        np.array([[1.0, 0.0, 0.0], [0.0, c1, -s1], [0.0, s1, c1]])
        @ np.array([[c2, 0.0, s2], [0.0, 1.0, 0.0], [-s2, 0.0, c2]])
        @ np.array([[c3, -s3, 0.0], [s3, c3, 0.0], [0.0, 0.0, 1.0]])
    )
    return joint._replace(
        frame=home @ _STRUT @ straight,
        child_frame=_STRUT,
        bending=[float(np.asarray(part.spring.stiffness)) for part in bent],
    )


def robot_drive(
    robot: RobotSystem, x: Components, xd: Components, xdd: Components
) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Position, rate and acceleration of the prescribed motors for a motion of the platform."""
    x, xd, xdd = as_scalars(x), as_scalars(xd), as_scalars(xdd)
    q = robot.mechanism.inverse(x).components
    qd, qdd, _ = joint_acceleration(robot.mechanism, q, x, xd, xdd)
    return tuple(  # pyright: ignore[reportReturnType]
        stacked(followed(robot, *part)) for part in ((q, x), (qd, xd), (qdd, xdd))
    )


def followed(robot: RobotSystem, joints: Sequence[T], platform: Sequence[T]) -> list[T]:
    """What the prescribed motors follow, of coordinates of joints and platform, or their rates."""
    motors = [axis.joint for axis in robot.system.motors]
    driven = [joint.name for joint in robot.mechanism.joints() if joint.driven]
    own = [value for name, value in zip(driven, joints, strict=True) if name in motors]
    return [*own, *platform[:_LED]] if GUIDE in motors else own
