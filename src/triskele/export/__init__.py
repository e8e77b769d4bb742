"""Files for others: motions as tables."""

from triskele.export.motions import read_motion, write_motion

__all__ = ["read_motion", "write_motion"]
