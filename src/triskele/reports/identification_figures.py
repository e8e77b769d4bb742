"""Figures of identification: measured and predicted efforts, parameters with intervals, motions."""

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from triskele.identification.excitation import Excitation
from triskele.identification.identify import Identified
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
