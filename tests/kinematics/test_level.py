"""Poses at one height: as wide as the robot reaches, with the other coordinates at home."""

import numpy as np
import pytest
from limb_robots import described

from triskele.description.load import load
from triskele.description.schema import Limits
from triskele.errors import InputError
from triskele.kinematics.build import build
from triskele.kinematics.level import poses_at_level
from triskele.kinematics.workspace import workspace


@pytest.mark.parametrize("name", ["abb_irb360_6_1600", "6ups"])
def test_a_level_is_a_section_of_the_workspace(name):
    robot = described(name) if name == "6ups" else load(name)
    mechanism, z = build(robot), 0.65 if name == "6ups" else -1.0
    poses, inside = poses_at_level(mechanism, robot.limits, z, 41)
    assert (poses[..., 2] == z).all()
    home = np.array(mechanism.home(), float)
    assert np.array_equal(poses[..., 3:], np.broadcast_to(home[3:], (41, 41, len(home) - 3)))
    space = workspace(mechanism, robot.limits, over=("x", "y"), at={"z": z}, resolution=41)
    cell = np.diff(poses[:2, 0, 0]) * np.diff(poses[0, :2, 1])
    assert inside.sum() * cell.item() == pytest.approx(space.volume, rel=0.03)


def test_robots_that_stay_in_a_plane_have_no_levels():
    with pytest.raises(InputError) as caught:
        poses_at_level(build(described("two_axis_delta")), Limits(), -0.4, 5)
    assert str(caught.value) == (
        "A level is for robots that move along x, y and z; this one moves in x, z."
    )
    with pytest.raises(InputError, match=r"Nothing is within reach at z = 5 m\."):
        poses_at_level(build(load("d3s_800")), Limits(), 5.0, 5)
