"""The set of poses a robot may take: sampled on a grid, connected to home, measured.

The slack of `reach.py` is sampled on a regular grid over the first three platform
coordinates (the flange of a telescope axis stays at psi = 0). The box of the grid grows from
home until the workspace no longer touches its sides; then it is sampled finely, and what is
not connected to home, across a singularity or a limit, is dropped.

Volume: each grid point stands for a cell; a cell cut by the border counts with the part
that a plane at the distance slack / |grad slack| leaves inside. This is of second order in
the grid step; the difference to every second point is given as uncertainty.
"""

import itertools
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from triskele.description.schema import Limits
from triskele.errors import InputError
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.reach import check_reach, slack
from triskele.numerics import Scalar, batch, stacked

Numbers = NDArray[np.float64]
Progress = Callable[[float], None]
Room = Callable[[Numbers], Scalar]  #: slack of each of (N, m) poses

_COARSE = 15  # points per side while the box grows
_DOUBLINGS = 40


class Workspace(NamedTuple):
    """Reachable poses on a grid over three platform coordinates."""

    axes: tuple[Numbers, Numbers, Numbers]  #: grid values of each coordinate [m or rad]
    slack: Numbers  #: least slack at each grid point; negative where not reachable
    volume: float  #: in the product of the coordinates' units
    uncertainty: float  #: of the volume, from the grid step
    names: tuple[str, str, str]
    units: tuple[str, str, str]

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Which grid points are reachable."""
        return self.slack > 0

    @property
    def bounds(self) -> Numbers:
        """Least and greatest reachable value of each coordinate, (3, 2)."""
        places = [np.flatnonzero(self.inside.any(axis=_others(k))) for k in range(3)]
        return np.array([[axis[p[0]], axis[p[-1]]] for axis, p in zip(self.axes, places)])  # noqa: B905

    @property
    def unit(self) -> str:
        """Unit of the volume."""
        metres = self.units.count("m")
        return "m^3" if metres == 3 else "m rad^2"


def workspace(
    mechanism: AbstractMechanism,
    limits: Limits,
    *,
    resolution: int = 97,
    guaranteed: bool = False,
    progress: Progress | None = None,
) -> Workspace:
    """Sample the workspace with `resolution` points along each coordinate.

    With `guaranteed`, only the part inside the cylinder that the robot file declares.
    """
    if not 8 <= resolution <= 512:
        raise InputError(f"A workspace resolution of {resolution} is not between 8 and 512.")
    report = progress or (lambda _: None)
    home = allowed_start(mechanism, limits, guaranteed)
    room = batch(eqx.Partial(slack, mechanism, limits, guaranteed=guaranteed))
    box = _grown_box(mechanism, room, home, report)
    axes = tuple(np.linspace(low, high, resolution) for low, high in box)
    values = _sampled(room, axes, len(home), lambda part: report(0.2 + 0.8 * part))
    nearest = tuple(int(np.abs(axis - x).argmin()) for axis, x in zip(axes, home, strict=False))
    values = _connected(values, nearest)
    volume, coarser = _volume(values, axes), _volume(*_every_second(values, axes))
    names, units = zip(*mechanism.platform_coordinates[:3], strict=True)
    report(1.0)
    return Workspace(axes, values, volume, abs(volume - coarser), names, units)  # pyright: ignore[reportArgumentType]


def guaranteed_room(mechanism: AbstractMechanism, limits: Limits) -> float | None:
    """Least slack on the surface of the declared cylinder; negative: not all is reachable.

    None if the robot file declares no cylinder. A workspace without holes that contains the
    surface contains the cylinder.
    """
    if limits.workspace_radius is None or limits.workspace_height is None:
        return None
    turn = np.linspace(0, 2 * np.pi, 181)
    low, high = limits.workspace_height
    lids = itertools.product(np.linspace(0, limits.workspace_radius, 21), (low, high))
    wall = itertools.product([limits.workspace_radius], np.linspace(low, high, 21))
    rounds = [*lids, *wall]
    poses = np.zeros((len(rounds), len(turn), len(mechanism.platform_coordinates)))
    for row, (radius, height) in zip(poses, rounds, strict=True):
        row[:, 0], row[:, 1], row[:, 2] = radius * np.cos(turn), radius * np.sin(turn), height
    room = batch(eqx.Partial(slack, mechanism, limits))
    return float(np.asarray(room(poses.reshape(-1, poses.shape[-1]))).min())


def allowed_start(
    mechanism: AbstractMechanism, limits: Limits, guaranteed: bool = False
) -> Numbers:
    """Home, or the middle of the guaranteed cylinder if home is not allowed or outside it."""
    home = stacked(mechanism.home())
    allowed = slack(mechanism, limits, home, guaranteed=guaranteed) >= 0
    if allowed or limits.workspace_height is None:
        check_reach(mechanism, limits, home, "The home position")
        return np.asarray(home)
    z = [coordinate.name for coordinate in mechanism.platform_coordinates].index("z")
    middle = jnp.zeros_like(home).at[z].set(np.mean(limits.workspace_height))
    check_reach(mechanism, limits, middle, "The middle of the workspace")
    return np.asarray(middle)


def _grown_box(
    mechanism: AbstractMechanism, room: Room, home: Numbers, report: Progress
) -> Numbers:
    """A box (3, 2) around `home` whose sides the workspace does not touch."""
    scales = [float(np.asarray(value)) for value in mechanism.scales().platform[:3]]
    size = float(np.asarray(mechanism.scales().loops[0]))
    unit = size / np.array(scales)
    box = home[:3, None] + 1e-3 * unit[:, None] * np.array([-1.0, 1.0])
    for round_ in range(_DOUBLINGS):
        axes = tuple(np.linspace(low, high, _COARSE) for low, high in box)
        inside = _sampled(room, axes, len(home), lambda _: None) > 0
        touched = np.array(
            [[np.take(inside, end, axis=k).any() for end in (0, -1)] for k in range(3)]
        )
        if not touched.any():
            break
        width = np.diff(box, axis=1)
        box = box + touched * width * np.array([-0.5, 0.5])
        report(0.2 * round_ / _DOUBLINGS)
    return box


def _sampled(room: Room, axes: tuple[Numbers, ...], coordinates: int, report: Progress) -> Numbers:
    """Slack at each point of the grid, layer by layer; further coordinates are zero."""
    layers = []
    for k, first in enumerate(axes[0]):
        grid = np.meshgrid([first], *axes[1:], indexing="ij")
        poses = np.zeros((grid[0].size, coordinates))
        poses[:, :3] = np.stack([part.ravel() for part in grid], axis=1)
        layers.append(np.asarray(room(poses)).reshape(grid[0].shape[1:]))
        report((k + 1) / len(axes[0]))
    return np.stack(layers)


def _connected(values: Numbers, start: tuple[int, ...]) -> Numbers:
    """`values` with islands that are not connected to `start` made unreachable."""
    labels, count = ndimage.label(values > 0)  # pyright: ignore[reportGeneralTypeIssues]
    if count <= 1 or not labels[start]:
        return values
    return np.where((labels > 0) & (labels != labels[start]), -values, values)


def _volume(values: Numbers, axes: tuple[Numbers, ...]) -> float:
    steps = [axis[1] - axis[0] for axis in axes]
    slopes = np.gradient(values, *steps)
    across = np.linalg.norm(
        [slope * step for slope, step in zip(slopes, steps, strict=True)], axis=0
    )
    part = np.clip(0.5 + values / np.maximum(across, 1e-300), 0.0, 1.0)
    return float(part.sum() * np.prod(steps))


def _every_second(
    values: Numbers, axes: tuple[Numbers, ...]
) -> tuple[Numbers, tuple[Numbers, ...]]:
    return values[::2, ::2, ::2], tuple(axis[::2] for axis in axes)


def _others(k: int) -> tuple[int, ...]:
    return tuple(axis for axis in range(3) if axis != k)
