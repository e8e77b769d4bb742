"""A Delta in Pinocchio: a tree built from its lengths, and equations that close its loops.

Arms are revolute in the base, rods spherical in their arms, connecting rods revolute in the
first rod of their pair. The platform is free, a flange turns on it; a telescope hangs in the
base on Rz (its motor), Rx, Ry (a cardan), and slides. Joints are added depth first: in any
other order Pinocchio's mass matrix is wrong, without a word.

Two equations between frames close all loops:

    meet      their origins meet                                                    3 rows
    square    y of the parent's stays perpendicular to z of the child's             1 row

    elbow     square, unless connecting rods do the same
    wrist     meet; square if a limb has a single rod
    hinge     meet, at two points of the axis: connecting rod on the second rod
    cardan    meet and square: flange and telescope
"""

from typing import Any, NamedTuple

import numpy as np
import pytest
from configurations import Numbers
from moving_robots import split
from scipy.spatial.transform import Rotation

from triskele.kinematics.delta import Delta

# Any: compiled, without types that a checker could read.
pin: Any = pytest.importorskip("pinocchio", reason="no Pinocchio here; `make validate` gets it")

AXES = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
LEVER = 0.1  # m between the two points of a hinge
FLANGE, SLIDE, UPPER = "end_effector", "telescope_lower", "telescope_upper"


class Loop(NamedTuple):
    """A condition between two frames; `joint` is the one of our table that it belongs to."""

    joint: str
    kind: str
    parent: int
    child: int

    @property
    def rows(self) -> int:
        return 3 if self.kind == "meet" else 1


class Tree(NamedTuple):
    """Pinocchio's robot; the frame named as a body of ours is the frame of that body."""

    model: Any  #: pin.Model
    loops: tuple[Loop, ...]
    held: dict[str, str]  #: joints of our table that are in the tree: the name they have there
    bodies: tuple[str, ...]

    def speeds(self, *joints: str) -> list[int]:
        """Where the velocities of these joints are in v: of one, of three for a free platform."""
        model, places = self.model, []
        for name in joints:
            first = model.joints[model.getJointId(name)].idx_v
            places += range(first, first + (3 if name == "platform" else 1))
        return places

    @property
    def motors(self) -> list[int]:
        """Where the motors are in v."""
        names = ["arm_1", "arm_2", "arm_3"]
        return self.speeds(*names, *(["motor_4"] if FLANGE in self.bodies else []))

    @property
    def platform(self) -> list[int]:
        """Where xd is in v, as long as the platform is level."""
        return self.speeds("platform", *([FLANGE] if FLANGE in self.bodies else []))


# Building the tree


def build_tree(
    delta: Delta,
    inertias: dict[str, Numbers] | None = None,
    *,
    longer: float = 0.0,
    spun_by: str = "elbow",
) -> Tree:
    """The tree, bodies without mass unless `inertias` has their ten parameters.

    The first rod is `longer` [m] than in `delta`. Rods in pairs are held about their axis at
    the "elbow" or at the "wrist", or are "free".
    """
    builder = _Builder(inertias or {}, longer, spun_by)
    builder.platform(delta)
    for i in range(3):
        builder.limb(delta, i)
    return builder.tree()


class _Builder:
    def __init__(self, inertias: dict[str, Numbers], longer: float, spun_by: str) -> None:
        self.model, self._inertias = pin.Model(), inertias
        self._loops: list[Loop] = []
        self._held: dict[str, str] = {}
        self._bodies: list[str] = []
        self._longer, self._spun_by = longer, spun_by

    def tree(self) -> Tree:
        return Tree(self.model, tuple(self._loops), self._held, tuple(self._bodies))

    def platform(self, delta: Delta) -> None:
        """Platform, and flange and telescope where there is one."""
        self._platform = self._body("platform", 0, pin.JointModelFreeFlyer(), _place())
        if delta.telescope is None:
            return
        upper, lower = (float(height) for height in delta.telescope)
        flange = self._body(FLANGE, self._platform, pin.JointModelRZ(), _place(), "flange")
        motor = self._joint("motor_4", 0, pin.JointModelRZ(), _place([0, 0, upper]))
        yoke = self._joint("yoke", motor, pin.JointModelRX(), _place())
        bar = self._body(UPPER, yoke, pin.JointModelRY(), _place(), "motor_4")
        end = self._body(SLIDE, bar, pin.JointModelPZ(), _place(), "slide")
        yoke_end = _place([0, 0, lower], pin.utils.rotate("z", -np.pi / 2))  # y: x of the flange
        bar_end = _place([0, 0, 0], pin.utils.rotate("x", -np.pi / 2))  # z: y of the bar
        for kind in ("meet", "square"):
            self._close("cardan", kind, (flange, yoke_end), (end, bar_end))

    def limb(self, delta: Delta, i: int) -> None:
        """Arm, rods and connecting rods of limb i, from 0."""
        lengths = (delta.base_radius, delta.platform_radius, delta.arm_length, delta.rod_length)
        R, r, L, d = (float(length[i]) for length in lengths)
        turn, number = pin.utils.rotate("z", float(delta.azimuth[i])), i + 1
        motor = _place(turn @ [R, 0, 0], turn)
        arm = self._body(f"arm_{number}", 0, pin.JointModelRY(), motor, f"motor_{number}")
        for end, shift in _ends(delta).items():
            name = f"rod_{number}{end}"
            elbow, wrist = _place([L, shift, 0]), _place(turn @ [r, shift, 0], turn)
            rod = self._body(name, arm, pin.JointModelSpherical(), elbow, f"elbow_{name}")
            tip = _place([d + (self._longer if name in ("rod_1", "rod_1a") else 0), 0, 0])
            self._close(f"wrist_{name}", "meet", (self._platform, wrist), (rod, tip))
            single, connected = not end, delta.connector_offset is not None
            if single or (not connected and self._spun_by == "elbow"):
                self._close(f"elbow_{name}", "square", (arm, elbow), (rod, _place()))
            if single or (not connected and self._spun_by == "wrist"):
                self._close(f"wrist_{name}", "square", (self._platform, wrist), (rod, tip))
            if connected:
                self._hinges(delta, name, rod, d)

    def _hinges(self, delta: Delta, name: str, rod: int, d: float) -> None:
        """Connecting rods, revolute in the first rod of their pair and closed on the second."""
        h, w, number = float(delta.connector_offset), float(delta.rod_spacing), name[4]
        for end, along in (("a", h), ("b", d - h)):
            connector, hinge = f"connector_{number}{end}", f"hinge_{name}{end}"
            if name.endswith("a"):
                ends = _place([along, 0, 0]), hinge, _place([w / 2, 0, 0])
                self._body(connector, rod, pin.JointModelRZ(), *ends)
                continue
            far = self.model.getJointId(connector)
            for height in (0.0, LEVER):
                ends = (rod, _place([along, 0, height])), (far, _place([w, 0, height]))
                self._close(hinge, "meet", *ends)

    def _body(
        self,
        name: str,
        parent: int,
        joint: Any,
        place: Any,
        ours: str | None = None,
        origin: Any = None,
    ) -> int:
        """A body behind a joint, which is the joint `ours` of our table; its frame in the joint."""
        number = self._joint(name, parent, joint, place)
        origin = _place() if origin is None else origin
        inertia = self._inertias.get(name)
        if inertia is not None and inertia[0]:
            self.model.appendBodyToJoint(number, pin.Inertia(*split(inertia)), origin)
        self._frame(name, number, origin)
        self._bodies.append(name)
        if ours is not None:
            self._held[ours] = name
        return number

    def _joint(self, name: str, parent: int, joint: Any, place: Any) -> int:
        return self.model.addJoint(parent, joint, place, name)

    def _close(
        self, joint: str, kind: str, parent: tuple[int, Any], child: tuple[int, Any]
    ) -> None:
        stem = f"{joint}_{kind}_{len(self._loops)}"
        ends = (
            self._frame(f"{stem}_{side}", *end)
            for side, end in (("parent", parent), ("child", child))
        )
        self._loops.append(Loop(joint, kind, *ends))

    def _frame(self, name: str, joint: int, place: Any) -> int:
        return self.model.addFrame(pin.Frame(name, joint, 0, place, pin.FrameType.OP_FRAME))


def _place(point: Any = (0, 0, 0), turn: Numbers | None = None) -> Any:
    return pin.SE3(np.eye(3) if turn is None else turn, np.array(point, float))


def _ends(delta: Delta) -> dict[str, float]:
    """Where the rods of a limb are [m] along v."""
    if delta.rod_spacing is None:
        return {"": 0.0}
    half = float(delta.rod_spacing) / 2
    return {"a": -half, "b": half}


# Setting its coordinates


def coordinates(tree: Tree, q: Numbers, frames: dict[str, Numbers]) -> Numbers:
    """Pinocchio's q: our motor angles, and bodies turned in one another as ours."""
    values: dict[str, Any] = {f"arm_{i + 1}": q[i] for i in range(3)}
    platform = frames["platform"]
    values["platform"] = [*platform[:, 3], *pin.Quaternion(platform[:, :3]).coeffs()]
    for name in tree.bodies:
        if name.startswith("rod"):
            turned = frames[f"arm_{name[4]}"][:, :3].T @ frames[name][:, :3]
            values[name] = pin.Quaternion(turned).coeffs()
        if name.startswith("connector"):
            x, y = (frames[f"rod_{name[10]}a"][:, :3].T @ frames[name][:, 0])[:2]
            values[name] = np.arctan2(y, x)
    if FLANGE in tree.bodies:
        upper, lower = frames[UPPER], frames[SLIDE]
        angles = Rotation.from_matrix(upper[:, :3]).as_euler("ZXY")
        values |= dict(zip(("motor_4", "yoke", UPPER), (q[3], *angles[1:]), strict=True))
        values[FLANGE] = np.arctan2(frames[FLANGE][1, 0], frames[FLANGE][0, 0])
        values[SLIDE] = (lower[:, 3] - upper[:, 3]) @ upper[:, 2]
    found = pin.neutral(tree.model)
    for name, value in values.items():
        joint = tree.model.joints[tree.model.getJointId(name)]
        found[joint.idx_q : joint.idx_q + joint.nq] = value
    return found


# Its equations


def closure(tree: Tree, data: Any, q: Numbers, v: Numbers) -> tuple[Numbers, Numbers]:
    """J and g of the loops: J v = 0 and J a + g = 0."""
    model = tree.model
    pin.computeJointJacobians(model, data, q)
    pin.forwardKinematics(model, data, q, v, np.zeros(model.nv))
    pin.updateFramePlacements(model, data)
    rows, drifts = zip(*(_closed(tree, data, loop) for loop in tree.loops), strict=True)
    return np.concatenate(rows), np.concatenate(drifts)


def _closed(tree: Tree, data: Any, loop: Loop) -> tuple[Numbers, Numbers]:
    """Rows of J and g of one loop."""
    model, ends = tree.model, (loop.parent, loop.child)
    first, second = (pin.getFrameJacobian(model, data, end, AXES) for end in ends)
    a, b = (pin.getFrameClassicalAcceleration(model, data, end, AXES) for end in ends)
    if loop.kind == "meet":
        return (second - first)[:3], b.linear - a.linear
    n = square_axis(data, loop)
    y, z = data.oMf[loop.parent].rotation[:, 1], data.oMf[loop.child].rotation[:, 2]
    u, w = (pin.getFrameVelocity(model, data, end, AXES).angular for end in ends)
    turning = np.cross(np.cross(u, y), z) + np.cross(y, np.cross(w, z))
    drift = n @ (b.angular - a.angular) + turning @ (w - u)
    return n[None] @ (second - first)[3:], np.array([drift])


def square_axis(data: Any, loop: Loop) -> Numbers:
    """The direction about which a square loop holds its bodies."""
    y, z = data.oMf[loop.parent].rotation[:, 1], data.oMf[loop.child].rotation[:, 2]
    return np.cross(y, z)
