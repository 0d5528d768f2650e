"""Frames of numbers in every format: what people see of them is rounded, CSV and JSON have all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pandas as pd

from farm.judging.inspection import Look, LookCell
from farm.report.cells import DASH, csv_cell
from farm.report.looks import render_looks
from farm.statistics.wording import p_cell


def render_frame(
    frame: pd.DataFrame, format: str, *, title: str = "", shown: Sequence[str] = (), width: int = 100
) -> str:
    """Write a frame as `table`, `markdown`, `latex`, `csv` or `json`.

    Parameters
    ----------
    frame
        What to write; what is missing is empty in CSV and null in JSON.
    shown
        The columns that people see; all where none is named.

    Examples
    --------
    >>> frame = pd.DataFrame({"monitor": ["odin", "=oob"], "p_holm": [0.0412, None]})
    >>> print(render_frame(frame, "csv"), end="")
    monitor,p_holm
    odin,0.0412
    '=oob,
    """
    if format == "csv":
        return str(frame.map(csv_cell).to_csv(index=False, lineterminator="\n"))
    if format == "json":
        return json.dumps(records_of(frame), indent=2, allow_nan=False) + "\n"
    return render_looks([look_of(frame, title, shown)], format, width=width)


def records_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a frame's rows for JSON."""
    rows = frame.to_dict("records")
    return [{str(name): None if pd.isna(value) else value for name, value in row.items()} for row in rows]


def look_of(frame: pd.DataFrame, title: str = "", shown: Sequence[str] = ()) -> Look:
    """Return a frame as people see it, without columns that have nothing in them."""
    names = list(frame[list(shown or frame.columns)].dropna(axis=1, how="all").columns)
    rows: list[tuple[LookCell, ...]] = [
        tuple(_cell(name, value) for name, value in zip(names, row, strict=True))
        for row in frame[names].itertuples(index=False, name=None)
    ]
    if not rows:
        return Look(f"{title}: nothing to show", (), [])
    return Look(title, tuple(name.replace("_", " ") for name in names), rows)


def _cell(name: str, value: Any) -> LookCell:
    if pd.isna(value):
        return DASH
    if not isinstance(value, float):
        return str(value)
    is_p = name == "floor" or "p" in name.split("_")
    return p_cell(value) if is_p else f"{value:.3f}"
