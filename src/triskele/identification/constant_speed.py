"""Stretches of a log in which a drive moves at constant speed, and the friction at each speed.

At constant speed w the effort of a drive is what its load takes, and friction,

    tau = tau_load(q, qd, qdd) + f(w)                                                   (1)

tau_load comes from the model, without friction of the drives. What the model does not know of
gravity depends on the position, not on the direction: over positions that a drive passes in both
directions, cut into K bins with the means m+ and m- of tau - tau_load,

    d_k = (m+_k - m-_k) / 2,     f(w) = mean d_k,     s^2 = sum (d_k - f)^2 / (K (K - 1))   (2)

so that f holds without a model too, if the other drives are where they were. The standard error s
is that of means of bins: noise that is correlated within one, and ripple, are in it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

Vector = Float[np.ndarray, " N"]
Series = Float[np.ndarray, "N n"]
CONSTANT = 0.05  #: relative change of a speed that counts as constant
LEAST_STRETCH = 0.2  #: [s]
_HALF = 0.05  #: [s] over which means of the speed are compared
_STILL = 2e-3  #: [rad/s, m/s] below which a drive rests
_BINS = 20
_LEAST_BINS = 5
_LEAST_IN_BIN = 3  #: samples of either direction
_SHARED = 0.5  #: of the shorter way, that both directions have in common
_ELSEWHERE = 0.01  #: [rad, m] between the other drives to and fro


class DriveLog(NamedTuple):
    """One log as one drive has it."""

    t: Vector  #: [s]
    q: Vector  #: [rad, m]
    qd: Vector
    others: Series  #: positions of the other drives
    rest: Vector  #: tau - tau_load of (1) [N m, N]; tau itself without a model


class Stretch(NamedTuple):
    """Samples of one drive at constant speed, in one direction."""

    speed: float  #: [rad/s, m/s], with its sign
    q: Vector
    others: Series
    rest: Vector


class SpeedPoint(NamedTuple):
    """Friction at one speed."""

    speed: float  #: [rad/s, m/s]
    friction: float  #: f of (2) [N m, N]; where the drive went one way alone, that of this way
    error: float  #: standard error of it
    deviation: float  #: standard deviation of the samples about the means of their bins
    forward: float | None  #: mean of tau - tau_load, at +w
    backward: float | None  #: at -w
    bins: int  #: K
    samples: int

    @property
    def both(self) -> bool:
        """Whether the drive went to and fro."""
        return self.forward is not None and self.backward is not None


class Stretches(NamedTuple):
    """What was found in a log, and what was left out."""

    found: list[Stretch]
    short: int  #: stretches that are too short
    drifting: list[tuple[float, float]]  #: first and last speed of those that are not constant


def stretches(log: DriveLog, least: float = LEAST_STRETCH) -> Stretches:
    """Stretches of at least `least` [s]; means over 50 ms before and after a sample agree."""
    step = float(np.median(np.diff(log.t)))
    h, n = max(round(_HALF / step), 2), len(log.t)
    found, drifting, short = [], [], 0
    if n <= 2 * h:
        return Stretches(found, short, drifting)
    total = np.concatenate([[0.0], np.cumsum(log.qd)])
    means = (total[h:] - total[:-h]) / h
    before, after = means[: n - 2 * h + 1], means[h : n - h + 1]
    speed, change = (before + after) / 2, np.abs(after - before)
    whole = log.t[2 * h - 1 :] - log.t[: n - 2 * h + 1] < (2 * h - 0.5) * step
    steady = whole & (np.abs(speed) > _STILL) & (change <= CONSTANT * np.abs(speed))
    edges = np.flatnonzero(np.diff(np.concatenate([[0], steady.astype(int), [0]])))
    for a, b in zip(edges[::2], edges[1::2], strict=True):
        mean = float(np.mean(speed[a:b]))
        if (b - a - 1) * step < least - 2 * _HALF:
            short += 1
        elif np.ptp(speed[a:b]) > CONSTANT * abs(mean):
            drifting.append((float(speed[a]), float(speed[b - 1])))
        else:
            own = slice(a + h, b + h - 1)  # ramps begin beyond the middle of a window
            found.append(Stretch(mean, log.q[own], log.others[own], log.rest[own]))
    return Stretches(found, short, drifting)


def levels(found: Sequence[Stretch]) -> list[list[Stretch]]:
    """Stretches of the same speed, either direction, slowest first."""
    groups: list[list[Stretch]] = []
    for stretch in sorted(found, key=lambda s: abs(s.speed)):
        if groups and abs(stretch.speed) <= (1 + CONSTANT) * abs(groups[-1][0].speed):
            groups[-1].append(stretch)
        else:
            groups.append([stretch])
    return groups


def speed_point(level: Sequence[Stretch], *, modelled: bool) -> SpeedPoint | str:
    """Equation (2) at one speed, or the words that say why there is none."""
    speed = float(np.mean([abs(s.speed) for s in level]))
    ways = [[s for s in level if s.speed > 0], [s for s in level if s.speed < 0]]
    joined = [_joined(way) for way in ways if way]
    if len(joined) == 1:
        one = "one direction only"
        return _one_way(speed, joined[0], bool(ways[0])) if modelled else one
    (q, others, rest), (q_back, others_back, rest_back) = joined
    low, high = max(q.min(), q_back.min()), min(q.max(), q_back.max())
    shared = high - low > _SHARED * min(np.ptp(q), np.ptp(q_back))
    if not shared and not modelled:
        return "both directions pass other positions, and there is no model of the load"
    if shared:
        places = [(q - low) / (high - low), (q_back - low) / (high - low)]
    else:  # other ways, each from its end to its end
        places = [(p - p.min()) / max(np.ptp(p), 1e-300) for p in (q, q_back)]
    inside = [(place >= 0) & (place <= 1) for place in places]
    least = min(int(part.sum()) for part in inside)
    count = min(_BINS, least // _LEAST_IN_BIN)
    if count < _LEAST_BINS:
        return f"{least} samples are too few"
    bins = [
        np.minimum((place[part] * count).astype(int), count - 1)
        for place, part in zip(places, inside, strict=True)
    ]
    values = [rest[inside[0]], rest_back[inside[1]]]
    means = [_means(v, b, count) for v, b in zip(values, bins, strict=True)]
    if not modelled and shared:
        elsewhere = [
            np.stack([_means(column, b, count) for column in part[seen].T], axis=1)
            for part, seen, b in zip((others, others_back), inside, bins, strict=True)
            if part.shape[1]
        ]
        if elsewhere and np.nanmax(np.abs(elsewhere[0] - elsewhere[1])) > _ELSEWHERE:
            return "the other drives are elsewhere on the way back, and there is no model"
    d = (means[0] - means[1]) / 2
    d = d[np.isfinite(d)]
    if len(d) < _LEAST_BINS:
        return f"samples in {len(d)} parts of the way are too few"
    about = [v - m[b] for v, m, b in zip(values, means, bins, strict=True)]
    freedom = sum(len(v) - np.isfinite(m).sum() for v, m in zip(values, means, strict=True))
    return SpeedPoint(
        speed,
        float(d.mean()),
        _error(d),
        float(np.sqrt(np.sum(np.concatenate(about) ** 2) / freedom)),
        float(np.nanmean(means[0])),
        float(np.nanmean(means[1])),
        len(d),
        sum(map(len, values)),
    )


def _joined(way: Sequence[Stretch]) -> tuple[Vector, Series, Vector]:
    """Positions, those of the others, and what is left of efforts, of some stretches."""
    parts = zip(*(stretch[1:] for stretch in way), strict=True)
    q, others, rest = (np.concatenate(part) for part in parts)
    return q, others, rest


def _one_way(speed: float, samples: tuple[Vector, Series, Vector], forward: bool) -> SpeedPoint:
    """Friction by the model alone, from bins of time."""
    rest = samples[2]
    parts = np.array_split(rest, max(min(_BINS, len(rest) // _LEAST_IN_BIN), 2))
    means = np.array([part.mean() for part in parts])
    mean = float(means.mean())
    ends = (mean, None) if forward else (None, mean)
    about = np.concatenate([p - m for p, m in zip(parts, means, strict=True)])
    spread = float(np.sqrt(np.sum(about**2) / (len(about) - len(means))))
    return SpeedPoint(
        *(speed, mean if forward else -mean, _error(means), spread, *ends),
        bins=len(means),
        samples=len(rest),
    )


def _means(values: Vector, bins: np.ndarray, count: int) -> Float[np.ndarray, " K"]:
    """Of the values in each bin; NaN in an empty one."""
    number = np.bincount(bins, minlength=count)
    sums = np.bincount(bins, weights=values, minlength=count)
    return np.where(number > 0, sums / np.maximum(number, 1), np.nan)


def _error(means: Float[np.ndarray, " K"]) -> float:
    """Standard error of the mean of these."""
    return float(np.std(means, ddof=1) / np.sqrt(len(means)))
