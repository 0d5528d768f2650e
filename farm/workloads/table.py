"""Images that an index lists: paths, labels, and what else is known of them.

Its rows are checked as far as that goes without opening an image.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from farm.api import Context, FloatArray, IntArray, OODImages, StrArray, Workload, WorkloadSource
from farm.errors import DataError
from farm.workloads.boxes import note_boxes
from farm.workloads.index_file import BOX, KNOWN, SIZE, Index, number_labels, read_index
from farm.workloads.listing import Listing, ListingSettings, make_ood, make_workload
from farm.workloads.problems import Problems

SPLIT_NAMES = {"train": "train", "validation": "validation", "val": "validation", "test": "test"}
_FRAME = re.compile(r"(.*\d)_\d+\.\w+")
"""A frame of a track, as the German traffic-sign benchmark calls its files."""


class Table(WorkloadSource):
    """Images from an index: a CSV (comma, semicolon or tab) or Parquet file, or a folder of such files.

    Columns, in any order and case: `path` (from the index's own folder) and `label`; optionally `group` or
    `track` (frames of one track; none is cut in two), `split` (train, validation or test), `left`, `top`,
    `right`, `bottom` (a box, in pixels of the file), `mask` (the path of an image that is black but for the
    object), `height` and `width` (of the file; checked). Every other column is an operating condition:
    numbers, or words. Only cells of `group` and of conditions may be empty.

    The German traffic-sign benchmark's own files load unchanged: `path` is its folder of training images,
    with one CSV a class, and `test_path` its `GT-final_test.csv`; files such as `00012/00003_00017.ppm` are
    grouped by class folder and track. Paths that climb out of their folder are refused; links in it are
    followed.

    As OOD images (the workload of `novelty`) rows need no label, and images are brought to the size of the ID
    images. All are used, copies apart, unless a test split stands beside training data.

    Opening reads the index only, and with boxes or masks the sizes of files where no column tells them.
    Images are decoded on first need as for `folder`; masks at once.

    Parameters
    ----------
    path
        The index, or a folder with several; a relative path is looked for beside the experiment, here, and in
        `$FARM_DATA`. With no `split` column its images are for training.
    validation_path, test_path
        An index of its own for a split.
    images, test_images
        The folder that the paths in `path` and `validation_path`, or in `test_path`, start from, where it is
        not the index's own.
    title
        What to call it; where not given, the name that `as` gives, or that of the index. Classes that are
        numbers are called `title-00`, ...
    classes
        The class names. Labels are such names, or numbers that count them from 0. Without them, classes are
        what occurs in the training data, in order.
    size
        Height and width to resize all images to (antialiased; boxes and masks with them). Without it, all
        must be of one size.
    channels
        1 turns all into grey, 3 into RGB. Without it, all must be as the first.
    validation, test
        The share of each class's training groups that becomes a split which no index lays out: first `test`,
        then `validation` from what is left. 0.2 where not given.
    copies
        What to do with images that stand there twice: `error` where two splits share one, or `drop` the later
        ones (training data come first; needs every image). What was dropped is kept with the results.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from PIL import Image
    >>> with TemporaryDirectory() as folder:
    ...     rows = ["path,label,group,weather"]
    ...     for i in range(24):
    ...         Image.new("L", (8, 8), 10 * i).save(Path(folder) / f"{i}.png")
    ...         rows.append(f"{i}.png,{'stop' if i < 12 else 'yield'},{i // 2},rain")
    ...     _ = (Path(folder) / "index.csv").write_text("\\n".join(rows))
    ...     signs = Table(path=f"{folder}/index.csv").load(Context())
    >>> signs.classes, len(signs.train), signs.test.groups[0] == signs.test.groups[1]
    (('stop', 'yield'), 16, True)
    """

    def __init__(
        self,
        *,
        path: str,
        validation_path: str | None = None,
        test_path: str | None = None,
        images: str | None = None,
        test_images: str | None = None,
        title: str | None = None,
        classes: Sequence[str] | None = None,
        size: Sequence[int] | None = None,
        channels: int | None = None,
        validation: float | None = None,
        test: float | None = None,
        copies: str = "error",
    ) -> None:
        self._settings = ListingSettings.of(size, channels, validation, test, copies)
        self._indices: dict[str | None, tuple[str, str | None]] = {None: (path, images)}
        if validation_path is not None:
            self._indices |= {"validation": (validation_path, images)}
        if test_path is not None:
            self._indices |= {"test": (test_path, test_images)}
        self._title, self._classes = title, classes

    def _load(self, context: Context) -> Workload:
        listing, title = self._listing(context, ood=False)
        return make_workload(title, listing, self._settings, context)

    def _load_ood(self, context: Context, like: tuple[int, int, int] | None) -> Workload | OODImages:
        listing, title = self._listing(context, ood=True)
        return make_ood(title, listing, self._settings.like(like), context)

    def _listing(self, context: Context, *, ood: bool) -> tuple[Listing, str]:
        """Read the indices, and say what the whole is called; as OOD images they need no label."""
        what = f"workload '{self.name}'"
        main = context.find(self._indices[None][0], what)
        title = self._title or self.alias or (main.resolve().name if main.is_dir() else main.stem)
        problems = Problems()
        parts = []
        for split, (path, images) in self._indices.items():
            index = read_index(context.find(path, what))
            index.check_columns(labels=not ood)
            root = context.find(images, what) if images else index.root
            # Images of several indices are told apart by the split that each is for.
            prefix = "" if len(self._indices) == 1 else f"{split or 'train'}/"
            parts.append(_IndexedImages(index, root, split, prefix, title, problems))
        listing = _joined(parts, self._classes, title, str(main), problems, ood=ood)
        problems.check(str(main))
        return listing, title


class _IndexedImages:
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
        """Return paths from the root, and note those that are empty, lead out of it or to nothing."""
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
        where = f"{self._root} (images, or test_images, names the folder that paths start from)"
        self.note(f"file that is not there in {where}", missing, names)
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


def _joined(
    parts: Sequence[_IndexedImages],
    classes: Sequence[str] | None,
    title: str,
    where: str,
    problems: Problems,
    *,
    ood: bool,
) -> Listing:
    """Put the images of several indices together, one split or another each."""
    owner = [(part, row) for part in parts for row in range(len(part.index))]

    def place(i: int) -> str:
        part, row = owner[i]
        return part.index.place(row)

    splits = np.concatenate([part.splits for part in parts])
    labels, names = number_labels(
        [label for part in parts for label in part.index.columns.get("label", [""] * len(part.index))],
        splits,
        classes,
        title,
        problems,
        place,
        ood=ood,
    )
    ids = [i for part in parts for i in part.ids]
    seen: set[str] = set()
    again = [i for i, name in enumerate(ids) if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
    problems.add_rows(
        "listed twice (take one of the rows out)",
        [] if ood else again,
        lambda i: f"{owner[i][0].names[owner[i][1]]!r} in {place(i)}",
    )
    kinds = {tuple(part.conditions) for part in parts}
    if len(kinds) > 1:
        told = " and ".join(", ".join(kind) or "none" for kind in sorted(kinds))
        raise DataError(f"{where}: its indices have different condition columns: {told}")
    masks = [part.masks for part in parts]
    # Sizes are a check, and save reading headers: of no use unless all are known.
    said = [part.sizes for part in parts if part.sizes is not None]
    sizes = np.concatenate(said) if len(said) == len(parts) else None
    if (boxes := _all_or_none([part.boxes for part in parts], "boxes", where)) is not None:
        note_boxes(boxes, sizes, place, problems)
    return Listing(
        where=where,
        classes=names,
        paths=[path for part in parts for path in part.paths],
        names=[name for part in parts for name in part.names],
        ids=np.array(ids),
        labels=labels,
        groups=np.array([group for part in parts for group in part.groups]),
        splits=splits,
        sizes=sizes,
        boxes=boxes,
        box_place=place,
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
