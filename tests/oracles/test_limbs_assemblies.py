"""All assemblies of a platform on six struts, counted by paths of complex solutions."""

import dataclasses

import homotopy
import numpy as np
import pytest
from limb_robots import described

from triskele.kinematics.build import build
from triskele.kinematics.limbs import Limbs
from triskele.spatial.vectors import poses_array

pytestmark = pytest.mark.oracle
STATES = 25  # of each kind


def ours(mechanism, q):
    """Poses [R p] of all assemblies."""
    found = [mechanism.platform_pose(tuple(x)) for x in mechanism.assembly_modes(q)]
    return np.array(poses_array(tuple(found)), float)


def anywhere(mechanism, random):
    """The same platform with feet and balls at random, each near where it was."""
    limbs = []
    for limb in mechanism.limbs:
        places = (
            tuple(np.asarray(v + random.uniform(-0.1, 0.1)) for v in point)
            for point in (limb.base, limb.end)
        )
        base, end = places
        limbs.append(dataclasses.replace(limb, base=base, end=end))
    return dataclasses.replace(mechanism, limbs=tuple(limbs))


def test_all_assemblies_of_a_hexapod_are_found():
    """25 states of a platform of symmetric shape, and one state of 25 platforms of any shape."""
    random, mechanism = np.random.default_rng(11), build(described("6ups"))
    assert isinstance(mechanism, Limbs)
    robots = [mechanism] * STATES + [anywhere(mechanism, random) for _ in range(STATES)]
    home, room = np.array(mechanism.home(), float), np.array([0.1, 0.1, 0.1, 0.2, 0.2, 0.2])
    states = home + room * random.uniform(-1, 1, (len(robots), 6))
    lengths = [np.asarray(m.inverse(tuple(x)).value) for m, x in zip(robots, states, strict=True)]
    feet, balls = (
        np.array([[getattr(limb, key) for limb in m.limbs] for m in robots], float)
        for key in ("base", "end")
    )
    expected = homotopy.poses(feet, balls, np.array(lengths))
    counts = []
    for robot, q, x, other in zip(robots, lengths, states, expected, strict=True):
        found = ours(robot, q)
        assert np.abs(found[0] - poses_array((robot.platform_pose(tuple(x)),))[0]).max() < 1e-9
        assert len(found) == len(other)
        for p, R in other:
            apart = np.abs(found - np.column_stack([R, p])).max(axis=(1, 2))
            assert apart.min() < 1e-6
        counts.append(len(found))
    print(f"\nassemblies: {sorted(set(counts))}, {sum(counts)} in all")
    assert min(counts) >= 2 and not any(count % 2 for count in counts)
