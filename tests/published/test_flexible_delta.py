"""Inverse kinematics of the flexible Delta.

Y.-L. Kuo, "Mathematical modeling and analysis of the Delta robot with flexible links" (2016),
Table 1 for the lengths. Angles at (0.1, 0, 0.5) m, z down, were computed independently from the
closed chain.
"""

import jax.numpy as jnp
import numpy as np

from triskele.description.load import load
from triskele.kinematics.build import build

ROBOT = build(load("flexible_delta"))
X = jnp.array([0.1, 0.0, -0.5])  # z up here; limbs 2 and 3 then exchange their places


def test_arm_angles():
    q = ROBOT.inverse(X).checked()
    assert np.allclose(np.degrees(q), [10.7637, 29.3019, 29.3019], rtol=0, atol=1e-4)
    assert np.abs(ROBOT.forward(q).checked() - X).max() < 1e-12


def test_rod_angles():
    # phi_12 = -137.336 and -154.533 deg from the level, phi_3 = 0 and -+8.299 deg sideways.
    q = ROBOT.inverse(X).checked()
    found = dict(zip(ROBOT.bodies, ROBOT.body_poses(q, X), strict=True))
    for i, (azimuth, inclination) in enumerate(((0, 137.336), (120, 154.533), (240, 154.533)), 1):
        u = np.array([np.cos(np.radians(azimuth)), np.sin(np.radians(azimuth)), 0])
        e = np.asarray(found[f"rod_{i}"].x)
        assert np.isclose(np.degrees(np.arctan2(-e[2], e @ u)), inclination, rtol=0, atol=1e-3)
    tilts = np.degrees(ROBOT.passive(q, X))
    assert np.allclose(np.abs(tilts), [0, 8.299, 8.299], rtol=0, atol=1e-3)
    assert np.isclose(tilts[1], -tilts[2])
