"""Figures of dynamics: what a motion demands, and what a robot does under its drives."""

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from triskele.description.schema import Robot
from triskele.dynamics.limits import LimitUse
from triskele.dynamics.simulate import Simulation
from triskele.dynamics.torques import MotionDemands, RodSeries
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.reports.figures import STYLE, legend_outside
from triskele.units import display

_OVER, _UNDER = "#b91c1c", "#0e7490"
_SHOWN = 12  #: limits in the bar chart


def demands_figure(
    robot: Robot, mechanism: AbstractMechanism, demands: MotionDemands, carrying: str = ""
) -> Figure:
    """Efforts and rod tensions over time with their limits, and the use of each limit."""
    rods = None if demands.loads is None else demands.loads.rods
    with mpl.rc_context(STYLE):
        rows = 1 if rods is None else 2
        figure = Figure(figsize=(11, 3.4 * rows + 0.6), layout="constrained")
        figure.suptitle(f"Torques of {robot.title}{carrying}", fontsize=11)
        grid = figure.add_gridspec(rows, 2, width_ratios=(1.5, 1))
        efforts = figure.add_subplot(grid[0, 0])
        _efforts(efforts, mechanism, demands)
        if rods is not None:
            tensions = figure.add_subplot(grid[1, 0], sharex=efforts)
            _tensions(tensions, demands, rods)
            tensions.set_xlabel("t [s]")
        else:
            efforts.set_xlabel("t [s]")
        _uses(figure.add_subplot(grid[:, 1]), demands.limits[:_SHOWN])
    return figure


def simulation_figure(robot: Robot, mechanism: AbstractMechanism, run: Simulation) -> Figure:
    """Way of the platform from the start, efforts and energy."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9, 7.5), layout="constrained")
        ended = "" if run.ended is None else f" (ended {run.ended})"
        figure.suptitle(f"Simulation of {robot.title}{ended}", fontsize=11)
        way, efforts, energy = figure.subplots(3, 1, sharex=True)
        for k, (name, unit) in enumerate(mechanism.platform_coordinates):
            factor, shown = display(unit)
            moved = factor * (run.x[:, k] - run.x[0, k])
            way.plot(run.t, moved, label=f"{name} [{shown}]", lw=1.5)
        way.set_ylabel("moved from the start")
        legend_outside(way)
        for k, (name, unit) in enumerate(mechanism.joint_coordinates):
            shown = "N m" if unit == "rad" else "N"
            efforts.plot(run.t, run.tau[:, k], label=f"{name} [{shown}]", lw=1.5)
        efforts.set_ylabel("effort of the drives")
        legend_outside(efforts)
        energy.plot(run.t, run.kinetic, label="kinetic energy", lw=1.5)
        lifted = run.potential - run.potential[0]
        energy.plot(run.t, lifted, label="potential, from the start", lw=1.5)
        energy.plot(run.t, run.work, label="work of the drives", lw=1.5, ls="--")
        energy.plot(run.t, run.lost, label="lost to friction", lw=1.5, ls=":")
        energy.set(xlabel="t [s]", ylabel="[J]")
        legend_outside(energy)
    return figure


def _efforts(axes: Axes, mechanism: AbstractMechanism, demands: MotionDemands) -> None:
    turning = mechanism.joint_coordinates[0].unit == "rad"
    for k in range(demands.tau.shape[1]):
        axes.plot(demands.t, demands.tau[:, k], label=f"motor {k + 1}", color=f"C{k}", lw=1.5)
    word = "torque" if turning else "force"
    _limit_lines(axes, demands, f"{word} of motor 1")
    axes.set_ylabel(f"{word} [{'N m' if turning else 'N'}]")
    legend_outside(axes)


def _tensions(axes: Axes, demands: MotionDemands, rods: RodSeries) -> None:
    """The end of each rod that carries more."""
    worse = np.where(np.abs(rods.upper) > np.abs(rods.lower), rods.upper, rods.lower)
    for k, name in enumerate(rods.names):
        style = "--" if name.endswith("b") else "-"
        colour = f"C{int(name[4]) - 1}"
        label = name.replace("_", " ")
        axes.plot(demands.t, worse[:, k], label=label, color=colour, ls=style, lw=1.5)
    _limit_lines(axes, demands, f"tension of {rods.names[0].replace('_', ' ')}")
    note = "" if rods.unique else ", least-norm share"
    axes.set_ylabel(f"rod tension [N]{note}")
    legend_outside(axes)


def _limit_lines(axes: Axes, demands: MotionDemands, name: str) -> None:
    for item in demands.limits:
        if item.name == name:
            for sign in (1, -1):
                label = "limit" if sign == 1 else None
                axes.axhline(sign * item.allowed, color=_OVER, lw=1, ls=":", label=label)


def _uses(axes: Axes, uses: tuple[LimitUse, ...]) -> None:
    """Bars, the tightest limit on top."""
    if not uses:
        axes.set_axis_off()
        axes.text(0.5, 0.5, "the robot file states no limits", ha="center")
        return
    shown = uses[::-1]
    values = np.array([min(item.use, 99.0) for item in shown])
    colours = [_OVER if item.exceeded else _UNDER for item in shown]
    places = np.arange(len(shown))
    axes.barh(places, 100 * values, color=colours)
    axes.set_yticks(places, [item.name for item in shown])
    axes.axvline(100, color="black", lw=1)
    axes.set(xlabel="use of the limit [%]", title="tightest limits (red: exceeded)")
    axes.grid(visible=False, axis="y")
