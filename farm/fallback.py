"""What takes a cancelled decision's place: nothing, the last accepted decision, or a second classifier."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Any, Protocol

import numpy as np

from farm.api import NO_ANSWER, BoolArray, Classifier, IntArray, Observation

NONE, LAST = NAMES = ("none", "last")
"""What experiments call those that are no second classifier."""
MOST_TRACKS = 1024
"""Of how many tracks, the latest, the last accepted decision is kept."""


class Fallback(Protocol):
    """Says which class is acted upon, instance by instance, in the order of the stream."""

    def decide(self, cancelled: BoolArray, observation: Observation) -> IntArray:
        """Give the class acted upon, -1 where none: the prediction itself where it is not cancelled."""
        ...

    def reset(self) -> None:
        """Forget what came before in the stream."""
        ...

    def record(self) -> dict[str, Any]:
        """Give what provenance keeps of it, as JSON; what it measured is since the last reset."""
        ...


class NoFallback:
    """Nothing takes a cancelled decision's place.

    Examples
    --------
    >>> NoFallback().record()
    {'name': 'none'}
    """

    def decide(self, cancelled: BoolArray, observation: Observation) -> IntArray:
        """Give the prediction, -1 where it is cancelled."""
        # Mostly nothing is, and Python finds that out faster than NumPy.
        if not any(cancelled.tolist()):
            return observation.predicted
        return np.where(cancelled, NO_ANSWER, observation.predicted)

    def reset(self) -> None:
        """Nothing to forget."""

    def record(self) -> dict[str, Any]:
        """Give its name."""
        return {"name": NONE}


class LastAccepted:
    """The last accepted decision of the same track, -1 where there is none yet.

    It keeps the decisions of the latest `MOST_TRACKS` tracks, so that memory has a bound on any stream. An
    observation without tracks is of one track.

    Examples
    --------
    >>> LastAccepted().record()
    {'name': 'last'}
    """

    def __init__(self) -> None:
        self._accepted: OrderedDict[str, int] = OrderedDict()

    def decide(self, cancelled: BoolArray, observation: Observation) -> IntArray:
        """Give the prediction, or where it is cancelled the track's last one that was not."""
        n = len(observation)
        track = [""] * n if observation.track is None else observation.track.tolist()
        rows = zip(cancelled.tolist(), observation.predicted.tolist(), track, strict=True)
        return np.fromiter((self._next(*row) for row in rows), dtype=np.int64, count=n)

    def _next(self, cancelled: bool, predicted: int, track: str) -> int:
        accepted = self._accepted
        if not cancelled:
            accepted[track] = predicted
            if len(accepted) > MOST_TRACKS:
                accepted.popitem(last=False)
        elif track not in accepted:
            return NO_ANSWER
        accepted.move_to_end(track)
        return accepted[track]

    def reset(self) -> None:
        """Forget all tracks."""
        self._accepted.clear()

    def record(self) -> dict[str, Any]:
        """Give its name."""
        return {"name": LAST}


class SecondClassifier:
    """The prediction of a second classifier, which runs only where something was cancelled.

    One object may serve several monitors: it looks at a batch at most once.

    Parameters
    ----------
    classifier
        Counts the same classes, in the same order, as the first.

    Examples
    --------
    >>> from farm.api import FunctionClassifier
    >>> first, second = (
    ...     FunctionClassifier(lambda images, row=row: [row] * len(images), classes=("a", "b"), name="fixed")
    ...     for row in ([1.0, 0.0], [0.0, 1.0])
    ... )
    >>> fallback = SecondClassifier(second)
    >>> fallback.decide(np.array([False, True]), first.observe(np.zeros((2, 1, 8, 8), np.float32))).tolist()
    [0, 1]
    >>> fallback.instances
    2
    """

    def __init__(self, classifier: Classifier) -> None:
        self.classifier = classifier
        self.batches = self.instances = 0
        """How many it looked at since the last reset."""
        self._nanoseconds = 0
        self._seen: tuple[Observation, IntArray] | None = None

    def decide(self, cancelled: BoolArray, observation: Observation) -> IntArray:
        """Give the prediction, or where it is cancelled the second classifier's."""
        if not any(cancelled.tolist()):
            return observation.predicted
        return np.where(cancelled, self._predicted(observation), observation.predicted)

    def _predicted(self, observation: Observation) -> IntArray:
        if self._seen is None or self._seen[0] is not observation:
            start = time.perf_counter_ns()
            predicted = self.classifier.observe(observation.images).predicted
            self._nanoseconds += time.perf_counter_ns() - start
            self.batches += 1
            self.instances += len(observation)
            self._seen = observation, predicted
        return self._seen[1]

    @property
    def mean_time_us(self) -> float | None:
        """The mean time that an instance took; None before the first."""
        return self._nanoseconds / 1e3 / self.instances if self.instances else None

    def reset(self) -> None:
        """Forget the batch that it saw, and what it measured."""
        self.batches = self.instances = self._nanoseconds = 0
        self._seen = None

    def record(self) -> dict[str, Any]:
        """Give who it is, how often it was asked, and how long it took."""
        return {
            "name": self.classifier.name,
            "recipe": None if self.classifier.recipe is None else dict(self.classifier.recipe),
            "digest": self.classifier.digest,
            "nbytes": self.classifier.nbytes,
            "batches": self.batches,
            "instances": self.instances,
            "mean_time_us": self.mean_time_us,
        }
