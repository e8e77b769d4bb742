"""Where each number came from: its source, and whether it is an assumption.

A source is inherited from the table a number stands in. A source that begins with
"assumed", or none at all, makes the number an assumption, which every command that uses it
repeats to the user.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeGuard

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from triskele.description.quantity import Quantity


class Fact(NamedTuple):
    """One number of a robot file as the file writes it."""

    key: str  #: dotted path, such as geometry.arm_length
    text: str  #: value and unit as written
    source: str | None

    @property
    def assumed(self) -> bool:
        """Whether nobody vouches for this number."""
        return self.source is None or self.source.lower().startswith("assumed")

    @property
    def reason(self) -> str:
        """Why it is assumed, or where it is from."""
        return self.source or "no source given"


def facts(
    model: BaseModel, raw: dict[str, object], prefix: str = "", source: str | None = None
) -> Iterator[Fact]:
    """The facts of `raw`, from which `model` was validated, in the order of the file."""
    own = raw.get("source")
    source = own if isinstance(own, str) else source
    for key, written in raw.items():
        value, path = getattr(model, key), prefix + key
        if rules_of(model, key) is not None:
            yield _fact(path, written, source)
        elif isinstance(value, BaseModel) and isinstance(written, dict):
            yield from facts(value, written, f"{path}.", source)
        elif isinstance(value, dict) and isinstance(written, dict):
            shared = written.get("source")
            shared = shared if isinstance(shared, str) else source
            for name, item in value.items():
                yield from facts(item, written[name], f"{path}.{name}.", shared)
        elif are_models(value):
            tables: list[Any] = written if isinstance(written, list) else [written]
            for number, (item, table) in enumerate(zip(value, tables, strict=True), 1):
                yield from facts(item, table, numbered(path, number, len(value)), source)


def are_models(value: object) -> TypeGuard[tuple[BaseModel, ...]]:
    """Whether a field holds several tables."""
    if not isinstance(value, tuple) or not value:
        return False
    return all(isinstance(item, BaseModel) for item in value)


def numbered(path: str, number: int, count: int) -> str:
    """The path of one of several tables: `geometry.limbs.2.`; no number if there is one."""
    return f"{path}." if count == 1 else f"{path}.{number}."


def quantities(model: BaseModel, prefix: str = "") -> Iterator[tuple[str, Quantity, Any]]:
    """Key, rules and value of every number in `model`."""
    for key in (*type(model).model_fields, *(model.model_extra or ())):
        value, path = getattr(model, key), prefix + key
        rules = rules_of(model, key)
        if rules is not None and value is not None:
            yield path, rules, value
        elif isinstance(value, BaseModel):
            yield from quantities(value, f"{path}.")
        elif isinstance(value, dict):
            for name, item in value.items():
                yield from quantities(item, f"{path}.{name}.")
        elif are_models(value):
            for number, item in enumerate(value, 1):
                yield from quantities(item, numbered(path, number, len(value)))


def rules_of(model: BaseModel, key: str) -> Quantity | None:
    """What the field `key` of `model` measures; None if it holds no quantity."""
    field = type(model).model_fields.get(key)
    return None if field is None else quantity_of(field)


def quantity_of(field: FieldInfo) -> Quantity | None:
    """What a field measures, also where it is optional; None if it holds no quantity."""
    optional = getattr(field.annotation, "__args__", ())
    nested = (rule for part in optional for rule in getattr(part, "__metadata__", ()))
    rules = (rule for rule in (*field.metadata, *nested) if isinstance(rule, Quantity))
    return next(rules, None)


def _fact(path: str, written: object, source: str | None) -> Fact:
    if not isinstance(written, dict):
        return Fact(path, str(written), source)
    text = f"{written['value']} {written.get('unit', '')}".strip()
    return Fact(path, text, str(written["source"]) if "source" in written else source)
