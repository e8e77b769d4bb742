"""Each rule alone, on a case that it changes; then all of them on graphs drawn at random."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import INPUTS, TRUTHS, WHOLE, WHOLE_NUMBERS, all_values, drawn, uncertainty

from triskele.programs.interpret import interpreted
from triskele.programs.program import ELEMENTARY, OPERATIONS, Node, Port, Program
from triskele.programs.simplify import RULES, VALUES, Graph, gathered, simplified

# Expressions as text. Inputs are x, y and z; p and q are the truths x < z and y < z.

INPUT = {"x": 0, "y": 1, "z": 2}
SHORT = {"p": "( lt x z )", "q": "( lt y z )"}
TRUTH = {"true": True, "false": False}


def parsed(text: str) -> Program:
    """The program of an expression, no rule applied; equal parts are computed once."""
    words = text.replace("(", " ( ").replace(")", " ) ").split()
    words = " ".join(SHORT.get(word, word) for word in words).split()
    nodes: dict[Node, int] = {}

    def place(node: Node) -> int:
        return nodes.setdefault(node, len(nodes))

    def read() -> int:
        word = words.pop(0)
        if word == "(":
            op, args = words.pop(0), []
            while words[0] != ")":
                args.append(read())
            words.pop(0)
            return place(Node(op, tuple(args)))
        if word in INPUT:
            return place(Node("input", (INPUT[word],)))
        return place(Node("const", (TRUTH[word] if word in TRUTH else float(word),)))

    result = read()
    return Program(tuple(map(Port, "xyz")), tuple(nodes), (Port("out"),), (result,))


def written(program: Program) -> str:
    """The expression of a program with one output."""

    def at(place: int) -> str:
        node = program.nodes[place]
        if node.op == "input":
            return program.inputs[node.args[0]].name
        if node.op == "const":
            value = node.args[0]
            return str(value).lower() if isinstance(value, bool) else f"{value:g}"
        text = f"({node.op} {' '.join(at(arg) for arg in node.args)})"
        return text.replace("(lt x z)", "p").replace("(lt y z)", "q")

    return at(program.results[0])


SQUARE = "(mul x x)"
INVERSE = f"(recip (sqrt (select (eq 0 {SQUARE}) 1 {SQUARE})))"
SINE = f"(mul x {INVERSE})"
COSINE = f"(select (eq 0 {SQUARE}) 1 (mul x {INVERSE}))"
#: by operation: an expression, and what the rules make of it
CASES = {
    "add": [
        ("(add 2 3)", "5"),
        ("(add x 2)", "(add 2 x)"),
        ("(sub (add x y) (add y x))", "0"),
        ("(add 0 x)", "x"),
        ("(add x (neg y))", "(sub x y)"),
        ("(add (neg x) y)", "(neg (sub x y))"),
        ("(add (neg x) (neg y))", "(neg (add x y))"),
        ("(add x x)", "(mul 2 x)"),
        ("(add 2 (add 3 x))", "(add 5 x)"),
    ],
    "sub": [
        ("(sub 2 3)", "-1"),
        ("(sub inf inf)", "nan"),
        ("(sub x 0)", "x"),
        ("(sub 0 x)", "(neg x)"),
        ("(sub x x)", "0"),
        ("(sub x (neg y))", "(add x y)"),
        ("(sub (neg x) y)", "(neg (add x y))"),
        ("(sub x 3)", "(add -3 x)"),
        ("(add (sub x y) (sub y x))", "0"),
    ],
    "mul": [
        ("(mul 2 3)", "6"),
        ("(mul x 2)", "(mul 2 x)"),
        ("(sub (mul x y) (mul y x))", "0"),
        ("(mul 0 x)", "0"),
        ("(mul 1 x)", "x"),
        ("(mul -1 x)", "(neg x)"),
        ("(mul (neg x) y)", "(neg (mul x y))"),
        ("(mul x (neg y))", "(neg (mul x y))"),
        ("(mul (neg x) (neg y))", "(mul x y)"),
        ("(mul -2 x)", "(neg (mul 2 x))"),
        ("(mul -2 (neg x))", "(mul 2 x)"),
        ("(mul 2 (mul 3 x))", "(mul 6 x)"),
        ("(mul x (recip x))", "1"),
        ("(mul (recip (sqrt x)) (sqrt x))", "1"),
    ],
    "neg": [
        ("(neg 2)", "-2"),
        ("(neg (neg x))", "x"),
        ("(neg (sub 3 x))", "(add -3 x)"),
    ],
    "abs": [
        ("(abs -2)", "2"),
        ("(abs (neg x))", "(abs x)"),
        ("(abs (abs x))", "(abs x)"),
        ("(abs (sqrt x))", "(sqrt x)"),
        ("(abs (exp x))", "(exp x)"),
        ("(abs (pow2 x))", "(pow2 x)"),
        ("(abs (mul x x))", "(mul x x)"),
    ],
    "sqrt": [("(sqrt 9)", "3")],
    "recip": [
        ("(recip 4)", "0.25"),
        ("(recip (recip x))", "x"),
        ("(recip (neg x))", "(neg (recip x))"),
        ("(recip (mul 4 x))", "(mul 0.25 (recip x))"),
    ],
    "floor": [("(floor -1.5)", "-2")],
    "round": [("(round 2.5)", "2"), ("(round (neg x))", "(neg (round x))")],
    "pow2": [("(pow2 3)", "8")],
    "sin": [("(sin 0)", "0"), ("(sin (neg x))", "(neg (sin x))"), ("(sin (atan2 x 0))", SINE)],
    "cos": [("(cos 0)", "1"), ("(cos (neg x))", "(cos x)"), ("(cos (atan2 0 x))", COSINE)],
    "exp": [("(exp 0)", "1")],
    "tanh": [("(tanh 0)", "0"), ("(tanh (neg x))", "(neg (tanh x))")],
    "atan2": [("(atan2 0 1)", "0")],
    "min": [
        ("(min 2 3)", "2"),
        ("(min x 2)", "(min 2 x)"),
        ("(sub (min x y) (min y x))", "0"),
        ("(min x x)", "x"),
    ],
    "max": [
        ("(max 2 3)", "3"),
        ("(max x 2)", "(max 2 x)"),
        ("(sub (max x y) (max y x))", "0"),
        ("(max x x)", "x"),
    ],
    "lt": [
        ("(lt 2 3)", "true"),
        ("(lt x x)", "false"),
        ("(lt (abs x) 0)", "false"),
        ("(lt (sqrt x) 0)", "false"),
    ],
    "le": [("(le 2 2)", "true")],
    "eq": [("(eq 2 2)", "true"), ("(eq x 2)", "(eq 2 x)"), ("(and (eq x y) (eq y x))", "(eq x y)")],
    "and": [
        ("(and true false)", "false"),
        ("(and p true)", "p"),
        ("(and p false)", "false"),
        ("(or (and p q) (and q p))", "(and p q)"),
        ("(and true p)", "p"),
        ("(and false p)", "false"),
        ("(and p p)", "p"),
    ],
    "or": [
        ("(or false false)", "false"),
        ("(or p false)", "p"),
        ("(or p true)", "true"),
        ("(and (or p q) (or q p))", "(or p q)"),
        ("(or true p)", "true"),
        ("(or false p)", "p"),
        ("(or p p)", "p"),
    ],
    "not": [("(not true)", "false"), ("(not (not p))", "p")],
    "select": [
        ("(select true x y)", "x"),
        ("(select false x y)", "y"),
        ("(select p x x)", "x"),
        ("(select (not p) x y)", "(select p y x)"),
        ("(select p (select p x y) z)", "(select p x z)"),
        ("(select p x (select p y z))", "(select p x z)"),
        ("(select p (neg x) (neg y))", "(neg (select p x y))"),
    ],
}
ALL_CASES = [case for cases in CASES.values() for case in cases]


@pytest.mark.parametrize("before, after", ALL_CASES)
def test_a_rule_makes_an_expression_smaller(before, after):
    assert written(simplified(parsed(before))) == after


@pytest.mark.parametrize("before, after", ALL_CASES)
def test_a_rule_keeps_the_value(before, after):
    points = np.random.default_rng(0).uniform(-3, 3, (3, 50)), [[2.0], [2.0], [2.0]], np.eye(3)
    for columns in points[: 1 if "recip" in before else 3]:
        ours, theirs = (interpreted(parsed(text), columns)[0] for text in (before, after))
        inside = np.isfinite(ours)
        assert inside.any() or after == "nan"
        assert np.array_equal(np.isnan(ours), np.isnan(theirs)) or after == "1"
        assert np.allclose(ours[inside], theirs[inside], rtol=3e-16, atol=0)


@pytest.mark.parametrize("op, number", [(op, k) for op in RULES for k in range(len(RULES[op]))])
def test_without_a_rule_one_of_its_cases_stays_larger(op, number, monkeypatch):
    fewer = [rule for k, rule in enumerate(RULES[op]) if k != number]
    monkeypatch.setitem(RULES, op, tuple(fewer))
    changed = [b for b, after in CASES[op] if written(simplified(parsed(b))) != after]
    assert changed, f"no case needs '{RULES[op]}'"


def test_every_operation_has_rules_and_every_rule_says_what_it_does():
    assert set(RULES) == set(OPERATIONS) == set(CASES)
    for rule in itertools.chain(*RULES.values()):
        assert rule.__doc__


@pytest.mark.parametrize(
    "text",
    [
        "(add x y)",
        "(sub 2 x)",
        "(mul 2 (add 3 x))",
        "(floor (neg x))",
        "(exp (neg x))",
        "(abs x)",
        "(lt (abs x) 1)",
        "(lt x 0)",
        "(lt 0 (abs x))",
        "(min x y)",
        "(select p x (neg y))",
        "(select p (select q x y) z)",
        "(le x x)",
        "(eq x x)",
    ],
)
def test_what_no_rule_applies_to_stays(text):
    assert written(simplified(parsed(text))) == text


# Graphs


def test_equal_operations_are_one():
    graph = Graph()
    x, y = graph.input(0), graph.input(1)
    assert graph.emit("mul", x, y) == graph.emit("mul", x, y) == graph.emit("mul", y, x)
    assert graph.input(0) == x
    assert graph.const(2.0) == graph.const(2)
    assert graph.const(math.nan) == graph.const(float("nan"))
    assert graph.const(0.0) == graph.const(-0.0)
    assert graph.const(1.0) != graph.const(True)
    assert graph.const(0.0) != graph.const(False)


def test_only_what_an_output_needs_is_kept_and_operands_come_first():
    graph = Graph()
    x = graph.input(0)
    graph.emit("exp", graph.emit("sin", x))
    total = graph.emit("add", graph.const(3.0), graph.emit("mul", x, x))
    program = graph.program([Port("x")], [Port("a"), Port("b")], [total, total])
    assert [node.op for node in program.nodes] == ["const", "input", "mul", "add"]
    assert program.results == (3, 3)


def test_long_chains_are_no_obstacle():
    graph = Graph()
    place = graph.input(0)
    for _ in range(5000):
        place = graph.emit("sin", place)
    assert len(graph.program([Port("x")], [Port("out")], [place])) == 5000


def test_inputs_that_are_burnt_in_are_left_out_and_the_others_keep_their_order():
    program = parsed("(add (mul x y) z)")
    less = simplified(program, {1: 2.0})
    assert [port.name for port in less.inputs] == ["x", "z"]
    assert interpreted(less, [3.0, 5.0])[0] == 11
    assert simplified(program, {0: 3.0, 1: 2.0, 2: 5.0}).nodes == (Node("const", (11.0,)),)


# Constants

SPECIAL = [0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.7, -1e-3, 1e9, -1e9, 1e300, -1e300, 5e-324]
SPECIAL += [709.0, 710.0, -750.0, 1023.0, 1024.0, -1080.0, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("op", [op for op in OPERATIONS if op != "select"])
def test_operations_on_constants_give_what_numpy_gives(op):
    takes = OPERATIONS[op].takes
    points = itertools.product(*([True, False] if t == "truth" else SPECIAL for t in takes))
    for values in points:
        constants = tuple(Node("const", (value,)) for value in values)
        places = tuple(range(len(values)))
        one = Program((), (*constants, Node(op, places)), (Port("out"),), (len(values),))
        found = simplified(one).nodes
        assert len(found) == 1, f"{op} {values}"
        ours, numpys = np.asarray(found[0].args[0]), interpreted(one, [])[0]
        assert ours.dtype == numpys.dtype
        # NumPy's and the C library's may differ in the last place
        slack = 2.3e-16 if op in (*ELEMENTARY, "pow2") else 0.0
        assert np.allclose(ours, numpys, rtol=slack, atol=0, equal_nan=True), f"{op} {values}"


def test_constants_are_not_gathered_out_of_range():
    assert len(VALUES) == len(OPERATIONS)
    for text in (
        "(mul 1e200 (mul 1e200 x))",
        "(mul 1e-200 (mul 1e-200 x))",
        "(recip (mul 1e-310 x))",
    ):
        one = parsed(text)
        for x in (1e-300, 1e300, -1e-100, 1e100):
            raw, ours = interpreted(one, [x])[0], interpreted(simplified(one), [x])[0]
            assert np.allclose(raw, ours, rtol=1e-15, atol=0)


# What is infinite, or not a number


@pytest.mark.parametrize(
    "text, value", [("(mul 0 x)", 0), ("(sub x x)", 0), ("(mul x (recip x))", 1)]
)
def test_exceptions_are_those_that_are_documented(text, value):
    for x in (math.inf, -math.inf, math.nan, 0.0):
        assert interpreted(simplified(parsed(text)), [x, 0.0, 0.0])[0] == value


@pytest.mark.parametrize(
    "text", ["(sqrt (sub 0 x))", "(add 1 (sqrt (neg x)))", "(abs (sqrt (mul -1 x)))"]
)
def test_the_root_of_a_negative_number_is_not_a_number(text):
    assert np.isnan(interpreted(simplified(parsed(text)), [4.0, 0.0, 0.0])[0])


@pytest.mark.parametrize(
    "text",
    ["(recip x)", "(recip (neg x))", "(recip (mul 4 x))", "(mul 2 (mul 3 (recip (sub 0 x))))"],
)
def test_the_reciprocal_of_nothing_is_infinite(text):
    assert np.isinf(interpreted(simplified(parsed(text)), [0.0, 0.0, 0.0])[0])


def test_a_program_can_find_what_is_not_a_number():
    for text in ("(eq x x)", "(le x x)"):
        found = interpreted(simplified(parsed(text)), [[1.0, math.nan], [0, 0], [0, 0]])[0]
        assert found.tolist() == [True, False]


def test_sine_and_cosine_of_an_angle_are_those_of_its_point():
    y, x = (side.ravel() for side in np.meshgrid(AXIS, AXIS))
    for op, exact in (("sin", np.sin), ("cos", np.cos)):
        program = simplified(parsed(f"({op} (atan2 x y))"))
        assert not {"sin", "cos", "atan2"} & set(program.counts())
        found = interpreted(program, [y, x, 0.0])[0]
        assert np.allclose(found, exact(np.arctan2(y, x)), rtol=0, atol=4e-16)
        for point in ((np.nan, 1.0), (1.0, np.nan), (0.0, np.nan), (np.nan, 0.0)):
            assert np.isnan(interpreted(program, [*point, 0.0])[0])


AXIS = np.array([0.0, 1.0, -2.0, 0.3, -1e-150, 1e150, -1e100, 1e-9])


# Sums


def size(program):
    """Operations but signs, which cost nothing in a sum."""
    return len(program) - program.counts().get("neg", 0)


@pytest.mark.parametrize(
    "before, after",
    [
        ("(add (mul 2 x) (mul 3 x))", "(mul 5 x)"),
        ("(add (mul 2 x) (mul 2 y))", "(mul 2 (add x y))"),
        ("(add (add x y) (mul 2 x))", "(add y (mul 3 x))"),
        ("(sub (add x y) x)", "y"),
        ("(sub (mul 2 x) (add x x))", "0"),
        ("(add (sub x y) (sub y x))", "0"),
        ("(sub (sub x y) (neg (sub x y)))", "(mul 2 (sub x y))"),
        ("(sub 0 (add x y))", "(neg (add x y))"),
        ("(add (mul 2 x) (neg (mul 2 y)))", "(mul 2 (sub x y))"),
        ("(sub (neg x) y)", "(neg (add x y))"),
        ("(add x (mul y z))", "(add x (mul y z))"),
        ("(mul (add x x) (add y x))", "(mul 2 (mul x (add x y)))"),
        ("(add (mul 0.5 x) (sub (mul 0.5 y) (mul 0.5 z)))", "(mul 0.5 (sub (add x y) z))"),
    ],
)
def test_terms_of_a_sum_are_gathered(before, after):
    found, x = gathered(parsed(before)), np.random.default_rng(0).uniform(-2, 2, (3, 20))
    assert size(found) <= size(parsed(after))  # terms may come in any order
    for program in (found, parsed(after)):
        exact = interpreted(parsed(before), x)[0]
        assert np.allclose(interpreted(program, x)[0], exact, rtol=1e-14, atol=1e-14)


def test_a_sum_that_is_used_twice_is_kept_as_it_is():
    one = parsed("(mul (add x y) (add 1 (add x y)))")
    assert len(gathered(one)) == 3
    outputs = Program(one.inputs, one.nodes, (Port("a"), Port("b")), (one.results[0], 2))
    assert len(gathered(outputs)) == 3


# Graphs drawn at random

COMMON = {"deadline": None, "derandomize": True, "database": None}
GRAPHS = st.binary(min_size=80, max_size=120)
REAL_INPUTS = np.array([[0.3, -1.7, 2.0, 1e-3], [1.1, 0.6, -2.5, 40.0], [-0.2, 0.2, 0.0, -3.0]])
WHOLE_INPUTS = np.array([[0, 1, -2, 3], [2, -1, 1, 5], [-1, 0, 4, -3]], float)
BURNT = tuple(itertools.product((False, True), repeat=INPUTS))


def burnt_in(program, columns, row, which):
    """`program` with some inputs as numbers, those of one row, and the row of the others."""
    numbers = {k: float(columns[k, row]) for k in range(INPUTS) if which[k]}
    return simplified(program, numbers), [columns[k, row] for k in range(INPUTS) if not which[k]]


def check_whole_numbers(data):
    """Sums, products, comparisons and choices of whole numbers are exact in doubles."""
    program = drawn(data, WHOLE + TRUTHS, WHOLE_NUMBERS)
    values = all_values(program, WHOLE_INPUTS)
    exact = np.ones(WHOLE_INPUTS.shape[1], bool)
    for value in values:
        exact &= np.abs(value * 1.0) < 2.0**52
    expected = [values[place] for place in program.results]
    small = simplified(program)
    for other in (small, gathered(program), gathered(small)):
        for ours, theirs in zip(interpreted(other, WHOLE_INPUTS), expected, strict=True):
            assert np.array_equal(ours[exact], theirs[exact])
    row, which = data[0] % 4, BURNT[data[1] % 8]
    if exact[row]:
        burnt, rest = burnt_in(program, WHOLE_INPUTS, row, which)
        for ours, theirs in zip(interpreted(burnt, rest), expected, strict=True):
            assert ours == theirs[row]


def check_real_numbers(data):
    """All operations of real numbers, to what rounding can do. Returns the share that is known."""
    program = drawn(data)
    values = all_values(program, REAL_INPUTS)
    off = uncertainty(program, values)
    expected = [(values[place] * 1.0, off[place]) for place in program.results]
    small = simplified(program)
    for other in (small, gathered(program), gathered(small)):
        for ours, (theirs, most) in zip(interpreted(other, REAL_INPUTS), expected, strict=True):
            known = np.isfinite(most)
            assert (np.abs(ours[known] - theirs[known]) <= 2 * most[known]).all()
    row, which = data[0] % 4, BURNT[data[1] % 8]
    burnt, rest = burnt_in(program, REAL_INPUTS, row, which)
    for ours, (theirs, most) in zip(interpreted(burnt, rest), expected, strict=True):
        assert not np.isfinite(most[row]) or abs(ours - theirs[row]) <= 2 * most[row]
    return np.mean([np.isfinite(most) for _, most in expected])


@settings(max_examples=300, **COMMON)
@given(GRAPHS)
def test_random_graphs_of_whole_numbers_keep_their_value_exactly(data):
    check_whole_numbers(data)


@pytest.mark.long
@settings(max_examples=10_000, **COMMON)
@given(GRAPHS)
def test_ten_thousand_random_graphs_of_whole_numbers_keep_their_value_exactly(data):
    check_whole_numbers(data)


@settings(max_examples=300, **COMMON)
@given(GRAPHS)
def test_random_graphs_of_real_numbers_keep_their_value_to_rounding(data):
    check_real_numbers(data)


@pytest.mark.long
@settings(max_examples=10_000, **COMMON)
@given(GRAPHS)
def test_ten_thousand_random_graphs_of_real_numbers_keep_their_value_to_rounding(data):
    check_real_numbers(data)


def test_random_graphs_become_much_smaller():
    random = np.random.default_rng(0)
    programs = [drawn(random.bytes(120)) for _ in range(100)]
    assert sum(len(simplified(one)) for one in programs) < 0.6 * sum(map(_needed, programs))


def _needed(program):
    """How many operations the outputs need."""
    needed = set(program.results)
    for place in reversed(range(len(program.nodes))):
        if place in needed:
            needed.update(program.nodes[place].operands)
    return sum(program.nodes[place].op not in ("input", "const") for place in needed)


def test_most_outputs_of_random_graphs_are_known_to_rounding():
    random = np.random.default_rng(0)
    known = [check_real_numbers(random.bytes(80)) for _ in range(200)]
    assert np.mean(known) > 0.5


@settings(max_examples=300, **COMMON)
@given(GRAPHS)
def test_what_is_not_a_number_stays_so_but_for_the_exceptions(data):
    program = drawn(data)
    rows = np.array([[np.nan, 0.7, 0.7, 0.7], [0.4, np.nan, 0.4, 0.4], [-2.0, -2.0, np.nan, -2.0]])
    values = all_values(program, rows)
    finite = np.ones(rows.shape[1], bool)  # of 1 / 0 the sign is free, and so is inf - inf
    for value in values:
        finite &= ~np.isinf(value * 1.0)
    without = {
        "sub": tuple(rule for rule in RULES["sub"] if rule is not RULES["sub"][2]),
        "mul": tuple(
            rule for rule in RULES["mul"] if rule not in (RULES["mul"][2], RULES["mul"][5])
        ),
    }
    with pytest.MonkeyPatch.context() as patch:
        for op, rules in without.items():
            patch.setitem(RULES, op, rules)
        found = interpreted(simplified(program), rows)
    for ours, place in zip(found, program.results, strict=True):
        assert np.array_equal(np.isnan(ours[finite] * 1.0), np.isnan(values[place][finite] * 1.0))
