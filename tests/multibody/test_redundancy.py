"""The D3S-800 (17 bodies): which conditions are redundant, and which reactions are unique.

Elshami et al., "Multibody Dynamics Modeling of Delta Robot with Experimental Validation", count
a norm of Euler parameters for each body: 17 rows more, of rank 17. A rod there is a connector here,
and their two forearms of a chain are our rods a and b.
"""

import numpy as np
import pytest

import triskele as tk
from triskele.multibody import Drive, Joint, State, frame_about, from_robot, mobility
from triskele.multibody.from_robot import robot_drive
from triskele.multibody.joints import system
from triskele.multibody.redundancy import _jacobian, self_stress, unique_rows
from triskele.studies.d3s800 import table_1

POSES = [(0.0, 0.0, -0.847), (0.1, 0.05, -0.847), (-0.2, 0.15, -0.75)]


@pytest.fixture(scope="module")
def robot():
    return tk.load("d3s_800")


@pytest.fixture(scope="module")
def built(robot):
    return from_robot(robot)


@pytest.fixture(scope="module")
def states(built):
    return [built.at(pose) for pose in POSES]


def counted(built, joints, states):
    """Rows, rank, freedom and redundancy with other joints; bodies that have none are left out."""
    held = {end for joint in joints for end in (joint.parent, joint.child)}
    kept = [k for k, body in enumerate(built.parts.bodies) if body.name in held]
    bodies = [built.parts.bodies[k] for k in kept]
    changed, _ = system("changed", bodies, joints, size=0.96)
    found = {
        mobility(changed, State(*(part[np.array(kept)] for part in state)))[1:5] for state in states
    }
    assert len(found) == 1
    return found.pop()


def test_as_built_18_of_117_conditions_are_redundant(built, states):
    for state in states:
        count = mobility(built.system, state)
        assert count[:5] == (17, 117, 99, 3, 18)
        assert count.gap > 1e6
        assert len(count.removable) == 18
        held = {f"{end}_rod_{i}{k}" for end in ("elbow", "wrist") for i in (1, 2, 3) for k in "ab"}
        held |= {f"hinge_rod_{i}{k}{end}" for i in (1, 2, 3) for k in "ab" for end in "ab"}
        assert set(count.stressed) == held | {f"motor_{i}" for i in (1, 2, 3)}
    assert str(mobility(built.system, states[0])).startswith(
        "17 bodies, 117 conditions of rank 99: 3 degrees of freedom, 18 redundant conditions"
    )


def test_without_what_could_be_left_out_nothing_is_redundant(built, states):
    names = [f"{j.name}, {label}" for j in built.system.joints for label in j.labels]
    rows = [row for joint in built.system.joints for row in joint.rows]
    spare = mobility(built.system, states[1]).removable
    kept = [row for row, name in zip(rows, names, strict=True) if name not in spare]
    J = np.asarray(_jacobian(built.system, states[1], None))
    assert np.linalg.matrix_rank(J[kept], 1e-9) == len(kept) == 99


def test_states_of_stress_are_as_many_as_redundant_conditions_and_move_nothing(built, states):
    J = np.asarray(_jacobian(built.system, states[1], None))
    stress = self_stress(J)
    assert np.allclose(stress.T @ stress, np.eye(18), rtol=0, atol=1e-12)
    assert np.allclose(J.T @ stress, 0, rtol=0, atol=1e-12)


@pytest.fixture(scope="module")
def isostatic(robot):
    return from_robot(robot, rods="isostatic")


def test_connectors_led_along_a_line_are_not_redundant(isostatic, states):
    for state in states:
        assert mobility(isostatic.system, state)[1:5] == (99, 99, 3, 0)
    assert str(mobility(isostatic.system, states[0])).endswith("no redundant conditions")
    assert unique_rows(isostatic.system, states[0]).all()


def test_keeping_each_parallelogram_plane_adds_three(isostatic, states):
    flat = [
        Joint(
            f"plane_{i}",
            "perpendicular",
            f"rod_{i}a",
            f"rod_{i}b",
            frame=frame_about((0.0, 0.0, 1.0)),
            child_frame=frame_about((1.0, 0.0, 0.0)),
        )
        for i in (1, 2, 3)
    ]
    joints = [*isostatic.parts.joints, *flat]
    assert counted(isostatic, joints, states) == (102, 99, 3, 3)


def without(built, *starts):
    return [joint for joint in built.parts.joints if not joint.name.startswith(starts)]


def test_without_connectors_the_rods_spin(built, states):
    assert counted(built, without(built, "hinge"), states) == (57, 57, 9, 0)


def test_the_joints_of_table_1_leave_18_degrees_of_freedom(built, states):
    """6 + 3 (5 + 3 + 5 + 5 + 5 + 3) conditions, all of 6 * 17 that do anything."""
    listed = table_1(built)
    assert {mobility(listed, state)[:5] for state in states} == {(17, 84, 84, 18, 0)}
    assert 6 * 17 - (6 + 3 * (5 + 3 + 5 + 5 + 5 + 3)) == 18


# Unique, in a system whose motors follow a given motion


@pytest.fixture(scope="module")
def driven(robot):
    """At 0.1 m/s on the line of the paper."""
    moving = from_robot(robot, driven="motors")
    x, xd = (-0.1, -0.1, -0.847), (0.0707, 0.0707, 0.0)
    return moving, moving.at(x, xd), Drive(*robot_drive(moving, x, xd, (0.0, 0.0, 0.0)))


def test_multipliers_are_unique_at_the_base_and_as_forces_and_efforts_of_the_arms_only(driven):
    moving, state, drive = driven
    unique = unique_rows(moving.system, state, drive)
    for joint in moving.system.joints:
        flags = unique[list(joint.rows)].tolist()
        if joint.name == "stand":
            assert flags == [True] * 6
        elif joint.name.startswith("motor"):  # force, moments across the axis, effort
            assert flags == [True, True, True, False, False, True]
        else:
            assert not any(flags)
    assert mobility(moving.system, state, drive)[1:5] == (120, 102, 0, 18)
