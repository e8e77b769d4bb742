"""A cycle that shows what a robot can do: the rated one, or else a motion that fits.

The rated cycle is that of data sheets, 25 mm up, 305 mm across and 25 mm down and back, each way in
the least time that the limits of the file allow. A file without such limits, or a robot too small
for it, is moved through a pick-and-place of one second; a robot that cannot go up and across moves
along a sine of its first coordinate.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from triskele.description.schema import Payload, Robot
from triskele.dynamics.limits import LimitUse, tightest
from triskele.dynamics.torques import MotionDemands, torques
from triskele.errors import InputError, OutOfReach, TriskeleError
from triskele.kinematics.build import build
from triskele.kinematics.cycles import check_motion, lifted, pick_and_place, rating_cycle, way_of
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.motion import Motion, sine
from triskele.numerics import stacked
from triskele.planning.plan import plan
from triskele.planning.replay import replay
from triskele.units import display

Progress = Callable[[float], None]
_HALVINGS = 6  #: of a motion that does not fit
_PERIOD = 1e-3  #: of samples [s]
_SWING = 0.02  #: of the size of the robot, to begin with


class Cycle(NamedTuple):
    """What one cycle takes."""

    title: str
    remark: str  #: why it is not the rated cycle; empty if it is
    demands: tuple[MotionDemands, ...]  #: of each way
    payload: Payload | None = None

    @property
    def duration(self) -> float:
        """Of all ways [s]."""
        return float(sum(item.t[-1] - item.t[0] for item in self.demands))

    @property
    def peak(self) -> np.ndarray:
        """Largest effort of each drive, by magnitude [N m, N]."""
        return np.max([np.abs(item.tau).max(axis=0) for item in self.demands], axis=0)

    @property
    def rms(self) -> np.ndarray:
        """Root mean square of each effort over the cycle [N m, N]."""
        spans = np.array([item.t[-1] - item.t[0] for item in self.demands])
        squares = np.array([item.rms**2 for item in self.demands])
        return np.sqrt(spans @ squares / spans.sum())

    @property
    def speed(self) -> np.ndarray:
        """Largest speed of each joint [rad/s, m/s]."""
        speeds = [np.abs(np.asarray(item.joints.qd)).max(axis=0) for item in self.demands]
        return np.max(speeds, axis=0)

    @property
    def limits(self) -> tuple[LimitUse, ...]:
        """Each limit on the way that uses it most, the tightest first."""
        return tightest(use for item in self.demands for use in item.limits)


def shown_cycle(
    robot: Robot, payload: Payload | None = None, progress: Progress | None = None
) -> Cycle:
    """The rated cycle of `robot`, or a motion that fits, and what it takes."""
    robot.require("bodies", "torques")
    try:
        return rated_cycle(robot, payload, progress)
    except TriskeleError as error:
        remark = f"It cannot be rated by the 25/305/25 mm cycle: {_clause(error)}."
    motion, title = fitting_motion(robot)
    return Cycle(title, remark, (torques(robot, motion, payload),), payload)


def rated_cycle(
    robot: Robot, payload: Payload | None = None, progress: Progress | None = None
) -> Cycle:
    """The 25/305/25 mm cycle, there and back, as fast as the limits of the file allow."""
    report = progress or (lambda part: None)
    there = way_of(rating_cycle(robot, rate=10))
    ways = []
    for k, way in enumerate((there, there.reversed())):
        found = plan(robot, way, payload, progress=lambda part, k=k: report((k + part) / 2))
        ways.append(replay(found, period=_PERIOD).tolerated)
    return Cycle("25/305/25 mm cycle, there and back", "", tuple(ways), payload)


def fitting_motion(robot: Robot) -> tuple[Motion, str]:
    """A motion of one second within the reach of the robot, and what it is."""
    mechanism = build(robot)
    make = _pick if _picks(robot, mechanism) else _sine
    problem: OutOfReach | None = None
    for k in range(_HALVINGS):
        motion, title = make(robot, mechanism, 0.5**k)
        try:
            check_motion(mechanism, robot.limits, motion)
        except OutOfReach as error:
            problem = problem or error
            continue
        return motion, title
    assert problem is not None, "nothing fits without a reason"
    raise InputError(f"No motion fits the reach of {robot.name}: {_clause(problem)}.")


def _picks(robot: Robot, mechanism: AbstractMechanism) -> bool:
    try:
        lifted(robot, mechanism)
    except InputError:
        return False
    return True


def _pick(robot: Robot, mechanism: AbstractMechanism, part: float) -> tuple[Motion, str]:
    whole = way_of(pick_and_place(robot, rate=10)).way_points
    length = part * float(np.linalg.norm(whole[-1] - whole[0]))
    motion = pick_and_place(robot, length=length)
    size = f"{1e3 * length:.4g} mm across, {1e3 * length / 4:.4g} mm up"
    return motion, f"pick-and-place in 1 s, {size}"


def _sine(robot: Robot, mechanism: AbstractMechanism, part: float) -> tuple[Motion, str]:
    home, (first, *_) = stacked(mechanism.home()), mechanism.platform_coordinates
    swing = part * _SWING * float(np.asarray(mechanism.size / mechanism.scales().platform[0]))
    amplitude = swing * np.eye(len(home))[0]
    coordinates = mechanism.platform_coordinates
    motion = sine(home, amplitude, frequency=1.0, duration=1.0, coordinates=coordinates)
    factor, unit = display(first.unit)
    return motion, f"sine of {first.name} by {factor * swing:.3g} {unit} at 1 Hz"


def _clause(error: TriskeleError) -> str:
    return str(error).rstrip(".")
