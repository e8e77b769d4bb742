"""Handles: one state and many, both laws, and what they refuse."""

import closed_form
import equinox as eqx
import numpy as np
import pytest
from random_motions import columns, evaluated, frictionless, motions
from thin import thin_delta

from triskele.dynamics.handle import acceleration_function, torque_function
from triskele.dynamics.inverse import inverse_dynamics
from triskele.errors import InputError

THIN = thin_delta()
TORQUES = torque_function(THIN)


def test_one_state_and_many_agree_and_accelerations_undo_torques():
    x, xd, xdd = motions(THIN)
    many = TORQUES(x, xd, xdd)
    assert many.shape == (len(x), 3)
    one = TORQUES(x[7], xd[7], xdd[7])
    assert one.shape == (3,)
    assert np.allclose(one, many[7], rtol=1e-12)
    accelerations = acceleration_function(THIN)
    assert np.allclose(accelerations(x[7], xd[7], one), xdd[7], rtol=1e-9)
    assert np.allclose(accelerations(x, xd, many), xdd, rtol=1e-9, atol=1e-9)


def test_a_handle_of_any_robot_says_what_the_general_law_says():
    robot = frictionless("flexible_delta")
    assert closed_form.of(robot) is None
    states = motions(robot)
    tau = columns(evaluated(eqx.Partial(inverse_dynamics, robot), *states))
    assert np.allclose(torque_function(robot)(*states), tau, rtol=1e-10, atol=1e-12)


def test_lists_of_plain_numbers_will_do():
    x = motions(THIN).x[0]
    plain = TORQUES(x.tolist(), [0, 0, 0], [1, 0, 0])
    assert np.allclose(plain, TORQUES(x, np.zeros(3), np.array([1.0, 0, 0])), rtol=1e-14)


@pytest.mark.parametrize(
    "shapes",
    [
        ((3,), (3,), (4,)),
        ((4,), (4,), (4,)),
        ((3,), (3, 3), (3,)),
        ((), (), ()),
        ((5, 3), (5, 3), (6, 3)),
        ((5, 3), (5, 3), (3,)),
        ((0, 3), (0, 3), (0, 3)),
    ],
)
def test_wrong_shapes_are_refused(shapes):
    with pytest.raises(InputError):
        TORQUES(*(np.zeros(shape) for shape in shapes))


@pytest.mark.parametrize("columns", [2, 4])
def test_a_batch_of_the_wrong_width_is_refused(columns):
    with pytest.raises(InputError):
        TORQUES(*np.zeros((3, 5, columns)))
