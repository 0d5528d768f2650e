"""What is wrong with many files or rows, told at once: each kind with its first few places and how many."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from farm.errors import DataError

SHOWN = 3
"""How many places of each kind are named; the others are counted."""


class Problems:
    """Gathers what is wrong, and raises all of it as one line.

    Examples
    --------
    >>> problems = Problems()
    >>> problems.add("truncated", ["a.png"])
    >>> problems.add("CMYK, expected grey or RGB", ["b.jpg", "c.jpg", "d.jpg", "e.jpg"])
    >>> problems.check("photos")
    Traceback (most recent call last):
    farm.errors.DataError: photos: 5 problems: truncated: a.png; CMYK, expected grey or RGB: b.jpg, c.jpg,
    d.jpg and 1 more
    """

    def __init__(self) -> None:
        self._found: dict[str, tuple[list[str], int]] = {}

    def __len__(self) -> int:
        return sum(n for _, n in self._found.values())

    def add(self, what: str, places: Sequence[str]) -> None:
        """Note that something is wrong in these places."""
        self.add_rows(what, range(len(places)), lambda i: places[i])

    def add_rows(self, what: str, rows: Sequence[int], name: Callable[[int], str]) -> None:
        """Note that something is wrong in these rows; only those that are shown get a name."""
        if not len(rows):
            return
        shown, n = self._found.get(what, ([], 0))
        shown += [name(int(row)) for row in rows[: SHOWN - len(shown)]]
        self._found[what] = (shown, n + len(rows))

    def check(self, where: str) -> None:
        """Raise where there were any."""
        if not self._found:
            return
        total = f"{len(self)} problems: " if len(self) > 1 else ""
        kinds = []
        for what, (shown, n) in self._found.items():
            more = f" and {n - len(shown)} more" if n > len(shown) else ""
            kinds.append(f"{what}: {', '.join(shown)}{more}")
        raise DataError(f"{where}: {total}{'; '.join(kinds)}")
