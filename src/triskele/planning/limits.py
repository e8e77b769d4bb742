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

from triskele.description.schema import Payload, Robot
from triskele.dynamics.robot import RigidRobot
from triskele.dynamics.stated import KEYS, Stated
from triskele.errors import InputError, UnknownName, did_you_mean
from triskele.kinematics.limits import Limit
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.planning.demands import Affine, Geometry
from triskele.planning.problem import Norms, ThirdOrder, TwoSided

_BOUNDING = ("joint_acceleration", "joint_jerk", "torque_rate", "peak_torque")


class Column(NamedTuple):
    """One limited quantity."""

    limit: Limit
    corner: float | None = None  #: v_c / v_p of a torque that falls with speed, as in (2)


class Rows(NamedTuple):
    """All limits at the points of a path; columns name what they limit, in order."""

    two_sided: TwoSided
    third_order: ThirdOrder
    norms: Norms
    columns: tuple[Column, ...]  #: of two_sided, then third_order, then norms


def needs(stated: Stated) -> frozenset[str]:
    """Which loads are limited, as `demands.load_model` names them."""
    limits = stated.limits
    torques = [*stated.of_drives("peak_torque"), *stated.of_drives("continuous_torque")]
    asked = {
        "effort": any(torques),
        "rod": any((limits.rod_force, limits.flange_force, limits.flange_torque)),
        "bearing": any((limits.bearing_force, limits.bearing_torque)),
        "grip": stated.of_grip() is not None,
    }
    return frozenset(name for name, wanted in asked.items() if wanted)


def allowance(
    robot: Robot,
    mechanism: AbstractMechanism,
    payload: Payload | None,
    margins: Mapping[str, float] | None = None,
) -> Stated:
    """The limits of `robot`, with `margins` (parts of 1, by the name of the limit) kept free."""
    for key, part in (margins or {}).items():
        if key not in KEYS:
            raise UnknownName(f"margins: there is no limit '{key}'. {did_you_mean(key, KEYS)}")
        if not 0 <= part < 1:
            raise InputError(
                f"margins: that of {key} is {part:g}; a part from 0 to 1 was expected."
            )
    stated = Stated.of(robot, mechanism, payload, margins)
    if not any(limit for key in _BOUNDING for limit in stated.of_drives(key)):
        example = "50m/s^2" if stated.drives[0].sliding else "5000deg/s^2"
        raise InputError(
            f"{robot.name} has no limit of joint acceleration, jerk or torque: nothing bounds "
            "how fast it may start. Add joint_acceleration under [limits] of its file; `plan` and "
            f"`rate` also take --limit joint_acceleration={example}."
        )
    return stated


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
    stated: Stated,
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
    _add_joints(found, stated, geometry)
    for loads in cases:
        if "effort" in loads:
            _add_efforts(found, stated, geometry, loads["effort"])
        _add_loads(found, stated, robot, loads)
    if rates is not None:
        _add_rates(found, stated, *rates)
    return found.rows()


def _add_joints(found: _Collected, stated: Stated, geometry: Geometry) -> None:
    _, q1, q2, q3 = geometry.q
    none = np.zeros(found.points)
    asked = ("joint_speed", "peak_speed", "joint_acceleration", "joint_jerk")
    limits = zip(*map(stated.of_drives, asked), strict=True)
    for k, (*speeds, acceleration, jerk) in enumerate(limits):
        for speed in filter(None, speeds):
            found.add(Column(speed), none, (q1[:, k] / speed.most) ** 2, none)
        if acceleration is not None:
            a, b = (part[:, k] / acceleration.most for part in (q1, q2))
            found.add(Column(acceleration), a, b, none)
        if jerk is not None:
            parts = (q1[:, k], 3 * q2[:, k], q3[:, k], none)
            found.add_third(Column(jerk), *(part / jerk.most for part in parts))


def _add_efforts(found: _Collected, stated: Stated, geometry: Geometry, efforts: Affine) -> None:
    limits = zip(stated.of_drives("peak_torque"), stated.of_torques_at_speed(), strict=True)
    for k, (peak, falling) in enumerate(limits):
        if peak is None:
            continue
        a, b, c = (part[:, k] / peak.most for part in efforts)
        found.add(Column(peak), a, b, c)
        corner, fastest = stated.drives[k].corner, stated.drives[k].motor_speed
        if falling is not None and corner is not None:
            assert fastest is not None, "a motor with a torque at its joint has a ratio"
            left, share = 1 - corner, np.abs(geometry.q[1][:, k]) / fastest  # (2)
            found.add(Column(falling, corner), left * a, left * b, left * c, share)


def _add_loads(
    found: _Collected, stated: Stated, robot: RigidRobot, loads: Mapping[str, Affine]
) -> None:
    if "rod" in loads:
        struts = robot.mechanism.struts
        for k in range(loads["rod"].a.shape[1]):  # the lower ends first, then the upper ones
            limit = stated.of_strut(struts[k % len(struts)].body)
            if limit is not None:
                parts = (part[:, k] / limit.most for part in loads["rod"])
                found.add(Column(limit), *parts)
    vectors = (
        ("flange force", [stated.of_flange("flange_force")]),
        ("flange moment", [stated.of_flange("flange_torque")]),
        ("bearing force", stated.of_bearings("bearing_force")),
        ("bearing moment", stated.of_bearings("bearing_torque")),
    )
    for name, limits in vectors:
        for k, limit in enumerate(limits if name in loads else ()):
            if limit is not None:
                parts = (part[:, 3 * k : 3 * k + 3] / limit.most for part in loads[name])
                found.add_norm(Column(limit), Affine(*parts))
    if "grip" in loads:
        _add_grip(found, stated, loads["grip"])


def _add_grip(found: _Collected, stated: Stated, grip: Affine) -> None:
    """Equation (1)."""
    payload, limit = stated.payload, stated.of_grip()
    if payload is None or limit is None:
        return
    most = limit.most
    across = Affine(*(part[:, :2] / (payload.grip_friction * most) for part in grip))
    found.add_norm(Column(limit), across, Affine(*(-part[:, 2:] / most for part in grip)))


def _add_rates(found: _Collected, stated: Stated, values: Affine, slopes: Affine) -> None:
    """d tau/dt = (a w + (a' + 2 b) u + b' x + c') sd, friction apart."""
    for k, limit in enumerate(stated.of_drives("torque_rate")):
        if limit is not None:
            parts = (values.a, slopes.a + 2 * values.b, slopes.b, slopes.c)
            found.add_third(Column(limit), *(part[:, k] / limit.most for part in parts))


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
