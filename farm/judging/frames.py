"""Judged records as a table for pandas: one row a group, part and monitor, one name a column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from farm.judging.intervals import BOUNDED
from farm.judging.readouts import judged_records
from farm.judging.record import Record
from farm.measures import Counts
from farm.measures.accumulate import QUANTILES
from farm.measures.delays import Delays
from farm.measures.detection import detection_measures
from farm.store.readouts import Readouts

_TASK: tuple[str, ...] = ("tp", "fp", "tn", "fn", *detection_measures(Counts(tp=1, fp=1, tn=1, fn=1)))
_TASK += tuple(f"{name}_{end}" for name in BOUNDED for end in ("low", "high"))
_TIMES = ("n", *QUANTILES)
_OUTCOMES = tuple(Delays().by_outcome)
_DELAY = ("n", *_OUTCOMES, "empty", "median", "p95", "p95_bound")
_DELAY += (*(f"{name}_seconds" for name in _DELAY[-3:]), "missed_share")
BLOCKS = {
    "specific": _TASK,
    "overall": _TASK,
    "detection_delay": _DELAY,
    "cancellation_delay": _DELAY,
    "monitor_time_us": _TIMES,
    "classifier_time_us": _TIMES,
    "severity_range": ("low", "high"),
    "image_size": ("height", "width"),
}
"""The fields that hold others, and those that have a column whether or not a record has them."""
UNITS = {
    "detection_delay": "detection_delay_instances",
    "cancellation_delay": "cancellation_delay_instances",
    "false_alarms_per_1000": "false_alarms_per_1000_instances",
}
"""Columns that tell their unit, where a field's name does not."""
TEXTS = ("run", "workload", "classifier", "faultload", "category", "policy", "fallback", "intervals_by")
"""The columns of text in which all may be missing; all that is missing in another is a number."""
NO_COLUMN = ("undefined", "failure", "guarantees")
"""The fields of records that frames have no column of; promises are rows of a frame of `farm.compare`."""
WHERE = ("run", "workload", "classifier", "faultload", "category", "severity", "part", "monitor")
"""What says which row of the judged frame a reason is about."""


def judge(*readouts: Readouts | Path | str, reasons: bool = False) -> pd.DataFrame:
    """Judge every monitor, and the perfect one (`oracle`) beside them: one row a group, part and monitor.

    Parameters
    ----------
    readouts
        Runs' readouts, their folders, campaigns' folders (all finished cells), or logs: CSV or Parquet files
        of decisions and alarms. A folder may be larger than memory: counts are exact then too, and what needs
        every score comes with a bound on its error (`auroc_error`).
    reasons
        Give the reasons instead: one row a value that is undefined, with its `column` and the `reason`.

    Returns
    -------
    pandas.DataFrame
        Fields of records by their names, those of blocks as `specific_mcc`, `overall_error`,
        `monitor_time_us_median`. What is undefined is NaN; `reasons` tells why, and why a monitor `failed`.
        The same as JSON is `farm.judging.readouts.judged_records`.

    Examples
    --------
    >>> from farm.testing import make_readouts
    >>> readouts = make_readouts({"mine": [False, True, True]}, is_ood=[False, False, True])
    >>> frame = judge(readouts)
    >>> frame.loc[frame["part"] == "all", ["monitor", "n", "specific_fpr"]].to_dict("records")
    [{'monitor': 'mine', 'n': 3, 'specific_fpr': 0.5}, {'monitor': 'oracle', 'n': 3, 'specific_fpr': 0.0}]
    >>> judge(readouts, reasons=True).loc[0, ["part", "monitor", "column", "reason"]].tolist()
    ['all', 'mine', 'auroc', 'no scores were given']
    """
    records = judged_records(*readouts)
    return reasons_frame(records) if reasons else records_frame(records)


def records_frame(records: Sequence[Record]) -> pd.DataFrame:
    """Return one row a record; whatever the records, the columns of all blocks are there.

    Examples
    --------
    >>> frame = records_frame([{"n": 3, "auroc": None, "undefined": {"auroc": "no scores were given"}}])
    >>> frame[["n", "auroc", "specific_mcc", "failed"]].to_dict("records")
    [{'n': 3, 'auroc': nan, 'specific_mcc': nan, 'failed': False}]
    """
    frame = pd.DataFrame([_row(record) for record in records])
    empty = [name for name in frame.columns if frame[name].isna().all()]
    return frame.astype({name: "str" if name in TEXTS else "float64" for name in empty})


def reasons_frame(records: Sequence[Record]) -> pd.DataFrame:
    """Return one row a value that is undefined: where it is, in which column, and why."""
    rows = [
        {**{name: record.get(name) for name in WHERE}, "column": column, "reason": reason}
        for record in records
        for column, reason in _reasons(record)
    ]
    return pd.DataFrame(rows, columns=[*WHERE, "column", "reason"]).astype({"severity": "float64"})


def _row(record: Record) -> dict[str, Any]:
    """Return a record with nothing inside of anything else."""
    row: dict[str, Any] = {}
    for name, value in (record | {name: None for name in BLOCKS if name not in record}).items():
        if name in BLOCKS:
            block = dict(zip(BLOCKS[name], value, strict=True)) if isinstance(value, list) else value or {}
            inside = dict.fromkeys(BLOCKS[name]) | block
            row |= {_column(name, field): one for field, one in inside.items() if field != "undefined"}
        elif name not in NO_COLUMN:
            row[_column(name)] = value
    return row | {"failed": record.get("failure") is not None}


def _reasons(record: Record) -> Iterator[tuple[str, str]]:
    for name, why in (record.get("undefined") or {}).items():
        for field in BLOCKS.get(name, (None,)):
            yield _column(name, field), why
    for name in BLOCKS:
        if isinstance(block := record.get(name), Mapping):
            for field, why in block.get("undefined", {}).items():
                yield _column(name, field), why
    if record.get("failure") is not None:
        yield "failed", record["failure"]


def _column(name: str, field: str | None = None) -> str:
    in_seconds = field is not None and field.endswith("_seconds")
    own = name if in_seconds else UNITS.get(name, name)
    return own if field is None else f"{own}_{field}"
