"""The reduced load model: near the exact one on the axis, far from it beside."""

import equinox as eqx
import numpy as np
from random_motions import columns, evaluated, motions

from triskele.description.load import load
from triskele.dynamics.robot import rigid
from triskele.dynamics.rod_loads import rod_loads
from triskele.studies.reduced_loads import reduced_loads

IRB = rigid(load("abb_irb360_6_1600"), "heavy_plate", friction=False)


def test_it_is_right_to_one_newton_on_the_axis_and_wrong_by_tens_beside_it():
    """Straight up with 5 kg, found independently: 0.35, 0.63 and 0.96 N at 4, 16 and 28 m/s^2."""
    x, xd, xdd = motions(IRB, 4)
    x[:3], xd[:3], xdd[:3] = [0, 0, -1.1, 0], 0, [[0, 0, a, 0] for a in (4, 16, 28)]
    exact = evaluated(eqx.Partial(rod_loads, IRB), x, xd, xdd)
    reduced = evaluated(eqx.Partial(reduced_loads, IRB), x, xd, xdd)
    for ours, theirs in ((exact.lower, reduced.lower), (exact.upper, reduced.upper)):
        errors = np.abs(columns(ours) - columns(theirs)).max(axis=1)
        assert np.allclose(errors[:3], [0.35, 0.63, 0.96], rtol=0, atol=0.05)
        assert errors[3] > 10
