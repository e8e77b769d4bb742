"""The limits that a robot file, its motors and a payload state for speeds, efforts and loads.

Motions (`limits.py`) and plans (`planning.limits`) take them from here. Of efforts and loads the
file may keep a `margin` free, or a caller one of its own for each limit; that part is not allowed.
"""

from collections.abc import Mapping
from typing import NamedTuple

from triskele.description.schema import Limits, Payload, Robot
from triskele.kinematics.limits import Limit
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.laws.drives import Drive, drives

KEYS = (
    "joint_speed",
    "joint_acceleration",
    "joint_jerk",
    "peak_speed",
    "peak_torque",
    "continuous_torque",
    "torque_rate",
    "rod_force",
    "flange_force",
    "flange_torque",
    "bearing_force",
    "bearing_torque",
    "grip_force",
)
_LOADS = frozenset(KEYS[4:])  #: of these the margin of the file is kept free
#: what each limit is in the record of a drive, what it is called, and its unit
_OF_DRIVES = {
    "joint_speed": ("speed", "speed of {joint}", "{unit}/s"),
    "joint_acceleration": ("acceleration", "acceleration of {joint}", "{unit}/s^2"),
    "joint_jerk": ("jerk", "jerk of {joint}", "{unit}/s^3"),
    "peak_speed": ("motor_speed", "speed of motor {number}", "{unit}/s"),
    "peak_torque": ("peak_effort", "{effort} of motor {number}", "{effort_unit}"),
    "continuous_torque": (
        "continuous_effort",
        "RMS {effort} of motor {number}",
        "{effort_unit}",
    ),
    "torque_rate": ("effort_rate", "{effort} rate of motor {number}", "{effort_unit}/s"),
}
_OF_BEARINGS = {
    "bearing_force": ("force in the bearing of motor {number}", "N"),
    "bearing_torque": ("tilting moment in the bearing of motor {number}", "N m"),
}
_OF_FLANGE = {
    "flange_force": ("force on the flange", "N"),
    "flange_torque": ("tilting moment on the flange", "N m"),
}


class Stated(NamedTuple):
    """What a robot, its motors and its payload allow."""

    limits: Limits
    drives: tuple[Drive, ...]
    payload: Payload | None
    margins: Mapping[str, float]  #: kept free, by key; of others that of the file

    @classmethod
    def of(
        cls,
        robot: Robot,
        mechanism: AbstractMechanism,
        payload: Payload | None = None,
        margins: Mapping[str, float] | None = None,
    ) -> "Stated":
        """What `robot` allows with `margins` (parts of 1, by key) kept free."""
        return cls(robot.limits, drives(robot, mechanism), payload, dict(margins or {}))

    def kept(self, key: str) -> float:
        """The part of a limit that may be used."""
        of_file = self.limits.margin if key in _LOADS else 0.0
        return 1 - self.margins.get(key, of_file)

    def of_drives(self, key: str) -> list[Limit | None]:
        """A limit of each drive, at its joint."""
        field, label, unit = _OF_DRIVES[key]
        values = [getattr(drive, field) for drive in self.drives]
        return self._of_each(key, label, unit, values)

    def of_bearings(self, key: str) -> list[Limit | None]:
        """A limit of the bearing of each drive."""
        label, unit = _OF_BEARINGS[key]
        return self._of_each(key, label, unit, [getattr(self.limits, key)] * len(self.drives))

    def of_torques_at_speed(self) -> list[Limit | None]:
        """The part of its torque that a motor has at its speed, of each drive with a corner."""
        found: list[Limit | None] = []
        for drive, limit in zip(self.drives, self.of_drives("peak_torque"), strict=True):
            if limit is None or drive.corner is None:
                found.append(None)
                continue
            label = f"{limit.label} at speed"
            found.append(limit._replace(label=label, unit="1", allowed=1.0, at_speed=True))
        return found

    def of_strut(self, body: str) -> Limit | None:
        """The tension of a strut."""
        if self.limits.rod_force is None:
            return None
        allowed = self.kept("rod_force") * self.limits.rod_force
        return Limit("rod_force", body, f"tension of {body.replace('_', ' ')}", "N", allowed)

    def of_flange(self, key: str) -> Limit | None:
        """A limit of what the flange carries."""
        value, (label, unit) = getattr(self.limits, key), _OF_FLANGE[key]
        return None if value is None else Limit(key, "", label, unit, self.kept(key) * value)

    def of_grip(self) -> Limit | None:
        """The force of a suction cup."""
        if self.payload is None or self.payload.grip_force is None:
            return None
        allowed = self.kept("grip_force") * self.payload.grip_force
        return Limit("grip_force", "", "grip on the payload", "N", allowed)

    def _of_each(
        self, key: str, label: str, unit: str, values: list[float | None]
    ) -> list[Limit | None]:
        found: list[Limit | None] = []
        for number, (drive, value) in enumerate(zip(self.drives, values, strict=True), 1):
            if value is None:
                found.append(None)
                continue
            words = {
                "joint": drive.name,
                "number": number,
                "unit": drive.coordinate.unit,
                "effort": "force" if drive.sliding else "torque",
                "effort_unit": drive.effort_unit,
            }
            text, of = label.format(**words), unit.format(**words)
            found.append(Limit(key, drive.name, text, of, self.kept(key) * value))
        return found
