"""Noise at rest, and rows weighted by it: seeded noise of another size for each drive."""

from functools import lru_cache

import numpy as np
import pytest

from triskele.description.load import load
from triskele.description.tables import Table
from triskele.errors import TableError
from triskele.identification.base import base_parameters
from triskele.identification.identify import identify
from triskele.identification.noise import RestNoise, rest_noise, weights
from triskele.identification.regressor import Parameter, Regressor
from triskele.identification.signals import JointSamples
from triskele.identification.synthetic import synthetic_log
from triskele.identification.weighted import base_fit, interval
from triskele.kinematics.motion import fourier, resting

ROBOT = load("omron_mini_delta")
NOISE = np.array([0.2, 0.02, 0.004])  # [N m] of the three drives


def poses(noise, *, seed=0, step=0.0, drift=0.0):
    """A log of four static poses of half a second each, 1 N m and more held there."""
    random = np.random.default_rng(seed)
    t = np.arange(500) / 200
    place = np.repeat(np.arange(5), 100)
    q = 0.2 + 0.1 * np.interp(t, t, place)[:, None] * np.ones(3)
    tau = 1.0 + 0.3 * place[:, None] + drift * t[:, None] + random.normal(size=(500, 3)) * noise
    if step:
        tau = np.round(tau / step) * step
    qd = np.gradient(q, t[1], axis=0)
    return JointSamples(t, q, qd, 0 * qd, tau)


def table(log, name="rest.csv"):
    columns = {"t": ("s", log.t)}
    columns |= {f"q{k + 1}": ("rad", log.q[:, k]) for k in range(3)}
    return Table(columns | {f"tau{k + 1}": ("N m", log.tau[:, k]) for k in range(3)}, name)


@lru_cache(maxsize=1)
def motions():
    found = []
    for seed in (0, 1):
        size = np.array([0.05, 0.05, 0.03]) / np.arange(1, 9)[:, None]
        rows = resting(*(np.random.default_rng(seed).normal(size=(2, 8, 3)) * size))
        found.append(fourier((0, 0, -0.36), rows.sine, rows.cosine, period=3.0, rate=150))
    return found


def test_noise_at_rest_is_pooled_over_poses_and_free_of_drift():
    for drift in (0.0, 0.3):
        found = rest_noise([poses(NOISE, drift=drift), poses(NOISE, seed=1)])
        assert found is not None
        assert np.allclose(found.deviation, NOISE, rtol=0.1)
        assert found.freedom > 900
    moving = poses(NOISE)._replace(qd=np.ones((500, 3)))
    assert rest_noise([moving]) is None
    # Noise below the step in which efforts are written: that of the step.
    coarse = rest_noise([poses(0.1 * NOISE, step=0.05)])
    assert coarse is not None
    assert (coarse.deviation >= 0.05 / np.sqrt(12) - 1e-12)[0]


def test_rows_count_by_rest_where_residuals_agree_and_by_residuals_elsewhere():
    rest = RestNoise(np.array([0.1, 0.1, 0.1]), 2000, 10.0)
    found = weights(np.array([0.104, 0.25, 0.06]), rest, 5000)
    assert found.by_rest.tolist() == [True, False, False]
    assert np.allclose(found.sigma, [0.1, 0.25, 0.06])
    assert np.allclose(found.ratio, [1.04, 2.5, 0.6])
    few = weights(np.array([0.125, 0.25, 0.06]), rest._replace(freedom=60), 5000)
    assert few.by_rest.tolist() == [True, False, False]  # 60 samples tell it to 9 %


def test_weights_from_rest_lower_the_error_and_their_intervals_hold():
    """60 draws of 400 samples: against equal weights, and against weights from residuals."""
    random = np.random.default_rng(7)
    matrix, nothing = random.normal(size=(400, 3, 8)), np.zeros((400, 3))
    parameters = tuple(Parameter("rod", f"b{k}", "1", k) for k in range(8))
    Y = Regressor(matrix, parameters, nothing, nothing, np.zeros((400, 3, 10)))
    clean, base = matrix @ random.normal(size=8), base_parameters(Y)
    truth = base_fit(Y, clean, base, sigma=NOISE)
    errors, inside = [], []
    for seed in range(60):
        tau = clean + np.random.default_rng(seed).normal(size=clean.shape) * NOISE
        rest = rest_noise([poses(NOISE, seed=seed + 1000)])
        assert rest is not None
        own = base_fit(Y, tau, base)
        chosen = weights(own.sigma, rest, len(tau))
        assert chosen.by_rest.all()
        fits = [base_fit(Y, tau, base, sigma=s) for s in (chosen.sigma, np.full(3, 0.1))]
        off = [fit.values - truth.values for fit in (*fits, own)]
        errors.append([d @ np.linalg.solve(truth.covariance, d) / base.rank for d in off])
        inside.append(np.abs(fits[0].read - truth.read) <= interval(fits[0].deviation))
    by_rest, equal, by_residuals = np.sqrt(np.mean(errors, axis=0))
    assert by_rest < 0.5 * equal
    assert by_rest == pytest.approx(by_residuals, rel=0.03)  # of a model that is right
    assert by_rest == pytest.approx(1.0, abs=0.1)
    assert 0.90 <= np.mean(inside) <= 0.98


@pytest.mark.long
def test_identify_says_what_the_rows_count_by():
    """Drive 3 shakes in motion, by ten times its noise at rest."""
    size = np.array([0.02, 0.02, 0.002])
    moving = np.array([0.02, 0.02, 0.02])
    logs = [synthetic_log(ROBOT, m, moving.tolist(), seed=k) for k, m in enumerate(motions())]
    verdict = identify(ROBOT, logs[:1], logs[1:], rest=[table(poses(size))]).verdict
    assert verdict.weights is not None and verdict.at_rest is not None
    assert verdict.weights.by_rest.tolist() == [True, True, False]
    assert np.allclose(verdict.noise, moving, rtol=0.1)
    said = " ".join(verdict.recommendation)
    assert "Rows of drives 1, 2 are weighted by the noise at rest." in said
    assert "Residuals of drive 3 are 10 times its noise at rest" in said.replace("9.9", "10")
    assert verdict.to_dict()["weights"]["by_rest"] == [True, True, False]
    with pytest.raises(TableError, match=r"synthetic log: no rest of 0\.2 s"):
        identify(ROBOT, logs[:1], logs[1:], rest=[logs[0]])
