"""Joints that bend: their angles are those between the bodies that they join, zero at home."""

import numpy as np
import pytest
from limb_robots import SAMPLES, described

from triskele.description.schema import Flexures
from triskele.kinematics.bending import ball_angles, hinge_angle
from triskele.kinematics.build import build

ALL = Flexures(revolute_bending=1.0, spherical_bending=1.0, spherical_torsion=1.0)
Z = (0.0, 0.0, 1.0)


def rotation(axis, angle):
    """About x, y or z."""
    s, c = np.sin(angle), np.cos(angle)
    found = np.eye(3)
    i, j = [(1, 2), (2, 0), (0, 1)][axis]
    found[i, i] = found[j, j] = c
    found[i, j], found[j, i] = -s, s
    return found


def axes(frame):
    return np.array([frame.x, frame.y, frame.z], float).T


def test_a_hinge_turns_by_what_lies_between():
    for angle in (-2.0, -0.3, 0.0, 1.5, 3.0):
        u, s = (
            (np.cos(0.7), np.sin(0.7), 0.0),
            (3 * np.cos(0.7 + angle), 3 * np.sin(0.7 + angle), 0.0),
        )
        assert hinge_angle(Z, u, s) == pytest.approx(angle)


def test_a_ball_bends_about_m_and_n_and_twists_about_l():
    bar = rotation(0, 0.4) @ rotation(2, -1.0)
    for angles in ((0.3, 0.0, 0.0), (0.0, -0.4, 0.0), (0.0, 0.0, 0.5), (0.3, -0.4, 0.5)):
        turn = rotation(0, angles[0]) @ rotation(1, angles[1]) @ rotation(2, angles[2])
        rest = bar @ turn
        found = ball_angles(*(tuple(map(tuple, part.T)) for part in (bar, rest)))
        assert found == pytest.approx(angles)


BENDING = [name for name in SAMPLES if name not in ("single_rod_delta",)]
QUICK = ("five_bar", "3rps", "two_axis_delta", "delta")


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.long) for n in BENDING]
)
def test_angles_are_those_between_the_bodies(name):
    """Size of the relative rotation since home, by its trace."""
    robot = described(name).model_copy(update={"flexures": ALL})
    mechanism = build(robot)
    joints = {joint.name: joint for joint in mechanism.joints()}
    home = np.array([float(np.asarray(value)) for value in mechanism.home()])
    units = np.array(mechanism.scales().platform, float)
    x = home + 0.03 * float(np.asarray(mechanism.size)) / units * np.cos(1 + np.arange(len(home)))
    bent = [(c, k) for k, c in enumerate(mechanism.passive_coordinates) if c.flexure]
    assert bent

    def at(x):
        q = mechanism.inverse(tuple(x)).components
        frames = dict(zip(mechanism.bodies, mechanism.body_poses(q, tuple(x)), strict=True))
        turned = {name: axes(frame) for name, frame in frames.items()} | {"base": np.eye(3)}
        return turned, np.array(mechanism.passive(q, tuple(x)), float)

    (before, rest), (after, eta) = at(home), at(x)
    assert np.array(mechanism.unbent(), float) == pytest.approx(rest)
    for joint in {c.joint for c, _ in bent}:
        angles = [eta[k] for c, k in bent if c.joint == joint]
        assert np.abs([rest[k] for c, k in bent if c.joint == joint]).max() < 1e-12
        parent, child = joints[joint].parent, joints[joint].child
        turn = (before[parent].T @ before[child]).T @ (after[parent].T @ after[child])
        between = np.arccos(np.clip((np.trace(turn) - 1) / 2, -1, 1))
        if len(angles) == 1:
            assert abs(angles[0]) == pytest.approx(between, abs=1e-7)
        else:
            M = rotation(0, angles[0]) @ rotation(1, angles[1]) @ rotation(2, angles[2])
            assert np.arccos(np.clip((np.trace(M) - 1) / 2, -1, 1)) == pytest.approx(
                between, abs=1e-7
            )
    assert np.abs(eta - rest).max() > 1e-3
