"""The command `reproduce`: published experiments, the paper's value beside ours."""

import os
import textwrap
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from triskele.cli.inputs import AsJson, whole
from triskele.cli.output import note, output_path, print_json, print_rows, progress_bars
from triskele.cli.workers import run_studies
from triskele.errors import InputError, UnknownName, did_you_mean
from triskele.studies.catalogue import STUDIES, Entry

if TYPE_CHECKING:
    from triskele.studies.study import Study

PAGE = Path("out/reproduce.html")
_WIDTH = 100  #: of wrapped lines
_MOST_JOBS = 4  #: by default; each takes about 1 GB


def reproduce(
    name: Annotated[str | None, typer.Argument(help=f"{', '.join(STUDIES)}; all if none.")] = None,
    json: AsJson = False,
    html: Annotated[Path, typer.Option(help="The page to write, figures inside.")] = PAGE,
    figures: Annotated[Path | None, typer.Option(help="Folder to write the figures to.")] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            help="Studies at a time.",
            show_default="as cores, up to 4",
            parser=whole,
            metavar="<int>",
        ),
    ] = None,
) -> None:
    """Published experiments: our values, what confirms them, and the papers' values.

    Tables are printed, and a page is written with all figures, reasons, checks and assumptions.
    The exit code is 1 if a study fails; the others are reported all the same.

    Example: triskele reproduce rigid_delta --html rigid.html
    """
    entries = _chosen(name)
    if figures is not None and not figures.is_dir():
        raise InputError(f"--figures {figures}: there is no such folder; make it first.")
    if jobs is not None and jobs < 1:
        raise InputError(f"--jobs is {jobs}; it must be positive.")
    target = _page_path(html)
    start = time.monotonic()
    studies = _run(entries, jobs or min(os.cpu_count() or 1, _MOST_JOBS))
    seconds = time.monotonic() - start
    if json:
        _print_json(studies)
    else:
        _print(studies, entries)
    _write(studies, entries, seconds, target, figures)
    note(f"wrote {target}")
    if any(finding.verdict == "failed" for study in studies for finding in study.findings):
        raise typer.Exit(1)


def _chosen(name: str | None) -> dict[str, Entry]:
    if name is None:
        return dict(STUDIES)
    if name not in STUDIES:
        raise UnknownName(f"There is no study '{name}'. {did_you_mean(name, STUDIES)}")
    return {name: STUDIES[name]}


def _page_path(html: Path) -> Path:
    """Where the page goes; the folder of the usual one is made."""
    if html == PAGE:
        html.parent.mkdir(exist_ok=True)
    target = output_path(html, ".html")
    assert target is not None, "a path was given"
    return target


def _run(entries: Mapping[str, Entry], jobs: int) -> "list[Study]":
    finished = 0

    def done(study: "Study") -> None:
        nonlocal finished
        finished += 1
        note(f"{finished} of {len(entries)}: {study.name}, {study.seconds:.0f} s")

    with progress_bars(len(entries)) as report:
        return run_studies(entries, jobs, report, done)


def _write(
    studies: "Sequence[Study]",
    entries: Mapping[str, Entry],
    seconds: float,
    target: Path,
    figures: Path | None,
) -> None:
    from importlib.metadata import version

    from triskele.description.files import write_whole
    from triskele.reports.figures import save_figure
    from triskele.studies.page import studies_page

    write_whole(target, studies_page(studies, entries, version("triskele"), seconds))
    for study in studies if figures is not None else ():
        for name, figure in study.figures.items():
            note(f"wrote {save_figure(figure, Path(figures) / f'{study.name}_{name}.png')}")  # pyright: ignore[reportArgumentType]


def _print_json(studies: "Sequence[Study]") -> None:
    from triskele.studies.compared import as_row

    print_json(
        {
            "rows": [as_row(finding) for study in studies for finding in study.findings],
            "exhibits": [
                {"study": study.name} | exhibit._asdict()
                for study in studies
                for exhibit in study.exhibits
            ],
        }
    )


def _print(studies: "Sequence[Study]", entries: Mapping[str, Entry]) -> None:
    from triskele.studies.compared import COMPARED, confirming, sum_of, summary, tallies

    for study in studies:
        _print_study(study, entries[study.name])
        typer.echo("")
    found = tallies(studies, entries)
    total = sum_of(found)
    typer.echo(textwrap.fill(summary(total), _WIDTH))
    findings = [finding for study in studies for finding in study.findings]
    typer.echo(textwrap.fill(f"Confirmed by: {confirming(findings) or 'nothing'}.", _WIDTH))
    rows = [
        (
            textwrap.shorten(item.paper, 40, placeholder=" ..."),
            item.numbers,
            item.confirmed,
            item.printed,
            *item.compared,
            item.failed,
        )
        for item in (*found, total)
    ]
    print_rows(rows, ("paper", "numbers", "confirmed", "printed", *COMPARED, "failed"))


def _print_study(study: "Study", entry: Entry) -> None:
    from triskele.studies.compared import checks, difference, place, reasons, shown

    typer.echo(textwrap.fill(f"{entry.title} ({entry.paper})", _WIDTH))
    numbers = reasons(study.findings)
    rows = [
        (
            finding.quantity,
            shown(finding.ours),
            finding.check.by,
            finding.check.tolerance,
            shown(finding.paper),
            difference(finding),
            finding.unit,
            finding.verdict,
            numbers.get(finding.reason, ""),
        )
        for finding in study.findings
    ]
    header = ("quantity", "ours", "checked by", "within", "paper", "difference", "unit", "verdict")
    print_rows(rows, (*header, "why"))
    for text, number in numbers.items():
        _print_folded(str(number), text)
    for check in checks(study.findings):
        typer.echo(f"{check.by}, {check.tolerance}: {check.test}")
    for exhibit in study.exhibits:
        _print_folded(f"{exhibit.label}, {exhibit.shows}", place(exhibit))


def _print_folded(label: str, text: str) -> None:
    """A line that begins with a label, folded under its own beginning."""
    indent = " " * min(len(label) + 2, 4)
    typer.echo(textwrap.fill(f"{label}: {text}", _WIDTH, subsequent_indent=indent))
