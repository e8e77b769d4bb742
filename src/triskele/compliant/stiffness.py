"""Stiffness and natural frequencies of any robot with springs, at any pose.

Springs are flexures in passive joints, couplings of motors, and rods that stretch. Unknowns are
the platform coordinates x and the joint coordinates q, the loops being cut: c_i(q, x) / d_i is by
how much the rods of loop i are longer than d_i. U(q, x) is the energy of flexures and weight. At
rest the drives have the efforts tau and the loops the multipliers lam,

    dU/dx + A' lam = 0,          dU/dq + B lam = tau                                    (1)

and while these efforts stay as they are, small motions y = (x, q) about the pose have

    K = d2(U + lam . c)/dy2 + sum_i k_i e_i e_i' + sum_i (r_i - lam_i) g_i g_i'           (2)

with the springs k_i of the drives, e_i along q_i, and the springs r_i of the rods, g_i = dc_i/dy
over d_i; their tension is lam_i d_i. A drive that is held has e_i . y = 0, rigid rods have
g_i . y = 0; the motions that are left are y = Z u, and

    (Z' K Z) u = w^2 (Z' M Z) u                                                         (3)

The stiffness of the platform is that against slow pushes, (Z_x (Z' K Z)^-1 Z_x')^-1: drive and
rods of a limb are in series in it, limbs side by side. The platform moves along its coordinates
only: what the limbs hold by the form of their joints counts as rigid.

Drives are *free*, without any spring, or *locked*: their motors stand, and each coupling is a
spring of i^2 kt at the joint, or rigid.
"""

from typing import Literal, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from triskele.description.schema import Payload, Robot
from triskele.dynamics.energy import potential_energy
from triskele.dynamics.robot import RigidRobot, rigid
from triskele.dynamics.wrenches import inertial_wrenches, power
from triskele.errors import InputError, MissingFact
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.laws.actuators import Actuators
from triskele.laws.drives import Drive, drives
from triskele.laws.rods import loop_stiffness
from triskele.numerics import Scalar, Scalars, jvp, stacked, tabulate

Hold = Literal["free", "locked"]
_DEPENDENT = 1e-9  #: of what is held, in parts of the largest


class NaturalModes(NamedTuple):
    """Modes of (3), slowest first; as many as the platform has ways to move."""

    frequencies: Float[np.ndarray, " modes"]  #: [Hz]
    shapes: Float[np.ndarray, "n modes"]  #: columns: platform coordinates of each mode
    stiffness: Float[np.ndarray, "n n"] | None
    #: of the platform [N/m, N, N m/rad]; None if something holds it rigidly
    mass: Float[np.ndarray, "n n"] | None  #: that moves with it [kg, kg m, kg m^2]


class Springs(NamedTuple):
    """What holds drives and loops: 0 nothing, infinite a rigid part."""

    drives: Float[np.ndarray, " n"]  #: at the joints [N m/rad or N/m], while the motor leads
    reverse: Float[np.ndarray, " n"]  #: the same while the load leads
    loops: Float[np.ndarray, " n"]  #: rods of each loop [N/m]


class Linear(NamedTuple):
    """A robot about a pose at rest: M xdd + K x = (dq/dx)' tau, in deviations."""

    M: Float[np.ndarray, "n n"]
    K: Float[np.ndarray, "n n"]  #: with tau held
    S: Float[np.ndarray, "n n"]  #: dq/dx
    tau: Float[np.ndarray, " n"]  #: what holds the pose [N m, N]
    q: Float[np.ndarray, " n"]  #: joint coordinates of the pose
    E: Float[np.ndarray, "passive n"]  #: d eta/dx of the passive coordinates


class _Cut(NamedTuple):
    """A robot about a pose with its loops cut; matrices of y = (x, q)."""

    M: Float[np.ndarray, "k k"]
    H: Float[np.ndarray, "k k"]  #: the first term of (2)
    G: Float[np.ndarray, "n k"]  #: dc/dy
    E: Float[np.ndarray, "passive k"]  #: d eta/dy
    lam: Float[np.ndarray, " n"]
    tau: Float[np.ndarray, " n"]
    q: Float[np.ndarray, " n"]


def linear(robot: RigidRobot, x: ArrayLike) -> Linear:
    """Mass, stiffness under constant efforts, and dq/dx at a pose; rods are rigid."""
    cut = _cut(robot, np.asarray(x, float))
    n = len(cut.q)
    S = -cut.G[:, :n] / np.diag(cut.G[:, n:])[:, None]
    Z = np.vstack([np.eye(n), S])
    return Linear(Z.T @ cut.M @ Z, Z.T @ cut.H @ Z, S, cut.tau, cut.q, cut.E @ Z)


def natural_modes(
    robot: RigidRobot,
    x: ArrayLike,
    actuators: Actuators | None = None,
    drives: Hold = "free",
    rods: ArrayLike | None = None,
) -> NaturalModes:
    """Natural frequencies [Hz] at `x`, drives free or their motors locked.

    `robot` must have beyond its joints what moves with them: with `actuators`, i^2 J2 as its
    `rotors` (`control.plant` builds it so). `rods` is the stiffness [N/m] of the rods of each loop.
    """
    n = len(np.asarray(robot.rotors))
    loops = np.full(n, np.inf) if rods is None else np.asarray(rods, float)
    if drives == "free":
        return sprung_modes(robot, x, Springs(np.zeros(n), np.zeros(n), loops))
    coupling = None if actuators is None else actuators.coupling
    if actuators is None or coupling is None:
        rigidly = np.full(n, np.inf)
        return sprung_modes(robot, x, Springs(rigidly, rigidly, loops))
    i = np.asarray(actuators.ratio)
    forth, back = (i * i * np.asarray(kt) for kt in (coupling.stiffness, coupling.reverse))
    return sprung_modes(robot, x, Springs(forth, back, loops))


def sprung_modes(robot: RigidRobot, x: ArrayLike, springs: Springs) -> NaturalModes:
    """Modes of (3) with these springs of drives and rods."""
    cut = _cut(robot, np.asarray(x, float))
    n = len(cut.q)
    d = np.asarray(stacked(robot.mechanism.scales().loops), float)
    k = np.where(cut.tau >= 0, springs.drives, springs.reverse)
    K, held = cut.H.copy(), []
    for i in range(n):
        e, g = np.eye(2 * n)[n + i], cut.G[i] / d[i]
        for stiffness, direction in ((k[i], e), (springs.loops[i] - cut.lam[i], g)):
            if np.isfinite(stiffness):
                K += stiffness * np.outer(direction, direction)
            else:
                held.append(direction)
    Z = _free(np.array(held).reshape(-1, 2 * n), _units(robot.mechanism))
    if not Z.shape[1]:
        raise InputError(
            "With its motors locked a robot with stiff transmissions and rigid rods cannot move; "
            "natural frequencies need motors.drives.coupling_stiffness or sections.rod."
        )
    K, M = Z.T @ K @ Z, Z.T @ cut.M @ Z
    square, shapes = _eigen(M, K)
    if square[0] <= 0:
        how = "locked" if springs.drives.any() else "free"
        raise InputError(
            f"The pose is not stable with its drives {how}: along one coordinate the stiffness "
            f"is negative (eigenvalue {square[0]:.3g} 1/s^2). It needs springs, or control."
        )
    modes = Z[:n] @ shapes[:, :n]
    modes = modes / np.abs(modes).max(axis=0)
    return NaturalModes(np.sqrt(square[:n]) / (2 * np.pi), modes, *_at_platform(K, M, Z[:n]))


def _free(held: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Z: a basis of the motions that leave what is held."""
    if not len(held):
        return np.eye(len(units))
    rows = held / units
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    _, sizes, directions = np.linalg.svd(rows)
    rank = int((sizes > _DEPENDENT * sizes[0]).sum())
    return directions[rank:].T / units[:, None]


def _units(mechanism: AbstractMechanism) -> np.ndarray:
    """Metres of motion per unit of (x, q)."""
    _, joints, platform = mechanism.scales()
    return np.concatenate([np.asarray(stacked(part), float) for part in (platform, joints)])


def _at_platform(
    K: np.ndarray, M: np.ndarray, X: np.ndarray
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Stiffness against slow pushes at x = X u, and the mass that then moves with x."""
    bent = np.linalg.solve(K, X.T)  # u per push
    compliance = X @ bent
    if len(K) < len(X) or np.linalg.matrix_rank(_even(compliance)) < len(X):
        return None, None
    stiffness = np.linalg.inv(compliance)
    T = bent @ stiffness
    return stiffness, T.T @ M @ T


def _even(A: np.ndarray) -> np.ndarray:
    """`A` with units such that its diagonal is one."""
    size = np.sqrt(np.diag(A).clip(np.finfo(float).tiny))
    return A / np.outer(size, size)


# Of a robot file


def modes_by_drives(robot: Robot, payload: Payload | None, x: ArrayLike) -> dict[str, NaturalModes]:
    """Modes of a robot file at `x`, by what holds its drives.

    Drives free where flexures hold the platform, with and without what moves beyond the couplings;
    and motors locked, where couplings or rods are springs.
    """
    load = rigid(robot, payload)
    check_springs(robot, load.mechanism)
    own, n = drives(robot, load.mechanism), len(load.rotors)
    soft = [drive.stiffness is not None for drive in own]
    rods = loop_stiffness(robot, load.mechanism, tuple(np.asarray(x, float)))
    loops = np.full(n, np.inf) if rods is None else rods
    free = Springs(np.zeros(n), np.zeros(n), loops)
    found: dict[str, NaturalModes] = {}
    beyond = eqx.tree_at(lambda r: r.rotors, load, np.array([drive.load_inertia for drive in own]))
    if any(load.springs):
        what, link = ("sliders", "belts") if all(d.sliding for d in own) else ("drives", "gears")
        bare = eqx.tree_at(lambda r: r.rotors, load, np.zeros(n))
        found[f"{what} free, motors off"] = sprung_modes(bare, x, free)
        if any(soft):
            found[f"{what} and {link} free"] = sprung_modes(beyond, x, free)
    if any(soft) or rods is not None:
        found["motors locked"] = sprung_modes(beyond, x, _locked(own, loops))
    return found


def check_springs(robot: Robot, mechanism: AbstractMechanism) -> None:
    """Raise MissingFact, and say what to add, unless some part of the robot is a spring."""
    own, sections = drives(robot, mechanism), robot.sections
    soft = [drive for drive in own if drive.motor and drive.motor.coupling_stiffness is not None]
    for drive in soft:
        key = f"{drive.place}.{drive.ratio_key}"
        robot.require(key, "a coupling_stiffness at the motor shaft")
    rods = sections is not None and (sections.rod is not None or sections.rod_stiffness is not None)
    if not (soft or rods or robot.flexures is not None):
        raise MissingFact(
            f"{robot.name} states no stiffness, which modes need: add coupling_stiffness and "
            f"{own[0].ratio_key} under [{own[0].place}], or rod_stiffness under [sections], or a "
            "cross-section, [sections.rod]; joints that are springs are [flexures]."
        )


def _locked(own: tuple[Drive, ...], loops: np.ndarray) -> Springs:
    """The couplings of the drives as springs, i^2 kt at the joints."""
    forth, back = [], []
    for drive in own:
        k = np.inf if drive.stiffness is None else drive.stiffness
        one = drive.motor.coupling_stiffness_reverse if drive.motor is not None else None
        forth.append(k)
        back.append(k if one is None or drive.ratio is None else drive.ratio**2 * one)
    return Springs(np.array(forth), np.array(back), loops)


def moving_coordinates(mechanism: AbstractMechanism, found: NaturalModes) -> list[list[str]]:
    """Platform coordinates that move most in each mode.

    Of modes at one frequency any mixture is one: they are taken together.
    """
    units = np.asarray(stacked(mechanism.scales().platform))
    names = [c.name for c in mechanism.platform_coordinates]
    shapes = units * found.shapes.T
    moving = []
    for frequency in found.frequencies:
        alike = np.isclose(found.frequencies, frequency, rtol=1e-4)
        moved = np.sqrt((shapes[alike] ** 2).sum(axis=0))
        most = moved.max() / 3
        moving.append([name for name, size in zip(names, moved, strict=True) if size > most])
    return moving


def _eigen(M: np.ndarray, K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from scipy.linalg import eigh

    return eigh(K, M)


# Derivatives with the loops cut


def _cut(robot: RigidRobot, x: np.ndarray) -> _Cut:
    """The robot about `x`.

    Derivatives of U, c and eta, and kinetic energies, along k (k + 1) / 2 directions e_i and
    e_i + e_j make gradients, Hessians and M: H_ij = (H_uu - H_ii - H_jj) / 2 for u = e_i + e_j.
    """
    q = np.asarray(stacked(robot.mechanism.inverse(tuple(x)).components), float)
    n, k, one = len(x), 2 * len(x), np.eye(2 * len(x))
    pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
    directions = np.concatenate([one, *(one[[i]] + one[[j]] for i, j in pairs)])
    at = (np.tile(part, (len(directions), 1)) for part in (x, q))
    along = directions[:, :n], directions[:, n:]
    first, second, energy = tabulate(eqx.Partial(_along, robot))(*at, *along)
    first, second = (np.stack(part, axis=-1) for part in (first, second))
    gradient, G = first[:k, 0], first[:k, 1 : n + 1].T
    lam = np.linalg.solve(G[:, :n].T, -gradient[:n])
    tau = gradient[n:] + np.diag(G[:, n:]) * lam
    square = np.column_stack([second[:, 0] + second[:, 1 : n + 1] @ lam, 2 * energy])
    H, M = np.zeros((2, k, k))
    for i in range(k):
        H[i, i], M[i, i] = square[i]
    for place, (i, j) in enumerate(pairs, k):
        mixed = (square[place] - square[i] - square[j]) / 2
        H[i, j], M[i, j] = H[j, i], M[j, i] = mixed
    return _Cut(M, H, G, first[:k, n + 1 :].T, lam, tau, q)


def _along(
    robot: RigidRobot, x: Scalars, q: Scalars, dx: Scalars, dq: Scalars
) -> tuple[Scalars, Scalars, Scalar]:
    """First and second derivatives of (U, c, eta) along (dx, dq), and the kinetic energy.

    A kernel for `tabulate`.
    """
    mechanism = robot.mechanism

    def stored(x: Scalars, q: Scalars) -> Scalars:
        eta = mechanism.passive(q, x)
        U = potential_energy(robot, mechanism.body_poses(q, x), eta)
        return (U, *mechanism.closure(q, x), *eta)

    def rates(x: Scalars, q: Scalars) -> Scalars:
        return jvp(stored, (x, q), (dx, dq))[1]

    first, second = jvp(rates, (x, q), (dx, dq))
    _, Td = jvp(mechanism.body_poses, (q, x), (dq, dx))
    moving = power(Td, inertial_wrenches(robot, Td, (0.0, 0.0, 0.0)))
    spinning = sum(i * rate * rate for i, rate in zip(robot.rotors, dq, strict=True))
    return first, second, (moving + spinning) / 2
