"""Logs of a robot: what its encoders said, sample by sample, and derivatives of that.

A log is a table with `t [s]` and columns such as `q1 [rad]`, `q2`, ..., one for each joint; rates
`qd1 [rad/s]`, accelerations `qdd1`, and whatever else was recorded. Samples are equally spaced.

Derivatives come from local polynomials of degree 4 (Savitzky and Golay, 1964), fitted to a window
of samples around each: no phase is lost, and noise above the window's own rate is.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from triskele.description.tables import Table
from triskele.errors import InputError, TableError
from triskele.kinematics.mechanism import AbstractMechanism

_JITTER = 0.02  #: of a step, that one may differ from the others
_DEGREE = 4
LEAST_WINDOW = _DEGREE + 1
_USUAL_WINDOW = 0.02  #: [s]
_ENOUGH = 0.6  #: of a window, that must be there
Series = Float[np.ndarray, "N k"]


class Log(NamedTuple):
    """Joints along a log."""

    t: Float[np.ndarray, " N"]  #: [s]
    q: Series  #: [rad, m]
    qd: Series
    qdd: Series
    table: Table  #: everything recorded

    @property
    def step(self) -> float:
        """Between samples [s]."""
        return float(self.t[-1] - self.t[0]) / (len(self.t) - 1)

    def columns(self, name: str, count: int, unit: str) -> Series | None:
        """`name1` to `name<count>`, None if there is none of them."""
        return _columns(self.table, name, [unit] * count)


def log_from_table(table: Table, mechanism: AbstractMechanism, window: int | None = None) -> Log:
    """The log in a table; rates it does not have come from `window` samples of the positions."""
    t = checked_times(table)
    joints = mechanism.joint_coordinates
    q, qd, qdd = (
        _columns(table, "q" + "d" * order, [f"{joint.unit}{rate}" for joint in joints])
        for order, rate in enumerate(("", "/s", "/s^2"))
    )
    if q is None:
        raise TableError(
            f"{table.place}: there is no column 'q1'; a log has t [s] and q1 [rad] to "
            f"q{len(joints)} [rad], and what else was recorded."
        )
    step = float(t[-1] - t[0]) / (len(t) - 1)
    if qdd is None:
        qdd = derivatives(q, step, window)[1] if qd is None else derivatives(qd, step, window)[0]
    if qd is None:
        qd = derivatives(q, step, window)[0]
    return Log(t, q, qd, qdd, table)


def _columns(table: Table, name: str, units: list[str]) -> Series | None:
    """Columns `name1`, `name2`, ... of a table; None if it has none of them."""
    names = [f"{name}{i + 1}" for i in range(len(units))]
    if not any(each in table for each in names):
        return None
    found = [table.column(each, unit) for each, unit in zip(names, units, strict=True)]
    return np.stack(found, axis=1)


def checked_times(table: Table) -> Float[np.ndarray, " N"]:
    """Times of a log [s], or the sentence that names the row in which they are wrong."""
    t = table.column("t", "s")
    if len(t) < LEAST_WINDOW:
        raise TableError(
            f"{table.place}: has {len(t)} rows; a log needs at least {LEAST_WINDOW} to tell rates."
        )
    steps = np.diff(t)
    if (steps <= 0).any():
        row = int(np.argmax(steps <= 0)) + 2
        raise TableError(
            f"{table.place}, row {row}, column 't': {t[row - 1]:g} s comes after {t[row - 2]:g} s; "
            "times must rise."
        )
    usual = float(np.median(steps))
    wrong = np.abs(steps - usual) > _JITTER * usual + 1e-12 * np.abs(t).max()
    if wrong.any():
        row = int(np.argmax(wrong)) + 2
        what = "a gap" if steps[row - 2] > usual else "a step"
        raise TableError(
            f"{table.place}, row {row}, column 't': {what} of {steps[row - 2]:.4g} s, where "
            f"samples are {usual:.4g} s apart. A log has equal steps: cut it there, or fill it in."
        )
    return t


def odd_window(samples: float) -> int:
    """The odd number near to so many samples, five at least."""
    return max(2 * round((samples - 1) / 2) + 1, LEAST_WINDOW)


def derivatives(values: Series, step: float, window: int | None = None) -> tuple[Series, Series]:
    """First and second derivative in time of samples `step` [s] apart.

    >>> t = np.arange(100) * 0.01
    >>> v, a = derivatives(np.sin(t)[:, None], 0.01)
    >>> bool(np.abs(v[:, 0] - np.cos(t)).max() < 1e-7)
    True
    """
    from scipy.signal import savgol_filter

    window = odd_window(_USUAL_WINDOW / step) if window is None else window
    if window % 2 == 0 or window < LEAST_WINDOW:
        raise InputError(f"A window has {LEAST_WINDOW}, 7, 9, ... samples, not {window}.")
    window = min(window, (len(values) - 1) // 2 * 2 + 1)
    fit = {"window_length": window, "polyorder": _DEGREE, "delta": step, "axis": 0}
    first, second = (np.asarray(savgol_filter(values, deriv=order, **fit)) for order in (1, 2))
    return first, second


def derivatives_with_gaps(
    values: Series, step: float, window: int, there: Bool[np.ndarray, " N"]
) -> tuple[Series, Series, Bool[np.ndarray, " N"]]:
    """The same of samples some of which are not `there`; and where enough of the window is.

    Each window has a polynomial of its own, fitted to the samples that it has.

    >>> t = np.arange(100) * 0.01
    >>> v, a, enough = derivatives_with_gaps(np.sin(t)[:, None], 0.01, 11, t != 0.5)
    >>> bool(enough[45]), bool(np.abs(v[45:55, 0] - np.cos(t[45:55])).max() < 1e-6)
    (True, True)
    """
    half = window // 2
    u = np.arange(-half, half + 1) / half
    powers = u[:, None] ** np.arange(2 * _DEGREE + 1)
    seen, known = there.astype(float), np.where(there[:, None], values, 0.0)

    def summed(series: np.ndarray, power: int) -> np.ndarray:
        return np.convolve(series, powers[::-1, power], mode="full")[half : half + len(series)]

    moments = np.stack([summed(seen, k) for k in range(2 * _DEGREE + 1)], axis=1)
    order = np.arange(_DEGREE + 1)
    M = moments[:, order[:, None] + order]
    count = [np.convolve(seen, side, mode="full")[half : half + len(seen)] for side in _sides(half)]
    enough = np.min(count, axis=0) >= _DEGREE // 2 + 1
    enough &= moments[:, 0] >= _ENOUGH * window
    enough[:half] = enough[len(enough) - half :] = False
    M[~enough] = np.eye(_DEGREE + 1)
    first, second = np.zeros(values.shape), np.zeros(values.shape)
    for k in range(values.shape[1]):
        middle = np.mean(known[there, k])
        b = np.stack([summed(known[:, k] - middle * seen, p) for p in range(_DEGREE + 1)], axis=1)
        solved = np.linalg.solve(M, b[..., None])[..., 0]
        first[:, k] = solved[:, 1] / (half * step)
        second[:, k] = 2 * solved[:, 2] / (half * step) ** 2
    return first, second, enough


def _sides(half: int) -> tuple[np.ndarray, np.ndarray]:
    """The two halves of a window, the sample itself in both."""
    ahead = np.concatenate([np.ones(half + 1), np.zeros(half)])
    return ahead, ahead[::-1]
