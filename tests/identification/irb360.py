"""The IRB 360 in random states, compiled once for all tests of identification."""

from functools import lru_cache

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from triskele.description.load import load
from triskele.dynamics.robot import rigid
from triskele.identification.regressor import torque_regressor
from triskele.laws.friction import FrictionLaw

L_A, L = 0.5, 1.106  # arm and rod [m]


@lru_cache(maxsize=1)
def robot():
    """As in its file, and balls that do not rub yet: so that all tests share compiled code."""
    zero = jnp.zeros(())
    model = rigid(load("abb_irb360_6_1600"))
    balls = FrictionLaw(zero, zero, zero + 0.01)
    return eqx.tree_at(lambda r: r.ball_friction, model, balls, is_leaf=lambda leaf: leaf is None)


@lru_cache(maxsize=4)
def states(n=256, seed=0):
    """Positions, velocities and accelerations of the platform, unrelated to each other."""
    random = np.random.default_rng(seed)
    x = random.uniform((-0.4, -0.4, -1.1, -2.0), (0.4, 0.4, -0.85, 2.0), (n, 4))
    xd, xdd = random.normal(size=(2, n, 4))
    return x, xd * (2, 2, 1, 5), xdd * (20, 20, 20, 40)


@lru_cache(maxsize=1)
def excited():
    """Y in these states, with the friction of the balls."""
    return torque_regressor(robot(), *states(), balls=True)


def without_balls():
    Y = excited()
    return Y.only([p for p in Y.parameters if p.part != "balls"])
