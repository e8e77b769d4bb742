"""MuJoCo's model of any mechanism, from our table of joints and one configuration.

The model is a tree of MuJoCo's joints, the driven ones first; joints that close loops become
`connect` constraints between points of our table. Orientations at home, and axes that the
table gives for one body only, are ours; they stay as they are at home, so that what MuJoCo
says of other configurations is its own.

    revolute    hinge                      in a loop: two connects along the axis
    universal   hinge fixed in one body,   in a loop: the cross is a body of its own, hinged to
                hinge fixed in the other   the child and connected like a revolute to the parent
    spherical   ball                       in a loop: one connect
    prismatic   slide                      never in a loop: slides enter the tree early
    fixed       none                       never in a loop

A telescope hangs on a driven ball, its motor and a cardan; there the ball is three hinges,
the first of which is the motor. Bodies weigh 1 kg, unless they are weighed; crosses next to
nothing, as MuJoCo wants every body to weigh something.
"""

from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np
import pytest
from configurations import Numbers
from moving_robots import bodies, split
from scipy.spatial.transform import Rotation

from triskele.dynamics.robot import RigidRobot
from triskele.kinematics.mechanism import Joint

# Any: compiled, without types that a checker could read.
mujoco: Any = pytest.importorskip("mujoco", reason="no MuJoCo here; `make validate` gets it")

LEVER = 0.1  # m between the two connects of a revolute joint
TREE_FIRST = ("fixed", "prismatic", "universal", "revolute", "spherical")
NEXT_TO_NOTHING = 1e-14 * np.array([1, 0, 0, 0, 1, 1, 1, 0, 0, 0])  # ten parameters


class Link(NamedTuple):
    """A joint as MuJoCo's tree has it: `child` hangs on `parent`, the reverse of ours or not."""

    joint: Joint
    parent: str
    child: str
    point: Numbers  #: [m], in the parent
    child_point: Numbers  #: [m], in the child
    axes: Numbers  #: (axes, 3) from parent to child, in the child at home


class Connect(NamedTuple):
    """Two sites that stay together; the first connect of a joint is at its point."""

    joint: str
    parent: str  #: site
    child: str  #: site


class Model(NamedTuple):
    """MuJoCo's robot, and what is needed to set its coordinates from our frames."""

    model: Any  #: mujoco.MjModel
    home: dict[str, Numbers]  #: frames of bodies
    links: tuple[Link, ...]
    crosses: tuple[Link, ...]  #: universal joints in loops
    connects: tuple[Connect, ...]
    motors: tuple[str, ...]  #: MuJoCo's names of the driven joints, in the order of q

    @property
    def motor_speeds(self) -> list[int]:
        """Where the motors are in the velocities."""
        return [int(self.model.joint(motor).dofadr[0]) for motor in self.motors]


# Building the model


def build_model(
    joints: tuple[Joint, ...], frames: dict[str, Numbers], robot: RigidRobot | None = None
) -> Model:
    """MuJoCo's model of these joints, with orientations as in `frames`, weighed as `robot`."""
    home = with_base(frames)
    links, loops = spanning_tree(joints, home)
    gravity = np.zeros(3) if robot is None else np.asarray(robot.gravity)
    root = Element("mujoco")
    SubElement(root, "option", gravity=text(gravity), jacobian="dense")
    SubElement(root, "compiler", angle="radian")
    elements = {"base": SubElement(root, "worldbody")}
    equality = SubElement(root, "equality")
    for link in links:
        elements[link.child] = add_body(elements[link.parent], link, home)
    if robot is not None:
        weigh(elements, links, robot)
    crosses, connects = [], []
    for joint in loops:
        link = make_link(joint, joint.parent, joint.child, home)
        if joint.kind == "universal":
            name = f"cross_{joint.name}"
            elements[name] = add_cross(elements[joint.child], name, link)
            crosses.append(link)
        connects += connected(elements, link, relative(home, joint.parent, joint.child))
    for connect in connects:
        SubElement(equality, "connect", site1=connect.parent, site2=connect.child)
    motors = [hinge_names(link)[0] for link in links if link.joint.driven]
    model = mujoco.MjModel.from_xml_string(tostring(root, encoding="unicode"))
    return Model(model, home, links, tuple(crosses), tuple(connects), tuple(motors))


def connected(elements: dict[str, Element], link: Link, turned: Numbers) -> list[Connect]:
    """Sites of a loop on the parent, and on the child or the cross that hangs on it."""
    joint, found = link.joint, []
    cross = joint.kind == "universal"
    ends = joint.parent, f"cross_{joint.name}" if cross else joint.child
    for shift in (0.0, LEVER) if joint.kind != "spherical" else (0.0,):
        along = shift * link.axes[0] if shift else np.zeros(3)
        centre = np.zeros(3) if cross else link.child_point
        places = (link.point + turned @ along, centre + along)
        sites = [f"{joint.name}_{side}_{shift > 0}" for side in ("parent", "child")]
        for end, site, place in zip(ends, sites, places, strict=True):
            SubElement(elements[end], "site", name=site, pos=text(place))
        found.append(Connect(joint.name, *sites))
    return found


def weigh(elements: dict[str, Element], links: tuple[Link, ...], robot: RigidRobot) -> None:
    """Give bodies and motors their inertia; the payload is a body of its own."""
    for name, ten in bodies(robot).items():
        set_inertia(elements[name], ten if ten[0] else NEXT_TO_NOTHING)
    carried = np.asarray(robot.payload)
    if carried[0]:
        payload = body_element(elements[robot.carrier], "payload", np.zeros(3), np.eye(3))
        set_inertia(payload, carried)
    driven = [link for link in links if link.joint.driven]
    for link, inertia in zip(driven, np.asarray(robot.rotors), strict=True):
        joint = elements[link.child].find(f"joint[@name='{hinge_names(link)[0]}']")
        joint.set("armature", repr(float(inertia)))


def set_inertia(body: Element, ten: Numbers) -> None:
    m, c, inertia = split(ten)
    principal, axes = np.linalg.eigh(inertia)
    axes[:, 0] *= np.linalg.det(axes)
    quaternion = Rotation.from_matrix(axes).as_quat(scalar_first=True)
    values = {"mass": repr(m), "pos": text(c), "quat": text(quaternion)}
    body.find("inertial").attrib.update(values, diaginertia=text(principal))


def spanning_tree(
    joints: tuple[Joint, ...], home: dict[str, Numbers]
) -> tuple[tuple[Link, ...], tuple[Joint, ...]]:
    """Links from the base outwards, and the joints that close loops."""

    def rank(joint: Joint) -> tuple[bool, int]:
        return not joint.driven, TREE_FIRST.index(joint.kind)

    group = {name: name for name in home}  # bodies that hang together have one name
    tree, loops = [], []
    for joint in sorted(joints, key=rank):
        first, second = group[joint.parent], group[joint.child]
        (loops if first == second else tree).append(joint)
        group = {name: first if other == second else other for name, other in group.items()}
    links, reached = [], {"base"}
    while tree:
        joint = next(j for j in tree if (j.parent in reached) or (j.child in reached))
        parent, child = joint.parent, joint.child
        if parent not in reached:
            parent, child = child, parent
        links.append(make_link(joint, parent, child, home))
        reached.add(child)
        tree.remove(joint)
    return tuple(links), tuple(loops)


def make_link(joint: Joint, parent: str, child: str, home: dict[str, Numbers]) -> Link:
    point, child_point = np.array(joint.point, float), np.array(joint.child_point, float)
    axes = [home[joint.parent][:, :3] @ np.array(joint.axis, float)] if joint.axis else []
    if joint.kind == "universal":
        axes.append(home[joint.child][:, :3] @ np.array(joint.child_axis, float))
    if joint.kind in ("spherical", "fixed"):
        axes = []
    if parent != joint.parent:
        point, child_point, axes = child_point, point, axes[::-1]
    if is_cardan_motor(joint):  # the motor's axis, then those of the cardan: Rz Rx Ry
        psi = zxy(home[child])[0]
        axes = [np.array([0, 0, 1]), np.array([np.cos(psi), np.sin(psi), 0]), home[child][:, 1]]
    in_child = np.array(axes).reshape(-1, 3) @ home[child][:, :3]
    return Link(joint, parent, child, point, child_point, in_child)


def add_body(parent: Element, link: Link, home: dict[str, Numbers]) -> Element:
    """The child, placed by the points of the table, with its joint."""
    R = relative(home, link.parent, link.child)
    place = link.point - R @ link.child_point
    if link.joint.kind == "prismatic":
        place = place + R @ link.axes[0] * slide(link, home)
    body = body_element(parent, link.child, place, R)
    kind = {"prismatic": "slide", "spherical": "ball"}.get(link.joint.kind, "hinge")
    for name, axis in zip(hinge_names(link), link.axes, strict=False):
        kind = "hinge" if is_cardan_motor(link.joint) else kind
        SubElement(body, "joint", name=name, type=kind, axis=text(axis), pos=text(link.child_point))
    if link.joint.kind == "spherical" and not len(link.axes):
        SubElement(body, "joint", name=link.joint.name, type="ball", pos=text(link.child_point))
    return body


def add_cross(child: Element, name: str, link: Link) -> Element:
    """Centre of a universal joint, at home turned as the child, hinged to it."""
    body = body_element(child, name, link.child_point, np.eye(3))
    set_inertia(body, NEXT_TO_NOTHING)
    SubElement(body, "joint", name=name, type="hinge", axis=text(link.axes[1]))
    return body


def body_element(parent: Element, name: str, place: Numbers, R: Numbers) -> Element:
    quaternion = Rotation.from_matrix(R).as_quat(scalar_first=True)
    body = SubElement(parent, "body", name=name, pos=text(place), quat=text(quaternion))
    SubElement(body, "inertial", pos="0 0 0", mass="1", diaginertia="1 1 1")
    return body


def is_cardan_motor(joint: Joint) -> bool:
    return joint.driven and joint.kind == "spherical"


def hinge_names(link: Link) -> tuple[str, ...]:
    return tuple(f"{link.joint.name}_{k}" for k in range(len(link.axes)))


def text(numbers: Numbers) -> str:
    return " ".join(repr(float(number)) for number in numbers)


# Setting its coordinates


def positioned(robot: Model, frames: dict[str, Numbers]) -> Any:
    """MuJoCo's data with its joints where our frames are."""
    data, now = mujoco.MjData(robot.model), with_base(frames)
    for link in robot.links:
        D = turn(link, robot.home, now)
        if link.joint.kind == "prismatic":
            values = [slide(link, now) - slide(link, robot.home)]
        elif link.joint.kind == "fixed":
            continue
        elif is_cardan_motor(link.joint):
            values = zxy(now[link.child]) - zxy(robot.home[link.child])
        elif link.joint.kind == "spherical":
            values = [Rotation.from_matrix(D).as_quat(scalar_first=True)]
        else:
            values = angles(D, link.axes)
        for name, value in zip(hinge_names(link) or (link.joint.name,), values, strict=True):
            data.joint(name).qpos[:] = value
    for link in robot.crosses:
        _, second = angles(turn(link, robot.home, now), link.axes)
        data.joint(f"cross_{link.joint.name}").qpos[:] = -second
    mujoco.mj_fwdPosition(robot.model, data)
    return data


def angles(D: Numbers, axes: Numbers) -> list[float]:
    """Angles of one or two hinges in a row that make the turn D."""
    if len(axes) == 1:
        return [float(Rotation.from_matrix(D).as_rotvec() @ axes[0])]
    a, b = axes
    to = D @ b
    first = float(np.arctan2(np.cross(b, to) @ a, b @ to - (a @ b) * (a @ to)))
    rest = Rotation.from_rotvec(-first * a).as_matrix() @ D
    return [first, *angles(rest, axes[1:])]


def turn(link: Link, home: dict[str, Numbers], now: dict[str, Numbers]) -> Numbers:
    """How the child has turned in its parent since home, in its own axes."""
    return relative(home, link.parent, link.child).T @ relative(now, link.parent, link.child)


def slide(link: Link, frames: dict[str, Numbers]) -> float:
    """How far the child is out along its axis [m]."""
    parent, child = frames[link.parent], frames[link.child]
    out = child[:, 3] + child[:, :3] @ link.child_point
    out = out - parent[:, 3] - parent[:, :3] @ link.point
    return float(out @ (child[:, :3] @ link.axes[0]))


def relative(frames: dict[str, Numbers], parent: str, child: str) -> Numbers:
    return frames[parent][:, :3].T @ frames[child][:, :3]


def zxy(frame: Numbers) -> Numbers:
    return Rotation.from_matrix(frame[:, :3]).as_euler("ZXY")


def with_base(frames: dict[str, Numbers]) -> dict[str, Numbers]:
    return {"base": np.eye(3, 4), **frames}
