"""What columns explain of efforts that a model leaves over, against least squares and chance."""

import numpy as np
import pytest
from scipy.signal import lfilter

from triskele.identification.evidence import evidence, explained, whiteness
from triskele.identification.signals import Samples

N, DRIVES = 2000, 2


def log(tau):
    nothing = np.zeros(tau.shape)
    return Samples("a", np.arange(len(tau)) * 0.01, *(nothing,) * 6, tau)


def model(random, tau):
    Y = random.normal(size=(N, DRIVES, 4))
    return Y, evidence([log(tau)], Y, tau, 0 * tau, np.ones(DRIVES), np.ones(tau.shape))


def correlated(random, share):
    """Noise of deviation one, each sample leaning on the one before."""
    white = random.normal(size=(N, DRIVES)) * np.sqrt(1 - share**2)
    return lfilter([1.0], [1.0, -share], white, axis=0)


def test_what_columns_explain_is_least_squares_with_them():
    random = np.random.default_rng(0)
    tau = random.normal(size=(N, DRIVES))
    Y, known = model(random, tau)
    D = random.normal(size=(N, DRIVES, 2)) + Y[:, :, :2]
    found = explained(known, D)
    both = np.concatenate([Y, D], axis=2).reshape(-1, 6)
    with_them = np.linalg.lstsq(both, tau.ravel(), rcond=None)[0]
    without = np.linalg.lstsq(both[:, :4], tau.ravel(), rcond=None)[0]
    assert np.allclose(found.values, with_them[4:], atol=1e-12)
    assert np.allclose(found.moved, with_them[:4] - without, atol=1e-12)
    assert explained(known, Y[:, :, :1]) is None


def test_chance_is_that_of_noise_even_if_it_is_correlated():
    """One column in twenty is significant at 5 %, of noise of which a tenth is independent."""
    random = np.random.default_rng(1)
    small = []
    for _ in range(200):
        _, known = model(random, correlated(random, 0.9))
        D = correlated(random, 0.9)[:, :, None]
        small.append(explained(known, D).chance < 0.05)
    assert np.mean(small) < 0.11  # and 0.5 if noise were taken as white


def test_whiteness_of_noise_that_is_white_and_of_noise_that_is_not():
    """Of samples that lean on the last by rho, (1 - rho) / (1 + rho) are independent."""
    random = np.random.default_rng(2)
    chances = [whiteness(random.normal(size=(1000, 1))).chance[0] for _ in range(200)]
    assert 0.01 < np.mean(np.array(chances) < 0.05) < 0.1
    leaning = np.mean([whiteness(correlated(random, 0.5)).effective for _ in range(10)])
    assert leaning == pytest.approx(1 / 3, rel=0.1)
    assert whiteness(correlated(random, 0.5)).chance.max() < 1e-10


def test_pairs_over_a_gap_do_not_count():
    """Each fifth sample equals the next, and there is a gap between the two."""
    e = np.random.default_rng(3).normal(size=(N, 1))
    e[5::5] = e[4:-1:5]
    joined = log(np.zeros((N, 1)))
    apart = joined._replace(t=joined.t + 0.5 * (np.arange(N) // 5))
    assert whiteness(e, [joined]).chance[0] < 1e-10
    assert whiteness(e, [apart]).chance[0] > 1e-3
