"""Kinds of joints, each as the conditions it consists of, and how they make a `System`.

A joint has a point and a frame [e1 e2 n] on its parent, and the same on its child; n is its
axis. Numbers are rows: coincide or line for the point, dot for the frames.

    fixed 6          point; e1.e2', e2.n', n.e1'
    revolute 5       point; e1.n', e2.n'                     axis: the angle of e1' about n
    universal 4      point; n.n'
    spherical 3      point                                   with a motor: a cardan, see below
    prismatic 5      point on the line along n; as fixed     axis: the distance along n
    cylindrical 4    point on the line along n; as revolute
    inline 2         point on the line along n
    perpendicular 1  n.n'
    distance 1       the two points `length` apart
    path 0           nothing but three drives: x, y, z of the child's point in the parent

A motor on a spherical joint turns a fork about n of the parent, which holds a cross that
ends in the direction n' of the child: motor and cardan in one.
"""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from triskele.errors import DescriptionError, did_you_mean
from triskele.laws.friction import FrictionLaw
from triskele.laws.springs import Spring
from triskele.multibody.primitives import Distances, Dots, Lines, Pairs, Points, Turns
from triskele.multibody.system import (
    DRIVE,
    GROUND,
    Axis,
    Ball,
    Bushing,
    Gauges,
    JointInfo,
    Loads,
    State,
    System,
    Tethers,
)
from triskele.spatial.euler_parameters import from_matrix

Numbers = Float[np.ndarray, "..."]
Vector = Sequence[float | int] | Float[np.ndarray, "3"]
_AXES = np.eye(3)
_NO_TURN = ((0, 1), (1, 2), (2, 0))
_ONE_AXIS = ((0, 2), (1, 2))
#: kind: whether points coincide, axes of the parent that they may not leave, pairs of axes
_CONDITIONS: dict[str, tuple[bool, tuple[int, ...], tuple[tuple[int, int], ...]]] = {
    "fixed": (True, (), _NO_TURN),
    "revolute": (True, (), _ONE_AXIS),
    "universal": (True, (), ((2, 2),)),
    "spherical": (True, (), ()),
    "prismatic": (False, (0, 1), _NO_TURN),
    "cylindrical": (False, (0, 1), _ONE_AXIS),
    "inline": (False, (0, 1), ()),
    "perpendicular": (False, (), ((2, 2),)),
    "distance": (False, (), ()),
    "path": (False, (), ()),
}
KINDS = tuple(_CONDITIONS)
#: what acts on a joint: the kinds that have use for it
_USES: dict[str, tuple[str, ...]] = {
    "motor": ("revolute", "prismatic", "spherical", "path"),
    "spring": ("revolute", "prismatic"),
    "friction": ("revolute", "prismatic", "spherical", "universal"),
    "bending": ("spherical",),
    "rotor": ("revolute", "prismatic"),
}
_THIN = 1e-9  #: a moment of inertia below this part of the largest counts as none
_LIGHT = 1e-7  #: a mass below this part of the largest counts as none
_SMALL = 1e-8  #: likewise a moment of inertia, of the largest mass times the size squared


class Body(NamedTuple):
    """A rigid body; `pose` [R p] of its frame in O is a guess until it is assembled."""

    name: str
    ten: Sequence[float]  #: m, mc (3), xx, yy, zz, xy, yz, xz about the frame's origin
    pose: Float[np.ndarray, "3 4"]


class Joint(NamedTuple):
    """A joint between two bodies; points [m] and frames (columns) in the body named."""

    name: str
    kind: str
    parent: str
    child: str
    point: Vector = (0.0, 0.0, 0.0)
    child_point: Vector = (0.0, 0.0, 0.0)
    frame: Numbers = _AXES
    child_frame: Numbers = _AXES
    length: float | None = None  #: of a distance [m]
    motor: bool = False
    rotor: float = 0.0  #: inertia that turns or slides with the axis, of a motor [kg m^2, kg]
    spring: Spring | None = None  #: of the axis
    friction: FrictionLaw | None = None  #: of the axis, or of any turn of a ball or a cardan
    bending: Sequence[float] | None = None  #: a ball as a bushing, see `system.Bushing` [N m/rad]


class Tether(NamedTuple):
    """A spring with a damper between two points."""

    name: str
    parent: str
    child: str
    point: Vector  #: [m]
    child_point: Vector
    stiffness: float  #: [N/m]
    length: float  #: of the slack spring [m]
    damping: float = 0.0  #: [N s/m]


class Load(NamedTuple):
    """A constant force [N] and moment [N m] in O on a point [m] of a body."""

    name: str
    body: str
    point: Vector = (0.0, 0.0, 0.0)
    force: Vector = (0.0, 0.0, 0.0)
    moment: Vector = (0.0, 0.0, 0.0)


def frame_about(axis: Vector, start: Vector | None = None) -> Numbers:
    """Columns e1, e2, n: n along `axis`, e1 towards `start` or any direction across."""
    n = np.asarray(axis, float) / np.linalg.norm(axis)
    if start is None:
        start = np.eye(3)[np.argmin(np.abs(n))]
    e1 = np.asarray(start, float) - (np.asarray(start, float) @ n) * n
    e1 = e1 / np.linalg.norm(e1)
    return np.stack([e1, np.cross(n, e1), n], axis=1)


def system(
    name: str,
    bodies: Sequence[Body],
    joints: Sequence[Joint],
    *,
    gravity: Vector = (0.0, 0.0, -9.81),
    tethers: Sequence[Tether] = (),
    loads: Sequence[Load] = (),
    prescribed: bool | Collection[str] = False,
    size: float | None = None,
) -> tuple[System, State]:
    """The system of these parts, and where its bodies are said to be, at rest.

    `prescribed`: motors follow a given motion, instead of a given effort; all of them, or those of
    the joints named. `size` is the length that makes moments comparable to forces; without it,
    the extent of the mechanism.
    """
    _check_kinds(name, joints)
    places = _places(name, bodies, joints, tethers, loads)
    masses = [_central(name, body) for body in bodies]
    mass = np.array([part[0] for part in masses])
    centre = np.array([part[1] for part in masses])
    inertia = np.array([part[2] for part in masses])
    poses = np.array([np.asarray(body.pose, float) for body in bodies])
    state = _rest(poses, centre)
    led = [joint.name for joint in joints] if prescribed is True else prescribed or ()
    rows = _Rows(joints, places, np.vstack([centre, np.zeros(3)]), frozenset(led))
    length = _extent(poses) if size is None else size
    built = System(
        name=name,
        bodies=tuple(body.name for body in bodies),
        joints=rows.infos(),
        axes=rows.axes,
        coupled=bool(_light(mass, inertia, length).any() or np.any(rows.rotors)),
        mass=jnp.asarray(mass),
        inertia=jnp.asarray(inertia),
        centre=jnp.asarray(centre),
        gravity=jnp.asarray(gravity, float),
        size=jnp.asarray(length, float),
        frames=jnp.asarray(np.array([joint.frame for joint in joints], float).reshape(-1, 3, 3)),
        points=Points(*rows.points.arrays(2)),
        dots=Dots(*rows.dots.arrays(2)),
        lines=Lines(*rows.lines.arrays(3)),
        distances=_distances(rows.distances),
        turns=Turns(*rows.turns.arrays(3)),
        slides=Lines(*rows.slides.arrays(3)),
        gauges=rows.gauges(),
        rotors=jnp.asarray(rows.rotors, float),
        springs=tuple(rows.springs),
        friction=tuple(rows.friction),
        bushings=_bushings(joints, places),
        balls=_balls(joints, places),
        tethers=_tethers(tethers, places, centre),
        loads=_loads(loads, places, centre),
    )
    return built, state


def _check_kinds(name: str, joints: Sequence[Joint]) -> None:
    """Errors for kinds that do not exist, and for parts that a kind has no use for."""
    for joint in joints:
        place = f"{name}, joints.{joint.name}"
        if joint.kind not in KINDS:
            hint = did_you_mean(joint.kind, KINDS)
            raise DescriptionError(f"{place}: '{joint.kind}' is not a kind of joint. {hint}")
        if joint.kind == "distance" and joint.length is None:
            raise DescriptionError(f"{place}: a distance needs its length.")
        given = {"motor": joint.motor, "spring": joint.spring, "friction": joint.friction}
        given |= {"rotor": joint.rotor if not joint.motor else None, "bending": joint.bending}
        for part, value in given.items():
            if value and joint.kind not in _USES[part]:
                fits = " or ".join(_USES[part])
                raise DescriptionError(f"{place}: {part} belongs to a {fits} joint.")


def _central(name: str, body: Body) -> tuple[float, Numbers, Numbers]:
    """Mass, centre, and inertia about the centre."""
    m, *rest = (float(value) for value in body.ten)
    first, (xx, yy, zz, xy, yz, xz) = np.array(rest[:3]), rest[3:]
    if m < 0 or (m == 0 and (any(rest))):
        raise DescriptionError(f"{name}, bodies.{body.name}: a mass of {m:g} kg cannot be.")
    c = first / m if m else first
    about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return m, c, about - m * (c @ c * np.eye(3) - np.outer(c, c))


def _light(mass: Numbers, inertia: Numbers, size: float) -> Bool[np.ndarray, " bodies"]:
    """Bodies that hardly resist some motion: next to the others, or in themselves.

    Without the terms with s of (2) in `solve.py` their S would be so large beside that of the
    heaviest body that the iteration (1) could not resolve the latter.
    """
    thin, heaviest = np.linalg.eigvalsh(inertia), mass.max(initial=0.0)
    least = np.maximum(_THIN * np.maximum(thin[:, -1], 1e-300), _SMALL * heaviest * size * size)
    return (mass <= _LIGHT * heaviest) | (thin[:, 0] <= least)


_parameters = jax.jit(from_matrix)


def _rest(poses: Numbers, centre: Numbers) -> State:
    r = poses[:, :, 3] + np.einsum("bij,bj->bi", poses[:, :, :3], centre)
    still = jnp.zeros(r.shape)
    return State(jnp.asarray(r), _parameters(jnp.asarray(poses[:, :, :3])), still, still)


def _extent(poses: Numbers) -> float:
    """The greatest distance of a body from the origin, at least 1 cm [m]."""
    return max(float(np.linalg.norm(poses[:, :, 3], axis=-1).max()), 0.01)


def _places(
    name: str,
    bodies: Sequence[Body],
    joints: Sequence[Joint],
    tethers: Sequence[Tether],
    loads: Sequence[Load],
) -> dict[str, int]:
    """Number of each body; errors for names that are missing or given twice."""
    names = [body.name for body in bodies]
    for kind, given in (("bodies", names), ("joints", [joint.name for joint in joints])):
        twice = {word for word in given if given.count(word) > 1}
        if twice:
            raise DescriptionError(f"{name}, {kind}: '{min(twice)}' is there twice.")
    if GROUND in names:
        raise DescriptionError(f"{name}, bodies.{GROUND}: the ground is there already; rename it.")
    known = (*names, GROUND)
    ends = [(f"joints.{part.name}", part.parent, part.child) for part in joints]
    ends += [(f"springs.{part.name}", part.parent, part.child) for part in tethers]
    ends += [(f"loads.{part.name}", part.body, GROUND) for part in loads]
    for place, *pair in ends:
        for end in pair:
            if end not in known:
                hint = did_you_mean(end, known)
                raise DescriptionError(f"{name}, {place}: hangs on '{end}', no such body. {hint}")
        if pair[0] == pair[1]:
            raise DescriptionError(f"{name}, {place}: joins '{pair[0]}' to itself.")
    return {word: index for index, word in enumerate(known)}


class _Group:
    """Pairs of bodies and their vectors, while they are collected."""

    def __init__(self) -> None:
        self.parents: list[int] = []
        self.children: list[int] = []
        self.vectors: list[tuple[Any, ...]] = []

    def add(self, parent: int, child: int, *vectors: object) -> int:
        """Append, and return the place."""
        self.parents.append(parent)
        self.children.append(child)
        self.vectors.append(vectors)
        return len(self.parents) - 1

    def arrays(self, count: int) -> tuple[Pairs, *tuple[Array, ...]]:
        """The pairs, and `count` arrays of vectors."""
        pairs = Pairs(tuple(self.parents), tuple(self.children))
        stacks = [np.array([row[k] for row in self.vectors], float) for k in range(count)]
        return pairs, *(jnp.asarray(stack.reshape(-1, 3)) for stack in stacks)


class _Rows:
    """Conditions and axes of all joints, sorted by what they are made of."""

    def __init__(
        self,
        joints: Sequence[Joint],
        places: dict[str, int],
        centres: Numbers,
        prescribed: Collection[str],
    ) -> None:
        self.points, self.dots, self.lines = _Group(), _Group(), _Group()
        self.distances, self.turns, self.slides = _Group(), _Group(), _Group()
        self._angles, self._lengths = _Group(), _Group()
        self._turning: list[str] = []
        self._sliding: list[str] = []
        self.axis_list: list[Axis] = []
        self.rotors: list[float] = []
        self.springs: list[Spring | None] = []
        self.friction: list[FrictionLaw | None] = []
        self._joints, self._prescribed = joints, prescribed
        self._found: list[list[tuple[str, int, str]]] = []
        for joint in joints:
            i, j = places[joint.parent], places[joint.child]
            u_i = np.asarray(joint.point, float) - centres[i]
            u_j = np.asarray(joint.child_point, float) - centres[j]
            self._found.append(self._conditions(joint, i, j, u_i, u_j))
            self._axes(joint, i, j, u_i, u_j)
            self._measured(joint, i, j, u_i, u_j)

    @property
    def axes(self) -> tuple[Axis, ...]:
        return tuple(self.axis_list)

    def _conditions(
        self, joint: Joint, i: int, j: int, u_i: Numbers, u_j: Numbers
    ) -> list[tuple[str, int, str]]:
        """Group, place in it and label of each row of a joint."""
        E, F = np.asarray(joint.frame, float), np.asarray(joint.child_frame, float)
        coincide, lines, dots = _CONDITIONS[joint.kind]
        found = []
        if coincide:
            place = self.points.add(i, j, u_i, u_j)
            found += [
                ("points", 3 * place + k, f"force along {axis}") for k, axis in enumerate("xyz")
            ]
        for k in lines:
            place = self.lines.add(i, j, E[:, k], u_i, u_j)
            found.append(("lines", place, f"force along {_name(E[:, k])}"))
        for k, l in dots:
            place = self.dots.add(i, j, E[:, k], F[:, l])
            about = np.cross(E[:, k], E[:, l]) if k != l else None
            words = "across both axes" if about is None else f"about {_name(about)}"
            found.append(("dots", place, f"moment {words}"))
        if joint.kind == "distance":
            place = self.distances.add(i, j, u_i, u_j, joint.length)
            found.append(("distances", place, "force along the line"))
        return found

    def _axes(self, joint: Joint, i: int, j: int, u_i: Numbers, u_j: Numbers) -> None:
        E, F = np.asarray(joint.frame, float), np.asarray(joint.child_frame, float)
        if joint.kind == "path":
            for k in range(3):
                self._axis(joint, "slide", self.slides.add(i, j, E[:, k], u_i, u_j))
            return
        laws = joint.spring, joint.friction
        if not (joint.motor or joint.rotor or any(law is not None for law in laws)):
            return
        if joint.kind == "revolute":
            self._axis(joint, "turn", self.turns.add(i, j, E[:, 0], E[:, 1], F[:, 0]))
        elif joint.kind == "prismatic":
            self._axis(joint, "slide", self.slides.add(i, j, E[:, 2], u_i, u_j))
        elif joint.kind == "spherical" and joint.motor:
            self._axis(joint, "turn", self.turns.add(i, j, E[:, 1], -E[:, 0], F[:, 2]))

    def _axis(self, joint: Joint, kind: str, place: int) -> None:
        ball = joint.kind == "spherical"
        motor = joint.motor or joint.kind == "path"
        driven = motor and joint.name in self._prescribed
        self.axis_list.append(Axis(joint.name, kind, place, motor, driven))
        self.rotors.append(joint.rotor)
        self.springs.append(None if ball else joint.spring)
        self.friction.append(joint.friction)

    def _measured(self, joint: Joint, i: int, j: int, u_i: Numbers, u_j: Numbers) -> None:
        E, F = np.asarray(joint.frame, float), np.asarray(joint.child_frame, float)
        if joint.kind in ("revolute", "cylindrical"):
            self._angles.add(i, j, E[:, 0], E[:, 1], F[:, 0])
            self._turning.append(joint.name)
        if joint.kind in ("prismatic", "cylindrical"):
            self._lengths.add(i, j, E[:, 2], u_i, u_j)
            self._sliding.append(joint.name)

    def gauges(self) -> Gauges:
        """Angles and lengths of all joints that have one."""
        return Gauges(
            tuple(self._turning),
            tuple(self._sliding),
            Turns(*self._angles.arrays(3)),
            Lines(*self._lengths.arrays(3)),
        )

    def infos(self) -> tuple[JointInfo, ...]:
        """Names and rows of the joints, drives included where they are prescribed."""
        counts = {
            "points": 3 * len(self.points.parents),
            "dots": len(self.dots.parents),
            "lines": len(self.lines.parents),
            "distances": len(self.distances.parents),
        }
        starts = dict(zip(counts, np.cumsum([0, *counts.values()])[:-1], strict=True))
        row = sum(counts.values())
        driven: dict[str, list[int]] = {}
        for kind in ("turn", "slide"):
            for axis in self.axis_list:
                if axis.driven and axis.kind == kind:
                    driven.setdefault(axis.joint, []).append(row)
                    row += 1
        infos = []
        for joint, found in zip(self._joints, self._found, strict=True):
            rows = [int(starts[group] + place) for group, place, _ in found]
            labels = [label for _, _, label in found]
            extra = driven.get(joint.name, [])
            rows, labels = rows + extra, labels + [DRIVE] * len(extra)
            infos.append(
                JointInfo(
                    joint.name, joint.kind, joint.parent, joint.child, tuple(rows), tuple(labels)
                )
            )
        return tuple(infos)


def _name(direction: Numbers) -> str:
    """A direction of the parent in words: x, or its components."""
    for k, axis in enumerate("xyz"):
        if abs(abs(direction[k]) - 1) < 1e-9:
            return axis
    return "(" + ", ".join(f"{value + 0.0:.3g}" for value in direction) + ")"


def _distances(group: _Group) -> Distances:
    pairs, u_i, u_j = group.arrays(2)
    lengths = jnp.asarray([row[2] for row in group.vectors], float).reshape(-1)
    return Distances(pairs, u_i, u_j, lengths)


def _bushings(joints: Sequence[Joint], places: dict[str, int]) -> tuple[Bushing, ...]:
    return tuple(
        Bushing(
            places[joint.parent],
            places[joint.child],
            jnp.asarray(joint.frame, float),
            jnp.asarray(joint.child_frame, float),
            jnp.asarray(joint.bending, float),
        )
        for joint in joints
        if joint.bending is not None
    )


def _balls(joints: Sequence[Joint], places: dict[str, int]) -> tuple[Ball, ...]:
    return tuple(
        Ball(places[joint.parent], places[joint.child], joint.friction)
        for joint in joints
        if joint.kind in ("spherical", "universal")
        and joint.friction is not None
        and not joint.motor
    )


def _tethers(tethers: Sequence[Tether], places: dict[str, int], centre: Numbers) -> Tethers:
    centres, group = np.vstack([centre, np.zeros(3)]), _Group()
    for part in tethers:
        i, j = places[part.parent], places[part.child]
        points = [
            np.asarray(u, float) - centres[k] for u, k in ((part.point, i), (part.child_point, j))
        ]
        group.add(i, j, *points, part.length)
    return Tethers(
        _distances(group),
        jnp.asarray([part.stiffness for part in tethers], float).reshape(-1),
        jnp.asarray([part.damping for part in tethers], float).reshape(-1),
    )


def _loads(loads: Sequence[Load], places: dict[str, int], centre: Numbers) -> Loads:
    bodies = tuple(places[part.body] for part in loads)
    points = [
        np.asarray(part.point, float) - centre[k] for part, k in zip(loads, bodies, strict=True)
    ]
    arrays = (points, [part.force for part in loads], [part.moment for part in loads])
    return Loads(bodies, *(jnp.asarray(np.array(part, float).reshape(-1, 3)) for part in arrays))
