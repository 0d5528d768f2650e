"""Making ahead: the same items in the same order, errors in their place, no thread left behind."""

from __future__ import annotations

import threading
import time

from farm.run.system import ahead
from tests.wording import refused


def threads() -> int:
    return sum(t.name.startswith("farm-ahead") for t in threading.enumerate())


def test_items_come_in_order_and_all():
    assert list(ahead(iter(range(100)), depth=3)) == list(range(100))
    assert threads() == 0


def test_no_more_than_the_depth_is_made_in_advance():
    made = []

    def make():
        for i in range(50):
            made.append(i)
            yield i

    items = ahead(make(), depth=2)
    next(items)
    time.sleep(0.2)
    assert len(made) <= 1 + 2 + 1  # handed out, waiting, and one in the maker's hand
    items.close()
    assert threads() == 0


def test_an_error_comes_after_the_items_before_it():
    def make():
        yield 1
        raise ValueError("broken")

    items = ahead(make())
    assert next(items) == 1
    with refused(ValueError):
        next(items)
    assert threads() == 0


def test_work_overlaps():
    begun = [threading.Event() for _ in range(4)]

    def make():
        for i, event in enumerate(begun):
            event.set()
            yield i

    for i in ahead(make()):
        # The next item is made while this one is held, not only when it is asked for.
        assert begun[min(i + 1, 3)].wait(60)
