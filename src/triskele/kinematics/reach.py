"""Whether a robot may take a pose, and if not, why: limits as signed slacks.

Each limit of the robot file becomes a slack, positive inside and negative outside, scaled
to be of order one: angles in rad, lengths as part of the loop's length, margins as they are.
The slack of a pose is the least of them; the workspace is where it is positive. The cylinder
that a maker guarantees is no limit of the mechanism; it counts only where `guaranteed` is
asked for.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from triskele.description.schema import Limits
from triskele.errors import OutOfReach
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.singularity import singularity_margins
from triskele.numerics import Components, Scalar, Scalars, atan2, safe_sqrt


class Slack(NamedTuple):
    """Room left under one limit, and the sentence for when there is none."""

    reason: str  #: why a pose is refused; {value} stands for what it would need
    room: Scalar  #: positive inside
    value: Scalar  #: in `unit`
    unit: str


def slacks(
    mechanism: AbstractMechanism, limits: Limits, x: Components, *, guaranteed: bool = False
) -> tuple[Slack, ...]:
    """All slacks of the pose `x` in the working mode."""
    solution = mechanism.inverse(x)
    q = solution.components
    found = [
        Slack(f"leg {i} cannot reach (margin {{value}})", margin, margin, "1")
        for i, margin in enumerate(solution.margins, 1)
    ]
    size = mechanism.scales().loops[0]
    found += _joint_slacks(mechanism, limits, q, size)
    found += _passive_slacks(mechanism, limits, q, x, size)
    found += _platform_slacks(mechanism, limits, x)
    found += _cylinder_slacks(mechanism, limits, x, size) if guaranteed else []
    margins = singularity_margins(mechanism, q, x)
    least = limits.singularity_margin
    legs = len(mechanism.working_mode)
    found += [
        Slack(f"leg {i} is stretched or folded (type 1 margin {{value}})", m - least, m, "1")
        for i, m in enumerate(margins.type1[:legs], 1)
    ]
    m = margins.type2
    found.append(Slack("the platform loses stiffness (type 2 margin {value})", m - least, m, "1"))
    return tuple(found)


def slack(
    mechanism: AbstractMechanism, limits: Limits, x: Components, *, guaranteed: bool = False
) -> Scalar:
    """The least slack of the pose `x`; a kernel for `numerics.batch`."""
    rooms = [item.room for item in slacks(mechanism, limits, x, guaranteed=guaranteed)]
    value = rooms[0]
    for room in rooms[1:]:
        value = jnp.minimum(value, room)
    return value


def worst_slack(mechanism: AbstractMechanism, limits: Limits, x: Float[Array, " m"]) -> str | None:
    """Why the pose `x` is refused, or None if it is allowed."""
    rooms = [(float(np.asarray(item.room)), item) for item in slacks(mechanism, limits, x)]
    room, worst = min(rooms, key=lambda pair: pair[0] if np.isfinite(pair[0]) else -np.inf)
    if room >= 0:
        return None
    value = round(float(np.asarray(worst.value)), 12) + 0.0  # no 1e-17, no -0
    shown = f"{np.degrees(value):.4g} deg" if worst.unit == "rad" else f"{value:.4g}"
    shown += " m" if worst.unit == "m" else ""
    return worst.reason.format(value=shown)


def check_reach(
    mechanism: AbstractMechanism, limits: Limits, x: Float[Array, " m"], place: str
) -> None:
    """Raise OutOfReach, with the worst reason, unless the pose `x` is allowed."""
    reason = worst_slack(mechanism, limits, x)
    if reason is not None:
        raise OutOfReach(f"{place} is out of reach: {reason}.")


def _joint_slacks(
    mechanism: AbstractMechanism, limits: Limits, q: Scalars, size: Scalar
) -> list[Slack]:
    found = []
    for coordinate, value in zip(mechanism.joint_coordinates, q, strict=True):
        turning = coordinate.unit == "rad"
        allowed = limits.joint_angle if turning else limits.slider_position
        if allowed is None or coordinate.name == "q4":
            continue
        unit = 1.0 if turning else size
        shown = tuple(np.degrees(allowed)) if turning else allowed
        span = f"{shown[0]:.4g} to {shown[1]:.4g} {'deg' if turning else 'm'}"
        room = jnp.minimum(value - allowed[0], allowed[1] - value) / unit
        reason = f"{coordinate.name} would be {{value}}, allowed is {span}"
        found.append(Slack(reason, room, value, coordinate.unit))
    return found


def _passive_slacks(
    mechanism: AbstractMechanism, limits: Limits, q: Scalars, x: Components, size: Scalar
) -> list[Slack]:
    found = []
    for coordinate, value in zip(
        mechanism.passive_coordinates, mechanism.passive(q, x), strict=True
    ):
        if coordinate.name.startswith("tilt") and limits.rod_tilt is not None:
            reason = f"rod {coordinate.name[-1]} would tilt by {{value}} out of its limb plane"
            found.append(Slack(reason, limits.rod_tilt - jnp.abs(value), value, "rad"))
        if coordinate.name == "telescope" and limits.telescope_length is not None:
            low, high = limits.telescope_length
            reason = f"the telescope would be {{value}} long, allowed is {low:g} to {high:g} m"
            found.append(Slack(reason, jnp.minimum(value - low, high - value) / size, value, "m"))
    return found


def _platform_slacks(mechanism: AbstractMechanism, limits: Limits, x: Components) -> list[Slack]:
    if limits.platform_tilt is None:
        return []
    z = mechanism.platform_pose(x).z
    tilt = atan2(safe_sqrt(z[0] * z[0] + z[1] * z[1]), z[2])
    most = np.degrees(limits.platform_tilt)
    reason = f"the platform would tilt by {{value}}, allowed is {most:.4g} deg"
    return [Slack(reason, limits.platform_tilt - tilt, tilt, "rad")]


def _cylinder_slacks(
    mechanism: AbstractMechanism, limits: Limits, x: Components, size: Scalar
) -> list[Slack]:
    pose, found = mechanism.platform_pose(x), []
    if limits.workspace_radius is not None:
        radius = safe_sqrt(pose.p[0] * pose.p[0] + pose.p[1] * pose.p[1])
        reason = f"{{value}} from the axis, the workspace ends at {limits.workspace_radius:g} m"
        found.append(Slack(reason, (limits.workspace_radius - radius) / size, radius, "m"))
    if limits.workspace_height is not None:
        low, high = limits.workspace_height
        room = jnp.minimum(pose.p[2] - low, high - pose.p[2]) / size
        reason = f"height {{value}} is outside the workspace, {low:g} to {high:g} m"
        found.append(Slack(reason, room, pose.p[2], "m"))
    return found
