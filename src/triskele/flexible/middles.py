"""Displacements of links at half their length.

In the frame of the rigid link, x along it, the section at half length l/2 is displaced by u along
the link and by v and w across it, and turned by phi about the link,

    (u, v, w, phi) = N(l/2) d                                                           (1)

with the shape functions N and the unknowns d of the link. A rod is displaced with its elbow as
well as by its own bending.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from triskele.flexible.assembly import Poses, link_displacements
from triskele.flexible.beam import Beam
from triskele.flexible.curves import link_names
from triskele.flexible.link import Link, element_places, section_fields
from triskele.flexible.robot import FlexibleRobot, Links
from triskele.numerics import AnyArray


class Middles(NamedTuple):
    """Sections of links at half length, one row per sample."""

    names: tuple[str, ...]  #: of the links that bend
    displacement: Float[np.ndarray, "N links 3"]  #: u, v, w [m], axes of the rigid link
    twist: Float[np.ndarray, "N links"]  #: phi [rad]


def link_middles(
    robot: FlexibleRobot, links: Links, poses: Poses, y: Float[np.ndarray, "N n"]
) -> Middles:
    """Displacement [m] and twist [rad] of each link at half length, equation (1)."""
    sections = np.asarray(_sections(robot, links, jax.tree.map(jnp.asarray, poses), jnp.asarray(y)))
    names = link_names(robot)[-sections.shape[1] :]  # rigid arms, the first of them, have none
    return Middles(names, sections[:, :, :3], sections[:, :, 3])


@eqx.filter_jit
def _sections(
    robot: FlexibleRobot, links: Links, poses: Poses, y: Float[AnyArray, "N n"]
) -> Float[AnyArray, "N links 4"]:
    def at(sample: tuple[Poses, Float[AnyArray, " n"]]) -> Float[AnyArray, "links 4"]:
        arms, rods = link_displacements(robot, *sample)
        of_rods = _halfway(robot, robot.rod_beam, links.rod, rods).reshape(-1, 4)
        if arms is None or links.arm is None or robot.arm_beam is None:
            return of_rods
        of_arms = _halfway(robot, robot.arm_beam, links.arm, arms[:, None])
        return jnp.concatenate([of_arms.reshape(-1, 4), of_rods])

    return jax.lax.map(at, (poses, y))


def _halfway(
    robot: FlexibleRobot, beam: Beam, link: Link, d: Float[AnyArray, "3 k d"]
) -> Float[AnyArray, "3 k 4"]:
    """The section in the middle of the middle element, or at its end if elements are even."""
    element = (robot.elements - 1) // 2
    xi = np.array([robot.elements / 2 - element])
    places = element_places(robot.elements, robot.family)[element]

    def one(link: Link, d: Float[AnyArray, "k d"]) -> Float[AnyArray, "k 4"]:
        h = link.length / robot.elements
        N = section_fields(beam, h, xi, robot.family, robot.slender)[:, 0]
        full = d if link.shapes is None else d @ link.shapes.T
        return full[:, places] @ N.T

    return jax.vmap(one)(link, d)
