"""Figures: the robot, its workspace, a motion. Each axis has its unit; nothing is shown on screen.

The robot is drawn from its joints alone (`kinematics.solids`), so that any mechanism can be drawn.
"""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from jaxtyping import Array
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d.axes3d import Axes3D
from numpy.typing import NDArray

from triskele.description.files import check_writable, write_whole
from triskele.description.schema import Robot
from triskele.errors import InputError
from triskele.kinematics.cycles import JointMotion
from triskele.kinematics.mechanism import AbstractMechanism, Coordinate
from triskele.kinematics.motion import Motion
from triskele.kinematics.solids import Ball, Bar, body_frames, colours, looks, solids
from triskele.kinematics.workspace import Workspace
from triskele.units import display

Numbers = NDArray[np.float64]
Pose = Array | Numbers  #: platform coordinates [m, rad]
Lines = list[tuple[str, list[tuple[Numbers, Numbers]]]]  #: segments of each body [m]
FORMATS = (".png", ".svg", ".pdf")
_THIN = ("rod", "connector", "outer", "inner")  #: looks of bodies that are drawn as thin lines
_BOX = 0.2  #: least side of the box of a robot, in parts of the largest
_FLAT = 0.3  #: thickness of a flat robot, in parts of its middle size
_FROM_ABOVE = ((0, 1), "seen from above")

STYLE: Any = {  # matplotlib's own type of keys is not public
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "font.size": 9,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "svg.hashsalt": "triskele",
}


def is_figure(path: Path) -> bool:
    """Whether the name of `path` asks for a figure."""
    return path.suffix.lower() in FORMATS


def save_figure(figure: Figure, path: str | Path) -> Path:
    """Write `figure` as PNG, SVG or PDF, by the suffix of `path`; whole or not at all."""
    target = Path(path)
    if not is_figure(target):
        raise InputError(f"{target}: figures end in {', '.join(FORMATS)}.")
    check_writable(target)
    stream = io.BytesIO()
    with mpl.rc_context(STYLE):
        figure.savefig(stream, format=target.suffix[1:].lower(), dpi=150, metadata=None)
    return write_whole(target, stream.getvalue())


def robot_figure(robot: Robot, mechanism: AbstractMechanism, x: Pose) -> Figure:
    """The robot in perspective and from above, or from where a flat one is seen, at `x`."""
    with mpl.rc_context(STYLE):
        layout = ConstrainedLayoutEngine(rect=(0, 0.02, 1, 0.98), wspace=0.06)
        figure = Figure(figsize=(10, 5.2), layout=layout)
        figure.suptitle(f"{robot.title} at {_pose_text(mechanism, x)}", fontsize=11)
        draw_robot(_axes_3d(figure, 121), mechanism, x)
        flat, colour, lines = figure.add_subplot(122), colours(mechanism), body_lines(mechanism, x)
        (across, up), title = _view(lines)
        for name, segments in lines:
            for a, b in segments:
                ends = 1e3 * np.stack([a, b])
                flat.plot(ends[:, across], ends[:, up], color=colour[name], lw=2)
        labels = {"xlabel": f"{'xyz'[across]} [mm]", "ylabel": f"{'xyz'[up]} [mm]"}
        flat.set(title=title, aspect="equal", **labels)
    return figure


def _view(lines: Lines) -> tuple[tuple[int, int], str]:
    """The two axes in which the robot is drawn flat, and from where it is seen."""
    sizes = np.ptp([end for _, segments in lines for ends in segments for end in ends], axis=0)
    thin = int(sizes.argmin())
    if sizes[thin] > _FLAT * np.median(sizes):
        thin = 2
    return (((1, 2), "seen from the side"), ((0, 2), "seen from the front"), _FROM_ABOVE)[thin]


def workspace_figure(
    robot: Robot, mechanism: AbstractMechanism, space: Workspace, x: Pose
) -> Figure:
    """The workspace, coloured by the room left, and the robot in it.

    Three coordinates are shown in sections through `x`, two as a map, one as a curve.
    """
    held = {c.name: value for c, value in space.held}
    names = [c.name for c in mechanism.platform_coordinates]
    x = np.array([held.get(name, value) for name, value in zip(names, np.asarray(x), strict=True)])
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 7.2 if len(space.axes) > 2 else 4.6), layout="constrained")
        unit = space.unit.replace("^3", "³").replace("^2", "²")
        volume = f"{space.volume:.4g} ± {space.uncertainty:.1g} {unit}"
        moved = [_value_text(c.name, c.unit, value) for c, value in space.held if value]
        at = f", at {', '.join(moved)}" if moved else ""
        figure.suptitle(f"Workspace of {robot.title}: {volume}{at}", fontsize=11)
        picture = _axes_3d(figure, 221 if len(space.axes) > 2 else 121)
        if space.names == ("x", "y", "z"):
            _rings(picture, mechanism, space, x)
        else:
            draw_robot(picture, mechanism, x)
        if len(space.axes) == 1:
            _curve_of_room(figure.add_subplot(122), space)
            return figure
        lines = list(_sections(figure, robot, space, x[[names.index(n) for n in space.names]]))
        if any(lines):
            figure.legend(
                [line for line in lines if line][:1],
                ["cylinder of the robot file"],
                loc="outside lower right",
            )
    return figure


def _sections(
    figure: Figure, robot: Robot, space: Workspace, x: Numbers
) -> Iterator[Line2D | None]:
    """Maps of the room left in two coordinates, through `x`; the declared cylinder in each."""
    middle = [int(np.abs(axis - value).argmin()) for axis, value in zip(space.axes, x, strict=True)]
    levels = MaxNLocator(12).tick_values(0, max(space.slack.max(), 1e-9))
    planes = ((0, 2, 1), (0, 1, 2), (1, 2, 0)) if len(space.axes) > 2 else ((0, 1, None),)
    for k, (across, up, fixed) in enumerate(planes):
        axes = figure.add_subplot(222 + k if len(planes) > 1 else 122)
        section = space.slack if fixed is None else np.take(space.slack, middle[fixed], axis=fixed)
        section = section.T  # the first remaining coordinate runs along the abscissa
        u, v = _shown(space, across), _shown(space, up)
        filled = axes.contourf(u, v, section, levels=levels, cmap="viridis")
        axes.contour(u, v, section, levels=[0.0], colors="#b91c1c", linewidths=1.5)
        axes.set(
            xlabel=_label(space.names[across], space.units[across]),
            ylabel=_label(space.names[up], space.units[up]),
            aspect="equal" if space.units[across] == space.units[up] else "auto",
        )
        if fixed is not None:
            value = space.axes[fixed][middle[fixed]]
            text = _value_text(space.names[fixed], space.units[fixed], value)
            axes.set_title(f"section at {text}")
        if not k:
            figure.colorbar(filled, ax=axes, label="room under the nearest limit [1]")
        yield _draw_cylinder(axes, robot, (space.names[across], space.names[up]))


def _curve_of_room(axes: Axes, space: Workspace) -> None:
    """The room left along one coordinate."""
    axes.plot(_shown(space, 0), space.slack, lw=1.5)
    axes.axhline(0.0, color="#b91c1c", lw=1.5)
    axes.set(
        xlabel=_label(space.names[0], space.units[0]), ylabel="room under the nearest limit [1]"
    )


def motion_figure(
    robot: Robot, mechanism: AbstractMechanism, motion: Motion, joints: JointMotion
) -> Figure:
    """Platform and joints along a motion: position, velocity, acceleration, jerk."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 9), layout="constrained")
        figure.suptitle(f"{robot.title}: motion of {float(motion.duration):.4g} s", fontsize=11)
        grid = figure.subplots(4, 2, sharex=True)
        sides = (
            (mechanism.platform_coordinates, (motion.x, motion.xd, motion.xdd, motion.xddd)),
            (mechanism.joint_coordinates, joints),
        )
        t = np.asarray(motion.t)
        for column, (coordinates, orders) in enumerate(sides):
            for order, values in enumerate(orders):
                _curves(grid[order, column], t, np.asarray(values), coordinates, order)
        for axes in grid[-1]:
            axes.set_xlabel("time [s]")
    return figure


def draw_robot(axes: Axes3D, mechanism: AbstractMechanism, x: Pose) -> None:
    """Lines of all bodies, in mm."""
    corners = []
    look, colour = looks(mechanism), colours(mechanism)
    cylinders = {strut.body for strut in mechanism.struts if look[strut.body] == "outer"}
    for name, segments in body_lines(mechanism, x):
        for a, b in segments:
            ends = 1e3 * np.stack([a, b])
            width = 1.5 if look[name] in _THIN and name not in cylinders else 3
            axes.plot(*ends.T, color=colour[name], lw=width, solid_capstyle="round")
            corners.append(ends)
    points = np.concatenate(corners)
    low, high = points.min(axis=0), points.max(axis=0)
    aspect = np.maximum(high - low, _BOX * (high - low).max())
    zoom = 0.85  # a little out, which leaves room for the labels
    for name, middle, side, size in zip("xyz", (low + high) / 2, aspect, high - low, strict=True):
        if size < side:  # as long as it is drawn
            axes.set(**{f"{name}lim": (middle - side / 2, middle + side / 2)})
            getattr(axes, f"{name}axis").set_major_locator(MaxNLocator(2))
            zoom = 0.72
    axes.set_box_aspect(aspect, zoom=zoom)  # pyright: ignore[reportArgumentType]
    axes.set(xlabel="x [mm]", ylabel="y [mm]", zlabel="z [mm]")


def body_lines(mechanism: AbstractMechanism, x: Pose) -> Lines:
    """Segments [m] of each body at `x`: bars, and outlines of plates."""
    frames = body_frames(mechanism, np.asarray(x)[None])[0]
    places = dict(zip(("base", *mechanism.bodies), frames, strict=True))
    lines: dict[str, list[tuple[Numbers, Numbers]]] = {name: [] for name in places}
    for body, shape, joint in solids(mechanism):
        if joint or isinstance(shape, Ball):
            continue
        R, p = places[body][:, :3], places[body][:, 3]
        if isinstance(shape, Bar):
            lines[body].append((R @ shape.start + p, R @ shape.end + p))
        else:
            ring = shape.outline @ R.T + p
            lines[body] += zip(ring, np.roll(ring, -1, axis=0), strict=True)
    return list(lines.items())


def _draw_cylinder(axes: Axes, robot: Robot, plane: tuple[str, str]) -> Line2D | None:
    """The cylinder that the robot file declares, dashed; None if the plane does not cut it."""
    radius, heights = robot.limits.workspace_radius, robot.limits.workspace_height
    if radius is None or heights is None or plane not in (("x", "z"), ("y", "z"), ("x", "y")):
        return None
    if plane[1] == "z":
        box = np.array([[-radius, radius, radius, -radius, -radius], np.repeat(heights, [2, 3])])
        box[1, -1] = heights[0]
    else:
        turn = np.linspace(0, 2 * np.pi, 181)
        box = radius * np.stack([np.cos(turn), np.sin(turn)])
    (line,) = axes.plot(*(1e3 * box), color="black", ls="--", lw=1)
    return line


def _rings(axes: Axes3D, mechanism: AbstractMechanism, space: Workspace, x: Pose) -> None:
    """The robot, and the border of the workspace at ten heights."""
    draw_robot(axes, mechanism, x)
    u, v, heights = (1e3 * axis for axis in space.axes)
    low, high = 1e3 * space.bounds[2]
    for height in np.linspace(low, high, 10):
        section = space.slack[:, :, int(np.abs(heights - height).argmin())].T
        if (section > 0).any():
            axes.contour(
                u, v, section, levels=[0.0], zdir="z", offset=height, colors="#0e7490", alpha=0.6
            )
    width, depth = np.ptp(1e3 * space.bounds[:2], axis=1)
    bottom = min(low, axes.get_zlim()[0])
    axes.set_zlim(bottom, axes.get_zlim()[1])
    axes.set_box_aspect((width, depth, axes.get_zlim()[1] - bottom))


def _curves(
    axes: Axes, t: Numbers, values: Numbers, coordinates: tuple[Coordinate, ...], order: int
) -> None:
    """One panel; a coordinate of another unit has its scale on the right."""
    word = ("position", "velocity", "acceleration", "jerk")[order]
    panels: dict[str, Axes] = {}
    lines = []
    for k, (name, unit) in enumerate(coordinates):
        if unit != coordinates[0].unit and not np.ptp(values[:, k]):
            continue  # a flange that does not turn needs no scale of its own
        if unit not in panels:
            panels[unit] = axes if not panels else axes.twinx()
            panels[unit].spines["right"].set_visible(bool(len(panels) - 1))
            panels[unit].grid(visible=len(panels) == 1)
        factor, shown = display(unit) if order == 0 or unit == "rad" else (1.0, unit)
        per = ("", "/s", "/s²", "/s³")[order]
        panels[unit].set_ylabel(f"{word} [{shown}{per}]")
        label = name if panels[unit] is axes else f"{name} (right)"
        lines += panels[unit].plot(t, factor * values[:, k], label=label, color=f"C{k}", lw=1.5)
    if order == 0:
        axes.legend(handles=lines, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def _axes_3d(figure: Figure, place: int) -> Axes3D:
    axes = figure.add_subplot(place, projection="3d")
    assert isinstance(axes, Axes3D), "matplotlib was asked for 3D axes"
    axes.view_init(elev=18, azim=-40)
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.set_major_locator(MaxNLocator(4))
        axis.labelpad = 6
    return axes


def _shown(space: Workspace, k: int) -> Numbers:
    return display(space.units[k])[0] * space.axes[k]


def _label(name: str, unit: str) -> str:
    return f"{name} [{display(unit)[1]}]"


def _value_text(name: str, unit: str, value: float) -> str:
    factor, shown = display(unit)
    return f"{name} = {round(factor * value, 3) + 0.0:.4g} {shown}"


def _pose_text(mechanism: AbstractMechanism, x: Pose) -> str:
    parts = []
    for coordinate, value in zip(mechanism.platform_coordinates, x, strict=True):
        factor, unit = display(coordinate.unit)
        parts.append(f"{coordinate.name} = {round(factor * float(value), 3) + 0.0:g} {unit}")
    return ", ".join(parts)


def legend_outside(axes: Axes) -> None:
    """A legend to the right of the axes, where it hides nothing."""
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
