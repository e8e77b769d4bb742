"""Any mechanism in Pinocchio, from our table of joints and its bodies at home.

A spanning tree of the joints is Pinocchio's; the other joints are equations between frames, those
of `pinocchio_tree.py`. At home all coordinates of the tree are zero. Elsewhere they follow from the
positions of the motors and the equations alone, by Newton's method: poses away from home, and all
that depends on them, are Pinocchio's.

    revolute     a hinge              in a loop: meet, and square twice
    universal    two hinges           in a loop: meet, and square
    spherical    a ball; if driven, motor, fork and cross of a cardan: three hinges
                                      in a loop: meet
    prismatic    a slide              never in a loop
    fixed        never in the tree    in a loop: meet, and square three times
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from configurations import Numbers
from equations import solved
from pinocchio_tree import Loop, closure, pin

from triskele.kinematics.mechanism import AbstractMechanism, Joint

TREE_FIRST = ("prismatic", "universal", "revolute", "spherical", "fixed")
STEPS = 4  # from home to a state, each followed by Newton's method
CLOSED = 1e-14  # m, at which that ends; or after so many steps of it:
NEWTON = 20


class Held(NamedTuple):
    """A joint of our table in the tree."""

    body: str  #: the one it carries there, whose name Pinocchio's joint has
    turned: bool  #: whether that is our parent
    point: int  #: frame at its point on our child
    first: int  #: Pinocchio's number of its first hinge, or of its slide or ball


class LimbTree(NamedTuple):
    """Pinocchio's robot; frames have the names of the bodies."""

    model: Any  #: pin.Model
    loops: tuple[Loop, ...]
    held: dict[str, Held]
    driven: tuple[int, ...]  #: Pinocchio's numbers of the driven hinges and slides
    home: Numbers  #: q of the motors at home

    @property
    def motors(self) -> list[int]:
        """Where the motors are in v."""
        return [self.model.joints[number].idx_v for number in self.driven]


class _Builder:
    def __init__(self, mechanism: AbstractMechanism) -> None:
        home = mechanism.home()
        q = mechanism.inverse(home).components
        frames = mechanism.body_poses(q, home)
        self.home = np.array([float(np.asarray(value)) for value in q])
        self.model, self.joints = pin.Model(), mechanism.joints()
        self._poses = {"base": pin.SE3.Identity()}
        for name, frame in zip(mechanism.bodies, frames, strict=True):
            axes = np.array([frame.x, frame.y, frame.z], float).T
            self._poses[name] = pin.SE3(axes, np.array(frame.p, float))
        self._places = {"base": (0, pin.SE3.Identity())}  # joint, and its pose at home
        self._held: dict[str, Held] = {}
        self._loops: list[Loop] = []

    def tree(self) -> LimbTree:
        links, loops = _spanning(self.joints)
        self._grow("base", links)
        for joint in loops:
            self._close(joint)
        driven = tuple(self._held[joint.name].first for joint in self.joints if joint.driven)
        return LimbTree(self.model, tuple(self._loops), self._held, driven, self.home)

    def _grow(self, body: str, links: list[Joint]) -> None:
        """Depth first: in any other order Pinocchio's mass matrix is wrong."""
        for joint in links:
            if body in (joint.parent, joint.child):
                child = joint.child if body == joint.parent else joint.parent
                if child not in self._places:
                    self._add(joint, body, child)
                    self._grow(child, links)

    def _add(self, joint: Joint, parent: str, child: str) -> None:
        turned = parent != joint.parent
        pose = self._poses[child]
        point = joint.point if turned else joint.child_point
        place = pin.SE3(pose.rotation, pose.act(np.array(point, float)))
        number, before = self._places[parent]
        models = _models(joint.kind, [pose.rotation.T @ axis for axis in self._axes(joint, turned)])
        first = None
        for k, model in enumerate(models):
            name = child if k == len(models) - 1 else f"{child}_{k}"
            number = self.model.addJoint(number, model, before.actInv(place), name)
            first, before = number if first is None else first, place
        self._places[child] = number, place
        self._frame(child, child, np.zeros(3))
        marker = self._frame(f"{joint.name}_point", joint.child, np.array(joint.child_point, float))
        assert first is not None
        self._held[joint.name] = Held(child, turned, marker, first)

    def _axes(self, joint: Joint, turned: bool) -> list[Numbers]:
        """Axes of the tree's hinges or slide, in O at home, from the base outwards."""
        if joint.axis is None:
            return []
        first = self._poses[joint.parent].rotation @ np.array(joint.axis, float)
        if joint.kind in ("revolute", "prismatic"):
            return [-first if turned else first]
        if joint.child_axis is None or (joint.kind == "spherical" and not joint.driven):
            return []
        last = self._poses[joint.child].rotation @ np.array(joint.child_axis, float)
        axes = [first, np.cross(first, last), last] if joint.driven else [first, last]
        return axes[::-1] if turned else axes

    def _close(self, joint: Joint) -> None:
        name, parent, child = joint.name, joint.parent, joint.child
        points = np.array(joint.point, float), np.array(joint.child_point, float)
        ends = [
            self._frame(f"{name}_{k}", *end)
            for k, end in enumerate(zip((parent, child), points, strict=True))
        ]
        self._loops.append(Loop(name, "meet", *ends))
        for k, (a, b) in enumerate(self._squares(joint)):
            y, z = (self._poses[body].rotation.T @ axis for body, axis in ((parent, a), (child, b)))
            ends = [
                self._frame(f"{name}_{k}y", parent, points[0], _with(y, 1)),
                self._frame(f"{name}_{k}z", child, points[1], _with(z, 2)),
            ]
            self._loops.append(Loop(name, "square", *ends))

    def _squares(self, joint: Joint) -> list[tuple[Numbers, Numbers]]:
        """Axes of parent and child, in O at home, that stay at a right angle."""
        assert joint.kind != "prismatic" and not joint.driven, "slides and motors are in the tree"
        if joint.kind == "spherical":
            return []
        if joint.kind == "universal":
            first, second = self._axes(joint, turned=False)
            return [(first, second)]
        if joint.kind == "fixed":
            x, y, z = np.eye(3)
            return [(x, y), (y, z), (z, x)]
        (n,) = self._axes(joint, turned=False)
        across = _with(n, 2)
        return [(across[:, 0], n), (across[:, 1], n)]

    def _frame(self, name: str, body: str, point: Numbers, axes: Numbers | None = None) -> int:
        """A frame of a body, at `point` [m] with these axes."""
        number, place = self._places[body]
        at = pin.SE3(np.eye(3) if axes is None else axes, point)
        at = place.actInv(self._poses[body]).act(at)
        return self.model.addFrame(pin.Frame(name, number, 0, at, pin.FrameType.OP_FRAME))


def build_limb_tree(mechanism: AbstractMechanism) -> LimbTree:
    """The tree and its loops; bodies have no mass yet."""
    return _Builder(mechanism).tree()


def _spanning(joints: tuple[Joint, ...]) -> tuple[list[Joint], list[Joint]]:
    """Joints of the tree, and those that close loops."""
    group = {name: name for joint in joints for name in (joint.parent, joint.child)}
    tree, loops = [], []
    for joint in sorted(joints, key=lambda j: (not j.driven, TREE_FIRST.index(j.kind))):
        first, second = group[joint.parent], group[joint.child]
        (loops if first == second else tree).append(joint)
        group = {name: first if other == second else other for name, other in group.items()}
    return tree, loops


def _models(kind: str, axes: list[Numbers]) -> list[Any]:
    """Pinocchio's joints in a row."""
    if not axes:
        return [pin.JointModelSpherical()]
    if kind == "prismatic":
        return [pin.JointModelPrismaticUnaligned(*axes)]
    return [pin.JointModelRevoluteUnaligned(axis / np.linalg.norm(axis)) for axis in axes]


def _with(axis: Numbers, column: int) -> Numbers:
    """A rotation with that column."""
    first = np.asarray(np.cross(axis, np.eye(3)[np.abs(axis).argmin()]), float)
    first = first / np.linalg.norm(first)
    turned = np.column_stack([first, np.cross(axis, first), axis])  # axis: z
    return np.roll(turned, column - 2, axis=1)


# Setting its coordinates


def coordinates(tree: LimbTree, q: Numbers) -> Numbers:
    """Pinocchio's q where the motors are at `q`: from home in steps, each by Newton's method."""
    found, gap = pin.neutral(tree.model), np.inf
    for share in np.linspace(0, 1, STEPS + 1)[1:]:
        found, gap = _closed(tree, found, share * (q - tree.home))
    assert gap < 100 * CLOSED, f"Pinocchio's loops do not close: {gap:.1e} m"
    return found


def _closed(tree: LimbTree, q: Numbers, motors: Numbers) -> tuple[Numbers, float]:
    model, data = tree.model, tree.model.createData()
    driven, still, gap = np.eye(model.nv)[tree.motors], np.zeros(model.nv), np.inf
    places = [model.joints[number].idx_q for number in tree.driven]
    for _ in range(NEWTON):
        J, _ = closure(tree, data, q, still)
        away = np.concatenate([q[places] - motors, *residuals(tree, data)])
        if np.abs(away).max() >= gap and gap < 100 * CLOSED:
            break
        gap = float(np.abs(away).max())
        step, _ = solved(np.concatenate([driven, J]), -away)
        q = pin.integrate(model, q, step)
    return q, gap


def residuals(tree: LimbTree, data: Any) -> Iterator[Numbers]:
    """What the rows of `closure` are rates of: gaps [m], and cosines with a minus."""
    for loop in tree.loops:
        parent, child = data.oMf[loop.parent], data.oMf[loop.child]
        if loop.kind == "meet":
            yield child.translation - parent.translation
        else:
            yield -np.array([parent.rotation[:, 1] @ child.rotation[:, 2]])
