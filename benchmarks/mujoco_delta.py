"""The benchmark's robot in MuJoCo: in C with the headers of its wheel, and from Python.

The same coordinates as in Pinocchio: limb by limb a motor and two hinges of the rod, then
three slides of the platform; `connect` closes the loops. MuJoCo wants bodies that resist
every turn: thin rods get 1e-12 kg m^2 about their axes. How its torques become those of the
motors is said in c/mujoco_delta.c.
"""

import ctypes
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import machine
from benchmarks.build import shared_library
from benchmarks.machine import Numbers, States
from benchmarks.peers import Call, Peer, c_call, engine
from benchmarks.pinocchio_delta import start

C, PYTHON = "MuJoCo, C", "MuJoCo, Python"
_PASSIVE, _MOTORS = [1, 2, 4, 5, 7, 8, 9, 10, 11], [0, 3, 6]
_SMALL = 1e-12  # [kg m^2]


def c_peer() -> Peer:
    """Compiled with the wheel's headers and linked with its library; OSError where that fails."""
    mujoco = engine("mujoco")
    folder = Path(mujoco.__file__).parent
    library_file = next(folder.glob("libmujoco.so*"), None)
    if library_file is None:
        raise OSError("the wheel of MuJoCo has no libmujoco.so")
    flags = ["-O3", "-I", str(folder / "include"), str(library_file)]
    library = shared_library("c/mujoco_delta.c", flags)
    library.create.restype = ctypes.c_void_p
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
        file.write(model_text())
        file.flush()
        robot = ctypes.c_void_p(library.create(file.name.encode()))

    def inverse(states: States) -> Call:
        given, tau = machine.joint_coordinates(states), np.empty_like(states.x)
        return c_call(library.inverse, robot, len(tau), *given, tau)

    def simulate(steps: int) -> Call:
        q, torque = start()
        x = np.empty((steps + 1, 3))
        return c_call(library.simulate, robot, q, torque, machine.DURATION, steps, x)

    return Peer(C, inverse, simulate)


def python_peer() -> Peer:
    """MuJoCo's functions called from Python, state by state; OSError without MuJoCo."""
    mujoco = engine("mujoco")
    model = mujoco.MjModel.from_xml_string(model_text())
    data = mujoco.MjData(model)

    def torques(q: Numbers, v: Numbers, a: Numbers) -> Numbers:
        data.qpos[:], data.qvel[:], data.qacc[:] = q, v, a
        mujoco.mj_inverse(model, data)
        h, J = data.qfrc_inverse, data.efc_J.reshape(9, 12)
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

    return Peer(PYTHON, inverse, most=1000)


def model_text() -> str:
    """MuJoCo's model: integrated by Runge and Kutta, loops nearly hard."""
    m = machine
    limbs, wrists, loops = [], [], []
    for i, phi in enumerate(map(float, m.AZIMUTH), 1):
        radial = np.array([np.cos(phi), np.sin(phi), 0])
        limbs.append(
            f'<body pos="{_text(m.R * radial)}" euler="0 0 {phi}">'
            f'<joint axis="0 1 0"/>{_thin_rod(m.ARM, m.L)}'
            f'<body pos="{m.L} 0 0"><joint axis="0 1 0"/><joint axis="0 0 1"/>'
            f'{_thin_rod(m.RODS, m.d)}<site name="end_{i}" pos="{m.d} 0 0"/></body></body>'
        )
        wrists.append(f'<site name="wrist_{i}" pos="{_text(m.r * radial)}"/>')
        loops.append(
            f'<connect site1="end_{i}" site2="wrist_{i}" solimp="0.9999 0.9999 0.001 0.5 2"/>'
        )
    slides = "".join(f'<joint type="slide" axis="{_text(axis)}"/>' for axis in np.eye(3))
    return (
        '<mujoco><compiler angle="radian"/>'
        f'<option gravity="0 0 {-m.G}" jacobian="dense" integrator="RK4"/>'
        f"<worldbody>{''.join(limbs)}<body>{slides}"
        f'<inertial pos="0 0 0" mass="{m.PLATFORM}" diaginertia="1 1 1"/>'
        f"{''.join(wrists)}</body></worldbody><equality>{''.join(loops)}</equality></mujoco>"
    )


def _thin_rod(mass: float, length: float) -> str:
    across = mass * length**2 / 12
    inertia = f"{_SMALL} {across} {across}"
    return f'<inertial pos="{length / 2} 0 0" mass="{mass}" diaginertia="{inertia}"/>'


def _text(numbers: Numbers) -> str:
    return " ".join(repr(float(number)) for number in numbers)
