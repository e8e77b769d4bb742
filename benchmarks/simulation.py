"""One simulated second of a Delta under given torques, each program at the same accuracy.

The torques hold the robot where it starts and shake it at about 2 Hz, 36 cm to and fro. Each
program takes the longest steps, or the loosest tolerance, with which the platform is never
more than ACCURACY away from a reference that is itself good to 1e-12 m. What is timed is a
later call, compiled before. `trajectory_function` is the bare integrator, as the peers' loops
are; `simulate`, the public call, watches the workspace and returns joints, torques and
energies too.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from benchmarks import dynamics, machine
from benchmarks.machine import Numbers
from benchmarks.peers import Peer
from benchmarks.race import Lap, race
from triskele.dynamics.simulate import RobotState, simulate, trajectory_function
from triskele.numerics import Scalar

OURS, PUBLIC = "trajectory_function", "simulate"
ACCURACY = 1e-7  #: error that all are allowed [m]
_STEPS = (50, 75, 100, 150, 200, 250, 300, 400, 500, 750, 1000, 1500, 2000)
_TOLERANCES = (1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
_SAMPLES = 250.0  # of our result [1/s], about as many as Pinocchio needs steps
_REFERENCE = 1e-12  # how well the reference must agree with itself [m]


class Run(NamedTuple):
    """One program and what it took."""

    name: str
    setting: str  #: steps or tolerance
    error: float  #: largest distance of the platform from the reference, any axis [m]
    lap: Lap


class _Try(NamedTuple):
    setting: str
    call: Callable[[], tuple[Numbers, Numbers]]  #: times (k,) [s] and platform (k, 3) [m]


def runs(found: tuple[Peer, ...], *, rounds: int) -> tuple[Run, ...]:
    """Ours first, then the peers that simulate."""
    chosen = {OURS: _coarsest(_handle()), PUBLIC: _coarsest(_public())}
    chosen |= {peer.name: _coarsest(_of_peer(peer)) for peer in found if peer.simulate}
    calls = {name: attempt.call for name, (attempt, _) in chosen.items()}
    laps = race(calls, OURS, rounds=rounds)
    return tuple(
        Run(name, attempt.setting, error, laps[name]) for name, (attempt, error) in chosen.items()
    )


def _coarsest(attempts: Iterable[_Try]) -> tuple[_Try, float]:
    """The first attempt that is accurate enough, or else the last, and its error [m]."""
    attempt, error = None, np.inf
    for attempt in attempts:
        t, x = attempt.call()
        error = float(np.abs(x - _reference(t)).max())
        if error <= ACCURACY:
            break
    assert attempt is not None, "there are always attempts"
    return attempt, error


def _reference(t: Numbers) -> Numbers:
    exact, check = (machine.reference(t, tolerance) for tolerance in (1e-13, 1e-12))
    if not np.abs(exact - check).max() < _REFERENCE:
        raise ArithmeticError("The reference of the simulation disagrees with itself.")
    return exact


def _of_peer(peer: Peer) -> Iterator[_Try]:
    assert peer.simulate is not None, "only of peers that simulate"
    for steps in _STEPS:
        call, t = peer.simulate(steps), np.linspace(0, machine.DURATION, steps + 1)
        yield _Try(f"{steps} steps", lambda call=call, t=t: (t, call()))


def _handle() -> Iterator[_Try]:
    model, (x, torque) = dynamics.robot(), machine.motion()
    hold, swing, rate = (tuple(map(float, part)) for part in torque)
    t = np.linspace(0, machine.DURATION, round(_SAMPLES * machine.DURATION) + 1)

    def efforts(t: Scalar) -> Float[Array, "3"]:
        waves = (a + b * jnp.cos(w * t) for a, b, w in zip(hold, swing, rate, strict=True))
        return jnp.stack(list(waves))

    for tolerance in _TOLERANCES:
        run = trajectory_function(model, efforts, t, tolerance)
        yield _Try(f"tolerance {tolerance:.0e}", lambda run=run: (t, run(x, np.zeros(3))))


def _public() -> Iterator[_Try]:
    model, (x, torque) = dynamics.robot(), machine.motion()
    hold, swing, rate = map(jnp.asarray, torque)

    def controller(t: Scalar, _: RobotState) -> Float[Array, "3"]:
        return hold + swing * jnp.cos(rate * t)

    def call(tolerance: float) -> tuple[Numbers, Numbers]:
        found = simulate(
            model,
            x,
            np.zeros(3),
            controller,
            machine.DURATION,
            rate=_SAMPLES,
            tolerance=tolerance,
        )
        return found.t, found.x

    for tolerance in _TOLERANCES:
        yield _Try(f"tolerance {tolerance:.0e}", partial(call, tolerance))
