"""Pinocchio moves each Delta as we do, and says what forces that takes.

It gets the pose and the motion of the platform. Velocities v and accelerations a of its own
tree follow from its own equations, J v = 0 and J a + g = 0, and its forces from

    M a + h = S' tau + J' lam          S: rows of the motors                           (1)

M a + h is its recursive Newton-Euler algorithm; tau are the motors, lam the loops, found
together. Given lam as forces on the bodies, the same algorithm says what all joints carry.
Forward dynamics solves (1) for a.

Rods in pairs turn as a universal joint at their elbow makes them. One at the wrist makes them
turn in the same way, and takes the same torques. Between balls alone they would not spin:
then a holds their spin, as (1) asks, and torques differ by what it takes to spin a rod.
"""

from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
import pytest
from configurations import Numbers
from dynamics import closed_form as thin_delta
from equations import acceleration, forces, relative, solved
from moving_robots import (
    CASES,
    DELTAS,
    STATES,
    Motions,
    bodies,
    closed_form_loads,
    compared,
    efforts,
    evaluated,
    joint_loads,
    motions,
    pushed,
    split,
)
from pinocchio_tree import AXES, Tree, build_tree, closure, coordinates, pin, square_axis

from triskele.dynamics.reactions import Reactions
from triskele.dynamics.robot import RigidRobot
from triskele.dynamics.rod_loads import RodLoads, has_rod_loads

pytestmark = pytest.mark.oracle

TOLERANCE = 1e-8  # N, N m; of accelerations relative to the largest of a state
SPIN = 2e-4  # N m, to spin rods
PAIRS = ("abb_irb360_6_1600", "omron_mini_delta")
THIN = ("omron_mini_delta", "flexible_delta")  # have a closed form if their rods are thin


class Told(NamedTuple):
    """What Pinocchio says of one state."""

    tau: Numbers
    joints: dict[str, Numbers]  #: force and moment (6,) of each joint, from parent to child
    payload: Numbers  #: force and moment that move it, at the origin of its carrier
    misfit: float  #: of the equations that were solved [m/s, m/s^2, N, N m and the like]


def weighed(robot: RigidRobot, **options: Any) -> Tree:
    """The tree of a robot with its masses and motors, carrying its payload."""
    tree = build_tree(robot.mechanism, bodies(robot), **options)
    model = tree.model
    carried = np.asarray(robot.payload)
    if carried[0]:
        carrier = model.getJointId(robot.carrier)
        model.appendBodyToJoint(carrier, pin.Inertia(*split(carried)), pin.SE3.Identity())
    model.gravity.linear = np.asarray(robot.gravity)
    armature = np.zeros(model.nv)
    armature[tree.motors] = np.asarray(robot.rotors)
    model.armature = armature
    return tree


def told(tree: Tree, given: Motions, k: int) -> Told:
    """Forces of state k."""
    model, data = tree.model, tree.model.createData()
    q = coordinates(tree, given.q[k], given.frames[k])
    v, a, J, unclosed = moving(tree, q, given.xd[k], given.xdd[k])
    tau, lam, unbalanced = forces(pin.rnea(model, data, q, v, a), J, tree.motors)
    closure(tree, data, q, v)  # places the frames
    loops, external = looped(tree, data, lam)
    left = pin.rnea(model, data, q, v, a, external)
    left[tree.motors] -= tau
    joints = {ours: carried(model, data, joint) for ours, joint in tree.held.items()}
    for name, wrench in loops.items():
        joints[name] = joints.get(name, 0.0) + wrench
    payload = moved(data, model.getJointId(given.robot.carrier), np.asarray(given.robot.payload))
    return Told(tau, joints, payload, float(np.max([unclosed, unbalanced, np.abs(left).max()])))


def moving(
    tree: Tree, q: Numbers, xd: Numbers, xdd: Numbers
) -> tuple[Numbers, Numbers, Numbers, float]:
    """v, a, J of the platform motion, and what does not fit in the equations for them."""
    model, data = tree.model, tree.model.createData()
    J, _ = closure(tree, data, q, np.zeros(model.nv))
    system = np.concatenate([np.eye(model.nv)[tree.platform], J])
    v, first = solved(system, np.concatenate([xd, np.zeros(len(J))]))
    _, g = closure(tree, data, q, v)
    a, second = solved(system, np.concatenate([xdd, -g]))
    return v, a, J, float(np.max([first, second]))


def looped(tree: Tree, data: Any, lam: Numbers) -> tuple[dict[str, Numbers], list[Any]]:
    """Force and moment (6,) on the child of each closed joint, and both ends as loads."""
    joints, points = {}, {}
    loads = [pin.Force.Zero() for _ in range(tree.model.njoints)]
    shares = np.split(lam, np.cumsum([loop.rows for loop in tree.loops])[:-1])
    for loop, share in zip(tree.loops, shares, strict=True):
        place, force, moment = data.oMf[loop.child].translation, np.zeros(3), np.zeros(3)
        if loop.kind == "meet":
            force = share
        else:
            moment = share[0] * square_axis(data, loop)
        wrench = pin.SE3(np.eye(3), place).act(pin.Force(force, moment))
        for end, sign in ((loop.child, 1.0), (loop.parent, -1.0)):
            body = tree.model.frames[end].parentJoint
            loads[body] += pin.Force(sign * data.oMi[body].actInv(wrench).vector)
        lever = place - points.setdefault(loop.joint, place)
        wrench = np.array([*force, *(moment + np.cross(lever, force))])
        joints[loop.joint] = joints.get(loop.joint, 0.0) + wrench
    return joints, loads


def carried(model: Any, data: Any, joint: str) -> Numbers:
    """Force and moment (6,) that a joint of the tree hands to its child, in O, at its origin."""
    number = model.getJointId(joint)
    turn, wrench = data.oMi[number].rotation, data.f[number]
    return np.concatenate([turn @ wrench.linear, turn @ wrench.angular])


def moved(data: Any, body: int, ten: Numbers) -> Numbers:
    """Force and moment (6,), in O, that move what has these ten parameters with a body."""
    inertia, v, turn = pin.Inertia(*split(ten)), data.v[body], data.oMi[body].rotation
    wrench = inertia * data.a_gf[body] + v.cross(inertia * v)
    return np.concatenate([turn @ wrench.linear, turn @ wrench.angular])


def unspun(tree: Tree, given: Motions, k: int) -> Numbers:
    """Torques of state k if rods hang between balls and do not spin: (1) for a, tau and lam."""
    model, data = tree.model, tree.model.createData()
    q = coordinates(tree, given.q[k], given.frames[k])
    J, _ = closure(tree, data, q, np.zeros(model.nv))
    spins = []
    for rod in (model.getFrameId(body) for body in tree.bodies if body.startswith("rod")):
        e = data.oMf[rod].rotation[:, 0]
        spins.append(e @ pin.getFrameJacobian(model, data, rod, AXES)[3:])
    xs, motors = (np.eye(model.nv)[places] for places in (tree.platform, tree.motors))
    rows = np.concatenate([xs, J, spins])
    v, _ = solved(rows, np.concatenate([given.xd[k], np.zeros(len(rows) - len(xs))]))
    _, g = closure(tree, data, q, v)
    n, nothing = len(motors), np.zeros((len(xs) + len(J), len(motors) + len(J)))
    system = np.block(
        [[mass_matrix(tree, data, q), -motors.T, -J.T], [np.concatenate([xs, J]), nothing]]
    )
    h = pin.nonLinearEffects(model, data, q, v)
    found, misfit = solved(system, np.concatenate([-h, given.xdd[k], -g]))
    assert misfit < TOLERANCE
    return found[model.nv : model.nv + n]


def mass_matrix(tree: Tree, data: Any, q: Numbers) -> Numbers:
    M = np.triu(pin.crba(tree.model, data, q))
    return M + np.triu(M, 1).T


# Differences


def of_joints(all_told: list[Told], ours: Reactions) -> float:
    """Largest difference of forces and moments in joints, where rigid bodies have but one."""
    names = [joint.name for joint in ours.joints]
    assert set(names) == set(all_told[0].joints)
    theirs = np.array([[one.joints[name] for name in names] for one in all_told])
    both = np.concatenate([ours.force, ours.moment], axis=-1)
    return float(np.abs(both - theirs)[:, ours.unique].max())


def of_closed_form(all_told: list[Told], given: Motions, ours: RodLoads) -> float:
    """Largest difference from the closed form: rods, flange and telescope."""
    pairs = []
    rods = [body for body in given.robot.mechanism.bodies if body.startswith("rod")]
    for i, rod in enumerate(rods):
        e = np.array([frames[rod][:, 0] for frames in given.frames])
        for end, along, across in (
            ("wrist", ours.lower[i], ours.lower_lateral[i]),
            ("elbow", -ours.upper[i], ours.upper_lateral[i]),
        ):
            force = np.array([one.joints[f"{end}_{rod}"][:3] for one in all_told])
            tension = np.sum(force * e, axis=1)
            pairs += [(along, tension), (_rows(across), force - tension[:, None] * e)]
    turning = "flange" in all_told[0].joints
    held = np.array([one.joints["flange"] if turning else one.payload for one in all_told])
    lever = np.array([0, 0, float(given.robot.flange_height)])
    bar = np.array([one.joints["cardan"][:3] if turning else np.zeros(3) for one in all_told])
    pairs += [
        (_rows(ours.flange_force), held[:, :3]),
        (_rows(ours.flange_moment), held[:, 3:] - np.cross(lever, held[:, :3])),
        (_rows(ours.bar_force), bar),
    ]
    return float(np.max([np.abs(mine - theirs).max() for mine, theirs in pairs]))


def _rows(triple: tuple[Numbers, ...]) -> Numbers:
    return np.stack(triple, axis=-1)


def all_states(given: Motions, **options: Any) -> tuple[list[Told], Numbers]:
    """What Pinocchio says of all states, and its torques (N, n)."""
    tree = weighed(given.robot, **options)
    all_told = [told(tree, given, k) for k in range(STATES)]
    misfit = np.max([one.misfit for one in all_told])
    assert misfit < TOLERANCE, f"Pinocchio's own equations: {misfit:.1e}"
    return all_told, np.array([one.tau for one in all_told])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", DELTAS)
def test_pinocchio_needs_our_torques_and_its_joints_carry_our_loads(name, case):
    given = motions(name, case)
    all_told, theirs = all_states(given)
    off, ours = np.abs(efforts(name, case) - theirs).max(), joint_loads(name, case)
    loads = {"joints": of_joints(all_told, ours)}
    if has_rod_loads(given.robot):
        loads["closed form"] = of_closed_form(all_told, given, closed_form_loads(name, case))
    message = (
        f"torques differ by {off:.1e} of {np.abs(theirs).max():.0f} N m, loads by "
        + ", ".join(f"{value:.1e} ({part})" for part, value in loads.items())
        + f" of {np.abs(ours.force).max():.0f} N, {compared(ours).sum()} components"
    )
    print(f"\n{name}, {case}: {message}")
    assert np.max([off, *loads.values()]) < TOLERANCE, message


@pytest.mark.parametrize(
    ("name", "case"), [("abb_irb360_6_1600", "shipped"), *((name, "uneven") for name in DELTAS)]
)
def test_our_torques_accelerate_pinocchio_as_us(name, case):
    given, ours = motions(name, case), pushed(name, case)
    tree = weighed(given.robot)
    model, data, theirs = tree.model, tree.model.createData(), []
    for k in range(STATES):
        q = coordinates(tree, given.q[k], given.frames[k])
        v, _, J, _ = moving(tree, q, given.xd[k], given.xdd[k])
        _, g = closure(tree, data, q, v)
        M, h = mass_matrix(tree, data, q), pin.nonLinearEffects(model, data, q, v)
        theirs.append(acceleration(M, h, J, g, tree.motors, ours.tau[k])[tree.platform])
    off = relative(ours.xdd, np.array(theirs))
    message = f"accelerations differ by {off:.1e} of those at each state"
    print(f"\n{name}, {case}: {message}, up to {np.abs(ours.xdd).max():.0f} m/s^2")
    assert off < TOLERANCE, message


@pytest.mark.parametrize("name", DELTAS)
def test_pinocchio_has_one_mass_matrix(name):
    given = motions(name, "uneven")
    tree = weighed(given.robot)
    model, data = tree.model, tree.model.createData()
    model.gravity.linear = np.zeros(3)
    q, still = coordinates(tree, given.q[0], given.frames[0]), np.zeros(tree.model.nv)
    columns = [pin.rnea(model, data, q, still, unit).copy() for unit in np.eye(model.nv)]
    assert np.abs(mass_matrix(tree, data, q) - np.transpose(columns)).max() < 1e-12


@pytest.mark.parametrize("name", PAIRS)
def test_only_spinning_the_rods_depends_on_their_joints(name):
    off = {}
    for spun_by, case in (("elbow", "thin"), ("wrist", "thin"), ("wrist", "shipped")):
        _, theirs = all_states(motions(name, case), spun_by=spun_by)
        off[f"{spun_by}, {case}"] = np.abs(efforts(name, case) - theirs).max()
    given = motions(name, "shipped")
    tree = weighed(given.robot, spun_by="free")
    free = np.array([unspun(tree, given, k) for k in range(STATES)])
    spin = np.abs(efforts(name, "shipped") - free).max()
    listed = ", ".join(f"{value:.1e} ({part})" for part, value in off.items())
    print(f"\n{name}: torques differ by {listed}; {spin:.1e} N m if rods do not spin")
    assert np.max(list(off.values())) < TOLERANCE, listed
    assert TOLERANCE < spin < SPIN, f"{spin:.1e} N m to spin the rods"


@pytest.mark.parametrize("name", THIN)
def test_pinocchio_needs_the_torques_of_the_closed_form_for_thin_rods(name):
    given = motions(name, "uneven_thin")
    closed = thin_delta.of(given.robot)
    assert closed is not None
    states = given.x, given.xd, given.xdd
    ours = _rows(evaluated(eqx.Partial(closed.inverse_dynamics), *states))
    _, theirs = all_states(given)
    off = np.abs(ours - theirs).max()
    back = _rows(evaluated(eqx.Partial(closed.forward_dynamics), given.x, given.xd, theirs))
    returned = np.abs(back - given.xdd).max() / np.abs(given.xdd).max()
    message = f"torques differ by {off:.1e} of {np.abs(theirs).max():.0f} N m"
    message += f", accelerations by {returned:.1e} of the largest"
    print(f"\n{name}, thin rods in closed form: {message}")
    assert np.max([off, returned]) < TOLERANCE, message
