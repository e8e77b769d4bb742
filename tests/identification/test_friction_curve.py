"""Friction curves from moves at constant speed: laws that were put in, and what tells nothing."""

from functools import lru_cache

import numpy as np
import pytest

from triskele.description.load import load
from triskele.description.schema import Friction
from triskele.description.tables import Table
from triskele.errors import InputError, TableError
from triskele.identification.constant_speed import Stretch, speed_point
from triskele.identification.friction_curve import chosen, fit_friction, friction_curve
from triskele.identification.synthetic import synthetic_log
from triskele.kinematics.build import build
from triskele.kinematics.cycles import joint_motion_along, joint_strokes

ROBOT = load("omron_mini_delta")
SPEEDS = (0.1, 0.2, 0.4, 0.7, 1.0, 1.5)
RATE = 250.0
W_0 = 0.01


def linear(w):
    return 0.05 * np.tanh(w / W_0) + 0.03 * w


@lru_cache(maxsize=4)
def frictionless(drive=0):
    """A log of strokes without friction, and the speeds of its drives."""
    mechanism, robot = build(ROBOT), ROBOT.model_copy(update={"friction": Friction()})
    motion = joint_strokes(mechanism, drive, SPEEDS, stroke=0.5, acceleration=20.0, rate=RATE)
    return synthetic_log(robot, motion), np.asarray(joint_motion_along(mechanism, motion).qd)


def log(law, *, drive=0, noise=0.02, rows=slice(None), sign=1.0, name="log.csv"):
    """Strokes of one drive that rubs as `law`, here and not in the code under test."""
    clean, qd = frictionless(drive)
    columns = {key: (clean[key].unit, clean[key].values.copy()) for key in clean.names}
    random = np.random.default_rng(0)
    for k in range(3):
        effort = columns[f"tau{k + 1}"][1]
        effort += random.normal(size=len(qd)) * noise + (law(qd[:, k]) if k == drive else 0.0)
        effort *= sign
    return Table({key: (unit, values[rows]) for key, (unit, values) in columns.items()}, name)


def held(fit, **truth):
    """Whether the intervals of a fit hold the truth."""
    found = {c.name: c for c in fit.coefficients}
    return [abs(found[k].value - v) <= found[k].half_interval for k, v in truth.items()]


def test_strokes_hold_their_speeds_and_end_where_they_began():
    clean, qd = frictionless()
    q = clean["q1"].values
    for w in SPEEDS:
        for way in (w, -w):
            way_of_it = np.ptp(q[np.abs(qd[:, 0] - way) < 1e-9])
            assert abs(way_of_it - (0.5 - w**2 / 20.0)) < 2.5 * w / RATE
    assert abs(q[-1] - q[0]) < 1e-9 and abs(np.ptp(q) - 0.5) < 1e-3
    with pytest.raises(InputError, match=r"strokes take 0\.2 at least"):
        joint_strokes(build(ROBOT), 0, [2.0], stroke=0.1, acceleration=20.0)


def test_the_law_comes_back_with_the_model_and_by_both_directions_alone():
    """Gravity is 50 times the friction's error; a file with arms 20 % heavier changes nothing."""
    arm = ROBOT.bodies.arm
    heavier = arm.model_copy(update={"mass": 1.2 * arm.mass})
    bodies = ROBOT.bodies.model_copy(update={"arm": heavier})
    wrong = ROBOT.model_copy(update={"bodies": bodies})
    for robot, model in ((ROBOT, None), (wrong, None), (ROBOT, False)):
        found = friction_curve(robot, [log(linear)], model=model)
        (drive,) = found.drives
        assert (drive.drive, drive.unit, drive.best.shape) == (1, "N m", "Coulomb and viscous")
        assert [round(p.speed, 2) for p in drive.points] == list(SPEEDS)
        assert all(held(drive.best, coulomb=0.05, viscous=0.03))
        assert all(c.half_interval < 0.005 for c in drive.best.coefficients)
        assert np.allclose([p.deviation for p in drive.points], 0.02, rtol=0.15)
        assert all(abs(p.friction - linear(p.speed)) < 4 * p.error for p in drive.points)
        uneven = [note for note in drive.notes if "do not turn round" in note]
        assert bool(uneven) == (robot is wrong)
    table = found.to_table()
    assert table["friction"].unit == "N m" and table["speed"].unit == "rad/s"
    assert np.allclose(table["fitted"].values, [linear(w) for w in SPEEDS], atol=3e-3)


LAWS = {
    "Coulomb and viscous": (
        {"coulomb": 4.6, "viscous": 1.7},
        lambda w: 4.6 + 1.7 * w,
        np.array([0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 3.0]),
    ),
    "Coulomb and saturating": (
        {"coulomb": 0.53, "saturating": 0.67, "saturating_speed": 8.6},
        lambda w: 0.53 + 0.67 * np.tanh(w / 8.6),
        np.array([1.0, 2, 4, 6, 8, 12, 16, 24, 40, 55]),
    ),
    "Stribeck": (
        {"coulomb": 4.0, "viscous": 1.7, "stribeck": 1.5, "stribeck_speed": 0.3},
        lambda w: 4.0 + 1.5 * np.exp(-((w / 0.3) ** 2)) + 1.7 * w,
        np.array([0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0]),
    ),
}


@pytest.mark.parametrize("shape", LAWS)
def test_intervals_hold_and_the_shape_is_told_by_evidence(shape):
    """60 draws of noise over gravity that no model knows, 300 samples each way."""
    truth, law, speeds = LAWS[shape]
    inside, told = [], []
    q = np.linspace(-0.3, 0.3, 300)
    nobody = np.zeros((300, 0))
    for seed in range(60):
        random, points = np.random.default_rng(seed), []
        for w in speeds:
            level = [
                Stretch(way * w, q, nobody, way * law(w) + 9 * np.cos(q + 0.4) + e)
                for way, e in zip((1, -1), 0.2 * random.normal(size=(2, 300)), strict=True)
            ]
            points.append(speed_point(level, modelled=False))
        fits = fit_friction(points, W_0, "rad")
        told.append(chosen(fits).shape == shape)
        inside.append(held(next(fit for fit in fits if fit.shape == shape), **truth))
    assert np.mean(told) >= 0.95
    assert 0.90 <= np.mean(inside) <= 0.98


def test_what_tells_nothing_is_left_out_with_a_sentence():
    _, qd = frictionless()
    back = np.flatnonzero(np.abs(qd[:, 0] + SPEEDS[-1]) < 1e-9)[0]
    found = friction_curve(ROBOT, [log(linear, rows=slice(0, int(back) - 5))])
    (drive,) = found.drives
    assert [p.both for p in drive.points] == [True] * 5 + [False]
    assert drive.points[-1].backward is None
    assert any("1.5 rad/s: one direction only" in note for note in drive.notes)
    alone = friction_curve(ROBOT, [log(linear, rows=slice(0, int(back) - 5))], model=False)
    assert len(alone.drives[0].points) == 5
    long = friction_curve(ROBOT, [log(linear)], least=1.0)
    assert len(long.drives[0].points) == 3  # 0.5 rad at 0.7 rad/s takes less
    assert "stretches are shorter than 1 s" in " ".join(long.notes)
    few = friction_curve(ROBOT, [log(linear)], least=4.0)
    assert few.drives[0].best is None
    assert "1 speed to and fro do not tell a law" in " ".join(few.notes)


def test_a_speed_that_drifts_is_not_constant():
    """A pendulum of 8 s: its speed changes by 5 % in a tenth of a second near its peak no more."""
    clean, _ = frictionless()
    t = np.arange(3000) / RATE
    columns = {key: (clean[key].unit, np.zeros(3000)) for key in clean.names if key != "t"}
    columns["q1"] = ("rad", 0.2 * np.sin(2 * np.pi * t / 8))
    with pytest.raises(TableError, match="not of constant speed, and left out; the worst goes"):
        friction_curve(ROBOT, [Table({"t": ("s", t)} | columns, "log.csv")], model=False)


def test_wrong_signs_and_wrong_words_are_refused():
    with pytest.raises(TableError, match="Friction of drive 1 would push it"):
        friction_curve(ROBOT, [log(linear, sign=-1.0)])
    with pytest.raises(TableError, match="no drive has moves at constant speed"):
        friction_curve(ROBOT, [log(linear)], least=30.0)
    for options, sentence in (
        ({"drives": [4]}, "There is no drive 4; omron_mini_delta has 1 to 3"),
        ({"least": 0.0}, "give a positive time"),
    ):
        with pytest.raises(InputError, match=sentence):
            friction_curve(ROBOT, [log(linear)], **options)
    with pytest.raises(InputError, match="needs a log at least"):
        friction_curve(ROBOT, [])
