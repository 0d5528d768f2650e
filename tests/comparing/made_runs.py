"""Runs made by hand, of which is known which monitor is better."""

from dataclasses import replace

import numpy as np

from farm.comparing import BenchmarkSet
from farm.testing import make_readouts

NOISE = ("noise", "gaussian-noise", 3.0)
SHOT = ("noise", "shot-noise", 3.0)
FOG = ("shift", "fog", 5.0)
NOVEL = ("novelty", "btsc", None)

RATES = {"good": (0.05, 0.8), "middling": (0.05, 0.5), "poor": (0.05, 0.1)}
"""Of each monitor, the share of ID and of OOD instances on which it alarms."""


def make_run(
    seed=0,
    rates=RATES,
    faults=(NOISE, SHOT, FOG),
    *,
    n_id=300,
    n_ood=120,
    tracks=100,
    workload="signs",
    classifier="lenet",
    folder=None,
    failed=(),
    unranked=(),
    shuffled=False,
):
    """Make a run in which each monitor alarms by chance, at its own rates; `failed` ones say nothing."""
    rng = np.random.default_rng(seed)
    fault = np.repeat(np.arange(-1, len(faults)), [n_id, *([n_ood] * len(faults))])
    n = len(fault)
    is_ood = fault >= 0

    def of_fault(column):
        return [None if f < 0 else faults[f][column] for f in fault]

    label = rng.integers(0, 3, n)
    said = {}
    for name, (of_id, of_ood) in rates.items():
        own = np.random.default_rng([seed, *name.encode()])
        said[name] = {"score": own.random(n) - np.where(is_ood, 1 - of_ood, 1 - of_id)}
    run = make_readouts(
        {name: "singular" if name in failed else own for name, own in said.items()},
        track=[f"t{i}" for i in (rng.integers(0, tracks, n) if tracks else range(n))],
        label=label,
        predicted=np.where(rng.random(n) < 0.1 + 0.5 * is_ood, (label + 1) % 3, label),
        is_ood=is_ood,
        category=of_fault(0),
        faultload=of_fault(1),
        severity=of_fault(2),
        run={
            "folder": folder or f"runs/{seed}",
            "workload": {"name": workload},
            "classifier": {"name": classifier},
        },
    )
    for note in run.run["monitors"]:
        note["ranked"] = note["name"] not in unranked
    if not shuffled:
        return run
    instances = run.instances.sample(frac=1, random_state=1, ignore_index=True)
    alarms = run.alarms.sample(frac=1, random_state=0, ignore_index=True)
    return replace(run, instances=instances, alarms=alarms)


def hand_made_set(name, values, category="noise", *, measure="mcc", failures=(), runs=1):
    """Make a set with a record a monitor: a value, or None with the reason "none was cancelled"."""
    records = {}
    for monitor, value in values.items():
        undefined = {measure: "none was cancelled"} if value is None else {}
        failure = "singular" if monitor in failures else None
        task = {measure: value, "undefined": undefined}
        records[monitor] = {"overall": task, "undefined": {}, "failure": failure}
    return BenchmarkSet("signs", "lenet", name, category, "3", [records] * runs, [])
