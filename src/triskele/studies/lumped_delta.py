"""The rigid Delta with Lagrange multipliers of Kuo (2016): rods as two masses, arms as bars.

Each rod is replaced by masses mu at elbow and wrist, each arm by a uniform bar of mass m_1,
and the loops are kept closed by multipliers of s_i . s_i = d_i^2. In the letters of
`kinematics/delta.py`,

    sum_i 2 lam_i s_i = (m_P + 3 mu) (xdd - g)                                         (1)
    tau_i = (m_1/3 + mu) L^2 qdd_i - (m_1/2 + mu) L g.a'_i + 2 lam_i L s_i.a'_i        (2)

Halving a rod's mass keeps its mass and centre but not its inertia: the torque differs from
that of the distributed rod (`inverse.py`) by about 5 %. Kuo prints mu = m_2, the whole mass of
a rod at both ends, which is right for a pair of such rods; `whole` reproduces it.

Reference: Y.-L. Kuo, Mathematical modeling and analysis of the Delta robot with flexible
links, 2016, equations 11 to 16 with r = r_A - r_B, which is printed with the wrong sign, and
gravity towards the platform.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Float

from triskele.dynamics.robot import RigidRobot
from triskele.errors import InputError
from triskele.kinematics.delta import Delta
from triskele.kinematics.velocity import joint_acceleration
from triskele.numerics import AnyArray, Components, Scalar, Scalars, as_scalars, solve, transpose
from triskele.spatial.vectors import Triple, dot, scale, subtract


class LumpedDelta(eqx.Module):
    """Masses [kg] of the model; its geometry is that of the mechanism."""

    mechanism: Delta
    arm: Scalar  #: m_1
    lump: Scalar  #: mu, at each end of the rods of a limb
    platform: Scalar  #: m_P, payload included
    gravity: Float[AnyArray, "3"]  #: [m/s^2]


class LumpedEfforts(NamedTuple):
    """Torques of the model, and the forces in its massless rods."""

    tau: Scalars  #: [N m]
    tension: Scalars  #: of the rods of each limb together, -2 lam_i d_i [N]


def lumped_delta(robot: RigidRobot, *, whole: bool = False) -> LumpedDelta:
    """The lumped model of a robot; with `whole`, all of a rod's mass at both ends."""
    delta = robot.mechanism
    if not isinstance(delta, Delta) or delta.telescope is not None:
        raise InputError("The lumped model is that of a Delta with three axes.")
    mass = dict(zip(delta.bodies, robot.theta[:, 0], strict=True))
    rods = jnp.stack([m for name, m in mass.items() if name.startswith("rod_1")]).sum()
    return LumpedDelta(
        mechanism=delta,
        arm=mass["arm_1"],
        lump=rods if whole else rods / 2,
        platform=mass["platform"] + robot.payload[0],
        gravity=robot.gravity,
    )


def lumped_efforts(
    model: LumpedDelta, x: Components, xd: Components, xdd: Components
) -> LumpedEfforts:
    """Torques for the platform motion `x`, `xd`, `xdd`, in the five steps of the paper."""
    delta, g = model.mechanism, _triple(model.gravity)
    # 1: joint angles. 2: joint accelerations.
    q = delta.inverse(x).components
    x = as_scalars(x)
    _, qdd, (A, B) = joint_acceleration(delta, q, x, xd, xdd)
    # 3: rods s_i = dc_i/dx, and L s_i.a'_i = -dc_i/dq_i, both from the closure.
    rods = [(row[0], row[1], row[2]) for row in A]
    # 4: multipliers that move the platform.
    weight = scale(model.platform + 3 * model.lump, subtract(_triple(xdd), g))
    doubled = solve(transpose(tuple(rods)), weight)
    # 5: torques.
    efforts = []
    arms = delta.body_poses(q, x)[:3]
    for i, (arm, L, lam2, b) in enumerate(zip(arms, delta.arm_length, doubled, B, strict=True)):
        inertia = (model.arm / 3 + model.lump) * L * L
        moment = (model.arm / 2 + model.lump) * L * dot(g, scale(-1.0, arm.z))  # a' = -z
        efforts.append(inertia * qdd[i] - moment - lam2 * b)
    pulls = tuple(-lam2 * d for lam2, d in zip(doubled, delta.rod_length, strict=True))
    return LumpedEfforts(tuple(efforts), pulls)


def _triple(vector: Components) -> Triple:
    x, y, z = vector
    return x, y, z
