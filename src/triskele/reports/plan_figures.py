"""The figure of a plan: the path, how fast it is run and why not faster, and what that takes."""

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from triskele.dynamics.torques import MotionDemands, RodSeries
from triskele.kinematics.build import build
from triskele.kinematics.mechanism import Coordinate
from triskele.kinematics.motion import UNITS
from triskele.kinematics.path import derivatives_along
from triskele.planning.plan import Plan
from triskele.reports.figures import STYLE, legend_outside
from triskele.units import display

_LIMIT, _IDLE, _GAIN = "#b91c1c", "#9ca3af", "#0e7490"
_HEADROOM = 1.5  #: of the path speed; the maximum velocity curve may go through the roof
_SHOWN = 8  #: bars
_NEAR = 0.25  #: limits used less are not drawn: they would squeeze the curves


def plan_figure(plan: Plan, demands: MotionDemands) -> Figure:
    """Path, path speed under its limits, rod forces, torques, jerks, and what limits are worth.

    `demands` are those of the samples of `plan`.
    """
    joints = build(plan.robot).joint_coordinates
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(12.5, 9.5), layout="constrained")
        carrying = "" if plan.payload is None else f" with {plan.payload.mass:g} kg"
        figure.suptitle(
            f"{plan.robot.title}{carrying}: {plan.duration:.4f} s ({plan.method})", fontsize=11
        )
        grid = figure.subplots(3, 2)
        _path(grid[0, 0], plan)
        _speed(grid[0, 1], plan)
        rods = None if demands.loads is None else demands.loads.rods
        if rods is None:
            _rates(grid[1, 0], plan, demands, joints, 1)
        else:
            _tensions(grid[1, 0], plan, demands, rods)
        _efforts(grid[1, 1], plan, demands, joints)
        _rates(grid[2, 0], plan, demands, joints, 3 if _bounded(plan, "joint_jerk") else 2)
        _worth(grid[2, 1], plan)
        for axes in (*grid[1], grid[2, 0]):
            axes.set_xlabel("t [s]")
    return figure


def _path(axes: Axes, plan: Plan) -> None:
    """In the plane of its two longest ways, coloured by speed."""
    s, first = np.unique(plan.s, return_index=True)
    r, r1, _, _ = (np.asarray(part) for part in derivatives_along(plan.path, s))
    across, up = sorted(np.argsort(-np.ptp(r[:, :3], axis=0), kind="stable")[:2].tolist())
    shown = [display(UNITS[plan.coordinates[k]]) for k in (across, up)]
    points = np.stack([shown[0][0] * r[:, across], shown[1][0] * r[:, up]], axis=1)
    moves = plan.coordinates[:3] == ("x", "y", "z")
    pace = np.linalg.norm(r1[:, :3], axis=1) if moves else np.ones(len(s))
    speed = plan.speed[first] * pace
    lines = LineCollection(
        list(np.stack([points[:-1], points[1:]], axis=1)), cmap="viridis", linewidths=3
    )
    lines.set_array((speed[1:] + speed[:-1]) / 2)
    axes.add_collection(lines)
    axes.autoscale()
    axes.plot(*points[0], marker="o", color="black", ls="")
    axes.annotate("start", points[0], (8, 0), textcoords="offset points", va="center")
    axes.set(
        xlabel=f"{plan.coordinates[across]} [{shown[0][1]}]",
        ylabel=f"{plan.coordinates[up]} [{shown[1][1]}]",
        title="path",
    )
    axes.margins(0.08, 0.15)
    if moves:
        axes.set_aspect("equal", adjustable="datalim")
    label = "speed [m/s]" if moves else "path speed [1/s]"
    axes.figure.colorbar(lines, cax=axes.inset_axes((1.03, 0, 0.03, 1)), label=label)


def _speed(axes: Axes, plan: Plan) -> None:
    """Path speed over s, the binding limits as dots on it, and the maximum velocity curve."""
    axes.plot(plan.s, plan.fastest, color="black", lw=1, ls="--", label="maximum velocity")
    axes.plot(plan.s, plan.speed, color=_IDLE, lw=1.5, label="no limit binds")
    labels = [label for label in dict.fromkeys(plan.binding) if label]
    for k, label in enumerate(labels):
        own = np.array([binding == label for binding in plan.binding])
        axes.plot(plan.s[own], plan.speed[own], ".", color=f"C{k}", ms=5, label=label)
    axes.set(
        xlabel="s [1]",
        ylabel="path speed [1/s]",
        title="path speed, and the limits that bind",
        xlim=(0, 1),
        ylim=(0, _HEADROOM * plan.speed.max()),
    )
    legend_outside(axes)


def _tensions(axes: Axes, plan: Plan, demands: MotionDemands, rods: RodSeries) -> None:
    """The end of each rod that carries more."""
    worse = np.where(np.abs(rods.upper) > np.abs(rods.lower), rods.upper, rods.lower)
    for k, name in enumerate(rods.names):
        style = "--" if name.endswith("b") else "-"
        colour, label = f"C{int(name[4]) - 1}", name.replace("_", " ")
        axes.plot(demands.t, worse[:, k], label=label, color=colour, ls=style, lw=1.3)
    _limit_lines(axes, plan, "rod_force")
    note = "" if rods.unique else ", least-norm share"
    axes.set(ylabel=f"rod tension [N]{note}", title="rod forces")
    legend_outside(axes)


def _efforts(
    axes: Axes, plan: Plan, demands: MotionDemands, joints: tuple[Coordinate, ...]
) -> None:
    for k in range(len(joints)):
        if demands.tau[:, k].any():
            axes.plot(demands.t, demands.tau[:, k], label=f"motor {k + 1}", color=f"C{k}", lw=1.3)
    _limit_lines(axes, plan, "peak_torque")
    axes.set(ylabel="torque [N m]" if joints[0].unit == "rad" else "force [N]", title="drives")
    legend_outside(axes)


def _rates(
    axes: Axes, plan: Plan, demands: MotionDemands, joints: tuple[Coordinate, ...], order: int
) -> None:
    """Speeds, accelerations or jerks of the joints that move like the first."""
    word = ("", "speed", "acceleration", "jerk")[order]
    factor, shown = display(joints[0].unit)
    values = factor * np.asarray(demands.joints[order])
    for k, joint in enumerate(joints):
        if joint.unit == joints[0].unit and np.ptp(values[:, k]):
            axes.plot(demands.t, values[:, k], label=joint.name, color=f"C{k}", lw=1.3)
    _limit_lines(axes, plan, f"joint_{word}", factor)
    axes.set(ylabel=f"{word} [{shown}{('', '/s', '/s²', '/s³')[order]}]", title=f"joint {word}s")
    axes.ticklabel_format(axis="y", scilimits=(-3, 4), useMathText=True)
    legend_outside(axes)


def _worth(axes: Axes, plan: Plan) -> None:
    """What limits are worth, or, where a method does not tell, how much of them is used."""
    gains = {key: 1e3 * gain for key, gain in plan.prices.items() if gain > 1e-5}
    if gains:
        shown = dict(list(gains.items())[:_SHOWN][::-1])
        axes.set(xlabel="gained on this way by 10 % more [ms]", title="what limits are worth")
    else:
        shown = {item.label: 100 * item.use for item in plan.limits[:_SHOWN][::-1]}
        axes.axvline(100, color=_LIMIT, lw=1, ls=":")
        axes.set(xlabel="use of the limit [%]", title="tightest limits")
    places = np.arange(len(shown))
    axes.barh(places, list(shown.values()), height=0.6, color=_GAIN)
    axes.set_yticks(places, list(shown))
    axes.grid(visible=False, axis="y")


def _bounded(plan: Plan, key: str) -> bool:
    return any(item.key == key for item in plan.limits)


def _limit_lines(axes: Axes, plan: Plan, key: str, factor: float = 1.0) -> None:
    """What is allowed, once for all that have the same limit; what is hardly used has none."""
    used = [item for item in plan.limits if item.key == key and item.use > _NEAR]
    for k, value in enumerate(sorted({factor * item.allowed for item in used})):
        for sign in (1, -1):
            label = "limit" if sign == 1 and not k else None
            axes.axhline(sign * value, color=_LIMIT, lw=1, ls="--", label=label)
