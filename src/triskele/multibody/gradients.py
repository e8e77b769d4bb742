"""Motion in time as a function that can be differentiated, by leaves of the system and the start.

The integrator is that of `integrate.py`. Its steps are differentiated in reverse, from states
that are kept at checkpoints; what chooses their lengths counts as constant, so that a derivative
is that of the steps taken. The start is moved onto the conditions first: a derivative by a
length of the mechanism has in it how the start moves with that length.
"""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from triskele.errors import InputError
from triskele.kinematics.motion import Real
from triskele.multibody.integrate import (
    Actuation,
    Efforts,
    Signal,
    checked_actuation,
    onto_conditions,
    packed,
    projecting,
    solved,
    unpacked,
)
from triskele.multibody.system import State, System


def trajectory(
    system: System,
    start: State,
    times: Float[Array, " N"],
    *,
    efforts: Efforts | None = None,
    signal: Signal | None = None,
    tolerance: Real = 1e-9,
    most_steps: int = 4096,
) -> State:
    """States (stacked) at `times` [s], of which the first is that of `start`.

    As `simulate`, but made of JAX arrays: `jax.grad` goes through it. Where the motion cannot go
    on, or takes more than `most_steps`, states are not a number; `simulate` then gives the reason.
    """
    if times.ndim != 1 or len(times) < 2:
        raise InputError("trajectory needs two times or more, in one list that increases.")
    actuation = checked_actuation(system, efforts, signal)
    times, allowed = jnp.asarray(times, float), jnp.asarray(tolerance, float)
    return _states(system, actuation, start, times, allowed, most_steps)


@eqx.filter_jit
def _states(
    system: System,
    actuation: Actuation,
    start: State,
    times: Array,
    tolerance: Array,
    most_steps: int,
) -> State:
    y = onto_conditions(system, actuation, times[0], packed(start, jnp.zeros(2)))
    found = solved(
        system,
        actuation,
        y,
        times,
        tolerance,
        saveat=diffrax.SaveAt(ts=times),
        solver=projecting(system, actuation),
        adjoint=diffrax.RecursiveCheckpointAdjoint(),
        max_steps=most_steps,
    )
    assert found.ys is not None
    met = found.result == diffrax.RESULTS.successful

    def at(sample: tuple[Array, Array]) -> State:
        return unpacked(system, onto_conditions(system, actuation, *sample))

    safe = jnp.where(met, found.ys, y)
    states = jax.lax.map(at, (times, safe))
    return jax.tree.map(lambda leaf: jnp.where(met, leaf, jnp.nan), states)
