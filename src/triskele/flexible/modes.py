"""Natural frequencies and mode shapes of a flexible robot, at a pose, along a path, everywhere.

With the motors held and the robot at rest,

    K v = w^2 M v,     v' M v = 1                                                       (1)

K is elastic; `loaded`, the tension of the links under the robot's own weight and payload stiffens
it (`link`, equation 3). Frequencies change with a parameter p of the robot by

    dw/dp = v' (dK/dp - w^2 dM/dp) v / (2 w)                                            (2)

for a mode that is alone at its frequency. Where several share one, only their mean is a smooth
function of p, and the mean of (2) is its derivative.
"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.linalg import eigh

from triskele.errors import InputError
from triskele.flexible.assembly import (
    Arrow,
    Poses,
    arrow,
    link_displacements,
    rest_poses,
    solve_arrow,
    whole,
    whole_vector,
)
from triskele.flexible.link import tip_tension
from triskele.flexible.robot import PLATFORM, FlexibleRobot, Links, links
from triskele.numerics import Components

_SAME = 1e-6  #: frequencies closer than this, relatively, are one
_QUIET = 0.01  #: a platform with less of the kinetic energy is still
_BLOCK = 64  #: poses at once in a map

Progress = Callable[[float], None]


class Modes(eqx.Module):
    """The lowest modes at one pose."""

    x: Float[Array, " m"]  #: platform coordinates [m, rad]
    frequencies: Float[Array, " modes"]  #: w [rad/s], rising
    shapes: Float[Array, "n modes"]  #: v of (1), in the unknowns of the robot
    inertia: Float[Array, "6 6"]  #: of the platform and what it carries, alone

    @property
    def platform(self) -> Float[Array, "modes 6"]:
        """Displacement [m] and rotation [rad] of the platform in each mode, to scale."""
        return self.shapes[:PLATFORM].T

    @property
    def shares(self) -> Float[Array, "modes 6"]:
        """What part of a mode's kinetic energy the platform has, along and about each axis.

        All energy of a mode of (1) counts as 1; the platform's own is v_P' inertia v_P, of which
        these are the terms of the diagonal.
        """
        return self.platform**2 * jnp.diag(self.inertia)[None]

    @property
    def directions(self) -> tuple[str, ...]:
        """Along or about which axis the platform moves most in each mode; "links" if hardly."""
        names = ("x", "y", "z", "about x", "about y", "about z")
        return tuple(
            names[int(row.argmax())] if row.sum() > _QUIET else "links"
            for row in np.asarray(self.shares)
        )


class Sag(NamedTuple):
    """A robot at rest under its weight."""

    y: Float[Array, " n"]  #: unknowns
    position: Float[Array, "3"]  #: displacement of the platform [m]
    rotation: Float[Array, "3"]  #: its rotation [rad]


class Sensitivity(NamedTuple):
    """How a frequency answers to one parameter."""

    parameter: str
    value: float  #: in SI units
    derivative: float  #: dw/dp [rad/s per SI unit]
    relative: float  #: percent of frequency per percent of parameter


def modes(
    robot: FlexibleRobot,
    x: Components,
    *,
    count: int = 8,
    loaded: bool = False,
    of_links: Links | None = None,
) -> Modes:
    """The lowest `count` modes with the platform at `x` [m, rad], motors held.

    `of_links` are its links, if they are built already.
    """
    _check_count(robot, count)
    M, K, _, inertia = rest_matrices(robot, jnp.asarray(x, float), loaded, of_links)
    squares, shapes = eigh((K + K.T) / 2, M, subset_by_index=(0, count - 1))
    w = np.sqrt(np.maximum(squares, 0.0))
    return Modes(jnp.asarray(x, float), jnp.asarray(w), jnp.asarray(shapes), inertia)


def _check_count(robot: FlexibleRobot, count: int) -> None:
    if not 1 <= count <= robot.unknowns:
        raise InputError(f"This model has 1 to {robot.unknowns} modes, not {count}.")


def frequencies_at(
    robot: FlexibleRobot,
    x: Float[np.ndarray, "N m"],
    *,
    count: int = 8,
    loaded: bool = False,
    progress: Progress | None = None,
) -> Float[np.ndarray, "N modes"]:
    """The lowest frequencies [rad/s] at many poses."""
    _check_count(robot, count)
    n = len(x)
    filled = np.pad(np.asarray(x, float), ((0, -n % _BLOCK), (0, 0)), mode="edge")
    parts = []
    for k in range(0, len(filled), _BLOCK):
        matrices = _many_at_rest(robot, jnp.asarray(filled[k : k + _BLOCK]), loaded)
        pairs = zip(*(np.asarray(part)[: n - k] for part in matrices), strict=True)
        parts += [eigh(K, M, eigvals_only=True)[:count] for M, K in pairs]
        if progress is not None:
            progress(min((k + _BLOCK) / n, 1.0))
    return np.sqrt(np.maximum(np.stack(parts), 0.0))


def platform_stiffness(robot: FlexibleRobot, x: Components) -> Float[np.ndarray, "6 6"]:
    """Force [N] and moment [N m] on the platform per displacement [m] and rotation [rad] at `x`.

    Motors are held and links bend freely: what inverts the platform's part of the compliance.
    """
    K = np.asarray(rest_matrices(robot, jnp.asarray(x, float)).K)
    free = np.eye(len(K))[:, :PLATFORM]
    C = np.linalg.solve((K + K.T) / 2, free)[:PLATFORM]
    return np.linalg.inv((C + C.T) / 2)


def sag(robot: FlexibleRobot, x: Components) -> Sag:
    """How the robot hangs at rest at `x`, by its own weight and payload."""
    y = _sag(robot, jnp.asarray(x, float))
    return Sag(y, y[:3], y[3:PLATFORM])


def sensitivities(
    robot: FlexibleRobot, x: Components, mode: int, *, count: int = 8
) -> tuple[Sensitivity, ...]:
    """How frequency `mode`, from 1, answers to each parameter of the robot, largest first.

    Of parameters that are several, one per limb or end, all change together.
    """
    found = modes(robot, x, count=max(count, mode))
    w = np.asarray(found.frequencies)
    if not 1 <= mode <= len(w):
        raise InputError(f"mode is {mode}; modes are counted from 1.")
    alike = np.flatnonzero(np.abs(w / w[mode - 1] - 1) < _SAME)
    shapes = found.shapes[:, alike]
    slopes = _slopes(robot, found.x, shapes, found.frequencies[alike])
    rows = []
    for name, get in PARAMETERS.items():
        value = get(robot)
        if value is None:
            continue
        p, slope = np.asarray(value).ravel(), np.asarray(get(slopes)).ravel()
        if not p.any():
            continue
        total = float(slope @ p)
        rows.append(
            Sensitivity(name, float(p.mean()), total / float(p.mean()), total / w[mode - 1])
        )
    return tuple(sorted(rows, key=lambda row: -abs(row.relative)))


def _of_arm(name: str) -> Callable[[FlexibleRobot], Array | None]:
    return lambda r: None if r.arm_beam is None else getattr(r.arm_beam, name)


PARAMETERS: dict[str, Callable[[FlexibleRobot], Array | None]] = {
    "arm length [m]": lambda r: r.mechanism.arm_length,
    "rod length [m]": lambda r: r.mechanism.rod_length,
    "base radius [m]": lambda r: r.mechanism.base_radius,
    "platform radius [m]": lambda r: r.mechanism.platform_radius,
    "rod spacing [m]": lambda r: r.mechanism.rod_spacing,
    "platform mass [kg]": lambda r: r.platform[0],
    "platform inertia [kg m^2]": lambda r: r.platform[4:],
    "payload mass, with flange [kg]": lambda r: r.carried[0],
    "payload inertia [kg m^2]": lambda r: r.carried[4:],
    "masses at the elbows [kg]": lambda r: jnp.stack([r.rod_lumps[0], r.arm_lumps[1]]),
    "mass at the wrists [kg]": lambda r: r.rod_lumps[1],
    "arm mass [kg/m]": _of_arm("mass"),
    "arm E A [N]": _of_arm("axial"),
    "arm G J [N m^2]": _of_arm("torsion"),
    "arm E Iy [N m^2]": _of_arm("bending_y"),
    "arm E Iz [N m^2]": _of_arm("bending_z"),
    "rod mass [kg/m]": lambda r: r.rod_beam.mass,
    "rod E A [N]": lambda r: r.rod_beam.axial,
    "rod G J [N m^2]": lambda r: r.rod_beam.torsion,
    "rod E Iy [N m^2]": lambda r: r.rod_beam.bending_y,
    "rod E Iz [N m^2]": lambda r: r.rod_beam.bending_z,
}


# Matrices at rest


class Rest(NamedTuple):
    """M, K and weight of a robot at rest; K y = -f is its sag."""

    M: Float[Array, "n n"]
    K: Float[Array, "n n"]
    f: Float[Array, " n"]
    platform: Float[Array, "6 6"]  #: the part of M that is the platform's own


def at_rest(
    robot: FlexibleRobot, of_links: Links, x: Float[Array, " m"], loaded: bool = False
) -> Rest:
    """Matrices at the pose `x`; `loaded`, stiffened by the tensions of its own weight."""
    poses = rest_poses(robot.mechanism, x)
    limbs = arrow(robot, of_links, poses)
    if loaded:
        pulls = tensions(robot, of_links, poses, static(limbs))
        limbs = arrow(robot, of_links, poses, tensions=pulls)
    still = jnp.zeros((PLATFORM, PLATFORM))
    return Rest(
        whole(robot, limbs.M, limbs.platform),
        whole(robot, limbs.K, still),
        whole_vector(limbs.f, limbs.platform_f),
        limbs.platform,
    )


def static(limbs: Arrow) -> Float[Array, " n"]:
    """Unknowns with which elastic forces alone carry all loads."""
    platform, own = solve_arrow(
        limbs.stiff,
        jnp.zeros((PLATFORM, PLATFORM)),
        -limbs.f[:, PLATFORM:, None],
        -(limbs.platform_f + limbs.f[:, :PLATFORM].sum(axis=0))[:, None],
    )
    return jnp.concatenate([platform[:, 0], own.reshape(-1)])


def tensions(
    robot: FlexibleRobot, of_links: Links, poses: Poses, y: Float[Array, " n"]
) -> Float[Array, "3 links"]:
    """Pull at the tips of arm and rods of each limb [N], displaced by `y`."""
    arms, rods = link_displacements(robot, poses, y)
    found = []
    if arms is not None:
        found.append(jax.vmap(_pull, in_axes=(None, 0, 0, 0))(robot, of_links.arm, poses.arm, arms))
    for k in range(len(robot.shifts)):
        each = jax.vmap(_pull, in_axes=(None, 0, 0, 0))
        found.append(each(robot, of_links.rod, poses.rod, rods[:, k]))
    if arms is None:
        found.insert(0, jnp.zeros(3))
    return jnp.stack(found, axis=1)


def _pull(robot: FlexibleRobot, link, T, d) -> Float[Array, ""]:  # noqa: ANN001
    R = T[0, :, :3]
    return tip_tension(link, R.T @ T[2, :, :3], R.T @ (T[2, :, 3] - robot.gravity), d)


@eqx.filter_jit
def _many_at_rest(
    robot: FlexibleRobot, x: Float[Array, "N m"], loaded: bool
) -> tuple[Float[Array, "N n n"], Float[Array, "N n n"]]:
    of_links = links(robot)  # once: they do not know the pose

    def one(x: Float[Array, " m"]) -> tuple[Float[Array, "n n"], Float[Array, "n n"]]:
        M, K, *_ = at_rest(robot, of_links, x, loaded)
        return M, (K + K.T) / 2

    return jax.lax.map(one, x)  # not vmapped: see `assembly.solve_arrow`


def rest_matrices(
    robot: FlexibleRobot,
    x: Float[Array, " m"],
    loaded: bool = False,
    of_links: Links | None = None,
) -> Rest:
    """`at_rest`, compiled."""
    return _at_rest(robot, of_links or built_links(robot), x, loaded)


built_links = eqx.filter_jit(links)
_at_rest = eqx.filter_jit(at_rest)


@eqx.filter_jit
def _sag(robot: FlexibleRobot, x: Float[Array, " m"]) -> Float[Array, " n"]:
    return static(arrow(robot, links(robot), rest_poses(robot.mechanism, x)))


@eqx.filter_jit
def _slopes(
    robot: FlexibleRobot,
    x: Float[Array, " m"],
    shapes: Float[Array, "n k"],
    w: Float[Array, " k"],
) -> FlexibleRobot:
    """Equation (2) for all numbers of the robot at once, in its own form."""

    def mean(robot: FlexibleRobot) -> Float[Array, ""]:
        M, K, *_ = at_rest(robot, links(robot), x)
        forms = jnp.einsum("ak,ab,bk->k", shapes, K, shapes)
        forms = forms - w**2 * jnp.einsum("ak,ab,bk->k", shapes, M, shapes)
        return jnp.mean(forms / (2 * w))

    return eqx.filter_grad(mean)(robot)
