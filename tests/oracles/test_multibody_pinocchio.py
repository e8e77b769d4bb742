"""Pinocchio moves the bodies of Deltas as our multibody engine does, and loads their joints alike.

States are those of `moving_robots.py`; no body is balanced, gravity is tilted, motors have
rotors. Pinocchio's tree, and what it tells of forces, are those of
`test_dynamics_pinocchio.py`; where its bodies are and how they move, we are told.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from configurations import Numbers
from equations import acceleration
from moving_robots import DELTAS, STATES, Motions, motions, rigid_robot, split
from pinocchio_tree import AXES, Tree, closure, coordinates, pin
from scipy.spatial.transform import Rotation
from test_dynamics_pinocchio import all_states, mass_matrix, moving, weighed

from triskele.description.load import load
from triskele.multibody import Body, State, System, accelerations, from_robot, reactions, system
from triskele.multibody.primitives import Drive

pytestmark = pytest.mark.oracle

ROBOTS = tuple(name for name in DELTAS if name != "omron_mini_delta_platens")  # as flexible_delta
LOADED = "abb_irb360_6_1600"
TOLERANCE = 1e-8  # N, N m; of accelerations relative to the largest of a state


def uneven_motions(name: str, *, rotors: bool) -> Motions:
    """States of the shipped robot with the masses and the gravity of the uneven one."""
    given, uneven = motions(name, "shipped"), rigid_robot(name, "uneven")
    robot = eqx.tree_at(
        lambda robot: (robot.mechanism, robot.rotors),
        uneven,
        (given.robot.mechanism, uneven.rotors if rotors else jnp.zeros_like(uneven.rotors)),
    )
    return given._replace(robot=robot)


def absolute(name: str, given: Motions, *, prescribed: bool) -> tuple[System, tuple[Body, ...]]:
    """The same robot in absolute coordinates."""
    robot, shipped = given.robot, from_robot(load(name), friction=False)
    bodies, rotors = list(shipped.parts.bodies), iter(np.asarray(robot.rotors))
    for k, body in enumerate(bodies):
        if body.name in robot.mechanism.bodies:
            ten = np.array(robot.theta)[robot.mechanism.bodies.index(body.name)]
            ten = ten + np.asarray(robot.payload) if body.name == robot.carrier else ten
            bodies[k] = body._replace(ten=tuple(ten))
    joints = [
        joint._replace(rotor=float(next(rotors))) if joint.motor else joint
        for joint in shipped.parts.joints
    ]
    gravity, size = tuple(map(float, robot.gravity)), float(np.asarray(shipped.system.size))
    built, _ = system(name, bodies, joints, gravity=gravity, prescribed=prescribed, size=size)
    return built, tuple(bodies)


def told_motion(tree: Tree, bodies: tuple[Body, ...], *qva: Numbers) -> tuple[Any, Numbers]:
    """Pinocchio's state of our bodies, and accelerations (bodies, 6) of their centres of mass."""
    model, data, rows = tree.model, tree.model.createData(), []
    pin.forwardKinematics(model, data, *qva)
    pin.updateFramePlacements(model, data)
    for body in bodies:
        c, still = split(np.array(body.ten, float))[1], pin.Motion.Zero()
        place, twist, rate = pin.SE3.Identity(), still, still
        if body.name in tree.bodies:
            frame = model.getFrameId(body.name)
            place, twist = data.oMf[frame], pin.getFrameVelocity(model, data, frame, AXES)
            rate = pin.getFrameClassicalAcceleration(model, data, frame, AXES)
        R, w, wd, s = place.rotation, twist.angular, rate.angular, place.rotation @ c
        centre = rate.linear + np.cross(wd, s) + np.cross(w, np.cross(w, s))
        p = Rotation.from_matrix(R).as_quat(scalar_first=True)
        state = place.translation + s, p, twist.linear + np.cross(w, s), R.T @ w
        rows.append((*state, np.concatenate([centre, wd])))
    *state, rates = (np.array(part) for part in zip(*rows, strict=True))
    return tuple(state), rates


def stacked(states: list[Any]) -> State:
    return State(*(jnp.asarray(np.array(part)) for part in zip(*states, strict=True)))


@eqx.filter_jit
def twists(built: System, states: State, tau: Numbers) -> Numbers:
    def at(sample):
        return accelerations(built, *sample).twist

    return jax.lax.map(at, (states, tau))


@pytest.mark.parametrize("name", ROBOTS)
def test_pinocchio_accelerates_all_bodies_as_absolute_coordinates_do(name):
    given = uneven_motions(name, rotors=True)
    (built, bodies), tree = absolute(name, given, prescribed=False), weighed(given.robot)
    tau = 10.0 * np.random.default_rng(2).normal(size=given.q.shape)
    model, data, states, theirs = tree.model, tree.model.createData(), [], []
    for k in range(STATES):
        q = coordinates(tree, given.q[k], given.frames[k])
        v, _, J, _ = moving(tree, q, given.xd[k], given.xdd[k])
        _, g = closure(tree, data, q, v)
        M, h = mass_matrix(tree, data, q), pin.nonLinearEffects(model, data, q, v)
        a = acceleration(M, h, J, g, tree.motors, tau[k])
        for found, part in zip((states, theirs), told_motion(tree, bodies, q, v, a), strict=True):
            found.append(part)
    ours, theirs = np.asarray(twists(built, stacked(states), jnp.asarray(tau))), np.array(theirs)
    off = np.max(np.abs(ours - theirs).max(axis=(1, 2)) / np.abs(theirs).max(axis=(1, 2)))
    message = f"accelerations of {len(bodies)} bodies differ by {off:.1e} of those at each state"
    print(f"\n{name}: {message}, up to {np.abs(theirs).max():.0f} m/s^2 or rad/s^2")
    assert off < TOLERANCE, message


def test_pinocchio_needs_the_torques_of_absolute_coordinates_and_loads_joints_alike():
    given = uneven_motions(LOADED, rotors=False)
    (built, bodies), tree = absolute(LOADED, given, prescribed=True), weighed(given.robot)
    told, torques = all_states(given)
    states = []
    for k in range(STATES):
        q = coordinates(tree, given.q[k], given.frames[k])
        v, a, *_ = moving(tree, q, given.xd[k], given.xdd[k])
        states.append(told_motion(tree, bodies, q, v, a)[0])
    drive = Drive(*(jnp.asarray(part) for part in (given.q, given.qd, given.qdd)))
    found = reactions(built, stacked(states), drive=drive)
    off = np.abs(found.effort - torques).max()
    theirs = np.array([[one.joints[name] for name in found.joints] for one in told])
    worst = np.abs(np.concatenate([found.force, found.moment], axis=-1) - theirs).max()
    message = f"torques differ by {off:.1e} of {np.abs(torques).max():.0f} N m, loads by "
    message += f"{worst:.1e} of {np.abs(found.force).max():.0f} N"
    print(f"\n{LOADED}: {message}, {theirs[0].size} components")
    assert found.unique.all()
    assert max(off, worst) < TOLERANCE, message
