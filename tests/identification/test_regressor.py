import dataclasses

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from irb360 import excited, robot, states

from triskele.description.load import load
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import rigid
from triskele.errors import InputError
from triskele.identification.regressor import (
    _stribeck,
    driven_regressor,
    parameter_values,
    torque_regressor,
)
from triskele.laws.friction import FrictionLaw
from triskele.numerics import tabulate


def efforts(model, *motion):
    return np.stack(tabulate(eqx.Partial(inverse_dynamics, model))(*motion), axis=-1)


def saturating(model, qd):
    """What (2) does not have: the saturating friction of axis 4."""
    law = model.drive_friction[3]
    rest = np.zeros(qd.shape)
    rest[:, 3] = float(law.saturating) * np.tanh(qd[:, 3] / float(law.saturating_speed))
    return rest


def test_torques_are_linear_in_inertia_and_friction_of_drives_telescope_and_balls():
    balls = FrictionLaw(jnp.asarray(0.1), jnp.asarray(0.3), jnp.asarray(0.01))
    model = eqx.tree_at(
        lambda r: (r.ball_friction, r.payload),
        robot(),
        (balls, jnp.asarray([2.5, 0, 0, -0.24, 0.03, 0.03, 0.013, 0, 0, 0])),
    )
    Y = torque_regressor(model, *states(), balls=True)
    p = parameter_values(model, Y.parameters)
    tau = efforts(model, *states())
    assert np.abs(Y.matrix @ p + Y.known + saturating(model, Y.qd) - tau).max() < 1e-10
    named = dict(zip(map(str, Y.parameters), p, strict=True))
    assert (named["balls.viscous"], named["drive_2.coulomb"]) == (0.3, 4.376)
    assert (named["drive_4.rotor"], named["telescope.viscous"]) == (0.003, 1.247)


def test_stribeck_friction_stays_as_the_file_has_it():
    law = robot().drive_friction[0]
    rough = dataclasses.replace(law, stribeck=jnp.asarray(2.0), stribeck_speed=jnp.asarray(0.5))
    speed = np.linspace(-2, 2, 41)
    rest = np.asarray(rough.effort(jnp.asarray(speed)) - law.effort(jnp.asarray(speed)))
    assert np.allclose(_stribeck(rough, speed), rest, atol=1e-12)
    assert not _stribeck(law, speed).any()


def test_limbs_share_their_parameters_unless_they_are_distinct():
    shared = excited()
    assert len(shared.parameters) == 6 * 10 + 1 + 10 + 2
    apart = torque_regressor(robot(), *states(), distinct=("arm", "rod"), balls=True)
    assert len(apart.parameters) == len(shared.parameters) + 2 * 10 + 5 * 10
    for part, name in (("arm", "yy"), ("rod", "mc_x")):
        one = [k for k, p in enumerate(shared.parameters) if (p.part, p.name) == (part, name)]
        many = [
            k for k, p in enumerate(apart.parameters) if p.name == name and p.part[:3] == part[:3]
        ]
        assert len(many) == (3 if part == "arm" else 6)
        total = apart.matrix[:, :, many].sum(axis=2)
        assert np.allclose(total, shared.matrix[:, :, one[0]], atol=1e-12)
    with pytest.raises(InputError, match="There is no part 'leg'; parts are arm, end_effector"):
        torque_regressor(robot(), *states(), distinct=("leg",), balls=True)


def test_flexures_of_a_3prs_are_known_not_wanted():
    model = rigid(load("compliant_3prs"))
    random = np.random.default_rng(1)
    home = np.array([float(value) for value in model.mechanism.home()])
    x = home + random.uniform(-1e-3, 1e-3, (32, 3))
    xd, xdd = random.normal(size=(2, 32, 3)) * 0.05
    Y = torque_regressor(model, x, xd, xdd)
    assert "coupling.m" in map(str, Y.parameters)
    tau = efforts(model, x, xd, xdd)
    assert np.abs(Y.known).max() > 1.0
    p = parameter_values(model, Y.parameters)
    assert np.abs(Y.matrix @ p + Y.known - tau).max() < 1e-10


def test_an_arm_alone_is_a_pendulum_with_friction():
    model = robot()
    random = np.random.default_rng(2)
    q, qd, qdd = random.uniform(-1, 1, (3, 64, 4))
    Y = driven_regressor(model, q, qd, qdd)
    p = parameter_values(model, Y.parameters)
    theta, friction = np.asarray(model.theta[0]), model.drive_friction
    tau = Y.matrix @ p
    for i in range(3):
        weight = -9.81 * (theta[1] * np.cos(q[:, i]) + theta[3] * np.sin(q[:, i]))
        rubbing = np.asarray(friction[i].effort(jnp.asarray(qd[:, i])))
        assert np.allclose(tau[:, i], theta[5] * qdd[:, i] + weight + rubbing, atol=1e-12)
    own = 0.003 * qdd[:, 3] + 0.5272 * np.tanh(qd[:, 3] / 0.01)
    assert np.allclose(tau[:, 3], own, atol=1e-12)
