"""Dynamics against numbers computed independently for the robots of five papers.

The papers show torques and forces as curves only; where they print a number it is named.
"""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from triskele.description.load import load
from triskele.dynamics.forward import forward_dynamics, mass_matrix
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import rigid
from triskele.dynamics.rod_loads import rod_loads
from triskele.dynamics.torques import torques
from triskele.kinematics.motion import Motion, inverted_u
from triskele.kinematics.velocity import joint_acceleration
from triskele.numerics import batch
from triskele.studies.lumped_delta import lumped_delta, lumped_efforts
from triskele.studies.reduced_loads import reduced_loads

ROWS = 10  # of all small tables: JAX compiles each addition once for each length


def evaluated(robot, function, *arrays):
    """`function` of a robot at N <= ROWS states, in Python: compiling would take longer."""
    n = len(arrays[0])
    found = batch(eqx.Partial(function, robot))(*(np.resize(a, (ROWS, a.shape[1])) for a in arrays))
    return jax.tree.map(lambda leaf: np.asarray(leaf)[:n], found)


def columns(scalars):
    return np.stack(scalars, axis=-1)


def close(ours, theirs, tolerance):
    return np.allclose(ours, theirs, rtol=0, atol=tolerance)


# ABB IRB 360-6/1600 of Gnad et al. with a plate of 2.5 kg, in one state without friction

IRB = rigid(load("abb_irb360_6_1600"), "plate", friction=False)
STATE = (
    np.array([[0.2, -0.3, -1.0, 0.5]]),
    np.array([[1.0, -2.0, 0.5, 3.0]]),
    np.array([[10.0, -20.0, 15.0, 20.0]]),
)


def test_torques_of_the_irb_360():
    tau = columns(evaluated(IRB, inverse_dynamics, *STATE))
    assert close(tau, [-56.9738, 71.4619, -61.4581, 0.3363], 1e-4)


def test_rod_forces_of_the_irb_360():
    lower = columns(evaluated(IRB, rod_loads, *STATE).lower)
    assert close(lower, [35.356, 71.011, -65.628, -68.852, 79.180, 35.576], 1e-3)


def test_reduced_rod_forces_and_flange_loads_of_the_irb_360():
    found = evaluated(IRB, reduced_loads, *STATE)
    lower = [41.522, 60.407, -62.954, -64.456, 70.210, 39.862]
    assert close(columns(found.lower), lower, 1e-3)
    assert close(columns(found.flange_force), [-2.032, -55.865, 62.025], 1e-3)
    assert close(columns(found.flange_moment), [-1.955, 0.071, 0], 1e-3)
    assert close(found.flange_torque, 0.2756, 1e-4)


# D3S-800 of Elshami et al.: 100 mm/s along 45 degrees at z = -847 mm

D3S = load("d3s_800")
# Path coordinate [m]; speeds of the motors [rad/s]; torques [N m]; force [N] and moment [N m] on
# the ground under the base of 30 kg.
PATH = np.array(
    [
        [-0.25, -0.16970992, -0.11501556, 0.05631188, -18.50677, -22.94545, -33.27486,
         -0.0512, -0.0382, 594.3529, -11.0243, 11.8283],
        [-0.05, -0.11771090, -0.05338297, 0.12468591, -24.55541, -25.31895, -27.33829,
         -0.0128, 0.0156, 594.3157, -2.2108, 2.2474],
        [0.00, -0.10264825, -0.03757187, 0.14022011, -25.77231, -25.77308, -25.77153,
         0.0000, 0.0289, 594.3170, 0.0015, 0.0000],
        [0.05, -0.08696375, -0.02165327, 0.15445791, -26.91935, -26.18401, -24.10833,
         0.0125, 0.0408, 594.3227, 2.2839, -2.2473],
        [0.25, -0.02186003, 0.04217642, 0.19591452, -31.21595, -27.54405, -15.73462,
         0.0476, 0.0618, 594.3739, 12.6101, -11.8028],
        [0.50, 0.05575488, 0.12715153, 0.22368569, -36.61579, -28.89100, 0.84375,
         0.0569, 0.0207, 594.4296, 28.6082, -26.3032],
    ]
)  # fmt: skip


def demanded(robot, x, xd):
    """What a motion without acceleration demands, N <= ROWS states of it."""
    names = rigid(robot).mechanism.platform_coordinates
    x, xd = (jnp.asarray(np.resize(part, (ROWS, 3))) for part in (x, xd))
    still = jnp.zeros((ROWS, 3))
    motion = Motion(jnp.arange(float(ROWS)), x, xd, still, still, coordinates=names)
    return torques(robot, motion, friction=False)


@pytest.fixture(scope="module")
def along_the_path():
    s = PATH[:, 0] / np.sqrt(2)
    x = np.stack([s, s, np.full(6, -0.847)], axis=1)
    return demanded(D3S, x, [0.1 / np.sqrt(2), 0.1 / np.sqrt(2), 0])


def test_speeds_and_torques_of_the_d3s_800(along_the_path):
    assert close(along_the_path.joints.qd[:6], PATH[:, 1:4], 5.1e-9)
    assert close(along_the_path.tau[:6], PATH[:, 4:7], 5.1e-6)


def test_forces_under_the_base_of_the_d3s_800(along_the_path):
    held = along_the_path.loads.reactions
    total = np.zeros((ROWS, 6))
    for i, azimuth in enumerate(D3S.geometry.azimuth, 1):
        force, moment = held.of(f"motor_{i}")
        place = 0.125 * np.array([np.cos(azimuth), np.sin(azimuth), 0])
        total += np.concatenate([force, moment + np.cross(place, force)], axis=1)
    total[:, 2] += 30 * 9.81
    assert close(total[:6, :5], PATH[:, 7:], 5.1e-5)
    assert np.abs(total[:, 5]).max() < 0.00145


def test_which_forces_of_the_d3s_800_rigid_bodies_determine(along_the_path):
    """Of 18 redundant constraints none is in the forces of the motors' bearings."""
    held = along_the_path.loads.reactions
    unique = {joint.name: flags for joint, flags in zip(held.joints, held.unique, strict=True)}
    for i in (1, 2, 3):
        assert unique[f"motor_{i}"][:3].all()
    # The torque of motor 1 is about y; across it, its bearing is one of many.
    assert list(unique["motor_1"][3:]) == [False, True, False]
    assert not unique["elbow_rod_1a"][:3].all()
    assert not along_the_path.loads.rods.unique


def test_accelerations_of_the_d3s_800():
    robot = rigid(D3S)
    x = np.tile([0.1 / np.sqrt(2), 0.1 / np.sqrt(2), -0.847], (2, 1))
    xd, tau = np.tile([0.3, -0.2, 0.5], (2, 1)), np.array([[-20.0, -30.0, -25.0], [0, 0, 0]])
    xdd = columns(evaluated(robot, forward_dynamics, x, xd, tau))
    assert close(xdd[0], [-2.51596007, 0.23294913, -0.57953781], 1e-8)
    assert close(xdd[1], [0.15998759, 0.22233154, -10.90971174], 1e-8)
    q = robot.mechanism.inverse(x[0]).components
    _, qdd, _ = joint_acceleration(robot.mechanism, q, x[0], xd[0], xdd[0])
    assert close(qdd, [3.61675169, -0.95047550, -0.88549704], 1e-8)


# Compliant 3PRS of Ruiz et al.

PRS = load("compliant_3prs")


@pytest.fixture(scope="module")
def held():
    """Sliders and forces that hold the table: tilted, lifted, at home, lowered; around home."""
    away = np.zeros((ROWS, 3))
    away[0] = [0.002, np.radians(1), np.radians(-0.5)]
    away[1, 0], away[3, 0] = 0.002, -0.002
    away[4:7] = np.diag([1e-5, 1e-4, 1e-4])
    away[7:] = -away[4:7]
    home = [float(value) for value in rigid(PRS).mechanism.home()]
    return demanded(PRS, home + away, np.zeros(3))


def test_forces_that_hold_the_3prs(held):
    """Flexures counted once; at home gravity is all: (0.153 + 3 * 0.028 / 2) kg / 3."""
    assert held.loads is None
    assert close(held.tau[0], [71.031, 76.834, -17.270], 5.1e-4)
    assert close(held.tau[1], 44.01, 5.1e-3)
    assert close(held.tau[2], (0.153 + 3 * 0.028 / 2) * 9.81 / 3, 1e-12)
    assert close(held.tau[3], -43.87, 5.1e-3)


def test_stiffness_and_inertia_of_the_3prs_at_home(held):
    """Without rotors: 0.8189 kg up and down, and what the sliders feel of all."""
    s = np.asarray(held.joints.q)
    moved, pulled = s[4:7] - s[7:], held.tau[4:7] - held.tau[7:]
    K = np.linalg.solve(moved, pulled)
    assert np.allclose(np.sort(np.linalg.eigvals(K)), [21954.6, 66721, 66721], rtol=1e-5)
    robot = dataclasses.replace(rigid(PRS, friction=False), rotors=jnp.zeros(3))
    home = np.array([[float(value) for value in robot.mechanism.home()]])
    M = np.array(evaluated(robot, mass_matrix, home))[..., 0]
    assert close(np.diag(M), [0.8189, 8.23e-4, 8.23e-4], [5.1e-5, 5.1e-7, 5.1e-7])
    assert close(M - np.diag(np.diag(M)), 0, 1e-12)
    J = 2 * np.diag([1e-5, 1e-4, 1e-4]) @ np.linalg.inv(moved).T  # dx/ds
    felt = np.linalg.eigvalsh(J.T @ M @ J)
    assert close(felt, [0.24206, 0.24206, 0.27296], 6e-6)


# Flexible Delta of Kuo, taken as rigid. His z points down: turned about x, limbs 2 and 3 change
# places.

KUO = rigid(load("flexible_delta"))


def kuo(rows):
    """Torques with limbs in Kuo's order and z down, where lifting is negative."""
    return rows[:, [0, 2, 1]]


def circle(t):
    """(0.1 cos, 0.1 sin, 0.5) m of Kuo, one turn a second, and its derivatives."""
    w = 2 * np.pi
    c, s, zero = np.cos(w * t), np.sin(w * t), 0 * t
    return (
        np.stack([0.1 * c, -0.1 * s, zero - 0.5], axis=1),
        0.1 * w * np.stack([-s, -c, zero], axis=1),
        0.1 * w**2 * np.stack([-c, s, zero], axis=1),
    )


@pytest.fixture(scope="module")
def cycles():
    """States of the circle, then of the inverted U every 5 ms."""
    u = inverted_u([-0.08, 0.02, -0.5], [0.16, -0.04, -0.2], rate=200)
    fine = circle(np.linspace(0, 1, 721))
    return tuple(np.concatenate([a, b]) for a, b in zip(fine, (u.x, u.xd, u.xdd), strict=True))


def over(function, states):
    return jax.tree.map(np.asarray, batch(function)(*states))


def test_torques_of_distributed_rods(cycles):
    tau = kuo(columns(over(eqx.Partial(inverse_dynamics, KUO), cycles)))
    turn, u = tau[:721], tau[721:]
    assert close(turn[0], [-1.924489, -2.442947, -2.442947], 1e-5)
    assert close(turn[180], [-2.231735, -1.953699, -2.614697], 1e-5)
    assert close(turn.min(axis=0), -2.6812, 6e-5)
    assert close(turn.max(axis=0), -1.9245, 6e-5)
    assert close(u.min(axis=0), [-5.466, -4.314, -4.981], 6e-4)
    assert close(u.max(axis=0), [-0.293, -0.309, -0.300], 6e-4)


@pytest.mark.parametrize(
    "whole, first, second",
    [
        (False, [-1.836669, -2.494714, -2.494714], [-2.248237, -1.882540, -2.685953]),
        (True, [-2.384194, -3.315451, -3.315451], [-2.977448, -2.452020, -3.568416]),
    ],
)
def test_torques_of_lumped_rods(cycles, whole, first, second):
    """Half of each rod at its ends, or with Kuo all of it at both."""
    tau = kuo(
        columns(over(eqx.Partial(lumped_efforts, lumped_delta(KUO, whole=whole)), cycles).tau)
    )
    assert close(tau[0], first, 1e-6)
    assert close(tau[180], second, 1e-6)
    if whole:
        assert close(tau[:721].min(axis=0), -3.6621, 6e-5)
        assert close(tau[:721].max(axis=0), -2.3842, 6e-5)
