"""Commands of `triskele`, each a process of its own, in units of `python -c "import jax"`.

Cold is the first run with an empty cache: laws are traced and compiled, and kept. Warm is the next
one, which finds them. Times are those on the wall, as who types a command sees them; import and
commands run in turn, round after round, and each is compared with the import of its round. The
processes may use all cores, also where this one is pinned to one.
"""

import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

IMPORT = (sys.executable, "-c", "import jax")
PAGE = "PAGE"  #: in a command: a file that it writes
_IRB = "abb_irb360_6_1600"
_MOST_ROUNDS = 3


class Command(NamedTuple):
    """A command, and what it may take in units of the import."""

    title: str
    words: str  #: after `triskele`
    cold: float
    warm: float


COMMANDS = (
    Command(
        "torques",
        f"torques {_IRB} --length 0.6 --height 0.15 --duration 1.2 --payload plate",
        cold=5.0,
        warm=3.0,
    ),
    Command("plan", f"plan {_IRB} --payload plate --cells 40", cold=10.0, warm=5.0),
    Command("simulate", f"simulate {_IRB} --duration 0.3", cold=6.0, warm=4.0),
    Command("ik", f"ik {_IRB} 0.2 -0.3 -1.0 0.5", cold=3.5, warm=3.5),
    Command("fk", f"fk {_IRB} 0.1 0.5 0.3 0.2", cold=3.5, warm=3.5),
    Command("show", f"show {_IRB}", cold=3.5, warm=3.5),
    Command("show --html", f"show {_IRB} --html {PAGE}", cold=40.0, warm=40.0),
)


class Taken(NamedTuple):
    """What a command took, wall time, medians over rounds."""

    command: Command
    cold: float  #: in units of the import
    warm: float
    cold_seconds: float
    warm_seconds: float


def commands(*, rounds: int) -> tuple[Taken, ...]:
    """All commands in turn; OSError where one of them fails."""
    triskele = shutil.which("triskele", path=str(Path(sys.executable).parent))
    if triskele is None:
        raise OSError("there is no command triskele beside this Python")
    _seconds(IMPORT, {})  # files are read from the disk once
    times: dict[str, list[tuple[float, float, float]]] = {c.title: [] for c in COMMANDS}
    for _ in range(min(rounds, _MOST_ROUNDS)):
        for command in COMMANDS:
            unit = _seconds(IMPORT, {})
            with tempfile.TemporaryDirectory() as folder:
                page = str(Path(folder) / "page.html")
                words = [page if word == PAGE else word for word in shlex.split(command.words)]
                cache = {"XDG_CACHE_HOME": str(Path(folder) / "cache")}
                cold, warm = (_seconds([triskele, *words], cache) for _ in range(2))
            times[command.title].append((unit, cold, warm))
    return tuple(_taken(command, times[command.title]) for command in COMMANDS)


def _taken(command: Command, times: Sequence[tuple[float, float, float]]) -> Taken:
    median = statistics.median
    return Taken(
        command,
        median(cold / unit for unit, cold, _ in times),
        median(warm / unit for unit, _, warm in times),
        median(cold for _, cold, _ in times),
        median(warm for _, _, warm in times),
    )


def _seconds(words: Sequence[str], variables: dict[str, str]) -> float:
    """Wall time of a process [s]."""
    with _all_cores():
        start = time.perf_counter()
        done = subprocess.run(
            words,
            env={**os.environ, **variables},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        taken = time.perf_counter() - start
    if done.returncode:
        raise OSError(f"{' '.join(words)} fails: {done.stderr.strip()[-200:]}")
    return taken


@contextmanager
def _all_cores() -> Iterator[None]:
    """All cores for this thread, and with it for the processes that it starts."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    pinned = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        yield
    finally:
        os.sched_setaffinity(0, pinned)
