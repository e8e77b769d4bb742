"""Tests run with JAX at its strictest: no silent broadcast, no mixed precision.

Most of their time would go into compiling code that runs once: XLA is told to hurry, and all
processes share what one of them has compiled. Two threads for a matrix of 50 rows wait for each
other longer than one of them computes.
"""

import gc
import os
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


@pytest.fixture(autouse=True, scope="module")
def few_mappings() -> Iterator[None]:
    """Forget compiled code before a process has more of it than the system maps: it would crash."""
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") > MOST_MAPPINGS:
        jax.clear_caches()
        gc.collect()
