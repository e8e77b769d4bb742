"""The Delta whose dynamics is measured, and its equations once more, in NumPy.

Written apart from the library: it judges the library and its peers, and is not fast. Letters
and frames are those of `kinematics/delta.py`. Bodies are thin rods, so that the rods of a
limb are three masses, m_bb = m_xx = m / 3 at elbow and wrist and m_bx = m / 6 between both.
With w = s / (L s.a'),

    qd = w.xd,    qdd = w.xdd + (sd.sd + L qd^2 s.a) / (L s.a'),    sd = xd - L a' qd   (1)
    b = L (a' qdd - a qd^2)                                  acceleration of the elbow  (2)
    f = m_p (xdd - g) + sum_i m_bx (b_i - g) + m_xx (xdd - g)                           (3)
    tau_i = O qdd - mc g.a' + L a'.(m_bb (b - g) + m_bx (xdd - g)) + t_i                (4)

with sum_i w_i t_i = f.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

Numbers = NDArray[np.float64]

R, r, L, d, SPACING = 0.2, 0.05, 0.35, 0.8, 0.1  #: base, platform, arm, rod, pair [m]
ARM, ROD, PLATFORM, G = 1.5, 0.15, 1.2, 9.81  #: [kg], one of six rods, and [m/s^2]
RODS = 2 * ROD  #: of one limb [kg]
AZIMUTH = np.arange(3) * 2 * np.pi / 3
DURATION = 1.0  #: of the simulated motion [s]

_ROUND = 5.0  # [rad/s], of the path of `states`
_START = np.array([0.02, -0.03, -0.75])  # [m], of the simulated motion
_SWING = np.array([12.0, -6.0, -6.0])  # [N m]
_RATE = np.array([12.5, 13.0, 12.0])  # [rad/s]

TOML = f"""
kind = "delta"
name = "bench_delta"
title = "Delta of the benchmark"
gravity = {{ value = [0, 0, -{G}], unit = "m/s^2" }}

[geometry]
source = "assumed: benchmark"
base_radius = "{R} m"
platform_radius = "{r} m"
arm_length = "{L} m"
rod_length = "{d} m"
rod_spacing = "{SPACING} m"

[bodies.arm]
source = "assumed: thin rod"
mass = "{ARM} kg"
centre_of_mass = {{ value = [{L / 2}, 0, 0], unit = "m" }}
inertia = {{ value = [0, {ARM * L**2 / 12}, {ARM * L**2 / 12}], unit = "kg m^2" }}

[bodies.rod]
source = "assumed: thin rod"
mass = "{ROD} kg"
centre_of_mass = {{ value = [{d / 2}, 0, 0], unit = "m" }}
inertia = {{ value = [0, {ROD * d**2 / 12}, {ROD * d**2 / 12}], unit = "kg m^2" }}

[bodies.platform]
source = "assumed: a point"
mass = "{PLATFORM} kg"
"""


class States(NamedTuple):
    """Motion of the platform, each (N, 3)."""

    x: Numbers  #: [m]
    xd: Numbers  #: [m/s]
    xdd: Numbers  #: [m/s^2]


class Torque(NamedTuple):
    """tau_i(t) = hold_i + swing_i cos(rate_i t)."""

    hold: Numbers  #: [N m]
    swing: Numbers  #: [N m]
    rate: Numbers  #: [rad/s]

    def at(self, t: float) -> Numbers:
        """The torques [N m] at time t [s]."""
        return self.hold + self.swing * np.cos(self.rate * t)


class _Limbs(NamedTuple):
    """The limbs at N states: (N, 3) over limbs, or (N, 3, 3) over limbs and x, y, z."""

    q: Numbers
    qd: Numbers
    qdd: Numbers
    a: Numbers
    ad: Numbers  #: a' = da/dq
    s: Numbers
    w: Numbers


def states(n: int) -> States:
    """`n` states on a smooth path through the middle of the workspace, at up to 1.3 m/s."""
    t = np.linspace(0, 4e-4 * n, n) / _ROUND
    centre = np.array([0, 0, -0.75])
    size = np.array([[0.125, 0, 0], [-0.125, 0, 0], [0, 0.25, 0], [0, 0, 0.1]])
    rate = _ROUND * np.array([38 / 37, 36 / 37, 1, 1 / 11])
    sines, cosines = np.sin(t[:, None] * rate), np.cos(t[:, None] * rate)
    return States(
        centre + sines @ size,
        (cosines * rate) @ size,
        (-sines * rate**2) @ size,
    )


def inverse_dynamics(x: Numbers, xd: Numbers, xdd: Numbers) -> Numbers:
    """Torques (N, 3) [N m], equations (1) to (4)."""
    limbs = _limbs(x, xd, xdd)
    m_bb, m_bx, m_xx = RODS / 3, RODS / 6, RODS / 3
    g = np.array([0, 0, -G])
    b = L * (limbs.ad * limbs.qdd[..., None] - limbs.a * limbs.qd[..., None] ** 2)
    lifted = (xdd - g)[:, None]
    f = (PLATFORM + 3 * m_xx) * (xdd - g) + m_bx * (b - g).sum(axis=1)
    t = np.linalg.solve(limbs.w.swapaxes(1, 2), f[..., None])[..., 0]
    at_elbow = m_bb * (b - g) + m_bx * lifted
    arm = ARM * L**2 / 3 * limbs.qdd - ARM * L / 2 * (limbs.ad @ g)
    return arm + L * _dot(limbs.ad, at_elbow) + t


def forward_dynamics(x: Numbers, xd: Numbers, tau: Numbers) -> Numbers:
    """Acceleration (3,) [m/s^2] of one state: torques are affine in it."""
    unit = np.vstack([np.zeros(3), np.eye(3)])
    at = inverse_dynamics(np.tile(x, (4, 1)), np.tile(xd, (4, 1)), unit)
    return np.linalg.solve((at[1:] - at[0]).T, tau - at[0])


def motion() -> tuple[Numbers, Torque]:
    """Start (3,) [m], at rest, and the torques of the simulated motion."""
    rest = np.zeros((1, 3))
    return _START, Torque(inverse_dynamics(_START[None], rest, rest)[0], _SWING, _RATE)


def reference(times: Numbers, tolerance: float) -> Numbers:
    """Platform (len(times), 3) [m] of that motion, by DOP853."""
    start, torque = motion()

    def rate(t: float, state: Numbers) -> Numbers:
        return np.concatenate([state[3:], forward_dynamics(state[:3], state[3:], torque.at(t))])

    solution = solve_ivp(
        rate,
        (0.0, times[-1]),
        np.concatenate([start, np.zeros(3)]),
        method="DOP853",
        t_eval=times,
        rtol=tolerance,
        atol=tolerance / 10,
    )
    return solution.y[:3].T


def joint_coordinates(motion: States) -> tuple[Numbers, Numbers, Numbers]:
    """q, v and a (N, 12) of the tree that the peers use, with a universal joint per limb.

    Limb by limb the motor, then the rod in its arm about y and about z; then the platform. A
    rod that is turned by theta about y of the limb, and by beta about its own z, points along
    (cos beta cos theta, sin beta, -cos beta sin theta) in u, v, k.
    """
    limbs = _limbs(*motion)
    u, v, k = _axes()
    sd = motion.xd[:, None] - L * limbs.ad * limbs.qd[..., None]
    b = L * (limbs.ad * limbs.qdd[..., None] - limbs.a * limbs.qd[..., None] ** 2)
    sdd = motion.xdd[:, None] - b
    (s_u, s_v, s_k), (v_u, v_v, v_k), (a_u, a_v, a_k) = (
        [_dot(vector, axis) for axis in (u, v, k)] for vector in (limbs.s, sd, sdd)
    )
    square = s_u**2 + s_k**2
    theta = np.arctan2(-s_k, s_u)
    theta_d = (s_k * v_u - s_u * v_k) / square
    theta_dd = (s_k * a_u - s_u * a_k - 2 * theta_d * (s_u * v_u + s_k * v_k)) / square
    beta, flat = np.arcsin(s_v / d), np.sqrt(square)
    beta_d = v_v / flat
    beta_dd = (a_v + beta_d**2 * s_v) / flat

    def rows(motors: Numbers, turn: Numbers, tilt: Numbers, platform: Numbers) -> Numbers:
        tree = np.stack([motors, turn - motors, tilt], axis=2).reshape(-1, 9)
        return np.ascontiguousarray(np.concatenate([tree, platform], axis=1))

    return (
        rows(limbs.q, theta, beta, motion.x),
        rows(limbs.qd, theta_d, beta_d, motion.xd),
        rows(limbs.qdd, theta_dd, beta_dd, motion.xdd),
    )


def _axes() -> tuple[Numbers, Numbers, Numbers]:
    """u, v and k of the limbs, (3, 3) each, one row per limb."""
    c, s, zero, one = np.cos(AZIMUTH), np.sin(AZIMUTH), np.zeros(3), np.ones(3)
    return (
        np.stack([c, s, zero], axis=1),
        np.stack([-s, c, zero], axis=1),
        np.stack([zero, zero, one], axis=1),
    )


def _limbs(x: Numbers, xd: Numbers, xdd: Numbers) -> _Limbs:
    """Positions as in `Delta.inverse`, and equations (1)."""
    u, _, k = _axes()
    p = x[:, None] + (r - R) * u  # wrist seen from the motor
    p_u, p_k = _dot(p, u), _dot(p, k)
    alpha = np.arctan2(p_k, p_u)
    q = -alpha - np.arccos((_dot(p, p) + L**2 - d**2) / (2 * L * np.hypot(p_u, p_k)))
    cos, sin = np.cos(q)[..., None], np.sin(q)[..., None]
    a, ad = cos * u - sin * k, -sin * u - cos * k
    s = p - L * a
    w = s / (L * _dot(s, ad))[..., None]
    qd = _dot(w, xd[:, None])
    sd = xd[:, None] - L * ad * qd[..., None]
    qdd = _dot(w, xdd[:, None]) + (_dot(sd, sd) + L * qd**2 * _dot(s, a)) / (L * _dot(s, ad))
    return _Limbs(q, qd, qdd, a, ad, s, w)


def _dot(a: Numbers, b: Numbers) -> Numbers:
    return (a * b).sum(axis=-1)
