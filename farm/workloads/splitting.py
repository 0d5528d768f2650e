"""Which rows become which split: shares of groups, and copies that are left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from farm.api import ImageSource, IntArray, StrArray, image_digests


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


def first_of_each(parts: Sequence[ImageSource]) -> list[IntArray]:
    """Give, part by part, the rows whose image did not come before, in this part or an earlier one."""
    seen: set[bytes] = set()
    kept: list[IntArray] = []
    for images in parts:
        rows: list[int] = []
        for start in range(0, len(images), 1024):
            indices = np.arange(start, min(start + 1024, len(images)))
            for row, digest in zip(indices, image_digests(images.read(indices)), strict=True):
                if digest not in seen:
                    seen.add(digest)
                    rows.append(int(row))
        kept.append(np.array(rows, dtype=np.int64))
    return kept
