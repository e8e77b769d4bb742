"""What is true of every mechanism, whatever its architecture.

`check_mechanism` compares what is derived from the loop closure with derivatives of
`forward` and `inverse`, which share no code with it, and the poses of the bodies with the
joints that are said to hold them together, whose drives move as the joint coordinates say and
whose freedom is as large as there are drives. Write a new architecture, call it on random poses,
and believe it when it is silent.
"""

from collections.abc import Callable, Iterable

import equinox as eqx
import numpy as np
from jaxtyping import Float

from triskele.description.schema import Limits
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.mobility import free_motion, joint_constraints, mobility
from triskele.kinematics.singularity import singularity_margins
from triskele.kinematics.velocity import (
    closure_jacobians,
    joint_motion,
    platform_motion,
    time_derivative,
)
from triskele.numerics import (
    AnyArray,
    Scalar,
    Scalars,
    batch,
    full_like,
    jvp,
    minimum,
    single,
    solve,
    spread,
    stacked,
    zeros_like,
)
from triskele.spatial.vectors import WORLD, Frame, cross, dot, subtract


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
    _check_names(mechanism)
    compared = {}
    for law in (_positions, _first_derivatives, _motions, _bodies):
        compared |= batch(eqx.Partial(law, mechanism))(poses)
    for name, pair in compared.items():
        ours, other = (np.stack([np.asarray(part) for part in side]) for side in pair)
        size = max(1.0, np.abs(other).max())
        worst = np.abs(ours - other).max() / size
        assert worst < tol, f"{name}: off by {worst:.1e}, more than {tol:.1e}"
    for pose in poses[:3]:
        _check_joints(mechanism, pose, tol)
        _check_freedom(mechanism, pose)


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
        "in working mode +1 a growing q_i lowers c_i": (
            tuple(
                minimum(-mode * b, 0.0) for b, mode in zip(B, mechanism.working_mode, strict=False)
            ),
            tuple(0.0 * x[0] for _ in mechanism.working_mode),
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
        full_like(value, 1 + k / 3) * loops[0] / size
        for k, (value, size) in enumerate(zip(x, platform, strict=True))
    )

    def along(t: Scalar) -> Scalars:
        return mechanism.inverse(
            tuple(value + t * rate for value, rate in zip(x, xd, strict=True))
        ).components

    zero = zeros_like(x[0])
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
    platform = frames[mechanism.bodies.index(mechanism.platform)]
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
        tuple(full_like(value, float(k == j)) for k, value in enumerate(at)) for j in range(len(at))
    ]
    return [jvp(function, (at,), (unit,))[1] for unit in units]


def _flat(rows: Iterable[Iterable[Scalar]]) -> Scalars:
    return tuple(entry for row in rows for entry in row)


def _zeros(like: Scalars) -> Scalars:
    return tuple(zeros_like(value) for value in like)


def _check_names(mechanism: AbstractMechanism) -> None:
    """Counts agree, and whatever is named exists, once."""
    n, m = len(mechanism.joint_coordinates), len(mechanism.platform_coordinates)
    assert n == m <= 6, f"{n} joint coordinates for {m} platform coordinates, at most six"
    joints, bodies = mechanism.joints(), mechanism.bodies
    names = [joint.name for joint in joints]
    for what, given in (("bodies", bodies), ("joints", names)):
        assert len(set(given)) == len(given), f"two {what} have one name: {given}"
    driven = [joint.driven for joint in joints]
    assert driven == sorted(driven, reverse=True), "driven joints come first"
    assert sum(driven) == n, f"{sum(driven)} driven joints for {n} joint coordinates"
    held = {name for joint in joints for name in (joint.parent, joint.child)}
    assert held == {"base", *bodies}, f"bodies and joints differ in {held ^ {'base', *bodies}}"
    assert {mechanism.platform, mechanism.carrier} <= {*bodies}, "platform and carrier are bodies"
    assert not mechanism.flange or mechanism.flange in names, "the flange is a joint"
    for strut in mechanism.struts:
        assert strut.body in bodies, f"{strut.body}: a strut is a body"
        assert {strut.upper, strut.lower} <= {*names}, f"{strut.body}: its ends are joints"
    coordinates = (*mechanism.joint_coordinates, *mechanism.passive_coordinates)
    for name, unit in (*coordinates, *mechanism.platform_coordinates):
        assert unit in ("m", "rad"), f"{name}: a coordinate is in m or rad, not in {unit}"
    for coordinate in coordinates:
        known = not coordinate.limit or coordinate.limit in Limits.model_fields
        assert known, f"{coordinate.name}: there is no limit '{coordinate.limit}'"
    for coordinate in mechanism.passive_coordinates:
        known = not coordinate.joint or coordinate.joint in names
        assert known, f"{coordinate.name}: there is no joint '{coordinate.joint}'"


def _check_freedom(mechanism: AbstractMechanism, x: Float[np.ndarray, " m"]) -> None:
    """As many degrees of freedom as drives: no limb lets the platform loose."""
    q = mechanism.inverse(x).value
    n, found = len(mechanism.joint_coordinates), mobility(mechanism, q, x).freedom
    loose = free_motion(mechanism, q, x)
    assert found == n, f"{found} degrees of freedom for {n} drives" + (
        f"; {loose} moves with the drives locked" if loose else ""
    )


def _check_joints(mechanism: AbstractMechanism, x: Float[np.ndarray, " m"], tol: float) -> None:
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
    twists, rates = _body_twists(mechanism, q, x)
    forbidden = joint_constraints(mechanism, q, x) @ twists
    worst = np.abs(forbidden).max() / max(1.0, np.abs(twists).max())
    assert worst < tol, f"bodies move as the joints forbid: {worst:.1e}"
    _check_drives(mechanism, frames, twists, rates, tol)
    for strut in mechanism.struts:
        ends = {joint.name: joint for joint in mechanism.joints()}
        upper, lower = (frames[ends[k].child].at(ends[k].child_point) for k in strut[1:])
        along = dot(subtract(lower, upper), frames[strut.body].x)
        size = dot(subtract(lower, upper), subtract(lower, upper))
        assert abs(along - size**0.5) < tol, f"{strut.body}: x is not from upper to lower joint"


def _check_drives(
    mechanism: AbstractMechanism,
    frames: dict[str, Frame],
    twists: Float[np.ndarray, " six_bodies"],
    rates: Float[np.ndarray, " n"],
    tol: float,
) -> None:
    """Driven joints turn and slide as fast as their coordinates say, about and along their axes."""
    size = max(float(np.asarray(loop)) for loop in mechanism.scales().loops)
    still = {"base": np.zeros((2, 3))}
    moving = still | dict(zip(mechanism.bodies, twists.reshape(-1, 2, 3), strict=True))
    for joint, rate in zip(mechanism.joints(), rates, strict=False):
        if joint.kind == "spherical":  # motor and cardan in one: its angle is that of the cross
            continue
        assert joint.axis is not None, f"{joint.name}: a drive has an axis"
        parent, child = frames[joint.parent], frames[joint.child]
        axis = np.asarray(stacked(parent.turned(joint.axis)))
        before, after = moving[joint.parent], moving[joint.child]
        speed = axis @ (after[1] - before[1])
        if joint.kind == "prismatic":
            arm = np.asarray(stacked(subtract(child.p, parent.p)))
            speed = axis @ (size * (after[0] - before[0]) - np.cross(before[1], arm))
        off = abs(speed - rate)
        assert off < tol * max(1.0, abs(rate)), f"{joint.name} is off its coordinate by {off:.1e}"


def _body_twists(
    mechanism: AbstractMechanism, q: Float[AnyArray, " n"], x: Float[np.ndarray, " m"]
) -> tuple[Float[np.ndarray, " six_bodies"], Float[np.ndarray, " n"]]:
    """Velocity (in loop lengths) and angular velocity of each body for some motion, and qd."""
    qd = np.linspace(1.0, 2.0, q.size) / np.asarray(stacked(mechanism.scales().joints))
    xd = np.asarray(stacked(platform_motion(mechanism, q, x, tuple(qd)).velocity))
    size = max(float(np.asarray(loop)) for loop in mechanism.scales().loops)
    T, Td = (
        np.array(part, float).reshape(-1, 4, 3).swapaxes(-1, -2)
        for part in single(eqx.Partial(_moving, mechanism))(q, x, qd, xd)
    )
    spin = Td[:, :, :3] @ T[:, :, :3].swapaxes(-1, -2)
    omega = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
    return np.concatenate([Td[:, :, 3] / size, omega], axis=1).ravel(), qd


def _moving(
    mechanism: AbstractMechanism, q: Scalars, x: Scalars, qd: Scalars, xd: Scalars
) -> tuple[Scalars, Scalars]:
    """Poses of all bodies, axis by axis, and how they change."""

    def poses(q: Scalars, x: Scalars) -> Scalars:
        frames = mechanism.body_poses(q, x)
        return tuple(spread(entry, x[0]) for frame in frames for axis in frame for entry in axis)

    return jvp(poses, (q, x), (qd, xd))
