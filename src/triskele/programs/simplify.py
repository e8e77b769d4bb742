"""Programs made smaller: each operation is written once, and none that is not needed.

A `Graph` takes operations one at a time. An operation that is there already is found again, and
`RULES` replace others by something smaller. They hold for all finite numbers, but for

    0 x = 0, x - x = 0       also where x is infinite or not a number
    x (1 / x) = 1            also where x is 0, infinite or not a number
    (2 x) 3 = 6 x            rounds differently, in the last place of the largest number involved
    sin, cos of atan2(y, x)  the length of (x, y) is 0, or between 1e-150 and 1e150
    0                        has no sign, and 1 / 0 either sign

What is not a number stays so otherwise. a / b is a (1 / b), so that reciprocals are shared. Signs
are moved outwards, because they cost nothing in a sum.
"""

import math
import sys
from collections.abc import Callable, Sequence

from triskele.programs.program import Node, Port, Program

Rule = Callable[["Graph", tuple[int, ...]], int | None]


class Graph:
    """A program in the making.

    >>> graph = Graph()
    >>> x = graph.input(0)
    >>> graph.emit("add", x, graph.const(0.0)) == x
    True
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._places: dict[tuple, int] = {}
        self._fresh = 0

    def input(self, number: int) -> int:
        """Place of an input."""
        return self._place(Node("input", (number,)))

    def fresh(self) -> int:
        """Place of an input that no other stands for, and that programs do not have."""
        self._fresh -= 1
        return self.input(self._fresh)

    def const(self, value: float | bool) -> int:
        """Place of a constant."""
        if not isinstance(value, bool):
            value = float(value)
            if value != value:  # NaN is unequal to itself: one place for all
                return self._place(Node("const", (value,)), ("nan",))
            if value == 0.0:
                value = 0.0  # -0 differs from 0 by the sign of its reciprocal alone
        return self._place(Node("const", (value,)), ("const", type(value), value))

    def emit(self, op: str, *args: int) -> int:
        """Place of an operation, or of what equals it."""
        found = self._places.get((op, args))
        if found is not None:
            return found
        for rule in RULES[op]:
            place = rule(self, args)
            if place is not None:
                self._places[op, args] = place
                return place
        return self._place(Node(op, args))

    def _place(self, node: Node, key: tuple | None = None) -> int:
        key = node if key is None else key
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = len(self.nodes)
            self.nodes.append(node)
        return place

    # What rules look at

    def value(self, place: int) -> float | bool | None:
        """The value of a constant, or None."""
        node = self.nodes[place]
        return node.args[0] if node.op == "const" else None

    def inside(self, op: str, place: int) -> int | None:
        """The operand of a one-handed operation `op` at `place`; None if another is there."""
        node = self.nodes[place]
        return node.args[0] if node.op == op else None

    def program(
        self, inputs: Sequence[Port], outputs: Sequence[Port], results: Sequence[int]
    ) -> Program:
        """The operations that `results` need, those of one result close together."""
        order: list[int] = []
        seen: set[int] = set()
        for result in results:
            stack = [result]
            while stack:
                place = stack[-1]
                if place in seen:
                    stack.pop()
                    continue
                waiting = [arg for arg in self.nodes[place].operands if arg not in seen]
                if waiting:
                    stack.extend(reversed(waiting))
                else:
                    seen.add(place)
                    order.append(place)
                    stack.pop()
        moved = {old: new for new, old in enumerate(order)}
        nodes = [self.nodes[old] for old in order]
        return Program(
            tuple(inputs),
            tuple(
                node
                if node.op in ("input", "const")
                else Node(node.op, tuple(moved[arg] for arg in node.args))
                for node in nodes
            ),
            tuple(outputs),
            tuple(moved[result] for result in results),
        )


def simplified(program: Program, numbers: dict[int, float] | None = None) -> Program:
    """`program` with all rules applied, some inputs replaced by `numbers` and left out.

    >>> graph = Graph()
    >>> both = graph.emit("mul", graph.input(0), graph.input(1))
    >>> area = graph.program([Port("a"), Port("b")], [Port("area")], [both])
    >>> print(simplified(area, {0: 2.0}))
    %0 = 2.0
    %1 = input b
    %2 = mul %0 %1
    area = %2
    """
    numbers = numbers or {}
    kept = [k for k in range(len(program.inputs)) if k not in numbers]
    number_of = {k: place for place, k in enumerate(kept)}
    graph = Graph()
    places: list[int] = []
    for node in program.nodes:
        if node.op == "input":
            k = node.args[0]
            places.append(graph.const(numbers[k]) if k in numbers else graph.input(number_of[k]))
        elif node.op == "const":
            places.append(graph.const(node.args[0]))
        else:
            places.append(graph.emit(node.op, *(places[arg] for arg in node.args)))
    results = [places[result] for result in program.results]
    return graph.program([program.inputs[k] for k in kept], program.outputs, results)


# What an operation gives for constants


def _reciprocal(x: float) -> float:
    return 1 / x if x else math.inf


def _limited(function: Callable[[float], float]) -> Callable[[float], float]:
    """`function` of `math`, with what it refuses as NaN or infinite."""

    def of(x: float) -> float:
        try:
            return float(function(x))
        except OverflowError:  # too large, or infinite and to be rounded
            return x if math.isinf(x) else math.inf
        except ValueError:
            return math.nan

    return of


def _least(a: float, b: float) -> float:
    return math.nan if a != a or b != b else min(a, b)


def _most(a: float, b: float) -> float:
    return math.nan if a != a or b != b else max(a, b)


VALUES: dict[str, Callable] = {
    "neg": lambda x: -x,
    "abs": abs,
    "sqrt": _limited(math.sqrt),
    "recip": _reciprocal,
    "floor": _limited(math.floor),
    "round": _limited(round),
    "pow2": _limited(lambda x: 2.0**x),
    "sin": _limited(math.sin),
    "cos": _limited(math.cos),
    "exp": _limited(math.exp),
    "tanh": math.tanh,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "min": _least,
    "max": _most,
    "atan2": math.atan2,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "not": lambda a: not a,
    "select": lambda condition, a, b: a if condition else b,
}


# The rules. Each returns a place, or None where it does not apply.


def constants(op: str) -> Rule:
    """An operation on constants is a constant."""

    def rule(g: Graph, args: tuple[int, ...]) -> int | None:
        nodes = g.nodes
        for arg in args:
            if nodes[arg].op != "const":
                return None
        return g.const(VALUES[op](*(nodes[arg].args[0] for arg in args)))

    rule.__doc__ = "an operation on constants is a constant"
    return rule


def in_order(op: str) -> Rule:
    """a op b = b op a: the constant first, then what was there first."""

    def rule(g: Graph, args: tuple[int, ...]) -> int | None:
        a, b = args
        first = g.nodes[b].op == "const" and g.nodes[a].op != "const"
        if first or (b < a and g.nodes[a].op != "const"):
            return g.emit(op, b, a)
        return None

    rule.__doc__ = "a op b = b op a: the constant first, then what was there first"
    return rule


def add_zero(g: Graph, args: tuple[int, ...]) -> int | None:
    """0 + x = x."""
    return args[1] if g.value(args[0]) == 0.0 else None


def add_signs(g: Graph, args: tuple[int, ...]) -> int | None:
    """a + (-b) = a - b, (-a) + (-b) = -(a + b)."""
    a, b = args
    minus_a, minus_b = g.inside("neg", a), g.inside("neg", b)
    if minus_a is not None and minus_b is not None:
        return g.emit("neg", g.emit("add", minus_a, minus_b))
    if minus_b is not None:
        return g.emit("sub", a, minus_b)
    if minus_a is not None:
        return g.emit("sub", b, minus_a)
    return None


def add_same(g: Graph, args: tuple[int, ...]) -> int | None:
    """x + x = 2 x."""
    return g.emit("mul", g.const(2.0), args[0]) if args[0] == args[1] else None


def add_constants(g: Graph, args: tuple[int, ...]) -> int | None:
    """k + (m + x) = (k + m) + x."""
    k, (op, inner) = g.value(args[0]), g.nodes[args[1]]
    if k is None or op != "add":
        return None
    m = g.value(inner[0])
    return None if m is None else g.emit("add", g.const(k + m), inner[1])


def sub_zero(g: Graph, args: tuple[int, ...]) -> int | None:
    """x - 0 = x, 0 - x = -x."""
    a, b = args
    if g.value(b) == 0.0:
        return a
    return g.emit("neg", b) if g.value(a) == 0.0 else None


def sub_same(g: Graph, args: tuple[int, ...]) -> int | None:
    """x - x = 0."""
    return g.const(0.0) if args[0] == args[1] else None


def sub_signs(g: Graph, args: tuple[int, ...]) -> int | None:
    """a - (-b) = a + b, (-a) - b = -(a + b)."""
    a, b = args
    minus_b = g.inside("neg", b)
    if minus_b is not None:
        return g.emit("add", a, minus_b)
    minus_a = g.inside("neg", a)
    return None if minus_a is None else g.emit("neg", g.emit("add", minus_a, b))


def sub_constant(g: Graph, args: tuple[int, ...]) -> int | None:
    """x - k = -k + x."""
    k = g.value(args[1])
    return None if k is None else g.emit("add", g.const(-k), args[0])


def sub_in_order(g: Graph, args: tuple[int, ...]) -> int | None:
    """b - a = -(a - b): what was there first stands first, constants before all."""
    a, b = args
    if g.nodes[a].op == "const" or b >= a:
        return None
    return g.emit("neg", g.emit("sub", b, a))


def mul_zero_one(g: Graph, args: tuple[int, ...]) -> int | None:
    """0 x = 0, 1 x = x, -1 x = -x."""
    k = g.value(args[0])
    if k == 0.0:
        return g.const(0.0)
    if k == 1.0:
        return args[1]
    return g.emit("neg", args[1]) if k == -1.0 else None


def mul_signs(g: Graph, args: tuple[int, ...]) -> int | None:
    """(-a) b = -(a b); a negative constant gives its sign away."""
    a, b = args
    minus_a, minus_b = g.inside("neg", a), g.inside("neg", b)
    k = g.value(a)
    if k is not None and k < 0:
        minus_a = g.const(-k)
    if minus_a is None and minus_b is None:
        return None
    product = g.emit("mul", a if minus_a is None else minus_a, b if minus_b is None else minus_b)
    return product if minus_a is not None and minus_b is not None else g.emit("neg", product)


def _normal(k: float) -> bool:
    """Whether a product of constants is in range; with what comes next, it might be again."""
    return sys.float_info.min <= abs(k) <= sys.float_info.max


def mul_constants(g: Graph, args: tuple[int, ...]) -> int | None:
    """k (m x) = (k m) x."""
    k, (op, inner) = g.value(args[0]), g.nodes[args[1]]
    if k is None or op != "mul":
        return None
    m = g.value(inner[0])
    if m is None or not _normal(k * m):
        return None
    return g.emit("mul", g.const(k * m), inner[1])


def mul_roots(g: Graph, args: tuple[int, ...]) -> int | None:
    """sqrt(x) (1 / sqrt(x)) = 1, x (1 / x) = 1."""
    a, b = args
    if g.inside("recip", b) == a or g.inside("recip", a) == b:
        return g.const(1.0)
    return None


def neg_neg(g: Graph, args: tuple[int, ...]) -> int | None:
    """-(-x) = x."""
    return g.inside("neg", args[0])


def neg_constant_difference(g: Graph, args: tuple[int, ...]) -> int | None:
    """-(k - x) = -k + x."""
    op, inner = g.nodes[args[0]]
    k = g.value(inner[0]) if op == "sub" else None
    return None if k is None else g.emit("add", g.const(-k), inner[1])


def even(op: str) -> Rule:
    """op(-x) = op(x)."""

    def rule(g: Graph, args: tuple[int, ...]) -> int | None:
        inner = g.inside("neg", args[0])
        return None if inner is None else g.emit(op, inner)

    rule.__doc__ = f"{op}(-x) = {op}(x)"
    return rule


def odd(op: str) -> Rule:
    """op(-x) = -op(x)."""

    def rule(g: Graph, args: tuple[int, ...]) -> int | None:
        inner = g.inside("neg", args[0])
        return None if inner is None else g.emit("neg", g.emit(op, inner))

    rule.__doc__ = f"{op}(-x) = -{op}(x)"
    return rule


def abs_abs(g: Graph, args: tuple[int, ...]) -> int | None:
    """|x| = x of what has no sign: |x|, sqrt(x), x x."""
    op, inner = g.nodes[args[0]]
    square = op == "mul" and inner[0] == inner[1]
    return args[0] if square or op in ("abs", "sqrt", "exp", "pow2") else None


def recip_recip(g: Graph, args: tuple[int, ...]) -> int | None:
    """1 / (1 / x) = x."""
    return g.inside("recip", args[0])


def recip_constant(g: Graph, args: tuple[int, ...]) -> int | None:
    """1 / (k x) = (1 / k) (1 / x)."""
    op, inner = g.nodes[args[0]]
    k = g.value(inner[0]) if op == "mul" else None
    if k is None or k == 0.0 or not _normal(1 / k):
        return None
    return g.emit("mul", g.const(1 / k), g.emit("recip", inner[1]))


def same(g: Graph, args: tuple[int, ...]) -> int | None:
    """x op x = x, of min, max, and, or."""
    return args[0] if args[0] == args[1] else None


def less_same(g: Graph, args: tuple[int, ...]) -> int | None:
    """x < x is false. x <= x and x = x stay: they are how NaN is found."""
    return g.const(False) if args[0] == args[1] else None


def compare_sign(g: Graph, args: tuple[int, ...]) -> int | None:
    """0 < |x| stays; |x| < 0 and sqrt(x) < 0 are false."""
    a, b = args
    nothing = g.value(b) == 0.0 and g.nodes[a].op in ("abs", "sqrt")
    return g.const(False) if nothing else None


def and_constant(g: Graph, args: tuple[int, ...]) -> int | None:
    """(true and x) = x, (false and x) = false."""
    k = g.value(args[0])
    return None if k is None else (args[1] if k else args[0])


def or_constant(g: Graph, args: tuple[int, ...]) -> int | None:
    """(true or x) = true, (false or x) = x."""
    k = g.value(args[0])
    return None if k is None else (args[0] if k else args[1])


def not_not(g: Graph, args: tuple[int, ...]) -> int | None:
    """Not (not x) = x."""
    return g.inside("not", args[0])


def select_known(g: Graph, args: tuple[int, ...]) -> int | None:
    """A choice that is known, or between equals, is none."""
    condition, a, b = args
    if a == b:
        return a
    k = g.value(condition)
    return None if k is None else (a if k else b)


def select_not(g: Graph, args: tuple[int, ...]) -> int | None:
    """(not c ? a : b) = (c ? b : a)."""
    inner = g.inside("not", args[0])
    return None if inner is None else g.emit("select", inner, args[2], args[1])


def select_again(g: Graph, args: tuple[int, ...]) -> int | None:
    """(c ? (c ? a : b) : d) = (c ? a : d), and the same on the other side."""
    condition, a, b = args
    op, inner = g.nodes[a]
    if op == "select" and inner[0] == condition:
        return g.emit("select", condition, inner[1], b)
    op, inner = g.nodes[b]
    if op == "select" and inner[0] == condition:
        return g.emit("select", condition, a, inner[2])
    return None


def select_signs(g: Graph, args: tuple[int, ...]) -> int | None:
    """(c ? -a : -b) = -(c ? a : b)."""
    minus_a, minus_b = g.inside("neg", args[1]), g.inside("neg", args[2])
    if minus_a is None or minus_b is None:
        return None
    return g.emit("neg", g.emit("select", args[0], minus_a, minus_b))


def sin_of_angle(g: Graph, args: tuple[int, ...]) -> int | None:
    """sin atan2(y, x) = y / sqrt(x x + y y), and 0 at the origin."""
    op, inner = g.nodes[args[0]]
    if op != "atan2":
        return None
    _, inverse = _length(g, *inner)
    return g.emit("mul", inner[0], inverse)


def cos_of_angle(g: Graph, args: tuple[int, ...]) -> int | None:
    """cos atan2(y, x) = x / sqrt(x x + y y), and 1 at the origin."""
    op, inner = g.nodes[args[0]]
    if op != "atan2":
        return None
    origin, inverse = _length(g, *inner)
    return g.emit("select", origin, g.const(1.0), g.emit("mul", inner[1], inverse))


def _length(g: Graph, y: int, x: int) -> tuple[int, int]:
    """Whether (x, y) is the origin, and the reciprocal of its length, 1 at the origin."""
    square = g.emit("add", g.emit("mul", x, x), g.emit("mul", y, y))
    origin = g.emit("eq", square, g.const(0.0))  # not x > 0, which would lose NaN
    safe = g.emit("select", origin, g.const(1.0), square)
    return origin, g.emit("recip", g.emit("sqrt", safe))


#: the rules of each operation, in the order in which they are tried
RULES: dict[str, tuple[Rule, ...]] = {
    "add": (
        constants("add"),
        in_order("add"),
        add_zero,
        add_signs,
        add_same,
        add_constants,
    ),
    "sub": (
        constants("sub"),
        sub_zero,
        sub_same,
        sub_signs,
        sub_constant,
        sub_in_order,
    ),
    "mul": (
        constants("mul"),
        in_order("mul"),
        mul_zero_one,
        mul_signs,
        mul_constants,
        mul_roots,
    ),
    "neg": (constants("neg"), neg_neg, neg_constant_difference),
    "abs": (constants("abs"), even("abs"), abs_abs),
    "sqrt": (constants("sqrt"),),
    "recip": (constants("recip"), recip_recip, odd("recip"), recip_constant),
    "floor": (constants("floor"),),
    "round": (constants("round"), odd("round")),
    "pow2": (constants("pow2"),),
    "sin": (constants("sin"), odd("sin"), sin_of_angle),
    "cos": (constants("cos"), even("cos"), cos_of_angle),
    "exp": (constants("exp"),),
    "tanh": (constants("tanh"), odd("tanh")),
    "atan2": (constants("atan2"),),
    "min": (constants("min"), in_order("min"), same),
    "max": (constants("max"), in_order("max"), same),
    "lt": (constants("lt"), less_same, compare_sign),
    "le": (constants("le"),),
    "eq": (constants("eq"), in_order("eq")),
    "and": (in_order("and"), and_constant, same),
    "or": (in_order("or"), or_constant, same),
    "not": (constants("not"), not_not),
    "select": (select_known, select_not, select_again, select_signs),
}


# Sums


def gathered(program: Program) -> Program:
    """`program` with the terms of each sum gathered: k x + m x = (k + m) x, k x + k y = k (x + y).

    A sum is followed through sums, signs and constant factors that nothing else uses.

    >>> graph = Graph()
    >>> x, y = graph.input(0), graph.input(1)
    >>> total = graph.emit("add", graph.emit("add", x, y), graph.emit("mul", graph.const(2.0), x))
    >>> print(gathered(graph.program([Port("x"), Port("y")], [Port("z")], [total])))
    %0 = input y
    %1 = 3.0
    %2 = input x
    %3 = mul %1 %2
    %4 = add %0 %3
    z = %4
    """
    nodes, inside = program.nodes, _inside_sums(program)
    graph = Graph()
    places: dict[int, int] = {}
    for k, node in enumerate(nodes):
        if node.op == "input":
            places[k] = graph.input(node.args[0])
        elif node.op == "const":
            places[k] = graph.const(node.args[0])
        elif k in inside:
            continue
        elif node.op in ("add", "sub"):
            terms: dict[int, float] = {}
            for place, factor in _terms(nodes, inside, k):
                place, factor = _without_sign(graph, places[place], factor)
                terms[place] = terms.get(place, 0.0) + factor
            places[k] = _sum(graph, terms)
        else:
            places[k] = graph.emit(node.op, *(places[arg] for arg in node.args))
    results = [places[result] for result in program.results]
    return graph.program(program.inputs, program.outputs, results)


def _inside_sums(program: Program) -> set[int]:
    """Sums, signs and constant factors that one sum alone uses."""
    nodes, used_by = program.nodes, [[] for _ in program.nodes]
    for k, node in enumerate(nodes):
        for arg in node.operands:
            used_by[arg].append(k)
    found: set[int] = set()
    outputs = set(program.results)
    for k in reversed(range(len(nodes))):
        op, args = nodes[k]
        if k in outputs or len(used_by[k]) != 1:
            continue
        user = used_by[k][0]
        in_sum = nodes[user].op in ("add", "sub") or (nodes[user].op == "neg" and user in found)
        scaled = op == "mul" and nodes[args[0]].op == "const"
        if in_sum and (op in ("add", "sub", "neg") or scaled):
            found.add(k)
    return found


def _terms(nodes: Sequence[Node], inside: set[int], root: int) -> list[tuple[int, float]]:
    """What a sum adds up: places, and the factor of each."""
    found: list[tuple[int, float]] = []
    stack = [(root, 1.0)]
    while stack:
        k, factor = stack.pop()
        op, args = nodes[k]
        if k != root and k not in inside:
            found.append((k, factor))
        elif op == "mul":
            found.append((args[1], factor * nodes[args[0]].args[0]))
        elif op == "neg":
            stack.append((args[0], -factor))
        else:
            stack.append((args[1], -factor if op == "sub" else factor))
            stack.append((args[0], factor))
    return found


def _without_sign(graph: Graph, place: int, factor: float) -> tuple[int, float]:
    inner = graph.inside("neg", place)
    return (place, factor) if inner is None else (inner, -factor)


def _sum(graph: Graph, terms: dict[int, float]) -> int:
    """The sum of places times factors; those with the same factor first."""
    alike: dict[float, list[tuple[int, bool]]] = {}
    for place, factor in terms.items():
        if factor != 0.0:
            alike.setdefault(abs(factor), []).append((place, factor < 0))
    parts: list[tuple[int, bool]] = []
    for size, mine in alike.items():
        if size == 1.0:
            parts += mine
        else:
            total, minus = _signed_sum(graph, mine)
            parts.append((graph.emit("mul", graph.const(size), total), minus))
    total, minus = _signed_sum(graph, parts)
    return graph.emit("neg", total) if minus else total


def _signed_sum(graph: Graph, parts: list[tuple[int, bool]]) -> tuple[int, bool]:
    """The sum, and whether it is to be taken with a minus sign."""
    if not parts:
        return graph.const(0.0), False
    parts = sorted(parts, key=lambda part: part[1])  # a plus first
    (total, minus), *rest = parts
    for place, negative in rest:
        total = graph.emit("add" if negative == minus else "sub", total, place)
    return total, minus
