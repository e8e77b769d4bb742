"""Forces at the sliders of the compliant 3PRS, as Exudyn's rigid bodies with springs have them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from exudyn_3prs import Case, platform, slider_forces

from triskele.description.load import load
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import rigid
from triskele.numerics import tabulate

pytestmark = pytest.mark.oracle

TILT = float(np.radians(2.0))
CASES = {
    "up and down": Case((2e-3, 0.0, 0.0)),
    "around": Case((0.5e-3, TILT, TILT), (0.3, 0.0, np.pi / 2)),
}


def our_forces(t, case):
    """Inverse dynamics of the file, its motors left out."""
    robot = rigid(load("compliant_3prs").model_copy(update={"motors": None}), friction=False)

    def position(t):
        return platform(t, case, jnp)

    def orders(t):
        one = jnp.ones_like(t)
        speed = lambda t: jax.jvp(position, (t,), (one,))[1]  # noqa: E731
        return position(t), *jax.jvp(speed, (t,), (one,))

    states = [np.asarray(part) for part in jax.lax.map(orders, jnp.asarray(t))]

    def one(x, xd, xdd):
        return inverse_dynamics(robot, x, xd, xdd)

    return np.stack(tabulate(one)(*states), axis=-1)


@pytest.mark.parametrize("name", CASES)
def test_forces_at_half_a_hertz(name):
    case = CASES[name]
    t, theirs = slider_forces(case)
    kept = t > case.ramp + 0.05  # after the ramp, and what its end excites in the solver
    ours = our_forces(t[kept], case)
    off = np.abs(ours - theirs[kept]).max() / np.abs(ours).max()
    print(f"{name}: up to {np.abs(ours).max():.1f} N, off by {off:.1e} of it")
    assert np.abs(ours).max() > 30
    assert off < 1e-6


def test_inertia_shows_at_20_hertz():
    case = Case((0.1e-3, 2e-3, 2e-3), (0.3, 0.0, np.pi / 2), 20.0, 0.05, 0.15, 5e-5)
    t, theirs = slider_forces(case)
    kept = t > case.ramp + 0.01
    ours = our_forces(t[kept], case)
    off = np.abs(ours - theirs[kept]).max() / np.abs(ours).max()
    print(f"20 Hz: up to {np.abs(ours).max():.1f} N, off by {off:.1e} of it")
    assert off < 1e-4
