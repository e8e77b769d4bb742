"""Which combinations of the parameters torques determine, and as which formulas they read.

Columns of Y that depend on others add nothing: with r independent ones, Y = Y_r C, and

    tau = Y p = Y_r (C p)                                                               (1)

so that the r numbers B = C p are all that any log can tell, and p itself only up to the null
space of Y. Columns are brought to the same length first; the rank is where their singular
values fall, and by how much they fall is the gap.

C is made twice: from columns that QR with pivoting picks (well conditioned, for fits), and in
echelon form with the parameters people like to read first (for formulas: arms and drives);
each is a multiple of the other.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from triskele.errors import InputError
from triskele.identification.regressor import Parameter, Regressor

_ZERO = 1e-11  #: of the longest column: a column without effect
_CLEAR = 1e6  #: a gap that leaves no doubt
_EVEN = 1e-2  #: a pivot of the echelon form is at least so large a part of its column
_LEAST = 1e-7  #: a coefficient, in columns of the same length, that is not rounding


class BaseParameters(NamedTuple):
    """The r combinations B = C p, both ways."""

    parameters: tuple[Parameter, ...]
    picked: tuple[int, ...]  #: columns of Y that are kept for fits
    combinations: Float[np.ndarray, "r p"]  #: C; unit columns at `picked`
    read: Float[np.ndarray, "r p"]  #: C in the form of the formulas
    leaders: tuple[int, ...]  #: parameter that each formula begins with
    singular_values: Float[np.ndarray, " s"]  #: of columns of length one
    gap: float  #: last singular value kept over the first dropped

    @property
    def rank(self) -> int:
        """How many numbers the torques determine."""
        return len(self.picked)

    @property
    def clear(self) -> bool:
        """Whether the rank is beyond doubt."""
        return self.gap > _CLEAR

    def formulas(self, digits: int = 4) -> tuple[str, ...]:
        """Each combination, such as `arm.mc_x + rod.m - 0.904 rod.mc_x`."""
        found = []
        for row, lead in zip(self.read, self.leaders, strict=True):
            text = str(self.parameters[lead])
            for k in np.flatnonzero(row):
                size = f"{abs(row[k]):.{digits}g}"
                factor = "" if size == "1" else f"{size} "
                term = f" {'-' if row[k] < 0 else '+'} {factor}{self.parameters[k]}"
                text += term if k != lead else ""
            found.append(text)
        return tuple(found)

    def kinds(self) -> dict[str, str]:
        """Of each parameter: `alone`, `combined` with others, or `none`: without any effect."""
        found = {}
        for k, parameter in enumerate(self.parameters):
            column = self.read[:, k]
            rows = np.flatnonzero(column)
            alone = len(rows) == 1 and np.count_nonzero(self.read[rows[0]]) == 1
            found[str(parameter)] = "none" if not len(rows) else "alone" if alone else "combined"
        return found

    def to_read(self) -> Float[np.ndarray, "r r"]:
        """M with B_read = M B_picked."""
        return self.read[:, list(self.picked)]


def base_parameters(regressor: Regressor) -> BaseParameters:
    """The combinations that the samples of `regressor` determine."""
    from scipy.linalg import qr

    rows, parameters = regressor.rows, regressor.parameters
    if rows.shape[0] < rows.shape[1]:
        raise InputError(
            f"{rows.shape[0]} rows cannot tell {rows.shape[1]} parameters apart; give more samples."
        )
    lengths = np.linalg.norm(rows, axis=0)
    used = np.flatnonzero(lengths > _ZERO * lengths.max())
    scaled = rows[:, used] / lengths[used]
    factors = qr(scaled, mode="r", pivoting=True)
    R, order = np.asarray(factors[0]), np.asarray(factors[-1])
    values = np.linalg.svd(R[: len(used)], compute_uv=False)
    rank, gap = rank_of(values)
    K = np.linalg.solve(R[:rank, :rank], R[:rank, rank : len(used)])
    K[np.abs(K) < _LEAST] = 0.0
    C = np.zeros((rank, len(parameters)))
    picked, others = used[order[:rank]], used[order[rank:]]
    C[np.arange(rank), picked] = 1.0
    C[:, others] = K * lengths[others] / lengths[picked, None]
    sorting = np.argsort(picked)
    C, picked = C[sorting], picked[sorting]
    read, leaders = _echelon(C, lengths, parameters)
    return BaseParameters(parameters, tuple(map(int, picked)), C, read, leaders, values, float(gap))


def rank_of(values: Float[np.ndarray, " s"]) -> tuple[int, float]:
    """The rank by the largest fall of falling singular values, and that fall.

    A matrix whose last value is not small, and never falls by a thousand, has full rank; its
    gap is that to rounding.
    """
    floor = 1e-15 * values[0] * len(values)
    falls = values[:-1] / np.maximum(values[1:], floor)
    place = int(np.argmax(falls)) if len(falls) else 0
    if not len(falls) or falls[place] < 1e3:
        return len(values), float(values[-1] / floor)
    return place + 1, float(falls[place])


def _echelon(
    C: np.ndarray, lengths: np.ndarray, parameters: Sequence[Parameter]
) -> tuple[np.ndarray, tuple[int, ...]]:
    """C by Gauss and Jordan, pivots in the order in which people read."""
    rows = C * 1.0
    scale = np.where(lengths > 0, lengths, 1.0)
    left, leaders = list(range(len(C))), {}
    for strict in (_EVEN, 1e-6):
        for k in sorted(range(len(parameters)), key=lambda k: parameters[k].read):
            if not left or k in leaders.values():
                continue
            weights = np.abs(rows[left, k]) / scale[k]
            sizes = np.array([np.abs(rows[i] / scale).max() for i in left])
            best = int(np.argmax(weights / sizes))
            if weights[best] < strict * sizes[best]:
                continue
            i = left.pop(best)
            rows[i] /= rows[i, k]
            for j in range(len(rows)):
                if j != i and rows[j, k]:
                    rows[j] -= rows[j, k] * rows[i]
                    rows[j, k] = 0.0
            leaders[i] = k
    order = sorted(range(len(rows)), key=lambda i: leaders[i])
    rows = rows[order]
    named = tuple(leaders[i] for i in order)
    for row, lead in zip(rows, named, strict=True):
        row[np.abs(row * scale[lead] / scale) < _LEAST * 1e-2] = 0.0
    return rows, named
