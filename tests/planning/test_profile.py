"""Profiles: values and slopes, time, and what a controller reads."""

import numpy as np
import pytest
from scipy.interpolate import BSpline

from triskele.planning.profile import FROM_REST, FROM_STEP, Profile, Space, StepProfile

EDGES = np.array([0.0, 0.05, 0.2, 0.45, 0.5, 0.8, 0.97, 1.0])


@pytest.mark.parametrize("degree", [2, 4])
@pytest.mark.parametrize("exponent", [FROM_REST, FROM_STEP])
def test_x_is_a_spline_times_its_ends_and_u_and_w_are_its_slopes(degree: int, exponent: float):
    space = Space(EDGES, degree, exponent)
    c = 1 + np.random.default_rng(0).random(space.size)
    s = np.linspace(0.0111, 0.9891, 60)  # no knot among them
    knots = np.concatenate([np.zeros(degree), EDGES, np.ones(degree)])
    p = BSpline(knots, c, degree)
    x, u, w = space.basis(s).of(c)
    np.testing.assert_allclose(x, (s * (1 - s)) ** exponent * p(s), rtol=1e-13)
    h = 1e-5
    np.testing.assert_allclose(
        u, (space.basis(s + h).of(c)[0] - space.basis(s - h).of(c)[0]) / (4 * h), atol=1e-8
    )
    np.testing.assert_allclose(
        w,
        (space.basis(s + h).of(c)[1] - space.basis(s - h).of(c)[1]) / (2 * h),
        rtol=1e-6,
        atol=1e-7,
    )


def test_where_cells_meet_each_side_has_its_own_jerk():
    space = Space(EDGES, 2, FROM_REST)
    c = 1 + np.random.default_rng(1).random(space.size)
    s = np.array([0.2, 0.2])
    x, u, w = space.basis(s, np.array([1, 2])).of(c)
    assert x[0] == pytest.approx(x[1], rel=1e-13)
    assert u[0] == pytest.approx(u[1], rel=1e-12)
    assert abs(w[0] - w[1]) > 0.1


def test_a_constant_p_starts_with_a_constant_jerk():
    space = Space(EDGES, 2, FROM_REST)
    t = np.array([0.0, 1e-4, 1e-3])
    s, sd, sdd, sddd = Profile(space, 9.0 * space.constant()).schedule(t)
    jerk = 2 / 9 * 9.0**1.5  # x = k s^(4/3) is s = (k^(3/2) 2 / 9) t^3 / 6
    np.testing.assert_allclose(sddd, jerk, rtol=5e-3)
    np.testing.assert_allclose(s[1:], jerk * t[1:] ** 3 / 6, rtol=5e-3)
    assert (s[0], sd[0], sdd[0]) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("exponent", [FROM_REST, FROM_STEP])
def test_the_schedule_is_its_own_derivative(exponent: float):
    space = Space(EDGES, 2, exponent)
    profile = Profile(space, 1 + np.random.default_rng(2).random(space.size))
    T = profile.duration()
    h, t = 1e-6, np.linspace(0.01, 0.99, 400) * T
    for order in range(2):
        before, after = (profile.schedule(t + d)[order] for d in (-h, h))
        np.testing.assert_allclose(
            (after - before) / (2 * h), profile.schedule(t)[order + 1], atol=2e-5
        )
    s, sd, _, _ = profile.schedule(np.array([0.0, T]))
    np.testing.assert_array_equal(s, [0.0, 1.0])
    np.testing.assert_array_equal(sd, 0.0)


def test_the_time_of_a_parabola_of_x_is_pi():
    space = Space(EDGES, 2, FROM_STEP)
    assert Profile(space, space.constant()).duration() == pytest.approx(np.pi, rel=1e-6)


def test_steps_of_acceleration():
    s = np.array([0.0, 0.5, 1.0])
    profile = StepProfile(s, np.array([0.0, 4.0, 0.0]))  # sdd = 4, then -4
    assert profile.duration() == pytest.approx(1.0)
    s, sd, sdd, sddd = profile.schedule(np.array([0.0, 0.25, 0.5, 0.75, 1.0]))
    np.testing.assert_allclose(s, [0, 0.125, 0.5, 0.875, 1], atol=1e-12)
    np.testing.assert_allclose(sd, [0, 1, 2, 1, 0], atol=1e-12)
    np.testing.assert_allclose(sdd, [4, 4, -4, -4, -4])
    np.testing.assert_array_equal(sddd, 0)
