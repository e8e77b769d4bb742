"""Torques as a linear function of what one wants to know: tau = Y p + known.

The wrench of a body is linear in its ten parameters, W = (Tdd - G) P, so that with dT_i, the
change of the poses with joint i along the closed loops,

    tau_i = sum_b tr(dT_i' (Tdd - G) P_b) + I_i qdd_i                                   (1)
          + c_i tanh(qd_i / w_i) + v_i qd_i                                             (2)
          + (c tanh(ld / w) + v ld) dl/dq_i                                             (3)
          + sum_balls (c tanh(|w| / w_0) / |w| + v) w . dw_i                            (4)

with rotors in (1), drives in (2), the prismatic joint of a telescope of length l in (3), and
balls that turn at w in (4), all of which share two coefficients. Parameters are called by
their part of the robot, as its file does: `rod.mc_x`, `drive_2.viscous`. Identical limbs share
theirs, unless they are asked to differ.

What is not wanted is known: payload, springs, and Stribeck's friction of the drives. A saturating
friction is not linear in its speed; `consistent.py` has it.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from triskele.dynamics.inverse import (
    joint_directions,
    lifted,
    spring_forces,
    turning_balls,
    unit_inertias,
)
from triskele.dynamics.robot import RigidRobot
from triskele.dynamics.wrenches import MotionState, motion_state, to_joints
from triskele.errors import InputError
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.laws.friction import FrictionLaw
from triskele.numerics import Scalar, Scalars, safe_divide, safe_norm, tabulate
from triskele.spatial.vectors import dot

Series = Float[np.ndarray, "N n"]
AnySeries = Float[np.ndarray, "..."] | Float[Array, "..."]
INERTIA = ("m", "mc_x", "mc_y", "mc_z", "xx", "yy", "zz", "xy", "yz", "xz")
UNITS = ("kg", *("kg m",) * 3, *("kg m^2",) * 6)
_SMOOTHING = 0.01  #: of a joint without friction in its file [rad/s, m/s], as in files


class Parameter(NamedTuple):
    """One column of Y."""

    part: str  #: rod, arm_2, drive_1, telescope, balls
    name: str  #: m, mc_x, ..., xz, rotor, coulomb, viscous
    unit: str

    def __str__(self) -> str:
        """As in `rod.mc_x`."""
        return f"{self.part}.{self.name}"


class Regressor(NamedTuple):
    """Y, sample by sample and drive by drive."""

    matrix: Float[np.ndarray, "N n p"]
    parameters: tuple[Parameter, ...]
    known: Series  #: efforts of payload, springs and Stribeck's friction [N m, N]
    qd: Series  #: of the drives

    @property
    def rows(self) -> Float[np.ndarray, "rows p"]:
        """Samples below one another, the drives of each in turn."""
        return self.matrix.reshape(-1, self.matrix.shape[-1])

    def only(self, wanted: Sequence[Parameter]) -> "Regressor":
        """The columns of `wanted` alone."""
        places = [self.parameters.index(parameter) for parameter in wanted]
        return self._replace(matrix=self.matrix[:, :, places], parameters=tuple(wanted))


def part_of(body: str) -> str:
    """What a body is called in the robot file: `rod` for rod_1a.

    >>> part_of("rod_1a"), part_of("telescope_upper")
    ('rod', 'telescope_upper')
    """
    return re.sub(r"_\d[ab]?$", "", body)


def torque_regressor(
    robot: RigidRobot,
    x: Series,
    xd: Series,
    xdd: Series,
    *,
    distinct: Sequence[str] = (),
    balls: bool = False,
    friction: bool = True,
) -> Regressor:
    """Y for N samples of a motion of the platform.

    `distinct` names parts whose bodies have parameters each of their own, as "arm"; with
    `balls` the friction of ball joints is wanted too.
    """
    groups = _groups(robot.mechanism, distinct)
    found = tabulate(eqx.Partial(_parts, robot, balls))(x, xd, xdd)
    parts = _Parts(*(np.stack(p, axis=-1) if p else np.zeros((len(x), 0)) for p in found))
    matrix, known = _assembled(robot, parts, groups, balls, friction)
    named = _names(robot, groups, balls, friction)
    known, qd = np.array(known), np.asarray(parts.qd)
    for k, law in enumerate(robot.drive_friction if friction else ()):
        known[:, k] += _stribeck(law, qd[:, k])
    return Regressor(np.asarray(matrix), named, known, qd)


def _stribeck(law: FrictionLaw | None, qd: np.ndarray) -> np.ndarray:
    """The additional friction at low speed, which stays as the file has it."""
    if law is None or law.stribeck is None or law.stribeck_speed is None:
        return np.zeros(len(qd))
    faded = np.exp(-((qd / float(law.stribeck_speed)) ** 2))
    return float(law.stribeck) * faded * np.tanh(qd / float(law.smoothing_speed))


class _Parts(NamedTuple):
    """All that (1) to (4) are made of, one row per sample."""

    acceleration: AnySeries  #: Tdd - G, entry by entry
    directions: AnySeries  #: dT_i, joint by joint
    qd: AnySeries
    qdd: AnySeries
    speeds: AnySeries  #: of the slides
    slides: AnySeries  #: dl/dq_i, joint by joint
    rubbing: AnySeries  #: (4), joint by joint
    springs: AnySeries


def _assembled(
    robot: RigidRobot, parts: _Parts, groups: dict[str, list[int]], balls: bool, friction: bool
) -> tuple[AnySeries, AnySeries]:
    """Y and what is known, of NumPy arrays or under a trace of JAX."""
    xp = np if isinstance(parts.qd, np.ndarray) else jnp
    (N, n), bodies = parts.qd.shape, len(robot.mechanism.bodies)
    directions = parts.directions.reshape(N, n, bodies, 4, 3)
    acceleration = parts.acceleration.reshape(N, bodies, 4, 3)
    place = robot.mechanism.bodies.index(robot.carrier)
    columns, known = [], 0.0
    for members in groups.values():
        gram = xp.einsum(
            "nibkr,nblr->nikl", directions[:, :, members], acceleration[:, members], optimize=True
        )
        columns.append(xp.einsum("nikl,klp->nip", gram, unit_inertias()))
    gram = xp.einsum("nikr,nlr->nikl", directions[:, :, place], acceleration[:, place])
    known = xp.einsum("nikl,klp->nip", gram, unit_inertias()) @ np.asarray(robot.payload)
    columns += [block for block, _ in _of_drives(robot, parts.qd, parts.qdd, friction)]
    if friction:
        columns += _of_slides(robot, parts.speeds, parts.slides.reshape(N, n, -1))
    if balls:
        columns.append(parts.rubbing.reshape(N, n, 2))
    known = known + parts.springs if parts.springs.shape[1] else known
    return xp.concatenate(columns, axis=2), known


def _names(
    robot: RigidRobot, groups: dict[str, list[int]], balls: bool, friction: bool
) -> tuple[Parameter, ...]:
    """Of the columns that `_assembled` makes, in their order."""
    nothing = np.zeros((1, len(robot.mechanism.joint_coordinates)))
    found = [Parameter(part, *p) for part in groups for p in zip(INERTIA, UNITS, strict=True)]
    found += [p for _, named in _of_drives(robot, nothing, nothing, friction) for p in named]
    if friction:
        found += [p for k in _sliding(robot.mechanism) for p in _slide_names(robot, k)]
    if balls:
        found += _friction_names("balls", turning=True)
    return tuple(found)


def regressor_under_trace(
    robot: RigidRobot, x: Float[Array, "N m"], xd: Float[Array, "N m"], xdd: Float[Array, "N m"]
) -> tuple[Float[Array, "N n p"], Float[Array, "N n"], Float[Array, "N n"]]:
    """Y, qd and qdd in JAX, all samples at once: what a search for motions differentiates."""
    found = _parts(robot, False, tuple(x.T), tuple(xd.T), tuple(xdd.T))
    parts = _Parts(*(_table(part, len(x)) for part in found))
    matrix, _ = _assembled(robot, parts, _groups(robot.mechanism, ()), False, True)
    return jnp.asarray(matrix), jnp.asarray(parts.qd), jnp.asarray(parts.qdd)


def _table(components: Scalars, rows: int) -> Float[Array, "N k"]:
    spread = [jnp.broadcast_to(jnp.asarray(c, float), (rows,)) for c in components]
    return jnp.stack(spread, axis=-1) if spread else jnp.zeros((rows, 0))


def _groups(mechanism: AbstractMechanism, distinct: Sequence[str]) -> dict[str, list[int]]:
    """Which bodies share parameters, by the name of these."""
    parts = {part_of(body) for body in mechanism.bodies}
    for name in distinct:
        if name not in parts:
            raise InputError(f"There is no part '{name}'; parts are {', '.join(sorted(parts))}.")
    found: dict[str, list[int]] = {}
    for place, body in enumerate(mechanism.bodies):
        part = part_of(body)
        found.setdefault(body if part in distinct else part, []).append(place)
    return found


def _parts(
    robot: RigidRobot, balls: bool, x: Scalars, xd: Scalars, xdd: Scalars
) -> tuple[Scalars, ...]:
    """All that (1) to (4) are made of, at one sample; a kernel for `tabulate`."""
    mechanism = robot.mechanism
    state = motion_state(mechanism, x, xd, xdd)
    sliding = _sliding(mechanism)
    _, rates = jax.jvp(mechanism.passive, (state.q, state.x), (state.qd, state.xd))
    directions, slides, rubbing = [], [], []
    for unit, move in joint_directions(state):
        _, dT = jax.jvp(mechanism.body_poses, (state.q, state.x), (unit, move))
        directions += jax.tree.leaves(dT)
        if sliding:
            _, change = jax.jvp(mechanism.passive, (state.q, state.x), (unit, move))
            slides += [change[k] for k in sliding]
        if balls:
            rubbing += _ball_columns(robot, state, dT)
    springs: Scalars = ()
    if any(robot.springs):
        springs = to_joints(state.closure, *spring_forces(robot, state.q, state.x))
    speeds = tuple(rates[k] for k in sliding)
    parts = (lifted(robot, state), directions, state.qd, state.qdd, speeds, slides, rubbing)
    return (*map(tuple, parts), springs)


def _ball_columns(robot: RigidRobot, state: MotionState, dT: tuple) -> Scalars:
    """Equation (4) for one joint: the factors of c and of v."""
    law = robot.ball_friction
    w_0 = _SMOOTHING if law is None else law.smoothing_speed
    along = state._replace(Td=dT)
    dry: Scalar = 0.0
    wet: Scalar = 0.0
    pairs = zip(turning_balls(robot, state), turning_balls(robot, along), strict=True)
    for (_, _, w), (_, _, dw) in pairs:
        speed, power = safe_norm(dot(w, w)), dot(w, dw)
        dry = dry + safe_divide(jnp.tanh(speed / w_0), speed) * power
        wet = wet + power
    return dry, wet


def _of_drives(
    robot: RigidRobot, qd: AnySeries, qdd: AnySeries, friction: bool
) -> list[tuple[AnySeries, list[Parameter]]]:
    """Rotors that the robot has, and the friction of each drive: equation (2)."""
    found = []
    for k, joint in enumerate(robot.mechanism.joint_coordinates):
        turning = joint.unit == "rad"
        own = np.eye(qd.shape[1])[None, k, :, None]
        if has_rotor(robot, k):
            named = [Parameter(f"drive_{k + 1}", "rotor", "kg m^2" if turning else "kg")]
            found.append((own * qdd[:, k, None, None], named))
        if friction:
            pair = _dry_and_wet(robot.drive_friction[k], qd[:, k])
            found.append((own * pair[:, None], _friction_names(f"drive_{k + 1}", turning)))
    return found


def has_rotor(robot: RigidRobot, k: int) -> bool:
    """Whether the file gives motor k an inertia; on other drives it counts to the arm."""
    return bool(np.asarray(robot.rotors)[k])


def _dry_and_wet(law: FrictionLaw | None, speed: AnySeries) -> AnySeries:
    """tanh(w / w_0) and w."""
    w_0 = _SMOOTHING if law is None else float(np.asarray(law.smoothing_speed))
    xp = np if isinstance(speed, np.ndarray) else jnp
    return xp.stack([xp.tanh(speed / w_0), speed], axis=-1)


def _friction_names(part: str, turning: bool) -> list[Parameter]:
    units = ("N m", "N m s/rad") if turning else ("N", "N s/m")
    return [Parameter(part, *pair) for pair in zip(("coulomb", "viscous"), units, strict=True)]


def _sliding(mechanism: AbstractMechanism) -> list[int]:
    """Passive coordinates that may rub: telescopes."""
    return [k for k, c in enumerate(mechanism.passive_coordinates) if c.name == "telescope"]


def _slide_names(robot: RigidRobot, k: int) -> list[Parameter]:
    coordinate = robot.mechanism.passive_coordinates[k]
    return _friction_names(coordinate.name, coordinate.unit == "rad")


def _of_slides(robot: RigidRobot, speeds: AnySeries, change: AnySeries) -> list[AnySeries]:
    """Equation (3), (N, n, 2) for each slide."""
    return [
        _dry_and_wet(robot.passive_friction[k], speeds[:, j])[:, None] * change[:, :, j, None]
        for j, k in enumerate(_sliding(robot.mechanism))
    ]


def parameter_values(robot: RigidRobot, parameters: Sequence[Parameter]) -> Float[np.ndarray, " p"]:
    """What the robot's own numbers are for each of `parameters`."""
    bodies = robot.mechanism.bodies
    first = {part_of(body): place for place, body in reversed(list(enumerate(bodies)))}
    first |= {body: place for place, body in enumerate(bodies)}
    theta, found = np.asarray(robot.theta), []
    for part, name, _ in parameters:
        if name in INERTIA:
            found.append(theta[first[part], INERTIA.index(name)])
        elif name == "rotor":
            found.append(float(robot.rotors[int(part[-1]) - 1]))
        else:
            law = law_of(robot, part)
            found.append(0.0 if law is None else float(getattr(law, name)))
    return np.array(found, float)


def law_of(robot: RigidRobot, part: str) -> FrictionLaw | None:
    """The friction of `drive_1`, `telescope` or `balls`."""
    if part == "balls":
        return robot.ball_friction
    if part.startswith("drive_"):
        return robot.drive_friction[int(part[-1]) - 1]
    names = [c.name for c in robot.mechanism.passive_coordinates]
    return robot.passive_friction[names.index(part)]


# Arms alone


def driven_regressor(robot: RigidRobot, q: Series, qd: Series, qdd: Series) -> Regressor:
    """Y of a robot taken apart: what its motors turn or push by themselves, nothing else.

    Each driven body has parameters of its own; a drive without one, such as that of a
    telescope, turns its rotor alone.
    """
    mechanism = robot.mechanism
    places = driven_bodies(mechanism)
    acceleration, directions = (
        np.stack(part, axis=-1) for part in tabulate(eqx.Partial(_driven, robot))(q, qd, qdd)
    )
    n, held = q.shape[1], len(places)
    gram = np.einsum(
        "nibkr,nblr->nibkl",
        directions.reshape(-1, n, held, 4, 3),
        acceleration.reshape(-1, held, 4, 3),
    )
    Y = np.einsum("nibkl,klp->nibp", gram, unit_inertias())
    parameters = [
        Parameter(mechanism.bodies[b], *pair)
        for b in places
        for pair in zip(INERTIA, UNITS, strict=True)
    ]
    columns = [Y.reshape(len(q), n, -1)]
    for block, named in _of_drives(robot, qd, qdd, friction=True):
        columns.append(block)
        parameters += named
    matrix = np.concatenate(columns, axis=2)
    return Regressor(matrix, tuple(parameters), np.zeros(q.shape), qd)


def driven_bodies(mechanism: AbstractMechanism) -> list[int]:
    """Bodies on a motor's own axis or slide."""
    children = [
        joint.child
        for joint in mechanism.joints()
        if joint.driven and joint.parent == "base" and joint.kind in ("revolute", "prismatic")
    ]
    return [mechanism.bodies.index(name) for name in children]


def _driven(robot: RigidRobot, q: Scalars, qd: Scalars, qdd: Scalars) -> tuple[Scalars, Scalars]:
    """Tdd - G and dT_i of the driven bodies; a kernel for `tabulate`."""
    mechanism, places = robot.mechanism, driven_bodies(robot.mechanism)
    g = robot.gravity_components()

    def poses(q: Scalars) -> Scalars:
        frames = mechanism.body_poses(q, mechanism.home())
        leaves = jax.tree.leaves([frames[b] for b in places])
        return tuple(jnp.broadcast_to(jnp.asarray(leaf, float), jnp.shape(q[0])) for leaf in leaves)

    def velocity(q: Scalars, qd: Scalars) -> Scalars:
        return jax.jvp(poses, (q,), (qd,))[1]

    _, Tdd = jax.jvp(velocity, (q, qd), (qd, qdd))
    weights = [component for _ in places for component in (*(0.0,) * 9, *g)]
    directions = []
    for i in range(len(q)):
        unit = tuple(jnp.full_like(value, float(i == k)) for k, value in enumerate(q))
        directions += jax.jvp(poses, (q,), (unit,))[1]
    return tuple(a - w for a, w in zip(Tdd, weights, strict=True)), tuple(directions)
