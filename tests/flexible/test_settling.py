"""Settling by modes, against an integration that goes on after the stop."""

import jax.numpy as jnp
import numpy as np
import pytest

from triskele.description.load import load
from triskele.errors import InputError
from triskele.flexible.assembly import Damping
from triskele.flexible.modes import sag
from triskele.flexible.response import Response, vibrate
from triskele.flexible.robot import flexible
from triskele.flexible.settling import settling
from triskele.kinematics.motion import Motion, circle, line

ROBOT = flexible(load("flexible_delta"))
START, END = (0.0, 0.0, -0.5), (0.03, 0.02, -0.5)
RATE, REST = 2000, 1.75  # [Hz], [s]
DAMPING = Damping(2.0, 2e-3)  # 7 % at 20 rad/s
MOTION = line(START, END, duration=0.25, rate=RATE)


def dwelling(motion, seconds):
    """`motion`, and then nothing."""
    n = round(seconds * RATE)
    t = np.concatenate([motion.t, float(motion.t[-1]) + np.arange(1, n + 1) / RATE])
    x = np.concatenate([motion.x, np.tile(np.asarray(motion.x)[-1:], (n, 1))])
    rest = [np.pad(np.asarray(p), ((0, n), (0, 0))) for p in (motion.xd, motion.xdd, motion.xddd)]
    return Motion(*map(jnp.asarray, (t, x, *rest)), coordinates=motion.coordinates)


@pytest.fixture(scope="module")
def stopped() -> Response:
    return vibrate(ROBOT, MOTION, damping=DAMPING)


@pytest.fixture(scope="module")
def after():
    """Times from the stop, and deviation from the sag, by integration."""
    found = vibrate(ROBOT, dwelling(MOTION, REST), damping=DAMPING)
    n = len(MOTION.t) - 1
    return found.t[n:] - found.t[n], found.position[n:] - np.asarray(sag(ROBOT, END).position)[None]


def test_what_follows_the_stop_is_what_an_integration_finds(stopped, after):
    t, deviation = after
    size = np.linalg.norm(deviation, axis=1)
    for tolerance in (size.max() / 2, size.max() / 4, size.max() / 8):
        found = settling(stopped, tolerance)
        assert found.tolerance == tolerance
        assert found.amplitude == pytest.approx(size.max(), rel=0.01)  # 24 samples per period
        last = t[np.flatnonzero(size > tolerance)[-1]]
        assert found.time == pytest.approx(last, abs=found.t[1] + 1 / RATE)
        inside = t <= found.t[-1]
        ours = np.stack([np.interp(t[inside], found.t, d) for d in found.deviation.T], axis=1)
        assert np.allclose(ours, deviation[inside], rtol=0, atol=0.01 * size.max())


def test_it_begins_with_the_last_sample(stopped):
    found = settling(stopped, 1e-4)
    rest = np.asarray(sag(ROBOT, END).position)
    assert found.t[0] == 0
    assert np.allclose(found.deviation[0], stopped.position[-1] - rest, rtol=0, atol=1e-6)
    assert np.linalg.norm(found.deviation[-1]) <= 1e-4


def test_a_wide_tolerance_is_met_at_once(stopped):
    assert settling(stopped, 1.0).time == 0


def scaled(stopped, damping, c=1.0):
    """The same end, `c` times as far from rest, damped in another way."""
    rest = np.asarray(sag(ROBOT, END).y)
    y = rest[None] + c * (stopped.y - rest[None])
    return Response(stopped.motion, ROBOT, damping, y, c * stopped.yd, stopped.torque)


def test_damping_settles_sooner_and_overdamped_modes_creep(stopped):
    times = [settling(scaled(stopped, Damping(a)), 2e-4).time for a in (2.0, 10.0, 40.0)]
    assert times[0] > times[1] > times[2]
    assert settling(scaled(stopped, Damping(4000.0)), 2e-4).time > times[2]


def test_settling_is_linear(stopped):
    once, twice = settling(stopped, 1e-4), settling(scaled(stopped, DAMPING, 2.0), 2e-4)
    assert twice.time == pytest.approx(once.time, abs=1e-3)
    assert twice.amplitude == pytest.approx(2 * once.amplitude, rel=1e-6)


@pytest.mark.parametrize("part", [0.01, 0.5, 0.8, 0.95])
def test_what_is_not_damped_never_settles(stopped, part):
    free = scaled(stopped, Damping())
    swing = settling(free, 1e-4).amplitude
    assert np.isinf(settling(free, part * swing).time)


def test_a_motion_that_goes_on_does_not_settle(stopped):
    turning = circle(START, 0.05, period=1.0, rate=100)
    n = len(turning.t)
    going = Response(
        turning, ROBOT, DAMPING, np.zeros((n, 36)), np.zeros((n, 36)), np.zeros((n, 3))
    )
    with pytest.raises(InputError, match=r"does not stop: it ends at 0\.314 m/s"):
        settling(going, 1e-3)


@pytest.mark.parametrize("tolerance", [0.0, -1e-3, float("nan")])
def test_a_tolerance_is_positive(stopped, tolerance):
    with pytest.raises(InputError, match="it must be positive"):
        settling(stopped, tolerance)
