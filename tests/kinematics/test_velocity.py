"""Velocity, acceleration and jerk, on a triangle whose height is known as a formula."""

import jax.numpy as jnp
import numpy as np

from triskele.kinematics.delta import Delta
from triskele.kinematics.velocity import (
    closure_jacobians,
    jacobian,
    joint_motion,
    platform_motion,
    time_derivative,
)
from triskele.numerics import batch

# With R = r, L = 3, d = 5 each limb is a 3-4-5 triangle: arms level, platform 4 m below.
TRIANGLE = Delta.symmetric(base_radius=1.0, platform_radius=1.0, arm_length=3.0, rod_length=5.0)
LEVEL, BELOW = jnp.zeros(3), jnp.array([0.0, 0.0, -4.0])
UP, STILL = jnp.array([0.0, 0.0, 1.0]), jnp.zeros(3)
EQUAL = jnp.ones(3)
# All arms at q: z = -3 sin q - sqrt(25 - 9 cos(q)^2), whose derivatives at q = 0 are
VELOCITY, ACCELERATION, JERK = -3.0, -9 / 4, 3.0


def test_closure_jacobians_of_the_triangle():
    # Rows of A are the rods, s_i = -3 u_i - 4 k; B_i = s_i . (3 k) for level arms.
    A, B = closure_jacobians(TRIANGLE, LEVEL, BELOW)
    h = 1.5 * np.sqrt(3)
    assert np.allclose(A, [[-3, 0, -4], [1.5, -h, -4], [1.5, h, -4]], atol=1e-14)
    assert np.allclose(B, -12, atol=1e-14)


def test_velocities_obey_the_closure_with_the_sign_of_the_conventions():
    A, B = (np.array(part) for part in closure_jacobians(TRIANGLE, LEVEL, BELOW))
    qd = np.array([1.0, -2.0, 0.5])
    xd = np.asarray(jacobian(TRIANGLE, LEVEL, BELOW)) @ qd
    assert np.allclose(A @ xd + B * qd, 0, atol=1e-13)


def test_the_jacobian_has_a_column_per_motor():
    # One arm alone: its two neighbours hold the platform on the axis of their two spheres.
    J = np.asarray(jacobian(TRIANGLE, LEVEL, BELOW))
    assert np.allclose(J[:, 0], [-8 / 3, 0, -1], atol=1e-13)
    assert np.allclose(J @ np.ones(3), [0, 0, -3], atol=1e-13)


def test_jacobians_of_a_batch_have_its_rows_first():
    q = jnp.array([[0.0, 0.0, 0.0], [0.1, 0.2, 0.3]])
    x = jnp.stack([TRIANGLE.forward(row).value for row in q])
    found = jacobian(TRIANGLE, tuple(q.T), tuple(x.T))
    assert found.shape == (2, 3, 3)
    for row in range(2):
        assert np.allclose(found[row], jacobian(TRIANGLE, q[row], x[row]), atol=1e-14)


def test_equal_arm_speeds_move_the_platform_as_the_formula_says():
    motion = platform_motion(TRIANGLE, LEVEL, BELOW, EQUAL)
    expected = [VELOCITY * UP, ACCELERATION * UP, JERK * UP]
    assert np.allclose(motion, expected, atol=1e-12)


def test_arm_accelerations_and_jerks_are_added():
    # z(q(t)) with q' = 1, q'' = 2, q''' = 5: z' q'' + z'' and z' q''' + 3 z'' q'' + z'''.
    motion = platform_motion(TRIANGLE, LEVEL, BELOW, EQUAL, 2 * EQUAL, 5 * EQUAL)
    assert np.allclose(motion.acceleration, (2 * VELOCITY + ACCELERATION) * UP, atol=1e-12)
    jerk = 5 * VELOCITY + 3 * 2 * ACCELERATION + JERK
    assert np.allclose(motion.jerk, jerk * UP, atol=1e-12)


def test_joint_motion_undoes_platform_motion():
    rates = (VELOCITY * UP, ACCELERATION * UP, JERK * UP)
    motion = joint_motion(TRIANGLE, LEVEL, BELOW, *rates)
    assert np.allclose(motion, [EQUAL, STILL, STILL], atol=1e-12)


def test_rates_that_are_not_given_are_zero():
    for motion in (joint_motion, platform_motion):
        short = motion(TRIANGLE, LEVEL, BELOW, UP)
        assert np.allclose(short, motion(TRIANGLE, LEVEL, BELOW, UP, STILL, STILL), atol=1e-14)


def test_motions_come_in_batches():
    def speeds(x, xd):
        return joint_motion(TRIANGLE, TRIANGLE.inverse(x).components, x, xd).velocity

    poses = np.tile(BELOW, (5, 1))
    found = batch(speeds)(poses, np.linspace(0, 1, 5)[:, None] * np.asarray(UP))
    assert np.allclose(found, -np.linspace(0, 1, 5) / 3, atol=1e-14)


def test_time_derivatives_nest():
    function = lambda t: (t**3, jnp.sin(t))  # noqa: E731
    found = time_derivative(time_derivative(function))(jnp.asarray(2.0))
    assert np.allclose(found, [12, -np.sin(2)])
