"""Workspace: known volumes, symmetry, islands, and what happens at the border of sense."""

import numpy as np
import pytest

from triskele.description.load import load
from triskele.description.schema import Limits
from triskele.errors import InputError, OutOfReach
from triskele.kinematics import workspace as module
from triskele.kinematics.build import build
from triskele.kinematics.workspace import guaranteed_room, workspace


@pytest.fixture(scope="module")
def delta():
    return build(load("flexible_delta"))


LIMITS = Limits(joint_angle=(-0.5, 1.4), rod_tilt=0.5)


def test_a_cylinder_has_the_volume_of_a_cylinder(delta):
    limits = Limits(workspace_radius=0.1, workspace_height=(-0.7, -0.5))
    space = workspace(delta, limits, resolution=65, guaranteed=True)
    assert space.volume == pytest.approx(np.pi * 0.1**2 * 0.2, abs=space.uncertainty)
    assert space.uncertainty < 0.02 * space.volume
    step = space.axes[0][1] - space.axes[0][0]
    assert np.abs(space.bounds - [[-0.1, 0.1], [-0.1, 0.1], [-0.7, -0.5]]).max() < step


def test_finer_grids_agree_within_the_stated_uncertainty(delta):
    coarse = workspace(delta, LIMITS, resolution=33)
    fine = workspace(delta, LIMITS, resolution=97)
    assert abs(coarse.volume - fine.volume) < 2 * coarse.uncertainty
    assert fine.uncertainty < coarse.uncertainty


def test_three_equal_limbs_make_a_workspace_with_three_mirrors(delta):
    space = workspace(delta, LIMITS, resolution=65)
    assert space.names == ("x", "y", "z")
    assert np.abs(space.bounds[1].sum()) < 1e-9  # limb 1 stands on x: y and -y are alike
    y = space.axes[1]
    assert np.abs(y + y[::-1]).max() < 1e-12
    differ = (space.slack > 0) != (space.slack[:, ::-1] > 0)
    assert differ.mean() < 1e-3


def test_a_tighter_limit_makes_a_smaller_workspace(delta):
    wide = workspace(delta, LIMITS, resolution=33)
    narrow = workspace(delta, Limits(joint_angle=(-0.3, 1.0), rod_tilt=0.3), resolution=33)
    assert narrow.volume < 0.8 * wide.volume


def test_the_small_workspace_of_the_stage_is_found():
    robot = load("compliant_3prs")
    space = workspace(build(robot), robot.limits, resolution=33, guaranteed=True)
    assert space.unit == "m rad^2"
    # The design range: a disc of 1 degree in tilt, over 4 mm of height.
    assert space.volume == pytest.approx(np.pi * np.radians(1) ** 2 * 4e-3, rel=0.02)


def test_islands_across_a_gap_are_dropped():
    values = np.full((9, 9, 9), -1.0)
    values[1:4, 1:4, 1:4], values[6:8, 6:8, 6:8] = 0.5, 0.7
    kept = module._connected(values, (2, 2, 2))
    assert (kept > 0).sum() == 27
    assert kept[7, 7, 7] < 0


def test_the_cylinder_of_a_robot_file_is_judged(delta):
    inside = Limits(workspace_radius=0.1, workspace_height=(-0.7, -0.5))
    outside = Limits(workspace_radius=0.9, workspace_height=(-0.7, -0.5))
    assert guaranteed_room(delta, inside) > 0  # pyright: ignore[reportOptionalOperand]
    assert guaranteed_room(delta, outside) < 0  # pyright: ignore[reportOptionalOperand]
    assert guaranteed_room(delta, Limits()) is None


def test_progress_runs_from_nothing_to_all(delta):
    seen: list[float] = []
    workspace(delta, LIMITS, resolution=9, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


@pytest.mark.parametrize("resolution", [0, 7, 513])
def test_a_senseless_resolution_is_refused(delta, resolution):
    with pytest.raises(InputError, match="between 8 and 512"):
        workspace(delta, LIMITS, resolution=resolution)


def test_a_home_outside_the_limits_is_named(delta):
    with pytest.raises(OutOfReach, match="home position is out of reach: q"):
        workspace(delta, Limits(joint_angle=(0.5, 0.6)), resolution=9)
