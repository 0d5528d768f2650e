"""A log from anywhere: one CSV file of decisions and alarms, to be judged as if the testbed had run them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from farm.api.arrays import NO_ANSWER, IntArray
from farm.csv_table import CsvTable
from farm.errors import DataError
from farm.oracle import ORACLE

REQUIRED = ("predicted", "alarm")
OPTIONAL = (
    "label",
    "is_ood",
    "id",
    "monitor",
    "score",
    "cancelled",
    "decision",
    "confidence",
    "category",
    "faultload",
    "severity",
    "workload",
    "classifier",
    "monitor_time_us",
    "classifier_time_us",
)
UNNAMED_MONITOR = "monitor"

_YES_NO = {"0": 0, "false": 0, "1": 1, "true": 1}
_YES_NO_WORDS = "0, 1, true or false"
_OF_CLASSES = {
    "predicted": "as a label where no right answer exists",
    "label": "as a label where no right answer exists",
    "decision": "where no decision was acted upon",
}
"""The columns of classes, and what -1 may mean."""
_SAME = ("label", "predicted", "is_ood", "category", "faultload", "severity")
"""What rows of several monitors about one instance have to agree on."""


class Log(NamedTuple):
    """What `judge` takes: `judge(*read_log(path))`."""

    instances: pd.DataFrame
    alarms: pd.DataFrame
    run: dict[str, Any]


def read_log(path: Path | str) -> Log:
    """Read decisions and alarms from a CSV file, one row an instance and monitor.

    Parameters
    ----------
    path
        Needs the columns `predicted` and `alarm`; reads also those of `OPTIONAL`. Labels are whole numbers
        or names of classes, -1 where no right answer exists. A `decision` is the class acted upon, -1 where
        none; where it is not cancelled it is what was predicted. With several monitors, rows that share an
        `id` are about one instance; without that column the first row of each monitor is, the second, and so
        on.

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
    table = CsvTable(path)
    ignored = table.check_columns(REQUIRED, OPTIONAL)
    rows, decided, classes = _instance_columns(table)
    monitor = _monitors(table)
    position, first = _positions(table, monitor)
    rows.insert(0, "position", position)
    _check_same(table, rows, first)
    instances = rows.loc[first].reset_index(drop=True)
    instances["id"] = instances["id"] if "id" in table else instances["position"].astype("str")
    alarm = table.codes("alarm", _YES_NO, _YES_NO_WORDS).astype(np.bool_)
    cancelled = (
        table.codes("cancelled", _YES_NO, _YES_NO_WORDS).astype(np.bool_) if "cancelled" in table else alarm
    )
    decision = np.where(cancelled, NO_ANSWER, rows["predicted"]) if decided is None else decided
    if decided is not None and (changed := ~cancelled & (decided != rows["predicted"].to_numpy())).any():
        row = int(np.argmax(changed))
        expected = f"{table.text('predicted').iloc[row]!r}, as predicted, since it is not cancelled"
        table.fail(row, "decision", expected)
    alarms = pd.DataFrame(
        {
            "position": position,
            "id": instances["id"].to_numpy()[position],
            "monitor": monitor,
            "score": table.numbers("score") if "score" in table else np.nan,
            "alarm": alarm,
            "cancelled": cancelled,
            "decision": decision,
            "monitor_time_us": _times(table, "monitor_time_us"),
        }
    )
    run = {
        "workload": {"name": _only(table, "workload") or table.path.stem},
        "classifier": {"name": _only(table, "classifier")},
        "classes": classes,
        "monitors": [{"name": name} for name in monitor.unique()],
        "log": {"file": str(path), "ignored_columns": ignored},
    }
    return Log(instances, alarms, run)


def _instance_columns(table: CsvTable) -> tuple[pd.DataFrame, IntArray | None, list[str]]:
    """Give, for every row, what is said of the instance and what was decided; and the classes' names."""
    label, predicted, decided, classes = _classes(table)
    unknown = np.full(len(table), -1)
    is_ood = table.codes("is_ood", _YES_NO, _YES_NO_WORDS, missing=-1) if "is_ood" in table else unknown
    columns: dict[str, Any] = {
        "id": table.text("id") if "id" in table else None,
        "workload": _only(table, "workload") or table.path.stem,
        "track": None,
        "label": label,
        "predicted": predicted,
        "confidence": table.numbers("confidence") if "confidence" in table else np.nan,
        "is_ood": pd.Series(is_ood == 1, dtype="boolean").mask(is_ood < 0),
        "severity": table.numbers("severity") if "severity" in table else np.nan,
        "classifier_time_us": _times(table, "classifier_time_us"),
    }
    for name in ("category", "faultload"):
        text = table.text(name) if name in table else None
        columns[name] = None if text is None else text.where(text != "", None)
    return pd.DataFrame(columns, index=range(len(table))), decided, classes


def _classes(table: CsvTable) -> tuple[pd.Series, IntArray, IntArray | None, list[str]]:
    """Code all columns of classes jointly: whole numbers as they are (and no names), names by their order."""
    rows = len(table)
    columns = [column for column in _OF_CLASSES if column in table]
    codes, values = pd.factorize(pd.concat([table.text(name) for name in columns], ignore_index=True))
    numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(np.float64, na_value=np.nan)
    missing = np.asarray(values == "")
    answered = ~missing & (numbers != NO_ANSWER)
    named = answered & np.isnan(numbers)
    if named.any() and (answered & ~named).any():
        # The first value in the file says what classes are called; the first that differs is at fault.
        kinds = named[codes][answered[codes]]
        other = np.flatnonzero(answered[codes])[int(np.argmax(kinds != kinds[0]))]
        expected = "the name of a class" if kinds[0] else "the number of a class"
        _refuse(table, columns, int(other), f"{expected}, as above; numbers and names cannot be mixed")
    if named.any():
        classes = sorted(str(value) for value in values[named])
        place = {name: i for i, name in enumerate(classes)}
        meaning = np.array([place.get(str(value), NO_ANSWER) for value in values], dtype=np.int64)
    else:
        whole = missing | ((numbers >= NO_ANSWER) & (numbers < 2**31) & (numbers == np.floor(numbers)))
        if not whole.all():
            _refuse(table, columns, int(np.argmax(~whole[codes])), "the number of a class from 0, or -1 {}")
        meaning = np.where(missing, NO_ANSWER, numbers).astype(np.int64)
        classes = []
    coded = dict(zip(columns, meaning[codes].reshape(-1, rows), strict=True))
    absent = dict(zip(columns, missing[codes].reshape(-1, rows), strict=True))
    if (unknown := coded["predicted"] == NO_ANSWER).any():
        table.fail(int(np.argmax(unknown)), "predicted", "a class: every instance needs a prediction")
    if "decision" in columns and (empty := absent["decision"]).any():
        table.fail(int(np.argmax(empty)), "decision", f"a class, or -1 {_OF_CLASSES['decision']}")
    if "label" in columns:
        labels = pd.Series(coded["label"], dtype="Int64").mask(absent["label"])
    else:
        labels = pd.Series(pd.NA, range(rows), dtype="Int64")
    return labels, coded["predicted"], coded.get("decision"), classes


def _refuse(table: CsvTable, columns: Sequence[str], place: int, expected: str) -> None:
    """Refuse a value of those columns, one after the other, saying what -1 means in its own."""
    number, row = divmod(place, len(table))
    table.fail(row, columns[number], expected.format(_OF_CLASSES[columns[number]]))


def _monitors(table: CsvTable) -> pd.Series:
    if "monitor" not in table:
        return pd.Series(UNNAMED_MONITOR, range(len(table)), dtype="str")
    names = table.text("monitor")
    for reserved, expected in (
        ("", "a monitor's name"),
        (ORACLE, "another name: this is the perfect monitor's"),
    ):
        if (names == reserved).any():
            table.fail(int(np.argmax(names == reserved)), "monitor", expected)
    return names


def _positions(table: CsvTable, monitor: pd.Series) -> tuple[IntArray, IntArray]:
    """Give every row its instance's position, and each instance's first row."""
    codes, names = pd.factorize(monitor)
    positions = np.asarray(monitor.groupby(codes).cumcount(), dtype=np.int64)
    first: IntArray = np.flatnonzero(codes == 0)
    if "id" in table:
        ids = table.text("id")
        if (ids == "").any():
            table.fail(int(np.argmax(ids == "")), "id", "an instance's id")
        again = pd.DataFrame({"monitor": codes, "id": ids}).duplicated().to_numpy()
        if again.any():
            table.fail(int(np.argmax(again)), "id", "each id once a monitor")
        positions = np.asarray(pd.Index(ids.iloc[first]).get_indexer(ids), dtype=np.int64)
        if (positions < 0).any():
            table.fail(int(np.argmax(positions < 0)), "id", f"an id that monitor '{names[0]}' has too")
    for code, count in enumerate(np.bincount(codes).tolist()):
        if count != len(first):
            line = table.line(int(np.flatnonzero(codes == code)[-1]))
            raise DataError(
                f"{table.path}, line {line}: monitor '{names[code]}' ends here, its rows being {count} where "
                f"'{names[0]}' has {len(first)}; expected each monitor to have one row an instance"
            )
    return positions, first


def _check_same(table: CsvTable, rows: pd.DataFrame, first: IntArray) -> None:
    """Check that all monitors' rows say the same of one instance."""
    reference = first[rows["position"].to_numpy(np.int64)]
    for column in _SAME:
        if column not in table:
            continue
        codes = pd.factorize(rows[column])[0]
        differs = codes != codes[reference]
        if differs.any():
            row = int(np.argmax(differs))
            other = int(reference[row])
            value = table.text(column).iloc[other]
            table.fail(row, column, f"{value!r} as on line {table.line(other)}, the same instance's")


def _only(table: CsvTable, column: str) -> str | None:
    """Give the one name that a column holds."""
    if column not in table:
        return None
    names = table.text(column)
    if (names != names.iloc[0]).any():
        expected = f"'{names.iloc[0]}' as above: one {column} a file"
        table.fail(int(np.argmax(names != names.iloc[0])), column, expected)
    return str(names.iloc[0]) or None


def _times(table: CsvTable, column: str) -> Any:
    return table.numbers(column, low=0.0) if column in table else np.nan
