"""The fastest motion along a path within all limits of a robot, and why it is not faster.

    minimum-time    from rest to rest with jerks and torque rates bounded throughout
    step-start      the same limits along s, in which a start from rest is a step of acceleration
    largest-speed   that, with the integral of x made largest instead of the time least: the
                    program of Gnad et al., RAS (2023), equation 37
    no-jerk         without third-order limits
    core            that, in two passes over a grid (`reachability.py`), in milliseconds

The first four are solved by `interior.py`, friction at the speed found put in between solutions;
limits are looked at between the points as well, and cells divided where one is exceeded.

The price of a limit is the change of the duration with it: by the multipliers lam of its rows,
dT/dln L = -sum lam dS/dln L. Raising a limit by 10 % gains about a tenth of that.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from triskele.description.schema import Payload, Robot
from triskele.dynamics.robot import RigidRobot, rigid
from triskele.errors import InputError, OutOfReach, UnknownName, did_you_mean
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.motion import Motion
from triskele.kinematics.path import AbstractPath, derivatives_along
from triskele.kinematics.reach import slack, worst_slack
from triskele.laws.masses import named_payload
from triskele.planning import interior
from triskele.planning.demands import (
    BLOCK,
    Affine,
    Geometry,
    LoadModel,
    effort_rates,
    friction_alone,
    geometry_along,
    load_model,
    tabulate,
)
from triskele.planning.limits import Allowance, Column, Rows, allowance, limit_rows, payload_cases
from triskele.planning.profile import (
    FROM_REST,
    FROM_STEP,
    Basis,
    Profile,
    Space,
    StepProfile,
)
from triskele.planning.reachability import core

Series = Float[np.ndarray, " N"]
Progress = Callable[[float], None]
METHODS = ("minimum-time", "step-start", "largest-speed", "no-jerk", "core")
_INSIDE = np.array([1e-6, 0.5, 1 - 1e-6])  #: where limits are asked for in each cell
_BETWEEN = np.array([0.1, 0.25, 0.4, 0.6, 0.75, 0.9])  #: where they are looked at afterwards
_EXCESS = 2e-3  #: a cell in which a limit is exceeded by more than this part is divided
_BINDING = 1e-3  #: a limit that is used up to this part binds
_START = 20.0  #: p of the first guess [1/s^2]; it is slowed down anyway


class PlannedLimit(NamedTuple):
    """One limit along a plan."""

    key: str  #: its name in the robot file
    label: str
    unit: str
    allowed: float  #: the margin taken off
    use: float  #: at most, 1 is at the limit
    s: float  #: where
    price: float | None  #: d duration / d ln(limit) [s], never positive; None: not known


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
    binding: tuple[str, ...]  #: label of the limit that binds there, "" if none
    gap: float  #: bound on what the solver left, as a part of the duration
    friction: bool
    coordinates: tuple[str, ...]

    @property
    def prices(self) -> dict[str, float]:
        """What each limit of the file is worth [s]: gained if it were 10 % higher.

        Empty for methods that do not make the time least, or know no multipliers.
        """
        found: dict[str, float] = {}
        for item in self.limits:
            if item.price is None:
                return {}
            found[item.key] = found.get(item.key, 0.0) - 0.1 * item.price
        return dict(sorted(found.items(), key=lambda pair: -pair[1]))

    def motion(self, *, rate: float | None = None, period: float | None = None) -> Motion:
        """Samples for a controller, by the formulas of the path: nothing is differenced.

        At `rate` [Hz], or every `period` [s]; the last sample is at rest at the end, and may
        come less than a period after the one before.
        """
        if (rate is None) == (period is None):
            raise InputError("Give a rate [Hz] or a period [s], one of the two.")
        step = float(period if period is not None else 1 / float(rate or 1))
        if not step > 0:
            raise InputError(f"period is {step:g} s; it must be positive.")
        t = np.arange(0, self.duration, step)
        if self.duration - t[-1] > 1e-9 * self.duration:
            t = np.append(t, self.duration)
        s, sd, sdd, sddd = self.profile.schedule(t)
        r, r1, r2, r3 = (np.asarray(part) for part in derivatives_along(self.path, s, block=BLOCK))
        sd, sdd, sddd = sd[:, None], sdd[:, None], sddd[:, None]
        return Motion(
            jnp.asarray(t),
            jnp.asarray(r),
            jnp.asarray(r1 * sd),
            jnp.asarray(r2 * sd**2 + r1 * sdd),
            jnp.asarray(r3 * sd**3 + 3 * r2 * sd * sdd + r1 * sddd),
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
    loads: str = "exact",
    friction: bool = True,
    dwell: float = 0.0,
    cells: int = 240,
    progress: Progress | None = None,
) -> Plan:
    """The fastest motion of `robot` along `path`, from rest to rest, within its limits.

    Averages (RMS torques) are taken over the motion and `dwell` [s] of rest after it.

    >>> import triskele as tk
    >>> robot = tk.load("abb_irb360_6_1600")
    >>> path = tk.u_turn([0, -0.4, -1.0, 0], length=0.8, height=0.18, corner=0.15)
    >>> found = tk.plan(robot, path, "plate", friction=False, cells=60)
    >>> round(found.duration, 2)
    0.53
    """
    if method not in METHODS:
        raise UnknownName(f"No method is called '{method}'. {did_you_mean(method, METHODS)}")
    payload = named_payload(robot, payload)
    task = _Task.of(robot, path, payload, margins, loads, friction, dwell, method)
    task.check(cells)
    report = progress or (lambda part: None)
    if method == "core":
        return _by_core(task, max(8 * cells, 200))
    return _by_interior(task, cells, report)


@dataclass(frozen=True)
class _Task:
    """All that a plan is made from."""

    robot: Robot
    path: AbstractPath
    payload: Payload | None
    method: str
    allowed: Allowance
    cases: tuple[RigidRobot, ...]  #: without friction, one for each extreme of the payload
    rubbing: RigidRobot | None  #: with friction
    model: LoadModel
    dwell: float

    @classmethod
    def of(
        cls,
        robot: Robot,
        path: AbstractPath,
        payload: Payload | None,
        margins: Mapping[str, float] | None,
        loads: str,
        friction: bool,
        dwell: float,
        method: str,
    ) -> "_Task":
        cases = tuple(rigid(robot, case, friction=False) for case in payload_cases(payload))
        mechanism = cases[0].mechanism
        limits = robot.limits
        if method in ("no-jerk", "core"):
            robot = robot.model_copy(
                update={
                    "limits": limits.model_copy(update={"joint_jerk": None, "torque_rate": None})
                }
            )
        allowed = allowance(robot, mechanism.joint_coordinates, payload, margins)
        bearings = limits.bearing_force is not None or limits.bearing_torque is not None
        grip = payload is not None and payload.grip_force is not None
        return cls(
            robot=robot,
            path=path,
            payload=payload,
            method=method,
            allowed=allowed,
            cases=cases,
            rubbing=friction_alone(rigid(robot, payload)) if friction else None,
            model=load_model(cases[0], loads, bearings=bearings, grip=grip),
            dwell=dwell,
        )

    @property
    def mechanism(self) -> AbstractMechanism:
        return self.cases[0].mechanism

    def check(self, cells: int) -> None:
        """Raise the sentence for a path that this robot cannot follow."""
        if cells < 8:
            raise InputError(f"cells is {cells}; at least 8 are needed.")
        if not self.dwell >= 0:
            raise InputError(f"dwell is {self.dwell:g} s; it must not be negative.")
        _check_path(self.mechanism, self.robot, self.path, jerk=self.method != "no-jerk")

    def geometry(self, s: Series) -> Geometry:
        return geometry_along(self.mechanism, self.path, s)

    def demands(self, geometry: Geometry) -> list[dict[str, Affine]]:
        """Loads of each case, without friction."""
        return [dict(self.model.along(case, *geometry.r[:3])) for case in self.cases]

    def rates(self, geometry: Geometry) -> tuple[Affine, Affine] | None:
        if self.allowed.limits.torque_rate is None:
            return None
        return effort_rates(self.cases[0], *geometry.r)

    def friction(self, geometry: Geometry, x: Series) -> dict[str, Affine]:
        """What friction adds at the squared speed `x`: a tangent in x, as b and c."""
        if self.rubbing is None:
            return {}
        found, still = [], np.zeros_like(geometry.r[0])
        for speed in (np.sqrt(x), 1.01 * np.sqrt(x)):
            moving = geometry.r[1] * speed[:, None]
            found.append(self.model.at(self.rubbing, geometry.r[0], moving, still))
        near, far = found
        step = ((1.01**2 - 1) * x)[:, None]
        slopes = {name: (far[name] - near[name]) / step for name in near}
        return {
            name: Affine(0 * near[name], slopes[name], near[name] - slopes[name] * x[:, None])
            for name in near
        }

    def rows(
        self, geometry: Geometry, cases: list[dict[str, Affine]], rubbing: Mapping[str, Affine]
    ) -> Rows:
        together = [
            {name: _sum(part, rubbing.get(name)) for name, part in case.items()} for case in cases
        ]
        return limit_rows(self.allowed, self.cases[0], geometry, together, self.rates(geometry))

    def averages(
        self, geometry: Geometry, cases: list[dict[str, Affine]], rubbing: Mapping[str, Affine]
    ) -> list[tuple[Column, interior.Average]]:
        """RMS efforts, of the payload as it is, at the points of a quadrature."""
        found = []
        efforts = _sum(cases[0]["effort"], rubbing.get("effort"))
        for k, limit in enumerate(self.allowed.of_motors("continuous_torque")):
            if limit is not None:
                turning = self.allowed.joints[k].unit == "rad"
                name, unit = ("torque", "N m") if turning else ("force", "N")
                column = Column("continuous_torque", f"RMS {name} of motor {k + 1}", unit, limit)
                a, b, c = (part[:, k] / limit for part in efforts)
                idle = float(cases[0]["effort"].c[-1, k]) / limit
                found.append((column, interior.Average(a, b, c, self.dwell, idle)))
        return found


def _sum(part: Affine, other: Affine | None) -> Affine:
    return part if other is None else Affine(*(a + b for a, b in zip(part, other, strict=True)))


# The path itself


def _check_path(
    mechanism: AbstractMechanism, robot: Robot, path: AbstractPath, *, jerk: bool
) -> None:
    names = tuple(c.name for c in mechanism.platform_coordinates)
    s = np.linspace(0, 1, BLOCK)
    r, r1, _, _ = (np.asarray(part) for part in derivatives_along(path, s, block=BLOCK))
    if r.shape[1] != len(names):
        raise InputError(
            f"The path has {r.shape[1]} coordinates; {robot.name} moves in {', '.join(names)}."
        )
    room = np.asarray(tabulate(eqx.Partial(slack, mechanism, robot.limits))(r))
    if not (room >= 0).all():
        worst = int(np.argmin(np.where(np.isfinite(room), room, -np.inf)))
        reason = worst_slack(mechanism, robot.limits, jnp.asarray(r[worst]))
        raise OutOfReach(
            f"The path leaves the reach of {robot.name} {place(s[worst], r[worst])}: {reason}."
        )
    pace = np.linalg.norm(r1, axis=1)
    if pace.min() < 1e-6 * pace.max():
        worst = int(pace.argmin())
        raise InputError(
            f"The path stands still {place(s[worst], r[worst])}: r' is zero there. Drop a point "
            "that is there twice, or make it two paths."
        )
    for b in np.asarray(path.breaks())[1:-1]:
        before, after = (
            [
                np.asarray(part)[0]
                for part in derivatives_along(path, np.array([b + side]), block=BLOCK)
            ]
            for side in (-1e-9, 1e-9)
        )
        scale = pace.max()
        for order, name in ((1, "direction"), (2, "curvature")):
            jump = np.abs(after[order] - before[order]).max() / scale
            if jump > 1e-4 * (1 if order == 1 else max(1.0, np.abs(after[2]).max() / scale)):
                if order == 2 and not jerk:
                    continue
                raise InputError(
                    f"The {name} of the path jumps {place(float(b), after[0])}: it could only be "
                    "passed at rest. Round the corner, or make it two paths."
                )


def place(s: float, r: np.ndarray) -> str:
    """Where on a path, in words."""
    return f"at s = {s:.3f} of the path ({', '.join(f'{v:.4g}' for v in r + 0.0)})"


def _cells(task: _Task, count: int) -> Series:
    """Cells that depend on the path alone: half by time with bounded jerk, half by curvature.

    Being the same whatever the limits are, they do not disturb comparisons between limits.
    """
    breaks = np.asarray(task.path.breaks())
    count = max(count, 24 * (len(breaks) - 1))
    tau = np.linspace(0, 1, 2049)
    s = tau**3 * (10 - 15 * tau + 6 * tau**2)
    _, _, q2, _ = task.geometry(s).q
    bend = np.sqrt(np.abs(q2).max(axis=1))
    share = np.append(0.0, np.cumsum(np.diff(s) * (bend[1:] + bend[:-1]) / 2))
    measure = tau / 2 + (share / share[-1] / 2 if share[-1] > 0 else tau / 2)
    cells = np.interp(np.linspace(0, 1, count + 1), measure, s)
    for b in breaks[1:-1]:
        cells[np.abs(cells - b).argmin()] = b
    return np.unique(cells)


# By interior points


def _by_interior(task: _Task, count: int, report: Progress) -> Plan:
    if task.method in ("step-start", "largest-speed"):
        return _finished(task, _solved(task, _published_grid(), report))
    cells, rounds = _cells(task, count), 4
    for attempt in range(rounds):
        grid = _grid(task, cells)
        found = _solved(task, grid, lambda part, k=attempt: report((k + part) / rounds))
        exceeded = _exceeded(task, found)
        if not exceeded.any() or attempt == rounds - 1:
            break
        middles = (cells[1:] + cells[:-1]) / 2
        cells = np.sort(np.concatenate([cells, middles[exceeded]]))
    report(1.0)
    return _finished(task, found)


class _Grid(NamedTuple):
    """A space of profiles, and the points at which limits are asked for."""

    space: Space
    s: Series
    points: Basis


def _grid(task: _Task, cells: Series) -> _Grid:
    """Both ends and the middle of each cell."""
    limits = task.allowed.limits
    third = limits.joint_jerk is not None or limits.torque_rate is not None
    space = Space(cells, 2, FROM_REST if third else FROM_STEP)
    s, cell = space.points(_INSIDE)
    return _Grid(space, s, space.basis(s, cell))


def _published_grid() -> _Grid:
    """As in the literature: 50 coefficients, degree 4, 201 points closer towards the ends."""
    space = Space(np.linspace(0, 1, 47), 4, FROM_STEP)
    s = (1 - np.cos(np.linspace(0, np.pi, 201))) / 2
    s[[0, -1]] = 1e-9, 1 - 1e-9
    return _Grid(space, s, space.basis(s))


class _Solved(NamedTuple):
    grid: _Grid
    geometry: Geometry
    rows: Rows
    averages: list[tuple[Column, interior.Average]]
    found: interior.Solution
    rubbing: Mapping[str, Affine]


def _solved(task: _Task, grid: _Grid, report: Progress) -> _Solved:
    """The best profile on a grid, friction at its own speed included."""
    space, s, points = grid
    geometry = task.geometry(s)
    cases = task.demands(geometry)
    _check_standing(geometry, task.rows(geometry, cases, {}))
    nodes, node_cell, _ = space.quadrature()
    means = task.allowed.of_motors("continuous_torque").count(None) < len(task.allowed.joints)
    at_nodes = task.geometry(nodes) if means else None
    node_cases = [] if at_nodes is None else task.demands(at_nodes)
    start, rubbing, node_rubbing, before = _START * space.constant(), {}, {}, np.inf
    turns = 1 if task.rubbing is None else 5
    for turn in range(turns):
        rows = task.rows(geometry, cases, rubbing)
        averages = [] if at_nodes is None else task.averages(at_nodes, node_cases, node_rubbing)
        _check_averages(averages)
        problem = interior.Problem(
            space,
            points,
            *rows[:3],
            averages=tuple(item for _, item in averages),
            fastest=task.method != "largest-speed",
        )
        found = interior.solve(problem, start)
        report((turn + 1) / turns)
        if turn == turns - 1 or abs(found.duration - before) < 1e-7 * found.duration:
            break
        before, start = found.duration, found.c
        rubbing = task.friction(geometry, points.of(found.c)[0])
        if at_nodes is not None:
            x, _, _ = space.basis(nodes, node_cell).of(found.c)
            node_rubbing = task.friction(at_nodes, x)
    return _Solved(grid, geometry, rows, averages, found, rubbing)


def _check_standing(geometry: Geometry, rows: Rows) -> None:
    """Raise the sentence if the robot cannot hold still somewhere on the path."""
    count = rows.two_sided.c.shape[1]
    room = 1 + rows.norms.lc - np.linalg.norm(rows.norms.c, axis=-1)
    uses = np.concatenate([np.abs(rows.two_sided.c), 1 - room], axis=1)
    if uses.size and uses.max() >= 1:
        point, k = np.unravel_index(uses.argmax(), uses.shape)
        columns = rows.columns[:count] + rows.columns[len(rows.columns) - room.shape[1] :]
        column = columns[int(k)]
        raise InputError(
            f"Even at rest {place(geometry.s[point], geometry.r[0][point])} the {column.label} is "
            f"{uses[point, k] * column.allowed:.4g} {column.unit}, and {column.allowed:.4g} "
            f"{column.unit} are allowed ({column.key}): this payload cannot be carried there."
        )


def _check_averages(averages: list[tuple[Column, interior.Average]]) -> None:
    for column, item in averages:
        if np.mean(item.c**2) >= 1:
            raise InputError(
                f"Even at rest the {column.label} is "
                f"{np.sqrt(np.mean(item.c**2)) * column.allowed:.4g} {column.unit}, and "
                f"{column.allowed:.4g} {column.unit} are allowed (continuous_torque)."
            )


def _exceeded(task: _Task, solved: _Solved) -> np.ndarray:
    """Cells in which a limit is exceeded between the points at which it was asked for."""
    space = solved.grid.space
    s, cell = space.points(_BETWEEN)
    geometry, motion = task.geometry(s), space.basis(s, cell).of(solved.found.c)
    rows = task.rows(geometry, task.demands(geometry), task.friction(geometry, motion[0]))
    worst = uses(rows, *motion).max(axis=1).reshape(len(space.cells) - 1, -1).max(axis=1)
    return worst > 1 + _EXCESS


def uses(rows: Rows, x: Series, u: Series, w: Series) -> Float[np.ndarray, "N columns"]:
    """How much of each limit is used at each point; 1 is at the limit."""
    x, u, w, root = x[:, None], u[:, None], w[:, None], np.sqrt(x)[:, None]
    p = rows.two_sided
    plain = np.abs(p.a * u + p.b * x + p.c) + p.e * root
    speeds = [c.key in ("joint_speed", "peak_speed") for c in rows.columns[: plain.shape[1]]]
    plain[:, speeds] = np.sqrt(plain[:, speeds])
    p = rows.third_order
    third = np.abs(p.a * w + p.b * u + p.c * x + p.d) * root
    p = rows.norms
    v = p.a * u[..., None] + p.b * x[..., None] + p.c
    norms = np.linalg.norm(v, axis=-1) - (p.la * u + p.lb * x + p.lc)
    return np.concatenate([plain, third, norms], axis=1)


def _finished(task: _Task, solved: _Solved) -> Plan:
    grid, geometry, rows, averages, found, _ = solved
    x, u, w = grid.points.of(found.c)
    used = uses(rows, x, u, w)
    prices = _prices(rows, found, used) if task.method != "largest-speed" else None
    limits = _merged(rows.columns, used, prices, geometry.s)
    for (column, _), left, nu in zip(
        averages, found.average_slack, found.average_price, strict=True
    ):
        whole = found.duration + task.dwell
        mean = max(1 - left / whole, 0.0)
        price = None if prices is None else float(-2 * nu * mean * whole)
        limits.append(PlannedLimit(*column, use=float(np.sqrt(mean)), s=1.0, price=price))
    curve = maximum_velocity(rows)
    return Plan(
        robot=task.robot,
        payload=task.payload,
        path=task.path,
        method=task.method,
        profile=Profile(grid.space, found.c),
        duration=found.duration,
        limits=tuple(sorted(limits, key=lambda item: (-round(item.use, 6), item.price or 0.0))),
        s=geometry.s,
        speed=np.sqrt(x),
        fastest=np.sqrt(curve),
        binding=_binding(rows.columns, used),
        gap=found.gap,
        friction=task.rubbing is not None,
        coordinates=tuple(c.name for c in task.mechanism.platform_coordinates),
    )


def _prices(
    rows: Rows, found: interior.Solution, used: np.ndarray
) -> Float[np.ndarray, " columns"]:
    """dT/dln L of each column."""
    k2, k3 = rows.two_sided.a.shape[1], rows.third_order.a.shape[1]
    lam, S = found.price, found.slack
    parts = [lam[:, :k2] + lam[:, k2 : 2 * k2]]
    weight = [used[:, :k2]]
    speeds = np.array([c.key in ("joint_speed", "peak_speed") for c in rows.columns[:k2]], bool)
    weight[0] = np.where(speeds[None, :], 2 * weight[0] ** 2, weight[0])
    at = 2 * k2
    # of (2) of `interior`, dS/dln L is what is used of sqrt(X / x): the scale is the same in both
    third = lam[:, at : at + k3] + lam[:, at + k3 : at + 2 * k3]
    parts.append(third * found.scale[:, None])
    weight.append(used[:, k2 : k2 + k3])
    parts.append(lam[:, at + 2 * k3 :])
    weight.append(used[:, k2 + k3 :])
    return -np.sum(np.concatenate(parts, axis=1) * np.concatenate(weight, axis=1), axis=0)


def _merged(
    columns: tuple[Column, ...], used: np.ndarray, prices: np.ndarray | None, s: Series
) -> list[PlannedLimit]:
    """One entry per label: both ends of a rod, and all cases of a payload, are one limit."""
    found: list[PlannedLimit] = []
    for label in dict.fromkeys(column.label for column in columns):
        own = [k for k, column in enumerate(columns) if column.label == label]
        most = used[:, own].max(axis=1)
        worst = int(most.argmax())
        price = None if prices is None else float(prices[own].sum())
        found.append(PlannedLimit(*columns[own[0]], float(most[worst]), float(s[worst]), price))
    return found


def _binding(columns: tuple[Column, ...], used: np.ndarray) -> tuple[str, ...]:
    most = used.argmax(axis=1)
    return tuple(columns[k].label if used[i, k] > 1 - _BINDING else "" for i, k in enumerate(most))


def maximum_velocity(rows: Rows) -> Series:
    """The largest x at each point that limits up to second order allow."""
    from triskele.planning.reachability import maximum_speed

    a, b, c = half_planes(rows, None)
    return np.asarray(maximum_speed(jnp.asarray(a), jnp.asarray(b), jnp.asarray(c)))


def half_planes(rows: Rows, at: tuple[Series, Series] | None) -> tuple[np.ndarray, ...]:
    """|a u + b x + c| <= 1: two-sided rows, and each norm along some directions.

    Norms are cut by their axes, or by the direction they have `at` x and u.
    """
    p, n = rows.two_sided, rows.norms
    a, b, c = [p.a], [p.b], [p.c]
    if n.la.shape[1]:
        directions = [np.broadcast_to(axis, n.a.shape) for axis in np.eye(3)]
        if at is not None:
            x, u = (part[:, None, None] for part in at)
            v = n.a * u + n.b * x + n.c
            directions.append(v / (np.linalg.norm(v, axis=-1, keepdims=True) + 1e-12))
        for e in directions:
            a.append(np.sum(e * n.a, axis=-1) - n.la)
            b.append(np.sum(e * n.b, axis=-1) - n.lb)
            c.append(np.sum(e * n.c, axis=-1) - n.lc)
    return tuple(np.concatenate(part, axis=1) for part in (a, b, c))


# By reachability


def _by_core(task: _Task, count: int) -> Plan:
    tau = np.linspace(0, 1, count + 1)
    s = (1 - np.cos(np.pi * tau)) / 2  # close where it rests: x grows as s there
    geometry = task.geometry(s)
    cases = task.demands(geometry)
    rows = task.rows(geometry, cases, {})
    _check_standing(geometry, rows)
    planes = half_planes(rows, None)
    for _ in range(4):  # cuts of norms, and friction, at the speed found
        x, most = core(s, *planes)
        u = np.append(np.diff(x) / (2 * np.diff(s)), 0.0)
        rows = task.rows(geometry, cases, task.friction(geometry, np.maximum(x, 1e-9)))
        planes = half_planes(rows, (x, u))
    used = uses(rows, x, u, np.zeros_like(x))[:-1]
    return Plan(
        robot=task.robot,
        payload=task.payload,
        path=task.path,
        method=task.method,
        profile=StepProfile(s, x),
        duration=StepProfile(s, x).duration(),
        limits=tuple(
            sorted(
                _merged(rows.columns, used, None, s[:-1]),
                key=lambda item: -round(item.use, 6),
            )
        ),
        s=s[:-1],
        speed=np.sqrt(x[:-1]),
        fastest=np.sqrt(most[:-1]),
        binding=_binding(rows.columns, used),
        gap=0.0,
        friction=task.rubbing is not None,
        coordinates=tuple(c.name for c in task.mechanism.platform_coordinates),
    )
