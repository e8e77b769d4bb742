"""MuJoCo moves each robot as we do, and says what forces that takes.

It gets our table of joints, masses, and the motion of the motors. Velocities v and
accelerations a of its own tree follow from its own Jacobians, J v = 0 and J a + g = 0. Its
mass matrix and bias then give motors and loops, `equations.py`; its own solver, for which
loops are springs, is not asked.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest
from configurations import Numbers
from equations import acceleration, forces, relative, solved
from moving_robots import (
    CASES,
    DELTAS,
    STATES,
    Motions,
    compared,
    efforts,
    joint_loads,
    motions,
    pushed,
)
from mujoco_tree import Model, build_model, mujoco, positioned

from triskele.dynamics.reactions import Reactions

pytestmark = pytest.mark.oracle

PRS = "compliant_3prs"  # Pinocchio is asked about Deltas only
ROBOTS = (*DELTAS, PRS)
TOLERANCE = 1e-8  # N, N m; of accelerations relative to the largest of a state


class Dynamics(NamedTuple):
    """MuJoCo's equations at a state: M a + h = S' tau + J' lam, J a + g = 0."""

    M: Numbers
    h: Numbers
    J: Numbers
    g: Numbers


def weighed(given: Motions) -> Model:
    """The model, with orientations as in the first state."""
    return build_model(given.robot.mechanism.joints(), given.frames[0], given.robot)


def dynamics(robot: Model, given: Motions, k: int) -> tuple[Any, Dynamics]:
    """MuJoCo's data and equations at state k."""
    model, data = robot.model, positioned(robot, given.frames[k])
    J = connections(robot, data, mujoco.mj_jac)
    built = data.efc_J.reshape(data.nefc, model.nv)
    assert np.abs(np.abs(J) - np.abs(built)).max() < 1e-12, "not the loops that MuJoCo closes"
    system = np.concatenate([np.eye(model.nv)[robot.motor_speeds], J])
    v, misfit = solved(system, np.concatenate([given.qd[k], np.zeros(len(J))]))
    assert misfit < TOLERANCE, f"velocities of MuJoCo's tree: {misfit:.1e}"
    data.qvel[:] = v
    mujoco.mj_fwdVelocity(model, data)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    g = connections(robot, data, mujoco.mj_jacDot) @ v
    return data, Dynamics(M, data.qfrc_bias.copy(), J, g)


def connections(robot: Model, data: Any, jacobian: Any) -> Numbers:
    """Rows of all connects, child minus parent; of their rates if `jacobian` is mj_jacDot."""
    model, rows = robot.model, []
    for connect in robot.connects:
        ends = np.zeros((2, 3, model.nv))
        for end, name in zip(ends, (connect.parent, connect.child), strict=True):
            body = int(model.site(name).bodyid[0])
            jacobian(model, data, end, None, data.site(name).xpos, body)
        rows.append(ends[1] - ends[0])
    return np.concatenate(rows)


def loop_loads(robot: Model, data: Any, lam: Numbers) -> dict[str, Numbers]:
    """Force and moment (6,) on the child of each joint that closes a loop."""
    joints, points = {}, {}
    for connect, force in zip(robot.connects, lam.reshape(-1, 3), strict=True):
        place = data.site(connect.child).xpos
        lever = place - points.setdefault(connect.joint, place.copy())
        wrench = np.array([*force, *np.cross(lever, force)])
        joints[connect.joint] = joints.get(connect.joint, 0.0) + wrench
    return joints


def of_loops(loads: list[dict[str, Numbers]], ours: Reactions) -> tuple[float, int]:
    """Largest difference in joints that close loops, and how many components are compared."""
    names = [joint.name for joint in ours.joints]
    indices = [names.index(name) for name in loads[0]]
    theirs = np.array([list(one.values()) for one in loads])
    both = np.concatenate([ours.force, ours.moment], axis=-1)[:, indices]
    off = np.abs(both - theirs)[:, ours.unique[indices]]
    return float(off.max(initial=0.0)), int(compared(ours)[indices].sum())


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", ROBOTS)
def test_mujoco_needs_our_efforts_and_its_loops_carry_our_loads(name, case):
    given = motions(name, case)
    robot, theirs, loads = weighed(given), [], []
    for k in range(STATES):
        data, (M, h, J, g) = dynamics(robot, given, k)
        system = np.concatenate([np.eye(len(h))[robot.motor_speeds], J])
        a, unclosed = solved(system, np.concatenate([given.qdd[k], -g]))
        tau, lam, unbalanced = forces(M @ a + h, J, robot.motor_speeds)
        assert np.max([unclosed, unbalanced]) < TOLERANCE, "MuJoCo's own equations"
        theirs.append(tau)
        loads.append(loop_loads(robot, data, lam))
    off, ours = np.abs(efforts(name, case) - theirs).max(), joint_loads(name, case)
    worst, count = of_loops(loads, ours)
    message = f"efforts differ by {off:.1e} of {np.abs(theirs).max():.0f} N m or N, loads of loops "
    message += f"by {worst:.1e} of {np.abs(ours.force).max():.0f} N, {count} components"
    print(f"\n{name}, {case}: {message}")
    assert np.max([off, worst]) < TOLERANCE, message


def test_our_forces_accelerate_the_sliders_of_mujoco_as_ours():
    given, ours = motions(PRS, "uneven"), pushed(PRS, "uneven")
    robot, theirs = weighed(given), []
    motors = robot.motor_speeds
    for k in range(STATES):
        _, equations = dynamics(robot, given, k)
        theirs.append(acceleration(*equations, motors, ours.tau[k])[motors])
    off = relative(ours.qdd, np.array(theirs))
    message = f"accelerations differ by {off:.1e} of those at each state"
    print(f"\n{PRS}, uneven: {message}, up to {np.abs(ours.qdd).max():.0f} m/s^2")
    assert off < TOLERANCE, message
