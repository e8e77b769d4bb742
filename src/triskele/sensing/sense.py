"""From a log of encoders to deflections, their rates, and the position of the tool.

    modal       the lowest mode of a rod with given ends, from one slope (`modal.py`)
    chord       hinges against the chord of the rod (`chord.py`)
    observer    a filter on the first mode, with or without hinges (`observer.py`)

Deviations say how far the resolution of the encoders lets one know a value, the model being right:
they are propagated through the derivatives of the sensor itself; those of the observer are the
filter's own.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from triskele.description.schema import Encoders, Payload, Robot
from triskele.description.tables import Table
from triskele.errors import InputError, TableError, UnknownName, did_you_mean
from triskele.flexible.robot import flexible
from triskele.kinematics.log import Log, derivatives, log_from_table, odd_window
from triskele.numerics import Scalars, tabulate
from triskele.sensing.chord import Hinges, Weights, chord_weights, deflections, wrist_slopes
from triskele.sensing.encoder import deviation, propagated
from triskele.sensing.modal import modal_sensor
from triskele.sensing.observer import USUAL, Tuning, forced_motion, observed, rod_inputs
from triskele.sensing.rods import RodState, SoftRods, rod_angles, rod_state, soft_rods
from triskele.sensing.tool import tool_position

SENSORS = ("modal", "chord", "observer")
_PART_OF_SWING = 2.0  #: [rad] of a rod's own vibration, the longest window that still sees it
_MOST_BENT = 0.1  #: of its length, where beams stop being linear
_FAR = 0.2  #: a hinge that differs by more from where its rod stands was read wrongly [rad]
Series = Float[np.ndarray, "N 3"]


class Sensed(NamedTuple):
    """What a sensor made of a log; one column per limb, or x, y, z."""

    t: Float[np.ndarray, " N"]  #: [s]
    sensor: str
    deflection: Series  #: of the wrist from the tangent at the elbow [m]
    speed: Series  #: its rate [m/s]
    acceleration: Series  #: [m/s^2]
    deflection_deviation: Series  #: standard deviation [m]
    tool: Series  #: position of the platform [m]
    tool_deviation: Series  #: [m]
    rigid: Series  #: where it would be if nothing bent [m]
    tension: Series  #: mean of a rod of each limb [N]

    def to_table(self) -> Table:
        """All of it, with units."""
        groups = {
            "delta": ("m", self.deflection),
            "deltad": ("m/s", self.speed),
            "deltadd": ("m/s^2", self.acceleration),
            "delta_deviation": ("m", self.deflection_deviation),
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
) -> Sensed:
    """Deflection, speed, acceleration and tool position along a `log` of `robot`.

    The log has q1 to q3, and, of encoders on passive joints, wrist1 to wrist3 or elbow1 to
    elbow3, all in rad (`chord.Hinges` says from where they count). `ends` are those of the "modal"
    sensor, `window` the samples that derivatives are taken from. Not `encoders`: the observer runs
    by the motors alone.
    """
    if sensor not in SENSORS:
        raise UnknownName(f"No sensor is called '{sensor}'. {did_you_mean(sensor, SENSORS)}")
    rods = soft_rods(robot, payload)
    given = log_from_table(log, rods.mechanism, window) if isinstance(log, Table) else log
    state = _states(rods, given)
    window = window or odd_window(_PART_OF_SWING / float(rods.frequency.max()) / given.step)
    _check_buckling(rods, given, _columns(state.tension))
    hinges = _hinges(given, state) if encoders else {}
    fine = _Fineness.of(robot)
    if sensor == "observer":
        bent = _observed(rods, given, state, hinges, tuning, fine)
    else:
        if not hinges:
            raise TableError(
                f"{given.table.place}: there is no column 'wrist1' or 'elbow1'; the {sensor} "
                "sensor needs encoders on passive joints. The observer runs without."
            )
        weights = (
            _modal_weights(robot, rods, ends, hinges)
            if sensor == "modal"
            else chord_weights(rods, elbow="elbow" in hinges, wrist="wrist" in hinges)
        )
        bent = _read(rods, weights, given, state, hinges, fine, window)
    _check_bending(rods, given, bent.deflection)
    tool = tabulate(eqx.Partial(_tool, rods, closure))
    arguments = given.q, _columns(state.tension), bent.deflection
    places = np.stack(tool(*arguments), axis=1)
    spread = tabulate(eqx.Partial(_tool_spread, rods, closure, fine.motor))
    deviations = np.stack(spread(*arguments, bent.deviation), axis=1)
    rigid = np.stack(state.x[:3], axis=1)
    return Sensed(given.t, sensor, *bent, places, deviations, rigid, _columns(state.tension))


class _Bent(NamedTuple):
    """As in `Sensed`."""

    deflection: Series
    speed: Series
    acceleration: Series
    deviation: Series


class _Fineness(NamedTuple):
    """Standard deviations of encoders [rad]; arrays, so that others are not recompiled."""

    motor: Float[Array, ""]
    passive: Float[Array, ""]

    @classmethod
    def of(cls, robot: Robot) -> "_Fineness":
        given = robot.encoders or Encoders()
        bits = (given.motor_bits, given.passive_bits)
        return cls(*(jnp.asarray(deviation(count)) for count in bits))


def _columns(limbs: Scalars) -> Series:
    return np.stack([np.asarray(limb) for limb in limbs], axis=1)


# By hinges


def _read(
    rods: SoftRods,
    weights: Weights,
    log: Log,
    state: RodState,
    hinges: dict[str, Series],
    fine: _Fineness,
    window: int,
) -> _Bent:
    read = Hinges(**{name: tuple(values.T) for name, values in hinges.items()})
    delta = _columns(deflections(weights, state, tuple(log.q.T), read))
    law = eqx.Partial(_spread, rods, weights, tuple(hinges), fine)
    deviations = tabulate(law)(log.q, *hinges.values())
    return _Bent(delta, *derivatives(delta, log.step, window), _columns(deviations))


def _spread(
    rods: SoftRods,
    weights: Weights,
    names: tuple[str, ...],
    fine: _Fineness,
    q: Scalars,
    *read: Scalars,
) -> Scalars:
    """Standard deviations of deflections, from those of the encoders."""
    still = (jnp.zeros_like(q[0]),) * 3

    def of(values: Scalars) -> Scalars:
        now, rest = values[: len(q)], values[len(q) :]
        angle, cosine = rod_angles(rods.mechanism, now)
        state = RodState(still, angle, cosine, still, still, still)
        parts = {name: rest[3 * k : 3 * k + 3] for k, name in enumerate(names)}
        return deflections(weights, state, now, Hinges(**parts))

    angles = tuple(angle for part in read for angle in part)
    sizes = (fine.motor,) * len(q) + (fine.passive,) * len(angles)
    return propagated(of, (*q, *angles), sizes)


def _modal_weights(robot: Robot, rods: SoftRods, ends: str, hinges: dict[str, Series]) -> Weights:
    """Tip deflection of a mode, seen from the root, per slope as it is measured."""
    if "wrist" not in hinges:
        raise InputError("The modal sensor needs encoders at the wrists: columns wrist1 to wrist3.")
    beam, lengths = flexible(robot).rod_beam, np.asarray(rods.mechanism.rod_length)
    ratios = jnp.stack([modal_sensor(beam, float(d), ends=ends).tip_ratio[0] for d in lengths])
    if "elbow" in hinges:
        return Weights(-ratios, ratios, jnp.zeros(3))
    if ends != "pinned-pinned":
        raise InputError(
            f"A {ends} rod is seen from the tangent at its elbow: the log needs elbow1 to elbow3 "
            "as well. Rods of a Delta are pinned-pinned."
        )
    # a slope seen from the chord is less by the turn of the chord itself
    return Weights(jnp.zeros(3), ratios / (1 - ratios / lengths), jnp.zeros(3))


# By an observer


def _observed(
    rods: SoftRods,
    log: Log,
    state: RodState,
    hinges: dict[str, Series],
    tuning: Tuning,
    fine: _Fineness,
) -> _Bent:
    slopes, spread = None, 0.0
    if "wrist" in hinges:
        read = Weights(jnp.zeros(3), jnp.ones(3), jnp.zeros(3))  # the slope itself
        law = eqx.Partial(_spread, rods, read, ("wrist",), fine)
        spread = float(_columns(tabulate(law)(log.q, hinges["wrist"])).max())
        slopes = jnp.asarray(_columns(wrist_slopes(state, tuple(hinges["wrist"].T))))
    parts = (state.cosine, state.elbow, state.wrist, state.tension)
    inputs = rod_inputs(rods, *(jnp.asarray(_columns(part)) for part in parts))
    traced = Tuning(*(jnp.asarray(part, float) for part in tuning))
    start = jnp.asarray(forced_motion(rods, inputs, log.step))
    numbers = jnp.asarray(log.step), start, slopes, traced, jnp.asarray(spread)
    eta = (np.pi * np.asarray(part) for part in observed(rods, inputs, *numbers))
    eta, rate, bend, sigma = eta
    rest = np.asarray(inputs.rest)
    rest_rate, rest_bend = derivatives(rest, log.step)
    return _Bent(rest - eta, rest_rate - rate, rest_bend - bend, sigma)


# What every sensor needs


def _states(rods: SoftRods, log: Log) -> RodState:
    """What the rods feel, a column for each limb; the sentence if loops cannot be closed."""
    if np.abs(log.q[:, :3]).max() > np.pi:
        row, limb = np.unravel_index(np.abs(log.q[:, :3]).argmax(), (len(log.t), 3))
        raise TableError(
            f"{log.table.place}, row {row + 1}, column 'q{limb + 1}': {log.q[row, limb]:.4g} rad "
            "is more than half a turn, where no arm can stand. Are these degrees?"
        )
    margin = np.asarray(tabulate(eqx.Partial(_margin, rods))(log.q))
    if (margin < 0).any():
        row = int(np.argmax(margin < 0))
        q = ", ".join(f"{value:.4g}" for value in log.q[row])
        raise TableError(
            f"{log.table.place}, row {row + 1}, columns 'q1' to 'q3': with motors at {q} rad the "
            "rods do not reach the platform. Are units, signs and zeros right?"
        )
    return tabulate(eqx.Partial(rod_state, rods))(log.q, log.qd, log.qdd)


def _check_buckling(rods: SoftRods, log: Log, tension: Series) -> None:
    """Raise the sentence if a rod is pushed by more than Euler's load, or cannot swing at all."""
    if rods.damping >= 1:
        raise InputError(
            f"The damping ratio of the rods is {rods.damping:g}: they would not swing at all. It "
            "is below 1, for metal about 0.01."
        )
    d = np.asarray(rods.mechanism.rod_length)
    most = np.pi**2 * float(rods.bending) / d**2 * (1 - rods.damping**2)
    used = -tension / most
    if not np.isfinite(used).all() or used.max() >= 1:
        row, limb = np.unravel_index(np.nan_to_num(used, nan=np.inf).argmax(), used.shape)
        raise InputError(
            f"{log.table.place}, row {row + 1}: the rod of limb {limb + 1} is pushed by "
            f"{-tension[row, limb]:.4g} N and buckles at {most[limb]:.4g} N. Are payload, units, "
            "section and accelerations right?"
        )


def _check_bending(rods: SoftRods, log: Log, delta: Series) -> None:
    d = np.asarray(rods.mechanism.rod_length)
    part = np.abs(delta) / d
    if not (part < _MOST_BENT).all():
        row, limb = np.unravel_index(np.nan_to_num(part, nan=np.inf).argmax(), part.shape)
        raise TableError(
            f"{log.table.place}, row {row + 1}: the rod of limb {limb + 1} would bend by "
            f"{delta[row, limb]:.4g} m and is {d[limb]:.4g} m long. Are angles, accelerations and "
            "units right?"
        )


def _margin(rods: SoftRods, q: Scalars) -> Array:
    return jnp.asarray(rods.mechanism.forward(q).margin)


def _hinges(log: Log, state: RodState) -> dict[str, Series]:
    """Columns of passive encoders, if they are near to where their rods stand."""
    found = {}
    for name, to in (("elbow", "its arm"), ("wrist", "the platform")):
        read = log.columns(name, 3, "rad")
        if read is None:
            continue
        expected = _columns(state.angle) - (log.q[:, :3] if name == "elbow" else 0.0)
        gap = np.abs(read - expected)
        if gap.max() > _FAR:
            row, limb = np.unravel_index(gap.argmax(), gap.shape)
            raise TableError(
                f"{log.table.place}, row {row + 1}, column '{name}{limb + 1}': "
                f"{read[row, limb]:.4g} rad, where the rod stands at {expected[row, limb]:.4g} rad "
                f"to {to}: no rod bends by that much. Are unit, sign and zero right?"
            )
        found[name] = read
    return found


def _tool(rods: SoftRods, closure: str, q: Scalars, tension: Scalars, delta: Scalars) -> Scalars:
    return tool_position(rods, q, delta, tension, closure)[:3]


def _tool_spread(
    rods: SoftRods,
    closure: str,
    motor: Float[Array, ""],
    q: Scalars,
    tension: Scalars,
    delta: Scalars,
    deviations: Scalars,
) -> Scalars:
    """Standard deviations, from those of the motors' encoders and of the deflections."""

    def of(values: Scalars) -> Scalars:
        return _tool(rods, closure, values[:-3], tension, values[-3:])

    return propagated(of, (*q, *delta), (motor,) * len(q) + deviations)
