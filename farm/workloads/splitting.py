"""Which rows become which split: shares of groups, and copies that are left out; workloads of arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from farm.api import (
    JSON,
    ArrayImages,
    ImageSource,
    IntArray,
    Split,
    StrArray,
    Workload,
    cut_by_group,
    image_digests,
)


class SplitArrays(NamedTuple):
    """Images in memory, and what is known of each."""

    images: np.ndarray
    labels: IntArray
    ids: StrArray
    groups: StrArray

    def rows(self, chosen: IntArray) -> SplitArrays:
        """Return some of them."""
        return SplitArrays(self.images[chosen], self.labels[chosen], self.ids[chosen], self.groups[chosen])


def workload_of_parts(
    title: str,
    classes: tuple[str, ...],
    parts: Mapping[str, SplitArrays],
    share: float,
    rng: np.random.Generator,
    *,
    drop: bool,
) -> Workload:
    """Make a workload of `train`, `test` and perhaps `validation`, else cut from `train`.

    With `drop`, copies are left out of the later parts and counted.
    """
    parts, n = dict(parts), sum(len(part.labels) for part in parts.values())
    if drop:
        rows = first_of_each([ArrayImages(part.images) for part in parts.values()])
        parts = {name: part.rows(first) for (name, part), first in zip(parts.items(), rows, strict=True)}
    dropped = n - sum(len(part.labels) for part in parts.values())
    if "validation" not in parts:
        train = parts["train"]
        stay, move = cut_by_group(train.labels, train.groups, share, rng)
        parts |= {"train": train.rows(stay), "validation": train.rows(move)}

    def split(name: str) -> Split:
        part = parts[name]
        return Split(name, ArrayImages(part.images), part.labels, part.ids, part.groups)

    notes: dict[str, JSON] = {"copies_dropped": dropped}
    return Workload(title, classes, split("train"), split("validation"), split("test"), notes=notes)


def first_of_each(parts: Sequence[ImageSource]) -> list[IntArray]:
    """Return, part by part, the rows whose image did not come before, in this part or an earlier one."""
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
