"""Torques, joint loads and simulated motions as tables, units in the header."""

from collections.abc import Iterator, Sequence

import numpy as np

from triskele.description.tables import Table
from triskele.dynamics.simulate import Simulation
from triskele.dynamics.torques import JointLoads, MotionDemands
from triskele.kinematics.mechanism import AbstractMechanism, Coordinate

_EFFORTS = {"rad": "N m", "m": "N"}
_AXES = "xyz"


def effort_unit(coordinate: Coordinate) -> str:
    """The unit of the effort of a joint: N m if it turns, N if it slides."""
    return _EFFORTS[coordinate.unit]


def demands_table(mechanism: AbstractMechanism, demands: MotionDemands) -> Table:
    """Columns t, q1, q1d, q1dd, tau1, ..., then loads: rods, bearings, flange."""
    columns = {"t": ("s", demands.t)}
    orders = zip(demands.joints[:3], ("", "d", "dd"), ("", "/s", "/s^2"), strict=True)
    for values, dots, per in orders:
        for k, coordinate in enumerate(mechanism.joint_coordinates):
            columns[coordinate.name + dots] = (coordinate.unit + per, np.asarray(values)[:, k])
    for k, coordinate in enumerate(mechanism.joint_coordinates):
        columns[f"tau{k + 1}"] = (effort_unit(coordinate), demands.tau[:, k])
    if demands.loads is not None:
        columns |= {name: column for name, column in _load_columns(demands.loads)}
    return Table(columns, "torques")


def rod_columns(
    loads: JointLoads | None, parts: Sequence[str]
) -> Iterator[tuple[str, tuple[str, np.ndarray]]]:
    """Columns of `parts` of the loads of rods, such as `rod_1a_lower`; none without rods."""
    if loads is not None and loads.rods is not None:
        series = loads.rods._asdict()
        for part in parts:
            for k, rod in enumerate(loads.rods.names):
                yield f"{rod}_{part}", ("N", series[part][:, k])


def _load_columns(loads: JointLoads) -> Iterator[tuple[str, tuple[str, np.ndarray]]]:
    yield from rod_columns(loads, ("lower", "upper", "lower_lateral", "upper_lateral"))
    for k in range(loads.bearing_force.shape[1]):
        yield f"bearing_{k + 1}_force", ("N", loads.bearing_force[:, k])
        yield f"bearing_{k + 1}_moment", ("N m", loads.bearing_moment[:, k])
    for k, axis in enumerate(_AXES):
        yield f"flange_f{axis}", ("N", loads.flange_force[:, k])
    for k, axis in enumerate(_AXES):
        yield f"flange_n{axis}", ("N m", loads.flange_moment[:, k])


def simulation_table(mechanism: AbstractMechanism, run: Simulation) -> Table:
    """Columns t, x, y, z, xd, ..., q1, ..., tau1, ..., and energies."""
    columns = {"t": ("s", run.t)}
    groups = (
        (mechanism.platform_coordinates, (run.x, run.xd)),
        (mechanism.joint_coordinates, (run.q, run.qd)),
    )
    for coordinates, (values, rates) in groups:
        for k, (name, unit) in enumerate(coordinates):
            columns[name] = (unit, values[:, k])
            columns[f"{name}d"] = (f"{unit}/s", rates[:, k])
    for k, coordinate in enumerate(mechanism.joint_coordinates):
        columns[f"tau{k + 1}"] = (effort_unit(coordinate), run.tau[:, k])
    for name in ("kinetic", "potential", "work", "lost"):
        columns[name] = ("J", getattr(run, name))
    return Table(columns, "simulation")
