"""The commands `torques` and `simulate`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from triskele.cli.inputs import AsJson, RobotName, built, number, vector
from triskele.cli.output import (
    TABLES,
    give,
    note,
    note_assumptions,
    print_rows,
    table_and_figure,
    write_columns,
)
from triskele.cli.shapes import Asked, made, option, shaped
from triskele.errors import InputError

if TYPE_CHECKING:
    from jaxtyping import Array

    from triskele.description.schema import Payload, Robot
    from triskele.dynamics.robot import RigidRobot
    from triskele.dynamics.simulate import Controller, Simulation
    from triskele.dynamics.torques import MotionDemands
    from triskele.kinematics.mechanism import AbstractMechanism

Carried = Annotated[str | None, option("Mass [kg], or the name of one in the robot file.", "none")]
CarriedCentre = Annotated[
    str | None, option("Its centre of mass in the flange frame, as 0,0,-0.1 [m].", "0,0,0")
]
CarriedInertia = Annotated[
    str | None, option("Its moments xx,yy,zz about that centre [kg m^2].", "0,0,0")
]
Out = Annotated[
    Path | None, typer.Option(help="Write all samples (.csv, .parquet, .json), or a figure.")
]
Drawing = Annotated[Path | None, typer.Option(help="Write a figure as well.")]
_ALL = (*TABLES, ".json")


@shaped
def torques(
    robot: RobotName,
    motion: Annotated[
        str, typer.Option(help="Kind of motion (see `motion --help`), or a table of samples.")
    ] = "pick-and-place",
    payload: Carried = None,
    payload_centre: CarriedCentre = None,
    payload_inertia: CarriedInertia = None,
    frictionless: Annotated[bool, typer.Option(help="Leave friction out.")] = False,
    options: "Mapping[str, str | int]" = {},  # noqa: B006 (replaced by `shaped`)
    json: AsJson = False,
    out: Out = None,
    figure: Drawing = None,
) -> None:
    """Torques of the drives and loads in the joints along a motion, against their limits.

    Example: triskele torques omron_mini_delta --payload 0.5
    """
    table, drawing = table_and_figure(out, figure, *_ALL)
    asked = Asked(*built(robot), options)
    carried = _payload(asked.robot, payload, payload_centre, payload_inertia)
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
    note_assumptions(_used(asked.robot), robot)


def _name(payload: str) -> str:
    return payload if payload[-1:].isalpha() else f"{payload} kg"


def _used(robot: "Robot") -> tuple:
    return robot.assumptions("geometry", "bodies", "friction", "motors", "gravity")


def _payload(
    robot: "Robot", mass: str | None, centre: str | None, inertia: str | None
) -> "Payload | None":
    """The payload that the options describe."""
    from triskele.description.schema import Payload

    if mass is None:
        given = "--payload-centre" if centre else "--payload-inertia" if inertia else None
        if given:
            raise InputError(f"{given} needs --payload, the mass, beside it.")
        return None
    if mass in robot.payloads:
        if centre or inertia:
            raise InputError(f"The payload '{mass}' of the file has its own centre and inertia.")
        return robot.payloads[mass]
    if mass.isidentifier():
        known = ", ".join(robot.payloads) or "none"
        raise InputError(
            f"--payload: {robot.name} has no payload '{mass}' (it has {known}); give a mass, "
            "such as 2.5 or 2500g."
        )
    value = number(mass, "kg", "--payload")
    if value <= 0:
        raise InputError(f"--payload is {value:g} kg; a payload has a positive mass.")
    return Payload(
        mass=value,
        centre_of_mass=_three(centre, "m", "--payload-centre"),
        inertia=_three(inertia, "kg m^2", "--payload-inertia"),
    )


def _three(text: str | None, unit: str, place: str) -> tuple[float, float, float]:
    if text is None:
        return 0.0, 0.0, 0.0
    parts = text.split(",")
    if len(parts) != 3:
        raise InputError(f"{place} is three numbers, as 0,0,0.1 [{unit}]; {len(parts)} given.")
    x, y, z = (number(part, unit, place) for part in parts)
    return x, y, z


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
        "loads": _load_summary(demands),
        "limits": [item._asdict() | {"exceeded": item.exceeded} for item in demands.limits],
        "assumptions": [fact._asdict() for fact in _used(asked.robot)],
    }


def _load_summary(demands: "MotionDemands") -> dict[str, object] | None:
    import numpy as np

    if demands.loads is None:
        return None
    loads, found = demands.loads, {}
    if loads.rods is not None:
        found["rods"] = {
            name: {"peak_tension": float(peak), "peak_lateral": float(across)}
            for name, peak, across in zip(
                loads.rods.names,
                loads.rods.peak,
                np.maximum(loads.rods.lower_lateral, loads.rods.upper_lateral).max(axis=0),
                strict=True,
            )
        }
        found["unique"] = loads.rods.unique
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
        print_rows(rows, ("rod", "peak tension [N]", "across [N]"))
    if not loads.get("unique", True):
        note("redundant joints share these loads; rigid bodies do not tell how: least norm shown")
    force = max(loads["bearing_force"])
    typer.echo(
        f"bearings of the arms: up to {force:.4g} N and {max(loads['bearing_moment']):.4g} N m; "
        f"flange: {loads['flange_force']:.4g} N and {loads['flange_tilting_moment']:.4g} N m"
    )


# Forward


def simulate(
    robot: RobotName,
    at: Annotated[str | None, option("Pose at the start, as 0.1,0,-0.9.", "home")] = None,
    speed: Annotated[str | None, option("Velocity at the start.", "rest")] = None,
    torque: Annotated[
        str | None, option("Constant efforts of the drives [N m, N]; or: hold.", "0")
    ] = None,
    duration: Annotated[str | None, option("[s]", "1 s")] = None,
    rate: Annotated[str | None, option("Samples per second [Hz].", "1000 Hz")] = None,
    tolerance: Annotated[str | None, option("Of the integrator.", "1e-9")] = None,
    payload: Carried = None,
    payload_centre: CarriedCentre = None,
    payload_inertia: CarriedInertia = None,
    frictionless: Annotated[bool, typer.Option(help="Leave friction out.")] = False,
    json: AsJson = False,
    out: Out = None,
    figure: Drawing = None,
) -> None:
    """What the robot does under constant efforts of its drives, until it leaves its limits.

    `--torque hold` gives each drive what keeps the robot at rest at the start.

    Example: triskele simulate flexible_delta --torque hold
    """
    table, drawing = table_and_figure(out, figure, *_ALL)
    described, mechanism = built(robot)
    carried = _payload(described, payload, payload_centre, payload_inertia)
    from triskele.dynamics.robot import rigid
    from triskele.dynamics.simulate import simulate as run_simulation
    from triskele.numerics import stacked

    model = rigid(described, carried, friction=not frictionless)
    coordinates, who = mechanism.platform_coordinates, f"of {described.name}"
    x = stacked(mechanism.home())
    x = x if at is None else vector(at.split(","), coordinates, f"a pose {who}", "--at")
    xd = 0 * x
    if speed is not None:
        xd = vector(speed.split(","), coordinates, f"a velocity {who}", "--speed")
    run = run_simulation(
        model,
        x,
        xd,
        _constant(model, mechanism, x, torque, who),
        _positive(duration, "s", "--duration", 1.0),
        limits=described.limits,
        rate=_positive(rate, "Hz", "--rate", 1000.0),
        tolerance=_positive(tolerance, "", "--tolerance", 1e-9),
    )
    _write_run(described, mechanism, run, table, drawing)
    data = _run_summary(described, mechanism, run)
    give(data, None, json, lambda: _print_run(data))
    if run.ended is not None:
        note(f"ended {run.ended}")
    note_assumptions(_used(described), robot)


def _positive(text: str | None, unit: str, place: str, default: float) -> float:
    value = default if text is None else number(text, unit, place)
    if value <= 0:
        raise InputError(f"{place} is {value:g} {unit}; it must be positive.".replace(" ;", ";"))
    return value


def _constant(
    model: "RigidRobot", mechanism: "AbstractMechanism", x: "Array", torque: str | None, who: str
) -> "Controller":
    """The controller that the option describes."""
    import equinox as eqx
    import jax.numpy as jnp

    from triskele.dynamics.inverse import inverse_dynamics
    from triskele.dynamics.simulate import ConstantEffort
    from triskele.export.demands import effort_unit
    from triskele.kinematics.mechanism import Coordinate
    from triskele.numerics import stacked

    if torque is None:
        return ConstantEffort(jnp.zeros(len(mechanism.joint_coordinates)))
    if torque == "hold":
        return ConstantEffort(stacked(eqx.filter_jit(inverse_dynamics)(model, x, 0 * x, 0 * x)))
    efforts = tuple(
        Coordinate(f"motor {k + 1}", effort_unit(c))
        for k, c in enumerate(mechanism.joint_coordinates)
    )
    return ConstantEffort(vector(torque.split(","), efforts, f"the efforts {who}", "--torque"))


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
        "assumptions": [fact._asdict() for fact in _used(robot)],
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
