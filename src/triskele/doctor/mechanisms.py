"""Rules on mechanism files: bodies and joints of any kind, judged against each other."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from triskele.description.mechanism import Mechanism, MechanismJoint
from triskele.doctor.limits import strange_gravity
from triskele.doctor.robots import usual_sizes
from triskele.doctor.solids import Solid, solid_remarks

_GROUND = "ground"
_EARTH = 9.80665


class Scale(NamedTuple):
    """What forces and moments in a mechanism are of the order of."""

    size: float  #: greatest distance of two points of a body [m]
    mass: float  #: of all bodies [kg]
    lightest: float  #: [kg]
    gravity: float  #: [m/s^2]; on Earth, if the file has none

    @property
    def weight(self) -> float:
        """Of all bodies [N]."""
        return self.mass * self.gravity


def mechanism_remarks(mechanism: Mechanism) -> Iterator[str]:
    """Remarks on a mechanism as its file has it, not assembled."""
    scale = scale_of(mechanism)
    yield from usual_sizes(mechanism)
    yield from strange_gravity(mechanism.gravity)
    yield from solid_remarks(_solid(mechanism, name, scale.size) for name in mechanism.bodies)
    for rule in (held, placed, joints, springs, loads):
        yield from rule(mechanism, scale)


def scale_of(mechanism: Mechanism) -> Scale:
    """Size and weight; the size of bodies without two points is where they are placed."""
    spans = [_solid(mechanism, name, 1.0).span for name in mechanism.bodies]
    places = [math.hypot(*body.position) for body in mechanism.bodies.values()]
    masses = [body.mass for body in mechanism.bodies.values()]
    size = max(spans) or max(places) or 1.0
    return Scale(size, sum(masses), min(masses), math.hypot(*mechanism.gravity) or _EARTH)


def _solid(mechanism: Mechanism, name: str, size: float) -> Solid:
    points = []
    for item in (*mechanism.joints.values(), *mechanism.springs.values()):
        points += [item.point] if item.parent == name else []
        points += [item.child_point] if item.child == name else []
    points += [load.point for load in mechanism.loads.values() if load.body == name]
    ten = mechanism.bodies[name].ten_parameters
    return Solid(f"bodies.{name}", ten, np.asarray(points, float).reshape(-1, 3), size)


def held(mechanism: Mechanism, scale: Scale) -> Iterator[str]:
    """Every body has a joint, and some joint is on the ground."""
    ends = {end for item in mechanism.joints.values() for end in (item.parent, item.child)}
    ends |= {end for item in mechanism.springs.values() for end in (item.parent, item.child)}
    for name in mechanism.bodies:
        if ends and name not in ends:
            yield f"bodies.{name}: no joint holds it, and it falls."
    if ends and _GROUND not in ends:
        yield "joints: none is on the ground, and all of it falls."


def placed(mechanism: Mechanism, scale: Scale) -> Iterator[str]:
    """Bodies are placed within some sizes of the mechanism."""
    for name, body in mechanism.bodies.items():
        far = math.hypot(*body.position)
        most = max([scale.size, *(math.hypot(*item.point) for item in _grounded(mechanism))])
        if far > 10 * most:
            yield (
                f"bodies.{name}.position: {far:.3g} m away, in a mechanism of {most:.3g} m. Is the "
                "unit right?"
            )


def _grounded(mechanism: Mechanism) -> Iterator[MechanismJoint]:
    return (item for item in mechanism.joints.values() if item.parent == _GROUND)


def joints(mechanism: Mechanism, scale: Scale) -> Iterator[str]:
    """What motors, springs and friction of a joint do is of the order of weight and size."""
    for name, joint in mechanism.joints.items():
        key, turns = f"joints.{name}", joint.slide_drive is None and joint.kind != "prismatic"
        L = scale.size if turns else 1.0
        limit = scale.weight * L
        for word, value, most in (
            ("torque", joint.torque, 3000 * limit),
            ("force", joint.force, 3000 * limit),
            ("rotor_inertia", joint.rotor_inertia, 2000 * scale.mass * L * L),
            ("length", joint.length, 10 * scale.size),
        ):
            if value is not None and abs(value) > most:
                yield (
                    f"{key}.{word}: {value:.3g}, in a mechanism of {scale.mass:.3g} kg and "
                    f"{scale.size:.3g} m. Is the unit right?"
                )
        yield from _driven(key, joint, scale)
        yield from _sprung(key, joint, scale, L)
        rubbing = joint.friction or joint.slide_friction
        dry = 0.0 if rubbing is None else float(np.max(rubbing.coulomb))
        wet = 0.0 if rubbing is None else float(np.max(rubbing.viscous))
        for word, value in (("coulomb", dry), ("viscous, at 1 /s,", wet)):
            if value > 100 * limit:
                yield f"{key}: {word} takes {value:.3g}, a hundred times what all of it weighs."
        if joint.kind == "distance" and joint.length and joint.length < 1e-3 * scale.size:
            yield f"{key}.length: {joint.length:.2g} m, in a mechanism of {scale.size:.3g} m."


def _driven(key: str, joint: MechanismJoint, scale: Scale) -> Iterator[str]:
    """A prescribed motion that machines make: amplitude, speed and acceleration."""
    drive, slides = joint.drive or joint.slide_drive, joint.slide_drive is not None
    if drive is None:
        return
    unit, L = ("m", scale.size) if slides else ("rad", 1.0)
    w = 2 * math.pi * drive.frequency
    speed = abs(drive.speed) + abs(drive.amplitude) * w
    if abs(drive.amplitude) > 15 * L or abs(drive.start) > 15 * L:
        far = max(abs(drive.amplitude), abs(drive.start))
        yield f"{key}: start or amplitude is {far:.3g} {unit}. Is the unit right?"
    if speed > 3000 * L:
        yield f"{key}: its drive moves at {speed:.3g} {unit}/s. Is the unit right?"
    most = 2e4 if slides else 1e6  # 2000 g; a dentist's drill within a turn
    if drive.frequency > 1000 or abs(drive.amplitude) * w * w > most:
        yield f"{key}: its drive swings at {drive.frequency:.3g} Hz. Is the unit right?"
    if drive.amplitude and not drive.frequency and not drive.phase:
        yield f"{key}: amplitude has no effect without frequency."


def _sprung(key: str, joint: MechanismJoint, scale: Scale, L: float) -> Iterator[str]:
    """A spring with which the bodies swing at 0.001 Hz to 100 kHz."""
    spring = joint.spring or joint.slide_spring
    if spring is not None:
        yield from _swing(key, spring.stiffness, spring.damping, scale, L)
        most = 4 * math.pi if joint.spring is not None else 10 * scale.size
        if abs(spring.rest) > most:
            yield f"{key}: its spring rests at {spring.rest:.3g}. Is the unit right?"


def _swing(key: str, k: float, c: float, scale: Scale, L: float = 1.0) -> Iterator[str]:
    light, all_of_it = scale.lightest * L * L, scale.mass * L * L
    fast, slow = math.sqrt(k / light), math.sqrt(k / all_of_it)
    if k and (fast < 0.006 or slow > 1e5):
        yield f"{key}: a spring on which bodies swing at {(fast + slow) / 12.6:.2g} Hz."
    if c > 200 * math.sqrt(max(k, scale.gravity / scale.size * all_of_it) * all_of_it):
        yield f"{key}: damping is more than a hundred times critical."


def springs(mechanism: Mechanism, scale: Scale) -> Iterator[str]:
    """Springs between points: as long as the mechanism, more or less."""
    for name, spring in mechanism.springs.items():
        yield from _swing(f"springs.{name}", spring.stiffness, spring.damping, scale)
        if not scale.size / 300 < spring.length < 10 * scale.size:
            yield f"springs.{name}.length: {spring.length:.3g} m, in one of {scale.size:.3g} m."


def loads(mechanism: Mechanism, scale: Scale) -> Iterator[str]:
    """Loads are of the order of weight and size."""
    for name, load in mechanism.loads.items():
        force, moment = math.hypot(*load.force), math.hypot(*load.moment)
        if force > 3000 * scale.weight or moment > 3000 * scale.weight * scale.size:
            yield f"loads.{name}: more than three thousand times what all of it weighs."
