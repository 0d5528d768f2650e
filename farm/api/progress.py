"""How long work tells how far it is, without knowing who looks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

T = TypeVar("T")


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
