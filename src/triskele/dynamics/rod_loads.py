"""Loads of three pairs of rods under a level platform, in closed form, with flange and telescope.

That is a Delta with pairs of rods, on arms or on rails: what drives the pairs is not asked.

With the wrench (f, n) that moves each body, at the origin of its frame (`wrenches.py`), all
that the rods carry across their axis is known before any system is solved. A rod that hangs
in a universal joint at its elbow, which passes on a moment mu along e_p (the direction of the
rod in its limb plane), and in a ball at its wrist, takes at its lower end

    F = T e + ((n - mu e_p) x e) / d,        mu = n.e / (e_p.e)                        (1)

with the tension T, and f - F at its upper end. The telescope's bar t, of length l, hangs
in two cardans whose crosses pass on moments along c = x_yoke x y_bar. With the moment of both
parts about the upper one, n_T = n_U + n_L - l t x f_L, and lam c from the bar to the flange,

    lam = n_E.k / c.k,   D = t.n_T / c.t,   F_L = t x (n_T - D c) / l + t (t.f_L)       (2)

is the force on the bar at the lower cardan, and (lam + D) c.k the torque of motor 4. What
remains is the platform, turned about its centre by what its six rods carry,

    -sum T e = F_0 = f_P + f_E + F_L + sum F_lateral                                   (3)
    -sum T b x e = N_0 = n_P + n_E + b_L x F_L - lam c + sum b x F_lateral             (4)

The two rods of a limb are parallel: with S the sum and D the difference of their tensions,
m the middle and h half the distance of their balls, (3) and (4) are two systems of three,

    -sum S_i e_i = F_0,    -sum D_i h_i x e_i = N_0 + sum S_i m_i x e_i                 (5)

so that the six by six system of the exact model costs no more than two of three. The flange,
at height z_F, carries f_E + F_L and the moment of both about it. Everything is linear in W:
along a path, loads are affine in the path's acceleration and its squared speed.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from triskele.dynamics.inverse import moving_wrenches, path_cases
from triskele.dynamics.robot import RigidRobot
from triskele.dynamics.wrenches import (
    Frames,
    MotionState,
    as_force_and_moment,
    inertial_wrenches,
    motion_state,
    payload_wrench,
)
from triskele.errors import InputError
from triskele.kinematics.mechanism import AbstractMechanism, Joint
from triskele.numerics import Components, Scalar, Scalars, at_known, safe_divide, solve, transpose
from triskele.spatial.vectors import Frame, Triple, add, cross, dot, scale, subtract

_RODS = 6
_PARALLEL = 1e-9  # difference of the directions of two rods that count as parallel
Wrench = tuple[Triple, Triple]  #: force [N], and moment about the platform's centre [N m]


class RodLoads(NamedTuple):
    """Loads at one state; rods in the order of the bodies, 1a, 1b, 2a, ..."""

    lower: Scalars  #: tension at the wrist [N]
    upper: Scalars  #: tension at the elbow [N]
    lower_lateral: tuple[Triple, ...]  #: on the rod, across it, at the wrist [N]
    upper_lateral: tuple[Triple, ...]  #: at the elbow [N]
    flange_force: Triple  #: on what turns on the platform, or on the payload, in its axes [N]
    flange_moment: Triple  #: about the flange; tilting only, if it turns [N m]
    bar_force: Triple  #: on the telescope, at its lower cardan [N]; zero without one


class PathLoads(NamedTuple):
    """load = a sdd + b sd^2 + c at a point of a path x(s), friction left out."""

    a: RodLoads
    b: RodLoads
    c: RodLoads


class Layout(NamedTuple):
    """Joints and bodies of a mechanism that the closed form applies to; rods are in pairs."""

    elbows: tuple[Joint, ...]  #: the upper joint of each rod
    wrists: tuple[Joint, ...]  #: the lower one
    cardan: Joint | None = None  #: from what turns on the platform to the lower part of a telescope
    upper: str = ""  #: the upper part


def has_rod_loads(robot: RigidRobot) -> bool:
    """Whether the closed form applies: three pairs of parallel rods hold the platform."""
    mechanism, found = robot.mechanism, _layout(robot.mechanism)
    if found is None:
        return False
    home = mechanism.home()
    frames = mechanism.body_poses(mechanism.inverse(home).components, home)
    rods = np.array([frames[mechanism.bodies.index(w.child)].x for w in found.wrists], float)
    return np.allclose(rods[::2], rods[1::2], rtol=0, atol=_PARALLEL)


def layout_of(robot: RigidRobot) -> Layout:
    """What the closed form needs to know, or an error if it does not apply."""
    found = _layout(robot.mechanism)
    if found is None:
        raise InputError(
            "Rod loads in closed form need a platform that does not turn, on three pairs of rods, "
            "each rod in a universal joint above and a ball below."
        )
    return found


def _layout(mechanism: AbstractMechanism) -> Layout | None:
    joints, struts = mechanism.joints(), mechanism.struts
    named, rods = {joint.name: joint for joint in joints}, {strut.body for strut in struts}
    held = [joint for joint in joints if {joint.parent, joint.child} & rods]
    if len(struts) != _RODS or len(held) != 2 * _RODS or not _translates(mechanism):
        return None
    elbows = tuple(named[strut.upper] for strut in struts)
    wrists = tuple(named[strut.lower] for strut in struts)
    for strut, elbow, wrist in zip(struts, elbows, wrists, strict=True):
        if (elbow.kind, elbow.child) != ("universal", strut.body):
            return None
        if wrist[1:4] != ("spherical", mechanism.platform, strut.body):
            return None
    if any(a.parent != b.parent for a, b in zip(elbows[::2], elbows[1::2], strict=True)):
        return None
    found = Layout(elbows, wrists)
    return _with_telescope(mechanism, found) if mechanism.flange else found


def _translates(mechanism: AbstractMechanism) -> bool:
    """Whether the platform has three places for coordinates; one more turns its flange, if any."""
    names = tuple(coordinate.name for coordinate in mechanism.platform_coordinates)
    return names[:3] == ("x", "y", "z") and len(names) == (4 if mechanism.flange else 3)


def _with_telescope(mechanism: AbstractMechanism, found: Layout) -> Layout | None:
    """The layout with the telescope that turns the flange about z; None if something else does."""
    joints, carrier = mechanism.joints(), mechanism.carrier
    cardans = [j for j in joints if j.kind == "universal" and j.parent == carrier]
    slides = [j for j in joints if j.kind == "prismatic" and not j.driven]
    if len(cardans) != 1 or [slide.child for slide in slides] != [cardans[0].child]:
        return None
    return found._replace(cardan=cardans[0], upper=slides[0].parent)


@at_known
def rod_loads(robot: RigidRobot, x: Components, xd: Components, xdd: Components) -> RodLoads:
    """Loads of the platform motion `x`, `xd`, `xdd`, friction of passive joints included."""
    return rod_loads_at(robot, motion_state(robot.mechanism, x, xd, xdd))


def rod_loads_at(robot: RigidRobot, state: MotionState) -> RodLoads:
    """Loads at a state of motion."""
    carried = payload_wrench(robot, state.Tdd, robot.gravity_components())
    return _loads(robot, state.T, moving_wrenches(robot, state), carried)


@at_known
def path_loads(robot: RigidRobot, x: Components, x1: Components, x2: Components) -> PathLoads:
    """Coefficients of all loads at path position `x` with derivatives x' and x''."""
    state = motion_state(robot.mechanism, x, x1, x2)
    found = [
        _loads(robot, state.T, inertial_wrenches(robot, rate, g), payload_wrench(robot, rate, g))
        for rate, g in path_cases(robot, state)
    ]
    return PathLoads(*found)


def _loads(robot: RigidRobot, poses: Frames, wrenches: Frames, carried: Frame) -> RodLoads:
    """All loads, linear in `wrenches` and in that of the payload, `carried`."""
    bodies, layout = robot.mechanism.bodies, layout_of(robot)
    T = dict(zip(bodies, poses, strict=True))
    moves = {
        name: as_force_and_moment(T[name], W) for name, W in zip(bodies, wrenches, strict=True)
    }
    platform, wrists = robot.mechanism.platform, {joint.child: joint for joint in layout.wrists}
    lateral = {
        elbow.child: _lateral(elbow, wrists[elbow.child], T, moves[elbow.child][1])
        for elbow in layout.elbows
    }
    hanging, bar_force = _hanging(layout, T, moves)
    force, moment = (add(a, b) for a, b in zip(moves[platform], hanging, strict=True))
    for rod, joint in wrists.items():
        force = add(force, lateral[rod])
        moment = add(moment, cross(T[platform].turned(joint.point), lateral[rod]))
    lower = tensions(layout.wrists, T, force, moment)
    above = [
        subtract(subtract(moves[rod][0], lateral[rod]), scale(tension, T[rod].x))
        for rod, tension in zip(wrists, lower, strict=True)
    ]
    along = [dot(F, T[rod].x) for rod, F in zip(wrists, above, strict=True)]
    held = as_force_and_moment(T[platform], carried) if bar_force is None else hanging
    at_flange, about_flange = (_seen(T[platform], part) for part in held)
    lever = (0.0, 0.0, robot.flange_height)
    return RodLoads(
        lower,
        tuple(-share for share in along),
        tuple(lateral.values()),
        tuple(
            subtract(F, scale(share, T[rod].x))
            for rod, F, share in zip(wrists, above, along, strict=True)
        ),
        at_flange,
        subtract(about_flange, cross(lever, at_flange)),
        (0.0, 0.0, 0.0) if bar_force is None else bar_force,
    )


def _seen(frame: Frame, vector: Triple) -> Triple:
    """`vector` in the axes of a body."""
    return dot(frame.x, vector), dot(frame.y, vector), dot(frame.z, vector)


def _lateral(elbow: Joint, wrist: Joint, T: dict[str, Frame], n: Triple) -> Triple:
    """The part of (1) across a rod, whose frame stands at its elbow."""
    assert elbow.axis is not None and elbow.child_axis is not None, "a universal joint has two axes"
    rod = T[elbow.child]
    e_p = cross(T[elbow.parent].turned(elbow.axis), rod.turned(elbow.child_axis))
    mu = safe_divide(dot(n, rod.x), dot(e_p, rod.x))
    return scale(1 / wrist.child_point[0], cross(subtract(n, scale(mu, e_p)), rod.x))


def _hanging(
    layout: Layout, T: dict[str, Frame], moves: dict[str, Wrench]
) -> tuple[Wrench, Triple | None]:
    """What flange and telescope ask of the platform, and F_L of (2); nothing without them."""
    cardan = layout.cardan
    if cardan is None:
        return ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)), None
    assert cardan.axis is not None and cardan.child_axis is not None, "a cardan has two axes"
    upper, lower, flange = T[layout.upper], T[cardan.child], T[cardan.parent]
    t, span = upper.z, subtract(lower.p, upper.p)
    n_T = add(moves[layout.upper][1], moves[cardan.child][1])
    f_L = moves[cardan.child][0]
    n_T = add(n_T, cross(span, f_L))
    f_E, n_E = moves[cardan.parent]
    c = cross(flange.turned(cardan.axis), lower.turned(cardan.child_axis))
    lam = safe_divide(n_E[2], c[2])
    D = safe_divide(dot(t, n_T), dot(c, t))
    length = -dot(span, t)
    F_L = scale(1 / length, cross(t, subtract(n_T, scale(D, c))))
    F_L = add(F_L, scale(dot(t, f_L), t))
    lever = subtract(lower.p, flange.p)
    moment = subtract(add(n_E, cross(lever, F_L)), scale(lam, c))
    return (add(f_E, F_L), moment), F_L


def tensions(
    wrists: Sequence[Joint], T: dict[str, Frame], force: Triple, moment: Triple
) -> Scalars:
    """Tensions at the wrists by (5); wrists come in pairs."""
    pairs = list(zip(wrists[::2], wrists[1::2], strict=True))
    e = [T[first.child].x for first, _ in pairs]
    points = [[T[joint.parent].turned(joint.point) for joint in pair] for pair in pairs]
    middles = [scale(0.5, add(a, b)) for a, b in points]
    halves = [scale(0.5, subtract(b, a)) for a, b in points]
    sums = solve(transpose(tuple(e)), scale(-1.0, force))
    for S, m, axis in zip(sums, middles, e, strict=True):
        moment = add(moment, scale(S, cross(m, axis)))
    turns = tuple(cross(h, axis) for h, axis in zip(halves, e, strict=True))
    differences = solve(transpose(turns), scale(-1.0, moment))
    shares: list[Scalar] = []
    for S, D in zip(sums, differences, strict=True):
        shares += [(S - D) / 2, (S + D) / 2]
    return tuple(shares)
