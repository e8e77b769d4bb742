"""From a `Robot` back to a TOML file: every number in SI units, with its source.

The text differs from the file the robot came from (units, comments, grouping), the robot does
not: `parse(to_toml(robot)) == robot`, bit by bit, and each fact keeps its source.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from pydantic import BaseModel

from triskele.description.files import write_whole
from triskele.description.provenance import quantity_of
from triskele.description.quantity import Quantity
from triskele.description.schema import Robot

_FIRST = ("kind", "name", "title", "summary", "source", "gravity", "geometry", "bodies")
_Sources = Mapping[str, str | None]  #: source of each fact, by its dotted key


def save(robot: Robot, path: str | Path) -> Path:
    """Write `robot` to a TOML file at `path`, whole or not at all."""
    return write_whole(path, to_toml(robot))


def to_toml(robot: Robot) -> str:
    """The robot file that describes `robot`, its numbers in SI units.

    >>> from triskele.description.load import load, parse
    >>> robot = load("d3s_800")
    >>> parse(to_toml(robot)) == robot
    True
    """
    sources = {fact.key: fact.source for fact in robot.facts}
    return "\n".join(_table(robot, (), sources)) + "\n"


def _table(model: BaseModel, path: tuple[str, ...], sources: _Sources) -> Iterator[str]:
    """The lines of one table: its own keys first, as TOML demands, then the tables in it."""
    lines: list[str] = []
    tables: list[tuple[tuple[str, ...], BaseModel]] = []
    for key in sorted(model.model_fields_set, key=_rank(model)):
        value, place = getattr(model, key), (*path, key)
        if isinstance(value, BaseModel):
            tables.append((place, value))
        elif isinstance(value, dict):
            tables += [((*place, name), item) for name, item in value.items()]
        elif value is not None:
            quantity = quantity_of(type(model).model_fields[key])
            source = sources.get(".".join(place))
            lines.append(f"{key} = {_value(value, quantity, source)}")
    if path and (lines or not tables):
        yield f"\n[{'.'.join(map(_key, path))}]"
    yield from lines
    for place, table in tables:
        yield from _table(table, place, sources)


def _rank(model: BaseModel) -> Callable[[str], int]:
    """Sorting key of a table's fields: what people look for first, then as in the schema."""
    return [*_FIRST, *type(model).model_fields].index


def _value(value: object, quantity: Quantity | None, source: str | None) -> str:
    if quantity is None:
        return _text(str(value))
    items = list(value) if isinstance(value, tuple) else [value]
    if quantity.shape == "limbs" and len(set(items)) == 1:
        items = items[:1]
    numbers = ", ".join(repr(item) for item in items)
    parts = [f"value = {numbers}" if len(items) == 1 else f"value = [{numbers}]"]
    parts += [f"unit = {_text(quantity.unit)}"] if quantity.unit else []
    parts += [f"source = {_text(source)}"] if source is not None else []
    return f"{{ {', '.join(parts)} }}"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(text: str) -> str:
    """A TOML string; its escapes are those of JSON, and DEL besides."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
