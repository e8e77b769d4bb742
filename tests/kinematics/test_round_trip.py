"""FK(IK(x)) = x over many poses, of every shipped robot and of random uneven Deltas."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from triskele.description import catalogue
from triskele.description.load import load
from triskele.kinematics.build import build
from triskele.kinematics.delta import Delta
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.singularity import singularity_margins
from triskele.numerics import batch
from triskele.testing import random_poses

TOLERANCE = 1e-12  # m and rad


def whole_box(mechanism: AbstractMechanism) -> np.ndarray:
    """A box (m, 2) that holds every pose near the workspace, right up to its border."""
    home = np.array([float(value) for value in mechanism.home()])
    reach = float(mechanism.scales().loops[0]) * 1.2
    half = np.minimum(reach / np.array([float(s) for s in mechanism.scales().platform]), np.pi)
    if "theta" in [c.name for c in mechanism.platform_coordinates]:
        half = np.array([0.4 * float(mechanism.scales().loops[0]), 0.35, 0.35])
    return np.stack([home - half, home + half], axis=1)


def worst_round_trip(mechanism: AbstractMechanism, poses: np.ndarray) -> float:
    q = np.asarray(batch(mechanism.inverse)(poses).value)
    return float(np.abs(np.asarray(batch(mechanism.forward)(q).value) - poses).max())


@pytest.mark.parametrize("name", catalogue.names())
def test_forward_undoes_inverse_at_ten_thousand_poses_of(name: str):
    mechanism = build(load(name))
    poses = random_poses(mechanism, whole_box(mechanism), 10_000)
    assert len(np.unique(poses, axis=0)) == 10_000
    assert worst_round_trip(mechanism, poses) < TOLERANCE


def random_delta(random: np.random.Generator) -> Delta:
    """A Delta whose limbs differ by up to 5 % in each length and 10 degrees in azimuth."""

    def uneven(nominal: float) -> jnp.ndarray:
        return jnp.asarray(nominal * random.uniform(0.95, 1.05, 3))

    arm = random.uniform(0.1, 1.0)
    base, platform = arm * random.uniform(0.2, 1.0), arm * random.uniform(0.05, 0.3)
    rod = (base + arm - platform) * random.uniform(1.15, 2.0)
    turn = np.arange(3) * 2 * np.pi / 3 + random.uniform(-np.pi / 18, np.pi / 18, 3)
    return Delta(
        azimuth=jnp.asarray(turn),
        base_radius=uneven(base),
        platform_radius=uneven(platform),
        arm_length=uneven(arm),
        rod_length=uneven(rod),
    )


def test_forward_undoes_inverse_for_two_hundred_random_deltas_with_uneven_legs():
    random = np.random.default_rng(2)
    worst = 0.0
    for seed in range(200):
        robot = random_delta(random)
        poses = random_poses(robot, whole_box(robot), 10_000, seed=seed)
        worst = max(worst, worst_round_trip(robot, poses))
    assert worst < TOLERANCE


def test_beyond_the_type_2_singularity_the_mirrored_assembly_is_the_truth():
    robot = build(load("flexible_delta"))
    box = whole_box(robot)
    poses = np.random.default_rng(3).uniform(box[:, 0], box[:, 1], (20_000, 3))
    q = batch(robot.inverse)(poses)
    margin = batch(lambda q, x: singularity_margins(robot, q, x).type2)(np.asarray(q.value), poses)
    beyond = (np.asarray(q.margin) > 0.02) & (np.asarray(margin) < -0.02)
    assert beyond.sum() > 100
    joints = np.asarray(q.value)[beyond]
    as_built = np.asarray(batch(robot.forward)(joints).value)
    mirrored = dataclasses.replace(robot, assembly_mode=-1)
    other = np.asarray(batch(mirrored.forward)(joints).value)
    assert np.abs(as_built - poses[beyond]).max(axis=1).min() > 1e-6
    assert np.abs(other - poses[beyond]).max() < 1e-11
