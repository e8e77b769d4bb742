"""The convex core: closed forms, and a linear program that shares no code with it."""

import numpy as np
import pytest
from scipy.optimize import linprog

from triskele.planning.profile import StepProfile
from triskele.planning.reachability import core


def cosine(n: int) -> np.ndarray:
    return (1 - np.cos(np.linspace(0, np.pi, n + 1))) / 2


def test_speed_and_acceleration_make_a_trapezium():
    s, V, A = cosine(400), 1.2, 5.0
    one, none = np.ones((401, 1)), np.zeros((401, 1))
    a, b, c = np.hstack([none, one / A]), np.hstack([one / V**2, none]), np.zeros((401, 2))
    x, most = core(s, a, b, c)
    assert StepProfile(s, x).duration() == pytest.approx(1 / V + V / A, rel=1e-3)
    np.testing.assert_allclose(most, V**2)


def test_the_speed_in_a_curve_is_where_no_acceleration_is_left():
    s, none = cosine(100), np.zeros(101)
    a = np.stack([none + 1, none + 1], axis=1)  # |u + x| <= 1 and |u - x| <= 1
    b = np.stack([none + 1, none - 1], axis=1)
    x, most = core(s, a, b, 0 * a)
    np.testing.assert_allclose(most, 1.0)
    assert (x <= 1 + 1e-12).all()


@pytest.mark.parametrize("both_ends", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_no_profile_of_a_linear_program_is_faster(seed: int, both_ends: bool):
    random, n = np.random.default_rng(seed), 60
    s = np.linspace(0, 1, n + 1)
    waves = [np.cos(k * np.pi * s + random.uniform(0, 6, 4)[:, None]).T for k in (1, 2, 3)]
    a, b, c = waves[0] / 5 + 0.3, 0.3 * waves[1], 0.5 * waves[2]
    x, _ = core(s, a, b, c, both_ends=both_ends)
    best = _by_linear_program(s, a, b, c, both_ends)
    assert (x <= best + 1e-7).all()
    slow, fast = (StepProfile(s, np.maximum(p, 0)).duration() for p in (x, best))
    assert slow == pytest.approx(fast, rel=5e-3)


def _by_linear_program(
    s: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray, both_ends: bool
) -> np.ndarray:
    """The largest sum of x; u is the slope of x."""
    n, d = len(s) - 1, np.diff(s)
    rows, right = [], []
    for k in range(n):
        for node in (k, k + 1) if both_ends else (k,):
            for j in range(a.shape[1]):
                row = np.zeros(n + 1)
                row[[k, k + 1]] = -a[node, j] / (2 * d[k]), a[node, j] / (2 * d[k])
                row[node] += b[node, j]
                rows += [row, -row]
                right += [1 - c[node, j], 1 + c[node, j]]
    bounds = [(0, 0 if k in (0, n) else None) for k in range(n + 1)]
    found = linprog(-np.ones(n + 1), np.array(rows), np.array(right), bounds=bounds)
    assert found.success
    return found.x
