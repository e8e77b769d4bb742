"""The command `motion`: a sampled motion of the platform, and what the joints do along it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from triskele.cli.inputs import AsJson, RobotName, built, number, vector, whole
from triskele.cli.output import (
    FIGURES,
    TABLES,
    give,
    note,
    note_assumptions,
    output_path,
    print_rows,
)
from triskele.errors import InputError, OutOfReach, UnknownName, did_you_mean

if TYPE_CHECKING:
    from jaxtyping import Array

    from triskele.description.schema import Robot
    from triskele.kinematics.cycles import JointMotion
    from triskele.kinematics.mechanism import AbstractMechanism, Coordinate
    from triskele.kinematics.motion import Motion

_SHAPING = ("start", "end", "centre", "move", "radius", "length", "height", "amplitude")
_SHAPING += ("harmonics", "seed", "duration", "rate", "law")  # options that make the motion


def _option(help: str, default: str = "") -> typer.models.OptionInfo:
    """An option that is None unless given; `default` is for the help text."""
    return typer.Option(help=help, show_default=default or False)


def _count(help: str, default: str) -> typer.models.OptionInfo:
    return typer.Option(help=help, show_default=default, parser=whole, metavar="<int>")


def motion(
    context: typer.Context,
    robot: RobotName,
    kind: Annotated[str, typer.Argument(help="See above, or a table of samples (.csv, .parquet).")],
    start: Annotated[str | None, _option("First pose, as 0.1,0,-0.9.")] = None,
    end: Annotated[str | None, _option("Last pose of a line.")] = None,
    centre: Annotated[str | None, _option("Middle of a circle or series.", "home")] = None,
    move: Annotated[str | None, _option("Displacement of an inverted-u.")] = None,
    radius: Annotated[str | None, _option("Of a circle, or of corners [m].", "fits")] = None,
    length: Annotated[str | None, _option("Across, of pick-and-place [m].", "fits")] = None,
    height: Annotated[str | None, _option("Up, of pick-and-place [m].", "fits")] = None,
    amplitude: Annotated[str | None, _option("Of a series, one or each.", "fits")] = None,
    harmonics: Annotated[int | None, _count("Of a series.", "5")] = None,
    seed: Annotated[int | None, _count("Of a series' random coefficients.", "0")] = None,
    duration: Annotated[str | None, _option("Of the motion, or of one turn [s].", "1 s")] = None,
    rate: Annotated[str | None, _option("Samples per second [Hz].", "1000 Hz")] = None,
    law: Annotated[
        str | None, _option("Of a line: uniform, polynomial5, polynomial7.", "polynomial7")
    ] = None,
    joints: Annotated[bool, typer.Option("--joints", help="Write joint columns too.")] = False,
    json: AsJson = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the samples (.csv, .parquet) or a figure.")
    ] = None,
    figure: Annotated[Path | None, typer.Option(help="Write a figure as well.")] = None,
) -> None:
    """A sampled motion with velocity, acceleration and jerk, checked for reach.

    Kinds: line, circle, inverted-u, fourier, pick-and-place, rating-cycle.

    Example: triskele motion abb_irb360_6_1600 pick-and-place --out motion.csv
    """
    table, drawing = output_path(out, *TABLES, *FIGURES), output_path(figure, *FIGURES)
    if table is not None and table.suffix.lower() in FIGURES:
        if drawing is not None:
            raise InputError(f"--out {table} and --figure {drawing} are both figures; give one.")
        table, drawing = None, table
    if joints and table is None:
        raise InputError("--joints adds columns to a table; name it, such as --out motion.csv.")
    options = {name: context.params[name] for name in _SHAPING if context.params[name] is not None}
    asked = _Asked(*built(robot), options)
    made = _made(asked, kind)
    outside = _checked(asked, made)
    along = _write(asked, made, table, drawing, joints=joints)
    data = _summary(asked, made, along) | {"outside_limits": outside}
    give(data, None, json, lambda: _print(data))
    if outside is not None:
        note(f"beyond the limits of the robot file: {outside}")
    note_assumptions(asked.robot.assumptions("geometry"), robot)


class _Asked(NamedTuple):
    """What the user wants moved, and the options that were given."""

    robot: "Robot"
    mechanism: "AbstractMechanism"
    options: Mapping[str, str | int]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.mechanism.platform_coordinates)

    @property
    def home(self) -> "Array":
        from triskele.numerics import stacked

        return stacked(self.mechanism.home())

    @property
    def size(self) -> float:
        """Length [m] of a rod or bar."""
        return float(self.mechanism.scales().loops[0])

    @property
    def duration(self) -> float:
        return self.positive("duration", "s") or 1.0

    @property
    def rate(self) -> float:
        return self.positive("rate", "Hz") or 1000.0

    def positive(self, key: str, unit: str = "m") -> float | None:
        """The option `key` in SI units, None if it was not given."""
        if key not in self.options:
            return None
        value = number(str(self.options[key]), unit, f"--{key}")
        if value <= 0:
            raise InputError(f"--{key} is {value:g} {unit}; it must be positive.")
        return value

    def pose(self, key: str) -> "Array | None":
        """The option `key` as platform coordinates, None if it was not given."""
        if key not in self.options:
            return None
        texts = str(self.options[key]).split(",")
        coordinates = self.mechanism.platform_coordinates
        return vector(texts, coordinates, f"a pose of {self.robot.name}", f"--{key}")


# Kinds of motion; what is not given fits the robot


def _line(asked: _Asked) -> "Motion":
    from triskele.kinematics import motion as motions

    first, last = asked.pose("start"), asked.pose("end")
    if first is None or last is None:
        raise InputError(f"A line needs --start and --end, such as --start {_example(asked)}.")
    name = str(asked.options.get("law", "polynomial7"))
    if name not in motions.LAWS:
        raise UnknownName(f"--law: there is no '{name}'. {did_you_mean(name, motions.LAWS)}")
    return motions.line(
        first,
        last,
        duration=asked.duration,
        law=motions.LAWS[name],
        rate=asked.rate,
        coordinates=asked.names,
    )


def _circle(asked: _Asked) -> "Motion":
    from triskele.kinematics import motion as motions

    centre, radius = asked.pose("centre"), asked.positive("radius")
    return motions.circle(
        asked.home if centre is None else centre,
        0.1 * asked.size if radius is None else radius,
        period=asked.duration,
        rate=asked.rate,
    )


def _inverted_u(asked: _Asked) -> "Motion":
    from triskele.kinematics import motion as motions

    first, step = asked.pose("start"), asked.pose("move")
    if first is None or step is None:
        raise InputError(
            f"An inverted-u needs --start and --move, such as --start {_example(asked)} "
            "--move 0.1,0,0.05."
        )
    times = [asked.duration * k / 4 for k in range(5)]
    return motions.inverted_u(first, step, times=times, rate=asked.rate)


def _fourier(asked: _Asked) -> "Motion":
    """Random coefficients that fall with the harmonic, starting from rest."""
    import numpy as np

    from triskele.kinematics import motion as motions

    harmonics, seed = int(asked.options.get("harmonics", 5)), int(asked.options.get("seed", 0))
    if not 2 <= harmonics <= 100:
        raise InputError(f"--harmonics is {harmonics}; it must be from 2 to 100.")
    if seed < 0:
        raise InputError(f"--seed is {seed}; it must not be negative.")
    centre, amplitude = asked.pose("centre"), _amplitude(asked)
    random = np.random.default_rng(seed)
    falling = np.outer(1 / np.arange(1, harmonics + 1) ** 2, amplitude)
    sine, cosine = motions.resting(*(random.normal(size=falling.shape) * falling for _ in "ab"))
    return motions.fourier(
        asked.home if centre is None else centre,
        sine,
        cosine,
        period=asked.duration,
        rate=asked.rate,
        coordinates=asked.names,
    )


def _amplitude(asked: _Asked) -> "Array":
    """Of each coordinate [m, rad]; one number stands for all."""
    from triskele.numerics import stacked

    coordinates = asked.mechanism.platform_coordinates
    if "amplitude" not in asked.options:
        return 0.02 * asked.size / stacked(asked.mechanism.scales().platform)
    texts = str(asked.options["amplitude"]).split(",")
    texts = texts * len(coordinates) if len(texts) == 1 else texts
    return vector(texts, coordinates, f"an amplitude for {asked.robot.name}", "--amplitude")


def _pick_and_place(asked: _Asked) -> "Motion":
    from triskele.kinematics import cycles

    return cycles.pick_and_place(
        asked.robot,
        length=asked.positive("length"),
        height=asked.positive("height"),
        radius=asked.positive("radius"),
        duration=asked.duration,
        rate=asked.rate,
    )


def _rating_cycle(asked: _Asked) -> "Motion":
    from triskele.kinematics import cycles

    return cycles.rating_cycle(asked.robot, duration=asked.duration, rate=asked.rate)


class _Kind(NamedTuple):
    make: Callable[[_Asked], "Motion"]
    options: tuple[str, ...]  #: besides duration and rate
    translating: bool = True  #: whether it needs x, y and z


MOTIONS = {
    "line": _Kind(_line, ("start", "end", "law"), translating=False),
    "circle": _Kind(_circle, ("centre", "radius")),
    "inverted-u": _Kind(_inverted_u, ("start", "move")),
    "fourier": _Kind(_fourier, ("centre", "amplitude", "harmonics", "seed"), translating=False),
    "pick-and-place": _Kind(_pick_and_place, ("length", "height", "radius")),
    "rating-cycle": _Kind(_rating_cycle, ()),
}


def _made(asked: _Asked, kind: str) -> "Motion":
    """The motion that the options describe, or the one in a table."""
    if Path(kind).suffix:
        from triskele.export.motions import read_motion

        _refuse_unused(asked, "A table of samples", ())
        return read_motion(kind, asked.names)
    if kind not in MOTIONS:
        raise UnknownName(f"No motion is called '{kind}'. {did_you_mean(kind, MOTIONS)}")
    make, options, translating = MOTIONS[kind]
    if translating and asked.names[:3] != ("x", "y", "z"):
        able = " or ".join(name for name in MOTIONS if not MOTIONS[name].translating)
        moves = ", ".join(asked.names)
        raise InputError(f"{asked.robot.name} moves in {moves}; it can follow a {able}.")
    _refuse_unused(asked, f"The motion {kind}", (*options, "duration", "rate"))
    return make(asked)


def _refuse_unused(asked: _Asked, what: str, known: tuple[str, ...]) -> None:
    """Options that would be passed over are mistakes."""
    for key in asked.options:
        if key not in known:
            takes = f"takes {', '.join(f'--{name}' for name in known)}" if known else "takes none"
            raise InputError(f"{what} has no use for --{key}; it {takes}.")


def _example(asked: _Asked) -> str:
    return ",".join(f"{round(float(value), 3) + 0.0:g}" for value in asked.home)


# What comes out


def _checked(asked: _Asked, made: "Motion") -> str | None:
    """Refuse a motion that the legs cannot follow; say where it is beyond the limits."""
    from triskele.description.schema import Limits
    from triskele.kinematics.cycles import check_motion

    check_motion(asked.mechanism, Limits(singularity_margin=0.0), made)
    try:
        check_motion(asked.mechanism, asked.robot.limits, made)
    except OutOfReach as error:
        return str(error)
    return None


def _write(
    asked: _Asked, made: "Motion", table: Path | None, drawing: Path | None, *, joints: bool
) -> "JointMotion":
    """The joints along the motion, and the files that were asked for."""
    from triskele.kinematics.cycles import joint_motion_along

    along = joint_motion_along(asked.mechanism, made)
    if table is not None:
        from triskele.export.motions import write_motion

        write_motion(made, table, joints=(asked.mechanism, along) if joints else None)
        note(f"wrote {table}")
    if drawing is not None:
        from triskele.reports.figures import motion_figure, save_figure

        save_figure(motion_figure(asked.robot, asked.mechanism, made, along), drawing)
        note(f"wrote {drawing}")
    return along


def _summary(asked: _Asked, made: "Motion", along: "JointMotion") -> dict[str, object]:
    orders = (made.x, made.xd, made.xdd, made.xddd)
    return {
        "robot": asked.robot.name,
        "samples": len(made.t),
        "duration": float(made.duration),
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
