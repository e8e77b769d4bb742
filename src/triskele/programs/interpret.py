"""A program computed with NumPy, operation by operation: slow, plain, the oracle of all others."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from triskele.programs.program import Program

_NUMPY = {
    "neg": np.negative,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "recip": np.reciprocal,
    "floor": np.floor,
    "round": np.rint,
    "pow2": np.exp2,
    "sin": np.sin,
    "cos": np.cos,
    "exp": np.exp,
    "tanh": np.tanh,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "atan2": np.arctan2,
    "lt": np.less,
    "le": np.less_equal,
    "eq": np.equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "select": np.where,
}


def interpreted(
    program: Program, inputs: Sequence[ArrayLike], kind: type[np.floating] = np.float64
) -> list[np.ndarray]:
    """The outputs of `program` for inputs that are numbers or (N,) arrays, computed in `kind`."""
    columns = [np.asarray(column, kind) for column in inputs]
    values: list = []
    with np.errstate(all="ignore"):
        for node in program.nodes:
            if node.op == "input":
                values.append(columns[node.args[0]])
            elif node.op == "const":
                value = node.args[0]
                values.append(value if isinstance(value, bool) else kind(value))
            else:
                values.append(_NUMPY[node.op](*(values[arg] for arg in node.args)))
    shape = np.broadcast_shapes(*(column.shape for column in columns))
    return [np.broadcast_to(np.asarray(values[place]), shape) for place in program.results]
