"""Benchmark sets made by hand, of which is known what is true."""

import numpy as np
from scipy.stats import norm

from farm.comparing import BenchmarkSet
from farm.judging import VerdictTable
from farm.judging.table import made_truth
from farm.judging.verdicts import Verdicts


def alike(random, tracks, frames, rate, share):
    """Whether something happens, at this rate, in each frame of each track; frames share some chance."""
    latent = np.sqrt(share) * random.standard_normal((tracks, 1))
    latent = latent + np.sqrt(1 - share) * random.standard_normal((tracks, frames))
    return latent < norm.ppf(rate)


def make_stream(alarm, *, wrong=None, is_ood=None, track=None, score=None, run=0, monitor="m"):
    """Make a stream of one monitor without a fallback; by default all is ID, and each instance a track."""
    alarm = np.asarray(alarm, dtype=bool)
    n = len(alarm)
    wrong = np.zeros(n, dtype=bool) if wrong is None else np.asarray(wrong, dtype=bool)
    known = made_truth(
        wrong=wrong, is_ood=np.zeros(n, dtype=bool) if is_ood is None else np.asarray(is_ood, dtype=bool)
    )
    named = None if track is None else np.asarray(track).astype(str).astype(object)
    return VerdictTable.from_arrays(
        known, [Verdicts(monitor, alarm, alarm, score=score)], named_track=named, run=run
    )


def make_set(*streams, name="fog", category="shift", workload="signs"):
    """Put streams into a set, without records."""
    return BenchmarkSet(workload, "lenet", name, category, "3", [], list(streams))


def in_tracks(random, *, tracks, frames, fpr, fnr, share, **options):
    """Make a stream of tracks that are ID or OOD, with a monitor of these rates."""
    id_alarm = alike(random, tracks[0], frames, fpr, share)
    ood_alarm = ~alike(random, tracks[1], frames, fnr, share)
    is_ood = np.repeat([False, True], [id_alarm.size, ood_alarm.size])
    alarm = np.concatenate([id_alarm.ravel(), ood_alarm.ravel()])
    return make_stream(alarm, is_ood=is_ood, track=np.arange(len(alarm)) // frames, **options)
