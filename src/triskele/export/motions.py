"""Motions as CSV and Parquet tables, units in the header."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from triskele.description.tables import Table, read_table, write_table
from triskele.kinematics.cycles import JointMotion
from triskele.kinematics.mechanism import AbstractMechanism, Coordinate
from triskele.kinematics.motion import Motion, motion_from_table

_ORDERS = (("", ""), ("d", "/s"), ("dd", "/s^2"), ("ddd", "/s^3"))


def read_motion(path: str | Path, coordinates: Sequence[Coordinate] | None = None) -> Motion:
    """The motion in the table at `path`, as `motion_from_table` makes it.

    `coordinates` are those of a mechanism; without, the usual names that the table has. Derivatives
    it lacks are made from its samples.
    """
    return motion_from_table(read_table(path), coordinates)


def write_motion(
    motion: Motion,
    path: str | Path,
    *,
    joints: tuple[AbstractMechanism, JointMotion] | None = None,
) -> Path:
    """Write `motion` to `path`, with the joint motion of a mechanism beside it if given."""
    table = motion.to_table()
    if joints is not None:
        mechanism, along = joints
        columns = {name: (table[name].unit, table[name].values) for name in table.names}
        for values, (dots, per) in zip(along, _ORDERS, strict=True):
            for k, coordinate in enumerate(mechanism.joint_coordinates):
                columns[coordinate.name + dots] = (coordinate.unit + per, np.asarray(values[:, k]))
        table = Table(columns)  # pyright: ignore[reportArgumentType]
    return write_table(table, path)
