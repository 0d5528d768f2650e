"""What is dear to make and needed again soon, kept in memory: the latest few."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar, cast

T = TypeVar("T")


class Kept:
    """Keeps the things that were asked for last, found by a key that says all that made them.

    Examples
    --------
    >>> kept = Kept(size=1)
    >>> kept.get("a", lambda: 1), kept.get("a", lambda: 2), kept.get("b", lambda: 3), kept.get("a", lambda: 4)
    (1, 1, 3, 4)
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._things: OrderedDict[str, Any] = OrderedDict()

    def get(self, key: str, make: Callable[[], T]) -> T:
        """Give what is kept under this key, or make it; the one asked for longest ago goes."""
        if key not in self._things:
            self._things[key] = make()
        self._things.move_to_end(key)
        found = cast(T, self._things[key])
        while len(self._things) > self._size:
            self._things.popitem(last=False)
        return found
