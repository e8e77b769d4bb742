"""Functions of one configuration, run as programs over tables.

A function is a pytree, as `eqx.Partial(law, robot)` is: its arrays are numbers that programs take
as inputs, the same for all rows; all else is its kind. Each kind is traced once, in memory
or from disk (`store.py`), for all robots of that kind.
"""

import pickle
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from triskele.programs import native, store
from triskele.programs.handle import Handle
from triskele.programs.program import Program, type_of
from triskele.programs.simplify import gathered, simplified
from triskele.programs.symbols import written
from triskele.programs.trace import trace

_ARRAY = np.ndarray | np.generic | jax.Array  #: leaves that are numbers of a robot


class Kernel:
    """A traced function with its machine code, for rows of arrays of certain widths."""

    def __init__(
        self,
        program: Callable[[], Program],
        skeleton: Any,  # noqa: ANN401
        truths: Sequence[bool],
        name: str | None,
    ) -> None:
        self.program = program
        self._truths = tuple(truths)
        self._structure = jax.tree.structure(skeleton)
        self._shapes = [np.shape(leaf) for leaf in jax.tree.leaves(skeleton)]
        self._native: native.Native | None = None
        self._name = name
        self._burned: dict[bytes, Program] = {}

    @property
    def results(self) -> int:
        """How many numbers come out."""
        return len(self._truths)

    def burned(self, numbers: np.ndarray) -> Program:
        """The program with these numbers in the place of its first inputs."""
        name = numbers.tobytes()
        if name not in self._burned:
            if len(self._burned) >= _MOST_BURNED:
                self._burned.clear()
            fixed = simplified(self.program(), dict(enumerate(numbers.tolist())))
            self._burned[name] = gathered(fixed)
        return self._burned[name]

    def compiled(self, uniform: int) -> native.Native:
        """The machine code, for so many inputs that are the same for all rows."""
        if self._native is None:
            made_for = native.machine()

            def kept_as(form: native.Form) -> str:
                return f"{store.name_of(self._name or '', made_for, form)}.code"

            if self._name is None:
                self._native = native.Native(self.program, range(uniform))
            else:
                self._native = native.Native(
                    self.program,
                    range(uniform),
                    lambda form: store.read(kept_as(form)),
                    lambda form, code: store.write(kept_as(form), code),
                )
        return self._native

    def __call__(self, numbers: np.ndarray, rows: Sequence[np.ndarray]) -> Any:  # noqa: ANN401
        """The function's result for arrays (N, k): its leaves are (N,) arrays."""
        n = len(rows[0])
        found = np.empty((len(self._truths), n))
        inputs = native.Table.of([numbers, *rows])
        self.compiled(len(numbers)).run(inputs, native.Table.of([found.T]), n)
        found += 0.0  # no -0, which rules do not tell from 0
        leaves, first = [], 0
        for shape in self._shapes:
            size = int(np.prod(shape))
            part = found[first : first + size]
            part = part.astype(bool) if size and self._truths[first] else part
            leaves.append(part[0] if not shape else np.moveaxis(part.reshape(*shape, n), -1, 0))
            first += size
        return jax.tree.unflatten(self._structure, leaves)

    def along(
        self, numbers: np.ndarray, start: np.ndarray, rows: Sequence[np.ndarray]
    ) -> np.ndarray:
        """y_i = f(y_(i-1), rows_i): each row reads what the one before has written."""
        n = len(rows[0])
        found = np.empty((n + 1, len(start)))
        found[0] = start
        inputs = native.Table.of([numbers, found[:-1], *rows])
        self.compiled(len(numbers)).run(inputs, native.Table.of([found[1:]]), n, in_order=True)
        return found[1:]


_KERNELS: dict[tuple, Kernel | None] = {}
_MOST_BURNED = 16  #: robots of a kind whose programs are kept in memory
_MOST = 1024  #: kinds of functions in memory; lambdas made anew each time would fill it


def run(function: Callable, rows: Sequence[np.ndarray]) -> tuple[bool, Any]:
    """Whether `function` is a program, and its result for arrays (N, k) of doubles."""
    kernel, numbers = _compilable(function, tuple(row.shape[1] for row in rows))
    return (False, None) if kernel is None else (True, kernel(numbers, rows))


def recur(function: Callable, start: np.ndarray, rows: Sequence[np.ndarray]) -> tuple[bool, Any]:
    """Whether `function` is a program, and y_i = function(y_(i-1), rows_i) from `start`."""
    kernel, numbers = _compilable(function, (len(start), *(row.shape[1] for row in rows)))
    return (False, None) if kernel is None else (True, kernel.along(numbers, start, rows))


def table(function: Callable, *widths: int) -> Callable | None:
    """`function` from arrays (N, k) into arrays (N, results), without new memory.

    None if it is no program. What comes out must not share memory with what goes in.
    """
    kernel, numbers = _compilable(function, widths)
    if kernel is None:
        return None
    code = kernel.compiled(len(numbers))

    def into(arrays: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        assert tuple(array.shape[-1] for array in arrays) == widths, "columns that were asked for"
        assert sum(output.shape[-1] for output in outputs) == kernel.results, "room for all results"
        inputs = native.Table.of([numbers, *arrays])
        code.run(inputs, native.Table.of(outputs), len(outputs[0]))

    return into


def handle(function: Callable, *widths: int) -> Handle | None:
    """`function` for single states, vectors of these widths; None if it is no program.

    Its numbers are inputs of the code, so that nothing is compiled if code was kept.
    """
    kernel, numbers = _compilable(function, widths)
    if kernel is None:
        return None
    code = kernel.compiled(len(numbers))
    return Handle(code, numbers, widths, kernel.results, native.QUICK)


def burned_in(function: Callable, *widths: int) -> Handle | None:
    """The same with its numbers as constants: compiled for them, for the quickest calls."""
    program = program_of(function, *widths)
    if program is None or not native.available():
        return None
    code = native.Native(lambda: program)
    return Handle(code, np.empty(0), widths, len(program.results))


def program_of(function: Callable, *widths: int) -> Program | None:
    """The program of `function` of vectors of these widths, its numbers burned in."""
    kernel, numbers = _found(function, widths)
    if kernel is None:
        return None
    return kernel.burned(numbers)


def _compilable(function: Callable, widths: tuple[int, ...]) -> tuple[Kernel | None, np.ndarray]:
    """`_found`, where there is LLVM to compile it."""
    return _found(function, widths) if native.available() else (None, np.empty(0))


def _found(function: Callable, widths: tuple[int, ...]) -> tuple[Kernel | None, np.ndarray]:
    """The kernel of `function`, None if it has none, and the numbers that it holds."""
    nothing = None, np.empty(0)
    leaves, structure = jax.tree.flatten(function)
    arrays = [leaf for leaf in leaves if isinstance(leaf, _ARRAY)]
    if any(isinstance(leaf, Tracer) for leaf in arrays):
        return nothing
    marks = tuple((np.shape(a), _kind(a)) if isinstance(a, _ARRAY) else _mark(a) for a in leaves)
    try:
        key = (structure, marks, widths)
        known = key in _KERNELS
    except TypeError:  # something in it cannot be compared
        return nothing
    if not known:
        if len(_KERNELS) >= _MOST:
            _KERNELS.clear()
        _KERNELS[key] = _kernel(function, arrays, widths)
    parts = [np.ravel(np.asarray(array, float)) for array in arrays]
    return _KERNELS[key], np.concatenate(parts) if parts else np.empty(0)


def _kind(array: Any) -> str:  # noqa: ANN401
    return np.dtype(array.dtype).kind


def _mark(leaf: Any) -> tuple:  # noqa: ANN401
    """What tells a leaf that is no array from others: 1, 1.0 and True differ, NaN equals itself."""
    return type(leaf), repr(leaf) if isinstance(leaf, float) else leaf


def _kernel(function: Callable, arrays: list, widths: tuple[int, ...]) -> Kernel | None:
    """What is kept on disk, or traced now; None for what is not straight-line."""
    if any(np.asarray(array).dtype.kind != "f" for array in arrays):
        return None
    text = _described(function)
    name = None if text is None else store.name_of(text, repr(widths))
    kept = None if name is None else store.read(f"{name}.program")
    if kept is not None:
        skeleton, truths, data = pickle.loads(kept)
        return Kernel(lambda: Program.from_bytes(data), skeleton, truths, name)
    try:
        program, skeleton = _traced(function, widths)
    except Exception:  # XLA is asked next, and says what is wrong if something is
        return None
    truths = [type_of(program.nodes[place]) == "truth" for place in program.results]
    if name is not None:
        store.write(f"{name}.program", pickle.dumps((skeleton, truths, program.to_bytes())))
    return Kernel(lambda: program, skeleton, truths, name)


def _traced(function: Callable, widths: tuple[int, ...]) -> tuple[Program, Any]:
    """The program of `function`, and its result with numbers in place of arrays."""
    leaves, structure = jax.tree.flatten(function)
    places = [k for k, leaf in enumerate(leaves) if isinstance(leaf, _ARRAY)]
    shaped: list[Any] = []

    def of(numbers: list, *rows: tuple) -> Any:  # noqa: ANN401
        filled = list(leaves)
        for place, number in zip(places, numbers, strict=True):
            filled[place] = number
        result = jax.tree.unflatten(structure, filled)(*rows)
        shaped.append(jax.tree.map(lambda leaf: np.zeros(np.shape(leaf)), result))
        return result

    arguments = [[leaves[place] for place in places], *((0.0,) * width for width in widths)]
    try:
        program, skeleton = written(of, arguments)
        return gathered(program), skeleton
    except Exception:  # it calls JAX by itself: let JAX trace it
        shaped.clear()
        return trace(of, arguments), shaped[-1]


def _described(thing: Any) -> str | None:  # noqa: ANN401
    """A text that stands for the kind of a function in any process; None if there is none.

    Only what this package defines is described: the sources of others may change unseen.
    """
    if isinstance(thing, _ARRAY):
        return f"array{np.shape(thing)}"
    if thing is None or isinstance(thing, bool | int | float | str):
        return repr(thing)
    parts: list[str | None]
    if type(thing) is list or isinstance(thing, tuple):
        parts = [_described(part) for part in thing]
        own = type(thing) in (tuple, list) or _ours(type(thing))
        name = type(thing).__qualname__ if own else None
    elif isinstance(thing, dict):
        parts = [_described(part) for pair in thing.items() for part in pair]
        name = "dict"
    elif callable(thing) and hasattr(thing, "__code__"):
        return f"{thing.__module__}.{thing.__qualname__}" if _ours(thing) else None
    elif is_dataclass(thing) and not isinstance(thing, type):
        parts = [_described(getattr(thing, field.name)) for field in fields(thing)]
        name = (
            f"{type(thing).__module__}.{type(thing).__qualname__}" if _ours(type(thing)) else None
        )
    else:
        return None
    if name is None or None in parts:
        return None
    return f"{name}({', '.join(str(part) for part in parts)})"


def _ours(thing: Any) -> bool:  # noqa: ANN401
    """Whether a class or function is defined in a module of this package or of equinox."""
    package = (thing.__module__ or "").partition(".")[0]
    return package in ("triskele", "equinox") and "<" not in thing.__qualname__
