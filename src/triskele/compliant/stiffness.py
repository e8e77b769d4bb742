"""Stiffness and natural frequencies of a robot whose joints are springs, at any pose.

U(x) is the energy of springs and weight along the closed loops. Drives that hold the robot at
rest have the efforts tau with dU/dx = (dq/dx)' tau, and about that pose

    K = d2/dx2 [ U - tau . q(x) ],       M = mass matrix,       K u = w^2 M u            (1)

while the efforts stay as they are: drives *free*. Where *motors are locked*, each coupling adds
its spring, i^2 kt at the joint,

    K + (dq/dx)' i^2 kt (dq/dx)                                                         (2)

Joints that are locked themselves leave no motion: the springs are in series with nothing.
"""

from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from triskele.description.schema import Payload, Robot
from triskele.dynamics.energy import potential_energy
from triskele.dynamics.forward import mass_matrix
from triskele.dynamics.robot import RigidRobot, rigid
from triskele.errors import InputError
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.laws.actuators import Actuators, actuators, at_joints
from triskele.numerics import stacked

Drives = Literal["free", "locked"]


class NaturalModes(NamedTuple):
    """Modes of (1), slowest first."""

    frequencies: Float[np.ndarray, " n"]  #: [Hz]
    shapes: Float[np.ndarray, "n n"]  #: columns: platform coordinates of each mode
    stiffness: Float[np.ndarray, "n n"]  #: K [N/m, N, N m/rad]
    mass: Float[np.ndarray, "n n"]  #: M [kg, kg m, kg m^2]


class Linear(NamedTuple):
    """A robot about a pose at rest: M xdd + K x = (dq/dx)' tau, in deviations."""

    M: Float[np.ndarray, "n n"]
    K: Float[np.ndarray, "n n"]  #: with tau held
    S: Float[np.ndarray, "n n"]  #: dq/dx
    tau: Float[np.ndarray, " n"]  #: what holds the pose [N m, N]
    q: Float[np.ndarray, " n"]  #: joint coordinates of the pose
    E: Float[np.ndarray, "passive n"]  #: d eta/dx of the passive coordinates


def linear(robot: RigidRobot, x: ArrayLike) -> Linear:
    """Mass, stiffness under constant efforts, and dq/dx at a pose."""
    pose = jnp.asarray(x, float)
    return Linear(np.asarray(_inertia(robot, pose)), *_statics(robot, pose))


def natural_modes(
    robot: RigidRobot, x: ArrayLike, actuators: Actuators | None = None, drives: Drives = "free"
) -> NaturalModes:
    """Natural frequencies [Hz] at `x`, drives free or their motors locked.

    `robot` must have beyond its joints what moves with them: with `actuators`, i^2 J2 as its
    `rotors` (`control.plant` builds it so).
    """
    M, K, S, tau, *_ = linear(robot, x)
    if drives == "locked":
        if actuators is None or actuators.coupling is None:
            raise InputError(
                "With its motors locked a robot with stiff transmissions cannot move; natural "
                "frequencies need motors.drives.coupling_stiffness."
            )
        i, coupling = np.asarray(actuators.ratio), actuators.coupling
        kt = np.where(tau >= 0, np.asarray(coupling.stiffness), np.asarray(coupling.reverse))
        K = K + S.T @ np.diag(i * i * kt) @ S
    square, shapes = _eigen(M, K)
    if square[0] <= 0:
        raise InputError(
            f"The pose is not stable with its drives {drives}: along one coordinate the stiffness "
            f"is negative (eigenvalue {square[0]:.3g} 1/s^2). It needs springs, or control."
        )
    return NaturalModes(np.sqrt(square) / (2 * np.pi), shapes, K, M)


def modes_by_drives(robot: Robot, payload: Payload | None, x: ArrayLike) -> dict[str, NaturalModes]:
    """Modes of a robot file at `x`: sliders free; where it has couplings, with and without motors.

    Keys say what holds the sliders.
    """
    robot.require("flexures", "modes")
    load = rigid(robot, payload)
    bare = eqx.tree_at(lambda r: r.rotors, load, jnp.zeros_like(load.rotors))
    found = {"sliders free, motors off": natural_modes(bare, x)}
    if robot.motors is not None and robot.motors.drives is not None:
        drives = actuators(robot, len(load.rotors))
        if drives.coupling is not None:
            driven = eqx.tree_at(lambda r: r.rotors, load, at_joints(robot, drives))
            found["sliders and belts free"] = natural_modes(driven, x)
            found["motors locked"] = natural_modes(driven, x, drives, "locked")
    return found


def moving_coordinates(mechanism: AbstractMechanism, found: NaturalModes) -> list[list[str]]:
    """Platform coordinates that move most in each mode.

    Of modes at one frequency any mixture is one: they are taken together.
    """
    units = np.asarray(stacked(mechanism.scales().platform))
    names = [c.name for c in mechanism.platform_coordinates]
    shapes = units * found.shapes.T
    moving = []
    for frequency in found.frequencies:
        alike = np.isclose(found.frequencies, frequency, rtol=1e-4)
        moved = np.sqrt((shapes[alike] ** 2).sum(axis=0))
        most = moved.max() / 3
        moving.append([name for name, size in zip(names, moved, strict=True) if size > most])
    return moving


def _eigen(M: np.ndarray, K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from scipy.linalg import eigh

    square, shapes = eigh(K, M)
    return square, shapes / np.abs(shapes).max(axis=0)


@eqx.filter_jit
def _inertia(robot: RigidRobot, x: Array) -> Array:
    return jnp.stack([stacked(row) for row in mass_matrix(robot, tuple(x))])


def _statics(robot: RigidRobot, x: Array) -> tuple[np.ndarray, ...]:
    """K, dq/dx, tau, q and d eta/dx.

    First and second derivatives of U, q and eta along n (n + 1) / 2 directions e_i and e_i + e_j
    make their gradients and Hessians: H_ij = (H_uu - H_ii - H_jj) / 2 for u = e_i + e_j.
    """
    n, one = len(x), np.eye(len(x))
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    directions = np.concatenate([one, *(one[[i]] + one[[j]] for i, j in pairs)])
    values, first, second = (np.asarray(part) for part in _along(robot, x, jnp.asarray(directions)))
    hessian = np.zeros((first.shape[1], n, n))
    for i in range(n):
        hessian[:, i, i] = second[i]
    for k, (i, j) in enumerate(pairs, n):
        mixed = (second[k] - second[i] - second[j]) / 2
        hessian[:, i, j] = hessian[:, j, i] = mixed
    gradient, S = first[:n, 0], first[:n, 1 : n + 1].T
    tau = np.linalg.solve(S.T, gradient)
    K = hessian[0] - np.einsum("k,kij->ij", tau, hessian[1 : n + 1])
    return K, S, tau, values[1 : n + 1], first[:n, n + 1 :].T


@eqx.filter_jit
def _along(robot: RigidRobot, x: Array, directions: Array) -> tuple[Array, Array, Array]:
    """U, q and eta at `x`, and their derivatives along `directions`, one after the other."""
    mechanism = robot.mechanism

    def stored(x: Array) -> Array:
        place = tuple(x)
        q = mechanism.inverse(place).components
        eta = mechanism.passive(q, place)
        U = potential_energy(robot, mechanism.body_poses(q, place), eta)
        return stacked((U, *q, *eta))

    def rates(x: Array, u: Array) -> tuple[Array, Array]:
        return jax.jvp(stored, (x,), (u,))

    def both(u: Array) -> tuple[Array, Array, Array]:
        (value, first), (_, second) = jax.jvp(lambda x: rates(x, u), (x,), (u,))
        return value, first, second

    value, first, second = jax.lax.map(both, directions)
    return value[0], first, second
