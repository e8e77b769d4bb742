"""A tool that is dragged goes where it may, stops at the border, and slides along it."""

import jax.numpy as jnp
import numpy as np
import pytest

from triskele.description.load import load
from triskele.kinematics.border import Border, pose_of
from triskele.kinematics.build import build
from triskele.kinematics.coordinates import tool_frame
from triskele.kinematics.reach import slack
from triskele.numerics import stacked

ROBOT = load("flexible_delta")
DELTA = build(ROBOT)
HOME = np.asarray(stacked(DELTA.home()))


@pytest.fixture(scope="module")
def border():
    return Border(DELTA, ROBOT.limits)


def test_an_allowed_target_is_reached(border):
    target = HOME + np.array([0.05, -0.1, 0.02])
    assert np.array_equal(border.nearest(HOME, target), target)


def test_the_room_is_the_slack(border):
    x = HOME + np.array([0.03, 0.01, -0.02])
    assert border.room(x) == pytest.approx(float(slack(DELTA, ROBOT.limits, jnp.asarray(x))))
    assert border.room(HOME + np.array([2.0, 0, 0])) < 0


@pytest.mark.parametrize("seed", range(12))
def test_beyond_the_border_the_end_is_allowed_and_little_is_left_to_gain(border, seed):
    random = np.random.default_rng(seed)
    direction = random.normal(size=3)
    target = HOME + 1.5 * direction / np.linalg.norm(direction)
    end = border.nearest(HOME, target)
    room = border.room(end)
    assert 0 < room < 5e-3  # inside, at the border
    gap = np.linalg.norm(target - end)
    stopped = HOME + np.linspace(0, 1, 3001)[:, None] * (target - HOME)
    first = next(k for k, x in enumerate(stopped) if border.room(x) < 0)
    assert gap < np.linalg.norm(target - stopped[first]) + 1e-3  # not worse than to stop
    for step in 0.01 * random.normal(size=(40, 3)):
        if border.room(end + step) > 5e-3:
            assert np.linalg.norm(target - end - step) > gap - 0.01


def test_it_slides_along_a_limit_of_one_joint():
    """Only q1 is bounded: below its end the tool may go on sideways."""
    limits = ROBOT.limits.model_copy(update={"joint_angle": (-0.3, 2.0), "rod_tilt": None})
    border = Border(DELTA, limits)
    target = HOME + np.array([0.5, 0.2, 0.0])
    end = border.nearest(HOME, target)
    q = np.asarray(DELTA.inverse(end).value)
    assert q.min() == pytest.approx(-0.3, abs=2e-3)
    assert end[1] > HOME[1] + 0.05


def test_singularities_are_not_jumped(border):
    """Above the motors the robot could be assembled too; the tool does not get there."""
    end = border.nearest(HOME, HOME * np.array([1, 1, -1]))
    assert end[2] < 0


def test_a_pose_that_is_not_allowed_stays(border):
    outside = HOME + np.array([2.0, 0, 0])
    assert np.allclose(border.nearest(outside, outside + 0.1), outside)


@pytest.mark.parametrize("name", ["abb_irb360_6_1600", "compliant_3prs", "flexible_delta"])
def test_a_pose_is_found_from_the_frame_of_the_tool(name):
    mechanism = build(load(name))
    home = stacked(mechanism.home())
    x = home + 0.02 / stacked(mechanism.scales().platform) * 0.3
    frame = tool_frame(mechanism, tuple(x))
    rotation = jnp.stack([stacked(axis) for axis in (frame.x, frame.y, frame.z)], axis=1)
    found = pose_of(mechanism, stacked(frame.p), rotation, home)
    assert np.allclose(found, x, atol=1e-9)
