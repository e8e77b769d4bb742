"""Compiled functions for controllers and long tables: one robot, its numbers burned in.

The general laws take the robot as an argument: one program serves all robots of a kind.
A handle gives that up for speed. Its numbers are constants of the machine code, and zeros of
the inertia cost nothing. Change the robot, and make a new handle.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from triskele.dynamics.forward import forward_dynamics
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import RigidRobot
from triskele.errors import InputError
from triskele.numerics import Scalars, tabulate
from triskele.programs import device, kernel
from triskele.programs.cuda import CudaKernel
from triskele.programs.program import Port, Program

Law = Callable[[RigidRobot, Scalars, Scalars, Scalars], Scalars]


class StateFunction:
    """A law of one robot: three vectors of n numbers in, one out.

    Called with (n,) arrays for one state, or with (N, n) arrays for N of them; JAX arrays
    come back as JAX arrays, on the device on which they are.
    """

    def __init__(self, law: Law, robot: RigidRobot, third: str, result: str) -> None:
        self._law, self._n = eqx.Partial(law, robot), len(robot.rotors)
        self._ports = _ports(robot, ("x", "xd", third)), _ports(robot, (result,))
        self._shape = (self._n,)
        self._handle = kernel.burned_in(self._law, *(self._n,) * 3)
        #: the law at one state into an array: into(out, x, xd, third), n doubles each, unchecked
        self.into = self._into if self._handle is None else self._handle.into

    @cached_property
    def program(self) -> Program | None:
        """The law as a program, its inputs and outputs named; None if it is not straight-line."""
        law = kernel.program_of(self._law, *(self._n,) * 3)
        inputs, outputs = self._ports
        return None if law is None else replace(law, inputs=inputs, outputs=outputs)

    def __call__(self, x: ArrayLike, xd: ArrayLike, third: ArrayLike) -> np.ndarray:
        """The law at one state, or at N of them."""
        handle = self._handle
        if handle is not None:
            try:
                if x.shape == xd.shape == third.shape == self._shape:  # pyright: ignore[reportAttributeAccessIssue]
                    return handle.at(x, xd, third)  # pyright: ignore[reportArgumentType]
            except AttributeError:  # lists have no shape
                pass
        return self._of_any(x, xd, third)

    @cached_property
    def gpu(self) -> CudaKernel:
        """The law as one kernel of a GPU: gpu(x, xd, third, out=result), arrays on the device.

        Arrays are those of CuPy, PyTorch or `programs.device.DeviceArray`, and JAX's as input.
        """
        program = self.program
        assert program is not None, "only programs are compiled for a GPU"
        return CudaKernel(program)

    def _into(self, out: np.ndarray, *state: ArrayLike) -> None:
        out[...] = self._of_any(*state)

    def _of_any(self, *state: ArrayLike) -> np.ndarray:
        shapes = [np.shape(part) for part in state]
        shape = shapes[0]
        if len(set(shapes)) != 1 or shape[-1:] != self._shape or len(shape) > 2 or 0 in shape:
            raise InputError(
                f"A state is three arrays of {self._n} numbers, and N states are three arrays "
                f"(N, {self._n}); given are {shapes[0]}, {shapes[1]} and {shapes[2]}."
            )
        if any(isinstance(part, jax.Array) for part in state):
            arrays = [jnp.asarray(part, float) for part in state]
            if len(shape) == 2 and device.holds(*arrays) and self.program is not None:
                return self.gpu.of_jax(*arrays)  # pyright: ignore[reportReturnType]
            return _on_device(self._law, len(shape) == 1, *arrays)  # pyright: ignore[reportReturnType]
        arrays = [np.asarray(part, float) for part in state]
        rows = [array[None] if array.ndim == 1 else array for array in arrays]
        if self._handle is not None:
            found = self._handle.of_rows(*rows)
        else:
            found = np.stack(tabulate(self._law)(*rows), axis=-1)
        return found[0] if arrays[0].ndim == 1 else found


@eqx.filter_jit
def _on_device(law: Callable, one: bool, *state: jax.Array) -> jax.Array:
    columns = (tuple(part) if one else tuple(part.T) for part in state)
    return jnp.stack(law(*columns), axis=-1)


def _ports(robot: RigidRobot, quantities: Sequence[str]) -> tuple[Port, ...]:
    """Names and units of platform coordinates, their rates, and efforts."""
    platform, joints = robot.mechanism.platform_coordinates, robot.mechanism.joint_coordinates
    rates = {"x": "", "xd": "/s", "xdd": "/s^2"}
    found = []
    for quantity in quantities:
        if quantity == "tau":
            units = {"rad": "N m", "m": "N"}
            found += [Port(f"tau_{joint.name}", units[joint.unit]) for joint in joints]
        else:
            order, per = quantity[1:], rates[quantity]
            found += [Port(c.name + order, c.unit + per) for c in platform]
    return tuple(found)


def torque_function(robot: RigidRobot) -> StateFunction:
    """Efforts tau(x, xd, xdd) [N m, N], for one state, (n,) arrays, or for N of them, (N, n)."""
    return StateFunction(inverse_dynamics, robot, "xdd", "tau")


def acceleration_function(robot: RigidRobot) -> StateFunction:
    """Accelerations xdd(x, xd, tau), for one state, (n,) arrays, or for N of them, (N, n)."""
    return StateFunction(forward_dynamics, robot, "tau", "xdd")
