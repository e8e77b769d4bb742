"""Motions that fit a robot: where to start, and whether it can follow.

The pick level is where the robot works: a quarter above the floor of its guaranteed
workspace if the file has one, else home. Ways run along y, centred on the axis.
"""

from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from triskele.description.schema import Limits, Robot
from triskele.errors import InputError, OutOfReach
from triskele.kinematics import motion as motions
from triskele.kinematics.build import build
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.motion import Motion, Real
from triskele.kinematics.path import Rounded, positive
from triskele.kinematics.reach import slack, worst_slack
from triskele.kinematics.velocity import joint_motion, platform_motion
from triskele.numerics import Scalar, Scalars, stacked, tabulate


class JointMotion(NamedTuple):
    """Joint coordinates and their derivatives along a motion, (N, n) each."""

    q: Float[Array, "N n"]
    qd: Float[Array, "N n"]
    qdd: Float[Array, "N n"]
    qddd: Float[Array, "N n"]


def pick_and_place(
    robot: Robot,
    *,
    length: Real | None = None,
    height: Real | None = None,
    duration: Real = 1.0,
    level: Real | None = None,
    radius: Real | None = None,
    back: bool = False,
    rate: Real = 1000.0,
) -> Motion:
    """Up, across and down in `duration` [s], over `length` by `height` [m] at z = `level`.

    Without numbers: half as long as the workspace is wide, and a quarter of that high.
    """
    length = _width(robot) / 2 if length is None else float(positive("length", length, "m"))
    height = length / 4 if height is None else height
    start = _pick_level(robot, level)
    end = start.copy()
    start[1], end[1] = -length / 2, length / 2
    return motions.pick_and_place(
        start, end, height=height, duration=duration, radius=radius, back=back, rate=rate
    )


def rating_cycle(
    robot: Robot,
    *,
    duration: Real = 1.0,
    level: Real | None = None,
    turn: Real = 0.0,
    cycles: int = 1,
    rate: Real = 1000.0,
) -> Motion:
    """The 25/305/25 mm cycle at z = `level` [m], `duration` [s] there and back."""
    start = _pick_level(robot, level)
    start[1] = -0.305 / 2
    return motions.rating_cycle(start, duration=duration, turn=turn, cycles=cycles, rate=rate)


def way_of(motion: Motion) -> Rounded:
    """The way that a cycle runs along, there."""
    assert isinstance(motion.path, Rounded), "cycles run along way-points"
    return motion.path


def joint_sine(
    mechanism: AbstractMechanism,
    amplitude: motions.Numbers,
    *,
    frequency: Real,
    phase: motions.Numbers | None = None,
    duration: Real,
    rate: Real = 1000.0,
) -> Motion:
    """Each joint moves as a sine about home; what the platform does follows.

    `amplitude` [rad, m] and `phase` [rad] of each joint, `frequency` [Hz].
    """
    home = mechanism.inverse(mechanism.home()).components
    names = tuple(c.name for c in mechanism.platform_coordinates)
    q = motions.sine(
        stacked(home),
        amplitude,
        frequency=frequency,
        phase=phase,
        duration=duration,
        rate=rate,
        coordinates=names,  # in their place: joints have as many
    )
    arrays = (np.asarray(part) for part in (q.x, q.xd, q.xdd, q.xddd))
    parts, margin = tabulate(eqx.Partial(_platform, mechanism))(*arrays)
    if not np.min(np.asarray(margin)) > 0:
        raise OutOfReach("The joints move to where the loops cannot be closed; move them less.")
    return Motion(q.t, *(stacked(part) for part in parts), coordinates=names)


def _platform(
    mechanism: AbstractMechanism, q: Scalars, *rates: Scalars
) -> tuple[tuple[Scalars, ...], Scalar]:
    """x and its derivatives at one sample, and the margin of the loops; a kernel."""
    found = mechanism.forward(q)
    x = found.components
    return (x, *platform_motion(mechanism, q, x, *rates)), found.margin


def joint_motion_along(mechanism: AbstractMechanism, motion: Motion) -> JointMotion:
    """Joint coordinates, velocities, accelerations and jerks along `motion`."""
    arrays = (motion.x, motion.xd, motion.xdd, motion.xddd)
    parts = tabulate(eqx.Partial(_joints, mechanism))(*map(np.asarray, arrays))
    return JointMotion(*(stacked(part) for part in parts))


def _joints(mechanism: AbstractMechanism, x: Scalars, *rates: Scalars) -> tuple[Scalars, ...]:
    """q and its derivatives at one sample; a kernel for `numerics.batch`."""
    q = mechanism.inverse(x).components
    return (q, *joint_motion(mechanism, q, x, *rates))


def check_coordinates(mechanism: AbstractMechanism, motion: Motion) -> None:
    """Raise InputError unless `motion` is in the coordinates of the mechanism."""
    names = tuple(c.name for c in mechanism.platform_coordinates)
    if motion.coordinates != names:
        raise InputError(
            f"The motion is in {', '.join(motion.coordinates)}; this robot moves in "
            f"{', '.join(names)}."
        )


def check_motion(mechanism: AbstractMechanism, limits: Limits, motion: Motion) -> None:
    """Raise OutOfReach, with time and reason, unless each pose of `motion` is allowed.

    Judged are the poses: joint ranges, tilts, lengths and singularities. Speeds, accelerations
    and loads are not.
    """
    check_coordinates(mechanism, motion)
    room = np.asarray(tabulate(eqx.Partial(slack, mechanism, limits))(np.asarray(motion.x)))
    worst = int(np.argmin(np.where(np.isfinite(room), room, -np.inf)))
    reason = worst_slack(mechanism, limits, motion.x[worst])
    if reason is not None:
        outside = np.flatnonzero(~(room >= 0))
        first, last = (float(motion.t[i]) for i in (outside[0], outside[-1]))
        raise OutOfReach(
            f"The motion leaves the reach of the robot between t = {first:.4g} and {last:.4g} s; "
            f"worst at {float(motion.t[worst]):.4g} s: {reason}."
        )


def _pick_level(robot: Robot, level: Real | None) -> np.ndarray:
    """The pose on the axis at the pick level, psi = 0."""
    mechanism = build(robot)
    if tuple(c.name for c in mechanism.platform_coordinates[:3]) != ("x", "y", "z"):
        raise InputError(f"{robot.name} does not move in x, y and z; choose another motion.")
    pose = np.array([float(np.asarray(value)) for value in mechanism.home()])
    pose[:2] = 0.0
    heights = robot.limits.workspace_height
    if level is not None:
        pose[2] = level
    elif heights is not None:
        pose[2] = heights[0] + (heights[1] - heights[0]) / 4
    return pose


def _width(robot: Robot) -> float:
    """Diameter of the guaranteed workspace [m], or what a Delta usually has."""
    if robot.limits.workspace_radius is not None:
        return 2 * robot.limits.workspace_radius
    return float(np.mean(getattr(robot.geometry, "rod_length", (1.0,))))
