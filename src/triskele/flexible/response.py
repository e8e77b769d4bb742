"""What a flexible robot does along a motion: deviation of its tool, torques, strains.

Motors follow the rigid motion, or servos make them. With all matrices of `assembly` as functions of
time,

    M y'' + C y' + K y + f = 0                                                          (1)

where links are damped in proportion, by (a M + b K) d' of their own unknowns, and the platform by
a times its inertia, is integrated by the generalised-alpha method of Chung and Hulbert (1993) with
the accelerations A_n of Arnold and Bruels (2007), so that (1) holds at every step,

    (1 - am) A_1 + am A_0 = (1 - af) y''_1 + af y''_0
    y_1  = y_0 + h y'_0 + h^2 ((1/2 - b) A_0 + b A_1),    y'_1 = y'_0 + h ((1 - g) A_0 + g A_1)  (2)

With am = af = 0, g = 1/2, b = 1/4 this is Newmark's, of constant mean acceleration: no frequency
is damped. Each step eliminates the limbs one by one, and then the platform.

A periodic motion has one steady response. Each step of Newmark's method is linear in the state
z = (y, y'), so that a period is z_T = Phi z_0 + p, and the steady response starts with

    z_0 = (I - Phi)^-1 p                                                                (3)

without its transient being integrated; Phi and p come from one pass with 2 n + 1 columns.

The integrals z of servos (`servo`, 1) go by the trapezium rule, of kV s and what is commanded, and
exactly of s',

    z_1 = z_0 + s_1 - s_0 + h/2 (kV (s_0 + s_1) + v_0 + v_1),    v = b q_c'             (4)

so that k_I (1 + h kV / 2) joins the stiffness of a step; z joins the state of (3).

Reference: J. Chung, G. M. Hulbert, Journal of Applied Mechanics 60 (1993) 371; M. Arnold,
O. Bruels, Multibody System Dynamics 18 (2007) 185.
"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from triskele.dynamics.wrenches import Frames, motion_state
from triskele.errors import InputError, did_you_mean
from triskele.flexible.assembly import (
    UNDAMPED,
    Arrow,
    Damping,
    Poses,
    arrow,
    drive_places,
    limb_places,
    poses_of,
    solve_arrow,
)
from triskele.flexible.loads import Strains, link_strains, motor_torques
from triskele.flexible.middles import Middles, link_middles
from triskele.flexible.modes import built_links, carried, modes, static, tensions
from triskele.flexible.poles import integrates
from triskele.flexible.robot import PLATFORM, FlexibleRobot, Links
from triskele.flexible.servo import NOTHING, Feed
from triskele.kinematics.delta import Delta
from triskele.kinematics.motion import Motion
from triskele.numerics import AnyArray, Scalars, tabulate

_BLOCK = 250  #: steps between two reports of progress
_LEAST_STEPS = 10  #: per period of the lowest mode
_JUMP = 0.5  #: of the peak acceleration, from one sample to the next
_OPEN = 1e-6  #: of what a periodic motion covers, between its ends
METHODS = ("newmark", "generalised-alpha")
STARTS = ("static", "loaded", "straight")
Progress = Callable[[float], None]


class Response(eqx.Module):
    """A flexible robot along a motion, in samples."""

    motion: Motion  #: the rigid motion
    robot: FlexibleRobot
    damping: Damping
    y: Float[np.ndarray, "N n"]  #: unknowns
    yd: Float[np.ndarray, "N n"]  #: their rates
    torque: Float[np.ndarray, "N 3"]  #: of the motors, friction apart [N m]
    stiffened: bool = False  #: by tension of the links
    integral: Float[np.ndarray, "N 3"] | None = None  #: z of servos [rad]; None: motors are held
    fed: Float[np.ndarray, "N 3"] | None = None  #: torque that servos get beside their loops [N m]

    @property
    def t(self) -> Float[np.ndarray, " N"]:
        """Time [s]."""
        return np.asarray(self.motion.t)

    @property
    def position(self) -> Float[np.ndarray, "N 3"]:
        """Deviation of the platform from the rigid motion [m]."""
        return self.y[:, :3]

    @property
    def rotation(self) -> Float[np.ndarray, "N 3"]:
        """The same of its attitude, a rotation vector [rad]."""
        return self.y[:, 3:PLATFORM]

    def strains(self) -> Strains:
        """Largest normal strain and stress in each link."""
        poses = body_poses_along(self.robot.mechanism, self.motion)
        return link_strains(self.robot, built_links(self.robot), poses, self.y)

    def middles(self) -> Middles:
        """Displacement and twist of each link at half length."""
        poses = body_poses_along(self.robot.mechanism, self.motion)
        return link_middles(self.robot, built_links(self.robot), poses, self.y)


def fitted_damping(
    frequencies: Float[np.ndarray, " k"], ratios: Float[np.ndarray, " k"]
) -> Damping:
    """The proportional damping nearest to damping `ratios` at `frequencies` [rad/s].

    Least squares, neither part negative; two ratios are met exactly if that is possible.

    >>> fitted_damping(np.array([20.0, 60.0]), np.array([0.05, 0.05]))
    Damping(mass=1.5, stiffness=0.00125)
    """
    from scipy.optimize import nnls

    w = np.asarray(frequencies, float)
    if not (w > 0).all():
        raise InputError("Frequencies to be damped are positive.")
    scale = np.array([w.mean(), 1 / w.mean()])
    rows = np.stack([1 / (2 * w), w / 2], axis=1) * scale[None, :]
    a, b = nnls(rows, np.asarray(ratios, float))[0] * scale
    return Damping(float(round(a, 12)), float(round(b, 15)))


def vibrate(
    robot: FlexibleRobot,
    motion: Motion,
    *,
    damping: Damping = UNDAMPED,
    method: str = "newmark",
    spectral_radius: float = 0.8,
    stiffened: bool = False,
    start: str = "static",
    feed: Feed = NOTHING,
    progress: Progress | None = None,
) -> Response:
    """The response along `motion`, step by step as it is sampled.

    It starts hanging at rest under its weight ("static"), hanging and bent by the accelerations
    of the first sample as well ("loaded"), or "straight". `stiffened` links bend less under
    tension, that of the rigid motion. "generalised-alpha" damps frequencies that the step cannot
    resolve, the highest by `spectral_radius` in each step. Servos are fed forward what `feed` says.
    """
    if start not in STARTS:
        raise InputError(f"start is '{start}'. {did_you_mean(start, STARTS)}")
    scheme = _scheme(method, spectral_radius)
    run = _Run(robot, motion, damping, stiffened, feed)
    return run.integrated(scheme, run.begun(STARTS.index(start)), progress)[0]


def steady(
    robot: FlexibleRobot,
    motion: Motion,
    *,
    damping: Damping = UNDAMPED,
    stiffened: bool = False,
    feed: Feed = NOTHING,
    progress: Progress | None = None,
) -> Response:
    """The periodic response to a `motion` that ends as it began, equation (3)."""
    _check_periodic(motion)
    run, n = _Run(robot, motion, damping, stiffened, feed), robot.unknowns
    size = 2 * n + (3 if integrates(robot) else 0)
    z = np.eye(size, size + 1, 1)  # the first column starts from zero, and is loaded
    _, last = run.integrated(NEWMARK, run.started(z), progress)
    end = np.concatenate([np.asarray(part) for part in (last.y, last.yd, last.z)])[:size]
    z0 = np.linalg.solve(np.eye(size) - end[:, 1:], end[:, :1])
    return run.integrated(NEWMARK, run.started(z0), None)[0]


def _check_step(robot: FlexibleRobot, of_links: Links, motion: Motion) -> None:
    """Raise a sentence if the samples of `motion` cannot show what the robot does."""
    t, xdd = np.asarray(motion.t), np.asarray(motion.xdd)
    if len(t) < 3:
        raise InputError("The motion has fewer than three samples; nothing can be integrated.")
    h = float(np.diff(t).max())
    lowest = modes(robot, motion.x[0], count=1, of_links=of_links)
    if lowest.grows:
        raise InputError(
            "The loop of servos, gears and links is unstable where the motion begins; lower the "
            "gains, or hold the motors."
        )
    w = float(lowest.frequencies[0])
    most = 2 * np.pi / w / _LEAST_STEPS
    if h > most:
        raise InputError(
            f"The time step of {h:.3g} s cannot resolve the lowest mode, {w / 2 / np.pi:.3g} Hz: "
            f"take at most {most:.2g} s, a rate of at least {np.ceil(1 / most):g} Hz."
        )
    jump, peak = np.abs(np.diff(xdd, axis=0)).max(), np.abs(xdd).max()
    if jump > _JUMP * peak and peak > 0:
        raise InputError(
            f"The acceleration jumps by {jump:.3g} m/s^2 from one sample to the next, and its peak "
            f"is {peak:.3g}: steps of {h:.3g} s cannot resolve the motion. Raise its rate."
        )


def body_poses_along(mechanism: Delta, motion: Motion) -> Poses:
    """Arms, rods and platform along a motion, one row per sample."""
    rows = (np.asarray(part) for part in (motion.x, motion.xd, motion.xdd))
    orders = tabulate(eqx.Partial(_body_motion, mechanism))(*rows)
    T = np.array(orders)  # orders, bodies, columns of [R p], their components, samples
    return poses_of(mechanism, np.ascontiguousarray(T.transpose(4, 0, 1, 3, 2)))


def _body_motion(mechanism: Delta, x: Scalars, xd: Scalars, xdd: Scalars) -> tuple[Frames, ...]:
    state = motion_state(mechanism, x, xd, xdd)
    return state.T, state.Td, state.Tdd


def _check_periodic(motion: Motion) -> None:
    for what, values in (("position", motion.x), ("velocity", motion.xd)):
        part = np.asarray(values)
        gap, size = np.abs(part[-1] - part[0]).max(), np.ptp(part, axis=0).max()
        if gap > _OPEN * max(size, 1e-9):
            raise InputError(
                f"The motion does not end as it began: its {what} differs by {gap:.3g} m, m/s. "
                "A steady response needs a periodic motion, one period of it."
            )


# Steps


class _Scheme(NamedTuple):
    """Weights of (2)."""

    am: float
    af: float
    beta: float
    gamma: float


NEWMARK = _Scheme(0.0, 0.0, 0.25, 0.5)


def _scheme(method: str, radius: float) -> _Scheme:
    if method not in METHODS:
        raise InputError(f"There is no method '{method}'. {did_you_mean(method, METHODS)}")
    if method == "newmark":
        return NEWMARK
    if not 0 <= radius <= 1:
        raise InputError(f"spectral_radius is {radius:g}; it is from 0 to 1.")
    am, af = (2 * radius - 1) / (radius + 1), radius / (radius + 1)
    return _Scheme(am, af, (1 - am + af) ** 2 / 4, 0.5 - am + af)


class _Setup(eqx.Module):
    """What does not change from step to step."""

    robot: FlexibleRobot
    links: Links
    damping: Damping
    stiffened: bool = eqx.field(static=True)


class _Asked(NamedTuple):
    """What a servo is asked for at the joints, in one sample."""

    rate: Float[AnyArray, "3"]  #: b q_c' of (1) of `servo` [rad/s]
    torque: Float[AnyArray, "3"]  #: that it gets, less what friction takes along q_c' [N m]


class _State(NamedTuple):
    """Columns of unknowns, the first of them under load."""

    y: Float[AnyArray, "n k"]
    yd: Float[AnyArray, "n k"]
    ydd: Float[AnyArray, "n k"]
    A: Float[AnyArray, "n k"]  #: of (2)
    z: Float[AnyArray, "3 k"]  #: of (4)
    rate: Float[AnyArray, "3 k"]  #: v of (4), of the first column
    torque: Float[AnyArray, "3"]  #: of the first column

    def sample(self) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
        """y, y', torques and integrals of the first column."""
        return self.y[:, 0], self.yd[:, 0], self.torque, self.z[:, 0]


class _Run:
    """A motion, and the robot that follows it."""

    def __init__(
        self, robot: FlexibleRobot, motion: Motion, damping: Damping, stiffened: bool, feed: Feed
    ) -> None:
        traced = Damping(*(jnp.asarray(part) for part in damping))  # another is not recompiled
        of_links = built_links(robot)
        _check_step(robot, of_links, motion)
        self.setup = _Setup(robot, of_links, traced, stiffened)
        self.motion, self.damping = motion, damping
        self.poses = body_poses_along(robot.mechanism, motion)
        self.steps = np.diff(np.asarray(motion.t))
        self.first: Poses = jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), self.poses)
        self.asked = _asked(robot, self.poses, feed)

    def begun(self, start: int) -> _State:
        """The state at the first sample."""
        t = np.asarray(self.motion.t)[:3] - float(self.motion.t[0])
        powers = np.vander(t, 3, increasing=True)
        slope = np.linalg.inv(powers)[1] if np.any(self.motion.xd[0]) else np.zeros(3)
        poses = jax.tree.map(lambda leaf: jnp.asarray(leaf[:3]), self.poses)
        asked = jax.tree.map(lambda leaf: jnp.asarray(leaf[:3]), self.asked)
        return _begin(self.setup, poses, asked, jnp.asarray(slope), jnp.asarray(start))

    def started(self, state: Float[np.ndarray, "s k"]) -> _State:
        """The state of columns of y, y' and, if there are any, z at the first sample."""
        n = self.setup.robot.unknowns
        z = np.zeros((3, state.shape[1]))
        z[: len(state) - 2 * n] = state[2 * n :]
        first = jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), self.asked)
        parts = (jnp.asarray(part) for part in (state[:n], state[n : 2 * n], z))
        return _consistent(self.setup, self.first, first, *parts)

    def integrated(
        self, scheme: _Scheme, state: _State, progress: Progress | None
    ) -> tuple[Response, _State]:
        found = [jax.tree.map(lambda leaf: np.asarray(leaf)[None], state.sample())]
        n = len(self.steps)
        for k in range(0, n, _BLOCK):
            ahead = np.arange(k + 1, k + 1 + _BLOCK)
            h = np.where(ahead <= n, self.steps[np.minimum(ahead, n) - 1], 0.0)  # 0 does nothing
            part = np.minimum(ahead, n)
            to = (self.poses, self.asked)
            poses, asked = jax.tree.map(lambda leaf: jnp.asarray(leaf[part]), to)  # noqa: B023
            state, samples = _advance(self.setup, scheme, state, poses, asked, jnp.asarray(h))
            found.append(jax.tree.map(np.asarray, samples))
            if progress is not None:
                progress(min((k + _BLOCK) / n, 1.0))
        y, yd, torque, z = (np.concatenate(part)[: n + 1] for part in zip(*found, strict=True))
        told = (self.motion, self.setup.robot, self.damping, y, yd, torque, self.setup.stiffened)
        if self.setup.robot.servo is None:
            return Response(*told), state
        return Response(*told, integral=z, fed=np.asarray(self.asked.torque)), state


def _asked(robot: FlexibleRobot, poses: Poses, feed: Feed) -> _Asked:
    """What servos are asked for in each sample; nothing of motors that are held."""
    R, Rd = np.asarray(poses.arm[:, :, 0, :, :3]), np.asarray(poses.arm[:, :, 1, :, :3])
    X = np.einsum("tiab,tiac->tibc", R, Rd)
    rates, servo = (X[:, :, 0, 2] - X[:, :, 2, 0]) / 2, robot.servo
    if servo is None:
        if feed.velocity or feed.torque is not None:
            raise InputError("Motors that are held need nothing fed forward; give them servos.")
        return _Asked(np.zeros_like(rates), np.zeros_like(rates))
    torque = np.zeros_like(rates) if feed.torque is None else np.asarray(feed.torque, float)
    if torque.shape != rates.shape:
        raise InputError(
            f"Torques fed forward are {torque.shape[0]} rows of {torque.shape[1]}; this motion has "
            f"{rates.shape[0]} samples, and 3 motors."
        )
    lag = np.zeros_like(rates) if feed.velocity else rates
    if feed.torque is not None:
        torque = torque + np.asarray(servo.friction + servo.beyond) * rates
    return _Asked(lag, torque - np.asarray(servo.damping) * lag)


@eqx.filter_jit
def _begin(
    setup: _Setup,
    poses: Poses,
    asked: _Asked,
    slope: Float[AnyArray, "3"],
    start: Int[Array, ""],
) -> _State:
    """As one of STARTS, from the first three poses; `slope` of their values is a rate.

    A robot that begins in motion begins with the rates at which its sag changes.
    """
    robot, of_links = setup.robot, setup.links
    still = jax.tree.map(lambda T: T.at[..., 1:, :, :].set(0.0), poses)

    def bent(ahead: tuple[Poses, Array]) -> tuple[Float[AnyArray, " n"], Float[AnyArray, "3"]]:
        limbs = arrow(robot, of_links, ahead[0])
        if robot.servo is None:
            return static(robot, limbs), jnp.zeros(3)
        f = jnp.asarray(limbs.f).at[:, robot.motor_turn].add(-ahead[1])
        y = carried(robot, limbs, f, limbs.platform_f)
        return y, _integrals(robot, limbs, f, y)

    (hanging, z_hanging), (loaded, z_loaded) = (
        jax.lax.map(bent, (p, asked.torque)) for p in (still, poses)
    )
    y = jnp.stack([hanging, loaded, jnp.zeros_like(hanging)])[start]
    z = jnp.stack([z_hanging[0], z_loaded[0], jnp.zeros(3)])[start]
    first, at_first = (jax.tree.map(lambda T: T[0], part) for part in (poses, asked))
    columns = (part[:, None] for part in (y[0], slope @ y, z))
    return _consistent(setup, first, at_first, *columns)


def _integrals(
    robot: FlexibleRobot, limbs: Arrow, f: Float[AnyArray, "3 a"], y: Float[AnyArray, " n"]
) -> Float[AnyArray, "3"]:
    """z with which motors stand still where elastic forces and `f` displace the robot by `y`."""
    assert robot.servo is not None
    k_I = jnp.asarray(robot.servo.integral)
    each = jnp.stack([y[limb_places(i, robot.of_limb)] for i in range(3)])
    needed = (f + jnp.einsum("iab,ib->ia", limbs.stiff, each))[:, robot.motor_turn]
    return jnp.where(k_I > 0, -needed / jnp.where(k_I > 0, k_I, 1.0), 0.0)


@eqx.filter_jit
def _consistent(
    setup: _Setup,
    poses: Poses,
    asked: _Asked,
    y: Float[AnyArray, "n k"],
    yd: Float[AnyArray, "n k"],
    z: Float[AnyArray, "3 k"],
) -> _State:
    """The state with the accelerations that (1) gives it."""
    limbs, loaded = _matrices(setup, poses), jnp.eye(1, y.shape[1])
    held = None if setup.robot.servo is None else setup.robot.servo.integral[:, None] * z
    load = None if held is None else held - asked.torque[:, None] * loaded
    ydd = _accelerations(setup, limbs, 0.0, 0.0, y, yd, load)
    torque = _torques(setup, poses, y, yd, ydd)
    return _State(y, yd, ydd, ydd, z, asked.rate[:, None] * loaded, torque)


@eqx.filter_jit
def _advance(
    setup: _Setup,
    scheme: _Scheme,
    state: _State,
    poses: Poses,
    asked: _Asked,
    steps: Float[AnyArray, " N"],
) -> tuple[_State, tuple[AnyArray, AnyArray, AnyArray, AnyArray]]:
    """Many steps, to `poses`."""
    am, af, beta, gamma = scheme
    share, robot = (1 - af) / (1 - am), setup.robot

    def step(state: _State, ahead: tuple[Poses, _Asked, Array]) -> tuple[_State, tuple]:
        poses, asked, h = ahead
        known = (af * state.ydd - am * state.A) / (1 - am)
        y = state.y + h * state.yd + h * h * ((0.5 - beta) * state.A + beta * known)
        yd = state.yd + h * ((1 - gamma) * state.A + gamma * known)
        by_rate, by_place = h * gamma * share, h * h * beta * share
        limbs, load, loaded = _matrices(setup, poses), None, jnp.eye(1, y.shape[1])
        rate, began, half = asked.rate[:, None] * loaded, state.z, 0.0
        if robot.servo is not None:
            kV, k_I = (jnp.asarray(p) for p in (robot.servo.position_gain, robot.servo.integral))
            half, at, s = h * kV[:, None] / 2, robot.motor_turn, _turns(robot, state.y)
            began = state.z - s + half * s + h / 2 * (state.rate + rate)
            load = k_I[:, None] * began - asked.torque[:, None] * loaded
            K = jnp.asarray(limbs.K)
            limbs = limbs._replace(K=K.at[:, at, at].add(k_I * (1 + half[:, 0])))
        ydd = _accelerations(setup, limbs, by_rate, by_place, y, yd, load)
        y, yd = y + by_place * ydd, yd + by_rate * ydd
        z = state.z if robot.servo is None else began + (1 + half) * _turns(robot, y)
        torque = _torques(setup, poses, y, yd, ydd)
        new = _State(y, yd, ydd, known + share * ydd, z, rate, torque)
        return new, new.sample()

    return jax.lax.scan(step, state, (poses, asked, jnp.asarray(steps)))


def _turns(robot: FlexibleRobot, columns: Float[AnyArray, "n k"]) -> Float[AnyArray, "3 k"]:
    """Turns of the motors, column by column."""
    return columns[drive_places(robot, robot.motor_turn)]


def _torques(
    setup: _Setup,
    poses: Poses,
    y: Float[AnyArray, "n k"],
    yd: Float[AnyArray, "n k"],
    ydd: Float[AnyArray, "n k"],
) -> Float[AnyArray, "3"]:
    """Of the first column."""
    first = (y[:, 0], yd[:, 0], ydd[:, 0])
    return motor_torques(setup.robot, setup.links, poses, *first, setup.damping)


def _matrices(setup: _Setup, poses: Poses) -> Arrow:
    """Matrices of (1), damping included."""
    robot, of_links, damping = setup.robot, setup.links, setup.damping
    if not setup.stiffened:
        return arrow(robot, of_links, poses, damping=damping)
    pulls = tensions(robot, of_links, poses, static(robot, arrow(robot, of_links, poses)))
    return arrow(robot, of_links, poses, tensions=pulls, damping=damping)


def _accelerations(
    setup: _Setup,
    limbs: Arrow,
    by_rate: Array | float,
    by_place: Array | float,
    y: Float[AnyArray, "n k"],
    yd: Float[AnyArray, "n k"],
    load: Float[AnyArray, "3 k"] | None,
) -> Float[AnyArray, "n k"]:
    """y'' of (1), where y and y' still change with it by `by_place` and `by_rate`.

    `load` is on the motors, in every column.
    """
    P, own = PLATFORM, limbs.M.shape[-1] - PLATFORM
    matrix = limbs.M + by_rate * limbs.C + by_place * limbs.K

    def of_limbs(z: Float[AnyArray, "n k"]) -> Float[AnyArray, "3 a k"]:
        at_platform = jnp.broadcast_to(z[None, :P], (3, P, z.shape[1]))
        return jnp.concatenate([at_platform, z[P:].reshape(3, own, -1)], axis=1)

    loaded = jnp.zeros(y.shape[1]).at[0].set(1.0)[None, :]
    f = limbs.f[:, :, None] * loaded[None] + limbs.C @ of_limbs(yd) + limbs.K @ of_limbs(y)
    if load is not None:
        f = jnp.asarray(f).at[:, setup.robot.motor_turn].add(load)
    platform = limbs.platform_f[:, None] * loaded + limbs.platform_C @ yd[:P] + f[:, :P].sum(axis=0)
    found, inner = solve_arrow(
        matrix, limbs.platform + by_rate * limbs.platform_C, -f[:, P:], -platform
    )
    return jnp.concatenate([found, inner.reshape(3 * own, -1)])
