"""A Delta of six rods that all differ: its effector tilts, as six lengths demand."""

import dataclasses

import equinox as eqx
import numpy as np
import pytest
from limb_robots import described, text
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from triskele.description.load import parse
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import rigid
from triskele.dynamics.torques import load_vectors
from triskele.errors import DescriptionError
from triskele.kinematics import tilt
from triskele.kinematics.build import build
from triskele.kinematics.reach import worst_slack
from triskele.numerics import batch, stacked, tabulate
from triskele.testing import random_poses

NAME = "six_rod_delta"
AROUND = np.radians([0.0, 118.0, 243.0])  # what stands in the file [m]
BASE, END = np.array([0.2, 0.005, 0.003]), np.array([0.05, 0.002, 0.004])
ARM, SPACING, END_SPACING = [0.3, 0.31, 0.295], [0.08, 0.085, 0.09], [0.082, 0.085, 0.089]
RODS = [(0.7, 0.703), (0.69, 0.688), (0.71, 0.711)]
BOX = np.array([[-0.12, 0.12], [-0.12, 0.12], [-0.68, -0.55]])


def rod_lengths(q, p, turn):
    """Lengths of the six rods from the file's numbers, in SciPy's rotations."""
    found = []
    for i, azimuth in enumerate(AROUND):
        limb = Rotation.from_euler("z", azimuth)
        arm = limb * Rotation.from_euler("y", q[i])
        for side in (-0.5, 0.5):
            elbow = limb.apply(BASE) + arm.apply([ARM[i], side * SPACING[i], 0])
            wrist = p + turn.apply(limb.apply(END + side * np.array([0, END_SPACING[i], 0])))
            found.append(np.linalg.norm(wrist - elbow))
    return np.array(found)


def test_six_lengths_are_those_of_the_file_and_their_solution_is_ours():
    """SciPy solves the six equations for place and rotation, from the joint angles alone."""
    mechanism, given = build(described(NAME)), np.ravel(RODS)
    poses, tilts = np.random.default_rng(1).uniform(*BOX.T, (6, 3)), []
    programs = np.stack(tabulate(mechanism.inverse)(poses).components, -1)
    for x, by_program in zip(poses, programs, strict=True):
        q, frame = mechanism.inverse(tuple(x)).value, mechanism.platform_pose(tuple(x))
        turn = Rotation.from_matrix(np.array(frame[:3], float).T)
        assert np.abs(rod_lengths(q, x, turn) - given).max() < 1e-12
        assert np.abs(q - by_program).max() < 1e-14

        def misfit(at, q=q):
            return rod_lengths(q, at[:3], Rotation.from_rotvec(at[3:])) - given

        start = [0, 0, -0.6, 0, 0, 0]
        at = least_squares(misfit, start, xtol=1e-15, ftol=1e-15, gtol=1e-15, x_scale=0.1).x
        assert np.abs(at[:3] - x).max() < 1e-11
        assert (Rotation.from_rotvec(at[3:]).inv() * turn).magnitude() < 1e-10
        assert np.abs(stacked(mechanism.forward(tuple(q)).components) - x).max() < 1e-13
        turns = mechanism.passive(tuple(q), tuple(x))[-3:]
        assert np.allclose(turn.as_euler("xyz"), turns, atol=1e-14)
        tilts.append(turn.magnitude())
    assert 0.02 < min(tilts) and max(tilts) < 0.1  # 1 to 6 deg


@pytest.mark.long
def test_equal_rods_said_twice_are_a_pair():
    """Poses, torques and the load of each rod are those of the level robot."""
    pairs = text("delta")
    twice = pairs.replace(
        'rod_length = "[700, 690, 710] mm"',
        'rod_length = "[700, 690, 710] mm"\nrod_length_b = "[700, 690, 710] mm"',
    )
    first, second = (rigid(parse(each)) for each in (pairs, twice))
    assert second.mechanism.tilting and not first.mechanism.tilting
    random = np.random.default_rng(3)
    x = random_poses(first.mechanism, BOX, 30)
    xd, xdd = random.normal(size=(2, 30, 3)) * [[[1.0]], [[20.0]]]
    q = np.asarray(batch(first.mechanism.inverse)(x).value)
    assert np.abs(np.asarray(batch(second.mechanism.inverse)(x).value) - q).max() < 1e-12
    assert np.abs(np.asarray(batch(second.mechanism.forward)(q).value) - x).max() < 1e-12
    frames = [np.array(tabulate(eqx.Partial(_poses, r.mechanism))(x)) for r in (first, second)]
    assert np.abs(frames[0] - frames[1]).max() < 1e-12
    torques = [
        np.stack(tabulate(eqx.Partial(inverse_dynamics, robot))(x, xd, xdd), -1)
        for robot in (first, second)
    ]
    assert np.abs(torques[0] - torques[1]).max() < 1e-12 * np.abs(torques[0]).max()
    rods = [np.asarray(load_vectors(robot, x, xd, xdd).rods) for robot in (first, second)]
    assert np.abs(rods[0] - rods[1]).max() < 1e-12 * np.abs(rods[0]).max()


def _poses(mechanism, x):
    frames = mechanism.body_poses(mechanism.inverse(x).components, x)
    return tuple(tuple(part + 0.0 * x[0] for axis in frame for part in axis) for frame in frames)


def test_so_few_steps_of_newtons_method_reach_rounding():
    """Rods that differ by up to 10 mm under wrists 80 mm apart: tilts of up to 10 deg."""
    mechanism, random = build(described(NAME)), np.random.default_rng(0)
    tilts = []
    for _ in range(10):
        limbs = (
            dataclasses.replace(limb, second=limb.length + random.uniform(-0.01, 0.01))
            for limb in mechanism.limbs
        )
        uneven = dataclasses.replace(mechanism, limbs=tuple(limbs))
        x = tuple(random.uniform(*BOX.T))
        q = uneven.inverse(x)
        (frame,) = uneven.platform_frames(x).values()
        values, _ = tilt.conditions(uneven.pairs, frame)
        assert np.abs(values).max() < 1e-16
        assert np.abs(uneven.forward(q.components).value - x).max() < 1e-12
        tilts.append(np.linalg.norm(uneven.passive(q.components, x)[-3:]))
    assert max(tilts) > np.radians(8)


def test_the_margin_is_negative_where_no_tilt_closes_the_rods():
    mechanism = build(described(NAME))
    longer = tuple(
        dataclasses.replace(limb, second=limb.length + 0.06 * (-1) ** k)
        for k, limb in enumerate(mechanism.limbs)
    )
    broken = dataclasses.replace(mechanism, limbs=longer)
    x = np.array([0.1, 0.0, -0.6])
    assert broken.inverse(tuple(x)).margin < 0 < mechanism.inverse(tuple(x)).margin
    assert "do not hold the tilt" in worst_slack(broken, described(NAME).limits, x)
    assert broken.forward((0.2, 0.3, 0.1)).margin < 0
    # Three parallelograms whose normals lie in one plane leave a turn free: all p along x.
    alike = tuple(
        dataclasses.replace(limb, second=limb.length, across=None, aside=(1.0, 0.0, 0.0))
        for limb in mechanism.limbs
    )
    loose = dataclasses.replace(mechanism, limbs=alike).inverse((0.0, 0.0, -0.6))
    assert abs(loose.margins[-1]) < 1e-12


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("[703, 688, 711]", "[903, 688, 711]", "six rods cannot close at home"),
        ("[703, 688, 711]", "[703, 688]", "rod_length_b has 2 values for 3 limbs"),
        ('end = "[50', 'lower = "universal"\nend = "[50', "pair of unequal rods.*other joints"),
        ('rod_spacing = "[80, 85, 90] mm"', "", "rod_length_b is for a pair of rods"),
    ],
)
def test_rods_that_cannot_be_are_refused(old, new, told):
    assert old in text(NAME)
    with pytest.raises(DescriptionError, match=told):
        build(parse(text(NAME).replace(old, new)))
