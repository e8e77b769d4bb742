"""Findings of studies beside one another: differences, numbered reasons, checks, counts."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from triskele.studies.catalogue import Entry
from triskele.studies.study import Check, Exhibit, Finding, Study, Verdict

_TENFOLD = 10.0  #: from here on a ratio reads better than per cent


def difference(finding: Finding) -> str:
    """How far ours is from the paper's value.

    Counts and per cent are subtracted, other values divided; far-off ones are so many times it.

    >>> row = Finding("", "", "N", 2.0, 2.1, "differs", Check("", "", ""))
    >>> difference(row), difference(row._replace(unit="1")), difference(row._replace(ours=50.0))
    ('+5 %', '+0.1', '25 times')
    >>> difference(row._replace(ours=1e-9)), difference(row._replace(ours=4444.0))
    ('-100 %', '2222 times')
    """
    paper, ours, unit = finding.paper, finding.ours, finding.unit
    if paper is None or ours is None:
        return "-"
    if unit in ("", "1", "%") or paper == 0:
        return f"{_signed(ours - paper)}{' %' if unit == '%' else ''}"
    ratio = ours / paper
    if abs(ratio) >= _TENFOLD:
        return f"{ratio:.3g} times" if abs(ratio) < 999.5 else f"{ratio:.0f} times"
    return f"{_signed(100 * (ratio - 1))} %"


def _signed(value: float) -> str:
    text = f"{value:+.2g}" if abs(value) < 99.5 else f"{value:+.0f}"
    return "0" if float(text) == 0 else text


def shown(value: float | None) -> str:
    """A value of a finding as text."""
    return "-" if value is None else f"{value:.5g}"


def reasons(findings: Sequence[Finding]) -> dict[str, int]:
    """Each reason once, numbered from 1."""
    texts = dict.fromkeys(finding.reason for finding in findings if finding.reason)
    return {text: k for k, text in enumerate(texts, 1)}


def checks(findings: Sequence[Finding]) -> list[Check]:
    """Each independent check once."""
    return [check for check in dict.fromkeys(f.check for f in findings) if check.independent]


class Tally(NamedTuple):
    """How many numbers of a paper are confirmed, and how those that it prints compare."""

    paper: str
    numbers: int  #: that were computed
    confirmed: int  #: by an independent calculation
    printed: int  #: by the paper
    compared: tuple[int, int, int]  #: of those: reproduced, differing, not comparable
    upheld: int  #: of those that differ, confirmed
    failed: int


COMPARED: tuple[Verdict, ...] = ("reproduced", "differs", "not comparable")


def confirming(findings: Sequence[Finding]) -> str:
    """How many numbers each kind of calculation confirms.

    >>> row = Finding("", "", "N", 2.0, 2.1, "differs", Check("Exudyn", "1 %", "a::b"))
    >>> confirming([row, row])
    'Exudyn 2'
    """
    counted = Counter(finding.check.by for finding in findings if finding.check.independent)
    return ", ".join(f"{by} {count}" for by, count in counted.most_common())


def as_row(finding: Finding) -> Mapping[str, object]:
    """A finding for machines."""
    return finding._asdict() | {"check": finding.check._asdict()}


def place(exhibit: Exhibit) -> str:
    """Where ours stands, and what it leaves out or why there is nothing.

    >>> place(Exhibit("Figure 4", "frequencies", ("circle",), "frequencies", "curves only"))
    "rows 'circle ...', figure 'frequencies'; curves only"
    """
    ours = [f"rows '{start.rstrip(' :')} ...'" for start in exhibit.rows]
    if exhibit.figure:
        ours.append(f"figure '{exhibit.figure}'")
    return "; ".join(part for part in (", ".join(ours), exhibit.why) if part)


def tallies(studies: Sequence[Study], entries: Mapping[str, Entry]) -> list[Tally]:
    """Counts by paper."""
    papers: dict[str, list[Finding]] = {}
    for study in studies:
        papers.setdefault(entries[study.name].paper, []).extend(study.findings)
    return [_tally(paper, findings) for paper, findings in papers.items()]


def sum_of(tallied: Sequence[Tally]) -> Tally:
    """All papers together."""
    return Tally(
        "all",
        sum(item.numbers for item in tallied),
        sum(item.confirmed for item in tallied),
        sum(item.printed for item in tallied),
        _three([item.compared[k] for item in tallied] for k in range(3)),
        sum(item.upheld for item in tallied),
        sum(item.failed for item in tallied),
    )


def summary(total: Tally) -> str:
    """The counts as sentences.

    >>> summary(Tally("all", 9, 8, 3, (1, 2, 0), 2, 0)).split(": ")[0]
    'An independent calculation confirms 8 of 9 numbers. The papers print 3 of them'
    """
    reproduced, differ, others = total.compared
    failed = f" Computations that failed: {total.failed}." if total.failed else ""
    return (
        f"An independent calculation confirms {total.confirmed} of {total.numbers} numbers. "
        f"The papers print {total.printed} of them: {reproduced} reproduced, "
        f"{differ} differ ({total.upheld} of these with ours confirmed), {others} not comparable."
        f"{failed}"
    )


def _tally(paper: str, findings: Sequence[Finding]) -> Tally:
    computed = [finding for finding in findings if finding.verdict != "failed"]
    printed = [finding for finding in computed if finding.paper is not None]
    return Tally(
        paper,
        len(computed),
        sum(finding.check.independent for finding in computed),
        len(printed),
        _three([finding.verdict == verdict for finding in printed] for verdict in COMPARED),
        sum(finding.verdict == "differs" and finding.check.independent for finding in printed),
        len(findings) - len(computed),
    )


def _three(columns: Iterable[Sequence[int]]) -> tuple[int, int, int]:
    first, second, third = (sum(column) for column in columns)
    return first, second, third
