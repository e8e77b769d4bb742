"""Pseudo-inertia: by hand for a box and a rod, and the border of what can exist."""

import jax.numpy as jnp
import numpy as np
import pytest

from triskele.spatial.inertia import infeasibility, pseudo_inertia


def ten(mass, centre, inertia):
    """Ten parameters about the origin, from mass, centre and moments about the centre."""
    c, O = np.array(centre, float), np.array(inertia, float)
    O = O if O.ndim == 2 else np.diag(O)
    O = O + mass * (c @ c * np.eye(3) - np.outer(c, c))
    found = (mass, *(mass * c), O[0, 0], O[1, 1], O[2, 2], O[0, 1], O[1, 2], O[0, 2])
    return tuple(map(float, found))


def box(mass, a, b, c):
    """Principal moments of a box with sides a, b, c [m]."""
    return mass / 12 * np.array([b**2 + c**2, a**2 + c**2, a**2 + b**2])


def test_the_second_moments_of_a_box_by_hand():
    # The integral of x^2 over a box is m a^2 / 12; its centre adds m x y and so on.
    m, (a, b, c), (x, y, z) = 12.0, (1.0, 2.0, 3.0), (0.5, -1.0, 2.0)
    P = pseudo_inertia(jnp.array(ten(m, (x, y, z), box(m, a, b, c))))
    expected = [
        [a**2 + m * x * x, m * x * y, m * x * z, m * x],
        [m * x * y, b**2 + m * y * y, m * y * z, m * y],
        [m * x * z, m * y * z, c**2 + m * z * z, m * z],
        [m * x, m * y, m * z, m],
    ]
    assert np.asarray(P) == pytest.approx(np.array(expected), abs=1e-12)


def test_the_second_moments_of_a_thin_rod_by_hand():
    # Of mass 3 and length 2 along x from the origin: m L^2 / 3 = 4, centre at 1.
    P = pseudo_inertia(jnp.array(ten(3.0, (1, 0, 0), (0, 1, 1))))
    expected = np.zeros((4, 4))
    expected[0, 0], expected[0, 3], expected[3, 0], expected[3, 3] = 4, 3, 3, 3
    assert np.asarray(P) == pytest.approx(expected, abs=1e-12)


def test_it_is_the_sum_of_r_r_dm_over_points():
    rng = np.random.default_rng(0)
    points, masses = rng.normal(size=(20, 3)), rng.uniform(0.1, 1, 20)
    homogeneous = np.column_stack([points, np.ones(20)])
    by_points = np.einsum("i,ij,ik->jk", masses, homogeneous, homogeneous)
    squares = np.einsum("i,ij,ij->", masses, points, points)
    O = squares * np.eye(3) - np.einsum("i,ij,ik->jk", masses, points, points)
    first = masses @ points
    parameters = (masses.sum(), *first, *np.diag(O), O[0, 1], O[1, 2], O[0, 2])
    assert np.asarray(pseudo_inertia(jnp.array(parameters))) == pytest.approx(by_points, abs=1e-12)
    assert infeasibility([float(value) for value in parameters]) is None


@pytest.mark.parametrize(
    ("centre", "inertia"),
    [
        pytest.param((0, 0, 0), box(2, 0.3, 0.2, 0.1), id="box"),
        pytest.param((1, -2, 3), box(2, 0.3, 0.2, 0.1), id="box far away"),
        pytest.param((0.5, 0, 0), (0, 1 / 6, 1 / 6), id="thin rod"),
        pytest.param((0.1, 0.2, 0), (1, 2, 3), id="flat plate"),
        pytest.param((0.3, 0, 0), (0, 0, 0), id="point"),
        pytest.param((0, 0, 0), (0, 0, 0), id="point at the origin"),
        pytest.param((300, 0, 0), (1e-9, 1e-9, 1e-9), id="speck far away"),
    ],
)
def test_bodies_that_exist_are_accepted_up_to_the_border(centre, inertia):
    assert infeasibility(ten(2.0, centre, inertia)) is None


def test_a_turned_box_is_as_good_as_a_straight_one():
    s, c = np.sin(0.4), np.cos(0.4)
    R = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    O = R @ np.diag(box(2, 0.3, 0.2, 0.1)) @ R.T
    assert infeasibility(ten(2.0, (0.1, 0, 0.2), O)) is None
    assert infeasibility(ten(2.0, (0.1, 0, 0.2), R @ np.diag((1, 2, 4)) @ R.T)) == (
        "one principal moment exceeds the sum of the others: 1, 2, 4 kg m^2"
    )


def test_the_triangle_inequality_is_the_border():
    inside, outside = ten(1, (0, 0, 0), (1, 2, 3 - 1e-6)), ten(1, (0, 0, 0), (1, 2, 3 + 1e-6))
    assert infeasibility(inside) is None
    assert infeasibility(outside) is not None


@pytest.mark.parametrize("mass", [0.0, -2.5, float("nan")])
def test_a_mass_that_is_not_positive_is_refused(mass):
    assert (
        infeasibility([mass, *map(float, (0, 0, 0, 1, 1, 1, 0, 0, 0))])
        == f"its mass is {mass:g} kg"
    )


def test_a_centre_outside_what_the_moments_allow_is_refused_with_numbers():
    # 1 kg at 1 m has 1 kg m^2 about the origin; the file says 0.5.
    assert infeasibility((1.0, 1.0, 0.0, 0.0, 0.01, 0.5, 0.5, 0.0, 0.0, 0.0)) == (
        "a moment about its centre of mass is negative: -0.5, -0.5, 0.01 kg m^2 "
        "(the centre may be too far out)"
    )


def test_a_negative_moment_is_no_matter_of_the_centre():
    assert infeasibility((1.0, 0.0, 0.0, 0.0, -0.1, 1.0, 1.0, 0.0, 0.0, 0.0)) == (
        "a moment about its centre of mass is negative: -0.1, 1, 1 kg m^2"
    )


def test_rounding_is_no_negative_moment_and_numbers_without_bounds_are_named():
    # An arm about whose axis alone the moment is known: 0, 0.0654, 0 breaks the inequality.
    told = infeasibility(ten(0.94, (0.12, 0, 0), (0, 0.0654, 0)))
    assert told == "one principal moment exceeds the sum of the others: 0, 0, 0.0654 kg m^2"
    assert "negative" in str(infeasibility(ten(1.0, (0.1, 0, 0), (0.01, -0.01, 0.01))))
    huge = infeasibility((1.0, 1e300, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    assert huge == "its numbers are too large to compute with"
