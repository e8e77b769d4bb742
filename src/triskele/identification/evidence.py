"""Efforts against everything that the model allows: what is left over, and what would explain it.

All logs are taken together, those held out too. With Y_r of the base parameters, the slopes of
saturating friction beside it, and rows divided by the noise, one QR takes the model away:

    e = (1 - Q Q') w (tau - known - f_A)                                                (1)

A fault of the model or of a log adds columns D. They explain, with D~ = (1 - Q Q') w D,

    d = (D~' D~)^-1 D~' e,      e' D~ d  of  e' e                                       (2)

and, left out, they have moved the base parameters by -R^-1 Q' w D d. Noise that is not white
would make anything significant; the covariance of d is therefore that of sums over blocks of
time, S = sum_b (D~_b' e_b)(D~_b' e_b)', and

    W = d' (D~' D~) S^-1 (D~' D~) d / k  ~  F(k, blocks - k)                            (3)
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from triskele.identification.signals import Samples

Series = Float[np.ndarray, "N n"]
Columns = Float[np.ndarray, "N n k"]
BLOCKS = 80  #: of time; more than any fault has columns
LAGS = 20


class Evidence(NamedTuple):
    """Equation (1), for samples of all logs one after the other."""

    logs: tuple[Samples, ...]
    weight: Series  #: of each effort, one over its noise
    Q: Float[np.ndarray, "rows r"]
    R: Float[np.ndarray, "r r"]
    wanted: Float[np.ndarray, " rows"]  #: w (tau - known - f_A), drive by drive of each sample
    rest: Float[np.ndarray, " rows"]  #: e of (1)
    predicted: Series  #: efforts of the model
    block: Int[np.ndarray, " N"]  #: number of the block of each sample

    @property
    def size(self) -> float:
        """e' e."""
        return float(self.rest @ self.rest)

    @property
    def residual(self) -> Series:
        """e of each drive."""
        return self.rest.reshape(self.weight.shape)


class Explained(NamedTuple):
    """Equations (2) and (3) for some columns."""

    values: Float[np.ndarray, " k"]  #: d
    deviations: Float[np.ndarray, " k"]
    gain: float  #: of e' e, in units of what is left over per effort
    chance: float  #: that noise does so much
    moved: Float[np.ndarray, " r"]  #: how far base parameters are off without them


def evidence(
    logs: Sequence[Samples],
    matrix: Columns,
    target: Series,
    known: Series,
    sigma: Float[np.ndarray, " n"],
    weights: Series,
) -> Evidence:
    """The model `matrix`, of base parameters and what else is free, taken from `target`."""
    weight = np.sqrt(weights) / sigma
    rows = (matrix * weight[:, :, None]).reshape(-1, matrix.shape[2])
    lengths = np.maximum(np.linalg.norm(rows, axis=0), 1e-300)
    Q, R = np.linalg.qr(rows / lengths)
    wanted = (target * weight).ravel()
    part = Q.T @ wanted
    rest = wanted - Q @ part
    predicted = (wanted - rest).reshape(weight.shape) / weight + known
    return Evidence(tuple(logs), weight, Q, R * lengths, wanted, rest, predicted, blocks(logs))


def blocks(logs: Sequence[Samples], count: int = BLOCKS) -> Int[np.ndarray, " N"]:
    """Numbers of blocks of equal length, none over two logs."""
    total = sum(len(log.t) for log in logs)
    found, first = [], 0
    for log in logs:
        own = max(round(count * len(log.t) / total), 2)
        found.append(first + np.arange(len(log.t)) * own // len(log.t))
        first += own
    return np.concatenate(found)


def explained(known: Evidence, columns: Columns) -> Explained | None:
    """What `columns` explain; None if the model has them already."""
    rows = (columns * known.weight[:, :, None]).reshape(len(known.rest), -1)
    lengths = np.linalg.norm(rows, axis=0)
    if not (lengths > 0).all():
        return None
    rows = rows / lengths
    part = known.Q.T @ rows
    free = rows - known.Q @ part
    gram = free.T @ free
    values, axes = np.linalg.eigh(gram)
    if values[0] < 1e-9:
        return None
    inverse = axes @ np.diag(1 / values) @ axes.T
    d = inverse @ (free.T @ known.rest)
    left = known.rest - free @ d
    rows_left, k = len(left) - known.Q.shape[1] - len(d), len(d)
    variance = float(left @ left) / max(rows_left, 1)
    S = _sums(free * left[:, None], known.block, known.weight.shape[1])
    robust = inverse @ S @ inverse
    usual = variance * inverse
    chance = max(_chance(d, robust, int(known.block[-1]) + 1 - k), _chance(d, usual, rows_left))
    spread = np.sqrt(np.maximum(np.diag(robust), np.diag(usual)))
    moved = -np.linalg.solve(known.R, part @ d)
    gain = (known.size - float(left @ left)) / max(variance, 1e-300)
    return Explained(d / lengths, spread / lengths, gain, chance, moved)


def _sums(scores: np.ndarray, block: np.ndarray, drives: int) -> np.ndarray:
    """Sum over blocks of the outer products of sums of `scores`."""
    count = int(block[-1]) + 1
    sums = np.zeros((count, scores.shape[1]))
    np.add.at(sums, np.repeat(block, drives), scores)
    return sums.T @ sums * count / (count - 1)


def _chance(d: np.ndarray, covariance: np.ndarray, freedom: int) -> float:
    """Of a Wald statistic as large as that of `d`."""
    from scipy.stats import f

    wald = float(d @ np.linalg.pinv(covariance, rcond=1e-12) @ d)
    return float(f.sf(wald / len(d), len(d), max(freedom, 1)))


def block_covariance(known: Evidence) -> Float[np.ndarray, "r r"]:
    """Covariance of the model's own coefficients, noise correlated within blocks."""
    S = _sums(known.Q * known.rest[:, None], known.block, known.weight.shape[1])
    inverse = np.linalg.inv(known.R)
    return inverse @ S @ inverse.T


class Whiteness(NamedTuple):
    """Of the residuals of each drive."""

    chance: Float[np.ndarray, " n"]  #: that white noise is so correlated: Ljung and Box, 20 lags
    effective: Float[np.ndarray, " n"]  #: share of the samples that count as independent


def whiteness(residual: Series, logs: Sequence[Samples] | None = None) -> Whiteness:
    """Ljung and Box's test, and 1 / (1 + 2 sum rho) over the lags; pairs never bridge a gap."""
    from scipy.stats import chi2

    e = residual - residual.mean(axis=0)
    where = np.arange(len(e)) if logs is None else _places(logs)
    power = np.maximum(np.mean(e**2, axis=0), 1e-300)
    statistic, total = np.zeros(e.shape[1]), np.zeros(e.shape[1])
    lags = min(LAGS, len(e) // 4)
    for lag in range(1, lags + 1):
        pairs = where[lag:] - where[:-lag] == lag
        count = max(int(pairs.sum()), 1)
        rho = np.sum(e[lag:][pairs] * e[:-lag][pairs], axis=0) / (count * power)
        statistic += count * rho**2
        total += rho
    return Whiteness(chi2.sf(statistic, lags), 1 / np.clip(1 + 2 * total, 1.0, None))


def _places(logs: Sequence[Samples]) -> np.ndarray:
    """Numbers of samples that differ by one exactly where they follow each other."""
    found, first = [], 0
    for log in logs:
        step = float(np.median(np.diff(log.t)))
        own = np.round((log.t - log.t[0]) / step).astype(int)
        found.append(first + own)
        first += int(own[-1]) + 2 * LAGS
    return np.concatenate(found)
