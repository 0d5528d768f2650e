"""Another workload whose training images are there twice: as they are, and mirrored left to right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np
from pydantic import ValidationError

from farm.api import (
    BoolArray,
    Context,
    FloatArray,
    Images,
    ImageSource,
    IntArray,
    OODImages,
    Split,
    Workload,
    WorkloadSource,
    image_digests,
)
from farm.config.experiment import ComponentSpec
from farm.errors import ParameterError
from farm.store.component_cache import load_workload


class Mirrored(WorkloadSource):
    """Another workload, with each training image mirrored left to right beside it.

    Whatever is fitted on training data sees both. A mirrored image has its original's label, group and
    conditions, and its id with `/mirrored` behind it; boxes and masks are mirrored, too. Left out, and
    counted in the notes, are those that equal their originals, and those that equal an image of the
    validation or test split, which stay as they are. The workload keeps the other one's name. Pixels are
    mirrored when they are read.

    Parameters
    ----------
    of
        The other workload: a name, or a mapping with its name and parameters.

    Examples
    --------
    >>> from farm.api import Context
    >>> digits = Mirrored(of={"name": "digits", "size": 8, "channels": 1}).load(Context(seed=0))
    >>> digits.name, len(digits.train), str(digits.train.ids[-1])
    ('digits', 2156, 'digits/1796/mirrored')
    """

    reference = "Shafaei, Schmidt & Little: A Less Biased Evaluation of OOD Sample Detectors, 2019, A.2"

    def __init__(self, *, of: str | Mapping[str, Any]) -> None:
        try:
            spec = ComponentSpec.model_validate(of)
        except ValidationError:
            raise ParameterError(f"of is {of!r}; expected a name, or a mapping with a name") from None
        self._of = cast(WorkloadSource, spec.make("workload"))
        if isinstance(self._of, Mirrored):
            raise ParameterError("of is mirrored already; expected another workload")

    def _load(self, context: Context) -> Workload:
        inner = load_workload(self._of, context)
        train, symmetric, copies = with_mirrored(inner.train, inner.validation, inner.test)
        notes = {"mirrored": len(train) - len(inner.train), "symmetric": symmetric, "copies": copies}
        return replace(inner, train=train, notes={**inner.notes, "mirrored": notes})

    def _load_ood(self, context: Context, like: tuple[int, int, int] | None) -> Workload | OODImages:
        # Nothing is fitted on these, so nothing is mirrored.
        return load_workload(self._of, context) if self._of.rendered else self._of._load_ood(context, like)


def with_mirrored(train: Split, *others: Split) -> tuple[Split, int, int]:
    """Return a split with its mirrored images behind it, and how many of those are left out.

    The first number counts those that equal their originals, the second those that are in another split.
    """
    taken = {digest for split in others for digest in split.digests}
    kept: list[int] = []
    symmetric = copies = 0
    for indices in train.chunks(1024):
        mirrored = image_digests(train.images.read(indices)[..., ::-1])
        for row, digest in zip(indices.tolist(), mirrored, strict=True):
            if digest == train.digests[row]:
                symmetric += 1
            elif digest in taken:
                copies += 1
            else:
                kept.append(row)
    chosen = np.array(kept, dtype=np.int64)
    images, more = MirroredImages(train.images, chosen), train.rows(chosen)
    whole = Split(
        train.name,
        images,
        np.concatenate([train.labels, more.labels]),
        np.concatenate([train.ids, np.char.add(more.ids, "/mirrored")]),
        np.concatenate([train.groups, more.groups]),
        boxes=None if train.boxes is None else _with_boxes(train.boxes, chosen, images.shape[2]),
        masks=None if train.masks is None else _with_masks(train.masks, chosen),
        conditions={n: np.concatenate([train.conditions[n], more.conditions[n]]) for n in train.conditions},
    )
    return whole, symmetric, copies


class MirroredImages:
    """All images of a source, and behind them some of them mirrored left to right."""

    def __init__(self, images: ImageSource, rows: IntArray) -> None:
        self._images = images
        self._rows = np.concatenate([np.arange(len(images)), rows])

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height, width."""
        return self._images.shape

    def __len__(self) -> int:
        return len(self._rows)

    def read(self, indices: IntArray) -> Images:
        """Read these images; one behind the originals is mirrored."""
        images = self._images.read(self._rows[indices])
        mirrored = np.asarray(indices) >= len(self._images)
        return np.where(mirrored[:, None, None, None], images[..., ::-1], images)


def _with_boxes(boxes: FloatArray, chosen: IntArray, width: int) -> FloatArray:
    left, top, right, bottom = boxes[chosen].T
    return np.concatenate([boxes, np.stack([width - right, top, width - left, bottom], axis=1)])


def _with_masks(masks: BoolArray, chosen: IntArray) -> BoolArray:
    return np.concatenate([masks, masks[chosen][..., ::-1]])
