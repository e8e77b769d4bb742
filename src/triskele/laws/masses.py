"""What each body of a robot weighs, and its payload: ten parameters each, checked.

m, m c (3), and xx, yy, zz, xy, yz, xz about the origin of the body's frame, in SI units.
"""

import re

from triskele.description.schema import Body, Payload, Robot
from triskele.errors import DescriptionError, InputError, UnknownName, did_you_mean
from triskele.spatial.inertia import infeasibility

_WHY = "dynamics"


def body_parameters(robot: Robot, name: str) -> tuple[float, ...]:
    """Ten parameters of the body `name`; a flange that is part of the platform weighs nothing."""
    part = re.sub(r"_\d[ab]?$", "", name)
    section = getattr(robot.bodies, part, None)
    if section is None and part == "end_effector":
        return (0.0,) * 10
    section = robot.require(f"bodies.{part}", _WHY)
    assert isinstance(section, Body)
    reason = infeasibility(section.ten_parameters)
    if reason is not None:
        raise DescriptionError(f"{robot.name}, bodies.{part}: no such body exists, {reason}.")
    return section.ten_parameters


def named_payload(robot: Robot, payload: Payload | str | None) -> Payload | None:
    """`payload` itself, or the one of the file that has this name."""
    if not isinstance(payload, str):
        return payload
    if payload not in robot.payloads:
        known = did_you_mean(payload, robot.payloads) if robot.payloads else "It has none."
        raise UnknownName(f"{robot.name} has no payload '{payload}'. {known}")
    return robot.payloads[payload]


def payload_parameters(robot: Robot, payload: Payload | str | None) -> tuple[float, ...]:
    """Ten parameters of a payload, or of one of the file's by its name; zeros if there is none."""
    carried = named_payload(robot, payload)
    if carried is None:
        return (0.0,) * 10
    reason = infeasibility(carried.ten_parameters)
    if reason is not None:
        raise InputError(f"The payload cannot exist: {reason}.")
    return carried.ten_parameters
