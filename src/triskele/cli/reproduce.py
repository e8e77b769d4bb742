"""The command `reproduce`: published experiments, the paper's value beside ours."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from triskele.cli.inputs import AsJson
from triskele.cli.output import note, print_json, print_rows, progress_bar
from triskele.errors import InputError, UnknownName, did_you_mean

if TYPE_CHECKING:
    from triskele.studies.study import Study

STUDIES = (
    "rigid_delta",
    "d3s800",
    "irb360_planning",
    "flexible_delta",
    "virtual_sensor",
    "irb360_identification",
    "compliant_3prs",
)  #: in the order they run


def reproduce(
    name: Annotated[str | None, typer.Argument(help=f"{', '.join(STUDIES)}; all if none.")] = None,
    json: AsJson = False,
    figures: Annotated[Path | None, typer.Option(help="Folder to write the figures to.")] = None,
) -> None:
    """Published experiments: the paper's value, ours, and whether they agree.

    Example: triskele reproduce rigid_delta
    """
    if name is not None and name not in STUDIES:
        raise UnknownName(f"There is no study '{name}'. {did_you_mean(name, STUDIES)}")
    if figures is not None and not figures.is_dir():
        raise InputError(f"--figures {figures}: there is no such folder; make it first.")
    studies = [_run(study) for study in ([name] if name else STUDIES)]
    for study in studies:
        _write_figures(study, figures)
    rows = [finding._asdict() for study in studies for finding in study.findings]
    if json:
        print_json({"rows": rows})
        return
    for study in studies:
        _print(study)


def _run(name: str) -> "Study":
    study = import_module(f"triskele.studies.{name}")
    with progress_bar(name) as report:
        return study.run(report)


def _write_figures(study: "Study", folder: Path | None) -> None:
    if folder is None:
        return
    from triskele.reports.figures import save_figure

    for name, figure in study.figures.items():
        note(f"wrote {save_figure(figure, folder / f'{study.name}_{name}.png')}")


def _print(study: "Study") -> None:
    typer.echo(f"{study.title} ({study.source})")
    rows = [
        (
            finding.quantity,
            "-" if finding.paper is None else f"{finding.paper:.5g}",
            "-" if finding.ours is None else f"{finding.ours:.5g}",
            finding.unit,
            finding.verdict,
        )
        for finding in study.findings
    ]
    print_rows(rows, ("quantity", "paper", "ours", "unit", "verdict"))
    for reason in dict.fromkeys(finding.reason for finding in study.findings if finding.reason):
        typer.echo(f"because {reason}")
