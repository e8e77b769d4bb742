"""Figures: every axis has its unit, every file is what its name says.

Workspace and joint motion are made up: it is the drawing that is tested.
"""

import numpy as np
import pytest
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.axes3d import Axes3D

from triskele.description.load import load
from triskele.errors import InputError
from triskele.kinematics.build import build
from triskele.kinematics.cycles import JointMotion
from triskele.kinematics.motion import line
from triskele.kinematics.workspace import Workspace
from triskele.numerics import stacked
from triskele.reports.figures import (
    FORMATS,
    body_lines,
    is_figure,
    motion_figure,
    robot_figure,
    save_figure,
    workspace_figure,
)

TELESCOPE, SINGLE_ROD, PRS = ROBOTS = ("abb_irb360_6_1600", "flexible_delta", "compliant_3prs")
SPACE = {"x [mm]", "y [mm]", "z [mm]"}
RNG = np.random.default_rng(0)

by_robot = pytest.mark.parametrize("name", ROBOTS)


def drawn(name):
    """Robot, mechanism and home pose."""
    robot = load(name)
    mechanism = build(robot)
    return robot, mechanism, stacked(mechanism.home())


def ball(mechanism, home) -> Workspace:
    """A workspace of 0.1 m, or as many radians, around home."""
    names, units = zip(*mechanism.platform_coordinates[:3], strict=True)
    middle = np.asarray(home)[:3]
    x, y, z = (np.linspace(value - 0.15, value + 0.15, 13) for value in middle)
    parts = np.meshgrid(x, y, z, indexing="ij")
    away = np.stack(parts, axis=-1) - middle
    slack = 1 - (away**2).sum(axis=-1) / 0.01
    return Workspace((x, y, z), slack, 0.0042, 1e-5, names, units)


def labels(figure: Figure) -> list[set[str]]:
    """Labels of each of the axes, without empty ones."""
    found = []
    for axes in figure.axes:
        names = {axes.get_xlabel(), axes.get_ylabel()}
        names |= {axes.get_zlabel()} if isinstance(axes, Axes3D) else set()
        found.append(names - {""})
    return found


def saved(figure: Figure, folder, suffix=".png") -> bytes:
    path = save_figure(figure, folder / f"figure{suffix}")
    assert [item.name for item in folder.iterdir()] == [path.name]
    return path.read_bytes()


def is_png(content: bytes) -> bool:
    return content.startswith(b"\x89PNG\r\n\x1a\n") and content.endswith(b"IEND\xaeB`\x82")


@by_robot
def test_a_robot_in_perspective_and_from_above(tmp_path, name):
    robot, mechanism, home = drawn(name)
    figure = robot_figure(robot, mechanism, home)
    assert labels(figure) == [SPACE, {"x [mm]", "y [mm]"}]
    assert robot.title in figure.get_suptitle()
    assert " z = " in figure.get_suptitle().replace("at z", " z")
    assert " mm" in figure.get_suptitle()
    assert is_png(saved(figure, tmp_path))


@by_robot
def test_a_workspace_in_sections(tmp_path, name):
    robot, mechanism, home = drawn(name)
    figure = workspace_figure(robot, mechanism, ball(mechanism, home), home)
    whole, *sections = labels(figure)
    assert whole == SPACE
    sections.remove({"room under the nearest limit [1]"})
    planes = {
        PRS: ({"z [mm]", "theta [deg]"}, {"z [mm]", "psi [deg]"}, {"psi [deg]", "theta [deg]"}),
    }.get(name, ({"x [mm]", "z [mm]"}, {"x [mm]", "y [mm]"}, {"y [mm]", "z [mm]"}))
    assert tuple(sections) == planes
    unit = "m rad²" if name == PRS else "m³"
    assert f"0.0042 ± 1e-05 {unit}" in figure.get_suptitle()
    assert is_png(saved(figure, tmp_path))


@by_robot
def test_a_motion_in_platform_and_joint_coordinates(tmp_path, name):
    robot, mechanism, home = drawn(name)
    coordinates = mechanism.platform_coordinates
    motion = line(home, home + 0.01, duration=1.0, rate=30, coordinates=coordinates)
    n = len(mechanism.joint_coordinates)
    joints = JointMotion(*RNG.normal(size=(4, len(motion.t), n)))  # pyright: ignore[reportArgumentType]
    figure = motion_figure(robot, mechanism, motion, joints)
    left, right = labels(figure)[:8:2], labels(figure)[1:8:2]
    lengths = [{"position [mm]"}, {"velocity [m/s]"}, {"acceleration [m/s²]"}, {"jerk [m/s³]"}]
    angles = [
        *({"position [deg]"}, {"velocity [deg/s]"}),
        *({"acceleration [deg/s²]"}, {"jerk [deg/s³]"}),
    ]
    time = {"time [s]"}
    assert left == [*lengths[:3], lengths[3] | time]
    expected = lengths if name == PRS else angles
    assert right == [*expected[:3], expected[3] | time]
    twins = labels(figure)[8:]  # angles beside lengths, on a scale of their own
    assert twins == ([] if name == SINGLE_ROD else angles)
    assert is_png(saved(figure, tmp_path))


def test_a_coordinate_that_rests_has_no_scale_of_its_own():
    robot, mechanism, home = drawn(TELESCOPE)
    motion = line(home, home + np.array([0, 0, 0.01, 0]), duration=1.0, rate=30)
    joints = JointMotion(*np.zeros((4, len(motion.t), 4)))  # pyright: ignore[reportArgumentType]
    assert len(motion_figure(robot, mechanism, motion, joints).axes) == 8


@pytest.mark.parametrize("suffix", FORMATS)
def test_each_format_is_what_it_says_and_the_same_every_time(tmp_path, suffix):
    robot, mechanism, home = drawn(SINGLE_ROD)
    mark = {".png": b"\x89PNG\r\n\x1a\n", ".svg": b"<?xml", ".pdf": b"%PDF-"}[suffix]
    content = saved(robot_figure(robot, mechanism, home), tmp_path, suffix)
    assert content.startswith(mark)
    if suffix == ".png":
        assert content == saved(robot_figure(robot, mechanism, home), tmp_path, suffix)


@pytest.mark.parametrize("name", ["figure.jpg", "figure", "figure.png.txt"])
def test_other_formats_are_refused(tmp_path, name):
    assert not is_figure(tmp_path / name)
    with pytest.raises(InputError, match=r"figures end in \.png, \.svg, \.pdf\."):
        save_figure(Figure(), tmp_path / name)
    with pytest.raises(InputError, match="does not exist"):
        save_figure(Figure(), tmp_path / "nowhere" / "figure.png")
    assert list(tmp_path.iterdir()) == []


# What is drawn


@by_robot
def test_links_are_drawn_in_their_length(name):
    robot, mechanism, home = drawn(name)
    lengths = {"arm": "arm_length", "rod": "rod_length", "bar": "bar_length"}
    drawn_links = 0
    for body, segments in body_lines(mechanism, home):
        kind = lengths.get(body.split("_")[0])
        if kind is None:
            continue
        expected = getattr(robot.geometry, kind)[0]
        start, end = segments[0]
        assert np.linalg.norm(end - start) == pytest.approx(expected, abs=1e-12), body
        drawn_links += 1
    assert drawn_links == {TELESCOPE: 9, SINGLE_ROD: 6, PRS: 3}[name]


@by_robot
def test_base_and_platform_are_closed_outlines(name):
    _, mechanism, home = drawn(name)
    bodies = dict(body_lines(mechanism, home))
    for body in ("base", "platform"):
        first = bodies[body][0][0]
        count = next(k for k, (_, end) in enumerate(bodies[body], 1) if np.array_equal(end, first))
        segments = bodies[body][:count]  # then motors and rails
        assert len(segments) >= 3
        for (_, end), (start, _) in zip(segments, segments[1:] + segments[:1], strict=True):
            assert np.array_equal(end, start)


def test_the_telescope_reaches_from_its_yoke_to_the_platform():
    _, mechanism, home = drawn(TELESCOPE)
    bodies = dict(body_lines(mechanism, home))
    ends = np.concatenate(
        [np.reshape(bodies[f"telescope_{part}"], (-1, 3)) for part in ("upper", "lower")]
    )
    assert ends[:, 2].max() == pytest.approx(0.075, abs=1e-12)
    assert ends[:, 2].min() == pytest.approx(float(home[2]) + 0.038, abs=1e-12)
    assert np.abs(ends[:, :2]).max() < 1e-12
