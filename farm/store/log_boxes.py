"""Boxes in a log: four columns each, all or none of them told, in the image and not swapped."""

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
    # How large images are a log does not tell, but where they begin is known.
    low = {name: -np.inf if name in PREDICTED_BOX else 0.0 for name in OF_BOXES}
    return {name: (low[name], np.inf) for name in (*TRUE_BOX, *PREDICTED_BOX, *SPREAD_OF_BOX)}


def check_boxes(table: CsvTable, columns: Mapping[str, Any]) -> None:
    """Raise where a box has some sides only, or a true one ends before it begins."""
    for four in (TRUE_BOX, PREDICTED_BOX, SPREAD_OF_BOX):
        if four[0] in columns:
            missing = np.stack([np.isnan(columns[name]) for name in four])
            if (part := missing.any(axis=0) & ~missing.all(axis=0)).any():
                row = int(np.argmax(part))
                expected = "a number, as on the box's other sides, or all four empty"
                table.fail(row, four[int(np.argmax(missing[:, row]))], expected)
    for start, end in (TRUE_BOX[::2], TRUE_BOX[1::2]):
        if start in columns and (swapped := columns[end] < columns[start]).any():
            row = int(np.argmax(swapped))
            table.fail(row, end, f"at least the {columns[start][row]:g} of '{start}'")
