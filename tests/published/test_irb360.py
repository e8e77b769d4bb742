"""Kinematics of the ABB IRB 360-6/1600.

Gnad, Gattringer, Mueller, Hoebarth, Riepl, Messner, "Identification of physically consistent
dynamics parameter of the ABB IRB 360-6/1600 delta robot and its use for time-optimal motion
planning under consideration of constraint forces", Robotics and Autonomous Systems. The paper
prints no joint angles. Those below were computed independently, in NumPy, from the same
lengths: closed forms of the derivatives there, loop closure and autodiff here.
"""

import jax.numpy as jnp
import numpy as np

from triskele.description.load import load
from triskele.kinematics.build import build
from triskele.kinematics.velocity import joint_motion, time_derivative
from triskele.numerics import batch

ROBOT = build(load("abb_irb360_6_1600"))
# State S*: position [m], angle [rad] and their first two time derivatives.
X = jnp.array([0.2, -0.3, -1.0, 0.5])
XD = jnp.array([1.0, -2.0, 0.5, 3.0])
XDD = jnp.array([10.0, -20.0, 15.0, 20.0])


def test_joint_angles_speeds_and_accelerations():
    q = ROBOT.inverse(X).checked()
    motion = joint_motion(ROBOT, q, X, XD, XDD)
    assert np.allclose(np.degrees(q[:3]), [4.082327, 42.024601, 7.096374], rtol=0, atol=1e-6)
    speeds = [-0.669856, 3.013730, -0.943525, 3.0]
    assert np.allclose(motion.velocity, speeds, rtol=0, atol=1e-5)
    accelerations = [-16.253665, 23.738223, -18.888031, 20.0]
    assert np.allclose(motion.acceleration, accelerations, rtol=0, atol=1e-5)


def test_length_of_the_telescope_and_its_rates():
    def length(t):
        x = X + t * XD + t * t / 2 * XDD
        return (ROBOT.passive(ROBOT.inverse(x).components, x)[-1],)

    now = jnp.zeros(())
    speed = time_derivative(length)
    found = (*length(now), *speed(now), *time_derivative(speed)(now))
    assert np.allclose(found, [1.097893, 0.256400, -2.159355], rtol=0, atol=1e-5)


def test_level_arms_hang_the_platform_as_in_the_cad_model():
    """ABB's STEP model: ball plane at -1168.36 mm, motor axes at -275 mm, rod 1105.93 mm."""
    found = ROBOT.forward(jnp.zeros(4)).checked()
    assert np.allclose(found, [0, 0, -0.893382, 0], rtol=0, atol=1e-6)
    assert np.isclose(found[2], -1.16836 + 0.275, rtol=0, atol=1e-4)


def test_the_declared_radius_is_reached_in_the_declared_heights():
    """0.8 m at -0.70 to -1.18 m with -46 to 100 deg (computed independently)."""
    turn = np.linspace(0, 2 * np.pi, 361)
    for height in (-0.70, -1.18):
        circle = [0.8 * np.cos(turn), 0.8 * np.sin(turn), np.full(361, height), 0 * turn]
        solution = batch(ROBOT.inverse)(np.stack(circle, axis=1))
        angles = np.degrees(solution.value[:, :3])
        assert (solution.margin > 0).all()
        assert angles.min() > -47
        assert angles.max() < 101
