"""Robots in absolute coordinates say what the same robots say in their own coordinates."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from limb_robots import described

from triskele.description.load import load
from triskele.description.schema import Flexures, Payload
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import rigid
from triskele.dynamics.simulate import ConstantEffort
from triskele.dynamics.simulate import simulate as simulate_reduced
from triskele.dynamics.torques import torques
from triskele.errors import InputError
from triskele.kinematics.cycles import joint_motion_along, pick_and_place
from triskele.multibody.along import reactions_along
from triskele.multibody.from_robot import from_robot, robot_drive
from triskele.multibody.integrate import Constant, simulate
from triskele.multibody.primitives import Drive
from triskele.multibody.reactions import drive_efforts
from triskele.multibody.redundancy import mobility
from triskele.multibody.solve import accelerations, violation
from triskele.multibody.system import motion_of
from triskele.studies.lumped_delta import lumped_delta, lumped_efforts

CARRIED = Payload(mass=2.5, centre_of_mass=(0.01, 0.02, -0.05), inertia=(0.004, 0.005, 0.006))


def along(name, payload=None):
    robot = load(name)
    motion = pick_and_place(robot, rate=25)
    model = from_robot(robot, payload, driven="motors")
    return reactions_along(model, motion), torques(robot, motion, payload)


@pytest.fixture(scope="module")
def irb360():
    """Both engines along a pick-and-place of the IRB 360 with a payload and friction."""
    return along("abb_irb360_6_1600", CARRIED)


def test_torques_of_the_irb360_with_telescope_payload_and_friction(irb360):
    held, demands = irb360
    assert np.abs(demands.tau).max() > 50
    assert np.allclose(held.effort, demands.tau, rtol=0, atol=1e-9)
    assert held.gap.max() < 1e-14
    assert held.imbalance < 1e-9


def test_rod_forces_and_every_other_reaction_of_the_irb360(irb360):
    """But for friction about the axes of the motors, which is a force of its own here."""
    held, demands = irb360
    assert held.unique.all()
    others = demands.loads.reactions
    for k, joint in enumerate(others.joints):
        force, moment = held.of(joint.name)
        assert np.allclose(force, others.force[:, k], rtol=0, atol=1e-9), joint.name
        left = moment - others.moment[:, k]
        if joint.kind == "revolute" and joint.driven:
            axis = np.asarray(joint.axis, float)
            left = left - np.outer(left @ axis, axis)
        assert np.allclose(left, 0, rtol=0, atol=1e-9), joint.name


@pytest.fixture(scope="module")
def d3s():
    """Both engines along a pick-and-place of the D3S-800, all joints as built."""
    return along("d3s_800")


def test_torques_base_and_bearing_forces_of_the_d3s800(d3s):
    held, demands = d3s
    assert np.allclose(held.effort, demands.tau, rtol=0, atol=1e-9)
    others = demands.loads.reactions
    total = np.array([0.0, 0.0, 30 * 9.81]) + others.force[:, :3].sum(axis=1)
    assert np.allclose(held.of("stand")[0], total, rtol=0, atol=1e-9)
    for k in range(3):
        force, _ = held.of(f"motor_{k + 1}")
        assert np.allclose(force, others.force[:, k], rtol=0, atol=1e-9)


def test_least_reactions_of_redundant_joints_are_the_same_by_both_ways(d3s):
    """With moments divided by the same length; by a pseudo-inverse there, by iteration here:
    that leaves rounding errors of a part in a million, where nothing is unique."""
    held, demands = d3s
    others = demands.loads.reactions
    names = [joint.name for joint in others.joints]
    forces = np.stack([held.of(name)[0] for name in names], axis=1)
    assert np.allclose(forces, others.force, rtol=0, atol=1e-4)


def efforts_at(model, x, xd, xdd):
    """Efforts of the prescribed motors at one state, and the largest gap."""
    drive = Drive(*robot_drive(model, x, xd, xdd))
    state = model.at(x, xd)
    found = eqx.filter_jit(accelerations)(model.system, state, jnp.zeros(3), drive)
    assert violation(model.system, state, drive)[0] < 1e-14
    return drive_efforts(model.system, motion_of(model.system, state), drive, found.lam)


def test_rods_of_constant_distance_are_those_whose_mass_is_at_their_ends():
    robot = load("omron_mini_delta")
    model = from_robot(robot, driven="motors", rods="distance")
    assert mobility(model.system.with_free_motors(), model.start).redundant == 0
    x, xd, xdd = (jnp.array(v) for v in ([0.05, 0.02, -0.3], [0.9, -1.1, 0.4], [20.0, 9.0, -15.0]))
    tau = jnp.stack(lumped_efforts(lumped_delta(rigid(robot)), x, xd, xdd).tau)
    arm, length = robot.bodies.arm, robot.geometry.arm_length[0]
    bar = arm.mass * length**2 / 3  # there arms are uniform bars
    turning = (arm.ten_parameters[5] - bar) * robot_drive(model, x, xd, xdd)[2]
    assert np.allclose(efforts_at(model, x, xd, xdd), tau + turning, rtol=0, atol=1e-9)


def test_single_rods_cannot_be_distances():
    with pytest.raises(InputError, match="leave 6 degrees of freedom for 3 drives; only pairs"):
        from_robot(load("flexible_delta"), rods="distance")


def uneven_3prs():
    """With bars of different lengths: at home, two of its three flexures are bent."""
    robot = load("compliant_3prs")
    lengths = tuple(
        part * length
        for part, length in zip((1, 1.01, 0.98), robot.geometry.bar_length, strict=True)
    )
    return robot.model_copy(
        update={"geometry": robot.geometry.model_copy(update={"bar_length": lengths})}
    )


def limbs_with_flexures():
    """A 3PRS of kind "limbs", its joints springs."""
    stiffness = {"revolute_bending": 20.0, "spherical_bending": 10.0, "spherical_torsion": 5.0}
    return described("3prs").model_copy(update={"flexures": Flexures(**stiffness)})


@pytest.mark.parametrize(
    "robot", [load("compliant_3prs"), uneven_3prs(), limbs_with_flexures()], ids=lambda r: r.kind
)
def test_forces_of_a_3prs_with_flexures_and_motors(robot):
    model = from_robot(robot, driven="motors")
    x = jnp.array([float(value) for value in model.mechanism.home()]) + jnp.array(
        [1e-3, 0.02, -0.03]
    )
    xd, xdd = jnp.array([0.05, 0.3, -0.4]), jnp.array([2.0, 9.0, -15.0])
    tau = jnp.stack(inverse_dynamics(rigid(robot), x, xd, xdd))
    assert np.allclose(efforts_at(model, x, xd, xdd), tau, rtol=1e-9, atol=0)


def test_only_a_translating_platform_can_be_driven():
    with pytest.raises(InputError, match="only a platform that translates"):
        from_robot(load("compliant_3prs"), driven="platform")


@pytest.mark.long
def test_both_engines_simulate_the_same_motion():
    robot = load("omron_mini_delta")
    model, tau = from_robot(robot), jnp.array([-0.2, -0.1, 0.05])
    x = jnp.array([0.02, 0.01, -0.3])
    xd = jnp.array([0.3, -0.2, 0.1])
    here = simulate(model.system, model.at(x, xd), 0.1, efforts=Constant(tau), rate=100)
    there = simulate_reduced(rigid(robot), x, xd, ConstantEffort(tau), 0.1, rate=100)
    assert there.ended is None
    platform = here.origins[:, model.system.body("platform")]
    assert np.allclose(platform, there.x, rtol=0, atol=1e-8)
    assert np.allclose(here.q, there.q, rtol=0, atol=1e-7)
    assert np.allclose(here.work, there.work, rtol=0, atol=1e-8)
    assert here.imbalance < 1e-8


def test_reactions_can_be_had_in_the_axes_of_parent_or_child(d3s):
    """In the arm's axes, the force of its bearing is turned with the arm."""
    robot = load("d3s_800")
    motion = pick_and_place(robot, rate=25)
    model = from_robot(robot, driven="motors")
    turned = reactions_along(model, motion, expressed_in="child")
    q = np.asarray(joint_motion_along(model.mechanism, motion).q)[:, 0]
    (x, _, z), (along, _, up) = d3s[0].of("motor_1")[0].T, turned.of("motor_1")[0].T
    assert np.allclose(along, np.cos(q) * x - np.sin(q) * z, rtol=0, atol=1e-8)
    assert np.allclose(up, np.sin(q) * x + np.cos(q) * z, rtol=0, atol=1e-8)
