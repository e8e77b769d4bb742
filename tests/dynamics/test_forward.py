"""Forward dynamics undoes inverse dynamics; the mass matrix is inertia and kinetic energy."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from random_motions import columns, evaluated, motions
from rubbing import sprung_delta
from triangle import BELOW, triangle

from triskele.dynamics.energy import energy
from triskele.dynamics.forward import forward_dynamics, joint_mass_matrix, mass_matrix
from triskele.dynamics.inverse import inverse_dynamics
from triskele.kinematics.velocity import jacobian


def matrices(rows):
    """Rows of scalars at N states as (N, n, n)."""
    return np.stack([columns(row) for row in rows], axis=1)


@pytest.fixture(scope="module")
def sprung():
    """With springs, rotors, payload, tilted gravity, and friction of drives and balls."""
    robot = sprung_delta()
    x, xd, xdd = motions(robot, 12)
    return robot, (x, xd, xdd), matrices(evaluated(eqx.Partial(mass_matrix, robot), x))


def test_forward_dynamics_undoes_inverse_dynamics(sprung):
    """Half of the states are those of the other half, pushed by other efforts.

    What that changes is what the mass matrix says, which is derived in another way.
    """
    robot, (x, xd, xdd), M = sprung
    tau = columns(evaluated(eqx.Partial(inverse_dynamics, robot), x, xd, xdd))
    push = np.random.default_rng(3).uniform(-1, 1, tau.shape)
    rows = (np.concatenate(pair) for pair in ((x, x), (xd, xd), (tau, tau + push)))
    found = columns(evaluated(eqx.Partial(forward_dynamics, robot), *rows))
    assert np.abs(found[:12] - xdd).max() < 1e-9 * np.abs(xdd).max()
    poses = tuple(jnp.asarray(x.T))
    J = jacobian(robot.mechanism, robot.mechanism.inverse(poses).components, poses)
    force = np.linalg.solve(np.swapaxes(J, 1, 2), push[..., None])
    assert np.allclose(M @ (found[12:] - found[:12])[..., None], force, rtol=1e-9, atol=1e-9)


def test_the_mass_matrix_is_symmetric_and_positive_and_holds_the_kinetic_energy(sprung):
    robot, (x, xd, _), M = sprung
    assert np.array_equal(M, np.swapaxes(M, 1, 2))
    assert (np.linalg.eigvalsh(M) > 0).all()
    kinetic = evaluated(eqx.Partial(energy, robot), x, xd).kinetic
    assert np.allclose(np.einsum("ni,nij,nj->n", xd, M, xd) / 2, kinetic, rtol=1e-12)


def test_what_the_motors_of_the_triangle_feel():
    # 13 kg move 3 m per radian of all motors; three rotors of 0.5 kg m^2 turn by 1/3 rad/m.
    robot = triangle(arm=2.0, rod=1.0, platform=4.0, rotors=0.5)
    M = matrices(evaluated(eqx.Partial(mass_matrix, robot), BELOW))[0]
    assert np.allclose(M[:, 2], [0, 0, 13 + 3 * 0.5 / 9], rtol=0, atol=1e-12)
    felt = matrices(evaluated(eqx.Partial(joint_mass_matrix, robot), BELOW))[0]
    assert np.allclose(felt @ np.ones(3), 13 * 9 / 3 + 0.5, rtol=1e-13)
    assert np.allclose(felt, felt.T, rtol=1e-13)
