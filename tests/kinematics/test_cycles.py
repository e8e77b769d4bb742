"""Motions that fit a robot: where they run, and what is said where it cannot follow."""

import re

import jax
import numpy as np
import pytest
from limb_robots import described

from triskele.description.load import load
from triskele.description.schema import Limits
from triskele.errors import InputError, OutOfReach
from triskele.kinematics.build import build
from triskele.kinematics.cycles import (
    check_motion,
    joint_motion_along,
    joint_sine,
    largest_pick,
    pick_and_place,
    rating_cycle,
)
from triskele.kinematics.mechanism import Coordinate
from triskele.kinematics.motion import RATED_LENGTH, line

DELTAS = {  # z of a quarter above the floor of the workspace, and its diameter [m]
    "abb_irb360_1130": (-0.70, 1.13),
    "abb_irb360_6_1600": (-1.025, 1.6),
    "d3s_800": (-0.95, 0.8),
    "flexible_delta": (-0.65, 0.2),
    "omron_mini_delta": (-0.4125, 0.4),
    "omron_mini_delta_platens": (-0.4125, 0.4),
}
D3S = load("d3s_800")


def span(motion, k):
    """Least and greatest value of coordinate `k`."""
    values = np.asarray(motion.x[:, k])
    return pytest.approx((values.min(), values.max()), abs=1e-9)


@pytest.mark.parametrize("name", DELTAS)
def test_pick_and_place_fits_the_workspace_of_each_delta(name):
    robot = load(name)
    motion = pick_and_place(robot, rate=20)
    level, width = DELTAS[name]
    assert span(motion, 0) == (0, 0)
    assert span(motion, 1) == (-width / 4, width / 4)
    assert span(motion, 2) == (level, level + width / 8)
    assert np.asarray(motion.x[[0, -1], 2]) == pytest.approx(level, abs=1e-12)
    assert float(motion.duration) == 1
    check_motion(build(robot), robot.limits, motion)


def test_pick_and_place_is_as_asked():
    motion = pick_and_place(
        D3S, length=0.3, height=0.05, level=-0.9, duration=0.4, radius=0.02, back=True, rate=100
    )
    assert span(motion, 1) == (-0.15, 0.15)
    assert span(motion, 2) == (-0.9, -0.85)
    assert float(motion.duration) == pytest.approx(0.8)
    assert np.asarray(motion.x[0]) == pytest.approx(np.asarray(motion.x[-1]), abs=1e-12)
    assert np.asarray(motion.x[len(motion.t) // 2]) == pytest.approx([0, 0.15, -0.9], abs=1e-12)


def test_a_robot_without_a_workspace_starts_at_home_and_is_as_wide_as_its_rods():
    robot = D3S.model_copy(update={"limits": Limits()})
    motion = pick_and_place(robot, rate=20)
    home = float(build(robot).home()[2])
    assert span(motion, 1) == (-0.24, 0.24)
    assert span(motion, 2) == (home, home + 0.12)


def test_the_rating_cycle_is_25_305_25():
    motion = rating_cycle(D3S, duration=0.5, rate=400)
    assert span(motion, 1) == (-0.1525, 0.1525)
    assert span(motion, 2) == (-0.95, -0.925)
    assert float(motion.duration) == 0.5
    x = np.asarray(motion.x)
    assert x == pytest.approx(x[::-1], abs=1e-9)  # back the same way
    assert x[100] == pytest.approx([0, 0.1525, -0.95], abs=1e-9)
    assert rating_cycle(D3S, level=-0.8, cycles=3, rate=20).duration == 3


def test_the_rating_cycle_may_turn_the_flange():
    motion = rating_cycle(load("abb_irb360_6_1600"), turn=np.pi / 2, rate=100)
    assert span(motion, 3) == (0, np.pi / 2)


@pytest.mark.parametrize("length", [0.0, -0.3, float("nan")])
def test_a_length_that_is_none_is_refused(length):
    with pytest.raises(InputError, match="length"):
        pick_and_place(D3S, length=length)


def test_a_3prs_is_refused_with_a_sentence():
    for make in (pick_and_place, rating_cycle):
        with pytest.raises(InputError) as caught:
            make(load("compliant_3prs"))
        assert str(caught.value) == (
            "compliant_3prs does not move along x or y; a pick needs x or y, and z."
        )


def test_a_pick_in_a_vertical_plane_is_that_of_space_seen_from_the_side():
    """Up along z, across along x: the columns of a Delta's pick along y."""
    plane = described("two_axis_delta")
    options = {"length": 0.3, "height": 0.05, "level": -0.45, "rate": 100}
    flat, deep = pick_and_place(plane, **options), pick_and_place(D3S, **options)
    assert flat.names == ("x", "z")
    assert np.allclose(flat.x, np.asarray(deep.x)[:, 1:], rtol=0, atol=1e-15)
    assert np.allclose(flat.xddd, np.asarray(deep.xddd)[:, 1:], rtol=0, atol=1e-9)
    check_motion(build(plane), plane.limits, flat)
    cycle = rating_cycle(plane, rate=100)
    assert span(cycle, 0) == (-0.1525, 0.1525)
    assert span(cycle, 1) == (-0.4, -0.375)
    with pytest.raises(InputError, match="The tool of two_axis_delta does not turn about z"):
        rating_cycle(plane, turn=1.0)


@pytest.mark.parametrize("name", ["kossel_mini", "orthoglide"])
def test_the_largest_pick_fits_and_a_millimetre_more_does_not(name):
    robot = load(name)
    length = largest_pick(robot)
    assert 0.1 < length < RATED_LENGTH
    for longer in (0.0, 1e-3):
        way = length + longer
        pick = pick_and_place(robot, length=way, height=way * 25 / 305, rate=100)
        if longer:
            with pytest.raises(OutOfReach):
                check_motion(build(robot), robot.limits, pick)
        else:
            check_motion(build(robot), robot.limits, pick)


def test_a_plane_that_stands_has_its_height_by_gravity():
    """A five-bar that works upright: y rises, x crosses; as wide as its longer rod."""
    standing = described("five_bar").model_copy(update={"gravity": (0.0, -9.81, 0.0)})
    motion = pick_and_place(standing, rate=100)
    assert span(motion, 0) == (-0.26 / 4, 0.26 / 4)
    assert span(motion, 1) == (0.3, 0.3 + 0.26 / 8)
    check_motion(build(standing), standing.limits, motion)
    for make in (pick_and_place, rating_cycle):
        with pytest.raises(InputError) as caught:
            make(described("five_bar"))
        assert str(caught.value) == ("five_bar does not move along z; a pick needs x or y, and z.")


def test_a_hexapod_keeps_its_orientation_and_turns_about_the_vertical():
    """Other coordinates stay at home, 3, -4 and 5 deg; c is what turns the tool."""
    robot = described("6ups")
    home = np.radians([3, -4, 5])
    motion = pick_and_place(robot, length=0.2, rate=100)
    assert np.allclose(np.asarray(motion.x)[:, 3:], home)
    assert (span(motion, 1), span(motion, 2)) == ((-0.1, 0.1), (0.6, 0.65))
    turned = rating_cycle(robot, turn=0.2, rate=100)
    assert span(turned, 5) == (home[2], home[2] + 0.2)
    assert np.allclose(np.asarray(turned.x)[:, 3:5], home[:2])


def test_a_motion_out_of_reach_is_refused_with_time_and_reason():
    mechanism = build(D3S)
    motion = line([0, 0, -0.9], [0, 0.8, -0.9], duration=2.0, rate=50)
    with pytest.raises(OutOfReach) as caught:
        check_motion(mechanism, D3S.limits, motion)
    found = re.fullmatch(
        r"The motion leaves the reach of the robot between t = (\S+) and 2 s; worst at 2 s: "
        r"the tilt of rod 1 would be (\S+) deg, allowed is at most 40 deg\.",
        str(caught.value),
    )
    assert found is not None
    # The rod of 0.96 m tilts by 40 deg where y = 0.96 sin 40 deg.
    y = np.interp(float(found[1]), motion.t, motion.x[:, 1])
    assert y == pytest.approx(0.96 * np.sin(np.radians(40)), abs=0.03)
    assert float(found[2]) == pytest.approx(np.degrees(np.arcsin(0.8 / 0.96)), abs=0.01)


def test_a_motion_in_other_coordinates_is_refused():
    with pytest.raises(InputError) as caught:
        check_motion(build(load("compliant_3prs")), Limits(), pick_and_place(D3S, rate=20))
    assert str(caught.value) == "The motion is in x, y, z; this robot moves in z, psi, theta."


def test_a_motion_in_other_units_is_refused():
    x, _ = build(described("five_bar")).platform_coordinates
    wrong = line([0.0, 0.3], [0.01, 0.3], duration=1.0, coordinates=(x, Coordinate("y", "rad")))
    with pytest.raises(InputError) as caught:
        check_motion(build(described("five_bar")), Limits(), wrong)
    assert str(caught.value) == (
        "The motion is in x [m], y [rad]; this robot moves in x [m], y [m]."
    )


def test_joints_along_a_motion_are_the_inverse_and_its_derivatives():
    mechanism = build(D3S)
    motion = line([0.1, -0.2, -0.95], [0, 0.2, -0.85], duration=1, rate=400)
    q, qd, qdd, qddd = (np.asarray(part) for part in joint_motion_along(mechanism, motion))
    assert q.shape == qddd.shape == (401, 3)
    i = 137
    assert q[i] == pytest.approx(np.asarray(mechanism.inverse(motion.x[i]).checked()), abs=1e-12)
    step = float(motion.t[1])
    for order, slope in ((q, qd), (qd, qdd), (qdd, qddd)):
        difference = (order[2:] - order[:-2]) / (2 * step)
        assert difference == pytest.approx(slope[1:-1], abs=2e-3 * np.abs(slope).max())


def test_motions_need_no_compilation_by_xla_and_another_geometry_is_not_traced_again():
    events: list[str] = []

    def note(event: str, duration_secs: float, **_: str | int) -> None:
        events.append(event)

    jax.monitoring.register_event_duration_secs_listener(note)
    for length, arm in ((0.3, 0.37), (0.4, 0.38)):
        geometry = D3S.geometry.model_copy(update={"arm_length": (arm,) * 3})
        robot = D3S.model_copy(update={"geometry": geometry})
        motion, mechanism = pick_and_place(robot, length=length, rate=23), build(robot)
        events.clear()
        joint_motion_along(mechanism, motion)
        assert not [event for event in events if "backend_compile" in event]
        assert length == 0.3 or not [event for event in events if "trace" in event]


# Joints that move as sines


@pytest.mark.long
def test_joints_move_as_sines_and_the_platform_follows():
    """Sliders of the 3PRS a third of a turn apart: what comes back are these sines."""
    mechanism = build(load("compliant_3prs"))
    phase, w = np.radians([0, -120, -240]), np.pi
    motion = joint_sine(mechanism, (2e-3,) * 3, frequency=0.5, phase=phase, duration=2.0, rate=31.5)
    assert motion.names == ("z", "psi", "theta")
    joints, home = joint_motion_along(mechanism, motion), 0.125137 - 0.04761 - 0.109215 / 2**0.5
    angle = w * np.asarray(motion.t)[:, None] + phase
    assert np.allclose(joints.q, home + 2e-3 * np.sin(angle), rtol=0, atol=1e-12)
    assert np.allclose(joints.qd, 2e-3 * w * np.cos(angle), rtol=0, atol=1e-11)
    assert np.allclose(joints.qdd, -2e-3 * w**2 * np.sin(angle), rtol=0, atol=1e-10)
    tilt = np.degrees(np.linalg.norm(np.asarray(motion.x)[:, 1:], axis=1))
    assert tilt == pytest.approx(np.degrees(2e-3 / 0.04761), rel=0.04)  # of small angles


@pytest.mark.long
def test_joints_that_would_move_too_far_are_refused():
    mechanism = build(load("compliant_3prs"))
    with pytest.raises(OutOfReach, match="loops cannot be closed"):
        joint_sine(mechanism, (0.2,) * 3, frequency=0.5, duration=2.0, rate=31.5)
