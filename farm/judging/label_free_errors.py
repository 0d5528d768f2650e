"""How far estimates without labels are off under the faults of runs whose labels are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from farm.api.arrays import IntArray
from farm.judging.label_free import SampledRun, estimate
from farm.measures import Bounded, Measure, undefined
from farm.measures.parts import Group
from farm.statistics.label_free.estimates import METHODS
from farm.statistics.wording import listed

NOTHING: IntArray = np.empty(0, dtype=np.int64)
CLOSE = 0.05
"""An estimate that is off by no more is said to be close."""


@dataclass(frozen=True)
class FaultErrors:
    """What became of each method under one fault."""

    name: str
    category: str | None
    n: int
    """The fault's labelled instances, of all runs together."""
    truth: Bounded
    errors: Mapping[str, Bounded]
    """By how much each method's estimate exceeds the truth."""

    def close(self, method: str) -> bool | None:
        """Whether a method's estimate was within 5 points; None where it has none."""
        value = self.errors[method].value
        return abs(value.value) <= CLOSE if value.defined else None

    def surely_close(self, method: str) -> bool:
        """Whether both ends of its error's interval are within 5 points."""
        found = self.errors[method]
        return bool(_known(found) and found.low.value >= -CLOSE and found.high.value <= CLOSE)

    @property
    def surely_off(self) -> bool:
        """Whether each method that has an estimate is off by more, as its whole interval says."""
        told = [each for each in self.errors.values() if each.value.defined]
        return bool(told) and all(
            _known(each) and (each.low.value > CLOSE or each.high.value < -CLOSE) for each in told
        )


def fault_errors(runs: Sequence[SampledRun]) -> list[FaultErrors]:
    """Return the errors of all methods under each fault, those of runs of the same fault averaged.

    Each run's labelled ID instances are the reference for its OOD ones; where it has none, those of another
    run of its classifier are. An interval of several runs has the mean of their ends: as wide as if they had
    all erred together, since they may share their images.
    """
    found: dict[tuple[str, str | None], list[FaultErrors]] = {}
    several = len({_about(run) for run in runs}) > 1
    for run in runs:
        for group, rows in _faults(run):
            made = estimate(_reference(run, runs), run, rows, with_truth=True)
            name = f"{_about(run)} · {_named(group)}" if several else _named(group)
            errors = FaultErrors(name, group.category, len(rows), made.truth, made.errors)
            found.setdefault((name, group.category), []).append(errors)
    return [_averaged(each) for each in found.values()]


def mean_error(faults: Sequence[FaultErrors], method: str) -> Measure:
    """Return by how much a method is off on the average, whichever way, over the faults where it can tell."""
    if not faults:
        return undefined("the reference has no labelled faults")
    off = [abs(each.errors[method].value.value) for each in faults if each.errors[method].value.defined]
    return Measure(float(np.mean(off))) if off else undefined("it has no estimate under any fault")


def uneven_means(faults: Sequence[FaultErrors]) -> list[str]:
    """Say whose mean error is of fewer faults than there are: who refuses the worst ones looks better."""
    told = {name: sum(each.close(name) is not None for each in faults) for name in METHODS}
    return [
        f"{METHODS[name]}: its mean error is of {n} of {len(faults)} faults alone"
        for name, n in told.items()
        if 0 < n < len(faults)
    ]


def sentences(faults: Sequence[FaultErrors]) -> list[str]:
    """Say in plain words which method was close, on how many faults, and where none was.

    Examples
    --------
    >>> off, close = (Bounded(*map(Measure, ends)) for ends in [(0.3, 0.2, 0.4), (0.01, -0.03, 0.04)])
    >>> nowhere = Bounded.nowhere(undefined("no confidence was given"))
    >>> others = {method: nowhere for method in METHODS if method not in ("atc", "doc")}
    >>> fog = FaultErrors("fog", "shift", 99, close, {"atc": off, "doc": close, **others})
    >>> novel = FaultErrors("btsc", "novelty", 99, close, {"atc": off, "doc": off, **others})
    >>> for sentence in sentences([fog, novel]):
    ...     print(sentence)
    Of 2 faults, ATC was within 5 points of the truth on 0, DoC on 1 (surely on 1).
    Trust none for novelty: there each was surely off by more.
    """
    told: list[str] = []
    for method, name in METHODS.items():
        close = [each.close(method) for each in faults if each.close(method) is not None]
        if close:
            was = "" if told else f" was within {100 * CLOSE:g} points of the truth"
            some = f" of {len(close)}" if len(close) < len(faults) else ""
            surely = sum(each.surely_close(method) for each in faults)
            more = f" (surely on {surely})" if surely else ""
            told.append(f"{name}{was} on {sum(map(bool, close))}{some}{more}")
    n = f"{len(faults)} fault{'s' if len(faults) > 1 else ''}"
    found = [f"Of {n}, {', '.join(told)}."] if told else []
    if lost := _lost(faults):
        found.append(f"Trust none for {listed(lost)}: there each was surely off by more.")
    return found


def _lost(faults: Sequence[FaultErrors]) -> list[str]:
    """Name the faults under which each method was surely off; a category where all of its faults are such."""
    by_category: dict[str | None, list[FaultErrors]] = {}
    for each in faults:
        by_category.setdefault(each.category, []).append(each)
    names: list[str] = []
    for category, own in by_category.items():
        off = [each.name for each in own if each.surely_off]
        names += [category] if category and len(off) == len(own) else off
    return names


def _reference(run: SampledRun, runs: Sequence[SampledRun]) -> SampledRun:
    """Return the run itself, or another of its classifier where it has no labelled ID instance."""
    if len(run.reference) or run.classifier is None:
        return run
    others = (one for one in runs if one.classifier == run.classifier and len(one.reference))
    return next(others, run)


def _faults(run: SampledRun) -> Iterator[tuple[Group, IntArray]]:
    """Return each fault with the rows of its labelled instances."""
    parted = run.table.partition
    for part in parted.parts:
        rows = np.sort(parted.rows(part)) if part.name == "ood" else NOTHING
        rows = rows[~run.table.unlabelled[rows]]
        if len(rows):
            yield part.group, rows


def _about(run: SampledRun) -> str:
    """Name a run's workload and classifier."""
    told = ((run.readouts.run.get(what) or {}).get("name") for what in ("workload", "classifier"))
    return " · ".join(str(name) for name in told if name)


def _named(group: Group) -> str:
    """Name a fault and its severity."""
    name = group.faultload or group.category or "unnamed fault"
    if group.severity is not None:
        return f"{name} {group.severity:g}"
    low, high = group.severity_range or (0, 0)
    return f"{name} {low:g} to {high:g}" if group.severity_range else name


def _averaged(runs: Sequence[FaultErrors]) -> FaultErrors:
    first = runs[0]
    return replace(
        first,
        n=sum(each.n for each in runs),
        truth=_mean([each.truth for each in runs]),
        errors={name: _mean([each.errors[name] for each in runs]) for name in first.errors},
    )


def _mean(found: Sequence[Bounded]) -> Bounded:
    """Return the means of values and of ends; each is undefined where one of them is."""

    def of(measures: Sequence[Measure]) -> Measure:
        unknown = next((each for each in measures if not each.defined), None)
        return unknown or Measure(float(np.mean([each.value for each in measures])))

    return Bounded(*(of([getattr(each, end) for each in found]) for end in ("value", "low", "high")))


def _known(found: Bounded) -> bool:
    return found.low.defined and found.high.defined
