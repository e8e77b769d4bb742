"""Robots of the catalogue with gears that are soft."""

import equinox as eqx
import numpy as np

from triskele.description.load import load
from triskele.flexible.robot import Gears, flexible


def geared(
    robot, payload=None, *, stiffness=(60.0, 80.0, 100.0), inertia=2e-3, damping=0.0, **options
):
    """A robot, or one of the catalogue, with gears that count, other ones on each drive."""
    model = flexible(load(robot) if isinstance(robot, str) else robot, payload, **options)
    gears = Gears(np.array(stiffness), np.full(3, damping), np.full(3, inertia))
    return eqx.tree_at(lambda r: r.gears, model, gears, is_leaf=lambda leaf: leaf is None)
