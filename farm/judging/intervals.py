"""How sure rates and MCC are: the two ends of each 95 % interval, by what counts as independent.

Where each instance stands alone, a rate has Wilson's interval, and MCC one of draws of its counts. Where
instances share tracks, whole tracks are drawn (`farm.statistics.bounds`): frames of a track resemble each
other, and an interval that takes each for a new one is far too narrow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal, Protocol, TypeAlias

import numpy as np

from farm.api.arrays import FloatArray
from farm.judging.table import Judgement, VerdictTable
from farm.measures import Counts, Measure, undefined, wilson
from farm.measures.many import MANY
from farm.measures.tally import Tally
from farm.statistics.bounds import (
    Counted,
    Drawn,
    TrackedSides,
    drawn_by_count,
    of_counts,
    too_few_tracks,
    unseen,
)

Task: TypeAlias = Literal["specific", "overall"]
TASKS: tuple[Task, ...] = ("specific", "overall")
BOUNDED = ("mcc", "fpr", "fnr", "error")
"""The measures that have an interval."""
WORDS: Mapping[tuple[str, ...], str] = {
    ("instances",): "each instance standing alone; of rates Wilson's",
    ("tracks",): "of whole tracks, whose instances resemble each other",
    ("instances", "tracks"): "of rates Wilson's; where instances share tracks, of whole tracks",
}
"""How intervals of shares are made, by all that counts as independent in them."""
NOVELTY = "novelty"
"""The category of what leaves no right answer."""
_KINDS = 4
"""Outcomes of a task."""
Ends: TypeAlias = tuple[Measure, Measure]


class Intervals(Protocol):
    """The intervals of all monitors on one part of a run."""

    @property
    def unit(self) -> str | None:
        """What counts as independent: `instances` or `tracks`; None where there are no intervals."""

    @property
    def n_tracks(self) -> int | None:
        """How many tracks the part has; None where that is not known."""

    def ends(self, monitor: str, task: Task, name: str, value: Measure) -> Ends:
        """Return the ends of a measure that has a value."""


class OfInstances:
    """Intervals where each instance stands alone: they follow from counts.

    Parameters
    ----------
    sides
        Of each monitor, what was counted on ID instances and on OOD ones, as far as there are any.
    category
        Of the fault that the OOD instances have.
    level
        How sure they are.
    """

    unit = "instances"

    def __init__(
        self,
        sides: Mapping[str, Sequence[Tally]],
        category: str | None,
        n_tracks: int | None = None,
        level: float = 0.95,
    ) -> None:
        self._sides, self._category, self.n_tracks, self._level = sides, category, n_tracks, level

    def ends(self, monitor: str, task: Task, name: str, value: Measure) -> Ends:
        """Return the ends of a measure that has a value."""
        sides = [tally for tally in self._sides[monitor] if tally.n]
        counts: list[Counts] = [getattr(tally, task) for tally in sides]
        if name != "mcc":
            return wilson(*_trials(name, sum(counts[1:], counts[0])), self._level)
        by_side = np.array([each.matrix for each in counts])
        possible = [
            possible_outcomes(task, tally.n_ood > 0, self._category, own)
            for tally, own in zip(sides, by_side, strict=True)
        ]
        term = of_counts(MANY[name], by_side, possible)
        found = term.interval(value, *drawn_by_count(by_side), self._level)
        return found.low, found.high


class NotCounted:
    """No intervals, for one reason."""

    unit = n_tracks = None

    def __init__(self, why: str) -> None:
        self._why = undefined(why)

    def ends(self, monitor: str, task: Task, name: str, value: Measure) -> Ends:  # noqa: ARG002 - all alike
        """Say why there are none."""
        return self._why, self._why


class TrackDraws:
    """A run's instances counted by track and stratum, for all monitors, and these counts drawn anew."""

    def __init__(self, table: VerdictTable, everyone: Mapping[str, Judgement]) -> None:
        self._everyone = everyone
        self.apart = table.why_no_ood is None
        """Whether ID and OOD instances are told apart."""
        self.sides = TrackedSides(table.track_code, table.partition.strata)
        columns = [(task, monitor) for task in TASKS for monitor in everyone]
        self._place = {column: slice(_KINDS * i, _KINDS * (i + 1)) for i, column in enumerate(columns)}

    def n_tracks(self, strata: Sequence[int]) -> int:
        """Return of how many tracks some strata are."""
        present = np.zeros(self.sides.n_tracks, dtype=np.bool_)
        for number in strata:
            present[self.sides.tracks[number].groups] = True
        return int(present.sum())

    def counts(self, stratum: int, task: Task, monitor: str) -> FloatArray:
        """Return how many instances of each outcome there are in what is weighed of a stratum."""
        return self._counted[0][stratum][:, self._place[task, monitor]]

    def unseen(self, stratum: int, task: Task, monitor: str) -> Mapping[int, float]:
        """Return how many instances of each outcome an unseen track of a stratum is taken to have."""
        return self._counted[1][stratum, task, monitor]

    def drawn(self, strata: Sequence[int], task: Task, monitor: str) -> tuple[list[Drawn], FloatArray]:
        """Return what was drawn of some strata, and the weight of the track that was not seen."""
        drawn, weight = self._drawn
        place = self._place[task, monitor]
        return [Drawn(drawn[number].n, drawn[number].of[:, place]) for number in strata], weight

    @cached_property
    def _counted(self) -> tuple[list[FloatArray], dict[tuple[int, Task, str], dict[int, float]]]:
        sides, columns = self.sides, _KINDS * len(self._place)
        counts = [np.empty((len(side.groups), columns)) for side in sides.weighed]
        amounts = {}
        for (task, monitor), place in self._place.items():
            outcomes = getattr(self._everyone[monitor], task).astype(np.int64)
            for number, (tracks, weighed) in enumerate(zip(sides.tracks, sides.weighed, strict=True)):
                counts[number][:, place] = weighed.counts(outcomes, _KINDS)
                by_track = tracks.counts(outcomes, _KINDS) if sides.bundled else counts[number][:, place]
                if len(by_track):
                    amounts[number, task, monitor] = unseen(tracks.sizes, by_track, range(_KINDS))
        return counts, amounts

    @cached_property
    def _drawn(self) -> tuple[list[Drawn], FloatArray]:
        return self.sides.draw(self._counted[0])


class OfTracks:
    """Intervals where instances share tracks: whole tracks are drawn, and one more that was not seen."""

    unit = "tracks"

    def __init__(
        self,
        draws: TrackDraws,
        strata: Sequence[int],
        category: str | None,
        n_tracks: int,
        level: float = 0.95,
    ) -> None:
        self._draws, self._strata, self._category, self._level = draws, strata, category, level
        self.n_tracks = n_tracks

    def ends(self, monitor: str, task: Task, name: str, value: Measure) -> Ends:
        """Return the ends of a measure that has a value."""
        draws, strata = self._draws, self._strata
        weighed = [draws.sides.weighed[number] for number in strata]
        by_kind, amounts = [draws.counts(number, task, monitor) for number in strata], []
        for number, own in zip(strata, by_kind, strict=True):
            possible = possible_outcomes(task, number > 0, self._category, own.sum(axis=0))
            amounts.append({kind: draws.unseen(number, task, monitor)[kind] for kind in possible})
        term = Counted(
            MANY[name], [side.groups for side in weighed], [side.sizes for side in weighed], by_kind, amounts
        )
        if (few := self._too_few(name, term)) is not None:
            return few, few
        return draws.sides.interval(term, value, lambda: draws.drawn(strata, task, monitor), self._level)

    def _too_few(self, name: str, term: Counted) -> Measure | None:
        """Return why there are too few tracks for an interval, if there are."""
        counting = range(len(term.tracks)) if name == "mcc" else term.sides
        for place in counting:
            side = f"{'OOD' if self._strata[place] else 'ID'} " if self._draws.apart else ""
            if (few := too_few_tracks(len(term.tracks[place]), f"the {side}instances")) is not None:
                return few
        if name == "mcc":
            return None
        # Of a rate, those count that have instances of the kind that it is a share of.
        of = ~np.isnan(MANY[name](np.eye(_KINDS)))
        some = [term.tracks[place][term.by_kind[place][:, of].any(axis=1)] for place in counting]
        return too_few_tracks(len(np.unique(np.concatenate(some))), "the instances that it is a share of")


def possible_outcomes(
    task: str, is_ood: bool, category: str | None, seen: FloatArray | None = None
) -> list[int]:
    """Return the outcomes, by their codes, that instances of a stream's side may have.

    Parameters
    ----------
    seen
        How often each was seen: what was seen is possible, whatever the category says.

    Examples
    --------
    >>> possible_outcomes("specific", False, "shift"), possible_outcomes("overall", True, "shift")
    ([0, 1], [0, 1, 2, 3])
    >>> possible_outcomes("overall", True, "novelty", np.array([0, 2, 5, 5]))
    [1, 2, 3]
    """
    never_right = is_ood and (task == "specific" or category == NOVELTY)
    likely = (2, 3) if never_right else (0, 1) if task == "specific" else range(_KINDS)
    return [kind for kind in range(_KINDS) if kind in likely or (seen is not None and seen[kind] > 0)]


def _trials(name: str, counts: Counts) -> tuple[int, int]:
    """Return a rate as how many of how many."""
    if name == "error":
        return counts.fp + counts.fn, counts.n
    return (counts.fp, counts.fp + counts.tn) if name == "fpr" else (counts.fn, counts.positive)
