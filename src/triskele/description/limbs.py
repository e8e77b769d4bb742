"""The format of a robot made of limbs, each with one drive and one rod or pair of rods.

Vectors of a limb are in its own axes: radial, tangential and up, turned about z by `around`. One
table [geometry.limbs] with several angles stands for equal limbs around an axis; several tables
[[geometry.limbs]] stand for unequal ones. What the numbers mean is in `kinematics/limbs.py`. Bodies
state their inertia in these frames, besides those named in `schema.py`:

    arm (limbs)         on the motor axis; x towards the elbow, y along that axis
    carriage            at the joint of its rod; x along the rail, y along `across`
    rod (limbs)         at its upper joint; x towards the lower one, z normal to x and to the
                        motor axis, or to `across`
    cylinder            at the foot, axes of a rod
    piston              at the ball, axes of a rod
    link, bracket       beside an arm: at its foot, axes of the arm; at the elbow, x along `zero`
    platform (limbs)    at x, y, z, turned by a, b, c; the first link, if it is articulated
    half                of an articulated platform: at its hinge with the first link
    link                the second one, in its middle, axes of the platform
"""

import math
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from triskele.description.quantity import Quantity
from triskele.description.schema import (
    AbstractRobot,
    Body,
    Height,
    Section,
    Telescope,
    Vector,
)
from triskele.errors import shortened

_SIZE = (1e-3, 5.0)
_ROUNDING = 1e-14
_TWO_NAMES = {"type": "array", "items": {"type": "string"}}
_WORDS = {
    "radial": (1.0, 0.0, 0.0),
    "inwards": (-1.0, 0.0, 0.0),
    "tangential": (0.0, 1.0, 0.0),
    "up": (0.0, 0.0, 1.0),
    "down": (0.0, 0.0, -1.0),
}
PLACES, TURNS = ("x", "y", "z"), ("a", "b", "c")
LED, TURNING = ("z", "psi", "theta"), "psi"


def _direction(raw: object) -> Any:  # noqa: ANN401
    """A unit vector in the axes of the limb."""
    if isinstance(raw, str) and raw in _WORDS:
        return _WORDS[raw]
    numbers = tuple(raw) if isinstance(raw, list | tuple) else ()
    if len(numbers) != 3 or not all(
        isinstance(v, int | float) and math.isfinite(v) for v in numbers
    ):
        raise ValueError(
            f"{shortened(repr(raw))} is no direction; write {', '.join(_WORDS)}, or three numbers "
            "in radial, tangential and upward direction."
        )
    size = math.hypot(*numbers)
    if size < 1e-9:
        raise ValueError("a direction of length zero points nowhere.")
    size = 1.0 if abs(size - 1) < _ROUNDING else size  # what is written back reads the same
    return tuple(float(v) / size for v in numbers)


def _tables(raw: object) -> object:
    """One table of equal limbs, or several."""
    return [raw] if isinstance(raw, dict) else raw


def _with_source(raw: object) -> object:
    """Tables by name, each with the `source` that stands for all beside them."""
    if not isinstance(raw, dict) or not isinstance(raw.get("source"), str):
        return raw
    tables = {name: table for name, table in raw.items() if name != "source"}
    return {
        name: {"source": raw["source"], **table} if isinstance(table, dict) else table
        for name, table in tables.items()
    }


def _listed(raw: object) -> object:
    return [raw] if isinstance(raw, int | str) else raw


_Word = Literal["radial", "inwards", "tangential", "up", "down"]
Direction = Annotated[
    Vector, BeforeValidator(_direction, json_schema_input_type=_Word | list[float])
]
Lengths = Annotated[
    tuple[float, ...],
    Quantity("m", "length", "each", least=0.0, open_end=True, usual=_SIZE),
]
Angles = Annotated[tuple[float, ...], Quantity("rad", "angle", "each")]
Place = Annotated[Vector, Quantity("m", "position", "vector", usual=(0.0, 5.0))]
Turn = Annotated[Vector, Quantity("rad", "angle", "vector")]
_Mode = Literal[1, -1]
Branches = Annotated[
    tuple[_Mode, ...], BeforeValidator(_listed, json_schema_input_type=_Mode | list[_Mode])
]
Names = Annotated[tuple[str, ...], BeforeValidator(_listed, json_schema_input_type=str | list[str])]


class Assembly(Section):
    """A pose from which another assembly is found: x, y, z and a, b, c as those at home."""

    home: Place = (0.0, 0.0, 0.0)  #: [m]
    home_angles: Turn = (0.0, 0.0, 0.0)  #: [rad]


class PlatformGeometry(Section):
    """What the limbs end on, and how it may move."""

    coordinates: tuple[str, ...]
    #: some of x, y, z, a, b, c; x, y, z, psi with a telescope; z, psi, theta in leg planes
    home: Place = (0.0, 0.0, 0.0)  #: x, y, z at home; what is no coordinate keeps its value [m]
    home_angles: Turn = (0.0, 0.0, 0.0)  #: a, b, c at home, or psi, theta and zero [rad]
    assemblies: dict[str, Assembly] = Field(default_factory=dict)  #: others, by name
    carried_by: str | None = None  #: the rod that is the platform, such as rod_1
    half: Place | None = None  #: h [m], of an articulated platform: from its centre to half A
    link: Place | None = None  #: e [m], from its first link to the second

    @model_validator(mode="after")
    def _known_coordinates(self) -> "PlatformGeometry":
        names = self.coordinates
        if len(set(names)) != len(names):
            raise ValueError("a coordinate is named twice.")
        if self.half is not None or self.link is not None:
            if self.half is None or self.link is None or names != (*PLACES, "c"):
                raise ValueError(
                    "an articulated platform has half and link, and the coordinates x, y, z, c."
                )
            return self
        if names == LED and any((*self.home[:2], self.home_angles[2])):
            raise ValueError(
                "with the coordinates z, psi, theta, home has only a height and home_angles only "
                "psi and theta; how far the platform slides and turns besides, its legs decide."
            )
        if names in (LED, (*PLACES, TURNING)):
            return self
        order = [name for name in (*PLACES, *TURNS) if name in names]
        if list(names) != order or not names:
            raise ValueError(
                f"{', '.join(names) or 'none'}: expected are some of x, y, z, a, b, c, in this "
                "order, or x, y, z, psi (with a telescope), or z, psi, theta (in leg planes)."
            )
        return self


class LimbGeometry(Section):
    """One limb, or several equal ones around z."""

    around: Angles = (0.0,)  #: azimuth of each limb, anticlockwise from above [rad]
    end_around: Angles | None = None  #: azimuth of each wrist; none: as the limb's [rad]
    drive: Literal["arm", "slide", "strut"]
    base: Place = (0.0, 0.0, 0.0)  #: A [m], on the motor axis or rail, or the foot
    axis: Direction | None = None  #: of the motor; tangential if nothing is said
    zero: Direction = (1.0, 0.0, 0.0)  #: of an arm at q = 0
    rail: Direction | None = None  #: of a slide, towards growing q
    across: Direction = (0.0, 1.0, 0.0)  #: first axis of the rod's upper joint on slide or foot
    arm_length: Lengths | None = None  #: L [m]
    rod_length: Lengths | None = None  #: d [m]
    rod_spacing: Lengths | None = None  #: w [m], of a pair; none: one rod
    rod_length_b: Lengths | None = None
    #: of rod b of a pair, if it is not that of rod a: the platform tilts [m]
    end_spacing: Lengths | None = None  #: at the platform, if it is not w: likewise [m]
    pair: Direction | None = None  #: from rod a to rod b; none: along the axis or across
    level: Place | None = None  #: of an arm: from its motor to the foot of a parallel link [m]
    end: Place = (0.0, 0.0, 0.0)  #: wrist, in the axes of the limb, at the platform [m]
    part: Names = ("platform",)  #: what the limb ends on; half_a or half_b if articulated
    upper: Literal["universal", "revolute"] = "universal"  #: joint of the rod at the drive
    lower: Literal["universal", "spherical", "revolute"] | None = None  #: at the platform
    branch: Branches = (1,)  #: working mode
    bodies: Annotated[tuple[str, str], WithJsonSchema(_TWO_NAMES)] | None = None
    #: names under [bodies]; arm, carriage or cylinder; rod

    @model_validator(mode="after")
    def _complete(self) -> "LimbGeometry":
        needs = {
            "arm": ("arm_length", "rod_length"),
            "slide": ("rail", "rod_length"),
            "strut": (),
        }[self.drive]
        missing = [key for key in needs if getattr(self, key) is None]
        if missing:
            raise ValueError(f"a limb with drive = {self.drive!r} needs {' and '.join(missing)}.")
        foreign = {
            "arm": ("rail", "across"),
            "slide": ("axis", "zero", "arm_length", "level"),
            "strut": ("axis", "zero", "rail", "level", "arm_length", "rod_length", "rod_spacing",
                      "rod_length_b", "end_spacing"),
        }[self.drive]  # fmt: skip
        wrong = [key for key in foreign if key in self.model_fields_set]
        for key in ("rod_length_b", "end_spacing"):
            if getattr(self, key) is not None and self.rod_spacing is None and not wrong:
                raise ValueError(f"{key} is for a pair of rods; give rod_spacing.")
        if self.pair is not None and self.drive != "strut" and self.rod_spacing is None:
            raise ValueError("pair is the direction from one rod to the other; give rod_spacing.")
        if self.pair is not None and self.drive == "strut":
            wrong.append("pair")
        if self.pair is not None and self.drive == "arm" and self.level is None:
            raise ValueError("a pair on an arm is along its axis; other directions need `level`.")
        if wrong:
            raise ValueError(f"a limb with drive = {self.drive!r} has no {' and no '.join(wrong)}.")
        return self

    @model_validator(mode="after")
    def _one_of_each(self) -> "LimbGeometry":
        limbs = len(self.around)
        for key in ("end_around", "arm_length", "rod_length", "rod_spacing", "rod_length_b",
                    "end_spacing", "part", "branch"):  # fmt: skip
            given = getattr(self, key)
            if given is not None and len(given) not in (1, limbs):
                raise ValueError(
                    f"{key} has {len(given)} values for {limbs} limbs (see around); expected one, "
                    "or one per limb."
                )
        return self


class LimbsGeometry(Section):
    """Platform, limbs, and the telescope of an axis that turns the flange."""

    platform: PlatformGeometry
    limbs: Annotated[
        tuple[LimbGeometry, ...],
        BeforeValidator(_tables, json_schema_input_type=LimbGeometry | list[LimbGeometry]),
    ]
    telescope: Telescope | None = None
    flange_height: Height = 0.0  #: z_F [m], flange above the origin of the platform

    @model_validator(mode="after")
    def _as_many_limbs_as_coordinates(self) -> "LimbsGeometry":
        turns = TURNING in self.platform.coordinates and self.platform.coordinates != LED
        if turns != (self.telescope is not None):
            raise ValueError("the coordinate psi and the table telescope belong together.")
        limbs = sum(len(group.around) for group in self.limbs)
        drives, freedom = limbs + turns, len(self.platform.coordinates)
        if drives != freedom:
            some = "a limb is missing" if drives < freedom else f"limb {limbs} is too many"
            each, whole = "s" * (drives != 1), "s" * (freedom != 1)
            raise ValueError(
                f"{drives} drive{each} for {freedom} platform coordinate{whole} "
                f"({', '.join(self.platform.coordinates)}); there must be as many: {some}."
            )
        return self


class LimbsRobot(AbstractRobot):
    """Any parallel robot made of limbs."""

    kind: Literal["limbs"]
    geometry: LimbsGeometry
    bodies: Annotated[
        dict[str, Body] | None,
        BeforeValidator(_with_source, json_schema_input_type=dict[str, Body | str] | None),
    ] = None
