"""Logs: what is refused, and derivatives that polynomials prove."""

import itertools

import numpy as np
import pytest

from triskele.description.load import load
from triskele.description.tables import Table
from triskele.errors import InputError, TableError
from triskele.kinematics.build import build
from triskele.kinematics.log import checked_times, derivatives, log_from_table, odd_window

DELTA = build(load("omron_mini_delta_platens"))


def table(t: np.ndarray, unit: str = "rad", **more: tuple) -> Table:
    q = {f"q{i}": (unit, 0.1 * i * np.sin(10 * t)) for i in (1, 2, 3)}
    return Table({"t": ("s", t), **q, **more}, "log.csv")


def test_rates_that_are_not_there_are_found_and_others_kept():
    t = np.arange(400) * 1e-3
    found = log_from_table(table(t), DELTA)
    assert found.step == pytest.approx(1e-3)
    assert found.qd[:, 2] == pytest.approx(3 * np.cos(10 * t), abs=1e-5)
    assert found.qdd[:, 2] == pytest.approx(-30 * np.sin(10 * t), abs=1e-2)
    rates = {f"qd{i}": ("rad/s", np.full(400, 7.0)) for i in (1, 2, 3)}
    given = log_from_table(table(t, **rates), DELTA)
    assert (given.qd == 7.0).all()
    assert given.columns("wrist", 3, "rad") is None


def test_units_are_converted():
    t = np.arange(20) * 1e-3
    found = log_from_table(table(t, "deg"), DELTA)
    assert found.q[-1, 0] == pytest.approx(np.radians(0.1 * np.sin(0.19)))


def without(rows: np.ndarray) -> np.ndarray:
    return np.delete(np.arange(50) * 1e-3, rows)


@pytest.mark.parametrize(
    ("t", "sentence"),
    [
        (without(np.array([20, 21])), r"row 21, column 't': a gap of 0.003 s, where samples are"),
        (np.r_[0, 0.001, 0.003, 0.002, 0.004, 0.005], r"row 4, column 't': 0.002 s comes after"),
        (np.r_[0, 0.001, 0.001, 0.002, 0.003], r"row 3, column 't'.*times must rise"),
        (np.arange(3) * 1e-3, r"has 3 rows; a log needs at least 5"),
        (np.r_[np.arange(10) * 1e-3, 0.0092], r"row 11, column 't': a step of 0.0002 s"),
    ],
)
def test_times_that_cannot_be_name_their_row(t, sentence):
    with pytest.raises(TableError, match=sentence):
        checked_times(table(t))


def test_columns_that_are_missing_or_in_other_units_are_named():
    t = np.arange(20) * 1e-3
    with pytest.raises(TableError, match=r"no column 'q1'; a log has t \[s\] and q1 \[rad\]"):
        log_from_table(Table({"t": ("s", t)}, "log.csv"), DELTA)
    with pytest.raises(TableError, match="no column 'q3'"):
        log_from_table(Table({k: v for k, v in table(t).columns.items() if k != "q3"}), DELTA)
    with pytest.raises(TableError, match=r"column 'q1': is in \[m\]"):
        log_from_table(table(t, "mm"), DELTA)
    with pytest.raises(TableError, match="no column 'wrist2'"):
        found = log_from_table(table(t, wrist1=("rad", t), wrist3=("rad", t)), DELTA)
        found.columns("wrist", 3, "rad")


def test_polynomials_of_degree_four_are_differentiated_exactly():
    t = np.arange(60) * 0.01
    values = np.stack([t**4 - t, 2 * t**3 + 1], axis=1)
    for window in (5, 21, 59):
        first, second = derivatives(values, 0.01, window)
        assert first == pytest.approx(np.stack([4 * t**3 - 1, 6 * t**2], axis=1), abs=1e-9)
        assert second == pytest.approx(np.stack([12 * t**2, 12 * t], axis=1), abs=1e-7)


def test_longer_windows_let_less_noise_through():
    noise = np.random.default_rng(0).normal(size=(2000, 1))
    sizes = [np.std(derivatives(noise, 1e-3, window)[1]) for window in (5, 11, 21, 41)]
    assert all(a > 3 * b for a, b in itertools.pairwise(sizes))


def test_windows_are_odd():
    assert [odd_window(n) for n in (0.0, 5.0, 6.9, 8.2, 20.0)] == [5, 5, 7, 9, 21]
    with pytest.raises(InputError, match="5, 7, 9"):
        derivatives(np.zeros((9, 1)), 1e-3, 6)
