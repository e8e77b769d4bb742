"""Actuators: power that adds up, belts with two sides, the corrected equation 61, what is missing.

Ruiz et al., Robotics 11 (2022) 4, equation 61, has a sign and a divisor wrong; corrected, the
two inertias of their drive have the eigenvalues below.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from triskele.description.load import load
from triskele.description.schema import Motor, Motors
from triskele.errors import InputError, MissingFact
from triskele.kinematics.build import build
from triskele.laws import actuators as laws
from triskele.laws.actuators import Coupling
from triskele.laws.drives import drives

STAGE = load("compliant_3prs")
MECHANISM = build(STAGE)
IRB = load("abb_irb360_6_1600")
DELTA = build(IRB)
SPEEDS = np.random.default_rng(0).normal(size=(2, 20, 3), scale=3.0)
BELT = Coupling(jnp.array([2.0] * 3), jnp.array([0.5, 2.0, 8.0]), jnp.array([0.1] * 3))


def with_motor(robot=STAGE, **facts):
    """A robot with other numbers of its motors."""
    drives = robot.motors.drives.model_copy(update=facts)
    return robot.model_copy(update={"motors": robot.motors.model_copy(update={"drives": drives})})


def actuators(robot, mechanism=MECHANISM):
    """The actuators of a robot's drives."""
    return laws.actuators(robot, drives(robot, mechanism))


def at_joints(robot, mechanism=MECHANISM):
    """What moves with the joints."""
    return laws.at_joints(drives(robot, mechanism), actuators(robot, mechanism))


def free_drive(drive):
    """Matrix of (1) to (3), F = 0, of the first drive: (th1, th1', th2, th2')."""

    def rates(y):
        one = jax.tree.map(lambda leaf: leaf[:1], drive)
        th1, th1d, th2, th2d = (y[k : k + 1] for k in range(4))
        T = one.coupling.torque(th1 - th2, th1d - th2d)
        pushed = one.rotor_acceleration(jnp.zeros(1), th1d, T)
        return jnp.concatenate([th1d, pushed, th2d, T / one.load_inertia])

    return np.asarray(jax.jacfwd(rates)(jnp.zeros(4)))


# Laws


def test_power_of_two_inertias_adds_up():
    """What the current does is kinetic energy, energy of the belt, and heat."""
    drive = actuators(with_motor(coulomb=0.01, coulomb_speed=0.5))
    th1d, th2d = SPEEDS
    twist, current = np.random.default_rng(1).normal(size=(2, 20, 3))
    T = jax.vmap(drive.coupling.torque)(twist, th1d - th2d)
    th1dd = jax.vmap(drive.rotor_acceleration)(current, th1d, T)
    th2dd = T / drive.load_inertia[None, :]
    kinetic = drive.rotor_inertia[None, :] * th1dd * th1d + drive.load_inertia[None, :] * (
        th2dd * th2d
    )
    stored = 0.2444 * twist * (th1d - th2d)
    lost = 1.085e-5 * (th1d - th2d) ** 2 + 0.003 * th1d**2 + 0.01 * np.tanh(th1d / 0.5) * th1d
    assert np.allclose(kinetic + stored + lost, 0.0302 * current * th1d, rtol=0, atol=1e-12)
    assert (lost > 0).all()


def test_dry_friction_reaches_its_value_and_turns_with_the_speed():
    drive = actuators(with_motor(coulomb=0.02, damping=0.0, coulomb_speed=0.1))
    found = drive.friction(jnp.array([5.0, -5.0, 0.1]))
    assert np.allclose(found, [0.02, -0.02, 0.02 * np.tanh(1)], rtol=1e-12)


def test_a_belt_is_as_stiff_as_the_side_that_pulls():
    ahead, behind = jnp.full(3, 0.3), jnp.full(3, -0.3)
    still = jnp.zeros(3)
    assert np.allclose(BELT.torque(ahead, still), [0.6, 0.6, 0.6])
    assert np.allclose(BELT.torque(behind, still), [-0.15, -0.6, -2.4])
    assert np.allclose(BELT.torque(still, jnp.full(3, 2.0)), 0.2)


def test_twist_undoes_torque():
    for twist in np.random.default_rng(2).normal(size=(20, 3)):
        torque = BELT.torque(jnp.asarray(twist), jnp.zeros(3))
        assert np.allclose(BELT.twist(torque), twist, rtol=1e-14)


def test_without_a_reverse_stiffness_both_sides_are_alike():
    drive = actuators(STAGE)
    assert np.array_equal(drive.coupling.stiffness, drive.coupling.reverse)
    other = actuators(with_motor(coupling_stiffness_reverse=0.1))
    assert np.array_equal(other.coupling.reverse, [0.1] * 3)
    assert np.array_equal(other.coupling.stiffness, [0.2444] * 3)


def test_currents_stay_within_their_limit():
    limited = actuators(with_motor(current_limit=6.0))
    assert np.array_equal(limited.limited(jnp.array([-9.0, 3.0, 6.5])), [-6, 3, 6])
    free = actuators(STAGE)
    assert np.array_equal(free.limited(jnp.array([-9e9, 3.0, 6.5])), [-9e9, 3, 6.5])


# By hand


def test_numbers_of_the_stage():
    drive = actuators(STAGE)
    assert np.allclose(drive.ratio, 1256.637, rtol=1e-6)
    assert np.allclose(drive.torque_constant, 0.0302)
    assert np.allclose(drive.rotor_inertia, 1.423e-4)
    assert np.allclose(drive.load_inertia, 4.817e-8)
    # J2 is 0.0761 kg at the slider.
    assert np.allclose(at_joints(STAGE), 0.0761, atol=5e-5)


def test_a_stiff_transmission_has_all_inertia_at_the_joint():
    robot = with_motor(coupling_stiffness=None)
    drive = actuators(robot)
    assert drive.coupling is None
    assert np.allclose(drive.rotor_inertia, 1.423e-4 + 4.817e-8, rtol=1e-12)
    assert np.allclose(drive.load_inertia, 0)
    assert np.allclose(at_joints(robot), 1256.637**2 * (1.423e-4 + 4.817e-8), rtol=1e-6)


def test_the_inertia_at_the_joint_counts_before_the_one_at_the_shaft():
    robot = with_motor(coupling_stiffness=None, reflected_inertia=7.0)
    assert np.allclose(at_joints(robot), 7.0)


def test_a_delta_has_a_fourth_motor():
    irb = load("abb_irb360_6_1600")
    motors = Motors(
        drives=Motor(gear_ratio=33.0, torque_constant=0.5),
        axis4=Motor(gear_ratio=11.25, torque_constant=0.25, reflected_inertia=0.003),
    )
    robot = irb.model_copy(update={"motors": motors})
    drive = actuators(robot, DELTA)
    assert np.allclose(drive.ratio, [33, 33, 33, 11.25])
    assert np.allclose(drive.torque_constant, [0.5, 0.5, 0.5, 0.25])
    assert np.allclose(at_joints(robot, DELTA), [0, 0, 0, 0.003])


# Published


def test_equation_61_corrected():
    values = np.linalg.eigvals(free_drive(actuators(STAGE)))
    values = values[np.lexsort((values.imag, values.real))]
    expected = np.array([-112.66 - 2250.05j, -112.66 + 2250.05j, -21.08, 0])
    assert np.abs(values[:3] / expected[:3] - 1).max() < 1e-3
    assert abs(values[3]) < 1e-6


# Refused


@pytest.mark.parametrize(
    ("facts", "named"),
    [
        ({"torque_constant": None}, "motors.drives.torque_constant"),
        ({"transmission": None}, "motors.drives.transmission"),
        ({"rotor_inertia": None}, "motors.drives.rotor_inertia"),
    ],
)
def test_a_missing_fact_is_named(facts, named):
    with pytest.raises(MissingFact, match=named.replace(".", r"\.")) as told:
        actuators(with_motor(**facts))
    assert "compliant_3prs" in str(told.value)
    assert "a closed loop" in str(told.value)


def test_missing_motors_are_named():
    none = STAGE.model_copy(update={"motors": None})
    with pytest.raises(MissingFact, match=r"motors\.drives"):
        actuators(none)
    irb = load("abb_irb360_6_1600")
    lacking = irb.model_copy(
        update={"motors": Motors(drives=Motor(gear_ratio=33.0, torque_constant=0.5))}
    )
    with pytest.raises(MissingFact, match=r"motors\.axis4"):
        actuators(lacking, DELTA)


def test_soft_and_stiff_transmissions_do_not_mix():
    irb = load("abb_irb360_6_1600")
    soft = Motor(gear_ratio=33.0, torque_constant=0.5, rotor_inertia=1e-4, coupling_stiffness=9.0)
    stiff = Motor(gear_ratio=11.0, torque_constant=0.5, rotor_inertia=1e-4)
    mixed = irb.model_copy(update={"motors": Motors(drives=soft, axis4=stiff)})
    with pytest.raises(MissingFact, match="all transmissions must be soft, or all stiff"):
        actuators(mixed, DELTA)


def test_a_reverse_stiffness_needs_a_stiffness():
    with pytest.raises(ValueError, match="coupling_stiffness_reverse needs coupling_stiffness"):
        Motor(coupling_stiffness_reverse=0.2)
    with pytest.raises((ValueError, InputError)):
        Motor(coupling_stiffness=-0.2)


def test_constants_are_leaves_that_can_be_varied():
    drive = actuators(STAGE)
    other = eqx.tree_at(lambda d: d.rotor_inertia, drive, drive.rotor_inertia / 10)
    ratio = other.rotor_acceleration(jnp.ones(3), jnp.zeros(3), jnp.zeros(3)) / (
        drive.rotor_acceleration(jnp.ones(3), jnp.zeros(3), jnp.zeros(3))
    )
    assert np.allclose(ratio, 10)
