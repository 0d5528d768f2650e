"""What several monitors make of one observation, made once."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from numpy.typing import NDArray

T = TypeVar("T")
A = TypeVar("A", bound=NDArray[Any])


class Once:
    """Calls each function once with the very array that it is given.

    Whoever takes what another has made is told how long that took (`nanoseconds` grows by it), so that the
    times of monitors are those of each alone, in whatever order and company they are run.

    Examples
    --------
    >>> import numpy as np
    >>> once, array = Once(), np.arange(3.0)
    >>> squares = once(np.square, array)
    >>> once(np.square, array) is squares, once(np.square, array[:]) is squares
    (True, False)
    """

    __slots__ = ("_made", "nanoseconds")

    def __init__(self) -> None:
        self._made: dict[tuple[Any, int], tuple[Any, int, Any]] = {}
        self.nanoseconds = 0

    def put(self, make: Callable[[A], T], array: A, made: T) -> None:
        """Keep what a function would give, which was made beside and costs nobody anything."""
        self._made[make, id(array)] = made, 0, array

    def __call__(self, make: Callable[[A], T], array: A) -> T:
        """Return what a function makes of an array; nobody may write to it."""
        found = self._made.get((make, id(array)))
        # The array itself is kept beside, since another one could come to have its number.
        if found is not None and found[2] is array:
            self.nanoseconds += found[1]
            return found[0]  # type: ignore[no-any-return]
        start = time.perf_counter_ns() + self.nanoseconds
        made = make(array)
        took = time.perf_counter_ns() + self.nanoseconds - start  # with what others had made for it
        self._made[make, id(array)] = made, took, array
        return made
