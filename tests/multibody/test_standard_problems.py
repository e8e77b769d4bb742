"""Mechanisms that textbooks and benchmarks solve, against references without bodies and joints.

Rods are uniform. Where a mechanism has one degree of freedom, the reference is the equation
of its energy; the kinetic energy of a rod follows from the velocities u, v of its ends,
T = m (u.u + u.v + v.v) / 6.
"""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

from triskele.multibody import (
    GROUND,
    Body,
    Joint,
    Tether,
    assembled,
    frame_about,
    mobility,
    reactions,
    simulate,
    system,
)
from triskele.multibody.integrate import Constant
from triskele.multibody.primitives import Drive

G = 9.81
DOWN = (0.0, -G, 0.0)


def flat(name, m, inertia, centre, at, angle):
    """A body in the plane xy, with its frame at `at`, turned by `angle`."""
    x, y = centre
    about = inertia + m * np.array([y * y, x * x, x * x + y * y])
    pose = [[np.cos(angle), -np.sin(angle), 0, at[0]], [np.sin(angle), np.cos(angle), 0, at[1]]]
    ten = (m, m * x, m * y, 0.0, *about, -m * x * y, 0.0, 0.0)
    return Body(name, ten, np.array([*pose, [0, 0, 1, 0]], float))


def rod(name, m, start, end):
    """A rod in the plane, its frame at `start`, its x axis towards `end`."""
    start, way = np.array(start), np.subtract(end, start)
    length = np.hypot(*way)
    return flat(name, m, m * length**2 / 12, (length / 2, 0.0), start, np.arctan2(way[1], way[0]))


def falling(points, masses, gravity, s, t):
    """Joint points (N, k, 3) of a chain of rods that falls from rest at `s`, at N instants `t`.

    M sdd + M' sd^2 / 2 + U' = 0; slopes from differences of the fourth order.
    """
    h = 2e-3
    slope = np.array([1, -8, 0, 8, -1]) / (12 * h)

    def rates(_, y):
        ends = points(y[0] + h * np.arange(-4, 5))
        v = np.array([np.tensordot(slope, ends[k : k + 5], 1) for k in range(5)])
        u, v = v[:, :-1], v[:, 1:]
        M = np.sum(u * u + u * v + v * v, axis=2) @ masses / 3
        U = -(ends[2:7, :-1] + ends[2:7, 1:]) @ gravity @ masses / 2
        return [y[1], -(slope @ M * y[1] ** 2 / 2 + slope @ U) / M[2]]

    found = solve_ivp(rates, (0, t[-1]), [s, 0.0], "DOP853", t, rtol=1e-11, atol=1e-11)
    return points(found.y[0])


# Open chains


def double_pendulum(t, y):
    """Textbook equations in the angles of two rods, 1 m and 2 kg, 0.7 m and 1 kg, from below."""
    (m1, l1), (m2, l2) = (2.0, 1.0), (1.0, 0.7)
    a, b, ad, bd = y
    couple = m2 * l1 * l2 / 2
    M = [
        [m1 * l1**2 / 3 + m2 * l1**2, couple * np.cos(a - b)],
        [couple * np.cos(a - b), m2 * l2**2 / 3],
    ]
    f = [
        -couple * np.sin(a - b) * bd**2 - (m1 / 2 + m2) * G * l1 * np.sin(a),
        couple * np.sin(a - b) * ad**2 - m2 / 2 * G * l2 * np.sin(b),
    ]
    return [ad, bd, *np.linalg.solve(M, f)]


def test_double_pendulum_swings_as_its_two_angles_say_and_hangs_on_what_newton_asks():
    def below(angle):
        return np.array([np.sin(angle), -np.cos(angle)])

    knee = below(2.0)
    bodies = [rod("upper", 2.0, (0.0, 0.0), knee), rod("lower", 1.0, knee, knee + 0.7 * below(2.5))]
    joints = [
        Joint("shoulder", "revolute", GROUND, "upper"),
        Joint("knee", "revolute", "upper", "lower", point=(1.0, 0.0, 0.0)),
    ]
    built, start = system("double pendulum", bodies, joints, gravity=DOWN)
    run = simulate(built, start, 2.0, rate=2.0, tolerance=1e-11)
    other = solve_ivp(
        double_pendulum, (0, 2), [2.0, 2.5, 0, 0], "DOP853", run.t, rtol=1e-12, atol=1e-12
    ).y
    a, b, ad, bd = other
    add, bdd = np.array([double_pendulum(0, y)[2:] for y in other.T]).T

    def turned(angle, rate, push):
        """Direction of a rod, and its second derivative."""
        across = np.array([np.cos(angle), np.sin(angle)])
        return below(angle), push * across - rate**2 * below(angle)

    (e, edd), (f, fdd) = turned(a, ad, add), turned(b, bd, bdd)
    assert np.allclose(run.states.r[:, 0, :2], (e / 2).T, rtol=0, atol=1e-8)
    assert np.allclose(run.states.r[:, 1, :2], (e + 0.35 * f).T, rtol=0, atol=1e-8)
    held = reactions(built, run.states)
    weight = np.array([[0.0], [-G]])
    knee_force = 1.0 * (edd + 0.35 * fdd - weight)
    shoulder_force = knee_force + 2.0 * (edd / 2 - weight)
    assert np.allclose(held.of("knee")[0][:, :2], knee_force.T, rtol=0, atol=1e-6)
    assert np.allclose(held.of("shoulder")[0][:, :2], shoulder_force.T, rtol=0, atol=1e-6)
    assert np.allclose(held.moment, 0, rtol=0, atol=1e-10)
    assert held.unique.all()
    assert held.imbalance < 1e-9


def test_heavy_top_precesses_steadily_at_the_rate_that_the_quadratic_gives():
    m, l, A, C, tilt, rate = 1.5, 0.3, 0.2, 0.05, 0.6, 4.0
    spin = (m * G * l + A * rate**2 * np.cos(tilt)) / (C * rate)  # about its own axis, all told
    axis = np.array([0.0, -np.sin(tilt), np.cos(tilt)])
    turn = np.array([[1, 0, 0], [0, axis[2], axis[1]], [0, -axis[1], axis[2]]])
    ten = (m, 0.0, 0.0, m * l, A, A, C, 0.0, 0.0, 0.0)
    joints = [Joint("tip", "spherical", GROUND, "top")]
    built, start = system("top", [Body("top", ten, np.eye(3, 4))], joints, size=l)
    w = rate * np.array([0, 0, 1.0]) + (spin - rate * np.cos(tilt)) * axis
    p = [np.cos(tilt / 2), np.sin(tilt / 2), 0, 0]
    parts = (l * axis, p, np.cross(w, l * axis), turn.T @ w)
    start = type(start)(*(jnp.asarray(part)[None] for part in parts))
    run = simulate(built, start, 3.0, rate=1.0, tolerance=1e-11)
    azimuth = rate * run.t
    circle = np.stack([np.sin(azimuth), -np.cos(azimuth), 0 * azimuth], axis=1) * np.sin(tilt)
    assert np.allclose(run.states.r[:, 0] / l, circle + [0, 0, axis[2]], rtol=0, atol=1e-8)
    assert np.allclose(run.states.w[:, 0, 2], spin, rtol=0, atol=1e-9)


# Closed chains


def test_four_bar_linkage_falls_as_its_closed_loop_says_and_is_redundant_in_space():
    """0.3, 0.8 and 0.6 m on a base of 0.7 m: the crank can turn all around."""
    masses = (1.0, 2.0, 1.5)

    def points(s):
        crank, foot = 0.3 * np.array([np.cos(s), np.sin(s)]), np.array([[0.7], [0.0]]) + 0 * s
        way = foot - crank
        square = np.sum(way * way, axis=0)
        along = (square + 0.8**2 - 0.6**2) / (2 * square)
        across = np.sqrt(0.8**2 / square - along**2) * np.array([-way[1], way[0]])
        flat = np.array([0 * crank, crank, crank + along * way + across, foot])
        return np.append(flat, 0 * flat[:, :1], axis=1).transpose(2, 0, 1)

    ends = points(np.array([2.0]))[0, :, :2]
    names = ("crank", "coupler", "rocker")
    bodies = [
        rod(name, m, start + 0.01, end - 0.02)._replace(ten=rod(name, m, start, end).ten)
        for name, m, start, end in zip(names, masses, ends[:-1], ends[1:], strict=True)
    ]
    chain = [(GROUND, "crank", 0.0), ("crank", "coupler", 0.3), ("coupler", "rocker", 0.8)]
    joints = [
        Joint(child, "revolute", parent, child, point=(along, 0.0, 0.0))
        for parent, child, along in chain
    ]
    joints.append(Joint("foot", "revolute", "rocker", GROUND, (0.6, 0.0, 0.0), (0.7, 0.0, 0.0)))
    built, guess = system("four-bar", bodies, joints, gravity=DOWN)
    start = assembled(built, guess)
    angle = 2 * float(jnp.arctan2(start.p[0, 3], start.p[0, 0]))
    run = simulate(built, start, 2.0, rate=4.0, tolerance=1e-11)
    found = falling(points, masses, DOWN, angle, run.t)
    centres = (found[:, :-1] + found[:, 1:]) / 2
    assert np.allclose(run.states.r, centres, rtol=0, atol=1e-8)
    assert np.ptp(found[:, 1, 0]) > 0.5
    count = mobility(built, start)
    assert (count.rows, count.rank, count.freedom, count.redundant) == (20, 17, 1, 3)


def test_slider_crank_asks_of_its_motor_what_energy_says():
    """A crank of 0.1 m and 1 kg, a rod of 0.3 m and 2 kg, a slider of 3 kg; gravity along y."""
    q, qd, qdd = np.array([[0.3, 2.0, 4.0], [5.0, -7.0, 6.0], [0.0, 30.0, -20.0]])
    joints = [
        Joint("motor", "revolute", GROUND, "crank", motor=True),
        Joint("pin", "revolute", "crank", "rod", point=(0.1, 0.0, 0.0)),
        Joint("wrist", "revolute", "rod", "slider", point=(0.3, 0.0, 0.0)),
        Joint(
            "guide",
            "prismatic",
            GROUND,
            "slider",
            frame=frame_about((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
            child_frame=frame_about((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
        ),
    ]

    def slider(q):
        return 0.1 * jnp.cos(q) + jnp.sqrt(0.09 - 0.01 * jnp.sin(q) ** 2)

    def energy(q, qd):
        pin, x = 0.1 * jnp.array([jnp.cos(q), jnp.sin(q)]), slider(q)
        u = 0.1 * qd * jnp.array([-jnp.sin(q), jnp.cos(q)])
        v = jnp.stack([qd * jax.grad(slider)(q), jnp.zeros(())])
        moving = 1.0 * u @ u / 6 + 2.0 * (u @ u + u @ v + v @ v) / 6 + 3.0 * v @ v / 2
        return moving + 1.0 * G * pin[1] / 2 + 2.0 * G * pin[1] / 2 + 0 * x

    states = []
    for k in range(3):
        pin, x = 0.1 * np.array([np.cos(q[k]), np.sin(q[k])]), float(slider(q[k]))
        bodies = [rod("crank", 1.0, (0.0, 0.0), pin), rod("rod", 2.0, pin, (x, 0))]
        bodies.append(flat("slider", 3.0, 0.01, (0.0, 0.0), (x, 0), 0.0))
        built, guess = system(
            "slider-crank", bodies, joints, gravity=DOWN, prescribed=True, size=0.4
        )
        drive = Drive(*(jnp.asarray(part[k : k + 1]) for part in (q, qd, qdd)))
        states.append(assembled(built, guess, drive))
    states = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    drives = Drive(*(jnp.asarray(part)[:, None] for part in (q, qd, qdd)))
    held = reactions(built, states, drive=drives)
    for k in range(3):
        _, power = jax.jvp(energy, (q[k], qd[k]), (qd[k], qdd[k]))
        speed, push = jax.jvp(jax.grad(slider), (q[k],), (qd[k],))
        assert np.isclose(states.v[k, 2, 0], speed * qd[k], rtol=0, atol=1e-12)
        assert np.isclose(held.effort[k, 0], power / qd[k], rtol=1e-9)
        pull = 3.0 * (speed * qdd[k] + push * qd[k])
        assert np.isclose(held.of("wrist")[0][k, 0], pull, rtol=1e-9)
    assert held.unique_effort.all()


def test_bricards_mechanism_falls_along_the_curve_of_its_closed_loop():
    """Six rods on edges of a cube, the first held: the IFToMM benchmark A04, overconstrained.

    Turns at the joints are a and b by turns, with (1 + cos a)(1 + cos b) = 1; that is the
    closed curve A^2 + B^2 + A^2 B^2 = 3 of A = tan(a/2), B = tan(b/2), here by its angle s.
    """

    def points(s):
        square = (np.cos(s) * np.sin(s)) ** 2
        radius = np.sqrt(6 / (1 + np.sqrt(1 + 12 * square)))
        turns = [2 * np.arctan(radius * part)[:, None] for part in (np.cos(s), np.sin(s))]
        way, axis, ends = np.array([[0, 0, -1]]), np.array([[0, -1, 0]]), [np.zeros((len(s), 3))]
        for k in range(5):
            turn = turns[k % 2]
            way = np.cos(turn) * way + np.sin(turn) * np.cross(axis, way)
            axis = (-1) ** k * np.cross(way, axis)
            ends.append(ends[-1] + way)
        return np.stack(ends, axis=1)

    cube = points(np.array([np.pi / 4]))[0]
    assert np.allclose(cube[3], [1, -1, 1], rtol=0, atol=1e-15)
    bodies = [
        Body(str(k), (1.0, *ten), np.column_stack([np.eye(3), cube[k]]))
        for k, ten in enumerate(_thin(end - start) for start, end in zip(cube[:-1], cube[1:]))
    ]
    names, axes = [GROUND, *"01234", GROUND], np.eye(3)[[1, 2, 0, 1, 2, 0]]
    joints = []
    for k in range(6):
        points_ = cube[k] - cube[k - 1] if 0 < k else np.zeros(3)
        at = cube[5] if k == 5 else np.zeros(3)
        n = frame_about(axes[k])
        joints.append(Joint(f"j{k}", "revolute", names[k], names[k + 1], points_, at, n, n))
    built, start = system("Bricard", bodies, joints, gravity=DOWN)
    assert built.coupled
    count = mobility(built, start)
    assert (count.freedom, count.redundant) == (1, 1)
    run = simulate(built, start, 2.0, rate=4.0, tolerance=1e-11)
    found = falling(points, np.ones(5), DOWN, np.pi / 4, run.t)
    assert np.allclose(found[:, 5], [0, 0, 1], rtol=0, atol=1e-12)
    assert np.allclose(run.states.r, (found[:, :-1] + found[:, 1:]) / 2, rtol=0, atol=1e-7)
    assert run.imbalance < 1e-8
    assert run.gap.max() < 1e-13
    assert np.ptp(found[:, 3], axis=0).min() > 0.3


def _thin(way):
    """First moment and inertia of a rod of 1 kg about its start."""
    x, y, z = way
    about = (y * y + z * z, x * x + z * z, x * x + y * y, -x * y, -y * z, -x * z)
    return [*(way / 2), *(np.array(about) / 3)]


def test_andrews_squeezer_is_where_the_ivp_test_set_says():
    """Mazzia and Magherini, Test Set for IVP Solvers, II-9: seven bodies in a plane, 0.03 s.

    Their angles: K1 beta, K2 beta + Theta, K3 gamma, K5 delta, K4 Phi + delta, K7 epsilon,
    K6 Omega + epsilon.
    """
    A, B, C = (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)
    beta, theta, gamma, phi, delta, omega, epsilon = (
        -0.0617138900142764496,
        0.0,
        0.455279819163070380,
        0.222668390165885885,
        0.487364979543842550,
        -0.222668390165885885,
        1.23054744454982119,
    )
    s, c = np.sin(gamma), np.cos(gamma)
    F = 0.007 * np.array([np.cos(beta), np.sin(beta)])
    E = np.array(B) + 0.035 * np.array([s, -c])
    bodies = [
        flat("K1", 0.04325, 2.194e-6, (0.00092, 0.0), (0.0, 0.0), beta),
        flat("K2", 0.00365, 4.410e-7, (-0.0115, 0.0), F, beta + theta),
        flat("K3", 0.02373, 5.255e-6, (0.01043, -0.01874), B, gamma),
        flat("K4", 0.00706, 5.667e-7, (0.0, 0.01421), E, phi + delta),
        flat("K5", 0.07050, 1.169e-5, (0.02308, 0.00916), A, delta),
        flat("K6", 0.00706, 5.667e-7, (-0.01421, 0.0), E, omega + epsilon),
        flat("K7", 0.05498, 1.912e-5, (-0.01228, -0.00449), A, epsilon),
    ]
    pairs = [
        (GROUND, "K1", (0.0, 0.0), (0.0, 0.0)),
        ("K1", "K2", (0.007, 0.0), (0.0, 0.0)),
        (GROUND, "K3", B, (0.0, 0.0)),
        ("K2", "K3", (-0.028, 0.0), (0.0, -0.035)),
        ("K3", "K4", (0.0, -0.035), (0.0, 0.0)),
        ("K3", "K6", (0.0, -0.035), (0.0, 0.0)),
        (GROUND, "K5", A, (0.0, 0.0)),
        (GROUND, "K7", A, (0.0, 0.0)),
        ("K5", "K4", (0.04, 0.0), (0.0, 0.02)),
        ("K7", "K6", (0.0, -0.04), (-0.02, 0.0)),
    ]
    joints = [
        Joint(f"j{k}", "revolute", parent, child, (*u, 0.0), (*v, 0.0), motor=k == 0)
        for k, (parent, child, u, v) in enumerate(pairs)
    ]
    spring = Tether("spring", GROUND, "K3", (*C, 0.0), (0.02, -0.018, 0.0), 4530.0, 0.07785)
    built, start = system("squeezer", bodies, joints, gravity=(0.0, 0.0, 0.0), tethers=[spring])
    count = mobility(built, start)
    assert (count.freedom, count.redundant) == (1, 9)
    run = simulate(
        built, start, 0.03, efforts=Constant(jnp.array([0.033])), rate=1000.0, tolerance=1e-11
    )
    beta, theta, gamma, phi, delta, omega, epsilon = (
        15.81077119629904,
        -15.75637105984298,
        0.04082224013073101,
        -0.5347301163226948,
        0.5244099658805304,
        0.5347301163226948,
        1.048080741042263,
    )
    angles = [beta, beta + theta, gamma, phi + delta, delta, omega + epsilon, epsilon]
    p = run.states.p[-1]
    off = 2 * np.arctan2(p[:, 3], p[:, 0]) - angles
    print(np.angle(np.exp(1j * off)), run.q[-1, 0] - beta, run.qd[-1, 0] - 1139.920302151208, run.steps)
    assert np.isclose(run.q[-1, 0], beta, rtol=0, atol=1e-8)
    assert np.allclose(np.angle(np.exp(1j * off)), 0, rtol=0, atol=1e-8)
    assert np.isclose(run.qd[-1, 0], 1139.920302151208, rtol=1e-8)
    assert np.isclose(run.work[-1], 0.033 * (run.q[-1, 0] - run.q[0, 0]), rtol=1e-10)
