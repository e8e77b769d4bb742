"""Loads of a Delta with pairs of rods, in closed form: rods, flange and telescope.

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

from typing import NamedTuple

from triskele.dynamics.inverse import moving_wrenches, path_cases
from triskele.dynamics.robot import RigidRobot
from triskele.dynamics.wrenches import (
    Frames,
    as_force_and_moment,
    inertial_wrenches,
    motion_state,
    payload_wrench,
)
from triskele.errors import InputError
from triskele.kinematics.delta import Delta
from triskele.kinematics.mechanism import Joint
from triskele.numerics import Components, Scalar, Scalars, safe_divide, solve, transpose
from triskele.spatial.vectors import Frame, Triple, add, cross, dot, scale, subtract

Wrench = tuple[Triple, Triple]  #: force [N], and moment about the platform's centre [N m]


class RodLoads(NamedTuple):
    """Loads at one state; rods in the order of the bodies, 1a, 1b, 2a, ..."""

    lower: Scalars  #: tension at the wrist [N]
    upper: Scalars  #: tension at the elbow [N]
    lower_lateral: tuple[Triple, ...]  #: on the rod, across it, at the wrist [N]
    upper_lateral: tuple[Triple, ...]  #: at the elbow [N]
    flange_force: Triple  #: on what turns on the platform, or on the payload [N]
    flange_moment: Triple  #: about the flange; tilting only, if it turns [N m]
    bar_force: Triple  #: on the telescope, at its lower cardan [N]; zero without one


class PathLoads(NamedTuple):
    """load = a sdd + b sd^2 + c at a point of a path x(s), friction left out."""

    a: RodLoads
    b: RodLoads
    c: RodLoads


def has_rod_loads(robot: RigidRobot) -> bool:
    """Whether the closed form applies: pairs of rods without connecting rods."""
    delta = robot.mechanism
    return isinstance(delta, Delta) and (
        delta.rod_spacing is not None and delta.connector_offset is None
    )


def rod_loads(robot: RigidRobot, x: Components, xd: Components, xdd: Components) -> RodLoads:
    """Loads of the platform motion `x`, `xd`, `xdd`, friction of passive joints included."""
    state = motion_state(paired(robot), x, xd, xdd)
    carried = payload_wrench(robot, state.Tdd, robot.gravity_components())
    return _loads(robot, state.T, moving_wrenches(robot, state), carried)


def path_loads(robot: RigidRobot, x: Components, x1: Components, x2: Components) -> PathLoads:
    """Coefficients of all loads at path position `x` with derivatives x' and x''."""
    state = motion_state(paired(robot), x, x1, x2)
    found = [
        _loads(robot, state.T, inertial_wrenches(robot, rate, g), payload_wrench(robot, rate, g))
        for rate, g in path_cases(robot, state)
    ]
    return PathLoads(*found)


def paired(robot: RigidRobot) -> Delta:
    """The mechanism of `robot`, or an error if the closed form does not apply."""
    delta = robot.mechanism
    if not isinstance(delta, Delta) or not has_rod_loads(robot):
        raise InputError("Rod loads in closed form need a Delta with pairs of rods, unconnected.")
    return delta


def _loads(robot: RigidRobot, poses: Frames, wrenches: Frames, carried: Frame) -> RodLoads:
    """All loads, linear in `wrenches` and in that of the payload, `carried`."""
    bodies = robot.mechanism.bodies
    T = dict(zip(bodies, poses, strict=True))
    moves = {
        name: as_force_and_moment(T[name], W) for name, W in zip(bodies, wrenches, strict=True)
    }
    wrists = wrists_of(robot)
    lateral = {rod: _lateral(joint, T[rod], moves[rod][1]) for rod, joint in wrists.items()}
    hanging, bar_force = _hanging(robot, T, moves)
    force, moment = (add(a, b) for a, b in zip(moves["platform"], hanging, strict=True))
    for rod, joint in wrists.items():
        force = add(force, lateral[rod])
        moment = add(moment, cross(joint.point, lateral[rod]))
    lower = tensions(list(wrists.values()), T, force, moment)
    above = [
        subtract(subtract(moves[rod][0], lateral[rod]), scale(tension, T[rod].x))
        for rod, tension in zip(wrists, lower, strict=True)
    ]
    along = [dot(F, T[rod].x) for rod, F in zip(wrists, above, strict=True)]
    held = as_force_and_moment(T["platform"], carried) if bar_force is None else hanging
    lever = (0.0, 0.0, robot.flange_height)
    return RodLoads(
        lower,
        tuple(-share for share in along),
        tuple(lateral.values()),
        tuple(
            subtract(F, scale(share, T[rod].x))
            for rod, F, share in zip(wrists, above, along, strict=True)
        ),
        held[0],
        subtract(held[1], cross(lever, held[0])),
        (0.0, 0.0, 0.0) if bar_force is None else bar_force,
    )


def wrists_of(robot: RigidRobot) -> dict[str, Joint]:
    """The lower joint of each rod, by the name of the rod."""
    joints = robot.mechanism.joints()
    return {joint.child: joint for joint in joints if joint.name.startswith("wrist")}


def _lateral(wrist: Joint, rod: Frame, n: Triple) -> Triple:
    """The part of (1) across the rod; `wrist` has its length, and v as its axis."""
    assert wrist.axis is not None, "the wrist of a pair knows its limb"
    e_p = cross(wrist.axis, rod.z)
    mu = safe_divide(dot(n, rod.x), dot(e_p, rod.x))
    return scale(1 / wrist.child_point[0], cross(subtract(n, scale(mu, e_p)), rod.x))


def _hanging(
    robot: RigidRobot, T: dict[str, Frame], moves: dict[str, Wrench]
) -> tuple[Wrench, Triple | None]:
    """What flange and telescope ask of the platform, and F_L of (2); nothing without them."""
    nothing: Wrench = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    if "telescope_upper" not in T:
        return nothing, None
    upper, lower, flange = (
        T[name] for name in ("telescope_upper", "telescope_lower", robot.carrier)
    )
    t, span = upper.z, subtract(lower.p, upper.p)
    n_T = add(moves["telescope_upper"][1], moves["telescope_lower"][1])
    f_L = moves["telescope_lower"][0]
    n_T = add(n_T, cross(span, f_L))
    f_E, n_E = moves[robot.carrier]
    c = cross(flange.x, upper.y)
    lam = safe_divide(n_E[2], c[2])
    D = safe_divide(dot(t, n_T), dot(c, t))
    length = -dot(span, t)
    F_L = scale(1 / length, cross(t, subtract(n_T, scale(D, c))))
    F_L = add(F_L, scale(dot(t, f_L), t))
    lever = subtract(lower.p, flange.p)
    moment = subtract(add(n_E, cross(lever, F_L)), scale(lam, c))
    return (add(f_E, F_L), moment), F_L


def tensions(wrists: list[Joint], T: dict[str, Frame], force: Triple, moment: Triple) -> Scalars:
    """Tensions at the wrists by (5); wrists come in pairs."""
    pairs = list(zip(wrists[::2], wrists[1::2], strict=True))
    e = [T[first.child].x for first, _ in pairs]
    middles = [scale(0.5, add(a.point, b.point)) for a, b in pairs]
    halves = [scale(0.5, subtract(b.point, a.point)) for a, b in pairs]
    sums = solve(transpose(tuple(e)), scale(-1.0, force))
    for S, m, axis in zip(sums, middles, e, strict=True):
        moment = add(moment, scale(S, cross(m, axis)))
    turns = tuple(cross(h, axis) for h, axis in zip(halves, e, strict=True))
    differences = solve(transpose(turns), scale(-1.0, moment))
    shares: list[Scalar] = []
    for S, D in zip(sums, differences, strict=True):
        shares += [(S - D) / 2, (S + D) / 2]
    return tuple(shares)
