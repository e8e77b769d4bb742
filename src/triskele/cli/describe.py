"""Commands about robot files: robots, show, init, check, schema."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from triskele.cli.inputs import AsJson, RobotName
from triskele.cli.output import (
    FIGURES,
    note,
    note_assumptions,
    output_path,
    print_json,
    print_rows,
    progress_bar,
    write_json,
)
from triskele.description.catalogue import template, templates
from triskele.errors import DescriptionError, InputError

if TYPE_CHECKING:
    from triskele.description.mechanism import Mechanism
    from triskele.description.schema import Robot
    from triskele.reports.datasheet import Datasheet

_MOST_PROBLEMS = 50  #: that `check` prints


def robots(json: AsJson = False) -> None:
    """List the robots that ship with the package.

    Example: triskele robots
    """
    from triskele.description import catalogue
    from triskele.description.load import load

    found = [load(name) for name in catalogue.names()]
    if json:
        print_json(
            [{k: getattr(r, k) for k in ("name", "kind", "title", "summary")} for r in found]
        )
        return
    print_rows([(r.name, r.kind, r.summary or r.title) for r in found], ("name", "kind", "summary"))


def show(
    robot: RobotName,
    json: AsJson = False,
    out: Annotated[
        Path | None, typer.Option(help="Write a figure (.png, .svg, .pdf) or the data (.json).")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with workspace, torques, stiffness, modes.")
    ] = None,
) -> None:
    """Show what a robot is: geometry, mobility, home, margins, what is assumed.

    Example: triskele show abb_irb360_6_1600 --out robot.png
    """
    from triskele.description.load import load_any
    from triskele.description.mechanism import Mechanism

    target, sheet_page = output_path(out, *FIGURES, ".json"), output_path(html, ".html")
    described = load_any(robot)
    if isinstance(described, Mechanism):
        if sheet_page is not None:
            raise InputError(f"--html is for robots; {described.name} is a mechanism.")
        _show_mechanism(described, target, json)
        return
    from triskele.reports.datasheet import datasheet

    sheet = datasheet(described)
    data = sheet.as_json() | {
        "facts": [fact._asdict() for fact in described.facts],
        "sections": _sections(described),
    }
    if target is not None:
        _write_sheet(sheet, data, target)
        note(f"wrote {target}")
    if sheet_page is not None:
        _write_page(sheet, sheet_page)
    if json:
        print_json(data)
    else:
        _print_sheet(sheet)
    note_assumptions(sheet.assumptions, robot, most=len(sheet.assumptions))


def _show_mechanism(mechanism: "Mechanism", target: Path | None, json: bool) -> None:
    if target is not None:
        if target.suffix.lower() == ".json":
            raise InputError("The data of a mechanism are printed by --json; --out is a figure.")
        from triskele.multibody.from_file import from_file
        from triskele.reports.figures import save_figure
        from triskele.reports.multibody_figures import mechanism_figure

        model = from_file(mechanism)
        save_figure(mechanism_figure(mechanism.title, model.system, model.start), target)
        note(f"wrote {target}")
    _print_mechanism(mechanism, json, whole=True)


def init(
    kind: Annotated[str, typer.Argument(help=f"One of {', '.join(templates())}.")],
    path: Annotated[Path, typer.Argument(help="The file to write, ending in .toml.")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write a commented robot file to start from.

    Example: triskele init delta my.toml
    """
    from triskele.description.files import write_whole

    text = template(kind)
    target = output_path(path, ".toml")
    assert target is not None, "a path was given"
    if target.exists() and not force:
        raise InputError(f"{target}: exists already; choose another name, or add --force.")
    write_whole(target, text)
    note(f"wrote {target}; edit it, then: triskele check {target}")


def check(robot: RobotName, json: AsJson = False) -> None:
    """Say what is wrong with a robot file, or what the robot is.

    Example: triskele check my.toml
    """
    from triskele.description.load import load_any
    from triskele.description.mechanism import Mechanism

    try:
        described = load_any(robot)
        if isinstance(described, Mechanism):
            _print_mechanism(described, json)
            note_assumptions(described.assumptions(), robot)
            return
        from triskele.reports.datasheet import datasheet

        sheet = datasheet(described)
    except DescriptionError as error:
        *others, last = error.problems[:_MOST_PROBLEMS]
        for problem in others:
            note(f"triskele: {problem}")
        more = len(error.problems) - _MOST_PROBLEMS
        raise DescriptionError(f"{last} ({more} more.)" if more > 0 else last) from None
    if json:
        print_json(sheet.as_json())
    else:
        typer.echo(f"{described.title}: a {described.kind} robot")
        _print_state(sheet)
        for remark in sheet.remarks:
            typer.echo(f"suspicious: {remark}")
    note_assumptions(sheet.assumptions, robot)
    if sheet.problems:
        for problem in sheet.problems[:-1]:
            note(f"triskele: {robot}, {problem}")
        raise DescriptionError(f"{robot}, {sheet.problems[-1]}")


def schema(
    out: Annotated[Path | None, typer.Option(help="Write to this .json file.")] = None,
) -> None:
    """Print the JSON Schema of robot files, for editors.

    Example: triskele schema --out robot.schema.json
    """
    from triskele.description.json_schema import json_schema

    target = output_path(out, ".json")
    if target is None:
        print_json(json_schema())
    else:
        write_json(json_schema(), target)
        note(f"wrote {target}")


def _print_mechanism(mechanism: "Mechanism", json: bool, *, whole: bool = False) -> None:
    """Assemble a mechanism and say how freely it moves; all of its numbers if `whole`."""
    from triskele.cli.multibody import shown_length
    from triskele.doctor.mechanisms import mechanism_remarks
    from triskele.multibody.from_file import from_file
    from triskele.multibody.redundancy import mobility
    from triskele.multibody.solve import violation
    from triskele.multibody.system import origins

    model = from_file(mechanism)
    remarks = list(dict.fromkeys(mechanism_remarks(mechanism)))
    free = model.system.with_free_motors()
    counted = mobility(free, model.start)
    residual = float(violation(free, model.start)[0])
    places = origins(model.system, model.start).tolist()
    if json:
        print_json(
            {
                "name": mechanism.name,
                "kind": mechanism.kind,
                "mobility": counted._asdict(),
                "residual": residual,
                "bodies": dict(zip(model.system.bodies, places, strict=True)),
                "remarks": remarks,
                "assumptions": [fact._asdict() for fact in mechanism.assumptions()],
            }
        )
        return
    typer.echo(f"{mechanism.title}: a mechanism of {len(mechanism.joints)} joints")
    if whole:
        print_rows([(fact.key, fact.text, fact.reason) for fact in mechanism.facts])
    typer.echo(str(counted))
    typer.echo(f"assembled with a residual of {residual:.1e} m; frames of the bodies:")
    rows = zip(model.system.bodies, places, strict=True)
    print_rows(
        [(name, *(shown_length(value) for value in place)) for name, place in rows],
        ("body", "x [m]", "y [m]", "z [m]"),
    )
    for remark in remarks:
        typer.echo(f"suspicious: {remark}")


def _write_sheet(sheet: "Datasheet", data: dict[str, object], target: Path) -> None:
    """The data as JSON, or a picture of the robot at home."""
    if target.suffix.lower() == ".json":
        write_json(data, target)
        return
    from triskele.numerics import stacked
    from triskele.reports.figures import robot_figure, save_figure

    home = stacked(sheet.mechanism.home())
    save_figure(robot_figure(sheet.robot, sheet.mechanism, home), target)


def _write_page(sheet: "Datasheet", target: Path) -> None:
    from importlib.metadata import version

    from triskele.description.files import write_whole
    from triskele.reports.datasheet_page import datasheet_page

    with progress_bar("data sheet") as progress:
        text = datasheet_page(sheet, version("triskele"), progress)
    note(f"wrote {write_whole(target, text)}")


def _print_sheet(sheet: "Datasheet") -> None:
    robot = sheet.robot
    typer.echo(f"{robot.title} ({robot.name})")
    typer.echo(f"{robot.summary}\n" if robot.summary else "")
    print_rows(
        [
            (fact.key.removeprefix("geometry."), fact.text)
            for fact in robot.facts
            if fact.key.startswith("geometry.")
        ]
    )
    typer.echo("")
    _print_state(sheet)
    typer.echo(f"the file also has: {', '.join(_sections(robot)) or 'nothing more'}")


def _sections(robot: "Robot") -> list[str]:
    """Names of the optional sections that a robot file has."""
    names = (
        "bodies",
        "friction",
        "motors",
        "materials",
        "sections",
        "flexures",
        "control",
        "encoders",
        "weighed",
        "disassembled",
        "payloads",
    )
    return [name for name in names if getattr(robot, name, None)]


def _print_state(sheet: "Datasheet") -> None:
    """Mobility, home, residual and margins of a data sheet."""
    from triskele.reports.datasheet import state_rows

    print_rows(state_rows(sheet))
