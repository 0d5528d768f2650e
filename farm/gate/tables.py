"""One stream's terms: each measure of each monitor, in draws of its tracks and one more that is unseen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from farm.api.arrays import FloatArray, IntArray
from farm.comparing.classifier_sums import GAPS, MEANS, NO_ANSWER_NEEDED
from farm.comparing.joint_tracks import AREAS, Block, StreamCounts, StreamTracks, task_of
from farm.comparing.measures import ACCURACY
from farm.gate.gaps import Gaps
from farm.gate.measures import GATED
from farm.judging.intervals import NOVELTY, possible_outcomes
from farm.statistics.bootstrap import Column
from farm.statistics.bounds import Counted, Drawn, Extra, SideTracks, Way, typical, unseen, worst_share


@dataclass(frozen=True, eq=False)
class Ranked:
    """The area under the ROC curve: an unseen track adds pairs in the wrong order, or in the right one."""

    tracks: Sequence[IntArray]
    sizes: Sequence[FloatArray]
    areas: Sequence[FloatArray]
    """On each side, each track's share of pairs in the right order."""

    def extra(self, side: int, way: Way) -> Extra:
        """Add the right ones to make the area greater, and the wrong ones to make it less."""
        sizes, right = self.sizes[side], self.areas[side]
        amount = typical(sizes) * worst_share(right if way > 0 else 1 - right)
        area = float(sizes @ right / sizes.sum())
        end = 1.0 if way > 0 else 0.0
        return Extra(int(end), amount, (end - area) * amount / (sizes.sum() + amount))

    def values(
        self, drawn: Sequence[Drawn], extras: Sequence[Extra | None], weight: FloatArray
    ) -> FloatArray:
        """Return the area in each draw, pairs with the unseen track having their part of it."""
        area = drawn[0].of
        for side, extra in zip(drawn, extras, strict=True):
            if extra is not None:
                more = extra.amount * weight
                area = (area * side.n + extra.kind * more) / (side.n + more)
        return area


Term: TypeAlias = Counted | Ranked | Gaps
"""A measure of one monitor on one stream."""


class StreamTables:
    """One stream's terms, and what they are drawn of.

    Parameters
    ----------
    stream
        A stream with its tracks.
    asked
        Measures and monitors.
    """

    def __init__(self, stream: StreamTracks, asked: Sequence[Column]) -> None:
        self.stream = stream
        self.counts = StreamCounts(stream.table, stream.alone, asked)
        self.tracks = [stream.own[side.groups] for side in self.counts.sides]
        self.sizes = [side.sizes for side in self.counts.sides]
        self.terms: dict[Column, Term] = {(name, m): self._term(name, m) for name, m in asked}

    def _term(self, name: str, monitor: str) -> Term:
        if name in AREAS:
            return self.ranked(name, monitor)
        if name in GAPS:
            sums = self.counts.by_kind(name, monitor)
            return Gaps(name, self.tracks, self.sizes, sums, GATED[name].highest)
        return self._counted(name, monitor)

    def drawn(self, weights: FloatArray) -> Block:
        """Draw what the terms are of; a column of weights is one of the stream's tracks."""
        return self.counts.drawn(weights)

    def possible(self, task: str, monitor: str, side: SideTracks) -> Sequence[int]:
        """Return the kinds that instances of a side may be of, as `farm.comparing.joint_tracks` has them."""
        is_ood = bool(self.stream.table.is_ood[side.rows][0])
        never_right = is_ood and self.stream.of.category == NOVELTY
        if task == ACCURACY:
            return (1,) if never_right else (0, 1)
        if task in MEANS:
            return (2,) if never_right and task not in NO_ANSWER_NEEDED else (0, 1)
        if task:
            return possible_outcomes(task, is_ood, self.stream.of.category)
        judged = self.stream.table.said[monitor]
        if (judged.cancelled & judged.decided).any():
            return (3, 4) if never_right else range(6)
        # Without a fallback a decision that is acted upon is the classifier's own.
        return (3, 4) if never_right else (0, 2, 3, 4)

    def _counted(self, name: str, monitor: str) -> Counted:
        task = task_of(name)
        by_kind = self.counts.by_kind(task, monitor)
        possible = [self.possible(task, monitor, side) for side in self.counts.sides]
        if task in MEANS:
            # Scores that are all small tell nothing of how bad the next may be: it is the worst there is.
            amounts = [dict.fromkeys(p, typical(n)) for n, p in zip(self.sizes, possible, strict=True)]
        else:
            amounts = [unseen(*each) for each in zip(self.sizes, by_kind, possible, strict=True)]
        return Counted(self.counts.forms[name], self.tracks, self.sizes, by_kind, amounts)

    def ranked(self, name: str, monitor: str) -> Ranked:
        """Return the term of an area: each track's share of pairs in the right order."""
        ranked = self.counts.ranked[name]
        flagged, scores, sides = ranked.flagged, ranked.scores[monitor], ranked.sides
        low, high = np.sort(scores[~flagged]), np.sort(scores[flagged])
        right = np.where(flagged, _below(scores, low), 1 - _below(scores, high))
        areas = [np.bincount(side.track, weights=right[side.rows]) / side.sizes for side in sides]
        return Ranked([self.stream.own[side.groups] for side in sides], [side.sizes for side in sides], areas)


def _below(scores: FloatArray, others: FloatArray) -> FloatArray:
    """Return the share of other scores that each is above, a tie counting half."""
    twice = np.searchsorted(others, scores, "left") + np.searchsorted(others, scores, "right")
    return np.asarray(twice / (2 * len(others)))
