"""Integration of a controlled plant: Runge and Kutta between the instants of its controllers.

The steps divide the periods of the controllers: what is held is constant within a step, and
the fourth order of the method is kept. The continuous velocity loop joins the plant, its
integral as part of the state s = (y, z); it is frozen while the current is at its limit and
would grow further.
"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from triskele.control.cascade import Cascade
from triskele.control.loop import Loop, velocity_loop
from triskele.control.plant import Plant
from triskele.dynamics.robot import RigidRobot
from triskele.errors import InputError
from triskele.laws.actuators import Actuators
from triskele.numerics import AnyArray

Progress = Callable[[float], None]
_FINE = 0.6  #: |s| dt that is chosen
_ROUGH = 2.0  #: the same, for dry friction at rest
_STABLE = 2.7  #: |s| dt up to which the method bears an oscillation; 2.83 is the limit
_CHUNK = 64  #: periods integrated by one call
_NODES = (0.0, 0.5, 0.5, 1.0)
_WEIGHTS = (1 / 6, 1 / 3, 1 / 3, 1 / 6)


class References(NamedTuple):
    """What the controllers are given at each position period."""

    angle: Float[AnyArray, "K n"]  #: th_c [rad], windup added if it is compensated
    speed: Float[AnyArray, "K n"]  #: fed forward [rad/s]
    current: Float[AnyArray, "K n"]  #: fed forward [A]


class State(NamedTuple):
    """What passes from one period to the next."""

    s: Float[AnyArray, " k"]  #: of the plant, then the integrals of the velocity errors [rad]
    held: Float[AnyArray, " n"]  #: w_c of the last period [rad/s]


class _Numbers:
    """A robot as constants of compiled code: equal to another if all its numbers are.

    Three times as fast as a robot whose numbers are arguments; one compilation for each robot.
    """

    def __init__(self, load: RigidRobot) -> None:
        self.load = jax.tree.map(np.asarray, load)
        leaves, shape = jax.tree.flatten(self.load)
        self.key = shape, tuple(leaf.tobytes() for leaf in leaves)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Numbers) and self.key == other.key


# Time


class Timing(NamedTuple):
    """How time is divided: periods, samples kept in each, steps between samples."""

    period: float  #: of the position loop [s]
    samples: int  #: kept in a period, a multiple of the velocity ticks
    substeps: int  #: of the integration between samples

    @property
    def step(self) -> float:
        """Of the integration [s]."""
        return self.period / (self.samples * self.substeps)


def timing(about: Loop, rubbing: Loop, control: Cascade, step: float | None, rate: float) -> Timing:
    """Division of time for the fastest pole, or for the step that was asked for.

    `rubbing` is `about` with dry friction at rest: that must be stable, and need not be exact.
    """
    if control.position_period is None:
        raise InputError(
            "A continuous position loop has a linear response, but is not simulated: real ones are "
            "sampled. Give a position_period, such as 0.1 ms."
        )
    smooth, dry = (np.abs(_inner_poles(item)).max() for item in (about, rubbing))
    chosen = min(_FINE / smooth, _ROUGH / dry) if step is None else float(step)
    if not (np.isfinite(chosen) and chosen > 0):
        raise InputError(f"step is {chosen:g} s; it must be positive.")
    check_step(chosen, _inner_poles(rubbing))
    period = control.position_period
    samples = control.ticks * max(1, int(np.ceil(period / control.ticks * rate - 1e-9)))
    substeps = max(1, int(np.ceil(period / samples / chosen - 1e-9)))
    return Timing(period, samples, substeps)


def _inner_poles(item: Loop) -> np.ndarray:
    """Of what is integrated: the plant, with its velocity loop if that is continuous."""
    return np.linalg.eigvals(item.plant.A if item.ticks else velocity_loop(item)[0])


def check_step(dt: float, values: np.ndarray) -> None:
    """Refuse a step with which the method would blow up a pole that does not grow itself."""
    steady = values[np.real(values) <= 1e-6]
    z = steady * dt
    grown = np.abs(1 + z + z**2 / 2 + z**3 / 6 + z**4 / 24)
    if (grown <= 1 + 1e-6).all():
        return
    worst = complex(steady[np.argmax(grown)])
    swings = abs(worst.imag) > abs(worst.real)
    what = "coupling mode" if swings else "velocity loop or dry friction"
    raise InputError(
        f"The step of {1e3 * dt:.4g} ms is too large for the {what} at "
        f"{abs(worst) / (2 * np.pi):.4g} Hz: the integration would diverge. Use at most "
        f"{1e3 * _STABLE / abs(worst):.3g} ms, or leave the choice to us."
    )


# Steps


def records(
    model: Plant,
    control: Cascade,
    table: References,
    start: State,
    division: Timing,
    progress: Progress | None = None,
    *,
    many: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """y and currents at all samples; in chunks, so that one compilation serves all durations.

    With `many`, controls, tables and states have a first axis, and so have the results.
    """
    numbers, kept, state, axis = _Numbers(model.load), [], start, int(many)
    advance = _integrated_each if many else _integrated
    step, substeps = jnp.asarray(division.step), jnp.asarray(division.substeps)
    count = table.angle.shape[axis]
    for first in range(0, count, _CHUNK):
        rows = np.minimum(np.arange(first, first + _CHUNK), count - 1)
        part = References(*(jnp.take(column, rows, axis) for column in table))
        fixed = numbers, model.actuators, model.zero
        state, found = advance(*fixed, control, part, state, step, substeps, division.samples)
        kept.append(tuple(np.asarray(item) for item in found))
        if progress is not None:
            progress(min(1.0, (first + _CHUNK) / count))
    y, current = (np.concatenate(parts, axis) for parts in zip(*kept, strict=True))
    flat = (*y.shape[:axis], -1)
    return y.reshape(*flat, y.shape[-1]), current.reshape(*flat, current.shape[-1])


def _advanced(
    numbers: _Numbers,
    drive: Actuators,
    zero: AnyArray,
    control: Cascade,
    table: References,
    start: State,
    step: Array,
    substeps: Array,
    samples: int,
) -> tuple[State, tuple[Array, Array]]:
    """The state after the periods of `table`, and y and currents at their samples."""
    model = Plant(numbers.load, drive, zero)
    n, sampled = model.n, control.velocity_period is not None
    ticks = control.ticks if sampled else 1

    def period(state: State, given: References) -> tuple[State, tuple[Array, Array]]:
        angle, speed, fed = given
        th1, _ = model.motor_angles(state.s[:-n])
        fresh = control.position_gain * (angle - th1) + speed
        w = state.held if control.delay else fresh

        def rates(s: Array, held: Array | None) -> Array:
            current, change = _current(model, control, s, w, fed)
            if held is None:
                return jnp.concatenate([model.rates(s[:-n], current), change])
            return jnp.concatenate([model.rates(s[:-n], held), jnp.zeros(n)])

        def sample(s: Array, held: Array | None) -> tuple[Array, tuple[Array, Array]]:
            now = _current(model, control, s, w, fed)[0] if held is None else held
            after = _stepped(lambda s: rates(s, held), s, step, substeps)
            return after, (s[:-n], now)

        def tick(s: Array, _: None) -> tuple[Array, tuple[Array, Array]]:
            held, change = _current(model, control, s, w, fed) if sampled else (None, None)
            s, kept = jax.lax.scan(lambda s, _: sample(s, held), s, None, length=samples // ticks)
            if change is not None and control.velocity_period is not None:
                s = s.at[-n:].add(control.velocity_period * change)
            return s, kept

        s, kept = jax.lax.scan(tick, jnp.asarray(state.s), None, length=ticks)
        y, current = (part.reshape(samples, -1) for part in kept)
        return State(s, fresh), (y, current)

    return jax.lax.scan(period, start, table)


_integrated = eqx.filter_jit(_advanced)
_EACH = (None, None, None, 0, 0, 0, None, None, None)
_integrated_each = eqx.filter_jit(eqx.filter_vmap(_advanced, in_axes=_EACH))


def _current(
    model: Plant, control: Cascade, s: Array, w: AnyArray, fed: AnyArray
) -> tuple[Array, Array]:
    """The limited current of `cascade` (2), and what its integral grows by."""
    y, z = s[: -model.n], s[-model.n :]
    error = w - model.motor_angles(y)[1]
    wanted = control.velocity_gain * error + control.integral_gain * z + fed
    current = model.actuators.limited(wanted)
    stuck = (wanted != current) & (wanted * error > 0)
    return current, jnp.where(stuck, 0.0, error)


def _stepped(rates: Callable[[Array], Array], s: Array, step: Array, substeps: Array) -> Array:
    """`s` after so many steps of Runge and Kutta; stages in a loop, compiled once."""

    def stage(carry: tuple, node: tuple[Array, Array]) -> tuple[tuple, None]:
        s, k, total = carry
        k = rates(s + node[0] * step * k)
        return (s, k, total + node[1] * k), None

    def one(k: Array, s: Array) -> Array:
        nothing = jnp.zeros_like(s)
        nodes = jnp.asarray(_NODES), jnp.asarray(_WEIGHTS)
        last, _ = jax.lax.scan(stage, (s, nothing, nothing), nodes)
        return s + step * last[2]

    return jax.lax.fori_loop(0, substeps, one, s)
