"""How near a motion comes to each limit of the robot file, sample by sample and at worst.

The use of a limit is what the motion asks for over what is allowed: 1 is at the limit, more
is beyond it. For a range it is the distance from its middle over half its width; for a limit
from below (a margin to singularities) it is the limit over the value. Of torques and loads
the file may keep a `margin` free, which then is not allowed.

Most limits are seen at an instant (`instant_limits`), and hold in a program as along a motion;
jerk, averages and rates of torque need what was before, bearings and grip the reactions of
all joints.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float

from triskele.description.schema import Limits, Payload, Robot
from triskele.dynamics.stated import Stated
from triskele.kinematics.cycles import JointMotion
from triskele.kinematics.limits import Limit, passive_limit, position_limit
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.motion import Motion
from triskele.kinematics.singularity import singularity_margins
from triskele.numerics import Scalar, Scalars, tabulate, where

if TYPE_CHECKING:
    from triskele.dynamics.torques import JointLoads

Series = Float[np.ndarray, " N"]


class LimitUse(NamedTuple):
    """One limit along a motion, where it is used most."""

    limit: Limit
    allowed: float  #: of a range, its nearer end
    worst: float  #: what the motion asks for
    time: float  #: when [s]; of an average, the end of the motion
    use: float  #: 1 is at the limit

    @property
    def exceeded(self) -> bool:
        """Whether the motion asks for more than is allowed, beyond rounding."""
        return self.use > 1 + 1e-9


def tightest(uses: Iterable[LimitUse]) -> tuple[LimitUse, ...]:
    """Each limit where it is used most, the tightest first."""
    worst: dict[tuple, LimitUse] = {}
    for use in uses:
        key = use.limit.identity
        if key not in worst or use.use > worst[key].use:
            worst[key] = use
    return tuple(sorted(worst.values(), key=lambda use: -round(use.use, 9)))


class LimitSeries(NamedTuple):
    """One limit along a motion, sample by sample."""

    limit: Limit
    allowed: Series  #: of a range, its nearer end
    values: Series  #: what the motion asks for
    use: Series  #: 1 is at the limit
    average: bool = False  #: over the motion, and therefore the same at all samples

    def worst(self, t: Series) -> LimitUse:
        """Where it is used most."""
        k = -1 if self.average else int(np.round(self.use, 9).argmax())  # the first of equal ones
        found = (float(part[k]) for part in (self.allowed, self.values, t, self.use))
        return LimitUse(self.limit, *found)


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


class InstantLimit(NamedTuple):
    """A limit on what is seen at an instant: on a magnitude, within a range, or from below."""

    limit: Limit
    of: tuple[tuple[str, int, float], ...]
    #: a field of `Instant` and a place in it; of several, sizes with these factors are added
    below: bool = False  #: whether it is the least that is allowed

    def value(self, instant: Instant) -> Scalar:
        """What is limited."""
        parts = [(getattr(instant, field)[k], factor) for field, k, factor in self.of]
        if len(parts) == 1:
            return parts[0][0]
        return sum(abs(part) * factor for part, factor in parts)  # pyright: ignore[reportReturnType]

    def use(self, value: Scalar) -> Scalar:
        """1 is at the limit; infinite for a margin that is gone."""
        if isinstance(self.limit.allowed, tuple):
            least, most = self.limit.allowed
            return abs(value - (least + most) / 2) / ((most - least) / 2)
        if not self.below:
            return abs(value) / self.limit.most
        inside = value > 0
        return where(inside, self.limit.most / where(inside, value, 1.0), np.inf)

    def series(self, value: Series) -> LimitSeries:
        """Along a motion; what is allowed of a range is its nearer end."""
        if isinstance(self.limit.allowed, tuple):
            least, most = self.limit.allowed
            allowed = np.where(value > (least + most) / 2, most, least)
        else:
            allowed = np.full(len(value), self.limit.most)
        return LimitSeries(self.limit, allowed, value, np.asarray(self.use(value)))

    def known(self, instant: Instant) -> bool:
        """Whether `instant` says enough."""
        return all(k < len(getattr(instant, field)) for field, k, _ in self.of)


def instant_limits(stated: Stated, mechanism: AbstractMechanism) -> tuple[InstantLimit, ...]:
    """The limits that are judged at an instant."""
    return (
        *_joint_limits(stated),
        *_drive_limits(stated),
        *_pose_limits(stated.limits, mechanism),
        *_load_limits(stated, mechanism),
    )


def limit_series(
    robot: Robot,
    mechanism: AbstractMechanism,
    motion: Motion,
    joints: JointMotion,
    tau: Float[np.ndarray, "N n"],
    loads: "JointLoads | None",
    payload: Payload | None = None,
    margins: Mapping[str, float] | None = None,
) -> tuple[LimitSeries, ...]:
    """All limits that the file and the payload state, the tightest first.

    `margins` (parts of 1, by the key of the limit) are kept free in place of that of the file.
    """
    stated, t = Stated.of(robot, mechanism, payload, margins), np.asarray(motion.t)
    q, x = np.asarray(joints.q), np.asarray(motion.x)
    passive, margin = tabulate(eqx.Partial(_poses, mechanism))(q, x)
    qd, qdd, efforts = (tuple(np.asarray(part).T) for part in (joints.qd, joints.qdd, tau))
    instant = Instant(tuple(q.T), qd, qdd, efforts, passive, (margin,), *_loads(loads))
    found = [
        item.series(np.asarray(item.value(instant)))
        for item in instant_limits(stated, mechanism)
        if item.known(instant)
    ]
    found += [
        *_jerk_limits(stated, np.asarray(joints.qddd)),
        *_effort_histories(stated, t, tau),
        *_bearing_limits(stated, loads),
        *_grip_limit(stated, loads),
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


def _most(limit: Limit, values: Series) -> LimitSeries:
    """A limit on magnitudes."""
    allowed = np.full(len(values), limit.most)
    return LimitSeries(limit, allowed, values, np.abs(values) / allowed)


def _joint_limits(stated: Stated) -> Iterator[InstantLimit]:
    for key, field in (("joint_speed", "qd"), ("joint_acceleration", "qdd")):
        for k, limit in enumerate(stated.of_drives(key)):
            if limit is not None:
                yield InstantLimit(limit, ((field, k, 1.0),))
    for k, drive in enumerate(stated.drives):
        if drive.range is not None:
            limit = position_limit(drive.coordinate, drive.range)
            yield InstantLimit(limit, (("q", k, 1.0),))


def _jerk_limits(stated: Stated, qddd: Float[np.ndarray, "N n"]) -> Iterator[LimitSeries]:
    for k, limit in enumerate(stated.of_drives("joint_jerk")):
        if limit is not None:
            yield _most(limit, qddd[:, k])


def _drive_limits(stated: Stated) -> Iterator[InstantLimit]:
    asked = ("peak_torque", "peak_speed")
    limits = zip(*map(stated.of_drives, asked), stated.of_torques_at_speed(), strict=True)
    for k, (peak, fastest, falling) in enumerate(limits):
        if peak is not None:
            yield InstantLimit(peak, (("tau", k, 1.0),))
        if fastest is not None:
            yield InstantLimit(fastest, (("qd", k, 1.0),))
        corner, v_p = stated.drives[k].corner, stated.drives[k].motor_speed
        if falling and peak and corner is not None and v_p is not None:
            parts = ("tau", k, (1 - corner) / peak.most), ("qd", k, 1 / v_p)
            yield InstantLimit(falling, parts)


def _effort_histories(
    stated: Stated, t: Series, tau: Float[np.ndarray, "N n"]
) -> Iterator[LimitSeries]:
    means = root_mean_square(t, tau)
    both = zip(*map(stated.of_drives, ("continuous_torque", "torque_rate")), strict=True)
    for k, (lasting, rate) in enumerate(both):
        if lasting is not None:
            yield _most(lasting, np.full(len(t), means[k]))._replace(average=True)
        if rate is not None and len(t) > 2:
            yield _most(rate, np.gradient(tau[:, k], t))


def _pose_limits(limits: Limits, mechanism: AbstractMechanism) -> Iterator[InstantLimit]:
    for k, coordinate in enumerate(mechanism.passive_coordinates):
        limit = passive_limit(limits, coordinate)
        if limit is not None:
            yield InstantLimit(limit, (("passive", k, 1.0),))
    if limits.singularity_margin > 0:
        least = limits.singularity_margin
        limit = Limit("singularity_margin", "", "margin to singularities", "1", least)
        yield InstantLimit(limit, (("margin", 0, 1.0),), below=True)


def _poses(mechanism: AbstractMechanism, q: Scalars, x: Scalars) -> tuple[Scalars, Scalar]:
    """Passive coordinates and singularity margin; a kernel for `numerics.tabulate`."""
    return mechanism.passive(q, x), singularity_margins(mechanism, q, x).least


def _load_limits(stated: Stated, mechanism: AbstractMechanism) -> Iterator[InstantLimit]:
    for k, strut in enumerate(mechanism.struts):
        limit = stated.of_strut(strut.body)
        if limit is not None:
            yield InstantLimit(limit, (("rods", k, 1.0),))
    for k, key in enumerate(("flange_force", "flange_torque")):  # tilting alone
        limit = stated.of_flange(key)
        if limit is not None:
            yield InstantLimit(limit, (("flange", k, 1.0),))


def _bearing_limits(stated: Stated, loads: "JointLoads | None") -> Iterator[LimitSeries]:
    if loads is None:
        return
    bearings = (
        ("bearing_force", loads.bearing_force),
        ("bearing_torque", loads.bearing_moment),
    )
    for key, sizes in bearings:
        for k, limit in enumerate(stated.of_bearings(key)):
            if limit is not None:
                yield _most(limit, sizes[:, k])


def _grip_limit(stated: Stated, loads: "JointLoads | None") -> Iterator[LimitSeries]:
    """The holding force that a suction cup needs: lifting, and across by friction."""
    limit = stated.of_grip()
    if loads is None or limit is None or stated.payload is None:
        return
    force = loads.payload_force
    needed = force[:, 2] + np.linalg.norm(force[:, :2], axis=1) / stated.payload.grip_friction
    yield _most(limit, np.maximum(needed, 0.0))
