"""Working and assembly modes, against what can be seen by hand."""

import jax.numpy as jnp
import numpy as np

from triskele.kinematics.delta import Delta
from triskele.kinematics.modes import working_modes
from triskele.kinematics.prs import Prs

# With R = r, L = 3, d = 5 a leg is a 3-4-5 triangle: arms level, platform 4 m below.
TRIANGLE = Delta.symmetric(base_radius=1.0, platform_radius=1.0, arm_length=3.0, rod_length=5.0)
BELOW = jnp.array([0.0, 0.0, -4.0])
STAGE = Prs.symmetric(base_radius=0.125137, platform_radius=0.04761, bar_length=0.109215)


def test_a_delta_has_eight_working_modes_and_elbows_point_outwards_or_inwards():
    modes = working_modes(TRIANGLE, BELOW)
    assert len(modes) == 8
    for mode, solution in modes.items():
        q = np.asarray(solution.checked())
        # The other elbow is level too, pointing through the axis: q = pi.
        assert np.allclose(np.cos(q), mode, atol=1e-12)
        assert np.abs(np.asarray(TRIANGLE.closure(q, BELOW))).max() < 1e-12


def test_a_delta_hangs_below_or_stands_above():
    modes = np.asarray(TRIANGLE.assembly_modes(jnp.zeros(3)))
    assert np.allclose(modes, [[0.0, 0.0, -4.0], [0.0, 0.0, 4.0]], atol=1e-12)


def test_a_delta_that_cannot_close_has_no_assembly_mode():
    short = Delta.symmetric(base_radius=1.0, platform_radius=0.1, arm_length=3.0, rod_length=2.0)
    assert short.assembly_modes(jnp.zeros(3)).shape == (0, 3)


def test_a_stage_rests_on_rising_bars_or_hangs_on_falling_ones():
    s = STAGE.inverse(STAGE.home()).value
    modes = np.asarray(STAGE.assembly_modes(s))
    z = float(STAGE.home()[0])
    for level in (z, -z):
        assert np.abs(modes - [level, 0.0, 0.0]).max(axis=1).min() < 1e-9


def test_all_modes_of_a_tilted_stage_close_and_mirror_each_other():
    x = jnp.array([0.0792, 0.0175, -0.0087])
    s = STAGE.inverse(x).value
    modes = np.asarray(STAGE.assembly_modes(s))
    assert len(modes) >= 4
    for mode in modes:
        assert np.abs(np.asarray(STAGE.closure(s, mode))).max() < 1e-12
        # Turned upside down in the plane of the sliders, a mode is a mode.
        assert np.abs(modes + mode).max(axis=1).min() < 1e-7
    assert np.abs(modes - np.asarray(x)).max(axis=1).min() < 1e-9


def test_bars_of_a_stage_lean_inwards_or_outwards():
    modes = working_modes(STAGE, STAGE.home())
    inwards, outwards = modes[(1, 1, 1)].value, modes[(-1, -1, -1)].value
    # s differs by twice the bar's horizontal span, 2 L cos 45.
    assert np.allclose(np.asarray(outwards - inwards), 0.109215 * np.sqrt(2), atol=1e-12)
