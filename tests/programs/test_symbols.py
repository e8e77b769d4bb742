"""Laws called with symbols: the programs they write, and derivatives equal to JAX's."""

import math
import operator

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from triskele import numerics
from triskele.numerics import (
    atan2,
    determinant,
    exp,
    floor,
    full_like,
    jvp,
    maximum,
    minimum,
    newton,
    safe_divide,
    safe_norm,
    safe_sqrt,
    sign,
    sincos,
    solve,
    sqrt,
    tanh,
    vjp,
    where,
    window,
    zeros_like,
)
from triskele.programs import symbols
from triskele.programs.interpret import interpreted
from triskele.programs.program import OPERATIONS
from triskele.programs.symbols import PARTIALS, NotStraightLine, is_symbolic, written

ROWS = 7
RNG = np.random.default_rng(0)


def points(*shapes, most=2.0):
    return [RNG.uniform(-most, most, (ROWS, *shape)) for shape in shapes]


def columns_of(arrays):
    return [column for array in arrays for column in array.reshape(len(array), -1).T]


def check(function, *arrays, rtol=1e-12, atol=1e-13):
    """What `function` writes agrees with what JAX makes of it."""
    program, zeros = written(function, [array[0] for array in arrays])
    ours = interpreted(program, columns_of(arrays))
    by_jax = jax.jit(jax.vmap(function))(*map(jnp.asarray, arrays))
    assert jax.tree.structure(zeros) == jax.tree.structure(by_jax)
    theirs = columns_of([np.asarray(leaf) for leaf in jax.tree.leaves(by_jax)])
    assert len(ours) == len(theirs)
    for port, one, other in zip(program.outputs, ours, theirs, strict=True):
        one = np.broadcast_to(one, other.shape) * 1.0
        assert np.allclose(one, other * 1.0, rtol=rtol, atol=atol, equal_nan=True), port
    return program


# Arithmetic

TWO = {
    "sums": lambda x, y: (x + y, x - y, x + 1, 1 + x, x - 2.5, 2.5 - x, +x, -x),
    "products": lambda x, y: (x * y, 3 * x, x * 0.5, x / y, x / 4, 2 / x, x / 1),
    "powers": lambda x, y: (x**2, x**3, x**-1, x**-2, x**0, x**1, abs(y) ** 0.5),
    "comparisons": lambda x, y: (x < y, x <= y, x > y, x >= y, x < 1, 1 < x, x >= 0.5),
    "equality": lambda x, y: (floor(x) == floor(y), floor(x) != floor(y), floor(x) == 1),
    "truths": lambda x, y: ((x > 0) & (y > 0), (x > 0) | (y > 0), ~(x > 0)),
    "choices": lambda x, y: (where(x < y, x, y), where(x < y, 1.0, y), where(x > 0, 2.0, 3.0)),
    "least": lambda x, y: (minimum(x, y), maximum(x, y), minimum(x, 0.5), maximum(0.5, y)),
    "functions": lambda x, y: (sqrt(abs(x)), exp(x), tanh(x), floor(3 * x), abs(x)),
    "angles": lambda x, y: (*sincos(x), atan2(x, y), atan2(x, 1.0), atan2(1.0, y)),
    "signs": lambda x, y: (sign(x), sign(0 * x)),
    "constants": lambda x, y: (zeros_like(x), full_like(x, 2.0), 3.0, x),
    "numpy's numbers": lambda x, y: (np.float64(2) * x, x - np.float64(1), x / np.float64(4)),
    "safe": lambda x, y: (safe_sqrt(x), safe_norm(x * x), safe_divide(x, y)),
}
ARRAYS = {
    "array and number": lambda v, A: (v * v[0], v[1] * v, v - v[0], v[0] - v, v / v[1], v[1] / v),
    "plain arrays": lambda v, A: (
        np.arange(3.0) * v,
        v - np.ones(3),
        np.ones(3) / v,
        v[0] + np.ones(2),
    ),
    "products of arrays": lambda v, A: (A @ v, v @ v, A @ A.T, np.ones((2, 2)) @ A),
    "sums of arrays": lambda v, A: (v.sum(), A.sum(axis=0), A.sum(axis=1), (v * v).sum()),
    "parts": lambda v, A: (v[1:], v[::-1], A.T, A[:, 0], A[1, 2], A.reshape(3, 2)),
    "choices": lambda v, A: (where(v[0] > 0, v[1], A[1, 1]), where(v[1] > 0, A[0, 0], 1.0)),
    "windows": lambda v, A: (
        window(v, floor(v[0]), 2),
        window(A, floor(v[0]), 1),
        window(v, -3.0 * v[0] * v[0], 1),
    ),
    "determinants": lambda v, A: determinant(((v[0], v[1]), (A[0, 0], A[1, 2]))),
    "solutions": lambda v, A: solve(((v[0] + 9, v[1]), (A[0, 0], A[1, 2] + 9)), (v[2], A[1, 1])),
}


@pytest.mark.parametrize("name", TWO)
def test_arithmetic_on_symbols_is_that_of_jax(name):
    if name == "numpy's numbers":
        check(lambda x, y: (2 * x, x - 1, x / 4), *points((), ()))
    ours = written(TWO[name], [0.0, 0.0])[0]
    assert len(ours.inputs) == 2
    check(TWO[name], *points((), ()))


@pytest.mark.parametrize("name", [name for name in ARRAYS if name != "windows"])
def test_arithmetic_on_arrays_of_symbols_is_that_of_jax(name):
    check(ARRAYS[name], *points((3,), (2, 3)))


def test_a_window_begins_where_it_is_computed_and_is_held_inside():
    v = np.arange(5.0)
    starts = np.array([-7.0, -1, 0, 1, 2, 3, 4, 99])
    for size in (1, 2, 5):
        program, _ = written(lambda v, at, size=size: window(v, at, size), [v, 0.0])
        found = interpreted(program, [*(np.full(8, value) for value in v), starts])
        first = np.clip(starts, 0, 5 - size)
        assert np.array_equal(found, [first + k for k in range(size)])
    with pytest.raises(NotStraightLine, match="an index that is computed, among 65"):
        written(lambda at: window(np.arange(65.0), at, 1), [0.0])


def test_reflected_operations_are_those_of_numbers():
    for op in ("add", "sub", "mul", "truediv", "lt", "le", "gt", "ge", "eq", "ne"):
        for other in (2.0, 2, np.float64(2), np.array(2.0)):
            both = getattr(operator, op)
            program, _ = written(lambda x, f=both, k=other: (f(x, k), f(k, x)), [0.0])
            for x in (1.5, 2.0, -3.0):
                found = interpreted(program, [x])
                assert [float(v) for v in found] == [both(x, 2.0), both(2.0, x)], op


# Derivatives: the same functions of `numerics`, given symbols or JAX's numbers

EDGES = np.array([-4.0, -1e-300, 0.0, 1e-300, 1e-30, 0.5, 4.0])
LINE = {
    "safe_sqrt": safe_sqrt,
    "safe_norm": lambda x: safe_norm(1e-40 + x * x),
    "over safe_norm": lambda x: (1 + x) / safe_norm(1e-40 + x * x),
    "safe_divide": lambda x: safe_divide(3.0, x),
    "safe_divide of both": lambda x: safe_divide(x * x, x),
    "sine": lambda x: sincos(x)[0],
    "cosine": lambda x: sincos(x)[1],
    "abs": lambda x: abs(x - 0.25) * x,
    "sign": lambda x: sign(x) * x,
    "floor": lambda x: floor(x) * x * x,
    "maximum": lambda x: maximum(x, 0.0),
    "minimum": lambda x: minimum(0.5, x) * x,
    "clip": lambda x: minimum(maximum(x, 0.0), 4.0),
    "where": lambda x: where(x > 0, x**3, -x),
    "root of where": lambda x: safe_sqrt(where(x > 1, x - 1, 0.0)) * tanh(x),
    "exp": lambda x: exp(-x * x),
    "tanh": lambda x: tanh(x * x - x),
    "angle": lambda x: atan2(x, 1 + x * x),
    "angle on the axis": lambda x: atan2(x, 0.0),
    "quotient": lambda x: 1 / (2 + x * x) / (3 + x),
    "powers": lambda x: x**5 - (x + 9) ** -3,
    "constant": lambda x: 3.0 + 0 * x,
    "itself": lambda x: x,
}


def orders(function):
    """Value, and first and second derivatives forwards and backwards."""

    def slope(x):
        return jvp(function, (x,), (full_like(x, 1.0),))[1]

    def pulled(x):
        return vjp(function, x)[1](full_like(x, 1.0))[0]

    def all_of(x):
        one = full_like(x, 1.0)
        value, change = jvp(function, (x,), (one,))
        again, back = vjp(function, x)
        second = [jvp(f, (x,), (one,))[1] for f in (slope, pulled)]
        second += [vjp(f, x)[1](one)[0] for f in (slope, pulled)]
        return value, change, again, back(one), *second

    return all_of


@pytest.mark.parametrize("name", LINE)
def test_derivatives_also_at_edges_are_those_of_jax(name):
    check(orders(LINE[name]), EDGES, rtol=1e-11)


@pytest.mark.parametrize("name", ["safe_sqrt", "exp", "tanh", "angle", "quotient", "powers"])
def test_third_derivatives_are_those_of_jax(name):
    def third(x):
        function = LINE[name]
        for _ in range(3):
            function = lambda x, f=function: jvp(f, (x,), (full_like(x, 1.0),))[1]  # noqa: E731
        return function(x)

    check(third, RNG.uniform(0.5, 2, ROWS), rtol=1e-10)


def test_derivatives_of_an_angle_are_those_of_jax_also_at_the_origin():
    y, x = (side.ravel() for side in np.meshgrid([0.0, 1.0, -2.0, 1e-9], [0.0, 0.5, -3.0]))

    def rates(y, x):
        value, back = vjp(atan2, y, x)
        first = [
            jvp(atan2, (y, x), (full_like(y, a), full_like(x, b)))
            for a, b in ((1.0, 0.0), (2.0, 3.0))
        ]
        return value, back(full_like(y, 1.0)), first

    check(rates, y, x, rtol=1e-12)


def curve(x, v):
    """Of a vector and a number into a structure, with shared parts."""
    s, c = sincos(x[0] * v)
    r = safe_sqrt(x[1] * x[1] + s)
    return {"r": r, "pair": (safe_divide(c * x[2], 3 + r), (atan2(s * v, x[2]), x[1]))}


def test_derivatives_of_structures_are_those_of_jax():
    def both(x, v, xd, vd):
        values, tangents = jvp(curve, (tuple(x), v), (tuple(xd), vd))
        again, back = vjp(curve, tuple(x), v)
        return values, tangents, again, back(tangents)

    check(lambda *a: both([a[0], a[1], a[2]], a[3], [a[4], a[5], a[6]], a[7]), *points(*[()] * 8))


def test_the_derivative_of_a_size_at_zero_is_between_those_beside_it():
    program, _ = written(lambda x: jvp(abs, (x,), (full_like(x, 1.0),))[1], [0.0])
    assert [float(interpreted(program, [x])[0]) for x in (-2.0, 2.0)] == [-1, 1]
    assert abs(float(interpreted(program, [0.0])[0])) <= 1


def test_arrays_are_not_differentiated_as_wholes():
    with pytest.raises(TypeError, match="ndarray is no number"):
        written(lambda v: jvp(lambda v: v * v, (v,), (v,)), [np.ones(3)])


def test_what_a_function_holds_besides_its_arguments_is_constant():
    def function(x, y):
        def inner(z):
            return z * x * y + jvp(lambda w: w * z * x, (y,), (x,))[1]

        return jvp(inner, (x,), (y,))[1], vjp(inner, y)[1](x)[0]

    check(function, *points((), ()))


def test_an_argument_that_is_not_used_or_is_returned_has_its_derivative():
    def function(x, y):
        values, tangents = jvp(lambda a, b: (b, 2.0 * a, 5.0 + 0 * a), (x, y), (y, x))
        return values, tangents, vjp(lambda a, b: a * a, x, y)[1](x)

    check(function, *points((), ()))


def test_equal_arguments_are_told_apart():
    def function(x):
        return jvp(lambda a, b: a * a * b, (x, x), (x, 0 * x))[1], vjp(
            lambda a, b: a - b * b, x, x
        )[1](x)

    check(function, *points(()))


def test_derivatives_share_what_they_have_in_common_with_values():
    program, _ = written(lambda x: jvp(lambda t: exp(sincos(t)[0]), (x,), (x,)), [0.0])
    assert program.counts() == {"sin": 1, "cos": 1, "exp": 1, "mul": 2}


def test_every_operation_has_a_derivative_or_is_constant_in_pieces():
    in_pieces = {op for op, operation in OPERATIONS.items() if operation.gives == "truth"}
    # a choice has rules of its own, and no symbol makes a power of two
    assert set(OPERATIONS) == set(PARTIALS) | in_pieces | {"floor", "round", "select", "pow2"}


def test_newtons_method_has_the_derivatives_that_jax_finds():
    def root(a):
        step = lambda given, x: ((x[0] ** 3 - given[0]) / (3 * x[0] ** 2),)  # noqa: E731
        return newton(step, (a,), (full_like(a, 1.0),))[0]

    check(orders(root), np.array([0.5, 1.0, 5.0, 8.0]), rtol=1e-10)


# Programs


def test_only_shapes_of_arguments_count_and_results_come_with_zeros():
    program, zeros = written(lambda x, y: {"a": x[0] * y, "b": (x, 2.0)}, [np.ones(3), 7])
    assert [str(port) for port in program.inputs] == ["[0][0]", "[0][1]", "[0][2]", "[1]"]
    assert [str(port) for port in program.outputs][:2] == ["['a']", "['b'][0][0]"]
    assert zeros["a"].shape == ()
    assert zeros["b"][0].shape == (3,)
    assert not np.any(zeros["b"][0])


def test_truths_stay_truths():
    program, _ = written(lambda x: (x > 0, (x > 0) & True, x), [0.0])
    assert symbols.is_truth(program) == [True, True, False]


def test_known_numbers_are_folded():
    program, _ = written(lambda x: (x * 0, x - x, (x + 1) - 1, x * 2 / 2), [0.0])
    assert len(program) == 0


def test_a_symbol_is_told_from_numbers():
    seen = []
    written(lambda x, v: seen.extend([x, v, v[0], 1.0, np.ones(2), None]) or x, [0.0, np.ones(2)])
    assert [is_symbolic(value) for value in seen] == [True, True, True, False, False, False]
    assert numerics.library(*seen[:2]) is symbols
    assert numerics.library(1.0) is np
    assert isinstance(hash(seen[0]), int)
    assert seen[0].shape == ()


@pytest.mark.parametrize(
    "function, error",
    [
        (lambda x: 1.0 if x > 0 else 2.0, NotStraightLine),
        (lambda x: float(x), NotStraightLine),
        (lambda x: [1, 2][x], NotStraightLine),
        (lambda x: int(x), NotStraightLine),
        (lambda x: math.sin(x), NotStraightLine),
        (lambda x: x**1.5, NotStraightLine),
        (lambda x: x in (1.0, 2.0), NotStraightLine),
        (lambda x: np.sin(x), TypeError),
        (lambda x: jnp.sin(x), TypeError),
        (lambda x: jnp.ones(3) * x, TypeError),
        (lambda x: x + "text", TypeError),
        (lambda x: x + 1j, TypeError),
        (lambda x: (x, "text"), TypeError),
    ],
)
def test_what_cannot_be_written_raises(function, error):
    with pytest.raises(error):
        written(function, [0.0])
