"""Forces on the bodies that no joint condition makes, the energy they store and the heat.

Efforts act along axes: an effort t about a turning axis m puts the moment t m on the child and
-t m on the parent, an effort along a slide the force t g at its two points. Motors do +t,
springs -k (q - q_0), friction -f(qd) (`laws`). Beside them act gravity, gyroscopic moments
-w x I w, tethers, bushings, friction in balls, and constant loads.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from triskele.multibody.primitives import BodyMotion, turned
from triskele.multibody.system import Bushing, System, at_bodies
from triskele.numerics import Scalar, atan2, safe_norm, safe_sqrt

Wrenches = Float[Array, "all 6"]  #: force and moment about the centre of mass, in O; ground last


class AxisMotion(NamedTuple):
    """Angle or length of each axis, its rate, and how an effort there acts."""

    q: Float[Array, " axes"]  #: [rad, m]
    qd: Float[Array, " axes"]
    W: Float[Array, "axes all 6"]  #: qd = sum over bodies of W . (v, w), the ground included


def axis_motion(system: System, motion: BodyMotion) -> AxisMotion:
    """All axes of the system, in its order."""
    angles, m = system.turns.angles(motion)
    about = jnp.concatenate([jnp.zeros_like(m), m], axis=-1)
    lengths = system.slides.rows(motion)
    first = {"turn": 0, "slide": len(m)}
    order = np.array([first[axis.kind] + axis.place for axis in system.axes], int)
    bodies, W = np.arange(len(motion.r)), 0.0
    sides = (
        (system.turns.pairs.parents, system.slides.pairs.parents, -about, lengths.parent),
        (system.turns.pairs.children, system.slides.pairs.children, about, lengths.child),
    )
    for turns, slides, *blocks in sides:
        ends = np.array([*turns, *slides], int)[order]
        W = W + at_bodies(ends, bodies)[:, :, None] * jnp.concatenate(blocks)[order][:, None, :]
    q = jnp.concatenate([angles, lengths.residual])[order]
    twists = jnp.concatenate([motion.v, motion.w], axis=-1)
    return AxisMotion(q, jnp.einsum("abk,bk->a", W, twists), jnp.asarray(W))


def forces(system: System, motion: BodyMotion, efforts: Float[Array, " motors"]) -> Wrenches:
    """All forces on the bodies, in O, about their centres of mass; the ground last."""
    total = _weights_and_spin(system, motion)
    total = _add_loads(system, motion, _add_tethers(system, motion, total))
    if system.axes:
        axes = axis_motion(system, motion)
        acting = _passive_efforts(system, axes)
        motors = [k for k, axis in enumerate(system.axes) if axis.motor]
        acting = acting.at[np.array(motors, int)].add(efforts) if motors else acting
        total = total + jnp.einsum("a,abk->bk", acting, axes.W)
    for bushing in system.bushings:
        total = _add_couple(total, bushing.parent, bushing.child, _bushing_moment(bushing, motion))
    for ball in system.balls:
        w = motion.w[ball.child] - motion.w[ball.parent]
        speed = safe_norm(w @ w)
        moment = -jnp.asarray(ball.law.effort(speed) / speed) * w
        total = _add_couple(total, ball.parent, ball.child, moment)
    return total


def _weights_and_spin(system: System, motion: BodyMotion) -> Wrenches:
    inertia, w = inertia_in_base(system, motion), motion.w[:-1]
    weight = jnp.outer(system.mass, system.gravity)
    spin = -jnp.cross(w, turned(inertia, w))
    return jnp.concatenate([jnp.concatenate([weight, spin], axis=-1), jnp.zeros((1, 6))])


def inertia_in_base(system: System, motion: BodyMotion) -> Float[Array, "bodies 3 3"]:
    """Inertia of each body about its centre of mass, in O [kg m^2]."""
    A = motion.A[:-1]
    return jnp.einsum("bij,bjk,blk->bil", A, system.inertia, A)


def _passive_efforts(system: System, axes: AxisMotion) -> Float[Array, " axes"]:
    efforts: list[Scalar] = []
    for k, (spring, law) in enumerate(zip(system.springs, system.friction, strict=True)):
        effort = jnp.zeros(())
        effort = effort if spring is None else effort - spring.effort(axes.q[k])
        efforts.append(effort if law is None else effort - law.effort(axes.qd[k]))
    return jnp.stack(efforts)


def _add_tethers(system: System, motion: BodyMotion, total: Wrenches) -> Wrenches:
    if not len(system.tethers.spans.pairs):
        return total
    spans = system.tethers.spans
    distance, rate, _ = spans.lengths(motion)
    pull = system.tethers.stiffness * (distance - spans.length) + system.tethers.damping * rate
    rows = spans.rows(motion)  # of e = d / length; the direction wants d / distance
    scale = (pull * spans.length / distance)[:, None]
    for side, block in zip((spans.pairs.parents, spans.pairs.children), rows[1:3], strict=True):
        total = total.at[np.array(side, int)].add(-scale * block)
    return total


def _add_loads(system: System, motion: BodyMotion, total: Wrenches) -> Wrenches:
    if not system.loads.bodies:
        return total
    where = np.array(system.loads.bodies, int)
    lever = turned(motion.A[where], system.loads.u)
    moment = system.loads.moment + jnp.cross(lever, system.loads.force)
    return total.at[where].add(jnp.concatenate([system.loads.force, moment], axis=-1))


def _add_couple(total: Wrenches, parent: int, child: int, moment: Array) -> Wrenches:
    return total.at[child, 3:].add(moment).at[parent, 3:].add(-moment)


def bushing_angles(bushing: Bushing, motion: BodyMotion) -> Float[Array, "3"]:
    """b_1, b_2, b_3 [rad] of a bushing."""
    Q = (motion.A[bushing.child] @ bushing.child_frame).T @ (
        motion.A[bushing.parent] @ bushing.frame
    )
    sine = Q[0, 2]
    return jnp.stack(
        [
            atan2(-Q[1, 2], Q[2, 2]),
            atan2(sine, safe_sqrt(1 - sine * sine)),
            atan2(-Q[0, 1], Q[0, 0]),
        ]
    )


def _bushing_moment(bushing: Bushing, motion: BodyMotion) -> Float[Array, "3"]:
    """Moment on the child, in O.

    The parent turns against the child with H b', H = [x, Rx(b_1) y, Rx(b_1) Ry(b_2) z] in the
    child's axes; the moment n on the parent does the power -k b . b', so H' n = -k b.
    """
    b = bushing_angles(bushing, motion)
    (s1, s2, _), (c1, c2, _) = jnp.sin(b), jnp.cos(b)
    H = jnp.array([[1.0, 0.0, s2], [0.0, c1, -s1 * c2], [0.0, s1, c1 * c2]])
    on_parent = jnp.linalg.solve(H.T, -bushing.stiffness * b)
    return -motion.A[bushing.child] @ bushing.child_frame @ on_parent


class Energies(NamedTuple):
    """Energies [J] and powers [W] at one state."""

    kinetic: Float[Array, ""]
    potential: Float[Array, ""]
    lost: Float[Array, ""]  #: power turned into heat

    @property
    def total(self) -> Float[Array, ""]:
        """Kinetic and potential."""
        return self.kinetic + self.potential


def energies(system: System, motion: BodyMotion) -> Energies:
    """Energy of bodies, rotors, springs and constant forces; heat of friction and dampers."""
    v, w, axes = motion.v[:-1], motion.w[:-1], axis_motion(system, motion)
    turning = jnp.sum(w * turned(inertia_in_base(system, motion), w))
    kinetic = (system.mass @ jnp.sum(v * v, axis=-1) + turning + system.rotors @ axes.qd**2) / 2
    potential = -(system.mass @ motion.r[:-1]) @ system.gravity
    lost = jnp.zeros(())
    for k, (spring, law) in enumerate(zip(system.springs, system.friction, strict=True)):
        potential = potential if spring is None else potential + spring.energy(axes.q[k])
        lost = lost if law is None else lost + law.effort(axes.qd[k]) * axes.qd[k]
    for bushing in system.bushings:
        b = bushing_angles(bushing, motion)
        potential = potential + bushing.stiffness @ (b * b) / 2
    for ball in system.balls:
        turn = motion.w[ball.child] - motion.w[ball.parent]
        speed = safe_norm(turn @ turn)
        lost = lost + ball.law.effort(speed) * speed
    if len(system.tethers.spans.pairs):
        distance, rate, _ = system.tethers.spans.lengths(motion)
        stretch = distance - system.tethers.spans.length
        potential = potential + system.tethers.stiffness @ (stretch * stretch) / 2
        lost = lost + system.tethers.damping @ (rate * rate)
    if system.loads.bodies:
        where = np.array(system.loads.bodies, int)
        place = motion.r[where] + turned(motion.A[where], system.loads.u)
        potential = potential - jnp.sum(system.loads.force * place)
        lost = lost - jnp.sum(system.loads.moment * motion.w[where])
    return Energies(kinetic, potential, lost)


def rotor_terms(system: System, motion: BodyMotion) -> tuple[Array, Array]:
    """W (axes, 6 bodies) of the rotors, and the rate Wd (v, w) that acceleration leaves out.

    Wd by differentiating W along the motion, poses moving with v and w.
    """
    twists = jnp.concatenate([motion.v, motion.w], axis=-1)

    def speeds(r: Array, A: Array) -> Array:
        moved = motion._replace(r=r, A=A)
        return jnp.einsum("abk,bk->a", axis_motion(system, moved).W, twists)

    spin = jnp.cross(motion.w[:, None, :], jnp.swapaxes(motion.A, -1, -2))
    rates = motion.v, jnp.swapaxes(spin, -1, -2)
    bias = jax.jvp(speeds, (motion.r, motion.A), rates)[1]
    W = axis_motion(system, motion).W[:, :-1]
    return W.reshape(len(W), 6 * len(system.bodies)), bias
