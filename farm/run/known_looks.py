"""Classes that count as novel, and that the classifier takes for one that it knows: are they the same?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farm.api import NO_ANSWER, Classifier, FaultTargets, IntArray

SHARE = 0.8
"""Of a novel class's images, from which on being taken for one known class asks for a look."""
_BATCH = 256


@dataclass(frozen=True)
class KnownLook:
    """A novel class, and the known one that most of its images are taken for."""

    novel: int
    known: int
    share: float
    rows: IntArray
    """Where its images stand in the split that brings them."""


def known_looks(targets: FaultTargets, classifier: Classifier) -> list[KnownLook]:
    """Find novel classes of which at least four fifths are taken for one known class, the surest first."""
    novel = targets.indices[(targets.labels == NO_ANSWER) & (targets.split.labels[targets.indices] >= 0)]
    predicted = [
        classifier.observe(targets.split.images.read(rows), ids=targets.split.ids[rows]).predicted
        for rows in (novel[start : start + _BATCH] for start in range(0, len(novel), _BATCH))
    ]
    found = []
    for theirs in np.unique(targets.split.labels[novel]).tolist():
        own = targets.split.labels[novel] == theirs
        counts = np.bincount(np.concatenate(predicted)[own])
        share = float(counts.max() / own.sum())
        if share >= SHARE:
            found.append(KnownLook(theirs, int(counts.argmax()), share, novel[own]))
    return sorted(found, key=lambda look: -look.share)
