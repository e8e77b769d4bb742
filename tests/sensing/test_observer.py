"""The filter against solutions by hand: free and forced vibrations, statics, and its statistics."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from triskele.description.load import load
from triskele.sensing.observer import (
    USUAL,
    Law,
    RodInputs,
    Tuning,
    forced_motion,
    observed,
    rod_inputs,
)
from triskele.sensing.rods import soft_rods

RODS = soft_rods(load("omron_mini_delta_platens"))
H = 1e-3
L, EI, MU = 0.4, float(RODS.bending), float(RODS.mass)


def inputs(stiffness, push, n: int = 600) -> RodInputs:
    t = H * np.arange(n)
    rows = [np.broadcast_to(f(t)[:, None], (n, 3)) for f in (stiffness, push)]
    return RodInputs(*map(jnp.asarray, (*rows, np.zeros((n, 3)), np.zeros((n, 3)))))


def run(given: RodInputs, start, wrist=None, tuning: Tuning = USUAL, deviation: float = 0.0):
    traced = Tuning(*(jnp.asarray(part) for part in tuning))
    start = jnp.broadcast_to(jnp.asarray(start, float)[:, None], (2, 3))
    return observed(RODS, given, jnp.asarray(H), start, wrist, traced, jnp.asarray(deviation))


def test_without_encoders_it_solves_the_equation_of_motion():
    """Against an ODE solver; stiffness and push vary, the push linearly within each step."""
    w = float(RODS.frequency[0])

    def stiffness(t):
        return w**2 * (1 + 0.15 * np.sin(20 * t))

    def push(t):
        return np.interp(t, H * np.arange(600), np.sin(30 * H * np.arange(600)))

    def rates(t, z):
        return [z[1], push(t) - 2 * 0.01 * w * z[1] - stiffness(t) * z[0]]

    t = H * np.arange(600)
    exact = solve_ivp(rates, (0, t[-1]), [1e-3, 0.1], t_eval=t, rtol=1e-10, atol=1e-13, max_step=H)
    found = run(inputs(stiffness, push), [1e-3, 0.1])
    # coefficients in the middle of a step: second order
    assert np.asarray(found.eta[:, 1]) == pytest.approx(exact.y[0], abs=2e-3 * 1e-3)
    assert np.asarray(found.rate[:, 1]) == pytest.approx(exact.y[1], abs=2e-3 * 0.3)
    bend = push(t) - 2 * 0.01 * w * exact.y[1] - stiffness(t) * exact.y[0]
    assert np.asarray(found.acceleration[:, 1]) == pytest.approx(bend, abs=2e-3 * 80)


def test_with_constant_coefficients_steps_are_exact():
    w = float(RODS.frequency[0])
    z, wd = 0.01, w * np.sqrt(1 - 0.01**2)
    t = H * np.arange(600)
    found = run(inputs(lambda t: w**2 + 0 * t, lambda t: 5 + 0 * t), [0.0, 0.0])
    exact = 5 / w**2 * (1 - np.exp(-z * w * t) * (np.cos(wd * t) + z * w / wd * np.sin(wd * t)))
    assert np.asarray(found.eta[:, 0]) == pytest.approx(exact, abs=1e-15)


def test_statics_of_a_rod_under_a_linear_load():
    """Deflection and slope of (1) of `chord.py`, from equations (1) to (3) of the observer."""
    a_B, a_C = 3.0, 7.0
    ones = jnp.ones((1, 3))
    given = rod_inputs(RODS, ones, a_B * ones, a_C * ones, 0 * ones)
    eta = given.push / given.stiffness
    p_B, p_C = -MU * a_B, -MU * a_C
    delta = -(8 * p_B + 7 * p_C) * L**4 / (360 * EI)
    slope = -(7 * p_B + 8 * p_C) * L**3 / (360 * EI)
    assert np.asarray(given.rest - np.pi * eta) == pytest.approx(np.full((1, 3), delta), rel=1e-9)
    found = given.slope - np.pi / L * eta
    assert np.asarray(found) == pytest.approx(np.full((1, 3), slope), rel=1e-9)


def test_tension_and_twist_stiffen():
    ones = jnp.ones((1, 3))
    plain, pulled, tilted = (
        float(rod_inputs(RODS, c * ones, ones, ones, N * ones).stiffness[0, 0])
        for c, N in ((1.0, 0.0), (1.0, 10.0), (np.cos(0.36), 0.0))
    )
    assert pulled / plain - 1 == pytest.approx(10.0 / (np.pi**2 * EI / L**2), rel=1e-9)
    GJ = float(RODS.torsion)
    assert tilted / plain - 1 == pytest.approx(8 / np.pi**2 * GJ / EI * np.tan(0.36) ** 2, rel=1e-9)


def test_rods_that_follow_their_load_start_without_swinging():
    w = float(RODS.frequency[0])
    given = inputs(lambda t: w**2 + 0 * t, lambda t: 3 * np.sin(25 * t + 1))
    found = run(given, forced_motion(RODS, given, H)[:, 0])
    t = H * np.arange(600)
    forced = 3 / (w**2 - 25**2 + 2j * 0.01 * w * 25) * np.exp(1j * (25 * t + 1))
    assert np.asarray(found.eta[:, 0]) == pytest.approx(forced.imag, abs=2e-4 * 3 / w**2)


def test_encoders_find_what_the_model_does_not_know():
    w, noise = float(RODS.frequency[0]), 1e-6
    t = H * np.arange(600)
    real = inputs(lambda t: w**2 + 0 * t, lambda t: 5 + 2 * np.sin(10 * t))
    told = inputs(lambda t: w**2 + 0 * t, lambda t: 5 + 0 * t)
    truth = run(real, [5 / w**2, 0.0])
    wrist = -np.pi / L * truth.eta
    blind = run(told, [5 / w**2, 0.0])
    seeing = run(told, [5 / w**2, 0.0], wrist, Tuning(2.0, 0.1, noise))
    late = t > 0.1
    off = np.abs(np.asarray(blind.eta - truth.eta))[late].max()
    left = np.abs(np.asarray(seeing.eta - truth.eta))[late].max()
    assert left < 0.02 * off


def test_its_deviation_is_the_spread_of_its_errors():
    """Two hundred runs with disturbances and noise as the filter believes them to be."""
    random, n, tuning = np.random.default_rng(1), 300, Tuning(1.0, 0.05, 2e-4)
    w, fade = float(RODS.frequency[0]), np.exp(-H / 0.05)
    errors = []
    for _ in range(67):
        f = np.zeros((n, 3))
        f[0] = random.normal(size=3)
        for k in range(1, n):
            f[k] = fade * f[k - 1] + np.sqrt(1 - fade**2) * random.normal(size=3)
        # f is held within a step by the filter, and so it is here
        eta = np.zeros((n, 3))
        z = np.zeros((2, 3))
        wd = w * np.sqrt(1 - 1e-4)
        c, s, d = np.cos(wd * H), np.sin(wd * H) / wd, np.exp(-0.01 * w * H)
        Phi = d * np.array([[c + 0.01 * w * s, s], [-(w**2) * s, c - 0.01 * w * s]])
        held = np.array([(1 - Phi[0, 0]) / w**2, Phi[0, 1]])
        for k in range(1, n):
            z = Phi @ z + held[:, None] * f[k - 1]
            eta[k] = z[0]
        wrist = -np.pi / L * eta + 2e-4 * random.normal(size=(n, 3))
        given = inputs(lambda t: w**2 + 0 * t, lambda t: 0 * t, n)
        found = run(given, [0.0, 0.0], jnp.asarray(wrist), tuning)
        errors.append((np.asarray(found.eta) - eta)[100:] / np.asarray(found.deviation)[100:])
    assert np.std(errors) == pytest.approx(1.0, abs=0.08)


@pytest.mark.parametrize("z", [(1e-4, -1e-3), (-1e-4, 0.0), (0.0, 0.02)])
def test_what_it_starts_with_is_uncertain_by_a_tenth_of_the_swing(z):
    law = jax.tree.map(lambda leaf: leaf[0], Law.of(RODS, jnp.asarray(0.0), USUAL))
    w = float(RODS.frequency[0])
    swing = np.hypot(z[0], z[1] / w) / 10
    P = np.asarray(law.start(jnp.asarray(z)).P)
    assert np.sqrt(np.diag(P)) == pytest.approx([swing, w * swing, 0.1])


def test_the_law_takes_single_steps_as_a_controller_does():
    w = float(RODS.frequency[0])
    given = inputs(lambda t: w**2 + 0 * t, lambda t: 5 + np.sin(40 * t), 20)
    whole = run(given, [1e-4, 0.0], -np.pi / L * jnp.full((20, 3), 1e-4))
    traced = Tuning(*(jnp.asarray(part) for part in USUAL))
    law = Law.of(RODS, jnp.asarray(0.0), traced)
    one = jax.tree.map(lambda leaf: leaf[0], law)
    seen = -np.pi / L * jnp.asarray(1e-4)
    now = one.corrected(one.start(jnp.asarray([1e-4, 0.0])), seen)
    for k in range(19):
        push = given.push[:, 0]
        now = one.predicted(now, jnp.asarray(H), jnp.asarray(w**2), push[k], push[k + 1])
        now = one.corrected(now, seen)
    assert float(now.z[0]) == pytest.approx(float(whole.eta[-1, 0]), rel=1e-12)
