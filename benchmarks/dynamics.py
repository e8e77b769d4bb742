"""Inverse dynamics of a Delta, in batches and call by call, against C and other engines.

The yardstick is c/id.c over columns, vectorised by the compiler: what one would write by hand
for one robot. `torque_function` reads and returns (N, 3) arrays. Engines for any robot loop
over states, in C++ or C where they can be compiled here; they are given more than we are,
namely the motion of all joints, and know nothing of a Delta.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np

from benchmarks import machine, mujoco_delta, peers, pinocchio_delta
from benchmarks.machine import States
from benchmarks.peers import Peer
from benchmarks.race import Lap, cpu_time, race
from triskele.description.load import parse
from triskele.dynamics.handle import acceleration_function, torque_function
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import RigidRobot, rigid
from triskele.numerics import batch

SIZES = (1_000, 10_000, 100_000)
HANDLE, GENERAL, FORWARD = "torque_function", "batch(inverse_dynamics)", "acceleration_function"
LATENCY = "torque_function, one state"
_TOLERANCE = 1e-9  # [N m], and [m/s^2] of forward dynamics
_LAP = 0.05  # CPU time of each candidate per round, at least [s]
_COMPILED = (HANDLE, GENERAL, FORWARD)

Calls = dict[str, Callable[[], object]]


class Race(NamedTuple):
    """Candidates that ran against each other at one N."""

    n: int
    reference: str
    laps: dict[str, Lap]
    compilation: dict[str, float]  #: CPU time [s] of a first call beyond a later one


def robot() -> RigidRobot:
    """The benchmark's robot."""
    return rigid(parse(machine.TOML, "the benchmark's robot"))


def available() -> tuple[tuple[Peer, ...], tuple[str, ...]]:
    """Peers that work here, the reference first, and what does not, in sentences."""
    found: list[Peer] = []
    notes: list[str] = []

    def look(what: str, make: Callable[[], Peer | tuple[Peer, ...]]) -> None:
        try:
            peer = make()
        except OSError as error:
            notes.append(f"{what}: {error}.")
        else:
            found.extend((peer,) if isinstance(peer, Peer) else peer)

    look("C", peers.c_peers)
    look("NumPy", peers.numpy_peer)
    look("Pinocchio in C++", pinocchio_delta.cpp_peers)
    look("Pinocchio", pinocchio_delta.python_peer)
    look("MuJoCo in C", mujoco_delta.c_peer)
    look("MuJoCo", mujoco_delta.python_peer)
    return tuple(found), tuple(notes)


def batches(found: tuple[Peer, ...], *, rounds: int) -> Iterator[Race]:
    """Races at each of SIZES; the first of the peers is the reference."""
    model = robot()
    torque, acceleration = torque_function(model), acceleration_function(model)
    general = batch(eqx.Partial(inverse_dynamics, model))
    for n in SIZES:
        states = machine.states(n)
        tau = machine.inverse_dynamics(*states)
        calls: Calls = {p.name: p.inverse(states) for p in found if n <= p.most}
        calls |= {
            HANDLE: lambda states=states: torque(*states),
            GENERAL: lambda states=states: jax.block_until_ready(general(*states)),
            FORWARD: lambda s=states, tau=tau: acceleration(s.x, s.xd, tau),
        }
        yield _race(calls, n, {**dict.fromkeys(calls, tau), FORWARD: states.xdd}, rounds)


def single_calls(found: tuple[Peer, ...], *, rounds: int) -> Race:
    """One state per call, from Python, result in NumPy."""
    model = robot()
    torque, general = torque_function(model), batch(eqx.Partial(inverse_dynamics, model))
    one = States(*(part[500:501].copy() for part in machine.states(1000)))
    x, xd, xdd = (part[0] for part in one)
    calls: Calls = {LATENCY: lambda: torque(x, xd, xdd)}
    calls["batch, N = 1"] = lambda: np.stack(general(*one), axis=-1)
    calls |= {_called(peer): peer.inverse(one) for peer in found if peer.name != peers.SIMD}
    tau = machine.inverse_dynamics(*one)
    return _race(calls, 1, dict.fromkeys(calls, tau), rounds)


def _called(peer: Peer) -> str:
    in_c = peer.name not in (peers.NUMPY, pinocchio_delta.PYTHON, mujoco_delta.PYTHON)
    return f"{peer.name}, through ctypes" if in_c else peer.name


def _race(calls: Calls, n: int, answers: Mapping[str, np.ndarray], rounds: int) -> Race:
    """Check that all calls give their answers, then time them; the first is the reference."""
    compilation = {}
    for name, call in calls.items():
        first = cpu_time(call)
        if name in _COMPILED:
            compilation[name] = max(first - cpu_time(call), 0.0)
        result = call()
        rows = np.stack(result, axis=-1) if isinstance(result, tuple) else np.asarray(result)
        worst = np.abs(rows - answers[name]).max()
        if not worst < _TOLERANCE:
            raise ArithmeticError(f"{name}: off by {worst:.1e}, more than {_TOLERANCE:.0e}.")
    reference = next(iter(calls))
    return Race(n, reference, race(calls, reference, rounds=rounds, shortest=_LAP), compilation)
