"""Sample robots of kind "limbs" with motors and a load, in random states of motion near home.

Robots are those of `limb_robots.py`: uneven limbs, random inertias, tilted gravity. Their motors
have inertia, and what carries the tool carries a payload besides.
"""

from functools import cache
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from configurations import Numbers
from limb_robots import described
from moving_robots import Motions, Pushed

from triskele.description.schema import Payload
from triskele.dynamics.forward import forward_dynamics
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import RigidRobot, rigid
from triskele.dynamics.wrenches import MotionState, motion_state
from triskele.kinematics.velocity import joint_acceleration
from triskele.numerics import Scalars, stacked, tabulate
from triskele.testing.laws import random_poses

STATES = 12
CARRIED = Payload(mass=0.7, centre_of_mass=(0.02, -0.01, -0.03), inertia=(0.003, 0.004, 0.005))
_ASIDE = 0.1  # how far states are from home, in loop lengths
_MARGIN = 0.05  # of singularities, at least
_SPEED = 3.0  # up to so many loop lengths a second, each coordinate
_ACCELERATION = 100.0  # up to so many loop lengths a second^2


class Rates(NamedTuple):
    """What a kernel gives of one state."""

    q: Scalars
    qd: Scalars
    qdd: Scalars
    poses: Scalars  #: columns of each pose
    rates: Scalars  #: their second derivatives


@cache
def rigid_robot(name: str) -> RigidRobot:
    """Without friction."""
    robot = rigid(described(name), CARRIED)
    rotors = np.random.default_rng(3).uniform(0.05, 0.2, len(robot.rotors))
    return eqx.tree_at(lambda robot: robot.rotors, robot, rotors)


@cache
def motions(name: str) -> Motions:
    """Random states."""
    robot, random = rigid_robot(name), np.random.default_rng(0)
    mechanism = robot.mechanism
    scales, home = mechanism.scales(), np.asarray(stacked(mechanism.home()))
    unit = float(np.asarray(scales.loops[0])) / np.array(scales.platform, float)
    box = np.stack([home - _ASIDE * unit, home + _ASIDE * unit], axis=1)
    x = random_poses(mechanism, box, STATES, margin=_MARGIN)
    xd, xdd = (size * unit * random.uniform(-1, 1, x.shape) for size in (_SPEED, _ACCELERATION))
    found = _moved(robot, x, xd, xdd)
    frames = found.poses.reshape(STATES, -1, 4, 3).swapaxes(-1, -2)
    listed = tuple(dict(zip(mechanism.bodies, T, strict=True)) for T in frames)
    return Motions(robot, x, xd, xdd, found.q, found.qd, found.qdd, listed)


@cache
def origins(name: str) -> Numbers:
    """Accelerations of the origins of all bodies (N, bodies, 3) [m/s^2]."""
    given = motions(name)
    found = _moved(given.robot, given.x, given.xd, given.xdd)
    return found.rates.reshape(STATES, -1, 4, 3)[:, :, 3]


def _moved(robot: RigidRobot, *states: Numbers) -> Any:
    found = tabulate(eqx.Partial(_kernel, robot))(*states)
    return Rates(*(np.stack(part, axis=-1) for part in found))


def _kernel(robot: RigidRobot, x: Scalars, xd: Scalars, xdd: Scalars) -> tuple[Scalars, ...]:
    state: MotionState = motion_state(robot.mechanism, x, xd, xdd)
    columns = (
        tuple(entry for T in part for axis in T for entry in axis) for part in (state.T, state.Tdd)
    )
    return (state.q, state.qd, state.qdd, *columns)


@cache
def efforts(name: str) -> Numbers:
    """What the drives give, (N, n) [N m, N]."""
    given = motions(name)
    law = eqx.Partial(inverse_dynamics, given.robot)
    return np.stack(tabulate(law)(given.x, given.xd, given.xdd), axis=-1)


@cache
def pushed(name: str) -> Pushed:
    """The states of `motions`, driven by random efforts."""
    given = motions(name)
    tau = efforts(name) * np.random.default_rng(2).uniform(-1, 1, given.x.shape)
    found = tabulate(eqx.Partial(_accelerations, given.robot))(given.x, given.xd, tau)
    return Pushed(tau, *(np.stack(part, axis=-1) for part in found))


def _accelerations(
    robot: RigidRobot, x: Scalars, xd: Scalars, tau: Scalars
) -> tuple[Scalars, Scalars]:
    xdd = forward_dynamics(robot, x, xd, tau)
    q = robot.mechanism.inverse(x).components
    return xdd, joint_acceleration(robot.mechanism, q, x, xd, xdd)[1]
