"""Euler parameters turn vectors as rotation matrices do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from triskele.spatial.euler_parameters import (
    from_matrix,
    normalised,
    product,
    rate,
    rotation_matrix,
    turned,
)

RANDOM = np.random.default_rng(3)
P = normalised(jnp.asarray(RANDOM.normal(size=(20, 4))))


def test_rotation_matrices_are_those_of_scipy():
    scalar_last = np.asarray(P)[:, [1, 2, 3, 0]]
    assert np.allclose(rotation_matrix(P), Rotation.from_quat(scalar_last).as_matrix(), atol=1e-15)


def test_a_matrix_gives_its_parameters_back_with_e0_positive():
    found = from_matrix(rotation_matrix(P))
    assert np.allclose(found, jnp.where(P[:, :1] < 0, -P, P), atol=1e-14)


@pytest.mark.parametrize("axis", range(3))
def test_half_turns_are_found_as_well(axis):
    A = jnp.diag(jnp.asarray(2.0 * (np.arange(3) == axis) - 1.0))
    assert np.allclose(rotation_matrix(from_matrix(A)), A, atol=1e-15)


def test_a_product_is_one_turn_after_the_other():
    A = rotation_matrix(P[:10]) @ rotation_matrix(P[10:])
    assert np.allclose(rotation_matrix(product(P[:10], P[10:])), A, atol=1e-14)


def test_turns_are_about_axes_of_the_body():
    turn = RANDOM.normal(size=(20, 3))
    A = np.asarray(rotation_matrix(P)) @ Rotation.from_rotvec(turn).as_matrix()
    assert np.allclose(rotation_matrix(turned(P, jnp.asarray(turn))), A, atol=1e-14)


def test_no_turn_changes_nothing_and_has_a_slope():
    assert np.allclose(turned(P, jnp.zeros((20, 3))), P, atol=1e-15)
    slope = jax.jacrev(lambda turn: turned(P[0], turn))(jnp.zeros(3))
    assert np.allclose(slope @ jnp.array([1.0, 2.0, 3.0]), rate(P[0], jnp.array([1.0, 2.0, 3.0])))


def test_the_rate_is_that_of_the_turn():
    w = jnp.asarray(RANDOM.normal(size=(20, 3)))
    h = 1e-6
    difference = (turned(P, h * w) - turned(P, -h * w)) / (2 * h)
    assert np.allclose(rate(P, w), difference, atol=1e-9)
