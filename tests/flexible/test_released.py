"""Two models of one robot that share its numbers and no equation: minimal unknowns, and joints."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from soft_gears import geared

from triskele.description.load import load
from triskele.description.schema import Payload
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import rigid
from triskele.errors import InputError
from triskele.flexible.modes import modes, sag
from triskele.flexible.released import released_frequencies, released_sag
from triskele.flexible.robot import flexible
from triskele.kinematics.velocity import jacobian

POSES = np.array([[0.1, 0.0, -0.5], [0.0, 0.0, -0.5], [-0.05, 0.08, -0.6], [0.07, -0.11, -0.45]])
IRB_POSES = np.array([[0.0, 0.0, -0.95, 0.0], [0.5, -0.3, -0.9, 0.7]])
OF_RODS = 12  #: modes of the IRB in which its rods swing
OF_PAIRS = 18  #: the same, and six of its platform


def uneven(robot):
    """The same links in a robot without symmetry."""

    def numbers(r):
        m = r.mechanism
        return (m.azimuth, m.base_radius, m.platform_radius, m.arm_length, m.rod_length)

    values = (
        [0.1, 2.0, 4.4],
        [0.11, 0.09, 0.12],
        [0.04, 0.05, 0.06],
        [0.5, 0.46, 0.55],
        [0.6, 0.65, 0.57],
    )
    return eqx.tree_at(numbers, robot, tuple(jnp.array(value) for value in values))


def loaded():
    """What is carried askew, so that no product of inertia is zero."""
    return Payload(mass=0.3, centre_of_mass=(0.03, -0.02, -0.05), inertia=(2e-4, 3e-4, 4e-4))


def sag_of(robot, x):
    found = sag(robot, x)
    return np.concatenate([found.position, found.rotation])


def differences(robot, x, *, count=8, **options):
    """Of frequencies, relatively, and of the sag, by its largest part."""
    w = np.asarray(modes(robot, x, count=count).frequencies)
    other = released_sag(robot, x, **options)
    apart = np.abs(sag_of(robot, x) - other).max() / np.abs(other).max()
    return np.abs(w / released_frequencies(robot, x, count=count, **options) - 1).max(), apart


def agree(robot, x, **options):
    of_modes, of_sag = differences(robot, x, **options)
    assert of_modes < 1e-7
    assert of_sag < 1e-7


def test_frequencies_and_sag_are_those_of_the_released_robot():
    """Of the symmetric robot, of an uneven one, and with a payload, at several poses."""
    robot = load("flexible_delta")
    bare, carrying = flexible(robot), flexible(robot, loaded())
    for x in POSES:
        agree(bare, x, count=12)
        agree(uneven(carrying), x, count=12)
    agree(carrying, POSES[2], count=12)
    agree(uneven(bare), POSES[2], count=12)


@pytest.mark.long
def test_so_they_are_with_three_elements_per_link():
    robot = load("flexible_delta")
    agree(flexible(robot, elements=3), POSES[0], count=24)
    agree(uneven(flexible(robot, loaded(), elements=3)), POSES[3], count=24)


@pytest.mark.long
def test_links_of_timoshenko_are_those_of_przemieniecki():
    """With bars of 30 mm x 20 mm, so that shear and rotary inertia matter."""
    robot = load("flexible_delta")
    section = robot.sections.arm.model_copy(update={"width": 0.03, "height": 0.02})
    bodies = {
        part: getattr(robot.bodies, part).model_copy(update={"mass": 5.0})
        for part in ("arm", "rod")
    }
    robot = robot.model_copy(
        update={
            "sections": robot.sections.model_copy(update={"arm": section, "rod": section}),
            "bodies": robot.bodies.model_copy(update=bodies),
        }
    )
    sheared, slender = (
        uneven(flexible(robot, loaded(), elements=2, slender=kind)) for kind in (False, True)
    )
    agree(sheared, POSES[2], count=20)
    apart = released_frequencies(slender, POSES[2], count=20) / released_frequencies(
        sheared, POSES[2], count=20
    )
    assert 1e-3 < (apart - 1).max() < 0.1


@pytest.fixture(scope="module")
def irb():
    """Rigid arms, rods in pairs with lumps at their ends; telescope and payload on the platform."""
    return flexible(load("abb_irb360_6_1600"), "plate", elements=3)


def test_rods_in_pairs_on_ball_joints_are_the_same_in_both(irb):
    assert (np.asarray(irb.rod_lumps) > 0).all()
    for x in IRB_POSES:
        agree(irb, x, count=OF_PAIRS, ball_joints=True)


def test_universal_elbows_of_pairs_change_little(irb):
    """They carry the rods' inertia about x along with their swing, and no force: no sag."""
    of_modes, of_sag = differences(irb, IRB_POSES[1], count=OF_RODS)
    assert 1e-6 < of_modes < 1e-3
    assert of_sag < 1e-9


def test_frequencies_are_those_of_two_earlier_programs():
    """Kuo's robot at (0.1, 0, 0.5) of his frame, one element: two codes agreed on these."""
    robot = flexible(load("flexible_delta"))
    known = [20.5573, 22.5649, 24.9849, 54.1517, 62.1188, 63.0431, 111.5207, 122.4518]
    np.testing.assert_allclose(released_frequencies(robot, POSES[0]), known, atol=1e-4)
    hanging = released_sag(robot, POSES[0])
    np.testing.assert_allclose(hanging[[0, 2]] * 1e3, [0.8436, -25.5372], atol=1e-3)
    np.testing.assert_allclose(np.degrees(np.abs(hanging[4])), 0.9990, atol=1e-3)


def test_what_cannot_be_released_is_said():
    robot = load("flexible_delta")
    with pytest.raises(InputError, match="Released links are 'linear/cubic', not 'cubic/quintic'"):
        released_sag(flexible(robot, family="cubic/quintic"), POSES[0])
    for count in (0, 37):
        with pytest.raises(InputError, match=f"This model has 1 to 36 modes, not {count}."):
            released_frequencies(flexible(robot), POSES[0], count=count)


# Soft gears


def test_soft_gears_under_arms_that_bend_are_those_of_joints():
    """Of a robot without symmetry, askew; and they count."""
    for x in POSES[1:3]:
        agree(uneven(geared("flexible_delta", loaded())), x, count=15)
    stiff, soft = (flexible(load("flexible_delta")), geared("flexible_delta"))
    lowest = [modes(r, POSES[1], count=1).frequencies[0] for r in (stiff, soft)]
    assert lowest[1] < 0.97 * lowest[0]


@pytest.mark.long
def test_soft_gears_under_rigid_arms_are_those_of_joints():
    """With rods in pairs, a telescope and a payload; weights of arms count in the sag."""
    robot = geared("abb_irb360_6_1600", "plate", stiffness=(2e4, 3e4, 4e4), inertia=0.1)
    for x in IRB_POSES:
        agree(robot, x, count=OF_PAIRS + 3, ball_joints=True)
    platens = geared("omron_mini_delta_platens", loaded(), level=False)
    agree(platens, np.array([0.05, 0.03, -0.38]), count=15)


def test_a_gear_is_a_spring_at_the_joint():
    """At rest gears twist by the torques they carry, and the platform goes where joints would."""
    name, x = "omron_mini_delta_platens", (0.03, 0.02, -0.38)
    robot = geared(name, stiffness=(50.0,) * 3)
    lower = np.asarray(sag(robot, x).position) - np.asarray(sag(flexible(load(name)), x).position)
    mechanism, still = robot.mechanism, jnp.zeros(3)
    J = jacobian(mechanism, mechanism.inverse(x).components, x)
    tau = inverse_dynamics(rigid(load(name)), jnp.array(x), still, still)
    expected = -np.asarray(J) @ np.asarray(tau) / 50.0
    assert np.allclose(lower, expected, rtol=0, atol=2e-3 * np.abs(expected).max())
