"""A straight-line program: a list of operations on numbers, without branches and without loops.

A `Program` is what is left of a law of mechanics when its function has been traced: named inputs,
operations in the order in which they can be computed, named outputs. Each operation has a type,
a number or a truth value, and refers to earlier ones by their place in the list:

    0  input   arm_length          3  sin   1            6  output  height [m]  5
    1  input   q  [rad]            4  mul   0 3
    2  const   0.25                5  sub   2 4

Programs are immutable and comparable; equal programs have equal digests, on any machine.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

Type = Literal["number", "truth"]


class Operation(NamedTuple):
    """What an operation takes and gives."""

    takes: tuple[Type, ...]
    gives: Type


_NUMBER, _TRUTH = "number", "truth"
_UNARY = Operation((_NUMBER,), _NUMBER)
_BINARY = Operation((_NUMBER, _NUMBER), _NUMBER)
_COMPARED = Operation((_NUMBER, _NUMBER), _TRUTH)

#: all operations but `input` and `const`
OPERATIONS: dict[str, Operation] = {
    **dict.fromkeys(("neg", "abs", "sqrt", "recip", "floor", "round", "pow2"), _UNARY),
    **dict.fromkeys(("sin", "cos", "exp", "tanh"), _UNARY),
    **dict.fromkeys(("add", "sub", "mul", "min", "max", "atan2"), _BINARY),
    **dict.fromkeys(("lt", "le", "eq"), _COMPARED),
    **dict.fromkeys(("and", "or"), Operation((_TRUTH, _TRUTH), _TRUTH)),
    "not": Operation((_TRUTH,), _TRUTH),
    "select": Operation((_TRUTH, _NUMBER, _NUMBER), _NUMBER),
}
#: operations that are made of others before they run on a machine, see `elementary.py`
ELEMENTARY = frozenset({"sin", "cos", "exp", "tanh", "atan2"})


class Node(NamedTuple):
    """One operation: its name, and the places of what it works on.

    An `input` holds its number among the inputs, a `const` its value.
    """

    op: str
    args: tuple

    @property
    def operands(self) -> tuple[int, ...]:
        """Places of the operands."""
        return () if self.op in ("input", "const") else self.args


class Port(NamedTuple):
    """An input or an output as users see it."""

    name: str
    unit: str = ""

    def __str__(self) -> str:
        """Name and unit."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name


def type_of(node: Node) -> Type:
    """Whether the result of `node` is a number or a truth value."""
    if node.op == "const":
        return _TRUTH if isinstance(node.args[0], bool) else _NUMBER
    return _NUMBER if node.op == "input" else OPERATIONS[node.op].gives


@dataclass(frozen=True, eq=False)
class Program:
    """Operations in order, and which of them are the outputs.

    >>> program = Program(
    ...     (Port("a", "m"), Port("b", "m")),
    ...     (Node("input", (0,)), Node("input", (1,)), Node("mul", (0, 1))),
    ...     (Port("area", "m^2"),),
    ...     (2,),
    ... )
    >>> print(program)
    %0 = input a [m]
    %1 = input b [m]
    %2 = mul %0 %1
    area [m^2] = %2
    """

    inputs: tuple[Port, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Port, ...]
    results: tuple[int, ...]  #: the place of each output

    def __post_init__(self) -> None:
        """Refuse operations that do not exist, or that come before their operands."""
        for place, node in enumerate(self.nodes):
            if node.op == "input":
                assert 0 <= node.args[0] < len(self.inputs), f"%{place}: there is no such input"
            elif node.op == "const":
                assert isinstance(node.args[0], float | bool), f"%{place}: it is no {_NUMBER}"
            else:
                assert node.op in OPERATIONS, f"%{place}: there is no operation {node.op}"
                takes = OPERATIONS[node.op].takes
                assert len(node.args) == len(takes), f"%{place}: {node.op} takes {len(takes)}"
                for arg, wanted in zip(node.args, takes, strict=True):
                    assert 0 <= arg < place, f"%{place}: operands come first"
                    assert type_of(self.nodes[arg]) == wanted, f"%{place}: %{arg} is no {wanted}"
        assert len(self.outputs) == len(self.results), "each output has one place"
        assert all(0 <= place < len(self.nodes) for place in self.results)

    def __len__(self) -> int:
        """Number of operations; inputs and constants are not counted."""
        return sum(node.op not in ("input", "const") for node in self.nodes)

    def counts(self) -> dict[str, int]:
        """How often each operation occurs."""
        found: dict[str, int] = {}
        for node in self.nodes:
            if node.op not in ("input", "const"):
                found[node.op] = found.get(node.op, 0) + 1
        return found

    def __eq__(self, other: object) -> bool:
        """Whether both compute the same in the same way; NaN equals itself, -0 is not 0."""
        return isinstance(other, Program) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        """Equal for equal programs."""
        return hash(self.digest)

    @cached_property
    def digest(self) -> str:
        """A name for what the program computes, the same in every process."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def __str__(self) -> str:
        """One line an operation."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for place, node in enumerate(self.nodes):
            if node.op == "input":
                yield f"%{place} = input {self.inputs[node.args[0]]}"
            elif node.op == "const":
                yield f"%{place} = {node.args[0]!r}"
            else:
                yield f"%{place} = {node.op} {' '.join(f'%{arg}' for arg in node.args)}"
        for port, place in zip(self.outputs, self.results, strict=True):
            yield f"{port} = %{place}"

    # On disk

    def to_bytes(self) -> bytes:
        """The program as JSON; floats are exact."""
        return json.dumps([self.inputs, self.nodes, self.outputs, self.results]).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> "Program":
        """The inverse of `to_bytes`."""
        inputs, nodes, outputs, results = json.loads(data)
        return cls(
            tuple(Port(*port) for port in inputs),
            tuple(Node(op, tuple(args)) for op, args in nodes),
            tuple(Port(*port) for port in outputs),
            tuple(results),
        )


def uses(program: Program) -> list[int]:
    """How often each node is an operand or an output."""
    count = [0] * len(program.nodes)
    for node in program.nodes:
        for arg in node.operands:
            count[arg] += 1
    for place in program.results:
        count[place] += 1
    return count


def depends_on(program: Program, inputs: Sequence[int]) -> list[bool]:
    """Whether each node depends on one of `inputs`."""
    chosen, found = set(inputs), []
    for node in program.nodes:
        if node.op == "input":
            found.append(node.args[0] in chosen)
        else:
            found.append(any(found[arg] for arg in node.operands))
    return found
