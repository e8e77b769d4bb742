"""Position, velocity and workspace of mechanisms; paths and motions."""
