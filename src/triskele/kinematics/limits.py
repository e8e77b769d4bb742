"""What a limit is: one record, whether a pose, a sample of a motion or a row of a plan meets it.

`key` and `part` tell limits apart. The label is for people; nothing is decided by its text.
"""

from typing import NamedTuple

from triskele.description.schema import Limits, Range
from triskele.kinematics.mechanism import Coordinate


class Limit(NamedTuple):
    """One limit of a robot, its motors or its payload."""

    key: str  #: of the robot file, such as rod_force; "reach" where limbs end
    part: str  #: joint, passive coordinate, strut or leg; empty if it is of the whole robot
    label: str  #: what is limited, such as "tension of rod 1a"
    unit: str
    allowed: float | Range  #: the margin of the file taken off
    at_speed: bool = False  #: whether it is of a peak torque that falls with speed

    @property
    def identity(self) -> tuple[str, str, bool]:
        """What tells limits of a robot apart, whatever they are called and allow."""
        return self.key, self.part, self.at_speed

    @property
    def most(self) -> float:
        """What is allowed of a magnitude."""
        assert not isinstance(self.allowed, tuple), "a range has two ends"
        return self.allowed


def position_limit(joint: Coordinate, allowed: Range) -> Limit:
    """The range of a joint [rad, m]."""
    return Limit(joint.limit, joint.name, f"position of {joint.name}", joint.unit, allowed)


def passive_limit(limits: Limits, coordinate: Coordinate) -> Limit | None:
    """The limit of a passive coordinate, a range or a magnitude [rad, m]; None: there is none."""
    allowed = getattr(limits, coordinate.limit or "-", None)
    if allowed is None:
        return None
    return Limit(coordinate.limit, coordinate.name, coordinate.label, coordinate.unit, allowed)
