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

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from triskele.description.schema import Limits
from triskele.dynamics.energy import energy
from triskele.dynamics.forward import forward_dynamics
from triskele.dynamics.robot import RigidRobot
from triskele.errors import InputError
from triskele.kinematics.motion import Real
from triskele.kinematics.reach import check_reach, slack, worst_slack
from triskele.kinematics.velocity import joint_velocity
from triskele.numerics import AnyArray, Numeric, Scalar, Scalars, at_once, stacked, tabulate
from triskele.programs import kernel
from triskele.programs.again import in_jax
from triskele.programs.program import Program

_MOST_STEPS = 1_000_000
_FIRST_STEP = 1e-3  #: [s]; the controller of step sizes corrects it
_CLOSE = 1e-12  #: [s] how exactly the end of a run is found

Rates = Callable[[float, np.ndarray], np.ndarray]


class RobotState(NamedTuple):
    """What a controller sees."""

    q: Numeric[AnyArray, " n"]  #: joint coordinates [rad, m]
    qd: Numeric[AnyArray, " n"]
    x: Numeric[AnyArray, " n"]  #: platform coordinates [m, rad]
    xd: Numeric[AnyArray, " n"]


Controller = Callable[[Scalar, RobotState], Numeric[AnyArray, " n"]]
#: efforts tau [N m, N] from time [s] and state


class ConstantEffort(eqx.Module):
    """The simplest controller: the same efforts always."""

    tau: Numeric[AnyArray, " n"]  #: [N m, N]

    def __call__(self, t: Scalar, state: RobotState) -> Numeric[AnyArray, " n"]:
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
    start = np.asarray(x, float), np.asarray(xd, float)
    n = len(robot.rotors)
    if not start[0].shape == start[1].shape == (n,):
        shapes = f"{start[0].shape} and {start[1].shape}"
        raise InputError(f"The start is x and xd, {n} numbers each; their shapes are {shapes}.")
    room = at_once(eqx.Partial(slack, robot.mechanism, limits), n)
    if not room(start[0])[0] >= 0:  # NaN has no room either
        check_reach(robot.mechanism, limits, start[0], "The start")
    times = np.append(np.arange(0, duration, 1 / rate), duration)
    if times[-1] - times[-2] < 1e-9 / rate:
        times = np.delete(times, -2)
    rates = at_once(eqx.Partial(_rates, robot, controller), 1, 2 * n + 2)
    found = _integrated(
        lambda t, y: rates((t,), y),
        np.concatenate([*start, np.zeros(2)]),
        times,
        float(tolerance),
        lambda y: float(room(y[:n])[0]),
    )
    return _sampled(robot, limits, controller, found)


def trajectory_function(
    robot: RigidRobot,
    efforts: Callable[[Scalar], Float[AnyArray, " n"]],
    times: ArrayLike,
    tolerance: Real,
) -> Callable[[ArrayLike, ArrayLike], np.ndarray]:
    """Platform coordinates x at `times` [s], from x and xd at the first, driven by `efforts`.

    The bare integrator, as a whole compiled by XLA, for many runs one after the other: no energy,
    and no check that the robot stays in its workspace. For runs side by side there is
    `simulate_many`.
    """
    import diffrax  # slow to import

    instants, n = np.asarray(times, float), len(robot.rotors)
    law = kernel.program_of(eqx.Partial(forward_dynamics, robot), n, n, n)
    dynamics = eqx.Partial(forward_dynamics, robot) if law is None else _in_jax(law, n)

    def rates(t: jax.Array, y: jax.Array, _: None) -> jax.Array:
        xdd = dynamics(tuple(y[:n]), tuple(y[n:]), tuple(efforts(t)))
        return jnp.concatenate([y[n:], jnp.stack(list(xdd))])

    @jax.jit
    def run(y: jax.Array) -> jax.Array:
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(rates),  # pyright: ignore[reportArgumentType]
            diffrax.Tsit5(),
            t0=instants[0],
            t1=instants[-1],
            dt0=None,
            y0=y,
            saveat=diffrax.SaveAt(ts=jnp.asarray(instants)),
            stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance),
            max_steps=None,
            adjoint=diffrax.ForwardMode(),
        )
        assert solution.ys is not None
        return solution.ys[:, :n]

    return lambda x, xd: np.asarray(run(np.concatenate([x, xd], dtype=float)))


def _in_jax(program: Program, n: int) -> Callable[[Scalars, Scalars, Scalars], Scalars]:
    law = in_jax(program)
    return lambda x, xd, tau: tuple(law(*x, *xd, *tau))


class _Found(NamedTuple):
    """Samples, and at last the end of the run if it came early."""

    t: Float[np.ndarray, " N"]
    samples: Float[np.ndarray, "N k"]  #: x, xd, work, lost
    steps: int
    stopped: bool  #: where there was no room
    failed: bool  #: the integrator gave up


def _integrated(
    rates: Rates,
    start: Float[np.ndarray, " k"],
    times: Float[np.ndarray, " N"],
    tolerance: float,
    room: Callable[[np.ndarray], float],
) -> _Found:
    """dy/dt = rates(t, y) from `start`, sampled at `times`, as long as there is `room`.

    By the method of order 8 of Dormand and Prince; samples, and the end of a run, are on its
    polynomial of order 7 between two steps.
    """
    from scipy.integrate import DOP853  # slow to import

    t, y, found = [times[:1]], [start[None]], 1
    first = min(_FIRST_STEP, times[-1] - times[0])
    solver = DOP853(
        rates, times[0], start, times[-1], first_step=first, rtol=tolerance, atol=tolerance
    )
    steps, outside = 0, False
    with np.errstate(all="ignore"):
        while solver.status == "running" and steps < _MOST_STEPS:
            solver.step()
            steps += 1
            if solver.status == "failed" or not np.isfinite(solver.y).all():
                break
            path = solver.dense_output()
            outside = not room(solver.y) >= 0
            before = float(solver.t_old if solver.t_old is not None else times[0])
            end = _border(path, room, before, solver.t) if outside else solver.t
            until = int(np.searchsorted(times, end, "right"))
            if until > found:
                t.append(times[found:until])
                y.append(path(times[found:until]).T)
                found = until
            if outside:
                t.append(np.array([end]))
                y.append(path(end)[None])
                break
    whole = bool(solver.status == "finished") or outside
    if not whole:  # what was reached belongs to the result
        t.append(np.array([solver.t_old if solver.t_old is not None else times[0]]))
        y.append(y[-1][-1:])
    return _Found(np.concatenate(t), np.concatenate(y), steps, outside, not whole)


def _border(
    path: Callable[[float], np.ndarray], room: Callable[[np.ndarray], float], a: float, b: float
) -> float:
    """The last time, between `a` and `b`, at which there is room."""
    while b - a > _CLOSE:
        middle = (a + b) / 2
        if not a < middle < b:
            break
        a, b = (middle, b) if room(path(middle)) >= 0 else (a, middle)
    return a


def _rates(robot: RigidRobot, controller: Controller, t: Scalars, y: Scalars) -> Scalars:
    """Rates of x, xd, work and lost heat; a kernel."""
    n = len(robot.rotors)
    x, xd = y[:n], y[n : 2 * n]
    state = _state(robot, x, xd)
    tau = tuple(controller(t[0], state))
    xdd = forward_dynamics(robot, x, xd, tau)
    power = sum(effort * speed for effort, speed in zip(tau, state.qd, strict=True))
    lost = energy(robot, x, xd).lost if _rubs(robot) else 0.0
    return (*xd, *xdd, power, lost)


def _rubs(robot: RigidRobot) -> bool:
    laws = (*robot.drive_friction, *robot.passive_friction, robot.ball_friction)
    return any(law is not None for law in laws)


def _state(robot: RigidRobot, x: Scalars, xd: Scalars) -> RobotState:
    q = robot.mechanism.inverse(x).components
    qd = joint_velocity(robot.mechanism, q, x, xd)
    return RobotState(*(stacked(part) for part in (q, qd, x, xd)))


def _sampled(
    robot: RigidRobot, limits: Limits, controller: Controller, found: _Found
) -> Simulation:
    """Samples up to the end, the end itself included, with all that follows from them."""
    kept = np.diff(found.t, prepend=-1.0) > 0  # the end may be a sample too
    t, y, n = found.t[kept], found.samples[kept], len(robot.rotors)
    x, xd, work, lost = y[:, :n], y[:, n : 2 * n], y[:, -2], y[:, -1]
    samples = tabulate(eqx.Partial(_controlled, robot, controller))(t[:, None], x, xd)
    q, qd, tau = map(np.asarray, samples)
    parts = tabulate(eqx.Partial(energy, robot))(x, xd)
    ended = None
    if found.stopped:
        reason = worst_slack(robot.mechanism, limits, x[-1] + 1e-6 * xd[-1])  # just beyond
        ended = f"at t = {t[-1]:.6g} s: {reason or 'a limit was reached'}"
    elif found.failed:
        ended = f"at t = {t[-1]:.6g} s: the integrator could not go on (too stiff, or not finite)"
    kinetic, potential = np.asarray(parts.kinetic), np.asarray(parts.potential)
    return Simulation(t, x, xd, q, qd, tau, kinetic, potential, work, lost, found.steps, ended)


def _controlled(
    robot: RigidRobot, controller: Controller, t: Scalars, x: Scalars, xd: Scalars
) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Joints and efforts at a sample; a kernel."""
    state = _state(robot, x, xd)
    return state.q, state.qd, controller(t[0], state)
