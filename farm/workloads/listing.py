"""Files with labels, as a folder or an index lists them, and the workload that they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from farm.api import (
    JSON,
    Context,
    FloatArray,
    IntArray,
    OODImages,
    Split,
    StrArray,
    Workload,
    check_choice,
    check_number,
    cut_by_group,
    generator,
)
from farm.errors import ParameterError
from farm.workloads.boxes import note_boxes
from farm.workloads.decoding import Layout
from farm.workloads.image_files import FileImages, ImageFiles, read_masks
from farm.workloads.problems import Problems
from farm.workloads.splitting import first_of_each

SPLITS = ("train", "validation", "test")
SHARE = 0.2
"""The share that a split gets which nobody laid out."""


@dataclass(frozen=True)
class Listing:
    """What is known of images before one of them is opened; a row a file.

    `splits` says which of train, validation and test each is in. `sizes` are height and width as an index
    says them; boxes count pixels of the file as it is, NaN where nobody told one, and `box_place` says where
    the one of a row stands.
    """

    where: str
    classes: tuple[str, ...]
    paths: Sequence[str]
    names: Sequence[str]
    ids: StrArray
    labels: IntArray
    groups: StrArray
    splits: StrArray
    sizes: IntArray | None = None
    boxes: FloatArray | None = None
    box_place: Callable[[int], str] = str
    masks: Sequence[str] | None = None
    conditions: Mapping[str, StrArray | FloatArray] = field(default_factory=dict)
    notes: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True)
class ListingSettings:
    """The parameters that every workload of files takes."""

    layout: Layout
    validation: float | None
    test: float | None
    copies: str

    @classmethod
    def of(
        cls,
        size: Sequence[int] | None,
        channels: int | None,
        validation: float | None,
        test: float | None,
        copies: str,
    ) -> ListingSettings:
        """Check the parameters as users write them."""
        for name, share in (("validation", validation), ("test", test)):
            if isinstance(share, str):
                raise ParameterError(
                    f"{name} is {share!r}; expected a share; {name}_path is for data of its own"
                )
            if share is not None:
                check_number(name, share, above=0, high=0.9)
        check_choice("copies", copies, ("error", "drop"))
        return cls(Layout.of(size, channels), validation, test, copies)

    def like(self, shape: tuple[int, int, int] | None) -> ListingSettings:
        """Return the settings for images of this shape, where they ask for no other."""
        if shape is None:
            return self
        layout = Layout(self.layout.size or (shape[1], shape[2]), self.layout.channels or shape[0])
        return replace(self, layout=layout)


def make_workload(title: str, listing: Listing, settings: ListingSettings, context: Context) -> Workload:
    """Cut the splits that nobody laid out, and leave copies out where that is asked for."""
    files = _files(listing, settings, context)
    rows = {name: np.flatnonzero(listing.splits == name) for name in SPLITS}
    notes: dict[str, Any] = dict(listing.notes)
    if settings.copies == "drop":
        kept = first_of_each([FileImages(files, rows[name]) for name in SPLITS])
        left = {name: rows[name][keep] for name, keep in zip(SPLITS, kept, strict=True)}
        gone = np.setdiff1d(np.concatenate([*rows.values()]), np.concatenate([*left.values()]))
        notes |= {"copies_dropped": len(gone), "dropped": listing.ids[gone[:100]].tolist()}
        rows = left
    for name in ("test", "validation"):  # in this order: what is left of the rest is cut again
        share = getattr(settings, name)
        if len(rows[name]) and share is not None:
            raise ParameterError(
                f"{name} is {share}, which has no effect: {listing.where} lays out its {name} split already"
            )
        if not len(rows[name]):
            train = rows["train"]
            rng = generator(context.seed, "split", title, name)
            labels, groups = listing.labels[train], listing.groups[train]
            first, second = cut_by_group(labels, groups, share or SHARE, rng)
            rows["train"], rows[name] = train[first], train[second]
    split = _splitter(listing, files, context, rows)
    return Workload(title, listing.classes, split("train"), split("validation"), split("test"), notes=notes)


def make_ood(
    title: str, listing: Listing, settings: ListingSettings, context: Context
) -> Workload | OODImages:
    """Return what serves as OOD images: a test split beside training data, otherwise all there is."""
    laid_out = set(listing.splits.tolist())
    if "train" in laid_out and ("test" in laid_out or settings.test is not None):
        return make_workload(title, listing, settings, context)
    rows = np.flatnonzero((listing.splits == "test") | ("test" not in laid_out))
    rows, listed = rows[np.sort(np.unique(listing.ids[rows], return_index=True)[1])], len(rows)
    notes = {**listing.notes, **({"listed_twice": listed - len(rows)} if listed > len(rows) else {})}
    files = _files(listing, settings, context)
    images = _splitter(listing, files, context, {"test": rows})("test")
    return OODImages(title, listing.classes, images, notes=notes)


def _files(listing: Listing, settings: ListingSettings, context: Context) -> ImageFiles:
    return ImageFiles(
        listing.where, listing.paths, listing.names, settings.layout, context, said=listing.sizes
    )


def _splitter(
    listing: Listing, files: ImageFiles, context: Context, rows: Mapping[str, IntArray]
) -> Callable[[str], Split]:
    """Return what makes each split of its rows."""
    boxes = None if listing.boxes is None else _scaled(listing.boxes, listing, files)
    masks = None if listing.masks is None else read_masks(listing.masks, files, context)

    def split(name: str) -> Split:
        chosen = rows[name]
        return Split(
            name,
            FileImages(files, chosen),
            listing.labels[chosen],
            listing.ids[chosen],
            listing.groups[chosen],
            boxes=None if boxes is None else boxes[chosen],
            masks=None if masks is None else np.asarray(masks[chosen]),
            conditions={column: values[chosen] for column, values in listing.conditions.items()},
        )

    return split


def _scaled(boxes: FloatArray, listing: Listing, files: ImageFiles) -> FloatArray:
    """Turn boxes of the files' pixels into boxes of the resized images'; raise where one leaves its image."""
    problems = Problems()
    note_boxes(boxes, files.sizes, listing.box_place, problems)
    problems.check(listing.where)
    _, height, width = files.shape
    scale = np.array([height, width]) / files.sizes
    return boxes * scale[:, [1, 0, 1, 0]]
