"""From robot files to mechanisms: all shipped ones, and what cannot be built."""

import jax
import numpy as np
import pytest
from shipped import SHIPPED

from triskele.description import catalogue
from triskele.description.load import load, parse
from triskele.errors import DescriptionError, PrecisionError
from triskele.kinematics.build import build
from triskele.kinematics.delta import Delta
from triskele.kinematics.prs import Prs
from triskele.kinematics.singularity import singularity_margins

DELTA = """
kind = "delta"
name = "mine"
title = "Mine"
[geometry]
base_radius = {R}
platform_radius = "0.05 m"
arm_length = "0.3 m"
rod_length = {d}
"""


@pytest.mark.parametrize("name", SHIPPED)
def test_each_shipped_robot_is_built_and_closes_at_home(name):
    robot = load(name)
    mechanism = build(robot)
    home = tuple(float(value) for value in mechanism.home())
    q = tuple(float(value) for value in mechanism.inverse(home).checked())
    assert np.allclose(mechanism.closure(q, home), 0, atol=1e-15)
    assert np.allclose(mechanism.forward(q).checked(), home, atol=1e-12)
    assert singularity_margins(mechanism, q, home).least > robot.limits.singularity_margin
    assert all(np.asarray(leaf).dtype == np.float64 for leaf in jax.tree.leaves(mechanism))


def test_numbers_arrive_where_they_belong():
    robot = build(load("abb_irb360_6_1600"))
    assert isinstance(robot, Delta)
    assert np.allclose(robot.azimuth, np.radians([0, 120, 240]))
    for field, value in (
        ("base_radius", 0.2),
        ("platform_radius", 0.048),
        ("arm_length", 0.5),
        ("rod_length", 1.106),
        ("rod_spacing", 0.1),
        ("telescope", (0.075, 0.038)),
    ):
        assert np.allclose(getattr(robot, field), value), field
    assert robot.connector_offset is None
    connected = build(load("d3s_800"))
    assert isinstance(connected, Delta)
    assert connected.connector_offset == 0.05
    assert connected.telescope is None
    tilting = build(load("compliant_3prs"))
    assert isinstance(tilting, Prs)
    for field, value in (
        ("azimuth", np.radians([0, 120, 240])),
        ("base_radius", 0.125137),
        ("platform_radius", 0.04761),
        ("bar_length", 0.109215),
        ("rest_angle", np.pi / 4),
    ):
        assert np.allclose(getattr(tilting, field), value), field


def test_limbs_may_differ():
    text = DELTA.format(R='"0.2 m"', d='{ value = [0.7, 0.71, 0.69], unit = "m" }')
    robot = build(parse(text))
    assert isinstance(robot, Delta)
    assert np.allclose(robot.rod_length, [0.7, 0.71, 0.69])


def test_a_delta_whose_rods_are_too_short_is_refused():
    with pytest.raises(DescriptionError) as error:
        build(parse(DELTA.format(R='"0.8 m"', d='"0.2 m"')))
    assert str(error.value) == (
        "mine, geometry: the robot cannot be assembled, its legs do not reach the platform "
        "anywhere on the axis. Compare the lengths: arm and rod together must span the "
        "difference of base_radius and platform_radius."
    )


def test_a_3prs_whose_bars_are_too_short_is_refused():
    text = catalogue.text("compliant_3prs")
    uneven = text.replace('"109.215 mm"', '{ value = [109.215, 70, 109.215], unit = "mm" }')
    with pytest.raises(DescriptionError) as error:
        build(parse(uneven))
    assert str(error.value) == (
        "compliant_3prs, geometry: the bars do not reach the platform at rest_angle."
    )


def test_nothing_is_built_in_single_precision():
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(PrecisionError, match="JAX is set to 32 bit"):
            build(load("d3s_800"))
    finally:
        jax.config.update("jax_enable_x64", True)
