"""All branches of the position problems: working modes of `inverse`, assembly modes of `forward`.

A working mode chooses one of two elbows per leg. Assembly modes are the ways to close the
loops with locked motors: two for a Delta, up to sixteen for a 3PRS, whose platform rests on
three bars that swing in their leg planes. There

    B_i(alpha_i) = (a_i - s_i) e_i + L_i (-cos alpha_i e_i + sin alpha_i k)             (1)
    |B_i - B_j| = D_ij,  the sides of the platform                                      (2)

For a given alpha_1, (2) with j = 1 is linear in cos and sin of alpha_2, and of alpha_3: two
values each. What is left is one function of alpha_1 on four branches, whose roots are found
by a scan and bisection. A double root, where two modes meet, may be missed.

Other mechanisms have no such form: `searched.py` starts from many random poses.
"""

import dataclasses
import itertools
from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from triskele.kinematics.mechanism import AbstractMechanism, PositionSolution
from triskele.numerics import Components

_SCAN = 1441  # values of alpha_1 in a turn: every quarter of a degree
Numbers = NDArray[np.float64]


def working_modes(
    mechanism: AbstractMechanism, x: Components
) -> dict[tuple[int, ...], PositionSolution]:
    """`inverse` at `x` in each of the 2^legs working modes, by mode."""
    signs = itertools.product((1, -1), repeat=len(mechanism.working_mode))
    return {mode: dataclasses.replace(mechanism, working_mode=mode).inverse(x) for mode in signs}


def closing(
    mechanism: AbstractMechanism, q: Components, candidates: Numbers
) -> Float[np.ndarray, "modes m"]:
    """Those of `candidates` (modes, m) that close the loops, each once."""
    loop = float(max(np.asarray(length) for length in mechanism.scales().loops))
    found: list[Numbers] = []
    for x in candidates:
        residual = np.abs(np.asarray(mechanism.closure(q, x))).max()
        new = all(np.abs(x - other).max() > 1e-6 for other in found)
        if residual < 1e-9 * loop**2 and new:
            found.append(x)
    return np.array(found).reshape(len(found), len(mechanism.scales().platform))


def level_or_tilted(gamma: Numbers, a: Numbers, b: Numbers, L: Numbers, *, s: Numbers) -> Numbers:
    """Candidates (z, psi, theta) for a 3PRS with sliders at `s` [m], from (1) and (2)."""
    e = np.stack([np.cos(gamma), np.sin(gamma), np.zeros(3)], axis=1)
    C = (a - s)[:, None] * e
    local = b[:, None] * e

    def joint(i: int, alpha: float) -> Numbers:
        return C[i] + L[i] * np.array([*(-np.cos(alpha) * e[i, :2]), np.sin(alpha)])

    def swing(i: int, other: Numbers, sign: int) -> float:
        """alpha_i that puts B_i at the platform's side from B_1 = `other`; NaN if none."""
        w = other - C[i]
        side_sq = ((local[i] - local[0]) ** 2).sum()
        across, up = -w @ e[i], w[2]
        cosine = (w @ w + L[i] ** 2 - side_sq) / (2 * L[i] * np.hypot(across, up))
        return np.arctan2(up, across) + sign * np.arccos(cosine) if abs(cosine) <= 1 else np.nan

    def triangle(alpha: float, signs: tuple[int, ...]) -> Numbers:
        first = joint(0, alpha)
        rest = (joint(i, swing(i, first, sign)) for i, sign in zip((1, 2), signs, strict=True))
        return np.stack([first, *rest])

    last_side_sq = ((local[2] - local[1]) ** 2).sum()
    poses = []
    for signs in itertools.product((1, -1), repeat=2):

        def gap(alpha: float, signs: tuple[int, ...] = signs) -> float:
            B = triangle(alpha, signs)
            return ((B[2] - B[1]) ** 2).sum() - last_side_sq

        poses += [_pose(triangle(root, signs), local) for root in _roots(gap)]
    return np.array(poses, float).reshape(len(poses), 3)


def _roots(function: Callable[[float], float]) -> list[float]:
    """Roots in one turn where `function` changes sign."""
    from scipy.optimize import brentq  # a fifth of a second to import, and seldom needed

    angles = np.linspace(-np.pi, np.pi, _SCAN)
    values = np.array([function(angle) for angle in angles])
    change = np.flatnonzero(values[:-1] * values[1:] <= 0)
    ends = ((angles[i], angles[i + 1]) for i in change)
    return [float(brentq(function, *pair, xtol=1e-15, rtol=1e-14)) for pair in ends]  # pyright: ignore[reportArgumentType]


def _pose(B: Numbers, local: Numbers) -> Numbers:
    """(z, psi, theta) of the platform whose joints `local` are at `B`."""

    def axes(points: Numbers) -> Numbers:
        x = points[1] - points[0]
        z = np.cross(x, points[2] - points[0])
        x, z = x / np.linalg.norm(x), z / np.linalg.norm(z)
        return np.stack([x, np.cross(z, x), z], axis=1).astype(float)

    R = axes(B) @ axes(local).T
    z = (B[0] - R @ local[0])[2]
    return np.array([z, np.arcsin(np.clip(-R[1, 2], -1, 1)), np.arctan2(R[0, 2], R[2, 2])])
