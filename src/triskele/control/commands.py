"""What controllers are given at each of their periods, and the rest they start from."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from triskele.compliant.stiffness import linear
from triskele.control.cascade import Cascade, FeedForward
from triskele.control.integrate import References, State
from triskele.control.plant import Plant, linear_plant
from triskele.dynamics.inverse import inverse_dynamics
from triskele.errors import InputError
from triskele.kinematics.cycles import joint_motion_along
from triskele.kinematics.motion import Motion, spline_derivative
from triskele.numerics import AnyArray, tabulate

_NEWTON = 20  #: steps to the state of rest, at most


def references(
    model: Plant, motion: Motion, feed: FeedForward, period: float
) -> tuple[References, Motion]:
    """What controllers are given at each period, and the motion at those instants."""
    duration = float(motion.duration)
    count = max(1, round(duration / period))
    instants = resampled(motion, period * np.arange(count + 1))
    joints = joint_motion_along(model.mechanism, instants)
    i, drive = model.actuators.ratio[None, :], model.actuators
    angle, speed = i * (joints.q - model.zero[None, :]), i * joints.qd
    nothing = jnp.zeros_like(angle)
    torque = nothing
    if feed.windup or feed.torque:
        arrays = (np.asarray(part) for part in (instants.x, instants.xd, instants.xdd))
        load = tabulate(eqx.Partial(inverse_dynamics, model.load))(*arrays)
        torque = jnp.stack([jnp.asarray(part) for part in load], axis=-1) / i
    wound = unwinding = nothing
    if feed.windup and drive.coupling is not None:
        wound = jax.vmap(drive.coupling.twist)(torque)
        unwinding = jnp.asarray(spline_derivative(np.asarray(instants.t), np.asarray(wound), 1))
    current = nothing
    if feed.torque:
        if model.soft:
            rubbing = jax.vmap(drive.friction)(speed)
            torque = torque + drive.rotor_inertia[None, :] * i * joints.qdd + rubbing
        current = torque / drive.torque_constant[None, :]
    speeds = speed + unwinding if feed.velocity else nothing
    return References(angle + wound, speeds, current), instants


def resampled(motion: Motion, t: np.ndarray) -> Motion:
    """`motion` at the instants `t` from its start, by polynomials of degree 5 (x, xd, xdd).

    After its end it rests where it ended.
    """
    own = np.asarray(motion.t) - float(motion.t[0])
    if len(own) == len(t) and np.abs(own - t).max() < 1e-9 * max(t[-1], 1e-9):
        return motion
    x, xd, xdd = (np.asarray(part) for part in (motion.x, motion.xd, motion.xdd))
    at = np.clip(t, 0, own[-1])
    k = np.clip(np.searchsorted(own, at, side="right") - 1, 0, len(own) - 2)
    h = (own[k + 1] - own[k])[:, None]
    u = (at - own[k])[:, None] / h
    start = (x[k], h * xd[k], h * h * xdd[k])
    end = (x[k + 1], h * xd[k + 1], h * h * xdd[k + 1])
    coefficients = _quintic(start, end)
    orders = []
    for order in range(4):
        value = sum(
            np.prod(np.arange(p, p - order, -1)) * c * u ** (p - order)
            for p, c in enumerate(coefficients)
            if p >= order
        )
        orders.append(
            jnp.asarray(np.where((t > own[-1])[:, None] & (order > 0), 0, value / h**order))
        )
    return Motion(jnp.asarray(t), *orders, coordinates=motion.coordinates)


def _quintic(start: tuple, end: tuple) -> tuple[np.ndarray, ...]:
    """Coefficients of the polynomial on [0, 1] with these values and derivatives at its ends."""
    a, b, c = start[0], start[1], start[2] / 2
    p, v, w = end[0] - a - b - c, end[1] - b - 2 * c, end[2] - 2 * c
    return a, b, c, 10 * p - 4 * v + w / 2, -15 * p + 7 * v - w, 6 * p - 3 * v + w / 2


def at_rest(model: Plant, control: Cascade, table: References, x: Float[AnyArray, " n"]) -> State:
    """The state in which the controlled robot rests at the first command; `x` is near it.

    The load hangs back by the twist of its couplings: i (q(x) - q0) + T(x) / kt = th_c, solved
    for x by Newton's method, whose matrix is that of the linear plant.
    """
    drive, angle = jax.tree.map(np.asarray, model.actuators), np.asarray(table.angle[0])
    place, torque, miss = np.asarray(x, float), np.zeros(model.n), np.full(model.n, np.inf)
    gain, stiff = (float(g) for g in (control.integral_gain, control.velocity_gain))
    stiff, current, lag = stiff * float(control.position_gain), np.zeros(model.n), 0.0
    for _ in range(_NEWTON):
        at = linear(model.load, place)
        torque = at.tau / drive.ratio
        soft = model.actuators.coupling
        twist = 0.0 if soft is None else np.asarray(soft.twist(jnp.asarray(torque)))
        current = torque / drive.torque_constant - np.asarray(table.current[0])
        lag = 0.0 if gain > 0 else current / stiff  # without an integral, an error holds it
        miss = drive.ratio * (at.q - np.asarray(model.zero)) + twist + lag - angle
        if not np.isfinite(miss).all() or np.abs(miss).max() < 1e-10:
            break
        about = linear_plant(model, place)
        slope = about.shaft + about.windup[0] + (0.0 if gain > 0 else about.asked[0] / stiff)
        place = place - np.linalg.solve(slope, miss)
    if not np.abs(miss).max() < 1e-6:
        raise InputError("The robot finds no rest at the first command; is its pose in reach?")
    still, shaft = np.zeros(model.n), angle + miss - lag
    parts = [place, still] if drive.coupling is None else [place, still, shaft, still]
    parts.append(current / gain if gain > 0 else still)
    return State(jnp.asarray(np.concatenate(parts)), jnp.zeros(model.n))
