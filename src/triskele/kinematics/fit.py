"""Whether what a robot file says of joints fits the mechanism: names, counts and units.

A drive has a table of its own name under [motors] and [friction], `q2`, or shares that of its
group, `drives`. Limits of positions are ranges, one for all joints of a kind or one each; limits
of rates are numbers, one for all drives or one each. What a drive states is in the unit of its
joint: rad/s where it turns, m/s where it slides.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel

from triskele.description.provenance import quantities, rules_of
from triskele.description.quantity import Quantity
from triskele.description.schema import (
    Disassembled,
    Flexures,
    Friction,
    JointFriction,
    Limits,
    Motor,
    Motors,
    Range,
    Robot,
    SlideFriction,
)
from triskele.errors import DescriptionError, did_you_mean
from triskele.kinematics.mechanism import AbstractMechanism, Coordinate

RATES = ("joint_speed", "joint_acceleration", "joint_jerk", "torque_rate")
_POSITIONS = ("joint_angle", "slider_position", "strut_length", "rod_tilt", "foot_angle",
              "ball_angle", "telescope_length")  # fmt: skip
_SLIDES = "slides"  #: friction of all drives that slide


def slides(joint: Coordinate) -> bool:
    """Whether a driven joint slides; else it turns."""
    return joint.unit == "m"


def motor_of(motors: Motors | None, joint: Coordinate) -> tuple[str, Motor | None]:
    """Name and table of the motor of a joint: its own, or that of its group."""
    return _of(motors, joint.name, joint.drive)


def friction_of(
    friction: Friction | None, joint: Coordinate
) -> tuple[str, JointFriction | SlideFriction | None]:
    """Name and table of the friction of a driven joint: its own, or that of its group."""
    names = (joint.name, _SLIDES, joint.drive) if slides(joint) else (joint.name, joint.drive)
    return _of(friction, *names)


def number_in_group(joints: Sequence[Coordinate], k: int) -> int:
    """How many drives of the group of drive `k` come before it."""
    return sum(joint.drive == joints[k].drive for joint in joints[:k])


def each(values: Sequence[float] | None, joints: int) -> tuple[float | None, ...]:
    """One limit per joint: one number for all, or as many as the file gives."""
    if values is None:
        return (None,) * joints
    many = tuple(values) * joints if len(values) == 1 else tuple(values)
    return (*many, *(None,) * joints)[:joints]


def ranges(limits: Limits, joints: Sequence[Coordinate]) -> tuple[Range | None, ...]:
    """The range of each joint [rad, m]; None where the file states none."""
    found, taken = [], dict.fromkeys((joint.limit for joint in joints), 0)
    for joint in joints:
        stated = getattr(limits, joint.limit or "-", None)
        if stated is not None and isinstance(stated[0], tuple):
            stated = stated[taken[joint.limit]]
        found.append(stated)
        taken[joint.limit] += 1
    return tuple(found)


def check_fit(robot: Robot, mechanism: AbstractMechanism) -> None:
    """Refuse what the file says of joints that the robot does not have, or in another unit."""
    for problem in _problems(robot, mechanism):
        raise DescriptionError(f"{robot.place}, {problem}")


def _problems(robot: Robot, mechanism: AbstractMechanism) -> Iterator[str]:
    yield from _foreign_bodies(robot.bodies, mechanism)
    yield from _foreign_limits(robot.limits, mechanism)
    yield from _counts(robot.limits, mechanism.joint_coordinates)
    yield from _foreign_groups(robot, mechanism)
    yield from _rates(robot.limits, mechanism.joint_coordinates)
    yield from _motors(robot.motors, mechanism.joint_coordinates)
    yield from _friction(robot.friction, mechanism)
    yield from _disassembled(robot.disassembled, mechanism.joint_coordinates)
    yield from _flexures(robot.flexures, {c.flexure for c in mechanism.passive_coordinates})


# Names


def _foreign_bodies(bodies: object, mechanism: AbstractMechanism) -> Iterator[str]:
    """Bodies that this robot does not have, where the file may name any."""
    known = {"base", *(name for part in mechanism.parts for name in (part.body, part.part))}
    for name in bodies if isinstance(bodies, dict) else ():
        if name not in known:
            yield f"bodies.{name}: this robot has no such body. {did_you_mean(name, known)}"


def _foreign_limits(limits: Limits, mechanism: AbstractMechanism) -> Iterator[str]:
    """Limits of coordinates and bodies that this robot does not have."""
    known = {c.limit for c in (*mechanism.joint_coordinates, *mechanism.passive_coordinates)}
    foreign = [key for key in _POSITIONS if key not in known]
    foreign += [] if mechanism.struts else ["rod_force"]
    for key in foreign:
        if getattr(limits, key) is not None:
            had = ", ".join(sorted(key for key in known if key)) or "none"
            yield (
                f"limits.{key}: this robot has nothing that it could limit. "
                f"Limits of its positions are: {had}."
            )


def _foreign_groups(robot: Robot, mechanism: AbstractMechanism) -> Iterator[str]:
    """Motors and friction of joints that this robot does not have, and what no joint uses."""
    joints = mechanism.joint_coordinates
    drives = {name for joint in joints for name in (joint.name, joint.drive)}
    passive = {joint.friction for joint in mechanism.joints()} & set(Friction.model_fields)
    rubbing = drives | passive | ({_SLIDES} if any(map(slides, joints)) else set())
    moved = {motor_of(robot.motors, joint)[0] for joint in joints}
    rubbed = passive | {friction_of(robot.friction, joint)[0] for joint in joints}
    for key, groups, known, used in (
        ("motors", robot.motors, drives, moved),
        ("friction", robot.friction, rubbing, rubbed),
    ):
        for name in _stated(groups):
            if name not in known:
                yield f"{key}.{name}: this robot has no such joint. {did_you_mean(name, known)}"
            elif name not in used:
                yield f"{key}.{name}: no drive uses it, each has a table of its own."


def _stated(groups: Motors | Friction | None) -> list[str]:
    """Names of the tables in a section."""
    names = () if groups is None else groups.model_fields_set - {"source"}
    return sorted(name for name in names if getattr(groups, name) is not None)


def _of(groups: BaseModel | None, *names: str) -> tuple[str, Any]:
    for name in names:
        found = getattr(groups, name, None)
        if found is not None:
            return name, found
    return names[-1], None


def _flexures(flexures: Flexures | None, bent: set[str]) -> Iterator[str]:
    """Stiffness that the joints of the robot need, or flexures that it does not have."""
    if flexures is None:
        return
    if not any(bent):
        yield (
            "flexures: this robot has none; they are revolute and spherical joints at the ends of "
            "rods and bars."
        )
    for kind, needs in (
        ("revolute", ("revolute_bending",)),
        ("spherical", ("spherical_bending", "spherical_torsion")),
    ):
        known = getattr(flexures, kind) or all(getattr(flexures, key) is not None for key in needs)
        if bent & set(needs) and not known:
            yield f"flexures: give {' and '.join(needs)}, or the hinge as [flexures.{kind}]."


# Counts


def _counts(limits: Limits, joints: Sequence[Coordinate]) -> Iterator[str]:
    """As many numbers as drives, or one; as many ranges as joints of their kind, or one."""
    n, first = len(joints), sum(joint.drive == joints[0].drive for joint in joints)
    for key in RATES:
        values = getattr(limits, key)
        if values is not None and len(values) not in (1, n, first):
            yield f"limits.{key}: has {len(values)} numbers for {n} drives; expected one, or {n}."
    for key in {joint.limit for joint in joints if joint.limit}:
        stated, count = getattr(limits, key), sum(joint.limit == key for joint in joints)
        if stated is not None and isinstance(stated[0], tuple) and len(stated) != count:
            yield (
                f"limits.{key}: has {len(stated)} ranges for {count} joints; expected one, or "
                f"{count}."
            )


# Units


def _rates(limits: Limits, joints: Sequence[Coordinate]) -> Iterator[str]:
    mixed = len({slides(joint) for joint in joints}) > 1
    for key in RATES:
        rules, values = rules_of(limits, key), getattr(limits, key)
        assert rules is not None, "limits of rates are quantities"
        for joint, value in zip(joints, each(values, len(joints)), strict=True):
            told = None if value is None else _misfit(rules, value, joint)
            if told:
                hint = "; give each drive its own number and unit" if mixed else ""
                yield f"limits.{key} is {told}{hint if len(values) == 1 else ''}."


def _motors(motors: Motors | None, joints: Sequence[Coordinate]) -> Iterator[str]:
    for joint in joints:
        name, motor = motor_of(motors, joint)
        if motor is None:
            continue
        if slides(joint) and motor.gear_ratio is not None:
            yield f"motors.{name}.gear_ratio: {joint.name} slides; its motor has a transmission."
        if not slides(joint) and motor.transmission is not None:
            yield f"motors.{name}.transmission: {joint.name} turns; its motor has a gear_ratio."
        yield from _misfits(f"motors.{name}", motor, joint)


def _friction(friction: Friction | None, mechanism: AbstractMechanism) -> Iterator[str]:
    joints = mechanism.joint_coordinates
    for k, joint in enumerate(joints):
        name, section = friction_of(friction, joint)
        if section is None:
            continue
        count = sum(other.drive == name for other in joints) or 1
        for key in ("coulomb", "viscous"):
            values = getattr(section, key)
            if isinstance(values, tuple) and len(values) not in (1, count):
                some = "expected one." if count == 1 else f"expected one, or {count}."
                yield f"friction.{name}.{key}: has {len(values)} numbers; {some}"
        yield from _misfits(f"friction.{name}", section, joint, number_in_group(joints, k))
    for joint in mechanism.joints():
        section = getattr(friction, joint.friction or "-", None)
        if section is not None:
            shown = Coordinate(joint.name, "m" if joint.kind == "prismatic" else "rad")
            yield from _misfits(f"friction.{joint.friction}", section, shown)


def _disassembled(found: Disassembled | None, joints: Sequence[Coordinate]) -> Iterator[str]:
    """As many numbers as drives, or as those of the first group, or one."""
    if found is None:
        return
    n, first = len(joints), sum(joint.drive == joints[0].drive for joint in joints)
    for key in ("coulomb", "viscous"):
        values = getattr(found, key)
        if len(values) not in (1, n, first):
            many = f"has {len(values)} numbers for {n} drives"
            yield f"disassembled.{key}: {many}; expected one, or {n}."


def _misfits(place: str, section: BaseModel, joint: Coordinate, number: int = 0) -> Iterator[str]:
    """Numbers of a table that are not in the unit of its joint."""
    for key, rules, value in quantities(section):
        if isinstance(value, tuple):
            value = value[number if len(value) > 1 else 0]
        told = _misfit(rules, value, joint)
        if told:
            yield f"{place}.{key} is {told}."


def _misfit(rules: Quantity, value: float, joint: Coordinate) -> str | None:
    wrong = rules.misfit(value, sliding=slides(joint))
    if wrong is None:
        return None
    stated, expected = wrong
    how = "slides" if slides(joint) else "turns"
    return f"in {stated}, but {joint.name} {how}: {expected} was expected"
