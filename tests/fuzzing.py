"""Bad input by the hundred thousand: files, tables and option lists, made from a seed.

    python tests/fuzzing.py --count 100000 --seed 1 --subprocesses 200

Each case is made from its own number, so that one that failed can be run again with `--only`. A
case fails if it ends in anything but a result or a sentence, takes over ten seconds of processor
time, or has NaN in what it prints. Cases run in this process; `--subprocesses` of them run again as
commands of their own.
"""

import argparse
import contextlib
import io
import json
import math
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from nonsense import sources

SLOW = 10.0  #: seconds of processor time
VALUES = [
    *("nan", "inf", "-inf", "-1", "0", "1e999", "1e300", "-1e300", "1e-300", "9" * 400, "true"),
    *("[]", "{}", '""', '"nan m"', '"inf m"', '"-370 mm"', '"1e-999 mm"', '"5 parsec"', "[[1]]"),
    *("'delta'", "1979-05-27", "{ value = nan, unit = 'm' }", "{ value = [], unit = 'mm' }"),
    *("{ value = [1e300, 0, 0], unit = 'm' }", "[" * 60 + "]" * 60, "'" + "x" * 5000 + "'"),
    *(
        "{ value = 1, unit = 'kg' }",
        "{ value = [1, 2, 3, 4, 5, 6, 7], unit = 'm' }",
        "[1, 'x', {}]",
    ),
]
WORDS = [
    *("nan", "inf", "-inf", "-1", "0", "1e999", "1e300", "-1e-300", "9" * 400, "", " ", "-", "--"),
    *(
        "10 parsec",
        "5kg",
        "3 m",
        "1,2,3",
        "1,,2",
        "a=b",
        "a=nan",
        "\x00",
        "é",
        "../..",
        "/dev/null",
    ),
    *("x" * 3000, "none.toml", "none.csv", "0x10", "1e", "+", "[1]", "{}", "%s", "0,0,0", "1:2:3"),
]
#: Commands whose work is short whatever they are given; the others get a mistake at least.
QUICK = ("robots", "show", "check", "init", "schema", "ik", "fk", "motion")
ROBOTS = ("abb_irb360_1130", "omron_mini_delta", "compliant_3prs", "no_such_robot", "mine.toml")


class Case(NamedTuple):
    """What is typed, or read, and the file beside it."""

    kind: str  #: file, table or options
    arguments: tuple[str, ...]  #: of the command line
    name: str  #: of the file
    content: bytes


class Failure(NamedTuple):
    """A case that ended badly."""

    number: int
    case: Case
    why: str


def case(number: int, seed: int) -> Case:
    """The case of that number."""
    draw = random.Random(f"{seed} {number}")
    kind = draw.choices(("file", "table", "options"), (5, 3, 2))[0]
    if kind == "file":
        text = bad_file(draw)
        return Case(kind, ("check", "mine.toml", "--json"), "mine.toml", text)
    if kind == "table":
        return Case(kind, ("ik", ROBOTS[0], "--from", "mine.csv"), "mine.csv", bad_table(draw))
    return Case(kind, tuple(bad_options(draw)), "mine.toml", bad_file(draw))


# What is bad


_TEXTS = [text for _, text in sorted(sources().items())]
_WEIGHTS = [0.1 if '"limbs"' in text else 1.0 for text in _TEXTS]  # limbs take ten times as long
_ASSIGNED = re.compile(r"(?m)^([\w.]+\s*=\s*)(.*)$")
_NUMBER = re.compile(r"(?<![\w.])-?\d+\.?\d*(?:[eE][-+]?\d+)?")


def bad_file(draw: random.Random) -> bytes:
    """A robot or mechanism file with one to four mistakes."""
    text = draw.choices(_TEXTS, _WEIGHTS)[0]
    for _ in range(draw.choice((1, 1, 2, 4))):
        text = draw.choice(_CHANGES)(text, draw)
    data = text.encode("utf-8", "replace")
    return _bytes_changed(data, draw) if draw.random() < 0.05 else data


def _value(text: str, draw: random.Random) -> str:
    found = draw.choice(list(_ASSIGNED.finditer(text)) or [None])
    if found is None:
        return text + "\nx = " + draw.choice(VALUES)
    return text[: found.start(2)] + draw.choice(VALUES) + text[found.end(2) :]


def _size(text: str, draw: random.Random) -> str:
    found = draw.choice(list(_NUMBER.finditer(text)) or [None])
    if found is None:
        return text
    scaled = float(found[0]) * draw.choice((-1, 1, 1, 1)) * 10.0 ** draw.uniform(-12, 12)
    return f"{text[: found.start()]}{scaled:.6g}{text[found.end() :]}"


def _line_lost(text: str, draw: random.Random) -> str:
    lines = text.split("\n")
    del lines[draw.randrange(len(lines))]
    return "\n".join(lines)


def _line_moved(text: str, draw: random.Random) -> str:
    lines = text.split("\n")
    lines.insert(draw.randrange(len(lines) + 1), draw.choice(lines))
    return "\n".join(lines)


def _key(text: str, draw: random.Random) -> str:
    found = draw.choice(list(re.finditer(r"(?m)^\[*[\w.]+", text)) or [None])
    if found is None:
        return text
    wrong = draw.choice((found[0] + "x", found[0][:-1], found[0] * 3, "a." * 30 + "a", "é", '"'))
    return text[: found.start()] + wrong + text[found.end() :]


def _exchanged(text: str, draw: random.Random) -> str:
    found = list(_ASSIGNED.finditer(text))
    if len(found) < 2:
        return text
    a, b = sorted(draw.sample(found, 2), key=lambda item: item.start())
    between = text[a.end(2) : b.start(2)]
    return text[: a.start(2)] + b[2] + between + a[2] + text[b.end(2) :]


def _cut(text: str, draw: random.Random) -> str:
    return text[: draw.randrange(len(text) + 1)]


_CHANGES = (_value, _value, _size, _size, _size, _line_lost, _line_moved, _key, _exchanged, _cut)


def _bytes_changed(data: bytes, draw: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(draw.randrange(1, 20)):
        changed[draw.randrange(len(changed) or 1) : 0] = bytes([draw.randrange(256)])
    return bytes(changed)


def bad_table(draw: random.Random) -> bytes:
    """A table of poses with mistakes in its header, its cells or its bytes."""
    units = draw.choice((("m", "m", "m"), ("mm", "m", "in"), ("kg", "m", "m"), ("", "1", "deg")))
    names = draw.choice((("x", "y", "z"), ("x", "x", "z"), ("t", "x", "y"), ("", "#", '"')))
    header = [f"{name} [{unit}]" for name, unit in zip(names, units, strict=True)]
    rows = [[f"{draw.uniform(-1, 1):.4f}" for _ in names] for _ in range(draw.randrange(6))]
    for row in rows:
        if draw.random() < 0.4:
            row[draw.randrange(len(row))] = draw.choice(WORDS)
        if draw.random() < 0.1:
            row.append("1")
    mark = draw.choice((",", ",", ",", ";", "\t", " "))
    lines = [mark.join(header), *(mark.join(row) for row in rows)]
    draw.shuffle(lines) if draw.random() < 0.1 else None
    data = draw.choice(("\n", "\r\n", "\n\n")).join(lines).encode("utf-8", "replace")
    return _bytes_changed(data, draw) if data and draw.random() < 0.2 else data


def bad_options(draw: random.Random) -> Iterator[str]:
    """A command with options, of which some are nonsense."""
    name = draw.choice(sorted(_options()))
    options = _options()[name]
    yield name
    for _ in range(draw.choice((0, 1, 1, 1, 2, 5))):
        yield draw.choice((*ROBOTS, *WORDS))
    wrong = draw.sample(options, min(len(options), draw.randrange(1, 4))) if options else []
    for option in wrong:
        yield option if draw.random() < 0.9 else option[:-1]
        if draw.random() < 0.95:
            yield draw.choice(WORDS)
    if name not in QUICK:
        yield "--no-such-option"


def _options() -> dict[str, list[str]]:
    """Options of each command, by its name."""
    if not _OPTIONS:
        import typer

        from triskele.cli.app import app

        group = typer.main.get_command(app)
        for name, command in group.commands.items():  # pyright: ignore[reportAttributeAccessIssue]
            known = [option for item in command.params for option in item.opts]
            taken = {"--force", "--open", "--help"}
            _OPTIONS[name] = sorted(o for o in known if o.startswith("--") and o not in taken)
    return _OPTIONS


_OPTIONS: dict[str, list[str]] = {}

# What becomes of it


def judged(number: int, made: Case) -> Failure | None:
    """Run a case in this process and folder; None if it ends as it should."""
    began = time.process_time()
    out, err = io.StringIO(), io.StringIO()
    signal.signal(signal.SIGVTALRM, _too_slow)
    signal.setitimer(signal.ITIMER_VIRTUAL, SLOW)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = _run(made)
    except TimeoutError:
        return Failure(number, made, f"takes more than {SLOW:g} s")
    except BaseException as error:
        return Failure(number, made, f"{type(error).__name__}: {str(error)[:300]}")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    if time.process_time() - began > SLOW:
        return Failure(number, made, f"takes {time.process_time() - began:.0f} s")
    why = _badly_ended(code, out.getvalue(), err.getvalue())
    return None if why is None else Failure(number, made, why)


def _too_slow(*_: object) -> None:
    raise TimeoutError


def _run(made: Case) -> int:
    """What the command would do; files and tables without the detour over the command line."""
    from triskele.errors import TriskeleError

    Path(made.name).write_bytes(made.content)
    if made.kind == "options":
        from triskele.cli import main

        return main(list(made.arguments))
    try:
        _read(made)
    except TriskeleError as error:
        sys.stderr.write(str(error))
        return 2
    return 0


def _read(made: Case) -> None:
    from triskele.description.load import load_any
    from triskele.description.mechanism import Mechanism
    from triskele.description.tables import read_table
    from triskele.doctor.mechanisms import mechanism_remarks
    from triskele.reports.datasheet import datasheet

    if made.kind == "table":
        table = read_table(Path(made.name))
        assert all(math.isfinite(v) for name in table.names for v in table[name].values)
        return
    described = load_any(Path(made.name))
    if isinstance(described, Mechanism):
        print("\n".join(mechanism_remarks(described)))
    else:
        print(json.dumps(datasheet(described).as_json(), allow_nan=False))


def _badly_ended(code: int, out: str, err: str) -> str | None:
    """What is wrong with how a command ended; None if nothing is."""
    if code not in (0, 1, 2):
        return f"exit code {code}"
    if "Traceback" in err:
        return f"a traceback: {err.strip().splitlines()[-1][:300]}"
    if code == 2 and not err.strip():
        return "no sentence"
    if re.search(r"(?<![\w'])-?(NaN|Infinity)\b", out) or re.search(r"[ :]nan[ ,\n]", out):
        return f"NaN in what is printed: {out[:200]}"
    longest = max(map(len, err.splitlines()), default=0)
    return f"a sentence of {longest} characters" if longest > 2500 else None


def as_command(number: int, made: Case) -> Failure | None:
    """Run a case as a command of its own."""
    if any("\0" in argument for argument in made.arguments):
        return None  # no shell can pass it
    Path(made.name).write_bytes(made.content)
    command = [sys.executable, "-m", "triskele", *made.arguments]
    usage = os.times().children_user
    try:
        ended = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=60 * SLOW,
            check=False,
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return Failure(number, made, f"takes more than {60 * SLOW:g} s")
    if os.times().children_user - usage > SLOW:
        return Failure(number, made, f"takes {os.times().children_user - usage:.0f} s")
    why = _badly_ended(ended.returncode, ended.stdout, ended.stderr)
    return None if why is None else Failure(number, made, why)


def fuzzed(numbers: range, seed: int, *, subprocesses: int = 0) -> tuple[Counter, list[Failure]]:
    """How many cases of each kind were run, in an empty folder, and those that failed."""
    counted: Counter = Counter()
    failures, here = [], Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for number in numbers:
                made = case(number, seed)
                counted[made.kind] += 1
                failures.append(judged(number, made))
            for number in numbers[: len(numbers) and subprocesses]:
                counted["as commands"] += 1
                failures.append(as_command(number, case(number, seed)))
        finally:
            os.chdir(here)
    return counted, [failure for failure in failures if failure is not None]


def main() -> int:
    """Run cases, report every thousand, and end with 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--subprocesses", type=int, default=0)
    parser.add_argument("--only", type=int, help="run one case, and show it")
    given = parser.parse_args()
    if given.only is not None:
        print(made := case(given.only, given.seed))
        Path(made.name).write_bytes(made.content)
        print(fuzzed(range(given.only, given.only + 1), given.seed)[1])
        return 0
    whole, failed, began = Counter(), 0, time.monotonic()
    for first in range(given.first, given.first + given.count, 1000):
        numbers = range(first, min(first + 1000, given.first + given.count))
        some = given.subprocesses if first == given.first else 0
        counted, failures = fuzzed(numbers, given.seed, subprocesses=some)
        whole, failed = whole + counted, failed + len(failures)
        for failure in failures:
            print(f"{failure.number} {failure.case.kind} {failure.case.arguments}: {failure.why}")
        took, done = time.monotonic() - began, numbers.stop - given.first
        print(f"{done} cases, {failed} failed, {took:.0f} s: {dict(whole)}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
