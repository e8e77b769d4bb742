"""Pictures of a motion: each shows the sample it belongs to, with its loads and its limit."""

import itertools

import numpy as np
import pytest

from triskele.description.load import load
from triskele.kinematics.build import build
from triskele.kinematics.motion import circle, sine
from triskele.kinematics.path import Line
from triskele.kinematics.solids import body_frames
from triskele.planning.plan import plan
from triskele.planning.replay import replay
from triskele.viewer.played import bent, play
from triskele.viewer.scene import strut_bodies
from triskele.viewer.swinging import swings


@pytest.fixture(scope="module")
def shown():
    robot = load("flexible_delta")
    motion = circle((0.0, 0.0, -0.5), 0.08, period=0.5)
    return robot, play(robot, build(robot), motion, title="circle")


def test_pictures_are_evenly_spaced_samples(shown):
    _, found = shown
    assert found.duration == pytest.approx(0.5)
    assert len(found.picture) == 101
    assert np.allclose(np.diff(found.t), 0.005)
    k = found.at(0.25)
    assert found.t[k] == pytest.approx(0.25, abs=0.003)
    assert np.allclose(found.x[k], [-0.08, 0, -0.5], atol=2e-3)
    assert found.at(9.0) == 100


def test_frames_are_those_of_the_samples(shown):
    robot, found = shown
    assert np.allclose(found.frames[7], body_frames(build(robot), found.x[7:8])[0])


def test_tensions_and_the_binding_limit_are_those_of_the_sample(shown):
    robot, found = shown
    k = 40
    sample, rods = found.picture[k], found.demands.loads.rods
    tensions = found.tensions(k)
    assert tuple(tensions) == rods.names
    expected = np.where(
        np.abs(rods.lower[sample]) > np.abs(rods.upper[sample]),
        rods.lower[sample],
        rods.upper[sample],
    )
    assert np.array_equal(list(tensions.values()), expected)
    assert found.strongest(robot) == pytest.approx(rods.peak.max())
    limit, use = found.binding(k)
    uses = {item.limit: item.use[sample] for item in found.demands.series if not item.average}
    assert use == max(uses.values()) == uses[limit]


def test_a_limit_of_the_file_scales_the_colours():
    robot = load("abb_irb360_6_1600")
    limits = robot.limits
    found = play(robot, build(robot), circle((0.0, 0.0, -1.0, 0.0), 0.05, period=1.0, rate=50))
    assert found.strongest(robot) == pytest.approx(limits.rod_force * (1 - limits.margin))


def test_a_plan_is_played_by_its_replay():
    robot = load("abb_irb360_6_1600")
    path = Line([0.0, -0.1, -1.0, 0.0], [0.0, 0.1, -1.0, 0.0])
    shown = replay(plan(robot, path, cells=40), rate=1000.0)
    found = play(robot, build(robot), shown)
    assert found.motion is shown.motion
    assert found.demands is not None
    assert found.demands.tau is shown.demands.tau
    assert max(use.use for use in found.demands.limits) == pytest.approx(1.0, abs=1e-9)


def test_a_file_without_bodies_plays_without_loads_and_says_why():
    robot = load("abb_irb360_1130")
    found = play(robot, build(robot), circle((0.0, 0.0, -0.8), 0.05, period=1.0, rate=50))
    assert found.demands is None
    assert "bodies" in found.why_not
    assert found.tensions(0) is None and found.binding(0) is None


def test_a_robot_without_rods_has_no_tensions():
    robot = load("compliant_3prs")
    mechanism = build(robot)
    home = np.array([float(value) for value in mechanism.home()])
    motion = sine(
        home,
        (1e-3, 0.0, 0.0),
        frequency=2.0,
        duration=0.5,
        rate=50,
        coordinates=mechanism.platform_coordinates,
    )
    found = play(robot, mechanism, motion)
    assert found.tensions(0) is None
    assert found.demands.tau.shape[1] == 3


def test_tensions_of_struts_are_those_that_the_scene_colours():
    robot = load("rps_3")
    mechanism = build(robot)
    home = np.array([float(value) for value in mechanism.home()])
    named = mechanism.platform_coordinates
    motion = sine(home, (0.05, 0.0, 0.0), frequency=1.0, rate=20, duration=1.0, coordinates=named)
    found = play(robot, mechanism, motion)
    tensions = found.tensions(0)
    assert set(tensions) == set(strut_bodies(mechanism)) == {f"cylinder_{i}" for i in (1, 2, 3)}
    assert max(tensions.values()) < 0  # they carry the platform


def test_bending_is_zero_straight_and_moves_the_platform_by_its_sag(shown):
    robot, found = shown
    bending = bent(robot, found, None, lambda _: None).bending
    assert bending.names == (*(f"arm_{i}" for i in (1, 2, 3)), *(f"rod_{i}" for i in (1, 2, 3)))
    wrists = bending.straight[:, 3:, -1]
    radius = np.linalg.norm(wrists[..., :2] - found.x[:, None, :2], axis=-1)
    assert np.allclose(radius, 0.05, atol=1e-9)
    moved = bending.moved[:, 3:, -1].mean(axis=1)
    assert np.allclose(moved, bending.platform[:, :3], atol=1e-9)
    assert (bending.platform[:, 2] < -1e-3).all()  # it hangs


def test_modes_of_links_and_of_springs():
    robot = load("flexible_delta")
    x = np.array([0.0, 0.0, -0.5])
    found = swings(robot, build(robot), x)
    assert all(a.frequency <= b.frequency for a, b in itertools.pairwise(found))
    for swing in found:
        assert np.linalg.norm(swing.bending.moved, axis=-1).max() == pytest.approx(1.0)
    table = load("compliant_3prs")
    mechanism = build(table)
    home = np.array([float(value) for value in mechanism.home()])
    sprung = swings(table, mechanism, home)
    assert len(sprung) == 6
    assert {swing.name.split(", ")[1] for swing in sprung} == {"drives free", "motors locked"}
    assert all(np.abs(swing.along).max() > 0 for swing in sprung)
