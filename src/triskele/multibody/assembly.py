"""Initial conditions: bodies moved from a rough guess to where the joints fit.

Damped least squares (Levenberg and Marquardt) on the residuals of the joints, which are
lengths; displacements are twists, angles times the size of the system.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from triskele.errors import DescriptionError
from triskele.multibody.primitives import Drive
from triskele.multibody.solve import consistent_speeds, mass_matrix, moved
from triskele.multibody.system import State, System, conditions, jacobian, motion_of

_MOST_STEPS = 200
_CLOSED = 1e-12  #: residual of an assembled mechanism, as a part of its size


def assembled(system: System, guess: State, drive: Drive | None = None) -> State:
    """The state near `guess` that meets all conditions; an error that names the gap if none does.

    Velocities are the nearest ones that joints and drives allow.
    """
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
    return _speeds(system, state, drive)


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
    if kinetic[0] > 1e-12 * kinetic[-1]:
        return
    twist = np.abs(modes[:, 0] @ free).reshape(-1, 6).max(axis=1)
    name = system.bodies[int(twist.argmax())]
    raise DescriptionError(
        f"{system.name}, bodies.{name}: can move without moving any mass, so that its acceleration "
        "is not determined; give it an inertia."
    )


@eqx.filter_jit
def _masses(system: System, state: State) -> Array:
    return mass_matrix(system, motion_of(system, state))
