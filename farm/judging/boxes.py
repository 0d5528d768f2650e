"""Boxes of readouts: a run's table of instances into arrays."""

from __future__ import annotations

import numpy as np
import pandas as pd

from farm.api.boxes import BOX_LOST, PREDICTED_BOX, SPREAD_OF_BOX, TRUE_BOX
from farm.measures.boxes import Boxes


def boxes_of(instances: pd.DataFrame) -> Boxes | None:
    """Return the boxes of a table; None where none are predicted.

    Examples
    --------
    >>> table = pd.DataFrame({name: [1.0] for name in (*TRUE_BOX, *PREDICTED_BOX)})
    >>> boxes_of(table).spread is None, boxes_of(pd.DataFrame({"position": [0]})) is None
    (True, True)
    """
    n = len(instances)

    def four(columns: tuple[str, ...]) -> np.ndarray | None:
        if not set(columns) <= set(instances.columns):
            return None
        return instances[list(columns)].to_numpy(dtype=np.float64, na_value=np.nan)

    if (predicted := four(PREDICTED_BOX)) is None:
        return None
    lost = np.full(n, None, dtype=object)
    if BOX_LOST in instances:
        given = instances[BOX_LOST].astype(object)
        lost = given.where(given.notna(), None).to_numpy()
    target = four(TRUE_BOX)
    return Boxes(np.full((n, 4), np.nan) if target is None else target, predicted, four(SPREAD_OF_BOX), lost)
