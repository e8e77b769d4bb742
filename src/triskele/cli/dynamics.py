"""The commands `torques` and `simulate`."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from triskele.cli.control import LOOP_FACTS, TrackingOrder, looped, simulate_tracking
from triskele.cli.inputs import AsJson, RobotName, built, positive, turns_a_flange, vector
from triskele.cli.multibody import (
    Order,
    print_system_run,
    simulate_mechanism,
    simulate_system,
    used_facts,
)
from triskele.cli.output import (
    TABLES,
    give,
    limit_data,
    note,
    note_assumptions,
    print_rows,
    table_and_figure,
    write_columns,
)
from triskele.cli.payloads import Carried, CarriedCentre, CarriedInertia, carried_payload
from triskele.cli.shapes import USUAL, Asked, gathered, made, moved, option, shaped
from triskele.errors import InputError, UnknownName, did_you_mean

if TYPE_CHECKING:
    from triskele.description.schema import Payload, Robot
    from triskele.dynamics.robot import RigidRobot
    from triskele.dynamics.simulate import ConstantEffort, Simulation
    from triskele.dynamics.torques import MotionDemands
    from triskele.kinematics.mechanism import AbstractMechanism
    from triskele.numerics import AnyArray

Out = Annotated[
    Path | None, typer.Option(help="Write all samples (.csv, .parquet, .json), or a figure.")
]
Drawing = Annotated[Path | None, typer.Option(help="Write a figure as well.")]
_ALL = (*TABLES, ".json")


@shaped
def torques(
    robot: RobotName,
    motion: Annotated[
        str | None, option("Kind of motion (see `motion --help`), or a table of samples.", USUAL)
    ] = None,
    payload: Carried = None,
    payload_centre: CarriedCentre = None,
    payload_inertia: CarriedInertia = None,
    frictionless: Annotated[bool, typer.Option(help="Leave friction out.")] = False,
    measured: Annotated[
        Path | None,
        option("Log with angles and tensions of rods, to compare with the model's."),
    ] = None,
    options: "Mapping[str, str | int]" = {},  # noqa: B006 (replaced by `shaped`)
    json: AsJson = False,
    out: Out = None,
    figure: Drawing = None,
) -> None:
    """Torques of the drives and loads in the joints along a motion, against their limits.

    With `--measured` the motion is that of a log, and tensions of rods in it (rod_1a_upper [N]) are
    set beside those of the model.

    Example: triskele torques omron_mini_delta --payload 0.5
    """
    table, drawing = table_and_figure(out, figure, *_ALL)
    asked = Asked(*built(robot), options)
    carried = carried_payload(asked.robot, payload, payload_centre, payload_inertia)
    if measured is not None:
        if motion is not None or options or frictionless:
            raise InputError("--measured has its own motion; leave --motion and its options out.")
        _compare_rods(asked.robot, carried, measured, (table, drawing), in_json=json)
        note_assumptions(used_facts(asked.robot), robot)
        return
    samples = made(asked, motion)
    from triskele.description.schema import Limits
    from triskele.dynamics.torques import torques as demanded
    from triskele.kinematics.cycles import check_motion

    check_motion(asked.mechanism, Limits(singularity_margin=0.0), samples)
    demands = demanded(asked.robot, samples, carried, friction=not frictionless)
    if table is not None:
        from triskele.export.demands import demands_table

        write_columns(demands_table(asked.mechanism, demands), table)
    if drawing is not None:
        from triskele.reports.figures import save_figure
        from triskele.reports.load_figures import demands_figure

        carrying = "" if payload is None else f" carrying {_name(payload)}"
        save_figure(demands_figure(asked.robot, asked.mechanism, demands, carrying), drawing)
        note(f"wrote {drawing}")
    data = _summary(asked, demands)
    give(data, None, json, lambda: _print_demands(data))
    note_assumptions(used_facts(asked.robot), robot)


def _compare_rods(
    robot: "Robot",
    payload: "Payload | None",
    log: Path,
    files: tuple[Path | None, Path | None],
    *,
    in_json: bool,
) -> None:
    """Tensions of rods in a log beside those of the model."""
    from triskele.description.tables import read_table
    from triskele.identification.measured_rods import measured_rods

    found = measured_rods(robot, read_table(log), payload=payload)
    table, drawing = files
    if table is not None:
        write_columns(found.to_table(), table)
    if drawing is not None:
        from triskele.reports.figures import save_figure
        from triskele.reports.identification_figures import measured_rods_figure

        note(f"wrote {save_figure(measured_rods_figure(found), drawing)}")
    rods = [rod.to_dict() for rod in found.rods]
    data = {"robot": robot.name, "samples": len(found.t), "measuring_rod": found.mass, "rods": rods}
    give(data, None, in_json, lambda: _print_rods(rods))
    if found.mass is not None:
        note(f"each rod that is measured weighs {found.mass:g} kg, as weighed.measuring_rod says")


def _print_rods(rods: list[dict]) -> None:
    rows = [
        (
            rod["name"],
            f"{rod['rms']:.3g}",
            f"{rod['bias']:.3g}",
            f"{rod['rms_without_bias']:.3g}",
            "-" if rod["gain"] is None else f"{rod['gain']:.4g}",
            f"{rod['peak_difference']:.3g}",
            f"{rod['computed'][0]:.4g}",
            f"{rod['computed'][1]:.4g}",
        )
        for rod in rods
    ]
    typer.echo("measured less computed tension, and that computed [N]")
    header = ("rod", "RMS", "bias", "RMS without it", "gain", "peak", "least", "greatest")
    print_rows(rows, header)


def _name(payload: str) -> str:
    return payload if payload[-1:].isalpha() else f"{payload} kg"


def _summary(asked: Asked, demands: "MotionDemands") -> dict[str, object]:
    import numpy as np

    from triskele.export.demands import effort_unit

    drives = {}
    for k, coordinate in enumerate(asked.mechanism.joint_coordinates):
        effort = demands.tau[:, k]
        drives[f"motor_{k + 1}"] = {
            "unit": effort_unit(coordinate),
            "peak": float(effort[np.abs(effort).argmax()]),
            "rms": float(demands.rms[k]),
            "peak_power": float(np.abs(demands.power[:, k]).max()),
        }
    return {
        "robot": asked.robot.name,
        "samples": len(demands.t),
        "duration": float(demands.t[-1] - demands.t[0]),
        "drives": drives,
        "loads": _load_summary(asked.mechanism, demands),
        "limits": [limit_data(item) | {"exceeded": item.exceeded} for item in demands.limits],
        "assumptions": [fact._asdict() for fact in used_facts(asked.robot)],
    }


def _load_summary(
    mechanism: "AbstractMechanism", demands: "MotionDemands"
) -> dict[str, object] | None:
    import numpy as np

    from triskele.dynamics.torques import strut_word

    if demands.loads is None:
        return None
    loads, found = demands.loads, {}
    if loads.rods is not None:
        found["rods"] = {
            name: {"peak_tension": float(peak), "peak_lateral": float(across)}
            for name, peak, across in zip(
                loads.rods.names,
                loads.rods.largest,
                np.maximum(loads.rods.lower_lateral, loads.rods.upper_lateral).max(axis=0),
                strict=True,
            )
        }
        found |= {"struts": strut_word(mechanism), "unique": loads.rods.unique}
    found["bearing_force"] = loads.bearing_force.max(axis=0).tolist()
    found["bearing_moment"] = loads.bearing_moment.max(axis=0).tolist()
    found["flange_force"] = float(np.linalg.norm(loads.flange_force, axis=-1).max())
    tilting = np.linalg.norm(loads.flange_moment[:, :2], axis=-1)
    found["flange_tilting_moment"] = float(tilting.max())
    return found


def _print_demands(data: dict) -> None:
    typer.echo(f"{data['samples']} samples in {data['duration']:.4g} s")
    rows = [
        (
            name.replace("_", " "),
            f"{item['peak']:.4g}",
            f"{item['rms']:.4g}",
            item["unit"],
            f"{item['peak_power']:.4g}",
        )
        for name, item in data["drives"].items()
    ]
    print_rows(rows, ("drive", "peak", "RMS", "unit", "peak power [W]"))
    loads = data["loads"]
    if loads is None:
        note("joint loads are not given: the joints of this robot are springs")
    else:
        _print_loads(loads)
    if not data["limits"]:
        return
    typer.echo()
    rows = [
        (
            item["name"],
            f"{item['worst']:.4g}",
            f"{item['allowed']:.4g}",
            item["unit"],
            f"{item['time']:.4g}",
            f"{100 * item['use']:.0f}",
            "exceeded" if item["exceeded"] else "",
        )
        for item in data["limits"][:_LISTED]
    ]
    print_rows(rows, ("limit", "worst", "allowed", "unit", "at [s]", "use [%]", ""))
    more = len(data["limits"]) - _LISTED
    if more > 0:
        typer.echo(f"and {more} more limits, used less; --json has them all")


_LISTED = 8


def _print_loads(loads: dict) -> None:
    typer.echo()
    rows = [
        (name.replace("_", " "), f"{item['peak_tension']:.4g}", f"{item['peak_lateral']:.4g}")
        for name, item in loads.get("rods", {}).items()
    ]
    if rows:
        print_rows(rows, (loads["struts"], "peak tension [N]", "across [N]"))
        if any(item["peak_tension"] < 0 for item in loads["rods"].values()):
            typer.echo("a tension below zero is compression")
    if not loads.get("unique", True):
        note("redundant joints share these loads; rigid bodies do not tell how: least norm shown")
    force = max(loads["bearing_force"])
    typer.echo(
        f"bearings of the drives: up to {force:.4g} N and {max(loads['bearing_moment']):.4g} N m; "
        f"flange: {loads['flange_force']:.4g} N and {loads['flange_tilting_moment']:.4g} N m"
    )


# Forward


_FREE = {
    "at": Annotated[str | None, option("Pose at the start, as 0.1,0,-0.9.", "home")],
    "speed": Annotated[
        str | None,
        option("Velocity at the start; of a mechanism: joint=2rad/s,slide=0.1m/s.", "rest"),
    ],
    "drives": Annotated[
        str | None,
        option("Table of motions that joints of a mechanism follow: t, and a column per joint."),
    ],
    "torque": Annotated[
        str | None, option("Constant efforts of the drives [N m, N]; or: hold.", "0")
    ],
    "tolerance": Annotated[str | None, option("Of the integrator.", "1e-9")],
    "engine": Annotated[
        str | None, option("reduced (the robot's own coordinates) or multibody.", "reduced")
    ],
    "integrator": Annotated[
        str | None, option("Of multibody: runge-kutta, adams, alpha.", "runge-kutta")
    ],
}


def _freely(command: Callable[..., None]) -> Callable[..., None]:
    return gathered(command, "free", _FREE)


@looped
@moved
@_freely
def simulate(
    robot: RobotName,
    motion: Annotated[
        str | None, option("Follow a motion under control (see `motion --help`), or a table.")
    ] = None,
    free: "Mapping[str, str]" = {},  # noqa: B006 (replaced by `_freely`)
    duration: Annotated[str | None, option("[s]", "1 s")] = None,
    rate: Annotated[str | None, option("Samples per second [Hz].", "1000 Hz")] = None,
    step: Annotated[
        str | None, option("Of the integrator alpha, or of a controlled motion [s].", "fits")
    ] = None,
    payload: Carried = None,
    payload_centre: CarriedCentre = None,
    payload_inertia: CarriedInertia = None,
    frictionless: Annotated[bool, typer.Option(help="Leave friction out.")] = False,
    options: "Mapping[str, str | int]" = {},  # noqa: B006 (replaced by `moved`)
    gains: "Mapping[str, object]" = {},  # noqa: B006 (replaced by `looped`)
    json: AsJson = False,
    out: Out = None,
    figure: Drawing = None,
) -> None:
    """What a robot does under constant efforts of its drives, or under its control.

    `--torque hold` keeps the robot at rest at the start. The reduced engine ends where the robot
    leaves its limits; `--engine multibody` has all bodies and joints and no limits, and takes
    mechanism files. `--motion` lets the robot follow one under its cascade control.

    Example: triskele simulate flexible_delta --torque hold
    """
    files = table_and_figure(out, figure, *_ALL)
    _check_choice(motion, (*options, *gains), free)
    from triskele.description.load import load_any
    from triskele.description.mechanism import Mechanism

    described = load_any(robot)
    at, speed, drives, torque, tolerance, engine, integrator = (free.get(key) for key in _FREE)
    order = Order(duration, rate, tolerance, torque, integrator, step, speed, drives)
    if isinstance(described, Mechanism):
        given = {"--at": at, "--payload": payload, "--motion": motion}
        given |= {"--payload-centre": payload_centre, "--payload-inertia": payload_inertia}
        other = None if engine == "multibody" else engine
        given |= {"--frictionless": frictionless or None, f"--engine {engine}": other}
        data, show = simulate_mechanism(described, given, order, files), print_system_run
    elif drives is not None:
        raise InputError(f"{robot} is a robot: --drives is for mechanisms; robots have --motion.")
    elif motion is not None:
        carried = carried_payload(described, payload, payload_centre, payload_inertia)
        wish = TrackingOrder(motion, options, gains, duration, rate, step)
        data, shown = simulate_tracking(described, carried, not frictionless, wish, files)
        show = lambda _: shown()  # noqa: E731
    else:
        carried = carried_payload(described, payload, payload_centre, payload_inertia)
        start = _Start(described, carried, not frictionless, at, speed)
        run, show = _engine(engine or "reduced")
        data = run(start, order, files)
    give(data, None, json, lambda: show(data))
    if data["ended"] is not None:
        note(f"ended {data['ended']}")
    facts = used_facts(described) if motion is None else described.assumptions(*LOOP_FACTS)
    note_assumptions(facts, robot)


def _check_choice(motion: str | None, following: tuple[str, ...], free: Mapping[str, str]) -> None:
    """Refuse options of the other kind of simulation."""
    if motion is None and following:
        key = following[0].replace("_", "-")
        raise InputError(f"--{key} is for following a motion; name one with --motion.")
    if motion is not None and free:
        raise InputError(f"--{next(iter(free))} and --motion exclude one another.")


def _engine(name: str) -> tuple[Callable[..., dict[str, object]], Callable[[dict], None]]:
    """What runs a simulation of that engine, and what prints it."""
    engines = {"reduced": (_by_reduced, _print_run), "multibody": (_by_multibody, print_system_run)}
    if name not in engines:
        raise UnknownName(f"--engine: there is no '{name}'. {did_you_mean(name, engines)}")
    return engines[name]


class _Start(NamedTuple):
    """The robot, its load, and where it starts, as texts."""

    robot: "Robot"
    payload: "Payload | None"
    friction: bool
    at: str | None
    speed: str | None

    def placed(self, mechanism: "AbstractMechanism") -> "tuple[AnyArray, AnyArray]":
        """Platform coordinates and their velocities at the start."""
        from triskele.numerics import stacked

        coordinates, who = mechanism.platform_coordinates, f"of {self.robot.name}"
        x = stacked(mechanism.home())
        if self.at is not None:
            x = vector(self.at.split(","), coordinates, f"a pose {who}", "--at")
        xd = 0 * x
        if self.speed is not None:
            xd = vector(self.speed.split(","), coordinates, f"a velocity {who}", "--speed")
        return x, xd


def _by_reduced(
    start: _Start, order: Order, files: tuple[Path | None, Path | None]
) -> dict[str, object]:
    """Simulate in the robot's own coordinates, write the files, and return the summary."""
    from triskele.dynamics.robot import rigid
    from triskele.dynamics.simulate import simulate as run_simulation

    for place, value in (("--integrator", order.integrator), ("--step", order.step)):
        if value is not None:
            raise InputError(f"{place} belongs to --engine multibody.")
    robot = start.robot
    model = rigid(robot, start.payload, friction=start.friction)
    x, xd = start.placed(model.mechanism)
    run = run_simulation(
        model,
        x,
        xd,
        _constant(model, x, order.torque, f"of {robot.name}"),
        positive(order.duration, "s", "--duration", 1.0),
        limits=robot.limits,
        rate=positive(order.rate, "Hz", "--rate", 1000.0),
        tolerance=positive(order.tolerance, "", "--tolerance", 1e-9),
    )
    _write_run(robot, model.mechanism, run, *files)
    return _run_summary(robot, model.mechanism, run)


def _by_multibody(
    start: _Start, order: Order, files: tuple[Path | None, Path | None]
) -> dict[str, object]:
    """The same with all bodies and joints."""
    from triskele.description.schema import Limits
    from triskele.dynamics.robot import rigid
    from triskele.kinematics.reach import check_reach
    from triskele.multibody.from_robot import from_robot
    from triskele.multibody.integrate import Actuation, Constant

    robot = start.robot
    model = from_robot(robot, start.payload, friction=start.friction)
    x, xd = start.placed(model.mechanism)
    check_reach(model.mechanism, Limits(singularity_margin=0.0), x, "The start")
    held = rigid(robot, start.payload, friction=start.friction)
    tau = _constant(held, x, order.torque, f"of {robot.name}").tau
    return simulate_system(
        robot.title,
        robot.name,
        model.system,
        model.at(x, xd),
        Actuation(Constant(tau)),
        order,
        files,
        model.mechanism.platform,
    )


def _constant(model: "RigidRobot", x: "AnyArray", torque: str | None, who: str) -> "ConstantEffort":
    """The controller that the option describes."""
    import equinox as eqx
    import numpy as np

    from triskele.dynamics.inverse import inverse_dynamics
    from triskele.dynamics.simulate import ConstantEffort
    from triskele.export.demands import effort_unit
    from triskele.kinematics.mechanism import Coordinate
    from triskele.numerics import single, stacked

    mechanism = model.mechanism
    if torque is None:
        return ConstantEffort(np.zeros(len(mechanism.joint_coordinates)))
    if torque == "hold":
        return ConstantEffort(
            stacked(single(eqx.Partial(inverse_dynamics, model))(x, 0 * x, 0 * x))
        )
    efforts = tuple(
        Coordinate(f"motor {k + 1}", effort_unit(c))
        for k, c in enumerate(mechanism.joint_coordinates)
    )
    texts, turns = torque.split(","), turns_a_flange(mechanism.joint_coordinates)
    return ConstantEffort(vector(texts, efforts, f"the efforts {who}", "--torque", flange=turns))


def _write_run(
    robot: "Robot",
    mechanism: "AbstractMechanism",
    run: "Simulation",
    table: Path | None,
    drawing: Path | None,
) -> None:
    if table is not None:
        from triskele.export.demands import simulation_table

        write_columns(simulation_table(mechanism, run), table)
    if drawing is not None:
        from triskele.reports.figures import save_figure
        from triskele.reports.load_figures import simulation_figure

        save_figure(simulation_figure(robot, mechanism, run), drawing)
        note(f"wrote {drawing}")


def _run_summary(
    robot: "Robot", mechanism: "AbstractMechanism", run: "Simulation"
) -> dict[str, object]:
    import numpy as np

    return {
        "robot": robot.name,
        "samples": len(run.t),
        "duration": float(run.t[-1]),
        "ended": run.ended,
        "steps": run.steps,
        "platform": {
            name: {
                "unit": unit,
                "start": float(run.x[0, k]),
                "end": float(run.x[-1, k]),
                "peak_velocity": float(np.abs(run.xd[:, k]).max()),
            }
            for k, (name, unit) in enumerate(mechanism.platform_coordinates)
        },
        "energy": {
            "unit": "J",
            "gained": float(run.energy[-1] - run.energy[0]),
            "work": float(run.work[-1]),
            "lost": float(run.lost[-1]),
            "imbalance": run.imbalance,
        },
        "assumptions": [fact._asdict() for fact in used_facts(robot)],
    }


def _print_run(data: dict) -> None:
    typer.echo(f"{data['duration']:.4g} s in {data['steps']} steps, {data['samples']} samples")
    rows = [
        (
            name,
            f"{item['start']:.6g}",
            f"{item['end']:.6g}",
            item["unit"],
            f"{item['peak_velocity']:.4g}",
        )
        for name, item in data["platform"].items()
    ]
    print_rows(rows, ("", "from", "to", "unit", "peak velocity /s"))
    energy = data["energy"]
    typer.echo(
        f"energy gained {energy['gained']:.6g} J = work {energy['work']:.6g} J "
        f"- lost {energy['lost']:.6g} J, to {energy['imbalance']:.1e} J"
    )
