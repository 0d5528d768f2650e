"""A monitor at work: what was chosen and fitted, saved as one folder, decides on images anywhere."""

from farm.guard.guard import Decision, Guard
from farm.guard.images import AnyImage

__all__ = ["AnyImage", "Decision", "Guard"]
