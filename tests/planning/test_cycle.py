"""Cycles that data sheets show: the rated one where it can be, else a motion that fits."""

import numpy as np
import pytest

from triskele.description.load import load
from triskele.dynamics.torques import torques
from triskele.errors import MissingFact
from triskele.kinematics.build import build
from triskele.kinematics.cycles import check_motion, pick_and_place
from triskele.planning.cycle import Cycle, fitting_motion, shown_cycle


def test_a_robot_without_limits_of_acceleration_picks_and_places():
    robot = load("omron_mini_delta")
    found = shown_cycle(robot)
    assert found.title == "pick-and-place in 1 s, 200 mm across, 50 mm up"
    assert "cannot be rated by the 25/305/25 mm cycle" in found.remark
    (alone,) = found.demands
    assert np.allclose(alone.tau, torques(robot, pick_and_place(robot)).tau)
    assert np.allclose(found.peak, np.abs(alone.tau).max(axis=0))
    assert np.allclose(found.rms, alone.rms)
    assert found.duration == pytest.approx(1.0)
    assert found.limits == alone.limits


def test_ways_there_and_back_count_by_their_time():
    robot = load("omron_mini_delta")
    slow, fast = (
        torques(robot, pick_and_place(robot, duration=T, rate=100), friction=False)
        for T in (2.0, 0.5)
    )
    both = Cycle("", "", (slow, fast))
    assert both.duration == pytest.approx(2.5)
    assert np.allclose(both.rms**2, (2.0 * slow.rms**2 + 0.5 * fast.rms**2) / 2.5)
    assert np.allclose(both.peak, np.abs(fast.tau).max(axis=0))
    speeds = np.abs(np.asarray(fast.joints.qd)).max(axis=0)
    assert np.allclose(both.speed, speeds)
    assert [use.name for use in both.limits] == sorted(
        {use.name for use in slow.limits},
        key=lambda name: -max(u.use for u in (*slow.limits, *fast.limits) if u.name == name),
    )


def test_a_3prs_moves_up_and_down_within_its_reach():
    robot = load("compliant_3prs")
    motion, title = fitting_motion(robot)
    check_motion(build(robot), robot.limits, motion)
    assert title.startswith("sine of z by ")
    assert np.ptp(np.asarray(motion.x)[:, 0]) > 1e-3
    assert np.ptp(np.asarray(motion.x)[:, 1:]) == 0


def test_a_motion_shrinks_until_it_fits():
    robot = load("d3s_800")
    limits = robot.limits.model_copy(update={"joint_angle": (-0.1, 0.1)})
    motion, title = fitting_motion(robot.model_copy(update={"limits": limits}))
    assert "400 mm across" not in title
    check_motion(build(robot), limits, motion)


def test_a_robot_without_bodies_has_no_torques():
    with pytest.raises(MissingFact, match="abb_irb360_1130 has no 'bodies', which torques needs"):
        shown_cycle(load("abb_irb360_1130"))


@pytest.mark.long
def test_the_rated_cycle_is_the_one_of_the_command_rate():
    from triskele.kinematics.cycles import rating_cycle, way_of
    from triskele.planning.plan import plan

    robot = load("abb_irb360_6_1600")
    found = shown_cycle(robot)
    there = plan(robot, way_of(rating_cycle(robot, rate=10)))
    assert found.remark == ""
    assert len(found.demands) == 2
    assert found.demands[0].t[-1] == pytest.approx(there.duration, abs=1e-3)
    assert max(use.use for use in found.limits) < 1.01
