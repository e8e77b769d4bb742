"""The compliant 3PRS in Exudyn: seven rigid bodies, joints, and one spring in each joint.

The robot of Ruiz et al., Robotics 11 (2022) 4, without anything from `triskele`. Limb i stands at
azimuth gamma; its coupling slides inwards, moved by a joint that follows s(t), and hinges the bar
about m = (sin gamma, -cos gamma, 0). At home the bar points along l = -cos 45 e + sin 45 z, and
(m, n, l) are the axes of both its springs. The platform's motion is given,

    (z, psi, theta) = home + r(t) a sin(2 pi f t + p),    r = 1 - (1 - u)^5 (1 + 5u + 15u^2 + ...)

with u = t / T, four derivatives of r zero at both ends, and s follows from

    s = a - B . e - sqrt(L^2 - B_z^2),     B = P + R b e                                     (1)

with P and R of their equation A6. The spherical flexure turns by R_bar' R_platform =
Rx(bm) Ry(bn) Rz(bl) and pulls the platform back by the moment E^-T diag(ksf, ksf, kst) (bm, bn, bl)
in the axes of the bar, E' being the rates of these angles per angular velocity.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

# Any: compiled, without types that a checker could read.
exu: Any = pytest.importorskip("exudyn", reason="no Exudyn here; `make validate` gets it")
items: Any = exu.itemInterface

Numbers = NDArray[np.float64]

A, B, LENGTH = 0.125137, 0.04761, 0.109215  # [m]
REST = np.pi / 4
PLATFORM, BAR, COUPLING = 0.153, 0.028, 0.204  # [kg]
KR, KSF, KST = 98.37, 32.665, 24.46  # [N m/rad]
AZIMUTHS = np.radians([0.0, 120.0, 240.0])
OUT = np.stack([np.cos(AZIMUTHS), np.sin(AZIMUTHS), 0 * AZIMUTHS], axis=1)
NORMAL = np.stack([np.sin(AZIMUTHS), -np.cos(AZIMUTHS), 0 * AZIMUTHS], axis=1)
UP = np.array([0.0, 0.0, 1.0])
HOME = np.array([LENGTH * np.sin(REST), 0.0, 0.0])
GRAVITY = np.array([0.0, 0.0, -9.81])


class Case(NamedTuple):
    """A motion of the platform, and how finely it is followed."""

    amplitude: tuple[float, float, float]  #: of z [m], psi and theta [rad]
    phase: tuple[float, float, float] = (0.0, 0.0, 0.0)
    frequency: float = 0.5  #: [Hz]
    ramp: float = 0.5  #: T [s]
    duration: float = 1.5  #: [s]
    step: float = 2e-3  #: [s]


def platform(t: Any, case: Case, xp: Any = np) -> Any:
    """(z, psi, theta) at a time [s]."""
    u = xp.minimum(t / case.ramp, 1.0)
    r = u**5 * (126 - 420 * u + 540 * u**2 - 315 * u**3 + 70 * u**4)
    wave = xp.sin(2 * np.pi * case.frequency * t + xp.asarray(case.phase))
    return xp.asarray(HOME) + r * xp.asarray(case.amplitude) * wave


def sliders(x: Numbers) -> Numbers:
    """s (3,) [m] of (1)."""
    z, psi, theta = x
    phi = np.arctan2(np.sin(psi) * np.sin(theta), np.cos(psi) + np.cos(theta))
    c, s = np.cos, np.sin
    P = np.array(
        [
            B / 2 * (c(theta) * c(phi) + s(psi) * s(theta) * s(phi) - c(psi) * c(phi)),
            -B * c(psi) * s(phi),
            z,
        ]
    )
    R = Rotation.from_euler("YXZ", [theta, psi, phi]).as_matrix()
    balls = P + B * OUT @ R.T
    return A - (balls * OUT).sum(axis=1) - np.sqrt(LENGTH**2 - balls[:, 2] ** 2)


# The model


def slider_forces(case: Case) -> tuple[Numbers, Numbers]:
    """Times (N,) [s] and forces (N, 3) [N] along the sliders, positive inwards."""
    exu.config.printToConsole, exu.config.suppressWarnings = False, True
    container = exu.SystemContainer()
    mbs = container.AddSystem()
    ground = mbs.AddObject(items.ObjectGround())
    table = _body(mbs, HOME[0] * UP, np.eye(3), PLATFORM, (6.834e-5, 6.834e-5, 1.309e-5))
    drives = [_limb(mbs, ground, table, i, case) for i in range(3)]
    sensors = [
        mbs.AddSensor(
            items.SensorObject(
                objectNumber=drive,
                storeInternal=True,
                outputVariableType=exu.OutputVariableType.ForceLocal,
            )
        )
        for drive in drives
    ]
    mbs.Assemble()
    _solve(mbs, case)
    data = np.array([mbs.GetSensorStoredData(k) for k in sensors])
    return data[0, :, 0], np.einsum("knj,kj->nk", data[:, :, 1:], OUT)


def _limb(mbs: Any, ground: int, table: int, i: int, case: Case) -> int:
    """A coupling and a bar with their joints and springs; the joint that moves the coupling."""
    m, inwards = NORMAL[i], -OUT[i]
    start = float(sliders(HOME)[i])
    place = (A - start) * OUT[i]
    l = np.cos(REST) * inwards + np.sin(REST) * UP
    axes = np.stack([m, np.cross(l, m), l], axis=1)  # m, n, l
    turned = np.stack([np.cross(l, m), l, m], axis=1)  # z about m
    coupling = _body(mbs, place, np.eye(3), COUPLING, (5.44e-5,) * 3)
    bar = _body(mbs, place + LENGTH / 2 * l, axes, BAR, (2.36e-5, 2.36e-5, 1e-6))

    def moved(mbs: Any, t: float, *_: Any) -> list[float]:  # shifts along the axes of O
        return [*((float(sliders(platform(t, case))[i]) - start) * inwards), 0.0, 0.0, 0.0]

    ends = [_marker(mbs, body, at, np.eye(3)) for body, at in ((ground, place), (coupling, 0 * UP))]
    drive = mbs.AddObject(items.ObjectJointGeneric(markerNumbers=ends, offsetUserFunction=moved))
    half = np.array([0.0, 0.0, LENGTH / 2])
    hinge = [
        _marker(mbs, coupling, np.zeros(3), turned),
        _marker(mbs, bar, -half, axes.T @ turned),
    ]
    mbs.AddObject(items.ObjectJointGeneric(markerNumbers=hinge, constrainedAxes=[1, 1, 1, 1, 1, 0]))
    mbs.AddObject(items.ObjectConnectorTorsionalSpringDamper(markerNumbers=hinge, stiffness=KR))
    ball = [_marker(mbs, bar, half, np.eye(3)), _marker(mbs, table, B * OUT[i], axes)]
    mbs.AddObject(items.ObjectJointSpherical(markerNumbers=ball))
    spring = items.ObjectConnectorRigidBodySpringDamper(
        markerNumbers=ball, springForceTorqueUserFunction=_pull_back
    )
    mbs.AddObject(spring)
    return drive


def _pull_back(mbs: Any, t: float, item: int, shift: Any, angles: Any, *_: Any) -> list[float]:
    """Moment of a spherical flexure in the axes of its bar."""
    bm, bn, bl = angles
    c, s = np.cos, np.sin
    E = np.array([[1, 0, s(bn)], [0, c(bm), -s(bm) * c(bn)], [0, s(bm), c(bm) * c(bn)]])
    moment = np.linalg.solve(E.T, np.array([KSF * bm, KSF * bn, KST * bl]))
    return [0.0, 0.0, 0.0, *moment.tolist()]


def _body(mbs: Any, place: Numbers, axes: Numbers, mass: float, inertia: tuple[float, ...]) -> int:
    """A rigid body, its frame in its centre of mass along its principal axes."""
    p = Rotation.from_matrix(axes).as_quat(scalar_first=True)
    node = mbs.AddNode(items.NodeRigidBodyEP(referenceCoordinates=[*place, *p]))
    marker = mbs.AddMarker(items.MarkerNodeRigid(nodeNumber=node))
    mbs.AddLoad(items.LoadForceVector(markerNumber=marker, loadVector=mass * GRAVITY))
    moments = [*inertia, 0.0, 0.0, 0.0]
    return mbs.AddObject(items.ObjectRigidBody(mass=mass, inertia=moments, nodeNumber=node))


def _marker(mbs: Any, body: int, point: Numbers, axes: Numbers) -> int:
    place = exu.HT(rotation=axes, translation=point)
    return mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=body, localHT=place))


def _solve(mbs: Any, case: Case) -> None:
    settings = exu.SimulationSettings()
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = case.step
    settings.linearSolver.solverType = exu.LinearSolverType.EigenDense
    integration = settings.timeIntegration
    integration.verboseMode = 0
    integration.endTime = case.duration
    integration.numberOfSteps = round(case.duration / case.step)
    integration.generalizedAlpha.spectralRadius = 0.7
    integration.adaptiveStep = False
    integration.newton.relativeTolerance, integration.newton.absoluteTolerance = 1e-10, 1e-10
    mbs.SolveDynamic(settings)
