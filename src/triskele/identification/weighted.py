"""Weighted least squares on the base parameters: the best that is linear, and how sure it is.

    min_B  sum_i w_i |tau - known - Y_r B|^2 / sigma_i^2                                (1)

sigma_i, the noise of drive i, is that of the residuals unless it is given; outliers get a weight
w < 1 by Huber's rule, which leaves alone what is within 1.345 sigma. The covariance of B is

    (Y_r' W Y_r)^-1                                                                     (2)

and intervals hold 95 % if the noise is white and the truth is of this form. Both are checked by
the verdict, not here.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from triskele.errors import InputError
from triskele.identification.base import BaseParameters
from triskele.identification.regressor import Regressor

Series = Float[np.ndarray, "N n"]
HUBER = 1.345  #: of sigma; costs 5 % of the efficiency if there are no outliers
_ROUNDS = 30
_QUIET = 1e-4  #: of the efforts, the least noise
_MAD = 0.6745  #: median of |e| / sigma of a normal distribution


class BaseFit(NamedTuple):
    """Base parameters, with their covariance."""

    base: BaseParameters
    values: Float[np.ndarray, " r"]  #: B of the columns picked
    covariance: Float[np.ndarray, "r r"]
    sigma: Float[np.ndarray, " n"]  #: noise of each drive [N m, N]
    weights: Series  #: of each sample, 1 unless it is an outlier

    @property
    def read(self) -> Float[np.ndarray, " r"]:
        """Values of the formulas."""
        return self.base.to_read() @ self.values

    @property
    def deviation(self) -> Float[np.ndarray, " r"]:
        """Standard deviations of the formulas."""
        M = self.base.to_read()
        return np.sqrt(np.einsum("ij,jk,ik->i", M, self.covariance, M))

    def torques(self, regressor: Regressor) -> Series:
        """What they predict; `regressor` has the same parameters."""
        return regressor.matrix[:, :, list(self.base.picked)] @ self.values + regressor.known


def interval(deviation: Float[np.ndarray, " r"], level: float = 0.95) -> Float[np.ndarray, " r"]:
    """Half the width of the interval that holds the truth with that probability.

    >>> interval(np.ones(1)).round(3)
    array([1.96])
    """
    from scipy.stats import norm

    return deviation * norm.ppf((1 + level) / 2)


def huber_weights(residual: Series, sigma: Float[np.ndarray, " n"]) -> Series:
    """1 for small residuals, 1.345 sigma / |e| for others."""
    return np.minimum(1.0, HUBER * sigma / np.maximum(np.abs(residual), 1e-300))


def spread(residual: Series, target: Series, robust: bool) -> Float[np.ndarray, " n"]:
    """The noise of each drive: root mean square, or from the median, which outliers do not move.

    Never less than a ten-thousandth of the efforts `target`: no drive is measured better.
    """
    noise = np.sqrt(np.mean(residual**2, axis=0))
    if robust:
        noise = np.median(np.abs(residual), axis=0) / _MAD
    least = _QUIET * np.sqrt(np.mean(target**2, axis=0))
    return np.maximum(noise, np.maximum(least, 1e-12))


def base_fit(
    regressor: Regressor,
    tau: Series,
    base: BaseParameters,
    *,
    sigma: Float[np.ndarray, " n"] | None = None,
    robust: bool = False,
) -> BaseFit:
    """Equation (1) for the efforts `tau` [N m, N]."""
    if tau.shape != regressor.known.shape:
        raise InputError(f"{tau.shape} efforts do not belong to {regressor.known.shape} samples.")
    Y = regressor.matrix[:, :, list(base.picked)]
    target = tau - regressor.known
    noise = spread(target, target, robust=False) if sigma is None else sigma
    weights = np.ones(tau.shape)
    values, covariance = np.zeros(base.rank), np.eye(base.rank)
    first = noise
    basis = _basis(Y, first)
    for _ in range(_ROUNDS):
        before = values
        values, covariance = _solved(basis, target, first, np.sqrt(weights) * first / noise)
        residual = target - Y @ values
        if sigma is None:
            freedom = np.sqrt(tau.size / max(tau.size - base.rank, 1))
            noise = spread(residual, target, robust) * freedom
        weights = huber_weights(residual, noise) if robust else weights
        if np.abs(values - before).max() <= 1e-8 * np.abs(values).max():
            break
    return BaseFit(base, values, covariance, noise, weights)


class _Basis(NamedTuple):
    """Columns of Y made orthonormal, once: with weights they stay well conditioned."""

    Q: Float[np.ndarray, "rows r"]
    back: Float[np.ndarray, "r r"]  #: from coefficients of Q to B


def _basis(Y: np.ndarray, noise: np.ndarray) -> _Basis:
    """Of rows divided by the noise of their drives."""
    rows = (Y / noise[:, None]).reshape(-1, Y.shape[-1])
    lengths = np.maximum(np.linalg.norm(rows, axis=0), 1e-300)
    Q, R = np.linalg.qr(rows / lengths)
    return _Basis(Q, np.linalg.inv(R) / lengths[:, None])


def _solved(
    basis: _Basis, target: np.ndarray, noise: np.ndarray, w: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Least squares with row weights w of rows divided by `noise`."""
    weighted = basis.Q * (w**2).ravel()[:, None]
    inverse = np.linalg.inv(weighted.T @ basis.Q)
    covariance = basis.back @ inverse @ basis.back.T
    return basis.back @ (inverse @ (weighted.T @ (target / noise).ravel())), covariance
