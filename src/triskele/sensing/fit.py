"""Zeros of encoders and Young's modulus from a log: hinges against what the motors expect of them.

With r(theta) what hinges read beyond `expected.py`, and S the deviations that the robot file
states, u = theta / S are found by Gauss and Newton's steps in the directions that the log sees,

    J = dr/du = U s V^T,     u <- u - V_k s_k^-1 U_k^T r                               (1)

A direction is seen if its deviation from the log is below one, that of the file; in others the
file keeps its word. Deviations come from blocks of the log, as errors next to each other are alike,
and from all that is not fitted: each cause c moves theta by -V_k s_k^-1 U_k^T (r(c) - r).

Coarse motor encoders make J itself noisy, which biases E by the square of the noise. A log whose
readings are rounded once more has twice of it: the difference is taken away, and counts as a
deviation (SIMEX; Cook and Stefanski, J. American Statistical Association 89, 1994, 1314).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from triskele.errors import InputError, TableError, UnknownName, did_you_mean
from triskele.sensing.deviations import USUAL_MODULUS, USUAL_ZERO, Deviations
from triskele.sensing.expected import LIMBS, expected, misfit
from triskele.sensing.reading import Inputs
from triskele.sensing.spread import Cause, counts, systematic, with_rods, with_zero

WHAT = ("zeros", "E")
SEEN = 0.7  #: of the file's deviation; more, and the log adds next to nothing
_STEPS = 3
_BLOCKS = 20
_LOADS = 0.003  #: of the bending of all rods, and again of each: what is left of a model of loads
_AGAIN = 2  #: logs that are rounded twice
_GOLDEN = 0.618034  #: shifts of counts that are far from each other
_SMALLEST = 1e-6  #: singular value, relative to the largest, that is no rounding
_SMALL = 0.05  #: of a deviation, for derivatives


class Fitted(NamedTuple):
    """One number found."""

    name: str  #: "q1" to "q3", "wrist1" ..., or "E"
    value: float  #: a zero, which its encoder reads too much [rad]; of E, relative to the file
    deviation: float
    before: float  #: that of the file, or assumed
    unit: str  #: "rad", or "" of a ratio

    @property
    def seen(self) -> bool:
        """Whether the log says more about it than the file."""
        return self.deviation < SEEN * self.before


class Fit(NamedTuple):
    """Zeros and modulus, with their covariance."""

    found: tuple[Fitted, ...]
    covariance: Float[np.ndarray, "k k"]  #: from the log and where it is blind; SI units
    along: dict[str, Float[np.ndarray, "c k"]]  #: what other causes move, by their name
    fitted: tuple[str, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """Of the robot file, that no deviation rests on any more."""
        zeros = ("encoders.motor_zero_deviation", "encoders.passive_zero_deviation")
        return zeros if "zeros of the motors" in self.fitted else ()

    def applied(self, inputs: Inputs) -> Inputs:
        """With zeros taken away, and rods of that modulus."""
        return _moved(inputs, [item.name for item in self.found], [i.value for i in self.found])

    def instead_of(self, causes: list[Cause], inputs: Inputs) -> list[Cause]:
        """`causes` of deviations: those that were fitted by what is left of them."""
        names = [item.name for item in self.found]
        values, vectors = np.linalg.eigh(self.covariance)
        left = [
            Cause("fitted from the log", _moved(inputs, names, np.sqrt(max(value, 0.0)) * vector))
            for value, vector in zip(values, vectors.T, strict=True)
        ]
        seen: dict[str, int] = {}
        for cause in causes:
            if cause.name in self.fitted:
                continue
            k = seen[cause.name] = seen.get(cause.name, -1) + 1
            left.append(Cause(cause.name, _moved(cause.inputs, names, self.along[cause.name][k])))
        return left


def fitted(inputs: Inputs, known: Deviations, what: tuple[str, ...]) -> Fit:
    """`what` of "zeros" and "E" that fits the log best."""
    names, sizes = _unknowns(inputs, known, what)
    run = _Run(known, what, names, sizes)
    theta, J, r, causes, kept = run.solved(inputs)
    noisier = [run.step(again, theta, kept) for again in _rounded(inputs, known)]
    bias = np.mean(noisier, axis=0) if noisier else np.zeros(len(names))
    theta = theta - bias
    inverse = kept @ np.linalg.pinv(J @ kept)
    blind = np.eye(len(names)) - kept @ kept.T
    random = _of_blocks(J, r, inverse) + blind @ blind.T
    along = {
        name: -np.stack([inverse @ change for change in changes]) * sizes
        for name, changes in causes.items()
    }
    method = along.pop("method").T
    covariance = random * np.outer(sizes, sizes) + method @ method.T + np.outer(bias, bias)
    whole = covariance + sum((part.T @ part for part in along.values()), np.zeros_like(random))
    found = tuple(
        Fitted(name, float(value), float(sigma), float(size), "" if name == "E" else "rad")
        for name, value, sigma, size in zip(
            names, theta, np.sqrt(np.diag(whole)), sizes, strict=True
        )
    )
    return Fit(found, covariance, along, _causes_of(what))


class _Solved(NamedTuple):
    theta: np.ndarray
    J: np.ndarray
    r: np.ndarray
    causes: dict[str, list[np.ndarray]]
    kept: np.ndarray  #: directions of u that are seen, as columns


class _Run(NamedTuple):
    """What is fitted."""

    known: Deviations
    what: tuple[str, ...]
    names: list[str]
    sizes: np.ndarray

    def solved(self, inputs: Inputs) -> _Solved:
        """Gauss and Newton's steps (1)."""
        theta = np.zeros(len(self.names))

        def linear(theta: np.ndarray) -> _Solved:
            J, r = self.linear(inputs, theta)
            now = _moved(inputs, self.names, theta)
            causes = _others(now, self.known, self.what, r)
            return _Solved(theta, J, r, causes, _seen(J, r, causes))

        for _ in range(_STEPS):
            at = linear(theta)
            theta = theta + self.towards(at.J, at.r, at.kept)
        return linear(theta)

    def linear(self, inputs: Inputs, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """dr/du of (1) by differences, and r."""
        r = misfit(_moved(inputs, self.names, theta)).ravel()
        columns = [
            (misfit(_moved(inputs, self.names, theta + step)).ravel() - r) / _SMALL
            for step in np.diag(_SMALL * self.sizes)
        ]
        return np.stack(columns, axis=1), r

    def towards(self, J: np.ndarray, r: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """A step of theta in the directions that are `kept`."""
        return -self.sizes * (kept @ np.linalg.lstsq(J @ kept, r, rcond=None)[0])

    def step(self, inputs: Inputs, theta: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """The step from `theta` for other readings."""
        return self.towards(*self.linear(inputs, theta), kept)


def _rounded(inputs: Inputs, known: Deviations) -> Iterator[Inputs]:
    """The log as it is with twice the errors of rounding."""
    encoders = list(counts(inputs, known))
    for start in range(_AGAIN if encoders else 0):
        now = inputs
        for k, count in enumerate(encoders):
            now = count.added_to(now, (_GOLDEN * (k + 1) + start / _AGAIN) % 1.0 - 0.5)
        yield now


def _causes_of(what: tuple[str, ...]) -> tuple[str, ...]:
    found = ("zeros of the motors", "zeros of passive encoders") if "zeros" in what else ()
    return (*found, "Young's modulus") if "E" in what else found


def _unknowns(
    inputs: Inputs, known: Deviations, what: tuple[str, ...]
) -> tuple[list[str], Float[np.ndarray, " k"]]:
    for name in what:
        if name not in WHAT:
            raise UnknownName(f"'{name}' cannot be fitted. {did_you_mean(name, WHAT)}")
    if not inputs.hinges:
        raise TableError(
            f"{inputs.log.table.place}: there is no column 'wrist1' or 'elbow1'; zeros and E are "
            "fitted to encoders on passive joints."
        )
    names, sizes = [], []
    if "zeros" in what:
        for kind in ("q", *inputs.hinges):
            stated = known.motor_zero if kind == "q" else known.passive_zero
            names += [f"{kind}{k + 1}" for k in range(LIMBS)]
            sizes += [stated.value or USUAL_ZERO] * LIMBS
    if "E" in what:
        names.append("E")
        sizes.append(known.modulus.value or USUAL_MODULUS)
    return names, np.array(sizes)


def _moved(inputs: Inputs, names: list[str], theta: "list[float] | np.ndarray") -> Inputs:
    """With zeros `theta` taken away from readings, and E changed by its part."""
    for name, value in zip(names, theta, strict=True):
        if name == "E":
            if not value > -1:
                raise InputError("The log asks for rods without stiffness. Are units right?")
            inputs = with_rods(inputs, modulus=float(value))
        else:
            inputs = with_zero(inputs, name[:-1], int(name[-1]) - 1, -float(value))
    return inputs


def _others(
    now: Inputs, known: Deviations, what: tuple[str, ...], r: np.ndarray
) -> dict[str, list[np.ndarray]]:
    """By how much other causes change the misfit, by their names."""
    found: dict[str, list[np.ndarray]] = {}
    for cause in systematic(now, known):
        if cause.name not in _causes_of(what):
            moved = misfit(cause.inputs).ravel() - r
            found.setdefault(cause.name, []).append(moved)
    bending = np.stack(list(expected(now).bending.values()), axis=1)  # samples, kinds, limbs
    parts = [bending, *(bending * row for row in np.eye(LIMBS))]
    found["method"] = [_LOADS * part.ravel() for part in parts]
    return found


def _seen(J: np.ndarray, r: np.ndarray, causes: dict[str, list[np.ndarray]]) -> np.ndarray:
    """Directions of u that the log sees better than the file, as columns."""
    _, s, Vt = np.linalg.svd(J, full_matrices=False)
    V = Vt[s > _SMALLEST * s[0]].T
    inverse = V @ np.linalg.pinv(J @ V)
    covariance = _of_blocks(J, r, inverse)
    for changes in causes.values():
        for change in changes:
            moved = inverse @ change
            covariance = covariance + np.outer(moved, moved)
    return V[:, np.einsum("ik,ij,jk->k", V, covariance, V) < 1]


def _of_blocks(J: np.ndarray, r: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """Covariance of inverse r, for errors that are alike within a block of the log."""
    left = r - J @ (inverse @ r)
    parts = zip(np.array_split(inverse.T, _BLOCKS), np.array_split(left, _BLOCKS), strict=True)
    moved = [weights.T @ errors for weights, errors in parts]
    return sum((np.outer(part, part) for part in moved), np.zeros((J.shape[1],) * 2))
