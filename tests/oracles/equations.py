"""What another engine says of a tree whose loops are closed, and how to solve it,

    M a + h = S' tau + J' lam,     J a + g = 0                                         (1)

with the motors tau, in the rows S of v, and the forces lam that close the loops.
"""

from typing import NamedTuple

import numpy as np
from configurations import Numbers

RANK_CUT = 1e-9  # of the largest singular value


class Forces(NamedTuple):
    """What moves a tree as wanted."""

    tau: Numbers
    lam: Numbers
    misfit: float


def solved(system: Numbers, given: Numbers) -> tuple[Numbers, float]:
    """The least solution of a system that has one, and what does not fit."""
    found = np.asarray(np.linalg.lstsq(system, given, rcond=RANK_CUT)[0], float)
    return found, float(np.abs(system @ found - given).max())


def allowed(J: Numbers) -> Numbers:
    """A basis (nv, freedom) of the joint velocities v with J v = 0."""
    _, values, rows = np.linalg.svd(J)
    rank = int((values > RANK_CUT * values[0]).sum())
    return rows[rank:].T


def forces(needed: Numbers, J: Numbers, motors: list[int]) -> Forces:
    """tau and lam of (1) that are `needed`, M a + h."""
    system = np.concatenate([np.eye(len(needed))[motors], J]).T
    shares, misfit = solved(system, needed)
    return Forces(*np.split(shares, [len(motors)]), misfit)


def acceleration(
    M: Numbers, h: Numbers, J: Numbers, g: Numbers, motors: list[int], tau: Numbers
) -> Numbers:
    """a of (1): one that keeps the loops closed, and what (1) asks of the allowed ones."""
    closing, _ = solved(J, -g)
    basis = allowed(J)
    push = tau @ np.eye(len(h))[motors] - h - M @ closing
    return closing + basis @ np.linalg.solve(basis.T @ M @ basis, basis.T @ push)


def relative(ours: Numbers, theirs: Numbers) -> float:
    """The largest difference of (N, n) arrays, each row relative to its largest entry."""
    return float((np.abs(ours - theirs).max(axis=1) / np.abs(ours).max(axis=1)).max())
