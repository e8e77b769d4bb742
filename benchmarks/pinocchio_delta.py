"""The benchmark's robot in Pinocchio: in C++ where its headers compile, and from Python.

The model is that of cpp/pinocchio_delta.cpp. The wheel of Pinocchio brings its headers, but
not those of Eigen: `make bench` adds them (cmeel-eigen), else pkg-config is asked.
"""

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import machine
from benchmarks.build import shared_library
from benchmarks.machine import Numbers, States
from benchmarks.peers import Call, Peer, c_call, engine

CPP, BY_HAND, PYTHON = "Pinocchio, C++", "Pinocchio, C++, Jacobian by hand", "Pinocchio, Python"
_PASSIVE, _MOTORS = [1, 2, 4, 5, 7, 8, 9, 10, 11], [0, 3, 6]


class Tree(NamedTuple):
    """The model, with the equations that close its loops."""

    model: Any  #: pin.Model
    data: Any
    loops: Any
    loops_data: Any


def cpp_peers() -> tuple[Peer, Peer]:
    """Compiled from the wheel's headers, in about two minutes; OSError where that fails."""
    library = compiled("cpp/pinocchio_delta.cpp")
    library.create.restype = ctypes.c_void_p
    m = machine
    numbers = np.array([m.R, m.r, m.L, m.d, m.ARM, m.RODS, m.PLATFORM, m.G])
    robot = ctypes.c_void_p(library.create(numbers.ctypes.data_as(ctypes.c_void_p)))

    def torques(by_hand: int) -> Callable[[States], Call]:
        def prepare(states: States) -> Call:
            given, tau = machine.joint_coordinates(states), np.empty_like(states.x)
            numbers = (*given, tau, ctypes.c_int(by_hand))
            return c_call(library.inverse, robot, len(tau), *numbers)

        return prepare

    def simulate(steps: int) -> Call:
        q, torque = start()
        x = np.empty((steps + 1, 3))
        return c_call(library.simulate, robot, q, torque, machine.DURATION, steps, x)

    return Peer(CPP, torques(0), simulate), Peer(BY_HAND, torques(1))


def compiled(source: str) -> ctypes.CDLL:
    """C++ of this folder with Pinocchio's headers; OSError where they are missing."""
    pin = engine("pinocchio")
    prefix = next(p for p in Path(pin.__file__).parents if p.name == "cmeel.prefix")
    include = [prefix / "include", _eigen(prefix)]
    flags = ["-std=c++17", "-O3", "-DNDEBUG", "-w", "-fvisibility=hidden", "-fno-gnu-unique"]
    flags += [flag for folder in include for flag in ("-isystem", str(folder))]
    return shared_library(source, flags, compiler="c++")


def python_peer() -> Peer:
    """Pinocchio's functions called from Python, state by state; OSError without Pinocchio."""
    pin = engine("pinocchio")
    tree = _tree(pin)

    def torques(q: Numbers, v: Numbers, a: Numbers) -> Numbers:
        model, data, loops, loops_data = tree
        h = pin.rnea(model, data, q, v, a)
        pin.computeJointJacobians(model, data, q)
        for loop, its_data in zip(loops, loops_data, strict=True):
            loop.calc(model, data, its_data)
        J = pin.getConstraintsJacobian(model, data, loops, loops_data)
        force = np.linalg.solve(J[:, _PASSIVE].T, h[_PASSIVE])
        return h[_MOTORS] - force @ J[:, _MOTORS]

    def inverse(states: States) -> Call:
        given = list(zip(*machine.joint_coordinates(states), strict=True))
        tau = np.empty_like(states.x)

        def call() -> Numbers:
            for row, state in zip(tau, given, strict=True):
                row[:] = torques(*state)
            return tau

        return call

    return Peer(PYTHON, inverse, lambda steps: lambda: _runge_kutta(pin, tree, steps), most=1000)


def start() -> tuple[Numbers, Numbers]:
    """q (12,) of the simulated motion, and the nine numbers of its torques."""
    x, torque = machine.motion()
    rest = np.zeros((1, 3))
    return machine.joint_coordinates(States(x[None], rest, rest))[0][0], np.concatenate(torque)


def _eigen(prefix: Path) -> Path:
    """The folder of Eigen's headers, of the wheel beside Pinocchio's or of the system."""
    candidates = [prefix / "include" / "eigen3"]
    if shutil.which("pkg-config"):
        asked = ["pkg-config", "--cflags-only-I", "eigen3"]
        found = subprocess.run(asked, capture_output=True, text=True).stdout.split()
        candidates += [Path(flag.removeprefix("-I")) for flag in found]
    for folder in candidates:
        if (folder / "Eigen" / "Dense").exists():
            return folder
    raise OSError("there are no headers of Eigen here (pip install cmeel-eigen)")


def _tree(pin: Any) -> Tree:
    """As in cpp/pinocchio_delta.cpp, depth first."""
    m, model, rods = machine, pin.Model(), []
    one, x, y, z = np.eye(3), *np.eye(3)
    model.gravity.linear = -m.G * z
    turns = [pin.utils.rotate("z", float(phi)) for phi in m.AZIMUTH]
    for i, turn in enumerate(turns):
        motor = pin.SE3(turn, turn @ (m.R * x))
        arm = model.addJoint(0, pin.JointModelRY(), motor, f"motor_{i + 1}")
        model.appendBodyToJoint(arm, _thin_rod(pin, m.ARM, m.L), pin.SE3.Identity())
        universal, elbow = pin.JointModelUniversal(y, z), pin.SE3(one, m.L * x)
        rods.append(model.addJoint(arm, universal, elbow, f"rod_{i + 1}"))
        model.appendBodyToJoint(rods[-1], _thin_rod(pin, m.RODS, m.d), pin.SE3.Identity())
    platform = model.addJoint(0, pin.JointModelTranslation(), pin.SE3.Identity(), "platform")
    point = pin.Inertia(m.PLATFORM, np.zeros(3), np.zeros((3, 3)))
    model.appendBodyToJoint(platform, point, pin.SE3.Identity())
    loops, loops_data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for rod, turn in zip(rods, turns, strict=True):
        ends = rod, pin.SE3(one, m.d * x), platform, pin.SE3(one, turn @ (m.r * x))
        loops.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, *ends))
        loops_data.append(loops[-1].createData())
    data = model.createData()
    pin.initConstraintDynamics(model, data, loops, loops_data)
    return Tree(model, data, loops, loops_data)


def _thin_rod(pin: Any, mass: float, length: float) -> Any:
    across = mass * length**2 / 12
    centre = np.array([length / 2, 0, 0])
    return pin.Inertia(mass, centre, np.diag([0, across, across]))


def _runge_kutta(pin: Any, tree: Tree, steps: int) -> Numbers:
    """Platform (steps + 1, 3) by Runge and Kutta of order 4."""
    model, data, loops, loops_data = tree
    settings, torque = pin.ProximalSettings(1e-12, 0.0, 1), machine.motion()[1]
    dt, efforts = machine.DURATION / steps, np.zeros(12)

    def rate(t: float, state: Numbers) -> Numbers:
        efforts[_MOTORS] = torque.at(t)
        q, v = state[:12], state[12:]
        a = pin.constraintDynamics(model, data, q, v, efforts, loops, loops_data, settings)
        return np.concatenate([v, a])

    state = np.concatenate([start()[0], np.zeros(12)])
    x = [state[9:12]]
    for t in np.arange(steps) * dt:
        k_1 = rate(t, state)
        k_2 = rate(t + dt / 2, state + dt / 2 * k_1)
        k_3 = rate(t + dt / 2, state + dt / 2 * k_2)
        k_4 = rate(t + dt, state + dt * k_3)
        state = state + dt / 6 * (k_1 + 2 * k_2 + 2 * k_3 + k_4)
        x.append(state[9:12])
    return np.array(x)
