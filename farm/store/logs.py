"""A log from anywhere: one file of decisions and alarms, to be judged as if the testbed had run them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from farm.api.arrays import NO_ANSWER, BoolArray, IntArray
from farm.api.boxes import BOX_LOST, OF_BOXES
from farm.errors import DataError
from farm.measures.calibration import MOST_BRIER
from farm.store.csv_table import Codes, CsvTable, Rows, taken
from farm.store.files import file_digest
from farm.store.log_boxes import check_boxes, lowest_of_box
from farm.store.log_rows import MonitorRows, monitor_rows
from farm.store.parquet_table import table_of

SUFFIXES = (".csv", ".parquet")
REQUIRED = ("predicted", "alarm")
LABEL_CHANCE = "label_chance"
"""The chance with which an instance was chosen to be labelled, where not all were."""
LEAST_CHANCE = 1e-4
"""One that is chosen less often would count for more than all others together."""
OPTIONAL = (
    "label",
    LABEL_CHANCE,
    "is_ood",
    "id",
    "track",
    "timestamp",
    "monitor",
    "score",
    "cancelled",
    "decision",
    "confidence",
    "label_probability",
    "brier",
    "category",
    "faultload",
    "severity",
    "workload",
    "classifier",
    "monitor_time_us",
    "classifier_time_us",
    *OF_BOXES,
)
_TYPES = {
    **dict.fromkeys(("score", "severity", "monitor_time_us", "classifier_time_us"), pa.float64()),
    LABEL_CHANCE: pa.float64(),
    **dict.fromkeys(("confidence", "label_probability", "brier"), pa.float64()),
    **dict.fromkeys((name for name in OF_BOXES if name != BOX_LOST), pa.float64()),
    "id": pa.string(),
    "timestamp": pa.string(),
}
"""The columns that do not hold a few names, classes, or yes and no."""
ALARM_COLUMNS = ("position", "id", "monitor", "score", "alarm", "cancelled", "decision", "monitor_time_us")

_YES_NO = {"0": 0, "false": 0, "1": 1, "true": 1}
_YES_NO_WORDS = "0, 1, true or false"
_OF_CLASSES = {
    "predicted": "as a label where no right answer exists",
    "label": "as a label where no right answer exists",
    "decision": "where no decision was acted upon",
}
"""The columns of classes, and what -1 may mean."""
CONDITION = "condition {}"
"""What a column of instances is called that tells a condition, such as the weather."""
_ABSENT = -2
"""Stands for a class that is missing."""
_SAME = (
    "label",
    LABEL_CHANCE,
    "predicted",
    "is_ood",
    "category",
    "faultload",
    "severity",
    "track",
    *OF_BOXES,
)
"""What rows of several monitors about one instance have to agree on."""


class Log(NamedTuple):
    """What `judge` takes: `judge(*read_log(path))`."""

    instances: pd.DataFrame
    alarms: pd.DataFrame
    run: dict[str, Any]


def condition_columns(columns: Iterable[str]) -> dict[str, str]:
    """Return those of the columns that tell conditions, by the conditions' names.

    Examples
    --------
    >>> condition_columns(["severity", "condition weather"])
    {'weather': 'condition weather'}
    """
    before, _ = CONDITION.split("{}")
    return {name.removeprefix(before): name for name in columns if name.startswith(before)}


def read_log(path: Path | str, conditions: Sequence[str] = (), *, to_judge: bool = False) -> Log:
    """Read decisions and alarms from a CSV or Parquet file, one row an instance and monitor.

    Parameters
    ----------
    path
        Needs the columns `predicted` and `alarm`; reads also those of `OPTIONAL`. Labels are whole numbers
        or names of classes, -1 where no right answer exists. A `decision` is the class acted upon, -1 where
        none; where it is not cancelled it is what was predicted. With several monitors, rows that share an
        `id` are about one instance; without that column the first row of each monitor is, the second, and so
        on. Instances of one `track`, such as the frames of a drive, resemble each other. A `timestamp`, a
        number or a date and time, tells their order, which is else that of the rows.
    conditions
        Other columns to read, of what is the same for all monitors, such as the weather.
    to_judge
        Whether alarms need no ids of instances, nor what follows from other columns or is nowhere known, and
        their monitors are categories: less than half the memory.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "log.csv"
    ...     _ = path.write_text("label,predicted,alarm\\nstop,stop,0\\nyield,stop,1\\n")
    ...     log = read_log(path)
    >>> log.run["classes"], log.instances["label"].tolist(), log.alarms["alarm"].tolist()
    (['stop', 'yield'], [0, 1], [False, True])
    """
    if not Path(path).exists():
        raise DataError(
            f"{path} does not exist; expected a folder that `farm run` wrote, or a log (.csv or .parquet)"
        )
    table = table_of(Path(path), types=_TYPES, only=(*REQUIRED, *OPTIONAL, *conditions))
    ignored = [name for name in table.check_columns(REQUIRED, OPTIONAL) if name not in conditions]
    conditions = [name for name in conditions if name in table and name not in (*REQUIRED, *OPTIONAL)]
    coded, classes = _classes(table)
    columns = _columns(table, conditions) | {
        name: coded[name] for name in ("label", "predicted") if name in coded
    }
    monitors = monitor_rows(table)
    _check_same(table, monitors, {name: columns[name] for name in (*_SAME, *conditions) if name in columns})
    moments = _moments(table, monitors.first) if "timestamp" in table else None
    if moments is not None:
        order = np.argsort(moments, kind="stable")
        monitors, moments = monitors.along(order), moments[order]
    instances = _instances(table, columns, monitors.first, conditions, lean=to_judge)
    if moments is not None:
        instances["timestamp"] = moments
    run = {
        "name": table.path.stem,
        "workload": {"name": instances["workload"].iloc[0]},
        "classifier": {"name": _only(table, "classifier")},
        "classes": classes,
        "monitors": [{"name": name} for name in monitors.names],
        "log": {"file": str(path), "digest": file_digest(table.path), "ignored_columns": ignored},
    }
    return Log(instances, _alarms(table, coded, monitors, None if to_judge else instances["id"]), run)


def _columns(table: CsvTable, conditions: Sequence[str]) -> dict[str, Any]:
    """Return, for every row, what is said of the instance beside its classes, as numbers and codes."""
    names = ("category", "faultload", "track", BOX_LOST, *conditions)
    found: dict[str, Any] = {name: table.coded(name)[0] for name in names if name in table}
    if "is_ood" in table:
        found["is_ood"] = table.codes("is_ood", _YES_NO, _YES_NO_WORDS, missing=-1)
    ends = {
        "confidence": (-np.inf, np.inf),
        "label_probability": (0.0, 1.0),
        "brier": (0.0, MOST_BRIER),
        LABEL_CHANCE: (LEAST_CHANCE, 1.0),
        "severity": (-np.inf, np.inf),
        "classifier_time_us": (0.0, np.inf),
        **lowest_of_box(table),
    }
    found |= {
        name: table.numbers(name, low=low, high=high) for name, (low, high) in ends.items() if name in table
    }
    check_boxes(table, found)
    return found


def _instances(
    table: CsvTable, columns: Mapping[str, Any], first: Rows, conditions: Sequence[str], *, lean: bool
) -> pd.DataFrame:
    """Return one row an instance; a lean frame has values as they were read, which cannot be changed."""
    own = {name: values[first] for name, values in columns.items()}
    n = len(own["predicted"])
    label, is_ood = own.get("label", np.full(n, _ABSENT)), own.get("is_ood", np.full(n, -1))
    found: dict[str, Any] = {
        "position": np.arange(n),
        "id": table.text("id", first) if "id" in table else pd.Series(np.arange(n)).astype("str"),
        "workload": _only(table, "workload") or table.path.stem,
        "label": pd.arrays.IntegerArray(label.astype(np.int64), label == _ABSENT),
        "predicted": own["predicted"].astype(np.int64),
        **{name: own.get(name, np.nan) for name in ("confidence", "label_probability", "brier")},
        **({LABEL_CHANCE: own[LABEL_CHANCE]} if LABEL_CHANCE in own else {}),
        "is_ood": pd.arrays.BooleanArray(is_ood == 1, is_ood < 0),
        "severity": own.get("severity", np.nan),
        "classifier_time_us": own.get("classifier_time_us", np.nan),
        **{name: _names(table, name, own.get(name)) for name in ("category", "faultload", "track")},
        **{CONDITION.format(name): _names(table, name, own[name]) for name in conditions},
        **{
            name: _names(table, name, own[name]) if name == BOX_LOST else own[name]
            for name in OF_BOXES
            if name in own
        },
    }
    return pd.DataFrame(found, index=range(n), copy=not lean)


def _names(table: CsvTable, column: str, codes: Codes | None) -> pd.Series | None:
    """Return names by their codes, None where one is missing."""
    if codes is None:
        return None
    words = pd.Series(table.coded(column)[1].to_pandas(), dtype="str")
    return words.where(words != "", None).take(codes).reset_index(drop=True)


def _alarms(
    table: CsvTable, classes: Mapping[str, Codes], monitors: MonitorRows, ids: pd.Series | None
) -> pd.DataFrame:
    """Return one row an instance and monitor; without ids, what follows from the rest is left out."""
    alarm = table.codes("alarm", _YES_NO, _YES_NO_WORDS).astype(np.bool_)
    names = pd.Categorical.from_codes(monitors.whose, pd.Index(monitors.names))
    found: dict[str, Any] = {"position": monitors.position, "monitor": names, "alarm": alarm}
    if "cancelled" in table:
        found["cancelled"] = table.codes("cancelled", _YES_NO, _YES_NO_WORDS).astype(np.bool_)
    cancelled, predicted = found.get("cancelled", alarm), classes["predicted"]
    if "decision" in classes:
        found["decision"] = classes["decision"]
        changed = ~cancelled & (found["decision"] != predicted)
        if changed.any():
            row = int(np.argmax(changed))
            expected = f"{table.written('predicted').iloc[row]!r}, as predicted, since it is not cancelled"
            table.fail(row, "decision", expected)
    for name, low in (("score", -np.inf), ("monitor_time_us", 0.0)):
        if name in table:
            found[name] = table.numbers(name, low=low)
    if ids is None:
        return pd.DataFrame(found, copy=False)
    decision = found.get("decision", np.where(cancelled, NO_ANSWER, predicted)).astype(np.int64)
    found |= {"monitor": names.astype("str"), "cancelled": cancelled, "decision": decision}
    frame = pd.DataFrame({"id": ids.array.take(monitors.position), **found})
    return frame.reindex(columns=ALARM_COLUMNS)


def _classes(table: CsvTable) -> tuple[dict[str, Codes], list[str]]:
    """Code all columns of classes jointly: whole numbers as they are (and no names), names by their order."""
    coded = {column: table.coded(column) for column in _OF_CLASSES if column in table}
    values = list(dict.fromkeys(word for _, words in coded.values() for word in words.to_pylist()))
    numbers = pd.to_numeric(pd.Series(values, dtype="str"), errors="coerce").to_numpy(
        np.float64, na_value=np.nan
    )
    missing = np.array([value == "" for value in values])
    answered = ~missing & (numbers != NO_ANSWER)
    named = answered & np.isnan(numbers)
    joint = pa.array(values, pa.string())
    places = {
        column: (codes, pc.index_in(words, joint).to_numpy()) for column, (codes, words) in coded.items()
    }
    if named.any() and (answered & ~named).any():
        # The first value in the file says what classes are called; the first that differs is at fault.
        column, row = _first(places, answered)
        codes, own = places[column]
        as_named = named[own[codes[row]]]
        expected = "the name of a class" if as_named else "the number of a class"
        column, row = _first(places, answered & (named != as_named))
        table.fail(row, column, f"{expected}, as above; numbers and names cannot be mixed")
    classes = sorted(value for value, is_name in zip(values, named, strict=True) if is_name)
    if classes:
        order = {name: number for number, name in enumerate(classes)}
        meaning = np.array([order.get(value, NO_ANSWER) for value in values], dtype=np.int32)
    else:
        whole = missing | ((numbers >= NO_ANSWER) & (numbers < 2**31) & (numbers == np.floor(numbers)))
        if not whole.all():
            column, row = _first(places, ~whole)
            table.fail(row, column, f"the number of a class from 0, or -1 {_OF_CLASSES[column]}")
        meaning = np.where(missing, NO_ANSWER, numbers).astype(np.int32)
    meaning[missing] = _ABSENT
    found = {column: meaning[own][codes] for column, (codes, own) in places.items()}
    for column, least, expected in (
        ("predicted", 0, "a class: every instance needs a prediction"),
        ("decision", NO_ANSWER, f"a class, or -1 {_OF_CLASSES['decision']}"),
    ):
        if column in found and meaning[places[column][1]].min() < least:
            table.fail(int(np.argmax(found[column] < least)), column, expected)
    return found, classes


def _first(places: Mapping[str, tuple[Codes, IntArray]], wanted: BoolArray) -> tuple[str, int]:
    """Return the column and the row of the first of some values, one column after the other."""
    for column, (codes, own) in places.items():
        if wanted[own].any():
            return column, int(np.argmax(wanted[own][codes]))
    raise LookupError("none of the values is there")


def _check_same(table: CsvTable, monitors: MonitorRows, columns: Mapping[str, Any]) -> None:
    """Check that all monitors' rows say the same of one instance."""
    for column, values in columns.items():
        if differing := monitors.first_difference(values):
            row, other = differing
            value = table.written(column).iloc[other]
            table.fail(row, column, f"{value!r} as on {table.place(other)}, the same instance's")


def _only(table: CsvTable, column: str) -> str | None:
    """Return the one name that a column holds."""
    if column not in table:
        return None
    codes, words = table.coded(column)
    name = str(words[codes[0]])
    if len(words) > 1:
        expected = f"'{name}' as above: one {column} a file"
        table.fail(int(np.argmax(codes != codes[0])), column, expected)
    return name or None


def _moments(table: CsvTable, rows: Rows) -> Any:
    """Return what orders instances, by their rows: numbers, or else dates and times, in UTC."""
    values = table.values("timestamp")
    if pa.types.is_string(values.type) and not values.null_count:
        values = _without_text(values)
    if pa.types.is_date(values.type):
        values = values.cast(pa.timestamp("s"))
    if pa.types.is_timestamp(values.type) and not values.null_count:
        return taken(values, rows).cast(pa.int64()).to_numpy().view(f"M8[{values.type.unit}]")
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        moments = values.to_numpy()
        if not np.isnan(moments).any():
            return moments[rows]
    text = table.text("timestamp")
    moments = pd.to_numeric(text, errors="coerce")
    if pd.isna(moments.iloc[0]):
        moments = pd.to_datetime(text, errors="coerce", format="ISO8601", utc=True).dt.tz_localize(None)
    if (unknown := moments.isna()).any():
        expected = "a number, or a date and time such as 2026-11-19 10:03:16, as in the other rows"
        table.fail(int(np.argmax(unknown)), "timestamp", expected)
    return moments.to_numpy()[rows]


def _without_text(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return numbers, or else dates and times of ISO 8601, where all values plainly are such."""
    if not pc.any(pc.match_substring(values, "x", ignore_case=True)).as_py():  # 0x10 is no number here
        for kind in (pa.int64(), pa.float64(), pa.timestamp("ns"), pa.timestamp("ns", "UTC")):
            with suppress(pa.ArrowInvalid):
                return values.cast(kind)
    return values
