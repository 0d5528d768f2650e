"""What criteria select from: every stream of every run, and which of them meet a criterion's conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from farm.api.arrays import BoolArray, IntArray
from farm.comparing import BenchmarkSet
from farm.comparing.sets import NO_CATEGORY, NO_FAULT, NO_SEVERITY, UNKNOWN, judged_runs, sets_of
from farm.config.specs import NO_FAULT as WITHOUT_FAULT
from farm.errors import ExperimentError
from farm.gate.criterion import Criterion
from farm.gate.selection import IS, NUMBERS, Condition, listed_values, nearest
from farm.judging import JudgedRun, VerdictTable
from farm.judging.notes import Noted
from farm.store.readouts import Readouts


@dataclass(frozen=True, eq=False)
class GatedRun:
    """A run that was judged, and what criteria ask of it."""

    judged: JudgedRun
    has_episodes: bool = True
    """Whether its instances say to which episode they belong."""

    @property
    def number(self) -> int:
        """Its number among the runs."""
        return self.judged.table.run

    @property
    def notes(self) -> Mapping[str, Any]:
        """What the run notes of itself."""
        return self.judged.run

    @property
    def name(self) -> str:
        """What to call it."""
        return str(self.notes.get("folder") or f"run {self.number + 1}")

    @cached_property
    def monitors(self) -> dict[str, Noted]:
        """What is noted of its monitors, but for the perfect one."""
        return {each.name: each for each in self.judged.monitors[:-1]}

    @property
    def yardsticks(self) -> set[str]:
        """The monitors that know nothing, and stand there for others to be read against."""
        return {str(each["name"]) for each in self.notes.get("monitors") or () if each.get("yardstick")}

    @property
    def order(self) -> str | None:
        """The order of its stream by name, such as `shuffled` or `onset`."""
        stream = _mapping(self.notes.get("stream"))
        asked = _mapping(_mapping(self.notes.get("experiment")).get("stream"))
        for place in (stream, _mapping(stream.get("made_by")), asked):
            order = place.get("order")
            name = order.get("name") if isinstance(order, Mapping) else order
            if name is not None:
                return str(name)
        return None


@dataclass(frozen=True, eq=False)
class RunOfSet:
    """One run's stream of one set."""

    of: BenchmarkSet
    run: GatedRun
    stream: VerdictTable

    @property
    def size(self) -> str:
        """Say how many instances it has, and what it is."""
        return f"{len(self.stream):,} instances of {self.of.name} in {self.run.name}"

    def value(self, key: str) -> str | float | None:
        """Return what conditions on a key are about; None where it has nothing of the kind."""
        if key == "seed":
            seed = self.run.notes.get("seed")
            return None if seed is None else str(seed)
        if key == "stream":
            return self.run.order
        value = str(getattr(self.of, key))
        if key in NUMBERS:
            return _number(value)
        return None if value in (NO_FAULT, NO_CATEGORY, *UNKNOWN) else value

    def meets(self, condition: Condition) -> bool:
        """Whether a condition holds; workloads and classifiers go by their plain names, too.

        Streams without a fault are asked for as in an experiment: `faultload:none`.
        """
        key = condition.key
        if condition.holds(self.value(key)):
            return True
        if key == "faultload" and self.of.faultload == NO_FAULT:
            return condition.holds(WITHOUT_FAULT)
        name = _mapping(self.run.notes.get(key)).get("name") if key in ("workload", "classifier") else None
        return name is not None and condition.holds(str(name))

    def only(self, rows: BoolArray) -> RunOfSet:
        """Return some of its instances."""
        return replace(self, stream=self.stream.take(rows))


@dataclass(frozen=True, eq=False)
class RunRows:
    """The selected instances of one run, each of them once, in the order of its stream."""

    run: GatedRun
    table: VerdictTable

    @classmethod
    def of(cls, streams: Sequence[RunOfSet], run: GatedRun) -> RunRows:
        """Take together what streams have of a run; ID instances are in each of them."""
        whole = run.judged.table
        rows: IntArray = np.unique(np.concatenate([each.stream.row for each in streams if each.run is run]))
        return cls(run, whole.take(rows[np.argsort(whole.position[rows])]))


@dataclass(frozen=True, eq=False)
class Population:
    """All streams of some runs, sorted out once for any number of criteria."""

    streams: tuple[RunOfSet, ...]

    @classmethod
    def of(cls, runs: Sequence[Readouts]) -> Population:
        """Sort out some runs; those on the same set are its repetitions."""
        if not runs:
            raise ExperimentError("no run is given; expected at least one to judge")
        judged = judged_runs(runs, needed=())
        gated = [GatedRun(each, "episode" in run.instances) for each, run in zip(judged, runs, strict=True)]
        sets = sets_of(judged, recorded=False)
        return cls(tuple(RunOfSet(one, gated[each.run], each) for one in sets for each in one.streams))

    def matching(self, criterion: Criterion) -> list[RunOfSet]:
        """Return the streams that meet all conditions; that none does is an error that says what there is."""
        matching = list(self.streams)
        before: list[str] = []
        for condition in criterion.selection.conditions:
            candidates, matching = matching, [each for each in matching if each.meets(condition)]
            if not matching:
                where = f" with {' '.join(before)}" if before else ""
                instead = _instead(condition, candidates)
                raise criterion.error(f"nothing{where} has {condition}; {instead}")
            before.append(str(condition))
        return matching


def grouped(
    streams: Sequence[RunOfSet], criterion: Criterion
) -> list[tuple[tuple[Condition, ...], list[RunOfSet]]]:
    """Return the streams of each verdict, with the conditions that set them apart, if there are several."""
    key = criterion.selection.each
    if key is None:
        return [((), list(streams))]
    values = {value for stream in streams if (value := stream.value(key)) is not None}
    if not values:
        raise criterion.error(f"'each {key}' has nothing to be about; {_known_values(key, streams)}")
    return [
        ((Condition(key, IS, value),), [stream for stream in streams if stream.value(key) == value])
        for value in sorted(values, key=_order)
    ]


def _instead(condition: Condition, streams: Sequence[RunOfSet]) -> str:
    """Say what a condition could have been: what is nearest, and all there is."""
    key = condition.key
    named = [] if key in NUMBERS else _values(key, streams)
    return nearest(str(condition.value), named, _known_values(key, streams))


def _known_values(key: str, streams: Sequence[RunOfSet]) -> str:
    """Say what values of a key there are."""
    known = _values(key, streams)
    if not known:
        return f"no stream there has a {key}"
    is_ramp = key in NUMBERS and any(_number(value) is None for value in known)
    ramp = "; a ramp, 'up to' a severity, has no single one" if is_ramp else ""
    return f"{listed_values(known)}{ramp}"


def _values(key: str, streams: Sequence[RunOfSet]) -> list[str]:
    """Return the values of a key in words."""
    if key in NUMBERS:
        values = {stream.of.severity for stream in streams} - {NO_SEVERITY}
    else:
        values = {str(value) for stream in streams if (value := stream.value(key)) is not None}
    return sorted(values, key=_order)


def _order(value: str | float) -> tuple[bool, float, str]:
    """Numbers in their order, and before what is none."""
    number = _number(value)
    return number is None, number or 0.0, str(value)


def _number(value: str | float) -> float | None:
    """Read a number; None where it is none."""
    try:
        return float(value)
    except ValueError:
        return None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
