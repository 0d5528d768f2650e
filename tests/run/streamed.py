"""What streams gave, as columns that tests compare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from farm.api import Batch
from farm.store.logs import CONDITION

NAMES = [field.name for field in fields(Batch) if field.name != "conditions"]


def columns_of(*batches: Batch, n: int | None = None) -> dict[str, NDArray[np.generic]]:
    """Return all columns of the first `n` instances; conditions are called as readouts call them."""
    parts = [
        {name: getattr(batch, name) for name in NAMES}
        | {CONDITION.format(name): values for name, values in batch.conditions.items()}
        for batch in batches
    ]
    assert all(list(part) == list(parts[0]) for part in parts), "all batches have the same conditions"
    return {name: np.concatenate([part[name] for part in parts])[:n] for name in parts[0]}


def same_columns(first: Mapping[str, NDArray[np.generic]], second: Mapping[str, NDArray[np.generic]]) -> bool:
    """Whether both are the same bit for bit."""
    return list(first) == list(second) and all(
        np.array_equal(values, second[name], equal_nan=values.dtype.kind == "f")
        for name, values in first.items()
    )


def most_in_a_row(values: Iterable[object]) -> int:
    """Return how often the same value comes in a row at most."""
    return max(len(list(run)) for _, run in groupby(values))
