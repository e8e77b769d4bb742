"""What hinges should read, from the motors alone: the rods' angles and how their loads bend them.

    phi_C = phi - t_C / cos alpha,     phi_B = phi - t_B / cos alpha - q

with t_C and delta = -d t_B of (2) and (3) of `observer.py`. Rods follow their loads and do not
swing freely; a swing is at their own frequency, and averages out. The angles phi are those of rods
that end where the tool is (`tool.py`), and not where rigid ones would hold it.

Twist holds a tilted rod by moments T tan alpha at both its ends. Alone they turn its ends by
M d / (2 E I), of which the first mode has 8 / pi^2; the other modes add

    t -> t (1 - (1 - 8 / pi^2) G J / (E I) tan^2 alpha)                                 (1)
"""

from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float

from triskele.numerics import Scalars, tabulate
from triskele.sensing.observer import forced
from triskele.sensing.reading import Inputs, Series, columns, loads, states
from triskele.sensing.rods import SoftRods, angles_at
from triskele.sensing.tool import tool_position

LIMBS = 3


class Expected(NamedTuple):
    """Of each kind of hinge; a column for each limb [rad]."""

    readings: dict[str, Series]
    bending: dict[str, Series]  #: what of that comes from loads


def expected(inputs: Inputs) -> Expected:
    """Readings of the hinges there are."""
    state, q = states(inputs), inputs.log.q
    given = loads(inputs.rods, state)
    d = np.asarray(inputs.rods.mechanism.rod_length)
    eta = forced(inputs.rods, given, inputs.log.step)
    delta = np.asarray(given.rest) - np.pi * eta
    slopes = {"wrist": np.asarray(given.slope) - np.pi / d * eta, "elbow": -delta / d}
    turned = tabulate(eqx.Partial(_bent_angles, inputs.rods))(q, columns(state.tension), delta)
    angle, cosine = columns(turned[:LIMBS]), columns(state.cosine)
    straight = {"wrist": angle, "elbow": angle - q[:, :LIMBS]}
    twisted = float(inputs.rods.torsion / inputs.rods.bending) * (1 / cosine**2 - 1)
    more = 1 - (1 - 8 / np.pi**2) * twisted
    bending = {name: -slopes[name] * more / cosine for name in inputs.hinges}
    readings = {name: straight[name] + bending[name] for name in inputs.hinges}
    return Expected(readings, bending)


def _bent_angles(rods: SoftRods, q: Scalars, tension: Scalars, delta: Scalars) -> Scalars:
    """phi of the chords of bent rods."""
    return angles_at(rods.mechanism, q, tool_position(rods, q, delta, tension))[0]


def misfit(inputs: Inputs) -> Float[np.ndarray, "N k"]:
    """What the hinges read beyond that [rad], kind after kind."""
    found = expected(inputs).readings
    return np.concatenate([inputs.hinges[name] - found[name] for name in inputs.hinges], axis=1)
