"""A Delta whose links bend, put together without equations of constraint.

Displacements are small, in a frame that moves with the rigid robot; motors are held where they
are, or follow their motion. A limb hangs on the platform alone, so that unknowns are

    d_P, g_P         displacement and rotation of the platform, in O                     (6)
    u_B, g_B         the same of the tip of each arm, in the frame of the arm            (6)
    turn             of each arm about its motor's axis, if its gear or servo is soft    (1)
    motor            turn of each motor, if both are soft                                (1)
    slopes           of each rod at elbow and wrist, as rotations about its y and z      (4)
    inner            unknowns of arms and rods between their ends

and matrices are arrows: limbs meet in the first six. A rod takes its ends from its neighbours. With
R_u, R_l the axes of arm and rod, at an elbow beside the tip by s (rods in pairs: s = +-w/2 v),

    (u, v, w) = R_l' (R_u u_B + R_u g_B x s)     at the elbow                            (1)
    (u, v, w) = R_l' (d_P + g_P x r)             at the wrist, r from the platform's centre

A single rod has universal joints, about v (tangential, fixed in the arm or the platform) and its
own z. They pass no rotation but the one about k = v x z, so that a rod twists by

    phi = (k . g - (k . y_l) g_y) / (k . x_l)                                           (2)

with g the rotation of its neighbour and g_y its own about y_l. Rods in pairs have ball joints; they
are free to spin, nothing twists them, and phi is left out. A link without section is rigid: arms
may be, rods may not.

In a soft gear of stiffness k an arm turns by t, along q: w' = -t at its root, and a rigid arm of
length l has u_B = -l t e_z and g_B = t e_y. With J beyond the gear, and of a rigid arm, t takes

    J (t'' + qdd) + c t' + k t - v . (m c x g)                                          (4)

the last term that of a rigid arm's weight. A servo (`servo`) holds the motor, which turns by s,

    J1 (s'' + qdd) + c (s' - t') + k (s - t) + d s' + c1 (s' + qd) + k_s s + k_I z        (5)

and t has c (t' - s') + k (t - s) instead; with a rigid gear s is t, and J1 part of its J. z is no
unknown of these matrices, see `poles` and `response`. Stiffened, a rigid arm has
P l + m (c_x g_x + c_z g_z) as well, g in its own axes, with P the pull at its tip.

Along a motion, (1) and (2) make a rod's unknowns d = S(t) y, and (2) of `link` becomes

    S'M S y'' + S'(2 M S' + C S) y' + S'(M S'' + C S' + K S) y + S' f                   (3)

Y.-L. Kuo, Mathematical modeling and analysis of the Delta robot with flexible links, 2016, has the
idea, and other equations at the elbow and wrist: see `studies.kuo_assembly`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from triskele.flexible.link import END, W1, Link, MovingLink, moving
from triskele.flexible.robot import OF_ROD, PLATFORM, FlexibleRobot, Gears, Links
from triskele.flexible.servo import Servo
from triskele.kinematics.delta import Delta
from triskele.numerics import AnyArray, Components
from triskele.spatial.inertia import pseudo_inertia
from triskele.spatial.vectors import poses_array

_ENDS = 2 * END
_Matrix = Float[AnyArray, "_ _"]


class Poses(NamedTuple):
    """Bodies as [R p], with their first and second derivatives by time."""

    arm: Float[AnyArray, "3 orders 3 4"]  #: of each limb
    rod: Float[AnyArray, "3 orders 3 4"]  #: of each limb, one for both of a pair
    platform: Float[AnyArray, "orders 3 4"]
    carrier: Float[AnyArray, "orders 3 4"]  #: what carries the payload: flange, or platform


class _Drive(NamedTuple):
    """What holds an arm."""

    gear: Gears | None
    servo: Servo | None
    rotor: Float[AnyArray, "*drives"]


class Arrow(NamedTuple):
    """Matrices and forces of limbs, each with the unknowns of the platform first, and its own.

    M y'' + C y' + K y + f = 0; `stiff` is the elastic part of K. The platform is added apart.
    """

    M: Float[AnyArray, "3 a a"]
    C: Float[AnyArray, "3 a a"]
    K: Float[AnyArray, "3 a a"]
    stiff: Float[AnyArray, "3 a a"]
    f: Float[AnyArray, "3 a"]
    platform: Float[AnyArray, "6 6"]  #: its inertia
    platform_C: Float[AnyArray, "6 6"]  #: its damping
    platform_f: Float[AnyArray, "6"]


def rest_poses(mechanism: Delta, x: Components) -> Poses:
    """Arms and rods with the platform at rest at `x`."""
    T = poses_array(mechanism.body_poses(mechanism.inverse(x).components, x))
    return poses_of(mechanism, jnp.stack([T, jnp.zeros_like(T), jnp.zeros_like(T)]))


def poses_of(
    mechanism: Delta, T: Float[AnyArray, "... bodies 3 4"] | Float[np.ndarray, "... bodies 3 4"]
) -> Poses:
    """Of `T`, `Td` and `Tdd` of all bodies, (..., orders, bodies, 3, 4), those that count.

    The rods of a pair are parallel: their axes are the same, and their origins half a spacing
    beside the arm's tip.
    """
    names = mechanism.bodies
    arms = np.array([names.index(f"arm_{i}") for i in (1, 2, 3)])
    pair = "" if mechanism.rod_spacing is None else "a"
    rods = np.array([names.index(f"rod_{i}{pair}") for i in (1, 2, 3)])
    flange = "end_effector" if "end_effector" in names else "platform"
    by_body = T.swapaxes(-4, -3)
    arm, rod = by_body[..., arms, :, :, :], by_body[..., rods, :, :, :]
    platform, carrier = (T[..., names.index(name), :, :] for name in ("platform", flange))
    return Poses(arm, rod, platform, carrier)  # pyright: ignore[reportArgumentType]


class Damping(NamedTuple):
    """Proportional damping a M + b K of links and platform.

    A mode of frequency w has the damping ratio a / (2 w) + b w / 2.
    """

    mass: float | Array = 0.0  #: a [1/s]
    stiffness: float | Array = 0.0  #: b [s]

    def ratio(self, w: float) -> float:
        """Damping ratio of a mode of frequency `w` [rad/s]."""
        return float(self.mass / (2 * w) + self.stiffness * w / 2)


UNDAMPED = Damping()


def arrow(
    robot: FlexibleRobot,
    links: Links,
    poses: Poses,
    *,
    tensions: Float[AnyArray, "3 links"] | None = None,
    damping: Damping = UNDAMPED,
) -> Arrow:
    """Matrices of the limbs at `poses`; with `tensions` of arms and rods [N], stiffened by them."""
    limb = eqx.filter_vmap(_limb, in_axes=(None, None, 0, 0, 0, 0, 0, 0, 0))
    drive = _Drive(robot.gears, robot.servo, robot.rotors)
    pulls = jnp.zeros((3, 0)) if tensions is None else tensions
    wrists = _wrists(robot.mechanism)
    M, C, K, stiff, f = limb(
        robot, damping, drive, links.arm, links.rod, poses.arm, poses.rod, wrists, pulls
    )
    turns = jnp.arange(PLATFORM - 3, PLATFORM)
    K, stiff = (part.at[:, turns, turns].add(robot.level / 3) for part in (K, stiff))
    inertias, loads = zip(
        _rigid(robot, robot.platform, poses.platform),
        _rigid(robot, robot.carried, poses.carrier),
        strict=True,
    )
    platform = inertias[0] + inertias[1]
    return Arrow(M, C, K, stiff, f, platform, damping.mass * platform, loads[0] + loads[1])


def _rigid(
    robot: FlexibleRobot, ten: Float[AnyArray, "10"], T: Float[AnyArray, "orders 3 4"]
) -> tuple[Float[AnyArray, "6 6"], Float[AnyArray, "6"]]:
    """Inertia of a body that moves with the platform, and the load of its own motion and weight.

    With its pseudo-inertia P at [R p], the load is that of W = (Tdd - G) P, as in `dynamics`.
    """
    P, R = pseudo_inertia(ten), T[0, :, :3]
    m, first, second = P[3, 3], R @ P[:3, 3], R @ P[:3, :3] @ R.T
    turn = _skew(first)
    inertia = jnp.trace(second) * jnp.eye(3) - second
    matrix = jnp.block([[m * jnp.eye(3), -turn], [turn, inertia]])
    W = T[2].at[:, 3].add(-robot.gravity) @ P
    return matrix, jnp.concatenate([W[:, 3], jnp.cross(R.T, W[:, :3].T).sum(axis=0)])


def whole(robot: FlexibleRobot, limbs: Float[AnyArray, "3 a a"], platform: _Matrix) -> _Matrix:
    """One matrix of the robot from those of its limbs."""
    n, own = robot.unknowns, robot.of_limb
    total = jnp.zeros((n, n)).at[:PLATFORM, :PLATFORM].add(platform)
    for i in range(3):
        index = limb_places(i, own)
        total = total.at[index[:, None], index[None, :]].add(limbs[i])
    return total


def whole_vector(
    limbs: Float[AnyArray, "3 a"], platform: Float[AnyArray, "6"]
) -> Float[AnyArray, " n"]:
    """The same for forces."""
    own = limbs[:, PLATFORM:].reshape(-1)
    return jnp.concatenate([platform + limbs[:, :PLATFORM].sum(axis=0), own])


def limb_places(limb: int, own: int) -> np.ndarray:
    """Which unknowns of the robot are those of a limb, the platform's first."""
    return np.concatenate([np.arange(PLATFORM), PLATFORM + limb * own + np.arange(own)])


def solve_arrow(
    limbs: Float[AnyArray, "3 a a"],
    platform: _Matrix,
    limb_loads: Float[AnyArray, "3 own k"],
    platform_load: Float[AnyArray, "6 k"],
) -> tuple[Float[AnyArray, "6 k"], Float[AnyArray, "3 own k"]]:
    """Unknowns of platform and limbs, by elimination of the limbs, one by one.

    Not as a batch: JAX's batched LAPACK calls share a few threads, and two of them that run side
    by side wait for one another, on two cores for ever.
    """
    P = PLATFORM
    both = jnp.stack(
        [
            jnp.linalg.solve(limb[P:, P:], jnp.concatenate([limb[P:, :P], load], axis=1))
            for limb, load in zip(limbs, limb_loads, strict=True)
        ]
    )
    to_platform, alone = both[:, :, :P], both[:, :, P:]
    across = limbs[:, :P, P:]
    schur = platform + (limbs[:, :P, :P] - across @ to_platform).sum(axis=0)
    at_platform = jnp.linalg.solve(schur, platform_load - (across @ alone).sum(axis=0))
    return at_platform, alone - to_platform @ at_platform


# One limb


def link_displacements(
    robot: FlexibleRobot, poses: Poses, y: Float[AnyArray, " n"]
) -> tuple[Float[AnyArray, "3 arm"] | None, Float[AnyArray, "3 rods rod"]]:
    """Unknowns of the arms, if they bend, and of the rods, from those of the robot."""
    own = robot.of_limb
    wrists, arms, rods = _wrists(robot.mechanism), [], []
    for i in range(3):
        z = y[limb_places(i, own)]
        arms.append(_arm_ends(robot, z))
        ends = [_ends(robot, poses.arm[i, 0], poses.rod[i, 0], wrists[i], s) for s in robot.shifts]
        rods.append(jnp.stack([_expanded(S, z[_rod_places(robot, k)]) for k, S in enumerate(ends)]))
    return (None if robot.arm_beam is None else jnp.stack(arms)), jnp.stack(rods)


def arm_turns(robot: FlexibleRobot, y: Float[AnyArray, " n"]) -> Float[AnyArray, "3"]:
    """By how much arms turn beyond what is commanded [rad]; 0 if nothing of a drive is soft."""
    return y[..., drive_places(robot, robot.turn)] if robot.turns else jnp.zeros(3)


def motor_turns(robot: FlexibleRobot, y: Float[AnyArray, " n"]) -> Float[AnyArray, "3"]:
    """The same of motors, s; 0 if they are held."""
    return jnp.zeros(3) if robot.servo is None else y[drive_places(robot, robot.motor_turn)]


def drive_places(robot: FlexibleRobot, place: int) -> np.ndarray:
    """Where an unknown of a limb is among those of the robot, limb by limb."""
    return np.array([limb_places(i, robot.of_limb)[place] for i in range(3)])


def joint_points(
    robot: FlexibleRobot, poses: Poses, limb: int
) -> list[tuple[Float[AnyArray, "3"], Float[AnyArray, "3"]]]:
    """Of each rod of a limb, its elbow from the arm's tip and its wrist from the platform [m]."""
    half = 0.0 if robot.mechanism.rod_spacing is None else robot.mechanism.rod_spacing / 2
    v, (out, across) = poses.arm[limb, 0, :, 1], _wrists(robot.mechanism)[limb]
    return [(s * half * v, out + s * half * across) for s in robot.shifts]


def on_limb(
    robot: FlexibleRobot,
    poses: Poses,
    limb: int,
    of_arm: Float[AnyArray, " arm"] | None,
    of_rods: Sequence[Float[AnyArray, " rod"]],
) -> Float[AnyArray, " a"]:
    """Forces on the unknowns of an arm and of its rods as forces on those of the limb."""
    size, wrist = PLATFORM + robot.of_limb, _wrists(robot.mechanism)[limb]
    total = jnp.zeros(size)
    if of_arm is not None:
        S, rows = _arm_map(robot)
        forces = _pulled(S, of_arm[rows, None])[:, 0]
        total = total + _spread(forces, _arm_places(robot), size)
    for k, forces in enumerate(of_rods):
        S = _ends(robot, poses.arm[limb, 0], poses.rod[limb, 0], wrist, robot.shifts[k])
        total = total + _spread(_pulled(S, forces[:, None])[:, 0], _rod_places(robot, k), size)
    return total


class Motions(NamedTuple):
    """Unknowns of a link of each limb, their rates and accelerations."""

    d: Float[AnyArray, "3 d"]
    d1: Float[AnyArray, "3 d"]
    dd: Float[AnyArray, "3 d"]


def arm_motions(
    robot: FlexibleRobot,
    y: Float[AnyArray, " n"],
    yd: Float[AnyArray, " n"],
    ydd: Float[AnyArray, " n"],
) -> Motions:
    """Of the arms, whose unknowns are some of the robot's."""
    places = [limb_places(i, robot.of_limb) for i in range(3)]
    return Motions(
        *(jnp.stack([_arm_ends(robot, z[index]) for index in places]) for z in (y, yd, ydd))
    )


def rod_motions(
    robot: FlexibleRobot,
    poses: Poses,
    rod: int,
    y: Float[AnyArray, " n"],
    yd: Float[AnyArray, " n"],
    ydd: Float[AnyArray, " n"],
) -> Motions:
    """Of one rod of each limb: d = S y, and its derivatives."""
    index = [limb_places(i, robot.of_limb)[_rod_places(robot, rod)] for i in range(3)]
    shift, wrists = robot.shifts[rod], _wrists(robot.mechanism)
    found = []
    for i in range(3):
        z, zd, zdd = y[index[i]], yd[index[i]], ydd[index[i]]
        S = _rates(
            lambda a, r, i=i: _ends(robot, a, r, wrists[i], shift), poses.arm[i], poses.rod[i]
        )
        S0, S1, S2 = S
        k = S0.shape[1]
        d1 = jnp.asarray(_expanded(S0, zd)).at[:_ENDS].add(S1 @ z[:k])
        dd = jnp.asarray(_expanded(S0, zdd)).at[:_ENDS].add(2 * S1 @ zd[:k] + S2 @ z[:k])
        found.append((_expanded(S0, z), d1, dd))
    return Motions(*(jnp.stack(part) for part in zip(*found, strict=True)))


def _arm_ends(robot: FlexibleRobot, z: Float[AnyArray, " a"]) -> Float[AnyArray, " arm"]:
    if robot.arm_beam is None:
        return jnp.zeros(0)
    root = jnp.zeros(END)
    if robot.turns:
        root = root.at[W1].set(-z[robot.turn])
    return jnp.concatenate([root, _TIP @ z[PLATFORM : PLATFORM + END], z[_arm_inner(robot)]])


def _expanded(S: _Matrix, z: Float[AnyArray, " z"]) -> Float[AnyArray, " d"]:
    outer = S.shape[1]
    return jnp.concatenate([S @ z[:outer], z[outer:]])


def _limb(
    robot: FlexibleRobot,
    damping: Damping,
    drive: _Drive,
    arm: Link | None,
    rod: Link,
    arm_T: Float[AnyArray, "orders 3 4"],
    rod_T: Float[AnyArray, "orders 3 4"],
    wrist: Float[AnyArray, "2 3"],
    tensions: Float[AnyArray, " links"],
) -> tuple[_Matrix, _Matrix, _Matrix, _Matrix, Float[AnyArray, " a"]]:
    """M, C, K, its elastic part, and f of a limb."""
    parts = []
    if arm is not None:
        pull = tensions[0] if tensions.size else None
        moved = damped(arm, damping, moving_link(robot, arm, arm_T, pull))
        parts.append(_of_arm(robot, arm, moved))
    if robot.turns:
        pull = tensions[0] if tensions.size else None
        reach = arm_T[0, :, 0] @ (rod_T[0, :, 3] - arm_T[0, :, 3])
        parts.append(
            _of_drive(robot, damping, drive, arm_T, None if pull is None else pull * reach)
        )
    for k, shift in enumerate(robot.shifts):
        pull = tensions[1 + k] if tensions.size else None
        S = _rates(lambda a, r, s=shift: _ends(robot, a, r, wrist, s), arm_T, rod_T)
        moved = damped(rod, damping, moving_link(robot, rod, rod_T, pull))
        parts.append((_rod_places(robot, k), *_carried(S, rod.K, moved)))
    size = PLATFORM + robot.of_limb
    spread = [[_spread(part, index, size) for part in found] for index, *found in parts]
    return tuple(sum(each[1:], each[0]) for each in zip(*spread, strict=True))  # pyright: ignore[reportReturnType]


def _spread(part: AnyArray, index: np.ndarray, size: int) -> Array:
    """A matrix, or a vector, of some unknowns among `size`; read, not written, which is faster."""
    places = np.full(size, len(index))
    places[index] = np.arange(len(index))
    padded = jnp.pad(part, ((0, 1),) * part.ndim)
    return padded[places] if part.ndim == 1 else padded[places[:, None], places[None, :]]


def moving_link(
    robot: FlexibleRobot,
    link: Link,
    T: Float[AnyArray, "orders 3 4"],
    pull: Float[AnyArray, ""] | None,
) -> MovingLink:
    """A link at [R p] with its derivatives, under gravity."""
    R, Rd, Rdd = T[:, :, :3]
    return moving(link, R.T @ Rd, R.T @ Rdd, R.T @ (T[2, :, 3] - robot.gravity), pull)


def damped(link: Link, damping: Damping, moved: MovingLink) -> MovingLink:
    """A link whose rates are resisted in proportion to its mass and stiffness."""
    return moved._replace(C=moved.C + damping.mass * link.M + damping.stiffness * link.K)


def _of_arm(
    robot: FlexibleRobot, arm: Link, m: MovingLink
) -> tuple[np.ndarray, _Matrix, _Matrix, _Matrix, _Matrix, Float[AnyArray, " z"]]:
    """An arm is clamped at its motor, and its tip's unknowns are those of the limb."""
    index = _arm_places(robot)
    S, rows = _arm_map(robot)
    ends = len(S)

    def on_tip(part: _Matrix) -> _Matrix:
        free = part[rows[:, None], rows[None, :]]
        return _pulled(S, jnp.concatenate([free[:, :ends] @ S, free[:, ends:]], axis=1))

    M, C, K, stiff = (on_tip(part) for part in (m.M, m.C, m.K, arm.K))
    return index, M, C, K, stiff, _pulled(S, m.f[rows, None])[:, 0]


def _arm_map(robot: FlexibleRobot) -> tuple[_Matrix, np.ndarray]:
    """Ends of an arm from the unknowns of its limb, and which rows of the arm are left."""
    S, turned, inner = jnp.asarray(_TIP), [], 2 * END + np.arange(robot.inner)
    if robot.turns:  # its root turns about y, by -w'
        S = jnp.pad(S, (0, 1)).at[-1, -1].set(-1.0)
        turned = [W1]
    return S, np.concatenate([END + np.arange(END), turned, inner]).astype(int)


def gear_damping(
    damping: Damping, gear: Gears, inertia: Float[AnyArray, "*any"]
) -> tuple[Float[AnyArray, "*any"], Float[AnyArray, "*any"]]:
    """Damping c of (4) of the twist of a gear, and of the turn of what is beyond it.

    That of the file, or else in proportion, as of the links.
    """
    stated = gear.damping > 0
    twist = jnp.where(stated, gear.damping, damping.stiffness * gear.stiffness)
    return twist, jnp.where(stated, 0.0, damping.mass * inertia)


def _of_drive(
    robot: FlexibleRobot,
    damping: Damping,
    drive: _Drive,
    T: Float[AnyArray, "orders 3 4"],
    pull: Float[AnyArray, ""] | None,
) -> tuple[np.ndarray, _Matrix, _Matrix, _Matrix, _Matrix, Float[AnyArray, " turns"]]:
    """Equations (4) and (5), with the moment P l of the `pull` on a rigid arm if it stiffens."""
    (gear, held, rotor), n = drive, robot.turns
    R, X, arm = T[0, :, :3], T[0, :, :3].T @ T[2, :, :3], jnp.eye(n)[0]
    weight = R.T @ robot.gravity
    J, load, added, motor = jnp.zeros(n), jnp.zeros(()), jnp.zeros(()), jnp.eye(n)[-1]
    if robot.arm_beam is None:
        J, load = J + robot.arm[5] * arm, -jnp.cross(robot.arm[1:4], weight)[1]
        if pull is not None:
            added = pull + robot.arm[1] * weight[0] + robot.arm[3] * weight[2]
    C, stiff, rubbing = jnp.zeros((n, n)), jnp.zeros((n, n)), jnp.zeros(n)
    if gear is not None:
        J = J + gear.inertia * arm
        twist = arm if held is None else arm - motor
        lost, own = gear_damping(damping, gear, J @ arm)
        stiff = stiff + gear.stiffness * jnp.outer(twist, twist)
        C = C + lost * jnp.outer(twist, twist) + own * jnp.outer(arm, arm)
    if held is not None:
        J = J + rotor * motor
        stiff = stiff + held.stiffness * jnp.outer(motor, motor)
        C = C + (held.damping + held.friction) * jnp.outer(motor, motor)
        C = C + held.beyond * jnp.outer(arm, arm)
        W = R.T @ T[1, :, :3]
        rubbing = (held.friction * motor + held.beyond * arm) * (W[0, 2] - W[2, 0]) / 2
    f = J * (X[0, 2] - X[2, 0]) / 2 + load * arm + rubbing
    index = robot.turn + np.arange(n)
    return index, jnp.diag(J), C, stiff + added * jnp.outer(arm, arm), stiff, f


def _carried(
    S: tuple[_Matrix, _Matrix, _Matrix], elastic: _Matrix, m: MovingLink
) -> tuple[_Matrix, _Matrix, _Matrix, _Matrix, Float[AnyArray, " z"]]:
    """Equation (3); inner unknowns are what they are, S concerns the ends."""
    S0, S1, S2 = S
    M, C, K = m.M, m.C, m.K
    ends, inner, outer = slice(None, _ENDS), slice(_ENDS, None), S0.shape[1]
    MS = M[:, ends] @ jnp.concatenate([S0, S1, S2], axis=1)
    CS = C[:, ends] @ jnp.concatenate([S0, S1], axis=1)
    MS0, MS1, MS2 = (MS[:, k * outer : (k + 1) * outer] for k in range(3))
    CS0, CS1 = CS[:, :outer], CS[:, outer:]
    columns = [
        (MS0, M),
        (2 * MS1 + CS0, C),
        (MS2 + CS1 + K[:, ends] @ S0, K),
        (elastic[:, ends] @ S0, elastic),
    ]
    sides = [jnp.concatenate([of_ends, part[:, inner]], axis=1) for of_ends, part in columns]
    size = sides[0].shape[1]
    found = _pulled(S0, jnp.concatenate([*sides, m.f[:, None]], axis=1))
    M, C, K, stiff = (found[:, k * size : (k + 1) * size] for k in range(4))
    return M, C, K, stiff, found[:, -1]


def _pulled(S: _Matrix, part: _Matrix) -> _Matrix:
    """Rows of the ends pulled back by S, those of inner unknowns as they are."""
    ends = len(S)
    return jnp.concatenate([S.T @ part[:ends], part[ends:]])


def _rates(function, *T: Float[AnyArray, "orders 3 4"]) -> tuple[_Matrix, _Matrix, _Matrix]:  # noqa: ANN001
    """A function of poses, and its first and second derivatives by time."""
    T0, T1, T2 = (tuple(part[k] for part in T) for k in range(3))

    def first(T: tuple, Td: tuple) -> tuple[_Matrix, _Matrix]:
        return jax.jvp(function, T, Td)

    (S, S1), (_, S2) = jax.jvp(first, (T0, T1), (T1, T2))
    return S, S1, S2


def _ends(
    robot: FlexibleRobot,
    arm: Float[AnyArray, "3 4"],
    rod: Float[AnyArray, "3 4"],
    wrist: Float[AnyArray, "2 3"],
    shift: float,
) -> Float[AnyArray, "12 z"]:
    """S of (1) and (2): ends of a rod from platform, arm's tip (if it bends) and its slopes."""
    R_u, R_l = arm[:, :3], rod[:, :3]
    v = R_u[:, 1]
    half = 0.0 if robot.mechanism.rod_spacing is None else robot.mechanism.rod_spacing / 2
    beside = shift * half * v
    zero, none = jnp.zeros((3, 3)), jnp.zeros((1, 3))
    at_wrist = [R_l.T, -R_l.T @ _skew(wrist[0] + shift * half * wrist[1]), zero, zero]
    at_elbow = [zero, zero, R_l.T @ R_u, -R_l.T @ _skew(beside) @ R_u]
    k = jnp.cross(v, R_l[:, 2])
    twists = []
    for turn in ([none, none, none, (k @ R_u)[None]], [none, k[None], none, none]):
        joint = jnp.concatenate(turn, axis=1)[0] / (k @ R_l[:, 0])
        twists.append(joint if len(robot.shifts) == 1 else jnp.zeros_like(joint))
    own_twist = -(k @ R_l[:, 1]) / (k @ R_l[:, 0]) * (1.0 if len(robot.shifts) == 1 else 0.0)
    rows = []
    for end, blocks in enumerate((at_elbow, at_wrist)):
        x, y, z = jnp.concatenate(blocks, axis=1)
        g_y, g_z = jnp.eye(OF_ROD)[2 * end], jnp.eye(OF_ROD)[2 * end + 1]
        nothing, still = jnp.zeros(OF_ROD), jnp.zeros_like(x)
        pairs = (
            (x, nothing),
            (twists[end], own_twist * g_y),
            (y, nothing),
            (still, g_z),
            (z, nothing),
            (still, -g_y),
        )
        rows += [jnp.concatenate(pair) for pair in pairs]
    S = jnp.stack(rows)
    if robot.arm_beam is None:
        reach = R_u[:, 0] @ (rod[:, 3] - arm[:, 3])
        turned = S[:, PLATFORM + 4] - reach * S[:, PLATFORM + 2]
        sides = [S[:, :PLATFORM], turned[:, None][:, : _turning(robot)], S[:, PLATFORM + END :]]
        S = jnp.concatenate(sides, axis=1)
    return S


def _wrists(mechanism: Delta) -> Float[AnyArray, "3 2 3"]:
    """From the platform's centre to mid-wrist [m], and tangentially, of each limb."""
    s, c = jnp.sin(mechanism.azimuth), jnp.cos(mechanism.azimuth)
    zero = jnp.zeros(3)
    out = mechanism.platform_radius[:, None] * jnp.stack([c, s, zero], axis=1)
    return jnp.stack([out, jnp.stack([-s, c, zero], axis=1)], axis=1)


def _turning(robot: FlexibleRobot) -> int:
    """Unknowns of a limb that turn its arm: 1, or 0 if nothing of the drive is soft."""
    return min(robot.turns, 1)


def _arm_places(robot: FlexibleRobot) -> np.ndarray:
    """Unknowns of an arm that bends in those of a limb: its tip, its turn, inner ones."""
    tip = PLATFORM + np.arange(END + _turning(robot))
    return np.concatenate([tip, _arm_inner(robot)])


def _arm_inner(robot: FlexibleRobot) -> np.ndarray:
    return PLATFORM + END + robot.turns + np.arange(robot.inner)


def _rod_places(robot: FlexibleRobot, k: int) -> np.ndarray:
    """Unknowns of rod k in those of a limb: platform, tip of the arm, slopes, inner ones."""
    end = _turning(robot) if robot.arm_beam is None else END
    before, size = PLATFORM + robot.of_arm, OF_ROD + robot.inner
    return np.concatenate([np.arange(PLATFORM + end), before + k * size + np.arange(size)])


def _skew(a: Float[AnyArray, "3"]) -> Float[AnyArray, "3 3"]:
    zero = jnp.zeros(())
    return jnp.stack(
        [
            jnp.stack([zero, -a[2], a[1]]),
            jnp.stack([a[2], zero, -a[0]]),
            jnp.stack([-a[1], a[0], zero]),
        ]
    )


def _tip_rows() -> Float[np.ndarray, "6 6"]:
    """u, phi, v, v', w, w' of displacement and rotation in the link's own axes."""
    rows = np.zeros((END, END))
    for row, column, sign in ((0, 0, 1), (1, 3, 1), (2, 1, 1), (3, 5, 1), (4, 2, 1), (5, 4, -1)):
        rows[row, column] = sign
    return rows


_TIP = _tip_rows()
