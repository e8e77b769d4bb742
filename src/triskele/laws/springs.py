"""A linear spring in a joint: a flexure, seen as one number.

f = k (p - p_0),        U = k (p - p_0)^2 / 2                                      (1)
"""

import equinox as eqx
import numpy as np

from triskele.description.schema import Robot
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.laws.flexures import flexure_stiffness
from triskele.numerics import Scalar


class Spring(eqx.Module):
    """The constants of (1)."""

    stiffness: Scalar  #: k [N m/rad or N/m]
    rest: Scalar  #: p_0 [rad or m], free of stress

    def effort(self, position: Scalar) -> Scalar:
        """What holds the joint at `position` [N m or N]."""
        return self.stiffness * (position - self.rest)

    def energy(self, position: Scalar) -> Scalar:
        """Stored energy [J]."""
        return self.stiffness * (position - self.rest) ** 2 / 2


def flexure_springs(robot: Robot, mechanism: AbstractMechanism) -> tuple[Spring | None, ...]:
    """The flexures of a robot, one for each passive coordinate that is one, each counted once."""
    coordinates, stiffness = mechanism.passive_coordinates, flexure_stiffness(robot)
    if stiffness is None:
        return (None,) * len(coordinates)
    found = []
    for coordinate, rest in zip(coordinates, mechanism.unbent(), strict=True):
        k = getattr(stiffness, coordinate.flexure or "-", None)
        found.append(None if k is None else Spring(np.asarray(k, float), np.asarray(rest, float)))
    return tuple(found)
