"""Time along a path: the convex core against toppra, and the whole problem with jerk limits.

An IRB 360 carries its plate over a U-turn, C5(3,6), within its limits of speed, acceleration
and torque. Both get the same nodes, closer towards the ends, and ask for limits at the nodes. What
is timed begins with the path and ends with its speeds: derivatives, joints, coefficients, profile.

toppra asks for torques in its own way, by its `JointTorqueConstraint`, which calls an inverse
dynamics three times for each node: it gets our fastest handle, `torque_function`. Joint speeds and
accelerations it gets for all nodes at once, from the same compiled functions as ours. Beside that,
it is given all coefficients at once, which its own constraints cannot use; and both are timed
without coefficients. `plan` is the public call, friction and all loads included.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from benchmarks.machine import Numbers
from benchmarks.peers import engine
from benchmarks.race import Lap, cpu_time, race
from triskele.description.load import load
from triskele.description.schema import Robot
from triskele.dynamics.handle import torque_function
from triskele.dynamics.robot import rigid
from triskele.kinematics.path import AbstractPath, derivatives_along, u_turn_on_legs
from triskele.planning.plan import plan
from triskele.planning.profile import StepProfile
from triskele.planning.reachability import core
from triskele.planning.task import Task
from triskele.planning.why import half_planes

SIZES = (500, 2000)
OURS, PASSES = "core, with its coefficients", "core, coefficients given"
TOPPRA = "toppra, torques by its own constraint"
SHARED, SOLVING = "toppra, all coefficients at once", "toppra, coefficients given"
WHOLE = "plan, minimum time with jerk limits"
ALIKE = 3e-3  #: of the durations
_MOST_ROUNDS = 5
_NEVER_MET = 1e4  #: [N m]


class CoreRace(NamedTuple):
    """Candidates at one number of nodes."""

    n: int
    laps: dict[str, Lap]
    durations: dict[str, float]  #: of the motion [s]


class Whole(NamedTuple):
    """The public call."""

    seconds: float  #: CPU time of a later call
    compilation: float  #: CPU time [s] of a first call beyond a later one
    duration: float  #: of the motion [s]


def races(*, rounds: int) -> tuple[tuple[CoreRace, ...], tuple[str, ...]]:
    """Ours first, then toppra if it is here; and if it is not, a sentence."""
    try:
        solver, notes = _solver(engine("toppra")), ()
    except OSError as error:
        solver, notes = None, (f"toppra: {error}.",)
    return tuple(_race(n, solver, min(rounds, _MOST_ROUNDS)) for n in SIZES), notes


def whole(*, rounds: int) -> Whole:
    """`plan` as it is called, on the same path, with all limits of the file."""
    robot, path = load("abb_irb360_6_1600"), _path()
    first = cpu_time(lambda: plan(robot, path, "plate"))
    taken = [cpu_time(lambda: plan(robot, path, "plate")) for _ in range(min(rounds, 3))]
    later = float(np.median(taken))
    return Whole(later, max(first - later, 0.0), plan(robot, path, "plate").duration)


@cache
def _path() -> AbstractPath:
    return u_turn_on_legs([0.0, -0.4, -1.0, 0.0], length=0.8, height=0.18)


def _robot() -> Robot:
    robot = load("abb_irb360_6_1600")
    none = {"flange_force": None, "flange_torque": None, "rod_force": None}
    return robot.model_copy(update={"limits": robot.limits.model_copy(update=none)})


@cache
def _task() -> Task:
    robot = _robot()
    return Task.of(robot, _path(), robot.payloads["plate"], None, None, False, 0.0, "core")


def _coefficients(s: Numbers) -> tuple[Numbers, ...]:
    """a, b and c of all limits at `s`, from the path on."""
    task = _task()
    geometry = task.geometry(s)
    return half_planes(task.rows(geometry, task.demands(geometry), {}), None)


def _kinematics(s: Numbers) -> tuple[Numbers, ...]:
    """The same of speeds and accelerations of the joints alone."""
    task = _task()
    return half_planes(task.rows(task.geometry(s), [{}], {}), None)


@cache
def _torque() -> tuple[Callable[..., Numbers], Numbers]:
    """Inverse dynamics of one state, and the limits of the drives; toppra wants one of each."""
    given = _task().allowed.of_drives("peak_torque")
    limits = np.array([_NEVER_MET if limit is None else limit.most for limit in given])
    return torque_function(rigid(_robot(), "plate", friction=False)), limits


Solver = Callable[..., Numbers]


def _race(n: int, solver: Solver | None, rounds: int) -> CoreRace:
    s = (1 - np.cos(np.linspace(0, np.pi, n + 1))) / 2
    given = _coefficients(s)
    calls: dict[str, Callable[[], Numbers]] = {
        OURS: lambda: core(s, *_coefficients(s), both_ends=False)[0],
        PASSES: lambda: core(s, *given, both_ends=False)[0],
    }
    if solver is not None:
        calls[TOPPRA] = lambda: solver(s, _kinematics(s), torques=True)
        calls[SHARED] = lambda: solver(s, _coefficients(s))
        calls[SOLVING] = lambda: solver(s, given)
    durations = {name: StepProfile(s, call()).duration() for name, call in calls.items()}
    worst = max(abs(value / durations[OURS] - 1) for value in durations.values())
    if not worst < ALIKE:
        raise ArithmeticError(f"Durations differ by {worst:.1e}, more than {ALIKE:.0e}.")
    return CoreRace(n, race(calls, OURS, rounds=rounds), durations)


def _solver(toppra: Any) -> Solver:
    """Squared path speeds by toppra, its fastest solver."""
    constraint, algorithm = engine("toppra.constraint"), engine("toppra.algorithm")
    parent = engine("toppra.interpolator").AbstractGeometricPath
    toppra.setup_logging("ERROR")

    class Given(constraint.LinearConstraint):
        def __init__(self, a: Numbers, b: Numbers, c: Numbers) -> None:
            super().__init__()
            self.identical, self.dof, self.given = True, 4, (a, b, c)
            self.discretization_type = constraint.DiscretizationType.Collocation

        def compute_constraint_params(self, path: object, gridpoints: object) -> tuple:
            both = np.eye(self.given[0].shape[1])
            F = np.concatenate([both, -both])
            return *self.given, F, np.ones(len(F)), None, None

    class Curve(parent):
        """The path of the platform, evaluated for all nodes at once."""

        dof, path_interval, waypoints = 4, np.array([0.0, 1.0]), None

        def __call__(self, s: Numbers, order: int = 0) -> Numbers:
            return np.asarray(derivatives_along(_path(), np.atleast_1d(s))[order])

    def solve(s: Numbers, planes: tuple[Numbers, ...], *, torques: bool = False) -> Numbers:
        limits = [Given(*planes)]
        if torques:
            function, most = _torque()
            span = np.stack([-most, most], axis=1)
            scheme = constraint.DiscretizationType.Collocation
            limits.append(
                constraint.JointTorqueConstraint(
                    function, span, np.zeros(len(most)), discretization_scheme=scheme
                )
            )
        method = algorithm.TOPPRA(limits, Curve(), s, solver_wrapper="seidel")
        _, speeds, _ = method.compute_parameterization(0, 0)
        return speeds**2

    return solve
