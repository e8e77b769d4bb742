"""The commands `modes` and `vibrate`: robots whose links bend."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from triskele.cli.control import sprung_modes
from triskele.cli.inputs import AsJson, RobotName, built, number, positive, whole
from triskele.cli.output import (
    TABLES,
    give,
    note,
    note_assumptions,
    output_path,
    print_rows,
    progress_bar,
    table_and_figure,
    write_columns,
)
from triskele.cli.payloads import Carried, CarriedCentre, CarriedInertia, carried_payload
from triskele.cli.poses import At, pose_at
from triskele.cli.shapes import Asked, gathered, made, option, shaped
from triskele.errors import InputError, UnknownName, did_you_mean
from triskele.units import display

if TYPE_CHECKING:
    import numpy as np

    from triskele.description.schema import Payload, Robot
    from triskele.flexible.assembly import Damping
    from triskele.flexible.response import Response
    from triskele.flexible.robot import FlexibleRobot
    from triskele.flexible.servo import Feed
    from triskele.flexible.settling import Settling
    from triskele.flexible.shaping import Trial
    from triskele.kinematics.motion import Motion
    from triskele.numerics import AnyArray


def _count(help: str, default: str | bool = False) -> typer.models.OptionInfo:
    return typer.Option(help=help, show_default=default, parser=whole, metavar="<int>")


_MODEL = {
    "payload": Carried,
    "payload_centre": CarriedCentre,
    "payload_inertia": CarriedInertia,
    "elements": Annotated[int | None, _count("Per link.", "1")],
    "family": Annotated[str | None, option("linear/cubic or cubic/quintic.", "linear/cubic")],
    "timoshenko": Annotated[bool | None, typer.Option("--timoshenko", help="Beams that shear.")],
    "keep": Annotated[int | None, _count("Modes of each link kept beside its ends.", "all")],
    "drives": Annotated[
        str | None, option("What gives way: clamped, geared or servo.", "as the file has them")
    ],
}
Model = Mapping[str, object]
Out = Annotated[
    Path | None, typer.Option(help="Write a table (.csv, .parquet, .json), or a figure.")
]
Drawing = Annotated[Path | None, typer.Option(help="Write a figure as well.")]
_ALL = (*TABLES, ".json")
_FEEDS = ("velocity", "torque")
_FACTS = ("geometry", "bodies", "sections", "materials", "flexures", "gravity")
_NEVER = 1e9  #: [s], in a table
_SMALL, _SEEN = 0.05, 0.1  #: what is left out and warned of, of a deviation and the tolerance
_STRETCHES = (1.0, 1.25, 1.5, 2.0, 2.5)  #: of the duration, tried by --compare


Count = Annotated[int, _count("How many modes.", "8")]
Points = Annotated[int, _count("Of the map, along x and y.", "33")]
Mode = Annotated[int | None, _count("What a mode depends on; counted from 1.")]
Along = Annotated[str | None, option("Kind of motion (see `motion --help`), or a table.")]
Kind = Annotated[str, typer.Option(help="Kind of motion (see `motion --help`), or a table.")]
Ratio = Annotated[str | None, option("Ratio, of the lowest six modes.", "of the material, or 0")]
Level = Annotated[str | None, option("Height z of the map [m].", "home")]
Fed = Annotated[str | None, option("Fed to servos: velocity, torque; as velocity,torque.", "none")]
Film = Annotated[Path | None, typer.Option(help="Write the bent robot in pictures (.npz).")]


def _flag(name: str, help: str) -> typer.models.OptionInfo:
    return typer.Option(f"--{name}", help=help)


def _modelled(command: Callable[..., None]) -> Callable[..., None]:
    return gathered(command, "model", _MODEL)


@shaped
@_modelled
def modes(
    robot: RobotName,
    at: At = None,
    map: Annotated[bool, _flag("map", "Over the workspace, at one level.")] = False,
    level: Level = None,
    points: Points = 33,
    along: Along = None,
    count: Count = 8,
    loaded: Annotated[bool, _flag("loaded", "Links stiffened by tension of the weight.")] = False,
    sensitivity: Mode = None,
    convergence: Annotated[bool, _flag("convergence", "With 1, 2, 4 and 8 elements.")] = False,
    options: "Mapping[str, str | int]" = {},  # noqa: B006 (replaced by `shaped`)
    model: "Model" = {},  # noqa: B006 (replaced by `_modelled`)
    json: AsJson = False,
    out: Out = None,
    figure: Drawing = None,
) -> None:
    """Natural frequencies and mode shapes of a robot with elastic parts.

    Of a Delta with cross-sections those of its bending links, on its gears and servos. Of any other
    robot those of couplings, rods and flexures: with motors locked, and with drives free where
    flexures hold the platform.

    Example: triskele modes flexible_delta --at 0.1 0 -0.5
    """
    table, drawing = table_and_figure(out, figure, *_ALL)
    if sum([at is not None, map, along is not None]) > 1:
        raise InputError("--at, --map and --along exclude one another.")
    if level is not None and not map:
        raise InputError("--level is the height of a --map; a pose has --at.")
    if convergence and (map or along is not None or drawing is not None):
        raise InputError("--convergence prints a table of one pose; no map, motion or figure.")
    if options and along is None:
        raise InputError(f"--{next(iter(options))} shapes a motion; name one with --along.")
    asked = _Asked(Asked(*built(robot), options), model, count, loaded)
    if not asked.bends:
        chosen = {"--map": map, "--along": along, "--loaded": loaded, "--sensitivity": sensitivity}
        chosen |= {"--convergence": convergence, "--out": table, "--figure": drawing}
        chosen |= {f"--{key}": value for key, value in model.items() if "payload" not in key}
        data, show = sprung_modes(asked.asked, asked.carried(), at, chosen)
    elif map:
        data, show = _mapped(asked, level, points, table, drawing)
    elif along is not None:
        data, show = _along(asked, along, table, drawing)
    elif convergence:
        data, show = _converging(asked, at, table)
    else:
        data, show = _single(asked, at, sensitivity, table, drawing)
    give({"robot": asked.robot.name, **data}, None, json, show)
    note_assumptions(asked.robot.assumptions(*asked.facts), robot)


@shaped
@_modelled
def vibrate(
    robot: RobotName,
    motion: Kind = "pick-and-place",
    damping: Ratio = None,
    steady: Annotated[bool, _flag("steady", "Periodic response to a period.")] = False,
    stiffened: Annotated[bool, _flag("stiffened", "By tension of the links.")] = False,
    method: Annotated[str, typer.Option(help="newmark or generalised-alpha.")] = "newmark",
    tolerance: Annotated[str | None, option("To have settled within [m].", "1 mm")] = None,
    compare: Annotated[bool, _flag("compare", "Slower and shaped motions beside it.")] = False,
    animation: Film = None,
    enlarged: Annotated[str | None, option("Deflections in --animation, times.", "1")] = None,
    feed: Fed = None,
    options: "Mapping[str, str | int]" = {},  # noqa: B006 (replaced by `shaped`)
    model: "Model" = {},  # noqa: B006 (replaced by `_modelled`)
    json: AsJson = False,
    out: Out = None,
    figure: Drawing = None,
) -> None:
    """What the tool really does along a motion: deviation, torques, stress, settling.

    Example: triskele vibrate flexible_delta --length 0.1 --duration 0.8
    """
    table, drawing = table_and_figure(out, figure, *_ALL)
    film = output_path(animation, ".npz")
    within = positive(tolerance, "m", "--tolerance", 1e-3)
    scale = positive(enlarged, "", "--enlarged", 1.0)
    if enlarged is not None and film is None:
        raise InputError("--enlarged is for --animation; name a file for it.")
    if steady and method != "newmark":
        raise InputError("--steady is found by newmark; --method is for motions step by step.")
    if compare and (steady or film is not None):
        raise InputError("--compare goes with neither --steady nor --animation.")
    asked = _Asked(Asked(*built(robot), options), model, 6, False)
    samples = _reached(asked, made(asked.asked, motion))
    flexible = asked.model_of()
    damped, fed = _damping(asked, flexible, samples, damping), _fed(asked, flexible, feed)
    if compare:
        data, show = _compared(asked, flexible, motion, damped, fed, within, table, drawing)
    else:
        common = {"damping": damped, "stiffened": stiffened, "feed": fed(samples)}
        found = _integrated(flexible, samples, common, method, steady=steady)
        data, show = _responded(asked, found, within, table, drawing, steady=steady)
        _filmed(found, film, scale)
    give({"robot": asked.robot.name, **data}, None, json, show)
    note_assumptions(asked.robot.assumptions(*asked.facts), robot)


class _Asked(NamedTuple):
    """A robot, its model, and what is wanted of its modes."""

    asked: Asked
    model: Model
    most: int  #: modes
    loaded: bool

    @property
    def robot(self) -> "Robot":
        return self.asked.robot

    def carried(self) -> "Payload | None":
        """What the options hang on the platform."""
        keys = ("payload", "payload_centre", "payload_inertia")
        return carried_payload(self.robot, *(self.model.get(key) for key in keys))  # pyright: ignore[reportArgumentType]

    def model_of(self, elements: int | None = None) -> "FlexibleRobot":
        """The flexible robot that the options describe."""
        from triskele.flexible.robot import flexible

        given = self.model
        return flexible(
            self.robot,
            self.carried(),
            elements=elements or int(str(given.get("elements", 1))),
            family=str(given.get("family", "linear/cubic")),
            slender=not given.get("timoshenko", False),
            kept_modes=given.get("keep"),  # pyright: ignore[reportArgumentType]
            drives=self.drives,
        )

    @property
    def drives(self) -> str:
        """What gives way in the drives: as asked, or as the file has them."""
        from triskele.flexible.robot import stated_drives
        from triskele.laws.drives import drives

        given = self.model.get("drives")
        if given is None:
            return stated_drives(self.robot)
        if given == "geared":
            for drive in drives(self.robot, self.asked.mechanism)[:3]:
                self.robot.require(f"{drive.place}.coupling_stiffness", "--drives geared")
        return str(given)

    @property
    def bends(self) -> bool:
        """Whether the model of bending links is that of the robot."""
        from triskele.flexible.robot import bends

        return bends(self.robot)

    @property
    def facts(self) -> tuple[str, ...]:
        """Tables of the file that count."""
        from triskele.laws.drives import drives

        own = drives(self.robot, self.asked.mechanism)
        geared = ("motors",) if any(drive.stiffness is not None for drive in own) else ()
        if not self.bends:
            return (*_FACTS, "motors")
        more = {"clamped": (), "geared": geared, "servo": ("motors", "control", "friction")}
        return (*_FACTS, *more.get(self.drives, ()))

    def pose(self, at: str | None) -> "AnyArray":
        """The pose asked for, within reach."""
        found = pose_at(self.robot, self.asked.mechanism, at)
        return self.asked.home if found is None else found


Shown = tuple[dict[str, object], Callable[[], None]]


# modes


def _single(
    asked: _Asked,
    at: str | None,
    sensitivity: int | None,
    table: Path | None,
    drawing: Path | None,
) -> Shown:
    import numpy as np

    from triskele.flexible import modes as found_by

    x, model = asked.pose(at), asked.model_of()
    found = found_by.modes(model, x, count=asked.most, loaded=asked.loaded)
    hanging = found_by.sag(model, x)
    w, moving = np.asarray(found.frequencies), found_by.energies(model, found)
    if found.grows:
        note("warning: the loop of servos, gears and links is unstable here; something grows")
    data: dict[str, object] = {
        "pose": np.asarray(x).tolist(),
        "unknowns": model.unknowns,
        **_drives_summary(asked, model),
        "fading": {"unit": "1/s", "rates": found.fading.tolist()},
        "modes": [
            {
                "frequency": float(value / (2 * np.pi)),
                "unit": "Hz",
                "rad_per_s": float(value),
                "damping_ratio": float(ratio),
                "moves": way,
                "platform_share": float(shares[0]),
                "shares": dict(zip(moving.bodies, map(float, shares), strict=True)),
            }
            for value, ratio, way, shares in zip(
                w, found.ratios, found.directions, moving.shares, strict=True
            )
        ],
        "sag": {
            "position": np.asarray(hanging.position).tolist(),
            "unit": "m",
            "rotation": np.asarray(hanging.rotation).tolist(),
            "rotation_unit": "rad",
        },
    }
    if sensitivity is not None:
        if model.servo is not None:
            raise InputError(
                "--sensitivity is for motors that are held; add --drives clamped, or geared."
            )
        rows = found_by.sensitivities(model, x, sensitivity, count=asked.most)
        data["sensitivities"] = {"mode": sensitivity, "rows": [row._asdict() for row in rows]}
    _write_frequencies(asked, np.asarray(x)[None], w[None], table)
    if drawing is not None:
        from triskele.reports.figures import save_figure
        from triskele.reports.vibration_figures import modes_figure

        note(f"wrote {save_figure(modes_figure(asked.robot, model, found), drawing)}")
    return data, lambda: _print_modes(data)


def _print_modes(data: dict) -> None:
    bodies = data["modes"][0]["shares"]
    rows = [
        (
            str(k),
            f"{mode['frequency']:.5g}",
            f"{mode['rad_per_s']:.6g}",
            *([f"{round(100 * mode['damping_ratio'], 2) + 0.0:.2f}"] if data["servo"] else []),
            mode["moves"],
            *(f"{100 * max(share, 0.0):.1f}" for share in mode["shares"].values()),
        )
        for k, mode in enumerate(data["modes"], 1)
    ]
    energy = (f"{name} [%]" for name in bodies)
    damping = ["damping [%]"] if data["servo"] else []
    print_rows(rows, ("mode", "Hz", "rad/s", *damping, "platform moves", *energy))
    typer.echo(_drives(data))
    if data["fading"]["rates"]:
        rates = ", ".join(f"{rate:.3g}" for rate in data["fading"]["rates"][:6])
        typer.echo(f"without a swing fade at 1/s: {rates}")
    x, y, z = (round(1e3 * value, 3) + 0.0 for value in data["sag"]["position"])
    typer.echo(f"sag under its weight: {x:.3f}, {y:.3f}, {z:.3f} mm")
    if "sensitivities" in data:
        typer.echo("")
        given = data["sensitivities"]
        shown = [
            (row["parameter"], f"{row['value']:.4g}", f"{row['relative']:+.3f}")
            for row in given["rows"]
            if abs(row["relative"]) > 5e-4
        ]
        print_rows(shown, ("parameter", "value", f"% of mode {given['mode']} per %"))


def _drives_summary(asked: _Asked, model: "FlexibleRobot") -> dict[str, object]:
    """What gives way in the drives, at the arms."""
    import numpy as np

    gears, servo = model.gears, model.servo
    held: dict[str, object] | None = None
    if servo is not None:
        parts = {"stiffness": "N m/rad", "damping": "N m s/rad", "integral": "N m/rad"}
        held = {
            key: {"value": np.asarray(getattr(servo, key)).tolist(), "unit": unit}
            for key, unit in (parts | {"position_gain": "1/s"}).items()
        }
    return {
        "drives": asked.drives,
        "asked": "drives" in asked.model,
        "gears": None if gears is None else np.asarray(gears.stiffness).tolist(),
        "servo": held,
    }


def _drives(data: Mapping) -> str:
    """How the arms are held."""

    def shown(values: list[float]) -> str:
        return ", ".join(f"{value:.4g}" for value in dict.fromkeys(values))

    gears, servo = data["gears"], data["servo"]
    if data["drives"] == "clamped":
        why = "as asked" if data["asked"] else "the file has no coupling_stiffness, no servo"
        return f"drives: clamped; motors held, gears rigid ({why})"
    soft = "gears rigid" if gears is None else f"gears of {shown(gears)} N m/rad at the arms"
    if servo is None:
        return f"drives: geared; motors held, {soft}"
    spring, damper = (shown(servo[key]["value"]) for key in ("stiffness", "damping"))
    return f"drives: servo of {spring} N m/rad and {damper} N m s/rad at the arms; {soft}"


def _converging(asked: _Asked, at: str | None, table: Path | None) -> Shown:
    import numpy as np

    from triskele.flexible import modes as found_by

    x, rows = asked.pose(at), []
    for elements in (1, 2, 4, 8):
        model = asked.model_of(elements)
        count = min(asked.most, model.unknowns)
        found = found_by.modes(model, x, count=count, loaded=asked.loaded)
        rows.append(
            {
                "elements": elements,
                "unknowns": model.unknowns,
                "rad_per_s": np.asarray(found.frequencies).tolist(),
            }
        )
    data: dict[str, object] = {"pose": np.asarray(x).tolist(), "unit": "rad/s", "rows": rows}
    if table is not None:
        from triskele.description.tables import Table

        columns: dict = {
            key: ("1", np.array([float(row[key]) for row in rows]))
            for key in ("elements", "unknowns")
        }
        for k in range(len(rows[0]["rad_per_s"])):
            columns[f"w{k + 1}"] = ("rad/s", np.array([row["rad_per_s"][k] for row in rows]))
        write_columns(Table(columns, "convergence"), table)

    def show() -> None:
        header = ("elements", "unknowns", *(f"w{k + 1}" for k in range(len(rows[0]["rad_per_s"]))))
        cells = [
            (str(row["elements"]), str(row["unknowns"]), *(f"{w:.4f}" for w in row["rad_per_s"]))
            for row in rows
        ]
        print_rows(cells, header)
        typer.echo("w in rad/s")

    return data, show


def _mapped(
    asked: _Asked, level: str | None, points: int, table: Path | None, drawing: Path | None
) -> Shown:
    import numpy as np

    from triskele.flexible.modes import frequencies_at
    from triskele.kinematics.level import poses_at_level

    if not 5 <= points <= 400:
        raise InputError(f"--points is {points}; it must be from 5 to 400.")
    home = np.asarray(asked.asked.home)
    z = float(home[2]) if level is None else number(level, "m", "--level")
    mechanism = asked.asked.mechanism
    x, inside = poses_at_level(mechanism, asked.robot.limits, z, points)
    model = asked.model_of()
    count = min(asked.most, model.unknowns)
    with progress_bar("frequencies") as progress:
        w = frequencies_at(model, x[inside], count=count, loaded=asked.loaded, progress=progress)
    _write_frequencies(asked, x[inside], w, table)
    if drawing is not None:
        from triskele.reports.figures import save_figure
        from triskele.reports.vibration_figures import map_figure

        whole_map = np.full((*inside.shape, count), np.nan)
        whole_map[inside] = w
        note(f"wrote {save_figure(map_figure(asked.robot, x, whole_map, z), drawing)}")
    data: dict[str, object] = {"level": z, "poses": int(inside.sum()), **_ranges(x[inside], w)}
    data |= _drives_summary(asked, model)
    return data, lambda: _print_ranges(data, f"{inside.sum()} poses at z = {z:g} m")


def _along(asked: _Asked, kind: str, table: Path | None, drawing: Path | None) -> Shown:
    import numpy as np

    from triskele.flexible.modes import frequencies_at

    samples = _reached(asked, made(asked.asked, kind))
    every = max(1, len(samples.t) // 500)
    t, x = np.asarray(samples.t)[::every], np.asarray(samples.x)[::every]
    model = asked.model_of()
    with progress_bar("frequencies") as progress:
        w = frequencies_at(
            model, x, count=min(asked.most, model.unknowns), loaded=asked.loaded, progress=progress
        )
    _write_frequencies(asked, x, w, table, t)
    if drawing is not None:
        from triskele.reports.figures import save_figure
        from triskele.reports.vibration_figures import along_figure

        note(f"wrote {save_figure(along_figure(asked.robot, t, w), drawing)}")
    data: dict[str, object] = {"motion": kind, "poses": len(x), **_ranges(x, w)}
    data |= _drives_summary(asked, model)
    return data, lambda: _print_ranges(data, f"{len(x)} poses along the motion")


def _ranges(x: "np.ndarray", w: "np.ndarray") -> dict[str, object]:
    hertz = w / (2 * math.pi)
    low, high = w.argmin(axis=0), w.argmax(axis=0)
    return {
        "unit": "Hz",
        "modes": [
            {
                "least": float(hertz[low[k], k]),
                "at_least": x[low[k]].tolist(),
                "greatest": float(hertz[high[k], k]),
                "at_greatest": x[high[k]].tolist(),
            }
            for k in range(w.shape[1])
        ],
    }


def _print_ranges(data: dict, what: str) -> None:
    def place(x: list[float]) -> str:
        return ", ".join(f"{value + 0.0:.3f}" for value in x[:3])

    typer.echo(what)
    rows = [
        (
            str(k),
            f"{mode['least']:.5g}",
            place(mode["at_least"]),
            f"{mode['greatest']:.5g}",
            place(mode["at_greatest"]),
        )
        for k, mode in enumerate(data["modes"], 1)
    ]
    print_rows(rows, ("mode", "least [Hz]", "at x, y, z [m]", "greatest [Hz]", "at x, y, z [m]"))
    typer.echo(_drives(data))


def _write_frequencies(
    asked: _Asked,
    x: "np.ndarray",
    w: "np.ndarray",
    table: Path | None,
    t: "np.ndarray | None" = None,
) -> None:
    if table is None:
        return
    from triskele.export.vibrations import frequencies_table

    write_columns(frequencies_table(asked.asked.mechanism, x, w, t), table)


# vibrate


def _reached(asked: _Asked, samples: "Motion") -> "Motion":
    from triskele.kinematics.cycles import check_motion

    check_motion(asked.asked.mechanism, asked.robot.limits, samples)
    return samples


def _damping(
    asked: _Asked, model: "FlexibleRobot", samples: "Motion", text: str | None
) -> "Damping":
    """Fitted to the six lowest modes where the motion begins, motors held."""
    import numpy as np

    from triskele.flexible.modes import frequencies_at
    from triskele.flexible.response import fitted_damping

    if text is None:
        rod = getattr(asked.robot.sections, "rod", None)
        ratio = 0.0 if rod is None else asked.robot.materials[rod.material].damping_ratio or 0.0
    else:
        ratio = number(text, "", "--damping")
    if not 0 <= ratio <= 1:
        raise InputError(f"--damping is {ratio:g}; a damping ratio is from 0 to 1.")
    w = frequencies_at(model.held, np.asarray(samples.x)[:1], count=6)[0]
    return fitted_damping(w, np.full(len(w), ratio))


def _fed(asked: _Asked, model: "FlexibleRobot", text: str | None) -> "Callable[[Motion], Feed]":
    """What servos are fed forward along a motion."""
    from triskele.flexible.servo import NOTHING, feed_forward

    parts = [part.strip() for part in (text or "").split(",") if part.strip()]
    for part in parts:
        if part not in _FEEDS:
            raise UnknownName(f"--feed: there is no '{part}'. {did_you_mean(part, _FEEDS)}")
    if parts and model.servo is None:
        raise InputError(f"--feed is for servos; the drives here are {asked.drives}.")
    if not parts:
        return lambda motion: NOTHING
    velocity, torque = (part in parts for part in _FEEDS)
    payload = asked.carried()
    return lambda motion: feed_forward(
        asked.robot, motion, payload, velocity=velocity, torque=torque
    )


def _integrated(
    model: "FlexibleRobot",
    samples: "Motion",
    common: dict,
    method: str,
    *,
    steady: bool,
) -> "Response":
    from triskele.flexible import response

    with progress_bar("integrating") as progress:
        if steady:
            return response.steady(model, samples, progress=progress, **common)
        return response.vibrate(model, samples, method=method, progress=progress, **common)


def _filmed(found: "Response", film: Path | None, enlarged: float) -> None:
    if film is not None:
        from triskele.export.vibrations import write_animation

        note(f"wrote {write_animation(found, film, enlarged=enlarged)}")


def _responded(
    asked: _Asked,
    found: "Response",
    tolerance: float,
    table: Path | None,
    drawing: Path | None,
    *,
    steady: bool,
) -> Shown:
    from triskele.flexible.settling import settling, stops

    after = settling(found, tolerance) if not steady and stops(found.motion) else None
    if table is not None:
        from triskele.export.vibrations import response_table

        write_columns(response_table(found), table)
    if drawing is not None:
        from triskele.reports.figures import save_figure
        from triskele.reports.vibration_figures import response_figure

        note(f"wrote {save_figure(response_figure(asked.robot, found, after), drawing)}")
    data = {**_response_summary(found, after), **_drives_summary(asked, found.robot)}
    missing: dict = data["left_out"]  # pyright: ignore[reportAssignmentType]
    if missing["share"] > _SMALL and missing["displacement"] > _SEEN * tolerance:
        note(
            f"warning: deflections are not small at {missing['time']:.3g} s: what a linear model "
            f"leaves out there is about {100 * missing['share']:.2g} % of the largest deviation"
        )
    return data, lambda: _print_response(data)


def _response_summary(found: "Response", after: "Settling | None") -> dict[str, object]:
    from triskele.flexible.second_order import left_out

    strains, missing = found.strains(), left_out(found)
    data: dict[str, object] = {
        "samples": len(found.t),
        "duration": float(found.t[-1] - found.t[0]),
        "unknowns": found.robot.unknowns,
        "damping": found.damping._asdict(),
        "left_out": {**missing._asdict(), "unit": "m"},
        "deviation": {
            axis: {"least": float(low), "greatest": float(high), "end": float(end), "unit": unit}
            for values, names, unit in (
                (found.position, ("x", "y", "z"), "m"),
                (found.rotation, ("rx", "ry", "rz"), "rad"),
            )
            for axis, low, high, end in zip(
                names, values.min(axis=0), values.max(axis=0), values[-1], strict=True
            )
        },
        "torque": {
            f"motor_{k + 1}": {
                "least": float(tau.min()),
                "greatest": float(tau.max()),
                "unit": "N m",
            }
            for k, tau in enumerate(found.torque.T)
        },
        "stress": {
            name: {"greatest": float(values.max()), "unit": "Pa"}
            for name, values in zip(strains.names, strains.stress.T, strict=True)
        },
    }
    if after is not None:
        data["settling"] = {
            "tolerance": after.tolerance,
            "time": after.time if math.isfinite(after.time) else None,
            "amplitude": after.amplitude,
        }
    return data


def _print_response(data: dict) -> None:
    typer.echo(
        f"{data['samples']} samples in {data['duration']:.4g} s, {data['unknowns']} unknowns"
    )
    rows = []
    for name, item in data["deviation"].items():
        factor, unit = display(item["unit"])
        cells = (f"{factor * item[key] + 0.0:.3f}" for key in ("least", "greatest", "end"))
        rows.append((name, *cells, unit))
    print_rows(rows, ("deviation", "least", "greatest", "at the end", "unit"))
    typer.echo("")
    rows = [
        (name.replace("_", " "), f"{item['least']:.4g}", f"{item['greatest']:.4g}", "N m")
        for name, item in data["torque"].items()
    ]
    print_rows(rows, ("torque", "least", "greatest", "unit"))
    worst = max(data["stress"], key=lambda name: data["stress"][name]["greatest"])
    stress = 1e-6 * data["stress"][worst]["greatest"]
    typer.echo(f"largest stress {stress:.4g} MPa, in {worst.replace('_', ' ')}")
    typer.echo(_drives(data))
    missing = data["left_out"]
    typer.echo(
        f"left out by small deflections: about {1e3 * missing['displacement']:.2g} mm, "
        f"{100 * missing['share']:.2g} % of the largest deviation"
    )
    if "settling" not in data:
        return
    after = data["settling"]
    within, swing = 1e3 * after["tolerance"], 1e3 * after["amplitude"]
    if after["time"] is None:
        typer.echo(
            f"swings by {swing:.4g} mm after the stop, and does not settle within {within:g} mm"
        )
    else:
        when = f"within {within:g} mm after {after['time']:.3f} s"
        typer.echo(f"swings by {swing:.4g} mm after the stop, {when}")


def _compared(
    asked: _Asked,
    model: "FlexibleRobot",
    motion: str,
    damping: "Damping",
    feed: "Callable[[Motion], Feed]",
    tolerance: float,
    table: Path | None,
    drawing: Path | None,
) -> Shown:
    from triskele.flexible.shaping import SHAPERS
    from triskele.flexible.shaping import compare as compared

    if Path(motion).suffix:
        raise InputError("--compare makes a motion slower; a table of samples has one duration.")
    motions = {}
    for factor in _STRETCHES:
        T = factor * asked.asked.duration
        options = {**asked.asked.options, "duration": str(T)}
        motions[f"{T:g} s"] = made(asked.asked._replace(options=options), motion)
    with progress_bar("comparing") as progress:
        trials = compared(
            model,
            motions,
            damping=damping,
            shapers=SHAPERS,
            tolerance=tolerance,
            feed=feed,
            progress=progress,
        )
    if table is not None:
        write_columns(_trial_table(trials), table)
    if drawing is not None:
        from triskele.reports.figures import save_figure
        from triskele.reports.vibration_figures import trials_figure

        note(f"wrote {save_figure(trials_figure(asked.robot, trials, tolerance), drawing)}")
    rows = [
        trial._asdict() | {"settled": trial.settled if math.isfinite(trial.settled) else None}
        for trial in trials
    ]
    data: dict[str, object] = {"motion": motion, "tolerance": tolerance, "trials": rows}

    def show() -> None:
        cells = [
            (
                trial.name,
                f"{trial.duration:.4g}",
                f"{1e3 * trial.largest:.3f}",
                f"{1e3 * trial.left:.3f}",
                f"{trial.settled:.3f}" if math.isfinite(trial.settled) else "never",
            )
            for trial in trials
        ]
        header = ("motion", "duration [s]", "on the way [mm]", "after the stop [mm]", "settled [s]")
        print_rows(cells, header)

    return data, show


def _trial_table(trials: "tuple[Trial, ...]"):  # noqa: ANN202
    import numpy as np

    from triskele.description.tables import Table
    from triskele.flexible.shaping import SHAPERS

    units = {"duration": "s", "largest": "m", "left": "m", "settled": "s"}
    columns = {
        key: (unit, np.array([min(getattr(trial, key), _NEVER) for trial in trials]))
        for key, unit in units.items()
    }
    impulses = np.array([1.0 + SHAPERS.index(s) + 1 if s else 1.0 for s in map(_shaper, trials)])
    if columns["settled"][1].max() >= _NEVER:
        note(f"what never settles is written as {_NEVER:g} s")
    return Table({"impulses": ("1", impulses), **columns}, "trials")


def _shaper(trial: "Trial") -> str:
    return trial.name.rpartition(", ")[2] if ", " in trial.name else ""
