"""The commands `plan` and `rate`."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from triskele.cli.inputs import AsJson, RobotName, built, number, positive, whole
from triskele.cli.multibody import used_facts
from triskele.cli.output import (
    give,
    limit_data,
    note,
    note_assumptions,
    print_rows,
    progress_bar,
    table_and_figure,
)
from triskele.cli.payloads import Carried, CarriedCentre, CarriedInertia, carried_payload
from triskele.cli.shapes import Asked, gathered, option, route, routed
from triskele.errors import InputError, OutOfReach, UnknownName, did_you_mean

if TYPE_CHECKING:
    from triskele.description.schema import Payload, Robot
    from triskele.description.tables import Table
    from triskele.kinematics.mechanism import AbstractMechanism
    from triskele.kinematics.path import AbstractPath
    from triskele.planning.plan import Plan
    from triskele.planning.replay import Replay
    from triskele.planning.why import Run

_FORMATS = (".csv", ".parquet", ".npz", ".json", ".yaml", ".yml")
_PERIOD = 1e-3  #: of samples, where the robot file has none [s]
_LISTED = 8  #: limits in the table
_WIDTH = 100  #: of wrapped lines
_WORTH = 1e-5  #: gains below this are not printed [s]
_SHORT = 0.01  #: part of the duration below which it is not worth a word that a limit binds
_PER = ("way", "cycle")  #: what gains are of, for one way and for both
_EXPECTED = {
    "step-start": "this method bounds them at 201 points and starts with a step of acceleration",
    "largest-speed": "this method bounds them at 201 points and starts with a step of acceleration",
    "no-jerk": "this method leaves jerks out",
    "core": "this method leaves jerks and RMS torques out and holds limits at the nodes of its "
    "grid",
}

_CARRYING = {
    "payload": Carried,
    "payload_centre": CarriedCentre,
    "payload_inertia": CarriedInertia,
    "payload_grip": Annotated[str | None, option("Force that holds it to a suction cup [N].")],
    "grip_friction": Annotated[str | None, option("Between it and the cup.", "0.5")],
    "payload_tolerance": Annotated[str | None, option("Of its mass, as 0.1 or 10%.", "0")],
    "centre_tolerance": Annotated[str | None, option("Of its centre of mass [m].", "0")],
}
_BOUNDING = {
    "limit": Annotated[
        list[str] | None,
        typer.Option(help="Instead of the file's, as rod_force=100N; again for more."),
    ],
    "margin": Annotated[
        list[str] | None,
        typer.Option(help="Part of a limit kept free, as rod_force=0.2; again for more."),
    ],
    "period": Annotated[
        str | None, option("Between samples [s].", "that of the position control, or 1 ms")
    ],
    "rate": Annotated[str | None, option("Or samples per second [Hz].")],
    "cells": Annotated[
        int | None,
        typer.Option(
            help="Number of spline cells of the profile.",
            show_default="240",
            parser=whole,
            metavar="<int>",
        ),
    ],
}
Given = Mapping[str, Any]
Frictionless = Annotated[bool, typer.Option(help="Leave friction out.")]
Out = Annotated[
    Path | None,
    typer.Option(help="Write the samples (.csv, .parquet, .npz), or ROS 2's (.json, .yaml)."),
]
Drawing = Annotated[Path | None, typer.Option(help="Write a figure as well.")]


def _ordered(command: Any) -> Any:  # noqa: ANN401 (a command, and one with more options)
    """`command` with the options of payload, limits and samples, those given as `given`."""
    return gathered(command, "given", {**_CARRYING, **_BOUNDING})


@_ordered
@routed
def plan(
    robot: RobotName,
    path: Annotated[
        str,
        typer.Option(
            help="u-turn, u-turn-legs, pick-and-place, line, circle, rating-cycle, or way-points "
            "in a table."
        ),
    ] = "u-turn",
    options: "Mapping[str, str | int]" = {},  # noqa: B006 (replaced by `routed`)
    given: "Given" = {},  # noqa: B006 (replaced by `_ordered`)
    method: Annotated[
        str, typer.Option(help="minimum-time, step-start, largest-speed, no-jerk or core.")
    ] = "minimum-time",
    frictionless: Frictionless = False,
    dwell: Annotated[str | None, option("Rest after the motion [s].", "0")] = None,
    json: AsJson = False,
    out: Out = None,
    figure: Drawing = None,
) -> None:
    """The fastest motion along a path within all limits of a robot, and what bounds it.

    Example: triskele plan abb_irb360_6_1600 --payload plate
    """
    table, drawing = table_and_figure(out, figure, *_FORMATS)
    task = _task(robot, given, not frictionless, dwell, method)
    found = route(Asked(task.robot, task.mechanism, options), path)
    legs = _planned(task, [found])
    files = _drawn(task, legs, table, drawing)
    data = {"path": path, **_summary(task, legs)}
    _write(*files, table, drawing)
    give(data, None, json, lambda: _print(data))
    _remark(task, legs)
    note_assumptions(_facts(task), robot)


def _smaller_cycle(robot: "Robot", name: str) -> str:
    """What to do where the rated cycle does not fit."""
    from triskele.kinematics.cycles import largest_pick
    from triskele.kinematics.motion import RATED_HEIGHT, RATED_LENGTH

    length = 1e3 * largest_pick(robot)
    if not length:
        return "No smaller cycle of this shape fits there either."
    height = length * RATED_HEIGHT / RATED_LENGTH
    return (
        f"Of this shape {length:.0f} mm across fit: triskele plan {name} --path "
        f"pick-and-place --length {length:.0f}mm --height {height:.3g}mm."
    )


@_ordered
def rate(
    robot: RobotName,
    given: "Given" = {},  # noqa: B006 (replaced by `_ordered`)
    turn: Annotated[str | None, option("Of the flange on the way, as 90deg.", "0")] = None,
    frictionless: Frictionless = False,
    json: AsJson = False,
    out: Out = None,
    figure: Drawing = None,
) -> None:
    """Cycles per minute of the 25/305/25 mm cycle of data sheets, and what bounds them.

    Up 25 mm, across 305 mm and down 25 mm, corners rounded, and back the same way, each in the
    least time that limits allow.

    Example: triskele rate abb_irb360_6_1600 --payload 1
    """
    table, drawing = table_and_figure(out, figure, *_FORMATS)
    task = _task(robot, given, not frictionless, None, "minimum-time")
    options = {} if turn is None else {"turn": turn}
    there = route(Asked(task.robot, task.mechanism, options), "rating-cycle")
    from triskele.kinematics.path import Rounded

    assert isinstance(there, Rounded), "the cycle runs along way-points"
    try:
        legs = _planned(task, [there, there.reversed()])
    except OutOfReach as error:
        raise OutOfReach(f"{error} {_smaller_cycle(task.robot, robot)}") from error
    files = _drawn(task, legs, table, drawing)
    data = {"path": "rating-cycle", **_summary(task, legs)}
    _write(*files, table, drawing)
    give(data, None, json, lambda: _print(data))
    _remark(task, legs)
    note_assumptions(_facts(task), robot)


# What is asked for


class _Task(NamedTuple):
    """The robot, within the limits asked for, and how it is to be planned."""

    robot: "Robot"
    mechanism: "AbstractMechanism"
    payload: "Payload | None"
    replaced: tuple[str, ...]  #: limits given in place of the file's
    margins: Mapping[str, float]
    friction: bool
    dwell: float
    method: str
    period: float  #: [s]
    cells: int
    cells_given: bool


def _task(name: str, given: Given, friction: bool, dwell: str | None, method: str) -> _Task:
    from triskele.planning.plan import METHODS

    if method not in METHODS:
        raise UnknownName(f"--method: there is no '{method}'. {did_you_mean(method, METHODS)}")
    robot, mechanism = built(name)
    limits = dict(_pairs(given.get("limit"), "--limit", "rod_force=100N"))
    return _Task(
        robot=_limited(robot, limits),
        mechanism=mechanism,
        payload=_carried(robot, given),
        replaced=tuple(limits),
        margins=_margins(given),
        friction=friction,
        dwell=0.0 if dwell is None else number(dwell, "s", "--dwell"),
        method=method,
        period=_period(robot, given),
        cells=given.get("cells", 240),
        cells_given="cells" in given,
    )


def _pairs(texts: Sequence[str] | None, place: str, example: str) -> Iterator[tuple[str, str]]:
    """Name and value of each `name=value`."""
    for text in texts or ():
        key, sign, value = (part.strip() for part in text.partition("="))
        if not (key and sign and value):
            raise InputError(f"{place}: '{text}' is not a name and a value, such as {example}.")
        yield key, value


def _margins(given: Given) -> dict[str, float]:
    """The part of each limit to be kept free."""
    from triskele.dynamics.stated import KEYS

    found: dict[str, float] = {}
    for key, text in _pairs(given.get("margin"), "--margin", "rod_force=0.2"):
        if key not in KEYS:
            raise UnknownName(f"--margin: there is no limit '{key}'. {did_you_mean(key, KEYS)}")
        found[key] = number(text, "", f"--margin {key}")
        if not 0 <= found[key] < 1:
            raise InputError(f"--margin {key} is {found[key]:g}; it is a part, from 0 to below 1.")
    return found


def _limited(robot: "Robot", given: Mapping[str, str]) -> "Robot":
    """`robot` with limits in place of those of its file; bare numbers are SI."""
    from pydantic import ValidationError

    from triskele.description.schema import Limits

    limits = robot.limits.model_dump(exclude_none=True)
    known = [key for key in Limits.model_fields if key != "source"]
    for key, text in given.items():
        if key not in known:
            raise UnknownName(f"--limit: there is no limit '{key}'. {did_you_mean(key, known)}")
        parts = [_plain(part) for part in text.split(",")]
        try:
            limits = Limits.model_validate({**limits, key: parts[0] if len(parts) == 1 else parts})
        except ValidationError as error:
            message = error.errors()[0]["msg"].removeprefix("Value error, ")
            raise InputError(f"--limit {key}: {message}") from None
        limits = limits.model_dump(exclude_none=True)
    return robot.model_copy(update={"limits": Limits.model_validate(limits)})


def _plain(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text.strip()


def _carried(robot: "Robot", given: Given) -> "Payload | None":
    """The payload, with what is said of its grip and its tolerances."""
    found = carried_payload(
        robot, *(given.get(key) for key in ("payload", "payload_centre", "payload_inertia"))
    )
    update: dict[str, float] = {}
    for key, field, unit in (
        ("payload_grip", "grip_force", "N"),
        ("grip_friction", "grip_friction", ""),
        ("payload_tolerance", "mass_tolerance", ""),
        ("centre_tolerance", "centre_tolerance", "m"),
    ):
        if key not in given:
            continue
        place = f"--{key.replace('_', '-')}"
        if found is None:
            raise InputError(f"{place} needs --payload, the mass, beside it.")
        update[field] = positive(given[key], unit, place, 0.0)
    if update.get("mass_tolerance", 0.0) >= 1:
        raise InputError("--payload-tolerance is a part of the mass, below 1 or 100%.")
    if found is None or not update:
        return found
    found = found.model_copy(update=update)
    if "grip_friction" in update and found.grip_force is None:
        raise InputError("--grip-friction needs --payload-grip, the force, beside it.")
    return found


def _period(robot: "Robot", given: Given) -> float:
    """Between samples [s]."""
    if "period" in given and "rate" in given:
        raise InputError("--period and --rate say the same; give one of them.")
    if "rate" in given:
        return 1 / positive(given["rate"], "Hz", "--rate", 1.0)
    control = robot.control.position_period if robot.control is not None else None
    return positive(given.get("period"), "s", "--period", control or _PERIOD)


# What is found


def _planned(task: _Task, paths: "Sequence[AbstractPath]") -> "list[Replay]":
    from triskele.planning.plan import plan as planned
    from triskele.planning.replay import replay

    plans, n = [], len(paths)
    with progress_bar("planning") as report:
        for k, path in enumerate(paths):
            found = planned(
                task.robot,
                path,
                task.payload,
                method=task.method,
                margins=task.margins,
                friction=task.friction,
                dwell=task.dwell,
                cells=task.cells,
                progress=lambda part, k=k: report((k + part) / n),
            )
            plans.append(found)
    return [replay(found, period=task.period) for found in plans]


def _facts(task: _Task) -> tuple:
    """Assumptions that the plan rests on; limits given in their place are none."""
    limits = task.robot.assumptions("limits")
    kept = tuple(f for f in limits if f.key.removeprefix("limits.") not in task.replaced)
    return (*used_facts(task.robot), *kept)


# What is told


def _summary(task: _Task, legs: "list[Replay]") -> dict[str, Any]:
    import numpy as np

    from triskele.export.demands import effort_unit
    from triskele.planning.replay import gains, unlimited, used_limits

    plans = [leg.plan for leg in legs]
    times = [plan.duration for plan in plans]
    duration = sum(times)
    ways = 2 // len(legs)  # a plan of one way stands for the way back as well
    squares = np.array([np.square(leg.rms) for leg in legs])
    mean = np.sqrt(np.average(squares, axis=0, weights=[time + task.dwell for time in times]))
    drives = {}
    for k, joint in enumerate(task.mechanism.joint_coordinates):
        effort = np.concatenate([leg.demands.tau[:, k] for leg in legs])
        speed = np.concatenate([np.asarray(leg.demands.joints.qd)[:, k] for leg in legs])
        drives[f"motor_{k + 1}"] = {
            "unit": effort_unit(joint),
            "peak": float(effort[np.abs(effort).argmax()]),
            "rms": float(mean[k]),
            "speed_unit": f"{joint.unit}/s",
            "peak_speed": float(np.abs(speed).max()),
        }
    return {
        "robot": task.robot.name,
        "method": task.method,
        "duration": duration,
        "dwell": task.dwell,
        "picks_per_minute": 60 / (ways * (duration + task.dwell * len(legs))),
        "there_and_back": len(legs) > 1,
        "gap": max(leg.plan.gap for leg in legs),
        "drives": drives,
        "limits": [limit_data(item) | {"way": way + 1} for way, item in used_limits(plans)],
        "gains": gains(plans),
        "gains_per": _PER[len(legs) - 1],
        "raised_by": 0.1,
        "binding": [[_run_data(run) for run in plan.runs] for plan in plans],
        "unlimited": [item._asdict() for item in unlimited(legs)],
        "cells": {"asked": task.cells, "used": [_cells(plan) for plan in plans]},
        "replay": _replay_summary(task, legs),
        "assumptions": [fact._asdict() for fact in _facts(task)],
    }


def _replay_summary(task: _Task, legs: "list[Replay]") -> dict[str, Any]:
    worst = max((leg.uses[0] for leg in legs if leg.uses), key=lambda use: use.use, default=None)
    return {
        "samples": sum(len(leg.demands.t) for leg in legs) - len(legs) + 1,
        "period": task.period,
        "worst": None if worst is None else limit_data(worst),
        "exceeded": [limit_data(use) for leg in legs for use in leg.exceeded],
        "start_step": max(leg.step for leg in legs),
    }


def _print(data: dict[str, Any]) -> None:
    rest = f", {data['dwell']:g} s of rest after each way" if data["dwell"] else ""
    if data["there_and_back"]:
        typer.echo(f"{data['duration']:.4f} s there and back ({data['method']})")
        typer.echo(f"{data['picks_per_minute']:.1f} cycles per minute{rest}")
    else:
        typer.echo(f"{data['duration']:.4f} s along the path ({data['method']})")
        typer.echo(
            f"{data['picks_per_minute']:.1f} picks per minute: there, and back in the same "
            f"time{rest}"
        )
    typer.echo()
    rows = [
        (
            name.replace("_", " "),
            f"{item['peak']:.4g}",
            f"{item['rms']:.4g}",
            item["unit"],
            f"{item['peak_speed']:.4g}",
            item["speed_unit"],
        )
        for name, item in data["drives"].items()
    ]
    print_rows(rows, ("drive", "peak", "RMS", "unit", "peak speed", "unit"))
    _print_limits(data)
    _print_replay(data["replay"])


def _print_limits(data: dict[str, Any]) -> None:
    typer.echo()
    rows = [
        (
            item["label"],
            f"{item['allowed']:.4g}",
            item["unit"],
            f"{100 * item['use']:.1f}",
            "whole" if item["whole"] else f"{item['s']:.3f}",
        )
        for item in data["limits"][:_LISTED]
    ]
    print_rows(rows, ("limit", "allowed", "unit", "use [%]", "at s"))
    more = len(data["limits"]) - _LISTED
    if more > 0:
        typer.echo(f"and {more} more limits, used less; --json has them all")
    gains = [(key, f"{1e3 * gain:.2f}") for key, gain in data["gains"].items() if gain > _WORTH]
    if gains:
        typer.echo()
        print_rows(gains, ("if 10 % higher", f"gained per {data['gains_per']} [ms]"))
    typer.echo()
    short = _SHORT * data["duration"] / len(data["binding"])
    for runs, way in zip(data["binding"], ("there", "back"), strict=False):
        on = f" {way}" if data["there_and_back"] else ""
        text = f"binding{on}: {'; '.join(_run_texts(runs, short)) or 'nothing'}"
        typer.echo(textwrap.fill(text, _WIDTH, subsequent_indent="  ", break_on_hyphens=False))


def _run_texts(runs: list[dict[str, Any]], short: float) -> list[str]:
    """Where each limit binds; of touches shorter than `short` [s] only their number."""
    texts = [f"{run['limit']} over the whole motion" for run in runs if run["whole"]]
    local = [run for run in runs if not run["whole"]]
    long = [run for run in local if run["lasts"] >= short]
    texts += [f"s {run['from']:.3f}-{run['to']:.3f} {run['limit']}" for run in long or local]
    if 0 < len(long) < len(local):
        texts.append(f"and {len(local) - len(long)} more, each for less than {1e3 * short:.2g} ms")
    return texts


def _print_replay(replay: dict[str, Any]) -> None:
    worst = replay["worst"]
    most = "" if worst is None else f": at most {100 * worst['use']:.1f} % of the {worst['name']}"
    typer.echo(f"replay: {replay['samples']} samples, every {1e3 * replay['period']:g} ms{most}")


def _remark(task: _Task, legs: "list[Replay]") -> None:
    """Notes on what a user may not expect of the samples."""
    from triskele.planning.replay import unlimited

    reason = _EXPECTED.get(task.method)
    _remark_on_cells(task, legs)
    for item in unlimited(legs):
        names, keys = ", ".join(item.drives), ", ".join(item.keys)
        note(
            f"not limited: the {item.quantity} of {names}; the file has no {keys} there, and the "
            f"plan asks for up to {item.peak:.4g} {item.unit}"
        )
    for leg in legs:
        over = leg.exceeded
        if over:
            use = over[0]
            others = f", and {len(over) - 1} more limits" if len(over) > 1 else ""
            expected = f"; as expected: {reason}" if reason else ""
            note(
                f"beyond a limit: in the replay the {use.limit.label} is {use.worst:.4g} "
                f"{use.limit.unit} at t = {use.time:.4g} s, {100 * (use.use - 1):.1f} % more than "
                f"allowed{others}{expected}"
            )
        if leg.step > 1e-3:
            note("the motion starts with a step of acceleration: no jerk limit holds there")


def _remark_on_cells(task: _Task, legs: "list[Replay]") -> None:
    """A number of cells that is given and cannot be used as it is."""
    from triskele.planning.task import least_cells

    if not task.cells_given:
        return
    least = max(least_cells(leg.plan.path, task.method) or 0 for leg in legs)
    if not least:
        note(f"--cells is not used: the method {task.method} has {_cells(legs[0].plan)} cells")
    elif task.cells < least:
        note(
            f"--cells {task.cells} is fewer than the {least} that this path needs; {least} are used"
        )


def _cells(plan: "Plan") -> int:
    """How many cells the profile has in the end."""
    return len(plan.s) - 1 if plan.method == "core" else len(plan.profile.space.cells) - 1  # pyright: ignore[reportAttributeAccessIssue]


def _run_data(run: "Run") -> dict[str, Any]:
    return {
        "from": run.start,
        "to": run.end,
        "limit": run.limit.label,
        "key": run.limit.key,
        "part": run.limit.part,
        "lasts": run.lasts,
        "whole": run.whole,
    }


def _drawn(
    task: _Task, legs: "list[Replay]", table: Path | None, drawing: Path | None
) -> "tuple[Table | None, Any]":
    """The table and the figure, made before anything is written."""
    samples, figure = None, None
    if table is not None:
        from triskele.export.plans import one_after_the_other, plan_table

        parts = [plan_table(leg.plan, leg.motion, leg.demands) for leg in legs]
        samples = one_after_the_other(*parts)
    if drawing is not None:
        from triskele.reports.plan_figures import plan_figure

        there, *back = [(leg.plan, leg.demands) for leg in legs]
        figure = plan_figure(*there, *back)
    return samples, figure


def _write(
    samples: "Table | None",
    figure: Any,  # noqa: ANN401 (matplotlib is imported only where it is used)
    table: Path | None,
    drawing: Path | None,
) -> None:
    if samples is not None and table is not None:
        from triskele.export.plans import write_plan

        note(f"wrote {write_plan(samples, table)}")
    if figure is not None and drawing is not None:
        from triskele.reports.figures import save_figure

        note(f"wrote {save_figure(figure, drawing)}")
