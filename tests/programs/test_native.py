"""Machine code in its three forms: equal to the last bit, and to NumPy's arithmetic."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from random_graphs import drawn
from running import FORMS, program_of, run_natively

from triskele.programs import native
from triskele.programs.elementary import expanded
from triskele.programs.interpret import interpreted
from triskele.programs.native import LANES, QUICK, SINGLE, Native, Table
from triskele.programs.program import ELEMENTARY, OPERATIONS, Node, Port, Program
from triskele.programs.simplify import simplified

pytestmark = pytest.mark.skipif(not native.available(), reason="LLVM is not installed")
RNG = np.random.default_rng(0)
SPECIAL = np.array([0.0, -0.0, 1.0, -1.5, 2.5, 1e308, -1e308, 5e-324, np.inf, -np.inf, np.nan])
GUARD = -12345.0


def same(one, other):
    """Whether arrays are equal to the last bit, signs of zero included; NaN is NaN."""
    one, other = np.ascontiguousarray(one), np.ascontiguousarray(other)
    bits = one.view(np.int64) == other.view(np.int64)
    return bool((bits | (np.isnan(one) & np.isnan(other))).all())


def number(graph, truth):
    return graph.emit("select", truth, graph.const(1.0), graph.const(0.0))


def each_operation(g, x, y):
    """All operations but those written out, each alone."""
    t, u = g.emit("lt", x, y), g.emit("le", y, g.const(1.0))
    takes = {"number": (x, y), "truth": (t, u)}
    results = []
    for op, operation in sorted(OPERATIONS.items()):
        places = {kind: iter(values) for kind, values in takes.items()}
        args = [next(places[kind]) for kind in operation.takes]
        if op == "pow2":
            least, most = g.const(-1022.0), g.const(1023.0)
            args = [g.emit("floor", g.emit("min", g.emit("max", x, least), most))]
        results.append(g.emit(op, *args))
    return results


EVERY = program_of(2, each_operation)


def law(g, a, b, c, x, y, z):
    """Something of each kind: three inputs that may be the same for all, and three that vary."""
    root = g.emit("sqrt", g.emit("add", g.emit("mul", a, a), g.const(1.0)))
    ratio = g.emit("mul", x, g.emit("recip", g.emit("add", g.emit("mul", y, y), root)))
    inside = g.emit("lt", g.emit("abs", ratio), b)
    chosen = g.emit("select", inside, g.emit("sin", ratio), g.emit("exp", g.emit("neg", z)))
    fixed = g.emit("and", g.emit("lt", a, b), g.emit("le", c, b))
    both = g.emit("or", g.emit("and", fixed, inside), g.emit("not", g.emit("eq", x, z)))
    return (
        chosen,
        g.emit("sub", g.emit("mul", chosen, c), g.emit("mul", z, root)),
        both,
        number(g, both),
        root,
        a,
        g.const(0.25),
        x,
        g.emit("select", fixed, x, y),
        fixed,
    )


LAW = program_of(6, law)
UNIFORM = (0, 1, 2)


def example(n, seed=0):
    """Inputs of LAW: three numbers and three columns."""
    random = np.random.default_rng(seed)
    return [*random.uniform(0.5, 2, 3), *random.uniform(-2, 2, (3, n))]


def spread(columns):
    n = max(np.size(column) for column in columns)
    return [np.broadcast_to(column, n) for column in columns]


# Operations


@pytest.mark.parametrize("form", FORMS)
def test_each_operation_is_numpys_to_the_last_bit(form):
    columns = [side.ravel() for side in np.meshgrid(SPECIAL, SPECIAL)]
    columns = [np.append(c, RNG.uniform(-3, 3, 100)) for c in columns]
    found = run_natively(EVERY, columns, form)
    plain = interpreted(expanded(EVERY), columns)
    for op, ours, numpys in zip(sorted(OPERATIONS), found, plain, strict=True):
        if op in ELEMENTARY:  # products are fused with sums; see test_elementary.py
            assert np.allclose(ours[-100:], numpys[-100:], rtol=1e-15), op
        elif op == "pow2":  # of whole numbers with a normal power
            known = ~np.isnan(columns[0])
            assert same(ours[known], numpys[known]), op
        elif op in ("min", "max"):  # of 0 and -0 either
            assert np.array_equal(ours, numpys, equal_nan=True), op
        else:
            assert same(ours, np.asarray(numpys, float)), op


def test_forms_agree_to_the_last_bit_for_each_operation():
    columns = [side.ravel() for side in np.meshgrid(SPECIAL, SPECIAL)]
    results = [run_natively(EVERY, columns, form) for form in FORMS]
    assert same(results[0], results[1])
    assert same(results[0], results[2])


@pytest.mark.parametrize("seed", range(12))
def test_forms_agree_to_the_last_bit_for_random_graphs(seed):
    random = np.random.default_rng(seed)
    program = simplified(drawn(random.bytes(400)))
    program = Program(
        program.inputs,
        program.nodes,
        tuple(Port(str(k)) for k in range(len(program.nodes))),
        tuple(range(len(program.nodes))),
    )
    columns = list(random.uniform(-2, 2, (len(program.inputs), 37)))
    quick, single, lanes = (run_natively(program, columns, form) for form in FORMS)
    assert same(quick, single)
    assert same(quick, lanes)


@pytest.mark.parametrize("form", FORMS)
def test_a_program_agrees_with_its_interpretation_to_rounding(form):
    columns = example(100)
    found = run_natively(LAW, spread(columns), form)
    plain = interpreted(expanded(LAW), spread(columns))
    for ours, numpys in zip(found, plain, strict=True):
        assert np.allclose(ours, numpys * 1.0, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_inputs_that_are_the_same_for_all_rows_make_no_difference(form, count):
    columns = example(50)
    rows = [np.full(50, value) for value in columns[count:3]]
    found = run_natively(LAW, [*columns[:count], *rows, *columns[3:]], form, uniform=range(count))
    assert same(found, run_natively(LAW, spread(columns), form))


def test_what_depends_on_them_alone_is_computed_before_the_loop():
    for width in (1, 8):
        before, loop = native.llvm_assembly(LAW, UNIFORM, width).split("loop:")
        assert before.count("@llvm.sqrt.f64(double %") == 1
        assert "@llvm.sqrt" not in loop
        assert "@llvm.sqrt" in native.llvm_assembly(LAW, (), width).split("loop:")[1]


def test_programs_may_have_no_rows_that_vary():
    program = program_of(2, lambda g, a, b: (g.emit("mul", a, b), g.emit("lt", a, b), g.const(3.0)))
    out = np.full((20, 3), GUARD)
    numbers = np.array([2.0, 5.0])
    into, outof = Table.of([numbers]), Table.of([out])
    code = Native(lambda: program, (0, 1))
    for form in FORMS:
        out[:] = GUARD
        code.function(form)(20, *into.addresses, *outof.addresses)
        assert np.array_equal(out, np.tile([10.0, 1.0, 3.0], (20, 1)))


def test_outputs_may_be_inputs_constants_and_equal():
    program = program_of(2, lambda g, x, y: (x, g.const(2.0), x, g.const(True), y, g.const(np.nan)))
    columns = [np.arange(20.0), -np.arange(20.0)]
    for form in FORMS:
        found = run_natively(program, columns, form)
        expected = [columns[0], np.full(20, 2.0), columns[0], np.ones(20), columns[1]]
        assert same(found, [*expected, np.full(20, np.nan)])


def test_inputs_that_no_output_needs_are_left_alone():
    program = program_of(3, lambda g, x, y, z: g.emit("neg", y))
    columns = [np.arange(20.0) for _ in range(3)]
    for form in FORMS:
        assert same(run_natively(program, columns, form)[0], -columns[1])


# Rounding


def test_a_quotient_is_rounded_once_and_shared_reciprocals_twice():
    alone = program_of(2, lambda g, x, y: g.emit("mul", x, g.emit("recip", y)))
    shared = program_of(
        2, lambda g, x, y: (g.emit("mul", x, g.emit("recip", y)), g.emit("recip", y))
    )
    x, y = RNG.uniform(1, 2, (2, 1000))
    assert not np.array_equal(x / y, x * (1 / y))
    for form in FORMS:
        assert same(run_natively(alone, [x, y], form)[0], x / y)
        assert same(run_natively(shared, [x, y], form)[0], x * (1 / y))


def test_a_quotient_in_a_sum_is_right_too():
    program = program_of(
        3, lambda g, x, y, z: g.emit("add", z, g.emit("mul", x, g.emit("recip", y)))
    )
    x, y, z = RNG.uniform(1, 2, (3, 1000))
    for form in FORMS:
        assert np.allclose(run_natively(program, [x, y, z], form)[0], z + x / y, rtol=3e-16)


SUMS = {
    "x y + z": lambda g, x, y, z: g.emit("add", g.emit("mul", x, y), z),
    "x y - z": lambda g, x, y, z: g.emit("sub", g.emit("mul", x, y), z),
    "z - x y": lambda g, x, y, z: g.emit("sub", z, g.emit("mul", x, y)),
    "x y + y z": lambda g, x, y, z: g.emit("add", g.emit("mul", x, y), g.emit("mul", y, z)),
    "x y - y z": lambda g, x, y, z: g.emit("sub", g.emit("mul", x, y), g.emit("mul", y, z)),
    "twice": lambda g, x, y, z: [
        g.emit("add", g.emit("mul", x, y), z),
        g.emit("sub", z, g.emit("mul", x, y)),
    ],
    "elsewhere too": lambda g, x, y, z: [
        g.emit("add", g.emit("mul", x, y), z),
        g.emit("sqrt", g.emit("mul", x, y)),
    ],
    "an output too": lambda g, x, y, z: [
        g.emit("add", g.emit("mul", x, y), z),
        g.emit("mul", x, y),
    ],
    "nested": lambda g, x, y, z: g.emit(
        "add", g.emit("mul", g.emit("add", g.emit("mul", x, y), z), y), x
    ),
}


@pytest.mark.parametrize("name", SUMS)
def test_products_in_sums_are_right_to_rounding(name):
    program = program_of(3, SUMS[name])
    columns = RNG.uniform(1, 2, (3, 200))
    plain = interpreted(program, columns)
    results = [run_natively(program, columns, form) for form in FORMS]
    assert same(results[0], results[1])
    assert same(results[0], results[2])
    for ours, numpys in zip(results[0], plain, strict=True):
        assert np.allclose(ours, numpys, rtol=1e-15, atol=1e-15)


def test_products_in_sums_are_fused_where_the_processor_can():
    program = program_of(3, SUMS["x y - z"])
    x, y = RNG.uniform(1, 2, (2, 100))
    lost = run_natively(program, [x, y, x * y], QUICK)[0]
    has = native._features()
    assert bool(lost.any()) == bool(has.get("fma") or has.get("neon"))
    assert np.abs(lost).max() < 4.5e-16


def test_small_numbers_are_not_flushed_to_zero():
    halved = program_of(1, lambda g, x: g.emit("mul", g.const(0.5), x))
    for form in FORMS:
        assert run_natively(halved, [np.full(20, 1e-310)], form)[0][0] == 5e-311


# Tables


def guarded(n, width):
    """An (n, width) array between guards, and the check that they are still there."""
    room = np.full((n + 64, width + 2), GUARD)
    view = room[32 : 32 + n, 1 : 1 + width]

    def intact():
        outside = np.ones(room.shape, bool)
        outside[32 : 32 + n, 1 : 1 + width] = False
        return bool((room[outside] == GUARD).all())

    return view, intact


LENGTHS = sorted(
    {*range(1, 41), *(k * native.lanes() + d for k in (1, 2, 3, 8) for d in (-1, 0, 1))}
)


@pytest.fixture(scope="module")
def code():
    return Native(lambda: LAW, UNIFORM)


@pytest.mark.parametrize("form", FORMS)
def test_tables_of_every_length_are_filled_and_nothing_else(code, form):
    columns = example(max(LENGTHS))
    numbers, rows = np.array(columns[:3]), np.stack(columns[3:], axis=-1)
    whole = np.stack(run_natively(LAW, columns, QUICK, uniform=UNIFORM), axis=-1)
    for n in LENGTHS:
        if form == LANES and n < native.lanes():
            continue
        out, intact = guarded(n, len(LAW.results))
        into, outof = Table.of([numbers, rows]), Table.of([out])
        code.function(form)(n, *into.addresses, *outof.addresses)
        assert same(out, whole[:n])
        assert intact()


LAYOUTS = {
    "row-major": lambda a: np.ascontiguousarray(a),
    "columns": lambda a: np.asfortranarray(a),
    "part of a wider one": lambda a: np.concatenate([a, np.full(a.shape, GUARD)], axis=1)[
        :, : a.shape[1]
    ],
    "reversed rows": lambda a: np.ascontiguousarray(a[::-1])[::-1],
    "reversed columns": lambda a: np.ascontiguousarray(a[:, ::-1])[:, ::-1],
    "every third row": lambda a: np.repeat(a, 3, axis=0)[::3],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("form", FORMS)
def test_columns_are_read_and_written_where_they_are(code, form, layout):
    columns = example(45)
    numbers, rows = np.array(columns[:3]), LAYOUTS[layout](np.stack(columns[3:], axis=-1))
    expected = np.stack(run_natively(LAW, columns, form, uniform=UNIFORM), axis=-1)
    assert np.array_equal(rows, np.stack(columns[3:], axis=-1))
    out = LAYOUTS[layout](np.full(expected.shape, GUARD))
    into, outof = Table.of([numbers, rows]), Table.of([out])
    code.function(form)(45, *into.addresses, *outof.addresses)
    assert same(out, expected)


def test_tables_may_come_in_several_arrays_and_as_one_row_for_all(code):
    columns = example(45)
    numbers = np.array(columns[:3])
    parts = [columns[3][:, None], np.stack(columns[4:], axis=-1)]
    still = [columns[3][:, None], np.broadcast_to(np.array([0.5, -0.25]), (45, 2))]
    for rows in (parts, still):
        flat = [*numbers, *(column for part in rows for column in part.T)]
        expected = np.stack(run_natively(LAW, flat, QUICK, uniform=UNIFORM), axis=-1)
        out = np.empty(expected.shape)
        into, outof = Table.of([numbers, *rows]), Table.of([out[:, :4], out[:, 4:]])
        for form in FORMS:
            code.function(form)(45, *into.addresses, *outof.addresses)
            assert same(out, expected)


def test_a_table_begins_later(code):
    columns = example(60)
    numbers, rows = np.array(columns[:3]), np.stack(columns[3:], axis=-1)
    expected = np.stack(run_natively(LAW, columns, QUICK, uniform=UNIFORM), axis=-1)
    out, intact = guarded(60, len(LAW.results))
    table, outof = Table.of([numbers, rows]), Table.of([out])
    into, outof = table.after(20), outof.after(20)
    code.function(LANES)(40, *into.addresses, *outof.addresses)
    assert same(out[20:], expected[20:])
    assert (out[:20] == GUARD).all()
    assert intact()


# Running


def run(code, columns, uniform=3, n=None):
    """`Native.run` of numbers and columns, the result between guards."""
    numbers, rows = np.array(columns[:uniform]), np.stack(columns[uniform:], axis=-1)
    n = len(rows) if n is None else n
    out, intact = guarded(n, len(LAW.results))
    into, outof = Table.of([numbers, rows]), Table.of([out])
    code.run(into, outof, n)
    assert intact()
    return out.copy()


def test_results_do_not_depend_on_the_number_of_cores(monkeypatch):
    columns = example(1000)
    expected = np.stack(run_natively(LAW, columns, QUICK, uniform=UNIFORM), axis=-1)
    monkeypatch.setattr(native, "_PARALLEL", 20)
    for worth in (0, 10**9):
        monkeypatch.setattr(native, "_WORTH", worth)
        for cores in (1, 2, 3, 7, 49):
            monkeypatch.setattr(native, "_cores", lambda cores=cores: cores)
            assert same(run(Native(lambda: LAW, UNIFORM), columns), expected)


def test_long_tables_run_on_lanes_and_all_cores_with_the_same_result():
    n = 2 * native._PARALLEL + 777
    code, columns = Native(lambda: LAW, UNIFORM), example(n)
    short = run(code, columns)
    assert set(code._loaded) == {QUICK}
    for _ in range(native._WORTH // n + 1):
        assert same(run(code, columns), short)
    assert set(code._loaded) == {QUICK, LANES}


def test_short_tables_are_no_matter_for_lanes(monkeypatch):
    monkeypatch.setattr(native, "_WORTH", 0)
    code, columns = Native(lambda: LAW, UNIFORM), example(100)
    expected = np.stack(run_natively(LAW, columns, QUICK, uniform=UNIFORM), axis=-1)
    for n in range(1, 2 * native.lanes() + 2):
        assert same(run(code, columns, n=n), expected[:n])


def test_no_rows_are_no_matter():
    code = Native(lambda: LAW, UNIFORM)
    numbers, rows = np.ones(3), np.ones((0, 3))
    out, intact = guarded(0, len(LAW.results))
    into, outof = Table.of([numbers, rows]), Table.of([out])
    code.run(into, outof, 0)
    assert intact()


@pytest.mark.parametrize("worth", [0, 10**9])
def test_rows_in_order_read_what_the_row_before_has_written(worth, monkeypatch):
    monkeypatch.setattr(native, "_PARALLEL", 1)
    monkeypatch.setattr(native, "_WORTH", worth)
    program = program_of(3, lambda g, k, y, x: g.emit("add", g.emit("mul", k, y), x))
    for n in (1, 2, 15, 16, 17, 200):
        x, found = RNG.uniform(-1, 1, (n, 1)), np.empty((n + 1, 1))
        found[0] = 0.3
        code, numbers = Native(lambda: program, (0,)), np.array([0.9])
        into, outof = Table.of([numbers, found[:-1], x]), Table.of([found[1:]])
        code.run(into, outof, n, in_order=True)
        expected = [0.3]
        for value in x[:, 0]:
            expected.append(0.9 * expected[-1] + value)
        assert np.allclose(found[:, 0], expected, rtol=1e-13, atol=1e-15)


def test_code_bound_to_memory_reads_and_writes_there_each_time():
    code, places = Native(lambda: LAW, UNIFORM), []
    for form in (SINGLE, QUICK, SINGLE):
        numbers, row, out = np.empty(3), np.empty(3), np.empty(len(LAW.results))
        go = code.bound(Table.of([numbers, row]), Table.of([out]), form)
        places.append((numbers, row, out, go))
    for seed in range(3):
        for k, (numbers, row, out, go) in enumerate(places):
            columns = example(1, seed=10 * seed + k)
            numbers[:], row[:] = columns[:3], np.ravel(columns[3:])
            go()
            assert same(out, np.ravel(run_natively(LAW, columns, QUICK, uniform=UNIFORM)))


def test_each_form_is_compiled_once_and_kept():
    kept, asked = [], []

    def program():
        asked.append(1)
        return LAW

    code = Native(program, UNIFORM, keep=lambda form, data: kept.append((form, data)))
    assert not asked
    functions = [code.function(form) for form in (*FORMS, *FORMS)]
    assert [form for form, _ in kept] == list(FORMS)
    assert len(asked) == 3
    assert functions[:3] == functions[3:]
    columns = example(50)
    again = Native(lambda: 1 / 0, UNIFORM, code=dict(kept).get, keep=lambda *_: 1 / 0)
    for form in FORMS:
        numbers, rows = np.array(columns[:3]), np.stack(columns[3:], axis=-1)
        out = np.empty((50, len(LAW.results)))
        into, outof = Table.of([numbers, rows]), Table.of([out])
        again.function(form)(50, *into.addresses, *outof.addresses)
        assert same(out.T, run_natively(LAW, columns, form, uniform=UNIFORM))


def test_threads_that_need_the_same_form_at_once_compile_it_once():
    kept, ready, count = [], threading.Barrier(6), 6
    code = Native(lambda: LAW, UNIFORM, keep=lambda form, _: kept.append(form))
    columns = example(64)

    def work(_):
        ready.wait()
        return run(code, columns)

    with ThreadPoolExecutor(count) as pool:
        results = list(pool.map(work, range(count)))
    assert kept == [QUICK]
    assert all(same(result, results[0]) for result in results)


def test_programs_of_many_operations_can_be_compiled():
    nodes = [Node("input", (0,)), Node("input", (1,))]
    for k in range(3000):
        nodes.append(Node(("add", "mul", "sub")[k % 3], (len(nodes) - 1, k % 2)))
    ports = (Port("x"), Port("y"))
    program = Program(ports, tuple(nodes), (Port("out"),), (len(nodes) - 1,))
    x, y = RNG.uniform(-0.5, 0.5, (2, 40))
    plain = interpreted(program, [x, y])[0]
    for form in (QUICK, LANES):
        assert np.allclose(run_natively(program, [x, y], form)[0], plain, rtol=1e-12)


def test_what_code_is_made_for_names_the_processor_and_its_lanes():
    assert native.lanes() in (4, 8, 16)
    assert f"lanes {native.lanes()}" in native.machine()
    assert SINGLE in FORMS
