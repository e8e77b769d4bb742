"""Functions written in JAX as programs: each operation, and what JAX makes of derivatives."""

import math
import threading

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
import pytest

from triskele.numerics import atan2, safe_divide, safe_norm, safe_sqrt, sincos
from triskele.programs.interpret import interpreted
from triskele.programs.program import Port
from triskele.programs.trace import _ARITHMETIC, _SPECIAL, NotStraightLine, trace, tracing

ROWS = 7
RNG = np.random.default_rng(0)
lax = jax.lax


def points(*shapes, most=2.0):
    """Arguments of these shapes at some configurations, (ROWS, *shape) each."""
    return [RNG.uniform(-most, most, (ROWS, *shape)) for shape in shapes]


def columns_of(arrays):
    return [column for array in arrays for column in array.reshape(len(array), -1).T]


def check(function, *arrays, rtol=1e-12, atol=1e-13):
    """The program of `function` agrees with JAX at all configurations."""
    program = trace(function, [array[0] for array in arrays])
    ours = interpreted(program, columns_of(arrays))
    with np.errstate(all="ignore"):
        leaves = jax.tree.leaves(jax.jit(jax.vmap(function))(*map(jnp.asarray, arrays)))
    theirs = columns_of([np.asarray(leaf) for leaf in leaves])
    assert len(ours) == len(theirs) == len(program.outputs)
    for port, one, other in zip(program.outputs, ours, theirs, strict=True):
        one = np.broadcast_to(one, other.shape) * 1.0
        assert np.allclose(one, other * 1.0, rtol=rtol, atol=atol, equal_nan=True), port
    return program


# Every operation. Functions take x and y, numbers, v, a vector of 3, and A, a matrix of (2, 3).

NUMBERS = {
    "add": lambda x, y: x + y,
    "add_any": lambda x, y: jax.vjp(lambda t: t * jnp.sin(t) * y, x)[1](y),
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "neg": lambda x, y: -x,
    "abs": lambda x, y: abs(x),
    "sqrt": lambda x, y: jnp.sqrt(abs(x)),
    "rsqrt": lambda x, y: lax.rsqrt(abs(x)),
    "square": lambda x, y: jnp.square(x),
    "floor": lambda x, y: jnp.floor(3 * x),
    "ceil": lambda x, y: jnp.ceil(3 * x),
    "round": lambda x, y: jnp.round(3 * x),
    "sign": lambda x, y: jnp.sign(x),
    "sin": lambda x, y: jnp.sin(x),
    "cos": lambda x, y: jnp.cos(x),
    "tan": lambda x, y: jnp.tan(x),
    "atan": lambda x, y: jnp.arctan(3 * x),
    "asin": lambda x, y: jnp.arcsin(x / 2),
    "acos": lambda x, y: jnp.arccos(x / 2),
    "atan2": lambda x, y: jnp.arctan2(x, y),
    "exp": lambda x, y: jnp.exp(3 * x),
    "tanh": lambda x, y: jnp.tanh(x),
    "min": lambda x, y: jnp.minimum(x, y),
    "max": lambda x, y: jnp.maximum(x, y),
    "clamp": lambda x, y: lax.clamp(-0.5, x, abs(y)),
    "clip": lambda x, y: jnp.clip(x, -0.5, 0.7),
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
    "eq": lambda x, y: (jnp.round(x) == 1.0, x == y),
    "ne": lambda x, y: (jnp.round(x) != 1.0, x != y),
    "and": lambda x, y: (x > 0) & (y > 0),
    "or": lambda x, y: (x > 0) | (y > 0),
    "not": lambda x, y: ~(x > 0),
    "is_finite": lambda x, y: jnp.isfinite(x),
    "select_n": lambda x, y: jnp.where(x < y, x, 2.0),
    "select_n of truths": lambda x, y: jnp.where(x < y, x > 0, y > 0),
    "integer_pow": lambda x, y: (x**2, x**3, x**7, x**-1, x**-4, x**0, x**1),
    "pow": lambda x, y: abs(x) ** 0.5,
    "rem": lambda x, y: (lax.rem(5 * x, 2.0), lax.rem(x, 0.25)),
    "copy": lambda x, y: jnp.array(x, copy=True) + y,
    "stop_gradient": lambda x, y: jax.vjp(lambda t: lax.stop_gradient(t) * t, x)[1](y),
    "optimization_barrier": lambda x, y: lax.optimization_barrier((x, y)),
    "convert_element_type": lambda x, y: (
        (x > 0).astype(float) * y - ((x > y).astype(int) + 2).astype(float)
    ),
    "truth of a number": lambda x, y: (jnp.round(x).astype(bool), x.astype(bool)),
    "jit": lambda x, y: jax.jit(lambda a, b: jax.jit(jnp.sin)(a) * b)(x, y),
    "custom_jvp_call": lambda x, y: jax.nn.relu(x) * y,
    "cond": lambda x, y: lax.cond(True, lambda: x, lambda: y) + lax.switch(7, [jnp.sin] * 3, x),
    "constants": lambda x, y: (3.0, True, np.arange(3), -0.5 * x),
}
CUBE = jax.custom_vjp(lambda x: x**3)
CUBE.defvjp(lambda x: (x**3, x), lambda x, given: (30 * x * x * given,))
NUMBERS["custom_vjp_call"] = lambda x, y: CUBE(x) + y
NUMBERS["derivative of custom_vjp_call"] = lambda x, y: jax.vjp(CUBE, x)[1](y)

ARRAYS = {
    "slice": lambda v, A: (v[1:], v[::2], A[:, 1:], v[-1], A[1]),
    "squeeze": lambda v, A: (jnp.squeeze(A[:1]), lax.squeeze(v[:1], (0,))),
    "reshape": lambda v, A: (A.reshape(3, 2), A.ravel(), v.reshape(1, 3, 1)),
    "expand_dims": lambda v, A: lax.expand_dims(v, (0, 2)),
    "broadcast_in_dim": lambda v, A: (
        v[None] + A,
        jnp.broadcast_to(v[:, None], (3, 2)),
        jnp.ones(3) * v,
    ),
    "transpose": lambda v, A: (A.T, jnp.transpose(A[None], (2, 0, 1))),
    "rev": lambda v, A: (v[::-1], jnp.flip(A), jnp.flip(A, 1)),
    "concatenate": lambda v, A: (jnp.concatenate([v, v[:1], A[0]]), jnp.hstack([A, A])),
    "stack": lambda v, A: (jnp.stack([v, A[0]]), jnp.stack([v, A[0]], 1), jnp.stack([v[0], v[1]])),
    "unstack": lambda v, A: (jnp.unstack(v), jnp.unstack(A, axis=1)),
    "split": lambda v, A: (jnp.split(v, 3), jnp.split(A, (1,), axis=1)),
    "pad": lambda v, A: (
        jnp.pad(v, (2, 1)),
        lax.pad(A, 7.0, ((0, 1, 2), (-1, 2, 1))),
        lax.pad(v, 0.0, ((-1, -2, 0),)),
        lax.pad(v > 0, True, ((1, 1, 0),)),
    ),
    "reduce_sum": lambda v, A: (v.sum(), A.sum(), A.sum(0), A.sum(1, keepdims=True), A.mean()),
    "reduce_prod": lambda v, A: (v.prod(), A.prod(1)),
    "reduce_min": lambda v, A: (v.min(), A.min(0)),
    "reduce_max": lambda v, A: (v.max(), A.max(1)),
    "reduce_and": lambda v, A: ((v > -1).all(), (A > -1).all(0)),
    "reduce_or": lambda v, A: ((v > 1).any(), (A > 1).any(1)),
    "dot_general": lambda v, A: (
        A @ v,
        v @ v,
        A @ A.T,
        A.T @ A,
        jnp.outer(v, v),
        jnp.tensordot(A, A),
    ),
    "dot_general of batches": lambda v, A: (
        jnp.einsum("bij,bjk->bik", jnp.stack([A, 2 * A]), jnp.stack([A.T, A.T])),
        jnp.einsum("ib,jb->bij", A, A),
        jnp.einsum("ij,ij->j", A, A),
        jnp.einsum("abc,bd->cad", A[None], A),
    ),
    "cumsum": lambda v, A: (jnp.cumsum(v), jnp.cumsum(A, 1), lax.cumsum(A, 0, reverse=True)),
    "iota": lambda v, A: (
        jnp.arange(3).astype(float) * v,
        lax.iota(float, 3) + v,
        jnp.eye(3) @ v,
        jnp.arange(6) // 2,
        lax.div(jnp.arange(-6, 6), 4),
    ),
    "scan": lambda v, A: lax.scan(lambda c, x: (c + x, (c * x, x)), v[0], v),
    "scan backwards": lambda v, A: lax.scan(lambda c, x: (c + x, c), v, A, reverse=True),
    "scan of nothing": lambda v, A: lax.scan(lambda c, x: (c + x, c), v, A[:0]),
    "scan without series": lambda v, A: lax.fori_loop(
        0, 5, lambda i, c: c * 0.5 + i.astype(float), v
    ),
    "dynamic_slice": lambda v, A: (
        lax.fori_loop(0, 3, lambda i, c: c + v[i] * (i + 1).astype(float), v[0]),
        lax.dynamic_slice(A, (0, 9), (2, 2)),
        lax.dynamic_slice(v, ((v > 0).sum(),), (1,)),
        A[1, (v > 0).sum() - 1],
    ),
    "vmap": lambda v, A: jax.vmap(lambda row: (row @ v) * jnp.sin(row[0]) + row[1])(A),
    "nothing": lambda v, A: (
        v[:0].sum(),
        v[:0].prod(),
        A[:, :0] @ v[:0],
        A[:0] @ v,
        (v[:0] > 0).all(),
        (v[:0] > 0).any(),
    ),
    "statistics": lambda v, A: (A.var(), A.std(0), jnp.linalg.norm(v), jnp.cross(v, A[0])),
    "derivative of slices": lambda v, A: (
        jax.grad(lambda v: (v[1:] * v[:-1]).sum())(v),
        jax.jacrev(lambda A: A @ v)(A),
        jax.hessian(lambda v: jnp.sin(v[0]) * v[1] * v[2] ** 2)(v),
    ),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_an_operation_on_numbers_agrees_with_jax(name):
    check(NUMBERS[name], *points((), ()))


@pytest.mark.parametrize("name", ARRAYS)
def test_an_operation_on_arrays_agrees_with_jax(name):
    check(ARRAYS[name], *points((3,), (2, 3)))


@pytest.mark.parametrize("name", sorted(NUMBERS.keys() - {"clamp", "cond"}))
def test_operations_on_numbers_work_on_arrays_entry_by_entry(name):
    check(NUMBERS[name], *points((2, 2), (2, 2)))


def primitives(jaxpr):
    """Names of all operations in a function as JAX traces it, inner functions included."""
    found = set()
    for equation in jaxpr.eqns:
        found.add(equation.primitive.name)
        for value in equation.params.values():
            for inner in value if isinstance(value, tuple | list) else (value,):
                inner = getattr(inner, "jaxpr", inner)
                found |= primitives(inner) if hasattr(inner, "eqns") else set()
    return found


def test_every_operation_that_is_traced_is_tested():
    seen = set()
    for functions, shapes in ((NUMBERS, ((), ())), (ARRAYS, ((3,), (2, 3)))):
        for function in functions.values():
            seen |= primitives(
                jax.make_jaxpr(function)(*(np.zeros(shape) for shape in shapes)).jaxpr
            )
    # names of the same in other versions of JAX
    aliases = {
        "one_minus_square",
        "pjit",
        "closed_call",
        "copy_p",
        "custom_vjp_call_jaxpr",
        "expand_dims",
        "copy",
    }
    assert set(_ARITHMETIC) | set(_SPECIAL) <= seen | aliases


# Infinite, not a number, beyond the domain


SPECIAL = """sign min max clip is_finite select_n abs lt ge eq ne tanh sqrt exp atan asin acos
    floor ceil round""".split()


@pytest.mark.parametrize(
    "name",
    [*SPECIAL, "truth of a number"],
)
def test_what_is_not_a_number_or_infinite_is_as_in_jax(name):
    special = np.array([0.0, 1.0, -1.0, 5.0, -5.0, np.inf, -np.inf, np.nan])
    x, y = (side.ravel() for side in np.meshgrid(special, special))
    check(NUMBERS[name], x, y)


def test_is_nan_is_found():
    check(lambda x: (jnp.isnan(x), jnp.nan_to_num(x)), np.array([1.0, np.nan, np.inf, -np.inf]))


# Edges: value, first and second derivatives, in both modes

EDGES = np.array([-4.0, -1e-300, 0.0, 1e-300, 1e-30, 0.5, 4.0])
LINE = {
    "safe_sqrt": safe_sqrt,
    "safe_norm": lambda x: safe_norm(x * x),
    "over safe_norm": lambda x: (1 + x) / safe_norm(1e-40 + x * x),
    "safe_divide": lambda x: safe_divide(3.0, x),
    "safe_divide of both": lambda x: safe_divide(x * x, x),
    "sincos": sincos,
    "abs": abs,
    "maximum": lambda x: jnp.maximum(x, 0.0),
    "clip": lambda x: jnp.clip(x, 0.0, 4.0),
    "where": lambda x: jnp.where(x > 0, x**3, -x),
    "root of where": lambda x: safe_sqrt(jnp.where(x > 1, x - 1, 0.0)) * jnp.tanh(x),
    "exp": lambda x: jnp.exp(-x * x),
}


def orders(function):
    """Value, and first and second derivatives by forward and reverse mode."""
    return lambda *x: (
        function(*x),
        jax.jacfwd(function)(*x),
        jax.jacrev(function)(*x),
        jax.jacfwd(jax.jacrev(function))(*x),
        jax.jacrev(jax.jacfwd(function))(*x),
    )


@pytest.mark.parametrize("name", LINE)
def test_derivatives_at_edges_are_those_of_jax(name):
    check(orders(LINE[name]), EDGES, rtol=1e-11)


def test_derivatives_of_an_angle_are_those_of_jax_also_at_the_origin():
    y, x = (side.ravel() for side in np.meshgrid([0.0, 1.0, -2.0, 1e-9], [0.0, 0.5, -3.0]))
    check(orders(lambda p: atan2(p[0], p[1])), np.stack([y, x], axis=-1), rtol=1e-11)


def test_a_product_of_a_jacobian_and_a_vector_is_that_of_jax():
    def function(x, v):
        s, c = sincos(x[0])
        return safe_sqrt(x[1] * v + s), safe_divide(c * x[2], x[1]), atan2(s * v, x[2])

    def both(x, v, xd, vd):
        values, tangents = jax.jvp(function, (x, v), (xd, vd))
        _, back = jax.vjp(function, x, v)
        return values, tangents, back(tangents)

    check(both, *points((3,), (), (3,), ()), rtol=1e-11)


def test_derivatives_of_arrays_and_loops_are_those_of_jax():
    def function(A):
        for _ in range(2):
            A = A @ A.T @ A / 8
        return lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) + A[0, i], A[1, 2])

    check(lambda A: jax.jvp(function, (A,), (2 * A,)), *points((2, 3)))


# Names and structures


def test_inputs_and_outputs_are_named_by_their_places():
    program = trace(
        lambda x, y: {"sum": x["a"] + y, "pair": (y, x["b"])}, [{"a": 0.0, "b": [1.0]}, np.ones(2)]
    )
    assert [str(p) for p in program.inputs] == ["[0]['a']", "[0]['b'][0]", "[1][0]", "[1][1]"]
    assert [str(p) for p in program.outputs][:2] == ["['pair'][0][0]", "['pair'][0][1]"]
    assert [str(p) for p in trace(lambda x: x, [0.0]).outputs] == ["out"]
    named = trace(lambda x, y: x * y, [0.0, 0.0], [Port("length", "m"), Port("force", "N")])
    assert str(named.inputs[1]) == "force [N]"


def test_whole_numbers_are_taken_as_numbers_and_unused_inputs_stay():
    program = trace(lambda x, y, z: x / 2, [3, np.arange(2), np.float32(1)])
    assert len(program.inputs) == 4
    assert interpreted(program, [3, 0, 0, 0])[0] == 1.5


def test_sines_and_angles_stay_whole():
    program = trace(lambda x, y: (*sincos(x), atan2(x, y)), [0.0, 0.0])
    assert program.counts() == {"sin": 1, "cos": 1, "atan2": 1}


def test_equal_parts_are_computed_once():
    assert len(trace(lambda x, y: (x * y + 1, y * x + 1, -(y * x)), [0.0, 0.0])) == 3


def test_functions_can_see_that_they_are_traced_in_this_thread():
    seen = {}

    def function(x):
        other = threading.Thread(target=lambda: seen.update(other=tracing()))
        other.start()
        other.join()
        seen.update(here=tracing(), within=trace(lambda y: y * float(tracing()), [0.0]) is not None)
        return x

    trace(function, [0.0])
    assert seen == {"here": True, "within": True, "other": False}
    assert not tracing()
    with pytest.raises(ZeroDivisionError):
        trace(lambda x: x * (1 // 0), [0.0])
    assert not tracing()


def test_functions_that_were_compiled_before_are_traced_as_they_are():
    jitted = jax.jit(lambda x: jnp.exp(x) * 2)
    assert jitted(1.0) == pytest.approx(2 * math.e)
    assert trace(jitted, [0.0]).counts() == {"exp": 1, "mul": 1}


# What is not straight-line


def by_while(x):
    return lax.while_loop(lambda c: c > 1, lambda c: c / 2, x)


def by_branch(x):
    return x if x > 0 else -x


REFUSED = [
    (by_while, "no rule for while"),
    (
        lambda x: lax.fori_loop(0, jnp.where(x > 0, 2, 3), lambda i, c: c * x, x),
        "no rule for while",
    ),
    (lambda x: lax.scan(lambda c, _: (c * x, None), x, length=1000)[0], "a loop of 1000 rounds"),
    (lambda x: jnp.linalg.solve(jnp.eye(3) * x, jnp.ones(3)), "no rule for lu"),
    (lambda x: jnp.linalg.eigvalsh(jnp.eye(3) * x), "no rule for eigh"),
    (lambda x: lax.cond(x > 0, jnp.sin, jnp.cos, x), "a branch"),
    (by_branch, "by the values of its arguments"),
    (lambda x: float(x), "by the values of its arguments"),
    (lambda x: int(x), "by the values of its arguments"),
    (lambda x: np.sin(x), "by the values of its arguments"),
    (lambda x: sum(range((x > 0).astype(int))) * x, "by the values of its arguments"),
    (lambda x: jnp.ones(3)[jnp.ones(3) * x > 0], "by the values of its arguments"),
    (lambda x: jnp.floor(x).astype(int), "numbers made whole"),
    (lambda x: x.astype(jnp.float32).astype(float), "numbers of type float32"),
    (lambda x: jnp.abs(x.astype(complex)), "numbers of type complex128"),
    (lambda x: jnp.arange(3, dtype=jnp.uint32).astype(float) * x, "numbers of type uint32"),
    (lambda x: jax.random.normal(jax.random.key(0)) * x, "numbers of type key"),
    (lambda x: x**1.5, "a power that is no whole number"),
    (lambda x: lax.round(x), "halves away from zero"),
    (lambda x: lax.rem(x, 3.0), "a remainder"),
    (lambda x: lax.div((x > 0).astype(int), 2).astype(float) * x, "a quotient of whole numbers"),
    (lambda x: (jnp.arange(3) & 1).astype(float) * x, "bits of whole numbers"),
    (lambda x: (~jnp.arange(3)).astype(float) * x, "bits of whole numbers"),
    (lambda x: jnp.where((x > 0) == (x < 1), x, 0.0), "arithmetic on truth values"),
    (lambda x: jnp.where(jnp.stack([x > 0, x > 1]).max(), x, 0.0), "arithmetic on truth values"),
    (lambda x: jnp.sort(jnp.ones(3) * x), "no rule for sort"),
    (lambda x: jnp.log(x), "no rule for log"),
    (lambda x: jnp.arange(99.0)[(x > 0).astype(int)], "an index that is computed"),
]


@pytest.mark.parametrize("function, said", REFUSED, ids=[said for _, said in REFUSED])
def test_what_is_not_straight_line_is_refused_with_the_reason(function, said):
    with pytest.raises(NotStraightLine, match=said):
        trace(function, [1.0])


def test_constants_that_are_no_numbers_are_refused():
    with pytest.raises(NotStraightLine):
        trace(lambda x: x + jnp.asarray([1j]).real[0], [1.0])
