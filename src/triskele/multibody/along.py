"""What the joints carry while the platform of a robot moves as prescribed."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from triskele.kinematics.cycles import check_coordinates
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.motion import Motion
from triskele.kinematics.velocity import joint_acceleration
from triskele.multibody.from_robot import RobotSystem, followed
from triskele.multibody.primitives import Drive
from triskele.multibody.reactions import In, JointReactions, reactions
from triskele.multibody.solve import consistent_speeds
from triskele.multibody.system import State, System
from triskele.numerics import Scalars, filled_up, tabulate
from triskele.spatial.euler_parameters import from_matrix


def reactions_along(
    model: RobotSystem, motion: Motion, *, expressed_in: In = "world"
) -> JointReactions:
    """Reactions and efforts of the drives at the samples of `motion`.

    `model` must have its motors, or its platform, driven: `from_robot(..., driven="motors")`.

    >>> import triskele as tk
    >>> robot = tk.load("omron_mini_delta")
    >>> model = tk.multibody.from_robot(robot, driven="motors")
    >>> tk.multibody.reactions_along(model, tk.pick_and_place(robot, rate=20)).effort.shape
    (21, 3)
    """
    assert model.system.prescribed, "the model is driven by efforts; use driven=..."
    check_coordinates(model.mechanism, motion)
    count = len(motion.t)
    states, drive = _samples(model, motion)
    states = _moving(model.system, states, drive)
    found = reactions(model.system, states, None, drive, expressed_in=expressed_in)
    cut = {name: getattr(found, name)[:count] for name in ("force", "moment", "effort", "gap")}
    return found._replace(**cut)


def _samples(model: RobotSystem, motion: Motion) -> tuple[State, Drive]:
    """Poses at rest, and what the drives do, at the samples; filled up to a round number."""
    mechanism, system = model.mechanism, model.system
    arrays = [filled_up(np.asarray(part)) for part in (motion.x, motion.xd, motion.xdd)]
    *joints, columns = tabulate(eqx.Partial(_kernel, mechanism))(*arrays)
    q, qd, qdd = (np.stack(part, axis=-1) for part in joints)
    poses = np.stack(columns, axis=-1).reshape(len(q), -1, 4, 3)
    found = dict(zip(mechanism.bodies, np.moveaxis(poses, 1, 0), strict=True))
    found["base"] = np.broadcast_to(_WORLD, (len(q), 4, 3))
    T = jnp.asarray(np.stack([found[name] for name in system.bodies], axis=1))
    R = jnp.swapaxes(T[:, :, :3], -1, -2)
    r = T[:, :, 3] + jnp.einsum("nbij,bj->nbi", R, system.centre)
    still = jnp.zeros_like(r)
    parts = [
        np.stack(followed(model, list(joint.T), list(platform.T)), axis=-1)
        for joint, platform in zip((q, qd, qdd), arrays, strict=True)
    ]
    return State(r, from_matrix(R), still, still), Drive(*map(jnp.asarray, parts))


_WORLD = np.concatenate([np.eye(3), np.zeros((1, 3))])


def _kernel(
    mechanism: AbstractMechanism, x: Scalars, xd: Scalars, xdd: Scalars
) -> tuple[Scalars, Scalars, Scalars, Scalars]:
    """Joints and their rates, and 12 columns of each pose; for `numerics.tabulate`."""
    q = mechanism.inverse(x).components
    qd, qdd, _ = joint_acceleration(mechanism, q, x, xd, xdd)
    frames = mechanism.body_poses(q, x)
    return q, qd, qdd, tuple(entry for frame in frames for axis in frame for entry in axis)


@eqx.filter_jit
def _moving(system: System, states: State, drive: Drive) -> State:
    """`states` with the velocities that the drives demand."""
    return jax.lax.map(lambda sample: consistent_speeds(system, *sample), (states, drive))
