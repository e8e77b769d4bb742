"""A linear spring in a joint: a flexure, seen as one number.

f = k (p - p_0),        U = k (p - p_0)^2 / 2                                      (1)
"""

import equinox as eqx
from jaxtyping import Array, Float

from triskele.numerics import Scalar


class Spring(eqx.Module):
    """The constants of (1)."""

    stiffness: Float[Array, ""]  #: k [N m/rad or N/m]
    rest: Float[Array, ""]  #: p_0 [rad or m], free of stress

    def effort(self, position: Scalar) -> Scalar:
        """What holds the joint at `position` [N m or N]."""
        return self.stiffness * (position - self.rest)

    def energy(self, position: Scalar) -> Scalar:
        """Stored energy [J]."""
        return self.stiffness * (position - self.rest) ** 2 / 2
