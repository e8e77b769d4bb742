"""Programs run in all ways there are: by NumPy, and as machine code in each of its forms."""

from functools import lru_cache

import numpy as np

from triskele.programs import native
from triskele.programs.elementary import expanded
from triskele.programs.interpret import interpreted
from triskele.programs.program import Port
from triskele.programs.simplify import Graph

FORMS = (native.QUICK, native.SINGLE, native.LANES)


@lru_cache(64)
def compiled(program, uniform):
    """Its machine code, kept for the next call."""
    return native.Native(lambda: program, uniform)


def program_of(count, make):
    """The program of `make(graph, *inputs)`, which returns the places of its outputs."""
    graph = Graph()
    results = make(graph, *(graph.input(k) for k in range(count)))
    results = results if isinstance(results, tuple | list) else (results,)
    inputs = [Port(f"in{k}") for k in range(count)]
    return graph.program(inputs, [Port(f"out{k}") for k in range(len(results))], results)


def run_natively(program, columns, form, *, uniform=()):
    """The outputs of machine code for (N,) arrays; `uniform` inputs are numbers.

    Lanes take no fewer rows than there are lanes: the last one is repeated.
    """
    same = [np.array([float(columns[k])]) for k in uniform]
    assert [*uniform] == list(range(len(same)))
    rest = [np.asarray(column, float) for column in columns[len(same) :]]
    n = len(rest[0])
    filled = max(n, native.lanes()) if form == native.LANES else n
    rows = np.stack([np.pad(column, (0, filled - n), mode="edge") for column in rest], axis=-1)
    outputs = np.empty((filled, len(program.results)))
    code = compiled(program, tuple(uniform))
    into, out = native.Table.of([*same, rows]), native.Table.of([outputs])
    code.function(form)(filled, *into.addresses, *out.addresses)
    return list(outputs[:n].T)


def in_all_ways(program, columns):
    """(name, outputs) of NumPy on what is written out, and of each form of machine code."""
    yield "interpreted", [np.asarray(x, float) for x in interpreted(expanded(program), columns)]
    for form in FORMS:
        yield form, run_natively(program, columns, form)
