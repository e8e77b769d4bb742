"""What moves a robot as a whole, from its momentum: nothing but poses and masses."""

import jax
import jax.numpy as jnp
import numpy as np
from random_motions import columns

from triskele.spatial.inertia import pseudo_inertia
from triskele.spatial.vectors import poses_array


def momentum(robot, x, xd):
    """Of all bodies, linear and about the origin of O, (N, 6), from the poses alone."""
    mechanism = robot.mechanism

    def frames(x):
        return poses_array(mechanism.body_poses(mechanism.inverse(x).components, x))

    P = jnp.stack([pseudo_inertia(ten) for ten in robot.inertias()])
    T, Td = jax.jvp(frames, (x,), (xd,))
    S = jnp.einsum("nbik,bkl,nbjl->nij", T, P, Td)  # integral of r v' dm
    turning = [S[:, i, j] - S[:, j, i] for i, j in ((1, 2), (2, 0), (0, 1))]
    moving = jnp.einsum("nbil,bl->in", Td, P[:, :, 3])
    first = jnp.einsum("nbik,bk->ni", T, P[:, :, 3])
    return jnp.stack([*moving, *turning], axis=-1), (first, P[:, 3, 3].sum())


def whole_robot(robot, x, xd, xdd):
    """Force and moment about O that the base must give, (N, 6)."""
    parts = (tuple(jnp.asarray(part.T)) for part in (x, xd, xdd))
    x, xd, xdd = parts
    _, rate, (first, mass) = jax.jvp(
        lambda x, xd: momentum(robot, x, xd), (x, xd), (xd, xdd), has_aux=True
    )
    g = np.asarray(robot.gravity)
    weight = np.tile(mass * g, (len(first), 1))
    return np.asarray(rate) - np.concatenate([weight, np.cross(first, g)], axis=1)


def assert_base_carries_all(robot, states, held):
    """The joints on the base carry what moves all bodies: force, and moment about O."""
    x = tuple(jnp.asarray(states.x.T))
    frames = robot.mechanism.body_poses(robot.mechanism.inverse(x).components, x)
    total = np.zeros((len(states.x), 6))
    for joint, force, moment in zip(
        held.joints, held.force.swapaxes(0, 1), held.moment.swapaxes(0, 1), strict=True
    ):
        if joint.parent == "base":
            place = frames[robot.mechanism.bodies.index(joint.child)].p  # a slider moves
            lever = columns(np.broadcast_arrays(*place, x[0])[:3])
            total += np.concatenate([force, moment + np.cross(lever, force)], axis=1)
    needed = whole_robot(robot, *states)
    assert np.allclose(total, needed, rtol=0, atol=1e-9 * np.abs(needed).max())
