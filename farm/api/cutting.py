"""Cutting a share off data by groups, so that what belongs together stays together."""

from __future__ import annotations

import numpy as np

from farm.api.arrays import IntArray, StrArray


def cut_by_group(
    labels: IntArray, groups: StrArray, share: float, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Move a share of each class's groups to a second part; a class with one group keeps it.

    Examples
    --------
    >>> groups = np.array(["a", "a", "b", "b", "c", "c"])
    >>> first, second = cut_by_group(np.zeros(6, np.int64), groups, 0.3, np.random.default_rng(0))
    >>> len(first), len(second), set(groups[first]) & set(groups[second])
    (4, 2, set())
    """
    moved: list[str] = []
    for label in np.unique(labels):
        own = rng.permutation(np.unique(groups[labels == label]))
        moved += own[: min(max(round(share * len(own)), 1), len(own) - 1)].tolist()
    to_second = np.isin(groups, moved)
    return np.flatnonzero(~to_second), np.flatnonzero(to_second)
