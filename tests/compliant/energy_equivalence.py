"""Forces of the compliant 3PRS derived twice, without anything from `triskele`.

First as Ruiz et al. (Robotics 11 (2022) 4) do, by energy equivalence, with their equation 59
corrected: Jacobians of each body with respect to the sliders' speeds sd, e_i the i-th unit row,

    platform   [l_i', (PB_i x l_i)'; m_i', (PB_i x m_i)'] (v; w) = [diag(s_i0 . l_i); 0] sd
    bar angle  J_a,i = (n_i' J_T + (PB_i x n_i)' J_R - (n_i . s_i0) e_i) / L
    bar        v_Gi = (s_i0 e_i + L/2 n_i J_a,i) sd
    spherical  J_b,i = (R_i0 E_i)^-1 (J_R + m_i0 J_a,i)
    angles     (psid, thetad, phid) = J_q sd,     J_q = W^-1 R' J_R

    F = Mi sdd + J_T' [M (J_T sdd + J_Td sd) + M g z]
      + J_q' [W' I W (J_q sdd + J_qd sd) + (W' I Wd + Wd' I W - (d(W v)/dq)' I W) v]
      + sum J_bi' [diag(Mb, Mb, Mb, Ib) (J_bi sdd + J_bid sd) + Mb g z]
      + J_a' kr (alpha - alpha0) + sum J_b,i' diag(ksf, ksf, kst) beta_i - J_T' f - J_R' n

Rates are exact: complex steps along the motion. Angles are written for the machine's own branch.
Then by Lagrange's equations in q = (z, psi, theta), of energies differentiated by machine, with
no Jacobian at all: F = (ds/dq)^-T tau_q.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

a, b, L = 0.125137, 0.04761, 0.109215  # [m]
REST = np.pi / 4
M_PLATFORM, M_BAR, M_COUPLING, I_BAR = 0.153, 0.028, 0.204, 2.36e-5  # [kg], [kg m^2]
INERTIA = np.diag([6.834e-5, 6.834e-5, 1.309e-5])
KR, KSF, KST = 98.37, 32.665, 24.46  # [N m/rad]
G = 9.81

GAMMA = np.radians([0.0, 120.0, 240.0])
OUT = np.stack([np.cos(GAMMA), np.sin(GAMMA), 0 * GAMMA], axis=1)
NORMAL = np.stack([np.sin(GAMMA), -np.cos(GAMMA), 0 * GAMMA], axis=1)
UP = np.array([0.0, 0.0, 1.0])
HOME = np.array([L * np.sin(REST), 0.0, 0.0])
NOTHING = np.zeros(3)


class Jacobians(NamedTuple):
    """With respect to the sliders, and the angles they belong to."""

    T: np.ndarray  #: (3, 3) of P
    R: np.ndarray  #: (3, 3) angular velocity, in O
    q: np.ndarray  #: (3, 3) of psi, theta, phi
    alpha: np.ndarray  #: (3, 3)
    bar: np.ndarray  #: (3, 4, 3) of G_i and alpha_i
    beta: np.ndarray  #: (3, 3, 3) of beta_m, beta_n, beta_l


class Forces(NamedTuple):
    """At the sliders [N], part by part."""

    coupling: np.ndarray
    platform_translation: np.ndarray
    platform_rotation: np.ndarray
    bar_translation: np.ndarray
    bar_rotation: np.ndarray
    flexures: np.ndarray
    external: np.ndarray


# Geometry; every function is analytic, so that complex steps pass


def turn(axis: int, angle: complex, xp: Any = np) -> Any:
    c, s, i, o = xp.cos(angle), xp.sin(angle), 1 + 0 * angle, 0 * angle
    rows = {
        0: [[i, o, o], [o, c, -s], [o, s, c]],
        1: [[c, o, s], [o, i, o], [-s, o, c]],
        2: [[c, -s, o], [s, c, o], [o, o, i]],
    }
    return xp.stack([xp.stack(row) for row in rows[axis]])


def pose(q: Any, xp: Any = np) -> tuple[Any, Any, Any]:
    """P, R and phi from (z, psi, theta); (A6)."""
    z, psi, theta = q[0], q[1], q[2]
    s, c = xp.sin, xp.cos
    phi = xp.arctan(s(psi) * s(theta) / (c(psi) + c(theta)))
    x = b / 2 * (c(theta) * c(phi) + s(psi) * s(theta) * s(phi) - c(psi) * c(phi))
    R = turn(1, theta, xp) @ turn(0, psi, xp) @ turn(2, phi, xp)
    return xp.stack([x, -b * c(psi) * s(phi), z]), R, phi


def sliders(q: Any, xp: Any = np) -> tuple[Any, Any]:
    """s and alpha of the three limbs."""
    P, R, _ = pose(q, xp)
    B = P[None, :] + b * (R @ xp.asarray(OUT.T)).T
    out = xp.sum(B * xp.asarray(OUT), axis=1)
    return a - out - xp.sqrt(L**2 - B[:, 2] ** 2), xp.arcsin(B[:, 2] / L)


def betas(q: Any, xp: Any = np) -> Any:
    """Angles of the spherical flexures (3, 3): beta_m, beta_n, beta_l."""
    _, R, _ = pose(q, xp)
    alpha, rows = sliders(q, xp)[1], []
    for i in range(3):
        rest = xp.asarray(np.stack(leg_axes(i, REST), axis=1))
        M = xp.stack(leg_axes(i, alpha[i], xp), axis=1).T @ (R @ rest)
        rows.append(
            xp.stack(
                [
                    xp.arctan(-M[1, 2] / M[2, 2]),
                    xp.arcsin(M[0, 2]),
                    xp.arctan(-M[0, 1] / M[0, 0]),
                ]
            )
        )
    return xp.stack(rows)


def leg_axes(i: int, alpha: Any, xp: Any = np) -> tuple[Any, Any, Any]:
    """m, n and l of limb i at the bar angle alpha."""
    m, out, up = xp.asarray(NORMAL[i]), xp.asarray(OUT[i]), xp.asarray(UP)
    l = -xp.cos(alpha) * out + xp.sin(alpha) * up
    return m + 0 * l, xp.sin(alpha) * out + xp.cos(alpha) * up, l


# Energy equivalence


def euler_rates(angles: np.ndarray) -> np.ndarray:
    """W: angular velocity in the platform from (psid, thetad, phid)."""
    psi, _, phi = angles
    c, s = np.cos, np.sin
    columns = [
        [c(phi), -s(phi), 0],
        [s(phi) * c(psi), c(phi) * c(psi), -s(psi)],
        [0, 0, 1],
    ]
    return np.array(columns).T


def jacobians(q: np.ndarray) -> Jacobians:
    _, R, phi = pose(q)
    _, alpha = sliders(q)
    arms = b * (R @ OUT.T).T
    legs = [leg_axes(i, alpha[i]) for i in range(3)]
    rows = [np.concatenate([l, np.cross(r, l)]) for r, (_, _, l) in zip(arms, legs, strict=True)]
    rows += [np.concatenate([m, np.cross(r, m)]) for r, (m, _, _) in zip(arms, legs, strict=True)]
    pushed = np.zeros((6, 3), complex)
    for i, (_, _, l) in enumerate(legs):
        pushed[i, i] = -OUT[i] @ l
    both = np.linalg.solve(np.array(rows), pushed)
    J_T, J_R = both[:3], both[3:]
    unit = np.eye(3)
    J_alpha, J_bar, J_beta = [], [], []
    for i, (m, n, l) in enumerate(legs):
        row = (n @ J_T + np.cross(arms[i], n) @ J_R - (n @ -OUT[i]) * unit[i]) / L
        J_alpha.append(row)
        J_bar.append(np.vstack([np.outer(-OUT[i], unit[i]) + L / 2 * np.outer(n, row), row]))
        bm, bn, _ = betas(q)[i]
        E = np.array(
            [
                [1, 0, np.sin(bn)],
                [0, np.cos(bm), -np.sin(bm) * np.cos(bn)],
                [0, np.sin(bm), np.cos(bm) * np.cos(bn)],
            ]
        )
        J_beta.append(np.linalg.solve(np.stack([m, n, l], axis=1) @ E, J_R + np.outer(m, row)))
    J_q = np.linalg.solve(euler_rates(np.array([q[1], q[2], phi])), R.T @ J_R)
    return Jacobians(J_T, J_R, J_q, np.array(J_alpha), np.array(J_bar), np.array(J_beta))


def along(function: Any, q: np.ndarray, qd: np.ndarray, h: float = 1e-20) -> Any:
    """Rate of `function` while q moves by qd: a complex step."""
    found = function(q + 1j * h * qd)
    if isinstance(found, tuple):
        return type(found)(*(part.imag / h for part in found))
    return found.imag / h


def sliders_by_q(q: np.ndarray) -> np.ndarray:
    J = jacobians(q)
    return np.linalg.inv(np.vstack([J.T[2], J.q[0], J.q[1]]))


def slider_motion(q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """sd and sdd."""
    S, Sd = sliders_by_q(q).real, along(sliders_by_q, q, qd)
    return S @ qd, S @ qdd + Sd @ qd


def forces(
    q: np.ndarray,
    qd: np.ndarray,
    qdd: np.ndarray,
    force: np.ndarray = NOTHING,
    moment: np.ndarray = NOTHING,
) -> Forces:
    """Corrected (59), each spring once."""
    sd, sdd = slider_motion(q, qd, qdd)
    J = Jacobians(*(part.real for part in jacobians(q)))
    Jd = along(jacobians, q, qd)
    weight = np.array([0, 0, G])
    platform = J.T.T @ (M_PLATFORM * (J.T @ sdd + Jd.T @ sd + weight))
    bars = np.diag([M_BAR, M_BAR, M_BAR, I_BAR])
    moved, turned = np.zeros(3), np.zeros(3)
    for bar, rate in zip(J.bar, Jd.bar, strict=True):
        push = bars @ (bar @ sdd + rate @ sd) + np.array([0, 0, M_BAR * G, 0])
        moved, turned = moved + bar[:3].T @ push[:3], turned + bar[3] * push[3]
    _, alpha = sliders(q)
    elastic = J.alpha.T @ (KR * (alpha - REST))
    for beta, row in zip(betas(q), J.beta, strict=True):
        elastic = elastic + row.T @ (np.array([KSF, KSF, KST]) * beta)
    return Forces(
        M_COUPLING * sdd,
        platform,
        _turning(q, J, Jd, sd, sdd),
        moved,
        turned,
        elastic,
        -J.T.T @ force - J.R.T @ moment,
    )


def _turning(
    q: np.ndarray, J: Jacobians, Jd: Jacobians, sd: np.ndarray, sdd: np.ndarray
) -> np.ndarray:
    """What the platform's rotation asks for, with its gyroscopic part."""
    angles, v, h = np.array([q[1], q[2], pose(q)[2]]), J.q @ sd, 1e-20
    W = euler_rates(angles)
    Wd = euler_rates(angles + 1j * h * v).imag / h
    by_angle = [(euler_rates(angles + 1j * h * e) @ v).imag / h for e in np.eye(3)]
    gyroscopic = W.T @ INERTIA @ Wd + Wd.T @ INERTIA @ W - np.array(by_angle) @ INERTIA @ W
    return J.q.T @ (W.T @ INERTIA @ W @ (J.q @ sdd + Jd.q @ sd) + gyroscopic @ v)


# Lagrange


def lagrangian(q: jax.Array, qd: jax.Array, count: float = 1.0) -> jax.Array:
    """Kinetic less potential energy [J]; flexures counted `count` times."""

    def places(q: jax.Array) -> tuple[jax.Array, ...]:
        P, R, _ = pose(q, jnp)
        s, alpha = sliders(q, jnp)
        along_bar = jnp.stack([leg_axes(i, alpha[i], jnp)[2] for i in range(3)])
        centres = (a - s)[:, None] * jnp.asarray(OUT) + L / 2 * along_bar
        return P, R, s, alpha, centres

    (P, R, _, alpha, centres), (Pd, Rd, sd, alphad, speeds) = jax.jvp(places, (q,), (qd,))
    spin = R.T @ Rd
    w = jnp.stack([spin[2, 1], spin[0, 2], spin[1, 0]])
    kinetic = M_PLATFORM * Pd @ Pd + w @ jnp.asarray(INERTIA) @ w + M_COUPLING * sd @ sd
    kinetic = kinetic + M_BAR * jnp.sum(speeds**2) + I_BAR * alphad @ alphad
    weight = G * (M_PLATFORM * P[2] + M_BAR * jnp.sum(centres[:, 2]))
    stiffness = jnp.asarray([[KSF, KSF, KST]])
    strain = KR * jnp.sum((alpha - REST) ** 2) + jnp.sum(stiffness * betas(q, jnp) ** 2)
    return kinetic / 2 - weight - count * strain / 2


@jax.jit
def lagrange_forces(q: jax.Array, qd: jax.Array, qdd: jax.Array, count: float = 1.0) -> jax.Array:
    """F [N] at the sliders."""

    def momentum(q: jax.Array, qd: jax.Array) -> jax.Array:
        return jax.grad(lagrangian, argnums=1)(q, qd, count)

    _, change = jax.jvp(momentum, (q, qd), (qd, qdd))
    tau = change - jax.grad(lagrangian)(q, qd, count)
    S = jax.jacfwd(lambda q: sliders(q, jnp)[0])(q)
    return jnp.linalg.solve(S.T, tau)


def random_states(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Within 2 mm and 2.4 deg of home; 20 Hz of them in speed and acceleration."""
    random = np.random.default_rng(seed)
    q, qd, qdd = random.uniform(-1, 1, (3, count, 3)) * np.array([2e-3, 0.042, 0.042])
    return HOME + q, 125 * qd, 125**2 * qdd
