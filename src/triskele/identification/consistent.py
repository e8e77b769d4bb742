"""A fit of bodies that can exist: all masses positive, all inertias possible, no negative friction.

Unknowns u are log-Cholesky coordinates of each part (`forms.py`), logarithms of rotors, friction
coefficients, which are not negative, and, where a drive saturates, the logarithms of A and w_A in
A tanh(qd / w_A). With p(u),

    min_u  sum w_i |tau - known - Y p(u) - f_A(u)|^2 / sigma_i^2
           + sum_k ((p_k(u) - p_k0) / (s p_k0))^2                                       (1)
    subject to  a' p(u) = M  for parts that were weighed                                (2)

p_0 are the numbers of the robot file, and s is how far, relatively, one is prepared to find them
wrong: what the data do not tell stays there. (1) is solved by Gauss and Newton with Levenberg's
damping, in the null space of the linearised (2), coefficients that are zero and want to be less
held there; dp/du is exact. Outliers are weighted down as in
`weighted.py`.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from triskele.dynamics.robot import RigidRobot
from triskele.errors import InputError
from triskele.identification.forms import COORDINATES, Form, forms_of, start_of, ten_and_slope
from triskele.identification.regressor import (
    INERTIA,
    Parameter,
    Regressor,
    drive_parts,
    law_of,
    parameter_values,
)
from triskele.identification.weighted import huber_weights, spread

Series = Float[np.ndarray, "N n"]
Vector = Float[np.ndarray, " k"]  #: of unknowns
Values = Float[np.ndarray, " p"]  #: of parameters
INERTIA_DEVIATION = 0.2  #: s of (1) for inertia: weighed or drawn parts are so well known
FRICTION_DEVIATION = 5.0  #: and for friction, of which one knows the order of magnitude
_STEPS = 60
_ROUNDS = 8  #: of new weights
_DONE = 1e-9  #: relative change of the cost that ends the search
_FAR = 7.0  #: a logarithm moves at most so far: frictions by a thousand, masses by a million;
#: a stretch half as far: moments of inertia by a thousand
_STRIDE = 1.5  #: the longest step of a logarithm


class _Piece(NamedTuple):
    """Unknowns of one part: columns of Y, where to begin, and p and dp/du there."""

    part: str
    columns: tuple[int, ...]
    size: int
    value: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


class Saturation(NamedTuple):
    """A tanh(qd / w_A) of one drive: where its two logarithms stand among the unknowns."""

    drive: int
    place: int


class Unknowns(NamedTuple):
    """What is to be found, and how torques follow from it."""

    parameters: tuple[Parameter, ...]
    pieces: tuple[_Piece, ...]
    saturations: tuple[Saturation, ...]
    start: Vector
    names: tuple[str, ...]
    forms: Mapping[str, Form]

    def bounds(self) -> tuple[Vector, Vector]:
        """Friction is not negative; a logarithm stays where its part does not vanish."""
        far = np.where(self.logarithms(), _FAR, np.inf)
        far = np.where(np.isin(self._kinds(), COORDINATES[1:4]), _FAR / 2, far)
        rubbing = np.isin(self._kinds(), ("coulomb", "viscous"))
        return np.where(rubbing, 0.0, self.start - far), self.start + far

    def logarithms(self) -> np.ndarray:
        """Which of them are logarithms."""
        return ~np.isin(self._kinds(), ("coulomb", "viscous", *COORDINATES[4:]))

    def _kinds(self) -> list[str]:
        """What each of them is, or the first of those that move together."""
        return [name.rpartition(".")[2].partition("=")[0] for name in self.names]

    def values(self, u: Vector) -> tuple[Values, Float[np.ndarray, "p k"]]:
        """p(u) and dp/du."""
        p, slope = np.zeros(len(self.parameters)), np.zeros((len(self.parameters), len(u)))
        place = 0
        for piece in self.pieces:
            own = slice(place, place + piece.size)
            columns = list(piece.columns)
            p[columns], slope[columns, own] = piece.value(u[own])
            place += piece.size
        return p, slope

    def saturating(self, u: Vector, qd: Series) -> tuple[Series, Float[np.ndarray, "N n k"]]:
        """f_A and its derivatives."""
        effort, slope = np.zeros(qd.shape), np.zeros((*qd.shape, len(u)))
        for drive, place in self.saturations:
            A, w = np.exp(u[place : place + 2])
            ratio = qd[:, drive] / w
            bent = np.tanh(ratio)
            effort[:, drive] += A * bent
            slope[:, drive, place] += A * bent
            slope[:, drive, place + 1] -= A * ratio * (1 - bent**2)
        return effort, slope


def unknowns(
    model: RigidRobot,
    parameters: tuple[Parameter, ...],
    *,
    forms: Mapping[str, str] | None = None,
) -> Unknowns:
    """The unknowns of a robot whose numbers are `model`; parts without mass are left out."""
    values, numbers = parameter_values(model, parameters), drive_parts(model.mechanism)
    masses = zip(parameters, values, strict=True)
    shapes = forms_of(model, [p.part for p, value in masses if p.name == "m" and value > 0], forms)
    pieces, start, names, saturations = [], [], [], []
    for k, parameter in enumerate(parameters):
        part, name, *_ = parameter
        if name == "m" and part in shapes:
            form = shapes[part]
            pieces.append(_body(part, k, form, values[k : k + 10]))
            start += [0.0] * pieces[-1].size
            names += [f"{part}.{'='.join(group)}" for group in form.directions]
        elif name not in INERTIA:
            bend = _saturation(model, part) if name == "viscous" and part in numbers else None
            if bend is not None:
                saturations.append(Saturation(numbers[part], len(start)))
                pieces.append(_Piece(part, (), 2, _nothing))
                start += list(np.log(bend))
                names += [f"{part}.saturating", f"{part}.saturating_speed"]
                if not values[k]:
                    continue  # it takes the place of viscous friction
            rotor = name == "rotor"
            pieces.append(_Piece(part, (k,), 1, _exponential if rotor else _itself))
            start.append(float(np.log(values[k])) if rotor else float(values[k]))
            names.append(str(parameter))
    return Unknowns(
        parameters,
        tuple(pieces),
        tuple(saturations),
        np.array(start),
        tuple(names),
        shapes,
    )


def _saturation(model: RigidRobot, part: str) -> tuple[float, float] | None:
    """A and w_A of a drive, if its friction saturates."""
    law = law_of(model, part)
    if law is None or law.saturating is None or law.saturating_speed is None:
        return None
    return float(law.saturating), float(law.saturating_speed)


def _body(part: str, k: int, form: Form, ten: np.ndarray) -> _Piece:
    phi_0, E = start_of(form, ten, part), form.matrix

    def value(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found, slope = ten_and_slope(phi_0 + E @ u)
        return found, slope @ E

    return _Piece(part, tuple(range(k, k + 10)), E.shape[1], value)


def _exponential(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    value = np.exp(u)
    return value, np.diag(value)


def _itself(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return u, np.eye(len(u))


def _nothing(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(0), np.zeros((0, len(u)))


class Weighing(NamedTuple):
    """Parts that were on a scale together: count of each, and their mass [kg]."""

    parts: Mapping[str, float]
    mass: float


class ConsistentFit(NamedTuple):
    """Unknowns at the least of (1)."""

    unknowns: Unknowns
    u: Vector
    values: Values  #: of all parameters of the regressor
    sigma: Float[np.ndarray, " n"]
    weights: Series
    steps: int
    converged: bool
    weighed: tuple[str, ...]  #: parts with a mass from a scale, each by itself
    pull: Values  #: deviation after the log over that before, 0 to 1

    def torques(self, regressor: Regressor) -> Series:
        """What they predict."""
        effort, _ = self.unknowns.saturating(self.u, regressor.qd)
        return regressor.matrix @ self.values + regressor.known + effort

    @property
    def saturating(self) -> dict[int, tuple[float, float]]:
        """A and w_A of each drive that saturates."""
        return {
            drive: (float(np.exp(self.u[place])), float(np.exp(self.u[place + 1])))
            for drive, place in self.unknowns.saturations
        }


class _Problem(NamedTuple):
    """All that (1) and (2) are made of, weights apart."""

    unknowns: Unknowns
    matrix: Float[np.ndarray, "N n p"]
    qd: Series
    target: Series
    prior: Values  #: p_0
    trust: Values  #: 1 / (s p_0); 0 where there is nothing to hold on to
    scales: Float[np.ndarray, "w p"]  #: a of (2)
    masses: Float[np.ndarray, " w"]
    held: tuple[tuple[int, float, float], ...]  #: logarithms of saturations: place, value, trust


class _Rows(NamedTuple):
    """Weighted rows of (1): those of drives that do not saturate are as many as columns, by QR."""

    matrix: Float[np.ndarray, "rows p"]
    target: Float[np.ndarray, " rows"]
    bent: tuple[int, ...]  #: drives that saturate, whose samples follow one another at the end
    w: Series


class _Point(NamedTuple):
    """Cost, gradient and curvature at some u."""

    cost: float
    gradient: Vector
    curvature: Float[np.ndarray, "k k"]
    own: Float[np.ndarray, "k k"]  #: curvature of the data alone
    miss: Float[np.ndarray, " w"]
    lean: Float[np.ndarray, "w k"]


def consistent_fit(
    regressor: Regressor,
    tau: Series,
    wanted: Unknowns,
    *,
    sigma: Float[np.ndarray, " n"] | None = None,
    robust: bool = False,
    weighed: tuple[Weighing, ...] = (),
    inertia_deviation: float = INERTIA_DEVIATION,
    friction_deviation: float = FRICTION_DEVIATION,
    first_sigma: Float[np.ndarray, " n"] | None = None,
) -> ConsistentFit:
    """Equation (1) under (2); `sigma` is found with the rest unless it is given."""
    if not inertia_deviation > 0 or not friction_deviation > 0:
        raise InputError("Deviations of what the file says must be positive.")
    problem = _problem(regressor, tau, wanted, weighed, inertia_deviation, friction_deviation)
    u, weights = wanted.start, np.ones(tau.shape)
    noise = sigma if sigma is not None else first_sigma
    if noise is None:
        noise = spread(problem.target, problem.target, robust=False)
    steps, converged = 0, False
    rows = _rows(problem, np.sqrt(weights) / noise)
    point = _evaluated(problem, rows, u)
    for _ in range(_ROUNDS):
        rows = _rows(problem, np.sqrt(weights) / noise)
        u, point, count, converged = _searched(problem, rows, u)
        steps += count
        before, residual = noise, _residual(problem, u)
        if sigma is None:
            noise = spread(residual, problem.target, robust)
        fresh = huber_weights(residual, noise) if robust else weights
        same = np.abs(fresh - weights).max() < 1e-3 and np.allclose(noise, before, rtol=1e-3)
        weights = fresh
        if converged and same:
            break
    values, slope = wanted.values(u)
    alone = tuple(part for w in weighed if len(w.parts) == 1 for part in w.parts)
    pull = _pull(problem, point, slope)
    return ConsistentFit(wanted, u, values, noise, weights, steps, converged, alone, pull)


class Anchored(NamedTuple):
    """Size of something that bodies of other masses could be, and its deviation."""

    value: float
    deviation: float


def anchored(
    fit: ConsistentFit,
    regressor: Regressor,
    tau: Series,
    column: Series,
    *,
    weighed: tuple[Weighing, ...] = (),
    inertia_deviation: float = INERTIA_DEVIATION,
    friction_deviation: float = FRICTION_DEVIATION,
) -> Anchored:
    """One step of Gauss and Newton from `fit` with an effort z `column` more, z unknown.

    What torques cannot tell from it, scales and the file may.
    """
    problem = _problem(regressor, tau, fit.unknowns, weighed, inertia_deviation, friction_deviation)
    w = np.sqrt(fit.weights) / fit.sigma
    point = _evaluated(problem, _rows(problem, w), fit.u)
    p, slope = fit.unknowns.values(fit.u)
    bent, bent_slope = fit.unknowns.saturating(fit.u, problem.qd)
    residual = problem.target - problem.matrix @ p - bent
    low, high = fit.unknowns.bounds()
    free = np.append((fit.u > low) & (fit.u < high), True)
    z, e = column * w, residual * w
    k = len(fit.u)
    H = np.zeros((k + 1, k + 1))
    H[:k, :k], H[k, k] = point.curvature, np.sum(z * z)
    H[k, :k] = np.einsum("ni,nip->p", z * w, problem.matrix) @ slope
    H[k, :k] += np.einsum("ni,nik->k", z * w, bent_slope)
    H[:k, k] = H[k, :k]
    scale = np.sqrt(np.maximum(np.diag(H), 1e-30))[free]
    H = H[np.ix_(free, free)] / np.outer(scale, scale)
    g = np.append(point.gradient, -np.sum(z * e))[free] / scale
    G = np.column_stack([point.lean, np.zeros(len(point.lean))])[:, free] / scale
    Z = np.linalg.qr(G.T, mode="complete")[0][:, len(G) :]
    curvature = Z.T @ H @ Z + 1e-14 * np.eye(Z.shape[1])
    inverse = Z @ np.linalg.solve(curvature, Z.T)
    value = -(inverse @ g)[-1] / scale[-1]
    return Anchored(float(value), float(np.sqrt(max(inverse[-1, -1], 0.0)) / scale[-1]))


def _rows(problem: _Problem, w: Series) -> _Rows:
    """Rows of (1) with weights `w`."""
    bent = tuple(sorted({s.drive for s in problem.unknowns.saturations}))
    plain = [i for i in range(w.shape[1]) if i not in bent]
    both = np.concatenate([problem.matrix, problem.target[:, :, None]], axis=2) * w[:, :, None]
    few = np.linalg.qr(both[:, plain].reshape(-1, both.shape[2]), mode="r")
    rows = np.concatenate([few, *(both[:, i] for i in bent)])
    return _Rows(rows[:, :-1], rows[:, -1], bent, w)


def _bent(problem: _Problem, rows: _Rows, u: Vector) -> tuple[np.ndarray, np.ndarray]:
    """Weighted efforts of what saturates, and their derivatives, row by row."""
    effort, slope = np.zeros(len(rows.target)), np.zeros((len(rows.target), len(u)))
    if rows.bent:
        drives, N = list(rows.bent), len(rows.w)
        found, change = problem.unknowns.saturating(u, problem.qd)
        own = slice(len(effort) - N * len(drives), None)
        effort[own] = (found * rows.w)[:, drives].T.ravel()
        change = (change * rows.w[:, :, None])[:, drives]
        slope[own] = np.moveaxis(change, 1, 0).reshape(-1, len(u))
    return effort, slope


def _residual(problem: _Problem, u: Vector) -> Series:
    """Measured minus fitted efforts."""
    p, _ = problem.unknowns.values(u)
    bent, _ = problem.unknowns.saturating(u, problem.qd)
    return problem.target - problem.matrix @ p - bent


def _problem(
    regressor: Regressor,
    tau: Series,
    wanted: Unknowns,
    weighed: tuple[Weighing, ...],
    inertia_deviation: float,
    friction_deviation: float,
) -> _Problem:
    prior, _ = wanted.values(wanted.start)
    inertial = np.array([p.name in (*INERTIA, "rotor") for p in wanted.parameters])
    deviation = np.where(inertial, inertia_deviation, friction_deviation)
    chosen = np.zeros(len(prior), bool)
    for k, (part, name, *_) in enumerate(wanted.parameters):
        form = wanted.forms.get(part)
        if name not in INERTIA:
            chosen[k] = True
        elif form is not None:
            chosen[k] = any(name == group[0] for group in form.moments)
    significant = np.abs(prior) > 1e-12
    trust = np.where(chosen & significant, 1 / (deviation * np.where(significant, prior, 1.0)), 0)
    names = [str(p) for p in wanted.parameters]
    scales = np.zeros((len(weighed), len(prior)))
    for row, weighing in zip(scales, weighed, strict=True):
        for part, count in weighing.parts.items():
            if f"{part}.m" not in names:
                raise InputError(f"'{part}' was weighed, but is no part of this robot's bodies.")
            row[names.index(f"{part}.m")] = count
    held = tuple(
        (s.place + j, float(wanted.start[s.place + j]), 1 / friction_deviation)
        for s in wanted.saturations
        for j in (0, 1)
    )
    masses = np.array([weighing.mass for weighing in weighed], float)
    target = tau - regressor.known
    return _Problem(
        wanted, regressor.matrix, regressor.qd, target, prior, trust, scales, masses, held
    )


def _evaluated(problem: _Problem, rows: _Rows, u: Vector) -> _Point:
    p, slope = problem.unknowns.values(u)
    bent, bent_slope = _bent(problem, rows, u)
    e = rows.target - rows.matrix @ p - bent
    J = rows.matrix @ slope + bent_slope
    lean = problem.trust[:, None] * slope
    off = problem.trust * (p - problem.prior)
    own, gradient = J.T @ J, lean.T @ off - J.T @ e
    curvature, cost = own + lean.T @ lean, e @ e + off @ off
    for place, value, trust in problem.held:
        curvature[place, place] += trust**2
        gradient[place] += trust**2 * (u[place] - value)
        cost += (trust * (u[place] - value)) ** 2
    return _Point(
        float(cost),
        gradient,
        curvature,
        own,
        problem.scales @ p - problem.masses,
        problem.scales @ slope,
    )


def _searched(problem: _Problem, rows: _Rows, u: Vector) -> tuple[Vector, _Point, int, bool]:
    """The least of (1) for given weights: damped steps until the cost stands still."""
    point, damping = _evaluated(problem, rows, u), 1e-3
    (low, high), logs = problem.unknowns.bounds(), problem.unknowns.logarithms()
    for count in range(1, _STEPS + 1):
        g = point.gradient
        free = ((u > low) | (g < 0)) & ((u < high) | (g > 0))  # or on its way back
        step = _step(point, damping, free)
        longest = np.abs(step[logs]).max(initial=0.0)
        ahead = np.clip(u + step * min(1.0, _STRIDE / max(longest, 1e-12)), low, high)
        trial = _evaluated(problem, rows, ahead)
        gained = _merit(point) - _merit(trial)
        if np.isfinite(trial.cost) and gained >= 0:
            u, point, damping = ahead, trial, max(damping / 10, 1e-9)
            if gained <= _DONE * max(_merit(trial), 1e-12):
                return u, point, count, True
        else:
            damping = max(damping, 1e-9) * 10
            if damping > 1e12:
                return u, point, count, True
    return u, point, _STEPS, False


def _merit(point: _Point) -> float:
    """Cost, with a price on masses that are not what the scale said."""
    return point.cost + 1e6 * float(point.miss @ point.miss)


def _step(point: _Point, damping: float, free: np.ndarray) -> Vector:
    """One step of Gauss and Newton of what is free, along which (2) holds, linearised."""
    scale = np.sqrt(np.maximum(np.diag(point.curvature), 1e-30))[free]
    H = point.curvature[np.ix_(free, free)] / np.outer(scale, scale)
    H = H + damping * np.eye(len(scale))
    g, G = point.gradient[free] / scale, point.lean[:, free] / scale
    Q, R = np.linalg.qr(G.T, mode="complete")
    w = len(G)
    first = -Q[:, :w] @ np.linalg.solve(R[:w].T, point.miss)
    Z = Q[:, w:]
    rest = -np.linalg.solve(Z.T @ H @ Z, Z.T @ (g + H @ first))
    step = np.zeros(len(free))
    step[free] = (first + Z @ rest) / scale
    return step


def _pull(problem: _Problem, point: _Point, slope: np.ndarray) -> Values:
    """Deviation of each parameter after the log over that before; 1: the log said nothing."""
    scale = np.sqrt(np.maximum(np.diag(point.curvature), 1e-30))
    H = point.curvature / np.outer(scale, scale) + 1e-12 * np.eye(len(scale))
    P = (point.curvature - point.own) / np.outer(scale, scale)
    S = slope / scale
    after = np.einsum("ik,kl,il->i", S, np.linalg.inv(H), S)
    values, axes = np.linalg.eigh(P)
    free = 1 / np.maximum(values, 1e-9)
    before = np.einsum("ik,k,ik->i", S @ axes, free, S @ axes)
    return np.sqrt(np.clip(after / np.maximum(before, 1e-300), 0, 1))
