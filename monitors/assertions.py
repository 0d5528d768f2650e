"""Model assertions: what must not happen, whatever the classifier's confidence. Here: flicker."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from farm.api import (
    JSON,
    Explanation,
    Features,
    FitData,
    FloatArray,
    Monitor,
    Needs,
    Observation,
    State,
    check_number,
)
from monitors._latest import Latest


class Flicker(Monitor):
    """The predicted class changes while the same object is watched: one of the two must be wrong.

    The score is the number of changes between consecutive predictions among the latest ones of the
    instance's track, this one included, as a share of the most that there could be. It only looks back: the
    instances before a change were accepted, and those after it are suspected while it is in the window.

    In an experiment a track is one visit: consecutive instances of one object. An object that is met again
    later has another track, and is watched anew. At work, whoever asks says what is a track. An instance
    without one stands alone and scores 0, since nobody says that it shows what came before. So does a
    track's first. On data whose tracks are single images this monitor never alarms; the notes count the
    training data's tracks.

    Parameters
    ----------
    window
        How many of a track's latest predictions count.
    changes
        How many changes among them raise the alarm. None calibrates it on ID validation data.
    tracks
        How many tracks are remembered; beyond that, the one not seen for the longest time is forgotten. So
        memory stays the same along an endless stream.

    Examples
    --------
    >>> Flicker(window=5, changes=2).fixed_threshold
    0.375
    """

    reference = "Kang et al.: Model assertions for monitoring and improving ML models, MLSys 2020"

    def __init__(self, *, window: int = 5, changes: int | None = 1, tracks: int = 1000) -> None:
        check_number("window", window, low=2, whole=True)
        if changes is not None:
            check_number("changes", changes, low=1, high=window - 1, whole=True)
        check_number("tracks", tracks, low=1, whole=True)
        self._window, self._changes, self._tracks = window, changes, tracks
        self._seen: OrderedDict[str, tuple[int, ...]] = OrderedDict()
        self._latest: Latest | None = None

    @property
    def needs(self) -> Needs:
        """The stream's order."""
        return Needs(order=True)

    @property
    def fixed_threshold(self) -> float | None:
        """Half a change below the number that alarms, where that is set."""
        return None if self._changes is None else (self._changes - 0.5) / (self._window - 1)

    def _fit(self, data: FitData) -> State:
        sizes: Counter[str] = Counter()
        for observation, _ in data:
            if observation.track is not None:
                sizes.update(observation.track.tolist())
        return {"tracks": np.array(len(sizes)), "several": np.array(sum(n > 1 for n in sizes.values()))}

    def _load(self, state: State) -> None:
        self._in_training = {name: int(count) for name, count in state.items()}
        self.reset()

    def _score(self, observation: Observation) -> Features:
        changes: FloatArray = np.zeros(len(observation))
        counted: list[tuple[int, ...]] = []
        if observation.track is not None:
            latest = zip(observation.track.tolist(), observation.predicted.tolist(), strict=True)
            for i, (track, predicted) in enumerate(latest):
                counted.append(self._remember(track, predicted))
                changes[i] = sum(a != b for a, b in pairwise(counted[i]))
        self._latest, self._counted = Latest(observation), counted
        return changes / (self._window - 1)

    def _explain(self, observation: Observation) -> Explanation:
        if observation.track is None:
            return Explanation("it has no track, and so stands alone")
        if not self._latest or (row := self._latest.row(observation)) is None:
            return Explanation("what came before it in its track is kept for the latest batch only")
        names: list[JSON] = [self.classifier.classes[label] for label in self._counted[row]]
        changes = sum(a != b for a, b in pairwise(names))
        told = ", ".join(f"'{name}'" for name in names)
        return Explanation(
            f"{changes} of {self._window - 1} possible changes; its track's latest predictions are {told}",
            details={"latest": names},
        )

    def _remember(self, track: str, predicted: int) -> tuple[int, ...]:
        """Add a prediction to its track, and give those of the track that count."""
        seen = (*self._seen.get(track, ()), predicted)[-self._window :]
        self._seen[track] = seen
        self._seen.move_to_end(track)
        if len(self._seen) > self._tracks:
            self._seen.popitem(last=False)
        return seen

    def reset(self) -> None:
        """Forget all tracks."""
        self._latest = None
        self._seen.clear()

    def notes(self) -> Mapping[str, JSON]:
        """How many tracks the training data have, and how many of them show their object more than once."""
        return {
            "training_tracks": self._in_training["tracks"],
            "of_several_instances": self._in_training["several"],
        }
