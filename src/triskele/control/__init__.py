"""Closed loops: actuators, cascade control, tracking of motions, bandwidth, stability."""
