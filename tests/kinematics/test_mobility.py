"""Mobility from the rank of the joint constraints."""

import numpy as np
import pytest

from triskele.description.load import load
from triskele.kinematics.build import build
from triskele.kinematics.mobility import joint_constraints, mobility

POSES = {
    "abb_irb360_6_1600": [0.2, -0.3, -1.0, 0.5],
    "abb_irb360_1130": [0.1, 0.1, -0.7],
    "flexible_delta": [0.1, 0.0, -0.5],
    "d3s_800": [0.1, 0.05, -0.85],
    "compliant_3prs": [0.079, 0.01, -0.02],
}


def state(name):
    robot = build(load(name))
    x = np.array(POSES[name])
    return robot, np.asarray(robot.inverse(x[: len(robot.platform_coordinates)]).value), x


@pytest.mark.parametrize(
    ("name", "bodies", "rows", "freedom", "redundant"),
    [
        ("abb_irb360_6_1600", 13, 15 + 24 + 18 + 3 + 5 + 4 + 5, 4, 0),
        ("flexible_delta", 7, 15 + 12 + 12, 3, 0),
        ("d3s_800", 16, 15 + 36 + 60, 3, 18),
        ("compliant_3prs", 7, 15 + 15 + 9, 3, 0),
    ],
)
def test_joints_leave_as_many_freedoms_as_motors(name, bodies, rows, freedom, redundant):
    robot, q, x = state(name)
    found = mobility(robot, q, x)
    assert (found.bodies, found.rows, found.freedom) == (bodies, rows, freedom)
    assert found.redundant == redundant
    assert found.rank == rows - redundant
    assert found.gap > 1e6
    assert freedom == sum(joint.driven for joint in robot.joints())


def test_locked_motors_leave_nothing_to_move():
    robot, q, x = state("flexible_delta")
    C = joint_constraints(robot, q, x)
    locks = np.zeros((3, 42))
    for i, joint in enumerate(robot.joints()[:3]):
        locks[i, 6 * i + 3 : 6 * i + 6] = np.asarray(joint.axis, float)  # its rotation
    assert np.linalg.matrix_rank(C) == 39
    assert np.linalg.matrix_rank(np.vstack([C, locks])) == 42


def test_a_rod_that_comes_off_gives_the_platform_more_freedom(monkeypatch):
    robot, q, x = state("flexible_delta")
    loose = [joint for joint in robot.joints() if joint.name != "wrist_rod_1"]
    monkeypatch.setattr(type(robot), "joints", lambda self: tuple(loose))
    assert mobility(robot, q, x).freedom == 3 + 4


def test_a_redundant_joint_is_counted_as_such(monkeypatch):
    robot, q, x = state("flexible_delta")
    twice = robot.joints()
    monkeypatch.setattr(type(robot), "joints", lambda self: (*twice, twice[-1]))
    found = mobility(robot, q, x)
    assert (found.freedom, found.redundant) == (3, 4)
