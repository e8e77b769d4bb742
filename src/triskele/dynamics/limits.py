"""How near a motion comes to each limit of the robot file, sample by sample and at worst.

The use of a limit is what the motion asks for over what is allowed: 1 is at the limit, more
is beyond it. For a range it is the distance from its middle over half its width; for a limit
from below (a margin to singularities) it is the limit over the value. Of torques and loads
the file may keep a `margin` free, which then is not allowed.
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
from triskele.numerics import Scalar, Scalars, tabulate

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
    stated = Stated.of(robot, mechanism, payload, margins)
    found = [
        *_joint_limits(stated, joints),
        *_drive_limits(stated, np.asarray(motion.t), joints, tau),
        *_pose_limits(robot.limits, mechanism, np.asarray(motion.x), np.asarray(joints.q)),
        *_load_limits(stated, loads),
    ]
    return tuple(sorted(found, key=lambda item: -round(float(item.use.max()), 9)))


def root_mean_square(
    t: Float[np.ndarray, " N"], values: Float[np.ndarray, "N k"]
) -> Float[np.ndarray, " k"]:
    """Over time, by the trapezoidal rule; samples need not be evenly spaced."""
    return np.sqrt(np.trapezoid(values**2, t, axis=0) / (t[-1] - t[0]))


def _most(limit: Limit, values: Series) -> LimitSeries:
    """A limit on magnitudes."""
    allowed = np.full(len(values), limit.most)
    return LimitSeries(limit, allowed, values, np.abs(values) / allowed)


def _within(limit: Limit, x: Series) -> LimitSeries:
    """A range; what is allowed is its nearer end."""
    assert isinstance(limit.allowed, tuple), "a range has two ends"
    low, high = limit.allowed
    middle, half = (low + high) / 2, (high - low) / 2
    nearer = np.where(x > middle, high, low)
    return LimitSeries(limit, nearer, x, np.abs(x - middle) / half)


def _least(limit: Limit, values: Series) -> LimitSeries:
    """A limit from below."""
    use = np.divide(limit.most, values, out=np.full(len(values), np.inf), where=values > 0)
    return LimitSeries(limit, np.full(len(values), limit.most), values, use)


def _joint_limits(stated: Stated, joints: JointMotion) -> Iterator[LimitSeries]:
    rates = (
        ("joint_speed", joints.qd),
        ("joint_acceleration", joints.qdd),
        ("joint_jerk", joints.qddd),
    )
    for key, values in rates:
        for k, limit in enumerate(stated.of_drives(key)):
            if limit is not None:
                yield _most(limit, np.asarray(values)[:, k])
    for k, drive in enumerate(stated.drives):
        if drive.range is not None:
            limit = position_limit(drive.coordinate, drive.range)
            yield _within(limit, np.asarray(joints.q)[:, k])


def _drive_limits(
    stated: Stated, t: Series, joints: JointMotion, tau: Float[np.ndarray, "N n"]
) -> Iterator[LimitSeries]:
    means = root_mean_square(t, tau)
    asked = ("peak_torque", "continuous_torque", "peak_speed")
    limits = zip(*map(stated.of_drives, asked), stated.of_torques_at_speed(), strict=True)
    for k, (peak, lasting, fastest, falling) in enumerate(limits):
        if peak is not None:
            yield _most(peak, tau[:, k])
        if lasting is not None:
            yield _most(lasting, np.full(len(t), means[k]))._replace(average=True)
        if fastest is not None:
            yield _most(fastest, np.asarray(joints.qd)[:, k])
        corner, v_p = stated.drives[k].corner, stated.drives[k].motor_speed
        if falling and peak and corner is not None and v_p is not None:
            share = (1 - corner) * np.abs(tau[:, k]) / peak.most
            yield _most(falling, share + np.abs(np.asarray(joints.qd)[:, k]) / v_p)
    for k, limit in enumerate(stated.of_drives("torque_rate")):
        if limit is not None and len(t) > 2:
            yield _most(limit, np.gradient(tau[:, k], t))


def _pose_limits(
    limits: Limits,
    mechanism: AbstractMechanism,
    x: Float[np.ndarray, "N n"],
    q: Float[np.ndarray, "N n"],
) -> Iterator[LimitSeries]:
    passive, margin = tabulate(eqx.Partial(_poses, mechanism))(q, x)
    for coordinate, series in zip(mechanism.passive_coordinates, passive, strict=True):
        limit = passive_limit(limits, coordinate)
        if limit is not None:
            within = isinstance(limit.allowed, tuple)
            yield (_within if within else _most)(limit, np.asarray(series))
    if limits.singularity_margin > 0:
        least = limits.singularity_margin
        limit = Limit("singularity_margin", "", "margin to singularities", "1", least)
        yield _least(limit, np.asarray(margin))


def _poses(mechanism: AbstractMechanism, q: Scalars, x: Scalars) -> tuple[Scalars, Scalar]:
    """Passive coordinates and singularity margin; a kernel for `numerics.tabulate`."""
    return mechanism.passive(q, x), singularity_margins(mechanism, q, x).least


def _load_limits(stated: Stated, loads: "JointLoads | None") -> Iterator[LimitSeries]:
    if loads is None:
        return
    rods = loads.rods
    for k, name in enumerate(() if rods is None else rods.names):
        limit = stated.of_strut(name)
        if rods is not None and limit is not None:
            ends = np.stack([rods.lower[:, k], rods.upper[:, k]])
            worse = ends[np.abs(ends).argmax(axis=0), np.arange(ends.shape[1])]
            yield _most(limit, worse)
    flange = (
        ("flange_force", loads.flange_force),
        ("flange_torque", loads.flange_moment[:, :2]),  # tilting alone
    )
    for key, vectors in flange:
        limit = stated.of_flange(key)
        if limit is not None:
            yield _most(limit, np.linalg.norm(vectors, axis=-1))
    bearings = (
        ("bearing_force", loads.bearing_force),
        ("bearing_torque", loads.bearing_moment),
    )
    for key, sizes in bearings:
        for k, limit in enumerate(stated.of_bearings(key)):
            if limit is not None:
                yield _most(limit, sizes[:, k])
    limit = stated.of_grip()
    if limit is not None:
        yield _most(limit, _holding(loads, stated.payload))


def _holding(loads: "JointLoads", payload: Payload | None) -> Series:
    """The holding force that a suction cup needs [N]: lifting, and across by friction."""
    assert payload is not None, "nothing is held"
    force = loads.payload_force
    needed = force[:, 2] + np.linalg.norm(force[:, :2], axis=1) / payload.grip_friction
    return np.maximum(needed, 0.0)
