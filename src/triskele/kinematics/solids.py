"""What a mechanism looks like: each body as bars, plates and balls between its joints.

No drawing is needed. A joint says where it is on both of its bodies, so that a body is known by
its joints and by the look that the mechanism declares:

    rod, bar, connector   a bar between the two joints that are farthest apart
    arm                   a bar from its drive to the middle of the other joints, and one across
    block                 a block on its rail, and a bar across its other joints
    plate, base           a plate through its joints; a bar or a disc where they are on one line or
                          in one point, bars from their middle where they are in no plane
    flange                a hub along its bearing, or a bar between two bearings and a hub
    outer, inner          tubes, one in the other, each from its own end of the slide

On the base stand the housings of motors and the rails of slides. Motors with parallel axes stand
upright on their plate, beside the plane in which the arms turn.

Shapes are in the frame of their body, in m. How thick they are is for the eye, unless it is given.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float
from scipy.spatial import ConvexHull

from triskele.kinematics.mechanism import AbstractMechanism, Joint, Look
from triskele.numerics import Scalars, stacked, tabulate
from triskele.spatial.vectors import WORLD, Frame, Triple

Point = Float[np.ndarray, "3"]
Points = Float[np.ndarray, "k 3"]
AnyLook = Look | Literal["base"]
BASE = "base"
_RADII: dict[AnyLook, float] = {  #: of bars, in parts of a rod or leg
    "base": 0.028,
    "arm": 0.022,
    "block": 0.055,
    "rod": 0.010,
    "bar": 0.030,
    "connector": 0.006,
    "plate": 0.022,
    "flange": 0.030,
    "outer": 0.016,
    "inner": 0.011,
}
_COLOURS: dict[AnyLook, str] = {
    "base": "#6b7280",
    "arm": "#1d4ed8",
    "block": "#1d4ed8",
    "rod": "#ea580c",
    "bar": "#ea580c",
    "connector": "#b45309",
    "plate": "#15803d",
    "flange": "#166534",
    "outer": "#7c3aed",
    "inner": "#7c3aed",
}
_STOUT = 0.12  #: radius of a bar between joints, in parts of its length, at most
_PLATE = 0.016  #: thickness of plates, in parts of a rod or leg
_ACROSS = 0.7  #: radius of the bar across an arm, in those of the arm
_BALL = 1.5  #: radius of a ball joint, in those of the bar that it holds
_HINGE = 1.8  #: half the length of a hinge, in the same
_MOTOR = 0.075  #: half the length of a motor's housing, in parts of a rod or leg
_TRAVEL = 0.25  #: of a slide to either side of where it is at home, in the same
_TUBES = {"outer": 0.7, "inner": 0.8}  #: length, in parts of that of both at home
_LINE, _FLAT = 0.05, 0.2  #: width of a line, thickness of a plate; in parts of length and width
_PARALLEL = 0.9  #: cosine of the angle between axes that count as parallel
_UP = np.array([0.1, -0.2, 1.0])  #: and a little towards those who look
_SAME = 1e-6  #: distance of points that are one, in parts of a rod or leg


class Bar(NamedTuple):
    """A round bar."""

    start: Point
    end: Point
    radius: float


class Plate(NamedTuple):
    """A flat plate with corners in order, counterclockwise seen from above if it is level."""

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
    """Shapes of all bodies, base first; `radii` [m] of bars by the part that a body is."""
    bodies = _bodies(mechanism, radii or {})
    shapes = {body.name: _shapes(body, bodies) for body in bodies.values()}
    thick = {
        name: next((shape.radius for shape in own if isinstance(shape, Bar)), None)
        for name, own in shapes.items()
    }
    found: list[Solid] = []
    for body in bodies.values():
        found += [Solid(body.name, shape) for shape in shapes[body.name]]
        for joint in body.joints:
            if joint.child == body.name and joint.name != mechanism.flange:
                across = thick[body.name] or thick[joint.parent] or body.radius
                shape = _joint(body, joint, across)
                found += [] if shape is None else [Solid(body.name, shape, joint=True)]
    return tuple(found)


def looks(mechanism: AbstractMechanism) -> dict[str, AnyLook]:
    """The look of the base and of each body, by name."""
    return {BASE: "base", **{part.body: part.look for part in mechanism.parts}}


def colours(mechanism: AbstractMechanism) -> dict[str, str]:
    """In which the base and each body is drawn, as #rrggbb."""
    return {body: _COLOURS[look] for body, look in looks(mechanism).items()}


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


# Bodies


class _Body(NamedTuple):
    """A body while it is drawn."""

    name: str
    look: AnyLook
    joints: list[Joint]  #: that hold it, a driven one first
    beside: list[Joint]  #: of these, bearing of a flange and motor of a telescope
    frames: Mapping[str, Float[np.ndarray, "3 4"]]  #: of all bodies at home
    size: float  #: of the robot: a rod or leg [m]
    given: float | None  #: radius of its bars [m]; None: by its look

    @property
    def radius(self) -> float:
        """Of its bars [m]."""
        return _RADII[self.look] * self.size if self.given is None else self.given

    def bar(self, start: Point, end: Point) -> Bar:
        """A bar between joints; not stout, unless that is given."""
        most = _STOUT * float(np.linalg.norm(end - start))
        return Bar(start, end, min(self.radius, most) if self.given is None else self.radius)

    def points(self, joints: list[Joint]) -> Points:
        """Where joints are on it [m]."""
        on = (j.point if j.parent == self.name else j.child_point for j in joints)
        return np.array([_point(point) for point in on]).reshape(-1, 3)

    def seen(self, body: str, point: Point) -> Point:
        """A point of another body at home [m], in the frame of this one."""
        there, here = self.frames[body], self.frames[self.name]
        return here[:, :3].T @ (there[:, :3] @ point + there[:, 3] - here[:, 3])

    def axis(self, joint: Joint) -> Point:
        """The axis of a joint at home, in the frame of this body."""
        axis = _point(joint.axis)
        return self.seen(joint.parent, axis) - self.seen(joint.parent, np.zeros(3))

    def upward(self, axis: Point) -> Point:
        """`axis` or its opposite, whichever points up at home."""
        return axis if (self.frames[self.name][:, :3] @ axis) @ _UP > 0 else -axis


def _bodies(mechanism: AbstractMechanism, radii: Mapping[str, float]) -> dict[str, _Body]:
    """The base and all moving bodies."""
    held: dict[str, list[Joint]] = {name: [] for name in (BASE, *mechanism.bodies)}
    for joint in mechanism.joints():
        held[joint.parent].append(joint)
        held[joint.child].append(joint)
    at_home = body_frames(mechanism, np.asarray(stacked(mechanism.home()))[None])[0]
    frames = dict(zip(held, at_home, strict=True))
    size = float(np.asarray(mechanism.size))
    given = {part.body: radii.get(part.part) for part in mechanism.parts}
    found = {}
    for name, look in looks(mechanism).items():
        joints = held[name]
        turning = [j for j in joints if j.driven and j.kind in ("universal", "spherical")]
        beside = [j for j in joints if j.name == mechanism.flange or j in turning]
        beside = beside if len(beside) < len(joints) else []
        found[name] = _Body(name, look, joints, beside, frames, size, given.get(name))
    return found


def _shapes(body: _Body, bodies: Mapping[str, _Body]) -> list[Shape]:
    slides, others = _slides(body)
    points = body.points(body.joints)
    if body.look == "base":
        return _base(body)
    if body.look == "plate":
        return _plate(body, body.points([j for j in body.joints if j not in body.beside]))
    if body.look == "block" and slides:
        return _block(body, slides[0], body.points(others))
    if body.look in _TUBES and slides and others:
        return [_tube(body, slides[0], bodies)]
    if _length(points) < _SAME * body.size:
        return [_disc(body, points[0])]
    if body.look == "flange":
        return _flange(body, points)
    if body.look == "arm":
        return _fork(points[0], points[1:], body.radius)
    return [body.bar(*_farthest(points))]


def _slides(body: _Body) -> tuple[list[Joint], list[Joint]]:
    """Joints that slide, and the others."""
    slides = [joint for joint in body.joints if joint.kind == "prismatic"]
    return slides, [joint for joint in body.joints if joint.kind != "prismatic"]


def _fork(start: Point, ends: Points, radius: float) -> list[Shape]:
    """A bar from `start` to the middle of all `ends`, and one across them."""
    bars = [Bar(start, ends.mean(axis=0), radius), Bar(ends[0], ends[-1], _ACROSS * radius)]
    return [bar for bar in bars if np.linalg.norm(bar.end - bar.start) > _SAME * radius]


def _block(body: _Body, slide: Joint, ends: Points) -> list[Shape]:
    """A block on its rail, as long as what it holds, and an arm to that."""
    (at,), axis = body.points([slide]), body.axis(slide)
    half = max(body.radius, *np.abs((ends - at) @ axis)) * axis
    arm = _RADII["arm"] * body.size
    return [Bar(at - half, at + half, body.radius), *_fork(at, ends, arm)]


def _tube(body: _Body, slide: Joint, bodies: Mapping[str, _Body]) -> Bar:
    """From its own end of a slide towards that of the other tube."""
    other = bodies[slide.parent if slide.child == body.name else slide.child]
    own, far = (tube.points(_slides(tube)[1])[0] for tube in (body, other))
    way = body.seen(other.name, far) - own
    return Bar(own, own + _TUBES[body.look] * way, body.radius)


def _flange(body: _Body, points: Points) -> list[Shape]:
    """A hub along the bearing, or a bar between bearings and a hub where the tool is."""
    first, last = _farthest(points)
    along = (last - first) / np.linalg.norm(last - first)
    bearings = [joint for joint in body.joints if joint.kind == "revolute"]
    if all(abs(body.axis(joint) @ along) > _PARALLEL for joint in bearings):
        return [Bar(first, last, body.radius)]
    return [body.bar(first, last), _disc(body, np.zeros(3))]


def _disc(body: _Body, at: Point) -> Bar:
    """A hub down the axis of its hinge, or else down."""
    hinges = [joint for joint in body.joints if joint.kind == "revolute"]
    axis = body.upward(body.axis(hinges[0])) if hinges else np.array([0.0, 0.0, 1.0])
    return Bar(at, at - 2 * _PLATE * body.size * axis, _RADII["flange"] * body.size)


def _joint(body: _Body, joint: Joint, across: float) -> Shape | None:
    """A passive joint on a bar of radius `across`: a ball or a hinge."""
    (centre,) = body.points([joint])
    if joint.kind in ("spherical", "universal") and not joint.driven:
        return Ball(centre, _BALL * across)
    if joint.kind == "revolute" and not joint.driven:
        half = _HINGE * across * body.axis(joint)
        return Bar(centre - half, centre + half, 0.8 * _BALL * across)
    return None


# Plates


def _plate(body: _Body, points: Points) -> list[Shape]:
    """A plate through `points`, and columns to what stands beside it."""
    middle = points.mean(axis=0)
    (length, width, thickness), axes = _axes(points)
    if length < _SAME * body.size:
        found: list[Shape] = [_disc(body, middle)]
    elif width < _LINE * length:
        found = [body.bar(*_farthest(points))]
    elif thickness > _FLAT * width:
        found = [body.bar(middle, point) for point in points]
    else:
        found = [Plate(_outline(points, body.upward(axes[2])), _PLATE * body.size)]
    for joint, top in zip(body.beside, body.points(body.beside), strict=True):
        height = (top - middle) @ body.axis(joint)
        if abs(height) > _SAME * body.size:
            found.append(Bar(top - height * body.axis(joint), top, body.radius))
    return found


def _base(body: _Body) -> list[Shape]:
    """A plate through motors, feet and rails, and what stands on it."""
    slides, others = _slides(body)
    upright = _upright(body, others)
    held = body.points([joint for joint in others if joint not in body.beside])
    found = _plate(body, np.array([*held - upright, *_feet(body, slides)]))
    for joint, point in zip(others, body.points(others), strict=True):
        if joint.driven:
            half = _MOTOR * body.size * body.axis(joint)
            found.append(Bar(point - half, point + half, body.radius))
        elif upright.any():
            found.append(Bar(point - upright, point, body.radius))
    travel = _TRAVEL * body.size
    rails = ((_block_at(body, joint), travel * body.axis(joint)) for joint in slides)
    return found + [Bar(block - half, block + half, body.radius) for block, half in rails]


def _upright(body: _Body, joints: list[Joint]) -> Point:
    """From the plate up to motors that stand on it: those whose arms turn in one plane."""
    axes = [body.axis(joint) for joint in joints if joint.driven and joint.kind == "revolute"]
    if not axes or any(abs(axis @ axes[0]) < _PARALLEL for axis in axes):
        return np.zeros(3)
    return _MOTOR * body.size * body.upward(axes[0])


def _feet(body: _Body, slides: list[Joint]) -> Points:
    """Where rails stand on the base: where the file puts them, or else at their outer ends.

    Between its block and the middle of the robot no rail stands: there the rods are.
    """
    blocks = np.array([_block_at(body, joint) for joint in slides]).reshape(-1, 3)
    middle = np.mean([frame[:, 3] for frame in body.frames.values()], axis=0)
    axes = np.array([body.axis(joint) for joint in slides]).reshape(-1, 3)
    outward = axes * np.sign(np.sum(axes * (blocks - middle), axis=1, keepdims=True))
    points, travel = body.points(slides), _TRAVEL * body.size
    out = np.sum(outward * (points - blocks), axis=1)
    return points if np.all((out >= 0) & (out <= travel)) else blocks + travel * outward


def _block_at(body: _Body, slide: Joint) -> Point:
    """Where the block of a slide is on the base at home [m]."""
    return body.seen(slide.child, _point(slide.child_point))


def _outline(points: Points, normal: Point) -> Float[np.ndarray, "corners 3"]:
    """Corners of the convex outline of `points`, counterclockwise about `normal`."""
    u = np.eye(3)[int(np.abs(normal).argmin())]
    u = u - (u @ normal) * normal
    flat = points @ np.stack([u, np.cross(normal, u)], axis=1)
    return points[ConvexHull(flat).vertices]


def _axes(points: Points) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3 3"]]:
    """Length, width and thickness of a cloud of points [m], and their directions as rows."""
    off = points - points.mean(axis=0)
    _, _, axes = np.linalg.svd(off)
    return np.ptp(off @ axes.T, axis=0), axes


def _length(points: Points) -> float:
    """Of the box around `points` [m]."""
    return float(np.ptp(points, axis=0).max())


def _farthest(points: Points) -> tuple[Point, Point]:
    """The two points that are farthest apart, in the order given."""
    gaps = np.linalg.norm(points[:, None] - points[None, :], axis=-1)
    i, j = sorted(np.unravel_index(int(gaps.argmax()), gaps.shape))
    return points[i], points[j]


def _point(triple: Triple | None) -> Point:
    assert triple is not None, "this joint has an axis"
    return np.array([float(np.asarray(value)) for value in triple])
