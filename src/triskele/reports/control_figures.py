"""Figures of closed loops: Bode, tracking, and the gains that are stable."""

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

from triskele.control.bandwidth import Servo, StabilityMap
from triskele.control.track import Tracking
from triskele.description.schema import Robot
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.reports.figures import STYLE, legend_outside

_WIDTHS = (3.0, 1.8, 0.9, 0.6)  #: curves that coincide all stay visible
_STYLES = {"linear": "-", "swept": ":", "stepped": "o"}
_FINEST = {"m": (1e6, "um"), "rad": (1e6, "urad")}


def bode_figure(robot: Robot, found: Sequence[Servo]) -> Figure:
    """Magnitude and phase of each coordinate, by each method, with both levels of -3 dB."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8.5, 6.5), layout="constrained")
        figure.suptitle(f"{robot.title}: platform over command", fontsize=11)
        above, below = figure.subplots(2, 1, sharex=True)
        for servo in found:
            _draw_response(above, below, servo)
        top = max(servo.response.frequencies[-1] for servo in found)
        above.axhline(-3.0103, color="black", lw=0.8, ls="--")
        above.text(0.21, -3.3, "-3 dB of the command", fontsize=8, va="top")
        for band in found[0].bandwidths:
            level = 20 * np.log10(band.gain) - 3.0103
            if band.relative is not None:
                above.plot(band.relative, level, "v", color="black", ms=5)
        above.set(ylabel="magnitude [dB]", ylim=(-20, 5), xlim=(0.2, top), xscale="log")
        below.set(ylabel="phase [deg]", xlabel="f [Hz]")
        margin = found[0].margins
        above.set_title(
            f"gain margin {margin.gain:.3g} (kV up to {margin.gain_limit:.4g} 1/s), phase margin "
            f"{margin.phase:.3g} deg at {margin.crossover:.3g} Hz; triangles: -3 dB of the gain "
            f"at {found[0].reference:g} Hz",
            fontsize=9,
        )
        legend_outside(above)
    return figure


def _draw_response(above: Axes, below: Axes, servo: Servo) -> None:
    response = servo.response
    shown = response.frequencies > 0
    f = response.frequencies[shown]
    for k, name in enumerate(response.coordinates):
        column = response.values[shown, k]
        style = {"color": f"C{k}", "ms": 4 - k, "lw": _WIDTHS[k]}
        label = f"{name}, {response.method}"
        above.plot(f, 20 * np.log10(np.abs(column)), _STYLES[response.method], label=label, **style)
        phase = np.degrees(np.unwrap(np.angle(column)))
        below.plot(f, phase, _STYLES[response.method], **style)


def tracking_figure(robot: Robot, mechanism: AbstractMechanism, run: Tracking) -> Figure:
    """Motor angles and their errors, torques, and what the platform missed."""
    platform = mechanism.platform_coordinates
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8.5, 9), layout="constrained")
        figure.suptitle(f"{robot.title}: tracking under cascade control", fontsize=11)
        panels = figure.subplots(4, 1, sharex=True)
        for k in range(run.motor.shape[1]):
            label = f"motor {k + 1}"
            panels[0].plot(run.t, run.motor[:, k], lw=_WIDTHS[k], label=label)
            panels[0].plot(run.t, run.motor_command[:, k], color="black", lw=0.7, ls="--")
            panels[1].plot(run.t, 1e3 * run.motor_error[:, k], lw=_WIDTHS[k], label=label)
            panels[2].plot(run.t, 1e3 * run.torque[:, k], lw=_WIDTHS[k], label=label)
        for k, (name, unit) in enumerate(platform):
            factor, small = _FINEST[unit]
            label = f"{name} [{small}]"
            panels[3].plot(run.t, factor * run.error[:, k], lw=_WIDTHS[k], label=label)
        labels = ("motor angle [rad]", "motor error [mrad]", "motor torque [mN m]")
        for axes, label in zip(panels, (*labels, "platform error"), strict=True):
            axes.set_ylabel(label)
            legend_outside(axes)
        panels[0].set_title("dashed: commands", fontsize=9)
        panels[-1].set_xlabel("t [s]")
    return figure


def stability_figure(robot: Robot, found: StabilityMap) -> Figure:
    """Growth of the slowest mode per period over both gains; simulated loops as dots."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8.5, 5.5), layout="constrained")
        axes = figure.subplots()
        kP, kV = found.velocity_gains, found.position_gains
        low, high = float(min(0.95, found.growth.min())), 1.5
        levels = np.concatenate([np.linspace(low, 1, 6), np.linspace(1, high, 6)[1:]])
        shade = TwoSlopeNorm(1.0, low, high)
        filled = axes.contourf(
            kP, kV, found.growth, levels=levels, norm=shade, cmap="RdYlGn_r", extend="max"
        )
        axes.contour(kP, kV, found.growth, levels=[1.0], colors="black", linewidths=1.6)
        if found.simulated is not None:
            grid_p, grid_v = np.meshgrid(kP, kV)
            for stable, marker, label in ((True, ".", "settles"), (False, "x", "diverges")):
                chosen = (found.simulated < 1) == stable
                style = {"color": "black", "ms": 3, "lw": 0, "alpha": 0.5}
                axes.plot(
                    grid_p[chosen], grid_v[chosen], marker, label=f"{label} in simulation", **style
                )
            axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.06), ncols=2)
        bar = figure.colorbar(filled, ax=axes, format="%.2f", ticks=levels)
        bar.set_label("growth of the slowest mode per period [1]")
        axes.set(
            xlabel="velocity gain kP [A s/rad], kI in proportion",
            ylabel="position gain kV [1/s]",
            title=f"{robot.title}: stable below the black line",
            xscale="log",
            yscale="log",
        )
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter(ScalarFormatter())
            axis.set_minor_formatter(NullFormatter())
    return figure
