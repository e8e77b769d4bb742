"""Generalised alpha of index 3 on the group of motions: fixed steps, for stiff forces.

Positions meet the joints' conditions at the end of every step, accelerations are averaged,

    (1 - am) a' + am a = (1 - af) vd' + af vd
    v' = v + h ((1 - g) a + g a'),    pose' = pose o exp(h v + h^2 ((1/2 - b) a + b a'))       (1)
    M vd' = f' - J'^T lam',           C(pose') = 0

with primes at the end of the step and am = (2 r - 1)/(r + 1), af = r/(r + 1), g = 1/2 - am + af,
b = (g + 1/2)^2 / 4. The spectral radius r at infinite frequency sets the numerical damping:
1 none, 0 most. Newton's matrix holds the stiffness and damping of springs and friction.

Of order 2 only: use it where forces are stiff, otherwise `integrate.simulate`.

Reference: O. Bruels, A. Cardona, M. Arnold, Mechanism and Machine Theory 48 (2012) 121.
"""

import functools
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
from jaxtyping import Array, Float

from triskele.errors import InputError
from triskele.kinematics.motion import Real
from triskele.multibody.forces import energies, forces, rotor_terms
from triskele.multibody.integrate import (
    Actuation,
    Efforts,
    Run,
    Signal,
    begun,
    packed,
    sampled,
    told,
)
from triskele.multibody.reactions import motor_efforts
from triskele.multibody.solve import accelerations, in_body, mass_matrix, mended_stiffness, moved
from triskele.multibody.system import State, System, conditions, jacobian, motion_of
from triskele.spatial.euler_parameters import rotation_matrix

_MOST_ITERATIONS = 20
_CONVERGED = 1e-12  #: last correction of a pose, as a part of the size
_PROXIMAL = 1e-10


class _Step(NamedTuple):
    """What goes from step to step."""

    state: State
    vd: Float[Array, "bodies 6"]  #: vd, in O, and wd, in the body
    a: Float[Array, "bodies 6"]  #: the averaged acceleration
    lam: Array
    work: Array  #: of the motors, and heat [J]
    power: Array  #: their rates [W]
    failed: Array


class _Constants(NamedTuple):
    am: float
    af: float
    g: float
    b: float
    h: float


def generalised_alpha(
    system: System,
    start: State,
    duration: Real,
    *,
    step: Real,
    spectral_radius: Real = 0.8,
    efforts: Efforts | None = None,
    signal: Signal | None = None,
    every: int = 1,
) -> Run:
    """As `simulate`, in steps of `step` [s], of which each `every`-th is a sample."""
    if not (0 < step <= duration and 0 <= spectral_radius <= 1 and every >= 1):
        raise InputError("step must be positive, no longer than duration; spectral_radius 0 to 1.")
    actuation = begun(system, start, duration, efforts, signal)
    count = max(1, round(duration / step / every))
    r = spectral_radius
    am, af = (2 * r - 1) / (r + 1), r / (r + 1)
    g = 0.5 - am + af
    constants = _Constants(am, af, g, (g + 0.5) ** 2 / 4, duration / (count * every))
    y, failed = _stepped(system, actuation, start, constants, count, every)
    y, failed = np.asarray(y), np.asarray(failed)
    t = np.linspace(0, duration, count + 1)
    ended = None
    if failed.any():
        last = int(failed.argmax())
        ended = f"at t = {t[last]:.6g} s: Newton's iteration did not converge; shorten the step"
        t, y = t[:last], y[:last]
    return sampled(system, actuation, t, y, (len(t) - 1) * every, ended)


@eqx.filter_jit
def _stepped(
    system: System,
    actuation: Actuation,
    start: State,
    constants: _Constants,
    count: int,
    every: int,
) -> tuple[Array, Array]:
    zero = jnp.zeros(())
    found = accelerations(
        system, start, told(system, actuation, zero, start)[0], actuation.drive(zero)
    )
    motion = motion_of(system, start)
    vd = jnp.concatenate([found.twist[:, :3], in_body(motion, found.twist[:, 3:])], axis=-1)
    power = _powers(system, actuation, zero, start, found.lam)
    first = _Step(start, vd, vd, found.lam, jnp.zeros(2), power, jnp.zeros((), bool))

    def one(k: Array, step: _Step) -> _Step:
        go = functools.partial(_advanced, system, actuation, constants, k)
        return jax.lax.cond(step.failed, lambda step: step, go, step)

    def sample(step: _Step, k: Array) -> tuple[_Step, tuple[Array, Array]]:
        step = jax.lax.fori_loop(k * every, (k + 1) * every, one, step)
        return step, (packed(step.state, step.work), step.failed)

    _, (y, failed) = jax.lax.scan(sample, first, jnp.arange(count))
    y = jnp.concatenate([packed(start, jnp.zeros(2))[None], y])
    return y, jnp.concatenate([jnp.zeros(1, bool), failed])


def _powers(
    system: System, actuation: Actuation, t: Array, state: State, lam: Array
) -> Float[Array, "2"]:
    motion, drive = motion_of(system, state), actuation.drive(t)
    tau, qd = told(system, actuation, t, state)
    tau = motor_efforts(system, motion, drive, lam, tau)
    return jnp.stack([tau @ qd, energies(system, motion).lost])


class _Iterate(NamedTuple):
    """Unknowns of Newton's iteration."""

    vd: Array
    lam: Array
    correction: Array  #: size of the last one
    tries: Array


def _advanced(
    system: System, actuation: Actuation, constants: _Constants, k: Array, step: _Step
) -> _Step:
    """One step of (1), from t = k h."""
    am, af, g, b, h = constants
    t = (k + 1).astype(float) * h
    by_pose = (1 - am) / (h * h * b * (1 - af))  # d vd' / d pose'
    by_speed = g / (h * b)  # d v' / d pose'
    speed = jnp.concatenate([step.state.v, step.state.w], axis=-1)

    def averaged(vd: Array) -> Array:
        return ((1 - af) * vd + af * step.vd - am * step.a) / (1 - am)

    def reached(vd: Array) -> State:
        a = averaged(vd)
        shift = h * speed + h * h * ((0.5 - b) * step.a + b * a)
        new = speed + h * ((1 - g) * step.a + g * a)
        turned = moved(
            step.state._replace(r=step.state.r + shift[:, :3]), _in_base(step.state, shift)
        )
        return turned._replace(v=new[:, :3], w=new[:, 3:])

    def unfinished(at: _Iterate) -> Array:
        return (at.correction > _CONVERGED * system.size) & (at.tries < _MOST_ITERATIONS)

    def corrected(at: _Iterate) -> _Iterate:
        state = reached(at.vd)
        shift, d_lam = _newton(system, actuation, t, state, at.vd, at.lam, by_pose, by_speed)
        own = jnp.concatenate(
            [shift[:, :3], in_body(motion_of(system, state), shift[:, 3:])], axis=-1
        )
        size = jnp.abs(shift).max()
        return _Iterate(at.vd + by_pose * own, at.lam + d_lam, size, at.tries + 1)

    begin = _Iterate(jnp.zeros_like(step.vd), step.lam, jnp.asarray(jnp.inf), jnp.asarray(0))
    end = jax.lax.while_loop(unfinished, corrected, begin)
    state = reached(end.vd)
    power = _powers(system, actuation, t, state, end.lam)
    failed = step.failed | ~(end.correction <= _CONVERGED * system.size)
    work = step.work + h / 2 * (step.power + power)
    return _Step(state, end.vd, averaged(end.vd), end.lam, work, power, failed)


def _in_base(state: State, shift: Array) -> Array:
    """The turn of `shift`, which is in the body, as a twist in O without its displacement."""
    turn = jnp.einsum("bij,bj->bi", rotation_matrix(state.p), shift[:, 3:])
    return jnp.concatenate([jnp.zeros_like(turn), turn], axis=-1)


def _newton(
    system: System,
    actuation: Actuation,
    t: Array,
    state: State,
    vd: Array,
    lam: Array,
    by_pose: float,
    by_speed: float,
) -> tuple[Array, Array]:
    """Corrections of the pose, a twist in O, and of the multipliers."""
    motion, drive = motion_of(system, state), actuation.drive(t)
    rows = conditions(system, motion, drive)
    J = jacobian(system, rows)
    twist = jnp.concatenate(
        [vd[:, :3], jnp.einsum("bij,bj->bi", motion.A[:-1], vd[:, 3:])], axis=-1
    )
    f = _acting(system, actuation, t, state)
    left = mass_matrix(system, motion) @ twist.reshape(-1) + J.T @ lam - f
    W, bias = rotor_terms(system, motion)
    left = left + W.T @ (system.rotors * bias)
    matrix = by_pose * (mass_matrix(system, motion) + mended_stiffness(system) * (J.T @ J))
    if _stiff(system) or actuation.efforts is not None:
        matrix = matrix - _tangent(system, actuation, t, state, by_speed)
    factor = jsl.lu_factor(matrix)
    S = J @ jsl.lu_solve(factor, J.T)
    S = S + _PROXIMAL * jnp.trace(S) / len(S) * jnp.eye(len(S))
    d_lam = jnp.linalg.solve(S, rows.residual - J @ jsl.lu_solve(factor, left))
    shift = -jsl.lu_solve(factor, left + J.T @ d_lam)
    return shift.reshape(-1, 6), d_lam


def _stiff(system: System) -> bool:
    laws = any(law is not None for law in (*system.springs, *system.friction))
    return bool(laws or system.bushings or system.balls or len(system.tethers.spans.pairs))


def _acting(system: System, actuation: Actuation, t: Array, state: State) -> Array:
    tau, _ = told(system, actuation, t, state)
    return forces(system, motion_of(system, state), tau)[:-1].reshape(-1)


def _tangent(
    system: System, actuation: Actuation, t: Array, state: State, by_speed: float
) -> Array:
    """Change of the forces with the pose, velocities following at the rate `by_speed`."""

    def after(shift: Array) -> Array:
        shift = shift.reshape(-1, 6)
        there = moved(state, shift)
        own = in_body(motion_of(system, state), shift[:, 3:])
        there = there._replace(v=state.v + by_speed * shift[:, :3], w=state.w + by_speed * own)
        return _acting(system, actuation, t, there)

    return jax.jacfwd(after)(jnp.zeros(6 * len(system.bodies)))
