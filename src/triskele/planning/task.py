"""All that a plan is made from: robot, path, payload and limits, checked.

Cells and points depend on the path alone, not on the limits: half of the cells are spaced by the
time of a motion with bounded jerk, half by curvature in joint space. Plans for different limits
can thus be compared to the last digit.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import equinox as eqx
import numpy as np
from jaxtyping import Float

from triskele.description.schema import Payload, Robot
from triskele.dynamics.robot import RigidRobot, rigid
from triskele.dynamics.stated import Stated
from triskele.errors import InputError, OutOfReach
from triskele.kinematics.limits import Limit
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.path import AbstractPath, derivatives_along
from triskele.kinematics.reach import slack, worst_slack
from triskele.numerics import tabulate
from triskele.planning.demands import (
    Affine,
    Geometry,
    LoadModel,
    RodLaw,
    effort_rates,
    friction_alone,
    geometry_along,
    load_model,
)
from triskele.planning.limits import (
    Rows,
    allowance,
    limit_rows,
    needs,
    payload_cases,
)
from triskele.planning.problem import Average

Series = Float[np.ndarray, " _"]
_BESIDE = 1e-9  #: how near a break both sides are looked at
_LOOKED_AT = 512  #: points of a path whose reach is checked
_JUMP = 1e-4  #: of r' or r'', relative
_EACH = 24  #: cells of each piece of a path, at least


@dataclass(frozen=True)
class Task:
    """All that a plan is made from."""

    robot: Robot
    path: AbstractPath
    payload: Payload | None
    method: str
    allowed: Stated
    cases: tuple[RigidRobot, ...]  #: without friction, one for each extreme of the payload
    friction: bool  #: asked for
    rubbing: RigidRobot | None  #: friction alone, where it matters
    model: LoadModel
    dwell: float
    margins: Mapping[str, float]  #: kept free, by limit

    @classmethod
    def of(
        cls,
        robot: Robot,
        path: AbstractPath,
        payload: Payload | None,
        margins: Mapping[str, float] | None,
        loads: RodLaw | None,
        friction: bool,
        dwell: float,
        method: str,
    ) -> "Task":
        """What the arguments of `plan` say."""
        cases = tuple(rigid(robot, case, friction=False) for case in payload_cases(payload))
        limits = robot.limits
        if method in ("no-jerk", "core"):
            limits = limits.model_copy(update={"joint_jerk": None, "torque_rate": None})
        bounded = robot.model_copy(update={"limits": limits})
        allowed = allowance(bounded, cases[0].mechanism, payload, margins)
        needed, moving = needs(allowed), rigid(robot, payload, friction=friction)
        rubs = (*moving.drive_friction, *moving.passive_friction, moving.ball_friction)
        return cls(
            robot=robot,
            path=path,
            payload=payload,
            method=method,
            allowed=allowed,
            cases=cases,
            friction=friction,
            rubbing=friction_alone(moving) if needed and any(rubs) else None,
            model=load_model(cases[0], needed, loads),
            dwell=dwell,
            margins=dict(margins or {}),
        )

    @property
    def mechanism(self) -> AbstractMechanism:
        """Of all cases."""
        return self.cases[0].mechanism

    def check(self, cells: int) -> None:
        """Raise the sentence for a path that this robot cannot follow."""
        if cells < 8:
            raise InputError(f"cells is {cells}; at least 8 are needed.")
        if not self.dwell >= 0:
            raise InputError(f"dwell is {self.dwell:g} s; it must not be negative.")
        _check_path(self.mechanism, self.robot, self.path, smooth=self.has_third_order())

    def geometry(self, s: Series) -> Geometry:
        """The path and the joints at `s`."""
        return geometry_along(self.mechanism, self.path, s)

    def demands(self, geometry: Geometry) -> list[dict[str, Affine]]:
        """Loads of each case, without friction."""
        return [dict(self.model.along(case, *geometry.r[:3])) for case in self.cases]

    def rates(self, geometry: Geometry) -> tuple[Affine, Affine] | None:
        """Efforts and their slopes along the path, if their rate is limited."""
        if self.allowed.limits.torque_rate is None:
            return None
        return effort_rates(self.cases[0], *geometry.r)

    def friction_at(self, geometry: Geometry, x: Series) -> dict[str, Affine]:
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
        """Limits at the points, friction included."""
        together = [
            {name: _sum(part, rubbing.get(name)) for name, part in case.items()} for case in cases
        ]
        return limit_rows(self.allowed, self.cases[0], geometry, together, self.rates(geometry))

    def has_third_order(self) -> bool:
        """Whether jerks or torque rates are limited."""
        limits = self.allowed.limits
        return limits.joint_jerk is not None or limits.torque_rate is not None

    def has_averages(self) -> bool:
        """Whether a motor has a limit of its RMS torque."""
        return any(value is not None for value in self.allowed.of_drives("continuous_torque"))

    def averages(
        self, geometry: Geometry, cases: list[dict[str, Affine]], rubbing: Mapping[str, Affine]
    ) -> list[tuple[Limit, Average]]:
        """RMS efforts, of the payload as it is, at the points of a quadrature."""
        found = []
        efforts = _sum(cases[0]["effort"], rubbing.get("effort"))
        for k, limit in enumerate(self.allowed.of_drives("continuous_torque")):
            if limit is not None:
                a, b, c = (part[:, k] / limit.most for part in efforts)
                idle = float(cases[0]["effort"].c[-1, k]) / limit.most
                found.append((limit, Average(a, b, c, self.dwell, idle)))
        return found


def _sum(part: Affine, other: Affine | None) -> Affine:
    return part if other is None else Affine(*(a + b for a, b in zip(part, other, strict=True)))


def _check_path(
    mechanism: AbstractMechanism, robot: Robot, path: AbstractPath, *, smooth: bool
) -> None:
    names = tuple(c.name for c in mechanism.platform_coordinates)
    s = np.linspace(0, 1, _LOOKED_AT)
    r, r1, r2, _ = (np.asarray(part) for part in derivatives_along(path, s))
    if r.shape[1] != len(names):
        raise InputError(
            f"The path has {r.shape[1]} coordinates; {robot.name} moves in {', '.join(names)}."
        )
    room = np.asarray(tabulate(eqx.Partial(slack, mechanism, robot.limits))(r))
    if not (room >= 0).all():
        worst = int(np.argmin(np.where(np.isfinite(room), room, -np.inf)))
        reason = worst_slack(mechanism, robot.limits, r[worst])
        raise OutOfReach(
            f"The path leaves the reach of {robot.name} {place(s[worst], r[worst])}: {reason}."
        )
    units = np.array([float(np.asarray(unit)) for unit in mechanism.scales().platform])  # m each
    pace = np.linalg.norm(r1 * units, axis=1)
    if pace.min() < 1e-6 * pace.max():
        worst = int(pace.argmin())
        raise InputError(
            f"The path stands still {place(s[worst], r[worst])}: r' is zero there. Drop a point "
            "that is there twice, or make it two paths."
        )
    scales = pace.max(), np.abs(r2 * units).max()
    _check_corners(path, units, scales, ("direction", "curvature")[: 1 + smooth])


def _check_corners(
    path: AbstractPath, units: np.ndarray, scales: tuple[float, float], what: tuple[str, ...]
) -> None:
    """Raise the sentence where r', or r'' if it matters, jumps; `units` of coordinates in m."""
    breaks = np.unique(np.asarray(path.breaks()))[1:-1]
    if not len(breaks):
        return
    beside = np.concatenate([breaks - _BESIDE, breaks + _BESIDE])
    found = [np.asarray(part) for part in derivatives_along(path, beside)]
    for order, name in enumerate(what, 1):
        before, after = np.split(found[order], 2)
        jumps = np.abs((after - before) * units).max(axis=1)
        worst = int(jumps.argmax())
        if jumps[worst] > _JUMP * max(scales[order - 1], scales[0]):
            raise InputError(
                f"The {name} of the path jumps {place(breaks[worst], found[0][worst])}: it could "
                "only be passed at rest. Round the corner, or make it two paths."
            )


def place(s: float, r: np.ndarray) -> str:
    """Where on a path, in words."""
    return f"at s = {s:.3f} of the path ({', '.join(f'{v:.4g}' for v in r + 0.0)})"


def cells_of(task: Task, count: int) -> Series:
    """Cells that depend on the path alone: half by time with bounded jerk, half by curvature.

    Being the same whatever the limits are, they do not disturb comparisons between limits.
    """
    breaks = np.unique(np.asarray(task.path.breaks()))
    count = max(count, least_cells(task.path) or 0)
    tau = np.linspace(0, 1, 2049)
    s = _smooth(tau)
    _, _, q2, _ = task.geometry(s).q
    bend = np.sqrt(np.abs(q2).max(axis=1))
    share = np.append(0.0, np.cumsum(np.diff(s) * (bend[1:] + bend[:-1]) / 2))
    measure = tau / 2 + (share / share[-1] / 2 if share[-1] > 0 else tau / 2)
    cells = _smooth(np.interp(np.linspace(0, 1, count + 1), measure, tau))
    near = np.abs(cells[:, None] - breaks[None, :]).min(axis=1) < np.gradient(cells) / 3
    near[[0, -1]] = True  # breaks begin with 0 and end with 1
    return np.unique(np.concatenate([cells[~near], breaks]))


def least_cells(path: AbstractPath, method: str = "minimum-time") -> int | None:
    """The least number of cells along `path`; None where the method has a number of its own."""
    if method in ("step-start", "largest-speed"):
        return None
    return 25 if method == "core" else _EACH * (len(np.unique(np.asarray(path.breaks()))) - 1)


def _smooth(tau: Series) -> Series:
    """A way from rest to rest in time, with bounded jerk."""
    return tau**3 * (10 - 15 * tau + 6 * tau**2)


def check_standing(geometry: Geometry, rows: Rows) -> None:
    """Raise the sentence if the robot cannot hold still somewhere on the path."""
    count = rows.two_sided.c.shape[1]
    room = 1 + rows.norms.lc - np.linalg.norm(rows.norms.c, axis=-1)
    uses = np.concatenate([np.abs(rows.two_sided.c), 1 - room], axis=1)
    if uses.size and uses.max() >= 1:
        point, k = np.unravel_index(uses.argmax(), uses.shape)
        columns = rows.columns[:count] + rows.columns[len(rows.columns) - room.shape[1] :]
        limit = columns[int(k)].limit
        raise InputError(
            f"Even at rest {place(geometry.s[point], geometry.r[0][point])} the {limit.label} is "
            f"{uses[point, k] * limit.most:.4g} {limit.unit}, and {limit.most:.4g} "
            f"{limit.unit} are allowed ({limit.key}): this payload cannot be carried there."
        )


def check_averages(averages: list[tuple[Limit, Average]]) -> None:
    """Raise the sentence if a motor cannot even hold still for long."""
    for limit, item in averages:
        if np.mean(item.c**2) >= 1:
            raise InputError(
                f"Even at rest the {limit.label} is "
                f"{np.sqrt(np.mean(item.c**2)) * limit.most:.4g} {limit.unit}, and "
                f"{limit.most:.4g} {limit.unit} are allowed ({limit.key})."
            )
