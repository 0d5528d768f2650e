"""Which monitor helps against each category of faults, in one plain sentence, and whether that is sure.

A monitor helps where decisions that it accepts are right more often than all decisions are: where its overall
MCC is above 0, which is that of alarms at random. That is sure where the lower bound of `farm.gate.bounds` is
above 0, at a level that allows for having chosen the best of several monitors, in each of several categories
(Bonferroni). So of all answers on which no monitor helps at most one in twenty names one that surely does in
any category.

What MCC is worth depends on how rare mistakes are: where six of 20,000 decisions are wrong, even who cancels
all of them and 5 % of the others has one of 0.08. So that no monitor helps noticeably is told by Youden's
index, of the shares of wrong and of right decisions that it cancels.

References
----------
W. J. Youden, "Index for rating diagnostic tests", Cancer 3 (1950).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from farm.api.arrays import FloatArray
from farm.comparing import BenchmarkSet, measured
from farm.comparing.conclusions import where
from farm.comparing.sections import section
from farm.gate.bounds import Redrawn, redrawn
from farm.gate.observed import Size, size_of
from farm.judging.intervals import NOVELTY
from farm.measures import Measure, undefined
from farm.statistics.bounds import Way
from farm.statistics.resolution import BEYOND, MOST_REPLICATES, REPLICATES
from farm.statistics.table import Missing
from farm.statistics.wording import listed, p_words, percent_words, verb

MCC = "overall.mcc"
CAUGHT, PRICE = "overall.recall", "overall.fpr"
NEGLIGIBLE = 0.1
"""By so much more of the wrong decisions than of the right ones has to be cancelled to be noticed."""
PLAIN_CONFIDENCE, ITS_CLASS = "max-softmax", "monitors.max_softmax:MaxSoftmax"
"""The monitor that a better one has to beat, and what a run notes of it, by whatever name."""


@dataclass(frozen=True)
class Answer:
    """What is to be said of one category of faults."""

    category: str
    monitor: str | None
    """The monitor with the best overall MCC, yardsticks apart; None where none has one."""
    helps: bool | None
    """Whether it makes accepted decisions more often right; None where nothing tells."""
    sure: bool
    """Whether the bounds say so, too."""
    sentence: str


@dataclass(frozen=True, eq=False)
class MccDraws:
    """Draws of the overall MCC of a category's monitors, and of what it is made of."""

    monitors: Sequence[str]
    """Those that may be the answer, the best first."""
    drawn: Redrawn
    alpha: float
    """How often any category may have a wrong answer, divided by their number."""

    @property
    def helps(self) -> bool:
        """Whether the best is surely above 0, chosen as it was."""
        return bool(np.quantile(self._draws(MCC, self.monitors[0], -1), self.alpha / len(self.monitors)) > 0)

    @property
    def none_helps(self) -> bool:
        """Whether each surely cancels next to no more of wrong decisions than of right ones.

        Since all have to, nothing need allow for their number.
        """
        return all(
            np.quantile(self._draws(CAUGHT, m, 1) - self._draws(PRICE, m, -1), 1 - self.alpha) < NEGLIGIBLE
            for m in self.monitors
        )

    def _draws(self, measure: str, monitor: str, way: Way) -> FloatArray:
        return self.drawn.draws[(measure, monitor), way]


def answers(
    sets: Sequence[BenchmarkSet],
    *,
    only: Collection[str] = (),
    alpha: float = 0.05,
    replicates: int | None = None,
    seed: int = 0,
    control: str | None = None,
    confidence: str | None = PLAIN_CONFIDENCE,
) -> list[Answer]:
    """Return an answer for each category of faults.

    Parameters
    ----------
    sets
        Benchmark sets with their records.
    only
        The monitors that may be the answer; all where none is named. Yardsticks never are.
    alpha
        How often a monitor may be said, in any category, to help surely where none does.
    replicates, seed
        Of the draws. Without `replicates`, as many as the numbers of monitors and categories ask for.
    control
        The monitor that `farm compare` compares all others with: it and the answer make the same test.
    confidence
        The plain confidence of the classifier, which a better monitor has to beat; None where it was not run.

    Examples
    --------
    >>> from farm.comparing import benchmark_sets
    >>> from farm.testing import make_readouts
    >>> ood = np.arange(400) % 4 == 0
    >>> run = make_readouts({"odin": ood & (np.arange(400) % 3 > 0)}, is_ood=ood, category="novelty",
    ...                     label=np.where(ood, -1, 0), predicted=0)
    >>> print(answers(benchmark_sets([run]))[0].sentence)
    On novelty, odin surely helps, more than random alarms would. It catches 66 % of novel images at 0 %
    false alarms; decisions are right in 90 % of the 84 % that it accepts, 75 % without it.
    """
    categories = sorted({one.category for one in sets})
    asked = _Asked(only, alpha, len(categories), replicates, seed, control, confidence)
    return [asked.answer(name, [one for one in sets if one.category == name]) for name in categories]


def plain_confidence(runs: Iterable[Mapping[str, Any]]) -> str | None:
    """Return what runs call the plain confidence, by what they note; else by its usual name.

    Examples
    --------
    >>> noted = [{"name": "mine", "class": ITS_CLASS}, {"name": "max-softmax", "class": "theirs:Other"}]
    >>> [plain_confidence([{"monitors": each}]) for each in (noted, noted[1:], [])]
    ['mine', None, 'max-softmax']
    """
    classes = {
        note["name"]: note["class"] for run in runs for note in run.get("monitors") or () if "class" in note
    }
    usual = None if classes else PLAIN_CONFIDENCE
    return next((name for name, made_of in classes.items() if made_of == ITS_CLASS), usual)


@dataclass(frozen=True)
class _Asked:
    """What is asked of each category."""

    only: Collection[str]
    alpha: float
    n_categories: int
    replicates: int | None
    seed: int
    control: str | None
    confidence: str | None

    def answer(self, category: str, sets: Sequence[BenchmarkSet]) -> Answer:
        """Answer for one category, of its sets."""
        there = {m: record for one in sets for records in one.records for m, record in records.items()}
        monitors = [m for m in there if not self.only or m in self.only]
        asked = [m for m in monitors if not there[m]["yardstick"]]
        place = where(category) + (f" (mean of {len(sets)} sets)" if len(sets) > 1 else "")
        if not asked:
            told = (
                f"{place}, no monitor is ranked, but for yardsticks: what learned from outliers is not, and "
                "there is no other."
            )
            return Answer(category, None, None, False, told)
        values = {m: _mean(sets, MCC, m) for m in asked}
        known = sorted((m for m in asked if values[m].defined), key=lambda m: -values[m].value)
        if not known:
            return _without_value(category, place, sets, values)
        best, alone, alpha = known[0], len(known) == 1, self.alpha / self.n_categories
        wanted = math.ceil(BEYOND * len(known) / alpha)
        replicates = self.replicates or min(max(wanted, REPLICATES), MOST_REPLICATES)
        size = size_of(sets, MCC)
        few, enough = f"{_few(size)} are too few to tell", size.too_few is None
        if replicates * alpha < len(known):
            few, enough = f"{replicates:,} replicates are too few to tell", False
        helps = none_helps = False
        if enough:
            columns = [(measure, m) for measure in (MCC, CAUGHT, PRICE) for m in known]
            drawn = MccDraws(
                known, redrawn(sets, columns, replicates=replicates, seed=self.seed, exact=False), alpha
            )
            helps, none_helps = drawn.helps, drawn.none_helps
        if helps:
            beginning = f"{best} surely helps, more than random alarms would"
        elif none_helps:
            whom, each = (
                (f"{best} surely does not help", "it") if alone else ("surely no monitor helps", "each")
            )
            beginning = (
                f"{whom} noticeably: {each} cancels less than {100 * NEGLIGIBLE:g} points more of wrong "
                "decisions than of right ones"
            )
        elif values[best].value > 0:
            beginning = f"{best} seems to help, but {few} it from random alarms"
        else:
            whom = best if alone else "no monitor"
            beginning = f"{whom} is {'not ' if alone else ''}seen to help, though {few} for sure"
        seems = helps or (not none_helps and values[best].value > 0)
        told = f"{place}, {beginning}. {'It' if alone or seems else f'The best, {best},'} "
        told += _worth(category, sets, best)
        if helps and not alone:
            told += self._beside_confidence(best, sets, monitors)
        told += _without(sets, {m: values[m] for m in asked if m not in known})
        return Answer(category, best, seems, helps or none_helps, told)

    def _beside_confidence(self, best: str, sets: Sequence[BenchmarkSet], monitors: Sequence[str]) -> str:
        """Say whether it is better than the plain confidence, by the test of `farm compare`."""
        if best == self.confidence:
            return " It is the plain confidence: no other monitor has a higher overall MCC."
        if (
            self.confidence is None
            or self.confidence not in monitors
            or self.control not in (None, self.confidence)
        ):
            return ""
        found = section(
            "",
            sets,
            measured(MCC),
            monitors,
            alpha=self.alpha,
            replicates=self.replicates,
            seed=self.seed,
            control=self.control,
        )
        stands = {each.monitor: each for each in found.standings}
        other = stands[best if self.control else self.confidence]
        like = other.like_control if self.control else other.like_best
        if not other.value.defined or best != found.best:
            return ""
        name = f"the plain confidence ({self.confidence})"
        if like is None:
            return f" Whether its overall MCC differs from that of {name} cannot be told."
        told = "is higher than" if not like else "cannot be told from"
        return f" Its overall MCC {told} that of {name}: {p_words(other.p.value)}."


def _without(sets: Sequence[BenchmarkSet], values: Mapping[str, Measure]) -> str:
    """Say which monitors have no value, and why; those with the same reason together."""
    by_reason: dict[str, list[str]] = {}
    for monitor, value in values.items():
        by_reason.setdefault(str(value.reason), []).append(monitor)
    n_streams = sum(len(one.records) for one in sets)
    over = f" over all {n_streams} streams" if n_streams > 1 else ""
    return "".join(
        f" {listed(names)} {verb(names, 'has', 'have')} no overall MCC{over} "
        f"({reason.removeprefix('it ').removeprefix('was ')})."
        for reason, names in by_reason.items()
    )


def _mean(sets: Sequence[BenchmarkSet], name: str, monitor: str) -> Measure:
    """Return the mean over sets, each of which has to have a value."""
    cells = [one.cell(measured(name), monitor) for one in sets]
    if missing := [cell.reason for cell in cells if isinstance(cell, Missing)]:
        some = f" on {len(missing)} of {len(sets)} sets" if len(sets) > 1 else ""
        return undefined(f"it {missing[0]}{some}")
    values = [cell for cell in cells if isinstance(cell, Measure)]
    gap = next((value for value in values if not value.defined), None)
    return gap or Measure(float(np.mean([value.value for value in values])))


def _without_value(
    category: str, place: str, sets: Sequence[BenchmarkSet], values: Mapping[str, Measure]
) -> Answer:
    """Answer where no monitor has an overall MCC: all cancel nothing or everything, or nothing tells."""
    reason = next(iter(values.values())).reason
    judged = [
        records[m]["overall"] for one in sets for records in one.records for m in values if m in records
    ]
    useless = all(map(_cancels_all_or_none, judged))
    names = listed(list(values))
    if useless:
        told = f"{place}, {names} {verb(values, 'does', 'do')} not help: {reason}."
    else:
        told = f"{place}, nothing tells whether {names} {verb(values, 'helps', 'help')}: {reason}."
    return Answer(category, None, False if useless else None, False, told)


def _cancels_all_or_none(overall: Mapping[str, int] | None) -> bool:
    if overall is None:
        return False
    tp, fp, tn, fn = (overall[kind] for kind in ("tp", "fp", "tn", "fn"))
    return (tp + fp == 0 or tn + fn == 0) and tp + fn > 0 and tn + fp > 0


def _worth(category: str, sets: Sequence[BenchmarkSet], monitor: str) -> str:
    """Say what it catches at what price, and what the decisions are worth that it accepts."""
    # A fault that leaves the right answer is none to catch where the classifier finds it.
    task = "specific" if category == NOVELTY else "overall"
    recall, fpr = (_mean(sets, f"{task}.{rate}", monitor) for rate in ("recall", "fpr"))
    caught, price = percent_words(recall.value), percent_words(fpr.value)
    told = f"cancels {caught} of wrong decisions and {price} of right ones"
    if category == NOVELTY:
        told = f"catches {caught} of novel images" + (f" at {price} false alarms" if fpr.defined else "")
    accepted, right, alone = np.mean([_of_accepted(one, monitor) for one in sets], axis=0).tolist()
    now, before = percent_words(right), percent_words(alone)
    if round(100 * right) == round(100 * alone):
        now, before = f"{100 * right:.1f} %", f"{100 * alone:.1f} %"
    return (
        f"{told}; decisions are right in {now} of the {percent_words(accepted)} that it accepts, {before} "
        "without it."
    )


def _of_accepted(one: BenchmarkSet, monitor: str) -> FloatArray:
    """Return the share of decisions accepted, of right ones among these, and of right ones among all."""
    found = []
    for records in one.records:
        tp, fp, tn, fn = (records[monitor]["overall"][kind] for kind in ("tp", "fp", "tn", "fn"))
        n = tp + fp + tn + fn
        found.append([(tn + fn) / n, tn / (tn + fn), (tn + fp) / n])
    return np.asarray(np.mean(found, axis=0))


def _few(size: Size) -> str:
    """Say how many images there are, and of how many tracks where several are of one."""
    return f"{size.n:,} images" + (f" of {size.n_tracks:,} tracks" if size.n_tracks < size.n else "")
