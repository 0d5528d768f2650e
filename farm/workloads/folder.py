"""Images in folders, one a class: the form in which most people have theirs."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from farm.api import NO_ANSWER, Context, OODImages, Workload, WorkloadSource
from farm.errors import DataError, ParameterError
from farm.workloads.boxes import read_boxes
from farm.workloads.decoding import SUFFIXES
from farm.workloads.listing import Listing, ListingSettings, make_ood, make_workload
from farm.workloads.problems import Problems

SPLIT_FOLDERS = {"train": "train", "validation": "validation", "val": "validation", "test": "test"}


class Folder(WorkloadSource):
    """Images in one folder a class, optionally below `train`, `validation` (or `val`) and `test`.

    PNG, JPEG, PPM, BMP and WebP, grey or RGB at 8 bits a channel; other files are left out and counted.
    Classes are in the order of their folders' names. Images in a folder below a class folder are a group,
    such as the frames of a track: no group is cut in two. Opening lists files only; they are decoded on first
    need, on all cores, and kept memory-mapped in the cache under their content. A camera's note of its
    orientation is not heeded: pixels are taken as they are stored.

    As OOD images (the workload of `novelty`) any folder with images will do: they may lie flat, of one class,
    or in a split folder alone; they are brought to the size of the ID images. All are used, copies apart,
    unless a test split stands beside training data.

    Parameters
    ----------
    path
        The folder; a relative one is looked for beside the experiment, here, and in `$FARM_DATA`.
    validation_path, test_path
        A folder of its own for a split, with one folder a class; `path` then has the others. A validation
        split that has no folder is cut from the training data.
    title
        What to call it; where not given, the name that `as` gives, or that of the folder.
    size
        Height and width to resize all images to (antialiased). Without it, all must be of one size.
    channels
        1 turns all into grey, 3 into RGB. Without it, all must be as the first.
    groups
        A regular expression: images of a class whose path below the class folder begins with the same match
        are a group; with a parenthesis, those for which it holds the same. `'(\\d+)_'` makes a track of
        `00003_00017.png`.
    validation, test
        The share of each class's training groups that becomes a split which has no folder: first `test`, then
        `validation` from what is left. 0.2 where not given.
    copies
        What to do with images that stand there twice: `error` where two splits share one, or `drop` the later
        ones (training data come first; needs every image). What was dropped is kept with the results.
    boxes
        A CSV or Parquet file with the columns `image` (its path, as in its id), `left`, `top`, `right` and
        `bottom`: a box, in pixels of the file as it is stored, scaled with it. It is looked for in `path`
        first. Images without a row have no box; one that has two, a row of no image, and boxes without an
        area or outside of their image are errors. Opening then reads the sizes of all files, too. Cut-outs
        of `farm crops` have their boxes in their index: load them by `table`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from PIL import Image
    >>> with TemporaryDirectory() as folder:
    ...     for i in range(20):
    ...         place = Path(folder) / ("stop" if i % 2 else "yield")
    ...         place.mkdir(exist_ok=True)
    ...         Image.new("RGB", (8, 8), (i, 0, 0)).save(place / f"{i}.png")
    ...     signs = Folder(path=folder, title="signs").load(Context())
    >>> signs.classes, len(signs.train), len(signs.validation), len(signs.test)
    (('stop', 'yield'), 12, 4, 4)
    """

    def __init__(
        self,
        *,
        path: str,
        validation_path: str | None = None,
        test_path: str | None = None,
        title: str | None = None,
        size: Sequence[int] | None = None,
        channels: int | None = None,
        groups: str | None = None,
        validation: float | None = None,
        test: float | None = None,
        copies: str = "error",
        boxes: str | None = None,
    ) -> None:
        self._settings = ListingSettings.of(size, channels, validation, test, copies)
        given = {None: path, "validation": validation_path, "test": test_path}
        self._title, self._boxes = title, boxes
        self._paths = {split: one for split, one in given.items() if one is not None}
        try:
            self._groups = None if groups is None else re.compile(groups)
        except re.error as error:
            raise ParameterError(f"groups is {groups!r}; expected a regular expression ({error})") from None

    def _load(self, context: Context) -> Workload:
        listing, title = self._listing(context, ood=False)
        return make_workload(title, listing, self._settings, context)

    def _load_ood(self, context: Context, like: tuple[int, int, int] | None) -> Workload | OODImages:
        listing, title = self._listing(context, ood=True)
        return make_ood(title, listing, self._settings.like(like), context)

    def _listing(self, context: Context, *, ood: bool) -> tuple[Listing, str]:
        """List the files, and say what the whole is called; as OOD images they need no class."""
        what = f"workload '{self.name}'"
        roots = {split: context.find(path, what) for split, path in self._paths.items()}
        for root in roots.values():
            if not root.is_dir():
                raise DataError(
                    f"{root} is a file; expected a folder with one folder a class (the workload 'npz' "
                    "reads a file of arrays, 'table' an index)"
                )
        root = roots[None]
        title = self._title or self.alias or root.resolve().name
        problems = Problems()
        found = _Found([], Counter())
        for split, place in roots.items():
            if any(file.split == split for file in found.files):
                raise DataError(f"{root} has a folder '{split}' though {split}_path is given; expected one")
            above = "" if len(roots) == 1 else f"{split or 'train'}/"
            _walk(place, split, above, found, problems, ood=ood)
        if not found.files and not len(problems):
            how = "expected" if ood else "expected one folder a class with"
            loose = "; images without classes serve as OOD images, as the workload of 'novelty'"
            raise DataError(
                f"{root}: no image in any folder; {how} {', '.join(SUFFIXES)}"
                + (loose if not ood and _has_images(root) else "")
            )
        classes = sorted({file.label for file in found.files if ood or file.split == "train"} - {""})
        for split in ("validation", "test"):
            others = sorted({file.label for file in found.files if file.split == split} - {*classes, ""})
            problems.add(f"classes in {split} but not in train", others)
        groups = [self._group(file) for file in found.files]
        unmatched = [i for i, group in enumerate(groups) if group is None]
        problems.add_rows("paths that 'groups' does not match", unmatched, lambda i: found.files[i].name)
        names = [file.name for file in found.files]
        box_place: Callable[[int], str] = str
        boxes = None
        if self._boxes is not None and names:
            inside = root / self._boxes
            path = inside if inside.is_file() else context.find(self._boxes, f"boxes of {what}")
            boxes, box_place = read_boxes(path, names, problems)
        problems.check(str(root))
        number = {label: i for i, label in enumerate(classes)} | {"": NO_ANSWER}
        listing = Listing(
            where=str(root),
            classes=tuple(classes),
            paths=[file.path for file in found.files],
            names=names,
            ids=np.array([f"{title}/{name}" for name in names]),
            labels=np.array([number[file.label] for file in found.files], dtype=np.int64),
            groups=np.array([f"{title}/{group}" for group in groups]),
            splits=np.array([file.split for file in found.files]),
            boxes=boxes,
            box_place=box_place,
            notes={"files_left_out": dict(sorted(found.left_out.items()))} if found.left_out else {},
        )
        return listing, title

    def _group(self, file: _File) -> str | None:
        if self._groups is None:
            return file.above + file.inside.rpartition("/")[0] if "/" in file.inside else file.name
        match = self._groups.match(file.inside)
        held = match.group(1 if self._groups.groups else 0) if match else None
        return None if held is None else file.above + held


@dataclass(frozen=True, slots=True)
class _File:
    """An image: where it is, its split and class, and its path below the class folder."""

    path: str
    split: str
    label: str
    above: str
    inside: str

    @property
    def name(self) -> str:
        return self.above + self.inside


@dataclass(frozen=True)
class _Found:
    files: list[_File]
    left_out: Counter[str]


def _walk(root: Path, split: str | None, above: str, found: _Found, problems: Problems, *, ood: bool) -> None:
    """List images by split and class, and note folders that are empty or cannot be read.

    `split` is the one that all of it is for, where it is for one. As OOD images those count too that lie
    beside the class folders: they have no class.
    """
    entries = _scan(str(root), above or str(root), problems)
    names = [entry.name for entry in _folders(entries)]
    parts = [(split or "train", above, entries)]
    laid_out = split is None and (ood or "train" in names) and names and set(names) <= set(SPLIT_FOLDERS)
    if laid_out:
        if {"val", "validation"} <= set(names):
            raise DataError(f"{root} has both 'val' and 'validation'; expected one of them")
        parts = [
            (SPLIT_FOLDERS[one.name], f"{above}{one.name}/", _scan(one.path, above + one.name, problems))
            for one in _folders(entries)
        ]
    for part, prefix, inside in parts:
        classes = _folders(inside)
        if laid_out and not classes and not ood:
            problems.add("a split without a class folder", [prefix.rstrip("/")])
        for one in classes:
            _list_class(one.path, part, one.name, f"{prefix}{one.name}/", found, problems)
        for one in inside if ood else []:
            if one.is_file() and not one.name.startswith("."):
                _list_file(_File(one.path, part, "", prefix, one.name), found)


def _has_images(root: Path) -> bool:
    return any(path.suffix.lower() in SUFFIXES for path in root.iterdir())


def _folders(entries: list[os.DirEntry[str]]) -> list[os.DirEntry[str]]:
    return [e for e in entries if e.is_dir() and not e.name.startswith((".", "__"))]


def _list_class(path: str, split: str, label: str, above: str, found: _Found, problems: Problems) -> None:
    before, told = len(found.files), len(problems)
    for file, inside in _files(path, above, "", problems):
        _list_file(_File(file, split, label, above, inside), found)
    if len(found.files) == before and len(problems) == told:
        problems.add("class folders without an image", [above.rstrip("/")])


def _list_file(file: _File, found: _Found) -> None:
    suffix = os.path.splitext(file.inside)[1].lower()  # noqa: PTH122 - of 100,000 names
    if suffix in SUFFIXES:
        found.files.append(file)
    else:
        found.left_out[suffix or "no suffix"] += 1


def _files(path: str, above: str, inside: str, problems: Problems) -> Iterator[tuple[str, str]]:
    for entry in _scan(path, above + inside, problems):
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):  # a link to a folder above would never end
            yield from _files(entry.path, above, f"{inside}{entry.name}/", problems)
        else:
            yield entry.path, inside + entry.name


def _scan(path: str, name: str, problems: Problems) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        problems.add(f"folders that cannot be read ({error.strerror})", [name.rstrip("/")])
        return []
