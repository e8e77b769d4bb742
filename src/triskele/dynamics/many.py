"""Many simulations at once: other starts, payloads or torques, on all lanes of all cores.

The classical method of Runge and Kutta, with one step for all runs. With k_i = f(y_i) the rates
of y = (x, xd), stage i of a step h is

    y_(i+1) = y + a_i h k_i,     z_(i+1) = z_i + b_i h k_i                              (1)
    a = (1/2, 1/2, 1, 0),        b = (1/6, 1/3, 1/3, 1/6)

with z_1 = y, and z_5 is y at the next step. (1) is one program, in which the equations of motion
are written out, run once a stage over all rows of a block that fits the cache. On a GPU each
run is a thread that goes through all its steps (`programs/cuda.py`).
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from triskele.description.schema import Payload
from triskele.dynamics.forward import forward_dynamics
from triskele.dynamics.robot import RigidRobot
from triskele.errors import InputError
from triskele.kinematics.motion import Real
from triskele.laws.masses import ten_of_payload
from triskele.numerics import AnyArray, Scalars, library, stacked, table_function
from triskele.programs import device, kernel
from triskele.programs.cuda import CudaSimulation
from triskele.programs.program import Program

_BLOCK = 1024  #: runs that are advanced together
_COMPARED = 16  #: runs that are done again with half the step
_A, _B = (0.5, 0.5, 1.0, 0.0), (1 / 6, 1 / 3, 1 / 3, 1 / 6)


class ManySimulations(NamedTuple):
    """N runs in S samples; x and xd are JAX arrays where the runs were computed on a GPU."""

    t: Float[np.ndarray, " S"]  #: [s]
    x: Float[AnyArray, "N S n"]  #: [m, rad]; not a number where a run left what can be computed
    xd: Float[AnyArray, "N S n"]
    error: float  #: of x at the end, the largest of some runs, from half the step [m, rad]


def simulate_many(
    robot: RigidRobot,
    x: ArrayLike,
    xd: ArrayLike,
    tau: ArrayLike,
    duration: Real,
    *,
    payloads: Sequence[Payload] | None = None,
    step: Real = 1e-3,
    rate: Real | None = None,
    progress: Callable[[float], None] | None = None,
) -> ManySimulations:
    """N runs of `duration` [s], in steps of `step` [s], from states `x`, `xd`, (n,) or (N, n).

    `tau` holds the efforts of the drives [N m, N]: (n,) or (N, n) constant, (T, n) for all runs or
    (N, T, n), T >= 2 values spread evenly over the duration, linear between. Where N = T the shape
    (N, n) means N runs. `payloads`, one a run, take the place of the robot's own. Samples are
    taken at `rate` [Hz], or at the end alone. No limit ends a run: look at `x`. Where one of `x`,
    `xd` and `tau` is a JAX array on a GPU, the runs are computed there, and stay there.

    >>> import triskele as tk
    >>> model = tk.rigid(tk.load("omron_mini_delta"))
    >>> starts = np.array([[0.0, 0.0, -0.4], [0.01, 0.0, -0.4]])
    >>> runs = tk.simulate_many(model, starts, np.zeros(3), np.zeros(3), 0.01)
    >>> runs.x.shape
    (2, 1, 3)
    """
    n = len(robot.rotors)
    if not (np.isfinite(duration) and duration > 0 and 0 < step <= duration):
        raise InputError("duration and step must be positive, and the step not the longer one.")
    steps = max(1, round(duration / step))
    every = 1 if rate is None else max(1, round(1 / (rate * step)))
    taken = [steps] if rate is None else sorted({*range(0, steps, every), steps})
    many = None if payloads is None else len(payloads)
    given = [part for part in (x, xd, tau) if isinstance(part, jax.Array)]
    on_gpu = bool(given) and device.holds(*given)
    x, xd, tau = ((jnp if on_gpu else np).asarray(part, float) for part in (x, xd, tau))
    starts, efforts = _runs(x, xd, tau, n, many)
    ten = None if payloads is None else np.array([ten_of_payload(one) for one in payloads])
    program = _law_of_motion(robot, ten is not None) if on_gpu else None
    h = float(duration) / steps
    if program is not None:
        runs = _RunsOnGpu(_simulation(program), jnp.asarray(starts), jnp.asarray(efforts), ten)
    else:
        law = table_function(eqx.Partial(_stage, robot), *_widths(n, ten is not None))
        runs = _Runs(law, np.asarray(starts), np.asarray(efforts), ten)
    found = runs.advanced(slice(None), h, steps, taken, progress)
    error = _step_error(runs, found[:, -1, :n], h, steps)
    return ManySimulations(np.array(taken) * h, found[..., :n], found[..., n:], error)


class _Runs(NamedTuple):
    """N runs, before they are computed."""

    law: Callable  #: equation (1), over tables
    starts: Float[np.ndarray, "N k"]
    efforts: Float[np.ndarray, "_ T _"]  #: of one run for all, or of each
    carried: Float[np.ndarray, "N 10"] | None  #: parameters of payloads

    def chosen(self, rows: slice | np.ndarray) -> "_Runs":
        """Some of them."""
        efforts = self.efforts[rows] if len(self.efforts) > 1 else self.efforts
        carried = None if self.carried is None else self.carried[rows]
        return _Runs(self.law, self.starts[rows], efforts, carried)

    def advanced(
        self,
        rows: slice | np.ndarray,
        h: float,
        steps: int,
        taken: Sequence[int],
        progress: Callable[[float], None] | None = None,
    ) -> Float[np.ndarray, "N S k"]:
        """The states of `rows` after the steps `taken`, block by block, on all cores."""
        runs, done = self.chosen(rows), []
        N = len(runs.starts)
        found = np.empty((N, len(taken), runs.starts.shape[1]))

        def block(first: int) -> None:
            part = slice(first, min(first + _BLOCK, N))
            found[part] = _advanced(runs.chosen(part), h, steps, taken)
            done.append(first)
            if progress is not None:
                progress(min(len(done) * _BLOCK / N, 1.0))

        blocks = range(0, N, _BLOCK)
        if len(blocks) == 1:
            block(0)
        else:
            with ThreadPoolExecutor() as pool:
                list(pool.map(block, blocks))
        return found


class _RunsOnGpu(NamedTuple):
    """N runs on a GPU, before they are computed."""

    simulation: CudaSimulation
    starts: Float[jax.Array, "N k"]
    efforts: Float[jax.Array, "_ T _"]
    carried: Float[np.ndarray, "N 10"] | None

    def advanced(
        self,
        rows: slice | np.ndarray,
        h: float,
        steps: int,
        taken: Sequence[int],
        progress: Callable[[float], None] | None = None,
    ) -> Float[jax.Array, "N S k"]:
        """The states of `rows` after the steps `taken`, sample by sample."""
        starts = self.starts[rows]
        n = starts.shape[1] // 2
        efforts = self.efforts[rows] if len(self.efforts) > 1 else self.efforts
        fixed, table, interval = efforts[:, 0], None, np.nan
        if efforts.shape[1] > 1:
            fixed, table = jnp.zeros((1, n)), efforts if len(efforts) > 1 else efforts[0]
            interval = h * steps / (efforts.shape[1] - 1)
        constant = [fixed if len(fixed) > 1 or len(starts) == 1 else fixed[0]]
        if self.carried is not None:
            own = self.carried[rows] if len(self.carried) > 1 else self.carried[0]
            constant.append(jnp.asarray(own))
        x, xd = starts[:, :n], starts[:, n:]
        found, before = [], 0
        for step in taken:
            if step > before:
                x, xd = self.simulation.of_jax(
                    x, xd, *constant, duration=h * (step - before), steps=step - before,
                    start=h * before, table=table, interval=interval,
                )  # fmt: skip
            found.append(jnp.concatenate([x, xd], axis=1))
            before = step
            if progress is not None:
                progress(step / steps)
        return jnp.stack(found, axis=1)


def _step_error(runs: _Runs | _RunsOnGpu, x: Float[AnyArray, "N n"], h: float, steps: int) -> float:
    """Of `x` at the end, the largest of some runs: 16/15 of what half the step changes."""
    n, N = x.shape[1], len(x)
    some = np.unique(np.linspace(0, N - 1, min(N, _COMPARED)).astype(int))
    finer = np.asarray(runs.advanced(some, h / 2, 2 * steps, [2 * steps])[:, -1, :n])
    apart = np.abs(np.asarray(x[some]) - finer) * 16 / 15
    return float(np.nanmax(apart)) if np.isfinite(apart).any() else np.nan


def _law_of_motion(robot: RigidRobot, carried: bool) -> Program | None:
    """xdd(x, xd, tau), or of the payload too, as a program; None if it is none."""
    n = len(robot.rotors)
    widths = (n, n, n, *((10,) if carried else ()))
    return kernel.program_of(eqx.Partial(_accelerations, robot), *widths)


@lru_cache(maxsize=16)
def _simulation(program: Program) -> CudaSimulation:
    """The program's kernel, compiled once."""
    return CudaSimulation(program)


def _runs(
    x: AnyArray, xd: AnyArray, tau: AnyArray, n: int, payloads: int | None
) -> tuple[Float[AnyArray, "N k"], Float[AnyArray, "_ T _"]]:
    """States at the start, and efforts in time, of one run for all or of each."""
    xp = library(x, xd, tau)
    for name, array, most in (("x", x, 2), ("xd", xd, 2), ("tau", tau, 3)):
        if array.ndim not in range(1, most + 1) or array.shape[-1] != n or not array.size:
            raise InputError(
                f"{name} has the shape {array.shape}; {n} numbers for all runs or a row a run "
                "were expected."
            )
        if not xp.isfinite(array).all():
            raise InputError(f"{name} holds a number that is not finite.")
    counts = {len(part) for part in (x, xd) if part.ndim == 2}
    counts |= {len(tau)} if tau.ndim == 3 else set()
    counts |= set() if payloads is None else {payloads}
    if tau.ndim == 2 and (not counts or counts == {len(tau)} or counts == {1}):
        counts |= {len(tau)}
        tau = tau[:, None]
    counts.discard(1)
    if len(counts) > 1:
        raise InputError(f"The runs are {' or '.join(map(str, sorted(counts)))}; one number fits.")
    N = counts.pop() if counts else 1
    starts = xp.concatenate([xp.broadcast_to(part, (N, n)) for part in (x, xd)], axis=1)
    efforts = tau.reshape(1, 1, n) if tau.ndim == 1 else tau[None] if tau.ndim == 2 else tau
    return starts, efforts


def _widths(n: int, carried: bool) -> tuple[int, ...]:
    return (2 * n, 2 * n, 2 * n, n, 2, *((10,) if carried else ()))


def _stage(
    robot: RigidRobot,
    y: Scalars,
    now: Scalars,
    z: Scalars,
    tau: Scalars,
    weights: Scalars,
    payload: Scalars | None = None,
) -> tuple[Scalars, Scalars]:
    """Equation (1): the state of the next stage, and the sum so far; a kernel."""
    n = len(robot.rotors)
    rates = (*now[n:], *_accelerations(robot, now[:n], now[n:], tau, payload))
    a, b = weights
    return (
        tuple(part + a * rate for part, rate in zip(y, rates, strict=True)),
        tuple(part + b * rate for part, rate in zip(z, rates, strict=True)),
    )


def _accelerations(
    robot: RigidRobot, x: Scalars, xd: Scalars, tau: Scalars, payload: Scalars | None = None
) -> Scalars:
    """xdd, with the ten parameters of `payload` in the place of the robot's own; a kernel."""
    if payload is not None:
        robot = eqx.tree_at(lambda robot: robot.payload, robot, stacked(payload))
    return forward_dynamics(robot, x, xd, tau)


def _advanced(
    runs: _Runs, h: float, steps: int, taken: Sequence[int]
) -> Float[np.ndarray, "N S k"]:
    """The states after the steps `taken`, from 0 to `steps`.

    Columns lie one after the other: that is what lanes read quickest.
    """
    samples = {step: place for place, step in enumerate(taken)}
    found = np.empty((len(runs.starts), len(taken), runs.starts.shape[1]))
    if 0 in samples:
        found[:, samples[0]] = runs.starts
    y, z = runs.starts.T.copy(), runs.starts.T.copy()
    now, next_now, next_z = y.copy(), np.empty_like(y), np.empty_like(y)
    extra = () if runs.carried is None else (runs.carried,)
    weights = [np.array([a * h, b * h]) for a, b in zip(_A, _B, strict=True)]
    tau = _efforts_at(runs.efforts, 0.0, len(runs.starts))
    for step in range(steps):
        for weight, c in zip(weights, (0.0, 0.5, 0.5, 1.0), strict=True):
            if runs.efforts.shape[1] > 1:
                tau = _efforts_at(runs.efforts, (step + c) / steps, len(runs.starts))
            runs.law((y.T, now.T, z.T, tau, weight, *extra), (next_now.T, next_z.T))
            now, next_now = next_now, now
            z, next_z = next_z, z
        y[:], now[:] = z, z
        if step + 1 in samples:
            found[:, samples[step + 1]] = z.T
    return found


def _efforts_at(
    efforts: Float[np.ndarray, "_ T _"], share: float, runs: int
) -> Float[np.ndarray, "N n"]:
    """Efforts after a `share` of the duration, linear between the rows given."""
    last = efforts.shape[1] - 1
    at = share * last
    k = min(int(at), max(last - 1, 0))
    first, second = efforts[:, k], efforts[:, min(k + 1, last)]
    return np.broadcast_to(first + (at - k) * (second - first), (runs, efforts.shape[2]))
