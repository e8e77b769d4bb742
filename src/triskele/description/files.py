"""Files are written whole or not at all, and errors about them are one sentence."""

import contextlib
import glob
import os
import secrets
import stat
from pathlib import Path
from typing import BinaryIO

from triskele.errors import InputError

LARGEST_TABLE = 1 << 30  #: bytes of a CSV or Parquet file


def read_bounded(path: Path, most: int) -> bytes:
    """The bytes of a file, at most `most`; an InputError for pipes, devices and larger files.

    A pipe that nobody writes to, and a device without an end, are not waited for.
    """
    check_readable(path, most)
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise _too_large(path, len(data), most)
    return data


def check_readable(path: Path, most: int) -> None:
    """Raise the sentence for what is no file, or a larger one than `most` bytes."""
    found = path.stat()
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{path}: is a pipe or a device; a file on a disk was expected.")
    if found.st_size > most:
        raise _too_large(path, found.st_size, most)


def _too_large(path: Path, size: int, most: int) -> InputError:
    return InputError(
        f"{path}: has {size / 2**20:.3g} MB or more; such a file has at most {most / 2**20:.3g} MB."
    )


def write_whole(path: str | Path, content: str | bytes) -> Path:
    """Write `content` to `path` in one step; what is there afterwards survives a power cut.

    A run that is interrupted or killed leaves the old file, and nothing beside it: where the system
    can, what is written has no name before it is whole.
    """
    target = Path(path)
    data = content.encode() if isinstance(content, str) else content
    check_writable(target)
    _sweep(target)
    unfinished = target.parent / f".{target.name}.{os.getpid()}.{secrets.token_hex(4)}"
    try:
        if not _written_without_a_name(data, unfinished):
            with unfinished.open("xb") as file:
                _flushed(file, data)
        unfinished.replace(target)
        _flush_folder(target.parent)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    return target


def _written_without_a_name(data: bytes, path: Path) -> bool:
    """Write to a file that ends with this process, then name it; False if the system cannot."""
    if not hasattr(os, "O_TMPFILE"):
        return False
    try:
        descriptor = os.open(path.parent, os.O_TMPFILE | os.O_WRONLY, 0o666 & ~_umask())
    except OSError:  # some file systems cannot
        return False
    with os.fdopen(descriptor, "wb") as file:
        _flushed(file, data)
        own = file.fileno()
        try:  # with a directory given, Python follows the link as it says
            os.link(f"/proc/self/fd/{own}", path, src_dir_fd=own, follow_symlinks=True)
        except OSError:
            return False
    return True


def _flushed(file: BinaryIO, data: bytes) -> None:
    file.write(data)
    file.flush()
    os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    """Put the new name of a file on the disk too, where folders can be opened."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _sweep(target: Path) -> None:
    """Delete what processes that are no more have left unfinished beside `target`."""
    if os.name != "posix":
        return
    for path in target.parent.glob(f".{glob.escape(target.name)}.*.*"):
        writer = path.name.removeprefix(f".{target.name}.").partition(".")[0]
        if writer.isdigit() and not _alive(int(writer)):
            with contextlib.suppress(OSError):
                path.unlink()


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        return True
    return True


def check_writable(target: Path) -> None:
    """Raise the sentence for a target that cannot be written, before the work is done."""
    if target.is_dir():
        raise InputError(f"{target}: is a directory; name a file to write.")
    if not target.parent.is_dir():
        raise InputError(f"{target}: the directory {target.parent} does not exist.")
    if not os.access(target.parent, os.W_OK):
        raise InputError(f"{target}: the directory {target.parent} cannot be written to.")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
