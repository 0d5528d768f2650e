"""What repetitions say together: means, and by how much classifiers differ, with how sure that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import cast

import numpy as np
import pandas as pd
from scipy import stats

from farm.api import FloatArray
from farm.measures import Measure, undefined
from farm.protocols.robustness.results import Results
from farm.protocols.robustness.spec import NATURAL, PLAIN
from farm.statistics.corrections import holm
from farm.statistics.resampling import FEWEST as FEWEST_TRACKS

LEVEL, ALPHA = 0.95, 0.05
HIGHER_IS_BETTER = {"accuracy": True, "auroc": True, "brier": False}
FEWEST = 2
"""Repetitions that tell a spread."""
_ROUNDING = 1e-12


@dataclass(frozen=True)
class ConditionMean:
    """A classifier's mean over repetitions, their standard deviation, and the 95 % interval of the mean."""

    classifier: str
    condition: tuple[str | float, ...]
    """What it is of, such as a transformation and a level."""
    n: int
    mean: float
    sd: float
    """NaN of a single repetition."""
    low: float
    high: float


@dataclass(frozen=True)
class ClassifierDifference:
    """By how much the first of two classifiers exceeds the second, repetition by repetition."""

    first: str
    second: str
    condition: tuple[str | float, ...]
    n: int
    first_mean: float
    second_mean: float
    difference: float
    low: Measure
    high: Measure
    """The 95 % interval of the difference, for itself."""
    p: Measure
    """By Holm's correction, for all differences that were asked for together."""
    higher_is_better: bool

    @property
    def shows(self) -> bool:
        """Whether the two differ."""
        return self.p.defined and self.p.value < ALPHA

    @property
    def better(self) -> str | None:
        """Which of the two is better, where they differ."""
        if not self.shows:
            return None
        return self.first if (self.difference > 0) == self.higher_is_better else self.second


def means(results: Results, frame: pd.DataFrame, measure: str, by: Sequence[str] = ()) -> list[ConditionMean]:
    """Return each classifier's mean in each condition; a repetition counts once, its results averaged.

    Where a result has no value its condition has none either. A repetition that lacks a result counts not at
    all: its mean would be over other conditions than the others'.
    """
    found, conditions = [], list(_grouped(frame, by))
    for classifier in results.classifiers:
        for condition, rows in conditions:
            if not (of := rows["classifier"] == classifier).any():
                continue
            complete = rows[of & rows["repetition"].isin(_complete(rows, classifier))]
            values = np.asarray(_by_repetition(complete, measure), dtype=np.float64)
            mean, error, df = _estimate(values, results.tracks_of(classifier))
            varies = df > 0 and error > _ROUNDING
            half = float(stats.t.ppf(0.5 + LEVEL / 2, df)) * error if varies else np.nan
            sd = float(values.std(ddof=1)) if len(values) >= FEWEST else np.nan
            # No measure is below 0, and none above 1.
            ends = (max(mean - half, 0.0), min(mean + half, 1.0)) if varies else (np.nan, np.nan)
            found.append(ConditionMean(classifier, condition, len(values), mean, sd, *ends))
    return found


def differences(
    results: Results, frame: pd.DataFrame, measure: str, by: Sequence[str] = ()
) -> list[ClassifierDifference]:
    """Compare each two classifiers in each condition, by how they differ in each repetition.

    Networks of one repetition are trained with one seed and see the same images. Where both are retrained,
    repetitions are independent evidence. Where one brought its weights along, its repetitions redraw the test
    images: their spread is then the error itself, and more of them make it no smaller.

    Parameters
    ----------
    frame
        Some of the results' rows.
    by
        The columns that tell conditions apart; without any, all rows are one.
    """
    made: list[ClassifierDifference] = []
    conditions = dict(_grouped(frame, by))
    for first, second in combinations(results.classifiers, 2):
        tracks = [n for name in (first, second) if (n := results.tracks_of(name)) is not None]
        for condition, rows in _grouped(_side_by_side(frame, first, second, measure), by):
            complete = [_complete(conditions[condition], name) for name in (first, second)]
            rows = rows[rows["repetition"].isin(set(complete[0]) & set(complete[1]))]
            both = rows.groupby("repetition")[[*_SIDES]].agg(_mean_of_all)
            paired = np.asarray(both["one"] - both["other"], dtype=np.float64)
            low, high, p = _tested(paired, min(tracks, default=None))
            one, other = (float(both[side].mean()) for side in _SIDES)
            numbers = (len(paired), one, other, one - other)
            made.append(
                ClassifierDifference(
                    first, second, condition, *numbers, low, high, p, HIGHER_IS_BETTER[measure]
                )
            )
    return _corrected(made)


_SIDES = ("one", "other")


def _side_by_side(frame: pd.DataFrame, first: str, second: str, measure: str) -> pd.DataFrame:
    """Return what two classifiers have in the same repetition of the same condition."""
    key = ["transformation", "level", "repetition", "group", "kind"]
    one, other = (
        frame.loc[frame["classifier"] == name, [*key, measure]].rename(columns={measure: side})
        for name, side in zip((first, second), _SIDES, strict=True)
    )
    return one.merge(other, on=key)


def _corrected(made: Sequence[ClassifierDifference]) -> list[ClassifierDifference]:
    """Correct the p-values of differences for being asked for together."""
    tested = [one.p.value for one in made if one.p.defined]
    adjusted = iter(holm(tested))
    return [replace(one, p=Measure(next(adjusted))) if one.p.defined else one for one in made]


def _complete(rows: pd.DataFrame, classifier: str) -> list[int]:
    """Return a classifier's repetitions that have as many results as any has of these conditions."""
    counts = Counter(zip(rows["classifier"], rows["repetition"], strict=True))
    most = max(counts.values())
    return [number for (name, number), n in counts.items() if name == classifier and n == most]


def _tested(paired: FloatArray, tracks: int | None) -> tuple[Measure, Measure, Measure]:
    """Return the ends of a mean difference's interval, and its p before any correction."""
    mean, error, df = _estimate(paired, tracks)
    if not df:
        why = undefined(_why_not_tested(paired, tracks))
        return why, why, why
    # Differences that rounding alone made tell nothing of chance.
    if error <= _ROUNDING:
        why = undefined("the difference is the same in each repetition: they tell no spread")
        return why, why, why
    half = float(stats.t.ppf(0.5 + LEVEL / 2, df)) * error
    p = 2 * float(stats.t.sf(abs(mean) / error, df))
    return Measure(mean - half), Measure(mean + half), Measure(p)


def _why_not_tested(paired: FloatArray, tracks: int | None) -> str:
    if missing := int(np.isnan(paired).sum()):
        return f"in {missing} of {len(paired)} repetitions a result has no value"
    if tracks is not None and tracks < FEWEST_TRACKS:
        return f"the test images are of {tracks} tracks; at least {FEWEST_TRACKS} are needed"
    return "no repetition has all results" if not len(paired) else "one repetition gives no interval"


def _estimate(values: FloatArray, tracks: int | None) -> tuple[float, float, int]:
    """Return a mean, its standard error and the degrees of freedom of that; 0 of them where it has none.

    `tracks` is None where repetitions are trainings. Elsewhere each draws so many tracks anew: the spread is
    that of a mean over tracks, too small by what a variance lacks whose sum is divided by their number.
    """
    n = len(values)
    mean = float(values.mean()) if n else np.nan
    if n < FEWEST or np.isnan(values).any() or (tracks is not None and tracks < FEWEST_TRACKS):
        return mean, np.nan, 0
    sd = float(values.std(ddof=1))
    if tracks is None:
        return mean, sd / np.sqrt(n), n - 1
    return mean, sd * np.sqrt(tracks / (tracks - 1)), min(n, tracks) - 1


def _grouped(
    frame: pd.DataFrame, by: Sequence[str]
) -> Iterator[tuple[tuple[str | float, ...], pd.DataFrame]]:
    if not by:
        if len(frame):
            yield (), frame
        return
    for key, rows in frame.groupby(list(by), sort=False, dropna=False):
        yield tuple(one if isinstance(one, str) else float(cast(float, one)) for one in key), rows


def _by_repetition(frame: pd.DataFrame, measure: str) -> pd.Series[float]:
    """Return the mean of each repetition; of one in which a result has no value, NaN."""
    return frame.groupby("repetition")[measure].agg(_mean_of_all)


def _mean_of_all(values: pd.Series[float]) -> float:
    return float(values.mean(skipna=False))


def worst_trainings(results: Results) -> pd.DataFrame:
    """Return the results of each GAN set's worst training, which was chosen on other images and repetitions.

    For repetitions of odd numbers the training with the lowest mean AUROC, over all classifiers, is chosen on
    those of even numbers by one half of the images, and its AUROC is of the other half; the other way round
    for those of even numbers. So nothing is judged by what it was chosen by, and each repetition still has a
    result. `transformation` tells the training that was chosen.
    """
    frame = results.ood("gan")
    parts = []
    for _, every in frame.groupby("group", sort=False):
        # One that some classifier lacks in some repetition would be judged on fewer than the others.
        n = every.groupby("transformation")["transformation"].transform("size")
        rows = every[n == n.max()]
        odd = rows["repetition"] % 2 == 1
        for judged, reported, chosen_by in (
            (odd, "first_half", "second_half"),
            (~odd, "second_half", "first_half"),
        ):
            of_training = rows[~judged].groupby("transformation", sort=False)[chosen_by].mean().dropna()
            if len(of_training):
                worst = rows[judged & (rows["transformation"] == of_training.idxmin())]
                parts.append(worst.assign(auroc=worst[reported]))
    if not parts:
        return frame.iloc[:0]
    chosen: pd.DataFrame = pd.concat(parts).sort_index()
    return chosen


def pairs_and_none(results: Results) -> pd.DataFrame:
    """Return the results on pairs of transformed sets, and beside them those on untransformed ones."""
    pairs, standard = results.ood("pair"), results.ood("standard")
    none = standard[standard["group"] == NATURAL].assign(group=PLAIN)
    return pd.concat([none, pairs])


def hardest(found: Sequence[ConditionMean], measure: str) -> list[tuple[str, float]]:
    """Return conditions by their mean over classifiers, the worst first."""
    of: dict[str, list[float]] = {}
    for one in found:
        of.setdefault(str(one.condition[0]), []).append(one.mean)
    order = sorted(
        ((name, float(np.mean(values))) for name, values in of.items()),
        key=lambda pair: pair[1] if HIGHER_IS_BETTER[measure] else -pair[1],
    )
    return [pair for pair in order if not np.isnan(pair[1])]
