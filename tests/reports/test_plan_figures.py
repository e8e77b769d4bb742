"""The figure of a plan: units on every axis, and limits where the plan has them.

Speeds, torques and loads are made up: it is the drawing that is tested.
"""

import numpy as np
import pytest

from triskele.description.load import load
from triskele.description.schema import Payload
from triskele.dynamics.torques import JointLoads, MotionDemands, RodSeries
from triskele.kinematics.build import build
from triskele.kinematics.cycles import JointMotion
from triskele.kinematics.limits import Limit
from triskele.kinematics.path import Line, u_turn
from triskele.planning.plan import Plan, PlannedLimit
from triskele.planning.profile import StepProfile
from triskele.planning.why import Run
from triskele.reports.figures import save_figure
from triskele.reports.plan_figures import plan_figure

S = np.linspace(0, 1, 21)
T = np.linspace(0, 1, 11)
X = 36 * S * (1 - S)
JERK = PlannedLimit(Limit("joint_jerk", "q1", "jerk of q1", "rad/s^3", np.pi), 1.0, 0.2, -0.05)
FORCE = PlannedLimit(Limit("rod_force", "rod_1a", "tension of rod 1a", "N", 0.9), 0.7, 0.3, -0.02)
TORQUE = PlannedLimit(Limit("peak_torque", "q1", "torque of motor 1", "N m", 50.0), 0.02, 0.3, 0.0)


def waves(k):
    return np.sin(3 * T[:, None] + np.arange(k))


def plan(name, path, *limits):
    robot = load(name)
    binding = (JERK.limit,) * 6 + (None,) * 9 + (FORCE.limit,) * 6
    return Plan(
        robot=robot,
        payload=Payload(mass=2.5),
        path=path,
        method="minimum-time",
        profile=StepProfile(S, X),
        duration=0.5,
        limits=limits,
        s=S,
        speed=np.sqrt(X),
        fastest=np.full(21, 100.0),
        binding=binding,
        runs=(Run(0.0, 0.25, JERK.limit), Run(0.75, 1.0, FORCE.limit)),
        gap=0.0,
        friction=True,
        coordinates=build(robot).platform_coordinates,
    )


def demands(joints, rods, names=()):
    names = tuple(names) or tuple(f"rod_{i}{end}" for i in (1, 2, 3) for end in "ab")
    series = RodSeries(names, *(waves(len(names)) for _ in range(4)), True)
    loads = JointLoads(series, *(waves(3) for _ in range(5)), None)  # pyright: ignore[reportArgumentType]
    motion = JointMotion(*(waves(joints) for _ in range(4)))  # pyright: ignore[reportArgumentType]
    return MotionDemands(T, motion, waves(joints), loads if rods else None, ())


def dashed(axes):
    return [line.get_ydata()[0] for line in axes.lines if line.get_label() == "limit"]


def test_a_delta_shows_path_speed_rods_drives_jerks_and_what_limits_are_worth(tmp_path):
    way = u_turn([0, -0.4, -1.0, 0], length=0.8, height=0.2, corner=0.15)
    made = plan("abb_irb360_6_1600", way, JERK, FORCE, TORQUE)
    figure = plan_figure(made, demands(4, rods=True))
    path, speed, rods, drives, jerks, worth = figure.axes[:6]
    assert "2.5 kg: 0.5000 s (minimum-time)" in figure.get_suptitle()
    assert (path.get_xlabel(), path.get_ylabel()) == ("y [mm]", "z [mm]")
    assert path.child_axes[0].get_ylabel() == "speed [m/s]"
    assert (speed.get_xlabel(), speed.get_ylabel()) == ("s [1]", "path speed [1/s]")
    labels = [text.get_text() for text in speed.get_legend().get_texts()]
    assert labels == ["maximum velocity", "no limit binds", "jerk of q1", "tension of rod 1a"]
    assert speed.get_ylim()[1] < 10  # the maximum velocity may be beyond
    assert (rods.get_ylabel(), dashed(rods)) == ("rod tension [N]", [0.9])
    assert (drives.get_ylabel(), dashed(drives)) == ("torque [N m]", [])  # hardly used
    assert (jerks.get_ylabel(), dashed(jerks)) == ("jerk [deg/s³]", [pytest.approx(180.0)])
    assert all(axes.get_xlabel() == "t [s]" for axes in (rods, drives, jerks))
    assert [bar.get_width() for bar in worth.patches] == pytest.approx([2.0, 5.0])  # ms
    assert [text.get_text() for text in worth.get_yticklabels()] == ["rod_force", "joint_jerk"]
    assert save_figure(figure, tmp_path / "plan.png").stat().st_size > 20_000


def test_without_prices_and_jerk_limits_uses_and_accelerations_are_shown():
    way = u_turn([0, -0.4, -1.0, 0], length=0.8, height=0.2, corner=0.15)
    limits = (FORCE._replace(price=None), TORQUE._replace(price=None))
    made = plan("abb_irb360_6_1600", way, *limits)
    figure = plan_figure(made, demands(4, rods=True))
    assert figure.axes[4].get_ylabel() == "acceleration [deg/s²]"
    assert figure.axes[5].get_xlabel() == "use of the limit [%]"
    assert [bar.get_width() for bar in figure.axes[5].patches] == pytest.approx([2.0, 70.0])


def test_a_robot_without_rods_shows_speeds_in_their_place():
    way = Line([0.0772, 0.0, 0.0], [0.0782, 0.0, 0.01])
    figure = plan_figure(plan("compliant_3prs", way), demands(3, rods=False))
    labels = [axes.get_ylabel() for axes in figure.axes[1:5]]
    assert labels == ["path speed [1/s]", "speed [mm/s]", "force [N]", "acceleration [mm/s²]"]
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("z [mm]", "theta [deg]")
    assert figure.axes[0].child_axes[0].get_ylabel() == "path speed [1/s]"


def test_a_path_is_drawn_over_the_lengths_of_a_robot_that_moves_in_a_plane():
    way = Line([0.0, -0.5], [0.1, -0.48])
    made = plan("two_axis_delta", way)
    names = [strut.body for strut in build(made.robot).struts]
    figure = plan_figure(made, demands(2, rods=True, names=names))
    path = figure.axes[0]
    assert (path.get_xlabel(), path.get_ylabel()) == ("x [mm]", "z [mm]")
    assert path.child_axes[0].get_ylabel() == "speed [m/s]"
    assert figure.axes[2].get_title() == "rod forces"
