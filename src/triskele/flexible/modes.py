"""Natural frequencies and mode shapes of a flexible robot, at a pose, along a path, everywhere.

With the motors held and the robot at rest,

    K v = w^2 M v,     v' M v = 1                                                       (1)

K is elastic; `loaded`, the tension of the links under the robot's own weight and payload stiffens
it (`link`, equation 3). Frequencies change with a parameter p of the robot by

    dw/dp = v' (dK/dp - w^2 dM/dp) v / (2 w)                                            (2)

for a mode that is alone at its frequency. Where several share one, only their mean is a smooth
function of p, and the mean of (2) is its derivative.

v' M v is twice the kinetic energy over w^2, and every body has a part of it. That of the platform,
of mass m and inertia J about its centre of mass c, which moves with u_c while it turns by g, is

    m u_c^2 + |J^(1/2) g|^2                                                             (3)

axis by axis: no term is negative, and those of turning are J_kk g_k^2 where axes are principal.

Motors that are held by their servos damp, and the modes are those of `poles`: v has an imaginary
part, what moves a quarter of a period apart. Then v* M v = 1, and shares are those of the mean
energy over a period.
"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float
from scipy.linalg import eigh

from triskele.errors import InputError
from triskele.flexible.assembly import (
    UNDAMPED,
    Arrow,
    Damping,
    Poses,
    arm_turns,
    arrow,
    drive_places,
    limb_places,
    link_displacements,
    motor_turns,
    rest_poses,
    solve_arrow,
    whole,
    whole_vector,
)
from triskele.flexible.link import U, V, W, tip_tension
from triskele.flexible.poles import Poles, poles
from triskele.flexible.robot import PLATFORM, FlexibleRobot, Links, links
from triskele.numerics import AnyArray, Components, Scalar

_SAME = 1e-6  #: frequencies closer than this, relatively, are one
_QUIET = 0.01  #: a platform with less of the kinetic energy is still
_BLOCK = 64  #: poses at once in a map

Progress = Callable[[float], None]


class Modes(eqx.Module):
    """The lowest modes at one pose."""

    x: Float[np.ndarray, " m"]  #: platform coordinates [m, rad]
    frequencies: Float[np.ndarray, " modes"]  #: w [rad/s], rising
    shapes: Float[np.ndarray, "n modes"]  #: v of (1), in the unknowns of the robot
    inertia: Float[np.ndarray, "6 6"]  #: of the platform and what it carries, alone
    later: Float[np.ndarray, "n modes"]  #: a quarter of a period later, in proportion; 0 undamped
    ratios: Float[np.ndarray, " modes"]  #: of damping; 0 with the motors held
    fading: Float[np.ndarray, " _"]  #: rates of what fades without a swing [1/s], rising
    grows: bool = False  #: any pole, of these modes or not: the loop of servos is unstable

    @property
    def platform(self) -> Float[np.ndarray, "modes 6"]:
        """Displacement [m] and rotation [rad] of the platform in each mode, to scale."""
        return self.shapes[:PLATFORM].T

    @property
    def shares(self) -> Float[np.ndarray, "modes 6"]:
        """What part of a mode's kinetic energy the platform has, along and about each axis.

        All energy of a mode of (1) counts as 1; the platform's own is the sum of (3).
        """
        m, first = self.inertia[0, 0], _axis_of(self.inertia[3:, :3])
        about_centre = (
            self.inertia[3:, 3:] - (first @ first * np.eye(3) - np.outer(first, first)) / m
        )
        squares, axes = np.linalg.eigh(about_centre)
        root = axes * np.sqrt(np.maximum(squares, 0.0)) @ axes.T
        both = [(part[:3].T, part[3:PLATFORM].T) for part in (self.shapes, self.later)]
        parts = [
            np.hstack([m * (u + np.cross(w, first / m)) ** 2, (w @ root) ** 2]) for u, w in both
        ]
        return parts[0] + parts[1]

    @property
    def directions(self) -> tuple[str, ...]:
        """Along or about which axis the platform moves most in each mode; "links" if hardly."""
        names = ("x", "y", "z", "about x", "about y", "about z")
        return tuple(
            names[int(row.argmax())] if row.sum() > _QUIET else "links" for row in self.shares
        )


class Energies(NamedTuple):
    """What part of the kinetic energy of each mode its bodies have; rows add up to 1."""

    bodies: tuple[str, ...]
    shares: Float[np.ndarray, "modes bodies"]


class Sag(NamedTuple):
    """A robot at rest under its weight."""

    y: Float[AnyArray, " n"]  #: unknowns
    position: Float[AnyArray, "3"]  #: displacement of the platform [m]
    rotation: Float[AnyArray, "3"]  #: its rotation [rad]


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
    """The lowest `count` modes with the platform at `x` [m, rad].

    Motors are held, or servos hold them; then frequencies are damped, and what swings is counted.
    `of_links` are its links, if they are built already.
    """
    _check_count(robot, count)
    rest = rest_matrices(robot, jnp.asarray(x, float), loaded, of_links)
    M, C, K, inertia = (np.asarray(part) for part in (rest.M, rest.C, rest.K, rest.platform))
    place = np.asarray(x, float)
    if robot.servo is not None:
        return _damped_modes(place, poles(robot, M, C, K), M, inertia, count)
    squares, shapes = eigh((K + K.T) / 2, M, subset_by_index=(0, count - 1))
    w, still = np.sqrt(np.maximum(squares, 0.0)), np.zeros_like(shapes)
    return Modes(place, w, shapes, inertia, still, np.zeros(count), np.zeros(0))


def _damped_modes(
    x: Float[np.ndarray, " m"],
    found: Poles,
    M: Float[np.ndarray, "n n"],
    inertia: Float[np.ndarray, "6 6"],
    count: int,
) -> Modes:
    """The slowest that swing, each turned in phase so that its real part has the most energy."""
    chosen = found.swinging()[:count]
    p, v = found.p[chosen], found.shapes[:, chosen]
    v = v / np.sqrt(np.real(np.einsum("ak,ab,bk->k", v.conj(), M, v)))[None, :]
    v = v * np.exp(-0.5j * np.angle(np.einsum("ak,ab,bk->k", v, M, v)))[None, :]
    ratios = -np.real(p) / np.abs(p)
    fading, grows = found.fading(), found.grows()
    return Modes(x, np.imag(p), np.real(v), inertia, np.imag(v), ratios, fading, grows)


def energies(robot: FlexibleRobot, found: Modes, of_links: Links | None = None) -> Energies:
    """Which bodies have the kinetic energy of the modes `found` of `robot`."""
    known = of_links or built_links(robot), jnp.asarray(found.x)
    parts = _energies(robot, *known, jnp.asarray(found.shapes))
    if found.later.any():
        parts = jax.tree.map(jnp.add, parts, _energies(robot, *known, jnp.asarray(found.later)))
    if not np.any(robot.rotors):
        parts.pop("motors", None)  # of no inertia but that of the arms
    shares = {"platform": found.shares.sum(axis=1)} | {k: np.asarray(v) for k, v in parts.items()}
    return Energies(tuple(shares), np.stack(list(shares.values()), axis=1))


def _axis_of(skew: Float[np.ndarray, "3 3"]) -> Float[np.ndarray, "3"]:
    """a of the matrix of a x."""
    return np.array([skew[2, 1], skew[0, 2], skew[1, 0]])


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
        each = zip(*(np.asarray(part)[: n - k] for part in matrices), strict=True)
        parts += [_frequencies(robot, M, C, K, count) for M, C, K in each]
        if progress is not None:
            progress(min((k + _BLOCK) / n, 1.0))
    return np.stack(parts)


def _frequencies(
    robot: FlexibleRobot,
    M: Float[np.ndarray, "n n"],
    C: Float[np.ndarray, "n n"],
    K: Float[np.ndarray, "n n"],
    count: int,
) -> Float[np.ndarray, " count"]:
    if robot.servo is None:
        return np.sqrt(np.maximum(eigh(K, M, eigvals_only=True)[:count], 0.0))
    found = poles(robot, M, C, K)
    return np.imag(found.p[found.swinging()[:count]])


def platform_stiffness(robot: FlexibleRobot, x: Components) -> Float[np.ndarray, "6 6"]:
    """Force [N] and moment [N m] on the platform per displacement [m] and rotation [rad] at `x`.

    Motors are held, or pushed back by servos, and links bend freely: what inverts the platform's
    part of the compliance.
    """
    K, free = np.asarray(rest_matrices(robot, jnp.asarray(x, float)).K), np.asarray(_free(robot))
    K = K * free[:, None] * free[None, :] + np.diag(1.0 - free)
    C = np.linalg.solve((K + K.T) / 2, np.eye(len(K))[:, :PLATFORM])[:PLATFORM]
    return np.linalg.inv((C + C.T) / 2)


def sag(robot: FlexibleRobot, x: Components) -> Sag:
    """How the robot hangs at rest at `x`, by its own weight and payload."""
    rest = rest_matrices(robot, jnp.asarray(x, float))
    xp = jnp if isinstance(rest.K, Tracer) else np
    K, f, free = xp.asarray(rest.K), xp.asarray(rest.f), xp.asarray(_free(robot))
    K = (K + K.T) / 2 * free[:, None] * free[None, :] + xp.diag(1.0 - free)
    y = xp.linalg.solve(K, -f * free)
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


PARAMETERS: dict[str, Callable[[FlexibleRobot], Scalar | None]] = {
    "arm length [m]": lambda r: r.mechanism.arm_length,
    "rod length [m]": lambda r: r.mechanism.rod_length,
    "base radius [m]": lambda r: r.mechanism.base_radius,
    "platform radius [m]": lambda r: r.mechanism.platform_radius,
    "rod spacing [m]": lambda r: r.mechanism.rod_spacing,
    "gear stiffness [N m/rad]": lambda r: None if r.gears is None else r.gears.stiffness,
    "inertia beyond gears [kg m^2]": lambda r: None if r.gears is None else r.gears.inertia,
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

    M: Float[AnyArray, "n n"]
    K: Float[AnyArray, "n n"]
    f: Float[AnyArray, " n"]
    platform: Float[AnyArray, "6 6"]  #: the part of M that is the platform's own
    C: Float[AnyArray, "n n"]  #: damping


def at_rest(
    robot: FlexibleRobot,
    of_links: Links,
    x: Float[AnyArray, " m"],
    loaded: bool = False,
    damping: Damping = UNDAMPED,
) -> Rest:
    """Matrices at the pose `x`; `loaded`, stiffened by the tensions of its own weight."""
    poses = rest_poses(robot.mechanism, x)
    limbs = arrow(robot, of_links, poses, damping=damping)
    if loaded:
        pulls = tensions(robot, of_links, poses, static(robot, limbs))
        limbs = arrow(robot, of_links, poses, tensions=pulls, damping=damping)
    still = jnp.zeros((PLATFORM, PLATFORM))
    return Rest(
        whole(robot, limbs.M, limbs.platform),
        whole(robot, limbs.K, still),
        whole_vector(limbs.f, limbs.platform_f),
        limbs.platform,
        whole(robot, limbs.C, limbs.platform_C),
    )


def static(robot: FlexibleRobot, limbs: Arrow) -> Float[AnyArray, " n"]:
    """Unknowns with which elastic forces alone carry all loads."""
    return carried(robot, limbs, limbs.f, limbs.platform_f)


def carried(
    robot: FlexibleRobot,
    limbs: Arrow,
    f: Float[AnyArray, "3 a"],
    platform_f: Float[AnyArray, "6"],
) -> Float[AnyArray, " n"]:
    """Unknowns with which elastic forces carry the loads `f`; integrators bring motors back."""
    free = jnp.stack([_free(robot)[limb_places(i, robot.of_limb)] for i in range(3)])
    stiff = limbs.stiff * free[:, :, None] * free[:, None, :]
    stiff = stiff + jax.vmap(jnp.diag)(1.0 - free)
    f = f * free
    platform, own = solve_arrow(
        stiff,
        jnp.zeros((PLATFORM, PLATFORM)),
        -f[:, PLATFORM:, None],
        -(platform_f + f[:, :PLATFORM].sum(axis=0))[:, None],
    )
    return jnp.concatenate([platform[:, 0], own.reshape(-1)])


def _free(robot: FlexibleRobot) -> Float[AnyArray, " n"]:
    """1 for each unknown, 0 for turns of motors that are 0 at rest, by integrators."""
    free = jnp.ones(robot.unknowns)
    if robot.servo is None:
        return free
    places = drive_places(robot, robot.motor_turn)
    return free.at[places].set(jnp.where(jnp.asarray(robot.servo.integral) > 0, 0.0, 1.0))


def tensions(
    robot: FlexibleRobot, of_links: Links, poses: Poses, y: Float[AnyArray, " n"]
) -> Float[AnyArray, "3 links"]:
    """Pull at the tips of arm and rods of each limb [N], displaced by `y`."""
    arms, rods = link_displacements(robot, poses, y)
    found = []
    if arms is not None:
        found.append(jax.vmap(_pull, in_axes=(None, 0, 0, 0))(robot, of_links.arm, poses.arm, arms))
    for k in range(len(robot.shifts)):
        each = jax.vmap(_pull, in_axes=(None, 0, 0, 0))
        found.append(each(robot, of_links.rod, poses.rod, rods[:, k]))
    if arms is None:
        each = jax.vmap(_pull_on_arm, in_axes=(None, 0, 0, 0, 0))
        pulls = [each(robot, of_links.rod, poses.rod, poses.arm, d) for d in rods.swapaxes(0, 1)]
        found.insert(0, sum(pulls[1:], pulls[0]))
    return jnp.stack(found, axis=1)


def _pull_on_arm(robot: FlexibleRobot, link, T, arm, d) -> Float[AnyArray, ""]:  # noqa: ANN001
    """Of a rod on its elbow, along the arm: against what the arm exerts on the rod."""
    R, root = T[0, :, :3], np.array([U, V, W])
    c, X = R.T @ (T[2, :, 3] - robot.gravity), R.T @ T[2, :, :3]
    force = link.K[root] @ d + link.L0[root] @ c + link.L1[root] @ X[:, 0]
    return -arm[0, :, 0] @ (R @ force)


def _pull(robot: FlexibleRobot, link, T, d) -> Float[AnyArray, ""]:  # noqa: ANN001
    R = T[0, :, :3]
    return tip_tension(link, R.T @ T[2, :, :3], R.T @ (T[2, :, 3] - robot.gravity), d)


@eqx.filter_jit
def _many_at_rest(
    robot: FlexibleRobot, x: Float[AnyArray, "N m"], loaded: bool
) -> tuple[Float[AnyArray, "N n n"], ...]:
    of_links = links(robot)  # once: they do not know the pose

    def one(x: Float[AnyArray, " m"]) -> tuple[Float[AnyArray, "n n"], ...]:
        rest = at_rest(robot, of_links, x, loaded)
        return rest.M, rest.C, (rest.K + rest.K.T) / 2

    return jax.lax.map(one, x)  # not vmapped: see `assembly.solve_arrow`


def rest_matrices(
    robot: FlexibleRobot,
    x: Float[AnyArray, " m"],
    loaded: bool = False,
    of_links: Links | None = None,
    damping: Damping = UNDAMPED,
) -> Rest:
    """`at_rest`, compiled."""
    traced = Damping(*(jnp.asarray(part) for part in damping))  # another is not recompiled
    return _at_rest(robot, of_links or built_links(robot), x, loaded, traced)


built_links = eqx.filter_jit(links)
_at_rest = eqx.filter_jit(at_rest)


@eqx.filter_jit
def _energies(
    robot: FlexibleRobot,
    of_links: Links,
    x: Float[AnyArray, " m"],
    shapes: Float[AnyArray, "n k"],
) -> dict[str, Float[AnyArray, " k"]]:
    """d'M d of the links of each kind, in every mode."""
    poses = rest_poses(robot.mechanism, x)

    def one(v: Float[AnyArray, " n"]) -> dict[str, Float[AnyArray, ""]]:
        arms, rods = link_displacements(robot, poses, v)
        found: dict[str, AnyArray] = {
            "rods": jnp.einsum("ika,iab,ikb->", rods, of_links.rod.M, rods)
        }
        turns, of_arms = arm_turns(robot, v), None
        if arms is not None and of_links.arm is not None:
            of_arms = jnp.einsum("ia,iab,ib->", arms, of_links.arm.M, arms)
        elif robot.turns:
            of_arms = robot.arm[5] * turns @ turns
        if of_arms is not None:
            found["arms"] = of_arms
        if robot.gears is not None:
            found["gears"] = robot.gears.inertia @ turns**2
        if robot.servo is not None:
            found["motors"] = robot.rotors @ motor_turns(robot, v) ** 2
        return found

    return jax.lax.map(one, shapes.T)


@eqx.filter_jit
def _slopes(
    robot: FlexibleRobot,
    x: Float[AnyArray, " m"],
    shapes: Float[AnyArray, "n k"],
    w: Float[AnyArray, " k"],
) -> FlexibleRobot:
    """Equation (2) for all numbers of the robot at once, in its own form."""

    def mean(robot: FlexibleRobot) -> Float[AnyArray, ""]:
        M, K, *_ = at_rest(robot, links(robot), x)
        forms = jnp.einsum("ak,ab,bk->k", shapes, K, shapes)
        forms = forms - w**2 * jnp.einsum("ak,ab,bk->k", shapes, M, shapes)
        return jnp.mean(forms / (2 * w))

    return eqx.filter_grad(mean)(robot)
