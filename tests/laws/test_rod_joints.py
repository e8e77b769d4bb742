"""Rods and struts as springs: E A / L by hand, side by side in pairs, each in its loop."""

import math

import numpy as np
import pytest
from limb_robots import described

from triskele.description.load import load
from triskele.description.schema import CrossSection, Material, Sections
from triskele.kinematics.build import build
from triskele.laws.rods import cross_section_area, loop_stiffness

STEEL = Material(young_modulus=200e9, density=7800, poisson_ratio=0.3)
TUBE = CrossSection(shape="tube", material="steel", outer_radius=0.01, inner_radius=0.008)
EA = 200e9 * math.pi * (0.01**2 - 0.008**2)


def with_rods(robot, **sections):
    """A robot with rods of steel."""
    changes = {"materials": {"steel": STEEL}, "sections": Sections(**sections)}
    return robot.model_copy(update=changes)


def stiffness(robot, **sections):
    """That of each loop at home."""
    mechanism = build(robot)
    home = tuple(float(np.asarray(value)) for value in mechanism.home())
    return loop_stiffness(with_rods(robot, **sections), mechanism, home)


def test_areas_by_hand():
    bar = CrossSection(shape="rectangle", material="steel", width=0.02, height=0.01)
    moments = {"second_moment_y": 1e-9, "second_moment_z": 1e-9, "torsion_constant": 1e-9}
    custom = CrossSection(shape="custom", material="steel", area=3e-4, **moments)
    assert cross_section_area(bar) == pytest.approx(2e-4)
    assert cross_section_area(TUBE) == pytest.approx(math.pi * 3.6e-5)
    assert cross_section_area(custom) == 3e-4


def test_rods_of_unequal_length():
    found = stiffness(described("6rus"), rod=TUBE)
    assert found == pytest.approx(EA / np.array([0.6, 0.605, 0.61, 0.615, 0.6, 0.595]))


def test_rods_of_a_pair_are_side_by_side():
    found = stiffness(described("linear_delta"), rod=TUBE)
    assert found == pytest.approx(2 * EA / np.array([0.28, 0.285, 0.29]))


def test_struts_are_as_long_as_they_are():
    robot = described("6ups")
    mechanism = build(robot)
    x = np.array([0.05, -0.03, 0.65, 0.1, 0.05, -0.1])
    q = np.array(mechanism.inverse(tuple(x)).components, float)
    assert np.ptp(q) > 0.05
    found = loop_stiffness(with_rods(robot, rod=TUBE), mechanism, tuple(x))
    assert found == pytest.approx(EA / q)


def test_a_stated_stiffness_counts_before_the_section():
    found = stiffness(described("6ups"), rod=TUBE, rod_stiffness=3e6)
    assert found == pytest.approx(np.full(6, 3e6))


def test_an_axis_without_rods_is_rigid():
    found = stiffness(described("telescope_delta"), rod_stiffness=3e6)
    assert found == pytest.approx([6e6, 6e6, 6e6, np.inf])


def test_a_catalogue_delta_and_a_3prs():
    assert stiffness(load("abb_irb360_1130"), rod_stiffness=2e6) == pytest.approx([4e6] * 3)
    assert stiffness(load("compliant_3prs"), rod_stiffness=2e6) == pytest.approx([2e6] * 3)


def test_without_a_section_nothing_is_known():
    robot = described("6ups")
    mechanism = build(robot)
    home = tuple(mechanism.home())
    assert loop_stiffness(robot, mechanism, home) is None
    assert loop_stiffness(with_rods(robot, arm=TUBE), mechanism, home) is None
