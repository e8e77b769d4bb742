"""Compliant 3PRS of Ruiz et al., Robotics 11 (2022) 4: reference state and equations."""

import numpy as np
import pytest

from triskele.description.load import load
from triskele.kinematics.build import build
from triskele.kinematics.velocity import jacobian

# Platform 2 mm above home, tilted by +1 and -0.5 degrees; computed independently from the
# equations of Appendices A to D with the corrections of docs/theory/prs.md.
TILT = np.radians([1.0, -0.5])
SLIDERS = [2.7929, 2.8977, 1.4017]  # mm
ALPHA = [46.8213, 46.8953, 45.8015]  # deg
BETA = [2.3256, 0.7040, -0.7102, 2.5152, -0.6561, 0.6633, -0.3145, -0.0479, 0.0469]  # deg


@pytest.fixture(scope="module")
def robot():
    return build(load("compliant_3prs"))


@pytest.fixture(scope="module")
def pose(robot):
    return np.array([float(robot.home()[0]) + 2e-3, *TILT])


def test_home_is_where_the_bars_stand_at_45_degrees(robot):
    assert float(robot.home()[0]) == pytest.approx(77.2267e-3, abs=5e-8)
    home = np.asarray(robot.inverse(robot.home()).value)
    assert np.abs(1e3 * home - 0.3003).max() < 5e-5


def test_sliders_of_the_reference_state(robot, pose):
    assert np.abs(1e3 * np.asarray(robot.inverse(pose).value) - SLIDERS).max() < 5e-5


def test_passive_angles_of_the_reference_state(robot, pose):
    q = robot.inverse(pose).value
    angles = np.degrees(np.asarray(robot.passive(q, pose)))
    assert np.abs(angles - [*ALPHA, *BETA]).max() < 5e-5


def test_parasitic_motions_are_those_of_equation_a6(robot, pose):
    _, psi, theta = pose
    b = 47.61e-3
    phi = np.arctan2(np.sin(psi) * np.sin(theta), np.cos(psi) + np.cos(theta))
    x = np.cos(theta) * np.cos(phi) + np.sin(psi) * np.sin(theta) * np.sin(phi)
    p_x, p_y = b / 2 * (x - np.cos(psi) * np.cos(phi)), -b * np.cos(psi) * np.sin(phi)
    frame = robot.platform_pose(pose)
    assert np.degrees(phi) == pytest.approx(-0.004363, abs=5e-7)
    assert np.abs(np.asarray(frame.p[:2], float) - [p_x, p_y]).max() < 1e-15
    assert np.arctan2(frame.x[1], frame.y[1]) == pytest.approx(phi, abs=1e-15)


def test_derivative_of_the_sliders_at_home(robot):
    b, home = 47.61e-3, np.asarray([float(value) for value in robot.home()])
    ds_dx = np.linalg.inv(np.asarray(jacobian(robot, robot.inverse(home).value, home)))
    half, side = b / 2, b * np.sqrt(3) / 2
    expected = [[1, 0, -b], [1, side, half], [1, -side, half]]
    assert np.abs(ds_dx - expected).max() < 1e-12
