"""The system of a mechanism file (`description.mechanism`), assembled."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from triskele.description.mechanism import (
    DriveRows,
    Mechanism,
    MechanismJoint,
    SlidingSpring,
    TurningSpring,
)
from triskele.errors import DescriptionError, InputError, UnknownName, did_you_mean
from triskele.laws.friction import FrictionLaw, friction_law
from triskele.laws.springs import Spring
from triskele.multibody.assembly import assembled, check_inertia
from triskele.multibody.collapse import check_speeds
from triskele.multibody.initial import Stated, started
from triskele.multibody.integrate import Actuation, Constant
from triskele.multibody.joints import Body, Joint, Load, Tether, frame_about, system
from triskele.multibody.signals import Harmonic, Tabulated, Together, tabulated
from triskele.multibody.system import State, System
from triskele.numerics import require_double_precision
from triskele.spatial.euler_parameters import rotation_matrix, turned
from triskele.spatial.inertia import infeasibility


class MechanismSystem(NamedTuple):
    """A mechanism in absolute coordinates, where it starts, and what its motors do."""

    system: System
    start: State
    actuation: Actuation


def from_file(
    mechanism: Mechanism,
    drives: Mapping[str, DriveRows] | None = None,
    speeds: Mapping[str, float] | None = None,
) -> MechanismSystem:
    """Bodies and joints of `mechanism`, assembled at t = 0; an error names what does not fit.

    `drives` are motions that joints follow instead of what the file says of their motors, by
    name; `speeds` those of joints at the start [rad/s, m/s], instead of those of the file.
    """
    require_double_precision()
    followed = _followed(mechanism, drives or {})
    joints = [
        _joint(name, item, motor=item.driven or name in followed)
        for name, item in mechanism.joints.items()
    ]
    motors = {
        name: item for name, item in mechanism.joints.items() if item.driven or name in followed
    }
    built, guess = system(
        mechanism.name,
        [_body(mechanism, name) for name in mechanism.bodies],
        joints,
        gravity=mechanism.gravity,
        tethers=[
            Tether(
                name,
                item.parent,
                item.child,
                item.point,
                item.child_point,
                item.stiffness,
                item.length,
                item.damping,
            )
            for name, item in mechanism.springs.items()
        ],
        loads=[
            Load(name, item.body, item.point, item.force, item.moment)
            for name, item in mechanism.loads.items()
        ],
        prescribed=tuple(followed),
    )
    efforts = [item.torque or item.force or 0.0 for item in motors.values()]
    order = tuple(axis.joint for axis in built.driven)
    signal = Together(tuple(followed[name] for name in order), order) if order else None
    actuation = Actuation(Constant(jnp.asarray(efforts, float)), signal)
    drive = actuation.drive(jnp.zeros(()))
    start = assembled(built, guess, drive)
    check_inertia(built, start)
    check_speeds(built, start, drive)
    start = started(built, start, _stated(mechanism, speeds or {}, order), drive)
    return MechanismSystem(built, start, actuation)


def _followed(
    mechanism: Mechanism, drives: Mapping[str, DriveRows]
) -> dict[str, Harmonic | Tabulated]:
    """Motions that joints follow."""
    _check_joints(mechanism, drives, "a drive")
    found: dict[str, Harmonic | Tabulated] = {}
    for name, item in mechanism.joints.items():
        rows = drives.get(name) or mechanism.drive_table(name)
        section = item.drive or item.slide_drive
        if rows is not None:
            found[name] = tabulated(*rows)
        elif section is not None:
            keys = ("start", "speed", "amplitude", "frequency", "phase")
            found[name] = Harmonic(*(jnp.asarray(getattr(section, key), float) for key in keys))
    return found


def _check_joints(mechanism: Mechanism, names: Iterable[str], what: str) -> None:
    """An error unless all of them are joints that turn about, or slide along, one axis."""
    for name in names:
        if name not in mechanism.joints:
            hint = did_you_mean(name, mechanism.joints)
            raise UnknownName(f"{mechanism.name}: there is no joint '{name}'. {hint}")
        kind = mechanism.joints[name].kind
        if kind not in ("revolute", "prismatic"):
            raise InputError(
                f"{mechanism.name}, joints.{name}: {what} belongs to a revolute or prismatic "
                f"joint, this one is {kind}."
            )


def _stated(
    mechanism: Mechanism, speeds: Mapping[str, float], driven: tuple[str, ...]
) -> list[Stated]:
    """Speeds at the start that the file states, or `speeds` of joints instead."""
    _check_joints(mechanism, speeds, "a speed at the start")
    for name in driven:
        if name in speeds:
            raise InputError(
                f"{mechanism.name}, joints.{name}: follows a drive, which has a speed of its own."
            )
    found = []
    for name, body in mechanism.bodies.items():
        for key in ("velocity", "angular_velocity"):
            value = getattr(body, key)
            if value is not None:
                found.append(Stated(f"bodies.{name}.{key}", name, key, value))
    for name, joint in mechanism.joints.items():
        speed = speeds.get(name, joint.initial_speed)
        if speed is not None and name not in driven:
            found.append(Stated(f"joints.{name}.initial_speed", name, "joint", (float(speed),)))
    return found


def _body(mechanism: Mechanism, name: str) -> Body:
    item = mechanism.bodies[name]
    reason = infeasibility(item.ten_parameters)
    if reason is not None:
        raise DescriptionError(f"{mechanism.name}, bodies.{name}: no such body exists, {reason}.")
    p = turned(jnp.array([1.0, 0.0, 0.0, 0.0]), jnp.asarray(item.orientation, float))
    R = np.asarray(rotation_matrix(p))
    return Body(name, item.ten_parameters, np.column_stack([R, item.position]))


def _joint(name: str, item: MechanismJoint, *, motor: bool) -> Joint:
    spring, friction = _laws(item)
    axis = item.axis or (0.0, 0.0, 1.0)
    child_axis = item.child_axis or axis
    return Joint(
        name,
        item.kind,
        item.parent,
        item.child,
        item.point,
        item.child_point,
        frame_about(axis, item.zero),
        frame_about(child_axis, item.child_zero or item.zero),
        length=item.length,
        motor=motor,
        rotor=item.rotor_inertia or 0.0,
        spring=spring,
        friction=friction,
    )


def _laws(item: MechanismJoint) -> tuple[Spring | None, FrictionLaw | None]:
    """The spring of a joint's axis, and its friction, in which a spring's damping is viscous."""
    elastic: TurningSpring | SlidingSpring | None = item.spring or item.slide_spring
    section = item.friction or item.slide_friction
    law = None if section is None else friction_law(section)
    if elastic is None:
        return None, law
    spring = Spring(jnp.asarray(elastic.stiffness, float), jnp.asarray(elastic.rest, float))
    if elastic.damping:
        zero = jnp.zeros(())
        law = law or FrictionLaw(coulomb=zero, viscous=zero, smoothing_speed=zero + 1)
        law = eqx.tree_at(lambda law: law.viscous, law, law.viscous + elastic.damping)
    return spring, law
