"""The command `reactions`, and `simulate` for mechanisms and with the multibody engine."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from triskele.cli.inputs import AsJson, RobotName, number, positive
from triskele.cli.output import (
    TABLES,
    give,
    note,
    note_assumptions,
    print_rows,
    table_and_figure,
    write_columns,
)
from triskele.cli.payloads import Carried, CarriedCentre, CarriedInertia, carried_payload
from triskele.cli.shapes import USUAL, Asked, made, option, shaped
from triskele.errors import InputError, UnknownName, did_you_mean

if TYPE_CHECKING:
    import numpy as np

    from triskele.description.mechanism import DriveRows, Mechanism
    from triskele.description.schema import Robot
    from triskele.multibody.integrate import Actuation, Run
    from triskele.multibody.reactions import JointReactions
    from triskele.multibody.redundancy import Mobility
    from triskele.multibody.system import State, System

INTEGRATORS = ("runge-kutta", "adams", "alpha")
RODS = ("built", "isostatic", "distance")
DRIVEN = ("motors", "platform")
_LISTED = 30


@shaped
def reactions(
    robot: RobotName,
    motion: Annotated[
        str | None, option("Kind of motion (see `motion --help`), or a table of samples.", USUAL)
    ] = None,
    payload: Carried = None,
    payload_centre: CarriedCentre = None,
    payload_inertia: CarriedInertia = None,
    rods: Annotated[str, typer.Option(help="Model of the rods: built, isostatic, distance.")] = (
        "built"
    ),
    driven: Annotated[str, typer.Option(help="Driven part: motors or platform.")] = "motors",
    frictionless: Annotated[bool, typer.Option(help="Leave friction out.")] = False,
    options: "Mapping[str, str | int]" = {},  # noqa: B006 (replaced by `shaped`)
    json: AsJson = False,
    out: Annotated[
        Path | None, typer.Option(help="Write all samples (.csv, .parquet, .json), or a figure.")
    ] = None,
    figure: Annotated[Path | None, typer.Option(help="Write a figure as well.")] = None,
) -> None:
    """Forces and moments in every joint, by the multibody engine, along a motion.

    A mechanism file moves as its own drives say; give it --duration and --rate alone.

    Example: triskele reactions omron_mini_delta --rods distance --out reactions.csv
    """
    table, drawing = table_and_figure(out, figure, *TABLES, ".json")
    from triskele.description.load import load_any
    from triskele.description.mechanism import Mechanism

    described = load_any(robot)
    if isinstance(described, Mechanism):
        refused = {"--payload": payload, "--payload-centre": payload_centre}
        refused |= {"--payload-inertia": payload_inertia, "--frictionless": frictionless or None}
        refused |= {"--motion": motion}
        refused |= {"--rods": None if rods == "built" else rods}
        refused |= {"--driven": None if driven == "motors" else driven}
        _refuse(described.name, refused)
        found = _of_mechanism(described, options)
    else:
        _one_of("--rods", rods, RODS)
        _one_of("--driven", driven, DRIVEN)
        carried = carried_payload(described, payload, payload_centre, payload_inertia)
        kinds = {"rods": rods, "driven": driven, "friction": not frictionless}
        found = _of_robot(described, motion, options, carried, kinds)
    _write(described.title, found, table, drawing)
    data = _summary(described, found)
    give(data, None, json, lambda: _print(data))
    note_assumptions(used_facts(described), robot)


class _Found(NamedTuple):
    """What is held, when, and by what."""

    system: "System"
    t: "np.ndarray"
    held: "JointReactions"
    freedom: "Mobility"


def _of_robot(
    robot: "Robot",
    kind: str | None,
    options: "Mapping[str, str | int]",
    payload: object,
    kinds: dict,
) -> _Found:
    import numpy as np

    from triskele.description.schema import Limits
    from triskele.kinematics.cycles import check_motion
    from triskele.multibody.along import reactions_along
    from triskele.multibody.from_robot import from_robot
    from triskele.multibody.redundancy import mobility

    model = from_robot(robot, payload, **kinds)  # pyright: ignore[reportArgumentType]
    samples = made(Asked(robot, model.mechanism, options), kind)
    check_motion(model.mechanism, Limits(singularity_margin=0.0), samples)
    held = reactions_along(model, samples)
    freedom = mobility(model.system.with_free_motors(), model.start)
    return _Found(model.system, np.asarray(samples.t), held, freedom)


def _of_mechanism(mechanism: "Mechanism", options: "Mapping[str, str | int]") -> _Found:
    import jax

    from triskele.multibody.from_file import from_file
    from triskele.multibody.integrate import simulate as run_simulation
    from triskele.multibody.reactions import reactions as held_by
    from triskele.multibody.redundancy import mobility

    for key in options:
        if key not in ("duration", "rate"):
            raise InputError(
                f"{mechanism.name} moves as its drives say: --{key} has no use; "
                "it takes --duration and --rate."
            )
    model = from_file(mechanism)
    duration = positive(_text(options, "duration"), "s", "--duration", 1.0)
    rate = positive(_text(options, "rate"), "Hz", "--rate", 1000.0)
    run = run_simulation(
        model.system,
        model.start,
        duration,
        efforts=model.actuation.efforts,
        signal=model.actuation.signal,
        rate=rate,
    )
    if run.ended is not None:
        raise InputError(f"{mechanism.name}: the motion ended {run.ended}.")
    drive = None
    if model.actuation.signal is not None:
        drive = jax.vmap(model.actuation.drive)(jax.numpy.asarray(run.t))
    states = jax.tree.map(jax.numpy.asarray, run.states)
    efforts = jax.numpy.asarray(run.effort)
    held = held_by(model.system, states, efforts, drive)
    freedom = mobility(model.system.with_free_motors(), model.start)
    return _Found(model.system, run.t, held, freedom)


def _text(options: "Mapping[str, str | int]", key: str) -> str | None:
    return str(options[key]) if key in options else None


def _refuse(name: str, options: Mapping[str, object]) -> None:
    for option_name, value in options.items():
        if value is not None:
            raise InputError(f"{name} is a mechanism of its own: {option_name} is for robots.")


def _one_of(place: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise UnknownName(f"{place}: there is no '{value}'. {did_you_mean(value, known)}")


def _write(title: str, found: _Found, table: Path | None, drawing: Path | None) -> None:
    if table is not None:
        from triskele.export.multibody import reactions_table

        write_columns(reactions_table(found.system, found.t, found.held), table)
    if drawing is not None:
        from triskele.reports.figures import save_figure
        from triskele.reports.multibody_figures import reactions_figure

        save_figure(reactions_figure(title, found.system, found.t, found.held), drawing)
        note(f"wrote {drawing}")


def used_facts(described: "Robot | Mechanism") -> tuple:
    """The assumptions that dynamics rests on."""
    return described.assumptions(
        "geometry", "bodies", "joints", "springs", "loads", "friction", "motors", "gravity"
    )


def _summary(described: "Robot | Mechanism", found: _Found) -> dict[str, object]:
    import numpy as np

    from triskele.export.multibody import motor_names, motor_units

    held, system = found.held, found.system
    names = zip(motor_names(system), motor_units(system), strict=True)
    drives = {
        name: {
            "unit": unit,
            "peak": float(held.effort[np.abs(held.effort[:, k]).argmax(), k]),
            "unique": bool(held.unique_effort[k]),
        }
        for k, (name, unit) in enumerate(names)
    }
    joints = {}
    for k, joint in enumerate(system.joints):
        joints[joint.name] = {
            "kind": joint.kind,
            "parent": joint.parent,
            "child": joint.child,
            "peak_force": float(np.linalg.norm(held.force[:, k], axis=-1).max()),
            "peak_moment": float(np.linalg.norm(held.moment[:, k], axis=-1).max()),
            "force_unique": bool(held.unique[k, :3].all()),
            "moment_unique": bool(held.unique[k, 3:].all()),
        }
    return {
        "robot": described.name,
        "samples": len(found.t),
        "duration": float(found.t[-1] - found.t[0]),
        "mobility": found.freedom._asdict() | {"counts": found.freedom.counts},
        "drives": drives,
        "joints": joints,
        "gap": float(held.gap.max()),
        "power_imbalance": held.imbalance,
        "assumptions": [fact._asdict() for fact in used_facts(described)],
    }


def _print(data: dict) -> None:
    typer.echo(
        f"{data['samples']} samples in {data['duration']:.4g} s; {data['mobility']['counts']}"
    )
    rows = [
        (name.replace("_", " "), f"{item['peak']:.4g}", item["unit"])
        for name, item in data["drives"].items()
    ]
    if rows:
        typer.echo()
        print_rows(rows, ("drive", "peak effort", "unit"))
    typer.echo()
    rows = [
        (
            name.replace("_", " "),
            item["kind"],
            f"{_clean(item['peak_force']):.4g}",
            "" if item["force_unique"] else "not unique",
            f"{_clean(item['peak_moment']):.4g}",
            "" if item["moment_unique"] else "not unique",
        )
        for name, item in data["joints"].items()
    ]
    print_rows(rows[:_LISTED], ("joint", "kind", "peak force [N]", "", "peak moment [N m]", ""))
    if len(rows) > _LISTED:
        typer.echo(f"and {len(rows) - _LISTED} more joints; --json has them all")
    typer.echo(
        f"gap of the joints {data['gap']:.1e} m, power left over {data['power_imbalance']:.1e} W"
    )
    if any(
        not item["force_unique"] or not item["moment_unique"] for item in data["joints"].values()
    ):
        note(
            "not unique: redundant joints share the load; rigid bodies do not tell how: least norm"
        )


def _clean(value: float) -> float:
    """A force or moment without rounding errors."""
    return round(value, 9)


# Simulation


class Order(NamedTuple):
    """What `simulate` was asked for, as texts."""

    duration: str | None
    rate: str | None
    tolerance: str | None
    torque: str | None
    integrator: str | None
    step: str | None
    speed: str | None = None  #: of the joints of a mechanism
    drives: str | None = None  #: a table


def simulate_mechanism(
    mechanism: "Mechanism",
    refused: Mapping[str, object],
    order: Order,
    files: tuple[Path | None, Path | None],
) -> dict[str, object]:
    """Run a mechanism file as it says, or with other efforts, drives and speeds at the start."""
    from triskele.multibody.from_file import from_file

    _refuse(mechanism.name, refused)
    model = from_file(
        mechanism, _drive_tables(mechanism, order.drives), _speeds(mechanism, order.speed)
    )
    actuation = told_efforts(model.system, order.torque, model.actuation)
    return simulate_system(
        mechanism.title, mechanism.name, model.system, model.start, actuation, order, files
    )


def _drive_tables(mechanism: "Mechanism", path: str | None) -> "dict[str, DriveRows]":
    """What the joints follow that have a column in a table."""
    from triskele.description.mechanism import drive_rows
    from triskele.description.tables import read_table

    if path is None:
        return {}
    table, found = read_table(path), {}
    for column in table.names:
        name = column.removesuffix("_q") if column not in mechanism.joints else column
        if name in mechanism.joints:
            sliding = mechanism.joints[name].kind == "prismatic"
            found[name] = drive_rows(table, column, sliding=sliding)
    if not found:
        columns, joints = (", ".join(names) for names in (table.names, mechanism.joints))
        raise InputError(
            f"{path}: no column has the name of a joint of {mechanism.name}; columns are "
            f"{columns}, joints {joints}."
        )
    return found


def _speeds(mechanism: "Mechanism", text: str | None) -> dict[str, float]:
    """Speeds of joints, such as crank=2rad/s,slide=0.1m/s."""
    found: dict[str, float] = {}
    for item in text.split(",") if text is not None else ():
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals:
            raise InputError(
                f"--speed: '{item}' names no joint; write, for example, "
                f"{next(iter(mechanism.joints), 'crank')}=2rad/s."
            )
        joint = mechanism.joints.get(name)
        unit = "m/s" if joint is not None and joint.kind == "prismatic" else "rad/s"
        found[name] = number(value, unit, f"--speed: {name}")
    return found


def simulate_system(
    title: str,
    name: str,
    system: "System",
    start: "State",
    actuation: "Actuation",
    order: Order,
    files: tuple[Path | None, Path | None],
    body: str = "",
) -> dict[str, object]:
    """Run, write the files, and return what there is to say; a figure shows the way of `body`."""
    run = _run(system, start, actuation, order)
    if run.ended is not None and len(run.t) < 2:
        raise InputError(f"{name}: the motion ended {run.ended}.")
    table, drawing = files
    if table is not None:
        from triskele.export.multibody import run_table

        write_columns(run_table(system, run), table)
    if drawing is not None:
        from triskele.reports.figures import save_figure
        from triskele.reports.multibody_figures import run_figure

        save_figure(run_figure(title, system, run, body), drawing)
        note(f"wrote {drawing}")
    return _run_summary(name, system, run)


def _run(system: "System", start: "State", actuation: "Actuation", order: Order) -> "Run":
    from triskele.multibody.adams import adams
    from triskele.multibody.generalised_alpha import generalised_alpha
    from triskele.multibody.integrate import simulate as run_simulation

    integrator = order.integrator or INTEGRATORS[0]
    _one_of("--integrator", integrator, INTEGRATORS)
    duration = positive(order.duration, "s", "--duration", 1.0)
    rate = positive(order.rate, "Hz", "--rate", 1000.0)
    told = {"efforts": actuation.efforts, "signal": actuation.signal}
    if integrator == "alpha":
        if order.tolerance is not None:
            raise InputError("--integrator alpha has fixed steps: give --step, not --tolerance.")
        step = min(positive(order.step, "s", "--step", 1e-3), 1 / rate, duration)
        every = max(1, round(1 / rate / step))
        return generalised_alpha(
            system, start, duration, step=1 / rate / every, every=every, **told
        )
    if order.step is not None:
        raise InputError("--step belongs to --integrator alpha; the others choose their steps.")
    tolerance = positive(order.tolerance, "", "--tolerance", 1e-9)
    chosen = adams if integrator == "adams" else run_simulation
    return chosen(system, start, duration, rate=rate, tolerance=tolerance, **told)


def told_efforts(system: "System", torque: str | None, given: "Actuation") -> "Actuation":
    """`given`, with the constant efforts of the option --torque instead of its own.

    Motors that follow drives have none.
    """
    import jax.numpy as jnp

    from triskele.export.multibody import motor_names, motor_units
    from triskele.multibody.integrate import Actuation, Constant

    if torque is None:
        return given
    if system.prescribed and len(system.driven) == len(system.motors):
        raise InputError(f"{system.name}: its motors follow drives; --torque has no use.")
    texts = torque.split(",")
    free = [k for k, axis in enumerate(system.motors) if not axis.driven]
    names, units = motor_names(system), motor_units(system)
    if len(texts) != len(free):
        free_names = ", ".join(names[k] for k in free) or "none"
        what = "motors without a drive" if system.prescribed else "motors"
        raise InputError(
            f"--torque: {system.name} has {len(free)} {what} ({free_names}); "
            f"{len(texts)} efforts given."
        )
    efforts = [0.0] * len(names)
    for k, text in zip(free, texts, strict=True):
        efforts[k] = number(text, units[k], f"--torque: {names[k]}")
    return Actuation(Constant(jnp.array(efforts)), given.signal)


def _run_summary(name: str, system: "System", run: "Run") -> dict[str, object]:
    return {
        "robot": name,
        "samples": len(run.t),
        "duration": float(run.t[-1]),
        "ended": run.ended,
        "steps": run.steps,
        "bodies": {
            body: {
                "unit": "m",
                "start": run.origins[0, k].tolist(),
                "end": run.origins[-1, k].tolist(),
            }
            for k, body in enumerate(system.bodies)
        },
        "joints": _joint_summary(system, run),
        "energy": {
            "unit": "J",
            "gained": float(run.energy[-1] - run.energy[0]),
            "work": float(run.work[-1]),
            "lost": float(run.lost[-1]),
            "imbalance": run.imbalance,
        },
        "violation": {"position": float(run.gap.max()), "velocity": float(run.slip.max())},
    }


def _joint_summary(system: "System", run: "Run") -> list[dict[str, object]]:
    """Angles, then lengths, of the joints that have one, at the start and the end."""
    turning, sliding = system.gauges.turning, system.gauges.sliding
    return [
        {
            "joint": name,
            "unit": "rad" if k < len(turning) else "m",
            "start": float(run.joint_q[0, k]),
            "end": float(run.joint_q[-1, k]),
            "end_rate": float(run.joint_qd[-1, k]),
        }
        for k, name in enumerate((*turning, *sliding))
    ]


def shown_length(value: float) -> str:
    """A length [m] to a nanometre, without a negative zero."""
    return f"{round(value, 9) + 0.0:.5g}"


def print_system_run(data: dict) -> None:
    """The summary of a run as a table."""
    typer.echo(f"{data['duration']:.4g} s in {data['steps']} steps, {data['samples']} samples")
    rows = [
        (body, *(shown_length(value) for value in (*item["start"], *item["end"])))
        for body, item in data["bodies"].items()
    ]
    header = ("body", *(f"{axis} {when} [m]" for when in ("start", "end") for axis in "xyz"))
    print_rows(rows[:_LISTED], header)
    energy, violation = data["energy"], data["violation"]
    typer.echo(
        f"energy gained {energy['gained']:.6g} J = work {energy['work']:.6g} J "
        f"- lost {energy['lost']:.6g} J, to {energy['imbalance']:.1e} J"
    )
    typer.echo(f"joints hold to {violation['position']:.1e} m and {violation['velocity']:.1e} m/s")
