"""Shipped Deltas in Pinocchio, body by body: trees built from our description of the robot.

    motor i             hinge about y of the limb, carries the arm
    rods ia, ib         universal in their arm, y then z
    motor 4             hinge about z, then a cardan x, y with the upper part of the telescope,
                        which holds the lower one in a slide
    platform            free; a flange turns on it

Closed are the lower balls of the six rods, 18 equations, and the lower cardan of the telescope:
its centres meet, and its axes are at a right angle, 4 more. Without a telescope there are 21
coordinates and 18 equations, with it 26 and 22: as many as coordinates without a motor, so that
forces in the loops are found by one LU. Friction is left out. That the platform stays level, and
that rods of a limb are parallel, Pinocchio is not told.

Coordinates of all joints with their rates come from ours, and are not timed.
"""

import ctypes
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from benchmarks.machine import Numbers
from benchmarks.peers import Call, c_call
from benchmarks.pinocchio_delta import compiled
from triskele.dynamics.robot import RigidRobot
from triskele.kinematics.delta import Delta
from triskele.spatial.vectors import poses_array

_RX, _RY, _RZ, _SLIDE, _UNIVERSAL, _FREE = range(6)
_BASE = 0
_UPPER, _LOWER, _FLANGE = "telescope_upper", "telescope_lower", "end_effector"


class _Joint(NamedTuple):
    """A joint with the body that it carries; its frame is the body's."""

    body: str
    parent: int  #: its number, from 1
    kind: int
    place: Numbers  #: (12,) in the parent: a rotation by rows, and a point [m]


class _Loop(NamedTuple):
    meets: bool  #: origins meet; else y of the first stays perpendicular to z of the second
    joints: tuple[int, int]
    places: tuple[Numbers, Numbers]


class Tree:
    """A Delta with pairs of rods in Pinocchio; friction and springs are left out."""

    def __init__(self, library: ctypes.CDLL, robot: RigidRobot) -> None:
        delta = robot.mechanism
        assert isinstance(delta, Delta)
        assert delta.rod_spacing is not None and delta.connector_offset is None
        joints, loops = _tree(delta)
        inertias = dict(zip(delta.bodies, robot.theta, strict=True))
        inertias[robot.carrier] = inertias[robot.carrier] + robot.payload
        numbers = [_integers([joint.parent for joint in joints])]
        numbers += [_integers([joint.kind for joint in joints])]
        numbers += [np.array([joint.place for joint in joints])]
        numbers += [np.array([_body(inertias.get(joint.body)) for joint in joints])]
        closed = [_integers([loop.meets for loop in loops])]
        closed += [_integers([loop.joints for loop in loops])]
        closed += [np.array([loop.places for loop in loops])]
        names = [joint.body for joint in joints]
        motors = ["arm_1", "arm_2", "arm_3", *(["motor_4"] if "motor_4" in names else [])]
        driven = [_integers([names.index(name) + 1 for name in motors])]
        driven += [np.array(robot.rotors, float), np.array(robot.gravity, float)]
        library.create.restype = ctypes.c_void_p
        made = library.create(
            *_counted(joints, numbers), *_counted(loops, closed), *_counted(motors, driven)
        )
        if made is None:
            raise ArithmeticError("The tree has not as many loops as passive coordinates.")
        self._library, self._made, self._delta = library, ctypes.c_void_p(made), delta

    def torques(self, x: Numbers, xd: Numbers, xdd: Numbers) -> Call:
        """A call for the torques (N, n) at N states of the platform."""
        n = len(x)
        given = [np.array(part, order="C") for part in _motion(self._delta, x, xd, xdd)]
        return c_call(self._library.inverse, self._made, n, *given, np.empty_like(x))


def library() -> ctypes.CDLL:
    """cpp/pinocchio_tree.cpp, in a minute or two; OSError where it cannot be compiled."""
    return compiled("cpp/pinocchio_tree.cpp")


def _tree(delta: Delta) -> tuple[list[_Joint], list[_Loop]]:
    """Joints depth first, as Pinocchio needs them, and what closes them."""
    joints: list[_Joint] = []
    loops: list[_Loop] = []
    wrists = []

    def add(body: str, parent: int, kind: int, place: Numbers) -> int:
        joints.append(_Joint(body, parent, kind, place))
        return len(joints)

    for i in range(3):
        lengths = (delta.base_radius, delta.platform_radius, delta.arm_length, delta.rod_length)
        R, r, L, d = (float(length[i]) for length in lengths)
        u, v = (np.array([c, s, 0]) for c, s in _turns(float(delta.azimuth[i])))
        turn, half = np.stack([u, v, [0, 0, 1]], axis=1), float(np.asarray(delta.rod_spacing)) / 2
        arm = add(f"arm_{i + 1}", _BASE, _RY, _place(R * u, turn))
        for end, aside in (("a", -half), ("b", half)):
            rod = add(f"rod_{i + 1}{end}", arm, _UNIVERSAL, _place([L, aside, 0]))
            wrists.append((rod, _place([d, 0, 0]), _place(r * u + aside * v)))
    telescope = None
    if delta.telescope is not None:
        upper = float(delta.telescope[0])
        yoke = add("yoke", add("motor_4", _BASE, _RZ, _place([0, 0, upper])), _RX, _place())
        telescope = add(_LOWER, add(_UPPER, yoke, _RY, _place()), _SLIDE, _place())
    platform = add("platform", _BASE, _FREE, _place())
    loops += [_Loop(True, (platform, rod), (wrist, end)) for rod, end, wrist in wrists]
    if telescope is not None and delta.telescope is not None:
        flange = add(_FLANGE, platform, _RZ, _place())
        across = np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 1]])  # y: x of the flange
        along = np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]])  # z: y of the bar
        lower = float(delta.telescope[1])
        places = _place([0, 0, lower], across), _place([0, 0, 0], along)
        loops += [_Loop(meets, (flange, telescope), places) for meets in (True, False)]
    return joints, loops


def _turns(angle: float) -> tuple[tuple[float, float], tuple[float, float]]:
    c, s = np.cos(angle), np.sin(angle)
    return (c, s), (-s, c)


def _place(point: object = (0, 0, 0), turn: Numbers | None = None) -> Numbers:
    rotation = np.eye(3) if turn is None else turn
    return np.concatenate([rotation.ravel(), np.asarray(point, float)])


def _body(ten: Numbers | None) -> Numbers:
    """Mass, centre of mass and inertia (3, 3) about it, of our ten parameters."""
    if ten is None or not ten[0]:
        return np.zeros(13)
    m, c = ten[0], np.asarray(ten[1:4]) / ten[0]
    xx, yy, zz, xy, yz, xz = ten[4:]
    about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    about = about_origin - m * (c @ c * np.eye(3) - np.outer(c, c))
    return np.concatenate([[m], c, about.ravel()])


def _integers(values: object) -> np.ndarray:
    return np.ascontiguousarray(values, np.int64)


def _counted(items: list, arrays: list[np.ndarray]) -> tuple[object, ...]:
    """Arguments of C: how many, and where their numbers begin."""
    return ctypes.c_long(len(items)), *(array.ctypes.data_as(ctypes.c_void_p) for array in arrays)


def _motion(delta: Delta, *state: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """q (N, nq), v and a (N, nv) of all joints: derivatives of derivatives along x(t).

    The free platform is level, its quaternion (0, 0, 0, 1), and does not turn.
    """

    def along(x: Array, xd: Array, xdd: Array) -> tuple[Array, Array, Array]:
        def place(t: Array) -> Array:
            return _minimal(delta, x + t * xd + t**2 / 2 * xdd)

        def rates(t: Array) -> tuple[Array, Array]:
            return jax.jvp(place, (t,), (jnp.ones(()),))

        (q, v), (_, a) = jax.jvp(rates, (jnp.zeros(()),), (jnp.ones(()),))
        return q, v, a

    q, v, a = (np.asarray(part) for part in jax.jit(jax.vmap(along))(*state))
    turning = q.shape[1] - (0 if delta.telescope is None else 1)  # a flange comes last
    still = np.zeros((len(q), 3))

    def filled(part: Numbers, turned: Numbers) -> Numbers:
        return np.concatenate([part[:, :turning], turned, part[:, turning:]], axis=1)

    level = np.concatenate([still, np.ones((len(q), 1))], axis=1)
    return filled(q, level), filled(v, still), filled(a, still)


def _minimal(delta: Delta, x: Array) -> Array:
    """Coordinates of the tree at a pose of the platform, without the platform's turning."""
    q = delta.inverse(tuple(x)).components
    T = poses_array(delta.body_poses(q, tuple(x)))
    frames = dict(zip(delta.bodies, T, strict=True))
    found = []
    for i in range(3):
        arm = frames[f"arm_{i + 1}"][:, :3]
        found.append(q[i])
        for end in "ab":
            turned = arm.T @ frames[f"rod_{i + 1}{end}"][:, :3]
            tilt = jnp.arctan2(turned[1, 0], turned[1, 1])
            found += [jnp.arctan2(turned[0, 2], turned[2, 2]), tilt]
    if delta.telescope is not None:
        upper, lower = frames[_UPPER], frames[_LOWER]
        xs, z = upper[2, 0], upper[2, 2]
        yoke = jnp.arctan2(upper[2, 1], jnp.hypot(xs, z))
        slide = (lower[:, 3] - upper[:, 3]) @ upper[:, 2]
        found += [q[3], yoke, jnp.arctan2(-xs, z), slide]
    found += [*frames["platform"][:, 3]]
    if delta.telescope is not None:
        found.append(jnp.arctan2(frames[_FLANGE][1, 0], frames[_FLANGE][0, 0]))
    return jnp.stack(found)
