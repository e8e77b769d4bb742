"""Samples of plans put to the exact model: limits as they were planned, and what is missing."""

from functools import cache

import numpy as np
import pytest

from triskele.description.load import load
from triskele.description.schema import Motor, Motors, Payload, Robot
from triskele.dynamics import stated
from triskele.dynamics.torques import torques
from triskele.kinematics.path import Line
from triskele.planning.plan import TOLERATED, Plan, plan
from triskele.planning.replay import Replay, replay, unlimited, used_limits
from triskele.planning.why import PlannedLimit

PERIOD, REST = 1e-3, 0.1  #: [s]
PAYLOAD = Payload(mass=0.5, mass_tolerance=0.1)
MARGINS = {"peak_torque": 0.2, "joint_jerk": 0.1}


def robot(**limits) -> Robot:
    own = load("omron_mini_delta")
    motors = Motors(drives=Motor(gear_ratio=10.0, peak_torque=0.6, continuous_torque=0.3))
    limits = {"joint_jerk": (2e4,), **limits}
    updated = own.limits.model_copy(update=limits)
    return own.model_copy(update={"limits": updated, "motors": motors})


@cache
def found() -> Plan:
    line = Line([0.0, -0.1, -0.35], [0.05, 0.1, -0.3])
    return plan(robot(), line, PAYLOAD, margins=MARGINS, dwell=REST, cells=40)


@cache
def shown() -> Replay:
    return replay(found(), period=PERIOD)


def uses() -> dict[str, float]:
    return {item.limit.label: item.use for item in shown().uses}


def test_limits_are_those_of_the_plan_with_its_margins():
    allowed = {item.limit.label: item.allowed for item in shown().uses}
    assert allowed["torque of motor 1"] == pytest.approx(0.8 * 6.0)
    assert allowed["jerk of q1"] == pytest.approx(0.9 * 2e4)
    planned = {item.limit.label: item.use for item in found().limits}
    for name in ("torque of motor 2", "torque of motor 3", "jerk of q3", "RMS torque of motor 3"):
        assert uses()[name] == pytest.approx(planned[name], abs=0.01), name
    assert shown().exceeded == ()


def test_nothing_but_text_changes_where_all_limits_have_one_name(monkeypatch):
    assert len({item.limit.label for item in shown().uses}) > 9  # made before names change
    for table in (stated._OF_DRIVES, stated._OF_BEARINGS, stated._OF_FLANGE):
        for key, (*field, _, unit) in dict(table).items():
            monkeypatch.setitem(table, key, (*field, "limit", unit))
    renamed = found.__wrapped__()
    again = replay(renamed, period=PERIOD)
    assert {item.limit.label for item in renamed.limits} == {"limit"}
    assert renamed.prices == found().prices

    def bare(item):
        return item._replace(limit=item.limit._replace(label=""))

    for ours, theirs in (
        (found().limits, renamed.limits),
        (found().runs, renamed.runs),
        (used_limits_of(found()), used_limits_of(renamed)),
        (shown().uses, again.uses),
    ):
        assert list(map(bare, ours)) == list(map(bare, theirs))
    assert [b and b.identity for b in found().binding] == [
        b and b.identity for b in renamed.binding
    ]


def used_limits_of(plan: Plan) -> list[PlannedLimit]:
    return [item for _, item in used_limits([plan, plan])]


def test_each_extreme_of_the_payload_counts():
    heavy = PAYLOAD.model_copy(update={"mass": 0.55})
    taken = torques(found().robot, found().motion(period=PERIOD), heavy)
    assert uses()["torque of motor 3"] == pytest.approx(np.abs(taken.tau[:, 2]).max() / 4.8)
    light = np.abs(shown().demands.tau[:, 2]).max() / 4.8
    assert uses()["torque of motor 3"] > light


def test_averages_count_the_rest_at_the_end():
    tau, t = shown().demands.tau, shown().demands.t
    held = tau[-1]  # at rest, and no friction in this file
    squares = (np.trapezoid(tau**2, t, axis=0) + REST * held**2) / (t[-1] + REST)
    np.testing.assert_allclose(shown().rms, np.sqrt(squares), rtol=1e-6)
    assert uses()["RMS torque of motor 3"] == pytest.approx(np.sqrt(squares[2]) / 3.0)


def test_it_starts_without_a_step_of_acceleration():
    assert shown().step < 1e-3
    stepping = plan(robot(), found().path, method="step-start")
    assert replay(stepping, period=PERIOD).step > 0.1


def test_what_a_plan_tolerates_is_at_the_limit():
    series = shown().demands.series
    beyond = [
        item._replace(use=item.use * f / item.use.max())
        for item, f in zip(series, (1.004, 1.01), strict=False)
    ]
    made = shown()._replace(demands=shown().demands._replace(series=tuple(beyond)))
    first, second = made.tolerated.series
    assert first.use.max() == pytest.approx(1.0)
    assert TOLERATED < 1.01
    assert second.use.max() == pytest.approx(1.01)


def test_drives_that_move_without_a_limit_are_named_with_what_they_are_asked_for():
    (item,) = unlimited([shown()])
    assert item.quantity == "acceleration"
    assert item.drives == ("q1", "q2", "q3")
    assert item.keys == ("limits.joint_acceleration",)
    assert item.peak == np.abs(np.asarray(shown().demands.joints.qdd)).max()
    assert item.unit == "rad/s^2"


def test_a_drive_that_stands_still_needs_no_limit():
    irb = load("abb_irb360_6_1600")
    for turn, missing in ((0.0, []), (1.0, ["acceleration", "jerk", "torque"])):
        path = Line([0, -0.1, -1.0, 0], [0, 0.1, -1.0, turn])
        played = replay(plan(irb, path, cells=40), period=PERIOD)
        named = unlimited([played])
        assert [item.quantity for item in named] == missing
        assert all(item.drives == ("q4",) for item in named)
    assert named[-1].keys == ("motors.axis4.peak_torque",)
    assert named[-1].peak == np.abs(played.demands.tau[:, 3]).max()
