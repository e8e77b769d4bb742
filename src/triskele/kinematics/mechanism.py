"""What an architecture must provide; every other module is written against this.

A mechanism with n joint coordinates q and n platform coordinates x is its loop closure and
the poses of its bodies,

    c(q, x) = 0        one equation per loop; loop i holds joint i alone: dc/dq is diagonal
    T_b(q, x)          pose of body b in O

Everything else (velocities, singularities, mass matrix, loads) is derived from these two,
once, for every robot. `inverse` and `forward` solve the first for q or x in closed form or
by Newton; they are never differentiated by the rest of the library.

Methods work on scalar components (`triskele.numerics`): they unpack a vector, or a tuple of
(N,) arrays, and return tuples. `numerics.batch(mechanism.inverse)(poses)` is the same
formula for a million poses.
"""

import abc
from typing import Literal, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array, Float

from triskele.errors import OutOfReach
from triskele.numerics import Components, Scalar, Scalars, stacked
from triskele.spatial.vectors import Frame, Triple

_OUT_OF_REACH = (
    "Out of reach: some loop cannot close, see `margins`. Move the target into the workspace, "
    "or read `value`, which is held at its border."
)
JointKind = Literal["revolute", "universal", "spherical", "prismatic"]


class Coordinate(NamedTuple):
    """A coordinate as users see it."""

    name: str
    unit: str


class Joint(NamedTuple):
    """A joint between two bodies; points and axes in the frame of the body named.

    `axis` is the axis of a revolute or prismatic joint, in the parent; a universal joint
    has a second one, `child_axis`, in the child; a driven spherical joint is a motor about
    `axis` and a cardan in one, whose cross ends in `child_axis`. The base O is called "base".
    """

    name: str
    kind: JointKind
    parent: str
    child: str
    point: Triple  #: [m], in the parent
    child_point: Triple  #: [m], in the child
    axis: Triple | None = None
    child_axis: Triple | None = None
    driven: bool = False


class Scales(NamedTuple):
    """Lengths [m] that make the closure Jacobians dimensionless, see `singularity.py`."""

    loops: Scalars  #: of each loop: its rod or bar
    joints: Scalars  #: m of motion per unit of q_i
    platform: Scalars  #: m of motion per unit of x_j


class PositionSolution(eqx.Module):
    """Answer of a position problem, for one configuration or a batch.

    `margins` are dimensionless: positive inside the domain, 0 on its singular border,
    negative outside, where the value is held at the border so that gradients stay finite.
    """

    components: Scalars
    margins: Scalars

    @property
    def value(self) -> Float[Array, "..."]:
        """The coordinates as an array, (n,) or (N, n)."""
        return stacked(self.components)

    @property
    def margin(self) -> Float[Array, "..."]:
        """The smallest margin: negative if there is no solution."""
        return stacked(self.margins).min(axis=-1)

    def checked(self) -> Float[Array, "..."]:
        """`value`, or an error if some pose has no solution; works under `jit`."""
        value = self.value
        unsolved = ~jnp.all(self.margin >= 0)  # not `margin < 0`, which lets NaN through
        if isinstance(unsolved, Tracer):
            return eqx.error_if(value, unsolved, _OUT_OF_REACH)
        if unsolved:
            raise OutOfReach(_OUT_OF_REACH)
        return value


class AbstractMechanism(eqx.Module):
    """A parallel mechanism; leaves are its geometric parameters in SI units.

    `working_mode` names the branch of each leg for `inverse`, and `assembly_mode` that of
    `forward`; +1 is the machine as built, -1 the mirror image.
    """

    working_mode: eqx.AbstractVar[tuple[int, ...]]
    assembly_mode: eqx.AbstractVar[int]

    @property
    @abc.abstractmethod
    def joint_coordinates(self) -> tuple[Coordinate, ...]:
        """Name and unit of each q_i."""

    @property
    @abc.abstractmethod
    def platform_coordinates(self) -> tuple[Coordinate, ...]:
        """Name and unit of each x_j."""

    @property
    @abc.abstractmethod
    def passive_coordinates(self) -> tuple[Coordinate, ...]:
        """Name and unit of what `passive` returns."""

    @property
    @abc.abstractmethod
    def bodies(self) -> tuple[str, ...]:
        """Names of the moving bodies, in the order of `body_poses`."""

    @abc.abstractmethod
    def joints(self) -> tuple[Joint, ...]:
        """All joints, the driven ones first."""

    @abc.abstractmethod
    def scales(self) -> Scales:
        """Lengths of loops, joints and platform coordinates [m]."""

    @abc.abstractmethod
    def orientation(self) -> Scalar:
        """Sign of det(dc/dx) where the mechanism is assembled as built."""

    @abc.abstractmethod
    def home(self) -> Scalars:
        """Platform coordinates of the pose the robot is drawn in."""

    @abc.abstractmethod
    def closure(self, q: Components, x: Components) -> Scalars:
        """Loop-closure residual c(q, x), zero on the mechanism's configurations."""

    @abc.abstractmethod
    def inverse(self, x: Components) -> PositionSolution:
        """Joint coordinates that put the platform at `x`, in the working mode."""

    @abc.abstractmethod
    def forward(self, q: Components) -> PositionSolution:
        """Platform coordinates reached with joints at `q`, in the assembly mode."""

    @abc.abstractmethod
    def assembly_modes(self, q: Components) -> Float[Array, "modes m"]:
        """All platform coordinates that close the loops at `q`; not for traced code."""

    @abc.abstractmethod
    def body_poses(self, q: Components, x: Components) -> tuple[Frame, ...]:
        """Pose of each of `bodies` in O, at a closed configuration."""

    @abc.abstractmethod
    def passive(self, q: Components, x: Components) -> Scalars:
        """Passive coordinates: angles of rods and bars, length of a telescope."""

    @abc.abstractmethod
    def platform_pose(self, x: Components) -> Frame:
        """Pose T_OP of the platform, parasitic motions included."""
