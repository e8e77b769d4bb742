"""Derivatives of a motion, against differences, a law, and a sentence where there are none."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from linkages import double_pendulum, four_bar

from triskele.errors import InputError
from triskele.multibody import assembled, simulate, trajectory
from triskele.multibody.system import origins

TIMES = jnp.linspace(0.0, 0.4, 3)


def swung(system, start, masses, rate):
    """Where the rocker of the four-bar is in the end, its crank begun with `rate` [rad/s]."""
    changed = eqx.tree_at(lambda s: s.mass, system, masses)
    moving = start._replace(w=start.w.at[0, 2].set(rate))
    return trajectory(changed, moving, TIMES, tolerance=1e-11).r[-1, 1, 0]


@pytest.mark.long
def test_gradients_of_a_loop_agree_with_differences():
    """By masses, and by a speed at the start, which the joints hand on to the other bodies."""
    system, guess = four_bar(2.0)
    start = assembled(system, guess)
    masses, rate = system.mass, jnp.asarray(1.0)
    value = jax.jit(lambda m, w: swung(system, start, m, w))
    slopes = jax.jit(jax.grad(value, argnums=(0, 1)))(masses, rate)
    h = 1e-4
    for k in range(3):
        step = jnp.asarray(np.where(np.arange(3) == k, h, 0.0))
        difference = (value(masses + step, rate) - value(masses - step, rate)) / (2 * h)
        assert abs(difference) > 1e-4
        assert np.isclose(slopes[0][k], difference, rtol=1e-5, atol=1e-9)
    difference = (value(masses, rate + h) - value(masses, rate - h)) / (2 * h)
    assert abs(difference) > 1e-3
    assert np.isclose(slopes[1], difference, rtol=1e-5)


@pytest.mark.long
def test_states_are_those_of_simulate():
    system, start = double_pendulum((1.0, 0.5), (0.6, 0.4), (0.5, -0.2))
    run = simulate(system, start, 0.4, rate=5.0)
    states = trajectory(system, start, jnp.asarray(run.t))
    assert np.allclose(states.r, run.states.r, rtol=0, atol=1e-9)
    assert np.allclose(jax.vmap(lambda s: origins(system, s))(states), run.origins, atol=1e-9)


def test_simulate_itself_says_what_to_differentiate():
    system, start = double_pendulum((1.0, 0.5), (0.6, 0.4), (0.5, -0.2))

    def energy(masses):
        changed = eqx.tree_at(lambda s: s.mass, system, masses)
        return simulate(changed, start, 0.1).kinetic[-1]

    with pytest.raises(
        InputError, match=r"has no derivatives; differentiate multibody\.trajectory"
    ):
        jax.grad(energy)(system.mass)
