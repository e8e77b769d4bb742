"""Torques as a linear function of what one wants to know: tau = Y p + known.

The wrench of a body is linear in its ten parameters, W = (Tdd - G) P, so that with dT_i, the
change of the poses with joint i along the closed loops,

    tau_i = sum_b tr(dT_i' (Tdd - G) P_b) + I_i qdd_i                                   (1)
          + c_i tanh(qd_i / w_i) + v_i qd_i                                             (2)
          + (c tanh(ld / w) + v ld) dl/dq_i                                             (3)
          + sum_balls (c tanh(|w| / w_0) / |w| + v) w . dw_i                            (4)

with rotors in (1), drives in (2), passive joints of position l, such as the slide of a telescope,
in (3), and balls that turn at w in (4), all of which share two coefficients. Parameters are called
by their part of the robot, as its file does: `rod.mc_x`, `drive_2.viscous`. Bodies of one part
share theirs, unless they are asked to differ.

What is not wanted is known: payload, springs, and Stribeck's friction of the drives. A saturating
friction is not linear in its speed; `consistent.py` has it.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from triskele.description.schema import Robot
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
from triskele.kinematics.mechanism import AbstractMechanism, JointKind, Look
from triskele.laws.friction import FrictionLaw
from triskele.numerics import (
    AnyArray,
    Scalar,
    Scalars,
    full_like,
    jvp,
    safe_divide,
    safe_norm,
    spread,
    tabulate,
)
from triskele.spatial.vectors import dot

Series = Float[np.ndarray, "N n"]
AnySeries = Float[np.ndarray, "..."] | Float[AnyArray, "..."]
INERTIA = ("m", "mc_x", "mc_y", "mc_z", "xx", "yy", "zz", "xy", "yz", "xz")
UNITS = ("kg", *("kg m",) * 3, *("kg m^2",) * 6)
BALLS = "balls"
_SMOOTHING = 0.01  #: of a joint without friction in its file [rad/s, m/s], as in files
_DRIVES, _SLIDES, _BALLS, _LAST = 2, 3, 4, 7  #: places of joints among `_READ`, and of the rest
_READ: dict[Look, int] = {"arm": 0, "block": 1, "outer": 3, "inner": 3, "plate": 5, "bar": 6}


class Parameter(NamedTuple):
    """One column of Y."""

    part: str  #: rod, arm_2, drive_1, telescope, balls
    name: str  #: m, mc_x, ..., xz, rotor, coulomb, viscous
    unit: str
    read: int = _LAST  #: formulas begin with the parameter whose number is least

    def __str__(self) -> str:
        """As in `rod.mc_x`."""
        return f"{self.part}.{self.name}"


class Regressor(NamedTuple):
    """Y, sample by sample and drive by drive."""

    matrix: Float[np.ndarray, "N n p"]
    parameters: tuple[Parameter, ...]
    known: Series  #: efforts of payload, springs and Stribeck's friction [N m, N]
    qd: Series  #: of the drives
    carried: Float[np.ndarray, "N n p"]  #: efforts of each of the ten parameters of a payload

    def rows_from(self, first: int, last: int) -> "Regressor":
        """The samples from `first` to before `last`."""
        part = slice(first, last)
        matrix, known, qd, carried = self.matrix, self.known, self.qd, self.carried
        return Regressor(matrix[part], self.parameters, known[part], qd[part], carried[part])

    @property
    def rows(self) -> Float[np.ndarray, "rows p"]:
        """Samples below one another, the drives of each in turn."""
        return self.matrix.reshape(-1, self.matrix.shape[-1])

    def only(self, wanted: Sequence[Parameter]) -> "Regressor":
        """The columns of `wanted` alone."""
        places = [self.parameters.index(parameter) for parameter in wanted]
        return self._replace(matrix=self.matrix[:, :, places], parameters=tuple(wanted))


class Group(NamedTuple):
    """Bodies that share their parameters."""

    look: Look
    members: list[int]  #: their places among the bodies of the mechanism


def groups(mechanism: AbstractMechanism, distinct: Sequence[str] = ()) -> dict[str, Group]:
    """The bodies of each part, and each of those that are `distinct`, bodies or whole parts."""
    parts = sorted({part.part for part in mechanism.parts})
    for name in distinct:
        if name not in (*parts, *mechanism.bodies):
            raise InputError(f"There is no part '{name}'; parts are {', '.join(parts)}.")
    found: dict[str, Group] = {}
    for place, (body, part, look) in enumerate(mechanism.parts):
        name = body if {body, part} & set(distinct) else part
        found.setdefault(name, Group(look, [])).members.append(place)
    return found


def own_sections(robot: Robot, mechanism: AbstractMechanism) -> tuple[str, ...]:
    """Bodies of which the file states numbers of their own, besides those of their part."""
    alone = (part.body for part in mechanism.parts if part.body != part.part)
    return tuple(body for body in alone if robot.body(body) is not None)


def drive_parts(mechanism: AbstractMechanism) -> dict[str, int]:
    """The number of each drive, from 0, by the name of its parameters."""
    return {f"drive_{k + 1}": k for k in range(len(mechanism.joint_coordinates))}


def slides(mechanism: AbstractMechanism) -> dict[str, list[int]]:
    """Passive coordinates that may rub, by their friction in the file: those of slides."""
    sliding = (joint for joint in mechanism.joints() if joint.kind == "prismatic")
    sections = {joint.name: joint.friction for joint in sliding}
    found: dict[str, list[int]] = {}
    for k, coordinate in enumerate(mechanism.passive_coordinates):
        section = sections.get(coordinate.joint, "")
        if section:
            found.setdefault(section, []).append(k)
    return found


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

    `distinct` names parts whose bodies have parameters each of their own, as "arm", or single
    bodies; with `balls` the friction of ball joints is wanted too.
    """
    shared = groups(robot.mechanism, distinct)
    found = tabulate(eqx.Partial(_parts, robot, balls))(x, xd, xdd)
    parts = _Parts(*(np.stack(p, axis=-1) if p else np.zeros((len(x), 0)) for p in found))
    matrix, known, carried = _assembled(robot, parts, shared, balls, friction)
    named = _names(robot, shared, balls, friction)
    known, qd = np.array(known), np.asarray(parts.qd)
    for k, law in enumerate(robot.drive_friction if friction else ()):
        known[:, k] += _stribeck(law, qd[:, k])
    return Regressor(np.asarray(matrix), named, known, qd, np.asarray(carried))


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
    speeds: AnySeries  #: ld, slide by slide
    slides: AnySeries  #: dl/dq_i, joint by joint
    rubbing: AnySeries  #: (4), joint by joint
    springs: AnySeries


def _assembled(
    robot: RigidRobot, parts: _Parts, shared: Mapping[str, Group], balls: bool, friction: bool
) -> tuple[AnySeries, AnySeries, AnySeries]:
    """Y, what is known and a payload's columns, of NumPy arrays or under a trace of JAX."""
    xp = np if isinstance(parts.qd, np.ndarray) else jnp
    (N, n), bodies = parts.qd.shape, len(robot.mechanism.bodies)
    directions = parts.directions.reshape(N, n, bodies, 4, 3)
    acceleration = parts.acceleration.reshape(N, bodies, 4, 3)
    place = robot.mechanism.bodies.index(robot.carrier)
    columns, known = [], 0.0
    for _, members in shared.values():
        gram = xp.einsum(
            "nibkr,nblr->nikl", directions[:, :, members], acceleration[:, members], optimize=True
        )
        columns.append(xp.einsum("nikl,klp->nip", gram, unit_inertias()))
    gram = xp.einsum("nikr,nlr->nikl", directions[:, :, place], acceleration[:, place])
    carried = xp.einsum("nikl,klp->nip", gram, unit_inertias())
    known = carried @ np.asarray(robot.payload)
    columns += [block for block, _ in _of_drives(robot, parts.qd, parts.qdd, friction)]
    if friction:
        columns += _of_slides(robot, parts.speeds, parts.slides.reshape(N, n, -1))
    if balls:
        columns.append(parts.rubbing.reshape(N, n, 2))
    known = known + parts.springs if parts.springs.shape[1] else known
    return xp.concatenate(columns, axis=2), known, carried


def _names(
    robot: RigidRobot, shared: Mapping[str, Group], balls: bool, friction: bool
) -> tuple[Parameter, ...]:
    """Of the columns that `_assembled` makes, in their order."""
    mechanism = robot.mechanism
    nothing = np.zeros((1, len(mechanism.joint_coordinates)))
    found = [p for part, group in shared.items() for p in _moments(part, group.look)]
    found += [p for _, named in _of_drives(robot, nothing, nothing, friction) for p in named]
    if friction:
        for part, (first, *_) in slides(mechanism).items():
            turning = mechanism.passive_coordinates[first].unit == "rad"
            found += _friction_names(part, turning, _SLIDES)
    if balls:
        found += _friction_names(BALLS, True, _BALLS)
    return tuple(found)


def _moments(part: str, look: Look) -> list[Parameter]:
    """The ten of a body; masses, which seldom stand alone, are read last, save a platform's."""
    first = _READ.get(look, _LAST)
    late = first if look == "plate" else first + _LAST
    named = zip(INERTIA, UNITS, strict=True)
    return [Parameter(part, *pair, late if pair[0] == "m" else first) for pair in named]


def regressor_parts(robot: RigidRobot, x: Scalars, xd: Scalars, xdd: Scalars) -> tuple:
    """What Y is made of at one sample, group by group; a kernel for `tabulate`."""
    return _parts(robot, False, x, xd, xdd)


def regressor_of_parts(
    robot: RigidRobot, parts: Sequence[Float[AnyArray, "N _"]], distinct: Sequence[str] = ()
) -> tuple[Float[AnyArray, "N n p"], Float[AnyArray, "N n"], Float[AnyArray, "N n"]]:
    """Y, qd and qdd of all samples, in JAX: what a search for motions differentiates."""
    found = _Parts(*parts)
    matrix, _, _ = _assembled(robot, found, groups(robot.mechanism, distinct), False, True)
    return jnp.asarray(matrix), jnp.asarray(found.qd), jnp.asarray(found.qdd)


def _parts(
    robot: RigidRobot, balls: bool, x: Scalars, xd: Scalars, xdd: Scalars
) -> tuple[Scalars, ...]:
    """All that (1) to (4) are made of, at one sample; a kernel for `tabulate`."""
    mechanism = robot.mechanism
    state = motion_state(mechanism, x, xd, xdd)
    sliding = [k for places in slides(mechanism).values() for k in places]
    _, rates = jvp(mechanism.passive, (state.q, state.x), (state.qd, state.xd))
    directions, slid, rubbing = [], [], []
    for unit, move in joint_directions(state):
        _, dT = jvp(mechanism.body_poses, (state.q, state.x), (unit, move))
        directions += jax.tree.leaves(dT)
        if sliding:
            _, change = jvp(mechanism.passive, (state.q, state.x), (unit, move))
            slid += [change[k] for k in sliding]
        if balls:
            rubbing += _ball_columns(robot, state, dT)
    springs: Scalars = ()
    if any(robot.springs):
        springs = to_joints(state.closure, *spring_forces(robot, state.q, state.x))
    speeds = tuple(rates[k] for k in sliding)
    parts = (lifted(robot, state), directions, state.qd, state.qdd, speeds, slid, rubbing)
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
    for part, k in drive_parts(robot.mechanism).items():
        turning = robot.mechanism.joint_coordinates[k].unit == "rad"
        own = np.eye(qd.shape[1])[None, k, :, None]
        if has_rotor(robot, k):
            named = [Parameter(part, "rotor", "kg m^2" if turning else "kg", _DRIVES)]
            found.append((own * qdd[:, k, None, None], named))
        if friction:
            pair = _dry_and_wet(robot.drive_friction[k], qd[:, k])
            found.append((own * pair[:, None], _friction_names(part, turning, _DRIVES)))
    return found


def has_rotor(robot: RigidRobot, k: int) -> bool:
    """Whether the file gives motor k an inertia; on other drives it counts to the arm."""
    return bool(np.asarray(robot.rotors)[k])


def smoothing_speeds(robot: RigidRobot) -> Float[np.ndarray, " n"]:
    """w_0 of each drive [rad/s, m/s]."""
    laws = robot.drive_friction
    return np.array([_SMOOTHING if law is None else float(law.smoothing_speed) for law in laws])


def _dry_and_wet(law: FrictionLaw | None, speed: AnySeries) -> AnySeries:
    """tanh(w / w_0) and w."""
    w_0 = _SMOOTHING if law is None else float(np.asarray(law.smoothing_speed))
    xp = np if isinstance(speed, np.ndarray) else jnp
    return xp.stack([xp.tanh(speed / w_0), speed], axis=-1)


def _friction_names(part: str, turning: bool, read: int) -> list[Parameter]:
    units = ("N m", "N m s/rad") if turning else ("N", "N s/m")
    named = zip(("coulomb", "viscous"), units, strict=True)
    return [Parameter(part, *pair, read) for pair in named]


def _of_slides(robot: RigidRobot, speeds: AnySeries, change: AnySeries) -> list[AnySeries]:
    """Equation (3), (N, n, 2) for each friction of the file."""
    found, j = [], 0
    for places in slides(robot.mechanism).values():
        columns = [
            _dry_and_wet(robot.passive_friction[k], speeds[:, i])[:, None] * change[:, :, i, None]
            for i, k in enumerate(places, j)
        ]
        found.append(sum(columns[1:], columns[0]))
        j += len(places)
    return found


def parameter_values(robot: RigidRobot, parameters: Sequence[Parameter]) -> Float[np.ndarray, " p"]:
    """What the robot's own numbers are for each of `parameters`."""
    theta, found = np.asarray(robot.theta), []
    first = first_bodies(robot.mechanism, [p.part for p in parameters if p.name in INERTIA])
    for part, name, *_ in parameters:
        if name in INERTIA:
            found.append(theta[first[part], INERTIA.index(name)])
        elif name == "rotor":
            found.append(float(robot.rotors[drive_parts(robot.mechanism)[part]]))
        else:
            law = law_of(robot, part)
            found.append(0.0 if law is None else float(getattr(law, name)))
    return np.array(found, float)


def first_bodies(mechanism: AbstractMechanism, named: Sequence[str]) -> dict[str, int]:
    """The place of the first body of each part `named`, some of which may be single bodies."""
    distinct = [name for name in dict.fromkeys(named) if name in mechanism.bodies]
    return {name: group.members[0] for name, group in groups(mechanism, distinct).items()}


def law_of(robot: RigidRobot, part: str) -> FrictionLaw | None:
    """The friction of `drive_1`, `telescope` or `balls`."""
    if part == BALLS:
        return robot.ball_friction
    drive = drive_parts(robot.mechanism).get(part)
    if drive is not None:
        return robot.drive_friction[drive]
    return robot.passive_friction[slides(robot.mechanism)[part][0]]


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
    parts = [mechanism.parts[b] for b in places]
    parameters = [p for part in parts for p in _moments(part.body, part.look)]
    columns = [Y.reshape(len(q), n, -1)]
    for block, named in _of_drives(robot, qd, qdd, friction=True):
        columns.append(block)
        parameters += named
    matrix = np.concatenate(columns, axis=2)
    nothing = np.zeros((*q.shape, len(INERTIA)))
    return Regressor(matrix, tuple(parameters), np.zeros(q.shape), qd, nothing)


def driven_bodies(mechanism: AbstractMechanism) -> list[int]:
    """Bodies on a motor's own axis or slide."""
    driven = _on_motors(mechanism, "revolute", "prismatic").values()
    return [mechanism.bodies.index(body) for body in driven]


def turning_arms(mechanism: AbstractMechanism) -> dict[int, str]:
    """The body on the axis of each motor that turns, by the number of its drive, from 0."""
    return _on_motors(mechanism, "revolute")


def _on_motors(mechanism: AbstractMechanism, *kinds: JointKind) -> dict[int, str]:
    """Bodies between the base and a driven joint of these kinds, by the number of the drive."""
    driven = [joint for joint in mechanism.joints() if joint.driven]
    return {
        k: joint.child
        for k, joint in enumerate(driven)
        if joint.parent == "base" and joint.kind in kinds
    }


def _driven(robot: RigidRobot, q: Scalars, qd: Scalars, qdd: Scalars) -> tuple[Scalars, Scalars]:
    """Tdd - G and dT_i of the driven bodies; a kernel for `tabulate`."""
    mechanism, places = robot.mechanism, driven_bodies(robot.mechanism)
    g = robot.gravity_components()

    def poses(q: Scalars) -> Scalars:
        frames = mechanism.body_poses(q, mechanism.home())
        leaves = jax.tree.leaves([frames[b] for b in places])
        return tuple(spread(leaf, q[0]) for leaf in leaves)

    def velocity(q: Scalars, qd: Scalars) -> Scalars:
        return jvp(poses, (q,), (qd,))[1]

    _, Tdd = jvp(velocity, (q, qd), (qd, qdd))
    weights = [component for _ in places for component in (*(0.0,) * 9, *g)]
    directions = []
    for i in range(len(q)):
        unit = tuple(full_like(value, float(i == k)) for k, value in enumerate(q))
        directions += jvp(poses, (q,), (unit,))[1]
    return tuple(a - w for a, w in zip(Tdd, weights, strict=True)), tuple(directions)
