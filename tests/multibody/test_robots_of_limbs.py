"""Robots of every architecture in absolute coordinates do what they do in their own."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from dynamics.equipped import CARRIED, equipped, states
from limb_robots import SAMPLES

from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.reactions import reactions
from triskele.dynamics.robot import rigid
from triskele.dynamics.simulate import ConstantEffort
from triskele.dynamics.simulate import simulate as simulate_reduced
from triskele.dynamics.wrenches import to_platform
from triskele.kinematics.velocity import closure_jacobians
from triskele.multibody.from_robot import from_robot, robot_drive
from triskele.multibody.integrate import Constant, simulate
from triskele.multibody.primitives import Drive
from triskele.multibody.reactions import JointReactions
from triskele.multibody.reactions import reactions as reactions_of
from triskele.numerics import single, stacked, tabulate

pytestmark = pytest.mark.long

#: one of each kind of drive, rod, platform and joint
KINDS = ("delta", "five_bar", "6ups", "par4", "3rps", "3prs", "two_axis_delta", "telescope_delta")
LOADS = 1e-9  # of efforts and loads, relative to the largest
APART = 1e-7  # m, rad
SHORTER = {"3rps": 0.6, "3rrs": 0.6}  # s: then a platform that stands on its legs has fallen


def carried(model, x, xd, xdd) -> JointReactions:
    """By the multibody engine, its motors following the platform's motion."""
    rows = list(zip(x, xd, xdd, strict=True))
    told = zip(*(robot_drive(model, *row) for row in rows), strict=True)
    places = [model.at(*row[:2]) for row in rows]
    at = jax.tree.map(lambda *leaves: jnp.stack(leaves), *places)
    return reactions_of(model.system, at, drive=Drive(*map(jnp.stack, told)))


@pytest.mark.parametrize("name", KINDS)
def test_efforts_and_loads_with_motors_friction_payload_and_a_base(name):
    """But for what the motors and their friction do at the drives, which are forces here."""
    robot, motion = equipped(name), states(name, 3)
    ours, model = rigid(robot, CARRIED), from_robot(robot, CARRIED, driven="motors")
    held, loads = carried(model, *motion), reactions(ours, *motion)
    tau = np.stack(tabulate(eqx.Partial(inverse_dynamics, ours))(*motion), axis=-1)
    assert held.gap.max() < 1e-13
    assert np.abs(held.effort - tau).max() < LOADS * np.abs(tau).max()
    for k, joint in enumerate(loads.joints):
        force, moment = (
            theirs - part[:, k]
            for theirs, part in zip(held.of(joint.name), (loads.force, loads.moment), strict=True)
        )
        if joint.driven:
            along = loads.axes[:, loads.driven.index(k)]
            part = force if joint.kind == "prismatic" else moment
            part -= np.sum(part * along, axis=-1, keepdims=True) * along
            if joint.kind == "spherical":
                moment[:] = 0.0  # what the motor does leaves the cardan in another direction
        off = np.abs(np.concatenate([force, moment], axis=-1))[:, loads.unique[k]]
        assert off.max(initial=0.0) < LOADS * np.abs(loads.force).max(), joint.name
    based = [joint.parent == "base" for joint in loads.joints]
    total = loads.force[:, based].sum(axis=1) - 20.0 * np.asarray(robot.gravity)
    assert np.allclose(held.of("stand")[0], total, rtol=0, atol=LOADS * np.abs(total).max())


@pytest.mark.parametrize("name", ["linear_delta", "telescope_delta"])
def test_a_platform_that_is_driven_itself_carries_motors_along(name):
    """Their rotors and their friction: what the motors would do, as forces on the platform."""
    robot, (x, xd, xdd) = equipped(name), states(name, 1)
    ours, model = rigid(robot, CARRIED), from_robot(robot, CARRIED, driven="platform")
    effort = carried(model, x, xd, xdd).effort[0]
    tau = tabulate(eqx.Partial(inverse_dynamics, ours))(x, xd, xdd)
    q = ours.mechanism.inverse(x[0]).components
    closure = closure_jacobians(ours.mechanism, q, tuple(x[0]))
    push = np.array(to_platform(closure, tuple(effort[0] for effort in tau), (0.0,) * len(q)))
    expected = [*push[3:], *push[:3]]  # the telescope's motor comes first
    assert np.allclose(effort, expected, rtol=0, atol=LOADS * np.abs(push).max())


@pytest.mark.parametrize("name", SAMPLES)
def test_both_engines_simulate_the_same_second(name):
    """Thrown from home, with 2 % less than what holds the robot, and nothing that rubs."""
    robot, duration = equipped(name), SHORTER.get(name, 1.0)
    ours = rigid(robot, CARRIED, friction=False)
    model = from_robot(robot, CARRIED, friction=False)
    x = np.asarray(stacked(ours.mechanism.home()))
    xd = 0.03 * states(name, 1)[1][0]
    still = np.zeros_like(x)
    tau = 0.98 * np.asarray(stacked(single(eqx.Partial(inverse_dynamics, ours))(x, still, still)))
    there = simulate_reduced(ours, x, xd, ConstantEffort(tau), duration, rate=50)
    here = simulate(model.system, model.at(x, xd), duration, efforts=Constant(tau), rate=50)
    assert there.ended is None
    assert np.abs(there.x - x).max() > 0.01
    poses = [ours.mechanism.platform_pose(tuple(row)).p for row in there.x]
    platform = here.origins[:, model.system.body(ours.mechanism.platform)]
    assert np.abs(platform - np.array(poses, float)).max() < APART
    assert np.abs(here.q - there.q).max() < APART
    assert max(here.imbalance, there.imbalance) < 1e-6
