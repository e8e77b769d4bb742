"""Natural modes ready to be drawn: what moves, and how far, at a swing of one metre.

Links of a flexible robot bend; one with other springs moves in platform coordinates.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from triskele.compliant.stiffness import modes_by_drives
from triskele.description.schema import Robot
from triskele.flexible.assembly import rest_poses
from triskele.flexible.curves import curves, link_names
from triskele.flexible.modes import modes
from triskele.flexible.robot import FlexibleRobot, bending
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.solids import body_frames
from triskele.viewer.played import Bending

_COUNT = 8
_LOCKED, _FREE = "motors locked", "drives free"


class Swing(NamedTuple):
    """One mode at one pose; moved by as much as its liveliest point moves by 1 m."""

    frequency: float  #: [Hz]
    name: str  #: what moves
    frames: Float[np.ndarray, "1 bodies 3 4"]  #: at rest
    bending: Bending | None  #: of one picture, if links bend
    x: Float[np.ndarray, " m"]  #: pose at rest
    along: Float[np.ndarray, " m"]  #: change of platform coordinates, zero if links bend


def swings(robot: Robot, mechanism: AbstractMechanism, x: Float[np.ndarray, " m"]) -> list[Swing]:
    """The lowest modes with the tool at `x`; a sentence is raised if the file has none."""
    frames = body_frames(mechanism, x[None])
    model = bending(robot)
    if model is not None:
        return _of_links(model, x, frames)
    return _of_springs(robot, mechanism, x, frames)


def _of_links(model: FlexibleRobot, x: np.ndarray, frames: np.ndarray) -> list[Swing]:
    found = modes(model, jnp.asarray(x), count=min(_COUNT, model.unknowns))
    poses = jax.tree.map(lambda leaf: leaf[None], rest_poses(model.mechanism, jnp.asarray(x)))
    zero, one = jnp.zeros((1, model.unknowns)), jnp.asarray(1.0)
    straight = np.asarray(curves(model, poses, zero, one))
    swung = []
    for k, direction in enumerate(found.directions):
        y = found.shapes[:, k][None]
        moved = np.asarray(curves(model, poses, y, one)) - straight
        scale = 1 / max(float(np.linalg.norm(moved, axis=-1).max()), 1e-12)
        bending = Bending(link_names(model), straight, scale * moved, scale * np.asarray(y)[:, :6])
        hertz = float(found.frequencies[k]) / (2 * np.pi)
        swung.append(Swing(hertz, direction, frames, bending, x, np.zeros_like(x)))
    return swung


def _of_springs(
    robot: Robot, mechanism: AbstractMechanism, x: np.ndarray, frames: np.ndarray
) -> list[Swing]:
    """Drives free where flexures hold the platform, and with motors locked where parts are soft."""
    cases = {}
    for case, found in modes_by_drives(robot, None, x).items():
        cases.setdefault(_LOCKED if case == _LOCKED else _FREE, found)
    names = [c.name for c in mechanism.platform_coordinates]
    unit = np.array([float(np.asarray(value)) for value in mechanism.scales().platform])
    swung = []
    for case, found in cases.items():
        for hertz, shape in zip(found.frequencies, found.shapes.T, strict=True):
            moved = np.abs(shape * unit)
            name = f"{names[int(moved.argmax())]}, {case}"
            swung.append(Swing(float(hertz), name, frames, None, x, shape / moved.max()))
    return swung
