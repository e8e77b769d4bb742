"""A planning problem, limits as arrays, and its solution with what each limit is worth.

x, u and w are those of `profile.py`; all limits are divided by what is allowed. `interior.py`
solves it.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from triskele.planning.profile import Basis, Space

Values = Float[np.ndarray, "_ _"]
Vector = Float[np.ndarray, " _"]


class TwoSided(NamedTuple):
    """|a u + b x + c| + e sqrt(x) <= 1, K quantities at P points."""

    a: Values
    b: Values
    c: Values
    e: Values


class ThirdOrder(NamedTuple):
    """|a w + b u + c x + d| sqrt(x) <= 1."""

    a: Values
    b: Values
    c: Values
    d: Values


class Norms(NamedTuple):
    """|a u + b x + c| <= 1 + l_a u + l_b x + l_c, vectors of up to three components."""

    a: Float[np.ndarray, "P k 3"]
    b: Float[np.ndarray, "P k 3"]
    c: Float[np.ndarray, "P k 3"]
    la: Values
    lb: Values
    lc: Values


class Average(NamedTuple):
    """The mean over time of (a u + b x + c)^2, at the points of the quadrature, is at most 1.

    Over the duration and `dwell` [s] of rest, in which y = `idle`.
    """

    a: Float[np.ndarray, " Q"]
    b: Float[np.ndarray, " Q"]
    c: Float[np.ndarray, " Q"]
    dwell: float
    idle: float


class Problem(NamedTuple):
    """A space of profiles and the limits at its points."""

    space: Space
    points: Basis
    two_sided: TwoSided
    third_order: ThirdOrder
    norms: Norms
    averages: tuple[Average, ...] = ()
    fastest: bool = True  #: False: the integral of x is made largest instead


class Solution(NamedTuple):
    """A profile, and what its limits are worth."""

    c: Vector
    duration: float  #: [s]
    slack: Values  #: (P, rows): two-sided +, two-sided -, third order +, -, norms
    price: Values  #: lam, the same: seconds per unit of slack
    average_slack: Vector
    average_price: Vector
    scale: Vector  #: sqrt(X / x) at each point, of (2)
    gap: float  #: what is left to gain, relative
    residual: float  #: of the conditions of optimality, relative
    steps: int
