"""What the layout promises: layers, docstrings, short functions, nothing about our machines."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

import triskele

PACKAGE = Path(triskele.__file__).parent
ROOT = PACKAGE.parent.parent
MODULES = sorted(PACKAGE.rglob("*.py"))
FILES = sorted(path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".pyi", ".toml"))
LONGEST = 60  #: lines of a function; it should fit on a screen
LISTS = {"kinematics/delta.py": {"joints"}}  #: one entry after the other: tables, not procedures

by_module = pytest.mark.parametrize(
    "path", MODULES, ids=[str(path.relative_to(PACKAGE)) for path in MODULES]
)


def functions(tree: ast.AST):
    """Every function and method in `tree`."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def test_every_package_has_its_place_in_the_layers():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    assert (contract["type"], contract["exhaustive"]) == ("layers", True)
    placed = [name.strip(" ()") for line in contract["layers"] for name in line.split("|")]
    assert len(placed) == len(set(placed))
    found = {
        path.stem
        for path in PACKAGE.iterdir()
        if (path / "__init__.py").exists() or path.suffix == ".py"
    }
    assert found - {"__init__", *contract["exhaustive_ignores"]} <= set(placed)
    optional = {
        name.strip(" ()") for line in contract["layers"] for name in line.split("|") if "(" in name
    }
    assert set(placed) - found <= optional


@by_module
def test_every_module_and_every_public_definition_has_a_docstring(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    public = [
        node
        for node in tree.body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_")
    ]
    assert [node.name for node in public if not ast.get_docstring(node)] == []


@by_module
def test_every_function_fits_on_a_screen(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    lengths = {node.name: (node.end_lineno or 0) - node.lineno + 1 for node in functions(tree)}
    allowed = LISTS.get(path.relative_to(PACKAGE).as_posix(), set())
    assert {name for name, lines in lengths.items() if lines > LONGEST} <= allowed


@by_module
def test_the_library_never_prints(path):
    if path.parent.name == "cli":
        pytest.skip("the command line is where printing belongs")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = [call.id for call in calls if isinstance(call, ast.Name)]
    assert not {"print", "input", "exit", "breakpoint"} & set(names)


def test_nothing_tells_of_the_machine_or_the_tools_it_was_written_with():
    words = r"\b(session|agent|chatgpt|claude|copilot|prompt)s?\b"
    paths = r"/(home|root|Users|work|tmp|mnt|workspace)/|[A-Z]:\\"
    found = [
        f"{path.relative_to(PACKAGE)}:{number}: {line.strip()}"
        for path in FILES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(f"{words}|{paths}", line, re.IGNORECASE)
    ]
    assert found == []


def test_nothing_is_left_to_do_without_a_number():
    pattern = r"#.*\b(TODO|FIXME|XXX|HACK)\b(?!\s*\(?#\d+)"
    found = [
        f"{path.relative_to(PACKAGE)}:{number}"
        for path in MODULES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(pattern, line)
    ]
    assert found == []
