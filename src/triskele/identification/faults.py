"""What may be wrong with a model or a log, as columns that efforts would have then.

To first order in a fault of size d, efforts gain D d. With tau(q, qd, qdd) of the fitted robot,
e_k for drive k alone, and f for the effort of its load, rotor and friction apart:

    gain of a drive, of all e_k tau_k; tau, if there is a log with a known mass added   (1)
    zero of an angle        -dtau/dq_k                                                  (2)
    gear ratio              -e_k tau_k - dtau along (q_k, qd_k, qdd_k)                  (3)
    elastic drive           -dtau along (f_k, fd_k, fdd_k), compliance d                (4)
    delay of the efforts    -dtau/dt                                                    (5)
    constant effort         e_k                                                         (6)
    friction                e_k exp(-(qd/w_S)^2) tanh(qd/w_0), and other shapes         (7)
    mass in one log only    efforts of one kilogram more, in its samples                (8)

Derivatives along changes of the joints are differences of the exact model: loops stay closed.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float

from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import RigidRobot
from triskele.identification.consistent import ConsistentFit
from triskele.identification.regressor import INERTIA, drive_parts, groups
from triskele.identification.signals import Samples, moved
from triskele.kinematics.log import LEAST_WINDOW, derivatives_with_gaps, odd_window
from triskele.numerics import tabulate

Series = Float[np.ndarray, "N n"]
Columns = Float[np.ndarray, "N n k"]
_SMALL = 1e-6  #: relative change of joints in differences
_WINDOW = 0.03  #: [s] that rates of efforts are taken from
FADING = (0.02, 0.05, 0.1, 0.2, 0.4)  #: w_S, in root mean squares of the speed


class Fault(NamedTuple):
    """One thing that may be wrong."""

    kind: str
    drives: tuple[int, ...]  #: from 0; none: it is not one drive's
    columns: Columns
    scale: tuple[float, ...] = ()  #: a number that belongs to the columns, such as w_S
    log: str = ""


def bare(model: RigidRobot, fit: ConsistentFit, distinct: Sequence[str]) -> RigidRobot:
    """The fitted robot without friction."""
    names = [str(p) for p in fit.unknowns.parameters]
    theta, rotors = np.array(model.theta, float), np.array(model.rotors, float)
    for name, group in groups(model.mechanism, distinct).items():
        if name in fit.unknowns.forms:
            first = names.index(f"{name}.m")
            theta[group.members] = fit.values[first : first + len(INERTIA)]
    for part, k in drive_parts(model.mechanism).items():
        if f"{part}.rotor" in names:
            rotors[k] = fit.values[names.index(f"{part}.rotor")]
    nothing = ((None,) * len(model.drive_friction), (None,) * len(model.passive_friction), None)
    return eqx.tree_at(
        lambda r: (r.theta, r.rotors, r.drive_friction, r.passive_friction, r.ball_friction),
        model,
        (theta, rotors, *nothing),
        is_leaf=lambda leaf: leaf is None,
    )


class Suspect(NamedTuple):
    """What faults are made of: the fitted robot of each log, and what it predicts."""

    models: tuple[RigidRobot, ...]  #: without friction, each with its payload
    logs: tuple[Samples, ...]
    predicted: Series  #: efforts of all logs, friction included
    carrier: Series  #: efforts of one kilogram on the body that carries the payload
    smoothing: Float[np.ndarray, " n"]  #: w_0 of each drive

    def joined(self, name: str) -> Series:
        """One column of all logs."""
        return np.concatenate([getattr(log, name) for log in self.logs])


def faults(suspect: Suspect) -> Iterator[Fault]:
    """All that are linear in their size."""
    q, qd, qdd = (suspect.joined(name) for name in ("q", "qd", "qdd"))
    n, tau = q.shape[1], suspect.predicted
    own = np.eye(n)
    speed = np.maximum(np.sqrt(np.mean(qd**2, axis=0)), 1e-9)
    dry = np.tanh(qd / suspect.smoothing)
    for k in range(n):
        yield Fault("gain", (k,), (tau[:, k, None] * own[k])[..., None])
        yield Fault("zero", (k,), -_along(suspect, own[k] + 0 * q, 0 * q, 0 * q)[..., None])
        turned = _along(suspect, q * own[k], qd * own[k], qdd * own[k])
        yield Fault("gear", (k,), -(turned + tau * own[k])[..., None])
    every = tuple(range(n))
    yield Fault("common", (), tau[..., None])
    yield Fault("constant", every, _each(np.ones(q.shape)))
    for part in FADING:
        faded = np.exp(-((qd / (part * speed)) ** 2))
        yield Fault("stribeck", every, _each(faded * dry), tuple(part * speed))
    yield Fault("curved", every, _each(qd * np.abs(qd) / speed))
    yield Fault("curved", every, _each(np.sign(qd) * np.sqrt(np.abs(qd / speed))))
    yield Fault("uneven", every, _each(np.abs(qd / speed)))
    load = _load(suspect, rotors=True)
    yield Fault("load", every, _each(np.abs(load) * dry))
    yield delay(suspect)
    yield _elastic(suspect)
    if len(suspect.logs) > 1:
        edges = np.cumsum([0, *(len(log.t) for log in suspect.logs)])
        for log, a, b in zip(suspect.logs, edges, edges[1:], strict=False):
            column = np.zeros(tau.shape)
            column[a:b] = suspect.carrier[a:b]
            yield Fault("mass", (), column[..., None], log=log.name)


def delay(suspect: Suspect) -> Fault:
    """Equation (5)."""
    return Fault("delay", (), -_in_time(suspect, suspect.predicted)[0][..., None])


def unnamed(suspect: Suspect) -> Fault:
    """Whatever depends on a drive's own angle, speed or acceleration, smoothly."""
    n = suspect.predicted.shape[1]
    blocks = []
    for name in ("q", "qd", "qdd"):
        values = suspect.joined(name)
        z = (values - values.mean(axis=0)) / np.maximum(values.std(axis=0), 1e-12)
        blocks += [_each(z**2), _each(z**3)]
    return Fault("unnamed", tuple(range(n)), np.concatenate(blocks, axis=2))


def _each(values: Series) -> Columns:
    """A column of its own for each drive."""
    return values[:, :, None] * np.eye(values.shape[1])


def _along(suspect: Suspect, dq: Series, dqd: Series, dqdd: Series) -> Series:
    """Derivative of the load's efforts along a change of the joints' motion."""
    found, first = [], 0
    for model, log in zip(suspect.models, suspect.logs, strict=True):
        own = slice(first, first + len(log.t))
        first += len(log.t)
        size = _SMALL / max(np.abs(dq[own]).max(), 1e-300)
        found.append(_difference(model, log, dq[own], dqd[own], dqdd[own], size))
    return np.concatenate(found)


def _difference(
    model: RigidRobot, log: Samples, dq: Series, dqd: Series, dqdd: Series, size: float
) -> Series:
    """By central differences: the platform follows dq to first order."""
    mechanism = model.mechanism
    dx, _ = moved(mechanism, log.q, log.x, dq, np.zeros(dq.shape))
    sides = []
    for h in (size, -size):
        q, x = log.q + h * dq, log.x + h * dx
        xd, xdd = moved(mechanism, q, x, log.qd + h * dqd, log.qdd + h * dqdd)
        sides.append(_efforts(model, x, xd, xdd))
    return (sides[0] - sides[1]) / (2 * size)


def _efforts(model: RigidRobot, x: Series, xd: Series, xdd: Series) -> Series:
    return np.stack(tabulate(eqx.Partial(inverse_dynamics, model))(x, xd, xdd), axis=-1)


def _load(suspect: Suspect, *, rotors: bool) -> Series:
    """Efforts of the robot without friction, and without the inertia of motors."""
    found = []
    for model, log in zip(suspect.models, suspect.logs, strict=True):
        tau = _efforts(model, log.x, log.xd, log.xdd)
        found.append(tau if rotors else tau - np.asarray(model.rotors) * log.qdd)
    return np.concatenate(found)


def _in_time(suspect: Suspect, values: Series) -> tuple[Series, Series]:
    """Rates of a series along all logs; zero beside gaps and ends."""
    found, first = [], 0
    for log in suspect.logs:
        own = values[first : first + len(log.t)]
        first += len(log.t)
        step = float(np.median(np.diff(log.t)))
        place = np.round((log.t - log.t[0]) / step).astype(int)
        grid = np.zeros((place[-1] + 1, values.shape[1]))
        there = np.zeros(len(grid), bool)
        grid[place], there[place] = own, True
        window = odd_window(max(_WINDOW / step, float(LEAST_WINDOW)))
        one, two, enough = derivatives_with_gaps(grid, step, window, there)
        one[~enough], two[~enough] = 0.0, 0.0
        found.append((one[place], two[place]))
    first_rates, second_rates = zip(*found, strict=True)
    return np.concatenate(first_rates), np.concatenate(second_rates)


def _elastic(suspect: Suspect) -> Fault:
    """Equation (4): motors are ahead of their joints by the effort of the load over a stiffness."""
    load = _load(suspect, rotors=False)
    rate, second = _in_time(suspect, load)
    n = load.shape[1]
    motors = np.stack([np.asarray(m.rotors, float) for m in suspect.models])
    lengths = [len(log.t) for log in suspect.logs]
    rotors = np.repeat(motors, lengths, axis=0)
    columns = []
    for own in np.eye(n):
        change = _along(suspect, load * own, rate * own, second * own)
        columns.append(-(change - rotors * second * own))
    return Fault("elastic", tuple(range(n)), np.stack(columns, axis=2))
