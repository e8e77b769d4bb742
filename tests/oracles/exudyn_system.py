"""A multibody system of ours in Exudyn: the same bodies and joints, other equations.

Bodies are Exudyn's rigid bodies with Euler parameters, about the origins of their frames;
joints are its generic joints between markers that stand in our joints' frames.

    fixed, prismatic     three turns and three, or two, shifts held
    revolute, spherical  three shifts, and two turns or none
    universal            three shifts and the turn that keeps y of one marker normal to z of
                         the other
    inline               two shifts
    distance             Exudyn's distance

A ball that is a motor and a cardan gets a body for its fork: hinged to the parent, with the
rotor's inertia, and a universal joint to the child. Motors are Exudyn's springs without
stiffness, or hinges that are fixed but for a given angle.

Exudyn's solver moves the system in time. Of single states its mass matrix M, forces f and
Jacobian C_q are asked instead, and `equations.py` solves

    M a + C_q' lam = f + T' tau,     C_q a + g = 0                                       (1)

T is what unit efforts add to f; g = dC_q/dt v and dT/dt v by differences along the motion.
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

_HELD = {
    "fixed": [1, 1, 1, 1, 1, 1],
    "revolute": [1, 1, 1, 1, 1, 0],
    "universal": [1, 1, 1, 1, 0, 0],
    "spherical": [1, 1, 1, 0, 0, 0],
    "prismatic": [1, 1, 0, 1, 1, 1],
    "inline": [1, 1, 0, 0, 0, 0],
}  #: shifts and turns along the axes of the markers, z along n
_STEP = 1e-3  # of differences, as a part of the time in which something turns by 1 rad or 1 m
_STENCIL = ((-2, 1 / 12), (-1, -8 / 12), (1, 8 / 12), (2, -1 / 12))  # exact for quartics

Angle = Callable[[float], float]  #: of a motor, from time


class Held(NamedTuple):
    """A joint in Exudyn."""

    number: int  #: of the object
    child: str
    child_point: Numbers


class Exudyn(NamedTuple):
    """The system, and where its parts are."""

    mbs: Any
    bodies: dict[str, int]  #: objects, crosses and forks included
    nodes: dict[str, int]
    joints: dict[str, Held]
    motors: dict[str, int]  #: objects
    forks: tuple[str, ...]  #: bodies of their own, and the joints that hold them
    ours: tuple[Body, ...]


class Equations(NamedTuple):
    """Letters of (1) at one state."""

    q: Numbers
    v: Numbers
    M: Numbers
    f: Numbers
    J: Numbers  #: C_q
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
    angles: dict[str, Angle] | None = None,
) -> Exudyn:
    """These parts in Exudyn, at `state`; motors hinge as `angles` say, by name, or are free."""
    exu.config.printToConsole, exu.config.suppressWarnings = False, True
    builder = _Builder(tuple(bodies), gravity)
    builder.place(state)
    for joint in joints:
        builder.joint(joint, (angles or {}).get(joint.name))
    builder.mbs.Assemble()
    return builder.system()


class _Builder:
    def __init__(self, bodies: tuple[Body, ...], gravity: Sequence[float]) -> None:
        self.container = exu.SystemContainer()
        self.mbs = self.container.AddSystem()
        self._ours, self._gravity = bodies, [float(part) for part in gravity]
        ground = self.mbs.AddObject(items.ObjectGround())
        self._bodies: dict[str, int] = {GROUND: ground}
        self._frames: dict[str, Numbers] = {GROUND: np.eye(3, 4)}
        self._nodes: dict[str, int] = {}
        self._joints: dict[str, Held] = {}
        self._motors: dict[str, int] = {}

    def system(self) -> Exudyn:
        forks = tuple(name for name in self._joints if name in self._bodies)
        parts = self._bodies, self._nodes, self._joints, self._motors
        return Exudyn(self.mbs, *parts, forks, self._ours)

    def place(self, state: State) -> None:
        """All bodies of ours, where they are."""
        for k, body in enumerate(self._ours):
            self.body(body.name, np.array(body.ten, float), *frame_and_twist(body, state, k))

    def body(self, name: str, ten: Numbers, frame: Numbers, twist: Numbers) -> None:
        """A body at `frame`, whose origin moves with `twist`."""
        m, (x, y, z) = ten[0], ten[1:4] / (ten[0] or 1.0)
        xx, yy, zz, xy, yz, xz = ten[4:]
        p = Rotation.from_matrix(frame[:, :3]).as_quat(scalar_first=True)
        rate = exu.rigidBodyUtilities.AngularVelocity2EulerParameters_t(twist[3:], p)
        node = self.mbs.AddNode(
            items.NodeRigidBodyEP(
                referenceCoordinates=[*frame[:, 3], *p], initialVelocities=[*twist[:3], *rate]
            )
        )
        number = self.mbs.AddObject(
            items.ObjectRigidBody(
                mass=m, centerOfMass=[x, y, z], inertia=[xx, yy, zz, yz, xz, xy], nodeNumber=node
            )
        )
        marker = self.mbs.AddMarker(items.MarkerBodyMass(bodyNumber=number))
        self.mbs.AddLoad(items.LoadMassProportional(markerNumber=marker, loadVector=self._gravity))
        self._bodies[name], self._nodes[name], self._frames[name] = number, node, frame

    def joint(self, joint: Joint, angle: Angle | None) -> None:
        """A joint, and its motor."""
        E, F = np.array(joint.frame, float), np.array(joint.child_frame, float)
        parent, child = joint.parent, joint.child
        point, child_point = (np.array(u, float) for u in (joint.point, joint.child_point))
        kind = joint.kind
        if kind == "spherical" and joint.motor:
            parent, point, kind = self._fork(joint), np.zeros(3), "universal"
            E = np.eye(3)[:, [1, 2, 0]]  # z: x of the fork
        if kind == "universal":
            E = E[:, [1, 2, 0]]  # y: the axis
        ends = [self._marker(parent, point, E), self._marker(child, child_point, F)]
        if kind == "distance":
            made = items.ObjectConnectorDistance(markerNumbers=ends, distance=joint.length)
        else:
            made = items.ObjectJointGeneric(markerNumbers=ends, constrainedAxes=_HELD[kind])
        if angle is not None:
            made.constrainedAxes = [1] * 6
            made.offsetUserFunction = lambda mbs, t, *_: [0.0] * 5 + [angle(t)]
        elif joint.motor and joint.kind != "spherical":
            self._motor(joint, ends)
        self._joints[joint.name] = Held(self.mbs.AddObject(made), child, child_point)

    def _motor(self, joint: Joint, ends: list[int]) -> None:
        """An effort about or along z of two markers."""
        kinds = {"prismatic": "Linear"}
        kind = getattr(items, f"ObjectConnector{kinds.get(joint.kind, 'Torsional')}SpringDamper")
        axis = {"axisMarker0": [0, 0, 1]} if joint.kind == "prismatic" else {}
        self._motors[joint.name] = self.mbs.AddObject(kind(markerNumbers=ends, **axis))

    def _fork(self, joint: Joint) -> str:
        """A body for the fork of a cardan, z along the motor's axis, x where it holds the cross."""
        parent, child = self._frames[joint.parent], self._frames[joint.child]
        n = parent[:, :3] @ np.array(joint.frame)[:, 2]
        cross = child[:, :3] @ np.array(joint.child_frame)[:, 2]
        x = np.cross(cross, n) / np.linalg.norm(np.cross(cross, n))
        place = parent[:, :3] @ joint.point + parent[:, 3]
        frame = np.column_stack([x, np.cross(n, x), n, place])
        name, inertia = f"fork_{joint.name}", joint.rotor
        ten = np.array([1.0, 0, 0, 0, inertia, inertia, inertia, 0, 0, 0])
        self.body(name, ten, frame, np.zeros(6))
        E = np.array(joint.frame, float)
        ends = [self._marker(joint.parent, joint.point, E), self._marker(name, np.zeros(3), np.eye(3))]
        hinge = items.ObjectJointGeneric(markerNumbers=ends, constrainedAxes=_HELD["revolute"])
        self._joints[name] = Held(self.mbs.AddObject(hinge), name, np.zeros(3))
        self._motor(joint._replace(kind="revolute"), ends)
        return name

    def _marker(self, body: str, point: Numbers, axes: Numbers) -> int:
        place = exu.HT(rotation=axes, translation=np.array(point, float))
        return self.mbs.AddMarker(
            items.MarkerBodyRigid(bodyNumber=self._bodies[body], localHT=place)
        )


def frame_and_twist(body: Body, state: State, k: int) -> tuple[Numbers, Numbers]:
    """Pose (3, 4) of the frame of body k, and velocities (6,) of its origin in O."""
    R = Rotation.from_quat(np.asarray(state.p[k]), scalar_first=True).as_matrix()
    w, c = R @ np.asarray(state.w[k]), R @ split(np.array(body.ten, float))[1]
    v = np.asarray(state.v[k]) - np.cross(w, c)
    return np.column_stack([R, np.asarray(state.r[k]) - c]), np.array([*v, *w])


# Its equations at one state


def equations(system: Exudyn) -> Equations:
    """Letters of (1) where the system was placed; forks get the speed that their joints ask."""
    asked = _Asked(system.mbs, list(system.motors.values()))
    q, v = asked.start()
    J, C = asked.jacobian(q)
    v = _with_forks(system, J, v)
    M, f, T = asked.inertia(q), asked.forces(q, v), asked.efforts(q, v)
    h = _STEP / max(1.0, np.abs(v).max())
    near = [(weight / h, q + k * h * v) for k, weight in _STENCIL]
    g = sum(weight * asked.jacobian(at)[0] for weight, at in near) @ v
    bias = sum(weight * asked.efforts(at, v) for weight, at in near) @ v
    return Equations(
        q, v, M, f, J, g, T, bias, float(np.abs(C).max()), float(np.abs(J @ v).max(initial=0.0))
    )


class _Asked:
    """Exudyn's own functions of coordinates q and velocities v."""

    def __init__(self, mbs: Any, motors: list[int]) -> None:
        self._mbs, self._motors = mbs, motors
        settings = exu.SimulationSettings()
        settings.solution.file.write = False
        settings.timeIntegration.generalizedAlpha.computeInitialAccelerations = False
        self._solver = exu.MainSolverImplicitSecondOrder()
        self._solver.InitializeSolver(mbs, settings)
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
        """C_q and C, without the rows that say that an unused multiplier is zero."""
        self._set(q, np.zeros_like(q))
        self._solver.ComputeJacobianODE2RHS(  # clears what is there
            self._mbs, scalarFactor_ODE2=0.0, scalarFactor_ODE2_t=0.0, scalarFactor_ODE1=0.0
        )
        self._solver.ComputeJacobianAE(self._mbs)
        J = np.array(self._solver.GetSystemJacobian())[self._size :, : self._size]
        self._solver.ComputeAlgebraicEquations(self._mbs)
        return J, np.array(self._solver.GetSystemResidual())[self._size :]

    def efforts(self, q: Numbers, v: Numbers) -> Numbers:
        """T: forces with a unit effort, less those without."""
        rows, still = [], self.forces(q, v)
        for motor in self._motors:
            name = "torque" if "torque" in self._mbs.GetObject(motor) else "force"
            self._mbs.SetObjectParameter(motor, name, -1.0)  # springs pull back
            rows.append(self.forces(q, v) - still)
            self._mbs.SetObjectParameter(motor, name, 0.0)
        return np.array(rows).reshape(-1, self._size)

    def _set(self, q: Numbers, v: Numbers) -> None:
        data = self._mbs.systemData
        data.SetODE2Coordinates(q), data.SetODE2Coordinates_t(v)


def _with_forks(system: Exudyn, J: Numbers, v: Numbers) -> Numbers:
    places = [place for name in system.forks for place in _places(system, name)]
    found = v.copy()
    if places:
        found[places], _ = solved(J[:, places], -J @ v)
    return found


def _places(system: Exudyn, body: str) -> list[int]:
    """Where the seven coordinates of a body are."""
    return list(system.mbs.systemData.GetObjectLTGODE2(system.bodies[body]))


def accelerated(at: Equations, tau: Numbers) -> tuple[Numbers, Numbers, float]:
    """a and lam of (1) under efforts, and what does not fit."""
    closing, unclosed = solved(at.J, -at.g)
    basis, push = allowed(at.J), at.f + tau @ at.T
    reduced = basis.T @ at.M @ basis
    a = closing + basis @ np.linalg.solve(reduced, basis.T @ (push - at.M @ closing))
    lam, unbalanced = solved(at.J.T, push - at.M @ a)
    return a, lam, max(unclosed, unbalanced)


def driven(at: Equations, qdd: Numbers) -> tuple[Numbers, Numbers, Numbers, float]:
    """a, efforts and lam of (1) that accelerate the motors as given, and what does not fit."""
    a, unclosed = solved(np.concatenate([at.J, at.T]), np.concatenate([-at.g, qdd - at.bias]))
    rows = np.concatenate([at.J, -at.T])
    found, unbalanced = solved(rows.T, at.f - at.M @ a)
    lam, tau = np.split(found, [len(at.J)])
    return a, tau, lam, max(unclosed, unbalanced)


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


def wrenches(system: Exudyn, at: Equations, lam: Numbers) -> Numbers:
    """Force and moment (joints, 2, 3) of each joint on its child, at its point, in O."""
    found = []
    for name, held in system.joints.items():
        if name in system.forks:
            continue
        rows = list(system.mbs.systemData.GetObjectLTGAE(held.number))
        places = _places(system, held.child)
        pushed = -at.J[np.ix_(rows, places)].T @ lam[rows]
        R, G = _turn(system, at, held.child)
        force, moment = pushed[:3], G @ pushed[3:] / 4
        found.append([force, moment - np.cross(R @ held.child_point, force)])
    return np.array(found)


def mobility_of(at: Equations) -> tuple[int, int]:
    """Degrees of freedom, and constraints that follow from others."""
    rank = len(at.q) - allowed(at.J).shape[1]
    return len(at.q) - rank, int(np.abs(at.J).any(axis=1).sum()) - rank


def stress_of(at: Equations) -> Numbers:
    """Multipliers (states, rows) that push nothing."""
    used = np.abs(at.J).any(axis=1)
    found = allowed(at.J[used].T).T
    stress = np.zeros((len(found), len(used)))
    stress[:, used] = found
    return stress


def _turn(system: Exudyn, at: Equations, body: str) -> tuple[Numbers, Numbers]:
    """Axes of a body, and G: angular velocity = G times the rates of its Euler parameters."""
    reference = system.mbs.GetNode(system.nodes[body])["referenceCoordinates"][3:]
    p = np.array(reference) + at.q[_places(system, body)[3:]]
    tools = exu.rigidBodyUtilities
    return np.array(tools.EulerParameters2RotationMatrix(p)), tools.EulerParameters2G(p)


# Its solver


def simulated(
    system: Exudyn, duration: float, step: float, sensors: Sequence[tuple[str, str]], **options: Any
) -> tuple[Numbers, list[Numbers]]:
    """Times, and what `sensors` (an item and a quantity of it) say, by generalised alpha."""
    raise NotImplementedError
