"""Records for people and for machines: one function, five formats."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from farm.errors import ParameterError, suggestion
from farm.report.latex import latex
from farm.report.markdown import markdown

Records = Sequence[Mapping[str, Any]]


def render(records: Records, format: str = "table", *, width: int = 100, colour: bool = False) -> str:
    """Write judged records.

    Parameters
    ----------
    records
        What `judge` gives; those of several runs may stand one after the other.
    format
        `table` for a terminal, `markdown`, `latex`: what a person needs to see. `json`, `csv`: everything.
    width, colour
        Of the terminal; other formats have neither.

    Examples
    --------
    >>> print(render([{"n": 3, "specific": {"mcc": None, "undefined": {"mcc": "no alarm"}}}], "csv"), end="")
    n,specific.mcc,specific.undefined
    3,,mcc: no alarm
    """
    if format == "table":
        # Only a terminal's tables need rich.
        from farm.report import terminal

        return terminal.text(records, width, colour=colour)
    if format not in _WRITERS:
        raise ParameterError(f"format '{format}' is unknown; {suggestion(format, FORMATS)}")
    return _WRITERS[format](records)


def to_json(records: Records) -> str:
    """Write records as they are."""
    return json.dumps(list(records), indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def to_csv(records: Records) -> str:
    """Write one line a record; nested fields are named `specific.mcc`, and null is empty."""
    flat = [_flat(record) for record in records]
    # Where a block is null its fields are known from other records, and stay empty.
    nested = {name.partition(".")[0] for row in flat for name in row if "." in name}
    columns = [name for name in dict.fromkeys(name for row in flat for name in row) if name not in nested]
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


def _flat(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if name == "undefined":
            flat[prefix + name] = "; ".join(f"{field}: {reason}" for field, reason in value.items())
        elif isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        elif isinstance(value, list | tuple):
            flat[prefix + name] = " ".join(str(item) for item in value)
        else:
            flat[prefix + name] = value
    return flat


_WRITERS: dict[str, Callable[[Records], str]] = {
    "json": to_json,
    "csv": to_csv,
    "latex": latex,
    "markdown": markdown,
}
FORMATS = ("table", *_WRITERS)
"""The names that `render` knows."""
