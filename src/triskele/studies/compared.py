"""Findings of studies beside one another: differences, numbered reasons, a count by paper."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from triskele.studies.catalogue import Entry
from triskele.studies.study import Finding, Study, Verdict

VERDICTS: tuple[Verdict, ...] = ("reproduced", "differs", "not comparable", "failed")
_TENFOLD = 10.0  #: from here on a ratio reads better than per cent


def difference(finding: Finding) -> str:
    """How far ours is from the paper's value.

    Counts and per cent are subtracted, other values divided; far-off ones are so many times it.

    >>> row = Finding("", "", "N", 2.0, 2.1, "differs")
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


class Tally(NamedTuple):
    """How many findings of a paper have each verdict, in the order of `VERDICTS`."""

    paper: str
    counts: tuple[int, ...]

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.counts)


def tallies(studies: Sequence[Study], entries: Mapping[str, Entry]) -> list[Tally]:
    """Verdicts by paper."""
    papers: dict[str, list[Finding]] = {}
    for study in studies:
        papers.setdefault(entries[study.name].paper, []).extend(study.findings)
    return [Tally(paper, _counts(found)) for paper, found in papers.items()]


def sum_of(found: Sequence[Tally]) -> Tally:
    """All papers together."""
    columns = zip(*(item.counts for item in found), strict=True)
    return Tally("all", tuple(sum(column) for column in columns))


def _counts(findings: Sequence[Finding]) -> tuple[int, ...]:
    verdicts = [finding.verdict for finding in findings]
    return tuple(verdicts.count(verdict) for verdict in VERDICTS)
