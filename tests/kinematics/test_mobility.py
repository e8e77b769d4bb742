"""Degrees of freedom, from the rank of the joint constraints."""

import jax.numpy as jnp
import numpy as np
import pytest

from triskele.description.load import load
from triskele.kinematics.build import build
from triskele.kinematics.delta import Delta
from triskele.kinematics.mobility import joint_constraints, mobility
from triskele.kinematics.prs import Prs

D3S = build(load("d3s_800"))


def counted(mechanism):
    """Mobility at a pose without symmetry."""
    x = jnp.stack(mechanism.home())
    x = x + 0.01 * jnp.arange(1.0, x.size + 1)
    return mobility(mechanism, mechanism.inverse(x).checked(), x)


# Rows by joints: revolute 5, universal 4, spherical 3, prismatic 5.
@pytest.mark.parametrize(
    "name, rows, freedom, redundant",
    [
        # Three limbs of 1 R, 4 S and 4 R, after Elshami et al.; "full" in our notes.
        ("d3s_800", 3 * (5 + 4 * 3 + 4 * 5), 3, 18),
        # R, and a universal and a spherical joint per rod; yoke, slide, cardan, flange.
        ("abb_irb360_6_1600", 3 * (5 + 2 * (4 + 3)) + 3 + 5 + 4 + 5, 4, 0),
        ("omron_mini_delta", 3 * (5 + 2 * (4 + 3)), 3, 0),
        # One rod with universal joints at both ends keeps the platform level.
        ("flexible_delta", 3 * (5 + 4 + 4), 3, 0),
        ("compliant_3prs", 3 * (5 + 5 + 3), 3, 0),
    ],
)
def test_freedom_and_redundancy_of_the_shipped_robots(name, rows, freedom, redundant):
    mechanism = build(load(name))
    found = counted(mechanism)
    assert found[:5] == (
        len(mechanism.bodies), rows, rows - redundant, freedom, redundant
    )  # fmt: skip
    assert found.gap > 1e6


def altered(monkeypatch, mechanism, change):
    """Mobility with joints replaced (or dropped, by None) through `change`."""
    original = type(mechanism).joints
    monkeypatch.setattr(
        type(mechanism),
        "joints",
        lambda self: tuple(joint for joint in map(change, original(self)) if joint is not None),
    )
    return counted(mechanism)


def test_connecting_rods_with_a_ball_at_one_end_are_less_redundant(monkeypatch):
    # The balls of the two rods of a limb are on different forearms, lest one forearm spin.
    balls = {f"hinge_rod_{i}{forearm}" for i in "123" for forearm in ("ab", "ba")}

    def ball(joint):
        return joint._replace(kind="spherical") if joint.name in balls else joint

    found = altered(monkeypatch, D3S, ball)
    assert (found.rows, found.freedom, found.redundant) == (99, 3, 6)


def test_connecting_rods_held_at_one_end_swing(monkeypatch):
    # One rod of each limb without its hinge on forearm b: three rods swing.
    def dropped(joint):
        return None if joint.name in {f"hinge_rod_{i}ba" for i in "123"} else joint

    found = altered(monkeypatch, D3S, dropped)
    assert (found.rows, found.freedom, found.redundant) == (96, 6, 6)


def test_without_connecting_rods_the_forearms_spin(monkeypatch):
    def dropped(joint):
        return None if joint.name.startswith("hinge") else joint

    found = altered(monkeypatch, D3S, dropped)
    # Six connectors float with 6 degrees of freedom each; forearms spin with one each.
    assert (found.rows, found.freedom, found.redundant) == (51, 3 + 6 + 6 * 6, 0)


def test_a_locked_ball_stops_a_3prs(monkeypatch):
    def locked(joint):
        if joint.name != "spherical_1":
            return joint
        return joint._replace(kind="revolute", axis=(0.0, 1.0, 0.0))

    found = altered(monkeypatch, build(load("compliant_3prs")), locked)
    assert (found.rows, found.freedom) == (41, 1)


def test_rows_forbid_what_the_joint_forbids():
    """The motor of limb 1 of a 3-4-5 Delta: its arm may turn about y at (1, 0, 0), only."""
    robot = Delta.symmetric(base_radius=1.0, platform_radius=1.0, arm_length=3.0, rod_length=5.0)
    q, x = jnp.zeros(3), jnp.array([0.0, 0.0, -4.0])
    rows = joint_constraints(robot, q, x)[:5, :6]
    twists = np.eye(6)  # linear first, at the motor
    assert np.linalg.matrix_rank(rows) == 5
    assert np.allclose(rows @ twists[4], 0, atol=1e-15)
    elbow = joint_constraints(robot, q, x)[15:19]
    # The arm at 1 rad/s lowers its elbow by 3 m/s (0.6 rod lengths); the rod goes along.
    motion = np.zeros(6 * 7)
    motion[4] = 1.0
    motion[18 + 2] = -0.6
    assert np.allclose(elbow @ motion, 0, atol=1e-15)
    motion[18 + 2] = 0.6
    assert np.abs(elbow @ motion).max() > 1


def test_a_slide_is_guided_where_its_child_is():
    robot = Prs.symmetric(base_radius=0.125, platform_radius=0.05, bar_length=0.1)
    x = jnp.stack(robot.home())
    rows = joint_constraints(robot, robot.inverse(x).checked(), x)[:5, :6]
    assert np.allclose(rows @ [1, 0, 0, 0, 0, 0], 0, atol=1e-15)
    assert np.linalg.matrix_rank(rows) == 5
