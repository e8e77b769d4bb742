"""Commands about position and motion: ik, fk, workspace, motion."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from triskele.cli.describe import FIGURES, AsJson, RobotName
from triskele.cli.output import (
    note,
    note_assumptions,
    output_path,
    print_json,
    print_rows,
    progress_bar,
    write_json,
)
from triskele.errors import InputError, OutOfReach, UnknownName, did_you_mean
from triskele.units import read_quantity

if TYPE_CHECKING:
    import numpy as np

    from triskele.description.schema import Robot
    from triskele.kinematics.mechanism import AbstractMechanism, Coordinate
    from triskele.kinematics.motion import Motion

Numbers = Annotated[
    list[str] | None, typer.Argument(help="One per coordinate; in m and rad, or as 30deg, 200mm.")
]
TABLES = (".csv", ".parquet")
_LIMITING = ("geometry", "limits")


def ik(
    robot: RobotName,
    coordinates: Numbers = None,
    poses: Annotated[
        Path | None, typer.Option(help="A table of poses (.csv, .parquet) instead of numbers.")
    ] = None,
    all_modes: Annotated[bool, typer.Option("--all-modes", help="All working modes.")] = False,
    json: AsJson = False,
    out: Annotated[Path | None, typer.Option(help="Write to .json, .csv or .parquet.")] = None,
) -> None:
    """Joint coordinates that put the platform at a pose.

    Example: triskele ik abb_irb360_6_1600 0.2 -0.3 -1.0 30deg
    """
    described, mechanism = _built(robot)
    target = output_path(out, ".json", *TABLES)
    if poses is not None:
        _table_ik(mechanism, poses, coordinates, target)
        return
    import numpy as np

    from triskele.kinematics.modes import working_modes
    from triskele.kinematics.reach import worst_slack
    from triskele.kinematics.singularity import singularity_margins

    x = _values(coordinates, mechanism.platform_coordinates, described.name)
    _check_legs(mechanism, x)
    q = np.asarray(mechanism.inverse(x).value)
    margins = singularity_margins(mechanism, q, x)
    outside = worst_slack(mechanism, described.limits, x)  # pyright: ignore[reportArgumentType]
    legs = len(mechanism.working_mode)
    data: dict[str, object] = {
        "robot": described.name,
        "platform": _named(mechanism.platform_coordinates, x),
        "joints": _named(mechanism.joint_coordinates, q),
        "passive": _named(mechanism.passive_coordinates, mechanism.passive(q, x)),
        "units": _units(mechanism),
        "singularity_margins": {
            "type1": [float(value) for value in margins.type1[:legs]],
            "type2": float(margins.type2),
        },
        "outside_limits": outside,
        "assumptions": [fact._asdict() for fact in described.assumptions(*_LIMITING)],
    }
    if all_modes:
        data["working_modes"] = [
            {"mode": list(mode), "joints": _named(mechanism.joint_coordinates, found.value)}
            for mode, found in working_modes(mechanism, x).items()
        ]
    _give(data, target, json, lambda: _print_ik(mechanism, data))
    if outside is not None:
        note(f"beyond the limits of the robot file: {outside}")
    note_assumptions(described.assumptions("geometry"))


def fk(
    robot: RobotName,
    joints: Numbers = None,
    all_modes: Annotated[bool, typer.Option("--all-modes", help="All assembly modes.")] = False,
    json: AsJson = False,
    out: Annotated[Path | None, typer.Option(help="Write to a .json file.")] = None,
) -> None:
    """Platform coordinates reached with the joints at given values.

    Example: triskele fk abb_irb360_6_1600 0 0 0 0
    """
    described, mechanism = _built(robot)
    target = output_path(out, ".json")
    import numpy as np

    q = _values(joints, mechanism.joint_coordinates, described.name)
    solution = mechanism.forward(q)
    if not float(solution.margin) >= 0:
        shown = ", ".join(
            f"{c.name} = {value:g} {c.unit}"
            for c, value in zip(mechanism.joint_coordinates, q, strict=True)
        )
        raise OutOfReach(f"The loops of {described.name} cannot be closed with {shown}.")
    x = np.asarray(solution.value)
    data: dict[str, object] = {
        "robot": described.name,
        "joints": _named(mechanism.joint_coordinates, q),
        "platform": _named(mechanism.platform_coordinates, x),
        "units": _units(mechanism),
        "margin": float(solution.margin),
        "assumptions": [fact._asdict() for fact in described.assumptions("geometry")],
    }
    if all_modes:
        data["assembly_modes"] = [
            _named(mechanism.platform_coordinates, mode) for mode in mechanism.assembly_modes(q)
        ]
    _give(data, target, json, lambda: _print_fk(mechanism, data))
    note_assumptions(described.assumptions("geometry"))


def workspace(
    robot: RobotName,
    resolution: Annotated[int, typer.Option(help="Grid points along each coordinate.")] = 97,
    guaranteed: Annotated[
        bool, typer.Option("--guaranteed", help="Only inside the cylinder the maker declares.")
    ] = False,
    json: AsJson = False,
    out: Annotated[Path | None, typer.Option(help="Write a figure or a .json file.")] = None,
) -> None:
    """The set of reachable poses: volume, extent, picture.

    Example: triskele workspace abb_irb360_6_1600 --out workspace.png
    """
    described, mechanism = _built(robot)
    target = output_path(out, *FIGURES, ".json")
    import numpy as np

    from triskele.kinematics import workspace as spaces

    with progress_bar("sampling the workspace") as progress:
        space = spaces.workspace(
            mechanism,
            described.limits,
            resolution=resolution,
            guaranteed=guaranteed,
            progress=progress,
        )
    room = None
    if "x" in space.names:
        room = spaces.guaranteed_room(mechanism, described.limits)
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
    if target is not None and target.suffix != ".json":
        from triskele.reports.figures import save_figure, workspace_figure

        home = np.array([float(np.asarray(value)) for value in mechanism.home()])
        save_figure(workspace_figure(described, mechanism, space, home), target)
        note(f"wrote {target}")
        target = None
    _give(data, target, json, lambda: _print_workspace(space, room))
    note_assumptions(described.assumptions(*_LIMITING))


MOTIONS = ("line", "circle", "inverted-u", "fourier", "pick-and-place", "rating-cycle")


def motion(
    robot: RobotName,
    kind: Annotated[str, typer.Argument(help=f"{', '.join(MOTIONS)}, or a table of samples.")],
    start: Annotated[str | None, typer.Option(help="First pose, as 0.1,0,-0.9.")] = None,
    end: Annotated[str | None, typer.Option(help="Last pose of a line.")] = None,
    centre: Annotated[str | None, typer.Option(help="Centre of a circle or series.")] = None,
    move: Annotated[str | None, typer.Option(help="Displacement of an inverted-u.")] = None,
    radius: Annotated[str | None, typer.Option(help="Of a circle, or of corners.")] = None,
    length: Annotated[str | None, typer.Option(help="Across, of pick-and-place.")] = None,
    height: Annotated[str | None, typer.Option(help="Up, of pick-and-place.")] = None,
    amplitude: Annotated[str | None, typer.Option(help="Of a Fourier series, one or each.")] = None,
    harmonics: Annotated[int, typer.Option(help="Of a Fourier series.")] = 5,
    seed: Annotated[int, typer.Option(help="Of its random coefficients.")] = 0,
    duration: Annotated[str, typer.Option(help="Or period [s].")] = "1 s",
    rate: Annotated[float, typer.Option(help="Samples per second.")] = 1000.0,
    law: Annotated[str, typer.Option(help="uniform, polynomial5 or polynomial7.")] = "polynomial7",
    joints: Annotated[bool, typer.Option("--joints", help="Write joint columns too.")] = False,
    json: AsJson = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the samples (.csv, .parquet) or a figure.")
    ] = None,
    figure: Annotated[Path | None, typer.Option(help="Write a figure as well.")] = None,
) -> None:
    """A sampled motion with velocity, acceleration and jerk, checked for reach.

    Example: triskele motion abb_irb360_6_1600 pick-and-place --out motion.csv
    """
    described, mechanism = _built(robot)
    target, drawing = output_path(out, *TABLES, *FIGURES), output_path(figure, *FIGURES)
    if target is not None and target.suffix.lower() in FIGURES:
        target, drawing = None, target
    options = {
        "start": start,
        "end": end,
        "centre": centre,
        "move": move,
        "radius": radius,
        "length": length,
        "height": height,
        "amplitude": amplitude,
        "duration": duration,
    }
    made = _make_motion(described, mechanism, kind, options, harmonics, seed, rate, law)
    from triskele.kinematics.cycles import check_motion, joint_motion_along

    _check_path(mechanism, made)
    outside = None
    try:
        check_motion(mechanism, described.limits, made)
    except OutOfReach as error:
        outside = str(error)
    along = joint_motion_along(mechanism, made)
    if target is not None:
        from triskele.export.motions import write_motion

        write_motion(made, target, joints=(mechanism, along) if joints else None)
        note(f"wrote {target}")
    if drawing is not None:
        from triskele.reports.figures import motion_figure, save_figure

        save_figure(motion_figure(described, mechanism, made, along), drawing)
        note(f"wrote {drawing}")
    data = _motion_summary(described, mechanism, made, along)
    data["outside_limits"] = outside
    _give(data, None, json, lambda: _print_motion(data))
    if outside is not None:
        note(f"beyond the limits of the robot file: {outside}")
    note_assumptions(described.assumptions("geometry"))


# Making


def _built(robot: str) -> tuple["Robot", "AbstractMechanism"]:
    from triskele.description.load import load

    described = load(robot)
    from triskele.kinematics.build import build

    return described, build(described)


def _make_motion(
    robot: "Robot",
    mechanism: "AbstractMechanism",
    kind: str,
    options: dict[str, str | None],
    harmonics: int,
    seed: int,
    rate: float,
    law: str,
) -> "Motion":
    """The motion that the options describe; what is not given fits the robot."""
    from triskele.kinematics import cycles
    from triskele.kinematics import motion as motions

    names = tuple(c.name for c in mechanism.platform_coordinates)
    if kind.endswith(TABLES):
        from triskele.export.motions import read_motion

        return read_motion(kind, names)
    if kind not in MOTIONS:
        raise UnknownName(f"No motion is called '{kind}'. {did_you_mean(kind, MOTIONS)}")
    if law not in motions.LAWS:
        raise UnknownName(f"No law is called '{law}'. {did_you_mean(law, motions.LAWS)}")

    def number(key: str, unit: str) -> float | None:
        text = options[key]
        return None if text is None else _number(text, unit, f"--{key}")

    def pose(key: str) -> "np.ndarray | None":
        text = options[key]
        if text is None:
            return None
        return _values(text.split(","), mechanism.platform_coordinates, robot.name, f"--{key}")

    import numpy as np

    time = number("duration", "s") or 0.0
    home = np.array([float(np.asarray(value)) for value in mechanism.home()])
    size = float(np.asarray(mechanism.scales().loops[0]))
    if kind == "line":
        first, last = pose("start"), pose("end")
        if first is None or last is None:
            raise InputError("A line needs --start and --end, such as --start 0,0,-0.9.")
        return motions.line(
            first, last, duration=time, law=motions.LAWS[law], rate=rate, coordinates=names
        )
    if kind == "fourier":
        return _fourier(mechanism, options, home, harmonics, seed, time, rate, size)
    if names[:3] != ("x", "y", "z"):
        raise InputError(
            f"{robot.name} moves in {', '.join(names)}; it can follow a line or fourier."
        )
    if kind == "circle":
        middle, round_ = pose("centre"), number("radius", "m")
        middle = home if middle is None else middle
        return motions.circle(middle, round_ or 0.1 * size, period=time, rate=rate)
    if kind == "inverted-u":
        first, step = pose("start"), pose("move")
        if first is None or step is None:
            raise InputError("An inverted-u needs --start and --move, such as --move 0.1,0,0.05.")
        return motions.inverted_u(
            first, step, times=time * np.array([0, 1, 2, 3, 4]) / 4, rate=rate
        )
    if kind == "rating-cycle":
        return cycles.rating_cycle(robot, duration=time, rate=rate)
    return cycles.pick_and_place(
        robot,
        length=number("length", "m"),
        height=number("height", "m"),
        radius=number("radius", "m"),
        duration=time,
        rate=rate,
    )


def _fourier(
    mechanism: "AbstractMechanism",
    options: dict[str, str | None],
    home: "np.ndarray",
    harmonics: int,
    seed: int,
    period: float,
    rate: float,
    size: float,
) -> "Motion":
    """Random coefficients that fall with the harmonic, starting from rest."""
    import numpy as np

    from triskele.kinematics import motion as motions

    if not 1 <= harmonics <= 100:
        raise InputError(f"--harmonics is {harmonics}; it must be from 1 to 100.")
    if seed < 0:
        raise InputError(f"--seed is {seed}; it must not be negative.")
    coordinates = mechanism.platform_coordinates
    scales = [float(np.asarray(value)) for value in mechanism.scales().platform]
    text = options["amplitude"]
    given = ["nan"] if text is None else text.split(",")
    if len(given) == 1:
        given *= len(coordinates)
    amplitude = (
        0.02 * size / np.array(scales)
        if text is None
        else _values(given, coordinates, "this robot", "--amplitude")
    )
    middle = options["centre"]
    at = (
        home
        if middle is None
        else _values(middle.split(","), coordinates, "this robot", "--centre")
    )
    random = np.random.default_rng(seed)
    shape = (max(harmonics, 3), len(coordinates))
    falling = amplitude / np.arange(1, shape[0] + 1)[:, None] ** 2
    sine, cosine = motions.resting(*(random.normal(size=shape) * falling for _ in range(2)))
    return motions.fourier(
        at, sine, cosine, period=period, rate=rate, coordinates=tuple(c.name for c in coordinates)
    )


# Reading numbers


def _number(text: str, unit: str, place: str) -> float:
    """`text` as a finite number in SI units; a bare number is in `unit`."""
    try:
        value = float(text)
    except ValueError:
        value = read_quantity(text, unit)
    if not math.isfinite(value):
        raise InputError(f"{place}: {text} is not a finite number.")
    return value


def _values(
    texts: list[str] | None,
    coordinates: "tuple[Coordinate, ...]",
    robot: str,
    place: str = "the pose",
) -> "np.ndarray":
    """One number per coordinate, in SI units; the turn of a fourth axis may be left out."""
    import numpy as np

    given = texts or []
    names = ", ".join(f"{name} [{unit}]" for name, unit in coordinates)
    if len(given) == 3 and len(coordinates) == 4:
        given = [*given, "0"]
    if len(given) != len(coordinates):
        raise InputError(
            f"{robot} needs {len(coordinates)} numbers for {place}, {names}; "
            f"{len(given) or 'none'} given."
        )
    return np.array(
        [_number(text, c.unit, c.name) for text, c in zip(given, coordinates, strict=True)]
    )


def _check_legs(mechanism: "AbstractMechanism", x: "np.ndarray") -> None:
    """Refuse a pose that the legs cannot reach, whatever the limits."""
    from triskele.description.schema import Limits
    from triskele.kinematics.reach import check_reach

    check_reach(mechanism, Limits(singularity_margin=0.0), x, "The pose")  # pyright: ignore[reportArgumentType]


def _check_path(mechanism: "AbstractMechanism", motion: "Motion") -> None:
    """Refuse a motion that the legs cannot follow, whatever the limits."""
    from triskele.description.schema import Limits
    from triskele.kinematics.cycles import check_motion

    check_motion(mechanism, Limits(singularity_margin=0.0), motion)


def _table_ik(
    mechanism: "AbstractMechanism", path: Path, coordinates: list[str] | None, out: Path | None
) -> None:
    """Inverse kinematics of a table of poses, written as a table."""
    import numpy as np

    from triskele.description.tables import Table, read_table, write_table
    from triskele.numerics import batch

    if coordinates:
        raise InputError("Give coordinates or --poses, not both.")
    if out is None or out.suffix == ".json":
        raise InputError("With --poses, name a table to write: --out joints.csv.")
    table = read_table(path)
    poses = np.stack([table.column(name, unit) for name, unit in mechanism.platform_coordinates], 1)
    solution = batch(mechanism.inverse)(poses)
    bad = np.flatnonzero(~(np.asarray(solution.margin) >= 0))
    if len(bad):
        raise OutOfReach(
            f"{path}: {len(bad)} of {len(poses)} poses are out of reach, the first in row "
            f"{bad[0] + 1}: {', '.join(f'{value:g}' for value in poses[bad[0]])}."
        )
    columns = {name: (table[name].unit, table[name].values) for name in table.names}
    for k, (name, unit) in enumerate(mechanism.joint_coordinates):
        columns[name] = (unit, np.asarray(solution.value[:, k]))
    write_table(Table(columns), out)  # pyright: ignore[reportArgumentType]
    note(f"wrote {out}")


# Printing


def _give(data: object, target: Path | None, json: bool, show: Callable[[], None]) -> None:
    """Write `data` to a file if one is named, and print it as JSON or by `show`."""
    if target is not None:
        if target.suffix != ".json":
            raise InputError(f"{target}: one pose is written as .json; tables are for --poses.")
        write_json(data, target)
        note(f"wrote {target}")
    if json:
        print_json(data)
    else:
        show()


def _named(coordinates: "tuple[Coordinate, ...]", values: object) -> dict[str, float]:
    import numpy as np

    numbers = np.asarray([np.asarray(value) for value in values], float)  # pyright: ignore[reportGeneralTypeIssues]
    return {c.name: float(value) for c, value in zip(coordinates, numbers, strict=True)}


def _units(mechanism: "AbstractMechanism") -> dict[str, str]:
    groups = (mechanism.platform_coordinates, mechanism.joint_coordinates)
    return {c.name: c.unit for group in (*groups, mechanism.passive_coordinates) for c in group}


def _rows(values: dict[str, float], units: dict[str, str]) -> list[tuple[str, str, str]]:
    """Name, SI value, and the value in mm or deg."""
    shown = {"m": (1e3, "mm"), "rad": (180 / math.pi, "deg")}
    return [
        (
            name,
            f"{value:.9g} {units[name]}",
            f"{shown[units[name]][0] * value:.6f} {shown[units[name]][1]}",
        )
        for name, value in values.items()
    ]


def _print_ik(mechanism: "AbstractMechanism", data: dict) -> None:
    print_rows(_rows(data["joints"] | data["passive"], data["units"]))
    margins = data["singularity_margins"]
    typer.echo(f"margins: type 1 {min(margins['type1']):.3f}, type 2 {margins['type2']:.3f}")
    for mode in data.get("working_modes", ()):
        joints = ", ".join(f"{name} {value:.6g}" for name, value in mode["joints"].items())
        typer.echo(f"working mode {tuple(mode['mode'])}: {joints}")


def _print_fk(mechanism: "AbstractMechanism", data: dict) -> None:
    print_rows(_rows(data["platform"], data["units"]))
    for mode in data.get("assembly_modes", ()):
        typer.echo("assembly mode: " + ", ".join(f"{k} {v:.6g}" for k, v in mode.items()))


def _print_workspace(space: object, room: float | None) -> None:
    from triskele.kinematics.workspace import Workspace

    assert isinstance(space, Workspace), "made by `workspace`"
    typer.echo(f"volume {space.volume:.4g} {space.unit} (+- {space.uncertainty:.1g})")
    rows = []
    for name, unit, (low, high) in zip(space.names, space.units, space.bounds, strict=True):
        rows.append((name, f"{low:.4g} {unit}", "to", f"{high:.4g} {unit}"))
    print_rows(rows)
    if room is not None:
        verdict = "reachable everywhere" if room >= 0 else "NOT reachable everywhere"
        typer.echo(f"guaranteed cylinder: {verdict} (least room {room:.3g})")


def _motion_summary(
    robot: "Robot", mechanism: "AbstractMechanism", motion: "Motion", along: tuple
) -> dict[str, object]:
    import numpy as np

    def peaks(coordinates: "tuple[Coordinate, ...]", orders: tuple) -> dict[str, dict[str, object]]:
        words = ("velocity", "acceleration", "jerk")
        found: dict[str, dict[str, object]] = {}
        for k, (name, unit) in enumerate(coordinates):
            values = np.asarray(orders[0][:, k])
            found[name] = {
                "unit": unit,
                "least": float(values.min()),
                "greatest": float(values.max()),
            }
            for word, rates in zip(words, orders[1:], strict=True):
                found[name][f"peak_{word}"] = float(np.abs(np.asarray(rates[:, k])).max())
        return found

    orders = (motion.x, motion.xd, motion.xdd, motion.xddd)
    return {
        "robot": robot.name,
        "samples": len(motion.t),
        "duration": float(motion.duration),
        "platform": peaks(mechanism.platform_coordinates, orders),
        "joints": peaks(mechanism.joint_coordinates, along),
        "assumptions": [fact._asdict() for fact in robot.assumptions("geometry")],
    }


def _print_motion(data: dict) -> None:
    typer.echo(f"{data['samples']} samples in {data['duration']:.4g} s; greatest magnitudes:")
    rows = [
        (
            name,
            f"{item['least']:.4g}",
            f"{item['greatest']:.4g}",
            item["unit"],
            *(f"{item[f'peak_{word}']:.4g}" for word in ("velocity", "acceleration", "jerk")),
        )
        for group in ("platform", "joints")
        for name, item in data[group].items()
    ]
    print_rows(rows, ("", "from", "to", "unit", "velocity /s", "acceleration /s^2", "jerk /s^3"))
