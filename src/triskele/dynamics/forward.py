"""Forward dynamics of any mechanism: the acceleration that efforts cause.

In platform coordinates, with dq/dx = -B^-1 A and dT_j the change of all poses with x_j,

    M xdd + h = (dq/dx)' tau                                                           (1)
    M_ij = sum_b tr(dT_i P_b dT_j') + sum_k I_k (dq_k/dx_i)(dq_k/dx_j)                 (2)

h is what inverse dynamics asks for at xdd = 0. M is positive definite wherever the legs are
not stretched, also in the singularities of type 2, where the motors lose the platform.

`equations_of_motion` does not use (2): it asks inverse dynamics n + 1 times, in a loop, for
h and for each column of M, the force of a unit acceleration from rest without gravity. The
loop keeps XLA from copying one half of the model into the other, which took 35 s to compile.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from triskele.dynamics.inverse import generalised_forces, motor_efforts, spring_forces
from triskele.dynamics.robot import RigidRobot
from triskele.dynamics.wrenches import Frames, inertial_wrenches, motion_state, power, to_platform
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.velocity import ClosureJacobians, closure_jacobians
from triskele.numerics import (
    Components,
    Matrix,
    Scalar,
    Scalars,
    as_scalars,
    at_known,
    full_like,
    jvp,
    library,
    safe_divide,
    solve,
    zeros_like,
)
from triskele.programs import symbols


class Equations(NamedTuple):
    """M and h of (1), and the Jacobian that hands efforts to the platform."""

    M: Matrix
    h: Scalars
    closure: ClosureJacobians


@at_known
def forward_dynamics(robot: RigidRobot, x: Components, xd: Components, tau: Components) -> Scalars:
    """Platform acceleration xdd under the efforts `tau` [N m, N] of the drives."""
    M, h, closure = equations_of_motion(robot, x, xd)
    push = to_platform(closure, as_scalars(tau), tuple(-force for force in h))
    return solve(M, push)


@at_known
def equations_of_motion(robot: RigidRobot, x: Components, xd: Components) -> Equations:
    """M, h and the closure Jacobians of (1) at a state, in the working mode."""
    x, xd = as_scalars(x), as_scalars(xd)
    mechanism, n = robot.mechanism, len(x)
    q = mechanism.inverse(x).components
    closure = closure_jacobians(mechanism, q, x)
    if library(*x, *xd) is symbols:
        return _written(robot, q, x, xd, closure)
    ones = jnp.ones((n + 1, *jnp.shape(x[0])))
    first = jnp.arange(n + 1).reshape(-1, *(1,) * jnp.ndim(x[0]))
    speeds = tuple(jnp.where(first == n, speed, 0.0) for speed in xd)
    pushes = tuple(jnp.where(first == j, ones, 0.0) for j in range(n))

    def case(_: None, given: tuple[Scalars, Scalars, Scalar]) -> tuple[None, Scalars]:
        speed, push, weight = given
        weightless = eqx.tree_at(
            lambda robot: (robot.gravity, robot.springs),
            robot,
            (weight * robot.gravity, (None,) * len(robot.springs)),
        )
        state = motion_state(mechanism, x, speed, push)
        f_q, f_x = generalised_forces(weightless, state)
        f_q = tuple(a + b for a, b in zip(f_q, motor_efforts(robot, state), strict=True))
        return None, to_platform(state.closure, f_q, f_x)

    weight = (jnp.arange(n + 1) == n).astype(float)
    _, forces = jax.lax.scan(case, None, (speeds, pushes, weight))
    columns = [[jnp.asarray(force)[j] for j in range(n + 1)] for force in forces]
    M = tuple(tuple(column[:n]) for column in columns)
    held = to_platform(closure, *spring_forces(robot, q, x))
    h = tuple(column[n] + spring for column, spring in zip(columns, held, strict=True))
    return Equations(M, h, closure)


def _written(
    robot: RigidRobot, q: Scalars, x: Scalars, xd: Scalars, closure: ClosureJacobians
) -> Equations:
    """The same by (2), for a program: it has no copies, whatever is written twice."""
    state = motion_state(robot.mechanism, x, xd, tuple(zeros_like(value) for value in x))
    f_q, f_x = generalised_forces(robot, state)
    f_q = tuple(a + b for a, b in zip(f_q, motor_efforts(robot, state), strict=True))
    return Equations(
        _mass_matrix(robot, q, x, closure), to_platform(state.closure, f_q, f_x), closure
    )


@at_known
def mass_matrix(robot: RigidRobot, x: Components) -> Matrix:
    """M of (2) [kg, kg m, kg m^2], symmetric, rows of scalars."""
    x = as_scalars(x)
    q = robot.mechanism.inverse(x).components
    return _mass_matrix(robot, q, x, closure_jacobians(robot.mechanism, q, x))


@at_known
def joint_mass_matrix(robot: RigidRobot, x: Components) -> Matrix:
    """J' M J: the inertia that the motors feel [kg m^2, kg]; large near type 2 singularities."""
    x = as_scalars(x)
    q = robot.mechanism.inverse(x).components
    A, B = closure_jacobians(robot.mechanism, q, x)
    M = _mass_matrix(robot, q, x, ClosureJacobians(A, B))
    n = range(len(B))
    J = [solve(A, tuple(-b * float(i == j) for i, b in enumerate(B))) for j in n]
    MJ = [tuple(sum(m * v for m, v in zip(row, J[j], strict=True)) for row in M) for j in n]
    return tuple(
        tuple(sum(a * b for a, b in zip(J[i], MJ[j], strict=True)) for j in n)  # pyright: ignore[reportReturnType]
        for i in n
    )


def _mass_matrix(
    robot: RigidRobot, q: Components, x: Components, closure: ClosureJacobians
) -> Matrix:
    moves, poses = zip(
        *(_direction(robot.mechanism, q, x, closure, j) for j in range(len(x))), strict=True
    )
    W = [inertial_wrenches(robot, dT, (0.0, 0.0, 0.0)) for dT in poses]
    n, rows = range(len(x)), []
    for i in n:
        row = []
        for j in n:
            if j < i:
                row.append(rows[j][i])
                continue
            motors = zip(robot.rotors, moves[i], moves[j], strict=True)
            spinning = sum(inertia * a * b for inertia, a, b in motors)
            row.append(power(poses[i], W[j]) + spinning)
        rows.append(tuple(row))
    return tuple(rows)


def _direction(
    mechanism: AbstractMechanism, q: Components, x: Components, closure: ClosureJacobians, j: int
) -> tuple[Scalars, Frames]:
    """dq/dx_j and dT/dx_j; entries of the poses that never move are structural zeros."""
    q, x = as_scalars(q), as_scalars(x)
    A, B = closure
    unit = tuple(full_like(value, float(k == j)) for k, value in enumerate(x))
    turn = tuple(-safe_divide(row[j], b) for row, b in zip(A, B, strict=True))
    _, dT = jvp(mechanism.body_poses, (q, x), (turn, unit))
    still = [type(leaf) is float for leaf in jax.tree.leaves(mechanism.body_poses(q, x))]
    leaves = jax.tree.leaves(dT)
    changes = [0.0 if fixed else leaf for leaf, fixed in zip(leaves, still, strict=True)]
    return turn, jax.tree.unflatten(jax.tree.structure(dT), changes)
