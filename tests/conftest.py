"""Tests run with JAX at its strictest: no silent broadcast, no mixed precision."""

import jax

import triskele.numerics  # noqa: F401  switches to double precision

jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")
