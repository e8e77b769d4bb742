"""Exported functions as C99: a header, one source file, golden vectors and a self-test.

The code allocates nothing, has no variables outside its functions, and calls of the mathematical
library only `sqrt` and `fabs`. Statements are of one operation each, conversions are written out,
functions have one exit. Numbers that are too large or not finite are refused before any is used;
what is computed is checked before it is given.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from string import Template
from typing import NamedTuple

import numpy as np

from triskele.export import c_parts
from triskele.export.functions import Function
from triskele.export.golden import Golden
from triskele.programs.program import Type
from triskele.programs.source import INFIX, Dialect, written_out

LARGEST_INPUT = 1e6  #: in SI units; angles are reduced exactly up to here


class Real(NamedTuple):
    """A floating-point type of C."""

    kind: type[np.floating]
    suffix: str
    call: str  #: what `sqrt` and `fabs` end in
    whole: str  #: an integer type that holds all that is rounded
    no_fraction: float  #: numbers from here on are whole
    tiny: float  #: divisors are kept so far from zero
    largest: float  #: results beyond are none

    @property
    def name(self) -> str:
        """The type's name."""
        return "double" if self.kind is np.float64 else "float"


REALS = {
    "double": Real(np.float64, "", "", "int64_t", 2.0**52, 1e-290, 1e290),
    "float": Real(np.float32, "F", "f", "int32_t", 2.0**23, 1e-36, 1e36),
}


def _filled(text: str, real: Real, **more: str) -> str:
    """A text of `c_parts.py` for numbers of this type."""
    number = _number(real)
    return Template(text).substitute(
        f=real.suffix,
        call=real.call,
        whole=real.whole,
        tiny=number(real.tiny),
        no_fraction=number(real.no_fraction),
        largest=number(real.largest),
        largest_input=number(LARGEST_INPUT),
        **more,
    )


def _number(real: Real) -> Callable[[float], str]:
    """Constants of a type; what it cannot hold becomes the nearest that it can."""

    def text(value: float) -> str:
        most = float(np.finfo(real.kind).max)
        least = float(np.finfo(real.kind).tiny)
        held = min(max(value, -most), most)
        if held != 0.0 and abs(held) < least:
            held = math.copysign(least, held)
        return _shortest(real, held) + real.suffix

    return text


def _shortest(real: Real, value: float) -> str:
    """The shortest decimal number that is read as `value` in this type."""
    found = str(real.kind(value)) if real.kind is np.float32 else repr(value)
    return found if "." in found or "e" in found else f"{found}.0"


def _statement(kind: Type, name: str, value: str) -> str:
    return f"const {'bool' if kind == 'truth' else 'REAL'} {name} = {value};"


def dialect(real: Real) -> Dialect:
    """C with numbers of this type."""
    functions = {name: _filled(text, real) for name, text in c_parts.FUNCTIONS.items()}
    forms = INFIX | {
        "abs": f"fabs{real.call}({{}})",
        "sqrt": f"sqrt{real.call}({{}})",
        "recip": f"1.0{real.suffix} / away({{}})",
        "quotient": "{} / away({})",
        "floor": "whole_below({})",
        "round": "nearest({})",
        "pow2": "power_of_two({})",
        "min": "({0} < {1}) ? {0} : {1}",
        "max": "({0} > {1}) ? {0} : {1}",
    }
    return Dialect(forms, _number(real), ("false", "true"), _statement, functions)


class Names(NamedTuple):
    """How things are called."""

    robot: str  #: prefix of all that others see

    @property
    def macro(self) -> str:
        """Prefix of constants."""
        return self.robot.upper()

    def limit(self, name: str) -> str:
        """The constant of a limit."""
        return f"{self.macro}_LIMIT_{''.join(c if c.isalnum() else '_' for c in name).upper()}"


def comment(lines: Iterable[str]) -> list[str]:
    """A comment of these lines, of ASCII and without what would end it."""
    clean = [line[: len(line) - len(line.lstrip())] + _plain(line) for line in lines]
    return ["/*", *(f" * {line}".rstrip() for line in clean), " */"]


def _plain(text: str) -> str:
    """One line of ASCII in which no comment begins or ends."""
    line = " ".join(text.split()).encode("ascii", "replace").decode()
    return line.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?").rstrip("\\")


def files(
    robot: str, functions: Sequence[tuple[Function, Golden]], about: Sequence[str], kind: str
) -> dict[str, str]:
    """The text of each file; `about` says what the code was made of."""
    names, real = Names(robot), REALS[kind]
    return {
        f"{robot}.h": "\n".join(_header(names, real, [f for f, _ in functions], about)) + "\n",
        f"{robot}.c": "\n".join(_source(names, real, [f for f, _ in functions])) + "\n",
        f"{robot}_golden.h": "\n".join(_golden(names, real, functions)) + "\n",
        "selftest.c": "\n".join(_selftest(names, real, functions)) + "\n",
    }


def _signature(names: Names, function: Function) -> str:
    real = f"{names.robot}_real"
    groups = [f"const {real} {group.name}[{len(group.ports)}]" for group in function.inputs]
    groups += [f"{real} {group.name}[{len(group.ports)}]" for group in function.outputs]
    if function.limits:
        groups += [f"{real} *worst", "int32_t *which"]
    joined = ",\n    ".join(groups)
    return f"int32_t {names.robot}_{function.name}(\n    {joined})"


def _header(
    names: Names, real: Real, functions: Sequence[Function], about: Sequence[str]
) -> Iterator[str]:
    M = names.macro
    yield from comment(about)
    yield from (f"#ifndef {M}_H", f"#define {M}_H", "", "#include <stdint.h>", "")
    yield from ("#ifdef __cplusplus", 'extern "C" {', "#endif", "")
    yield from comment(
        ["Version of this interface: it changes when a call of these functions must."]
    )
    yield from (f"#define {M}_INTERFACE 1", "", f"typedef {real.name} {names.robot}_real;", "")
    yield from comment([
        "What functions return. Outputs are finite whatever goes in: out of reach those of the",
        "border of the workspace, and without a result zero, with margins of -1.",
    ])  # fmt: skip
    yield f"#define {M}_OK 0"
    yield f"#define {M}_OUT_OF_REACH 1 /* a margin is negative */"
    yield f"#define {M}_BAD_INPUT 2 /* an input is not finite, or its size is above 1e6 */"
    yield f"#define {M}_NO_RESULT 3 /* what was computed is not finite */"
    yield ""
    for function in functions:
        if function.limits:
            yield from comment(
                ["Limits, as `which` names them; -1 is none.", *watched_limits(function)]
            )
            for k, item in enumerate(function.limits):
                yield f"#define {names.limit(item.limit.label)} {k}"
            yield f"#define {M}_LIMITS {len(function.limits)}"
            yield ""
    for function in functions:
        yield from comment(described(function))
        yield f"{_signature(names, function)};"
        yield ""
    yield from ("#ifdef __cplusplus", "}", "#endif", "", "#endif")


def watched_limits(function: Function) -> Iterator[str]:
    """A line for each limit of a monitor."""
    for k, (limit, _, below) in enumerate(function.limits):
        if isinstance(limit.allowed, tuple):
            least, most = limit.allowed
            allowed = f"{least:.6g} to {most:.6g} {limit.unit}"
        elif below:
            allowed = f"at least {limit.most:.6g}"
        else:
            allowed = f"at most {limit.most:.6g} {limit.unit} in size"
        yield f"{k:4d}  {limit.label}: {allowed}"


def described(function: Function) -> Iterator[str]:
    """What a function does, and what goes in and out."""
    yield function.about
    yield ""
    for word, groups in (("in", function.inputs), ("out", function.outputs)):
        for group in groups:
            yield f"{word:>4}  {group.name}: {group.about}"
            ports = ", ".join(str(port) for port in group.ports)
            yield from (f"        {part}" for part in _wrapped(ports, 86))
    if function.limits:
        yield " out  worst: the largest use; which: of which limit"


def _wrapped(text: str, width: int) -> Iterator[str]:
    line = ""
    for part in text.split(", "):
        longer = f"{line}, {part}" if line else part
        if len(longer) > width:
            yield f"{line},"
            longer = part
        line = longer
    yield line


def _source(names: Names, real: Real, functions: Sequence[Function]) -> Iterator[str]:
    words = dialect(real)
    texts = [written_out(f.program, words, lambda k, f=f: _input(f, k)) for f in functions]
    called = {name for text in texts for name in text.called}
    yield f'#include "{names.robot}.h"'
    yield ""
    yield from ("#include <math.h>", "#include <stdbool.h>", "")
    yield f"typedef {names.robot}_real REAL;"
    yield ""
    for name, body in words.functions.items():
        if name in called:
            yield from (body, "")
    yield _filled(c_parts.GUARDS, real, macro=names.macro)
    if any(function.limits for function in functions):
        yield c_parts.LARGEST
    for function, text in zip(functions, texts, strict=True):
        groups = [f"const REAL {group.name}[{len(group.ports)}]" for group in function.inputs]
        yield f"static void {function.name}_law("
        yield f"    {', '.join(groups)}, REAL out[{len(text.outputs)}])"
        yield "{"
        yield from (f"    {line}" for line in text.statements)
        read = {function.places[k][0].name for k in text.inputs}
        yield from (f"    (void){g.name};" for g in function.inputs if g.name not in read)
        yield from (f"    out[{k}] = {value};" for k, value in enumerate(text.outputs))
        yield from ("}", "")
        yield from _wrapper(names, function, len(text.outputs))


def _input(function: Function, k: int) -> str:
    group, place = function.places[k]
    first = next(i for i, (other, _) in enumerate(function.places) if other is group)
    assert k - first == place
    return f"{group.name}[{place}]"


def _wrapper(names: Names, function: Function, count: int) -> Iterator[str]:
    M = names.macro
    margins = len(function.outputs[-1].ports)
    checks = " && ".join(f"usable({g.name}, {len(g.ports)})" for g in function.inputs)
    given = ", ".join(group.name for group in function.inputs)
    yield _signature(names, function)
    yield f"""\
{{
    REAL out[{count}];
    int32_t status = {M}_BAD_INPUT;

    if ({checks})
    {{
        {function.name}_law({given}, out);
        status = judged(out, {count}, {margins});
    }}
    else
    {{
        nothing(out, {count}, {margins});
    }}"""
    first, uses = 0, 0
    for group in function.outputs:
        uses = first if group.name == "use" else uses
        yield f"    copied(&out[{first}], {group.name}, {len(group.ports)});"
        first += len(group.ports)
    if function.limits:
        yield f"""\
    *which = largest(&out[{uses}], {M}_LIMITS);
    *worst = out[{uses} + *which];
    if ((status == {M}_BAD_INPUT) || (status == {M}_NO_RESULT))
    {{
        *which = -1;
    }}"""
    yield from ("    return status;", "}", "")


def _golden(
    names: Names, real: Real, functions: Sequence[tuple[Function, Golden]]
) -> Iterator[str]:
    number = _number(real)
    yield from comment([
        f"Golden vectors of {names.robot}: inputs, what the library gives, and the status.",
        "Values are compared where the status is 0, each to the tolerance of its output.",
    ])  # fmt: skip
    yield f'#include "{names.robot}.h"'
    yield ""
    for function, golden in functions:
        name = function.name
        yield f"#define {names.macro}_{name.upper()}_VECTORS {len(golden.inputs)}"
        for part, rows in (("in", golden.inputs), ("out", golden.outputs)):
            shown = rows if part == "in" else np.where(golden.inside[:, None], rows, 0.0)
            sizes = f"[{len(rows)}][{rows.shape[1]}]"
            yield f"static const {names.robot}_real {name}_{part}{sizes} = {{"
            for row in shown.tolist():
                yield f"    {{{', '.join(map(number, row))}}},"
            yield "};"
        yield f"static const {names.robot}_real {name}_tolerance[{len(golden.scales)}] = {{"
        yield f"    {', '.join(map(number, (golden.tolerance * golden.scales).tolist()))}"
        yield "};"
        yield f"static const int32_t {name}_status[{len(golden.inputs)}] = {{"
        yield f"    {', '.join(map(str, golden.status))}"
        yield "};"
        yield ""


def _selftest(
    names: Names, real: Real, functions: Sequence[tuple[Function, Golden]]
) -> Iterator[str]:
    yield from comment([
        "Self-test on the target: returns how many golden vectors fail; 0 is right.",
        "It needs no operating system. `report`, if it is not null, is called for each failure.",
        f"With {names.macro}_SELFTEST_MAIN defined, `main` runs it.",
    ])  # fmt: skip
    yield from (f'#include "{names.robot}_golden.h"', "")
    yield _filled(c_parts.COMPARED, real, robot=names.robot)
    for function, golden in functions:
        yield from _test(names, real, function, golden)
    yield f"int32_t {names.robot}_selftest({names.robot}_report report)"
    yield from ("{", "    int32_t failures = 0;")
    yield from (f"    failures += test_{function.name}(report);" for function, _ in functions)
    yield from ("    return failures;", "}", "")
    yield _filled(c_parts.MAIN, real, robot=names.robot, macro=names.macro)


def _test(names: Names, real: Real, function: Function, golden: Golden) -> Iterator[str]:
    name, R, count = function.name, f"{names.robot}_real", len(golden.inputs)
    places, arguments = 0, []
    for group in function.inputs:
        arguments.append(f"&in[{places}]")
        places += len(group.ports)
    first = 0
    for group in function.outputs:
        arguments.append(f"&out[{first}]")
        first += len(group.ports)
    more = []
    if function.limits:
        arguments += ["&worst", "&which"]
        more = [f"    {R} worst = 0.0{real.suffix};", "    int32_t which = 0;"]
    call = f"{names.robot}_{name}({', '.join(arguments)})"
    declared = "\n".join(["", *more]) if more else ""
    yield f"""\
static int32_t test_{name}({names.robot}_report report)
{{
    int32_t failures = 0;
    {R} in[{places}];
    {R} out[{first}];{declared}
    for (int32_t i = 0; i < ({count} + {places}); ++i)
    {{
        const int32_t vector = (i < {count}) ? i : 0;
        int32_t wanted = {name}_status[vector];
        int32_t bad = 0;
        for (int32_t k = 0; k < {places}; ++k)
        {{
            in[k] = {name}_in[vector][k];
        }}
        if (i >= {count}) /* one input after the other is spoilt */
        {{
            in[i - {count}] = 1.0e30{real.suffix};
            wanted = {names.macro}_BAD_INPUT;
        }}
        bad = ({call} == wanted) ? 0 : 1;
        bad += failed(out, {name}_out[vector], {name}_tolerance, {first},
            (wanted == {names.macro}_OK) ? 1 : 0);
        if (bad != 0)
        {{
            failures += 1;
            if (report != NULL)
            {{
                report("{name}", i);
            }}
        }}
    }}
    return failures;
}}
"""
