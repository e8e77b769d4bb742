"""From the geometry of a file to a mechanism of limbs, checked: it closes, and nothing is loose."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from triskele.description.limbs import (
    LED,
    PLACES,
    TURNING,
    TURNS,
    LimbGeometry,
    LimbsGeometry,
)
from triskele.errors import DescriptionError, did_you_mean
from triskele.kinematics.bending import Axes
from triskele.kinematics.limbs import BRACKET, LINK, Limb, Limbs
from triskele.kinematics.mechanism import BUILT, MIRRORED, Joint, JointKind
from triskele.kinematics.mobility import check_mobility, degrees, joint_constraints
from triskele.kinematics.platforms import (
    AbstractPlatform,
    ArticulatedPlatform,
    LedPlatform,
    RigidPlatform,
)
from triskele.kinematics.telescope import bar
from triskele.kinematics.velocity import closure_jacobians
from triskele.numerics import Scalar
from triskele.spatial.vectors import Frame, Triple

_RIGHT = 1e-6  # cosine of what counts as a right angle
_NO_LENGTH, _ENDLESS = 1e-9, 1e6  # [m]
#: between which lengths a wrist can be from its motor, rail or foot, whatever its rod [m]
_SPANS = {"arm": (-1.0, _ENDLESS), "slide": (-1.0, _ENDLESS), "strut": (_NO_LENGTH, _ENDLESS)}
_STEP = 1e-6  # of difference quotients, in platform units
_DEPENDENT = 1e-6  # smallest singular value of motions that are no longer independent
_FORBIDDEN = 1e-5  # part of a motion that a limb does not let happen
_BODIES = {"arm": ("arm", "rod"), "slide": ("carriage", "rod"), "strut": ("cylinder", "piston")}
Numbers = NDArray[np.float64]


def limbs_of(name: str, geometry: LimbsGeometry, *, flexures: bool = False) -> Limbs:
    """The mechanism that `geometry` describes; `name` is that of the robot, for errors.

    With `flexures` the revolute and spherical joints of its rods bend.
    """
    frame = _platform(name, geometry)
    home = _coordinates(geometry, geometry.platform.home, geometry.platform.home_angles)
    turning = not frame.translating
    limbs = [limb for group in geometry.limbs for limb in _limbs(name, group, frame, home, turning)]
    modes = [mode for group in geometry.limbs for mode in _each(group.branch, len(group.around))]
    if any(limb.drive == "strut" and mode < 0 for limb, mode in zip(limbs, modes, strict=True)):
        raise DescriptionError(f"{name}, geometry.limbs: a strut has no branch -1.")
    bar = geometry.telescope
    heights = None if bar is None else (bar.upper_joint_height, bar.lower_joint_height)
    made = Limbs(
        frame=frame,
        limbs=tuple(limbs),
        rest=home,
        start=home,
        telescope=None if heights is None else np.asarray(heights, float),
        carried_by=geometry.platform.carried_by or "",
        working_mode=tuple(modes),
    )
    _check_bodies(name, made)
    _check_tilting(name, made)
    with np.errstate(all="ignore"):  # lengths beyond all measure do not close
        _check_closed(name, made)
    _check_coordinates(name, made)
    made = dataclasses.replace(made, limbs=tuple(_at_rest(made, flexures)))
    _check_limbs(name, made)
    made = dataclasses.replace(made, side=_side(made, home))
    made = dataclasses.replace(made, named=dict(_assemblies(name, geometry, made)))
    check_mobility(name, made)
    return made


def _side(made: Limbs, x: Numbers) -> int:
    """Sign of det(dc/dx) at `x`."""
    A, _ = closure_jacobians(made, made.inverse(x).components, tuple(x))
    return 1 if np.linalg.det(np.array(A, float)) > 0 else -1


def _assemblies(
    name: str, geometry: LimbsGeometry, made: Limbs
) -> Iterator[tuple[str, tuple[Numbers, int]]]:
    """Start and side of the other assemblies that the file names."""
    given = geometry.platform.assemblies
    if given and tuple(made.assemblies()) != (BUILT,):
        raise DescriptionError(
            f"{name}, geometry.platform.assemblies: this platform has two, {BUILT} and {MIRRORED}; "
            "they need no poses."
        )
    for key, pose in given.items():
        x = _coordinates(geometry, pose.home, pose.home_angles)
        if key == BUILT or not float(np.asarray(made.inverse(x).margin)) > 0:
            why = "that is the one of home" if key == BUILT else "a limb cannot close there"
            raise DescriptionError(f"{name}, geometry.platform.assemblies.{key}: {why}.")
        yield key, (x, _side(made, x))


def _coordinates(geometry: LimbsGeometry, place: Triple, turn: Triple) -> Numbers:
    """Platform coordinates of a pose in the file."""
    names = geometry.platform.coordinates
    if names == LED:
        return np.array([place[2], turn[0], turn[1]])
    known = dict(zip((*PLACES, *TURNS, TURNING), (*place, *turn, turn[2]), strict=True))
    return np.array([known[name] for name in names])


def _platform(name: str, geometry: LimbsGeometry) -> AbstractPlatform:
    """What the limbs end on."""
    given = geometry.platform
    if given.coordinates == LED:
        corners = [corner for group in geometry.limbs for corner in _corners(name, group)]
        azimuth, radius = (np.array(part, float) for part in zip(*corners, strict=True))
        if np.ptp(np.sin(2 * azimuth)) + np.ptp(np.cos(2 * azimuth)) < _RIGHT:
            raise DescriptionError(f"{name}, geometry.limbs.around: all legs lie in one plane.")
        return LedPlatform(azimuth, radius)
    if given.half is not None and given.link is not None:
        return ArticulatedPlatform(_triple(given.half), _triple(given.link))
    free = tuple(name for name in given.coordinates if name != TURNING)
    return RigidPlatform(tuple(map(_scalar, (*given.home, *given.home_angles))), free)


def _corners(name: str, group: LimbGeometry) -> Iterator[tuple[float, float]]:
    """Azimuth and radius of the wrists of legs in vertical planes."""
    radial, tangential, up = group.end
    if tangential or up or radial <= 0 or group.end_around is not None:
        raise DescriptionError(
            f"{name}, geometry.limbs.end: with the coordinates z, psi, theta a wrist lies in the "
            "plane of its leg and of the platform: radial, above 0, the rest 0, and no end_around."
        )
    for azimuth in group.around:
        yield azimuth, radial


def _each(values: tuple, count: int) -> tuple:
    """One value for all, or one each."""
    return values * count if len(values) == 1 else values


def _usual_lower(group: LimbGeometry, turning: bool) -> JointKind:
    """The joint at the platform where the file names none."""
    single = group.rod_spacing is None and group.drive != "strut"
    if single and not turning and group.upper == "universal":
        return "universal"
    return "revolute" if group.upper == "revolute" and not turning else "spherical"


def _limbs(
    name: str, group: LimbGeometry, frame: AbstractPlatform, home: Numbers, turning: bool
) -> Iterator[Limb]:
    """The limbs of a table."""
    count = len(group.around)
    bodies = group.bodies or _BODIES[group.drive]
    lower = group.lower or _usual_lower(group, turning)
    known = {part.body for part in frame.parts}
    g, h = group.across, group.rail or group.across
    if group.drive == "arm":
        g, h = group.axis or (0.0, 1.0, 0.0), group.zero
    if group.drive != "strut" and abs(np.dot(g, h)) > _RIGHT:
        what = "zero and axis" if group.drive == "arm" else "rail and across"
        raise DescriptionError(
            f"{name}, geometry.limbs: {what} of a limb with drive = {group.drive!r} are not at a "
            "right angle."
        )
    columns = (group.around, group.end_around or group.around, group.part,
               group.arm_length or (1.0,), group.rod_length or (1.0,))  # fmt: skip
    spacing = group.rod_spacing or (0.0,)
    columns += spacing, group.rod_length_b or (None,), group.end_spacing or (None,)
    rows = zip(*(_each(column, count) for column in columns), strict=True)
    for azimuth, end_azimuth, part, L, d, w, d_b, w_b in rows:
        if part not in known:
            raise DescriptionError(
                f"{name}, geometry.limbs.part: '{part}' is no part of the platform; it has "
                f"{', '.join(sorted(known))}."
            )
        aside = _turned(group.pair or g, azimuth)
        yield Limb(
            base=_turned(group.base, azimuth),
            axis=_turned(g, azimuth),
            along=_turned(h, azimuth),
            end=_turned(group.end, end_azimuth),
            size=np.asarray(L, float) if group.drive == "arm" else 1.0,
            length=np.asarray(d, float),
            middle=0.0,
            spacing=np.asarray(w, float) if w else None,
            aside=aside,
            level=None if group.level is None else _turned(group.level, azimuth),
            foot_rest=None,
            ball_rest=None,
            bent_rest=None,
            second=None if d_b is None else np.asarray(d_b, float),
            across=None if w_b is None else _triple(w_b * np.array(aside, float)),
            drive=group.drive,
            part=part,
            bodies=bodies,
            elbow=group.upper,
            wrist=lower,
        )


def _at_rest(made: Limbs, flexures: bool) -> Iterator[Limb]:
    """The limbs with what they have at home: lengths of struts, directions at both ends."""
    home = tuple(made.rest)
    frames = _part_frames(made, home)
    q = made.inverse(home).components
    for i, (limb, angle) in enumerate(zip(made.limbs, q, strict=False), 1):
        frame = frames[limb.part]
        R = np.array([frame.x, frame.y, frame.z], float)  # rows: axes of the part
        s = np.array(frame.at(limb.end), float) - np.array(limb.tip(angle), float)
        e = s / np.linalg.norm(s)
        changes: dict = {}
        if limb.drive == "arm" and abs(angle) > np.pi / 2:
            changes["middle"] = np.asarray(angle, float)
        if limb.drive == "strut":
            changes["length"] = np.asarray(np.linalg.norm(s))
            changes["foot_rest"] = _triple(e)
        if limb.wrist == "spherical" and not made.frame.translating:
            changes["ball_rest"] = _triple(R @ e)
        if flexures:
            spans = limb.spans(_triple(s), frame)
            changes["bent_rest"] = tuple(_bent_rest(limb, angle, R, span) for span, _ in spans)
        if made.carried_by == f"{limb.bodies[1]}_{i}":
            changes["wrist"] = "fixed"
        yield dataclasses.replace(limb, **changes)


def _bent_rest(limb: Limb, angle: Scalar, R: Numbers, span: Triple) -> tuple[Triple, Axes]:
    """Directions of a rod from elbow to wrist in what it hangs in, and of its axes in R."""
    e = np.array(span, float) / np.linalg.norm(np.array(span, float))
    holder, rod = limb.holder(angle), limb.rod(_triple(e))
    upper = np.array([holder.x, holder.y, holder.z], float) @ e
    y, z, x = (_triple(R @ np.array(axis, float)) for axis in (rod.y, rod.z, rod.x))
    return _triple(upper), (y, z, x)


def _check_bodies(name: str, made: Limbs) -> None:
    """Each body has a name of its own, as has each part; the rod that is the platform exists."""
    parts = [part.part for part in made.frame.parts]
    for limb in made.limbs:
        taken = [part for part in limb.bodies if part in ("base", LINK, BRACKET, *parts)]
        taken += limb.bodies[:1] if limb.bodies[0] == limb.bodies[1] else ()
        if taken:
            raise DescriptionError(
                f"{name}, geometry.limbs.bodies: '{taken[0]}' is the name of another body; what a "
                "limb consists of has two names of its own."
            )
    names = list(made.bodies)
    twice = next((body for body in names if names.count(body) > 1), None)
    if twice is not None:
        raise DescriptionError(f"{name}, geometry.limbs.bodies: two bodies are called '{twice}'.")
    rods = [part.body for part in made.parts if part.look in ("rod", "inner")]
    if made.carried_by and made.carried_by not in rods:
        raise DescriptionError(
            f"{name}, geometry.platform.carried_by: there is no '{made.carried_by}'. "
            f"{did_you_mean(made.carried_by, rods)}"
        )


def _check_tilting(name: str, made: Limbs) -> None:
    """Only three pairs of rods that end in balls let a platform tilt that has three coordinates."""
    limbs = made.limbs
    if not made.tilting:
        return
    places = tuple(coordinate.name for coordinate in made.platform_coordinates) == PLACES
    wrong = next((i for i, limb in enumerate(limbs, 1) if limb.spacing is None), None)
    joints = {(limb.elbow, limb.wrist) for limb in limbs}
    what = (
        "this platform has other coordinates"
        if not places
        else f"limb {wrong} has one rod"
        if wrong is not None
        else "these hang in other joints"
        if joints != {("universal", "spherical")}
        else "one of them carries the tool"
        if made.carried_by
        else None
    )
    if what is not None:
        raise DescriptionError(
            f"{name}, geometry.limbs: a pair of unequal rods (rod_length_b, end_spacing) needs a "
            "platform with the coordinates x, y, z on three pairs of rods, each in a universal "
            f"joint above and a ball below; {what}."
        )


def _check_closed(name: str, made: Limbs) -> None:
    """Each limb reaches the platform at home."""
    home = tuple(made.rest)
    solution = made.inverse(home)
    frames = _part_frames(made, home)
    for i, (limb, margin) in enumerate(zip(made.limbs, solution.margins, strict=False), 1):
        s = np.array(frames[limb.part].at(limb.end), float) - np.array(limb.base, float)
        h = np.array(limb.along, float)
        far, aside = np.linalg.norm(s), np.linalg.norm(s - (s @ h) * h)
        least, most = _SPANS[limb.drive]
        if float(margin) > 0 and least < far < most:
            continue
        what = {
            "arm": f"arm ({_mm(limb.size)}) and rod ({_mm(limb.length)}) do not span the "
            f"{_mm(far)} from its motor to its wrist",
            "slide": f"its rod ({_mm(limb.length)}) is shorter than the distance of its wrist from "
            f"the rail ({_mm(aside)})"
            if far < most
            else f"its wrist is {_mm(far)} from `base`, the point of its rail; no robot is larger "
            f"than {_mm(most)}",
            "strut": "its foot and its wrist are at one place"
            if far < 1
            else f"its foot and its wrist are {_mm(far)} apart",
        }[limb.drive]
        raise DescriptionError(f"{name}, geometry: limb {i} cannot close at home: {what}.")
    if made.tilting and not float(solution.margins[-1]) > 0:
        raise DescriptionError(
            f"{name}, geometry: the six rods cannot close at home, however the platform turns; "
            "compare rod_length with rod_length_b, and rod_spacing with end_spacing."
        )
    if made.telescope is not None and not bar(made.telescope, home)[1] > _NO_LENGTH:
        raise DescriptionError(
            f"{name}, geometry.telescope: both its joints are at one place at home; a telescope "
            "has a length."
        )


def _check_coordinates(name: str, made: Limbs) -> None:
    """At home each coordinate moves the platform as no combination of the others does."""
    size = max(float(np.asarray(loop)) for loop in made.scales().loops)
    motions = np.array(_motions(made, size))
    motions /= np.linalg.norm(motions, axis=1)[:, None]
    rows, values, _ = np.linalg.svd(motions)
    if values[-1] > _DEPENDENT:
        return
    names = [c.name for c in made.frame.coordinates]
    same = [key for key, share in zip(names, rows[:, -1], strict=True) if abs(share) > 0.1]
    raise DescriptionError(
        f"{name}, geometry.platform: at home the coordinates {' and '.join(same)} move the "
        "platform in the same way; with R = Rz(c) Ry(b) Rx(a) they do where b is 90 deg. Choose "
        "another home, or turn the axes of the platform."
    )


def _mm(length: Any) -> str:  # noqa: ANN401
    return f"{1e3 * float(length):.4g} mm"


# What a limb lets happen


def _check_limbs(name: str, made: Limbs) -> None:
    """Each limb lets the platform move in each of its coordinates."""
    home = tuple(made.rest)
    q = made.inverse(home).components
    parts = [part.body for part in made.frame.parts]
    size = max(float(np.asarray(loop)) for loop in made.scales().loops)
    motions = _motions(made, size)
    for i, joints in enumerate(_chains(made), 1):
        C = joint_constraints(made, q, home, (*joints, *made.frame.joints()))
        columns = C.reshape(len(C), -1, 6)
        held = [made.bodies.index(part) for part in parts]
        free = [k for k in range(len(made.bodies)) if k not in held]
        inner = columns[:, free].reshape(len(C), -1)
        # what the bodies of the limb cannot follow
        left = np.eye(len(C)) - inner @ np.linalg.pinv(inner)
        wrench = left @ columns[:, held].reshape(len(C), -1)
        for coordinate, motion in zip(made.frame.coordinates, motions, strict=True):
            if np.abs(wrench @ motion).max() > _FORBIDDEN * np.abs(motion).max():
                leaves = 6 * len(held) - int(np.linalg.matrix_rank(wrench, _FORBIDDEN))
                raise DescriptionError(
                    f"{name}, geometry: limb {i} forbids the coordinate {coordinate.name}: it "
                    f"leaves the platform {degrees(leaves)}, none of them a motion in "
                    f"{coordinate.name}."
                )


def _chains(made: Limbs) -> Iterator[list[Joint]]:
    """The joints of each limb: those that are reached from its drive without the platform."""
    ends = {"base", *(part.body for part in made.frame.parts)}
    joints = made.joints()
    for drive, _ in zip(joints, made.limbs, strict=False):
        chain, bodies = [drive], {drive.parent, drive.child} - ends
        for _ in joints:
            chain = [joint for joint in joints if {joint.parent, joint.child} & bodies]
            bodies |= {body for joint in chain for body in (joint.parent, joint.child)} - ends
        yield chain


def _motions(made: Limbs, size: float) -> list[Numbers]:
    """Twists of the platform's parts per unit of each coordinate at home; lengths by `size`."""
    home = np.array(made.rest, float)
    found = []
    for k in range(len(made.frame.coordinates)):
        ahead, behind = (
            _part_frames(made, tuple(home + sign * _STEP * np.eye(len(home))[k]))
            for sign in (1, -1)
        )
        twists = []
        for part in ahead:
            (R1, p1), (R0, p0) = (
                (np.array([f.x, f.y, f.z], float).T, np.array(f.p, float))
                for f in (ahead[part], behind[part])
            )
            W = (R1 @ R0.T - R0 @ R1.T) / 2
            twists += [*(p1 - p0) / size, W[2, 1], W[0, 2], W[1, 0]]
        found.append(np.array(twists) / (2 * _STEP))
    return found


def _part_frames(made: Limbs, x: tuple[float, ...]) -> dict[str, Frame]:
    """Poses of what the limbs end on."""
    found = made.platform_frames(x)
    if made.carried_by:
        found[made.platform] = made.platform_pose(x)
    return found


# Vectors


def _turned(vector: Triple, azimuth: float) -> Triple:
    """A vector in radial, tangential and upward direction at `azimuth`, in O."""
    s, c = np.sin(azimuth), np.cos(azimuth)
    radial, tangential, up = vector
    return _triple((c * radial - s * tangential, s * radial + c * tangential, up))


def _triple(vector: Triple | Numbers) -> Triple:
    x, y, z = (_scalar(value) for value in vector)
    return x, y, z


def _scalar(value: Any) -> float | Numbers:  # noqa: ANN401
    """A number of the robot; 0.0, which is one by structure, stays plain."""
    return 0.0 if abs(value) < 1e-15 else np.asarray(value, float)
