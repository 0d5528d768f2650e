"""The classifier's probability of every class, as columns of instances, where a run was to keep them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from farm.errors import DataError

PROBABILITY = "probability {}"
"""What a column of instances is called that holds the probability of a class, whatever that is called."""


def is_probability(column: str) -> bool:
    """Whether a column of instances holds the probability of a class.

    Examples
    --------
    >>> is_probability("probability of_label"), is_probability("label_probability")
    (True, False)
    """
    return column.startswith(PROBABILITY.format(""))


def without_probabilities(columns: Iterable[str]) -> list[str]:
    """Return the columns but those."""
    return [name for name in columns if not is_probability(name)]


def probability_frame(probabilities: NDArray[np.float32], classes: Sequence[str]) -> pd.DataFrame:
    """Return a column for each class.

    Examples
    --------
    >>> list(probability_frame(np.array([[0.7, 0.3]], np.float32), ["stop", "yield"]))
    ['probability stop', 'probability yield']
    """
    return pd.DataFrame(probabilities, columns=[PROBABILITY.format(name) for name in classes], copy=False)


def class_probabilities(instances: pd.DataFrame, classes: Sequence[str]) -> NDArray[np.float32]:
    """Return the probabilities that were kept, instances x classes; raise where they were not.

    Examples
    --------
    >>> kept = probability_frame(np.array([[0.75, 0.25]], np.float32), ["stop", "yield"])
    >>> class_probabilities(kept, ["yield", "stop"])
    array([[0.25, 0.75]], dtype=float32)
    """
    columns = [PROBABILITY.format(name) for name in classes]
    missing = [name for name in columns if name not in instances]
    if missing or not columns:
        what = f"column '{missing[0]}' is missing" if missing else "the classes are not told"
        raise DataError(
            f"instances: {what}; expected the classifier's probability of each class: run it with "
            "`readouts: {probabilities: true}`, and load it with `probabilities=True`, if to be judged"
        )
    found: NDArray[np.float32] = np.ascontiguousarray(instances[columns].to_numpy(np.float32))
    if (unknown := np.isnan(found).any(axis=1)).any():
        raise DataError(
            f"instances: {int(unknown.sum()):,} of {len(found):,} have no probabilities, the first in row "
            f"{int(np.argmax(unknown))}; expected those of each"
        )
    return found
