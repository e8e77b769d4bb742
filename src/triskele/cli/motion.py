"""The command `motion`: a sampled motion of the platform, and what the joints do along it."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from triskele.cli.inputs import AsJson, RobotName, built
from triskele.cli.output import (
    TABLES,
    give,
    note,
    note_assumptions,
    print_rows,
    table_and_figure,
)
from triskele.cli.shapes import Asked, checked, made, shaped
from triskele.errors import InputError

if TYPE_CHECKING:
    from triskele.kinematics.cycles import JointMotion
    from triskele.kinematics.mechanism import Coordinate
    from triskele.kinematics.motion import Motion


@shaped
def motion(
    robot: RobotName,
    kind: Annotated[str, typer.Argument(help="See above, or a table of samples (.csv, .parquet).")],
    options: "Mapping[str, str | int]",
    joints: Annotated[bool, typer.Option("--joints", help="Write joint columns too.")] = False,
    json: AsJson = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the samples (.csv, .parquet) or a figure.")
    ] = None,
    figure: Annotated[Path | None, typer.Option(help="Write a figure as well.")] = None,
) -> None:
    """A sampled motion with velocity, acceleration and jerk, checked for reach.

    Kinds: line, circle, inverted-u, fourier, sine, joint-sine, pick-and-place, rating-cycle.

    Example: triskele motion abb_irb360_6_1600 pick-and-place --out motion.csv
    """
    table, drawing = table_and_figure(out, figure, *TABLES)
    if joints and table is None:
        raise InputError("--joints adds columns to a table; name it, such as --out motion.csv.")
    asked = Asked(*built(robot), options)
    samples = made(asked, kind)
    outside = checked(asked, samples)
    along = _write(asked, samples, table, drawing, joints=joints)
    data = _summary(asked, samples, along) | {"outside_limits": outside}
    give(data, None, json, lambda: _print(data))
    if outside is not None:
        note(f"beyond the limits of the robot file: {outside}")
    note_assumptions(asked.robot.assumptions("geometry"), robot)


def _write(
    asked: Asked, samples: "Motion", table: Path | None, drawing: Path | None, *, joints: bool
) -> "JointMotion":
    """The joints along the motion, and the files that were asked for."""
    from triskele.kinematics.cycles import joint_motion_along

    along = joint_motion_along(asked.mechanism, samples)
    if table is not None:
        from triskele.export.motions import write_motion

        write_motion(samples, table, joints=(asked.mechanism, along) if joints else None)
        note(f"wrote {table}")
    if drawing is not None:
        from triskele.reports.figures import motion_figure, save_figure

        save_figure(motion_figure(asked.robot, asked.mechanism, samples, along), drawing)
        note(f"wrote {drawing}")
    return along


def _summary(asked: Asked, samples: "Motion", along: "JointMotion") -> dict[str, object]:
    orders = (samples.x, samples.xd, samples.xdd, samples.xddd)
    return {
        "robot": asked.robot.name,
        "samples": len(samples.t),
        "duration": float(samples.duration),
        "platform": _peaks(asked.mechanism.platform_coordinates, orders),
        "joints": _peaks(asked.mechanism.joint_coordinates, along),
        "assumptions": [fact._asdict() for fact in asked.robot.assumptions("geometry")],
    }


def _peaks(coordinates: "tuple[Coordinate, ...]", orders: tuple) -> dict[str, dict[str, object]]:
    """Range, and greatest magnitude of each derivative, of each coordinate."""
    import numpy as np

    found: dict[str, dict[str, object]] = {}
    for k, (name, unit) in enumerate(coordinates):
        values = np.asarray(orders[0][:, k])
        found[name] = {
            "unit": unit,
            "least": float(values.min()),
            "greatest": float(values.max()),
        }
        for word, rates in zip(_RATES, orders[1:], strict=True):
            found[name][f"peak_{word}"] = float(np.abs(np.asarray(rates[:, k])).max())
    return found


_RATES = ("velocity", "acceleration", "jerk")


def _print(data: dict) -> None:
    typer.echo(f"{data['samples']} samples in {data['duration']:.4g} s; greatest magnitudes:")
    rows = [
        (
            name,
            f"{item['least']:.4g}",
            f"{item['greatest']:.4g}",
            item["unit"],
            *(f"{item[f'peak_{word}']:.4g}" for word in _RATES),
        )
        for group in ("platform", "joints")
        for name, item in data[group].items()
    ]
    print_rows(rows, ("", "from", "to", "unit", "velocity /s", "acceleration /s^2", "jerk /s^3"))
