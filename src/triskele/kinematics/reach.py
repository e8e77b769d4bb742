"""Whether a robot may take a pose, and if not, why: limits as signed slacks.

Each limit of the robot file becomes a slack, positive inside and negative outside, scaled
to be of order one: angles in rad, lengths in sizes of the robot, margins as they are.
The slack of a pose is the least of them; the workspace is where it is positive. The cylinder
that a maker guarantees is no limit of the mechanism; it counts only where `guaranteed` is
asked for.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from triskele.description.schema import Limits
from triskele.errors import OutOfReach
from triskele.kinematics.fit import ranges
from triskele.kinematics.limits import Limit, passive_limit, position_limit
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.singularity import singularity_margins
from triskele.numerics import AnyArray, Components, Scalar, Scalars, atan2, minimum, safe_sqrt

_PLATFORM = "platform"  #: part of the limit of type 2
_ROUNDING = 1e-9  #: of a margin
_STEP = 1e-5  #: of coordinates, in sizes of the robot
_ALIKE = 0.05  #: least motion of the platform, as a part of the largest, of independent coordinates


class Slack(NamedTuple):
    """Room left under one limit, and the sentence for when there is none."""

    reason: str  #: why a pose is refused; {value} stands for what it would need
    room: Scalar  #: positive inside
    value: Scalar  #: in the unit of the limit
    limit: Limit
    size: Scalar = 1.0  #: what a room of one is, in the unit of the limit


def slacks(
    mechanism: AbstractMechanism,
    limits: Limits,
    x: Components,
    *,
    guaranteed: bool = False,
    singular: bool = True,
) -> tuple[Slack, ...]:
    """All slacks of the pose `x` in the working mode; those of singularities if `singular`."""
    solution, legs = mechanism.inverse(x), len(mechanism.working_mode)
    q = solution.components
    found = [
        Slack(f"leg {i} cannot reach (margin {{value}})", margin, margin, _reach(i))
        for i, margin in enumerate(solution.margins[:legs], 1)
    ]
    reason = "the rods do not hold the tilt of the platform (margin {value})"
    tilt = Limit("reach", "tilt", "hold of the rods on the tilt of the platform", "1", 0.0)
    found += [Slack(reason, margin, margin, tilt) for margin in solution.margins[legs:]]
    size = mechanism.size
    found += _joint_slacks(mechanism, limits, q, size)
    found += _passive_slacks(mechanism, limits, q, x, size)
    found += _platform_slacks(mechanism, limits, x)
    found += _cylinder_slacks(mechanism, limits, x, size) if guaranteed else []
    if not singular:
        return tuple(found)
    margins = singularity_margins(mechanism, q, x)
    least = limits.singularity_margin
    found += [
        Slack(
            f"leg {i} is stretched or folded (type 1 margin {{value}})",
            m - least,
            m,
            _singular(limits, f"leg {i}", f"type 1 margin of leg {i}"),
        )
        for i, m in enumerate(margins.type1[:legs], 1)
    ]
    m = margins.type2
    reason = "the platform loses stiffness (type 2 margin {value})"
    limit = _singular(limits, _PLATFORM, "type 2 margin of the platform")
    found.append(Slack(reason, m - least, m, limit))
    return tuple(found)


def _reach(leg: int) -> Limit:
    return Limit("reach", f"leg {leg}", f"reach of leg {leg}", "1", 0.0)


def _singular(limits: Limits, part: str, label: str) -> Limit:
    return Limit("singularity_margin", part, label, "1", limits.singularity_margin)


def slack(
    mechanism: AbstractMechanism, limits: Limits, x: Components, *, guaranteed: bool = False
) -> Scalar:
    """The least slack of the pose `x`; a kernel for `numerics.batch`."""
    rooms = [item.room for item in slacks(mechanism, limits, x, guaranteed=guaranteed)]
    value = rooms[0]
    for room in rooms[1:]:
        value = minimum(value, room)
    return value


def worst_slack(
    mechanism: AbstractMechanism, limits: Limits, x: Float[AnyArray, " m"]
) -> str | None:
    """Why the pose `x` is refused, or None if it is allowed."""
    worst = nearest_limit(mechanism, limits, x)
    if float(np.asarray(worst.room)) >= 0:
        return None
    shown = shown_room(worst.value, worst.limit.unit)
    loose = worst.limit.identity == _singular(limits, _PLATFORM, "").identity
    if loose and float(np.asarray(worst.value)) > -_ROUNDING:  # not beyond a loose pose
        alike = " and ".join(moving_alike(mechanism, x))
        if alike:
            return (
                f"{alike} move the platform alike there, whatever the robot (type 2 margin {shown})"
            )
    return worst.reason.format(value=shown)


def moving_alike(mechanism: AbstractMechanism, x: Float[AnyArray, " m"]) -> tuple[str, ...]:
    """Coordinates that describe one motion twice near `x`; none where all move the platform apart.

    So do angles about axes that coincide, as the first and the last of three do where the middle
    one is 90 degrees: the description is singular there, not the robot.
    """
    size = float(np.asarray(mechanism.size))
    units = np.array([float(np.asarray(unit)) for unit in mechanism.scales().platform])

    def pose(moved: np.ndarray) -> np.ndarray:
        at = tuple(moved.tolist())
        bodies = mechanism.body_poses(mechanism.inverse(at).components, at)
        frames = mechanism.platform_pose(at), bodies[mechanism.bodies.index(mechanism.carrier)]
        parts = [(np.asarray(T.p, float), size * np.asarray(T[:3], float)) for T in frames]
        return np.concatenate([part.ravel() for pair in parts for part in pair])

    steps = np.diag(_STEP * size / units)
    ahead, behind = (np.stack([pose(np.asarray(x) + sign * s) for s in steps]) for sign in (1, -1))
    _, sizes, directions = np.linalg.svd((ahead - behind).T)
    if sizes[-1] > _ALIKE * sizes[0]:
        return ()
    names = (c.name for c in mechanism.platform_coordinates)
    return tuple(name for name, part in zip(names, directions[-1], strict=True) if abs(part) > 0.1)


def nearest_limit(mechanism: AbstractMechanism, limits: Limits, x: Float[AnyArray, " m"]) -> Slack:
    """The limit with the least slack at the pose `x`."""

    def room(item: Slack) -> float:
        value = float(np.asarray(item.room))
        return value if np.isfinite(value) else -np.inf

    return min(slacks(mechanism, limits, x), key=room)


def room_in_words(item: Slack) -> str:
    """What is left under a limit, in its own unit, angles in degrees; of a margin, the number."""
    room = float(np.asarray(item.room)) * float(np.asarray(item.size))
    return f"{shown_room(room, item.limit.unit)} to the limit of the {item.limit.label}"


def shown_room(value: Scalar, unit: str) -> str:
    """A value with its unit, angles in degrees."""
    number = round(float(np.asarray(value)), 12) + 0.0  # no 1e-17, no -0
    if unit == "rad":
        return f"{np.degrees(number):.4g} deg"
    return f"{number:.4g} m" if unit == "m" else f"{number:.4g}"


def check_reach(
    mechanism: AbstractMechanism, limits: Limits, x: Float[AnyArray, " m"], place: str
) -> None:
    """Raise OutOfReach, with the worst reason, unless the pose `x` is allowed."""
    reason = worst_slack(mechanism, limits, x)
    if reason is not None:
        raise OutOfReach(f"{place} is out of reach: {reason}.")


def _joint_slacks(
    mechanism: AbstractMechanism, limits: Limits, q: Scalars, size: Scalar
) -> list[Slack]:
    found = []
    joints = mechanism.joint_coordinates
    for coordinate, allowed, value in zip(joints, ranges(limits, joints), q, strict=True):
        if allowed is None:
            continue
        unit = size if coordinate.unit == "m" else 1.0
        room = minimum(value - allowed[0], allowed[1] - value) / unit
        span = _span(allowed, coordinate.unit)
        reason = f"{coordinate.name} would be {{value}}, allowed is {span}"
        found.append(Slack(reason, room, value, position_limit(coordinate, allowed), unit))
    return found


def _span(allowed: tuple[float, float], unit: str) -> str:
    """A range, angles in degrees."""
    low, high = np.degrees(allowed) if unit == "rad" else allowed
    return f"{low:.4g} to {high:.4g} {'deg' if unit == 'rad' else unit}"


def _passive_slacks(
    mechanism: AbstractMechanism, limits: Limits, q: Scalars, x: Components, size: Scalar
) -> list[Slack]:
    found = []
    for coordinate, value in zip(
        mechanism.passive_coordinates, mechanism.passive(q, x), strict=True
    ):
        limit = passive_limit(limits, coordinate)
        if limit is None:
            continue
        allowed = limit.allowed
        reason = f"the {coordinate.label} would be {{value}}"
        if isinstance(allowed, tuple):
            low, high = allowed
            reason += f", allowed is {_span(allowed, coordinate.unit)}"
            unit = size if coordinate.unit == "m" else 1.0
            room = minimum(value - low, high - value) / unit
        else:
            room = allowed - abs(value)
            reason += f", allowed is at most {np.degrees(allowed):.4g} deg"
            unit = 1.0
        found.append(Slack(reason, room, value, limit, unit))
    return found


def _platform_slacks(mechanism: AbstractMechanism, limits: Limits, x: Components) -> list[Slack]:
    if limits.platform_tilt is None:
        return []
    z = mechanism.platform_pose(x).z
    tilt = atan2(safe_sqrt(z[0] * z[0] + z[1] * z[1]), z[2])
    most = np.degrees(limits.platform_tilt)
    reason = f"the platform would tilt by {{value}}, allowed is {most:.4g} deg"
    limit = Limit("platform_tilt", "", "tilt of the platform", "rad", limits.platform_tilt)
    return [Slack(reason, limits.platform_tilt - tilt, tilt, limit)]


def _cylinder_slacks(
    mechanism: AbstractMechanism, limits: Limits, x: Components, size: Scalar
) -> list[Slack]:
    pose, found = mechanism.platform_pose(x), []
    if limits.workspace_radius is not None:
        radius = safe_sqrt(pose.p[0] * pose.p[0] + pose.p[1] * pose.p[1])
        reason = f"{{value}} from the axis, the workspace ends at {limits.workspace_radius:g} m"
        room = (limits.workspace_radius - radius) / size
        label, allowed = "radius of the workspace", limits.workspace_radius
        limit = Limit("workspace_radius", "", label, "m", allowed)
        found.append(Slack(reason, room, radius, limit, size))
    if limits.workspace_height is not None:
        low, high = limits.workspace_height
        room = minimum(pose.p[2] - low, high - pose.p[2]) / size
        reason = f"height {{value}} is outside the workspace, {low:g} to {high:g} m"
        label, allowed = "height of the workspace", limits.workspace_height
        limit = Limit("workspace_height", "", label, "m", allowed)
        found.append(Slack(reason, room, pose.p[2], limit, size))
    return found
