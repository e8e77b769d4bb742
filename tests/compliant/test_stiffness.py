"""Stiffness and natural frequencies: derivatives of static forces, the digest's numbers."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from energy_equivalence import HOME, L

from triskele.compliant.stiffness import linear, natural_modes
from triskele.control.plant import plant
from triskele.description.load import load
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import rigid
from triskele.errors import InputError
from triskele.numerics import tabulate

STAGE = load("compliant_3prs")
PLANT = plant(STAGE, friction=False)
WITH_J2 = PLANT.load  #: i^2 J2 at the sliders
ALONE = eqx.tree_at(lambda robot: robot.rotors, WITH_J2, jnp.zeros(3))
ASKEW = HOME + np.array([1.5e-3, np.radians(0.8), np.radians(-0.6)])


def twice(robot):
    """All springs twice as stiff: the energy of each flexure counted twice."""
    springs = [eqx.tree_at(lambda s: s.stiffness, s, 2 * s.stiffness) for s in robot.springs]
    return eqx.tree_at(lambda robot: robot.springs, robot, tuple(springs))


def coupled(kt):
    stiffness = jnp.full(3, kt)
    return eqx.tree_at(
        lambda d: (d.coupling.stiffness, d.coupling.reverse), PLANT.actuators, (stiffness,) * 2
    )


def static_forces(poses):
    still = np.zeros_like(poses)

    def one(x, xd, xdd):
        return inverse_dynamics(ALONE, x, xd, xdd)

    return np.stack(tabulate(one)(poses, still, still), axis=-1)


@pytest.fixture(scope="module")
def home():
    return linear(ALONE, HOME)


# Laws


def test_stiffness_is_the_slope_of_static_forces():
    """S' (tau(x) - tau) is K dx while efforts are held: d(S' tau)/dx less tau . d2q/dx2."""
    at, h = linear(ALONE, ASKEW), np.array([1e-6, 1e-5, 1e-5])
    steps = np.concatenate([np.diag(h), -np.diag(h)])
    F = static_forces(ASKEW + steps)
    slope = (F[:3] - F[3:]).T / (2 * h)
    unit = np.outer([1, 0.05, 0.05], [1, 0.05, 0.05])  # rad as metres
    K, expected = unit * at.K, unit * (at.S.T @ slope)
    assert np.allclose(K, expected, rtol=0, atol=1e-7 * np.abs(expected).max())
    assert np.allclose(at.tau, static_forces(ASKEW[None, :])[0], rtol=0, atol=1e-10)
    assert np.abs(np.triu(at.K, 1)).max(axis=0)[1:].min() > 5


def test_slopes_of_the_joints():
    at, h = linear(ALONE, ASKEW), np.array([1e-6, 1e-5, 1e-5])
    mechanism = ALONE.mechanism

    def joints(x):
        q = mechanism.inverse(jnp.asarray(x)).components
        return np.array(q), np.array(mechanism.passive(q, tuple(jnp.asarray(x))))

    ends = [(joints(ASKEW + step), joints(ASKEW - step)) for step in np.diag(h)]
    S = np.stack([(a[0] - b[0]) / (2 * d) for (a, b), d in zip(ends, h, strict=True)], axis=1)
    E = np.stack([(a[1] - b[1]) / (2 * d) for (a, b), d in zip(ends, h, strict=True)], axis=1)
    assert np.allclose(at.S, S, rtol=0, atol=1e-8)
    assert np.allclose(at.E, E, rtol=0, atol=1e-7)
    assert np.allclose(at.q, joints(ASKEW)[0], rtol=0, atol=1e-15)


def test_stiffness_and_mass_are_symmetric():
    at = linear(ALONE, ASKEW)
    assert np.allclose(at.K, at.K.T, rtol=1e-12)
    assert np.allclose(at.M, at.M.T, rtol=1e-12)
    assert (np.linalg.eigvalsh(at.M) > 0).all()


def test_modes_are_eigenvectors():
    found = natural_modes(ALONE, ASKEW)
    w = 2 * np.pi * found.frequencies
    pushed = found.stiffness @ found.shapes
    assert np.allclose(pushed, found.mass @ found.shapes * w**2, atol=1e-9 * np.abs(pushed).max())
    assert (np.diff(w) >= 0).all()
    assert np.allclose(np.abs(found.shapes).max(axis=0), 1)


# By hand


def test_stiffness_of_a_lift_by_hand(home):
    """3 (kr + ksf) / (L cos alpha0)^2, and what the weight adds: tau d2s/dz2 and nothing else."""
    springs = 3 * (98.37 + 32.665) / (L * np.cos(np.pi / 4)) ** 2
    # U'' - tau s'': weights are linear in z, tau = m g / 3 of half the bars; s'' of
    # s = const - sqrt(L^2 - z^2) is L^2 / c^3.
    weight = 0.153 * 9.81 + 3 * 0.028 * 9.81 / 2
    c = L * np.cos(np.pi / 4)
    assert home.K[0, 0] == pytest.approx(springs - weight * L**2 / c**3, rel=1e-9)
    assert home.K[0, 0] == pytest.approx(65.91e3, rel=1e-3)


def test_tilt_and_inertia_at_home(home):
    assert home.K[1, 1] == pytest.approx(226.96, rel=1e-3)
    assert home.K[2, 2] == pytest.approx(226.96, rel=1e-3)
    assert home.M[0, 0] == pytest.approx(0.8189, abs=5e-5)
    assert home.M[1, 1] == pytest.approx(8.23e-4, abs=5e-7)
    assert home.M[2, 2] == pytest.approx(8.23e-4, abs=5e-7)


def test_at_the_actuators(home):
    """Eigenpairs of section 4: 21954.6 N/m and 0.27296 kg; 66721 N/m and 0.24206 kg, twice."""
    back = np.linalg.inv(home.S)
    K, M = (np.sort(np.linalg.eigvalsh(back.T @ part @ back)) for part in (home.K, home.M))
    assert K == pytest.approx([21954.6, 66721, 66721], rel=2e-5)
    assert M == pytest.approx([0.24206, 0.24206, 0.27296], abs=1e-5)


# Numbers of the digest


@pytest.mark.parametrize(
    ("robot", "lift", "tilt", "lift2", "tilt2"),
    [(ALONE, 45.14, 83.56, 63.85, 118.18), (WITH_J2, 39.92, 72.89, 56.46, 103.09)],
    ids=["alone", "with J2"],
)
def test_frequencies_with_free_sliders(robot, lift, tilt, lift2, tilt2):
    found = natural_modes(robot, HOME).frequencies
    assert found == pytest.approx([lift, tilt, tilt], abs=0.1)
    doubled = natural_modes(twice(robot), HOME).frequencies
    assert doubled == pytest.approx([lift2, tilt2, tilt2], abs=0.1)


@pytest.mark.parametrize(
    ("kt", "lift", "tilt", "lift2", "tilt2"),
    [
        (0.0611, 92.7, 114.0, 100.9, 135.3),
        (0.2444, 172.05, 189.85, 176.6, 203.4),
        (1.53, 420.6, 444.6, 422.5, 450.6),
    ],
)
def test_frequencies_with_locked_motors(kt, lift, tilt, lift2, tilt2):
    found = natural_modes(WITH_J2, HOME, coupled(kt), "locked").frequencies
    assert found == pytest.approx([lift, tilt, tilt], abs=0.5)
    doubled = natural_modes(twice(WITH_J2), HOME, coupled(kt), "locked").frequencies
    assert doubled == pytest.approx([lift2, tilt2, tilt2], abs=0.5)


def test_the_slack_side_of_a_belt_counts_where_the_load_pulls():
    """At z = -2 mm the springs push the sliders: the load leads, the other side is stiff."""
    low = HOME - np.array([2e-3, 0, 0])
    two = eqx.tree_at(lambda d: d.coupling.reverse, PLANT.actuators, jnp.full(3, 0.0611))
    found = natural_modes(WITH_J2, low, two, "locked").frequencies
    assert found == pytest.approx(
        natural_modes(WITH_J2, low, coupled(0.0611), "locked").frequencies
    )
    high = natural_modes(WITH_J2, HOME + np.array([2e-3, 0, 0]), two, "locked").frequencies
    assert (high > 1.5 * found).all()


# Refused


def test_a_pose_that_falls_over_is_refused():
    """Without flexures the platform stands on three bars: it sinks."""
    weak = [eqx.tree_at(lambda s: s.stiffness, s, 0 * s.stiffness) for s in ALONE.springs]
    slack = eqx.tree_at(lambda robot: robot.springs, ALONE, tuple(weak))
    with pytest.raises(InputError, match=r"not stable with its drives free: .* negative"):
        natural_modes(slack, HOME)


def test_stiff_drives_cannot_be_locked():
    for drives in (None, eqx.tree_at(lambda d: d.coupling, PLANT.actuators, None)):
        with pytest.raises(InputError, match=r"motors\.drives\.coupling_stiffness"):
            natural_modes(WITH_J2, HOME, drives, "locked")


def test_motors_with_their_rotors_are_slower():
    """What `rigid` builds has J1 at the sliders too: 225 kg."""
    whole = rigid(STAGE, friction=False)
    assert natural_modes(whole, HOME).frequencies[0] < 3
