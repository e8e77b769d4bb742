"""Rules on bodies and payloads of a robot, and on what the file says of them twice."""

import math
from collections.abc import Iterator

import numpy as np

from triskele.doctor.case import Case
from triskele.doctor.solids import Solid, density, solid_remarks
from triskele.spatial.inertia import infeasibility


def body_remarks(case: Case) -> Iterator[str]:
    """Bodies, payloads, and the parts that were weighed or taken apart."""
    yield from solid_remarks(case.solids)
    for rule in (payloads, grips, weighed, disassembled):
        yield from rule(case)


def payloads(case: Case) -> Iterator[str]:
    """A payload is no heavier than robots can be, and within reach of the flange."""
    own = case.moving_mass - max((load.mass for load in case.robot.payloads.values()), default=0.0)
    for name, load in case.robot.payloads.items():
        key, distance = f"payloads.{name}", math.hypot(*load.centre_of_mass)
        if own and load.mass > 12 * own:
            yield (
                f"{key}.mass: {load.mass:.3g} kg, on a robot of which {own:.3g} kg move. Is the "
                "unit right?"
            )
        if distance > 0.8 * case.size:
            yield (
                f"{key}.centre_of_mass: {distance:.3g} m from the flange, on a robot with limbs of "
                f"{case.size:.3g} m. Is the unit right?"
            )
        if load.mass_tolerance >= 0.5:
            yield (
                f"{key}.mass_tolerance: {100 * load.mass_tolerance:.3g} % of the mass; a payload "
                "that may weigh nothing or twice as much has no limits to plan with."
            )
        if load.centre_tolerance > case.size / 4:
            yield f"{key}.centre_tolerance: {load.centre_tolerance:.3g} m is no tolerance here."
        yield from _spread(key, case, load.ten_parameters)


def _spread(key: str, case: Case, ten: tuple[float, ...]) -> Iterator[str]:
    if infeasibility(ten) is not None:
        return
    solid = Solid(key, ten, np.zeros((0, 3)), case.size)
    if solid.gyration > case.size:
        yield (
            f"{key}.inertia: a radius of gyration of {solid.gyration:.3g} m, on a robot with limbs "
            f"of {case.size:.3g} m. Is the unit right?"
        )
    elif solid.gyration:
        yield from density(solid)


def grips(case: Case) -> Iterator[str]:
    """A gripper holds what it carries."""
    for name, load in case.robot.payloads.items():
        weight = load.mass * math.hypot(*case.robot.gravity)
        if load.grip_force is not None and load.grip_force < weight:
            yield (
                f"payloads.{name}.grip_force: {load.grip_force:.3g} N does not hold a weight of "
                f"{weight:.3g} N."
            )


def weighed(case: Case) -> Iterator[str]:
    """What was on the scale weighs what the bodies do, within a factor of three."""
    stated = case.robot.weighed
    masses = {solid.key.removeprefix("bodies."): solid.mass for solid in case.solids}
    if stated is None:
        return
    upper, lower = masses.get("telescope_upper"), masses.get("telescope_lower")
    both = None if upper is None or lower is None else upper + lower
    for key, body in (
        ("rod", masses.get("rod")),
        ("measuring_rod", masses.get("rod")),
        ("platform", masses.get("platform")),
        ("telescope", both),
    ):
        yield from _alike(f"weighed.{key}", getattr(stated, key), "kg", body, 3, f"bodies.{key}")


def disassembled(case: Case) -> Iterator[str]:
    """What was found of the arms alone is near what the bodies and friction say."""
    stated, arm = case.robot.disassembled, case.robot.body("arm")
    if stated is None:
        return
    if arm is not None:
        ten = arm.ten_parameters
        for value in stated.arm_inertia:
            yield from _alike("disassembled.arm_inertia", value, "kg m^2", ten[5], 8, "bodies.arm")
        most = max(abs(v) for v in (*stated.arm_moment_x, *stated.arm_moment_z))
        own = max(abs(v) for v in ten[1:4])
        yield from _alike("disassembled: first moments", most, "kg m", own, 8, "bodies.arm")
        for key in ("arm_moment_x", "arm_moment_z"):
            values = [abs(v) for v in getattr(stated, key)]
            if max(values) and min(values) < max(values) / 100:
                yield f"disassembled.{key}: limbs differ by more than a hundred times."
    for drive in case.drives:
        if drive.friction is not None:
            most = float(np.asarray(drive.friction.coulomb))
            yield from _alike(
                "disassembled.coulomb", max(stated.coulomb), "N m", most or None, 20, "friction"
            )
        break


def _alike(
    key: str, value: float | None, unit: str, other: float | None, most: float, place: str
) -> Iterator[str]:
    """A remark unless both numbers, where they are stated, agree within a factor."""
    if not value or not other or other / most <= value <= most * other:
        return
    yield f"{key}: {value:.3g} {unit}, where {place} has {other:.3g} {unit}. Which one is right?"
