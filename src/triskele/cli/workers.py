"""Studies in processes of their own, side by side: what `reproduce` waits for.

Each study has a process and a pipe, through which it sends its progress and, last, itself. What
raises in a study becomes a finding that it failed, and so does a process that ends without a word.
Processes ignore Ctrl-C: whoever started them ends them, and if he is killed they end themselves.
"""

import math
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, NamedTuple

from triskele.errors import TriskeleError

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

    from triskele.studies.catalogue import Entry
    from triskele.studies.study import Finding, Study

QUICK_XLA = "--xla_cpu_use_fusion_emitters=false"  #: what all commands set, in `app`
_HASTY_XLA = f"{QUICK_XLA} --xla_backend_optimization_level=0"
Report = Callable[[str, float], None]  #: name of a study, and the part of it that is done
Done = Callable[["Study"], None]


def run_studies(
    entries: "Mapping[str, Entry]", jobs: int, report: Report, done: Done
) -> "list[Study]":
    """All of them, in their order; at most `jobs` at a time, in this process if that is one."""
    if jobs > 1 and len(entries) > 1:
        found = _side_by_side(entries, jobs, report, done)
        return [found[name] for name in entries]
    if all(entry.hasty for entry in entries.values()):  # it is one setting for the process
        _compile_hastily()
    studies = []
    for name, entry in entries.items():
        report(name, 0.0)
        studies.append(studied(name, entry.module, lambda part, name=name: report(name, part)))
        report(name, 1.0)
        done(studies[-1])
    return studies


def _compile_hastily() -> None:
    """Leave optimisation out, where the user has no settings of his own.

    Most studies run their code once: to optimise it takes longer than to run it.
    """
    if os.environ.get("XLA_FLAGS") == QUICK_XLA:
        os.environ["XLA_FLAGS"] = _HASTY_XLA


def studied(name: str, module: str, report: Callable[[float], None]) -> "Study":
    """The study of that module, timed; one that says why if it cannot be computed."""
    start = time.monotonic()
    try:
        study = import_module(module).run(report)
        study = study._replace(findings=tuple(map(_checked, study.findings)))
    except Exception as error:  # our mistakes too: others are still to be reported
        study = _failed(name, _reason(error))
    return study._replace(seconds=time.monotonic() - start)


def _checked(finding: "Finding") -> "Finding":
    """A value that is no number is a failure."""
    if finding.ours is None or math.isfinite(finding.ours):
        return finding
    return finding._replace(
        ours=None, verdict="failed", reason=f"the value is {finding.ours}, not a finite number"
    )


def _failed(name: str, reason: str) -> "Study":
    from triskele.studies.study import UNCHECKED, Finding, Study

    finding = Finding(name, "the whole study", "", None, None, "failed", UNCHECKED, reason)
    return Study(name, (finding,), {}, {}, ())


def _reason(error: Exception) -> str:
    """Why, in one sentence without its full stop; of our own mistakes also where."""
    text = " ".join(str(error).split()).rstrip(".")
    if isinstance(error, TriskeleError):
        return text
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{os.path.basename(place.filename)}, line {place.lineno}"
    return f"{type(error).__name__} in {where}{': ' if text else ''}{text}"


# Processes


class _Worker(NamedTuple):
    """A study under way."""

    name: str
    process: "SpawnProcess"


def _side_by_side(
    entries: "Mapping[str, Entry]", jobs: int, report: Report, done: Done
) -> "dict[str, Study]":
    """Studies by name; the longest begin."""
    waiting = sorted(entries, key=lambda name: -entries[name].takes)
    running: dict[Connection, _Worker] = {}
    found: dict[str, Study] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                name = waiting.pop(0)
                pipe, worker = _started(name, entries[name])
                running[pipe] = worker
                report(name, 0.0)
            for pipe in wait(list(running)):
                assert isinstance(pipe, Connection), "these are what was waited for"
                worker = running[pipe]
                part, study = _said(pipe, worker)
                report(worker.name, part)
                if study is not None:
                    found[worker.name] = study
                    del running[pipe]
                    _end([worker])
                    done(study)
    finally:
        _end(running.values())
    return found


def _started(name: str, entry: "Entry") -> tuple[Connection, _Worker]:
    context = get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(name, entry, theirs), daemon=True)
    held = signal.signal(signal.SIGINT, signal.SIG_IGN)  # which the process takes over
    try:
        process.start()
    finally:
        signal.signal(signal.SIGINT, held)
    theirs.close()  # so that the pipe ends when the process does
    return ours, _Worker(name, process)


def _work(name: str, entry: "Entry", pipe: Connection) -> None:
    """What a process does."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # a GPU is shared
    if entry.hasty:
        _compile_hastily()
    study = studied(name, entry.module, lambda part: pipe.send((float(part), None)))
    pipe.send((1.0, study))


def _end_with_parent() -> None:
    """End this process when whoever started it is no more, killed perhaps: nobody waits for it."""
    parent = parent_process()
    assert parent is not None, "this is a process that another one started"
    parent.join()
    os._exit(1)


def _said(pipe: Connection, worker: _Worker) -> "tuple[float, Study | None]":
    """How much of a study is done, and the study if that is all of it."""
    try:
        return pipe.recv()
    except (EOFError, OSError):
        worker.process.join()
        why = f"its process ended with code {worker.process.exitcode} and without a result"
        return 1.0, _failed(worker.name, why)


def _end(workers: "Iterable[_Worker]") -> None:
    for worker in workers:
        worker.process.terminate()
        worker.process.join()
