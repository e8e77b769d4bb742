"""Rows that are held or clipped, by hand; and rates beside rows that are missing."""

import numpy as np

from triskele.identification.rows import faulty_rows
from triskele.kinematics.log import derivatives, derivatives_with_gaps

T = np.arange(1000) * 0.004


def good():
    random = np.random.default_rng(0)
    q = np.stack([np.sin(2 * T), 0.5 * np.cos(3 * T), 0.2 * np.sin(5 * T)], axis=1)
    return q, 10 * q + random.normal(size=q.shape) * 0.2


def test_a_good_log_has_no_faulty_rows():
    found = faulty_rows(*good())
    assert not found.held.any()
    assert not found.clipped.any()


def test_rows_that_a_bus_repeats_are_held():
    q, tau = good()
    for start, length in ((100, 4), (300, 1), (500, 7)):
        q[start + 1 : start + 1 + length] = q[start]
        tau[start + 1 : start + 1 + length] = tau[start]
    places = np.flatnonzero(faulty_rows(q, tau).held)
    assert places.tolist() == [*range(101, 105), 301, *range(501, 508)]


def test_coarse_encoders_and_a_robot_at_rest_are_not_held():
    q, tau = good()
    coarse = np.round(q / 0.002) * 0.002  # 0.1 deg, so that slow joints repeat themselves
    assert not faulty_rows(coarse, tau).held.any()
    q[:200], tau[:200] = q[200], tau[200]
    assert not faulty_rows(q, tau).held[:200].any()
    rounded = np.round(tau / 0.5) * 0.5
    assert not faulty_rows(good()[0], rounded).held.any()


def test_clipped_efforts_are_found_at_their_drive_and_on_their_side():
    q, tau = good()
    tau[:, 1] = np.clip(tau[:, 1], -4.0, 100.0)
    clipped = faulty_rows(q, tau).clipped
    assert clipped[:, 1].sum() == (tau[:, 1] == -4.0).sum() > 50
    assert not clipped[:, [0, 2]].any()
    coarse = np.round(good()[1] / 0.05) * 0.05
    assert not faulty_rows(q, coarse).clipped.any()


def test_rates_without_gaps_are_those_of_savitzky_and_golay():
    q, _ = good()
    usual = derivatives(q, 0.004, 9)
    first, second, enough = derivatives_with_gaps(q, 0.004, 9, np.ones(len(q), bool))
    inner = slice(10, -10)
    assert enough[inner].all()
    assert np.allclose(first[inner], usual[0][inner], atol=1e-9)
    assert np.allclose(second[inner], usual[1][inner], atol=1e-6)


def test_rates_beside_lost_rows_are_right_to_what_the_window_allows():
    q, _ = good()
    there = np.random.default_rng(1).uniform(size=len(q)) > 0.3
    first, second, enough = derivatives_with_gaps(q, 0.004, 11, there)
    assert enough[10:-10].mean() > 0.6
    exact = -np.array([4.0, 9.0, 25.0]) * q
    assert np.abs(second - exact)[enough & there].max() < 2e-3 * np.abs(exact).max()
    assert np.abs(first[:, 0] - 2 * np.cos(2 * T))[enough & there].max() < 1e-5
