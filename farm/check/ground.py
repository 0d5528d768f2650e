"""What criteria select from: every stream of every run, with the rows it is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from farm.api.arrays import BoolArray, IntArray
from farm.check.selection import NUMBERS, Condition
from farm.comparison import BenchmarkSet, benchmark_sets
from farm.comparison.sets import NO_CATEGORY, NO_FAULT, Said, Stream, fault_words
from farm.errors import ExperimentError
from farm.readouts import Readouts
from farm.records.notes import Noted, noted
from farm.records.parts import partition


@dataclass(frozen=True, eq=False)
class Run:
    """A run's readouts."""

    number: int
    """As in `Stream.run`."""
    readouts: Readouts

    @property
    def name(self) -> str:
        """What to call it."""
        return str(self.readouts.run.get("folder") or f"run {self.number + 1}")

    @cached_property
    def monitors(self) -> dict[str, Noted]:
        """What is noted of its monitors, but for the perfect one."""
        heard = self.readouts.alarms["monitor"].unique().tolist()
        return {each.name: each for each in noted(self.readouts.run, heard)[:-1]}

    @property
    def yardsticks(self) -> set[str]:
        """The monitors that know nothing, and stand there for others to be read against."""
        return {
            str(each["name"]) for each in self.readouts.run.get("monitors") or () if each.get("yardstick")
        }

    @property
    def seed(self) -> str | None:
        """Its seed, as a criterion names it."""
        seed = self.readouts.run.get("seed")
        return None if seed is None else str(seed)

    @property
    def order(self) -> str | None:
        """The order of its stream by name, such as `shuffled` or `onset`."""
        run = self.readouts.run
        stream = _mapping(run.get("stream"))
        for place in (
            stream,
            _mapping(stream.get("made_by")),
            _mapping(_mapping(run.get("experiment")).get("stream")),
        ):
            order = place.get("order")
            name = order.get("name") if isinstance(order, Mapping) else order
            if name is not None:
                return str(name)
        return None


@dataclass(frozen=True, eq=False)
class Piece:
    """One run's stream of one set."""

    of: BenchmarkSet
    run: Run
    stream: Stream
    rows: IntArray = field(repr=False)
    """Of the run's table of instances, in the order of the stream's arrays."""
    records: Mapping[str, Mapping[str, Any]] = field(repr=False)
    """By monitor; of all of the stream's instances."""

    @property
    def name(self) -> str:
        """What to call it."""
        return f"{self.of.name} in {self.run.name}"

    @property
    def size(self) -> str:
        """Say how many instances it has."""
        return f"{len(self.stream)} instances of {self.name}"

    @property
    def labels(self) -> IntArray:
        """The labels of its instances, -1 where none is right."""
        return self.run.readouts.instances["label"].to_numpy(np.int64)[self.rows]

    def value(self, key: str) -> str | float | None:
        """Give what conditions on a key are about; None where it has nothing of the kind."""
        if key == "seed":
            return self.run.seed
        if key == "stream":
            return self.run.order
        value = str(getattr(self.of, key))
        if key in NUMBERS:
            return as_number(value)
        return None if value in (NO_FAULT, NO_CATEGORY) else value

    def meets(self, condition: Condition) -> bool:
        """Whether a condition holds; workloads and classifiers go by their plain names, too."""
        key = condition.key
        if condition.holds(self.value(key)):
            return True
        return key in ("workload", "classifier") and condition.holds(self._plain_name(key))

    def _plain_name(self, what: str) -> str | None:
        name = _mapping(self.run.readouts.run.get(what)).get("name")
        return None if name is None else str(name)

    def only(self, kept: BoolArray) -> Piece:
        """Give some of its instances; records are of all of them, and left out."""
        stream = self.stream
        said = {
            name: Said(
                said.alarm[kept],
                said.cancelled[kept],
                said.decided[kept],
                said.right[kept],
                None if said.score is None else said.score[kept],
            )
            for name, said in stream.said.items()
        }
        some = Stream(stream.run, stream.track[kept], stream.is_ood[kept], stream.should_cancel[kept], said)
        return replace(self, stream=some, rows=self.rows[kept], records={})


@dataclass(frozen=True, eq=False)
class RunRows:
    """The selected instances of one run, each of them once, in the order of its stream."""

    run: Run
    rows: IntArray = field(repr=False)

    @classmethod
    def of(cls, pieces: Sequence[Piece], run: Run) -> RunRows:
        """Take together what pieces have of a run; ID instances are in each of them."""
        rows = np.unique(np.concatenate([piece.rows for piece in pieces if piece.run is run]))
        position = run.readouts.instances["position"].to_numpy()[rows]
        return cls(run, rows[np.argsort(position)])

    @cached_property
    def instances(self) -> pd.DataFrame:
        """Their rows in the table of instances."""
        return self.run.readouts.instances.iloc[self.rows].reset_index(drop=True)

    def alarms(self, monitor: str) -> pd.DataFrame:
        """Give one monitor's alarms on them, in the same order."""
        alarms = self.run.readouts.alarms
        own = np.flatnonzero((alarms["monitor"] == monitor).to_numpy())
        position = alarms["position"].to_numpy()[own]
        order = np.argsort(position)
        at = np.searchsorted(position[order], self.instances["position"].to_numpy())
        return alarms.iloc[own[order[at]]].reset_index(drop=True)


@dataclass(frozen=True, eq=False)
class Ground:
    """All streams of some runs, sorted out once for any number of criteria."""

    runs: tuple[Run, ...]
    pieces: tuple[Piece, ...]

    @classmethod
    def of(cls, runs: Sequence[Readouts]) -> Ground:
        """Sort out some runs; those on the same set are its repetitions."""
        if not runs:
            raise ExperimentError("no run is given; expected at least one to judge")
        sets = benchmark_sets(runs)
        found = tuple(Run(number, each) for number, each in enumerate(runs))
        rows = {run.number: _rows(run.readouts.instances) for run in found}
        pieces = [
            Piece(one, found[stream.run], stream, _taken(one, rows[stream.run]), records)
            for one in sets
            for stream, records in zip(one.streams, one.records, strict=True)
        ]
        return cls(found, tuple(pieces))


Rows: TypeAlias = dict[tuple[str, str, str], list[IntArray]]


def _rows(instances: pd.DataFrame) -> Rows:
    """Give the rows of each fault, with all ID ones, as the streams of benchmark sets have them."""
    parted = partition(instances, instances["is_ood"].to_numpy(np.bool_))
    found: Rows = {}
    for part in parted.parts:
        if part.name == "all":
            found.setdefault(fault_words(part), []).append(parted.take(parted.order, part))
    return found


def _taken(one: BenchmarkSet, rows: Rows) -> IntArray:
    """Take the next rows of a set: of one run it has a second stream where two severities read the same."""
    return rows[one.faultload, one.category, one.severity].pop(0)


def as_number(value: str | float) -> float | None:
    """Read a number; None where it is none."""
    try:
        return float(value)
    except ValueError:
        return None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
