"""Initial conditions: bodies moved from a rough guess to where the joints fit.

Damped least squares (Levenberg and Marquardt) on the residuals of the joints, which are
lengths; displacements are twists, angles times the size of the system.

The condition of a driven turn holds half a turn away as well. So the angles that were assembled
are compared with those of the drives; where they differ, or where nothing was found, the joints
are assembled without their drives, and the drives led from there to where they begin, in small
steps (continuation), each assembled from the one before.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from triskele.errors import DescriptionError, InputError
from triskele.multibody.forces import axis_motion
from triskele.multibody.primitives import Drive
from triskele.multibody.solve import consistent_speeds, mass_matrix, moved
from triskele.multibody.system import State, System, conditions, jacobian, motion_of

_MOST_STEPS = 200
_CLOSED = 1e-12  #: residual of an assembled mechanism, as a part of its size
_LED = np.radians(10.0)  #: [rad], a step of continuation
_OFF = 1e-6  #: [rad, or part of the size] between a drive and its joint
_MOVED = 1e-12  #: least mass that moves, as a part of the most
_HALF_TURN = np.radians(175.0)  #: [rad]; further than this both ways around are tried


def assembled(system: System, guess: State, drive: Drive | None = None) -> State:
    """The state near `guess` that meets all conditions; an error that names the gap if none does.

    Driven angles and lengths are those of `drive`. Velocities are the nearest ones that joints
    and drives allow.
    """
    return _speeds(system, _positioned(system, guess, drive), drive)


def _positioned(system: System, guess: State, drive: Drive | None) -> State:
    if drive is None or not system.prescribed:
        return closed(system, guess, drive)
    failure: DescriptionError | None = None
    try:
        state = closed(system, guess, drive)
        if not misplaced(system, state, drive):
            return state
    except DescriptionError as error:
        failure = error
    start = closed(system.with_free_motors(), guess)
    for way in (1, -1):
        try:
            state = _led(system, start, drive, way)
        except DescriptionError:
            continue
        if not misplaced(system, state, drive):
            return state
    raise failure or DescriptionError(_wrong_branch(system, guess, drive))


def _led(system: System, state: State, drive: Drive, way: int) -> State:
    """`state` with its drives led to their values, those half a turn away turning by `way`."""
    offsets, turning = _offsets(system, state, drive)
    far = turning & (np.abs(offsets) > _HALF_TURN)
    back = np.where(far & (np.sign(offsets) == way), 2 * np.pi * way, 0.0)
    offsets = offsets - back
    q, still = np.asarray(drive.q), jnp.zeros_like(drive.q)
    steps = max(1, int(np.ceil(np.abs(offsets[turning]).max(initial=0.0) / _LED)))
    for k in range(1, steps + 1):
        state = closed(
            system, state, Drive(jnp.asarray(q + offsets * (1 - k / steps)), still, still)
        )
    return state


def _offsets(system: System, state: State, drive: Drive) -> tuple[np.ndarray, np.ndarray]:
    """Angles and lengths of the driven axes less those of their drives, and which are angles."""
    q = np.asarray(_axes(system, state))
    driven = [k for k, axis in enumerate(system.axes) if axis.driven]
    turning = np.array([axis.kind == "turn" for axis in system.driven])
    off = q[driven] - np.asarray(drive.q)
    return np.where(turning, np.angle(np.exp(1j * off)), off), turning


def misplaced(system: System, state: State, drive: Drive) -> list[str]:
    """Joints that are not where their drives say, half a turn off for example."""
    offsets, turning = _offsets(system, state, drive)
    allowed = _OFF * np.where(turning, 1.0, float(system.size))
    wrong = zip(system.driven, np.abs(offsets) > allowed, strict=True)
    return [axis.joint for axis, off in wrong if off]


def _wrong_branch(system: System, guess: State, drive: Drive) -> str:
    state = closed(system, guess, drive)
    name = misplaced(system, state, drive)[0]
    place = [axis.joint for axis in system.driven].index(name)
    off = float(np.degrees(_offsets(system, state, drive)[0][place]))
    asked = float(np.degrees(drive.q[place]))
    return (
        f"{system.name}, joints.{name}: its drive begins at {asked:.4g} deg, but where the bodies "
        f"are placed the loop closes {abs(off):.4g} deg away from that, and cannot be led there; "
        "place the bodies, above all those of this joint, closer to where the drive begins."
    )


def check_start(system: System, start: State, drive: Drive | None) -> None:
    """An error if `start` does not meet the joints, or is not where the drives begin."""
    if not all(np.isfinite(np.asarray(part)).all() for part in start):
        raise InputError(f"{system.name}: the start has numbers that are not finite.")
    C, _ = _linear(system, start, drive)
    gap = float(np.abs(C).max(initial=0.0))
    wrong = [] if drive is None else misplaced(system, start, drive)
    if gap > _OFF * float(system.size) or wrong:
        what = f"joints.{wrong[0]} is not where its drive begins" if wrong else "joints are open"
        raise InputError(
            f"{system.name}: at the start {what} (gap {gap:.3g} m); begin with "
            "multibody.assembled(system, start, drive)."
        )


def closed(system: System, guess: State, drive: Drive | None = None) -> State:
    """`guess` moved to where all conditions hold, its velocities left as they are."""
    size, state = float(system.size), guess
    columns = np.tile([1.0] * 3 + [size] * 3, len(system.bodies))
    damping = 1e-3
    C, J = _linear(system, state, drive)
    for _ in range(_MOST_STEPS):
        if np.abs(C).max(initial=0.0) <= _CLOSED * size:
            break
        scaled = J / columns
        matrix = scaled @ scaled.T
        step = -scaled.T @ np.linalg.solve(
            matrix + damping * np.trace(matrix) / len(C) * np.eye(len(C)), C
        )
        trial = _moved(state, jnp.asarray((step / columns).reshape(-1, 6)))
        C_new, J_new = _linear(system, trial, drive)
        if C_new @ C_new < C @ C:
            state, C, J, damping = trial, C_new, J_new, max(damping / 10, 1e-15)
        else:
            damping *= 10
        if damping > 1e8:
            break
    worst = float(np.abs(C).max(initial=0.0))
    if not worst <= 1e3 * _CLOSED * size:
        raise DescriptionError(_gap(system, C))
    return state


def _gap(system: System, C: np.ndarray) -> str:
    gaps = {
        joint.name: np.linalg.norm(C[list(joint.rows)]) for joint in system.joints if joint.rows
    }
    name = max(gaps, key=lambda key: gaps[key])
    joint = next(joint for joint in system.joints if joint.name == name)
    return (
        f"{system.name}: cannot be assembled; at best a gap of {gaps[name]:.3g} m remains in the "
        f"joint '{name}' between '{joint.parent}' and '{joint.child}'. Check the lengths along "
        "its loop, or place the bodies closer to where they belong."
    )


@eqx.filter_jit
def _tangent(system: System, state: State, drive: Drive | None) -> tuple[Array, Array]:
    rows = conditions(system, motion_of(system, state), drive)
    return rows.residual, jacobian(system, rows)


def _linear(system: System, state: State, drive: Drive | None) -> tuple[np.ndarray, np.ndarray]:
    C, J = _tangent(system, state, drive)
    return np.asarray(C), np.asarray(J)


_moved = eqx.filter_jit(moved)
_speeds = eqx.filter_jit(consistent_speeds)


@eqx.filter_jit
def _axes(system: System, state: State) -> Array:
    return axis_motion(system, motion_of(system, state)).q


def check_inertia(system: System, state: State) -> None:
    """An error if some motion that the joints allow moves no mass: it names the body."""
    if not system.coupled:
        return
    _, J = _linear(system.with_free_motors(), state, None)
    _, values, rows = np.linalg.svd(J) if len(J) else (None, np.zeros(0), np.eye(J.shape[1]))
    rank = int((values > 1e-9 * values.max(initial=1e-300)).sum())
    free = rows[rank:]
    M = np.asarray(_masses(system, state))
    moving = free @ M @ free.T
    if not len(moving):
        return
    kinetic, modes = np.linalg.eigh(moving)
    if kinetic[0] > _MOVED * kinetic[-1]:
        return
    twist = np.abs(modes[:, 0] @ free).reshape(-1, 6).max(axis=1)
    name = system.bodies[int(twist.argmax())]
    raise DescriptionError(
        f"{system.name}, bodies.{name}: can move without moving any mass to speak of, so that its "
        "acceleration is not determined; give it an inertia, or a joint that holds it."
    )


@eqx.filter_jit
def _masses(system: System, state: State) -> Array:
    return mass_matrix(system, motion_of(system, state))
