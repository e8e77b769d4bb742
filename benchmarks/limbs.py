"""The general limb against the classes written by hand: one machine, described twice.

A Delta with telescope and pairs of rods, and a 3PRS, with bodies, friction and payload of their
files, once as their own kind and once as a file of limbs. Results must agree first; then both are
timed in one race. Where the general one took more than `goals.GENERAL` times as long, the other
would have to stay for its speed; otherwise it stays for its closed forms alone.
"""

import tomllib
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import numpy as np

from benchmarks.machine import Numbers
from benchmarks.race import race
from benchmarks.shipped import compare, states
from triskele.description import catalogue
from triskele.description.limbs import LimbsRobot
from triskele.description.load import load
from triskele.description.schema import Robot
from triskele.dynamics.handle import torque_function
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import RigidRobot, rigid
from triskele.dynamics.rod_loads import has_rod_loads, rod_loads
from triskele.numerics import batch, tabulate

STATES = 100_000
_LAP = 0.05  # CPU time of each candidate per round, at least [s]
GEOMETRY = {
    "abb_irb360_6_1600": {
        "platform": {"coordinates": ["x", "y", "z", "psi"], "home": "[0, 0, -967.7] mm"},
        "limbs": {
            "around": "[0, 120, 240] deg",
            "drive": "arm",
            "base": "[200, 0, 0] mm",
            "arm_length": "500 mm",
            "rod_length": "1106 mm",
            "rod_spacing": "100 mm",
            "end": "[48, 0, 0] mm",
        },
        "telescope": {
            "upper_joint_height": "75 mm",
            "lower_joint_height": "38 mm",
            "upper_length": "760 mm",
            "lower_length": "800 mm",
        },
        "flange_height": "-62.5 mm",
    },
    "compliant_3prs": {
        "platform": {"coordinates": ["z", "psi", "theta"], "home": "[0, 0, 77.2] mm"},
        "limbs": {
            "around": "[0, 120, 240] deg",
            "drive": "slide",
            "base": "[125.137, 0, 0] mm",
            "rail": "inwards",
            "across": [0, -1, 0],
            "rod_length": "109.215 mm",
            "end": "[47.61, 0, 0] mm",
            "upper": "revolute",
            "bodies": ["coupling", "bar"],
        },
    },
}


class Twin(NamedTuple):
    """One law of one machine."""

    robot: str
    what: str
    own: float  #: CPU time of a state by its own class [s]
    limbs: float  #: by the general one [s]
    ratio: float  #: of the second to the first, median over rounds


def twins(*, rounds: int) -> tuple[Twin, ...]:
    """All laws of both machines, in one race."""
    calls: dict[tuple[str, str], dict[str, Callable[[], object]]] = {}
    for name in GEOMETRY:
        calls |= _of(name)
    timed = {
        f"{name}, {what}, {kind}": call
        for (name, what), pair in calls.items()
        for kind, call in pair.items()
    }
    laps = race(timed, next(iter(timed)), rounds=rounds, shortest=_LAP)
    found = []
    for name, what in calls:
        own, limbs = (laps[f"{name}, {what}, {kind}"] for kind in ("own", "limbs"))
        times = own.seconds / STATES, limbs.seconds / STATES
        found.append(Twin(name, what, *times, limbs.times(own)))
    return tuple(found)


def as_limbs(name: str) -> Robot:
    """The shipped robot `name` with its geometry written as limbs, without flexures."""
    raw = tomllib.loads(catalogue.text(name))
    raw = {key: value for key, value in raw.items() if key != "flexures"}
    raw |= {"kind": "limbs", "geometry": GEOMETRY[name]}
    return LimbsRobot.model_validate(raw, context={"file": name})


def _of(name: str) -> dict[tuple[str, str], dict[str, Callable[[], object]]]:
    """Laws of a machine, by its own class and by limbs; an error if they differ."""
    own = rigid(load(name).model_copy(update={"flexures": None}))
    many = states(own, STATES)
    laws = {kind: _laws(robot, many) for kind, robot in (("own", own), ("limbs", _limbs(name)))}
    found = {}
    for what in laws["own"]:
        one, other = (laws[kind][what] for kind in ("own", "limbs"))
        compare(f"{name}, {what}, as limbs", _stacked(other()), _stacked(one()))
        found[name, what] = {"own": one, "limbs": other}
    return found


def _limbs(name: str) -> RigidRobot:
    return rigid(as_limbs(name))


def _laws(robot: RigidRobot, many: tuple[Numbers, ...]) -> dict[str, Callable[[], object]]:
    """Calls by what they compute."""
    mechanism, torque = robot.mechanism, torque_function(robot)
    general = tabulate(eqx.Partial(inverse_dynamics, robot))
    inverse, forward = batch(mechanism.inverse), batch(mechanism.forward)
    q = np.stack(inverse(many[0]).components, axis=-1)
    found: dict[str, Callable[[], object]] = {
        "torque_function": lambda: torque(*many),
        "inverse_dynamics, any robot": lambda: general(*many),
        "inverse kinematics": lambda: inverse(many[0]).components,
        "forward kinematics": lambda: forward(q).components,
    }
    if has_rod_loads(robot):
        loads = tabulate(eqx.Partial(rod_loads, robot))
        found["rod loads"] = lambda: loads(*many).lower
    return found


def _stacked(found: object) -> Numbers:
    return found if isinstance(found, np.ndarray) else np.stack(found, axis=-1)  # pyright: ignore
