"""The format of a mechanism file: bodies and joints of any kind, as plain data in SI units.

A mechanism is what no robot of the catalogue is: `kind = "mechanism"`, then one table for each
body, joint, spring and load. Points and axes are in the frame of the body named; "ground" is
the frame O. Bodies are placed roughly, the joints do the rest (`multibody.assembly`).

A joint's angle is that of the child's direction `child_zero` about `axis`, from the parent's
direction `zero`; a slide's length is the distance of the points along `axis`. Without them
`child_axis` is as `axis`, in the child, and directions are chosen alike in both bodies.

A motor has an effort, or follows a drive: a harmonic, or a column of a table beside the file.
Speeds at the start are those of bodies and joints that the file states.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, get_args

from pydantic import Field, field_validator, model_validator

from triskele.description.provenance import Fact, quantities
from triskele.description.quantity import Quantity, numbers
from triskele.description.schema import (
    AbstractFile,
    Body,
    JointFriction,
    Length,
    Position,
    RotorInertia,
    Section,
    SlideFriction,
    Vector,
)
from triskele.description.tables import Table, read_table
from triskele.errors import TableError, did_you_mean

if TYPE_CHECKING:
    import numpy as np

JointKind = Literal[
    "fixed",
    "revolute",
    "universal",
    "spherical",
    "prismatic",
    "cylindrical",
    "inline",
    "perpendicular",
    "distance",
]
_TURNING, _SLIDING = "revolute", "prismatic"
_WITH_AXIS = ("revolute", "universal", "prismatic", "cylindrical", "inline", "perpendicular")
_CHOSEN = (".position", ".orientation", "axis", "zero")  #: ends of keys that are no findings
_ZERO: Vector = (0.0, 0.0, 0.0)


def _not_nothing(direction: Vector) -> Vector:
    if not any(direction):
        raise ValueError("a direction needs a length; write, for example, [0, 0, 1].")
    return direction


Direction = Annotated[Vector, Quantity("", "direction", "vector")]
Orientation = Annotated[Vector, Quantity("rad", "turn vector", "vector")]
Torque = Annotated[float, Quantity("N m", "torque")]
Push = Annotated[float, Quantity("N", "force")]
Forces = Annotated[Vector, Quantity("N", "force", "vector")]
Moments = Annotated[Vector, Quantity("N m", "moment", "vector")]
Velocity = Annotated[Vector, Quantity("m/s", "velocity", "vector")]
AngularVelocity = Annotated[Vector, Quantity("rad/s", "angular velocity", "vector")]
InitialSpeed = Annotated[float, Quantity("rad/s", "speed", sliding="m/s")]
Frequency = Annotated[float, Quantity("Hz", "frequency", least=0.0)]
Phase = Annotated[float, Quantity("rad", "angle")]


class PlacedBody(Body):
    """A body: mass, centre and inertia in its frame, and roughly where that frame is."""

    position: Position = _ZERO  #: of the frame in O [m]
    orientation: Orientation = _ZERO  #: axis times angle, from O [rad]
    velocity: Velocity | None = None  #: of the frame's origin at the start, in O [m/s]
    angular_velocity: AngularVelocity | None = None  #: at the start, in O [rad/s]


class Driven(Section):
    """What drives have in common: they may follow a table instead of a harmonic."""

    table: str | None = None  #: a .csv or .parquet with t, beside the mechanism file
    column: str | None = None  #: of the table; without it, the name of the joint

    @model_validator(mode="after")
    def _harmonic_or_table(self) -> "Driven":
        others = sorted(self.model_fields_set - {"table", "column", "source"})
        if self.table is not None and others:
            raise ValueError(f"follows a table or a harmonic, not both: leave out {others[0]}.")
        if self.table is None and self.column is not None:
            raise ValueError("column names a column of a table; say which, table = ...")
        return self


class TurningDrive(Driven):
    """Prescribed angle: start + speed t + amplitude sin(2 pi frequency t + phase)."""

    start: Annotated[float, Quantity("rad", "angle")] = 0.0
    speed: Annotated[float, Quantity("rad/s", "speed")] = 0.0
    amplitude: Annotated[float, Quantity("rad", "angle")] = 0.0
    frequency: Frequency = 0.0
    phase: Phase = 0.0


class SlidingDrive(Driven):
    """Prescribed length: start + speed t + amplitude sin(2 pi frequency t + phase)."""

    start: Annotated[float, Quantity("m", "length")] = 0.0
    speed: Annotated[float, Quantity("m/s", "speed")] = 0.0
    amplitude: Annotated[float, Quantity("m", "length")] = 0.0
    frequency: Frequency = 0.0
    phase: Phase = 0.0


class TurningSpring(Section):
    """A spring about the axis of a revolute joint."""

    stiffness: Annotated[float, Quantity("N m/rad", "stiffness", least=0.0)]
    rest: Annotated[float, Quantity("rad", "angle")] = 0.0
    damping: Annotated[float, Quantity("N m s/rad", "damping", least=0.0)] = 0.0


class SlidingSpring(Section):
    """A spring along a prismatic joint."""

    stiffness: Annotated[float, Quantity("N/m", "stiffness", least=0.0)]
    rest: Annotated[float, Quantity("m", "length")] = 0.0
    damping: Annotated[float, Quantity("N s/m", "damping", least=0.0)] = 0.0


class MechanismJoint(Section):
    """A joint between two bodies; keys of turning and of sliding joints have names of their own."""

    kind: str
    parent: str
    child: str
    point: Position = _ZERO  #: in the parent [m]
    child_point: Position = _ZERO  #: in the child [m]
    axis: Direction | None = None  #: in the parent
    child_axis: Direction | None = None  #: in the child
    zero: Direction | None = None  #: where the angle is 0, in the parent
    child_zero: Direction | None = None  #: the direction whose angle is measured, in the child
    length: Length | None = None  #: of a distance [m]
    motor: bool = False
    torque: Torque | None = None  #: constant effort of a motor [N m]
    force: Push | None = None  #: constant effort of a sliding motor [N]
    drive: TurningDrive | None = None
    slide_drive: SlidingDrive | None = None
    initial_speed: InitialSpeed | None = None  #: of the angle or length at the start [rad/s, m/s]
    rotor_inertia: RotorInertia | None = None  #: of the motor, at the joint [kg m^2]
    spring: TurningSpring | None = None
    slide_spring: SlidingSpring | None = None
    friction: JointFriction | None = None
    slide_friction: SlideFriction | None = None

    @field_validator("kind")
    @classmethod
    def _known(cls, kind: str) -> str:
        if kind not in get_args(JointKind):
            raise ValueError(
                f"'{kind}' is not a kind of joint. {did_you_mean(kind, get_args(JointKind))}"
            )
        return kind

    @field_validator("axis", "child_axis", "zero", "child_zero")
    @classmethod
    def _has_length(cls, direction: Vector | None) -> Vector | None:
        return None if direction is None else _not_nothing(direction)

    @model_validator(mode="after")
    def _fits_its_kind(self) -> "MechanismJoint":
        if self.kind in _WITH_AXIS and self.axis is None:
            raise ValueError(f"a {self.kind} joint needs an axis, such as axis = [0, 0, 1].")
        if (self.kind == "distance") != (self.length is not None):
            raise ValueError("length belongs to a distance, and a distance needs its length.")
        if self.prescribed and (self.torque is not None or self.force is not None):
            raise ValueError("a motor has an effort or follows a drive, not both.")
        turning = ("torque", "drive", "rotor_inertia", "spring")
        for keys, kinds in (
            (turning, (_TURNING,)),
            (("friction",), (_TURNING, "spherical", "universal")),
            (("force", "slide_drive", "slide_spring", "slide_friction"), (_SLIDING,)),
            (("motor", "initial_speed"), (_TURNING, _SLIDING)),
        ):
            for key in keys:
                if getattr(self, key) not in (None, False) and self.kind not in kinds:
                    fits = " or ".join(kinds)
                    raise ValueError(f"{key} belongs to a {fits} joint, this one is {self.kind}.")
        if self.initial_speed is not None and self.prescribed:
            raise ValueError(
                "initial_speed and a drive exclude one another: the drive has a speed."
            )
        for key, wrong in self._misfits():
            if wrong:
                raise ValueError(f"{key} is in {wrong[0]}, but {wrong[1]} was expected.")
        for key, rules, value in quantities(self.friction) if self.friction else ():
            for wrong in (rules.misfit(item, sliding=False) for item in numbers(value)):
                if wrong:
                    raise ValueError(
                        f"friction.{key} is in {wrong[0]}, but this joint turns: {wrong[1]} was "
                        "expected."
                    )
        return self

    def _misfits(self) -> "list[tuple[str, tuple[str, str] | None]]":
        """Speeds in the unit of another kind of joint."""
        return [
            (key, rules.misfit(value, sliding=self.kind == _SLIDING))
            for key, rules, value in quantities(self)
            if key == "initial_speed" and isinstance(value, float)
        ]

    @property
    def prescribed(self) -> bool:
        """Whether the file says how this joint moves."""
        return self.drive is not None or self.slide_drive is not None

    @property
    def driven(self) -> bool:
        """Whether a motor acts here."""
        given = self.torque is not None or self.force is not None
        return self.motor or given or self.prescribed or self.rotor_inertia is not None


class PointSpring(Section):
    """A spring with a damper between two points."""

    parent: str
    child: str
    point: Position = _ZERO
    child_point: Position = _ZERO
    stiffness: Annotated[float, Quantity("N/m", "stiffness", least=0.0)]
    length: Length  #: of the slack spring [m]
    damping: Annotated[float, Quantity("N s/m", "damping", least=0.0)] = 0.0


class PointLoad(Section):
    """A constant force and moment, in O, on a point of a body."""

    body: str
    point: Position = _ZERO
    force: Forces = _ZERO
    moment: Moments = _ZERO


class Mechanism(AbstractFile):
    """Bodies and joints of any kind."""

    kind: Literal["mechanism"]
    bodies: Annotated[dict[str, PlacedBody], Field(min_length=1)]
    joints: dict[str, MechanismJoint] = Field(default_factory=dict)
    springs: dict[str, PointSpring] = Field(default_factory=dict)
    loads: dict[str, PointLoad] = Field(default_factory=dict)

    def assumptions(self, *sections: str) -> tuple[Fact, ...]:
        """As of a robot; nobody has to vouch for directions, nor for where bodies are placed."""
        found = super().assumptions(*sections)
        return tuple(fact for fact in found if not fact.key.endswith(_CHOSEN))

    @model_validator(mode="after")
    def _ends_exist(self) -> "Mechanism":
        known = (*self.bodies, "ground")
        if "ground" in self.bodies:
            raise ValueError("bodies.ground: the ground is there already; choose another name.")
        ends = [(f"joints.{key}", item.parent, item.child) for key, item in self.joints.items()]
        ends += [(f"springs.{key}", item.parent, item.child) for key, item in self.springs.items()]
        ends += [(f"loads.{key}", item.body, "ground") for key, item in self.loads.items()]
        for place, *pair in ends:
            for end in pair:
                if end not in known:
                    hint = did_you_mean(end, known)
                    raise ValueError(f"{place}: hangs on '{end}', and no body is called so. {hint}")
            if pair[0] == pair[1]:
                raise ValueError(f"{place}: joins '{pair[0]}' to itself.")
        return self

    def drive_table(self, joint: str) -> "DriveRows | None":
        """The rows of the table that the drive of `joint` follows; None if it follows none."""
        item = self.joints[joint]
        drive = item.drive or item.slide_drive
        if drive is None or drive.table is None:
            return None
        table = read_table(Path(self.place).parent / drive.table)
        return drive_rows(table, drive.column or joint, sliding=item.kind == _SLIDING)


class DriveRows(NamedTuple):
    """Times and positions of a drive, and where they are from."""

    place: str
    t: "np.ndarray"  #: [s]
    q: "np.ndarray"  #: [rad, m]


def drive_rows(table: Table, column: str, *, sliding: bool) -> DriveRows:
    """The motion of a drive in a table: `t` and a column, whose name may end in _q."""
    if "t" not in table:
        raise TableError(f"{table.place}: has no column `t [s]`, which the table of a drive needs.")
    name = column if column in table else f"{column}_q"
    if name not in table:
        hint = did_you_mean(column, table.names)
        raise TableError(f"{table.place}: has no column '{column}'. {hint}")
    unit = "m" if sliding else "rad"
    place = f"{table.place}, column '{name}'"
    return DriveRows(place, table.column("t", "s"), table.column(name, unit))
