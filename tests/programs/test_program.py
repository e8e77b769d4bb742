"""Programs as values: compared, printed, counted, written to bytes and read in any process."""

import math
import subprocess
import sys
from dataclasses import FrozenInstanceError

import pytest

from triskele.programs.program import (
    ELEMENTARY,
    OPERATIONS,
    Node,
    Port,
    Program,
    depends_on,
    type_of,
    uses,
)

INPUTS = (Node("input", (0,)), Node("input", (1,)))
PORTS = (Port("a", "m"), Port("b"))


def program(*nodes, results=None):
    """Of the inputs a and b, and the nodes that follow them."""
    results = (len(nodes) + 1,) if results is None else results
    outputs = tuple(Port(f"out{k}") for k in range(len(results)))
    return Program(PORTS, (*INPUTS, *nodes), outputs, tuple(results))


def constant(value):
    return program(Node("const", (value,)))


def of_all_operations():
    """Each operation once, with operands of the right type: a, b and a < b."""
    nodes = [Node("lt", (0, 1))]
    for name, operation in OPERATIONS.items():
        places = {"number": iter((0, 1)), "truth": iter((2, 2))}
        nodes.append(Node(name, tuple(next(places[kind]) for kind in operation.takes)))
    return program(*nodes, results=range(2, len(nodes) + 2))


def test_equal_programs_are_equal_and_have_equal_hashes_and_digests():
    one, other = (program(Node("mul", (0, 1)), Node("neg", (2,))) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert one.digest == other.digest
    assert {one: "found"}[other] == "found"


@pytest.mark.parametrize(
    "other",
    [
        program(Node("mul", (1, 0)), Node("neg", (2,))),
        program(Node("mul", (0, 1)), Node("abs", (2,))),
        program(Node("mul", (0, 1)), Node("neg", (2,)), results=(2,)),
        program(Node("mul", (0, 1)), Node("neg", (2,)), results=(3, 3)),
    ],
)
def test_programs_of_other_operations_operands_or_outputs_differ(other):
    one = program(Node("mul", (0, 1)), Node("neg", (2,)))
    assert one != other
    assert one.digest != other.digest


def test_programs_of_other_names_or_units_differ():
    one = program()
    for ports in ((Port("a", "mm"), Port("b")), (Port("a", "m"), Port("c"))):
        other = Program(ports, one.nodes, one.outputs, one.results)
        assert one != other
        assert one.digest != other.digest
    assert one != "a program"


@pytest.mark.parametrize("one, other", [(0.0, -0.0), (1.0, True), (0.0, False)])
def test_constants_that_python_calls_equal_are_told_apart(one, other):
    assert constant(one) != constant(other)
    assert constant(one).digest != constant(other).digest


def test_what_is_not_a_number_equals_itself():
    assert constant(math.nan) == constant(float("nan"))
    assert hash(constant(math.nan)) == hash(constant(float("nan")))


def test_programs_do_not_change():
    one = program(Node("mul", (0, 1)))
    with pytest.raises(TypeError):
        one.nodes[0] = Node("input", (1,))
    with pytest.raises(FrozenInstanceError):
        one.nodes = ()


def test_a_program_is_printed_one_line_an_operation():
    one = program(
        Node("const", (0.1,)),
        Node("const", (True,)),
        Node("mul", (0, 1)),
        Node("select", (3, 4, 2)),
    )
    assert str(one).splitlines() == [
        "%0 = input a [m]",
        "%1 = input b",
        "%2 = 0.1",
        "%3 = True",
        "%4 = mul %0 %1",
        "%5 = select %3 %4 %2",
        "out0 = %5",
    ]


def test_operations_are_counted_inputs_and_constants_are_not():
    one = program(
        Node("const", (2.0,)), Node("mul", (0, 2)), Node("mul", (3, 1)), Node("neg", (4,))
    )
    assert len(one) == 3
    assert one.counts() == {"mul": 2, "neg": 1}


def test_operands_of_inputs_and_constants_are_none():
    assert Node("input", (1,)).operands == ()
    assert Node("const", (1.0,)).operands == ()
    assert Node("add", (3, 4)).operands == (3, 4)


def test_each_operation_gives_a_number_or_a_truth():
    one = of_all_operations()
    for node in one.nodes[3:]:
        assert type_of(node) == OPERATIONS[node.op].gives
    assert type_of(one.nodes[0]) == "number"
    assert type_of(Node("const", (1.0,))) == "number"
    assert type_of(Node("const", (False,))) == "truth"
    assert set(OPERATIONS) > ELEMENTARY


def test_uses_count_operands_and_outputs():
    one = program(Node("mul", (0, 0)), Node("add", (2, 1)), results=(3, 2, 3))
    assert uses(one) == [2, 1, 2, 2]


def test_a_node_depends_on_the_inputs_below_it():
    one = program(
        Node("const", (2.0,)), Node("mul", (0, 2)), Node("neg", (1,)), Node("add", (3, 4))
    )
    assert depends_on(one, [0]) == [True, False, False, True, False, True]
    assert depends_on(one, [1]) == [False, True, False, False, True, True]
    assert depends_on(one, []) == [False] * 6


# Bytes

VALUES = [math.nan, math.inf, -math.inf, -0.0, 0.0, 0.1, 1 / 3, 5e-324, 1.7976931348623157e308]


@pytest.mark.parametrize("value", [*VALUES, True, False])
def test_constants_survive_as_they_are(value):
    again = Program.from_bytes(constant(value).to_bytes())
    found = again.nodes[2].args[0]
    assert type(found) is type(value)
    assert again == constant(value)
    if value == value:
        assert found == value
        assert math.copysign(1, found) == math.copysign(1, value)
    else:
        assert math.isnan(found)


def test_a_program_survives_as_it_is():
    one = of_all_operations()
    again = Program.from_bytes(one.to_bytes())
    assert again == one
    assert again.nodes == one.nodes
    assert again.inputs == one.inputs
    assert again.outputs == one.outputs
    assert again.results == one.results
    assert isinstance(again.inputs[0], Port)
    assert isinstance(again.nodes[0], Node)
    assert again.digest == one.digest


def test_a_digest_is_the_same_in_every_process():
    text = (
        "import sys; from triskele.programs.program import Program;"
        "print(Program.from_bytes(sys.stdin.buffer.read()).digest)"
    )
    one = program(*(Node("const", (value,)) for value in VALUES), Node("add", (2, 3)))
    done = subprocess.run(
        [sys.executable, "-c", text], input=one.to_bytes(), capture_output=True, check=True
    )
    assert done.stdout.decode().strip() == one.digest


# What is refused


@pytest.mark.parametrize(
    "node, said",
    [
        (Node("input", (2,)), "%2: there is no such input"),
        (Node("input", (-1,)), "%2: there is no such input"),
        (Node("log", (0,)), "%2: there is no operation log"),
        (Node("add", (0,)), "%2: add takes 2"),
        (Node("neg", (0, 1)), "%2: neg takes 1"),
        (Node("neg", (2,)), "%2: operands come first"),
        (Node("neg", (-1,)), "%2: operands come first"),
        (Node("not", (0,)), "%2: %0 is no truth"),
        (Node("select", (0, 0, 1)), "%2: %0 is no truth"),
        (Node("const", ("1",)), "%2: it is no number"),
        (Node("const", (1,)), "%2: it is no number"),
    ],
)
def test_operations_that_cannot_be_computed_are_refused(node, said):
    with pytest.raises(AssertionError, match=said):
        program(node)


def test_arithmetic_on_truths_is_refused():
    for node in (Node("add", (2, 0)), Node("sqrt", (2,)), Node("eq", (2, 2))):
        with pytest.raises(AssertionError, match="%3: %2 is no number"):
            program(Node("lt", (0, 1)), node)


def test_outputs_need_places_that_exist():
    with pytest.raises(AssertionError):
        program(results=(2,))
    with pytest.raises(AssertionError):
        program(results=(-1,))
    with pytest.raises(AssertionError, match="each output has one place"):
        Program(PORTS, INPUTS, (Port("out"),), (0, 1))
