"""The system under test: a classifier with monitors that watch it, on a stream.

For each batch the classifier runs once, every monitor judges what it observed, and a policy turns alarms
into decisions. A batch of one is the faithful simulation of images that arrive one at a time; a larger
one is faster, and times are then the batch's share of each instance.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from farm.api import (
    Batch,
    BoolArray,
    Cancel,
    Classifier,
    FloatArray,
    Monitor,
    Observation,
    Policy,
    StrArray,
    Stream,
    generator,
)
from farm.errors import ExperimentError, FarmError
from farm.fitting import union_of_layers
from farm.prefetch import ahead

WARM_UP = 3


@dataclass(frozen=True, slots=True)
class Decision:
    """What one monitor and its policy made of a batch."""

    scores: FloatArray
    alarms: BoolArray
    cancelled: BoolArray
    nanoseconds: int


@dataclass(frozen=True, slots=True)
class Step:
    """A batch after it went through the system."""

    batch: Batch
    observation: Observation
    classifier_nanoseconds: int
    decisions: Mapping[str, Decision]


class SystemUnderTest:
    """A classifier and the monitors that watch it.

    Monitors must be fitted and calibrated. One that fails on the way is left out from then on, and the
    reason is in `failures`; the others go on.
    """

    def __init__(
        self,
        classifier: Classifier,
        monitors: Sequence[Monitor],
        *,
        layers: Sequence[str] = (),
        policy: Callable[[], Policy] = Cancel,
    ) -> None:
        self.classifier = classifier
        self.monitors = list(monitors)
        self.failures: dict[str, str] = {}
        self.bare_microseconds = self.observing_microseconds = float("nan")
        """The time an instance takes without and with the layers that monitors asked for."""
        self._layers = tuple(dict.fromkeys([*union_of_layers(monitors), *layers]))
        self._members = max((m.needs.members for m in monitors), default=0)
        self._policies = {m.name: policy() for m in monitors}
        self._turns = generator(0, "system under test", "turns")
        if len(self._policies) != len(self.monitors):
            names = ", ".join(m.name for m in monitors)
            raise ExperimentError(f"monitors share a name ({names}); expected each once: set 'as'")

    def steps(self, stream: Stream, batch_size: int = 64) -> Iterator[Step]:
        """Run the stream through the system, batch by batch."""
        if stream.classes != self.classifier.classes:
            raise ExperimentError(
                f"the stream counts {len(stream.classes)} classes ({', '.join(stream.classes[:3])}, ...), "
                f"classifier '{self.classifier.name}' {len(self.classifier.classes)} "
                f"({', '.join(self.classifier.classes[:3])}, ...); expected the same, in the same order"
            )
        self._warm_up(stream, batch_size)
        batches = stream.batches(batch_size)
        # One at a time is the faithful simulation: no thread may disturb its times. And what runs the
        # classifier itself must not do so while it works.
        alone = batch_size == 1 or stream.uses_classifier
        for batch in batches if alone else ahead(batches):
            yield self._step(batch)

    def _step(self, batch: Batch) -> Step:
        ids, track = opaque(batch.ids), opaque(batch.track)
        start = time.perf_counter_ns()
        observation = self.classifier.observe(
            batch.images, self._layers, ids=ids, track=track, members=self._members
        )
        elapsed = time.perf_counter_ns() - start
        decisions: dict[str, Decision] = {}
        for monitor in self._in_turn():
            try:
                verdict = monitor.judge(observation)
            except FarmError as error:
                who, where = f"monitor '{monitor.name}'", f"in the batch that begins with '{batch.ids[0]}'"
                told = str(error) if str(error).startswith(who) else f"{who}: {error}"
                self.failures[monitor.name] = f"{told} ({where})"
                continue
            cancelled = self._policies[monitor.name].decide(verdict, observation)
            decisions[monitor.name] = Decision(verdict.scores, verdict.alarms, cancelled, verdict.nanoseconds)
        return Step(batch, observation, elapsed, decisions)

    def _in_turn(self) -> Sequence[Monitor]:
        """Give the monitors that still run, in another order each time.

        Whoever comes first, or after a monitor of another kind, finds the processor's caches cold: the
        second of two equal monitors would seem twice as fast. In turn, all are met by the same.
        """
        running = [m for m in self.monitors if m.name not in self.failures]
        return [running[i] for i in self._turns.permutation(len(running))]

    def _warm_up(self, stream: Stream, batch_size: int) -> None:
        """Let allocators and caches settle, so that the first instances are not timed as slow ones."""
        first = next(iter(stream.batches(batch_size)), None)
        if first is None:
            return
        for _ in range(WARM_UP):
            self._step(first)
        self.bare_microseconds = min(self._time(first, ()) for _ in range(WARM_UP))
        self.observing_microseconds = min(self._time(first, self._layers) for _ in range(WARM_UP))
        for monitor in self._in_turn():
            try:
                monitor.restart()
            except FarmError as error:
                self.failures[monitor.name] = str(error)
            self._policies[monitor.name].reset()

    def _time(self, batch: Batch, layers: Sequence[str]) -> float:
        start = time.perf_counter_ns()
        self.classifier.observe(batch.images, layers)
        return (time.perf_counter_ns() - start) / 1e3 / len(batch)


def opaque(names: StrArray) -> StrArray:
    """Give names that tell nothing: an id or a track may spell out its class or its fault."""
    return np.array([hashlib.blake2b(str(n).encode(), digest_size=8).hexdigest() for n in names], dtype="U16")
