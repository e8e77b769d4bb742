"""From logs to samples: units, gaps, filters, rates; and what is wrong with a log, by name.

A log is a table with `t [s]`, `q1 [rad]`, ... and one of

    tau1 [N m], ...        efforts of the drives at the joints (N for a slider)
    motor1 [N m], ...      torques of the motors:   tau = i motor
    current1 [A], ...      currents of the drives:  tau = i k_t current

with the gear ratio i and the torque constant k_t of the robot file. Rates come from local
polynomials (`kinematics/log.py`), without phase; with a `cutoff`, positions and efforts pass the
same filter first (Butterworth of order 4, forwards and backwards). Samples that are missing are
left out of the fit, and so are both ends, where rates are uncertain; beside them, rates come
from the samples that are there. Rows that are repeated or clipped (`rows.py`) count as missing.

Columns are judged against the robot file, which need not be right, only roughly so: efforts of
drive j are explained by what the file predicts for drive i,

    tau_j = s tau_i(q, qd, qdd) + c sign(qd_i) + v qd_i + d                             (1)

A column that another drive explains much better is swapped; where c < 0, friction pushes, and
efforts (s < 0) or angles (s > 0) have the wrong sign. Without friction, s < 0 tells of efforts.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float

from triskele.description.schema import Range, Robot
from triskele.description.tables import Table
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import RigidRobot
from triskele.errors import InputError, MissingFact, TableError
from triskele.identification.rows import faulty_rows
from triskele.kinematics.fit import ranges
from triskele.kinematics.log import (
    LEAST_WINDOW,
    derivatives,
    derivatives_with_gaps,
    odd_window,
)
from triskele.kinematics.mechanism import AbstractMechanism, Coordinate
from triskele.kinematics.searched import CLOSED, gap, reached
from triskele.kinematics.singularity import singularity_margins
from triskele.kinematics.velocity import platform_motion
from triskele.laws.motors import drive_motors, ratio
from triskele.numerics import Scalar, Scalars, recurrence, tabulate, where

Series = Float[np.ndarray, "N n"]
LEAST_DURATION = 1.0  #: [s]
MOST_MISSING = 0.05  #: [s] of samples in a row that are filled in
_JITTER = 0.1  #: of a step
_SLOWEST = 0.2  #: [rad/s^2], or sizes of the robot per s^2, that count as acceleration
_WINDOW = 0.03  #: [s] that rates are taken from
_PROBES = 512  #: samples on which columns are judged
_BEYOND = 0.2  #: [rad] beyond the range of the file that count as a mistake of the log
_STROKES = 2.0  #: the same of joints that slide, in strokes
_SMALLER = {"rad": ("degrees", "deg", np.pi / 180), "m": ("millimetres", "mm", 1e-3)}
_APART = 1e-6  #: distance of two assemblies, in sizes of the robot
_DOUBT = 8.0  #: standard deviations by which friction must be negative
_PUSHING = 0.03  #: of the size of the efforts, that friction has at least
_MUCH = 0.5  #: of what was unexplained, that must be explained by another reading of the log


class Samples(NamedTuple):
    """One log, ready for a fit."""

    name: str
    t: Float[np.ndarray, " N"]
    q: Series
    qd: Series
    qdd: Series
    x: Series
    xd: Series
    xdd: Series
    tau: Series  #: at the joints [N m, N]
    filled: int = 0  #: samples that were missing
    held: float = 0.0  #: share of rows that repeat others while the robot moves
    clipped: tuple[float, ...] = ()  #: share of rows in which each drive is at an extreme


class _Raw(NamedTuple):
    """A log with equal steps; `whole` is False where samples were missing, held or clipped."""

    t: Float[np.ndarray, " N"]
    q: Series
    rates: tuple[Series | None, Series | None]
    tau: Series
    whole: np.ndarray
    missing: int
    held: float
    clipped: tuple[float, ...]


def samples(
    robot: Robot,
    model: RigidRobot,
    table: Table,
    *,
    cutoff: float | None = None,
    window: int | None = None,
    trusted: bool = False,
) -> Samples:
    """The samples of a log, or the sentence that says what is wrong with it.

    `model` is the robot as its file has it, with payload; it is not compared with a `trusted`
    log.
    """
    raw = _raw(robot, model.mechanism, table)
    step = _step(raw)
    if raw.t[-1] - raw.t[0] < LEAST_DURATION:
        raise TableError(
            f"{table.place}: too short: {raw.t[-1] - raw.t[0]:.3g} s; a log for identification "
            f"lasts {LEAST_DURATION:g} s at least."
        )
    raw = _filtered(raw, step, cutoff, table.place)
    window = odd_window(max(_WINDOW / step, float(LEAST_WINDOW))) if window is None else window
    qd, qdd, enough = _rates(raw, step, window)
    _check_range(model.mechanism, robot, raw.q, table.place)
    edge = 0 if all(rate is not None for rate in raw.rates) else window // 2
    edge = max(edge, 0 if cutoff is None else round(1 / (cutoff * step)))
    keep = raw.whole & enough
    keep[: edge + 1] = keep[len(keep) - edge - 1 :] = False
    if keep.sum() < 10 * LEAST_WINDOW:
        raise TableError(
            f"{table.place}: too short: {keep.sum()} samples are left without ends, and without "
            f"those beside {int((~raw.whole).sum())} rows that are missing or repeated."
        )
    q, qd, qdd, tau = (part[keep] for part in (raw.q, qd, qdd, raw.tau))
    x, xd, xdd = platform_along(model.mechanism, q, qd, qdd, table.place)
    states = (raw.t[keep], q, qd, qdd, x, xd, xdd, tau)
    found = Samples(table.place, *states, raw.missing, raw.held, raw.clipped)
    if not trusted:
        _check_acceleration(model.mechanism, found)
        check_columns(model, found)
    return found


def _step(raw: _Raw) -> float:
    """The usual step [s]; single ones may be a tenth off."""
    return float(raw.t[-1] - raw.t[0]) / (len(raw.t) - 1)


# Reading


def _raw(robot: Robot, mechanism: AbstractMechanism, table: Table) -> _Raw:
    joints = mechanism.joint_coordinates
    units = [joint.unit for joint in joints]
    q = _columns(table, "q", units)
    if q is None:
        raise TableError(
            f"{table.place}: there is no column 'q1'; a log has t [s], q1 [{units[0]}] to "
            f"q{len(joints)}, and tau1 [N m], current1 [A] or motor1 [N m] beside them."
        )
    rates = tuple(
        _columns(table, "q" + "d" * order, [unit + per for unit in units])
        for order, per in ((1, "/s"), (2, "/s^2"))
    )
    tau = _efforts(robot, mechanism, table)
    return _filled(table, q, rates, tau)


def _columns(table: Table, name: str, units: Sequence[str]) -> Series | None:
    names = [f"{name}{i + 1}" for i in range(len(units))]
    if not any(each in table for each in names):
        return None
    return np.stack([table.column(n, u) for n, u in zip(names, units, strict=True)], axis=1)


def _efforts(robot: Robot, mechanism: AbstractMechanism, table: Table) -> Series:
    """Efforts at the joints, from whichever columns there are."""
    joints = mechanism.joint_coordinates
    efforts = ["N m" if joint.unit == "rad" else "N" for joint in joints]
    tau = _columns(table, "tau", efforts)
    if tau is not None:
        return tau
    for name, unit in (("motor", "N m"), ("current", "A")):
        given = _columns(table, name, [unit] * len(joints))
        if given is not None:
            return given * np.array(list(_factors(robot, joints, name, table.place)))
    raise TableError(
        f"{table.place}: there are no efforts; tau1 [{efforts[0]}], motor1 [N m] or current1 [A], "
        "and so on, were expected."
    )


def _factors(robot: Robot, joints: Sequence[Coordinate], name: str, place: str) -> Iterator[float]:
    """What turns motor torques or currents into efforts at each joint."""
    for k, (joint, motor) in enumerate(zip(joints, drive_motors(robot, joints), strict=True)):
        i = None if motor is None else ratio(motor)
        section = f"motors.{joint.drive}"
        if motor is None or i is None:
            raise MissingFact(
                f"{place}: has '{name}{k + 1}', but {robot.name} has no '{section}.gear_ratio' to "
                "convert it; add it."
            )
        if name == "current":
            if motor.torque_constant is None:
                raise MissingFact(
                    f"{place}: has 'current{k + 1}', but {robot.name} has no "
                    f"'{section}.torque_constant' to convert it; add it."
                )
            i *= motor.torque_constant
        yield i


def _filled(table: Table, q: Series, rates: tuple[Series | None, ...], tau: Series) -> _Raw:
    """Equal steps, with a few missing samples interpolated; clock jumps are refused."""
    t = table.column("t", "s")
    if len(t) < 2 * LEAST_WINDOW:
        raise TableError(f"{table.place}: too short: {len(t)} rows.")
    steps = np.diff(t)
    usual = float(np.median(steps))
    counts = np.round(steps / usual) if usual > 0 else np.zeros(len(steps))
    wrong = (np.abs(steps - counts * usual) > _JITTER * usual) | (counts < 1)
    wrong |= (counts - 1) * usual > max(MOST_MISSING, 5 * usual)
    if wrong.any():
        row = int(np.argmax(wrong)) + 2
        raise TableError(
            f"{table.place}, row {row}: the clock jumps by {steps[row - 2]:.4g} s, where samples "
            f"are {usual:.4g} s apart. Cut the log there, and give both parts."
        )
    faulty = faulty_rows(q, tau)
    good = ~faulty.held & ~faulty.clipped.any(axis=1)
    held = float(faulty.held.mean())
    clipped = tuple(map(float, faulty.clipped.mean(axis=0)))
    if (counts == 1).all():
        return _Raw(t, q, (rates[0], rates[1]), tau, good, 0, held, clipped)
    from scipy.interpolate import PchipInterpolator

    place = np.concatenate([[0], np.cumsum(counts)]).astype(int)
    grid = np.arange(place[-1] + 1)

    def spread(values: np.ndarray | None) -> np.ndarray | None:
        return None if values is None else np.asarray(PchipInterpolator(place, values)(grid))

    whole = np.zeros(len(grid), bool)
    whole[place] = good
    filled_q, filled_tau = spread(q), spread(tau)
    assert filled_q is not None
    assert filled_tau is not None
    both = (spread(rates[0]), spread(rates[1]))
    missing = len(grid) - len(t)
    times = t[0] + grid * usual
    return _Raw(times, filled_q, both, filled_tau, whole, missing, held, clipped)


def _filtered(raw: _Raw, step: float, cutoff: float | None, place: str) -> _Raw:
    if cutoff is None:
        return raw
    if not 0 < cutoff < 0.5 / step:
        raise InputError(
            f"{place}: a cutoff of {cutoff:g} Hz is not between 0 and {0.5 / step:g} Hz, half the "
            "rate of its samples."
        )
    from scipy.signal import butter, sosfiltfilt

    sections = butter(4, cutoff, fs=1 / step, output="sos")

    def smooth(values: Series | None) -> Series | None:
        return None if values is None else np.asarray(sosfiltfilt(sections, values, axis=0))

    q, tau = smooth(raw.q), smooth(raw.tau)
    assert q is not None
    assert tau is not None
    return raw._replace(q=q, tau=tau, rates=(smooth(raw.rates[0]), smooth(raw.rates[1])))


def _rates(raw: _Raw, step: float, window: int) -> tuple[Series, Series, np.ndarray]:
    """Joint rates, as they are given or from what is there, and where there is enough."""
    qd, qdd = raw.rates
    if qdd is not None and qd is not None:
        return qd, qdd, np.ones(len(raw.t), bool)
    if raw.whole.all():
        first, second = derivatives(raw.q if qd is None else qd, step, window)
        enough = np.ones(len(raw.t), bool)
    else:
        values = raw.q if qd is None else qd
        first, second, enough = derivatives_with_gaps(values, step, window, raw.whole)
    if qd is None:
        return first, second if qdd is None else qdd, enough
    return qd, first, enough


def platform_along(
    mechanism: AbstractMechanism, q: Series, qd: Series, qdd: Series, place: str
) -> tuple[Series, Series, Series]:
    """Position, velocity and acceleration of the platform along the joints of the log `place`."""
    x, margin = _assembled(mechanism, q)
    if not (margin >= 0).all():
        row = int(np.argmin(margin))
        raise TableError(
            f"{place}: at sample {row + 1} the joints are where the robot cannot be assembled; "
            "are these its angles, in the order and sign of its file?"
        )
    return x, *moved(mechanism, q, x, qd, qdd)


def moved(
    mechanism: AbstractMechanism, q: Series, x: Series, qd: Series, qdd: Series
) -> tuple[Series, Series]:
    """Velocity and acceleration of the platform."""
    rates = tabulate(eqx.Partial(_moved, mechanism))(q, x, qd, qdd)
    xd, xdd = (np.stack(part, axis=-1) for part in rates)
    return xd, xdd


def _assembled(mechanism: AbstractMechanism, q: Series) -> tuple[Series, Float[np.ndarray, " N"]]:
    """Platform coordinates and least margins: from home, or from sample to sample if that differs.

    Far from home a search for the platform may end in another assembly, or nowhere.
    """
    parts = tabulate(eqx.Partial(_forward, mechanism))(q)
    x, margins = (np.stack(part, axis=-1) for part in parts)
    margin = margins.min(axis=1)
    home = np.array([float(np.asarray(v)) for v in mechanism.inverse(mechanism.home()).components])
    near = int(np.argmin(np.where(margin >= 0, np.abs(q - home).max(axis=1), np.inf)))
    follow, way = recurrence(eqx.Partial(_followed, mechanism)), x.copy()
    way[near:] = follow(x[near], q[near:])
    way[near::-1] = follow(x[near], q[near::-1])
    units = np.array([float(np.asarray(unit)) for unit in mechanism.scales().platform])
    least = _APART * float(np.asarray(mechanism.size))
    same = np.abs((way - x) * units).max(axis=1) <= least
    elsewhere = ~(same & (margin >= 0))
    if elsewhere.any():
        x[elsewhere] = way[elsewhere]
        closed = tabulate(eqx.Partial(_margin, mechanism))(q[elsewhere], way[elsewhere])
        margin[elsewhere] = closed
    return x, margin


def _forward(mechanism: AbstractMechanism, q: Scalars) -> tuple[Scalars, Scalars]:
    """Platform and margins; a kernel for `tabulate`."""
    found = mechanism.forward(q)
    return found.components, found.margins


def _followed(mechanism: AbstractMechanism, before: Scalars, q: Scalars) -> Scalars:
    """The platform beside where it was `before`; a step of `recurrence`."""
    return reached(mechanism, q, before)


def _margin(mechanism: AbstractMechanism, q: Scalars, x: Scalars) -> Scalar:
    """That of type 2, or -1 where loops are open; a kernel for `tabulate`."""
    return where(gap(mechanism, q, x) < CLOSED, singularity_margins(mechanism, q, x).type2, -1.0)


def _moved(
    mechanism: AbstractMechanism, q: Scalars, x: Scalars, qd: Scalars, qdd: Scalars
) -> tuple[Scalars, Scalars]:
    """Velocity and acceleration of the platform; a kernel for `tabulate`."""
    rates = platform_motion(mechanism, q, x, qd, qdd)
    return rates.velocity, rates.acceleration


# Judging


def _check_range(mechanism: AbstractMechanism, robot: Robot, q: Series, place: str) -> None:
    """Joints far out of range: degrees, millimetres, turned round, or not those of this robot."""
    home = [float(np.asarray(value)) for value in mechanism.inverse(mechanism.home()).components]
    stated = ranges(robot.limits, mechanism.joint_coordinates)
    for unit in ("rad", "m"):
        spans = {
            k: span
            for k, joint in enumerate(mechanism.joint_coordinates)
            if joint.unit == unit and (span := _range(joint, stated[k], home[k])) is not None
        }
        out = [k for k, span in spans.items() if _outside(unit, q[:, k], span).mean() > 0.02]
        if not out:
            continue
        _check_unit(unit, q, spans, place)
        k, (low, high) = out[0], spans[out[0]]
        turned = not any(_outside(unit, -q[:, j], spans[j]).any() for j in out)
        what = "an angle" if unit == "rad" else "a position"
        meant = f"is it {what} of this robot, its zero as there?"
        why = "it has the wrong sign." if turned else meant
        raise TableError(
            f"{place}: q{k + 1} goes from {q[:, k].min():.3g} to {q[:, k].max():.3g} {unit}, where "
            f"the robot file allows {low:.3g} to {high:.3g}: {why}"
        )


def _range(joint: Coordinate, stated: Range | None, home: float) -> Range | None:
    """As stated, or a quarter turn about home; None: the joint may stand anywhere."""
    if stated is not None or joint.unit == "m" or not joint.limit:
        return stated
    return home - np.pi / 2, home + np.pi / 2


def _outside(unit: str, values: np.ndarray, span: Range) -> np.ndarray:
    low, high = span
    beyond = _BEYOND if unit == "rad" else _STROKES * (high - low)
    return (values < low - beyond) | (values > high + beyond)


def _check_unit(unit: str, q: Series, spans: Mapping[int, Range], place: str) -> None:
    """Raise the sentence for numbers that would be in range in a smaller unit."""
    name, symbol, size = _SMALLER[unit]
    if any(_outside(unit, size * q[:, k], span).any() for k, span in spans.items()):
        return
    first, last = min(spans) + 1, max(spans) + 1
    most = np.abs(q[:, list(spans)]).max()
    if most > (2 * np.pi if unit == "rad" else 10 * np.abs(list(spans.values())).max()):
        raise TableError(
            f"{place}: q{first} to q{last} reach {most:.4g} {unit}; these are {name}. Write the "
            f"unit as q{first} [{symbol}]."
        )


def _check_acceleration(mechanism: AbstractMechanism, found: Samples) -> None:
    size = float(np.asarray(mechanism.size))
    units = np.array([size if c.unit == "m" else 1.0 for c in mechanism.joint_coordinates])
    if not (np.sqrt(np.mean(found.qdd**2, axis=0)) > _SLOWEST * units).any():
        raise TableError(
            f"{found.name}: constant velocity only: no drive accelerates, so that friction and "
            "weight may be found, but no inertia. Record a motion of `triskele excite`."
        )


def check_columns(model: RigidRobot, found: Samples) -> None:
    """Raise TableError if efforts or angles stand in the wrong column, or have the wrong sign."""
    pick = np.linspace(0, len(found.t) - 1, min(_PROBES, len(found.t))).astype(int)
    columns = ("t", "q", "qd", "qdd", "x", "xd", "xdd", "tau")
    probe = found._replace(**{name: getattr(found, name)[pick] for name in columns})
    fits = _explained(model, probe)
    n = probe.tau.shape[1]
    same = sum(fits[i, i].unexplained for i in range(n))
    best, order = min(
        (sum(fits[i, j].unexplained for i, j in enumerate(order)), order)
        for order in permutations(range(n))
    )
    if best < _MUCH * same and order != tuple(range(n)):
        pair = [f"{j + 1}" for i, j in enumerate(order) if i != j]
        raise TableError(
            f"{found.name}: columns {' and '.join(pair)} are swapped: efforts fit the angles of "
            "another drive much better than those of their own."
        )
    for i in range(n):
        if fits[i, i].pushing:
            both = f"the efforts of drive {i + 1} have the wrong sign, or q{i + 1} has"
            what = f"q{i + 1} has the wrong sign" if fits[i, i].scale > 0 else both
            raise TableError(
                f"{found.name}: {what}: friction would push the drive instead of braking it."
            )
        if fits[i, i].scale < 0 and fits[i, i].unexplained < _MUCH:
            raise TableError(
                f"{found.name}: the efforts of drive {i + 1} have the wrong sign: they are what "
                "the motion takes, turned round."
            )


class _Explained(NamedTuple):
    """Equation (1) for one pair of drives."""

    scale: float  #: s
    pushing: bool  #: c < 0, beyond doubt
    unexplained: float  #: part of the variance


def _explained(model: RigidRobot, probe: Samples) -> dict[tuple[int, int], _Explained]:
    bare = eqx.tree_at(
        lambda r: (r.drive_friction, r.passive_friction, r.ball_friction),
        model,
        (
            (None,) * len(model.drive_friction),
            (None,) * len(model.passive_friction),
            None,
        ),
        is_leaf=lambda leaf: leaf is None,
    )
    predicted = tabulate(eqx.Partial(inverse_dynamics, bare))(probe.x, probe.xd, probe.xdd)
    found = {}
    for i, tau in enumerate(predicted):
        qd = probe.qd[:, i]
        columns = np.stack([tau, np.tanh(qd / 0.01), qd, np.ones(len(qd))], axis=1)
        scale = np.maximum(np.linalg.norm(columns, axis=0), 1e-12)
        for j in range(probe.tau.shape[1]):
            wanted = probe.tau[:, j]
            solution = np.linalg.lstsq(columns / scale, wanted, rcond=1e-10)[0]
            rest = wanted - (columns / scale) @ solution
            total = max(float(np.sum((wanted - wanted.mean()) ** 2)), 1e-300)
            unexplained = float(rest @ rest)
            # Columns have length one. An elastic gear leaves more than noise, and not white.
            least = -max(_DOUBT * np.sqrt(unexplained / len(qd)), _PUSHING * np.sqrt(total))
            found[i, j] = _Explained(
                float(solution[0]), bool(solution[1] < least), unexplained / total
            )
    return found


class JointSamples(NamedTuple):
    """One log without its platform."""

    t: Float[np.ndarray, " N"]
    q: Series
    qd: Series
    qdd: Series
    tau: Series  #: at the joints [N m, N]


def joint_samples(
    robot: Robot,
    mechanism: AbstractMechanism,
    table: Table,
    *,
    cutoff: float | None = None,
    window: int | None = None,
) -> JointSamples:
    """The samples of a log of arms alone, say, whose loops need not close."""
    raw = _raw(robot, mechanism, table)
    step = _step(raw)
    raw = _filtered(raw, step, cutoff, table.place)
    window = odd_window(max(_WINDOW / step, float(LEAST_WINDOW))) if window is None else window
    qd, qdd, enough = _rates(raw, step, window)
    keep = raw.whole & enough
    keep[: window // 2] = keep[len(keep) - window // 2 :] = False
    return JointSamples(raw.t[keep], raw.q[keep], qd[keep], qdd[keep], raw.tau[keep])
