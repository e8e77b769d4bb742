"""The command line in process, in an empty directory of its own."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from triskele.cli import main


class Result(NamedTuple):
    """What a command returned and printed."""

    code: int
    out: str
    err: str


@pytest.fixture
def cli(capsys, monkeypatch, tmp_path):
    """A function that runs `triskele` with its arguments, in `tmp_path`."""
    monkeypatch.chdir(tmp_path)
    # With a cache of the user's own, `main` leaves the environment as it is.
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path))

    def run(*arguments: object) -> Result:
        code = main([str(argument) for argument in arguments])
        return Result(code, *capsys.readouterr())

    return run


@pytest.fixture
def files(tmp_path):
    """A function that lists what lies in `tmp_path`: names and contents."""

    def listing() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    return listing


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Processes that the test starts obey Ctrl-C, also where the tests ignore it (`nohup`, `&`)."""
    held = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, held)
