"""Pure noise as workloads: images that no camera took, for detectors that should at least notice those."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from farm.api import (
    Context,
    Images,
    IntArray,
    PerInstance,
    Split,
    StrArray,
    Workload,
    WorkloadSource,
    check_number,
)
from farm.errors import ParameterError

ALONE = 1000
"""So many images has each split where nobody says a number, and there are no ID data."""


class _Noise(WorkloadSource):
    """One class called `noise`; an image is drawn when it is read, from its id and the seed alone."""

    kind: ClassVar[str]
    reference = (
        "Shafaei, Schmidt & Little: A Less Biased Evaluation of Out-of-Distribution Sample Detectors, 2019"
    )

    def __init__(self, *, n: int | None = 1000, size: int | Sequence[int] = 32, channels: int = 3) -> None:
        if n is not None:
            check_number("n", n, low=2, whole=True)
        if type(channels) is not int or channels not in (1, 3):
            raise ParameterError(f"channels is {channels!r}; expected 1 or 3")
        sides = [size, size] if isinstance(size, int) else list(size)
        if len(sides) != 2:
            raise ParameterError(f"size is {size!r}; expected one whole number, or height and width")
        for side in sides:
            check_number("size", side, low=1, whole=True)
        self._n, self._shape = n or ALONE, (channels, sides[0], sides[1])

    def for_workload(self, workload: Workload) -> _Noise:
        """Return it for images of this workload's shape and, where `n` is null, as many as it trains on."""
        channels, *size = workload.shape
        own: dict[str, Any] = {"size": size, "channels": channels} | self._arguments
        if self.parameters["n"] is None:
            own["n"] = max(len(workload.train), 2)
        made = type(self)(**own)
        made.name = self.name
        return made

    def _load(self, context: Context) -> Workload:
        train, validation, test = (self._split(name, context) for name in ("train", "validation", "test"))
        return Workload(self.name, ("noise",), train, validation, test)

    def _split(self, name: str, context: Context) -> Split:
        ids = np.array([f"{self.kind}/{name}/{i:06d}" for i in range(self._n)])
        images = _NoiseImages(self, ids, self._shape, context.seed)
        return Split(name, images, np.zeros(self._n, dtype=np.int64), ids, groups=ids)

    @abstractmethod
    def draw(self, random: PerInstance, shape: tuple[int, int, int]) -> Images:
        """Draw one image an instance."""


class NoiseUniform(_Noise):
    """Every value of every pixel uniform between 0 and 1, independent of all others.

    Parameters
    ----------
    n
        How many images each split has. As OOD images, null is as many as the ID data have for training.
    size
        Pixels along a square image, or height and width. Where not said, OOD images have the size of ID ones.
    channels
        1 or 3; also as ID images, where not said.

    Examples
    --------
    >>> from farm.api import Context
    >>> noise = NoiseUniform(n=10, size=8).load(Context(seed=0))
    >>> noise.classes, noise.shape, str(noise.test.ids[3])
    (('noise',), (3, 8, 8), 'noise-uniform/test/000003')
    """

    kind = "noise-uniform"

    def draw(self, random: PerInstance, shape: tuple[int, int, int]) -> Images:
        """Draw from [0, 1)."""
        return random.uniform(*shape)


class NoiseNormal(_Noise):
    """Every value of every pixel normal around 0.5 with standard deviation 0.25, clipped to 0 and 1.

    Parameters
    ----------
    n
        How many images each split has. As OOD images, null is as many as the ID data have for training.
    size
        Pixels along a square image, or height and width. Where not said, OOD images have the size of ID ones.
    channels
        1 or 3; also as ID images, where not said.

    Examples
    --------
    >>> from farm.api import Context
    >>> noise = NoiseNormal(n=10, size=[4, 8], channels=1).load(Context(seed=0))
    >>> noise.shape, len(noise.train)
    ((1, 4, 8), 10)
    """

    kind = "noise-normal"

    def draw(self, random: PerInstance, shape: tuple[int, int, int]) -> Images:
        """Draw from the clipped normal distribution."""
        values = np.float32(0.5) + np.float32(0.25) * random.normal(*shape)
        clipped: Images = np.clip(values, np.float32(0), np.float32(1))
        return clipped


class _NoiseImages:
    """An `ImageSource` that keeps no image."""

    def __init__(self, noise: _Noise, ids: StrArray, shape: tuple[int, int, int], seed: int) -> None:
        self._noise, self._ids, self._shape, self._seed = noise, ids, shape, seed

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height, width."""
        return self._shape

    def __len__(self) -> int:
        return len(self._ids)

    def read(self, indices: IntArray) -> Images:
        """Draw these images: the same ones each time."""
        return self._noise.draw(PerInstance(self._seed, self._noise.kind, self._ids[indices]), self._shape)
