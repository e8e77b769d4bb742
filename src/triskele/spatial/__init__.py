"""Mathematics of space: vectors and frames, inertia."""
