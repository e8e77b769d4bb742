"""Conditions of every kind of joint and drive, against autodiff and differences.

One system holds all kinds, with frames, points and a pair of bodies of its own for each;
states are random: nothing fits, so that no term of a formula vanishes.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from triskele.laws.springs import Spring
from triskele.multibody.forces import axis_motion
from triskele.multibody.joints import KINDS, Body, Joint, system
from triskele.multibody.primitives import Drive
from triskele.multibody.system import GROUND, State, conditions, jacobian, motion_of

RANDOM = np.random.default_rng(7)
SIZE, LENGTH = 0.7, 0.6
ROWS = {
    "fixed": 6,
    "revolute": 5,
    "universal": 4,
    "spherical": 3,
    "prismatic": 5,
    "cylindrical": 4,
    "inline": 2,
    "perpendicular": 1,
    "distance": 1,
    "path": 0,
}
BODIES = ("one", "two", "three")
CENTRES = np.array([[0.1, -0.2, 0.3], [-0.3, 0.1, 0.2], [0.2, 0.1, -0.1]])
PAIRS = [("one", "two"), (GROUND, "one"), ("two", "three"), ("three", GROUND), ("three", "one")]
SPRING = Spring(jnp.ones(()), jnp.zeros(()))


def joint(number, name, kind, **more):
    """A joint that fits nowhere."""
    frames = Rotation.random(2, rng=RANDOM).as_matrix()
    points = RANDOM.uniform(-0.5, 0.5, (2, 3))
    return Joint(name, kind, *PAIRS[number % len(PAIRS)], *points, *frames, **more)


# Slides before turns, and axes without a motor between those that have one.
JOINTS = [
    *(joint(k, kind, kind, length=LENGTH) for k, kind in enumerate(KINDS)),
    joint(1, "sprung", "revolute", spring=SPRING),
    joint(2, "slide", "prismatic", motor=True),
    joint(0, "pushed", "prismatic", spring=SPRING),
    joint(4, "turn", "revolute", motor=True),
    joint(0, "cardan", "spherical", motor=True),
]
NAMES = [part.name for part in JOINTS]
MOTORS = ["path", "path", "path", "slide", "turn", "cardan"]


class Moving(NamedTuple):
    """A random state of the three bodies, their accelerations, and drives."""

    r: np.ndarray
    A: np.ndarray
    twist: np.ndarray  #: (3, 6), in O, as the next
    push: np.ndarray
    drive: Drive

    @property
    def state(self):
        p = Rotation.from_matrix(self.A).as_quat()[:, [3, 0, 1, 2]]
        w = np.einsum("bji,bj->bi", self.A, self.twist[:, 3:])
        return State(*(jnp.asarray(part) for part in (self.r, p, self.twist[:, :3], w)))

    def later(self, t):
        """After a time t, with the rotations of scipy; velocities are not needed."""
        step = self.twist * t + self.push * (t * t / 2)
        A = Rotation.from_rotvec(step[:, 3:]).as_matrix() @ self.A
        q, qd, qdd = self.drive
        drive = Drive(q + qd * t + qdd * (t * t / 2), qd, qdd)
        return self._replace(r=self.r + step[:, :3], A=A, drive=drive)


def random_motion():
    A, twist = Rotation.random(3, rng=RANDOM).as_matrix(), RANDOM.uniform(-3, 3, (3, 6))
    drive = Drive(*jnp.asarray(RANDOM.uniform(-2, 2, (3, len(MOTORS)))))
    return Moving(RANDOM.uniform(-1, 1, (3, 3)), A, twist, RANDOM.uniform(-5, 5, (3, 6)), drive)


@eqx.filter_jit
def _found(built, state, drive):
    motion = motion_of(built, state)
    rows = conditions(built, motion, drive)
    return rows, jacobian(built, rows), axis_motion(built, motion)


class Found(NamedTuple):
    """What the engine says of a motion."""

    residual: np.ndarray
    rate: np.ndarray  #: J v + C_t
    bend: np.ndarray  #: J a - gamma
    q: np.ndarray
    qd: np.ndarray


def found(built, moving):
    rows, J, axes = jax.tree.map(np.asarray, _found(built, moving.state, moving.drive))
    rate, bend = J @ moving.twist.reshape(-1) + rows.drift, J @ moving.push.reshape(-1)
    return Found(rows.residual, rate, bend - rows.gamma, axes.q, axes.qd)


# The same from the tables of joints.py, as functions of time


def seen(moving, t):
    """What residuals consist of, for all joints at once, to the second order in t."""
    step = moving.twist * t + moving.push * (t * t / 2)
    x, y, z = step[:, 3:].T
    o = jnp.zeros_like(x)
    turn = jnp.array([[o, -z, y], [z, o, -x], [-y, x, o]]).transpose(2, 0, 1)
    A = moving.A + turn @ moving.A + turn @ turn @ moving.A / 2
    r = moving.r + step[:, :3] - jnp.einsum("bij,bj->bi", A, CENTRES)
    A, r = jnp.concatenate([A, jnp.eye(3)[None]]), jnp.concatenate([r, jnp.zeros((1, 3))])
    i, j = (
        np.array([(*BODIES, GROUND).index(getattr(part, end)) for part in JOINTS])
        for end in ("parent", "child")
    )
    u_i, u_j, frames, child_frames = (
        np.array([getattr(part, name) for part in JOINTS])
        for name in ("point", "child_point", "frame", "child_frame")
    )
    E, F = A[i] @ frames, A[j] @ child_frames
    d = r[j] + jnp.einsum("nij,nj->ni", A[j], u_j) - r[i] - jnp.einsum("nij,nj->ni", A[i], u_i)
    along = jnp.einsum("nij,ni->nj", E, d)
    dots = jnp.einsum("nki,nkj->nij", E, F)
    stretch = (jnp.sum(d * d, axis=1) - LENGTH**2) / (2 * LENGTH)
    q = moving.drive.q + moving.drive.qd * t + moving.drive.qdd * (t * t / 2)
    (s_turn, s_fork), (c_turn, c_fork) = jnp.sin(q[4:]), jnp.cos(q[4:])
    hinge, fork = NAMES.index("turn"), NAMES.index("cardan")
    drives = [
        *(along[NAMES.index("path")] - q[:3]),
        along[NAMES.index("slide"), 2] - q[3],
        SIZE * (s_turn * dots[hinge, 0, 0] - c_turn * dots[hinge, 1, 0]),
        SIZE * (c_fork * dots[fork, 0, 2] + s_fork * dots[fork, 1, 2]),
    ]
    hinges = jnp.arctan2(dots[:, 1, 0], dots[:, 0, 0])
    forks = jnp.arctan2(-dots[:, 0, 2], dots[:, 1, 2])
    return Seen(d, along, SIZE * dots, stretch, jnp.array(drives), hinges, forks)


class Seen(NamedTuple):
    """Of each joint, or a derivative of that."""

    d: np.ndarray  #: between its points
    along: np.ndarray  #: that, along e1, e2, n
    dots: np.ndarray  #: of e1, e2, n and e1', e2', n', times the size
    stretch: np.ndarray  #: the residual of a distance
    drives: np.ndarray  #: residuals of the drives; a fork is e1 turned, and holds the cross n'
    hinges: np.ndarray  #: angle of e1' about n
    forks: np.ndarray  #: angle that a fork would have

    def rows(self, k):
        """Residuals of joint k."""
        part, along, dots = JOINTS[k], [*self.along[k]], self.dots[k]
        point, line = [*self.d[k]], along[:2]
        no_turn, one_axis = [dots[0, 1], dots[1, 2], dots[2, 0]], [dots[0, 2], dots[1, 2]]
        return {
            "fixed": point + no_turn,
            "revolute": point + one_axis,
            "universal": [*point, dots[2, 2]],
            "spherical": point,
            "prismatic": line + no_turn,
            "cylindrical": line + one_axis,
            "inline": line,
            "perpendicular": [dots[2, 2]],
            "distance": [self.stretch[k]],
            "path": [],
        }[part.kind] + [self.drives[n] for n, name in enumerate(MOTORS) if name == part.name]

    def axes(self):
        """Where all axes are."""
        place = {name: k for k, name in enumerate(NAMES)}
        return [
            *self.along[place["path"]],
            self.hinges[place["sprung"]],
            self.along[place["slide"], 2],
            self.along[place["pushed"], 2],
            self.hinges[place["turn"]],
            self.forks[place["cardan"]],
        ]


@jax.jit
def derivatives(moving):
    """`seen`, its first and its second derivative."""

    def rate(t):
        return jax.jvp(lambda t: seen(moving, t), (t,), (jnp.ones(()),))

    (value, first), (_, second) = jax.jvp(rate, (jnp.zeros(()),), (jnp.ones(()),))
    return value, first, second


@pytest.fixture(scope="module")
def everything():
    bodies = []
    for name, (x, y, z) in zip(BODIES, CENTRES, strict=True):
        about = (y * y + z * z, x * x + z * z, x * x + y * y, -x * y, -y * z, -x * z)
        ten = 2.0 * np.array([1, x, y, z, *about]) + [0, 0, 0, 0, 1, 1, 1, 0, 0, 0]
        bodies.append(Body(name, ten, np.eye(3, 4)))
    return system("everything", bodies, JOINTS, prescribed=True, size=SIZE)[0]


@pytest.fixture(scope="module")
def cases(everything):
    """Three motions, with what the engine and what autodiff says of each."""
    motions = [random_motion() for _ in range(3)]
    return [
        (moving, found(everything, moving), jax.tree.map(np.asarray, derivatives(moving)))
        for moving in motions
    ]


def test_each_kind_of_joint_has_as_many_rows_as_its_table_says(everything):
    for part, info in zip(JOINTS, everything.joints, strict=True):
        assert info.name == part.name
        assert len(info.rows) == len(info.labels) == ROWS[part.kind] + MOTORS.count(part.name)
    assert sorted(row for info in everything.joints for row in info.rows) == list(range(60))


@pytest.mark.parametrize("k", range(len(JOINTS)), ids=NAMES)
def test_residual_jacobian_and_acceleration_term_are_what_autodiff_finds(everything, cases, k):
    rows = list(everything.joints[k].rows)
    for _, engine, (value, first, second) in cases:
        assert np.allclose(engine.residual[rows], value.rows(k), rtol=0, atol=1e-14)
        assert np.allclose(engine.rate[rows], first.rows(k), rtol=0, atol=1e-13)
        assert np.allclose(engine.bend[rows], second.rows(k), rtol=0, atol=1e-13)


def test_jacobian_and_acceleration_term_are_what_differences_find(everything, cases):
    """Of the engine's own residuals."""
    for moving, engine, _ in cases:
        h = 1e-6
        after, before = (found(everything, moving.later(t)).residual for t in (h, -h))
        assert np.allclose((after - before) / (2 * h), engine.rate, rtol=0, atol=1e-8)
        h = 1e-4
        after, before = (found(everything, moving.later(t)).residual for t in (h, -h))
        bend = (after - 2 * engine.residual + before) / h**2
        assert np.allclose(bend, engine.bend, rtol=0, atol=1e-5)


def test_axes_measure_turns_of_hinges_and_forks_and_ways_along_slides(everything, cases):
    kinds = ["slide", "slide", "slide", "turn", "slide", "slide", "turn", "turn"]
    assert [axis.kind for axis in everything.axes] == kinds
    assert [axis.joint for axis in everything.motors] == MOTORS
    for _, engine, (value, first, _) in cases:
        assert np.allclose(engine.q, value.axes(), rtol=0, atol=1e-14)
        assert np.allclose(engine.qd, first.axes(), rtol=1e-13, atol=1e-13)
