"""Where the tool is when rods bend: loops closed with the distance that is left between their ends.

A rod bent by w(x), seen from its chord, is shorter than it was, and stretched by its tension N:

    chord = d - int w'^2 / 2 dx + N d / (E A) = d - delta^2 / (4 d) + N d / (E A)       (1)

for the sine in which it bends, delta = d |w'(0)|. With the angles of the passive joints unknown,
only that length enters the loops: the platform is where three spheres of these radii meet, which is
the forward kinematics of a robot with other rods. In first order the tool does not move at all.

"published" is the equation of Bengoa et al. (2017, 42), in which the tip of a rod is (d, 0, delta)
in the frame of its elbow: it makes a bent rod longer, sqrt(d^2 + delta^2).
"""

import equinox as eqx
import jax.numpy as jnp

from triskele.errors import InputError, did_you_mean
from triskele.kinematics.delta import Delta
from triskele.numerics import Components, Scalar, Scalars, safe_sqrt
from triskele.sensing.rods import SoftRods

CLOSURES = ("corrected", "bent", "published", "rigid")


def tool_position(
    rods: SoftRods,
    q: Components,
    deflection: Scalars,
    tension: Scalars,
    closure: str = "corrected",
) -> Scalars:
    """Platform coordinates [m, rad] with rods bent by `deflection` [m] and pulled by `tension` [N].

    "bent" leaves out the tension of "corrected"; "rigid" leaves out both.
    """
    delta = rods.mechanism
    lengths = [
        chord_length(rods, delta.rod_length[i], deflection[i], tension[i], closure)
        for i in range(3)
    ]
    return _with_rods(delta, tuple(lengths)).forward(q).components


def chord_length(
    rods: SoftRods, d: Scalar, delta: Scalar, tension: Scalar, closure: str = "corrected"
) -> Scalar:
    """Distance from elbow to wrist [m], equation (1)."""
    if closure not in CLOSURES:
        raise InputError(f"There is no closure '{closure}'. {did_you_mean(closure, CLOSURES)}")
    if closure == "rigid":
        return d + 0 * delta
    if closure == "published":
        return safe_sqrt(d * d + delta * delta)
    bent = d - delta * delta / (4 * d)
    return bent + tension * d / rods.axial if closure == "corrected" else bent


def _with_rods(delta: Delta, lengths: Scalars) -> Delta:
    """The Delta with rods of other lengths; in a batch, other ones each time."""
    rows = jnp.stack(jnp.broadcast_arrays(*lengths))
    return eqx.tree_at(lambda robot: robot.rod_length, delta, rows)
