"""Tables on which network is better, whether repetitions agree, and which of the source's findings hold."""

from __future__ import annotations

from collections.abc import Iterator

from farm.judging.inspection import Look, LookCell
from farm.measures import undefined
from farm.measures.measure import Bounded
from farm.protocols.uncertainty import wording
from farm.protocols.uncertainty.cells import DIGITS
from farm.protocols.uncertainty.findings import findings
from farm.protocols.uncertainty.measured import BOXES, CLASSES, Task
from farm.protocols.uncertainty.results import Results
from farm.protocols.uncertainty.summary import NetworkComparison, comparisons, rankings
from farm.protocols.uncertainty.wording import NAMES, named
from farm.statistics.concordance import Concordance
from farm.statistics.wording import p_cell

SOURCE = "Diet, Kassem Sbeyti, Karg"


def compared(results: Results, task: Task, measure: str) -> Iterator[Look]:
    """Return which networks are better by a measure, and how surely."""
    found = comparisons(results, task, measure)
    if not found:
        return
    several = any(len(one.contrast.by_seed) > 1 for one in found)
    rows: list[tuple[LookCell, ...]] = []
    for one in found:
        difference = one.contrast.difference
        bounded = Bounded(difference.value, difference.low, difference.high)
        p: LookCell = p_cell(one.p.value) if one.p.defined else one.p
        better = "not shown" if one.better is None else named(one.better)
        pair = f"{one.where}: {named(one.first)} and {named(one.second)}"
        rows.append(
            (
                pair,
                one.contrast.one,
                one.contrast.other,
                bounded,
                p,
                *([_sides(one)] if several else []),
                better,
            )
        )
    more = ("repetitions above 0",) if several else ()
    columns = ("on", "first", "second", "difference", "p", *more, "better")
    notes = (wording.OF_IMAGES, "p with Holm's correction over this table.", wording.scope(results))
    yield Look(f"Which network is better by {NAMES[task, measure]}?", columns, rows, notes, digits=DIGITS)


def _sides(one: NetworkComparison) -> str:
    by_seed = one.contrast.by_seed
    return f"{sum(value > 0 for value in by_seed)} of {len(by_seed)}"


def stability(results: Results) -> Look:
    """Return how variants rank, and whether repetitions agree on it."""
    rows: list[tuple[LookCell, ...]] = []
    for one in rankings(results):
        known = one.agreement if isinstance(one.agreement, Concordance) else None
        why = undefined(one.agreement) if isinstance(one.agreement, str) else None
        w: LookCell = why if known is None else known.w
        p: LookCell = why if one.p is None else p_cell(one.p.value) if one.p.defined else one.p
        stable = "yes" if one.stable else "not told" if known is None or not known.p.defined else "not shown"
        order = ", ".join(variant for _, variant in one.order)
        rows.append((f"{one.backbone}, {NAMES[one.task, one.measure]}, {one.where}", order, w, p, stable))
    notes = (
        "W is 1 where all repetitions rank alike, and near 0 where none has to do with another; p of as much "
        "agreement by chance, with Holm's correction.",
    )
    columns = ("ranking by", "the best first", "Kendall's W", "p", "stable")
    return Look("Do repetitions rank variants alike?", columns, rows, notes)


def concluded(results: Results) -> Look:
    """Return which of the source's findings hold here, by which rule, and by which numbers."""
    rows: list[tuple[LookCell, ...]] = [
        (one.claim, one.verdict, one.rule, wording.finding_numbers(one)) for one in findings(results)
    ]
    notes = (
        "A finding holds where each of its differences shows to be above 0 (of placements that approach the "
        "ensemble one is enough), and does not hold where one shows to be below; else it cannot be told.",
        "In brackets the 95 % interval, and p with Holm's correction over all differences here.",
        wording.scope(results),
    )
    columns = ("finding", "here", "rule", "difference")
    return Look(f"Which findings of the source hold here ({SOURCE}, 2024)", columns, rows, notes)


def conclusion(results: Results) -> Look:
    """Say in a few sentences what was found."""
    told = [
        *wording.falls(results),
        *wording.better_variants(results, CLASSES, "accuracy"),
        *wording.better_variants(results, BOXES, "iou"),
        *wording.stability(results),
        *wording.conformal(results),
    ]
    return Look("In short", (), [], tuple(told))
