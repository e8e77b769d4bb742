"""Kinematics of the Omron mini Delta.

Bengoa et al., Sensors 17 (2017) 1934: lengths of Table 1, frames of equations (33) and (34). The
home position and the ranges were computed independently.
"""

import jax.numpy as jnp
import numpy as np
import pytest

from triskele.description.load import load
from triskele.kinematics.build import build
from triskele.numerics import batch


@pytest.mark.parametrize("name", ["omron_mini_delta", "omron_mini_delta_platens"])
def test_home_with_level_arms(name):
    robot = build(load(name))
    x = robot.forward(jnp.zeros(3)).checked()
    assert np.allclose(x, [0, 0, -0.34044], rtol=0, atol=5e-6)
    found = dict(zip(robot.bodies, robot.body_poses(jnp.zeros(3), x), strict=True))
    e = np.asarray(found["rod_1a" if name == "omron_mini_delta" else "rod_1"].x)
    assert np.isclose(np.degrees(np.arctan2(-e[2], e[0])), 121.7, rtol=0, atol=0.05)  # phi
    assert np.allclose(robot.passive(jnp.zeros(3), x), 0, atol=1e-15)  # alpha


def test_range_of_the_centre_over_the_excitation():
    """q_i = 0.5 rad sin(2 pi f_i t), f = 3, 2.25 and 3.6 Hz, for 5 s (equation (40))."""
    robot = build(load("omron_mini_delta_platens"))
    t = np.linspace(0, 5, 50_001)[:, None]
    q = 0.5 * np.sin(2 * np.pi * np.array([3, 2.25, 3.6]) * t)
    x = np.stack(batch(robot.forward)(q).components, axis=1)
    assert np.allclose(np.ptp(x, axis=0), [0.2871, 0.2810, 0.1335], rtol=0, atol=1e-4)
