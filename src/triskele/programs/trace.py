"""From a function written in JAX to a `Program`.

The function is traced by JAX, at one configuration, to a list of primitive operations. Arrays of
known shape are taken apart into their entries: what remains is arithmetic on numbers. Inner
functions (`jit`, `custom_jvp`) are written out in place, and counted loops (`scan`) as often as
they run. Laws on scalars need none of this (`symbols.py`); what computes with JAX's arrays does.

What is not straight-line, a `while` loop or a call of LAPACK, raises `NotStraightLine`.
"""

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.extend
import numpy as np

from triskele.programs.program import Port, Program
from triskele.programs.simplify import Graph
from triskele.programs.symbols import MOST_CHOICES, NotStraightLine, named, power

_LONGEST_SCAN = 64  #: loops that run more often are not written out


#: what JAX raises where Python asks a traced number for its value
_BY_VALUE = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)


class _Tracing(threading.local):
    """Whether functions are traced into programs just now: they then keep sin, cos, atan2 whole."""

    depth = 0


_tracing = _Tracing()


def tracing() -> bool:
    """Whether a function is being traced into a program, by this thread."""
    return _tracing.depth > 0


def trace(function: Callable, arguments: Sequence, ports: Sequence[Port] | None = None) -> Program:
    """The program of `function` of `arguments`, pytrees of arrays of which only shapes count.

    Inputs are the entries of all leaves in order; outputs are the entries of the leaves of
    what it returns. They are named by their places, unless `ports` name the inputs.

    >>> import triskele.numerics  # JAX computes in doubles
    >>> print(trace(lambda a, b: a * b + a, [0.0, 0.0], [Port("a"), Port("b")]))
    %0 = input a
    %1 = input b
    %2 = mul %0 %1
    %3 = add %0 %2
    out = %3
    """
    shapes = jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct(np.shape(leaf), float), tuple(arguments)
    )
    _tracing.depth += 1
    try:
        closed, out = jax.make_jaxpr(function, return_shape=True)(*shapes)
    except _BY_VALUE as error:
        raise NotStraightLine(f"it decides by the values of its arguments ({error})") from error
    finally:
        _tracing.depth -= 1
    graph, number, values = Graph(), 0, []
    for leaf in jax.tree.leaves(shapes):
        size = math.prod(leaf.shape)
        places = [graph.input(number + k) for k in range(size)]
        number += size
        values.append(places[0] if not leaf.shape else np.array(places, int).reshape(leaf.shape))
    found = _written_out(graph, closed.jaxpr, closed.consts, values)
    inputs = ports or named(jax.tree_util.tree_leaves_with_path(shapes))
    outputs = named(jax.tree_util.tree_leaves_with_path(out))
    results = [int(place) for value in found for place in np.ravel(np.asarray(value))]
    return graph.program(inputs, outputs, results)


# Writing out. A value is the place of a number, or an array of places.

Value = Any  #: int, or an integer array


def _written_out(graph: Graph, jaxpr: Any, consts: Sequence, arguments: Sequence[Value]) -> list:  # noqa: ANN401
    """Places of the outputs of a list of primitive operations."""
    places: dict[Any, Value] = {}
    literal = jax.extend.core.Literal

    def read(atom: Any) -> Value:  # noqa: ANN401
        return _constant(graph, atom.val) if isinstance(atom, literal) else places[atom]

    for variables, values in ((jaxpr.constvars, map(lambda c: _constant(graph, c), consts)),
                              (jaxpr.invars, arguments)):  # fmt: skip
        places.update(zip(variables, values, strict=True))
    for equation in jaxpr.eqns:
        name, values = equation.primitive.name, [read(atom) for atom in equation.invars]
        _check_types(name, equation)
        if name in _ARITHMETIC:
            found = [_entrywise(graph, _ARITHMETIC[name], values, equation.outvars[0].aval.shape)]
        elif name in _SPECIAL:
            result = _SPECIAL[name](graph, values, equation)
            found = result if isinstance(result, list) else [result]
        else:
            raise NotStraightLine(f"there is no rule for {name}")
        places.update(zip(equation.outvars, found, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _check_types(name: str, equation: Any) -> None:  # noqa: ANN401
    """Refuse what JAX computes otherwise than in doubles: short floats, unsigned numbers, bits."""
    for variable in equation.outvars:
        dtype = getattr(variable.aval, "dtype", None)
        known = isinstance(dtype, np.dtype) and (dtype.kind in "bi" or dtype == np.float64)
        if not known:
            raise NotStraightLine(f"numbers of type {dtype} ({name})")
    truths = [atom.aval.dtype == np.bool_ for atom in equation.invars]
    if name in _OF_NUMBERS and any(truths):
        raise NotStraightLine(f"arithmetic on truth values ({name})")
    if name in _OF_TRUTHS and not all(truths):
        raise NotStraightLine(f"bits of whole numbers ({name})")


def _constant(graph: Graph, value: Any) -> Value:  # noqa: ANN401
    array = np.asarray(value)
    if array.dtype == object or array.dtype.kind not in "bfiu":
        raise NotStraightLine(f"a constant of type {array.dtype}")
    plain = bool if array.dtype == np.bool_ else float
    if not array.shape:
        return graph.const(plain(array))
    flat = [graph.const(plain(entry)) for entry in array.ravel()]
    return np.array(flat, int).reshape(array.shape)


def _entrywise(graph: Graph, make: Callable, values: list[Value], shape: tuple) -> Value:
    """`make` of the operands, entry by entry."""
    if not shape:
        return make(graph, *(value if isinstance(value, int) else int(value) for value in values))
    spread = [np.broadcast_to(np.asarray(value, int), shape).ravel() for value in values]
    flat = [make(graph, *map(int, entries)) for entries in zip(*spread, strict=True)]
    return np.array(flat, int).reshape(shape)


def _op(name: str) -> Callable:
    return lambda g, *args: g.emit(name, *args)


def _divided(g: Graph, a: int, b: int) -> int:
    return g.emit("mul", a, g.emit("recip", b))


def _sign(g: Graph, a: int) -> int:
    zero = g.const(0.0)
    below = g.emit("select", g.emit("lt", a, zero), g.const(-1.0), a)  # itself: 0, or no number
    return g.emit("select", g.emit("lt", zero, a), g.const(1.0), below)


def _clamped(g: Graph, least: int, a: int, most: int) -> int:
    return g.emit("min", g.emit("max", least, a), most)


def _tangent(g: Graph, a: int) -> int:
    return _divided(g, g.emit("sin", a), g.emit("cos", a))


def _arcsine(g: Graph, a: int) -> int:
    return g.emit("atan2", a, _leg(g, a))


def _arccosine(g: Graph, a: int) -> int:
    return g.emit("atan2", _leg(g, a), a)


def _one_minus_square(g: Graph, a: int) -> int:
    """1 - a^2, without cancellation near 1."""
    one = g.const(1.0)
    return g.emit("mul", g.emit("sub", one, a), g.emit("add", one, a))


def _leg(g: Graph, a: int) -> int:
    """sqrt(1 - a^2), without cancellation near 1."""
    return g.emit("sqrt", _one_minus_square(g, a))


def _finite(g: Graph, a: int) -> int:
    return g.emit("lt", g.emit("abs", a), g.const(math.inf))


_ARITHMETIC: dict[str, Callable] = {
    **{name: _op(name) for name in ("add", "sub", "mul", "neg", "abs", "sqrt", "floor", "sin")},
    **{name: _op(name) for name in ("cos", "exp", "tanh", "min", "max", "lt", "le", "eq")},
    **{name: _op(name) for name in ("and", "or", "not", "atan2")},
    "add_any": _op("add"),
    "gt": lambda g, a, b: g.emit("lt", b, a),
    "ge": lambda g, a, b: g.emit("le", b, a),
    "ne": lambda g, a, b: g.emit("not", g.emit("eq", a, b)),
    "square": lambda g, a: g.emit("mul", a, a),
    "one_minus_square": _one_minus_square,
    "rsqrt": lambda g, a: g.emit("recip", g.emit("sqrt", a)),
    "ceil": lambda g, a: g.emit("neg", g.emit("floor", g.emit("neg", a))),
    "sign": _sign,
    "tan": _tangent,
    "atan": lambda g, a: g.emit("atan2", a, g.const(1.0)),
    "asin": _arcsine,
    "acos": _arccosine,
    "clamp": _clamped,
    "is_finite": _finite,
    "copy": lambda g, a: a,
    "copy_p": lambda g, a: a,
    "stop_gradient": lambda g, a: a,
}
_OF_TRUTHS = frozenset({"and", "or", "not", "reduce_and", "reduce_or"})
_OF_NUMBERS = frozenset(_ARITHMETIC) - _OF_TRUTHS - {"copy", "copy_p", "stop_gradient"}
_OF_NUMBERS |= {"div", "integer_pow", "pow", "round", "rem", "cumsum", "dot_general"}
_OF_NUMBERS |= {f"reduce_{name}" for name in ("sum", "prod", "min", "max")}


# Operations that need their parameters. Each takes the graph, the values and the equation.


def _inner(name: str) -> Callable:
    def of(graph: Graph, values: list, equation: Any) -> list:  # noqa: ANN401
        closed = equation.params[name]
        return _written_out(graph, closed.jaxpr, closed.consts, values)

    return of


def _quotient(graph: Graph, values: list, equation: Any) -> Value:  # noqa: ANN401
    """a / b; of whole numbers without the rest, which only known ones have."""

    def whole(g: Graph, a: int, b: int) -> int:
        above, below = g.value(a), g.value(b)
        if above is None or not below:
            raise NotStraightLine("a quotient of whole numbers")
        return g.const(math.trunc(above / below))

    make = _divided if equation.outvars[0].aval.dtype == np.float64 else whole
    return _entrywise(graph, make, values, equation.outvars[0].aval.shape)


def _power(graph: Graph, values: list, equation: Any) -> Value:  # noqa: ANN401
    exponent = equation.params["y"]

    shape = equation.outvars[0].aval.shape
    return _entrywise(graph, lambda g, a: power(g, a, exponent), values, shape)


def _to_power(graph: Graph, values: list, equation: Any) -> Value:  # noqa: ANN401
    exponent = graph.value(int(values[1])) if np.ndim(values[1]) == 0 else None
    if exponent == 0.5:
        return _entrywise(graph, _op("sqrt"), values[:1], equation.outvars[0].aval.shape)
    raise NotStraightLine("a power that is no whole number")


def _rounded(graph: Graph, values: list, equation: Any) -> Value:  # noqa: ANN401
    if int(equation.params["rounding_method"]) != 1:
        raise NotStraightLine("rounding of halves away from zero")
    return _entrywise(graph, _op("round"), values, equation.outvars[0].aval.shape)


def _chosen(graph: Graph, values: list, equation: Any) -> Value:  # noqa: ANN401
    if len(values) != 3 or equation.invars[0].aval.dtype != np.bool_:
        raise NotStraightLine("a choice between more than two")
    shape = equation.outvars[0].aval.shape
    if equation.outvars[0].aval.dtype == np.bool_:

        def make(g: Graph, condition: int, no: int, yes: int) -> int:
            one = g.emit("and", condition, yes)
            return g.emit("or", one, g.emit("and", g.emit("not", condition), no))
    else:

        def make(g: Graph, condition: int, no: int, yes: int) -> int:
            return g.emit("select", condition, yes, no)

    return _entrywise(graph, make, values, shape)


def _converted(graph: Graph, values: list, equation: Any) -> Value:  # noqa: ANN401
    before, after = equation.invars[0].aval.dtype, np.dtype(equation.params["new_dtype"])
    shape = equation.outvars[0].aval.shape
    if before == np.bool_ and after != np.bool_:

        def make(g: Graph, a: int) -> int:
            return g.emit("select", a, g.const(1.0), g.const(0.0))
    elif before != np.bool_ and after == np.bool_:

        def make(g: Graph, a: int) -> int:
            return g.emit("not", g.emit("eq", a, g.const(0.0)))
    elif before.kind == "f" and after.kind in "iu":
        raise NotStraightLine("numbers made whole")
    else:
        return values[0]
    return _entrywise(graph, make, values, shape)


def _shaped(of: Callable[[np.ndarray, Any], np.ndarray]) -> Callable:
    """An operation that moves entries about: `of` the array of places and the parameters."""

    def moved(graph: Graph, values: list, equation: Any) -> Value:  # noqa: ANN401
        result = of(np.asarray(values[0], int), equation)
        return result if np.ndim(result) else int(result)

    return moved


def _sliced(a: np.ndarray, equation: Any) -> np.ndarray:  # noqa: ANN401
    p = equation.params
    steps = p["strides"] or (1,) * a.ndim
    return a[
        tuple(slice(*s) for s in zip(p["start_indices"], p["limit_indices"], steps, strict=True))
    ]


def _spread(a: np.ndarray, equation: Any) -> np.ndarray:  # noqa: ANN401
    shape, axes = equation.params["shape"], equation.params["broadcast_dimensions"]
    seen = [1] * len(shape)
    for axis, size in zip(axes, a.shape, strict=True):
        seen[axis] = size
    return np.broadcast_to(a.reshape(seen), shape)


def _joined(graph: Graph, values: list, equation: Any) -> Value:  # noqa: ANN401
    return np.concatenate(values, axis=equation.params["dimension"])


def _stacked(graph: Graph, values: list, equation: Any) -> Value:  # noqa: ANN401
    axis = equation.params.get("axis", equation.params.get("dimension", 0))
    return np.stack([np.asarray(value, int) for value in values], axis=axis)


def _parted(graph: Graph, values: list, equation: Any) -> list:  # noqa: ANN401
    ends = np.cumsum(equation.params["sizes"])[:-1]
    return list(np.split(values[0], ends, axis=equation.params["axis"]))


def _unstacked(graph: Graph, values: list, equation: Any) -> list:  # noqa: ANN401
    return [_scalar(a) for a in np.moveaxis(np.asarray(values[0], int), equation.params["axis"], 0)]


def _padded(graph: Graph, values: list, equation: Any) -> Value:  # noqa: ANN401
    """An array with a value before, after and between its entries, or without some at its ends."""
    a = np.asarray(values[0], int)
    result = np.full(equation.outvars[0].aval.shape, int(values[1]))
    places = [
        low + (1 + between) * np.arange(size)
        for size, (low, _, between) in zip(a.shape, equation.params["padding_config"], strict=True)
    ]
    kept = [(0 <= at) & (at < size) for at, size in zip(places, result.shape, strict=True)]
    result[np.ix_(*(at[k] for at, k in zip(places, kept, strict=True)))] = a[np.ix_(*kept)]
    return result


def _gathered(op: str) -> Callable:
    """A sum, product, least or greatest along axes."""

    def of(graph: Graph, values: list, equation: Any) -> Value:  # noqa: ANN401
        a, axes = np.asarray(values[0], int), equation.params["axes"]
        kept = [axis for axis in range(a.ndim) if axis not in axes]
        shape = tuple(a.shape[axis] for axis in kept)
        length = math.prod(a.shape[axis] for axis in axes)
        rows = a.transpose(*kept, *axes).reshape(math.prod(shape), length)
        flat = [_together(graph, op, row.tolist()) for row in rows]
        return np.array(flat, int).reshape(shape) if shape else flat[0]

    return of


def _summed_up(graph: Graph, values: list, equation: Any) -> Value:  # noqa: ANN401
    """Sums of all entries up to each, along an axis."""
    axis = equation.params["axis"]
    rows = list(np.moveaxis(np.asarray(values[0], int), axis, 0))
    rows = rows[::-1] if equation.params["reverse"] else rows
    for k in range(1, len(rows)):
        rows[k] = np.asarray(_entrywise(graph, _op("add"), rows[k - 1 : k + 1], rows[k].shape))
    return np.stack(rows[::-1] if equation.params["reverse"] else rows, axis=axis)


def _remainder(graph: Graph, values: list, equation: Any) -> Value:  # noqa: ANN401
    """What is left of a division by a power of two, with the sign of what is divided."""

    def make(g: Graph, a: int, b: int) -> int:
        k = g.value(b)
        if k is None or k <= 0 or math.frexp(k)[0] != 0.5:
            raise NotStraightLine("a remainder")
        size = g.emit("abs", a)
        whole = g.emit("floor", g.emit("mul", g.const(1 / k), size))
        rest = g.emit("sub", size, g.emit("mul", g.const(k), whole))
        return g.emit("select", g.emit("lt", a, g.const(0.0)), g.emit("neg", rest), rest)

    return _entrywise(graph, make, values, equation.outvars[0].aval.shape)


_OF_NOTHING: dict[str, float | bool] = {
    "add": 0.0, "mul": 1.0, "min": math.inf, "max": -math.inf, "and": True, "or": False,
}  # fmt: skip


def _together(graph: Graph, op: str, places: list[int]) -> int:
    if not places:
        return graph.const(_OF_NOTHING[op])
    total = places[0]
    for place in places[1:]:
        total = graph.emit(op, total, place)
    return total


def _contracted(graph: Graph, values: list, equation: Any) -> Value:  # noqa: ANN401
    """A product of arrays, summed along some axes."""
    (over_a, over_b), (with_a, with_b) = equation.params["dimension_numbers"]
    a, b = (np.asarray(value, int) for value in values)
    free_a = [k for k in range(a.ndim) if k not in (*over_a, *with_a)]
    free_b = [k for k in range(b.ndim) if k not in (*over_b, *with_b)]
    shape = equation.outvars[0].aval.shape
    batches = math.prod(a.shape[k] for k in with_a)
    length = math.prod(a.shape[k] for k in over_a)
    rows, columns = (math.prod(x.shape[k] for k in f) for x, f in ((a, free_a), (b, free_b)))
    left = a.transpose(*with_a, *free_a, *over_a).reshape(batches, rows, length)
    right = b.transpose(*with_b, *free_b, *over_b).reshape(batches, columns, length)
    flat = [
        _together(graph, "add", [graph.emit("mul", p, q) for p, q in zip(u, v, strict=True)])
        for rows, columns in zip(left.tolist(), right.tolist(), strict=True)
        for u in rows
        for v in columns
    ]
    return np.array(flat, int).reshape(shape) if shape else flat[0]


def _counted(graph: Graph, values: list, equation: Any) -> Value:  # noqa: ANN401
    p = equation.params
    shape, axis = p["shape"], p["dimension"]
    along = np.arange(shape[axis], dtype=float)
    view = [1] * len(shape)
    view[axis] = -1
    return _constant(graph, np.broadcast_to(along.reshape(view), shape))


def _looped(graph: Graph, values: list, equation: Any) -> list:  # noqa: ANN401
    """A loop that runs a known number of times, written out."""
    p = equation.params
    if p["length"] > _LONGEST_SCAN:
        raise NotStraightLine(f"a loop of {p['length']} rounds")
    consts, carried = _split(p)
    fixed, state = values[:consts], list(values[consts : consts + carried])
    series = [np.asarray(value, int) for value in values[consts + carried :]]
    rounds = range(p["length"])
    rows: list[list] = []
    for k in reversed(rounds) if p["reverse"] else rounds:
        entries = [_scalar(array[k]) for array in series]
        found = _written_out(graph, p["jaxpr"].jaxpr, p["jaxpr"].consts, [*fixed, *state, *entries])
        state = found[:carried]
        rows.append(found[carried:])
    if p["reverse"]:
        rows.reverse()
    if not rows:
        return [*state, *(np.empty(v.aval.shape, int) for v in equation.outvars[carried:])]
    return [*state, *(np.stack([np.asarray(v, int) for v in c]) for c in zip(*rows, strict=True))]


def _split(parameters: dict) -> tuple[int, int]:
    """How many arguments of a loop are constants, and how many are carried from round to round."""
    if "num_carry" in parameters:
        return parameters["num_consts"], parameters["num_carry"]
    consts, carried, _ = parameters["ft_in"].unpack()  # since JAX 0.11
    return len(consts), len(carried)


def _scalar(value: np.ndarray) -> Value:
    return value if np.ndim(value) else int(value)


def _picked(graph: Graph, values: list, equation: Any) -> Value:  # noqa: ANN401
    """A part of an array; where an index is computed, a choice among all parts."""
    part = np.asarray(values[0], int)
    truths = equation.invars[0].aval.dtype == np.bool_
    for axis, (value, size) in enumerate(
        zip(values[1:], equation.params["slice_sizes"], strict=True)
    ):
        last = part.shape[axis] - size
        start = graph.value(int(value))
        if start is not None:
            first = min(max(int(start), 0), last)
            part = part.take(range(first, first + size), axis)
            continue
        if last >= MOST_CHOICES or truths:
            raise NotStraightLine(f"an index that is computed, among {last + 1}")
        windows = [part.take(range(k, k + size), axis) for k in range(last + 1)]
        part = windows[0]
        for k, window in enumerate(windows[1:], 1):
            reached = graph.emit("le", graph.const(k), int(value))
            flat = [
                graph.emit("select", reached, int(yes), int(no))
                for yes, no in zip(window.ravel(), part.ravel(), strict=True)
            ]
            part = np.array(flat, int).reshape(window.shape)
    return part


def _branched(graph: Graph, values: list, equation: Any) -> list:  # noqa: ANN401
    index = graph.value(int(values[0]))
    if index is None:
        raise NotStraightLine("a branch")
    branches = equation.params["branches"]
    branch = branches[min(max(int(index), 0), len(branches) - 1)]
    return _written_out(graph, branch.jaxpr, branch.consts, values[1:])


_SPECIAL: dict[str, Callable] = {
    "jit": _inner("jaxpr"),
    "pjit": _inner("jaxpr"),
    "closed_call": _inner("call_jaxpr"),
    "custom_jvp_call": _inner("call_jaxpr"),
    "custom_vjp_call": _inner("call_jaxpr"),
    "custom_vjp_call_jaxpr": _inner("fun_jaxpr"),
    "optimization_barrier": lambda graph, values, equation: list(values),
    "div": _quotient,
    "integer_pow": _power,
    "pow": _to_power,
    "round": _rounded,
    "select_n": _chosen,
    "convert_element_type": _converted,
    "slice": _shaped(_sliced),
    "squeeze": _shaped(lambda a, e: a.reshape(e.outvars[0].aval.shape)),
    "reshape": _shaped(lambda a, e: a.reshape(e.outvars[0].aval.shape)),
    "expand_dims": _shaped(lambda a, e: a.reshape(e.outvars[0].aval.shape)),
    "broadcast_in_dim": _shaped(_spread),
    "transpose": _shaped(lambda a, e: a.transpose(e.params["permutation"])),
    "rev": _shaped(lambda a, e: np.flip(a, e.params["dimensions"])),
    "concatenate": _joined,
    "stack": _stacked,
    "unstack": _unstacked,
    "pad": _padded,
    "split": _parted,
    "reduce_sum": _gathered("add"),
    "reduce_prod": _gathered("mul"),
    "reduce_min": _gathered("min"),
    "reduce_max": _gathered("max"),
    "reduce_and": _gathered("and"),
    "reduce_or": _gathered("or"),
    "dot_general": _contracted,
    "cumsum": _summed_up,
    "rem": _remainder,
    "iota": _counted,
    "scan": _looped,
    "dynamic_slice": _picked,
    "cond": _branched,
}
