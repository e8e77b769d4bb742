"""A flexible robot along its circle: CPU time of a simulated second, and a map of frequencies.

The flexible Delta of Kuo runs round its circle in 1 s, 1000 steps, 5 % damping. What is timed is
the public call, `vibrate`, after compilation: poses of all bodies, check of the step, integration.
The reduced models keep the ends of links of eight elements, and two modes of each or none; their
error is that of the tool's position against all of them, relative to the largest deviation from the
sag.
"""

from typing import NamedTuple

import numpy as np

from benchmarks.race import cpu_time
from triskele.description.load import load
from triskele.flexible.assembly import Damping
from triskele.flexible.modes import frequencies_at, sag
from triskele.flexible.response import Response, vibrate
from triskele.flexible.robot import FlexibleRobot, flexible
from triskele.kinematics.motion import Motion, circle

WHOLE = "8 elements"
_MODELS = {
    "1 element": (1, None),
    "3 elements": (3, None),
    WHOLE: (8, None),
    "8 elements, ends of each link kept": (8, 0),
    "8 elements, ends and 2 modes kept": (8, 2),
}  #: elements per link, and modes kept
_DAMPING = Damping(1.5, 1.25e-3)
_POSES = 1000
_MOST_ROUNDS = 5


class Second(NamedTuple):
    """A simulated second."""

    name: str
    unknowns: int
    seconds: float  #: CPU time
    compilation: float  #: CPU time [s] of a first call beyond a later one
    error: float | None  #: against all unknowns of as many elements


class Map(NamedTuple):
    """Frequencies at many poses."""

    poses: int
    seconds: float  #: CPU time


def seconds(*, rounds: int) -> tuple[Second, ...]:
    """One row for each model."""
    motion, robot = circle([0.0, 0.0, -0.5], 0.1, period=1.0), load("flexible_delta")
    rows, found = [], {}
    for name, (elements, kept) in _MODELS.items():
        model = flexible(robot, elements=elements, kept_modes=kept)
        first = cpu_time(lambda: _run(model, motion))  # noqa: B023
        taken = [cpu_time(lambda: _run(model, motion)) for _ in range(min(rounds, _MOST_ROUNDS))]  # noqa: B023
        found[name] = _run(model, motion)
        later = float(np.median(taken))
        error = None if kept is None else _error(found[WHOLE], found[name])
        rows.append(Second(name, model.unknowns, later, max(first - later, 0.0), error))
    return tuple(rows)


def frequency_map(*, rounds: int) -> Map:
    """The eight lowest frequencies at random poses of the workspace, one element per link."""
    model = flexible(load("flexible_delta"))
    random = np.random.default_rng(0)
    x = random.uniform(-0.1, 0.1, (_POSES, 3)) + np.array([0.0, 0.0, -0.6])
    frequencies_at(model, x)
    taken = [cpu_time(lambda: frequencies_at(model, x)) for _ in range(min(rounds, _MOST_ROUNDS))]
    return Map(_POSES, float(np.median(taken)))


def _run(model: FlexibleRobot, motion: Motion) -> Response:
    return vibrate(model, motion, damping=_DAMPING)


def _error(full: Response, reduced: Response) -> float:
    x = tuple(np.asarray(full.motion.x)[0])
    swing = full.position - np.asarray(sag(full.robot, x).position)[None, :]
    gap = np.linalg.norm(full.position - reduced.position, axis=1).max()
    return float(gap / np.linalg.norm(swing, axis=1).max())
