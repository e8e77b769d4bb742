"""Deflection of a rod from the hinges at its ends, measured against its chord.

The chord of a rod, from elbow to wrist, is known from the motors. A beam with pins at both ends and
a load that varies linearly from p_B to p_C is turned at its ends, relative to the chord, by

    t_B = (8 p_B + 7 p_C) d^3 / (360 E I),     t_C = -(7 p_B + 8 p_C) d^3 / (360 E I)   (1)

and its wrist lies delta = -d t_B beside the tangent at its elbow. Hinges turn by phi_B and
phi_C, of which the rod sees t = -(phi - phi_chord) cos alpha (`rods.py`). Hence, with
k_G = mu d^4 / (720 E I) and the gradient da = a_C - a_B of accelerations across the rod,

    from the elbow    delta = -d t_B                             geometry alone
    from the wrist    delta = d t_C - 2 k_G da                                          (2)
    from both         delta = d (t_C - t_B) / 2 - k_G da

The load itself, and the weight, cancel: only how it varies along the rod is taken from the motors,
and neither twist nor tension of the rod enters. All of them, and modal sensors too, weigh slopes:

    delta = c_B t_B + c_C t_C - c_a da                                                  (3)

For any load of one sign, delta over d (t_C - t_B) lies between 1/3 and 2/3: moments cannot pass a
pin. A clamped rod would have 0.7265, which no rod of a Delta can reach.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Float

from triskele.errors import InputError
from triskele.numerics import AnyArray, Scalar, Scalars
from triskele.sensing.rods import RodState, SoftRods


class Hinges(NamedTuple):
    """What encoders read on the passive joints of the limbs [rad]; None where there are none.

    At a wrist, how the rod stands to the platform: phi of `rods.py`. At an elbow, how it stands to
    its arm: phi - q.
    """

    elbow: Scalars | None = None
    wrist: Scalars | None = None


class Weights(NamedTuple):
    """Coefficients of (3), limb by limb."""

    elbow: Float[AnyArray, "3"]  #: c_B [m]
    wrist: Float[AnyArray, "3"]  #: c_C [m]
    gradient: Float[AnyArray, "3"]  #: c_a [s^2]


def chord_weights(rods: SoftRods, *, elbow: bool, wrist: bool) -> Weights:
    """Equation (2) for the encoders there are."""
    d, k_G = rods.mechanism.rod_length, rods.gradient
    if elbow and wrist:
        return Weights(-d / 2, d / 2, k_G)
    if wrist:
        return Weights(jnp.zeros(3), d, 2 * k_G)
    if elbow:
        return Weights(-d, jnp.zeros(3), jnp.zeros(3))
    raise InputError("A chord sensor needs encoders at the wrists or at the elbows.")


def deflections(weights: Weights, state: RodState, q: Scalars, hinges: Hinges) -> Scalars:
    """Deflection of each wrist from the tangent at its elbow [m], equation (3)."""
    found = []
    for i, da in enumerate(state.gradient):
        delta: Scalar = -weights.gradient[i] * da
        if hinges.elbow is not None:
            delta = delta + weights.elbow[i] * _slope(state, i, hinges.elbow[i] + q[i])
        if hinges.wrist is not None:
            delta = delta + weights.wrist[i] * _slope(state, i, hinges.wrist[i])
        found.append(delta)
    return tuple(found)


def _slope(state: RodState, limb: int, phi: Scalar) -> Scalar:
    """Of the rod at a hinge, seen from its chord [rad]."""
    return -(phi - state.angle[limb]) * state.cosine[limb]


def wrist_slopes(state: RodState, wrist: Scalars) -> Scalars:
    """t_C of each limb [rad]."""
    return tuple(_slope(state, i, phi) for i, phi in enumerate(wrist))
