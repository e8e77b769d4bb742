"""From logs to samples: units, gaps, filters, rates; and what is wrong with a log, by name.

A log is a table with `t [s]`, `q1 [rad]`, ... and one of

    tau1 [N m], ...        efforts of the drives at the joints (N for a slider)
    motor1 [N m], ...      torques of the motors:   tau = i motor
    current1 [A], ...      currents of the drives:  tau = i k_t current

with the gear ratio i and the torque constant k_t of the robot file. Rates come from local
polynomials (`kinematics/log.py`), without phase; with a `cutoff`, positions and efforts pass the
same filter first (Butterworth of order 4, forwards and backwards). A few samples that are missing
are filled in and then left out of the fit, and so are both ends, where rates are uncertain.

Columns are judged against the robot file, which need not be right, only roughly so: efforts of
drive j are explained by what the file predicts for drive i,

    tau_j = s tau_i(q, qd, qdd) + c sign(qd_i) + v qd_i + d                             (1)

A column that another drive explains much better is swapped; where c < 0, friction pushes, and
efforts (s < 0) or angles (s > 0) have the wrong sign. Without friction, s < 0 tells of efforts.
"""

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float

from triskele.description.schema import Robot
from triskele.description.tables import Table
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import RigidRobot
from triskele.errors import InputError, MissingFact, TableError
from triskele.kinematics.log import LEAST_WINDOW, derivatives, odd_window
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.velocity import platform_motion
from triskele.laws.motors import drive_motors, ratio
from triskele.numerics import Scalars, tabulate

Series = Float[np.ndarray, "N n"]
LEAST_DURATION = 1.0  #: [s]
MOST_MISSING = 0.05  #: [s] of samples in a row that are filled in
_JITTER = 0.1  #: of a step
_SLOWEST = 0.2  #: [rad/s^2, m/s^2] that count as acceleration
_WINDOW = 0.03  #: [s] that rates are taken from
_STILL = 2e-3  #: [rad/s, m/s] below which a drive rests
_REST = 0.2  #: [s] that a rest lasts at least
_PROBES = 512  #: samples on which columns are judged
_BEYOND = 0.2  #: [rad] beyond the range of the file that count as a mistake of the log
_DOUBT = 8.0  #: standard deviations by which friction must be negative
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


class _Raw(NamedTuple):
    """A log with equal steps; `whole` is False where samples were missing."""

    t: Float[np.ndarray, " N"]
    q: Series
    rates: tuple[Series | None, Series | None]
    tau: Series
    whole: np.ndarray


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
    window = odd_window(max(_WINDOW / step, LEAST_WINDOW)) if window is None else window
    qd, qdd = _rates(raw, step, window)
    _check_range(model.mechanism, robot, raw.q, table.place)
    edge = 0 if all(rate is not None for rate in raw.rates) else window // 2
    edge = max(edge, 0 if cutoff is None else round(1 / (cutoff * step)))
    keep = ~_beside(~raw.whole, edge)
    keep[: edge + 1] = keep[len(keep) - edge - 1 :] = False
    if keep.sum() < 10 * LEAST_WINDOW:
        raise TableError(f"{table.place}: too short: {keep.sum()} samples are left without ends.")
    q, qd, qdd, tau = (part[keep] for part in (raw.q, qd, qdd, raw.tau))
    x, xd, xdd = _platform(model.mechanism, q, qd, qdd, table.place)
    found = Samples(table.place, raw.t[keep], q, qd, qdd, x, xd, xdd, tau, int((~raw.whole).sum()))
    if not trusted:
        _check_acceleration(model.mechanism, found)
        check_columns(model, found)
    return found


def _step(raw: _Raw) -> float:
    """The usual step [s]; single ones may be a tenth off."""
    return float(raw.t[-1] - raw.t[0]) / (len(raw.t) - 1)


def _beside(gaps: np.ndarray, reach: int) -> np.ndarray:
    """Samples whose rates, from `reach` samples each way, lean on `gaps`."""
    return np.convolve(gaps.astype(float), np.ones(2 * reach + 1), mode="same") > 0.5


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
            return given * np.array(list(_factors(robot, len(joints), name, table.place)))
    raise TableError(
        f"{table.place}: there are no efforts; tau1 [{efforts[0]}], motor1 [N m] or current1 [A], "
        "and so on, were expected."
    )


def _factors(robot: Robot, count: int, name: str, place: str) -> Iterator[float]:
    """What turns motor torques or currents into efforts at each joint."""
    for k, motor in enumerate(drive_motors(robot, count)):
        i = None if motor is None else ratio(motor)
        section = "motors.axis4" if k == 3 else "motors.drives"
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
    if (counts == 1).all():
        return _Raw(t, q, (rates[0], rates[1]), tau, np.ones(len(t), bool))
    from scipy.interpolate import PchipInterpolator

    place = np.concatenate([[0], np.cumsum(counts)]).astype(int)
    grid = np.arange(place[-1] + 1)

    def spread(values: np.ndarray | None) -> np.ndarray | None:
        return None if values is None else np.asarray(PchipInterpolator(place, values)(grid))

    whole = np.zeros(len(grid), bool)
    whole[place] = True
    whole &= np.roll(whole, 1) & np.roll(whole, -1)
    filled_q, filled_tau = spread(q), spread(tau)
    assert filled_q is not None
    assert filled_tau is not None
    return _Raw(
        t[0] + grid * usual, filled_q, (spread(rates[0]), spread(rates[1])), filled_tau, whole
    )


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


def _rates(raw: _Raw, step: float, window: int) -> tuple[Series, Series]:
    qd, qdd = raw.rates
    if qdd is None:
        qdd = (
            derivatives(raw.q, step, window)[1] if qd is None else derivatives(qd, step, window)[0]
        )
    return (derivatives(raw.q, step, window)[0] if qd is None else qd), qdd


def _platform(
    mechanism: AbstractMechanism, q: Series, qd: Series, qdd: Series, place: str
) -> tuple[Series, Series, Series]:
    parts = tabulate(eqx.Partial(_moved, mechanism))(q, qd, qdd)
    x, xd, xdd, margin = (np.stack(part, axis=-1) for part in parts)
    if not (margin >= 0).all():
        row = int(np.argmin(margin.min(axis=1)))
        raise TableError(
            f"{place}: at sample {row + 1} the joints are where the robot cannot be assembled; "
            "are these its angles, in the order and sign of its file?"
        )
    return x, xd, xdd


def _moved(
    mechanism: AbstractMechanism, q: Scalars, qd: Scalars, qdd: Scalars
) -> tuple[Scalars, Scalars, Scalars, Scalars]:
    """Platform and its rates; a kernel for `tabulate`."""
    solution = mechanism.forward(q)
    x = solution.components
    rates = platform_motion(mechanism, q, x, qd, qdd)
    return x, rates.velocity, rates.acceleration, solution.margins


# Judging


def _check_range(mechanism: AbstractMechanism, robot: Robot, q: Series, place: str) -> None:
    """Angles far out of range: degrees, turned round, or not those of this robot."""
    turning = [k for k, c in enumerate(mechanism.joint_coordinates) if c.unit == "rad"][:3]
    if not turning:
        return
    low, high = robot.limits.joint_angle or (-np.pi / 2, np.pi / 2)

    def outside(angles: np.ndarray) -> np.ndarray:
        return (angles < low - _BEYOND) | (angles > high + _BEYOND)

    angles = q[:, turning]
    out = outside(angles).mean(axis=0) > 0.02
    if not out.any():
        return
    if not outside(np.radians(angles)).any() and np.abs(angles).max() > 2 * np.pi:
        raise TableError(
            f"{place}: q1 to q3 reach {np.abs(angles).max():.4g} rad; these are degrees. Write "
            "the unit as q1 [deg]."
        )
    k = int(np.argmax(out))
    turned = not outside(-angles[:, out]).any()
    why = "it has the wrong sign" if turned else "is it an angle of this robot, its zero as there?"
    raise TableError(
        f"{place}: q{turning[k] + 1} goes from {angles[:, k].min():.3g} to "
        f"{angles[:, k].max():.3g} rad, where the robot file allows {low:.3g} to {high:.3g}: {why}"
        f"{'.' if turned else ''}"
    )


def _check_acceleration(mechanism: AbstractMechanism, found: Samples) -> None:
    moving = np.sqrt(np.mean(found.qdd**2, axis=0)) > _SLOWEST
    if not moving[:3].any():
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
            least = -_DOUBT * np.sqrt(unexplained / len(qd))  # columns have length one
            found[i, j] = _Explained(
                float(solution[0]), bool(solution[1] < least), unexplained / total
            )
    return found


def static_noise(found: Sequence[Samples]) -> Float[np.ndarray, "n n"] | None:
    """Covariance of the efforts at rest [N^2 m^2], pooled over rests; None without any."""
    sums, count = 0.0, 0
    for log in found:
        still = (np.abs(log.qd) < _STILL).all(axis=1)
        edges = np.flatnonzero(np.diff(np.concatenate([[0], still.astype(int), [0]])))
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            if log.t[end - 1] - log.t[start] < _REST:
                continue
            part = log.tau[start:end] - log.tau[start:end].mean(axis=0)
            sums, count = sums + part.T @ part, count + len(part) - 1
    return None if count < LEAST_WINDOW else np.asarray(sums) / count


def joint_samples(
    robot: Robot,
    model: RigidRobot,
    table: Table,
    *,
    cutoff: float | None = None,
    window: int | None = None,
) -> tuple[Series, Series, Series, Series]:
    """q, qd, qdd and tau of a log of arms alone, whose loops need not close."""
    raw = _raw(robot, model.mechanism, table)
    step = _step(raw)
    raw = _filtered(raw, step, cutoff, table.place)
    window = odd_window(max(_WINDOW / step, LEAST_WINDOW)) if window is None else window
    qd, qdd = _rates(raw, step, window)
    keep = raw.whole.copy()
    keep[: window // 2] = keep[len(keep) - window // 2 :] = False
    return raw.q[keep], qd[keep], qdd[keep], raw.tau[keep]
