"""The chord sensor as one compiled function for controllers, the robot's numbers burned in."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from triskele.errors import InputError
from triskele.numerics import Scalars, batch
from triskele.sensing.chord import Hinges, chord_weights, deflections
from triskele.sensing.rods import SoftRods, rod_state
from triskele.sensing.tool import tool_position

Handle = Callable[[ArrayLike, ArrayLike, ArrayLike, ArrayLike], np.ndarray]


def sensor_function(rods: SoftRods) -> Handle:
    """Deflections and tool, (delta1, delta2, delta3, x, y, z) [m], of (q, qd, qdd, wrist).

    Of N of each, (N, 6). `wrist` are the angles of the hinges at the platform, see `chord.Hinges`.
    All six are NaN where the rods would not reach the platform: the motors cannot be there.
    """
    fixed: SoftRods = jax.tree.map(np.asarray, rods)
    weights = jax.tree.map(np.asarray, chord_weights(rods, elbow=False, wrist=True))
    n = len(rods.mechanism.joint_coordinates)

    def kernel(q: Scalars, qd: Scalars, qdd: Scalars, wrist: Scalars) -> Scalars:
        state = rod_state(fixed, q, qd, qdd)
        delta = deflections(weights, state, q, Hinges(wrist=wrist))
        tool = tool_position(fixed, q, delta, state.tension)[:3]
        closed = fixed.mechanism.forward(q).margin >= 0
        return tuple(jnp.where(closed, value, jnp.nan) for value in (*delta, *tool))

    def of_packed(packed: jax.Array) -> jax.Array:
        parts = (tuple(packed[k * n : min((k + 1) * n, 3 * n + 3)]) for k in range(4))
        return jnp.stack(kernel(*parts))

    one, many = jax.jit(of_packed), batch(kernel)

    def call(q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, wrist: ArrayLike) -> np.ndarray:
        shape, joints = np.shape(wrist), np.shape(q)
        same = joints == np.shape(qd) == np.shape(qdd) and joints[:-1] == shape[:-1]
        if not same or joints[-1:] != (n,) or shape[-1:] != (3,) or len(shape) > 2:
            raise InputError(
                f"A sample is q, qd, qdd of {n} numbers and 3 of the wrists, and N samples are N "
                f"rows of each; given are {joints}, {np.shape(qd)}, {np.shape(qdd)} and {shape}."
            )
        if len(shape) == 1:
            return np.asarray(one(np.concatenate([q, qd, qdd, wrist], dtype=float)))
        return np.stack(many(q, qd, qdd, wrist), axis=-1)

    return call
