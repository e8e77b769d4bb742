"""Figures of the multibody engine: reactions in the joints, runs, and how well joints hold."""

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from triskele.multibody.integrate import Run
from triskele.multibody.reactions import JointReactions, joint_points
from triskele.multibody.system import State, System, motion_of
from triskele.reports.figures import STYLE

_SHOWN = 8  #: joints in a panel, those that carry most
_ROUNDING = 1e-18  #: [m], what a logarithmic axis shows of zero
_FLAT = 0.01  #: a view of a mechanism that is flatter than this says nothing


def reactions_figure(title: str, system: System, t: np.ndarray, held: JointReactions) -> Figure:
    """Forces, moments, efforts of the drives, and the gap of the joints, over time.

    Dashed: rigid bodies do not determine this reaction; the least one is drawn.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9, 10), layout="constrained")
        figure.suptitle(f"Reactions in the joints of {title}", fontsize=11)
        force, moment, effort, gap = figure.subplots(4, 1, sharex=True)
        _magnitudes(force, t, held, held.force, np.all(held.unique[:, :3], axis=1))
        force.set_ylabel("force [N]")
        _magnitudes(moment, t, held, held.moment, np.all(held.unique[:, 3:], axis=1))
        moment.set_ylabel("moment [N m]")
        _motors(effort, system, t, held.effort)
        _gaps(gap, t, {"position [m]": held.gap})
        gap.set_xlabel("t [s]")
    return figure


def run_figure(title: str, system: System, run: Run, body: str = "") -> Figure:
    """Way of a body, efforts, energy, and the gap of the joints, over time.

    Without a `body` it is that which moves furthest.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9, 10), layout="constrained")
        ended = "" if run.ended is None else f" (ended {run.ended})"
        figure.suptitle(f"Simulation of {title}{ended}", fontsize=11)
        way, effort, energy, gap = figure.subplots(4, 1, sharex=True)
        place = system.bodies.index(body) if body else _farthest(run)
        for k, axis in enumerate("xyz"):
            moved = run.origins[:, place, k] - run.origins[0, place, k]
            way.plot(run.t, 1e3 * moved, label=f"{axis} of {_words(system.bodies[place])}", lw=1.5)
        way.set_ylabel("moved from the start [mm]")
        _legend(way)
        _motors(effort, system, run.t, run.effort)
        lifted = run.potential - run.potential[0]
        for values, label, style in (
            (run.kinetic, "kinetic energy", "-"),
            (lifted, "potential, from the start", "-"),
            (run.work, "work of the motors", "--"),
            (run.lost, "lost to friction", ":"),
        ):
            energy.plot(run.t, values, style, label=label, lw=1.5)
        energy.set_ylabel("energy [J]")
        _legend(energy)
        _gaps(gap, run.t, {"position [m]": run.gap, "velocity [m/s]": run.slip})
        gap.set_xlabel("t [s]")
    return figure


def mechanism_figure(title: str, system: System, state: State) -> Figure:
    """The bodies as stars from their centres of mass to their joints, seen from two sides."""
    motion = motion_of(system, state)
    centres, points = np.asarray(motion.r), np.asarray(joint_points(system, motion))
    ends = [(system.body(joint.parent), system.body(joint.child)) for joint in system.joints]
    wide = np.ptp(np.vstack([points, centres[:-1]]), axis=0)
    views = [view for view in ((0, 1), (0, 2), (1, 2)) if min(wide[list(view)]) > _FLAT * max(wide)]
    with mpl.rc_context(STYLE):
        views = views[:2] or [(0, 1)]
        figure = Figure(figsize=(5.5 * len(views), 5), layout="constrained")
        figure.suptitle(title, fontsize=11)
        panels = figure.subplots(1, len(views), squeeze=False)[0]
        for axes, (across, up) in zip(panels, views, strict=True):
            for point, pair in zip(points, ends, strict=True):
                for body in pair:
                    if body == len(system.bodies):
                        axes.plot(point[across], point[up], "^", color="black", ms=8, zorder=0)
                        continue
                    line = np.stack([centres[body], point])
                    axes.plot(line[:, across], line[:, up], color=f"C{body % 10}", lw=2.5)
                axes.plot(point[across], point[up], "o", color="white", mec="black", ms=5)
            for body, name in enumerate(system.bodies):
                place = centres[body]
                axes.annotate(
                    _words(name),
                    (place[across], place[up]),
                    fontsize=7,
                    ha="center",
                    bbox={"fc": "white", "ec": "none", "pad": 1, "alpha": 0.8},
                )
            axes.set(xlabel=f"{'xyz'[across]} [m]", ylabel=f"{'xyz'[up]} [m]")
            axes.set_aspect("equal", adjustable="datalim")
    return figure


def _farthest(run: Run) -> int:
    """The body that moves furthest."""
    ways = np.linalg.norm(run.origins - run.origins[:1], axis=-1).max(axis=0)
    return int(ways.argmax())


def _magnitudes(
    axes: Axes, t: np.ndarray, held: JointReactions, values: np.ndarray, unique: object
) -> None:
    sizes = np.linalg.norm(values, axis=-1)
    most = np.argsort(-sizes.max(axis=0))[:_SHOWN]
    for place, k in enumerate(most):
        style = "-" if np.asarray(unique)[k] else "--"
        axes.plot(t, sizes[:, k], style, label=_words(held.joints[k]), color=f"C{place}", lw=1.4)
    _legend(axes)


def _motors(axes: Axes, system: System, t: np.ndarray, efforts: np.ndarray) -> None:
    joints = [axis.joint for axis in system.motors]
    units = ["N m" if axis.kind == "turn" else "N" for axis in system.motors]
    for k, (joint, unit) in enumerate(zip(joints, units, strict=True)):
        along = f", {'xyz'[joints[:k].count(joint)]}" if joints.count(joint) > 1 else ""
        axes.plot(t, efforts[:, k], label=f"{_words(joint)}{along} [{unit}]", lw=1.4)
    axes.set_ylabel(f"effort of the drives [{', '.join(dict.fromkeys(units)) or 'N m, N'}]")
    if system.motors:
        _legend(axes)


def _gaps(axes: Axes, t: np.ndarray, gaps: dict[str, np.ndarray]) -> None:
    for label, values in gaps.items():
        axes.semilogy(t, np.maximum(values, _ROUNDING), label=label, lw=1.2)
    axes.set_ylim(1e-17, max(1e-12, 10 * max(values.max() for values in gaps.values())))
    axes.set_ylabel("violation of the joints [m, m/s]" if len(gaps) > 1 else "violation [m]")
    _legend(axes)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _legend(axes: Axes) -> None:
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
