"""Standard deviations of virtual sensors: coverage against another program, and causes by hand."""

import math

import numpy as np
import pytest
from drawn_logs import DECLARED, ZERO, Declared, covered, described, drawn, part

from triskele.description.load import load
from triskele.description.schema import Payload
from triskele.sensing.deviations import USUAL_ZERO, deviations_of
from triskele.sensing.encoder import quantised, resolution
from triskele.sensing.rods import rod_angles, soft_rods
from triskele.sensing.sense import sense
from triskele.sensing.spread import seen_count

NAMES = ("deflection", "speed", "acceleration", "tool")


def shares(sensor: str, declared: Declared, draws: int, seed: int, count: int = 400) -> np.ndarray:
    random = np.random.default_rng(seed)
    found = []
    for _ in range(draws):
        now = drawn(random, declared, count)
        found.append(covered(now.truth, sense(now.robot, now.log, sensor)))
    return np.mean(found, axis=0)


@pytest.mark.parametrize("bits", [12, 20])
def test_two_deviations_cover_a_few_draws(bits):
    """Few draws of zeros scatter; without them, or without counts, less than 0.6 are covered."""
    found = shares("chord", DECLARED._replace(bits=bits), draws=5, seed=bits, count=200)
    assert (found > 0.8).all(), dict(zip(NAMES, found, strict=True))


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(("sensor", "draws"), [("chord", 40), ("observer", 8)])
def test_two_deviations_cover_between_90_and_99_percent(sensor, draws):
    """So many draws for each number of bits, 200 in all of the chord sensor."""
    table = {
        bits: shares(sensor, DECLARED._replace(bits=bits), draws=draws, seed=1000 + bits)
        for bits in (12, 14, 16, 18, 20)
    }
    for bits, row in table.items():
        print(sensor, bits, dict(zip(NAMES, row.round(3), strict=True)))
    mean = np.mean(list(table.values()), axis=0)
    # a filter is given more noise than there is, so that its rates are better than it says
    judged = slice(None) if sensor == "chord" else [0, 3]
    assert ((mean > 0.9) & (mean < 0.99))[judged].all(), mean
    least = 0.9 if draws >= 40 else 0.8
    assert min(row[judged].min() for row in table.values()) > least


@pytest.mark.long
@pytest.mark.parametrize(
    "declared",
    [
        Declared(bits=14),
        Declared(bits=20),
        Declared(zero=ZERO, bits=24),
        Declared(modulus=0.1, density=0.1, bits=24),
        Declared(timing=1e-4, bits=24),
    ],
    ids=["14 bits", "20 bits", "zeros", "materials", "timing"],
)
def test_each_kind_of_error_is_covered_alone(declared):
    found = shares("chord", declared, draws=40, seed=4)
    print(dict(zip(NAMES, found.round(3), strict=True)))
    assert found[0] > 0.88
    assert found[3] > 0.88


def test_a_perfect_log_is_covered_by_the_errors_of_the_method():
    truth = part(700, 600)
    found = sense(described(Declared()), truth.log(), "chord")
    share = covered(truth, found)
    assert (share > 0.85).all()
    # and they are no more than the errors themselves, ten times over
    inner = np.abs(found.deflection - truth.deflection)
    assert np.median(found.deflection_deviation) < 10 * np.median(inner)
    assert found.contributions[0].name == "method"


def test_a_shape_that_is_wrong_by_half_says_so():
    truth = part(0, 300)
    log = truth.log(hinges=("elbow", "wrist"))
    found = sense(described(Declared()), log, "modal", ends="clamped-free")
    assert covered(truth, found)[0] > 0.95
    assert found.deflection_deviation.max() > 0.3 * np.abs(truth.deflection).max()


def test_zeros_move_deflections_as_angles_do():
    """A wrist that is off by z turns the slope by z cos alpha: d z cos alpha, by hand."""
    truth, z = part(0, 120), 1e-4
    robot = described(Declared())
    assert robot.encoders is not None
    only = robot.encoders.model_copy(update={"passive_zero_deviation": z})
    found = sense(robot.model_copy(update={"encoders": only}), truth.log(), "chord")
    without = sense(robot, truth.log(), "chord")
    rods = soft_rods(robot)
    cosine = [float(c) for c in rod_angles(rods.mechanism, tuple(truth.q[60]))[1]]
    added = np.sqrt(found.deflection_deviation**2 - without.deflection_deviation**2)
    assert added[60] == pytest.approx([0.4 * z * c for c in cosine], rel=1e-6)
    assert found.contributions[0].name == "zeros of passive encoders"


def test_density_and_modulus_move_the_gradient_alone():
    """2 k_G da of `chord.py`, which is proportional to mu / E I."""
    truth = part(0, 120)
    both = sense(described(Declared(modulus=0.05, density=0.05)), truth.log(), "chord")
    none = sense(described(Declared()), truth.log(), "chord")
    added = np.sqrt(both.deflection_deviation**2 - none.deflection_deviation**2)
    exact = sense(described(Declared()), truth.log(), "chord")
    softer = sense(described(Declared(), density=1.05), truth.log(), "chord")
    change = np.abs(softer.deflection - exact.deflection)
    # rods that are softer by 5 % are as rods that are 1/1.05 as stiff
    other = np.abs(
        sense(described(Declared(), modulus=1.05), truth.log(), "chord").deflection
        - exact.deflection
    )
    assert added == pytest.approx(np.hypot(change, other), rel=1e-3, abs=1e-10)


def test_counts_at_rest_are_one_error_and_move_no_rates():
    """An encoder that stands has an error, which is uniform, and no rate."""
    n, bits = 200, 14
    still = part(0, n)
    held = still._replace(**{k: np.repeat(getattr(still, k)[:1], n, 0) for k in ("q", "wrist")})
    held = held._replace(qd=np.zeros((n, 3)), qdd=np.zeros((n, 3)))
    robot = described(Declared(bits=bits))
    assert robot.encoders is not None
    encoders = robot.encoders.model_copy(update={"motor_bits": None})
    found = sense(robot.model_copy(update={"encoders": encoders}), held.log(bits=bits), "chord")
    cosine = [float(c) for c in rod_angles(soft_rods(robot).mechanism, tuple(held.q[0]))[1]]
    one = [0.4 * resolution(bits) / math.sqrt(12) * c for c in cosine]
    # eight shifts instead of all: (1 - 1/64) of the variance
    assert found.deflection_deviation[100] == pytest.approx(one, rel=0.03)
    assert found.speed_deviation.max() < 1e-6


def test_counts_that_the_file_does_not_state_are_seen_in_the_log():
    assert seen_count(quantised(np.sin(np.linspace(0, 3, 500)), 14)) == pytest.approx(
        resolution(14)
    )
    assert seen_count(np.sin(np.linspace(0, 3, 500))) == 0
    assert seen_count(np.zeros(50)) == 0
    truth = part(0, 200)
    stated = sense(described(Declared(bits=14)), truth.log(bits=14, motor_bits=14), "chord")
    silent = sense(described(Declared()), truth.log(bits=14, motor_bits=14), "chord")
    assert silent.deflection_deviation == pytest.approx(stated.deflection_deviation, rel=1e-9)


def test_contributions_add_up():
    now = drawn(np.random.default_rng(0), DECLARED._replace(bits=16), 200)
    found = sense(now.robot, now.log, "chord").contributions
    assert sum(item.deflection for item in found) == pytest.approx(1.0)
    assert sum(item.tool for item in found) == pytest.approx(1.0)
    assert max(item.tool for item in found if item.name == "zeros of the motors") > 0.5


def test_deviations_are_those_of_the_file_or_usual_ones_that_are_said():
    robot = load("omron_mini_delta_platens")
    known = deviations_of(robot, 1e-3, Payload(mass=1.0, mass_tolerance=0.3))
    assert known.motor_zero.value == USUAL_ZERO
    assert known.timing.value == pytest.approx(1e-5)
    assert known.platform.value == pytest.approx(math.hypot(0.02 * 0.1278, 0.3 / math.sqrt(3)))
    keys = [each.key for each in known.assumptions]
    assert "encoders.passive_zero_deviation" in keys
    assert "materials.aluminium.young_modulus_deviation" in keys
    stated = deviations_of(described(DECLARED), 1e-3)
    assert stated.modulus.value == 0.1
    assert [each.key for each in stated.assumptions] == ["geometry.length_deviation"]
    assert stated.length.value == 0
