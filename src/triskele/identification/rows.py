"""What is wrong with single rows of a log: rows that were lost, held, or clipped.

A bus that sticks repeats a row while the robot moves on: angles and efforts of all drives stand
still at once, and jump afterwards. An amplifier at its limit writes the same extreme effort again
and again, where efforts just below it are all different. Either is left out, and counted.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

Series = Float[np.ndarray, "N n"]
Rows = Bool[np.ndarray, " N"]
_LEAST = 5  #: rows at an extreme that may be chance
_OFTEN = 4.0  #: times as many rows at the extreme as at any value beside it
_BESIDE = 8  #: values beside it
_FAST = 3.0  #: steps of an encoder that a joint jumps after a row that is held
_JUMP = 0.6  #: of the way that it would have gone, at the speed before and after


class Faulty(NamedTuple):
    """Rows that are not what the robot did."""

    held: Rows  #: repeated, all angles or all efforts at once
    clipped: Bool[np.ndarray, "N n"]  #: efforts at the end of what the drive gives


def faulty_rows(q: Series, tau: Series) -> Faulty:
    """Rows of a log that repeat others, and efforts that are clipped."""
    return Faulty(_held(q, tau), _clipped(q, tau))


def _held(q: Series, tau: Series) -> Rows:
    """Rows that equal the one before, at speeds at which no encoder would.

    Efforts of several drives are seldom equal by chance: not if each is equal once in ten rows.
    """
    steps = np.abs(np.diff(q, axis=0))
    still = (steps == 0).all(axis=1)
    resolution = np.array([s[s > 0].min(initial=np.inf) for s in steps.T])
    resolution[~np.isfinite(resolution)] = 1.0
    fast = np.zeros(len(still), bool)
    for start, end in _runs(still):
        if end == len(still):
            continue
        beside = [k for k in (start - 1, end + 1) if 0 <= k < len(still)]
        pace, jump = steps[beside].mean(axis=0), steps[end]
        gone = jump > np.maximum(_JUMP * (end - start + 1) * pace, _FAST * resolution)
        fast[start:end] = gone.any()
    same = (np.diff(tau, axis=0) == 0).all(axis=1)
    by_chance = np.prod((np.diff(tau, axis=0) == 0).mean(axis=0))
    sticking = same & ~still if same.mean() > 3 * by_chance + 1e-3 or fast.any() else same & False
    return np.concatenate([[False], (still & fast) | sticking])


def _runs(flags: Rows) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(int), [0]])))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _clipped(q: Series, tau: Series) -> Bool[np.ndarray, "N n"]:
    """Efforts of a moving robot that stand at their extreme, much more often than beside it."""
    moving = np.concatenate([[False], (np.diff(q, axis=0) != 0).any(axis=1)])
    found = np.zeros(tau.shape, bool)
    for k in range(tau.shape[1]):
        values, counts = np.unique(tau[moving, k], return_counts=True)
        for end, beside in ((-1, counts[-1 - _BESIDE : -1]), (0, counts[1 : 1 + _BESIDE])):
            if len(beside) < _BESIDE or counts[end] < _LEAST:
                continue
            if counts[end] > _OFTEN * beside.max():
                found[:, k] |= moving & (tau[:, k] == values[end])
    return found
