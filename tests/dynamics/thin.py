"""Deltas whose rods have all their mass on their lines, no two alike."""

import dataclasses

import jax.numpy as jnp
import numpy as np
from random_motions import frictionless, uneven


def thin_delta(name="omron_mini_delta_platens", working_mode=(1, 1, 1)):
    """An uneven robot with arms that are not balanced, a payload, and gravity tilted."""
    robot = uneven(frictionless(name))
    random, theta = np.random.default_rng(5), np.array(robot.theta)
    for row, body in enumerate(robot.mechanism.bodies):
        if body.startswith("rod"):
            m, c, k = random.uniform([0.1, 0.1, 0.05], [0.2, 0.3, 0.1])  # kg, m, m
            theta[row] = [m, m * c, 0, 0, 0, *(m * (c * c + k * k),) * 2, 0, 0, 0]
    return dataclasses.replace(
        robot,
        theta=jnp.asarray(theta),
        mechanism=dataclasses.replace(robot.mechanism, working_mode=working_mode),
    )
