"""Exudyn gets the bodies and joints of our multibody systems, and moves and loads them as we do.

Of single states its matrices are asked (`exudyn_system.py`). No body is balanced there, and
gravity is tilted. Its solver is asked about motions: of a five-bar, where steps can be short,
and of the D3S-800, that swings through singular poses with 18 redundant conditions.
"""

from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from configurations import Numbers, around_home
from exudyn_system import (
    Equations,
    Exudyn,
    accelerated,
    driven,
    equations,
    mobility_of,
    simulated,
    stress_of,
    translated,
    twists,
    wrenches,
)

from triskele.description.load import load
from triskele.description.schema import Payload
from triskele.multibody import (
    GROUND,
    Body,
    Joint,
    State,
    accelerations,
    frame_about,
    from_robot,
    mobility,
    reactions,
    simulate,
    system,
)
from triskele.multibody.from_robot import Parts, RobotSystem, robot_drive
from triskele.multibody.generalised_alpha import generalised_alpha
from triskele.multibody.primitives import Drive
from triskele.multibody.reactions import joint_wrenches
from triskele.multibody.system import conditions, motion_of
from triskele.testing.laws import random_poses

pytestmark = pytest.mark.oracle

ROBOTS = (
    ("d3s_800", "built"),
    ("d3s_800", "isostatic"),
    ("omron_mini_delta", "built"),
    ("omron_mini_delta", "distance"),
    ("abb_irb360_6_1600", "built"),
    ("compliant_3prs", "built"),
)
STATES = 4
TOLERANCE = 1e-9  # relative to the largest of a kind
GRAVITY = (1.0, -2.0, -9.0)
PAYLOAD = Payload(mass=1.0, inertia=(0.002, 0.002, 0.003))
CUT = 1e-7  # of a unit state of stress


class Asked(NamedTuple):
    """A robot of ours in some states, and what Exudyn says of them."""

    ours: RobotSystem
    x: Numbers
    xd: Numbers
    states: tuple[State, ...]
    theirs: tuple[tuple[Exudyn, Equations], ...]


@cache
def asked(name: str, rods: str) -> Asked:
    """Random states of a robot whose bodies are not balanced."""
    ours, random = uneven(name, rods, driven="efforts"), np.random.default_rng(3)
    with jax.disable_jit():
        box = around_home(ours.mechanism)
        x = random_poses(ours.mechanism, box, STATES, margin=0.1)
    xd = random.uniform(-2, 2, x.shape) * (box[:, 1] - box[:, 0])
    states = tuple(ours.at(tuple(a), tuple(b)) for a, b in zip(x, xd, strict=True))
    theirs = []
    for state in states:
        found = translated(*ours.parts, GRAVITY, state)
        theirs.append((found, equations(found)))
    return Asked(ours, x, xd, states, tuple(theirs))


def uneven(name: str, rods: str, driven: str) -> RobotSystem:
    """A shipped robot without friction and springs, masses fixed to all bodies, anywhere."""
    robot, random = load(name), np.random.default_rng(1)
    payload = PAYLOAD if name.startswith("abb") else None
    ours = from_robot(robot, payload, rods=rods, driven=driven, friction=False)
    size = float(np.asarray(ours.mechanism.scales().loops[0]))
    bodies = [loaded(body, size, random) for body in ours.parts.bodies]
    joints = [joint._replace(spring=None, bending=None) for joint in ours.parts.joints]
    if name == "compliant_3prs":  # its motors weigh 225 kg, but only along their slides
        joints = [joint._replace(rotor=0.0) for joint in joints]
    built, _ = system(
        name, bodies, joints, gravity=GRAVITY, prescribed=driven != "efforts", size=size
    )
    return RobotSystem(built, ours.mechanism, Parts(tuple(bodies), tuple(joints)))


def loaded(body: Body, size: float, random: np.random.Generator) -> Body:
    """`body`, and four masses fixed to it."""
    ten = np.array(body.ten, float)
    for m in 0.1 * max(float(ten[0]), 0.1) * random.uniform(0.5, 1.5, 4):
        r = size * random.uniform(-0.2, 0.2, 3)
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = m * (r @ r * np.eye(3) - np.outer(r, r))
        ten = ten + np.array([m, *(m * r), xx, yy, zz, xy, yz, xz])
    return body._replace(ten=tuple(ten))


def along_frames(ours: RobotSystem, state: State, vectors: Numbers) -> Numbers:
    """Vectors (joints, k, 3) of O, along the frames of the joints on their parents."""
    A = np.asarray(motion_of(ours.system, state).A)
    axes = [A[ours.system.body(joint.parent)] @ joint.frame for joint in ours.parts.joints]
    return np.einsum("jba,jkb->jka", np.array(axes), vectors)


def unique(ours: RobotSystem, state: State, theirs: tuple[Exudyn, Equations]) -> Numbers:
    """Components (joints, 2, 3) in which no stress of Exudyn's constraints appears."""
    felt = np.zeros((len(ours.parts.joints), 2, 3))
    for lam in stress_of(theirs[1]):
        felt = np.maximum(felt, np.abs(along_frames(ours, state, wrenches(*theirs, lam))))
    return felt < CUT


def relative(ours: Numbers, theirs: Numbers) -> float:
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


@pytest.mark.parametrize(("name", "rods"), ROBOTS)
def test_exudyn_counts_as_many_freedoms_and_redundant_conditions(name, rods):
    given = asked(name, rods)
    for state, (_, at) in zip(given.states, given.theirs, strict=True):
        assert max(at.gap, at.slip) < TOLERANCE, f"open by {at.gap:.1e}, {at.slip:.1e} per second"
        ours = mobility(given.ours.system, state)
        assert (ours.freedom, ours.redundant) == mobility_of(at)
        assert ours.freedom == len(given.ours.system.motors)
        assert ours.redundant == (18 if (name, rods) == ("d3s_800", "built") else 0)
    print(f"\n{name}, {rods}: {ours.freedom} freedoms, {ours.redundant} redundant conditions")


@pytest.mark.parametrize(("name", "rods"), ROBOTS)
def test_our_efforts_accelerate_the_bodies_of_exudyn_and_load_its_joints_as_ours(name, rods):
    given, random = asked(name, rods), np.random.default_rng(2)
    built, worst = given.ours.system, np.zeros(3)
    for state, theirs in zip(given.states, given.theirs, strict=True):
        tau = 5.0 * random.normal(size=len(built.motors))
        a, lam, misfit = accelerated(theirs[1], tau)
        assert misfit < TOLERANCE * np.abs(theirs[1].f).max(), "Exudyn's own equations"
        found = accelerations(built, state, jnp.asarray(tau))
        motion = motion_of(built, state)
        held = joint_wrenches(built, motion, conditions(built, motion), found.lam)
        loads = along_frames(given.ours, state, np.stack(held, axis=1))
        expected = along_frames(given.ours, state, wrenches(*theirs, lam))
        same = unique(given.ours, state, theirs)
        for j, joint in enumerate(given.ours.parts.joints):  # there it is the motor's
            same[j, 1] &= not (joint.motor and joint.kind == "spherical")
        off = [np.where(same, part, 0.0)[:, k] for part in (loads, expected) for k in (0, 1)]
        pairs = (found.twist, twists(*theirs, a)), (off[0], off[2]), (off[1], off[3])
        worst = np.maximum(worst, [relative(*pair) for pair in pairs])
    message = "accelerations, forces and moments differ by " + ", ".join(f"{p:.1e}" for p in worst)
    print(f"\n{name}, {rods}: {message} of the largest, {int(same.sum())} components of loads")
    assert worst.max() < TOLERANCE, message


@pytest.mark.parametrize(("name", "rods"), [ROBOTS[0], *ROBOTS[4:]])
def test_exudyn_needs_our_efforts_to_move_the_motors_and_knows_the_same_unique_loads(name, rods):
    given, random = asked(name, rods), np.random.default_rng(4)
    ours = uneven(name, rods, driven="motors")
    xdd = 20 * random.normal(size=given.x.shape)
    drive = [
        robot_drive(ours, tuple(x), tuple(xd), tuple(acceleration))
        for x, xd, acceleration in zip(given.x, given.xd, xdd, strict=True)
    ]
    drive = Drive(*(jnp.stack(part) for part in zip(*drive, strict=True)))
    states = jax.tree.map(lambda *leaves: jnp.stack(leaves), *given.states)
    frames = [(joint.frame, joint.child_frame) for joint in ours.parts.joints]
    found = reactions(ours.system, states, drive=drive, frames=frames)
    efforts, forces, expected = [], [], []
    same = unique(ours, given.states[0], given.theirs[0])
    for k, (state, theirs) in enumerate(zip(given.states, given.theirs, strict=True)):
        _, tau, lam, misfit = driven(theirs[1], np.asarray(drive.qdd[k]))
        assert misfit < TOLERANCE * np.abs(theirs[1].f).max(), "Exudyn's own equations"
        efforts.append(tau)
        for held, loads in ((found.force[k], forces), (wrenches(*theirs, lam)[:, 0], expected)):
            loads.append(np.where(same[:, 0], along_frames(ours, state, held[:, None])[:, 0], 0))
    off = relative(found.effort, np.array(efforts)), relative(np.array(forces), np.array(expected))
    message = f"efforts differ by {off[0]:.1e} of {np.abs(efforts).max():.0f} N m or N, forces by "
    message += f"{off[1]:.1e} of {np.abs(expected).max():.0f} N"
    print(f"\n{name}, {rods}: {message}; {int(same.sum())} components of loads are unique")
    assert max(off) < TOLERANCE, message
    assert np.array_equal(same.reshape(-1, 6), found.unique)
