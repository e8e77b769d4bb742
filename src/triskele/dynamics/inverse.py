"""Inverse dynamics of any mechanism: the efforts that a motion takes, by virtual power.

The wrenches W that move the bodies (`wrenches.py`), pulled back through the poses T(q, x),
are generalised forces on joints and platform; the loop closure hands those of the platform
over to the joints,

    (f_q, f_x) = (dT/dq, dT/dx)' W,     A' lam = f_x,     tau = f_q - B' lam           (1)

Springs and friction of passive coordinates eta(q, x) join f_q and f_x in the same way, the
friction of balls joins W. Motors add their own inertia and friction in joint space,

    tau += I_r qdd + f(qd)                                                             (2)

(1) is linear in the inertia of each body, tau = Y theta, and along a path x(s) affine in
the path's acceleration and squared speed, because Tdd = T' sdd + T'' sd^2.

Convention: a rod turns as a universal joint at its elbow makes it, whose second axis stays
normal to the parallelogram. At which end that joint sits changes no torque, only whether arm
or platform takes the moment that turns the rod about its own axis. Rods between two balls
that do not spin at all would take up to 2e-4 N m more or less on an IRB 360.
"""

from collections.abc import Iterator
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from triskele.dynamics.robot import RigidRobot
from triskele.dynamics.wrenches import (
    STILL,
    Frames,
    MotionState,
    angular_velocity,
    inertial_wrenches,
    motion_state,
    of_moment,
    pulled_back,
    to_joints,
)
from triskele.numerics import (
    AnyArray,
    Components,
    Scalars,
    at_known,
    batch,
    full_like,
    jvp,
    safe_divide,
    safe_norm,
    solve,
    vjp,
    zeros_like,
)
from triskele.spatial.inertia import second_moments
from triskele.spatial.vectors import WORLD, Frame, Triple, add, dot, scale, subtract


@at_known
def inverse_dynamics(robot: RigidRobot, x: Components, xd: Components, xdd: Components) -> Scalars:
    """Efforts tau [N m, N] of the drives for the platform motion `x`, `xd`, `xdd`."""
    return efforts(robot, motion_state(robot.mechanism, x, xd, xdd))


def efforts(robot: RigidRobot, state: MotionState) -> Scalars:
    """Efforts of the drives at a state of motion."""
    f_q, f_x = generalised_forces(robot, state)
    return to_joints(state.closure, _plus(f_q, motor_efforts(robot, state)), f_x)


def generalised_forces(robot: RigidRobot, state: MotionState) -> tuple[Scalars, Scalars]:
    """(f_q, f_x) of bodies and passive joints; motors excluded."""
    W = inertial_wrenches(robot, state.Tdd, robot.gravity_components())
    W = with_ball_friction(robot, state, W)
    f_q, f_x = pulled_back(robot.mechanism, state.q, state.x, W)
    e_q, e_x = passive_forces(robot, state)
    return _plus(f_q, e_q), _plus(f_x, e_x)


def motor_efforts(robot: RigidRobot, state: MotionState) -> Scalars:
    """Equation (2)."""
    own = tuple(inertia * qdd for inertia, qdd in zip(robot.rotors, state.qdd, strict=True))
    laws = zip(robot.drive_friction, state.qd, strict=True)
    rubbing = tuple(0.0 if law is None else law.effort(qd) for law, qd in laws)
    return _plus(own, rubbing)


def passive_forces(robot: RigidRobot, state: MotionState) -> tuple[Scalars, Scalars]:
    """(f_q, f_x) of springs and friction of the passive coordinates."""
    e_q, e_x = spring_forces(robot, state.q, state.x)
    if not any(robot.passive_friction):
        return e_q, e_x
    passive = robot.mechanism.passive
    _, speeds = jvp(passive, (state.q, state.x), (state.qd, state.xd))
    pairs = zip(robot.passive_friction, speeds, strict=True)
    rubbing = tuple(zeros_like(w) if law is None else law.effort(w) for law, w in pairs)
    f_q, f_x = vjp(passive, state.q, state.x)[1](rubbing)
    return _plus(f_q, e_q), _plus(f_x, e_x)


def spring_forces(robot: RigidRobot, q: Scalars, x: Scalars) -> tuple[Scalars, Scalars]:
    """(f_q, f_x) of the springs alone; zeros if there are none."""
    if not any(robot.springs):
        return _zeros(q), _zeros(x)
    eta, back = vjp(robot.mechanism.passive, q, x)
    pairs = zip(robot.springs, eta, strict=True)
    return back(tuple(zeros_like(p) if s is None else s.effort(p) for s, p in pairs))


def moving_wrenches(robot: RigidRobot, state: MotionState) -> Frames:
    """What the joints must do to each body: inertia, weight, friction of passive slides.

    That friction acts along the axis of the slide, on both bodies in turn.
    """
    W = inertial_wrenches(robot, state.Tdd, robot.gravity_components())
    W = list(with_ball_friction(robot, state, W))
    mechanism = robot.mechanism
    slides = {joint.name: joint for joint in mechanism.joints()}
    _, speeds = jvp(mechanism.passive, (state.q, state.x), (state.qd, state.xd))
    for law, coordinate, speed in zip(
        robot.passive_friction, mechanism.passive_coordinates, speeds, strict=True
    ):
        if law is None:
            continue
        slide = slides[coordinate.joint]
        assert slide.kind == "prismatic" and slide.axis is not None, "balls have `ball_friction`"
        upper, lower = (mechanism.bodies.index(body) for body in (slide.parent, slide.child))
        push = scale(law.effort(speed), state.T[upper].turned(slide.axis))
        W[upper] = W[upper]._replace(p=add(W[upper].p, push))
        W[lower] = W[lower]._replace(p=subtract(W[lower].p, push))
    return tuple(W)


def with_ball_friction(robot: RigidRobot, state: MotionState, W: Frames) -> Frames:
    """`W`, and what it takes to turn the balls of the rods: a moment along their turning.

    The moment has the size of the friction law at the relative angular speed |w|, so that
    its power is never negative.
    """
    law, total = robot.ball_friction, [STILL, *W]
    if law is None:
        return W
    T = (WORLD, *state.T)
    for parent, child, w in turning_balls(robot, state):
        speed = safe_norm(dot(w, w))
        n = scale(safe_divide(law.effort(speed), speed), w)
        for body, sign in ((child, 1.0), (parent, -1.0)):
            total[body] = _added(total[body], of_moment(T[body], scale(sign, n)))
    return tuple(total[1:])


def turning_balls(robot: RigidRobot, state: MotionState) -> Iterator[tuple[int, int, Triple]]:
    """Each ball joint of a rod: its bodies, counted from the base, and their relative w [rad/s]."""
    names = ("base", *robot.mechanism.bodies)
    frames = zip((WORLD, *state.T), (STILL, *state.Td), strict=True)
    turning = [angular_velocity(T, Td) for T, Td in frames]
    for joint in robot.mechanism.joints():
        if joint.friction == "balls":
            parent, child = names.index(joint.parent), names.index(joint.child)
            yield parent, child, subtract(turning[child], turning[parent])


def _added(a: Frame, b: Frame) -> Frame:
    return Frame(*(add(one, other) for one, other in zip(a, b, strict=True)))


def _plus(a: Scalars, b: Scalars) -> Scalars:
    return tuple(one + other for one, other in zip(a, b, strict=True))


# Along a path


class PathEfforts(NamedTuple):
    """tau = a sdd + b sd^2 + c + friction at a point of a path x(s)."""

    a: Scalars  #: per unit of path acceleration
    b: Scalars  #: per unit of squared path speed
    c: Scalars  #: at rest: gravity and springs


@at_known
def path_efforts(robot: RigidRobot, x: Components, x1: Components, x2: Components) -> PathEfforts:
    """Coefficients of the efforts at path position `x` with derivatives x' and x''."""
    mechanism = robot.mechanism
    state = motion_state(mechanism, x, x1, x2)
    pulls = [
        pulled_back(mechanism, state.q, state.x, inertial_wrenches(robot, rate, g))
        for rate, g in path_cases(robot, state)
    ]
    e_q, e_x = spring_forces(robot, state.q, state.x)
    pulls[2] = (_plus(pulls[2][0], e_q), _plus(pulls[2][1], e_x))
    own = [tuple(i * rate for i, rate in zip(robot.rotors, r, strict=True)) for r in state[1:3]]
    motors = (*own, _zeros(state.q))
    return PathEfforts(
        *(
            to_joints(state.closure, _plus(f_q, motor), f_x)
            for (f_q, f_x), motor in zip(pulls, motors, strict=True)
        )
    )


def path_cases(
    robot: RigidRobot, state: MotionState
) -> tuple[tuple[Frames, Triple], tuple[Frames, Triple], tuple[Frames, Triple]]:
    """Accelerations of the poses and gravity for a, b and c.

    `state` holds derivatives along the path in the place of time derivatives.
    """
    nothing, still = (0.0, 0.0, 0.0), (STILL,) * len(state.T)
    return (state.Td, nothing), (state.Tdd, nothing), (still, robot.gravity_components())


def _zeros(values: Scalars) -> Scalars:
    return tuple(zeros_like(value) for value in values)


# Linear in the parameters


def regressor(
    robot: RigidRobot, x: ArrayLike, xd: ArrayLike, xdd: ArrayLike
) -> Float[AnyArray, "N n parameters"]:
    """Y with tau = Y theta, for N samples: columns are theta[0], theta[1], ... in turn.

    tau is that of the bodies alone, without motors, springs, friction and payload. With dT_i
    the change of the poses with joint i, tau_i = sum_b tr(dT_i' (Tdd - G) P_b).
    """
    parts = batch(eqx.Partial(_joint_directions, robot))(x, xd, xdd)
    accelerations, directions = (jnp.stack(part, axis=-1) for part in parts)
    N, n, bodies = len(accelerations), len(robot.rotors), len(robot.mechanism.bodies)
    acceleration = accelerations.reshape(N, bodies, 4, 3)  # columns of T, entry by entry
    direction = directions.reshape(N, n, bodies, 4, 3)
    gram = jnp.einsum("nibkr,nblr->nibkl", direction, acceleration)
    return jnp.einsum("nibkl,klp->nibp", gram, unit_inertias()).reshape(N, n, 10 * bodies)


def _joint_directions(
    robot: RigidRobot, x: Scalars, xd: Scalars, xdd: Scalars
) -> tuple[Scalars, Scalars]:
    """Leaves of Tdd - G, and of dT_i for each joint i; a kernel for `numerics.batch`."""
    state = motion_state(robot.mechanism, x, xd, xdd)
    directions = [
        jvp(robot.mechanism.body_poses, (state.q, state.x), (unit, move))[1]
        for unit, move in joint_directions(state)
    ]
    return lifted(robot, state), tuple(jax.tree.leaves(directions))


def lifted(robot: RigidRobot, state: MotionState) -> Scalars:
    """Leaves of Tdd - G, body by body."""
    g = robot.gravity_components()
    frames = tuple(frame._replace(p=subtract(frame.p, g)) for frame in state.Tdd)
    return tuple(jax.tree.leaves(frames))


def joint_directions(state: MotionState) -> Iterator[tuple[Scalars, Scalars]]:
    """The change of q and of x with each joint coordinate, one after the other."""
    A, B = state.closure
    for i, b in enumerate(B):
        unit = tuple(full_like(q, float(i == k)) for k, q in enumerate(state.q))
        yield unit, solve(A, tuple(-b * one for one in unit))


def unit_inertias() -> Float[np.ndarray, "4 4 10"]:
    """dP/dtheta: the pseudo-inertia of each unit parameter."""
    units = np.eye(10)
    return np.stack([np.array(second_moments(tuple(unit))) for unit in units], axis=-1)
