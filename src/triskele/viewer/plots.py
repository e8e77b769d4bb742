"""Plots beside the scene: efforts, tensions and use of limits over time, with the time now."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from viser import GuiUplotHandle, ViserServer

from triskele.description.schema import Robot
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.viewer.played import Played

_SAMPLES = 300  #: of a curve, at most
_LIMITS = 5  #: the tightest, in the plot of uses
_COLOURS = ("#1d4ed8", "#ea580c", "#15803d", "#7c3aed", "#b91c1c", "#0e7490", "#a16207", "#475569")
_HEIGHT = 220  #: [px]


class Plot:
    """Curves over time, and a mark at the time now."""

    def __init__(
        self,
        server: ViserServer,
        title: str,
        t: Float[np.ndarray, " N"],
        curves: Sequence[tuple[str, Float[np.ndarray, " N"]]],
    ) -> None:
        """Labelled curves of one unit, which is in the `title`."""
        kept = np.unique(np.linspace(0, len(t) - 1, min(len(t), _SAMPLES)).astype(int))
        self._t = t[kept]
        self._curves = [np.asarray(values, float)[kept] for _, values in curves]
        low, high = (float(end(self._curves)) for end in (np.min, np.max))
        room = 0.05 * max(high - low, 1e-6)
        self._ends = (low - room, high + room)
        series: list[dict[str, Any]] = [{"label": "t [s]"}]
        for k, (label, _) in enumerate(curves):
            series.append({"label": label, "stroke": _COLOURS[k % len(_COLOURS)], "width": 1.5})
        mark = {"label": "now", "stroke": "#111827", "width": 1, "points": {"show": False}}
        self.handle: GuiUplotHandle = server.gui.add_uplot(
            self._data(0.0),
            (*series, mark),  # pyright: ignore[reportArgumentType]
            title=title,
            scales={"x": {"time": False}, "y": {"auto": False, "range": self._ends}},
            axes=({"label": "t [s]", "labelSize": 18, "size": 34}, {"size": 52}),
            legend={"show": True},
            height=_HEIGHT,
        )

    def mark(self, time: float) -> None:
        """Move the mark to `time` [s]."""
        self.handle.data = self._data(time)

    def _data(self, time: float) -> tuple[np.ndarray, ...]:
        """Times, curves, and a line from the lowest to the highest value at `time`."""
        k = int(np.clip(np.searchsorted(self._t, time), 1, len(self._t) - 1))
        line = np.full(len(self._t), np.nan)
        line[k - 1], line[k] = self._ends
        return (self._t, *self._curves, line)


def plots_of(
    server: ViserServer, robot: Robot, mechanism: AbstractMechanism, shown: Played
) -> list[Plot]:
    """Plots of what the motion `shown` takes; none if the file does not tell."""
    if shown.demands is None:
        return []
    t = np.asarray(shown.motion.t) - float(shown.motion.t[0])
    units = [joint.unit for joint in mechanism.joint_coordinates]
    found = []
    for unit, title in (("rad", "torque [N m]"), ("m", "force [N]")):
        drives = [k for k, own in enumerate(units) if own == unit]
        efforts = [(f"motor {k + 1}", shown.demands.tau[:, k]) for k in drives]
        found += [Plot(server, title, t, efforts)] if drives else []
    rods = shown.rods
    if rods is not None:
        names = [name.replace("_", " ") for name in rods.names]
        tensions = list(zip(names, rods.lower.T, strict=True))
        found.append(Plot(server, "tension at the platform [N]", t, tensions))
    uses = [item for item in shown.demands.series if not item.average][:_LIMITS]
    if uses:
        finite = [(item.limit.label, np.minimum(100 * item.use, 1e4)) for item in uses]
        found.append(Plot(server, "use of the tightest limits [%]", t, finite))
    return found
