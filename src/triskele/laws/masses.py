"""What each body of a robot weighs, and its payload: ten parameters each, checked.

m, m c (3), and xx, yy, zz, xy, yz, xz about the origin of the body's frame, in SI units.
"""

from triskele.description.schema import Body, Payload, Robot
from triskele.errors import DescriptionError, InputError, UnknownName, did_you_mean
from triskele.kinematics.mechanism import AbstractMechanism, Part
from triskele.spatial.inertia import infeasibility

BASE = "base"
_WHY = "dynamics"


def body_parameters(robot: Robot, mechanism: AbstractMechanism) -> dict[str, tuple[float, ...]]:
    """Ten parameters of each moving body: of its own section, or of its part.

    A flange without either weighs nothing: it counts with the platform on which it turns.
    """
    flange = mechanism.carrier if mechanism.flange else ""
    return {part.body: _parameters(robot, part, part.body == flange) for part in mechanism.parts}


def _parameters(robot: Robot, part: Part, flange: bool) -> tuple[float, ...]:
    name = part.body if robot.body(part.body) is not None else part.part
    section = robot.body(name)
    if section is None and flange:
        return (0.0,) * 10
    if section is None:
        section = robot.require(f"bodies.{name}", _WHY)
    assert isinstance(section, Body)
    return existing(section, f"{robot.place}, bodies.{name}")


def existing(section: Body, place: str) -> tuple[float, ...]:
    """Ten parameters of a body that can exist; `place` is named in the error."""
    reason = infeasibility(section.ten_parameters)
    if reason is not None:
        raise DescriptionError(f"{place}: no such body exists, {reason}.")
    return section.ten_parameters


def base_parameters(robot: Robot) -> tuple[float, ...] | None:
    """Ten parameters of the base; None if the file gives it no mass."""
    section = robot.body(BASE)
    return None if section is None else existing(section, f"{robot.place}, bodies.{BASE}")


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
    return (0.0,) * 10 if carried is None else ten_of_payload(carried)


def ten_of_payload(payload: Payload) -> tuple[float, ...]:
    """Ten parameters of a payload that can exist."""
    reason = infeasibility(payload.ten_parameters)
    if reason is not None:
        raise InputError(f"The payload cannot exist: {reason}.")
    return payload.ten_parameters
