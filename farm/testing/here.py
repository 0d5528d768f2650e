"""Where a check runs: within a test of pytest, or anywhere else. It decides the benchmark and the folder."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from farm.testing.benchmark import Benchmark

FOLDER = "farm-failures"


def benchmark_here() -> Benchmark:
    """Give the benchmark of the test that runs; outside of any, the embedded one."""
    if (item := _item()) is not None:
        found = cast(Benchmark, item._request.getfixturevalue("farm_benchmark"))
        sys.modules["farm.testing.plugin"].check_same(item)
        return found
    from farm.testing.small_benchmark import small_benchmark

    return small_benchmark()


def new_folder() -> Path:
    """Make a folder that nothing is in yet: in the test's own temporary folder, or in the current one."""
    item = _item()
    parent = Path.cwd() if item is None else Path(item._request.getfixturevalue("tmp_path"))
    number = 1
    while True:
        try:
            (made := parent / FOLDER / str(number)).mkdir(parents=True)
        except FileExistsError:
            number += 1
        else:
            return made


class Sentence(Protocol):
    """What a test says of a monitor, so far."""

    @property
    def shorter(self) -> Sentence | None:
        """What it was before its last word."""

    @property
    def missing(self) -> str:
        """What has to follow before anything is asserted."""


S = TypeVar("S", bound=Sentence)


def began(said: S) -> S:
    """Remember what the test that runs has begun to say; give it back."""
    if (item := _item()) is not None:
        sys.modules["farm.testing.plugin"].open_sentences(item).append(said)
    return said


def answered(said: Sentence) -> None:
    """Forget what has come to its end, and all that it was before."""
    if (item := _item()) is None:
        return
    done: list[Sentence] = []
    last: Sentence | None = said
    while last is not None:
        done.append(last)
        last = last.shorter
    still_open = sys.modules["farm.testing.plugin"].open_sentences(item)
    still_open[:] = [each for each in still_open if not any(each is one for one in done)]


def unanswered(open_sentences: Sequence[Sentence]) -> str:
    """Say in a line what was begun, and what has to follow; of each beginning only as far as it got."""
    longest = [one for one in open_sentences if not any(each.shorter is one for each in open_sentences)]
    told = "; ".join(f"{one} asserts nothing as yet: expected {one.missing} to follow" for one in longest[:3])
    return told + (f"; and {len(longest) - 3} more" if len(longest) > 3 else "")


def _item() -> Any:
    """Give the test that runs now, if it is one that can have fixtures."""
    plugin = sys.modules.get("farm.testing.plugin")
    item = plugin.running() if plugin else None
    return item if hasattr(item, "_request") else None
