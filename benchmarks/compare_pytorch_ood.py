"""Compare every method that the testbed and pytorch-ood both have: scores, separation and times.

    python benchmarks/compare_pytorch_ood.py --beds signs gtsrb

It needs farm-testbed with the extra `ood`. pytorch-ood imports torchvision, which no detector here uses but
which must be there, in a build that fits the torch beside it. For `gtsrb`, the files `gtsrb.npz` and
`btsc.npz` lie in the folder that FARM_DATA names.

Both sides get the same checkpoint, observations and settings. pytorch-ood is run twice: as it is, and with
float64 in the place of float32, which tells rounding from other differences. What then still differs has a
cause; the cause is put into our formula (`CAUSES`), which shows whether it is the whole difference.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from unittest import mock

import numpy as np
import torch
import yaml
from scipy.special import expit, logsumexp, softmax
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score
from torch import nn

from farm.api import LAST_HIDDEN, FloatArray, Monitor, Observation, collect
from farm.registry import HOME
from farm.run.fitting import Material, ObservedSplit
from farm.run.testbed import Testbed
from farm.store.threads import limited_threads
from monitors.gradnorm import GradNorm
from monitors.head_geometry import DecisionBoundaries, SimplifiedHopfieldEnergy
from monitors.kl_matching import KLMatching
from monitors.logit_scores import Energy, Entropy, GeneralisedEntropy, MaxLogit
from monitors.mahalanobis import Mahalanobis, RelativeMahalanobis
from monitors.max_softmax import MaxSoftmax
from monitors.nearest import NearestNeighbourGuidance, NearestNeighbours
from monitors.odin import Odin
from monitors.openmax import OpenMax, weibull_of_tail
from monitors.scaling import Ash, Scale
from monitors.shaping import Dice, React
from monitors.temperature import TemperatureScaling
from monitors.vim import Vim

GTSRB = {"name": "npz", "path": "gtsrb.npz", "copies": "drop"}
NOVELTY = HOME / "experiments" / "faultloads" / "authors-novelty.yaml"
ALL = 10**9
"""As many training points as there are."""
NOTHING = "- | -"
LIKELIEST = 10
"""How many classes GEN sums over, on both sides."""
TAIL = 25
"""How many of a class's largest distances OpenMax looks at, on both sides."""


@dataclass(frozen=True)
class Bed:
    """A checkpoint, what monitors are fitted on, and what is scored."""

    classifier: Any
    material: Material
    probe: Observation
    is_ood: np.ndarray

    @classmethod
    def make(cls, name: str) -> Bed:
        """Train or find the checkpoint, and observe everything."""
        testbed = Testbed(seed=0)
        if name == "gtsrb":
            workload = testbed.workload(GTSRB)
            fault: Any = yaml.safe_load(NOVELTY.read_text(encoding="utf-8"))["gtsrb-btsc"]
        else:
            workload = testbed.workload("signs")
            fault = {"name": "novelty", "workload": "signs-abroad"}
        classifier = testbed.classifier("lenet", workload)
        batches = list(testbed.stream(workload, classifier, fault).batches(256))
        images = np.concatenate([batch.images for batch in batches])
        splits = {
            name: ObservedSplit(classifier, split, (LAST_HIDDEN,))
            for name, split in (("train", workload.train), ("validation", workload.validation))
        }
        return cls(
            classifier,
            Material(classes=workload.classes, seed=0, **splits),
            classifier.observe(images, (LAST_HIDDEN,)),
            np.concatenate([batch.is_ood for batch in batches]),
        )


class Side:
    """All that pytorch-ood is given, in one precision."""

    def __init__(self, bed: Bed, dtype: torch.dtype) -> None:
        self.bed, self.dtype = bed, dtype
        self.z, self.y, _ = map(self.tensor, collect(bed.material, LAST_HIDDEN))
        self.validation = self._logits(bed.material.validation, correct=False)
        self.correct = self._logits(bed.material, correct=True)
        weights, bias = bed.classifier.head
        self.head = nn.Linear(weights.shape[1], weights.shape[0], dtype=dtype).requires_grad_(False)
        self.head.weight.copy_(self.tensor(weights))
        self.head.bias.copy_(self.tensor(bias))
        self.head_of_maps = nn.Sequential(nn.Flatten(), self.head)
        self.w, self.b = self.head.weight, self.head.bias

    def tensor(self, values: np.ndarray) -> torch.Tensor:
        made = torch.tensor(np.array(values))
        return made.to(self.dtype) if made.is_floating_point() else made

    def _logits(self, data: Any, *, correct: bool) -> tuple[torch.Tensor, torch.Tensor]:
        rows = [(o.logits, y, (o.predicted == y) | (not correct)) for o, y in data]
        logits, labels, kept = (np.concatenate(column) for column in zip(*rows, strict=True))
        return self.tensor(logits[kept]), self.tensor(labels[kept])


@contextmanager
def precision(dtype: torch.dtype) -> Iterator[None]:
    """Let what asks for the usual precision have this one."""
    before = torch.get_default_dtype()
    with ExitStack() as stack:
        if dtype is torch.float64:
            stack.enter_context(mock.patch.object(torch.Tensor, "float", torch.Tensor.double))
        torch.set_default_dtype(dtype)
        try:
            yield
        finally:
            torch.set_default_dtype(before)


TAKES: Mapping[str, tuple[str, Callable[[Observation], np.ndarray]]] = {
    "logits": ("predict_logits", lambda o: o.logits),
    "features": ("predict_features", lambda o: o.features(LAST_HIDDEN)),
    "maps": ("predict_feature_maps", lambda o: o.features(LAST_HIDDEN)[:, :, None, None]),
    "images": ("predict", lambda o: o.images),
    "last layer": ("predict", lambda o: o.features(LAST_HIDDEN)),
}
"""What a detector looks at, and the method that does."""


@dataclass(frozen=True)
class Pair:
    """One method on both sides."""

    name: str
    ours: Monitor
    detector: str
    takes: str
    make: Callable[[Any, Side], Any]
    """From the detector's class and what it is given to the fitted detector."""
    as_theirs: Callable[[FloatArray, Bed], FloatArray] = lambda scores, bed: scores
    """Our scores in the form of theirs; the order stays."""

    def fitted(self, side: Side) -> Any:
        """Make and fit the detector."""
        detector = getattr(import_module("pytorch_ood.detector"), self.detector)
        with precision(side.dtype):
            return self.make(detector, side)

    def call(self, detector: Any, side: Side, rows: slice) -> Callable[[], torch.Tensor]:
        """Return the call that scores these rows."""
        method, values = TAKES[self.takes]
        inputs = side.tensor(values(side.bed.probe.take(rows)))
        return lambda: getattr(detector, method)(inputs)

    def scores(self, detector: Any, side: Side) -> FloatArray:
        """Return the detector's scores of everything."""
        n = len(side.bed.probe)
        # OpenMax knows only distances from classes that are predicted within the batch.
        step = n if self.detector == "OpenMax" else 1024
        with precision(side.dtype):
            parts = [self.call(detector, side, slice(i, i + step))() for i in range(0, n, step)]
        return torch.cat(parts).detach().double().numpy()


def probability(log_odds: FloatArray, bed: Bed) -> FloatArray:
    """Return the greatest probability, negated, from the log-odds against it."""
    del bed
    return -expit(-log_odds)


def of_scatter(factor: float) -> Callable[[FloatArray, Bed], FloatArray]:
    """Let the undivided scatter matrix take the place of the covariance."""
    return lambda scores, bed: factor * scores / len(collect(bed.material, LAST_HIDDEN).labels)


def on_features(detector: Any, side: Side) -> Any:
    """Fit on the training features."""
    return detector.fit_features(side.z, side.y)


PAIRS = (
    Pair("max-softmax", MaxSoftmax(), "MaxSoftmax", "logits", lambda d, s: d(None), probability),
    Pair("max-logit", MaxLogit(), "MaxLogit", "logits", lambda d, s: d(None)),
    Pair("entropy", Entropy(), "Entropy", "logits", lambda d, s: d(None)),
    Pair("energy", Energy(), "EnergyBased", "logits", lambda d, s: d(None)),
    Pair(
        "gen",
        GeneralisedEntropy(m=LIKELIEST),
        "GEN",
        "logits",
        lambda d, s: d(None, M=LIKELIEST),
        lambda scores, bed: scores / min(LIKELIEST, len(bed.classifier.classes)),  # a sum, and a mean
    ),
    Pair(
        "temperature-scaling",
        TemperatureScaling(),
        "TemperatureScaling",
        "logits",
        lambda d, s: d(None).fit_logits(*s.validation),
        probability,
    ),
    Pair(
        "kl-matching",
        KLMatching(),
        "KLMatching",
        "logits",
        lambda d, s: d(None).fit_logits(*s.validation),
    ),
    Pair(
        "openmax",
        OpenMax(tail=TAIL),
        "OpenMax",
        "logits",
        lambda d, s: d(None, tailsize=TAIL).fit_logits(*s.correct),
        lambda log_odds, bed: expit(log_odds),
    ),
    Pair(
        "odin",
        Odin(magnitude=0.0014),
        "ODIN",
        "images",
        lambda d, s: d(s.bed.classifier.differentiable, eps=0.0014),
        probability,
    ),
    Pair(
        "gradnorm",
        GradNorm(),
        "GradNorm",
        "last layer",
        lambda d, s: d(s.head, param_filter=lambda name: name == "weight"),
    ),
    Pair(
        "mahalanobis",
        Mahalanobis(),
        "Mahalanobis",
        "features",
        lambda d, s: on_features(d(None), s),
        of_scatter(0.5),
    ),
    Pair(
        "relative-mahalanobis",
        RelativeMahalanobis(),
        "RMD",
        "features",
        lambda d, s: on_features(d(None), s),
        of_scatter(1.0),
    ),
    Pair("knn", NearestNeighbours(points=ALL), "KNN", "features", lambda d, s: one_thread(d(None), s)),
    Pair(
        "nnguide",
        NearestNeighbourGuidance(points=ALL),
        "NNGuide",
        "features",
        lambda d, s: on_features(d(None, s.head), s),
    ),
    Pair("vim", Vim(dimensions=64), "ViM", "features", lambda d, s: on_features(d(None, 64, s.w, s.b), s)),
    Pair("fdbd", DecisionBoundaries(), "fDBD", "features", lambda d, s: on_features(d(None, s.head), s)),
    Pair("she", SimplifiedHopfieldEnergy(), "SHE", "features", lambda d, s: on_features(d(None, s.head), s)),
    Pair(
        "react",
        React(),
        "ReAct",
        "maps",
        lambda d, s: d(None, s.head_of_maps).fit_feature_maps(s.z, s.y),
    ),
    Pair("dice", Dice(), "DICE", "features", lambda d, s: on_features(d(None, s.w, s.b, 0.9), s)),
    Pair("ash", Ash(), "ASH", "maps", lambda d, s: d(None, s.head_of_maps, percentile=0.9)),
    Pair("scale", Scale(), "SCALE", "maps", lambda d, s: d(None, s.head_of_maps, percentile=0.85)),
)


def one_thread(detector: Any, side: Side) -> Any:
    """Fit, and keep the search from running on all cores."""
    detector.knn.n_jobs = 1
    return on_features(detector, side)


# Our formulas with the one thing in them that pytorch-ood does differently ----------------------------------


def rounded_probability(bed: Bed, detector: Any) -> FloatArray:
    """The probability itself: close to 1 many are the same number."""
    return -softmax(wide_logits(bed), axis=1).max(axis=1)


def clipped_entropy(bed: Bed, detector: Any) -> FloatArray:
    """No probability counts as less than 1e-7."""
    p = softmax(wide_logits(bed), axis=1).clip(1e-7, 1)
    return -(p * np.log(p)).sum(axis=1)


def clipped_gen(bed: Bed, detector: Any) -> FloatArray:
    """No probability counts as less than 1e-7, nor as more than 1 - 1e-7."""
    p = np.sort(softmax(wide_logits(bed), axis=1).clip(1e-7, 1 - 1e-7), axis=1)[:, -LIKELIEST:]
    return ((p * (1 - p)) ** 0.1).mean(axis=1)


def at_their_temperature(bed: Bed, detector: Any) -> FloatArray:
    """The temperature at which its optimiser stopped."""
    return -softmax(wide_logits(bed) / detector.t.item(), axis=1).max(axis=1)


def moved_openmax(bed: Bed, detector: Any, *, their_fit: bool = True) -> FloatArray:
    """Distances are moved, so that the smallest of the tail is 10000, before anything is fitted to them."""
    rows = [(o.logits.astype(float), y, o.predicted == y) for o, y in bed.material]
    points, labels, right = (np.concatenate(column) for column in zip(*rows, strict=True))
    logits = wide_logits(bed)
    share, n = np.zeros_like(logits), logits.shape[1]
    for label in range(n):
        own = points[right & (labels == label)]
        centre = own.mean(axis=0)
        tail = np.sort(np.linalg.norm(own - centre, axis=1))[-TAIL:]
        moved = 10_000 - tail.min()
        found = detector._openmax.distributions[label]
        shape, scale = (found.c, found.scale) if their_fit else weibull_of_tail(tail + moved, TAIL)
        distance = np.linalg.norm(logits - centre, axis=1)
        share[:, label] = -np.expm1(-(((distance + moved) / scale) ** shape))
    place = np.argsort(np.argsort(-logits, axis=1), axis=1)
    alpha = min(10, n)
    given = logits * share * np.maximum(alpha - place, 0) / alpha
    return expit(given.sum(axis=1) - logsumexp(logits - given, axis=1))


def with_ridge(bed: Bed, *, relative: bool) -> FloatArray:
    """The scatter matrix is not divided, gets 1e-6 on its diagonal, and is inverted whole."""
    features, labels, _ = collect(bed.material, LAST_HIDDEN)
    features = features.astype(float)
    means = np.stack([features[labels == label].mean(axis=0) for label in np.unique(labels)])
    own = bed.probe.features(LAST_HIDDEN).astype(float)
    nearest = np.min([distances(own, mean, features - means[labels]) for mean in means], axis=0)
    if not relative:
        return nearest / 2
    mean = features.mean(axis=0)
    return nearest - distances(own, mean, features - mean)


def distances(rows: FloatArray, mean: FloatArray, centred: FloatArray) -> FloatArray:
    """Return squared Mahalanobis distances under the ridged scatter of centred points."""
    scatter = centred.T @ centred + 1e-6 * np.eye(centred.shape[1])
    away = rows - mean
    return (away * np.linalg.solve(scatter, away.T).T).sum(axis=1)


def wide_logits(bed: Bed) -> FloatArray:
    """Return the observed logits in float64."""
    return bed.probe.logits.astype(np.float64)


CAUSES: Mapping[str, Callable[[Bed, Any], FloatArray]] = {
    "max-softmax": rounded_probability,
    "entropy": clipped_entropy,
    "gen": clipped_gen,
    "temperature-scaling": at_their_temperature,
    "openmax": moved_openmax,
    "mahalanobis": lambda bed, detector: with_ridge(bed, relative=False),
    "relative-mahalanobis": lambda bed, detector: with_ridge(bed, relative=True),
}


# Measuring --------------------------------------------------------------------------------------------------


def likeness(ours: FloatArray, in_their_form: FloatArray, theirs: FloatArray) -> str:
    """Return the rank correlation, and the largest difference for the score or the median one if greater."""
    size = np.maximum(np.abs(theirs), np.median(np.abs(theirs)))
    rank = min(float(spearmanr(ours, theirs)[0]), 1.0)
    return f"{rank:.6f} | {(np.abs(in_their_form - theirs) / size).max():.0e}"


def compare(pair: Pair, bed: Bed, narrow: Side, wide: Side) -> str:
    """Return a row of the table of scores."""
    ours = pair.ours.fit(bed.material, bed.classifier).score(bed.probe)
    in_their_form = pair.as_theirs(ours, bed)
    theirs = pair.scores(pair.fitted(narrow), narrow)
    cells = [likeness(ours, in_their_form, theirs)]
    separations = [ours, theirs]
    if pair.takes == "images":  # the network itself computes in float32
        cells += [NOTHING] * 2
    else:
        detector = pair.fitted(wide)
        exact = pair.scores(detector, wide)
        cells.append(likeness(ours, in_their_form, exact))
        cause = CAUSES[pair.name](bed, detector) if pair.name in CAUSES else None
        cells.append(NOTHING if cause is None else likeness(cause, cause, exact))
        separations.append(exact)
    cells += [f"{roc_auc_score(bed.is_ood, scores):.4f}" for scores in separations]
    cells += ["-"] * (3 - len(separations))
    return f"| {pair.name} | {pair.detector} | {' | '.join(cells)} |"


def time_both(pair: Pair, bed: Bed, side: Side, rounds: int) -> str:
    """Return a row of the table of times; the monitor is fitted already."""
    detector, cells = pair.fitted(side), []
    for n in (1, 64):
        part = bed.probe.take(slice(0, n))
        calls = [lambda part=part: pair.ours.score(part), pair.call(detector, side, slice(0, n))]
        ours, theirs = interleaved(calls, rounds)
        cells += [f"{1e6 * ours:.0f} | {1e6 * theirs:.0f} | {ours / theirs:.2f}"]
    return f"| {pair.name} | {' | '.join(cells)} |"


def interleaved(calls: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """Return the median time of each call in seconds; each is run in blocks, in turn with the others."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, taken in zip(calls, times, strict=True):
            call()
            for _ in range(10):
                start = time.perf_counter()
                call()
                taken.append(time.perf_counter() - start)
    return [float(np.median(taken)) for taken in times]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--beds", nargs="*", default=["signs"], choices=["signs", "gtsrb"])
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    packages = ("pytorch_ood", "torch", "numpy", "sklearn", "scipy")
    print(", ".join(f"{name} {import_module(name).__version__}" for name in packages))
    for name in options.beds:
        with limited_threads(1):
            bed = Bed.make(name)
            narrow, wide = Side(bed, torch.float32), Side(bed, torch.float64)
            sizes = (
                f"{len(narrow.y)} training points, {len(bed.is_ood)} scored, {bed.is_ood.sum()} of them OOD"
            )
            print(f"\n## {name}: {sizes}\n")
            print(
                "| monitor | detector | rank | diff. | float64 | diff. | cause | diff. "
                "| AUROC | theirs | float64 |"
            )
            print(f"|---|---|{'---:|' * 9}")
            for pair in PAIRS:
                print(compare(pair, bed, narrow, wide), flush=True)
            print(f"\n{temperatures(bed, wide)}\n\n{openmax_fits(bed, wide)}")
            print("\n| monitor | one image, us | theirs | ratio | 64 images, us | theirs | ratio |")
            print("|---|---:|---:|---:|---:|---:|---:|")
            for pair in PAIRS:
                print(time_both(pair, bed, narrow, options.rounds), flush=True)


def temperatures(bed: Bed, side: Side) -> str:
    """Say how well both temperatures do what they are fitted for."""
    pair = named("temperature-scaling")
    logits, labels = (tensor.numpy() for tensor in side.validation)
    told = []
    for who, t in (("ours", pair.ours.notes()["temperature"]), ("theirs", pair.fitted(side).t.item())):
        loss = logsumexp(logits / t, axis=1) - logits[np.arange(len(labels)), labels] / t
        told.append(f"{who} {t:.4f} (mean negative log-likelihood {loss.mean():.6f})")
    return f"Temperature: {', '.join(told)}"


def openmax_fits(bed: Bed, side: Side) -> str:
    """Say how much of what remains is where its search for the Weibull parameters stopped."""
    pair = named("openmax")
    detector = pair.fitted(side)
    exact = pair.scores(detector, side)
    told = []
    for who, their_fit in (("ours", False), ("theirs", True)):
        found = moved_openmax(bed, detector, their_fit=their_fit)
        told.append(f"{likeness(found, found, exact)} with {who}")
    return f"OpenMax on moved distances, by Weibull parameters: {', '.join(told)}"


def named(name: str) -> Pair:
    """Return the pair of this name."""
    return next(pair for pair in PAIRS if pair.name == name)


if __name__ == "__main__":
    main()
