"""Reactions and runs of the multibody engine as tables, units in the header."""

import numpy as np

from triskele.description.tables import Table
from triskele.multibody.integrate import Run
from triskele.multibody.reactions import JointReactions
from triskele.multibody.system import System

_AXES = "xyz"
Columns = dict[str, tuple[str, np.ndarray]]


def reactions_table(system: System, t: np.ndarray, held: JointReactions) -> Table:
    """Columns t, efforts of the drives, then fx, fy, fz, nx, ny, nz of each joint, and the gap."""
    columns: Columns = {"t": ("s", t)}
    columns |= _motors(system, {"effort": held.effort})
    for k, joint in enumerate(held.joints):
        for index, axis in enumerate(_AXES):
            columns[f"{joint}_f{axis}"] = ("N", held.force[:, k, index])
        for index, axis in enumerate(_AXES):
            columns[f"{joint}_n{axis}"] = ("N m", held.moment[:, k, index])
    columns["gap"] = ("m", held.gap)
    return Table(columns, "reactions")


def run_table(system: System, run: Run) -> Table:
    """Columns t, x, y, z of each body's frame, motors, joints, energies, and violations.

    A joint that turns or slides has its angle or length, NAME_q, and its rate, NAME_qd; one that
    does both has its length as NAME_s.
    """
    columns: Columns = {"t": ("s", run.t)}
    for k, body in enumerate(system.bodies):
        for index, axis in enumerate(_AXES):
            columns[f"{body}_{axis}"] = ("m", run.origins[:, k, index])
    columns |= _motors(system, {"q": run.q, "qd": run.qd, "effort": run.effort})
    columns |= _passive(system, run)
    for name in ("kinetic", "potential", "work", "lost"):
        columns[name] = ("J", getattr(run, name))
    columns["gap"], columns["slip"] = ("m", run.gap), ("m/s", run.slip)
    return Table(columns, "simulation")


def _passive(system: System, run: Run) -> Columns:
    """Angles and lengths of the joints without motors, and their rates."""
    turning, sliding = system.gauges.turning, system.gauges.sliding
    motors = {axis.joint for axis in system.motors}
    columns: Columns = {}
    for k, name in enumerate((*turning, *sliding)):
        if name in motors:
            continue
        unit = "rad" if k < len(turning) else "m"
        letter = "s" if k >= len(turning) and name in turning else "q"
        columns[f"{name}_{letter}"] = (unit, run.joint_q[:, k])
        columns[f"{name}_{letter}d"] = (f"{unit}/s", run.joint_qd[:, k])
    return columns


def motor_names(system: System) -> tuple[str, ...]:
    """A name for each motor: its joint, and the axis if it drives three."""
    joints = [axis.joint for axis in system.motors]
    names, seen = [], dict.fromkeys(joints, 0)
    for joint in joints:
        names.append(joint if joints.count(joint) == 1 else f"{joint}_{_AXES[seen[joint]]}")
        seen[joint] += 1
    return tuple(names)


def motor_units(system: System) -> tuple[str, ...]:
    """The unit of each motor's effort."""
    return tuple("N m" if axis.kind == "turn" else "N" for axis in system.motors)


def _motors(system: System, values: dict[str, np.ndarray]) -> Columns:
    columns: Columns = {}
    for k, (name, axis) in enumerate(zip(motor_names(system), system.motors, strict=True)):
        length = "rad" if axis.kind == "turn" else "m"
        units = {"q": length, "qd": f"{length}/s", "effort": motor_units(system)[k]}
        for key, array in values.items():
            columns[f"{name}_{key}"] = (units[key], array[:, k])
    return columns
