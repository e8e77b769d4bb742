"""Which fault explains what the model leaves over, how surely, and what it did to the parameters.

Faults (`faults.py`) compete: the one that leaves least, a price of log(rows) on each of its
numbers, is named, together with any that does nearly as well. It counts if noise does as much once
in 10^5 logs, noise that is correlated in time included, and if it moved a base parameter by a
third of its deviation or more. A delay is sought among whole samples, since jumps of friction make
(5) of `faults.py` a poor guess.

Logs can contradict each other even where no fault is named: base parameters of the fitted logs and
of those held out must agree.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from triskele.identification.evidence import Evidence, Explained, explained
from triskele.identification.faults import Fault, Suspect, delay, faults, unnamed

Series = Float[np.ndarray, "N n"]
SURE = 1e-5  #: chance of noise, below which a fault counts
_MOVED = 0.3  #: deviations of a base parameter, to first order
NEARLY = 0.9  #: of what the best fault explains
_LATEST = 0.03  #: [s] that efforts may be late or early
BIASED = 3.0  #: deviations


class Finding(NamedTuple):
    """One fault that counts."""

    kind: str
    drives: tuple[int, ...]  #: from 0
    values: tuple[float, ...]  #: size, one for each column
    deviations: tuple[float, ...]
    share: float  #: of what was left over, that it explains
    chance: float
    moved: float  #: deviations of the base parameter that it moved most
    worst: int  #: that base parameter
    scale: tuple[float, ...] = ()
    log: str = ""


class _Candidate(NamedTuple):
    fault: Fault
    found: Explained
    left: float  #: of e' e
    price: float


def examine(
    known: Evidence,
    suspect: Suspect,
    to_read: Float[np.ndarray, "r r"],
    deviation: Float[np.ndarray, " r"],
) -> tuple[Finding, ...]:
    """The fault that explains most, then those that nearly do; empty if none counts."""
    candidates = [*_weighed(known, faults(suspect))]
    late = _late(known, suspect)
    if late is not None:
        candidates = [c for c in candidates if c.fault.kind != "delay"] + [late]
    rest = [*_weighed(known, [unnamed(suspect)])]
    counting = []
    for candidate in candidates + rest:
        finding = _finding(known, candidate, to_read, deviation)
        if finding.chance < SURE and finding.moved > _MOVED:
            counting.append((candidate, finding))
    named = [pair for pair in counting if pair[1].kind != "unnamed"]
    counting = named or counting
    if not counting:
        return ()
    counting.sort(key=lambda pair: pair[0].left * np.exp(pair[0].price))
    best = counting[0][1]
    found = {best.kind: best}
    for _, finding in counting[1:]:
        if finding.share > NEARLY * best.share:
            found.setdefault(finding.kind, finding)
    return tuple(found.values())


def _weighed(known: Evidence, kinds: Iterable[Fault]) -> list[_Candidate]:
    rows, found = len(known.rest), []
    for fault in kinds:
        what = explained(known, fault.columns)
        if what is None:
            continue
        count = fault.columns.shape[2] + len(fault.scale[:1])
        left = rows / (rows + what.gain)
        found.append(_Candidate(fault, what, left, count * np.log(rows) / rows))
    return found


def _finding(
    known: Evidence, candidate: _Candidate, to_read: np.ndarray, deviation: np.ndarray
) -> Finding:
    fault, what, left, _ = candidate
    moved = np.abs(to_read @ what.moved[: len(deviation)]) / np.maximum(deviation, 1e-300)
    less = fault.kind == "stribeck" and np.sum(what.values / what.deviations) < 0
    return Finding(
        "curved" if less else fault.kind,
        fault.drives,
        tuple(map(float, what.values)),
        tuple(map(float, what.deviations)),
        1 - left,
        what.chance,
        float(moved.max()),
        int(moved.argmax()),
        fault.scale,
        fault.log,
    )


def _late(known: Evidence, suspect: Suspect) -> _Candidate | None:
    """Efforts that lag, by whole samples, then by a parabola between; None if less than one."""
    lengths = [len(log.t) for log in suspect.logs]
    steps = [float(np.median(np.diff(log.t))) for log in suspect.logs]
    most = max(int(_LATEST / steps[0]), 2)
    edges = np.cumsum([0, *lengths])
    keep, n = [], known.weight.shape[1]
    for log, step, a in zip(suspect.logs, steps, edges, strict=False):
        i = np.arange(most, len(log.t) - most)
        even = np.abs(log.t[i + most] - log.t[i - most] - 2 * most * step) < 0.5 * step
        keep.append(a + i[even])
    rows = np.concatenate(keep)
    if len(rows) * n < 10 * known.Q.shape[1]:
        return None
    outlying = known.weight / known.weight.max(axis=0)  # weights stay behind: they are of lag 0
    wide = known.Q.reshape(-1, n, known.Q.shape[1]) / outlying[:, :, None]
    Q, _ = np.linalg.qr(wide[rows].reshape(-1, wide.shape[2]))
    whole = known.wanted.reshape(-1, n) / outlying
    lags, left = np.arange(-most, most + 1), []
    for lag in lags:
        part = whole[rows + lag].ravel()
        left.append(part @ part - np.sum((Q.T @ part) ** 2))
    left = np.array(left)
    best = int(np.clip(left.argmin(), 1, len(lags) - 2))
    if lags[best] == 0 or left[best] > left[most]:
        return None
    a, b, c = left[best - 1 : best + 2]
    value = steps[0] * (lags[best] + 0.5 * (a - c) / max(a - 2 * b + c, 1e-300))
    fault = delay(suspect)
    what = explained(known, fault.columns)
    if what is None:
        return None
    ratio = float(left[best] / left[most])
    spread = steps[0] * np.sqrt(2 * b / len(rows) / n / max(a - 2 * b + c, 1e-300))
    change = value / what.values[0] if what.values[0] else 1.0
    what = what._replace(
        values=np.array([value]),
        deviations=np.array([max(float(spread), 1e-6)]),
        moved=what.moved * change,
        chance=min(what.chance, float(np.exp(-0.5 * len(rows) * n * (1 / ratio - 1) / 10))),
    )
    return _Candidate(fault, what, ratio, np.log(len(known.rest)) / len(known.rest))
