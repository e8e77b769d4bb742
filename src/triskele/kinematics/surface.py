"""The surface of a workspace as triangles, from its slack on a grid.

Dual contouring without normals: each cell of the grid that the border crosses has one vertex, the
mean of where the border crosses its edges (linear in between), and each edge of the grid that it
crosses joins the vertices of its four cells to two triangles, which face outwards.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from triskele.errors import InputError
from triskele.kinematics.workspace import Workspace

_CORNERS = np.array([(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)])
_EDGES = [(a, b) for a in range(8) for b in range(a) if abs(_CORNERS[a] - _CORNERS[b]).sum() == 1]


class Surface(NamedTuple):
    """A closed surface."""

    vertices: Float[np.ndarray, "V 3"]  #: [m]
    faces: Int[np.ndarray, "F 3"]  #: counterclockwise, seen from outside

    @property
    def volume(self) -> float:
        """What it encloses [m^3], by the divergence theorem."""
        a, b, c = (self.vertices[self.faces[:, k]] for k in range(3))
        return float(np.einsum("fi,fi->", a, np.cross(b, c)) / 6)


def surface(space: Workspace) -> Surface:
    """The border of `space`, whose coordinates must be lengths."""
    if space.units != ("m", "m", "m"):
        names = ", ".join(space.names)
        raise InputError(f"A workspace over {names} is no region in space; it has no surface.")
    value = np.where(np.isfinite(space.slack), space.slack, -1.0)
    value = np.pad(value, 1, constant_values=-1e6)  # closed where the grid ends
    axes = [np.concatenate([[2 * x[0] - x[1]], x, [2 * x[-1] - x[-2]]]) for x in space.axes]
    places, crossed = _cell_vertices(value)
    index = np.full(crossed.shape, -1)
    index[crossed] = np.arange(len(places))
    points = [np.interp(places[:, k], np.arange(len(axis)), axis) for k, axis in enumerate(axes)]
    return Surface(np.stack(points, axis=1), _faces(value > 0, index))


def _cell_vertices(value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """In steps of the grid, the vertex of each crossed cell, and which cells these are."""
    shape = np.array(value.shape) - 1
    corner = [
        value[tuple(slice(o, o + n) for o, n in zip(offset, shape, strict=True))]
        for offset in _CORNERS
    ]
    inside = np.sum([part > 0 for part in corner], axis=0)
    crossed = (inside > 0) & (inside < 8)
    cells = np.argwhere(crossed)
    v = np.stack([part[crossed] for part in corner], axis=1)
    total, count = np.zeros((len(cells), 3)), np.zeros(len(cells))
    for a, b in _EDGES:
        cut = (v[:, a] > 0) != (v[:, b] > 0)
        s = np.divide(v[:, a], v[:, a] - v[:, b], out=np.zeros(len(v)), where=cut)
        point = _CORNERS[a] + s[:, None] * (_CORNERS[b] - _CORNERS[a])
        total += np.where(cut[:, None], point, 0.0)
        count += cut
    return cells + total / count[:, None], crossed


def _faces(inside: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Two triangles across each edge whose ends differ."""
    found = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        low, high = (np.take(inside, r, axis=axis) for r in _pairs(inside.shape[axis]))
        for leaving, differs in ((True, low & ~high), (False, ~low & high)):
            edge = np.argwhere(differs)
            corners = []
            for du, dv in ((0, 0), (-1, 0), (-1, -1), (0, -1)):
                cell = edge.copy()
                cell[:, u] += du
                cell[:, v] += dv
                corners.append(index[tuple(cell.T)])
            a, b, c, d = corners if leaving else corners[::-1]
            found += [np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)]
    return np.concatenate(found)


def _pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(n - 1), np.arange(1, n)
