"""What bent links take: torques of the motors, strains and stresses.

A motor holds the root of its arm. With d, d', d'' the unknowns of the arm, its torque is the moment
at the root about the motor's axis, by equation (2) of `link`, and what its rotor takes,

    tau = -(M d'' + C d' + K d + f)_(w' at the root) + J qdd                            (1)

because rotation about y is -w'. Rigid arms take the forces of their rods at the elbow instead, and
their own inertia. In a stiff robot both are the torques of `dynamics`. Through a soft gear in which
its arm turns by t, a motor feels

    tau = -(k t + c t') + J qdd                                                         (2)

A motor that its servo lets turn by s has qdd + s'' and t - s in them.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from triskele.flexible.assembly import (
    UNDAMPED,
    Damping,
    Motions,
    Poses,
    arm_motions,
    arm_turns,
    damped,
    gear_damping,
    link_displacements,
    motor_turns,
    moving_link,
    rod_motions,
)
from triskele.flexible.beam import Beam
from triskele.flexible.link import END, W1, Link, U, V, W, element_places, strain_fields
from triskele.flexible.robot import FlexibleRobot, Links
from triskele.numerics import AnyArray


class Strains(NamedTuple):
    """Largest normal strain in each link along a motion, and its stress."""

    names: tuple[str, ...]
    strain: Float[np.ndarray, "N links"]  #: [1]
    stress: Float[np.ndarray, "N links"]  #: [Pa]


def motor_torques(
    robot: FlexibleRobot,
    links: Links,
    poses: Poses,
    y: Float[AnyArray, " n"],
    yd: Float[AnyArray, " n"],
    ydd: Float[AnyArray, " n"],
    damping: Damping = UNDAMPED,
) -> Float[AnyArray, "3"]:
    """Torques of the three motors [N m] along qd, friction apart, equation (1) or (2)."""
    X = jnp.einsum("iab,iac->ibc", poses.arm[:, 0, :, :3], poses.arm[:, 2, :, :3])
    turning = robot.rotors * ((X[:, 0, 2] - X[:, 2, 0]) / 2 + motor_turns(robot, ydd))
    if robot.gears is not None:
        J = robot.gears.inertia + (robot.arm[5] if robot.arm_beam is None else 0.0)
        c, own = gear_damping(damping, robot.gears, J)
        if robot.servo is None:
            c = c + own
        twist, rate = (arm_turns(robot, part) - motor_turns(robot, part) for part in (y, yd))
        return turning - robot.gears.stiffness * twist - c * rate
    if links.arm is not None:
        d = arm_motions(robot, y, yd, ydd)
        forces = _end_forces(robot, links.arm, poses.arm, d, damping)
        return jnp.asarray(turning - forces[:, W1])
    return jnp.asarray(turning + _rigid_arms(robot, links, poses, y, yd, ydd, damping))


def _end_forces(
    robot: FlexibleRobot,
    link: Link,
    T: Float[AnyArray, "3 orders 3 4"],
    d: Motions,
    damping: Damping,
) -> Float[AnyArray, "3 6"]:
    """Forces on the root of each link, conjugate to its unknowns."""

    def one(link: Link, T: Float[AnyArray, "orders 3 4"], d: Motions) -> Float[AnyArray, "6"]:
        m = damped(link, damping, moving_link(robot, link, T, None))
        root = slice(None, END)
        return m.M[root] @ d.dd + m.C[root] @ d.d1 + m.K[root] @ d.d + m.f[root]

    return jax.vmap(one)(link, T, d)


def _rigid_arms(
    robot: FlexibleRobot,
    links: Links,
    poses: Poses,
    y: Float[AnyArray, " n"],
    yd: Float[AnyArray, " n"],
    ydd: Float[AnyArray, " n"],
    damping: Damping,
) -> Float[AnyArray, "3"]:
    """Moment about the motors' axes of the rods' forces at the elbows, and of the arms."""
    R, Rdd = poses.arm[:, 0, :, :3], poses.arm[:, 2, :, :3]
    v = R[:, :, 1]
    reach = robot.mechanism.arm_length[:, None] * R[:, :, 0]
    total = jnp.zeros((3, 3))
    for k in range(len(robot.shifts)):
        d = rod_motions(robot, poses, k, y, yd, ydd)
        forces = _end_forces(robot, links.rod, poses.rod, d, damping)
        in_rod = forces[:, jnp.array([U, V, W])]
        total = total + jnp.einsum("iab,ib->ia", poses.rod[:, 0, :, :3], in_rod)
    by_rods = jnp.einsum("ia,ia->i", v, jnp.cross(reach, total))
    first = robot.arm[1:4]
    X = jnp.einsum("iab,iac->ibc", R, Rdd)
    weight = jnp.cross(jnp.einsum("iab,b->ia", R, first), jnp.broadcast_to(robot.gravity, (3, 3)))
    return (
        by_rods
        + robot.arm[5] * ((X[:, 0, 2] - X[:, 2, 0]) / 2 + arm_turns(robot, ydd))
        - jnp.einsum("ia,ia->i", v, weight)
    )


def link_strains(
    robot: FlexibleRobot, links: Links, poses: Poses, y: Float[np.ndarray, "N n"]
) -> Strains:
    """Largest normal strain and stress in each link, at the ends of its elements.

    Tension and both bendings add up at the corners of a section, on the circle of a tube.
    """
    found = _all_strains(robot, links, jax.tree.map(jnp.asarray, poses), jnp.asarray(y))
    names, columns, moduli = [], [], []
    beams = {"arm": robot.arm_beam, "rod": robot.rod_beam}
    for part, values in zip(beams, found, strict=True):
        beam = beams[part]
        if values is None or beam is None:
            continue
        for i, k in np.ndindex(values.shape[1:]):
            names.append(f"{part}_{i + 1}" + ("ab"[k] if values.shape[2] > 1 else ""))
            columns.append(np.asarray(values[:, i, k]))
            moduli.append(float(beam.young_modulus))
    strain = np.stack(columns, axis=1)
    return Strains(tuple(names), strain, strain * np.array(moduli)[None, :])


@eqx.filter_jit
def _all_strains(
    robot: FlexibleRobot, links: Links, poses: Poses, y: Float[AnyArray, "N n"]
) -> tuple[Float[AnyArray, "N 3 1"] | None, Float[AnyArray, "N 3 rods"]]:
    def at(sample: tuple[Poses, Float[AnyArray, " n"]]) -> tuple[AnyArray | None, AnyArray]:
        arms, rods = link_displacements(robot, *sample)
        of_arms = None
        if arms is not None and links.arm is not None and robot.arm_beam is not None:
            of_arms = _largest(robot, robot.arm_beam, links.arm, arms[:, None])
        return of_arms, _largest(robot, robot.rod_beam, links.rod, rods)

    return jax.lax.map(at, (poses, y))


def _largest(
    robot: FlexibleRobot, beam: Beam, link: Link, d: Float[AnyArray, "3 k d"]
) -> Float[AnyArray, "3 k"]:
    ends = np.array([0.0, 1.0])
    places = element_places(robot.elements, robot.family)

    def one(link: Link, d: Float[AnyArray, "k d"]) -> Float[AnyArray, " k"]:
        B = strain_fields(beam, link.length / robot.elements, ends, robot.family, robot.slender)
        full = d if link.shapes is None else d @ link.shapes.T
        u1, _, v2, w2 = jnp.einsum("sga,kna->skng", B, full[:, places])
        across = jnp.stack([beam.reach[0] * v2, beam.reach[1] * w2])
        bent = jnp.hypot(*across) if beam.round else jnp.abs(across).sum(axis=0)
        return (jnp.abs(u1) + bent).max(axis=(1, 2))

    return jax.vmap(one)(link, d)
