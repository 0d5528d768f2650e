"""Boxes in a log: four columns each, of sides that are not swapped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from farm.api.boxes import OF_BOXES, PREDICTED_BOX, SPREAD_OF_BOX, TRUE_BOX
from farm.errors import DataError
from farm.store.csv_table import CsvTable


def lowest_of_box(table: CsvTable) -> dict[str, tuple[float, float]]:
    """Return between which ends the columns of boxes lie; raise where some of four are missing."""
    for four, needed in ((TRUE_BOX, ()), (PREDICTED_BOX, ()), (SPREAD_OF_BOX, PREDICTED_BOX)):
        there = [name for name in four if name in table]
        missing = [name for name in (*four, *needed) if name not in table]
        if there and missing:
            raise DataError(
                f"{table.path}: column '{missing[0]}' is missing beside '{there[0]}'; expected "
                f"{', '.join((*needed, *four))}"
            )
    low = {name: 0.0 if name in SPREAD_OF_BOX else -np.inf for name in OF_BOXES}
    return {name: (low[name], np.inf) for name in (*TRUE_BOX, *PREDICTED_BOX, *SPREAD_OF_BOX)}


def check_boxes(table: CsvTable, columns: Mapping[str, Any]) -> None:
    """Raise where a true box ends before it begins."""
    for start, end in (TRUE_BOX[::2], TRUE_BOX[1::2]):
        if start in columns and (swapped := columns[end] < columns[start]).any():
            row = int(np.argmax(swapped))
            table.fail(row, end, f"at least the {columns[start][row]:g} of '{start}'")
