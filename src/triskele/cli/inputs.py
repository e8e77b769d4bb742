"""What users type: a robot, numbers (bare in SI units, or as 200mm and 30deg), options."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from triskele.errors import InputError, UnitError, did_you_mean
from triskele.units import read_quantity

if TYPE_CHECKING:
    import numpy as np

    from triskele.description.schema import Robot
    from triskele.kinematics.mechanism import AbstractMechanism, Coordinate

RobotName = Annotated[str, typer.Argument(help="Name of a shipped robot, or path to a .toml.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def built(robot: str) -> tuple["Robot", "AbstractMechanism"]:
    """The robot of that name or path, and its mechanism."""
    from triskele.description.load import load

    described = load(robot)
    from triskele.kinematics.build import build

    return described, build(described)


def number(text: str, unit: str, place: str) -> float:
    """`text` as a finite number in SI units; a bare number is in `unit`."""
    try:
        value = float(text)
    except ValueError:
        try:
            value = read_quantity(text, unit)
        except UnitError as error:
            raise UnitError(f"{place}: {error}") from None
    if not math.isfinite(value):
        raise InputError(f"{place}: {text} is not a finite number.")
    return value


def positive(text: str | None, unit: str, place: str, default: float) -> float:
    """An option as a positive number in SI units, or its `default`."""
    value = default if text is None else number(text, unit, place)
    if value <= 0:
        raise InputError(f"{place} is {value:g} {unit}; it must be positive.".replace(" ;", ";"))
    return value


def turns_a_flange(coordinates: "tuple[Coordinate, ...]") -> bool:
    """Whether the last one turns a flange: the one angle beside lengths, or a drive of its own.

    Users may leave it out, and it stays zero.
    """
    *others, last = coordinates
    alone = last.unit == "rad" and all(c.unit == "m" for c in others)
    return bool(others) and (alone or last.drive != others[0].drive)


def vector(
    texts: Sequence[str],
    coordinates: "tuple[Coordinate, ...]",
    what: str,
    option: str = "",
    *,
    flange: bool | None = None,
) -> "np.ndarray":
    """One number per coordinate, in SI units; that of a `flange` may be left out.

    `what` is measured, such as "the pose of d3s_800"; `option` is named if it was one. Whether the
    last coordinate is that of a flange is seen from the coordinates, unless it is said.
    """
    import numpy as np

    flange = turns_a_flange(coordinates) if flange is None else flange
    given = [*texts, "0"] if flange and len(texts) == len(coordinates) - 1 else texts
    place = f"{option}: " if option else ""
    if len(given) != len(coordinates):
        names = ", ".join(f"{name} [{unit}]" for name, unit in coordinates)
        raise InputError(
            f"{place}{what} is {len(coordinates)} numbers, {names}; {len(given) or 'none'} given."
        )
    return np.array(
        [number(text, c.unit, place + c.name) for text, c in zip(given, coordinates, strict=True)]
    )


def named_numbers(
    text: str, coordinates: "tuple[Coordinate, ...]", option: str
) -> dict[str, float]:
    """What `a=10deg,z=-0.9` says, in SI units."""
    units, found = {c.name: c.unit for c in coordinates}, {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            example = f"{coordinates[-1].name}=0.1"
            raise InputError(f"{option}: '{part}' is no name with a value, such as {example}.")
        if name not in units:
            hint = did_you_mean(name, list(units))
            raise InputError(f"{option}: there is no coordinate '{name}'. {hint}")
        found[name] = number(value, units[name], f"{option}: {name}")
    return found


def whole(text: str) -> int:
    """A whole number, for options that count something."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"'{text}' is not a whole number.") from None


def refuse_options(context: typer.Context, arguments: Sequence[str]) -> None:
    """Say so if an argument is a misspelt option; -0.3 and -inf are numbers."""
    for text in arguments:
        if text.startswith("-") and text[1:2].strip("0123456789.") and not _is_float(text):
            known = [name for item in context.command.params for name in item.opts if "--" in name]
            raise InputError(f"There is no option '{text}'. {did_you_mean(text, known)}")


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
