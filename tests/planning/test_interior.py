"""Minimum time of a mass on a straight way: closed forms."""

import numpy as np
import pytest
from point_mass import point_mass
from scipy.optimize import brentq

from triskele.planning.interior import solve
from triskele.planning.problem import Problem, Solution


def solved(problem: Problem) -> Solution:
    return solve(problem, 20 * problem.space.constant())


def test_acceleration_alone_is_full_throttle_and_full_brakes():
    A = 3.0
    assert solved(point_mass(acceleration=A)).duration == pytest.approx(2 / A**0.5, rel=2e-5)


def test_speed_and_acceleration_make_a_trapezium():
    V, A = 1.2, 5.0
    found = solved(point_mass(speed=V, acceleration=A))
    assert found.duration == pytest.approx(1 / V + V / A, rel=1e-4)


def test_jerk_alone_takes_the_cube_root():
    J = 50.0
    found = solved(point_mass(jerk=J))
    assert found.duration == pytest.approx((32 / J) ** (1 / 3), rel=1e-4)


def test_jerk_and_acceleration_make_an_s_curve():
    A, J = 4.0, 60.0
    found = solved(point_mass(acceleration=A, jerk=J))
    exact = A / J + np.sqrt((A / J) ** 2 + 4 / A)
    assert found.duration == pytest.approx(exact, rel=2e-4)
    assert found.duration > exact  # from inside


def test_finer_cells_come_nearer():
    A, J = 4.0, 60.0
    exact = A / J + np.sqrt((A / J) ** 2 + 4 / A)
    coarse, fine = (
        solved(point_mass(acceleration=A, jerk=J, cells=n)).duration - exact for n in (60, 240)
    )
    assert 0 < fine < coarse / 3


def test_jerk_acceleration_and_speed_make_seven_phases():
    V, A, J = 1.0, 4.0, 60.0
    found = solved(point_mass(speed=V, acceleration=A, jerk=J))
    assert found.duration == pytest.approx(1 / V + V / A + A / J, rel=5e-4)


def test_root_mean_square_alone_makes_the_acceleration_fall_evenly():
    R = 2.0
    found = solved(point_mass(mean=R))
    assert found.duration == pytest.approx((12 / R**2) ** 0.25, rel=1e-5)
    assert found.steps < 30


@pytest.mark.parametrize("held", [0.0, 0.5, 0.9, 0.99])
def test_root_mean_square_is_priced_however_much_of_it_only_holds(held: float):
    """The mean of (u / R + g)^2 is g^2 + 12 / (R^2 T^4), for the parabola that is best."""
    R = 2.0
    found = solved(point_mass(mean=R, held=held))
    left = 1 - held**2
    assert found.duration == pytest.approx((12 / (R**2 * left)) ** 0.25, rel=1e-5)
    assert found.average_price[0] == pytest.approx(1 / (4 * left), rel=1e-3)  # above 1, too
    assert found.residual < 1e-5


@pytest.mark.parametrize("held", [0.0, 0.95, 0.99])
@pytest.mark.parametrize("jerk", [30.0, 500.0])
def test_prices_of_root_mean_squares_are_the_slopes_of_the_solution(held: float, jerk: float):
    problem = point_mass(mean=2.0, held=held, jerk=jerk)
    found, eps = solved(problem), 1e-3
    low, high = (_with_higher_mean(problem, 1 + part) for part in (-eps, eps))
    slope = (low - high) / (2 * eps)
    assert 2 * found.average_price[0] * found.duration == pytest.approx(slope, rel=0.01)
    assert found.steps < 40


def _with_higher_mean(problem: Problem, factor: float) -> float:
    (item,) = problem.averages
    raised = item._replace(a=item.a / factor, b=item.b / factor, c=item.c / factor)
    return solved(problem._replace(averages=(raised,))).duration


def test_a_torque_that_falls_with_speed():
    A, V = 6.0, 1.5

    def way(v: float) -> float:  # until the speed v, with sdd = A (1 - v / V)
        return V * V / A * (-np.log(1 - v / V) - v / V)

    top = brentq(lambda v: way(v) - 0.5, 1e-6, V * (1 - 1e-12))
    exact = -2 * V / A * np.log(1 - top / V)
    found = solved(point_mass(acceleration=A, stall=V))
    assert found.duration == pytest.approx(exact, rel=1e-3)


def test_the_norm_of_a_vector_along_one_line_is_its_size():
    plain, norm = (
        solved(point_mass(acceleration=4.0, jerk=60.0, as_norm=flag)).duration
        for flag in (False, True)
    )
    assert norm == pytest.approx(plain, rel=1e-7)


@pytest.mark.parametrize("limit", ["jerk", "acceleration"])
def test_prices_are_the_slopes_of_the_closed_form(limit: str):
    A, J = 4.0, 60.0
    root = np.sqrt((A / J) ** 2 + 4 / A)
    by_jerk = -A / J - (A / J) ** 2 / root
    exact = by_jerk if limit == "jerk" else -by_jerk - 2 / A / root
    problem = point_mass(acceleration=A, jerk=J)
    found = solved(problem)
    x, u, w = problem.points.of(found.c)
    used = np.abs(u) / A if limit == "acceleration" else np.abs(w) / J * np.sqrt(x)
    columns = slice(0, 2) if limit == "acceleration" else slice(2, 4)
    share = found.price[:, columns].sum(axis=1)
    share = share if limit == "acceleration" else share * found.scale
    assert -np.sum(share * used) == pytest.approx(exact, rel=0.03)  # of the continuous problem


@pytest.mark.parametrize("limit", ["jerk", "acceleration"])
def test_prices_are_the_slopes_of_the_solution(limit: str):
    limits = {"acceleration": 4.0, "jerk": 60.0}
    low, high = (
        solved(point_mass(**{**limits, limit: factor * limits[limit]})).duration
        for factor in (0.99, 1.01)
    )
    problem = point_mass(**limits)
    found = solved(problem)
    columns, scale = (slice(0, 2), 1.0) if limit == "acceleration" else (slice(2, 4), found.scale)
    share = found.price[:, columns].sum(axis=1) * scale  # a limit with a price is used up
    assert np.sum(share) == pytest.approx((low - high) / 0.02, rel=0.01)


def test_the_largest_integral_of_x_is_nearly_the_least_time():
    problem = point_mass(acceleration=4.0, speed=1.2)
    least = solved(problem).duration
    assert solved(problem._replace(fastest=False)).duration == pytest.approx(least, rel=2e-3)
