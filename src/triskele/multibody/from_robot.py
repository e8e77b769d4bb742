"""The bodies and joints of a robot file as a mechanism in absolute coordinates.

Joints are those that the robot's architecture names (`kinematics`); nothing of its closed
form is used but poses to start from. Three models of a Delta's rods:

    built        rods, and connecting rods where there are, as bodies with the joints they have
    isostatic    connecting rods hinged at one rod, and led along a line of the other: no
                 redundant condition, so that every reaction is unique
    distance     rods without mass that keep their balls a constant distance apart; their mass
                 goes to both ends, by the lever rule
"""

import re
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from triskele.description.schema import Friction, Payload, PrsRobot, Robot
from triskele.errors import InputError
from triskele.kinematics import mechanism as kinematics
from triskele.kinematics.build import build
from triskele.kinematics.velocity import joint_acceleration, joint_velocity
from triskele.laws.friction import drive_friction, friction_law
from triskele.laws.masses import body_parameters, payload_parameters
from triskele.laws.motors import drive_motors, reflected_inertia
from triskele.laws.springs import Spring, flexure_springs
from triskele.multibody.joints import Body, Joint, frame_about, system
from triskele.multibody.system import GROUND, State, System
from triskele.numerics import Components, as_scalars, stacked
from triskele.spatial.euler_parameters import from_matrix, rotation_matrix
from triskele.spatial.vectors import WORLD, Frame, poses_array

Rods = Literal["built", "isostatic", "distance"]
Driven = Literal["efforts", "motors", "platform"]
Numbers = Float[np.ndarray, "..."]
_BASE = "base"


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
    if driven == "platform" and isinstance(robot, PrsRobot):
        raise InputError(f"{robot.name}: only a platform that translates can be driven itself.")
    bodies = _bodies(robot, mechanism, payload)
    joints = _joints(robot, mechanism, friction=friction)
    if any(body.name == _BASE for body in bodies):
        joints.append(Joint("stand", "fixed", GROUND, _BASE))
    if rods == "isostatic":
        joints = [_led(joint) for joint in joints]
    elif rods == "distance":
        bodies, joints = _lumped(robot, bodies, joints)
    if driven == "platform":
        joints = [
            joint._replace(motor=False) if re.match(r"motor_[123]$", joint.name) else joint
            for joint in joints
        ]
        joints.append(Joint("guide", "path", GROUND, "platform"))
    size = max(float(np.asarray(loop)) for loop in mechanism.scales().loops)
    built, _ = system(
        robot.name,
        bodies,
        joints,
        gravity=robot.gravity,
        prescribed=driven != "efforts",
        size=size,
    )
    return RobotSystem(built, mechanism, Parts(tuple(bodies), tuple(joints)))


def placed(robot: RobotSystem, x: Components, xd: Components | None = None) -> State:
    """Poses and velocities of all bodies from the platform's coordinates."""
    mechanism = robot.mechanism
    x = as_scalars(x)
    xd = tuple(jnp.zeros_like(value) for value in x) if xd is None else as_scalars(xd)
    q = mechanism.inverse(x).components
    qd = joint_velocity(mechanism, q, x, xd)

    def poses(q: Components, x: Components) -> Array:
        found = dict(zip(mechanism.bodies, mechanism.body_poses(q, x), strict=True))
        found[_BASE] = WORLD
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
    carrier = "end_effector" if "end_effector" in mechanism.bodies else "platform"
    bodies = []
    for name, frame in zip(mechanism.bodies, frames, strict=True):
        ten = np.array(body_parameters(robot, name))
        if name == carrier:
            ten = ten + np.array(payload_parameters(robot, payload))
        bodies.append(Body(name, tuple(ten), _matrix(frame)))
    if getattr(robot.bodies, _BASE, None) is not None:
        bodies.append(Body(_BASE, body_parameters(robot, _BASE), _matrix(WORLD)))
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
    poses = {name: _matrix(frame) for name, frame in {_BASE: WORLD, **frames}.items()}
    based = getattr(robot.bodies, _BASE, None) is not None
    driven = [joint.name for joint in mechanism.joints() if joint.driven]
    made = []
    for joint in mechanism.joints():
        angle = float(np.asarray(q[driven.index(joint.name)])) if joint.driven else 0.0
        item = _joint(joint, poses[joint.parent], poses[joint.child], angle)
        item = item._replace(parent=GROUND) if joint.parent == _BASE and not based else item
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
    motors = drive_motors(robot, len(mechanism.joint_coordinates))
    balls = None if laws.balls is None else friction_law(laws.balls)
    slide = None if laws.telescope is None else friction_law(laws.telescope)
    found, drive = [], 0
    for joint in joints:
        if joint.motor:
            motor = motors[drive]
            rotor = 0.0 if motor is None else reflected_inertia(motor)
            law = drive_friction(laws, drive, motor, friction)
            joint, drive = joint._replace(rotor=rotor, friction=law), drive + 1
        elif joint.name == "slide":
            joint = joint._replace(friction=slide)
        elif joint.name.startswith(("elbow", "wrist")):
            joint = joint._replace(friction=balls)
        found.append(joint)
    return _flexures(robot, mechanism, found) if isinstance(robot, PrsRobot) else found


def _flexures(
    robot: PrsRobot, mechanism: kinematics.AbstractMechanism, joints: list[Joint]
) -> list[Joint]:
    """The joints of a 3PRS as springs, free of stress at the rest angle of the bars."""
    names = [coordinate.name for coordinate in mechanism.passive_coordinates]
    springs = dict(zip(names, flexure_springs(robot, mechanism), strict=True))
    if springs["alpha_1"] is None:
        return joints
    home = mechanism.home()
    bent = mechanism.passive(mechanism.inverse(home).components, home)
    angles = {name: float(np.asarray(value)) for name, value in zip(names, bent, strict=True)}
    rest = robot.geometry.rest_angle
    s0, c0 = np.sin(rest), np.cos(rest)
    found = []
    for joint in joints:
        kind, _, leg = joint.name.partition("_")
        if kind == "revolute":
            hinge = springs[f"alpha_{leg}"]
            assert hinge is not None
            # the joint turns by -alpha about its y axis; its angle is 0 where it is at rest
            turn = _about_z(rest - angles[f"alpha_{leg}"])
            spring = Spring(hinge.stiffness, jnp.zeros(()))
            joint = joint._replace(spring=spring, child_frame=joint.child_frame @ turn)
        elif kind == "spherical":
            azimuth = robot.geometry.azimuth[int(leg) - 1]
            e = np.array([np.cos(azimuth), np.sin(azimuth), 0.0])
            t, k = np.array([-e[1], e[0], 0.0]), np.array([0.0, 0.0, 1.0])
            bending = [springs[f"beta_{axis}{leg}"] for axis in "mnl"]
            joint = joint._replace(
                frame=np.stack([-t, s0 * e + c0 * k, -c0 * e + s0 * k], axis=1),
                child_frame=np.eye(3)[:, [1, 2, 0]],
                bending=[float(spring.stiffness) for spring in bending if spring is not None],
            )
        found.append(joint)
    return found


# Other models of the rods


def _led(joint: Joint) -> Joint:
    """A hinge of a connecting rod at its second rod, as a point of that on the connecting rod.

    The upper connecting rod keeps its hinge at rod a, whose spin it thus holds, and the lower
    one at rod b. The other rod's point lies on its long axis, x: two conditions, not five.
    """
    if not re.match(r"hinge_rod_\d(ab|ba)$", joint.name):
        return joint
    return Joint(
        joint.name,
        "inline",
        joint.child,
        joint.parent,
        joint.child_point,
        joint.point,
        frame=frame_about((1.0, 0.0, 0.0)),
    )


def _lumped(
    robot: Robot, bodies: list[Body], joints: list[Joint]
) -> tuple[list[Body], list[Joint]]:
    """Rods as constant distances, their mass at both ends."""
    if getattr(robot.geometry, "rod_spacing", None) is None:
        raise InputError(
            f"{robot.name}: rods of constant distance keep the platform level in pairs only, "
            "and this robot has no rod_spacing."
        )
    ends = {joint.name: joint for joint in joints}
    tens = {body.name: np.array(body.ten, float) for body in bodies}
    kept = [joint for joint in joints if not re.match(r"(elbow|wrist|hinge)_", joint.name)]
    for name in [body.name for body in bodies if body.name.startswith("rod_")]:
        elbow, wrist = ends[f"elbow_{name}"], ends[f"wrist_{name}"]
        length = float(wrist.child_point[0])
        masses = [(tens[name][0], tens[name][1] / tens[name][0])]
        for end in "ab":
            hinge = ends.get(f"hinge_{name}{end}")
            if hinge is not None:
                masses.append((tens[hinge.child][0] / 2, float(hinge.point[0])))
        far = sum(mass * along for mass, along in masses) / length
        whole = sum(mass for mass, _ in masses)
        for joint, part in ((elbow, whole - far), (wrist, far)):
            tens[joint.parent] += _point_mass(part, np.asarray(joint.point, float))
        kept.append(
            Joint(
                name,
                "distance",
                elbow.parent,
                wrist.parent,
                elbow.point,
                wrist.point,
                length=length,
            )
        )
    names = [body.name for body in bodies if not body.name.startswith(("rod_", "connector_"))]
    return [
        body._replace(ten=tuple(tens[body.name])) for body in bodies if body.name in names
    ], kept


def _point_mass(m: float, at: Numbers) -> Numbers:
    """Ten parameters of a point mass."""
    x, y, z = at
    moments = (y * y + z * z, x * x + z * z, x * x + y * y, -x * y, -y * z, -x * z)
    return m * np.array([1.0, x, y, z, *moments])


def robot_drive(
    robot: RobotSystem, x: Components, xd: Components, xdd: Components
) -> tuple[Array, Array, Array]:
    """Position, rate and acceleration of the prescribed motors for a motion of the platform."""
    x, xd, xdd = as_scalars(x), as_scalars(xd), as_scalars(xdd)
    q = robot.mechanism.inverse(x).components
    qd, qdd, _ = joint_acceleration(robot.mechanism, q, x, xd, xdd)
    motors = [axis.joint for axis in robot.system.motors]
    if "guide" not in motors:
        return stacked(q), stacked(qd), stacked(qdd)
    extra = [3] if "motor_4" in motors else []
    return tuple(  # pyright: ignore[reportReturnType]
        stacked([*(joint[k] for k in extra), *platform[:3]])
        for joint, platform in ((q, x), (qd, xd), (qdd, xdd))
    )
