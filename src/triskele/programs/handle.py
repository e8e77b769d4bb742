"""A program to be called with plain arrays: one state in a microsecond, a table in lanes.

    into(out, *vectors)      the results of one state, (k,) arrays, written into `out`
    at(*vectors)             the same as a new array
    of_rows(*arrays)         for tables (N, k): an array (N, results)

Handles may be called from several threads.
"""

import threading
from collections.abc import Sequence

import numpy as np

from triskele.programs import native


class Handle:
    """Machine code for `numbers` and then vectors of these `widths`, which has `count` results."""

    def __init__(
        self,
        code: native.Native,
        numbers: np.ndarray,
        widths: Sequence[int],
        count: int,
        form: native.Form = native.SINGLE,
    ) -> None:
        self._code, self._numbers = code, numbers
        self._given = [np.empty(width) for width in widths]
        self._found = np.empty(count)
        tables = native.Table.of([numbers, *self._given]), native.Table.of([self._found])
        self._go = code.bound(*tables, form)
        self._lock = threading.Lock()

    def into(self, out: np.ndarray, *vectors: Sequence[float] | np.ndarray) -> None:
        """Write the results of one state into `out`."""
        with self._lock:
            self._compute(vectors)
            out[...] = self._found

    def at(self, *vectors: Sequence[float] | np.ndarray) -> np.ndarray:
        """The results of one state."""
        with self._lock:
            self._compute(vectors)
            return self._found.copy()

    def _compute(self, vectors: tuple) -> None:
        """The results of one state, into `_found`."""
        if len(vectors) != len(self._given):
            raise TypeError(f"{len(self._given)} vectors are expected, not {len(vectors)}")
        for given, vector in zip(self._given, vectors):  # noqa: B905 (strict costs half a call)
            given[...] = vector
        self._go()

    def of_rows(self, *arrays: np.ndarray) -> np.ndarray:
        """The results of N states, one row each, for arrays of doubles (N, k)."""
        assert [array.shape[1] for array in arrays] == [len(given) for given in self._given]
        found = np.empty((len(arrays[0]), len(self._found)))
        inputs = native.Table.of([self._numbers, *arrays])
        self._code.run(inputs, native.Table.of([found]), len(found))
        return found
