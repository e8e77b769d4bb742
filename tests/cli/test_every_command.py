"""Every command on every robot that ships: it answers, or says in one sentence why it cannot.

So it does on the robot of a user, whose architecture stands in one module and one file of
`examples/architectures`. `docs/commands.md` has the result as a table; `TRISKELE_WRITE=1` writes it
anew.
"""

import importlib.util
import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from triskele.description import catalogue, kinds
from triskele.description.load import load
from triskele.description.schema import Robot
from triskele.description.tables import write_table
from triskele.identification.synthetic import synthetic_log
from triskele.kinematics import build as building
from triskele.kinematics.build import build
from triskele.kinematics.cycles import joint_strokes
from triskele.kinematics.mechanism import AbstractMechanism

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "commands.md"
OWN = ROOT / "examples" / "architectures"  # a module and a robot file of each name
QUICK = ("five_bar", "agile_eye")  # the others are left to `make validate`
NEAR = 0.005  # of a way that is short, in loop lengths
HEAD = """# Which command does what for which robot

Made by a test that runs every command on every robot that ships, and on [a robot whose architecture
is a module of its own](guides/own-architecture.md), `agile_eye`. A dash stands for a sentence that
says why not; the sentences are below the table.

"""
REASONS = {
    "vibrate": r"links of Deltas|cross-section",
    "sense": r"links of Deltas|cross-section|rods|arms that bend",
    "encoders": r"links of Deltas|cross-section|rods|arms that bend",
    "rate": r"does not move along|reach|no bounds|limit",
    "plan": r"limit|bound",
    "modes": r"stiffness",
    "excite": r"forbids all motions",
    "bandwidth": r"'control'|motors|torque_constant",
}  # what the sentences speak of
NOTHING = r"has no '(bodies|sections\.rod)'"  # geometry alone
LOGS = {
    "identify": "log.csv",
    "friction": "strokes.csv",
    "sense": "encoders.csv",
}  # made by `excite`, `strokes` and `encoders`
WORDS = r"triskele: [^\n]+[.?]"


def text(values: np.ndarray) -> str:
    return ",".join(f"{value:.9g}" for value in values)


def commands(mechanism: AbstractMechanism) -> dict[str, list[str]]:
    """Arguments of each command, for a short way from home."""
    home = np.array([float(np.asarray(value)) for value in mechanism.home()])
    units = np.array([float(np.asarray(value)) for value in mechanism.scales().platform])
    end = home + NEAR * float(np.asarray(mechanism.scales().loops[0])) / units
    q = np.asarray(mechanism.inverse(tuple(end)).value)
    way = [f"--start={text(home)}", f"--end={text(end)}"]
    timed = ["--motion", "line", *way, "--duration", "0.2", "--rate"]
    motion, dense = [*timed, "100"], [*timed, "2000"]
    return {
        "check": [],
        "show": ["--out", "robot.png"],
        "ik": text(end).split(","),
        "fk": text(q).split(","),
        "workspace": ["--resolution", "8"],
        "motion": ["line", *way],
        "torques": motion,
        "reactions": motion,
        "simulate": ["--duration", "0.02", "--rate", "100"],
        "plan": ["--path", "line", *way, "--cells", "24"],
        "rate": ["--cells", "24"],
        "modes": [],
        "vibrate": dense,
        "bandwidth": [],
        "excite": ["--steps", "1", "--terms", "3", "--duration", "2", "--rate", "60",
                   "--log", "log.csv"],
        "identify": ["--log", "log.csv", "--no-check"],
        "friction": ["--log", "strokes.csv"],
        "encoders": [*dense, "--bits", "16", "--log", "encoders.csv"],
        "sense": ["--log", "encoders.csv"],
    }  # fmt: skip


@pytest.fixture
def known_for_a_while(monkeypatch):
    """Kinds that a test registers are forgotten after it."""
    monkeypatch.setattr(kinds, "_ADDED", dict(kinds._ADDED))
    monkeypatch.setattr(building, "_ADDED", set(building._ADDED))
    monkeypatch.setattr(building, "_BUILDERS", dict(building._BUILDERS))


def strokes(robot: Robot) -> None:
    """Write a log of the first joint that goes to and fro, if the robot has bodies."""
    if robot.bodies is None:
        return
    mechanism = build(robot)
    size = {"rad": 0.1, "m": 0.05 * float(np.asarray(mechanism.size))}
    way = size[mechanism.joint_coordinates[0].unit]
    speeds, push = (way, 2 * way), 100 * way
    motion = joint_strokes(mechanism, 0, speeds, stroke=way, acceleration=push, rate=200)
    write_table(synthetic_log(robot, motion), LOGS["friction"])


def own(name: str) -> str:
    """Import the module of a user's architecture, and copy his robot file here."""
    spec = importlib.util.spec_from_file_location(name, OWN / f"{name}.py")
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    return shutil.copy(OWN / f"{name}.toml", f"{name}.toml")


def cases() -> list:
    """All names, those that take long with their marks."""
    names = (*catalogue.names(), *(path.stem for path in sorted(OWN.glob("*.py"))))
    marks = pytest.mark.long, pytest.mark.slow
    return [pytest.param(n, marks=marks[:1] if n in QUICK else marks) for n in names]


@pytest.mark.parametrize("name", cases())
def test_every_command_answers_or_says_why_not(name, cli, known_for_a_while):
    file = name if name in catalogue.names() else own(name)
    cells, sentences = [], []
    strokes(load(file))
    for command, arguments in commands(build(load(file))).items():
        if command in LOGS and not Path(LOGS[command]).exists():
            cells.append("-")
            continue
        made = [] if "--out" in arguments else ["--json"]
        result = cli(command, file, *arguments, *made)
        if result.code == 0:
            cells.append("yes")
            assert not made or _finite(json.loads(result.out)), f"{command}: {result.out}"
            continue
        assert result.code == 2, f"{command}: {result.err}"
        sentence = result.err.strip()
        assert re.fullmatch(WORDS, sentence), f"{command}: {result.err}"
        assert re.search(f"{NOTHING}|{REASONS.get(command, NOTHING)}", sentence), (
            f"{command}: {sentence}"
        )
        cells.append("-")
        sentences.append(f"* `{command} {name}`: {sentence.removeprefix('triskele: ')}")
    row = f"| {name} | " + " | ".join(cells) + " |"
    if os.environ.get("TRISKELE_WRITE"):
        _write(name, row, sentences)
    page = PAGE.read_text(encoding="utf-8").splitlines()
    assert row in page
    assert {line for line in page if re.match(rf"\* `\w+ {name}`:", line)} == set(sentences)


def test_the_page_has_a_column_for_each_command_and_rows_of_robots_alone():
    page = PAGE.read_text(encoding="utf-8")
    word, *rows = re.findall(r"^\| ([a-z0-9]\w+) \|", page, re.MULTILINE)
    assert word == "robot" and rows == sorted(rows)
    assert {*QUICK} <= {*rows} <= {case.values[0] for case in cases()}
    asked = commands(build(load(catalogue.names()[0])))
    assert f"| robot | {' | '.join(asked)} |" in page


def _finite(found: object) -> bool:
    """Whether no number is missing that a command prints."""
    if isinstance(found, dict):
        return all(map(_finite, found.values()))
    if isinstance(found, list):
        return all(map(_finite, found))
    return not isinstance(found, float) or bool(np.isfinite(found))


def _write(name: str, row: str, sentences: list[str]) -> None:
    """Put the row and the sentences of one robot into the page."""
    old = PAGE.read_text(encoding="utf-8").splitlines() if PAGE.exists() else []
    keep = [line for line in old if name not in re.split(r"[ |`:]+", line)[:4]]
    rows = [line for line in keep if re.match(r"\| [a-z0-9_]+ \|", line) and "robot" not in line]
    notes = [line for line in keep if line.startswith("* ")]
    asked = list(commands(build(load(catalogue.names()[0]))))
    head = f"| robot | {' | '.join(asked)} |\n|{'---|' * (len(asked) + 1)}"
    body = [head, *sorted([*rows, row]), "", *sorted([*notes, *sentences])]
    PAGE.write_text(HEAD + "\n".join(body) + "\n", encoding="utf-8")
