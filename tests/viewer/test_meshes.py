"""Triangles of bars, plates and balls: closed, facing outwards, of the right volume."""

import numpy as np
import pytest

from triskele.kinematics.solids import Ball, Bar, Plate
from triskele.viewer.meshes import mesh, tube

ROUND = 14 / (2 * np.pi) * np.sin(2 * np.pi / 14)  # part of a circle that its polygon fills


def volume(found):
    a, b, c = (found.vertices[found.faces[:, k]] for k in range(3))
    return np.einsum("fi,fi->", a, np.cross(b, c)) / 6


@pytest.mark.parametrize("end", [(2.0, 0, 0), (0, 2.0, 0), (0, 0, -2.0), (1.2, -1.6, 0)])
def test_a_bar_has_its_volume_whatever_its_direction(end):
    found = mesh(Bar(np.array([0.1, 0.2, 0.3]), np.array([0.1, 0.2, 0.3]) + end, 0.5))
    assert volume(found) == pytest.approx(ROUND * np.pi * 0.25 * 2)


def test_a_plate_and_a_ball_have_theirs():
    square = np.array([[0, 0, 0], [1.0, 0, 0], [1, 1, 0], [0, 1, 0]])
    for axes in ([0, 1, 2], [1, 2, 0], [2, 0, 1]):  # level, or upright
        assert volume(mesh(Plate(square[:, axes], 0.5))) == pytest.approx(0.5)
    assert volume(mesh(Ball(np.ones(3), 0.5))) == pytest.approx(np.pi / 6, rel=0.08)


def test_a_bent_bar_follows_its_line():
    s = np.linspace(0, 1, 13)
    line = np.stack([s, 0.2 * s**2, 0 * s], axis=1)
    found = tube(line, 0.01)
    rings = found.vertices[:-2].reshape(13, 14, 3)
    assert np.allclose(rings.mean(axis=1), line, atol=1e-12)
    assert np.allclose(np.linalg.norm(rings - line[:, None], axis=-1), 0.01)


@pytest.mark.parametrize("shape", [Bar(np.zeros(3), np.ones(3), 0.1), Ball(np.zeros(3), 1.0)])
def test_meshes_are_closed(shape):
    faces = mesh(shape).faces
    edges = np.concatenate([faces[:, [a, b]] for a, b in ((0, 1), (1, 2), (2, 0))])
    forward, backward = ({tuple(e) for e in edges[:, order]} for order in ([0, 1], [1, 0]))
    assert forward == backward
