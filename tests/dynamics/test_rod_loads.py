"""Loads in closed form: against the balance of each body, by hand, and along a path."""

import dataclasses
from typing import cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from random_motions import States, columns, evaluated, frictionless, motions, uneven
from rubbing import irb_with_friction
from triangle import BELOW, triangle
from whole_robot import assert_base_carries_all

from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.reactions import reactions
from triskele.dynamics.rod_loads import PathLoads, has_rod_loads, path_loads, rod_loads
from triskele.errors import InputError
from triskele.studies.reduced_loads import reduced_loads

G = 9.81


def vectors(triples):
    """Triples at N states as (N, k, 3)."""
    return np.stack([columns(triple) for triple in triples], axis=1)


def without_motors(robot):
    """Reactions know what the motors give, but not what their rotors and gears take."""
    n = len(robot.rotors)
    return dataclasses.replace(robot, rotors=jnp.zeros(n), drive_friction=(None,) * n)


def check_against_reactions(robot, states, loads):
    """Rods, motors and base; returns the reactions."""
    held = reactions(robot, *states)
    assert held.unique.all()
    assert_base_carries_all(robot, states, held)
    mechanism, poses = robot.mechanism, tuple(jnp.asarray(states.x.T))
    frames = mechanism.body_poses(mechanism.inverse(poses).components, poses)
    rods = [name for name in mechanism.bodies if name.startswith("rod")]
    e = vectors(frames[mechanism.bodies.index(rod)].x for rod in rods)
    wrists, elbows = (
        np.stack([held.of(f"{end}_{rod}")[0] for rod in rods], axis=1) for end in ("wrist", "elbow")
    )
    lower, upper = vectors(loads.lower_lateral), vectors(loads.upper_lateral)
    assert close(columns(loads.lower)[..., None] * e + lower, wrists)
    assert close(-columns(loads.upper)[..., None] * e + upper, elbows)
    assert np.allclose([np.sum(part * e, axis=-1) for part in (lower, upper)], 0, atol=1e-10)
    n = len(robot.rotors)
    given = [held.of(f"motor_{k + 1}")[1] @ np.array(held.joints[k].axis, float) for k in range(n)]
    assert close(columns(given), columns(evaluated(eqx.Partial(inverse_dynamics, robot), *states)))
    return held


def close(ours, theirs):
    return np.allclose(ours, theirs, rtol=0, atol=1e-9 * np.abs(theirs).max())


def test_closed_form_and_the_balance_of_each_body_agree_with_telescope_and_friction():
    robot = without_motors(uneven(irb_with_friction()))
    states = motions(robot)
    loads = evaluated(eqx.Partial(rod_loads, robot), *states)
    held = check_against_reactions(robot, states, loads)
    force, moment = columns(loads.flange_force), columns(loads.flange_moment)
    assert close(force, held.of("flange")[0])
    assert close(moment + np.cross([0, 0, -0.0625], force), held.of("flange")[1])
    assert np.allclose(moment[:, 2], 0, atol=1e-9)
    assert close(columns(loads.bar_force), held.of("cardan")[0])


def test_closed_form_is_affine_along_a_path_and_agrees_with_the_balance_of_each_body():
    """At random accelerations and speeds along it; without telescope, with payload and flange."""
    robot = without_motors(uneven(frictionless("omron_mini_delta")))
    robot = dataclasses.replace(robot, flange_height=jnp.array(-0.05))
    x, x1, x2 = motions(robot)
    speed, push = np.random.default_rng(4).uniform(-2, 2, (2, len(x)))
    states = States(x, x1 * speed[:, None], x1 * push[:, None] + x2 * speed[:, None] ** 2)
    loads = evaluated(eqx.Partial(rod_loads, robot), *states)
    a, b, c = cast(PathLoads, evaluated(eqx.Partial(path_loads, robot), x, x1, x2))
    summed = jax.tree.map(lambda a, b, c: a * push + b * speed**2 + c, a, b, c)
    for ours, whole in zip(jax.tree.leaves(summed), jax.tree.leaves(loads), strict=True):
        assert np.allclose(ours, whole, rtol=1e-9, atol=1e-9)
    check_against_reactions(robot, states, loads)
    m, *mc = np.asarray(robot.payload)[:4]
    pull = states.xdd - np.asarray(robot.gravity)  # the platform does not turn
    force, moment = columns(loads.flange_force), columns(loads.flange_moment)
    assert close(force, m * pull)
    assert close(moment + np.cross([0, 0, -0.05], force), np.cross(mc, pull))
    assert not np.any(loads.bar_force)


# By hand: w is the weight of a rod of 0.5 kg, on a slope of 3 in 5 across and 4 in 5 along it.


def test_loads_of_the_hanging_triangle():
    robot = triangle(arm=2.0, rod=1.0, platform=4.0, pairs=True)
    still, w = np.zeros((1, 3)), 0.5 * G
    loads = evaluated(eqx.Partial(rod_loads, robot), BELOW, still, still)
    T = (4 * G + 6 * 0.3 * w * 0.6) / 4.8  # the rods lean on the platform with 0.3 w each
    assert np.allclose(columns(loads.lower), T, rtol=1e-12)
    assert np.allclose(columns(loads.upper), T + 0.8 * w, rtol=1e-12)
    for lateral in (loads.lower_lateral, loads.upper_lateral):
        assert np.allclose(np.linalg.norm(vectors(lateral), axis=-1), 0.3 * w, rtol=1e-12)
    reduced = evaluated(eqx.Partial(reduced_loads, robot), BELOW, still, still)
    assert np.allclose(columns(reduced.lower), 4 * G / 4.8, rtol=1e-12)
    assert np.allclose(columns(reduced.upper), 4 * G / 4.8 + 0.8 * w, rtol=1e-12)
    assert np.allclose(
        columns(reduced.tau), -2 * 3 * G - 2 * 3 * 0.8 * (4 * G / 4.8 + 0.8 * w), rtol=1e-12
    )


def test_only_pairs_of_rods_that_nothing_connects_have_a_closed_form():
    assert has_rod_loads(triangle(pairs=True))
    for robot in (triangle(), frictionless("d3s_800"), frictionless("compliant_3prs")):
        assert not has_rod_loads(robot)
        with pytest.raises(InputError, match="pairs of rods"):
            rod_loads(robot, *[jnp.zeros(3)] * 3)
