"""Tests run with JAX at its strictest: no silent broadcast, no mixed precision.

Most of their time would go into compiling code that runs once: XLA is told to hurry, and all
processes share what one of them has compiled. Two threads for a matrix of 50 rows wait for each
other longer than one of them computes.
"""

import contextlib
import ctypes
import gc
import os
import resource
from collections.abc import Iterator
from pathlib import Path

CACHE = Path(__file__).parents[1] / ".pytest_cache" / "jax"
HURRY = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {HURRY}"
os.environ["JAX_COMPILATION_CACHE_DIR"] = str(CACHE)
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.3"
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import jax  # noqa: E402
import pytest  # noqa: E402

import triskele.numerics  # noqa: E402, F401  switches to double precision

jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")

MOST_MAPPINGS = 25_000  #: of memory in a process; Linux allows 65530, each compiled loop takes some
MOST_MEMORY = 1 << 30  #: bytes of a process, from which it forgets what XLA has compiled


@pytest.fixture(autouse=True, scope="module")
def little_compiled_code() -> Iterator[None]:
    """Forget compiled code before a process has much of it, or more than the system maps."""
    yield
    memory, maps = Path("/proc/self/statm"), Path("/proc/self/maps")
    if not maps.exists():
        return
    resident = int(memory.read_text().split()[1]) * resource.getpagesize()
    if resident > MOST_MEMORY or maps.read_bytes().count(b"\n") > MOST_MAPPINGS:
        jax.clear_caches()
        gc.collect()
        with contextlib.suppress(OSError, AttributeError):  # what is free goes back to the system
            ctypes.CDLL("libc.so.6").malloc_trim(0)
