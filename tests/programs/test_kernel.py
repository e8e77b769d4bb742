"""Functions run as programs: what shares one, what has none, and how tables may lie in memory."""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import triskele as tk
from triskele.dynamics.inverse import inverse_dynamics
from triskele.numerics import safe_sqrt, sincos, tabulate, where
from triskele.programs import kernel, native

pytestmark = pytest.mark.skipif(not native.available(), reason="LLVM is not installed")
RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch):
    """Each test begins without kernels."""
    monkeypatch.setattr(kernel, "_KERNELS", {})


class Pair(NamedTuple):
    first: object
    second: object


class Scaled(eqx.Module):
    """A law with numbers, one that is no array, and one that is no leaf."""

    size: np.ndarray
    power: float
    name: str = eqx.field(static=True)

    def __call__(self, p):
        return self.size[0] * p[0] + self.size[1] * p[1] ** int(self.power)


def swung(p, k):
    """Results of every kind: numbers, arrays, truths, constants, structures."""
    s, c = sincos(p[0] * k[0])
    return {"pair": Pair(s, (c, p[1] < 0)), "array": np.ones(2) * p[1], "same": 3.0}


def product(p):
    return p[0] * p[1]


# Results


@pytest.mark.parametrize("n", [1, 2, 40, 5000])
def test_results_have_the_structure_and_types_of_the_function(n):
    p, k = RNG.normal(size=(n, 2)), RNG.normal(size=(n, 1))
    straight, found = kernel.run(swung, [p, k])
    assert straight
    assert isinstance(found["pair"], Pair)
    assert np.allclose(found["pair"].first, np.sin(p[:, 0] * k[:, 0]), rtol=1e-14, atol=1e-15)
    assert np.array_equal(found["pair"].second[1], p[:, 1] < 0)
    assert found["pair"].second[1].dtype == np.bool_
    assert np.array_equal(found["array"], np.repeat(p[:, 1:], 2, axis=1))
    assert np.array_equal(found["same"], np.full(n, 3.0))
    assert all(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves(found))


def test_functions_may_return_nothing_or_no_numbers():
    assert kernel.run(lambda p: (), [np.ones((3, 1))]) == (True, ())
    straight, found = kernel.run(lambda p: {"a": None, "b": p[0]}, [np.ones((3, 1))])
    assert straight
    assert found["a"] is None
    assert np.array_equal(found["b"], np.ones(3))


def test_arguments_are_not_changed_and_results_are_not_theirs():
    p = RNG.normal(size=(50, 2))
    before = p.copy()
    first, second = (kernel.run(lambda p: (p[0], p[1]), [p])[1] for _ in range(2))
    first[0][:] = 7.0
    assert np.array_equal(p, before)
    assert np.array_equal(second[0], before[:, 0])


# Tables in memory


def strided(n=30):
    """The same numbers in many places, which end where nothing may be read."""
    rows = RNG.normal(size=(n, 2))
    records = np.zeros(n, [("a", "f8", 2), ("b", "f4")])
    records["a"] = rows
    return {
        "rows": rows,
        "columns": np.asfortranarray(rows),
        "part of a row": np.hstack([rows, rows, rows])[:, 2:4],
        "every other row": np.repeat(rows, 2, axis=0)[::2],
        "backwards": rows[::-1].copy()[::-1],
        "columns backwards": rows[:, ::-1].copy()[:, ::-1],
        "transposed": np.array(rows.T).T,
        "records": records["a"],
        "not aligned": np.frombuffer(bytes(1) + rows.tobytes(), "f8", offset=1).reshape(n, 2),
        "of another byte order": rows.astype(">f8"),
        "of JAX": jnp.asarray(rows),
    }


@pytest.mark.parametrize("place", strided(2))
@pytest.mark.parametrize("worth", [0, 10**9])
def test_tables_are_read_wherever_they_lie(place, worth, monkeypatch):
    monkeypatch.setattr(native, "_WORTH", worth)
    table = strided()[place]
    expected = np.asarray(table)[:, 0] * np.asarray(table)[:, 1]
    assert np.array_equal(tabulate(product)(table), expected)


def test_single_precision_and_whole_numbers_are_taken_as_doubles():
    for kind in (np.float32, int, bool):
        table = np.array([[1, 0], [1, 1]], kind)
        assert np.array_equal(tabulate(product)(table), [0.0, 1.0])


def test_one_row_for_all_is_read_as_it_is():
    table = np.broadcast_to(np.array([2.0, 3.0]), (20, 2))
    assert np.array_equal(tabulate(product)(table), np.full(20, 6.0))


# What shares a kernel


def test_other_numbers_share_a_kernel_other_shapes_and_kinds_do_not():
    p = RNG.normal(size=(5, 2))

    def value(*numbers, power=2.0, name="a"):
        law = Scaled(np.array(numbers), power, name)
        return kernel.run(law, [p])[1]

    first = value(1.0, 2.0)
    assert np.allclose(first, p[:, 0] + 2 * p[:, 1] ** 2, rtol=1e-15)
    assert np.allclose(value(-3.0, 5.0), -3 * p[:, 0] + 5 * p[:, 1] ** 2, rtol=1e-14, atol=1e-15)
    assert len(kernel._KERNELS) == 1
    value(1.0, 2.0, 3.0)
    assert len(kernel._KERNELS) == 2
    assert np.allclose(value(1.0, 2.0, power=3.0), p[:, 0] + 2 * p[:, 1] ** 3, rtol=1e-14)
    assert len(kernel._KERNELS) == 3
    value(1.0, 2.0, name="b")
    assert len(kernel._KERNELS) == 4
    kernel.run(Scaled(np.array([1.0, 2.0]), 2.0, "a"), [np.ones((5, 3))])
    assert len(kernel._KERNELS) == 5


def test_arrays_of_jax_and_of_numpy_share_a_kernel():
    p = RNG.normal(size=(5, 2))
    for numbers in (np.array([1.0, 2.0]), jnp.array([1.0, 2.0])):
        assert kernel.run(Scaled(numbers, 2.0, "a"), [p])[0]
    assert len(kernel._KERNELS) == 1


@pytest.mark.parametrize("one, other", [(True, 1), (1, 1.0)])
def test_what_python_calls_equal_does_not_share_a_kernel(one, other):
    def described(value, p):
        return 0 * p[0] + float(len(repr(value)))

    for value in (one, other):
        found = kernel.run(eqx.Partial(described, value), [np.ones((2, 1))])[1]
        assert np.array_equal(found, np.full(2, float(len(repr(value)))))


def test_what_is_not_a_number_is_traced_once():
    law = lambda k, p: p[0] * k  # noqa: E731
    for _ in range(3):
        found = kernel.run(eqx.Partial(law, float("nan")), [np.ones((2, 1))])[1]
        assert np.isnan(found).all()
    assert len(kernel._KERNELS) == 1


def test_whole_numbers_in_arrays_do_not_keep_others_from_programs():
    law = lambda k, p: p[0] * k  # noqa: E731
    kernel.run(eqx.Partial(law, np.array(2)), [np.ones((2, 1))])
    assert kernel.run(eqx.Partial(law, np.array(2.5)), [np.ones((2, 1))])[0]


def test_kinds_in_memory_are_bounded(monkeypatch):
    monkeypatch.setattr(kernel, "_MOST", 5)
    for k in range(12):
        found = kernel.run(lambda p, k=k: p[0] + k, [np.ones((2, 1))])[1]
        assert np.array_equal(found, [1.0 + k] * 2)
        assert len(kernel._KERNELS) <= 5


def test_threads_get_the_same_results():
    tables = [RNG.normal(size=(100, 2)) for _ in range(8)]
    law = lambda p: sincos(p[0])[0] * p[1]  # noqa: E731
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda table: kernel.run(law, [table])[1], tables * 4))
    for table, values in zip(tables * 4, found, strict=True):
        assert np.allclose(values, np.sin(table[:, 0]) * table[:, 1], rtol=1e-14, atol=1e-15)


# What is no program


def test_what_is_not_straight_line_runs_in_xla():
    halved = lambda p: jax.lax.while_loop(lambda x: x[0] > 1, lambda x: (x[0] / 2,), (p[0],))[0]  # noqa: E731
    assert kernel.run(halved, [np.ones((2, 1))]) == (False, None)
    assert kernel.run(halved, [np.ones((3, 1))]) == (False, None)
    assert len(kernel._KERNELS) == 1  # and is not tried again


def test_mistakes_of_a_function_are_told_as_ever():
    with pytest.raises(ZeroDivisionError):
        tabulate(lambda p: p[0] * (1 // 0))(np.ones((2, 1)))
    with pytest.raises(IndexError):
        tabulate(lambda p: p[5])(np.ones((2, 1)))
    with pytest.raises(AttributeError):
        tabulate(lambda p: p[0].nothing)(np.ones((2, 1)))


def test_without_llvm_everything_runs_in_xla(monkeypatch):
    monkeypatch.setattr(native, "available", lambda: False)
    p = RNG.normal(size=(5, 2))
    assert kernel.run(product, [p]) == (False, None)
    assert np.array_equal(tabulate(product)(p), p[:, 0] * p[:, 1])


def test_numbers_that_are_traced_by_jax_stay_in_jax():
    p = np.array([[2.0, 3.0], [4.0, 5.0]])
    total = lambda k: tabulate_sum(k, p)  # noqa: E731

    def tabulate_sum(k, p):
        straight, _ = kernel.run(eqx.Partial(lambda k, p: k * p[0], k), [p])
        assert not straight
        return k * p[:, 0].sum()

    assert jax.grad(total)(1.0) == 6.0


# Other ways to run a kernel


def decayed(y, x):
    return 0.5 * y[0] + x[0], y[0] - y[1]


def test_a_recurrence_reads_what_it_has_written():
    x = RNG.normal(size=(200, 1))
    straight, found = kernel.recur(decayed, np.array([1.0, -2.0]), [x])
    assert straight
    y, expected = (1.0, -2.0), []
    for value in x:
        y = (0.5 * y[0] + value[0], y[0] - y[1])
        expected.append(y)
    assert np.allclose(found, expected, rtol=1e-12, atol=1e-13)


def bent(size, p):
    return size[0] * safe_sqrt(p[0]), where(p[1] < size[1], p[1], 0.0)


@pytest.mark.parametrize("make", [kernel.handle, kernel.burned_in])
def test_handles_give_what_tables_give_one_state_at_a_time(make):
    law, p = eqx.Partial(bent, np.array([2.0, 0.1])), RNG.normal(size=(40, 2))
    expected = np.stack(kernel.run(law, [p])[1], axis=-1)
    handle, out = make(law, 2), np.empty(2)
    assert np.allclose(handle.of_rows(p), expected, rtol=1e-15, atol=0)
    for row, wanted in zip(p, expected, strict=True):
        assert np.allclose(handle.at(row), wanted, rtol=1e-15, atol=0)
        handle.into(out, tuple(row))
        assert np.array_equal(out, handle.at(list(row)))
    assert handle.of_rows(p[:0]).shape == (0, 2)


def test_handles_keep_their_numbers_and_may_be_used_by_threads():
    handles = [kernel.burned_in(eqx.Partial(bent, np.array([k, 0.1])), 2) for k in (1.0, 2.0, 3.0)]
    handles += [kernel.handle(eqx.Partial(bent, np.array([k, 0.1])), 2) for k in (4.0, 5.0)]

    def work(k):
        return [float(handle.at((4.0 + k, 0.0))[0]) for handle in handles]

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(work, list(range(50))))
    for k, values in enumerate(found):
        assert np.allclose(values, np.arange(1, 6) * np.sqrt(4 + k), rtol=1e-15)


def test_a_handle_of_what_is_no_program_is_none():
    branch = lambda p: p[0] if p[0] > 0 else -p[0]  # noqa: E731
    assert kernel.handle(branch, 1) is None
    assert kernel.burned_in(branch, 1) is None


def test_a_table_function_writes_into_what_it_is_given():
    into = kernel.table(eqx.Partial(bent, np.array([2.0, 0.1])), 2)
    p, out = RNG.normal(size=(40, 2)), np.full((40, 2), np.nan)
    assert into is not None
    into([p], [out])
    expected = np.stack(kernel.run(eqx.Partial(bent, np.array([2.0, 0.1])), [p])[1], axis=-1)
    assert np.array_equal(out, expected)


# Names on disk


def test_laws_of_this_package_have_a_name_that_their_numbers_are_no_part_of():
    robot = tk.rigid(tk.load("omron_mini_delta"))
    heavier = eqx.tree_at(lambda r: r.payload, robot, robot.payload + 1.0)
    names = {kernel._described(eqx.Partial(inverse_dynamics, r)) for r in (robot, heavier)}
    assert len(names) == 1
    assert None not in names


def test_kinds_of_robots_have_names_of_their_own():
    described = {
        kernel._described(eqx.Partial(inverse_dynamics, tk.rigid(tk.load(name))))
        for name in ("omron_mini_delta", "abb_irb360_6_1600", "compliant_3prs")
    }
    assert len(described) == 3
    assert None not in described


@pytest.mark.parametrize(
    "thing",
    [
        lambda p: p,
        product,
        eqx.Partial(inverse_dynamics, product),
        np.sin,
        object(),
        {"a": {1, 2}},
        [1.0, product],
    ],
)
def test_what_others_have_written_has_no_name(thing):
    assert kernel._described(thing) is None


@pytest.mark.parametrize(
    "one, other",
    [(1, 1.0), (1, True), ("1", 1), ((1, 2), [1, 2]), ((1, (2, 3)), (1, 2, 3)), (None, "None")],
)
def test_things_that_differ_are_described_otherwise(one, other):
    assert kernel._described(one) != kernel._described(other)


def test_numbers_are_described_exactly():
    assert kernel._described(0.1) != kernel._described(0.1 + 2e-17 + 1e-16)
    assert kernel._described(np.zeros((2, 3))) == kernel._described(jnp.ones((2, 3)))
    assert kernel._described(np.zeros((2, 3))) != kernel._described(np.zeros((3, 2)))
