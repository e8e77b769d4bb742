"""A robot file with identified numbers, each with its source: what was told, and by which logs."""

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath

import numpy as np

from triskele.description.load import parse
from triskele.description.provenance import Fact
from triskele.description.save import to_toml
from triskele.description.schema import (
    Body,
    Friction,
    JointFriction,
    Motor,
    Robot,
    SlideFriction,
)
from triskele.description.tables import Table
from triskele.dynamics.robot import RigidRobot
from triskele.identification.consistent import ConsistentFit
from triskele.identification.verdict import Verdict
from triskele.identification.weighted import BaseFit
from triskele.laws.motors import drive_motors, ratio, reflected_damping, reflected_inertia

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
    changes["bodies"] = robot.bodies.model_copy(update=bodies)  # pyright: ignore[reportOptionalMemberAccess]
    changes["friction"], own = _friction(robot, model, fit, values)
    motors, also = _motors(robot, values)
    changes |= {} if motors is None else {"motors": motors}
    for key, parameters in (own | also).items():
        sources[key] = told if any(p not in verdict.prior_only for p in parameters) else kept
    return _renewed(robot, changes, sources)


_MOMENTS = {
    "mass": ("m",),
    "first_moment": ("mc_x", "mc_y", "mc_z"),
    "inertia_at_origin": ("xx", "yy", "zz"),
}


def _body(ten: np.ndarray) -> Body:
    ten = np.where(np.abs(ten) < _TINY, 0.0, ten)
    moments = ten[4:] if np.abs(ten[7:]).max() > 0 else ten[4:7]
    return Body(
        mass=float(ten[0]),
        first_moment=(float(ten[1]), float(ten[2]), float(ten[3])),
        inertia_at_origin=tuple(map(float, moments)),
    )


def _friction(
    robot: Robot, model: RigidRobot, fit: ConsistentFit, values: Mapping[str, float]
) -> tuple[Friction, dict[str, list[str]]]:
    """The section on friction, and the parameters behind each key that is new in it."""
    n = len(model.mechanism.joint_coordinates)
    sliding = model.mechanism.joint_coordinates[0].unit == "m"
    before = robot.friction or Friction()
    motors = drive_motors(robot, n)
    dry, wet = (
        [max(values[f"drive_{k + 1}.{kind}"] - _of_motor(motors[k], kind), 0.0) for k in range(n)]
        for kind in ("coulomb", "viscous")
    )
    changes: dict[str, object] = {}
    if sliding:
        old = before.slides or SlideFriction()
        mean = {"coulomb": float(np.mean(dry[:3])), "viscous": float(np.mean(wet[:3]))}
        changes["slides"] = old.model_copy(update=mean)
    else:
        old = before.drives or JointFriction()
        three = {"coulomb": tuple(dry[:3]), "viscous": tuple(wet[:3])}
        changes["drives"] = old.model_copy(update=three | _bend(fit, (0, 1, 2)))
    if n > 3:
        old = before.axis4 or JointFriction()
        one = {"coulomb": (dry[3],), "viscous": (wet[3],)}
        changes["axis4"] = old.model_copy(update=one | _bend(fit, (3,)))
    for part, kind in (("telescope", SlideFriction), ("balls", JointFriction)):
        if f"{part}.coulomb" in values:
            dry_part, wet_part = values[f"{part}.coulomb"], values[f"{part}.viscous"]
            pair = (dry_part, wet_part) if part == "telescope" else ((dry_part,), (wet_part,))
            old = getattr(before, part) or kind()
            changes[part] = old.model_copy(
                update=dict(zip(("coulomb", "viscous"), pair, strict=True))
            )
    parts = {"axis4": ["drive_4"], "telescope": ["telescope"], "balls": ["balls"]}
    first = [f"drive_{k}" for k in (1, 2, 3)]
    keys = ("coulomb", "viscous", "saturating", "saturating_speed")
    return before.model_copy(update=changes), {
        f"friction.{section}.{key}": [f"{part}.{key}" for part in parts.get(section, first)]
        for section in changes
        for key in keys
    }


def _of_motor(motor: Motor | None, kind: str) -> float:
    """Friction of a drive that its motor's bearings have by themselves, at the joint."""
    if motor is None:
        return 0.0
    return reflected_damping(motor) if kind == "viscous" else (ratio(motor) or 0.0) * motor.coulomb


def _bend(fit: ConsistentFit, drives: Sequence[int]) -> dict[str, object]:
    """Saturating friction of drives that share it: the mean."""
    found = [fit.saturating[k] for k in drives if k in fit.saturating]
    if not found:
        return {}
    A, w = np.mean(found, axis=0)
    return {"saturating": float(A), "saturating_speed": float(w)}


def _motors(robot: Robot, values: Mapping[str, float]) -> tuple[object, dict[str, list[str]]]:
    """The section on motors with rotors, None if there is nothing new; parameters of each key."""
    found: dict[str, list[float]] = {}
    for name, value in values.items():
        match = re.fullmatch(r"drive_(\d)\.rotor", name)
        if match is not None:
            found.setdefault("axis4" if match[1] == "4" else "drives", []).append(value)
    if robot.motors is None or not found:
        return None, {}
    changes = {}
    for section, rotors in found.items():
        motor = getattr(robot.motors, section)
        assert isinstance(motor, Motor)
        changes[section] = motor.model_copy(update={"reflected_inertia": float(np.mean(rotors))})
    drives = {"axis4": [4], "drives": [1, 2, 3]}
    keys = {
        f"motors.{section}.reflected_inertia": [f"drive_{k}.rotor" for k in drives[section]]
        for section in found
    }
    return robot.motors.model_copy(update=changes), keys


def with_arms(robot: Robot, arms: BaseFit, logs: Sequence[Table]) -> Robot:
    """`robot` with what its arms told alone: means of their moments, friction of each drive."""
    found = dict(zip(arms.base.formulas(), map(float, arms.read), strict=True))
    old = robot.bodies.arm.ten_parameters  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]

    motors = drive_motors(robot, 3)

    def mean(name: str, default: float) -> float:
        known = [found[f"arm_{i}.{name}"] for i in (1, 2, 3) if f"arm_{i}.{name}" in found]
        for i, motor in enumerate(motors, 1):
            both = f"arm_{i}.{name} + drive_{i}.rotor"
            if both in found and motor is not None:
                known.append(found[both] - reflected_inertia(motor))
        return float(np.mean(known)) if known else default

    ten = np.array(old)
    ten[[1, 3]] = mean("mc_x", old[1]), mean("mc_z", old[3])
    ten[5] = mean("yy", old[5])
    ten[6] += ten[5] - old[5]  # a slender arm has zz = yy
    changes: dict[str, object] = {
        "bodies": robot.bodies.model_copy(update={"arm": _body(ten)})  # pyright: ignore[reportOptionalMemberAccess]
    }
    before = robot.friction or Friction()
    drives = before.drives or JointFriction()
    rubbing = {}
    for key in ("coulomb", "viscous"):
        stated = getattr(drives, key)
        rubbing[key] = tuple(
            max(found[f"drive_{i}.{key}"] - _of_motor(motors[i - 1], key), 0.0)
            if f"drive_{i}.{key}" in found
            else stated[i - 1 if len(stated) > 1 else 0]
            for i in (1, 2, 3)
        )
    changes["friction"] = before.model_copy(update={"drives": drives.model_copy(update=rubbing)})
    told = "identified from the arms alone: " + ", ".join(PurePath(t.place).name for t in logs)
    keys = ["bodies.arm.first_moment", "bodies.arm.inertia_at_origin"]
    keys += [f"friction.drives.{key}" for key in rubbing]
    return _renewed(robot, changes, dict.fromkeys(keys, told))


def _renewed(robot: Robot, changes: Mapping[str, object], sources: Mapping[str, str]) -> Robot:
    """A robot as if its file had been written so."""
    new = robot.model_copy(update=dict(changes))
    old = {fact.key: fact for fact in robot.facts}
    old |= {key: Fact(key, "", source) for key, source in sources.items()}
    new._facts = tuple(old.values())
    return parse(to_toml(new), f"{robot.name}.toml")
