"""What a component gets from its surroundings, and nothing more."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from farm.api.arrays import JSON, State
from farm.api.component import Component
from farm.api.files import check_regular
from farm.errors import DataError

MOST_THREADS = 1024
"""More are a slip of the pen."""
T = TypeVar("T")


class Cache(Protocol):
    """Keeps arrays that are dear to make, found again by the content of all that made them."""

    def arrays(self, kind: str, key: Mapping[str, JSON], make: Callable[[], State]) -> State:
        """Return the arrays for this key, making them only where they are not kept yet."""
        ...

    def mapped(
        self,
        kind: str,
        key: Mapping[str, JSON],
        shape: Sequence[int],
        dtype: str,
        blocks: Callable[[], Iterable[NDArray[Any]]],
    ) -> NDArray[Any]:
        """Return one large array for this key, read-only and on disk where that is possible.

        `blocks` makes it where it is not kept yet: runs of its rows, in order. It may be called again.
        """
        ...

    def for_model(self, model: Component) -> Cache:
        """Return the cache as another model has it, which this component makes a part of its own by."""
        ...


class NoCache:
    """Keeps nothing: the default wherever a `Cache` is taken."""

    def arrays(self, kind: str, key: Mapping[str, JSON], make: Callable[[], State]) -> State:  # noqa: ARG002
        """Make the arrays anew."""
        return make()

    def mapped(
        self,
        kind: str,  # noqa: ARG002
        key: Mapping[str, JSON],  # noqa: ARG002
        shape: Sequence[int],
        dtype: str,
        blocks: Callable[[], Iterable[NDArray[Any]]],
    ) -> NDArray[Any]:
        """Make the array in memory."""
        made = np.empty(shape, dtype=dtype)
        at = 0
        for block in blocks():
            made[at : at + len(block)] = block
            at += len(block)
        made.flags.writeable = False
        return made

    def for_model(self, model: Component) -> NoCache:  # noqa: ARG002
        """Return itself."""
        return self


class Progress(Protocol):
    """Shows the advance of a loop."""

    def track(self, items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
        """Yield the items, showing how many are done."""
        ...

    def note(self, message: str) -> None:
        """Say one line that stays."""
        ...


class Silent:
    """Shows nothing: the default wherever a `Progress` is taken."""

    def track(self, items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:  # noqa: ARG002
        """Yield the items."""
        yield from items

    def note(self, message: str) -> None:
        """Say nothing."""


@dataclass(frozen=True)
class Context:
    """The experiment's seed and folder, the machine's share, and where to keep and to report things."""

    seed: int = 0
    threads: int = 1
    folder: Path = Path()
    cache: Cache = field(default_factory=NoCache)
    progress: Progress = field(default_factory=Silent)
    untrained: bool = False
    """Whether this is a dry run, in which nothing is trained: models are asked for `untrained`."""

    def find(self, path: str, what: str) -> Path:
        """Find a file that an experiment names.

        A relative path is looked for beside the experiment's file, then in the current folder, then in
        the folder that the environment variable FARM_DATA names.
        """
        places = [self.folder, Path()]
        if data := os.environ.get("FARM_DATA"):
            places.append(Path(data))
        for place in places:
            found = place / path  # an absolute path stays what it is
            if os.path.exists(found):  # noqa: PTH110 - a name too long for a file is not there
                _check_kind(found, what)
                return found
        looked = ", ".join(dict.fromkeys(str(place.resolve()) for place in places))
        where = "" if Path(path).is_absolute() else f" in {looked}"
        raise DataError(f"{what}: '{path}' is not there{where}; expected a file or folder")


def _check_kind(path: Path, what: str) -> None:
    try:
        check_regular(path)
    except OSError as error:
        raise DataError(f"{what}: {path} is {error.strerror}; expected a file or folder") from None
