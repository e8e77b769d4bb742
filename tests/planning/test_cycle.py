"""Cycles that data sheets show: the rated one where it can be, else a motion that fits."""

import numpy as np
import pytest

from triskele.description.load import load
from triskele.dynamics.torques import torques
from triskele.errors import MissingFact
from triskele.kinematics.build import build
from triskele.kinematics.cycles import check_motion, pick_and_place
from triskele.planning.cycle import Cycle, fitting_motion, shown_cycle

OMRON = load("omron_mini_delta")


@pytest.fixture(scope="module")
def found():
    """What is shown of a robot whose file has no limits of acceleration."""
    return shown_cycle(OMRON)


def test_a_robot_without_limits_of_acceleration_picks_and_places(found):
    assert found.title == "pick-and-place in 1 s, 200 mm across, 50 mm up"
    assert "cannot be rated by the 25/305/25 mm cycle" in found.remark
    (alone,) = found.demands
    assert np.allclose(alone.tau, torques(OMRON, pick_and_place(OMRON)).tau)
    assert np.allclose(found.peak, np.abs(alone.tau).max(axis=0))
    assert np.allclose(found.rms, alone.rms)
    assert found.duration == pytest.approx(1.0)
    assert found.limits == alone.limits


def test_ways_there_and_back_count_by_their_time(found):
    (there,) = found.demands
    item = there.series[-1]
    worse = (item._replace(use=2 * item.use),)
    back = there._replace(t=0.25 * there.t, tau=-3 * there.tau, series=worse)
    both = Cycle("", "", (there, back))
    assert both.duration == pytest.approx(1.25)
    assert np.allclose(both.rms**2, (there.rms**2 + 0.25 * 9 * there.rms**2) / 1.25)
    assert np.allclose(both.peak, 3 * found.peak)
    assert np.allclose(both.speed, np.abs(np.asarray(there.joints.qd)).max(axis=0))
    assert {use.limit for use in both.limits} == {use.limit for use in there.limits}
    assert back.limits[0] in both.limits
    assert (np.diff([use.use for use in both.limits]) < 1e-8).all()  # the tightest first


def test_a_3prs_moves_up_and_down_within_its_reach():
    robot = load("compliant_3prs")
    motion, title = fitting_motion(robot)
    check_motion(build(robot), robot.limits, motion)
    assert title.startswith("sine of z by ")
    assert np.ptp(np.asarray(motion.x)[:, 0]) > 1e-3
    assert np.ptp(np.asarray(motion.x)[:, 1:]) == 0


def test_a_motion_shrinks_until_it_fits():
    robot = load("d3s_800")
    limits = robot.limits.model_copy(update={"rod_tilt": 0.15})
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
    assert max(use.use for use in found.limits) == 1.0
