"""The variable-order Adams method in predictor-corrector form (PECE), as in ode113 of MATLAB.

With slopes f_0, f_1, ... at the present and earlier times, and s = (t - t_0) / h,

    y*  = y_0 + h sum_j f_j int_0^1 l_j(s) ds        k slopes: predictor
    y_k = the same through f(t + h, y*) and k - 1 earlier slopes: corrector of order k      (1)

where l_j are Lagrange's polynomials. y_(k+1) - y_k is the error that a step is judged by;
steps go on with y_(k+1). The order moves to a neighbour where the error is less.

Kept to repeat what Elshami et al. did, and because a step costs two evaluations only. The
method of `integrate.py` is more accurate for the same work.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from triskele.kinematics.motion import Real
from triskele.multibody.collapse import reason
from triskele.multibody.integrate import (
    MOST,
    SHORTEST,
    WINDOW,
    Actuation,
    Efforts,
    Run,
    Signal,
    begun,
    driving,
    met,
    onto_conditions,
    packed,
    rates,
    sample_times,
    sampled,
    unpacked,
)
from triskele.multibody.system import State, System

_HIGHEST = 12  #: order
_ABSOLUTE = 0.01  #: absolute tolerance [m, rad, m/s, rad/s], as a part of the relative one
_FIRST_STEP = 1e-5  #: [s]
Vector = Float[np.ndarray, " n"]


def adams(
    system: System,
    start: State,
    duration: Real,
    *,
    efforts: Efforts | None = None,
    signal: Signal | None = None,
    rate: Real = 1000.0,
    tolerance: Real = 1e-6,
    longest_step: Real = np.inf,
    stabilised: bool = True,
) -> Run:
    """As `simulate`; the step never exceeds `longest_step` [s], nor the time between samples."""
    times = sample_times(duration, rate, tolerance)
    actuation = begun(system, start, duration, efforts, signal)
    steps = _Steps(tolerance)

    def derivative(t: float, y: Vector) -> Vector:
        return np.asarray(_rates(system, actuation, jnp.asarray(t), jnp.asarray(y)))

    def settled(t: float, y: Vector) -> Vector | None:
        if not stabilised:
            return y if np.isfinite(y).all() else None
        moved, met = _projected(system, actuation, jnp.asarray(t), jnp.asarray(y))
        return np.asarray(moved) if met else None

    t, y = 0.0, np.asarray(packed(start, jnp.zeros(2)))
    steps.begin(t, derivative(t, y))
    found, ended, progress = [y], None, _Progress(float(duration))
    for goal in times[1:]:
        while t < goal and ended is None:
            h = min(steps.h, longest_step, goal - t)
            h = goal - t if goal - t < 1.001 * h else h
            after = goal if h == goal - t else t + h
            trial = steps.attempt(derivative, t, y, h)
            trial = None if trial is None else settled(after, trial)
            if trial is not None:
                t, y = after, trial
                steps.accept(t, derivative(t, y))
            else:
                steps.h = min(steps.h, h / 2)
            if progress.over(t, steps.h):
                state = unpacked(system, jnp.asarray(y))
                ended = reason(system, driving(actuation), t, state)
        if ended is not None:
            break
        found.append(y)
    return sampled(system, actuation, times[: len(found)], np.array(found), steps.taken, ended)


class _Progress:
    """Whether steps have become hopelessly short, as in `integrate.py`."""

    def __init__(self, duration: float) -> None:
        self._duration, self._tries, self._mark = duration, 0, 0.0

    def over(self, t: float, h: float) -> bool:
        """Whether to give up at t with the next step h."""
        self._tries += 1
        if self._tries % WINDOW:
            return bool(h < SHORTEST * self._duration)
        stuck = bool(t - self._mark < self._duration * WINDOW / MOST)
        self._mark = t
        return stuck


_rates = eqx.filter_jit(rates)


@eqx.filter_jit
def _projected(system: System, actuation: Actuation, t: Array, y: Array) -> tuple[Array, Array]:
    y = onto_conditions(system, actuation, t, y)
    return y, met(system, actuation, t, y)


class _Errors(NamedTuple):
    """Estimated error of a step, as a part of the tolerance, at three orders."""

    lower: float
    same: float
    higher: float


class _Steps:
    """Slopes so far, the order and the step, and how they adapt."""

    def __init__(self, tolerance: Real) -> None:
        self.h, self.order, self.taken = _FIRST_STEP, 1, 0
        self._tolerance = tolerance
        self._times: list[float] = []
        self._slopes: list[Vector] = []
        self._next = _Errors(0.0, 0.0, 0.0)

    def begin(self, t: float, slope: Vector) -> None:
        """Start with one slope."""
        self._times, self._slopes = [t], [slope]

    def attempt(self, derivative, t: float, y: Vector, h: float) -> Vector | None:  # noqa: ANN001
        """y at t + h, or None if the step was too long: then `h` has become shorter."""
        k = min(self.order, len(self._slopes))
        predicted = y + h * self._integral(t, h, k)
        slope = derivative(t + h, predicted)
        corrected = y + h * self._integral(t, h, k, slope)
        errors = []
        for order in (k - 1, k, k + 1):
            if not 1 <= order <= len(self._slopes):
                errors.append(np.inf)
                continue
            less = y + h * self._integral(t, h, order - 1, slope)
            more = y + h * self._integral(t, h, order, slope)
            scale = self._tolerance * (_ABSOLUTE + np.maximum(np.abs(y), np.abs(corrected)))
            errors.append(float(np.sqrt(np.mean(((more - less) / scale) ** 2))))
        self._next = _Errors(*errors)
        if not self._next.same <= 1:
            self.h = h * (0.5 if np.isfinite(self._next.same) else 0.1)
            self.order = max(1, k - 1) if self._next.lower < self._next.same else k
            return None
        self.h, self.order = h, k
        return corrected

    def accept(self, t: float, slope: Vector) -> None:
        """Keep the slope at the end of the step, and choose the next order and step."""
        self.taken += 1
        self._times = [t, *self._times[:_HIGHEST]]
        self._slopes = [slope, *self._slopes[:_HIGHEST]]
        orders = {self.order - 1: self._next.lower, self.order: self._next.same}
        young = len(self._slopes) <= self.order + 1
        if young and self._next.same < self._next.lower and self.order < _HIGHEST:
            orders = {self.order + 1: self._next.same}  # not to be estimated yet: grow
        elif not young:
            orders[self.order + 1] = self._next.higher
        best = min((error, order) for order, error in orders.items() if 1 <= order <= _HIGHEST)
        self.order = best[1]
        factor = 0.9 * max(best[0], 1e-10) ** (-1 / (self.order + 1))
        self.h *= min(2.0, max(0.5, factor)) if factor < 0.9 or factor > 1.5 else 1.0

    def _integral(self, t: float, h: float, count: int, new: Vector | None = None) -> Vector:
        """Mean over the step of the polynomial through `count` slopes, and the `new` one."""
        slopes = ([] if new is None else [new]) + self._slopes[:count]
        nodes = ([] if new is None else [1.0]) + [(time - t) / h for time in self._times[:count]]
        powers = np.arange(len(nodes))
        weights = np.linalg.solve(np.array(nodes) ** powers[:, None], 1 / (powers + 1))
        return weights @ np.array(slopes)
