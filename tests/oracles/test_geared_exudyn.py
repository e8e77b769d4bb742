"""Exudyn gives the shipped Delta with soft gears the frequencies that we give it.

Its beams have shear and rotary inertia, and so have ours here; slender ones are half a percent
higher, by the shear of the arms. Its mass is lumped, which raises modes of rods with h^2.
"""

import numpy as np
import pytest
from exudyn_geared import natural_frequencies

from triskele.description.load import load
from triskele.flexible.modes import modes
from triskele.flexible.robot import flexible

pytestmark = pytest.mark.oracle

POSES = [(0.0, 0.0, -0.65), (0.25, -0.15, -0.7)]
GEARED = load("geared_delta")
PLATFORM, ALL = 3, 15  #: lowest modes: of the platform on its gears, and with twelve of rods
RIGID = GEARED.model_copy(update={"motors": None})


def ours(robot, x, *, slender=False, count=ALL):
    model = flexible(robot, elements=2, slender=slender)
    return np.asarray(modes(model, x, count=count).frequencies)


@pytest.mark.parametrize("x", POSES)
def test_frequencies_with_soft_gears(x):
    found = natural_frequencies(x, elements=16, count=ALL)
    off = ours(GEARED, x) / found - 1
    slender = ours(GEARED, x, slender=True)[:PLATFORM] / found[:PLATFORM] - 1
    print(f"{x}: lowest {found[0] / 2 / np.pi:.2f} Hz, three of the platform within", end=" ")
    print(f"{100 * np.abs(off[:3]).max():.3f} %, all within {100 * np.abs(off).max():.2f} %")
    assert np.abs(off[:PLATFORM]).max() < 1e-3
    assert np.abs(off).max() < 3e-3
    assert np.abs(slender).max() < 7e-3


def test_without_gears_the_same_robot_swings_far_faster():
    x = POSES[0]
    rigid, soft = (natural_frequencies(x, gears=gears, count=1)[0] for gears in (False, True))
    assert rigid > 1.8 * soft
    assert ours(RIGID, x, count=1)[0] == pytest.approx(rigid, rel=8e-3)
