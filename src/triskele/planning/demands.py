"""What a path demands of a robot at any speed: joints, efforts and loads as functions of x, u.

Along r(s), with x = sd^2 and u = sdd, the joints move with

    qd = q' sd,    qdd = q' u + q'' x,    qddd = (q' w + 3 q'' u + q''' x) sqrt(x)        (1)

and each effort and each load, friction apart, is affine in path acceleration and squared speed

    y = a u + b x + c                                                                  (2)

For efforts, and for rods in pairs, a, b and c have closed forms (`dynamics.path_efforts`,
`dynamics.path_loads`). Any other model of loads gives them by three calls: at rest (c), with the
acceleration r' at rest (a + c), with the speed r' and the acceleration r'' (b + c).
Friction f(s, sd) is the load of a robot without mass, at the speed of a profile.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float

from triskele.dynamics.inverse import PathEfforts, inverse_dynamics, path_efforts
from triskele.dynamics.robot import RigidRobot
from triskele.dynamics.rod_loads import has_rod_loads, path_loads, rod_loads
from triskele.dynamics.torques import load_vectors
from triskele.dynamics.wrenches import motion_state, payload_wrench
from triskele.errors import InputError
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.path import AbstractPath, derivatives_along
from triskele.kinematics.velocity import joint_motion
from triskele.numerics import AnyArray, Scalars, jvp, tabulate
from triskele.spatial.vectors import dot

Values = Float[np.ndarray, "_ _"]
Loads = Mapping[str, Values]  #: by name: "effort", "rod", "flange force", "bearing moment", ...
RodLaw = Callable[[RigidRobot, Scalars, Scalars, Scalars], Any]
#: a law with the fields lower, upper, flange_force and flange_moment of `dynamics.RodLoads`


class Affine(NamedTuple):
    """y = a u + b x + c at P points."""

    a: Values
    b: Values
    c: Values


class Geometry(NamedTuple):
    """A path and the joints along it, derived by s."""

    s: Float[np.ndarray, " P"]
    r: tuple[Values, Values, Values, Values]  #: platform coordinates: r, r', r'', r'''
    q: tuple[Values, Values, Values, Values]  #: joints: q, q', q'', q'''


def geometry_along(
    mechanism: AbstractMechanism, path: AbstractPath, s: Float[np.ndarray, " P"]
) -> Geometry:
    """The path and the joints at `s`."""
    r = tuple(np.asarray(part) for part in derivatives_along(path, s))
    found = tabulate(eqx.Partial(_joints, mechanism))(*r)
    q = tuple(np.stack(part, axis=-1) for part in found)
    return Geometry(s, r, q)  # pyright: ignore[reportArgumentType]


def _joints(mechanism: AbstractMechanism, x: Scalars, *rates: Scalars) -> tuple[Scalars, ...]:
    q = mechanism.inverse(x).components
    return (q, *joint_motion(mechanism, q, x, *rates))


class LoadModel(NamedTuple):
    """How loads are found: `at` a motion, friction included, and `along` a path, without it."""

    at: Callable[[RigidRobot, Values, Values, Values], Loads]
    along: Callable[[RigidRobot, Values, Values, Values], Mapping[str, Affine]]


def load_model(
    robot: RigidRobot,
    needs: frozenset[str] = frozenset({"effort", "rod"}),
    rods: RodLaw | None = None,
) -> LoadModel:
    """The fastest model that knows what it `needs`: "effort", "rod", "bearing" and "grip".

    The flange is known with the rods. `rods` is a law in the place of the exact one, for
    comparison.
    """
    parts, held = [_efforts_at] if "effort" in needs else [], bool(needs & {"rod", "bearing"})
    parts += [_grip_at] if "grip" in needs else []
    if held and any(robot.springs):
        raise InputError(
            "Loads in joints of a robot with flexures are not modelled; leave rod_force, "
            "flange_force, flange_torque, bearing_force and bearing_torque out of its limits."
        )
    closed = rods is None and has_rod_loads(robot)
    if held and closed and "bearing" not in needs:
        return LoadModel(_joined([*parts, _rods_at(rod_loads)]), _closed_forms(needs))
    if held and (rods is None or "bearing" in needs):
        parts.append(_any_at)
    if held and rods is not None:
        parts.append(_rods_at(rods))  # in place of exact loads of rods
    at = _joined(parts)
    if parts == [_efforts_at]:
        return LoadModel(at, lambda robot, *path: {"effort": _efforts_along(robot, *path)})
    return LoadModel(at, lambda robot, r, r1, r2: _three_calls(at, robot, r, r1, r2))


def _joined(parts: Sequence[Callable[..., Loads]]) -> Callable[..., dict[str, Values]]:
    def at(robot: RigidRobot, x: Values, xd: Values, xdd: Values) -> dict[str, Values]:
        return {k: v for part in parts for k, v in part(robot, x, xd, xdd).items()}

    return at


def friction_alone(robot: RigidRobot) -> RigidRobot:
    """`robot` without mass, weight or springs: what it then takes to move is friction."""
    bare = eqx.tree_at(lambda r: (r.theta, r.payload, r.gravity, r.rotors), robot, replace_fn=_none)
    return eqx.tree_at(lambda r: r.springs, bare, (None,) * len(robot.springs))


def _none(array: AnyArray) -> AnyArray:
    return 0 * array


def _three_calls(
    at: Callable[[RigidRobot, Values, Values, Values], Loads],
    robot: RigidRobot,
    r: Values,
    r1: Values,
    r2: Values,
) -> dict[str, Affine]:
    still = np.zeros_like(r)
    c, a, b = at(robot, r, still, still), at(robot, r, still, r1), at(robot, r, r1, r2)
    return {name: Affine(a[name] - c[name], b[name] - c[name], c[name]) for name in c}


def _efforts_at(robot: RigidRobot, x: Values, xd: Values, xdd: Values) -> dict[str, Values]:
    tau = tabulate(eqx.Partial(inverse_dynamics, robot))(x, xd, xdd)
    return {"effort": np.stack(tau, axis=-1)}


def _grip_at(robot: RigidRobot, x: Values, xd: Values, xdd: Values) -> dict[str, Values]:
    return {"grip": np.stack(tabulate(eqx.Partial(_carried, robot))(x, xd, xdd), axis=-1)}


def _carried(robot: RigidRobot, x: Scalars, xd: Scalars, xdd: Scalars) -> Scalars:
    """Force on the payload [N], in the axes of the platform."""
    mechanism = robot.mechanism
    state = motion_state(mechanism, x, xd, xdd)
    force = payload_wrench(robot, state.Tdd, robot.gravity_components()).p
    axes = state.T[mechanism.bodies.index(mechanism.platform)][:3]
    return tuple(dot(force, axis) for axis in axes)


def _any_at(robot: RigidRobot, x: Values, xd: Values, xdd: Values) -> dict[str, Values]:
    found, many = load_vectors(robot, x, xd, xdd), (len(x), -1)
    loads = {
        "flange force": found.flange_force,
        "flange moment": found.flange_moment[:, :2],
        "bearing force": found.bearing_force.reshape(many),
        "bearing moment": found.bearing_moment.reshape(many),
    }
    return loads if found.rods is None else {**loads, "rod": np.concatenate(found.rods, axis=1)}


def _rods_at(law: RodLaw) -> Callable[..., dict[str, Values]]:
    def at(robot: RigidRobot, x: Values, xd: Values, xdd: Values) -> dict[str, Values]:
        return _of_rods(tabulate(eqx.Partial(law, robot))(x, xd, xdd))

    return at


def _of_rods(loads: Any) -> dict[str, Values]:  # noqa: ANN401
    return {
        "rod": np.stack((*loads.lower, *loads.upper), axis=-1),
        "flange force": np.stack(loads.flange_force, axis=-1),
        "flange moment": np.stack(loads.flange_moment[:2], axis=-1),
    }


def _efforts_along(robot: RigidRobot, r: Values, r1: Values, r2: Values) -> Affine:
    efforts = tabulate(eqx.Partial(path_efforts, robot))(r, r1, r2)
    return Affine(*(np.stack(part, axis=-1) for part in efforts))


def _closed_forms(needs: frozenset[str]) -> Callable[..., dict[str, Affine]]:
    def along(robot: RigidRobot, r: Values, r1: Values, r2: Values) -> dict[str, Affine]:
        parts = [_of_rods(part) for part in tabulate(eqx.Partial(path_loads, robot))(r, r1, r2)]
        found = {name: Affine(*(part[name] for part in parts)) for name in parts[0]}
        if "effort" in needs:
            found["effort"] = _efforts_along(robot, r, r1, r2)
        if "grip" in needs:
            found |= _three_calls(_grip_at, robot, r, r1, r2)
        return found

    return along


def effort_rates(
    robot: RigidRobot, r: Values, r1: Values, r2: Values, r3: Values
) -> tuple[Affine, Affine]:
    """a, b and c of the efforts, and how they change along the path."""
    values, slopes = tabulate(eqx.Partial(_effort_rates, robot))(r, r1, r2, r3)
    return tuple(  # pyright: ignore[reportReturnType]
        Affine(*(np.stack(part, axis=-1) for part in found)) for found in (values, slopes)
    )


def _effort_rates(
    robot: RigidRobot, r: Scalars, r1: Scalars, r2: Scalars, r3: Scalars
) -> tuple[PathEfforts, PathEfforts]:
    return jvp(eqx.Partial(path_efforts, robot), (r, r1, r2), (r1, r2, r3))
