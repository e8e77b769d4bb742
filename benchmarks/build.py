"""C and C++ of this folder, compiled now and called through ctypes."""

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_HERE = Path(__file__).parent
NATIVE = ("-march=native", "-shared", "-fPIC")


def shared_library(source: str, flags: Sequence[str], *, compiler: str = "cc") -> ctypes.CDLL:
    """`source` of this folder as a library; OSError where no compiler makes one of it.

    It lives in a temporary folder that is gone when this returns: loaded, it needs no file.
    """
    program = shutil.which(compiler)
    if program is None:
        raise OSError(f"there is no compiler ({compiler}) here")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "library.so"
        place = [str(_HERE / source), "-o", str(library)]
        command = [program, *NATIVE, *place, *flags, "-lm"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if "error" in line]
            raise OSError(f"{compiler} does not compile {source}: {' '.join(errors[:1])[:200]}")
        return ctypes.CDLL(str(library))


def address(array: NDArray[np.float64]) -> ctypes.c_void_p:
    """Where the numbers of an array begin; it must live as long as this is used."""
    if array.dtype != np.float64 or not array.flags.c_contiguous:
        raise TypeError("C loops need contiguous arrays of double precision.")
    return ctypes.c_void_p(array.ctypes.data)
