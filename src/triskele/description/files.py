"""Files are written whole or not at all, and errors about them are one sentence."""

import os
import tempfile
from pathlib import Path

from triskele.errors import InputError


def write_whole(path: str | Path, content: str | bytes) -> Path:
    """Write `content` to `path` in one step; an interrupted run leaves nothing behind."""
    target = Path(path)
    data = content.encode() if isinstance(content, str) else content
    check_writable(target)
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return target


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
