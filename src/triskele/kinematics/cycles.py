"""Motions that fit a robot: where to start, and whether it can follow.

Ways up, across and down rise along z, or along the coordinate that moves the tool against gravity;
they cross along y, or the other length of a plane. They are where the robot works: on the axis of
its guaranteed workspace, a quarter above the floor, if the file has one, else about home.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float

from triskele.description.schema import Limits, Robot
from triskele.errors import InputError, OutOfReach
from triskele.kinematics import motion as motions
from triskele.kinematics.build import build
from triskele.kinematics.coordinates import (
    UP,
    across,
    lengths,
    lifting,
    turner,
    vertical,
)
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.motion import RATED_HEIGHT, RATED_LENGTH, Motion, Real
from triskele.kinematics.path import Rounded, positive
from triskele.kinematics.reach import slack, worst_slack
from triskele.kinematics.velocity import joint_motion, platform_motion
from triskele.numerics import AnyArray, Scalar, Scalars, stacked, tabulate


class JointMotion(NamedTuple):
    """Joint coordinates and their derivatives along a motion, (N, n) each."""

    q: Float[AnyArray, "N n"]
    qd: Float[AnyArray, "N n"]
    qdd: Float[AnyArray, "N n"]
    qddd: Float[AnyArray, "N n"]


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
    """Up, across and down in `duration` [s], over `length` by `height` [m] at the height `level`.

    Without numbers: half as long as the workspace is wide, and a quarter of that high.
    """
    mechanism = build(robot)
    coordinates, up = mechanism.platform_coordinates, lifted(robot, mechanism)
    wide = _width(robot, mechanism)
    length = wide / 2 if length is None else float(positive("length", length, "m"))
    height = length / 4 if height is None else height
    start = _pick_level(robot, mechanism, up, level)
    half = length / 2 * np.eye(len(start))[across(coordinates, up)]
    return motions.pick_and_place(
        start - half,
        start + half,
        height=height,
        duration=duration,
        radius=radius,
        back=back,
        rate=rate,
        up=up,
        coordinates=coordinates,
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
    """The 25/305/25 mm cycle at the height `level` [m], `duration` [s] there and back."""
    mechanism = build(robot)
    coordinates, up = mechanism.platform_coordinates, lifted(robot, mechanism)
    start = _pick_level(robot, mechanism, up, level)
    start[across(coordinates, up)] -= RATED_LENGTH / 2
    return motions.rating_cycle(
        start,
        duration=duration,
        turn=turn,
        cycles=cycles,
        rate=rate,
        up=up,
        turned=turned(robot, mechanism, up) if turn else None,
        coordinates=coordinates,
    )


def largest_pick(robot: Robot, shape: float = RATED_HEIGHT / RATED_LENGTH) -> float:
    """How long a pick-and-place `shape` times as high may be within the reach [m], in whole mm.

    About where picks are by themselves; 0 if not even a millimetre fits.
    """
    mechanism = build(robot)

    def fits(millimetres: int) -> bool:
        length = 1e-3 * millimetres
        motion = pick_and_place(robot, length=length, height=shape * length, rate=100)
        try:
            check_motion(mechanism, robot.limits, motion)
        except OutOfReach:
            return False
        return True

    low, high = 0, math.ceil(1e3 * float(np.asarray(mechanism.size)))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return 1e-3 * low


def lifted(robot: Robot, mechanism: AbstractMechanism) -> str:
    """The coordinate along which a pick goes up, or an error if there is none, or no way across."""
    up = vertical(mechanism, robot.gravity)
    if up is None or len(lengths(mechanism.platform_coordinates)) < 2:
        lacking = "z" if up is None else "x or y"
        raise InputError(f"{robot.name} does not move along {lacking}; a pick needs x or y, and z.")
    return up


def turned(robot: Robot, mechanism: AbstractMechanism, up: str) -> str:
    """The angle that turns the tool about `up`, or an error if there is none."""
    name = turner(mechanism, up)
    if name is None:
        raise InputError(f"The tool of {robot.name} does not turn about {up}.")
    return name


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
    named = mechanism.platform_coordinates
    q = motions.sine(
        stacked(home),
        amplitude,
        frequency=frequency,
        phase=phase,
        duration=duration,
        rate=rate,
        coordinates=named,  # in their place: joints have as many
    )
    rows = tuple(np.asarray(part) for part in (q.x, q.xd, q.xdd, q.xddd))
    return _of_joints(mechanism, np.asarray(q.t), rows)


def joint_strokes(
    mechanism: AbstractMechanism,
    joint: int,
    speeds: Sequence[float],
    *,
    stroke: Real,
    acceleration: Real,
    pause: Real = 0.1,
    rate: Real = 1000.0,
) -> Motion:
    """One joint goes to and fro about home at each of some constant speeds; the others rest.

    `joint` counts from 0; `speeds` [rad/s, m/s], `stroke` [rad, m] from end to end with the ramps
    of `acceleration` [rad/s^2, m/s^2], `pause` [s] at each end.
    """
    joints = mechanism.joint_coordinates
    if not 0 <= joint < len(joints):
        raise InputError(f"joint is {joint}; this robot has the joints 0 to {len(joints) - 1}.")
    w, D, a = np.asarray(speeds, float), float(stroke), float(acceleration)
    if w.ndim != 1 or not len(w) or not min(w.min(), D, a, float(rate)) > 0 or pause < 0:
        raise InputError("Speeds, stroke, acceleration and rate of strokes must be positive.")
    if not (w**2 < a * D).all():
        raise InputError(
            f"A speed of {w.max():g} is not reached within {D:g} at an acceleration of {a:g}; "
            f"strokes take {w.max() ** 2 / a:.3g} at least."
        )
    lengths, pushes = [], []
    for speed in w:
        for way in (a, -a):
            lengths += [speed / a, D / speed - speed / a, speed / a, float(pause)]
            pushes += [way, 0.0, -way, 0.0]
    h, qdd = np.array(lengths), np.array(pushes)
    qd = np.concatenate([[0.0], np.cumsum(qdd * h)[:-1]])
    q = -D / 2 + np.concatenate([[0.0], np.cumsum(qd * h + qdd * h**2 / 2)[:-1]])
    begins = np.concatenate([[0.0], np.cumsum(h)])
    t = np.arange(int(begins[-1] * rate) + 1) / float(rate)
    place = np.clip(np.searchsorted(begins, t, side="right") - 1, 0, len(h) - 1)
    u, n = t - begins[place], len(joints)
    own = (q[place] + u * (qd[place] + u * qdd[place] / 2), qd[place] + u * qdd[place], qdd[place])
    rows = np.zeros((4, len(t), n))  # their jerk is that of ramps: none, but in single instants
    rows[:3, :, joint] = own
    rows[0] += np.asarray(stacked(mechanism.inverse(mechanism.home()).components), float)
    return _of_joints(mechanism, t, tuple(rows))


def _of_joints(mechanism: AbstractMechanism, t: np.ndarray, rows: tuple[np.ndarray, ...]) -> Motion:
    """The motion of the platform where joints move as in `rows`: q and its derivatives."""
    parts, margin = tabulate(eqx.Partial(_platform, mechanism))(*rows)
    if not np.min(np.asarray(margin)) > 0:
        raise OutOfReach("The joints move to where the loops cannot be closed; move them less.")
    coordinates = mechanism.platform_coordinates
    return Motion(t, *(stacked(part) for part in parts), coordinates=coordinates)


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
    given, own = motion.coordinates, mechanism.platform_coordinates
    if [tuple(c) for c in given] != [tuple(c) for c in own]:
        same = [c.name for c in given] == [c.name for c in own]
        shown = [f"{c.name} [{c.unit}]" if same else c.name for c in (*given, *own)]
        raise InputError(
            f"The motion is in {', '.join(shown[: len(given)])}; this robot moves in "
            f"{', '.join(shown[len(given) :])}."
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


def _pick_level(
    robot: Robot, mechanism: AbstractMechanism, up: str, level: Real | None
) -> np.ndarray:
    """Home, or the axis of the guaranteed workspace, at the pick level."""
    coordinates, heights = mechanism.platform_coordinates, robot.limits.workspace_height
    pose = np.array([float(np.asarray(value)) for value in mechanism.home()])
    k = lifting(coordinates, up)
    if heights is not None and up == UP:
        pose[[c.name in ("x", "y") for c in coordinates]] = 0.0
        pose[k] = heights[0] + (heights[1] - heights[0]) / 4
    if level is not None:
        pose[k] = level
    return pose


def _width(robot: Robot, mechanism: AbstractMechanism) -> float:
    """Diameter of the guaranteed workspace [m], or the size of the robot."""
    if robot.limits.workspace_radius is not None:
        return 2 * robot.limits.workspace_radius
    return float(np.asarray(mechanism.size))
