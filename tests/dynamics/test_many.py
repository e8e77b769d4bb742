"""Many simulations at once: against one at a time, and against the order of the method."""

import numpy as np
import pytest

from triskele.description.load import load
from triskele.description.schema import Payload
from triskele.dynamics.handle import torque_function
from triskele.dynamics.many import simulate_many
from triskele.dynamics.robot import rigid
from triskele.dynamics.simulate import ConstantEffort, simulate
from triskele.errors import InputError

OMRON = load("omron_mini_delta")
MODEL = rigid(OMRON)
HOME = np.array([0.0, 0.0, -0.4])
HOLD = torque_function(MODEL)(HOME, np.zeros(3), np.zeros(3))
RANDOM = np.random.default_rng(0)
STARTS = HOME + 0.02 * RANDOM.uniform(-1, 1, (2100, 3))  # more than two blocks
SPEEDS = 0.1 * RANDOM.uniform(-1, 1, (2100, 3))


def alone(model, x, xd, tau, duration):
    return simulate(model, x, xd, ConstantEffort(np.asarray(tau)), duration, tolerance=1e-11).x[-1]


def test_each_run_is_that_of_a_simulation_of_its_own():
    torques = HOLD + 0.05 * RANDOM.uniform(-1, 1, (2100, 3))
    runs = simulate_many(MODEL, STARTS, SPEEDS, torques, 0.1)
    assert runs.x.shape == (2100, 1, 3)
    for k in (0, 1023, 1024, 2099):
        expected = alone(MODEL, STARTS[k], SPEEDS[k], torques[k], 0.1)
        assert np.allclose(runs.x[k, -1], expected, rtol=0, atol=1e-10)
    assert runs.error < 1e-10


def test_the_error_is_of_fourth_order_and_estimated():
    exact = alone(MODEL, STARTS[5], SPEEDS[5], HOLD, 0.2)
    errors = []
    for step in (0.02, 0.01):
        run = simulate_many(MODEL, STARTS[5], SPEEDS[5], HOLD, 0.2, step=step)
        errors.append(np.abs(run.x[0, -1] - exact).max())
        assert run.error == pytest.approx(errors[-1], rel=0.2)
    assert 12 < errors[0] / errors[1] < 20


def test_payloads_differ_from_run_to_run():
    loads = [Payload(mass=m, centre_of_mass=(0.0, 0.0, -0.02)) for m in (0.1, 0.5, 1.0)]
    runs = simulate_many(MODEL, HOME, np.zeros(3), HOLD, 0.1, payloads=loads)
    for load_, found in zip(loads, runs.x[:, -1], strict=True):
        expected = alone(rigid(OMRON, load_), HOME, np.zeros(3), HOLD, 0.1)
        assert np.allclose(found, expected, rtol=0, atol=1e-9)
    assert np.ptp(runs.x[:, -1, 2]) > 1e-3


def test_torques_in_time_are_linear_between_their_rows():
    """A ramp in two rows is the same ramp in eleven, for all runs or for each."""
    ramp = np.linspace(0, 1, 11)[:, None] * np.array([0.1, -0.05, 0.02]) + HOLD
    coarse = simulate_many(MODEL, STARTS[:2], SPEEDS[:2], ramp[::10][None], 0.1, step=1e-3)
    fine = simulate_many(MODEL, STARTS[:2], SPEEDS[:2], ramp, 0.1, step=1e-3)
    each = simulate_many(MODEL, STARTS[:2], SPEEDS[:2], np.stack([ramp, ramp]), 0.1, step=1e-3)
    assert np.allclose(coarse.x, fine.x, rtol=0, atol=1e-14)
    assert np.allclose(each.x, fine.x, rtol=0, atol=1e-14)
    held = simulate_many(MODEL, STARTS[:2], SPEEDS[:2], HOLD, 0.1)
    assert np.abs(held.x - fine.x).max() > 1e-4


def test_samples_are_taken_at_the_rate_and_at_the_end():
    runs = simulate_many(MODEL, STARTS[:3], SPEEDS[:3], HOLD, 0.105, step=1e-3, rate=100)
    assert np.allclose(runs.t, [*np.arange(0, 0.105, 0.01), 0.105])
    assert np.array_equal(runs.x[:, 0], STARTS[:3])
    assert np.array_equal(runs.xd[:, 0], SPEEDS[:3])


def test_progress_reaches_the_end():
    shares = []
    simulate_many(MODEL, STARTS, SPEEDS, HOLD, 0.002, progress=shares.append)
    assert max(shares) == 1


@pytest.mark.parametrize(
    "changed, said",
    [
        ({"x": [0.0, 0.0]}, r"x has the shape \(2,\); 3 numbers"),
        ({"tau": [[[[0.0] * 3]]]}, "tau has the shape"),
        ({"xd": [np.nan, 0.0, 0.0]}, "xd holds a number that is not finite"),
        ({"x": STARTS[:2], "xd": SPEEDS[:3]}, "The runs are 2 or 3"),
        ({"duration": 0.0}, "duration and step must be positive"),
        ({"step": 1.0}, "the step not the longer one"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(changed, said):
    given = {"x": HOME, "xd": np.zeros(3), "tau": HOLD, "duration": 0.01} | changed
    with pytest.raises(InputError, match=said):
        simulate_many(MODEL, **given)
