"""What the documentation shows is what happens: blocks run, outputs agree, links resolve."""

import ast
import contextlib
import doctest
import importlib.util
import inspect
import io
import itertools
import os
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer
from shipped import SHIPPED

import triskele
from triskele.cli import main
from triskele.cli.app import app
from triskele.description import catalogue, schema
from triskele.description.limbs import LimbsRobot

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
RUN = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]  # pages whose blocks are run
ALL = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SKIPPED = {
    "make": "sets up an environment; here only the target must exist",
    ".": "activates an environment, which the test already has",
    "export": "sets variables of a shell; the page has imported the module itself",
}
LONG = (
    "control.md",
    "identification.md",
    "multibody.md",
    "planning.md",
    "sensing.md",
    "simulation.md",
    "tutorial.md",
    "vibration.md",
)  # their commands compile for a minute


def weighed(page: Path) -> Any:
    """`page`, left to `make validate-quick` if it takes long."""
    return pytest.param(page, marks=pytest.mark.long) if page.name in LONG else page


pages = pytest.mark.parametrize("page", ALL, ids=lambda page: str(page.relative_to(ROOT)))


class Block(NamedTuple):
    """A fenced block of a page."""

    kind: str
    text: str
    line: int


class Shown(NamedTuple):
    """What was run, what the page says it prints, and what it printed."""

    source: str
    want: str | None
    got: str


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of `page`, in order; those of Sphinx directives are no blocks."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(match[1], match[2], text.count("\n", 0, match.start()) + 2)
        for match in FENCE.finditer(text)
    ]


def run_page(page: Path) -> Iterator[Shown]:
    """Run the Python and console blocks of `page`, in order and in one namespace."""
    namespace: dict[str, object] = {"__name__": page.stem}
    found = blocks(page)
    for block, following in itertools.pairwise([*found, Block("", "", 0)]):
        if block.kind == "python":
            with captured() as output:
                where = f"{page.name}, line {block.line}"
                exec(compile("\n" * (block.line - 1) + block.text, where, "exec"), namespace)
            want = following.text if following.kind == "text" else None
            yield Shown(block.text, want, output.getvalue())
        elif block.kind == "console":
            yield from run_commands(block.text)


def run_commands(text: str) -> Iterator[Shown]:
    """Run the commands of a console block, each with the lines that follow it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, want = part.partition("\n")
        program, *arguments = shlex.split(command)
        if program in SKIPPED:
            continue
        assert program == "triskele", f"nobody knows how to run: {command}"
        with captured() as output:
            code = main(arguments)
        mistake = "triskele: " in want
        assert code == (2 if mistake else 0), f"{command}: {output.getvalue()}"
        yield Shown(command, want, output.getvalue())


@contextlib.contextmanager
def captured() -> Iterator[io.StringIO]:
    """Everything that is printed, as a terminal would show it."""
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        yield stream


INDENTED = re.compile(r"^    (triskele .*)$", re.MULTILINE)


@pages
def test_commands_that_need_files_of_yours_have_options_that_exist(page: Path):
    """Indented commands are not run; they are read as the command line would."""
    parser = typer.main.get_command(app)
    for command in INDENTED.findall(page.read_text(encoding="utf-8")):
        name, *arguments = shlex.split(command)[1:]
        found = parser.get_command(None, name)
        assert found is not None, f"there is no command: {command}"
        found.make_context(name, arguments)


def agrees(want: str, got: str) -> bool:
    """Whether `got` is `want`, in which ... stands for anything; empty lines do not count."""
    want, got = (re.sub(r"[ \t]*\n\s*\n*", "\n", text.strip() + "\n") for text in (want, got))
    return doctest.OutputChecker().check_output(want, got, doctest.ELLIPSIS)


@pytest.mark.parametrize(
    "page", [weighed(page) for page in RUN], ids=lambda page: str(page.relative_to(ROOT))
)
def test_blocks_run_and_print_what_the_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    # A viewer ends when the user says so; here at once.
    monkeypatch.setattr("triskele.viewer.view.Viewer.run", lambda viewer: None)
    # There is a cache already (`conftest.py`), so that `main` leaves the environment as it is.
    assert "JAX_COMPILATION_CACHE_DIR" in os.environ
    for source, want, got in run_page(page):
        if want is None:
            assert not got, f"the page does not show what this prints:\n{source}\n{got}"
        else:
            assert agrees(want, got), f"{source}\nshown:\n{want}\nprinted:\n{got}"


@pages
def test_targets_of_make_exist(page: Path):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"^\$ make ([a-z-]+)|`make ([a-z-]+)`", text, re.MULTILINE)
    assert {first or second for first, second in named} <= targets


@pages
def test_links_between_files_resolve(page: Path):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        assert "://" not in target, f"{target}: pages name no addresses"
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
    for name in re.findall(r"`(examples/[\w./]+)`", text):
        assert (ROOT / name).exists(), f"{page.name} names {name}"


def test_the_example_of_the_readme_is_short():
    python = [block.text for block in blocks(ROOT / "README.md") if block.kind == "python"]
    assert len(python) == 1
    assert len(python[0].splitlines()) <= 15


def test_the_readme_has_every_command():
    from triskele.cli.app import app

    shown = re.findall(r"^\| `triskele (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert shown == [command.name for command in app.registered_commands]


def test_contributing_has_every_target_of_make():
    targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    shown = re.findall(
        r"^\| `make ([a-z-]+)`", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE
    )
    assert sorted(shown) == sorted(targets)


def test_the_changelog_has_an_entry_for_this_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = (ROOT / "CHANGELOG.md").read_text()
    entry = re.search(
        rf"^## \[{re.escape(project['version'])}\](.*?)(?=^## |\Z)", text, re.M | re.S
    )
    assert entry is not None
    assert re.search(r"^\* ", entry[1], re.MULTILINE)


def test_the_architecture_names_the_layers_that_exist():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    shown = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\|([^|]*)\|", text, re.MULTILINE))))
    parts = (ROOT / "src" / "triskele").iterdir()
    there = {part.stem for part in parts if part.suffix in ("", ".py") and part.stem[0] != "_"}
    assert shown == there - {"py"}


def test_the_conventions_have_the_frame_of_every_body():
    bodies = {*schema.DeltaBodies.model_fields, *schema.PrsBodies.model_fields} - {"source"}
    rows = re.findall(r"^\| `(\w+)`", (ROOT / "CONVENTIONS.md").read_text(), re.MULTILINE)
    assert bodies <= set(rows)


def test_the_guide_has_the_table_of_every_section():
    tables = load_tables()
    text = (DOCS / "guides" / "own-robot.md").read_text()
    shown = set(re.findall(r"^```\{schema\} (\w+)$", text, re.MULTILINE))
    # A 3PRS and a robot of limbs have the keys of a Delta robot, and all have the abstract ones.
    alike = {"AbstractFile", "AbstractRobot", "PrsRobot", "LimbsRobot"}
    assert shown == set(tables.sections()) - alike
    for model in (schema.PrsRobot, LimbsRobot):
        assert set(model.model_fields) == set(schema.DeltaRobot.model_fields)


def test_tables_are_made_from_the_schema():
    text = load_tables().schema_table("DeltaGeometry")
    row = next(line for line in text.splitlines() if "`rod_length`" in line)
    meaning, unit, numbers, default = (cell.strip() for cell in row.split("|")[2:-1])
    assert meaning == "d\\_i, elbow ball to wrist ball"
    assert (unit, numbers, default) == ("m", "one, or one per limb", "**required**")
    assert text.count("\n") == 2 + len(schema.DeltaGeometry.model_fields) - 1


def test_the_page_of_architectures_has_the_template_and_the_picture_of_each():
    page = DOCS / "guides" / "architectures.md"
    text = page.read_text(encoding="utf-8")
    kinds = [k for k in catalogue.templates() if 'kind = "limbs"' in catalogue.template(k)]
    shown = re.findall(r"^```\{literalinclude\} .*/templates/(\w+)\.toml$", text, re.MULTILINE)
    assert sorted(shown) == sorted(kinds)
    rows = re.findall(r"^\| \[`(\w+)`\]\(#[\w-]+\) \| `(\w+)` \|", text, re.MULTILINE)
    assert sorted(kind for kind, _ in rows) == sorted(kinds)
    robots = [name for name in catalogue.names() if triskele.load(name).kind == "limbs"]
    assert sorted(robot for _, robot in rows) == robots
    pictures = re.findall(r"\]\(\.\./images/(\w+)\.png\)", text)
    assert sorted(pictures) == robots


def test_the_page_of_robots_lists_every_assumption():
    robots = dict(load_tables().robot_pages())
    assert set(robots) == set(triskele.robots())
    for name, text in robots.items():
        for fact in triskele.load(name).assumptions():
            assert f"| `{fact.key}` |" in text


@pytest.mark.parametrize("name", SHIPPED)
def test_the_page_of_robots_names_the_commands_that_take_each(name: str):
    models = {
        "torques": triskele.rigid,
        "vibrate": triskele.flexible_robot,
        "sense": triskele.soft_rods,
        "bandwidth": triskele.cascade,
    }
    robot = triskele.load(name)
    taken = load_tables().commands(robot)
    assert set(taken) <= {command.name for command in app.registered_commands}
    for command, model in models.items():
        refused = pytest.raises(triskele.TriskeleError)
        with contextlib.nullcontext() if command in taken else refused:
            model(robot)


def test_the_reference_has_the_home_of_every_public_name():
    text = (DOCS / "reference.md").read_text()
    shown = set(re.findall(r"^\.\. automodule:: (\S+)$", text, re.MULTILINE))
    for name in vars(triskele)["__all__"]:
        thing = getattr(triskele, name)
        home = inspect.getmodule(thing)
        if home is not None and hasattr(thing, "__name__"):  # `Robot` is a union
            assert home.__name__ in shown, name


def test_equations_of_the_theory_have_the_numbers_of_the_modules():
    for page in sorted((DOCS / "theory").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        shown = re.findall(r"\(([A-Z]) (\d(?:, \d)*)\)", FENCE.sub("", text))
        letters, folder = {}, Path()
        for name, letter in re.findall(r"`([\w/]+\.py)`(?: \(([A-Z])\))?", text.split("\n## ")[0]):
            folder = Path(name).parent if "/" in name else folder
            letters[letter] = numbered(folder / Path(name).name)
        if shown:
            assert set(letters) - {""} == {letter for letter, _ in shown}, page.name
        for letter, numbers in shown:
            assert set(numbers.split(", ")) <= letters[letter], f"{page.name}: ({letter} {numbers})"
        labels = text.count("\n:label: ")  # numbered by Sphinx, from (1)
        assert {str(k + 1) for k in range(labels)} <= letters.get("", set()), page.name


def numbered(module: Path) -> set[str]:
    """Numbers of the equations in the docstring of a module of the package."""
    source = (ROOT / "src" / "triskele" / module).read_text(encoding="utf-8")
    docstring = ast.get_docstring(ast.parse(source)) or ""
    return set(re.findall(r"\((\d+)\)$", docstring, re.MULTILINE))


def load_tables():
    """The module that makes the tables of the documentation."""
    spec = importlib.util.spec_from_file_location("tables", DOCS / "tables.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
