"""Forces of the compliant 3PRS, part by part, derived three times; and those of the digest.

`energy_equivalence.py` has the equations of Ruiz et al. (Robotics 11 (2022) 4), corrected, and
Lagrange's; forces at single poses were computed apart from both.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from energy_equivalence import HOME, forces, lagrange_forces, random_states, slider_motion

from triskele.compliant.contributions import contributions
from triskele.description.load import load
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import rigid
from triskele.numerics import stacked, tabulate
from triskele.studies.compliant_3prs import counted_twice

COUNT = 12
STATES = random_states(COUNT)
ROTORS = jnp.array([0.3, 0.4, 0.5])
STILL = np.zeros(3)
ROBOT = eqx.tree_at(
    lambda robot: robot.rotors, rigid(load("compliant_3prs"), friction=False), ROTORS
)
WRENCH = np.array([3.0, -4.0, 5.0]), np.array([0.2, 0.1, -0.3])


@pytest.fixture(scope="module")
def parts():
    """Contributions at all states, one compilation."""
    return [found(*state) for state in rows()]


@pytest.fixture(scope="module")
def transcribed():
    return [forces(*state, *WRENCH) for state in rows()]


def rows():
    return zip(*STATES, strict=True)


def found(x, xd, xdd, wrench=WRENCH):
    """Always with arrays: one compilation."""
    return contributions(ROBOT, x, xd, xdd, force=wrench[0], moment=wrench[1])


def held(z=0.0, psi=0.0, theta=0.0):
    """Contributions at rest, dz [m] and angles [deg] from home."""
    q = HOME + np.array([z, np.radians(psi), np.radians(theta)])
    return found(q, STILL, STILL, (STILL, STILL))


def off(found, expected):
    """Largest difference, in parts of the largest number."""
    found, expected = np.asarray(found), np.asarray(expected)
    return np.abs(found - expected).max() / np.abs(expected).max()


# Laws


def test_the_parts_make_the_whole(parts):
    def one(x, xd, xdd):
        return inverse_dynamics(ROBOT, x, xd, xdd)

    tau = np.stack(tabulate(one)(*STATES), axis=-1)
    whole = np.stack([part.total - part.external for part in parts])
    assert off(whole, tau) < 1e-12


def test_the_parts_make_what_lagrange_asks_for(parts):
    ours = np.stack([part.total - part.external - part.motors for part in parts])
    expected = [lagrange_forces(*map(jnp.asarray, state)) for state in rows()]
    assert max(off(f, e) for f, e in zip(ours, expected, strict=True)) < 1e-9


@pytest.mark.long
def test_twice_counted_springs_are_those_of_twice_the_energy():
    x, xd, xdd = (part[0] for part in STATES)
    once = found(x, xd, xdd)
    twice = counted_twice(once)
    expected = lagrange_forces(*map(jnp.asarray, (x, xd, xdd)), 2.0)
    assert off(twice.total - twice.motors - twice.external, expected) < 1e-9
    assert np.allclose(twice.flexures, 2 * once.flexures, rtol=1e-12)
    same = (*once.translation.values(), *once.rotation.values(), once.motors, once.friction)
    other = (*twice.translation.values(), *twice.rotation.values(), twice.motors, twice.friction)
    assert all(np.allclose(a, b, rtol=1e-12, atol=1e-12) for a, b in zip(same, other, strict=True))
    assert np.abs(once.flexures).max() > 10


def test_a_wrench_is_balanced_by_its_power(parts):
    """tau . sd = -(f . v + n . w), with the platform's velocities from its pose."""
    for (x, xd, xdd), part in zip(rows(), parts, strict=True):

        def placed(x):
            pose = ROBOT.mechanism.platform_pose(x)
            return stacked(pose.p), jnp.stack([stacked(c) for c in (pose.x, pose.y, pose.z)], 1)

        (_, R), (v, Rd) = jax.jvp(placed, (jnp.asarray(x),), (jnp.asarray(xd),))
        spin = np.asarray(Rd @ R.T)
        w = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
        sd, _ = slider_motion(x, xd, xdd)
        power = WRENCH[0] @ np.asarray(v) + WRENCH[1] @ w
        assert np.asarray(part.external) @ sd == pytest.approx(-power, rel=1e-10)


@pytest.mark.long
def test_a_force_at_a_point_is_balanced_by_the_power_of_that_point(parts):
    """tau . sd = -f . (v of the point), the velocity from the pose alone."""
    point, force = np.array([0.03, -0.02, 0.05]), WRENCH[0]
    for x, xd, xdd in list(rows())[:2]:

        def tip(x):
            return stacked(ROBOT.mechanism.platform_pose(x).at(tuple(point)))

        v = np.asarray(jax.jvp(tip, (jnp.asarray(x),), (jnp.asarray(xd),))[1])
        found = contributions(ROBOT, x, xd, xdd, force=force, point=point)
        sd, sdd = slider_motion(x, xd, xdd)
        assert np.asarray(found.external) @ sd == pytest.approx(-force @ v, rel=1e-10)
        assert np.allclose(found.without_motors + np.asarray(ROTORS) * sdd, found.total, atol=1e-9)


# A second derivation


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda p: p.translation["coupling"], "coupling"),
        (lambda p: p.translation["platform"], "platform_translation"),
        (lambda p: p.rotation["platform"], "platform_rotation"),
        (lambda p: p.translation["bar"], "bar_translation"),
        (lambda p: p.rotation["bar"], "bar_rotation"),
        (lambda p: p.flexures, "flexures"),
        (lambda p: p.external, "external"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_part_is_that_of_equation_59(parts, transcribed, ours, theirs):
    expected = np.stack([getattr(part, theirs) for part in transcribed])
    assert np.abs(expected).max() > 1e-3
    assert off(np.stack([ours(part) for part in parts]), expected) < 1e-9


def test_parts_that_equation_59_does_not_have(parts):
    for state, part in zip(rows(), parts, strict=True):
        _, sdd = slider_motion(*state)
        assert np.allclose(part.motors, np.asarray(ROTORS) * sdd, rtol=1e-9, atol=1e-12)
        assert np.allclose(part.friction, 0, rtol=0, atol=0)
        assert np.allclose(part.rotation["coupling"], 0, rtol=0, atol=1e-9)


# Numbers of the digest


@pytest.mark.parametrize(
    ("z", "once", "twice"), [(2e-3, 44.01, 87.42), (0.0, 0.638, 0.638), (-2e-3, -43.87, -88.42)]
)
def test_forces_of_a_lift(z, once, twice):
    part, atol = held(z), 0.05 if z else 5e-4
    assert np.allclose(part.total, once, rtol=0, atol=atol)
    assert np.allclose(part.total + part.flexures, twice, rtol=0, atol=atol)


def test_parts_of_the_force_of_a_lift():
    """Revolute flexures alone 32.59 N, spherical ones 10.82 N, weight 0.61 N."""
    part = held(2e-3)
    weight = sum(np.asarray(value) for value in part.translation.values())
    assert np.allclose(weight, 0.61, rtol=0, atol=5e-3)
    assert np.allclose(part.flexures, 32.59 + 10.82, rtol=0, atol=0.01)
    rotated = np.stack([np.asarray(value) for value in part.rotation.values()])
    assert np.abs(rotated).max() < 1e-12


def test_forces_of_the_reference_state():
    F = held(2e-3, 1.0, -0.5).total
    assert np.allclose(F, [71.031, 76.834, -17.270], rtol=0, atol=0.01)


def test_forces_of_the_workspace():
    """Section 8: extremes of F over tilts of one degree, at home and 2 mm up and down."""
    angles = np.radians(np.arange(0, 360, 5))
    tilts = np.radians(1) * np.stack([0 * angles, np.cos(angles), np.sin(angles)], axis=1)
    up = np.array([2e-3, 0, 0])
    poses = HOME + np.concatenate([tilts, tilts + up, tilts - up])
    still = np.zeros_like(poses)

    def one(x, xd, xdd):
        return inverse_dynamics(ROBOT, x, xd, xdd)

    F = np.stack(tabulate(one)(poses, still, still), axis=-1)
    level, all_of_it = F[: len(angles)], F
    assert [level.min(), level.max()] == pytest.approx([-56.7, 54.3], abs=0.06)
    assert [all_of_it.min(), all_of_it.max()] == pytest.approx([-104.2, 95.3], abs=0.06)


@pytest.mark.long
def test_parts_without_mass_add_nothing():
    """The flange of the IRB 360 has none in its file; balls and telescope rub."""
    robot = rigid(load("abb_irb360_6_1600"))
    x, xd = np.array([0.1, -0.2, -1.0, 0.3]), np.array([1.0, 0.5, -0.4, 2.0])
    xdd = np.array([8.0, -5.0, 12.0, 30.0])
    parts = contributions(robot, x, xd, xdd)
    whole = np.asarray(inverse_dynamics(robot, x, xd, xdd))
    assert np.allclose(parts.total, whole, rtol=0, atol=1e-10 * np.abs(whole).max())
    assert np.all(np.asarray(parts.rotation["end_effector"]) == 0)
