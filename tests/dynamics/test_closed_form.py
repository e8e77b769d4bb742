"""The closed form against the general law, and where it does not apply."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from closed_form import of
from random_motions import columns, evaluated, frictionless, motions
from thin import thin_delta
from triangle import BELOW, triangle

from triskele.dynamics.inverse import inverse_dynamics
from triskele.laws.friction import FrictionLaw
from triskele.laws.springs import Spring

ONE = jnp.ones(())
LAW = FrictionLaw(coulomb=ONE, viscous=ONE, smoothing_speed=ONE)


@pytest.mark.parametrize(
    "name, working_mode", [("omron_mini_delta", (1, 1, 1)), ("flexible_delta", (-1, 1, -1))]
)
def test_closed_form_and_general_law_agree(name, working_mode):
    """Pairs and single rods, elbows outwards and inwards."""
    robot = thin_delta(name, working_mode)
    x, xd, xdd = motions(robot)
    closed = of(robot)
    tau = columns(evaluated(eqx.Partial(inverse_dynamics, robot), x, xd, xdd))
    ours = columns(evaluated(closed.inverse_dynamics, x, xd, xdd))
    assert np.abs(ours - tau).max() < 1e-11 * np.abs(tau).max()
    back = columns(evaluated(closed.forward_dynamics, x, xd, tau))
    assert np.abs(back - xdd).max() < 1e-10 * np.abs(xdd).max()


def test_torques_of_the_triangle():
    # 13 kg in all, lifted at 6 m/s^2 by arms that turn by -2 rad/s^2: see test_inverse.py.
    robot = triangle(arm=2.0, rod=1.0, platform=4.0, rotors=0.5)
    up = np.array([[0.0, 0.0, 6.0]])
    tau = columns(evaluated(of(robot).inverse_dynamics, BELOW, np.zeros((1, 3)), up))
    assert np.allclose(tau, -13 * (9.81 + 6) - 0.5 * 2, rtol=1e-13)


@pytest.mark.parametrize(
    "robot",
    [
        thin_delta("abb_irb360_6_1600"),  # has a telescope
        thin_delta("d3s_800"),  # has connectors
        frictionless("flexible_delta"),  # has thick rods
        frictionless("compliant_3prs"),
    ],
    ids=["telescope", "connectors", "thick", "3prs"],
)
def test_there_is_none_for_other_robots(robot):
    assert of(robot) is None


def test_there_is_none_with_friction_springs_or_mass_beside_the_line():
    robot = thin_delta()
    assert of(robot) is not None
    nothing = (None, None)
    for part, value in (
        ("drive_friction", (*nothing, LAW)),
        ("passive_friction", (LAW, *nothing)),
        ("ball_friction", LAW),
        ("springs", (*nothing, Spring(ONE, ONE))),
    ):
        assert of(dataclasses.replace(robot, **{part: value})) is None
    for moment in (2, 3, 4, 5, 7, 8, 9):  # one rod, one entry: y, z, xx, yy but not zz, ...
        theta = robot.theta.at[4, moment].add(1e-6)
        assert of(dataclasses.replace(robot, theta=theta)) is None


def test_there_is_none_for_numbers_that_are_traced():
    found = []
    jax.eval_shape(lambda robot: found.append(of(robot)), thin_delta())
    assert found == [None]
