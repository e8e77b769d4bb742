"""Energy by hand, and the balance of power: what drives do is stored or lost."""

import equinox as eqx
import numpy as np
import pytest
from random_motions import (
    ROWS,
    columns,
    evaluated,
    evaluated_each,
    frictionless,
    motions,
    uneven,
)
from rubbing import irb_with_friction, without_friction
from triangle import BELOW, triangle

from triskele.dynamics.energy import energy
from triskele.dynamics.inverse import inverse_dynamics
from triskele.kinematics.velocity import joint_velocity
from triskele.numerics import jvp


def power(robot, x, xd, xdd):
    """Of the drives, and what becomes of it: stored and lost [W]."""

    def energies(x, xd):
        return tuple(energy(robot, x, xd))

    q = robot.mechanism.inverse(x).components
    (_, _, lost), (kinetic, potential, _) = jvp(energies, (x, xd), (xd, xdd))
    tau, qd = inverse_dynamics(robot, x, xd, xdd), joint_velocity(robot.mechanism, q, x, xd)
    return tuple(a * b for a, b in zip(tau, qd, strict=True)), kinetic + potential, lost


@pytest.mark.parametrize(
    "names",
    [
        ("compliant_3prs",),
        ("d3s_800",),
        ("omron_mini_delta",),
        ("flexible_delta", "omron_mini_delta_platens"),  # of one structure: evaluated together
    ],
)
def test_without_friction_all_that_the_drives_do_is_stored(names):
    """The shipped robots and uneven ones, with flexures if they have them."""
    robots = [frictionless(name) for name in names]
    share = ROWS // (2 * len(robots))
    states = [
        np.concatenate(part) for part in zip(*(motions(r, 2 * share) for r in robots), strict=True)
    ]
    each = [variant for robot in robots for variant in (robot, uneven(robot))]
    done, stored, lost = evaluated_each(power, each, *states)
    assert (np.abs(columns(done)).max(axis=1).reshape(-1, share).max(axis=1) > 10).all()
    assert np.abs(columns(done).sum(axis=1) - stored).max() < 1e-6
    assert not np.any(lost)


def test_with_friction_the_rest_is_lost_in_drives_telescope_and_balls():
    """The shipped IRB 360 without friction, and an uneven one with it."""
    robot = irb_with_friction()
    both = without_friction(robot), uneven(robot)
    done, stored, lost = evaluated_each(power, both, *motions(robot))
    assert not np.any(lost[: ROWS // 2])
    assert lost[ROWS // 2 :].min() > 10
    assert np.abs(columns(done).sum(axis=1) - stored - lost).max() < 1e-6


# By hand: 3 m arms, 5 m rods, platform 4 m below, all falling at 3 m/s with 1 rad/s of the arms.


def test_energy_of_the_falling_triangle():
    robot = triangle(arm=2.0, rod=1.0, platform=4.0, rotors=0.5)
    found = evaluated(eqx.Partial(energy, robot), BELOW, np.array([[0.0, 0.0, -3.0]]))
    # Elbow masses of 2 kg, rods of 1 kg and the platform at 3 m/s; three rotors at 1 rad/s.
    assert np.isclose(found.kinetic, (3 * 2 + 3 * 1 + 4) * 9 / 2 + 3 * 0.5 / 2)
    # Elbows in the plane of the motors, centres of the rods 2 m and the platform 4 m below.
    assert np.isclose(found.potential, -9.81 * (3 * 1 * 2 + 4 * 4))
    assert found.lost == 0
    assert found.total == found.kinetic + found.potential
