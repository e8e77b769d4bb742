"""Parallel robots from one file: Delta robots and the compliant 3PRS.

>>> import triskele as tk
>>> robot = tk.load("abb_irb360_6_1600")
>>> delta = tk.build(robot)
>>> q = delta.inverse([0.2, -0.3, -1.0, 0.5]).checked()

Names are loaded when they are first used: `import triskele` does not import JAX.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from triskele.description.catalogue import names as robots
    from triskele.description.load import load, parse
    from triskele.description.save import save
    from triskele.description.schema import DeltaRobot, Limits, Payload, PrsRobot, Robot
    from triskele.description.tables import Table, read_table, write_table
    from triskele.errors import TriskeleError
    from triskele.export.motions import read_motion, write_motion
    from triskele.kinematics.build import build
    from triskele.kinematics.cycles import (
        check_motion,
        joint_motion_along,
        pick_and_place,
        rating_cycle,
    )
    from triskele.kinematics.delta import Delta
    from triskele.kinematics.mechanism import AbstractMechanism, PositionSolution
    from triskele.kinematics.mobility import mobility
    from triskele.kinematics.modes import working_modes
    from triskele.kinematics.motion import Motion, along, circle, fourier, inverted_u, line
    from triskele.kinematics.path import BSpline, Circle, Line, Rounded, u_turn, way_points
    from triskele.kinematics.prs import Prs
    from triskele.kinematics.reach import check_reach
    from triskele.kinematics.singularity import singularity_margins
    from triskele.kinematics.velocity import jacobian, joint_motion, platform_motion
    from triskele.kinematics.workspace import Workspace, workspace
    from triskele.numerics import batch
    from triskele.reports.datasheet import datasheet

_HOMES = {
    "description.catalogue": ("names",),
    "description.load": ("load", "parse"),
    "description.save": ("save",),
    "description.schema": ("DeltaRobot", "Limits", "Payload", "PrsRobot", "Robot"),
    "description.tables": ("Table", "read_table", "write_table"),
    "errors": ("TriskeleError",),
    "export.motions": ("read_motion", "write_motion"),
    "kinematics.build": ("build",),
    "kinematics.cycles": (
        "check_motion",
        "joint_motion_along",
        "pick_and_place",
        "rating_cycle",
    ),
    "kinematics.delta": ("Delta",),
    "kinematics.mechanism": ("AbstractMechanism", "PositionSolution"),
    "kinematics.mobility": ("mobility",),
    "kinematics.modes": ("working_modes",),
    "kinematics.motion": ("Motion", "along", "circle", "fourier", "inverted_u", "line"),
    "kinematics.path": ("BSpline", "Circle", "Line", "Rounded", "u_turn", "way_points"),
    "kinematics.prs": ("Prs",),
    "kinematics.reach": ("check_reach",),
    "kinematics.singularity": ("singularity_margins",),
    "kinematics.velocity": ("jacobian", "joint_motion", "platform_motion"),
    "kinematics.workspace": ("Workspace", "workspace"),
    "numerics": ("batch",),
    "reports.datasheet": ("datasheet",),
}
_PUBLIC = {name: home for home, names in _HOMES.items() for name in names}
_PUBLIC["robots"] = _PUBLIC.pop("names")
_RENAMED = {"robots": "names"}

__all__ = [  # noqa: RUF022 - as in the imports above
    "robots",
    "load",
    "parse",
    "save",
    "DeltaRobot",
    "Limits",
    "Payload",
    "PrsRobot",
    "Robot",
    "Table",
    "read_table",
    "write_table",
    "TriskeleError",
    "read_motion",
    "write_motion",
    "build",
    "check_motion",
    "joint_motion_along",
    "pick_and_place",
    "rating_cycle",
    "Delta",
    "AbstractMechanism",
    "PositionSolution",
    "mobility",
    "working_modes",
    "Motion",
    "along",
    "circle",
    "fourier",
    "inverted_u",
    "line",
    "BSpline",
    "Circle",
    "Line",
    "Rounded",
    "u_turn",
    "way_points",
    "Prs",
    "check_reach",
    "singularity_margins",
    "jacobian",
    "joint_motion",
    "platform_motion",
    "Workspace",
    "workspace",
    "batch",
    "datasheet",
]


def __getattr__(name: str) -> object:
    """Import a public name from where it lives, once."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'triskele' has no attribute '{name}'")
    module = import_module(f"triskele.{_PUBLIC[name]}")
    value = getattr(module, _RENAMED.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
