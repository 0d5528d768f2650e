"""A bounded number of instances, drawn over all batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from farm.api import Observation


def drawn(
    batches: Callable[[], Iterable[Observation]], most: int, rng: np.random.Generator
) -> Iterator[Observation]:
    """Yield what was drawn of each batch, in order; the batches are gone through once to count them.

    Where there are no more than `most`, that is all of them.
    """
    n = sum(len(observation) for observation in batches())
    chosen = np.sort(rng.permutation(n)[:most])
    start = 0
    for observation in batches():
        end = start + len(observation)
        rows = chosen[np.searchsorted(chosen, start) : np.searchsorted(chosen, end)] - start
        if len(rows):
            yield observation if len(rows) == len(observation) else observation.take(rows)
        start = end
