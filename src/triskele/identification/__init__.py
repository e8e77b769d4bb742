"""Parameters of a robot from its own logs: what can be known, how well, and whether to trust it."""
