"""Figures of dynamics: what a motion demands, and what a robot does under its drives."""

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from triskele.description.schema import Robot
from triskele.dynamics.limits import LimitUse
from triskele.dynamics.simulate import Simulation
from triskele.dynamics.torques import MotionDemands, RodSeries, strut_word
from triskele.kinematics.mechanism import AbstractMechanism, Coordinate
from triskele.kinematics.solids import BASE
from triskele.reports.figures import STYLE, Numbers, legend_outside
from triskele.units import display

_OVER, _UNDER = "#b91c1c", "#0e7490"
_SHOWN = 12  #: limits in the bar chart
_STYLES = ("-", "--", ":", "-.")  #: of struts of one limb


def demands_figure(
    robot: Robot, mechanism: AbstractMechanism, demands: MotionDemands, carrying: str = ""
) -> Figure:
    """Efforts and tensions over time with their limits, and the use of each limit."""
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
            draw_tensions(tensions, mechanism, demands.t, rods)
            _limit_lines(tensions, demands, "rod_force")
            legend_outside(tensions)
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
        shown = dict.fromkeys(display(c.unit)[1] for c in mechanism.platform_coordinates)
        way.set_ylabel(f"moved from the start [{', '.join(shown)}]")
        legend_outside(way)
        for k, (name, unit) in enumerate(mechanism.joint_coordinates):
            efforts.plot(run.t, run.tau[:, k], label=f"{name} [{_effort(unit)}]", lw=1.5)
        units = dict.fromkeys(_effort(c.unit) for c in mechanism.joint_coordinates)
        efforts.set_ylabel(f"effort of the drives [{', '.join(units)}]")
        legend_outside(efforts)
        energy.plot(run.t, run.kinetic, label="kinetic energy", lw=1.5)
        lifted = run.potential - run.potential[0]
        energy.plot(run.t, lifted, label="potential, from the start", lw=1.5)
        energy.plot(run.t, run.work, label="work of the drives", lw=1.5, ls="--")
        energy.plot(run.t, run.lost, label="lost to friction", lw=1.5, ls=":")
        energy.set(xlabel="t [s]", ylabel="energy [J]")
        legend_outside(energy)
    return figure


def effort_label(joints: tuple[Coordinate, ...]) -> str:
    """What the drives of `joints` give, with its unit: torque, force, or both."""
    units = {joint.unit for joint in joints}
    if len(units) > 1:
        return "effort [N m, N]"
    return "torque [N m]" if units == {"rad"} else "force [N]"


def _effort(unit: str) -> str:
    """The unit of the effort of a drive, from that of its joint."""
    return "N m" if unit == "rad" else "N"


def _efforts(axes: Axes, mechanism: AbstractMechanism, demands: MotionDemands) -> None:
    joints = mechanism.joint_coordinates
    for k in range(len(joints)):
        axes.plot(demands.t, demands.tau[:, k], label=f"motor {k + 1}", color=f"C{k}", lw=1.5)
    _limit_lines(axes, demands, "peak_torque")
    axes.set_ylabel(effort_label(joints))
    legend_outside(axes)


def draw_tensions(
    axes: Axes, mechanism: AbstractMechanism, t: Numbers, rods: RodSeries, width: float = 1.5
) -> None:
    """The end of each rod or strut that carries more; those of one limb have one colour."""
    worse = np.where(np.abs(rods.upper) > np.abs(rods.lower), rods.upper, rods.lower)
    limbs = _limbs(mechanism)
    for k, name in enumerate(rods.names):
        limb, place = limbs[name]
        style = {"color": f"C{limb}", "ls": _STYLES[place % len(_STYLES)], "lw": width}
        axes.plot(t, worse[:, k], label=name.replace("_", " "), **style)
    share = "" if rods.unique else ", least-norm share"
    axes.set_ylabel(f"{strut_word(mechanism)} tension [N]{share}")


def _limbs(mechanism: AbstractMechanism) -> dict[str, tuple[int, int]]:
    """For each strut the number of its limb, and its own in that limb.

    Struts of one limb hang on the same body, unless that is the base.
    """
    joints = {joint.name: {joint.parent, joint.child} for joint in mechanism.joints()}
    limbs: dict[str, list[str]] = {}
    for strut in mechanism.struts:
        (holder,) = joints[strut.upper] - {strut.body}
        limbs.setdefault(strut.body if holder == BASE else holder, []).append(strut.body)
    numbered = enumerate(limbs.values())
    return {body: (limb, k) for limb, bodies in numbered for k, body in enumerate(bodies)}


def _limit_lines(axes: Axes, demands: MotionDemands, key: str) -> None:
    """What is allowed, once for all that have the same limit."""
    own = (item for item in demands.limits if item.limit.key == key and not item.limit.at_speed)
    allowed = sorted({item.allowed for item in own})
    for k, value in enumerate(allowed):
        for sign in (1, -1):
            label = "limit" if sign == 1 and not k else None
            axes.axhline(sign * value, color=_OVER, lw=1, ls=":", label=label)


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
    axes.set_yticks(places, [item.limit.label for item in shown])
    axes.axvline(100, color="black", lw=1)
    axes.set(xlabel="use of the limit [%]", title="tightest limits (red: exceeded)")
    axes.grid(visible=False, axis="y")
