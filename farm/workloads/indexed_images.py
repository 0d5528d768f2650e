"""The rows of an index, checked as far as that goes without opening an image."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from farm.api import FloatArray, IntArray, StrArray
from farm.errors import DataError
from farm.workloads.index_file import BOX, KNOWN, SIZE, Index
from farm.workloads.labels import number_labels
from farm.workloads.listing import Listing
from farm.workloads.problems import Problems

SPLIT_NAMES = {"train": "train", "validation": "validation", "val": "validation", "test": "test"}
_FRAME = re.compile(r"(.*\d)_\d+\.\w+")
"""A frame of a track, as the German traffic-sign benchmark calls its files."""


class IndexedImages:
    """The images of one index: `split` is the one it is for, where it is for one."""

    def __init__(
        self, index: Index, root: Path, split: str | None, prefix: str, title: str, problems: Problems
    ) -> None:
        self.index, self._root, self._problems = index, root, problems
        inside = self._inside("path")
        self.paths = [f"{root}/{name}" for name in inside]
        self.masks = [f"{root}/{name}" for name in self._inside("mask")] if "mask" in index else None
        self.names = [f"{prefix}{name}" for name in inside]
        self.ids = [f"{title}/{name}" for name in self.names]
        self.splits = self._splits(split)
        self.groups = self._groups(title)
        self.boxes = self._numbers(BOX)
        sizes = self._numbers(SIZE)
        self.sizes: IntArray | None = None if sizes is None else np.nan_to_num(sizes).astype(np.int64)
        self.conditions: dict[str, StrArray | FloatArray] = {
            name: index.condition(name) for name in index.columns if name not in (*KNOWN, *BOX, *SIZE)
        }

    def note(self, what: str, rows: Sequence[int], values: Sequence[str]) -> None:
        """Note a problem of some rows, each with its value and place."""
        self._problems.add_rows(what, rows, lambda i: f"{values[i]!r} in {self.index.place(i)}")

    def _inside(self, column: str) -> list[str]:
        """Give paths from the root, and note those that are empty, lead out of it or to nothing."""
        raw = self.index.columns[column]
        # Several indices in a folder each speak of their own.
        above = self.index.folders if self._root == self.index.root else [""] * len(raw)
        names, climbing, missing = [], [], []
        there: dict[str, set[str]] = {}
        for i, text in enumerate(raw):
            plain = posixpath.normpath(text.replace("\\", "/"))
            name = above[i] + plain
            names.append(name)
            if plain.startswith(("/", "../")) or plain == ".." or re.match(r"[A-Za-z]:", plain):
                climbing.append(i)
            elif text and not self._is_there(name, there):
                missing.append(i)
        self.note(f"empty {column}", [i for i, text in enumerate(raw) if not text], raw)
        self.note(f"{column} that leads out of the folder it starts from", climbing, raw)
        self.note(f"file that is not there in {self._root}", missing, names)
        return names

    def _is_there(self, name: str, there: dict[str, set[str]]) -> bool:
        """Look a file up in its folder's listing: one question a folder, not one a file."""
        folder, _, file = name.rpartition("/")
        if folder not in there:
            try:
                there[folder] = {entry.name for entry in os.scandir(self._root / folder)}
            except OSError:
                there[folder] = set()
        return file in there[folder]

    def _splits(self, split: str | None) -> StrArray:
        if "split" not in self.index:
            return np.full(len(self.index), split or "train", dtype="<U10")
        raw = self.index.columns["split"]
        meant = [SPLIT_NAMES.get(value.lower(), "") for value in raw]
        unknown = [i for i, value in enumerate(meant) if not value]
        self.note("split that is none of train, validation, test", unknown, raw)
        if split is not None:
            other = [i for i, value in enumerate(meant) if value not in ("", split)]
            self.note(f"split in the index that is for {split}", other, raw)
        return np.array(meant, dtype="<U10")

    def _groups(self, title: str) -> list[str]:
        if "group" in self.index:
            # A group may be told in several indices: the driver refuses one that is in two splits.
            own = self.index.columns["group"]
            return [f"{title}/group-{g}" if g else i for g, i in zip(own, self.ids, strict=True)]
        if self.index.german:
            frames = [_FRAME.fullmatch(i) for i in self.ids]
            return [m.group(1) if m else i for m, i in zip(frames, self.ids, strict=True)]
        return self.ids

    def _numbers(self, columns: Sequence[str]) -> FloatArray | None:
        if columns[0] not in self.index:
            return None
        return np.stack([self.index.numbers(column, self._problems) for column in columns], axis=1)

    def check_boxes(self) -> None:
        """Note boxes that are empty or leave the image, as far as its size is known."""
        if self.boxes is None:
            return
        left, top, right, bottom = self.boxes.T
        wrong = (left < 0) | (top < 0) | (right <= left) | (bottom <= top)
        if self.sizes is not None:
            wrong |= (right > self.sizes[:, 1]) | (bottom > self.sizes[:, 0])
        self.note("box that is empty or leaves the image", np.flatnonzero(wrong).tolist(), self.names)


def joined(
    parts: Sequence[IndexedImages],
    classes: Sequence[str] | None,
    title: str,
    where: str,
    problems: Problems,
) -> Listing:
    """Put the images of several indices together, one split or another each."""
    owner = [(part, row) for part in parts for row in range(len(part.index))]
    splits = np.concatenate([part.splits for part in parts])
    labels, names = number_labels(
        [label for part in parts for label in part.index.columns["label"]],
        splits,
        classes,
        title,
        problems,
        lambda i: owner[i][0].index.place(owner[i][1]),
    )
    ids = [i for part in parts for i in part.ids]
    seen: set[str] = set()
    again = [i for i, name in enumerate(ids) if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
    problems.add_rows("listed twice", again, lambda i: owner[i][0].names[owner[i][1]])
    for part in parts:
        part.check_boxes()
    kinds = {tuple(part.conditions) for part in parts}
    if len(kinds) > 1:
        told = " and ".join(", ".join(kind) or "none" for kind in sorted(kinds))
        raise DataError(f"{where}: its indices have different condition columns: {told}")
    masks = [part.masks for part in parts]
    sizes = [part.sizes for part in parts]
    return Listing(
        where=where,
        classes=names,
        paths=[path for part in parts for path in part.paths],
        names=[name for part in parts for name in part.names],
        ids=np.array(ids),
        labels=labels,
        groups=np.array([group for part in parts for group in part.groups]),
        splits=splits,
        # Sizes are a check, and save reading headers: of no use unless all are known.
        sizes=None if any(s is None for s in sizes) else np.concatenate([s for s in sizes if s is not None]),
        boxes=_all_or_none([part.boxes for part in parts], "boxes", where),
        masks=None if _none(masks, "masks", where) else [path for part in masks for path in part or ()],
        conditions={
            name: np.concatenate([part.conditions[name] for part in parts]) for name in parts[0].conditions
        },
    )


def _all_or_none(values: Sequence[FloatArray | None], what: str, where: str) -> FloatArray | None:
    if _none(values, what, where):
        return None
    return np.concatenate([value for value in values if value is not None])


def _none(values: Sequence[object | None], what: str, where: str) -> bool:
    there = [value is not None for value in values]
    if any(there) and not all(there):
        raise DataError(f"{where}: {what} in some of its indices; expected them in all or in none")
    return not any(there)
