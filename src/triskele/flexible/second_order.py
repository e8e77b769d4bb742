"""What small deflections leave out: the second order, estimated from the first.

A link that turns and bends comes nearer with its tip to its root, by

    e = 1/2 int (v'^2 + w'^2) dx                                                        (1)

a rotation g carries a point at s farther than g x s by g x (g x s) / 2, and a rigid arm of length l
that turns by t in its gear comes nearer by e = l t^2 / 2. The linear model takes none of these d2
into its loops, and, unless stiffened, nothing of the forces Kg y of the tension in its links. Both
are loads of the second order; carried by the elastic stiffness they displace the robot by

    K y2 = -sum S' K_link d2 - Kg y                                                     (2)

y2 is what to add to y, as far as it follows without swinging. It says how far a deflection is from
being small, not what the next program would find along a motion: frequencies change with y as well.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from triskele.flexible.assembly import (
    Poses,
    arm_turns,
    arrow,
    joint_points,
    limb_places,
    link_displacements,
    on_limb,
)
from triskele.flexible.link import END, PHI, V1, W1, U, V, W
from triskele.flexible.modes import built_links, carried, static, tensions
from triskele.flexible.response import Response, body_poses_along
from triskele.flexible.robot import PLATFORM, FlexibleRobot, Links
from triskele.numerics import AnyArray

_SAMPLES = 120  #: of a response, at most
_PLACE = np.array([U, V, W])


class SecondOrder(NamedTuple):
    """What the linear model leaves out along a motion."""

    displacement: float  #: of the platform, at most [m]
    share: float  #: of the largest deviation from the rigid motion
    time: float  #: when [s]


def left_out(response: Response) -> SecondOrder:
    """Estimate of what is missing in the deviation of `response`, by equation (2)."""
    robot, every = response.robot, max(1, -(-len(response.t) // _SAMPLES))
    chosen = np.arange(len(response.t))[::-1][::every][::-1]
    largest = int(np.linalg.norm(response.position, axis=1).argmax())
    chosen = np.union1d(chosen, [largest])
    poses = body_poses_along(robot.mechanism, response.motion)
    picked = jax.tree.map(lambda leaf: jnp.asarray(leaf[chosen]), poses)
    found = _many(
        robot, built_links(robot), picked, jnp.asarray(response.y[chosen]), response.stiffened
    )
    size = np.linalg.norm(np.asarray(found)[:, :3], axis=1)
    worst, deviation = int(size.argmax()), np.linalg.norm(response.position, axis=1).max()
    share = float(size[worst] / deviation) if deviation > 0 else 0.0
    return SecondOrder(float(size[worst]), share, float(response.t[chosen[worst]]))


@eqx.filter_jit
def _many(
    robot: FlexibleRobot,
    links: Links,
    poses: Poses,
    y: Float[AnyArray, "N n"],
    stiffened: bool,
) -> Float[AnyArray, "N n"]:
    return jax.lax.map(
        lambda sample: second_order(robot, links, sample[0], sample[1], stiffened), (poses, y)
    )


def second_order(
    robot: FlexibleRobot,
    links: Links,
    poses: Poses,
    y: Float[AnyArray, " n"],
    stiffened: bool = False,
) -> Float[AnyArray, " n"]:
    """y2 of (2) where the robot is displaced by `y`."""
    limbs, own = arrow(robot, links, poses), robot.of_limb
    loads = _of_shortening(robot, links, poses, y)
    if not stiffened:
        pulls = tensions(robot, links, poses, static(robot, limbs))
        added = arrow(robot, links, poses, tensions=pulls).K - limbs.K
        each = jnp.stack([y[limb_places(i, own)] for i in range(3)])
        loads = loads + jnp.einsum("iab,ib->ia", added, each)
    return carried(robot, limbs, loads, jnp.zeros(PLATFORM))


def _of_shortening(
    robot: FlexibleRobot, links: Links, poses: Poses, y: Float[AnyArray, " n"]
) -> Float[AnyArray, "3 a"]:
    """S' K_link d2 of all links, limb by limb."""
    arms, rods = link_displacements(robot, poses, y)
    turns, reach = arm_turns(robot, y), robot.mechanism.arm_length
    found = []
    for i in range(3):
        axes, of_arm = poses.arm[i, 0, :, :3], None
        if arms is None or links.arm is None:
            nearer, turned = -reach[i] * turns[i] ** 2 / 2 * axes[:, 0], turns[i] * axes[:, 1]
        else:
            d, (K, G) = arms[i], (links.arm.K[i], links.arm.G[i, 0])
            of_arm = K[:, END + U] * (d @ G @ d) / 2
            nearer = jnp.zeros(3)
            turned = axes @ jnp.stack([d[END + PHI], -d[END + W1], d[END + V1]])
        of_rods = []
        for d, (at_elbow, at_wrist) in zip(rods[i], joint_points(robot, poses, i), strict=True):
            R, K, G = poses.rod[i, 0, :, :3], links.rod.K[i], links.rod.G[i, 0]
            elbow = R.T @ (nearer + _farther(turned, at_elbow))
            wrist = R.T @ _farther(y[PLATFORM - 3 : PLATFORM], at_wrist)
            wrist = wrist + (d @ G @ d) / 2 * jnp.eye(3)[0]
            of_rods.append(K[:, _PLACE] @ elbow + K[:, END + _PLACE] @ wrist)
        found.append(on_limb(robot, poses, i, of_arm, of_rods))
    return jnp.stack(found)


def _farther(g: Float[AnyArray, "3"], s: Float[AnyArray, "3"]) -> Float[AnyArray, "3"]:
    return jnp.cross(g, jnp.cross(g, s)) / 2
