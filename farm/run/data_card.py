"""A data card: what a workload is, in numbers."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from farm.api import FloatArray, Split, StrArray, Workload


def data_card(workload: Workload) -> dict[str, Any]:
    """Say what a workload consists of, as JSON.

    Examples
    --------
    >>> from farm.testing.fakes import tiny_workload
    >>> card = data_card(tiny_workload())
    >>> card["shape"], sorted(card["classes"][0])
    ([3, 8, 8], ['name', 'test', 'train', 'validation'])
    """
    n_classes = len(workload.classes)
    counts = {s.name: np.bincount(s.labels, minlength=n_classes).tolist() for s in workload.splits}
    return {
        "name": workload.name,
        "shape": list(workload.shape),
        "content_hash": workload.content_hash,
        "splits": [_split(split) for split in workload.splits],
        "classes": [
            {"name": name, **{split: counts[split][i] for split in counts}}
            for i, name in enumerate(workload.classes)
        ],
        "boxes": workload.train.boxes is not None,
        "masks": workload.train.masks is not None,
        "conditions": {
            name: _spread(
                np.concatenate([s.conditions[name] for s in workload.splits if name in s.conditions])
            )
            for name in workload.train.conditions
        },
        "notes": dict(workload.notes),
    }


def _split(split: Split) -> dict[str, Any]:
    groups = len(np.unique(split.groups))
    return {
        "name": split.name,
        "images": len(split),
        "groups": groups,
        "classes": len(np.unique(split.labels)),
        "identical": len(split) - len(set(split.digests)),
        "content_hash": split.content_hash,
    }


def _spread(values: StrArray | FloatArray) -> Any:
    """Tell how a condition is distributed: how often each word, or the range of numbers."""
    if np.issubdtype(values.dtype, np.number):
        numbers = values.astype(np.float64)
        known = numbers[np.isfinite(numbers)]
        if not known.size:
            return {"missing": len(values)}
        spread = {"min": float(known.min()), "median": float(np.median(known)), "max": float(known.max())}
        missing = len(values) - len(known)
        return spread | ({"missing": missing} if missing else {})
    counted = Counter(str(value) or "(empty)" for value in values.tolist())
    return dict(counted.most_common(20))
