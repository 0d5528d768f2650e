"""One measure of several monitors over several benchmark sets, and what to do about its gaps.

Two kinds of gap look alike in a spreadsheet and are not. A cell is *missing* where the monitor failed or was
not run: nothing is known. It is *undefined* where the monitor ran and the measure has no value: the MCC of a
monitor that never alarms. A missing cell can never be ranked; an undefined one can, by a convention that is
asked for by name. Whatever is left out or put in is counted and said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from farm.errors import DataError, ParameterError, suggestion
from farm.measures.measure import Measure
from farm.statistics.full_table import (
    Dropped,
    FullTable,
    Zeroed,
    check_finite,
    check_names,
    gap_notes,
    listed,
)

CONVENTIONS = ("zero", "drop", "error")
"""What an undefined value may count as: 0, a reason to leave its set out, or an error."""


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


@dataclass(frozen=True)
class SetTable:
    """The cells of one measure, sets x monitors, gaps and all.

    `a_set_is` says what is counted where the number of sets is reported, since "N = 40" means nothing
    without it: "one faultload at one severity on one workload".

    Examples
    --------
    >>> from farm.measures.measure import undefined
    >>> cells = {("snow", "oob"): Measure(0.4), ("snow", "odin"): undefined("no alarm"),
    ...          ("fog", "oob"): Measure(0.5), ("fog", "odin"): Measure(0.1), ("rain", "oob"): Measure(0.2)}
    >>> table = SetTable.of(cells, "mcc", a_set_is="one faultload at one severity")
    >>> for note in table.resolve().notes:
    ...     print(note)
    1 of 3 sets left out (rain): 'odin' was not run
    'odin' counts as 0 on 1 of 2 sets (snow): no alarm
    """

    measure: str
    sets: tuple[str, ...]
    monitors: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    higher_is_better: bool = True
    a_set_is: str = "a benchmark set"

    def __post_init__(self) -> None:
        check_names(self.sets, self.monitors)
        if len(self.cells) != len(self.sets) or any(len(row) != len(self.monitors) for row in self.cells):
            shape = f"{len(self.sets)} sets x {len(self.monitors)} monitors"
            raise DataError(f"{self.measure}: the cells do not fill {shape}")
        for name, row in zip(self.sets, self.cells, strict=True):
            for monitor, cell in zip(self.monitors, row, strict=True):
                if isinstance(cell, Measure) and cell.defined:
                    check_finite(cell.value, self.measure, name, monitor)

    @classmethod
    def of(
        cls,
        cells: Mapping[tuple[str, str], Cell],
        measure: str,
        *,
        higher_is_better: bool = True,
        a_set_is: str = "a benchmark set",
    ) -> SetTable:
        """Make the table from (set, monitor) -> cell, in order of appearance; a cell not given is missing."""
        sets = tuple(dict.fromkeys(name for name, _ in cells))
        monitors = tuple(dict.fromkeys(monitor for _, monitor in cells))
        rows = tuple(tuple(cells.get((name, m), Missing()) for m in monitors) for name in sets)
        return cls(measure, sets, monitors, rows, higher_is_better, a_set_is)

    def resolve(self, undefined: str = "zero") -> FullTable | Undefined:
        """Close the gaps, so that every monitor has a number on every set that is kept.

        A monitor that is missing on every set is left out. After that, a set is left out, for all
        monitors, where any of them is missing: no monitor is judged on easier sets than another.
        `undefined` is what a value without a number counts as: `zero` (no better than chance, for a measure
        such as MCC), `drop` (its set is left out, for all monitors) or `error`.
        """
        if undefined not in CONVENTIONS:
            raise ParameterError(f"undefined = '{undefined}'; {suggestion(undefined, CONVENTIONS)}")
        absent = self._absent()
        out = {each.name for each in absent}
        monitors = tuple(name for name in self.monitors if name not in out)
        rows: dict[str, tuple[float, ...]] = {}
        left_out: list[Dropped] = []
        zeroed: list[Zeroed] = []
        for name, cells in zip(self.sets, self.cells, strict=True):
            row = {m: cell for m, cell in zip(self.monitors, cells, strict=True) if m not in out}
            reasons = [f"'{m}' {cell.reason}" for m, cell in row.items() if isinstance(cell, Missing)]
            values = {m: cell for m, cell in row.items() if isinstance(cell, Measure)}
            unset = {m: cell.reason for m, cell in values.items() if cell.reason is not None}
            if undefined == "drop":
                reasons += [f"'{m}' is undefined ({reason})" for m, reason in unset.items()]
            if reasons:
                left_out.append(Dropped(name, listed(reasons)))
                continue
            self._check_convention(undefined, name, unset)
            zeroed += [Zeroed(name, m, reason) for m, reason in unset.items()]
            rows[name] = tuple(0.0 if m in unset else float(cell.value) for m, cell in values.items())
        if min(len(rows), len(monitors)) < 2:
            few = f"{len(rows)} of {len(self.sets)} sets and {len(monitors)} of {len(self.monitors)} monitors"
            notes = tuple(gap_notes(absent, left_out, zeroed, len(rows)))
            return Undefined(f"{self.measure}: {few} are left to compare; two of each are needed", notes)
        return FullTable(
            self.measure,
            tuple(rows),
            monitors,
            tuple(rows.values()),
            self.higher_is_better,
            self.a_set_is,
            tuple(zeroed),
            tuple(left_out),
            tuple(absent),
        )

    def _absent(self) -> list[Dropped]:
        """Find the monitors that are missing on every set."""
        found = []
        for j, monitor in enumerate(self.monitors):
            reasons = [row[j].reason for row in self.cells if isinstance(row[j], Missing)]
            if reasons and len(reasons) == len(self.cells):
                found.append(Dropped(monitor, f"on every set it {reasons[0]}"))
        return found

    def _check_convention(self, undefined: str, set_name: str, unset: Mapping[str, str]) -> None:
        for monitor, reason in unset.items():
            where = f"{self.measure} of '{monitor}' on set '{set_name}' is undefined ({reason})"
            if undefined == "error":
                raise DataError(f"{where}; expected a value, or undefined = zero or drop")
            if not self.higher_is_better:
                # Where lower is better, 0 would make the monitor that has no value the best of all.
                raise ParameterError(f"{where}, and 0 would be the best value; expected undefined = drop")
