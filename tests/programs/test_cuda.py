"""Kernels are run without a GPU: their source is compiled for the processor, by the C++ compiler.

`DRIVER` stands in for NVIDIA's driver, in the memory of the processor: `cuModuleLoadData` loads the
shared library that `SHIM` makes of a kernel, and `cuLaunchKernel` calls it once a thread. All of
`cuda.py` and `device.py` is run but NVRTC, which has a test of its own where it is installed.
"""

import ctypes
import itertools
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import triskele as tk
from triskele.dynamics import many
from triskele.dynamics.forward import forward_dynamics
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import rigid
from triskele.errors import InputError
from triskele.programs import cuda, device, native, store
from triskele.programs.cuda import CudaKernel, CudaSimulation, cuda_source, simulation_source
from triskele.programs.device import DeviceArray, DeviceError
from triskele.programs.interpret import interpreted
from triskele.programs.program import OPERATIONS, Node, Port, Program
from triskele.programs.simplify import simplified
from triskele.programs.trace import trace

ROBOTS = ("omron_mini_delta", "abb_irb360_6_1600")
LAWS = {"inverse": inverse_dynamics, "forward": forward_dynamics}
TOLERANCE = 1e-12  # of the largest value
COMPILER = shutil.which("g++") or shutil.which("c++")
THREADS = 2 * 3 * 64  # that the stand-in runs at once

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")

SHIM = r"""
#include <math.h>
#include <string.h>
#include <utility>
#define __global__
#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(n)
#define __shared__ static
static inline void __syncthreads() {}
struct Dim { unsigned x, y, z; };
static Dim blockIdx, threadIdx, blockDim, gridDim;
static inline double __longlong_as_double(long long k) { double x; memcpy(&x, &k, 8); return x; }
static inline long long __double_as_longlong(double x) { long long k; memcpy(&k, &x, 8); return k; }
template <class... A, size_t... I>
static void call(void (*kernel)(A...), void **given, std::index_sequence<I...>) {
  kernel(*(A *)given[I]...);
}
template <class... A>
static void launch(void (*kernel)(A...), unsigned blocks, unsigned threads, void **given) {
  gridDim = {blocks, 1, 1};
  blockDim = {threads, 1, 1};
  for (unsigned b = 0; b < blocks; ++b)
    for (unsigned t = 0; t < threads; ++t) {
      blockIdx = {b, 0, 0};
      threadIdx = {t, 0, 0};
      call(kernel, given, std::make_index_sequence<sizeof...(A)>());
    }
}
"""

DRIVER = r"""
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
typedef void (*Launch)(unsigned, unsigned, void **);
static int contexts;
extern "C" {
int balance() { return contexts; }
int cuGetErrorString(int status, const char **text) {
  *text = status == 201 ? "no current context" : "refused";
  return 0;
}
int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int *version) { *version = 13010; return 0; }
int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = 7 + ordinal; return 0; }
int cuDeviceGetName(char *name, int size, int) { strncpy(name, "stand-in", size); return 0; }
int cuDeviceGetAttribute(int *value, int which, int device) {
  if (device != 7) return 101;
  *value = which == 16 ? 2 : which == 75 ? 9 : 0;
  return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int) { *context = (void *)42; return 0; }
int cuCtxPushCurrent_v2(void *context) { ++contexts; return context == (void *)42 ? 0 : 201; }
int cuCtxPopCurrent_v2(void **) { return --contexts < 0 ? 201 : 0; }
int cuStreamSynchronize(void *) { return contexts ? 0 : 201; }
int cuModuleLoadData(void **module, const char *path) {
  if (!contexts) return 201;
  return (*module = dlopen(path, RTLD_NOW | RTLD_LOCAL)) ? 0 : 200;
}
int cuModuleUnload(void *) { return contexts ? 0 : 201; }
int cuModuleGetFunction(void **function, void *module, const char *name) {
  char full[99] = "launch_";
  return (*function = dlsym(module, strncat(full, name, 80))) ? 0 : 500;
}
int cuFuncGetAttribute(int *value, int which, void *) { *value = which; return 0; }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *, int threads, size_t) {
  *blocks = threads == 64 ? 3 : 0;
  return 0;
}
int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned threads,
                   unsigned v, unsigned w, unsigned shared, void *stream, void **given, void **) {
  if (!contexts) return 201;
  if (x < 1 || x > 6 || y * z * v * w != 1 || shared || stream) return 1;
  ((Launch)function)(x, threads, given);
  return 0;
}
int cuMemAlloc_v2(uint64_t *address, size_t size) {
  *address = (uint64_t)malloc(size);
  return !contexts ? 201 : size == 0;
}
int cuMemFree_v2(uint64_t address) { free((void *)address); return contexts ? 0 : 201; }
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size) {
  memcpy((void *)to, from, size);
  return contexts ? 0 : 201;
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size) {
  memcpy(to, (void *)from, size);
  return contexts ? 0 : 201;
}
int cuPointerGetAttribute(void *value, int which, uint64_t address) {
  if (which != 9 || address < 4096) return 1;
  *(int *)value = 0;
  return 0;
}
}
"""


def _built(text: str, folder: Path) -> Path:
    """A shared library of C++, without contraction: as CUDA is compiled."""
    number = len(list(folder.iterdir()))
    source, library = folder / f"{number}.cpp", folder / f"{number}.so"
    source.write_text(text)
    fused = ["-mfma"] if _fuses() and platform.machine() == "x86_64" else []
    options = ["-O1", "-ffp-contract=off", "-w", "-std=c++17", "-fPIC", "-shared", *fused]
    subprocess.run([str(COMPILER), *options, str(source), "-o", str(library), "-ldl"], check=True)
    return library


@cache
def _fuses() -> bool:
    """Whether the processor has fused products and sums."""
    facts = Path("/proc/cpuinfo")
    return platform.machine() in ("aarch64", "arm64") or (
        facts.exists() and " fma " in facts.read_text()
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cuda")


@pytest.fixture(scope="module")
def stand_in(folder: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(_built(DRIVER, folder)))


@pytest.fixture
def host(
    stand_in: ctypes.CDLL, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[str]]:
    """The stand-in in place of driver and compiler; the sources that were compiled."""
    driver = device._Library(stand_in, device._DRIVER, device._driver_message)
    sources: list[str] = []

    def compiled(source: str, arch: str) -> bytes:
        assert arch == "sm_90"
        sources.append(source)
        name = "simulate" if " simulate(" in source or "\nsimulate(" in source else "run"
        launched = (
            f'extern "C" void launch_{name}(unsigned blocks, unsigned threads, void **given)'
            f"{{ launch({name}, blocks, threads, given); }}"
        )
        return str(_built(f"{SHIM}\n{source}\n{launched}\n", folder)).encode()

    monkeypatch.setattr(device, "_driver", lambda: driver)
    monkeypatch.setattr(device, "architectures", lambda: [80, 90])
    monkeypatch.setattr(device, "nvrtc_version", lambda: (13, 0))
    monkeypatch.setattr(cuda, "nvrtc_version", lambda: (13, 0))
    monkeypatch.setattr(cuda, "compiled", compiled)
    device.gpu.cache_clear()
    yield sources
    device.gpu.cache_clear()
    assert stand_in.balance() == 0, "each context that was made current was taken back"


class Columns:
    """An array as CuPy would offer it."""

    def __init__(self, array: np.ndarray, **others: object) -> None:
        self.array, self.others = array, others

    @property
    def __cuda_array_interface__(self) -> dict:
        plain = self.array.__array_interface__
        return {**{key: plain[key] for key in ("shape", "typestr", "data", "strides")},
                "version": 3, **self.others}  # fmt: skip


@cache
def law(name: str, which: str) -> tuple[Program, tuple[float, ...], np.ndarray]:
    """A law's program, its robot's numbers, and the home position."""
    robot = rigid(tk.load(name))
    n = len(robot.rotors)
    leaves, tree = jax.tree.flatten(robot)
    zero = (0.0,) * n
    program = trace(
        lambda leaves, *state: LAWS[which](jax.tree.unflatten(tree, leaves), *state),
        (leaves, zero, zero, zero),
    )
    numbers = tuple(float(v) for leaf in leaves for v in np.ravel(np.asarray(leaf)))
    return program, numbers, np.stack([float(x) for x in robot.mechanism.home()])


def burned(name: str, which: str) -> Program:
    program, numbers, _ = law(name, which)
    return simplified(program, dict(enumerate(numbers)))


def states(name: str, n: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Positions near home, velocities and accelerations (or efforts), each (N, n)."""
    home = law(name, "inverse")[2]
    rng = np.random.default_rng(seed)
    spread = (0.05, 1.0, 10.0)
    x, xd, xdd = (width * rng.uniform(-1, 1, (n, len(home))) for width in spread)
    return home + x, xd, xdd


def close(found: np.ndarray, expected: np.ndarray) -> None:
    """Equal to `TOLERANCE` of the largest value."""
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= TOLERANCE * np.abs(expected).max()


def oracle(program: Program, *arrays: np.ndarray) -> np.ndarray:
    """The outputs (N, k) by NumPy."""
    columns = [column for array in arrays for column in array.T]
    return np.stack(np.broadcast_arrays(*interpreted(program, columns)), axis=-1)


# One program, many configurations


@needs_compiler
@pytest.mark.parametrize("robot", ROBOTS)
def test_torques_are_those_of_numpy(host: list[str], robot: str) -> None:
    program, state = burned(robot, "inverse"), states(robot, 1000)
    kernel = CudaKernel(program)
    found = kernel.of_numpy(*state)
    close(found, oracle(program, *state))
    np.testing.assert_array_equal(kernel.of_numpy(*state), found)
    assert len(host) == 1, "a kernel is compiled once"


@needs_compiler
@pytest.mark.parametrize("robot", ROBOTS)
def test_numbers_of_the_robot_are_inputs_that_are_the_same_for_all(
    host: list[str], robot: str
) -> None:
    program, numbers, _ = law(robot, "inverse")
    state, given = states(robot, 1000), np.array(numbers)
    found = CudaKernel(program, range(len(numbers))).of_numpy(given, *state)
    close(found, oracle(program, given, *state))
    assert "compute_once(columns, once);\n  __syncthreads();" in host[0], "threads wait for it"


@needs_compiler
@pytest.mark.skipif(not native.available() or not _fuses(), reason="needs LLVM and fused sums")
@pytest.mark.parametrize("which", LAWS)
@pytest.mark.parametrize("uniform", [False, True])
def test_results_are_those_of_machine_code_to_the_last_bit(
    host: list[str], which: str, uniform: bool
) -> None:
    general, numbers, _ = law("omron_mini_delta", which)
    program = general if uniform else burned("omron_mini_delta", which)
    arrays = [np.array(numbers)] * uniform + list(states("omron_mini_delta", 100))
    same = range(len(numbers) * uniform)
    found, expected = CudaKernel(program, same).of_numpy(*arrays), np.empty((100, 3))
    machine = native.Native(lambda: program, same)
    machine.run(native.Table.of(arrays), native.Table.of([expected]), 100)
    np.testing.assert_array_equal(found, expected)


def everything() -> Program:
    """Each operation, each way to fuse, and constants without end; 0 and 1 vary, 2 and 3 do not."""
    nodes = [Node("input", (k,)) for k in range(4)]
    a, b, c, d = range(4)
    results: list[int] = []

    def put(op: str, *args: float) -> int:
        nodes.append(Node(op, args))
        return len(nodes) - 1

    constants = [put("const", value) for value in (np.inf, -np.inf, -0.1, 1e300, 5e-324, 1e22)]
    nothing, yes = put("const", float("nan")), put("const", True)
    for p, q in ((a, b), (c, d), (a, c), (d, b)):
        truth, other = put("lt", p, q), put("le", q, p)
        results += [put(op, p) for op, takes in OPERATIONS.items()
                    if takes == (("number",), "number") and op not in ("pow2", "exp")]  # fmt: skip
        results += [put("exp", put("min", p, put("const", 700.0)))]
        results += [put("pow2", put("round", put("max", p, put("const", -3.0))))]
        results += [put(op, p, q) for op, (takes, _) in OPERATIONS.items()
                    if takes == ("number", "number")]  # fmt: skip
        results += [put(op, truth, other) for op in ("and", "or")]
        results += [put("not", truth), put("and", truth, yes), put("select", truth, p, q)]
        product, twice = put("mul", p, q), put("mul", p, p)
        results += [put("add", product, p), put("sub", product, q)]
        results += [put("sub", q, twice), put("add", twice, put("mul", q, q))]
        kept = put("mul", q, put("const", 3.0))
        results += [kept, put("add", kept, p), put("mul", p, put("recip", q))]
        results += [put(op, p, k) for k in constants for op in ("add", "mul", "min", "max")]
        results += [put("select", put("lt", p, constants[0]), q, nothing), put("max", nothing, p)]
    results += [*constants, nothing, yes, a, c]
    ports = tuple(Port(f"out{k}") for k in range(len(results)))
    return Program(tuple(map(Port, "abcd")), tuple(nodes), ports, tuple(results))


@needs_compiler
@pytest.mark.parametrize("uniform", [(), (2, 3)])
def test_each_operation_is_that_of_numpy(host: list[str], uniform: tuple[int, ...]) -> None:
    program, rng = everything(), np.random.default_rng(1)
    rows = np.concatenate([
        rng.normal(scale=3, size=(500, 2)), 100 * rng.normal(size=(100, 2)),
        list(itertools.product([0.0, 1.0, -1.0, 2.5, -0.5, 3.5], repeat=2)),
    ])  # fmt: skip
    for same in ([0.7, -1.2], [2.5, 2.5], [-2.0, 0.0]):
        found = CudaKernel(program, uniform).of_numpy(rows, np.array(same))
        expected = oracle(program, rows, np.broadcast_to(same, (len(rows), 2)))
        exact = ~np.isfinite(expected) | (expected == 0)
        np.testing.assert_array_equal(found[exact], expected[exact])
        np.testing.assert_allclose(found[~exact], expected[~exact], rtol=1e-13, atol=1e-14)


@needs_compiler
def test_infinite_numbers_and_what_is_none_pass_through(host: list[str]) -> None:
    simple = [op for op, (takes, _) in OPERATIONS.items()
              if takes in (("number",), ("number", "number"))
              and op not in ("sin", "cos", "exp", "tanh", "atan2", "pow2")]  # fmt: skip
    nodes = [Node("input", (0,)), Node("input", (1,))]
    nodes += [Node(op, tuple(range(len(OPERATIONS[op].takes)))) for op in simple]
    nodes += [Node("exp", (0,)), Node("tanh", (0,)), Node("sin", (0,))]
    ports = tuple(map(Port, [*simple, "exp", "tanh", "sin"]))
    results = tuple(range(2, len(nodes)))
    program = Program((Port("a"), Port("b")), tuple(nodes), ports, results)
    strange = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e308, -1e308, 5e-324, 1.0]
    rows = np.array(list(itertools.product(strange, repeat=2)))
    rows = rows[np.abs(rows[:, 0]) != 1e308]  # sin is for |x| < 1e6
    found, expected = CudaKernel(program).of_numpy(rows), oracle(program, rows)
    # a sum of products is fused, a NaN has no sign: all else is equal
    np.testing.assert_array_equal(found, expected)


@needs_compiler
def test_more_columns_than_fit_into_arguments(host: list[str]) -> None:
    nodes = [Node("input", (0,)), Node("input", (1,))]
    for k in range(300):
        nodes += [Node("const", (float(k),)), Node("mul", (0, 2 + 2 * k))]
    places = tuple(range(3, len(nodes), 2))
    ports = tuple(Port(f"out{k}") for k in range(300))
    program = Program((Port("a"), Port("b")), tuple(nodes), ports, places)
    rows = np.random.default_rng(2).normal(size=(THREADS + 5, 2))
    found = CudaKernel(program).of_numpy(rows)
    np.testing.assert_array_equal(found, oracle(program, rows))
    assert "const Column *columns" in host[0]
    assert CudaKernel(program, [0]).of_numpy([2.0], rows[:, :1])[0, 7] == 14.0
    assert "const Column *columns, double *once" in host[1]


# Arrays


def difference() -> Program:
    """a - b and 2 b."""
    nodes = (Node("input", (0,)), Node("input", (1,)), Node("sub", (0, 1)), Node("add", (1, 1)))
    return Program((Port("a"), Port("b")), nodes, (Port("c"), Port("d")), (2, 3))


@needs_compiler
@pytest.mark.parametrize("n", [1, 63, 64, THREADS, THREADS + 1, 3 * THREADS - 1])
def test_each_row_is_computed_and_no_other(host: list[str], n: int) -> None:
    a, b = np.arange(2.0 * n).reshape(2, n)
    out = np.full((n + 2, 4), np.nan)
    kernel = CudaKernel(difference())
    kernel(Columns(a[:, None]), Columns(b[:, None]), out=Columns(out[1:-1, 1:3]))
    np.testing.assert_array_equal(out[1:-1, 1], a - b)
    np.testing.assert_array_equal(out[1:-1, 2], 2 * b)
    assert np.isnan(np.delete(out, [1, 2], 1)).all()
    assert np.isnan(out[[0, -1]]).all()


@needs_compiler
def test_arrays_lie_as_they_like(host: list[str]) -> None:
    kernel, rng = CudaKernel(difference()), np.random.default_rng(3)
    both = rng.normal(size=(2, 500))
    expected = np.stack([both[0] - both[1], 2 * both[1]], 1)
    columns, reverse = np.empty((2, 500)), both[::-1, ::-1].copy()
    kernel(Columns(both.T), out=Columns(columns.T))
    np.testing.assert_array_equal(columns.T, expected)
    kernel(Columns(reverse[::-1, ::-1].T), out=(Columns(columns[:1].T), Columns(columns[1:].T)))
    np.testing.assert_array_equal(columns.T, expected)
    state = both.T.copy()
    kernel(Columns(state, stream=1), out=Columns(state))  # in place, row for row
    np.testing.assert_array_equal(state, expected)
    assert CudaKernel(difference()).of_numpy([5.0], [3.0]).tolist() == [2.0, 6.0]
    assert CudaKernel(difference()).of_numpy(np.empty((0, 2))).shape == (0, 2)
    there = DeviceArray.of(both.T)
    assert DeviceArray.of(2).numpy() == 2
    out = DeviceArray((500, 2), there.device)
    kernel(there, out=out)
    np.testing.assert_array_equal(out.numpy(), expected)


@needs_compiler
def test_jax_arrays_in_and_out(host: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    a, b = (jnp.asarray(column) for column in rng.normal(size=(2, 500, 1)))
    kernel, ready = CudaKernel(difference()), []
    with monkeypatch.context() as patch:
        patch.setattr(cuda.jax, "block_until_ready", lambda array: ready.append(array.shape))
        found = kernel.of_jax(2 * a, b)
    assert ready == [(500, 1), (500, 1), (500, 2)], "JAX has finished with inputs and results"
    again = kernel.of_jax(a, b)
    assert isinstance(found, jax.Array)
    np.testing.assert_array_equal(found, np.concatenate([2 * a - b, 2 * b], 1))
    np.testing.assert_array_equal(again, np.concatenate([a - b, 2 * b], 1))
    assert kernel.of_jax(a[0], b[0]).shape == (2,)
    assert not jnp.empty((500, 2)).any(), "no array of zeros that JAX keeps was written"
    with pytest.raises(InputError, match="cannot be called under jit"):
        jax.jit(kernel.of_jax)(a, b)
    with pytest.raises(InputError, match="JAX arrays cannot"):
        kernel(a, b, out=jnp.empty((500, 2)))


def _misused() -> dict[str, tuple[Callable[[CudaKernel], object], str]]:
    rows, wide, out = (np.zeros(shape) for shape in ((4, 2), (4, 3), (4, 2)))
    whole = Columns(out)
    return {
        "numpy": (lambda k: k(rows, out=whole), "ndarray is no array on a CUDA device"),
        "width": (lambda k: k(Columns(wide), out=whole), "3 columns in; expected are 2"),
        "results": (lambda k: k(Columns(rows), out=Columns(wide)), "3 columns out; expected are 2"),
        "rows": (lambda k: k(Columns(rows[:3]), out=whole), "3 and 4 rows"),
        "row": (lambda k: k(Columns(rows), out=Columns(out[0])), "do not fit into results of one"),
        "single": (lambda k: k(Columns(rows.astype("f4")), out=whole), "float32; kernels read"),
        "shape": (lambda k: k(Columns(rows[None]), out=whole), "has the shape"),
        "fixed": (lambda k: k(Columns(rows), out=Columns(out, data=(4096, True))), "be written"),
        "far": (lambda k: k(Columns(rows, data=(64, False)), out=whole), "not in the memory"),
        "strides": (lambda k: k(Columns(rows, strides=(17, 8)), out=whole), "not multiples of 8"),
    }


@needs_compiler
@pytest.mark.parametrize("mistake", _misused())
def test_mistakes_are_named(host: list[str], mistake: str) -> None:
    call, sentence = _misused()[mistake]
    with pytest.raises(InputError, match=sentence):
        call(CudaKernel(difference()))
    assert not host, "nothing was compiled for it"


@needs_compiler
def test_what_is_the_same_for_all_has_one_row(host: list[str]) -> None:
    with pytest.raises(InputError, match="the same for all has N rows"):
        CudaKernel(difference(), uniform=[1]).of_numpy(np.zeros((4, 2)))


# Motions


def runge_kutta(
    program: Program, state: tuple[np.ndarray, ...], h: float, steps: int, tau: Callable
) -> tuple[np.ndarray, np.ndarray]:
    """Equation (1) in NumPy; `tau` gives efforts (N, n) at a time."""
    x, v = state

    def xdd(x: np.ndarray, v: np.ndarray, t: float) -> np.ndarray:
        return oracle(program, x, v, np.broadcast_to(tau(t), x.shape))

    for k in range(steps):
        t = k * h
        v1, a1 = v, xdd(x, v, t)
        v2 = v + h / 2 * a1
        a2 = xdd(x + h / 2 * v1, v2, t + h / 2)
        v3 = v + h / 2 * a2
        a3 = xdd(x + h / 2 * v2, v3, t + h / 2)
        v4 = v + h * a3
        a4 = xdd(x + h * v3, v4, t + h)
        x = x + h / 6 * (v1 + 2 * v2 + 2 * v3 + v4)
        v = v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    return x, v


@needs_compiler
def test_a_delta_falls_as_it_does_in_numpy(host: list[str]) -> None:
    program = burned("omron_mini_delta", "forward")
    x, xd, tau = states("omron_mini_delta", 100)
    tau = 0.01 * tau
    found = CudaSimulation(program).of_numpy(x, xd, tau, duration=0.02, steps=10)
    expected = runge_kutta(program, (x, xd), 0.002, 10, lambda t: tau)
    close(found[0], expected[0])
    close(found[1], expected[1])
    assert np.abs(found[0] - x).max() > 1e-3, "it moves"


@needs_compiler
def test_numbers_of_the_robot_are_inputs_of_motions(host: list[str]) -> None:
    program, numbers, _ = law("omron_mini_delta", "forward")
    fixed = burned("omron_mini_delta", "forward")
    x, xd, tau = states("omron_mini_delta", 20)
    simulation = CudaSimulation(program, range(len(numbers)))
    found = simulation.of_numpy(np.array(numbers), x, xd, tau[0], duration=0.01, steps=2)
    expected = CudaSimulation(fixed).of_numpy(x, xd, tau[0], duration=0.01, steps=2)
    close(found[0], expected[0])
    close(found[1], expected[1])


def pendulums() -> Program:
    """Two coupled pendulums with inputs tau, of mass m: the first input."""

    def xdd(m: float, x: tuple, xd: tuple, tau: tuple) -> tuple:
        first = (tau[0] - m * jnp.sin(x[0]) + 0.3 * (x[1] - x[0]) - 0.1 * xd[0]) / m
        second = (tau[1] - m * jnp.sin(x[1]) - 0.3 * (x[1] - x[0]) - 0.2 * xd[1]) / m
        return first, second

    return trace(xdd, (0.0, *((0.0, 0.0),) * 3))


@needs_compiler
@pytest.mark.parametrize("rows", [1, 2, 9])
def test_efforts_of_a_table(host: list[str], rows: int) -> None:
    rng = np.random.default_rng(5)
    x, xd, tau = rng.normal(size=(3, 700, 2))
    table, interval = 10 * rng.normal(size=(rows, 2)), 0.17
    there = Columns(np.concatenate([table, [[np.nan, np.nan]]])[:rows])  # what follows is not read
    law_of_motion = simplified(pendulums(), {0: 1.5})
    times = interval * np.arange(rows)

    def efforts(t: float, start: float) -> np.ndarray:
        added = [np.interp(start + t, times, column) for column in table.T]
        return tau + np.array(added)

    simulation = CudaSimulation(pendulums(), [0])
    for start in (0.0, 0.4, -0.2):
        found = simulation.of_numpy(
            [1.5], x, xd, tau, duration=2.0, steps=40, start=start, table=there, interval=interval
        )
        expected = runge_kutta(
            law_of_motion, (x, xd), 0.05, 40, lambda t, start=start: efforts(t, start)
        )
        close(found[0], expected[0])
        close(found[1], expected[1])


@needs_compiler
def test_each_motion_has_a_table_and_numbers_of_its_own(host: list[str]) -> None:
    rng = np.random.default_rng(8)
    x, xd, tau = rng.normal(size=(3, 70, 2))
    tables, masses = rng.normal(size=(70, 5, 2)), rng.uniform(1, 2, (70, 1))

    def xdd(x: tuple, xd: tuple, tau: tuple, more: tuple) -> tuple:
        return (tau[0] - more[0] * jnp.sin(x[0]) - 0.1 * xd[1]) / more[0], tau[1] - x[0] * x[1]

    general = trace(xdd, ((0.0, 0.0),) * 3 + ((0.0,),))
    given = {"duration": 1.0, "steps": 20, "interval": 0.25}
    found = CudaSimulation(general).of_numpy(x, xd, tau, masses, table=tables, **given)
    for k in (0, 33, 69):
        one = (part[k : k + 1] for part in (x, xd, tau, masses))
        alone = CudaSimulation(general).of_numpy(*one, table=tables[k], **given)
        close(found[0][k : k + 1], alone[0])
        close(found[1][k : k + 1], alone[1])
    law_of_motion = simplified(general, {6: masses[7, 0]})
    expected = runge_kutta(
        law_of_motion, (x[7:8], xd[7:8]), 0.05, 20,
        lambda t: tau[7:8] + [np.interp(t, np.arange(5) / 4, c) for c in tables[7].T],
    )  # fmt: skip
    close(found[0][7:8], expected[0])


@needs_compiler
def test_the_error_falls_with_the_fourth_power_of_the_step(host: list[str]) -> None:
    rng = np.random.default_rng(6)
    x, xd, tau = rng.normal(size=(3, 50, 2))
    simulation = CudaSimulation(pendulums(), [0])
    table = np.array([[0.0, 1.0], [2.0, -1.0], [0.5, 0.0]])

    def end(steps: int) -> np.ndarray:
        return np.concatenate(simulation.of_numpy(
            [0.8], x, xd, tau, duration=2.0, steps=steps, table=table, interval=1.0
        ))  # fmt: skip

    exact = end(2000)
    errors = [np.abs(end(steps) - exact).max() for steps in (20, 40, 80)]
    for before, after in itertools.pairwise(errors):
        assert 3.8 < np.log2(before / after) < 4.3


@needs_compiler
def test_motions_go_on_where_they_are(host: list[str]) -> None:
    x, xd = np.random.default_rng(7).normal(size=(2, 500, 2))
    simulation, same = CudaSimulation(pendulums(), [0]), np.array([1.2])
    table = jnp.asarray([[0.0, 1.0], [2.0, -1.0], [0.5, 0.0]])
    tau = jnp.zeros(2)
    whole = simulation.of_jax(
        jnp.asarray(same), jnp.asarray(x), jnp.asarray(xd), tau,
        duration=2.0, steps=64, table=table, interval=1.0,
    )  # fmt: skip
    here = (Columns(x), Columns(xd))
    for start in (0.0, 1.0):
        simulation(
            Columns(same), *here, tau, duration=1.0, steps=32, start=start,
            table=table, interval=1.0, out=here,
        )  # fmt: skip
    close(np.asarray(whole[0]), x)
    close(np.asarray(whole[1]), xd)


@needs_compiler
def test_motions_that_make_no_sense_are_refused(host: list[str]) -> None:
    with pytest.raises(InputError, match="2 accelerations takes at least 6 numbers"):
        CudaSimulation(pendulums(), [0, 1])
    with pytest.raises(InputError, match="takes at least 6 numbers"):
        simulation_source(pendulums(), [0, 1])
    simulation = CudaSimulation(pendulums(), [0])
    state = ([1.0], *(np.zeros((1, 2)),) * 3)
    with pytest.raises(InputError, match="given are 0 steps"):
        simulation.of_numpy(*state, duration=1.0, steps=0)
    with pytest.raises(InputError, match="interval of a table"):
        simulation.of_numpy(*state, duration=1.0, steps=1, table=np.zeros((3, 2)))
    with pytest.raises(InputError, match="rows of 2 numbers"):
        simulation.of_numpy(*state, duration=1.0, steps=1, table=np.zeros((2, 3)), interval=1.0)
    with pytest.raises(InputError, match="2 tables of efforts are given for 1 motions"):
        simulation.of_numpy(*state, duration=1.0, steps=1, table=np.zeros((2, 3, 2)), interval=1.0)
    far = Columns(np.zeros((2, 2)), data=(64, False))
    with pytest.raises(InputError, match="not in the memory"):
        simulation.of_numpy(*state, duration=1.0, steps=1, table=far, interval=1.0)


@needs_compiler
@pytest.mark.parametrize("case", ["constant", "of each", "table", "tables", "payloads"])
def test_many_simulations_on_a_device_are_those_on_the_processor(
    host: list[str], monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    robot, rng = rigid(tk.load("omron_mini_delta")), np.random.default_rng(9)
    x, xd, _ = states("omron_mini_delta", 20)
    xd = 0.1 * xd
    tau, loads = np.full(3, -0.3), None
    if case == "of each":
        tau = tau + 0.05 * rng.normal(size=(20, 3))
    elif case == "table":
        tau = tau + 0.05 * rng.normal(size=(6, 3))
    elif case == "tables":
        tau = tau + 0.05 * rng.normal(size=(20, 6, 3))
    elif case == "payloads":
        loads = [tk.Payload(mass=m) for m in rng.uniform(0.1, 1, 20)]
    given = {"duration": 0.1, "step": 2e-3, "rate": 50.0, "payloads": loads}
    expected = tk.simulate_many(robot, x, xd, tau, **given)
    assert not host
    monkeypatch.setattr(many.device, "holds", lambda *arrays: True)
    shares: list[float] = []
    arrays = (jnp.asarray(part) for part in (x, xd, tau))
    found = tk.simulate_many(robot, *arrays, progress=shares.append, **given)
    assert isinstance(found.x, jax.Array) and len(host) <= 1 and shares[-1] == 1
    assert np.array_equal(found.t, expected.t)
    assert np.abs(found.x - expected.x).max() < 1e-12
    assert np.abs(found.xd - expected.xd).max() < 1e-10
    assert found.error == pytest.approx(expected.error, rel=1e-3, abs=1e-13)


# Devices and compilers


@needs_compiler
def test_machine_code_is_kept(host: list[str], tmp_path: Path) -> None:
    store.keep_in(tmp_path)
    try:
        for _ in range(2):
            assert CudaKernel(difference()).of_numpy([5.0, 3.0]).tolist() == [2.0, 6.0]
    finally:
        store.keep_in(None)
    assert len(host) == 1


@needs_compiler
def test_facts_of_a_device_and_a_kernel(host: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    there = device.gpu()
    assert (there.name, there.capability, there.arch) == ("stand-in", 90, "sm_90")
    kernel = CudaKernel(difference()).kernel()
    assert (kernel.registers, kernel.spilled, kernel.resident * kernel.threads) == (4, 3, THREADS)
    monkeypatch.setattr(device, "architectures", lambda: [75, 80])
    assert there.arch == "compute_80", "PTX for a device newer than the compiler"
    monkeypatch.setattr(device, "architectures", lambda: [100])
    with pytest.raises(DeviceError, match=r"stand-in has compute capability 9\.0"):
        _ = there.arch
    with pytest.raises(DeviceError, match="There is no CUDA device 3; the driver has 1"):
        device.gpu(3)
    with pytest.raises(DeviceError, match=r"refused\. The driver runs CUDA 13\.1; .* NVRTC 13\.0"):
        there.kernel(b"no machine code", "run", 64)


def test_without_driver_or_compiler_a_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_loaded", lambda names: None)
    for function in (device.gpu, device._driver, device._nvrtc):
        function.cache_clear()
    try:
        assert not device.available()
        assert device.missing() == "There is no NVIDIA driver here, hence no CUDA device."
        with pytest.raises(DeviceError, match="pip install nvidia-cuda-nvrtc"):
            device.compiled("", "sm_90")
        with pytest.raises(DeviceError, match="no NVIDIA driver"):
            CudaKernel(difference()).of_numpy([1.0, 2.0])
    finally:
        for function in (device.gpu, device._driver, device._nvrtc):
            function.cache_clear()


def test_the_compiler_is_the_newest_that_the_driver_understands(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    names = (
        "cu13/lib/libnvrtc.so.13",
        "cuda_nvrtc/lib/libnvrtc.so.12",
        "cuda_nvrtc/lib/libnvrtc-builtins.so.12.8",
        "cuda_nvrtc/lib/libnvrtc.alt.so.12",
        "cu14/bin/x86_64/nvrtc64_140_0.dll",
        "cu14/bin/x86_64/nvrtc64_140_0.alt.dll",
    )
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = ModuleSpec("nvidia", None, is_package=True)
    found.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(device.importlib.util, "find_spec", lambda name: found)
    for version, order in {
        (13, 1): (13, 12, 14),
        (12, 8): (12, 14, 13),
        (0, 0): (14, 13, 12),
    }.items():
        monkeypatch.setattr(device, "_driver_version", lambda version=version: version)
        known = {13: names[0], 12: names[1], 14: names[4]}
        assert device._packaged() == [tmp_path / known[major] for major in order]


@pytest.fixture
def compiler() -> None:
    try:
        device._nvrtc()
    except DeviceError as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("robot", ROBOTS)
def test_nvrtc_compiles_what_is_written(robot: str) -> None:
    program, numbers, _ = law(robot, "inverse")
    for source in (
        cuda_source(burned(robot, "inverse")),
        cuda_source(program, range(len(numbers))),
        simulation_source(burned(robot, "forward")),
    ):
        assert device.compiled(source, "sm_90").startswith(b"\x7fELF")
    assert b".target sm_90" in device.compiled(cuda_source(everything(), (2, 3)), "compute_90")


@pytest.mark.usefixtures("compiler")
def test_what_nvrtc_refuses_is_shown() -> None:
    with pytest.raises(DeviceError, match='identifier "b" is undefined'):
        device.compiled("__device__ int a() { return b; }", "sm_90")


@pytest.mark.skipif(not device.available(), reason=device.missing())
@pytest.mark.parametrize("robot", ROBOTS)
def test_torques_on_a_device(robot: str) -> None:
    program, state = burned(robot, "inverse"), states(robot, 10_000)
    close(CudaKernel(program).of_numpy(*state), oracle(program, *state))
