"""The figure of a plan: the path, how fast it is run and why not faster, and what that takes."""

from collections.abc import Iterable

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from triskele.dynamics.torques import MotionDemands
from triskele.kinematics.build import build
from triskele.kinematics.cycles import JointMotion
from triskele.kinematics.limits import Limit
from triskele.kinematics.mechanism import AbstractMechanism, Coordinate
from triskele.kinematics.path import derivatives_along
from triskele.numerics import stacked
from triskele.planning.plan import Plan
from triskele.planning.replay import gains, used_limits
from triskele.reports.figures import STYLE, legend_outside
from triskele.reports.load_figures import draw_tensions, effort_label, strut_word
from triskele.units import display

_LIMIT, _IDLE, _GAIN = "#b91c1c", "#9ca3af", "#0e7490"
_HEADROOM = 1.5  #: of the path speed; the maximum velocity curve may go through the roof
_SHOWN = 8  #: bars
_NEAR = 0.25  #: limits used less are not drawn: they would squeeze the curves


def plan_figure(
    plan: Plan, demands: MotionDemands, back: tuple[Plan, MotionDemands] | None = None
) -> Figure:
    """Path, path speed under its limits, tensions, efforts, jerks, and what limits are worth.

    `demands` are those of the samples of `plan`; `back` is the same for the way back, if there is
    one. What limits are worth is then that of both ways.
    """
    plans, ways = [plan], [demands]
    if back is not None:
        plans.append(back[0])
        ways.append(back[1])
    demands = _one_after_the_other(ways)
    mechanism = build(plan.robot)
    joints = mechanism.joint_coordinates
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(12.5, 9.5), layout="constrained")
        carrying = "" if plan.payload is None else f" with {plan.payload.mass:g} kg"
        time = f"{sum(item.duration for item in plans):.4f} s"
        both = " there and back" if len(plans) > 1 else ""
        title = f"{plan.robot.title}{carrying}: {time}{both} ({plan.method})"
        figure.suptitle(title, fontsize=11)
        grid = figure.subplots(3, 2)
        _path(grid[0, 0], plan, mechanism)
        _speed(grid[0, 1], plans)
        rods = None if demands.loads is None else demands.loads.rods
        if rods is None:
            _rates(grid[1, 0], plan, demands, joints, 1)
        else:
            draw_tensions(grid[1, 0], mechanism, demands.t, rods, width=1.3)
            _limit_lines(grid[1, 0], plan, "rod_force")
            grid[1, 0].set_title(f"{strut_word(mechanism)} forces")
            legend_outside(grid[1, 0])
        _efforts(grid[1, 1], plan, demands, joints)
        _rates(grid[2, 0], plan, demands, joints, 3 if _bounded(plan, "joint_jerk") else 2)
        _worth(grid[2, 1], plans)
        for axes in (*grid[1], grid[2, 0]):
            axes.set_xlabel("t [s]")
    return figure


def _path(axes: Axes, plan: Plan, mechanism: AbstractMechanism) -> None:
    """In the plane of its two longest ways, coloured by speed."""
    s, first = np.unique(plan.s, return_index=True)
    r, r1, _, _ = (np.asarray(part) for part in derivatives_along(plan.path, s))
    coordinates = mechanism.platform_coordinates
    lengths = [k for k, c in enumerate(coordinates) if c.unit == "m"]
    moves = len(lengths) > 1
    candidates = lengths if moves else list(range(len(coordinates)))
    ways = np.ptp(r * np.asarray(stacked(mechanism.scales().platform)), axis=0)
    across, up = sorted(sorted(candidates, key=lambda k: -ways[k])[:2])
    shown = [display(coordinates[k].unit) for k in (across, up)]
    points = np.stack([shown[0][0] * r[:, across], shown[1][0] * r[:, up]], axis=1)
    pace = np.linalg.norm(r1[:, lengths], axis=1) if moves else np.ones(len(s))
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
        xlabel=f"{coordinates[across].name} [{shown[0][1]}]",
        ylabel=f"{coordinates[up].name} [{shown[1][1]}]",
        title="path",
    )
    axes.margins(0.08, 0.15)
    if moves:
        axes.set_aspect("equal", adjustable="datalim")
    label = "speed [m/s]" if moves else "path speed [1/s]"
    axes.figure.colorbar(lines, cax=axes.inset_axes((1.03, 0, 0.03, 1)), label=label)


def _one_after_the_other(ways: list[MotionDemands]) -> MotionDemands:
    """Demands of ways that follow each other, as far as they are drawn."""
    first = ways[0]
    if len(ways) == 1:
        return first
    starts = np.cumsum([0.0, *(item.t[-1] for item in ways[:-1])])
    joints = JointMotion(
        *(np.concatenate(part) for part in zip(*(item.joints for item in ways), strict=True))
    )
    loads = first.loads
    if loads is not None and loads.rods is not None:
        rods = [item.loads.rods for item in ways if item.loads and item.loads.rods]
        lower, upper = (
            np.concatenate([getattr(item, end) for item in rods]) for end in ("lower", "upper")
        )
        loads = loads._replace(rods=loads.rods._replace(lower=lower, upper=upper))
    return first._replace(
        t=np.concatenate([item.t + start for item, start in zip(ways, starts, strict=True)]),
        joints=joints,
        tau=np.concatenate([item.tau for item in ways]),
        loads=loads,
    )


def _speed(axes: Axes, plans: list[Plan]) -> None:
    """Path speed over s, the binding limits as dots on it, and the maximum velocity curve.

    The way back is drawn from 1 to 2.
    """
    s = np.concatenate([plan.s + way for way, plan in enumerate(plans)])
    speed, fastest = (
        np.concatenate([getattr(plan, name) for plan in plans]) for name in ("speed", "fastest")
    )
    binding = [limit for plan in plans for limit in plan.binding]
    throughout = _each(run.limit for plan in plans for run in plan.runs if run.whole)
    words = ", ".join(limit.label for limit in throughout)
    idle = f"{words} (whole motion)" if throughout else "no limit binds"
    axes.plot(s, fastest, color="black", lw=1, ls="--", label="maximum velocity")
    axes.plot(s, speed, color=_IDLE, lw=1.5, label=idle)
    for k, limit in enumerate(_each(filter(None, binding))):
        own = np.array([b is not None and b.identity == limit.identity for b in binding])
        axes.plot(s[own], speed[own], ".", color=f"C{k}", ms=5, label=limit.label)
    axes.set(
        xlabel="s [1]" if len(plans) == 1 else "s [1], and back from 1 to 2",
        ylabel="path speed [1/s]",
        title="path speed, and the limits that bind",
        xlim=(0, len(plans)),
        ylim=(0, _HEADROOM * speed.max()),
    )
    legend_outside(axes)


def _each(limits: Iterable[Limit]) -> list[Limit]:
    """Every limit once."""
    return list({limit.identity: limit for limit in limits}.values())


def _efforts(
    axes: Axes, plan: Plan, demands: MotionDemands, joints: tuple[Coordinate, ...]
) -> None:
    for k in range(len(joints)):
        if demands.tau[:, k].any():
            axes.plot(demands.t, demands.tau[:, k], label=f"motor {k + 1}", color=f"C{k}", lw=1.3)
    _limit_lines(axes, plan, "peak_torque")
    axes.set(ylabel=effort_label(joints), title="drives")
    legend_outside(axes)


def _rates(
    axes: Axes, plan: Plan, demands: MotionDemands, joints: tuple[Coordinate, ...], order: int
) -> None:
    """Speeds, accelerations or jerks of the joints that move."""
    word, per = ("", "speed", "acceleration", "jerk")[order], ("", "/s", "/s²", "/s³")[order]
    moving = np.ptp(np.asarray(demands.joints[order]), axis=0) > 0
    for k, (name, unit) in enumerate(joints):
        if moving[k]:
            values = display(unit)[0] * np.asarray(demands.joints[order])[:, k]
            axes.plot(demands.t, values, label=name, color=f"C{k}", lw=1.3)
    _limit_lines(axes, plan, f"joint_{word}")
    shown = dict.fromkeys(f"{display(joint.unit)[1]}{per}" for joint in joints)
    axes.set(ylabel=f"{word} [{', '.join(shown)}]", title=f"joint {word}s")
    axes.ticklabel_format(axis="y", scilimits=(-3, 4), useMathText=True)
    legend_outside(axes)


def _worth(axes: Axes, plans: list[Plan]) -> None:
    """What limits are worth, or, where a method has no prices, how much of them is used."""
    worth = [(key, 1e3 * gain) for key, gain in gains(plans).items() if gain > 1e-5]
    if worth:
        shown = worth[:_SHOWN][::-1]
        per = "way" if len(plans) == 1 else "cycle"
        axes.set(xlabel=f"gained per {per} by 10 % more [ms]", title="what limits are worth")
    else:
        used = used_limits(plans)[:_SHOWN][::-1]
        shown = [(item.limit.label, 100 * item.use) for _, item in used]
        axes.axvline(100, color=_LIMIT, lw=1, ls=":")
        axes.set(xlabel="use of the limit [%]", title="tightest limits")
    places = np.arange(len(shown))
    axes.barh(places, [value for _, value in shown], height=0.6, color=_GAIN)
    axes.set_yticks(places, [label for label, _ in shown])
    axes.grid(visible=False, axis="y")


def _bounded(plan: Plan, key: str) -> bool:
    return any(item.limit.key == key for item in plan.limits)


def _limit_lines(axes: Axes, plan: Plan, key: str) -> None:
    """What is allowed, once for all that have the same limit; what is hardly used has none."""
    used = [item.limit for item in plan.limits if item.use > _NEAR]
    own = [limit for limit in used if limit.key == key and not limit.at_speed]
    shown = {_displayed(limit.unit) * limit.most for limit in own}
    for k, value in enumerate(sorted(shown)):
        for sign in (1, -1):
            label = "limit" if sign == 1 and not k else None
            axes.axhline(sign * value, color=_LIMIT, lw=1, ls="--", label=label)


def _displayed(unit: str) -> float:
    """Factor from a unit such as rad/s^3 to what is displayed; efforts are not converted."""
    coordinate, rate, _ = unit.partition("/")
    return display(coordinate)[0] if rate else 1.0
