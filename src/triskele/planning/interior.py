"""Minimum time by an interior point method that uses the band structure of splines.

At each point of the path the limits are slacks that must stay positive, functions of x, u, w:

    two-sided    1 - e sqrt(x) -+ (a u + b x + c)              efforts, loads, accelerations  (1)
    third order  sqrt(X) [ 1/sqrt(x) -+ (a w + b u + c x + d) ]  jerks, torque rates           (2)
    norms        1 + (l_a u + l_b x + l_c) - |v_a u + v_b x + v_c|                              (3)

each divided by its limit. (2) is sddd-affine times sqrt(x), divided by sqrt(x): the only term
that is not linear, 1/sqrt(x), is convex, so that its tangent is a safe bound; X, a fixed profile,
keeps (2) of order one. -e sqrt(x) in (1) is convex as well. Newton's steps on these tangents
therefore stay inside, and lead to a local optimum from inside.

The start is any profile, slowed down: all of x, u, w shrink alike, so that where the robot can
stand still a slow profile is strictly feasible. From there primal-dual steps

    (H + sum lam/S g g') dc = -grad f + mu sum g / S,    g = dS/dc,  H = d2T/dc2              (4)

with the barrier mu falling; each g touches degree + 1 coefficients, so that (4) is a banded
Cholesky factorisation. Averages over the whole motion (RMS torques) are dense rows beside it.
The multipliers lam are the prices of the limits.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_solve_banded, cholesky_banded

from triskele.planning.profile import Basis, Space

Values = Float[np.ndarray, "P k"]
Vector = Float[np.ndarray, " n"]
_KEPT = 0.01  #: part of each slack that a step leaves


class TwoSided(NamedTuple):
    """|a u + b x + c| + e sqrt(x) <= 1, K quantities at P points."""

    a: Values
    b: Values
    c: Values
    e: Values


class ThirdOrder(NamedTuple):
    """|a w + b u + c x + d| sqrt(x) <= 1."""

    a: Values
    b: Values
    c: Values
    d: Values


class Norms(NamedTuple):
    """|a u + b x + c| <= 1 + l_a u + l_b x + l_c, vectors of up to three components."""

    a: Float[np.ndarray, "P k 3"]
    b: Float[np.ndarray, "P k 3"]
    c: Float[np.ndarray, "P k 3"]
    la: Values
    lb: Values
    lc: Values


class Average(NamedTuple):
    """The mean over time of (a u + b x + c)^2, at the points of the quadrature, is at most 1.

    Over the duration and `dwell` [s] of rest, in which y = `idle`.
    """

    a: Float[np.ndarray, " Q"]
    b: Float[np.ndarray, " Q"]
    c: Float[np.ndarray, " Q"]
    dwell: float
    idle: float


class Problem(NamedTuple):
    """A space of profiles and the limits at its points."""

    space: Space
    points: Basis
    two_sided: TwoSided
    third_order: ThirdOrder
    norms: Norms
    averages: tuple[Average, ...] = ()
    fastest: bool = True  #: False: the integral of x is made largest instead


class Solution(NamedTuple):
    """A profile, and what its limits are worth."""

    c: Vector
    duration: float  #: [s]
    slack: Values  #: (P, rows): two-sided +, two-sided -, third order +, -, norms
    price: Values  #: lam, the same: seconds per unit of slack
    average_slack: Vector
    average_price: Vector
    scale: Vector  #: sqrt(X / x) at each point, of (2)
    gap: float  #: bound on what is left to gain, relative
    steps: int


class _Rows(NamedTuple):
    slack: Values  #: (P, R)
    slope: Float[np.ndarray, "P R 3"]  #: by x, u and w


class _Totals(NamedTuple):
    slack: Vector
    slope: Float[np.ndarray, "A n"]


class _Solver:
    def __init__(self, problem: Problem, start: Vector) -> None:
        self.problem = problem
        s, cell, self.weights = problem.space.quadrature()
        self.nodes = problem.space.basis(s, cell)
        self.basis = np.stack(problem.points[1:], axis=1)  # (P, 3, k)
        x, _, _ = problem.points.of(start)
        self.unit = np.sqrt(x)[:, None]

    def rows(self, c: Vector) -> _Rows | None:
        """Slacks and their slopes; None where x is not positive."""
        x, u, w = (part[:, None] for part in self.problem.points.of(c))
        if not (x > 0).all():
            return None
        root = np.sqrt(x)
        p = self.problem.two_sided
        y = p.a * u + p.b * x + p.c
        room = 1 - p.e * root
        bend = p.e / (2 * root)
        none = np.zeros_like(y)
        slacks = [room - y, room + y]
        by_x, by_u, by_w = [-bend - p.b, -bend + p.b], [-p.a, p.a], [none, none]
        p = self.problem.third_order
        if p.a.shape[1]:
            y = (p.a * w + p.b * u + p.c * x + p.d) * self.unit
            room = self.unit / root
            bend = -room / (2 * x)
            slacks += [room - y, room + y]
            by_x += [bend - p.c * self.unit, bend + p.c * self.unit]
            by_u += [-p.b * self.unit, p.b * self.unit]
            by_w += [-p.a * self.unit, p.a * self.unit]
        p = self.problem.norms
        if p.la.shape[1]:
            v = p.a * u[..., None] + p.b * x[..., None] + p.c
            size = np.sqrt(np.sum(v * v, axis=-1) + 1e-12)
            e = v / size[..., None]
            slacks.append(1 + p.la * u + p.lb * x + p.lc - size)
            by_x.append(p.lb - np.sum(e * p.b, axis=-1))
            by_u.append(p.la - np.sum(e * p.a, axis=-1))
            by_w.append(np.zeros_like(size))
        slope = np.stack([np.concatenate(part, axis=1) for part in (by_x, by_u, by_w)], axis=-1)
        return _Rows(np.concatenate(slacks, axis=1), slope)

    def totals(self, c: Vector) -> _Totals:
        """Slacks of the averages: integral of (1 - y^2) dt, over the dwell as well."""
        x, u, _ = self.nodes.of(c)
        root = np.sqrt(x)
        slacks, slopes = [], []
        for p in self.problem.averages:
            y = p.a * u + p.b * x + p.c
            slacks.append(np.sum(self.weights * (1 - y * y) / root) + p.dwell * (1 - p.idle**2))
            by_x = -2 * y * p.b / root - (1 - y * y) / (2 * x * root)
            by_u = -2 * y * p.a / root
            local = by_x[:, None] * self.nodes.x + by_u[:, None] * self.nodes.u
            slopes.append(self.spread(self.weights[:, None] * local, self.nodes))
        n = len(c)
        return _Totals(np.array(slacks), np.array(slopes).reshape(len(slacks), n))

    def spread(self, local: Float[np.ndarray, "P k"], basis: Basis) -> Vector:
        """Sum of contributions to each coefficient."""
        total = np.zeros(self.problem.space.size)
        for k in range(local.shape[1]):
            np.add.at(total, basis.first + k, local[:, k])
        return total

    def objective(self, c: Vector) -> tuple[float, Vector, np.ndarray]:
        """What is made least, its slope, and its curvature at each node, (Q, k, k)."""
        x, _, _ = self.nodes.of(c)
        b = self.nodes.x
        if not self.problem.fastest:
            # weights carry ds; the integral of x has no root in it
            slope = self.spread(-self.weights[:, None] * b, self.nodes)
            return (
                float(-np.sum(self.weights * x)),
                slope,
                np.zeros((len(x), b.shape[1], b.shape[1])),
            )
        root = np.sqrt(x)
        slope = self.spread((-0.5 * self.weights / (x * root))[:, None] * b, self.nodes)
        bent = 0.75 * self.weights / (x * x * root)
        return (
            float(np.sum(self.weights / root)),
            slope,
            bent[:, None, None] * b[:, :, None] * b[:, None, :],
        )

    def banded(self, local: np.ndarray, first: np.ndarray, band: np.ndarray) -> None:
        """Add (P, k, k) blocks to the lower band."""
        k = local.shape[1]
        for i in range(k):
            for j in range(i + 1):
                np.add.at(band[i - j], first + j, local[:, i, j])


def solve(problem: Problem, start: Vector, *, tolerance: float = 1e-8, most: int = 150) -> Solution:
    """The profile of least time (or largest integral of x) within the limits.

    `start` are the coefficients of a profile; it is slowed down until it is inside.
    """
    solver = _Solver(problem, start)
    c = _slowed(solver, start)
    rows, totals = solver.rows(c), solver.totals(c)
    assert rows is not None
    f, _, _ = solver.objective(c)
    count = rows.slack.size + totals.slack.size
    mu = max(abs(f), 1e-3) / count
    lam, nu = mu / rows.slack, mu / totals.slack
    step = 0
    for step in range(most):
        f, slope, bent = solver.objective(c)
        dual = (
            solver.spread(
                np.einsum("pr,pri,pik->pk", lam, rows.slope, solver.basis, optimize=True),
                problem.points,
            )
            + totals.slope.T @ nu
        )
        gap = float(np.sum(lam * rows.slack) + nu @ totals.slack)
        residual = np.abs(slope - dual).max() / np.abs(slope).max()
        if gap < tolerance * abs(f) and residual < 1e-6:
            break
        mu = 0.1 * gap / count if step else mu
        moved = _direction(solver, rows, totals, lam, nu, slope, bent, mu)
        size, found = _longest(solver, c, rows, totals, moved)
        ds = np.einsum("pri,pi->pr", rows.slope, _at(solver, moved))
        dlam = mu / rows.slack - lam - lam / rows.slack * ds
        dt = totals.slope @ moved
        dnu = mu / totals.slack - nu - nu / totals.slack * dt
        dual_size = min(_room(lam, dlam), _room(nu, dnu))
        c = c + size * moved
        rows, totals = found
        lam, nu = lam + dual_size * dlam, nu + dual_size * dnu
        if DEBUG:
            print(step, f, gap, residual, size, dual_size, mu)
    T = float(np.sum(solver.weights / np.sqrt(solver.nodes.of(c)[0])))
    scale = solver.unit[:, 0] / np.sqrt(problem.points.of(c)[0])
    return Solution(c, T, rows.slack, lam, totals.slack, nu, scale, gap / abs(f), step)


DEBUG = False


def _at(solver, moved):
    return np.stack(solver.problem.points.of(moved), axis=1)


def _room(values, change):
    falling = change < 0
    if not falling.any():
        return 1.0
    return min(1.0, (1 - _KEPT) * float((-values[falling] / change[falling]).min()))


def _direction(solver, rows, totals, lam, nu, slope, bent, mu):
    problem = solver.problem
    k = problem.space.degree + 1
    band = np.zeros((k, problem.space.size))
    weight = lam / rows.slack
    curve = np.matmul(np.swapaxes(rows.slope * weight[..., None], 1, 2), rows.slope)  # (P,3,3)
    local = np.matmul(np.swapaxes(solver.basis, 1, 2), np.matmul(curve, solver.basis))
    solver.banded(local, problem.points.first, band)
    solver.banded(bent, solver.nodes.first, band)
    band[0] *= 1 + 1e-14
    pull = np.einsum("pr,pri->pi", mu / rows.slack, rows.slope)
    right = -slope + solver.spread(np.einsum("pi,pik->pk", pull, solver.basis), problem.points)
    right += totals.slope.T @ (mu / totals.slack)
    factor = cholesky_banded(band, lower=True, check_finite=False)
    found = cho_solve_banded((factor, True), right, check_finite=False)
    if len(nu):
        U = totals.slope.T
        V = cho_solve_banded((factor, True), U, check_finite=False)
        small = np.diag(totals.slack / nu) + totals.slope @ V
        found = found - V @ np.linalg.solve(small, totals.slope @ found)
    return found


def _longest(solver, c, rows, totals, moved):
    """The longest part of the step that keeps a part of each slack."""
    ds = np.einsum("pri,pi->pr", rows.slope, _at(solver, moved))
    size = min(_room(rows.slack, ds), _room(totals.slack, totals.slope @ moved))
    while size > 1e-12:
        found = solver.rows(c + size * moved)
        if found is not None:
            new = solver.totals(c + size * moved)
            if (found.slack > 0.1 * _KEPT * rows.slack).all() and (
                new.slack > 0.1 * _KEPT * totals.slack
            ).all():
                return size, (found, new)
        size *= 0.7
    return 0.0, (rows, totals)


def _slowed(solver: _Solver, start: Vector) -> Vector:
    c = start
    for _ in range(200):
        rows = solver.rows(c)
        if rows is not None and (rows.slack > 0.1).all() and (solver.totals(c).slack > 0).all():
            return c
        c = 0.7 * c
    raise ValueError("no feasible start")
