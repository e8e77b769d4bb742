"""Kinematics of the D3S-800 on the path of its experiment.

Elshami, Shehata, Bai, Zhao, "Multibody Dynamics Modeling of Delta Robot with Experimental
Validation": end effector at 100 mm/s along 45 deg in the plane z = -847 mm. The paper shows
curves only; the numbers were computed independently, by a multibody model of 17 bodies and by
a closed form, which agree to all digits.
"""

import jax.numpy as jnp
import numpy as np
import pytest

from triskele.description.load import load
from triskele.kinematics.build import build
from triskele.kinematics.velocity import joint_motion
from triskele.numerics import batch

ROBOT = build(load("d3s_800"))
# Path coordinate s [m]; motor angle 1 [deg]; speeds of the motors [rad/s].
TABLE = np.array(
    [
        [-0.25, 20.029205, -0.16970992, -0.11501556, 0.05631188],
        [-0.05, 3.429859, -0.11771090, -0.05338297, 0.12468591],
        [0.00, 0.271765, -0.10264825, -0.03757187, 0.14022011],
        [0.05, -2.445501, -0.08696375, -0.02165327, 0.15445791],
        [0.25, -8.687265, -0.02186003, 0.04217642, 0.19591452],
        [0.50, -6.201323, 0.05575488, 0.12715153, 0.22368569],
    ]
)


def test_motor_angles_and_speeds_along_the_path():
    s = TABLE[:, 0] / np.sqrt(2)
    poses = np.stack([s, s, np.full_like(s, -0.847)], axis=1)
    velocity = np.tile([0.1 / np.sqrt(2), 0.1 / np.sqrt(2), 0], (len(s), 1))

    def motors(x, xd):
        q = ROBOT.inverse(x).components
        return q[0], joint_motion(ROBOT, q, x, xd).velocity

    angle, speeds = batch(motors)(poses, velocity)
    assert np.allclose(np.degrees(angle), TABLE[:, 1], rtol=0, atol=1e-6)
    assert np.allclose(np.stack(speeds, axis=1), TABLE[:, 2:], rtol=0, atol=1e-8)


def test_the_wrists_are_on_a_circle_of_62_mm():
    """The paper's 62 mm through all six wrists: with level arms closer to its -847 mm."""
    home = jnp.array([0.0, 0.0, -0.847])
    assert np.allclose(np.degrees(ROBOT.inverse(home).checked()), 0.27176, rtol=0, atol=1e-5)
    assert np.isclose(ROBOT.forward(jnp.zeros(3)).checked()[2], -0.84524, rtol=0, atol=1e-5)
    assert np.isclose(np.hypot(ROBOT.platform_radius[0], ROBOT.rod_spacing / 2), 0.062)


@pytest.mark.parametrize("side, reach", [(1, 0.856), (-1, 0.830)])
def test_reach_along_the_path(side, reach):
    """0.856 m along +45 deg and 0.830 m along 225 deg, without joint limits."""
    s = side * np.array([reach - 1e-3, reach + 1e-3]) / np.sqrt(2)
    margins = ROBOT.inverse((jnp.asarray(s), jnp.asarray(s), jnp.full(2, -0.847))).margin
    assert margins[0] > 0 > margins[1]
