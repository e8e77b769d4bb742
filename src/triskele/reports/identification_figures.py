"""Figures of identification: measured and predicted efforts, parameters with intervals, motions."""

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from triskele.identification.excitation import Excitation
from triskele.identification.friction_curve import FrictionCurve
from triskele.identification.identify import Identified
from triskele.identification.measured_rods import MeasuredRods
from triskele.reports.figures import STYLE, legend_outside

_MOST = 4000  #: samples of a curve


def efforts_figure(found: Identified) -> Figure:
    """Measured and predicted efforts of each drive, on a log held out if there is one."""
    held = bool(found.held_out)
    log = found.held_out[0] if held else found.logs[0]
    predicted = (found.predicted_held_out if held else found.predicted)[: len(log.t)]
    n = log.tau.shape[1]
    part = slice(0, _MOST)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 2.1 * n + 1), layout="constrained")
        which = "held out" if held else "fitted"
        figure.suptitle(f"{found.robot.title}: efforts along {log.name} ({which})", fontsize=11)
        axes = figure.subplots(n, 1, sharex=True, squeeze=False)[:, 0]
        for k, place in enumerate(axes):
            place.plot(log.t[part], log.tau[part, k], lw=0.5, color="#9ca3af", label="measured")
            place.plot(log.t[part], predicted[part, k], lw=1.0, color="#1d4ed8", label="predicted")
            error = log.tau[part, k] - predicted[part, k]
            place.plot(log.t[part], error, lw=0.4, color="#ea580c", label="difference")
            place.set_ylabel(f"drive {k + 1} [{_unit(found, k)}]")
            legend_outside(place)
        axes[-1].set_xlabel("t [s]")
    return figure


def _unit(found: Identified, k: int) -> str:
    parts = [p for p in found.fit.unknowns.parameters if p.part == f"drive_{k + 1}"]
    return next((p.unit for p in parts if p.name == "coulomb"), "N m")


def parameters_figure(found: Identified) -> Figure:
    """Base parameters with their intervals, in units of the interval, around what the file had."""
    parameters = found.verdict.parameters
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 0.24 * len(parameters) + 1.2), layout="constrained")
        figure.suptitle(f"{found.robot.title}: base parameters and 95 % intervals", fontsize=11)
        place = figure.subplots()
        rows = np.arange(len(parameters))[::-1]
        widths = [p.half_interval or 0.0 for p in parameters]
        sizes = [
            max(abs(p.value), abs(p.file), width, 1e-12)
            for p, width in zip(parameters, widths, strict=True)
        ]
        values = [p.value / size for p, size in zip(parameters, sizes, strict=True)]
        halves = [width / size for width, size in zip(widths, sizes, strict=True)]
        files = [p.file / size for p, size in zip(parameters, sizes, strict=True)]
        place.errorbar(values, rows, xerr=halves, fmt="o", ms=3, lw=1.0, label="identified")
        place.plot(files, rows, "x", ms=4, color="#ea580c", label="file")
        place.set_yticks(rows, [p.formula for p in parameters], fontsize=7)
        place.set_ylim(-1, len(parameters))
        place.set_xlabel("value, relative to the largest of value, file and interval [1]")
        place.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, fontsize=8)
    return figure


def friction_figure(found: FrictionCurve) -> Figure:
    """Effort against speed of each drive: points to and fro with their deviation, and the law."""
    count = len(found.drives)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 2.6 * count + 1), layout="constrained")
        figure.suptitle(f"{found.robot.title}: friction against speed", fontsize=11)
        axes = figure.subplots(count, 1, squeeze=False)[:, 0]
        for place, drive in zip(axes, found.drives, strict=True):
            for sign, way in ((1, "forward"), (-1, "backward")):
                shown = [(p, getattr(p, way)) for p in drive.points]
                shown = [(p, value) for p, value in shown if value is not None]
                if not found.modelled:  # each direction alone has the load in it
                    shown = [(p, sign * p.friction) for p, _ in shown]
                if shown:
                    speed = [sign * p.speed for p, _ in shown]
                    wide = [p.deviation for p, _ in shown]
                    marks = {"fmt": "o", "ms": 3, "lw": 0.8, "color": "#6b7280", "capsize": 2}
                    label = "mean and standard deviation" if sign > 0 else None
                    place.errorbar(speed, [v for _, v in shown], yerr=wide, label=label, **marks)
            if drive.best is not None:
                most = max(p.speed for p in drive.points)
                w = np.concatenate([-np.geomspace(most, 1e-4 * most, 300), [0.0]])
                w = np.concatenate([w, -w[-2::-1]])
                effort = np.asarray(drive.best.law.effort(w))
                place.plot(w, effort, lw=1.2, color="#1d4ed8", label=drive.best.shape)
            place.set_xlabel(f"speed of {drive.joint} [{drive.speed_unit}]")
            place.set_ylabel(f"friction of drive {drive.drive} [{drive.unit}]")
            legend_outside(place)
    return figure


def measured_rods_figure(found: MeasuredRods) -> Figure:
    """Tension of each rod that was measured, beside that of the model."""
    count, part = len(found.rods), slice(0, _MOST)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 2.4 * count + 1), layout="constrained")
        figure.suptitle(f"{found.robot.title}: tension of rods", fontsize=11)
        axes = figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0]
        for place, rod in zip(axes, found.rods, strict=True):
            t = found.t[part]
            place.plot(t, rod.measured[part], lw=0.6, color="#9ca3af", label="measured")
            place.plot(t, rod.computed[part], lw=1.0, color="#1d4ed8", label="computed")
            place.plot(t, rod.difference[part], lw=0.5, color="#ea580c", label="difference")
            place.set_ylabel(f"{rod.name} [N]")
            legend_outside(place)
        axes[-1].set_xlabel("t [s]")
    return figure


def excitation_figure(title: str, found: Excitation) -> Figure:
    """The motion, coordinate by coordinate, and how the search went."""
    motion = found.motion
    x, t = np.asarray(motion.x), np.asarray(motion.t)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 2.0 * (x.shape[1] + 1) + 1), layout="constrained")
        figure.suptitle(f"{title}: excitation, condition {found.condition:.0f}", fontsize=11)
        axes = figure.subplots(x.shape[1] + 1, 1, squeeze=False)[:, 0]
        for k, (name, unit) in enumerate(motion.coordinates):
            axes[k].plot(t, x[:, k], lw=1.0)
            axes[k].set_ylabel(f"{name} [{unit}]")
            axes[k].set_xlabel("t [s]")
        finite = np.isfinite(found.history)
        axes[-1].plot(np.flatnonzero(finite), found.history[finite], lw=1.0)
        labels = {
            "condition": "condition\nnumber [1]",
            "d-optimal": "mean of -log\neigenvalues [1]",
        }
        axes[-1].set_ylabel(labels[found.criterion])
        axes[-1].set_xlabel("step of the search")
    return figure
