"""Compiled functions for controllers and long tables: one robot, its numbers burned in.

The general laws take the robot as an argument: one compilation serves all robots of a kind.
A handle gives that up for speed. Its numbers are constants of the compiled code, zeros of
the inertia cost nothing, and a Delta with thin rods and no fourth axis runs on the closed
form of `thin_delta.py`. Change the robot, and make a new handle.
"""

from collections.abc import Callable

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from triskele.dynamics import thin_delta
from triskele.dynamics.forward import forward_dynamics
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import RigidRobot
from triskele.errors import InputError
from triskele.numerics import Scalars, batch

Kernel = Callable[[Scalars, Scalars, Scalars], Scalars]
Handle = Callable[[ArrayLike, ArrayLike, ArrayLike], np.ndarray]


def torque_function(robot: RigidRobot) -> Handle:
    """Efforts tau(x, xd, xdd) [N m, N], for one state, (n,) arrays, or for N of them, (N, n)."""
    thin = thin_delta.of(robot)
    fixed = _numbers(robot)
    kernel = eqx.Partial(inverse_dynamics, fixed) if thin is None else thin.inverse_dynamics
    return _handle(kernel, len(robot.rotors))


def acceleration_function(robot: RigidRobot) -> Handle:
    """Accelerations xdd(x, xd, tau), for one state, (n,) arrays, or for N of them, (N, n)."""
    return _handle(_forward(robot), len(robot.rotors))


Trajectory = Callable[[ArrayLike, ArrayLike], np.ndarray]


def trajectory_function(
    robot: RigidRobot, efforts: Callable[[jax.Array], jax.Array], times: ArrayLike, tolerance: float
) -> Trajectory:
    """Platform coordinates x at `times` [s], from x and xd at the first, driven by `efforts`.

    The bare integrator of `simulate`, for many runs: no samples between, no energy, and no
    check that the robot stays in its workspace.
    """
    kernel, instants, n = _forward(robot), np.asarray(times, float), len(robot.rotors)

    def rates(t: jax.Array, y: jax.Array, _: None) -> jax.Array:
        xdd = kernel(tuple(y[:n]), tuple(y[n:]), tuple(efforts(t)))
        return jnp.concatenate([y[n:], jnp.stack(xdd)])

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


def _forward(robot: RigidRobot) -> Kernel:
    """Forward dynamics of `robot`, in closed form where there is one."""
    thin, fixed = thin_delta.of(robot), _numbers(robot)
    return eqx.Partial(forward_dynamics, fixed) if thin is None else thin.forward_dynamics


def _numbers(robot: RigidRobot) -> RigidRobot:
    """The robot with NumPy leaves, which compiled code takes as constants."""
    return jax.tree.map(np.asarray, robot)


def _handle(kernel: Kernel, n: int) -> Handle:
    """`kernel` compiled for one state and for many; both read plain NumPy arrays."""

    def of_packed(state: jax.Array) -> jax.Array:
        parts = (tuple(state[k * n : (k + 1) * n]) for k in range(3))
        return jnp.stack(kernel(*parts))

    one = jax.jit(of_packed)
    many = batch(kernel)

    def call(x: ArrayLike, xd: ArrayLike, third: ArrayLike) -> np.ndarray:
        shape = np.shape(x)
        if not shape == np.shape(xd) == np.shape(third) or shape[-1:] != (n,) or len(shape) > 2:
            raise InputError(
                f"A state is three arrays of {n} numbers, and N states are three arrays (N, {n}); "
                f"given are {shape}, {np.shape(xd)} and {np.shape(third)}."
            )
        if len(shape) == 1:
            return np.asarray(one(np.concatenate([x, xd, third], dtype=float)))
        return np.stack(many(x, xd, third), axis=-1)

    return call
