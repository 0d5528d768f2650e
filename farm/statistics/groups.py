"""Which monitors, or levels of a factor, belong together because no test tells any two of them apart."""

from __future__ import annotations

import string
from itertools import chain

from farm.api.arrays import BoolArray


def groups_of(apart: BoolArray) -> tuple[tuple[int, ...], ...]:
    """Return the largest groups in which no two are apart, by their numbers, in order.

    A number can be in several: 0 is not told from 1, nor 1 from 2, and yet 0 is from 2. One that is told from
    all others is a group of its own.

    Parameters
    ----------
    apart
        Symmetric: whether i and j are told apart.

    Examples
    --------
    >>> import numpy as np
    >>> groups_of(np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=bool))
    ((0, 1), (1, 2))
    """
    near = [{j for j in range(len(apart)) if j != i and not apart[i, j]} for i in range(len(apart))]
    found: list[tuple[int, ...]] = []

    # Bron and Kerbosch's search for maximal cliques; the pivot keeps thirty like monitors from taking ages.
    def extend(group: set[int], candidates: set[int], seen: set[int]) -> None:
        if not candidates and not seen:
            found.append(tuple(sorted(group)))
            return
        pivot = max(sorted(candidates | seen), key=lambda i: len(candidates & near[i]))
        for i in sorted(candidates - near[pivot]):
            extend(group | {i}, candidates & near[i], seen & near[i])
            candidates = candidates - {i}
            seen = seen | {i}

    extend(set(), set(range(len(apart))), set())
    return tuple(sorted(found))


def letters(apart: BoolArray) -> tuple[str, ...]:
    """Return the letters of each one's groups, `a` beginning at the first.

    Two share a letter exactly when they are not apart. After 52 Latin letters come those of other scripts.

    Examples
    --------
    >>> import numpy as np
    >>> letters(np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=bool))
    ('a', 'ab', 'b')
    """
    alphabet = chain(string.ascii_letters, filter(str.isalpha, map(chr, range(0x3B1, 0x10000))))
    found = [""] * len(apart)
    for letter, group in zip(alphabet, groups_of(apart), strict=False):
        for i in group:
            found[i] += letter
    return tuple(found)
