"""What the studies say of checks, and of tables and figures of the papers, without running them."""

import ast
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from study_checks import assert_complete

from triskele.studies.catalogue import NUMBERINGS, STUDIES
from triskele.studies.study import Check

ROOT = Path(__file__).parents[2]
MARKS = {"parametrize", "oracle", "long", "slow", "usefixtures"}  # none of them skips a test


@cache
def collected(file: str) -> dict[str, set[str]]:
    """Tests of a file as pytest collects them, with their marks."""
    path = ROOT / file
    assert path.is_relative_to(ROOT / "tests"), file
    assert path.name.startswith("test_"), file
    body = ast.parse(path.read_text("utf-8")).body
    tests = [node for node in body if isinstance(node, ast.FunctionDef)]
    return {
        node.name: {
            part.attr
            for decorator in node.decorator_list
            for part in ast.walk(decorator)
            if isinstance(part, ast.Attribute) and ast.unparse(part.value) == "pytest.mark"
        }
        for node in tests
        if node.name.startswith("test_")
    }


@pytest.mark.parametrize("name", STUDIES)
def test_every_check_names_a_test_that_is_collected(name):
    checks = import_module(STUDIES[name].module).CHECKS.values()
    assert checks
    for check in checks:
        file, _, function = check.test.partition("::")
        tests = collected(file)
        assert function in tests, check.test
        assert tests[function] <= MARKS, check.test
        assert check.by, check
        assert check.tolerance, check


def test_a_check_that_names_no_test_is_noticed():
    for test in ("tests/published/test_studies.py::collected", "tests/conftest.py::test_it"):
        assert Check("x", "1 %", test).independent
    assert "collected" not in collected("tests/published/test_studies.py")
    assert "test_a_check_that_names_no_test_is_noticed" in collected(
        "tests/published/test_studies.py"
    )
    with pytest.raises(AssertionError):
        collected("tests/conftest.py")


@pytest.mark.parametrize("paper", NUMBERINGS)
def test_every_table_and_figure_has_a_row_a_figure_or_a_reason(paper):
    modules = [import_module(entry.module) for entry in STUDIES.values() if entry.paper == paper]
    exhibits = [exhibit for module in modules for exhibit in module.EXHIBITS]
    labels = [exhibit.label for exhibit in exhibits]
    assert sorted(labels) == sorted(NUMBERINGS[paper].labels())
    for exhibit in exhibits:
        assert exhibit.shows, exhibit
        assert exhibit.rows or exhibit.figure or exhibit.why, exhibit


def test_every_paper_has_its_tables_and_figures_counted():
    assert set(NUMBERINGS) == {entry.paper for entry in STUDIES.values()}
    counts = {paper.split()[0]: (n.tables, n.figures) for paper, n in NUMBERINGS.items()}
    assert sorted(counts.values()) == [(1, 9), (2, 6), (2, 13), (3, 16), (4, 17)]


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        "rigid_delta",
        pytest.param("d3s800", marks=pytest.mark.slow),
        pytest.param("compliant_3prs", marks=pytest.mark.slow),
    ],
)
def test_studies_that_no_other_test_runs_are_complete(name):
    module = import_module(STUDIES[name].module)
    assert_complete(module, module.run())
