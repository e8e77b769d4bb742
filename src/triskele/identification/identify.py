"""Identification from beginning to end: logs in; a robot file, its parameters and a verdict out.

Two stages, of which the first may be left out: logs of the robot taken apart, its arms alone,
give first moments, inertia and friction of each arm; these are where the second stage, logs of
the whole robot, begins and what it holds on to where it cannot tell.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from triskele.description.schema import Payload, Robot
from triskele.description.tables import Table
from triskele.dynamics.robot import RigidRobot, rigid
from triskele.errors import InputError
from triskele.identification.base import BaseParameters, base_parameters
from triskele.identification.consistent import (
    FRICTION_DEVIATION,
    INERTIA_DEVIATION,
    ConsistentFit,
    Weighing,
    consistent_fit,
    unknowns,
)
from triskele.identification.probes import Probes, least_inertia, probes
from triskele.identification.regressor import (
    INERTIA,
    Regressor,
    driven_regressor,
    parameter_values,
    torque_regressor,
)
from triskele.identification.signals import Samples, joint_samples, samples, static_noise
from triskele.identification.update import updated, with_arms
from triskele.identification.verdict import (
    Errors,
    KnownParameter,
    Verdict,
    root_mean_square,
    whiteness,
)
from triskele.identification.weighted import BaseFit, base_fit, interval

Series = Float[np.ndarray, "N n"]
_SINGULAR = 1e7  #: condition number of logs that do not tell all that could be told
_KEPT_BY_FILE = 0.9  #: deviation after the log over that before, of what the log does not tell


class Identified(NamedTuple):
    """What came out of it."""

    robot: Robot  #: with the identified numbers, and where each came from
    before: Robot  #: what the second stage began with
    base: BaseFit
    fit: ConsistentFit
    arms: BaseFit | None  #: of the first stage
    verdict: Verdict
    logs: tuple[Samples, ...]
    held_out: tuple[Samples, ...]
    predicted: Series  #: efforts along the logs, one after the other
    predicted_held_out: Series


class IdentificationOptions(NamedTuple):
    """How to identify; the usual way is without any."""

    cutoff: float | None = None  #: of the filter [Hz]; none: positions and efforts as they are
    window: int | None = None  #: samples that rates are taken from
    robust: bool = True  #: outliers count less
    balls: bool = False  #: friction of ball joints is wanted too
    weighed: bool = True  #: parts on the scale keep their mass
    forms: Mapping[str, str] = {}  #: what may change of a part, if not as usual
    inertia_deviation: float = INERTIA_DEVIATION
    friction_deviation: float = FRICTION_DEVIATION
    trusted: bool = False  #: logs are not compared with the file first


USUAL = IdentificationOptions()


def identify(
    robot: Robot,
    logs: Sequence[Table],
    hold_out: Sequence[Table] = (),
    *,
    arms: Sequence[Table] = (),
    payload: Payload | str | None = None,
    options: IdentificationOptions = USUAL,
) -> Identified:
    """The parameters of `robot` from `logs`, judged on those that are held out.

    `arms` are logs of the arms alone. `payload` was on the flange; it is known, not wanted.
    """
    if not logs:
        raise InputError("Identification needs a log at least.")
    first = arms_alone(robot, arms, options) if arms else None
    before = robot if first is None else with_arms(robot, first, arms)
    model = rigid(before, payload)
    read = [
        samples(
            *(before, model, table),
            cutoff=options.cutoff,
            window=options.window,
            trusted=options.trusted,
        )
        for table in (*logs, *hold_out)
    ]
    seen, kept = tuple(read[: len(logs)]), tuple(read[len(logs) :])
    asked = probes(model.mechanism, robot.limits)
    whole = _regressor(model, [*read, asked], options)
    counts = [len(part.x) for part in (*read, asked)]
    own, out, probed = _cut(whole, [sum(counts[: len(seen)]), sum(counts[len(seen) : -1])])
    tau = np.concatenate([log.tau for log in seen])
    possible = base_parameters(probed)
    _check_rows(own, possible.rank)
    # A drive that rests in all logs, say, leaves fewer combinations than there could be.
    base = possible if condition(own, possible) < _SINGULAR else base_parameters(own)
    least = base_fit(own, tau, base, robust=options.robust)
    wanted = unknowns(model, own.parameters, forms=options.forms)
    fit = consistent_fit(
        *(own, tau, wanted),
        robust=options.robust,
        weighed=weighings(before, own) if options.weighed else (),
        inertia_deviation=options.inertia_deviation,
        friction_deviation=options.friction_deviation,
        first_sigma=least.sigma,
    )
    verdict = _judged(model, own, out, probed, asked, least, fit, seen, kept)
    verdict = verdict._replace(possible=possible.rank)
    names = [log.name for log in seen]
    found = updated(before, model, fit, verdict, names)
    return Identified(
        *(found, before, least, fit, first, verdict, seen, kept),
        predicted=fit.torques(own),
        predicted_held_out=fit.torques(out),
    )


def _regressor(
    model: RigidRobot, parts: Sequence[Samples | Probes], options: IdentificationOptions
) -> Regressor:
    """Of all samples at once: code is compiled once."""
    x, xd, xdd = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("x", "xd", "xdd")
    )
    return torque_regressor(model, x, xd, xdd, balls=options.balls)


def _cut(whole: Regressor, counts: Sequence[int]) -> list[Regressor]:
    """One regressor for so many samples each, and one for the rest."""
    edges = [0, *np.cumsum(counts), len(whole.qd)]
    return [
        Regressor(whole.matrix[a:b], whole.parameters, whole.known[a:b], whole.qd[a:b])
        for a, b in pairwise(edges)
    ]


def _check_rows(own: Regressor, rank: int) -> None:
    if own.qd.size < 10 * rank:
        raise InputError(
            f"The logs are too short: {own.qd.size} efforts for {rank} parameters; ten times as "
            "many are needed at least."
        )


def condition(regressor: Regressor, base: BaseParameters) -> float:
    """Condition number of the base regressor, columns brought to length one."""
    rows = regressor.rows[:, list(base.picked)]
    lengths = np.maximum(np.linalg.norm(rows, axis=0), 1e-12)
    values = np.linalg.svd(rows / lengths, compute_uv=False)
    return float(values[0] / max(values[-1], 1e-300))


def weighings(robot: Robot, regressor: Regressor) -> tuple[Weighing, ...]:
    """Masses that the file has from a scale, as conditions."""
    scale, parts = robot.weighed, {p.part for p in regressor.parameters}
    if scale is None:
        return ()
    found = []
    for part in ("rod", "platform"):
        mass = getattr(scale, part)
        if mass is not None and part in parts:
            found.append(Weighing({part: 1.0}, mass))
    if scale.telescope is not None and "telescope_upper" in parts:
        both = {"telescope_upper": 1.0, "telescope_lower": 1.0}
        found.append(Weighing(both, scale.telescope))
    return tuple(found)


def _judged(
    model: RigidRobot,
    own: Regressor,
    out: Regressor,
    probed: Regressor,
    asked: Probes,
    least: BaseFit,
    fit: ConsistentFit,
    seen: Sequence[Samples],
    kept: Sequence[Samples],
) -> Verdict:
    tau = np.concatenate([log.tau for log in seen])
    held = None
    if kept:
        measured = np.concatenate([log.tau for log in kept])
        held = Errors(
            root_mean_square(measured - least.torques(out)),
            root_mean_square(measured - fit.torques(out)),
        )
    particular = np.zeros(len(own.parameters))
    particular[list(least.base.picked)] = least.values  # C p = B, whatever the null space
    noise = static_noise(seen)
    lengths = np.cumsum([len(log.t) for log in seen])[:-1]
    residuals = np.split(tau - fit.torques(own), lengths)
    return Verdict(
        fitted=Errors(
            root_mean_square(tau - least.torques(own)), root_mean_square(tau - fit.torques(own))
        ),
        held_out=held,
        effort=root_mean_square(tau),
        noise=fit.sigma,
        at_rest=None if noise is None else np.sqrt(np.diag(noise)),
        whiteness=np.min([whiteness(part) for part in residuals], axis=0),
        condition=condition(own, least.base),
        rank=least.base.rank,
        possible=least.base.rank,
        gap=least.base.gap,
        parameters=_known(model, least),
        prior_only=prior_only(least, fit),
        outliers=float(np.mean(fit.weights < 0.5)),
        least_inertia_base=least_inertia(asked.mass_matrices(probed.matrix, probed.qd, particular)),
        least_inertia=least_inertia(asked.mass_matrices(probed.matrix, probed.qd, fit.values)),
        converged=fit.converged,
    )


def _known(model: RigidRobot, least: BaseFit) -> tuple[KnownParameter, ...]:
    base = least.base
    before = base.read @ parameter_values(model, base.parameters)
    before[np.abs(before) < 1e-15] = 0.0
    units = [base.parameters[k].unit for k in base.leaders]
    rows = zip(base.formulas(), units, least.read, interval(least.deviation), before, strict=True)
    return tuple(
        KnownParameter(name, unit, float(value), float(half), float(old))
        for name, unit, value, half, old in rows
    )


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


# First stage


def arms_alone(
    robot: Robot, tables: Sequence[Table], options: IdentificationOptions = USUAL
) -> BaseFit:
    """What arms tell by themselves: first moments, inertia and friction, arm by arm."""
    if getattr(robot.bodies, "arm", None) is None:
        raise InputError(f"{robot.name} has no arms that could be moved alone.")
    model = rigid(robot)
    read = [
        joint_samples(robot, model, table, cutoff=options.cutoff, window=options.window)
        for table in tables
    ]
    q, qd, qdd, tau = (np.concatenate(part) for part in zip(*read, strict=True))
    Y = driven_regressor(model, q, qd, qdd)
    base = base_parameters(Y)
    return base_fit(Y, tau, base, robust=options.robust)
