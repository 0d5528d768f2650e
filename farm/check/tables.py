"""A stream's instances counted by track, for all measures and monitors at once: a draw is one product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from farm.api.arrays import FloatArray, IntArray
from farm.check.one_more import Counted, Drawn, Extra, Ranked, Table, Term
from farm.comparison import BenchmarkSet, measured
from farm.comparison.resampled import Tabulated, tabulated
from farm.comparison.sets import Said, Stream
from farm.errors import ParameterError
from farm.statistics.replicated import Auroc
from farm.statistics.resampling import Resampling

Column: TypeAlias = tuple[str, str]
"""A measure and a monitor."""
Block: TypeAlias = dict[tuple[str, str], list[Drawn]]
"""Of some draws, by task and monitor, what was drawn of each side."""
AUROC = "auroc"
NOVELTY = "novelty"
"""The category of what leaves no right answer."""


class StreamTables:
    """One stream's terms, and what they are drawn of.

    Parameters
    ----------
    one, stream
        A set, and one of its streams.
    alone
        The stream's tracks.
    own
        Their numbers among those of all streams.
    asked
        Measures and monitors.
    """

    def __init__(
        self,
        one: BenchmarkSet,
        stream: Stream,
        alone: Resampling,
        own: IntArray,
        asked: Sequence[Column],
    ) -> None:
        self._stream, self._alone, self._own = stream, alone, own
        self._sides = [rows for rows in (~stream.is_ood, stream.is_ood) if rows.any()]
        self._groups = [np.unique(alone.code[rows]) for rows in self._sides]
        self._sizes = [
            np.bincount(alone.code[rows])[groups].astype(np.float64)
            for rows, groups in zip(self._sides, self._groups, strict=True)
        ]
        self._novel = one.category == NOVELTY
        self._monitors = list(dict.fromkeys(monitor for _, monitor in asked))
        self._scores = {m: _scores(stream, m) for name, m in asked if name == AUROC}
        self._areas = Auroc(self._scores, stream.is_ood).draw(alone) if self._scores else None
        by_measure = {name: self._tabulated(name) for name, _ in asked if name != AUROC}
        self._tables = {_task(name): table for name, table in by_measure.items()}
        self.terms: dict[Column, Term] = {
            (name, m): self._ranked(m) if name == AUROC else self._counted(by_measure[name], _task(name), m)
            for name, m in asked
        }

    def drawn(self, weights: FloatArray) -> Block:
        """Draw what the terms are of; a column of weights is one of the stream's tracks."""
        found: Block = {}
        areas = self._areas(weights).T if self._areas else ()
        for number, (groups, sizes) in enumerate(zip(self._groups, self._sizes, strict=True)):
            own = weights[:, groups]
            n = own @ sizes
            for task, table in self._tables.items():
                side = table.sides[number]
                counts = (own @ side.by_kind).reshape(len(own), -1, side.kinds)
                for place, monitor in enumerate(self._monitors):
                    found.setdefault((task, monitor), []).append(Drawn(n, counts[:, place]))
            for monitor, area in zip(self._scores, areas, strict=True):
                found.setdefault((AUROC, monitor), []).append(Drawn(n, area))
        return found

    def values(
        self, column: Column, block: Block, extras: Sequence[Extra | None], weight: FloatArray
    ) -> FloatArray:
        """Give a term's values in each draw."""
        name, monitor = column
        return self.terms[column].values(block[_task(name), monitor], extras, weight)

    def _tabulated(self, name: str) -> Tabulated:
        table = tabulated(measured(name), self._stream, self._monitors, self._alone)
        if table is None:
            raise ParameterError(
                f"bounds: measure '{name}'; expected {AUROC}, or what follows from decisions"
            )
        return table

    def _counted(self, table: Tabulated, task: str, monitor: str) -> Counted:
        place = self._monitors.index(monitor)
        return Counted(
            table.form,
            [
                Table(
                    self._own[groups],
                    sizes,
                    side.by_kind[:, side.kinds * place : side.kinds * (place + 1)],
                    self._possible(task, monitor, is_ood=bool(self._stream.is_ood[rows][0])),
                )
                for groups, sizes, side, rows in zip(
                    self._groups, self._sizes, table.sides, self._sides, strict=True
                )
            ],
        )

    def _possible(self, task: str, monitor: str, *, is_ood: bool) -> Sequence[int]:
        return possible_kinds(task, self._stream.said[monitor], is_ood=is_ood, novel=self._novel)

    def _ranked(self, monitor: str) -> Ranked:
        """Give each track its share of pairs in the right order."""
        is_ood, scores, code = self._stream.is_ood, self._scores[monitor], self._alone.code
        in_distribution, ood = np.sort(scores[~is_ood]), np.sort(scores[is_ood])
        right = np.where(is_ood, _below(scores, in_distribution), 1 - _below(scores, ood))
        areas = [
            np.bincount(code[rows], weights=right[rows])[groups] / sizes
            for rows, groups, sizes in zip(self._sides, self._groups, self._sizes, strict=True)
        ]
        return Ranked([self._own[groups] for groups in self._groups], self._sizes, areas)


def possible_kinds(task: str, said: Said, *, is_ood: bool, novel: bool) -> Sequence[int]:
    """Give the kinds that instances of a side may be of, as `farm.comparison.resampled` numbers them."""
    if task == "specific":
        return (2, 3) if is_ood else (0, 1)
    never_right = novel and is_ood
    if task == "overall":
        return (2, 3) if never_right else range(4)
    if (said.cancelled & said.decided).any():
        return (3, 4) if never_right else range(6)
    # Without a fallback a decision that is acted upon is the classifier's own.
    return (3, 4) if never_right else (0, 2, 3, 4)


def _below(scores: FloatArray, others: FloatArray) -> FloatArray:
    """Give the share of other scores that each is above, a tie counting half."""
    twice = np.searchsorted(others, scores, "left") + np.searchsorted(others, scores, "right")
    return np.asarray(twice / (2 * len(others)))


def _scores(stream: Stream, monitor: str) -> FloatArray:
    scores = stream.said[monitor].score
    if scores is None:
        raise ParameterError(f"bounds: monitor '{monitor}' has no scores; expected one for each instance")
    return scores


def _task(name: str) -> str:
    """Name what a measure is computed of: outcomes of a task, or decisions, or scores."""
    return AUROC if name == AUROC else name.rpartition(".")[0]
