"""Figures of flexible robots: units on every axis, and one line for each of what is drawn.

Deflections and trials are made up: it is the drawing that is tested.
"""

import numpy as np
import pytest

from triskele.description.load import load
from triskele.flexible.assembly import Damping
from triskele.flexible.modes import modes
from triskele.flexible.response import Response
from triskele.flexible.robot import flexible
from triskele.flexible.settling import Settling
from triskele.flexible.shaping import Trial
from triskele.kinematics.motion import line
from triskele.reports.figures import save_figure
from triskele.reports.vibration_figures import (
    along_figure,
    map_figure,
    modes_figure,
    response_figure,
    trials_figure,
)

KUO = load("flexible_delta")
ROBOT = flexible(KUO)
RNG = np.random.default_rng(0)


def response():
    motion = line([0.0, 0.0, -0.5], [0.05, 0.0, -0.5], duration=0.2, rate=200)
    y, yd = 1e-3 * RNG.normal(size=(2, len(motion.t), ROBOT.unknowns))
    return Response(motion, ROBOT, Damping(), y, yd, RNG.normal(size=(len(motion.t), 3)))


def labels(axes):
    return [line.get_label() for line in axes.lines if not str(line.get_label()).startswith("_")]


def test_modes_are_drawn_over_the_robot_at_rest(tmp_path):
    found = modes(ROBOT, (0.1, 0.0, -0.5), count=4)
    figure = modes_figure(KUO, ROBOT, found)
    assert "not to scale" in figure.get_suptitle()
    assert len(figure.axes) == 4
    for k, axes in enumerate(figure.axes):
        hertz = float(found.frequencies[k]) / (2 * np.pi)
        assert axes.get_title() == f"{k + 1}: {hertz:.4g} Hz, {found.directions[k]}"
        assert (axes.get_xlabel(), axes.get_zlabel()) == ("x [mm]", "z [mm]")
        assert len(axes.lines) == 2 * 7  # six links and the platform, at rest and moved
        rest, moved = (
            np.array([line.get_data_3d() for line in axes.lines[k : k + 6]]) for k in (0, 7)
        )
        off = np.abs(moved - rest).max()
        assert 50 < off < 200  # [mm], of a robot of a metre
        assert np.allclose(moved[:3, :, 0], rest[:3, :, 0])  # motors stay
    assert save_figure(figure, tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")


def test_a_map_shows_four_modes_in_hertz_and_leaves_out_what_is_out_of_reach():
    grid = np.stack(np.meshgrid(*[np.linspace(-0.1, 0.1, 5)] * 2, indexing="ij"), axis=-1)
    x = np.concatenate([grid, np.full((5, 5, 1), -0.5)], axis=-1)
    w = 2 * np.pi * (3 + RNG.uniform(size=(5, 5, 6)))
    w[0, 0] = np.nan
    figure = map_figure(KUO, x, w, -0.5)
    assert "at z = -500 mm" in figure.get_suptitle()
    maps = [axes for axes in figure.axes if axes.get_title()]
    assert [axes.get_title() for axes in maps] == [f"mode {k}" for k in (1, 2, 3, 4)]
    assert all((axes.get_xlabel(), axes.get_ylabel()) == ("x [mm]", "y [mm]") for axes in maps)
    bars = [axes.get_ylabel() for axes in figure.axes if not axes.get_title()]
    assert bars == [f"f{k} [Hz]" for k in (1, 2, 3, 4)]


def test_frequencies_along_a_motion_have_a_line_each():
    w = 2 * np.pi * np.array([[3.0, 4.0], [3.5, 4.5], [3.2, 4.1]])
    (axes,) = along_figure(KUO, np.arange(3.0), w).axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("t [s]", "frequency [Hz]")
    assert labels(axes) == ["f1", "f2"]
    assert np.allclose(axes.lines[1].get_ydata(), [4.0, 4.5, 4.1])
    assert axes.get_ylim()[0] == 0


@pytest.mark.parametrize("time", [0.4, np.inf, None])
def test_a_response_shows_deviation_rotation_torque_and_stress(time):
    found = response()
    after = None
    if time is not None:
        t = np.linspace(0, 0.5, 20)
        start = found.position[-1] - np.array([0.0, 0.0, -0.02])
        after = Settling(time, 1e-3, 0.02, t, start[None] * np.exp(-9 * t)[:, None])
    place, attitude, torque, stress = response_figure(KUO, found, after).axes[:4]
    names = [axes.get_ylabel() for axes in (place, attitude, torque, stress)]
    assert names == ["deviation [mm]", "rotation [deg]", "torque [N m]", "largest stress [MPa]"]
    assert stress.get_xlabel() == "t [s]"
    assert labels(torque) == ["motor 1", "motor 2", "motor 3"]
    assert labels(stress) == [f"{part} {k}" for part in ("arm", "rod") for k in (1, 2, 3)]
    assert np.allclose(attitude.lines[2].get_ydata(), np.degrees(found.rotation[:, 2]))
    assert np.allclose(stress.lines[0].get_ydata(), 1e-6 * found.strains().stress[:, 0])
    settles = time == 0.4
    assert labels(place) == ["x", "y", "z", *(["command stops", "within 1 mm"] if settles else [])]
    if settles:
        swing = place.lines[5]  # z after the stop goes on where z along the motion ends
        assert swing.get_xdata()[0] == pytest.approx(0.2)
        assert swing.get_ydata()[0] == pytest.approx(1e3 * found.position[-1, 2])
        assert place.lines[-1].get_xdata()[0] == pytest.approx(0.6)


def test_trials_are_grouped_by_their_shapers():
    trials = [
        Trial("0.4 s", 0.4, 0.02, 0.01, np.inf),
        Trial("0.3 s", 0.3, 0.03, 0.02, 2.0),
        Trial("0.3 s, ZV", 0.45, 0.01, 0.001, 0.5),
    ]
    way, after, settled = trials_figure(KUO, trials, 1e-3).axes[:3]
    assert labels(way) == ["as asked", "ZV"]
    assert np.allclose(way.lines[0].get_xydata(), [[0.3, 30], [0.4, 20]])  # by duration
    assert after.get_yscale() == "log"
    assert after.lines[-1].get_ydata()[0] == pytest.approx(1.0)
    assert np.isnan(settled.lines[0].get_ydata()[1])
    units = [(axes.get_xlabel(), axes.get_ylabel()) for axes in (way, settled)]
    assert units == [("duration [s]", "[mm]"), ("duration [s]", "[s]")]
