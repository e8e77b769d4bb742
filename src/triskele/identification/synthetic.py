"""Logs that a robot would write: for tests, examples and for planning an experiment.

Efforts are those of the rigid robot of the file, friction included, with white noise.
"""

from collections.abc import Sequence

import equinox as eqx
import numpy as np

from triskele.description.schema import Payload, Robot
from triskele.description.tables import Table
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import rigid
from triskele.errors import InputError
from triskele.kinematics.cycles import check_coordinates, joint_motion_along
from triskele.kinematics.motion import Motion
from triskele.numerics import tabulate


def synthetic_log(
    robot: Robot,
    motion: Motion,
    noise: Sequence[float] | float = 0.0,
    *,
    seed: int = 0,
    payload: Payload | str | None = None,
    rates: bool = False,
    name: str = "synthetic log",
) -> Table:
    """The log of `robot` along `motion`, with `noise` [N m, N] on each effort.

    With `rates` it has the joint velocities and accelerations too.
    """
    model = rigid(robot, payload)
    check_coordinates(model.mechanism, motion)
    states = tuple(np.asarray(part) for part in (motion.x, motion.xd, motion.xdd))
    tau = np.stack(tabulate(eqx.Partial(inverse_dynamics, model))(*states), axis=-1)
    n = tau.shape[1]
    if np.size(noise) not in (1, n) or np.any(np.asarray(noise) < 0):
        raise InputError(f"noise is {noise}; one number for all drives, or {n}, was expected.")
    random = np.random.default_rng(seed)
    tau = tau + random.normal(size=tau.shape) * np.asarray(noise, float)
    joints = joint_motion_along(model.mechanism, motion)
    columns: dict = {"t": ("s", np.asarray(motion.t))}
    given = (joints.q, joints.qd, joints.qdd)[: 3 if rates else 1]
    for order, values in enumerate(given):
        for k, coordinate in enumerate(model.mechanism.joint_coordinates):
            unit = coordinate.unit + ("", "/s", "/s^2")[order]
            columns[f"q{'d' * order}{k + 1}"] = (unit, np.asarray(values)[:, k])
    for k, coordinate in enumerate(model.mechanism.joint_coordinates):
        columns[f"tau{k + 1}"] = ("N m" if coordinate.unit == "rad" else "N", tau[:, k])
    return Table(columns, name)
