"""What a robot is, and what is suspicious about it: the facts behind `show` and `check`."""

from typing import NamedTuple

import numpy as np
from pydantic import BaseModel

from triskele.description.provenance import Fact
from triskele.description.schema import Robot
from triskele.doctor.robots import robot_remarks
from triskele.kinematics.build import build
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.mobility import Mobility, mobility
from triskele.kinematics.singularity import singularity_margins
from triskele.numerics import AnyArray, stacked
from triskele.spatial.inertia import infeasibility
from triskele.units import display


class Datasheet(NamedTuple):
    """A robot in numbers; SI units."""

    robot: Robot
    mechanism: AbstractMechanism
    home: dict[str, float]  #: platform coordinates
    joints_at_home: dict[str, float]
    residual: float  #: largest gap of a loop at home [m]
    type1: float  #: least margin of type 1 at home
    type2: float  #: margin of type 2 at home
    mobility: Mobility
    problems: tuple[str, ...]  #: what cannot be right
    remarks: tuple[str, ...]  #: what is strange
    assumptions: tuple[Fact, ...]

    def as_json(self) -> dict[str, object]:
        """The same as plain data."""
        return {
            "robot": self.robot.name,
            "kind": self.robot.kind,
            "title": self.robot.title,
            "home": self.home,
            "joints_at_home": self.joints_at_home,
            "units": _units(self.mechanism),
            "assembly_residual_m": self.residual,
            "singularity_margins": {"type1": self.type1, "type2": self.type2},
            "mobility": self.mobility._asdict(),
            "bodies": list(self.mechanism.bodies),
            "problems": list(self.problems),
            "remarks": list(self.remarks),
            "assumptions": [fact._asdict() for fact in self.assumptions],
        }


def datasheet(robot: Robot) -> Datasheet:
    """Build the robot, close its loops at home and look at every number."""
    mechanism = build(robot)
    x = stacked(mechanism.home())
    q = mechanism.inverse(x).value
    margins = singularity_margins(mechanism, q, x)
    legs = len(mechanism.working_mode)
    loops = stacked(mechanism.scales().loops[:legs])
    gaps = np.abs(stacked(mechanism.closure(q, x)[:legs]) / loops)
    return Datasheet(
        robot=robot,
        mechanism=mechanism,
        home=_named(mechanism.platform_coordinates, x),
        joints_at_home=_named(mechanism.joint_coordinates, q),
        residual=float(gaps.max()),
        type1=min(float(margin) for margin in margins.type1[:legs]),
        type2=float(margins.type2),
        mobility=mobility(mechanism, q, x),
        problems=tuple(_problems(robot)),
        remarks=tuple(dict.fromkeys(robot_remarks(robot, mechanism, x, q))),
        assumptions=robot.assumptions(),
    )


def state_rows(sheet: Datasheet) -> list[tuple[str, str, str]]:
    """Mobility, home, residual and margins: name, value and what it means."""
    free, redundant = sheet.mobility.freedom, sheet.mobility.redundant
    rows = [
        (
            "degrees of freedom",
            f"{free}",
            f"{sheet.mobility.bodies} bodies, {redundant} "
            f"redundant constraint{'' if redundant == 1 else 's'}",
        ),
        ("assembly residual", f"{sheet.residual:.1e} m", "largest gap of a loop at home"),
        ("singularity, type 1", f"{sheet.type1:.3f}", "margin at home; 0 is a stretched leg"),
        ("singularity, type 2", f"{sheet.type2:.3f}", "margin at home; 0 is a loose platform"),
    ]
    units = _units(sheet.mechanism)
    for title, values in (("home", sheet.home), ("joints at home", sheet.joints_at_home)):
        parts = (f"{name} {shown(value, units[name])}" for name, value in values.items())
        rows.append((title, ", ".join(parts), ""))
    judged = "feasible" if not sheet.problems else "NOT feasible"
    rows.append(("inertia", judged if sheet.robot.bodies is not None else "not given", ""))
    return rows


def shown(value: float, unit: str) -> str:
    """A value [m, rad] in mm or deg, without a negative zero."""
    factor, name = display(unit)
    return f"{round(factor * value, 4) + 0.0:g} {name}"


def _named(coordinates: tuple, values: AnyArray) -> dict[str, float]:
    return {c.name: float(value) for c, value in zip(coordinates, values, strict=True)}


def _problems(robot: Robot) -> list[str]:
    """Bodies that cannot exist."""
    found = []
    bodies = {} if robot.bodies is None else dict(robot.bodies)
    parts = {f"bodies.{name}": body for name, body in bodies.items()}
    parts |= {f"payloads.{name}": load for name, load in robot.payloads.items()}
    for key, body in parts.items():
        if isinstance(body, BaseModel):
            reason = infeasibility(body.ten_parameters)  # pyright: ignore[reportAttributeAccessIssue]
            if reason is not None:
                found.append(f"{key}: no body has this inertia, {reason}.")
    return found


def _units(mechanism: AbstractMechanism) -> dict[str, str]:
    """The unit of each coordinate by its name."""
    coordinates = (*mechanism.platform_coordinates, *mechanism.joint_coordinates)
    return {coordinate.name: coordinate.unit for coordinate in coordinates}
