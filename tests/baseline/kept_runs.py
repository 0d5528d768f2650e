"""Runs whose decisions are chosen by hand, and the same ones a little later."""

from dataclasses import replace

import numpy as np
import pandas as pd

from farm.readouts import Readouts


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
    instances = pd.DataFrame(
        {
            "position": np.arange(n),
            "id": [f"signs/{i:05d}" for i in range(n)],
            "track": [f"t{t}" for t in (np.arange(n) if track is None else track)],
            "label": label,
            "predicted": np.where(wrong, (label + 1) % 5, label),
            "is_ood": is_ood,
            "category": np.where(is_ood, "shift", None),
            "faultload": fault,
            "severity": np.where(is_ood, 3.0, np.nan),
        }
    )
    if not ids:
        instances = instances.drop(columns="id")
    frames = []
    for monitor, alarm in alarms.items():
        own = {"position": np.arange(n), "monitor": monitor, "alarm": np.asarray(alarm, dtype=bool)}
        for column, given in (("score", scores), ("cancelled", cancelled), ("decision", decision)):
            if given is not None:
                own[column] = given[monitor]
        frames.append(pd.DataFrame(own))
    record = {
        "folder": folder,
        "name": name,
        "workload": {"name": "signs", "hash": "12e34"},
        "classifier": {"name": "lenet", "digest": "0a"},
        "monitors": [{"name": monitor} for monitor in alarms],
        **noted,
    }
    return Readouts(instances, pd.concat(frames, ignore_index=True), record)


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
