"""A robot file with identified numbers, each with its source: what was told, and by which logs."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath

import numpy as np

from triskele.description.load import parse
from triskele.description.provenance import Fact, rules_of
from triskele.description.quantity import Measured
from triskele.description.save import to_toml
from triskele.description.schema import (
    Body,
    Friction,
    JointFriction,
    Motor,
    Robot,
    Section,
    SlideFriction,
)
from triskele.description.tables import Table
from triskele.dynamics.robot import RigidRobot
from triskele.identification.consistent import ConsistentFit
from triskele.identification.regressor import (
    BALLS,
    drive_parts,
    own_sections,
    slides,
    turning_arms,
)
from triskele.identification.verdict import Verdict
from triskele.identification.weighted import BaseFit
from triskele.kinematics.build import build
from triskele.kinematics.fit import friction_of, motor_of
from triskele.kinematics.mechanism import AbstractMechanism, Coordinate
from triskele.laws.motors import drive_motors, ratio, reflected_damping, reflected_inertia

_TERMS = ("coulomb", "viscous")
_ROTOR = "reflected_inertia"
_INERTIA = "inertia_at_origin"
_TINY = 1e-15  #: products of inertia that are rounding


def updated(
    robot: Robot, model: RigidRobot, fit: ConsistentFit, verdict: Verdict, logs: Sequence[str]
) -> Robot:
    """`robot` with the numbers of `fit`; what the logs `logs` did not tell is marked as assumed."""
    names = [str(p) for p in fit.unknowns.parameters]
    values = dict(zip(names, map(float, fit.values), strict=True))
    told = "identified from " + ", ".join(PurePath(name).name for name in logs)
    kept = "assumed: torques do not determine it; kept near what the file had"
    changes: dict[str, object] = {}
    sources: dict[str, str] = {}
    bodies = {}
    for part, form in fit.unknowns.forms.items():
        named = {group[0] for group in form.moments}
        first = names.index(f"{part}.m")
        bodies[part] = _body(fit.values[first : first + 10])
        for key, moments in _MOMENTS.items():
            known = any(m in named and f"{part}.{m}" not in verdict.prior_only for m in moments)
            sources[f"bodies.{part}.{key}"] = (
                f"{told}; torques determine combinations with others" if known else kept
            )
    for part in fit.weighed:
        sources[f"bodies.{part}.mass"] = "on a scale, see weighed"
    changes["bodies"] = _with_bodies(robot, bodies)
    changes["friction"], own = _friction(robot, model, fit, values)
    motors, also = _motors(robot, model.mechanism, values)
    changes |= {} if motors is None else {"motors": motors}
    for key, parameters in (own | also).items():
        sources[key] = told if any(p not in verdict.prior_only for p in parameters) else kept
    return _renewed(robot, changes, sources)


_MOMENTS = {
    "mass": ("m",),
    "first_moment": ("mc_x", "mc_y", "mc_z"),
    _INERTIA: ("xx", "yy", "zz"),
}


def _body(ten: np.ndarray) -> Body:
    ten = np.where(np.abs(ten) < _TINY, 0.0, ten)
    moments = ten[4:] if np.abs(ten[7:]).max() > 0 else ten[4:7]
    return Body(
        mass=float(ten[0]),
        first_moment=(float(ten[1]), float(ten[2]), float(ten[3])),
        inertia_at_origin=tuple(map(float, moments)),
    )


def _with_bodies(robot: Robot, bodies: Mapping[str, Body]) -> object:
    """The section on bodies with new ones."""
    if isinstance(robot.bodies, dict):
        return {**robot.bodies, **bodies}
    return robot.bodies.model_copy(update=dict(bodies))


def _friction(
    robot: Robot, model: RigidRobot, fit: ConsistentFit, values: Mapping[str, float]
) -> tuple[Friction, dict[str, list[str]]]:
    """The section on friction, and the parameters behind each key that is new in it."""
    mechanism, before = model.mechanism, robot.friction or Friction()
    joints, names = mechanism.joint_coordinates, list(drive_parts(mechanism))
    motors = drive_motors(robot, joints)
    parts, changes = {}, {}
    for section, numbers in _sections(robot.friction, joints).items():
        parts[section] = [names[k] for k in numbers]
        found = {}
        for kind in _TERMS:
            whole = ((values[f"{names[k]}.{kind}"], _of_motor(motors[k], kind)) for k in numbers)
            found[kind] = [max(value - motor, 0.0) for value, motor in whole]
        old = getattr(before, section, None) or JointFriction()
        sliding = joints[numbers[0]].unit == "m"
        found |= _bend(fit, numbers)
        update = {k: _stated(old, k, v, sliding=sliding) for k, v in found.items()}
        changes[section] = old.model_copy(update=update)
    for section in (*slides(mechanism), BALLS):
        if f"{section}.coulomb" in values:
            parts[section] = [section]
            kind = JointFriction if section == BALLS else SlideFriction
            old = getattr(before, section) or kind()
            update = {k: _stated(old, k, [values[f"{section}.{k}"]]) for k in _TERMS}
            changes[section] = old.model_copy(update=update)
    keys = (*_TERMS, "saturating", "saturating_speed")
    return before.model_copy(update=changes), {
        f"friction.{section}.{key}": [f"{part}.{key}" for part in own]
        for section, own in parts.items()
        for key in keys
    }


def _sections(friction: Friction | None, joints: Sequence[Coordinate]) -> dict[str, list[int]]:
    """The drives, from 0, of each table of friction; of that of a group, all of the group."""
    used: dict[str, list[int]] = {}
    for k, joint in enumerate(joints):
        used.setdefault(friction_of(friction, joint)[0], []).append(k)
    groups = {name: [k for k, joint in enumerate(joints) if joint.drive == name] for name in used}
    return {name: groups[name] or numbers for name, numbers in used.items()}


def _stated(
    section: Section, key: str, values: Sequence[float], *, sliding: bool = False
) -> float | tuple[float, ...]:
    """`values` as `section` states them: one each, or their mean; in the unit of their joints."""
    rules = rules_of(section, key)
    assert rules is not None, "friction is a quantity"
    each = rules.shape == "drives"
    found = tuple(map(float, values)) if each else (float(np.mean(values)),)
    if sliding and rules.sliding is not None:
        found = tuple(Measured(value, rules.sliding) for value in found)
    return found if each else found[0]


def _of_motor(motor: Motor | None, kind: str) -> float:
    """Friction of a drive that its motor's bearings have by themselves, at the joint."""
    if motor is None:
        return 0.0
    return reflected_damping(motor) if kind == "viscous" else (ratio(motor) or 0.0) * motor.coulomb


def _bend(fit: ConsistentFit, numbers: Sequence[int]) -> dict[str, list[float]]:
    """Saturating friction of each of the drives `numbers`, if it has one."""
    found = [fit.saturating[k] for k in numbers if k in fit.saturating]
    keys = ("saturating", "saturating_speed")
    return {key: [float(pair[i]) for pair in found] for i, key in enumerate(keys) if found}


def _motors(
    robot: Robot, mechanism: AbstractMechanism, values: Mapping[str, float]
) -> tuple[object, dict[str, list[str]]]:
    """The section on motors with rotors, None if there is nothing new; parameters of each key."""
    joints, found = mechanism.joint_coordinates, {}
    for part, k in drive_parts(mechanism).items():
        if f"{part}.rotor" in values:
            found.setdefault(motor_of(robot.motors, joints[k])[0], {})[f"{part}.rotor"] = joints[k]
    if robot.motors is None or not found:
        return None, {}
    changes = {}
    for table, rotors in found.items():
        motor = getattr(robot.motors, table)
        assert isinstance(motor, Motor)
        sliding = all(joint.unit == "m" for joint in rotors.values())
        inertia = _stated(motor, _ROTOR, [values[name] for name in rotors], sliding=sliding)
        changes[table] = motor.model_copy(update={_ROTOR: inertia})
    keys = {f"motors.{table}.{_ROTOR}": list(rotors) for table, rotors in found.items()}
    return robot.motors.model_copy(update=changes), keys


def with_arms(robot: Robot, arms: BaseFit, logs: Sequence[Table]) -> Robot:
    """`robot` with what its arms told alone: means of their moments, friction of each drive."""
    found = dict(zip(arms.base.formulas(), map(float, arms.read), strict=True))
    mechanism = build(robot)
    tens = _moments_of_arms(robot, mechanism, found)
    before, turning = robot.friction or Friction(), turning_arms(mechanism)
    joints, names = mechanism.joint_coordinates, list(drive_parts(mechanism))
    motors = drive_motors(robot, joints)
    rubbing = {}
    for section, numbers in _sections(robot.friction, joints).items():
        old, update = getattr(before, section, None) or JointFriction(), {}
        if not turning.keys() >= set(numbers):
            continue
        for kind in _TERMS:
            stated = getattr(old, kind)
            update[kind] = tuple(
                max(found[f"{names[k]}.{kind}"] - _of_motor(motors[k], kind), 0.0)
                if f"{names[k]}.{kind}" in found
                else stated[i if len(stated) > 1 else 0]
                for i, k in enumerate(numbers)
            )
        rubbing[section] = old.model_copy(update=update)
    changes = {
        "bodies": _with_bodies(robot, {part: _body(ten) for part, ten in tens.items()}),
        "friction": before.model_copy(update=rubbing),
    }
    told = "identified from the arms alone: " + ", ".join(PurePath(t.place).name for t in logs)
    keys = [f"bodies.{part}.{key}" for part in tens for key in ("first_moment", _INERTIA)]
    keys += [f"friction.{section}.{kind}" for section in rubbing for kind in _TERMS]
    return _renewed(robot, changes, dict.fromkeys(keys, told))


def _moments_of_arms(
    robot: Robot, mechanism: AbstractMechanism, found: Mapping[str, float]
) -> dict[str, np.ndarray]:
    """Ten parameters of each section on arms; the mean of those that share it."""
    joints, names = mechanism.joint_coordinates, list(drive_parts(mechanism))
    motors = drive_motors(robot, joints)
    own, alike = own_sections(robot, mechanism), {}
    for k, body in turning_arms(mechanism).items():
        part = mechanism.parts[mechanism.bodies.index(body)].part
        alike.setdefault(body if body in own else part, {})[k] = body

    def mean(bodies: Mapping[int, str], name: str, default: float) -> float:
        known = []
        for k, body in bodies.items():
            alone, both, motor = f"{body}.{name}", f"{body}.{name} + {names[k]}.rotor", motors[k]
            if alone in found:
                known.append(found[alone])
            if both in found and motor is not None:
                known.append(found[both] - reflected_inertia(motor))
        return float(np.mean(known)) if known else default

    tens = {}
    for section, bodies in alike.items():
        stated = robot.require(f"bodies.{section}", "the identification of arms")
        assert isinstance(stated, Body)
        old, ten = stated.ten_parameters, np.array(stated.ten_parameters)
        ten[[1, 3]] = mean(bodies, "mc_x", old[1]), mean(bodies, "mc_z", old[3])
        ten[5] = mean(bodies, "yy", old[5])
        ten[6] += ten[5] - old[5]  # a slender arm has zz = yy
        tens[section] = ten
    return tens


def _renewed(robot: Robot, changes: Mapping[str, object], sources: Mapping[str, str]) -> Robot:
    """A robot as if its file had been written so."""
    new = robot.model_copy(update=dict(changes))
    old = {fact.key: fact for fact in robot.facts}
    old |= {key: Fact(key, "", source) for key, source in sources.items()}
    new._facts = tuple(old.values())
    return parse(to_toml(new), f"{robot.name}.toml")
