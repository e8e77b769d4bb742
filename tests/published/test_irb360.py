"""ABB IRB 360-6/1600, state S*: values computed independently from the closed-form kinematics
of Gnad et al., Robotics and Autonomous Systems, with the geometry of ABB's STEP model."""

import jax
import numpy as np
import pytest

from triskele.description.load import load
from triskele.kinematics.build import build
from triskele.kinematics.velocity import joint_motion, time_derivative
from triskele.numerics import batch

POSE = (0.2, -0.3, -1.0, 0.5)
VELOCITY = (1.0, -2.0, 0.5, 3.0)
ACCELERATION = (10.0, -20.0, 15.0, 20.0)


@pytest.fixture(scope="module")
def robot():
    return build(load("abb_irb360_6_1600"))


@pytest.fixture(scope="module")
def state(robot):
    def kernel(x, xd, xdd):
        q = robot.inverse(x).components

        def telescope(t):
            along = tuple(a + b * t + c * t * t / 2 for a, b, c in zip(x, xd, xdd, strict=True))
            return (robot.passive(q, along)[3],)

        zero = 0.0 * x[0]
        rate = time_derivative(telescope)
        lengths = telescope(zero) + rate(zero) + time_derivative(rate)(zero)
        return q, joint_motion(robot, q, x, xd, xdd), lengths

    rows = [np.array([row]) for row in (POSE, VELOCITY, ACCELERATION)]
    return jax.tree.map(lambda leaf: float(leaf[0]), batch(kernel)(*rows))


def test_arm_angles(state):
    degrees = np.degrees(state[0][:3])
    assert np.abs(degrees - [4.082327, 42.024601, 7.096374]).max() < 1e-6


def test_arm_rates_and_accelerations(state):
    velocity, acceleration = state[1].velocity[:3], state[1].acceleration[:3]
    assert np.abs(np.subtract(velocity, [-0.669856, 3.013730, -0.943525])).max() < 1e-5
    assert np.abs(np.subtract(acceleration, [-16.253665, 23.738223, -18.888031])).max() < 1e-5


def test_the_fourth_axis_turns_as_its_motor_does(state):
    assert (state[0][3], state[1].velocity[3], state[1].acceleration[3]) == (0.5, 3.0, 20.0)


def test_length_of_the_telescope_and_its_rates(state):
    assert np.abs(np.subtract(state[2], [1.097893, 0.256400, -2.159355])).max() < 1e-5


def test_level_arms_put_the_ball_plane_where_the_step_model_has_it(robot):
    x = np.asarray(robot.forward((0.0, 0.0, 0.0, 0.0)).value)
    assert np.abs(x - [0.0, 0.0, -0.893382, 0.0]).max() < 1e-6
