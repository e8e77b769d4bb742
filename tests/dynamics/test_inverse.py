"""Inverse dynamics by hand, its symmetries, and its two linear forms."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from random_motions import (
    columns,
    evaluated,
    evaluated_each,
    frictionless,
    motions,
    ten_of_point,
    uneven,
)
from rubbing import sprung_delta
from triangle import BELOW, triangle

from triskele.dynamics.inverse import inverse_dynamics, path_efforts, regressor
from triskele.kinematics.velocity import jacobian, joint_acceleration
from triskele.laws.friction import FrictionLaw

G = 9.81


def torques(robot, xd=(0, 0, 0), xdd=(0, 0, 0)):
    """Of the triangle, 4 m below."""
    states = BELOW, np.array([xd], float), np.array([xdd], float)
    return columns(evaluated(eqx.Partial(inverse_dynamics, robot), *states))[0]


# By hand: 3 m arms, 5 m rods, platform 4 m below; then all of it moves down at 3 m per radian.


@pytest.mark.parametrize("pairs", [False, True])
def test_level_arms_lift_all_that_hangs_on_them(pairs):
    robot = triangle(arm=2.0, rod=1.0, platform=4.0, rotors=0.5, pairs=pairs)
    # Up by 6 m/s^2 the arms turn by -2 rad/s^2; all masses together are 13 kg, 3 m per radian.
    tau = torques(robot, xdd=(0, 0, 6))
    assert np.allclose(tau, -13 * (G + 6) - 0.5 * 2, rtol=1e-13)


def test_arms_brake_while_the_platform_sinks_evenly():
    # At 1 rad/s elbow and wrist both sink at 3 m/s. s.s = 25 twice derived: 12 qdd = -9.
    robot = triangle(arm=2.0)
    tau = torques(robot, xd=(0, 0, -3))
    assert np.allclose(tau, 2 * (9 * -0.75 - 3 * G), rtol=1e-13)


def test_gravity_may_pull_sideways():
    # dq/dx = (-u/4, -1/3), so torques of 8/3 m g cos(phi) hold m g along x.
    tau = torques(triangle(platform=4.0, gravity=(G, 0.0, 0.0)))
    assert np.allclose(tau, 8 / 3 * 4 * G * np.array([1, -0.5, -0.5]), rtol=1e-13)


def test_arms_turn_against_the_friction_of_their_elbows():
    # While all sinks the rods do not turn: balls at the wrists rest, at the elbows turn as arms.
    law = FrictionLaw(
        coulomb=jnp.array(0.5), viscous=jnp.array(0.3), smoothing_speed=jnp.array(1e-3)
    )
    robot = triangle(platform=4.0, gravity=(0.0, 0.0, 0.0), pairs=True)
    tau = torques(dataclasses.replace(robot, ball_friction=law), xd=(0, 0, -6))
    assert np.allclose(tau, 2 * (0.5 + 0.3 * 2), rtol=1e-12)


# Laws


def test_turning_the_motion_by_120_degrees_hands_it_to_the_next_limb():
    robot = frictionless("omron_mini_delta")
    states = motions(robot, 12)
    c, s = -0.5, np.sqrt(0.75)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    rows = (np.concatenate([part, part @ turn.T]) for part in states)
    before, after = np.split(columns(evaluated(eqx.Partial(inverse_dynamics, robot), *rows)), 2)
    assert np.allclose(after[:, [1, 2, 0]], before, rtol=0, atol=1e-12)
    assert np.abs(after - before).max() > 1


def test_rotors_and_payload_add_what_they_are():
    """A mass 0.2 m beside the axis of the flange: its inertia about it, its pull on the arms."""
    robot = uneven(frictionless("abb_irb360_6_1600"))
    bare = eqx.tree_at(
        lambda robot: (robot.rotors, robot.payload), robot, (jnp.zeros(4), jnp.zeros(10))
    )
    I, m, a = np.array([0.3, 0.4, 0.5, 0.6]), 2.0, 0.2
    added = eqx.tree_at(
        lambda robot: (robot.rotors, robot.payload),
        bare,
        (jnp.asarray(I), jnp.asarray(ten_of_point(m, (a, 0.0, 0.0)))),
    )
    x, xd, xdd = motions(robot, 12)
    rows = [np.concatenate([part, part]) for part in (x, xd, xdd)]
    tau = columns(evaluated_each(inverse_dynamics, (bare, added), *rows))
    without, with_both = np.split(tau, 2)
    mechanism, c, s = robot.mechanism, np.cos(x[:, 3]), np.sin(x[:, 3])
    moved = tuple(tuple(jnp.asarray(part.T)) for part in (x, xd, xdd))
    q = mechanism.inverse(moved[0]).components
    _, qdd, _ = joint_acceleration(mechanism, q, *moved)
    out, across = np.stack([c, s, 0 * c], axis=1), np.stack([-s, c, 0 * c], axis=1)
    acceleration = xdd[:, :3] + a * (xdd[:, 3:] * across - xd[:, 3:] ** 2 * out)
    force = m * (acceleration - np.asarray(robot.gravity))
    pull = np.column_stack([force, a * np.sum(force * across, axis=1)])
    pulled = np.einsum("nij,ni->nj", jacobian(mechanism, q, moved[0]), pull)
    assert np.allclose(with_both - without, I * columns(qdd) + pulled, rtol=0, atol=1e-9)


def test_along_a_path_efforts_are_affine_in_acceleration_and_squared_speed():
    robot = sprung_delta(friction=False)
    x, x1, x2 = motions(robot)
    speed, push = np.random.default_rng(4).uniform(-2, 2, (2, len(x), 1))
    a, b, c = map(columns, evaluated(eqx.Partial(path_efforts, robot), x, x1, x2))
    states = x, x1 * speed, x1 * push + x2 * speed**2
    tau = columns(evaluated(eqx.Partial(inverse_dynamics, robot), *states))
    assert np.allclose(a * push + b * speed**2 + c, tau, rtol=1e-10)
    assert (np.abs([a, b, c]).max(axis=(1, 2)) > 0.1).all()


# Y theta


@pytest.fixture(scope="module")
def excited():
    """An IRB 360 with random bodies: states, Y by body (N, 4, 13, 10)."""
    robot = frictionless("abb_irb360_6_1600")
    robot = dataclasses.replace(robot, theta=uneven(robot).theta)
    states = motions(robot)
    Y = np.asarray(regressor(robot, *states))
    return robot, states, Y.reshape(-1, 4, 13, 10)


def test_efforts_of_the_bodies_are_linear_in_their_parameters(excited):
    robot, states, Y = excited
    bodies_alone = eqx.tree_at(
        lambda robot: (robot.rotors, robot.payload), robot, (jnp.zeros(4), jnp.zeros(10))
    )
    tau = columns(evaluated(eqx.Partial(inverse_dynamics, bodies_alone), *states))
    assert np.allclose(np.einsum("nibp,bp->ni", Y, np.asarray(robot.theta)), tau, atol=1e-9)


ARMS, RODS, PLATFORM, END, UPPER, LOWER = slice(0, 3), slice(3, 9), 9, 10, 11, 12


def rank(columns):
    """Rank of stacked samples, which must be clear: a gap of at least 1e6."""
    rows = columns.reshape(-1, columns.shape[-1])
    values = np.linalg.svd(rows, compute_uv=False)
    kept = int((values > 1e-9 * values[0]).sum())
    assert kept == len(values) or values[kept - 1] > 1e6 * values[kept]
    return kept


def test_how_many_parameters_torques_determine(excited):
    """Ranks found independently; 27 and ten of friction are the 37 of Gnad et al."""
    _, states, Y = excited
    N = len(Y)
    arm, rod = Y[:, :, ARMS].sum(axis=2), Y[:, :, RODS].sum(axis=2)
    rotor = np.zeros((N, 4, 1))
    rotor[:, 3, 0] = states.xdd[:, 3]
    rest = [Y[:, :, body] for body in (PLATFORM, UPPER, LOWER)]

    def joined(*parts):
        return np.concatenate(parts, axis=-1)

    assert rank(joined(arm, rod, *rest, Y[:, :, END], rotor)) == 27
    assert rank(joined(arm, rod, *rest, rotor)) == 25
    assert rank(joined(*np.moveaxis(Y[:, :, ARMS], 2, 0), rod, *rest, rotor)) == 31
    assert rank(joined(*np.moveaxis(Y, 2, 0), rotor)) == 49
    assert rank(joined(*np.moveaxis(Y[:, :3, : PLATFORM + 1], 2, 0))) == 34
    assert rank(joined(arm[:, :3], rod[:, :3], rest[0][:, :3])) == 12
