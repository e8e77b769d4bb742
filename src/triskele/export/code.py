"""Laws of a robot as source code for a controller: one folder, ready to compile.

NAME.h, NAME.c        the functions; see `c.py`
NAME_golden.h         golden vectors, which `selftest.c` runs on the target
golden_FUNCTION.csv   the same as tables
README.md             how to compile, how large it is, and what the robot's file assumes
"""

import contextlib
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from triskele.description.files import check_writable, write_whole
from triskele.description.schema import Robot
from triskele.errors import InputError, MissingFact, did_you_mean
from triskele.export import c, javascript
from triskele.export.functions import WHAT, Function, functions
from triskele.export.golden import CLEAR, Golden, States, golden
from triskele.kinematics.build import build
from triskele.laws.drives import drives
from triskele.programs.elementary import expanded

TARGETS = ("c", "js")
REALS = tuple(c.REALS)
VECTORS = 24  #: golden vectors of each function inside the workspace
_WORST = 1e-2  # error of single precision, of the largest value, from which it is refused
_HAND = (
    "Generated code belongs to whoever generated it: use, change, sell and license it as you like. "
    "It comes without warranty, like triskele itself."
)


class Exported(NamedTuple):
    """What was written."""

    folder: Path
    files: tuple[str, ...]
    functions: tuple[tuple[Function, Golden], ...]
    left_out: tuple[tuple[str, str], ...]  #: functions the robot does not have, and why


def export_code(
    robot: Robot,
    folder: str | Path,
    target: Literal["c", "js"] = "c",
    what: Iterable[str] | None = None,
    *,
    real: Literal["double", "float"] = "double",
    force: bool = False,
) -> Exported:
    """Write the laws of `robot` into a `folder` as code; all that it has, if `what` names none.

    The folder is made, and must be empty unless `force` is given. Nothing is written unless all
    can be.
    """
    folder = Path(folder)
    if target not in TARGETS:
        raise InputError(f"There is no target '{target}'. {did_you_mean(target, TARGETS)}")
    if real not in REALS:
        raise InputError(f"There is no type '{real}'. {did_you_mean(real, REALS)}")
    if target == "js" and real != "double":
        raise InputError("JavaScript computes in double precision; leave --real out.")
    _check_folder(folder, force)
    chosen, left_out = _chosen(robot, what, c.REALS[real].kind)
    about = _about(robot)
    if target == "js":
        texts = javascript.files(robot.name, chosen, about)
    else:
        texts = c.files(robot.name, chosen, about, real)
    texts |= {f"golden_{f.name}.csv": _csv(f, g) for f, g in chosen}
    texts["README.md"] = "\n".join(_readme(robot, chosen, left_out, target, real)) + "\n"
    _write(folder, texts)
    return Exported(folder, tuple(texts), chosen, left_out)


def _chosen(
    robot: Robot, what: Iterable[str] | None, kind: type[np.floating]
) -> tuple[tuple[tuple[Function, Golden], ...], tuple[tuple[str, str], ...]]:
    """Functions with their golden vectors; those that are not named may be left out."""
    names = WHAT if what is None else tuple(dict.fromkeys(what))
    if not names:
        raise InputError(f"No function is named to export; there are {', '.join(WHAT)}.")
    states, found, left_out = States(build(robot), least=CLEAR), [], []
    for name in names:
        try:
            (function,) = functions(robot, [name])
            vectors = golden(function, states, VECTORS, kind)
            if vectors.error > _WORST:
                raise InputError(
                    f"'{name}' of {robot.name} is wrong in single precision, by "
                    f"{vectors.error:.2g} of the largest value; export it in double precision."
                )
        except (InputError, MissingFact) as error:
            if what is not None:
                raise
            left_out.append((name, str(error)))
        else:
            found.append((function, vectors))
    return tuple(found), tuple(left_out)


# The folder


def _check_folder(folder: Path, force: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; name a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise InputError(f"{folder}: is not empty; name another folder, or give --force.")
    check_writable(folder / "README.md" if folder.is_dir() else folder)


def _write(folder: Path, texts: dict[str, str]) -> None:
    """All files, in a folder that appears when it is whole; over others one by one."""
    if folder.is_dir():
        for name, text in texts.items():
            write_whole(folder / name, text)
        return
    unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        for name, text in texts.items():
            write_whole(unfinished / name, text)
        unfinished.chmod(0o755)
        unfinished.rename(folder)
    except BaseException:
        with contextlib.suppress(OSError):
            shutil.rmtree(unfinished)
        raise


# What it says


def _about(robot: Robot) -> list[str]:
    """What the code was made of: heads of files."""
    lines = [
        f"{robot.title} ({robot.name})",
        "",
        f"Made by triskele {version('triskele')} of {Path(robot.place).name}; do not edit.",
        _HAND[: _HAND.index(":")] + ".",
        "",
        "SI units: m, rad, s, kg, N, N m. Frames and signs are those of triskele.",
        "",
        "Joints and what the file allows:",
    ]
    for drive in drives(robot, build(robot)):
        name, unit = drive.coordinate
        parts = []
        if drive.range is not None:
            parts.append(f"{drive.range[0]:.6g} to {drive.range[1]:.6g} {unit}")
        if drive.speed is not None:
            parts.append(f"{drive.speed:.6g} {unit}/s")
        if drive.peak_effort is not None:
            parts.append(f"{drive.peak_effort:.6g} {drive.effort_unit}")
        lines.append(f"    {name} [{unit}]: {', '.join(parts) or 'nothing stated'}")
    assumed = robot.assumptions()
    if assumed:
        lines += ["", "Assumed, nobody vouches for these numbers:"]
        lines += [f"    {fact.key} = {fact.text} ({_short(fact.reason)})" for fact in assumed]
    return lines


def _short(reason: str) -> str:
    plain = reason.removeprefix("assumed:").strip()
    return plain if len(plain) < 90 else plain[:87] + "..."


def _csv(function: Function, vectors: Golden) -> str:
    """Inputs, outputs and status; outputs out of reach are empty."""
    ports = [
        port for groups in (function.inputs, function.outputs) for g in groups for port in g.ports
    ]
    lines = [",".join([*map(str, ports), "status"])]
    rows = zip(vectors.inputs.tolist(), vectors.outputs.tolist(), vectors.status, strict=True)
    for given, found, status in rows:
        shown = [repr(value) if status == 0 else "" for value in found]
        lines.append(",".join([*map(repr, given), *shown, str(status)]))
    return "\n".join(lines) + "\n"


def _readme(
    robot: Robot,
    chosen: Sequence[tuple[Function, Golden]],
    left_out: Sequence[tuple[str, str]],
    target: str,
    real: str,
) -> Iterator[str]:
    yield f"# {robot.title}: code for a controller"
    yield ""
    yield from (
        f"Made by triskele {version('triskele')} of `{Path(robot.place).name}`. {_HAND}",
        "",
    )
    yield from _javascript_use(robot.name) if target == "js" else _c_use(robot.name, real)
    yield "| function | inputs | outputs | operations | divisions | roots | constants | error |"
    yield "|---|---|---|---|---|---|---|---|"
    for function, vectors in chosen:
        program = expanded(function.program)
        counts = program.counts()
        constants = sum(node.op == "const" for node in program.nodes)
        cells = (
            f"`{function.name}`", len(program.inputs), len(program.outputs), len(program),
            counts.get("recip", 0), counts.get("sqrt", 0), constants, f"{vectors.error:.1e}",
        )  # fmt: skip
        yield f"| {' | '.join(map(str, cells))} |"
    yield ""
    yield (
        "The error is that of single operations in this type, measured on the golden vectors, as a "
        "part of the largest value of each output."
    )
    if left_out:
        yield ""
        yield "Left out:"
        yield ""
        yield from (f"* `{missing}`: {why}" for missing, why in left_out)


def _javascript_use(name: str) -> Iterator[str]:
    yield from ("```", "node selftest.mjs", "```", "")
    yield "ends with the exit code 0 if all golden vectors agree. In a page or in node:"
    yield from ("", "```")
    yield f'import {{ inverse }} from "./{name}.mjs";'
    yield from ("```", "")


def _c_use(name: str, real: str) -> Iterator[str]:
    yield "```"
    yield f"gcc -std=c99 -O2 -D{name.upper()}_SELFTEST_MAIN {name}.c selftest.c -lm -o selftest"
    yield "./selftest"
    yield "```"
    yield ""
    yield "ends with the exit code 0 if all golden vectors agree. For CMake:"
    yield ""
    yield "```"
    yield f"add_library({name} STATIC {name}.c)"
    yield "```"
    yield ""
    yield f"Numbers are `{real}`. Compilers must not be told to relax arithmetic (`-ffast-math`)."
    yield ""
