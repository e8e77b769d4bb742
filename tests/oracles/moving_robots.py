"""States of motion of a rigid robot and our forces in them, for other programs to judge.

Nothing is compiled here: for so few states that would take longer than the answers.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from configurations import Numbers, around_home
from numpy.typing import NDArray

from triskele.description import catalogue
from triskele.description.load import load
from triskele.dynamics.forward import forward_dynamics
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.reactions import Reactions, reactions
from triskele.dynamics.robot import RigidRobot, rigid
from triskele.dynamics.rod_loads import RodLoads, rod_loads
from triskele.dynamics.wrenches import motion_state
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.velocity import joint_acceleration
from triskele.numerics import Scalars, batch
from triskele.spatial.vectors import poses_array
from triskele.testing.laws import random_poses

STATES = 40
PAYLOADS = {"abb_irb360_6_1600": "plate"}
CASES = ("shipped", "uneven")
DELTAS = tuple(
    name
    for name in catalogue.names()
    if load(name).kind == "delta" and load(name).bodies is not None
)  #: those whose files weigh their bodies

_SPEED = 3.0  # up to so many loop lengths a second, each coordinate
_MARGIN = 0.1  # of singularities, at least
_ACCELERATION = 100.0  # up to so many m/s^2
_GEOMETRY = ("base_radius", "platform_radius", "arm_length", "rod_length", "bar_length")


class Motions(NamedTuple):
    """States of a robot, (N, n) each."""

    robot: RigidRobot
    x: Numbers
    xd: Numbers
    xdd: Numbers
    q: Numbers
    qd: Numbers
    qdd: Numbers
    frames: tuple[dict[str, Numbers], ...]  #: of each state: (3, 4) of each body


class Pushed(NamedTuple):
    """Efforts and the accelerations that they cause, (N, n) each."""

    tau: Numbers
    xdd: Numbers
    qdd: Numbers


# Robots


@cache
def rigid_robot(name: str, case: str) -> RigidRobot:
    """A shipped robot without friction and springs.

    As "shipped", or "uneven": limbs of different lengths, no body balanced, gravity tilted.
    "thin" and "uneven_thin" have rods without inertia about their axis.
    """
    robot = rigid(load(name), PAYLOADS.get(name), friction=False)
    robot = eqx.tree_at(lambda robot: robot.springs, robot, (None,) * len(robot.springs))
    if name == "compliant_3prs":  # its motors, 225 kg at a slider, would hide the bodies
        robot = eqx.tree_at(lambda robot: robot.rotors, robot, jnp.zeros(3))
    if case.endswith("thin"):
        theta = np.array(robot.theta)
        theta[[body.startswith("rod") for body in robot.mechanism.bodies], 4] = 0.0
        robot = eqx.tree_at(lambda robot: robot.theta, robot, jnp.asarray(theta))
    return _uneven(robot, case) if case.startswith("uneven") else robot


def _uneven(robot: RigidRobot, case: str) -> RigidRobot:
    random, size = np.random.default_rng(1), float(np.asarray(robot.mechanism.scales().loops[0]))
    theta = np.array(robot.theta)
    for k, body in enumerate(robot.mechanism.bodies):
        if not (case.endswith("thin") and body.startswith("rod")):
            theta[k] = _loaded(theta[k], size, random)
    payload = _loaded(np.asarray(robot.payload), size, random)
    return eqx.tree_at(
        lambda robot: (robot.mechanism, robot.theta, robot.payload, robot.gravity, robot.rotors),
        robot,
        (
            _stretched(robot.mechanism, random),
            jnp.asarray(theta),
            jnp.asarray(payload),
            jnp.array([1.0, -2.0, -9.0]),
            jnp.asarray(random.uniform(0.01, 0.03, len(robot.rotors))),
        ),
    )


def _stretched(mechanism: AbstractMechanism, random: np.random.Generator) -> AbstractMechanism:
    names = [name for name in _GEOMETRY if hasattr(mechanism, name)]
    lengths = [getattr(mechanism, name) * random.uniform(0.98, 1.02, 3) for name in names]
    azimuth = mechanism.azimuth + random.uniform(-0.05, 0.05, 3)
    return eqx.tree_at(
        lambda mechanism: [mechanism.azimuth, *(getattr(mechanism, name) for name in names)],
        mechanism,
        [azimuth, *lengths],
    )


def _loaded(ten: Numbers, size: float, random: np.random.Generator) -> Numbers:
    """The ten parameters of a body, and of four masses fixed to it anywhere."""
    total = ten.copy()
    for m in 0.1 * max(float(ten[0]), 0.1) * random.uniform(0.5, 1.5, 4):
        r = size * random.uniform(-0.2, 0.2, 3)
        inertia = m * (r @ r * np.eye(3) - np.outer(r, r))
        rows, columns = (0, 1, 2, 0, 1, 0), (0, 1, 2, 1, 2, 2)
        total += np.array([m, *(m * r), *inertia[rows, columns]])
    return total


def bodies(robot: RigidRobot) -> dict[str, Numbers]:
    """The ten parameters of each body, payload excluded."""
    return dict(zip(robot.mechanism.bodies, np.asarray(robot.theta), strict=True))


def split(ten: Numbers) -> tuple[float, Numbers, Numbers]:
    """Mass, centre of mass, and inertia (3, 3) about it."""
    m, first = float(ten[0]), ten[1:4]
    xx, yy, zz, xy, yz, xz = ten[4:]
    if not m:
        return 0.0, np.zeros(3), np.zeros((3, 3))
    c = first / m
    about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return m, c, about_origin - m * (c @ c * np.eye(3) - np.outer(c, c))


# States


@cache
def motions(name: str, case: str) -> Motions:
    """Random states: accelerations up to 100 m/s^2."""
    robot, random = rigid_robot(name, case), np.random.default_rng(0)
    mechanism = robot.mechanism
    scales = mechanism.scales()
    unit = np.array(scales.platform, float)
    speed = _SPEED * float(np.asarray(scales.loops[0])) / unit
    x = random_poses(mechanism, around_home(mechanism), STATES, margin=_MARGIN)
    xd = speed * random.uniform(-1, 1, x.shape)
    towards = random.normal(size=x.shape)
    towards /= np.linalg.norm(towards, axis=1, keepdims=True)
    xdd = _ACCELERATION / unit * towards * random.uniform(0, 1, (STATES, 1))
    q, qd, qdd, frames = _moved(mechanism, x, xd, xdd)
    return Motions(robot, x, xd, xdd, q, qd, qdd, frames)


def _moved(
    mechanism: AbstractMechanism, *platform: Numbers
) -> tuple[Numbers, Numbers, Numbers, tuple[dict[str, Numbers], ...]]:
    """q, qd, qdd and the frames of all bodies."""
    state = motion_state(mechanism, *(tuple(jnp.asarray(part.T)) for part in platform))
    frames = np.asarray(poses_array(state.T))
    q, qd, qdd = (np.stack(part, axis=-1) for part in (state.q, state.qd, state.qdd))
    return q, qd, qdd, tuple(dict(zip(mechanism.bodies, T, strict=True)) for T in frames)


# Our forces


@cache
def efforts(name: str, case: str) -> Numbers:
    """What the drives give, (N, n) [N m, N]."""
    return np.stack(_of_motions(inverse_dynamics, name, case), axis=-1)


@cache
def joint_loads(name: str, case: str) -> Reactions:
    """Forces and moments in all joints."""
    given = motions(name, case)
    return reactions(given.robot, given.x, given.xd, given.xdd)


def compared(loads: Reactions) -> NDArray[np.bool_]:
    """Components (joints, 6) that rigid bodies determine, and that are not always zero."""
    both = np.concatenate([loads.force, loads.moment], axis=-1)
    return loads.unique & (np.abs(both).max(axis=0) > 0)


@cache
def closed_form_loads(name: str, case: str) -> RodLoads:
    """Rod loads in closed form, leaves (N,)."""
    return jax.tree.map(np.asarray, _of_motions(rod_loads, name, case))


@cache
def pushed(name: str, case: str) -> Pushed:
    """The states of `motions`, driven by random efforts."""
    given = motions(name, case)
    effort = np.median(np.abs(efforts(name, case)))
    tau = effort * np.random.default_rng(2).normal(size=given.x.shape)
    found = evaluated(eqx.Partial(_accelerations, given.robot), given.x, given.xd, tau)
    return Pushed(tau, *(np.stack(part, axis=-1) for part in found))


def _accelerations(
    robot: RigidRobot, x: Scalars, xd: Scalars, tau: Scalars
) -> tuple[Scalars, Scalars]:
    xdd = forward_dynamics(robot, x, xd, tau)
    q = robot.mechanism.inverse(x).components
    return xdd, joint_acceleration(robot.mechanism, q, x, xd, xdd)[1]


def _of_motions(function: Callable, name: str, case: str) -> Any:
    given = motions(name, case)
    return evaluated(eqx.Partial(function, given.robot), given.x, given.xd, given.xdd)


def evaluated(function: Callable, *arrays: Numbers) -> Any:
    """`batch(function)` of (N, n) arrays."""
    return batch(function)(*arrays)
