"""Numbers that write down what is computed with them, and the derivatives of what they wrote.

A law on scalar components is called with `Symbol`s in the place of numbers. Each operation on
them becomes an operation of a `Graph`, simplified as it is written: what comes back is the program.
That is thirty times quicker than to trace the law in JAX, which does the same for arrays.

Derivatives are taken of what was written. A function is called with fresh symbols p, which writes
y(p); then, node by node,

    forwards     yd = sum_i (dy/da_i) ad_i          `jvp`: the change of y along a direction    (1)
    backwards    a_i' += (dy/da_i) y'               `vjp`: the pull-back of a force on y        (2)

with p replaced by what it stands for. Both nest, and share the partial derivatives in `PARTIALS`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from triskele.programs.program import Port, Program, type_of
from triskele.programs.simplify import Graph

MOST_CHOICES = 64  #: places among which a computed index may choose


class NotStraightLine(Exception):
    """A function cannot be written as a straight-line program; the text says what is against it."""


class Symbol:
    """A number, or a truth value, that is not known yet: a place in a graph.

    >>> graph = Graph()
    >>> x = Symbol(graph, graph.input(0))
    >>> program = graph.program([Port("x")], [Port("y")], [(2 * x + 3 * x * x).place])
    >>> program.counts()
    {'mul': 3, 'add': 1}
    """

    __slots__ = ("graph", "place")
    __array_ufunc__ = None  # NumPy's numbers leave operations to the methods below
    shape: tuple[int, ...] = ()
    ndim = 0
    size = 1

    def __init__(self, graph: Graph, place: int) -> None:
        self.graph, self.place = graph, place

    def _with(self, op: str, other: Any, *, swapped: bool = False) -> Any:  # noqa: ANN401
        if isinstance(other, np.ndarray) and other.ndim:
            entries = [self._with(op, entry, swapped=swapped) for entry in other.ravel()]
            return _array(entries, other.shape)
        place = _lifted(self.graph, other)
        if place is None:
            return NotImplemented
        args = (place, self.place) if swapped else (self.place, place)
        return Symbol(self.graph, self.graph.emit(op, *args))

    def known(self, value: float) -> "Symbol":
        """A number that is known, in the same program."""
        return Symbol(self.graph, self.graph.const(value))

    def of(self, op: str) -> "Symbol":
        """An operation on this number alone."""
        return Symbol(self.graph, self.graph.emit(op, self.place))

    def __add__(self, other: Any) -> Any:  # noqa: ANN401
        return self._with("add", other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:  # noqa: ANN401
        return self._with("sub", other)

    def __rsub__(self, other: Any) -> Any:  # noqa: ANN401
        return self._with("sub", other, swapped=True)

    def __mul__(self, other: Any) -> Any:  # noqa: ANN401
        return self._with("mul", other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:  # noqa: ANN401
        if isinstance(other, Symbol):
            return self * other.of("recip")
        if isinstance(other, np.ndarray) and other.ndim:
            return _array([self / entry for entry in other.ravel()], other.shape)
        if isinstance(other, jax.Array):
            return NotImplemented
        return self * Symbol(self.graph, self.graph.emit("recip", self.graph.const(float(other))))

    def __rtruediv__(self, other: Any) -> Any:  # noqa: ANN401
        return self.of("recip") * other

    def __pow__(self, exponent: Any) -> Any:  # noqa: ANN401
        if exponent == 0.5:
            return self.of("sqrt")
        if not float(exponent).is_integer():
            raise NotStraightLine("a power that is no whole number")
        return Symbol(self.graph, power(self.graph, self.place, int(exponent)))

    def __neg__(self) -> "Symbol":
        return self.of("neg")

    def __pos__(self) -> "Symbol":
        return self

    def __abs__(self) -> "Symbol":
        return self.of("abs")

    def __lt__(self, other: Any) -> Any:  # noqa: ANN401
        return self._with("lt", other)

    def __gt__(self, other: Any) -> Any:  # noqa: ANN401
        return self._with("lt", other, swapped=True)

    def __le__(self, other: Any) -> Any:  # noqa: ANN401
        return self._with("le", other)

    def __ge__(self, other: Any) -> Any:  # noqa: ANN401
        return self._with("le", other, swapped=True)

    def __eq__(self, other: object) -> Any:  # noqa: ANN401
        return self._with("eq", other)

    def __ne__(self, other: object) -> Any:  # noqa: ANN401
        return ~self._with("eq", other)

    __hash__ = object.__hash__

    def __and__(self, other: Any) -> Any:  # noqa: ANN401
        return self._with("and", other)

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:  # noqa: ANN401
        return self._with("or", other)

    __ror__ = __or__

    def __invert__(self) -> "Symbol":
        return self.of("not")

    def __bool__(self) -> bool:
        raise NotStraightLine("it decides by the value of a number")

    def __float__(self) -> float:
        raise NotStraightLine("it asks for the value of a number")

    __int__ = __index__ = __float__  # pyright: ignore[reportAssignmentType]

    # NumPy calls these for the entries of arrays of symbols

    def sqrt(self) -> "Symbol":
        """The square root."""
        return self.of("sqrt")

    def sin(self) -> "Symbol":
        """The sine."""
        return self.of("sin")

    def cos(self) -> "Symbol":
        """The cosine."""
        return self.of("cos")

    def exp(self) -> "Symbol":
        """e^x."""
        return self.of("exp")

    def tanh(self) -> "Symbol":
        """The hyperbolic tangent."""
        return self.of("tanh")


def power(graph: Graph, place: int, exponent: int) -> int:
    """A whole power, by squaring."""
    result, square, left = None, place, abs(exponent)
    while left:
        if left & 1:
            result = square if result is None else graph.emit("mul", result, square)
        left >>= 1
        square = graph.emit("mul", square, square) if left else square
    result = graph.const(1.0) if result is None else result
    return graph.emit("recip", result) if exponent < 0 else result


def _array(entries: Sequence, shape: tuple[int, ...]) -> np.ndarray:
    array = np.empty(len(entries), object)
    array[:] = entries
    return array.reshape(shape)


def _lifted(graph: Graph, value: Any) -> int | None:  # noqa: ANN401
    """The place of a symbol or of a known number; None for anything else."""
    if isinstance(value, Symbol):
        return value.place
    if isinstance(value, bool | np.bool_):
        return graph.const(bool(value))
    if isinstance(value, float | int | np.number):
        return graph.const(float(value))
    if isinstance(value, np.ndarray | jax.Array) and value.ndim == 0:
        entry = np.asarray(value).item() if value.dtype != object else value.item()
        return _lifted(graph, entry)
    return None


def is_symbolic(value: object) -> bool:
    """Whether `value` is a symbol, or an array of them."""
    return isinstance(value, Symbol) or (type(value) is np.ndarray and value.dtype == object)


def _graph_of(values: Sequence) -> Graph:
    for value in values:
        for entry in np.ravel(value) if isinstance(value, np.ndarray) else (value,):
            if isinstance(entry, Symbol):
                return entry.graph
    raise AssertionError("at least one of them is a symbol")


# What NumPy has for numbers


def _entrywise(op: str, *values: Any) -> Any:  # noqa: ANN401
    graph = _graph_of(values)
    if not any(isinstance(value, np.ndarray) and value.ndim for value in values):
        return Symbol(graph, graph.emit(op, *(_required(graph, value) for value in values)))
    spread = np.broadcast_arrays(*(np.asarray(value, object) for value in values))
    entries = zip(*(part.ravel() for part in spread), strict=True)
    return _array([_entrywise_known(graph, op, row) for row in entries], spread[0].shape)


def _entrywise_known(graph: Graph, op: str, row: tuple) -> Symbol:
    return Symbol(graph, graph.emit(op, *(_required(graph, value) for value in row)))


def _required(graph: Graph, value: Any) -> int:  # noqa: ANN401
    place = _lifted(graph, value)
    if place is None:
        raise TypeError(f"{type(value).__name__} is no number that a program can hold")
    return place


def where(condition: Any, a: Any, b: Any) -> Any:  # noqa: ANN401
    """`a` where `condition` holds, else `b`."""
    return _entrywise("select", condition, a, b)


def minimum(a: Any, b: Any) -> Any:  # noqa: ANN401
    """The lesser."""
    return _entrywise("min", a, b)


def maximum(a: Any, b: Any) -> Any:  # noqa: ANN401
    """The greater."""
    return _entrywise("max", a, b)


def arctan2(y: Any, x: Any) -> Any:  # noqa: ANN401
    """Angle of the point (x, y)."""
    return _entrywise("atan2", y, x)


def sqrt(x: Any) -> Any:  # noqa: ANN401
    """The square root."""
    return _entrywise("sqrt", x)


def floor(x: Any) -> Any:  # noqa: ANN401
    """The greatest whole number that is not greater."""
    return _entrywise("floor", x)


def sin(x: Any) -> Any:  # noqa: ANN401
    """The sine."""
    return _entrywise("sin", x)


def cos(x: Any) -> Any:  # noqa: ANN401
    """The cosine."""
    return _entrywise("cos", x)


def exp(x: Any) -> Any:  # noqa: ANN401
    """e^x."""
    return _entrywise("exp", x)


def tanh(x: Any) -> Any:  # noqa: ANN401
    """The hyperbolic tangent."""
    return _entrywise("tanh", x)


def sign(x: Any) -> Any:  # noqa: ANN401
    """-1, 0 or 1."""
    return where(x < 0, -1.0, where(x > 0, 1.0, 0.0))


def window(array: np.ndarray, start: Any, size: int) -> np.ndarray:  # noqa: ANN401
    """`size` rows of `array`: where the first is computed, a choice among all."""
    last = len(array) - size
    if last >= MOST_CHOICES:
        raise NotStraightLine(f"an index that is computed, among {last + 1}")
    chosen = array[:size]
    for k in range(1, last + 1):
        chosen = where(start >= k, array[k : k + size], chosen)
    return chosen


# Derivatives

_Partials = Callable[[Graph, tuple[int, ...], int], tuple[int, ...]]


def _constant(*values: float) -> _Partials:
    return lambda g, args, y: tuple(g.const(value) for value in values)


def _of_abs(g: Graph, args: tuple[int, ...], y: int) -> tuple[int, ...]:
    zero = g.const(0.0)
    below = g.emit("select", g.emit("lt", args[0], zero), g.const(-1.0), zero)
    return (g.emit("select", g.emit("lt", zero, args[0]), g.const(1.0), below),)


def _of_atan2(g: Graph, args: tuple[int, ...], y: int) -> tuple[int, ...]:
    """x / r^2 and -y / r^2; zero at the origin."""
    up, along = args
    square = g.emit("add", g.emit("mul", along, along), g.emit("mul", up, up))
    inside, zero = g.emit("lt", g.const(0.0), square), g.const(0.0)
    inverse = g.emit("recip", g.emit("select", inside, square, g.const(1.0)))
    pair = (along, g.emit("neg", up))
    return tuple(g.emit("select", inside, g.emit("mul", part, inverse), zero) for part in pair)


def _of_least(op: str) -> _Partials:
    """All of the lesser, or of the greater; half of each if they are equal."""

    def of(g: Graph, args: tuple[int, ...], y: int) -> tuple[int, ...]:
        less, more = args if op == "min" else args[::-1]
        one, half, zero = g.const(1.0), g.const(0.5), g.const(0.0)
        first, second = g.emit("lt", less, more), g.emit("lt", more, less)
        of_first = g.emit("select", first, one, g.emit("select", second, zero, half))
        of_second = g.emit("select", second, one, g.emit("select", first, zero, half))
        return of_first, of_second

    return of


#: dy/da_i of each operation y(a_1, a_2); operations that are not here have none
PARTIALS: dict[str, _Partials] = {
    "add": _constant(1.0, 1.0),
    "sub": _constant(1.0, -1.0),
    "neg": _constant(-1.0),
    "mul": lambda g, args, y: (args[1], args[0]),
    "recip": lambda g, args, y: (g.emit("neg", g.emit("mul", y, y)),),
    "sqrt": lambda g, args, y: (g.emit("mul", g.const(0.5), g.emit("recip", y)),),
    "sin": lambda g, args, y: (g.emit("cos", args[0]),),
    "cos": lambda g, args, y: (g.emit("neg", g.emit("sin", args[0])),),
    "exp": lambda g, args, y: (y,),
    "tanh": lambda g, args, y: (g.emit("sub", g.const(1.0), g.emit("mul", y, y)),),
    "abs": _of_abs,
    "atan2": _of_atan2,
    "min": _of_least("min"),
    "max": _of_least("max"),
}


class _Written:
    """What a function of fresh symbols wrote, with the arguments in their place.

    `values` are the places of all nodes that depend on the arguments, in the order written.
    """

    def __init__(self, function: Callable, primals: Sequence) -> None:
        leaves, structure = jax.tree.flatten(tuple(primals))
        self.graph = graph = _graph_of(leaves)
        self.arguments = [_required(graph, leaf) for leaf in leaves]
        self.fresh = [graph.fresh() for _ in leaves]
        symbols = [Symbol(graph, place) for place in self.fresh]
        result = function(*jax.tree.unflatten(structure, symbols))
        outputs, self.structure = jax.tree.flatten(result)
        self.shapes = [np.shape(leaf) for leaf in outputs]
        flat = [entry for leaf in outputs for entry in np.ravel(np.asarray(leaf, object))]
        self.outputs = [_required(graph, entry) for entry in flat]
        self.values: dict[int, int] = dict(zip(self.fresh, self.arguments, strict=True))
        self._substitute()

    def _substitute(self) -> None:
        graph, values, seen = self.graph, self.values, set(self.fresh)
        stack, reached = list(self.outputs), []
        while stack:
            place = stack.pop()
            if place not in seen:
                seen.add(place)
                reached.append(place)
                stack.extend(graph.nodes[place].operands)
        for place in sorted(reached):  # operands were written before
            node = graph.nodes[place]
            if any(arg in values for arg in node.operands):
                values[place] = graph.emit(node.op, *(self.at(arg) for arg in node.args))

    def at(self, place: int) -> int:
        """What stands for a node, with the arguments in the place of fresh symbols."""
        return self.values.get(place, place)

    def result(self, places: Sequence[int]) -> Any:  # noqa: ANN401
        """What the function returned, of these places."""
        leaves, first = [], 0
        for shape in self.shapes:
            size = int(np.prod(shape))
            part = [Symbol(self.graph, place) for place in places[first : first + size]]
            leaves.append(_array(part, shape) if shape else part[0])
            first += size
        return jax.tree.unflatten(self.structure, leaves)

    @property
    def value(self) -> Any:  # noqa: ANN401
        """What the function returns for the arguments."""
        return self.result([self.at(place) for place in self.outputs])

    def slopes(self, directions: Sequence[int]) -> list[int]:
        """Equation (1) for each output."""
        g, values = self.graph, self.values
        zero = g.const(0.0)
        slope: dict[int, int] = dict(zip(self.fresh, directions, strict=True))
        for place, value in values.items():
            if place in slope:
                continue
            node = g.nodes[place]
            args = tuple(self.at(arg) for arg in node.args)
            if node.op == "select":
                a, b = (slope.get(arg, zero) for arg in node.args[1:])
                slope[place] = g.emit("select", args[0], a, b)
            elif node.op in PARTIALS:
                total = zero
                partials = PARTIALS[node.op](g, args, value)
                for arg, partial in zip(node.args, partials, strict=True):
                    if arg in slope:
                        total = g.emit("add", total, g.emit("mul", partial, slope[arg]))
                slope[place] = total
        return [slope.get(place, zero) for place in self.outputs]

    def pulled_back(self, forces: Sequence[int]) -> list[int]:
        """Equation (2) for each argument."""
        g, values = self.graph, self.values
        zero = g.const(0.0)
        force: dict[int, int] = {}

        def put(place: int, more: int) -> None:
            if place in values:
                force[place] = g.emit("add", force.get(place, zero), more)

        for place, push in zip(self.outputs, forces, strict=True):
            put(place, push)
        fresh = set(self.fresh)
        for place in reversed(values):
            if place in fresh or place not in force:
                continue
            node, push = g.nodes[place], force[place]
            args = tuple(self.at(arg) for arg in node.args)
            if node.op == "select":
                put(node.args[1], g.emit("select", args[0], push, zero))
                put(node.args[2], g.emit("select", args[0], zero, push))
            elif node.op in PARTIALS:
                partials = PARTIALS[node.op](g, args, values[place])
                for arg, partial in zip(node.args, partials, strict=True):
                    put(arg, g.emit("mul", partial, push))
        return [force.get(place, zero) for place in self.fresh]


def jvp(function: Callable, primals: Sequence, tangents: Sequence) -> tuple[Any, Any]:
    """(y, yd) of (1), as `jax.jvp`."""
    written = _Written(function, primals)
    graph = written.graph
    directions = [_required(graph, leaf) for leaf in jax.tree.leaves(tuple(tangents))]
    return written.value, written.result(written.slopes(directions))


def vjp(function: Callable, *primals: Any) -> tuple[Any, Callable]:  # noqa: ANN401
    """y, and the pull-back of (2), as `jax.vjp`."""
    written = _Written(function, primals)
    structure = jax.tree.structure(primals)

    def back(cotangent: Any) -> Any:  # noqa: ANN401
        graph, leaves = written.graph, jax.tree.leaves(cotangent)
        flat = [entry for leaf in leaves for entry in np.ravel(np.asarray(leaf, object))]
        forces = written.pulled_back([_required(graph, entry) for entry in flat])
        return jax.tree.unflatten(structure, [Symbol(graph, place) for place in forces])

    return written.value, back


# Programs


def written(function: Callable, arguments: Sequence) -> tuple[Program, Any]:
    """The program of `function` of `arguments`, of which only shapes count, and what it returns.

    Inputs are the entries of all leaves in order; outputs are those of the leaves of what it
    returns, which is given with zeros in the place of numbers.
    """
    leaves, structure = jax.tree.flatten(tuple(arguments))
    graph, count, symbols = Graph(), 0, []
    for leaf in leaves:
        shape = np.shape(leaf)
        size = int(np.prod(shape))
        entries = [Symbol(graph, graph.input(count + k)) for k in range(size)]
        symbols.append(_array(entries, shape) if shape else entries[0])
        count += size
    result = function(*jax.tree.unflatten(structure, symbols))
    found = jax.tree.leaves(result)
    flat = [entry for leaf in found for entry in np.ravel(np.asarray(leaf, object))]
    places = [_required(graph, entry) for entry in flat]
    program = graph.program(
        named(jax.tree_util.tree_leaves_with_path(tuple(arguments))),
        named(jax.tree_util.tree_leaves_with_path(result)),
        places,
    )
    return program, jax.tree.map(lambda leaf: np.zeros(np.shape(leaf)), result)


def named(leaves: Sequence[tuple]) -> list[Port]:
    """A port for each entry of leaves that come with their paths."""
    ports = []
    for path, leaf in leaves:
        name = jax.tree_util.keystr(path).lstrip(".") or "out"
        for place in np.ndindex(np.shape(leaf)):
            ports.append(Port(name + (f"[{', '.join(map(str, place))}]" if place else "")))
    return ports


def is_truth(program: Program) -> list[bool]:
    """Whether each output is a truth value."""
    return [type_of(program.nodes[place]) == "truth" for place in program.results]
