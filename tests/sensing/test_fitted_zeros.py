"""Zeros and Young's modulus from logs of another program, and when they cannot be seen."""

import numpy as np
import pytest
from drawn_logs import DECLARED, Declared, covered, described, drawn, part

from triskele.errors import TableError, UnknownName
from triskele.sensing.sense import sense

BOTH = ("zeros", "E")


def errors(now, fit) -> np.ndarray:
    """Of what was found, in deviations."""
    true = [*now.zeros["q"], *now.zeros["wrist"], now.modulus - 1]
    return np.array([(i.value - t) / i.deviation for i, t in zip(fit.found, true, strict=True)])


def test_zeros_and_modulus_are_found_and_the_tool_gets_better():
    declared = DECLARED._replace(bits=20, density=0.01)
    now = drawn(np.random.default_rng(5), declared, 500)
    plain = sense(now.robot, now.log, "chord")
    found = sense(now.robot, now.log, "chord", fit=BOTH)
    assert found.fit is not None
    assert all(item.seen for item in found.fit.found)
    assert np.abs(errors(now, found.fit)).max() < 3
    assert max(item.deviation for item in found.fit.found[:6]) < 0.2 * DECLARED.zero
    assert found.fit.found[-1].deviation < 0.02
    for name in ("deflection", "tool"):
        left = np.abs(getattr(found, name) - getattr(now.truth, name)).max()
        before = np.abs(getattr(plain, name) - getattr(now.truth, name)).max()
        assert left < 0.3 * before
    assert (covered(now.truth, found)[[0, 3]] > 0.5).all()  # of one draw
    assert "fitted from the log" in [item.name for item in found.contributions]


@pytest.mark.long
@pytest.mark.slow
def test_intervals_of_what_is_fitted_hold():
    random, ratios, shares = np.random.default_rng(7), [], []
    for bits in (16, 18, 20) * 8:
        now = drawn(random, DECLARED._replace(bits=bits, density=0.02), 800)
        found = sense(now.robot, now.log, "chord", fit=BOTH)
        ratios.append(errors(now, found.fit))
        shares.append(covered(now.truth, found))
    share = float((np.abs(ratios) < 2).mean())
    print("within two deviations:", share, np.mean(shares, axis=0).round(3))
    assert share > 0.9
    assert (np.mean(shares, axis=0) > 0.9).all()


def test_what_a_log_cannot_show_stays_as_the_file_has_it():
    """A robot that stands: its zeros and its modulus are one sum for each limb."""
    still, n = part(0, 100), 100
    names = ("q", "qd", "qdd", "wrist")
    rows = {name: np.repeat(getattr(still, name)[:1], n, axis=0) for name in names}
    rows["qd"] = rows["qdd"] = np.zeros((n, 3))
    declared = Declared(zero=DECLARED.zero, modulus=0.03)
    log = still._replace(**rows).log()
    found = sense(described(declared), log, "chord", fit=BOTH, deviations=False).fit
    assert found is not None
    assert not found.found[-1].seen
    left = sum((item.deviation / item.before) ** 2 for item in found.found)
    assert left == pytest.approx(7 - 3, abs=0.2)  # three equations for seven unknowns


def test_applied_zeros_are_taken_away_exactly():
    truth, declared = part(0, 300), Declared(zero=DECLARED.zero)
    zero = 3e-4
    moved = truth._replace(wrist=truth.wrist + np.array([0, zero, 0]))
    both = [
        sense(described(declared), log.log(), "chord", fit=("zeros",), deviations=False).fit
        for log in (truth, moved)
    ]
    values = [[item.value for item in fit.found] for fit in both if fit is not None]
    assert np.subtract(values[1], values[0]) == pytest.approx([0, 0, 0, 0, zero, 0], abs=2e-6)


def test_what_cannot_be_fitted_is_named():
    truth = part(0, 100)
    robot = described(Declared())
    with pytest.raises(UnknownName, match=r"'zero' cannot be fitted.*zeros"):
        sense(robot, truth.log(), "chord", fit=("zero",))
    with pytest.raises(TableError, match="fitted to encoders on passive joints"):
        sense(robot, truth.log(hinges=()), "observer", fit=("E",))
