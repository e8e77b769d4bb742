"""Exported functions as a JavaScript module, with types, golden vectors and a self-test.

    import { torques } from "./NAME.mjs";
    const { status, tau } = torques(x, xd, xdd, payload);

It uses nothing but `Math.sqrt`, `Math.abs` and `Math.floor`, and runs in browsers and in node.
"""

import json
from collections.abc import Iterator, Sequence

from triskele.export.c import LARGEST_INPUT, comment, described, watched_limits
from triskele.export.functions import Function
from triskele.export.golden import Golden
from triskele.programs.source import INFIX, Dialect, written_out

_LARGEST, _TINY = 1e290, 1e-290

_FORMS = INFIX | {
    "abs": "Math.abs({})",
    "sqrt": "Math.sqrt({})",
    "recip": "1 / away({})",
    "quotient": "{} / away({})",
    "floor": "Math.floor({})",
    "round": "Math.floor({} + 0.5)",
    "pow2": "2 ** {}",
    "min": "{0} < {1} ? {0} : {1}",
    "max": "{0} > {1} ? {0} : {1}",
}
_AWAY = f"""\
/** A divisor, kept away from zero. */
const away = (b) => Math.abs(b) < {_TINY!r} ? {_TINY!r} : b;"""


def _number(value: float) -> str:
    return repr(min(max(value, -1.7e308), 1.7e308))


DIALECT = Dialect(
    _FORMS,
    _number,
    ("false", "true"),
    lambda kind, name, value: f"const {name} = {value};",
    {"away": _AWAY},
)


def files(
    robot: str, functions: Sequence[tuple[Function, Golden]], about: Sequence[str]
) -> dict[str, str]:
    """The text of each file; `about` says what the code was made of."""
    alone = [function for function, _ in functions]
    return {
        f"{robot}.mjs": "\n".join(_module(alone, about)) + "\n",
        f"{robot}.d.mts": "\n".join(_types(alone, about)) + "\n",
        f"{robot}_golden.mjs": "\n".join(_golden(functions)) + "\n",
        "selftest.mjs": _SELFTEST.replace("ROBOT", robot),
    }


def _module(functions: Sequence[Function], about: Sequence[str]) -> Iterator[str]:
    yield from comment(about)
    yield """
/** Version of this interface: it changes when a call of these functions must. */
export const INTERFACE = 1;
/** What functions return as `status`. */
export const OK = 0, OUT_OF_REACH = 1, BAD_INPUT = 2, NO_RESULT = 3;
"""
    texts = [written_out(f.program, DIALECT, lambda k, f=f: _input(f, k)) for f in functions]
    if any("away" in text.called for text in texts):
        yield from (_AWAY, "")
    yield _GUARDS
    for function, text in zip(functions, texts, strict=True):
        given = ", ".join(group.name for group in function.inputs)
        if function.limits:
            names = [item.limit.label for item in function.limits]
            yield from (
                "/** What `which` counts. */",
                f"export const LIMITS = {json.dumps(names)};",
            )
            yield ""
        yield f"function {function.name}_law({given}) {{"
        yield from (f"  {line}" for line in text.statements)
        yield f"  return [{', '.join(text.outputs)}];"
        yield from ("}", "")
        yield from comment(described(function))
        yield f"export function {function.name}({given}) {{"
        margins = len(function.outputs[-1].ports)
        count = sum(len(group.ports) for group in function.outputs)
        usable = " && ".join(f"usable({g.name}, {len(g.ports)})" for g in function.inputs)
        yield f"  const good = {usable};"
        yield f"  const out = good ? {function.name}_law({given}) : nothing({count}, {margins});"
        yield f"  const status = good ? judged(out, {margins}) : BAD_INPUT;"
        first, parts = 0, ["status"]
        for group in function.outputs:
            last = first + len(group.ports)
            parts.append(f"{group.name}: out.slice({first}, {last})")
            if group.name == "use":
                yield f"  const which = status < BAD_INPUT ? largest(out, {first}, {last}) : -1;"
                yield f"  const worst = which < 0 ? 0 : out[{first} + which];"
                parts += ["worst", "which"]
            first = last
        yield f"  return {{ {', '.join(parts)} }};"
        yield from ("}", "")


def _input(function: Function, k: int) -> str:
    group, place = function.places[k]
    return f"{group.name}[{place}]"


_GUARDS = f"""\
/** Whether these are so many finite numbers, of a size that can be computed with. */
function usable(values, count) {{
  let good = values.length === count;
  for (const value of values) good = good && Math.abs(value) <= {LARGEST_INPUT!r};
  return good;
}}

/** No result: zeros, and margins of -1. */
function nothing(count, margins) {{
  return Array.from({{ length: count }}, (_, k) => (k < count - margins ? 0 : -1));
}}

/** The status of a result, whose margins stand last; what is not finite is replaced. */
function judged(out, margins) {{
  const first = out.length - margins;
  let status = OK;
  let lost = false;
  for (let k = 0; k < out.length; ++k) {{
    if (!(Math.abs(out[k]) <= {_LARGEST!r})) {{
      lost = true;
      out[k] = k < first ? 0 : -1;
    }}
    if (k >= first && out[k] < 0) status = OUT_OF_REACH;
  }}
  if (lost && status === OK) {{
    status = NO_RESULT;
    nothing(out.length, margins).forEach((value, k) => {{ out[k] = value; }});
  }}
  return status;
}}

/** Where the largest number stands. */
function largest(out, first, last) {{
  let place = first;
  for (let k = first + 1; k < last; ++k) if (out[k] > out[place]) place = k;
  return place - first;
}}
"""


def _types(functions: Sequence[Function], about: Sequence[str]) -> Iterator[str]:
    yield from comment(about)
    yield "export declare const INTERFACE: 1;"
    yield "export declare const OK: 0, OUT_OF_REACH: 1, BAD_INPUT: 2, NO_RESULT: 3;"
    yield "export type Status = 0 | 1 | 2 | 3;"
    yield "export type Numbers = ArrayLike<number> & Iterable<number>;"
    for function in functions:
        yield ""
        if function.limits:
            yield from comment(["What `which` counts.", *watched_limits(function)])
            yield "export declare const LIMITS: readonly string[];"
        yield from comment(described(function))
        yield f"export declare function {function.name}("
        yield from (f"  {group.name}: Numbers," for group in function.inputs)
        yield "): {"
        yield "  status: Status;"
        yield from (f"  {group.name}: number[];" for group in function.outputs)
        if function.limits:
            yield "  worst: number;"
            yield "  which: number;"
        yield "};"


def _golden(functions: Sequence[tuple[Function, Golden]]) -> Iterator[str]:
    yield "/** Golden vectors: values are compared where the status is 0. */"
    yield "export const golden = {"
    for function, vectors in functions:
        widths = [len(group.ports) for group in function.inputs]
        outputs = [[group.name, len(group.ports)] for group in function.outputs]
        outputs_inside = [
            row if inside else []
            for row, inside in zip(vectors.outputs.tolist(), vectors.inside, strict=True)
        ]
        parts = {
            "widths": widths,
            "outputs": outputs,
            "tolerance": (vectors.tolerance * vectors.scales).tolist(),
            "status": vectors.status,
        }
        yield f"  {function.name}: {{"
        yield from (f"    {key}: {json.dumps(value)}," for key, value in parts.items())
        for key, rows in (("given", vectors.inputs.tolist()), ("wanted", outputs_inside)):
            yield f"    {key}: ["
            yield from (f"      {json.dumps(row)}," for row in rows)
            yield "    ],"
        yield "  },"
    yield "};"


_SELFTEST = """\
// Self-test: `node selftest.mjs` ends with the exit code 0 if all golden vectors agree.
import * as code from "./ROBOT.mjs";
import { golden } from "./ROBOT_golden.mjs";

function call(name, row) {
  const vectors = [];
  let first = 0;
  for (const width of golden[name].widths) vectors.push(row.slice(first, (first += width)));
  const found = code[name](...vectors);
  return [found.status, golden[name].outputs.flatMap(([part]) => found[part])];
}

let failures = 0;
for (const [name, { given, wanted, tolerance, status }] of Object.entries(golden)) {
  const fails = (row, want, expected) => {
    const [found, values] = call(name, row);
    const finite = values.every(Number.isFinite);
    const near = expected !== code.OK
      || values.every((value, k) => Math.abs(value - want[k]) <= tolerance[k]);
    return !(found === expected && finite && near && values.length === tolerance.length);
  };
  given.forEach((row, k) => { failures += fails(row, wanted[k], status[k]); });
  for (const bad of [NaN, Infinity, -Infinity, 1e30]) {
    given[0].forEach((_, k) => {
      const row = given[0].map((value, place) => (place === k ? bad : value));
      failures += fails(row, [], code.BAD_INPUT);
    });
  }
}
if (failures > 0) throw new Error(`${failures} golden vectors fail`);
"""
