"""Arithmetic at the edge, trigonometry against NumPy, small systems, Newton, batches."""

import itertools
import math
import os
import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triskele.errors import InputError, PrecisionError
from triskele.kinematics.delta import Delta
from triskele.kinematics.velocity import closure_jacobians
from triskele.numerics import (
    CHUNK,
    atan2,
    batch,
    determinant,
    filled_up,
    newton,
    recurrence,
    require_double_precision,
    safe_divide,
    safe_norm,
    safe_sqrt,
    sincos,
    solve,
    stacked,
    tabulate,
    transpose,
    window,
)

RNG = np.random.default_rng(0)
ANGLES = np.concatenate(
    [
        *(RNG.uniform(-size, size, 20_000) for size in (1e-8, 1e-3, 1, 10, 1e3, 1e5)),
        np.arange(-60_000, 60_000) * (np.pi / 2),  # where sine or cosine cancel
        np.arange(-41, 42, 2) * (np.pi / 4),  # where the reduced angle changes octant
        [0.0, np.pi, -np.pi, 1e-300, -1e-300, 1e5, -1e5],
    ]
)


def units_off(ours, exact):
    """Difference in units of the last place of `exact`."""
    return np.max(np.abs(np.asarray(ours) - exact) / np.spacing(np.abs(exact)))


def derivatives(function, orders=(1, 2)):
    """Batched derivatives of a function, by forward and by reverse mode in every order."""
    for order in orders:
        for modes in itertools.product((jax.jacfwd, jax.jacrev), repeat=order):
            derivative = function
            for mode in modes:
                derivative = mode(derivative)
            yield order, jax.jit(jax.vmap(derivative))


# Edges of domains


def test_a_root_is_zero_with_zero_gradient_at_its_edge_and_beyond_in_both_modes():
    x = jnp.array([-4.0, -1e-300, -0.0, 0.0, 4.0])
    assert np.array_equal(safe_sqrt(x), [0, 0, 0, 0, 2])
    for order, derivative in derivatives(safe_sqrt):
        expected = [0, 0, 0, 0, {1: 1 / 4, 2: -1 / 32}[order]]
        assert np.allclose(derivative(x), expected, rtol=1e-14)


def test_a_norm_can_be_divided_by_also_at_zero_with_finite_gradients():
    assert np.allclose(safe_norm(jnp.array([0.0, 4.0])), [1e-50, 2], rtol=1e-15)
    for _, derivative in derivatives(lambda x: 1 / safe_norm(x * x)):
        assert np.isfinite(derivative(jnp.zeros(1))).all()


def test_a_quotient_is_large_never_infinite_and_keeps_the_sign_of_its_divisor():
    divisors = jnp.array([0.0, -0.0, 1e-13, -1e-13, 4.0, -4.0])
    expected = [2e12, 2e12, 2e12, -2e12, 0.5, -0.5]
    assert np.allclose(safe_divide(jnp.full(6, 2.0), divisors), expected, rtol=1e-12)


@pytest.mark.parametrize("divisor", [0.0, -0.0, 1e-13, 4.0])
def test_a_quotient_has_finite_gradients_in_reverse_mode(divisor):
    first = jax.grad(safe_divide, argnums=(0, 1))(2.0, divisor)
    second = jax.jacrev(jax.grad(safe_divide, argnums=1), argnums=1)(2.0, divisor)
    assert np.isfinite([*first, second]).all()
    if divisor == 4.0:
        assert np.allclose([*first, second], [1 / 4, -2 / 16, 4 / 64])


# Trigonometry


def test_sine_and_cosine_agree_with_numpy_to_two_units_in_the_last_place():
    s, c = sincos(jnp.asarray(ANGLES))
    for ours, exact in ((s, np.sin(ANGLES)), (c, np.cos(ANGLES))):
        assert np.abs(np.asarray(ours) - exact).max() < 2.3e-16
        large = np.abs(exact) > 1e-3
        assert units_off(np.asarray(ours)[large], exact[large]) <= 2


def test_sine_and_cosine_keep_their_relative_accuracy_where_they_vanish():
    tiny = np.array([1e-300, -3e-200, 1e-20, 1e-9])
    assert units_off(sincos(jnp.asarray(tiny))[0], np.sin(tiny)) <= 1
    turns = np.arange(1, 60_000, 7) * np.pi  # as rounded: the sine is the rounding error
    assert np.abs(np.asarray(sincos(jnp.asarray(turns))[0]) / np.sin(turns) - 1).max() < 1e-9


def test_sine_and_cosine_of_what_is_no_angle_are_not_numbers():
    assert np.isnan(sincos(jnp.array([jnp.nan, jnp.inf]))).all()


def test_derivatives_of_sine_and_cosine_in_both_modes():
    x = np.array([0.0, 1e-9, np.pi / 4, np.pi / 2, np.pi, -np.pi, 2.5, -40.0, 1e4])
    exact = {1: (np.cos(x), -np.sin(x)), 2: (-np.sin(x), -np.cos(x))}
    for order, derivative in derivatives(sincos):
        assert np.allclose(derivative(jnp.asarray(x)), exact[order], atol=1e-15)


def test_the_angle_of_a_point_agrees_with_numpy_in_all_quadrants_and_sizes():
    direction = RNG.uniform(-np.pi, np.pi, 60_000)
    size = 10 ** RNG.uniform(-100, 100, 60_000)
    slope = 10 ** RNG.uniform(-10, 10, 60_000)  # near the axes and the diagonals alike
    y, x = size * np.sin(direction), size * np.cos(direction)
    for b, a in ((y, x), (y * slope, x), (y, x * slope), (y, y * (1 + 1e-9)), (y, -y)):
        assert units_off(atan2(jnp.asarray(b), jnp.asarray(a)), np.arctan2(b, a)) <= 3


def test_the_angle_of_special_points():
    points = {(0.0, 1.0): 0, (1.0, 0.0): 1 / 2, (-1.0, 0.0): -1 / 2, (0.0, -1.0): 1}
    points |= {(-0.0, -1.0): 1, (0.0, 0.0): 0, (1.0, 1.0): 1 / 4, (-1.0, -1.0): -3 / 4}
    y, x = jnp.array(list(points)).T
    assert np.array_equal(atan2(y, x), np.pi * np.array(list(points.values())))
    assert np.isnan(atan2(jnp.nan, 1.0))
    assert np.isnan(atan2(1.0, jnp.nan))


def test_derivatives_of_the_angle_of_a_point_in_both_modes():
    y, x = RNG.normal(size=(2, 50))
    # The gradient is (x, -y) / r^2, turned by 90 degrees from the point.
    r4 = (x * x + y * y) ** 2
    first = np.stack([x, -y], axis=1) / np.sqrt(r4)[:, None]
    mixed, square = (y * y - x * x) / r4, 2 * x * y / r4
    second = np.stack([-square, mixed, mixed, square], axis=1).reshape(-1, 2, 2)
    at = jnp.stack([jnp.asarray(y), jnp.asarray(x)], axis=1)
    for order, derivative in derivatives(lambda point: atan2(point[0], point[1])):
        expected = {1: first, 2: second}[order]
        assert np.allclose(derivative(at), expected, rtol=1e-11, atol=1e-11)


def test_the_angle_of_the_origin_has_gradient_zero_in_both_modes():
    for _, derivative in derivatives(lambda point: atan2(point[0], point[1])):
        assert not np.any(derivative(jnp.zeros((1, 2))))


# Small dense systems


def leibniz(A):
    """The determinant as a sum over permutations, exact in integers."""
    total = 0
    for order in itertools.permutations(range(len(A))):
        swaps = sum(a > b for a, b in itertools.combinations(order, 2))
        total += (-1) ** swaps * math.prod(A[i][j] for i, j in enumerate(order))
    return total


matrices = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.lists(st.integers(-9, 9), min_size=n, max_size=n), min_size=n, max_size=n)
)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(matrices)
def test_a_determinant_of_integers_is_exact(rows):
    assert determinant(tuple(tuple(map(float, row)) for row in rows)) == leibniz(rows)


def as_rows(A):
    """A batch of matrices (N, n, n) as rows of (N,) scalars."""
    return tuple(
        tuple(jnp.asarray(A[:, i, j]) for j in range(A.shape[2])) for i in range(A.shape[1])
    )


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_determinants_and_solutions_agree_with_numpy(n):
    A, b = RNG.normal(size=(2000, n, n)), RNG.normal(size=(2000, n))
    good = np.linalg.cond(A) < 1e3
    A, b = A[good], b[good]
    x = stacked(solve(as_rows(A), tuple(jnp.asarray(b.T))))
    off = np.abs(np.asarray(determinant(as_rows(A))) - np.linalg.det(A))
    assert (off < 1e-13 * np.maximum(1, np.abs(np.linalg.det(A)))).all()
    assert np.abs(np.asarray(x) - np.linalg.solve(A, b[..., None])[..., 0]).max() < 1e-9


def conditioned(n, count, exponent):
    """Matrices with singular values from 1 down to 10^-exponent."""
    U, V = (np.linalg.qr(RNG.normal(size=(count, n, n)))[0] for _ in range(2))
    return np.einsum("Nij,j,Nkj->Nik", U, np.logspace(0, -exponent, n), V)


@pytest.mark.parametrize("scaled", ["even", "small", "rows"])
@pytest.mark.parametrize("n", [5, 6])
def test_residuals_of_large_systems_stay_small_however_they_are_conditioned(n, scaled):
    """In batches, in one call, and as a program; |A x - b| <= 1e-10 |A| |x| up to condition 1e8."""
    A, b = conditioned(n, 500, 8), RNG.normal(size=(500, n))
    A = A * 1e-4 if scaled == "small" else A
    A = A * (10.0 ** RNG.integers(-4, 5, (500, n, 1)) if scaled == "rows" else 1.0)
    flat = A.reshape(500, -1)

    def law(entries, b):
        return solve(tuple(tuple(entries[n * i : n * i + n]) for i in range(n)), tuple(b))

    alone = np.array([law([*a], [*right]) for a, right in zip(flat[:20], b[:20], strict=True)])
    found = {
        "batch": np.stack([np.asarray(x) for x in solve(as_rows(A), tuple(jnp.asarray(b.T)))], -1),
        "program": np.stack(tabulate(law)(flat, b), axis=-1),
        "one call": alone,
    }
    for what, x in found.items():
        k = len(x)
        rows = np.abs(np.einsum("Nij,Nj->Ni", A[:k], x) - b[:k])
        size = np.einsum("Nij,Nj->Ni", np.abs(A[:k]), np.abs(x)) + np.abs(b[:k])
        assert (rows / size).max() < 1e-10, what


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_zeros_on_the_diagonal_are_no_obstacle(n):
    # Elimination without pivots divides by the leading zero of such a matrix.
    A = np.roll(np.diag(np.arange(1.0, n + 1)), 1, axis=0)[None]
    b = np.arange(2.0, n + 2)
    x = np.asarray(solve(as_rows(A), tuple(jnp.asarray(b[:, None]))))[:, 0]
    assert np.allclose(A[0] @ x, b, atol=1e-14)


def test_a_singular_system_has_a_finite_though_huge_solution():
    x = solve(((1.0, 2.0), (2.0, 4.0)), (1.0, 1.0))
    assert np.isfinite(x).all()
    assert np.abs(x).max() > 1e11


def test_columns_become_rows():
    assert transpose(((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))) == ((1.0, 4.0), (2.0, 5.0), (3.0, 6.0))


# Newton's method


def cube_root_step(given, x):
    return ((x[0] ** 3 - given[0]) / (3 * x[0] ** 2),)


def cube_root(a):
    return newton(cube_root_step, (a,), (jnp.ones(()),), steps=60)[0]


def test_newton_finds_the_root_and_its_first_three_derivatives():
    a, function = jnp.array(5.0), cube_root
    exact = [5 ** (1 / 3), 5 ** (-2 / 3) / 3, -2 / 9 * 5 ** (-5 / 3), 10 / 27 * 5 ** (-8 / 3)]
    for value in exact:
        assert np.isclose(function(a), value, rtol=1e-13)
        function = jax.jacfwd(function)


def test_newton_is_differentiated_in_reverse_mode_too():
    assert np.isclose(jax.grad(cube_root)(8.0), 1 / 12, rtol=1e-14)
    assert np.isclose(jax.grad(jax.grad(cube_root))(8.0), -1 / 144, rtol=1e-14)


def test_newton_is_differentiated_with_respect_to_what_its_step_and_start_hold():
    def root(size):  # of size x^3 = 8, searched from a start that moves with size
        step = lambda given, x: ((size * x[0] ** 3 - given[0]) / (3 * size * x[0] ** 2),)  # noqa: E731
        return newton(step, (jnp.asarray(8.0),), (size,))[0]

    for derivative in (jax.grad(root), jax.jacfwd(root)):  # x = 2 size^(-1/3)
        assert np.isclose(derivative(1.0), -2 / 3, rtol=1e-14)


def test_newton_finishes_a_batch_when_its_slowest_member_is_done():
    a = np.array([1e-6, 1.0, 8.0, 1e9])
    assert np.allclose(cube_root(jnp.asarray(a)), np.cbrt(a), rtol=1e-13)


def test_a_member_that_is_not_a_number_does_not_stop_newton_for_the_others():
    found = cube_root(jnp.array([jnp.nan, 8.0, 1e9]))
    assert np.isnan(found[0])
    assert np.allclose(found[1:], [2, 1000], rtol=1e-13)


def test_newton_takes_as_many_steps_as_it_is_told():
    calls = []

    def never(given, x):
        jax.debug.callback(lambda: calls.append(1))
        return (jnp.ones_like(x[0]),)

    x = newton(never, (jnp.zeros(()),), (jnp.zeros(()),), steps=7)
    jax.effects_barrier()
    assert float(x[0]) == -7.0
    assert len(calls) == 7


# Batches


def mixed(p, k):
    """Some results of every kind: scalars, nested tuples, constants."""
    return {"sum": p[0] + p[1] * k[0], "pair": (p[0] * p[1], 3.0), "sine": sincos(p[0])[0]}


@pytest.mark.parametrize("rows", [1, CHUNK - 1, CHUNK, CHUNK + 1, 10_000])
def test_a_batch_is_a_loop_also_at_the_borders_of_its_blocks(rows):
    p, k = RNG.normal(size=(rows, 2)), RNG.normal(size=(rows, 1))
    found = batch(mixed)(p, k)
    assert np.array_equal(found["pair"][1], np.full(rows, 3.0))
    assert np.allclose(found["sum"], p[:, 0] + p[:, 1] * k[:, 0], rtol=1e-14, atol=1e-15)
    assert np.array_equal(found["pair"][0], p[:, 0] * p[:, 1])
    picks = np.unique([0, rows // 2, rows - 1, min(CHUNK, rows) - 1])
    for row in picks:
        one = mixed(tuple(map(jnp.asarray, p[row])), tuple(map(jnp.asarray, k[row])))
        assert np.isclose(found["sine"][row], one["sine"], rtol=1e-15)


def test_whole_numbers_and_lists_are_accepted():
    assert np.array_equal(batch(lambda p: p[0] / p[1])([[1, 2], [3, 4]]), [0.5, 0.75])


def test_a_new_geometry_is_not_a_new_compilation():
    traces = []

    def scaled(size, p):
        traces.append(p[0].shape)
        return size * p[0]

    for size in (1.0, 2.0, 3.0):
        result = batch(eqx.Partial(scaled, jnp.asarray(size)))(np.ones((5, 1)))
        assert np.array_equal(result, np.full(5, size))
    assert traces == [()]


@pytest.mark.parametrize(
    "arrays, said",
    [
        ((np.ones(3),), r"\(N, k\) arrays, one row each, not \(3,\)"),
        ((np.ones((2, 2, 2)),), r"\(N, k\) arrays, one row each, not \(2, 2, 2\)"),
        ((np.ones((3, 2)), np.ones((4, 2))), r"same N > 0 rows, not \(3, 2\), \(4, 2\)"),
        ((np.ones((0, 2)),), r"same N > 0 rows, not \(0, 2\)"),
    ],
)
def test_a_batch_of_another_shape_is_refused_with_the_shape(arrays, said):
    with pytest.raises(InputError, match=said):
        batch(lambda *p: p[0][0])(*arrays)


def test_stacked_components_come_last_and_are_spread():
    assert stacked((1.0, 2.0)).shape == (2,)
    assert np.array_equal(stacked((jnp.arange(3.0), 7.0)), [[0, 7], [1, 7], [2, 7]])


# Precision


def test_double_precision_is_required():
    require_double_precision()
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(PrecisionError, match=r"32 bit .* Unset the variable, or set it to 1"):
            require_double_precision()
    finally:
        jax.config.update("jax_enable_x64", True)


@pytest.mark.parametrize("setting, allowed", [(None, True), ("0", False)])
def test_importing_switches_to_double_precision_unless_the_user_says_otherwise(setting, allowed):
    environment = {key: value for key, value in os.environ.items() if key != "JAX_ENABLE_X64"}
    if setting is not None:
        environment["JAX_ENABLE_X64"] = setting
    program = "import triskele.numerics as n; n.require_double_precision()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) == allowed
    assert allowed or "PrecisionError: JAX is set to 32 bit" in done.stderr


def test_tables_of_many_lengths_share_a_trace_and_come_back_as_numpy():
    traced = []

    def product(row):
        traced.append(np.shape(row[0]))
        return row[0] * row[1], 1.0

    table = tabulate(product)
    for n in (33, 50, 64):
        rows = np.arange(2.0 * n).reshape(n, 2)
        found, constant = table(rows)
        assert type(found) is np.ndarray
        assert np.array_equal(found, rows[:, 0] * rows[:, 1])
        assert np.array_equal(constant, np.ones(n))
    assert traced == [()]
    assert [len(filled_up(np.zeros(n))) for n in (1, 2, 3, 4096, 4097)] == [2, 2, 4, 4096, 8192]


# Single configurations and recurrences


def test_a_recurrence_reads_what_it_wrote_one_row_before():
    rows, start = RNG.normal(size=(700, 2)), np.array([0.3, -0.2])

    def turned(y, row):
        return y[0] * 0.9 - row[0] * y[1], y[1] * 0.5 + row[1]

    expected, y = [], start
    for row in rows:
        y = np.array(turned(y, row))
        expected.append(y)
    assert np.allclose(recurrence(turned)(start, rows), expected, rtol=1e-13, atol=1e-15)


def test_a_window_is_held_inside_its_array():
    array = np.arange(10.0).reshape(5, 2)
    picked = tabulate(lambda k: window(array + 0 * k[0], k[0], 2))
    starts = np.array([-1.0, 0.0, 2.0, 3.0, 9.0])
    expected = [array[min(max(int(k), 0), 3) :][:2] for k in starts]
    assert np.array_equal(picked(starts[:, None]), expected)


def test_known_numbers_need_no_compilation_and_traced_ones_stay_jaxs():
    delta = Delta.symmetric(base_radius=0.2, platform_radius=0.05, arm_length=0.3, rod_length=0.7)
    q = delta.inverse([0.1, 0.05, -0.6]).components
    known = closure_jacobians(delta, q, [0.1, 0.05, -0.6])
    traced = jax.jit(lambda x: closure_jacobians(delta, q, tuple(x)))(jnp.array([0.1, 0.05, -0.6]))
    assert all(isinstance(entry, np.floating) for row in known.A for entry in row)
    assert isinstance(traced.B[0], jax.Array)
    assert np.allclose(known.A, traced.A, rtol=1e-13, atol=1e-15)
