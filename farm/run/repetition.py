"""Two runs of the same: whether what came out is the same, and if not, what may have changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from farm.store.readouts import TIME_COLUMNS, Readouts


def differences(first: Readouts, second: Readouts) -> list[str]:
    """Tell in which readouts two runs differ, times apart; nothing where they are the same bit for bit.

    Examples
    --------
    >>> frame = pd.DataFrame({"id": ["a", "b"], "label": [0, 1], "classifier_time_us": [1.0, 2.0]})
    >>> alarms = pd.DataFrame({"id": [], "monitor": []})
    >>> other = frame.assign(label=[0, 3], classifier_time_us=9.0)
    >>> differences(Readouts(frame, alarms), Readouts(other, alarms))
    ["instances, column 'label': 1 of 2 rows differ, first 'b' (1 and 3), by at most 2"]
    """
    told = list(_frames("instances", first.instances, second.instances))
    monitors = [list(dict.fromkeys(run.alarms["monitor"])) for run in (first, second)]
    told += _presence("alarms", "rows of monitor", *monitors)
    for monitor in (name for name in monitors[0] if name in monitors[1]):
        own = (run.alarms[run.alarms["monitor"] == monitor] for run in (first, second))
        told += _frames(f"alarms of '{monitor}'", *own)
    return told + list(_layers(first.layers, second.layers))


def explanations(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    """Tell from two runs' records what could explain that their readouts differ.

    Examples
    --------
    >>> explanations({"threads": 1, "seed": 0}, {"threads": 2, "seed": 0})
    ['threads: 1 in the first run, 2 in the second']
    """
    told: list[str] = []
    for name, path in _EXPLAIN.items():
        one, other = (_at(record, path) for record in (first, second))
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            inside = [(key, one.get(key), other.get(key)) for key in dict.fromkeys([*one, *other])]
        else:
            inside = [(name, one, other)]
        told += [f"{key}: {a} in the first run, {b} in the second" for key, a, b in inside if a != b]
        if name.startswith("commit") and one == other and str(one).endswith("+"):
            told.append(f"{name}: {one} in both, where '+' says that files were changed since")
    for record, which in ((first, "first"), (second, "second")):
        failed = [note for note in record.get("monitors") or () if note.get("failure")]
        told += [f"monitor '{note['name']}' failed in the {which} run: {note['failure']}" for note in failed]
    return told


_EXPLAIN: Mapping[str, tuple[str, ...]] = {
    "seed": ("seed",),
    "batch size": ("batch_size",),
    "threads": ("threads",),
    "versions": ("versions",),
    "machine": ("hardware", "machine"),
    "system": ("hardware", "system"),
    "processor": ("hardware", "processor"),
    "commit of the testbed": ("testbed_commit",),
    "commit of the experiment": ("experiment_commit",),
    "content of the workload": ("workload", "hash"),
    "weights of the classifier": ("classifier", "digest"),
}
"""What readouts may depend on beside the experiment, and where a record keeps it."""


def _at(record: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        record = record.get(key) if isinstance(record, Mapping) else None
    return record


def _presence(where: str, what: str, first: list[str], second: list[str]) -> Iterator[str]:
    """Tell what only one of them has, and whether the rest stands in another order."""
    for names, others, which in ((first, second, "first"), (second, first, "second")):
        for name in (name for name in names if name not in others):
            yield f"{where}: the {which} run alone has {what} '{name}'"
    if [name for name in first if name in second] != [name for name in second if name in first]:
        yield f"{where}: the {what}s stand in another order"


def _frames(where: str, first: pd.DataFrame, second: pd.DataFrame) -> Iterator[str]:
    names = [[name for name in frame.columns if name not in TIME_COLUMNS] for frame in (first, second)]
    yield from _presence(where, "column", *names)
    n = min(len(first), len(second))
    if len(first) != len(second):
        yield f"{where}: {len(first)} rows in the first run, {len(second)} in the second"
    for name in (name for name in names[0] if name in names[1]):
        one, other = (frame[name].iloc[:n] for frame in (first, second))
        rows = np.flatnonzero(~_same(one, other))
        if len(rows):
            values = one.iloc[rows[0]], other.iloc[rows[0]]
            shown = " and ".join(_shown(value) for value in values)
            largest = _largest(one.iloc[rows], other.iloc[rows])
            yield (
                f"{where}, column '{name}': {len(rows)} of {n} rows differ, "
                f"first '{first['id'].iloc[rows[0]]}' ({shown}){largest}"
            )


def _same(one: pd.Series[Any], other: pd.Series[Any]) -> NDArray[np.bool_]:
    both_missing = one.isna().to_numpy() & other.isna().to_numpy()
    kind = None if _numeric(one) and _numeric(other) else object  # else text, which comes in several types
    return np.asarray(both_missing | (one.to_numpy(dtype=kind) == other.to_numpy(dtype=kind)), dtype=np.bool_)


def _numeric(column: pd.Series[Any]) -> bool:
    return bool(pd.api.types.is_numeric_dtype(column))


def _largest(one: pd.Series[Any], other: pd.Series[Any]) -> str:
    """Tell how far numbers are apart at most; nothing where there are none in both."""
    for column in (one, other):
        if not _numeric(column) or pd.api.types.is_bool_dtype(column):
            return ""
    apart = np.abs(one.to_numpy(dtype=np.float64) - other.to_numpy(dtype=np.float64))
    apart = apart[np.isfinite(apart)]
    return f", by at most {apart.max():.3g}" if len(apart) else ""


def _shown(value: Any) -> str:
    plain = value.item() if isinstance(value, np.generic) else value
    return "nothing" if pd.isna(plain) else repr(plain)


def _layers(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[str]:
    yield from _presence("layers", "layer", list(first), list(second))
    for name in (name for name in first if name in second):
        one, other = np.asarray(first[name]), np.asarray(second[name])
        if one.shape != other.shape or one.dtype != other.dtype:
            looks = [f"{array.dtype} {array.shape}" for array in (one, other)]
            yield f"layer '{name}': {looks[0]} in the first run, {looks[1]} in the second"
            continue
        differ = ~((one == other) | (np.isnan(one) & np.isnan(other)))
        if rows := np.flatnonzero(differ.any(axis=tuple(range(1, differ.ndim)))).tolist():
            apart = np.abs(one[differ].astype(np.float64) - other[differ])
            largest = f", by at most {np.nanmax(apart):.3g}" if np.isfinite(apart).any() else ""
            yield (
                f"layer '{name}': {len(rows)} of {len(one)} rows differ, first at position {rows[0]}{largest}"
            )
