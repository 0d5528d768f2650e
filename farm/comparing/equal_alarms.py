"""Runs with other alarms: those that each monitor would raise at one and the same rate of false alarms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from farm.errors import DataError, ExperimentError
from farm.judging.verdicts import truth
from farm.measures.along_time import threshold_at
from farm.measures.episodes import OUTSIDE, Episodes
from farm.store.readouts import Readouts


def at_false_alarms(run: Readouts, per_1000: float) -> Readouts:
    """Return a run in which each monitor has so many false alarms a thousand quiet instances, or just fewer.

    Its threshold is the lowest with no more of them. Each alarm cancels, and nothing takes a cancelled
    decision's place: policies and fallbacks were asked at other alarms.
    """
    if not 0 <= per_1000 < 1000:
        raise ExperimentError(f"--false-alarms is {per_1000:g}; expected at least 0 and less than 1000")
    folder = f"{run.run['folder']}: " if run.run.get("folder") else ""
    known = truth(run.instances)
    if known.why_no_ood:
        raise DataError(f"{folder}--false-alarms needs 'is_ood' of all instances: {known.why_no_ood}")
    along = np.argsort(known.position)
    episode = np.full(len(along), OUTSIDE) if known.episode is None else known.episode[along]
    quiet = known.position[along][Episodes(episode, known.is_ood[along]).quiet]
    if not len(quiet):
        raise DataError(f"{folder}--false-alarms needs ID instances before or between faults; there is none")
    if "score" not in run.alarms or run.alarms["score"].isna().any():
        raise DataError(f"{folder}--false-alarms needs a score of each instance by each monitor")
    score, is_quiet = run.alarms["score"], run.alarms["position"].isin(quiet)
    threshold = (
        score[is_quiet]
        .groupby(run.alarms["monitor"].astype(str))
        .agg(lambda own: threshold_at(own.to_numpy(np.float64), per_1000))
    )
    alarm = score > threshold.loc[run.alarms["monitor"].astype(str)].to_numpy()
    alarms = run.alarms.drop(columns="decision", errors="ignore").assign(alarm=alarm, cancelled=alarm)
    return replace(run, alarms=pd.DataFrame(alarms))
