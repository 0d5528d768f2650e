"""Which objects are cut out, from where in their images, and for which split. No pixel is read here.

Each choice about an object depends on the seed and on its own image alone, so that images that are added
change no other cut-out; only which of too many are kept can change.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np

from farm.api import FloatArray, generator, uniform_by_id
from farm.errors import ParameterError, suggestion
from farm.workloads.annotations import AnnotatedImage, AnnotatedObject, Box
from farm.workloads.crops.class_map import ClassMap
from farm.workloads.crops.rules import CropRules
from farm.workloads.listing import SPLITS

_ROUNDED = 1 + 1e-9
"""What rounding adds to a width or an area, or takes from it, makes no difference."""


@dataclass(frozen=True, slots=True)
class Crop:
    """A square of `side` pixels from an image, which becomes one of `size` pixels."""

    image: AnnotatedImage
    object: AnnotatedObject
    label: str
    split: str
    left: int
    top: int
    side: int
    size: int

    @property
    def box(self) -> Box:
        """Where the object is in the cut-out, scaled as the pixels are."""
        left, top, right, bottom = self.object.box
        x, y, scale = self.left, self.top, self.size
        return (
            (left - x) * scale / self.side,
            (top - y) * scale / self.side,
            (right - x) * scale / self.side,
            (bottom - y) * scale / self.side,
        )

    @property
    def file(self) -> str:
        """What its file is called: after image and object, so that no other cut-out changes it."""
        stem = re.sub(r"[^A-Za-z0-9.-]+", "_", PurePosixPath(self.image.name).stem)[:60]
        return f"images/{stem}-{hashlib.blake2b(self.id.encode(), digest_size=6).hexdigest()}.png"

    @property
    def id(self) -> str:
        """The image's name and the object's key."""
        return _id(self.image, self.object)


@dataclass(frozen=True)
class CropPlan:
    """The cut-outs to make, their classes, and how many objects were left out, by reason and class."""

    crops: Sequence[Crop]
    classes: tuple[str, ...]
    left_out: Mapping[tuple[str, str], int]


def choose(
    images: Mapping[tuple[str, ...], Sequence[AnnotatedImage]],
    rules: CropRules,
    classes: ClassMap | None = None,
) -> CropPlan:
    """Choose among images by the splits that they may go to; without a mapping classes stay what they are.

    Each object is cut out, or counted by why it is not.

    Examples
    --------
    >>> car, far = AnnotatedObject("1", "car", (10, 10, 60, 50)), AnnotatedObject("2", "car", (70, 9, 90, 20))
    >>> image = AnnotatedImage("a.jpg", "a.json", (car, far), height=200, width=300)
    >>> plan = choose({("train",): [image]}, CropRules(size=64))
    >>> [crop.object.key for crop in plan.crops], dict(plan.left_out)
    (['1'], {('narrower than 30 pixels', 'car'): 1})
    """
    left_out: Counter[tuple[str, str]] = Counter()
    by_class: dict[tuple[str, str], list[Crop]] = defaultdict(list)
    labels = set(classes.classes) if classes else set()
    for splits, own in images.items():
        for image, split in zip(own, _splits(own, splits, rules), strict=True):
            boxes = np.array([one.box for one in image.objects], dtype=np.float64).reshape(-1, 4)
            for row, one in enumerate(image.objects):
                label = classes.of(one.label, image.place(one)) if classes and not one.region else one.label
                labels |= set() if label is None or one.region else {label}
                made = _cut_out(image, row, label, split, boxes, rules)
                if isinstance(made, str):
                    left_out[made, label or one.label] += 1
                else:
                    by_class[split, made.label].append(made)
    for name in rules.keep_occluded:
        if name not in labels:
            raise ParameterError(
                f"'{name}', of which occluded objects shall be kept, is no class; {suggestion(name, labels)}"
            )
    crops: list[Crop] = []
    for (split, label), own_crops in by_class.items():
        draws = uniform_by_id(rules.seed, "crops kept", np.array([crop.id for crop in own_crops]))
        most = rules.most.get(split, len(own_crops))
        crops += [own_crops[row] for row in np.sort(np.argsort(draws, kind="stable")[:most])]
        if len(own_crops) > most:
            left_out["more of the class than its split takes", label] += len(own_crops) - most
    present = {crop.label for crop in crops}
    crops.sort(key=lambda crop: (SPLITS.index(crop.split), crop.image.name))
    ordered = classes.classes if classes else sorted(present)
    return CropPlan(crops, tuple(name for name in ordered if name in present), left_out)


def _splits(images: Sequence[AnnotatedImage], splits: tuple[str, ...], rules: CropRules) -> list[str]:
    """Draw the split of each image, among those that it may go to."""
    shares = np.array([rules.shares.get(split, 0.0) for split in splits])
    if len(splits) == 1:
        return [*splits] * len(images)
    if not shares.sum():
        raise ParameterError(f"the shares of {' and '.join(splits)} are 0; expected one that is more")
    draws = uniform_by_id(rules.seed, "crops split", np.array([image.name for image in images]))
    # The last end is 1 whatever the sums are rounded to: no draw reaches it.
    ends = np.append(np.cumsum(shares / shares.sum())[:-1], 1.0)
    return [splits[place] for place in np.searchsorted(ends, draws, side="right")]


def _cut_out(
    image: AnnotatedImage, row: int, label: str | None, split: str, boxes: FloatArray, rules: CropRules
) -> Crop | str:
    """Return an object's cut-out, or why it has none."""
    one = image.objects[row]
    left, top, right, bottom = one.box
    if one.region:
        return "a crowd, or a region without labels"
    if label is None:
        return "of a class that is dropped"
    if one.truncated and label not in rules.keep_occluded:
        return "truncated"
    if one.occluded and label not in rules.keep_occluded:
        return "occluded"
    if (right - left) * _ROUNDED < rules.narrowest:
        return f"narrower than {rules.narrowest:g} pixels"
    # The least square of whole pixels that holds it.
    first_x, first_y = math.floor(left), math.floor(top)
    last_x, last_y = math.ceil(right), math.ceil(bottom)
    least, shorter = max(last_x - first_x, last_y - first_y), min(image.height, image.width)
    if least > shorter:
        return "larger than any square in its image"
    rng = generator(rules.seed, "crop", image.name, one.key)
    side = int(rng.integers(least, min(int(rules.largest * least), shorter), endpoint=True))
    # Anywhere in the cut-out with equal chance; one that would reach over the image's edge is shifted back.
    x = int(np.clip(rng.integers(last_x - side, first_x, endpoint=True), 0, image.width - side))
    y = int(np.clip(rng.integers(last_y - side, first_y, endpoint=True), 0, image.height - side))
    inside = np.clip(boxes, [x, y, x, y], [x + side, y + side, x + side, y + side])
    areas = (inside[:, 2] - inside[:, 0]) * (inside[:, 3] - inside[:, 1])
    areas[row] = 0
    if areas.max() > rules.other * (right - left) * (bottom - top) * _ROUNDED:
        return f"beside another object of more than {rules.other:.3g} of its area"
    return Crop(image, one, label, split, x, y, side, rules.size)


def _id(image: AnnotatedImage, one: AnnotatedObject) -> str:
    return f"{image.name}\x1f{one.key}"
