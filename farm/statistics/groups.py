"""Which monitors belong together, because no test tells any two of them apart."""

from __future__ import annotations

from collections.abc import Sequence

from farm.api.arrays import BoolArray


def groups_of(names: Sequence[str], apart: BoolArray) -> tuple[tuple[str, ...], ...]:
    """Give the largest groups in which no two are apart, in the order of `names`.

    A name can be in several: a is not told from b, nor b from c, and yet a is from c. One that is told
    from all others is a group of its own.

    Parameters
    ----------
    names
        In the order wanted, such as best first.
    apart
        Symmetric: whether i and j are told apart.

    Examples
    --------
    >>> import numpy as np
    >>> groups_of(["a", "b", "c"], np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=bool))
    (('a', 'b'), ('b', 'c'))
    """
    near = [{j for j in range(len(names)) if j != i and not apart[i, j]} for i in range(len(names))]
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

    extend(set(), set(range(len(names))), set())
    return tuple(tuple(names[i] for i in group) for group in sorted(found))
