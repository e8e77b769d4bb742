"""Velocities to begin with, from those that a file states of bodies and joints.

What is stated holds exactly; of the motions that joints, drives and statements leave, that with
the least squares of speeds is taken, each body weighed with its inertia:

    min V' D V,    D = diag M,    subject to    J V = -C_t,    S V = stated                (1)
"""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from triskele.errors import DescriptionError
from triskele.multibody.primitives import Drive
from triskele.multibody.solve import consistent_speeds, in_body, mass_matrix
from triskele.multibody.system import State, System, conditions, jacobian, motion_of

_LIGHTEST = 1e-9  #: inertia in D, as a part of the largest
_RANK_CUT = 1e-11
_MET = 1e-8  #: what may be left of a stated speed, as a part of the largest


class Stated(NamedTuple):
    """A speed that a file states."""

    place: str  #: where, such as bodies.bob.velocity
    of: str  #: the body or the joint
    kind: str  #: "velocity" (of a body's frame) or "angular_velocity", in O; or "joint"
    value: tuple[float, ...]  #: [m/s, rad/s]


def started(
    system: System, state: State, stated: Sequence[Stated], drive: Drive | None = None
) -> State:
    """`state` with velocities that meet all that is `stated`; an error names what cannot be."""
    if not stated:
        return state
    J, b, M, gauges, lever = (np.asarray(part) for part in _linear(system, state, drive))
    S, values, places = [], [], []
    for item in stated:
        rows = _rows(system, item, gauges, lever)
        S.append(rows)
        values += item.value
        places += [item.place] * len(rows)
    D = np.sqrt(np.maximum(np.diag(M), _LIGHTEST * np.diag(M).max()))
    A, right = np.vstack([J, *S]) / D, np.concatenate([b, values])
    sizes = np.linalg.norm(A, axis=1)
    sizes[sizes == 0] = 1.0
    V = np.linalg.lstsq(A / sizes[:, None], right / sizes, rcond=_RANK_CUT)[0] / D
    found = np.vstack(S) @ V
    left, most = np.abs(found - values), np.abs(right).max()
    if left.max() > _MET * most:
        worst = int(left.argmax())
        raise DescriptionError(
            f"{system.name}, {places[worst]}: a speed of {values[worst]:.4g} is stated, but with "
            f"the joints, drives and other speeds only {found[worst] + 0.0:.4g} is possible; leave "
            "out one of those that contradict each other."
        )
    twist = V.reshape(-1, 6)
    moving = state._replace(v=jnp.asarray(twist[:, :3]), w=_own(system, state, twist[:, 3:]))
    return _consistent(system, moving, drive)


def _rows(system: System, item: Stated, gauges: np.ndarray, lever: np.ndarray) -> np.ndarray:
    """What a statement multiplies V with."""
    if item.kind == "joint":
        names = (*system.gauges.turning, *system.gauges.sliding)
        return gauges[[names.index(item.of)]]
    body = system.body(item.of)
    rows = np.zeros((3, 6 * len(system.bodies)))
    if item.kind == "angular_velocity":
        rows[:, 6 * body + 3 : 6 * body + 6] = np.eye(3)
        return rows
    x, y, z = lever[body]
    rows[:, 6 * body : 6 * body + 3] = np.eye(3)
    rows[:, 6 * body + 3 : 6 * body + 6] = [[0, z, -y], [-z, 0, x], [y, -x, 0]]
    return rows


@eqx.filter_jit
def _linear(
    system: System, state: State, drive: Drive | None
) -> tuple[Array, Array, Array, Array, Array]:
    """J, -C_t, M, what the gauges multiply V with, and from each centre to its frame, in O."""
    motion = motion_of(system, state)
    rows = conditions(system, motion, drive)

    def measured(twist: Float[Array, " velocities"]) -> Array:
        parts = jnp.concatenate([twist.reshape(-1, 6), jnp.zeros((1, 6))])
        return system.gauges.coordinates(motion._replace(v=parts[:, :3], w=parts[:, 3:]))[1]

    gauges = jax.jacfwd(measured)(jnp.zeros(6 * len(system.bodies)))
    lever = -jnp.einsum("bij,bj->bi", motion.A[:-1], system.centre)
    return jacobian(system, rows), -rows.drift, mass_matrix(system, motion), gauges, lever


@eqx.filter_jit
def _own(system: System, state: State, w: Array) -> Array:
    return in_body(motion_of(system, state), w)


_consistent = eqx.filter_jit(consistent_speeds)
