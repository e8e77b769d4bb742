"""Bandwidth of the published control, from three sources; and maps of stability.

Numbers are those of the digest of Ruiz et al. (Robotics 11 (2022) 4), section 7.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from triskele.control.bandwidth import (
    Response,
    bandwidth,
    bandwidths,
    linear_response,
    links_left_out,
    servo,
    stability_map,
    stepped_response,
    swept_response,
)
from triskele.control.cascade import FeedForward, cascade
from triskele.control.loop import loop
from triskele.control.plant import linear_plant, plant
from triskele.description.load import load
from triskele.errors import InputError
from triskele.flexible.robot import flexible
from triskele.numerics import stacked

STAGE = load("compliant_3prs")
PLANT, CONTROL = plant(STAGE), cascade(STAGE)
HOME = np.asarray(stacked(PLANT.mechanism.home()))
PRINTED, TENTH = 1.423e-4, 1.423e-5


def with_rotor(J1):
    return eqx.tree_at(lambda p: p.actuators.rotor_inertia, PLANT, jnp.full(3, J1, float))


def with_belt(kt):
    return eqx.tree_at(
        lambda p: (p.actuators.coupling.stiffness, p.actuators.coupling.reverse),
        PLANT,
        (jnp.full(3, kt, float),) * 2,
    )


def unsampled(model, top=30.0):
    about = loop(linear_plant(model, HOME), CONTROL)._replace(period=None)
    return bandwidths(linear_response(model, about, np.linspace(0, top, 1201)), 0.0)


# By hand


def test_minus_three_decibels_of_a_first_order_lag():
    """H = g / (1 + j f / 10): relative at 10 Hz, absolute at 10 sqrt(2 g^2 - 1)."""
    f, g = np.linspace(0, 40, 4001), 0.9
    lag = g / (1 + 1j * f / 10)
    found = bandwidths(Response(f, lag[:, None], ("z",), "linear"), 0.0)[0]
    assert found.gain == pytest.approx(g)
    assert found.relative == pytest.approx(10, rel=1e-6)
    assert found.absolute == pytest.approx(10 * np.sqrt(2 * g * g - 1), rel=1e-6)
    assert found.peak == 1
    assert found.peak_frequency == 0
    # Relative to the gain at 5 Hz, g / sqrt(1.25).
    other = bandwidths(Response(f, lag[:, None], ("z",), "linear"), 5.0)[0]
    assert other.relative == pytest.approx(10 * np.sqrt(1.5), rel=1e-4)
    short = bandwidths(Response(f[:500], lag[:500, None], ("z",), "linear"), 0.0)[0]
    assert short.relative is None


# Numbers of the digest


@pytest.mark.parametrize(
    ("J1", "lift", "tilt", "absolute"),
    [(PRINTED, 15.96, 15.89, (14.83, 12.22)), (TENTH, 11.69, 11.53, (10.42, 7.72))],
    ids=["printed", "tenth"],
)
def test_bandwidth_of_the_stage(J1, lift, tilt, absolute):
    found = servo(with_rotor(J1), CONTROL, HOME)
    z, psi, theta = found.bandwidths
    assert [z.coordinate, psi.coordinate, theta.coordinate] == ["z", "psi", "theta"]
    assert z.relative == pytest.approx(lift, abs=0.02)  # the digest's tolerance is 0.2
    assert [psi.relative, theta.relative] == pytest.approx([tilt] * 2, abs=0.02)
    assert z.absolute == pytest.approx(absolute[0], abs=0.02)
    assert [psi.absolute, theta.absolute] == pytest.approx([absolute[1]] * 2, abs=0.02)
    assert z.gain == pytest.approx(0.946, abs=5e-4)
    assert psi.gain == pytest.approx(0.853, abs=5e-4)
    assert found.growth < 1
    assert found.reference == 0


@pytest.mark.parametrize(
    ("J1", "lift", "tilt"), [(PRINTED, 12.89, 12.78), (TENTH, 9.81, 9.67)], ids=["printed", "tenth"]
)
def test_without_sampling_it_would_be_less(J1, lift, tilt):
    z, psi, _ = unsampled(with_rotor(J1))
    assert z.relative == pytest.approx(lift, abs=0.02)
    assert psi.relative == pytest.approx(tilt, abs=0.02)


def test_a_late_loop_has_more_bandwidth_and_a_peak():
    z = servo(PLANT, cascade(STAGE, delay=1), HOME).bandwidths[0]
    assert z.relative == pytest.approx(20.2, abs=0.1)
    assert z.peak == pytest.approx(1.22, abs=0.01)


def test_a_faster_position_loop():
    z, psi, _ = servo(PLANT, cascade(STAGE, position_period=1e-3), HOME).bandwidths
    assert [z.relative, psi.relative] == pytest.approx([13.5, 13.4], abs=0.06)


@pytest.mark.parametrize(("kt", "expected"), [(0.06, 16.4), (6.1, 15.75)])
def test_belts_hardly_matter(kt, expected):
    """15.75 to 16.4 Hz: the ends of the range over both coordinates."""
    z, psi, _ = servo(with_belt(kt), CONTROL, HOME).bandwidths
    assert min(abs(z.relative - expected), abs(psi.relative - expected)) < 0.1
    assert 15.6 < min(z.relative, psi.relative) <= max(z.relative, psi.relative) < 16.5


def test_the_robot_of_a_file_is_that_plant():
    assert bandwidth(STAGE).bandwidths == servo(PLANT, CONTROL, HOME).bandwidths


# Refused


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(InputError, match=r"top is 100 Hz.* 5 ms.* below 100 Hz"):
        servo(PLANT, CONTROL, HOME, top=100.0)
    with pytest.raises(InputError, match="reference is 90 Hz"):
        servo(PLANT, CONTROL, HOME, top=30.0, reference=90.0)
    with pytest.raises(InputError, match="amplitude is 0 m"):
        servo(PLANT, CONTROL, HOME, method="swept", amplitude=0.0)
    with pytest.raises(InputError, match="position loop is unstable"):
        servo(PLANT, cascade(STAGE, position_gain=600.0), HOME)


# Maps


def test_a_map_shows_the_gain_limit():
    kV = np.array([65.0, 300.0, 510.0, 530.0, 700.0])
    found = stability_map(STAGE, kV, [1.0], simulate=False)
    assert (found.growth[:, 0] < 1).tolist() == [True, True, True, False, False]
    assert found.growth[0, 0] == pytest.approx(0.9612, abs=6e-5)
    assert found.simulated is None


@pytest.mark.long
def test_linear_and_simulated_maps_agree_away_from_the_border():
    found = stability_map(STAGE, np.geomspace(100, 1500, 5), np.array([0.25, 0.5, 1.0, 2.0]))
    clear = np.abs(found.growth - 1) > 0.03
    assert found.simulated is not None
    assert clear.sum() >= 15
    assert ((found.growth < 1) == (found.simulated < 1))[clear].all()
    assert (found.growth[clear] < 1).any()
    assert (found.growth[clear] > 1).any()
    mild = (found.growth > 1.03) & np.isfinite(found.simulated) & (found.growth < 1.2)
    assert np.allclose(found.simulated[mild], found.growth[mild], rtol=0, atol=0.03)


# Three sources


@pytest.mark.long
@pytest.mark.parametrize("J1", [PRINTED, TENTH], ids=["printed", "tenth"])
@pytest.mark.parametrize("measured", [swept_response, stepped_response], ids=["swept", "stepped"])
def test_measured_and_linear_responses_agree(measured, J1):
    """Within 1 % from 1 to 30 Hz, complex; -3 dB within 1 % with the same reference."""
    model = with_rotor(J1)
    found = measured(model, CONTROL, HOME, top=30.0)
    f = found.frequencies
    kept = (f >= 1) & (f <= 30)
    about = loop(linear_plant(model, HOME), CONTROL)
    exact = linear_response(model, about, f[kept])
    off = np.abs(found.values[kept] / exact.values - 1).max()
    print(f"{found.method}: {100 * off:.3f} % at most")
    assert f[kept][0] < 1.1
    assert f[kept][-1] > 29
    assert off < 0.01
    fine = linear_response(model, about, np.linspace(0, 30, 1201))
    measured_at = [item.relative for item in bandwidths(found, f[kept][0])]
    linear_at = [item.relative for item in bandwidths(fine, f[kept][0])]
    assert measured_at == pytest.approx(linear_at, rel=0.01)


@pytest.mark.long
@pytest.mark.parametrize(
    "feed",
    [FeedForward(velocity=True), FeedForward(windup=True), FeedForward(torque=True)],
    ids=["velocity", "windup", "torque"],
)
def test_with_feed_forward_they_agree_too(feed):
    found = stepped_response(PLANT, CONTROL, HOME, feed, top=30.0, count=6)
    about = loop(linear_plant(PLANT, HOME), CONTROL, feed)
    exact = linear_response(PLANT, about, found.frequencies)
    assert np.abs(found.values / exact.values - 1).max() < 0.01


@pytest.mark.long
@pytest.mark.parametrize("change", [{"delay": 1}, {"velocity_period": 1e-3}], ids=str)
def test_with_other_sampling_they_agree_too(change):
    rule = cascade(STAGE, **change)
    found = stepped_response(PLANT, rule, HOME, top=30.0, count=6)
    exact = linear_response(PLANT, loop(linear_plant(PLANT, HOME), rule), found.frequencies)
    assert np.abs(found.values / exact.values - 1).max() < 0.01


# Links that bend


def test_links_that_bend_are_said_to_be_left_out():
    """Of the IRB 360 its rods swing first, by themselves; gears are the loop's, not theirs."""
    irb, x = load("abb_irb360_6_1600"), np.array([0.2, 0.1, -0.95, 0.0])
    found = links_left_out(irb, x, "plate")
    assert found is not None
    rod = flexible(irb).rod_beam
    alone = np.pi / 2 * np.sqrt(float(rod.bending_y) / float(rod.mass))  # pinned, 1 m long
    assert found.links == pytest.approx(alone, rel=0.1)
    assert found.platform is not None
    assert found.platform > 2 * found.links
    geared = load("geared_delta")
    rigid = geared.model_copy(update={"motors": None})
    assert links_left_out(geared) == links_left_out(rigid)
    assert links_left_out(STAGE) is None
