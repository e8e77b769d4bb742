"""Closed loops as tables, units in the header."""

import numpy as np

from triskele.control.bandwidth import Response
from triskele.control.track import Tracking
from triskele.description.tables import Table
from triskele.kinematics.mechanism import AbstractMechanism


def tracking_table(mechanism: AbstractMechanism, run: Tracking) -> Table:
    """Columns t, x, x_command, ..., motor1, motor1_command, current1, torque1, ..."""
    columns: dict[str, tuple[str, np.ndarray]] = {"t": ("s", run.t)}
    for k, (name, unit) in enumerate(mechanism.platform_coordinates):
        columns[name] = (unit, run.x[:, k])
        columns[f"{name}d"] = (f"{unit}/s", run.xd[:, k])
        columns[f"{name}_command"] = (unit, run.command[:, k])
    for k, (name, unit) in enumerate(mechanism.joint_coordinates):
        columns[name] = (unit, run.joint[:, k])
    for k in range(run.motor.shape[1]):
        columns[f"motor{k + 1}"] = ("rad", run.motor[:, k])
        columns[f"motor{k + 1}_command"] = ("rad", run.motor_command[:, k])
        columns[f"current{k + 1}"] = ("A", run.current[:, k])
        columns[f"torque{k + 1}"] = ("N m", run.torque[:, k])
    return Table(columns, "tracking")


def response_table(found: Response) -> Table:
    """Columns f [Hz], and magnitude and phase [deg] of each coordinate."""
    columns: dict[str, tuple[str, np.ndarray]] = {"f": ("Hz", found.frequencies)}
    for name, column in zip(found.coordinates, found.values.T, strict=True):
        columns[f"{name}_gain"] = ("", np.abs(column))
        columns[f"{name}_phase"] = ("deg", np.degrees(np.unwrap(np.angle(column))))
    return Table(columns, "response")
