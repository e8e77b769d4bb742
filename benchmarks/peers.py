"""What the library is compared with: hand-written loops, and engines for any robot.

A peer prepares its input outside the measurement, as its users would keep it, and returns a
call that is timed. Engines get the coordinates of all their joints with velocities and
accelerations: solving the loops for them is not counted.
"""

import ctypes
import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks import machine
from benchmarks.build import address, shared_library
from benchmarks.machine import Numbers, States

Call = Callable[[], Numbers]

SIMD, SCALAR, NUMPY = "C, SIMD loop", "C, scalar loop", "NumPy, straightforward"


class Peer(NamedTuple):
    """A program with inverse dynamics and perhaps a simulation of the benchmark's robot."""

    name: str
    inverse: Callable[[States], Call]  #: torques (N, 3) [N m], in memory that is used again
    simulate: Callable[[int], Call] | None = None  #: platform (steps + 1, 3) over one second
    most: int = 10**9  #: the largest N worth timing: calls from Python cost the same at any


def engine(module: str) -> Any:
    """A module that may be missing: then OSError. Any: compiled, without types to be read."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise OSError(f"there is no module {module} here (make bench gets it)") from error


def numpy_peer() -> Peer:
    """The equations of `machine`."""
    return Peer(NUMPY, lambda states: lambda: machine.inverse_dynamics(*states))


def c_peers() -> tuple[Peer, Peer]:
    """c/id.c over columns (3, N), vectorised, and over rows (N, 3), scalar; or OSError."""
    fast = shared_library("c/id.c", ["-Ofast", "-fno-math-errno"]).columns
    plain = shared_library("c/id.c", ["-O3", "-fno-tree-vectorize"]).rows
    m = machine
    masses = [m.ARM * m.L**2 / 3, m.ARM * m.L / 2, m.RODS / 3, m.RODS / 6, m.RODS / 3]
    limbs = [*np.cos(m.AZIMUTH), *np.sin(m.AZIMUTH), m.r - m.R, m.L, m.d]
    numbers = np.array([*limbs, *masses, m.PLATFORM, m.G])

    def columns(states: States) -> Call:
        given = [np.ascontiguousarray(part.T) for part in states]
        tau = np.empty_like(given[0])
        call = c_call(fast, len(states.x), numbers, *given, tau)
        return lambda: call().T

    def rows(states: States) -> Call:
        return c_call(plain, len(states.x), numbers, *states, np.empty_like(states.x))

    return Peer(SIMD, columns), Peer(SCALAR, rows)


def c_call(function: Callable, *arguments: object) -> Call:
    """`function` of C with these arguments, made ready; the last array is what it returns."""
    arrays = [part for part in arguments if isinstance(part, np.ndarray)]
    ready = tuple(_argument(part) for part in arguments)

    def call() -> Numbers:
        function(*ready)
        return arrays[-1]

    return call


def _argument(part: object) -> object:
    if isinstance(part, np.ndarray):
        return address(part)
    if isinstance(part, float):
        return ctypes.c_double(part)
    return ctypes.c_long(part) if isinstance(part, int) else part
