"""The bent robot as lines in space: axes of its links, for figures and viewers.

A point at x of a link's axis is at p + R (x e_1 + N(x) d). Deflections can be enlarged.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from triskele.flexible.assembly import Poses, arm_turns, link_displacements
from triskele.flexible.beam import Beam
from triskele.flexible.link import Link, element_places, section_fields
from triskele.flexible.robot import FlexibleRobot, Links, links
from triskele.numerics import AnyArray

_POINTS = 12  #: of each link, at least


def link_names(robot: FlexibleRobot) -> tuple[str, ...]:
    """Names of the links, in the order of `curves`."""
    rods = [""] if len(robot.shifts) == 1 else ["a", "b"]
    return (
        *(f"arm_{i}" for i in (1, 2, 3)),
        *(f"rod_{i}{rod}" for i in (1, 2, 3) for rod in rods),
    )


@eqx.filter_jit
def curves(
    robot: FlexibleRobot,
    poses: Poses,
    y: Float[AnyArray, "N n"],
    enlarged: Float[AnyArray, ""] | float,
) -> Float[AnyArray, "N links points 3"]:
    """Axes of all links [m] in O, displaced by `enlarged` times `y`, one row per sample."""
    of_links = links(robot)
    return jax.lax.map(
        lambda sample: _sample(robot, of_links, sample[0], enlarged * sample[1]), (poses, y)
    )


def _sample(
    robot: FlexibleRobot, of_links: Links, poses: Poses, y: Float[AnyArray, " n"]
) -> Float[AnyArray, "links points 3"]:
    arms, rods = link_displacements(robot, poses, y)
    per = -(-_POINTS // robot.elements)
    s = np.linspace(0, 1, per * robot.elements + 1)
    found = []
    if arms is None or of_links.arm is None or robot.arm_beam is None:
        R, p = poses.arm[:, 0, :, :3], poses.arm[:, 0, :, 3]
        x = jnp.asarray(s)[None, :, None] * robot.mechanism.arm_length[:, None, None]
        along = R[:, :, 0] - arm_turns(robot, y)[:, None] * R[:, :, 2]
        found.append(p[:, None, :] + x * along[:, None, :])
    else:
        each = jax.vmap(lambda link, T, d: _axis(robot, robot.arm_beam, link, T[0], d, per))
        found.append(each(of_links.arm, poses.arm, arms))
    half = 0.0 if robot.mechanism.rod_spacing is None else robot.mechanism.rod_spacing / 2
    lines = []
    for k, shift in enumerate(robot.shifts):
        each = jax.vmap(lambda link, T, d: _axis(robot, robot.rod_beam, link, T[0], d, per))
        line = each(of_links.rod, poses.rod, rods[:, k])
        beside = (shift - robot.shifts[0]) * half * poses.arm[:, 0, :, 1]
        lines.append(line + beside[:, None, :])
    found.append(jnp.stack(lines, axis=1).reshape(-1, *lines[0].shape[1:]))
    return jnp.concatenate(found)


def _axis(
    robot: FlexibleRobot,
    beam: Beam | None,
    link: Link,
    T: Float[AnyArray, "3 4"],
    d: Float[AnyArray, " d"],
    per: int,
) -> Float[AnyArray, "points 3"]:
    assert beam is not None
    xi = np.linspace(0, 1, per + 1)
    h = link.length / robot.elements
    N = section_fields(beam, h, xi, robot.family, robot.slender)[:3]
    full = d if link.shapes is None else link.shapes @ d
    moved = jnp.einsum("iga,na->ngi", N, full[element_places(robot.elements, robot.family)])
    along = (jnp.arange(float(robot.elements))[:, None] + jnp.asarray(xi)[None, :]) * h
    local = moved.at[:, :, 0].add(along)
    points = jnp.concatenate([local[:, :-1].reshape(-1, 3), local[-1, -1:]])
    return T[None, :, 3] + points @ T[:, :3].T
