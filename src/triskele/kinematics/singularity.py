"""How far a configuration is from the singularities of the mechanism, as signed margins.

With the closure Jacobians made dimensionless by lengths of the mechanism,

    B_i / (loop_i joint_i)            type 1: the leg is stretched or folded, x cannot move
    det [A_ij / (loop_i platform_j)]  type 2: the platform moves although motors are locked

both signed so that they are positive where the machine is built and run, zero on the
singular surface and negative beyond it, in the other working or assembly mode. For a Delta
they are the sine of the angle between arm and projected rod times the rod's share in the
limb plane, and the volume spanned by the three rod directions. Rows of the second longer than one
(a platform that turns) are shortened to one, so that both margins are at most 1 (Hadamard).
"""

from typing import NamedTuple

from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.velocity import closure_jacobians
from triskele.numerics import (
    Components,
    Scalar,
    Scalars,
    at_known,
    determinant,
    maximum,
    minimum,
    safe_sqrt,
)


class SingularityMargins(NamedTuple):
    """Signed distances from both kinds of singularity, dimensionless."""

    type1: Scalars  #: one per leg, at most 1
    type2: Scalar  #: at most 1

    @property
    def least(self) -> Scalar:
        """The smallest of all margins."""
        value = self.type2
        for margin in self.type1:
            value = minimum(value, margin)
        return value


@at_known
def singularity_margins(
    mechanism: AbstractMechanism, q: Components, x: Components
) -> SingularityMargins:
    """Both margins at a closed configuration (q, x)."""
    A, B = closure_jacobians(mechanism, q, x)
    loops, joints, platform = mechanism.scales()
    modes = (*mechanism.working_mode, *(1,) * (len(B) - len(mechanism.working_mode)))
    type1 = tuple(
        -mode * b / (loop * joint)
        for mode, b, loop, joint in zip(modes, B, loops, joints, strict=True)
    )
    rows = tuple(
        tuple(a / (loop * size) for a, size in zip(row, platform, strict=True))
        for row, loop in zip(A, loops, strict=True)
    )
    side = mechanism.orientation() * mechanism.assembly_mode
    return SingularityMargins(type1, side * determinant(tuple(map(_shortened, rows))))


def _shortened(row: Scalars) -> Scalars:
    """`row` itself, or the unit vector along it if it is longer."""
    size = safe_sqrt(sum(a * a for a in row))  # pyright: ignore[reportArgumentType]
    factor = 1 / maximum(size, 1.0)
    return tuple(a * factor for a in row)
