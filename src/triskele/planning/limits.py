"""The limits of a robot as rows of a planning problem, each divided by what is allowed.

Of torques and loads the file's `margin` is kept free, or one of its own for each limit. A payload
with tolerances makes rows for its extreme cases: lighter and heavier, and the heavier one with
its centre moved along each axis. A suction cup that holds with F under the friction mu carries

    |f_t| <= mu (F - f_n)                                                              (1)

f_n the force that lifts the payload along z of the platform, f_t the force across. A motor with a
corner speed v_c gives its peak torque P up to there, and none at its peak speed v_p:

    |tau| (v_p - v_c) / (P v_p) + |qd| / v_p <= 1                                       (2)
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from triskele.description.schema import Limits, Payload, Robot
from triskele.dynamics.robot import RigidRobot
from triskele.errors import InputError, UnknownName, did_you_mean
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.laws.drives import Drive, drives
from triskele.planning.demands import Affine, Geometry
from triskele.planning.problem import Norms, ThirdOrder, TwoSided

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
_OF_DRIVES = {
    "joint_speed": "speed",
    "joint_acceleration": "acceleration",
    "joint_jerk": "jerk",
    "torque_rate": "effort_rate",
    "peak_speed": "motor_speed",
    "peak_torque": "peak_effort",
    "continuous_torque": "continuous_effort",
}  #: what each limit is called in the record of a drive
_LOADS = frozenset(KEYS[4:])  #: of these the margin of the file is kept free


class Falling(NamedTuple):
    """What else limits a torque that falls with speed, as in (2)."""

    speed: str  #: label of the limit of speed
    corner: float  #: v_c / v_p


class Column(NamedTuple):
    """One limited quantity."""

    key: str  #: the limit of the file
    label: str  #: such as "tension of rod 1a"
    unit: str
    allowed: float  #: the margin taken off
    falling: Falling | None = None


class Rows(NamedTuple):
    """All limits at the points of a path; columns name what they limit, in order."""

    two_sided: TwoSided
    third_order: ThirdOrder
    norms: Norms
    columns: tuple[Column, ...]  #: of two_sided, then third_order, then norms


class Allowance(NamedTuple):
    """What a robot, its motors and its payload allow, and the part of each kept free."""

    limits: Limits
    drives: tuple[Drive, ...]
    payload: Payload | None
    margins: Mapping[str, float]

    def needs(self) -> frozenset[str]:
        """Which loads are limited, as `demands.load_model` names them."""
        limits, payload = self.limits, self.payload
        torques = [*self.of_drives("peak_torque"), *self.of_drives("continuous_torque")]
        asked = {
            "effort": any(value is not None for value in torques),
            "rod": any((limits.rod_force, limits.flange_force, limits.flange_torque)),
            "bearing": any((limits.bearing_force, limits.bearing_torque)),
            "grip": payload is not None and payload.grip_force is not None,
        }
        return frozenset(name for name, wanted in asked.items() if wanted)

    def kept(self, key: str) -> float:
        """What is left of a limit."""
        of_file = self.limits.margin if key in _LOADS else 0.0
        return 1 - self.margins.get(key, of_file)

    def of_drives(self, key: str) -> list[float | None]:
        """A limit of each drive, at its joint."""
        found = (getattr(drive, _OF_DRIVES[key]) for drive in self.drives)
        return [None if value is None else self.kept(key) * value for value in found]


def allowance(
    robot: Robot,
    mechanism: AbstractMechanism,
    payload: Payload | None,
    margins: Mapping[str, float] | None = None,
) -> Allowance:
    """The limits of `robot`, with `margins` (parts of 1, by the name of the limit) kept free."""
    for key, part in (margins or {}).items():
        if key not in KEYS:
            raise UnknownName(f"margins: there is no limit '{key}'. {did_you_mean(key, KEYS)}")
        if not 0 <= part < 1:
            raise InputError(
                f"margins: that of {key} is {part:g}; a part from 0 to 1 was expected."
            )
    found = Allowance(robot.limits, drives(robot, mechanism), payload, dict(margins or {}))
    bounding = ("joint_acceleration", "joint_jerk", "torque_rate", "peak_torque")
    if not any(value is not None for key in bounding for value in found.of_drives(key)):
        example = "50m/s^2" if found.drives[0].sliding else "5000deg/s^2"
        raise InputError(
            f"{robot.name} has no limit of joint acceleration, jerk or torque: nothing bounds "
            "how fast it may start. Add joint_acceleration under [limits] of its file; `plan` and "
            f"`rate` also take --limit joint_acceleration={example}."
        )
    return found


class _Collected:
    """Rows as they are found, two-sided, third order and norms apart."""

    def __init__(self, points: int) -> None:
        self.points = points
        self.two: list[tuple] = []
        self.three: list[tuple] = []
        self.norms: list[tuple] = []
        self.columns: tuple[list[Column], list[Column], list[Column]] = ([], [], [])

    def add(
        self,
        column: Column,
        a: np.ndarray,
        b: np.ndarray,
        c: np.ndarray,
        e: np.ndarray | None = None,
    ) -> None:
        """|a u + b x + c| + e sqrt(x) <= 1."""
        self.two.append((a, b, c, np.zeros_like(a) if e is None else e))
        self.columns[0].append(column)

    def add_third(self, column: Column, *parts: np.ndarray) -> None:
        """|a w + b u + c x + d| sqrt(x) <= 1."""
        self.three.append(parts)
        self.columns[1].append(column)

    def add_norm(self, column: Column, part: Affine, lift: Affine | None = None) -> None:
        """|a u + b x + c| <= 1 + lift."""
        padded = [np.pad(v, ((0, 0), (0, 3 - v.shape[1]))) for v in part]
        sides = [np.zeros(self.points)] * 3 if lift is None else [v[:, 0] for v in lift]
        self.norms.append((*padded, *sides))
        self.columns[2].append(column)

    def rows(self) -> Rows:
        """All of them as arrays."""
        none, no_vectors = np.zeros((self.points, 0)), np.zeros((self.points, 0, 3))
        two = [np.stack(part, axis=1) for part in zip(*self.two, strict=True)] or [none] * 4
        three = [np.stack(part, axis=1) for part in zip(*self.three, strict=True)] or [none] * 4
        norms = [np.stack(part, axis=1) for part in zip(*self.norms, strict=True)]
        norms = norms or [no_vectors] * 3 + [none] * 3
        columns = tuple(column for part in self.columns for column in part)
        return Rows(TwoSided(*two), ThirdOrder(*three), Norms(*norms), columns)


def limit_rows(
    allowed: Allowance,
    robot: RigidRobot,
    geometry: Geometry,
    cases: Sequence[Mapping[str, Affine]],
    rates: tuple[Affine, Affine] | None = None,
) -> Rows:
    """The rows of all limits at the points of `geometry`.

    `cases` are the loads of each extreme of the payload, friction included in c; `rates` the
    efforts and their slopes along the path, for limits of the torque rate.
    """
    found = _Collected(len(geometry.s))
    _add_joints(found, allowed, geometry)
    for loads in cases:
        if "effort" in loads:
            _add_efforts(found, allowed, geometry, loads["effort"])
        _add_loads(found, allowed, robot, loads)
    if rates is not None:
        _add_rates(found, allowed, *rates)
    return found.rows()


def _add_joints(found: _Collected, allowed: Allowance, geometry: Geometry) -> None:
    _, q1, q2, q3 = geometry.q
    none = np.zeros(found.points)
    asked = ("joint_speed", "peak_speed", "joint_acceleration", "joint_jerk")
    limits = zip(*map(allowed.of_drives, asked), strict=True)
    for k, (drive, of) in enumerate(zip(allowed.drives, limits, strict=True)):
        *speeds, acceleration, jerk = of
        unit = drive.coordinate.unit
        for key, label, limit in zip(
            asked, (f"speed of {drive.name}", _motor_speed(k)), speeds, strict=False
        ):
            if limit is not None:
                column = Column(key, label, f"{unit}/s", limit)
                found.add(column, none, (q1[:, k] / limit) ** 2, none)
        if acceleration is not None:
            label = f"acceleration of {drive.name}"
            column = Column("joint_acceleration", label, f"{unit}/s^2", acceleration)
            found.add(column, q1[:, k] / acceleration, q2[:, k] / acceleration, none)
        if jerk is not None:
            column = Column("joint_jerk", f"jerk of {drive.name}", f"{unit}/s^3", jerk)
            parts = (q1[:, k], 3 * q2[:, k], q3[:, k], none)
            found.add_third(column, *(part / jerk for part in parts))


def _add_efforts(
    found: _Collected, allowed: Allowance, geometry: Geometry, efforts: Affine
) -> None:
    limits = allowed.of_drives("peak_torque")
    for k, (drive, limit) in enumerate(zip(allowed.drives, limits, strict=True)):
        if limit is None:
            continue
        column = Column("peak_torque", effort_of(drive, k), drive.effort_unit, limit)
        a, b, c = (part[:, k] / limit for part in efforts)
        found.add(column, a, b, c)
        motor, fastest = drive.motor, drive.motor_speed
        if motor is not None and motor.corner_speed is not None and motor.peak_speed is not None:
            corner = motor.corner_speed / motor.peak_speed
            left = 1 - corner  # (2)
            assert fastest is not None, "a motor with a torque at its joint has a ratio"
            label = f"{column.label} at speed"
            share = np.abs(geometry.q[1][:, k]) / fastest
            column = column._replace(label=label, falling=Falling(_motor_speed(k), corner))
            found.add(column, left * a, left * b, left * c, share)


def _motor_speed(k: int) -> str:
    return f"speed of motor {k + 1}"


def effort_of(drive: Drive, k: int) -> str:
    """What drive `k` gives, from 0: torque of motor 1."""
    return f"{'force' if drive.sliding else 'torque'} of motor {k + 1}"


def _add_loads(
    found: _Collected, allowed: Allowance, robot: RigidRobot, loads: Mapping[str, Affine]
) -> None:
    limits = allowed.limits
    if limits.rod_force is not None and "rod" in loads:
        names = [strut.body for strut in robot.mechanism.struts]
        limit = allowed.kept("rod_force") * limits.rod_force
        for k in range(loads["rod"].a.shape[1]):
            label = f"tension of {names[k % len(names)].replace('_', ' ')}"
            column = Column("rod_force", label, "N", limit)
            found.add(column, *(part[:, k] / limit for part in loads["rod"]))
    sizes = (
        ("flange_force", "flange force", "force on the flange", "N"),
        ("flange_torque", "flange moment", "tilting moment on the flange", "N m"),
        ("bearing_force", "bearing force", "force in the bearing of motor", "N"),
        ("bearing_torque", "bearing moment", "tilting moment in the bearing of motor", "N m"),
    )
    for key, name, label, unit in sizes:
        value = getattr(limits, key)
        if value is None or name not in loads:
            continue
        limit, many = allowed.kept(key) * value, name.startswith("bearing")
        for k in range(loads[name].a.shape[1] // 3 if many else 1):
            column = Column(key, f"{label} {k + 1}" if many else label, unit, limit)
            parts = (part[:, 3 * k : 3 * k + 3] / limit for part in loads[name])
            found.add_norm(column, Affine(*parts))
    if "grip" in loads:
        _add_grip(found, allowed, loads["grip"])


def _add_grip(found: _Collected, allowed: Allowance, grip: Affine) -> None:
    """Equation (1)."""
    payload = allowed.payload
    if payload is None or payload.grip_force is None:
        return
    limit = allowed.kept("grip_force") * payload.grip_force
    column = Column("grip_force", "grip on the payload", "N", limit)
    across = Affine(*(part[:, :2] / (payload.grip_friction * limit) for part in grip))
    found.add_norm(column, across, Affine(*(-part[:, 2:] / limit for part in grip)))


def _add_rates(found: _Collected, allowed: Allowance, values: Affine, slopes: Affine) -> None:
    """d tau/dt = (a w + (a' + 2 b) u + b' x + c') sd, friction apart."""
    limits = allowed.of_drives("torque_rate")
    for k, (drive, limit) in enumerate(zip(allowed.drives, limits, strict=True)):
        if limit is None:
            continue
        unit = f"{drive.effort_unit}/s"
        column = Column("torque_rate", f"torque rate of motor {k + 1}", unit, limit)
        parts = (values.a, slopes.a + 2 * values.b, slopes.b, slopes.c)
        found.add_third(column, *(part[:, k] / limit for part in parts))


def payload_cases(payload: Payload | None) -> list[Payload | None]:
    """The payload, and its extremes if it has tolerances."""
    if payload is None or not (payload.mass_tolerance or payload.centre_tolerance):
        return [payload]
    heavy = payload.mass * (1 + payload.mass_tolerance)
    found = [payload]
    if payload.mass_tolerance:
        light = payload.mass * (1 - payload.mass_tolerance)
        found += [payload.model_copy(update={"mass": mass}) for mass in (light, heavy)]
    if payload.centre_tolerance:
        for axis in np.concatenate([np.eye(3), -np.eye(3)]):
            centre = np.asarray(payload.centre_of_mass) + payload.centre_tolerance * axis
            moved = {"mass": heavy, "centre_of_mass": tuple(centre.tolist())}
            found.append(payload.model_copy(update=moved))
    return list(found)
