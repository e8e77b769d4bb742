"""Studies as one page of HTML: a summary, and of each study its table, figures and assumptions."""

import ast
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from triskele.description.load import load
from triskele.reports.page import (
    Marked,
    Text,
    assumption_table,
    folded,
    heading,
    image,
    links,
    listing,
    page,
    paragraph,
    table,
)
from triskele.studies.catalogue import NUMBERINGS, Entry
from triskele.studies.compared import (
    COMPARED,
    checks,
    confirming,
    difference,
    place,
    reasons,
    shown,
    sum_of,
    summary,
    tallies,
)
from triskele.studies.study import Finding, Study, Verdict

_MOODS: Mapping[Verdict, str] = {
    "reproduced": "good",
    "differs": "odd",
    "not comparable": "dull",
    "failed": "bad",
}
_WORDS = (
    "confirmed: a test of this package compares our number, or the law that gives it, with another "
    "program, a closed form, a second derivation or a law of physics",
    "second program: code that shares nothing with this package; the test has its numbers",
    "reproduced: ours agrees with the paper within the digits that it prints",
    "differs: it does not, and the reason is given",
    "not comparable: the paper prints no number, or one of another experiment",
    "failed: the study could not be computed",
)


def studies_page(
    studies: Sequence[Study], entries: Mapping[str, Entry], version: str, seconds: float
) -> str:
    """The page; it needs no other file. `seconds` is how long all of it took."""
    title = "Published experiments, computed anew"
    if len(studies) == 1:
        title = entries[studies[0].name].title
    return page(
        title,
        paragraph(f"triskele {version}; computed in {_minutes(seconds)}.", "quiet"),
        heading("Summary"),
        *_summary(studies, entries),
        listing(_WORDS),
        links([(entries[study.name].title, study.name) for study in studies])
        if len(studies) > 1
        else "",
        *(part for study in studies for part in _section(study, entries[study.name])),
    )


def _summary(studies: Sequence[Study], entries: Mapping[str, Entry]) -> list[str]:
    found = tallies(studies, entries)
    total = sum_of(found)
    rows: list[Sequence[Text]] = [
        (
            item.paper,
            str(item.numbers),
            _counted(item.confirmed, "good"),
            str(item.printed),
            *(
                _counted(count, _MOODS[verdict])
                for verdict, count in zip(COMPARED, item.compared, strict=True)
            ),
            _counted(item.failed, "bad"),
        )
        for item in (*found, total)
    ]
    header = ("paper", "numbers", "confirmed", "printed", *COMPARED, "failed")
    findings = [finding for study in studies for finding in study.findings]
    return [
        paragraph(summary(total)),
        paragraph(f"Confirmed by: {confirming(findings) or 'nothing'}."),
        table(header, rows, total=True),
    ]


def _counted(count: int, mood: str) -> Marked:
    return Marked(str(count), mood if count else "dull")


def _section(study: Study, entry: Entry) -> list[str]:
    numbers, tests = reasons(study.findings), checks(study.findings)
    return [
        heading(entry.title, anchor=study.name),
        paragraph(entry.paper),
        *map(paragraph, _told(entry.module)),
        paragraph(f"{study.name}, computed in {_minutes(study.seconds)}.", "quiet"),
        *(image(figure, study.captions[name]) for name, figure in study.figures.items()),
        table(
            (
                "quantity",
                "ours",
                "checked by",
                "within",
                "paper",
                "difference",
                "unit",
                "verdict",
                "why",
            ),
            [_row(finding, numbers) for finding in study.findings],
        ),
        heading("Why", 3) if numbers else "",
        listing([f"{text}." for text in numbers], numbered=True),
        heading("Checks", 3) if tests else "",
        table(
            ("checked by", "within", "test"),
            [(check.by, check.tolerance, check.test) for check in tests],
        )
        if tests
        else "",
        *_exhibits(study, entry),
        *_assumptions(study),
    ]


def _exhibits(study: Study, entry: Entry) -> list[str]:
    """Tables and figures of the paper that belong to this study."""
    if not study.exhibits:
        return []
    counted = NUMBERINGS.get(entry.paper)
    rows = [(item.label, item.shows, place(item)) for item in study.exhibits]
    return [
        heading("Tables and figures of the paper", 3),
        paragraph(f"Counted by the {counted.source}.", "quiet") if counted else "",
        table(("paper", "shows", "here"), rows),
    ]


def _told(module: str) -> list[str]:
    """Paragraphs in which a study's module says what it is about; read, for it may not run."""
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None, "studies are files"
    text = ast.get_docstring(ast.parse(Path(spec.origin).read_text("utf-8"))) or ""
    parts = (" ".join(part.split()).replace("`", "") for part in text.split("\n\n"))
    return [part for part in parts if part and not part.startswith("Reference")]


def _row(finding: Finding, numbers: Mapping[str, int]) -> tuple[Text, ...]:
    return (
        finding.quantity,
        shown(finding.ours),
        finding.check.by if finding.check.independent else Marked(finding.check.by, "dull"),
        finding.check.tolerance,
        shown(finding.paper),
        difference(finding),
        finding.unit,
        Marked(finding.verdict, _MOODS[finding.verdict]),
        str(numbers[finding.reason]) if finding.reason else "",
    )


def _assumptions(study: Study) -> list[str]:
    parts = []
    for name in study.robots:
        facts = load(name).assumptions()
        if facts:
            what = f"{len(facts)} assumed numbers of {name} that this rests on"
            parts.append(folded(what, assumption_table(facts)))
        else:
            parts.append(paragraph(f"Nothing about {name} is assumed."))
    return parts


def _minutes(seconds: float) -> str:
    """A duration for people.

    >>> _minutes(4.24), _minutes(75)
    ('4.2 s', '1 min 15 s')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)} min {seconds % 60:.0f} s"
