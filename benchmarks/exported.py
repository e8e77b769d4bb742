"""Exported C: torques of an IRB 360 with friction, one state after the other on one core.

If CasADi is there it generates C of the same program, with the functions of libm, and the same
compiler compiles both with the same options. Both loops are in C, over the same states.
"""

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.build import NATIVE, address
from benchmarks.race import Lap, race
from triskele.description.load import load
from triskele.export.code import export_code
from triskele.export.functions import Function
from triskele.export.golden import States
from triskele.kinematics.build import build
from triskele.programs.program import Program

ROBOT, OURS, CASADI = "abb_irb360_6_1600", "exported C", "CasADi's C"
_STATES = 20_000
_OPTIMISED = ("-std=c99", "-O2")
_LOOP = """
#include "{robot}.h"
void loop(int n, const double *in, double *out)
{{
    for (int i = 0; i < n; ++i)
        (void){robot}_torques(in + 19 * i, in + 19 * i + 4, in + 19 * i + 8, in + 19 * i + 12,
                              out + 7 * i, out + 7 * i + 4);
}}
"""
_CASADI_LOOP = """
int law(const double **arg, double **res, long long *iw, double *w, int mem);
void loop(int n, const double *in, double *out)
{
    for (int i = 0; i < n; ++i) {
        const double *arg[1] = {in + 19 * i};
        double *res[1] = {out + 7 * i};
        law(arg, res, 0, 0, 0);
    }
}
"""


class Exported(NamedTuple):
    """What one call takes."""

    laps: dict[str, Lap]  #: of a call
    notes: tuple[str, ...]  #: what is not there

    @property
    def seconds(self) -> float:
        """CPU time of one call of exported C [s]."""
        return self.laps[OURS].seconds


def exported(*, rounds: int) -> Exported:
    """The medians of `rounds`; OSError where there is no compiler."""
    robot, notes = load(ROBOT), []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        written = export_code(robot, folder / "code", what=["torques"])
        function = written.functions[0][0]
        rows = States(build(robot)).inputs(function, _STATES)
        out = np.empty((_STATES, 7))
        (folder / "code" / "loop.c").write_text(_LOOP.format(robot=ROBOT))
        libraries = {OURS: _library(folder / "code", f"{ROBOT}.c", "loop.c")}
        try:
            _write_casadi(function, folder)
        except ImportError:
            notes.append("CasADi is not installed: exported C runs alone")
        else:
            libraries[CASADI] = _library(folder, "law.c", "loop.c")
    calls = {name: _call(library, rows, out) for name, library in libraries.items()}
    found = []
    for call in calls.values():
        call()
        found.append(out.copy())
    for other in found[1:]:
        assert np.abs(other - found[0]).max() <= 1e-9 * np.abs(found[0]).max(), "torques differ"
    laps = race(calls, OURS, rounds=rounds, shortest=0.05)
    each = {
        name: Lap(lap.seconds / _STATES, lap.ratio, tuple(t / _STATES for t in lap.rounds))
        for name, lap in laps.items()
    }
    return Exported(each, tuple(notes))


def _call(library: ctypes.CDLL, rows: np.ndarray, out: np.ndarray) -> Callable[[], None]:
    kept = np.ascontiguousarray(rows)
    given, results = address(kept), address(out)

    def call() -> None:
        library.loop(len(kept), given, results)

    return call


def _library(folder: Path, *sources: str) -> ctypes.CDLL:
    compiler = shutil.which("cc")
    if compiler is None:
        raise OSError("there is no compiler (cc) here")
    target = folder / "library.so"
    command = [compiler, *_OPTIMISED, *NATIVE, *sources, "-lm", "-o", str(target)]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(target))


def _write_casadi(function: Function, folder: Path) -> None:
    """law.c and its loop in `folder`."""
    import casadi  # pyright: ignore[reportMissingImports]

    symbols = casadi.SX.sym("in", len(function.program.inputs))
    outputs = _in_casadi(casadi, function.program, symbols)
    law = casadi.Function("law", [symbols], [casadi.vertcat(*outputs)])
    generator = casadi.CodeGenerator("law.c")
    generator.add(law)
    generator.generate(f"{folder}/")
    (folder / "loop.c").write_text(_CASADI_LOOP)


def _in_casadi(casadi: Any, program: Program, symbols: Any) -> list:
    forms: dict[str, Callable] = {
        "neg": lambda a: -a, "abs": casadi.fabs, "sqrt": casadi.sqrt, "recip": lambda a: 1 / a,
        "floor": casadi.floor, "sin": casadi.sin, "cos": casadi.cos, "exp": casadi.exp,
        "tanh": casadi.tanh, "atan2": casadi.atan2, "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "min": casadi.fmin,
        "max": casadi.fmax, "lt": casadi.lt, "le": casadi.le, "eq": casadi.eq,
        "and": casadi.logic_and, "or": casadi.logic_or, "not": casadi.logic_not,
        "select": casadi.if_else,
    }  # fmt: skip
    values: list = []
    for node in program.nodes:
        if node.op == "input":
            values.append(symbols[node.args[0]])
        elif node.op == "const":
            values.append(casadi.SX(node.args[0]))
        else:
            values.append(forms[node.op](*(values[arg] for arg in node.args)))
    return [values[place] for place in program.results]
