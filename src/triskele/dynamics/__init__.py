"""Rigid dynamics in reduced coordinates: efforts, accelerations and loads in every joint."""
