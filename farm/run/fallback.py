"""What takes a cancelled decision's place: nothing, the last accepted decision, or a second classifier.

Policies and fallbacks, anybody's, are called so that a mistake has a name, and what they return is checked.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from farm.api import NO_ANSWER, BoolArray, Classifier, IntArray, Observation, Policy, Verdict
from farm.errors import ComponentFailure, ExperimentError, FarmError, one_line, pass_on_ctrl_c

P = ParamSpec("P")
R = TypeVar("R")

NONE, LAST = NAMES = ("none", "last")
"""What experiments call those that are no second classifier."""
MOST_TRACKS = 1024
"""Of how many tracks, the latest, the last accepted decision is kept."""


class Fallback(Protocol):
    """Says which class is acted upon, instance by instance, in the order of the stream."""

    def decide(
        self, cancelled: BoolArray, observation: Observation, alarms: BoolArray | None = None
    ) -> IntArray:
        """Return the class acted upon, -1 where none: the prediction itself where it is not cancelled.

        `alarms` says where the monitor raised an alarm, whatever its policy made of it.
        """
        ...

    def reset(self) -> None:
        """Forget what came before in the stream."""
        ...

    def record(self) -> dict[str, Any]:
        """Return what provenance keeps of it, as JSON; what it measured is since the last reset."""
        ...


class NoFallback:
    """Nothing takes a cancelled decision's place.

    Examples
    --------
    >>> NoFallback().record()
    {'name': 'none'}
    """

    def decide(
        self, cancelled: BoolArray, observation: Observation, alarms: BoolArray | None = None
    ) -> IntArray:
        """Return the prediction, -1 where it is cancelled."""
        del alarms
        # Mostly nothing is, and Python finds that out faster than NumPy.
        if not any(cancelled.tolist()):
            return observation.predicted
        return np.where(cancelled, NO_ANSWER, observation.predicted)

    def reset(self) -> None:
        """Nothing to forget."""

    def record(self) -> dict[str, Any]:
        """Return its name."""
        return {"name": NONE}


class LastAccepted:
    """The last accepted decision of the same track, -1 where there is none yet.

    A decision that a policy let pass although there was an alarm stands, but is not recalled later: the
    monitor doubted it. An instance without a track stands alone, so that nothing takes its decision's place.
    The decisions of the latest `MOST_TRACKS` tracks are kept, so that memory has a bound on any stream.

    Examples
    --------
    >>> LastAccepted().record()
    {'name': 'last'}
    """

    def __init__(self) -> None:
        self._accepted: OrderedDict[str, int] = OrderedDict()

    def decide(
        self, cancelled: BoolArray, observation: Observation, alarms: BoolArray | None = None
    ) -> IntArray:
        """Return the prediction, or where it is cancelled the track's last one without alarm that was not."""
        if observation.track is None:
            return np.where(cancelled, NO_ANSWER, observation.predicted)
        n = len(observation)
        alarmed = [False] * n if alarms is None else alarms.tolist()
        columns = cancelled.tolist(), alarmed, observation.predicted.tolist(), observation.track.tolist()
        rows = zip(*columns, strict=True)
        return np.fromiter((self._next(*row) for row in rows), dtype=np.int64, count=n)

    def _next(self, cancelled: bool, alarm: bool, predicted: int, track: str) -> int:
        accepted = self._accepted
        if not cancelled and not alarm:
            accepted[track] = predicted
            if len(accepted) > MOST_TRACKS:
                accepted.popitem(last=False)
        if track in accepted:
            accepted.move_to_end(track)
        return accepted.get(track, NO_ANSWER) if cancelled else predicted

    def reset(self) -> None:
        """Forget all tracks."""
        self._accepted.clear()

    def record(self) -> dict[str, Any]:
        """Return its name."""
        return {"name": LAST}


class SecondClassifier:
    """The prediction of a second classifier, which looks only at instances whose decision was cancelled.

    One object may serve several monitors. Where it is told first what each of them cancelled of a batch
    (`announce`), as a run does, it looks at all of that in one pass; it never looks at an instance twice.
    What it looks at together differs from batch size to batch size, and so may the last bits of its outputs.

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
    1
    """

    def __init__(self, classifier: Classifier) -> None:
        self.classifier = classifier
        self.batches = self.instances = 0
        """How many passes it made since the last reset, and how many instances it looked at in them."""
        self._nanoseconds = 0
        self._observation: Observation | None = None
        self._asked: BoolArray = np.zeros(0, dtype=np.bool_)
        self._predicted: IntArray = np.zeros(0, dtype=np.int64)
        """Of the latest observation, -1 where it did not look yet."""

    def announce(self, cancelled: BoolArray, observation: Observation) -> None:
        """Say what will be asked about an observation, so that it is looked at in one pass."""
        if self._observation is not observation:
            self._observation = observation
            self._asked = np.zeros(len(observation), dtype=np.bool_)
            self._predicted = np.full(len(observation), NO_ANSWER)
        self._asked = self._asked | cancelled

    def decide(
        self, cancelled: BoolArray, observation: Observation, alarms: BoolArray | None = None
    ) -> IntArray:
        """Return the prediction, or where it is cancelled the second classifier's."""
        del alarms
        if not any(cancelled.tolist()):
            return observation.predicted
        self.announce(cancelled, observation)
        self._look(observation)
        return np.where(cancelled, self._predicted, observation.predicted)

    def _look(self, observation: Observation) -> None:
        rows = np.flatnonzero(self._asked & (self._predicted == NO_ANSWER))
        if not rows.size:
            return
        start = time.perf_counter_ns()
        seen = self.classifier.observe(observation.images[rows], ids=observation.ids[rows])
        self._predicted[rows] = seen.predicted
        self._nanoseconds += time.perf_counter_ns() - start
        self.batches += 1
        self.instances += len(rows)

    @property
    def mean_time_us(self) -> float | None:
        """The mean time that an instance took; None before the first."""
        return self._nanoseconds / 1e3 / self.instances if self.instances else None

    def reset(self) -> None:
        """Forget the batch that it saw, and what it measured."""
        self.batches = self.instances = self._nanoseconds = 0
        self._observation = None

    def record(self) -> dict[str, Any]:
        """Return who it is, how often it was asked, and how long it took."""
        return {
            "name": self.classifier.name,
            "recipe": None if self.classifier.recipe is None else dict(self.classifier.recipe),
            "digest": self.classifier.digest,
            "nbytes": self.classifier.nbytes,
            "batches": self.batches,
            "instances": self.instances,
            "mean_time_us": self.mean_time_us,
        }


def another_fallback(fallback: Fallback) -> Fallback:
    """Return one alike with a memory of its own; a second classifier itself stays one."""
    if isinstance(fallback, SecondClassifier):
        return type(fallback)(fallback.classifier)
    made = deepcopy(fallback)
    made.reset()
    return made


def check_second(second: Classifier, first: Classifier, who: str) -> None:
    """Raise where a classifier cannot take the place of the first one's decisions."""
    if second.classes != first.classes:
        raise ExperimentError(
            f"{who} counts other classes than classifier '{first.name}'; expected the same, in the same order"
        )
    if same_classifier(second, first):
        raise the_same(who)


def unfit_second(fallbacks: Mapping[str, Fallback], first: Classifier) -> dict[str, str]:
    """Say of which monitors' second classifiers that is so, and why."""
    unfit: dict[str, str] = {}
    for name, one in fallbacks.items():
        if isinstance(one, SecondClassifier):
            try:
                check_second(one.classifier, first, f"fallback '{one.classifier.name}'")
            except ExperimentError as error:
                unfit[name] = f"monitor '{name}': its {error}"
    return unfit


def the_same(who: str) -> ExperimentError:
    """Say that what should take the classifier's place is the classifier itself."""
    return ExperimentError(
        f"{who} is the classifier itself: its decision would be the cancelled one; expected another "
        "classifier, or other parameters"
    )


def same_classifier(one: Classifier, other: Classifier) -> bool:
    """Say whether two are the same, or were made alike; of a black box, a digest does not see the code."""
    if one is other:
        return True
    seen = one.nbytes is not None or (one.recipe is not None and one.recipe == other.recipe)
    return seen and one.digest == other.digest


def cancelled_by(policy: Policy, verdict: Verdict, observation: Observation) -> BoolArray:
    """Return what a policy cancels: one truth value an image."""
    who = f"policy '{policy.name}'"
    found = safely(who, policy.decide, verdict, observation)
    return _checked(who, found, "b", "truth value", len(observation))


def labels_by(
    fallback: Fallback, cancelled: BoolArray, observation: Observation, alarms: BoolArray | None = None
) -> IntArray:
    """Return the class that is acted upon, -1 where there is none: one number an image."""
    who = f"fallback {type(fallback).__name__}"
    found = safely(who, fallback.decide, cancelled, observation, alarms)
    return _checked(who, found, "i", "class number", len(observation))


def safely(who: str, hook: Callable[P, R], *arguments: P.args, **more: P.kwargs) -> R:
    """Call a hook, and turn whatever it raises into a failure that names whose it is."""
    try:
        return hook(*arguments, **more)
    except FarmError:
        raise
    except BaseException as error:
        pass_on_ctrl_c(error)
        raise ComponentFailure(f"{who} failed: {one_line(error)}") from error


def _checked(who: str, found: object, kind: str, what: str, n: int) -> NDArray[Any]:
    if isinstance(found, np.ndarray) and found.shape == (n,) and found.dtype.kind == kind:
        return found
    said = f"a {type(found).__name__}, no array"
    if isinstance(found, np.ndarray):
        said = f"an array of shape {found.shape} and type {found.dtype}"
    raise ComponentFailure(f"{who} returned {said}; expected one {what} an image, here {n}")
