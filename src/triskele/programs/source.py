"""Programs as source text: one statement an operation, in the words of a language.

A `Dialect` says how a language writes each operation, constants and declarations. What all have
in common stands here: sin, cos, atan2, exp and tanh are written out as arithmetic
(`elementary.py`), a product with a reciprocal that nothing else needs is one quotient, and an
operation is written where its operands are known.

Divisors go through `away`, which moves them out of a neighbourhood of zero that no state of a
robot reaches: a program may compute what it does not choose in the end, and no
division of it may be one by zero.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from triskele.programs.elementary import expanded
from triskele.programs.native import quotients
from triskele.programs.program import Program, Type, type_of

#: operations as C, CUDA and JavaScript write them; others are calls of functions
INFIX = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "neg": "-{}",
    "lt": "{} < {}",
    "le": "{} <= {}",
    "eq": "{} == {}",
    "and": "{} && {}",
    "or": "{} || {}",
    "not": "!{}",
    "select": "{} ? {} : {}",
}


@dataclass(frozen=True)
class Dialect:
    """How a language writes a program."""

    forms: Mapping[str, str]  #: the text of each operation; `quotient` is one as well
    number: Callable[[float], str]  #: a constant
    truths: tuple[str, str]  #: false and true
    statement: Callable[[Type, str, str], str]  #: of the type, the name and its value
    functions: Mapping[str, str] = field(default_factory=dict)
    #: text of functions of the dialect's own, by their names; those that are called are written

    def constant(self, value: float | bool) -> str:
        """A constant as an operand."""
        if isinstance(value, bool):
            return self.truths[value]
        assert not math.isnan(value), "a constant is no number"
        text = self.number(value)
        return f"({text})" if text.startswith("-") else text


@dataclass(frozen=True)
class Text:
    """A program as statements, and what stands for each output."""

    statements: tuple[str, ...]
    outputs: tuple[str, ...]
    inputs: tuple[int, ...]  #: those that are read
    called: tuple[str, ...]  #: functions of the dialect that are called


def written_out(program: Program, dialect: Dialect, load: Callable[[int], str]) -> Text:
    """`program` in a dialect; `load` is the text of an input."""
    program = expanded(program)
    nodes = program.nodes
    divided = quotients(program, [True] * len(nodes), set())
    inside = {reciprocal for _, reciprocal in divided.values()}
    lines, names, read = [], [], []
    for k, node in enumerate(nodes):
        if node.op == "const":
            names.append(dialect.constant(node.args[0]))
            continue
        names.append(f"v{k}")
        if k in inside:
            continue
        if node.op == "input":
            read.append(node.args[0])
            value = load(node.args[0])
        elif k in divided:
            above, reciprocal = divided[k]
            below = nodes[reciprocal].args[0]
            value = dialect.forms["quotient"].format(names[above], names[below])
        else:
            value = dialect.forms[node.op].format(*(names[arg] for arg in node.args))
        lines.append(dialect.statement(type_of(node), names[k], value))
    outputs = [
        dialect.forms["select"].format(names[place], dialect.number(1.0), dialect.number(0.0))
        if type_of(nodes[place]) == "truth"
        else names[place]
        for place in program.results
    ]
    return Text(tuple(lines), tuple(outputs), tuple(read), _called(dialect, "\n".join(lines)))


def _called(dialect: Dialect, text: str) -> tuple[str, ...]:
    """Functions that a text calls, and those that they call, in the order of the dialect."""
    needed: set[str] = set()
    waiting = [text]
    while waiting:
        part = waiting.pop()
        for name, body in dialect.functions.items():
            if name not in needed and f"{name}(" in part:
                needed.add(name)
                waiting.append(body)
    return tuple(name for name in dialect.functions if name in needed)
