"""A linear spring in a joint: a flexure, seen as one number.

f = k (p - p_0),        U = k (p - p_0)^2 / 2                                      (1)
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from triskele.description.schema import PrsRobot, Robot
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.laws.flexures import flexure_stiffness
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


def flexure_springs(robot: Robot, mechanism: AbstractMechanism) -> tuple[Spring | None, ...]:
    """Flexures of a 3PRS in its passive joints, each counted once; free of stress at rest."""
    names = [c.name for c in mechanism.passive_coordinates]
    flexures = flexure_stiffness(robot) if isinstance(robot, PrsRobot) else None
    if flexures is None:
        return (None,) * len(names)
    kinds = {
        "alpha": (flexures.revolute_bending, getattr(robot.geometry, "rest_angle", 0.0)),
        "beta_m": (flexures.spherical_bending, 0.0),
        "beta_n": (flexures.spherical_bending, 0.0),
        "beta_l": (flexures.spherical_torsion, 0.0),
    }
    constants = [kinds[name.rstrip("_123")] for name in names]
    return tuple(Spring(jnp.asarray(k, float), jnp.asarray(p, float)) for k, p in constants)
