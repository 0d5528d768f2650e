"""Real scans of handwritten digits, which come with scikit-learn: nothing to download."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from farm.api import ArrayImages, Context, IntArray, Split, Workload, WorkloadSource, check_number, generator
from farm.errors import ParameterError

_BRIGHTEST = 16
"""The largest value of a scan, which counts the inked dots in cells of 4 x 4."""


class Digits(WorkloadSource):
    """1797 scans of handwritten digits in 8 x 8 pixels, white on black, in ten classes.

    Of each digit's scans, 60 % go to train and 20 % each to validation and test, drawn by the
    experiment's seed. No two scans are identical, so each is a group of its own. An id tells the scan's
    place in the dataset, whatever the seed.

    Parameters
    ----------
    size
        Pixels along an image: scans are enlarged bilinearly, and 8 gives them as they are.
    channels
        1, or 3 identical ones for a classifier of colour images.

    Examples
    --------
    >>> from farm.api import Context
    >>> digits = Digits(size=8, channels=1).load(Context(seed=0))
    >>> digits.shape, len(digits.train), digits.classes[7]
    ((1, 8, 8), 1078, 'digit-7')
    """

    reference = "Alpaydin & Kaynak, Optical Recognition of Handwritten Digits, UCI repository, 1998"

    def __init__(self, *, size: int = 32, channels: int = 3) -> None:
        check_number("size", size, low=8, whole=True)
        if type(channels) is not int or channels not in (1, 3):
            raise ParameterError(f"channels is {channels!r}; expected 1 or 3")
        self._size = size
        self._channels = channels

    def _load(self, context: Context) -> Workload:
        # Here, because scikit-learn takes a second to import and most experiments need no digits.
        from sklearn.datasets import load_digits

        scans, digits = load_digits(return_X_y=True)
        images, labels = self._images(scans.reshape(-1, 8, 8)), digits.astype(np.int64)
        ids = np.array([f"digits/{i:04d}" for i in range(len(labels))])
        train, validation, test = (
            Split(name, ArrayImages(images[chosen]), labels[chosen], ids[chosen], groups=ids[chosen])
            for name, chosen in _stratified(labels, generator(context.seed, "digits")).items()
        )
        return Workload(self.name, tuple(f"digit-{i}" for i in range(10)), train, validation, test)

    def _images(self, scans: NDArray[np.float64]) -> NDArray[np.uint8]:
        eight_bits = np.rint(scans * (255 / _BRIGHTEST)).astype(np.uint8)
        box = (self._size, self._size)
        enlarged = [np.asarray(Image.fromarray(s).resize(box, Image.Resampling.BILINEAR)) for s in eight_bits]
        return np.stack(enlarged)[:, None].repeat(self._channels, axis=1)


def _stratified(labels: IntArray, rng: np.random.Generator) -> dict[str, IntArray]:
    """Share out each class 60 : 20 : 20, in the order of the dataset within each split."""
    parts: dict[str, list[IntArray]] = {"train": [], "validation": [], "test": []}
    for label in np.unique(labels):
        drawn = rng.permutation(np.flatnonzero(labels == label))
        cuts = np.rint(np.array([0.6, 0.8]) * len(drawn)).astype(np.int64)
        for name, part in zip(parts, np.split(drawn, cuts), strict=True):
            parts[name].append(part)
    return {name: np.sort(np.concatenate(part)) for name, part in parts.items()}
