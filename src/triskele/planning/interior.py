"""Minimum time by an interior point method that uses the band structure of splines.

At each point of the path the limits are slacks that must stay positive, functions of x, u, w:

    two-sided    1 - e sqrt(x) -+ (a u + b x + c)              efforts, loads, accelerations  (1)
    third order  sqrt(X) [ 1/sqrt(x) -+ (a w + b u + c x + d) ]  jerks, torque rates           (2)
    norms        1 + (l_a u + l_b x + l_c) - |v_a u + v_b x + v_c|                              (3)

each divided by its limit. (2) is sddd-affine times sqrt(x), divided by sqrt(x): the only term
that is not linear, 1/sqrt(x), is convex, so that its tangent is a safe bound; X, a fixed profile,
keeps (2) of order one. -e sqrt(x) in (1) is convex as well. The mean square of y over the motion
of duration T, with its multiplier nu, and time together have the curvature of

    T - nu integral of (1 - y^2) dt = integral of [1 - nu (1 - y^2)] / sqrt(x) ds               (4)

which is convex as long as nu is below 1. Where y is an effort that holds the robot against gravity
and is near its limit, nu is far above 1, and (4) as a whole remains convex because y^2 is near 1.

The start is any profile, slowed down: all of x, u, w shrink alike, so that where the robot can
stand still a slow profile is strictly feasible. From there primal-dual steps

    (H + sum lam/S g g') dc = -grad f + sum mu g / S,    g = dS/dc                              (5)

with the barrier mu falling; H is the second derivative of time minus all lam S. Where that is not
positive definite, what makes it so is left out: parts of (4) that are not convex, and the bend of
1/sqrt(x) and sqrt(x) in (1) and (2), whose tangents are safe. Each g touches degree + 1
coefficients, so that (5) is a banded Cholesky factorisation. Averages over the whole motion (RMS
torques) are dense rows beside it. As each of them stands for the whole motion, its barrier is as
large as that of all other rows together; with that of one row its slack would drown in rounding.
The multipliers lam are the prices of the limits, if the conditions of optimality hold: then
`residual` is small.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_solve_banded, cholesky_banded

from triskele.errors import InputError
from triskele.planning.problem import Problem, Solution, Values, Vector
from triskele.planning.profile import Basis

Blocks = Float[np.ndarray, "_ _ _"]
_KEPT = 0.01  #: part of each slack that a step leaves, by its tangent
_LEAST = 0.001  #: and really
_CLEAR = 0.1  #: slack of the start
_BALANCED = 1e-6  #: residual of the conditions of optimality, relative
_NEAR = 20  #: steps towards them once the gap is closed, at most
_LEFT_OUT = (0.0, 0.5, 1.0)  #: parts of the curvature that is not convex, tried in turn
_SHORTEST = 1e-12  #: part of a step
_ROUND = 1e-12  #: rounds the tip of a norm


class _Rows(NamedTuple):
    """Slacks at the points, and their slopes by x, u and w."""

    slack: Values
    slope: Float[np.ndarray, "P R 3"]


class _Totals(NamedTuple):
    """Slacks of the averages, and their slopes by the coefficients."""

    slack: Vector
    slope: Float[np.ndarray, "A n"]


class _State(NamedTuple):
    """Where the method is: coefficients, slacks, multipliers."""

    c: Vector
    rows: _Rows
    totals: _Totals
    lam: Values
    nu: Vector

    @property
    def gap(self) -> float:
        """What the products of slacks and multipliers say is left to gain."""
        return float(np.sum(self.lam * self.rows.slack) + self.nu @ self.totals.slack)


class _Solver:
    """A problem with what does not change while it is solved."""

    def __init__(self, problem: Problem, start: Vector) -> None:
        self.problem = problem
        s, cell, self.weights = problem.space.quadrature()
        self.nodes = problem.space.basis(s, cell)
        self.basis = np.stack(problem.points[1:], axis=1)  # (P, 3, k)
        self.unit = np.sqrt(problem.points.of(start)[0])[:, None]  # sqrt(X) of (2)
        k = 2 * (problem.two_sided.a.shape[1] + problem.third_order.a.shape[1])
        self.rows_of_all = max(len(self.unit) * (k + problem.norms.la.shape[1]), 1)

    def rows(self, c: Vector) -> _Rows | None:
        """Slacks (1) to (3); None where x is not positive."""
        x, u, w = (part[:, None] for part in self.problem.points.of(c))
        if not (x > 0).all() or not (self.nodes.of(c)[0] > 0).all():
            return None
        parts = [*self._two_sided(x, u), *self._third_order(x, u, w), *self._norms(x, u)]
        slack, *slopes = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
        return _Rows(slack, np.stack(slopes, axis=-1))

    def _two_sided(self, x: Values, u: Values) -> list[tuple[Values, ...]]:
        a, b, c, e = self.problem.two_sided
        root = np.sqrt(x)
        y, room, bend, none = a * u + b * x + c, 1 - e * root, e / (2 * root), np.zeros_like(a)
        return [(room - y, -bend - b, -a, none), (room + y, -bend + b, a, none)]

    def _third_order(self, x: Values, u: Values, w: Values) -> list[tuple[Values, ...]]:
        a, b, c, d = (part * self.unit for part in self.problem.third_order)
        y = a * w + b * u + c * x + d
        room = np.broadcast_to(self.unit / np.sqrt(x), y.shape)
        bend = -room / (2 * x)
        return [(room - y, bend - c, -b, -a), (room + y, bend + c, b, a)]

    def _norms(self, x: Values, u: Values) -> list[tuple[Values, ...]]:
        p = self.problem.norms
        v = p.a * u[..., None] + p.b * x[..., None] + p.c
        size = np.sqrt(np.sum(v * v, axis=-1) + _ROUND)
        e = v / size[..., None]
        by_x, by_u = (np.sum(e * part, axis=-1) for part in (p.b, p.a))
        slack = 1 + p.la * u + p.lb * x + p.lc - size
        return [(slack, p.lb - by_x, p.la - by_u, np.zeros_like(size))]

    def totals(self, c: Vector) -> _Totals:
        """Integral of (1 - y^2) dt for each average, over the dwell as well."""
        x, u, _ = self.nodes.of(c)
        root = np.sqrt(x)
        slacks, slopes = [], np.zeros((len(self.problem.averages), len(c)))
        for row, p in zip(slopes, self.problem.averages, strict=True):
            y = p.a * u + p.b * x + p.c
            slacks.append(np.sum(self.weights * (1 - y * y) / root) + p.dwell * (1 - p.idle**2))
            by_x = -2 * y * p.b / root - (1 - y * y) / (2 * x * root)
            by_u = -2 * y * p.a / root
            local = by_x[:, None] * self.nodes.x + by_u[:, None] * self.nodes.u
            row += self.spread(self.weights[:, None] * local, self.nodes)
        return _Totals(np.array(slacks), slopes)

    def objective(self, c: Vector) -> tuple[float, Vector]:
        """What is made least, and its slope."""
        x, _, _ = self.nodes.of(c)
        omega, root = self.weights, np.sqrt(x)
        if self.problem.fastest:
            value, slope = float(np.sum(omega / root)), -0.5 * omega / (x * root)
        else:
            value, slope = float(-np.sum(omega * x)), -omega
        return value, self.spread(slope[:, None] * self.nodes.x, self.nodes)

    def curvature_of_means(self, state: _State, left_out: float) -> Blocks:
        """Second derivatives of (4) at each node, without a part of what is not convex."""
        x, u, _ = self.nodes.of(state.c)
        root = np.sqrt(x)
        H, own = np.zeros((len(x), 2, 2)), np.full(len(x), float(self.problem.fastest))
        for p, price in zip(self.problem.averages, state.nu, strict=True):
            y = p.a * u + p.b * x + p.c
            own -= price * (1 - y * y)
            H[:, 0, 0] += price * (2 * p.b**2 - 2 * p.b * y / x) / root
            H[:, 0, 1] += price * (2 * p.a * p.b - p.a * y / x) / root
            H[:, 1, 1] += price * 2 * p.a**2 / root
        H[:, 0, 0] += 0.75 * own / (x * x * root)
        H[:, 1, 0] = H[:, 0, 1]
        if left_out > 0:
            sizes, axes = np.linalg.eigh(H)
            concave = axes * np.minimum(sizes, 0)[:, None, :]
            H -= left_out * np.matmul(concave, np.swapaxes(axes, 1, 2))
        H *= self.weights[:, None, None]
        local = np.stack([self.nodes.x, self.nodes.u], axis=1)
        return np.matmul(np.swapaxes(local, 1, 2), np.matmul(H, local))

    def curvature_of_rows(self, state: _State, left_out: float) -> Blocks:
        """Second derivatives of -lam S at each point, without a part of what is not convex."""
        problem = self.problem
        x, u, _ = (part[:, None] for part in problem.points.of(state.c))
        k2, k3 = problem.two_sided.a.shape[1], problem.third_order.a.shape[1]
        two, third, norms = np.split(state.lam, [2 * k2, 2 * (k2 + k3)], axis=1)
        root = np.sqrt(x)
        falling = (two[:, :k2] + two[:, k2:]) * problem.two_sided.e
        bend = np.sum(falling, axis=1, keepdims=True) / (4 * x * root)
        bend += np.sum(third, axis=1, keepdims=True) * 0.75 * self.unit / (x * x * root)
        H = np.zeros((len(x), 3, 3))
        H[:, 0, 0] = -(1 - left_out) * bend[:, 0]
        p = problem.norms
        v, slope = p.a * u[..., None] + p.b * x[..., None] + p.c, np.stack([p.b, p.a], axis=-1)
        size = np.sqrt(np.sum(v * v, axis=-1) + _ROUND)
        along = np.einsum("pkc,pkci->pki", v / size[..., None], slope)
        H[:, :2, :2] += np.einsum("pk,pkci,pkcj->pij", norms / size, slope, slope)
        H[:, :2, :2] -= np.einsum("pk,pki,pkj->pij", norms / size, along, along)
        return np.matmul(np.swapaxes(self.basis, 1, 2), np.matmul(H, self.basis))

    def spread(self, local: Values, basis: Basis) -> Vector:
        """The sum of what points contribute to each coefficient."""
        n = self.problem.space.size
        return sum(
            (np.bincount(basis.first + k, local[:, k], minlength=n) for k in range(local.shape[1])),
            start=np.zeros(n),
        )

    def pulled(self, weights: Values, rows: _Rows) -> Vector:
        """sum of `weights` times the slopes of the slacks, by the coefficients."""
        local = np.einsum("pr,pri->pi", weights, rows.slope)
        return self.spread(np.einsum("pi,pik->pk", local, self.basis), self.problem.points)

    def factored(self, state: _State) -> tuple[Values, bool]:
        """The matrix of (5) without its dense rows, as `cho_solve_banded` takes it."""
        rows, size = state.rows, self.problem.space.size
        stiff = rows.slope * (state.lam / rows.slack)[..., None]
        steep = np.matmul(np.swapaxes(stiff, 1, 2), rows.slope)
        steep = np.matmul(np.swapaxes(self.basis, 1, 2), np.matmul(steep, self.basis))
        for left_out in _LEFT_OUT:
            band = np.zeros((self.basis.shape[2], size))
            bent = self.curvature_of_rows(state, left_out)
            _add_blocks(band, steep + bent, self.problem.points.first)
            _add_blocks(band, self.curvature_of_means(state, left_out), self.nodes.first)
            band[0] *= 1 + 1e-14
            try:
                return cholesky_banded(band, lower=True, check_finite=False), True
            except np.linalg.LinAlgError:
                if left_out == _LEFT_OUT[-1]:
                    raise
        raise AssertionError("the last part left out returns or raises")

    def direction(self, state: _State, slope: Vector, mu: float) -> Vector:
        """The step of (5)."""
        rows, totals = state.rows, state.totals
        right = self.pulled(mu / rows.slack, rows) - slope
        right += totals.slope.T @ (mu * self.rows_of_all / totals.slack)
        factor = self.factored(state)
        step = cho_solve_banded(factor, right, check_finite=False)
        if len(state.nu):  # dense rows by the formula of Woodbury
            V = cho_solve_banded(factor, totals.slope.T, check_finite=False)
            small = np.diag(totals.slack / state.nu) + totals.slope @ V
            step = step - V @ np.linalg.solve(small, totals.slope @ step)
        return step

    def moved(self, state: _State, step: Vector, mu: float) -> tuple[_State, float]:
        """The longest part of the step that keeps a part of each slack and multiplier."""
        rows, totals = state.rows, state.totals
        change = np.einsum("pri,pi->pr", rows.slope, np.stack(self.problem.points.of(step), 1))
        total_change = totals.slope @ step
        dlam = (mu - state.lam * change) / rows.slack - state.lam
        dnu = (mu * self.rows_of_all - state.nu * total_change) / totals.slack - state.nu
        dual = min(_room(state.lam, dlam), _room(state.nu, dnu))
        lam, nu = state.lam + dual * dlam, state.nu + dual * dnu
        size = min(_room(rows.slack, change), _room(totals.slack, total_change))
        while size > _SHORTEST:
            c = state.c + size * step
            new = self.rows(c)
            if new is not None and (new.slack > _LEAST * rows.slack).all():
                new_totals = self.totals(c)
                if (new_totals.slack > _LEAST * totals.slack).all():
                    return _State(c, new, new_totals, lam, nu), min(size, dual)
            size *= 0.7
        return state._replace(lam=lam, nu=nu), 0.0

    def started(self, start: Vector) -> _State:
        """`start`, slowed down until it is well inside, with multipliers that fit."""
        c = start
        for _ in range(200):
            rows = self.rows(c)
            if rows is not None and (rows.slack > _CLEAR).all():
                totals = self.totals(c)
                if (totals.slack > 0).all():
                    break
            c = 0.7 * c
        else:
            raise InputError("No speed is slow enough for all limits along this path.")
        mu = abs(self.objective(c)[0]) / self.count
        return _State(c, rows, totals, mu / rows.slack, mu * self.rows_of_all / totals.slack)

    @property
    def count(self) -> int:
        """Rows, each average as many as all others."""
        return self.rows_of_all * (1 + len(self.problem.averages))


def _add_blocks(band: Float[np.ndarray, "k n"], blocks: Blocks, first: np.ndarray) -> None:
    """Add symmetric blocks to a matrix kept as its lower band."""
    k, n = band.shape
    for i in range(k):
        for j in range(i + 1):
            band[i - j] += np.bincount(first + j, blocks[:, i, j], minlength=n)


def _room(values: np.ndarray, change: np.ndarray) -> float:
    """The part of a change, at most all of it, that leaves _KEPT of each value."""
    falling = change < 0
    if not falling.any():
        return 1.0
    return min(1.0, (1 - _KEPT) * float((-values[falling] / change[falling]).min()))


def solve(problem: Problem, start: Vector, *, tolerance: float = 1e-8, most: int = 200) -> Solution:
    """The profile of least time (or largest integral of x) within the limits.

    `start` are the coefficients of a profile; it is slowed down until it is inside.
    """
    solver = _Solver(problem, start)
    state = solver.started(start)
    steps, near, part, residual, left = 0, 0, 0.0, np.inf, np.inf
    while steps < most:
        steps += 1
        value, slope = solver.objective(state.c)
        dual = solver.pulled(state.lam, state.rows) + state.totals.slope.T @ state.nu
        residual = float(np.abs(slope - dual).max() / np.abs(slope).max())
        left = state.gap / abs(value)
        if left < tolerance:
            near += 1
            if residual < _BALANCED or near > _NEAR:
                break
        # After a short step, towards the middle first. Where the gap is closed, mu stays: with
        # less, slacks would drown in rounding before the conditions of optimality hold.
        mu = min(max(0.1, (1 - part) ** 2), 0.5) * state.gap / solver.count
        mu = max(mu, 0.2 * tolerance * abs(value) / solver.count)
        state, part = solver.moved(state, solver.direction(state, slope, mu), mu)
    x, _, _ = solver.nodes.of(state.c)
    return Solution(
        c=state.c,
        duration=float(np.sum(solver.weights / np.sqrt(x))),
        slack=state.rows.slack,
        price=state.lam,
        average_slack=state.totals.slack,
        average_price=state.nu,
        scale=solver.unit[:, 0] / np.sqrt(problem.points.of(state.c)[0]),
        gap=left,
        residual=residual,
        steps=steps,
    )
