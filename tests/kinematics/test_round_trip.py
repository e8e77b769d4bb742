"""Forward undoes inverse, to 1e-12 m and rad, for every shipped robot and for random ones."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triskele.description import catalogue
from triskele.description.load import load
from triskele.kinematics.build import build
from triskele.kinematics.delta import Delta
from triskele.kinematics.prs import Prs
from triskele.kinematics.singularity import singularity_margins
from triskele.numerics import batch
from triskele.testing import random_poses

POSES, MARGIN, EXACT = 10_000, 0.02, 1e-12
DELTAS = [name for name in catalogue.names() if load(name).kind == "delta"]


def box(robot):
    """A box that holds every pose within reach, the flange within one turn."""
    if isinstance(robot, Prs):
        length = float(robot.bar_length.max())
        return np.array([[0, length], [-1.2, 1.2], [-1.2, 1.2]])
    reach = float((robot.arm_length + robot.rod_length).max())
    sideways = reach - float(jnp.abs(robot.base_radius - robot.platform_radius).min())
    sides = [[-sideways, sideways], [-sideways, sideways], [-reach, 0], [-np.pi, np.pi]]
    return np.array(sides[: len(robot.platform_coordinates)])


def trip(robot, x):
    q = robot.inverse(x).components
    return robot.forward(q).components, robot.closure(q, x), robot.passive(q, x)


def uneven_delta(random, size):
    """A Delta with limbs that differ by up to 5 % in length and 10 degrees in azimuth."""
    arm, base = size * random.uniform(0.1, 1.0), size * random.uniform(0.05, 0.5)
    platform = base * random.uniform(0.1, 1.0)
    rod = (base + arm - platform) * random.uniform(1.2, 2.5)
    each = lambda length: jnp.asarray(length * random.uniform(0.95, 1.05, 3))  # noqa: E731
    azimuth = random.uniform(-np.pi, np.pi) + np.arange(3) * 2 * np.pi / 3
    azimuth = azimuth + random.uniform(-np.pi / 18, np.pi / 18, 3)
    return Delta(
        azimuth=jnp.asarray(random.choice([1, -1]) * azimuth),
        base_radius=each(base),
        platform_radius=each(platform),
        arm_length=each(arm),
        rod_length=each(rod),
    )


@pytest.mark.parametrize("name", DELTAS)
def test_forward_undoes_inverse_on_every_shipped_delta(name):
    robot = build(load(name))
    poses = random_poses(robot, box(robot), POSES, margin=MARGIN)
    found, _, _ = batch(eqx.Partial(trip, robot))(poses)
    assert np.abs(np.stack(found, axis=1) - poses).max() < EXACT


@pytest.mark.long
def test_forward_undoes_inverse_on_the_3prs_where_all_bars_rise():
    """Beyond, with two bars sinking, margins are positive too, but Newton starts elsewhere."""
    robot = build(load("compliant_3prs"))
    poses = random_poses(robot, box(robot), 2 * POSES, margin=MARGIN)
    found, _, passive = batch(eqx.Partial(trip, robot))(poses)
    rising = (np.stack(passive[:3]) > 0).all(axis=0)
    assert rising.sum() > POSES
    assert np.abs(np.stack(found, axis=1) - poses)[rising].max() < EXACT


def test_forward_undoes_inverse_on_200_random_deltas_with_uneven_limbs():
    random = np.random.default_rng(5)
    robots = [uneven_delta(random, 1.0) for _ in range(200)]
    worst = 0.0
    for seed, robot in enumerate(robots):
        poses = random_poses(robot, box(robot), POSES, seed=seed, margin=MARGIN)
        found, _, _ = batch(eqx.Partial(trip, robot))(poses)
        worst = max(worst, np.abs(np.stack(found, axis=1) - poses).max())
    assert worst < EXACT


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.floats(0.01, 10.0))
def test_loops_close_and_forward_undoes_inverse_on_deltas_of_any_size(seed, size):
    robot = uneven_delta(np.random.default_rng(seed), size)
    poses = random_poses(robot, box(robot), 100, seed=seed, margin=0.05)
    found, loops, _ = batch(eqx.Partial(trip, robot))(poses)
    assert np.abs(np.stack(loops)).max() < 1e-13 * size**2
    assert np.abs(np.stack(found, axis=1) - poses).max() < EXACT * size


def test_beyond_the_type_two_singularity_the_platform_is_in_the_other_assembly_mode():
    """Poses with a negative margin: `forward` as built gives their mirror image, mode -1 them."""
    robot = build(load("omron_mini_delta"))
    mirrored = dataclasses.replace(robot, assembly_mode=-1)
    above = -box(robot)[:, ::-1]
    poses = random_poses(mirrored, above, 1000, margin=MARGIN)

    def both(robot, mirrored, x):
        q = robot.inverse(x).components
        margins = singularity_margins(robot, q, x)
        built = robot.forward(q).components
        return margins.type2, built, mirrored.forward(q).components, robot.closure(q, built)

    type2, built, other, loops = batch(eqx.Partial(both, robot, mirrored))(poses)
    assert (np.asarray(type2) < -MARGIN).all()
    assert np.abs(np.stack(other, axis=1) - poses).max() < EXACT
    assert np.abs(np.stack(loops)).max() < EXACT
    assert (np.abs(np.stack(built, axis=1) - poses).max(axis=1) > 1e-3).all()


def test_turns_of_the_flange_beyond_one_are_kept():
    robot = build(load("abb_irb360_6_1600"))
    x = jnp.array([0.1, 0.2, -1.0, 25.0])
    assert np.allclose(jax.jit(lambda x: robot.forward(robot.inverse(x).value).value)(x), x)
