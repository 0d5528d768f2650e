"""What several monitors make of one observation, made once."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from numpy.typing import NDArray

T = TypeVar("T")
A = TypeVar("A", bound=NDArray[Any])


class Once:
    """Makes each thing once, by its name and the very array that it is made from.

    Whoever takes what another has made is told how long that took (`nanoseconds` grows by it), so that the
    times of monitors are those of each alone, in whatever order and company they are run.

    Examples
    --------
    >>> import numpy as np
    >>> once, array = Once(), np.arange(3.0)
    >>> squares = once("squares", array, np.square)
    >>> once("squares", array, np.square) is squares, once("squares", array[:], np.square) is squares
    (True, False)
    """

    __slots__ = ("_made", "nanoseconds")

    def __init__(self) -> None:
        self._made: dict[tuple[str, int], tuple[Any, int, Any]] = {}
        self.nanoseconds = 0

    def put(self, name: str, array: NDArray[Any], made: object) -> None:
        """Keep what was made of an array beside, and cost nobody anything."""
        self._made[name, id(array)] = made, 0, array

    def __call__(self, name: str, array: A, make: Callable[[A], T]) -> T:
        """Return what is made of an array; nobody may write to it."""
        found = self._made.get((name, id(array)))
        if found is not None:
            self.nanoseconds += found[1]
            return found[0]  # type: ignore[no-any-return]
        start = time.perf_counter_ns() + self.nanoseconds
        made = make(array)
        took = time.perf_counter_ns() + self.nanoseconds - start  # with what others had made for it
        # The array itself is kept, since another one could come to have its number.
        self._made[name, id(array)] = made, took, array
        return made
