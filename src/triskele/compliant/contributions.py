"""What each part of a robot adds to the efforts of its drives, on its own.

By the principle of energy equivalence the efforts are the sum of what each body, each spring
and each wrench on the platform asks for, handed to the joints by its own Jacobian,

    tau = sum_n J_n' (d/dt dL_n/dv_n - dL_n/dr_n) - J_P' w,     sum L_n = L               (1)

which holds while no energy is counted twice: a flexure between two bodies has one potential
energy.

The inertia of a body is split as its authors do: translation is that of its mass at the centre
of mass with its weight, rotation that of the moments about the centre.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from triskele.dynamics.inverse import motor_efforts, passive_forces, with_ball_friction
from triskele.dynamics.robot import RigidRobot
from triskele.dynamics.wrenches import (
    STILL,
    MotionState,
    inertial_wrenches,
    motion_state,
    of_moment,
    pulled_back,
    to_joints,
)
from triskele.numerics import AnyArray, Scalar, stacked

Efforts = Float[AnyArray, " n"]


class Contributions(NamedTuple):
    """Efforts at the drives [N m, N], part by part."""

    translation: dict[str, Efforts]  #: by kind of body: mass at its centre, and weight
    rotation: dict[str, Efforts]  #: by kind of body: moments about its centre
    flexures: Efforts
    friction: Efforts  #: of passive joints
    motors: Efforts  #: their inertia and friction at the joints
    external: Efforts  #: balancing the wrench on the platform

    @property
    def total(self) -> Efforts:
        """What the drives must supply."""
        return self.without_motors + self.motors

    @property
    def without_motors(self) -> Efforts:
        """What the mechanism alone asks for at its joints: `total` less the motors' own part."""
        bodies = [*self.translation.values(), *self.rotation.values()]
        return sum(bodies, start=self.flexures + self.friction + self.external)


def contributions(
    robot: RigidRobot,
    x: ArrayLike,
    xd: ArrayLike,
    xdd: ArrayLike,
    *,
    force: ArrayLike = (0.0, 0.0, 0.0),
    moment: ArrayLike = (0.0, 0.0, 0.0),
    point: ArrayLike = (0.0, 0.0, 0.0),
) -> Contributions:
    """Every term of (1) for the platform motion `x`, `xd`, `xdd`.

    `force` [N] and `moment` [N m] act on the platform, in O; the force at `point` [m] of the
    platform, in the platform's axes from its origin.
    """
    given = (jnp.asarray(value, float) for value in (x, xd, xdd, force, moment, point))
    return _contributions(robot, *given)


@eqx.filter_jit
def _contributions(
    robot: RigidRobot,
    x: Array,
    xd: Array,
    xdd: Array,
    force: Array,
    moment: Array,
    point: Array,
) -> Contributions:
    state = motion_state(robot.mechanism, tuple(x), tuple(xd), tuple(xdd))
    kinds: dict[str, list[int]] = {}
    for place, part in enumerate(robot.mechanism.parts):
        kinds.setdefault(part.part, []).append(place)
    moving, turning = _split(robot)
    springless = eqx.tree_at(lambda r: r.springs, robot, (None,) * len(robot.springs))
    sprung = _handed(state, *passive_forces(robot, state))
    rubbing = _handed(state, *passive_forces(springless, state))
    if robot.ball_friction is not None:
        W = with_ball_friction(robot, state, (STILL,) * len(state.T))
        balls = _handed(state, *pulled_back(robot.mechanism, state.q, state.x, W))
        sprung, rubbing = sprung + balls, rubbing + balls
    still = tuple(jnp.zeros_like(value) for value in state.x)
    return Contributions(
        translation={kind: _bodies(robot, state, moving, places) for kind, places in kinds.items()},
        rotation={kind: _bodies(robot, state, turning, places) for kind, places in kinds.items()},
        flexures=sprung - rubbing,
        friction=rubbing,
        motors=_handed(state, motor_efforts(robot, state), still),
        external=_external(robot, state, force, moment, point),
    )


def _split(robot: RigidRobot) -> tuple[Array, Array]:
    """Ten parameters of each body: those of its mass at the centre, and the rest."""
    place = robot.mechanism.bodies.index(robot.carrier)
    whole = jnp.asarray(robot.theta).at[place].add(jnp.asarray(robot.payload))
    m = whole[:, :1]
    c = whole[:, 1:4] / jnp.where(m > 0, m, 1.0)  # what has no mass has no first moments
    x, y, z = (c[:, k] for k in range(3))
    steiner = (y * y + z * z, x * x + z * z, x * x + y * y, -x * y, -y * z, -x * z)
    point = jnp.concatenate([m, m * c, m * jnp.stack(steiner, axis=-1)], axis=-1)
    return point, whole - point


def _bodies(robot: RigidRobot, state: MotionState, theta: Array, places: list[int]) -> Efforts:
    """Efforts of some bodies with the parameters `theta`, weight included."""
    kept = jnp.zeros_like(theta).at[jnp.asarray(places)].set(theta[jnp.asarray(places)])
    alone = eqx.tree_at(
        lambda r: (r.theta, r.payload), robot, (kept, jnp.zeros_like(jnp.asarray(robot.payload)))
    )
    W = inertial_wrenches(alone, state.Tdd, robot.gravity_components())
    return _handed(state, *pulled_back(robot.mechanism, state.q, state.x, W))


def _external(
    robot: RigidRobot, state: MotionState, force: Array, moment: Array, point: Array
) -> Efforts:
    """What balances a wrench on the platform, whose force about the origin is p x f besides."""
    place = robot.mechanism.bodies.index(robot.mechanism.platform)
    axes = jnp.stack([stacked(axis) for axis in state.T[place][:3]], axis=1)
    moment = moment + jnp.cross(axes @ point, force)
    f, n = tuple(-force), tuple(-moment)
    push = of_moment(state.T[place], n)._replace(p=f)  # pyright: ignore[reportArgumentType]
    W = [STILL] * len(state.T)
    W[place] = push
    return _handed(state, *pulled_back(robot.mechanism, state.q, state.x, tuple(W)))


def _handed(state: MotionState, f_q: tuple[Scalar, ...], f_x: tuple[Scalar, ...]) -> Efforts:
    return stacked(to_joints(state.closure, f_q, f_x))
