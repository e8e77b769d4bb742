"""What rules look at: a robot with its mechanism at home, its drives, bodies and weight."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from triskele.description.schema import Body, Robot
from triskele.doctor.solids import Solid
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.laws.drives import Drive, drives
from triskele.numerics import AnyArray

G = 9.80665  #: weight of what a file gives no gravity [m/s^2]


class Case(NamedTuple):
    """A robot at home; SI units."""

    robot: Robot
    mechanism: AbstractMechanism
    x: AnyArray  #: platform coordinates at home
    q: AnyArray  #: joint coordinates there
    size: float  #: of its largest loop [m]
    drives: tuple[Drive, ...]  #: one of each group or table
    solids: tuple[Solid, ...]  #: one of each part
    moving_mass: float  #: of all bodies and the heaviest payload [kg]

    @property
    def weight(self) -> float:
        """Of all that moves [N]; on Earth, if the file has no gravity."""
        return self.moving_mass * (math.hypot(*self.robot.gravity) or G)


def case_of(robot: Robot, mechanism: AbstractMechanism, x: AnyArray, q: AnyArray) -> Case:
    """What rules look at."""
    size = float(mechanism.size)
    solids = tuple(_solids(robot, mechanism, size))
    loads = [load.mass for load in robot.payloads.values()]
    return Case(
        robot,
        mechanism,
        x,
        q,
        size,
        _different(drives(robot, mechanism)),
        solids,
        _moving_mass(robot, mechanism) + max(loads, default=0.0),
    )


def section_of(robot: Robot, body: str, part: str) -> tuple[str, Body | None]:
    """Name and table of a body under [bodies]: its own, or that of its part."""
    name = body if robot.body(body) is not None else part
    return name, robot.body(name)


def _moving_mass(robot: Robot, mechanism: AbstractMechanism) -> float:
    found = (section_of(robot, item.body, item.part)[1] for item in mechanism.parts)
    return sum(section.mass for section in found if section is not None)


def _different(own: tuple[Drive, ...]) -> tuple[Drive, ...]:
    """Drives that the file tells apart: the first of those with the same tables and limits."""
    found: dict[tuple, Drive] = {}
    for drive in own:
        rubbing = drive.friction and tuple(np.asarray(v).item() for v in _laws(drive))
        limits = drive.range, drive.speed, drive.acceleration, drive.jerk, drive.effort_rate
        found.setdefault((drive.place, rubbing, *limits), drive)
    return tuple(found.values())


def _laws(drive: Drive) -> tuple:
    assert drive.friction is not None, "only drives with friction are asked"
    return drive.friction.coulomb, drive.friction.viscous


def _solids(robot: Robot, mechanism: AbstractMechanism, size: float) -> Iterator[Solid]:
    joints = mechanism.joints()
    driven = {joint.child for joint in joints if joint.driven and joint.kind != "prismatic"}
    slender = {strut.body for strut in mechanism.struts}
    flange = float(getattr(robot.geometry, "flange_height", 0.0))
    seen = set()
    base = robot.body("base")
    if base is not None:
        fixed = [joint.point for joint in joints if joint.parent == "base"]
        yield Solid("bodies.base", base.ten_parameters, np.asarray(fixed, float), size)
    for part in mechanism.parts:
        name, section = section_of(robot, part.body, part.part)
        if section is None or name in seen:
            continue
        seen.add(name)
        points = [joint.point for joint in joints if joint.parent == part.body]
        points += [joint.child_point for joint in joints if joint.child == part.body]
        points += [(0.0, 0.0, flange)] if part.body == mechanism.carrier else []
        yield Solid(
            f"bodies.{name}",
            section.ten_parameters,
            np.asarray(points, float).reshape(-1, 3),
            size,
            slender=part.body in slender and part.look in ("rod", "bar"),
            rotor=part.body in driven,
        )
