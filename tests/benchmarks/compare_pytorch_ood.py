"""Compare every method that the testbed and pytorch-ood both have: scores, separation and times.

    python tests/benchmarks/compare_pytorch_ood.py --beds signs gtsrb

It needs farm-testbed with the extra `ood`. pytorch-ood imports torchvision, which no detector here uses but
which must be there, in a build that fits the torch beside it. For `gtsrb`, the files `gtsrb.npz` and
`btsc.npz` lie in the folder that FARM_DATA names.

Both sides get the same checkpoint, observations and settings. pytorch-ood is run twice: as it is, and with
float64 in the place of float32, which tells rounding from other differences. What then still differs is put
into our formula, one cause a method (`CAUSES`), to see whether that is the whole difference.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any
from unittest import mock

import numpy as np
import torch
import yaml
from scipy.special import expit, log_softmax, softmax
from scipy.stats import exponweib, spearmanr
from sklearn.metrics import roc_auc_score
from torch import nn

from farm.api import LAST_HIDDEN, FloatArray, Monitor, Observation, collect
from farm.fitting import Material, ObservedSplit
from farm.registry import HOME
from farm.testbed import Testbed
from farm.threads import limited_threads
from monitors import head_geometry, kl_matching, logit_scores, mahalanobis, nearest, scaling, shaping
from monitors.gradnorm import GradNorm
from monitors.max_softmax import MaxSoftmax
from monitors.odin import Odin
from monitors.openmax import OpenMax
from monitors.temperature import TemperatureScaling
from monitors.vim import Vim

GTSRB = {"name": "npz", "path": "gtsrb.npz", "copies": "drop"}
NOVELTY = HOME / "experiments" / "faultloads" / "authors-novelty.yaml"
ALL = 10**9
"""As many training points as there are."""
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


def same(scores: FloatArray, bed: Bed) -> FloatArray:
    """Leave the scores as they are."""
    del bed
    return scores


def probability(scores: FloatArray, bed: Bed) -> FloatArray:
    """Give the greatest probability, negated, from the log-odds against it."""
    del bed
    return -expit(-scores)


def per_training_point(factor: float) -> Callable[[FloatArray, Bed], FloatArray]:
    """Divide by the number of training points: a scatter matrix takes the place of a covariance."""
    return lambda scores, bed: factor * scores / len(collect(bed.material, LAST_HIDDEN).labels)


@dataclass(frozen=True)
class Pair:
    """One method on both sides."""

    name: str
    ours: Monitor
    detector: str
    takes: str
    make: Callable[[Any, Side], Any]
    """The detector's class and the data to the fitted detector."""
    as_theirs: Callable[[FloatArray, Bed], FloatArray] = same
    """Our scores in the form of theirs."""

    def fitted(self, side: Side) -> Any:
        """Make and fit the detector."""
        import pytorch_ood.detector as library

        with precision(side.dtype):
            return self.make(getattr(library, self.detector), side)

    def predict(self, detector: Any, side: Side, rows: slice = slice(None)) -> Callable[[], torch.Tensor]:
        """Give the call that scores these rows."""
        method, values = TAKES[self.takes]
        inputs = side.tensor(values(side.bed.probe.take(rows)))
        return lambda: getattr(detector, method)(inputs)

    def theirs(self, side: Side) -> tuple[FloatArray, Any]:
        """Give the detector's scores of everything, and the detector."""
        detector = self.fitted(side)
        n = len(side.bed.probe)
        # OpenMax measures the distances only from classes that are predicted within the batch.
        step = n if self.detector == "OpenMax" else 1024
        with precision(side.dtype):
            parts = [self.predict(detector, side, slice(i, i + step))().detach() for i in range(0, n, step)]
        return torch.cat(parts).double().numpy(), detector


def pairs() -> list[Pair]:
    """Give every method that both have."""
    fit = lambda d, s: d.fit_features(s.z, s.y)  # noqa: E731
    maps = lambda d, s: d.fit_feature_maps(s.z, s.y)  # noqa: E731
    return [
        Pair("max-softmax", MaxSoftmax(), "MaxSoftmax", "logits", lambda d, s: d(None), probability),
        Pair("max-logit", logit_scores.MaxLogit(), "MaxLogit", "logits", lambda d, s: d(None)),
        Pair("entropy", logit_scores.Entropy(), "Entropy", "logits", lambda d, s: d(None)),
        Pair("energy", logit_scores.Energy(), "EnergyBased", "logits", lambda d, s: d(None)),
        Pair("gen", logit_scores.GeneralisedEntropy(), "GEN", "logits", lambda d, s: d(None, M=10), lambda x, _: x / 10),
        Pair("temperature-scaling", TemperatureScaling(), "TemperatureScaling", "logits", lambda d, s: d(None).fit_logits(*s.validation), probability),
        Pair("kl-matching", kl_matching.KLMatching(), "KLMatching", "logits", lambda d, s: d(None).fit_logits(*s.validation)),
        Pair("openmax", OpenMax(tail=TAIL), "OpenMax", "logits", lambda d, s: d(None, tailsize=TAIL).fit_logits(*s.correct), lambda x, _: expit(x)),
        Pair("odin", Odin(magnitude=0.0014), "ODIN", "images", lambda d, s: d(s.bed.classifier.differentiable, eps=0.0014), probability),
        Pair("gradnorm", GradNorm(), "GradNorm", "last layer", lambda d, s: d(s.head, param_filter=lambda name: name == "weight")),
        Pair("mahalanobis", mahalanobis.Mahalanobis(), "Mahalanobis", "features", lambda d, s: fit(d(None), s), per_training_point(0.5)),
        Pair("relative-mahalanobis", mahalanobis.RelativeMahalanobis(), "RMD", "features", lambda d, s: fit(d(None), s), per_training_point(1.0)),
        Pair("knn", nearest.NearestNeighbours(points=ALL), "KNN", "features", lambda d, s: fit(d(None, k=50), s)),
        Pair("nnguide", nearest.NearestNeighbourGuidance(points=ALL), "NNGuide", "features", lambda d, s: fit(d(None, s.head, k=10), s)),
        Pair("vim", Vim(dimensions=64), "ViM", "features", lambda d, s: fit(d(None, 64, s.w, s.b), s)),
        Pair("fdbd", head_geometry.DecisionBoundaries(), "fDBD", "features", lambda d, s: fit(d(None, s.head), s)),
        Pair("she", head_geometry.SimplifiedHopfieldEnergy(), "SHE", "features", lambda d, s: fit(d(None, s.head), s)),
        Pair("react", shaping.React(quantile=0.9), "ReAct", "maps", lambda d, s: maps(d(None, s.head_of_maps, percentile=0.9), s)),
        Pair("dice", shaping.Dice(sparsity=0.9), "DICE", "features", lambda d, s: fit(d(None, s.w, s.b, 0.9), s)),
        Pair("ash", scaling.Ash(quantile=0.9), "ASH", "maps", lambda d, s: d(None, s.head_of_maps, percentile=0.9)),
        Pair("scale", scaling.Scale(quantile=0.85), "SCALE", "maps", lambda d, s: d(None, s.head_of_maps, percentile=0.85)),
    ]


def difference(ours: FloatArray, theirs: FloatArray) -> float:
    """Give the largest difference, each relative to the score or to the median score, whichever is greater."""
    return float((np.abs(ours - theirs) / np.maximum(np.abs(theirs), np.median(np.abs(theirs)))).max())


def main():
    import sys
    bed = Bed.make(sys.argv[1]); f32, f64 = Side(bed, torch.float32), Side(bed, torch.float64)
    print(len(bed.probe), bed.is_ood.sum(), len(f32.y), bed.classifier.name)
    only=sys.argv[2:]
    with limited_threads(1):
      for p in pairs():
        if only and p.name not in only: continue
        p.ours.fit(bed.material, bed.classifier)
        raw = p.ours.score(bed.probe); a = p.as_theirs(raw, bed)
        e, det = p.theirs(f32)
        ar = [roc_auc_score(bed.is_ood, x) for x in (raw, e)]
        t=[]
        for n in (1, 64):
            call=p.predict(det, f32, slice(0,n)); part=bed.probe.take(slice(0,n))
            ts=([],[])
            for _ in range(30 if n==1 else 15):
                for k,fn in enumerate((lambda: p.ours.score(part), call)):
                    fn(); s=time.perf_counter(); fn(); ts[k].append(time.perf_counter()-s)
            t.append([np.median(x)*1e6 for x in ts])
        line=f"{p.name:20} f32 rho {spearmanr(raw,e)[0]:.8f} diff {difference(a,e):.1e} "
        if p.takes!="images":
            d,_=p.theirs(f64); line+=f" f64 rho {spearmanr(raw,d)[0]:.8f} diff {difference(a,d):.1e}"
        print(line, f"auroc {ar[0]:.4f} {ar[1]:.4f}", "times", [f"{x[0]:.0f}/{x[1]:.0f}={x[0]/x[1]:.2f}" for x in t], flush=True)
if __name__ == "__main__":
    main()
