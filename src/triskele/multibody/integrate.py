"""Motion in time by a Runge-Kutta method of order 8, each step moved onto the conditions.

After each accepted step the state is moved onto the conditions of the joints, positions and
velocities (`solve.projected`): nothing drifts. Samples between steps are interpolated and
moved likewise. Work of the motors and heat are integrated beside the motion, so that

    energy(t) - energy(0) - work(t) + lost(t)                                              (1)

is zero but for the error of integration. `adams.py` and `generalised_alpha.py` are other
integrators with the same result.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from triskele.errors import InputError
from triskele.kinematics.motion import Real
from triskele.multibody.forces import axis_motion, energies
from triskele.multibody.primitives import Drive
from triskele.multibody.reactions import drive_efforts
from triskele.multibody.solve import accelerations, projected, state_rates, violation
from triskele.multibody.system import State, System, motion_of, origins
from triskele.numerics import filled_up

_MOST_STEPS = 1_000_000
_FIRST_STEP = 1e-3  #: [s]; the controller of step sizes corrects it
Efforts = Callable[[Array, Array, Array], Array]
#: efforts of the motors [N m, N] from time [s], axes q and qd of the motors; traced by JAX
Signal = Callable[[Array], Array]  #: q of the prescribed motors [rad, m] at a time [s]


class Run(NamedTuple):
    """A simulated motion of a system, in N samples."""

    t: Float[np.ndarray, " N"]  #: [s]
    states: State  #: stacked
    origins: Float[np.ndarray, "N bodies 3"]  #: of the bodies' own frames [m]
    q: Float[np.ndarray, "N motors"]  #: angles and lengths of the motors [rad, m]
    qd: Float[np.ndarray, "N motors"]
    effort: Float[np.ndarray, "N motors"]  #: [N m, N]
    kinetic: Float[np.ndarray, " N"]  #: [J]
    potential: Float[np.ndarray, " N"]  #: of gravity, springs and constant forces [J]
    work: Float[np.ndarray, " N"]  #: of the motors since the start [J]
    lost: Float[np.ndarray, " N"]  #: heat since the start [J]
    gap: Float[np.ndarray, " N"]  #: largest residual of the joints [m]
    slip: Float[np.ndarray, " N"]  #: its rate [m/s]
    steps: int  #: of the integrator
    ended: str | None  #: why it ended early, None if it did not

    @property
    def energy(self) -> Float[np.ndarray, " N"]:
        """Kinetic and potential [J]."""
        return self.kinetic + self.potential

    @property
    def imbalance(self) -> float:
        """The largest magnitude of (1) [J]."""
        balance = self.energy - self.energy[0] - self.work + self.lost
        return float(np.abs(balance).max())


class Actuation(eqx.Module):
    """What the motors are told: efforts, or, for a prescribed system, their motion."""

    efforts: Efforts | None = None
    signal: Signal | None = None

    def drive(self, t: Array) -> Drive | None:
        """Position, rate and acceleration of the prescribed motors; rates by autodiff."""
        if self.signal is None:
            return None
        signal, one = self.signal, jnp.ones_like(t)

        def rate(t: Array) -> tuple[Array, Array]:
            return jax.jvp(signal, (t,), (one,))

        (q, qd), (_, qdd) = jax.jvp(rate, (t,), (one,))
        return Drive(q, qd, qdd)


class Constant(eqx.Module):
    """The same efforts always."""

    tau: Float[Array, " motors"]

    def __call__(self, t: Array, q: Array, qd: Array) -> Array:
        """The efforts, whatever happens."""
        return self.tau


def simulate(
    system: System,
    start: State,
    duration: Real,
    *,
    efforts: Efforts | None = None,
    signal: Signal | None = None,
    rate: Real = 1000.0,
    tolerance: Real = 1e-9,
    stabilised: bool = True,
) -> Run:
    """Integrate from `start` for `duration` [s] and sample at `rate` [Hz].

    Motors take `efforts`, none if that is left out, or follow `signal` if the system is
    prescribed. `tolerance` is relative, and absolute in m, rad, m/s, rad/s; samples between
    steps, which are interpolated, may be off by some fifty times as much. Without
    `stabilised` joints drift apart, as they do in codes that integrate accelerations only.
    """
    actuation = checked_actuation(system, efforts, signal)
    times = sample_times(duration, rate, tolerance)
    instants = jnp.asarray(filled_up(times))
    found = _integrated(
        system, actuation, start, instants, jnp.asarray(tolerance, float), stabilised
    )
    t, y, steps, failed = (np.asarray(part) for part in found)
    kept = np.isfinite(t)
    kept &= np.diff(t, prepend=-1.0) > 0
    ended = None
    if bool(failed):
        last = t[kept][-1] if kept.any() else 0.0
        ended = f"at t = {last:.6g} s: the integrator could not go on (too stiff, or not finite)"
    return sampled(system, actuation, t[kept], y[kept], int(steps), ended)


def checked_actuation(system: System, efforts: Efforts | None, signal: Signal | None) -> Actuation:
    """What the motors are told, or an error where it does not fit the system."""
    if system.prescribed != (signal is not None):
        need = "needs their motion, signal=" if system.prescribed else "takes efforts="
        raise InputError(f"{system.name}: with motors built so, simulate {need}.")
    if efforts is None and signal is None:
        efforts = Constant(jnp.zeros(len(system.motors)))
    return Actuation(efforts, signal)


def sample_times(duration: Real, rate: Real, tolerance: Real = 0.5) -> np.ndarray:
    """Instants of samples [s], the end included."""
    if not (np.isfinite(duration) and duration > 0 and rate > 0 and 0 < tolerance < 1):
        raise InputError("duration and rate must be positive, tolerance between 0 and 1.")
    times = np.append(np.arange(0, duration, 1 / rate), duration)
    return np.delete(times, -2) if times[-1] - times[-2] < 1e-9 / rate else times


# The state as one vector: r, p, v, w of all bodies, then work and heat


def packed(state: State, extra: Array) -> Array:
    """The vector that integrators see."""
    return jnp.concatenate([*(part.reshape(-1) for part in state), extra])


def unpacked(system: System, y: Array) -> State:
    """The state in a vector."""
    count = len(system.bodies)
    r, p, v, w, _ = jnp.split(y, np.cumsum([3 * count, 4 * count, 3 * count, 3 * count]))
    return State(r.reshape(-1, 3), p.reshape(-1, 4), v.reshape(-1, 3), w.reshape(-1, 3))


def rates(system: System, actuation: Actuation, t: Array, y: Array) -> Array:
    """dy/dt."""
    state = unpacked(system, y)
    motion = motion_of(system, state)
    drive = actuation.drive(t)
    tau, qd = told(system, actuation, t, state)
    found = accelerations(system, state, tau, drive)
    if drive is not None:
        tau, qd = drive_efforts(system, motion, drive, found.lam), drive.qd
    lost = energies(system, motion).lost
    derived = state_rates(system, state, found)
    return packed(State(*derived), jnp.stack([tau @ qd, lost]))


def told(system: System, actuation: Actuation, t: Array, state: State) -> tuple[Array, Array]:
    """Efforts of motors that are not prescribed, and the rates of their axes."""
    nothing = jnp.zeros(len(system.motors))
    if actuation.efforts is None or not system.motors:
        return nothing, nothing
    axes = axis_motion(system, motion_of(system, state))
    motors = np.array([k for k, axis in enumerate(system.axes) if axis.motor], int)
    return actuation.efforts(t, axes.q[motors], axes.qd[motors]), axes.qd[motors]


def onto_conditions(system: System, actuation: Actuation, t: Array, y: Array) -> Array:
    """y with positions and velocities that meet the conditions at t."""
    state = projected(system, unpacked(system, y), actuation.drive(t))
    return packed(state, y[-2:])


class _Projecting(diffrax.Dopri8):
    """Dormand and Prince's method of order 8, whose steps end on the conditions."""

    project: Callable[[Array, Array], Array] = eqx.field(kw_only=True)

    def step(self, terms, t0, t1, *rest) -> Any:  # noqa: ANN001, ANN002, ANN401  # pyright: ignore[reportIncompatibleMethodOverride]
        """A step of the method, then onto the conditions."""
        y1, *others = super().step(terms, t0, t1, *rest)
        return self.project(t1, y1), *others


@eqx.filter_jit
def _integrated(
    system: System,
    actuation: Actuation,
    start: State,
    times: Array,
    tolerance: Array,
    stabilised: bool,
) -> tuple[Array, Array, Array, Array]:
    @jax.jit  # traced once, though the integrator asks for it in several places
    def derivative(t: Array, y: Array, _: None) -> Array:
        return rates(system, actuation, t, y)

    @jax.jit
    def project(t: Array, y: Array) -> Array:
        return onto_conditions(system, actuation, t, y)

    solver = _Projecting(project=project) if stabilised else diffrax.Dopri8()
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(derivative),  # pyright: ignore[reportArgumentType]
        solver,
        t0=times[0],
        t1=times[-1],
        dt0=jnp.minimum(_FIRST_STEP, times[-1]),
        y0=packed(start, jnp.zeros(2)),
        saveat=diffrax.SaveAt(ts=times),
        stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance),
        max_steps=_MOST_STEPS,
        throw=False,
        adjoint=diffrax.ForwardMode(),
    )
    assert solution.ys is not None and solution.ts is not None
    y = solution.ys
    if stabilised:
        y = jax.lax.map(lambda sample: project(*sample), (solution.ts, y))
    failed = solution.result != diffrax.RESULTS.successful
    return solution.ts, y, solution.stats["num_steps"], failed


class _Sample(NamedTuple):
    """What follows from one sample."""

    state: State
    origins: Array
    q: Array
    qd: Array
    effort: Array
    kinetic: Array
    potential: Array
    gap: Array
    slip: Array


def sampled(
    system: System,
    actuation: Actuation,
    t: np.ndarray,
    y: np.ndarray,
    steps: int,
    ended: str | None,
) -> Run:
    """A `Run` from the vectors at the samples."""
    found = _samples(system, actuation, jnp.asarray(filled_up(t)), jnp.asarray(filled_up(y)))
    found = jax.tree.map(lambda leaf: np.asarray(leaf)[: len(t)], found)
    turns = [k for k, axis in enumerate(system.motors) if axis.kind == "turn"]
    q = np.array(found.q)
    q[:, turns] = np.unwrap(q[:, turns], axis=0)
    return Run(
        t,
        found.state,
        found.origins,
        q,
        found.qd,
        found.effort,
        found.kinetic,
        found.potential,
        y[:, -2],
        y[:, -1],
        found.gap,
        found.slip,
        steps,
        ended,
    )


@eqx.filter_jit
def _samples(system: System, actuation: Actuation, t: Array, y: Array) -> _Sample:
    def at(sample: tuple[Array, Array]) -> _Sample:
        t, y = sample
        state, drive = unpacked(system, y), actuation.drive(t)
        motion = motion_of(system, state)
        energy, axes = energies(system, motion), axis_motion(system, motion)
        motors = np.array([k for k, axis in enumerate(system.axes) if axis.motor], int)
        tau, _ = told(system, actuation, t, state)
        if drive is not None:
            tau = drive_efforts(system, motion, drive, accelerations(system, state, tau, drive).lam)
        places = origins(system, state)
        gaps = violation(system, state, drive)
        q, qd = axes.q[motors], axes.qd[motors]
        return _Sample(state, places, q, qd, tau, energy.kinetic, energy.potential, *gaps)

    return jax.lax.map(at, (t, y))
