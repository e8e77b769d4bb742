"""How fast a path is run: its squared speed as a function of the way along it.

With s the parameter of the path, from 0 to 1, and x = sd^2, path acceleration and its slope are

    u = sdd = x' / 2        w = du/ds = x'' / 2        sddd = w sqrt(x)                  (1)

all linear in x. A profile is a spline times what the ends ask for,

    x(s) = (s (1 - s))^e p(s),      p = sum_i c_i N_i(s),  of degree 2 or more          (2)

From rest with a bounded jerk j, s = j t^3 / 6 makes x grow as s^(4/3): e = 4/3, and p is
constant as long as the jerk is. From rest with a step of acceleration, x grows as s: e = 1.
No spline without such a factor can start with a bounded jerk: in s it has x' > 0 at rest,
which is a step of acceleration that no jerk limit in s ever sees.

Time is t = integral of ds / sqrt(x). In the first and the last cell s = h sigma^(2/(2-e)) makes
the integrand smooth. s(t) is a quintic through s, sd and sdd at many nodes, refined by Newton.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

FROM_REST = 4 / 3  #: e with a bounded jerk
FROM_STEP = 1.0  #: e with a step of acceleration
_APART = 0.01  #: part of a cell between its points and rest
_TINY = 1.2e-16  #: the smallest distance from the end that a number near 1 can have
Series = Float[np.ndarray, " _"]


class Basis(NamedTuple):
    """Values at P points of the functions of (2) that are not zero there."""

    first: Int[np.ndarray, " P"]  #: number of the first of them
    x: Float[np.ndarray, "P k"]
    u: Float[np.ndarray, "P k"]
    w: Float[np.ndarray, "P k"]

    def of(self, c: Float[np.ndarray, " n"]) -> tuple[Series, Series, Series]:
        """x, u and w at the points, for the coefficients `c`."""
        local = c[self.first[:, None] + np.arange(self.x.shape[1])[None, :]]
        return tuple(np.sum(part * local, axis=1) for part in (self.x, self.u, self.w))  # pyright: ignore[reportReturnType]


class Space(NamedTuple):
    """The profiles with these cells."""

    cells: Float[np.ndarray, " edges"]  #: where they begin and end, from 0 to 1
    degree: int = 2
    exponent: float = FROM_REST  #: e

    @property
    def size(self) -> int:
        """Number of coefficients."""
        return len(self.cells) - 1 + self.degree

    def basis(self, s: Series, cell: Int[np.ndarray, " P"] | None = None) -> Basis:
        """At `s`; a point where two cells meet belongs to the one named in `cell`."""
        if cell is None:
            cell = np.clip(np.searchsorted(self.cells, s, "right") - 1, 0, len(self.cells) - 2)
        p, knots = self.degree, self._knots()
        N, N1, N2 = (_nonzero(knots, p, cell + p, s, order) for order in (0, 1, 2))
        e, ends = self.exponent, s * (1 - s)
        middle = 1 - 2 * s
        f = (ends**e)[:, None]
        f1 = (e * ends ** (e - 1) * middle)[:, None]
        f2 = (e * ends ** (e - 2) * ((e - 1) * middle**2 - 2 * ends))[:, None]
        return Basis(cell, f * N, (f1 * N + f * N1) / 2, (f2 * N + 2 * f1 * N1 + f * N2) / 2)

    def points(self, z: Float[np.ndarray, " k"]) -> tuple[Series, Int[np.ndarray, " P"]]:
        """The same places `z`, from 0 to 1, in each cell, and the cell of each; see `mapped`.

        From rest they keep a hundredth of their cell: nearer to 1 numbers are too coarse.
        """
        s, _ = self.mapped(z)
        s[0] = self.mapped(np.maximum(z, _APART))[0][0]
        s[-1] = self.mapped(np.minimum(z, 1 - _APART))[0][-1]
        return s.ravel(), np.repeat(np.arange(len(s)), len(z))

    def quadrature(self, nodes: int = 4) -> tuple[Series, Int[np.ndarray, " P"], Series]:
        """Points, their cells and weights, for integrals of ds / sqrt(x) times what is smooth."""
        z, weight = np.polynomial.legendre.leggauss(nodes)
        s, slope = self.mapped((z + 1) / 2)
        cell = np.repeat(np.arange(len(s)), nodes)
        return s.ravel(), cell, (slope * weight[None, :] / 2).ravel()

    def mapped(self, z: Float[np.ndarray, " k"]) -> tuple[np.ndarray, np.ndarray]:
        """s and ds/dz, (cells, k), at `z` from 0 to 1 in each cell, time smooth in z."""
        steps = np.diff(self.cells)[:, None]
        s, slope = self.cells[:-1, None] + steps * z[None, :], steps * np.ones_like(z)[None, :]
        power, h = 2 / (2 - self.exponent), self.cells[1]
        s[0], slope[0] = h * z**power, h * power * z ** (power - 1)
        back, h = 1 - z, 1 - self.cells[-2]
        s[-1], slope[-1] = 1 - h * back**power, h * power * back ** (power - 1)
        return s, slope

    def constant(self) -> Float[np.ndarray, " n"]:
        """Coefficients of p = 1."""
        return np.ones(self.size)

    def _knots(self) -> Series:
        p = self.degree
        return np.concatenate([np.zeros(p), self.cells, np.ones(p)])


def _nonzero(t: Series, p: int, span: np.ndarray, s: Series, order: int) -> np.ndarray:
    """The p + 1 B-splines of degree p on the span t[span], t[span + 1], derived `order` times."""
    if p == 0:
        return np.full((len(s), 1), float(order == 0))
    lower = _nonzero(t, p - 1, span, s, max(order - 1, 0))
    found = np.zeros((len(s), p + 1))
    for j in range(p + 1):
        i = span - p + j
        if j > 0:
            width = t[i + p] - t[i]
            found[:, j] += lower[:, j - 1] * (p if order else s - t[i]) / width
        if j < p:
            width = t[i + p + 1] - t[i + 1]
            found[:, j] += lower[:, j] * (-p if order else t[i + p + 1] - s) / width
    return found


class Profile(NamedTuple):
    """One profile of a space."""

    space: Space
    c: Float[np.ndarray, " n"]

    def at(self, s: Series) -> tuple[Series, Series, Series]:
        """x, u and w at `s`."""
        return self.space.basis(s).of(self.c)

    def duration(self) -> float:
        """Of the whole path [s]."""
        return float(self.times()[1][-1])

    def when(self) -> tuple[Series, Series]:
        """Places along the path, and when they are reached [s]."""
        return self.times()

    def times(self, parts: int = 8) -> tuple[Series, Series]:
        """s at `parts` steps of each cell, and when it is reached [s]."""
        z, weight = np.polynomial.legendre.leggauss(4)
        edges = np.linspace(0, 1, parts + 1)
        inner = edges[:-1, None] + (z + 1)[None, :] / (2 * parts)
        s, slope = self.space.mapped(inner.ravel())
        cell = np.repeat(np.arange(len(s)), inner.size)
        x, _, _ = self.space.basis(s.ravel(), cell).of(self.c)
        rate = (slope.ravel() / np.sqrt(x)).reshape(-1, 4)
        steps = rate @ weight / (2 * parts)
        ends, _ = self.space.mapped(edges[1:])
        return np.append(0.0, ends.ravel()), np.append(0.0, np.cumsum(steps))

    def schedule(self, t: Series) -> tuple[Series, Series, Series, Series]:
        """s, sd, sdd and sddd at the times `t` [s]."""
        from scipy.interpolate import BPoly

        nodes, times = self.times()
        x, u, _ = self._at_inside(nodes)
        pieces = BPoly.from_derivatives(times, np.stack([nodes, np.sqrt(x), u], axis=1))
        s = np.clip(pieces(np.clip(t, 0, times[-1])), 0, 1)
        s = np.where(t >= (1 - 1e-12) * times[-1], 1.0, s)
        x, u, w = self._at_inside(s)
        return s, np.sqrt(x), u, self._jerk(s, x, w)

    def _at_inside(self, s: Series) -> tuple[Series, Series, Series]:
        """`at`, and at the very ends what x and u tend to; w is taken just beside them."""
        x, u, w = self.at(np.clip(s, _TINY, 1 - _TINY))
        rest = (s <= 0) | (s >= 1)
        return np.where(rest, 0.0, x), np.where(rest & (self.space.exponent > 1), 0.0, u), w

    def _jerk(self, s: Series, x: Series, w: Series) -> Series:
        """w sqrt(x), finite at rest."""
        beside, _, _ = self.at(np.clip(s, _TINY, 1 - _TINY))
        return w * np.sqrt(np.where(x > 0, x, beside))


class StepProfile(NamedTuple):
    """x straight from node to node: path acceleration in steps, jerk without bound."""

    s: Series
    x: Series

    def at(self, s: Series) -> tuple[Series, Series, Series]:
        """x, u and w, which is zero between nodes."""
        k = np.clip(np.searchsorted(self.s, s, "right") - 1, 0, len(self.s) - 2)
        u = np.diff(self.x) / (2 * np.diff(self.s))
        x = np.maximum(self.x[k] + 2 * u[k] * (s - self.s[k]), 0)
        return x, u[k], np.zeros_like(s)

    def duration(self) -> float:
        """Of the whole path [s]."""
        return float(self.times()[-1])

    def when(self) -> tuple[Series, Series]:
        """Places along the path, and when they are reached [s]."""
        return self.s, self.times()

    def times(self) -> Series:
        """When each node is reached [s]."""
        root = np.sqrt(self.x)
        return np.append(0.0, np.cumsum(2 * np.diff(self.s) / (root[1:] + root[:-1])))

    def schedule(self, t: Series) -> tuple[Series, Series, Series, Series]:
        """s, sd, sdd and sddd at the times `t` [s]."""
        times, root = self.times(), np.sqrt(self.x)
        k = np.clip(np.searchsorted(times, t, "right") - 1, 0, len(times) - 2)
        u = (np.diff(root) / np.diff(times))[k]
        late = np.clip(t, 0, times[-1]) - times[k]
        s = self.s[k] + late * (root[k] + u * late / 2)
        return np.clip(s, 0, 1), root[k] + u * late, u, np.zeros_like(t)
