"""What a motion demands: efforts, and loads read off the reactions."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from random_motions import ROWS, columns, evaluated, motions

from triskele.description.load import load
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import rigid
from triskele.dynamics.rod_loads import rod_loads
from triskele.dynamics.torques import root_mean_square, torques
from triskele.errors import InputError, UnknownName
from triskele.kinematics.coordinates import coordinates_of
from triskele.kinematics.motion import Motion

IRB = load("abb_irb360_6_1600")


def as_motion(states, count=4):
    t = jnp.linspace(0, 1, ROWS) ** 2
    parts = (jnp.asarray(part) for part in states)
    return Motion(t, *parts, jnp.zeros((ROWS, count)), coordinates=coordinates_of(count))


@pytest.fixture(scope="module")
def demanded():
    states = motions(rigid(IRB))
    return states, torques(IRB, as_motion(states), "plate")


def test_efforts_are_those_of_inverse_dynamics_with_friction_and_payload(demanded):
    states, found = demanded
    tau = evaluated(eqx.Partial(inverse_dynamics, rigid(IRB, "plate")), *states)
    assert np.allclose(found.tau, columns(tau), rtol=1e-10, atol=1e-10)
    assert np.array_equal(found.power, found.tau * np.asarray(found.joints.qd))
    assert np.array_equal(found.rms, root_mean_square(found.t, found.tau))


def test_loads_are_those_of_the_closed_form(demanded):
    states, found = demanded
    loads, rods = found.loads, found.loads.rods
    closed = evaluated(eqx.Partial(rod_loads, rigid(IRB, "plate")), *states)
    tight = {"rtol": 0, "atol": 1e-8}
    assert rods.names == ("rod_1a", "rod_1b", "rod_2a", "rod_2b", "rod_3a", "rod_3b")
    assert np.allclose(rods.lower, columns(closed.lower), **tight)
    assert np.allclose(rods.upper, columns(closed.upper), **tight)
    for ours, theirs in (
        (rods.lower_lateral, closed.lower_lateral),
        (rods.upper_lateral, closed.upper_lateral),
    ):
        across = np.stack([columns(triple) for triple in theirs], axis=1)
        assert np.allclose(ours, np.linalg.norm(across, axis=-1), **tight)
    assert np.allclose(loads.flange_force, columns(closed.flange_force), **tight)
    assert np.allclose(loads.flange_moment, columns(closed.flange_moment), **tight)
    assert rods.unique
    ends = np.abs([rods.lower, rods.upper])
    assert np.array_equal(rods.peak, ends.max(axis=(0, 1)))
    both = np.concatenate([rods.lower, rods.upper])
    for k, largest in enumerate(rods.largest):  # pulls or pushes, as it is there
        assert abs(largest) == rods.peak[k]
        assert largest in both[:, k]


def test_bearings_carry_what_is_not_the_motors_torque(demanded):
    _, found = demanded
    for k in range(3):
        force, moment = found.loads.reactions.of(f"motor_{k + 1}")
        azimuth = IRB.geometry.azimuth[k]
        axis = np.array([-np.sin(azimuth), np.cos(azimuth), 0])
        assert np.allclose(found.loads.bearing_force[:, k], np.linalg.norm(force, axis=1))
        square = np.sum(moment**2, axis=1) - (moment @ axis) ** 2
        assert np.allclose(found.loads.bearing_moment[:, k] ** 2, square, rtol=1e-9)


def test_limits_are_judged(demanded):
    _, found = demanded
    uses = {item.limit.label: item for item in found.limits}
    peak = np.abs(found.tau[:, 1]).max()
    assert np.isclose(uses["torque of motor 2"].use, peak / 118.8)
    assert np.isclose(abs(uses["tension of rod 3b"].worst), found.loads.rods.peak[5])
    assert found.limits[0].use == max(item.use for item in found.limits)


def test_root_mean_square_does_not_mind_uneven_samples():
    t = np.array([0.0, 0.1, 1.0, 1.5, 4.0])
    values = np.stack([np.sqrt(t), np.full(5, -3.0)], axis=1)  # mean of t from 0 to 4 is 2
    assert np.allclose(root_mean_square(t, values), [np.sqrt(2), 3])


def test_a_motion_in_other_coordinates_and_an_unknown_payload_are_refused():
    motion = as_motion(np.zeros((3, ROWS, 3)), 3)
    with pytest.raises(InputError, match="this robot moves in x, y, z, psi"):
        torques(IRB, motion)
    with pytest.raises(UnknownName, match="Did you mean 'heavy_plate'"):
        torques(IRB, motion, "heavy_plates")
