"""From a TOML file, or the name of a shipped robot, to a `Robot`."""

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from triskele.description import catalogue
from triskele.description.mechanism import Mechanism
from triskele.description.provenance import facts
from triskele.description.schema import KINDS, DeltaRobot, PrsRobot, Robot
from triskele.errors import DescriptionError, did_you_mean

_ALL: dict[str, type[DeltaRobot] | type[PrsRobot] | type[Mechanism]] = {
    **KINDS,
    "mechanism": Mechanism,
}


def load(robot: str | Path) -> Robot:
    """The robot of that name in the catalogue, or the one that a TOML file describes.

    >>> load("abb_irb360_6_1600").geometry.arm_length
    (0.5, 0.5, 0.5)
    """
    return _robot(load_any(robot), str(robot))


def load_mechanism(path: str | Path) -> Mechanism:
    """The mechanism of bodies and joints that a TOML file describes."""
    found = load_any(path)
    if not isinstance(found, Mechanism):
        raise DescriptionError(
            f"{path}: describes a robot of kind {found.kind}, not a mechanism of bodies and joints."
        )
    return found


def load_any(robot: str | Path) -> Robot | Mechanism:
    """The robot of that name, or the robot or mechanism that a TOML file describes."""
    if isinstance(robot, str) and not robot.endswith(".toml") and not set(robot) & {"/", "\\"}:
        return _shipped(robot)
    path = Path(robot)
    return _parsed(_read(path), str(path))


def _robot(found: Robot | Mechanism, place: str) -> Robot:
    if isinstance(found, Mechanism):
        raise DescriptionError(
            f"{place}: is a mechanism of bodies and joints, and this needs a robot; mechanisms "
            "have the commands `check`, `simulate` and `reactions`."
        )
    return found


@lru_cache(maxsize=32)
def _shipped(name: str) -> Robot:
    return parse(catalogue.text(name), f"{name}.toml")


def parse(text: str, place: str = "robot file") -> Robot:
    """The robot that the TOML `text` describes; `place` is named in errors."""
    return _robot(_parsed(text, place), place)


def _parsed(text: str, place: str) -> Robot | Mechanism:
    try:
        raw = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError is a ValueError
        raise DescriptionError(f"{place}: is not valid TOML: {error}.") from None
    if not raw:
        raise DescriptionError(f"{place}: is empty. `triskele init delta {place}` writes a start.")
    kind = raw.get("kind")
    if not isinstance(kind, str) or kind not in _ALL:
        wrong = f"'{kind}' is not a kind of robot." if "kind" in raw else "is missing."
        raise DescriptionError(f"{place}, kind: {wrong} {did_you_mean(str(kind), _ALL)}")
    try:
        robot = _ALL[kind].model_validate(raw, context={"file": place})
    except ValidationError as error:
        # A misspelt key is the cause of the "is missing" that comes with it.
        found = sorted(error.errors(), key=lambda item: item["type"] != "extra_forbidden")
        problems = (f"{place}, {_sentence(_ALL[kind], item)}" for item in found)
        raise DescriptionError(*problems) from None
    robot._facts = tuple(facts(robot, raw))
    return robot


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")  # editors on Windows may add the mark
    except FileNotFoundError:
        known = ", ".join(catalogue.names())
        raise DescriptionError(f"{path}: no such file. Shipped robots: {known}.") from None
    except IsADirectoryError:
        raise DescriptionError(f"{path}: is a directory; a robot file was expected.") from None
    except UnicodeDecodeError:
        raise DescriptionError(f"{path}: is not a text file in UTF-8.") from None
    except OSError as error:
        raise DescriptionError(f"{path}: cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise DescriptionError(f"{str(path)!r}: is not a file name: {error}.") from None


def _sentence(model: type[BaseModel], error: ErrorDetails) -> str:
    """One finding of pydantic, as `key: what is wrong, what would be right`."""
    location = error["loc"]
    key = ".".join(str(part) for part in location)
    if error["type"] == "extra_forbidden":
        known = _fields(model, location[:-1])
        return f"{key}: no such key. {did_you_mean(str(location[-1]), known)}"
    if error["type"] == "missing":
        return f"{key}: is missing."
    message = error["msg"].removeprefix("Value error, ")
    if error["type"] == "value_error":
        return f"{key}: {message}" if key else message
    return f"{key}: {error['input']!r} does not fit: {message[0].lower()}{message[1:]}."


def _fields(model: Any, location: tuple[int | str, ...]) -> list[str]:  # noqa: ANN401
    """Names of the keys that exist at `location`, below `model`."""
    for part in location:
        field = getattr(model, "model_fields", {}).get(part)
        candidates = [field.annotation, *get_args(field.annotation)] if field else [model]
        nested = [arg for item in candidates for arg in (item, *get_args(item))]
        model = next((item for item in nested if hasattr(item, "model_fields")), model)
    return [name for name in getattr(model, "model_fields", {}) if name != "source"]
