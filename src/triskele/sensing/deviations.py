"""How well a robot file is known: standard deviations of what a virtual sensor rests on.

A file states them as keys that end in `_deviation`. What it does not state has the usual value
below, and counts as assumed; lengths then count as exact, and so does an encoder without bits.
"""

import math
from typing import NamedTuple

from triskele.description.schema import Body, DeltaRobot, Encoders, Payload, Robot
from triskele.errors import UnknownName, did_you_mean
from triskele.sensing.encoder import resolution

USUAL_ZERO = math.radians(0.02)  #: of a zero that was set with a gauge [rad]
USUAL_TIMING = 0.01  #: of channels that one cycle of a bus latches, in samples
USUAL_MODULUS = 0.03  #: of a metal by its name
USUAL_DENSITY = 0.01
USUAL_MASS = 0.02  #: of a platform that nobody weighed
_UNIFORM = math.sqrt(3)  #: half width of a uniform distribution over its standard deviation


class Stated(NamedTuple):
    """A standard deviation."""

    key: str  #: in the robot file
    value: float  #: in SI units
    text: str  #: value and unit, for people
    assumed: bool  #: whether the file does not state it


class Deviations(NamedTuple):
    """Standard deviations, one for each kind of cause."""

    motor_zero: Stated  #: [rad]
    passive_zero: Stated  #: [rad]
    timing: Stated  #: of passive encoders against the motors [s]
    modulus: Stated  #: relative
    density: Stated  #: relative
    platform: Stated  #: all that hangs on the wrists [kg]
    length: Stated  #: of each length of a limb [m]
    motor_count: float  #: of the encoders [rad]; 0: as fine as one likes
    passive_count: float

    @property
    def assumptions(self) -> tuple[Stated, ...]:
        """What the file does not state."""
        return tuple(each for each in self if isinstance(each, Stated) and each.assumed)


def deviations_of(robot: Robot, step: float, payload: Payload | str | None = None) -> Deviations:
    """The deviations of a robot file, for a log with samples `step` [s] apart."""
    given = robot.encoders or Encoders()
    name = getattr(getattr(robot.sections, "rod", None), "material", None)
    material = robot.materials.get(name) if name is not None else None
    length = robot.geometry.length_deviation if isinstance(robot, DeltaRobot) else None
    modulus, density = (
        getattr(material, f"{kind}_deviation", None) for kind in ("young_modulus", "density")
    )
    return Deviations(
        _angle("encoders.motor_zero_deviation", given.motor_zero_deviation),
        _angle("encoders.passive_zero_deviation", given.passive_zero_deviation),
        _scaled("encoders.timing_deviation", given.timing_deviation, USUAL_TIMING * step, "ms"),
        _part(f"materials.{name}.young_modulus_deviation", modulus, USUAL_MODULUS),
        _part(f"materials.{name}.density_deviation", density, USUAL_DENSITY),
        _hanging(robot, payload),
        _scaled("geometry.length_deviation", length, 0.0, "mm"),
        resolution(given.motor_bits),
        resolution(given.passive_bits),
    )


def _angle(key: str, given: float | None) -> Stated:
    value = USUAL_ZERO if given is None else given
    return Stated(key, value, f"{math.degrees(value):.3g} deg", given is None)


def _scaled(key: str, given: float | None, usual: float, unit: str) -> Stated:
    """A time or a length, of which a thousandth of the SI unit is shown."""
    value = usual if given is None else given
    return Stated(key, value, f"{1e3 * value:.3g} {unit}", given is None)


def _part(key: str, given: float | None, usual: float) -> Stated:
    value = usual if given is None else given
    return Stated(key, value, f"{100 * value:.3g} %", given is None)


def _hanging(robot: Robot, payload: Payload | str | None) -> Stated:
    """Of platform and payload together [kg]; the payload is uniform within its tolerance."""
    body = robot.body("platform")
    platform = body if isinstance(body, Body) else None
    given = None if platform is None else platform.mass_deviation
    part = USUAL_MASS if given is None else given
    own = part * (0.0 if platform is None else platform.mass)
    load = _load(robot, payload)
    carried = 0.0 if load is None else load.mass * load.mass_tolerance / _UNIFORM
    return Stated(
        "bodies.platform.mass_deviation",
        math.hypot(own, carried),
        f"{100 * part:.3g} %",
        given is None,
    )


def _load(robot: Robot, payload: Payload | str | None) -> Payload | None:
    if not isinstance(payload, str):
        return payload
    if payload not in robot.payloads:
        hint = did_you_mean(payload, tuple(robot.payloads))
        raise UnknownName(f"{robot.name} has no payload '{payload}'. {hint}")
    return robot.payloads[payload]
