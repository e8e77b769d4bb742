"""Laws that any mechanism obeys, for our robots and for yours."""

from triskele.testing.laws import check_mechanism, random_poses

__all__ = ["check_mechanism", "random_poses"]
