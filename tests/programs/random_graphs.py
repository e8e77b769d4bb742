"""Programs drawn at random, with no rule applied, and how exactly they can be computed.

A program is made from bytes, four for each operation, so that drawing and shrinking are cheap.
"""

import numpy as np

from triskele.programs.interpret import interpreted
from triskele.programs.program import OPERATIONS, Node, Port, Program, type_of

INPUTS = 3
ROUNDING = 2.0**-53
WHOLE = ("neg", "abs", "add", "sub", "mul", "min", "max", "floor", "round")
TRUTHS = ("lt", "le", "eq", "and", "or", "not", "select")
ALL = tuple(OPERATIONS)
WHOLE_NUMBERS = (0.0, 1.0, -1.0, 2.0, -3.0)
NUMBERS = (*WHOLE_NUMBERS, 0.5, -0.1, 1e3, 7e-4)


def drawn(data: bytes, operations=ALL, constants=NUMBERS) -> Program:
    """Inputs, some constants, one operation for each four bytes, and the last ones as outputs."""
    nodes = [Node("input", (k,)) for k in range(INPUTS)]
    nodes += [Node("const", (value,)) for value in constants]
    nodes += [Node("const", (True,)), Node("lt", (0, 1))]
    places = {"number": list(range(INPUTS + len(constants))), "truth": [len(nodes) - 2]}
    places["truth"].append(len(nodes) - 1)
    for start in range(0, len(data) - 3, 4):
        op = operations[data[start] % len(operations)]
        args = []
        for kind, byte in zip(OPERATIONS[op].takes, data[start + 1 : start + 4], strict=False):
            # the last ones more often, so that rules find what they look for
            known = places[kind]
            args.append(
                known[-1 - byte % 8 % len(known)] if byte < 160 else known[byte % len(known)]
            )
        places[OPERATIONS[op].gives].append(len(nodes))
        nodes.append(Node(op, tuple(args)))
    results = range(max(0, len(nodes) - 4), len(nodes))
    ports = [Port(f"in{k}") for k in range(INPUTS)]
    outputs = [Port(f"out{k}") for k in results]
    return Program(tuple(ports), tuple(nodes), tuple(outputs), tuple(results))


def all_values(program: Program, columns) -> list[np.ndarray]:
    """The value of every node."""
    places = tuple(range(len(program.nodes)))
    outputs = tuple(Port(str(k)) for k in places)
    return interpreted(Program(program.inputs, program.nodes, outputs, places), columns)


def uncertainty(program: Program, values: list[np.ndarray]) -> list[np.ndarray]:
    """How far from the exact one the value of each node can be; infinite where it can be anything.

    Of first order in the rounding of each operation, with room for rules that round elsewhere: a
    sum rounds in the last place of the sum of magnitudes, a product or quotient three times. Values
    next to a jump (a comparison, a rounding, the cut of an angle), a pole or the end of a domain
    can be anything.
    """
    off: list[np.ndarray] = []
    sizes: list[np.ndarray] = []  # of the terms of sums
    with np.errstate(all="ignore"):
        for node, value in zip(program.nodes, values, strict=True):
            args = node.operands
            v, e = [values[k] for k in args], [off[k] for k in args]
            size = np.abs(value * 1.0)
            if node.op in ("add", "sub"):
                size = sizes[args[0]] + sizes[args[1]]
            elif node.op == "neg":
                size = sizes[args[0]]
            error = _error(node, v, e, np.asarray(value), size)
            known = np.isfinite(value * 1.0) & np.isfinite(error)
            off.append(np.where(known, error, np.inf))
            sizes.append(size)
    return off


def _error(node: Node, v: list, e: list, value: np.ndarray, size: np.ndarray) -> np.ndarray:
    rounding = ROUNDING * np.abs(value * 1.0)
    nothing = np.zeros(np.shape(value))
    near = np.inf
    match node.op:
        case "input" | "const":
            return nothing
        case "neg" | "abs" | "not":
            return e[0]
        case "add" | "sub":
            return e[0] + e[1] + ROUNDING * size
        case "mul":
            return e[0] * np.abs(v[1]) + e[1] * np.abs(v[0]) + e[0] * e[1] + 3 * rounding
        case "recip":
            least = np.abs(v[0]) - 2 * e[0]
            return np.where(least > 0, e[0] / (np.abs(v[0]) * least) + 3 * rounding, near)
        case "sqrt":
            least = v[0] - 2 * e[0]
            inside = np.where(least > 0, e[0] / np.sqrt(least) + rounding, near)
            return np.where(e[0] == 0, rounding, inside)
        case "sin" | "cos" | "tanh":
            return e[0] + 2 * ROUNDING
        case "exp" | "pow2":
            return np.abs(value) * np.expm1(e[0]) + 2 * rounding
        case "atan2":
            far = np.hypot(*v) - 2 * (e[0] + e[1])
            on_cut = (v[1] <= e[1]) & (np.abs(v[0]) <= e[0])
            return np.where((far > 0) & ~on_cut, (e[0] + e[1]) / far + 2 * rounding, near)
        case "floor" | "round":
            shift = 0.0 if node.op == "floor" else 0.5
            jump = np.abs(v[0] + shift - np.rint(v[0] + shift))
            return np.where((jump > e[0]) | (e[0] == 0), nothing, near)
        case "min" | "max" | "and" | "or":
            return np.maximum(e[0], e[1])
        case "lt" | "le" | "eq":
            exact = e[0] + e[1] == 0
            return np.where(exact | (np.abs(v[0] - v[1]) > e[0] + e[1]), nothing, near)
        case "select":
            return np.where(e[0] > 0, near, np.where(v[0], e[1], e[2]))
        case _:
            raise AssertionError(node.op)


def truths(program: Program) -> list[bool]:
    """Whether each output is a truth value."""
    return [type_of(program.nodes[place]) == "truth" for place in program.results]
