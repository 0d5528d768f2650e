"""Passes with dropout of one network: what lies before the first dropout runs once for all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from farm.api import StrArray, check_number
from farm.errors import ParameterError, suggestion
from models._branches import split_at_dropout
from models._masks import Draws, Mask, OwnMask, SharedMask

TOGETHER = 16
"""So many images go through passes at once, or as many as have PIXELS: more leave the processor's caches."""
PIXELS = TOGETHER * 32 * 32
PIXELS_OWN = 4 * PIXELS
"""Likewise, where each image has masks of its own: more at once are faster to draw."""
VALUES = 2**20
"""Passes with masks of each image's own run at once where they begin with at most so many values in all."""

Answers = Callable[[Any, Sequence[int]], list[Tensor]]


def dropouts(module: nn.Module, after: Mapping[str, float]) -> dict[str, float]:
    """Return by the names of a module's parts at which rate their outputs are dropped.

    Parameters
    ----------
    module
        Its parts that are dropout drop at their own rates.
    after
        Other parts, and their rates.
    """
    parts = {part: m for part, m in module.named_modules() if part}
    for name, rate in after.items():
        if name not in parts:
            hint = suggestion(name, parts)
            raise ParameterError(f"dropout_after names '{name}', which the module has not; {hint}")
        check_number(f"dropout_after '{name}'", rate, above=0, high=0.95)
    return {part: m.p for part, m in parts.items() if isinstance(m, nn.Dropout) and m.p > 0} | {**after}


class DropoutPasses:
    """Runs a module several times, each time with other values dropped.

    Parameters
    ----------
    preprocessing, module
        What runs, in evaluation mode.
    rates
        As `dropouts` has them.
    seed
        What masks are drawn by.
    answers
        Names what the module gave for images of a shape.
    """

    def __init__(
        self,
        preprocessing: nn.Module,
        module: nn.Module,
        rates: Mapping[str, float],
        seed: int,
        answers: Answers,
    ) -> None:
        self._places = {name: (module.get_submodule(name), rate) for name, rate in rates.items()}
        self._halves = split_at_dropout(preprocessing, module, [part for part, _ in self._places.values()])
        self._seed, self._answers = seed, answers
        self._masks: dict[Any, Tensor] = {}

    def run(self, images: Tensor, passes: int, ids: StrArray | None) -> list[Tensor]:
        """Return each answer: passes x images x columns.

        Without ids a pass drops the same of all images; with ids, of each what its own id says.
        """
        pixels = PIXELS if ids is None else PIXELS_OWN
        size = max(TOGETHER, pixels // math.prod(images.shape[2:]))
        before, rest = self._halves
        chunks = []
        for part, at in ((images[at : at + size], at) for at in range(0, max(len(images), 1), size)):
            shared = before(part)
            if ids is None:
                found = [self._shared(rest, shared, number) for number in range(passes)]
            else:
                found = self._by_id(rest, shared, passes, ids[at : at + size])
            given = zip(*(self._answers(one, part.shape) for one in found), strict=True)
            chunks.append([torch.cat(one).unflatten(0, (passes, len(part))) for one in given])
        return [torch.cat(parts, dim=1) for parts in zip(*chunks, strict=True)]

    def _shared(self, rest: nn.Module, shared: Any, number: int) -> Any:
        def mask(name: str, rate: float) -> Mask:
            return SharedMask(self._masks, self._seed, f"member {number} {name}", rate)

        return self._masked(rest, shared, mask)

    def _by_id(self, rest: nn.Module, shared: Any, passes: int, ids: StrArray) -> list[Any]:
        draws = Draws(self._seed, ids, passes)
        step = passes if passes * _size(shared) <= VALUES else 1
        groups = [range(at, min(at + step, passes)) for at in range(0, passes, step)]
        return [
            self._masked(rest, _repeated(shared, len(group)), partial(OwnMask, draws, group))
            for group in groups
        ]

    def _masked(self, rest: nn.Module, values: Any, mask: Callable[[str, float], Mask]) -> Any:
        handles = [
            part.register_forward_hook(mask(name, rate)) for name, (part, rate) in self._places.items()
        ]
        try:
            return rest(values)
        finally:
            for handle in handles:
                handle.remove()


def _size(shared: Tensor | Mapping[str, Tensor]) -> int:
    return shared.numel() if isinstance(shared, Tensor) else sum(one.numel() for one in shared.values())


def _repeated(shared: Any, times: int) -> Any:
    """Return copies of all rows, one pass on another."""
    if isinstance(shared, Tensor):
        return torch.cat([shared] * times)  # as it lies in memory, other than `repeat`
    return {name: _repeated(values, times) for name, values in shared.items()}
