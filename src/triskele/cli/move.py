"""Commands about position: ik, fk, workspace."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from triskele.cli.inputs import (
    AsJson,
    RobotName,
    built,
    named_numbers,
    refuse_options,
    vector,
    whole,
)
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
    from triskele.description.schema import Robot
    from triskele.kinematics.mechanism import AbstractMechanism, Coordinate
    from triskele.kinematics.workspace import Guaranteed, Workspace
    from triskele.numerics import AnyArray, Scalars

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
    assembly: Annotated[
        str | None, typer.Option(help="Name of another assembly.", show_default="built")
    ] = None,
    all_modes: Annotated[bool, typer.Option("--all-modes", help="All assembly modes.")] = False,
    json: AsJson = False,
    out: Annotated[Path | None, typer.Option(help="Write to a .json file.")] = None,
) -> None:
    """Platform coordinates reached with the joints at given values.

    They are those of the assembly in which the file describes the robot, or of another one that it
    names; --all-modes lists all.

    Example: triskele fk abb_irb360_6_1600 0 0 0 0
    """
    refuse_options(context, [robot, *(joints or ())])
    target = output_path(out, ".json")
    described, mechanism = built(robot)
    mechanism = mechanism if assembly is None else mechanism.in_assembly(assembly)
    what = f"The joint vector of {described.name}"
    q = vector(joints or (), mechanism.joint_coordinates, what)
    solution, platform = mechanism.forward(q), mechanism.platform_coordinates
    modes = [_named(platform, mode) for mode in mechanism.assembly_modes(q)] if all_modes else []
    closed = float(solution.margin) >= 0
    if not closed and not modes:
        shown = _text(mechanism.joint_coordinates, q)
        raise OutOfReach(f"The loops of {described.name} cannot be closed with {shown}.")
    data: dict[str, object] = {
        "robot": described.name,
        "joints": _named(mechanism.joint_coordinates, q),
        "platform": _named(platform, solution.value) if closed else None,
        "units": _units(mechanism),
        "margin": float(solution.margin),
        "assumptions": [fact._asdict() for fact in described.assumptions("geometry")],
    }
    if all_modes:
        data["assembly_modes"] = modes
    give(data, target, json, lambda: _print_fk(data))
    note_assumptions(described.assumptions("geometry"), robot)


def workspace(
    robot: RobotName,
    over: Annotated[
        str | None,
        typer.Option(
            help="One to three coordinates to sample, as x,y,z or a,b,c.", show_default="lengths"
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            help="Values of the other coordinates, as z=-0.9,a=10deg.", show_default="home"
        ),
    ] = None,
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

    Over two coordinates it is an area. Where the robot file declares a cylinder, the place with
    the least room in it follows: room is what is left to the nearest limit, in the unit of that
    limit (deg, m; margins have none).

    Example: triskele workspace abb_irb360_6_1600 --out workspace.png
    """
    target = output_path(out, *FIGURES, ".json")
    described, mechanism = built(robot)
    coordinates = mechanism.platform_coordinates
    names = None if over is None else [name.strip() for name in over.split(",")]
    held = {} if at is None else named_numbers(at, coordinates, "--at")
    if guaranteed:
        described.require("limits.workspace_height", "--guaranteed")
    from triskele.kinematics import workspace as spaces

    with progress_bar("sampling the workspace") as progress:
        space = spaces.workspace(
            mechanism,
            described.limits,
            over=names,
            at=held,
            resolution=resolution,
            guaranteed=guaranteed,
            progress=progress,
        )
    worst = spaces.guaranteed_room(mechanism, described.limits)
    data = _space_data(described, mechanism, space, worst) | {"resolution": resolution}
    if target is not None and target.suffix.lower() in FIGURES:
        _draw(described, mechanism, space, target)
        target = None
    give(data, target, json, lambda: _print_workspace(mechanism, space, worst))
    note_assumptions(described.assumptions(*_LIMITING), robot)


# Working


def _space_data(
    described: "Robot",
    mechanism: "AbstractMechanism",
    space: "Workspace",
    worst: "Guaranteed | None",
) -> dict[str, object]:
    """What is told of a workspace."""
    return {
        "robot": described.name,
        space.measure: space.volume,
        "uncertainty": space.uncertainty,
        "unit": space.unit,
        "bounds": {
            name: {"least": float(low), "greatest": float(high), "unit": unit}
            for name, unit, (low, high) in zip(space.names, space.units, space.bounds, strict=True)
        },
        "held": {c.name: {"value": value, "unit": c.unit} for c, value in space.held},
        "guaranteed_cylinder_room": None if worst is None else worst.room,
        "guaranteed_cylinder_worst": _worst(mechanism, worst),
        "assumptions": [fact._asdict() for fact in described.assumptions(*_LIMITING)],
    }


def _solved(
    robot: "Robot", mechanism: "AbstractMechanism", x: "AnyArray", *, all_modes: bool
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
        listed: dict[tuple[float, ...], tuple[int, ...]] = {}
        for mode, found in working_modes(mechanism, x).items():
            listed.setdefault(tuple(map(float, found.value)), mode)  # struts have one mode only
        data["working_modes"] = [
            {"mode": list(mode), "joints": _named(mechanism.joint_coordinates, values)}
            for values, mode in listed.items()
        ]
    return data


def _check_legs(mechanism: "AbstractMechanism", x: "AnyArray") -> None:
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


def _worst(mechanism: "AbstractMechanism", found: "Guaranteed | None") -> dict[str, object] | None:
    """Where the declared cylinder has least room, and what refuses it; None without a cylinder."""
    if found is None:
        return None
    pose = _named(mechanism.platform_coordinates, found.pose)
    return {
        "pose": pose,
        "outside_limits": found.reason,
        "nearest_limit": found.nearest,
        "part_out_of_reach": found.out,
    }


def _draw(robot: "Robot", mechanism: "AbstractMechanism", space: "Workspace", target: Path) -> None:
    from triskele.numerics import stacked
    from triskele.reports.figures import save_figure, workspace_figure

    save_figure(workspace_figure(robot, mechanism, space, stacked(mechanism.home())), target)
    note(f"wrote {target}")


# Printing


def _named(coordinates: "tuple[Coordinate, ...]", values: "AnyArray | Scalars") -> dict[str, float]:
    return {c.name: float(value) for c, value in zip(coordinates, values, strict=True)}


def _text(coordinates: "tuple[Coordinate, ...]", values: "AnyArray") -> str:
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
        shown = round(factor * value, 6) + 0.0
        rows.append((name, f"{value:.9g} {units[name]}", f"{shown:.6f} {unit}"))
    return rows


def _print_ik(data: dict) -> None:
    print_rows(_rows(data["joints"] | data["passive"], data["units"]))
    margins = data["singularity_margins"]
    typer.echo(f"margins: type 1 {min(margins['type1']):.3f}, type 2 {margins['type2']:.3f}")
    for mode in data.get("working_modes", ()):
        joints = ", ".join(f"{name} {value:.6g}" for name, value in mode["joints"].items())
        typer.echo(f"working mode {tuple(mode['mode'])}: {joints}")


def _print_fk(data: dict) -> None:
    if data["platform"] is None:
        typer.echo("the loops do not close in the assembly of the file")
    else:
        print_rows(_rows(data["platform"], data["units"]))
    for mode in data.get("assembly_modes", ()):
        shown = (f"{name} {round(value, 12) + 0.0:.6g}" for name, value in mode.items())
        typer.echo("assembly mode: " + ", ".join(shown))


def _print_workspace(
    mechanism: "AbstractMechanism", space: "Workspace", worst: "Guaranteed | None"
) -> None:
    typer.echo(f"{space.measure} {space.volume:.4g} {space.unit} (+- {space.uncertainty:.1g})")
    rows = []
    for name, unit, (low, high) in zip(space.names, space.units, space.bounds, strict=True):
        rows.append((name, f"{low:.4g} {unit}", "to", f"{high:.4g} {unit}"))
    print_rows(rows)
    moved = [f"{c.name} = {round(value, 12) + 0.0:.4g} {c.unit}" for c, value in space.held]
    if moved:
        typer.echo(f"with {', '.join(moved)}")
    if worst is None:
        return
    place = _text(mechanism.platform_coordinates, worst.pose.round(4))
    if worst.reason is None:
        typer.echo("guaranteed cylinder: reachable everywhere")
        typer.echo(f"least room at {place}: {worst.nearest}")
        return
    part = f"{100 * worst.out:.2g} % of the places looked at on its surface"
    typer.echo(f"guaranteed cylinder: NOT reachable everywhere; {part}")
    typer.echo(f"worst at {place}: {worst.reason}")
