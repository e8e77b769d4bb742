"""D3S-800 of Elshami et al., section 4: the line at 45 degrees, z = -847 mm, 100 mm/s.

The paper prints curves only; arm angle and speeds were computed independently in closed form
with the platform radius read as the circle through six balls.
"""

import numpy as np
import pytest

from triskele.description.load import load
from triskele.kinematics.build import build
from triskele.kinematics.mobility import mobility
from triskele.kinematics.velocity import joint_motion
from triskele.numerics import batch, stacked

# s [m], theta_1 [deg], speeds of the three motors [rad/s]
LINE = np.array(
    [
        [-0.25, 20.029205, -0.16970992, -0.11501556, +0.05631188],
        [-0.05, 3.429859, -0.11771090, -0.05338297, +0.12468591],
        [0.0, 0.271765, -0.10264825, -0.03757187, +0.14022011],
        [0.05, -2.445501, -0.08696375, -0.02165327, +0.15445791],
        [0.25, -8.687265, -0.02186003, +0.04217642, +0.19591452],
        [0.50, -6.201323, +0.05575488, +0.12715153, +0.22368569],
    ]
)


@pytest.fixture(scope="module")
def robot():
    return build(load("d3s_800"))


def test_arm_angle_and_motor_speeds_along_the_line(robot):
    def kernel(x, xd):
        q = robot.inverse(x).components
        return q, joint_motion(robot, q, x, xd).velocity

    direction = np.array([1.0, 1.0, 0.0]) / np.sqrt(2)
    poses = LINE[:, :1] * direction + np.array([0.0, 0.0, -0.847])
    q, speeds = batch(kernel)(poses, np.tile(0.1 * direction, (len(poses), 1)))
    assert np.abs(np.degrees(np.asarray(q[0])) - LINE[:, 1]).max() < 1e-6
    assert np.abs(np.asarray(stacked(speeds)) - LINE[:, 2:]).max() < 1e-8


def test_arms_are_level_two_millimetres_above_the_tested_plane(robot):
    assert float(robot.home()[2]) == pytest.approx(-0.84524, abs=5e-6)


def test_eighteen_of_its_constraints_are_redundant(robot):
    # 117 rows with the base joined to the ground by six; rank 116 - 17 of the norms is 99.
    for pose in ([0.0, 0.0, -0.847], [0.1, 0.05, -0.9], [-0.2, 0.1, -0.8]):
        found = mobility(robot, robot.inverse(pose).value, pose)
        assert (found.rows + 6, found.rank + 6, found.freedom) == (117, 99, 3)
        assert found.redundant == 18
        assert found.gap > 1e6
