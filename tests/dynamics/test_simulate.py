"""Simulation: published motion, energy with and without friction, and how runs end.

All runs of the D3S-800 have eleven samples, friction (which may be zero) and the same kind of
controller: one compilation serves them all.
"""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float
from scipy.integrate import solve_ivp
from thin import thin_delta

from triskele.description.load import load
from triskele.description.schema import Limits
from triskele.dynamics.handle import acceleration_function
from triskele.dynamics.robot import rigid
from triskele.dynamics.simulate import (
    ConstantEffort,
    RobotState,
    simulate,
    trajectory_function,
)
from triskele.errors import InputError, OutOfReach
from triskele.kinematics.velocity import joint_velocity
from triskele.laws.friction import FrictionLaw

D3S, THIN = load("d3s_800"), thin_delta()
NOTHING = np.zeros(3)
HOLD = (-25.1, -27.1, -25.6)


class Shaken(eqx.Module):
    """Efforts that hold the arms level, if so, and shake them."""

    tau: Float[Array, "3"]
    shaking: Float[Array, ""]
    held: Float[Array, ""]

    def __call__(self, t, state):
        push = self.tau * (1 + self.shaking * jnp.sin(9 * t))
        return push - self.held * (200.0 * state.q + 5.0 * state.qd)


def run(x, xd, tau, duration, rate, *, rubs=0.0, shaking=0.0, held=0.0):
    """The D3S-800; `rubs` scales friction of its drives."""
    laws = tuple(
        FrictionLaw(
            coulomb=jnp.asarray(rubs * coulomb),
            viscous=jnp.asarray(rubs),
            smoothing_speed=jnp.asarray(0.1),
        )
        for coulomb in (1.0, 2.0, 3.0)
    )
    robot = dataclasses.replace(rigid(D3S), drive_friction=laws)
    controller = Shaken(*(jnp.asarray(value, float) for value in (tau, shaking, held)))
    return simulate(
        robot, x, xd, controller, duration, limits=D3S.limits, rate=rate, tolerance=1e-12
    )


@pytest.mark.long
def test_free_fall_of_the_d3s_800():
    """Elshami et al. show none; integrated independently, in absolute coordinates of 17 bodies."""
    found = run([0.1, 0.05, -0.847], NOTHING, NOTHING, 0.2, 50.0)
    assert found.ended is None
    places = [[0.101383459, 0.050597787, -0.902106733], [0.103874711, 0.051619223, -1.072711462]]
    assert np.allclose(found.t[[5, 10]], [0.1, 0.2])
    assert np.allclose(found.x[[5, 10]], places, rtol=0, atol=1e-8)
    assert np.isclose(found.energy[0], -54.878041453, rtol=0, atol=1e-9)
    assert found.imbalance < 1e-8
    assert not found.work.any()
    assert not found.lost.any()


@pytest.mark.long
def test_energy_of_a_driven_second_is_the_work_of_the_drives():
    found = run([0, 0, -0.9], [0.1, 0, 0], HOLD, 1.0, 10.0)
    assert found.ended is None
    assert np.allclose(found.t, np.linspace(0, 1, 11))
    assert np.array_equal(found.tau, np.tile(HOLD, (11, 1)))
    assert np.ptp(found.work) > 1
    assert found.imbalance < 1e-9 * np.ptp(found.energy)
    assert np.allclose(found.work, [effort @ turn for effort, turn in _turned(found)], rtol=1e-9)


def _turned(found):
    """Constant efforts, and how far they turned the arms."""
    return zip(found.tau, found.q - found.q[0], strict=True)


def test_friction_and_a_controller_that_watches_time_and_joints():
    found = run([0.1, 0, -0.9], [1, 0, 0], HOLD, 1.0, 10.0, rubs=1.0, shaking=0.5, held=1.0)
    assert found.ended is None
    assert found.lost[-1] > 1
    assert (np.diff(found.lost) > 0).all()
    assert found.imbalance < 1e-9 * np.ptp(found.work)
    push = np.multiply.outer(1 + 0.5 * np.sin(9 * found.t), HOLD)
    assert np.allclose(found.tau, push - 200 * found.q - 5 * found.qd, rtol=0, atol=1e-9)
    mechanism, k = rigid(D3S).mechanism, 4
    q = mechanism.inverse(found.x[k]).components
    assert np.allclose(found.q[k], q, rtol=0, atol=1e-12)
    qd = joint_velocity(mechanism, q, tuple(found.x[k]), tuple(found.xd[k]))
    assert np.allclose(found.qd[k], qd, rtol=0, atol=1e-12)


def test_a_run_that_reaches_a_limit_ends_there_with_the_reason_and_all_samples():
    """Arms hang straight down, at 90 degrees, after 0.313 s: in the last of ten intervals."""
    fallen = run([0.1, 0.05, -0.847], NOTHING, NOTHING, 0.32, 31.25)
    assert np.allclose(fallen.t[:-1], np.arange(10) / 31.25)
    assert np.isclose(fallen.t[-1], 0.312876, rtol=0, atol=1e-6)
    assert fallen.ended == "at t = 0.312876 s: q3 would be 90 deg, allowed is -45 to 90 deg"
    assert np.isclose(np.degrees(fallen.q[-1, 2]), 90, rtol=0, atol=1e-6)
    assert (np.degrees(fallen.q[:-1]) < 90).all()
    assert {len(part) for part in fallen[:-2]} == {11}
    assert fallen.imbalance < 1e-8


def test_the_last_sample_is_the_end_also_if_the_rate_does_not_meet_it():
    found = run([0.1, 0.05, -0.847], NOTHING, NOTHING, 0.095, 100.0)
    assert np.allclose(found.t, [*np.arange(10) / 100, 0.095], rtol=0, atol=1e-15)


def test_a_constant_effort_is_constant():
    tau = jnp.array([1.0, 2.0, 3.0])
    assert ConstantEffort(tau)(jnp.array(9.0), RobotState(*[jnp.ones(3)] * 4)) is tau


# The bare integrator, on the closed form of a small Delta


def test_another_integrator_finds_the_same_trajectory():
    x, xd, t = np.array([0.02, -0.03, -0.34]), np.array([0.1, 0, 0]), np.linspace(0, 0.2, 3)
    accelerations = acceleration_function(THIN)

    def rates(t, y):
        tau = np.array([-0.5, -0.6, -0.4]) * (1 + np.sin(9 * t))
        return [*y[3:], *accelerations(y[:3], y[3:], tau)]

    def efforts(t):
        return jnp.array([-0.5, -0.6, -0.4]) * (1 + jnp.sin(9 * t))

    other = solve_ivp(rates, (0, 0.2), [*x, *xd], "DOP853", t, rtol=1e-10, atol=1e-12).y.T
    found = trajectory_function(THIN, efforts, t, 1e-10)(x, xd)
    assert np.allclose(found, other[:, :3], rtol=0, atol=1e-8)
    assert np.ptp(found, axis=0).max() > 1e-2


# Refused

ARMS = Limits(joint_angle=(-1.0, 1.0), singularity_margin=1e-3)


@pytest.mark.parametrize(
    "start, reason",
    [
        ([0.02, -0.03, -0.2], "leg 1 cannot reach"),
        ([0.02, -0.03, -0.5], "q2 would be 60.39 deg, allowed is -57.3 to 57.3 deg"),
        ([0.02, np.nan, -0.34], "leg 1 cannot reach"),
    ],
)
def test_a_start_out_of_reach_is_refused(start, reason):
    with pytest.raises(OutOfReach, match=f"The start is out of reach: {reason}"):
        simulate(THIN, start, NOTHING, ConstantEffort(jnp.zeros(3)), 1.0, limits=ARMS)


@pytest.mark.parametrize(
    "given",
    [
        {"duration": 0.0},
        {"duration": -1.0},
        {"duration": np.inf},
        {"duration": np.nan},
        {"rate": 0.0},
        {"rate": np.nan},
        {"tolerance": 0.0},
        {"tolerance": 1.0},
    ],
)
def test_numbers_that_make_no_sense_are_refused(given):
    asked = {"duration": 1.0} | given
    with pytest.raises(InputError, match="must be positive"):
        simulate(THIN, [0, 0, -0.34], NOTHING, ConstantEffort(jnp.zeros(3)), **asked)


@pytest.mark.parametrize("x, xd", [(2, 3), (4, 3), (3, 2), (3, 4)])
def test_a_start_of_the_wrong_length_is_refused(x, xd):
    start = np.array([0.02, -0.03, -0.34, 0.0])
    with pytest.raises(InputError):
        simulate(THIN, start[:x], np.zeros(xd), ConstantEffort(jnp.zeros(3)), 0.1)
