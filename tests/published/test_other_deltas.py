"""Single figures from the papers of the flexible Delta and of the Omron Mini Delta."""

import numpy as np
import pytest

from triskele.description.load import load
from triskele.kinematics.build import build


def test_flexible_delta_arm_angles_of_kuo_2016():
    """Inverse kinematics of Kuo 2016, equations 5 to 8 (corrected), at (0.1, 0, 0.5), z down.

    His frame is ours turned by pi about x: z changes its sign, limbs 2 and 3 change places.
    """
    robot = build(load("flexible_delta"))
    pose = np.array([0.1, 0.0, -0.5])
    q = robot.inverse(pose)
    assert np.abs(np.degrees(np.asarray(q.value)) - [10.7637, 29.3019, 29.3019]).max() < 1e-4
    tilts = np.degrees(np.asarray(robot.passive(q.value, pose)))
    assert np.abs(np.abs(tilts) - [0.0, 8.299, 8.299]).max() < 1e-3


def test_omron_mini_delta_with_level_arms():
    """Bengoa et al., Sensors 17 (2017) 1934: a 0.100, L_u 0.150, L 0.400, d 0.040 m."""
    robot = build(load("omron_mini_delta_platens"))
    assert float(robot.home()[2]) == pytest.approx(-0.34044, abs=5e-6)
    level = np.asarray(robot.inverse(robot.home()).value)
    assert np.abs(level).max() < 1e-12


def test_omron_mini_delta_tool_ranges():
    """Amplitude 0.5 rad at 3, 2.25 and 3.6 Hz for 5 s from level arms (equation 40, in Hz)."""
    robot = build(load("omron_mini_delta_platens"))
    t = np.linspace(0.0, 5.0, 20_001)
    q = 0.5 * np.sin(2 * np.pi * np.outer(t, [3.0, 2.25, 3.6]))
    from triskele.numerics import batch

    x = np.asarray(batch(robot.forward)(q).value)
    assert np.abs(np.ptp(x, axis=0) - [0.2871, 0.2810, 0.1335]).max() < 1e-4
