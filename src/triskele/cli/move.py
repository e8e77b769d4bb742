"""Commands about position: ik, fk, workspace."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from triskele.cli.inputs import AsJson, RobotName, built, refuse_options, vector, whole
from triskele.cli.output import (
    FIGURES,
    TABLES,
    give,
    note,
    note_assumptions,
    output_path,
    print_rows,
    progress_bar,
)
from triskele.errors import InputError, OutOfReach
from triskele.units import display

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Array

    from triskele.description.schema import Robot
    from triskele.kinematics.mechanism import AbstractMechanism, Coordinate
    from triskele.kinematics.workspace import Workspace
    from triskele.numerics import Scalars

Numbers = Annotated[
    list[str] | None, typer.Argument(help="One per coordinate; in m and rad, or as 200mm, 30deg.")
]
_LIMITING = ("geometry", "limits")


def ik(
    context: typer.Context,
    robot: RobotName,
    coordinates: Numbers = None,
    poses: Annotated[
        Path | None, typer.Option(help="A table of poses (.csv, .parquet) instead of numbers.")
    ] = None,
    all_modes: Annotated[bool, typer.Option("--all-modes", help="All working modes.")] = False,
    json: AsJson = False,
    out: Annotated[
        Path | None, typer.Option(help="Write one pose (.json), or a table (.csv, .parquet).")
    ] = None,
) -> None:
    """Joint coordinates that put the platform at a pose.

    Example: triskele ik abb_irb360_6_1600 0.2 -0.3 -1.0 30deg
    """
    refuse_options(context, [robot, *(coordinates or ())])
    if poses is None and out is not None and out.suffix.lower() in TABLES:
        raise InputError(f"{out}: one pose is written as .json; tables are for --poses.")
    target = output_path(out, *((".json",) if poses is None else TABLES))
    described, mechanism = built(robot)
    if poses is not None:
        if coordinates or json or all_modes:
            extra = "coordinates" if coordinates else "--json" if json else "--all-modes"
            raise InputError(f"Give --poses or {extra}, not both.")
        _table_ik(mechanism, poses, target)
        note_assumptions(described.assumptions("geometry"), robot)
        return
    what = f"The pose of {described.name}"
    x = vector(coordinates or (), mechanism.platform_coordinates, what)
    data = _solved(described, mechanism, x, all_modes=all_modes)
    give(data, target, json, lambda: _print_ik(data))
    if data["outside_limits"] is not None:
        note(f"beyond the limits of the robot file: {data['outside_limits']}")
    note_assumptions(described.assumptions("geometry"), robot)


def fk(
    context: typer.Context,
    robot: RobotName,
    joints: Numbers = None,
    all_modes: Annotated[bool, typer.Option("--all-modes", help="All assembly modes.")] = False,
    json: AsJson = False,
    out: Annotated[Path | None, typer.Option(help="Write to a .json file.")] = None,
) -> None:
    """Platform coordinates reached with the joints at given values.

    Example: triskele fk abb_irb360_6_1600 0 0 0 0
    """
    refuse_options(context, [robot, *(joints or ())])
    target = output_path(out, ".json")
    described, mechanism = built(robot)
    what = f"The joint vector of {described.name}"
    q = vector(joints or (), mechanism.joint_coordinates, what)
    solution = mechanism.forward(q)
    if not float(solution.margin) >= 0:
        shown = _text(mechanism.joint_coordinates, q)
        raise OutOfReach(f"The loops of {described.name} cannot be closed with {shown}.")
    data: dict[str, object] = {
        "robot": described.name,
        "joints": _named(mechanism.joint_coordinates, q),
        "platform": _named(mechanism.platform_coordinates, solution.value),
        "units": _units(mechanism),
        "margin": float(solution.margin),
        "assumptions": [fact._asdict() for fact in described.assumptions("geometry")],
    }
    if all_modes:
        data["assembly_modes"] = [
            _named(mechanism.platform_coordinates, mode) for mode in mechanism.assembly_modes(q)
        ]
    give(data, target, json, lambda: _print_fk(data))
    note_assumptions(described.assumptions("geometry"), robot)


def workspace(
    robot: RobotName,
    resolution: Annotated[
        int, typer.Option(help="Grid points along each coordinate.", parser=whole, metavar="<int>")
    ] = 97,
    guaranteed: Annotated[
        bool, typer.Option("--guaranteed", help="Only inside the cylinder the maker declares.")
    ] = False,
    json: AsJson = False,
    out: Annotated[Path | None, typer.Option(help="Write a figure or a .json file.")] = None,
) -> None:
    """The set of reachable poses: volume, extent, picture.

    Example: triskele workspace abb_irb360_6_1600 --out workspace.png
    """
    target = output_path(out, *FIGURES, ".json")
    described, mechanism = built(robot)
    if guaranteed:
        described.require("limits.workspace_height", "--guaranteed")
    from triskele.kinematics import workspace as spaces

    with progress_bar("sampling the workspace") as progress:
        space = spaces.workspace(
            mechanism,
            described.limits,
            resolution=resolution,
            guaranteed=guaranteed,
            progress=progress,
        )
    room = spaces.guaranteed_room(mechanism, described.limits) if "x" in space.names else None
    data: dict[str, object] = {
        "robot": described.name,
        "volume": space.volume,
        "uncertainty": space.uncertainty,
        "unit": space.unit,
        "bounds": {
            name: {"least": float(low), "greatest": float(high), "unit": unit}
            for name, unit, (low, high) in zip(space.names, space.units, space.bounds, strict=True)
        },
        "resolution": resolution,
        "guaranteed_cylinder_room": room,
        "assumptions": [fact._asdict() for fact in described.assumptions(*_LIMITING)],
    }
    if target is not None and target.suffix.lower() in FIGURES:
        _draw(described, mechanism, space, target)
        target = None
    give(data, target, json, lambda: _print_workspace(space, room))
    note_assumptions(described.assumptions(*_LIMITING), robot)


# Working


def _solved(
    robot: "Robot", mechanism: "AbstractMechanism", x: "Array", *, all_modes: bool
) -> dict[str, object]:
    """The joints at the pose `x`, with all that is known about it."""
    from triskele.kinematics.modes import working_modes
    from triskele.kinematics.reach import worst_slack
    from triskele.kinematics.singularity import singularity_margins

    _check_legs(mechanism, x)
    q = mechanism.inverse(x).value
    margins = singularity_margins(mechanism, q, x)
    legs = len(mechanism.working_mode)
    data: dict[str, object] = {
        "robot": robot.name,
        "platform": _named(mechanism.platform_coordinates, x),
        "joints": _named(mechanism.joint_coordinates, q),
        "passive": _named(mechanism.passive_coordinates, mechanism.passive(q, x)),
        "units": _units(mechanism),
        "singularity_margins": {
            "type1": [float(value) for value in margins.type1[:legs]],
            "type2": float(margins.type2),
        },
        "outside_limits": worst_slack(mechanism, robot.limits, x),
        "assumptions": [fact._asdict() for fact in robot.assumptions(*_LIMITING)],
    }
    if all_modes:
        data["working_modes"] = [
            {"mode": list(mode), "joints": _named(mechanism.joint_coordinates, found.value)}
            for mode, found in working_modes(mechanism, x).items()
        ]
    return data


def _check_legs(mechanism: "AbstractMechanism", x: "Array") -> None:
    """Refuse a pose that the legs cannot reach, whatever the limits."""
    from triskele.description.schema import Limits
    from triskele.kinematics.reach import worst_slack
    from triskele.numerics import stacked

    margins = [float(margin) for margin in mechanism.inverse(x).margins]
    if min(margins) < 0:
        leg = margins.index(min(margins)) + 1
        reason = f"leg {leg} cannot reach (margin {min(margins):.4g})"
    else:
        reason = worst_slack(mechanism, Limits(singularity_margin=0.0), x)
    if reason is not None:
        home = stacked(mechanism.home()).round(4)
        raise OutOfReach(
            f"The pose {_text(mechanism.platform_coordinates, x)} is out of reach: {reason}. "
            f"Home is {_text(mechanism.platform_coordinates, home)}."
        )


def _table_ik(mechanism: "AbstractMechanism", path: Path, out: Path | None) -> None:
    """Inverse kinematics of a table of poses, written as a table."""
    import numpy as np

    from triskele.description.tables import Table, read_table, write_table
    from triskele.numerics import batch

    if out is None:
        raise InputError("With --poses, name a table to write, such as --out joints.csv.")
    table = read_table(path)
    poses = np.stack([table.column(name, unit) for name, unit in mechanism.platform_coordinates], 1)
    solution = batch(mechanism.inverse)(poses)
    bad = np.flatnonzero(~(np.asarray(solution.margin) >= 0))
    if len(bad):
        raise OutOfReach(
            f"{path}: {len(bad)} of {len(poses)} poses are out of reach, the first in row "
            f"{bad[0] + 1}: {_text(mechanism.platform_coordinates, poses[bad[0]])}."
        )
    columns = {name: (table[name].unit, table[name].values) for name in table.names}
    for k, (name, unit) in enumerate(mechanism.joint_coordinates):
        columns[name] = (unit, np.asarray(solution.value[:, k]))
    write_table(Table(columns), out)  # pyright: ignore[reportArgumentType]
    note(f"wrote {out}")


def _draw(robot: "Robot", mechanism: "AbstractMechanism", space: "Workspace", target: Path) -> None:
    from triskele.numerics import stacked
    from triskele.reports.figures import save_figure, workspace_figure

    save_figure(workspace_figure(robot, mechanism, space, stacked(mechanism.home())), target)
    note(f"wrote {target}")


# Printing


def _named(coordinates: "tuple[Coordinate, ...]", values: "Array | Scalars") -> dict[str, float]:
    return {c.name: float(value) for c, value in zip(coordinates, values, strict=True)}


def _text(coordinates: "tuple[Coordinate, ...]", values: "Array | np.ndarray") -> str:
    """As `x = 0.1 m, y = 0 m`."""
    pairs = zip(coordinates, values, strict=True)
    return ", ".join(f"{c.name} = {float(value) + 0.0:g} {c.unit}" for c, value in pairs)


def _units(mechanism: "AbstractMechanism") -> dict[str, str]:
    groups = (mechanism.platform_coordinates, mechanism.joint_coordinates)
    return {c.name: c.unit for group in (*groups, mechanism.passive_coordinates) for c in group}


def _rows(values: dict[str, float], units: dict[str, str]) -> list[tuple[str, str, str]]:
    """Name, SI value, and the value in mm or deg; what rounds to zero is zero."""
    rows = []
    for name, value in values.items():
        factor, unit = display(units[name])
        value = round(value, 12) + 0.0
        rows.append((name, f"{value:.9g} {units[name]}", f"{factor * value:.6f} {unit}"))
    return rows


def _print_ik(data: dict) -> None:
    print_rows(_rows(data["joints"] | data["passive"], data["units"]))
    margins = data["singularity_margins"]
    typer.echo(f"margins: type 1 {min(margins['type1']):.3f}, type 2 {margins['type2']:.3f}")
    for mode in data.get("working_modes", ()):
        joints = ", ".join(f"{name} {value:.6g}" for name, value in mode["joints"].items())
        typer.echo(f"working mode {tuple(mode['mode'])}: {joints}")


def _print_fk(data: dict) -> None:
    print_rows(_rows(data["platform"], data["units"]))
    for mode in data.get("assembly_modes", ()):
        shown = (f"{name} {round(value, 12) + 0.0:.6g}" for name, value in mode.items())
        typer.echo("assembly mode: " + ", ".join(shown))


def _print_workspace(space: "Workspace", room: float | None) -> None:
    typer.echo(f"volume {space.volume:.4g} {space.unit} (+- {space.uncertainty:.1g})")
    rows = []
    for name, unit, (low, high) in zip(space.names, space.units, space.bounds, strict=True):
        rows.append((name, f"{low:.4g} {unit}", "to", f"{high:.4g} {unit}"))
    print_rows(rows)
    if room is not None:
        verdict = "reachable everywhere" if room >= 0 else "NOT reachable everywhere"
        typer.echo(f"guaranteed cylinder: {verdict} (least room {room:.3g})")
