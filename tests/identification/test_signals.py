"""Logs of the IRB 360, as they are and as they go wrong."""

from functools import lru_cache

import numpy as np
import pytest

from triskele.description.load import load
from triskele.description.tables import Table
from triskele.dynamics.robot import rigid
from triskele.errors import InputError, MissingFact, TableError
from triskele.identification.signals import samples
from triskele.identification.synthetic import synthetic_log
from triskele.kinematics.motion import fourier, resting
from triskele.studies import irb360_identification as study

NAMES = [f"{kind}{k}" for kind in ("q", "tau") for k in (1, 2, 3, 4)]


@lru_cache(maxsize=1)
def prior():
    described = study.prior()
    return described, rigid(described)


@lru_cache(maxsize=1)
def good():
    """4 s of a log at 250 Hz, as columns."""
    log = synthetic_log(
        load(study.ROBOT), study.motions()["determinant"], study.NOISE.tolist(), seed=1
    )
    return {name: log[name].values[:2000:2] for name in ("t", *NAMES)}


def table(columns, place="a.csv"):
    units = {"t": "s", "q": "rad", "tau": "N m", "motor": "N m", "current": "A"}
    return Table(
        {name: (units[name.rstrip("1234")], values) for name, values in columns.items()}, place
    )


def read(columns, **options):
    return samples(*prior(), table(columns), **options)


def test_a_good_log_gives_platform_and_rates():
    found = read(good())
    assert found.filled == 0
    assert 950 < len(found.t) < 1000
    motion = study.motions()["determinant"]
    place = np.searchsorted(np.asarray(motion.t), found.t - 1e-9)
    assert np.abs(found.x - np.asarray(motion.x)[place]).max() < 1e-9
    inner = slice(20, -20)
    wanted = np.asarray(motion.xdd)[place]
    assert np.abs(found.xdd - wanted)[inner].max() < 0.02 * np.abs(wanted).max()


@pytest.mark.parametrize("kind", ["motor", "current"])
def test_currents_and_motor_torques_are_converted(kind):
    described, model = prior()
    columns = dict(good())
    for k, i in enumerate((33.0, 33.0, 33.0, 11.25), 1):
        columns[f"{kind}{k}"] = columns.pop(f"tau{k}") / (i * (0.5 if kind == "current" else 1.0))
    if kind == "current":
        motors = described.motors
        for constant in (None, 0.5):
            parts = {
                name: getattr(motors, name).model_copy(update={"torque_constant": constant})
                for name in ("drives", "axis4")
            }
            described = described.model_copy(update={"motors": motors.model_copy(update=parts)})
            if constant is not None:
                continue
            with pytest.raises(MissingFact, match=r"'motors\.drives\.torque_constant' to convert"):
                samples(described, model, table(columns))
    found = samples(described, model, table(columns))
    assert np.allclose(found.tau, read(good()).tau)


def test_a_few_missing_samples_are_filled_in_and_left_out():
    keep = np.ones(1000, bool)
    keep[[300, 301, 500]] = False
    found = read({name: values[keep] for name, values in good().items()})
    assert found.filled == 3
    assert not np.isin(np.round(found.t / 0.004), (300, 301, 500)).any()
    assert np.abs(found.x[:, 2]).max() < 1.2


def test_a_filter_takes_noise_away_and_keeps_the_phase():
    rough, smooth = read(good()), read(good(), cutoff=15.0)
    clean = synthetic_log(load(study.ROBOT), study.motions()["determinant"])
    for found in (rough, smooth):
        place = np.round(found.t * 500).astype(int)
        error = found.tau[:, 0] - clean["tau1"].values[place]
        assert np.sqrt(np.mean(error**2)) == pytest.approx(1.5 if found is rough else 0.85, rel=0.2)
    with pytest.raises(InputError, match="a cutoff of 500 Hz is not between 0 and 125 Hz"):
        read(good(), cutoff=500.0)


def swapped(columns, a, b):
    return {**columns, a: columns[b], b: columns[a]}


BAD = {
    "swapped efforts": (
        lambda c: swapped(c, "tau1", "tau2"),
        "columns 2 and 1 are swapped",
    ),
    "swapped angles": (lambda c: swapped(c, "q2", "q3"), "columns 3 and 2 are swapped"),
    "degrees": (
        lambda c: {n: np.degrees(v) if n[0] == "q" else v for n, v in c.items()},
        "these are degrees",
    ),
    "sign of an effort": (lambda c: {**c, "tau3": -c["tau3"]}, "efforts of drive 3 .* wrong sign"),
    "sign of axis 4": (lambda c: {**c, "tau4": -c["tau4"]}, "efforts of drive 4 .* wrong sign"),
    "sign of all angles": (
        lambda c: {n: -v if n in ("q1", "q2", "q3") else v for n, v in c.items()},
        "q1 goes from .* it has the wrong sign",
    ),
    "sign of an angle": (lambda c: {**c, "q4": -c["q4"]}, "drive 4 have the wrong sign, or q4 has"),
    "too short": (lambda c: {n: v[:100] for n, v in c.items()}, "too short: 0.396 s"),
    "a handful": (lambda c: {n: v[:6] for n, v in c.items()}, "too short: 6 rows"),
    "clock jumps on": (
        lambda c: {**c, "t": c["t"] + 0.3 * (np.arange(1000) > 400)},
        "row 402: the clock jumps by 0.304 s",
    ),
    "clock jumps back": (
        lambda c: {**c, "t": c["t"] - 0.1 * (np.arange(1000) > 400)},
        "row 402: the clock jumps by -0.096 s",
    ),
    "no efforts": (
        lambda c: {n: v for n, v in c.items() if n[:3] != "tau"},
        "there are no efforts",
    ),
    "no angles": (lambda c: {n: v for n, v in c.items() if n[0] != "q"}, "there is no column 'q1'"),
    "not its angles": (lambda c: {**c, "q1": c["q1"] - 2.5}, "is it an angle of this robot"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_log_is_named(what):
    spoil, sentence = BAD[what]
    with pytest.raises(TableError, match=sentence):
        read(spoil(dict(good())))


def test_constant_velocity_alone_is_named():
    t = np.arange(1000) * 0.004
    columns = {"t": t} | {f"q{k}": 0.2 + 0.05 * t for k in (1, 2, 3)} | {"q4": 0.5 * t}
    columns |= {f"tau{k}": np.full(1000, 3.0) for k in (1, 2, 3, 4)}
    with pytest.raises(TableError, match="constant velocity only: no drive accelerates"):
        read(columns)


def test_a_clock_that_jitters_keeps_its_usual_step():
    """A first interval that is 8 % long changes no rate elsewhere."""
    columns = dict(good())
    t = np.array(columns["t"])
    t[0] -= 0.08 * (t[1] - t[0])
    late = read(columns | {"t": t})
    usual = read(good())
    assert np.allclose(late.qdd, usual.qdd, rtol=1e-3, atol=1e-3 * np.abs(usual.qdd).max())


def test_rates_beside_a_gap_come_from_what_is_there():
    columns = {name: np.delete(values, range(500, 505)) for name, values in good().items()}
    found = read(columns)
    assert found.filled == 5
    usual = read(good())
    shared = np.isin(np.round(usual.t, 6), np.round(found.t, 6))
    assert 5 <= len(usual.t) - shared.sum() <= 5 + 6  # some beside it have too little
    assert np.abs(found.qdd - usual.qdd[shared]).max() < 0.02 * np.abs(usual.qdd).max()


def test_a_fifth_of_the_rows_may_be_lost():
    keep = np.random.default_rng(0).uniform(size=1000) > 0.2
    found = read({name: values[keep] for name, values in good().items()})
    assert len(found.t) > 0.6 * 1000
    usual = read(good())
    shared = np.isin(np.round(usual.t, 6), np.round(found.t, 6))
    rms = np.sqrt(np.mean((found.qdd - usual.qdd[shared]) ** 2, axis=0))
    assert (rms < 0.01 * usual.qdd.std(axis=0)).all()


def test_efforts_turned_round_are_found_without_friction():
    robot = load("omron_mini_delta")
    random = np.random.default_rng(0)
    size = np.array([0.05, 0.05, 0.03]) / np.arange(1, 6)[:, None]
    rows = resting(*(random.normal(size=(2, 5, 3)) * size))
    motion = fourier((0, 0, -0.36), rows.sine, rows.cosine, period=2.0, rate=200)
    log = synthetic_log(robot, motion, 0.0, seed=0)
    turned = {
        name: (log[name].unit, (-1 if name.startswith("tau") else 1) * log[name].values)
        for name in log.names
    }
    with pytest.raises(TableError, match="efforts of drive 1 have the wrong sign"):
        samples(robot, rigid(robot), Table(turned, "a.csv"))
