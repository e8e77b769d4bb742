"""From a TOML file, or the name of a shipped robot, to a `Robot`."""

import re
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from triskele.description import catalogue
from triskele.description.files import read_bounded
from triskele.description.kinds import format_of, known_kinds
from triskele.description.mechanism import Mechanism
from triskele.description.provenance import facts
from triskele.description.schema import Robot
from triskele.errors import DescriptionError, InputError, did_you_mean, shortened

LARGEST = 1 << 20  #: bytes of a robot file; those that ship have at most 10 000
DEEPEST = 16  #: parts of a dotted key; the format needs five
_PART = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*"""
_DEEP = re.compile(rf"(?<![\w-]){_PART}(?:\.[ \t]*{_PART}){{{DEEPEST},}}")

_TEXT = "robot file"  #: where a mistake is, if the file is not known


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
    return parse_any(_read(path), str(path))


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


def parse(text: str, place: str = "") -> Robot:
    """The robot that the TOML `text` describes; `place`, its file, is named in errors."""
    return _robot(parse_any(text, place or _TEXT), place or _TEXT)


def parse_any(text: str, place: str = _TEXT) -> Robot | Mechanism:
    """The robot or mechanism that the TOML `text` describes; `place` is named in errors."""
    deep = _DEEP.search(text)  # tomllib takes the cube of the depth
    if deep is not None:
        raise DescriptionError(
            f"{place}: the key {shortened(deep[0], 40)} has more than {DEEPEST} parts."
        )
    try:
        raw = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError is a ValueError
        raise DescriptionError(f"{place}: is not valid TOML: {shortened(error, 200)}.") from None
    if not raw:
        raise DescriptionError(f"{place}: is empty. `triskele init delta {place}` writes a start.")
    kind = raw.get("kind")
    file_format = format_of(kind)
    if file_format is None:
        wrong = f"'{shortened(kind)}' is not a kind of robot."
        wrong = wrong if "kind" in raw else "is missing."
        raise DescriptionError(f"{place}, kind: {wrong} {did_you_mean(str(kind), known_kinds())}")
    try:
        robot = file_format.model_validate(raw, context={"file": place})
    except ValidationError as error:
        # A misspelt key is the cause of the "is missing" that comes with it.
        found = sorted(error.errors(), key=lambda item: item["type"] != "extra_forbidden")
        problems = (f"{place}, {_sentence(file_format, item, raw)}" for item in found)
        raise DescriptionError(*problems) from None
    robot._facts, robot._place = tuple(facts(robot, raw)), "" if place == _TEXT else place
    return robot


def _read(path: Path) -> str:
    try:
        data = read_bounded(path, LARGEST)
        return data.decode("utf-8-sig").replace("\r\n", "\n")  # as editors on Windows write
    except InputError as error:
        raise DescriptionError(str(error)) from None
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


def _sentence(model: type[BaseModel], error: ErrorDetails, raw: object) -> str:
    """One finding of pydantic, as `key: what is wrong, what would be right`."""
    location = error["loc"]
    key = shortened(".".join(_path(location, raw)))
    if error["type"] == "extra_forbidden":
        known = _fields(model, location[:-1])
        return f"{key}: no such key. {did_you_mean(str(location[-1]), known)}"
    if error["type"] == "missing":
        return f"{key}: is missing."
    message = error["msg"].removeprefix("Value error, ")
    if error["type"] == "value_error":
        return f"{key}: {message}" if key else message
    given = _quoted(error["input"])
    return f"{key}: {given} does not fit: {message[0].lower()}{message[1:]}."


def _quoted(value: object) -> str:
    """A value as Python writes it, of which a long one is cut."""
    try:
        return shortened(repr(value))
    except RecursionError:
        return "a table nested too deep to show"


def _path(location: tuple[int | str, ...], raw: Any) -> Iterator[str]:  # noqa: ANN401
    """The parts of a key as the file has them: several tables are numbered from 1."""
    for part in location:
        if isinstance(part, str):
            yield part
            raw = raw.get(part) if isinstance(raw, dict) else None
        elif not isinstance(raw, dict):
            yield str(part + 1)
            raw = raw[part] if isinstance(raw, list) and part < len(raw) else None


def _fields(model: Any, location: tuple[int | str, ...]) -> list[str]:  # noqa: ANN401
    """Names of the keys that exist at `location`, below `model`."""
    for part in location:
        field = getattr(model, "model_fields", {}).get(part)
        others = getattr(model, "__annotations__", {}).get("__pydantic_extra__")
        annotation = field.annotation if field else others
        candidates = [annotation, *get_args(annotation)] if annotation else [model]
        nested = [arg for item in candidates for arg in (item, *get_args(item))]
        model = next((item for item in nested if hasattr(item, "model_fields")), model)
    return [name for name in getattr(model, "model_fields", {}) if name != "source"]
