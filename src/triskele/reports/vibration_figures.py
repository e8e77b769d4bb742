"""Figures of flexible robots: mode shapes, frequency maps, tool deviations, smoother motions."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.axes3d import Axes3D

from triskele.description.schema import Robot
from triskele.flexible.assembly import rest_poses
from triskele.flexible.curves import curves, link_names
from triskele.flexible.modes import Modes
from triskele.flexible.response import Response
from triskele.flexible.robot import FlexibleRobot
from triskele.flexible.settling import Settling
from triskele.flexible.shaping import Trial
from triskele.kinematics.solids import colours, looks
from triskele.reports.figures import STYLE, legend_outside

_SHOWN = 6  #: modes in a figure
_SWING = 0.12  #: of the robot's size, to which the liveliest point of a mode is enlarged
_TWO_PI = 2 * np.pi


def modes_figure(robot: Robot, model: FlexibleRobot, found: Modes) -> Figure:
    """Mode shapes, enlarged to be seen, over the robot at rest."""
    count = min(_SHOWN, len(found.frequencies))
    poses = jax.tree.map(lambda leaf: leaf[None], rest_poses(model.mechanism, np.asarray(found.x)))
    rest = np.asarray(curves(model, poses, jnp.zeros((1, model.unknowns)), 1.0))[0]
    size = float(np.ptp(rest.reshape(-1, 3), axis=0).max())
    columns = min(count, 3)
    rows = -(-count // columns)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3.7 * columns, 3.5 * rows + 0.5), layout="constrained")
        held = "motors held" if model.servo is None else "motors held by their servos"
        figure.suptitle(f"Modes of {robot.title}, {held} (not to scale)", fontsize=11)
        for k in range(count):
            axes = figure.add_subplot(rows, columns, k + 1, projection="3d")
            assert isinstance(axes, Axes3D)
            y = found.shapes[:, k][None]
            moved = np.asarray(curves(model, poses, y, 1.0))[0] - rest
            enlarged = _SWING * size / max(np.abs(moved).max(), 1e-300)
            _draw_lines(axes, model, rest, "#9ca3af", 0.8)
            _draw_lines(axes, model, rest + enlarged * moved, None, 2.0)
            hertz = float(found.frequencies[k]) / _TWO_PI
            damping = (
                "" if model.servo is None else f", {max(100 * found.ratios[k], 0.0):.1f} % damped"
            )
            axes.set_title(f"{k + 1}: {hertz:.4g} Hz, {found.directions[k]}{damping}")
            axes.set(xlabel="x [mm]", ylabel="y [mm]", zlabel="z [mm]")
            axes.tick_params(labelsize=6)
            for limit, low, high in zip(
                (axes.set_xlim, axes.set_ylim, axes.set_zlim),
                1e3 * (rest.min(axis=(0, 1)) - _SWING * size),
                1e3 * (rest.max(axis=(0, 1)) + _SWING * size),
                strict=True,
            ):
                limit(low, high)
            axes.set_aspect("equal")
            axes.set_box_aspect(None, zoom=0.85)  # pyright: ignore[reportArgumentType]
    return figure


def _draw_lines(
    axes: Axes3D, model: FlexibleRobot, lines: np.ndarray, colour: str | None, width: float
) -> None:
    mechanism, names = model.mechanism, link_names(model)
    shown, look = colours(mechanism), looks(mechanism)
    for name, line in zip(names, 1e3 * lines, strict=True):
        axes.plot(*line.T, color=colour or shown[name], lw=width)
    wrists = 1e3 * lines[[look[name] == "rod" for name in names], -1]
    closed = np.concatenate([wrists, wrists[:1]])
    axes.plot(*closed.T, color=colour or shown[mechanism.platform], lw=width)


def map_figure(
    robot: Robot, x: np.ndarray, frequencies: np.ndarray, level: float, count: int = 4
) -> Figure:
    """The lowest frequencies over a level of the workspace [Hz]; x (N, N, m), NaN outside."""
    count = min(count, frequencies.shape[-1])
    columns = min(count, 2)
    rows = -(-count // columns)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5 * columns, 4.2 * rows + 0.4), layout="constrained")
        title = f"Natural frequencies of {robot.title} at z = {1e3 * level:.4g} mm"
        figure.suptitle(title, fontsize=11)
        for k in range(count):
            axes = figure.add_subplot(rows, columns, k + 1)
            values = frequencies[..., k] / _TWO_PI
            mm = 1e3 * x
            filled = axes.contourf(mm[..., 0], mm[..., 1], values, levels=14, cmap="viridis")
            bar = figure.colorbar(filled, ax=axes, shrink=0.75)
            bar.set_label(f"f{k + 1} [Hz]")
            axes.set(xlabel="x [mm]", ylabel="y [mm]", title=f"mode {k + 1}", aspect="equal")
    return figure


def along_figure(robot: Robot, t: np.ndarray, frequencies: np.ndarray) -> Figure:
    """The lowest frequencies [Hz] along a motion."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 5), layout="constrained")
        axes = figure.add_subplot()
        for k in range(frequencies.shape[1]):
            axes.plot(t, frequencies[:, k] / _TWO_PI, lw=1.5, label=f"f{k + 1}")
        axes.set(xlabel="t [s]", ylabel="frequency [Hz]", ylim=(0, None))
        axes.set_title(f"Natural frequencies of {robot.title} along the motion")
        legend_outside(axes)
    return figure


def response_figure(robot: Robot, response: Response, after: Settling | None) -> Figure:
    """Deviation of the tool, torques of the motors and stress of the links over time."""
    t, strains = response.t, response.strains()
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.5, 10), layout="constrained")
        figure.suptitle(f"Vibration of {robot.title}", fontsize=11)
        place, attitude, torque, stress = figure.subplots(4, 1)
        for axes in (attitude, torque):
            axes.sharex(stress)
        for k, axis in enumerate("xyz"):
            place.plot(t, 1e3 * response.position[:, k], color=f"C{k}", lw=1.4, label=axis)
            if after is not None and np.isfinite(after.time):
                later = t[-1] + after.t
                rest = 1e3 * (response.position[-1, k] - after.deviation[0, k])
                swing = rest + 1e3 * after.deviation[:, k]
                place.plot(later, swing, color=f"C{k}", lw=0.9, alpha=0.7)
            attitude.plot(
                t, np.degrees(response.rotation[:, k]), color=f"C{k}", lw=1.4, label=f"about {axis}"
            )
        for k in range(response.torque.shape[1]):
            torque.plot(t, response.torque[:, k], color=f"C{k}", lw=1.4, label=f"motor {k + 1}")
        if after is not None and np.isfinite(after.time):
            place.axvline(t[-1], color="black", lw=1, ls=":", label="command stops")
            label = f"within {1e3 * after.tolerance:g} mm"
            place.axvline(t[-1] + after.time, color="#b91c1c", lw=1, ls=":", label=label)
        look = looks(response.robot.mechanism)
        for k, name in enumerate(strains.names):
            style = "-" if look[name] == "arm" else "--"
            label = name.replace("_", " ")
            stress.plot(t, 1e-6 * strains.stress[:, k], style, lw=1.3, label=label)
        place.set(ylabel="deviation [mm]", xlabel="t [s]")
        attitude.set_ylabel("rotation [deg]")
        torque.set_ylabel("torque [N m]")
        stress.set(ylabel="largest stress [MPa]", xlabel="t [s]")
        for axes in (place, attitude, torque, stress):
            legend_outside(axes)
    return figure


def trials_figure(robot: Robot, trials: Sequence[Trial], tolerance: float) -> Figure:
    """Deviation along the motion and after it, and time to settle, against duration."""
    families: dict[str, list[Trial]] = {}
    for trial in trials:
        kind = trial.name.rsplit(", ", 1)[1] if ", " in trial.name else "as asked"
        families.setdefault(kind, []).append(trial)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(12, 4), layout="constrained")
        figure.suptitle(f"Smoother motions of {robot.title}", fontsize=11)
        panels = figure.subplots(1, 3)
        titles = ("deviation on the way", "deviation after the stop", "from start to settled")
        for name, group in families.items():
            ordered = sorted(group, key=lambda trial: trial.duration)
            T = [trial.duration for trial in ordered]
            series = (
                [1e3 * trial.largest for trial in ordered],
                [1e3 * trial.left for trial in ordered],
                [trial.settled if np.isfinite(trial.settled) else np.nan for trial in ordered],
            )
            for axes, values in zip(panels, series, strict=True):
                axes.plot(T, values, "o-", lw=1.4, label=name)
        for axes, title in zip(panels, titles, strict=True):
            axes.set(title=title, xlabel="duration [s]", ylabel="[mm]")
        panels[1].set_yscale("log")
        panels[1].axhline(1e3 * tolerance, color="#b91c1c", lw=1, ls=":")
        panels[2].set_ylabel("[s]")
        legend_outside(panels[2])
    return figure
