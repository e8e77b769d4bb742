"""Tests run with JAX at its strictest: no silent broadcast, no mixed precision.

Most of their time would go into compiling code that runs once: XLA is told to hurry.
"""

import os

os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=0"

import jax

import triskele.numerics  # noqa: F401  switches to double precision

jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")
