"""Kinematics of the compliant 3PRS.

Ruiz et al., Robotics 11 (2022) 4: lengths of Table 1, formulas of appendix A. The paper prints no
states; those below were computed independently and checked against a multibody program.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from triskele.description.load import load
from triskele.kinematics.build import build
from triskele.kinematics.prs import Prs
from triskele.numerics import batch

ROBOT = build(load("compliant_3prs"))
assert isinstance(ROBOT, Prs)
HOME = jnp.stack(ROBOT.home())
STATE = HOME + jnp.array([0.002, np.radians(1), np.radians(-0.5)])


def test_home():
    assert np.isclose(1e3 * HOME[0], 77.2267, rtol=0, atol=5e-5)
    s = 1e3 * ROBOT.inverse(HOME).checked()
    assert np.allclose(s, 0.3003, rtol=0, atol=5e-5)  # not 0, as the paper has it


def test_sliders_of_the_reference_state():
    s = 1e3 * ROBOT.inverse(STATE).checked()
    assert np.allclose(s, [2.7929, 2.8977, 1.4017], rtol=0, atol=5e-5)
    assert np.abs(ROBOT.forward(s / 1e3).checked() - STATE).max() < 1e-12


def test_passive_angles_of_the_reference_state():
    found = np.degrees(ROBOT.passive(ROBOT.inverse(STATE).components, STATE))
    assert np.allclose(found[:3], [46.8213, 46.8953, 45.8015], rtol=0, atol=5e-5)
    beta = [[2.3256, 0.7040, -0.7102], [2.5152, -0.6561, 0.6633], [-0.3145, -0.0479, 0.0469]]
    assert np.allclose(found[3:].reshape(3, 3), beta, rtol=0, atol=5e-5)


def test_parasitic_motions_of_the_reference_state():
    """Equation (A6): phi from psi and theta, and the shift of the centre."""
    pose = ROBOT.platform_pose(STATE)
    phi = np.arctan2(pose.x[1], pose.y[1])
    assert np.isclose(np.degrees(phi), -0.004363, rtol=0, atol=5e-7)
    psi, theta = np.asarray(STATE[1:])
    c, s = np.cos(phi), np.sin(phi)
    p_x = np.cos(theta) * c + np.sin(psi) * np.sin(theta) * s - np.cos(psi) * c
    b = float(ROBOT.platform_radius[0])
    assert np.allclose(pose.p[:2], [b / 2 * p_x, -b * np.cos(psi) * s], rtol=0, atol=1e-15)


def test_bar_angles_follow_the_sliders_at_home():
    """d alpha_i / d s_i = 12.9489 rad/m, and nothing across legs."""
    s = ROBOT.inverse(HOME).checked()

    def alphas(x):
        return jnp.stack(ROBOT.passive(ROBOT.inverse(x).components, x)[:3])

    by_x = jax.jacfwd(alphas)(HOME)
    sliders_by_x = jax.jacfwd(lambda x: ROBOT.inverse(x).value)(HOME)
    assert s.shape == (3,)
    found = np.asarray(by_x) @ np.linalg.inv(sliders_by_x)
    assert np.allclose(found, 12.9489 * np.eye(3), rtol=0, atol=5e-5)


@pytest.mark.parametrize("height, slider, bar", [(0.002, 2.0532, 1.504), (-0.002, -1.9495, -1.465)])
def test_range_of_a_pure_lift(height, slider, bar):
    x = HOME.at[0].add(height)
    s = 1e3 * (ROBOT.inverse(x).checked() - ROBOT.inverse(HOME).checked())
    alpha = np.degrees(ROBOT.passive(ROBOT.inverse(x).components, x)[:3]) - 45
    assert np.allclose(s, slider, rtol=0, atol=1e-4)
    assert np.allclose(alpha, bar, rtol=0, atol=1e-3)


def test_ranges_over_all_directions_of_one_degree_of_tilt():
    """5 heights, tilts of 0, 0.5 and 1 deg, every 5 deg: slides, bars, flexures, parasites."""
    direction = np.radians(np.arange(0, 360, 5))
    grid = [
        [dz, tilt * np.cos(angle), tilt * np.sin(angle)]
        for dz in np.linspace(-0.002, 0.002, 5)
        for tilt in np.radians([0, 0.5, 1])
        for angle in direction
    ]

    def ranges(x):
        q = ROBOT.inverse(x).components
        pose = ROBOT.platform_pose(x)
        return q, ROBOT.passive(q, x), pose.p[:2], (pose.x[1], pose.y[1])

    q, passive, shift, turn = batch(ranges)(np.asarray(HOME) + np.array(grid))
    s = 1e3 * (np.stack(q) - float(ROBOT.inverse(HOME).value[0]))
    assert np.allclose([s.min(), s.max()], [-2.720, 2.950], rtol=0, atol=2e-3)
    alpha = np.degrees(np.stack(passive[:3])) - 45
    assert np.allclose([alpha.min(), alpha.max()], [-2.06, 2.14], rtol=0, atol=1e-2)
    beta_m = np.degrees(np.stack(passive[3::3]))
    assert np.allclose([beta_m.min(), beta_m.max()], [-3.06, 3.14], rtol=0, atol=1e-2)
    beta_n = np.degrees(np.stack(passive[4::3]))
    assert np.isclose(np.abs(beta_n).max(), 0.707, rtol=0, atol=6e-3)
    assert 1e6 * np.abs(np.stack(shift)).max() <= 3.635
    assert np.degrees(np.abs(np.arctan2(*turn)).max()) * 60 <= 0.2625
