"""A spring's effort is the slope of its energy."""

import jax
import jax.numpy as jnp
import numpy as np

from triskele.laws.springs import Spring

SPRING = Spring(stiffness=jnp.array(98.37), rest=jnp.array(0.25))


def test_energy_and_effort_by_hand():
    spring = Spring(stiffness=jnp.array(8.0), rest=jnp.array(0.5))
    assert np.isclose(spring.energy(jnp.array(2.0)), 9)  # 8 * 1.5^2 / 2
    assert np.isclose(spring.effort(jnp.array(2.0)), 12)
    assert np.isclose(spring.effort(jnp.array(0.0)), -4)


def test_effort_is_the_slope_of_the_energy():
    p = jnp.linspace(-1, 1, 21)
    assert np.allclose(jax.vmap(jax.grad(SPRING.energy))(p), SPRING.effort(p), rtol=1e-13)


def test_at_rest_it_is_free_of_stress():
    assert SPRING.effort(SPRING.rest) == SPRING.energy(SPRING.rest) == 0
