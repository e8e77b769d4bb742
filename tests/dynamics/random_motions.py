"""Random motions of rigid robots, for laws that hold for all of them."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from triskele.description.load import load
from triskele.dynamics.robot import rigid
from triskele.numerics import batch

ROWS = 24
_LENGTHS = ("base_radius", "platform_radius", "arm_length", "rod_length", "bar_length")


class States(NamedTuple):
    """(N, n) each."""

    x: np.ndarray
    xd: np.ndarray
    xdd: np.ndarray


def evaluated(function, *arrays):
    """`batch(function)` of (N, n) arrays."""
    return batch(function)(*arrays)


def evaluated_each(function, robots, *arrays):
    """`function` of a robot at states: an equal share of the rows for each of `robots`."""
    parts = zip(*(np.split(array, len(robots)) for array in arrays), strict=True)
    found = [
        batch(eqx.Partial(function, robot))(*part)
        for robot, part in zip(robots, parts, strict=True)
    ]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *found)


def columns(scalars):
    """Components of N states as (N, n)."""
    return np.stack(scalars, axis=-1)


def motions(robot, count=ROWS, seed=0):
    """States around home: up to 3 loop lengths or radians a second, and 100 of them a second^2."""
    random, mechanism = np.random.default_rng(seed), robot.mechanism
    size = float(np.asarray(mechanism.scales().loops[0]))
    unit = np.where([c.unit == "rad" for c in mechanism.platform_coordinates], 1.0, size)
    room = np.array([0.05, 0.1, 0.1] if "theta" in coordinates(robot) else [0.2, 0.2, 0.15, 2.0])
    home = np.array([float(value) for value in mechanism.home()])
    x, xd, xdd = random.uniform(-1, 1, (3, count, len(home))) * unit
    return States(home + room[: len(home)] * x, 3 * xd, 100 * xdd)


def coordinates(robot):
    return [coordinate.name for coordinate in robot.mechanism.platform_coordinates]


def ten_of_point(m, r):
    """The ten parameters of a mass point."""
    x, y, z = r
    return m * np.array(
        [1, x, y, z, y * y + z * z, x * x + z * z, x * x + y * y, -x * y, -y * z, -x * z]
    )


def uneven(robot, seed=1):
    """No two limbs alike, no body balanced, gravity tilted, something carried, heavy rotors."""
    random, mechanism = np.random.default_rng(seed), robot.mechanism
    size = float(np.asarray(mechanism.scales().loops[0]))
    theta, carried = np.array(robot.theta), np.zeros(10)
    for ten in (*theta, carried):
        for m in random.uniform(0.01, 0.05, 4):
            ten += ten_of_point(m, size * random.uniform(-0.3, 0.3, 3))
    names = [name for name in _LENGTHS if hasattr(mechanism, name)]
    lengths = [getattr(mechanism, name) * random.uniform(0.97, 1.03, 3) for name in names]
    mechanism = eqx.tree_at(
        lambda mechanism: [mechanism.azimuth, *(getattr(mechanism, name) for name in names)],
        mechanism,
        [mechanism.azimuth + random.uniform(-0.1, 0.1, 3), *lengths],
    )
    return eqx.tree_at(
        lambda robot: (robot.mechanism, robot.theta, robot.payload, robot.gravity, robot.rotors),
        robot,
        (
            mechanism,
            jnp.asarray(theta),
            jnp.asarray(carried),
            jnp.array([3.0, -4.0, -8.0]),
            robot.rotors + jnp.asarray(random.uniform(0.01, 0.03, len(robot.rotors))),
        ),
    )


def frictionless(name):
    """A shipped robot, carrying the first of its payloads."""
    robot = load(name)
    return rigid(robot, next(iter(robot.payloads), None), friction=False)
