"""A sensor as one function of all that it rests on: rods, motors and hinges in, deflections out.

Whatever is uncertain is an argument here, so that it can be moved and everything computed again
(`spread.py`), or fitted (`fit.py`).
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from triskele.errors import InputError
from triskele.kinematics.log import Log, derivatives
from triskele.numerics import Scalars, tabulate
from triskele.sensing.chord import Hinges, Weights, chord_weights, deflections, wrist_slopes
from triskele.sensing.observer import (
    Estimate,
    RodInputs,
    Tuning,
    forced_motion,
    observed,
    rod_inputs,
)
from triskele.sensing.rods import RodState, SoftRods, rod_state
from triskele.sensing.tool import tool_position

Series = Float[np.ndarray, "N 3"]


class Inputs(NamedTuple):
    """What a sensor rests on."""

    rods: SoftRods
    log: Log
    hinges: dict[str, Series]  #: "elbow", "wrist" of `chord.Hinges` [rad]
    window: int | None  #: samples that rates of motors are taken from

    def with_angles(self, q: Float[np.ndarray, "N n"]) -> "Inputs":
        """Other readings of the motors [rad], and rates where these are taken from them."""
        log, table = self.log, self.log.table
        qd, qdd = log.qd, log.qdd
        if "qd1" not in table:
            rates = derivatives(q, log.step, self.window)
            qd, qdd = rates[0], (qdd if "qdd1" in table else rates[1])
        return self._replace(log=log._replace(q=q, qd=qd, qdd=qdd))


class Read(NamedTuple):
    """What it makes of that."""

    deflection: Series  #: [m]
    speed: Series  #: [m/s]
    acceleration: Series  #: [m/s^2]
    tool: Series  #: [m]


class Reading(NamedTuple):
    """Which sensor, and how it reads."""

    sensor: str  #: one of `sense.SENSORS`
    modal: Weights | None  #: of the modal sensor
    closure: str
    window: int  #: samples that rates of deflections are taken from
    tuning: Tuning
    noise: float  #: standard deviation of a wrist encoder, for the observer [rad]

    def read(self, inputs: Inputs) -> Read:
        """Deflections, their rates, and the tool."""
        state = states(inputs)
        if self.sensor == "observer":
            bent = self.filtered(inputs, state).bent
        else:
            delta = columns(
                deflections(
                    self.weights(inputs),
                    state,
                    tuple(inputs.log.q.T),
                    Hinges(**{name: tuple(read.T) for name, read in inputs.hinges.items()}),
                )
            )
            bent = (delta, *derivatives(delta, inputs.log.step, self.window))
        return Read(*bent, self.tool(inputs, state, bent[0]))

    def weights(self, inputs: Inputs) -> Weights:
        """Of the slopes, for the chord sensor those of the rods there are."""
        if self.modal is not None:
            return self.modal
        return chord_weights(
            inputs.rods, elbow="elbow" in inputs.hinges, wrist="wrist" in inputs.hinges
        )

    def tool(self, inputs: Inputs, state: RodState, deflection: Series) -> Series:
        """Position with rods bent by `deflection` [m]."""
        law = eqx.Partial(_tool, inputs.rods, self.closure)
        found = tabulate(law)(inputs.log.q, columns(state.tension), deflection)
        return np.stack(found, axis=1)

    def filtered(self, inputs: Inputs, state: RodState) -> "Filtered":
        """By the observer, with the wrists if there are any."""
        given = loads(inputs.rods, state)
        slopes = None
        if "wrist" in inputs.hinges:
            slopes = jnp.asarray(columns(wrist_slopes(state, tuple(inputs.hinges["wrist"].T))))
        found = first_modes(inputs, given, slopes, self.tuning, self.noise)
        rest = np.asarray(given.rest)
        rate, bend = derivatives(rest, inputs.log.step)
        of_eta = (np.pi * np.asarray(part) for part in found)
        eta, eta_rate, eta_bend, *own = of_eta
        return Filtered((rest - eta, rate - eta_rate, bend - eta_bend), (own[0], own[1], own[2]))


class Filtered(NamedTuple):
    """What the observer finds, and the deviations of its own filter."""

    bent: tuple[Series, Series, Series]
    deviations: tuple[Series, Series, Series]


def loads(rods: SoftRods, state: RodState) -> RodInputs:
    """What the rods feel, as the observer takes it."""
    parts = (state.cosine, state.elbow, state.wrist, state.tension)
    return rod_inputs(rods, *(jnp.asarray(columns(part)) for part in parts))


def first_modes(
    inputs: Inputs,
    given: RodInputs,
    slopes: Float[jnp.ndarray, "N 3"] | None,
    tuning: Tuning,
    noise: float,
) -> Estimate:
    """eta along a log, by the filter."""
    step = inputs.log.step
    traced = Tuning(*(jnp.asarray(part, float) for part in tuning))
    start = jnp.asarray(forced_motion(inputs.rods, given, step))
    return observed(
        inputs.rods, given, jnp.asarray(step), start, slopes, traced, jnp.asarray(noise)
    )


def states(inputs: Inputs) -> RodState:
    """What the rods feel along a log."""
    log = inputs.log
    return tabulate(eqx.Partial(rod_state, inputs.rods))(log.q, log.qd, log.qdd)


def columns(limbs: Scalars) -> Series:
    """A column for each limb."""
    return np.stack([np.asarray(limb) for limb in limbs], axis=1)


def _tool(rods: SoftRods, closure: str, q: Scalars, tension: Scalars, delta: Scalars) -> Scalars:
    return tool_position(rods, q, delta, tension, closure)[:3]


def needed(hinges: dict[str, Series], sensor: str, ends: str) -> None:
    """Raise the sentence if the modal sensor misses an encoder."""
    if sensor != "modal":
        return
    if "wrist" not in hinges:
        raise InputError("The modal sensor needs encoders at the wrists: columns wrist1 to wrist3.")
    if "elbow" not in hinges and ends != "pinned-pinned":
        raise InputError(
            f"A {ends} rod is seen from the tangent at its elbow: the log needs elbow1 to elbow3 "
            "as well. Rods of a Delta are pinned-pinned."
        )
