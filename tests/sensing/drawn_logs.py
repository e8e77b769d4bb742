"""Logs of an independent simulation, spoilt by errors that are drawn, and files that declare them.

The truth is Exudyn's Delta with platens (`studies/virtual_sensor.py`), beams of another program.
"""

import math
from typing import NamedTuple

import numpy as np

from triskele.description.schema import DeltaRobot, Encoders, Robot
from triskele.description.tables import Table
from triskele.kinematics.log import derivatives
from triskele.sensing.sense import Sensed
from triskele.sensing.trial import EDGE, Truth
from triskele.studies.virtual_sensor import reference, robot

LONG = reference().delta
ROBOT = robot()


class Declared(NamedTuple):
    """Standard deviations that a file states."""

    zero: float = 0.0  #: [rad]
    modulus: float = 0.0
    density: float = 0.0
    bits: int | None = None
    timing: float = 0.0  #: [s]


def part(start: int, count: int) -> Truth:
    """Samples of the simulation, with times that begin at zero."""
    cut = Truth(*(values[start : start + count] for values in LONG))
    return cut._replace(t=cut.t - cut.t[0])


def described(declared: Declared, modulus: float = 1.0, density: float = 1.0) -> Robot:
    """The robot with rods of another modulus and density, and declared deviations."""
    assert isinstance(ROBOT, DeltaRobot)
    assert ROBOT.bodies is not None
    made = ROBOT.materials["aluminium"]
    material = made.model_copy(
        update={
            "young_modulus": made.young_modulus * modulus,
            "density": made.density * density,
            "young_modulus_deviation": declared.modulus,
            "density_deviation": declared.density,
        }
    )
    rod = ROBOT.bodies.rod
    parts = {
        "rod": rod.model_copy(update={"mass": rod.mass * density}),
        "platform": ROBOT.bodies.platform.model_copy(update={"mass_deviation": 0.0}),
    }
    encoders = Encoders(
        motor_bits=declared.bits,
        passive_bits=declared.bits,
        motor_zero_deviation=declared.zero,
        passive_zero_deviation=declared.zero,
        timing_deviation=declared.timing,
    )
    return ROBOT.model_copy(
        update={
            "materials": {"aluminium": material},
            "bodies": ROBOT.bodies.model_copy(update=parts),
            "encoders": encoders,
        }
    )


class Drawn(NamedTuple):
    """A log with errors, and what they are."""

    truth: Truth
    log: Table
    robot: Robot
    zeros: dict[str, np.ndarray]  #: [rad]
    modulus: float  #: of the truth, relative to the file


def drawn(random: np.random.Generator, declared: Declared, count: int) -> Drawn:
    """Somewhere in the simulation, with normal errors of the declared deviations."""
    truth = part(int(random.integers(0, len(LONG.t) - count)), count)
    zeros = {name: declared.zero * random.normal(size=3) for name in ("q", "wrist")}
    late = declared.timing * random.normal(size=3)
    moved = {name: getattr(truth, name) + zero for name, zero in zeros.items()}
    moved["wrist"] = moved["wrist"] - late * np.gradient(truth.wrist, truth.t, axis=0)
    read = truth._replace(**moved)
    modulus, density = (1 + size * random.normal() for size in (declared.modulus, declared.density))
    log = read.log(bits=declared.bits, motor_bits=declared.bits)
    return Drawn(truth, log, described(declared, modulus, density), zeros, 1 / modulus)


def covered(truth: Truth, found: Sensed) -> np.ndarray:
    """Shares of samples within two deviations: deflection, speed, acceleration, tool."""
    inner = slice(EDGE, -EDGE)
    rates = derivatives(truth.deflection, float(truth.t[1] - truth.t[0]), 5)
    errors = (
        found.deflection - truth.deflection,
        found.speed - rates[0],
        found.acceleration - rates[1],
        found.tool - truth.tool,
    )
    deviations = (
        found.deflection_deviation,
        found.speed_deviation,
        found.acceleration_deviation,
        found.tool_deviation,
    )
    return np.array(
        [
            np.mean(np.abs(error[inner]) <= 2 * size[inner])
            for error, size in zip(errors, deviations, strict=True)
        ]
    )


ZERO = math.radians(0.02)
DECLARED = Declared(zero=ZERO, modulus=0.1, density=0.1)
