"""The surface of a workspace is closed, faces outwards, and encloses what was measured."""

import numpy as np
import pytest

from triskele.description.load import load
from triskele.errors import InputError
from triskele.kinematics.build import build
from triskele.kinematics.surface import surface
from triskele.kinematics.workspace import Workspace, workspace

M = ("m", "m", "m")


def ball(n, radius=0.8):
    """A workspace that is a ball, on a grid of n points from -1 to 1."""
    axis = np.linspace(-1, 1, n)
    x, y, z = np.meshgrid(axis, axis, axis, indexing="ij")
    return Workspace(
        (axis, axis, axis), radius - np.sqrt(x**2 + y**2 + z**2), 0.0, 0.0, ("x", "y", "z"), M
    )


@pytest.mark.parametrize("radius", [0.5, 0.8, 1.0])
def test_a_ball_has_its_volume_to_second_order(radius):
    exact = 4 / 3 * np.pi * radius**3
    errors = [abs(surface(ball(n, radius)).volume / exact - 1) for n in (17, 33)]
    assert errors[1] < 0.02
    assert errors[1] < errors[0] / 3


def test_every_edge_belongs_to_two_triangles_of_opposite_turn():
    faces = surface(ball(17, 1.2)).faces  # cut by the sides of the grid
    edges = np.concatenate([faces[:, [a, b]] for a, b in ((0, 1), (1, 2), (2, 0))])
    forward, backward = ({tuple(e) for e in edges[:, order]} for order in ([0, 1], [1, 0]))
    assert len(forward) == len(edges)
    assert forward == backward


def test_the_workspace_of_a_delta_encloses_its_volume():
    robot = load("flexible_delta")
    space = workspace(build(robot), robot.limits, resolution=33)
    assert surface(space).volume == pytest.approx(space.volume, rel=0.05)


def test_a_workspace_over_angles_has_no_surface():
    space = ball(9)._replace(units=("m", "rad", "rad"), names=("z", "psi", "theta"))
    with pytest.raises(InputError, match="over z, psi, theta is no region in space"):
        surface(space)
