"""A program back in JAX: a law without its detours, for loops, integrators and users' own `jit`.

The operations are those of the program; what has been simplified away is not traced, compiled or
differentiated again. sin, cos and the rest are JAX's own.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from triskele.programs.program import Program

_JAX: dict[str, Callable] = {
    "neg": jnp.negative,
    "abs": jnp.abs,
    "sqrt": jnp.sqrt,
    "recip": lambda x: 1.0 / x,
    "floor": jnp.floor,
    "round": jnp.round,
    "pow2": jnp.exp2,
    "sin": jnp.sin,
    "cos": jnp.cos,
    "exp": jnp.exp,
    "tanh": jnp.tanh,
    "add": jax.lax.add,
    "sub": jax.lax.sub,
    "mul": jax.lax.mul,
    "min": jnp.minimum,
    "max": jnp.maximum,
    "atan2": jnp.arctan2,
    "lt": jax.lax.lt,
    "le": jax.lax.le,
    "eq": jax.lax.eq,
    "and": jnp.logical_and,
    "or": jnp.logical_or,
    "not": jnp.logical_not,
    "select": jax.lax.select,
}


def in_jax(program: Program) -> Callable[..., list[jax.Array]]:
    """A function of the inputs, numbers or (N,) arrays of JAX, that returns the outputs."""

    def of(*inputs: jax.Array) -> list[jax.Array]:
        columns = jnp.broadcast_arrays(*(jnp.asarray(column, float) for column in inputs))
        shape = columns[0].shape if columns else ()
        values: list = []
        for node in program.nodes:
            if node.op == "input":
                values.append(columns[node.args[0]])
            elif node.op == "const":
                values.append(jnp.full(shape, node.args[0]))
            else:
                values.append(_JAX[node.op](*(values[arg] for arg in node.args)))
        return [values[place] for place in program.results]

    return of
