"""The set of poses a robot may take: sampled on a grid, connected to its start, measured.

The slack of `reach.py` is sampled on a regular grid over one, two or three platform coordinates;
the others are held at home, or where they are asked to be. The box of the grid grows from there
until the workspace no longer touches its sides; then it is sampled finely, and what is not
connected to the start, across a singularity or a limit, is dropped. An angle that nothing limits is
sampled over one turn.

Volume: each grid point stands for a cell; a cell cut by the border counts with the part
that a plane at the distance slack / |grad slack| leaves inside. This is of second order in
the grid step; the difference to every second point is given as uncertainty. Over two coordinates it
is an area, over one a length.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import equinox as eqx
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from triskele.description.schema import Limits
from triskele.errors import InputError, UnknownName, did_you_mean
from triskele.kinematics.coordinates import UP, lengths, listed
from triskele.kinematics.mechanism import AbstractMechanism, Coordinate
from triskele.kinematics.reach import (
    check_reach,
    nearest_limit,
    room_in_words,
    slack,
    worst_slack,
)
from triskele.numerics import Scalar, batch, stacked

Numbers = NDArray[np.float64]
Progress = Callable[[float], None]
Room = Callable[[Numbers], Scalar]  #: slack of each of (N, m) poses

_COARSE = 15  # points per side while the box grows
_DOUBLINGS = 40
_ENDLESS = 1e2  # sizes of the robot, from which on nothing will end the workspace
_MOST = 3  # coordinates of a grid
_TURN = 2 * np.pi * (1 - 1e-9)  # [rad], a whole one but for rounding


class Workspace(NamedTuple):
    """Reachable poses on a grid over one to three platform coordinates."""

    axes: tuple[Numbers, ...]  #: grid values of each coordinate [m or rad]
    slack: Numbers  #: least slack at each grid point; negative where not reachable
    volume: float  #: in the product of the coordinates' units; an area or a length of fewer
    uncertainty: float  #: of the volume, from the grid step
    names: tuple[str, ...]
    units: tuple[str, ...]
    held: tuple[tuple[Coordinate, float], ...] = ()  #: the other coordinates, and where they are

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Which grid points are reachable."""
        return self.slack > 0

    @property
    def bounds(self) -> Numbers:
        """Least and greatest reachable value of each coordinate, (k, 2)."""
        k = len(self.axes)
        others = (tuple(j for j in range(k) if j != i) for i in range(k))
        places = [np.flatnonzero(self.inside.any(axis=axes)) for axes in others]
        return np.array([[axis[p[0]], axis[p[-1]]] for axis, p in zip(self.axes, places)])  # noqa: B905

    @property
    def unit(self) -> str:
        """Unit of the volume."""
        powers = {unit: self.units.count(unit) for unit in sorted(set(self.units))}
        return " ".join(unit if n == 1 else f"{unit}^{n}" for unit, n in powers.items())

    @property
    def measure(self) -> str:
        """What the volume is: a volume, an area or a length."""
        return ("length", "area", "volume")[len(self.axes) - 1]


def workspace(
    mechanism: AbstractMechanism,
    limits: Limits,
    *,
    over: Sequence[str] | None = None,
    at: Mapping[str, float] | None = None,
    resolution: int = 97,
    guaranteed: bool = False,
    progress: Progress | None = None,
) -> Workspace:
    """Sample the workspace with `resolution` points along each coordinate.

    `over` names one to three coordinates; without, they are the lengths, or the first three where
    at most one is a length. `at` says where others are held [m, rad]; the rest stays at home. With
    `guaranteed`, only the part inside the cylinder that the robot file declares.
    """
    if not 8 <= resolution <= 512:
        raise InputError(f"A workspace resolution of {resolution} is not between 8 and 512.")
    report = progress or (lambda _: None)
    coordinates = mechanism.platform_coordinates
    places = _places(coordinates, over)
    _check_held(coordinates, places, at or {})
    start = allowed_start(mechanism, limits, guaranteed, at)
    room = batch(eqx.Partial(slack, mechanism, limits, guaranteed=guaranteed))
    grid = _Grid(room, start, places)
    box = _grown_box(mechanism, limits, grid, report)
    axes = tuple(np.linspace(low, high, resolution) for low, high in box)
    values = grid.sampled(axes, lambda part: report(0.2 + 0.8 * part))
    nearest = tuple(
        int(np.abs(axis - start[k]).argmin()) for axis, k in zip(axes, places, strict=True)
    )
    values = _connected(values, nearest)
    names, units = zip(*(coordinates[k] for k in places), strict=True)
    volume = _volume(values, axes, units)
    coarser = _volume(*_every_second(values, axes), units)
    held = [(c, float(start[k])) for k, c in enumerate(coordinates) if k not in places]
    report(1.0)
    return Workspace(axes, values, volume, abs(volume - coarser), names, units, tuple(held))


class Guaranteed(NamedTuple):
    """Where the cylinder that a file declares has least room, and what refuses it there."""

    room: float  #: slack; negative: not all of the cylinder is reachable
    pose: Numbers  #: platform coordinates of that place [m, rad]
    reason: str | None  #: why it cannot be reached; None: all can
    nearest: str  #: the limit that is nearest there, and how near, in words with a unit
    out: float  #: part of the surface, by the places looked at, that cannot be reached


def guaranteed_room(mechanism: AbstractMechanism, limits: Limits) -> Guaranteed | None:
    """The place on the surface of the declared cylinder that has least room.

    None if the robot file declares no cylinder, or the robot does not move in x or y. A workspace
    without holes that contains the surface contains the cylinder; of a robot that moves in a plane,
    it is the section of the cylinder. Coordinates other than x, y and z are at home.
    """
    places = {c.name: k for k, c in enumerate(mechanism.platform_coordinates) if c.unit == "m"}
    radius, heights = limits.workspace_radius, limits.workspace_height
    if radius is None or heights is None or not {"x", "y"} & set(places):
        return None
    rounds = np.array(list(_rounds(radius, heights)))
    turn, r, z = np.linspace(0, 2 * np.pi, 181), rounds[:, :1], rounds[:, 1:]
    surface = {"x": r * np.cos(turn), "y": r * np.sin(turn), UP: z + 0 * turn}
    home = np.asarray(stacked(mechanism.home()))
    poses = np.tile(home, (r.size * turn.size, 1))
    for name in surface.keys() & places.keys():
        poses[:, places[name]] = surface[name].ravel()
    rooms = np.asarray(batch(eqx.Partial(slack, mechanism, limits))(poses))
    worst = int(np.where(np.isfinite(rooms), rooms, -np.inf).argmin())
    pose = poses[worst]
    return Guaranteed(
        float(rooms[worst]),
        pose,
        worst_slack(mechanism, limits, pose),
        room_in_words(nearest_limit(mechanism, limits, pose)),
        float(np.mean(~(rooms >= 0))),
    )


def _rounds(radius: float, heights: tuple[float, float]) -> Iterator[tuple[float, float]]:
    """Radius and height of the circles that make the surface of a cylinder: lids and wall."""
    yield from itertools.product(np.linspace(0, radius, 21), heights)
    yield from itertools.product([radius], np.linspace(*heights, 21))


def allowed_start(
    mechanism: AbstractMechanism,
    limits: Limits,
    guaranteed: bool = False,
    at: Mapping[str, float] | None = None,
) -> Numbers:
    """Home, or the middle of the guaranteed cylinder if home is not allowed or outside it.

    Either with the coordinates in `at` [m, rad] where they are held.
    """
    coordinates, held = mechanism.platform_coordinates, at or {}
    home = dict(zip((c.name for c in coordinates), stacked(mechanism.home()), strict=True))
    start = np.array([float(value) for value in {**home, **held}.values()])
    place = "The home position"
    allowed = slack(mechanism, limits, start, guaranteed=guaranteed) >= 0
    if not allowed and limits.workspace_height is not None and UP in home:
        middle = {"x": 0.0, "y": 0.0, UP: np.mean(limits.workspace_height)}
        middle = {name: middle.get(name, x) for name, x in home.items()}
        start = np.array([float(value) for value in {**middle, **held}.values()])
        place = "The middle of the workspace"
    shown = [f"{c.name} = {held[c.name]:g} {c.unit}" for c in coordinates if c.name in held]
    check_reach(mechanism, limits, start, " with ".join([place, *filter(None, [", ".join(shown)])]))
    return start


def _places(coordinates: Sequence[Coordinate], over: Sequence[str] | None) -> tuple[int, ...]:
    """Which coordinates are sampled, in their own order."""
    if over is None:
        found = lengths(coordinates)
        return found[:_MOST] if len(found) > 1 else tuple(range(len(coordinates)))[:_MOST]
    names = [c.name for c in coordinates]
    _known(over, names)
    if not 1 <= len(set(over)) == len(over) <= _MOST:
        raise InputError(
            f"A workspace is sampled over one to {_MOST} different coordinates of "
            f"{listed(coordinates)}, not over {', '.join(over) or 'none'}."
        )
    return tuple(sorted(names.index(name) for name in over))


def _check_held(
    coordinates: Sequence[Coordinate], places: tuple[int, ...], at: Mapping[str, float]
) -> None:
    names = [c.name for c in coordinates]
    _known(at, names)
    both = [name for name in at if names.index(name) in places]
    if both:
        raise InputError(f"{both[0]} is sampled; it cannot be held at a value as well.")


def _known(given: Sequence[str] | Mapping[str, float], names: Sequence[str]) -> None:
    for name in given:
        if name not in names:
            raise UnknownName(f"There is no coordinate '{name}'. {did_you_mean(name, names)}")


class _Grid(NamedTuple):
    """What is sampled, and from where."""

    room: Room
    start: Numbers  #: a pose [m, rad]; coordinates that are not sampled stay there
    places: tuple[int, ...]  #: the coordinates that are sampled

    def sampled(self, axes: tuple[Numbers, ...], report: Progress) -> Numbers:
        """Slack at each point of the grid, layer by layer."""
        layers = []
        firsts = axes[0][:, None] if len(axes) == _MOST else axes[0][None]
        for k, first in enumerate(firsts):
            grid = np.meshgrid(first, *axes[1:], indexing="ij")
            poses = np.tile(self.start, (grid[0].size, 1))
            poses[:, self.places] = np.stack([part.ravel() for part in grid], axis=1)
            layers.append(np.asarray(self.room(poses)).reshape(grid[0].shape))
            report((k + 1) / len(firsts))
        return np.concatenate(layers)


def _grown_box(
    mechanism: AbstractMechanism, limits: Limits, grid: _Grid, report: Progress
) -> Numbers:
    """A box (k, 2) around the start whose sides the workspace does not touch."""
    places = list(grid.places)
    coordinates = [mechanism.platform_coordinates[k] for k in places]
    scales = np.array([float(np.asarray(value)) for value in mechanism.scales().platform])[places]
    unit = float(np.asarray(mechanism.size)) / scales
    turning = np.array([c.unit == "rad" for c in coordinates])
    start = grid.start[places, None]
    reach = np.where(turning, np.pi, _ENDLESS * unit)[:, None]
    box = start + 1e-3 * unit[:, None] * np.array([-1.0, 1.0])
    for round_ in range(_DOUBLINGS):
        axes = tuple(np.linspace(low, high, _COARSE) for low, high in box)
        inside = grid.sampled(axes, lambda _: None) > 0
        touched = np.array(
            [[np.take(inside, end, axis=k).any() for end in (0, -1)] for k in range(len(axes))]
        )
        ended = np.abs(box - start) >= reach * (1 - 1e-12)
        endless = touched & ended & ~turning[:, None]
        if endless.any():
            name = coordinates[int(endless.any(axis=1).argmax())].name
            missing = _missing(mechanism, limits)
            raise InputError(f"The workspace has no end along {name}: the file has no {missing}.")
        touched &= ~ended
        if not touched.any():
            break
        width = np.diff(box, axis=1)
        box = box + touched * width * np.array([-0.5, 0.5])
        box = np.clip(box, start - reach, start + reach)
        report(0.2 * round_ / _DOUBLINGS)
    return box


def _missing(mechanism: AbstractMechanism, limits: Limits) -> str:
    """Limits of positions that the file leaves out."""
    coordinates = (*mechanism.joint_coordinates, *mechanism.passive_coordinates)
    keys = dict.fromkeys(c.limit for c in coordinates if c.limit)
    missing = [f"limits.{key}" for key in keys if getattr(limits, key) is None]
    return " or ".join(filter(None, [", ".join(missing[:-1]), *missing[-1:]])) or "limit there"


def _connected(values: Numbers, start: tuple[int, ...]) -> Numbers:
    """`values` with islands that are not connected to `start` made unreachable."""
    labels, count = ndimage.label(values > 0)  # pyright: ignore[reportGeneralTypeIssues]
    if count <= 1 or not labels[start]:
        return values
    return np.where((labels > 0) & (labels != labels[start]), -values, values)


def _volume(values: Numbers, axes: tuple[Numbers, ...], units: tuple[str, ...]) -> float:
    """Both ends of a whole turn are one place: there a grid point stands for half a cell."""
    steps = [axis[1] - axis[0] for axis in axes]
    slopes = [np.gradient(values, step, axis=k) for k, step in enumerate(steps)]
    across = np.linalg.norm(
        [slope * step for slope, step in zip(slopes, steps, strict=True)], axis=0
    )
    part = np.clip(0.5 + values / np.maximum(across, 1e-300), 0.0, 1.0)
    for k, (axis, unit) in enumerate(zip(axes, units, strict=True)):
        if unit == "rad" and axis[-1] - axis[0] > _TURN:
            np.moveaxis(part, k, 0)[[0, -1]] /= 2
    return float(part.sum() * np.prod(steps))


def _every_second(
    values: Numbers, axes: tuple[Numbers, ...]
) -> tuple[Numbers, tuple[Numbers, ...]]:
    every = (slice(None, None, 2),) * values.ndim
    return values[every], tuple(axis[::2] for axis in axes)
