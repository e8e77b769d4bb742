"""Closed-form dynamics of a Delta with thin rods and three axes: a derivation of its own.

Letters are those of `kinematics/delta.py`; a' = da/dq. A rod whose mass lies on its line is
described, exactly, by three masses: m_b at the elbow, m_x at the platform, and m_c between
them (with m, mc and O about the elbow, of all rods of the limb together)

    m_x = O / d^2       m_c = mc / d - O / d^2       m_b = m - 2 mc / d + O / d^2      (1)

With p = x + (r - R) u, the wrist seen from the motor, s = p - L a and s.s = d^2 give, without
any trigonometric function, K = L p.a, H = L s.a', C = L cos q and S = L sin q:

    K = (p.p + L^2 - d^2) / 2         H^2 = L^2 (p_u^2 + p_k^2) - K^2
    C = (K p_u - H p_k) / (p_u^2 + p_k^2)     S = -(H p_u + K p_k) / (p_u^2 + p_k^2)   (2)

and s.s = d^2, derived twice in time,

    H qd = s.xd        H qdd = s.xdd + xd.xd + 2 qd (S xd_u + C xd_k) + K qd^2          (3)

The elbow accelerates by b = L a' qdd - L a qd^2, where L a = C u - S k, L a' = -S u - C k.
Forces at the platform, and torques, are then, by virtual power,

    f = m_P (xdd - g) + sum_i [ m_c (b - g) + m_x (xdd - g) ]                          (4)
    tau = (O_A + m_b L^2) qdd - (mc_x / L + m_b) g.L a' - (mc_z / L) g.L a
          + m_c L a'.(xdd - g) + H y,                          sum_i s_i y_i = f        (5)

with O_A, mc_x, mc_z of the arm about its axis. Platform and payload do not turn: only their
mass counts. Forward dynamics groups the same terms by xdd, with w = s / H = dq/dx:

    M = (m_P + sum m_x) 1 + sum_i [ (O_A + m_b L^2) w w' + m_c (L a' w' + w L a'') ]    (6)

Tests compare the general law with it.
"""

import math
from typing import NamedTuple

import jax
import numpy as np
from jax.core import Tracer

from triskele.dynamics.robot import RigidRobot
from triskele.kinematics.delta import Delta
from triskele.numerics import Scalar, Scalars, safe_divide, safe_sqrt, solve
from triskele.spatial.vectors import Triple, add, combine, cross, dot, plus, scale, subtract, times

_TINY = 1e-100  #: keeps a division finite where a wrist meets its motor
_THIN = 1e-12  #: moments off the line, relative to those along it, that count as none


class _Limb(NamedTuple):
    """Constants of a limb; plain numbers."""

    cos: float  #: of its azimuth
    sin: float
    reach: float  #: r - R
    L2: float  #: L^2
    gap: float  #: (reach^2 + L^2 - d^2) / 2, the part of K that does not move
    m_c: float
    m_x: float
    O: float  #: O_A + m_b L^2, with the rotor
    along: float  #: mc_x / L + m_b
    across: float  #: mc_z / L
    g_u: float  #: gravity along u
    mode: int


class _Motion(NamedTuple):
    """One limb at a state; a pair holds components along u and k."""

    s: Triple  #: in O
    H: Scalar
    share: Scalar  #: 1 / H
    C: Scalar
    S: Scalar
    qd: Scalar
    rest: Scalar  #: H qdd - s.xdd


class ThinDelta(NamedTuple):
    """A Delta with thin rods, as numbers."""

    limbs: tuple[_Limb, ...]
    m: float  #: m_P, payload included, and m_x of all limbs
    weight: Triple  #: (m + sum m_c) g
    g: Triple

    def inverse_dynamics(self, x: Scalars, xd: Scalars, xdd: Scalars) -> Scalars:
        """tau [N m] of (5)."""
        push, xx, vv = _triple(xdd), _square(x), _square(xd)
        f = subtract(scale(self.m, push), self.weight)
        own, rods, levers = [], [], []
        for limb in self.limbs:
            motion = self._motion(limb, x, xd, xx, vv)
            qdd = (dot(motion.s, push) + motion.rest) * motion.share
            f = add(f, _elbow(limb, motion, qdd))
            lifted = _u(limb, push) - limb.g_u, push[2] - self.g[2]
            held = motion.S * lifted[0] + motion.C * lifted[1]  # -L a'.(xdd - g)
            own.append(self._arm(limb, motion, qdd) - limb.m_c * held)
            rods.append(motion.s)
            levers.append(motion.H)
        shares = _solve_columns(rods, f)
        return tuple(a + b * c for a, b, c in zip(own, levers, shares, strict=True))

    def forward_dynamics(self, x: Scalars, xd: Scalars, tau: Scalars) -> Scalars:
        """xdd [m/s^2] of (6)."""
        M: list[list[Scalar]] = [[self.m if i == j else 0.0 for j in range(3)] for i in range(3)]
        push, xx, vv = self.weight, _square(x), _square(xd)
        for limb, effort in zip(self.limbs, tau, strict=True):
            motion = self._motion(limb, x, xd, xx, vv)
            qdd = motion.rest * motion.share  # at xdd = 0
            w = scale(motion.share, motion.s)
            held = motion.S * limb.g_u + motion.C * self.g[2]  # -L a'.g
            own = self._arm(limb, motion, qdd) + limb.m_c * held
            push = add(push, subtract(scale(effort - own, w), _elbow(limb, motion, qdd)))
            slope = (-motion.S * limb.cos, -motion.S * limb.sin, -motion.C)  # L a'
            half = combine((limb.O / 2, w), (limb.m_c, slope))
            for i in range(3):
                for j in range(i, 3):
                    M[i][j] = M[i][j] + half[i] * w[j] + w[i] * half[j]
        rows = tuple(tuple(M[min(i, j)][max(i, j)] for j in range(3)) for i in range(3))
        return solve(rows, push)

    def _motion(self, limb: _Limb, x: Scalars, xd: Scalars, xx: Scalar, vv: Scalar) -> _Motion:
        """Equations (2) and (3); x.x and xd.xd are the same for all limbs."""
        x_u, v_u, z = _u(limb, x), _u(limb, xd), x[2]
        p_u = x_u + limb.reach
        K = 0.5 * xx + (limb.reach * x_u + limb.gap)
        square = p_u * p_u + z * z
        H = limb.mode * safe_sqrt(limb.L2 * square - K * K)
        part = 1 / (square + _TINY)
        C, S = (K * p_u - H * z) * part, -(H * p_u + K * z) * part
        out = limb.reach - C
        s = (x[0] + out * limb.cos, x[1] + out * limb.sin, z + S)
        share = safe_divide(1.0, H)
        qd = dot(s, _triple(xd)) * share
        rest = vv + qd * (2 * (S * v_u + C * xd[2]) + K * qd)
        return _Motion(s, H, share, C, S, qd, rest)

    def _arm(self, limb: _Limb, motion: _Motion, qdd: Scalar) -> Scalar:
        """Inertia and weight of an arm with m_b at its end [N m]."""
        g_u, g_k = limb.g_u, self.g[2]
        weight = limb.along * (motion.S * g_u + motion.C * g_k)
        if limb.across:
            weight = weight + limb.across * (motion.S * g_k - motion.C * g_u)
        return limb.O * qdd + weight


def _elbow(limb: _Limb, motion: _Motion, qdd: Scalar) -> Triple:
    """m_c b [N], in O; the weight of m_c is counted elsewhere."""
    C, S, fast = motion.C, motion.S, motion.qd * motion.qd
    b_u, b_k = -limb.m_c * (S * qdd + C * fast), limb.m_c * (S * fast - C * qdd)
    return times(limb.cos, b_u), times(limb.sin, b_u), b_k


def _u(limb: _Limb, vector: Scalars) -> Scalar:
    """The component of a vector along u."""
    return plus(times(limb.cos, vector[0]), times(limb.sin, vector[1]))


def _square(vector: Scalars) -> Scalar:
    return dot(_triple(vector), _triple(vector))


def _triple(vector: Scalars) -> Triple:
    return vector[0], vector[1], vector[2]


def _solve_columns(columns: list[Triple], right: Triple) -> Scalars:
    """y with sum_i columns_i y_i = right, by cross products."""
    first, second, third = columns
    n1, n2, n3 = cross(second, third), cross(third, first), cross(first, second)
    volume = safe_divide(1.0, dot(first, n1))
    return dot(n1, right) * volume, dot(n2, right) * volume, dot(n3, right) * volume


def of(robot: RigidRobot) -> ThinDelta | None:
    """The closed form of `robot`, or None where it would not be exact or is being traced."""
    delta = robot.mechanism
    if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(robot)):
        return None
    robot = jax.tree.map(np.asarray, robot)  # once: each number taken from JAX costs 10 us
    delta = robot.mechanism
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
    falling = float(mass) + sum(limb.m_c for limb in limbs)
    return ThinDelta(limbs, float(mass), scale(falling, (gx, gy, gz)), (gx, gy, gz))


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
    gx, gy, _ = np.asarray(robot.gravity).tolist()
    reach = float(delta.platform_radius[i] - delta.base_radius[i])
    return _Limb(
        cos=cos,
        sin=sin,
        reach=reach,
        L2=L * L,
        gap=(reach**2 + L**2 - d**2) / 2,
        m_c=mc / d - O / d**2,
        m_x=O / d**2,
        O=float(arm[5]) + float(robot.rotors[i]) + m_b * L * L,
        along=float(arm[1]) / L + m_b,
        across=float(arm[3]) / L,
        g_u=cos * gx + sin * gy,
        mode=delta.working_mode[i],
    )


def _snapped(value: float) -> float:
    """`value`, and exactly 0 where it is rounding."""
    return 0.0 if abs(value) < 1e-16 else float(value)
