"""The chord sensor with the position of the tool, for three limbs: one sample, and many.

What is timed is the handle that a controller holds, `sensor_function`, after compilation.
"""

from typing import NamedTuple

import numpy as np

from benchmarks.race import cpu_time
from triskele.description.load import load
from triskele.sensing.handle import sensor_function
from triskele.sensing.rods import soft_rods

_SAMPLES = 100_000
_CALLS = 2000


class Sensing(NamedTuple):
    """CPU times."""

    one: float  #: of a single call [s]
    many: float  #: of a sample in a batch [s]
    samples: int  #: in the batch


def sensing(*, rounds: int) -> Sensing:
    """The medians of `rounds`."""
    sensor = sensor_function(soft_rods(load("omron_mini_delta_platens")))
    random = np.random.default_rng(0)
    q, qd, qdd = (scale * random.uniform(-1, 1, (_SAMPLES, 3)) for scale in (0.5, 10.0, 200.0))
    wrist = 2.1 + 0.2 * random.uniform(-1, 1, (_SAMPLES, 3))
    rows = q[0], qd[0], qdd[0], wrist[0]
    sensor(*rows)
    sensor(q, qd, qdd, wrist)
    single = [cpu_time(lambda: sensor(*rows), _CALLS) for _ in range(rounds)]
    batch = [cpu_time(lambda: sensor(q, qd, qdd, wrist)) for _ in range(rounds)]
    return Sensing(float(np.median(single)), float(np.median(batch)) / _SAMPLES, _SAMPLES)
