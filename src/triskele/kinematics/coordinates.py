"""What platform coordinates are: which are lengths, and which of them lift or turn the tool.

Paths and motions know coordinates by name and unit. Ways are measured in lengths, that is, along
the coordinates in m; where there is at most one, along all coordinates. The tool is lifted by z,
or else by the coordinate that moves it against gravity. Nothing is known by its place in a row.
"""

from collections.abc import Sequence

import numpy as np

from triskele.errors import InputError
from triskele.kinematics.mechanism import AbstractMechanism, Coordinate
from triskele.numerics import Components
from triskele.spatial.vectors import Frame, poses_array

Coordinates = tuple[Coordinate, ...]

UP = "z"  #: what is vertical where there is a coordinate of this name
_PLACE = tuple(Coordinate(name, "m") for name in "xyz")
_USUAL = {3: _PLACE, 4: (*_PLACE, Coordinate("psi", "rad"))}
_DOTS = ("", "d", "dd", "ddd")  #: of names in tables: a coordinate and its derivatives
_ALONG = 0.9  #: cosine from which a motion is along an axis
_STEP = 1e-6  #: of central differences [m, rad]


def coordinates_of(count: int, given: Sequence[Coordinate] | None = None) -> Coordinates:
    """`given`, which must name `count` numbers; without, 3 are x, y, z and 4 are x, y, z, psi."""
    if given is None:
        if count not in _USUAL:
            raise InputError(
                f"{count} numbers are neither x, y, z nor x, y, z, psi; say what they are by "
                "coordinates=mechanism.platform_coordinates."
            )
        return _USUAL[count]
    plain = [item for item in given if not isinstance(item, Coordinate)]
    if plain:
        raise InputError(
            f"coordinates: {plain[0]!r} has no unit; give those of a mechanism, its "
            "platform_coordinates."
        )
    columns = {"t", *(c.name + dots for c in given for dots in _DOTS)}
    if len(given) != count or len(columns) != 1 + len(_DOTS) * count:
        raise InputError(f"coordinates: {listed(given)} do not name {count} numbers, one each.")
    return tuple(given)


def listed(coordinates: Sequence[Coordinate]) -> str:
    """Their names, as `x, y, z`."""
    return ", ".join(c.name for c in coordinates)


def lengths(coordinates: Sequence[Coordinate]) -> tuple[int, ...]:
    """Which coordinates are in m."""
    return tuple(k for k, c in enumerate(coordinates) if c.unit == "m")


def measured(coordinates: Sequence[Coordinate]) -> tuple[int, ...]:
    """Along which coordinates ways are measured: those in m, or all if at most one is."""
    found = lengths(coordinates)
    return found if len(found) > 1 else tuple(range(len(coordinates)))


def way_unit(coordinates: Sequence[Coordinate]) -> str:
    """The unit of ways: m, or what the coordinates are in."""
    return " or ".join(dict.fromkeys(coordinates[k].unit for k in measured(coordinates)))


def lifting(coordinates: Sequence[Coordinate], up: str = UP) -> int:
    """Which coordinate is `up`, for a way that rises, crosses and falls."""
    found = [k for k in lengths(coordinates) if coordinates[k].name == up]
    if not found or len(lengths(coordinates)) < 2:
        raise InputError(
            f"coordinates: {listed(coordinates)}; a way up and across needs {up} and another in m."
        )
    return found[0]


def level(coordinates: Sequence[Coordinate], up: str = UP) -> tuple[int, ...]:
    """Which coordinates in m are not `up`."""
    return tuple(k for k in lengths(coordinates) if coordinates[k].name != up)


def across(coordinates: Sequence[Coordinate], up: str = UP) -> int:
    """Along which coordinate ways across run: y, or the last that is level."""
    found = level(coordinates, up)
    return next((k for k in found if coordinates[k].name == "y"), found[-1])


def turning(coordinates: Sequence[Coordinate], name: str | None = None) -> int:
    """Which angle is called `name`; without a name, the only one."""
    angles = [k for k, c in enumerate(coordinates) if c.unit == "rad"]
    found = [k for k in angles if name in (None, coordinates[k].name)]
    if len(found) != 1:
        raise InputError(
            f"coordinates: {listed(coordinates)}; to turn takes an angle among them, "
            + ("called by its name." if name is None else f"{name}.")
        )
    return found[0]


# Of a mechanism


def vertical(mechanism: AbstractMechanism, gravity: Sequence[float]) -> str | None:
    """The coordinate that lifts the tool: z, or what moves it against `gravity` [m/s^2]."""
    coordinates = mechanism.platform_coordinates
    if Coordinate(UP, "m") in [Coordinate(*c) for c in coordinates]:
        return UP
    return _along(mechanism, "m", -np.array(gravity, float))


def turner(mechanism: AbstractMechanism, up: str) -> str | None:
    """The angle that turns the tool about the direction in which `up` lifts it."""
    k = lifting(mechanism.platform_coordinates, up)
    return _along(mechanism, "rad", _rates(mechanism)[k, :3])


def tool_frame(mechanism: AbstractMechanism, x: Components) -> Frame:
    """The frame of what carries the tool."""
    if mechanism.carrier == mechanism.platform:
        return mechanism.platform_pose(x)
    poses = mechanism.body_poses(mechanism.inverse(x).components, x)
    return poses[mechanism.bodies.index(mechanism.carrier)]


def _along(mechanism: AbstractMechanism, unit: str, axis: np.ndarray) -> str | None:
    """The coordinate in `unit` that moves the tool along `axis`, or turns it about it, at home."""
    size = np.linalg.norm(axis)
    if not size:
        return None
    rates = _rates(mechanism)[:, :3] if unit == "m" else _rates(mechanism)[:, 3:]
    for coordinate, rate in zip(mechanism.platform_coordinates, rates, strict=True):
        if coordinate.unit == unit and rate @ axis > _ALONG * size * np.linalg.norm(rate):
            return coordinate.name
    return None


def _rates(mechanism: AbstractMechanism) -> np.ndarray:
    """Twist of the tool at home, linear first, for each coordinate: (m, 6)."""
    home = np.array([float(np.asarray(value)) for value in mechanism.home()])
    rows = []
    for step in _STEP * np.eye(len(home)):
        behind, here, ahead = (
            np.asarray(poses_array((tool_frame(mechanism, tuple(home + k * step)),)), float)[0]
            for k in (-1, 0, 1)
        )
        slope = (ahead - behind) / (2 * _STEP)
        spin = slope[:, :3] @ here[:, :3].T
        rows.append([*slope[:, 3], spin[2, 1], spin[0, 2], spin[1, 0]])
    return np.array(rows)
