"""Closed-form dynamics of a Delta with thin rods and three axes: the fast path.

Letters are those of `kinematics/delta.py`; a' = da/dq. A rod whose mass lies on its line is
described, exactly, by three masses: m_b at the elbow, m_x at the platform, and m_c between
them (with m, mc and O about the elbow, of all rods of the limb together)

    m_x = O / d^2       m_c = mc / d - O / d^2       m_b = m - 2 mc / d + O / d^2      (1)

Deriving s.s = d^2 twice, with s = x + (r - R) u - L a and N = L s.a',

    qd = s.xd / N,    sd = xd - L a' qd,    qdd = (s.xdd + sd.sd + L qd^2 s.a) / N      (2)

The elbow accelerates by b = L (a' qdd - a qd^2). With everything seen from a frame that
falls freely (b - g, xdd - g), the forces at elbow and platform are

    f_b = m_b (b - g) + m_c (xdd - g)                                                  (3)
    f_x = sum_i [m_c (b - g) + m_x (xdd - g)] + m_P (xdd - g)                          (4)
    tau_i = O_A qdd - g.(mc_x a' + mc_z a) + L a'.f_b + t_i,   sum_i w_i t_i = f_x    (5)

where w_i = s_i / N_i = dq_i/dx, and O_A, mc are those of the arm about its axis; m_b can be
taken as part of the arm. Each limb is computed in its own axes.
Platform and payload do not turn: only their mass counts. From x no trigonometric function
is needed: cos q and sin q follow from the inverse kinematics, and N = L h with its root h.

Forward dynamics groups the same terms by xdd: M xdd + h = sum_i w_i tau_i with

    M = (m_P + sum m_x) 1 + sum_i [ (O_A + m_b L^2) w w' + m_c L (a' w' + w a'') ]     (6)

The closed form is used by handles (`handle.py`), where it pays: see `make bench`.
"""

import math
from typing import NamedTuple

import jax
import numpy as np
from jax.core import Tracer

from triskele.dynamics.robot import RigidRobot
from triskele.kinematics.delta import Delta
from triskele.numerics import Scalar, Scalars, safe_divide, safe_sqrt, solve
from triskele.spatial.vectors import (
    Triple,
    add,
    combine,
    cross,
    dot,
    minus,
    plus,
    rotation_z,
    scale,
    subtract,
    times,
)

_TINY = 1e-100  #: keeps a division finite where a wrist meets its motor
_THIN = 1e-12  #: moments off the line, relative to those along it, that count as none


class _Limb(NamedTuple):
    """Constants of a limb; plain numbers."""

    cos: float  #: of its azimuth
    sin: float
    reach: float  #: r - R
    L: float
    d: float
    m_c: float
    m_x: float
    O: float  #: of arm and rotor about the axis, with m_b at the elbow
    mc_x: float  #: of the arm, with m_b at the elbow
    mc_z: float
    g: Triple  #: gravity in the axes of the limb
    mode: int


class _Motion(NamedTuple):
    """One limb at a state, in its own axes u, v, k."""

    a: Triple
    a1: Triple  #: a'
    w: Triple  #: dq/dx
    qd: Scalar
    rest: Scalar  #: qdd = w.xdd + rest


class ThinDelta(NamedTuple):
    """A Delta with thin rods, as numbers."""

    limbs: tuple[_Limb, ...]
    m: float  #: of platform and payload, and m_x of all limbs
    g: Triple

    def inverse_dynamics(self, x: Scalars, xd: Scalars, xdd: Scalars) -> Scalars:
        """tau [N m] of (5)."""
        f_x = scale(self.m, subtract((xdd[0], xdd[1], xdd[2]), self.g))
        own, ways = [], []
        for limb in self.limbs:
            push = _seen(limb, xdd)
            motion = _motion(limb, x, xd)
            qdd = dot(motion.w, push) + motion.rest
            b = _elbow(limb, motion, qdd)
            f_x = add(f_x, _back(limb, scale(limb.m_c, b)))
            lifted = subtract(push, limb.g)
            own.append(_own(limb, motion, qdd) + limb.L * limb.m_c * dot(motion.a1, lifted))
            ways.append(_back(limb, motion.w))
        shares = _solve_columns(ways, f_x)
        return tuple(mine + share for mine, share in zip(own, shares, strict=True))

    def forward_dynamics(self, x: Scalars, xd: Scalars, tau: Scalars) -> Scalars:
        """xdd [m/s^2] of (6)."""
        M: list[list[Scalar]] = [[self.m if i == j else 0.0 for j in range(3)] for i in range(3)]
        push = scale(self.m, self.g)
        for limb, effort in zip(self.limbs, tau, strict=True):
            motion = _motion(limb, x, xd)
            b = _elbow(limb, motion, motion.rest)  # at xdd = 0
            own = _own(limb, motion, motion.rest)
            own = own - limb.L * limb.m_c * dot(motion.a1, limb.g)
            push = add(push, _back(limb, combine((effort - own, motion.w), (-limb.m_c, b))))
            w, a1 = _back(limb, motion.w), _back(limb, motion.a1)
            half = combine((limb.O / 2, w), (limb.m_c * limb.L, a1))
            for i in range(3):
                for j in range(i, 3):
                    M[i][j] = M[i][j] + half[i] * w[j] + w[i] * half[j]
        rows = tuple(tuple(M[min(i, j)][max(i, j)] for j in range(3)) for i in range(3))
        return solve(rows, push)


def _motion(limb: _Limb, x: Scalars, xd: Scalars) -> _Motion:
    """Inverse kinematics without angles, and (2) without its term in xdd."""
    s_u, s_v, s_k = _seen(limb, x)
    s_u = s_u + limb.reach
    square = s_u * s_u + s_k * s_k
    k = (square + (s_v * s_v + (limb.L**2 - limb.d**2))) * (0.5 / limb.L)
    h = limb.mode * safe_sqrt(square - k * k)
    part = 1 / (square + _TINY)
    cos, sin = (k * s_u - h * s_k) * part, -(h * s_u + k * s_k) * part
    a, a1 = (cos, 0.0, -sin), (-sin, 0.0, -cos)
    rod = (s_u - limb.L * cos, s_v, s_k + limb.L * sin)
    share = safe_divide(1.0, limb.L * h)  # N = L s.a' = L h
    w, speed = scale(share, rod), _seen(limb, xd)
    qd = dot(w, speed)
    sd = subtract(speed, scale(limb.L * qd, a1))
    rest = (dot(sd, sd) + limb.L * qd * qd * dot(rod, a)) * share
    return _Motion(a, a1, w, qd, rest)


def _elbow(limb: _Limb, motion: _Motion, qdd: Scalar) -> Triple:
    """b - g [m/s^2]."""
    turning = combine((limb.L * qdd, motion.a1), (-limb.L * motion.qd * motion.qd, motion.a))
    return subtract(turning, limb.g)


def _own(limb: _Limb, motion: _Motion, qdd: Scalar) -> Scalar:
    """Torque of the arm with m_b at its end [N m]; its first moment is mc_x a + mc_z z."""
    weight = limb.mc_x * dot(limb.g, motion.a1) + limb.mc_z * dot(limb.g, motion.a)
    return limb.O * qdd - weight


def _seen(limb: _Limb, vector: Scalars) -> Triple:
    """A vector in the axes of the limb."""
    x, y, z = vector[:3]
    c, s = limb.cos, limb.sin
    return plus(times(c, x), times(s, y)), minus(times(c, y), times(s, x)), z


def _back(limb: _Limb, vector: Triple) -> Triple:
    """A vector of the limb in the axes of O."""
    return rotation_z(limb.sin, limb.cos, vector)


def _solve_columns(columns: list[Triple], right: Triple) -> Scalars:
    """t with sum_i columns_i t_i = right, by cross products."""
    w1, w2, w3 = columns
    n1, n2, n3 = cross(w2, w3), cross(w3, w1), cross(w1, w2)
    volume = safe_divide(1.0, dot(w1, n1))
    return dot(n1, right) * volume, dot(n2, right) * volume, dot(n3, right) * volume


def of(robot: RigidRobot) -> ThinDelta | None:
    """The closed form of `robot`, or None where it would not be exact or is being traced."""
    delta = robot.mechanism
    if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(robot)):
        return None
    if not isinstance(delta, Delta) or delta.telescope is not None or delta.connector_offset:
        return None
    laws = (*robot.drive_friction, *robot.passive_friction, robot.ball_friction, *robot.springs)
    if any(law is not None for law in laws):
        return None
    bodies = dict(zip(delta.bodies, np.asarray(robot.theta), strict=True))
    rods = [[ten for name, ten in bodies.items() if name.startswith(f"rod_{i}")] for i in (1, 2, 3)]
    if not all(_thin(ten) for pair in rods for ten in pair):
        return None
    limbs = tuple(_limb(robot, delta, i, bodies[f"arm_{i + 1}"], rods[i]) for i in range(3))
    mass = bodies["platform"][0] + float(robot.payload[0]) + sum(limb.m_x for limb in limbs)
    gx, gy, gz = np.asarray(robot.gravity).tolist()
    return ThinDelta(limbs, float(mass), (gx, gy, gz))


def _thin(ten: np.ndarray) -> bool:
    """Whether all mass lies on the x axis: no other moment than mc_x and yy = zz."""
    my, mz, xx, yy, zz, xy, yz, xz = ten[2:]
    off = max(map(abs, (my, mz, xx, yy - zz, xy, yz, xz)))
    return bool(off <= _THIN * max(abs(yy), 1e-300))


def _limb(
    robot: RigidRobot, delta: Delta, i: int, arm: np.ndarray, rods: list[np.ndarray]
) -> _Limb:
    m, mc, O = (float(sum(ten[k] for ten in rods)) for k in (0, 1, 5))
    L, d = float(delta.arm_length[i]), float(delta.rod_length[i])
    m_b = m - 2 * mc / d + O / d**2
    azimuth = float(delta.azimuth[i])
    cos, sin = _snapped(math.cos(azimuth)), _snapped(math.sin(azimuth))
    gx, gy, gz = np.asarray(robot.gravity).tolist()
    return _Limb(
        cos=cos,
        sin=sin,
        reach=float(delta.platform_radius[i] - delta.base_radius[i]),
        L=L,
        d=d,
        m_c=mc / d - O / d**2,
        m_x=O / d**2,
        O=float(arm[5]) + float(robot.rotors[i]) + m_b * L * L,
        mc_x=float(arm[1]) + m_b * L,
        mc_z=float(arm[3]),
        g=(cos * gx + sin * gy, cos * gy - sin * gx, gz),
        mode=delta.working_mode[i],
    )


def _snapped(value: float) -> float:
    """`value`, and exactly 0 where it is rounding."""
    return 0.0 if abs(value) < 1e-16 else float(value)
