"""The system under test: a classifier with monitors that watch it, on a stream.

For each batch the classifier runs once, every monitor judges what it observed, a policy turns alarms into
cancellations, and a fallback says what is acted upon where a decision is cancelled. A batch of one is the
faithful simulation of images that arrive one at a time; a larger one is faster, and times are then the
batch's share of each instance.
"""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from farm.api import (
    Batch,
    BoolArray,
    Cancel,
    Classifier,
    FloatArray,
    IntArray,
    Monitor,
    Observation,
    Policy,
    StrArray,
    Stream,
    Verdict,
    generator,
)
from farm.errors import ExperimentError, FarmError
from farm.run.fallback import (
    Fallback,
    NoFallback,
    SecondClassifier,
    cancelled_by,
    check_second,
    labels_by,
    safely,
)
from farm.run.fitting import union_of_layers
from farm.run.needs import check_engine_of
from farm.run.shared import CallObserver, NoObserver
from farm.store.full_disk import stop_where_full

T = TypeVar("T")

WARM_UP = 3


class BatchDecision(NamedTuple):
    """What one monitor, its policy and its fallback made of a batch."""

    scores: FloatArray
    alarms: BoolArray
    cancelled: BoolArray
    decided: IntArray
    """The class acted upon, -1 where none."""
    nanoseconds: int
    """What the monitor took."""


class Step(NamedTuple):
    """A batch after it went through the system."""

    batch: Batch
    observation: Observation
    classifier_nanoseconds: int
    decisions: Mapping[str, BatchDecision]


class SystemUnderTest:
    """A classifier and the monitors that watch it.

    Monitors must be fitted and calibrated. One that fails on the way, or whose policy or fallback does, is
    left out from then on, and the reason is in `failures`; the others go on. Policies and fallbacks go by the
    monitors' names; by default an alarm cancels, and nothing takes the decision's place. `watch` is told
    which monitor is at work.
    """

    def __init__(
        self,
        classifier: Classifier,
        monitors: Sequence[Monitor],
        *,
        layers: Sequence[str] = (),
        policies: Mapping[str, Policy] | None = None,
        fallbacks: Mapping[str, Fallback] | None = None,
        watch: CallObserver | None = None,
    ) -> None:
        self.classifier = classifier
        self.monitors = list(monitors)
        self.failures: dict[str, str] = {}
        self.bare_microseconds = self.observing_microseconds = float("nan")
        """The time an instance takes without and with the layers that monitors asked for."""
        self._layers = tuple(dict.fromkeys([*union_of_layers(monitors), *layers]))
        self._members = max((m.needs.members for m in monitors), default=0)
        self._turns = generator(0, "system under test", "turns")
        self._visits = Visits()
        self._watch = watch or NoObserver()
        if len({m.name for m in monitors}) != len(self.monitors):
            names = ", ".join(m.name for m in monitors)
            raise ExperimentError(f"monitors share a name ({names}); expected each once: set 'as'")
        self.policies: dict[str, Policy] = {m.name: Cancel() for m in monitors} | dict(policies or {})
        self.fallbacks: dict[str, Fallback] = {m.name: NoFallback() for m in monitors}
        self.fallbacks |= fallbacks or {}
        self._check_recovery()
        for monitor in monitors:
            check_engine_of(monitor, classifier)

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
        ids, track = opaque(batch.ids), self._visits.names(batch)
        start = time.perf_counter_ns()
        observation = self.classifier.observe(
            batch.images, self._layers, ids=ids, track=track, members=self._members
        )
        elapsed = time.perf_counter_ns() - start
        judged: list[tuple[Monitor, Verdict, BoolArray]] = []
        for monitor in self._in_turn():
            self._watch.begin(monitor.name, "scoring")
            try:
                judged.append((monitor, *self._judge(monitor, observation)))
            except FarmError as error:
                self._leave_out(monitor, error, batch)
            finally:
                self._watch.end()
        # All of it before anybody decides: a second classifier looks once for all who fall back on it.
        for monitor, _, cancelled in judged:
            fallback = self.fallbacks[monitor.name]
            if isinstance(fallback, SecondClassifier):
                fallback.announce(cancelled, observation)
        decisions: dict[str, BatchDecision] = {}
        for monitor, verdict, cancelled in judged:
            try:
                decided = labels_by(self.fallbacks[monitor.name], cancelled, observation, verdict.alarms)
            except FarmError as error:
                self._leave_out(monitor, error, batch)
                continue
            decisions[monitor.name] = BatchDecision(
                verdict.scores, verdict.alarms, cancelled, decided, verdict.nanoseconds
            )
        return Step(batch, observation, elapsed, decisions)

    def _judge(self, monitor: Monitor, observation: Observation) -> tuple[Verdict, BoolArray]:
        verdict = monitor.judge(observation)
        return verdict, cancelled_by(self.policies[monitor.name], verdict, observation)

    def _leave_out(self, monitor: Monitor, error: FarmError, batch: Batch | None = None) -> None:
        who = f"monitor '{monitor.name}'"
        owned = "its " if str(error).startswith(("policy '", "fallback ")) else ""
        told = str(error) if str(error).startswith(who) else f"{who}: {owned}{error}"
        where = f" (in the batch that begins with '{batch.ids[0]}')" if batch is not None else ""
        stop_where_full(told + where, error)
        self.failures[monitor.name] = told + where

    def _in_turn(self) -> Sequence[Monitor]:
        """Return the monitors that still run, in another order each time.

        Whoever comes first, or after a monitor of another kind, finds the processor's caches cold: the
        second of two equal monitors would seem twice as fast. In turn, all are met by the same.
        """
        running = [m for m in self.monitors if m.name not in self.failures]
        return [running[i] for i in self._turns.permutation(len(running)).tolist()]

    def _warm_up(self, stream: Stream, batch_size: int) -> None:
        """Let allocators and caches settle, so that the first instances are not timed as slow ones."""
        first = next(iter(stream.batches(batch_size)), None)
        if first is None:
            return
        everything = np.ones(len(first), dtype=np.bool_)
        for _ in range(WARM_UP):
            seen = self._step(first).observation
            # Nothing of this batch may be cancelled, and of a later one something.
            for monitor in [m for m in self.monitors if m.name not in self.failures]:
                try:
                    labels_by(self.fallbacks[monitor.name], everything, seen)
                except FarmError as error:
                    self._leave_out(monitor, error, first)
        self.bare_microseconds = min(self._time(first, ()) for _ in range(WARM_UP))
        self.observing_microseconds = min(self._time(first, self._layers) for _ in range(WARM_UP))
        self._visits = Visits()
        for monitor in self._in_turn():
            try:
                monitor.restart()
                policy, fallback = self.policies[monitor.name], self.fallbacks[monitor.name]
                safely(f"policy '{policy.name}'", policy.reset)
                safely(f"fallback {type(fallback).__name__}", fallback.reset)
            except FarmError as error:
                self._leave_out(monitor, error)

    def _check_recovery(self) -> None:
        """Check that no two monitors share a memory, and that second classifiers fit the first."""
        seen: dict[int, str] = {}
        for name, one in [*self.policies.items(), *self.fallbacks.items()]:
            other = seen.setdefault(id(one), name)
            # Everything may remember but these two, which know nothing of whom they serve.
            if other != name and not isinstance(one, NoFallback | SecondClassifier):
                raise ExperimentError(
                    f"monitors '{other}' and '{name}' share one {type(one).__name__} object, which would mix "
                    "their memories; expected one each"
                )
            if not isinstance(one, SecondClassifier):
                continue
            who = f"fallback '{one.classifier.name}' of monitor '{name}'"
            check_second(one.classifier, self.classifier, who)

    def _time(self, batch: Batch, layers: Sequence[str]) -> float:
        start = time.perf_counter_ns()
        self.classifier.observe(batch.images, layers)
        return (time.perf_counter_ns() - start) / 1e3 / len(batch)


class Visits:
    """A name for each visit to a track, which is a run of consecutive instances of one track.

    That is what whoever watches a stream can know: what left the view may come back as anything. A name for
    the track itself would tell that a faulted instance is the copy of a clean one that stood elsewhere.
    """

    def __init__(self) -> None:
        self._number = -1
        self._latest: tuple[str, str] | None = None

    def names(self, batch: Batch) -> StrArray:
        """Name the visits of the next instances; a fault does not end one."""
        numbers = []
        # Two workloads may call their tracks the same.
        for track in zip(batch.workload.tolist(), batch.track.tolist(), strict=True):
            if track != self._latest:
                self._number, self._latest = self._number + 1, track
            numbers.append(self._number)
        return visit_names(numbers)


def visit_names(numbers: Iterable[int]) -> StrArray:
    """Return the names of visits, which are counted from the stream's first."""
    return opaque(np.array([f"visit {number}" for number in numbers], dtype=str))


def opaque(names: StrArray) -> StrArray:
    """Return names that tell nothing: an id may spell out its class or its fault."""
    digests = [hashlib.blake2b(name.encode(), digest_size=8).hexdigest() for name in names.tolist()]
    return np.array(digests, dtype="U16")


def ahead(items: Iterable[T], depth: int = 2) -> Iterator[T]:
    """Yield items that a thread makes, at most `depth` of them in advance.

    What the maker raises is raised here, in its place. The thread ends with the iteration.

    Examples
    --------
    >>> list(ahead(range(3)))
    [0, 1, 2]
    """
    source, end = iter(items), cast(Any, object())
    maker = ThreadPoolExecutor(1, thread_name_prefix="farm-ahead")
    try:
        made = deque(maker.submit(next, source, end) for _ in range(depth))
        while (item := made.popleft().result()) is not end:
            made.append(maker.submit(next, source, end))
            yield item
    finally:
        maker.shutdown(cancel_futures=True)
