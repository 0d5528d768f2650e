"""Runs of systems made by hand: two kinds of monitor with policies and fallbacks, in streams with tracks."""

import numpy as np

from farm.testing import make_readouts

CLASSES = ["car", "bicycle", "pedestrian"]
NOTES = [
    {"name": "boxes", "policy": {"name": "m-of-n", "m": 2, "n": 3}, "fallback": {"name": "last"}},
    {"name": "knn", "policy": {"name": "cancel"}, "fallback": {"name": "none"}},
    {"name": "never", "policy": {"name": "cancel"}, "fallback": {"name": "none"}, "yardstick": True},
]


def make_run(
    seed=0, faults=("fog", "snow"), *, n_id=120, n_ood=60, size=3, folder=None, notes=NOTES, **record
):
    """Make a run in which both monitors cancel by chance; boxes has a fallback, right half the time."""
    rng = np.random.default_rng(seed)
    fault = np.repeat([None, *faults], [n_id, *[n_ood] * len(faults)]).astype(object)
    fault = fault[np.repeat(rng.permutation(len(fault) // size), size) * size]
    n, is_ood = len(fault), fault != np.array(None)
    label = rng.integers(0, 3, n)
    predicted = np.where(rng.random(n) < np.where(is_ood, 0.5, 0.05), (label + 1) % 3, label)
    said = {}
    for note in notes:
        cancelled = rng.random(n) < np.where(is_ood, 0.6, 0.1)
        if note.get("yardstick"):
            cancelled[:] = False
        instead = np.where(rng.random(n) < 0.5, label, rng.integers(-1, 3, n))
        falls_back = note.get("fallback") == {"name": "last"}
        decision = np.where(cancelled, instead if falls_back else -1, predicted)
        said[note["name"]] = {"alarm": cancelled, "cancelled": cancelled, "decision": decision}
    return make_readouts(
        said,
        is_ood=is_ood,
        label=label,
        predicted=predicted,
        faultload=fault,
        track=[f"{seed}-{i // size}" for i in range(n)],
        run={
            "folder": folder or f"runs/{seed}",
            "classes": CLASSES,
            "workload": {"name": "signs"},
            "classifier": {"name": "lenet"},
            "monitors": [dict(note) for note in notes],
            **record,
        },
    )
