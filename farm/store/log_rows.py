"""Whose the rows of a log are, and which of them are about one instance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from farm.api.arrays import IntArray
from farm.errors import DataError
from farm.measures.oracle import ORACLE
from farm.store.csv_table import Codes, CsvTable, Rows, counts, taken

UNNAMED_MONITOR = "monitor"


@dataclass(frozen=True)
class MonitorRows:
    """The rows of each monitor, all in one order of the instances."""

    names: Sequence[str]
    """The monitors, in the order in which they come."""
    whose: Codes
    """The number of the monitor of each row."""
    rows: Sequence[Rows]
    """One set a monitor."""

    @property
    def first(self) -> Rows:
        """One row an instance: those of the first monitor."""
        return self.rows[0]

    @cached_property
    def position(self) -> IntArray:
        """The place of the instance of each row."""
        found = np.empty(len(self.whose), dtype=np.int64)
        for rows in self.rows:
            found[rows] = np.arange(len(self.whose) // len(self.rows))
        return found

    def along(self, order: IntArray) -> MonitorRows:
        """Return the same with the instances in another order."""
        if np.array_equal(order, np.arange(len(order))):
            return self
        everyone = np.arange(len(self.whose))
        return replace(self, rows=[everyone[rows][order] for rows in self.rows])

    def first_difference(self, values: Any) -> tuple[int, int] | None:
        """Return the first row whose value is not that of the first monitor's row, and that one; or None."""
        found = []
        for rows in self.rows[1:]:
            own, others = values[rows], values[self.first]
            differs = own != others
            if differs.any():
                # What is no number is no other than what is no number either.
                differs &= (own == own) | (others == others)
            at = np.flatnonzero(differs)
            if len(at):
                pairs = zip(_numbers(rows, at), _numbers(self.first, at), strict=True)
                found.append(min(pairs))
        return min(found, default=None)


def monitor_rows(table: CsvTable) -> MonitorRows:
    """Find out whose each row is, and which instance it is about: by its id, or by its place."""
    whose, names = _monitors(table)
    rows = [_regular(np.flatnonzero(whose == number)) for number in range(len(names))]
    if "id" in table and not _all_in_one_order(table.values("id"), rows):
        return _by_id(table, whose, names)
    _check_sizes(table, whose, names)
    return MonitorRows(names, whose, rows)


def _numbers(rows: Rows, at: IntArray) -> list[int]:
    """Return the numbers of some of these rows."""
    return [int(number) for number in (rows.start + rows.step * at if isinstance(rows, slice) else rows[at])]


def _regular(rows: IntArray) -> Rows:
    step = int(rows[1] - rows[0]) if len(rows) > 1 else 1
    return slice(int(rows[0]), int(rows[-1]) + 1, step) if (np.diff(rows) == step).all() else rows


def _monitors(table: CsvTable) -> tuple[Codes, list[str]]:
    """Return the number of each row's monitor, and their names in the order in which they come."""
    if "monitor" not in table:
        return np.zeros(len(table), dtype=np.int32), [UNNAMED_MONITOR]
    codes, words = table.coded("monitor")
    names = words.to_pylist()
    for reserved, expected in (
        ("", "a monitor's name"),
        (ORACLE, "another name: this is the perfect monitor's"),
    ):
        if reserved in names:
            table.fail(int(np.argmax(codes == names.index(reserved))), "monitor", expected)
    order = np.argsort([int(np.argmax(codes == number)) for number in range(len(names))])
    return np.argsort(order).astype(np.int32)[codes], [names[number] for number in order]


def _all_in_one_order(ids: pa.ChunkedArray, rows: Sequence[Rows]) -> bool:
    """Whether all monitors plainly have the same ids in the same order, each once."""
    first, kind = taken(ids, rows[0]), ids.type
    if ids.null_count or not (pa.types.is_integer(kind) or pa.types.is_string(kind)):
        return False
    if pa.types.is_string(kind):
        plain = pc.and_(pc.equal(first, pc.utf8_trim_whitespace(first)), pc.not_equal(first, ""))
        if not pc.all(plain).as_py():
            return False
    rising = pc.all(pc.less(first.slice(0, len(first) - 1), first.slice(1))).as_py()
    if not rising and pc.count_distinct(first).as_py() < len(first):
        return False
    others = (taken(ids, own) for own in rows[1:])
    return all(len(own) == len(first) and pc.all(pc.equal(own, first)).as_py() for own in others)


def _by_id(table: CsvTable, whose: Codes, names: Sequence[str]) -> MonitorRows:
    """Find each row's instance by its id, or the row whose id is wrong."""
    ids, words = table.coded("id")
    if (empty := pc.index(words, "").as_py()) >= 0:
        table.fail(int(np.argmax(ids == empty)), "id", "an instance's id")
    again = pd.Series(whose.astype(np.int64) * len(words) + ids).duplicated().to_numpy()
    if again.any():
        table.fail(int(np.argmax(again)), "id", "each id once a monitor")
    first = np.flatnonzero(whose == 0)
    places = np.full(len(words), -1)
    places[ids[first]] = np.arange(len(first))
    position = places[ids]
    if (position < 0).any():
        table.fail(int(np.argmax(position < 0)), "id", f"an id that monitor '{names[0]}' has too")
    _check_sizes(table, whose, names)
    rows = np.empty((len(names), len(first)), dtype=np.int64)
    rows[whose, position] = np.arange(len(whose))
    return MonitorRows(names, whose, [*rows])


def _check_sizes(table: CsvTable, whose: Codes, names: Sequence[str]) -> None:
    """Check that all monitors have as many rows as the first."""
    sizes = counts(whose, len(names)).tolist()
    for number, size in enumerate(sizes):
        if size != sizes[0]:
            place = table.place(int(np.flatnonzero(whose == number)[-1]))
            raise DataError(
                f"{table.path}, {place}: monitor '{names[number]}' ends here, its rows being {size} where "
                f"'{names[0]}' has {sizes[0]}; expected each monitor to have one row an instance"
            )
