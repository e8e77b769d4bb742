"""How times are taken: CPU time, one core, candidates in turn, ratios within a round.

A shared machine stretches wall time by what others do; CPU time of the process, all threads
together, is not stretched. What remains (clock rate, caches) drifts slowly, so candidates
run in turn, round after round, and each is compared with the reference of its own round:

    ratio = median over rounds of t / t_reference                                      (1)

Trust ratios to 10 %, or 30 % where results are new memory (a million poses); nanoseconds less.
"""

import gc
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple


class Lap(NamedTuple):
    """What one candidate took."""

    seconds: float  #: CPU time of one call, median over rounds
    ratio: float  #: to the reference, equation (1)
    rounds: tuple[float, ...]  #: CPU time of one call in each round [s]

    def times(self, other: "Lap") -> float:
        """How many times as long as `other` it took, equation (1)."""
        return _ratio(self.rounds, other.rounds)


def pin() -> int | None:
    """Keep this thread, and those it starts later, on one core; its number, or None.

    To be called before JAX is imported: its threads inherit the core.
    """
    if not hasattr(os, "sched_setaffinity"):
        return None
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return core


def cpu_time(call: Callable[[], object], calls: int = 1) -> float:
    """CPU time of one of `calls` calls [s], all threads; they must wait for their result.

    As in `timeit`, garbage of others, such as that of compilation, is not collected meanwhile.
    """
    gc.disable()
    try:
        start = time.process_time()
        for _ in range(calls):
            call()
        return (time.process_time() - start) / calls
    finally:
        gc.enable()


def race(
    candidates: Mapping[str, Callable[[], object]],
    reference: str,
    *,
    rounds: int = 11,
    shortest: float = 0.02,
) -> dict[str, Lap]:
    """Time the candidates in turn; each repeats its call for `shortest` seconds per round."""
    calls = {}
    for name, call in candidates.items():
        call()  # a first call is slower: memory is new to it
        calls[name] = max(1, round(shortest / max(cpu_time(call), 1e-6)))
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, call in candidates.items():
            times[name].append(cpu_time(call, calls[name]))
    return {
        name: Lap(statistics.median(taken), _ratio(taken, times[reference]), tuple(taken))
        for name, taken in times.items()
    }


def _ratio(taken: Sequence[float], reference: Sequence[float]) -> float:
    return statistics.median(t / t_ref for t, t_ref in zip(taken, reference, strict=True))
