"""What is to be said of a category in one plain sentence: by ranks over its sets, or by its one stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from farm.comparing.measures import Measured
from farm.comparing.sections import Section
from farm.comparing.sets import NO_CATEGORY, NO_FAULT, BenchmarkSet
from farm.statistics.bayes import practical
from farm.statistics.ranks import RankComparison, compare_ranks
from farm.statistics.table import FullTable, Undefined, full_table, gap_notes
from farm.statistics.wording import listed, p_words, verb

ALL = "all sets"
_WHERE = {NO_FAULT: "Without faults", NO_CATEGORY: "On faults of no category", ALL: "Over all sets"}
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
    control: str | None = None,
    yardsticks: Collection[str] = (),
) -> Conclusion:
    """Rank monitors over the sets; where they cannot be ranked, say what the streams say.

    Where there is a control, the sentence tells how each other monitor compares with that one. `yardsticks`
    are left out rather than a set on which they are missing.
    """
    cells = {(one.name, m): one.cell(measure, m) for one in sets for m in monitors}
    # Where lower is better, 0 would make the monitor without a value the best of all.
    never_zero = undefined == "zero" and not measure.higher_is_better
    full = full_table(
        cells,
        measure.name,
        undefined="drop" if never_zero else undefined,
        higher_is_better=measure.higher_is_better,
        a_set_is=A_SET_IS,
        yardsticks=yardsticks,
    )
    if isinstance(full, Undefined):
        # There are no ranks, so that nothing counts as 0 in them, and a single set is not left out of any.
        left_out = _left_out([n for n in full.notes if "left out" in n and len(sets) > 1], never_zero)
        return Conclusion(category, full, of_streams(category, streams(), alpha), left_out)
    left_out = _left_out(gap_notes(full.dropped_monitors, full.dropped_sets, (), len(full.sets)), never_zero)
    if control not in (None, *full.monitors):
        why = Undefined(f"{control}, the control, has no value on any set", full.notes)
        return Conclusion(category, why, of_streams(category, streams(), alpha), left_out)
    ranks = compare_ranks(full, alpha, control)
    matters = () if rope is None else tuple(_practical(full, control or ranks.monitors[0], rope, seed))
    return Conclusion(category, ranks, of_ranks(category, ranks), left_out, tuple(_zeroed(full)), matters)


def _practical(full: FullTable, best: str, rope: float, seed: int) -> Iterator[str]:
    """Say how probable a difference is that matters, by the Bayesian signed-rank test over sets."""
    for than in practical(full, best, rope, seed):
        yield (
            f"{best} is better than {than.other} by more than {rope:g} with probability {than.better:.2f}, "
            f"worse by more with {than.worse:.2f}, and within {rope:g} of it with {than.equivalent:.2f} "
            f"(n = {len(full.sets)} sets)"
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
    """Say which monitors cannot be told from the one with the best mean rank, and which are worse.

    Where there is a control, say which monitors are better or worse than that one.
    """
    if ranks.control is not None:
        return _of_ranks_beside(ranks.control, category, ranks)
    best, *others = ranks.monitors
    p = {m: ranks.pair(best, m).p_holm for m in others}
    if ranks.too_few:
        smallest = p_of(list(p.values()), "smallest")
        return f"{where(category)}, {ranks.too_few}; {best} has the best mean rank ({smallest})."
    # A mean rank counts all monitors, a signed rank two: in rare cases they disagree who is better.
    better = [m for m in others if p[m] < ranks.alpha and ranks.favours(m, best)]
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
        if other < ranks.alpha and ranks.favours(like[0], monitor):
            than_both[monitor] = [p[monitor], other]
    than_best = {m: [p[m]] for m in worse if m not in than_both}
    return "; ".join(
        f"{listed(list(found))} {verb(found, 'is', 'are')} worse than {whom} "
        f"({p_of([value for values in found.values() for value in values], 'largest')})"
        for found, whom in ((than_both, "both"), (than_best, best))
        if found
    )


def _of_ranks_beside(control: str, category: str, ranks: RankComparison) -> str:
    if ranks.too_few:
        smallest = p_of([each.p_holm for each in ranks.wilcoxon], "smallest")
        return f"{where(category)}, {ranks.too_few} ({smallest})."
    p = {m: ranks.pair(m, control).p_holm for m in ranks.monitors if m != control}
    better = [m for m in p if ranks.favours(m, control)]
    clauses = _beside(control, p, better, ranks.alpha)
    return f"{where(category)} (n = {ranks.n_sets} sets): {'; '.join(clauses)}."


def _beside(control: str, p: Mapping[str, float], better: Sequence[str], alpha: float) -> list[str]:
    """Say which monitors are better or worse than a control, and which cannot be told from it."""
    apart = [m for m in p if p[m] < alpha]
    told = (
        ("{0} {1} better than {2}", [m for m in apart if m in better], "largest"),
        ("{0} {1} worse than {2}", [m for m in apart if m not in better], "largest"),
        ("{0} cannot be told from {2}", [m for m in p if m not in apart], "smallest"),
    )
    return [
        form.format(listed(names), verb(names, "is", "are"), control)
        + f" ({p_of([p[m] for m in names], which)})"
        for form, names, which in told
        if names
    ]


def of_streams(category: str, streams: Section, alpha: float) -> str:
    """Say what the instances tell where there are too few sets to rank monitors."""
    valued = [s for s in streams.standings if s.value.defined]
    over = f" over all {streams.n_streams} streams" if streams.n_streams > 1 else ""
    if not valued:
        return f"{where(category)}, no monitor has a value{over}."
    if len(valued) == 1:
        only = f"only {valued[0].monitor} has a value{over}"
        return f"{where(category)}, {only}: there is nothing to compare it with."
    control = streams.control
    if control not in (None, *(s.monitor for s in valued)):
        return (
            f"{where(category)}, {control} has no value{over}: there is nothing to compare the others with."
        )
    than = control or valued[0].monitor
    others = [s for s in valued if s.monitor != than]
    p = {s.monitor: s.p.value for s in others if s.p.defined}
    worse = "worse" if control is None else f"better or worse than {control}"
    clauses = [] if control else [f"{than} comes first"]
    if not p and control:
        clauses.append(f"how surely any monitor is {worse} is not known ({others[0].p.reason})")
    elif not p:
        clauses[0] += f", but how surely is not known ({others[0].p.reason})"
    possible = streams.resolution is None or streams.resolution.enough
    if p and streams.resolution is not None and not possible:
        are = verb(list(p), "is", "are")
        clauses.append(f"whether {listed(list(p))} {are} {worse} cannot be told: {streams.resolution.words}")
    elif control:
        before = [s.monitor for s in valued].index(control)
        clauses += _beside(control, p, [s.monitor for s in valued[:before]], alpha)
    else:
        clauses += _beside_best(p, alpha)
    unknown = [s.monitor for s in others if p and s.monitor not in p]
    without = [s.monitor for s in streams.standings if not s.value.defined]
    if unknown:
        clauses.append(f"how surely {listed(unknown)} {verb(unknown, 'is', 'are')} {worse} is not known")
    if without:
        clauses.append(f"{listed(without)} {verb(without, 'has', 'have')} no value{over}")
    n_sets = len(streams.sets)
    why = "there is one set" if n_sets == 1 else f"too few of {n_sets} sets can be ranked"
    told = f"{where(category)}, {why}, so that its {streams.unit} decide (n = {streams.n:,})"
    return f"{told}: {'; '.join(clauses)}."


def _beside_best(p: Mapping[str, float], alpha: float) -> Iterator[str]:
    """Say which monitors cannot be told from the one that comes first, and which are worse."""
    like, worse = ([m for m in p if (p[m] >= alpha) == is_like] for is_like in (True, False))
    if like:
        yield f"{listed(like)} cannot be told from it ({p_of([p[m] for m in like], 'smallest')})"
    if worse:
        yield f"{listed(worse)} {verb(worse, 'is', 'are')} worse ({p_of([p[m] for m in worse], 'largest')})"


def where(category: str) -> str:
    """Begin a sentence about a category.

    Examples
    --------
    >>> where("noise"), where("no fault"), where("all sets")
    ('On noise', 'Without faults', 'Over all sets')
    """
    return _WHERE.get(category, f"On {category}")


def p_of(values: Sequence[float], which: str) -> str:
    """Write a p value, of several the `smallest` or the `largest`.

    Examples
    --------
    >>> p_of([0.2], "smallest"), p_of([0.2, 0.04], "smallest"), p_of([1e-6, 1e-9], "largest")
    ('p = 0.20', 'smallest p = 0.040', 'largest p < 0.001')
    """
    told = p_words(min(values) if which == "smallest" else max(values))
    return told if len(values) == 1 else f"{which} {told}"
