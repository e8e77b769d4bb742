"""Random Deltas on random cycles, with limits that bind.

Lengths are those of robots that ship, each changed by up to 5 %. Limits of loads are between what
it takes to creep along the path and what a plan takes that leaves them out.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from triskele.description.load import load
from triskele.description.schema import Limits, Motor, Motors, Payload, Robot
from triskele.dynamics.torques import MotionDemands, torques
from triskele.kinematics.build import build
from triskele.kinematics.cycles import rating_cycle, way_of
from triskele.kinematics.motion import along
from triskele.kinematics.path import Rounded
from triskele.planning.plan import plan

NAMES = ("omron_mini_delta", "abb_irb360_6_1600")
LENGTHS = ("base_radius", "platform_radius", "arm_length", "rod_length")
PRICED = (
    "joint_jerk",
    "rod_force",
    "flange_force",
    "flange_torque",
    "peak_torque",
    "continuous_torque",
)


class Case(NamedTuple):
    """A robot with limits, what it carries, and where it goes."""

    robot: Robot
    payload: Payload
    path: Rounded
    back: bool = False  #: there and back


@cache
def random_case(seed: int, *, rated: bool = False) -> Case:
    """The case of this number; `rated`, along the 25/305/25 mm cycle and back."""
    draw = np.random.default_rng(seed)
    robot = _random_robot(load(NAMES[seed % len(NAMES)]), draw)
    centre = tuple((0.04 * draw.uniform(-1, 1, 3)).tolist())
    payload = Payload(mass=float(draw.uniform(0.2, 1.0)), centre_of_mass=centre)
    path = _rated_path(robot) if rated else _random_path(robot, draw)
    return Case(_limited(robot, payload, path, draw), payload, path, rated)


def raised(robot: Robot, key: str, factor: float) -> Robot:
    """`robot` with one limit of its file times `factor`, of all joints alike."""
    if key in Motor.model_fields:
        assert robot.motors is not None, "every case has motors"
        motors = {
            name: motor.model_copy(update={key: factor * getattr(motor, key)})
            for name, motor in robot.motors
            if motor is not None and getattr(motor, key) is not None
        }
        return robot.model_copy(update={"motors": robot.motors.model_copy(update=motors)})
    value = getattr(robot.limits, key)
    higher = tuple(factor * v for v in value) if isinstance(value, tuple) else factor * value
    limits = robot.limits.model_copy(update={key: higher})
    return robot.model_copy(update={"limits": limits})


def _random_robot(robot: Robot, draw: np.random.Generator) -> Robot:
    lengths = {
        name: getattr(robot.geometry, name) * draw.uniform(0.95, 1.05)
        for name in LENGTHS
        if isinstance(getattr(robot.geometry, name, None), float)
    }
    return robot.model_copy(update={"geometry": robot.geometry.model_copy(update=lengths)})


def _rated_path(robot: Robot) -> Rounded:
    path = way_of(rating_cycle(robot, rate=10))
    assert isinstance(path, Rounded)
    return path


def _random_path(robot: Robot, draw: np.random.Generator) -> Rounded:
    """Up, across and down, each corner moved about."""
    points = np.asarray(_rated_path(robot).way_points)
    middle = points.mean(axis=0)
    size = draw.uniform(0.4, 0.8) * np.ones(points.shape[1])
    turn = draw.uniform(0, 2 * np.pi)
    c, s = np.cos(turn), np.sin(turn)
    moved = (points - middle) * size
    moved[:, :2] = moved[:, :2] @ np.array([[c, s], [-s, c]])
    moved[:, 2] *= draw.uniform(1.0, 3.0)
    moved[:, :3] += 0.01 * draw.uniform(-1, 1, (len(points), 3))
    return Rounded(middle + moved, radius=0.01)


def _limited(robot: Robot, payload: Payload, path: Rounded, draw: np.random.Generator) -> Robot:
    """With limits that bind, somewhere between holding still and a plan without them."""
    n = len(build(robot).joint_coordinates)
    acceleration, jerk = draw.uniform(80, 200), draw.uniform(4e3, 2e4)
    free = Limits(joint_acceleration=(acceleration,) * n, joint_jerk=(jerk,) * n)
    bare = robot.model_copy(update={"limits": free, "motors": None})
    found = plan(bare, path, payload, cells=40)
    racing = torques(bare, found.motion(period=1e-3), payload)
    coordinates = build(robot).platform_coordinates
    slow = along(path, duration=60.0, rate=2.0, coordinates=coordinates)
    creeping = torques(bare, slow, payload)
    chosen = {
        key: float(low + draw.uniform(0.4, 0.9) * (high - low))
        for key, (low, high) in _spans(creeping, racing).items()
    }
    efforts = {key: chosen.pop(key) for key in ("peak_torque", "continuous_torque")}
    limits = free.model_copy(update=chosen)
    motors = Motors(drives=Motor(gear_ratio=1.0, **efforts))
    return bare.model_copy(update={"limits": limits, "motors": motors})


def _spans(creeping: MotionDemands, racing: MotionDemands) -> dict[str, tuple[float, float]]:
    """What creeping and racing take of each limit."""
    low, high = _taken(creeping), _taken(racing)
    return {key: (low[key], high[key]) for key in low}


def _taken(demands: MotionDemands) -> dict[str, float]:
    loads = demands.loads
    assert loads is not None
    assert loads.rods is not None
    return {
        "rod_force": float(loads.rods.peak.max()),
        "flange_force": float(np.linalg.norm(loads.flange_force, axis=1).max()),
        "flange_torque": float(np.linalg.norm(loads.flange_moment[:, :2], axis=1).max()),
        "peak_torque": float(np.abs(demands.tau[:, :3]).max()),
        "continuous_torque": float(demands.rms[:3].max()),
    }
