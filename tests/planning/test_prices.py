"""Prices agree with solving again, and what is said to bind does, on random robots and cycles."""

from functools import cache

import numpy as np
import pytest
from random_cycles import PRICED, Case, raised, random_case

from triskele.description.schema import Limits, Motor, Motors
from triskele.dynamics.torques import torques
from triskele.kinematics.limits import Limit
from triskele.planning.limits import Column
from triskele.planning.plan import Plan, plan
from triskele.planning.replay import gains, used_limits
from triskele.planning.why import binding_runs

STEP = 0.01  #: by which limits are raised and lowered
PART, LEAST = 0.05, 2e-5  #: of the price, and [s]
KINK = 0.1  #: one-sided differences that differ by more have no slope between them


@cache
def first_plan(seed: int) -> Plan:
    """Of a case that several tests look at."""
    case = random_case(seed)
    return plan(case.robot, case.path, case.payload, cells=96)


def planned(case: Case, cells: int) -> list[Plan]:
    """The way there and, along a rated cycle, the way back."""
    ways = [case.path, case.path.reversed()] if case.back else [case.path]
    return [plan(case.robot, way, case.payload, cells=cells) for way in ways]


def duration(plans: list[Plan]) -> float:
    return sum(item.duration for item in plans)


def check_prices(case: Case, found: list[Plan], keys: tuple[str, ...], cells: int) -> int:
    """How many prices of at least 0.02 ms per percent were judged."""
    judged = 0
    worth, middle = gains(found), duration(found)
    for key in keys:
        low, high = (
            duration(planned(case._replace(robot=raised(case.robot, key, factor)), cells))
            for factor in (1 - STEP, 1 + STEP)
        )
        below, above = low - middle, middle - high
        if abs(below - above) > max(KINK * max(below, above), LEAST):
            continue
        price = STEP / 0.1 * worth[key]
        tolerance = max(PART * price, LEAST)
        assert price == pytest.approx((below + above) / 2, abs=tolerance), key
        judged += price > LEAST
    return judged


def check_binding(found: Plan) -> None:
    """By the exact model: where a limit is said to bind, 99 % of it are used."""
    motion = found.motion(period=2e-4)
    at = found.profile.schedule(np.asarray(motion.t))[0]
    series = {item.limit: item for item in torques(found.robot, motion, found.payload).series}
    assert found.runs
    for run in found.runs:
        use = series[run.limit].use
        own = (at >= run.start) & (at <= run.end)
        if run.whole:
            assert use[-1] > 0.99, run
        elif own.any():
            assert use[own].min() > 0.99, run


@pytest.mark.parametrize(("seed", "keys"), [(0, ("continuous_torque",)), (2, ("rod_force",))])
def test_prices_are_what_solving_again_gains(seed: int, keys: tuple[str, ...]):
    found = first_plan(seed)
    assert check_prices(random_case(seed), [found], keys, 96) == len(keys)
    check_binding(found)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_prices_of_all_limits_are_what_solving_again_gains(seed: int):
    case = random_case(seed, rated=seed % 4 == 3)
    found = planned(case, 240)
    check_prices(case, found, PRICED, 240)
    for way in found:
        check_binding(way)


@pytest.mark.long
def test_prices_of_a_torque_that_falls_with_speed_are_those_of_two_limits():
    case = random_case(4)
    motor = Motor(gear_ratio=1.0, peak_torque=2.4, peak_speed=9.0, corner_speed=1.0)
    free = Limits(joint_jerk=(1e4,))
    robot = case.robot.model_copy(update={"limits": free, "motors": Motors(drives=motor)})
    falling = case._replace(robot=robot)
    (found,) = planned(falling, 120)
    assert any(run.limit.at_speed for run in found.runs)
    assert check_prices(falling, [found], ("peak_torque", "peak_speed"), 120) == 2


def test_an_rms_torque_binds_as_a_whole_and_is_named():
    found = first_plan(0)
    whole = [run for run in found.runs if run.whole]
    assert [run.limit.label for run in whole] == ["RMS torque of motor 3"]
    assert (whole[0].start, whole[0].end) == (0.0, 1.0)
    assert whole[0].lasts == pytest.approx(found.duration)
    for run in found.runs:
        t = np.linspace(0, found.duration, 4001)
        s = found.profile.schedule(t)[0]
        inside = np.mean((s >= run.start) & (s <= run.end)) * found.duration
        assert run.lasts == pytest.approx(inside, abs=2e-3 * found.duration)
    (item,) = (item for item in found.limits if item.limit == whole[0].limit)
    assert item.whole
    assert item.use == pytest.approx(1.0, abs=1e-4)


@pytest.mark.long
def test_an_rms_torque_over_motion_and_rest_is_priced_with_both():
    case = random_case(0)
    dwell = 0.05
    eps = 0.002

    def rested(factor: float) -> Plan:
        robot = raised(case.robot, "continuous_torque", factor)
        return plan(robot, case.path, case.payload, cells=96, dwell=dwell)

    middle, low, high = rested(1.0), rested(1 - eps), rested(1 + eps)
    slope = (low.duration - high.duration) / (2 * eps)
    assert middle.prices["continuous_torque"] == pytest.approx(0.1 * slope, rel=0.05)


def test_gains_of_both_ways_are_those_of_each_together():
    case, there = random_case(2), first_plan(2)
    back = plan(case.robot, case.path.reversed(), case.payload, cells=48)
    both = gains([there, back])
    assert gains([there]) == there.prices
    assert both["rod_force"] == pytest.approx(there.prices["rod_force"] + back.prices["rod_force"])
    assert list(both.values()) == sorted(both.values(), reverse=True)
    by_key = dict.fromkeys(both, 0.0)
    for way, item in used_limits([there, back]):
        assert item.use == max(
            i.use for p in (there, back) for i in p.limits if i.limit == item.limit
        )
        assert way in (0, 1)
        by_key[item.limit.key] -= 0.1 * item.price
    assert by_key == pytest.approx(both)


def test_a_method_without_multipliers_has_no_gains():
    case = random_case(2)
    quick = plan(case.robot, case.path, case.payload, method="core", cells=48)
    assert gains([quick]) == {}


def test_a_limit_binds_from_where_any_of_its_rows_is_used_up_until_all_let_go():
    columns = (
        Column(Limit("joint_jerk", "q1", "a", "rad/s^3", 1.0)),
        Column(Limit("rod_force", "rod_1", "b", "N", 1.0)),
        Column(Limit("joint_jerk", "q1", "a", "rad/s^3", 1.0)),  # of another case of the payload
    )
    used = np.array([[0.9, 0.996, 0.992, 0.2, 0.98, 0.992], [0.2, 0.3, 1.0, 0.2, 0.1, 0.0]])
    used = np.vstack([used, [0.1, 0.1, 0.1, 1.0, 0.1, 0.1]]).T
    runs = binding_runs(columns, used, np.linspace(0, 1, 6))
    assert [(round(run.start, 6), round(run.end, 6), run.limit.label) for run in runs] == [
        (0.2, 0.6, "a"),
        (0.4, 0.4, "b"),
    ]
