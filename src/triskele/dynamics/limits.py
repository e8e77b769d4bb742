"""How near a motion comes to each limit of the robot file, sample by sample and at worst.

The use of a limit is what the motion asks for over what is allowed: 1 is at the limit, more
is beyond it. For a range it is the distance from its middle over half its width; for a limit
from below (a margin to singularities) it is the limit over the value. Of torques and loads
the file may keep a `margin` free, which then is not allowed.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float

from triskele.description.schema import Payload, Robot
from triskele.kinematics.cycles import JointMotion
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.motion import Motion
from triskele.kinematics.singularity import singularity_margins
from triskele.laws.drives import Drive, drives
from triskele.numerics import Scalar, Scalars, tabulate

if TYPE_CHECKING:
    from triskele.dynamics.torques import JointLoads

Series = Float[np.ndarray, " N"]


class LimitUse(NamedTuple):
    """One limit along a motion, where it is used most."""

    name: str  #: such as "torque of motor 1"
    unit: str
    allowed: float  #: the margin of the file taken off
    worst: float  #: what the motion asks for
    time: float  #: when [s]; of an average, the end of the motion
    use: float  #: 1 is at the limit

    @property
    def exceeded(self) -> bool:
        """Whether the motion asks for more than is allowed, beyond rounding."""
        return self.use > 1 + 1e-9


def tightest(uses: Iterable[LimitUse]) -> tuple[LimitUse, ...]:
    """Each limit where it is used most, the tightest first."""
    worst: dict[str, LimitUse] = {}
    for use in uses:
        if use.name not in worst or use.use > worst[use.name].use:
            worst[use.name] = use
    return tuple(sorted(worst.values(), key=lambda use: -round(use.use, 9)))


class LimitSeries(NamedTuple):
    """One limit along a motion, sample by sample."""

    name: str
    unit: str
    allowed: Series  #: of a range, its nearer end
    values: Series  #: what the motion asks for
    use: Series  #: 1 is at the limit
    average: bool = False  #: over the motion, and therefore the same at all samples

    def worst(self, t: Series) -> LimitUse:
        """Where it is used most."""
        k = -1 if self.average else int(np.round(self.use, 9).argmax())  # the first of equal ones
        found = (float(part[k]) for part in (self.allowed, self.values, t, self.use))
        return LimitUse(self.name, self.unit, *found)


def limit_series(
    robot: Robot,
    mechanism: AbstractMechanism,
    motion: Motion,
    joints: JointMotion,
    tau: Float[np.ndarray, "N n"],
    loads: "JointLoads | None",
    payload: Payload | None = None,
) -> tuple[LimitSeries, ...]:
    """All limits that the file and the payload state, the tightest first."""
    t, own = np.asarray(motion.t), drives(robot, mechanism)
    found = [
        *_joint_limits(own, joints),
        *_drive_limits(robot, own, t, joints, tau),
        *_pose_limits(robot, mechanism, np.asarray(motion.x), np.asarray(joints.q)),
        *_load_limits(robot, loads),
        *_grip_limit(robot, loads, payload),
    ]
    return tuple(sorted(found, key=lambda item: -round(float(item.use.max()), 9)))


def root_mean_square(
    t: Float[np.ndarray, " N"], values: Float[np.ndarray, "N k"]
) -> Float[np.ndarray, " k"]:
    """Over time, by the trapezoidal rule; samples need not be evenly spaced."""
    return np.sqrt(np.trapezoid(values**2, t, axis=0) / (t[-1] - t[0]))


def _most(name: str, unit: str, allowed: float, values: Series) -> LimitSeries:
    """A limit on magnitudes."""
    return LimitSeries(name, unit, np.full(len(values), allowed), values, np.abs(values) / allowed)


def _within(name: str, unit: str, span: tuple[float, float], x: Series) -> LimitSeries:
    """A range; what is allowed is its nearer end."""
    middle, half = (span[0] + span[1]) / 2, (span[1] - span[0]) / 2
    nearer = np.where(x > middle, span[1], span[0])
    return LimitSeries(name, unit, nearer, x, np.abs(x - middle) / half)


def _least(name: str, unit: str, allowed: float, values: Series) -> LimitSeries:
    """A limit from below."""
    use = np.divide(allowed, values, out=np.full(len(values), np.inf), where=values > 0)
    return LimitSeries(name, unit, np.full(len(values), allowed), values, use)


def _joint_limits(own: Sequence[Drive], joints: JointMotion) -> Iterator[LimitSeries]:
    rates = (
        ("speed", [drive.speed for drive in own], joints.qd, "/s"),
        ("acceleration", [drive.acceleration for drive in own], joints.qdd, "/s^2"),
        ("jerk", [drive.jerk for drive in own], joints.qddd, "/s^3"),
    )
    for what, allowed, values, per in rates:
        for k, (drive, limit) in enumerate(zip(own, allowed, strict=True)):
            if limit is not None:
                unit, series = drive.coordinate.unit + per, np.asarray(values)[:, k]
                yield _most(f"{what} of {drive.name}", unit, limit, series)
    for k, drive in enumerate(own):
        if drive.range is not None:
            unit, series = drive.coordinate.unit, np.asarray(joints.q)[:, k]
            yield _within(f"position of {drive.name}", unit, drive.range, series)


def _drive_limits(
    robot: Robot,
    own: Sequence[Drive],
    t: Series,
    joints: JointMotion,
    tau: Float[np.ndarray, "N n"],
) -> Iterator[LimitSeries]:
    kept, means = 1 - robot.limits.margin, root_mean_square(t, tau)
    for k, drive in enumerate(own):
        motor, unit = drive.motor, drive.effort_unit
        if motor is None:
            continue
        effort = "force" if drive.sliding else "torque"
        peak, lasting, fastest = drive.peak_effort, drive.continuous_effort, drive.motor_speed
        if peak is not None:
            yield _most(f"{effort} of motor {k + 1}", unit, kept * peak, tau[:, k])
        if lasting is not None:
            mean = np.full(len(t), means[k])
            over = _most(f"RMS {effort} of motor {k + 1}", unit, kept * lasting, mean)
            yield over._replace(average=True)
        if fastest is not None:
            speed = np.asarray(joints.qd)[:, k]
            yield _most(f"speed of motor {k + 1}", drive.coordinate.unit + "/s", fastest, speed)
        if peak is not None and fastest is not None and motor.corner_speed is not None:
            left = (motor.peak_speed or 0.0) - motor.corner_speed
            share = left / (motor.peak_speed or 1.0) * np.abs(tau[:, k]) / (kept * peak)
            share = share + np.abs(np.asarray(joints.qd)[:, k]) / fastest
            yield _most(f"{effort} of motor {k + 1} at speed", "1", 1.0, share)
    for k, drive in enumerate(own):
        if drive.effort_rate is not None and len(t) > 2:
            rate, allowed = np.gradient(tau[:, k], t), kept * drive.effort_rate
            yield _most(f"torque rate of motor {k + 1}", f"{drive.effort_unit}/s", allowed, rate)


def _pose_limits(
    robot: Robot,
    mechanism: AbstractMechanism,
    x: Float[np.ndarray, "N n"],
    q: Float[np.ndarray, "N n"],
) -> Iterator[LimitSeries]:
    limits = robot.limits
    passive, margin = tabulate(eqx.Partial(_poses, mechanism))(q, x)
    for coordinate, series in zip(mechanism.passive_coordinates, passive, strict=True):
        values = np.asarray(series)
        allowed = getattr(limits, coordinate.limit or "-", None)
        if isinstance(allowed, tuple):
            yield _within(coordinate.label, coordinate.unit, allowed, values)
        elif allowed is not None:
            yield _most(coordinate.label, coordinate.unit, allowed, values)
    if limits.singularity_margin > 0:
        least = limits.singularity_margin
        yield _least("margin to singularities", "1", least, np.asarray(margin))


def _poses(mechanism: AbstractMechanism, q: Scalars, x: Scalars) -> tuple[Scalars, Scalar]:
    """Passive coordinates and singularity margin; a kernel for `numerics.tabulate`."""
    return mechanism.passive(q, x), singularity_margins(mechanism, q, x).least


def _load_limits(robot: Robot, loads: "JointLoads | None") -> Iterator[LimitSeries]:
    limits, kept = robot.limits, 1 - robot.limits.margin
    if loads is None:
        return
    if limits.rod_force is not None and loads.rods is not None:
        for k, name in enumerate(loads.rods.names):
            ends = np.stack([loads.rods.lower[:, k], loads.rods.upper[:, k]])
            worse = ends[np.abs(ends).argmax(axis=0), np.arange(ends.shape[1])]
            label = f"tension of {name.replace('_', ' ')}"
            yield _most(label, "N", kept * limits.rod_force, worse)
    if limits.flange_force is not None:
        size = np.linalg.norm(loads.flange_force, axis=-1)
        yield _most("force on the flange", "N", kept * limits.flange_force, size)
    if limits.flange_torque is not None:
        tilting = np.linalg.norm(loads.flange_moment[:, :2], axis=-1)
        name = "tilting moment on the flange"
        yield _most(name, "N m", kept * limits.flange_torque, tilting)
    bearings = (
        ("force", "N", limits.bearing_force, loads.bearing_force),
        ("tilting moment", "N m", limits.bearing_torque, loads.bearing_moment),
    )
    for what, unit, limit, sizes in bearings:
        if limit is not None:
            for k in range(sizes.shape[1]):
                name = f"{what} in the bearing of motor {k + 1}"
                yield _most(name, unit, kept * limit, sizes[:, k])


def _grip_limit(
    robot: Robot, loads: "JointLoads | None", payload: Payload | None
) -> Iterator[LimitSeries]:
    """The holding force that a suction cup needs: lifting, and across by friction."""
    if loads is None or payload is None or payload.grip_force is None:
        return
    force = loads.payload_force
    needed = force[:, 2] + np.linalg.norm(force[:, :2], axis=1) / payload.grip_friction
    allowed = (1 - robot.limits.margin) * payload.grip_force
    yield _most("grip on the payload", "N", allowed, np.maximum(needed, 0.0))
