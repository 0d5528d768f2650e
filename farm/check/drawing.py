"""Draws that several verdicts share: each selection is drawn once, for all that is asked of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from farm.check.bounds import Redrawn, redrawn
from farm.check.seen import Size, mean_over, size_of
from farm.check.tables import Column
from farm.comparison import BenchmarkSet
from farm.measures import Bounded, Measure, undefined
from farm.statistics.bootstrap import REPLICATES


@dataclass(frozen=True)
class Inferred:
    """A measure with its bounds, and what they are of."""

    bounded: Bounded
    size: Size
    method: str
    tracks: tuple[int, int] | None = None
    """Where it is a share of tracks: of how many, of all."""


@dataclass
class Drawing:
    """Draws of selections, made as soon as one is asked for: of all that was announced until then."""

    replicates: int = REPLICATES
    seed: int = 0
    _asked: dict[str, dict[Column, None]] = field(default_factory=dict, repr=False)
    _values: dict[tuple[str, Column], Measure] = field(default_factory=dict, repr=False)
    _sizes: dict[tuple[str, str], Size] = field(default_factory=dict, repr=False)
    _made: dict[str, Redrawn] = field(default_factory=dict, repr=False)

    def announce(self, selection: str, columns: Iterable[Column]) -> None:
        """Say what of a selection will be asked for."""
        self._asked.setdefault(selection, {}).update(dict.fromkeys(columns))

    def infer(self, selection: str, sets: Sequence[BenchmarkSet], column: Column, level: float) -> Inferred:
        """Give one monitor's measure with its bounds; `selection` names these sets and no others."""
        value, size = self._value(selection, sets, column), self._size(selection, sets, column[0])
        over = f"mean over {len(sets)} sets; " if len(sets) > 1 else ""
        if why := value.reason or size.too_few:
            return Inferred(Bounded(value, undefined(why), undefined(why)), size, f"{over}no bounds")
        made = self._of(selection, sets, column)
        bounded = made.bounds(column, value, level)
        if tracks := made.trials.get(column):
            return Inferred(bounded, size, "Clopper and Pearson, {} of {} tracks".format(*tracks), tracks)
        return Inferred(
            bounded, size, f"{over}{self.replicates} draws of {made.n_tracks} tracks and an unseen one"
        )

    def _value(self, selection: str, sets: Sequence[BenchmarkSet], column: Column) -> Measure:
        if (selection, column) not in self._values:
            self._values[selection, column] = mean_over(sets, *column)
        return self._values[selection, column]

    def _size(self, selection: str, sets: Sequence[BenchmarkSet], name: str) -> Size:
        if (selection, name) not in self._sizes:
            self._sizes[selection, name] = size_of(sets, name)
        return self._sizes[selection, name]

    def _of(self, selection: str, sets: Sequence[BenchmarkSet], column: Column) -> Redrawn:
        made = self._made.get(selection)
        if made is None or not made.has(column):
            self.announce(selection, [column])
            asked = [each for each in self._asked[selection] if self._value(selection, sets, each).defined]
            made = self._made[selection] = redrawn(sets, asked, replicates=self.replicates, seed=self.seed)
        return made
