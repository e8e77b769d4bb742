"""Robots as plain data: the format of their files, units and sources, tables. No JAX."""
