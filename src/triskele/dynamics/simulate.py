"""Forward simulation: what the robot does under a controller, until it leaves its workspace.

The state is (x, xd); joints follow in closed form from x, so that loops stay closed and
nothing drifts. Work done by the drives and heat lost to friction are integrated beside it,
and the balance

    energy(t) - energy(0) - work(t) + lost(t)                                          (1)

which is zero but for the error of integration, comes with every result. The run ends early,
with the reason and all data so far, where a pose is no longer allowed (`kinematics.reach`).
"""

from collections.abc import Callable
from typing import NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optimistix as optx
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from triskele.description.schema import Limits
from triskele.dynamics import thin_delta
from triskele.dynamics.energy import energy
from triskele.dynamics.forward import forward_dynamics
from triskele.dynamics.robot import RigidRobot
from triskele.errors import InputError
from triskele.kinematics.motion import Real
from triskele.kinematics.reach import check_reach, slack, worst_slack
from triskele.kinematics.velocity import joint_velocity
from triskele.numerics import Scalar, filled_up, stacked, tabulate

_MOST_STEPS = 1_000_000
_FIRST_STEP = 1e-3  #: [s]; the controller of step sizes corrects it


class RobotState(NamedTuple):
    """What a controller sees."""

    q: Float[Array, " n"]  #: joint coordinates [rad, m]
    qd: Float[Array, " n"]
    x: Float[Array, " n"]  #: platform coordinates [m, rad]
    xd: Float[Array, " n"]


Controller = Callable[[Float[Array, ""], RobotState], Float[Array, " n"]]
#: efforts tau [N m, N] from time [s] and state; traced by JAX


class ConstantEffort(eqx.Module):
    """The simplest controller: the same efforts always."""

    tau: Float[Array, " n"]  #: [N m, N]

    def __call__(self, t: Float[Array, ""], state: RobotState) -> Float[Array, " n"]:
        """The efforts, whatever happens."""
        return self.tau


class Simulation(NamedTuple):
    """A simulated motion, in N samples."""

    t: Float[np.ndarray, " N"]  #: [s]
    x: Float[np.ndarray, "N n"]
    xd: Float[np.ndarray, "N n"]
    q: Float[np.ndarray, "N n"]
    qd: Float[np.ndarray, "N n"]
    tau: Float[np.ndarray, "N n"]  #: efforts of the drives [N m, N]
    kinetic: Float[np.ndarray, " N"]  #: energy [J]
    potential: Float[np.ndarray, " N"]  #: of gravity and springs [J]
    work: Float[np.ndarray, " N"]  #: of the drives since the start [J]
    lost: Float[np.ndarray, " N"]  #: heat since the start [J]
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


def simulate(
    robot: RigidRobot,
    x: ArrayLike,
    xd: ArrayLike,
    controller: Controller,
    duration: Real,
    *,
    limits: Limits | None = None,
    rate: Real = 1000.0,
    tolerance: Real = 1e-9,
) -> Simulation:
    """Integrate from `x`, `xd` for `duration` [s] and sample at `rate` [Hz].

    `tolerance` is relative, and absolute in m, rad, m/s, rad/s. Without `limits` the run ends
    only where loops cannot be closed or become singular.
    """
    if not (np.isfinite(duration) and duration > 0 and rate > 0 and 0 < tolerance < 1):
        raise InputError("duration and rate must be positive, tolerance between 0 and 1.")
    limits = Limits(singularity_margin=1e-3) if limits is None else limits
    start = jnp.asarray(x, float), jnp.asarray(xd, float)
    n = len(robot.rotors)
    if not start[0].shape == start[1].shape == (n,):
        shapes = f"{start[0].shape} and {start[1].shape}"
        raise InputError(f"The start is x and xd, {n} numbers each; their shapes are {shapes}.")
    if not _room(robot, limits, start[0]) >= 0:  # NaN has no room either
        check_reach(robot.mechanism, limits, start[0], "The start")
    times = np.append(np.arange(0, duration, 1 / rate), duration)
    if times[-1] - times[-2] < 1e-9 / rate:
        times = np.delete(times, -2)
    thin, accuracy = thin_delta.of(robot), jnp.asarray(tolerance, float)
    instants = jnp.asarray(filled_up(times))  # so that one compilation serves many durations
    found = _integrated(robot, thin, limits, controller, start, instants, accuracy)
    return _sampled(robot, limits, controller, found)


class _Found(NamedTuple):
    """What the integrator returns: samples, then the end of the run, then infinities."""

    t: Array
    samples: Array  #: x, xd, work, lost
    steps: Array
    stopped: Array  #: whether an event ended it
    failed: Array  #: whether the integrator gave up


@eqx.filter_jit
def _room(robot: RigidRobot, limits: Limits, x: Array) -> Scalar:
    return slack(robot.mechanism, limits, tuple(x))


@eqx.filter_jit
def _integrated(
    robot: RigidRobot,
    thin: thin_delta.ThinDelta | None,
    limits: Limits,
    controller: Controller,
    start: tuple[Array, Array],
    times: Array,
    tolerance: Array,
) -> _Found:
    n = len(start[0])
    dynamics = eqx.Partial(forward_dynamics, robot) if thin is None else thin.forward_dynamics

    @jax.jit  # traced once, though the integrator asks for it in three places
    def rates(t: Array, y: Array, _: None) -> Array:
        x, xd = y[:n], y[n : 2 * n]
        state = _state(robot, x, xd)
        tau = controller(t, state)
        xdd = dynamics(tuple(x), tuple(xd), tuple(tau))
        lost = energy(robot, x, xd).lost if _rubs(robot) else 0.0
        return jnp.concatenate([xd, jnp.stack([*xdd, tau @ state.qd, jnp.asarray(lost, float)])])

    def outside(t: Array, y: Array, *_: object, **__: object) -> Scalar:
        return slack(robot.mechanism, limits, tuple(y[:n]))

    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(rates),  # pyright: ignore[reportArgumentType]
        diffrax.Dopri8(),
        t0=times[0],
        t1=times[-1],
        dt0=jnp.minimum(_FIRST_STEP, times[-1]),
        y0=jnp.concatenate([*start, jnp.zeros(2)]),
        saveat=diffrax.SaveAt(ts=times, t1=True),
        stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance),
        event=diffrax.Event(outside, optx.Bisection(1e-12, 1e-12)),
        max_steps=_MOST_STEPS,
        throw=False,
        adjoint=diffrax.ForwardMode(),
    )
    assert solution.ys is not None and solution.ts is not None
    stopped = solution.result == diffrax.RESULTS.event_occurred
    failed = ~(stopped | (solution.result == diffrax.RESULTS.successful))
    return _Found(solution.ts, solution.ys, solution.stats["num_steps"], stopped, failed)


def _rubs(robot: RigidRobot) -> bool:
    laws = (*robot.drive_friction, *robot.passive_friction, robot.ball_friction)
    return any(law is not None for law in laws)


def _state(robot: RigidRobot, x: Array, xd: Array) -> RobotState:
    q = robot.mechanism.inverse(tuple(x)).components
    qd = joint_velocity(robot.mechanism, q, tuple(x), tuple(xd))
    return RobotState(stacked(q), stacked(qd), x, xd)


def _sampled(
    robot: RigidRobot, limits: Limits, controller: Controller, found: _Found
) -> Simulation:
    """Samples up to the end, the end itself included, with all that follows from them."""
    t = np.asarray(found.t)
    t = t[np.isfinite(t)]
    kept = np.diff(t, prepend=-1.0) > 0  # the end may be a sample too
    y, n = np.asarray(found.samples)[: len(t)][kept], len(robot.rotors)
    t, x, xd, work, lost = t[kept], y[:, :n], y[:, n : 2 * n], y[:, -2], y[:, -1]
    samples = (jnp.asarray(filled_up(part)) for part in (t, x, xd))
    q, qd, tau = (np.asarray(part)[: len(t)] for part in _controlled(robot, controller, *samples))
    parts = tabulate(eqx.Partial(energy, robot))(x, xd)
    ended = None
    if bool(found.stopped):
        reason = worst_slack(robot.mechanism, limits, _beyond(x[-1], xd[-1]))
        ended = f"at t = {t[-1]:.6g} s: {reason or 'a limit was reached'}"
    elif bool(found.failed):
        ended = f"at t = {t[-1]:.6g} s: the integrator could not go on (too stiff, or not finite)"
    kinetic, potential = np.asarray(parts.kinetic), np.asarray(parts.potential)
    steps = int(found.steps)
    return Simulation(t, x, xd, q, qd, tau, kinetic, potential, work, lost, steps, ended)


def _beyond(x: Float[np.ndarray, " n"], xd: Float[np.ndarray, " n"]) -> Array:
    """A pose just beyond the last one, where the limit that stopped the run is exceeded."""
    return jnp.asarray(x + 1e-6 * xd)


@eqx.filter_jit
def _controlled(
    robot: RigidRobot, controller: Controller, t: Array, x: Array, xd: Array
) -> tuple[Array, Array, Array]:
    """Joints and efforts at the samples, one after the other."""

    def at(sample: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        state = _state(robot, *sample[1:])
        return state.q, state.qd, controller(sample[0], state)

    return jax.lax.map(at, (t, x, xd))
