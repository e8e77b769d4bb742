"""Figures of dynamics: units on every axis, limits drawn where the file has them.

Torques and loads are made up: it is the drawing that is tested.
"""

import numpy as np
import pytest

from triskele.description.load import load
from triskele.dynamics.limits import LimitSeries
from triskele.dynamics.simulate import Simulation
from triskele.dynamics.torques import JointLoads, MotionDemands, RodSeries
from triskele.kinematics.build import build
from triskele.kinematics.cycles import JointMotion
from triskele.kinematics.limits import Limit
from triskele.reports.figures import save_figure
from triskele.reports.load_figures import demands_figure, simulation_figure

T = np.linspace(0, 1, 11)


# whatever limits are called, their lines stand where their kind belongs
TORQUE = Limit("peak_torque", "q1", "first", "N m", 0.5)
TENSION = Limit("rod_force", "rod_1a", "second", "N", 2.0)


def waves(k):
    return np.sin(T[:, None] + np.arange(k))


def demands(joints, rods, *, unique=True, names=()):
    """Made-up demands; `rods` may be 0."""
    names = names or tuple(f"rod_{i}{end}" for i in (1, 2, 3) for end in "ab")[:rods]
    series = RodSeries(names, *(waves(rods) for _ in range(4)), unique)
    loads = JointLoads(series, *(waves(3) for _ in range(5)), None)
    uses = (
        LimitSeries(TORQUE, np.full(11, 0.5), np.ones(11), np.full(11, 2.0)),
        LimitSeries(TENSION, np.full(11, 2.0), np.ones(11), np.full(11, 0.5)),
    )
    motion = JointMotion(*(waves(joints) for _ in range(4)))
    return MotionDemands(T, motion, waves(joints), loads if rods else None, uses)


@pytest.mark.parametrize(
    ("name", "joints", "rods", "labels"),
    [
        ("abb_irb360_6_1600", 4, 6, ["torque [N m]", "rod tension [N]", ""]),
        ("compliant_3prs", 3, 0, ["force [N]", ""]),
    ],
)
def test_efforts_tensions_and_limits_have_their_units(tmp_path, name, joints, rods, labels):
    robot = load(name)
    figure = demands_figure(robot, build(robot), demands(joints, rods), " carrying 2 kg")
    assert [axes.get_ylabel() for axes in figure.axes] == labels
    assert figure.axes[-1].get_xlabel() == "use of the limit [%]"
    assert figure.axes[-2].get_xlabel() == "t [s]"
    assert "carrying 2 kg" in figure.get_suptitle()
    dotted = [line.get_ydata()[0] for line in figure.axes[0].lines if line.get_linestyle() == ":"]
    assert dotted == [0.5, -0.5]
    bars = [bar.get_width() for bar in figure.axes[-1].patches]
    assert bars == [50.0, 200.0]
    assert save_figure(figure, tmp_path / "a.png").stat().st_size > 5000


def test_shares_that_are_not_unique_are_labelled_so():
    robot = load("d3s_800")
    figure = demands_figure(robot, build(robot), demands(3, 6, unique=False))
    assert "least-norm share" in figure.axes[1].get_ylabel()


@pytest.mark.parametrize(
    ("name", "label", "limbs"),
    [
        ("stewart_6ups", "strut tension [N]", [("C0", "-"), ("C1", "-"), ("C2", "-"), ("C3", "-")]),
        ("two_axis_delta", "rod tension [N]", [("C0", "-"), ("C0", "--"), ("C1", "-")]),
        ("par4", "rod tension [N]", [("C0", "-"), ("C0", "--"), ("C1", "-"), ("C1", "--")]),
    ],
)
def test_struts_of_one_limb_have_one_colour(name, label, limbs):
    robot = load(name)
    mechanism = build(robot)
    names = tuple(strut.body for strut in mechanism.struts)
    joints = len(mechanism.joint_coordinates)
    figure = demands_figure(robot, mechanism, demands(joints, len(names), names=names))
    efforts, tensions = figure.axes[:2]
    assert efforts.get_ylabel() == ("force [N]" if name == "stewart_6ups" else "torque [N m]")
    assert len([line for line in efforts.lines if line.get_linestyle() == "-"]) == joints
    assert tensions.get_ylabel() == label
    drawn = [(line.get_color(), line.get_linestyle()) for line in tensions.lines]
    assert drawn[: len(limbs)] == limbs
    assert [line.get_label() for line in tensions.lines[:2]] == [
        n.replace("_", " ") for n in names[:2]
    ]


def test_a_robot_without_limits_says_so():
    robot = load("d3s_800")
    figure = demands_figure(robot, build(robot), demands(3, 6)._replace(series=()))
    assert "no limits" in figure.axes[-1].texts[0].get_text()


def test_a_simulation_shows_way_efforts_and_energy_and_why_it_ended():
    robot = load("d3s_800")
    energies = (np.cos(T), -np.cos(T), 0 * T, 0 * T)
    run = Simulation(T, *(waves(3) for _ in range(5)), *energies, 7, "at t = 1 s: a stop")
    figure = simulation_figure(robot, build(robot), run)
    assert "a stop" in figure.get_suptitle()
    labels = [text.get_text() for text in figure.axes[1].get_legend().get_texts()]
    assert labels == ["q1 [N m]", "q2 [N m]", "q3 [N m]"]
    assert figure.axes[2].get_ylabel() == "energy [J]"
    assert figure.axes[2].get_xlabel() == "t [s]"
