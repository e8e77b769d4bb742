"""Accelerations where joints are redundant and bodies have no mass; states moved onto joints."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from linkages import accelerated, double_pendulum, four_bar, pendulum_accelerations

import triskele as tk
from triskele.multibody import State, accelerations, assembled, from_robot
from triskele.multibody.forces import forces
from triskele.multibody.solve import moved, projected, violation
from triskele.multibody.system import conditions, jacobian, motion_of

onto = eqx.filter_jit(projected)
TAU = jnp.array([-20.0, -30.0, -25.0])


def mass_matrix(system, motion):
    A = np.asarray(motion.A)
    M = np.zeros((len(system.mass), 6, len(system.mass), 6))
    for k, (m, I) in enumerate(zip(*map(np.asarray, (system.mass, system.inertia)), strict=True)):
        M[k, :3, k, :3] = m * np.eye(3)
        M[k, 3:, k, 3:] = A[k] @ I @ A[k].T
    return M.reshape(6 * len(system.mass), -1)


# The D3S-800: 17 bodies, 117 conditions, 18 of them redundant


@pytest.fixture(scope="module")
def d3s():
    """In motion at X = 0.1 (1, 1, 0) / sqrt(2) - (0, 0, 0.847)."""
    robot = from_robot(tk.load("d3s_800"))
    return robot.system, robot.at((0.1 / np.sqrt(2), 0.1 / np.sqrt(2), -0.847), (0.3, -0.2, 0.5))


@pytest.fixture(scope="module")
def linear(d3s):
    """J, M, f and gamma there."""
    J, gamma, f, motion = _parts(*d3s)
    return np.asarray(J), mass_matrix(d3s[0], motion), np.asarray(f)[:-1].reshape(-1), gamma


@eqx.filter_jit
def _parts(system, state):
    motion = motion_of(system, state)
    rows = conditions(system, motion)
    return jacobian(system, rows), rows.gamma, forces(system, motion, TAU), motion


def test_the_d3s_800_accelerates_as_its_closed_form_says(d3s):
    """Elshami et al. print no such number; it is from a closed form in three coordinates."""
    system, state = d3s
    twist = np.asarray(accelerated(system, state, TAU).twist)
    xdd = twist[system.body("platform")]
    assert np.allclose(xdd[:3], [-2.51596007, 0.23294913, -0.57953781], rtol=0, atol=1e-8)
    assert np.allclose(xdd[3:], 0, rtol=0, atol=1e-9)
    azimuth = 2 * np.pi / 3 * np.arange(3)
    axes = np.stack([-np.sin(azimuth), np.cos(azimuth), 0 * azimuth], axis=1)
    arms = twist[[system.body(f"arm_{i}") for i in (1, 2, 3)], 3:]
    turning = np.sum(axes * arms, axis=1)
    assert np.allclose(turning, [3.61675169, -0.95047550, -0.88549704], rtol=0, atol=1e-8)


def test_multipliers_hold_the_bodies_and_are_the_least_that_do(d3s, linear):
    J, M, f, gamma = linear
    result = accelerated(*d3s, TAU)
    a, lam = np.asarray(result.twist).reshape(-1), np.asarray(result.lam)
    assert np.allclose(M @ a + J.T @ lam, f, rtol=0, atol=1e-9 * np.abs(f).max())
    assert np.allclose(J @ a, gamma, rtol=0, atol=1e-9)
    least = np.linalg.lstsq(J.T, f - M @ a)[0]
    assert np.allclose(lam, least, rtol=0, atol=1e-5 * np.abs(lam).max())


def test_decomposition_of_the_whole_matrix_fails_or_is_metres_per_second_squared_off(d3s, linear):
    """Which of the two is a matter of how bodies and joints are numbered."""
    J, M, f, gamma = linear
    matrix = np.block([[M, J.T], [J, np.zeros((117, 117))]])
    right, place = np.concatenate([f, gamma]), 6 * d3s[0].body("platform")
    errors = []
    for seed in range(30):
        order = np.random.default_rng(seed).permutation(len(right))
        try:
            solved = np.linalg.solve(matrix[np.ix_(order, order)], right[order])
        except np.linalg.LinAlgError:
            continue
        answer = solved[np.argsort(order)][place : place + 3]
        errors.append(np.linalg.norm(answer - [-2.51596007, 0.23294913, -0.57953781]))
    assert errors
    assert min(errors) > 0.1


def test_a_state_beside_the_joints_is_moved_to_the_nearest_on_them(d3s, linear):
    system, state = d3s
    J, M, _, _ = linear
    random = np.random.default_rng(1)
    off = moved(state, jnp.asarray(1e-5 * random.uniform(-1, 1, (17, 6))))
    off = off._replace(
        v=off.v + random.uniform(-1, 1, (17, 3)), w=off.w + random.uniform(-1, 1, (17, 3))
    )
    assert violation(system, off)[0] > 1e-6
    there = onto(system, off)
    assert max(violation(system, there)) < 1e-14
    again = onto(system, there)
    assert all(np.allclose(a, b, rtol=0, atol=1e-14) for a, b in zip(there, again, strict=True))
    assert np.allclose(np.linalg.norm(there.p, axis=1), 1, rtol=0, atol=1e-15)
    # Nearest in the metric of M: free motions are normal to the way there.
    free = np.linalg.svd(J)[2][99:]
    motion = motion_of(system, there)
    kick = [motion.v - motion_of(system, off).v, motion.w - motion_of(system, off).w]
    kick = np.concatenate(kick, axis=1)[:-1].reshape(-1)
    assert np.abs(free @ M @ kick).max() < 1e-3 * np.abs(M @ kick).max()
    way = np.concatenate([there.r - off.r, _turn(off.p, there.p)], axis=1).reshape(-1)
    assert np.abs(free @ M @ way).max() < 1e-3 * np.abs(M @ way).max()


def _turn(p, q):
    """The small turn from p to q, in O."""
    a, b = np.asarray(p[:, :1]), np.asarray(p[:, 1:])
    c, d = np.asarray(q[:, :1]), np.asarray(q[:, 1:])
    return 2 * (a * d - c * b - np.cross(d, b))


# Robots with rotors, friction, springs and, the first, an end effector without mass


@pytest.mark.parametrize(
    "name, motion",
    [
        (
            "abb_irb360_6_1600",
            ((0.1, -0.2, -0.95, 0.5), (0.5, -0.3, 0.4, 2.0), (3.0, -9.0, 5.0, 40.0)),
        ),
        ("compliant_3prs", ((0.0782, 0.01, -0.008), (0.02, 0.1, -0.2), (0.5, -6.0, 7.0))),
    ],
)
def test_all_bodies_of_a_robot_accelerate_as_its_closed_form_says(name, motion):
    """Under the efforts that inverse dynamics asks for."""
    file = tk.load(name)
    x, xd, xdd = (np.array(part) for part in motion)
    tau = tk.inverse_dynamics(tk.rigid(file), x, xd, xdd)
    robot = from_robot(file)
    assert robot.system.coupled
    h = 1e-5
    before, now, after = (
        robot.at(tuple(x + xd * t + xdd * t * t / 2), tuple(xd + xdd * t)) for t in (-h, 0.0, h)
    )
    twist = np.asarray(accelerated(robot.system, now, jnp.stack(tau)).twist)
    A = np.asarray(motion_of(robot.system, now).A)[:-1]
    pushes = {"v": twist[:, :3], "w": np.einsum("bji,bj->bi", A, twist[:, 3:])}
    for part, push in pushes.items():
        slope = (getattr(after, part) - getattr(before, part)) / (2 * h)
        assert np.allclose(push, slope, rtol=0, atol=1e-7 * np.abs(slope).max())


def test_a_link_without_mass_carries_a_pendulum():
    """As in the textbook of the double pendulum, with a first mass of zero."""
    masses, lengths, angles, rates = (0.0, 1.0), (1.0, 0.7), (0.4, 1.1), (2.0, -3.0)
    system, state = double_pendulum(masses, lengths, angles)
    assert system.coupled
    (a, b), (ad, bd) = angles, rates
    # The link without mass has its centre, like its frame, at the shoulder.
    v = [ad * np.cos(a) + 0.35 * bd * np.cos(b), ad * np.sin(a) + 0.35 * bd * np.sin(b), 0.0]
    w = np.outer(rates, [0.0, 0.0, 1.0])
    state = State(state.r, state.p, jnp.asarray([np.zeros(3), v]), jnp.asarray(w))
    assert max(violation(system, state)) < 1e-15
    twist, lam = accelerated(system, state, jnp.zeros(0))
    assert np.allclose(
        twist[:, 5], pendulum_accelerations(masses, lengths, angles, rates), rtol=1e-11
    )
    pull = twist[1, :3] - system.gravity  # of the link, on 1 kg, along itself
    for joint in system.joints:
        assert np.allclose(-lam[np.array(joint.rows[:3])], pull, rtol=0, atol=1e-10)
    assert np.isclose(pull[0] * np.cos(a) + pull[1] * np.sin(a), 0, rtol=0, atol=1e-10)


# Derivatives and batches


@pytest.fixture(scope="module")
def linkage():
    """The four-bar linkage, redundant as well."""
    system, guess = four_bar(2.0)
    return system, assembled(system, guess)


def test_gradients_go_through_accelerations(linkage):
    system, state = linkage

    @eqx.filter_jit
    def turning(masses):
        changed = eqx.tree_at(lambda system: system.mass, system, masses)
        return accelerations(changed, state, jnp.zeros(0)).twist[0, 5]

    slope = eqx.filter_jit(jax.grad(turning))(system.mass)
    h = 1e-4
    for k in range(3):
        step = jnp.asarray(np.where(np.arange(3) == k, h, 0.0))
        difference = (turning(system.mass + step) - turning(system.mass - step)) / (2 * h)
        assert abs(difference) > 1e-2
        assert np.isclose(slope[k], difference, rtol=1e-6)


def test_a_batch_is_what_its_states_are_one_by_one(linkage):
    system, state = linkage
    w = jnp.linspace(0.0, 2.0, 3)[:, None, None] * state.w[None]
    many = State(*(jnp.repeat(part[None], 3, axis=0) for part in state[:3]), w)
    batch = eqx.filter_jit(
        lambda many: jax.lax.map(lambda one: accelerations(system, one, jnp.zeros(0)), many)
    )(many)
    for k in range(3):
        one = accelerated(system, jax.tree.map(lambda leaf, k=k: leaf[k], many), jnp.zeros(0))
        assert np.allclose(batch.twist[k], one.twist, rtol=1e-13, atol=1e-13)
        assert np.allclose(batch.lam[k], one.lam, rtol=1e-11, atol=1e-11)
