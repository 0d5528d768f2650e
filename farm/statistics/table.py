"""One measure of several monitors over several benchmark sets, and what is done about its gaps.

Two kinds of gap look alike in a spreadsheet and are not. A cell is *missing* where the monitor failed or was
not run: nothing is known. It is *undefined* where the monitor ran and the measure has no value: the MCC of a
monitor that never alarms. A missing cell can never be ranked; an undefined one can, by a convention that is
asked for by name. Whatever is left out or put in is counted and said.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np

from farm.api.arrays import FloatArray
from farm.errors import DataError, ParameterError, suggestion
from farm.measures.measure import Measure

CONVENTIONS = ("zero", "drop", "error")
"""What an undefined value may count as: 0, a reason to leave its set out, or an error."""
LISTED = 5
"""The number of names that a note gives before it counts the rest."""
Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Missing:
    """No value, since the monitor failed or was not run; the reason completes "the monitor ..."."""

    reason: str = "was not run"


@dataclass(frozen=True, slots=True)
class Undefined:
    """No comparison can be made, and why; the notes say what was left out on the way."""

    reason: str
    notes: tuple[str, ...] = ()


Cell: TypeAlias = Measure | Missing


@dataclass(frozen=True, slots=True)
class Zeroed:
    """An undefined value that counts as 0."""

    set_name: str
    monitor: str
    reason: str


@dataclass(frozen=True, slots=True)
class Dropped:
    """A set or a monitor that is left out."""

    name: str
    reason: str


@dataclass(frozen=True)
class FullTable:
    """A table without gaps: `values[i][j]` is what monitor j reached on set i.

    `a_set_is` says what is counted where the number of sets is reported, since "N = 40" means nothing
    without it: "one faultload at one severity on one workload".

    Examples
    --------
    >>> FullTable("mcc", ("snow", "fog"), ("odin", "oob"), ((0.1, 0.2), (0.3, 0.4))).array.shape
    (2, 2)
    """

    measure: str
    sets: tuple[str, ...]
    monitors: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    higher_is_better: bool = True
    a_set_is: str = "a benchmark set"
    zeroed: tuple[Zeroed, ...] = ()
    dropped_sets: tuple[Dropped, ...] = ()
    dropped_monitors: tuple[Dropped, ...] = ()

    def __post_init__(self) -> None:
        for what, names in (("set", self.sets), ("monitor", self.monitors)):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise DataError(f"the {what} '{twice[0]}' occurs twice; expected each {what} once")
        shape = (len(self.sets), len(self.monitors))
        if min(shape) < 2:
            raise DataError(f"{self.measure}: {shape[0]} sets x {shape[1]} monitors; expected two of each")
        if len(self.values) != shape[0] or any(len(row) != shape[1] for row in self.values):
            raise DataError(f"{self.measure}: values do not fill {shape[0]} sets x {shape[1]} monitors")
        for name, row in zip(self.sets, self.values, strict=True):
            for monitor, value in zip(self.monitors, row, strict=True):
                if not math.isfinite(value):
                    where = f"{self.measure} of '{monitor}' on set '{name}'"
                    raise DataError(f"{where} is {value}; expected a finite number")

    @property
    def array(self) -> FloatArray:
        """The values as an array, sets x monitors."""
        return np.array(self.values, dtype=np.float64)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done about the gaps, those of one kind and reason in one sentence."""
        return tuple(gap_notes(self.dropped_monitors, self.dropped_sets, self.zeroed, len(self.sets)))


def full_table(
    cells: Mapping[tuple[str, str], Cell],
    measure: str,
    *,
    undefined: str = "zero",
    higher_is_better: bool = True,
    a_set_is: str = "a benchmark set",
    yardsticks: Collection[str] = (),
) -> FullTable | Undefined:
    """Close the gaps, so that every monitor has a number on every set that is kept.

    A monitor that is missing on every set is left out. After that, a set is left out, for all monitors,
    where any of them is missing: no monitor is judged on easier sets than another. A yardstick is left out
    itself where it alone would cost a set, if two monitors remain.

    Parameters
    ----------
    cells
        From set and monitor to cell; one that is not given is missing.
    undefined
        What a value without a number counts as: `zero` (no better than chance, for a measure such as MCC),
        `drop` (its set is left out, for all monitors) or `error`.
    yardsticks
        The monitors that are worth less than a set.

    Examples
    --------
    >>> from farm.measures.measure import undefined
    >>> cells = {("snow", "oob"): Measure(0.4), ("snow", "odin"): undefined("no alarm"),
    ...          ("fog", "oob"): Measure(0.5), ("fog", "odin"): Measure(0.1), ("rain", "oob"): Measure(0.2)}
    >>> for note in full_table(cells, "mcc").notes:
    ...     print(note)
    1 of 3 sets left out (rain): 'odin' was not run
    'odin' counts as 0 on 1 of 2 sets (snow): no alarm
    """
    if undefined not in CONVENTIONS:
        raise ParameterError(f"undefined = '{undefined}'; {suggestion(undefined, CONVENTIONS)}")
    sets, every = (dict.fromkeys(key[place] for key in cells) for place in (0, 1))
    columns = {m: [cells.get((name, m), Missing()) for name in sets] for m in every}
    absent = [
        Dropped(m, f"on every set it {column[0].reason}")
        for m, column in columns.items()
        if all(isinstance(cell, Missing) for cell in column)
    ]
    out = {each.name for each in absent}
    others = [m for m in every if m not in out and m not in yardsticks]
    complete = [i for i in range(len(sets)) if not any(isinstance(columns[m][i], Missing) for m in others)]
    costly = []
    for m in every:
        cells_missing = [cell for cell in columns[m] if isinstance(cell, Missing)]
        if m in yardsticks and m not in out and any(isinstance(columns[m][i], Missing) for i in complete):
            some = f"{len(cells_missing)} of {len(sets)} sets"
            costly.append(Dropped(m, f"it is a yardstick, and on {some} it {cells_missing[0].reason}"))
    if len(every) - len(absent) - len(costly) >= 2:
        absent += costly
        out |= {each.name for each in costly}
    monitors = tuple(m for m in every if m not in out)
    rows: dict[str, tuple[float, ...]] = {}
    left_out: list[Dropped] = []
    zeroed: list[Zeroed] = []
    for name in sets:
        row = {m: cells.get((name, m), Missing()) for m in monitors}
        reasons = [f"'{m}' {cell.reason}" for m, cell in row.items() if isinstance(cell, Missing)]
        values = {m: cell for m, cell in row.items() if isinstance(cell, Measure)}
        unset = {m: cell.reason for m, cell in values.items() if cell.reason is not None}
        if undefined == "drop":
            reasons += [f"'{m}' is undefined ({reason})" for m, reason in unset.items()]
        if reasons:
            left_out.append(Dropped(name, _listed(reasons)))
            continue
        for m, reason in unset.items():
            where = f"{measure} of '{m}' on set '{name}' is undefined ({reason})"
            if undefined == "error":
                raise DataError(f"{where}; expected a value, or undefined = zero or drop")
            if not higher_is_better:
                # Where lower is better, 0 would make the monitor that has no value the best of all.
                raise ParameterError(f"{where}, and 0 would be the best value; expected undefined = drop")
        zeroed += [Zeroed(name, m, reason) for m, reason in unset.items()]
        rows[name] = tuple(0.0 if m in unset else float(cell.value) for m, cell in values.items())
    if min(len(rows), len(monitors)) < 2:
        few = f"{len(rows)} of {len(sets)} sets and {len(monitors)} of {len(every)} monitors"
        notes = tuple(gap_notes(absent, left_out, zeroed, len(rows)))
        return Undefined(f"{measure}: {few} are left to compare; two of each are needed", notes)
    return FullTable(
        measure,
        tuple(rows),
        monitors,
        tuple(rows.values()),
        higher_is_better,
        a_set_is,
        tuple(zeroed),
        tuple(left_out),
        tuple(absent),
    )


def gap_notes(
    monitors: Sequence[Dropped], sets: Sequence[Dropped], zeroed: Sequence[Zeroed], n_kept: int
) -> Iterator[str]:
    """Say what was left out and what counts as 0; `n_kept` sets are left."""
    for each in monitors:
        yield f"monitor '{each.name}' is left out: {each.reason}"
    for reason, names in _grouped((each.reason, each.name) for each in sets):
        yield f"{len(names)} of {n_kept + len(sets)} sets left out ({_listed(names)}): {reason}"
    for (monitor, reason), names in _grouped(((each.monitor, each.reason), each.set_name) for each in zeroed):
        yield f"'{monitor}' counts as 0 on {len(names)} of {n_kept} sets ({_listed(names)}): {reason}"


def _listed(names: Sequence[str]) -> str:
    """Join some names, and count those that would be too many."""
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more} more" if more > 0 else "")


def _grouped(pairs: Iterable[tuple[Key, str]]) -> Iterable[tuple[Key, list[str]]]:
    groups: dict[Key, list[str]] = {}
    for key, name in pairs:
        groups.setdefault(key, []).append(name)
    return groups.items()
