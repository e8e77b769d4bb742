"""Which joint conditions repeat others, how freely the bodies move, which reactions are unique.

    freedom = 6 bodies - rank J,      redundant = rows - rank J                            (1)

Every vector n with J' n = 0 is a state of stress that no motion feels: multipliers are known
up to such vectors only. A component of a reaction is unique if no n appears in it. Rank is
judged by singular values, after all residuals have become lengths (`primitives.py`).
"""

from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Float

from triskele.multibody.primitives import Drive
from triskele.multibody.system import State, System, conditions, jacobian, motion_of

_RANK_CUT = 1e-9  #: singular values below this part of the largest count as zero
_DEPENDENT = 1e-8  #: what is left of a unit row that follows from others
STRESS_CUT = 1e-7  #: parts of a unit state of stress below this count as none


class Mobility(NamedTuple):
    """How freely a system moves at one state, and what holds it more than once."""

    bodies: int
    rows: int
    rank: int
    freedom: int
    redundant: int
    gap: float  #: smallest kept over largest dropped singular value; large is clear
    stressed: tuple[str, ...]  #: joints that redundant conditions can stress
    removable: tuple[str, ...]  #: conditions that could go, one for each that is redundant

    @property
    def counts(self) -> str:
        """The numbers in a line."""
        return (
            f"{self.bodies} bodies, {self.rows} conditions of rank {self.rank}: "
            f"{_many(self.freedom, 'degree')} of freedom, "
            f"{_many(self.redundant, 'redundant condition')}"
        )

    def __str__(self) -> str:
        """The numbers, and in words what is redundant."""
        if not self.redundant:
            return self.counts
        parts: dict[str, list[str]] = {}
        for name in self.removable:
            joint, _, label = name.partition(", ")
            parts.setdefault(joint, []).append(label)
        listed = "; ".join(f"{joint}: {', '.join(labels)}" for joint, labels in parts.items())
        return f"{self.counts}. These conditions follow from the others: {listed}."


def _many(count: int, word: str) -> str:
    return f"{count or 'no'} {word}{'' if count == 1 else 's'}"


def mobility(system: System, state: State, drive: Drive | None = None) -> Mobility:
    """Counts of (1) at a state, drives included where they are prescribed."""
    J = np.asarray(_jacobian(system, state, drive))
    rank, gap, _ = _ranked(J)
    rows, bodies = len(J), len(system.bodies)
    stress = self_stress(J)
    felt = np.abs(stress).max(axis=1, initial=0.0) > STRESS_CUT
    names = _row_names(system)
    stressed = [joint.name for joint in system.joints if any(felt[row] for row in joint.rows)]
    return Mobility(
        bodies,
        rows,
        rank,
        6 * bodies - rank,
        rows - rank,
        gap,
        tuple(stressed),
        tuple(names[row] for row in _repeated(system, J)),
    )


@eqx.filter_jit
def _jacobian(system: System, state: State, drive: Drive | None) -> Array:
    return jacobian(system, conditions(system, motion_of(system, state), drive))


def _ranked(J: Float[np.ndarray, "rows v"]) -> tuple[int, float, Float[np.ndarray, " k"]]:
    if not len(J):
        return 0, np.inf, np.zeros(0)
    values = np.linalg.svd(J, compute_uv=False)
    rank = int((values > _RANK_CUT * values[0]).sum())
    dropped = max(values[rank:], default=0.0)
    return rank, float(values[rank - 1] / max(dropped, np.finfo(float).eps * values[0])), values


def self_stress(J: Float[np.ndarray, "rows v"]) -> Float[np.ndarray, "rows s"]:
    """Orthonormal multipliers that move nothing: J' n = 0."""
    if not len(J):
        return np.zeros((0, 0))
    left, values, _ = np.linalg.svd(J)
    rank = int((values > _RANK_CUT * values[0]).sum())
    return left[:, rank:]


def _repeated(system: System, J: Float[np.ndarray, "rows v"]) -> list[int]:
    """Rows that follow from rows before them, joint by joint in the order of the system."""
    basis = np.zeros((0, J.shape[1]))
    found = []
    for row in (row for joint in system.joints for row in joint.rows):
        direction = J[row] / np.linalg.norm(J[row])
        for _ in range(2):  # twice is enough
            direction = direction - (basis @ direction) @ basis
        length = np.linalg.norm(direction)
        if length < _DEPENDENT:
            found.append(row)
        else:
            basis = np.vstack([basis, direction / length])
    return found


def _row_names(system: System) -> dict[int, str]:
    return {
        row: f"{joint.name}, {label}"
        for joint in system.joints
        for row, label in zip(joint.rows, joint.labels, strict=True)
    }


def unique_rows(
    system: System, state: State, drive: Drive | None = None
) -> Bool[np.ndarray, " rows"]:
    """Whether each multiplier is unique."""
    stress = self_stress(np.asarray(_jacobian(system, state, drive)))
    return np.abs(stress).max(axis=1, initial=0.0) <= STRESS_CUT
