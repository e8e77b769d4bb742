"""Other models of a robot's rods than bodies with the joints they have.

isostatic    connecting rods hinged at one rod, and led along a line of the other: no
             redundant condition, so that every reaction is unique
distance     rods without mass that keep their ends a constant distance apart; their mass
             goes to both ends, by the lever rule
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from triskele.errors import InputError
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.multibody.joints import Body, Joint, frame_about

Numbers = Float[np.ndarray, "..."]
_ALONG = (1.0, 0.0, 0.0)  # of rods and connecting rods


def led_connectors(mechanism: AbstractMechanism, joints: Sequence[Joint]) -> list[Joint]:
    """Connecting rods that are led, but for one hinge each.

    Of those that join the same rods, the first keeps its hinge at the first rod, whose spin it
    thus holds, and so on. The other rod's point lies on its long axis, x: two conditions, not five.
    """
    found, seen = {joint.name: joint for joint in joints}, []
    for connector in _connectors(mechanism):
        hinges = _at(joints, connector)
        rods = {_other(hinge, connector) for hinge in hinges}
        for k, hinge in enumerate(hinges):
            if k != seen.count(rods):
                rod = _other(hinge, connector)
                found[hinge.name] = Joint(
                    hinge.name,
                    "inline",
                    connector,
                    rod,
                    _point(hinge, connector),
                    _point(hinge, rod),
                    frame=frame_about(_ALONG),
                )
        seen.append(rods)
    return list(found.values())


def massless_rods(
    name: str, mechanism: AbstractMechanism, bodies: Sequence[Body], joints: Sequence[Joint]
) -> tuple[list[Body], list[Joint]]:
    """Rods as constant distances, their mass, and that of what joins them, at both ends."""
    moved = {body for joint in joints if joint.motor for body in (joint.parent, joint.child)}
    struts = [strut for strut in mechanism.struts if strut.body not in moved]
    if not struts:
        raise InputError(f"{name} has no rods that could be constant distances.")
    rods = {strut.body for strut in struts}
    gone = rods | set(_connectors(mechanism))
    ends = {joint.name: joint for joint in joints}
    tens = {body.name: np.array(body.ten, float) for body in bodies}
    kept = [joint for joint in joints if not gone & {joint.parent, joint.child}]
    for rod, upper, lower in struts:
        first, last = ends[upper], ends[lower]
        start, end = (_point(joint, rod)[0] for joint in (first, last))
        masses = [(tens[rod][0], tens[rod][1] / tens[rod][0])]
        for joint in _at(joints, rod):
            other = _other(joint, rod)
            if other in gone:
                masses.append((tens[other][0] / len(_at(joints, other)), _point(joint, rod)[0]))
        whole = sum(mass for mass, _ in masses)
        far = sum(mass * (along - start) for mass, along in masses) / (end - start)
        holders = [(_other(joint, rod), joint) for joint in (first, last)]
        points = [_point(joint, holder) for holder, joint in holders]
        for (holder, _), point, part in zip(holders, points, (whole - far, far), strict=True):
            tens[holder] += _point_mass(part, point)
        (above, _), (below, _) = holders
        kept.append(Joint(rod, "distance", above, below, *points, length=float(end - start)))
    return [
        body._replace(ten=tuple(tens[body.name])) for body in bodies if body.name not in gone
    ], kept


def _connectors(mechanism: AbstractMechanism) -> list[str]:
    """The bodies that join rods."""
    return [part.body for part in mechanism.parts if part.look == "connector"]


def _at(joints: Sequence[Joint], body: str) -> list[Joint]:
    return [joint for joint in joints if body in (joint.parent, joint.child)]


def _other(joint: Joint, body: str) -> str:
    return joint.child if body == joint.parent else joint.parent


def _point(joint: Joint, body: str) -> Numbers:
    """Where a joint is in one of its bodies [m]."""
    return np.asarray(joint.point if body == joint.parent else joint.child_point, float)


def _point_mass(m: float, at: Numbers) -> Numbers:
    """Ten parameters of a point mass."""
    x, y, z = at
    moments = (y * y + z * z, x * x + z * z, x * x + y * y, -x * y, -y * z, -x * z)
    return m * np.array([1.0, x, y, z, *moments])
