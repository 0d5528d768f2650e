"""What guarantees came to over several runs: on all ID instances that these have, and fault by fault.

Cells of a campaign share their monitors' fits and most of their ID instances. A guarantee is one of a fit, so
each fit has its own promises, and each ID instance counts once, however many runs have it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from farm.api.arrays import IntArray
from farm.comparing.sameness import names
from farm.judging import JudgedRun
from farm.judging.guarantees import faults_of, not_known, on_id, under_fault
from farm.judging.notes import Noted
from farm.judging.promises import ID, MonitorPromise, PromisedOf, RealisedPromise

Rows = Sequence[tuple[int, IntArray]]
"""Instances of several runs: the run's number, and the rows of its table."""


@dataclass(frozen=True)
class _Fit:
    """A monitor as it was fitted and calibrated once, and what tells it from other fits of the same name."""

    monitor: Noted
    words: tuple[str, ...]
    runs: list[int]
    """The numbers of the runs that it was in."""


def realised_over(
    runs: Sequence[JudgedRun], monitors: Iterable[str] | None = None
) -> tuple[RealisedPromise, ...]:
    """Hold all promises of some monitors, or of all, against what the runs have of their instances.

    A monitor that was fitted several times is called after what tells its fits apart.

    Examples
    --------
    >>> from farm.testing import make_readouts
    >>> from farm.api.guarantee import Guarantee, Promise
    >>> promised = Guarantee((Promise("false_alarms", 0.05),), n=200, needed=90, confidence=0.99)
    >>> note = {"name": "odin", "calibration": {"guarantee": promised.record()}}
    >>> is_ood = np.arange(300) >= 200
    >>> made = [
    ...     make_readouts({"odin": is_ood}, is_ood=is_ood, faultload=fault, run={"monitors": [note]},
    ...                   id=[f"{fault if ood else 'id'} {i}" for i, ood in enumerate(is_ood)])
    ...     for fault in ("fog", "snow")
    ... ]
    >>> runs = [JudgedRun.of(each.instances, each.alarms, each.run) for each in made]
    >>> [(each.where, each.n, each.value.value, each.verdict) for each in realised_over(runs)]
    [('ID', 200, 0.0, 'kept'), ('fog 3', 100, 1.0, 'void'), ('snow 3', 100, 1.0, 'void')]
    """
    wanted = None if monitors is None else set(monitors)
    rows_of = _rows_of(runs)
    return tuple(
        found
        for fit, label in _labelled(_fits(runs))
        if wanted is None or fit.monitor.name in wanted
        for promise in MonitorPromise.of(fit.monitor)
        for found in _realised(runs, fit, promise, label, rows_of)
    )


def _fits(runs: Sequence[JudgedRun]) -> list[_Fit]:
    """Find the fits that have a guarantee, in the order of the runs and their monitors."""
    found: dict[tuple[str, ...], _Fit] = {}
    around = zip(names(runs, "workload"), names(runs, "classifier"), strict=True)
    for number, (run, (workload, classifier)) in enumerate(zip(runs, around, strict=True)):
        for monitor in run.monitors:
            if monitor.failure or not MonitorPromise.of(monitor):
                continue
            made = monitor.calibration or {}
            told = json.dumps([made.get(key) for key in ("threshold", "per_class", "guarantee")])
            seed = run.run.get("seed")
            words = (workload, classifier, "" if seed is None else f"seed {seed}")
            key = (workload, classifier, monitor.name, told)
            found.setdefault(key, _Fit(monitor, words, [])).runs.append(number)
    return list(found.values())


def _labelled(fits: Sequence[_Fit]) -> Iterator[tuple[_Fit, str]]:
    """Call each fit by its monitor, and where there are several by what tells them apart."""
    for fit in fits:
        own = [other for other in fits if other.monitor.name == fit.monitor.name]
        differs = [len({other.words[i] for other in own}) > 1 for i in range(len(fit.words))]
        told = [word for word, does in zip(fit.words, differs, strict=True) if does and word]
        alike = [other for other in own if other.words == fit.words]
        if len(alike) > 1:
            told.append(f"fit {1 + alike.index(fit)}")
        yield fit, f"{fit.monitor.name} ({', '.join(told)})" if told else fit.monitor.name


def _rows_of(runs: Sequence[JudgedRun]) -> Callable[[tuple[int, ...]], dict[str, Rows]]:
    """Return what finds the instances of some runs, ID and fault by fault, each by its name once."""

    @cache
    def rows_of(numbers: tuple[int, ...]) -> dict[str, Rows]:
        found: dict[str, list[tuple[int, IntArray]]] = {ID: []}
        known: dict[str, set[str]] = {}
        for number in numbers:
            table, faults = runs[number].table, faults_of(runs[number].parts)
            parts = {ID: np.flatnonzero(~table.is_ood)}
            parts |= {faults[p.group]: table.partition.rows(p) for p in runs[number].parts if p.name == "ood"}
            for where, rows in parts.items():
                met, ids = known.setdefault(where, set()), table.id
                new = np.array([row for row in rows.tolist() if ids[row] not in met], dtype=np.int64)
                met.update(ids[row] for row in new)
                found.setdefault(where, []).append((number, new))
        return dict(found)

    return rows_of


def _realised(
    runs: Sequence[JudgedRun],
    fit: _Fit,
    promise: MonitorPromise,
    label: str,
    rows_of: Callable[[tuple[int, ...]], dict[str, Rows]],
) -> Iterator[RealisedPromise]:
    called = replace(promise, monitor=label)
    told = tuple(number for number in fit.runs if not runs[number].why_no_ood)
    if not told:
        why = runs[fit.runs[0]].why_no_ood
        yield not_known(called, ID, f"ID and OOD cannot be told apart: {why}")
        return
    of_run = {
        number: PromisedOf.of(
            runs[number].table, promise.monitor, promise.guarantee.by, runs[number].table.track
        )
        for number in told
    }
    for where, rows in rows_of(told).items():
        seen = PromisedOf.together([of_run[number].take(own) for number, own in rows])
        if where == ID:
            yield on_id(called, seen, runs[told[0]].run.get("classes") or ())
        else:
            yield under_fault(called, seen, where)
