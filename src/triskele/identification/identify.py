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
from triskele.errors import InputError, TableError
from triskele.identification.base import BaseParameters, base_parameters
from triskele.identification.consistent import (
    FRICTION_DEVIATION,
    INERTIA_DEVIATION,
    ConsistentFit,
    Weighing,
    consistent_fit,
    unknowns,
)
from triskele.identification.faults import bare
from triskele.identification.judging import Material, condition, judged
from triskele.identification.noise import REST, RestNoise, Weights, rest_noise, weights
from triskele.identification.probes import Probes, probes
from triskele.identification.regressor import (
    Regressor,
    driven_regressor,
    own_sections,
    parameter_values,
    smoothing_speeds,
    torque_regressor,
    turning_arms,
)
from triskele.identification.signals import Samples, joint_samples, samples
from triskele.identification.update import updated, with_arms
from triskele.identification.verdict import Verdict
from triskele.identification.weighted import BaseFit, base_fit
from triskele.kinematics.mechanism import AbstractMechanism

Series = Float[np.ndarray, "N n"]
_SINGULAR = 1e7  #: condition number of logs that do not tell all that could be told


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
    loaded: Sequence[Table] = (),
    added: Payload | str | None = None,
    rest: Sequence[Table] = (),
    options: IdentificationOptions = USUAL,
) -> Identified:
    """The parameters of `robot` from `logs`, judged on those that are held out.

    `arms` are logs of the arms alone. `payload` was on the flange; it is known, not wanted. In the
    logs `loaded`, which are fitted too, a known mass `added` was there instead: it says how large
    the efforts are, which the robot's own masses cannot. Logs of static poses, `rest`, and rests of
    the others give the noise of the efforts, which weights rows where residuals agree with it.
    """
    _check_logs(logs, loaded, added)
    first = arms_alone(robot, arms, options) if arms else None
    before = robot if first is None else with_arms(robot, first, arms)
    model, heavy = rigid(before, payload), rigid(before, added)
    tables = [(model, table) for table in logs] + [(heavy, table) for table in loaded]
    tables += [(model, table) for table in hold_out]
    read = [_samples(before, carrying, table, options) for carrying, table in tables]
    count = len(logs) + len(loaded)
    seen, kept = tuple(read[:count]), tuple(read[count:])
    asked = probes(model.mechanism, robot.limits, np.concatenate([log.x for log in read]))
    whole = _regressor(before, model, [*read, asked], options)
    counts = [len(part.x) for part in (*read, asked)]
    whole = _loaded(whole, model, heavy, counts, len(logs), count)
    own, out, probed = _cut(whole, [sum(counts[:count]), sum(counts[count:-1])])
    tau = np.concatenate([log.tau for log in seen])
    possible = base_parameters(probed)
    _check_rows(own, possible.rank)
    # A drive that rests in all logs, say, leaves fewer combinations than there could be.
    base = possible if condition(own, possible) < _SINGULAR else base_parameters(own)
    weighed = weighings(before, model.mechanism, own) if options.weighed else ()
    noise = _at_rest(before, model.mechanism, rest, seen, options)
    least, fit, chosen = _fits(model, own, tau, base, weighed, noise, options)
    distinct = own_sections(before, model.mechanism)
    material = Material(
        *(own, out, probed, asked, least, fit, seen, kept, weighed),
        models=tuple(bare(carrying, fit, distinct) for carrying, _ in tables),
        parameters=parameter_values(model, base.parameters),
        smoothing=smoothing_speeds(model),
        scale_deviations=(options.inertia_deviation, options.friction_deviation),
        robust=options.robust,
        possible=possible.rank,
        rest=noise,
        weights=chosen,
    )
    verdict = judged(material)
    found = updated(before, model, fit, verdict, [log.name for log in seen])
    return Identified(
        *(found, before, least, fit, first, verdict, seen, kept),
        predicted=fit.torques(own),
        predicted_held_out=fit.torques(out),
    )


def _check_logs(
    logs: Sequence[Table], loaded: Sequence[Table], added: Payload | str | None
) -> None:
    if not logs:
        raise InputError("Identification needs a log at least.")
    if bool(loaded) != (added is not None):
        raise InputError("Logs with a mass added (--loaded) and that mass (--added) go together.")


def _fits(
    model: RigidRobot,
    own: Regressor,
    tau: Float[np.ndarray, "N n"],
    base: BaseParameters,
    weighed: tuple[Weighing, ...],
    noise: RestNoise | None,
    options: IdentificationOptions,
) -> tuple[BaseFit, ConsistentFit, Weights | None]:
    """Of base parameters and of physical ones; and by what rows count if noise at rest is known."""
    least = base_fit(own, tau, base, robust=options.robust)
    fit = _fitted(model, own, tau, weighed, least.sigma, options)
    if noise is None:
        return least, fit, None
    chosen, of_base = (weights(found.sigma, noise, len(tau)) for found in (fit, least))
    if of_base.by_rest.any():
        least = base_fit(own, tau, base, sigma=of_base.sigma, robust=options.robust)
    if chosen.by_rest.any():
        fit = _fitted(model, own, tau, weighed, chosen.sigma, options, known=True)
    return least, fit, chosen


def _fitted(
    model: RigidRobot,
    own: Regressor,
    tau: Float[np.ndarray, "N n"],
    weighed: tuple[Weighing, ...],
    sigma: Float[np.ndarray, " n"],
    options: IdentificationOptions,
    *,
    known: bool = False,
) -> ConsistentFit:
    """Bodies that can exist; `sigma` is the noise if it is `known`, else where that begins."""
    return consistent_fit(
        *(own, tau, unknowns(model, own.parameters, forms=options.forms)),
        robust=options.robust,
        weighed=weighed,
        inertia_deviation=options.inertia_deviation,
        friction_deviation=options.friction_deviation,
        **{"sigma" if known else "first_sigma": sigma},
    )


def _at_rest(
    robot: Robot,
    mechanism: AbstractMechanism,
    rest: Sequence[Table],
    seen: Sequence[Samples],
    options: IdentificationOptions,
) -> RestNoise | None:
    """Noise in logs of static poses, and in rests of the logs that are fitted."""
    still = []
    for table in rest:
        log = joint_samples(robot, mechanism, table, cutoff=options.cutoff, window=options.window)
        if rest_noise([log]) is None:
            raise TableError(
                f"{table.place}: no rest of {REST:g} s, in which all drives stand still; a log of "
                "static poses has some."
            )
        still.append(log)
    return rest_noise([*still, *seen])


def _samples(
    robot: Robot, model: RigidRobot, table: Table, options: IdentificationOptions
) -> Samples:
    filtering = {"cutoff": options.cutoff, "window": options.window}
    return samples(robot, model, table, **filtering, trusted=options.trusted)  # pyright: ignore[reportArgumentType]


def _loaded(
    whole: Regressor,
    model: RigidRobot,
    heavy: RigidRobot,
    counts: Sequence[int],
    first: int,
    last: int,
) -> Regressor:
    """Known efforts of the logs `first` to `last` with the payload of `heavy`."""
    if first == last:
        return whole
    more = np.asarray(heavy.payload) - np.asarray(model.payload)
    rows = slice(sum(counts[:first]), sum(counts[:last]))
    known = whole.known.copy()
    known[rows] += whole.carried[rows] @ more
    return whole._replace(known=known)


def _regressor(
    robot: Robot,
    model: RigidRobot,
    parts: Sequence[Samples | Probes],
    options: IdentificationOptions,
) -> Regressor:
    """Of all samples at once: code is compiled once."""
    x, xd, xdd = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("x", "xd", "xdd")
    )
    distinct = own_sections(robot, model.mechanism)
    return torque_regressor(model, x, xd, xdd, distinct=distinct, balls=options.balls)


def _cut(whole: Regressor, counts: Sequence[int]) -> list[Regressor]:
    """One regressor for so many samples each, and one for the rest."""
    edges = [0, *map(int, np.cumsum(counts)), len(whole.qd)]
    return [whole.rows_from(a, b) for a, b in pairwise(edges)]


def _check_rows(own: Regressor, rank: int) -> None:
    if own.qd.size < 10 * rank:
        raise InputError(
            f"The logs are too short: {own.qd.size} efforts for {rank} parameters; ten times as "
            "many are needed at least."
        )


def weighings(
    robot: Robot, mechanism: AbstractMechanism, regressor: Regressor
) -> tuple[Weighing, ...]:
    """Masses that the file has from a scale, as conditions: of a part, or of both of a slide."""
    if robot.weighed is None:
        return ()
    parts = {part.body: part.part for part in mechanism.parts}
    known = {p.part for p in regressor.parameters if p.name == "m"}
    slid = {j.friction: (j.parent, j.child) for j in mechanism.joints() if j.kind == "prismatic"}
    found = []
    for key in type(robot.weighed).model_fields:
        mass = getattr(robot.weighed, key)
        together = [parts[body] for body in slid.get(key, ())] or [key]
        if isinstance(mass, float) and known.issuperset(together):
            found.append(Weighing(dict.fromkeys(together, 1.0), mass))
    return tuple(found)


# First stage


def arms_alone(
    robot: Robot, tables: Sequence[Table], options: IdentificationOptions = USUAL
) -> BaseFit:
    """What arms tell by themselves: first moments, inertia and friction, arm by arm."""
    model = rigid(robot)
    if not turning_arms(model.mechanism):
        raise InputError(f"{robot.name} has no arms that could be moved alone.")
    read = [
        joint_samples(robot, model.mechanism, table, cutoff=options.cutoff, window=options.window)
        for table in tables
    ]
    _, q, qd, qdd, tau = (np.concatenate(part) for part in zip(*read, strict=True))
    Y = driven_regressor(model, q, qd, qdd)
    base = base_parameters(Y)
    return base_fit(Y, tau, base, robust=options.robust)
