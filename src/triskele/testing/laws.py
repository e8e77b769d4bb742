"""What is true of every mechanism, whatever its architecture.

`check_mechanism` compares what is derived from the loop closure with derivatives of
`forward` and `inverse`, which share no code with it, and the poses of the bodies with the
joints that are said to hold them together. Write a new architecture, call it on random
poses, and believe it when it is silent.
"""

from collections.abc import Callable, Iterable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.mobility import joint_constraints
from triskele.kinematics.singularity import singularity_margins
from triskele.kinematics.velocity import (
    closure_jacobians,
    joint_motion,
    platform_motion,
    time_derivative,
)
from triskele.numerics import Scalar, Scalars, batch, solve, stacked
from triskele.spatial.vectors import WORLD, cross, dot, poses_array, subtract


def random_poses(
    mechanism: AbstractMechanism,
    box: Float[np.ndarray, "m 2"],
    count: int,
    *,
    seed: int = 0,
    margin: float = 0.02,
) -> Float[np.ndarray, "count m"]:
    """Poses drawn evenly from `box`, reachable in the built modes, both margins > `margin`."""
    random, chosen, missing = np.random.default_rng(seed), [], count
    for _ in range(200):
        poses = random.uniform(box[:, 0], box[:, 1], (4 * count, len(box)))
        reach, least = batch(eqx.Partial(_margins, mechanism))(poses)
        good = (stacked(reach).min(axis=-1) > 0) & (least > margin)
        chosen.append(poses[np.asarray(good)][:missing])
        missing -= len(chosen[-1])
        if not missing:
            return np.concatenate(chosen)
    raise ValueError(f"Only {count - missing} of {count} poses of the box are reachable.")


def _margins(mechanism: AbstractMechanism, x: Scalars) -> tuple[Scalars, Scalar]:
    """Those of `inverse`, and the least one of both kinds of singularity."""
    solution = mechanism.inverse(x)
    return solution.margins, singularity_margins(mechanism, solution.components, x).least


def check_mechanism(
    mechanism: AbstractMechanism, poses: Float[np.ndarray, "poses m"], *, tol: float = 1e-8
) -> None:
    """Assert that position, velocity, acceleration, jerk and bodies agree at `poses`.

    Poses are reachable and away from singularities; `tol` is relative to the largest value
    that a law compares, or absolute in SI units if that is below one.
    """
    compared = {}
    for law in (_positions, _first_derivatives, _motions, _bodies):
        compared |= batch(eqx.Partial(law, mechanism))(poses)
    for name, pair in compared.items():
        ours, other = (np.stack([np.asarray(part) for part in side]) for side in pair)
        size = max(1.0, np.abs(other).max())
        worst = np.abs(ours - other).max() / size
        assert worst < tol, f"{name}: off by {worst:.1e}, more than {tol:.1e}"
    for pose in poses[:3]:
        _check_joints(mechanism, jnp.asarray(pose), tol)


Comparison = dict[str, tuple[Scalars, Scalars]]


def _positions(mechanism: AbstractMechanism, x: Scalars) -> Comparison:
    q = mechanism.inverse(x).components
    return {
        "inverse closes the loops": (mechanism.closure(q, x), _zeros(x)),
        "forward undoes inverse": (mechanism.forward(q).components, x),
    }


def _first_derivatives(mechanism: AbstractMechanism, x: Scalars) -> Comparison:
    q = mechanism.inverse(x).components
    A, B = closure_jacobians(mechanism, q, x)
    backwards = _columns(lambda x: mechanism.inverse(x).components, x)
    forwards = _columns(lambda q: mechanism.forward(q).components, q)
    loops = _columns(lambda q: mechanism.closure(q, x), q)
    n = range(len(q))
    ours_forwards = [solve(A, tuple(-B[j] * float(i == j) for i in n)) for j in n]
    return {
        "-A^-1 B is the derivative of forward": (_flat(ours_forwards), _flat(forwards)),
        "-B^-1 A is the derivative of inverse": (
            tuple(-A[i][j] / B[i] for j in n for i in n),
            _flat(backwards),
        ),
        "each loop holds one motor": (
            tuple(loops[j][i] for j in n for i in n if i != j),
            tuple(0.0 * x[0] for j in n for i in n if i != j),
        ),
    }


def _motions(mechanism: AbstractMechanism, x: Scalars) -> Comparison:
    """Along x + t xd, at a speed of about one loop length a second."""
    q = mechanism.inverse(x).components
    loops, _, platform = mechanism.scales()
    xd = tuple(
        jnp.full_like(value, 1 + k / 3) * loops[0] / size
        for k, (value, size) in enumerate(zip(x, platform, strict=True))
    )

    def along(t: Scalar) -> Scalars:
        return mechanism.inverse(
            tuple(value + t * rate for value, rate in zip(x, xd, strict=True))
        ).components

    zero = jnp.zeros_like(x[0])
    velocity = time_derivative(along)
    acceleration = time_derivative(velocity)
    rates = joint_motion(mechanism, q, x, xd)
    back = platform_motion(mechanism, q, x, *rates)
    return {
        "joint velocity is the derivative of inverse": (rates.velocity, velocity(zero)),
        "joint acceleration is the second one": (rates.acceleration, acceleration(zero)),
        "joint jerk is the third one": (rates.jerk, time_derivative(acceleration)(zero)),
        "platform velocity undoes joint velocity": (back.velocity, xd),
        "platform acceleration undoes joint acceleration": (back.acceleration, _zeros(x)),
        "platform jerk undoes joint jerk": (back.jerk, _zeros(x)),
    }


def _bodies(mechanism: AbstractMechanism, x: Scalars) -> Comparison:
    q = mechanism.inverse(x).components
    frames = mechanism.body_poses(q, x)
    unit, right, crossed = [], [], []
    for frame in frames:
        products = [dot(a, b) for a in frame[:3] for b in frame[:3]]
        unit += [product - float(k % 4 == 0) for k, product in enumerate(products)]
        crossed += cross(frame.x, frame.y)
        right += frame.z
    platform = frames[mechanism.bodies.index("platform")]
    return {
        "body axes are orthonormal": (tuple(unit), tuple(0.0 * x[0] for _ in unit)),
        "body axes are right-handed": (tuple(crossed), tuple(right)),
        "the platform is where its coordinates say": (
            _flat(platform),
            _flat(mechanism.platform_pose(x)),
        ),
    }


def _columns(function: Callable[[Scalars], Scalars], at: Scalars) -> list[Scalars]:
    """Columns of the Jacobian of `function`, one jvp each."""
    units = [
        tuple(jnp.full_like(value, float(k == j)) for k, value in enumerate(at))
        for j in range(len(at))
    ]
    return [jax.jvp(function, (at,), (unit,))[1] for unit in units]


def _flat(rows: Iterable[Iterable[Scalar]]) -> Scalars:
    return tuple(entry for row in rows for entry in row)


def _zeros(like: Scalars) -> Scalars:
    return tuple(jnp.zeros_like(value) for value in like)


def _check_joints(mechanism: AbstractMechanism, x: Float[Array, " m"], tol: float) -> None:
    """Bodies meet at their joints, and move only as the joints allow."""
    q = mechanism.inverse(x).value
    frames = dict(zip(mechanism.bodies, mechanism.body_poses(q, x), strict=True)) | {"base": WORLD}
    for joint in mechanism.joints():
        parent, child = frames[joint.parent], frames[joint.child]
        apart = np.asarray(stacked(subtract(parent.at(joint.point), child.at(joint.child_point))))
        if joint.kind == "prismatic":
            assert joint.axis is not None, f"{joint.name}: a slide has an axis"
            axis = np.asarray(stacked(parent.turned(joint.axis)))
            apart = apart - axis * (axis @ apart)
        assert np.abs(apart).max() < tol, f"{joint.name}: its bodies are apart by {apart} m"
    twists = _body_twists(mechanism, q, x)
    forbidden = joint_constraints(mechanism, q, x) @ twists
    worst = np.abs(forbidden).max() / max(1.0, np.abs(twists).max())
    assert worst < tol, f"bodies move as the joints forbid: {worst:.1e}"


def _body_twists(
    mechanism: AbstractMechanism, q: Float[Array, " n"], x: Float[Array, " m"]
) -> Float[np.ndarray, " six_bodies"]:
    """Velocity (in loop lengths) and angular velocity of each body for some motion."""
    qd = tuple(jnp.linspace(1.0, 2.0, q.size) / stacked(mechanism.scales().joints))
    xd = platform_motion(mechanism, q, x, qd).velocity
    size = max(float(np.asarray(loop)) for loop in mechanism.scales().loops)
    T, Td = jax.jvp(
        lambda q, x: poses_array(mechanism.body_poses(q, x)),
        (tuple(q), tuple(x)),
        (qd, tuple(xd)),
    )
    spin = np.asarray(Td[:, :, :3] @ jnp.swapaxes(T[:, :, :3], -1, -2))
    omega = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
    return np.concatenate([np.asarray(Td[:, :, 3]) / size, omega], axis=1).ravel()
