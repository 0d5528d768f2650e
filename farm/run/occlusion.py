"""Heat maps of a run: a patch hides one part after another of a few images, and the classifier looks at each.

References
----------
M. D. Zeiler and R. Fergus, "Visualizing and Understanding Convolutional Networks", ECCV 2014.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from farm.api import (
    NO_ANSWER,
    Batch,
    BoolArray,
    Classifier,
    Images,
    IntArray,
    Progress,
    Silent,
    StrArray,
    Stream,
)
from farm.config.specs import OcclusionSpec
from farm.errors import ComponentFailure, DataError, one_line, pass_on_ctrl_c
from farm.run.faults import chunk_size
from farm.run.following import SEEN, filled
from farm.run.pictures import small
from farm.store.occlusion import OcclusionMaps, positions
from farm.store.readouts import Readouts


def with_occlusion(
    readouts: Readouts,
    stream: Stream,
    classifier: Classifier,
    asked: OcclusionSpec,
    progress: Progress | None = None,
) -> Readouts:
    """Return readouts with their heat maps; where they cannot be made, the record says why."""
    progress = progress or Silent()
    maps, failure = None, None
    try:
        maps = occlusion_maps(readouts, stream, classifier, asked, progress)
    except BaseException as error:  # noqa: BLE001 - the readouts are there, whoever raises what
        pass_on_ctrl_c(error)
        failure = one_line(error)
        progress.note(f"no heat maps of occlusion are made: {failure}")
    return replace(readouts, occlusion=maps, run={**readouts.run, "occlusion": {"failure": failure}})


def occlusion_maps(
    readouts: Readouts, stream: Stream, classifier: Classifier, asked: OcclusionSpec, progress: Progress
) -> OcclusionMaps:
    """Make the heat maps of a run's instances, which its stream gives once more."""
    looked_at = chosen(readouts.instances, asked.images)
    if not len(looked_at):
        raise DataError("the stream has no ID instance that has a right answer; expected one to look at")
    place, predicted = looked_at["position"].to_numpy(), looked_at["predicted"].to_numpy()
    rows: list[tuple[Any, ...]] = []
    hiding: _Hiding | None = None
    track = progress.track(_instances(stream, place), "hiding parts of images", len(place))
    for label, one in zip(predicted.tolist(), track, strict=True):
        hiding = hiding or _Hiding(classifier, one.image.shape, asked)
        rows.append((hiding.heat(one.image, label), touching(one.mask, asked), *one.kept))
        size = one.mask.shape
    *arrays, why_no_mask = zip(*rows, strict=True)
    heat, occluding, images, masks, boxed = map(np.array, arrays)
    return OcclusionMaps(
        asked=asked,
        size=size,
        position=place,
        predicted=predicted,
        plain=looked_at["confidence"].to_numpy(),
        heat=heat,
        occluding=occluding,
        boxed=boxed,
        why_no_mask=why_no_mask,
        images=images,
        masks=masks,
    )


def chosen(instances: pd.DataFrame, n: int) -> pd.DataFrame:
    """Return the first ID instances that have a right answer: one of each track, then a second of each.

    Examples
    --------
    >>> rows = [("a", 0, False), ("a", 0, False), ("b", -1, False), ("c", 1, True), ("d", 2, False)]
    >>> frame = pd.DataFrame(rows, columns=["track", "label", "is_ood"]).assign(workload="w")
    >>> chosen(frame, 2).index.tolist(), chosen(frame, 9).index.tolist()
    ([0, 4], [0, 1, 4])
    """
    known = instances[~instances["is_ood"].astype(bool) & (instances["label"] != NO_ANSWER)]
    of_track = known.groupby(["workload", "track"], sort=False).cumcount().to_numpy()
    return known.iloc[np.sort(np.argsort(of_track, kind="stable")[:n])]


def touching(mask: BoolArray, asked: OcclusionSpec) -> BoolArray:
    """Say at which positions the patch covers a pixel of the mask.

    Examples
    --------
    >>> mask = np.zeros((4, 5), dtype=bool)
    >>> mask[0, 4] = True
    >>> touching(mask, OcclusionSpec(window=2, stride=1)).astype(int).tolist()
    [[0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]]
    """
    window, stride = asked.window, asked.stride
    sums = np.zeros((mask.shape[0] + 1, mask.shape[1] + 1), dtype=np.int64)
    sums[1:, 1:] = mask.cumsum(axis=0).cumsum(axis=1)
    rows = sums[window:] - sums[:-window]
    covered = rows[:, window:] - rows[:, :-window]
    return np.asarray(covered[::stride, ::stride] > 0)


class _Instance(NamedTuple):
    image: Images
    mask: BoolArray
    kept: tuple[NDArray[np.uint8], BoolArray, bool, str]
    """Both as they are kept, small; whether the mask is a filled box; and why there is none."""


def _instances(stream: Stream, place: IntArray) -> Iterator[_Instance]:
    """Give instances of a stream one by one; they are made in chunks, since one alone takes much longer."""
    # Of the first alone, to learn the images' size.
    step = chunk_size(stream.at(place[:1]).images.shape[1:])
    for start in range(0, len(place), step):
        batch = stream.at(place[start : start + step])
        masks, boxed, why_no_mask = _masks(batch)
        small_masks = small(masks[:, None].astype(np.float32))[..., 0] >= 128
        kept = zip(small(batch.images), small_masks, boxed, why_no_mask, strict=True)
        yield from map(_Instance, batch.images, masks, kept)


def _masks(batch: Batch) -> tuple[BoolArray, list[bool], list[str]]:
    """Return the masks of a batch, whether each is a filled box, and why there is none."""
    found, n, size = batch.objects, len(batch), batch.images.shape[2:]
    if found is None:
        return np.zeros((n, *size), np.bool_), [False] * n, ["nothing in the stream has a mask or a box"] * n
    masks = np.zeros((n, *size), np.bool_) if found.masks is None else found.masks.copy()
    if masks.shape != (n, *size):
        raise DataError(f"masks have shape {masks.shape}; expected {(n, *size)}, as their images have")
    boxed: BoolArray = (found.lost == "") & ~masks.any(axis=(1, 2))
    if found.boxes is not None:
        masks[boxed] = filled(found.boxes[boxed], size) >= SEEN
    there = masks.any(axis=(1, 2))
    why: StrArray = np.where(there | (found.lost != ""), found.lost, "its object takes no pixel of the image")
    return masks, (boxed & there).tolist(), why.tolist()


class _Hiding:
    """Moves the patch over images of one shape, each copied once for all positions that are seen together."""

    def __init__(self, classifier: Classifier, shape: tuple[int, ...], asked: OcclusionSpec) -> None:
        self._classifier, self._asked = classifier, asked
        self._shape = positions(shape[1:], asked)
        top, left = np.indices(self._shape).reshape(2, -1) * asked.stride
        step = chunk_size(shape)
        self._parts = [(top[at : at + step], left[at : at + step]) for at in range(0, top.size, step)]
        self._copies = np.empty((min(step, top.size), *shape), dtype=np.float32)
        self._windows = self._patches(self._copies, writeable=True)
        self._checked = False

    def heat(self, image: Images, label: int) -> NDArray[np.float32]:
        """Return the probability of one class with the patch at each position."""
        self._copies[:] = image
        own, fill = self._patches(image), self._fill(image)
        heat: list[NDArray[np.floating]] = []
        for number, (top, left) in enumerate(self._parts, start=1):
            place = np.arange(len(top)), slice(None), top, left
            self._windows[place] = fill
            heat.append(self._classifier.observe(self._copies[: len(top)]).probabilities[:, label])
            if number < len(self._parts) or not self._checked:  # the next image takes the place of all
                self._windows[place] = own[:, top, left].swapaxes(0, 1)
        if not self._checked:
            self._check_left_alone(image)
        return np.concatenate(heat).astype(np.float32).reshape(self._shape)

    def _check_left_alone(self, image: Images) -> None:
        """Raise where the classifier wrote to what it was given: what it does it does with the first."""
        if not np.array_equal(self._copies, np.broadcast_to(image, self._copies.shape)):
            raise ComponentFailure(
                f"classifier '{self._classifier.name}' changed the images that it was given; expected it to "
                "leave them as they are: let it change a copy"
            )
        self._checked = True

    def _patches(self, images: Images, *, writeable: bool = False) -> Images:
        side = (self._asked.window, self._asked.window)
        return sliding_window_view(images, side, axis=(-2, -1), writeable=writeable)

    def _fill(self, image: Images) -> NDArray[np.float32]:
        """Return what the patch shows, by channel."""
        asked = self._asked.fill
        fill = image.mean(axis=(1, 2)) if asked == "mean" else {"black": 0, "white": 1}.get(asked, asked)
        return np.broadcast_to(np.float32(fill), len(image))[:, None, None]
