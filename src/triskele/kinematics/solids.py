"""What a mechanism looks like: each body as bars, plates and balls between its joints.

No drawing is needed. A joint says where it is on both of its bodies, so that a body is known by
its joints:

    two points                a bar: rod, bar of a leg, connector
    a drive, then others      a bar to their middle, and one across: an arm of a pair of rods
    base and platform         a plate through all points that are not on its middle
    a slide on the base       a rail, and a block on it
    a slide between bodies    two tubes, one in the other

Shapes are in the frame of their body, in m. How thick they are is for the eye, unless it is given.
"""

from collections.abc import Mapping
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from triskele.kinematics.mechanism import AbstractMechanism, Joint
from triskele.numerics import Scalars, stacked, tabulate
from triskele.spatial.vectors import WORLD, Frame, Triple

Point = Float[np.ndarray, "3"]
BASE = "base"
_RADII = {  #: of bars, in parts of a rod or leg
    "arm": 0.022,
    "rod": 0.010,
    "bar": 0.030,
    "connector": 0.006,
    "telescope_upper": 0.016,
    "telescope_lower": 0.011,
    "coupling": 0.055,
    "end_effector": 0.030,
    "base": 0.028,
}
_COLOURS = {
    "base": "#6b7280",
    "arm": "#1d4ed8",
    "coupling": "#1d4ed8",
    "rod": "#ea580c",
    "bar": "#ea580c",
    "connector": "#b45309",
    "platform": "#15803d",
    "end_effector": "#166534",
    "telescope": "#7c3aed",
}
_PLATE = 0.016  #: thickness of plates, in the same parts
_BALL = 1.5  #: radius of a ball joint, in those of the bar that it holds
_HINGE = 1.8  #: half the length of a hinge, in the same
_MOTOR = 0.075  #: length of a motor's housing
_TRAVEL = 0.25  #: of a slide to either side of where it is at home
_TUBES = {"telescope_upper": -0.7, "telescope_lower": 0.8}  #: length, in parts of that at home
_ON_AXIS = 0.3  #: points nearer to the middle of a plate, in parts of the farthest, are not on it


class Bar(NamedTuple):
    """A round bar."""

    start: Point
    end: Point
    radius: float


class Plate(NamedTuple):
    """A flat plate with corners in order."""

    outline: Float[np.ndarray, "k 3"]
    thickness: float


class Ball(NamedTuple):
    """A ball joint."""

    centre: Point
    radius: float


Shape = Bar | Plate | Ball


class Solid(NamedTuple):
    """One shape of a body."""

    body: str  #: whose frame it is in
    shape: Shape
    joint: bool = False  #: a hinge or ball, on the body that it carries


def solids(
    mechanism: AbstractMechanism, radii: Mapping[str, float] | None = None
) -> tuple[Solid, ...]:
    """Shapes of all bodies, base first; `radii` [m] of bars by the start of a body's name."""
    size = float(np.asarray(mechanism.scales().loops[0]))
    thick = {part: value * size for part, value in _RADII.items()} | dict(radii or {})
    held: dict[str, list[Joint]] = {name: [] for name in (BASE, *mechanism.bodies)}
    for joint in mechanism.joints():
        held[joint.parent].append(joint)
        held[joint.child].append(joint)
    home = stacked(mechanism.home())
    frames = body_frames(mechanism, np.asarray(home)[None])[0]
    places = dict(zip((BASE, *mechanism.bodies), frames, strict=True))
    found: list[Solid] = []
    for name, joints in held.items():
        own = _shapes(name, joints, places, thick, size)
        found += [Solid(name, shape) for shape in own]
        across = next((shape.radius for shape in own if isinstance(shape, Bar)), 0.0)
        shapes = (_joint(joint, across) for joint in joints if joint.child == name)
        found += [Solid(name, shape, joint=True) for shape in shapes if shape is not None]
    return tuple(found)


def _joint(joint: Joint, across: float) -> Shape | None:
    """A passive joint between moving bodies, on a bar of radius `across`: a ball or a hinge."""
    centre = _point(joint.child_point)
    if joint.kind in ("spherical", "universal") and not joint.driven:
        return Ball(centre, _BALL * across)
    if joint.kind == "revolute" and joint.parent != BASE and joint.name != "flange":
        axis = _HINGE * across * _point(joint.axis)  # parallel in both bodies
        return Bar(centre - axis, centre + axis, 0.8 * _BALL * across)
    return None


def extent(
    shapes: tuple[Solid, ...], bodies: tuple[str, ...], frames: Float[np.ndarray, "bodies 3 4"]
) -> tuple[Point, Point]:
    """Corners of the box around all shapes [m], with the base and `bodies` at `frames`."""
    places = dict(zip((BASE, *bodies), frames, strict=True))
    found = []
    for body, shape, _ in shapes:
        points = np.atleast_2d(np.stack(shape[:2]) if isinstance(shape, Bar) else shape[0])
        found.append(points @ places[body][:, :3].T + places[body][:, 3])
    every = np.concatenate(found)
    return every.min(axis=0), every.max(axis=0)


def body_colour(body: str) -> str:
    """In which a body is drawn, as #rrggbb."""
    return next(colour for part, colour in _COLOURS.items() if body.startswith(part))


def body_frames(
    mechanism: AbstractMechanism, x: Float[np.ndarray, "N m"]
) -> Float[np.ndarray, "N bodies 3 4"]:
    """[R p] of the base and of each body at N poses."""
    frames = tabulate(eqx.Partial(_frames, mechanism))(np.asarray(x, float))
    columns = np.array(frames)  # bodies, columns of [R p], their components, N
    return np.ascontiguousarray(columns.transpose(3, 0, 2, 1))


def _frames(mechanism: AbstractMechanism, x: Scalars) -> tuple[Frame, ...]:
    """Frames of base and bodies; a kernel for `numerics.tabulate`."""
    frames = (WORLD, *mechanism.body_poses(mechanism.inverse(x).components, x))
    return jax.tree.map(lambda part: part + 0.0 * x[0], frames)


def _shapes(
    name: str,
    joints: list[Joint],
    places: Mapping[str, Float[np.ndarray, "3 4"]],
    thick: Mapping[str, float],
    size: float,
) -> list[Shape]:
    points = [
        _point(joint.point if joint.parent == name else joint.child_point) for joint in joints
    ]
    radius = next((r for part, r in thick.items() if name.startswith(part)), 0.01 * size)
    if name == BASE or name.startswith("platform"):
        plate = Plate(_outline(np.array(points)), _PLATE * size)
        return [plate, *(_on_base(j, places, thick, size) for j in joints if j.parent == BASE)]
    if name in _TUBES:  # along z, as long as at home
        length = np.linalg.norm(np.subtract(*(places[tube][:, 3] for tube in _TUBES)))
        return [Bar(np.zeros(3), np.array([0.0, 0.0, _TUBES[name] * length]), radius)]
    if joints[0].kind == "prismatic":  # a block on its rail
        half = np.array([radius, 0.0, 0.0])
        return [Bar(points[0] - half, points[0] + half, radius)]
    if len(points) == 1 or np.ptp(points, axis=0).max() < 1e-9:  # a flange
        down = np.array([0.0, 0.0, -_PLATE * size])
        return [Bar(points[0], points[0] + 2 * down, radius)]
    return _bars(joints, points, radius)


def _bars(joints: list[Joint], points: list[Point], radius: float) -> list[Shape]:
    """From the drive to the middle of all others and across, or along all points."""
    if joints[0].parent == BASE and len(points) > 2:
        ends = np.array(points[1:])
        across = Bar(ends[0], ends[-1], 0.7 * radius)
        return [Bar(points[0], ends.mean(axis=0), radius), across]
    return [Bar(*_farthest(np.array(points)), radius)]


def _on_base(
    joint: Joint,
    places: Mapping[str, Float[np.ndarray, "3 4"]],
    thick: Mapping[str, float],
    size: float,
) -> Bar:
    """The housing of a motor along its axis, or the rail of a slide."""
    axis, point = _point(joint.axis), _point(joint.point)
    if joint.kind == "prismatic":
        middle, half = places[joint.child][:, 3], _TRAVEL * size * axis
    else:
        middle, half = point, _MOTOR * size * axis
    return Bar(middle - half, middle + half, thick[BASE])


def _outline(points: Float[np.ndarray, "all 3"]) -> Float[np.ndarray, "ring 3"]:
    """The points around the middle, in order, without those on the axis."""
    centre = points.mean(axis=0)
    away = np.linalg.norm((points - centre)[:, :2], axis=1)
    ring = points[away > _ON_AXIS * away.max()]
    return ring[np.argsort(np.arctan2(*(ring - centre)[:, 1::-1].T))]


def _farthest(points: Float[np.ndarray, "k 3"]) -> tuple[Point, Point]:
    """The two points that are farthest apart, in the order given."""
    gaps = np.linalg.norm(points[:, None] - points[None, :], axis=-1)
    i, j = sorted(np.unravel_index(int(gaps.argmax()), gaps.shape))
    return points[i], points[j]


def _point(triple: Triple | None) -> Point:
    assert triple is not None, "this joint has an axis"
    return np.array([float(np.asarray(value)) for value in triple])
