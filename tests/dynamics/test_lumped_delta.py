"""The lumped model by hand; its published numbers are in tests/published."""

import equinox as eqx
import numpy as np
import pytest
from random_motions import columns, evaluated, frictionless, ten_of_point
from triangle import BELOW, triangle

from triskele.errors import InputError
from triskele.studies.lumped_delta import lumped_delta, lumped_efforts

G = 9.81


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("whole, mu", [(False, 0.5), (True, 1.0)])
def test_the_triangle_holds_its_lumps(pairs, whole, mu):
    robot = triangle(arm=2.0, rod=1.0, platform=4.0, pairs=pairs)
    robot = eqx.tree_at(
        lambda robot: robot.payload, robot, robot.payload + ten_of_point(3.0, BELOW[0])
    )
    states = BELOW, np.zeros((1, 3)), np.array([[0.0, 0.0, 6.0]])
    found = evaluated(eqx.Partial(lumped_efforts, lumped_delta(robot, whole=whole)), *states)
    # 4 and 3 kg and three lumps hang on three rods, 4 in 5 along them; arms are uniform bars of
    # 2 kg that turn by -2 rad/s^2.
    hung = 7 + 3 * mu
    assert np.allclose(columns(found.tension), hung * (G + 6) / (3 * 0.8), rtol=1e-13)
    bar, lump = -(2 / 3) * 9 * 2 - 3 * G, -mu * (9 * 2 + 3 * G)
    assert np.allclose(columns(found.tau), bar + lump - hung * (G + 6), rtol=1e-13)


@pytest.mark.parametrize("name", ["abb_irb360_6_1600", "compliant_3prs"])
def test_other_robots_are_refused(name):
    with pytest.raises(InputError, match="three axes"):
        lumped_delta(frictionless(name))
