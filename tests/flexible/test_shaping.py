"""Shapers against an oscillator of our own: what it swings after a motion, by Duhamel."""

from itertools import pairwise

import numpy as np
import pytest

from triskele.description.load import load
from triskele.errors import InputError
from triskele.flexible.assembly import Damping
from triskele.flexible.modes import frequencies_at
from triskele.flexible.response import vibrate
from triskele.flexible.robot import flexible
from triskele.flexible.settling import settling
from triskele.flexible.shaping import compare, shaped, shaper
from triskele.kinematics.motion import line

MOTION = line([0.0, 0.0, -0.5], [0.04, 0.0, -0.5], duration=0.2, rate=2000)
W, RATIO = 25.0, 0.08


def left(motion, w, d=0.0):
    """Amplitude after the end of e'' + 2 d w e' + w^2 e = -x'', at rest before (Duhamel)."""
    t, a = np.asarray(motion.t), np.asarray(motion.xdd)[:, 0]
    damped = w * np.sqrt(1 - d**2)
    kernel = np.exp((d * w + 1j * damped) * (t - t[-1]))
    return np.abs(np.trapezoid(kernel * a, t)) / damped


@pytest.mark.parametrize("kind", ["ZV", "ZVD"])
@pytest.mark.parametrize("ratio", [0.0, RATIO])
def test_a_shaped_motion_leaves_the_oscillator_at_rest(kind, ratio):
    made = shaped(MOTION, shaper(W, ratio, kind))
    assert left(made, W, ratio) < 1e-5 * left(MOTION, W, ratio)


@pytest.mark.parametrize("off", [0.9, 0.98, 1.02, 1.1])
def test_at_other_frequencies_one_swing_is_left_and_with_zvd_its_square(off):
    """Of two equal impulses half a period of W apart the sum at w is cos(pi w / (2 W))."""
    share = abs(np.cos(np.pi * off / 2))
    for kind, expected in (("ZV", share), ("ZVD", share**2)):
        rest = left(shaped(MOTION, shaper(W, 0.0, kind)), off * W) / left(MOTION, off * W)
        assert rest == pytest.approx(expected, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("kind", ["ZV", "ZVD"])
def test_a_shaped_motion_keeps_its_ends_and_its_derivatives(kind):
    made = shaped(MOTION, shaper(W, RATIO, kind))
    impulses = shaper(W, RATIO, kind)
    assert impulses.amplitudes.sum() == pytest.approx(1)
    assert float(made.duration) == pytest.approx(0.2 + impulses.times[-1])
    assert np.array_equal(made.x[0], MOTION.x[0])
    assert np.allclose(made.x[-1], MOTION.x[-1], rtol=0, atol=1e-15)
    assert not np.any(made.xd[0]) and np.allclose(made.xd[-1], 0, atol=1e-12)
    t = np.asarray(made.t)
    orders = [np.asarray(part) for part in (made.x, made.xd, made.xdd, made.xddd)]
    for value, rate in pairwise(orders):
        found = np.gradient(value, t, axis=0)[2:-2]
        assert np.allclose(found, rate[2:-2], rtol=0, atol=0.02 * np.abs(rate).max())
    assert made.coordinates == MOTION.coordinates


def test_impulses_are_half_a_damped_period_apart():
    T = np.pi / (W * np.sqrt(1 - RATIO**2))
    K = np.exp(-RATIO * W * T)
    zv, zvd = shaper(W, RATIO), shaper(W, RATIO, "ZVD")
    assert np.allclose(zv.times, [0, T])
    assert np.allclose(zv.amplitudes, [1 / (1 + K), K / (1 + K)])
    assert np.allclose(zvd.times, [0, T, 2 * T])
    assert np.allclose(zvd.amplitudes, np.convolve(zv.amplitudes, zv.amplitudes))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((20.0, 0.0, "ZDV"), r"There is no shaper 'ZDV'. Did you mean 'ZV'"),
        ((0.0,), "needs a positive frequency"),
        ((20.0, 1.0), "a damping ratio from 0 to 1"),
        ((20.0, -0.1), "a damping ratio from 0 to 1"),
    ],
)
def test_a_shaper_that_cannot_be_is_refused(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        shaper(*arguments)


def test_a_flexible_robot_swings_less_after_a_shaped_motion():
    robot, damping = flexible(load("flexible_delta")), Damping(1.0, 1e-3)
    calls = []
    trials = compare(
        robot,
        {"quick": MOTION},
        damping=damping,
        shapers=("ZV", "ZVD"),
        tolerance=5e-4,
        progress=calls.append,
    )
    assert [trial.name for trial in trials] == ["quick", "quick, ZV", "quick, ZVD"]
    assert calls == pytest.approx([1 / 3, 2 / 3, 1])
    quick, zv, zvd = trials
    assert quick.left > 3 * zv.left
    assert quick.largest > zv.largest > zvd.largest
    w = frequencies_at(robot, np.asarray(MOTION.x)[-1:], count=1)[0, 0]
    half = shaper(w, damping.ratio(w)).times[1]
    assert zv.duration - quick.duration == pytest.approx(half)
    assert zvd.duration - quick.duration == pytest.approx(2 * half)
    alone = settling(vibrate(robot, MOTION, damping=damping), 5e-4)
    assert (quick.left, quick.settled) == pytest.approx((alone.amplitude, 0.2 + alone.time))
