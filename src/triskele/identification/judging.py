"""A fit put to the test: everything that the verdict weighs up, computed once.

The model is judged on all logs together (`evidence.py`, `examination.py`), on whether fitted and
held-out logs give the same base parameters, and on what anchors it: efforts that are all too large
by one factor are those of heavier bodies, and a payload that nobody mentioned is a heavier
platform. Only a mass that is known can tell, on a scale or added for a log of its own.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from triskele.dynamics.robot import RigidRobot
from triskele.identification.base import BaseParameters
from triskele.identification.consistent import Anchored, ConsistentFit, Weighing, anchored
from triskele.identification.evidence import (
    Evidence,
    block_covariance,
    evidence,
    whiteness,
)
from triskele.identification.examination import examine
from triskele.identification.faults import Suspect
from triskele.identification.noise import RestNoise, Weights
from triskele.identification.probes import Probes, least_inertia
from triskele.identification.regressor import INERTIA, Regressor
from triskele.identification.signals import Samples
from triskele.identification.verdict import (
    Agreement,
    Errors,
    KnownParameter,
    Verdict,
    root_mean_square,
)
from triskele.identification.weighted import BaseFit, huber_weights, interval

Series = Float[np.ndarray, "N n"]
_KEPT_BY_FILE = 0.9  #: deviation after the log over that before, of what the log does not tell
_POOR = 1e4  #: condition of a held-out log, above which its parameters are not compared
_WHITE = 1e-2  #: chance of white noise, below which intervals allow for blocks


class Material(NamedTuple):
    """What there is to judge."""

    own: Regressor
    out: Regressor
    probed: Regressor
    asked: Probes
    least: BaseFit
    fit: ConsistentFit
    seen: tuple[Samples, ...]
    kept: tuple[Samples, ...]
    weighed: tuple[Weighing, ...]
    models: tuple[RigidRobot, ...]  #: fitted, without friction, one for each log
    parameters: Float[np.ndarray, " p"]  #: of the file
    smoothing: Float[np.ndarray, " n"]  #: w_0 of each drive
    scale_deviations: tuple[float, float]
    robust: bool
    possible: int
    rest: RestNoise | None  #: noise at rest
    weights: Weights | None  #: of rows, if there is noise at rest


def judged(material: Material) -> Verdict:
    """The verdict on an identification."""
    m = material
    own, out, least, fit = m.own, m.out, m.least, m.fit
    tau = np.concatenate([log.tau for log in m.seen])
    told = _evidence(m, m.seen, own)
    white = whiteness(told.residual, m.seen)
    deviation = _deviations(m, told, bool((white.chance < _WHITE).any()))
    logs, everything = (*m.seen, *m.kept), _joined(own, out)
    whole = _evidence(m, logs, everything)
    carrier = everything.carried[:, :, 0]
    suspect = Suspect(m.models, logs, whole.predicted, carrier, m.smoothing)
    to_read = least.base.to_read()
    faults = examine(whole, suspect, to_read, deviation)
    held = None
    if m.kept:
        measured = np.concatenate([log.tau for log in m.kept])
        held = Errors(
            root_mean_square(measured - least.torques(out)),
            root_mean_square(measured - fit.torques(out)),
        )
    particular = np.zeros(len(own.parameters))
    particular[list(least.base.picked)] = least.values  # C p = B, whatever the null space
    gain, payload = _anchors(m, tau)
    return Verdict(
        fitted=Errors(
            root_mean_square(tau - least.torques(own)), root_mean_square(tau - fit.torques(own))
        ),
        held_out=held,
        effort=root_mean_square(tau),
        noise=fit.sigma,
        at_rest=None if m.rest is None else m.rest.deviation,
        weights=m.weights,
        white=white.chance,
        effective=white.effective,
        faults=faults,
        agreement=_agreement(m, told, to_read),
        gain=gain,
        payload=payload,
        carried=_effective_mass(own.carried[:, :, 0], tau),
        held_rows=max(log.held for log in logs),
        clipped=np.max([log.clipped for log in logs], axis=0),
        condition=condition(own, least.base),
        rank=least.base.rank,
        possible=m.possible,
        gap=least.base.gap,
        parameters=_known(m, told, deviation, bool(faults)),
        prior_only=prior_only(least, fit),
        outliers=float(np.mean(fit.weights < 0.5)),
        least_inertia_base=least_inertia(
            m.asked.mass_matrices(m.probed.matrix, m.probed.qd, particular)
        ),
        least_inertia=least_inertia(
            m.asked.mass_matrices(m.probed.matrix, m.probed.qd, fit.values)
        ),
        converged=fit.converged,
    )


def condition(regressor: Regressor, base: BaseParameters) -> float:
    """Condition number of the base regressor, columns brought to length one."""
    rows = regressor.rows[:, list(base.picked)]
    lengths = np.maximum(np.linalg.norm(rows, axis=0), 1e-12)
    values = np.linalg.svd(rows / lengths, compute_uv=False)
    return float(values[0] / max(values[-1], 1e-300))


def _joined(own: Regressor, out: Regressor) -> Regressor:
    """Samples of both."""
    return own._replace(
        matrix=np.concatenate([own.matrix, out.matrix]),
        known=np.concatenate([own.known, out.known]),
        qd=np.concatenate([own.qd, out.qd]),
        carried=np.concatenate([own.carried, out.carried]),
    )


def _evidence(m: Material, logs: Sequence[Samples], regressor: Regressor) -> Evidence:
    """The model with base parameters and the slopes of what saturates."""
    tau = np.concatenate([log.tau for log in logs])
    bent, slopes = m.fit.unknowns.saturating(m.fit.u, regressor.qd)
    places = [s.place + j for s in m.fit.unknowns.saturations for j in (0, 1)]
    matrix = regressor.matrix[:, :, list(m.least.base.picked)]
    moving = [k for k in places if np.abs(slopes[:, :, k]).max() > 0]  # a drive may rest
    matrix = np.concatenate([matrix, slopes[:, :, moving]], axis=2)
    known, weights = regressor.known + bent, np.ones(tau.shape)
    sigma = m.fit.sigma
    if m.robust:
        weights = huber_weights(tau - m.fit.torques(regressor), sigma)
    return evidence(logs, matrix, tau - known, known, sigma, weights)


def _deviations(m: Material, told: Evidence, correlated: bool) -> Float[np.ndarray, " r"]:
    """Of the base parameters as they are read; the larger of two if noise is not white."""
    r, M = m.least.base.rank, m.least.base.to_read()
    inverse = np.linalg.inv(told.R)
    freedom = max(len(told.rest) - told.R.shape[0], 1)
    usual = max(told.size / freedom, 1.0) * (inverse @ inverse.T)
    found = np.sqrt(np.einsum("ij,jk,ik->i", M, usual[:r, :r], M))
    if not correlated:
        return found
    blocks = block_covariance(told)[:r, :r]
    return np.maximum(found, np.sqrt(np.einsum("ij,jk,ik->i", M, blocks, M)))


def _agreement(m: Material, told: Evidence, to_read: np.ndarray) -> Agreement | None:
    """Base parameters of the logs held out against those of the logs fitted."""
    from scipy.stats import f

    if not m.kept or m.out.qd.size < 10 * m.least.base.rank:
        return None
    if condition(m.out, m.least.base) > _POOR:
        return None
    other, r = _evidence(m, m.kept, m.out), m.least.base.rank
    values, spread = [], []
    for part in (told, other):
        inverse = np.linalg.inv(part.R)
        freedom = max(len(part.rest) - part.R.shape[0], 1)
        values.append((inverse @ (part.Q.T @ part.wanted))[:r])
        usual = max(part.size / freedom, 1.0) * (inverse @ inverse.T)[:r, :r]
        spread.append(usual)
    d, C = values[1] - values[0], spread[0] + spread[1]
    statistic = float(d @ np.linalg.solve(C, d)) / r
    chance = float(f.sf(statistic, r, max(m.out.qd.size - r, 1)))
    each = np.abs(to_read @ d) / np.sqrt(np.einsum("ij,jk,ik->i", to_read, C, to_read))
    return Agreement(chance, float(each.max()), m.least.base.formulas()[int(each.argmax())])


def _anchors(m: Material, tau: Series) -> tuple[Anchored, Anchored]:
    """A gain common to all efforts, and a mass on the flange that nobody mentioned."""
    inertia, friction = m.scale_deviations

    def asked(column: Series) -> Anchored:
        return anchored(
            *(m.fit, m.own, tau, column),
            weighed=m.weighed,
            inertia_deviation=inertia,
            friction_deviation=friction,
        )

    return asked(m.fit.torques(m.own)), asked(m.own.carried[:, :, 0])


def _effective_mass(carrier: Series, tau: Series) -> float:
    """Mass on the flange that would take efforts as large as those of the logs [kg]."""
    return float(np.sqrt(np.mean(tau**2) / max(np.mean(carrier**2), 1e-300)))


def _known(
    m: Material, told: Evidence, deviation: Float[np.ndarray, " r"], withdrawn: bool
) -> tuple[KnownParameter, ...]:
    """Base parameters as they are read."""
    base = m.least.base
    before = base.read @ m.parameters
    before[np.abs(before) < 1e-15] = 0.0
    values = base.to_read() @ np.linalg.solve(told.R, told.Q.T @ told.wanted)[: base.rank]
    units = [base.parameters[k].unit for k in base.leaders]
    halves = [None] * base.rank if withdrawn else interval(deviation).tolist()
    numbers = (values.tolist(), halves, before.tolist(), deviation.tolist())
    return tuple(KnownParameter(*row) for row in zip(base.formulas(), units, *numbers, strict=True))


def prior_only(least: BaseFit, fit: ConsistentFit) -> tuple[str, ...]:
    """Parameters that the log tells nothing about, or next to nothing."""
    kinds = least.base.kinds()
    parts = {*fit.unknowns.forms}
    found = []
    for parameter, pull in zip(fit.unknowns.parameters, fit.pull, strict=True):
        form = fit.unknowns.forms.get(parameter.part)
        if parameter.name in INERTIA:
            named = {group[0] for group in form.moments} if form is not None else set()
            if parameter.part not in parts or parameter.name not in named:
                continue
        if parameter.name == "m" and parameter.part in fit.weighed:
            continue
        if kinds[str(parameter)] == "none" or pull > _KEPT_BY_FILE:
            found.append(str(parameter))
    return tuple(found)
