"""Robots of every architecture: what their drives do is stored or lost."""

import equinox as eqx
import numpy as np
import pytest
from equipped import CARRIED, equipped, states
from limb_robots import SAMPLES
from random_motions import columns

from triskele.dynamics.energy import energy
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import rigid
from triskele.kinematics.velocity import joint_velocity
from triskele.numerics import jvp, tabulate

COUNT = 10
QUICK = ("five_bar", "3rps")  # the others take as many seconds as they have limbs
ALL = [pytest.param(name, marks=() if name in QUICK else pytest.mark.long) for name in SAMPLES]


def power(robot, x, xd, xdd):
    """Of the drives, and what becomes of it: stored and lost [W]."""

    def energies(x, xd):
        return tuple(energy(robot, x, xd))

    q = robot.mechanism.inverse(x).components
    (_, _, lost), (kinetic, potential, _) = jvp(energies, (x, xd), (xd, xdd))
    tau, qd = inverse_dynamics(robot, x, xd, xdd), joint_velocity(robot.mechanism, q, x, xd)
    return tuple(a * b for a, b in zip(tau, qd, strict=True)), kinetic + potential, lost


@pytest.mark.parametrize("name", ALL)
def test_what_the_drives_do_is_stored_or_lost(name):
    robot = rigid(equipped(name), CARRIED)
    done, stored, lost = tabulate(eqx.Partial(power, robot))(*states(name, COUNT))
    done = columns(done)
    size = np.abs(done).max()
    assert lost.min() > 0.01 * size
    assert np.abs(done.sum(axis=1) - stored - lost).max() < 1e-9 * size
