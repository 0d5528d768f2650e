"""The tables that a run and a benchmark set leave as Parquet: read, and checked to hold what they should."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from farm.api.boxes import BOX_LOST, OF_BOXES
from farm.api.files import check_regular
from farm.errors import DataError
from farm.store.class_probabilities import is_probability
from farm.store.logs import condition_columns
from farm.store.parquet_table import told_parquet

INSTANCES, ALARMS = "instances.parquet", "alarms.parquet"
NEEDED: Mapping[str, Collection[str]] = {
    INSTANCES: ("position",),
    ALARMS: ("position", "monitor", "alarm"),
    "index.parquet": ("order", "ids", "labels", "is_ood"),
}
"""The columns that a table has to have, without a gap."""

_WHOLE = ("position", "order", "label", "labels", "predicted", "decision", "episode")
_TRUE_OR_FALSE = ("is_ood", "alarm", "cancelled")
_NUMBERS = (
    *("confidence", "label_probability", "brier", "severity", "score"),
    *(name for name in OF_BOXES if name != BOX_LOST),
)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _is_plain(kind: pa.DataType) -> bool:
    return not (pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _rule(column: str) -> tuple[Callable[[pa.DataType], bool], str]:
    if condition_columns([column]):
        return _is_plain, "text or numbers"  # whatever the condition is called
    if is_probability(column):
        return _is_number, "numbers"
    if column in _WHOLE:
        return _is_number, "whole numbers"
    if column in _TRUE_OR_FALSE:
        return lambda kind: pa.types.is_boolean(kind) or pa.types.is_integer(kind), "true or false"
    if column in _NUMBERS or column.startswith("fault_") or column.endswith("_time_us"):
        return _is_number, "numbers"
    return _is_plain, "text or numbers"


def read_schema(path: Path) -> pa.Schema:
    """Return the columns of a run's table, with their types."""
    with told_parquet(path):
        check_regular(path)
        return pq.read_schema(path)


def check_columns(path: Path) -> list[str]:
    """Return the columns of a run's table, checking that each is of its type, and that none is missing."""
    schema = read_schema(path)
    names: list[str] = schema.names
    for name, times in Counter(names).items():
        if times > 1:
            raise DataError(f"{path}: column '{name}' occurs twice; expected distinct names")
        kind, (is_right, expected) = schema.field(name).type, _rule(name)
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if not is_right(kind) and not pa.types.is_null(kind):
            raise DataError(f"{path}: column '{name}' is of type {kind}; expected {expected}")
    for name in NEEDED[path.name]:
        if name not in names:
            raise DataError(f"{path}: column '{name}' is missing; found: {', '.join(names)}")
    return names


def read_frame(path: Path, read: Callable[[list[str]], pd.DataFrame] | None = None) -> pd.DataFrame:
    """Return a run's table, checked; `read` reads the columns that are there in a way of its own."""
    names = check_columns(path)
    with told_parquet(path):
        frame = pd.read_parquet(path) if read is None else read(names)
    for name in NEEDED[path.name]:
        if gaps := int(frame[name].isna().sum()):
            raise DataError(
                f"{path}: column '{name}' has no value in {gaps} of {len(frame)} rows; expected one"
            )
    return frame


def read_columns(path: Path, **options: Any) -> pa.Table:
    """Return a run's table as Arrow has it, checked."""
    check_columns(path)
    with told_parquet(path):
        return pq.read_table(path, **options)
