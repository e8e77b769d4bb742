"""The sensor sample by sample, against the one for whole logs and against another program."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from drawn_logs import DECLARED, described, drawn

from triskele.errors import InputError
from triskele.sensing.sense import sense
from triskele.sensing.stream import streaming_sensor

NOW = drawn(np.random.default_rng(11), DECLARED._replace(bits=20), 300)


def columns(name: str) -> np.ndarray:
    return np.stack([NOW.log.column(f"{name}{i}", "rad") for i in (1, 2, 3)], axis=1)


@pytest.fixture(scope="module")
def streamed():
    """All samples in one program of a user, with its own `jit` around the sensor's loop."""
    sensor = streaming_sensor(NOW.robot, 1e-3)

    @jax.jit
    def mine(q, wrist):
        def step(buffer, sample):
            buffer, *found = sensor.update(buffer, *sample)
            return buffer, found

        return jax.lax.scan(step, sensor.start(), (q, wrist))[1]

    found, deviation = mine(jnp.asarray(columns("q")), jnp.asarray(columns("wrist")))
    return sensor, found, deviation


@pytest.mark.long
def test_it_says_what_the_sensor_of_whole_logs_says(streamed):
    sensor, found, deviation = streamed
    whole = sense(NOW.robot, NOW.log, "chord")
    assert sensor.lag == 10
    late, inner = slice(sensor.lag + 40, None), slice(40, -sensor.lag)
    size = np.abs(whole.deflection).max()
    assert np.abs(found.deflection[late] - whole.deflection[inner]).max() < 2e-3 * size
    assert np.abs(found.tool[late] - whole.tool[inner]).max() < 1e-8
    # the same causes, by derivatives here and by reading again there; counts are white here
    for name, tolerance in (("deflection", 0.02), ("tool", 0.02), ("speed", 0.4)):
        ours = np.asarray(getattr(deviation, name))[late]
        theirs = getattr(whole, f"{name}_deviation")[inner]
        assert np.median(ours / theirs) == pytest.approx(1.0, abs=tolerance)


@pytest.mark.long
def test_its_deviations_cover(streamed):
    sensor, found, deviation = streamed
    lag = sensor.lag
    for name in ("deflection", "tool"):
        error = np.asarray(getattr(found, name))[30:] - getattr(NOW.truth, name)[30 - lag : -lag]
        share = np.mean(np.abs(error) <= 2 * np.asarray(getattr(deviation, name))[30:])
        assert share > 0.6  # one draw of zeros
    rate = np.gradient(NOW.truth.deflection, 1e-3, axis=0)[30 - lag : -lag]
    error = np.asarray(found.speed)[30:] - rate
    assert np.mean(np.abs(error) <= 2 * np.asarray(deviation.speed)[30:]) > 0.9


@pytest.mark.long
def test_nothing_is_said_until_the_buffer_is_full(streamed):
    sensor, found, _ = streamed
    rows = sensor.of_motors.shape[2]
    assert np.isnan(found.deflection[: rows - 1]).all()
    assert np.isfinite(found.deflection[rows - 1 :]).all()


@pytest.mark.long
def test_less_lag_is_noisier_and_no_less_right():
    robot = described(DECLARED._replace(bits=20))
    q, wrist = (jnp.asarray(columns(name)) for name in ("q", "wrist"))
    spreads = []
    for lag in (0, 10):
        sensor = streaming_sensor(robot, 1e-3, lag=lag)
        buffer = sensor.start()._replace(q=q[100:121], wrist=wrist[100:121])
        _, found, deviation = eqx.filter_jit(sensor.update)(buffer, q[121], wrist[121])
        error = found.deflection - NOW.truth.deflection[121 - lag]
        assert (jnp.abs(error) < 4 * deviation.deflection).all()
        spreads.append(deviation.speed)
    assert (spreads[0] > 2 * spreads[1]).all()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({"window": 4}, "5, 7, 9"), ({"lag": 30}, "from 0 to 10"), ({"lag": -1}, "from 0 to 10")],
)
def test_windows_and_lags_that_cannot_be_are_named(options, sentence):
    with pytest.raises(InputError, match=sentence):
        streaming_sensor(NOW.robot, 1e-3, **options)
