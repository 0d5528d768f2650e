"""Who is at work: told to somebody outside, who may have to end a process that never comes back."""

from __future__ import annotations

from typing import Protocol


class Watch(Protocol):
    """Is told before and after each call of a monitor, outside of what is timed."""

    def begin(self, monitor: str, doing: str) -> None:
        """Say that a monitor begins to do something."""
        ...

    def end(self) -> None:
        """Say that it came back."""
        ...


class NoWatch:
    """Nobody listens: the default wherever a `Watch` is taken."""

    def begin(self, monitor: str, doing: str) -> None:
        """Say nothing."""

    def end(self) -> None:
        """Say nothing."""
