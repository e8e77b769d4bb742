"""Robots of the catalogue with gears that are soft, and with servos."""

import equinox as eqx
import numpy as np

from triskele.description.load import load
from triskele.description.schema import Control
from triskele.flexible.robot import Gears, flexible


def geared(
    robot, payload=None, *, stiffness=(60.0, 80.0, 100.0), inertia=2e-3, damping=0.0, **options
):
    """A robot, or one of the catalogue, with gears that count, other ones on each drive."""
    model = flexible(load(robot) if isinstance(robot, str) else robot, payload, **options)
    gears = Gears(np.array(stiffness), np.full(3, damping), np.full(3, inertia))
    return eqx.tree_at(lambda r: r.gears, model, gears, is_leaf=lambda leaf: leaf is None)


def with_control(name="geared_delta", *, integral_gain=10.0, gravity=None):
    """The file of a robot with soft gears, with current, gains and friction beside them."""
    robot = load(name)
    drives = {"torque_constant": 0.5, "coupling_damping": 0.02, "damping": 1e-3}
    motor = robot.motors.drives.model_copy(update=drives)
    gains = {"position_gain": 60.0, "velocity_gain": 0.25, "integral_gain": integral_gain}
    update = {
        "control": Control(**gains),
        "motors": robot.motors.model_copy(update={"drives": motor}),
    }
    return robot.model_copy(update=update | ({} if gravity is None else {"gravity": gravity}))
