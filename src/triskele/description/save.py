"""From a `Robot` back to a TOML file: every number in SI units, with its source.

The text differs from the file the robot came from (units, comments, grouping), the robot does
not: `parse(to_toml(robot)) == robot`, bit by bit, and each fact keeps its source.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel

from triskele.description.files import write_whole
from triskele.description.provenance import are_models, numbered, rules_of
from triskele.description.quantity import Measured, Quantity
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
    return "\n".join(_table(_Table(robot, (), ""), sources)) + "\n"


class _Table(NamedTuple):
    """A table to be written, and where."""

    model: BaseModel
    place: tuple[str, ...]  #: its header
    key: str  #: dotted, of its facts
    listed: bool = False  #: one of several, [[...]]


def _table(table: _Table, sources: _Sources) -> Iterator[str]:
    """The lines of one table: its own keys first, as TOML demands, then the tables in it."""
    model, path, dotted, listed = table
    lines: list[str] = []
    tables: list[_Table] = []
    for key in sorted(model.model_fields_set, key=_rank(model)):
        value, place, name = getattr(model, key), (*path, key), f"{dotted}{key}"
        if isinstance(value, BaseModel):
            tables.append(_Table(value, place, f"{name}."))
        elif isinstance(value, dict):
            tables += [_Table(v, (*place, k), f"{name}.{k}.") for k, v in value.items()]
        elif are_models(value):
            each = enumerate(value, 1)
            tables += [_Table(v, place, numbered(name, k, len(value)), True) for k, v in each]
        elif value is not None:
            lines.append(f"{key} = {_value(value, rules_of(model, key), sources.get(name))}")
    if path and (lines or not tables or listed):
        header = f"[{'.'.join(map(_key, path))}]"
        yield f"\n[{header}]" if listed else f"\n{header}"
    yield from lines
    for inner in tables:
        yield from _table(inner, sources)


def _rank(model: BaseModel) -> Callable[[str], int]:
    """Sorting key of a table's fields: what people look for first, then as in the schema."""
    return [*_FIRST, *type(model).model_fields, *(model.model_extra or ())].index


def _value(value: object, quantity: Quantity | None, source: str | None) -> str:
    if quantity is None:
        return _item(value)
    items = list(value) if isinstance(value, tuple) else [value]
    if quantity.shape == "limbs" and len(set(items)) == 1:
        items = items[:1]
    unit, stated = quantity.unit, {item.unit for item in items if isinstance(item, Measured)}
    if len(stated) == 1:
        (unit,) = stated
    elif stated:  # each number has its own
        unit, items = "", [f"{item!r} {getattr(item, 'unit', unit)}" for item in items]
    numbers = ", ".join(map(_item, items))
    parts = [f"value = {numbers}" if len(items) == 1 else f"value = [{numbers}]"]
    parts += [f"unit = {_text(unit)}"] if unit else []
    parts += [f"source = {_text(source)}"] if source is not None else []
    return f"{{ {', '.join(parts)} }}"


def _item(item: object) -> str:
    """A number, a text, or a list of them."""
    if isinstance(item, tuple):
        return f"[{', '.join(map(_item, item))}]"
    return _text(item) if isinstance(item, str) else repr(item)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(text: str) -> str:
    """A TOML string; its escapes are those of JSON, and DEL besides."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
