"""What a stage knows of any robot: which bodies loads colour, and which way the tool goes."""

import numpy as np
import pytest
from viser import ViserServer

from triskele.description.load import load
from triskele.errors import TriskeleError
from triskele.kinematics.build import build
from triskele.numerics import stacked
from triskele.viewer.scene import strut_bodies
from triskele.viewer.stage import Stage, free_axes
from triskele.viewer.swinging import swings


@pytest.mark.parametrize(
    ("name", "first", "count"),
    [
        ("stewart_6ups", ("cylinder_1", "piston_1"), 6),
        ("kossel_mini", ("rod_1a",), 6),
        ("compliant_3prs", ("bar_1",), 3),
        ("five_bar", ("rod_1",), 2),
        ("two_axis_delta", ("rod_1a",), 4),
    ],
)
def test_loads_colour_the_struts_with_all_their_bodies(name, first, count):
    found = strut_bodies(build(load(name)))
    assert len(found) == count
    assert found[first[0]] == first


@pytest.mark.parametrize(
    ("name", "free"),
    [
        ("flexible_delta", (True, True, True)),
        ("compliant_3prs", (True, True, True)),  # arcs about x and y, an arrow along z
        ("planar_3rrr", (True, True, False)),  # the arc about z is between x and y
        ("two_axis_delta", (True, False, True)),
        ("five_bar", (True, False, True)),  # in the axes of the rod that carries the tool: y is up
    ],
)
def test_the_handle_has_the_axes_that_the_tool_can_take(name, free):
    mechanism = build(load(name))
    assert free_axes(mechanism, np.asarray(stacked(mechanism.home()), float)) == free


def test_modes_without_any_spring_are_refused_with_a_sentence():
    robot = load("kossel_mini").model_copy(update={"sections": None, "motors": None})
    mechanism = build(robot)
    with pytest.raises(TriskeleError, match="states no stiffness"):
        swings(robot, mechanism, np.asarray(stacked(mechanism.home()), float))


@pytest.fixture(scope="module")
def server():
    opened = ViserServer(port=8390, verbose=False)
    yield opened
    opened.stop()


@pytest.mark.parametrize(
    ("name", "moved"),
    [
        ("five_bar", [0.01, 0.02]),
        pytest.param("planar_3rrr", [0.01, 0.02, 0.1], marks=pytest.mark.long),
        pytest.param("rps_3", [0.02, 0.05, -0.05], marks=pytest.mark.long),
        pytest.param("par4", [0.02, 0.03, 0.01, 0.2], marks=pytest.mark.long),
        pytest.param("stewart_6ups", [0.05, 0.02, 0.04, 0.05, 0.04, 0.1], marks=pytest.mark.long),
    ],
)
def test_a_hand_leads_the_tool_of_any_robot(server, name, moved):
    """The handle is put where another pose has the tool; the robot goes to that pose."""
    robot = load(name)
    stage = Stage(server, robot, build(robot))
    target = stage.home + np.array(moved)
    handle, tool = stage._handle, stage._tool
    stage.go(target)
    assert stage.reason == ""
    position, wxyz = np.array(handle.position), np.array(handle.wxyz)
    assert np.linalg.norm(position - stage.scene._frames[stage.mechanism.carrier].position) < 1e-12
    assert stage.scene.bodies[tool] == stage.mechanism.carrier
    stage.go(stage.home)
    stage._follow(position, wxyz)
    units = np.asarray(stacked(stage.mechanism.scales().platform), float)
    assert np.abs((stage.x - target) * units).max() < 2e-3 * stage.scene.size
    assert stage.reason == ""


def test_both_tubes_of_a_strut_take_the_colour_of_its_load(server):
    robot = load("rps_3")
    scene = Stage(server, robot, build(robot)).scene

    def shown():
        return {
            body: scene._shapes[body][0].color for pair in scene.struts.values() for body in pair
        }

    plain = shown()
    scene.shade({"cylinder_1": 1.0})
    assert shown()["cylinder_1"] == shown()["piston_1"] == (185, 28, 28)
    assert shown()["cylinder_2"] == shown()["piston_2"] != plain["cylinder_2"]
    scene.shade(None)
    assert shown() == plain
