"""Where each number came from: its source, and whether it is an assumption.

A source is inherited from the table a number stands in. A source that begins with
"assumed", or none at all, makes the number an assumption, which every command that uses it
repeats to the user.
"""

from collections.abc import Iterator
from typing import NamedTuple

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
        if quantity_of(type(model).model_fields[key]) is not None:
            yield _fact(path, written, source)
        elif isinstance(value, BaseModel) and isinstance(written, dict):
            yield from facts(value, written, f"{path}.", source)
        elif isinstance(value, dict) and isinstance(written, dict):
            for name, item in value.items():
                yield from facts(item, written[name], f"{path}.{name}.", source)


def quantities(model: BaseModel, prefix: str = "") -> Iterator[tuple[str, Quantity, object]]:
    """Key, rules and value of every number in `model`."""
    for key in type(model).model_fields:
        value, path = getattr(model, key), prefix + key
        rules = quantity_of(type(model).model_fields[key])
        if rules is not None and value is not None:
            yield path, rules, value
        elif isinstance(value, BaseModel):
            yield from quantities(value, f"{path}.")
        elif isinstance(value, dict):
            for name, item in value.items():
                yield from quantities(item, f"{path}.{name}.")


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
