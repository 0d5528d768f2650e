"""What passes with dropout drop: the same of all images, or of each image what its id says."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from farm.api import PerInstance, StrArray, derived_seed

MOST_MASKS = 2**26
"""Masks are kept up to so many bytes; what goes beyond is drawn again for every batch."""
SMALL = 2**12
"""Of so many values at most, what all passes drop of an image is one draw, which is faster."""
STEPS = 2**16
"""Rates are rounded to so many steps where each image has masks of its own."""


class Mask(ABC):
    """Drops values in one pass, as a hook of one place; what runs again in that pass drops others."""

    def __init__(self, name: str, p: float) -> None:
        self._name, self._p, self._calls = name, p, 0

    def __call__(self, module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        """Drop some of what a place gives."""
        del module, inputs  # in evaluation, dropout gives what it got
        mask = self._mask(output)
        self._calls += 1
        return output * mask

    @abstractmethod
    def _mask(self, output: Tensor) -> Tensor:
        """Return what the output is multiplied by."""


class SharedMask(Mask):
    """Drops the same values of every image."""

    def __init__(self, kept: dict[Any, Tensor], seed: int, name: str, p: float) -> None:
        super().__init__(name, p)
        self._kept, self._seed = kept, seed

    def _mask(self, output: Tensor) -> Tensor:
        key = self._name, self._calls, output.shape[1:], output.dtype
        if (mask := self._kept.get(key)) is None:
            mask = self._drawn(output)
            if sum(one.nbytes for one in self._kept.values()) + mask.nbytes <= MOST_MASKS:
                self._kept[key] = mask
        return mask

    def _drawn(self, output: Tensor) -> Tensor:
        seed = derived_seed(self._seed, self._name, self._calls)
        drawn = torch.rand((1, *output.shape[1:]), generator=torch.Generator().manual_seed(seed))
        left = (drawn >= self._p).to(output)
        if output.dim() == 4 and not output.is_contiguous():  # values side by side that are multiplied so
            left = left.to(memory_format=torch.channels_last)
        return left / (1 - self._p) if self._p < 1 else left


class Draws:
    """The random bits of some images by their ids, of each pass and place."""

    def __init__(self, seed: int, ids: StrArray, passes: int) -> None:
        self._seed, self._ids, self._passes = seed, ids, passes
        self._kept: dict[str, NDArray[np.uint16]] = {}

    def bits(self, name: str, numbers: range, shape: tuple[int, ...]) -> NDArray[np.uint16]:
        """Return bits of these passes: passes x images x shape. They depend on no other pass or image."""
        if math.prod(shape) > SMALL:
            return np.stack(
                [
                    PerInstance(self._seed, f"{name} pass {number}", self._ids).bits(*shape)
                    for number in numbers
                ]
            )
        if name not in self._kept:
            drawn = PerInstance(self._seed, name, self._ids).bits(self._passes, *shape)
            self._kept[name] = drawn.swapaxes(0, 1)
        return self._kept[name][numbers.start : numbers.stop]


class OwnMask(Mask):
    """Drops of every image what its id says, in several passes at once, whose rows stand one on another."""

    def __init__(self, draws: Draws, numbers: range, name: str, p: float) -> None:
        super().__init__(name, p)
        self._draws, self._numbers = draws, numbers

    def _mask(self, output: Tensor) -> Tensor:
        dropped = round(self._p * STEPS)
        # Of maps the channels come last, as networks that are fast on a processor have them in memory.
        channels, *places = output.shape[1:]
        bits = self._draws.bits(f"{self._name} {self._calls}", self._numbers, (*places, channels))
        left = (bits >= dropped) * np.float32(STEPS / max(STEPS - dropped, 1))
        return torch.from_numpy(left).reshape(-1, *places, channels).movedim(-1, 1).to(output)
