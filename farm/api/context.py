"""What a component gets from its surroundings, and nothing more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from farm.api.arrays import JSON, State
from farm.api.progress import Progress, Silent


class Cache(Protocol):
    """Keeps arrays that are dear to make, found again by the content of all that made them."""

    def arrays(self, kind: str, key: Mapping[str, JSON], make: Callable[[], State]) -> State:
        """Give the arrays for this key, making them only where they are not kept yet."""
        ...


class NoCache:
    """Keeps nothing: the default wherever a `Cache` is taken."""

    def arrays(self, kind: str, key: Mapping[str, JSON], make: Callable[[], State]) -> State:  # noqa: ARG002
        """Make the arrays anew."""
        return make()


@dataclass(frozen=True)
class Context:
    """The experiment's seed, the machine's share, and where to keep and to report things."""

    seed: int = 0
    threads: int = 1
    cache: Cache = field(default_factory=NoCache)
    progress: Progress = field(default_factory=Silent)
