"""All branches: two elbows per leg, and all ways to close the loops with locked motors."""

import jax.numpy as jnp
import numpy as np

from triskele.kinematics.delta import Delta
from triskele.kinematics.modes import closing, working_modes
from triskele.kinematics.prs import Prs
from triskele.numerics import batch

# With R = r, L = 3, d = 5 each limb is a 3-4-5 triangle: arms level, platform 4 m below.
TRIANGLE = Delta.symmetric(base_radius=1.0, platform_radius=1.0, arm_length=3.0, rod_length=5.0)
BELOW = jnp.array([0.0, 0.0, -4.0])
a, b, L = 0.125137, 0.04761, 0.109215
TILTING = Prs.symmetric(base_radius=a, platform_radius=b, bar_length=L)


def test_a_level_arm_may_point_outwards_or_inwards():
    modes = working_modes(TRIANGLE, BELOW)
    assert len(modes) == 8
    for mode, solution in modes.items():
        expected = [0 if sign == 1 else np.pi for sign in mode]
        assert np.allclose(np.abs(solution.checked()), expected, atol=1e-14)


def test_all_working_modes_close_the_loops_and_are_different():
    x = jnp.array([0.7, -0.4, -4.5])
    found = [solution.checked() for solution in working_modes(TRIANGLE, x).values()]
    assert all(np.allclose(TRIANGLE.closure(q, x), 0, atol=1e-13) for q in found)
    assert len({tuple(np.round(np.asarray(q), 6)) for q in found}) == 8


def test_sliders_of_a_3prs_lean_its_bars_in_or_out():
    x = jnp.stack(TILTING.home())
    for mode, solution in working_modes(TILTING, x).items():
        assert np.allclose(solution.checked(), a - b - np.array(mode) * L / np.sqrt(2), atol=1e-15)


def test_only_candidates_that_close_are_kept_and_each_once():
    q = jnp.zeros(3)
    candidates = np.array([[0, 0, -4], [0, 0, 4], [0, 0, -4 + 1e-9], [0, 1, -4], [0, 0, 4.0]])
    assert np.array_equal(closing(TRIANGLE, q, candidates), candidates[:2])
    assert closing(TRIANGLE, q, candidates[3:4]).shape == (0, 3)


def test_assembly_modes_at_home_repeat_every_third_of_a_turn():
    """The sliders are at one distance: tilted platforms come in threes, with equal tilt."""
    q = TILTING.inverse(TILTING.home()).checked()
    modes = np.asarray(TILTING.assembly_modes(q))
    level = np.abs(modes[:, 1:]).max(axis=1) < 1e-9
    assert np.allclose(np.sort(modes[level, 0]), [-L / np.sqrt(2), L / np.sqrt(2)], atol=1e-12)
    tilted = modes[~level & (modes[:, 0] > 0)]
    assert len(tilted) == 3
    assert np.allclose(tilted[:, 0], tilted[0, 0], atol=1e-9)
    normal = np.stack(batch(lambda x: TILTING.platform_pose(x).z)(tilted), axis=1)
    assert np.allclose(normal[:, 2], normal[0, 2], atol=1e-9)
    direction = np.sort(np.degrees(np.arctan2(normal[:, 1], normal[:, 0])))
    assert np.allclose(np.diff(direction), 120, atol=1e-6)


def test_slider_positions_without_the_built_mode_may_have_others():
    modes = np.asarray(TILTING.assembly_modes(jnp.array([0.01, 0.02, -0.01])))
    assert len(modes) == 4
    loops = batch(lambda x: TILTING.closure((0.01, 0.02, -0.01), x))(modes)
    assert np.abs(loops).max() < 1e-9 * L**2
    assert np.allclose(np.sort(modes[:, 0]), np.sort(-modes[:, 0]), atol=1e-9)
