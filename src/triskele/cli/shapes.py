"""Motions and paths that options describe: a kind, or a table, and what shapes it.

Several commands take a motion; `shaped` gives each of them the same options. `routed` does so
for those that take a path, which is a motion without its times.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, NamedTuple, TypeVar

import typer

from triskele.cli.inputs import number, turns_a_flange, vector, whole
from triskele.errors import InputError, OutOfReach, UnknownName, did_you_mean

if TYPE_CHECKING:
    from triskele.description.schema import Robot
    from triskele.kinematics.mechanism import AbstractMechanism, Coordinate
    from triskele.kinematics.motion import Motion
    from triskele.kinematics.path import AbstractPath, Rounded
    from triskele.numerics import AnyArray


def option(help: str, default: str = "") -> typer.models.OptionInfo:
    """An option that is None unless given; `default` is for the help text."""
    return typer.Option(help=help, show_default=default or False)


def _count(help: str, default: str) -> typer.models.OptionInfo:
    return typer.Option(help=help, show_default=default, parser=whole, metavar="<int>")


_SHAPING = {
    "start": Annotated[str | None, option("First pose, as 0.1,0,-0.9.")],
    "end": Annotated[str | None, option("Last pose of a line.")],
    "centre": Annotated[str | None, option("Middle of a circle or series.", "home")],
    "move": Annotated[str | None, option("Displacement of an inverted-u.")],
    "radius": Annotated[str | None, option("Of a circle, or of corners [m].", "fits")],
    "plane": Annotated[str | None, option("Of a circle, as x,z: two lengths.", "level")],
    "length": Annotated[str | None, option("Across, of pick-and-place [m].", "fits")],
    "height": Annotated[str | None, option("Up, of pick-and-place [m].", "fits")],
    "amplitude": Annotated[str | None, option("Of a series or sine, one or each.", "fits")],
    "frequency": Annotated[str | None, option("Of a sine or joint-sine [Hz].", "0.5 Hz")],
    "phase": Annotated[str | None, option("Of each coordinate of a sine, as 0,2.09,4.19.", "0")],
    "harmonics": Annotated[int | None, _count("Of a series.", "5")],
    "seed": Annotated[int | None, _count("Of a series' random coefficients.", "0")],
    "duration": Annotated[str | None, option("Of the motion, or of one turn [s].", "1 s")],
    "rate": Annotated[str | None, option("Samples per second [Hz].", "1000 Hz")],
    "law": Annotated[
        str | None, option("Of a line: uniform, polynomial5, polynomial7.", "polynomial7")
    ],
}

_ROUTING = {
    "start": Annotated[str | None, option("First pose, as 0.1,0,-0.9.", "fits")],
    "end": Annotated[str | None, option("Last pose of a line.")],
    "centre": Annotated[str | None, option("Middle of a circle.", "home")],
    "radius": Annotated[str | None, option("Of a circle, or of corners [m].", "fits")],
    "plane": Annotated[str | None, option("Of a circle, as x,z: two lengths.", "level")],
    "length": Annotated[str | None, option("Across [m].", "fits")],
    "height": Annotated[str | None, option("Up [m].", "fits")],
    "corner": Annotated[str | None, option("Of a u-turn; the smaller, the sharper [m].", "fits")],
    "vertical": Annotated[int | None, _count("Spans of each vertical leg of u-turn-legs.", "3")],
    "horizontal": Annotated[int | None, _count("Spans of its horizontal leg.", "6")],
    "turn": Annotated[str | None, option("Of the flange on the way across [rad].", "0")],
}


def shaped(command: Callable[..., None]) -> Callable[..., None]:
    """`command` with the options that shape a motion; those given reach it as `options`."""
    return gathered(command, "options", _SHAPING)


def moved(command: Callable[..., None]) -> Callable[..., None]:
    """As `shaped`, for a command that has its own --duration and --rate."""
    own = {key: kind for key, kind in _SHAPING.items() if key not in ("duration", "rate")}
    return gathered(command, "options", own)


def routed(command: Callable[..., None]) -> Callable[..., None]:
    """`command` with the options that shape a path; those given reach it as `options`."""
    return gathered(command, "options", _ROUTING)


def gathered(
    command: Callable[..., None], into: str, options: Mapping[str, Any]
) -> Callable[..., None]:
    """`command` with more `options`, name and annotation; those given reach it as one argument."""

    @wraps(command)
    def run(**given: object) -> None:
        found = {key: given.pop(key) for key in options}
        given[into] = {key: value for key, value in found.items() if value is not None}
        command(**given)

    parameters = []
    for parameter in inspect.signature(command).parameters.values():
        if parameter.name != into:
            parameters.append(parameter)
            continue
        parameters += [
            inspect.Parameter(name, parameter.kind, default=None, annotation=kind)
            for name, kind in options.items()
        ]
    own = {key: kind for key, kind in command.__annotations__.items() if key != into}
    run.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportAttributeAccessIssue]
    run.__annotations__ = {**own, **options}
    return run


class Asked(NamedTuple):
    """What the user wants moved, and the options that were given."""

    robot: "Robot"
    mechanism: "AbstractMechanism"
    options: Mapping[str, str | int]

    @property
    def coordinates(self) -> "tuple[Coordinate, ...]":
        """Of the platform."""
        return self.mechanism.platform_coordinates

    @property
    def names(self) -> tuple[str, ...]:
        """Of the platform coordinates."""
        return tuple(c.name for c in self.coordinates)

    @property
    def home(self) -> "AnyArray":
        """Platform coordinates of the pose the robot is drawn in."""
        from triskele.numerics import stacked

        return stacked(self.mechanism.home())

    @property
    def size(self) -> float:
        """Of the robot [m]: its longest rod or bar."""
        return float(self.mechanism.size)

    @property
    def duration(self) -> float:
        """Of the motion, or of one turn [s]."""
        return self.positive("duration", "s") or 1.0

    @property
    def rate(self) -> float:
        """Samples per second [Hz]."""
        return self.positive("rate", "Hz") or 1000.0

    def positive(self, key: str, unit: str = "m") -> float | None:
        """The option `key` in SI units, None if it was not given."""
        if key not in self.options:
            return None
        value = number(str(self.options[key]), unit, f"--{key}")
        if value <= 0:
            raise InputError(f"--{key} is {value:g} {unit}; it must be positive.")
        return value

    def pose(self, key: str) -> "AnyArray | None":
        """The option `key` as platform coordinates, None if it was not given."""
        if key not in self.options:
            return None
        texts = str(self.options[key]).split(",")
        return vector(texts, self.coordinates, f"a pose of {self.robot.name}", f"--{key}")

    @property
    def plane(self) -> list[str] | None:
        """The two coordinates of a circle, None if they were not given."""
        given = self.options.get("plane")
        return None if given is None else [name.strip() for name in str(given).split(",")]


# Kinds of motion; what is not given fits the robot


def _line(asked: Asked) -> "Motion":
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
        coordinates=asked.coordinates,
    )


def _circle(asked: Asked) -> "Motion":
    from triskele.kinematics import motion as motions

    centre, radius = asked.pose("centre"), asked.positive("radius")
    return motions.circle(
        asked.home if centre is None else centre,
        0.1 * asked.size if radius is None else radius,
        period=asked.duration,
        plane=asked.plane,
        rate=asked.rate,
        coordinates=asked.coordinates,
    )


def _inverted_u(asked: Asked) -> "Motion":
    from triskele.kinematics import motion as motions

    first, step, up = asked.pose("start"), asked.pose("move"), _up(asked)
    if first is None or step is None:
        move = dict.fromkeys(asked.names, "0") | {_across(asked): "0.1", up: "0.05"}
        raise InputError(
            f"An inverted-u needs --start and --move, such as --start {_example(asked)} "
            f"--move {','.join(move.values())}."
        )
    times = [asked.duration * k / 4 for k in range(5)]
    return motions.inverted_u(
        first, step, times=times, rate=asked.rate, up=up, coordinates=asked.coordinates
    )


def _fourier(asked: Asked) -> "Motion":
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
        coordinates=asked.coordinates,
    )


def _sine(asked: Asked) -> "Motion":
    from triskele.kinematics import motion as motions

    centre = asked.pose("centre")
    return motions.sine(
        asked.home if centre is None else centre,
        _amplitude(asked),
        frequency=asked.positive("frequency", "Hz") or 0.5,
        phase=_phase(asked),
        duration=asked.duration,
        rate=asked.rate,
        coordinates=asked.coordinates,
    )


def _joint_sine(asked: Asked) -> "Motion":
    from triskele.kinematics import cycles

    coordinates, given = asked.mechanism.joint_coordinates, str(asked.options.get("amplitude", ""))
    if not given:
        unit = coordinates[0].unit
        example = "1mm" if unit == "m" else "5deg"
        raise InputError(f"A joint-sine needs --amplitude, such as {example}, one or each.")
    texts = given.split(",") * (len(coordinates) if "," not in given else 1)
    return cycles.joint_sine(
        asked.mechanism,
        vector(texts, coordinates, f"an amplitude for {asked.robot.name}", "--amplitude"),
        frequency=asked.positive("frequency", "Hz") or 0.5,
        phase=_phase(asked),
        duration=asked.duration,
        rate=asked.rate,
    )


def _phase(asked: Asked) -> "AnyArray | None":
    """Of each coordinate [rad], None if it was not given."""
    if "phase" not in asked.options:
        return None
    from triskele.kinematics.mechanism import Coordinate

    angles = tuple(Coordinate(c.name, "rad") for c in asked.coordinates)
    texts, turns = str(asked.options["phase"]).split(","), turns_a_flange(asked.coordinates)
    return vector(texts, angles, "a phase", "--phase", flange=turns)


def _amplitude(asked: Asked) -> "AnyArray":
    """Of each coordinate [m, rad]; one number stands for all."""
    from triskele.numerics import stacked

    coordinates = asked.coordinates
    if "amplitude" not in asked.options:
        return 0.02 * asked.size / stacked(asked.mechanism.scales().platform)
    texts = str(asked.options["amplitude"]).split(",")
    texts = texts * len(coordinates) if len(texts) == 1 else texts
    return vector(texts, coordinates, f"an amplitude for {asked.robot.name}", "--amplitude")


def _pick_and_place(asked: Asked) -> "Motion":
    from triskele.kinematics import cycles

    return cycles.pick_and_place(
        asked.robot,
        length=asked.positive("length"),
        height=asked.positive("height"),
        radius=asked.positive("radius"),
        duration=asked.duration,
        rate=asked.rate,
    )


def _rating_cycle(asked: Asked) -> "Motion":
    from triskele.kinematics import cycles

    return cycles.rating_cycle(asked.robot, duration=asked.duration, rate=asked.rate)


# Kinds of path


def _straight(asked: Asked) -> "AbstractPath":
    from triskele.kinematics.path import Line

    first, last = asked.pose("start"), asked.pose("end")
    if first is None or last is None:
        raise InputError(f"A line needs --start and --end, such as --start {_example(asked)}.")
    return Line(first, last)


def _round(asked: Asked) -> "AbstractPath":
    from triskele.kinematics.path import Circle

    centre, radius = asked.pose("centre"), asked.positive("radius")
    return Circle(
        asked.home if centre is None else centre,
        0.1 * asked.size if radius is None else radius,
        plane=asked.plane,
        coordinates=asked.coordinates,
    )


def _u_turn(asked: Asked) -> "AbstractPath":
    from triskele.kinematics.path import u_turn

    start, length, height = _over(asked)
    corner, (turn, turned) = asked.positive("corner"), _turn(asked)
    return u_turn(
        start,
        length=length,
        height=height,
        corner=3 / 16 * length if corner is None else corner,
        turn=turn,
        up=_up(asked),
        turned=turned,
        coordinates=asked.coordinates,
    )


def _u_turn_on_legs(asked: Asked) -> "AbstractPath":
    from triskele.kinematics.path import u_turn_on_legs

    start, length, height = _over(asked)
    spans = {key: int(asked.options[key]) for key in _SPANS if key in asked.options}
    turn, turned = _turn(asked)
    return u_turn_on_legs(
        start,
        length=length,
        height=height,
        **spans,
        turn=turn,
        up=_up(asked),
        turned=turned,
        coordinates=asked.coordinates,
    )


_SPANS = ("vertical", "horizontal")


def _cornered(asked: Asked) -> "AbstractPath":
    return _moved(asked, _default_way(asked))


def _rating_way(asked: Asked) -> "AbstractPath":
    from triskele.kinematics import cycles

    return _moved(asked, cycles.way_of(cycles.rating_cycle(asked.robot, rate=10)))


def _default_way(asked: Asked) -> "Rounded":
    """The path of the motion pick-and-place, with the lengths given."""
    from triskele.kinematics import cycles

    motion = cycles.pick_and_place(
        asked.robot,
        length=asked.positive("length"),
        height=asked.positive("height"),
        radius=asked.positive("radius"),
        rate=10,
    )
    return cycles.way_of(motion)


def _moved(asked: Asked, path: "Rounded") -> "Rounded":
    """`path` from --start on, and turned by --turn on its way across."""
    import numpy as np

    from triskele.kinematics.path import Rounded

    points, start, (turn, turned) = path.way_points, asked.pose("start"), _turn(asked)
    if start is not None:
        points = points + (start - points[0])[None, :]
    if turned is not None:
        points = np.array(points)
        points[2:, asked.names.index(turned)] += turn
    return Rounded(points, path.radius, asked.coordinates)


def _over(asked: Asked) -> "tuple[AnyArray, float, float]":
    """Start, length and height [m] of a way up, across and down."""
    points, start = _default_way(asked).way_points, asked.pose("start")
    across, up = (asked.names.index(name) for name in (_across(asked), _up(asked)))
    length = float(points[-1, across] - points[0, across])
    height = float(points[1, up] - points[0, up])
    return points[0] if start is None else start, length, height


def _turn(asked: Asked) -> tuple[float, str | None]:
    """By how much the tool turns on its way across [rad], and the angle that turns it."""
    from triskele.kinematics.coordinates import turner

    if "turn" not in asked.options:
        return 0.0, None
    name = turner(asked.mechanism, _up(asked))
    if name is None:
        raise InputError(f"--turn needs a flange that turns; {asked.robot.name} has none.")
    return number(str(asked.options["turn"]), "rad", "--turn"), name


def _up(asked: Asked) -> str:
    """The coordinate that lifts the tool."""
    from triskele.kinematics.cycles import lifted

    return lifted(asked.robot, asked.mechanism)


def _across(asked: Asked) -> str:
    """The coordinate along which ways across run."""
    from triskele.kinematics.coordinates import across

    return asked.names[across(asked.coordinates, _up(asked))]


Made = TypeVar("Made")


def _nothing(_: Asked) -> str:
    return ""


def _two_lengths(asked: Asked) -> str:
    """What the robot lacks for a circle."""
    from triskele.kinematics.coordinates import lengths

    if len(lengths(asked.coordinates)) > 1:
        return ""
    return f"moves in {', '.join(asked.names)}, and a circle needs two lengths"


def _up_and_across(asked: Asked) -> str:
    """What the robot lacks for a way up, across and down."""
    try:
        _up(asked)
    except InputError as error:
        return str(error).removeprefix(f"{asked.robot.name} ").removesuffix(".")
    return ""


class _Kind(NamedTuple, Generic[Made]):
    make: Callable[[Asked], Made]
    options: tuple[str, ...]  #: besides duration and rate, of a motion
    lacking: Callable[[Asked], str] = _nothing  #: why the robot cannot follow it; empty if it can


MOTIONS = {
    "line": _Kind(_line, ("start", "end", "law")),
    "circle": _Kind(_circle, ("centre", "radius", "plane"), _two_lengths),
    "inverted-u": _Kind(_inverted_u, ("start", "move"), _up_and_across),
    "fourier": _Kind(_fourier, ("centre", "amplitude", "harmonics", "seed")),
    "sine": _Kind(_sine, ("centre", "amplitude", "frequency", "phase")),
    "joint-sine": _Kind(_joint_sine, ("amplitude", "frequency", "phase")),
    "pick-and-place": _Kind(_pick_and_place, ("length", "height", "radius"), _up_and_across),
    "rating-cycle": _Kind(_rating_cycle, (), _up_and_across),
}
_U = ("start", "length", "height")
PATHS = {
    "u-turn": _Kind(_u_turn, (*_U, "corner", "turn"), _up_and_across),
    "u-turn-legs": _Kind(_u_turn_on_legs, (*_U, *_SPANS, "turn"), _up_and_across),
    "pick-and-place": _Kind(_cornered, (*_U, "radius", "turn"), _up_and_across),
    "line": _Kind(_straight, ("start", "end")),
    "circle": _Kind(_round, ("centre", "radius", "plane"), _two_lengths),
    "rating-cycle": _Kind(_rating_way, ("start", "turn"), _up_and_across),
}


USUAL = "pick-and-place, or a sine"  #: what `made` takes where no kind of motion is named


def made(asked: Asked, kind: str | None) -> "Motion":
    """The motion that the options describe, or the one in a table."""
    if kind is None:
        kind = "sine" if MOTIONS["pick-and-place"].lacking(asked) else "pick-and-place"
    if Path(kind).suffix:
        from triskele.export.motions import read_motion

        _refuse_unused(asked, "A table of samples", ())
        return read_motion(kind, asked.coordinates)
    return _chosen(asked, kind, MOTIONS, "motion", ("duration", "rate"))


def route(asked: Asked, kind: str) -> "AbstractPath":
    """The path that the options describe, or the one through the way-points of a table."""
    if Path(kind).suffix:
        _refuse_unused(asked, "A table of way-points", ("radius",))
        return _through(asked, kind)
    return _chosen(asked, kind, PATHS, "path")


def _chosen(
    asked: Asked,
    kind: str,
    kinds: Mapping[str, _Kind[Made]],
    what: str,
    always: tuple[str, ...] = (),
) -> Made:
    if kind not in kinds:
        raise UnknownName(f"No {what} is called '{kind}'. {did_you_mean(kind, kinds)}")
    make, options, lacking = kinds[kind]
    reason = lacking(asked)
    if reason:
        *some, last = (name for name in kinds if not kinds[name].lacking(asked))
        able = f"{', '.join(some)} or {last}" if some else last
        raise InputError(f"{asked.robot.name} {reason}; it can follow a {able}.")
    _refuse_unused(asked, f"The {what} {kind}", (*options, *always))
    return make(asked)


def _through(asked: Asked, file: str) -> "AbstractPath":
    """Through way-points; angles of which they do not speak stay as they are at home."""
    from triskele.description.tables import Table, read_table
    from triskele.kinematics.path import way_points

    table = read_table(file)
    still = {
        c.name: (c.unit, [float(value)] * table.rows)
        for c, value in zip(asked.coordinates, asked.home, strict=True)
        if c.unit == "rad" and c.name not in table
    }
    table = Table({**table.columns, **still}, table.place)
    return way_points(table, asked.positive("radius"), asked.coordinates)


def _refuse_unused(asked: Asked, what: str, known: tuple[str, ...]) -> None:
    """Options that would be passed over are mistakes."""
    for key in asked.options:
        if key not in known:
            takes = f"takes {', '.join(f'--{name}' for name in known)}" if known else "takes none"
            raise InputError(f"{what} has no use for --{key}; it {takes}.")


def _example(asked: Asked) -> str:
    return ",".join(f"{round(float(value), 3) + 0.0:g}" for value in asked.home)


def checked(asked: Asked, motion: "Motion") -> str | None:
    """Refuse a motion that the legs cannot follow; say where it is beyond the limits."""
    from triskele.description.schema import Limits
    from triskele.kinematics.cycles import check_motion

    check_motion(asked.mechanism, Limits(singularity_margin=0.0), motion)
    try:
        check_motion(asked.mechanism, asked.robot.limits, motion)
    except OutOfReach as error:
        return str(error)
    return None
