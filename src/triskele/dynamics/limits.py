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
from triskele.laws.motors import at_joint, drive_motors, joint_speed
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
        k = -1 if self.average else int(self.use.argmax())
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
    t = np.asarray(motion.t)
    found = [
        *_joint_limits(robot, mechanism, joints),
        *_drive_limits(robot, mechanism, t, joints, tau),
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


def each(values: Sequence[float] | None, joints: int) -> tuple[float | None, ...]:
    """One limit per joint: one number for all, or as many as the file gives."""
    if values is None:
        return (None,) * joints
    many = tuple(values) * joints if len(values) == 1 else tuple(values)
    return (*many, *(None,) * joints)[:joints]


def _joint_limits(
    robot: Robot, mechanism: AbstractMechanism, joints: JointMotion
) -> Iterator[LimitSeries]:
    limits, n = robot.limits, len(mechanism.joint_coordinates)
    rates = (
        ("speed", limits.joint_speed, joints.qd, "/s"),
        ("acceleration", limits.joint_acceleration, joints.qdd, "/s^2"),
        ("jerk", limits.joint_jerk, joints.qddd, "/s^3"),
    )
    for what, allowed, values, per in rates:
        for k, limit in enumerate(each(allowed, n)):
            coordinate = mechanism.joint_coordinates[k]
            if limit is not None:
                series = np.asarray(values)[:, k]
                yield _most(f"{what} of {coordinate.name}", coordinate.unit + per, limit, series)
    for k, coordinate in enumerate(mechanism.joint_coordinates):
        span = limits.joint_angle if coordinate.unit == "rad" else limits.slider_position
        if span is not None and coordinate.name != "q4":
            series = np.asarray(joints.q)[:, k]
            yield _within(f"position of {coordinate.name}", coordinate.unit, span, series)


def _drive_limits(
    robot: Robot,
    mechanism: AbstractMechanism,
    t: Series,
    joints: JointMotion,
    tau: Float[np.ndarray, "N n"],
) -> Iterator[LimitSeries]:
    kept, means = 1 - robot.limits.margin, root_mean_square(t, tau)
    coordinates = mechanism.joint_coordinates
    motors = drive_motors(robot, len(coordinates))
    for k, (coordinate, motor) in enumerate(zip(coordinates, motors, strict=True)):
        if motor is None:
            continue
        turning = coordinate.unit == "rad"
        effort, unit = ("torque", "N m") if turning else ("force", "N")
        peak, lasting = (
            at_joint(motor, value) for value in (motor.peak_torque, motor.continuous_torque)
        )
        if peak is not None:
            yield _most(f"{effort} of motor {k + 1}", unit, kept * peak, tau[:, k])
        if lasting is not None:
            mean = np.full(len(t), means[k])
            over = _most(f"RMS {effort} of motor {k + 1}", unit, kept * lasting, mean)
            yield over._replace(average=True)
        fastest = joint_speed(motor)
        if fastest is not None:
            speed = np.asarray(joints.qd)[:, k]
            yield _most(f"speed of motor {k + 1}", coordinate.unit + "/s", fastest, speed)
        if peak is not None and fastest is not None and motor.corner_speed is not None:
            left = (motor.peak_speed or 0.0) - motor.corner_speed
            share = left / (motor.peak_speed or 1.0) * np.abs(tau[:, k]) / (kept * peak)
            share = share + np.abs(np.asarray(joints.qd)[:, k]) / fastest
            yield _most(f"{effort} of motor {k + 1} at speed", "1", 1.0, share)
    for k, limit in enumerate(each(robot.limits.torque_rate, len(coordinates))):
        if limit is not None and len(t) > 2:
            unit = "N m/s" if coordinates[k].unit == "rad" else "N/s"
            rate = np.gradient(tau[:, k], t)
            yield _most(f"torque rate of motor {k + 1}", unit, kept * limit, rate)


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
        if coordinate.name.startswith("tilt") and limits.rod_tilt is not None:
            name = f"tilt of rod {coordinate.name[-1]}"
            yield _most(name, coordinate.unit, limits.rod_tilt, values)
        if coordinate.name == "telescope" and limits.telescope_length is not None:
            span = limits.telescope_length
            yield _within("length of the telescope", coordinate.unit, span, values)
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
