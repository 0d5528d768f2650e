"""The small system that monitors are checked on: scanned digits and a LeNet, made in seconds.

It has what a rule needs to see a difference: in-distribution images in tracks of one class, and anomalies of
many kinds, since no monitor sees them all. A process that is started anew makes the same one from its recipe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from farm.api import (
    Classifier,
    Images,
    IntArray,
    Needs,
    Observation,
    OwnNetwork,
    Split,
    StrArray,
    TrainedNetwork,
    Workload,
    generator,
)
from farm.run.fitting import ObservedSplit
from farm.testing.observations import fresh, joined

if TYPE_CHECKING:
    from farm.run.testbed import Testbed

WORKLOAD: Mapping[str, Any] = {"name": "digits", "size": 16, "channels": 1}
CLASSIFIER: Mapping[str, Any] = {"name": "lenet", "epochs": 4}
WITH_MEMBERS: Mapping[str, Any] = {"name": "vgg-small", "epochs": 3}
BOXES: Mapping[str, Any] = {"name": "farm.testing.fake_boxes:BoxSource"}
WITH_SPREAD: Mapping[str, Any] = {"name": "what-and-where", "variant": "head", "dropout": 0.2, "passes": 8}
OUTLIERS: Mapping[str, Any] = {"name": "novelty", "workload": "noise-uniform", "split": "train"}
"""What networks learn to tell from the workload's images."""
FAMILIAR = 200
"""At most so many in-distribution images are scored."""
STRANGE = 80
"""At most so many anomalies of each kind."""
FRAMES = 4
"""So many images in a track, where the workload has no tracks of its own."""
SAMPLE_TRACKS = 10
"""Of so many in-distribution tracks, and one of each kind of anomaly, is the sample that most rules score."""


@dataclass(frozen=True)
class Observed:
    """What the classifier says of all that monitors are fitted on and score."""

    train: ObservedSplit
    validation: ObservedSplit
    familiar: Observation
    strange: Mapping[str, Observation]

    @property
    def sample(self) -> Observation:
        """A little of everything, in order, as arrays of its own."""
        few = [seen.take(slice(0, FRAMES)) for seen in self.strange.values()]
        return fresh(joined([self.familiar.take(slice(0, SAMPLE_TRACKS * FRAMES)), *few]))


class SmallSystem:
    """A workload, a classifier trained on it, and what monitors are fitted on and score.

    Parameters
    ----------
    workload, classifier
        Recipes, as in an experiment. Any others may take the place of digits and LeNet.
    seed
        Decides the split, the weights and the anomalies.

    Examples
    --------
    >>> SmallSystem(workload={"name": "digits", "size": 16}).recipe["classifier"]
    {'name': 'lenet', 'epochs': 4}
    """

    def __init__(
        self,
        *,
        workload: Mapping[str, Any] = WORKLOAD,
        classifier: Mapping[str, Any] = CLASSIFIER,
        seed: int = 0,
    ) -> None:
        self.recipe: dict[str, Any] = {
            "workload": dict(workload),
            "classifier": dict(classifier),
            "seed": seed,
        }
        self.seed = seed
        self._observed = lru_cache(maxsize=8)(self._observe)

    @property
    def workload(self) -> Workload:
        """The images, in tracks."""
        return self._made[0]

    @property
    def classifier(self) -> Classifier:
        """The classifier that everything is observed with."""
        return self._made[1]

    def observed(self, needs: Needs) -> Observed:
        """Observe everything with what these needs ask for."""
        return self._observed(needs.observed, needs.members)

    @cached_property
    def _made(self) -> tuple[Workload, Classifier, Testbed]:
        # Here, because it loads torch, which whoever only asks for the kit's rules does not need.
        from farm.run.testbed import Testbed

        bed = Testbed(self.seed)
        workload = bed.workload(self.recipe["workload"])
        classifier = bed.classifier(self.recipe["classifier"], workload)
        train, validation, test = (_in_tracks(split) for split in workload.splits)
        return replace(workload, train=train, validation=validation, test=test), classifier, bed

    def check_network(self, need: OwnNetwork) -> None:
        """Raise where a network cannot be trained here."""
        from farm.run.networks import source_of_network

        _, classifier, bed = self._made
        source_of_network(need, bed.source_of(classifier), "it")

    def network(self, need: OwnNetwork) -> TrainedNetwork:
        """Train a network of a monitor's own, or find it in the cache."""
        from farm.run.networks import train_own

        workload, classifier, bed = self._made
        outliers = bed.outliers(OUTLIERS, workload, classifier) if need.against_outliers else None
        return train_own(bed, need, classifier=classifier, workload=workload, outliers=outliers)

    def _observe(self, layers: tuple[str, ...], members: int) -> Observed:
        classifier, workload = self.classifier, self.workload

        def look(images: Images, ids: StrArray, track: StrArray) -> Observation:
            return classifier.observe(images, layers, ids=ids, track=track, members=members)

        test = workload.test
        order = np.argsort(test.groups, kind="stable")
        rows = order[:FAMILIAR]
        strange = {}
        for kind, images in anomalies(test.images.read(order), test.labels[order], self.seed).items():
            number = np.arange(len(images))
            ids = np.array([f"{kind}/{i:03d}" for i in number])
            strange[kind] = look(images, ids, np.array([f"{kind}/track-{i:03d}" for i in number // FRAMES]))
        return Observed(
            train=ObservedSplit(classifier, workload.train, layers, members),
            validation=ObservedSplit(classifier, workload.validation, layers, members),
            familiar=look(test.images.read(rows), test.ids[rows], test.groups[rows]),
            strange=strange,
        )


@cache
def small_system(*, members: bool = False, spread: bool = False) -> SmallSystem:
    """Return the one that checks take where they are given none.

    With `members` its network gives as many as it is asked for. With `spread` its answer is a mean of all its
    members, and tells where the object is, and how surely.
    """
    if spread:
        return SmallSystem(workload=BOXES, classifier=WITH_SPREAD)
    return SmallSystem(classifier=WITH_MEMBERS) if members else SmallSystem()


def anomalies(images: Images, labels: IntArray, seed: int) -> dict[str, Images]:
    """Make images that no camera of this workload gave, and tracks that no object has."""
    rng = generator(seed, "monitor checks", "anomalies")
    some = rng.permutation(len(images))[:STRANGE]
    own = images[some]
    n, channels, height, _ = own.shape
    others = images[[rng.choice(np.flatnonzero(labels != labels[i])) for i in some]]
    frequency, phase = rng.uniform(0.3, 3.0, (n, 1, 1, 1)), rng.uniform(0.0, 6.0, (n, 1, 1, 1))
    waves = np.sin(np.arange(height)[:, None] * frequency + phase)
    made = {
        "noise": rng.random(own.shape),
        "noisy": own + rng.normal(0.0, 0.4, own.shape),
        "shuffled": rng.permuted(own.reshape(n, channels, -1), axis=2).reshape(own.shape),
        "striped": np.broadcast_to(0.5 + 0.5 * waves, own.shape),
        "negative": 1.0 - own,
        "mixed": (own + others) / 2,
        "upside-down": own[:, :, ::-1],
        "dark": own / 20,
        "glaring": 0.95 + own / 20,
        "frozen": np.repeat(own[: -(-n // FRAMES)], FRAMES, axis=0)[:n],
        "flickering": own,  # of any class, one after the other
    }
    return {kind: np.clip(pictures, 0, 1).astype(np.float32) for kind, pictures in made.items()}


def _in_tracks(split: Split) -> Split:
    """Where each image is a group of its own, make tracks of a few images of one class."""
    if len(np.unique(split.groups)) < len(split):
        return split
    tracks = np.empty(len(split), dtype="U32")
    for label in np.unique(split.labels):
        own = np.flatnonzero(split.labels == label)
        tracks[own] = [f"{split.name}/{label}-{i:04d}" for i in np.arange(len(own)) // FRAMES]
    return replace(split, groups=tracks)
