"""Two hundred random paths and payloads: each is planned within all limits, or told why not.

Plans are replayed at points between those at which limits were asked for, with efforts and loads
of the motion itself, friction included, not with the coefficients they were planned with. One of
each block is sampled every 0.1 ms and handed to `torques`, as a user would.
"""

from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest
from scipy.interpolate import make_interp_spline

from triskele.description.load import load
from triskele.description.schema import Payload, Robot
from triskele.dynamics.robot import rigid
from triskele.dynamics.torques import torques
from triskele.errors import TriskeleError
from triskele.kinematics.path import (
    AbstractPath,
    BSpline,
    Line,
    Rounded,
    u_turn,
    u_turn_on_legs,
)
from triskele.planning.demands import Affine, geometry_along, load_model
from triskele.planning.limits import allowance, limit_rows
from triskele.planning.plan import Plan, plan, uses

pytestmark = pytest.mark.oracle

COUNT, BLOCKS, OF_OTHER = 200, 10, 20
MOST = 1.005  # of a limit
CELLS = 80
# Of the robots with masses only the IRB 360/6 has limits; the other is lent some.
MAIN, OTHER = "abb_irb360_6_1600", "d3s_800"
LENT = {"joint_speed": (12.0,), "joint_acceleration": (150.0,), "joint_jerk": (8e3,)}


class Case(NamedTuple):
    robot: Robot
    path: AbstractPath
    payload: Payload | None
    what: str


def robots() -> tuple[Robot, Robot]:
    other = load(OTHER)
    return load(MAIN), other.model_copy(update={"limits": other.limits.model_copy(update=LENT)})


def cases() -> list[Case]:
    rng = np.random.default_rng(9)
    main, other = robots()
    return [_case(rng, other if k % (COUNT // OF_OTHER) == 9 else main, k) for k in range(COUNT)]


def _case(rng: np.random.Generator, robot: Robot, k: int) -> Case:
    """Every tenth path may leave the workspace, every twentieth payload is too heavy."""
    height = robot.limits.workspace_height
    assert height is not None, "of both robots"
    floor, ceiling = height
    reach = robot.limits.workspace_radius * (1.5 if k % 10 == 3 else 0.95)
    heavy = k % 20 == 5
    mass = rng.uniform(25, 60) if heavy else rng.uniform(0, 3)
    kinds = ("u-turn", "u-turn on legs", "line", "rounded", "way-points")
    kind = kinds[rng.integers(len(kinds))]
    path = _path(rng, kind, reach, floor, ceiling, turns=robot.name == MAIN)
    inertia = mass / 2.5 * np.array([0.0071, 0.0071, 0.0138])
    centre = (*rng.uniform(-0.02, 0.02, 2), -rng.uniform(0.03, 0.12))
    carried = Payload(mass=mass, centre_of_mass=centre, inertia=tuple(inertia))
    payload = carried if rng.uniform() < 0.9 or heavy else None
    return Case(robot, path, payload, f"{k}: {kind}, {mass:.2f} kg, {robot.name}")


def _path(
    rng: np.random.Generator, kind: str, reach: float, floor: float, ceiling: float, *, turns: bool
) -> AbstractPath:
    def points(n: int) -> np.ndarray:
        radius, angle = reach * np.sqrt(rng.uniform(0, 1, n)), rng.uniform(0, 2 * np.pi, n)
        xyz = [radius * np.cos(angle), radius * np.sin(angle), rng.uniform(floor, ceiling, n)]
        psi = [rng.uniform(-1, 1, n)] if turns else []
        return np.stack(xyz + psi, axis=1)

    if kind == "line":
        return Line(*points(2))
    if kind == "way-points":  # random places, made less wild by their mean
        P = points(6)
        P = 0.6 * P + 0.4 * P.mean(axis=0)
        spline = make_interp_spline(np.linspace(0, 1, 6), P, k=5)
        return BSpline(spline.c, 5, spline.t)
    if kind == "rounded":
        P = points(4)
        lengths = np.linalg.norm(np.diff(P[:, :3], axis=0), axis=1)
        room = min(lengths[0], lengths[1] / 2, lengths[2])
        return Rounded(P, float(rng.uniform(0.2, 0.95) * room))
    ends = points(2)
    low = floor + 0.3 * (ceiling - floor) * rng.uniform()
    across = ends[1, :2] - ends[0, :2]
    length, height = float(np.linalg.norm(across)), rng.uniform(0.1, 0.65) * (ceiling - floor)
    start, direction = np.array([*ends[0, :2], low, *ends[0, 3:]]), [*across, 0.0]
    turn = float(ends[1, 3] - ends[0, 3]) if turns else 0.0
    shape = {"length": length, "height": height, "turn": turn}
    if kind == "u-turn":
        return u_turn(start, direction, corner=float(rng.uniform(0.1, 0.5)) * length, **shape)
    return u_turn_on_legs(start, direction, **shape)


def worst_use(found: Plan) -> tuple[float, str, float]:
    """Of all limits, between the points of the plan: how much, of which, and at which s."""
    cells = found.profile.space.cells
    places = (np.arange(7) + 0.37) / 7
    s = (cells[:-1, None] + np.diff(cells)[:, None] * places[None, :]).ravel()
    x, u, w = found.profile.at(s)
    robot = rigid(found.robot, found.payload)
    geometry = geometry_along(robot.mechanism, found.path, s)
    r, r1, r2, _ = geometry.r
    sd = np.sqrt(x)[:, None]
    loads = load_model(robot).at(robot, r, r1 * sd, r1 * u[:, None] + r2 * sd**2)
    still = {name: Affine(0 * v, 0 * v, v) for name, v in loads.items()}
    allowed = allowance(found.robot, robot.mechanism, found.payload)
    rows = limit_rows(allowed, robot, geometry, [still])
    used = uses(rows, x, u, w)
    at, which = np.unravel_index(used.argmax(), used.shape)
    return float(used[at, which]), rows.columns[which].limit.label, float(s[at])


def worst_of_samples(found: Plan) -> float:
    """The same for a table every 0.1 ms, as `torques` sees it."""
    demands = torques(found.robot, found.motion(period=1e-4), found.payload)
    return max(limit.use for limit in demands.limits)


@pytest.mark.parametrize(
    "block", [k if k == 0 else pytest.param(k, marks=pytest.mark.slow) for k in range(BLOCKS)]
)
def test_random_paths_are_planned_within_all_limits_or_say_what_forbids_them(block):
    size = COUNT // BLOCKS
    planned: list[tuple[float, Case, Plan]] = []
    refused: Counter[str] = Counter()
    faults: list[str] = []
    for case in cases()[block * size : (block + 1) * size]:
        try:
            found = plan(case.robot, case.path, case.payload, cells=CELLS)
        except TriskeleError as error:
            sentence = str(error)
            refused[sentence.split(" at s =")[0]] += 1
            if " at s = " not in sentence:
                faults.append(f"{case.what}: no place in: {sentence}")
            continue
        use, label, s = worst_use(found)
        planned.append((use, case, found))
        if not use < MOST or not found.gap < 1e-6:
            faults.append(f"{case.what}: {use:.4f} of {label} at s = {s:.4f}, gap {found.gap:.1e}")
    worst = max(use for use, _, _ in planned)
    print(f"\n{len(planned)} of {size} planned, at most {worst:.4f} of a limit used")
    for reason, count in refused.items():
        print(f"{count} refused: {reason}")
    _, case, found = planned[0]
    use = worst_of_samples(found)
    if use > MOST:
        faults.append(f"{case.what}: {use:.4f} in its table")
    assert not faults, "\n".join(faults)
