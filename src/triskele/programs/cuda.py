"""Programs as CUDA kernels: one configuration a thread, data on the device.

A program becomes one kernel of the same operations as its machine code (`native.py`): the same
products are fused with the same sums, and sin, cos, atan2, exp and tanh are the same polynomials.
A device rounds as IEEE 754 says, so that results are those of a processor with fused operations,
to the last bit; CUDA's own library would change the last digits.

    run         outputs of n configurations
    simulate    n motions x(t) under xdd(x, xd, tau), by the classical Runge-Kutta method in steps h

        v1 = xd              a1 = xdd(x, v1)
        v2 = xd + h/2 a1     a2 = xdd(x + h/2 v1, v2)
        v3 = xd + h/2 a2     a3 = xdd(x + h/2 v2, v3)
        v4 = xd + h a3       a4 = xdd(x + h v3, v4)
        x += h/6 (v1 + 2 v2 + 2 v3 + v4),    xd += h/6 (a1 + 2 a2 + 2 a3 + a4)             (1)

Columns have an address and a step, so that (N, k) arrays are read and written where they are.
Inputs that vary are read before outputs are written: an output may take the place of one, row for
row. What depends on `uniform` inputs alone, the same for all, is computed once by each block of
threads.

Calls wait for their inputs, and return when the results are there: they may be mixed with JAX,
whose own work is asynchronous.
"""

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from ctypes import c_double, c_longlong
from typing import Any, NamedTuple, Protocol, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from numpy.typing import ArrayLike

from triskele.errors import InputError
from triskele.programs import store
from triskele.programs.device import DeviceArray, Gpu, Kernel, compiled, gpu, nvrtc_version
from triskele.programs.elementary import expanded
from triskele.programs.native import products_in_sums, quotients
from triskele.programs.program import Program, depends_on, type_of
from triskele.programs.source import INFIX

_THREADS = 64  #: a block: two warps, since a law takes most of the registers of four blocks
_BY_VALUE = 240  #: columns that fit into the arguments of a kernel, 4 KiB


# Source


def cuda_source(program: Program, uniform: Iterable[int] = (), name: str = "run") -> str:
    """CUDA source of a kernel called `name`, of n and columns."""
    text = _Text(program, uniform)
    columns = _Columns(len(program.inputs), len(program.results))
    values = [f"const double i{k} = {columns.at(k)};" for k in text.read]
    body = text.body(
        lambda k: f"i{k}", lambda k, value: f"{columns.at(columns.inputs + k)} = {value};"
    )
    return _source(columns, text.once(columns), [
        f'extern "C" __global__ void __launch_bounds__({_THREADS})',
        f"{name}(const long long n, {columns.parameter}) {{",
        *text.called_once(),
        _FOR_EACH,
        *_indented([_LOAD_HERE] if text.slots else [], 4),
        *_indented(values, 4),
        *_indented(body, 4),
        "  }",
        "}",
    ])  # fmt: skip


def simulation_source(program: Program, uniform: Iterable[int] = (), name: str = "simulate") -> str:
    """CUDA source of a kernel that advances n states by equation (1).

    The inputs of `program` that are not `uniform` are x, xd and tau in this order, m of each, and
    then what stays the same along a motion; its outputs are the m accelerations xdd. Columns are
    the inputs, then x and xd at the end. The efforts are tau, constant, plus those of `table`: one
    row each `interval` from t = 0, interpolated linearly, constant before the first row and
    after the last. Tables of two motions lie `apart` numbers apart, 0 for one table for all. A
    table of no rows adds nothing.
    """
    text = _Text(program, uniform)
    m = _coordinates(program, text.varying)
    columns = _Columns(len(program.inputs), 2 * m)
    place = {k: number for number, k in enumerate(text.varying)}
    law = text.body(lambda k: f"in[{place[k]}]", lambda k, value: f"out[{k}] = {value};")
    x, v, tau = (text.varying[part * m : (part + 1) * m] for part in range(3))
    more = text.varying[3 * m :]
    initial = [
        f"{letter}[{j}] = {columns.at(k)};"
        for letter, inputs in (("x", x), ("v", v), ("tau", tau), ("more", more))
        for j, k in enumerate(inputs)
    ]
    final = [
        f"{columns.at(columns.inputs + part * m + j)} = {letter}[{j}];"
        for part, letter in enumerate("xv")
        for j in range(m)
    ]
    return _source(columns, text.once(columns), [
        "static __device__ __forceinline__ void",
        "law(const double *in, const double *once, double *out) {",
        *_indented([_LOAD_HERE, *law] if text.slots else law, 2),
        "}",
        "",
        f'extern "C" __global__ void __launch_bounds__({_THREADS})',
        f"{name}(const long long n, const long long steps, const double h, const double start,",
        "    const double *table, const long long rows, const long long apart,",
        "    const double interval,",
        f"    {columns.parameter}) {{",
        *text.called_once("nullptr"),
        _FOR_EACH,
        f"    double x[{m}], v[{m}], tau[{m}], more[{max(len(more), 1)}];",
        *_indented(initial, 4),
        *_RUNGE_KUTTA.replace("%m", str(m)).replace("%k", str(len(more))).splitlines(),
        *_indented(final, 4),
        "  }",
        "}",
    ])  # fmt: skip


def _coordinates(program: Program, varying: Sequence[int]) -> int:
    """m of a law of motion."""
    m = len(program.results)
    if len(varying) < 3 * m:
        raise InputError(
            f"A law of motion with {m} accelerations takes at least {3 * m} numbers that vary, x, "
            f"xd and tau; this program takes {len(varying)}."
        )
    return m


_COLUMN = "struct Column { double *at; long long step; };"
#: functions of a kernel: NaN if one of two is; 2^k, by putting k into the exponent
_FUNCTIONS = {
    "least": "(double a, double b) { return a != a ? a : a < b ? a : b; }",
    "most": "(double a, double b) { return a != a ? a : a > b ? a : b; }",
    "power": "(double k) { return __longlong_as_double(__double_as_longlong(k + %s) << 52); }"
    % (2.0**52 + 1023),
}
# Without it, what is computed once is loaded before the loop, into registers that are not there.
_LOAD_HERE = 'asm volatile("" ::: "memory");'


def _source(columns: "_Columns", once: list[str], lines: list[str]) -> str:
    """The whole of a source: declarations, then the kernel."""
    functions = [
        f"static __device__ __forceinline__ double {name}{body}"
        for name, body in _FUNCTIONS.items()
        if any(f"{name}(" in line for line in (*once, *lines))
    ]
    return "\n".join([_COLUMN, *columns.declared, *functions, "", *once, *lines, ""])


_FOR_EACH = """\
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {"""

# One copy of the law: four would not fit into the instruction cache.
_RUNGE_KUTTA = """\
    for (long long k = 0; k < steps; ++k) {
      double vs[%m], a[%m], sum_v[%m], sum_a[%m];
      #pragma unroll
      for (int j = 0; j < %m; ++j) { vs[j] = v[j]; a[j] = sum_v[j] = sum_a[j] = 0.0; }
      #pragma unroll 1
      for (int stage = 0; stage < 4; ++stage) {
        const double part = stage == 0 ? 0.0 : stage == 3 ? 1.0 : 0.5;
        const double weight = stage == 0 || stage == 3 ? 1.0 : 2.0;
        double in[3 * %m + %k];
        #pragma unroll
        for (int j = 0; j < %m; ++j) {
          in[j] = fma(part * h, vs[j], x[j]);
          in[%m + j] = vs[j] = fma(part * h, a[j], v[j]);
          in[2 * %m + j] = tau[j];
        }
        #pragma unroll
        for (int j = 0; j < %k; ++j) in[3 * %m + j] = more[j];
        if (rows > 0) {
          const double last = (double)(rows - 1);
          const double place = least(most((start + ((double)k + part) * h) / interval, 0.0), last);
          const double low = least(floor(place), most(last - 1.0, 0.0));
          const double *row = table + i * apart + (long long)low * %m;
          #pragma unroll
          for (int j = 0; j < %m; ++j) {
            const double next = rows > 1 ? row[%m + j] : row[j];
            in[2 * %m + j] += fma(place - low, next - row[j], row[j]);
          }
        }
        law(in, once, a);
        #pragma unroll
        for (int j = 0; j < %m; ++j) {
          sum_v[j] = fma(weight, vs[j], sum_v[j]);
          sum_a[j] = fma(weight, a[j], sum_a[j]);
        }
      }
      #pragma unroll
      for (int j = 0; j < %m; ++j) {
        x[j] = fma(h / 6.0, sum_v[j], x[j]);
        v[j] = fma(h / 6.0, sum_a[j], v[j]);
      }
    }"""


def _indented(lines: Iterable[str], by: int) -> list[str]:
    return [" " * by + line for line in lines]


class _Columns:
    """How the source of a kernel reaches its columns, inputs first."""

    def __init__(self, inputs: int, outputs: int) -> None:
        self.inputs, count = inputs, inputs + outputs
        self.by_value = count <= _BY_VALUE
        if self.by_value:
            self.declared = [f"struct Columns {{ Column of[{count}]; }};"]
            self.parameter, self._array = "const Columns columns", "columns.of"
        else:
            self.declared = []
            self.parameter, self._array = "const Column *columns", "columns"

    def at(self, k: int) -> str:
        """The number in row i of column k."""
        return f"{self._array}[{k}].at[i * {self._array}[{k}].step]"

    def first(self, k: int) -> str:
        """The number in the first row of column k."""
        return f"*{self._array}[{k}].at"


class _Text:
    """The operations of a program as statements. uK is computed once, vK by each thread."""

    def __init__(self, program: Program, uniform: Iterable[int]) -> None:
        self.program, chosen = expanded(program), set(uniform)
        nodes = self.program.nodes
        self.varying = [k for k in range(len(program.inputs)) if k not in chosen]
        used = {node.args[0] for node in nodes if node.op == "input"}
        self.read = [k for k in self.varying if k in used]
        self.varies = depends_on(self.program, self.varying)
        self.fused, self.left_out = products_in_sums(self.program, self.varies)
        self.quotients = quotients(self.program, self.varies, self.left_out)
        self.left_out |= {reciprocal for _, reciprocal in self.quotients.values()}
        needed = [arg for k, node in enumerate(nodes) if self.varies[k] for arg in node.operands]
        needed += self.program.results
        alone = (k for k in needed if not self.varies[k] and nodes[k].op != "const")
        #: where threads find what is computed once
        self.slots = {k: slot for slot, k in enumerate(dict.fromkeys(alone))}

    def once(self, columns: _Columns) -> list[str]:
        """A function that computes what does not vary."""
        if not self.slots:
            return []
        lines = []
        for k, node in enumerate(self.program.nodes):
            if not self.varies[k] and node.op != "const":
                lines.append(self._statement(k, columns.first))
                if k in self.slots:
                    lines.append(f"once[{self.slots[k]}] = {self._as_number(f'u{k}', k)};")
        return [
            f"static __device__ void compute_once({columns.parameter}, double *once) {{",
            *_indented(lines, 2),
            "}",
            "",
        ]

    def called_once(self, otherwise: str = "") -> list[str]:
        """How a block computes what does not vary; `once` is `otherwise` if there is nothing."""
        if not self.slots:
            return [f"  const double *once = {otherwise};"] if otherwise else []
        return [
            f"  __shared__ double once[{len(self.slots)}];",
            "  if (threadIdx.x == 0) compute_once(columns, once);",
            "  __syncthreads();",
        ]

    def body(self, load: Callable[[int], str], store: Callable[[int, str], str]) -> list[str]:
        """What each thread computes; an output is stored as soon as it is known."""
        nodes, lines = self.program.nodes, []
        outputs: dict[int, list[int]] = {}
        for number, place in enumerate(self.program.results):
            outputs.setdefault(place, []).append(number)
        for k in range(len(nodes)):
            if self.varies[k] and k not in self.left_out:
                lines.append(self._statement(k, load))
            for number in outputs.get(k, ()):
                lines.append(store(number, self._as_number(self._operand(k), k)))
        return lines

    def _operand(self, k: int) -> str:
        """The value at place k in the code of a thread."""
        node = self.program.nodes[k]
        if node.op == "const":
            return _constant(node.args[0])
        if self.varies[k]:
            return f"v{k}"
        truth = type_of(node) == "truth"
        return f"(once[{self.slots[k]}] != 0.0)" if truth else f"once[{self.slots[k]}]"

    def _alone(self, k: int) -> str:
        """The value at place k where it is computed once."""
        node = self.program.nodes[k]
        return _constant(node.args[0]) if node.op == "const" else f"u{k}"

    def _as_number(self, value: str, k: int) -> str:
        truth = type_of(self.program.nodes[k]) == "truth"
        return f"{value} ? 1.0 : 0.0" if truth else value

    def _statement(self, k: int, load: Callable[[int], str]) -> str:
        node = self.program.nodes[k]
        kind = "bool" if type_of(node) == "truth" else "double"
        letter = "v" if self.varies[k] else "u"
        return f"const {kind} {letter}{k} = {self._expression(k, load)};"

    def _expression(self, k: int, load: Callable[[int], str]) -> str:
        node = self.program.nodes[k]
        name = self._operand if self.varies[k] else self._alone
        if node.op == "input":
            return load(node.args[0])
        if k in self.fused:
            x, y, z, minus_product, minus_rest = self.fused[k]
            a, b, c = name(x), name(y), name(z)
            return f"fma({'-' * minus_product}{a}, {b}, {'-' * minus_rest}{c})"
        if k in self.quotients:
            above, reciprocal = self.quotients[k]
            return f"{name(above)} / {name(self.program.nodes[reciprocal].args[0])}"
        return _FORMS[node.op].format(*map(name, node.args))


_FORMS = INFIX | {
    "abs": "fabs({})",
    "sqrt": "sqrt({})",
    "recip": "1.0 / {}",
    "floor": "floor({})",
    "round": "rint({})",
    "pow2": "power({})",
    "min": "least({}, {})",
    "max": "most({}, {})",
    "and": "{} & {}",
    "or": "{} | {}",
}


def _constant(value: float | bool) -> str:
    """A constant, exactly."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if math.isfinite(value):
        return repr(value) if math.copysign(1.0, value) > 0 else f"({value!r})"
    bits = np.float64(value).view(np.uint64)
    return f"__longlong_as_double(0x{bits:016x}LL)"


# Arrays on a device


class HasMemory(Protocol):
    """An array on a device: of CuPy, PyTorch, Numba, `DeviceArray`."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Address, shape and type."""
        ...


OnDevice = HasMemory | jax.Array


class _View(NamedTuple):
    """Memory of an array of doubles; steps between entries in doubles."""

    address: int
    shape: tuple[int, ...]
    steps: tuple[int, ...]
    writable: bool
    stream: int | None  #: whose work is to be waited for


def _view(array: OnDevice, most: int = 2) -> _View:
    """The memory of a JAX array, or of what has `__cuda_array_interface__`; `most` indices."""
    if isinstance(array, jax.Array):
        _require_values([array])
        if len(array.sharding.device_set) != 1:
            raise InputError("An array is spread over several devices; a kernel runs on one.")
        jax.block_until_ready(array)
        shape, kind, steps = array.shape, array.dtype.str, None
        address, writable, stream = array.unsafe_buffer_pointer(), False, None
    else:
        try:
            found = array.__cuda_array_interface__
        except AttributeError:
            raise InputError(
                f"{type(array).__name__} is no array on a CUDA device: `__cuda_array_interface__` "
                "is missing. NumPy arrays are for `of_numpy`."
            ) from None
        shape, kind, steps = tuple(found["shape"]), found["typestr"], found.get("strides")
        address, writable = found["data"][0] or 0, not found["data"][1]
        stream = found.get("stream")
    if np.dtype(kind) != np.dtype(float) or np.dtype(kind).byteorder not in "=|":
        raise InputError(f"An array holds {np.dtype(kind).name}; kernels read and write float64.")
    if len(shape) not in range(1, most + 1):
        raise InputError(f"An array has the shape {shape}; expected is (N, k), or (k,) for all.")
    if steps is None:
        steps = tuple(8 * math.prod(shape[k + 1 :]) for k in range(len(shape)))
    if any(step % 8 for step in steps):
        raise InputError(f"The strides {steps} of an array are not multiples of 8 bytes.")
    return _View(address, shape, tuple(step // 8 for step in steps), writable, stream)


def _require_values(arrays: Iterable[jax.Array]) -> None:
    """Refuse arrays that JAX is tracing."""
    if any(isinstance(array, Tracer) for array in arrays):
        raise InputError("A CUDA kernel cannot be called under jit, vmap or grad.")


def _table(views: Sequence[_View]) -> np.ndarray:
    """Address and step of each column: those of (k,) arrays have no step."""
    rows = [
        (view.address + 8 * view.steps[-1] * k, view.steps[0] if len(view.shape) == 2 else 0)
        for view in views
        for k in range(view.shape[-1])
    ]
    return np.array(rows, np.int64).reshape(-1, 2)


def _rows(views: Sequence[_View]) -> int | None:
    """N of the (N, k) arrays; None if there is none."""
    lengths = {view.shape[0] for view in views if len(view.shape) == 2}
    if len(lengths) > 1:
        raise InputError(f"Arrays have {' and '.join(map(str, sorted(lengths)))} rows.")
    return lengths.pop() if lengths else None


class _Compiled:
    """A kernel compiled by the first call, and its columns."""

    def __init__(
        self, source: Callable[[], str], name: str, inputs: int, outputs: int, ordinal: int
    ) -> None:
        self._source, self._name, self._ordinal = source, name, ordinal
        self._inputs, self._outputs = inputs, outputs
        self._by_value = _Columns(inputs, outputs).by_value
        self._lock = threading.Lock()
        self._kernel: Kernel | None = None

    @property
    def device(self) -> Gpu:
        """The device that the kernel runs on."""
        return gpu(self._ordinal)

    def kernel(self) -> Kernel:
        """The compiled kernel, from the programs on disk if it is there."""
        with self._lock:
            if self._kernel is None:
                source, there = self._source(), self.device
                arch, version = there.arch, repr(nvrtc_version())
                kept_as = f"{store.name_of('cuda', source, arch, version)}.code"
                image = store.read(kept_as)
                if image is None:
                    image = compiled(source, arch)
                    store.write(kept_as, image)
                self._kernel = there.kernel(image, self._name, _THREADS)
        return self._kernel

    def run(
        self, inputs: Sequence, outputs: Sequence, uniform: Iterable[int], values: Sequence = (),
        fresh: bool = False,
    ) -> None:  # fmt: skip
        """Check and launch; `values` stand between n and the columns, `fresh` outputs are ours."""
        given, results = [_view(array) for array in inputs], [_view(array) for array in outputs]
        table, written = _table(given), _table(results)
        for columns, count, what in ((table, self._inputs, "in"), (written, self._outputs, "out")):
            if len(columns) != count:
                raise InputError(
                    f"Arrays have {len(columns)} columns {what}; expected are {count}."
                )
        if any(table[k, 1] for k in uniform):
            raise InputError("An input that is the same for all has N rows; expected is (k,).")
        n = _rows([*given, *results])
        if n is not None and n > 1 and any(len(view.shape) == 1 for view in results):
            raise InputError(f"{n} configurations do not fit into results of one row.")
        if not fresh and not all(view.writable for view in results):
            raise InputError("Results go into arrays that can be written; JAX arrays cannot.")
        for view in (*given, *results):
            self.reach(view)
        columns = np.concatenate([table, written])
        if self._by_value:
            self.kernel()(1 if n is None else n, *values, columns)
        else:
            there = DeviceArray.of(columns.view(float), self.device)
            self.kernel()(1 if n is None else n, *values, c_longlong(there.address))

    def reach(self, view: _View) -> None:
        """Wait until memory can be used; InputError if the device does not have it."""
        if view.stream:
            self.device.wait(view.stream)
        if math.prod(view.shape) and not self.device.owns(view.address):
            raise InputError(f"An array is not in the memory of CUDA device {self._ordinal}.")

    def of_jax(
        self, arrays: Sequence, widths: Sequence[int], uniform: Iterable[int], values: Sequence = ()
    ) -> list[jax.Array]:
        """Results as JAX arrays.

        They are written in place, which JAX does not do: into arrays that are new, that no one
        else has seen, and that JAX has finished with.
        """
        given = [jnp.asarray(array) for array in arrays]
        _require_values(given)
        there = next(iter(given[0].sharding.device_set)) if given else None
        shapes = _shapes(given, widths)
        results = [jnp.empty(shape, np.float64, device=there) for shape in shapes]
        self.run(given, results, uniform, values, fresh=True)
        return results

    def of_numpy(
        self, arrays: Sequence, widths: Sequence[int], uniform: Iterable[int], values: Sequence = ()
    ) -> list[np.ndarray]:
        """Results as NumPy arrays."""
        given = [DeviceArray.of(array, self.device) for array in arrays]
        results = [DeviceArray(shape, self.device) for shape in _shapes(given, widths)]
        self.run(given, results, uniform, values)
        return [result.numpy() for result in results]


def _shapes(arrays: Sequence, widths: Iterable[int]) -> list[tuple[int, ...]]:
    """Shapes of results of so many columns: (N, width), or (width,) for one configuration."""
    rows = [array.shape[:1] for array in arrays if len(array.shape) == 2]
    return [(*(rows[0] if rows else ()), width) for width in widths]


class CudaKernel:
    """A program that runs over arrays on a CUDA device; compiled by the first call.

    >>> kernel = CudaKernel(program)                                        # doctest: +SKIP
    >>> kernel(x, xd, xdd, out=tau)      # CuPy, PyTorch, DeviceArray         # doctest: +SKIP
    >>> tau = kernel.of_jax(x, xd, xdd)                                     # doctest: +SKIP
    >>> tau = kernel.of_numpy(x, xd, xdd)                                   # doctest: +SKIP
    """

    def __init__(self, program: Program, uniform: Iterable[int] = (), *, ordinal: int = 0) -> None:
        self.program, self.uniform = program, tuple(uniform)
        self._width = len(program.results)
        self._compiled = _Compiled(
            lambda: cuda_source(program, self.uniform), "run", len(program.inputs), self._width,
            ordinal,
        )  # fmt: skip

    def __call__(self, *arrays: OnDevice, out: OnDevice | Sequence[OnDevice]) -> None:
        """Write the outputs into `out`, one array or several.

        The columns of all `arrays` are the inputs in order. Arrays are (N, k) with any strides, or
        (k,), the same for all.
        """
        outputs = list(out) if isinstance(out, list | tuple) else [out]
        self._compiled.run(arrays, outputs, self.uniform)

    def of_jax(self, *arrays: jax.Array) -> jax.Array:
        """The outputs (N, k) as a JAX array on the same device."""
        return self._compiled.of_jax(arrays, [self._width], self.uniform)[0]

    def of_numpy(self, *arrays: ArrayLike) -> np.ndarray:
        """The outputs (N, k), with copies to the device and back."""
        return self._compiled.of_numpy(arrays, [self._width], self.uniform)[0]

    def kernel(self) -> Kernel:
        """The compiled kernel: registers, spilled bytes."""
        return self._compiled.kernel()


class CudaSimulation:
    """Motions under a law of motion, equation (1), one a thread; compiled by the first call.

    The program has the inputs of `simulation_source`. Arrays are given as to `CudaKernel`: N
    rows of x, xd and tau, or (n,) what all motions have in common.
    """

    def __init__(self, program: Program, uniform: Iterable[int] = (), *, ordinal: int = 0) -> None:
        self.program, self.uniform = program, tuple(uniform)
        self._width = len(program.results)
        _coordinates(program, [k for k in range(len(program.inputs)) if k not in self.uniform])
        self._compiled = _Compiled(
            lambda: simulation_source(program, self.uniform), "simulate", len(program.inputs),
            2 * self._width, ordinal,
        )  # fmt: skip

    def __call__(
        self,
        *arrays: OnDevice,
        duration: float,
        steps: int,
        out: tuple[OnDevice, OnDevice],
        start: float = 0.0,
        table: OnDevice | ArrayLike | None = None,
        interval: float = math.nan,
    ) -> None:
        """Write x and xd after `duration` [s] into the two arrays `out`, which may be those given.

        `table` (rows, n) for all, or (N, rows, n), on the device or in NumPy, is added to the
        efforts tau: one row each `interval` [s] from t = 0, interpolated linearly. `start` [s] is
        the time at the beginning. The method has order 4 where no row falls between two steps.
        """
        rows = self._efforts(table)
        values = self._values(arrays, duration, steps, start, rows, interval)
        self._compiled.run(arrays, out, self.uniform, values)

    def of_jax(
        self,
        *arrays: jax.Array,
        duration: float,
        steps: int,
        start: float = 0.0,
        table: OnDevice | ArrayLike | None = None,
        interval: float = math.nan,
    ) -> tuple[jax.Array, jax.Array]:
        """x and xd after `duration` [s], each (N, n), as JAX arrays on the same device."""
        rows = self._efforts(table)
        values = self._values(arrays, duration, steps, start, rows, interval)
        x, xd = self._compiled.of_jax(arrays, (self._width,) * 2, self.uniform, values)
        return x, xd

    def of_numpy(
        self,
        *arrays: ArrayLike,
        duration: float,
        steps: int,
        start: float = 0.0,
        table: OnDevice | ArrayLike | None = None,
        interval: float = math.nan,
    ) -> tuple[np.ndarray, np.ndarray]:
        """x and xd after `duration` [s], each (N, n), with copies to the device and back."""
        rows = self._efforts(table)
        values = self._values(arrays, duration, steps, start, rows, interval)
        x, xd = self._compiled.of_numpy(arrays, (self._width,) * 2, self.uniform, values)
        return x, xd

    def kernel(self) -> Kernel:
        """The compiled kernel: registers, spilled bytes."""
        return self._compiled.kernel()

    def _efforts(self, table: OnDevice | ArrayLike | None) -> OnDevice | None:
        """The efforts on the device; to be kept until they have been used."""
        if table is None or isinstance(table, jax.Array):
            return table
        if hasattr(table, "__cuda_array_interface__"):
            return cast(HasMemory, table)
        return DeviceArray.of(cast(ArrayLike, table), self._compiled.device)

    def _values(
        self, arrays: Sequence, duration: float, steps: int, start: float, table: OnDevice | None,
        interval: float,
    ) -> list:  # fmt: skip
        """Arguments of `simulate` between n and the columns."""
        if steps < 1 or not math.isfinite(duration) or not math.isfinite(start):
            raise InputError(
                "A motion has at least one step, and a finite start and duration; "
                f"given are {steps} steps, {start} s and {duration} s."
            )
        address = rows = apart = 0
        if table is not None:
            view, width = _view(table, 3), self._width
            self._compiled.reach(view)
            if view.shape[-1] != width or view.steps[-2:] != (width, 1) or 0 in view.shape:
                raise InputError(
                    f"A table of efforts has the shape {view.shape}; expected are rows of "
                    f"{width} numbers, one after the other."
                )
            if not 0 < interval < math.inf:
                raise InputError(f"The interval of a table of efforts is {interval} s.")
            address, rows = view.address, view.shape[-2]
            if len(view.shape) == 3:
                shapes = (np.shape(array) for array in arrays)
                motions = {shape[0] for shape in shapes if len(shape) == 2} or {1}
                if motions != {view.shape[0]}:
                    raise InputError(
                        f"{view.shape[0]} tables of efforts are given for "
                        f"{' or '.join(map(str, sorted(motions)))} motions."
                    )
                apart = view.steps[0]
        return [c_longlong(steps), c_double(duration / steps), c_double(start),
                c_longlong(address), c_longlong(rows), c_longlong(apart),
                c_double(interval)]  # fmt: skip
