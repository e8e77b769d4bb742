"""Programs kept on disk between runs: what was traced, and what was compiled for this processor.

Nothing is kept unless `keep_in` names a folder, as the command line does. A law is kept under its
name, the kind of robot it was traced for, the sources of this package and the versions of
what it stands on; the numbers of the robot are inputs, so that all robots of a kind share it.
Machine code is kept under the processor as well.

Files are written whole, so that any number of processes may share a folder, and carry a
checksum. A folder that cannot be written costs time, not the answer.
"""

import hashlib
import os
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

_ABANDONED = 3600.0  #: seconds after which an unfinished file has no writer any more
LARGEST = 256 << 20  #: bytes in the folder; what was not used for longest goes first
_MAGIC = b"triskele program 1\n"


class _Kept:
    folder: Path | None = None


def keep_in(folder: str | os.PathLike | None) -> None:
    """Keep programs in `folder`, which is made; None: keep nothing."""
    _Kept.folder = None if folder is None else Path(folder)


def read(name: str) -> bytes | None:
    """What was kept under `name`; None if nothing was, or if it is damaged."""
    if _Kept.folder is None:
        return None
    path = _Kept.folder / name
    try:
        data = path.read_bytes()
    except OSError:
        return None
    with suppress(OSError):  # when it was used last decides what goes first
        os.utime(path)
    head = len(_MAGIC) + 32
    whole = (
        data.startswith(_MAGIC) and hashlib.sha256(data[head:]).digest() == data[head - 32 : head]
    )
    return data[head:] if whole else None


def write(name: str, data: bytes) -> None:
    """Keep `data` under `name`, if there is a folder that can be written."""
    if _Kept.folder is None:
        return
    unfinished = None
    try:
        _Kept.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, unfinished = tempfile.mkstemp(dir=_Kept.folder, suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(_MAGIC + hashlib.sha256(data).digest() + data)
        Path(unfinished).replace(_Kept.folder / name)
        _make_room(_Kept.folder)
    except OSError:
        if unfinished is not None:
            Path(unfinished).unlink(missing_ok=True)


def _make_room(folder: Path) -> None:
    """Delete what was not used for longest, down to half of `LARGEST`, if there is more."""
    found = []
    for entry in os.scandir(folder):
        try:
            facts = entry.stat()
        except OSError:  # another process has deleted it
            continue
        if entry.name.endswith(".part") and facts.st_mtime < time.time() - _ABANDONED:
            Path(entry.path).unlink(missing_ok=True)  # its writer was killed
            continue
        found.append((facts.st_mtime, facts.st_size, entry.path))
    total = sum(size for _, size, _ in found)
    if total <= LARGEST:
        return
    for _, size, path in sorted(found):
        Path(path).unlink(missing_ok=True)
        total -= size
        if total <= LARGEST // 2:
            return


def name_of(*parts: str) -> str:
    """A file name for these texts, the sources here, and the versions of JAX and NumPy."""
    return hashlib.sha256("\0".join([_sources(), *parts]).encode()).hexdigest()


@cache
def _sources() -> str:
    """A digest of all that can change what a law is traced to."""
    import jax
    import numpy

    package = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256(f"{jax.__version__} {numpy.__version__}".encode())
    for path in sorted(package.rglob("*.py")):
        digest.update(str(path.relative_to(package)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
