"""The linear loop against brute force, and the stability of the published control.

Brute force: the plant steps through time under controllers written out once more, driven by
exp(j w t), until only that is left. Numbers in the last part are those of the digest of Ruiz et
al. (Robotics 11 (2022) 4), found apart from this code; J1 as printed, and a tenth of it.
"""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.signal import cont2discrete

from triskele.compliant.stiffness import linear
from triskele.control.cascade import FeedForward, cascade
from triskele.control.loop import (
    Loop,
    gain_limit,
    growth,
    held,
    loci,
    loop,
    margins,
    period_limit,
    poles,
    response,
    velocity_loop,
)
from triskele.control.plant import linear_plant, plant
from triskele.description.load import load
from triskele.errors import InputError
from triskele.numerics import stacked

STAGE = load("compliant_3prs")
NOTHING = FeedForward()
PRINTED, TENTH = 1.423e-4, 1.423e-5
KT, JS = 0.2444, {"printed": PRINTED, "tenth": TENTH}
FINE = 20  # samples in a position period


def stage(J1=PRINTED, kt=KT):
    """The plant with another rotor or belt."""
    motors = STAGE.motors.drives.model_copy(update={"rotor_inertia": J1, "coupling_stiffness": kt})
    return plant(
        STAGE.model_copy(update={"motors": STAGE.motors.model_copy(update={"drives": motors})})
    )


@pytest.fixture(scope="module")
def about():
    """Linear plants at home, by J1 and kt."""
    found = {}

    def at(J1=PRINTED, kt=KT):
        if (J1, kt) not in found:
            model = stage(J1, kt)
            found[J1, kt] = linear_plant(model, stacked(model.mechanism.home()))
        return found[J1, kt]

    return at


def closed(plant, feed=NOTHING, **change):
    return loop(plant, cascade(STAGE, **change), feed)


# Brute force


def asked(plant, w, feed):
    """Angles, speeds and currents of the command exp(j w t) of each platform coordinate.

    What the load takes is K + j w d - w^2 M at the joints: in (4), of which A has the rest.
    """
    model = stage()
    M, K, S, *_ = linear(model.load, stacked(model.mechanism.home()))
    drive = model.actuators
    i, kT, J1, c1 = (
        np.diag(np.asarray(v))
        for v in (drive.ratio, drive.torque_constant, drive.rotor_inertia, drive.damping)
    )
    N = i @ S
    torque = np.linalg.inv(N.T) @ (K - w * w * M)  # at the shaft
    angles = N + (torque / KT if feed.windup else 0)
    current = np.linalg.inv(kT) @ (torque + (1j * w * c1 - w * w * J1) @ N)
    nothing = np.zeros((3, 3), complex)
    speeds = 1j * w * angles if feed.velocity else nothing
    return angles + nothing, speeds, current if feed.torque else nothing


def brute_force(item: Loop, f: float, periods: int = 800, window: int = 16) -> np.ndarray:
    """Response at `f` [Hz] from a simulation; `window` periods hold whole sines."""
    assert abs(f * window * item.period - round(f * window * item.period)) < 1e-9
    w, T, n = 2 * np.pi * f, item.period, 3
    dt, k = T / FINE, len(item.plant.A)
    whole = np.zeros((k + n, k + n))
    whole[:k, :k], whole[:k, k:] = item.plant.A, item.plant.B
    # The velocity loop that is continuous is part of what is integrated: (y, z, w, I_ff).
    inner = np.zeros((k + 3 * n, k + 3 * n))
    inner[:k, :k] = item.plant.A - item.kP * item.plant.B @ item.plant.speed
    inner[:k, k:] = item.plant.B @ np.hstack([item.kI * np.eye(n), item.kP * np.eye(n), np.eye(n)])
    inner[k : k + n, :k], inner[k : k + n, k + n : k + 2 * n] = -item.plant.speed, np.eye(n)
    plain, with_velocity = expm(whole * dt), expm(inner * dt)
    angles, speeds, fed = asked(item.plant, w, item.feed)
    y, z = np.zeros((k, n), complex), np.zeros((n, n), complex)
    current = np.zeros((n, n), complex)
    last, total = np.zeros((n, n), complex), np.zeros((n, n), complex)
    for period in range(periods):
        phase = np.exp(1j * w * T * period)
        fresh = item.kV * (angles * phase - item.plant.motor @ y) + speeds * phase
        w_c, last = (last, fresh) if item.delay else (fresh, fresh)
        for sub in range(FINE):
            if period >= periods - window:
                total += y[:n] * np.exp(-1j * w * (T * period + dt * sub))
            if not item.ticks:
                moved = with_velocity @ np.vstack([y, z, w_c, fed * phase])
                y, z = moved[:k], moved[k : k + n]
                continue
            if sub % (FINE // item.ticks) == 0:
                error = w_c - item.plant.speed @ y
                current = item.kP * error + item.kI * z + fed * phase
                z = z + T / item.ticks * error
            y = (plain @ np.vstack([y, current]))[:k]
    return total / (window * FINE)


@pytest.mark.parametrize("f", [2.5, 12.5, 37.5])
@pytest.mark.parametrize("how", ["continuous", "sampled", "late", "late and sampled"])
def test_response_is_what_time_shows(about, how, f):
    change = {"delay": int("late" in how)}
    if "sampled" in how:
        change["velocity_period"] = 1e-3
    item = closed(about(), **change)
    found, expected = response(item, np.array([f]))[0], brute_force(item, f, window=80)
    assert np.abs(found - expected).max() < 1e-6 * np.abs(np.diag(expected)).max()


@pytest.mark.parametrize(
    "feed",
    [
        FeedForward(velocity=True),
        FeedForward(windup=True),
        FeedForward(torque=True),
        FeedForward(velocity=True, windup=True, torque=True),
    ],
    ids=["velocity", "windup", "torque", "all"],
)
@pytest.mark.parametrize("velocity_period", [None, 1e-3], ids=["continuous", "sampled"])
def test_response_with_what_is_fed_forward(about, feed, velocity_period):
    item = closed(about(), feed, velocity_period=velocity_period)
    found, expected = response(item, np.array([12.5]))[0], brute_force(item, 12.5)
    assert np.abs(found - expected).max() < 1e-6 * np.abs(np.diag(expected)).max()


def test_without_sampling_the_response_is_that_of_fast_sampling(about):
    """The difference is the delay of half a period: of first order."""
    item, f = closed(about()), np.array([10.0])
    exact = response(item._replace(period=None), f)[0]
    off = [np.abs(response(item._replace(period=T), f)[0] - exact).max() for T in (2e-4, 1e-4)]
    assert off[0] / off[1] == pytest.approx(2, rel=0.02)
    assert off[1] < 0.01 * np.abs(exact).max()


def test_the_response_is_continuous_down_to_rest(about):
    for change in ({}, {"delay": 1}, {"velocity_period": 1e-3}):
        item = closed(about(), **change)
        rest, near = response(item, np.array([0.0, 1e-6]))
        assert np.allclose(rest, near, rtol=0, atol=1e-5 * np.abs(np.diag(rest)).min())
    still = response(closed(about())._replace(period=None), np.array([0.0]))[0]
    assert np.allclose(still, response(closed(about()), np.array([0.0]))[0], rtol=0, atol=1e-9)


def test_at_rest_the_belts_give_way(about):
    """kt / (kt + K / i^2): 0.946 of a lift and 0.853 of a tilt arrive; with windup, all."""
    H = response(closed(about()), np.array([0.0]))[0]
    assert np.diag(H) == pytest.approx([0.946, 0.853, 0.853], abs=5e-4)
    full = response(closed(about(), FeedForward(windup=True)), np.array([0.0]))[0]
    assert np.abs(full - np.eye(3)).max() < 1e-9


# Steps and poles


def test_held_is_the_step_of_scipy(about):
    F, G, _ = velocity_loop(closed(about()))
    Phi, Gam = held(F, G, 5e-3)
    theirs = cont2discrete((F, G, np.eye(len(F)), np.zeros_like(G)), 5e-3, method="zoh")
    assert np.allclose(Phi, theirs[0], rtol=0, atol=1e-9 * np.abs(Phi).max())
    assert np.allclose(Gam, theirs[1], rtol=0, atol=1e-9 * np.abs(Gam).max())


@pytest.mark.parametrize("change", [{}, {"delay": 1}, {"velocity_period": 1e-3}], ids=str)
def test_poles_are_those_of_one_period_of_brute_force(about, change):
    """A random start dies away as the slowest pole does."""
    item = closed(about(), **change)
    T, n, k = item.period, 3, len(item.plant.A)
    A, B, V, N = item.plant.A, item.plant.B, item.plant.speed, item.plant.motor

    def period(state):
        y, z, last = state[:k], state[k : k + n], state[k + n :]
        fresh = -item.kV * N @ y
        w = last if item.delay else fresh
        ticks = item.ticks or 4000  # a continuous velocity loop, nearly
        step = expm(np.block([[A, B], [np.zeros((n, k + n))]]) * T / ticks)
        for _ in range(ticks):
            error = w - V @ y
            current = item.kP * error + item.kI * z
            y, z = (step @ np.concatenate([y, current]))[:k], z + T / ticks * error
        return np.concatenate([y, z, fresh])

    whole = np.stack([period(e) for e in np.eye(k + 2 * n)], axis=1)
    expected = np.abs(np.linalg.eigvals(whole)).max()
    assert growth(item) == pytest.approx(expected, abs=1e-9 if item.ticks else 1e-5)


def test_at_the_gain_limit_a_pole_is_on_the_circle(about):
    for change in ({}, {"delay": 1}, {"velocity_period": 1e-3}):
        item = closed(about(), **change)
        limit = gain_limit(item)
        assert growth(item._replace(kV=limit)) == pytest.approx(1, abs=1e-6)
        assert growth(item._replace(kV=0.98 * limit)) < 1 < growth(item._replace(kV=1.02 * limit))
        assert margins(item).gain == pytest.approx(limit / item.kV)
    # However far beyond it: a gain of 1e9 1/s is to blame, not the velocity loop.
    assert gain_limit(item._replace(kV=1e9)) == pytest.approx(limit, rel=1e-6)


def test_an_unstable_velocity_loop_has_no_gain_limit(about):
    item = closed(about(TENTH), velocity_period=5e-3)
    with pytest.raises(InputError, match="velocity loop itself is unstable"):
        gain_limit(item)


@pytest.mark.parametrize("delay", [0, 1])
def test_margins_by_a_scan_of_the_locus(about, delay):
    """A delay that turns the crossing by the phase margin puts a pole on the circle."""
    item = closed(about(), delay=delay)
    found = margins(item)
    f = np.linspace(1.0, 40.0, 20001)
    L = loci(item, f)
    least = np.inf
    for column in L.T:
        at = np.flatnonzero(np.diff(np.abs(column) > 1))
        least = min(least, *np.abs(np.degrees(np.angle(-column[at]))))
    assert found.phase == pytest.approx(least, abs=0.1)
    # det(1 + L) = 0 where the loop is turned by that much at the crossover.
    turned = loci(item, np.array([found.crossover]))[0] * np.exp(-1j * np.radians(found.phase))
    assert np.abs(1 + turned).min() < 2e-3


# Numbers of the digest


@pytest.mark.parametrize(
    ("J1", "lift", "tilt"), [(PRINTED, 0.9608, 0.9612), (TENTH, 0.9606, 0.9611)], ids=JS
)
def test_largest_poles(about, J1, lift, tilt):
    found = np.sort(np.abs(poles(closed(about(J1)))))[::-1]
    assert found[0] == pytest.approx(tilt, abs=6e-5)
    assert found[1] == pytest.approx(tilt, abs=6e-5)
    assert np.abs(found - lift).min() < 6e-5


@pytest.mark.parametrize("kt", [0.06, 6.1])
@pytest.mark.parametrize("J1", JS.values(), ids=JS)
def test_belts_of_all_kinds_are_stable(about, J1, kt):
    assert growth(closed(about(J1, kt))) < 1


@pytest.mark.parametrize(
    ("J1", "phase", "limit", "period"),
    [(PRINTED, 67, 520, 41.6), (TENTH, 80, 530, 34.6)],
    ids=JS,
)
def test_published_margins(about, J1, phase, limit, period):
    item = closed(about(J1))
    found = margins(item)
    assert found.phase == pytest.approx(phase, abs=1)
    assert found.crossover == pytest.approx(9.4, abs=0.1)
    assert found.gain_limit == pytest.approx(limit, rel=0.01)
    assert 1e3 * period_limit(item) == pytest.approx(period, rel=0.01)


@pytest.mark.parametrize(
    ("J1", "stable"),
    [(PRINTED, [True, True, True, True]), (TENTH, [True, False, False, False])],
    ids=JS,
)
def test_velocity_loops_that_are_sampled(about, J1, stable):
    """At 0.5, 1, 2.5 and 5 ms."""
    found = [growth(closed(about(J1), velocity_period=T)) < 1 for T in (0.5e-3, 1e-3, 2.5e-3, 5e-3)]
    assert found == stable


@pytest.mark.parametrize("velocity_period", [None, 1e-3], ids=["continuous", "sampled"])
def test_without_an_integral_nothing_rests_on_the_unit_circle(about, velocity_period):
    """And it is what a tiny integral gain tends to, at frequencies above its own."""
    item = closed(about(), velocity_period=velocity_period)
    none, tiny = (item._replace(kI=kI) for kI in (0.0, 1e-4))
    assert growth(none) < 0.97
    f = np.array([2.0, 10.0, 40.0])
    assert np.allclose(response(none, f), response(tiny, f), rtol=1e-4, atol=1e-6)
    assert np.isfinite(response(none, np.array([0.0]))).all()
