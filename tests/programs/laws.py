"""All laws that are run over tables, for each shipped robot, and states to run them at."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
import pytest

import triskele as tk
from triskele.dynamics import limits, reactions, torques
from triskele.dynamics.energy import energy
from triskele.dynamics.forward import forward_dynamics
from triskele.dynamics.inverse import _joint_directions, inverse_dynamics, path_efforts
from triskele.dynamics.rod_loads import has_rod_loads, path_loads, rod_loads
from triskele.errors import MissingFact
from triskele.flexible.response import _body_motion
from triskele.identification.regressor import _driven, _parts
from triskele.identification.signals import _moved
from triskele.kinematics import cycles, solids
from triskele.kinematics.delta import Delta
from triskele.kinematics.reach import slack
from triskele.kinematics.singularity import singularity_margins
from triskele.multibody import along
from triskele.numerics import batch
from triskele.planning.demands import _carried, _effort_rates
from triskele.programs import kernel
from triskele.programs.symbols import NotStraightLine
from triskele.sensing.checks import _margin
from triskele.sensing.rods import rod_state, soft_rods
from triskele.studies.lumped_delta import lumped_delta
from triskele.studies.reduced_loads import reduced_loads
from triskele.studies.rigid_delta import _lumped
from triskele.testing import random_poses
from triskele.viewer import pose_panel

ROWS = 24


class Law(NamedTuple):
    """A function of a robot, and what it takes."""

    of: Callable  #: the function, given (file, mechanism, rigid robot)
    takes: str  #: names of states


def _of_mechanism(law):
    return lambda file, mechanism, model: eqx.Partial(law, mechanism)


def _of_model(law, *more):
    return lambda file, mechanism, model: eqx.Partial(law, model, *more)


KINEMATICS = {
    "inverse": Law(lambda f, m, _: m.inverse, "x"),
    "forward": Law(lambda f, m, _: m.forward, "q"),
    "closure": Law(lambda f, m, _: m.closure, "q_off x"),
    "body_poses": Law(lambda f, m, _: m.body_poses, "q x"),
    "passive": Law(lambda f, m, _: m.passive, "q x"),
    "platform_pose": Law(lambda f, m, _: m.platform_pose, "x"),
    "singularity_margins": Law(_of_mechanism(singularity_margins), "q x"),
    "slack": Law(lambda f, m, _: eqx.Partial(slack, m, f.limits), "x"),
    "guaranteed slack": Law(lambda f, m, _: eqx.Partial(slack, m, f.limits, guaranteed=True), "x"),
    "joint motion": Law(_of_mechanism(cycles._joints), "x xd xdd x3"),
    "platform motion": Law(_of_mechanism(cycles._platform), "q qd qdd"),
    "moved": Law(_of_mechanism(_moved), "q x qd qdd"),
    "poses of limits": Law(_of_mechanism(limits._poses), "q x"),
    "frames of solids": Law(_of_mechanism(solids._frames), "x"),
    "state of the viewer": Law(_of_mechanism(pose_panel._state), "x"),
    "absolute coordinates": Law(_of_mechanism(along._kernel), "x xd xdd"),
}
DYNAMICS = {
    "inverse_dynamics": Law(_of_model(inverse_dynamics), "x xd xdd"),
    "forward_dynamics": Law(_of_model(forward_dynamics), "x xd tau"),
    "energy": Law(_of_model(energy), "x xd"),
    "path_efforts": Law(_of_model(path_efforts), "x xd xdd"),
    "rates of path_efforts": Law(_of_model(_effort_rates), "x xd xdd x3"),
    "grip": Law(_of_model(_carried), "x xd xdd"),
    "regressor": Law(_of_model(_parts, False), "x xd xdd"),
    "regressor with balls": Law(_of_model(_parts, True), "x xd xdd"),
    "regressor of arms": Law(_of_model(_driven), "q qd qdd"),
    "joint directions": Law(_of_model(_joint_directions), "x xd xdd"),
    "loads of bodies": Law(_of_model(reactions._bodies), "x xd xdd"),
    "loads of torques": Law(_of_model(torques._bodies), "x xd xdd"),
}
RODS = {
    "rod_loads": Law(_of_model(rod_loads), "x xd xdd"),
    "path_loads": Law(_of_model(path_loads), "x xd xdd"),
    "reduced_loads": Law(_of_model(reduced_loads), "x xd xdd"),
}
DELTAS = {"body motion": Law(_of_mechanism(_body_motion), "x xd xdd")}
LUMPED = {"lumped": Law(lambda f, m, model: eqx.Partial(_lumped, lumped_delta(model)), "x xd xdd")}
SOFT = {
    "rod_state": Law(lambda f, m, _: eqx.Partial(rod_state, soft_rods(f)), "q qd qdd"),
    "margin of rods": Law(lambda f, m, _: eqx.Partial(_margin, soft_rods(f)), "q"),
}
ALL = KINEMATICS | DYNAMICS | RODS | DELTAS | LUMPED | SOFT


class Setting(NamedTuple):
    """A robot, and states at which it is within reach."""

    file: object
    mechanism: object
    model: object | None
    states: dict[str, np.ndarray]


@cache
def setting(name: str) -> Setting:
    """A shipped robot, with the first of its payloads, at ROWS random poses of its workspace."""
    file = tk.load(name)
    mechanism = tk.build(file)
    try:
        model = tk.rigid(file, next(iter(file.payloads), None))
    except MissingFact:
        model = None
    return Setting(file, mechanism, model, _states(mechanism, model))


def _states(mechanism, model):
    random = np.random.default_rng(0)
    scales = mechanism.scales()
    loop = float(np.asarray(scales.loops[0]))
    unit = loop / np.array([float(np.asarray(size)) for size in scales.platform])
    x = random_poses(mechanism, _box(mechanism, loop), ROWS, margin=0.1)
    xd, xdd, x3 = (size * unit * random.uniform(-1, 1, x.shape) for size in (3, 100, 1000))
    q = np.asarray(batch(mechanism.inverse)(x).value)
    q, qd, qdd, _ = (
        np.stack(p, -1) for p in batch(eqx.Partial(cycles._joints, mechanism))(x, xd, xdd, x3)
    )
    states = {"x": x, "xd": xd, "xdd": xdd, "x3": x3, "q": q, "qd": qd, "qdd": qdd}
    states["q_off"] = q + 0.1 * random.uniform(-1, 1, q.shape) * loop / np.array(scales.joints)
    if model is not None:
        states["tau"] = np.stack(batch(eqx.Partial(inverse_dynamics, model))(x, xd, xdd), axis=-1)
    return states


def _box(mechanism, loop):
    home = np.array([float(np.asarray(value)) for value in mechanism.home()])
    room = (
        np.array([0.4, 0.4, 0.25, 2.0])
        if isinstance(mechanism, Delta)
        else np.array([0.1, 0.3, 0.3])
    )
    sizes = np.array([loop, loop, loop, 1.0] if isinstance(mechanism, Delta) else [loop, 1.0, 1.0])
    half = (room * sizes)[: len(home)]
    return np.stack([home - half, home + half], axis=-1)


ROBOTS = tuple(name for name in tk.robots() if tk.load(name).kind != "limbs")
WITH_SOFT_RODS = ("abb_irb360_6_1600", "omron_mini_delta_platens")


def laws_of(name: str) -> list[str]:
    """Names of the laws that hold for a robot."""
    _, mechanism, model, _ = setting(name)
    found = [*KINEMATICS, *(DYNAMICS if model is not None else {})]
    if isinstance(mechanism, Delta):
        found += DELTAS
        found += LUMPED if model is not None and len(mechanism.home()) == 3 else {}
    found += RODS if model is not None and has_rod_loads(model) else {}
    found += SOFT if name in WITH_SOFT_RODS else {}
    return found


CASES = [(robot, law) for robot in ROBOTS for law in laws_of(robot)]


def function_of(robot: str, law: str) -> tuple[Callable, list[np.ndarray]]:
    """The law of a robot, and its arguments, (ROWS, k) arrays."""
    file, mechanism, model, states = setting(robot)
    rows = [np.asarray(states[name], float) for name in ALL[law].takes.split()]
    return ALL[law].of(file, mechanism, model), rows


def numbers_of(function) -> list[float]:
    """The numbers that the function's pytree holds, as its program takes them."""
    leaves = [leaf for leaf in jax.tree.leaves(function) if isinstance(leaf, kernel._ARRAY)]
    return [float(number) for leaf in leaves for number in np.ravel(np.asarray(leaf))]


#: laws that use JAX's functions, and are traced by JAX
TRACED = {"regressor with balls", "margin of rods", "rod_state", "lumped"}


@cache
def program_of_law(robot: str, law: str, *, by_jax: bool = False):
    """The program as it is run, written without JAX, or as JAX traces it; and its result."""
    function, rows = function_of(robot, law)
    with pytest.MonkeyPatch.context() as patch:
        if by_jax:
            patch.setattr(kernel, "written", _refused)
        elif law not in TRACED:
            patch.setattr(kernel, "trace", _refused)
        return kernel._traced(function, tuple(row.shape[1] for row in rows))


def _refused(*_):
    raise NotStraightLine("it is to be written the other way")
