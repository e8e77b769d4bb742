"""What is strange about a robot file: all rules, and the torque that its weight takes at home."""

from collections.abc import Iterator

import numpy as np
from pydantic import BaseModel

from triskele.description.provenance import quantities
from triskele.description.schema import Robot
from triskele.doctor.bodies import body_remarks
from triskele.doctor.case import Case, case_of
from triskele.doctor.drives import drive_remarks
from triskele.doctor.elastic import elastic_remarks
from triskele.doctor.limits import limit_remarks
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import rigid
from triskele.errors import TriskeleError
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.laws.drives import drives
from triskele.numerics import AnyArray, stacked


def robot_remarks(
    robot: Robot, mechanism: AbstractMechanism, x: AnyArray, q: AnyArray
) -> Iterator[str]:
    """Remarks on a robot whose home is `x`, with joints at `q`, in the order of the file."""
    yield from usual_sizes(robot)
    case = case_of(robot, mechanism, x, q)
    for rules in (limit_remarks, body_remarks, drive_remarks, holding, elastic_remarks):
        yield from rules(case)


def usual_sizes(described: BaseModel) -> Iterator[str]:
    """Numbers of a file far from what such parts measure, one by one."""
    for key, rules, value in quantities(described):
        remark = rules.suspicious(value)
        if remark is not None:
            yield f"{key}: {remark}"


def holding(case: Case) -> Iterator[str]:
    """Motors hold the robot and each of its payloads at home."""
    if case.robot.bodies is None or not any(drive.peak_effort for drive in case.drives):
        return
    for payload in (None, *case.robot.payloads):
        load = "itself" if payload is None else f"payloads.{payload}"
        try:
            model = rigid(case.robot, payload, friction=False, mechanism=case.mechanism)
        except TriskeleError:  # a body that cannot exist is a problem, named elsewhere
            return
        still = np.zeros_like(case.x)
        efforts = np.abs(stacked(inverse_dynamics(model, case.x, still, still)))
        for drive, effort in zip(drives(case.robot, case.mechanism), efforts, strict=True):
            peak, steady = drive.peak_effort, drive.continuous_effort
            unit = drive.effort_unit
            if peak is not None and effort > peak:
                yield (
                    f"{drive.place}.peak_torque: {drive.name} needs {effort:.3g} {unit} to hold "
                    f"{load} at home, and has {peak:.3g} {unit}."
                )
                return
            if steady is not None and effort > steady:
                yield (
                    f"{drive.place}.continuous_torque: {drive.name} needs {effort:.3g} {unit} to "
                    f"hold {load} at home, and has {steady:.3g} {unit} for long."
                )
                return
