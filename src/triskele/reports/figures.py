"""Figures: the robot, its workspace, a motion. Each axis has its unit; nothing is shown on screen.

The robot is drawn from its joints alone (`kinematics.solids`), so that any mechanism can be drawn.
"""

import io
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from jaxtyping import Array
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d.axes3d import Axes3D
from numpy.typing import NDArray

from triskele.description.files import check_writable, write_whole
from triskele.description.schema import Robot
from triskele.errors import InputError
from triskele.kinematics.cycles import JointMotion
from triskele.kinematics.mechanism import AbstractMechanism, Coordinate
from triskele.kinematics.motion import Motion
from triskele.kinematics.solids import Ball, Bar, body_colour, body_frames, solids
from triskele.kinematics.workspace import Workspace
from triskele.units import display

Numbers = NDArray[np.float64]
Pose = Array | Numbers  #: platform coordinates [m, rad]
FORMATS = (".png", ".svg", ".pdf")

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
    """The robot in perspective and from above, its platform at `x`."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10, 5.2), layout="constrained")
        figure.suptitle(f"{robot.title} at {_pose_text(mechanism, x)}", fontsize=11)
        side = _axes_3d(figure, 121)
        draw_robot(side, mechanism, x)
        top = figure.add_subplot(122)
        for name, segments in body_lines(mechanism, x):
            for a, b in segments:
                ends = 1e3 * np.stack([a, b])
                top.plot(ends[:, 0], ends[:, 1], color=body_colour(name), lw=2)
        top.set(xlabel="x [mm]", ylabel="y [mm]", title="seen from above", aspect="equal")
    return figure


def workspace_figure(
    robot: Robot, mechanism: AbstractMechanism, space: Workspace, x: Pose
) -> Figure:
    """Sections of the workspace, coloured by the room left, and the robot in it."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 7.2), layout="constrained")
        unit = space.unit.replace("^3", "³").replace("^2", "²")
        volume = f"{space.volume:.4g} ± {space.uncertainty:.1g} {unit}"
        figure.suptitle(f"Workspace of {robot.title}: {volume}", fontsize=11)
        if space.names == ("x", "y", "z"):
            _rings(_axes_3d(figure, 221), mechanism, space, x)
        else:
            draw_robot(_axes_3d(figure, 221), mechanism, x)
        middle = [
            int(np.abs(axis - value).argmin())
            for axis, value in zip(space.axes, np.asarray(x), strict=False)
        ]
        levels = MaxNLocator(12).tick_values(0, max(space.slack.max(), 1e-9))
        for place, (across, up, fixed) in zip(
            (222, 223, 224), ((0, 2, 1), (0, 1, 2), (1, 2, 0)), strict=True
        ):
            axes = figure.add_subplot(place)
            section = np.take(space.slack, middle[fixed], axis=fixed)
            section = section.T  # the first remaining coordinate runs along the abscissa
            u, v = _shown(space, across), _shown(space, up)
            filled = axes.contourf(u, v, section, levels=levels, cmap="viridis")
            axes.contour(u, v, section, levels=[0.0], colors="#b91c1c", linewidths=1.5)
            value = round(_shown(space, fixed)[middle[fixed]], 3) + 0.0
            at = f"{space.names[fixed]} = {value:.4g}"
            axes.set(
                xlabel=_label(space.names[across], space.units[across]),
                ylabel=_label(space.names[up], space.units[up]),
                title=f"section at {at} {display(space.units[fixed])[1]}",
                aspect="equal" if space.units[across] == space.units[up] else "auto",
            )
            _draw_cylinder(figure, axes, robot, space, (across, up))
            if place == 222:
                figure.colorbar(filled, ax=axes, label="room under the nearest limit [1]")
    return figure


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
    for name, segments in body_lines(mechanism, x):
        for a, b in segments:
            ends = 1e3 * np.stack([a, b])
            width = 1.5 if name.startswith(("rod", "connector", "telescope")) else 3
            axes.plot(*ends.T, color=body_colour(name), lw=width, solid_capstyle="round")
            corners.append(ends)
    points = np.concatenate(corners)
    low, high = points.min(axis=0), points.max(axis=0)
    aspect = np.maximum(high - low, 0.2 * (high - low).max())
    # Zoomed out a little, which leaves room for the labels.
    axes.set_box_aspect(aspect, zoom=0.85)  # pyright: ignore[reportArgumentType]
    axes.set(xlabel="x [mm]", ylabel="y [mm]", zlabel="z [mm]")


def body_lines(
    mechanism: AbstractMechanism, x: Pose
) -> list[tuple[str, list[tuple[Numbers, Numbers]]]]:
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


def _draw_cylinder(
    figure: Figure, axes: Axes, robot: Robot, space: Workspace, section: tuple[int, int]
) -> None:
    """The cylinder that the robot file declares, dashed."""
    across, up = section
    radius, heights = robot.limits.workspace_radius, robot.limits.workspace_height
    if radius is None or heights is None or space.names != ("x", "y", "z"):
        return
    if up == 2:
        box = np.array([[-radius, radius, radius, -radius, -radius], np.repeat(heights, [2, 3])])
        box[1, -1] = heights[0]
    else:
        turn = np.linspace(0, 2 * np.pi, 181)
        box = radius * np.stack([np.cos(turn), np.sin(turn)])
    (line,) = axes.plot(*(1e3 * box), color="black", ls="--", lw=1)
    if (across, up) == (0, 2):
        figure.legend([line], ["cylinder of the robot file"], loc="outside lower right")


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


def _pose_text(mechanism: AbstractMechanism, x: Pose) -> str:
    parts = []
    for coordinate, value in zip(mechanism.platform_coordinates, x, strict=True):
        factor, unit = display(coordinate.unit)
        parts.append(f"{coordinate.name} = {round(factor * float(value), 3) + 0.0:g} {unit}")
    return ", ".join(parts)


def legend_outside(axes: Axes) -> None:
    """A legend to the right of the axes, where it hides nothing."""
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
