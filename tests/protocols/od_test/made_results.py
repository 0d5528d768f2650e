"""Results of an OD-test made by hand: no network, no monitor, no campaign."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from farm.protocols.od_test.results import NetworkAccuracy, Results, Samples
from farm.protocols.od_test.spec import OdTest

HOSTILE = "<script>alert(1)</script>"
NOISE = [{"name": "noise-uniform", "as": "uniform"}, {"name": "noise-normal", "as": "normal"}]
METHODS: Sequence[dict[str, Any]] = (
    {"name": "max-softmax", "as": "PbThreshold"},
    {"name": "binary-classifier", "as": "BinClass"},
    {"name": "neighbour-svm", "as": "1-NNSVM", "networks": "none"},
)


def made_spec(n_sources: int = 3, **changes: Any) -> OdTest:
    """Return an OD-test over sets, networks and methods that nothing loads."""
    return OdTest.model_validate(
        {
            "name": "made",
            "protocol": "od-test",
            "sources": [{"name": "digits", "as": f"set {i + 1}"} for i in range(n_sources)],
            "outliers": NOISE,
            "networks": [{"name": "lenet", "as": "VGG"}, {"name": "lenet", "as": "Res"}],
            "methods": list(METHODS),
            **changes,
        }
    )


def made_results(
    spec: OdTest | None = None, *, skill: dict[str, float] | None = None, **changes: Any
) -> Results:
    """Return all results of a specification; `skill` is a method's mean accuracy.

    On the very set that it learned from BinClass is right nearly always.
    """
    spec = made_spec(optimistic=True) if spec is None else spec
    skill = {"PbThreshold": 0.8, "BinClass": 0.65, "1-NNSVM": 0.72} | (skill or {})
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        [
            {
                "source": source,
                "validation": validation if method.learns else "",
                "target": target,
                "network": network,
                "method": method.title,
                "n": 200,
                "accuracy": _accuracy(
                    rng, skill.get(method.title, 0.6), kind=kind * (method.title == "BinClass")
                ),
                "optimistic": kind,
            }
            for method in spec.methods
            for network in _networks(spec, method)
            for source, validation, target, kind in _judged(spec, learns=method.learns)
        ]
    )
    networks = tuple(
        NetworkAccuracy(source, network, loss, 0.9 + 0.01 * place)
        for place, source in enumerate(spec.source_names)
        for network in spec.network_names
        for loss in ("cross-entropy", "logistic")
    )
    return Results(
        **{"spec": spec, "frame": frame, "networks": networks, "failures": {}, "missing": 0, **changes}
    )


def made_samples(source: str = "set 1", n: int = 20, channels: int = 1) -> Samples:
    """Return images of rising grey."""
    grey = np.linspace(0, 255, n, dtype=np.uint8)[:, None, None, None]
    return Samples(source, "PixelCNN++", np.broadcast_to(grey, (n, 12, 12, channels)).copy())


def _accuracy(rng: np.random.Generator, skill: float, *, kind: bool) -> float:
    return 0.98 if kind else float(np.clip(skill + rng.normal(0, 0.04), 0, 1))


def _networks(spec: OdTest, method: Any) -> list[str]:
    if method.title in spec.without_network:
        return [""]
    return [name for name in spec.network_names if spec.runs(method, name)]


def _judged(spec: OdTest, *, learns: bool) -> list[tuple[str, str, str, bool]]:
    if not learns:
        return [(s, "", t, False) for s, t in dict.fromkeys((s, t) for s, _, t in spec.triplets)]
    same = [(s, v, v, True) for s in spec.source_names for v in spec.compatible(s)] if spec.optimistic else []
    return [(*triplet, False) for triplet in spec.triplets] + same
