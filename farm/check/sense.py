"""Whether a criterion makes sense: something would meet it, and something would not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from farm.check.measures import PAIRED
from farm.check.scanner import number_words, percent_words
from farm.errors import suggestion

if TYPE_CHECKING:
    from farm.check.criterion import Criterion

LEVEL = 0.95


def problems(criterion: Criterion) -> Iterator[str]:
    """Say what is wrong with a criterion whose measure is known, whatever there is to judge by it."""
    yield from _of_statistic(criterion)
    yield from _of_bound(criterion) if criterion.baseline is None else _of_margin(criterion)
    yield from criterion.selection.problems()
    side = criterion.selection.side
    if why := criterion.gated.refuses(side):
        yield f"cannot be judged on {side}: {why}"
    yield from _of_monitors(criterion)
    if why := level_problem(criterion.level):
        yield why


def level_problem(level: float) -> str | None:
    """Say what is wrong with a level, if anything."""
    if 0.5 <= level < 1:
        return None
    return (
        f"the level is {number_words(level)}; expected at least 50 % and less than 100 %, such as "
        f"{percent_words(LEVEL)}"
    )


def monitors_problem(monitors: tuple[str, ...]) -> str | None:
    """Say what is wrong with the names of some monitors, if anything."""
    if not monitors or not all(monitors):
        return "no monitor is named; expected at least one"
    twice = next((name for name in monitors if monitors.count(name) > 1), None)
    return None if twice is None else f"monitor '{twice}' is named twice; expected it once"


def _of_statistic(criterion: Criterion) -> Iterator[str]:
    known, statistic = criterion.gated, criterion.statistic
    if not known.is_distribution:
        if statistic is not None:
            yield f"'{criterion.quantity}' is not known; {suggestion(criterion.quantity, [known.name])}"
    elif statistic is None:
        yield (
            f"'{known.name}' has a value for each {known.counts}; say which is meant: {known.statistics}, "
            f"such as '{known.name}.p99'"
        )
    elif not known.has_statistic(statistic):
        yield f"'{statistic}' of {known.name} is not known; expected {known.statistics}"


def _of_bound(criterion: Criterion) -> Iterator[str]:
    known, bound, relation = criterion.gated, criterion.bound, criterion.relation
    if bound is None or criterion.margin is not None or relation == "not worse":
        yield "expected a bound, or a baseline and a margin"
        return
    if not math.isfinite(bound):
        yield f"the bound is {bound}; expected a finite number"
    better, good = ("higher", (">=", ">")) if known.higher_is_better else ("lower", ("<=", "<"))
    if relation not in good:
        yield (
            f"{better} {known.name} is better, and '{relation}' asks for a bad one; expected '{good[0]}' or "
            f"'{good[1]}'"
        )
    sign = 1 if known.higher_is_better else -1
    past_best, past_worst = sign * (bound - known.best), sign * (bound - known.worst)
    range_ = f"{known.name} is from {known.lowest:g} to {known.highest:g}"
    if past_best > 0 or (past_best == 0 and relation in (">", "<")):
        yield f"it can never be met: {range_}"
    elif past_best == 0 and not known.measured:
        yield (
            f"it can never be met: no number of instances shows that {known.name} is {known.best:g} exactly; "
            f"expected a bound {'below' if known.higher_is_better else 'above'} it"
        )
    if past_worst < 0 or (past_worst == 0 and relation in (">=", "<=")):
        yield f"it can never fail: {range_}"


def _of_margin(criterion: Criterion) -> Iterator[str]:
    known, margin = criterion.gated, criterion.margin
    if (
        criterion.relation != "not worse"
        or criterion.bound is not None
        or margin is None
        or not criterion.baseline
    ):
        yield "beside a baseline, expected 'not worse than' it 'by' a margin, and no bound"
        return
    if known.kind not in PAIRED:
        yield (
            f"{criterion.quantity} cannot be compared with a baseline, which keeps alarms and decisions, and "
            "no scores or times; expected a bound"
        )
    elif not margin >= 0:
        yield f"the margin is {number_words(margin)}; expected at least 0: by how much it may be worse"
    elif margin >= known.highest - known.lowest:
        yield (
            f"it can never fail: {known.name} is from {known.lowest:g} to {known.highest:g}, and may be "
            f"worse by {number_words(margin)}"
        )


def _of_monitors(criterion: Criterion) -> Iterator[str]:
    monitors = criterion.monitors
    if monitors is None:
        return
    if not criterion.gated.of_monitors:
        yield f"{criterion.measure} is the same whatever the monitor; leave 'for' out"
    if why := monitors_problem(monitors):
        yield why
