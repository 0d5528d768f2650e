"""The conditions in which images of several splits were taken, where one tells what another does not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farm.api import Split
from farm.run.following import Origin

Kind = type[np.str_] | type[np.float64]


def kinds_of(splits: Iterable[Split]) -> Mapping[str, Kind]:
    """Say which conditions there are: of numbers, or of words where it is so in some split."""
    kinds: dict[str, Kind] = {}
    for name, values in (one for split in splits for one in split.conditions.items()):
        are_numbers = np.issubdtype(values.dtype, np.number)
        kinds[name] = kinds.get(name, np.float64) if are_numbers else np.str_
    return kinds


def condition_of(origin: Origin, name: str, kind: Kind) -> NDArray[Any]:
    """Return a condition of some images; what is not known is "" or NaN."""
    split, places = origin.split, origin.places
    if name not in split.conditions:
        return np.full(len(places), "" if kind is np.str_ else np.nan)
    values = split.conditions[name][places]
    found = values.astype(kind, copy=False)
    # Numbers among words: NaN is none of these.
    return np.where(found == "nan", "", found) if kind is np.str_ and values.dtype.kind == "f" else found
