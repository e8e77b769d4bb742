"""The fastest motion along a path within all limits of a robot, and why it is not faster.

    minimum-time    from rest to rest with jerks and torque rates bounded throughout
    step-start      the same limits along s, in which a start from rest is a step of acceleration
    largest-speed   that, with the integral of x made largest instead of the time least: the
                    program of Gnad et al., equation 43
    no-jerk         without third-order limits
    core            that, in two passes over a grid (`reachability.py`), in milliseconds

The first four are solved by `interior.py`, friction at the speed found put in between solutions;
limits are looked at between the points as well, and cells divided where one is exceeded.

The price of a limit is the change of the duration with it: by the multipliers lam of its rows,
dT/dln L = -sum lam dS/dln L. Raising a limit by 10 % gains about a tenth of that.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from triskele.description.schema import Payload, Robot
from triskele.errors import InputError, UnknownName, did_you_mean
from triskele.kinematics.coordinates import Coordinates
from triskele.kinematics.limits import Limit
from triskele.kinematics.motion import Motion
from triskele.kinematics.path import AbstractPath, derivatives_along, positive
from triskele.laws.masses import named_payload
from triskele.planning.demands import Affine, Geometry, RodLaw
from triskele.planning.interior import solve
from triskele.planning.limits import Column, Rows
from triskele.planning.problem import Average, Problem, Solution
from triskele.planning.profile import FROM_REST, FROM_STEP, Basis, Profile, Space, StepProfile
from triskele.planning.reachability import core
from triskele.planning.task import Task, cells_of, check_averages, check_standing, least_cells
from triskele.planning.why import (
    PlannedLimit,
    Run,
    average_limit,
    binding_limits,
    binding_runs,
    half_planes,
    maximum_velocity,
    merged,
    price_of_each,
    uses,
)

Series = Float[np.ndarray, " _"]
Progress = Callable[[float], None]
METHODS = ("minimum-time", "step-start", "largest-speed", "no-jerk", "core")
_INSIDE = np.array([1e-6, 0.5, 1 - 1e-6])  #: where limits are asked for in each cell
#: where they are looked at afterwards
_BETWEEN = (np.arange(16) + 0.5) / 16
TOLERATED = 1.005  #: use of a limit between the points of a plan; more is remarked on
_EXCESS = 2e-3  #: a cell where a limit is exceeded by more is divided, its halves seen closely
_ROUNDS = 5  #: of dividing cells, at most
_TURNS = 5  #: of friction at the speed found, at most
_START = 20.0  #: p of the first guess [1/s^2]; it is slowed down anyway


@dataclass(frozen=True)
class Plan:
    """A timed path, and what bounds it."""

    robot: Robot
    payload: Payload | None
    path: AbstractPath
    method: str
    profile: Profile | StepProfile
    duration: float  #: [s]
    limits: tuple[PlannedLimit, ...]  #: the most used first
    s: Series  #: points at which limits were asked for
    speed: Series  #: sd there [1/s]
    fastest: Series  #: the maximum velocity curve there [1/s]
    binding: tuple[Limit | None, ...]  #: what binds there
    runs: tuple[Run, ...]  #: where each limit binds; those over the whole motion come first
    gap: float  #: bound on what the solver left, as a part of the duration
    friction: bool
    coordinates: Coordinates
    margins: Mapping[str, float] = field(default_factory=dict)  #: kept free, by limit
    dwell: float = 0.0  #: rest after the motion, which averages count [s]

    @property
    def prices(self) -> dict[str, float]:
        """What each limit of the file is worth [s]: gained along the path if it were 10 % higher.

        By the slope at the limit as it is. Empty for methods that do not make the time least, or
        have no multipliers.
        """
        found: dict[str, float] = {}
        for item in self.limits:
            if item.price is None:
                return {}
            key = item.limit.key
            found[key] = found.get(key, 0.0) - 0.1 * item.price
        return dict(sorted(found.items(), key=lambda pair: -pair[1]))

    def motion(self, *, rate: float | None = None, period: float | None = None) -> Motion:
        """Samples for a controller, by the formulas of the path: nothing is differenced.

        At `rate` [Hz], or every `period` [s]; the last sample is at rest at the end, and may
        come less than a period after the one before.
        """
        if (rate is None) == (period is None):
            raise InputError("Give a rate [Hz] or a period [s], one of the two.")
        if period is not None:
            step = float(positive("period", period, "s"))
        else:
            step = 1 / float(positive("rate", rate or 0.0, "Hz"))
        t = np.arange(0, self.duration, step)
        if self.duration - t[-1] > 1e-9 * self.duration:
            t = np.append(t, self.duration)
        s, sd, sdd, sddd = self.profile.schedule(t)
        r, r1, r2, r3 = (np.asarray(part) for part in derivatives_along(self.path, s))
        sd, sdd, sddd = sd[:, None], sdd[:, None], sddd[:, None]
        return Motion(
            t,
            r,
            r1 * sd,
            r2 * sd**2 + r1 * sdd,
            r3 * sd**3 + 3 * r2 * sd * sdd + r1 * sddd,
            coordinates=self.coordinates,
            path=self.path,
        )


def plan(
    robot: Robot,
    path: AbstractPath,
    payload: Payload | str | None = None,
    *,
    method: str = "minimum-time",
    margins: Mapping[str, float] | None = None,
    loads: RodLaw | None = None,
    friction: bool = True,
    dwell: float = 0.0,
    cells: int = 240,
    progress: Progress | None = None,
) -> Plan:
    """The fastest motion of `robot` along `path`, from rest to rest, within its limits.

    Averages (RMS torques) are taken over the motion and `dwell` [s] of rest after it. `loads` is
    a law of rod loads in the place of the exact one, for comparison. The profile has `cells`, or
    as many as `least_cells` says if those are more.

    >>> import triskele as tk
    >>> robot = tk.load("abb_irb360_6_1600")
    >>> path = tk.u_turn([0, -0.4, -1.0, 0], length=0.8, height=0.18, corner=0.15)
    >>> found = tk.plan(robot, path, "plate", friction=False, cells=60)
    >>> f"{found.duration:.2f} s"
    '0.52 s'
    """
    if method not in METHODS:
        raise UnknownName(f"No method is called '{method}'. {did_you_mean(method, METHODS)}")
    payload = named_payload(robot, payload)
    task = Task.of(robot, path, payload, margins, loads, friction, dwell, method)
    task.check(cells)
    report = progress or (lambda part: None)
    if method == "core":
        return _by_core(task, 8 * max(cells, least_cells(path, method) or 0))
    return _by_interior(task, cells, report)


# By interior points


def _by_interior(task: Task, size: int, report: Progress) -> Plan:
    if task.method in ("step-start", "largest-speed"):
        found = _solved(task, _published_grid(), report)
        return _finished(task, found, _seen(task, found))
    cells = cells_of(task, size)
    closely = np.zeros(len(cells) - 1, bool)
    for attempt in count(1):
        grid = _grid(task, cells, closely)
        found = _solved(task, grid, lambda part, k=attempt: report((k - 1 + part) / _ROUNDS))
        seen = _seen(task, found)
        exceeded = _worst(seen) > 1 + _EXCESS
        if not exceeded.any() or attempt == _ROUNDS:
            report(1.0)
            return _finished(task, *_slowed(task, found, seen))
        middles, _ = grid.space.mapped(np.array([0.5]))
        cells = np.sort(np.append(cells, middles[exceeded, 0]))
        closely = np.repeat(closely | exceeded, 1 + exceeded)
    raise AssertionError("counting does not end")


class _Grid(NamedTuple):
    """A space of profiles, and the points at which limits are asked for."""

    space: Space
    s: Series
    points: Basis


def _grid(task: Task, cells: Series, closely: np.ndarray) -> _Grid:
    """Both ends and the middle of each cell; more of those that are looked at `closely`."""
    space = Space(cells, 3, FROM_REST if task.has_third_order() else FROM_STEP)
    (s, cell), (more, there) = space.points(_INSIDE), space.points(_BETWEEN)
    kept = closely[there]
    s, cell = np.append(s, more[kept]), np.append(cell, there[kept])
    order = np.argsort(s, kind="stable")
    s, cell = s[order], cell[order]
    return _Grid(space, s, space.basis(s, cell))


def _published_grid() -> _Grid:
    """As in the literature: 50 coefficients, degree 4, 201 points closer towards the ends."""
    space = Space(np.linspace(0, 1, 47), 4, FROM_STEP)
    s = (1 - np.cos(np.linspace(0, np.pi, 201))) / 2
    s[[0, -1]] = 1e-9, 1 - 1e-9
    return _Grid(space, s, space.basis(s))


class _Solved(NamedTuple):
    """A profile on a grid, with the limits it was found under."""

    grid: _Grid
    geometry: Geometry
    rows: Rows
    averages: list[tuple[Limit, Average]]
    found: Solution


class _Asked(NamedTuple):
    """Points of a path, what they demand without friction, and what friction adds."""

    geometry: Geometry
    cases: list[dict[str, Affine]]
    rubbing: Mapping[str, Affine]

    @classmethod
    def at(cls, task: Task, s: Series) -> "_Asked":
        geometry = task.geometry(s)
        return cls(geometry, task.demands(geometry), {})

    def moving(self, task: Task, x: Series) -> "_Asked":
        """With friction at the squared speed `x`."""
        return self._replace(rubbing=task.friction_at(self.geometry, x))


def _solved(task: Task, grid: _Grid, report: Progress) -> _Solved:
    """The best profile on a grid, friction at its own speed included."""
    asked = _Asked.at(task, grid.s)
    check_standing(asked.geometry, task.rows(*asked))
    nodes, cell, _ = grid.space.quadrature()
    means = _Asked.at(task, nodes) if task.has_averages() else None
    solved = _once(task, grid, asked, means, _START * grid.space.constant())
    for turn in range(_TURNS if task.rubbing is not None else 0):
        report((turn + 1) / (_TURNS + 1))
        before, start = solved.found.duration, solved.found.c
        asked = asked.moving(task, grid.points.of(start)[0])
        if means is not None:
            means = means.moving(task, grid.space.basis(nodes, cell).of(start)[0])
        solved = _once(task, grid, asked, means, start)
        if abs(solved.found.duration - before) < 1e-7 * before:
            break
    return solved


def _once(task: Task, grid: _Grid, asked: _Asked, means: _Asked | None, start: Series) -> _Solved:
    """The best profile with friction as it is."""
    rows = task.rows(*asked)
    averages = [] if means is None else task.averages(*means)
    check_averages(averages)
    problem = Problem(
        grid.space,
        grid.points,
        *rows[:3],
        averages=tuple(item for _, item in averages),
        fastest=task.method != "largest-speed",
    )
    return _Solved(grid, asked.geometry, rows, averages, solve(problem, start))


class _Seen(NamedTuple):
    """What is used of all limits between the points of a problem."""

    s: Series
    columns: tuple[Column, ...]
    used: Float[np.ndarray, "N columns"]
    cells: int


def _seen(task: Task, solved: _Solved) -> _Seen:
    space = solved.grid.space
    s, cell = space.points(_BETWEEN)
    geometry, motion = task.geometry(s), space.basis(s, cell).of(solved.found.c)
    rows = task.rows(geometry, task.demands(geometry), task.friction_at(geometry, motion[0]))
    return _Seen(s, rows.columns, uses(rows, *motion), len(space.cells) - 1)


def _worst(seen: _Seen) -> Series:
    """The most that is used of any limit in each cell."""
    return seen.used.max(axis=1).reshape(seen.cells, -1).max(axis=1)


def _slowed(task: Task, solved: _Solved, seen: _Seen) -> tuple[_Solved, _Seen]:
    """Slower throughout, by as little as keeps all limits: what dividing cells did not mend."""
    for _ in range(50):
        worst = _worst(seen).max()
        if worst <= 1 + _EXCESS:
            break
        slower = solved.found._replace(c=solved.found.c / min(worst, 1.1))
        solved = solved._replace(found=slower)
        seen = _seen(task, solved)
    return solved, seen


def _finished(task: Task, solved: _Solved, seen: _Seen) -> Plan:
    grid, geometry, rows, averages, found = solved
    x, u, w = grid.points.of(found.c)
    used, fast = uses(rows, x, u, w), task.method != "largest-speed"
    prices = price_of_each(rows, found, used, (x, u, w)) if fast else None
    nodes, cell, weights = grid.space.quadrature()
    y, v, _ = grid.space.basis(nodes, cell).of(found.c)
    means = [
        average_limit(*item, (y, v, weights / np.sqrt(y)), None if prices is None else float(nu))
        for item, nu in zip(averages, found.average_price, strict=True)
    ]
    limits = [*merged(rows.columns, used, prices, geometry.s), *means]
    profile = Profile(grid.space, found.c)
    speeds = np.sqrt(x), np.sqrt(maximum_velocity(task.rows(geometry, task.demands(geometry), {})))
    s = np.append(seen.s, geometry.s)
    order = np.argsort(s, kind="stable")
    runs = binding_runs(seen.columns, np.concatenate([seen.used, used])[order], s[order])
    return _plan(task, profile, limits, geometry.s, speeds, (rows, used), runs, found.gap)


def _plan(
    task: Task,
    profile: Profile | StepProfile,
    limits: list[PlannedLimit],
    s: Series,
    speeds: tuple[Series, Series],
    bounds: tuple[Rows, np.ndarray],
    runs: tuple[Run, ...],
    gap: float,
) -> Plan:
    """All of it together."""
    nodes, times = profile.when()
    throughout = tuple(
        Run(0.0, 1.0, item.limit, float(times[-1]), whole=True)
        for item in limits
        if item.whole_binds
    )
    timed = (
        run._replace(lasts=float(np.diff(np.interp((run.start, run.end), nodes, times))[0]))
        for run in runs
    )
    return Plan(
        robot=task.robot,
        payload=task.payload,
        path=task.path,
        method=task.method,
        profile=profile,
        duration=profile.duration(),
        limits=tuple(sorted(limits, key=lambda item: (-round(item.use, 6), item.price or 0.0))),
        s=s,
        speed=speeds[0],
        fastest=speeds[1],
        binding=binding_limits(bounds[0].columns, bounds[1]),
        runs=(*throughout, *timed),
        gap=gap,
        friction=task.friction,
        coordinates=task.mechanism.platform_coordinates,
        margins=task.margins,
        dwell=task.dwell,
    )


# By reachability


def _by_core(task: Task, size: int) -> Plan:
    s = (1 - np.cos(np.pi * np.linspace(0, 1, size + 1))) / 2  # close where it rests
    asked = _Asked.at(task, s)
    rows = task.rows(*asked)
    check_standing(asked.geometry, rows)
    x, most = core(s, *half_planes(rows, None))
    for _ in range(_TURNS):  # cuts of norms, and friction, at the speed found
        rows = task.rows(*asked.moving(task, np.maximum(x, 1e-9)))
        x, most = core(s, *half_planes(rows, (x, _steps(s, x))))
    used = uses(rows, x, _steps(s, x), np.zeros_like(x))
    limits = merged(rows.columns, used, None, s)
    speeds = np.sqrt(x), np.sqrt(most)
    runs = binding_runs(rows.columns, used, s)
    return _plan(task, StepProfile(s, x), limits, s, speeds, (rows, used), runs, 0.0)


def _steps(s: Series, x: Series) -> Series:
    """u after each node; at the last, before it."""
    u = np.diff(x) / (2 * np.diff(s))
    return np.append(u, u[-1])
