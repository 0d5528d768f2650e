"""Making what comes next while somebody works on what is there."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def ahead(items: Iterable[T], depth: int = 2) -> Iterator[T]:
    """Yield items that a thread makes, at most `depth` of them in advance.

    What the maker raises is raised here, in its place. The thread ends with the iteration.

    Examples
    --------
    >>> list(ahead(range(3)))
    [0, 1, 2]
    """
    made: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(depth)
    stopped = threading.Event()

    def hand_over(item: T | None, error: BaseException | None) -> bool:
        while not stopped.is_set():
            try:
                made.put((item, error), timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def make() -> None:
        try:
            for item in items:
                if not hand_over(item, None):
                    return
            hand_over(None, StopIteration())
        except BaseException as error:  # noqa: BLE001 - it is raised where the items are used
            hand_over(None, error)

    thread = threading.Thread(target=make, name="farm-ahead", daemon=True)
    thread.start()
    try:
        while True:
            item, error = made.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item  # type: ignore[misc] # an item comes without an error
    finally:
        stopped.set()
        thread.join()
