"""Vectors and frames on components, against NumPy and SciPy."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from triskele.numerics import sincos
from triskele.spatial.vectors import (
    WORLD,
    Frame,
    add,
    combine,
    cross,
    dot,
    poses_array,
    rotation_x,
    rotation_y,
    rotation_z,
    scale,
    subtract,
)

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(2, 3))
a, b = tuple(A), tuple(B)
TURN = Rotation.from_rotvec([0.3, -0.8, 1.1]).as_matrix()
FRAME = Frame(tuple(TURN[:, 0]), tuple(TURN[:, 1]), tuple(TURN[:, 2]), (1.0, 2.0, 3.0))


def test_sums_and_products_are_those_of_numpy():
    assert np.allclose(add(a, b), A + B)
    assert np.allclose(subtract(a, b), A - B)
    assert np.allclose(scale(2.5, a), 2.5 * A)
    assert np.allclose(combine((2.0, a), (-3.0, b), (0.5, a)), 2.5 * A - 3 * B)
    assert np.isclose(dot(a, b), A @ B)
    assert np.allclose(cross(a, b), np.cross(A, B))


def test_axes_are_right_handed():
    x, y, z = WORLD[:3]
    assert (cross(x, y), cross(y, z), cross(z, x)) == (z, x, y)


@pytest.mark.parametrize(
    "axis, rotation", [("x", rotation_x), ("y", rotation_y), ("z", rotation_z)]
)
def test_rotations_turn_by_the_right_hand_rule(axis, rotation):
    angle = 0.7
    s, c = sincos(jnp.asarray(angle))
    assert np.allclose(rotation(s, c, a), Rotation.from_euler(axis, angle).apply(A), atol=1e-15)


def test_a_frame_places_points_and_turns_vectors():
    assert np.allclose(FRAME.turned(a), TURN @ A)
    assert np.allclose(FRAME.at(a), TURN @ A + [1, 2, 3])
    assert WORLD.at(a) == a


def test_frames_become_matrices_with_axes_as_columns():
    poses = np.asarray(poses_array((WORLD, FRAME)))
    assert poses.shape == (2, 3, 4)
    assert np.allclose(poses[0], np.eye(3, 4))
    assert np.allclose(poses[1], np.column_stack([TURN, [1, 2, 3]]))


def test_a_batch_of_frames_has_its_rows_first_and_spreads_what_does_not_move():
    moving = WORLD._replace(p=(jnp.arange(5.0), 0.0, 0.0))
    poses = np.asarray(poses_array((FRAME, moving)))
    assert poses.shape == (5, 2, 3, 4)
    assert np.allclose(poses[:, 0], poses_array((FRAME,))[0])
    assert np.allclose(poses[:, 1, 0, 3], np.arange(5))
