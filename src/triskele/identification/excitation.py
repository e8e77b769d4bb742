"""Motions that make a robot tell its parameters.

A motion is linear in its unknowns: x_j(t) = sum_k Phi_k(t) eta_kj, with the functions Phi either
harmonics of a period or B-splines, combined so that they begin and end at rest and unaccelerated.
Wanted is the eta for which the base regressor Y_r, its columns brought to length one, has the
least condition number; smoothly, with the eigenvalues lam of G = Y_r' Y_r,

    f = (ln sum lam^s + ln sum lam^-s) / 2s  ->  ln cond Y_r   as s grows               (1)

or the greatest determinant, f = -ln det(Y_r' Y_r) / r (D-optimality). Limits on pose, speed,
acceleration and torque enter as penalties on what exceeds them. The gradient is exact, by automatic
differentiation through the regressor.

The best of some random motions is improved step by step, by gradients. Where the limits allow none
of them, all are made smaller first. What is returned satisfies all limits of the robot file, loads
of the rods included: if it did not, it would be made smaller until it does.
A seed determines the motion. Interrupted (Ctrl-C), the search returns the best so far.
"""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from triskele.description.schema import Limits, Robot
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.limits import LimitUse
from triskele.dynamics.robot import RigidRobot, rigid
from triskele.dynamics.torques import torques
from triskele.errors import InputError, OutOfReach, UnknownName, did_you_mean
from triskele.identification.base import base_parameters
from triskele.identification.probes import box, inside
from triskele.identification.regressor import (
    own_sections,
    parameter_values,
    regressor_of_parts,
    regressor_parts,
    torque_regressor,
)
from triskele.kinematics.cycles import joint_motion_along
from triskele.kinematics.motion import MOST_SAMPLES, Motion
from triskele.kinematics.reach import slack
from triskele.laws.drives import drives
from triskele.laws.friction import FrictionLaw
from triskele.numerics import AnyArray, Scalar, Scalars, spread, tabulate, vjp

CRITERIA = ("condition", "d-optimal")
SHAPES = ("fourier", "b-spline")
Progress = Callable[[float], None]
_SAMPLES = 128  #: of the motion, in the search
_KEPT = 0.97  #: of each limit that the search uses; between its samples there may be a little more
_PENALTY = 30.0
_SHARPNESS = (1.5, 12.0)  #: s of (1), from the first step to the last
_ALLOWED = 1e-3  #: excess of what counts as inside
_LONGEST = 10.0  #: gradient that is taken at its word
_STEP = 0.02  #: of the search at its beginning, in half widths of the workspace
_BISECTIONS = 10  #: to how small a part random motions are brought
#: parts of a motion that are tried until one is within all limits, at last a thousandth
_PARTS = (*(0.93**k for k in range(13)), *(0.4 * 0.7**k for k in range(18)))
_PART = 1000  #: poses that are checked at once, as many as for the box
_DEGREE = 5  #: of B-splines
_GENTLE = 0.2  #: smoothing of Coulomb friction in the search [rad/s, m/s]


class Excitation(NamedTuple):
    """A motion found, and how good it is."""

    motion: Motion
    criterion: str
    condition: float  #: of the scaled base regressor
    rank: int
    limits: tuple[LimitUse, ...]  #: the tightest first
    history: Float[np.ndarray, " steps"]  #: best condition number (or f) so far, step by step
    interrupted: bool

    @property
    def use(self) -> float:
        """How far the tightest limit is used, at most 1."""
        return max((limit.use for limit in self.limits), default=0.0)


def fourier_basis(t: Float[np.ndarray, " N"], period: float, harmonics: int) -> np.ndarray:
    """A constant and harmonics that start from rest, (4, N, k): sum k a_k = sum k^2 b_k = 0."""
    k = np.arange(1, harmonics + 1)
    w = 2 * np.pi * k / period
    rows = []
    for order in range(4):
        turn = w * t[:, None] + order * np.pi / 2
        rows.append(np.tile(w**order, 2) * np.concatenate([np.sin(turn), np.cos(turn)], axis=1))
    none = np.zeros(harmonics)
    rest = np.stack([np.append(k, none), np.append(none, k**2)]).astype(float)
    free = _null_space(rest / np.tile(1.0 * k, 2)) / np.tile(1.0 * k, 2)[:, None]
    constant = np.zeros((4, len(t), 1))
    constant[0] = 1.0
    return np.concatenate([constant, np.array(rows) @ free], axis=2)


def spline_basis(t: Float[np.ndarray, " N"], duration: float, pieces: int) -> np.ndarray:
    """A constant and B-splines of degree 5 that start and end at rest, (4, N, k)."""
    from scipy.interpolate import BSpline

    inner = np.linspace(0, duration, pieces + 1)
    knots = np.concatenate([np.zeros(_DEGREE), inner, np.full(_DEGREE, duration)])
    count = pieces + _DEGREE
    every = BSpline(knots, np.eye(count), _DEGREE)
    ends = np.array([0.0, duration])
    rest = np.concatenate([every(ends, nu=order) * duration**order for order in (1, 2)])
    rest /= np.linalg.norm(rest, axis=1, keepdims=True)
    free = _null_space(rest)
    return np.stack([every(t, nu=order) @ free for order in range(4)])


def _null_space(rows: np.ndarray) -> np.ndarray:
    _, _, V = np.linalg.svd(rows)
    return V[len(rows) :].T


class _Task(NamedTuple):
    """What the search asks at every step."""

    model: RigidRobot
    distinct: tuple[str, ...]  #: bodies with numbers of their own
    limits: Limits
    basis: np.ndarray  #: (4, N, k)
    half: np.ndarray  #: half the width of the workspace in each coordinate
    middle: np.ndarray
    room: float  #: slack that poses keep
    picked: list[int]
    values: np.ndarray  #: of the parameters, for torques
    speeds: np.ndarray
    accelerations: np.ndarray
    efforts: np.ndarray
    criterion: str


def excite(
    robot: Robot,
    *,
    criterion: str = "condition",
    shape: str = "fourier",
    duration: float = 6.0,
    terms: int = 10,
    rate: float = 500.0,
    seed: int = 0,
    steps: int = 150,
    tries: int = 40,
    progress: Progress | None = None,
) -> Excitation:
    """The motion of `duration` [s] that tells most about the parameters of `robot`.

    `terms` are harmonics, or pieces of a B-spline; `steps` of the search follow `tries` of
    random motions.
    """
    _check(criterion, shape, duration, terms, rate, steps, tries)
    make = fourier_basis if shape == "fourier" else spline_basis
    t = np.linspace(0, duration, max(1, round(duration * rate)) + 1)
    task = _task(robot, criterion, make(_times(duration), duration, terms), len(t))
    eta, history, interrupted = _search(task, seed, steps, tries, progress)
    dense = make(t, duration, terms)
    return _finished(robot, task, eta, t, dense, criterion, np.array(history), interrupted)


def _times(duration: float) -> np.ndarray:
    """Midpoints: a period without its seam."""
    return (np.arange(_SAMPLES) + 0.5) * duration / _SAMPLES


def _check(
    criterion: str, shape: str, duration: float, terms: int, rate: float, steps: int, tries: int
) -> None:
    for what, name, known in (
        ("criterion", criterion, CRITERIA),
        ("shape", shape, SHAPES),
    ):
        if name not in known:
            raise UnknownName(f"No {what} is called '{name}'. {did_you_mean(name, known)}")
    if not 0 < duration * rate < MOST_SAMPLES or not np.isfinite(duration):
        raise InputError(f"{duration:g} s at {rate:g} Hz is not a motion that can be made.")
    if terms < 3 or steps < 0 or tries < 1:
        raise InputError("An excitation needs 3 terms and one try at least.")


def _task(robot: Robot, criterion: str, basis: np.ndarray, count: int) -> _Task:
    """The rank is asked of random states, repeated to about `count`: so that code is shared."""
    model = rigid(robot)
    mechanism, limits = model.mechanism, robot.limits
    n = len(mechanism.joint_coordinates)
    middle, half, room = box(mechanism, limits)
    random = np.random.default_rng(0)
    x = inside(mechanism, limits, middle, middle + half * random.uniform(-0.7, 0.7, (_SAMPLES, n)))
    xd, xdd = half * random.normal(size=(2, _SAMPLES, n)) * np.array([4.0, 30.0])[:, None, None]
    times = -(-count // _SAMPLES)
    distinct = own_sections(robot, mechanism)
    states = (np.tile(part, (times, 1)) for part in (x, xd, xdd))
    Y = torque_regressor(model, *states, distinct=distinct)
    base = base_parameters(Y._replace(matrix=Y.matrix[:_SAMPLES]))
    own = drives(robot, mechanism)

    def numbers(values: list[float | None]) -> np.ndarray:
        return np.array([np.inf if value is None else value for value in values], float)

    return _Task(
        model,
        distinct,
        limits,
        basis,
        half,
        middle,
        room,
        list(base.picked),
        parameter_values(model, Y.parameters),
        numbers([drive.speed for drive in own]),
        numbers([drive.acceleration for drive in own]),
        numbers([drive.peak_effort for drive in own]) * (1 - limits.margin),
        criterion,
    )


def _poses(task: _Task, eta: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """x, xd, xdd, xddd, (4, N, m)."""
    moved = basis @ (eta.reshape(basis.shape[2], -1) * task.half)
    moved[0] += task.middle
    return moved


class _Score(NamedTuple):
    """The condition number of the scaled base regressor, and what exceeds the limits."""

    condition: Scalar
    criterion: Scalar  #: f, without penalties
    excess: Scalar  #: 0 inside all limits


def _smooth(model: RigidRobot) -> RigidRobot:
    """Friction that turns over gently: jumps between samples would lead the search astray."""

    def eased(law: FrictionLaw | None) -> FrictionLaw:
        zero = jnp.zeros(())
        law = FrictionLaw(zero, zero, zero) if law is None else law
        return dataclasses.replace(law, smoothing_speed=zero + _GENTLE)

    return dataclasses.replace(
        model,
        drive_friction=tuple(map(eased, model.drive_friction)),
        passive_friction=tuple(map(eased, model.passive_friction)),
    )


class _Kernel:
    """f with penalties and its gradient in eta.

    What Y is made of, and its pull-back to the motion, are programs; only what is done with Y,
    which is little, is compiled by JAX.
    """

    def __init__(self, task: _Task) -> None:
        self._task = task
        self._made = eqx.Partial(_made, task.model, task.limits)
        outer = jax.value_and_grad(eqx.Partial(_outer, task, _smooth(task.model)), has_aux=True)
        hurried = {"xla_backend_optimization_level": 0}  # it runs a few hundred times only
        self._outer = jax.jit(outer, compiler_options=hurried)

    def __call__(self, eta: np.ndarray, s: float) -> tuple[tuple[float, "_Score"], np.ndarray]:
        """Value and scores, and the gradient; `s` is that of (1)."""
        task, basis = self._task, self._task.basis[:3]
        states = tuple(_poses(task, eta, basis))
        made = [_columns(part, len(states[0])) for part in tabulate(self._made)(*states)]
        (value, score), forces = self._outer(made, s)
        weights = np.concatenate([np.asarray(force) for force in forces], axis=1)
        pulled = tabulate(eqx.Partial(_pulled, self._made))(*states, weights)
        pairs = zip(basis, pulled, strict=True)
        gradient = sum(order.T @ (np.stack(part, axis=-1) * task.half) for order, part in pairs)
        return (float(value), score), np.ravel(gradient)


def _made(model: RigidRobot, limits: Limits, x: Scalars, xd: Scalars, xdd: Scalars) -> tuple:
    """What Y is made of at one sample, and the slack of its pose."""
    parts = regressor_parts(model, x, xd, xdd)
    return (*parts, (slack(model.mechanism, limits, x, guaranteed=True),))


def _pulled(
    made: Callable[..., tuple], x: Scalars, xd: Scalars, xdd: Scalars, weights: Scalars
) -> tuple[Scalars, Scalars, Scalars]:
    """Derivative of the sum of all that is `made`, weighted, by the state of motion."""

    def flat(x: Scalars, xd: Scalars, xdd: Scalars) -> Scalars:
        return tuple(spread(part, x[0]) for group in made(x, xd, xdd) for part in group)

    return vjp(flat, x, xd, xdd)[1](tuple(weights))


def _columns(part: Scalars, rows: int) -> np.ndarray:
    """(N, k) of what `tabulate` returns for a group, which may be empty."""
    return np.stack(part, axis=-1) if part else np.zeros((rows, 0))


def _outer(task: _Task, smooth: RigidRobot, made: list, s: Scalar) -> tuple[Scalar, "_Score"]:
    """f with penalties, of what is `made` at all samples."""
    *parts, room = made
    limits = [_KEPT * jnp.asarray(m) for m in (task.speeds, task.accelerations, task.efforts)]
    Y, qd, qdd = regressor_of_parts(smooth, parts, task.distinct)
    f, condition = _criterion(Y[:, :, jnp.asarray(task.picked)], task.criterion, s)
    excess = jnp.zeros(())
    for series, most in zip((qd, qdd, Y @ task.values), limits, strict=True):
        excess += jnp.sum(jnp.maximum(jnp.abs(series) / most[None] - 1, 0.0) ** 2)
    short = jnp.maximum(2 * task.room - room, 0.0) / (10 * task.room)
    excess += jnp.sum(short**2)
    return f + _PENALTY * excess, _Score(condition, f, excess)


def _criterion(Y: Float[AnyArray, "N n r"], criterion: str, s: Scalar) -> tuple[Scalar, Scalar]:
    """f of (1), or of D-optimality, and the condition number."""
    rows = Y.reshape(-1, Y.shape[-1])
    lengths = jnp.sqrt(jnp.sum(rows**2, axis=0) + 1e-24)
    scaled = rows / lengths[None]
    lam = jnp.maximum(jnp.linalg.eigvalsh(scaled.T @ scaled), 1e-14)
    condition = jnp.sqrt(lam[-1] / lam[0])
    if criterion == "d-optimal":
        return -(jnp.sum(jnp.log(lam)) + 2 * jnp.sum(jnp.log(lengths))) / len(lam), condition
    logs = s * jnp.log(lam)
    f = (jax.scipy.special.logsumexp(logs) + jax.scipy.special.logsumexp(-logs)) / (2 * s)
    return f, condition


def _search(
    task: _Task, seed: int, steps: int, tries: int, progress: Progress | None
) -> tuple[np.ndarray, list[float], bool]:
    """The best eta, the history of the best so far, and whether it was interrupted."""
    random, kernel = np.random.default_rng(seed), _Kernel(task)
    best: list = [np.inf, _drawn(task, random)]
    history: list[float] = []

    def scored(eta: np.ndarray, part: float) -> tuple[float, np.ndarray]:
        s = _SHARPNESS[0] * (_SHARPNESS[1] / _SHARPNESS[0]) ** part
        (value, score), gradient = kernel(eta, s)
        figure = float(score.condition if task.criterion == "condition" else score.criterion)
        if float(score.excess) < _ALLOWED and figure < best[0]:
            best[:] = [figure, eta.copy()]
        history.append(best[0])
        if progress is not None:
            progress(min(len(history) / (tries + steps), 1.0))
        return float(value), np.asarray(gradient)

    try:
        draws = np.array([_drawn(task, random) for _ in range(tries)])
        parts = np.ones(tries)
        if not _within(task, draws).any():
            parts = _allowed_parts(task, draws)
            draws *= parts[:, None]
        chosen = int(np.argmin([scored(draw, 0.0)[0] for draw in draws]))
        if best[0] == np.inf:
            best[1] = draws[chosen]
        step = _STEP * parts[chosen]
        _descended(lambda eta, part: scored(eta, part)[1], draws[chosen], steps, step)
    except KeyboardInterrupt:
        return best[1], history, True
    return best[1], history, False


def _descended(
    gradient: Callable[[np.ndarray, float], np.ndarray],
    eta: np.ndarray,
    steps: int,
    longest: float = _STEP,
) -> None:
    """Steps of Adam (Kingma and Ba, 2015), which fade; `gradient` remembers what is best."""
    mean, square = np.zeros(eta.shape), np.zeros(eta.shape)
    for k in range(1, steps + 1):
        part = k / steps
        g = gradient(eta, part)
        g = np.nan_to_num(g) / max(1.0, float(np.linalg.norm(g)) / _LONGEST)
        mean, square = 0.9 * mean + 0.1 * g, 0.99 * square + 0.01 * g**2
        step = mean / (1 - 0.9**k) / (np.sqrt(square / (1 - 0.99**k)) + 1e-9)
        eta = eta - longest * (1 - part + 0.02) * step


def _drawn(task: _Task, random: np.random.Generator) -> np.ndarray:
    """A random motion that keeps to the middle of the box."""
    k = task.basis.shape[2]
    eta = random.normal(size=(k, len(task.half)))
    eta[0] = 0.0
    moved = np.abs(task.basis[0] @ eta).max(axis=0)
    eta *= random.uniform(0.3, 0.7) / np.maximum(moved, 1e-9)
    return eta.ravel()


def _allowed_parts(task: _Task, draws: np.ndarray) -> np.ndarray:
    """To what part of each motion, at most 1, the limits of the search allow it, by bisection."""
    low, high = np.zeros(len(draws)), np.ones(len(draws))
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        allowed = _within(task, middle[:, None] * draws)
        low, high = np.where(allowed, middle, low), np.where(allowed, high, middle)
    return np.where(low > 0, low, high)


def _within(task: _Task, draws: np.ndarray) -> np.ndarray:
    """Whether each motion keeps to the limits of the search, sample by sample."""
    mechanism, count = task.model.mechanism, len(draws)
    moved = np.concatenate([_poses(task, eta, task.basis) for eta in draws], axis=1)
    t, names = jnp.arange(1.0 * moved.shape[1]), mechanism.platform_coordinates
    motion = Motion(t, *map(jnp.asarray, moved), coordinates=names)
    joints = joint_motion_along(mechanism, motion)
    tau = tabulate(eqx.Partial(inverse_dynamics, task.model))(*moved[:3])
    allowed = task.speeds, task.accelerations, task.efforts
    series = joints.qd, joints.qdd, np.stack(tau, axis=-1)
    uses = [np.abs(np.asarray(y)) / most for y, most in zip(series, allowed, strict=True)]
    law = tabulate(eqx.Partial(slack, mechanism, task.limits, guaranteed=True))
    kept = (np.max(uses, axis=(0, 2)) <= _KEPT) & (np.asarray(law(moved[0])) >= 2 * task.room)
    return kept.reshape(count, -1).all(axis=1)


def _finished(
    robot: Robot,
    task: _Task,
    eta: np.ndarray,
    t: np.ndarray,
    basis: np.ndarray,
    criterion: str,
    history: np.ndarray,
    interrupted: bool,
) -> Excitation:
    """The motion in all its samples, made smaller until no limit is exceeded."""
    found = _shrunk(robot, task, eta, t, basis)
    Y = torque_regressor(task.model, *found.moved[:3], distinct=task.distinct)
    rows = Y.rows[:, task.picked]
    values = np.linalg.svd(rows / np.linalg.norm(rows, axis=0), compute_uv=False)
    return Excitation(
        found.motion,
        criterion,
        float(values[0] / values[-1]),
        len(task.picked),
        found.uses,
        history,
        interrupted,
    )


class _Tried(NamedTuple):
    """A motion in all its samples, and what it uses of the limits."""

    moved: np.ndarray  #: x and its derivatives
    motion: Motion
    uses: tuple[LimitUse, ...]  #: none out of reach
    allowed: bool


def _shrunk(robot: Robot, task: _Task, eta: np.ndarray, t: np.ndarray, basis: np.ndarray) -> _Tried:
    """The motion, made as small as its limits ask."""
    whole, *parts, least = (lambda p=p: _tried(robot, task, p * eta, t, basis) for p in _PARTS)
    found = whole()
    if found.allowed:
        return found
    smallest = least()
    if not smallest.allowed:
        raise OutOfReach(_why_none(smallest.uses))
    return next((found for part in parts if (found := part()).allowed), smallest)


def _tried(robot: Robot, task: _Task, eta: np.ndarray, t: np.ndarray, basis: np.ndarray) -> _Tried:
    mechanism, moved = task.model.mechanism, _poses(task, eta, basis)
    room = tabulate(eqx.Partial(slack, mechanism, task.limits, guaranteed=True))
    names = mechanism.platform_coordinates
    motion = Motion(jnp.asarray(t), *map(jnp.asarray, moved), coordinates=names)
    parts = np.array_split(moved[0], -(-len(t) // _PART))
    if not all((np.asarray(room(part)) >= 0).all() for part in parts):
        return _Tried(moved, motion, (), False)
    uses = torques(robot, motion).limits
    return _Tried(moved, motion, uses, not any(use.exceeded for use in uses))


def _why_none(uses: tuple[LimitUse, ...]) -> str:
    """The sentence that names what forbids even the smallest motion."""
    if not uses:
        return "Even the smallest motion leaves the reach of the robot: see `triskele check`."
    (limit, allowed, worst, *_), *_ = uses
    return (
        f"Even the smallest motion asks for {worst:.4g} {limit.unit} where {allowed:.4g} "
        f"{limit.unit} are allowed: the {limit.label} ({limit.key}) forbids all motions about the "
        "middle of the workspace."
    )
