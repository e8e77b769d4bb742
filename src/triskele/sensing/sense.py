"""From a log of encoders to deflections, their rates, and the position of the tool.

    modal       the lowest mode of a rod with given ends, from one slope (`modal.py`)
    chord       hinges against the chord of the rod (`chord.py`)
    observer    a filter on the first mode, with or without hinges (`observer.py`)

Standard deviations come from what the robot file says about its encoders, lengths and materials
(`deviations.py`), and from the method (`spread.py`).
"""

import math
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from triskele.description.schema import Payload, Robot
from triskele.description.tables import Table
from triskele.errors import TableError, UnknownName, did_you_mean
from triskele.flexible.robot import flexible
from triskele.kinematics.log import Log, log_from_table, odd_window
from triskele.numerics import Scalars, tabulate
from triskele.sensing.checks import (
    check_bending,
    check_buckling,
    check_reach,
    checked_hinges,
)
from triskele.sensing.chord import Hinges, Weights, deflections
from triskele.sensing.deviations import Deviations, deviations_of
from triskele.sensing.encoder import propagated
from triskele.sensing.faults import Delays, check_held, faults
from triskele.sensing.fit import Fit, fitted
from triskele.sensing.modal import modal_sensor
from triskele.sensing.observer import USUAL, Tuning
from triskele.sensing.reading import Inputs, Read, Reading, Series, columns, needed, states
from triskele.sensing.rods import RodState, SoftRods, rod_angles, soft_rods
from triskele.sensing.spread import Contribution, Spread, spread, systematic

SENSORS = ("modal", "chord", "observer")
_PART_OF_SWING = 2.0  #: [rad] of a rod's own vibration, the longest window that still sees it


class Sensed(NamedTuple):
    """What a sensor made of a log; one column per limb, or x, y, z."""

    t: Float[np.ndarray, " N"]  #: [s]
    sensor: str
    deflection: Series  #: of the wrist from the tangent at the elbow [m]
    speed: Series  #: its rate [m/s]
    acceleration: Series  #: [m/s^2]
    tool: Series  #: position of the platform [m]
    rigid: Series  #: where it would be if nothing bent [m]
    tension: Series  #: mean of a rod of each limb [N]
    deflection_deviation: Series  #: standard deviation [m]
    speed_deviation: Series  #: [m/s]
    acceleration_deviation: Series  #: [m/s^2]
    tool_deviation: Series  #: [m]
    contributions: tuple[Contribution, ...]  #: to the deviations, largest first
    deviations: Deviations  #: of the robot file, or assumed
    fit: Fit | None  #: zeros and parameters found from the log
    remarks: tuple[str, ...]  #: on the log

    def to_table(self) -> Table:
        """All of it, with units."""
        groups = {
            "delta": ("m", self.deflection),
            "deltad": ("m/s", self.speed),
            "deltadd": ("m/s^2", self.acceleration),
            "delta_deviation": ("m", self.deflection_deviation),
            "deltad_deviation": ("m/s", self.speed_deviation),
            "deltadd_deviation": ("m/s^2", self.acceleration_deviation),
            "N": ("N", self.tension),
        }
        found: dict = {"t": ("s", self.t)}
        for name, (unit, values) in groups.items():
            found |= {f"{name}{i + 1}": (unit, values[:, i]) for i in range(3)}
        for name, values in (("", self.tool), ("_deviation", self.tool_deviation)):
            found |= {f"{axis}{name}": ("m", values[:, i]) for i, axis in enumerate("xyz")}
        return Table(found, "what was sensed")


def sense(
    robot: Robot,
    log: Table | Log,
    sensor: str = "chord",
    payload: Payload | str | None = None,
    *,
    ends: str = "pinned-pinned",
    closure: str = "corrected",
    window: int | None = None,
    tuning: Tuning = USUAL,
    encoders: bool = True,
    fit: tuple[str, ...] = (),
    deviations: bool = True,
) -> Sensed:
    """Deflection, speed, acceleration and tool position along a `log` of `robot`.

    The log has q1 to q3, and, of encoders on passive joints, wrist1 to wrist3 or elbow1 to
    elbow3, all in rad (`chord.Hinges` says from where they count). `ends` are those of the "modal"
    sensor, `window` the samples that derivatives are taken from. Not `encoders`: the observer runs
    by the motors alone. `fit` "zeros", "E" or both finds them from the log first. Without
    `deviations`, these are NaN, and it takes a tenth of the time.
    """
    if sensor not in SENSORS:
        raise UnknownName(f"No sensor is called '{sensor}'. {did_you_mean(sensor, SENSORS)}")
    rods = soft_rods(robot, payload)
    given = log_from_table(log, rods.mechanism, window) if isinstance(log, Table) else log
    known = deviations_of(robot, given.step, payload)
    inputs, remarks, late = _checked(rods, given, known, window, encoders=encoders)
    fit_of_log = fitted(inputs, known, fit) if fit else None
    if fit_of_log is not None:
        inputs = fit_of_log.applied(inputs)
    reading = _reading(robot, inputs, sensor, ends, closure, window, tuning, known)
    state = states(inputs)
    found = reading.read(inputs)
    check_bending(rods, given, found.deflection)
    own = (
        _spread(reading, inputs, found, known, fit_of_log, late) if deviations else _unknown(found)
    )
    return Sensed(
        given.t,
        sensor,
        *found,
        np.stack(state.x[:3], axis=1),
        columns(state.tension),
        *own,
        known,
        fit_of_log,
        remarks,
    )


def _checked(
    rods: SoftRods, log: Log, known: Deviations, window: int | None, *, encoders: bool
) -> tuple[Inputs, tuple[str, ...], Delays]:
    """The log as a sensor takes it, remarks on it, and delays that were found in it [s]."""
    check_held(log, known)
    check_reach(rods, log)
    inputs = Inputs(rods, log, {}, window)
    state = states(inputs)
    check_buckling(rods, log, columns(state.tension))
    if encoders:
        inputs = inputs._replace(hinges=checked_hinges(log, state))
    remarks, late = faults(inputs, known.timing.value)
    return inputs, remarks, late


def _reading(
    robot: Robot,
    inputs: Inputs,
    sensor: str,
    ends: str,
    closure: str,
    window: int | None,
    tuning: Tuning,
    known: Deviations,
) -> Reading:
    rods, log, hinges = inputs.rods, inputs.log, inputs.hinges
    window = window or odd_window(_PART_OF_SWING / float(rods.frequency.max()) / log.step)
    modal, noise = None, 0.0
    if sensor == "observer":
        noise = _slope_noise(inputs, known) if "wrist" in hinges else 0.0
    elif not hinges:
        raise TableError(
            f"{log.table.place}: there is no column 'wrist1' or 'elbow1'; the {sensor} "
            "sensor needs encoders on passive joints. The observer runs without."
        )
    if sensor == "modal":
        needed(hinges, sensor, ends)
        modal = _modal_weights(robot, rods, ends, both="elbow" in hinges)
    return Reading(sensor, modal, closure, window, tuning, noise)


def _spread(
    reading: Reading,
    inputs: Inputs,
    found: Read,
    known: Deviations,
    fit: Fit | None,
    late: Delays,
) -> Spread:
    causes = systematic(inputs, known, late)
    if fit is not None:
        causes = fit.instead_of(causes, inputs)
    return spread(reading, inputs, found, known, causes)


def _unknown(found: Read) -> Spread:
    nothing = np.full_like(found.deflection, np.nan)
    return Spread(nothing, nothing, nothing, nothing, ())


def _modal_weights(robot: Robot, rods: SoftRods, ends: str, *, both: bool) -> Weights:
    """Tip deflection of a mode, seen from the root, per slope as it is measured."""
    beam, lengths = flexible(robot).rod_beam, np.asarray(rods.mechanism.rod_length)
    ratios = jnp.stack([modal_sensor(beam, float(d), ends=ends).tip_ratio[0] for d in lengths])
    if both:
        return Weights(-ratios, ratios, jnp.zeros(3))
    # a slope seen from the chord is less by the turn of the chord itself
    return Weights(jnp.zeros(3), ratios / (1 - ratios / lengths), jnp.zeros(3))


# The noise that the observer believes in


def _slope_noise(inputs: Inputs, known: Deviations) -> float:
    """Largest standard deviation of the slope at a wrist, from counts of the encoders [rad]."""
    sizes = tuple(jnp.asarray(n / math.sqrt(12)) for n in (known.motor_count, known.passive_count))
    law = eqx.Partial(_slope_spread, inputs.rods, sizes)
    return float(columns(tabulate(law)(inputs.log.q, inputs.hinges["wrist"])).max())


def _slope_spread(rods: SoftRods, sizes: Scalars, q: Scalars, wrist: Scalars) -> Scalars:
    still = (jnp.zeros_like(q[0]),) * 3
    slope = Weights(jnp.zeros(3), jnp.ones(3), jnp.zeros(3))

    def of(values: Scalars) -> Scalars:
        now, read = values[: len(q)], values[len(q) :]
        angle, cosine = rod_angles(rods.mechanism, now)
        state = RodState(still, angle, cosine, still, still, still)
        return deflections(slope, state, now, Hinges(wrist=read))

    return propagated(of, (*q, *wrist), (sizes[0],) * len(q) + (sizes[1],) * 3)
