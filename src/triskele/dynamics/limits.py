"""How near a motion comes to each limit of the robot file, sample by sample and at worst.

The use of a limit is what the motion asks for over what is allowed: 1 is at the limit, more
is beyond it. For a range it is the distance from its middle over half its width; for a limit
from below (a margin to singularities) it is the limit over the value. Of torques and loads
the file may keep a `margin` free, which then is not allowed.

Most limits are seen at an instant (`instant_limits`), and hold in a program as along a motion;
jerk, averages and rates of torque need what was before, bearings and grip the reactions of
all joints.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float

from triskele.description.schema import Payload, Robot
from triskele.kinematics.cycles import JointMotion
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.motion import Motion
from triskele.kinematics.singularity import singularity_margins
from triskele.laws.drives import Drive, drives
from triskele.numerics import Scalar, Scalars, tabulate, where

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


class Instant(NamedTuple):
    """What limits are judged by at one instant, or at N of them; empty where it is not known."""

    q: Scalars
    qd: Scalars
    qdd: Scalars
    tau: Scalars
    passive: Scalars
    margin: Scalars  #: to singularities, the least: one number
    rods: Scalars = ()  #: tension of each strut, at the end where it is larger [N]
    flange: Scalars = ()  #: size of the force [N], and of the tilting moment [N m]


class Limit(NamedTuple):
    """One limit of what is seen at an instant."""

    name: str
    unit: str
    kind: Literal["size", "range", "least"]
    span: tuple[float, float]  #: what is allowed; of "least", from the first on
    of: tuple[tuple[str, int, float], ...]
    #: a field of `Instant` and a place in it; of several, sizes with these factors are added

    def value(self, instant: Instant) -> Scalar:
        """What is limited."""
        parts = [(getattr(instant, field)[k], factor) for field, k, factor in self.of]
        if len(parts) == 1:
            return parts[0][0]
        return sum(abs(part) * factor for part, factor in parts)  # pyright: ignore[reportReturnType]

    def use(self, value: Scalar) -> Scalar:
        """1 is at the limit; infinite for a margin that is gone."""
        least, most = self.span
        if self.kind == "size":
            return abs(value) / most
        if self.kind == "range":
            return abs(value - (least + most) / 2) / ((most - least) / 2)
        inside = value > 0
        return where(inside, least / where(inside, value, 1.0), np.inf)

    def series(self, value: Series) -> LimitSeries:
        """Along a motion; what is allowed of a range is its nearer end."""
        least, most = self.span
        allowed = {
            "size": np.full(len(value), most),
            "range": np.where(value > (least + most) / 2, most, least),
            "least": np.full(len(value), least),
        }[self.kind]
        return LimitSeries(self.name, self.unit, allowed, value, np.asarray(self.use(value)))

    def known(self, instant: Instant) -> bool:
        """Whether `instant` says enough."""
        return all(k < len(getattr(instant, field)) for field, k, _ in self.of)


def _sized(name: str, unit: str, allowed: float, field: str, place: int) -> Limit:
    return Limit(name, unit, "size", (-allowed, allowed), ((field, place, 1.0),))


def instant_limits(robot: Robot, mechanism: AbstractMechanism) -> tuple[Limit, ...]:
    """The limits of the file that are judged at an instant."""
    own = drives(robot, mechanism)
    return (
        *_joint_limits(own),
        *_drive_limits(robot, own),
        *_pose_limits(robot, mechanism),
        *_load_limits(robot, mechanism),
    )


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
    q, x = np.asarray(joints.q), np.asarray(motion.x)
    passive, margin = tabulate(eqx.Partial(_poses, mechanism))(q, x)
    qd, qdd, efforts = (tuple(np.asarray(part).T) for part in (joints.qd, joints.qdd, tau))
    instant = Instant(tuple(q.T), qd, qdd, efforts, passive, (margin,), *_loads(loads))
    found = [
        limit.series(np.asarray(limit.value(instant)))
        for limit in instant_limits(robot, mechanism)
        if limit.known(instant)
    ]
    found += [
        *_jerk_limits(own, np.asarray(joints.qddd)),
        *_effort_histories(robot, own, t, tau),
        *_bearing_limits(robot, loads),
        *_grip_limit(robot, loads, payload),
    ]
    return tuple(sorted(found, key=lambda item: -round(float(item.use.max()), 9)))


def _loads(loads: "JointLoads | None") -> tuple[Scalars, Scalars]:
    """Rods and flange of an `Instant`."""
    if loads is None:
        return (), ()
    rods: Scalars = ()
    if loads.rods is not None:
        rods = tuple(map(worse_end, loads.rods.lower.T, loads.rods.upper.T))
    force = np.linalg.norm(loads.flange_force, axis=-1)
    return rods, (force, np.linalg.norm(loads.flange_moment[:, :2], axis=-1))


def worse_end(lower: Scalar, upper: Scalar) -> Scalar:
    """The larger of two tensions, by its size."""
    return where(abs(lower) >= abs(upper), lower, upper)


def root_mean_square(
    t: Float[np.ndarray, " N"], values: Float[np.ndarray, "N k"]
) -> Float[np.ndarray, " k"]:
    """Over time, by the trapezoidal rule; samples need not be evenly spaced."""
    return np.sqrt(np.trapezoid(values**2, t, axis=0) / (t[-1] - t[0]))


def _most(name: str, unit: str, allowed: float, values: Series) -> LimitSeries:
    """A limit on magnitudes."""
    return LimitSeries(name, unit, np.full(len(values), allowed), values, np.abs(values) / allowed)


def _joint_limits(own: Sequence[Drive]) -> Iterator[Limit]:
    rates = (
        ("speed", [drive.speed for drive in own], "qd", "/s"),
        ("acceleration", [drive.acceleration for drive in own], "qdd", "/s^2"),
    )
    for what, allowed, field, per in rates:
        for k, (drive, limit) in enumerate(zip(own, allowed, strict=True)):
            if limit is not None:
                unit = drive.coordinate.unit + per
                yield _sized(f"{what} of {drive.name}", unit, limit, field, k)
    for k, drive in enumerate(own):
        if drive.range is not None:
            name, unit = f"position of {drive.name}", drive.coordinate.unit
            yield Limit(name, unit, "range", drive.range, (("q", k, 1.0),))


def _jerk_limits(own: Sequence[Drive], qddd: Float[np.ndarray, "N n"]) -> Iterator[LimitSeries]:
    for k, drive in enumerate(own):
        if drive.jerk is not None:
            unit = f"{drive.coordinate.unit}/s^3"
            yield _most(f"jerk of {drive.name}", unit, drive.jerk, qddd[:, k])


def _drive_limits(robot: Robot, own: Sequence[Drive]) -> Iterator[Limit]:
    kept = 1 - robot.limits.margin
    for k, drive in enumerate(own):
        motor, unit = drive.motor, drive.effort_unit
        if motor is None:
            continue
        effort = "force" if drive.sliding else "torque"
        peak, fastest = drive.peak_effort, drive.motor_speed
        if peak is not None:
            yield _sized(f"{effort} of motor {k + 1}", unit, kept * peak, "tau", k)
        if fastest is not None:
            per = drive.coordinate.unit + "/s"
            yield _sized(f"speed of motor {k + 1}", per, fastest, "qd", k)
        if peak is not None and fastest is not None and motor.corner_speed is not None:
            left = (motor.peak_speed or 0.0) - motor.corner_speed
            share = left / (motor.peak_speed or 1.0) / (kept * peak)
            parts = ("tau", k, share), ("qd", k, 1 / fastest)
            name = f"{effort} of motor {k + 1} at speed"
            yield Limit(name, "1", "size", (-1.0, 1.0), parts)


def _effort_histories(
    robot: Robot, own: Sequence[Drive], t: Series, tau: Float[np.ndarray, "N n"]
) -> Iterator[LimitSeries]:
    kept, means = 1 - robot.limits.margin, root_mean_square(t, tau)
    for k, drive in enumerate(own):
        unit = drive.effort_unit
        if drive.continuous_effort is not None:
            effort = "force" if drive.sliding else "torque"
            name, mean = f"RMS {effort} of motor {k + 1}", np.full(len(t), means[k])
            over = _most(name, unit, kept * drive.continuous_effort, mean)
            yield over._replace(average=True)
        if drive.effort_rate is not None and len(t) > 2:
            rate, allowed = np.gradient(tau[:, k], t), kept * drive.effort_rate
            yield _most(f"torque rate of motor {k + 1}", f"{unit}/s", allowed, rate)


def _pose_limits(robot: Robot, mechanism: AbstractMechanism) -> Iterator[Limit]:
    limits = robot.limits
    for k, coordinate in enumerate(mechanism.passive_coordinates):
        allowed = getattr(limits, coordinate.limit or "-", None)
        if isinstance(allowed, tuple):
            of = (("passive", k, 1.0),)
            yield Limit(coordinate.label, coordinate.unit, "range", allowed, of)
        elif allowed is not None:
            yield _sized(coordinate.label, coordinate.unit, allowed, "passive", k)
    if limits.singularity_margin > 0:
        span = (limits.singularity_margin, np.inf)
        yield Limit("margin to singularities", "1", "least", span, (("margin", 0, 1.0),))


def _poses(mechanism: AbstractMechanism, q: Scalars, x: Scalars) -> tuple[Scalars, Scalar]:
    """Passive coordinates and singularity margin; a kernel for `numerics.tabulate`."""
    return mechanism.passive(q, x), singularity_margins(mechanism, q, x).least


def _load_limits(robot: Robot, mechanism: AbstractMechanism) -> Iterator[Limit]:
    limits, kept = robot.limits, 1 - robot.limits.margin
    if limits.rod_force is not None:
        for k, strut in enumerate(mechanism.struts):
            label = f"tension of {strut.body.replace('_', ' ')}"
            yield _sized(label, "N", kept * limits.rod_force, "rods", k)
    if limits.flange_force is not None:
        yield _sized("force on the flange", "N", kept * limits.flange_force, "flange", 0)
    if limits.flange_torque is not None:
        name = "tilting moment on the flange"
        yield _sized(name, "N m", kept * limits.flange_torque, "flange", 1)


def _bearing_limits(robot: Robot, loads: "JointLoads | None") -> Iterator[LimitSeries]:
    limits, kept = robot.limits, 1 - robot.limits.margin
    if loads is None:
        return
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
