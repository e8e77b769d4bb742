"""The command `bandwidth`, and what `simulate --motion` does: closed loops."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from triskele.cli.inputs import AsJson, RobotName, built, number, positive, whole
from triskele.cli.output import (
    TABLES,
    give,
    note,
    note_assumptions,
    print_rows,
    progress_bar,
    table_and_figure,
    write_columns,
)
from triskele.cli.payloads import Carried, CarriedCentre, CarriedInertia, carried_payload
from triskele.cli.poses import At, pose_at
from triskele.cli.shapes import Asked, checked, gathered, made, option
from triskele.errors import InputError, UnknownName, did_you_mean

if TYPE_CHECKING:
    from triskele.compliant.stiffness import NaturalModes
    from triskele.control.bandwidth import Bandwidth, Method, Servo, StabilityMap
    from triskele.control.cascade import Cascade, FeedForward
    from triskele.control.track import Tracking
    from triskele.description.schema import Payload, Robot
    from triskele.numerics import AnyArray

_LOOP = {
    "position_gain": Annotated[str | None, option("kV [1/s].", "of the file")],
    "velocity_gain": Annotated[str | None, option("kP [A s/rad].", "of the file")],
    "integral_gain": Annotated[str | None, option("kI [A/rad].", "of the file")],
    "position_period": Annotated[str | None, option("Of the position loop [s].", "of the file")],
    "velocity_period": Annotated[str | None, option("Of the velocity loop [s].", "of the file")],
    "late": Annotated[
        bool | None, typer.Option("--late", help="The position loop acts one period late.")
    ],
    "feed": Annotated[
        str | None, option("Feed forward: velocity, windup, torque; as velocity,windup.", "none")
    ],
}
_UNITS = {
    "position_gain": "1/s",
    "velocity_gain": "A s/rad",
    "integral_gain": "A/rad",
    "position_period": "s",
    "velocity_period": "s",
}
LOOP_FACTS = ("geometry", "bodies", "flexures", "friction", "motors", "control", "gravity")
_FEEDS = ("velocity", "windup", "torque")
Given = Mapping[str, object]
Out = Annotated[
    Path | None, typer.Option(help="Write a table (.csv, .parquet, .json), or a figure.")
]
Drawing = Annotated[Path | None, typer.Option(help="Write a figure as well.")]
Ways = Annotated[str, typer.Option(help="linear, swept, stepped or all.")]
Top = Annotated[str | None, option("Highest frequency [Hz].", "fits")]
Reference = Annotated[str | None, option("Where the gain is taken that is 0 dB [Hz].", "0 Hz")]
Amplitude = Annotated[str | None, option("Of measured motions [m].", "1/1000 of a bar or rod")]
Points = Annotated[
    int, typer.Option(help="Gains of the map, each way.", parser=whole, metavar="<int>")
]


def looped(command: Callable[..., None]) -> Callable[..., None]:
    """`command` with the options of a control loop; those given reach it as `gains`."""
    return gathered(command, "gains", _LOOP)


def controlled(robot: "Robot", given: Given) -> "tuple[Cascade, FeedForward]":
    """The control of the file with the gains that options give, and what is fed forward."""
    from triskele.control.cascade import FeedForward, cascade

    found = {}
    for key, unit in _UNITS.items():
        if key in given:
            found[key] = number(str(given[key]), unit, f"--{key.replace('_', '-')}")
    parts = [part.strip() for part in str(given.get("feed", "")).split(",") if part.strip()]
    for part in parts:
        if part not in _FEEDS:
            raise UnknownName(f"--feed: there is no '{part}'. {did_you_mean(part, _FEEDS)}")
    feed = FeedForward(**{part: part in parts for part in _FEEDS})
    return cascade(robot, **found, delay=int(bool(given.get("late")))), feed


@looped
def bandwidth(
    robot: RobotName,
    at: At = None,
    method: Ways = "linear",
    top: Top = None,
    reference: Reference = None,
    amplitude: Amplitude = None,
    sensitivity: Annotated[
        bool,
        typer.Option("--sensitivity", help="Bandwidth with each parameter halved and doubled."),
    ] = False,
    map: Annotated[
        bool, typer.Option("--map", help="Which gains are stable, all simulated at once.")
    ] = False,
    points: Points = 32,
    gains: "Given" = {},  # noqa: B006 (replaced by `looped`)
    payload: Carried = None,
    payload_centre: CarriedCentre = None,
    payload_inertia: CarriedInertia = None,
    json: AsJson = False,
    out: Out = None,
    figure: Drawing = None,
) -> None:
    """Closed-loop bandwidth of the platform under cascade control, with margins.

    linear is exact for small motions; swept and stepped measure the nonlinear robot.

    Example: triskele bandwidth compliant_3prs --figure bode.png
    """
    table, drawing = table_and_figure(out, figure, *TABLES, ".json")
    shaping = {"--top": top, "--reference": reference, "--amplitude": amplitude}
    given = {"--at": at, "--out": table, **shaping}
    given["--method"] = None if method == "linear" else method
    _check_kind(map, sensitivity, given, drawing)
    if method == "linear" and amplitude is not None:
        raise InputError("--amplitude is for measured responses; linear ones have none.")
    described, mechanism = built(robot)
    carried = carried_payload(described, payload, payload_centre, payload_inertia)
    asked, pose = _Asked(described, carried, gains), None
    if map:
        data, show = _mapped(asked, points, drawing)
    elif sensitivity:
        data, show = _sensitive(asked)
    else:
        pose = pose_at(described, mechanism, at)
        numbers = {
            "top": None if top is None else positive(top, "Hz", "--top", 1.0),
            "reference": None if reference is None else number(reference, "Hz", "--reference"),
            "amplitude": None if amplitude is None else positive(amplitude, "m", "--amplitude", 1),
        }
        data, show = _responding(asked, pose, method, numbers, table, drawing)
    links = _links_left_out(asked, pose)
    give({"robot": described.name, **data, **links}, None, json, lambda: _print_all(show, links))
    facts = (*LOOP_FACTS, "sections", "materials") if links else LOOP_FACTS
    note_assumptions(described.assumptions(*facts), robot)


def _links_left_out(asked: "_Asked", pose: "AnyArray | None") -> dict[str, dict]:
    """Where links that bend begin to swing, if the file has them."""
    from triskele.control.bandwidth import links_left_out

    found = links_left_out(asked.robot, pose, asked.payload)
    return {} if found is None else {"links_left_out": {**found._asdict(), "unit": "Hz"}}


def _print_all(show: Callable[[], None], links: dict[str, dict]) -> None:
    show()
    for found in links.values():
        lowest, moving = found["links"], found["platform"]
        more = "" if moving is None else f", the platform with them from {moving:.4g} Hz"
        typer.echo(f"links that bend are left out: they swing from {lowest:.4g} Hz{more}")


def _check_kind(
    map: bool, sensitivity: bool, given: Mapping[str, object], drawing: Path | None
) -> None:
    """Refuse options that a map or a table of sensitivities would pass over."""
    if map and sensitivity:
        raise InputError("--map and --sensitivity exclude one another.")
    if not (map or sensitivity):
        return
    kind = "--map" if map else "--sensitivity"
    for place, value in given.items():
        if value is not None:
            raise InputError(f"{kind} has no use for {place}.")
    if sensitivity and drawing is not None:
        raise InputError("--sensitivity prints a table; it has no figure.")


class _Asked(NamedTuple):
    """A robot, what it carries, and the options of its loop."""

    robot: "Robot"
    payload: "Payload | None"
    gains: Given


Shown = tuple[dict[str, object], Callable[[], None]]


def _responding(
    asked: _Asked,
    pose: "AnyArray | None",
    method: str,
    numbers: dict,
    table: Path | None,
    drawing: Path | None,
) -> Shown:
    from triskele.control.bandwidth import METHODS
    from triskele.control.bandwidth import bandwidth as of_robot

    if method != "all" and method not in METHODS:
        known = (*METHODS, "all")
        raise UnknownName(f"--method: there is no '{method}'. {did_you_mean(method, known)}")
    control, feed = controlled(asked.robot, asked.gains)
    if method == "all" and numbers["reference"] is None:
        numbers = {**numbers, "reference": 1.0}  # measured responses have none at rest
    found: list[Servo] = []
    for one in METHODS if method == "all" else (method,):
        with progress_bar(str(one)) as report:
            way: Method = one  # pyright: ignore[reportAssignmentType]
            servo = of_robot(
                asked.robot,
                pose,
                control=control,
                feed=feed,
                payload=asked.payload,
                method=way,
                progress=report,
                **numbers,
            )  # pyright: ignore[reportArgumentType]
        found.append(servo)
    if table is not None:
        from triskele.export.control import response_table

        if len(found) > 1:
            note("note: the table has the linear response; give one --method for another")
        write_columns(response_table(found[0].response), table)
    if drawing is not None:
        from triskele.reports.control_figures import bode_figure
        from triskele.reports.figures import save_figure

        note(f"wrote {save_figure(bode_figure(asked.robot, found), drawing)}")
    data = _summary(found)
    return data, lambda: _print_servos(data)


def _summary(found: "list[Servo]") -> dict[str, object]:
    first = found[0]
    margin = first.margins
    return {
        "reference": first.reference,
        "margins": {
            "gain": _finite(margin.gain),
            "gain_limit": _finite(margin.gain_limit),
            "phase": _finite(margin.phase),
            "crossover": _finite(margin.crossover),
        },
        "slowest": {"unit": "1/period", "growth": first.growth},
        "bandwidths": [
            {"method": servo.response.method, **band._asdict()}
            for servo in found
            for band in servo.bandwidths
        ],
    }


def _finite(value: float) -> float | None:
    import math

    return float(value) if math.isfinite(value) else None


def _print_servos(data: dict) -> None:
    def shown(value: float | None, digits: str = ".2f") -> str:
        return "-" if value is None else f"{value:{digits}}"

    rows = [
        (
            item["coordinate"],
            item["method"],
            f"{item['gain']:.4f}",
            shown(item["relative"]),
            shown(item["absolute"]),
            f"{item['peak']:.3f}",
        )
        for item in data["bandwidths"]
    ]
    at = f"gain at {data['reference']:g} Hz"
    header = ("", "method", at, "-3 dB of that [Hz]", "of command [Hz]", "peak/gain")
    print_rows(rows, header)
    margin = data["margins"]
    typer.echo(
        f"gain margin {shown(margin['gain'])} (position gain up to "
        f"{shown(margin['gain_limit'], '.1f')} 1/s), phase margin {shown(margin['phase'], '.1f')} "
        f"deg at {shown(margin['crossover'])} Hz"
    )


def _sensitive(asked: _Asked) -> Shown:
    from triskele.control.bandwidth import sensitivities

    control, feed = controlled(asked.robot, asked.gains)
    found = sensitivities(asked.robot, control=control, feed=feed, payload=asked.payload)
    rows = [
        {
            "parameter": item.parameter,
            "unit": item.unit,
            "value": item.value,
            "halved": _frequency(item.halved),
            "as_is": _frequency(item.as_is),
            "doubled": _frequency(item.doubled),
        }
        for item in found
    ]
    return {"sensitivities": rows}, lambda: _print_sensitivities(rows)


def _frequency(band: "Bandwidth | None") -> float | str:
    """-3 dB [Hz], or why there is none."""
    if band is None:
        return "unstable"
    return "beyond" if band.relative is None else band.relative


def _print_sensitivities(rows: list[dict]) -> None:
    def shown(value: float | str) -> str:
        return value if isinstance(value, str) else f"{value:.2f}"

    cells = [
        (
            row["parameter"],
            f"{row['value']:.4g}",
            row["unit"],
            *(shown(row[key]) for key in ("halved", "as_is", "doubled")),
        )
        for row in rows
    ]
    print_rows(cells, ("parameter", "value", "unit", "halved [Hz]", "as is [Hz]", "doubled [Hz]"))


def _mapped(asked: _Asked, points: int, drawing: Path | None) -> Shown:
    import numpy as np

    from triskele.control.bandwidth import stability_map

    if not 4 <= points <= 200:
        raise InputError(f"--points is {points}; it must be from 4 to 200.")
    control, feed = controlled(asked.robot, asked.gains)
    if any(feed):
        raise InputError("--feed changes no stability; --map has no use for it.")
    kV, kP = float(control.position_gain), float(control.velocity_gain)
    with progress_bar("gains") as report:
        found = stability_map(
            asked.robot,
            np.geomspace(kV / 4, 16 * kV, points),
            np.geomspace(kP / 16, 8 * kP, points),
            control=control,
            payload=asked.payload,
            progress=report,
        )
    if drawing is not None:
        from triskele.reports.control_figures import stability_figure
        from triskele.reports.figures import save_figure

        note(f"wrote {save_figure(stability_figure(asked.robot, found), drawing)}")
    data = _map_summary(found)
    return data, lambda: _print_map(data)


def _map_summary(found: "StabilityMap") -> dict[str, object]:
    import numpy as np

    assert found.simulated is not None
    stable, settles = found.growth < 1, found.simulated < 1
    limits = [
        float(found.position_gains[stable[:, k]].max()) if stable[:, k].any() else None
        for k in range(len(found.velocity_gains))
    ]
    return {
        "gain_sets": int(stable.size),
        "stable": int(stable.sum()),
        "settled": int(settles.sum()),
        "disagree": int((stable != settles).sum()),
        "velocity_gains": np.asarray(found.velocity_gains).tolist(),
        "greatest_stable_position_gain": limits,
    }


def _print_map(data: dict) -> None:
    typer.echo(
        f"{data['gain_sets']} sets of gains: {data['stable']} stable by their poles, "
        f"{data['settled']} settled in simulation; the two disagree on {data['disagree']}"
    )


# Modes


def sprung_modes(
    asked: Asked, payload: "Payload | None", at: str | None, chosen: Mapping[str, object]
) -> Shown:
    """Natural frequencies of a robot with springs; refuses what else was `chosen`."""
    from triskele.compliant.stiffness import check_springs, modes_by_drives

    robot, names = asked.robot, asked.names
    check_springs(robot, asked.mechanism)
    for place, value in chosen.items():
        if value not in (None, False):
            raise InputError(f"{place} is for links that bend; those of {robot.name} do not.")
    pose = pose_at(robot, asked.mechanism, at)
    found = modes_by_drives(robot, payload, asked.home if pose is None else pose)
    data = {
        name: [
            {
                "frequency": float(frequency),
                "shape": dict(zip(names, shape.tolist(), strict=True)),
            }
            for frequency, shape in zip(item.frequencies, item.shapes.T, strict=True)
        ]
        for name, item in found.items()
    }
    stiffness = {
        name: None if item.stiffness is None else item.stiffness.tolist()
        for name, item in found.items()
    }
    return {"modes": data, "stiffness": stiffness}, lambda: _print_modes(found, asked)


def _print_modes(found: "dict[str, NaturalModes]", asked: Asked) -> None:
    from triskele.compliant.stiffness import moving_coordinates

    rows = [
        (name, f"{f:.4g}", ", ".join(moving))
        for name, item in found.items()
        for f, moving in zip(
            item.frequencies, moving_coordinates(asked.mechanism, item), strict=True
        )
    ]
    print_rows(rows, ("drives", "Hz", "platform moves"))


# Simulation


class TrackingOrder(NamedTuple):
    """What is to be tracked, as options say it."""

    motion: str
    options: Mapping[str, str | int]
    gains: Given
    duration: str | None
    rate: str | None
    step: str | None


def simulate_tracking(
    robot: "Robot",
    payload: "Payload | None",
    friction: bool,
    order: TrackingOrder,
    files: tuple[Path | None, Path | None],
) -> Shown:
    """Let the robot follow a motion under its control; write the files, return the summary."""
    from triskele.control.track import track
    from triskele.kinematics.build import build

    options = dict(order.options)
    if order.duration is not None:
        options["duration"] = order.duration
    asked = Asked(robot, build(robot), options)
    motion = made(asked, order.motion)
    outside = checked(asked, motion)
    if outside is not None:
        note(f"beyond the limits of the robot file: {outside}")
    control, feed = controlled(robot, order.gains)
    with progress_bar("tracking") as report:
        run = track(
            robot,
            motion,
            control=control,
            feed=feed,
            payload=payload,
            friction=friction,
            step=None if order.step is None else positive(order.step, "s", "--step", 1.0),
            rate=positive(order.rate, "Hz", "--rate", 1000.0),
            measure_error=True,
            progress=report,
        )
    table, drawing = files
    if table is not None:
        from triskele.export.control import tracking_table

        write_columns(tracking_table(asked.mechanism, run), table)
    if drawing is not None:
        from triskele.reports.control_figures import tracking_figure
        from triskele.reports.figures import save_figure

        note(f"wrote {save_figure(tracking_figure(robot, asked.mechanism, run), drawing)}")
    data = _tracking_summary(asked, run)
    return data, lambda: _print_tracking(data)


def _tracking_summary(asked: Asked, run: "Tracking") -> dict[str, object]:
    import numpy as np

    def worst(values: np.ndarray) -> float:
        return float(np.abs(values).max())

    return {
        "robot": asked.robot.name,
        "samples": len(run.t),
        "duration": float(run.t[-1]),
        "ended": run.ended,
        "step": run.step,
        "step_error": run.step_error,
        "platform": {
            name: {
                "unit": unit,
                "error_peak": worst(run.error[:, k]),
                "error_rms": float(np.sqrt((run.error[:, k] ** 2).mean())),
            }
            for k, (name, unit) in enumerate(asked.mechanism.platform_coordinates)
        },
        "motors": {
            f"motor_{k + 1}": {
                "angle_peak": worst(run.motor[:, k]),
                "error_peak": worst(run.motor_error[:, k]),
                "torque_peak": worst(run.torque[:, k]),
                "current_peak": worst(run.current[:, k]),
            }
            for k in range(run.motor.shape[1])
        },
    }


def _print_tracking(data: dict) -> None:
    error = data["step_error"]
    typer.echo(
        f"{data['duration']:.4g} s in steps of {1e3 * data['step']:.4g} ms, "
        f"{data['samples']} samples"
        + (
            ""
            if error is None
            else f"; half the step changes the motion by {error:.1e} of its range"
        )
    )
    rows = [
        (name, f"{item['error_peak']:.4g}", f"{item['error_rms']:.4g}", item["unit"])
        for name, item in data["platform"].items()
    ]
    print_rows(rows, ("platform", "peak error", "RMS error", "unit"))
    typer.echo()
    rows = [
        (
            name.replace("_", " "),
            f"{item['angle_peak']:.4g}",
            f"{item['error_peak']:.4g}",
            f"{1e3 * item['torque_peak']:.4g}",
            f"{item['current_peak']:.4g}",
        )
        for name, item in data["motors"].items()
    ]
    header = ("", "peak angle [rad]", "peak error [rad]", "peak torque [mN m]", "current [A]")
    print_rows(rows, header)
