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

The contract, which `testing.check_mechanism` checks:

* as many joint as platform coordinates, at most six, and as many degrees of freedom;
* in working mode +1 a growing q_i lowers c_i: dc_i/dq_i < 0;
* bodies, joints, struts and limits are known by their roles; nothing outside reads their names.
"""

import abc
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Literal, NamedTuple

import equinox as eqx
from jax.core import Tracer

from triskele.errors import InputError, OutOfReach, UnknownName, did_you_mean
from triskele.numerics import (
    AnyArray,
    Components,
    Numeric,
    Scalar,
    Scalars,
    maximum,
    stacked,
)
from triskele.spatial.vectors import Frame, Triple

_OUT_OF_REACH = (
    "Out of reach: some loop cannot close, see `margins`. Move the target into the workspace, "
    "or read `value`, which is held at its border."
)
BUILT, MIRRORED = "built", "mirrored"  #: the assembly of home, and its mirror image
JointKind = Literal["revolute", "universal", "spherical", "prismatic", "fixed"]
Look = Literal["arm", "block", "rod", "bar", "connector", "plate", "flange", "outer", "inner"]


@dataclass(frozen=True)
class Coordinate:
    """A coordinate as users see it, and what limits it; unpacks into name and unit."""

    name: str
    unit: str
    limit: str = ""  #: the key under [limits] of the file that bounds it; none: nothing does
    label: str = ""  #: what it is in a sentence: "tilt of rod 1"
    joint: str = ""  #: of a passive coordinate: the joint whose position it is, if it is one
    drive: str = "drives"  #: of a joint: its group under [motors] and [friction] of the file
    flexure: str = ""  #: of a passive coordinate that may be a spring: its stiffness in [flexures]

    def __iter__(self) -> Iterator[str]:
        """Name and unit."""
        return iter((self.name, self.unit))


def one_each(values: Components, coordinates: tuple[Coordinate, ...]) -> Components:
    """`values` themselves, or an error unless they are one number for each of `coordinates`."""
    if isinstance(values, AnyArray):
        shape, flat = tuple(values.shape), True
    else:
        shape, flat = (len(values),), not any(isinstance(v, list | tuple) for v in values)
    if flat and shape == (len(coordinates),):
        return values
    names = ", ".join(c.name for c in coordinates)
    if flat and len(shape) == 1:
        raise InputError(f"One number for each of {names} was expected, not {shape[0]}.")
    given = f"an array of the shape {shape}" if flat else "a table"
    raise InputError(
        f"One number for each of {names} was expected, not {given}; many configurations, one in "
        "each row, go through batch(function)(rows)."
    )


class Part(NamedTuple):
    """A moving body: where the file states its inertia, and how it is drawn."""

    body: str  #: its name
    part: str  #: under [bodies] of the file; bodies of one part are alike
    look: Look


class Strut(NamedTuple):
    """A body between two joints that carries load along its x axis, from upper to lower joint."""

    body: str
    upper: str  #: name of the joint where x begins
    lower: str  #: name of the joint where x ends; of a strut of two bodies, that of the other one


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
    friction: str = ""  #: of a passive joint: the key under [friction] of the file


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
    def value(self) -> Numeric[AnyArray, "..."]:
        """The coordinates as an array, (n,) or (N, n)."""
        return stacked(self.components)

    @property
    def margin(self) -> Scalar:
        """The smallest margin: negative if there is no solution."""
        return stacked(self.margins).min(axis=-1)

    def checked(self) -> Numeric[AnyArray, "..."]:
        """`value`, or an error if some pose has no solution; works under `jit`."""
        value = self.value
        unsolved = ~(stacked(self.margins) >= 0).all()  # not `margin < 0`, which lets NaN through
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
    def parts(self) -> tuple[Part, ...]:
        """The moving bodies, in the order of `body_poses`."""

    @property
    def bodies(self) -> tuple[str, ...]:
        """Names of the moving bodies, in the order of `body_poses`."""
        return tuple(part.body for part in self.parts)

    @property
    def platform(self) -> str:
        """The body whose pose is `platform_pose`."""
        return "platform"

    @property
    def carrier(self) -> str:
        """The body that carries tool and payload."""
        return self.platform

    @property
    def flange(self) -> str:
        """Name of the joint by which the carrier hangs on the platform; empty if they are one."""
        return ""

    @property
    def struts(self) -> tuple[Strut, ...]:
        """The bodies whose axial load is watched, limb by limb."""
        return ()

    @property
    def size(self) -> Scalar:
        """Size of the robot [m]: its largest loop; that of a telescope, an angle, is none."""
        return reduce(maximum, self.scales().loops[: len(self.working_mode)])

    def assemblies(self) -> Mapping[str, "AbstractMechanism"]:
        """The same mechanism in each assembly that has a name; the built one first."""
        return {BUILT: self}

    def in_assembly(self, name: str) -> "AbstractMechanism":
        """The same mechanism, whose `forward` finds the assembly of that name."""
        known = self.assemblies()
        if name not in known:
            raise UnknownName(f"No assembly is called '{name}'. {did_you_mean(name, known)}")
        return known[name]

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

    def near(self, q: Scalars, x: Scalars) -> Scalars | None:
        """Platform coordinates at `q`, in the assembly of `x`; None: Newton's method finds them."""
        return None

    @abc.abstractmethod
    def assembly_modes(self, q: Components) -> Numeric[AnyArray, "modes m"]:
        """All platform coordinates that close the loops at `q`; not for traced code."""

    @abc.abstractmethod
    def body_poses(self, q: Components, x: Components) -> tuple[Frame, ...]:
        """Pose of each of `bodies` in O, at a closed configuration."""

    @abc.abstractmethod
    def passive(self, q: Components, x: Components) -> Scalars:
        """Passive coordinates: angles of rods and bars, length of a telescope."""

    def unbent(self) -> Scalars:
        """Passive coordinates [rad, m] where flexures are free of stress: those of home."""
        home = self.home()
        return self.passive(self.inverse(home).components, home)

    @abc.abstractmethod
    def platform_pose(self, x: Components) -> Frame:
        """Pose T_OP of the platform, parasitic motions included."""
