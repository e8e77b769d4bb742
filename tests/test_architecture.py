"""What the layout promises: layers, docstrings, short functions, nothing about our machines."""

import ast
import re
import tomllib
from pathlib import Path
from typing import get_args

import pytest

import triskele
from triskele.description.load import load
from triskele.kinematics.build import build
from triskele.kinematics.mechanism import JointKind, Look

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


# Roles, not names

MACHINES = ("abb_irb360_6_1600", "d3s_800", "compliant_3prs")
CLASSES = {"Delta", "Prs", "DeltaRobot", "PrsRobot", "DeltaGeometry", "PrsGeometry"}
THEIR_OWN = ("kinematics", "description", "studies")
OF_DELTAS = ("flexible", "sensing")  #: links that bend are modelled for Deltas, and for them alone
BY_ROLES = ("flexible/released.py",)  #: but these go by roles all the same
ROLES = {*get_args(JointKind), "platform", "flange", "slide", "drives", "balls"}
OTHERS = {  # the same word for something else
    # sections of the file, each with keys of its own: weighed, disassembled, sections
    "doctor/bodies.py": {"arm", "rod", "telescope", "telescope_upper", "telescope_lower"},
    "doctor/elastic.py": {"arm", "bar", "rod"},
    "doctor/limits.py": {"telescope"},  # a key of the geometry
    "cli/dynamics.py": {"rod"},  # the heading of a column
    "cli/flexible.py": {"rod"},  # a cross-section of the file, of links that bend
    "planning/demands.py": {"rod"},  # loads of all struts
    "planning/limits.py": {"rod"},
    "units.py": {"bar"},  # 1e5 Pa
}


def names_of_machines():
    """Of bodies, parts, joints, coordinates and their groups, but for words of roles."""
    found = {"delta", "3prs"}
    for name in MACHINES:
        mechanism = build(load(name))
        coordinates = (*mechanism.joint_coordinates, *mechanism.passive_coordinates)
        found |= {*mechanism.bodies, *(part.part for part in mechanism.parts)}
        found |= {joint.name for joint in mechanism.joints()}
        found |= {c.name for c in coordinates} | {c.drive for c in coordinates}
    return found - ROLES


def names_in(path, names):
    """Words of `names` in the code of a module, and where; also those that they begin with."""
    stems = {stem for name in names if (stem := re.sub(r"\d.*$", "", name)) != name}
    beginnings = {stem for stem in stems if stem.endswith("_")} - {"motor_"}  # of `startswith`
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr) and isinstance(first := node.values[0], ast.Constant):
            if first.value in stems - {"motor_", "q", "s"}:  # these are columns of tables
                yield node.lineno, first.value
        elif isinstance(node, ast.Constant) and node.value in names | beginnings:
            of_looks = node.value in get_args(Look) and "look" in lines[node.lineno - 1].lower()
            if not of_looks:
                yield node.lineno, node.value
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, a.name) for a in node.names if a.name in CLASSES)


def test_no_name_of_a_body_or_joint_of_two_machines_decides_anything():
    names, found = names_of_machines(), []
    assert {"arm_1", "telescope_lower", "coupling", "q4", "axis4", "wrist_rod_1a"} <= names
    for path in MODULES:
        place = path.relative_to(PACKAGE)
        exempt = place.parts[0] in (*THEIR_OWN, *OF_DELTAS)
        if exempt and place.as_posix() not in BY_ROLES:
            continue
        allowed = OTHERS.get(place.as_posix(), set())
        found += [
            f"{place}:{line}: {word}" for line, word in names_in(path, names) if word not in allowed
        ]
    assert found == []


def test_names_that_decide_are_found(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(
        "from triskele.kinematics.delta import Delta\n"
        "body = f'arm_{1}'\n"
        "if joint.name == 'q4':\n    pass\n"
        "if look == 'rod' or part == 'coupling':\n    pass\n"
        "if name.startswith('rod_'):\n    pass\n"
    )
    found = [word for _, word in sorted(set(names_in(path, names_of_machines())))]
    assert found == ["Delta", "arm_", "q4", "coupling", "rod_"]
