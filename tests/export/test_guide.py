"""The guide of exported code: its C and JavaScript are compiled and run, its table is counted."""

import re
import subprocess
from pathlib import Path

import pytest
from compiling import STRICT, needs

import triskele as tk
from triskele.description import catalogue
from triskele.export.functions import WHAT, functions

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "export.md").read_text()
SHOWN = {
    kind: (source, printed)
    for kind, source, printed in re.findall(
        r"^```(c|js)\n(.*?)^```\n\n```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL
    )
}

SEARCHED = (  # their forward position is Newton's method, written out: seconds to trace
    *("compliant_3prs", "hexa_6rus", "hexaglide_6pus", "par4", "planar_3rrr", "prs_rigid"),
    *("rps_3", "rrs_3", "six_rod_delta", "stewart_6ups"),
)


def test_ten_lines_of_c_print_what_the_guide_shows(tmp_path):
    robot = tk.load("omron_mini_delta")
    folder = tk.export_code(robot, tmp_path / "code", what=["torques"]).folder
    source, printed = SHOWN["c"]
    (folder / "main.c").write_text(source)
    files = ["omron_mini_delta.c", "main.c", "-lm", "-o", "main"]
    subprocess.run([needs("gcc"), *STRICT, *files], cwd=folder, check=True)
    ran = subprocess.run([folder / "main"], capture_output=True, text=True, check=True)
    assert ran.stdout == printed


def test_the_module_prints_what_the_guide_shows(tmp_path):
    robot = tk.load("omron_mini_delta")
    folder = tk.export_code(robot, tmp_path / "code", "js", ["inverse"]).folder
    source, printed = SHOWN["js"]
    (folder / "page.mjs").write_text(source)
    command = [needs("node"), "page.mjs"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert ran.stdout == printed


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [pytest.param(k, marks=pytest.mark.slow) if k in SEARCHED else k for k in catalogue.names()],
)
def test_the_table_counts_the_operations_of_each_function(name):
    (row,) = re.findall(rf"^\| {name} \| (.*) \|$", PAGE, re.MULTILINE)
    found = {function.name: len(function.program) for function in functions(tk.load(name))}
    for what, shown in zip(WHAT, row.split(" | "), strict=True):
        assert (shown == "-") == (what not in found)
        assert shown == "-" or found[what] == pytest.approx(int(shown), rel=0.02)
