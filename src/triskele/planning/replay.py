"""The samples of a plan, put to the exact model and to all limits; what they lack, what they gain.

A replay shares no equation with the plan: efforts and loads are those of `dynamics.torques`, sample
by sample. Limits are those of the plan, margins included, and each extreme of the payload is put to
them. An average is taken over the motion and the rest after it, of the payload as it is.

Of ways there and back, prices are those of both together.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float

from triskele.description.schema import Payload, Robot
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.limits import LimitUse, tightest
from triskele.dynamics.robot import rigid
from triskele.dynamics.torques import MotionDemands, torques
from triskele.kinematics.build import build
from triskele.kinematics.motion import Motion
from triskele.laws.drives import Drive, drives
from triskele.numerics import tabulate
from triskele.planning.limits import payload_cases
from triskele.planning.plan import TOLERATED, Plan
from triskele.planning.why import PlannedLimit

_TURNS = 1e-9  #: part of its largest speed below which a drive does not move


class Replay(NamedTuple):
    """A plan, its samples, and what they take."""

    plan: Plan
    motion: Motion
    demands: MotionDemands  #: of the payload as it is
    uses: tuple[LimitUse, ...]  #: of each limit, whatever the payload is within its tolerance
    rms: Float[np.ndarray, " n"]  #: of the efforts, over motion and rest [N m, N]

    @property
    def exceeded(self) -> tuple[LimitUse, ...]:
        """Limits beyond which the samples are by more than a plan tolerates."""
        return tuple(use for use in self.uses if use.use > TOLERATED)

    @property
    def step(self) -> float:
        """Largest joint acceleration of the first sample, as a part of the largest of all."""
        qdd = np.abs(np.asarray(self.demands.joints.qdd))
        return float((qdd[0] / np.maximum(qdd.max(axis=0), 1e-12)).max())

    @property
    def tolerated(self) -> MotionDemands:
        """The demands, at a limit where they are beyond it by no more than a plan tolerates."""
        most = (float(item.use.max()) for item in self.demands.series)
        series = (
            item._replace(use=item.use / use) if 1 < use <= TOLERATED else item
            for item, use in zip(self.demands.series, most, strict=True)
        )
        return self.demands._replace(series=tuple(series))


def replay(found: Plan, *, rate: float | None = None, period: float | None = None) -> Replay:
    """What the samples of a plan take, at `rate` [Hz] or every `period` [s]."""
    motion = found.motion(rate=rate, period=period)
    cases = [
        torques(found.robot, motion, case, friction=found.friction, margins=found.margins)
        for case in payload_cases(found.payload)
    ]
    means = _means(found, motion, cases[0])
    joints = (c.name for c in build(found.robot).joint_coordinates)
    averages = dict(zip(joints, means.tolist(), strict=True))
    uses = []
    for use in (use for demands in cases for use in demands.limits):
        if use.limit.key == "continuous_torque":
            mean = averages[use.limit.part]
            use = use._replace(worst=mean, use=mean / use.allowed)
        uses.append(use)
    return Replay(found, motion, cases[0], tightest(uses), means)


def _means(found: Plan, motion: Motion, demands: MotionDemands) -> Float[np.ndarray, " n"]:
    """Root mean square of each effort [N m, N], over the motion and the rest after it."""
    if not found.dwell:
        return demands.rms
    held = _held(found.robot, found.payload, found.friction, np.asarray(motion.x)[-1:])
    moving, whole = demands.t[-1], demands.t[-1] + found.dwell
    return np.sqrt((demands.rms**2 * moving + held**2 * found.dwell) / whole)


def _held(
    robot: Robot, payload: Payload | None, friction: bool, x: Float[np.ndarray, "1 m"]
) -> Float[np.ndarray, " n"]:
    """What it takes to hold still at `x`."""
    model = rigid(robot, payload, friction=friction)
    return np.concatenate(tabulate(eqx.Partial(inverse_dynamics, model))(x, 0 * x, 0 * x))


# What limits of one way or two are worth


def gains(plans: Sequence[Plan]) -> dict[str, float]:
    """What each limit of the file is worth on all ways together [s], the most first.

    It is gained if the limit were 10 % higher, by the slope at the limit as it is. Empty where a
    plan has no prices.
    """
    prices = [found.prices for found in plans]
    if not all(prices):
        return {}
    keys = dict.fromkeys(key for item in prices for key in item)
    found = {key: sum(item.get(key, 0.0) for item in prices) for key in keys}
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))


def used_limits(plans: Sequence[Plan]) -> list[tuple[int, PlannedLimit]]:
    """Each limit on the way that uses it most, that way from 0, with its price on all ways."""
    worst: dict[tuple, tuple[int, PlannedLimit]] = {}
    prices: dict[tuple, float | None] = {}
    for way, found in enumerate(plans):
        for item in found.limits:
            key = item.limit.identity
            if key not in worst or worst[key][1].use < item.use:
                worst[key] = way, item
            so_far = prices.get(key, 0.0)
            prices[key] = None if item.price is None or so_far is None else so_far + item.price
    found = [
        (way, item._replace(price=prices[item.limit.identity])) for way, item in worst.values()
    ]
    return sorted(found, key=lambda pair: (-round(pair[1].use, 6), pair[1].price or 0.0))


# What is not limited


class Unlimited(NamedTuple):
    """A quantity of drives that move for which the file has no limit."""

    quantity: str  #: acceleration, jerk or torque
    drives: tuple[str, ...]  #: their joints
    keys: tuple[str, ...]  #: of the robot file, where the limit would be
    peak: float  #: what the plan asks for, the most of all of them
    unit: str


def unlimited(replays: Sequence[Replay]) -> tuple[Unlimited, ...]:
    """What no limit of the file bounds in drives that move, and what the plans ask for there."""
    robot = replays[0].plan.robot
    own = drives(robot, build(robot))
    found = []
    for quantity in ("acceleration", "jerk", "torque", "force"):
        for unit in dict.fromkeys(_unit(drive, quantity) for drive in own):
            rows = [
                (drive.name, _key(drive, quantity), peak)
                for k, drive in enumerate(own)
                if _unit(drive, quantity) == unit
                and _missing(drive, quantity)
                and (peak := _peak(replays, k, quantity)) is not None
            ]
            if rows:
                names, keys, peaks = zip(*rows, strict=True)
                unique = tuple(dict.fromkeys(keys))
                found.append(Unlimited(quantity, names, unique, max(peaks), unit))
    return tuple(found)


def _missing(drive: Drive, quantity: str) -> bool:
    if quantity in ("torque", "force"):
        return drive.peak_effort is None and drive.sliding == (quantity == "force")
    return getattr(drive, quantity) is None


def _unit(drive: Drive, quantity: str) -> str:
    per = {"acceleration": "/s^2", "jerk": "/s^3"}
    return drive.coordinate.unit + per[quantity] if quantity in per else drive.effort_unit


def _key(drive: Drive, quantity: str) -> str:
    efforts = quantity in ("torque", "force")
    return f"{drive.place}.peak_torque" if efforts else f"limits.joint_{quantity}"


def _peak(replays: Sequence[Replay], k: int, quantity: str) -> float | None:
    """The most of what drive `k` is asked for; None if it does not move."""
    rates = {"acceleration": "qdd", "jerk": "qddd"}

    def most(name: str) -> Iterator[np.ndarray]:
        for item in replays:
            yield np.abs(np.asarray(getattr(item.demands.joints, name)))

    speeds = [speed.max(axis=0) for speed in most("qd")]
    if max(speed[k] for speed in speeds) <= _TURNS * max(speed.max() for speed in speeds):
        return None
    if quantity in rates:
        return float(max(values[:, k].max() for values in most(rates[quantity])))
    return float(max(np.abs(item.demands.tau[:, k]).max() for item in replays))
