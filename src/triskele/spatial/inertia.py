"""Inertia of a rigid body as its 4 x 4 pseudo-inertia, and whether it can exist.

With the ten parameters m, m c and O (moments about the frame's origin), the second moments
of the mass distribution are Sigma = tr(O)/2 I - O, and

    P = [ Sigma   m c ]
        [ (m c)'   m  ]                                                                (1)

is the integral of [r; 1][r; 1]' dm: a body of positive density has P > 0, and every P > 0
belongs to some body. This is stronger than positive mass and inertia: it contains the
triangle inequality of the principal moments.

Reference: P. M. Wensing, S. Kim, J.-J. E. Slotine, IEEE Robotics and Automation Letters 3
(2018) 60.
"""

from collections.abc import Sequence

import numpy as np

from triskele.numerics import AnyArray, Components, Matrix, Numeric, stacked

_LARGEST = 1e100  #: of m, m c and moments, whose squares are still numbers


def second_moments(ten: Components) -> Matrix:
    """Rows of P of (1) from m [kg], m c [kg m] and xx, yy, zz, xy, yz, xz [kg m^2]."""
    m, mx, my, mz, xx, yy, zz, xy, yz, xz = ten
    return (
        ((yy + zz - xx) / 2, -xy, -xz, mx),
        (-xy, (xx + zz - yy) / 2, -yz, my),
        (-xz, -yz, (xx + yy - zz) / 2, mz),
        (mx, my, mz, m),
    )


def pseudo_inertia(ten: Components) -> Numeric[AnyArray, "4 4"]:
    """P of (1) as an array."""
    return stacked([entry for row in second_moments(ten) for entry in row]).reshape(4, 4)


def infeasibility(ten: Sequence[float]) -> str | None:
    """Why no body of positive density has these ten parameters; None if one can.

    Flat and thin bodies, on the border, are accepted.
    """
    m, first, moments = ten[0], np.array(ten[1:4]), np.array(ten[4:])
    if not m > 0:
        return f"its mass is {m:g} kg"
    c = first / m
    P = np.asarray(pseudo_inertia(ten))
    if not np.isfinite(P).all() or np.abs(P).max() > _LARGEST:
        return "its numbers are too large to compute with"
    central = P[:3, :3] - m * np.outer(c, c)  # second moments about the centre of mass
    least = np.linalg.eigvalsh(central)[0]
    rounding = 1e-9 * max(np.abs(moments).max(), m * (c @ c), 1e-12)
    if least >= -rounding:
        return None
    principal = np.linalg.eigvalsh(np.trace(central) * np.eye(3) - central)
    principal[np.abs(principal) <= rounding] = 0.0
    values = ", ".join(f"{value:.3g}" for value in principal)
    if principal[0] < 0:
        hint = " (the centre may be too far out)" if c.any() else ""
        return f"a moment about its centre of mass is negative: {values} kg m^2{hint}"
    return f"one principal moment exceeds the sum of the others: {values} kg m^2"
