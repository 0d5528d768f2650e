"""What the runs of one process share: a memory of what is dear to make, and who is told what is at work."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

T = TypeVar("T")


class Recent:
    """Keeps the things that were asked for last, found by a key that says all that made them.

    Examples
    --------
    >>> kept = Recent(size=1)
    >>> kept.get("a", lambda: 1), kept.get("a", lambda: 2), kept.get("b", lambda: 3), kept.get("a", lambda: 4)
    (1, 1, 3, 4)
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._things: OrderedDict[str, Any] = OrderedDict()

    def get(self, made_of: object, make: Callable[[], T]) -> T:
        """Return what is kept under this key, or make it; the one asked for longest ago goes.

        What is made of something that cannot be written down as JSON is made each time.
        """
        try:
            key = json.dumps(made_of, sort_keys=True)
        except (TypeError, ValueError):
            return make()
        if key not in self._things:
            self._things[key] = make()
        self._things.move_to_end(key)
        found = cast(T, self._things[key])
        while len(self._things) > self._size:
            self._things.popitem(last=False)
        return found


class CallObserver(Protocol):
    """Is told before and after each call of a monitor, outside of what is timed."""

    def begin(self, monitor: str, doing: str) -> None:
        """Say that a monitor begins to do something."""
        ...

    def end(self) -> None:
        """Say that it came back."""
        ...


class NoObserver:
    """Nobody listens: the default wherever a `CallObserver` is taken."""

    def begin(self, monitor: str, doing: str) -> None:
        """Say nothing."""

    def end(self) -> None:
        """Say nothing."""
