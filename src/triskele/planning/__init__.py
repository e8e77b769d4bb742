"""The fastest motion along a path that a robot's joints survive, and why it is not faster."""
