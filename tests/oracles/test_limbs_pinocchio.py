"""Pinocchio moves robots of every architecture as we do, and says what forces that takes.

It gets our table of joints, the bodies at home, their masses, and the motion of the motors: q, qd
and qdd. Its own tree then closes its loops (`limb_tree.py`), velocities and accelerations follow
from its own equations, J v = 0 and J a + g = 0, and forces from

    M a + h = S' tau + J' lam          S: rows of the motors                           (1)

as in `test_dynamics_pinocchio.py`. Poses, accelerations, torques, and what all joints and struts
carry are compared; forward dynamics solves (1) for a. Where joints are redundant, what they carry
is compared in the components that rigid bodies determine.
"""

from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
import pytest
from configurations import Numbers
from equations import acceleration, forces, relative, solved
from limb_motions import STATES, efforts, motions, origins, pushed, rigid_robot
from limb_robots import SAMPLES
from limb_tree import LimbTree, build_limb_tree, coordinates
from moving_robots import Motions, bodies, compared, split
from pinocchio_tree import AXES, closure, pin
from test_dynamics_pinocchio import looped, mass_matrix

from triskele.dynamics.reactions import Reactions, reactions
from triskele.dynamics.rod_loads import has_rod_loads, rod_loads
from triskele.dynamics.torques import load_vectors
from triskele.numerics import tabulate

pytestmark = pytest.mark.oracle

POSES = 1e-12  # m, and of axes
TOLERANCE = 1e-8  # of torques and accelerations, relative to the largest of a robot
LOADS = 1e-7  # of loads, likewise
MISFIT = 1e-8  # of Pinocchio's own equations, likewise


class Told(NamedTuple):
    """What Pinocchio says of one state."""

    tau: Numbers
    frames: dict[str, Numbers]  #: (3, 4) of each body
    origins: Numbers  #: accelerations (bodies, 3)
    joints: dict[str, Numbers]  #: force and moment (6,) of each joint, from parent to child
    payload: Numbers  #: force and moment (6,) that move it, at the origin of its carrier
    misfit: float  #: of the equations that were solved


def weighed(given: Motions) -> LimbTree:
    """The tree of a robot with its masses and motors, carrying its payload."""
    robot, tree = given.robot, build_limb_tree(given.robot.mechanism)
    model = tree.model
    parts = [*bodies(robot).items(), (robot.carrier, np.asarray(robot.payload))]
    for body, ten in parts:
        if ten[0]:
            frame = model.frames[model.getFrameId(body)]
            model.appendBodyToJoint(frame.parentJoint, pin.Inertia(*split(ten)), frame.placement)
    model.gravity.linear = np.asarray(robot.gravity)
    armature = np.zeros(model.nv)
    armature[tree.motors] = np.asarray(robot.rotors)
    model.armature = armature
    return tree


def moving(tree: LimbTree, given: Motions, k: int) -> tuple[tuple[Numbers, ...], Numbers, float]:
    """(q, v, a) and J of state k, and what does not fit in the equations for v and a."""
    model, data = tree.model, tree.model.createData()
    q = coordinates(tree, given.q[k])
    J, _ = closure(tree, data, q, np.zeros(model.nv))
    system = np.concatenate([np.eye(model.nv)[tree.motors], J])
    v, first = solved(system, np.concatenate([given.qd[k], np.zeros(len(J))]))
    _, g = closure(tree, data, q, v)
    a, second = solved(system, np.concatenate([given.qdd[k], -g]))
    return (q, v, a), J, max(first, second) / np.abs(a).max()


def told(tree: LimbTree, given: Motions, k: int) -> Told:
    """Motion and forces of state k."""
    model, data = tree.model, tree.model.createData()
    (q, v, a), J, unclosed = moving(tree, given, k)
    needed = pin.rnea(model, data, q, v, a)
    tau, lam, unbalanced = forces(needed, J, tree.motors)
    pin.forwardKinematics(model, data, q, v, a)  # accelerations without gravity
    pin.updateFramePlacements(model, data)
    numbers = [model.getFrameId(body) for body in given.robot.mechanism.bodies]
    rates = [pin.getFrameClassicalAcceleration(model, data, number, AXES) for number in numbers]
    frames = [data.oMf[number] for number in numbers]
    payload = moved(data, model.frames[model.getFrameId(given.robot.carrier)], given)
    closure(tree, data, q, v)  # places the frames
    joints, external = looped(tree, data, lam)
    left = pin.rnea(model, data, q, v, a, external)
    left[tree.motors] -= tau
    joints |= carried(tree, data)
    misfit = max(unclosed, max(unbalanced, np.abs(left).max()) / np.abs(needed).max())
    return Told(
        tau,
        {
            name: np.column_stack([T.rotation, T.translation])
            for name, T in zip(given.robot.mechanism.bodies, frames, strict=True)
        },
        np.array([rate.linear for rate in rates]),
        joints,
        payload,
        misfit,
    )


def moved(data: Any, carrier: Any, given: Motions) -> Numbers:
    """Force and moment (6,), in O, that move the payload with the frame `carrier`."""
    body, place = carrier.parentJoint, carrier.placement
    inertia, v = place.act(pin.Inertia(*split(np.asarray(given.robot.payload)))), data.v[body]
    wrench = place.actInv(inertia * data.a_gf[body] + v.cross(inertia * v))
    turn = data.oMi[body].rotation @ place.rotation
    return np.concatenate([turn @ wrench.linear, turn @ wrench.angular])


def carried(tree: LimbTree, data: Any) -> dict[str, Numbers]:
    """Force and moment (6,) on our child of each joint of the tree, in O, at its point there."""
    found = {}
    for name, held in tree.held.items():
        number = tree.model.getJointId(held.body)
        place, wrench = data.oMi[number], data.f[number]
        force, moment = place.rotation @ wrench.linear, place.rotation @ wrench.angular
        moment = moment + np.cross(place.translation - data.oMf[held.point].translation, force)
        found[name] = np.concatenate([force, moment]) * (-1.0 if held.turned else 1.0)
    return found


# Differences


def of_joints(all_told: list[Told], ours: Reactions) -> float:
    """Largest difference of forces and moments in joints, where rigid bodies have but one."""
    names = [joint.name for joint in ours.joints]
    assert set(names) == set(all_told[0].joints)
    theirs = np.array([[one.joints[name] for name in names] for one in all_told])
    both = np.concatenate([ours.force, ours.moment], axis=-1)
    return float(np.abs(both - theirs)[:, ours.unique].max())


def of_struts(all_told: list[Told], given: Motions, ours: Reactions) -> float:
    """Of the tensions of struts at both ends, and of force and moment at flange or payload."""
    mechanism, pairs = given.robot.mechanism, []
    found = load_vectors(given.robot, given.x, given.xd, given.xdd)
    names = [joint.name for joint in ours.joints]
    assert found.rods is not None
    for k, strut in enumerate(mechanism.struts):
        for tension, end, sign in zip(found.rods, (strut.lower, strut.upper), (1, -1), strict=True):
            if ours.unique[names.index(end), :3].all():
                axes = [one.frames[strut.body][:, 0] for one in all_told]
                forces = [one.joints[end][:3] for one in all_told]
                pairs.append((tension[:, k], sign * np.sum(np.multiply(forces, axes), axis=1)))
    held, pose = mechanism.flange, [one.frames[mechanism.platform][:, :3] for one in all_told]
    wrenches = np.array([one.joints[held] if held else one.payload for one in all_told])
    force, moment = (np.einsum("nji,nj->ni", pose, part) for part in np.split(wrenches, 2, axis=1))
    moment = moment - np.cross([0, 0, float(given.robot.flange_height)], force)
    pairs += [(found.flange_force, force), (found.flange_moment, moment)]
    if has_rod_loads(given.robot):
        law = eqx.Partial(rod_loads, given.robot)
        closed = tabulate(law)(given.x, given.xd, given.xdd)
        columns = (closed.lower, closed.upper, closed.flange_force, closed.flange_moment)
        exact = (*found.rods, force, moment)
        pairs += [(np.stack(a, axis=-1), b) for a, b in zip(columns, exact, strict=True)]
    return max(float(np.abs(ours - theirs).max()) for ours, theirs in pairs)


def test_the_closed_form_of_rod_loads_serves_deltas_of_any_kind():
    closed = {name for name in SAMPLES if has_rod_loads(rigid_robot(name))}
    deltas = {"delta", "linear_delta", "keops", "orthoglide", "mixed_delta", "telescope_delta"}
    assert closed == deltas


@pytest.mark.parametrize("name", SAMPLES)
def test_pinocchio_moves_as_we_do_needs_our_efforts_and_its_joints_carry_our_loads(name):
    given = motions(name)
    tree = weighed(given)
    all_told = [told(tree, given, k) for k in range(STATES)]
    misfit = max(one.misfit for one in all_told)
    assert misfit < MISFIT, f"Pinocchio's own equations: {misfit:.1e}"
    placed = max(
        np.abs(one.frames[body] - T).max()
        for one, frames in zip(all_told, given.frames, strict=True)
        for body, T in frames.items()
    )
    theirs = np.array([one.origins for one in all_told])
    speeding = np.abs(origins(name) - theirs).max() / np.abs(theirs).max()
    tau = np.array([one.tau for one in all_told])
    loads = reactions(given.robot, given.x, given.xd, given.xdd)
    both = efforts(name), loads.drive_efforts() + np.asarray(given.robot.rotors) * given.qdd
    off = max(np.abs(ours - tau).max() for ours in both) / np.abs(tau).max()
    size = np.abs(loads.force).max()
    joints, struts = of_joints(all_told, loads) / size, of_struts(all_told, given, loads) / size
    message = (
        f"poses differ by {placed:.1e} m, accelerations by {speeding:.1e}, efforts by {off:.1e} of "
        f"{np.abs(tau).max():.0f} N m or N, loads by {joints:.1e} (joints), {struts:.1e} (struts) "
        f"of {size:.0f} N, {compared(loads).sum()} components"
    )
    print(f"\n{name}: {message}")
    assert placed < POSES, message
    assert max(speeding, off) < TOLERANCE, message
    assert max(joints, struts) < LOADS, message


@pytest.mark.parametrize("name", SAMPLES)
def test_our_efforts_accelerate_pinocchio_as_us(name):
    given, ours = motions(name), pushed(name)
    tree, theirs = weighed(given), []
    model, data = tree.model, tree.model.createData()
    for k in range(STATES):
        (q, v, _), J, _ = moving(tree, given, k)
        _, g = closure(tree, data, q, v)
        M, h = mass_matrix(tree, data, q), pin.nonLinearEffects(model, data, q, v)
        theirs.append(acceleration(M, h, J, g, tree.motors, ours.tau[k])[tree.motors])
    off = relative(ours.qdd, np.array(theirs))
    message = f"accelerations differ by {off:.1e} of those at each state"
    print(f"\n{name}: {message}, up to {np.abs(ours.qdd).max():.0f} rad/s^2 or m/s^2")
    assert off < TOLERANCE, message
