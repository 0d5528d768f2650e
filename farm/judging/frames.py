"""Judged records as a table for pandas: one row a group, part and monitor, one name a column."""

from __future__ import annotations

from collections.abc import Sequence
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
}
"""The fields that hold others, and those that have a column whether or not a record has them."""
TEXTS: tuple[str, ...] = ("run", "workload", "classifier", "faultload", "category", "policy", "fallback")
TEXTS += ("intervals_by", "failure", "reason")
"""The columns of text in which all may be missing; all that is missing in another is a number."""


def judge(*readouts: Readouts | Path | str) -> pd.DataFrame:
    """Judge every monitor, and the perfect one (`oracle`) beside them: one row a group, part and monitor.

    Parameters
    ----------
    readouts
        Runs' readouts, their folders, campaigns' folders (all finished cells), or logs: CSV or Parquet files
        of decisions and alarms. A folder may be larger than memory: counts are exact then too, and what needs
        every score comes with a bound on its error (`auroc_error`).

    Returns
    -------
    pandas.DataFrame
        Fields of records by their names, those of blocks as `specific_mcc`, `overall_error`,
        `monitor_time_us_median`. What is undefined is NaN, and `reason` says why, field by field. The same as
        JSON is `farm.judging.readouts.judged_records`.

    Examples
    --------
    >>> from farm.testing import make_readouts
    >>> readouts = make_readouts({"mine": [False, True, True]}, is_ood=[False, False, True])
    >>> frame = judge(readouts)
    >>> frame.loc[frame["part"] == "all", ["monitor", "n", "specific_fpr"]].to_dict("records")
    [{'monitor': 'mine', 'n': 3, 'specific_fpr': 0.5}, {'monitor': 'oracle', 'n': 3, 'specific_fpr': 0.0}]
    """
    return records_frame(judged_records(*readouts))


def records_frame(records: Sequence[Record]) -> pd.DataFrame:
    """Return one row a record; whatever the records, the columns of all blocks are there.

    Examples
    --------
    >>> frame = records_frame([{"n": 3, "auroc": None, "undefined": {"auroc": "no scores were given"}}])
    >>> frame[["n", "auroc", "specific_mcc", "reason"]].to_dict("records")
    [{'n': 3, 'auroc': nan, 'specific_mcc': nan, 'reason': 'auroc: no scores were given'}]
    """
    frame = pd.DataFrame([_row(record) for record in records])
    empty = [name for name in frame.columns if frame[name].isna().all()]
    return frame.astype({name: "str" if name in TEXTS else "float64" for name in empty})


def _row(record: Record) -> dict[str, Any]:
    """Return a record with nothing inside of anything else, and the reasons at its end."""
    row: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    absent = {name: None for name in BLOCKS if name not in record}
    for name, value in (record | absent).items():
        if name == "undefined":
            reasons |= value or {}
        elif name in BLOCKS:
            block = dict(zip(BLOCKS[name], value, strict=True)) if isinstance(value, list) else value or {}
            inside = dict.fromkeys(BLOCKS[name]) | block
            reasons |= {f"{name}_{field}": why for field, why in inside.pop("undefined", {}).items()}
            row |= {f"{name}_{field}": one for field, one in inside.items()}
        else:
            row[name] = value
    return row | {"reason": "; ".join(f"{field}: {why}" for field, why in reasons.items()) or None}
