import jax.numpy as jnp
import numpy as np
import pytest

from triskele.description.load import load
from triskele.description.schema import Motor, Motors
from triskele.errors import InputError, OutOfReach, UnknownName
from triskele.identification import excitation
from triskele.identification.excitation import excite, fourier_basis, spline_basis
from triskele.identification.regressor import torque_regressor
from triskele.studies import irb360_identification as study


@pytest.mark.parametrize("make", [fourier_basis, spline_basis])
def test_motions_begin_and_end_at_rest(make):
    t = np.linspace(0, 6, 601)
    basis = make(t, 6.0, 10)
    assert basis.shape == (4, 601, 1 + 18 if make is fourier_basis else 11)
    for order in (1, 2):
        assert np.abs(basis[order][[0, -1]]).max() < 1e-9 * np.abs(basis[order]).max()
        slope = np.gradient(basis[order - 1], t, axis=0)
        assert np.abs(slope - basis[order])[2:-2].max() < 0.02 * np.abs(basis[order]).max()
    assert np.linalg.matrix_rank(basis[0]) == basis.shape[2]
    assert (
        np.abs(basis[0] @ np.linalg.lstsq(basis[0], np.ones(601), rcond=None)[0] - 1).max() < 1e-9
    )


def test_the_smooth_condition_number_becomes_the_condition_number():
    random = np.random.default_rng(0)
    Y = random.normal(size=(40, 2, 6)) * np.array([1, 2, 3, 4, 5, 100.0])
    rows = Y.reshape(-1, 6)
    values = np.linalg.svd(rows / np.linalg.norm(rows, axis=0), compute_uv=False)
    f, condition = excitation._criterion(jnp.asarray(Y), "condition", jnp.asarray(400.0))
    assert float(condition) == pytest.approx(values[0] / values[-1])
    assert np.exp(float(f)) == pytest.approx(values[0] / values[-1], rel=1e-2)
    f, _ = excitation._criterion(jnp.asarray(Y), "d-optimal", jnp.asarray(1.0))
    assert float(f) == pytest.approx(-np.linalg.slogdet(rows.T @ rows)[1] / 6)


class Bowl:
    """A search without a robot: the condition number is 1 + |eta|^2, allowed is eta[0] > 0.2."""

    def __init__(self):
        self.calls = 0

    def __call__(self, eta, s):
        self.calls += 1
        short = jnp.maximum(0.2 - eta[0], 0.0)
        square = jnp.sum(eta**2)
        score = excitation._Score(1 + square, square, short)
        push = jnp.zeros(len(eta)).at[0].set(-2e3 * short)
        return (square + 1e3 * short**2, score), 2 * eta + push


@pytest.fixture
def task(monkeypatch):
    bowl = Bowl()
    monkeypatch.setattr(excitation, "_Kernel", lambda task: bowl)
    monkeypatch.setattr(excitation, "_within", lambda task, draws: np.ones(len(draws), bool))
    basis = fourier_basis(np.linspace(0, 1, 20), 1.0, 3)
    nothing = (None, (), None)
    half = np.ones(2)
    return excitation._Task(*nothing, basis, half, 0 * half, 0.0, [], *[half] * 4, "condition")


def test_the_search_keeps_the_best_that_is_allowed_and_is_repeatable(task):
    seen = []
    eta, history, stopped = excitation._search(task, 3, 200, 5, seen.append)
    again, _, _ = excitation._search(task, 3, 200, 5, None)
    assert np.array_equal(eta, again)
    assert not stopped
    assert (len(history), seen[-1]) == (205, 1.0)
    assert 0.2 - excitation._ALLOWED < eta[0] < 0.3
    assert np.abs(eta[1:]).max() < 0.2
    assert history == sorted(history, reverse=True)
    other, _, _ = excitation._search(task, 4, 200, 5, None)
    assert not np.array_equal(eta, other)


def test_an_interrupted_search_returns_the_best_so_far(task):
    def impatient(part):
        if part > 0.5:
            raise KeyboardInterrupt

    eta, history, stopped = excitation._search(task, 3, 200, 5, impatient)
    assert stopped
    assert len(history) == 103
    assert 1 + np.sum(eta**2) == pytest.approx(history[-1])


@pytest.fixture(scope="module")
def small():
    """The search on a small Delta with limits of its drives, motions of 2 s."""
    robot = load("omron_mini_delta")
    limits = robot.limits.model_copy(update={"joint_speed": (3.0,), "joint_acceleration": (30.0,)})
    robot = robot.model_copy(update={"limits": limits})
    basis = fourier_basis(excitation._times(2.0), 2.0, 3)
    return robot, excitation._task(robot, "condition", basis, excitation._SAMPLES)


def test_the_gradient_is_that_of_finite_differences(small):
    kernel, random = excitation._Kernel(small[1]), np.random.default_rng(1)
    eta = 2 * excitation._drawn(small[1], random)  # beyond limits, so that penalties count
    (_, score), gradient = kernel(eta, 3.0)
    assert float(score.excess) > 1
    for _ in range(3):
        way = random.normal(size=eta.shape)
        ahead, behind = (kernel(eta + step * way, 3.0)[0][0] for step in (1e-6, -1e-6))
        assert gradient @ way == pytest.approx((ahead - behind) / 2e-6, rel=1e-5)


def test_motions_that_are_too_violent_are_made_as_small_as_the_limits_ask(small):
    robot, task = small
    slow = task._replace(speeds=task.speeds / 50)
    draws = np.stack([excitation._drawn(task, np.random.default_rng(k)) for k in range(3)])
    assert not excitation._within(slow, draws).any()
    parts = excitation._allowed_parts(slow, draws)[:, None]
    assert excitation._within(slow, parts * draws).all()
    assert not excitation._within(slow, (parts + 2**-10) * draws).any()
    limits = robot.limits.model_copy(update={"joint_speed": (0.06,)})
    found = excite(robot.model_copy(update={"limits": limits}), steps=0, tries=3, duration=2.0)
    assert found.limits[0].limit.key == "joint_speed"
    assert 0.9 < found.use <= 1


def test_the_limit_that_forbids_every_motion_is_named(small):
    motors = Motors(drives=Motor(gear_ratio=10.0, peak_torque=1e-3))
    weak = small[0].model_copy(update={"motors": motors})
    with pytest.raises(OutOfReach, match=r"the torque of motor \d \(peak_torque\) forbids all"):
        excite(weak, steps=0, tries=1, duration=2.0)


def test_what_cannot_be_searched_is_refused():
    robot = load("omron_mini_delta")
    with pytest.raises(UnknownName, match="No criterion is called 'conditon'"):
        excite(robot, criterion="conditon")
    with pytest.raises(UnknownName, match="No shape is called 'sine'"):
        excite(robot, shape="sine")
    with pytest.raises(InputError, match="is not a motion that can be made"):
        excite(robot, duration=-1.0)
    with pytest.raises(InputError, match="needs 3 terms"):
        excite(robot, terms=1)


@pytest.mark.long
def test_condition_number_of_the_irb360():
    found = excite(load(study.ROBOT))
    assert found.rank == 37
    assert found.condition < 60  # what is asked for is 85
    assert found.use < 1
    motion = found.motion
    Y = torque_regressor(
        excitation.rigid(load(study.ROBOT)),
        *(np.asarray(part) for part in (motion.x, motion.xd, motion.xdd)),
    )
    assert len(Y.parameters) == 71
    for rate in (motion.xd, motion.xdd):
        assert np.abs(np.asarray(rate)[[0, -1]]).max() < 1e-9


@pytest.mark.long
def test_splines_and_determinants_on_a_small_delta():
    robot = load("omron_mini_delta")
    found = excite(robot, shape="b-spline", terms=16, steps=60, tries=4, duration=3.0)
    assert found.condition < 40
    assert found.use < 1
    assert np.isfinite(found.history[-1])
    best = excite(robot, criterion="d-optimal", steps=60, tries=4, duration=3.0)
    assert best.rank == 18
    assert best.history[-1] < best.history[4]
