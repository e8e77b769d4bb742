"""Figures and data sheets."""
