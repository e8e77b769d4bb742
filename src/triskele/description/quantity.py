"""A number in a robot file: value, unit and source, and the rules it must obey.

A robot file writes a quantity in one of two ways,

    arm_length = "370 mm"
    arm_length = { value = 370, unit = "mm", source = "drawing 4711" }

and `value` may be a list where the field holds several numbers. Both end as plain floats in
SI units in the pydantic models of `schema.py`; where a number came from is kept by
`provenance.py`. In a file a bare number is accepted only for what has no unit; in Python,
`Payload(mass=2.5)`, bare numbers are SI.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import core_schema

from triskele.errors import UnitError
from triskele.units import parse_unit, read_quantity, to_si

Shape = Literal["number", "limbs", "drives", "range", "vector", "inertia"]
_LENGTHS: dict[Shape, tuple[tuple[int, ...], str]] = {
    "number": ((1,), "one number"),
    "limbs": ((1, 3), "one number, or three, one per limb"),
    "drives": ((1, 3, 4), "one number, or one per drive"),
    "range": ((2,), "two numbers, least and greatest"),
    "vector": ((3,), "three numbers, x, y and z"),
    "inertia": ((3, 6), "three numbers (xx, yy, zz) or six (xx, yy, zz, xy, yz, xz)"),
}
_TABLE_KEYS = {"value", "unit", "source"}


@dataclass(frozen=True)
class Quantity:
    """What a field measures; used as `Annotated[float, Quantity("m", "length")]`.

    >>> Quantity("m", "length", least=0, open_end=True).parse("370 mm")
    0.37
    """

    unit: str  #: SI unit of the stored float
    name: str  #: what it is called in a sentence: length, mass, stiffness
    shape: Shape = "number"
    least: float = -math.inf  #: smallest value allowed
    open_end: bool = False  #: whether `least` itself is forbidden
    most: float = math.inf  #: largest value allowed
    usual: tuple[float, float] = (-math.inf, math.inf)  #: outside: a suspicious unit?

    def parse(self, raw: object, *, from_file: bool = False) -> Any:  # noqa: ANN401
        """The value(s) in SI units, or a ValueError that says what would be right."""
        values = tuple(
            self._number(item, unit, from_file=from_file) for item, unit in self._items(raw)
        )
        lengths, expected = _LENGTHS[self.shape]
        if len(values) not in lengths:
            raise ValueError(f"has {len(values)} numbers; expected {expected}.")
        for value in values:
            self._judge(value)
        if self.shape == "range" and not values[0] < values[1]:
            low, high = (f"{value:g} {self.unit}" for value in values)
            raise ValueError(f"the range is inverted or empty: {low} is not below {high}.")
        if self.shape == "number":
            return values[0]
        return values * 3 if self.shape == "limbs" and len(values) == 1 else values

    def _items(self, raw: object) -> list[tuple[object, str | None]]:
        """Pairs of raw number and unit; None where the number carries its own."""
        unit: str | None = None
        if isinstance(raw, dict):
            unknown = set(raw) - _TABLE_KEYS
            if unknown or "value" not in raw:
                raise ValueError(
                    'is a table without a value; write { value = ..., unit = "'
                    f'{self.unit}", source = "..." }}'
                    + (f" (unknown: {', '.join(sorted(map(str, unknown)))})." if unknown else ".")
                )
            unit, raw = raw.get("unit"), raw["value"]
        items = list(raw) if isinstance(raw, (list, tuple)) else [raw]
        if unit is not None and not isinstance(unit, str):
            raise ValueError(f'the unit must be text, such as "{self.unit}", not {unit!r}.')
        return [(item, unit) for item in items]

    def _number(self, number: object, unit: str | None, *, from_file: bool) -> float:
        try:
            if isinstance(number, str) and unit is None:
                return read_quantity(number, self.unit)
            if isinstance(number, bool) or not isinstance(number, (int, float)):
                raise ValueError(
                    f'{number!r} is not a {self.name}; write, for example, "0.5 {self.unit}".'
                )
            if unit is None and not from_file:
                return float(number)
            if unit is None and any(parse_unit(self.unit).dimension):
                raise UnitError(
                    f'{number:g} has no unit; write, for example, "{number:g} {self.unit}".'
                )
            return to_si(number, unit or "", self.unit)
        except UnitError as error:
            raise ValueError(str(error)) from None
        except OverflowError:
            raise ValueError(f"the number is too large for a {self.name}.") from None

    def _judge(self, value: float) -> None:
        shown = f"{value:g} {self.unit}".strip()
        if not math.isfinite(value):
            raise ValueError(f"{shown} is not a finite number.")
        if value < self.least or (self.open_end and value == self.least):
            rule = "positive" if self.open_end and self.least == 0 else f"at least {self.least:g}"
            hint = f"; did you mean {-value:g} {self.unit}?" if value < 0 <= self.least else "."
            raise ValueError(f"{shown} is not a {self.name}. It must be {rule}{hint}")
        if value > self.most:
            raise ValueError(f"{shown} is too large: a {self.name} is at most {self.most:g}.")

    def suspicious(self, value: float | Sequence[float]) -> str | None:
        """A remark if some value is far from what such parts measure, else None."""
        low, high = self.usual
        for item in value if isinstance(value, Sequence) else (value,):
            if item and not low <= abs(item) <= high:
                return (
                    f"{item:g} {self.unit} is a strange {self.name}; "
                    f"usual is {low:g} to {high:g} {self.unit}. Is the unit right?"
                )
        return None

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Validate by `parse`; a float or a tuple comes out."""

        def validate(raw: object, info: core_schema.ValidationInfo) -> Any:  # noqa: ANN401
            return self.parse(raw, from_file=bool(info.context))

        return core_schema.with_info_plain_validator_function(validate)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """The two ways to write a quantity, for editors."""
        number: dict[str, Any] = {"type": "number"}
        text = {"type": "string", "examples": [f"0.5 {self.unit}".strip()]}
        one = {"anyOf": [text] if any(parse_unit(self.unit).dimension) else [number, text]}
        many = {"type": "array", "items": {"anyOf": [number, text]}}
        table = {
            "type": "object",
            "properties": {
                "value": {"anyOf": [number, text, many]},
                "unit": {"type": "string", "examples": [self.unit]},
                "source": {"type": "string"},
            },
            "required": ["value"],
            "additionalProperties": False,
        }
        forms = [*one["anyOf"], table] + ([many] if self.shape != "number" else [])
        unit = self.unit or "no unit"
        return {"anyOf": forms, "description": f"{self.name} [{unit}]: {_LENGTHS[self.shape][1]}"}
