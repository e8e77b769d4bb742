"""Each operation as C and as JavaScript prints it, one program of them all."""

import json
import subprocess

import numpy as np
import pytest
from compiling import SANITIZED, STRICT, needs

from triskele.export import c, javascript
from triskele.programs.interpret import interpreted
from triskele.programs.program import OPERATIONS, Port
from triskele.programs.simplify import Graph
from triskele.programs.source import written_out

NUMBERS = [0.0, 0.5, -0.5, 1.0, -1.5, 2.5, 3.7, -4.2, 20.3, -33.0, 700.0, 1e-9, 5e5]
A, B = (part.ravel() for part in np.meshgrid(NUMBERS, NUMBERS))


def every_operation():
    """Outputs named after the operations, of a and b."""
    graph = Graph()
    a, b = graph.input(0), graph.input(1)
    less, same = graph.emit("lt", a, b), graph.emit("eq", a, b)
    zero = graph.const(0.0)
    places = {}
    for op, (takes, _) in OPERATIONS.items():
        args = {("number",): (a,), ("number", "number"): (a, b), ("truth",): (less,),
                ("truth", "truth"): (less, same),
                ("truth", "number", "number"): (less, a, b)}[takes]  # fmt: skip
        places[op] = graph.emit(op, *args)
    places["pow2"] = graph.emit("pow2", graph.emit("floor", a))
    places["sqrt"] = graph.emit("sqrt", graph.emit("abs", a))
    places["exp"] = graph.emit("exp", graph.emit("min", a, graph.const(600.0)))
    places["below"] = graph.emit("floor", graph.emit("neg", a))
    places["quotient"] = graph.emit("mul", a, graph.emit("recip", graph.emit("sub", b, a)))
    places["nor"] = graph.emit("not", graph.emit("or", less, graph.emit("lt", b, zero)))
    outputs = [Port(name) for name in places]
    return graph.program([Port("a"), Port("b")], outputs, list(places.values()))


PROGRAM = every_operation()
NAMES = [port.name for port in PROGRAM.outputs]
FEW = {"sin", "cos", "tanh", "exp", "atan2"}  #: round(x) of a half may be either neighbour


def check(found):
    """The numbers of NumPy, whose 1 / 0 is finite here; 2^k is in the range of doubles."""
    wanted = interpreted(PROGRAM, [A, B])
    for name, ours, theirs in zip(NAMES, found.T, np.array(wanted, float), strict=True):
        counts = np.abs(theirs) < 1e300
        if name in ("recip", "quotient"):
            assert np.isfinite(ours).all(), name
        if name == "round":
            assert (np.abs(ours - A) <= 0.5).all()
            assert (ours == np.floor(ours)).all()
            continue
        error = np.abs(ours - theirs)[counts]
        size = np.maximum(np.abs(theirs[counts]), 1.0 if name in FEW else 0.0)
        assert (error <= 4e-16 * size * (2 if name in FEW else 1)).all(), name


def test_c(tmp_path):
    words = c.dialect(c.REALS["double"])
    text = written_out(PROGRAM, words, lambda k: f"in[{k}]")
    lines = ["#include <math.h>", "#include <stdbool.h>", "#include <stdint.h>"]
    lines += ["#include <stdio.h>", "typedef double REAL;"]
    assert set(text.called) == set(words.functions)
    lines += [words.functions[name] for name in text.called]
    lines += [f"int main(void) {{ double in[2], out[{len(NAMES)}];"]
    lines += ["while (fread(in, sizeof in, 1, stdin) == 1) {", *text.statements]
    lines += [f"out[{k}] = {value};" for k, value in enumerate(text.outputs)]
    lines += ["fwrite(out, sizeof out, 1, stdout); } return 0; }", ""]
    (tmp_path / "all.c").write_text("\n".join(lines))
    command = [needs("gcc"), *STRICT, *SANITIZED, "-O1", "all.c", "-lm", "-o", "all"]
    subprocess.run(command, cwd=tmp_path, check=True)
    rows = np.column_stack([A, B]).tobytes()
    ran = subprocess.run([tmp_path / "all"], input=rows, capture_output=True, check=True)
    check(np.frombuffer(ran.stdout).reshape(len(A), -1))


def test_javascript(tmp_path):
    text = written_out(PROGRAM, javascript.DIALECT, lambda k: f"given[{k}]")
    rows = json.dumps(np.column_stack([A, B]).tolist())
    lines = [javascript.DIALECT.functions[name] for name in text.called]
    lines += ["const law = (given) => {", *text.statements]
    lines += [f"return [{', '.join(text.outputs)}];", "};"]
    infinite = "(_, v) => v === Infinity ? 1e308 : v"
    lines += [f"console.log(JSON.stringify({rows}.map(law), {infinite}));"]
    (tmp_path / "all.mjs").write_text("\n".join(lines))
    ran = subprocess.run([needs("node"), "all.mjs"], cwd=tmp_path, capture_output=True, check=True)
    check(np.array(json.loads(ran.stdout), float))


@pytest.mark.parametrize("real, value, text", [
    ("double", 0.1, "0.1"), ("float", 0.1, "0.1F"), ("float", 1e-100, "1.1754944e-38F"),
    ("double", float("inf"), "1.7976931348623157e+308"), ("float", -1e300, "(-3.4028235e+38F)"),
    ("double", 3.0, "3.0"), ("double", True, "true"),
])  # fmt: skip
def test_a_constant_is_what_the_type_can_hold(real, value, text):
    assert c.dialect(c.REALS[real]).constant(value) == text
