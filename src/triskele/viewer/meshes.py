"""Triangles of the shapes that robots are drawn with."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from triskele.kinematics.solids import Ball, Bar, Plate

_SIDES = 14  #: of a round bar
_RINGS = 8  #: of a ball


class Mesh(NamedTuple):
    """Triangles, counterclockwise seen from outside."""

    vertices: Float[np.ndarray, "V 3"]  #: [m]
    faces: Int[np.ndarray, "F 3"]


def mesh(shape: Bar | Plate | Ball) -> Mesh:
    """The triangles of `shape`."""
    if isinstance(shape, Bar):
        return tube(np.stack([shape.start, shape.end]), shape.radius)
    if isinstance(shape, Plate):
        return prism(shape.outline, shape.thickness)
    return ball(shape.centre, shape.radius)


def tube(points: Float[np.ndarray, "n 3"], radius: float) -> Mesh:
    """A round bar along a line of points, closed at both ends."""
    along = np.gradient(points, axis=0)
    along = along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-12)
    aside = np.eye(3)[np.abs(along[0]).argmin()]  # not along the bar
    u = np.cross(along, aside)
    u = u / np.linalg.norm(u, axis=1, keepdims=True)
    v = np.cross(along, u)
    turn = 2 * np.pi * np.arange(_SIDES) / _SIDES
    ring = np.cos(turn)[None, :, None] * u[:, None] + np.sin(turn)[None, :, None] * v[:, None]
    sides = points[:, None] + radius * ring
    vertices = np.concatenate([sides.reshape(-1, 3), points[[0, -1]]])
    return Mesh(vertices, _tube_faces(len(points)))


def _tube_faces(n: int) -> Int[np.ndarray, "F 3"]:
    """Of n rings, and of the lids around the two last vertices."""
    a = np.arange(_SIDES)
    b = (a + 1) % _SIDES
    found = []
    for k in range(n - 1):
        low, high = k * _SIDES, (k + 1) * _SIDES
        found += [
            np.stack([low + a, low + b, high + b], 1),
            np.stack([low + a, high + b, high + a], 1),
        ]
    first, last, end = n * _SIDES, n * _SIDES + 1, (n - 1) * _SIDES
    found += [np.stack([b, a, 0 * a + first], 1), np.stack([end + a, end + b, 0 * a + last], 1)]
    return np.concatenate(found)


def prism(outline: Float[np.ndarray, "k 3"], thickness: float) -> Mesh:
    """A plate whose middle plane has the corners `outline`, counterclockwise seen from its top."""
    k, off = len(outline), outline - outline.mean(axis=0)
    normal = np.cross(off, np.roll(off, -1, axis=0)).sum(axis=0)
    up = thickness / 2 * normal / np.linalg.norm(normal)
    top, bottom = np.arange(k), k + np.arange(k)
    fan = np.stack([np.zeros(k - 2, int), np.arange(1, k - 1), np.arange(2, k)], axis=1)
    after = np.roll(top, -1)
    walls = [np.stack([bottom, k + after, after], 1), np.stack([bottom, after, top], 1)]
    faces = np.concatenate([fan, k + fan[:, ::-1], *walls])
    return Mesh(np.concatenate([outline + up, outline - up]), faces)


def ball(centre: Float[np.ndarray, "3"], radius: float) -> Mesh:
    """A ball, as a bar of many rings."""
    height = -np.cos(np.linspace(0, np.pi, _RINGS + 1))
    line = np.stack([0 * height, 0 * height, height], axis=1)
    found = tube(line, 1.0)
    rings = found.vertices[:-2].reshape(_RINGS + 1, _SIDES, 3).copy()
    rings[..., :2] *= np.sqrt(np.maximum(1 - height**2, 0.0))[:, None, None]
    vertices = np.concatenate([rings.reshape(-1, 3), found.vertices[-2:]])
    return Mesh(centre + radius * vertices, found.faces)
