"""A number in a robot file: value, unit and source, and the rules it must obey.

A robot file writes a quantity in one of three ways,

    arm_length = "370 mm"
    arm_length = { value = 370, unit = "mm", source = "drawing 4711" }
    end        = "[50, 0, 0] mm"

and `value` may be a list where the field holds several numbers. All end as floats in SI units in
the pydantic models of `schema.py`; where a number came from is kept by `provenance.py`. In a file
a bare number is accepted only for what has no unit; in Python, `Payload(mass=2.5)`, bare numbers
are SI.

What belongs to a drive has one unit where the joint turns and another where it slides, rad/s or
m/s. Such a number is a `Measured` and keeps the unit it was stated in, until the mechanism tells
which one fits (`Quantity.misfit`).
"""

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import core_schema

from triskele.errors import UnitError, shortened
from triskele.units import parse_unit, read_quantity, to_si

Shape = Literal["number", "limbs", "each", "drives", "range", "ranges", "vector", "inertia"]
_ANY = tuple(range(1, 7))
_LENGTHS: dict[Shape, tuple[tuple[int, ...], str]] = {
    "number": ((1,), "one number"),
    "limbs": ((1, 3), "one number, or three, one per limb"),
    "each": (_ANY, "one number, or one per limb, at most six"),
    "drives": (_ANY, "one number, or one per drive, at most six"),
    "range": ((2,), "two numbers, least and greatest"),
    "ranges": ((2,), "two numbers, least and greatest, or such a pair per joint, at most six"),
    "vector": ((3,), "three numbers, x, y and z"),
    "inertia": ((3, 6), "three numbers (xx, yy, zz) or six (xx, yy, zz, xy, yz, xz)"),
}
_TABLE_KEYS = {"value", "unit", "source"}
SMALLEST, LARGEST = 1e-24, 1e24  #: sizes whose products and quotients are still numbers
_LIST = re.compile(r"\[([^\[\]]*)\]\s*([^\[\],]*)")  #: "[1, 2, 3] mm"


class Measured(float):
    """A float in SI units that remembers its unit, that of a turning or of a sliding joint."""

    unit: str

    def __new__(cls, value: float, unit: str) -> "Measured":
        """`value` in `unit`."""
        made = super().__new__(cls, value)
        made.unit = unit
        return made

    def __reduce__(self) -> tuple[type["Measured"], tuple[float, str]]:
        """What copies are made of."""
        return Measured, (float(self), self.unit)


@dataclass(frozen=True)
class Quantity:
    """What a field measures; used as `Annotated[float, Quantity("m", "length")]`.

    >>> Quantity("m", "length", least=0, open_end=True).parse("370 mm")
    0.37
    >>> Quantity("rad/s", "speed", sliding="m/s").parse("30 mm/s").unit
    'm/s'
    """

    unit: str  #: SI unit of the stored float; of a turning joint, where there is another
    name: str  #: what it is called in a sentence: length, mass, stiffness
    shape: Shape = "number"
    least: float = -math.inf  #: smallest value allowed
    open_end: bool = False  #: whether `least` itself is forbidden
    most: float = math.inf  #: largest value allowed
    usual: tuple[float, float] = (-math.inf, math.inf)  #: outside: a suspicious unit?
    sliding: str | None = None  #: SI unit where the joint slides; none: the same

    @property
    def units(self) -> str:
        """The unit, or both, in a sentence."""
        shown = self.unit or "no unit"
        return shown if self.sliding is None else f"{shown} or {self.sliding}"

    def parse(self, raw: object, *, from_file: bool = False) -> Any:  # noqa: ANN401
        """The value(s) in SI units, or a ValueError that says what would be right."""
        if self.shape == "ranges" and (parts := _parts(raw)) is not None:
            if len(parts) not in _ANY:
                raise ValueError(f"has {len(parts)} ranges; expected {_LENGTHS[self.shape][1]}.")
            several = tuple(self.parse(part, from_file=from_file) for part in parts)
            return several[0] if len(several) == 1 else several
        values = tuple(
            self._number(item, unit, from_file=from_file) for item, unit in self._items(raw)
        )
        lengths, expected = _LENGTHS[self.shape]
        if len(values) not in lengths:
            raise ValueError(f"has {len(values)} numbers; expected {expected}.")
        for value in values:
            self._judge(value)
        if self.shape in ("range", "ranges") and not values[0] < values[1]:
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
                    + (
                        f" (unknown: {shortened(', '.join(sorted(map(str, unknown))))})."
                        if unknown
                        else "."
                    )
                )
            unit, raw = raw.get("unit"), raw["value"]
        if unit is None and isinstance(raw, str) and (listed := _LIST.fullmatch(raw.strip())):
            return [(f"{item.strip()} {listed[2]}".strip(), None) for item in listed[1].split(",")]
        items = list(raw) if isinstance(raw, (list, tuple)) else [raw]
        if unit is not None and not isinstance(unit, str):
            raise ValueError(
                f'the unit must be text, such as "{self.unit}", not {shortened(repr(unit))}.'
            )
        return [(item, unit) for item in items]

    def _number(self, number: object, unit: str | None, *, from_file: bool) -> float:
        si = self._stated(number, unit)
        try:
            if isinstance(number, str) and unit is None:
                value = read_quantity(number, si)
            elif isinstance(number, bool) or not isinstance(number, (int, float)):
                raise ValueError(
                    f"{shortened(repr(number))} is not a {self.name}; write, for example, "
                    f'"0.5 {self.unit}".'
                )
            elif unit is None and not from_file:
                return number if isinstance(number, Measured) else float(number)
            elif unit is None and any(parse_unit(self.unit).dimension):
                raise UnitError(
                    f'{number:g} has no unit; write, for example, "{number:g} {self.unit}".'
                )
            else:
                value = to_si(number, unit or "", si)
        except UnitError as error:
            wanted = f"is measured in {self.unit}."
            raise ValueError(str(error).replace(wanted, f"is measured in {self.units}.")) from None
        except OverflowError:
            raise ValueError(f"the number is too large for a {self.name}.") from None
        return value if self.sliding is None else Measured(value, si)

    def _stated(self, number: object, unit: str | None) -> str:
        """The SI unit of the kind in which a number is stated."""
        if self.sliding is None:
            return self.unit
        with suppress(UnitError):
            if isinstance(number, str) and unit is None:
                read_quantity(number, self.sliding)
            else:
                to_si(1.0, unit or "", self.sliding)
            return self.sliding
        return self.unit

    def _judge(self, value: float) -> None:
        unit = value.unit if isinstance(value, Measured) else self.unit
        shown = f"{value:g} {unit}".strip()
        if not math.isfinite(value):
            raise ValueError(f"{shown} is not a finite number.")
        if abs(value) > LARGEST:
            raise ValueError(f"{shown} is not a {self.name}: the number is too large.")
        if value < self.least or (self.open_end and value == self.least):
            rule = "positive" if self.open_end and self.least == 0 else f"at least {self.least:g}"
            hint = f"; did you mean {-value:g} {unit}?" if value < 0 <= self.least else "."
            raise ValueError(f"{shown} is not a {self.name}. It must be {rule}{hint}")
        if value > self.most:
            raise ValueError(f"{shown} is too large: a {self.name} is at most {self.most:g}.")
        if self.open_end and self.least == 0 and value < SMALLEST:
            raise ValueError(f"{shown} is not a {self.name}: the number is too small.")

    def misfit(self, value: float, *, sliding: bool) -> tuple[str, str] | None:
        """Unit stated and unit expected of a number at a joint; None if they are the same.

        A plain number has the unit that fits.
        """
        expected = self.sliding if sliding and self.sliding is not None else self.unit
        stated = value.unit if isinstance(value, Measured) else expected
        return None if stated == expected else (stated, expected)

    def suspicious(self, value: object) -> str | None:
        """A remark if some value is far from what such parts measure, else None.

        What is usual is known of turning joints, where there are two units.
        """
        low, high = self.usual
        for item in numbers(value):
            if isinstance(item, Measured) and item.unit == self.sliding:
                continue
            if item and not low <= abs(item) <= high:
                unit = f" {self.unit}" if self.unit else ""
                return (
                    f"{item:g}{unit} is a strange {self.name}; "
                    f"usual is {low:g} to {high:g}{unit}. Is the unit right?"
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
        if self.shape == "ranges":
            many = {"type": "array", "items": {"anyOf": [number, text, many]}}
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
        told = f"{self.name} [{self.units}]: {_LENGTHS[self.shape][1]}"
        return {"anyOf": forms, "description": told}


def numbers(value: object) -> Iterator[float]:
    """The numbers of a field: one, several, or those of several ranges."""
    if isinstance(value, int | float):
        yield value
    elif isinstance(value, Sequence):
        for item in value:
            yield from numbers(item)


def _parts(raw: object) -> list[object] | None:
    """The ranges of a list of ranges, as a file writes them; None for a single one."""
    value = raw["value"] if isinstance(raw, dict) and "value" in raw else raw
    if not isinstance(value, list | tuple) or not value:
        return None
    if not all(isinstance(item, list | tuple) or _is_list(item) for item in value):
        return None
    return [{**raw, "value": item} if isinstance(raw, dict) else item for item in value]


def _is_list(item: object) -> bool:
    return isinstance(item, str) and _LIST.fullmatch(item.strip()) is not None
