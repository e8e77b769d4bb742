"""Lumped elasticity: mechanisms whose joints are springs."""
