"""One simulated second of the compliant 3PRS under its control, and a thousand gain sets at once.

What is timed is `track_plant` and `stability_map` after compilation; the error of the step,
measured with half of it, is reported beside the time.
"""

from typing import NamedTuple

import numpy as np

from benchmarks.race import cpu_time
from triskele.control.bandwidth import stability_map
from triskele.control.cascade import cascade
from triskele.control.plant import plant
from triskele.control.track import track_plant
from triskele.description.load import load
from triskele.kinematics.motion import sine
from triskele.numerics import stacked

_SECONDS = 4.0


class Control(NamedTuple):
    """CPU times."""

    second: float  #: of a simulated second [s]
    step_error: float  #: of its motion, in parts of its range
    gains: float  #: of a map of gain sets [s]
    sets: int  #: in the map


def control(*, rounds: int) -> Control:
    """The medians of `rounds`; of the map, one."""
    robot = load("compliant_3prs")
    model, rule = plant(robot), cascade(robot)
    motion = sine(
        stacked(model.mechanism.home()),
        [2e-3, 0.0, 0.0],
        frequency=0.5,
        duration=_SECONDS,
        coordinates=model.mechanism.platform_coordinates,
    )
    error = track_plant(model, rule, motion, measure_error=True).step_error
    assert error is not None
    times = [cpu_time(lambda: track_plant(model, rule, motion)) for _ in range(rounds)]
    position, velocity = np.geomspace(16, 1000, 32), np.geomspace(0.06, 8, 32)
    stability_map(robot, position, velocity)
    mapped = cpu_time(lambda: stability_map(robot, position, velocity))
    sets = len(position) * len(velocity)
    return Control(float(np.median(times)) / _SECONDS, error, mapped, sets)
