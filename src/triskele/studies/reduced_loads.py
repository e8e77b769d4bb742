"""The reduced load model of Gnad et al. (21 unknowns), for comparison with the exact one.

Rods carry tension only; platform, lower telescope and end effector are what hangs on them,
and the telescope's own rotation is left out. In the letters of `rod_loads.py`,

    end effector   F_E = m_E (a_E - g),  N_E = moment of F_E about the flange           (1)
    platform       -sum T e = (m_P + m_L) (xdd - g) + F_E                               (2)
                   -sum T (b - c_P) x e = (z_F - c_P) x F_E + N_E                       (3)
    rods           T_upper = T - m_S e.(a_S - g)                                        (4)
    arms           tau = O qdd - g.(weight) - sum T_upper L e.a'                        (5)

Dropping the lateral reactions of six rods and the telescope's inertia costs up to 14 N and
4.6 N m on a fast U-turn (13 %): use `rod_loads` for anything but comparison.

Reference: Gnad, Gattringer, Mueller, Hoebarth, Riepl, Messner, Robotics and Autonomous Systems,
equations 13 to 31, with the misprints that the exact model shows corrected (each rod has its
own ball, the centripetal acceleration of a rod counts, arms have weight).
"""

from typing import NamedTuple

from triskele.dynamics.robot import RigidRobot
from triskele.dynamics.rod_loads import layout_of, tensions
from triskele.dynamics.wrenches import Frames, motion_state
from triskele.errors import InputError
from triskele.kinematics.delta import Delta
from triskele.numerics import Components, Scalar, Scalars, safe_divide
from triskele.spatial.vectors import Frame, Triple, add, combine, cross, dot, scale, subtract


class ReducedLoads(NamedTuple):
    """What the reduced model knows at one state."""

    lower: Scalars  #: tension of each rod at the wrist [N]
    upper: Scalars  #: at the elbow [N]
    flange_force: Triple  #: on the end effector, in its axes [N]
    flange_moment: Triple  #: tilting moment about the flange, in its axes [N m]
    flange_torque: Scalar  #: about the axis of the flange [N m]
    tau: Scalars  #: of the arms, without friction [N m]


class _Body(NamedTuple):
    """A body at a state: mass, centre of mass and the force that accelerates it."""

    centre: Triple  #: [m], in O
    force: Triple  #: m (a - g) [N]


def reduced_loads(
    robot: RigidRobot, x: Components, xd: Components, xdd: Components
) -> ReducedLoads:
    """Loads by (1) to (5) for the platform motion `x`, `xd`, `xdd`."""
    delta, wrists = robot.mechanism, layout_of(robot).wrists
    if not isinstance(delta, Delta):
        raise InputError("The reduced model of loads is that of a Delta with pairs of rods.")
    state = motion_state(delta, x, xd, xdd)
    T = dict(zip(delta.bodies, state.T, strict=True))
    bodies = _bodies(robot, state.T, state.Tdd)
    ten = dict(zip(delta.bodies, robot.inertias(), strict=True))
    centre, flange = T["platform"].p, (0.0, 0.0, robot.flange_height)
    turning = "end_effector" in T
    F_E, N_E = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    if turning:
        F_E = bodies["end_effector"].force
        about = subtract(bodies["end_effector"].centre, add(centre, flange))
        N_E = cross(about, F_E)
    force = add(bodies["platform"].force, F_E)
    if "telescope_lower" in T:
        hung = subtract((xdd[0], xdd[1], xdd[2]), robot.gravity_components())
        force = add(force, scale(ten["telescope_lower"][0], hung))
    c_P = subtract(bodies["platform"].centre, centre)
    tilting = add(N_E, cross(flange, F_E))  # about the platform's centre
    tilting = add(tilting, cross(c_P, subtract(force, F_E)))  # what hangs in c_P
    rods = [joint.child for joint in wrists]
    lower = tensions(wrists, T, force, (tilting[0], tilting[1], 0.0))
    upper = tuple(
        pull - dot(T[rod].x, bodies[rod].force) for rod, pull in zip(rods, lower, strict=True)
    )
    axes = T[robot.carrier]
    return ReducedLoads(
        lower,
        upper,
        _seen(axes, F_E),
        _seen(axes, (N_E[0], N_E[1], 0.0)),
        ten["end_effector"][6] * xdd[3] if turning else 0.0,
        _arms(robot, T, state.qdd, rods, upper),
    )


def _bodies(robot: RigidRobot, poses: Frames, accelerations: Frames) -> dict[str, _Body]:
    """Where each body's mass is, and what accelerates it."""
    found, g = {}, robot.gravity_components()
    rows = zip(robot.mechanism.bodies, robot.inertias(), poses, accelerations, strict=True)
    for name, (m, *mc, _, _, _, _, _, _), T, Tdd in rows:
        terms = ((mc[0], "x"), (mc[1], "y"), (mc[2], "z"))
        force = combine(
            (m, subtract(Tdd.p, g)), *((moment, getattr(Tdd, axis)) for moment, axis in terms)
        )
        first = combine(*((moment, getattr(T, axis)) for moment, axis in terms))
        found[name] = _Body(_divided(T, first, m), force)
    return found


def _divided(T: Frame, first: Triple, m: Scalar) -> Triple:
    """The centre of mass, or the frame's origin for a body without mass."""
    return add(T.p, (safe_divide(first[0], m), safe_divide(first[1], m), safe_divide(first[2], m)))


def _arms(
    robot: RigidRobot, T: dict[str, Frame], qdd: Scalars, rods: list[str], upper: Scalars
) -> Scalars:
    """Equation (5): each arm turns under its weight, two rods and the motor."""
    g, efforts = robot.gravity_components(), []
    ten = dict(zip(robot.mechanism.bodies, robot.inertias(), strict=True))
    elbows = {j.child: j.point for j in robot.mechanism.joints() if j.name.startswith("elbow")}
    for i in range(3):
        arm, (_, mx, _, mz, _, O, *_) = T[f"arm_{i + 1}"], ten[f"arm_{i + 1}"]
        down = scale(-1.0, arm.z)  # a' = da/dq
        effort = (O + robot.rotors[i]) * qdd[i] - dot(g, combine((mx, down), (mz, arm.x)))
        for rod, pull in zip(rods[2 * i : 2 * i + 2], upper[2 * i : 2 * i + 2], strict=True):
            effort = effort - pull * elbows[rod][0] * dot(T[rod].x, down)
        efforts.append(effort)
    return tuple(efforts)


def _seen(axes: Frame, vector: Triple) -> Triple:
    """`vector` in the axes of a body."""
    return dot(axes.x, vector), dot(axes.y, vector), dot(axes.z, vector)
