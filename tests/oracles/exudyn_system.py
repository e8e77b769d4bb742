"""A multibody system of ours in Exudyn: the same bodies and joints, other equations.

Bodies are Exudyn's rigid bodies, about the origins of their frames; joints are its joints
between markers that stand in our joints' frames.

    spherical, revolute, distance        its own joints of these kinds
    fixed, prismatic, cylindrical, inline      its generic joint: shifts and turns it may hold
    universal, perpendicular             its generic joint, that holds y of one marker normal
                                         to z of the other

A ball that is a motor and a cardan gets a body for its fork: hinged to the parent, with the
rotor's inertia, and a universal joint to the child. Motors are Exudyn's springs without
stiffness, or generic joints that hold everything, at an angle or a length that is given.

Exudyn's solver moves the system in time. Of single states its mass matrix M, forces f and
Jacobian J are asked instead, and `equations.py` solves

    M a + J' lam = f + T' tau,     J a + g = 0                                           (1)

T is what unit efforts add to f; g = dJ/dt v and dT/dt v by differences along the motion.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from configurations import Numbers
from equations import allowed, solved
from moving_robots import split
from scipy.spatial.transform import Rotation

from triskele.multibody import GROUND, Body, Joint, State

# Any: compiled, without types that a checker could read.
exu: Any = pytest.importorskip("exudyn", reason="no Exudyn here; `make validate` gets it")
items: Any = exu.itemInterface

_OWN = {"spherical": items.ObjectJointSpherical, "revolute": items.ObjectJointRevoluteZ}
_HELD = {
    "fixed": [1, 1, 1, 1, 1, 1],
    "prismatic": [1, 1, 0, 1, 1, 1],
    "cylindrical": [1, 1, 0, 1, 1, 0],
    "inline": [1, 1, 0, 0, 0, 0],
    "universal": [1, 1, 1, 1, 0, 0],
    "perpendicular": [0, 0, 0, 1, 0, 0],
}  #: shifts and turns along the axes of the markers, z along n
_CROSSED = ("universal", "perpendicular")
_STEP = 1e-3  # of differences, as a part of the time in which something turns by 1 rad or 1 m
_STENCIL = ((-2, 1 / 12), (-1, -8 / 12), (1, 8 / 12), (2, -1 / 12))  # exact for quartics

Signal = Callable[[float], float]  #: angle or length of a motor, from time


class Held(NamedTuple):
    """A joint in Exudyn."""

    number: int  #: of the object
    child: str
    child_point: Numbers


class Exudyn(NamedTuple):
    """The system, and the numbers of its parts."""

    mbs: Any
    bodies: dict[str, int]  #: objects
    nodes: dict[str, int]
    joints: dict[str, Held]
    motors: dict[str, int]  #: objects
    sensors: dict[str, int]  #: of the origins of bodies
    forks: tuple[str, ...]  #: bodies of their own, and the joints that hold them
    ours: tuple[Body, ...]


class Equations(NamedTuple):
    """Letters of (1) at one state."""

    q: Numbers
    v: Numbers
    M: Numbers
    f: Numbers
    J: Numbers
    g: Numbers
    T: Numbers
    bias: Numbers  #: dT/dt v
    gap: float  #: largest residual of position [m, -]
    slip: float  #: and of velocity


# Building the system


def translated(
    bodies: Sequence[Body],
    joints: Sequence[Joint],
    gravity: Sequence[float],
    state: State,
    *,
    signals: dict[str, Signal] | None = None,
    turning: str = "parameters",
) -> Exudyn:
    """These parts in Exudyn, at `state`; motors follow `signals`, by name, or are free.

    Bodies turn by Euler "parameters", or as the group of rotations, by a "vector".
    """
    exu.config.printToConsole, exu.config.suppressWarnings = False, True
    builder = _Builder(tuple(bodies), gravity, turning)
    for k, body in enumerate(bodies):
        builder.body(body.name, np.array(body.ten, float), *frame_and_twist(body, state, k))
    for joint in joints:
        builder.joint(joint, (signals or {}).get(joint.name))
    return builder.system()


class _Builder:
    def __init__(self, bodies: tuple[Body, ...], gravity: Sequence[float], turning: str) -> None:
        self._container = exu.SystemContainer()
        self._mbs = self._container.AddSystem()
        self._ours, self._gravity = bodies, [float(part) for part in gravity]
        self._turning = turning
        self._bodies: dict[str, int] = {GROUND: self._mbs.AddObject(items.ObjectGround())}
        self._frames: dict[str, Numbers] = {GROUND: np.eye(3, 4)}
        self._nodes: dict[str, int] = {}
        self._joints: dict[str, Held] = {}
        self._motors: dict[str, int] = {}

    def system(self) -> Exudyn:
        """All of it, ready to be asked."""
        position = exu.OutputVariableType.Position
        sensors = {
            name: self._mbs.AddSensor(
                items.SensorBody(
                    bodyNumber=number,
                    storeInternal=True,
                    writeToFile=False,
                    outputVariableType=position,
                )
            )
            for name, number in self._bodies.items()
        }
        self._mbs.Assemble()
        forks = tuple(name for name in self._joints if name in self._bodies)
        parts = self._bodies, self._nodes, self._joints, self._motors, sensors
        return Exudyn(self._mbs, *parts, forks, self._ours)

    def body(self, name: str, ten: Numbers, frame: Numbers, twist: Numbers) -> None:
        """A body at `frame`, whose origin moves with `twist`."""
        m, centre = ten[0], ten[1:4] / (ten[0] or 1.0)
        xx, yy, zz, xy, yz, xz = ten[4:]
        node = self._mbs.AddNode(self._node(frame, twist))
        number = self._mbs.AddObject(
            items.ObjectRigidBody(
                mass=m, centerOfMass=centre, inertia=[xx, yy, zz, yz, xz, xy], nodeNumber=node
            )
        )
        marker = self._mbs.AddMarker(items.MarkerBodyMass(bodyNumber=number))
        load = items.LoadMassProportional(markerNumber=marker, loadVector=self._gravity)
        self._mbs.AddLoad(load)
        self._bodies[name], self._nodes[name], self._frames[name] = number, node, frame

    def _node(self, frame: Numbers, twist: Numbers) -> Any:
        turn = Rotation.from_matrix(frame[:, :3])
        if self._turning == "vector":
            spin = frame[:, :3].T @ twist[3:]
            return items.NodeRigidBodyRotVecLG(
                referenceCoordinates=[*frame[:, 3], *turn.as_rotvec()],
                initialVelocities=[*twist[:3], *spin],
            )
        p = turn.as_quat(scalar_first=True)
        rate = exu.rigidBodyUtilities.AngularVelocity2EulerParameters_t(twist[3:], p)
        return items.NodeRigidBodyEP(
            referenceCoordinates=[*frame[:, 3], *p], initialVelocities=[*twist[:3], *rate]
        )

    def joint(self, joint: Joint, signal: Signal | None) -> None:
        """A joint, and its motor."""
        parent, kind, point = joint.parent, joint.kind, np.array(joint.point, float)
        E, F = np.array(joint.frame, float), np.array(joint.child_frame, float)
        if kind == "spherical" and joint.motor:
            parent, point, kind = self._fork(joint), np.zeros(3), "universal"
            E = np.eye(3)[:, [1, 2, 0]]  # n: x of the fork
        E = E[:, [1, 2, 0]] if kind in _CROSSED else E  # y: n
        ends = [self._marker(parent, point, E), self._marker(joint.child, joint.child_point, F)]
        if signal is not None:
            place = 5 if kind == "revolute" else 2  # the latter in O
            made = items.ObjectJointGeneric(markerNumbers=ends)
            made.offsetUserFunction = lambda mbs, t, *_: signal(t) * np.eye(6)[place]
        elif kind == "distance":
            made = items.ObjectConnectorDistance(markerNumbers=ends, distance=joint.length)
        elif kind in _OWN:
            made = _OWN[kind](markerNumbers=ends)
        else:
            made = items.ObjectJointGeneric(markerNumbers=ends, constrainedAxes=_HELD[kind])
        self._hold(joint.name, made, joint.child, joint.child_point)
        if joint.motor and signal is None and joint.kind != "spherical":
            self._motor(joint.name, joint.kind, ends)

    def _hold(self, name: str, made: Any, child: str, point: Any) -> None:
        number = self._mbs.AddObject(made)
        self._joints[name] = Held(number, child, np.array(point, float))

    def _motor(self, name: str, kind: str, ends: list[int]) -> None:
        """An effort about or along z of two markers."""
        made = (
            items.ObjectConnectorLinearSpringDamper(markerNumbers=ends, axisMarker0=[0, 0, 1])
            if kind == "prismatic"
            else items.ObjectConnectorTorsionalSpringDamper(markerNumbers=ends)
        )
        self._motors[name] = self._mbs.AddObject(made)

    def _fork(self, joint: Joint) -> str:
        """A body for the fork of a cardan, z along the motor's axis, x where it holds the cross."""
        parent, child = self._frames[joint.parent], self._frames[joint.child]
        n = parent[:, :3] @ np.array(joint.frame)[:, 2]
        cross = child[:, :3] @ np.array(joint.child_frame)[:, 2]
        x = np.cross(cross, n) / np.linalg.norm(np.cross(cross, n))
        place = parent[:, :3] @ np.array(joint.point) + parent[:, 3]
        name = f"fork of {joint.name}"
        ten = np.array([1.0, 0, 0, 0, *[joint.rotor] * 3, 0, 0, 0])
        self.body(name, ten, np.column_stack([x, np.cross(n, x), n, place]), np.zeros(6))
        ends = [
            self._marker(joint.parent, joint.point, np.array(joint.frame)),
            self._marker(name, np.zeros(3), np.eye(3)),
        ]
        self._hold(name, items.ObjectJointRevoluteZ(markerNumbers=ends), name, np.zeros(3))
        self._motor(joint.name, "revolute", ends)
        return name

    def _marker(self, body: str, point: Any, axes: Numbers) -> int:
        place = exu.HT(rotation=axes, translation=np.array(point, float))
        return self._mbs.AddMarker(
            items.MarkerBodyRigid(bodyNumber=self._bodies[body], localHT=place)
        )


def frame_and_twist(body: Body, state: State, k: int) -> tuple[Numbers, Numbers]:
    """Pose (3, 4) of the frame of body k, and velocities (6,) of its origin in O."""
    R = Rotation.from_quat(np.asarray(state.p[k]), scalar_first=True).as_matrix()
    w, c = R @ np.asarray(state.w[k]), R @ split(np.array(body.ten, float))[1]
    v = np.asarray(state.v[k]) - np.cross(w, c)
    return np.column_stack([R, np.asarray(state.r[k]) - c]), np.array([*v, *w])


# Its equations at one state, of bodies that turn by Euler parameters


def equations(system: Exudyn, t: float = 0.0) -> Equations:
    """Letters of (1) where the system was placed; forks get the speed that their joints ask."""
    asked = _Asked(system, t)
    q, v = asked.start()
    J, C = asked.jacobian(q)
    forks = [place for name in system.forks for place in _places(system, name)]
    if forks:
        v[forks], _ = solved(J[:, forks], -J @ v)
    h = _STEP / max(1.0, np.abs(v).max())
    near = [(weight / h, q + k * h * v) for k, weight in _STENCIL]
    return Equations(
        q,
        v,
        asked.inertia(q),
        asked.forces(q, v),
        J,
        sum(weight * asked.jacobian(at)[0] for weight, at in near) @ v,
        asked.efforts(q, v),
        sum(weight * asked.efforts(at, v) for weight, at in near) @ v,
        float(np.abs(C).max()),
        float(np.abs(J @ v).max()),
    )


class _Asked:
    """Exudyn's own functions of coordinates q and velocities v."""

    def __init__(self, system: Exudyn, t: float) -> None:
        self._mbs, self._motors = system.mbs, list(system.motors.values())
        settings = exu.SimulationSettings()
        settings.solution.file.write = False
        settings.timeIntegration.startTime = t
        settings.timeIntegration.endTime = t + 1.0
        settings.timeIntegration.generalizedAlpha.computeInitialAccelerations = False
        self._solver = exu.MainSolverImplicitSecondOrder()
        self._solver.InitializeSolver(self._mbs, settings)
        self._size = self._solver.GetODE2size()

    def start(self) -> tuple[Numbers, Numbers]:
        """q and v, as the system was placed."""
        data = self._mbs.systemData
        return np.array(data.GetODE2Coordinates()), np.array(data.GetODE2Coordinates_t())

    def inertia(self, q: Numbers) -> Numbers:
        self._set(q, np.zeros_like(q))
        self._solver.ComputeMassMatrix(self._mbs)
        return np.array(self._solver.GetSystemMassMatrix())[: self._size, : self._size]

    def forces(self, q: Numbers, v: Numbers) -> Numbers:
        self._set(q, v)
        self._solver.ComputeODE2RHS(self._mbs)
        return np.array(self._solver.GetSystemResidual())[: self._size]

    def jacobian(self, q: Numbers) -> tuple[Numbers, Numbers]:
        """J, and what it is the Jacobian of."""
        self._set(q, np.zeros_like(q))
        nothing = {"scalarFactor_ODE2": 0.0, "scalarFactor_ODE2_t": 0.0, "scalarFactor_ODE1": 0.0}
        self._solver.ComputeJacobianODE2RHS(self._mbs, **nothing)  # clears what is there
        self._solver.ComputeJacobianAE(self._mbs)
        J = np.array(self._solver.GetSystemJacobian())[self._size :, : self._size]
        self._solver.ComputeAlgebraicEquations(self._mbs)
        return J, np.array(self._solver.GetSystemResidual())[self._size :]

    def efforts(self, q: Numbers, v: Numbers) -> Numbers:
        """T: forces with a unit effort, less those without."""
        rows, still = [], self.forces(q, v)
        for motor in self._motors:
            _give(self._mbs, motor, 1.0)
            rows.append(self.forces(q, v) - still)
            _give(self._mbs, motor, 0.0)
        return np.array(rows).reshape(-1, self._size)

    def _set(self, q: Numbers, v: Numbers) -> None:
        data = self._mbs.systemData
        data.SetODE2Coordinates(q)
        data.SetODE2Coordinates_t(v)


def _give(mbs: Any, motor: int, effort: float) -> None:
    """A motor its effort; springs pull back."""
    name = "torque" if "torque" in mbs.GetObject(motor) else "force"
    mbs.SetObjectParameter(motor, name, -effort)


def _places(system: Exudyn, body: str) -> list[int]:
    """Where the coordinates of a body are."""
    return list(system.mbs.systemData.GetObjectLTGODE2(system.bodies[body]))


def accelerated(at: Equations, tau: Numbers) -> tuple[Numbers, Numbers, float]:
    """a and lam of (1) under efforts, and what does not fit."""
    closing, unclosed = solved(at.J, -at.g)
    basis, push = allowed(at.J), at.f + tau @ at.T
    reduced = basis.T @ at.M @ basis
    a = closing + basis @ np.linalg.solve(reduced, basis.T @ (push - at.M @ closing))
    lam, unbalanced = solved(at.J.T, push - at.M @ a)
    return a, lam, max(unclosed, unbalanced)


def driven(at: Equations, qdd: Numbers) -> tuple[Numbers, Numbers, float]:
    """Efforts and lam of (1) that accelerate the motors as given, and what does not fit."""
    a, unclosed = solved(np.concatenate([at.J, at.T]), np.concatenate([-at.g, qdd - at.bias]))
    found, unbalanced = solved(np.concatenate([at.J, -at.T]).T, at.f - at.M @ a)
    lam, tau = np.split(found, [len(at.J)])
    return tau, lam, max(unclosed, unbalanced)


def twists(system: Exudyn, at: Equations, a: Numbers) -> Numbers:
    """Accelerations (bodies, 6) of the centres of mass, and angular ones, in O."""
    rows = []
    for body in system.ours:
        places, (_, c, _) = _places(system, body.name), split(np.array(body.ten, float))
        R, G = _turn(system, at, body.name)
        w, wd = G @ at.v[places[3:]], G @ a[places[3:]]
        s = R @ c
        rows.append([*(a[places[:3]] + np.cross(wd, s) + np.cross(w, np.cross(w, s))), *wd])
    return np.array(rows)


def wrenches(system: Exudyn, at: Equations, lam: Numbers, tau: Numbers | None = None) -> Numbers:
    """Force and moment (joints, 2, 3) on the child of each joint, at its point, in O.

    With efforts `tau`, those of the joints' motors are included.
    """
    found = []
    for name, held in system.joints.items():
        if name in system.forks:
            continue
        rows = list(system.mbs.systemData.GetObjectLTGAE(held.number))
        places = _places(system, held.child)
        push = -at.J[np.ix_(rows, places)].T @ lam[rows]
        if tau is not None and name in system.motors:
            motor = list(system.motors).index(name)
            push = push + tau[motor] * at.T[motor, places]
        R, G = _turn(system, at, held.child)
        force, moment = push[:3], G @ push[3:] / 4
        found.append([force, moment - np.cross(R @ held.child_point, force)])
    return np.array(found)


def state_of(system: Exudyn, at: Equations) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Where our bodies are: r, p, v, w of a `State`."""
    rows = []
    for body in system.ours:
        places, (_, c, _) = _places(system, body.name), split(np.array(body.ten, float))
        reference = system.mbs.GetNode(system.nodes[body.name])["referenceCoordinates"]
        q, (R, G) = np.array(reference) + at.q[places], _turn(system, at, body.name)
        w = G @ at.v[places[3:]]
        v = at.v[places[:3]] + np.cross(w, R @ c)
        rows.append((q[:3] + R @ c, q[3:] / np.linalg.norm(q[3:]), v, R.T @ w))
    r, p, v, w = (np.array(part) for part in zip(*rows, strict=True))
    return r, p, v, w


def _turn(system: Exudyn, at: Equations, body: str) -> tuple[Numbers, Numbers]:
    """Axes of a body, and G: angular velocity = G times the rates of its Euler parameters."""
    reference = system.mbs.GetNode(system.nodes[body])["referenceCoordinates"][3:]
    p = np.array(reference) + at.q[_places(system, body)[3:]]
    tools = exu.rigidBodyUtilities
    return np.array(tools.EulerParameters2RotationMatrix(p)), tools.EulerParameters2G(p)


def counted(at: Equations) -> tuple[int, int]:
    """Degrees of freedom, and constraints that follow from others."""
    freedom = allowed(at.J).shape[1]
    return freedom, int(np.abs(at.J).any(axis=1).sum()) - (len(at.q) - freedom)


def stress(at: Equations) -> Numbers:
    """Multipliers (states of stress, rows) that push nothing."""
    used = np.abs(at.J).any(axis=1)
    found = allowed(at.J[used].T).T
    rows = np.zeros((len(found), len(used)))
    rows[:, used] = found
    return rows


# Its solver


def simulated(
    system: Exudyn, duration: float, step: float, *, redundant: bool = False, tau: Any = ()
) -> tuple[Numbers, dict[str, Numbers], Numbers]:
    """Times, origins (N, 3) of all bodies, and the last multipliers, by generalised alpha.

    The system is left where it ends. `redundant` constraints need Eigen's dense solver, and
    that it does not stop at singular matrices.
    """
    for motor, effort in zip(system.motors.values(), tau, strict=len(tau) > 0):
        _give(system.mbs, motor, effort)
    settings = exu.SimulationSettings()
    settings.solution.file.write, settings.solution.sensors.writePeriod = False, 0.0
    solver = exu.LinearSolverType.EigenDense if redundant else exu.LinearSolverType.EigenSparse
    settings.linearSolver.solverType = solver
    settings.linearSolver.ignoreSingularJacobian = redundant
    integration = settings.timeIntegration
    integration.endTime, integration.numberOfSteps = duration, round(duration / step)
    integration.generalizedAlpha.spectralRadius = 0.8
    integration.newton.relativeTolerance = 1e-8 if redundant else 1e-10
    system.mbs.SolveDynamic(settings, updateInitialValues=True)
    lam = np.array(system.mbs.systemData.GetAECoordinates())
    rows = {name: system.mbs.GetSensorStoredData(k) for name, k in system.sensors.items()}
    t = next(iter(rows.values()))[:, 0]
    return t, {name: data[:, 1:] for name, data in rows.items()}, lam
