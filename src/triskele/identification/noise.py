"""Noise of the efforts: at rest, in what a fit leaves over, and which of both weights the rows.

At rest a drive shows the noise of its measurement alone; in what a fit leaves over there is also
what the model leaves out, and what friction, gears and the current loop add in motion. Rows of a
drive are to be weighted by one over the square of their whole error. So with s_0 at rest, of m
samples, and s of the N residuals,

    |ln(s / s_0)| <= max(0.1, 4 sqrt(1 / 2m + 1 / 2N))                                  (1)

says that both are the same: then s_0 weights the rows of that drive, as known from outside of the
fit. Where they differ, s does, and the ratio says how much is not measurement noise.

Efforts are those at the joints: noise of motor torques comes with the gear ratio. A rest is taken
free of a straight line, for controllers that creep; noise that is finer than the steps in which
efforts are written is that of the steps, one over the square root of 12 of them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from triskele.identification.signals import JointSamples, Samples
from triskele.kinematics.log import LEAST_WINDOW

Drives = Float[np.ndarray, " n"]
REST = 0.2  #: [s] that a rest lasts at least
_STILL = 2e-3  #: [rad/s, m/s] below which a drive rests
_SAME = 0.1  #: relative difference of two deviations that makes none
_DEVIATIONS = 4.0


class RestNoise(NamedTuple):
    """Noise of the efforts at rest."""

    deviation: Drives  #: s_0 [N m, N]
    freedom: int  #: m, samples less what was fitted to them
    seconds: float  #: of all rests


class Weights(NamedTuple):
    """By what the rows of each drive are weighted."""

    sigma: Drives  #: [N m, N]
    by_rest: Bool[np.ndarray, " n"]  #: s_0 of (1), else s
    ratio: Drives  #: s / s_0


def rest_noise(found: Sequence[Samples | JointSamples]) -> RestNoise | None:
    """Noise in the rests of some logs, pooled; None without any."""
    sums, freedom, seconds = 0.0, 0, 0.0
    steps = np.full(found[0].tau.shape[1] if found else 0, np.inf)
    for log in found:
        still = (np.abs(log.qd) < _STILL).all(axis=1)
        edges = np.flatnonzero(np.diff(np.concatenate([[0], still.astype(int), [0]])))
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            lasts = float(log.t[end - 1] - log.t[start])
            if lasts < REST or end - start <= LEAST_WINDOW:
                continue
            t = log.t[start:end] - log.t[start:end].mean()
            part = log.tau[start:end] - log.tau[start:end].mean(axis=0)
            part = part - t[:, None] * (t @ part) / (t @ t)
            sums = sums + np.sum(part**2, axis=0)
            freedom, seconds = freedom + len(part) - 2, seconds + lasts
            jumps = np.abs(np.diff(log.tau[start:end], axis=0))
            jumps[jumps == 0] = np.inf
            steps = np.minimum(steps, jumps.min(axis=0))
    if freedom < LEAST_WINDOW:
        return None
    steps = np.where(np.isfinite(steps), steps, 0.0)
    deviation = np.maximum(np.sqrt(np.asarray(sums) / freedom), steps / np.sqrt(12))
    return RestNoise(deviation, freedom, seconds)


def weights(residual: Drives, rest: RestNoise, rows: int) -> Weights:
    """Equation (1) for the deviation `residual` of so many rows."""
    ratio = residual / np.maximum(rest.deviation, 1e-300)
    doubt = _DEVIATIONS * np.sqrt(0.5 / rest.freedom + 0.5 / rows)
    same = np.abs(np.log(np.maximum(ratio, 1e-300))) <= max(_SAME, doubt)
    return Weights(np.where(same, rest.deviation, residual), same, ratio)
