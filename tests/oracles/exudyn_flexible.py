"""The Delta with flexible links of Kuo (2016) in Exudyn: beams, joints, solvers of its own.

Frame O: z up. In the plane of limb i, turned by its azimuth about z, the motor turns the arm by
q about y (q > 0 lowers the elbow), and the rod stands at

    R_arm = Rz(azimuth) Ry(q),     R_rod = Rz(azimuth) Ry(phi) Rz(alpha)                    (1)

with x along the link. Each link is a chain of Exudyn's geometrically exact beams: two nodes that
turn as rigid bodies, strains that are constant between them, mass that moves linearly between.
Such an element is too stiff in bending, since its curvature is constant. Adding the bending that
it leaves out to its shear (the residual bending flexibility of MacNeal, 1978)

    1 / S = 1 / (k G A) + h^2 / (12 E I)        h: length of an element, k = 5/6             (2)

makes it, for small strains, the exact element of Timoshenko: loads at its nodes bend it right with
any number of elements. What is left to converge is that mass, with h^2.

Universal joints, y of the arm or the platform normal to z of the rod, are Exudyn's generic joints,
that hold three shifts and this turn. Generic joints clamp arms to the motors, too, at angles that
are locked or a function of time. Nothing is damped.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import acos, asin, atan2, cos, hypot, sin
from typing import Any, NamedTuple

import numpy as np
import pytest
from configurations import Numbers
from scipy.linalg import eigh, null_space
from scipy.spatial.transform import Rotation

# Any: compiled, without types that a checker could read.
exu: Any = pytest.importorskip("exudyn", reason="no Exudyn here; `make validate` gets it")
items: Any = exu.itemInterface

# Kuo 2016, Table 1, and what it leaves open: a platform like a disc, torsion by the polar moment.
YOUNG_MODULUS, SHEAR_MODULUS, DENSITY = 210e9, 80e9, 7800.0  # [Pa], [Pa], [kg/m^3]
AZIMUTHS = np.deg2rad([0.0, 120.0, 240.0])
BASE_RADIUS, PLATFORM_RADIUS, ARM_LENGTH, ROD_LENGTH = 0.1, 0.05, 0.5, 0.6  # [m]
SIDE = 0.005  # [m] of the square section of all links
PLATFORM_MASS = 0.5  # [kg]
PLATFORM_INERTIA = (4.1666666667e-4, 4.1666666667e-4, 6.25e-4)  # [kg m^2] about x, y, z
GRAVITY, NO_GRAVITY = (0.0, 0.0, -9.81), (0.0, 0.0, 0.0)  # [m/s^2]

_SHEAR_FACTOR = 5 / 6
_TINY = 1e-5  # [s] of differences in time

Motion = Callable[[float], Numbers]  #: a place (3,) or a frame (3, 4), from time
Signal = Callable[[float], float]  #: an angle [rad], from time
Vector = Sequence[float]


class Bar(NamedTuple):
    """Material of the links, and how finely they are divided."""

    young_modulus: float = YOUNG_MODULUS  #: [Pa]
    shear_modulus: float = SHEAR_MODULUS  #: [Pa]
    elements: int = 8  #: of each link


class Model(NamedTuple):
    """The robot in Exudyn."""

    container: Any  #: owns the system
    mbs: Any
    platform: int  #: node
    arms: list[list[int]]  #: nodes of each, from motor to elbow
    rods: list[list[int]]  #: from elbow to wrist


class Shift(NamedTuple):
    """Displacement of the platform, and its turn as a rotation vector."""

    displacement: Numbers  #: (3,) [m]
    rotation: Numbers  #: (3,) [rad]


class Response(NamedTuple):
    """How the platform deviates from the motion of the rigid robot."""

    times: Numbers  #: (N,) [s]
    displacement: Numbers  #: (N, 3) [m]
    rotation: Numbers  #: (N, 3) [rad], rotation vector


# The rigid robot


def motor_angle(x: Numbers, azimuth: float) -> float:
    """q of (1) [rad] of the limb at `azimuth`, elbow outwards."""
    c, s = cos(azimuth), sin(azimuth)
    out, side = c * x[0] + s * x[1] + PLATFORM_RADIUS - BASE_RADIUS, c * x[1] - s * x[0]
    square = out**2 + side**2 + x[2] ** 2 + ARM_LENGTH**2 - ROD_LENGTH**2
    return atan2(-x[2], out) - acos(square / (2 * ARM_LENGTH * hypot(out, x[2])))


def link_frames(x: Numbers, azimuth: float) -> tuple[Numbers, Numbers]:
    """Frames (3, 4) of the arm, in the motor, and of the rod, in the elbow: axes and origin."""
    turn = Rotation.from_euler("Z", azimuth).as_matrix()
    arm = turn @ Rotation.from_euler("Y", motor_angle(x, azimuth)).as_matrix()
    motor = BASE_RADIUS * turn[:, 0]
    elbow = motor + ARM_LENGTH * arm[:, 0]
    along = turn.T @ (x + PLATFORM_RADIUS * turn[:, 0] - elbow)
    angles = [azimuth, atan2(-along[2], along[0]), asin(along[1] / ROD_LENGTH)]
    rod = Rotation.from_euler("ZYZ", angles).as_matrix()
    return np.column_stack([arm, motor]), np.column_stack([rod, elbow])


# The model


def model(path: Motion, bar: Bar, gravity: Vector, *, driven: bool = False) -> Model:
    """The robot without deflection at t = 0 of a path, with the velocities of the rigid robot.

    Motors are locked, or follow the path when they are driven.
    """
    exu.config.printToConsole, exu.config.suppressWarnings = False, True
    container = exu.SystemContainer()
    mbs = container.AddSystem()
    ground = mbs.AddObject(items.ObjectGround())
    g = np.array(gravity, float)
    platform = mbs.AddNode(_node(lambda t: np.column_stack([np.eye(3), path(t)])))
    inertia = [*PLATFORM_INERTIA, 0.0, 0.0, 0.0]
    disc = items.ObjectRigidBody(mass=PLATFORM_MASS, inertia=inertia, nodeNumber=platform)
    body = mbs.AddObject(disc)
    _pull(mbs, platform, PLATFORM_MASS * g)
    arms, rods = [], []
    for azimuth in AZIMUTHS:
        turn = Rotation.from_euler("Z", azimuth).as_matrix()
        wrist = body_marker(mbs, body, PLATFORM_RADIUS * turn[:, 0], turn)
        arm, rod = _limb(mbs, path, azimuth, bar, g, wrist)
        if driven:
            _drive(mbs, ground, azimuth, arm[0], lambda t, a=azimuth: motor_angle(path(t), a))
        else:
            _clamp(mbs, ground, link_frames(path(0.0), azimuth)[0], arm[0])
        arms.append(arm)
        rods.append(rod)
    mbs.Assemble()
    return Model(container, mbs, platform, arms, rods)


def _limb(
    mbs: Any, path: Motion, azimuth: float, bar: Bar, gravity: Numbers, wrist: int
) -> tuple[list[int], list[int]]:
    """Nodes of an arm, and of a rod that ends in a marker at the wrist."""
    arm = _chain(mbs, lambda t: link_frames(path(t), azimuth)[0], ARM_LENGTH, bar, gravity)
    rod = _chain(mbs, lambda t: link_frames(path(t), azimuth)[1], ROD_LENGTH, bar, gravity)
    _universal(mbs, node_marker(mbs, arm[-1]), node_marker(mbs, rod[0]))
    _universal(mbs, wrist, node_marker(mbs, rod[-1]))
    return arm, rod


def _node(frame: Motion) -> Any:
    """A node at a moving frame (3, 4), at t = 0, that turns by Euler parameters."""
    here, before, after = (frame(t) for t in (0.0, -_TINY, _TINY))
    turn = Rotation.from_matrix(after[:, :3] @ before[:, :3].T).as_rotvec()
    p = Rotation.from_matrix(here[:, :3]).as_quat(scalar_first=True)
    velocity = (after[:, 3] - before[:, 3]) / (2 * _TINY)
    rate = exu.rigidBodyUtilities.AngularVelocity2EulerParameters_t(turn / (2 * _TINY), p)
    return items.NodeRigidBodyEP(
        referenceCoordinates=[*here[:, 3], *p], initialVelocities=[*velocity, *rate]
    )


def _chain(mbs: Any, frame: Motion, length: float, bar: Bar, gravity: Numbers) -> list[int]:
    """Nodes of a link of beams, x along its frame."""
    h = length / bar.elements
    section = _section(bar, h)
    nodes = [mbs.AddNode(_node(_along(frame, k * h))) for k in range(bar.elements + 1)]
    for k, node in enumerate(nodes):
        part = 0.5 if k in (0, bar.elements) else 1.0
        _pull(mbs, node, part * section.massPerLength * h * gravity)
    for ends in pairwise(nodes):
        beam = items.ObjectBeamGeometricallyExact(
            nodeNumbers=list(ends), length=h, sectionData=section
        )
        mbs.AddObject(beam)
    return nodes


def _along(frame: Motion, s: float) -> Motion:
    """The frame, shifted by s along its x."""
    shift = np.eye(4) + s * np.outer(np.eye(4)[0], np.eye(4)[3])
    return lambda t: frame(t) @ shift


def _section(bar: Bar, h: float) -> Any:
    """Stiffness and inertia of the square section, for elements of length h."""
    A, I = SIDE**2, SIDE**4 / 12
    E, G = bar.young_modulus, bar.shear_modulus
    S = 1 / (1 / (_SHEAR_FACTOR * G * A) + h**2 / (12 * E * I))
    section = exu.BeamSection()
    section.stiffnessMatrix = np.diag([E * A, S, S, G * 2 * I, E * I, E * I])
    section.inertia = DENSITY * np.diag([2 * I, I, I])
    section.massPerLength = DENSITY * A
    return section


def _pull(mbs: Any, node: int, force: Numbers) -> None:
    """A force on a node."""
    if force.any():
        mbs.AddLoad(items.LoadForceVector(markerNumber=node_marker(mbs, node), loadVector=force))


def _clamp(mbs: Any, ground: int, frame: Numbers, node: int) -> None:
    """A node held at a frame (3, 4) of the ground."""
    ends = [body_marker(mbs, ground, frame[:, 3], frame[:, :3]), node_marker(mbs, node)]
    mbs.AddObject(items.ObjectJointGeneric(markerNumbers=ends))


def _drive(mbs: Any, ground: int, azimuth: float, node: int, angle: Signal) -> None:
    """A node at a motor, turned about y of the limb by an angle, from time."""
    about_z = Rotation.from_euler("X", -90, degrees=True)  # z of the joint: y of the limb
    turn = Rotation.from_euler("Z", azimuth)
    point = turn.apply([BASE_RADIUS, 0.0, 0.0])
    ends = [
        body_marker(mbs, ground, point, (turn * about_z).as_matrix()),
        node_marker(mbs, node, about_z.as_matrix()),
    ]
    joint = items.ObjectJointGeneric(markerNumbers=ends)
    joint.offsetUserFunction = lambda mbs, t, *_: [0.0, 0.0, 0.0, 0.0, 0.0, angle(t)]
    mbs.AddObject(joint)


def _universal(mbs: Any, first: int, second: int) -> None:
    """Two markers at one point, y of the first normal to z of the second."""
    axes = [1, 1, 1, 1, 0, 0]
    mbs.AddObject(items.ObjectJointGeneric(markerNumbers=[first, second], constrainedAxes=axes))


def node_marker(mbs: Any, node: int, axes: Numbers | None = None) -> int:
    place = exu.HT(rotation=np.eye(3) if axes is None else axes, translation=np.zeros(3))
    return mbs.AddMarker(items.MarkerNodeRigid(nodeNumber=node, localHT=place))


def body_marker(mbs: Any, body: int, point: Numbers, axes: Numbers) -> int:
    place = exu.HT(rotation=axes, translation=point)
    return mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=body, localHT=place))


# What is asked


def natural_frequencies(
    x: Vector,
    *,
    young_modulus: float = YOUNG_MODULUS,
    shear_modulus: float = SHEAR_MODULUS,
    elements: int = 8,
    count: int = 8,
) -> Numbers:
    """The lowest natural frequencies [rad/s] at x, motors locked, without gravity."""
    place = np.array(x, float)
    robot = model(lambda t: place, Bar(young_modulus, shear_modulus, elements), NO_GRAVITY)
    return free_frequencies(robot.mbs, count)


def free_frequencies(mbs: Any, count: int) -> Numbers:
    """The lowest natural frequencies [rad/s] of a system as it was assembled.

    Of Exudyn's mass and stiffness matrices and its Jacobian J of all constraints, on the
    motions that J allows.
    """
    solver = exu.MainSolverStatic()
    settings = _settings()
    solver.InitializeSolver(mbs, settings)
    size = solver.GetODE2size()
    solver.ComputeMassMatrix(mbs)
    M = np.array(solver.GetSystemMassMatrix())[:size, :size]
    only = {"scalarFactor_ODE2": -1.0, "scalarFactor_ODE2_t": 0.0, "scalarFactor_ODE1": 0.0}
    solver.ComputeJacobianODE2RHS(mbs, **only)
    solver.ComputeJacobianAE(mbs)
    jacobian = np.array(solver.GetSystemJacobian())
    solver.FinalizeSolver(mbs, settings)
    K, J = jacobian[:size, :size], jacobian[size:, :size]
    basis = null_space(J)
    K, M = basis.T @ (K + K.T) @ basis / 2, basis.T @ M @ basis
    values = eigh(K, M, eigvals_only=True, subset_by_index=(0, count - 1))
    return np.sqrt(np.maximum(values, 0.0))


def _settings() -> Any:
    settings = exu.SimulationSettings()
    settings.solution.file.write = False
    settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    return settings


def _rounding(bar: Bar) -> float:
    """Force [N] that places of nodes, rounded, leave in the stretching of the stiffest element."""
    h = ARM_LENGTH / bar.elements
    return 10 * np.finfo(float).eps * bar.young_modulus * SIDE**2 / h


def static_deflection(
    x: Vector,
    *,
    young_modulus: float = YOUNG_MODULUS,
    shear_modulus: float = SHEAR_MODULUS,
    elements: int = 8,
    gravity: Vector = GRAVITY,
    load_steps: int = 5,
) -> Shift:
    """Where the platform rests under gravity, motors locked at x, from where it is without."""
    place = np.array(x, float)
    bar = Bar(young_modulus, shear_modulus, elements)
    robot = _hanging(place, bar, gravity, load_steps)
    at, R = _output(robot.mbs, robot.platform)
    return Shift(at - place, Rotation.from_matrix(R).as_rotvec())


def static_middles(x: Vector, bar: Bar) -> Shift:
    """The same of links at half length, in axes of the rigid links: arms, then rods (6, 3)."""
    place = np.array(x, float)
    robot = _hanging(place, bar, GRAVITY, 5)
    shifts, turns = [], []
    for k, chains in enumerate((robot.arms, robot.rods)):
        for azimuth, nodes in zip(AZIMUTHS, chains, strict=True):
            frame = link_frames(place, azimuth)[k]
            half = (ARM_LENGTH, ROD_LENGTH)[k] / 2 * frame[:, 0] + frame[:, 3]
            at, R = _output(robot.mbs, nodes[bar.elements // 2])
            shifts.append(frame[:, :3].T @ (at - half))
            turns.append(Rotation.from_matrix(frame[:, :3].T @ R).as_rotvec())
    return Shift(np.array(shifts), np.array(turns))


def _hanging(place: Numbers, bar: Bar, gravity: Vector, load_steps: int) -> Model:
    """The robot at rest under gravity, motors locked."""
    robot = model(lambda t: place, bar, gravity)
    settings = _settings()
    settings.staticSolver.numberOfLoadSteps = load_steps
    settings.staticSolver.verboseMode = 0
    settings.staticSolver.newton.absoluteTolerance = _rounding(bar)
    robot.mbs.SolveStatic(settings, updateInitialValues=True)
    return robot


def _output(mbs: Any, node: int) -> tuple[Numbers, Numbers]:
    """Place and axes of a node."""
    kinds = exu.OutputVariableType
    at, R = mbs.GetNodeOutput(node, kinds.Position), mbs.GetNodeOutput(node, kinds.RotationMatrix)
    return np.array(at), np.array(R).reshape(3, 3)


def circle_response(
    *,
    radius: float = 0.1,
    height: float = -0.5,
    period: float = 1.0,
    duration: float = 1.0,
    step: float = 2e-4,
    young_modulus: float = YOUNG_MODULUS,
    shear_modulus: float = SHEAR_MODULUS,
    elements: int = 8,
    gravity: Vector = NO_GRAVITY,
    spectral_radius: float = 1.0,
) -> Response:
    """How the platform leaves (radius cos wt, radius sin wt, height), that its motors follow.

    At t = 0 the robot is in full motion, without deflection. Generalised alpha with a
    `spectral_radius` of 1 adds no damping; like the trapezoidal rule it lowers a frequency by
    its part (frequency step)^2 / 12.
    """
    w = 2 * np.pi / period

    def circle(t: float) -> Numbers:
        return np.array([radius * cos(w * t), radius * sin(w * t), height])

    bar = Bar(young_modulus, shear_modulus, elements)
    robot = model(circle, bar, gravity, driven=True)
    t, places, turns = _moved(robot, bar, duration, step, spectral_radius)
    return Response(t, places - np.array([circle(at) for at in t]), turns)


def _moved(
    robot: Model, bar: Bar, duration: float, step: float, spectral_radius: float
) -> tuple[Numbers, Numbers, Numbers]:
    """Times, places and turns of the platform, by generalised alpha."""
    kinds = exu.OutputVariableType
    sensors = [
        robot.mbs.AddSensor(
            items.SensorNode(nodeNumber=robot.platform, storeInternal=True, outputVariableType=kind)
        )
        for kind in (kinds.Position, kinds.RotationMatrix)
    ]
    robot.mbs.Assemble()
    settings = _settings()
    settings.solution.sensors.writePeriod = step
    integration = settings.timeIntegration
    integration.endTime, integration.numberOfSteps = duration, round(duration / step)
    integration.generalizedAlpha.spectralRadius = spectral_radius
    integration.adaptiveStep = False
    integration.newton.absoluteTolerance = _rounding(bar)
    robot.mbs.SolveDynamic(settings)
    places, turns = (robot.mbs.GetSensorStoredData(k) for k in sensors)
    R = turns[:, 1:].reshape(-1, 3, 3)
    return places[:, 0], places[:, 1:], Rotation.from_matrix(R).as_rotvec()
