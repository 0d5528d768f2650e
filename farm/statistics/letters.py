"""Letters that group what does not differ: two levels share one exactly when no test tells them apart."""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator, Sequence

from farm.errors import ParameterError


def letters(names: Sequence[str], apart: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Give each name the letters of its groups, `a` beginning at the first name.

    Inserts and absorbs, after Piepho: at first one letter is everybody's. Each pair that differs splits every
    letter that both have into two, one without the first and one without the second; a letter whose
    names all share another one says nothing new and is dropped.

    Parameters
    ----------
    names
        In the order wanted, such as greatest mean first.
    apart
        The pairs that differ.

    References
    ----------
    H.-P. Piepho, "An algorithm for a letter-based representation of all-pairwise comparisons", Journal of
    Computational and Graphical Statistics 13 (2004).

    Examples
    --------
    >>> letters(["odin", "oob", "random"], [("odin", "random")])
    {'odin': 'a', 'oob': 'ab', 'random': 'b'}
    """
    place = {name: i for i, name in enumerate(names)}
    if len(place) < len(names):
        raise ParameterError(f"letters: names = {list(names)}; expected each once")
    groups = {frozenset(place.values())}
    for first, second in apart:
        if first not in place or second not in place or first == second:
            raise ParameterError(f"letters: '{first}' and '{second}' differ; expected two of {list(names)}")
        i, j = place[first], place[second]
        split = {group for group in groups if i in group and j in group}
        parts = {group - {i} for group in split} | {group - {j} for group in split}
        groups = _absorbed(groups - split | parts)
    found = dict.fromkeys(names, "")
    for letter, group in zip(_alphabet(), sorted(groups, key=sorted), strict=False):
        for i in sorted(group):
            found[names[i]] += letter
    return found


def _absorbed(groups: set[frozenset[int]]) -> set[frozenset[int]]:
    """Leave out each group that lies within another."""
    return {group for group in groups if not any(group < other for other in groups)}


def _alphabet() -> Iterator[str]:
    """Give letters, each once: Latin ones, and for whoever needs more than 52 those of other scripts."""
    yield from string.ascii_letters
    yield from (chr(code) for code in range(0x3B1, 0x10000) if chr(code).isalpha())
