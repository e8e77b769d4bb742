"""Rules on geometry and limits: against the reach of the limbs and the weight they hold."""

import math
from collections.abc import Iterator

import numpy as np

from triskele.doctor.case import Case
from triskele.kinematics.reach import slacks, worst_slack
from triskele.numerics import AnyArray

_BODIES = {"the Moon": 1.62, "Mars": 3.71, "Venus": 8.87, "Jupiter": 24.79}  #: gravity [m/s^2]
_EARTH = (9.7, 9.9)
_AZIMUTHS = 16  #: of the points looked at on a circle
_STEP = 0.004  #: of a limb: how far the robot moves from home at least


def limit_remarks(case: Case) -> Iterator[str]:
    """All of them."""
    for rule in (gravity, home, cylinder, above_or_below, margins, loads, lengths, telescope):
        yield from rule(case)


def gravity(case: Case) -> Iterator[str]:
    """Gravity is that of the Earth, or none."""
    yield from strange_gravity(case.robot.gravity)


def strange_gravity(vector: tuple[float, float, float]) -> Iterator[str]:
    """A remark unless gravity is that of the Earth, or none."""
    g = math.hypot(*vector)
    if g and not _EARTH[0] <= g <= _EARTH[1]:
        there = [name for name, value in _BODIES.items() if abs(g / value - 1) < 0.03]
        like = f", as on {there[0]}" if there else ""
        yield f"gravity: {g:.4g} m/s^2{like}; on Earth it is 9.81."


def home(case: Case) -> Iterator[str]:
    """Home is within the limits, and a few thousandths of a limb about it."""
    reason = worst_slack(case.mechanism, case.robot.limits, case.x)
    if reason is not None:
        yield f"limits: home is outside: {reason}."
        return
    coordinates = case.mechanism.platform_coordinates
    steps = [_STEP * (0.5 if c.unit == "rad" else case.size) for c in coordinates]
    moved = np.concatenate([case.x + np.diag(steps), case.x - np.diag(steps)])
    inside = _inside(case, moved).reshape(2, -1).any(axis=0)
    if not inside.all():
        k = int(np.argmin(inside))
        turns = coordinates[k].unit == "rad"
        shown = f"{math.degrees(steps[k]):.2g} deg" if turns else f"{1000 * steps[k]:.2g} mm"
        why = worst_slack(case.mechanism, case.robot.limits, moved[k])
        yield f"limits: {coordinates[k].name} cannot leave home by {shown} either way: {why}."


def _inside(case: Case, points: AnyArray) -> np.ndarray:
    """Whether each row of `points` is within the limits; singularities are not looked at."""
    rows = tuple(points.T)
    rooms = [item.room for item in slacks(case.mechanism, case.robot.limits, rows, singular=False)]
    held = [np.broadcast_to(np.asarray(room) >= -1e-9, len(points)) for room in rooms]
    return np.all(held, axis=0)


def cylinder(case: Case) -> Iterator[str]:
    """The legs reach a good part of the workspace that the file promises."""
    limits, names = case.robot.limits, [c.name for c in case.mechanism.platform_coordinates]
    if limits.workspace_radius is None and limits.workspace_height is None:
        return
    if not _inside(case, case.x[None]).all():
        return  # home is outside; that is said
    z = float(case.x[names.index("z")]) if "z" in names else 0.0
    low, high = limits.workspace_height or (z, z)
    radius = limits.workspace_radius or 0.0
    if radius and radius < 0.03 * case.size:
        yield f"limits.workspace_radius: {radius:.2g} m, on limbs of {case.size:.3g} m."
    points = np.tile(np.asarray(case.x, float), (_AZIMUTHS * 3, 1))
    angles = np.tile(2 * np.pi * np.arange(_AZIMUTHS) / _AZIMUTHS, 3)
    levels = np.repeat([low, (low + high) / 2, high], _AZIMUTHS)
    for name, values in (
        ("x", radius * np.cos(angles)),
        ("y", radius * np.sin(angles)),
        ("z", levels),
    ):
        if name in names and not (name == "z" and limits.workspace_height is None):
            points[:, names.index(name)] = values
    inside = _inside(case, points)
    if inside.mean() < 0.5:
        height = f"heights {low:.3g} to {high:.3g} m"
        yield (
            f"limits.workspace_radius and workspace_height: the legs reach "
            f"{100 * inside.mean():.0f} % of the rim of radius {radius:.3g} m and "
            f"{height}. Are units and signs right?"
        )


def above_or_below(case: Case) -> Iterator[str]:
    """The workspace is on the side of the base where home is."""
    names = [c.name for c in case.mechanism.platform_coordinates]
    span = case.robot.limits.workspace_height
    if span is None or "z" not in names:
        return
    z = float(case.x[names.index("z")])
    if abs(z) > 0.1 * case.size and (span[1] < 0 < z or z < 0 < span[0]):
        yield (
            f"limits.workspace_height: {span[0]:.3g} to {span[1]:.3g} m is on the other side of "
            f"the base than home, at {z:.3g} m. Is the sign right?"
        )


def margins(case: Case) -> Iterator[str]:
    """Margins leave something to use."""
    limits = case.robot.limits
    if limits.margin > 0.6:
        yield (
            f"limits.margin: {limits.margin:g} keeps {100 * limits.margin:.3g} % of torques and "
            "loads free; usual is 0 to 0.3."
        )
    if limits.singularity_margin > 0.5:
        yield f"limits.singularity_margin: {limits.singularity_margin:g}; usual is 0.01 to 0.1."


def loads(case: Case) -> Iterator[str]:
    """Allowed loads are of the order of the weight that moves."""
    limits, weight = case.robot.limits, case.weight
    if not weight:
        return
    for key, unit, scale, low, high in (
        ("rod_force", "N", weight, 0.03, 500),
        ("bearing_force", "N", weight, 0.03, 1e4),
        ("flange_force", "N", weight, 0.02, 500),
        ("bearing_torque", "N m", weight * case.size, 2e-3, 1e3),
        ("flange_torque", "N m", weight * case.size, 1e-3, 50),
    ):
        value = getattr(limits, key)
        if value is not None and not low * scale <= value <= high * scale:
            yield (
                f"limits.{key}: {value:.3g} {unit}, on a robot of which {case.moving_mass:.3g} kg "
                "move. Is the unit right?"
            )
    heaviest = max((load.mass for load in case.robot.payloads.values()), default=0.0)
    hangs = heaviest * math.hypot(*case.robot.gravity)
    if limits.flange_force is not None and hangs > limits.flange_force:
        yield f"limits.flange_force: {limits.flange_force:.3g} N; the payload weighs {hangs:.3g} N."


def lengths(case: Case) -> Iterator[str]:
    """Lengths of one robot are within a hundred times of each other, and its limbs are alike."""
    found = {key: value for key, value in _lengths(case) if value}
    for key, value in found.items():
        if abs(value) > 4 * case.size or abs(value) < _least(key) * case.size:
            yield (
                f"geometry.{key}: {value:.3g} m beside limbs of {case.size:.3g} m. Is the unit "
                "right?"
            )
    spacing = found.get("rod_spacing")
    if spacing is not None and spacing > case.size:
        yield f"geometry.rod_spacing: {spacing:.3g} m, more than the rods are long."
    for drive in case.drives:
        span = drive.range
        if span is not None and drive.sliding and span[1] - span[0] > 8 * case.size:
            yield (
                f"limits.{drive.coordinate.limit}: {drive.name} travels {span[1] - span[0]:.3g} m, "
                f"with limbs of {case.size:.3g} m. Is the unit right?"
            )
    geometry = case.robot.geometry
    for key in ("base_radius", "platform_radius", "arm_length", "rod_length", "bar_length"):
        values = getattr(geometry, key, None)
        if values is not None and max(values) > 1.2 * min(values):
            yield f"geometry.{key}: limbs differ by {100 * (max(values) / min(values) - 1):.0f} %."


def _least(key: str) -> float:
    """The least share of a limb that a length usually has; heights may be anything."""
    return 0.0 if "height" in key or "home" in key else 0.012


def _lengths(case: Case) -> Iterator[tuple[str, float]]:
    """Lengths of a geometry by their keys [m]."""
    geometry = case.robot.geometry
    for key in type(geometry).model_fields:
        value = getattr(geometry, key)
        if key == "azimuth" or key.endswith("angle"):
            continue
        if isinstance(value, float):
            yield key, value
        elif isinstance(value, tuple) and all(isinstance(item, float) for item in value):
            yield key, max(map(abs, value))
    for number, limb in enumerate(getattr(geometry, "limbs", ()), 1):
        for key in ("arm_length", "rod_length", "rod_length_b", "rod_spacing", "end_spacing"):
            for value in getattr(limb, key) or ():
                yield f"limbs.{number}.{key}", value
        for key in ("base", "end", "level"):
            value = getattr(limb, key)
            yield f"limbs.{number}.{key}", math.hypot(*value) if value else 0.0


def telescope(case: Case) -> Iterator[str]:
    """A telescope spans what its parts can."""
    parts, span = (
        getattr(case.robot.geometry, "telescope", None),
        case.robot.limits.telescope_length,
    )
    if parts is None:
        return
    for key in ("upper_joint_height", "lower_joint_height", "upper_length", "lower_length"):
        value = getattr(parts, key)
        if value is not None and abs(value) > 2 * case.size:
            yield f"geometry.telescope.{key}: {value:.3g} m beside limbs of {case.size:.3g} m."
    if parts.upper_length is None or parts.lower_length is None:
        return
    both, longer = (
        parts.upper_length + parts.lower_length,
        max(parts.upper_length, parts.lower_length),
    )
    if min(parts.upper_length, parts.lower_length) < longer / 10:
        yield "geometry.telescope: one part is less than a tenth of the other. Is the unit right?"
    if span is not None and (span[1] > both or span[0] < longer / 2):
        yield (
            f"limits.telescope_length: {span[0]:.3g} to {span[1]:.3g} m, where the parts measure "
            f"{parts.upper_length:.3g} and {parts.lower_length:.3g} m."
        )
