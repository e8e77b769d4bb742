"""Samples that are held and channels that are late, seeded in logs of another program."""

import re

import numpy as np
import pytest
from drawn_logs import Declared, described, part

from triskele.errors import TableError
from triskele.sensing.encoder import quantised
from triskele.sensing.faults import held_rows
from triskele.sensing.sense import sense

PARTS = {start: part(start, 600) for start in (0, 2300)}


def sensed(truth, bits=18, **options):
    log = truth.log(bits=bits, motor_bits=bits)
    return sense(described(Declared(bits=bits)), log, "chord", deviations=False, **options)


def held(values: np.ndarray, rows: slice, period: int) -> np.ndarray:
    """One sample in `period` is fresh, within `rows`."""
    spoilt = values.copy()
    first = rows.start
    spoilt[rows] = values[first + (np.arange(rows.start, rows.stop) - first) // period * period]
    return spoilt


@pytest.mark.parametrize("bits", [12, 16, 20, None])
@pytest.mark.parametrize("start", PARTS)
def test_clean_logs_have_no_faults(bits, start):
    assert sensed(PARTS[start], bits=bits).remarks == ()


@pytest.mark.parametrize("bits", [14, 20])
@pytest.mark.parametrize("names", [("wrist",), ("q", "wrist")])
def test_samples_held_for_five_periods_are_counted(bits, names):
    rows = slice(200, 300)
    truth = PARTS[0]
    spoilt = truth._replace(**{k: held(getattr(truth, k), rows, 5) for k in names})
    with pytest.raises(TableError, match=r"of 600 samples repeat the one before") as error:
        sensed(spoilt, bits=bits)
    count = int(str(error.value).split(" of 600 ")[0].split()[-1])
    assert 60 <= count <= 85  # at 14 bits fresh values can be equal, too
    assert re.search("up to [4-9] in a row", str(error.value))


def test_a_channel_that_is_stuck_once_is_named_by_row_and_column():
    truth = PARTS[0]
    wrist = truth.wrist.copy()
    wrist[301:309, 1] = wrist[300, 1]
    with pytest.raises(TableError, match=r"row 302, column 'wrist2': 8 of 600 .* up to 8 in a row"):
        sensed(truth._replace(wrist=wrist))


def test_rest_and_slow_motion_are_no_held_samples():
    t = np.linspace(0, 1, 1001)
    s = np.clip((t - 0.3) / 0.4, 0, 1)
    smooth = s**4 * (35 - 84 * s + 70 * s**2 - 20 * s**3)
    noise = np.random.default_rng(0).normal(size=len(t))
    for values in (smooth, 0.01 * smooth, smooth + 1e-3 * noise):
        for bits in (None, 12, 16, 20):
            assert not held_rows(quantised(values, bits), 0.0).any()


@pytest.mark.parametrize("late", [1, 3, -2])
@pytest.mark.parametrize("bits", [14, 20])
def test_wrists_that_are_late_are_named_with_the_number_of_samples(late, bits):
    truth = part(100, 600)
    spoilt = truth._replace(wrist=part(100 - late, 600).wrist)
    how = "late" if late > 0 else "early"
    with pytest.raises(TableError, match=rf"'wrist1': is .* samples .* {how}") as error:
        sensed(spoilt, bits=bits)
    found = float(str(error.value).split(" is ")[1].split()[0])
    assert found == pytest.approx(abs(late), abs=0.1)


def test_one_late_motor_and_one_late_elbow_are_told_apart():
    truth, before = part(100, 800), part(98, 800)
    q = truth.q.copy()
    q[:, 1] = before.q[:, 1]
    with pytest.raises(TableError, match=r"'q2': is (1\.9|2\.0).* samples .* late"):
        sensed(truth._replace(q=q), bits=20)
    elbow = truth.elbow.copy()
    elbow[:, 2] = before.elbow[:, 2]
    log = truth._replace(elbow=elbow).log(bits=20, motor_bits=20, hinges=("elbow", "wrist"))
    with pytest.raises(TableError, match=r"'elbow3': is (1\.9|2\.0).* samples .* late"):
        sense(described(Declared(bits=20)), log, "chord", deviations=False)


def test_a_third_of_a_sample_is_said_and_counts_as_deviation():
    truth = part(100, 600)
    h = 1e-3
    late = truth.wrist - 0.3 * h * np.gradient(truth.wrist, h, axis=0)
    log = truth._replace(wrist=late).log(bits=20, motor_bits=20)
    found = sense(described(Declared(bits=20)), log, "chord")
    assert len(found.remarks) == 3
    assert "'wrist1': is 0.3" in found.remarks[0]
    assert found.contributions[0].name == "timing"
    inner = slice(20, -20)
    error = np.abs(found.deflection - truth.deflection)[inner]
    assert np.mean(error <= 2 * found.deflection_deviation[inner]) > 0.9
