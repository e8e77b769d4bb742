"""A Delta whose lower links are flexible platens, in Exudyn: beams, joints, kinematics of its own.

The robot of Bengoa et al., "Virtual Sensor for Kinematic Estimation of Flexible Links in Parallel
Robots", Sensors 17 (2017) 1934, without anything from `triskele`. Frame O: z up, the motors' axes
at z = 0. Limb i stands at azimuth beta; its motor turns the arm by q about y (q > 0 lowers the
elbow B), and the frame of its platen, x along it, z across its thin side, stands at

    R_arm = Rz(beta) Ry(q),     R_link = Rz(beta) Ry(phi) Rz(alpha)                          (1)

For rigid links the platform's centre p, that never turns, is the lower point where three spheres
of radius L meet, whose centres are B shifted inwards by the platform's radius. With C its wrist,

    u = Rz(beta)^T (C - B),     phi = atan2(-u_z, u_x),     alpha = asin(u_y / L)            (2)

A platen is a chain of geometrically exact beams of constant strains, with its weight at their
nodes. So loads between nodes do not bend it: of N elements under an even load its ends turn by a
part 1 / N^2 too little. Exudyn ignores the damping of a beam's section; a torsional damper across
each element of length h, about y,

    D = b E I / h,     b = 2 zeta / w,     w = (pi / L)^2 sqrt(E I / mu)                     (3)

gives bending the damping ratio zeta at w, the first natural frequency of a platen with pinned ends,
and ratios in proportion at others.

Universal joints at B and C hold y of the arm or the platform normal to z of the platen, and carry
no moment about y; the platform's orientation is locked. Motors follow

    q(t) = 0.5 s(t) sin 2 pi f (t - T),     f = 3, 2.25, 3.6 Hz                              (4)

from static equilibrium under gravity; s is a polynomial of the ninth order from 0 to 1 in the time
T, four derivatives of it zero at both ends. Records begin at T. With R_0, r_0 and R_N, r_N the
frames of the nodes at B and C,

    deflection = [R_0^T (r_N - r_0)]_z,     slope = atan2(e_z, e_x),  e = R_0^T R_N (1, 0, 0)
    angle at a node = atan2(z . x_i, z . z_O),  z the node's, x_i = Rz(beta) (1, 0, 0)       (5)

A cantilever, for comparison: the platen clamped to the link frame of (1), (2) that moves with the
rigid robot, its tip free.

    python tests/oracles/exudyn_platens.py

makes both and writes them for the study of the sensor.
"""

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import eigh, null_space
from scipy.spatial.transform import Rotation

# Any: compiled, without types that a checker could read.
exu: Any = pytest.importorskip("exudyn", reason="no Exudyn here; `make validate` gets it")
items: Any = exu.itemInterface

Numbers = NDArray[np.float64]
Signal = Callable[[float], list[float]]  #: shift [m] and turn [rad] of a joint (6,), from time

STORED = Path(__file__).parents[2] / "src/triskele/studies/data/virtual_sensor.npz"
QUANTUM = 1e-12  # [m], [rad] of what is stored
SAMPLE = 1e-3  # [s] between records

AZIMUTHS = np.deg2rad([0.0, 120.0, 240.0])
BASE_RADIUS, ARM_LENGTH, LINK_LENGTH, PLATFORM_RADIUS = 0.100, 0.150, 0.400, 0.040  # [m]
ARM_MASS, ARM_INERTIA = 0.0365, (2.2781e-6, 8.7001e-5, 8.6422e-5)  # [kg], [kg m^2]
PLATFORM_MASS, PLATFORM_INERTIA = 0.1278, (4.6225e-5, 4.6225e-5, 9.1472e-5)
WIDTH, THICKNESS = 0.015, 0.003  # [m] of a platen, along y and z
YOUNG_MODULUS, POISSON_RATIO, DENSITY = 71e9, 0.33, 2740.0  # [Pa], -, [kg/m^3]
GRAVITY = np.array([0.0, 0.0, -9.81])  # [m/s^2]
FREQUENCIES = np.array([3.0, 2.25, 3.6])  # [Hz] f of (4)
BENDING = YOUNG_MODULUS * WIDTH * THICKNESS**3 / 12  # EI [N m^2] about y
LINE_DENSITY = DENSITY * WIDTH * THICKNESS  # [kg/m]
PINNED = (np.pi / LINK_LENGTH) ** 2 * np.sqrt(BENDING / LINE_DENSITY)  # w of (3) [rad/s]

_SHEAR_FACTOR = 5 / 6
_ABOUT_Y = Rotation.from_euler("X", -90, degrees=True).as_matrix()  # z of a joint: y of the limb
_SETTLING = 1e-6  # [s] that the static solver counts as it adds gravity: motors still stand


class Case(NamedTuple):
    """What is simulated, and how finely."""

    elements: int = 18  #: of each platen
    step: float = 1e-3  #: [s]
    ramp: float = 1.0  #: T of (4) [s], before the first record
    duration: float = 5.0  #: of the records [s]
    damping: float = 0.01  #: zeta of (3)
    amplitude: float = 0.5  #: of (4) [rad]


class Bent(NamedTuple):
    """The tips of three platens in the frames of their roots, (5)."""

    deflection: Numbers  #: (N, 3) [m]
    slope: Numbers  #: (N, 3) [rad]


class Robot(NamedTuple):
    """What the Delta does."""

    deflection: Numbers  #: (N, 3) [m]
    slope: Numbers  #: (N, 3) [rad]
    elbow: Numbers  #: (N, 3) [rad] angle of (5) at B
    wrist: Numbers  #: (N, 3) [rad] angle of (5) at C
    tool: Numbers  #: (N, 3) [m] p


class Modes(NamedTuple):
    """Bending of one platen."""

    frequencies: Numbers  #: [rad/s]
    damping: Numbers  #: ratios


STUDIED, STUDIED_ALONE = Case(), Case(elements=36)


# The rigid robot


def motor_angles(t: float, case: Case) -> Numbers:
    """(4) [rad] at a time [s] from its start."""
    u = min(t / case.ramp, 1.0)
    s = u**5 * (126 - 420 * u + 540 * u**2 - 315 * u**3 + 70 * u**4)
    return case.amplitude * s * np.sin(2 * np.pi * FREQUENCIES * (t - case.ramp))


def elbows(q: Numbers) -> Numbers:
    """B (3, 3) [m], one row per limb."""
    out, up = BASE_RADIUS + ARM_LENGTH * np.cos(q), -ARM_LENGTH * np.sin(q)
    return np.stack([out * np.cos(AZIMUTHS), out * np.sin(AZIMUTHS), up], axis=1)


def platform(q: Numbers) -> Numbers:
    """p (3,) [m] of the rigid robot, below its motors."""
    first, second, third = elbows(q) - _wrists()
    u, v = second - first, third - first
    n = np.cross(u, v)
    m = (u @ u * np.cross(v, n) + v @ v * np.cross(n, u)) / (2 * n @ n)
    return first + m - np.sqrt((LINK_LENGTH**2 - m @ m) / (n @ n)) * n


def link_angles(q: Numbers) -> tuple[Numbers, Numbers]:
    """phi and alpha of (2), (3,) [rad] each, of the rigid robot."""
    along = platform(q) + _wrists() - elbows(q)
    c, s = np.cos(AZIMUTHS), np.sin(AZIMUTHS)
    out, side = c * along[:, 0] + s * along[:, 1], c * along[:, 1] - s * along[:, 0]
    return np.arctan2(-along[:, 2], out), np.arcsin(side / LINK_LENGTH)


def _wrists() -> Numbers:
    """C (3, 3) [m] from p, one row per limb."""
    return PLATFORM_RADIUS * np.stack([np.cos(AZIMUTHS), np.sin(AZIMUTHS), 0 * AZIMUTHS], axis=1)


# The models


def delta(case: Case) -> Robot:
    """The Delta that moves by (4)."""
    _container, mbs, ground = _system()
    body = _body(mbs, platform(np.zeros(3)), np.eye(3), PLATFORM_MASS, PLATFORM_INERTIA)
    node = mbs.GetObject(body)["nodeNumber"]
    ends = [_body_marker(mbs, ground, np.zeros(3)), _body_marker(mbs, body, np.zeros(3))]
    _joint(mbs, *ends, [0, 0, 0, 1, 1, 1])
    tips = []
    for i, beta in enumerate(AZIMUTHS):
        turn = Rotation.from_euler("Z", beta).as_matrix()
        elbow = _arm(mbs, ground, turn, lambda t, i=i: motor_angles(t, case)[i])
        nodes = _platen(mbs, *_home(i), case, GRAVITY)
        wrist = _body_marker(mbs, body, PLATFORM_RADIUS * turn[:, 0], turn)
        _joint(mbs, elbow, _node_marker(mbs, nodes[0]), [1, 1, 1, 1, 0, 0])
        _joint(mbs, wrist, _node_marker(mbs, nodes[-1]), [1, 1, 1, 1, 0, 0])
        tips += [nodes[0], nodes[-1]]
    places, turns = _moved(mbs, [*tips, node], case)
    bent = _bent(places[:6], turns[:6])
    return Robot(*bent, _angles(turns[0:6:2]), _angles(turns[1:6:2]), places[6])


def cantilever(case: Case) -> Bent:
    """Platens clamped to the link frames of the rigid robot that moves by (4), tips free."""
    _container, mbs, ground = _system()

    @lru_cache(maxsize=8)
    def rigid(t: float) -> tuple[Numbers, Numbers, Numbers]:
        q = motor_angles(t, case)
        return elbows(q), *link_angles(q)

    tips = []
    for i, beta in enumerate(AZIMUTHS):

        def carried(t: float, i: int = i) -> list[float]:  # shifts along the axes of O
            B, phi, _ = rigid(t)
            return [*B[i], 0.0, 0.0, phi[i]]

        def inclined(t: float, i: int = i) -> list[float]:
            return [0.0, 0.0, 0.0, 0.0, 0.0, rigid(t)[2][i]]

        origin, axes = _home(i)  # alpha = 0: also the frame that alpha turns from
        carrier = _body(mbs, origin, axes, 1.0, (1e-3, 1e-3, 1e-3))
        hinge = _body_marker(mbs, carrier, np.zeros(3), _ABOUT_Y)
        limb = Rotation.from_euler("Z", beta).as_matrix()
        _joint(mbs, _body_marker(mbs, ground, np.zeros(3), limb @ _ABOUT_Y), hinge, motion=carried)
        nodes = _platen(mbs, origin, axes, case, GRAVITY)
        ends = [_body_marker(mbs, carrier, np.zeros(3)), _node_marker(mbs, nodes[0])]
        _joint(mbs, *ends, motion=inclined)
        tips += [nodes[0], nodes[-1]]
    return _bent(*_moved(mbs, tips, case))


def bending(ends: str, case: Case, count: int = 3) -> Modes:
    """The lowest modes of a platen that is "clamped" at its root or "pinned" at both ends.

    Of Exudyn's mass, damping and stiffness matrices and its Jacobian J of all constraints, on
    the motions that J allows.
    """
    _container, mbs, ground = _system()
    nodes = _platen(mbs, np.zeros(3), np.eye(3), case, np.zeros(3))
    root, tip = (_node_marker(mbs, nodes[k]) for k in (0, -1))
    base = [_body_marker(mbs, ground, np.array([x, 0.0, 0.0])) for x in (0.0, LINK_LENGTH)]
    _joint(mbs, base[0], root, [1] * 6 if ends == "clamped" else [1, 1, 1, 1, 0, 0])
    if ends == "pinned":
        _joint(mbs, base[1], tip, [0, 1, 1, 0, 0, 0])
    mbs.Assemble()
    solver, settings = exu.MainSolverStatic(), _settings()
    solver.InitializeSolver(mbs, settings)
    size = solver.GetODE2size()
    solver.ComputeMassMatrix(mbs)
    M = np.array(solver.GetSystemMassMatrix())[:size, :size]
    K, J = _jacobian(mbs, solver, size, position=-1.0, velocity=0.0)
    D, _ = _jacobian(mbs, solver, size, position=0.0, velocity=-1.0)
    solver.FinalizeSolver(mbs, settings)
    basis = null_space(J)
    K, D, M = (basis.T @ (X + X.T) @ basis / 2 for X in (K, D, M))
    squares, shapes = eigh(K, M, subset_by_index=(0, count - 1))
    w = np.sqrt(squares)
    return Modes(w, np.einsum("ik,ij,jk->k", shapes, D, shapes) / (2 * w))


def _jacobian(
    mbs: Any, solver: Any, size: int, position: float, velocity: float
) -> tuple[Numbers, Numbers]:
    """Of forces, by positions or velocities times these factors, and of constraints."""
    solver.ComputeJacobianODE2RHS(
        mbs,
        scalarFactor_ODE2=position,
        scalarFactor_ODE2_t=velocity,
        scalarFactor_ODE1=0.0,
    )
    solver.ComputeJacobianAE(mbs)
    whole = np.array(solver.GetSystemJacobian())
    return whole[:size, :size], whole[size:, :size]


# Their parts


def _system() -> tuple[Any, Any, int]:
    """A container, which must live as long as its system, the system and its ground."""
    exu.config.printToConsole, exu.config.suppressWarnings = False, True
    container = exu.SystemContainer()
    mbs = container.AddSystem()
    return container, mbs, mbs.AddObject(items.ObjectGround())


def _home(limb: int) -> tuple[Numbers, Numbers]:
    """Origin (3,) [m] and axes (3, 3) of a link at q = 0."""
    phi, alpha = link_angles(np.zeros(3))
    angles = [AZIMUTHS[limb], phi[limb], alpha[limb]]
    return elbows(np.zeros(3))[limb], Rotation.from_euler("ZYZ", angles).as_matrix()


def _platen(mbs: Any, origin: Numbers, axes: Numbers, case: Case, gravity: Numbers) -> list[int]:
    """Nodes of a platen from its root at `origin` to its tip, x along it."""
    h = LINK_LENGTH / case.elements
    section = _section()
    nodes = [_node(mbs, origin + k * h * axes[:, 0], axes) for k in range(case.elements + 1)]
    for k, node in enumerate(nodes):
        part = 0.5 if k in (0, case.elements) else 1.0
        _pull(mbs, node, part * LINE_DENSITY * h * gravity)
    for ends in pairwise(nodes):
        beam = items.ObjectBeamGeometricallyExact(
            nodeNumbers=list(ends), length=h, sectionData=section
        )
        mbs.AddObject(beam)
        damper = items.ObjectConnectorTorsionalSpringDamper(
            markerNumbers=[_node_marker(mbs, node) for node in ends],
            damping=2 * case.damping / PINNED * BENDING / h,
            rotationMarker0=_ABOUT_Y,
            rotationMarker1=_ABOUT_Y,
        )
        mbs.AddObject(damper)
    return nodes


def _section() -> Any:
    """Stiffness and inertia of a platen's section."""
    A, Iy, Iz = WIDTH * THICKNESS, WIDTH * THICKNESS**3 / 12, THICKNESS * WIDTH**3 / 12
    E, G = YOUNG_MODULUS, YOUNG_MODULUS / (2 * (1 + POISSON_RATIO))
    torsion = G * WIDTH * THICKNESS**3 / 3 * (1 - 0.63 * THICKNESS / WIDTH)
    shear = _SHEAR_FACTOR * G * A
    section = exu.BeamSection()
    section.stiffnessMatrix = np.diag([E * A, shear, shear, torsion, E * Iy, E * Iz])
    section.inertia = DENSITY * np.diag([Iy + Iz, Iy, Iz])
    section.massPerLength = LINE_DENSITY
    return section


def _arm(mbs: Any, ground: int, limb: Numbers, angle: Callable[[float], float]) -> int:
    """The marker at the elbow of an arm, about whose motor it turns by an angle, from time."""
    motor, half = BASE_RADIUS * limb[:, 0], np.array([ARM_LENGTH / 2, 0.0, 0.0])
    body = _body(mbs, motor + limb @ half, limb, ARM_MASS, ARM_INERTIA)
    ends = [
        _body_marker(mbs, ground, motor, limb @ _ABOUT_Y),
        _body_marker(mbs, body, -half, _ABOUT_Y),
    ]
    _joint(mbs, *ends, motion=lambda t: [0.0, 0.0, 0.0, 0.0, 0.0, angle(t)])
    return _body_marker(mbs, body, half)


def _body(mbs: Any, place: Numbers, axes: Numbers, mass: float, inertia: tuple[float, ...]) -> int:
    """A rigid body, its frame in its centre of mass along its principal axes."""
    node = _node(mbs, place, axes)
    _pull(mbs, node, mass * GRAVITY)
    moments = [*inertia, 0.0, 0.0, 0.0]
    return mbs.AddObject(items.ObjectRigidBody(mass=mass, inertia=moments, nodeNumber=node))


def _node(mbs: Any, place: Numbers, axes: Numbers) -> int:
    p = Rotation.from_matrix(axes).as_quat(scalar_first=True)
    return mbs.AddNode(items.NodeRigidBodyEP(referenceCoordinates=[*place, *p]))


def _pull(mbs: Any, node: int, force: Numbers) -> None:
    """A force on a node."""
    if force.any():
        mbs.AddLoad(items.LoadForceVector(markerNumber=_node_marker(mbs, node), loadVector=force))


def _joint(
    mbs: Any, first: int, second: int, axes: list[int] | None = None, motion: Signal | None = None
) -> None:
    """A joint that holds three shifts and three turns, or `axes` of them, or moves them."""
    joint = items.ObjectJointGeneric(markerNumbers=[first, second], constrainedAxes=axes or [1] * 6)
    if motion is not None:
        joint.offsetUserFunction = lambda mbs, t, *_: motion(t)
    mbs.AddObject(joint)


def _node_marker(mbs: Any, node: int) -> int:
    return mbs.AddMarker(items.MarkerNodeRigid(nodeNumber=node))


def _body_marker(mbs: Any, body: int, point: Numbers, axes: Numbers | None = None) -> int:
    place = exu.HT(rotation=np.eye(3) if axes is None else axes, translation=point)
    return mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=body, localHT=place))


# Simulation


def _settings() -> Any:
    settings = exu.SimulationSettings()
    settings.solution.file.write = False
    settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    return settings


def _moved(mbs: Any, nodes: list[int], case: Case) -> tuple[Numbers, Numbers]:
    """Places (nodes, N, 3) and axes (nodes, N, 3, 3) of nodes in the records."""
    kinds = exu.OutputVariableType
    sensors = [
        mbs.AddSensor(
            items.SensorNode(nodeNumber=node, storeInternal=True, outputVariableType=kind)
        )
        for kind in (kinds.Position, kinds.RotationMatrix)
        for node in nodes
    ]
    mbs.Assemble()
    settings = _settings()
    static = settings.staticSolver
    static.verboseMode, static.numberOfLoadSteps, static.loadStepDuration = 0, 5, _SETTLING
    static.newton.relativeTolerance, static.newton.absoluteTolerance = 1e-5, 1e-9
    mbs.SolveStatic(settings, updateInitialValues=True)
    settings.solution.sensors.writePeriod = SAMPLE
    integration = settings.timeIntegration
    integration.verboseMode = 0
    integration.endTime = case.ramp + case.duration
    integration.numberOfSteps = round(integration.endTime / case.step)
    integration.generalizedAlpha.spectralRadius = 0.8
    integration.adaptiveStep = False
    integration.newton.useModifiedNewton = True
    integration.newton.relativeTolerance, integration.newton.absoluteTolerance = 1e-7, 1e-9
    mbs.SolveDynamic(settings)
    data = np.array([mbs.GetSensorStoredData(k) for k in sensors[: len(nodes)]])
    axes = np.array([mbs.GetSensorStoredData(k) for k in sensors[len(nodes) :]])
    kept = slice(round(case.ramp / SAMPLE), None)
    return data[:, kept, 1:], axes[:, kept, 1:].reshape(len(nodes), -1, 3, 3)


def _bent(places: Numbers, axes: Numbers) -> Bent:
    """(5) of platens whose roots and tips take turns."""
    R, reach = axes[0::2], places[1::2] - places[0::2]
    ex = np.einsum("lnji,lnj->nli", R, axes[1::2, :, :, 0])
    across = np.einsum("lnj,lnj->nl", R[..., 2], reach)
    return Bent(across, np.arctan2(ex[..., 2], ex[..., 0]))


def _angles(axes: Numbers) -> Numbers:
    """(5) of the nodes of three limbs at one end, (N, 3) [rad]."""
    z = axes[..., 2]
    out = np.cos(AZIMUTHS)[:, None] * z[..., 0] + np.sin(AZIMUTHS)[:, None] * z[..., 1]
    return np.unwrap(np.arctan2(out, z[..., 2]), axis=1).T


# The file


def packed(signals: Numbers) -> NDArray[np.int64]:
    """Signals (N, n) as whole numbers of quanta, differenced twice: small, after two rows."""
    whole = np.rint(signals / QUANTUM).astype(np.int64)
    return np.diff(whole, n=2, axis=0, prepend=np.zeros((2, whole.shape[1]), np.int64))


def unpacked(array: NDArray[np.int64]) -> Numbers:
    """The signals (N, n) [m] or [rad] that were packed."""
    return QUANTUM * array.cumsum(axis=0).cumsum(axis=0)


def main() -> None:
    """Make both references and store them."""
    robot, alone = delta(STUDIED), cantilever(STUDIED_ALONE)
    signals = {
        "delta": robot.deflection,
        **{name: getattr(robot, name) for name in ("slope", "elbow", "wrist", "tool")},
        "cantilever_delta": alone.deflection,
        "cantilever_slope": alone.slope,
    }
    made = (
        f"tests/oracles/exudyn_platens.py, Exudyn {exu.__version__}: {STUDIED.elements} "
        f"geometrically exact beams per platen ({STUDIED_ALONE.elements} of the cantilever), "
        "generalised alpha with spectral radius 0.8 and "
        f"steps of {STUDIED.step:g} s, damping ratio {STUDIED.damping:g} at "
        f"{PINNED / (2 * np.pi):.2f} Hz, in proportion at others; motors at "
        f"{STUDIED.amplitude:g} rad sin 2 pi f t, f = 3, 2.25, 3.6 Hz, after a ramp of "
        f"{STUDIED.ramp:g} s; samples every {SAMPLE:g} s, in units of {QUANTUM:g} m or rad, "
        "differenced twice"
    )
    arrays = {name: packed(signal) for name, signal in signals.items()}
    STORED.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(STORED, made=made, **arrays)
    print(f"{STORED}: {STORED.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
