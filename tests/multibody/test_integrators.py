"""Three integrators on small systems whose motion is known."""

import jax.numpy as jnp
import numpy as np
import pytest

from triskele.errors import InputError
from triskele.laws.friction import FrictionLaw
from triskele.laws.springs import Spring
from triskele.multibody.adams import adams
from triskele.multibody.generalised_alpha import generalised_alpha
from triskele.multibody.integrate import Constant, simulate
from triskele.multibody.joints import Body, Joint, frame_about, system

UP = frame_about((0.0, 0.0, 1.0))
BLOCK = (2.0, 0.0, 0.0, 0.0, 0.01, 0.01, 0.01, 0.0, 0.0, 0.0)


def block(stiffness, damping=0.0):
    """2 kg on a vertical slide with a motor and a spring that is slack at 0."""
    zero = jnp.zeros(())
    law = FrictionLaw(coulomb=zero, viscous=zero + damping, smoothing_speed=zero + 1)
    slide = Joint(
        "slide",
        "prismatic",
        "ground",
        "block",
        frame=UP,
        child_frame=UP,
        motor=True,
        spring=Spring(jnp.asarray(stiffness), zero),
        friction=law,
    )
    return system("block", [Body("block", BLOCK, np.eye(3, 4))], [slide], size=0.1)


def fall(t, stiffness):
    """Height of the block, let go where the spring is slack [m]."""
    rate = np.sqrt(stiffness / 2.0)
    return -2.0 * 9.81 / stiffness * (1 - np.cos(rate * t))


@pytest.mark.long
def test_all_of_them_follow_an_oscillation():
    model, start = block(200.0)
    runs = (
        simulate(model, start, 1.0, rate=20.0, tolerance=1e-10),
        adams(model, start, 1.0, rate=20.0, tolerance=1e-10),
        generalised_alpha(model, start, 1.0, step=5e-4, every=100, spectral_radius=1.0),
    )
    for run, tolerance in zip(runs, (1e-8, 1e-8, 1e-4), strict=True):
        assert run.ended is None
        assert len(run.t) == 21
        assert np.allclose(run.q[:, 0], fall(run.t, 200.0), rtol=0, atol=tolerance)
        assert np.allclose(run.origins[:, 0, 2], run.q[:, 0], rtol=0, atol=1e-12)
        assert run.gap.max() < 1e-13


@pytest.mark.long
def test_generalised_alpha_is_of_order_2():
    model, start = block(200.0)
    errors = []
    for every in (50, 100):
        run = generalised_alpha(model, start, 1.0, step=0.05 / every, every=every)
        errors.append(np.abs(run.q[:, 0] - fall(run.t, 200.0)).max())
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)


def test_generalised_alpha_steps_over_a_stiff_spring():
    """Steps of 50 periods: the oscillation is gone, the spring rests under the weight."""
    stiffness = 2e9
    model, start = block(stiffness)
    run = generalised_alpha(model, start, 1.0, step=1e-2, spectral_radius=0.2)
    assert run.ended is None
    assert 1e-2 > 50 * 2 * np.pi / np.sqrt(stiffness / 2.0)
    assert run.q[-1, 0] == pytest.approx(-2.0 * 9.81 / stiffness, rel=1e-3)


def test_work_and_heat_are_counted():
    model, start = block(200.0, damping=3.0)
    push = Constant(jnp.array([30.0]))
    runs = (
        simulate(model, start, 1.0, efforts=push, rate=20.0),
        adams(model, start, 1.0, efforts=push, rate=20.0, tolerance=1e-9),
    )
    for run in runs:
        assert run.work[-1] == pytest.approx(30.0 * run.q[-1, 0], rel=1e-6)
        assert run.lost[-1] > 0.1
        assert run.imbalance < 1e-7


def test_senseless_requests_are_refused():
    model, start = block(200.0)
    with pytest.raises(InputError, match="takes efforts="):
        simulate(model, start, 1.0, signal=lambda t: jnp.zeros(1))
    with pytest.raises(InputError, match="duration and rate must be positive"):
        simulate(model, start, -1.0)
    with pytest.raises(InputError, match="step must be positive"):
        generalised_alpha(model, start, 1.0, step=2.0)
