"""Runs whose decisions are chosen by hand, and the same ones a little later."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

import farm.gate.baseline.saving as saving
from farm.testing import make_readouts


def run_of(
    alarms,
    *,
    n_ood=0.5,
    name="demo",
    track=None,
    wrong=None,
    faults=("fog",),
    scores=None,
    cancelled=None,
    decision=None,
    ids=True,
    folder=None,
    **noted,
):
    """Make a run of arrays: `alarms` by monitor; the last `n_ood` instances, or share of them, are OOD."""
    n = len(next(iter(alarms.values())))
    first = n - (n_ood if isinstance(n_ood, int) else round(n * n_ood))
    is_ood = np.arange(n) >= first
    fault = [faults[i * len(faults) // max(n - first, 1)] if i >= 0 else None for i in np.arange(n) - first]
    label = np.arange(n) % 5
    wrong = (np.arange(n) % 7 == 0) | (is_ood & (np.arange(n) % 2 == 0)) if wrong is None else wrong
    given = {"score": scores, "cancelled": cancelled, "decision": decision}
    said = {
        monitor: {"alarm": alarm, **{name: own[monitor] for name, own in given.items() if own is not None}}
        for monitor, alarm in alarms.items()
    }
    return make_readouts(
        said,
        id=[f"signs/{i:05d}" for i in range(n)] if ids else None,
        track=[f"t{t}" for t in (range(n) if track is None else track)],
        label=label,
        predicted=np.where(wrong, (label + 1) % 5, label),
        is_ood=is_ood,
        faultload=fault,
        run={
            "folder": folder,
            "name": name,
            "workload": {"name": "signs", "hash": "12e34"},
            "classifier": {"name": "lenet", "digest": "0a"},
            **noted,
        },
    )


@contextmanager
def seldom_drawn():
    """Draw seldom for the intervals that stand in a saved file, for tests that do not look at them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(saving, "REPLICATES", 100)
        yield


def by_chance(seed=0, n=400, monitors=("oob", "odin"), rates=(0.1, 0.6), **more):
    """Make a run whose monitors alarm by chance, with these rates on ID and on OOD instances."""
    rng = np.random.default_rng(seed)
    is_ood = np.arange(n) >= n // 2
    scores = {m: rng.random(n) - np.where(is_ood, 1 - rates[1], 1 - rates[0]) for m in monitors}
    return run_of({m: s > 0 for m, s in scores.items()}, scores=scores, **more)


def flipped(run, places, monitor="oob"):
    """Give the same run with the alarms of a monitor at these places the other way round."""
    alarms = run.alarms.copy()
    rows = (alarms["monitor"] == monitor) & alarms["position"].isin(np.asarray(places))
    alarms.loc[rows, "alarm"] = ~alarms.loc[rows, "alarm"]
    return replace(run, alarms=alarms)
