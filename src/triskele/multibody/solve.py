"""Accelerations and multipliers; states moved onto the conditions of the joints.

With S = J M^-1 J', multipliers solve S lam = J M^-1 f - gamma. Redundant joints make S
singular: an LU decomposition would return garbage without an error. Instead

    (S + eps) d_lam = (J M^-1 f - gamma) - S lam,     lam <- lam + d_lam,   from lam = 0   (1)

a proximal iteration whose matrix is always positive definite. It converges to the least
lam, by a factor eps / sigma each time, sigma the smallest eigenvalue that is not zero.

Bodies without mass or moment, and motors geared to joints, change M into

    M + s J' J + sum_k I_k W_k' W_k,      f into f + s J' gamma - sum_k I_k W_k' (Wd_k v)    (2)

The terms with s cancel where J (vd, wd) = gamma. I_k is the inertia of a rotor at its axis.
"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
from jaxtyping import Array, Float

from triskele.multibody.forces import forces, inertia_in_base, rotor_terms
from triskele.multibody.primitives import BodyMotion, Drive
from triskele.multibody.system import State, System, conditions, jacobian, motion_of
from triskele.spatial.euler_parameters import rate, rotation_matrix, turned

_PROXIMAL = 1e-10  #: eps of (1), as a part of the mean diagonal of S
_REFINEMENTS = 4
_SMALL = 16  #: a triangular matrix that is inverted at once


class Accelerations(NamedTuple):
    """What (1) of `system.py` gives."""

    twist: Float[Array, "bodies 6"]  #: vd, wd in O [m/s^2, rad/s^2]
    lam: Float[Array, " rows"]  #: [N]


class _Factored(NamedTuple):
    """J, what divides by the mass matrix, and what solves S lam = b by (1)."""

    J: Float[Array, "rows velocities"]
    divided: Callable[[Array], Array]
    solved: Callable[[Array], Array]


def accelerations(
    system: System,
    state: State,
    efforts: Float[Array, " motors"],
    drive: Drive | None = None,
) -> Accelerations:
    """Accelerations and multipliers at a state that meets the joints' conditions."""
    motion = motion_of(system, state)
    rows = conditions(system, motion, drive)
    f = forces(system, motion, efforts)[:-1].reshape(-1)
    J = jacobian(system, rows)
    if system.coupled:
        W, bias = rotor_terms(system, motion)
        f = f + mended_stiffness(system) * (J.T @ rows.gamma) - W.T @ (system.rotors * bias)
    factored = _factored(system, motion, J)
    free = factored.divided(f)
    lam = factored.solved(J @ free - rows.gamma)
    twist = free - factored.divided(J.T @ lam)
    return Accelerations(twist.reshape(-1, 6), lam)


def _factored(system: System, motion: BodyMotion, J: Array) -> _Factored:
    divided = _division(system, motion, J)
    S = J @ divided(J.T)
    eps = _PROXIMAL * jnp.trace(S) / max(len(S), 1)
    factor = jsl.cho_factor(S + eps * jnp.eye(len(S)), lower=True)

    def solved(b: Array) -> Array:
        lam = jsl.cho_solve(factor, b)
        for _ in range(_REFINEMENTS - 1):
            lam = lam + jsl.cho_solve(factor, b - S @ lam)
        return lam

    return _Factored(J, divided, solved)


def _division(system: System, motion: BodyMotion, J: Array) -> Callable[[Array], Array]:
    """x -> M^-1 x, of one vector or of columns; M as in (2) where that is needed."""
    if system.coupled:
        M = mass_matrix(system, motion) + mended_stiffness(system) * (J.T @ J)
        root = _inverse_of_lower(jnp.linalg.cholesky(M))
        return lambda x: root.T @ (root @ x)
    turning = _inverse_inertia(system, motion)

    def divided(x: Array) -> Array:
        parts = x.reshape(len(system.mass), 6, -1)
        linear = parts[:, :3] / system.mass[:, None, None]
        both = jnp.concatenate([linear, turning @ parts[:, 3:]], axis=1)
        return both.reshape(x.shape)

    return divided


def _inverse_inertia(system: System, motion: BodyMotion) -> Float[Array, "bodies 3 3"]:
    """Inverse of each body's inertia in O, by minors: a batch of small LU costs far more."""
    x, y, z = (system.inertia[:, k] for k in range(3))
    minors = jnp.stack([jnp.cross(y, z), jnp.cross(z, x), jnp.cross(x, y)], axis=-1)
    inverse = minors / jnp.sum(x * minors[..., 0], axis=-1)[:, None, None]
    A = motion.A[:-1]
    return jnp.einsum("bij,bjk,blk->bil", A, inverse, A)


def _inverse_of_lower(L: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """L^-1 of a lower triangular matrix, by halves.

    Matrix products alone: with many right-hand sides XLA's triangular solver hands the work to
    threads, which on a busy machine wait for each other up to a hundred times longer.
    """
    n = len(L)
    if n <= _SMALL:
        return jsl.solve_triangular(L, jnp.eye(n), lower=True)
    k = n // 2
    first, last = _inverse_of_lower(L[:k, :k]), _inverse_of_lower(L[k:, k:])
    return jnp.block([[first, jnp.zeros((k, n - k))], [-last @ (L[k:, :k] @ first), last]])


def mass_matrix(system: System, motion: BodyMotion) -> Float[Array, "velocities velocities"]:
    """M of bodies and rotors, for twists in O."""
    count = len(system.mass)
    blocks = jnp.zeros((count, 6, 6))
    blocks = blocks.at[:, :3, :3].set(jnp.einsum("b,ij->bij", system.mass, jnp.eye(3)))
    blocks = blocks.at[:, 3:, 3:].set(inertia_in_base(system, motion))
    M = jnp.einsum("bij,bc->bicj", blocks, jnp.eye(count)).reshape(6 * count, -1)
    if not system.axes:
        return M
    W, _ = rotor_terms(system, motion)
    return M + W.T @ (system.rotors[:, None] * W)


def mended_stiffness(system: System) -> Float[Array, ""]:
    """s of (2) [kg]: the mean mass."""
    return jnp.mean(system.mass)


# On the manifold


def projected(system: System, state: State, drive: Drive | None = None) -> State:
    """The nearest state, in the metric of M, that meets the conditions to rounding.

    For states that nearly do, such as the end of an integration step: one factorisation
    serves two corrections of position. Velocities need one of their own: redundant rows are
    consistent with the pose they belong to, and with no other.
    """
    motion = motion_of(system, state)
    rows = conditions(system, motion, drive)
    factored = _factored(system, motion, jacobian(system, rows))
    for _ in range(2):
        rows = conditions(system, motion_of(system, state), drive)
        shift = -factored.divided(factored.J.T @ factored.solved(rows.residual))
        state = moved(state, shift.reshape(-1, 6))
    return consistent_speeds(system, state, drive)


def consistent_speeds(system: System, state: State, drive: Drive | None = None) -> State:
    """`state` with the nearest velocities that the joints allow and the drives demand."""
    motion = motion_of(system, state)
    rows = conditions(system, motion, drive)
    factored = _factored(system, motion, jacobian(system, rows))
    J = factored.J
    twist = jnp.concatenate([motion.v, motion.w], axis=-1)[:-1].reshape(-1)
    for _ in range(2):
        twist = twist - factored.divided(J.T @ factored.solved(J @ twist + rows.drift))
    twist = twist.reshape(-1, 6)
    return state._replace(v=twist[:, :3], w=in_body(motion, twist[:, 3:]))


def in_body(motion: BodyMotion, vectors: Float[Array, "bodies 3"]) -> Float[Array, "bodies 3"]:
    """Vectors of O in the axes of their bodies."""
    return jnp.einsum("bji,bj->bi", motion.A[:-1], vectors)


def moved(state: State, shift: Float[Array, "bodies 6"]) -> State:
    """`state` with each body displaced by a small twist in O [m, rad]."""
    turn = jnp.einsum("bji,bj->bi", rotation_matrix(state.p), shift[:, 3:])
    return state._replace(r=state.r + shift[:, :3], p=turned(state.p, turn))


class StateRates(NamedTuple):
    """Derivative of a `State` in time."""

    r: Float[Array, "bodies 3"]
    p: Float[Array, "bodies 4"]
    v: Float[Array, "bodies 3"]
    w: Float[Array, "bodies 3"]


def state_rates(system: System, state: State, found: Accelerations) -> StateRates:
    """How the state changes with the accelerations `found`."""
    motion = motion_of(system, state)
    return StateRates(
        state.v, rate(state.p, state.w), found.twist[:, :3], in_body(motion, found.twist[:, 3:])
    )


@eqx.filter_jit
def violation(system: System, state: State, drive: Drive | None = None) -> tuple[Array, Array]:
    """The largest residual of position [m] and of velocity [m/s]."""
    motion = motion_of(system, state)
    rows = conditions(system, motion, drive)
    twist = jnp.concatenate([motion.v, motion.w], axis=-1)[:-1].reshape(-1)
    speed = jacobian(system, rows) @ twist + rows.drift
    return jnp.abs(rows.residual).max(initial=0.0), jnp.abs(speed).max(initial=0.0)


@eqx.filter_jit
def joint_gaps(system: System, states: State) -> Float[Array, "N joints"]:
    """The largest residual of each joint [m] at N states, drives left out."""
    joints = system.with_free_motors().joints

    def at(state: State) -> Array:
        residual = jnp.abs(conditions(free, motion_of(free, state)).residual)
        return jnp.stack([residual[np.array(j.rows, int)].max(initial=0.0) for j in joints])

    free = system.with_free_motors()
    return jax.lax.map(at, states)
