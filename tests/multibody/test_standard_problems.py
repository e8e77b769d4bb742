"""Mechanisms that textbooks and benchmarks solve, against references without bodies and joints.

Rods are uniform. Where a mechanism has one degree of freedom, the reference is the equation
of its energy; the kinetic energy of a rod follows from the velocities u, v of its ends,
T = m (u.u + u.v + v.v) / 6.
"""

import jax
import jax.numpy as jnp
import numpy as np
from linkages import (
    DOWN,
    FOUR_BAR_MASSES,
    G,
    accelerated,
    below,
    double_pendulum,
    flat,
    four_bar,
    four_bar_points,
    pendulum_accelerations,
    rod,
)
from scipy.integrate import solve_ivp

from triskele.multibody import (
    GROUND,
    Body,
    Drive,
    Joint,
    State,
    Tether,
    assembled,
    frame_about,
    mobility,
    reactions,
    simulate,
    system,
)
from triskele.multibody.integrate import Constant

H = 2e-3
SLOPE = np.array([1, -8, 0, 8, -1]) / (12 * H)  #: of the fourth order
BEND = np.array([-1, 16, -30, 16, -1]) / (12 * H**2)


def push(points, masses, s, sd):
    """sdd of a chain of rods with joints at points(s): M sdd + M' sd^2 / 2 + U' = 0."""
    ends = points(s + H * np.arange(-4, 5))
    v = np.array([np.tensordot(SLOPE, ends[k : k + 5], 1) for k in range(5)])
    u, v = v[:, :-1], v[:, 1:]
    M = np.sum(u * u + u * v + v * v, axis=2) @ masses / 3
    U = -(ends[2:7, :-1] + ends[2:7, 1:]) @ DOWN @ masses / 2
    return -(SLOPE @ M * sd**2 / 2 + SLOPE @ U) / M[2]


def centres(points):
    """Of the rods."""
    return (points[:, :-1] + points[:, 1:]) / 2


# Open chains


def test_double_pendulum_swings_as_its_two_angles_say_and_hangs_on_what_newton_asks():
    masses, lengths, angles = np.array([2.0, 1.0]), np.array([1.0, 0.7]), (2.0, 2.5)

    def rates(_, y):
        return [*y[2:], *pendulum_accelerations(masses, lengths, y[:2], y[2:])]

    built, start = double_pendulum(masses, lengths, angles)
    run = simulate(built, start, 2.0, rate=2.0, tolerance=1e-11)
    other = solve_ivp(rates, (0, 2), [*angles, 0, 0], "DOP853", run.t, rtol=1e-12, atol=1e-12).y
    turn, speed = other[:2], other[2:]
    e = below(turn)  # (x or y, rod, instant)
    gain = np.array([rates(0, y)[2:] for y in other.T]).T
    edd = gain * np.array([np.cos(turn), np.sin(turn)]) - speed**2 * e
    places, pushes = (
        np.array([part[:, 0] / 2, part[:, 0] + 0.35 * part[:, 1]]) for part in (e, edd)
    )
    assert np.allclose(run.states.r[..., :2], places.transpose(2, 0, 1), rtol=0, atol=1e-8)
    held = reactions(built, run.states)
    knee = masses[1] * (pushes[1].T - DOWN[:2])
    shoulder = knee + masses[0] * (pushes[0].T - DOWN[:2])
    assert np.allclose(held.of("knee")[0][:, :2], knee, rtol=0, atol=1e-6)
    assert np.allclose(held.of("shoulder")[0][:, :2], shoulder, rtol=0, atol=1e-6)
    assert np.allclose(held.moment, 0, rtol=0, atol=1e-10)
    assert held.unique.all()
    assert held.imbalance < 1e-9


def test_heavy_top_precesses_steadily_at_the_rate_that_the_quadratic_gives():
    """C n W - A W^2 cos(tilt) = m g l, with all spin n about its axis, A and C about its tip."""
    m, l, A, C, tilt, rate = 1.5, 0.3, 0.2, 0.05, 0.6, 4.0
    n = (m * G * l + A * rate**2 * np.cos(tilt)) / (C * rate)
    top = Body("top", (m, 0.0, 0.0, m * l, A, A, C, 0.0, 0.0, 0.0), np.eye(3, 4))
    built, _ = system("top", [top], [Joint("tip", "spherical", GROUND, "top")], size=l)
    axis = np.array([0.0, -np.sin(tilt), np.cos(tilt)])
    p = [np.cos(tilt / 2), np.sin(tilt / 2), 0.0, 0.0]
    v = rate * np.cross([0.0, 0.0, 1.0], l * axis)
    w = [0.0, rate * np.sin(tilt), n]
    start = State(*(jnp.asarray(part)[None] for part in (l * axis, p, v, w)))
    run = simulate(built, start, 3.0, rate=1.0, tolerance=1e-11)
    angle = rate * run.t
    cone = [np.sin(tilt) * np.sin(angle), -np.sin(tilt) * np.cos(angle), 0 * angle + np.cos(tilt)]
    assert np.allclose(run.states.r[:, 0], l * np.transpose(cone), rtol=0, atol=1e-8)
    assert np.allclose(run.states.w[:, 0, 2], n, rtol=0, atol=1e-9)


# Closed chains


def test_four_bar_linkage_accelerates_as_its_closed_loop_says_and_is_redundant_in_space():
    built, guess = four_bar(2.0, loose=0.01)
    start = assembled(built, guess)
    angle = 2 * np.arctan2(start.p[:1, 3], start.p[:1, 0])
    assert np.allclose(start.r, centres(four_bar_points(angle))[0], rtol=0, atol=1e-12)
    assert mobility(built, start)[1:5] == (20, 17, 1, 3)
    for s, sd in ((float(angle[0]), 0.0), (0.5, 3.0), (4.0, -6.0)):
        sdd = push(four_bar_points, FOUR_BAR_MASSES, s, sd)
        t = H * np.arange(-2, 3)
        ends = four_bar_points(s + sd * t + sdd * t * t / 2)
        way = np.diff(ends, axis=1)
        turn = np.unwrap(np.arctan2(way[..., 1], way[..., 0]), axis=0)
        p = np.array([np.cos(turn[2] / 2), 0 * turn[2], 0 * turn[2], np.sin(turn[2] / 2)]).T
        w = np.outer(SLOPE @ turn, [0.0, 0.0, 1.0])
        v, vd = (np.tensordot(order, centres(ends), 1) for order in (SLOPE, BEND))
        state = State(*(jnp.asarray(part) for part in (centres(ends)[2], p, v, w)))
        found = accelerated(built, state, jnp.zeros(0)).twist
        assert np.isclose(found[0, 5], sdd, rtol=1e-8, atol=1e-8)
        assert np.allclose(found[:, :3], vd, rtol=0, atol=1e-6)
        assert np.allclose(found[:, 5], BEND @ turn, rtol=0, atol=1e-6)


def test_slider_crank_asks_of_its_motor_what_energy_says():
    """A crank of 0.1 m and 1 kg, a rod of 0.3 m and 2 kg, a slider of 3 kg; gravity along y."""
    q, qd, qdd = np.array([[0.3, 2.0, 4.0], [5.0, -7.0, 6.0], [0.0, 30.0, -20.0]])
    s, c = 0.1 * np.sin(q), 0.1 * np.cos(q)
    x = c + np.sqrt(0.09 - s**2)
    slope, bend = -s - s * c / (x - c), -c - (c * c - s * s) / (x - c) - (s * c) ** 2 / (x - c) ** 3

    def energy(t):
        angle, speed = q + qd * t + qdd * t**2 / 2, qd + qdd * t
        s, c = 0.1 * np.sin(angle), 0.1 * np.cos(angle)
        u = speed * np.array([-s, c])
        v = speed * np.array([-s - s * c / np.sqrt(0.09 - s**2), 0 * s])
        uu, uv, vv = (np.sum(a * b, axis=0) for a, b in ((u, u), (u, v), (v, v)))
        return 1.0 * uu / 6 + 2.0 * (uu + uv + vv) / 6 + 3.0 * vv / 2 + (1.0 + 2.0) * G * s / 2

    slide = frame_about((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    joints = [
        Joint("motor", "revolute", GROUND, "crank", motor=True),
        Joint("pin", "revolute", "crank", "rod", point=(0.1, 0.0, 0.0)),
        Joint("wrist", "revolute", "rod", "slider", point=(0.3, 0.0, 0.0)),
        Joint("guide", "prismatic", GROUND, "slider", frame=slide, child_frame=slide),
    ]
    drives = [Drive(*(jnp.asarray(part[k : k + 1]) for part in (q, qd, qdd))) for k in range(3)]
    built, states = [], []
    for k in range(3):
        pin, end = (c[k], s[k]), (x[k], 0.0)
        bodies = [rod("crank", 1.0, (0.0, 0.0), pin), rod("rod", 2.0, pin, end)]
        bodies.append(flat("slider", 3.0, 0.01, (0.0, 0.0), end, 0.0))
        whole, guess = system("s", bodies, joints, gravity=DOWN, prescribed=True, size=0.4)
        built.append(whole)
        states.append(assembled(whole, guess, drives[k]))
    states, drives = (
        jax.tree.map(lambda *leaves: jnp.stack(leaves), *many) for many in (states, drives)
    )
    held = reactions(built[0], states, drive=drives)
    h = 1e-4
    power = (8 * (energy(h) - energy(-h)) - energy(2 * h) + energy(-2 * h)) / (12 * h)
    assert np.allclose(states.v[:, 2, 0], slope * qd, rtol=0, atol=1e-12)
    assert np.allclose(held.effort[:, 0], power / qd, rtol=1e-8)
    pull = 3.0 * (slope * qdd + bend * qd**2)
    assert np.allclose(held.of("wrist")[0][:, 0], pull, rtol=1e-9)
    # Hinges are parallel: nothing tells what they carry along z, and against a tilt.
    hinge = [True, True, False, False, False, True]  # along x, y, z
    slide = [True, False, True, False, True, False]  # along y, z, x: its axis is the last
    assert held.unique.tolist() == [hinge, hinge, hinge, slide]
    assert held.unique_effort.all()
    assert held.imbalance < 1e-9


def test_a_lift_with_an_arm_asks_of_its_drives_what_newton_says():
    """A lift of 2 kg along y, and on it a motor that turns a rod of 0.8 m and 3 kg."""
    (z, q), (zd, qd), (zdd, qdd) = drive = np.array([[0.4, 0.7], [1.0, -3.0], [2.0, 5.0]])
    up = frame_about((0.0, 1.0, 0.0))
    joints = [
        Joint("lift", "prismatic", GROUND, "cabin", frame=up, child_frame=up, motor=True),
        Joint("arm", "revolute", "cabin", "arm", motor=True),
    ]
    bodies = [
        flat("cabin", 2.0, 0.1, (0.0, 0.0), (0.0, z), 0.0),
        rod("arm", 3.0, (0.0, z), (0.8 * np.cos(q), z + 0.8 * np.sin(q))),
    ]
    built, state = system("lift", bodies, joints, gravity=DOWN, prescribed=True, size=1.0)
    v = [[0.0, zd, 0.0], [-0.4 * qd * np.sin(q), zd + 0.4 * qd * np.cos(q), 0.0]]
    w = [[0.0, 0.0, 0.0], [0.0, 0.0, qd]]
    state = state._replace(v=jnp.asarray(v), w=jnp.asarray(w))
    one = jax.tree.map(lambda leaf: leaf[None], (state, Drive(*jnp.asarray(drive))))
    held = reactions(built, one[0], drive=one[1])
    rise = zdd + 0.4 * (qdd * np.cos(q) - qd**2 * np.sin(q))
    force = 2.0 * (zdd + G) + 3.0 * (rise + G)
    torque = 3.0 * 0.8**2 / 3 * qdd + 3.0 * (zdd + G) * 0.4 * np.cos(q)
    assert np.allclose(held.effort, [[force, torque]], rtol=1e-11)
    assert np.isclose(held.of("arm")[0][0, 1], 3.0 * (rise + G), rtol=1e-11)
    assert np.isclose(held.of("arm")[1][0, 2], torque, rtol=1e-11)


# Bricard's mechanism: six rods on edges of a cube, one of them held, overconstrained


def bricard_points(s):
    """Its joints (N, 6, 3) at N angles of its closed curve; a cube at 45 degrees.

    The joints turn by a and b by turns, (1 + cos a)(1 + cos b) = 1. With A = tan(a/2) and
    B = tan(b/2) that is A^2 + B^2 + A^2 B^2 = 3, a closed curve around zero.
    """
    square = (np.cos(s) * np.sin(s)) ** 2
    radius = np.sqrt(6 / (1 + np.sqrt(1 + 12 * square)))
    turns = [2 * np.arctan(radius * part)[:, None] for part in (np.cos(s), np.sin(s))]
    way, axis, ends = np.array([[0, 0, -1]]), np.array([[0, -1, 0]]), [np.zeros((len(s), 3))]
    for k in range(5):
        way = np.cos(turns[k % 2]) * way + np.sin(turns[k % 2]) * np.cross(axis, way)
        axis = (-1) ** k * np.cross(way, axis)
        ends.append(ends[-1] + way)
    return np.stack(ends, axis=1)


def thin_rod(name, start, end):
    """Of 1 kg, parallel to O."""
    x, y, z = way = end - start
    about = (y * y + z * z, x * x + z * z, x * x + y * y, -x * y, -y * z, -x * z)
    return Body(
        name, (1.0, *(way / 2), *(np.array(about) / 3)), np.column_stack([np.eye(3), start])
    )


def test_bricards_mechanism_falls_along_the_curve_of_its_closed_loop():
    """Benchmark A04 of the IFToMM library, whose solution is not at hand: rods of 1 m and 1 kg."""
    cube = bricard_points(np.array([np.pi / 4]))[0]
    assert np.allclose(cube[3], [1, -1, 1], rtol=0, atol=1e-15)
    names = [GROUND, *"abcde", GROUND]
    bodies = [thin_rod(names[k + 1], cube[k], cube[k + 1]) for k in range(5)]
    origins = np.array([np.zeros(3), *cube[:5], np.zeros(3)])
    hinges = [frame_about(axis) for axis in np.eye(3)[[1, 2, 0, 1, 2, 0]]]
    joints = [
        Joint(
            f"hinge {k}",
            "revolute",
            *names[k : k + 2],
            *(cube[k] - origins[k : k + 2]),
            hinges[k],
            hinges[k],
        )
        for k in range(6)
    ]
    built, start = system("Bricard", bodies, joints, gravity=DOWN)
    assert built.coupled
    assert mobility(built, start)[1:5] == (30, 29, 1, 1)
    run = simulate(built, start, 2.0, rate=4.0, tolerance=1e-11)

    def rates(_, y):
        return [y[1], push(bricard_points, np.ones(5), *y)]

    span, tight = (0, run.t[-1]), {"rtol": 1e-11, "atol": 1e-11}
    found = bricard_points(solve_ivp(rates, span, [np.pi / 4, 0], "DOP853", run.t, **tight).y[0])
    assert np.allclose(found[:, 5], [0, 0, 1], rtol=0, atol=1e-12)
    assert np.allclose(run.states.r, centres(found), rtol=0, atol=1e-7)
    assert run.imbalance < 1e-8
    assert run.gap.max() < 1e-13
    assert np.ptp(found[:, 3], axis=0).min() > 0.3


# Andrews' squeezer: seven bodies in a plane, one degree of freedom, one spring

A, B, C = (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)
#: mass, inertia and centre of K1 to K7
SQUEEZER = (
    (0.04325, 2.194e-6, (0.00092, 0.0)),
    (0.00365, 4.410e-7, (-0.0115, 0.0)),
    (0.02373, 5.255e-6, (0.01043, -0.01874)),
    (0.00706, 5.667e-7, (0.0, 0.01421)),
    (0.07050, 1.169e-5, (0.02308, 0.00916)),
    (0.00706, 5.667e-7, (-0.01421, 0.0)),
    (0.05498, 1.912e-5, (-0.01228, -0.00449)),
)
#: parent, child, and the point of each
SQUEEZER_JOINTS = (
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
)


def squeezer_angles(beta, theta, gamma, phi, delta, omega, epsilon):
    """Of K1 to K7 in the plane, from those of the test set."""
    return np.array([beta, beta + theta, gamma, phi + delta, delta, omega + epsilon, epsilon])


def test_andrews_squeezer_is_where_the_ivp_test_set_says():
    """Mazzia and Magherini, Test Set for IVP Solvers, Andrews' squeezing mechanism, at 0.03 s."""
    start = squeezer_angles(
        -0.0617138900142764496,
        0.0,
        0.455279819163070380,
        0.222668390165885885,
        0.487364979543842550,
        -0.222668390165885885,
        1.23054744454982119,
    )
    end = squeezer_angles(
        15.81077119629904,
        -15.75637105984298,
        0.04082224013073101,
        -0.5347301163226948,
        0.5244099658805304,
        0.5347301163226948,
        1.048080741042263,
    )
    F, E = -0.007 * below(start[0] - np.pi / 2), B + 0.035 * below(start[2])
    places = ((0.0, 0.0), F, B, E, A, E, A)
    bodies = [flat(f"K{k}", *SQUEEZER[k - 1], places[k - 1], start[k - 1]) for k in range(1, 8)]
    joints = [
        Joint(f"j{k}", "revolute", parent, child, (*u, 0.0), (*v, 0.0), motor=k == 0)
        for k, (parent, child, u, v) in enumerate(SQUEEZER_JOINTS)
    ]
    spring = Tether("spring", GROUND, "K3", (*C, 0.0), (0.02, -0.018, 0.0), 4530.0, 0.07785)
    built, state = system("squeezer", bodies, joints, gravity=(0.0, 0.0, 0.0), tethers=[spring])
    assert mobility(built, state)[1:5] == (50, 41, 1, 9)
    motor = Constant(jnp.array([0.033]))
    run = simulate(built, state, 0.03, efforts=motor, rate=1000.0, tolerance=1e-11)
    turns = 2 * np.arctan2(run.states.p[-1, :, 3], run.states.p[-1, :, 0])
    assert np.allclose(np.exp(1j * turns), np.exp(1j * end), rtol=0, atol=1e-8)
    assert np.isclose(run.q[-1, 0], end[0], rtol=0, atol=1e-8)
    assert np.isclose(run.qd[-1, 0], 1139.920302151208, rtol=1e-8)
    assert np.isclose(run.work[-1], 0.033 * (end[0] - start[0]), rtol=1e-8)
    assert run.imbalance < 1e-9  # rounding differs from processor to processor
