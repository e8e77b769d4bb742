"""A mechanism of bodies and joints in absolute coordinates.

Each body has position r and Euler parameters p of its own, velocity v and, in the body,
angular velocity w. Joints (`joints.py`) are conditions between two bodies; a joint's axis
may carry a motor, a spring or friction. The ground is the body after the last.

    M (vd, wd) + J' lam = f,      J (vd, wd) = gamma                                     (1)

M is constant in the bodies' axes. f holds gravity, gyroscopic moments and the forces of
`forces.py`; lam are the multipliers, from which `reactions.py` makes joint forces.
"""

import dataclasses
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from triskele.laws.friction import FrictionLaw
from triskele.laws.springs import Spring
from triskele.multibody.primitives import (
    BodyMotion,
    Distances,
    Dots,
    Drive,
    Lines,
    Points,
    Rows,
    Turns,
)
from triskele.spatial.euler_parameters import rotation_matrix

GROUND = "ground"
DRIVE = "effort of the drive"  #: label of the rows of drives


class State(NamedTuple):
    """Where all bodies are and how they move."""

    r: Float[Array, "bodies 3"]  #: centres of mass in O [m]
    p: Float[Array, "bodies 4"]  #: Euler parameters
    v: Float[Array, "bodies 3"]  #: in O [m/s]
    w: Float[Array, "bodies 3"]  #: angular velocity in the body [rad/s]


class JointInfo(NamedTuple):
    """What there is to say about a joint: names, and which rows are its own."""

    name: str
    kind: str
    parent: str
    child: str
    rows: tuple[int, ...]  #: of the system's conditions
    labels: tuple[str, ...]  #: what each of these rows transmits, in words


class Axis(NamedTuple):
    """A joint's angle or length that something acts on."""

    joint: str
    kind: str  #: "turn" or "slide"
    place: int  #: among the system's turns, or slides
    motor: bool
    driven: bool = False  #: whether its motor follows a given motion


class Gauges(eqx.Module):
    """Angles and lengths of joints that have one, motors or not; nothing acts on them."""

    turning: tuple[str, ...] = eqx.field(static=True)  #: joints of `turns`
    sliding: tuple[str, ...] = eqx.field(static=True)  #: joints of `slides`
    turns: Turns
    slides: Lines

    def coordinates(self, motion: BodyMotion) -> tuple[Array, Array]:
        """Angles, then lengths [rad, m], and their rates."""
        angles, _ = self.turns.angles(motion)
        lengths, rates = self.slides.lengths(motion)
        return (
            jnp.concatenate([angles, lengths]),
            jnp.concatenate([self.turns.speeds(motion), rates]),
        )


class Bushing(eqx.Module):
    """Springs against three successive turns of a child about its parent's point.

    The parent's frame seen from the child's is Rx(b_1) Ry(b_2) Rz(b_3), U = sum k_i b_i^2 / 2.
    """

    parent: int = eqx.field(static=True)
    child: int = eqx.field(static=True)
    frame: Float[Array, "3 3"]  #: axes in the parent
    child_frame: Float[Array, "3 3"]  #: axes in the child
    stiffness: Float[Array, "3"]  #: [N m/rad]


class Ball(eqx.Module):
    """Friction against any turn of a child in its parent."""

    parent: int = eqx.field(static=True)
    child: int = eqx.field(static=True)
    law: FrictionLaw


class Tethers(eqx.Module):
    """Springs with dampers from point to point."""

    spans: Distances  #: its `length` is that of the slack spring [m]
    stiffness: Float[Array, " n"]  #: [N/m]
    damping: Float[Array, " n"]  #: [N s/m]


class Loads(eqx.Module):
    """Constant forces and moments in O on points of bodies."""

    bodies: tuple[int, ...] = eqx.field(static=True)
    u: Float[Array, "n 3"]  #: [m], from the centre of mass, in the body
    force: Float[Array, "n 3"]  #: [N]
    moment: Float[Array, "n 3"]  #: [N m]


class System(eqx.Module):
    """Bodies and joints, ready to compute with; made by `assemble.system`, leaves in SI units."""

    name: str = eqx.field(static=True)
    bodies: tuple[str, ...] = eqx.field(static=True)
    joints: tuple[JointInfo, ...] = eqx.field(static=True)
    axes: tuple[Axis, ...] = eqx.field(static=True)
    coupled: bool = eqx.field(static=True)  #: whether the mass matrix has to be mended
    mass: Float[Array, " bodies"]  #: [kg]
    inertia: Float[Array, "bodies 3 3"]  #: about the centre of mass, in the body [kg m^2]
    centre: Float[Array, "bodies 3"]  #: of mass, in the body's own frame [m]
    gravity: Float[Array, "3"]  #: [m/s^2]
    size: Float[Array, ""]  #: L of `primitives.py` [m]
    frames: Float[Array, "joints 3 3"]  #: [e1 e2 n] of each joint, in its parent
    points: Points
    dots: Dots
    lines: Lines
    distances: Distances
    turns: Turns  #: angles of the axes
    slides: Lines  #: lengths of the axes
    gauges: Gauges  #: what joints measure
    rotors: Float[Array, " axes"]  #: inertia of motors at their axes [kg m^2, kg]
    springs: tuple[Spring | None, ...]  #: of each axis
    friction: tuple[FrictionLaw | None, ...]  #: of each axis
    bushings: tuple[Bushing, ...]
    balls: tuple[Ball, ...]
    tethers: Tethers
    loads: Loads

    @property
    def motors(self) -> tuple[Axis, ...]:
        """The axes that have a motor, in the order of efforts."""
        return tuple(axis for axis in self.axes if axis.motor)

    @property
    def driven(self) -> tuple[Axis, ...]:
        """The axes whose motors follow a given motion, in the order of `Drive`."""
        return tuple(axis for axis in self.axes if axis.driven)

    @property
    def prescribed(self) -> bool:
        """Whether some motor follows a given motion."""
        return bool(self.driven)

    def with_free_motors(self) -> "System":
        """The same system with the rows of its drives taken off."""
        joints = tuple(
            joint._replace(rows=joint.rows[:own], labels=joint.labels[:own])
            for joint in self.joints
            for own in [sum(label != DRIVE for label in joint.labels)]
        )
        axes = tuple(axis._replace(driven=False) for axis in self.axes)
        return dataclasses.replace(self, joints=joints, axes=axes)

    def body(self, name: str) -> int:
        """The number of a body; the ground is the last."""
        return len(self.bodies) if name == GROUND else self.bodies.index(name)


def motion_of(system: System, state: State) -> BodyMotion:
    """All bodies, and the ground, in O."""
    A = rotation_matrix(state.p)
    w = jnp.einsum("bij,bj->bi", A, state.w)
    nothing, ones = jnp.zeros((1, 3)), jnp.eye(3)[None]
    return BodyMotion(
        jnp.concatenate([state.r, nothing]),
        jnp.concatenate([A, ones]),
        jnp.concatenate([state.v, nothing]),
        jnp.concatenate([w, nothing]),
    )


def conditions(system: System, motion: BodyMotion, drive: Drive | None = None) -> Rows:
    """All rows of (1): joints first, in the order of `JointInfo.rows`, drives last."""
    L = system.size
    parts = [
        system.points.rows(motion),
        system.dots.rows(motion, L),
        system.lines.rows(motion),
        system.distances.rows(motion),
    ]
    if system.prescribed:
        assert drive is not None, "a system with prescribed motors needs their motion"
        parts += _driven(system, motion, drive)
    return Rows(*(jnp.concatenate(part) for part in zip(*parts, strict=True)))


def _driven(system: System, motion: BodyMotion, drive: Drive) -> list[Rows]:
    """Rows of the drives: turns, then slides."""
    turns, slides = driven_places(system, "turn"), driven_places(system, "slide")
    angle, length = (
        Drive(*(part[np.array(places, int)] for part in drive)) for places, _ in (turns, slides)
    )
    guided = system.slides.chosen(slides[1]).rows(motion)
    guided = guided._replace(
        residual=guided.residual - length.q,
        gamma=guided.gamma + length.qdd,
        drift=-length.qd,
    )
    return [system.turns.chosen(turns[1]).rows(motion, angle, system.size), guided]


def driven_places(system: System, kind: str) -> tuple[list[int], list[int]]:
    """Places of the driven axes of that kind: among them all, and among turns or slides."""
    found = [(k, axis.place) for k, axis in enumerate(system.driven) if axis.kind == kind]
    return [k for k, _ in found], [place for _, place in found]


def row_pairs(system: System) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of parent and child of each row of `conditions`."""
    groups = [(system.points.pairs, 3)]
    groups += [(part.pairs, 1) for part in (system.dots, system.lines, system.distances)]
    if system.prescribed:
        groups.append((system.turns.pairs.chosen(driven_places(system, "turn")[1]), 1))
        groups.append((system.slides.pairs.chosen(driven_places(system, "slide")[1]), 1))
    parents = [np.repeat(np.array(pairs.parents, int), count) for pairs, count in groups]
    children = [np.repeat(np.array(pairs.children, int), count) for pairs, count in groups]
    return np.concatenate(parents), np.concatenate(children)


def jacobian(system: System, rows: Rows) -> Float[Array, "rows velocities"]:
    """J of (1), six columns a body: velocity, then angular velocity, in O."""
    bodies = np.arange(len(system.bodies))
    sides = zip(row_pairs(system), (rows.parent, rows.child), strict=True)
    placed = [at_bodies(side, bodies)[:, :, None] * block[:, None, :] for side, block in sides]
    return jnp.asarray(placed[0] + placed[1]).reshape(len(rows.residual), 6 * len(bodies))


def at_bodies(ends: np.ndarray, bodies: np.ndarray) -> np.ndarray:
    """1 where a row's end is that body, else 0: (rows, bodies)."""
    return (ends[:, None] == bodies).astype(float)


def origins(system: System, state: State) -> Float[Array, "bodies 3"]:
    """Origins of the bodies' own frames in O [m]."""
    return state.r - jnp.einsum("bij,bj->bi", rotation_matrix(state.p), system.centre)
