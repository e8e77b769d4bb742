"""Pinocchio builds each Delta as a tree from its lengths, and closes the loops itself.

Motor angles and the turns of the bodies in one another are ours. Pinocchio then finds where
everything is, and, from its own Jacobians, how fast it moves when one motor runs at unit speed
and all loops stay closed.
"""

import numpy as np
import pytest
from configurations import Numbers, Ours, robot
from equations import solved
from pinocchio_tree import AXES, Tree, build_tree, closure, coordinates, pin

from triskele.description import catalogue
from triskele.description.load import load
from triskele.kinematics.delta import Delta

pytestmark = pytest.mark.oracle

DELTAS = tuple(name for name in catalogue.names() if load(name).kind == "delta")
TOLERANCE = 1e-9  # m; m/s and rad/s per unit of motor speed


def positions_off(tree: Tree, ours: Ours) -> tuple[float, float]:
    """Largest differences of frames [m, -], and of points that should meet [m]."""
    model, data = tree.model, tree.model.createData()
    pin.framesForwardKinematics(model, data, coordinates(tree, ours.q, ours.frames))
    frames = [
        data.oMf[model.getFrameId(name)].homogeneous[:3] - ours.frames[name] for name in tree.bodies
    ]
    gaps = [
        data.oMf[loop.child].translation - data.oMf[loop.parent].translation
        for loop in tree.loops
        if loop.kind == "meet"
    ]
    return float(np.abs(frames).max()), float(np.abs(gaps).max())


def joint_velocities(tree: Tree, q: Numbers) -> tuple[Numbers, float]:
    """Pinocchio's joint velocities (nv, n) per unit of motor speed, and what does not fit."""
    nv = tree.model.nv
    J, _ = closure(tree, tree.model.createData(), q, np.zeros(nv))
    system = np.concatenate([np.eye(nv)[tree.motors], J])
    return solved(system, np.eye(len(system), len(tree.motors)))


def velocities_off(tree: Tree, ours: Ours) -> dict[str, float]:
    """Largest difference of the twist of each body, and of the equations for them."""
    model, data = tree.model, tree.model.createData()
    q = coordinates(tree, ours.q, ours.frames)
    velocities, misfit = joint_velocities(tree, q)
    found: dict[str, list[Numbers]] = {name: [] for name in tree.bodies}
    for velocity in velocities.T:
        pin.forwardKinematics(model, data, q, velocity)
        for name in tree.bodies:
            twist = pin.getFrameVelocity(model, data, model.getFrameId(name), AXES)
            found[name].append(twist.vector)
    return {"equations": misfit} | {
        name: float(np.abs(np.transpose(found[name]) - ours.twists[name]).max())
        for name in tree.bodies
    }


def delta_robot(name: str) -> tuple[Delta, tuple[Ours, ...]]:
    mechanism, answers = robot(name)
    assert isinstance(mechanism, Delta)
    return mechanism, answers


@pytest.mark.parametrize("name", DELTAS)
def test_pinocchio_finds_our_bodies_and_closed_loops(name):
    delta, answers = delta_robot(name)
    tree = build_tree(delta)
    assert set(tree.bodies) == set(delta.bodies)
    frames, gaps = np.max([positions_off(tree, ours) for ours in answers], axis=0)
    print(f"\n{name}: frames differ by {frames:.1e}, loops are open by {gaps:.1e} m")
    assert max(frames, gaps) < TOLERANCE, f"frames: {frames:.1e}, loops: {gaps:.1e} m"


@pytest.mark.parametrize("name", DELTAS)
def test_pinocchio_moves_all_bodies_as_we_do(name):
    delta, answers = delta_robot(name)
    tree = build_tree(delta)
    found = [velocities_off(tree, ours) for ours in answers]
    worst = {part: max(off[part] for off in found) for part in found[0]}
    part = max(worst, key=lambda key: worst[key])
    message = f"platform: {worst['platform']:.1e}; largest, {part}: {worst[part]:.1e}"
    print(f"\n{name}: velocities differ by (m/s, rad/s per unit of motor speed) {message}")
    assert worst[part] < TOLERANCE, message


@pytest.mark.parametrize("name", DELTAS)
def test_pinocchio_notices_a_rod_that_is_a_millimetre_longer(name):
    delta, answers = delta_robot(name)
    tree = build_tree(delta, longer=1e-3)
    assert max(positions_off(tree, answers[1])) > 1e-4
    off = velocities_off(tree, answers[1])
    assert max(off.values()) > 1e-5, f"velocities: {off}"
