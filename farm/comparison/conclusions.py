"""What is to be said of a category in one plain sentence: by ranks over its sets, or by its one stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from farm.comparison.measures import Measured
from farm.comparison.sections import Section
from farm.comparison.sets import BenchmarkSet
from farm.comparison.wording import listed, p_of, verb, where
from farm.statistics.bayes import practical_pairs
from farm.statistics.full_table import FullTable, gap_notes
from farm.statistics.ranks import RankComparison, compare_ranks
from farm.statistics.table import SetTable, Undefined

A_SET_IS = "one fault at one severity on one workload with one classifier"


@dataclass(frozen=True)
class Conclusion:
    """A category, its ranks over sets (or why there are none), and the sentence."""

    category: str
    ranks: RankComparison | Undefined
    sentence: str
    left_out: tuple[str, ...] = ()
    """Which sets and monitors have no part in the ranks, and why."""
    zeroed: tuple[str, ...] = ()
    """Which monitors count as 0 in ranks, and on how many sets."""
    practical: tuple[str, ...] = ()
    """How probable it is that the best is practically better than each other monitor, if asked for."""


def conclude(
    category: str,
    sets: Sequence[BenchmarkSet],
    measure: Measured,
    monitors: Sequence[str],
    *,
    alpha: float,
    undefined: str,
    streams: Callable[[], Section],
    rope: float | None = None,
    seed: int = 0,
) -> Conclusion:
    """Rank monitors over the sets; where they cannot be ranked, say what the streams say."""
    cells = {(one.name, m): one.cell(measure, m) for one in sets for m in monitors}
    table = SetTable.of(cells, measure.name, higher_is_better=measure.higher_is_better, a_set_is=A_SET_IS)
    # Where lower is better, 0 would make the monitor without a value the best of all.
    never_zero = undefined == "zero" and not measure.higher_is_better
    full = table.resolve("drop" if never_zero else undefined)
    if isinstance(full, Undefined):
        # There are no ranks, so that nothing counts as 0 in them, and a single set is not left out of any.
        left_out = _left_out([n for n in full.notes if "left out" in n and len(sets) > 1], never_zero)
        return Conclusion(category, full, of_streams(category, streams(), alpha), left_out)
    ranks = compare_ranks(full, alpha)
    left_out = _left_out(gap_notes(full.dropped_monitors, full.dropped_sets, (), len(full.sets)), never_zero)
    practical = () if rope is None else tuple(_practical(full, ranks.monitors[0], rope, seed))
    return Conclusion(category, ranks, of_ranks(category, ranks), left_out, tuple(_zeroed(full)), practical)


def _practical(full: FullTable, best: str, rope: float, seed: int) -> Iterator[str]:
    """Say how probable a difference is that matters, by the Bayesian signed-rank test over sets."""
    for pair in practical_pairs(full, rope, seed):
        if best not in (pair.first, pair.second):
            continue
        other = pair.second if pair.first == best else pair.first
        better, worse = (pair.better, pair.worse) if pair.first == best else (pair.worse, pair.better)
        yield (
            f"{best} is better than {other} by more than {rope:g} with probability {better:.2f}, worse by "
            f"more with {worse:.2f}, and within {rope:g} of it with {pair.equivalent:.2f} (n = {pair.n} sets)"
        )


def _left_out(notes: Iterable[str], never_zero: bool) -> tuple[str, ...]:
    told = tuple(notes)
    if never_zero and any("is undefined" in note for note in told):
        told += ("what is undefined cannot count as 0, which would be the best value",)
    return told


def _zeroed(full: FullTable) -> Iterator[str]:
    """Say of each monitor once on how many sets it counts as 0; the reasons stand with the sections."""
    counts = Counter(each.monitor for each in full.zeroed)
    for times in sorted(set(counts.values())):
        names = [name for name, count in counts.items() if count == times]
        on = f"on {times} of {len(full.sets)} sets, where undefined"
        yield f"in ranks {listed(names)} {verb(names, 'counts', 'count')} as 0 {on}"


def of_ranks(category: str, ranks: RankComparison) -> str:
    """Say which monitors cannot be told from the one with the best mean rank, and which are worse."""
    best, *others = ranks.monitors
    p = {m: ranks.pair(best, m).p_holm for m in others}
    if (needed := _sets_needed(ranks)) > ranks.n_sets:
        k = len(ranks.monitors)
        whom = "two monitors" if k == 2 else f"any two of {k} monitors"
        smallest = p_of(list(p.values()), "smallest")
        return (
            f"{where(category)}, n = {ranks.n_sets} sets are too few to tell {whom} apart, which takes at "
            f"least {needed}; {best} has the best mean rank ({smallest})."
        )
    # A mean rank counts all monitors, a signed rank two: in rare cases they disagree who is better.
    better = [m for m in others if p[m] < ranks.alpha and _favours(ranks, m, best)]
    worse = [m for m in others if p[m] < ranks.alpha and m not in better]
    like = [m for m in others if p[m] >= ranks.alpha]
    told = f"{where(category)}, {_first(ranks, p, like, worse)}"
    if like and worse:
        told += f"; {_worse(ranks, p, like, worse)}"
    if better:
        told += (
            f"; by itself with {best}, {listed(better)} {verb(better, 'is', 'are')} better "
            f"({p_of([p[m] for m in better], 'largest')}), though not by mean rank"
        )
    return told + "."


def _first(ranks: RankComparison, p: Mapping[str, float], like: Sequence[str], worse: Sequence[str]) -> str:
    best, *others = ranks.monitors
    counted = f"n = {ranks.n_sets} sets"
    if len(like) == 1:
        return f"{best} and {like[0]} cannot be told apart ({counted}, {p_of([p[like[0]]], 'smallest')})"
    if like:
        smallest = p_of([p[m] for m in like], "smallest")
        nobody = "no other monitor" if like == others else f"none of {listed(like)}"
        return f"{nobody} can be told from {best}, whose mean rank is best ({counted}, {smallest})"
    if worse == others:
        other = others[0] if len(others) == 1 else "every other monitor"
        return f"{best} is better than {other} ({counted}, {p_of(list(p.values()), 'largest')})"
    told = f"{best} has the best mean rank ({counted})"
    return f"{told}; {_worse(ranks, p, like, worse)}" if worse else told


def _worse(ranks: RankComparison, p: Mapping[str, float], like: Sequence[str], worse: Sequence[str]) -> str:
    """Say who is worse than the best and, where one other monitor is like it, worse than both."""
    best = ranks.monitors[0]
    than_both: dict[str, list[float]] = {}
    for monitor in worse if len(like) == 1 else ():
        other = ranks.pair(like[0], monitor).p_holm
        if other < ranks.alpha and _favours(ranks, like[0], monitor):
            than_both[monitor] = [p[monitor], other]
    than_best = {m: [p[m]] for m in worse if m not in than_both}
    return "; ".join(
        f"{listed(list(found))} {verb(found, 'is', 'are')} worse than {whom} "
        f"({p_of([value for values in found.values() for value in values], 'largest')})"
        for found, whom in ((than_both, "both"), (than_best, best))
        if found
    )


def _favours(ranks: RankComparison, one: str, other: str) -> bool:
    pair = ranks.pair(one, other)
    first, second = pair.first_sum, pair.second_sum
    return first > second if pair.first == one else second > first


def _sets_needed(ranks: RankComparison) -> int:
    """Give the fewest sets with which the least p there can be is below alpha, all pairs accounted for."""
    n_pairs = len(ranks.monitors) * (len(ranks.monitors) - 1) // 2
    n = 2
    while 2 * 0.5**n * n_pairs >= ranks.alpha:
        n += 1
    return n


def of_streams(category: str, streams: Section, alpha: float) -> str:
    """Say what the instances tell where there are too few sets to rank monitors."""
    valued = [s for s in streams.standings if s.value.defined]
    if not valued:
        return f"{where(category)}, no monitor has a value."
    if len(valued) == 1:
        return (
            f"{where(category)}, only {valued[0].monitor} has a value: there is nothing to compare it with."
        )
    n_sets = len(streams.sets)
    why = "there is one set" if n_sets == 1 else f"too few of {n_sets} sets can be ranked"
    best, *others = valued
    p = {s.monitor: s.p.value for s in others if s.p.defined}
    clauses = [f"{best.monitor} comes first"]
    if not p:
        clauses[0] += f", but how surely is not known ({others[0].p.reason})"
    like = [m for m in p if p[m] >= alpha]
    worse = [m for m in p if p[m] < alpha]
    unknown = [s.monitor for s in others if p and s.monitor not in p]
    without = [s.monitor for s in streams.standings if not s.value.defined]
    if like:
        clauses.append(f"{listed(like)} cannot be told from it ({p_of([p[m] for m in like], 'smallest')})")
    if worse:
        largest = p_of([p[m] for m in worse], "largest")
        clauses.append(f"{listed(worse)} {verb(worse, 'is', 'are')} worse ({largest})")
    if unknown:
        clauses.append(f"how surely {listed(unknown)} {verb(unknown, 'is', 'are')} worse is not known")
    if without:
        clauses.append(f"{listed(without)} {verb(without, 'has', 'have')} no value")
    told = f"{where(category)}, {why}, so that its instances decide (n = {streams.n:,})"
    return f"{told}: {'; '.join(clauses)}."
