"""Benchmark sets made by hand, of which is known what is true."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import softmax
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from farm.comparing import BenchmarkSet
from farm.judging import VerdictTable
from farm.judging.table import made_truth
from farm.judging.verdicts import Verdicts
from farm.measures.boxes import Boxes
from farm.measures.calibration import ece


def alike(random, tracks, frames, rate, share):
    """Whether something happens, at this rate, in each frame of each track; frames share some chance."""
    latent = np.sqrt(share) * random.standard_normal((tracks, 1))
    latent = latent + np.sqrt(1 - share) * random.standard_normal((tracks, frames))
    return latent < norm.ppf(rate)


def make_stream(alarm, *, wrong=None, is_ood=None, track=None, score=None, run=0, monitor="m"):
    """Make a stream of one monitor without a fallback; by default all is ID, and each instance a track."""
    alarm = np.asarray(alarm, dtype=bool)
    n = len(alarm)
    wrong = np.zeros(n, dtype=bool) if wrong is None else np.asarray(wrong, dtype=bool)
    known = made_truth(
        wrong=wrong, is_ood=np.zeros(n, dtype=bool) if is_ood is None else np.asarray(is_ood, dtype=bool)
    )
    named = None if track is None else np.asarray(track).astype(str).astype(object)
    return VerdictTable.from_arrays(
        known, [Verdicts(monitor, alarm, alarm, score=score)], named_track=named, run=run
    )


def make_set(*streams, name="fog", category="shift", workload="signs"):
    """Put streams into a set, without records."""
    return BenchmarkSet(workload, "lenet", name, category, "3", [], list(streams))


def in_tracks(random, *, tracks, frames, fpr, fnr, share, **options):
    """Make a stream of tracks that are ID or OOD, with a monitor of these rates."""
    id_alarm = alike(random, tracks[0], frames, fpr, share)
    ood_alarm = ~alike(random, tracks[1], frames, fnr, share)
    is_ood = np.repeat([False, True], [id_alarm.size, ood_alarm.size])
    alarm = np.concatenate([id_alarm.ravel(), ood_alarm.ravel()])
    return make_stream(alarm, is_ood=is_ood, track=np.arange(len(alarm)) // frames, **options)


def classified(wrong, *, answered=None, is_ood=None, track=None, n_classes=5, run=0, **said):
    """Make a stream without monitors, of what a classifier said; by default all of it is OOD."""
    wrong = np.asarray(wrong, dtype=bool)
    n = len(wrong)
    is_ood = np.ones(n, dtype=bool) if is_ood is None else np.asarray(is_ood, dtype=bool)
    known = made_truth(wrong=wrong, is_ood=is_ood)
    if answered is not None:
        known = replace(known, label=np.where(answered, known.label, -1))
    named = None if track is None else np.asarray(track).astype(str).astype(object)
    return VerdictTable.from_arrays(
        known,
        [],
        **said,
        named_track=named,
        classifier_classes=n_classes,
        run=run,
    )


@dataclass(frozen=True)
class MadeClassifier:
    """Predicts from logits that are noise, but for the right class, whose are higher by a margin."""

    margin: float
    spread: float
    alike: float
    """Which share of the noise the frames of a track have in common."""
    classes: int = 5

    def said(self, random, tracks, frames):
        """Return which predictions are wrong, and what the classifier's probabilities tell of each."""
        noise = np.sqrt(self.alike) * random.standard_normal((tracks, 1, self.classes))
        noise = noise + np.sqrt(1 - self.alike) * random.standard_normal((tracks, frames, self.classes))
        logits = (self.spread * noise + self.margin * (np.arange(self.classes) == 0)).reshape(
            -1, self.classes
        )
        probabilities = softmax(logits, axis=1)
        brier = np.square(probabilities - (np.arange(self.classes) == 0)).sum(axis=1)
        sure = {"confidence": probabilities.max(axis=1), "label_probability": probabilities[:, 0]}
        return probabilities.argmax(axis=1) != 0, {**sure, "brier": brier}

    def truth(self, frames, n=1_000_000):
        """Return what it is worth on all streams: measured on so many instances."""
        wrong, said = self.said(np.random.default_rng(99), n // frames, frames)
        confidence, brier = said["confidence"], said["brier"]
        return {
            "classifier_accuracy": 1 - wrong.mean(),
            "classifier_brier_mean": brier.mean() / self.classes,
            "classifier_brier_sum": brier.mean(),
            "classifier_confidence_auroc": roc_auc_score(~wrong, confidence),
            "classifier_ece": ece(confidence, ~wrong).value,
            "classifier_nll": -np.log(said["label_probability"]).mean(),
        }

    def stream(self, random, tracks, frames):
        """Make a stream of so many tracks of so many frames."""
        wrong, said = self.said(random, tracks, frames)
        track = np.repeat(np.arange(tracks), frames)
        return classified(wrong, track=track, n_classes=self.classes, **said)


@dataclass(frozen=True)
class MadeLocaliser:
    """Finds boxes with normal errors, in part the same for the frames of a track."""

    error: float
    claimed: float
    """The spread that it tells."""
    alike: float
    side: float = 64.0

    def said(self, random, tracks, frames):
        """Return what it says of so many frames of so many tracks."""
        noise = np.sqrt(self.alike) * random.standard_normal((tracks, 1, 4))
        noise = noise + np.sqrt(1 - self.alike) * random.standard_normal((tracks, frames, 4))
        start = random.uniform(8, 20, (tracks, 1, 2)) * np.ones((1, frames, 1))
        target = np.concatenate([start, start + random.uniform(10, 30, (tracks, frames, 2))], axis=2)
        target = target.reshape(-1, 4)
        predicted = target + self.error * noise.reshape(-1, 4)
        return Boxes(target, predicted, np.full_like(target, self.claimed), np.full(len(target), None))

    def truth(self, frames, n=1_000_000):
        """Return what it is worth on all streams: measured on so many instances."""
        found = self.said(np.random.default_rng(98), n // frames, frames).measures()
        return {name: measure.value for name, measure in found.items()}

    def stream(self, random, tracks, frames):
        """Make a stream of so many tracks of so many frames."""
        boxes = self.said(random, tracks, frames)
        track = np.repeat(np.arange(tracks), frames)
        size = (int(self.side), int(self.side))
        return classified(np.zeros(len(boxes)), boxes=boxes, track=track, image_size=size)
