"""Populations whose every rate is known, calibration sets drawn from them, and how often a promise failed."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from farm.api import CalibrationData, CalibrationRule
from farm.errors import ComponentFailure

SETS = 300
"""Calibration sets that are drawn."""


@dataclass(frozen=True)
class Population:
    """Tracks of several sizes, of which calibration sets draw some with replacement."""

    scores: np.ndarray
    wrong: np.ndarray
    track: np.ndarray

    @property
    def n_tracks(self):
        return int(self.track[-1]) + 1

    def draw(self, random, n):
        """Draw n tracks with all their instances, in an order of no meaning."""
        starts = np.searchsorted(self.track, np.arange(self.n_tracks + 1))
        chosen = random.integers(self.n_tracks, size=n)
        rows = np.concatenate([np.arange(starts[t], starts[t + 1]) for t in chosen])
        names = np.repeat([f"track {i}" for i in range(n)], (starts[1:] - starts[:-1])[chosen])
        mixed = random.permutation(len(rows))
        rows, names = rows[mixed], names[mixed]
        return CalibrationData(
            self.scores[rows],
            np.zeros(len(rows), np.int64),
            2,
            ids=random.integers(2**60, size=len(rows)).astype(str),
            labels=self.wrong[rows].astype(np.int64),
            track=names,
        )

    def rates(self, threshold, event="instance"):
        """Return false alarms, risk and hazard at a threshold: of a random instance of a random track."""
        above = self.scores > threshold
        if event == "track":
            return {"false_alarms": len(np.unique(self.track[above])) / self.n_tracks}
        weight = (1 / np.bincount(self.track))[self.track] / self.n_tracks
        hazard = weight[~above & self.wrong].sum()
        accepted = weight[~above].sum()
        return {
            "false_alarms": weight[above].sum(),
            "risk": hazard / accepted if accepted else 0.0,
            "residual_hazard": hazard,
        }


def population(sizes, *, alike=0.0, levels=None, wrong=0.0, tracks=4000, seed=0):
    """Make one.

    Parameters
    ----------
    sizes
        How many instances tracks have, each as often.
    alike
        How much of a score is its track's.
    levels
        How many different scores there are; None where no two are the same.
    wrong
        The share of instances that are wrong, or a function of their rank from 0 to 1.
    """
    random = np.random.default_rng(seed)
    track = np.repeat(np.arange(tracks), random.choice(sizes, tracks))
    own = random.normal(size=len(track))
    scores = alike * random.normal(size=tracks)[track] + np.sqrt(1 - alike**2) * own
    rank = scores.argsort().argsort() / len(scores)
    chance = wrong(rank) if callable(wrong) else np.full(len(scores), wrong)
    if levels is not None:
        scores = np.floor(rank * levels)
    return Population(scores, random.random(len(scores)) < chance, track)


def evenly(share, *, below=1.0):
    """Return which are wrong, so that just below each score at least this share is, up to some rank."""

    def wrong(rank):
        place = np.rint(rank * len(rank))
        return (np.ceil((place + 1) * share) - np.ceil(place * share)) * (rank < below)

    return wrong


def outcomes(rule: CalibrationRule, drawn: Population, n, *, at_work=None, change=None, sets=SETS):
    """Return for each calibration set the rates at work at its threshold; None where it was not met."""
    random, found = np.random.default_rng(1), []
    for _ in range(sets):
        data = drawn.draw(random, n)
        try:
            calibration = rule.calibrate(data if change is None else change(data))
        except ComponentFailure:
            found.append(None)
            continue
        of = calibration.guarantee
        rates = (at_work or drawn).rates(calibration.threshold, rule.event or "instance")
        found.append([rates[one.what] - one.at_most for one in of.promises])
    return found


def as_many_as_told(rule: CalibrationRule, drawn: Population, n, *, sets=60):
    """Return of the sets that missed it how many were told a number, and with how many of these it did."""
    random, told, did = np.random.default_rng(2), 0, 0
    for _ in range(sets):
        try:
            rule.calibrate(drawn.draw(random, n))
        except ComponentFailure as failure:
            if (number := re.search(r"about ([\d,]+) would do", str(failure))) is None:
                continue
            told += 1
            try:
                rule.calibrate(drawn.draw(random, int(number[1].replace(",", ""))))
                did += 1
            except ComponentFailure:
                pass
    return told, did


def mostly_do(cases, *, sets=60):
    """Expect that of the numbers told two in three do, and that of no kind less than half of them seem to."""
    kinds = [as_many_as_told(*case, sets=sets) for case in cases]
    assert all(told >= 8 and did >= binom.ppf(0.01, told, 0.5) for told, did in kinds), kinds
    told, did = np.sum(kinds, axis=0)
    assert told >= 80
    assert did >= 2 / 3 * told, kinds


def broken(found):
    """Count the sets in which any promise was broken; what was not met promised nothing."""
    return sum(one is not None and max(one) > 1e-12 for one in found)


def most(doubt, sets=SETS):
    """Return how many may be, so that a rule that keeps its promise is blamed once in a thousand times."""
    return int(binom.ppf(0.999, sets, doubt))
