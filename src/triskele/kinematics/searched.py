"""Forward position by Newton's method, where there is no closed form.

From a start that names the assembly,

    x <- x - A^-1 c(q, x),   A = dc/dx                                                  (1)

no coordinate by more than `_LARGEST_STEP` loop lengths of motion at once. Number of steps and time
are the same for all q. An architecture without a closed form derives from `AbstractSearched`.

All assemblies at given q: (1) starts from many random poses, until `_PATIENCE` starts in a row
find nothing new. That is no proof that there is nothing more.
"""

from collections.abc import Callable

import equinox as eqx
import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from triskele.kinematics.mechanism import AbstractMechanism, PositionSolution
from triskele.kinematics.singularity import singularity_margins
from triskele.kinematics.velocity import closure_jacobians
from triskele.numerics import (
    AnyArray,
    Components,
    Scalar,
    Scalars,
    all_known,
    as_scalars,
    determinant,
    maximum,
    minimum,
    newton,
    sign,
    single,
    solve,
    tabulate,
    where,
)

Numbers = NDArray[np.float64]

_LARGEST_STEP = 0.3  # in loop lengths
_STARTS = 512  # of Newton's method at once
_PATIENCE = 2048  # starts without anything new that end the search
_REACH = 1.5  # of random starts from home, in loop lengths
_APART = 1e-6  # distance of two assemblies, in loop lengths
CLOSED = 1e-12  #: residual of a closed loop, in squared loop lengths


def reached(mechanism: AbstractMechanism, q: Scalars, start: Scalars) -> Scalars:
    """Platform coordinates after the steps of (1) from `start`, if the robot knows no other way."""
    found = mechanism.near(q, start)
    if found is not None:
        return found
    scales = mechanism.scales()
    units = tuple(_LARGEST_STEP * scales.loops[0] / unit for unit in scales.platform)

    def step(given: tuple, x: Scalars) -> Scalars:
        *q, robot = given
        A, _ = closure_jacobians(robot, q, x)
        change = solve(A, robot.closure(q, x))
        return tuple(
            minimum(maximum(delta, -unit), unit) for delta, unit in zip(change, units, strict=True)
        )

    return newton(step, (*q, mechanism), start)


def gap(mechanism: AbstractMechanism, q: Components, x: Components) -> Scalar:
    """Largest residual of the loops, in squared loop lengths."""
    loops = mechanism.scales().loops
    first, *others = (
        abs(c) / (loop * loop) for c, loop in zip(mechanism.closure(q, x), loops, strict=True)
    )
    for part in others:
        first = maximum(first, part)
    return first


def searched(mechanism: AbstractMechanism, q: Components, start: Components) -> PositionSolution:
    """Platform coordinates found from `start`, with the margin of type 2; -1 if loops are open."""
    if all_known(mechanism, tuple(q), tuple(start)):
        return single(eqx.Partial(_searched, mechanism))(q, start)
    return _searched(mechanism, q, start)


def _searched(mechanism: AbstractMechanism, q: Components, start: Components) -> PositionSolution:
    q = as_scalars(q)
    return judged(mechanism, q, reached(mechanism, q, tuple(start)))


def judged(mechanism: AbstractMechanism, q: Components, x: Scalars) -> PositionSolution:
    """`x` with the margin of type 2; -1 if loops are open."""
    margin = singularity_margins(mechanism, q, x).type2
    return PositionSolution(x, (where(gap(mechanism, q, x) < CLOSED, margin, -1.0),))


def all_assemblies(mechanism: AbstractMechanism, q: Numbers) -> Float[np.ndarray, "modes m"]:
    """All platform coordinates that close the loops at `q` and that random starts lead to.

    The assembly that the mechanism is in comes first.
    """
    scales, names = mechanism.scales(), mechanism.platform_coordinates
    loop = float(np.asarray(scales.loops[0]))
    home = np.array([float(np.asarray(value)) for value in mechanism.home()])
    search = tabulate(eqx.Partial(_ends, mechanism))
    place = tabulate(eqx.Partial(_platform, mechanism))
    wide = np.array([_REACH * loop if c.unit == "m" else np.pi for c in names])
    random, found, corners = np.random.default_rng(0), [], []
    own = np.array([float(np.asarray(value)) for value in mechanism.forward(tuple(q)).components])
    starts, quiet = np.concatenate([own[None], home[None]]), 0
    while quiet < _PATIENCE:
        x, open_by = search(np.broadcast_to(q, (len(starts), len(q))).copy(), starts)
        ends = np.stack(x, axis=1)[np.asarray(open_by) < CLOSED]
        quiet += len(starts)
        for pose, frame in zip(ends, _poses(place, ends, loop), strict=True):
            if all(np.abs(frame - other).max() > _APART for other in corners):
                turned = np.array([c.unit == "rad" for c in names])
                pose[turned] = (pose[turned] + np.pi) % (2 * np.pi) - np.pi
                found.append(pose)
                corners.append(frame)
                quiet = 0
        starts = home + wide * random.uniform(-1, 1, (_STARTS, len(home)))
    return np.array(found).reshape(len(found), len(home))


def _ends(mechanism: AbstractMechanism, q: Scalars, start: Scalars) -> tuple[Scalars, Scalar]:
    """Where a search ends, and its gap; a kernel for `tabulate`."""
    x = reached(mechanism, q, start)
    return x, gap(mechanism, q, x)


def _platform(mechanism: AbstractMechanism, x: Scalars) -> Scalars:
    """The pose of the platform as twelve numbers, axis by axis; a kernel for `tabulate`."""
    return tuple(entry + 0.0 * x[0] for axis in mechanism.platform_pose(x) for entry in axis)


def _poses(place: Callable, x: Numbers, loop: float) -> Numbers:
    """Poses of the platform at each x, places in loop lengths."""
    if not len(x):
        return np.empty((0, 12))
    entries = np.stack(place(x), axis=1)
    entries[:, 9:] /= loop
    return entries


class AbstractSearched(AbstractMechanism):
    """A mechanism whose forward position problem is solved by (1), from home."""

    def forward(self, q: Components) -> PositionSolution:
        """Platform coordinates reached with joints at `q`, in the assembly of home."""
        return searched(self, q, self.home())

    def assembly_modes(self, q: Components) -> Float[AnyArray, "modes m"]:
        """All platform coordinates that close the loops at `q` and that random starts lead to."""
        return all_assemblies(self, np.asarray(q, float))

    def orientation(self) -> Scalar:
        """Sign of det(dc/dx) at home."""
        home = self.home()
        A, _ = closure_jacobians(self, self.inverse(home).components, home)
        return sign(determinant(A))
