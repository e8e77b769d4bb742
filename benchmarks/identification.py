"""The physically consistent fit of the IRB 360: 29 unknowns, 12 000 rows, after compilation."""

from typing import NamedTuple

import numpy as np

from benchmarks.race import cpu_time
from triskele.identification.consistent import consistent_fit
from triskele.studies import irb360_identification as study


class Identification(NamedTuple):
    """CPU time."""

    fit: float  #: [s]
    unknowns: int
    rows: int


def identification(*, rounds: int) -> Identification:
    """The median of `rounds`."""
    on = study.bench("determinant")
    tau = on.tau + np.random.default_rng(0).normal(size=on.tau.shape) * study.NOISE
    laps = [cpu_time(lambda: consistent_fit(on.fitted, tau, on.wanted)) for _ in range(rounds)]
    return Identification(float(np.median(laps)), len(on.wanted.start), tau.size)
