"""How long the testbed is busy with finding things again: identities, keys, and the cache itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import wraps
from typing import Literal, ParamSpec, TypeVar

Part = Literal["identity", "keys", "cache"]
P = ParamSpec("P")
T = TypeVar("T")

_spent: dict[str, float] = {"identity": 0.0, "keys": 0.0, "cache": 0.0}
_open = threading.local()


def timed(part: Part) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Add a function's time to a part; while another such function runs inside, the time is that one's."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def measured(*arguments: P.args, **named: P.kwargs) -> T:
            outer, started = getattr(_open, "inside", 0.0), time.perf_counter()
            _open.inside = 0.0
            try:
                return function(*arguments, **named)
            finally:
                took = time.perf_counter() - started
                _spent[part] += took - _open.inside
                _open.inside = outer + took

        return measured

    return decorate


def spent() -> dict[str, float]:
    """Return the seconds spent on each part since the process started, as `farm run --timing` tells them.

    Examples
    --------
    >>> @timed("keys")
    ... def key() -> str:
    ...     return "a key"
    >>> before = spent()["keys_s"]
    >>> key(), spent()["keys_s"] > before
    ('a key', True)
    """
    return {f"{part}_s": seconds for part, seconds in _spent.items()}
