"""The command `reproduce`, on studies that take no time: stubs in modules of their own."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from triskele.studies.catalogue import Entry

KEYS = {"study", "quantity", "unit", "paper", "ours", "verdict", "check", "reason"}
GOOD = """'''The study of {name} things.

A rod of `n` parts
is < 1 m.

Reference: nobody.
'''
from matplotlib.figure import Figure
from triskele.studies.study import PAPER_ALONE, UNCHECKED, Check, Exhibit, Finding, Study

BEAM = Check("beam < theory", "2 %", "tests/test_beam.py::test_it")
EXHIBITS = (
    Exhibit("Table 1", "lengths", ("a <length>", "another"), why="without its last row"),
    Exhibit("Figure 1", "a photograph", why="nothing to compute"),
)

def run(progress):
    figure = Figure()
    figure.subplots().plot([0.0, 1.0])
    progress(0.5)
    rows = (
        Finding("{name}", "a duration", "s", 0.48, 0.4801, "reproduced", PAPER_ALONE),
        Finding("{name}", "a <length>", "mm", 2.0, 3.0, "differs", BEAM, "it is & bent"),
        Finding("{name}", "another", "mm", 2.0, 30.0, "differs", BEAM, "it is & bent"),
        Finding("{name}", "a force", "N", None, 7.0, "not comparable", UNCHECKED, "no number"),
    )
    robots = ("d3s_800", "omron_mini_delta")
    return Study("{name}", rows, {{"curve": figure}}, {{"curve": "It rises."}}, robots, EXHIBITS)
"""
BAD = {
    "mistaken": "raise InputError('The robot is too small.')",
    "broken": "return 1 / 0",
    "endless": "open(f'on_{os.getpid()}', 'w').close(); time.sleep(60)",
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "nan": "x = float('nan'); row = Finding('nan', 'x', 'm', 1.0, x, 'differs', UNCHECKED, 'r'); "
    "return Study('nan', (row,), {}, {}, ())",
}
BEGIN = """
import os, signal, time
from triskele.errors import InputError
from triskele.studies.study import UNCHECKED, Finding, Study

def run(progress):
    """


@pytest.fixture
def stubs(tmp_path, monkeypatch):
    """A function that replaces the studies of the command by stubs of these names."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def replace(*names: str) -> None:
        entries = {}
        for name in names:
            text = BEGIN + BAD[name] + "\n" if name in BAD else GOOD.format(name=name)
            (tmp_path / f"stub_{name}.py").write_text(text)
            paper = "One, 2001" if name in ("good", "mistaken") else "Two, 2002"
            entries[name] = Entry(f"stub_{name}", f"The {name} study", paper)
            monkeypatch.delitem(sys.modules, f"stub_{name}", raising=False)
        monkeypatch.setattr("triskele.cli.reproduce.STUDIES", entries)

    return replace


def test_tables_a_summary_and_a_page_that_needs_no_other_file(cli, stubs, tmp_path):
    stubs("good", "better")
    result = cli("reproduce", "--jobs", 1)
    assert result.code == 0
    assert re.search(r"a <length> +3 +beam < theory +2 % +2 +\+50 % +mm +differs +1\n", result.out)
    assert re.search(r"another +30 +beam < theory +2 % +2 +15 times +mm +differs +1\n", result.out)
    assert re.search(r"a duration +0.4801 +the paper alone +0.48 +\+0.021 % +s +repro", result.out)
    assert result.out.count("beam < theory, 2 %: tests/test_beam.py::test_it\n") == 2
    assert "Table 1, lengths: rows 'a <length> ...', rows 'another ...'; without" in result.out
    assert "Figure 1, a photograph: nothing to compute\n" in result.out
    assert result.out.count("1: it is & bent\n") == 2  # once a study
    assert "An independent calculation confirms 4 of 8 numbers. The papers print 6" in result.out
    assert "4 differ (4 of these with ours confirmed), 0 not" in " ".join(result.out.split())
    assert "Confirmed by: beam < theory 4.\n" in result.out
    line = "4 +2 +3 +1 +2 +0 +0\n"
    assert re.search(f"One, 2001 +{line}Two, 2002 +{line}all +8 +4 +6 +2 +4 +0 +0\n", result.out)
    assert "2 of 2: better" in result.err
    assert result.err.endswith("wrote out/reproduce.html\n")
    page = (tmp_path / "out" / "reproduce.html").read_text()
    assert "http" not in re.sub(r"base64,[^']*", "", page)
    assert all(link.startswith("#") for link in re.findall(r"href='([^']*)'", page))
    assert all(part.startswith("data:image/") for part in re.findall(r"src='([^']*)'", page))
    assert len(re.findall(r"<img ", page)) == 2
    assert page.count("it is &amp; bent.") == 2
    assert "The study of better things." in page
    assert page.count("A rod of n parts is &lt; 1 m.") == 2
    assert "nobody" not in page
    assert page.count("<figcaption>It rises.</figcaption>") == 2
    assert "a &lt;length&gt;" in page
    assert page.count("<td>tests/test_beam.py::test_it</td>") == 2
    assert page.count("<td class='short'>Table 1</td>") == 2
    assert page.index("confirms 4 of 8 numbers") < page.index("reproduced")
    assert "assumed numbers of d3s_800" in page
    assert re.search(r"triskele \d+\.\d+", page)


def test_one_study_alone_is_all_of_the_page(cli, stubs, tmp_path):
    stubs("good", "better")
    assert cli("reproduce", "better", "--html", "mine.html", "--figures", ".").code == 0
    page = (tmp_path / "mine.html").read_text()
    assert "<h1>The better study</h1>" in page
    assert "The good study" not in page
    assert not (tmp_path / "out").exists()
    assert (tmp_path / "better_curve.png").read_bytes().startswith(b"\x89PNG")


def test_json_has_eight_keys_and_nothing_else_on_stdout(cli, stubs):
    stubs("good", "mistaken")
    result = cli("reproduce", "--json", "--jobs", 1)
    told = json.loads(result.out)
    rows = told["rows"]
    assert [item["label"] for item in told["exhibits"]] == ["Table 1", "Figure 1"]
    assert rows[1]["check"] == {
        "by": "beam < theory",
        "tolerance": "2 %",
        "test": "tests/test_beam.py::test_it",
    }
    assert result.code == 1
    assert all(set(row) == KEYS for row in rows)
    assert [row["verdict"] for row in rows] == [
        "reproduced",
        *["differs"] * 2,
        "not comparable",
        "failed",
    ]
    assert rows[-1] == {
        "study": "mistaken",
        "quantity": "the whole study",
        "unit": "",
        "paper": None,
        "ours": None,
        "verdict": "failed",
        "check": {"by": "nothing yet", "tolerance": "", "test": ""},
        "reason": "The robot is too small",
    }


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_study_that_fails_does_not_stop_the_others(cli, stubs, tmp_path, jobs):
    stubs("mistaken", "broken", "nan", "good")
    result = cli("reproduce", "--jobs", jobs)
    assert result.code == 1
    assert re.search(r"the whole study +- +nothing yet +- +- +failed +1\n", result.out)
    assert re.search(
        r"1: ZeroDivisionError in stub_broken.py, line \d+: division by zero", result.out
    )
    assert "1: the value is nan, not a finite number" in result.out
    assert re.search(r"all +4 +2 +3 +1 +2 +0 +3\n", result.out)
    assert "The robot is too small." in (tmp_path / "out" / "reproduce.html").read_text()


def test_a_process_that_dies_is_a_study_that_failed(cli, stubs):
    stubs("killed", "good")
    result = cli("reproduce", "--jobs", 2)
    assert result.code == 1
    assert "its process ended with code -9 and without a result" in result.out
    assert re.search(r"all +4 +2 +3 +1 +2 +0 +1\n", result.out)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_ends_all_processes_and_leaves_no_page(tmp_path):
    run = _endless(tmp_path)
    _until(lambda: len(list(tmp_path.glob("on_*"))) == 2)
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does
    _, err = run.communicate(timeout=120)
    assert run.returncode == 130
    assert "Traceback" not in err
    assert "stopped; no file was left half written" in err
    assert not (tmp_path / "page.html").exists()
    _until(lambda: not _alive(run.pid))


def test_processes_end_with_one_that_is_killed(tmp_path):
    run = _endless(tmp_path)
    _until(lambda: len(list(tmp_path.glob("on_*"))) == 2)
    run.kill()
    run.communicate(timeout=60)
    _until(lambda: not _alive(run.pid))
    assert not (tmp_path / "page.html").exists()


def _endless(tmp_path):
    """A process that waits for two studies without an end."""
    for name in ("endless", "endless_too"):
        (tmp_path / f"stub_{name}.py").write_text(BEGIN + BAD["endless"] + "\n")
    text = (
        "import triskele.cli.reproduce as r, sys\n"
        "from triskele.cli import main\n"
        "from triskele.studies.catalogue import Entry\n"
        "r.STUDIES = {n: Entry('stub_' + n, n, n) for n in ('endless', 'endless_too')}\n"
        "if __name__ == '__main__':\n"
        "    sys.exit(main(['reproduce', '--jobs', '2', '--html', 'page.html']))\n"
    )
    (tmp_path / "go.py").write_text(text)
    return subprocess.Popen(
        [sys.executable, "go.py"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])},
    )


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("god", "There is no study 'god'. Did you mean 'good'?"),
        ("--html page.txt", "page.txt: the name must end in .html."),
        ("--html no/page.html", "the directory no does not exist"),
        ("--figures no", "--figures no: there is no such folder"),
        ("--jobs 0", "--jobs is 0; it must be positive."),
    ],
)
def test_mistakes_are_told_before_any_work(cli, stubs, files, typed, expected):
    stubs("good")
    before = files()
    result = cli("reproduce", *typed.split())
    assert result.code == 2
    assert expected in result.err
    assert files() == before


def test_a_page_is_written_whole_or_not_at_all(cli, stubs, tmp_path, monkeypatch):
    stubs("good")
    (tmp_path / "page.html").write_text("the old one")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "page.html")

    monkeypatch.setattr("pathlib.Path.replace", full)
    result = cli("reproduce", "--html", "page.html")
    assert result.code == 2
    assert result.err.endswith("triskele: page.html: No space left on device.\n")
    assert (tmp_path / "page.html").read_text() == "the old one"
    assert not list(tmp_path.glob(".page*"))
