"""The commands `excite`, `identify` and `friction`: motions that tell, and what logs told."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from triskele.cli.inputs import AsJson, RobotName, built, positive, whole
from triskele.cli.output import (
    FIGURES,
    TABLES,
    give,
    limit_data,
    note,
    note_assumptions,
    output_path,
    print_rows,
    progress_bar,
    table_and_figure,
    write_columns,
)
from triskele.cli.payloads import Carried, CarriedCentre, CarriedInertia, carried_payload
from triskele.cli.shapes import option
from triskele.errors import InputError

if TYPE_CHECKING:
    from triskele.description.schema import Payload
    from triskele.identification.excitation import Excitation
    from triskele.identification.friction_curve import FrictionCurve
    from triskele.identification.identify import Identified
    from triskele.identification.verdict import Verdict

_FACTS = ("geometry", "bodies", "friction", "motors", "limits")
_USED = ("geometry", "motors", "weighed")
Table_ = Annotated[
    Path | None, typer.Option(help="Write the motion (.csv, .parquet, .json), or a figure.")
]
Drawing = Annotated[Path | None, typer.Option(help="Write a figure as well.")]
Count = {"parser": whole, "metavar": "<int>"}


def excite(
    robot: RobotName,
    criterion: Annotated[str, typer.Option(help="condition or d-optimal.")] = "condition",
    shape: Annotated[str, typer.Option(help="fourier or b-spline.")] = "fourier",
    duration: Annotated[str | None, option("Of the motion [s].", "6 s")] = None,
    terms: Annotated[int, typer.Option(help="Harmonics, or pieces of a spline.", **Count)] = 10,
    rate: Annotated[str | None, option("Samples per second [Hz].", "500 Hz")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random motions.", **Count)] = 0,
    steps: Annotated[int, typer.Option(help="Steps of the search.", **Count)] = 150,
    log: Annotated[
        Path | None, typer.Option(help="Write what the robot of the file would log (.csv).")
    ] = None,
    noise: Annotated[str | None, option("On each effort of that log, as 1.5,1.5,1.6.", "0")] = None,
    json: AsJson = False,
    out: Table_ = None,
    figure: Drawing = None,
) -> None:
    """A motion that makes a robot tell its parameters, within all its limits.

    Ctrl-C ends the search; the best motion so far is kept.

    Example: triskele excite abb_irb360_6_1600 --out motion.csv
    """
    from triskele.identification.excitation import excite as searched

    table, drawing = table_and_figure(out, figure, *TABLES, ".json")
    written = output_path(log, *TABLES)
    described, _ = built(robot)
    levels = _levels(noise, written)
    if seed < 0:
        raise InputError(f"--seed is {seed}; it must not be negative.")
    with progress_bar("search") as report:
        found = searched(
            described,
            criterion=criterion,
            shape=shape,
            duration=positive(duration, "s", "--duration", 6.0),
            terms=terms,
            rate=positive(rate, "Hz", "--rate", 500.0),
            seed=seed,
            steps=steps,
            progress=report,
        )
    if found.interrupted:
        note("note: interrupted; this is the best motion so far")
    if table is not None:
        write_columns(found.motion.to_table(), table)
    if written is not None:
        from triskele.identification.synthetic import synthetic_log

        write_columns(synthetic_log(described, found.motion, levels, seed=seed), written)
    if drawing is not None:
        from triskele.reports.figures import save_figure
        from triskele.reports.identification_figures import excitation_figure

        note(f"wrote {save_figure(excitation_figure(described.title, found), drawing)}")
    data = _excitation(described.name, found)
    give(data, None, json, lambda: _print_excitation(data))
    note_assumptions(described.assumptions(*_FACTS), robot)


def _levels(noise: str | None, log: Path | None) -> list[float]:
    if noise is None:
        return [0.0]
    if log is None:
        raise InputError("--noise is that of --log; name a file for it.")
    try:
        return [float(part) for part in noise.split(",")]
    except ValueError:
        raise InputError(f"--noise is '{noise}'; write numbers, as 1.5,1.5,1.6.") from None


def _excitation(name: str, found: "Excitation") -> dict:
    return {
        "robot": name,
        "criterion": found.criterion,
        "condition": found.condition,
        "base_parameters": found.rank,
        "interrupted": found.interrupted,
        "limits": [limit_data(use) for use in found.limits[:6]],
    }


def _print_excitation(data: dict) -> None:
    typer.echo(
        f"condition number {data['condition']:.3g} for {data['base_parameters']} base parameters"
    )
    rows = [(use["name"], f"{100 * use['use']:.0f}") for use in data["limits"]]
    print_rows(rows, ("tightest limits", "used %"))


# Identification

Logs = Annotated[list[Path], typer.Option("--log", help="A log to fit; repeat it for more.")]
Held = Annotated[
    list[Path] | None, typer.Option("--hold-out", help="A log to judge by, not fitted.")
]
Loaded = Annotated[
    list[Path] | None, typer.Option("--loaded", help="A log to fit, with the mass of --added.")
]
Added = Annotated[
    str | None, option("Known mass on the flange in the logs of --loaded [kg].", "none")
]
Arms = Annotated[
    list[Path] | None, typer.Option("--arms", help="A log of the arms alone, robot taken apart.")
]

Resting = Annotated[
    list[Path] | None, typer.Option("--rest", help="A log of static poses: noise, for weights.")
]


def identify(
    robot: RobotName,
    log: Logs,
    hold_out: Held = None,
    loaded: Loaded = None,
    added: Added = None,
    arms: Arms = None,
    rest: Resting = None,
    payload: Carried = None,
    payload_centre: CarriedCentre = None,
    payload_inertia: CarriedInertia = None,
    cutoff: Annotated[str | None, option("Of a filter on logs [Hz].", "none")] = None,
    window: Annotated[
        int | None,
        typer.Option(help="Samples that rates are taken from.", show_default="30 ms", **Count),
    ] = None,
    balls: Annotated[bool, typer.Option("--balls", help="Friction of ball joints too.")] = False,
    weighed: Annotated[bool, typer.Option(help="Parts on the scale keep their mass.")] = True,
    robust: Annotated[bool, typer.Option(help="Outliers count less.")] = True,
    check: Annotated[bool, typer.Option(help="Compare logs with the robot file first.")] = True,
    json: AsJson = False,
    out: Annotated[Path | None, typer.Option(help="Write the identified robot (.toml).")] = None,
    html: Annotated[Path | None, typer.Option(help="Write the verdict as a page (.html).")] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Write measured and predicted efforts.")
    ] = None,
) -> None:
    """Parameters of a robot from its logs, physically consistent, and whether to trust them.

    A log has t [s], q1 [rad], ... and tau1 [N m], motor1 [N m] or current1 [A], ...

    Example: triskele identify abb_irb360_6_1600 --log a.csv --hold-out b.csv --out mine.toml
    """
    from triskele.description.tables import read_table
    from triskele.identification.identify import IdentificationOptions

    target, page = output_path(out, ".toml"), output_path(html, ".html")
    drawing = output_path(figure, *FIGURES)
    described, _ = built(robot)
    carried = carried_payload(described, payload, payload_centre, payload_inertia)
    heavier = carried_payload(described, added, None, None, name="--added")
    options = IdentificationOptions(
        cutoff=None if cutoff is None else positive(cutoff, "Hz", "--cutoff", 0.0),
        window=window,
        robust=robust,
        balls=balls,
        weighed=weighed,
        trusted=not check,
    )
    tables = [
        [read_table(path) for path in paths or ()] for paths in (log, hold_out, arms, loaded, rest)
    ]
    found = _identified(described, tables, (carried, heavier), options)
    _write(found, target, page, drawing)
    data = found.verdict.to_dict() | {"robot": described.name}
    give(data, None, json, lambda: _print_verdict(found.verdict))
    note_assumptions(described.assumptions(*_USED), robot)


def _identified(
    described: object,
    tables: list,
    payloads: "tuple[Payload | None, Payload | None]",
    options: object,
) -> "Identified":
    from triskele.identification.identify import identify as fitted

    logs, held, arms, loaded, rest = tables
    payload, added = payloads
    return fitted(
        *(described, logs, held),  # pyright: ignore[reportArgumentType]
        arms=arms,
        payload=payload,
        loaded=loaded,
        added=added,
        rest=rest,
        options=options,  # pyright: ignore[reportArgumentType]
    )


def _write(
    found: "Identified", target: Path | None, page: Path | None, drawing: Path | None
) -> None:
    if target is not None:
        from triskele.description.save import save

        note(f"wrote {save(found.robot, target)}")
    if page is not None:
        from triskele.description.files import write_whole
        from triskele.reports.identification_page import identification_page

        note(f"wrote {write_whole(page, identification_page(found))}")
    if drawing is not None:
        from triskele.reports.figures import save_figure
        from triskele.reports.identification_figures import efforts_figure

        note(f"wrote {save_figure(efforts_figure(found), drawing)}")


def _print_verdict(verdict: "Verdict") -> None:
    header = ["drive", "effort", "fit", "base fit", "noise"]
    columns = [
        verdict.effort,
        verdict.fitted.consistent,
        verdict.fitted.base,
        verdict.noise,
    ]
    if verdict.held_out is not None:
        header += ["held out", "base held out"]
        columns += [verdict.held_out.consistent, verdict.held_out.base]
    if verdict.at_rest is not None:
        header.append("at rest")
        columns.append(verdict.at_rest)
    header.append("independent %")
    rows = [
        (str(k + 1), *(f"{column[k]:.4g}" for column in columns), f"{100 * share:.0f}")
        for k, share in enumerate(verdict.effective)
    ]
    typer.echo("root mean squares [N m, N]")
    print_rows(rows, header)
    typer.echo("")
    rows = [
        (p.formula, f"{p.value:.4g}", p.plus_minus, f"{p.file:.4g}", p.unit)
        for p in verdict.parameters
    ]
    print_rows(rows, (f"base parameters ({verdict.rank})", "value", "+- 95 %", "file", "unit"))
    typer.echo("")
    if verdict.prior_only:
        typer.echo("not told by these logs: " + ", ".join(verdict.prior_only))
    for sentence in verdict.recommendation:
        typer.echo(sentence)


# Friction


def friction(
    robot: RobotName,
    log: Annotated[
        list[Path],
        typer.Option("--log", help="A log of moves at constant speed; repeat it for more."),
    ],
    drive: Annotated[
        list[int] | None,
        typer.Option(help="A drive, from 1; repeat it for more.", show_default="all", **Count),
    ] = None,
    payload: Carried = None,
    payload_centre: CarriedCentre = None,
    payload_inertia: CarriedInertia = None,
    least: Annotated[str | None, option("Length of a stretch, at least [s].", "0.2 s")] = None,
    window: Annotated[
        int | None,
        typer.Option(help="Samples that rates are taken from.", show_default="30 ms", **Count),
    ] = None,
    model: Annotated[
        bool, typer.Option(help="Take the load away by the model, besides both directions.")
    ] = True,
    json: AsJson = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the points (.csv, .parquet, .json), or a figure.")
    ] = None,
    figure: Drawing = None,
) -> None:
    """Friction curve of each drive: effort against speed, and the law that fits it.

    A log is one of `identify`, in which drives move at constant speeds, to and fro.

    Example: triskele friction abb_irb360_6_1600 --log turns.csv --drive 4 --figure curve.png
    """
    from triskele.description.tables import read_table
    from triskele.identification.friction_curve import friction_curve

    table, drawing = table_and_figure(out, figure, *TABLES, ".json")
    described, _ = built(robot)
    found = friction_curve(
        described,
        [read_table(path) for path in log],
        payload=carried_payload(described, payload, payload_centre, payload_inertia),
        model=None if model else False,
        drives=drive or (),
        window=window,
        least=positive(least, "s", "--least", 0.2),
    )
    if table is not None:
        write_columns(found.to_table(), table)
    if drawing is not None:
        from triskele.reports.figures import save_figure
        from triskele.reports.identification_figures import friction_figure

        note(f"wrote {save_figure(friction_figure(found), drawing)}")
    give(found.to_dict(), None, json, lambda: _print_friction(found))
    if found.modelled:
        note_assumptions(described.assumptions("geometry", "bodies"), robot)


def _print_friction(found: "FrictionCurve") -> None:
    for k, drive in enumerate(found.drives):
        if k > 0:
            typer.echo("")
        rows = [
            (
                f"{p.speed:.4g}",
                f"{p.friction:.4g}",
                f"{1.96 * p.error:.2g}",
                *("-" if way is None else f"{way:.4g}" for way in (p.forward, p.backward)),
                f"{p.deviation:.3g}",
                p.samples,
            )
            for p in drive.points
        ]
        typer.echo(f"drive {drive.drive}: speed [{drive.speed_unit}], friction [{drive.unit}]")
        if rows:
            header = ("speed", "friction", "+- 95 %", "forward", "backward", "deviation", "samples")
            print_rows(rows, header)
        if drive.best is not None:
            typer.echo(f"{drive.best.shape}; under [friction.{drive.section}]:")
            law = [
                (c.name, f"{c.value:.4g}", _plus_minus(c.half_interval), c.unit)
                for c in drive.best.coefficients
            ]
            print_rows(law, ("coefficient", "value", "+- 95 %", "unit"))
    load = "the model and both directions" if found.modelled else "both directions"
    typer.echo(f"the load is taken away by {load}")
    for sentence in found.notes:
        typer.echo(sentence)


def _plus_minus(half: float | None) -> str:
    return "unknown" if half is None else f"{half:.2g}"
