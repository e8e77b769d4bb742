"""Shipped robots: torques, loads and kinematics of many states, and of one at a time.

All of it runs in one race, so that everything is in units of the C loop of c/id.c, which computes
the torques of a simpler robot: a Delta with thin rods and three axes, without friction. Robots
are as their files say, telescope, pairs of rods and friction included. States are random and near
home.

Pinocchio gets the same robots, body by body (`pinocchio_tree.py`), and is compared with
`torque_function` without friction, as its trees have none. Torques must agree first.
"""

import ctypes
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import numpy as np

from benchmarks import machine, pinocchio_tree
from benchmarks.machine import Numbers
from benchmarks.peers import Peer
from benchmarks.race import Lap, race
from triskele.description.load import load
from triskele.dynamics.handle import torque_function
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import RigidRobot, rigid
from triskele.dynamics.rod_loads import rod_loads
from triskele.numerics import batch, tabulate

IRB, OMRON = "abb_irb360_6_1600", "omron_mini_delta"
ROBOTS = (IRB, OMRON, "d3s_800", "compliant_3prs")
IN_TREES = (IRB, OMRON)  #: that Pinocchio gets too
STATES, OF_TREES = 100_000, 10_000  #: in a table; of trees fewer, they cost the same at any N
TORQUES, ONE, INTO = "torque_function", "one state", "one state, into"
LOADS, INVERSE, FORWARD = "rod loads", "inverse kinematics", "forward kinematics"
SMOOTH, TREE = "torque_function, no friction", "Pinocchio, C++, all bodies"
_ASIDE = 0.05  # from home, at most, in lengths of a loop
_TOLERANCE = 1e-8  # of the largest torque
_LAP = 0.05  # CPU time of each candidate per round, at least [s]

States = tuple[Numbers, Numbers, Numbers]  #: x, xd and xdd, (N, n) each


class Row(NamedTuple):
    """One candidate."""

    robot: str
    what: str
    states: int  #: of a call
    lap: Lap
    loops: float  #: CPU time of a state, in units of the reference's

    @property
    def per_state(self) -> float:
        """CPU time [s]."""
        return self.lap.seconds / self.states


class Shipped(NamedTuple):
    """What was measured, and what it is compared with."""

    reference: str
    rows: tuple[Row, ...]

    def row(self, robot: str, what: str) -> Row | None:
        """The row of this candidate; None if there is none."""
        found = (row for row in self.rows if (row.robot, row.what) == (robot, what))
        return next(found, None)

    def slower(self, robot: str) -> float | None:
        """CPU time of a state by Pinocchio in units of ours; None without it."""
        theirs, ours = self.row(robot, TREE), self.row(robot, SMOOTH)
        if theirs is None or ours is None:
            return None
        return theirs.lap.times(ours.lap) * ours.states / theirs.states


Calls = dict[tuple[str, str], tuple[int, Callable[[], object]]]  #: how many states, and the call


def shipped(found: tuple[Peer, ...], *, rounds: int) -> tuple[Shipped, tuple[str, ...]]:
    """The race, with the first of the peers as reference; and what is missing, in sentences."""
    reference, notes = found[0], ()
    calls: Calls = {}
    for name in ROBOTS:
        calls |= _torques(name)
    calls |= _others(IRB)
    try:
        library = pinocchio_tree.library()
    except OSError as error:
        notes = (f"Pinocchio in C++, all bodies: {error}.",)
    else:
        for name in IN_TREES:
            calls |= _trees(name, library)
    timed = {reference.name: reference.inverse(machine.states(STATES))}
    timed |= {f"{robot}, {what}": call for (robot, what), (_, call) in calls.items()}
    laps = race(timed, reference.name, rounds=rounds, shortest=_LAP)
    rows = []
    for (robot, what), (n, _) in calls.items():
        lap = laps[f"{robot}, {what}"]
        rows.append(Row(robot, what, n, lap, lap.ratio * STATES / n))
    return Shipped(reference.name, tuple(rows)), notes


def states(model: RigidRobot, n: int) -> States:
    """Random states near home."""
    random, width = np.random.default_rng(0), len(model.rotors)
    home = np.array([float(np.asarray(value)) for value in model.mechanism.home()])
    scales = model.mechanism.scales()
    aside = _ASIDE * float(np.asarray(scales.loops[0])) / np.array(scales.platform, float)
    x = home + aside * random.uniform(-1, 1, (n, width))
    return x, random.normal(size=x.shape), 10 * random.normal(size=x.shape)


def _torques(name: str) -> Calls:
    """Of many states, of one, and of one into memory that is there."""
    model = rigid(load(name))
    many, torque = states(model, STATES), torque_function(model)
    one, out = tuple(part[5].copy() for part in many), np.empty(len(model.rotors))
    general = np.stack(batch(eqx.Partial(inverse_dynamics, model))(*many), axis=-1)
    torque.into(out, *one)
    for found, wanted in ((torque(*many), general), (torque(*one), general[5]), (out, general[5])):
        compare(name, found, wanted)
    return {
        (name, TORQUES): (STATES, lambda: torque(*many)),
        (name, ONE): (1, lambda: torque(*one)),
        (name, INTO): (1, lambda: torque.into(out, *one)),
    }


def _others(name: str) -> Calls:
    """Loads of rods, and kinematics."""
    model = rigid(load(name))
    many, mechanism = states(model, STATES), model.mechanism
    loads = tabulate(eqx.Partial(rod_loads, model))
    inverse, forward = batch(mechanism.inverse), batch(mechanism.forward)
    q = np.stack(inverse(many[0]).components, axis=-1)
    compare(name, np.stack(forward(q).components, axis=-1), many[0])
    return {
        (name, LOADS): (STATES, lambda: loads(*many)),
        (name, INVERSE): (STATES, lambda: inverse(many[0])),
        (name, FORWARD): (STATES, lambda: forward(q)),
    }


def _trees(name: str, library: ctypes.CDLL) -> Calls:
    """The same torques by Pinocchio and by us."""
    model = rigid(load(name), friction=False)
    torque = torque_function(model)
    many, fewer = states(model, STATES), states(model, OF_TREES)
    call = pinocchio_tree.Tree(library, model).torques(*fewer)
    compare(f"{name} in Pinocchio", call(), torque(*fewer))
    return {(name, SMOOTH): (STATES, lambda: torque(*many)), (name, TREE): (OF_TREES, call)}


def compare(name: str, found: Numbers, wanted: Numbers) -> None:
    """An error if two results differ."""
    worst = np.abs(found - wanted).max() / np.abs(wanted).max()
    if not worst < _TOLERANCE:
        raise ArithmeticError(f"{name}: off by {worst:.1e}, more than {_TOLERANCE:.0e}.")
