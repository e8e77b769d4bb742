"""Reactions in all joints: by hand, against inverse dynamics, and against the whole robot."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from random_motions import ROWS, columns, evaluated, frictionless, motions, uneven
from rubbing import sprung_delta
from triangle import BELOW, triangle
from whole_robot import assert_base_carries_all

from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.reactions import reactions
from triskele.errors import InputError

G = 9.81


def held(robot, *states):
    return reactions(robot, *states)


# By hand


@pytest.fixture(scope="module")
def hanging():
    """The triangle at rest: 6 kg of arms, 3 kg of rods in pairs, 4 kg of platform."""
    still = np.zeros((ROWS, 3))
    robot = triangle(arm=2.0, rod=1.0, platform=4.0, pairs=True)
    return held(robot, np.repeat(BELOW, ROWS, axis=0), still, still)


def test_each_bearing_of_the_triangle_carries_a_third_and_its_lever(hanging):
    forces = np.array([hanging.of(f"motor_{i}")[0][0] for i in (1, 2, 3)])
    assert np.allclose(forces[:, 2], 13 * G / 3, rtol=1e-12)
    assert np.allclose(forces.sum(axis=0), [0, 0, 13 * G], rtol=0, atol=1e-11)
    moment = hanging.of("motor_1")[1][0]
    # 2 kg at 3 m, and of 1 kg of rods and 4/3 kg of platform all that hangs on the elbow.
    assert np.allclose(moment, [0, -3 * G * (2 + 1 + 4 / 3), 0], rtol=0, atol=1e-11)


def test_a_rod_of_the_triangle_carries_its_weight_at_both_ends(hanging):
    # Across: half of its 0.5 kg on a slope of 3 in 5 at each end. Along: the platform pulls
    # 6 T 4/5 = 4 kg g plus what the rods lean on it, 6 * 0.3 w * 3/5 with w = 0.5 kg g.
    w = 0.5 * G
    e, across = np.array([-0.6, 0, -0.8]), np.array([-0.8, 0, 0.6])
    T = (4 * G + 6 * 0.3 * w * 0.6) / 4.8
    wrist, elbow = (hanging.of(f"{end}_rod_1a")[0][0] for end in ("wrist", "elbow"))
    assert np.allclose(wrist, T * e + 0.3 * w * across, rtol=0, atol=1e-11)
    assert np.allclose(elbow, -(T + 0.8 * w) * e + 0.3 * w * across, rtol=0, atol=1e-11)


def test_a_joint_is_found_by_its_name(hanging):
    names = [joint.name for joint in hanging.joints]
    assert names[:3] == ["motor_1", "motor_2", "motor_3"]
    assert np.array_equal(
        hanging.of("wrist_rod_2b")[0], hanging.force[:, names.index("wrist_rod_2b")]
    )
    assert hanging.unique.all()


# Laws


@pytest.mark.parametrize("name", ["flexible_delta", "compliant_3prs"])
def test_the_base_carries_what_moves_the_whole_robot(name):
    """And the drives do what inverse dynamics says."""
    robot = uneven(frictionless(name))
    n = len(robot.rotors)
    robot = dataclasses.replace(robot, rotors=jnp.zeros(n), springs=(None,) * len(robot.springs))
    states = motions(robot)
    found = held(robot, *states)
    assert_base_carries_all(robot, states, found)
    carried = [
        (found.moment if joint.kind == "revolute" else found.force)[:, k]
        @ np.array(joint.axis, float)
        for k, joint in enumerate(found.joints[:n])
    ]
    tau = columns(evaluated(eqx.Partial(inverse_dynamics, robot), *states))
    assert np.allclose(columns(carried), tau, rtol=0, atol=1e-9 * np.abs(tau).max())


def test_joints_that_are_springs_are_refused():
    with pytest.raises(InputError, match="springs"):
        reactions(sprung_delta(), *motions(sprung_delta()))
