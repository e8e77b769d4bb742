"""Figures of closed loops: units on every axis. The data are made up; the drawing is tested."""

import numpy as np

from triskele.control.bandwidth import Bandwidth, Response, Servo, StabilityMap
from triskele.control.loop import Margins
from triskele.control.track import Tracking
from triskele.description.load import load
from triskele.kinematics.build import build
from triskele.reports.control_figures import bode_figure, stability_figure, tracking_figure
from triskele.reports.figures import save_figure

ROBOT = load("compliant_3prs")
NAMES = ("z", "psi", "theta")


def servo(method, first):
    f = np.linspace(first, 30, 40)
    H = np.stack([1 / (1 + 1j * f / corner) for corner in (10.0, 12.0, 14.0)], axis=-1)
    bands = tuple(Bandwidth(name, 1.0, 10.0, 10.0, 1.0, 0.0) for name in NAMES)
    return Servo(
        Response(f, H, NAMES, method), first, bands, Margins(8.0, 520.0, 67.0, 9.4), 0.9, None
    )


def labels(figure):
    return [text for axes in figure.axes for text in (axes.get_xlabel(), axes.get_ylabel()) if text]


def test_a_bode_figure_has_units_levels_and_all_methods(tmp_path):
    figure = bode_figure(ROBOT, [servo("linear", 0.0), servo("stepped", 1.0)])
    assert labels(figure) == ["magnitude [dB]", "f [Hz]", "phase [deg]"]
    names = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert "z, linear" in names and "theta, stepped" in names
    assert "520 1/s" in figure.axes[0].get_title()
    curve = figure.axes[0].lines[0]
    x, y = (np.asarray(part) for part in curve.get_data())
    assert np.isclose(np.interp(10.0, x, y), -3.01, atol=0.05)  # 1 / sqrt 2 at its corner
    assert save_figure(figure, tmp_path / "bode.png").stat().st_size > 10_000


def test_a_tracking_figure_shows_errors_in_small_units(tmp_path):
    t = np.linspace(0, 1, 30)
    wave = np.sin(6 * t)[:, None] + np.arange(3)
    run = Tracking(t, 0 * wave, 0 * wave, 1e-6 * wave, *(wave,) * 7, 1e-3, None, None)
    figure = tracking_figure(ROBOT, build(ROBOT), run)
    expected = {"motor angle [rad]", "motor error [mrad]", "motor torque [mN m]", "platform error"}
    assert expected < set(labels(figure))
    bottom = figure.axes[3]
    names = [text.get_text() for text in bottom.get_legend().get_texts()]
    assert names == ["z [um]", "psi [urad]", "theta [urad]"]
    assert np.allclose(bottom.lines[0].get_ydata(), wave[:, 0])
    assert save_figure(figure, tmp_path / "run.png").stat().st_size > 10_000


def test_a_map_of_gains_marks_what_settles(tmp_path):
    kV, kP = np.geomspace(10, 1000, 6), np.geomspace(0.1, 10, 5)
    growth = 0.9 + 0.4 * (kV[:, None] > 300) + 0 * kP[None, :]
    found = StabilityMap(kV, kP, growth, growth)
    figure = stability_figure(ROBOT, found)
    assert figure.axes[0].get_xlabel() == "velocity gain kP [A s/rad], kI in proportion"
    assert figure.axes[0].get_ylabel() == "position gain kV [1/s]"
    settles, diverges = figure.axes[0].lines
    assert len(settles.get_xdata()) == (growth < 1).sum()
    assert len(diverges.get_xdata()) == (growth > 1).sum()
    assert save_figure(figure, tmp_path / "gains.png").stat().st_size > 10_000
