"""The bodies and joints of a multibody system in Exudyn, MuJoCo and Pinocchio, let go.

Exudyn has the same 17 bodies and 117 conditions as we have. Bodies are of its Lie group, joints
of its own kinds, and Newton's matrix is kept as long as it serves: of what it offers, the
fastest that is as accurate (a new matrix in each iteration takes eight times as long). Only
Eigen's dense solver gets past redundant conditions.

MuJoCo and Pinocchio get a tree of joints, and points that stay together to close its loops: one
for a ball, two along the axis of a hinge. The platform, which no other joint of the tree
carries, slides along x, y and z.

A run is a call that returns what all bodies do at the instants of TIMES.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from scipy.spatial.transform import Rotation

from benchmarks.machine import Numbers
from benchmarks.peers import engine
from triskele.multibody import GROUND, Body, Joint, State

DURATION, STEP = 5.0, 1e-3  #: [s]
TIMES = np.linspace(0, DURATION, 51)
EXUDYN = "Exudyn, generalised alpha"
PINOCCHIO = "Pinocchio, Runge-Kutta from Python"
MUJOCO = "MuJoCo, Runge-Kutta"
MUJOCO_EULER = "MuJoCo, Euler"

_EVERY = round(DURATION / STEP) // (len(TIMES) - 1)  # steps between samples
_LEVER = 0.1  # between the two points of a hinge that closes a loop [m]
_SOFT = {"solref": f"{2 * STEP} 1", "solimp": "0.99 0.9999 0.0001 0.5 2"}  # of MuJoCo's loops


class Model(NamedTuple):
    """What the programs are given."""

    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...]
    gravity: tuple[float, ...]
    start: State


class FreeRun(NamedTuple):
    """One program and its settings."""

    name: str
    setting: str
    call: Callable[[], State]  #: (samples, bodies, ...) at TIMES


# Rows of states


def _centre(body: Body) -> Numbers:
    return np.array(body.ten[1:4], float) / (body.ten[0] or 1.0)


def _row(body: Body, R: Numbers, p: Numbers, v: Numbers, w: Numbers) -> tuple[Numbers, ...]:
    """r, p, v, w of a `State`, from a frame and the velocity of its origin in O."""
    s, turn = R @ _centre(body), Rotation.from_matrix(R)
    return p + s, turn.as_quat(scalar_first=True), v + np.cross(w, s), R.T @ w


def _states(rows: list[list[tuple[Numbers, ...]]]) -> State:
    parts = (np.array([[body[k] for body in row] for row in rows]) for k in range(4))
    return State(*map(jnp.asarray, parts))


def _frames(model: Model) -> dict[str, Numbers]:
    """Frames (4, 4) of all bodies at the start."""
    found = {GROUND: np.eye(4)}
    for k, body in enumerate(model.bodies):
        R = Rotation.from_quat(np.asarray(model.start.p[k]), scalar_first=True).as_matrix()
        found[body.name] = _pose(R, np.asarray(model.start.r[k]) - R @ _centre(body))
    return found


def _pose(R: Numbers, p: Any) -> Numbers:
    return np.block([[R, np.reshape(p, (3, 1))], [np.zeros((1, 3)), np.ones((1, 1))]])


def _inertia(body: Body) -> tuple[float, Numbers, Numbers]:
    """Mass, centre of mass, inertia about it."""
    m, c = float(body.ten[0]), _centre(body)
    xx, yy, zz, xy, yz, xz = (float(value) for value in body.ten[4:])
    about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return m, c, about - m * (c @ c * np.eye(3) - np.outer(c, c))


# Exudyn


def exudyn(model: Model) -> FreeRun:
    """All bodies and joints as they are; OSError without Exudyn."""
    exu = engine("exudyn")
    exu.config.printToConsole, exu.config.suppressWarnings = False, True
    items, container = exu.itemInterface, exu.SystemContainer()
    mbs, frames = container.AddSystem(), _frames(model)
    numbers = {GROUND: mbs.AddObject(items.ObjectGround())}
    for body in model.bodies:
        (m, c, _), frame = _inertia(body), frames[body.name]
        turn = Rotation.from_matrix(frame[:3, :3]).as_rotvec()
        place = items.NodeRigidBodyRotVecLG(referenceCoordinates=[*frame[:3, 3], *turn])
        xx, yy, zz, xy, yz, xz = body.ten[4:]
        rigid = items.ObjectRigidBody(
            mass=m,
            centerOfMass=c,
            inertia=[xx, yy, zz, yz, xz, xy],
            nodeNumber=mbs.AddNode(place),
        )
        numbers[body.name] = mbs.AddObject(rigid)
        marker = mbs.AddMarker(items.MarkerBodyMass(bodyNumber=numbers[body.name]))
        mbs.AddLoad(items.LoadMassProportional(markerNumber=marker, loadVector=model.gravity))
    kinds = {
        "fixed": items.ObjectJointGeneric,
        "revolute": items.ObjectJointRevoluteZ,
        "spherical": items.ObjectJointSpherical,
    }
    for joint in model.joints:
        ends = (
            (joint.parent, joint.frame, joint.point),
            (joint.child, joint.child_frame, joint.child_point),
        )
        markers = [
            items.MarkerBodyRigid(
                bodyNumber=numbers[body],
                localHT=exu.HT(rotation=np.array(axes), translation=np.array(point, float)),
            )
            for body, axes, point in ends
        ]
        mbs.AddObject(kinds[joint.kind](markerNumbers=[mbs.AddMarker(end) for end in markers]))
    wanted = ("RotationMatrix", "Position", "Velocity", "AngularVelocity")
    sensors = [
        [
            mbs.AddSensor(
                items.SensorBody(
                    bodyNumber=numbers[body.name],
                    storeInternal=True,
                    writeToFile=False,
                    outputVariableType=getattr(exu.OutputVariableType, what),
                )
            )
            for what in wanted
        ]
        for body in model.bodies
    ]
    mbs.Assemble()
    settings = _exudyn_settings(exu)

    def call() -> State:
        mbs.SolveDynamic(settings)
        rows: list[list[tuple[Numbers, ...]]] = [[] for _ in TIMES]
        for body, parts in zip(model.bodies, sensors, strict=True):
            data = [mbs.GetSensorStoredData(sensor)[:, 1:] for sensor in parts]
            for row, R, p, v, w in zip(rows, *data, strict=True):
                row.append(_row(body, R.reshape(3, 3), p, v, w))
        return _states(rows)

    call.container = container  # pyright: ignore[reportFunctionMemberAccess]  as long as it lives
    return FreeRun(EXUDYN, "steps of 1 ms", call)


def _exudyn_settings(exu: Any) -> Any:
    settings = exu.SimulationSettings()
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = DURATION / (len(TIMES) - 1)
    settings.linearSolver.solverType = exu.LinearSolverType.EigenDense
    settings.linearSolver.ignoreSingularJacobian = True
    integration = settings.timeIntegration
    integration.endTime, integration.numberOfSteps = DURATION, round(DURATION / STEP)
    integration.generalizedAlpha.spectralRadius = 0.8
    return settings


# A tree of joints, and points that close its loops


class _Tree(NamedTuple):
    links: tuple[Joint, ...]  #: each after the one that carries its parent, depth first
    loops: tuple[tuple[str, str, Numbers, Numbers], ...]  #: bodies, and points that meet
    loose: tuple[str, ...]  #: bodies that slide


def _tree(model: Model) -> _Tree:
    reached, links = {GROUND}, []

    def follow(parent: str) -> None:
        for joint in model.joints:
            if joint.parent == parent and joint.child not in reached:
                reached.add(joint.child)
                links.append(joint)
                follow(joint.child)

    follow(GROUND)
    loops = []
    for joint in (joint for joint in model.joints if joint not in links):
        for shift in (0.0, _LEVER) if joint.kind == "revolute" else (0.0,):
            ends = (joint.point, joint.frame), (joint.child_point, joint.child_frame)
            points = (np.array(u) + shift * np.array(axes)[:, 2] for u, axes in ends)
            loops.append((joint.parent, joint.child, *points))
    loose = tuple(body.name for body in model.bodies if body.name not in reached)
    return _Tree(tuple(links), tuple(loops), loose)


def _ends(joint: Joint) -> tuple[Numbers, Numbers]:
    """The joint's frame (4, 4) on its parent, and on its child."""
    return (
        _pose(np.array(joint.frame), joint.point),
        _pose(np.array(joint.child_frame), joint.child_point),
    )


def _turn(joint: Joint, frames: dict[str, Numbers]) -> Rotation:
    """How the joint is turned at the start."""
    first, second = _ends(joint)
    relative = (frames[joint.parent] @ first).T[:3, :3] @ (frames[joint.child] @ second)[:3, :3]
    return Rotation.from_matrix(relative)


# MuJoCo


def mujoco(model: Model) -> Iterator[FreeRun]:
    """Runge and Kutta, and Euler, with loops as hard as they can be; OSError without MuJoCo."""
    engine_ = engine("mujoco")
    for name, integrator in ((MUJOCO, "RK4"), (MUJOCO_EULER, "Euler")):
        robot = engine_.MjModel.from_xml_string(_mujoco_text(model, integrator))
        yield FreeRun(name, "steps of 1 ms", _mujoco_run(engine_, robot, model))


def _mujoco_run(mujoco: Any, robot: Any, model: Model) -> Callable[[], State]:
    tree, frames = _tree(model), _frames(model)
    start = mujoco.MjData(robot)
    for joint in tree.links:
        turn = _turn(joint, frames)
        if joint.kind == "revolute":
            start.joint(joint.name).qpos[:] = turn.as_rotvec()[2]
        elif joint.kind == "spherical":
            start.joint(joint.name).qpos[:] = turn.as_quat(scalar_first=True)
    for body in tree.loose:
        for axis, place in zip("xyz", frames[body][:3, 3], strict=True):
            start.joint(f"{body}_{axis}").qpos[:] = place
    first, shown = start.qpos.copy(), mujoco.MjData(robot)

    def call() -> State:
        data = mujoco.MjData(robot)
        data.qpos[:] = first
        kept = [(data.qpos.copy(), data.qvel.copy())]
        for _ in TIMES[1:]:
            for _ in range(_EVERY):
                mujoco.mj_step(robot, data)
            kept.append((data.qpos.copy(), data.qvel.copy()))
        return _states([rows(*sample) for sample in kept])

    def rows(q: Numbers, v: Numbers) -> list[tuple[Numbers, ...]]:
        shown.qpos[:], shown.qvel[:] = q, v
        mujoco.mj_fwdPosition(robot, shown)
        mujoco.mj_fwdVelocity(robot, shown)
        found, twist = [], np.zeros(6)
        for body in model.bodies:
            at = shown.body(body.name)
            kind = mujoco.mjtObj.mjOBJ_XBODY
            mujoco.mj_objectVelocity(robot, shown, kind, at.id, twist, 0)
            R = at.xmat.reshape(3, 3).copy()
            found.append(_row(body, R, at.xpos.copy(), twist[3:].copy(), twist[:3].copy()))
        return found

    return call


def _mujoco_text(model: Model, integrator: str) -> str:
    tree = _tree(model)
    bodies = {body.name: body for body in model.bodies}
    carried = {name: [j for j in tree.links if j.parent == name] for name in (GROUND, *bodies)}
    sites: dict[str, list[str]] = {name: [] for name in bodies}
    connects = []
    for k, (parent, child, *points) in enumerate(tree.loops):
        for side, body, point in zip("ab", (parent, child), points, strict=True):
            sites[body].append(f'<site name="{k}{side}" pos="{_text(point)}"/>')
        soft = " ".join(f'{name}="{value}"' for name, value in _SOFT.items())
        connects.append(f'<connect site1="{k}a" site2="{k}b" {soft}/>')

    def inside(name: str) -> str:
        m, c, about = _inertia(bodies[name])
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = about
        inertia = f'fullinertia="{_text(np.array([xx, yy, zz, xy, xz, yz]))}"'
        below = "".join(element(joint) for joint in carried[name])
        return f'<inertial pos="{_text(c)}" mass="{m}" {inertia}/>{"".join(sites[name])}{below}'

    def element(joint: Joint) -> str:
        first, second = _ends(joint)
        pose = first @ np.linalg.inv(second)
        turn = Rotation.from_matrix(pose[:3, :3]).as_quat(scalar_first=True)
        kind = {"revolute": "hinge", "spherical": "ball"}.get(joint.kind)
        axis = "" if kind != "hinge" else f'axis="{_text(second[:3, 2])}"'
        pos = f'pos="{_text(second[:3, 3])}"'
        hinge = f'<joint name="{joint.name}" type="{kind}" {pos} {axis}/>' if kind else ""
        place = f'pos="{_text(pose[:3, 3])}" quat="{_text(turn)}"'
        return f'<body name="{joint.child}" {place}>{hinge}{inside(joint.child)}</body>'

    def sliding(name: str) -> str:
        axes = zip("xyz", np.eye(3), strict=True)
        slides = (
            f'<joint name="{name}_{letter}" type="slide" axis="{_text(axis)}"/>'
            for letter, axis in axes
        )
        return f'<body name="{name}">{"".join(slides)}{inside(name)}</body>'

    world = "".join(element(joint) for joint in carried[GROUND])
    world += "".join(sliding(name) for name in tree.loose)
    option = f'gravity="{_text(np.array(model.gravity))}" timestep="{STEP}"'
    return (
        f'<mujoco><compiler angle="radian"/><option {option} integrator="{integrator}"/>'
        f"<worldbody>{world}</worldbody><equality>{''.join(connects)}</equality></mujoco>"
    )


def _text(numbers: Numbers) -> str:
    return " ".join(repr(float(number)) for number in numbers)


# Pinocchio


def pinocchio(model: Model) -> FreeRun:
    """Its constrained dynamics in a loop of Runge and Kutta's; OSError without Pinocchio."""
    pin = engine("pinocchio")
    robot, places = _pinocchio_model(pin, model)
    tree, frames, data = _tree(model), _frames(model), robot.createData()
    loops, loops_data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for parent, child, *points in tree.loops:
        ends = []
        for body, point in zip((parent, child), points, strict=True):
            joint, place = places[body]
            ends += [joint, place * pin.SE3(np.eye(3), point)]
        loops.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, robot, *ends))
        loops_data.append(loops[-1].createData())
    pin.initConstraintDynamics(robot, data, loops, loops_data)
    settings, nothing = pin.ProximalSettings(1e-12, 1e-4, 4), np.zeros(robot.nv)
    start = pin.neutral(robot)
    balls = []
    for joint in tree.links:
        number = robot.getJointId(joint.name)
        if number < robot.njoints:
            item, turn = robot.joints[number], _turn(joint, frames)
            ball = item.nq == 4
            start[item.idx_q : item.idx_q + item.nq] = (
                turn.as_quat() if ball else turn.as_rotvec()[2]
            )
            balls += [(item.idx_q, item.idx_v)] if ball else []
    for body in tree.loose:
        first = robot.joints[robot.getJointId(body)].idx_q
        start[first : first + 3] = frames[body][:3, 3]
    quaternions = np.array([np.arange(q, q + 4) for q, _ in balls])
    spins = np.array([np.arange(v, v + 3) for _, v in balls])
    others = [
        (joint.idx_q + k, joint.idx_v + k)
        for joint in robot.joints[1:]
        if joint.nq == joint.nv
        for k in range(joint.nq)
    ]
    to, of = (np.array(part) for part in zip(*others, strict=True))

    def rate(state: Numbers) -> Numbers:
        q, v = state[: robot.nq].copy(), state[robot.nq :]
        p = q[quaternions]
        q[quaternions] = p = p / np.sqrt(np.einsum("ij,ij->i", p, p))[:, None]
        a = pin.constraintDynamics(robot, data, q, v, nothing, loops, loops_data, settings)
        w, change = v[spins], np.empty(robot.nq)
        e, e0 = p[:, :3], p[:, 3:]
        x = e[:, [1, 2, 0]] * w[:, [2, 0, 1]] - e[:, [2, 0, 1]] * w[:, [1, 2, 0]]
        change[quaternions] = np.hstack([e0 * w + x, -np.einsum("ij,ij->i", e, w)[:, None]]) / 2
        change[to] = v[of]
        return np.concatenate([change, a])

    def call() -> State:
        state = np.concatenate([start, np.zeros(robot.nv)])
        kept = [state]
        for _ in TIMES[1:]:
            for _ in range(_EVERY):
                k_1 = rate(state)
                k_2 = rate(state + STEP / 2 * k_1)
                k_3 = rate(state + STEP / 2 * k_2)
                k_4 = rate(state + STEP * k_3)
                state = state + STEP / 6 * (k_1 + 2 * k_2 + 2 * k_3 + k_4)
            kept.append(state)
        return _states([rows(sample) for sample in kept])

    def rows(state: Numbers) -> list[tuple[Numbers, ...]]:
        q, found = pin.normalize(robot, state[: robot.nq]), []
        pin.forwardKinematics(robot, data, q, state[robot.nq :])
        for body in model.bodies:
            joint, place = places[body.name]
            at, twist = data.oMi[joint] * place, data.v[joint]
            R = data.oMi[joint].rotation
            w = R @ twist.angular
            v = R @ twist.linear + np.cross(w, at.translation - data.oMi[joint].translation)
            found.append(_row(body, at.rotation, at.translation, v, w))
        return found

    return FreeRun(PINOCCHIO, "steps of 1 ms", call)


def _pinocchio_model(pin: Any, model: Model) -> tuple[Any, dict[str, tuple[int, Any]]]:
    """The tree, and of each body its joint and its frame in that."""
    robot, tree = pin.Model(), _tree(model)
    robot.gravity.linear = np.array(model.gravity)
    bodies = {body.name: body for body in model.bodies}
    places = {GROUND: (0, pin.SE3.Identity())}
    kinds = {"revolute": pin.JointModelRZ, "spherical": pin.JointModelSpherical}

    def weigh(name: str, joint: int, place: Any) -> None:
        robot.appendBodyToJoint(joint, pin.Inertia(*_inertia(bodies[name])), place)
        places[name] = joint, place

    for joint in tree.links:
        first, second = (pin.SE3(end) for end in _ends(joint))
        parent, place = places[joint.parent]
        if joint.kind == "fixed":
            weigh(joint.child, parent, place * first * second.inverse())
            continue
        number = robot.addJoint(parent, kinds[joint.kind](), place * first, joint.name)
        weigh(joint.child, number, second.inverse())
    for name in tree.loose:
        number = robot.addJoint(0, pin.JointModelTranslation(), pin.SE3.Identity(), name)
        weigh(name, number, pin.SE3.Identity())
    return robot, places
