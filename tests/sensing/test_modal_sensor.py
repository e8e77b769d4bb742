"""The modal sensor against exact beams, patch shapes and the bound of pinned links."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from triskele.description.load import load
from triskele.errors import InputError
from triskele.flexible.link import W1, W, link
from triskele.flexible.robot import flexible
from triskele.sensing.chord import chord_weights
from triskele.sensing.modal import TIP_SLOPE, Measured, modal_sensor
from triskele.sensing.rods import soft_rods

LENGTH = 0.4
PLATEN = flexible(load("omron_mini_delta_platens")).rod_beam
WAVE = float(jnp.sqrt(PLATEN.bending_y / PLATEN.mass)) / LENGTH**2  # rad/s per squared number


def flexibility() -> np.ndarray:
    """Slopes at root and tip of a pinned platen, per force on each of eleven nodes between."""
    whole = link(PLATEN, LENGTH, elements=12)
    nodes = np.r_[0, np.arange(2, 13), 1]
    bending = (6 * nodes[:, None] + np.array([W, W1])).ravel()
    K = np.asarray(whole.K)[np.ix_(bending, bending)]
    free = np.delete(np.arange(26), [0, 24])
    inverse = np.zeros((26, 26))
    inverse[np.ix_(free, free)] = np.linalg.inv(K[np.ix_(free, free)])
    return inverse[[1, 25]][:, 2:24:2]


FLEXIBILITY = flexibility()


def clamped_free(k: int) -> tuple[float, float]:
    """Frequency [rad/s] and tip deflection over length times slope of the exact beam."""
    near = np.pi * (k - 0.5)
    b = brentq(lambda b: np.cos(b) * np.cosh(b) + 1, near - 0.5, near + 0.5)
    s = (np.cos(b) + np.cosh(b)) / (np.sin(b) + np.sinh(b))
    tip = np.cosh(b) - np.cos(b) - s * (np.sinh(b) - np.sin(b))
    slope = np.sinh(b) + np.sin(b) - s * (np.cosh(b) - np.cos(b))
    return WAVE * b**2, tip / (b * slope)


@pytest.mark.parametrize("mode", [1, 2, 3])
def test_many_elements_give_the_exact_clamped_beam(mode):
    slopes = [Measured("slope", place) for place in (1.0, 0.7, 0.4)]
    found = modal_sensor(PLATEN, LENGTH, modes=3, measured=slopes, elements=24)
    frequency, ratio = clamped_free(mode)
    assert float(found.frequencies[mode - 1]) == pytest.approx(frequency, rel=1e-5)
    if mode == 1:
        single = modal_sensor(PLATEN, LENGTH, elements=24)
        assert float(single.tip_ratio[0]) / LENGTH == pytest.approx(ratio, abs=1e-6)
        assert ratio == pytest.approx(0.726477, abs=1e-6)


@pytest.mark.parametrize(
    ("ends", "number"),
    [
        ("pinned-pinned", np.pi),
        ("clamped-clamped", 4.730041),
        ("clamped-pinned", 3.926602),
        ("pinned-clamped", 3.926602),
        ("free-free", 4.730041),
        ("pinned-free", 3.926602),
        ("clamped-guided", 2.365020),
    ],
)
def test_first_frequencies_of_all_ends(ends, number):
    middle = Measured("deflection", 0.4)
    found = modal_sensor(PLATEN, LENGTH, ends=ends, elements=12, measured=[middle], frame="ground")
    assert float(found.frequencies[0]) == pytest.approx(WAVE * number**2, rel=1e-4)


def test_ratios_of_the_pinned_link_are_those_of_a_sine():
    found = modal_sensor(PLATEN, LENGTH, ends="pinned-pinned", elements=12)
    x = np.linspace(0, 1, 13)
    # eta = -L / (2 pi) of the sine turns the tip by one, seen from the root
    rise = (np.sin(np.pi * x) - np.pi * x) / (-2 * np.pi)
    assert np.asarray(found.deflection[:, 0]) / LENGTH == pytest.approx(rise, abs=2e-5)
    slope = (np.cos(np.pi * x) - 1) / -2
    assert np.asarray(found.slope[:, 0]) == pytest.approx(slope, abs=1e-4)


def test_two_modes_seen_by_two_encoders_are_told_apart():
    places = [Measured("slope", 1.0), Measured("deflection", 0.5)]
    both = modal_sensor(PLATEN, LENGTH, measured=places, modes=2, elements=8)
    for mode in (0, 1):
        slopes = [Measured("slope", p) for p in (1.0, 0.6)]
        alone = modal_sensor(PLATEN, LENGTH, measured=slopes, modes=2, elements=8)
        shape = np.asarray(alone.deflection @ jnp.eye(2)[mode])  # some mixture of both modes
        slope = np.asarray(alone.slope @ jnp.eye(2)[mode])
        seen = jnp.asarray([slope[-1], shape[4]])
        assert np.asarray(both.deflections(seen)) == pytest.approx(shape, abs=1e-9)
        assert np.asarray(both.slopes(seen)) == pytest.approx(slope, abs=1e-7)


def test_a_heavy_hub_becomes_a_clamp_and_a_light_one_a_pin():
    ratios = [
        float(modal_sensor(PLATEN, LENGTH, ends="pinned-free", hub_inertia=J).tip_ratio[0])
        for J in (0.0, 1e-4, 1e-2, 1.0, 100.0)
    ]
    assert ratios == sorted(ratios)
    assert ratios[-1] == pytest.approx(float(modal_sensor(PLATEN, LENGTH).tip_ratio[0]), rel=1e-4)


def test_a_heavy_tip_bends_the_clamped_link_as_a_force_there():
    found = modal_sensor(PLATEN, LENGTH, tip_mass=100.0)
    assert float(found.tip_ratio[0]) / LENGTH == pytest.approx(2 / 3, rel=1e-4)


def test_measurements_between_nodes_agree_with_those_at_nodes():
    here = modal_sensor(PLATEN, LENGTH, elements=8, measured=[Measured("deflection", 0.4)])
    there = modal_sensor(PLATEN, LENGTH, elements=20, measured=[Measured("deflection", 0.4)])
    assert float(here.tip_ratio[0]) == pytest.approx(float(there.tip_ratio[0]), rel=1e-5)


@given(st.lists(st.floats(0, 1), min_size=11, max_size=11).filter(lambda p: max(p) > 1e-3))
def test_loads_of_one_sign_keep_pinned_links_between_a_third_and_two_thirds(loads):
    """Random loads at the nodes of our own elements, held by pins; exact for such loads."""
    at_root, at_tip = FLEXIBILITY @ np.array(loads)
    ratio = -at_root / (at_tip - at_root)
    assert 1 / 3 < ratio < 2 / 3


def test_chord_weights_are_exact_for_linear_loads():
    """Slopes under a load that grows along a platen, as many point loads, give its deflection."""
    rods = soft_rods(load("omron_mini_delta_platens"))
    p_B, p_C, n = -2.0, 5.0, 400
    x = (np.arange(n) + 0.5) / n
    p = (p_B + (p_C - p_B) * x) * LENGTH / n
    EI = float(rods.bending)
    t_B = (p * x * (1 - x) * (2 - x)).sum() * LENGTH**2 / (6 * EI)
    t_C = -(p * x * (1 - x) * (1 + x)).sum() * LENGTH**2 / (6 * EI)
    da = -(p_C - p_B) / float(rods.mass)
    for elbow, wrist in ((True, False), (False, True), (True, True)):
        c = chord_weights(rods, elbow=elbow, wrist=wrist)
        delta = float(c.elbow[0] * t_B + c.wrist[0] * t_C - c.gradient[0] * da)
        assert delta == pytest.approx(-LENGTH * t_B, rel=1e-4)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"ends": "clamped"}, "write root-tip"),
        ({"ends": "clampd-free"}, "clamped"),
        ({"frame": "base"}, "frame is 'base'"),
        ({"modes": 2}, "2 modes need as many measurements"),
        ({"modes": 0}, "one mode at least"),
        ({"elements": 1, "ends": "clamped-clamped"}, "cannot move"),
        ({"elements": 1, "modes": 3, "measured": [TIP_SLOPE] * 3}, "Take more elements"),
        ({"measured": [Measured("angle")]}, "'angle' cannot be measured"),
        ({"measured": [Measured("slope", 1.5)]}, "from 0 to 1"),
        ({"measured": [Measured("slope", 0.0)]}, "measure something else"),
        ({"modes": 2, "measured": [TIP_SLOPE] * 2}, "does not tell 2 mode"),
        ({"hub_inertia": -1.0}, "not negative"),
    ],
)
def test_what_cannot_be_is_said(options, sentence):
    with pytest.raises(InputError, match=sentence):
        modal_sensor(PLATEN, LENGTH, **options)
