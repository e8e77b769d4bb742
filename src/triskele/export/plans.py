"""Planned motions as tables for controllers: CSV, Parquet, NPZ, and trajectories for ROS 2.

A trajectory is a message `trajectory_msgs/JointTrajectory`, written as JSON or YAML: positions,
velocities, accelerations and efforts of the joints, in SI units, at times from the start.
"""

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from triskele.description.files import write_whole
from triskele.description.tables import Table, write_table
from triskele.dynamics.torques import MotionDemands
from triskele.errors import InputError
from triskele.export.demands import effort_unit, rod_columns
from triskele.kinematics.build import build
from triskele.kinematics.motion import Motion
from triskele.planning.plan import Plan

FORMATS = (".csv", ".parquet", ".npz", ".json", ".yaml", ".yml")
_ORDERS = (("", ""), ("d", "/s"), ("dd", "/s^2"), ("ddd", "/s^3"))
_FIELDS = (("positions", "{}"), ("velocities", "{}d"), ("accelerations", "{}dd"))


def plan_table(plan: Plan, motion: Motion, demands: MotionDemands) -> Table:
    """Columns t, s, x, y, z, xd, ..., xdd, ..., then q1, q1d, q1dd, q1ddd, ..., tau1, ... and rods.

    `motion` are the samples of `plan`, and `demands` what they take. Joints alone have third
    derivatives; the tension of each rod stands at both ends, `rod_1a_lower` and `rod_1a_upper`.
    """
    t = np.asarray(motion.t)
    columns = {"t": ("s", t), "s": ("1", plan.profile.schedule(t)[0])}
    for values, (dots, per) in zip((motion.x, motion.xd, motion.xdd), _ORDERS, strict=False):
        for k, (name, unit) in enumerate(motion.coordinates):
            columns[name + dots] = (unit + per, np.asarray(values)[:, k])
    joints = build(plan.robot).joint_coordinates
    for values, (dots, per) in zip(demands.joints, _ORDERS, strict=True):
        for k, joint in enumerate(joints):
            columns[joint.name + dots] = (joint.unit + per, np.asarray(values)[:, k])
    for k, joint in enumerate(joints):
        columns[f"tau{k + 1}"] = (effort_unit(joint), demands.tau[:, k])
    columns |= dict(rod_columns(demands.loads, ("lower", "upper")))
    return Table(columns, "plan")


def one_after_the_other(first: Table, *others: Table) -> Table:
    """Tables of motions that follow each other; each begins in the last sample of the one before.

    The column t goes on, and the first row of each but the first is left out.
    """
    columns = {name: [first[name].values] for name in first.names}
    for table in others:
        for name in first.names:
            values = table[name].values[1:]
            columns[name].append(values + columns["t"][-1][-1] if name == "t" else values)
    joined = {name: (first[name].unit, np.concatenate(columns[name])) for name in first.names}
    return Table(joined, first.place)


def write_plan(table: Table, path: str | Path) -> Path:
    """Write a `plan_table` by the suffix of `path`, whole or not at all.

    NPZ holds an array for each column, and their units in `names` and `units`.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise InputError(f"{path}: plans end in {', '.join(FORMATS)}.")
    if suffix == ".npz":
        return write_whole(path, _npz(table))
    if suffix == ".json":
        return write_whole(path, json.dumps(joint_trajectory(table), indent=2) + "\n")
    if suffix in (".yaml", ".yml"):
        return write_whole(path, _yaml(joint_trajectory(table)) + "\n")
    return write_table(table, path)


def joint_trajectory(table: Table) -> dict[str, object]:
    """The message `trajectory_msgs/JointTrajectory` of a `plan_table`, as plain data."""
    joints = [name for name in table.names if f"{name}ddd" in table]
    series = {
        field: np.stack([table[form.format(joint)].values for joint in joints], axis=1).tolist()
        for field, form in _FIELDS
    }
    efforts = [table[f"tau{k + 1}"].values for k in range(len(joints))]
    series["effort"] = np.stack(efforts, axis=1).tolist()
    points = [
        {
            **{field: values[i] for field, values in series.items()},
            "time_from_start": _clock(time),
        }
        for i, time in enumerate(table["t"].values.tolist())
    ]
    return {
        "header": {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": ""},
        "joint_names": joints,
        "points": points,
    }


def _clock(time: float) -> dict[str, int]:
    whole, rest = divmod(round(1e9 * time), 1_000_000_000)
    return {"sec": whole, "nanosec": rest}


def _npz(table: Table) -> bytes:
    stream = io.BytesIO()
    arrays = {name: table[name].values for name in table.names}
    arrays["names"] = np.array(table.names)
    arrays["units"] = np.array([table[name].unit for name in table.names])
    np.savez(stream, allow_pickle=False, **arrays)
    return stream.getvalue()


def _yaml(data: object, indent: str = "") -> str:
    """YAML of mappings, sequences, text and numbers: lists of scalars on one line.

    Scalars are written as in JSON, which YAML contains, but for exponents: YAML 1.1 reads 1e-05
    as text, and 1.0e-05 as a number.
    """
    if isinstance(data, Mapping):
        return "\n".join(
            f"{indent}{key}:{_nested(value, indent + '  ')}" for key, value in data.items()
        )
    assert isinstance(data, Sequence), "scalars are written by `_nested`"
    return "\n".join(f"{indent}-{_yaml(item, indent + '  ')[len(indent) + 1 :]}" for item in data)


def _nested(value: object, indent: str) -> str:
    """What follows a key: a scalar or a list of scalars on its line, else the lines below."""
    if isinstance(value, Mapping):
        return "\n" + _yaml(value, indent)
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return "\n" + _yaml(value, indent)
    if isinstance(value, list):
        return f" [{', '.join(map(_scalar, value))}]"
    return " " + _scalar(value)


def _scalar(value: object) -> str:
    text = json.dumps(value, allow_nan=False)
    if isinstance(value, float) and "e" in text and "." not in text:
        return text.replace("e", ".0e")
    return text
