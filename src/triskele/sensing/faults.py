"""Faults of a log that spoil a virtual sensor without being seen: held samples, late channels.

**Held.** A channel that repeats its last value, and then jumps to where it should be, was not
read. The jump is more than counts or noise explain, and the step after it is less: a smooth motion
that starts from rest has growing steps.

**Late.** Hinges and motors of one robot fit together at every instant, phi = phi(q). With the time
by which each channel is late, zeros z and a scale s of the bending b as unknowns,

    read_i - phi_i(q) - b_i
        = z_i - phid_i tau_i + sum_j dphi_i/dq_j (qd_j tau_j - z_j) + s b_i             (1)

in least squares over the log. Only differences of delays can be found: that of the motors, in the
median, is zero. Deviations come from blocks of the log, as errors next to each other are alike.
"""

import equinox as eqx
import numpy as np
from jaxtyping import Float

from triskele.errors import TableError
from triskele.kinematics.delta import Delta
from triskele.kinematics.log import Log, derivatives
from triskele.numerics import Scalars, tabulate
from triskele.sensing.deviations import Deviations
from triskele.sensing.expected import LIMBS, expected
from triskele.sensing.reading import Inputs, Series, columns
from triskele.sensing.rods import rod_angles

_COUNTS = 3.0  #: a jump of so many counts is none of rounding
_NOISE = 6.0  #: and so many deviations of the noise
_LESS = 0.7  #: of the jump is the next step at most
_SURE = 6.0  #: deviations by which a delay differs from none
_LEAST = 0.1  #: of a sample, the least delay that is spoken of
_WORST = 0.5  #: from which on the log is refused
_STATED = 3.0  #: deviations of the timing that a file states
_EXPLAINED = 0.5  #: of the misfit's variance is gone with the delays
_BLOCKS = 20
Delays = dict[str, Float[np.ndarray, " 3"]]


# Held samples


def check_held(log: Log, known: Deviations) -> None:
    """Raise the sentence if channels hold their values while the robot moves."""
    held: dict[str, np.ndarray] = {}
    for name in ("q", "wrist", "elbow"):
        count = known.motor_count if name == "q" else known.passive_count
        for k in range(LIMBS):
            column = f"{name}{k + 1}"
            if column in log.table:
                rows = held_rows(log.table.column(column, "rad"), count)
                if rows.any():
                    held[column] = rows
    if not held:
        return
    any_of = np.logical_or.reduce(list(held.values()))
    first = int(np.argmax(any_of))
    longest = max(_longest(rows) for rows in held.values())
    names = ", ".join(f"'{name}'" for name in held)
    raise TableError(
        f"{log.table.place}, row {first + 1}, column {names}: {int(any_of.sum())} of {len(log.t)} "
        f"samples repeat the one before while the robot moves, up to {longest} in a row; these "
        "channels were not read there. Log them anew, or cut the log around these rows."
    )


def held_rows(values: Float[np.ndarray, " N"], count: float) -> np.ndarray:
    """Which samples repeat the one before though the signal moves, by the counts of its encoder."""
    steps = np.diff(values)
    fresh = steps[steps != 0]
    held = np.zeros(len(values), bool)
    if len(fresh) < 3:
        return held
    noise = 1.4826 * np.median(np.abs(np.diff(fresh))) / np.sqrt(6)
    least = max(_COUNTS * max(count, float(np.abs(fresh).min())), _NOISE * noise)
    jumps = np.flatnonzero((steps[1:] != 0) & (steps[:-1] == 0)) + 1
    for j in jumps:
        after = steps[j + 1] * np.sign(steps[j]) if j + 1 < len(steps) else 0.0
        if abs(steps[j]) > least and after < _LESS * abs(steps[j]):
            moved = np.flatnonzero(steps[:j])
            held[(moved[-1] + 2 if len(moved) else 1) : j + 1] = True
    return held


def _longest(rows: np.ndarray) -> int:
    ends = np.flatnonzero(np.diff(np.r_[0, rows.astype(int), 0]))
    return int((ends[1::2] - ends[::2]).max())


# Late channels


def faults(inputs: Inputs, timing: float = 0.0) -> tuple[tuple[str, ...], Delays]:
    """Remarks on channels that are late, and by how much [s]; a sentence if it is too much.

    Up to three times the deviation `timing` [s] that the robot file states is not too much.
    """
    if not inputs.hinges:
        return (), {}
    step, place = inputs.log.step, inputs.log.table.place
    remarks, found = [], {}
    for name, (late, sigma) in delays(inputs).items():
        sure = np.abs(late) > np.maximum(_SURE * sigma, _LEAST * step)
        for k in np.flatnonzero(sure):
            how = "late" if late[k] > 0 else "early"
            what = (
                f"{place}, column '{name}{k + 1}': is {abs(late[k]) / step:.2f} +- "
                f"{sigma[k] / step:.2g} samples ({1e3 * abs(late[k]):.3g} ms) {how} against the "
                "motors"
            )
            if abs(late[k]) >= max(_WORST * step, _STATED * timing):
                raise TableError(f"{what}. Shift it in the log by as much.")
            remarks.append(f"{what}; the deviations contain as much.")
        found[name] = np.where(sure, late, 0.0)
    return tuple(remarks), found


def delays(inputs: Inputs) -> dict[str, tuple[Float[np.ndarray, " 3"], Float[np.ndarray, " 3"]]]:
    """How late motors ("q") and hinges are read [s], and standard deviations; 0 if it is unclear.

    Equation (1), relative to the median of the motors.
    """
    names = list(inputs.hinges)
    kinds = ["q", *names]
    misfit, still, late = _equations(inputs)
    both = np.concatenate([still, late], axis=2)
    without, _ = _solved(still, misfit)
    theta, covariance = _solved(both, misfit)
    left = [np.mean((misfit - A @ x) ** 2) for A, x in ((still, without), (both, theta))]
    count = LIMBS * len(kinds)
    if not left[1] < (1 - _EXPLAINED) * left[0]:
        return {name: (np.zeros(LIMBS), np.full(LIMBS, np.inf)) for name in kinds}
    to_motors = np.eye(count)
    to_motors[:, int(np.argsort(theta[-count:][:LIMBS])[LIMBS // 2])] -= 1.0
    tau = to_motors @ theta[-count:]
    sigma = np.sqrt(np.diag(to_motors @ covariance[-count:, -count:] @ to_motors.T))
    parts = zip(np.split(tau, len(kinds)), np.split(sigma, len(kinds)), strict=True)
    return dict(zip(kinds, parts, strict=True))


def _equations(inputs: Inputs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Misfit (N, m) of (1), and its coefficients (N, m, k): without delays, and of them."""
    log, names = inputs.log, list(inputs.hinges)
    found = expected(inputs)
    n, m = len(log.t), LIMBS * len(names)
    turns = _turns(inputs)  # N, limb, motor
    phid = np.einsum("nij,nj->ni", turns, log.qd[:, :LIMBS])
    misfit = np.concatenate([inputs.hinges[k] - found.readings[k] for k in names], axis=1)
    still = np.zeros((n, m, m + LIMBS + 1))
    late = np.zeros((n, m, m + LIMBS))
    for at, name in enumerate(names):
        rows = slice(LIMBS * at, LIMBS * (at + 1))
        own = turns - (np.eye(LIMBS) if name == "elbow" else 0.0)
        rate = phid - (log.qd[:, :LIMBS] if name == "elbow" else 0.0)
        rate = rate + derivatives(found.bending[name], log.step)[0]
        still[:, rows, LIMBS * at + np.arange(LIMBS)] = np.eye(LIMBS)
        still[:, rows, m : m + LIMBS] = -own
        still[:, rows, -1] = found.bending[name]
        late[:, rows, :LIMBS] = own * log.qd[:, None, :LIMBS]
        diagonal = LIMBS * at + np.arange(LIMBS)
        late[:, diagonal, LIMBS + diagonal] = -rate
    return misfit, still, late


def _turns(inputs: Inputs, small: float = 1e-6) -> Float[np.ndarray, "N 3 3"]:
    """dphi_i / dq_j along a log."""
    q, law = inputs.log.q, tabulate(eqx.Partial(_angles, inputs.rods.mechanism))

    def angles(at: np.ndarray) -> Series:
        return columns(law(at))

    found = []
    for j in range(LIMBS):
        off = np.zeros(q.shape[1])
        off[j] = small
        found.append((angles(q + off) - angles(q - off)) / (2 * small))
    return np.stack(found, axis=2)


def _angles(delta: Delta, q: Scalars) -> Scalars:
    return rod_angles(delta, q)[0]


def _solved(A: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least squares of A (N, m, k) against b (N, m), and its covariance from blocks of rows."""
    scale = np.sqrt(np.mean(A**2, axis=(0, 1)))
    scale[scale < 1e-12 * max(scale.max(), 1e-300)] = np.inf  # what never moves is not seen
    scaled = A / scale
    inverse = np.linalg.pinv(np.einsum("nmi,nmj->ij", scaled, scaled), rcond=1e-9, hermitian=True)
    x = inverse @ np.einsum("nmi,nm->i", scaled, b)
    pushes = np.einsum("nmi,nm->ni", scaled, b - scaled @ x)
    sums = [part.sum(axis=0) for part in np.array_split(pushes, _BLOCKS)]
    covariance = inverse @ sum(np.outer(s, s) for s in sums) @ inverse
    return x / scale, covariance / np.outer(scale, scale)
