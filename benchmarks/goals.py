"""What the measurements should show, and whether they do."""

from typing import NamedTuple

from benchmarks import (
    control,
    dynamics,
    exported,
    flexible,
    identification,
    ik,
    limbs,
    multibody,
    multibody_peers,
    peers,
    pinocchio_delta,
    planning,
    sensing,
    shipped,
    simulation,
)
from benchmarks.commands import Taken
from benchmarks.dynamics import Race
from benchmarks.shipped import IRB, OMRON, Shipped
from benchmarks.simulation import Run

MOST, AIM, LIMIT = 5.0, 4.0, 8.0  #: torque_function in C SIMD loops: goal, hope, and failure
FASTER = 50.0  #: times that Pinocchio takes longer for a torque
LATENCY = 25.0  #: CPU time of one call of torque_function [us]
SIMULATED_FASTER = 15.0  #: times that Pinocchio takes longer for a simulated second
FREE_FASTER = 10.0  #: times that Exudyn takes longer for a free motion of many bodies
CORE_FASTER = 10.0  #: times that toppra takes longer for a profile without jerk limits
REAL_TIME = {36: 10.0, 108: 2.0, 48: 10.0}  #: times faster than real time, by unknowns
MAP = 5.0  #: CPU time of 1000 poses [s]
ONE_SENSE, MANY_SENSE = 50.0, 1.0  #: CPU time of the chord sensor [us]: a call, and in batches
SECOND, SECOND_HOPED = 0.3, 0.1  #: CPU time of a controlled second [s]: goal and hope
EXPORTED = 0.6  #: CPU time of one call of exported torques of an IRB 360, from C [us]
EXPORTED_RATIO = 1.1  #: times that it takes CasADi's C, to what such ratios are trusted
FIT = 1.0  #: CPU time of a fit of 29 unknowns to 12 000 rows [s]
IN_LOOPS = {IRB: 6.5, OMRON: 4.5}  #: torques of shipped robots in C SIMD loops
ONE, INTO = 3.0, 1.5  #: CPU time of one call for an IRB 360, and into memory that is there [us]
TREE_FASTER = 100.0  #: times that Pinocchio takes longer for the torques of all bodies
GENERAL = 1.5  #: times that limbs may take longer than a class of their own
WHOLE, HOPED = 3.0, 1.0  #: CPU time of a plan with jerk limits [s]: goal and hope


class Goal(NamedTuple):
    """One goal: `value` should be at most, or at least, `limit`."""

    text: str
    value: float
    limit: float
    at_most: bool
    counts: bool = True  #: whether there was what it is about, such as a C compiler

    @property
    def meets(self) -> bool | None:
        """Whether it is met; None if it cannot be judged here."""
        if not self.counts:
            return None
        return self.value <= self.limit if self.at_most else self.value >= self.limit

    def sentence(self) -> str:
        """The finding in one line."""
        verdict = {True: "meets", False: "misses", None: "cannot be judged by"}[self.meets]
        side = "at most" if self.at_most else "at least"
        return f"{self.text}: {self.value:.3g}; {verdict} the goal of {side} {self.limit:g}."


def of_kinematics(rows: tuple[ik.Row, ...], reference: str, compiled: bool) -> Goal:
    """The public inverse kinematics in units of the C loop."""
    largest = max(ik.SIZES)
    ratio = next(row.ratio for row in rows if (row.name, row.n) == (ik.OURS, largest))
    text = f"Inverse kinematics at N = {largest:,}, in units of the {reference}"
    return Goal(text, ratio, ik.GOAL, at_most=True, counts=compiled)


def of_batches(races: tuple[Race, ...]) -> list[Goal]:
    """The handle in units of the C loop, and engines in units of the handle."""
    last = races[-1]
    ours = last.laps[dynamics.HANDLE]
    text = f"{dynamics.HANDLE} at N = {last.n:,} (hoped for: {AIM:g}), in units of {last.reference}"
    compiled = last.reference == peers.SIMD
    goals = [Goal(text, ours.ratio, MOST, at_most=True, counts=compiled)]
    for name in (pinocchio_delta.CPP, pinocchio_delta.BY_HAND):
        if name in last.laps:
            ratio = last.laps[name].times(ours)
            goals.append(Goal(_engine(name, last.n), ratio, FASTER, at_most=False))
    if len(goals) == 1 and pinocchio_delta.PYTHON in races[0].laps:
        per_state = races[0].laps[pinocchio_delta.PYTHON].seconds / races[0].n
        text = _engine(pinocchio_delta.PYTHON, last.n)
        ratio = per_state / (ours.seconds / last.n)
        goals.append(Goal(text, ratio, FASTER, at_most=False, counts=False))
    return goals


def _engine(name: str, n: int) -> str:
    return f"{name}, in units of {dynamics.HANDLE} at N = {n:,}"


def of_single_calls(found: Race) -> Goal:
    """Latency of the handle."""
    microseconds = 1e6 * found.laps[dynamics.LATENCY].seconds
    return Goal(f"{dynamics.LATENCY}, CPU time in us", microseconds, LATENCY, at_most=True)


def of_simulation(runs: tuple[Run, ...]) -> list[Goal]:
    """Pinocchio's simulation in units of ours."""
    ours = runs[0]
    text = f"One simulated second by {{}}, in units of {ours.name}"
    names = (pinocchio_delta.CPP, pinocchio_delta.PYTHON)
    goals = [
        Goal(
            text.format(run.name),
            run.lap.times(ours.lap),
            SIMULATED_FASTER,
            at_most=False,
            counts=max(run.error, ours.error) <= simulation.ACCURACY,
        )
        for run in runs
        if run.name in names
    ]
    return goals[:1]


def of_free_motion(rows: tuple[multibody.Row, ...]) -> list[Goal]:
    """Exudyn's simulation in units of ours, which is to be at least as accurate."""
    found = {row.name: row for row in rows}
    if multibody.AS_EXUDYN not in found:
        return []
    ours, theirs = found[multibody.AS_EXUDYN], found[multibody_peers.EXUDYN]
    text = f"Five seconds of free motion by Exudyn, in units of {multibody.AS_EXUDYN}"
    ratio = theirs.lap.times(ours.lap)
    counts = ours.found.beats(theirs.found)
    return [Goal(text, ratio, FREE_FASTER, at_most=False, counts=counts)]


def of_planning(cores: tuple[planning.CoreRace, ...], whole: planning.Whole) -> list[Goal]:
    """toppra in units of the convex core, and the CPU time of a plan with jerk limits."""
    goals = [
        Goal(
            f"{planning.TOPPRA}, {found.n:,} nodes, in units of ours",
            found.laps[planning.TOPPRA].times(found.laps[planning.OURS]),
            CORE_FASTER,
            at_most=False,
        )
        for found in cores
        if planning.TOPPRA in found.laps
    ]
    text = f"{planning.WHOLE} (hoped for: {HOPED:g}), CPU time in s"
    return [*goals, Goal(text, whole.seconds, WHOLE, at_most=True)]


def of_flexible(rows: tuple[flexible.Second, ...], mapped: flexible.Map) -> list[Goal]:
    """Flexible robots against real time, and the map of frequencies."""
    goals = []
    for row in rows:
        if row.unknowns in REAL_TIME:
            error = "" if row.error is None else f", error {100 * row.error:.2g} %"
            text = f"flexible robot, {row.unknowns} unknowns ({row.name}{error}), times real time"
            least = REAL_TIME[row.unknowns]
            goals.append(Goal(text, 1 / row.seconds, least, at_most=False))
    text = f"frequencies at {mapped.poses:,} poses, CPU time in s"
    return [*goals, Goal(text, mapped.seconds, MAP, at_most=True)]


def of_sensing(found: sensing.Sensing) -> list[Goal]:
    """The chord sensor with tool position, three limbs."""
    text = "chord sensor and tool, one call, CPU time in us"
    one = Goal(text, 1e6 * found.one, ONE_SENSE, at_most=True)
    text = f"the same in batches of {found.samples:,}, a sample, CPU time in us"
    return [one, Goal(text, 1e6 * found.many, MANY_SENSE, at_most=True)]


def of_exported(found: exported.Exported) -> list[Goal]:
    """Exported C, call by call, and against CasADi's."""
    text = f"exported torques of {exported.ROBOT}, a call from C, CPU time in us"
    goals = [Goal(text, 1e6 * found.seconds, EXPORTED, at_most=True)]
    if exported.CASADI in found.laps:
        ratio = found.laps[exported.OURS].times(found.laps[exported.CASADI])
        goals.append(Goal("the same, in units of CasADi's C", ratio, EXPORTED_RATIO, at_most=True))
    return goals


def of_control(found: control.Control) -> list[Goal]:
    """A simulated second of the compliant 3PRS under control."""
    text = f"a controlled second, CPU time in s (step error {found.step_error:.0e}"
    text += f"; a map of {found.sets} gain sets takes {found.gains:.0f} s"
    return [
        Goal(f"{text})", found.second, SECOND, at_most=True),
        Goal(f"{text}; hope)", found.second, SECOND_HOPED, at_most=True, counts=False),
    ]


def of_identification(found: identification.Identification) -> list[Goal]:
    """The physically consistent fit."""
    text = f"consistent fit, {found.unknowns} unknowns, {found.rows:,} rows, CPU time in s"
    return [Goal(text, found.fit, FIT, at_most=True)]


def of_shipped(found: Shipped) -> list[Goal]:
    """Shipped robots in units of the C loop, call by call, and against Pinocchio."""
    goals, compiled = [], found.reference == peers.SIMD
    for robot, most in IN_LOOPS.items():
        row = found.row(robot, shipped.TORQUES)
        if row is not None:
            text = f"{shipped.TORQUES} of {robot}, in units of {found.reference}"
            goals.append(Goal(text, row.loops, most, at_most=True, counts=compiled))
    for what, most in ((shipped.ONE, ONE), (shipped.INTO, INTO)):
        row = found.row(IRB, what)
        if row is not None:
            text = f"{shipped.TORQUES} of {IRB}, {what}, CPU time in us"
            goals.append(Goal(text, 1e6 * row.per_state, most, at_most=True))
    for robot in shipped.IN_TREES:
        slower = found.slower(robot)
        if slower is not None:
            text = f"{robot} by {shipped.TREE}, in units of {shipped.TORQUES}"
            goals.append(Goal(text, slower, TREE_FASTER, at_most=False))
    return goals


def of_limbs(rows: tuple[limbs.Twin, ...]) -> list[Goal]:
    """A machine as limbs in units of its own class, which stays as a fast path where it is one."""
    return [
        Goal(
            f"{row.what} of {row.robot} as limbs, in units of its own class",
            row.ratio,
            GENERAL,
            at_most=True,
        )
        for row in rows
    ]


def of_commands(rows: tuple[Taken, ...]) -> list[Goal]:
    """Commands in units of an import of JAX."""
    return [
        Goal(f"triskele {row.command.title}, {kind}, in imports of JAX", value, most, at_most=True)
        for row in rows
        for kind, value, most in (
            ("cold", row.cold, row.command.cold),
            ("warm", row.warm, row.command.warm),
        )
    ]


def fails(races: tuple[Race, ...]) -> str | None:
    """What is wrong if the handle is much slower than the C loop; None if it is not."""
    last = races[-1]
    ratio = last.laps[dynamics.HANDLE].ratio
    if last.reference != peers.SIMD or ratio <= LIMIT:
        return None
    return f"{dynamics.HANDLE} takes {ratio:.1f} times the {last.reference}, more than {LIMIT:g}."
