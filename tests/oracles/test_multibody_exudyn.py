"""Exudyn gets the bodies and joints of our multibody systems, and moves and loads them as we do.

Of single states its matrices are asked (`exudyn_system.py`); no body is balanced there, and
gravity is tilted. Its solver is asked about motions: of a linkage with all kinds of joints,
and of the D3S-800, that swings through singular poses with 18 redundant conditions.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from configurations import Numbers, around_home
from exudyn_system import (
    Equations,
    Exudyn,
    accelerated,
    counted,
    driven,
    equations,
    simulated,
    state_of,
    stress,
    translated,
    twists,
    wrenches,
)
from moving_robots import split

from triskele.description.load import load
from triskele.description.schema import Payload
from triskele.multibody import (
    GROUND,
    Body,
    Joint,
    State,
    System,
    accelerations,
    frame_about,
    from_robot,
    generalised_alpha,
    mobility,
    reactions,
    simulate,
    system,
)
from triskele.multibody.from_robot import Parts, RobotSystem, robot_drive
from triskele.multibody.integrate import Constant
from triskele.multibody.joints import KINDS
from triskele.multibody.primitives import Drive
from triskele.multibody.reactions import joint_wrenches
from triskele.multibody.system import conditions, motion_of

pytestmark = pytest.mark.oracle

STATES = 3
TOLERANCE = 1e-9  # relative to the largest of a kind
GRAVITY = (1.0, -2.0, -9.0)
PAYLOAD = Payload(mass=1.0, inertia=(0.002, 0.002, 0.003))
CUT = 1e-7  # of a unit state of stress

SWING, STEP = 0.3, 1e-4  # s, of the linkage
EFFORTS = (3.0, 12.0)  # N m of the crank, N of the lift
BEGIN = np.array([-0.3, 0.0])  # rad, m: where the motors are at rest
RISE = np.array([8.0, -3.0])  # rad/s^3, m/s^3

FALL = (0.1, 0.05, -0.847)  # m, where the D3S-800 is let go
AFTER = np.array([-0.360029543, -0.888853602, -0.561556080])  # m, where it is a second later
BEHIND = 2.745e-4  # m, that generalised alpha in steps of 1 ms is off by then
TOGETHER = 0.1  # s, that it runs here and there

X = np.array([1.0, 0.0, 0.0])
Theirs = tuple[Exudyn, Equations]


class Asked(NamedTuple):
    """A robot of ours in some states, and what Exudyn says of them."""

    ours: RobotSystem
    x: Numbers
    xd: Numbers
    states: State
    theirs: list[Theirs]


def asked(name: str, rods: str, drives: str) -> Asked:
    """Random states of a robot whose bodies are not balanced."""
    ours, random = uneven(name, rods, drives), np.random.default_rng(3)
    box = around_home(ours.mechanism)
    x = random.uniform(*box.T, (STATES, len(box)))
    xd = random.uniform(-2, 2, x.shape) * (box[:, 1] - box[:, 0])
    states = [ours.at(tuple(a), tuple(b)) for a, b in zip(x, xd, strict=True)]
    theirs = []
    for state in states:
        found = translated(*ours.parts, GRAVITY, state)
        theirs.append((found, equations(found)))
    return Asked(ours, x, xd, jax.tree.map(lambda *leaves: jnp.stack(leaves), *states), theirs)


def uneven(name: str, rods: str, drives: str) -> RobotSystem:
    """A shipped robot without friction, masses fixed to all its bodies, anywhere."""
    payload = PAYLOAD if name.startswith("abb") else None
    ours = from_robot(load(name), payload, rods=rods, driven=drives, friction=False)
    size, random = float(np.asarray(ours.system.size)), np.random.default_rng(1)
    bodies = tuple(loaded(body, size, random) for body in ours.parts.bodies)
    joints, prescribed = ours.parts.joints, drives == "motors"
    built, _ = system(name, bodies, joints, gravity=GRAVITY, prescribed=prescribed, size=size)
    return RobotSystem(built, ours.mechanism, Parts(bodies, joints))


def loaded(body: Body, size: float, random: np.random.Generator) -> Body:
    """`body`, and four masses fixed to it."""
    ten = np.array(body.ten, float)
    for m in 0.1 * max(float(ten[0]), 0.1) * random.uniform(0.5, 1.5, 4):
        r = size * random.uniform(-0.2, 0.2, 3)
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = m * (r @ r * np.eye(3) - np.outer(r, r))
        ten = ten + np.array([m, *(m * r), xx, yy, zz, xy, yz, xz])
    return body._replace(ten=tuple(ten))


@eqx.filter_jit
def pushed(built: System, states: State, tau: Numbers) -> tuple[Numbers, Numbers]:
    """Our accelerations (N, bodies, 6), and loads (N, joints, 2, 3) of the joints, in O."""

    def at(sample):
        state, efforts = sample
        found, motion = accelerations(built, state, efforts), motion_of(built, state)
        held = joint_wrenches(built, motion, conditions(built, motion), found.lam)
        return found.twist, jnp.stack(held, axis=1)

    return jax.lax.map(at, (states, tau))


def one(states: State, k: int) -> State:
    return jax.tree.map(lambda leaf: leaf[k], states)


def along_frames(built: System, joints: tuple[Joint, ...], state: State, vectors: Numbers):
    """Vectors (joints, k, 3) of O, along the frames of the joints on their parents."""
    A = np.asarray(motion_of(built, state).A)
    axes = [A[built.body(joint.parent)] @ joint.frame for joint in joints]
    return np.einsum("jba,jkb->jka", np.array(axes), np.asarray(vectors))


def unique(built: System, joints: tuple[Joint, ...], state: State, theirs: Theirs) -> Numbers:
    """Components (joints, 2, 3) in which no stress of Exudyn's constraints appears."""
    felt = [along_frames(built, joints, state, wrenches(*theirs, lam)) for lam in stress(theirs[1])]
    return np.abs(np.array([np.zeros((len(joints), 2, 3)), *felt])).max(axis=0) < CUT


def without_forks(joints: tuple[Joint, ...]) -> Numbers:
    """Components (joints, 2, 3), moments left out where a motor turns a cardan: they are its."""
    kept = np.ones((len(joints), 2, 3), bool)
    kept[[joint.motor and joint.kind == "spherical" for joint in joints], 1] = False
    return kept


def relative(ours: Numbers, theirs: Numbers) -> float:
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def pushed_alike(
    built: System, joints: tuple[Joint, ...], states: State, theirs: list[Theirs]
) -> tuple[Numbers, int]:
    """Largest differences of accelerations, forces and moments; components of loads compared."""
    tau = 5.0 * np.random.default_rng(2).normal(size=(len(theirs), len(built.motors)))
    twist, loads = pushed(built, states, jnp.asarray(tau))
    worst, count = [], 0
    for k, (other, at) in enumerate(theirs):
        assert max(at.gap, at.slip) < TOLERANCE, f"open by {at.gap:.1e}, {at.slip:.1e} per second"
        a, lam, misfit = accelerated(at, tau[k])
        assert misfit < TOLERANCE * np.abs(at.f).max(), "Exudyn's own equations"
        state, both = one(states, k), (loads[k], wrenches(other, at, lam))
        same = unique(built, joints, state, theirs[k]) & without_forks(joints)
        mine, told = (
            np.where(same, along_frames(built, joints, state, part), 0.0) for part in both
        )
        of_loads = (relative(mine[:, i], told[:, i]) for i in (0, 1))
        worst.append([relative(twist[k], twists(other, at, a)), *of_loads])
        count = int(same.sum())
    return np.max(worst, axis=0), count


@pytest.mark.parametrize(
    ("name", "rods"),
    [("d3s_800", "isostatic"), ("omron_mini_delta", "built"), ("abb_irb360_6_1600", "built")],
)
def test_exudyn_accelerates_the_bodies_of_robots_and_loads_their_joints_as_we_do(name, rods):
    given = asked(name, rods, "efforts")
    built, joints = given.ours.system, given.ours.parts.joints
    ours = mobility(built, one(given.states, 0))
    assert (ours.freedom, ours.redundant) == (len(built.motors), 0)
    assert all(counted(at) == (ours.freedom, 0) for _, at in given.theirs)
    worst, count = pushed_alike(built, joints, given.states, given.theirs)
    message = "accelerations, forces and moments differ by " + ", ".join(f"{p:.1e}" for p in worst)
    print(f"\n{name}, {rods}: {message} of the largest; {count} components of loads")
    assert worst.max() < TOLERANCE, message


def test_exudyn_needs_our_torques_and_knows_which_loads_are_unique():
    given = asked("d3s_800", "built", "motors")
    built, joints = given.ours.system, given.ours.parts.joints
    xdd = 20 * np.random.default_rng(4).normal(size=given.x.shape)
    rows = zip(given.x, given.xd, xdd, strict=True)
    motions = [robot_drive(given.ours, *map(tuple, row)) for row in rows]
    drive = Drive(*(jnp.stack(part) for part in zip(*motions, strict=True)))
    found = reactions(built, given.states, drive=drive)
    ours = mobility(built, one(given.states, 0), Drive(*(part[0] for part in drive)))
    assert (ours.freedom, ours.redundant) == (0, 18)
    efforts, loads, same = [], [], found.unique.reshape(-1, 2, 3)
    for k, (other, at) in enumerate(given.theirs):
        assert counted(at) == (len(built.motors), 18)
        state = one(given.states, k)
        tau, lam, misfit = driven(at, np.asarray(drive.qdd[k]))
        assert misfit < TOLERANCE * np.abs(at.f).max(), "Exudyn's own equations"
        assert np.array_equal(same, unique(built, joints, state, given.theirs[k]))
        mine = np.stack([found.force[k], found.moment[k]], axis=1)
        both = mine, wrenches(other, at, lam, tau)
        efforts.append(tau)
        loads.append([along_frames(built, joints, state, part)[same] for part in both])
    loads = np.array(loads)
    off = relative(found.effort, np.array(efforts)), relative(loads[:, 0], loads[:, 1])
    message = f"torques differ by {off[0]:.1e} of {np.abs(efforts).max():.0f} N m, loads by "
    message += f"{off[1]:.1e} of {np.abs(loads).max():.0f} N"
    print(f"\nd3s_800, built: {message}, {int(same.sum())} unique components of {same.size}")
    assert max(off) < TOLERANCE, message


# A linkage with all kinds of joints


def linkage() -> tuple[tuple[Body, ...], tuple[Joint, ...]]:
    """A platform on three cranks and rods, led along z; what hangs on it makes up the kinds.

    Crank 0 and the lift, to which a rod without mass ties the platform, have motors.
    """
    random, up, height = np.random.default_rng(5), np.array([0.0, 0.0, 1.0]), 0.5
    bodies, joints = [], []

    def body(name: str, mass: float, R: Numbers, place: Numbers) -> None:
        ten = np.array([mass, 0, 0, 0, *mass * np.array([0.02, 0.03, 0.04]), 0, 0, 0])
        bodies.append(loaded(Body(name, tuple(ten), np.column_stack([R, place])), 0.3, random))

    def join(name: str, kind: str, parent: str, child: str, *points: Numbers, **more: Any) -> None:
        joints.append(Joint(name, kind, parent, child, *points, **more))

    body("platform", 2.0, np.eye(3), height * up)
    for i in range(3):
        phi, q = 2 * np.pi * i / 3 + 0.2, 0.3 + 0.2 * i
        u, e = np.array([np.cos(phi), np.sin(phi), 0]), np.array([-np.sin(phi), np.cos(phi), 0])
        a, c, crank = 0.4 * u, 0.2 * u + 0.03 * i * up, np.cos(q) * u + np.sin(q) * up
        b = a + 0.2 * crank
        d = height * up + c - b
        rod = frame_about(np.cross(e, d), d)
        body(f"crank_{i}", 0.8, frame_about(e, crank), a)
        body(f"rod_{i}", 0.4, rod, b)
        turned = {"frame": frame_about(e, u), "motor": i == 0}
        join(f"hinge_{i}", "revolute", GROUND, f"crank_{i}", a, **turned)
        join(f"elbow_{i}", "universal", f"crank_{i}", f"rod_{i}", (0.2, 0.0, 0.0))
        join(f"ball_{i}", "spherical", f"rod_{i}", "platform", rod.T @ d, c)
    lift, eye, tie = np.array([0.3, -0.1, 0.2]), np.array([0.05, 0.02, -0.1]), frame_about(X + up)
    body("lift", 1.5, np.eye(3), lift)
    body("slider", 0.6, np.eye(3), 0.1 * X + height * up)
    body("tool", 0.3, tie, 0.2 * X + height * up)
    join("line", "inline", GROUND, "platform")
    square = {"frame": frame_about(X), "child_frame": frame_about(np.cross(up, X))}
    join("square", "perpendicular", GROUND, "platform", **square)
    join("mast", "prismatic", GROUND, "lift", lift, motor=True)
    length = float(np.linalg.norm(height * up + eye - lift))
    join("tie", "distance", "lift", "platform", np.zeros(3), eye, length=length)
    join("sleeve", "cylindrical", "platform", "slider", 0.1 * X, frame=tie, child_frame=tie)
    join("clamp", "fixed", "platform", "tool", 0.2 * X, frame=tie)
    return tuple(bodies), tuple(joints)


def test_exudyn_swings_a_linkage_with_all_kinds_of_joints_as_we_do():
    bodies, joints = linkage()
    assert {joint.kind for joint in joints} == set(KINDS) - {"path"}
    built, start = system("linkage", bodies, joints, gravity=GRAVITY)
    run = simulate(
        built, start, SWING, efforts=Constant(jnp.array(EFFORTS)), rate=100.0, tolerance=1e-11
    )
    theirs = translated(bodies, joints, GRAVITY, start)
    _, places, _ = simulated(theirs, SWING, STEP, tau=EFFORTS)
    off = np.abs(np.array([places[body.name][-1] for body in bodies]) - run.origins[-1]).max()
    states = jax.tree.map(lambda leaf: jnp.asarray(leaf[10::10]), run.states)
    told = [translated(bodies, joints, GRAVITY, one(states, k)) for k in range(len(states.r))]
    told = [(item, equations(item)) for item in told]
    found = mobility(built, one(states, 0))
    assert all(counted(at) == (found.freedom, found.redundant) == (5, 0) for _, at in told)
    worst, count = pushed_alike(built, joints, states, told)
    way = np.abs(run.origins[-1] - run.origins[0]).max()
    message = f"bodies differ by {off:.1e} m after {way:.2f} m; accelerations, forces and moments "
    message += "on the way by " + ", ".join(f"{p:.1e}" for p in worst)
    print(f"\nlinkage: {message} of the largest, {count} components of loads")
    assert off < 1e-6 and worst.max() < TOLERANCE, message


def test_exudyn_drives_the_linkage_with_our_efforts():
    bodies, joints = linkage()
    built, start = system("linkage", bodies, joints, gravity=GRAVITY, prescribed=True)
    signals = {
        name: lambda t, k=k: float(BEGIN[k] + RISE[k] * t**3)
        for k, name in enumerate(("hinge_0", "mast"))
    }
    theirs = translated(bodies, joints, GRAVITY, start, signals=signals)
    *_, lam = simulated(theirs, SWING, STEP)
    at = equations(theirs, SWING)
    states = State(*(jnp.asarray(part)[None] for part in state_of(theirs, at)))
    motion = BEGIN + RISE * SWING**3, 3 * RISE * SWING**2, 6 * RISE * SWING
    found = reactions(built, states, drive=Drive(*(jnp.asarray(part)[None] for part in motion)))
    expected = wrenches(theirs, at, lam)
    off = [relative(part[0], expected[:, k]) for k, part in enumerate((found.force, found.moment))]
    axes = along_frames(built, joints, one(states, 0), expected)
    crank, mast = (found.joints.index(motor) for motor in found.motors)
    efforts = np.array([axes[crank, 1, 2], axes[mast, 0, 2]])
    off.append(relative(found.effort[0], efforts))
    message = "forces, moments and efforts differ by " + ", ".join(f"{part:.1e}" for part in off)
    print(f"\nlinkage, driven: {message} of {np.abs(expected).max():.0f} N")
    assert max(off) < 1e-5, message


# The D3S-800, let go


def about_centres(parts: Parts) -> Parts:
    """The same parts, frames of the bodies moved to their centres of mass.

    How far generalised alpha is off depends on the points whose positions it integrates.
    """
    centres, bodies = {GROUND: np.zeros(3)}, []
    for body in parts.bodies:
        m, c, inertia = split(np.array(body.ten, float))
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia
        centres[body.name] = c
        bodies.append(body._replace(ten=(m, 0.0, 0.0, 0.0, xx, yy, zz, xy, yz, xz)))
    joints = tuple(
        joint._replace(
            point=np.array(joint.point) - centres[joint.parent],
            child_point=np.array(joint.child_point) - centres[joint.child],
        )
        for joint in parts.joints
    )
    return Parts(tuple(bodies), joints)


def test_generalised_alpha_of_exudyn_is_off_by_as_much_as_ours():
    robot = from_robot(load("d3s_800"))
    start, gravity = robot.at(FALL), np.asarray(robot.system.gravity)
    theirs = translated(*about_centres(robot.parts), gravity, start, turning="vector")
    t, places, _ = simulated(theirs, 1.0, 1e-3, redundant=True)
    ours = generalised_alpha(robot.system, start, TOGETHER, step=1e-3, every=10)
    last = np.linalg.norm(places["platform"][-1] - AFTER)
    mine = ours.origins[:, robot.system.bodies.index("platform")]
    off = np.linalg.norm(places["platform"][np.searchsorted(t, ours.t - 1e-9)] - mine, axis=1)
    message = f"after 1 s Exudyn is off by {last:.3e} m, from our generalised alpha it differs by "
    message += f"{off.max():.1e} m in {TOGETHER} s"
    print(f"\nd3s_800, full: {message}")
    assert abs(last - BEHIND) < 0.02 * BEHIND and off.max() < 1e-8, message
