"""Motion in time by a Runge-Kutta method of order 8, each step moved onto the conditions.

After each accepted step the state is moved onto the conditions of the joints, positions and
velocities (`solve.projected`): nothing drifts. Samples between steps are interpolated and
moved likewise. Work of the motors and heat are integrated beside the motion, so that

    energy(t) - energy(0) - work(t) + lost(t)                                              (1)

is zero but for the error of integration. `adams.py` and `generalised_alpha.py` are other
integrators with the same result, `gradients.py` has derivatives.

A step whose end cannot be moved onto the conditions is refused. Where steps become hopelessly
short the run ends there, and `collapse.py` finds the reason.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from triskele.errors import InputError
from triskele.kinematics.motion import Real
from triskele.multibody.assembly import check_start
from triskele.multibody.collapse import check_reach, reason
from triskele.multibody.forces import axis_motion, energies
from triskele.multibody.primitives import Drive
from triskele.multibody.reactions import motor_efforts, without_driven
from triskele.multibody.signals import check_until
from triskele.multibody.solve import accelerations, projected, state_rates, violation
from triskele.multibody.system import State, System, conditions, motion_of, origins
from triskele.numerics import AnyArray, filled_up

_MOST_STEPS = 1_000_000
_FIRST_STEP = 1e-3  #: [s]; the controller of step sizes corrects it
SHORTEST = 1e-11  #: step, as a part of the duration
WINDOW, MOST = (
    500,
    2_000_000,
)  #: attempts between two looks at the progress; and allowed at its pace
CLOSED = 1e-9  #: residual of a step's end on the conditions, as a part of the size
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
    joint_q: Float[np.ndarray, "N gauges"]  #: angles, then lengths, of `System.gauges` [rad, m]
    joint_qd: Float[np.ndarray, "N gauges"]
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
    """What the motors are told: efforts, or, those that are prescribed, their motion."""

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

    tau: Float[AnyArray, " motors"]

    def __call__(self, t: Array, q: Array, qd: Array) -> Array:
        """The efforts, whatever happens."""
        return jnp.asarray(self.tau)


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

    Motors take `efforts`, none if that is left out; those that are prescribed follow `signal`.
    `start` meets the conditions of the joints, see `assembled`. `tolerance` is relative, and
    absolute in m, rad, m/s, rad/s; samples between steps, which are interpolated, may be off by
    some fifty times as much. Without `stabilised` joints drift apart, as they do in codes that
    integrate accelerations only. A motion that cannot go on ends early, see `Run.ended`.
    """
    times = sample_times(duration, rate, tolerance)
    actuation = begun(system, start, duration, efforts, signal)
    instants = jnp.asarray(filled_up(times))
    found = _integrated(
        system, actuation, start, instants, jnp.asarray(tolerance, float), stabilised
    )
    t, y, steps, failed, *reached = (np.asarray(part) for part in found)
    kept = np.isfinite(t)
    kept &= np.diff(np.where(kept, t, 0.0), prepend=-1.0) > 0
    ended = None
    if bool(failed):
        last = unpacked(system, jnp.asarray(reached[1]))
        ended = reason(system, driving(actuation), float(reached[0]), last)
    return sampled(system, actuation, t[kept], y[kept], int(steps), ended)


def begun(
    system: System,
    start: State,
    duration: Real,
    efforts: Efforts | None,
    signal: Signal | None,
) -> Actuation:
    """What the motors are told, or an error where it, or the start, does not fit the system."""
    if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((system, start))):
        raise InputError(
            f"{system.name}: simulate writes numbers and has no derivatives; differentiate "
            "multibody.trajectory, which has the same arguments and returns states."
        )
    actuation = checked_actuation(system, efforts, signal)
    check_until(system.name, signal, float(duration))
    drive = driving(actuation)
    check_start(system, start, drive(jnp.zeros(())))
    check_reach(system, drive, start, float(duration))
    return actuation


def driving(actuation: Actuation) -> Callable[[Array], Drive | None]:
    """The drives at an instant, compiled."""
    return lambda t: _drive(actuation, t)


@eqx.filter_jit
def _drive(actuation: Actuation, t: Array) -> Drive | None:
    return actuation.drive(t)


def checked_actuation(system: System, efforts: Efforts | None, signal: Signal | None) -> Actuation:
    """What the motors are told, or an error where it does not fit the system."""
    if system.prescribed != (signal is not None):
        need = "needs their motion, signal=" if system.prescribed else "takes efforts="
        raise InputError(f"{system.name}: with motors built so, simulate {need}.")
    if system.prescribed and len(system.driven) == len(system.motors):
        efforts = None  # nothing is left to take one
    elif efforts is None:
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
    tau = motor_efforts(system, motion, drive, found.lam, tau)
    lost = energies(system, motion).lost
    derived = state_rates(system, state, found)
    return packed(State(*derived), jnp.stack([tau @ qd, lost]))


def told(system: System, actuation: Actuation, t: Array, state: State) -> tuple[Array, Array]:
    """Efforts of the motors, none of those that follow a motion, and the rates of their axes."""
    tau = jnp.zeros(len(system.motors))
    if not system.motors:
        return tau, tau
    axes = axis_motion(system, motion_of(system, state))
    motors = np.array([k for k, axis in enumerate(system.axes) if axis.motor], int)
    q, qd = axes.q[motors], axes.qd[motors]
    if actuation.efforts is not None:
        tau = without_driven(system, actuation.efforts(t, q, qd))
    return tau, qd


def onto_conditions(system: System, actuation: Actuation, t: Array, y: Array) -> Array:
    """y with positions and velocities that meet the conditions at t."""
    state = projected(system, unpacked(system, y), actuation.drive(t))
    return packed(state, y[-2:])


def met(system: System, actuation: Actuation, t: Array, y: Array) -> Array:
    """Whether the positions in y meet the conditions at t."""
    motion = motion_of(system, unpacked(system, y))
    residual = conditions(system, motion, actuation.drive(t)).residual
    return jnp.isfinite(y).all() & (jnp.abs(residual).max(initial=0.0) <= CLOSED * system.size)


class _Projecting(diffrax.Dopri8):
    """Dormand and Prince's method of order 8, whose steps end on the conditions."""

    project: Callable[[Array, Array], tuple[Array, Array]] = eqx.field(kw_only=True)

    def step(self, terms, t0, t1, y0, *rest) -> Any:  # noqa: ANN001, ANN002, ANN401  # pyright: ignore[reportIncompatibleMethodOverride]
        """A step of the method, then onto the conditions; refused where that fails."""
        y1, error, *others = super().step(terms, t0, t1, y0, *rest)
        y1, met = self.project(t1, y1)
        met &= jnp.isfinite(error).all()
        return jnp.where(met, y1, y0), jnp.where(met, error, jnp.inf), *others


class _Watching(diffrax.PIDController):
    """Step sizes by the error, given up where steps lead nowhere.

    Its state has beside that of the controller the attempts so far, and the time at the last look.
    """

    span: Array = eqx.field(kw_only=True)  #: of the simulation [s]

    def init(self, terms, t0, t1, *rest) -> Any:  # noqa: ANN001, ANN002, ANN401  # pyright: ignore[reportIncompatibleMethodOverride]
        """The first step."""
        t1, inner = super().init(terms, t0, t1, *rest)
        return t1, (inner, jnp.zeros((), int), jnp.asarray(t0))

    def adapt_step_size(self, t0, t1, y0, y1, args, error, order, state) -> Any:  # noqa: ANN001, ANN401  # pyright: ignore[reportIncompatibleMethodOverride]
        """The next step, or a reason to stop."""
        inner, tries, mark = state
        found = super().adapt_step_size(t0, t1, y0, y1, args, error, order, inner)
        *others, inner, result = found
        tries = tries + 1
        look = tries % WINDOW == 0
        stuck = look & (t0 - mark < self.span * WINDOW / MOST)
        result = diffrax.RESULTS.where(stuck, diffrax.RESULTS.dt_min_reached, result)
        return *others, (inner, tries, jnp.where(look, t0, mark)), result


@eqx.filter_jit
def _integrated(
    system: System,
    actuation: Actuation,
    start: State,
    times: Array,
    tolerance: Array,
    stabilised: bool,
) -> tuple[Array, ...]:
    save = (diffrax.SubSaveAt(ts=times), diffrax.SubSaveAt(t1=True))
    solver = projecting(system, actuation)
    found = solved(
        system,
        actuation,
        packed(start, jnp.zeros(2)),
        times,
        tolerance,
        saveat=diffrax.SaveAt(subs=save),
        solver=solver if stabilised else diffrax.Dopri8(),
        adjoint=diffrax.ForwardMode(),
        max_steps=_MOST_STEPS,
    )
    assert found.ys is not None and found.ts is not None
    (t, reached), (y, last) = found.ts, found.ys
    if stabilised:
        y = jax.lax.map(lambda sample: solver.project(*sample)[0], (t, y))
    failed = (found.result != diffrax.RESULTS.successful) & (reached[0] < times[-1])
    return t, y, found.stats["num_steps"], failed, reached[0], last[0]


def projecting(system: System, actuation: Actuation) -> _Projecting:
    """The method whose steps end on the conditions of `system`."""

    @jax.jit  # traced once, though the integrator asks for it in several places
    def project(t: Array, y: Array) -> tuple[Array, Array]:
        y = onto_conditions(system, actuation, t, y)
        return y, met(system, actuation, t, y)

    return _Projecting(project=project)


def solved(
    system: System,
    actuation: Actuation,
    y: Array,
    times: Array,
    tolerance: Array,
    **options: Any,  # noqa: ANN401
) -> diffrax.Solution:
    """The integrator's solution from times[0] to times[-1], begun at `y`."""

    @jax.jit
    def derivative(t: Array, y: Array, _: None) -> Array:
        return rates(system, actuation, t, y)

    span = times[-1] - times[0]
    controller = _Watching(
        rtol=tolerance, atol=tolerance, dtmin=SHORTEST * span, force_dtmin=False, span=span
    )
    return diffrax.diffeqsolve(
        diffrax.ODETerm(derivative),  # pyright: ignore[reportArgumentType]
        t0=times[0],
        t1=times[-1],
        dt0=jnp.minimum(_FIRST_STEP, span),
        y0=y,
        stepsize_controller=controller,
        throw=False,
        **options,
    )


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
    joint_q: Array
    joint_qd: Array


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
    q, joint_q = np.array(found.q), np.array(found.joint_q)
    q[:, turns] = np.unwrap(q[:, turns], axis=0)
    turning = slice(len(system.gauges.turning))
    joint_q[:, turning] = np.unwrap(joint_q[:, turning], axis=0)
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
        joint_q,
        found.joint_qd,
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
            lam = accelerations(system, state, tau, drive).lam
            tau = motor_efforts(system, motion, drive, lam, tau)
        places = origins(system, state)
        gaps = violation(system, state, drive)
        q, qd = axes.q[motors], axes.qd[motors]
        measured = system.gauges.coordinates(motion)
        stored = energy.kinetic, energy.potential
        return _Sample(state, places, q, qd, tau, *stored, *gaps, *measured)

    return jax.lax.map(at, (t, y))
