import dataclasses
import time
from functools import lru_cache

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from irb360 import excited, robot

from triskele.dynamics.robot import rigid
from triskele.errors import InputError
from triskele.identification.base import base_parameters
from triskele.identification.consistent import Weighing, consistent_fit, unknowns
from triskele.identification.regressor import INERTIA, parameter_values
from triskele.identification.weighted import base_fit, interval
from triskele.spatial.inertia import infeasibility
from triskele.studies import irb360_identification as study

ALLOWED = (0.05, 0.10, 0.10, 0.01)  # N m, error against torques without noise


@lru_cache(maxsize=1)
def on():
    return study.bench()


def errors(seeds):
    trials = [study.trial(on(), seed) for seed in range(seeds)]
    held = {name: np.median([t.held_out[name] for t in trials], axis=0) for name in study._PAPER}
    clean = np.median([t.clean["consistent"] for t in trials], axis=0)
    return held, clean, trials


def check_errors(seeds):
    held, clean, trials = errors(seeds)
    for name, axes in (("base", 3), ("consistent", 4)):
        assert np.abs(held[name] / study.NOISE - 1)[:axes].max() < 0.05
    assert held["base"][3] < 0.20
    assert (clean <= ALLOWED).all()
    assert all(trial.consistent.converged for trial in trials)


def test_errors_are_those_of_the_noise():
    check_errors(3)


@pytest.mark.long
def test_errors_are_those_of_the_noise_over_twenty_seeds():
    check_errors(20)


def test_counts_of_the_study():
    assert study.counts(on()) == {
        "base": 37,
        "standard": 51,
        "consistent": 29,
        "reduced": 11,
    }


def first_log():
    """12 000 rows with noise."""
    part = slice(0, 3000)
    Y = on().fitted
    Y = Y._replace(matrix=Y.matrix[part], known=Y.known[part], qd=Y.qd[part])
    return Y, noisy(on().tau[part])


def noisy(tau, size=1.0, seed=0):
    return tau + size * study.NOISE * np.random.default_rng(seed).normal(size=tau.shape)


def test_29_unknowns_on_12000_rows_take_less_than_a_second():
    Y, tau = first_log()
    assert (len(on().wanted.start), tau.size) == (29, 12_000)
    start = time.process_time()
    fit = consistent_fit(Y, tau, on().wanted)
    assert time.process_time() - start < 1.0
    assert fit.converged


def test_derivatives_of_the_unknowns():
    wanted = on().wanted
    random = np.random.default_rng(0)
    u = wanted.start + 0.1 * random.normal(size=len(wanted.start))
    qd = random.normal(size=(5, 4)) * 5
    p, slope = wanted.values(u)
    bent, bent_slope = wanted.saturating(u, qd)
    assert p.shape == (71,)
    assert np.abs(bent[:, :3]).max() == 0 < np.abs(bent[:, 3]).min()
    for k, step in enumerate(1e-6 * np.eye(len(u))):
        rise = (wanted.values(u + step)[0] - wanted.values(u - step)[0]) / 2e-6
        assert np.allclose(rise, slope[:, k], rtol=1e-6, atol=1e-9)
        bend = (wanted.saturating(u + step, qd)[0] - wanted.saturating(u - step, qd)[0]) / 2e-6
        assert np.allclose(bend, bent_slope[:, :, k], rtol=1e-6, atol=1e-9)


def test_bodies_can_exist_however_bad_the_log_is():
    names = [str(p) for p in on().wanted.parameters]
    for seed in range(5):
        few = slice(100 * seed, 100 * seed + 60)
        Y = on().fitted
        Y = Y._replace(matrix=Y.matrix[few], known=Y.known[few], qd=Y.qd[few])
        tau = noisy(on().tau[few], 20.0, seed)
        fit = consistent_fit(Y, tau, on().wanted, inertia_deviation=10.0)
        for part in fit.unknowns.forms:
            first = names.index(f"{part}.m")
            ten = tuple(map(float, fit.values[first : first + 10]))
            assert infeasibility(ten) is None
        friction = [
            v
            for p, v in zip(fit.unknowns.parameters, fit.values, strict=True)
            if p.name not in INERTIA
        ]
        assert min(friction) >= 0


def test_parts_on_the_scale_keep_their_mass_and_torques_do_not_mind():
    Y, tau = first_log()
    weighed = (
        Weighing({"rod": 1.0}, 0.150),
        Weighing({"telescope_upper": 1.0, "telescope_lower": 1.0}, 1.14),
    )
    free = consistent_fit(Y, tau, on().wanted)
    fit = consistent_fit(Y, tau, on().wanted, weighed=weighed)
    values = dict(zip(map(str, Y.parameters), fit.values, strict=True))
    assert values["rod.m"] == pytest.approx(0.150, abs=1e-9)
    assert values["telescope_upper.m"] + values["telescope_lower.m"] == pytest.approx(
        1.14, abs=1e-9
    )
    assert abs(free.values[[str(p) for p in Y.parameters].index("rod.m")] - 0.150) > 1e-4
    rms = [np.sqrt(np.mean((tau - f.torques(Y)) ** 2, axis=0)) for f in (free, fit)]
    assert np.allclose(*rms, rtol=2e-3)
    with pytest.raises(InputError, match="'connector' was weighed, but is no part"):
        consistent_fit(Y, tau, on().wanted, weighed=(Weighing({"connector": 1.0}, 1.0),))


def test_what_torques_do_not_tell_stays_where_it_was():
    Y, tau = first_log()
    fit = consistent_fit(Y, tau, on().wanted)
    place = [str(p) for p in Y.parameters].index
    start, _ = on().wanted.values(on().wanted.start)
    for name in ("telescope_upper.m", "arm.m"):
        assert fit.values[place(name)] == pytest.approx(start[place(name)], rel=1e-3)
        assert fit.pull[place(name)] > 0.98
    assert fit.pull[place("drive_1.coulomb")] < 0.05


def test_outliers_count_less():
    Y, tau = first_log()
    random = np.random.default_rng(5)
    hit = random.random(tau.shape) < 0.03
    spoilt = tau + hit * random.choice([-1, 1], tau.shape) * 60 * study.NOISE
    truth = on().tau[:3000]

    def off(robust):
        least = base_fit(Y, spoilt, on().base, robust=robust)
        fit = consistent_fit(Y, spoilt, on().wanted, robust=robust, first_sigma=least.sigma)
        return [np.sqrt(np.mean((f.torques(Y) - truth)[:, :3] ** 2)) for f in (least, fit)]

    plain, robust = off(False), off(True)
    assert all(2 * r < p for r, p in zip(robust, plain, strict=True))


def test_a_drive_may_saturate_and_be_viscous_as_well():
    law = dataclasses.replace(robot().drive_friction[3], viscous=jnp.asarray(0.02))
    model = eqx.tree_at(lambda r: r.drive_friction[3], robot(), law)
    wanted = unknowns(model, excited().parameters)
    own = [name for name in wanted.names if name.startswith("drive_4")]
    assert own == [
        "drive_4.rotor",
        "drive_4.coulomb",
        "drive_4.saturating",
        "drive_4.saturating_speed",
        "drive_4.viscous",
    ]
    p, _ = wanted.values(wanted.start)
    assert np.allclose(p, parameter_values(model, excited().parameters), atol=1e-12)


def test_two_coefficients_of_ball_joints_are_found():
    Y = excited()
    start = parameter_values(robot(), Y.parameters)
    truth = start.copy()
    truth[-2:] = 0.1, 0.3
    tau = Y.matrix @ truth + Y.known
    wanted = unknowns(robot(), Y.parameters)
    assert wanted.names[-2:] == ("balls.coulomb", "balls.viscous")
    tau[:, 3] += 0.6672 * np.tanh(Y.qd[:, 3] / 8.5919)
    fit = consistent_fit(Y, tau, wanted, sigma=1e-3 * np.ones(4))
    assert np.allclose(fit.values[-2:], (0.1, 0.3), rtol=1e-3)


def test_friction_that_is_not_there_is_not_negative():
    Y, _ = first_log()
    truth = parameter_values(on().model, Y.parameters)
    names = [str(p) for p in Y.parameters]
    truth[names.index("telescope.viscous")] = 0.0
    tau = noisy(Y.matrix @ truth + Y.known, 1.0, 3)
    tau[:, 3] += 0.6672 * np.tanh(Y.qd[:, 3] / 8.5919)
    least = base_fit(Y, tau, on().base)
    fit = consistent_fit(Y, tau, on().wanted, first_sigma=least.sigma)
    assert 0 <= fit.values[names.index("telescope.viscous")] < 0.6


@pytest.mark.long
@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say():
    Y, _ = first_log()
    truth = parameter_values(on().model, Y.parameters)
    tau = Y.matrix @ truth + Y.known  # without saturating friction: the truth is of this form
    base = base_parameters(Y)
    wanted, inside = base.read @ truth, []
    for seed in range(200):
        fit = base_fit(Y, noisy(tau, 1.0, seed), base)
        inside.append(np.abs(fit.read - wanted) < interval(fit.deviation))
    share = np.mean(inside, axis=0)
    assert 0.90 < np.mean(inside) < 0.99
    assert share.min() > 0.88  # of 200 draws each, 0.95 +- 0.015
    assert len(share) == 37
    assert rigid(study.prior()).theta.shape == (13, 10)
