"""Figures of virtual sensors: what was sensed along a log, and which encoder it takes."""

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from triskele.description.schema import Robot
from triskele.reports.figures import STYLE, legend_outside
from triskele.sensing.sense import Sensed
from triskele.sensing.trial import EncoderTrial

_PARTS = ("deflection", "speed", "acceleration")


def sensed_figure(robot: Robot, found: Sensed) -> Figure:
    """Deflections, rates, and how far the tool is from the rigid one, with standard deviations."""
    moved = 1e6 * (found.tool - found.rigid)
    panels = (
        ("deflection [mm]", 1e3 * found.deflection, 1e3 * found.deflection_deviation),
        ("speed [mm/s]", 1e3 * found.speed, 1e3 * found.speed_deviation),
        ("acceleration [m/s$^2$]", found.acceleration, found.acceleration_deviation),
        ("tool off rigid [um]", moved, 1e6 * found.tool_deviation),
    )
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 9), layout="constrained")
        figure.suptitle(f"{robot.title}: {found.sensor} sensor", fontsize=11)
        axes = figure.subplots(len(panels), 1, sharex=True)
        for place, (label, values, spread) in zip(axes, panels, strict=True):
            names = "xyz" if label.startswith("tool") else [f"limb {i}" for i in (1, 2, 3)]
            for i, name in enumerate(names):
                (line,) = place.plot(found.t, values[:, i], lw=1.0, label=name)
                low, high = values[:, i] - spread[:, i], values[:, i] + spread[:, i]
                place.fill_between(found.t, low, high, color=line.get_color(), alpha=0.2, lw=0)
            place.set_ylabel(label)
            legend_outside(place)
        axes[-1].set_xlabel("t [s]")
    return figure


def encoders_figure(robot: Robot, rows: Sequence[EncoderTrial]) -> Figure:
    """Errors over bits, a line for each sensor and rate."""
    groups: dict[tuple[str, float], list[EncoderTrial]] = {}
    for row in rows:
        if row.bits is not None:
            groups.setdefault((row.sensor, row.rate), []).append(row)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 8.5), layout="constrained")
        figure.suptitle(f"{robot.title}: which encoder at the wrists?", fontsize=11)
        axes = figure.subplots(len(_PARTS), 1, sharex=True)
        for place, part in zip(axes, _PARTS, strict=True):
            for (sensor, rate), items in groups.items():
                bits = [item.bits for item in items]
                values = [100 * getattr(item.errors, part) for item in items]
                place.semilogy(bits, values, "o-", ms=3, lw=1.0, label=f"{sensor}, {rate:g} Hz")
            place.axhline(1.0, color="#9ca3af", lw=0.8, ls="--")
            place.set_ylabel(f"error of {part} [%]")
            legend_outside(place)
        axes[-1].set_xlabel("bits of the encoders")
        axes[-1].xaxis.get_major_locator().set_params(integer=True)
    return figure


def compared_figure(
    t: np.ndarray, truth: np.ndarray, found: dict[str, np.ndarray], unit: str, title: str
) -> Figure:
    """Estimates of one limb beside the truth, and how far off they are."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 5.5), layout="constrained")
        figure.suptitle(title, fontsize=11)
        above, below = figure.subplots(2, 1, sharex=True)
        above.plot(t, truth, color="black", lw=1.6, label="reference")
        for name, values in found.items():
            (line,) = above.plot(t, values, lw=0.9, label=name)
            below.plot(t, values - truth, lw=0.9, color=line.get_color(), label=name)
        above.set_ylabel(f"deflection [{unit}]")
        below.set_ylabel(f"error [{unit}]")
        below.set_xlabel("t [s]")
        for place in (above, below):
            legend_outside(place)
    return figure
