"""Margins: by hand, zero on the singular surface, of the other sign beyond it."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from triskele.description.load import load
from triskele.kinematics.build import build
from triskele.kinematics.delta import Delta
from triskele.kinematics.prs import Prs
from triskele.kinematics.singularity import singularity_margins
from triskele.numerics import batch

# With R = r, L = 3, d = 5 each limb is a 3-4-5 triangle: arms level, platform 4 m below.
TRIANGLE = Delta.symmetric(base_radius=1.0, platform_radius=1.0, arm_length=3.0, rod_length=5.0)
LEVEL, BELOW = jnp.zeros(3), jnp.array([0.0, 0.0, -4.0])
IRB = build(load("abb_irb360_6_1600"))
TILTING = Prs.symmetric(base_radius=0.125137, platform_radius=0.04761, bar_length=0.109215)


def test_margins_of_the_triangle():
    # The rod is inclined by 4/5 to the level arm. The rods' unit vectors -(3 u_i + 4 k)/5 span
    # 0.36 * 0.8 times the determinant of the rows (u_i, 1), which is 3 sqrt(3) / 2.
    margins = singularity_margins(TRIANGLE, LEVEL, BELOW)
    assert np.allclose(margins.type1, 0.8, atol=1e-14)
    assert np.isclose(margins.type2, 0.432 * np.sqrt(3), atol=1e-14)
    assert np.isclose(margins.least, 0.432 * np.sqrt(3), atol=1e-14)


def test_the_least_margin_may_be_of_either_type():
    side = jnp.array([3.0, 0.0, -1.0])
    margins = singularity_margins(TRIANGLE, TRIANGLE.inverse(side).checked(), side)
    assert np.allclose(margins.type1, [0.6, 0.3, 0.3], atol=1e-14)
    assert margins.type2 > 0.6
    assert np.isclose(margins.least, 0.3)


def test_margins_of_a_delta_are_those_of_its_rods():
    """Type 1: sine between arm and rod in the limb plane; type 2: volume of rod directions."""
    random = np.random.default_rng(3)
    x = jnp.array([0.3, -0.25, -1.05, 0.4])
    robot = dataclasses.replace(IRB, rod_length=IRB.rod_length * random.uniform(0.97, 1.03, 3))
    q = np.asarray(robot.inverse(x).checked())
    margins = singularity_margins(robot, q, x)
    phi, R, r, L, d = (
        np.asarray(getattr(robot, field))
        for field in ("azimuth", "base_radius", "platform_radius", "arm_length", "rod_length")
    )
    u = np.stack([np.cos(phi), np.sin(phi), np.zeros(3)], axis=1)
    arm = np.cos(q[:3, None]) * u - np.sin(q[:3, None]) * np.array([0, 0, 1])
    rod = (np.asarray(x[:3]) + (r - R)[:, None] * u - L[:, None] * arm) / d[:, None]
    tangent = np.cross([0, 0, 1], u)
    assert np.allclose(np.linalg.norm(rod, axis=1), 1, atol=1e-14)
    expected = np.einsum("ij,ij->i", np.cross(arm, rod), tangent)
    assert np.allclose(margins.type1[:3], expected, atol=1e-14)
    assert np.isclose(margins.type1[3], 1)
    assert np.isclose(margins.type2, -np.linalg.det(rod), atol=1e-14)


# Arms stretched straight down at 8 m, and folded straight up at 2 m.
@pytest.mark.parametrize("height, angle", [(-8.0, np.pi / 2), (-2.0, -np.pi / 2)])
def test_type_one_margins_vanish_where_legs_are_stretched_or_folded(height, angle):
    margins = singularity_margins(TRIANGLE, jnp.full(3, angle), jnp.array([0.0, 0.0, height]))
    assert np.allclose(margins.type1, 0, atol=1e-15)


def test_the_type_two_margin_vanishes_where_the_rods_lie_in_one_plane():
    flat = dataclasses.replace(TRIANGLE, rod_length=jnp.full(3, 3.0))
    assert np.isclose(singularity_margins(flat, LEVEL, jnp.zeros(3)).type2, 0, atol=1e-15)


def test_margins_are_negative_in_the_modes_that_the_robot_is_not_built_in():
    inwards = jnp.array([np.pi, 0.0, 0.0])  # arm 1 points at the axis
    assert np.allclose(singularity_margins(TRIANGLE, inwards, BELOW).type1, [-0.8, 0.8, 0.8])
    above = singularity_margins(TRIANGLE, LEVEL, -BELOW)
    assert np.allclose(above.type1, -0.8)
    assert np.isclose(above.type2, -0.432 * np.sqrt(3))


def test_margins_are_positive_in_the_modes_that_the_robot_is_built_in():
    inwards = dataclasses.replace(TRIANGLE, working_mode=(-1, 1, 1))
    q = inwards.inverse(BELOW).checked()
    assert np.allclose(singularity_margins(inwards, q, BELOW).type1, 0.8)
    above = dataclasses.replace(TRIANGLE, working_mode=(-1, -1, -1), assembly_mode=-1)
    margins = singularity_margins(above, LEVEL, -BELOW)
    assert np.allclose(margins.type1, 0.8)
    assert np.isclose(margins.type2, 0.432 * np.sqrt(3))


def test_sizes_do_not_change_margins():
    large = Delta.symmetric(base_radius=7.0, platform_radius=7.0, arm_length=21.0, rod_length=35.0)
    small, big = (
        singularity_margins(robot, robot.inverse(x).components, x)
        for robot, x in (
            (TRIANGLE, jnp.array([1.0, 0.5, -4.0])),
            (large, jnp.array([7.0, 3.5, -28.0])),
        )
    )
    assert np.allclose(small.type1, big.type1)
    assert np.isclose(small.type2, big.type2)


def test_margins_come_in_batches():
    def margins(x):
        return singularity_margins(TRIANGLE, TRIANGLE.inverse(x).components, x)

    found = batch(margins)(np.tile(BELOW, (4, 1)))
    assert found.type2.shape == (4,)
    assert np.allclose(found.least, 0.432 * np.sqrt(3))


def test_two_sinking_bars_of_a_3prs_cancel_in_its_type_two_margin():
    """A positive margin says that no singularity is near, not that the machine is as built."""
    x = jnp.array([0.004, 0.6, 1.1])
    q = TILTING.inverse(x).checked()
    margins = singularity_margins(TILTING, q, x)
    alpha = np.asarray(TILTING.passive(q, x)[:3])
    assert np.array_equal(alpha > 0, [False, True, False])
    assert margins.type2 > 0.02
    assert np.isclose(margins.least, margins.type2)
