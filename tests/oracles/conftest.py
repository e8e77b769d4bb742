"""`make validate` shows the differences that tests print, also of those that pass."""

from itertools import groupby
from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    passed = [report for report in terminalreporter.getreports("passed") if report.when == "call"]
    printing = sorted((r for r in passed if r.capstdout.strip()), key=lambda r: r.location)
    for title, reports in groupby(printing, key=_title):
        terminalreporter.section(title)
        for report in reports:
            terminalreporter.write_line(report.capstdout.strip())


def _title(report: Any) -> str:
    """The name of a test as a sentence."""
    return report.location[2].split("[")[0].removeprefix("test_").replace("_", " ")
