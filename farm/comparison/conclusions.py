"""What is to be said of a category in one plain sentence, by ranks over its sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from farm.comparison.measures import Measured
from farm.comparison.sections import Section
from farm.comparison.sets import BenchmarkSet
from farm.measures import Measure
from farm.statistics.full_table import FullTable, gap_notes
from farm.statistics.ranks import RankComparison, compare_ranks
from farm.statistics.table import Cell, Missing, SetTable, Undefined
from farm.statistics.wording import p_words

A_SET_IS = "one fault at one severity on one workload with one classifier"
LISTED = 6
"""So many monitors are named in a sentence before the rest is counted."""


@dataclass(frozen=True)
class Conclusion:
    """A category, its ranks over sets (or why there are none), and the sentence."""

    category: str
    ranks: RankComparison | Undefined
    sentence: str
    notes: tuple[str, ...] = ()
    """What was left out of the ranks, and what counts as 0 in them."""


def conclude(
    category: str,
    sets: Sequence[BenchmarkSet],
    measure: Measured,
    monitors: Sequence[str],
    *,
    alpha: float,
    undefined: str,
    streams: Section,
) -> Conclusion:
    """Rank monitors over the sets; with a single set, say what its streams say (`streams`)."""
    cells = {(one.name, m): _cell(one, measure, m) for one in sets for m in monitors}
    table = SetTable.of(cells, measure.name, higher_is_better=measure.higher_is_better, a_set_is=A_SET_IS)
    # Where lower is better, 0 would make the monitor without a value the best of all.
    full = table.resolve(undefined if measure.higher_is_better or undefined == "error" else "drop")
    if isinstance(full, Undefined):
        return Conclusion(category, full, _of_streams(category, streams, alpha), full.notes)
    ranks = compare_ranks(full, alpha)
    return Conclusion(category, ranks, _of_ranks(category, ranks), tuple(_notes(full)))


def _notes(full: FullTable) -> Iterator[str]:
    """Say of each monitor once on how many sets it counts as 0; the reasons stand with the sections."""
    yield from gap_notes(full.dropped_monitors, full.dropped_sets, (), len(full.sets))
    zeroed = Counter(each.monitor for each in full.zeroed)
    for times in sorted(set(zeroed.values())):
        names = [name for name, count in zeroed.items() if count == times]
        verb = "counts" if len(names) == 1 else "count"
        yield f"in ranks {_and(names)} {verb} as 0 on {times} of {len(full.sets)} sets, where undefined"


def _cell(one: BenchmarkSet, measure: Measured, monitor: str) -> Cell:
    """Average a set's runs: they are repetitions, not sets."""
    values = []
    for records in one.records:
        if monitor not in records:
            return Missing()
        if records[monitor]["failure"] is not None:
            return Missing("failed")
        value = measure.of(records[monitor])
        if not value.defined:
            return value
        values.append(value.value)
    return Measure(sum(values) / len(values))


def _of_ranks(category: str, ranks: RankComparison) -> str:
    best, *others = ranks.monitors
    p = {m: ranks.pair(best, m).p_holm for m in others}
    worse = [m for m in others if p[m] < ranks.alpha]
    like = [m for m in others if m not in worse]
    counted = f"n = {ranks.n_sets} sets"
    where = f"On {category}"
    if not worse:
        n_pairs = len(ranks.monitors) * (len(ranks.monitors) - 1) // 2
        told = f"{where}, no monitor can be told from {best}, whose mean rank is best"
        told += f" ({counted}, {p_words(min(p.values()))} or more)"
        if 2 * 0.5**ranks.n_sets * n_pairs >= ranks.alpha:
            told += "; with so few sets none could be, however large the differences"
        return told + "."
    if like:
        among = max(like, key=lambda m: p[m])
        told = (
            f"{where}, {_and([best, *like])} cannot be told apart"
            if len(like) == 1
            else (f"{where}, none of {_and(like)} can be told from {best}")
        )
        told += f" ({counted}, {p_words(p[among] if len(like) == 1 else min(p[m] for m in like))})"
    else:
        told = f"{where}, {best} is better than every other monitor ({counted}, {p_words(max(p.values()))})"
        return told + "."
    return f"{told}; {_and(worse)} {'is' if len(worse) == 1 else 'are'} worse ({_at_most(p, worse)})."


def _of_streams(category: str, streams: Section, alpha: float) -> str:
    where = f"On {category}, with {len(streams.sets)} set{'' if len(streams.sets) == 1 else 's'} to rank"
    best = streams.best
    if best is None:
        return f"{where}, no monitor has a value."
    p = {s.monitor: s.p.value for s in streams.standings if s.p.defined}
    like = [m for m, value in p.items() if value >= alpha]
    worse = [m for m in p if m not in like]
    told = f"{where}, the images of the stream decide (n = {streams.n}): {best} is best"
    if like:
        told += f", and {_and(like)} cannot be told from it ({p_words(min(p[m] for m in like))})"
    if worse:
        told += f"; {_and(worse)} {'is' if len(worse) == 1 else 'are'} worse ({_at_most(p, worse)})"
    if not p:
        told += ", but how surely is not known"
    return told + "."


def _at_most(p: dict[str, float], worse: Sequence[str]) -> str:
    told = p_words(max(p[m] for m in worse))
    return told if len(worse) == 1 or "<" in told else told.replace("p =", "p at most")


def _and(names: Sequence[str]) -> str:
    shown = list(names[:LISTED])
    if len(names) > LISTED:
        shown.append(f"{len(names) - LISTED} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
